#!/usr/bin/env python3
"""Checks the device in Python against decisions of docs/vectors/rollout.py, one a line: python_rollouts.py FILE"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "Examples/python"))
import rollout  # noqa: E402


def decided(case):
    """None if the rule is invalid."""
    try:
        rollout.check(case["rule"])
    except Exception:
        return None
    return rollout.is_in(case["rule"], case["install"], case["app"], case["groups"], case["held"])


def main():
    vectors = json.loads((ROOT / "docs/vectors/rollout.json").read_bytes())
    with open(sys.argv[1], encoding="utf-8") if len(sys.argv) > 1 else open("/dev/null") as file:
        cases = vectors["decisions"] + [json.loads(line) for line in file]
    for case in cases:
        if decided(case) != case.get("in"):
            raise SystemExit(f"the device decides {decided(case)}: {json.dumps(case)}")
    for case in vectors["rules"]:
        if ("error" in case) == (decided({"install": "00" * 16, "app": None, "groups": [], "held": None} | case) is not None):
            raise SystemExit(f"the device takes or refuses {case}")
    print(f"rollouts: {len(cases)} decisions agree (Python)")


if __name__ == "__main__":
    main()
