#!/usr/bin/env python3
"""Draws a run of Tests/Rollouts/broken_release.py: broken-release.json becomes broken-release.svg beside it.

timeline.py [--check] [--from RECORD]    --from: first makes broken-release.json of what that test has recorded
"""
import json
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "Tests/Rollouts"))
sys.dont_write_bytecode = True

WIDE, LEFT, RIGHT, ROW = 872, 96, 18, 6
COLOURS = {"old": "#c9d3dc", "bad": "#d0584c", "returned": "#2f6f9f", "halt": "#7fb0a2"}
STYLE = ("text{font:13px system-ui,sans-serif;fill:#1c2733}.title{font-weight:600}.small{font-size:12px;fill:#4a5867}"
         ".event{stroke:#53708c;stroke-dasharray:4 3}.axis{stroke:#a9b6c3}.limit{stroke:#a9b6c3;stroke-dasharray:2 3}"
         f".e{{stroke:#1c2733;fill:none;stroke-width:1.8}}.bad{{stroke:{COLOURS['bad']};fill:{COLOURS['bad']};fill-opacity:.25}}"
         ".fail{stroke:#1c2733;stroke-width:1.4}.up{fill:#fff;stroke:#1c2733}")


def condensed(record):
    """What the picture shows of a record: the devices in the rollout, the e-value, and what happened."""
    import judge
    devices = []
    for device in judge.arm(record, "candidate"):
        devices.append({
            "held": [[time, version] for time, version in device["held"] if time > 0],
            "pages": [[page["at"], page["fails"]] for page in device["pages"] if page["at"] > 0],
            **{name: True for name in ("engine", "office", "offline", "late") if device[name]}})
    devices.sort(key=lambda one: one["held"][0][0] if one["held"] else 1e9)
    values = [[sample["at"], round(sample["e"], 3)] for sample in record["samples"]]
    # The value that it was halted for, which no sample has: then the rollout is over.
    reason = next(one for one in record["rollout"]["rollouts"] if one["version"] == "2")["reason"]
    values.append([judge.at(record, "halted"), float(re.search(r"e = ([\d.e+]+)", reason)[1])])
    return {"devices": devices, "e": values,
            "steps": record["steps"], "numbers": judge.numbers(record)}


def text(x, y, words, kind="", anchor="start"):
    return f'<text{f" class={chr(34)}{kind}{chr(34)}" if kind else ""} x="{x:.0f}" y="{y:.0f}"{f" text-anchor={chr(34)}{anchor}{chr(34)}" if anchor != "start" else ""}>{words}</text>'


