#!/usr/bin/env python3
"""How many scripts of whole front ends run from code that V8 compiled on an earlier visit: without a worker, with a precache, and with ours.

    Benchmarks/code_cache.py [XCACHE] [--builds NAME,…] [--older DIST] [--warm N] [--stay N] [--foreground] [--tls]

XCACHE: the program (default: .build/release/xcache); NAME: of fronts.py (mlflow,marimo); DIST: another worker's files, counted beside this
one's. One profile on disk, a host for each way; N visits (4) of N seconds (8) before the one that is counted, each in a new tab and with
the workers ended before it. Counted are the scripts with a URL in Chromium's trace, and of them those whose compilation took its result
from the code cache. Chromium 156 has no cached code for modules, with or without a worker, unless `--foreground` switches off that it
fetches in the background (its feature BackgroundResourceFetch). Needs Chromium; packages come from PyPI, into ~/.cache/xcache-bench.
"""
import argparse, os, pathlib, sys, tempfile, time

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here.parent / "Tests/Browser"), str(here)]
from cdp import Browser
from fronts import BUILDS
from open import FAST
from open_builds import DIST, Bench

CATEGORIES = "v8,devtools.timeline,disabled-by-default-v8.compile"


class Script:
    """What the trace has of one compilation."""

    def __init__(self, data):
        self.name, self.size = data["url"].split("?")[0].split("/")[-1], data.get("consumedCacheSize") or 0
        self.is_rejected = data.get("cacheRejected", False)
        self.is_used = self.size > 0 and not self.is_rejected


def traced(bench, way, stay):
    """Opens a way's page in a new tab; the page's scripts, in the order of their compilation."""
    root, page = bench.browser.root, bench.page()
    mark = len(root.events)
    root.send("Tracing.start", categories=CATEGORIES, transferMode="ReportEvents")
    page.goto(bench.url(way))
    time.sleep(stay)
    root.send("Tracing.end")
    root.wait_event("Tracing.tracingComplete", since=mark)
    bench.ends(page)
    events = [one for entry in root.events[mark:] if entry["method"] == "Tracing.dataCollected" for one in entry["params"]["value"]]
    compiled = [one["args"]["data"] for one in events if one["name"] in ("v8.compile", "v8.compileModule") and "data" in one["args"]]
    return [Script(data) for data in compiled if data["url"].startswith(bench.url(way)) and data.get("notStreamedReason") != "inline script"
            and not data["url"].endswith("sw.js")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xcache", nargs="?", default=here.parent / ".build/release/xcache", help="the program")
    parser.add_argument("--builds", default="mlflow,marimo", help=f"of {', '.join(BUILDS)}")
    parser.add_argument("--older", metavar="DIST", help="another worker's files, counted beside this one's")
    parser.add_argument("--warm", type=int, default=4, help="visits before the one that is counted (4)")
    parser.add_argument("--stay", type=int, default=8, help="seconds of each visit (8)")
    parser.add_argument("--foreground", action="store_true", help="without Chromium's fetches in the background")
    parser.add_argument("--tls", action="store_true", help="site and origin behind TLS and HTTP/2, by nginx")
    options = parser.parse_args()
    flags = ["--disable-features=Translate,MediaRouter,OptimizationHints,BackgroundResourceFetch"] if options.foreground else []
    options.routes = False
    dists = {**({"older": pathlib.Path(options.older)} if options.older else {}), "ours": DIST}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(options.xcache), folder, dists, options)
        try:
            bench.line.set(**FAST)
            for build in options.builds.split(","):
                with Browser(*flags, *(bench.front.flags if bench.front else [])) as bench.browser:
                    print(f"{build}, {bench.browser.version}", flush=True)
                    bench.deploy(build, 0)
                    for way in bench.ways:
                        bench.holds(way)
                        for _ in range(options.warm):
                            bench.opens(way, options.stay)
                        scripts = traced(bench, way, options.stay)
                        used = [script for script in scripts if script.is_used]
                        print(f"  {way:10} cached code for {len(used)} of {len(scripts)} scripts, {sum(script.size for script in used):,} B, "
                              f"{sum(script.is_rejected for script in scripts)} rejected", flush=True)
                        if used:
                            print("".join(f"    without: {script.name}\n" for script in scripts if not script.is_used), end="", flush=True)
        finally:
            bench.close()


if __name__ == "__main__":
    main()
