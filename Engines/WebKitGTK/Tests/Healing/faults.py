#!/usr/bin/env python3
"""Planted faults in published front ends, on a device with a real engine: faults.py XCACHE APP [-j N] [--all] [--front NAME]… [NAME…]

APP: healing-app; run it by display.sh. Each case is a device that holds a good build, takes one with a fault, and is opened until it is
back; then a good build follows. Every fault is planted in both front ends, in one while origin and site answer, in the other while neither
does (--all: both in both). NAME: only faults with this in their names. Prints what the user saw at each opening. Packages come from
PyPI, into ~/.cache/xcache-bench.
"""
import argparse, concurrent.futures, sys, tempfile, threading, time

from bench import ENDED, FAULTS, PATIENCE, Bench, Device, Opening, files_of, marked, os, signal

FRONTS = ("streamlit", "mlflow")
SLOW = float(os.environ.get("SLOW", "3"))  # Factor on all timeouts, for busy machines.
lock = threading.Lock()


def full(opening, name):
    return any(shown.startswith(f"{name} {name} painted full") for shown in opening.shown)


def is_mixed(opening):
    """Whether a page had scripts of another build than its document's."""
    return any(len(builds) > 0 and {words[0]} != set(builds) for shown in opening.shown if shown != "no answer"
               for words in [shown.split(" ")] for builds in [[name for name in words[1].split("+") if name]])