def line(kind, x1, y1, x2, y2):
    return f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def draw(run):
    ends = next(step["at"] for step in run["steps"] if step["what"] == "everyone is back")
    last = 10 * math.ceil(ends / 10)
    x = lambda time: LEFT + (WIDE - LEFT - RIGHT) * min(max(time, 0), last) / last
    top = 88
    e_top = top + ROW * len(run["devices"]) + 44
    held_top = e_top + 120 + 40
    bottom = held_top + 56
    high = bottom + 70
    numbers = run["numbers"]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high}" role="img">',
           f"<title>A broken release at 1 %: {numbers['saw it']} devices show it twice at most and go back by themselves; paused after "
           f"{numbers['paused']:.0f} s, halted after {numbers['halted']:.0f} s, and after {ends:.0f} s all have the old content.</title>",
           f"<style>{STYLE}</style>", f'<rect width="{WIDE}" height="{high}" fill="#fff"/>',
           text(12, 22, "The devices in the rollout, a line each", "title")]

    # What happened, alternately in two rows so that the words don't touch.
    words = {"published": "published to 1 %", "paused": "paused by itself", "halted": "halted by itself", "everyone is back": "all have the old content"}
    for index, step in enumerate(step for step in run["steps"] if step["what"] in words):
        place, label = x(step["at"]), f"{words[step['what']]}, {step['at']:.0f} s"
        out += [line("event", place, 66 if index % 2 else 50, place, bottom),
                text(place, 62 if index % 2 else 46, label, "small", "start" if index == 0 else "end" if step["at"] > last * 0.8 else "middle")]

    for index, device in enumerate(run["devices"]):
        y = top + ROW * index
        spans, kind, begin, had = [], "old", 0, False
        for time, version in device["held"]:
            had = had or version == "2"
            following = "bad" if version == "2" else "halt" if version not in ("1", "2") else "returned" if had else "old"
            if following != kind:
                spans.append((begin, time, kind))
                kind, begin = following, time
        spans.append((begin, ends, kind))
        out += [f'<rect x="{x(a):.1f}" y="{y}" width="{x(b) - x(a):.1f}" height="{ROW - 1}" fill="{COLOURS[kind]}"/>' for a, b, kind in spans]
        for time, fails in device["pages"]:
            place, middle = x(time), y + (ROW - 1) / 2
            out.append(f'<path class="fail" d="M{place - 2:.1f} {middle - 2}l4 4m0 -4l-4 4"/>' if fails else
                       f'<circle class="up" cx="{place:.1f}" cy="{middle}" r="1.8"/>')
        if device.get("engine") and not (index and run["devices"][index - 1].get("engine")):
            out.append(text(LEFT - 6, y + ROW, "WebKitGTK", "small", "end"))

    # The e-value, from 1/10 to a million.
    def level(value):
        return e_top + 120 - 120 * (min(max(math.log10(max(value, 1e-9)), -1), 6) + 1) / 7
    out.append(text(12, e_top - 10, "The e-value of the evidence", "title"))
    for value, words in ((1, "1"), (100, "100: pause"), (10_000, "10,000: halt")):
        out += [line("limit", LEFT, level(value), WIDE - RIGHT, level(value)), text(LEFT - 6, level(value) + 4, words, "small", "end")]
    points = " ".join(f"{x(time):.1f},{level(value):.1f}" for time, value in run["e"])
    out.append(f'<polyline class="e" points="{points}"/>')

    # How many hold it.
    changes = sorted((time, 1 if version == "2" else -1) for device in run["devices"] for (time, version), before in
                     zip(device["held"], [None] + [version for _, version in device["held"]]) if version == "2" or before == "2")
    count, most, steps = 0, 1, [(0, 0)]
    for time, change in changes:
        steps += [(time, count), (time, count + change)]
        count += change
        most = max(most, count)
    steps += [(ends, count), (ends, 0)]
    out += [text(12, held_top - 10, "Devices that hold the broken build", "title"),
            '<polygon class="bad" points="' + " ".join(f"{x(time):.1f},{bottom - 56 * value / most:.1f}" for time, value in steps) + '"/>',
            text(LEFT - 6, held_top + 8, str(most), "small", "end"), text(LEFT - 6, bottom, "0", "small", "end"),
            line("axis", LEFT, bottom, WIDE - RIGHT, bottom)]
    for time in range(0, last + 1, 20):
        out += [line("axis", x(time), bottom, x(time), bottom + 4), text(x(time), bottom + 18, f"{time} s", "small", "middle")]

    place = 12
    for kind, words in (("old", "the build before"), ("bad", "the broken build"), ("returned", "went back by itself"), ("halt", "the version of the halt")):
        out += [f'<rect x="{place}" y="{bottom + 36}" width="18" height="10" fill="{COLOURS[kind]}"/>', text(place + 24, bottom + 46, words, "small")]
        place += 44 + 6 * len(words)
    out += [f'<path class="fail" d="M{place + 2} {bottom + 39}l4 4m0 -4l-4 4"/>', text(place + 12, bottom + 46, "a page failed", "small"),
            f'<circle class="up" cx="{place + 112}" cy="{bottom + 41}" r="2.2"/>', text(place + 120, bottom + 46, "a page came up", "small")]
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    source, target = HERE / "broken-release.json", HERE / "broken-release.svg"
    if "--from" in sys.argv:
        record = json.loads(pathlib.Path(sys.argv[sys.argv.index("--from") + 1]).read_text())
        source.write_text(json.dumps(condensed(record), separators=(",", ":")).replace('{"held"', '\n{"held"').replace('],"e"', ']\n,"e"') + "\n")
    picture = draw(json.loads(source.read_text()))
    if "--check" in sys.argv:
        if not target.exists() or target.read_text() != picture:
            raise SystemExit(f"{target.name}: not what {source.name} draws; run docs/pictures/timeline.py")
    else:
        target.write_text(picture)


if __name__ == "__main__":
    main()
