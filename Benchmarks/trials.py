#!/usr/bin/env python3
"""Whole published front ends on trial under the worker: what is planted in a release leads back, and openings of good ones don't.

    Benchmarks/trials.py [XCACHE] [NAME…] [--openings N] [--no-faults]     XCACHE: the program (default: .build/release/xcache);
                                                                           NAME: of fronts.py (streamlit)

Prints the version of each opening of a broken release: it is to be the one before at the third one. Then come N openings (500) of good
releases beside a process that is always busy: each is left within 3 seconds, or every tenth after 5, in one of four ways, and half of them
with a worker that was stopped before, or while the page opened. No device is to go back, and none to have counted a crash. Ends with 0 if
all of this is so.
Needs Chromium; packages come from PyPI.
"""
import argparse, collections, contextlib, os, pathlib, random, re, subprocess, sys, tempfile, time

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here.parent / "Tests/Browser/Worker"), str(here.parent / "Tests/Browser"), str(here)]
from cdp import Browser, CDPError
from fronts import BUILDS
from open import FAST
from open_builds import DIST, Bench
from servers import until
from steps import KEPT
from whole_builds import SHOWN

# Seconds after which a page that is blank or hangs is known to be so, and is closed.
PATIENCE = 27
ENTRY = re.compile(rb'(<script[^>]* src=")([^"]+\.js)("[^>]*>)')
NEVER = b"await new Promise(() => {});"
LOOP = b"const end = Date.now() + 40000; while (Date.now() < end);"
# What becomes of the script that the page begins with.
FAULTS = {
    "blank": b"", "throws": b'throw new Error("of this release");', "a chunk is missing": b'import("./gone-0123abcd.js");',
    "a loop": LOOP, "a hang": NEVER, "a script is missing": None, "a crash": False,
}


