#!/usr/bin/env python3
"""Checks every link of every Markdown file: that the file is there, and the heading that an anchor names.   links.py"""
import pathlib
import re
import subprocess
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]


def prose(text):
    """A Markdown text without its code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("    "))
    return re.sub(r"`[^`\n]*`", "`", text)


def anchors(path):
    """The anchors of a file's headings, as forges and MkDocs make them."""
    names = {}
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        count = names.get(slug, 0)
        names[slug] = count + 1
        yield f"{slug}-{count}" if count else slug


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout.split()
    wrong, count, known = [], 0, {}
    for name in listed:
        path = ROOT / name
        for link in re.findall(r"!?\[[^]]*\]\(([^()\s]+(?:\([^()]*\))?)\)", prose(path.read_text())):
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            target, _, anchor = urllib.parse.unquote(link).partition("#")
            file = (path.parent / target).resolve() if target else path
            if not file.exists():
                wrong.append(f"{name}: {link}: there is no such file")
            elif anchor and file.suffix == ".md":
                if anchor not in known.setdefault(file, set(anchors(file))):
                    wrong.append(f"{name}: {link}: {file.relative_to(ROOT)} has no such heading")
    if wrong:
        raise SystemExit("\n".join(wrong))
    print(f"links: {count} in {len(listed)} files lead somewhere")


if __name__ == "__main__":
    main()
