#!/usr/bin/env python3
"""Whether nobody starves anybody: fairness.py XCACHE [--short] [KIND...]

Starts an origin, and sends it one kind of costly requests after the other: 200 in flight, abandoned, then slow, then
repeated. Meanwhile others poll, use the kill switch, roll back and download. Then it ends the origin under 200 abandoned
requests, once of all kinds and once of the costliest. Prints a table; exit code 1 if a bar is missed. --short takes five kinds
and about a minute, KIND those that are named.

Times need a machine that does nothing else: where "(nothing)" misses bars, so does the rest. Where sched_autogroup is on, nice
doesn't help against other sessions; `echo -15 > /proc/self/autogroup` does.
"""
import argparse, base64, json, os, shutil, subprocess, sys, tempfile, time

from kinds import kinds
from origin import Origin

HERE = os.path.dirname(os.path.abspath(__file__))
# Milliseconds, but for threads, seconds to end, and GB an hour.
BARS = {"kill": 250, "rollback": 1_000, "cold": 500, "threads": 64, "end": 15, "growth": 10}
# Polls may take twice as long as without an attack; below this, it is the scheduler and the measuring that are measured.
POLL_FLOOR = 5
MODES = {False: (("abandoned", 2.5), ("slow", 1.5), ("repeated", 2.0)), True: (("abandoned", 1.5), ("repeated", 1.0))}
SHORT = ("metrics", "diff", "large files, 100 bytes", "releases, dry", "rollbacks, dry")


def p99(times):
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.99))] if times else float("inf")