class Case:
    def __init__(self, bench, front, fault, network):
        self.bench, self.front, self.fault, self.network = bench, front, fault, network
        self.plant, self.cause = FAULTS[fault]
        self.app = f"{front}-{list(FAULTS).index(fault)}-{'up' if network else 'down'}"
        self.device, self.said, self.wrong = Device(bench, self.app), [], []

    def check(self, holds, what):
        if not holds:
            self.wrong.append(what)

    def build(self, release, name, plant=lambda files: files):
        return self.bench.publish(self.app, marked(plant(files_of(self.front, release)), name))

    def opens(self, name, condition, **words):
        """Opens the app until the condition holds, and ends it in an orderly way."""
        opening = self.device.start(stays=3600, **words)
        if not opening.waits(condition, 60 * SLOW):
            self.wrong.append(f"{name}: in vain; {opening.lines} {opening.stderr()}")
        # A report is on its way for a moment.
        opening.waits(lambda o: self.returned() or not name.startswith("opening"), 5)
        opening.end() if opening.process.poll() is None else opening.wait()
        self.tell(name, opening)
        return opening

    def returned(self):
        return [report for report in self.bench.reports(self.app) if report.get("reason") == "returned"]

    def tell(self, name, opening):
        seen = [shown.split(" ") for shown in opening.shown if shown != "no answer"]
        built = [" ".join(filter(None, (words[0], *words[2:]))) for words in seen if words[0]]
        shown = [words for place, words in enumerate(built) if built[place - 1:place] != [words]]
        more = [f"{line[1]} {line[2]}" for line in opening.lines if line[1] in ("returned", "terminated", "failed twice", "native")]
        end = "" if opening.process.returncode == 0 else f", ended by {-opening.process.returncode}"
        seconds = next((f" after {line[0] / 1000:.1f} s" for line in opening.lines if line[1] == "returned"), "")
        self.said.append(f"{name}: held {opening.held}, seen {' > '.join(shown) or 'nothing'}{end}"
                         + (f" ({'; '.join(more)}{seconds})" if more else ""))
        self.check(not is_mixed(opening), f"{name}: a page of two builds: {opening.shown}")
        self.check(not opening.said("fault"), f"{name}: {opening.said('fault')}")

    def fails(self, name, number):
        """One opening of the build with the fault."""
        before = self.device.trial().get("trial", {}).get("failures", 0)
        opening = self.device.start(stays=3600)
        if self.cause == "start":
            if self.fault in ENDED:
                # On a busy machine the app itself takes its time.
                opening.waits(lambda o: self.device.trial().get("mark"), 20 * SLOW)
                opening.waits(lambda o: False, PATIENCE)
            else:
                opening.waits(lambda o: False, 30)
            opening.kill() if opening.process.poll() is None else opening.wait()
        else:
            if "web process" in self.fault:
                opening.waits(lambda o: o.said("native"), 20 * SLOW)
                for pid, name_ in opening.children():
                    if name_.startswith("WebKitWebPro"):
                        os.kill(pid, signal.SIGSEGV)
            isLast = number == 2
            opening.waits(lambda o: full(o, "A") if isLast else self.device.trial().get("trial", {}).get("failures", 0) > before, 25 * SLOW)
            # A report is on its way for a moment.
            opening.waits(lambda o: not isLast or not self.network or self.returned(), 5)
            opening.end()
        self.tell(name, opening)
        return opening

    def run(self):
        bench, device = self.bench, self.device
        with lock:
            a = self.build(0, "A")
        first = self.opens("installed", lambda o: o.said("switched") and o.said("polled"), polls=True)
        self.check(first.said("switched") == [f"0 {a}"], f"A isn't installed: {first.lines}")
        with lock:
            b = self.build(1, "B", self.plant)
        taken = self.opens("update", lambda o: o.said("polled"), polls=True)
        self.check(device.trial().get("trial", {}).get("id", {}).get("version") == b, f"B isn't on trial: {device.trial()}")
        if not self.network:
            bench.cuts()
        for number in (1, 2):
            opening = self.fails(f"opening {number}", number)
            self.check(opening.held == b, f"opening {number} isn't of B")
        if self.cause == "page":
            self.check(opening.said("returned") == [f"{b} {a} page"] and full(opening, "A"), f"not back at the second opening: {opening.lines}")
        third = self.opens("opening 3", lambda o: full(o, "A") and (o.said("polled") or not self.network), polls=self.network)
        self.check(third.held == a and full(third, "A"), f"opening 3 isn't of A: {third.lines}")
        self.check(not any(words.startswith("B") for words in third.shown), f"opening 3 shows B: {third.shown}")
        if not self.network:
            bench.joins()
            fourth = self.opens("opening 4", lambda o: full(o, "A") and o.said("polled"), polls=True)
            self.check(fourth.held == a, "opening 4 isn't of A")
        polls = bench.polls(self.app)
        self.check(polls and f"skip={b}" in polls[-1], f"the poll doesn't skip B: {polls[-1:]}")
        returned = self.returned()
        # A page that is waited for long enough fails before the app is ended: then that is why.
        cause = returned[0]["cause"] if returned and self.cause == "start" else self.cause
        wanted = [{"cause": cause, "reason": "returned", "url": bench.base, "version": b}]
        self.check(returned == wanted, f"told {returned}, not {wanted}")
        with lock:
            c = self.build(1, "C")
        self.opens("update", lambda o: o.said("polled"), polls=True)
        last = self.opens("opening of C", lambda o: full(o, "C"))
        self.check(last.held == c and full(last, "C"), f"C isn't taken: {last.lines}")
        return self


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xcache")
    parser.add_argument("program", metavar="app")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-j", type=int, default=2, dest="jobs")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--front", action="append", choices=(*FRONTS, "small"))
    options = parser.parse_intermixed_args()
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cases = []
        for place, fault in enumerate(FAULTS):
            for which, front in enumerate(options.front or FRONTS):
                for network in (True, False):
                    if (options.all or network == ((place + which) % 2 == 0)) and (not options.names or any(n in fault for n in options.names)):
                        cases.append((front, fault, network))

        def one(row):
            front, fault, network = row
            with tempfile.TemporaryDirectory(dir=folder, prefix="case-", ignore_cleanup_errors=True) as own:
                bench = Bench(options.xcache, options.program, own)
                try:
                    return Case(bench, *row).run()
                finally:
                    bench.close()

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            futures = {pool.submit(one, row): row for row in cases}
            for done in concurrent.futures.as_completed(futures):
                front, fault, network = futures[done]
                try:
                    case = done.result()
                    said, wrong = case.said, case.wrong
                except Exception as error:  # noqa: BLE001: one case's failure is no other's
                    said, wrong = [], [repr(error)]
                failed += bool(wrong)
                print(f"{'FAILED' if wrong else 'ok    '} {front}, {fault}, network {'up' if network else 'down'}")
                for line in said + [f"WRONG {line}" for line in wrong]:
                    print(f"    {line}")
                sys.stdout.flush()
    print(f"{len(cases) - failed} of {len(cases)} cases")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
