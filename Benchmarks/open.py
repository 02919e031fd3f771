#!/usr/bin/env python3
"""How fast pages open: without a cache, from the browser's, and by the web runtime, in Chromium over a slow line.

    Benchmarks/open.py [XCACHE] [--runs N] [--pairs N] [--record FILE]      XCACHE: the program (default: .build/release/xcache)

A machine that is quiet for some minutes at a time can measure in pieces: `--record FILE` takes each run down as a JSON line with the
machine's load, and the tables are of all that the file has; `--runs 0 --pairs 0` prints them and measures nothing.

Three published front ends in two releases each, with hashes of their content in their names, over a line of 100 ms each way and
1.6 Mbit/s that site and origin share. The runs alternate; medians of first contentful paint and load, and the bytes that the line
carried before load. (g) is what no cache can be faster than: page and files from the browser's own, without one request. Then, on a
fast line, what the worker costs. Packages come from PyPI by pip, into ~/.cache/xcache-bench.
"""
import argparse, gzip, hashlib, json, os, pathlib, statistics, subprocess, sys, tempfile, time, zipfile

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here.parent / "Tests/Browser/Worker"), str(here.parent / "Tests/Browser")]
from cdp import Browser
from servers import TYPES, Origin, Web, until
from slowproxy import SlowProxy

LINE = {"delay": 100, "rate": 1.6, "up_rate": 1.6}
FAST = {"delay": 0, "rate": 0, "up_rate": 0}
cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "xcache-bench"

SWAGGER = "drf_spectacular_sidecar/static/drf_spectacular_sidecar/swagger-ui-dist/"
REDOC = "drf_spectacular_sidecar/static/drf_spectacular_sidecar/redoc/bundles/"
BOKEH = "bokeh/server/static/js/"
SPEC = json.dumps({"openapi": "3.0.0", "info": {"title": "Shop", "version": "1"}, "paths": {
    f"/items/{i}": {"get": {"summary": f"Item {i}", "responses": {"200": {"description": "an item"}}}} for i in range(12)}})

# A name, the package with two of its versions, the files of it, and a page over their names.
FRONTS = [
    ("swagger-ui", "drf-spectacular-sidecar", ("2024.7.1", "2024.12.1"),
     [SWAGGER + "swagger-ui.css", SWAGGER + "swagger-ui-bundle.js", SWAGGER + "swagger-ui-standalone-preset.js"],
     lambda css, bundle, preset: f'<link rel="stylesheet" href="{css}"><div id="ui"></div><script src="{bundle}"></script>'
     f'<script src="{preset}"></script><script>SwaggerUIBundle({{spec: {SPEC}, dom_id: "#ui", presets: [SwaggerUIBundle.presets.apis, '
     'SwaggerUIStandalonePreset], layout: "StandaloneLayout"})</script>'),
    ("redoc", "drf-spectacular-sidecar", ("2024.7.1", "2024.12.1"), [REDOC + "redoc.standalone.js"],
     lambda js: f'<div id="ui"></div><script src="{js}"></script><script>Redoc.init({SPEC}, {{}}, document.getElementById("ui"))</script>'),
    ("bokeh", "bokeh", ("3.4.2", "3.4.3"), [BOKEH + "bokeh.min.js", BOKEH + "bokeh-api.min.js"],
     lambda js, api: f'<div id="ui"></div><script src="{js}"></script><script src="{api}"></script><script>'
     'const p = Bokeh.Plotting.figure({title: "a figure", width: 300, height: 200}); p.line([1, 2, 3], [3, 1, 2]); '
     'Bokeh.Plotting.show(p, "#ui")</script>'),
]


def wheel(package, version):
    cache.mkdir(parents=True, exist_ok=True)
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    if not list(cache.glob(pattern)):
        subprocess.run(["pip", "download", "-q", "--no-deps", "-d", cache, f"{package}=={version}"], check=True)
    return zipfile.ZipFile(next(cache.glob(pattern)))


