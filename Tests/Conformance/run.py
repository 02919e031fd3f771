#!/usr/bin/env python3
"""Runs the conformance cases against an implementation of a device: docs/conformance.md.

    run.py [--jobs N] [--only TEXT] [--books NAMES] [--rules RULES] [--stop] [--without FEATURE] [--except FILE] [--verbose]
           IMPLEMENTATION [ARGUMENT...]

Each case has its own process and folder. The runner acts as the whole network, which the process reaches by `http_proxy`.
"""
import argparse, concurrent.futures, glob, json, os, shutil, subprocess, sys, tempfile, threading, time

sys.dont_write_bytecode = True
# Features that a device MAY leave out.
FEATURES = {"counts", "deltas", "evidence", "first", "healing", "packs", "partial", "resuming", "rollouts"}
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from runner.case import Case, Failed, Skipped  # noqa: E402


def cases(only, without, passed_over, books):
    for path in sorted(glob.glob(os.path.join(HERE, "cases", "*.json"))):
        if books and os.path.basename(path)[:-5] not in books:
            continue
        with open(path, encoding="utf-8") as file:
            book = json.load(file)
            for case in book["cases"]:
                named = [book["shared"][step] if isinstance(step, str) else step for step in case["steps"]]
                named = [one for step in named for one in (step if isinstance(step, list) else [step])]
                case["steps"] = with_envelopes(named, book["envelopes"]) if "envelopes" in book else named
                if only not in case["id"] + " " + case["name"]:
                    continue
                if not set(case.get("features", [])) & set(without) and case["id"] not in passed_over:
                    yield case


def with_envelopes(value, envelopes):
    """Puts a book's signed envelopes in place of their names."""
    if isinstance(value, list):
        return [with_envelopes(part, envelopes) for part in value]
    if isinstance(value, dict):
        return envelopes[value["envelope"]] if set(value) == {"envelope"} else {
            key: with_envelopes(part, envelopes) for key, part in value.items()}
    return value


def run(case, command, scratch, over):
    if over.is_set():
        return case, "left out", "", 0
    folder = tempfile.mkdtemp(dir=scratch)
    begun = time.monotonic()
    try:
        Case(case, command, folder).run()
        return case, "passed", "", time.monotonic() - begun
    except Failed as failure:
        return case, "failed", str(failure), time.monotonic() - begun
    except Skipped as reason:
        return case, "skipped", str(reason), time.monotonic() - begun
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 2))
    parser.add_argument("--only", default="", help="cases whose id or name has this text")
    parser.add_argument("--books", default="", help="only the cases of these files: delta,pack")
    parser.add_argument("--rules", default="", help="run the cases of these rules first: D-50,D-51")
    parser.add_argument("--stop", action="store_true", help="end with the first case that fails")
    parser.add_argument("--without", action="append", default=[], help="pass over cases of a feature")
    parser.add_argument("--except", dest="passed_over", help="a file of cases that can't be about this device: an id and why, a line each")
    parser.add_argument("--verbose", action="store_true", help="name each case")
    parser.add_argument("implementation", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.implementation:
        parser.error("which implementation? Name the program to run, as docs/conformance.md says")
    if shutil.which(options.implementation[0]) is None:
        parser.error(f"there is no program {options.implementation[0]}")
    unknown = set(options.without) - FEATURES
    if unknown:
        parser.error(f"--without {', '.join(sorted(unknown))}: it is one of {', '.join(sorted(FEATURES))}")
    alone()
    scratch = tempfile.mkdtemp(prefix="conformance-")
    counts = {}
    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            passed_over = set()
            if options.passed_over:
                with open(options.passed_over, encoding="utf-8") as file:
                    passed_over = {line.split()[0] for line in file if line.strip() and not line.startswith("#")}
            chosen = list(cases(options.only, options.without, passed_over, set(filter(None, options.books.split(",")))))
            if not chosen:
                print(f"conformance: no case of {options.books or 'all files'} has \"{options.only}\" in its id or name",
                      file=sys.stderr)
                return 2
            first = set(options.rules.split(","))
            chosen.sort(key=lambda case: first.isdisjoint(case["rules"]))
            over = threading.Event()
            for case, outcome, words, seconds in pool.map(
                lambda case: run(case, options.implementation, scratch, over), chosen
            ):
                if outcome == "left out":
                    continue
                if "pending" in case:
                    # A mark left on a case that passes would hide the next failure.
                    outcome = {"passed": "failed", "failed": "pending"}.get(outcome, outcome)
                    words = "it passes: take its mark away" if outcome == "failed" else case["pending"]
                counts[outcome] = counts.get(outcome, 0) + 1
                if outcome == "failed" and options.stop:
                    over.set()
                if outcome != "passed" or options.verbose:
                    print(f"{outcome}: {case['id']} {case['name']} ({seconds:.1f} s)"
                          + (f"\n    {words}" if words else ""), flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("conformance: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return 1 if counts.get("failed") or not counts else 0


def alone():
    """Restarts this program in its own mount namespace, where cases can mount small disks; continues if that isn't possible."""
    if os.environ.get("CONFORMANCE_MOUNTS") is not None:
        return
    flags = "-m" if os.geteuid() == 0 else "-Urm"
    usable = shutil.which("unshare") and subprocess.run(
        ["unshare", flags, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
    os.environ["CONFORMANCE_MOUNTS"] = "1" if usable else "0"
    if usable:
        os.execvp("unshare", ["unshare", flags, sys.executable] + sys.argv)


if __name__ == "__main__":
    sys.exit(main())