class Trials:
    def __init__(self, bench, build):
        self.bench, self.build, self.app, self.base = bench, build, f"{build}-ours", bench.url("ours")
        bench.deploy(build, 0)
        self.good = {name: file for name, file in bench.site.hosts["ours"].items() if not name.startswith("xcache-sw")}
        entries = [found[1].decode() for found in ENTRY.findall(self.good["index.html"]) if not found[1].endswith(b"xcache.js")]
        self.entry = entries[-1]
        self.version = bench.versions["ours"]
        self.page = bench.page()
        self.page.goto(self.base)
        self.holds()
        self.page.goto(self.base)
        self.shows()
        self.leaves(self.page)

    def shows(self):
        until(lambda: self.page.eval(SHOWN) > 0, "the front end", 60)

    def state(self, page):
        return page.eval("xcache.ready.then(() => xcache.state())")

    def holds(self):
        """Polls until the newest version is held."""
        until(lambda: self.page.eval("xcache.ready.then(() => xcache.update({force: true})).then(() => xcache.state())"
                                     f".then((s) => s.version === '{self.version}' && s.held > 0)"), f"version {self.version}", 240)

    def leaves(self, page):
        with contextlib.suppress(CDPError):
            self.bench.browser.root.send("Target.closeTarget", targetId=page.target["targetId"])

    def publishes(self, files, note):
        """A release whose page says which version it is, also while it hangs."""
        number = str(int(self.version) + 1)
        page = re.sub(rb"<title>.*?</title>", b"", files["index.html"], flags=re.S)
        page = re.sub(rb"<head>", f"<head><title>version {number}</title><!-- {note} -->".encode(), page, count=1)
        files = {**files, "index.html": page}
        self.version = self.bench.origin.publish(self.app, self.base, files, "--index")
        assert self.version == number, (self.version, number)

    def takes(self):
        """The newest version is on trial."""
        self.page = self.bench.page()
        self.page.goto(self.base)
        self.holds()
        self.leaves(self.page)

    def title(self, page):
        found = [one["title"] for one in self.bench.browser.targets("page") if one["targetId"] == page.target["targetId"]]
        return found[0].removeprefix("version ") if found else ""

    # What is planted

    def fault(self, name, text):
        files = dict(self.good)
        if text is None:
            files["index.html"] = ENTRY.sub(lambda found: found[1] + (b"gone-0123abcd.js" if found[2].decode() == self.entry else found[2]) + found[3],
                                            files["index.html"])
        elif text is not False:
            files[self.entry.removeprefix("./").removeprefix("/")] = text
        self.publishes(dict(self.good), f"good {name}")
        self.takes()
        # It proves itself.
        self.page = self.bench.page()
        self.page.goto(self.base)
        self.shows()
        assert self.page.eval("xcache.confirm()") is True
        self.leaves(self.page)
        before = self.version
        self.publishes(files, name)
        self.takes()
        seen = []
        page = self.bench.page()
        for number in range(4):
            if text is False and number:
                page.send("Page.reload")
            else:
                page.send("Page.navigate", url=self.base)
            if number < 2 and text is not False:
                time.sleep(PATIENCE)
            until(lambda: self.title(page).isdigit(), "a title", 60)
            if text is False and number < 2:
                until(lambda: page.eval("window.xcache !== undefined"), "the page's script", 60)
                time.sleep(1)
                seen.append(self.title(page))
                with contextlib.suppress(CDPError):
                    page.send("Page.crash", 2)
                time.sleep(1)
                continue
            if number >= 2:
                until(lambda: page.eval(SHOWN) > 0, "the front end", 60)
            seen.append(self.title(page))
            if text is not False:
                self.leaves(page)
                time.sleep(1)
                page = self.bench.page()
        self.leaves(page)
        isRight = seen == [self.version, self.version, before, before]
        print(f"  {name}: the openings are of versions {', '.join(seen)}; broken is {self.version}" + ("" if isRight else " NOT AS IT SHOULD BE"), flush=True)
        return isRight

    # Good ones

    def openings(self, count, each=10):
        # A page that lives for 10 seconds proves its release: there are many, so that most openings are of one on trial.
        right, done, on_trial, ways = True, 0, 0, collections.Counter()
        while done < count:
            self.publishes(dict(self.good), f"trial {done}")
            self.takes()
            for _ in range(min(each, count - done)):
                ways[self.opening(done)] += 1
                done += 1
            page = self.bench.page()
            page.goto(self.base)
            state, heal = self.state(page), page.eval(KEPT % ("heal", "kept"))
            ok = state["version"] == self.version and "skipped" not in state and not heal.get("crashes") and not heal.get("cause")
            right = right and ok
            on_trial += each if state.get("previous") else 0
            print(f"  {done} openings, at least {on_trial} on trial: version {state['version']} of {self.version}, failed {heal.get('failed', 0)}, crashes "
                  f"{heal.get('crashes', 0)}, load {os.getloadavg()[0]:.0f}" + ("" if ok else " NOT AS IT SHOULD BE"), flush=True)
            page.eval("xcache.confirm()")
            self.leaves(page)
        print("  " + ", ".join(f"{way} {number}" for way, number in sorted(ways.items())))
        return right

    def opening(self, number):
        """One opening, which ends before its version is proved."""
        page = self.bench.page()
        stop = number % 2 == 0 and random.choice(["before", "during"])
        if stop == "before":
            self.stops(page)
        page.send("Page.navigate", url=self.base)
        time.sleep(5 if number % 10 == 9 else random.uniform(0, 3))
        if stop == "during":
            self.stops(page)
        way = random.choice(["close", "away", "anew", "elsewhere"])
        with contextlib.suppress(CDPError):
            if way == "away":
                page.send("Page.navigate", 20, url="about:blank")
            elif way == "anew":
                page.send("Page.reload", 20)
                time.sleep(random.uniform(0, 1))
            elif way == "elsewhere":
                page.send("Page.navigate", 20, url=self.bench.url("plain"))
        self.leaves(page)
        return f"{way}{', the worker stopped ' + stop if stop else ''}"

    def stops(self, page):
        for method in ("enable", "stopAllWorkers", "disable"):
            page.send(f"ServiceWorker.{method}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xcache", nargs="?", default=here.parent / ".build/release/xcache", help="the program")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BUILDS)}")
    parser.add_argument("--openings", type=int, default=500, metavar="N")
    parser.add_argument("--no-faults", action="store_true")
    options = parser.parse_args()
    options.tls = options.routes = False
    right = True
    for name in options.names or ["streamlit"]:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(os.path.abspath(options.xcache), folder, {"ours": DIST}, options)
            bench.ways = ["plain", "ours"]
            print(name, flush=True)
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            try:
                bench.line.set(**FAST)
                with Browser() as bench.browser:
                    trials = Trials(bench, name)
                    for fault, text in ({} if options.no_faults else FAULTS).items():
                        right = trials.fault(fault, text) and right
                    right = trials.openings(options.openings) and right
            finally:
                busy.kill()
                busy.wait()
                bench.close()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
