#!/usr/bin/env python3
"""Writes rollout.json: cases by hand, and random ones that decoder.py answers. With --random N it prints N other ones, a line each,
for a comparison of implementations (`make test-rollouts`)."""
import argparse
import json
import pathlib
import random

import decoder
from decoder import Fault, Number

HERE = pathlib.Path(__file__).resolve().parent
ZERO, ONES, ID = "00" * 16, "ff" * 16, "000102030405060708090a0b0c0d0e0f"
SEED = "9f86d081884c7d65"


def parsed(value):
    """As decoder.py reads it: a number is a text of its own kind."""
    return decoder.parse_json(json.dumps(value))


def order(a, b):
    left, right = decoder.app_version(a), decoder.app_version(b)
    if left is None or right is None:
        return {"a": a, "b": b}
    return {"a": a, "b": b, "order": (left > right) - (left < right)}


def lies(app, text):
    try:
        return {"app": app, "in": decoder.lies_in(app, decoder.app_range(text)), "range": text}
    except Fault:
        return {"app": app, "range": text}


def decision(rule, install, app=None, groups=(), held=None):
    case = {"app": app, "groups": list(groups), "held": held, "install": install, "rule": rule}
    try:
        read = decoder.read_rule(parsed(rule))
    except Fault:
        return case
    return case | {"in": decoder.is_in(read, bytes.fromhex(install), app, groups, held)}


# Versions, each below the next; those of one row are equal.
ORDERED = [
    ["0", "0.0.0.0", "00"], ["0.0.0.1"], ["1-0"], ["1-1", "1.0-1+x"], ["1-2"], ["1-10"], ["1-99999999999999999999"],
    ["1-100000000000000000000"], ["1--"], ["1-A"], ["1-a-b"], ["1.0.0-alpha"], ["1-alpha.1"], ["1-alpha.1.0"], ["1-alpha.beta"],
    ["1-b"], ["1-beta"], ["1-beta.2"], ["1-beta.11"], ["1-rc.1", "01.0-rc.1+7"], ["1", "1.0", "1.0.0", "1.0.0.0", "1+1", "001"],
    ["1.0.0.1-x"], ["1.0.0.1"], ["1.0.1"], ["1.9"], ["1.10"], ["2"], ["9.999999999"], ["10"], ["999999999.999999999.999999999.999999999"],
]
NO_VERSIONS = ["", " ", "1.", ".1", "1..2", "1.2.3.4.5", "v1", "1.x", "1 ", " 1", "-1", "+1", "1-", "1+", "1-a..b", "1-.a", "1-01",
               "1-a.007", "1-a_b", "1+a+b", "1+a_b", "1234567890", "1.1234567890", "1,2", "\u0661", "1-\u00e4", "1\n", "1.0.0-rc 1", "1-" + "a" * 255]
RANGES = {
    ">=4.2 <5": ["4.2", "4.1.9", "4.2.0-rc.1", "4.99", "5", "5-rc.1", "5.0.1", None, "", "4.x"],
    "=4.2": ["4.2.0.0", "4.2.0.1", "4.2+7", "4.2-1"], "<1": ["0", "1-0", "1"], "<=1": ["1+z", "1.0.0.1"], ">1": ["1+z", "1.0.0.1"],
    ">=2-rc.2": ["2-rc.1", "2-rc.2", "2-rc.10", "2"], "<2||>=3": ["1", "2", "3"], "<2 || >=3 <4": ["1", "2", "3", "4"],
    ">1 >2 <9 <8": ["2", "3", "8"], "=" + "999999999." * 3 + "999999999": ["999999999.999999999.999999999.999999999"],
    "||".join(f"={n}" for n in range(16)): ["15", "16"],
}
NO_RANGES = ["", " ", "||", ">1||", "||>1", "1", "4.2", "==1", "=>1", "> 1", "!=1", "~1", "^1", ">1,<2", ">1|<2", ">1 || || <0", "*",
             ">v1", ">1 & <2", ">1\t<2", ">1.2.3.4.5", ">", "|| ||", "||".join(f"={n}" for n in range(17)),
             ">1" + " >1" * 16, ">1-" + "a" * 254, ">1-\u00e4", ">=1.0.0-01"]


