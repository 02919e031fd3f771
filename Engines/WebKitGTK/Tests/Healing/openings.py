#!/usr/bin/env python3
"""Good builds on a loaded machine: openings.py XCACHE APP [COUNT] [--busy N] [--seed N] [--front NAME]… [--minutes N]

COUNT starts of the app (500), shared by a device for each front end. Each 10 starts there is a new release, which is good, so that most
starts are of a version on trial. A start ends in turn: the app quits a moment after the page came up, the window is closed after 0 to 3 s
and the app quits, or the system ends the app in an orderly way after 0 to 8 s. N processes do nothing but count meanwhile (1). No device
may go back. Prints how long pages took to paint, and how many failed all the same.
"""
import argparse, concurrent.futures, os, random, subprocess, sys, tempfile, threading, time

from bench import Bench, Device, files_of, marked
from faults import FRONTS, is_mixed

WAYS = ("quits", "window", "system")
EACH = 10
lock = threading.Lock()


class Life:
    def __init__(self, bench, front, count, seed, minutes):
        self.bench, self.front, self.count, self.dice = bench, front, count, random.Random(f"{seed} {front}")
        self.end, self.left = time.monotonic() + minutes * 60, 0
        self.files = [files_of(front, release) for release in (0, 1)]
        self.release, self.paints, self.failures, self.returns, self.wrong, self.on_trial = 0, [], 0, 0, [], 0
        self.device, self.done = Device(bench, front), {way: 0 for way in WAYS}

    def publish(self):
        self.release += 1
        # Most scripts stay; those with a mark change.
        return self.bench.publish(self.front, marked(self.files[self.release % 2], f"r{self.release}"))

    def run(self):
        with lock:
            version = self.publish()
        self.device.opens(polls=True, awaits=version)
        for number in range(self.count):
            if time.monotonic() > self.end:
                break
            if number % EACH == 0:
                with lock:
                    version = self.publish()
            way = WAYS[number % len(WAYS)]
            # The update comes while the page is open, and is whole at the third start at the latest.
            awaits = version if number % EACH == 2 else None
            words = {"polls": number % 2 == 0 or bool(awaits), "awaits": awaits}
            before = self.device.trial().get("trial", {})
            self.on_trial += bool(before)
            if way == "system":
                opening = self.device.start(stays=600, **words)
                time.sleep(self.dice.uniform(0, 8))
                if awaits:
                    opening.waits(lambda o: any(line.endswith(f" {version}") for line in o.said("switched")) or o.held == version, 120)
                opening.end()
            elif way == "window":
                opening = self.device.opens(closes=self.dice.uniform(0, 3), **words)
            else:
                opening = self.device.start(stays=self.dice.uniform(0, 3), **words)
                opening.waits(lambda o: False, 120)
                opening.wait(30) if opening.process.poll() is not None else opening.end()
            self.done[way] += 1
            self.looks(number, way, opening, before)

    def looks(self, number, way, opening, before):
        trial = self.device.trial()
        begin = next((line[0] for line in opening.lines if line[1] == "opens"), None)
        self.paints += [line[0] - begin for line in opening.lines if line[1] == "shows" and "painted" in line[2]][:1]
        if trial.get("trial", {}).get("failures", 0) > before.get("failures", 0) or trial.get("trial", {}).get("crashes", 0) > before.get("crashes", 0):
            self.failures += 1
            print(f"    {self.front} {number} {way}: counted against it: {trial.get('trial')} {opening.lines}", flush=True)
        self.left += bool(opening.said("failed twice"))
        if trial.get("skip") or opening.said("returned"):
            self.returns += 1
            print(f"    {self.front} {number} {way}: RETURNED {trial} {opening.lines}", flush=True)
            # A new release ends that.
        if is_mixed(opening):
            self.wrong.append(f"{number}: a page of two builds: {opening.shown}")
        # One that is ended before it has opened a page may end in any way.
        if opening.process.returncode != 0 and begin is not None:
            self.wrong.append(f"{number} {way}: ended by {opening.process.returncode}: {opening.lines[-3:]} {opening.stderr()}")
        if opening.said("fault"):
            self.wrong.append(f"{number}: {opening.said('fault')}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xcache")
    parser.add_argument("program", metavar="app")
    parser.add_argument("count", nargs="?", type=int, default=500)
    parser.add_argument("--busy", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after so many")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--front", action="append", choices=(*FRONTS, "small"))
    options = parser.parse_intermixed_args()
    fronts = options.front or list(FRONTS)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            benches, lives = [], []
            for place, front in enumerate(fronts):
                own = f"{folder}/{front}"
                os.mkdir(own)
                benches.append(Bench(options.xcache, options.program, own))
                lives.append(Life(benches[-1], front, options.count // len(fronts) + (place < options.count % len(fronts)), options.seed, options.minutes))
            try:
                with concurrent.futures.ThreadPoolExecutor(len(lives)) as pool:
                    for future in [pool.submit(life.run) for life in lives]:
                        future.result()
            finally:
                for bench in benches:
                    bench.close()
                for life in lives:
                    paints = sorted(life.paints) or [0]
                    print(f"{life.front}: {sum(life.done.values())} openings ({', '.join(f'{n} {way}' for way, n in life.done.items())}), "
                          f"{life.on_trial} of a version on trial, {life.release} releases; {len(life.paints)} painted, after "
                          f"{paints[len(paints) // 2] / 1000:.1f} s (median), {paints[-1] / 1000:.1f} s at most; {life.failures} counted "
                          f"against a version, {life.left} failed for the second time, {life.returns} returns")
                    for line in life.wrong:
                        print(f"    WRONG {line}")
                print(f"{time.monotonic() - start:.0f} s, load {os.getloadavg()[0]:.1f}")
    finally:
        for one in busy:
            one.kill()
    return any(life.returns or life.wrong for life in lives)


if __name__ == "__main__":
    sys.exit(main())