class Suite:
    def __init__(self, xcache, work, is_short):
        self.work, self.origin, self.modes = work, Origin(xcache, work), MODES[is_short]
        self.calm_seconds = 2 if is_short else 4
        begin = time.monotonic()
        self.origin.fill(is_short)
        self.read = self.origin.token("reader", "read")
        publish, self.victim = self.origin.token("publisher", "publish"), self.origin.token("victim", "publish")
        self.origin.wait_until_calm()
        downloads, self.newest = self.origin.downloads("shop")
        self.cold, _ = self.origin.downloads("calm")
        self.kinds = kinds(self.origin, self.read, publish, self.newest, downloads)
        self.missed, self.grown, self.seconds = [], 0, 0.0
        print(f"published in {time.monotonic() - begin:.0f} s; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")

    def job(self, name, **more):
        path = f"{self.work}/{name}.json"
        with open(path, "w") as file:
            json.dump({"port": self.origin.port, "token": self.victim, "newest": self.newest, **more}, file)
        return path

    def start(self, program, *arguments):
        return subprocess.Popen(
            [sys.executable, f"{HERE}/{program}.py", *map(str, arguments)], stdout=subprocess.PIPE, text=True)

    def watch(self, seconds):
        """Starts those who aren't to suffer."""
        cold, self.cold = self.cold[:int(seconds * 5) + 2], self.cold[int(seconds * 5) + 2:]
        job = self.job("victims", cold=cold)
        return [self.start("victims", job, what, seconds) for what in ("polls", "acts")]

    def found(self, victims):
        return {name: times for victim in victims for name, times in json.loads(victim.communicate()[0]).items()}

    def measure_calm(self):
        calm = self.found(self.watch(self.calm_seconds))
        self.calm_poll = p99(calm["poll"])
        self.row("(nothing)", calm, self.origin.threads, 0, self.calm_seconds, "")

    def attack(self, name):
        before, threads = self.origin.bytes, 0
        requests = [base64.b64encode(request).decode() for request in self.kinds[name]]
        job = self.job("attack", requests=requests)
        seconds = sum(seconds for _, seconds in self.modes)
        victims = self.watch(seconds + 0.5)
        count = 0
        for mode, duration in self.modes:
            attacker = self.start("attack", job, mode, duration)
            while attacker.poll() is None:
                threads = max(threads, self.origin.threads)
                time.sleep(0.05)
            count += json.loads(attacker.communicate()[0])["sent"]
        found = self.found(victims)
        growth = self.origin.bytes - before
        self.grown += max(0, growth)
        self.seconds += seconds
        self.row(name, found, threads, growth, seconds, count)
        self.recover()

    def recover(self):
        """Has the next kind begin with a server that has nothing left to do."""
        try:
            if self.origin.process.poll() is None and self.origin.ask("GET", "/metrics", timeout=3)[0] == 200:
                begin = time.monotonic()
                self.origin.ask("GET", "/api/v1/apps", timeout=3)
                if time.monotonic() - begin < 1:
                    return
        except OSError:
            pass
        print("  still busy: restarted")
        self.origin.end(9)
        self.origin.start()

    def row(self, name, found, threads, growth, seconds, count):
        values = {key: p99(found[key]) for key in ("kill", "rollback", "cold", "poll")}
        bars = {**BARS, "poll": max(POLL_FLOOR, 2 * self.calm_poll)}
        wrong = [f"{key} {values[key]:.0f} ms" for key in values if values[key] > bars[key]]
        if threads > BARS["threads"]:
            wrong.append(f"{threads} threads")
        for key in values:
            if failures := found[key + " failed"]:
                wrong.append(f"{key}: {len(failures)} failed, {failures[0][:150]}")
        hourly = growth / seconds * 3600 / 1e9
        print(f"{name:26}{count:>7}{values['kill']:>9.0f}{values['rollback']:>10.0f}{values['poll']:>8.1f}"
              f"{values['cold']:>8.0f}{threads:>9}{hourly:>8.2f}  {'; '.join(wrong)}", flush=True)
        self.missed += [f"{name}: {why}" for why in wrong]

    def end(self, names, seconds):
        """Ends the origin while requests wait that nobody wants any more."""
        if self.origin.process.poll() is not None:
            self.origin.start()
        requests = [base64.b64encode(self.kinds[name][n % len(self.kinds[name])]).decode()
                    for name in names for n in range(120 // len(names))]
        attacker = self.start("attack", self.job("attack", requests=requests), "abandoned", seconds + 1)
        time.sleep(seconds)
        took, code = self.origin.end()
        attacker.communicate()
        print(f"SIGTERM under {', '.join(names)}: {took:.1f} s, exit code {code}", flush=True)
        if took > BARS["end"] or code != 0:
            self.missed.append(f"SIGTERM under {', '.join(names)}: {took:.1f} s, exit code {code}")

    def run(self, names):
        print(f"{'kind':26}{'sent':>7}{'kill ms':>9}{'rollback':>10}{'poll':>8}{'cold':>8}{'threads':>9}{'GB/h':>8}  (p99)")
        self.calm_poll = 0
        self.measure_calm()
        self.missed.clear()
        for name in names:
            self.attack(name)
        hourly = self.grown / max(self.seconds, 1) * 3600 / 1e9
        print(f"the disk grew by {self.grown / 1e6:.0f} MB in {self.seconds:.0f} s of attacks, {hourly:.2f} GB an hour")
        if hourly > BARS["growth"]:
            self.missed.append(f"{hourly:.2f} GB an hour")
        # The costliest last: its queue grows for 8 seconds.
        self.end(("diff", "manifests", "releases, dry", "large files, coded", "metrics"), 3)
        self.end(("diff",), 8)
        print(f"bars: {BARS}, polls {max(POLL_FLOOR, 2 * self.calm_poll):.1f} ms")
        for why in self.missed:
            print("MISSED " + why)
        return 1 if self.missed else 0


parser = argparse.ArgumentParser()
parser.add_argument("xcache")
parser.add_argument("--short", action="store_true")
parser.add_argument("kinds", nargs="*")
options = parser.parse_args()
work = tempfile.mkdtemp(prefix="xcache-fairness-")
suite = None
try:
    suite = Suite(os.path.abspath(options.xcache), work, options.short)
    code = suite.run(options.kinds or (SHORT if options.short else suite.kinds))
finally:
    if suite and suite.origin.process.poll() is None:
        suite.origin.process.kill()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(code)