def rules():
    good = {"seed": SEED, "share": 500, "version": "554"}
    yield good
    for members in ({"share": 0}, {"share": 10_000}, {"share": 500.0}, {"seed": "-"}, {"seed": "a_B-9" * 12 + "zzzz"}, {"groups": ["qa"]},
                    {"groups": ["a", "a-b", "a0", "b"]}, {"groups": [f"g{n}" for n in range(10, 30)]}, {"groups": ["a" * 32]},
                    {"version": "9007199254740991"}, {"app": ">=4.2 <5"}, {"app": ">1-" + "a" * 253}, {"tomorrow": {"a": [1]}}):
        yield good | members
    for members in ({"share": 10_001}, {"share": -1}, {"share": 0.5}, {"share": "500"}, {"share": None}, {"share": True}, {"seed": ""},
                    {"seed": "a" * 65}, {"seed": "a b"}, {"seed": "\u00e4"}, {"seed": 7}, {"seed": None}, {"groups": []}, {"groups": "qa"},
                    {"groups": ["b", "a"]}, {"groups": ["a", "a"]}, {"groups": ["A"]}, {"groups": ["1a"]}, {"groups": ["a_b"]},
                    {"groups": ["a" * 33]}, {"groups": [""]}, {"groups": [1]}, {"groups": [f"g{n}" for n in range(10, 31)]},
                    {"groups": None}, {"version": "0"}, {"version": "01"}, {"version": 554}, {"version": ""}, {"version": "-1"},
                    {"version": "9007199254740992"}, {"app": ""}, {"app": "4.2"}, {"app": 4}, {"app": None}, {"app": ">1-" + "a" * 254}):
        yield good | members
    for name in ("seed", "share", "version"):
        yield {key: value for key, value in good.items() if key != name}
    yield []
    yield "554"
    yield None


def decisions():
    def rule(**members):
        return {"seed": SEED, "share": 0, "version": "554"} | members
    at = decoder.bucket(bytes.fromhex(ID), SEED)
    yield decision(rule(), ID)
    yield decision(rule(share=10_000), ID)
    yield decision(rule(share=at), ID)
    yield decision(rule(share=at + 1), ID)
    # Once in, whatever becomes of the share and the groups; not under another seed.
    yield decision(rule(), ID, held=SEED)
    yield decision(rule(groups=["qa"]), ID, held=SEED)
    yield decision(rule(), ID, held="other")
    yield decision(rule(), ID, held=SEED + "0")
    # Groups.
    yield decision(rule(groups=["qa"]), ID)
    yield decision(rule(groups=["qa"]), ID, groups=["qa"])
    yield decision(rule(groups=["beta", "qa"]), ID, groups=["a", "qa", "z"])
    yield decision(rule(groups=["qa"]), ID, groups=["q", "qa2", "QA"])
    yield decision(rule(), ID, groups=["qa"])
    # The app's version goes before everything else.
    for app in ("4.2", "5", "4.x", None):
        yield decision(rule(share=10_000, app=">=4.2 <5"), ID, app)
        yield decision(rule(app=">=4.2 <5"), ID, app, held=SEED)
        yield decision(rule(app=">=4.2 <5", groups=["qa"]), ID, app, ["qa"])
        yield decision(rule(app=">=4.2 <5"), ID, app)
    yield decision(rule(share=10_000), ID, "4.x")
    yield decision(rule(share=10_000), ID)
    yield decision(rule(share=10_000, app="=0"), ID)


# What random cases are made of.

PARTS = ["0", "1", "2", "3", "9", "10", "11", "00", "01", "999999999", "1000000000"]
IDENTIFIERS = ["0", "1", "2", "10", "01", "a", "A", "alpha", "beta", "rc", "rc1", "x-y", "-", "--1", "0a", "99999999999999999999"]
NAMES = ["a", "b", "beta", "qa", "qa-1", "staff"]


def some_version(draw):
    text = ".".join(draw.choice(PARTS[:9] if draw.random() < 0.97 else PARTS) for _ in range(draw.randint(1, 4)))
    if draw.random() < 0.4:
        text += "-" + ".".join(draw.choice(IDENTIFIERS) for _ in range(draw.randint(1, 3)))
    if draw.random() < 0.15:
        text += "+" + ".".join(draw.choice(IDENTIFIERS) for _ in range(draw.randint(1, 2)))
    if draw.random() < 0.03:
        text = text.replace(draw.choice(".0-1"), draw.choice(["..", "", "x", " ", "+"]), 1)
    return text


