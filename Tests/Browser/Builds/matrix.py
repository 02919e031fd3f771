"""The tables of docs/builds.md: what runs found is compared with them, or with --write put there."""
import json, re

from builds import root

DOCUMENT = root / "docs/builds.md"
WRITES = False
# What a run found that the document doesn't say.
DIFFERS = []


def row(name, cells):
    """Compares cells of a row, by their columns' heads, or writes them. Rows are told by the text of their first cell."""
    lines = DOCUMENT.read_text().split("\n")
    heads = []
    for place, line in enumerate(lines):
        parts = [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]
        if place + 1 < len(lines) and re.fullmatch(r"\|( *:?-+:? *\|)+", lines[place + 1]):
            heads = parts
        if not parts or parts[0] != name:
            continue
        for head, text in cells.items():
            at = heads.index(head)
            if parts[at] == text:
                continue
            if WRITES:
                parts[at] = text
            else:
                DIFFERS.append(f"docs/builds.md:{place + 1}: {name}, {heads[at]}: the document says {parts[at]!r}, the run {text!r}")
        if WRITES:
            lines[place] = "| " + " | ".join(parts) + " |"
            DOCUMENT.write_text("\n".join(lines))
        return
    DIFFERS.append(f"docs/builds.md has no row {name!r}")


def settings(proposed, used):
    """What to write in xcache.json, beside what `init` writes."""
    added = {name: value for name, value in used.items() if proposed.get(name) != value}
    first = "as `init` writes it" + (", with its `fallback`" if "fallback" in proposed and "fallback" not in added else "")
    return first + (", and `" + json.dumps(added)[1:-1].replace("|", "\\|") + "`" if added else "")


def report():
    """Prints what differs; returns the exit code."""
    for line in DIFFERS:
        print(line)
    if DIFFERS:
        print("the document is made anew with --write")
    return 1 if DIFFERS else 0
