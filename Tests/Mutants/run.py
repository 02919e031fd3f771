#!/usr/bin/env python3
"""Builds the device with every fault of table.py in it, each asleep, wakes one after the other, and runs the conformance
cases against it: a fault that no case notices means that the cases let a wrong device pass.

    run.py [--only TEXT]... [--jobs N] SCRATCH
    run.py --check      only checks that the text of each change is in the code, once

A fault counts as noticed if the case that fails does so again when it runs alone. If it fails because a command got no answer in time,
as of a device that waits for ever, the device without a fault has to pass the case between two such failures.

SCRATCH keeps the changed sources and their build. The exit code is 0 if the device without a fault passes and each fault is
noticed, and 1 otherwise. A change whose text isn't found just once is an error: the code has moved on, and the table has to follow.
"""
import argparse, os, re, shutil, subprocess, sys, time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
from table import MUTANTS  # noqa: E402

# What the build of the conformance device reads.
TREE = ["Package.swift", "Sources", "Engines", "Tests", "Benchmarks", "Migrations", "public"]
SWITCH = """import Glibc

/// The number of the fault that this process has, or 0.
package let activeMutant = getenv("XCACHE_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0

/// Whether this process has a fault.
package func isMutant(_ number: Int) -> Bool { activeMutant == number }
"""


def copied(tree):
    """Copies what is built, but leaves files alone that are the same, so that a second run builds little."""
    for name in TREE:
        source = os.path.join(ROOT, name)
        for top, folders, names in os.walk(source) if os.path.isdir(source) else [(ROOT, [], [name])]:
            folders[:] = [folder for folder in folders if folder not in (".build", "__pycache__")]
            for file in names + [folder for folder in folders if os.path.islink(os.path.join(top, folder))]:
                yield os.path.relpath(os.path.join(top, file), ROOT)


def faults():
    """The text of each file that has a fault, by its path."""
    texts = {}
    wrong = []
    for number, mutant in enumerate(MUTANTS, 1):
        for path, find, replace in mutant.changes:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                original = file.read()
            if original.count(find) != 1:
                wrong.append(f"{mutant.fault}: {original.count(find)} times in {path}: {find!r}")
            texts.setdefault(path, []).append((number, find, replace, original))
    if wrong:
        sys.exit("table.py and the code differ:\n  " + "\n  ".join(wrong))
    made = {}
    for path, changes in texts.items():
        made[path] = changed(path, changes)
    return made


def changed(path, changes):
    """A file with several faults in it. Two of them may change the same place: the second is put into the first's `else`."""
    text = changes[0][3]
    for number, find, replace, _ in changes:
        woken = replace.replace("MUTANT", f"isMutant({number})")
        if find in text:
            text = text.replace(find, woken, 1)
            continue
        sys.exit(f"{path}: another fault of table.py has changed {find!r}; give both one change")
    if not re.search(r"^import System$", text, re.M):
        text = "import System\n" + text
    return text


def write(path, text):
    """Writes what differs; the build looks at times."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, "rb") as file:
            if file.read() == text:
                return
    except OSError:
        pass
    with open(path, "wb") as file:
        file.write(text)


# The switch is part of System, which Values doesn't know otherwise.
VALUES = ('library("Common/Values", ["Backports"])', 'library("Common/Values", ["Backports", "System"])')


def package():
    """Package.swift with System below Values."""
    with open(os.path.join(ROOT, "Package.swift")) as file:
        text = file.read()
    if text.count(VALUES[0]) != 1:
        raise SystemExit(f"Package.swift doesn't have {VALUES[0]}")
    return text.replace(*VALUES)


def build(scratch):
    tree = os.path.join(scratch, "tree")
    made = {**faults(), "Package.swift": package()}
    wanted = set()
    for path in copied(tree):
        source, target = os.path.join(ROOT, path), os.path.join(tree, path)
        wanted.add(target)
        if os.path.islink(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if not os.path.islink(target):
                os.symlink(os.readlink(source), target)
            continue
        with open(source, "rb") as file:
            write(target, made[path].encode() if path in made else file.read())
    switch = os.path.join(tree, "Sources/Common/System/Mutants.swift")
    write(switch, SWITCH.encode())
    wanted.add(switch)
    for top, _, names in os.walk(os.path.join(tree, "Sources")):
        for name in names:
            if os.path.join(top, name) not in wanted:
                os.remove(os.path.join(top, name))
    subprocess.run(
        ["swift", "build", "--package-path", tree, "--scratch-path", os.path.join(scratch, "build"),
         "--product", "conformance-device"], check=True, stdout=sys.stderr)
    return os.path.join(scratch, "build/debug/conformance-device")


def attempt(device, number, *options, patience=120):
    """The first case that fails, and why; or None."""
    names = {**os.environ, "XCACHE_MUTANT": str(number), "CONFORMANCE_PATIENCE": str(patience)}
    command = [os.path.join(ROOT, "Tests/Conformance/run.py"), "--stop", *options, device]
    run = subprocess.run(command, env=names, stdout=subprocess.PIPE, text=True)
    if run.returncode == 0:
        return None
    failed = re.search(r"^failed: (\S+).*\n +(.*)", run.stdout, re.M)
    if not failed:
        sys.exit(f"the cases didn't run:\n{run.stdout}")
    return failed[1], failed[2]


def waits(device, number, case):
    """Whether it is the fault, and not the machine, that keeps a command of a case without an answer."""
    return attempt(device, 0, "--only", case, patience=30) is None and attempt(device, number, "--only", case, patience=30) is not None


def notices(device, number, rules, jobs):
    """The case that notices a fault, or None; its own rules' cases run first."""
    for _ in range(3):
        failed = attempt(device, number, "--jobs", str(jobs), "--rules", ",".join(rules))
        if failed is None:
            return None
        # On a busy machine a case may fail for another reason.
        again = attempt(device, number, "--only", failed[0], patience=30)
        if again and ("no answer to {" not in again[1] or waits(device, number, failed[0])):
            return failed[0]
        print(f"{failed[0]} failed once: {failed[1]}" if again is None else f"{failed[0]}: {again[1]}", file=sys.stderr, flush=True)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", help="faults that have this text in their words, rules or section")
    parser.add_argument("--jobs", type=int, default=4 * (os.cpu_count() or 2))
    parser.add_argument("--check", action="store_true", help="only check that each change can be made")
    parser.add_argument("scratch", nargs="?")
    options = parser.parse_args()
    if options.check:
        faults()
        package()
        return 0
    if not options.scratch:
        parser.error("SCRATCH: which folder keeps the build?")
    device = build(os.path.abspath(options.scratch))
    right = notices(device, 0, [], options.jobs)
    if right:
        print(f"mutants: the device without a fault fails {right}")
        return 1
    unnoticed, sections = 0, {}
    for number, mutant in enumerate(MUTANTS, 1):
        line = f"{mutant.section:10} {' '.join(mutant.rules):10} {mutant.fault}"
        if not any(text in line for text in options.only or [""]):
            continue
        begun = time.monotonic()
        case = notices(device, number, mutant.rules, options.jobs)
        unnoticed += case is None
        sections[mutant.section] = sections.get(mutant.section, 0) + 1
        print(f"{'noticed by ' + case if case else 'NOT NOTICED':24} {line} ({time.monotonic() - begun:.0f} s)", flush=True)
    if not sections:
        sys.exit(f"mutants: none has {' or '.join(options.only)} in it")
    print(f"mutants: {sum(sections.values())} wrong devices, {unnoticed} not noticed; "
          + ", ".join(f"{name} {count}" for name, count in sections.items()))
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