def near(draw, text):
    """A version that is like another one."""
    kind = draw.random()
    if kind < 0.3:
        return text
    if kind < 0.45:
        return text + "+7" if "+" not in text else text.split("+")[0]
    if kind < 0.6:
        return text.split("+")[0] + ".0" if "-" not in text else text.split("-")[0]
    if kind < 0.75:
        return text.split("+")[0] + ("-" if "-" not in text else ".") + draw.choice(IDENTIFIERS)
    return some_version(draw)


def some_range(draw):
    def comparator():
        return draw.choice(["<", "<=", ">", ">=", "="]) + some_version(draw)
    text = draw.choice(["||", " || "]).join(
        " ".join(comparator() for _ in range(draw.randint(1, 3))) for _ in range(draw.randint(1, 3)))
    if draw.random() < 0.02:
        text = text.replace(draw.choice("<>=| "), draw.choice(["", "!", "=", " "]), 1)
    return text


def random_case(draw):
    install, seed = draw.randbytes(16).hex(), draw.choice([SEED, draw.randbytes(8).hex(), "a", "Z_z-9" * draw.randint(1, 12)])
    at = decoder.bucket(bytes.fromhex(install), seed)
    rule = {"seed": seed, "share": draw.choice([0, 100, 500, 2500, 5000, 10_000, at, min(at + 1, 10_000), draw.randint(0, 10_000)]),
            "version": str(draw.randint(1, 2000))}
    if draw.random() < 0.4:
        rule["groups"] = sorted(set(draw.choices(NAMES, k=draw.randint(1, 3))))
    app = some_version(draw) if draw.random() < 0.9 else None
    if draw.random() < 0.7:
        rule["app"] = some_range(draw)
        versions = decoder.re.findall("[<>=]([^<>=| ]+)", rule["app"])
        if app and versions and draw.random() < 0.7:
            app = near(draw, draw.choice(versions))
    groups = sorted(set(draw.choices(NAMES, k=draw.randint(0, 2))))
    held = draw.choice([None, None, None, seed, seed, SEED])
    return decision(rule, install, app, groups, held)


def random_cases(count, seed):
    draw = random.Random(seed)
    return (random_case(draw) for _ in range(count))


def written(case):
    return json.dumps(case, ensure_ascii=False, sort_keys=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.random is not None:
        for case in random_cases(given.random, given.seed):
            print(written(case))
        return
    versions = [version for row in ORDERED for version in row]
    pairs = [(a, b) for at, a in enumerate(versions) for b in versions[at:at + 4]]
    texts = {
        "buckets": [{"bucket": decoder.bucket(bytes.fromhex(install), seed), "install": install, "seed": seed}
                    for install in (ZERO, ONES, ID) for seed in (SEED, "a", "-", "a_B-9" * 12 + "zzzz")],
        "versions": [order(a, b) for a, b in pairs] + [order(b, a) for a, b in pairs[::5]] + [order(text, text) for text in NO_VERSIONS],
        "ranges": [lies(app, text) for text, apps in RANGES.items() for app in apps] + [lies("1", text) for text in NO_RANGES],
        "rules": [{"rule": rule} | ({} if read(rule) else {"error": True}) for rule in rules()],
        "decisions": [*decisions(), *random_cases(200, 0)],
    }
    # The rows are in order, by hand: decoder.py has to see it the same way.
    place = {version: at for at, row in enumerate(ORDERED) for version in row}
    for case in texts["versions"]:
        if case["a"] in place:
            a, b = place[case["a"]], place[case["b"]]
            assert case.get("order") == (a > b) - (a < b), case
        else:
            assert "order" not in case, case
    assert all("in" not in case for case in texts["ranges"][-len(NO_RANGES):])
    body = ",\n".join(f'"{name}": [\n' + ",\n".join(map(written, cases)) + "\n]" for name, cases in texts.items())
    (HERE / "rollout.json").write_text("{\n" + body + "\n}\n", encoding="utf-8")


def read(rule):
    try:
        return decoder.read_rule(parsed(rule))
    except Fault:
        return None


if __name__ == "__main__":
    main()
