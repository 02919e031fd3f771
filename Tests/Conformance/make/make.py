#!/usr/bin/env python3
"""Writes Tests/Conformance/cases, and the ids of the cases into the table of docs/protocol.md. Needs python3-zstandard."""
import importlib, json, os, re, sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
PROTOCOL = os.path.join(HERE, "../../../docs/protocol.md")
MODULES = [name for name in ("polls", "answers", "updates", "pages", "policies", "places", "loads", "sizes", "rollouts", "signed", "heal", "routes", "lazies", "firsts", "edges", "samples")
           if os.path.exists(os.path.join(HERE, name + ".py"))]


def main():
    rules, count = {}, 0
    for module in map(importlib.import_module, MODULES):
        for book in module.books:
            for case in book.cases:
                count += 1
                for rule in case["rules"]:
                    rules.setdefault(rule, []).append(case["id"])
            envelopes = {}
            for case in book.cases:
                case["steps"] = [named(step, envelopes) for step in case["steps"]]
            shared = share(book.cases)
            listed = '"envelopes": {\n' + lines(f"{written(name)}: {text}" for text, name in envelopes.items()) + "\n}, " if envelopes else ""
            with open(os.path.join(HERE, "../cases", book.name + ".json"), "w", encoding="utf-8") as file:
                file.write('{"shared": {\n' + lines(f"{json.dumps(name)}: {written(step)}" for name, step in shared.items())
                           + "\n}, " + listed + '"cases": [\n' + lines(map(written, book.cases)) + "\n]}\n")
    with open(PROTOCOL, encoding="utf-8") as file:
        text = file.read()
    known = set()

    def fill(match):
        known.add(match[1])
        cases = spans(rules.get(match[1], []))
        return f"| {match[1]} | {match[2]} | {cases} |" if cases else f"| {match[1]} | {match[2]} | |"

    text = re.sub(r"^\| ([DRT]-\d+) \| (.*?) \| [^|]*\|$", fill, text, flags=re.M)
    with open(PROTOCOL, "w", encoding="utf-8") as file:
        file.write(text)
    def order(rule):
        return rule[0], int(rule[2:])

    for rule in sorted(set(rules) - known, key=order):
        print(f"docs/protocol.md has no {rule}: {' '.join(rules[rule])}")
    for rule in sorted(known - set(rules), key=order):
        print(f"no case tests {rule}")
    print(count, "cases")


def named(value, envelopes):
    """A value whose signed envelopes are replaced by their names, as each is in many cases."""
    if isinstance(value, dict) and set(value) == {"payload", "payloadType", "signatures"}:
        text = written(value)
        return {"envelope": envelopes.setdefault(text, f"{value['payloadType'].split('.')[-1].split('+')[0]} {len(envelopes) + 1}")}
    if isinstance(value, list):
        parts = [named(part, envelopes) for part in value]
        return type(value)(value.name, parts) if hasattr(value, "name") else parts
    return {key: named(part, envelopes) for key, part in value.items()} if isinstance(value, dict) else value


def share(cases):
    """Moves long steps used by several cases to the shared ones, and replaces them by their names."""
    counts, shared, names = {}, {}, {}
    for case in cases:
        for step in case["steps"]:
            counts[written(step)] = counts.get(written(step), 0) + 1
    for case in cases:
        for place, step in enumerate(case["steps"]):
            text = written(step)
            if isinstance(step, list):
                shared[step.name], case["steps"][place] = step, step.name
            elif len(text) > 200 and counts[text] > 1:
                name = names.setdefault(text, f"{next(iter(step))} {len(names) + 1}")
                shared[name], case["steps"][place] = step, name
    return shared


def written(value):
    return json.dumps(value, ensure_ascii=False)


def lines(texts):
    return ",\n".join(texts)


def spans(ids):
    """`poll-01…03, copy-02`."""
    runs = []
    for name, number in (one.rsplit("-", 1) for one in ids):
        if runs and runs[-1][0] == name and runs[-1][2] == int(number) - 1:
            runs[-1][2] += 1
        else:
            runs.append([name, int(number), int(number)])
    return ", ".join(f"{name}-{a:02}" + (f"…{b:02}" if b > a else "") for name, a, b in runs)


main()