def build(front, release, base, script):
    """A release of a front end: files by their names."""
    _, package, versions, names, page = front
    files, urls = {}, []
    with wheel(package, versions[release]) as archive:
        for name in names:
            data = archive.read(name) + f"\n/* release {release} of {base} */".encode()
            stem, ending = os.path.splitext(os.path.basename(name))
            hashed = f"assets/{stem}-{hashlib.sha256(data).hexdigest()[:8]}{ending}"
            files[hashed] = data
            urls.append(base + hashed)
    files["index.html"] = (f'<!doctype html><meta charset="utf-8"><title>release {release}</title><link rel="icon" href="data:,">'
                           f'{script}{page(*urls)}').encode()
    return files


class Site(Web):
    """A site with compression and immutable names; `/o/` is the origin."""

    def __init__(self, origin):
        self.origin, self.coded = origin, {}
        super().__init__()

    def handle(self, request):
        if request.path.startswith("/o/"):
            return self.origin.proxy.forward(request, request.path[2:])
        path = request.path.split("?")[0]
        if path == "/api":
            return request.answer(b"{}", "application/json")
        file = self.files.get(path[1:] + ("index.html" if path.endswith("/") else ""))
        if file is None:
            return request.answer(b"not here", status=404)
        if file not in self.coded:
            self.coded[file] = gzip.compress(file, 6, mtime=0)
        tag = f'"{hashlib.sha256(file).hexdigest()[:16]}"'
        kept = "public, max-age=31536000, immutable" if "/assets/" in path or path.startswith("/still") else "no-cache"
        headers = [("Cache-Control", kept), ("ETag", tag)]
        if request.headers.get("If-None-Match") == tag:
            return request.answer(status=304, headers=headers)
        kind = TYPES.get(os.path.splitext(path)[1] or ".html")
        request.answer(self.coded[file], kind, headers=[*headers, ("Content-Encoding", "gzip")])


