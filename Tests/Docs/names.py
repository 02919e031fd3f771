#!/usr/bin/env python3
"""Checks the documents for maintainers (ARCHITECTURE.md and the READMEs beside the sources) against the tree: every type, member and
path that they name is there. So is each test that docs/guide-security.md names.   names.py"""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = re.compile(r"(ARCHITECTURE|(Sources/\w+/\w+|Engines/\w+|public(/\w+)?|Tests)/README)\.md")
CODE = re.compile(r"\.(swift|js|ts|py|sh|sql|c|h|html|css|json)$")


def named_tests():
    """What the last column of the tables in docs/guide-security.md names that isn't there, and how many names it has."""
    wrong, count = [], 0
    for number, line in enumerate((ROOT / "docs/guide-security.md").read_text().splitlines(), 1):
        for place, name in re.findall(r"`(\w+)\.(\w+)`", line.rstrip(" |").rpartition("|")[2]) if line.startswith("| ") else []:
            count += 1
            files = [*ROOT.glob(f"Tests/*/{place}.py"), *ROOT.glob(f"Tests/**/{place}/**/*.swift")]
            if not any(re.search(rf"\b(def|struct|func) {name}\b", path.read_text()) for path in files):
                wrong.append(f"docs/guide-security.md:{number}: there is no test {place}.{name}")
    return wrong, count


def main():
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    files = [name for name in files if (ROOT / name).is_file()]
    # Names of files and folders count, too: `EventLoop+Driving`, `Origin/Packs`.
    known = {word for name in files for word in re.findall(r"\w+", name)}
    for name in files:
        if CODE.search(name) and name.startswith(("Sources/", "Engines/", "public/", "Tests/", "Migrations/", "Package.swift")):
            known.update(re.findall(r"\w+", (ROOT / name).read_text(errors="replace")))
    places = {str(parent) for name in files for parent in [pathlib.PurePath(name), *pathlib.PurePath(name).parents]}
    wrong, count, documents = [], 0, [name for name in files if DOCUMENTS.fullmatch(name)]
    for document in documents:
        for number, line in enumerate((ROOT / document).read_text().splitlines(), 1):
            # Names of types stand out in figures, too; members only in `…`.
            names = set(re.findall(r"\b[A-Z][a-z]+(?:[A-Z][a-z0-9]*)+\b", line))
            for code in re.findall(r"`([^`]+)`", line):
                names.update(re.findall(r"\b[A-Za-z]\w*[a-z]\.(\w+)\b", code) if re.fullmatch(r"\w+\.\w+(\(.*\))?", code) else [])
                if re.fullmatch(r"(Sources|Engines|Tests|public|docs|deploy|Migrations|Benchmarks)(/[\w.+-]+)+/?", code):
                    count += 1
                    if not {code.rstrip("/"), str(pathlib.PurePath(document).parent / code)} & places:
                        wrong.append(f"{document}:{number}: there is no {code}")
            count += len(names)
            wrong += [f"{document}:{number}: nothing is called {name}" for name in sorted(names - known)]
    unknown, tests = named_tests()
    if wrong + unknown:
        raise SystemExit("\n".join(wrong + unknown))
    print(f"names: {count} in {len(documents)} documents for maintainers are those of the tree, and {tests} tests for those who judge sign-in")


if __name__ == "__main__":
    main()
