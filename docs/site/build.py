#!/usr/bin/env python3
"""Builds the website of the documentation with MkDocs; any warning fails it.   build.py FOLDER

The pages are the repository's own Markdown files. They are staged in FOLDER/source at their own paths, so that their links to each
other hold; a link to anything else of the repository becomes its path, since a website has no source beside it.
"""
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def pages():
    return re.findall(r"^ +- [^:\n]+: (\S+\.md)$|^  - [^:\n]+: (\S+\.md)$", (HERE / "mkdocs.yml").read_text(), re.M)


def staged(path, known):
    """A page's text, with links to files that the site lacks told as paths."""
    def link(match):
        words, target = match[1], match[2].partition("#")[0]
        if re.match(r"[a-z]+:", match[2]) or not target:
            return match[0]
        file = (path.parent / target).resolve()
        if file in known:
            return match[0]
        shown = words if words.startswith("`") else f"{words} (`{file.relative_to(ROOT)}`)"
        return shown
    text = re.sub(r"(?<!!)\[([^]]*)\]\(([^()\s]+)\)", link, path.read_text())
    # Markdown as MkDocs reads it nests a list by four columns, forges by two.
    return re.sub(r"^(  )(?=[-*] )", "    ", text, flags=re.M)


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    source = folder / "source"
    shutil.rmtree(folder, ignore_errors=True)
    names = [one or other for one, other in pages()]
    assets = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs/pictures").glob("*.svg"))]
    assets += [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs/schemas").glob("*.schema.json"))]
    assets += [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs/images").glob("*.png"))]
    assets.append("docs/openapi/openapi.json")
    known = {ROOT / name for name in names + assets}
    for name in names + assets:
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".md"):
            target.write_text(staged(ROOT / name, known))
        else:
            shutil.copyfile(ROOT / name, target)
    missing = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").glob("*.md")) if path not in known]
    if missing:
        raise SystemExit(f"docs/site/mkdocs.yml doesn't name {', '.join(missing)}")
    shutil.copyfile(HERE / "mkdocs.yml", folder / "mkdocs.yml")
    # Not --quiet: MkDocs then counts no warnings, and --strict finds nothing.
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", folder / "mkdocs.yml"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode or "WARNING" in done.stdout:
        raise SystemExit(done.stdout)
    print(f"site: {len(names)} pages in {folder / 'pages'}; open index.html")


if __name__ == "__main__":
    main()
