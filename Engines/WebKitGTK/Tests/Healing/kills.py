#!/usr/bin/env python3
"""kill -9 at each step of a switch, of a mark, of a verdict and of a return: kills.py XCACHE APP [KILLS] [-j N] [--from N] [--only TEXT]

The app is ended before its nth change of a file of the device's (kill.c, preloaded), for each n, or for KILLS of them, spread evenly
(100). Then it is opened as a user would until it shows the build that works: a page is never of two builds, what is held is whole, and two
more openings of the build with the fault are the most that it takes. Needs a C compiler.
"""
import argparse, concurrent.futures, hashlib, json, os, re, shutil, subprocess, sys, tempfile, time, urllib.parse

from bench import FAULTS, SMALL, Bench, Device, here, marked
from faults import full, is_mixed

def build(name, plant=lambda files: files):
    """A small build, so that it is about the steps: some files change, one goes and one comes."""
    own = marked({path: data for path, data in SMALL.items() if path < "part-5"}, name)
    same = {path: data for path, data in SMALL.items() if path >= "part-5"}
    return plant(own | same) | {f"{name}-only.txt": name.encode() * 1000}


def is_whole(device):
    """Whether every file that the manifest in force lists is there, with its bytes."""
    root = f"{device.folder}/device"
    for url, entry in json.load(open(f"{root}/index.json"))["resourcemap"].items():
        name = urllib.parse.unquote(urllib.parse.urlsplit(entry["download"]).path.rsplit("/", 1)[1])
        try:
            with open(f"{root}/files/{name}", "rb") as file:
                if hashlib.sha256(file.read()).hexdigest() != entry["sha256"]:
                    return f"{url} has other bytes"
        except OSError:
            return f"{url} is missing"
    return ""


class Step:
    """A start of the app from a state of the device."""

    def __init__(self, name, device, state, words, done):
        self.name, self.device, self.state, self.words, self.done = name, device, state, words, done


