#!/usr/bin/env python3
"""Draws the pictures of the documentation: NAME.txt becomes NAME.svg beside it.   draw.py [--check]

A text has one line per thing, on a grid of columns and rows that start at 0:

    title WORDS                          what a screen reader says
    box NAME COLUMN ROW FIRST | SECOND   a box with a title and lines below it
    arrow FROM TO [LABEL]                from one box to another; "dashed" in front of "arrow" draws it so. With "<" or ">" in
                                         front, a label's lines, separated by "|", are on the left or right of the arrow
    caption WORDS                        below all boxes
"""
import html
import pathlib
import sys

WIDE, HIGH, COLUMN, ROW, MARGIN = 176, 64, 288, 120, 12
STYLE = (".note{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}text{font:14px system-ui,sans-serif;fill:#1c2733}.title{font-weight:600}.label{font-size:12px;fill:#4a5867}"
         "rect{fill:#f4f7fa;stroke:#53708c;rx:8px}path{stroke:#53708c;fill:none;stroke-width:1.5}.dashed{stroke-dasharray:5 4}"
         ".back{fill:#fff;stroke:none}")


def draw(text):
    boxes, arrows, title, caption = {}, [], "", ""
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        dashed = kind == "dashed"
        if dashed:
            kind, _, rest = rest.partition(" ")
        if kind == "title":
            title = rest
        elif kind == "caption":
            caption = rest
        elif kind == "box":
            name, column, row, words = rest.split(" ", 3)
            boxes[name] = (MARGIN + COLUMN * float(column), MARGIN + ROW * float(row), [one.strip() for one in words.split("|")])
        elif kind == "arrow":
            begin, end, *label = rest.split(" ", 2)
            arrows.append((begin, end, label[0] if label else "", dashed))
        elif kind:
            raise SystemExit(f"{line}: begin with title, caption, box, arrow or dashed arrow")
    width = max(x for x, _, _ in boxes.values()) + WIDE + MARGIN
    bottom = max(y for _, y, _ in boxes.values()) + HIGH + MARGIN
    height = bottom + (24 if caption else 0)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">',
           f"<title>{html.escape(title)}</title><style>{STYLE}</style>",
           '<defs><marker id="head" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto">'
           '<path d="M0 0L8 4L0 8z" style="fill:#53708c;stroke:none"/></marker></defs>',
           f'<rect class="back" width="{width:g}" height="{height:g}"/>']
    labels = []
    for begin, end, label, dashed in arrows:
        (x1, y1, _), (x2, y2, _) = boxes[begin], boxes[end]
        if abs(x1 - x2) < WIDE:  # one above the other
            x = (max(x1, x2) + min(x1, x2) + WIDE) / 2 + (24 if y1 > y2 else -24 if (end, begin) in {a[:2] for a in arrows} else 0)
            line = (x, y1 + (HIGH if y2 > y1 else 0), x, y2 + (0 if y2 > y1 else HIGH))
        elif y1 == y2:
            line = (x1 + (WIDE if x2 > x1 else 0), y1 + HIGH / 2, x2 + (0 if x2 > x1 else WIDE), y2 + HIGH / 2)
        else:
            line = (x1 + (WIDE if x2 > x1 else 0), y1 + HIGH / 2, x2 + (0 if x2 > x1 else WIDE), y2 + HIGH / 2)
        out.append('<path {}d="M{:g} {:g}L{:g} {:g}" marker-end="url(#head)"/>'.format('class="dashed" ' if dashed else "", *line))
        if label:
            x, y = (line[0] + line[2]) / 2, (line[1] + line[3]) / 2
            upright, side = line[0] == line[2], label[0] if label[0] in "<>" else ""
            # Beside an arrow that leans there is room for short lines; over it, the arrow would run through the words.
            words = [one.strip() for one in label.lstrip("<>").split("|")]
            shift = {"<": -20, ">": 20}.get(side, 8 if upright else 0)
            anchor = {"<": "end", ">": "start"}.get(side, "start" if upright else "middle")
            for index, word in enumerate(words):
                down = 4 + 15 * (index - (len(words) - 1) / 2) if upright or side else -7
                labels.append(f'<text class="label note" x="{x + shift:g}" y="{y + down:g}" text-anchor="{anchor}">{html.escape(word)}</text>')
    for x, y, words in boxes.values():
        out.append(f'<rect x="{x:g}" y="{y:g}" width="{WIDE}" height="{HIGH}"/>')
        first = y + HIGH / 2 + 5 - 9 * (len(words) - 1)
        for index, word in enumerate(words):
            kind = "title" if index == 0 else "label"
            out.append(f'<text class="{kind}" x="{x + WIDE / 2:g}" y="{first + 18 * index:g}" text-anchor="middle">{html.escape(word)}</text>')
    if caption:
        labels.append(f'<text class="label" x="{width / 2:g}" y="{bottom + 10:g}" text-anchor="middle">{html.escape(caption)}</text>')
    return "\n".join(out + labels + ["</svg>"]) + "\n"


def main():
    stale = []
    for source in sorted(pathlib.Path(__file__).resolve().parent.glob("*.txt")):
        picture, target = draw(source.read_text()), source.with_suffix(".svg")
        if "--check" in sys.argv:
            if not target.exists() or target.read_text() != picture:
                stale.append(target.name)
        else:
            target.write_text(picture)
    if stale:
        raise SystemExit(f"{', '.join(stale)}: not what the text draws; run docs/pictures/draw.py")


if __name__ == "__main__":
    main()
