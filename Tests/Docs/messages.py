#!/usr/bin/env python3
"""Checks that the program still says what docs/troubleshooting.md quotes, and that docs/openapi lists its codes.   messages.py

Two thirds of a message's words have to be in pairs that the source has outside of comments. Words that are the reader's own don't
count: numbers, URLs, what is in quotes, and the names of the page's examples.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = {"online", "shop", "other", "other.", "main", "data", "phone", "site", "admin", "sale", "www:", "channel", "app", "app,"}


def sources():
    """The text of all Swift and of the web runtime, with strings that are written in pieces joined."""
    files = [*sorted((ROOT / "Sources").rglob("*.swift")), *sorted((ROOT / "public/runtime/src").rglob("*.js"))]
    text = "\n".join(path.read_text() for path in files)
    text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    text = re.sub(r'"\s*\+\s*"', "", text)
    text = re.sub(r"\\\n\s*", "", text).replace('\\"', '"')
    return " ".join(text.split())


def share(words, text):
    """Which share of a message's words is in such pairs."""
    own = {at for at, word in enumerate(words) if word in NAMES or re.search(r'[\d/"]', word)}
    covered = set()
    for at in range(len(words) - 1):
        if f"{words[at]} {words[at + 1]}" in text:
            covered |= {at, at + 1}
    counted = set(range(len(words))) - own
    return len(covered & counted) / len(counted) if counted else 1


def main():
    text, count, wrong = sources(), 0, []
    page = (ROOT / "docs/troubleshooting.md").read_text()
    for line in re.findall(r"^\*\*`.*$", page, re.M):
        for message in re.findall(r"`([^`]+)`", line.split("**")[1]):
            words = message.replace("…", " ").split()
            count += 1
            if share(words, text) < 2 / 3 and " ".join(words) not in text:
                wrong.append(f"docs/troubleshooting.md: the program no longer says: {message}")
    tables = (ROOT / "docs/openapi/README.md").read_text().split("The codes of `/auth`")[1]
    listed = {code for row in re.findall(r"^\|[^|]*\|([^|]*)\|", tables, re.M) for code in re.findall(r"`([a-z-]+)`", row)} - {"code"}
    origin = "\n".join(path.read_text() for path in sorted((ROOT / "Sources/Origin/Origin").rglob("*.swift")))
    codes = set(re.findall(r'(?:Problem|init)\(\s*\.\w+, "([a-z]+(?:-[a-z]+)*)"', origin))
    # Those that the program has words of its own for are where it can read them, too.
    values = "\n".join(path.read_text() for path in sorted((ROOT / "Sources/Origin/OriginAPI").rglob("Problem*.swift")))
    codes |= set(re.findall(r'\bcode: "([a-z]+(?:-[a-z]+)*)"', values))
    # Those of ID tokens are words of their errors.
    errors = (ROOT / "Sources/Origin/Identity/IdentityError.swift").read_text().split("var code: String")[1].split("\n  }\n")[0]
    codes |= set(re.findall(r': "([a-z]+(?:-[a-z]+)*)"', errors))
    wrong += [f"docs/openapi/README.md: the origin has the code {code}, too" for code in sorted(codes - listed)]
    wrong += [f"docs/openapi/README.md: the origin no longer has the code {code}" for code in sorted(listed - codes)]
    if wrong:
        raise SystemExit("\n".join(wrong))
    print(f"messages: the program has the {count} messages of docs/troubleshooting.md, and docs/openapi all {len(codes)} codes of the API")


if __name__ == "__main__":
    main()