class Visitor:
    """A browser profile that was never here."""

    def __init__(self, browser, line):
        self.browser, self.line = browser, line
        self.context = browser.root.send("Target.createBrowserContext")["browserContextId"]

    def page(self):
        target = self.browser.root.send("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        page = self.browser.attach(target)
        for domain in ("Page", "Runtime", "Network"):
            page.send(domain + ".enable")
        return page

    def opens(self, url):
        """Opens an address in a new tab: FCP, load, and the bytes that the line carried before load."""
        page = self.page()
        before = self.line.bytes_down
        page.goto(url, 120)
        carried = self.line.bytes_down - before
        timing = page.timing()
        until(lambda: page.eval("document.getElementById('ui').childElementCount > 0"), "the front end")
        result = {"fcp": timing["fcp"], "load": timing["load"], "bytes": carried, "title": page.eval("document.title")}
        self.browser.root.send("Target.closeTarget", targetId=page.target["targetId"])
        return result

    def end(self):
        self.browser.root.send("Target.disposeBrowserContext", browserContextId=self.context)


def holds(page, version):
    """Waits until the worker holds a version, whole."""
    def probe():
        page.eval("xcache.ready.then(() => xcache.update({force: true}))", 120)
        state = page.eval("xcache.ready.then(() => xcache.state())")
        return state and state["version"] == version and state["held"] == state["listed"]
    until(probe, f"version {version}", 120)


class Bench:
    def __init__(self, xcache, folder):
        self.xcache, self.folder = xcache, folder
        self.origin = Origin(xcache, folder)
        self.site = Site(self.origin)
        self.line = SlowProxy(f"127.0.0.1:{self.site.port}", **FAST).__enter__()
        # Downloads come over the line, too.
        self.origin.stop()
        self.origin.url = f"{self.line.url}/o"
        self.origin.start()
        self.browser = Browser()
        self.count = 0

    def begin(self):
        self.count += 1
        self.app, self.plain, self.ours = f"run{self.count}", f"/plain{self.count}/", f"/ours{self.count}/"
        self.still = f"/still{self.count}/"

    def deploy(self, front, release):
        """Puts a release on the site, once plain and once with the worker; the manifest's version."""
        for path, script in ((self.plain, ""), (self.still, ""), (self.ours, f'<script src="{self.ours}xcache.js" async></script>')):
            self.site.files = {name: file for name, file in self.site.files.items() if not name.startswith(path[1:])}
            files = build(front, release, path, script)
            if script:
                build_folder = tempfile.mkdtemp(dir=self.folder)
                subprocess.run([self.xcache, "web", "init", "--dir", build_folder, "--app", self.app, "--server", f"{self.line.url}/o"],
                               check=True, stdout=subprocess.DEVNULL, env={**os.environ, "XCACHE_APP": self.app})
                runtime = {name: open(f"{build_folder}/{name}", "rb").read() for name in ("xcache-sw.js", "xcache-sw-packs.js", "xcache.js")}
                files.update(runtime)
                version = self.origin.publish(self.app, self.line.url + path, files, "--index")
            self.site.files.update({path[1:] + name: file for name, file in files.items()})
        return version

    def run(self, front):
        """All the ways for one front end, once."""
        self.begin()
        plain, ours = self.line.url + self.plain, self.line.url + self.ours
        self.line.set(**FAST)
        first = self.deploy(front, 0)
        visitors = [Visitor(self.browser, self.line) for _ in range(4)]
        nobody, cached, worker, still = visitors
        results = {}
        self.line.set(**LINE)
        results["a"] = nobody.opens(plain)
        self.line.set(**FAST)
        cached.opens(plain)
        still.opens(self.line.url + self.still)
        page = worker.page()
        page.goto(ours)
        holds(page, first)
        self.line.set(**LINE)
        results["b"] = cached.opens(plain)
        results["d"] = worker.opens(ours)
        results["g"] = still.opens(self.line.url + self.still)
        self.line.set(**FAST)
        second = self.deploy(front, 1)
        # In the background, while the page is open.
        holds(page, second)
        self.line.set(**LINE)
        results["c"] = cached.opens(plain)
        results["e"] = worker.opens(ours)
        self.line.set(**FAST, refuse=True)
        results["f"] = worker.opens(ours)
        self.line.set(**FAST, refuse=False)
        for key, release in zip("abcdefg", (0, 0, 1, 0, 1, 1, 0)):
            assert results[key]["title"] == f"release {release}", (key, results[key])
        for visitor in visitors:
            visitor.end()
        return results

    def fast(self, front, pairs, record):
        """What the worker costs where the line is fast: loads of a page that is cached both ways, in pairs; and requests that pass."""
        self.begin()
        version = self.deploy(front, 0)
        cached, worker = Visitor(self.browser, self.line), Visitor(self.browser, self.line)
        plain, ours = self.line.url + self.plain, self.line.url + self.ours
        cached.opens(plain)
        page = worker.page()
        page.goto(ours)
        holds(page, version)
        page.goto(ours)
        for _ in range(pairs):
            record.add(kind="running", load=worker.opens(ours)["load"] - cached.opens(plain)["load"])
        for _ in range(pairs):
            page.send("ServiceWorker.enable")
            page.send("ServiceWorker.stopAllWorkers")
            record.add(kind="stopped", load=worker.opens(ours)["load"] - cached.opens(plain)["load"])
        ask = """(async () => { const all = []; for (let i = 0; i < 200; i++) { const t = performance.now();
          await (await fetch('/api?' + i, {cache: 'no-store'})).text(); all.push(performance.now() - t); } return all; })()"""
        bare = cached.page()
        bare.goto(plain)
        for _ in range(5):
            record.add(kind="passing", wait=statistics.median(page.eval(ask)) - statistics.median(bare.eval(ask)))
        cached.end()
        worker.end()

    def close(self):
        self.browser.close()
        self.line.__exit__()
        self.site.stop()
        self.origin.stop()
        self.origin.proxy.stop()


def interval(values):
    """The median's 95 % interval, by ranks."""
    ordered, n = sorted(values), len(values)
    reach = round(0.98 * n ** 0.5)
    return ordered[max(0, n // 2 - reach)], ordered[min(n - 1, n // 2 + reach)]


WORDS = {"a": "no cache", "b": "HTTP cache", "c": "HTTP cache, after a release", "d": "ours", "e": "ours, after the release",
         "f": "ours, offline", "g": "all on the device, nothing asked"}


class Record:
    """One JSON line for each run, in a file that further calls go on with; the tables are of all of them."""

    def __init__(self, path, common=None):
        self.path, self.common, self.lines = path, common or {}, []
        if path and os.path.exists(path):
            with open(path) as file:
                self.lines = [json.loads(line) for line in file if line.strip()]

    def add(self, **members):
        """Takes a run down at once: one that is cut off loses itself alone."""
        line = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": round(os.getloadavg()[0], 2), **self.common, **members}
        self.lines.append(line)
        if self.path:
            with open(self.path, "a") as file:
                file.write(json.dumps(line) + "\n")

    def show(self):
        loads = sorted(line["machine"] for line in self.lines)
        if not loads:
            return print("no runs yet")
        for what in ("worker", "browser"):
            if len({line[what] for line in self.lines}) > 1:
                print(f"note: these are runs of more than one {what}")
        print(f"{self.lines[-1]['browser']}, worker {self.lines[-1]['worker']}, the machine's load {loads[0]} to {loads[-1]}, median "
              f"{statistics.median(loads)}")
        for kind, words in (("running", "worker running"), ("stopped", "worker stopped")):
            values = [line["load"] for line in self.lines if line["kind"] == kind]
            if values:
                low, high = interval(values)
                print(f"fast line, against no worker, {words}: load {statistics.median(values):+.1f} ms ({low:+.1f} to {high:+.1f}), "
                      f"{len(values)} pairs")
        passing = [line["wait"] for line in self.lines if line["kind"] == "passing"]
        if passing:
            print(f"fast line, a request that passes through: {statistics.median(passing):+.2f} ms at the median")
        for name in dict.fromkeys(line["front"] for line in self.lines if line["kind"] == "open"):
            results = [line["ways"] for line in self.lines if line["kind"] == "open" and line["front"] == name]
            print(f"{name}: {LINE['delay']} ms each way, {LINE['rate']} Mbit/s; medians of {len(results)} runs")
            for key, words in WORDS.items():
                median = {what: statistics.median(ways[key][what] for ways in results) for what in ("fcp", "load", "bytes")}
                print(f"  ({key}) {words:34} FCP {median['fcp']:6.0f} ms  load {median['load']:6.0f} ms  {median['bytes']:9.0f} B")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xcache", nargs="?", default=here.parent / ".build/release/xcache", help="the program")
    parser.add_argument("--runs", type=int, default=15, help="over the slow line (15)")
    parser.add_argument("--pairs", type=int, default=30, help="on the fast line, with the worker running and stopped (30)")
    parser.add_argument("--record", metavar="FILE", help="a JSON line for each run; where it has some, the tables are of them, too")
    options = parser.parse_args()
    if options.runs < 1 and options.pairs < 1:
        return Record(options.record).show()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(options.xcache), folder)
        try:
            worker = here.parent / "public/runtime/dist/xcache-sw.js"
            record = Record(options.record, {
                "browser": bench.browser.version, "worker": hashlib.sha256(worker.read_bytes()).hexdigest()[:8]})
            if options.pairs > 0:
                bench.fast(FRONTS[0], options.pairs, record)
            for number in range(options.runs):
                for front in FRONTS:
                    record.add(kind="open", front=front[0], ways=bench.run(front))
                print(f"  run {number + 1} of {options.runs}", file=sys.stderr)
            record.show()
        finally:
            bench.close()


if __name__ == "__main__":
    main()