class Kills:
    def __init__(self, bench, library, only):
        self.bench, self.library, self.only, self.steps = bench, library, only, []

    def copied(self, device, state):
        folder = tempfile.mkdtemp(prefix="device-", dir=self.bench.folder)
        shutil.copytree(state, folder, dirs_exist_ok=True)
        return Device(self.bench, device.app, folder)

    def saved(self, device, name):
        path = f"{self.bench.folder}/state-{device.app}-{name}"
        shutil.copytree(device.folder, path)
        return path

    def prepare(self):
        """The states that the starts begin with."""
        steps = {"throws": ("the switch", "the first verdict", "the second verdict and the return"),
                 "crash": ("the first crash", "the second crash", "the return at the start")}
        for fault in (fault for fault, names in steps.items() if any(self.only in name for name in names)):
            device = Device(self.bench, fault)
            self.a = self.bench.publish(fault, build("A"))
            device.opens(polls=True, awaits=self.a)
            state = self.saved(device, "a")
            self.b = self.bench.publish(fault, build("B", FAULTS[fault][0]))
            if fault == "throws":
                self.steps.append(Step("the switch", device, state, {"polls": True, "awaits": self.b}, lambda o, d: o.said("ends")))
            device.opens(polls=True, awaits=self.b)
            while device.trial().get("trial", {}).get("failures"):
                # On a busy machine its page may come after the switch.
                shutil.rmtree(device.folder)
                shutil.copytree(state, device.folder)
                device.opens(polls=True, awaits=self.b)
            for number in (1, 2):
                if fault == "throws":
                    self.steps.append(Step(("", "the first verdict", "the second verdict and the return")[number], device,
                                           self.saved(device, number), {"stays": 3600},
                                           (lambda o, d: full(o, "A")) if number == 2 else self.has_failed))
                    if number == 1:
                        self.opens(device)
                else:
                    self.steps.append(Step(("", "the first crash", "the second crash")[number], device, self.saved(device, number), {},
                                           lambda o, d: False))
                    device.opens()
            if fault == "crash":
                self.steps.append(Step("the return at the start", device, self.saved(device, 3), {"stays": 3600}, lambda o, d: full(o, "A")))

    @staticmethod
    def has_failed(opening, device):
        return device.trial().get("trial", {}).get("failures", 0) > 0

    def opens(self, device):
        """An opening as a user makes it; it ends once the page is there, or has failed."""
        before = device.trial().get("trial", {}).get("failures", 0)
        opening = device.start(stays=3600)
        opening.waits(lambda o: full(o, "A") or before < device.trial().get("trial", {}).get("failures", 0) < 2, 120)
        time.sleep(0.2)
        opening.end() if opening.process.poll() is None else opening.wait()
        return opening

    def runs(self, step, number, log=None):
        """The start, ended before its nth change; then openings. Returns what is wrong, and what happened."""
        device = self.copied(step.device, step.state)
        environment = os.environ | {"LD_PRELOAD": self.library, "KILL_BELOW": f"{device.folder}/device", "KILL_AT": str(number)}
        if log:
            environment["KILL_LOG"] = log
        opening = device.start(environment=environment, **step.words)
        opening.waits(lambda o: step.done(o, device), 120)
        time.sleep(0.2)
        if opening.process.poll() is None and log:
            opening.end()
        opening.kill() if opening.process.poll() is None else opening.wait()
        if log:
            shutil.rmtree(device.folder)
            return [], ""
        wrong, told = [], []
        if is_mixed(opening):
            wrong.append(f"the start that ended: a page of two builds: {opening.shown}")
        for tries in range(1, 5):
            opening = self.opens(device)
            told.append(opening.held)
            if is_mixed(opening):
                wrong.append(f"opening {tries}: a page of two builds: {opening.shown}")
            if opening.said("fault"):
                wrong.append(f"opening {tries}: {opening.said('fault')}")
            if full(opening, "A"):
                break
        else:
            wrong.append(f"not on A: {opening.lines}")
        if tries > 3:
            wrong.append(f"{tries} openings")
        held = json.load(open(f"{device.folder}/device/index.json"))
        if (missing := is_whole(device)):
            wrong.append(missing)
        shutil.rmtree(device.folder, ignore_errors=True)
        return wrong, f"held {' '.join(told)}, A at opening {tries}" + ("" if len(held["resourcemap"]) else ", nothing held")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xcache")
    parser.add_argument("program", metavar="app")
    parser.add_argument("kills", nargs="?", type=int, default=100)
    parser.add_argument("--only", default="", help="only at steps with this in their names")
    parser.add_argument("--from", type=int, default=0, dest="first", help="begin at this change, for others than the last time")
    parser.add_argument("-j", type=int, default=2, dest="jobs")
    options = parser.parse_intermixed_args()
    bad = made = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        library = f"{folder}/kill.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, here / "kill.c", "-ldl"], check=True)
        bench = Bench(options.xcache, options.program, folder)
        try:
            kills = Kills(bench, library, options.only)
            kills.prepare()
            points = []
            for step in kills.steps:
                if options.only not in step.name:
                    continue
                log = f"{folder}/log"
                kills.runs(step, 0, log)
                lines = open(log).read().splitlines()
                os.unlink(log)
                names = [re.sub(r"[0-9a-f]{12,}", "…", re.sub(r"https%3A%2F%2F\S*", "FILE", line.split(" ", 1)[1])) for line in lines]
                print(f"{step.name}: {len(lines)} changes", flush=True)
                points += [(step, number + 1, names[number]) for number in range(len(lines))]
            if len(points) > options.kills:
                points = [points[(options.first + place * len(points) // options.kills) % len(points)] for place in range(options.kills)]
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                futures = {pool.submit(kills.runs, step, number): (step, number, name) for step, number, name in points}
                for done in concurrent.futures.as_completed(futures):
                    step, number, name = futures[done]
                    try:
                        wrong, told = done.result()
                    except Exception as error:  # noqa: BLE001: one kill's failure is no other's
                        wrong, told = [repr(error)], ""
                    made += 1
                    bad += bool(wrong)
                    print(f"{'FAILED' if wrong else 'ok    '} {step.name} {number}, before {name}: {told}", flush=True)
                    for line in wrong:
                        print(f"    WRONG {line}", flush=True)
        finally:
            bench.close()
    print(f"{made} kills, {bad} with a wrong end")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
