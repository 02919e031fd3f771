#!/usr/bin/env python3
"""How fast whole front ends open: by the browser's own cache, a precache worker of the usual kind, and the web runtime, in Chromium.

    Benchmarks/open_builds.py [XCACHE] [--runs N] [--first N] [--media N] [--builds NAME,…] [--tls] [--routes] [--older DIST] [--record FILE]

XCACHE: the program (default: .build/release/xcache). Published front ends, whole, in two releases each (fronts.py), over a line of 100 ms
each way and 1.6 Mbit/s and over one without limit. Each way has a host of its own in one profile on disk; code caches are warm (four
visits), and tab and workers are ended before each visit that is measured. The ways take turns. `--older DIST` measures the worker of
another folder beside this one, in the same runs. `--first`: first visits over the slow line, with the page's own last request and the
bytes in all, and then the update. `--media`: ranges of a file of 30 MB. "4 times slower" is the page's main thread; workers run at full
speed. Medians; times in ms. Packages come from PyPI, into ~/.cache/xcache-bench.
"""
import argparse, gzip, hashlib, json, mimetypes, os, pathlib, random, statistics, sys, tempfile, time

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here.parent / "Tests/Browser/Worker"), str(here.parent / "Tests/Browser"), str(here)]
from cdp import Browser, CDPError
from fronts import BUILDS, files_of, is_fixed
from h2 import Front
from open import FAST, LINE
from servers import Origin, Web, until
from slowproxy import SlowProxy

DIST = here.parent / "public/runtime/dist"
# With `--routes`: the precache, whose files with a hash in their names Chromium takes from the cache without asking the worker.
ROUTES = """self.addEventListener('install', (event) => { event.waitUntil(event.addRoutes({source: {cacheName: 'precache'}, condition: {
  or: ['/static/*', '/*/static/*', '/assets/*'].map((pathname) => ({urlPattern: {pathname}}))}})); });"""
# As tools write it: what is new is fetched at installation, pages and files come from the cache by their URLs.
PRECACHE = """const files = %s;
self.addEventListener('install', (event) => { self.skipWaiting(); event.waitUntil((async () => {
  const cache = await caches.open('precache');
  const held = new Set((await cache.keys()).map(({url}) => url));
  const wanted = files.filter(([url, tag]) => !held.has(new URL(url + (tag ? '?v=' + tag : ''), location).href));
  for (let i = 0; i < wanted.length; i += 6) await Promise.all(wanted.slice(i, i + 6).map(async ([url, tag]) =>
    cache.put(url + (tag ? '?v=' + tag : ''), await fetch(url, {cache: tag ? 'reload' : 'default'})))); })()); });
self.addEventListener('activate', (event) => { event.waitUntil((async () => {
  const cache = await caches.open('precache');
  const wanted = new Set(files.map(([url, tag]) => new URL(url + (tag ? '?v=' + tag : ''), location).href));
  for (const key of await cache.keys()) if (!wanted.has(key.url)) await cache.delete(key);
  await clients.claim(); })()); });
const keys = new Map(files.map(([url, tag]) => [new URL(url, location).href, url + (tag ? '?v=' + tag : '')]));
self.addEventListener('fetch', (event) => {
  const key = event.request.mode === 'navigate' ? keys.get(new URL('./', location).href) : keys.get(event.request.url);
  if (key) event.respondWith(caches.match(key).then((found) => found ?? fetch(event.request)));
});"""


class Site(Web):
    """A host for each way, with compression and names that never change; `o.localhost` is the origin."""

    def __init__(self, origin):
        self.origin, self.coded, self.hosts = origin, {}, {}
        super().__init__()

    def handle(self, request):
        way = request.headers.get("Host", "").split(".")[0]
        if way == "o":
            return self.origin.proxy.forward(request)
        path = request.path.split("?")[0][1:] or "index.html"
        file = self.hosts.get(way, {}).get(path)
        if file is None:
            return request.answer(b"{}", "application/json", status=404)
        if file not in self.coded:
            self.coded[file] = (gzip.compress(file, 6, mtime=0), f'"{hashlib.sha256(file).hexdigest()[:16]}"')
        body, tag = self.coded[file]
        headers = [("Cache-Control", "public, max-age=31536000, immutable" if is_fixed(path) else "no-cache"), ("ETag", tag)]
        if request.headers.get("If-None-Match") == tag:
            return request.answer(status=304, headers=headers)
        kind = "text/javascript" if path.endswith((".js", ".mjs")) else mimetypes.guess_type(path)[0] or "application/octet-stream"
        request.answer(body, kind, headers=[*headers, ("Content-Encoding", "gzip")])


class Bench:
    def __init__(self, xcache, folder, dists, options, site=Site):
        self.folder, self.dists, self.options, self.count = folder, dists, options, 0
        self.origin = Origin(xcache, folder)
        self.site = site(self.origin)
        self.front = Front(folder, self.site.port) if options.tls else None
        self.line = SlowProxy(f"127.0.0.1:{self.front.port if self.front else self.site.port}", **FAST).__enter__()
        self.port = self.line.url.rsplit(":", 1)[1]
        self.scheme = "https" if self.front else "http"
        self.origin.stop()
        self.origin.url = f"{self.scheme}://o.localhost:{self.port}"
        self.origin.start()
        self.ways = ["plain", "precache", *(["routes"] if options.routes else []), *dists]

    def browser_of(self):
        return Browser(*(self.front.flags if self.front else ()))

    def url(self, way):
        return f"{self.scheme}://{way}.localhost:{self.port}/"

    def deploy(self, build, release):
        """Puts a release on every host, and publishes it for the workers of ours."""
        self.versions = {}
        for way in self.ways:
            files = dict(files_of(build, release))
            if way in ("precache", "routes"):
                listed = [["./" if path == "index.html" else path, "" if is_fixed(path) else hashlib.sha256(file).hexdigest()[:8]]
                          for path, file in files.items() if not path.endswith(".map") and len(file) <= 10 << 20]
                files["sw.js"] = (PRECACHE % json.dumps(listed) + (ROUTES if way == "routes" else "")).encode()
                script = "<script>addEventListener('load', () => navigator.serviceWorker.register('sw.js'))</script>"
                files["index.html"] = files["index.html"].replace(b"</head>", script.encode() + b"</head>")
            elif way in self.dists:
                app = f"{build}-{way}"
                # Where `web init --inject` puts it.
                files["index.html"] = files["index.html"].replace(b"<script", b'<script src="./xcache.js" defer></script><script', 1)
                published = dict(files)
                head = json.dumps({"app": app, "server": self.origin.url, "limit": 200_000_000, "goesBack": True})
                for name in ("xcache-sw.js", "xcache-sw-packs.js", "xcache.js"):
                    files[name] = (self.dists[way] / name).read_bytes()
                files["xcache-sw.js"] = f"self.xcacheSettings={head};\n".encode() + files["xcache-sw.js"]
                published["xcache.js"] = files["xcache.js"]
                self.versions[way] = self.origin.publish(app, self.url(way), published, "--index")
            self.site.hosts[way] = files

    def page(self):
        return self.browser.new_page()

    def ends(self, page):
        """Ends workers and the tab, and with it the process that has scripts in memory."""
        page.send("ServiceWorker.enable")
        page.send("ServiceWorker.stopAllWorkers")
        self.browser.root.send("Target.closeTarget", targetId=page.target["targetId"])
        time.sleep(0.3)

    def opens(self, way, stay=1.5, slower=1):
        """Opens a way's page in a new tab: first paint, load, main-thread and script time, bytes before load."""
        page = self.page()
        page.send("Performance.enable")
        if slower > 1:
            page.send("Emulation.setCPUThrottlingRate", rate=slower)
        before = self.line.bytes_down
        page.goto(self.url(way))
        carried = self.line.bytes_down - before
        timing = page.timing()
        time.sleep(stay)
        metrics = {one["name"]: one["value"] for one in page.send("Performance.getMetrics")["metrics"]}
        result = {"fcp": timing["fcp"], "load": timing["load"], "bytes": carried, "main": metrics["TaskDuration"] * 1000,
                  "script": metrics["ScriptDuration"] * 1000, "protocol": timing["protocol"]}
        self.ends(page)
        return result

    def held(self, page, way):
        """Whether a worker has the release that is on the site."""
        try:
            if way in ("precache", "routes"):
                return page.eval("navigator.serviceWorker.getRegistration().then((r) => r?.update().then(() => r.active && !r.installing && !r.waiting))")
            state = page.eval("xcache.ready.then(() => xcache.update({force: true})).then(() => xcache.state())")
            return state and state["version"] == self.versions[way]
        except CDPError:
            return False

    def holds(self, way, stay=0.5):
        """Visits until the release that is on the site is held: the bytes that the line carried, and the seconds from the load."""
        page = self.page()
        before = self.line.bytes_down
        page.goto(self.url(way), 300)
        begun = time.monotonic()
        if way != "plain":
            until(lambda: self.held(page, way), f"the release at {way}", 300)
        taken = time.monotonic() - begun
        time.sleep(stay)
        carried = self.line.bytes_down - before
        self.ends(page)
        return {"bytes": carried, "seconds": taken}

    def order(self):
        """The ways, each time another one first."""
        self.count += 1
        turn = self.count % len(self.ways)
        return self.ways[turn:] + self.ways[:turn]

    def run(self, build):
        """Each way's visits of one front end, in a new profile."""
        results = {way: {} for way in self.ways}

        def visits(what, line, slower=1, opens=self.options.opens, stay=1.5, ways=self.ways):
            self.line.set(**line)
            for _ in range(opens):
                for way in self.order():
                    if way in ways:
                        results[way].setdefault(what, []).append(self.opens(way, stay, slower))

        with self.browser_of() as self.browser:
            self.line.set(**FAST)
            self.deploy(build, 0)
            for way in self.order():
                self.holds(way)
                # The second visit of ours stores scripts so that their compiled form is kept.
                for stay in (8 if way in self.dists else 2, 2, 2):
                    self.opens(way, stay)
            visits("revisit", LINE)
            visits("fast", FAST)
            for slower in self.options.slower:
                visits(f"{slower} times slower", FAST, slower)
            self.line.set(**FAST)
            self.deploy(build, 1)
            for way in self.order():
                if way != "plain":
                    # Whoever had the page open as the release came looks at it a little longer, with either worker.
                    self.holds(way, 5)
            visits("released", LINE, opens=1, stay=8)
            visits("released, second", LINE, opens=1, stay=3)
            visits("released, third", LINE, opens=1)
            visits("offline", {**FAST, "refuse": True}, ways=self.ways[1:])
            self.line.set(**FAST, refuse=False)
        return results

    def first(self, build):
        """First visits over the slow line, each in a new profile: paint, the page's own last request, bytes in all; then the update."""
        self.deploy(build, 0)
        results = {}
        for way in self.order():
            with self.browser_of() as self.browser:
                self.line.set(**LINE)
                page = self.page()
                before = self.line.bytes_down
                page.goto(self.url(way), 300)
                timing = page.timing()
                if way != "plain":
                    until(lambda: self.held(page, way), f"the first release at {way}", 300)
                time.sleep(30 if way == "plain" else 5)
                last = page.eval("Math.max(...performance.getEntriesByType('resource').filter(({name, initiatorType}) => "
                                 "!/xcache|sw\\.js/.test(name) && initiatorType !== 'fetch').map(({responseEnd}) => responseEnd))")
                results[way] = {"first": [{"fcp": timing["fcp"], "load": timing["load"], "last": last, "bytes": self.line.bytes_down - before}]}
                self.ends(page)
                if way != "plain":
                    self.deploy(build, 1)
                    self.opens(way)
                    results[way]["update"] = [self.holds(way)]
                    self.deploy(build, 0)
        self.line.set(**FAST)
        return results

    def media(self):
        """Ranges of a file of 30 MB that is held: one by itself, and eight at once, in a worker that was started anew."""
        results = {}
        film = random.Random(1).randbytes(30_000_000)
        ask = ("(async () => { const begun = performance.now(); await Promise.all(Array.from({length: %d}, (_, i) => "
               "fetch('film.bin', {headers: {Range: `bytes=${i * 3e6}-${i * 3e6 + 99}`}}).then((r) => r.arrayBuffer()))); "
               "return performance.now() - begun; })()")
        with self.browser_of() as self.browser:
            for way in self.dists:
                files = {"index.html": b'<script src="./xcache.js" defer></script>', "film.bin": film}
                app = f"media-{way}"
                for name in ("xcache-sw.js", "xcache-sw-packs.js", "xcache.js"):
                    files[name] = (self.dists[way] / name).read_bytes()
                head = json.dumps({"app": app, "server": self.origin.url, "goesBack": True})
                published = {name: file for name, file in files.items() if not name.startswith("xcache-sw")}
                files["xcache-sw.js"] = f"self.xcacheSettings={head};\n".encode() + files["xcache-sw.js"]
                self.site.hosts[way] = files
                self.versions = {way: self.origin.publish(app, self.url(way), published, "--index")}
                self.holds(way, 2)
                page = self.page()
                page.goto(self.url(way))
                page.eval("fetch('index.html').then((r) => r.text())")
                results[way] = {"media": [{"one": page.eval(ask % 1), "again": page.eval(ask % 1), "eight": page.eval(ask % 8)}]}
                self.ends(page)
        return results

    def close(self):
        self.line.__exit__()
        if self.front:
            self.front.stop()
        self.site.stop()
        self.origin.stop()
        self.origin.proxy.stop()


def show(lines):
    """Medians by front end and kind of visit, and how many times those of no worker and of the precache they are."""
    for build in dict.fromkeys(line["build"] for line in lines):
        of = [line["results"] for line in lines if line["build"] == build]
        for what in dict.fromkeys(what for results in of for values in results.values() for what in values):
            print(f"{build}: {what}")
            medians = {}
            for way in dict.fromkeys(way for results in of for way in results):
                seen = [one for results in of for one in results[way].get(what, [])]
                names = [name for name, value in (seen[0] if seen else {}).items() if isinstance(value, (int, float))]
                medians[way] = {name: statistics.median(one[name] for one in seen if one[name] is not None) for name in names}
                if not seen:
                    continue
                print(f"  {way:10}" + "".join(f"  {name} {value:9.0f}" for name, value in medians[way].items()) + f"   ({len(seen)})")
                for other in ("plain", "precache"):
                    if way not in (other, "plain") and medians.get(other):
                        shares = {name: value / medians[other][name] for name, value in medians[way].items() if medians[other].get(name)}
                        print(f"    of {other:8}" + "".join(f" {name} {share:9.2f}" for name, share in shares.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xcache", nargs="?", default=here.parent / ".build/release/xcache", help="the program")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--opens", type=int, default=3, help="how often each kind of visit is made in a run (3)")
    parser.add_argument("--slower", type=int, nargs="*", default=[4], help="how many times slower the page's main thread is made (4)")
    parser.add_argument("--tls", action="store_true", help="site and origin behind TLS and HTTP/2, by nginx")
    parser.add_argument("--routes", action="store_true", help="a precache with static routes, too")
    parser.add_argument("--first", type=int, default=0, help="first visits over the slow line (0)")
    parser.add_argument("--media", type=int, default=0, help="ranges of a large file (0)")
    parser.add_argument("--builds", default=",".join(BUILDS))
    parser.add_argument("--older", metavar="DIST", help="another worker's files, measured beside this one's")
    parser.add_argument("--record", metavar="FILE", help="a JSON line for each run; where it has some, the tables are of them, too")
    options = parser.parse_args()
    dists = {"ours": DIST, **({"older": pathlib.Path(options.older)} if options.older else {})}
    lines = []
    if options.record and os.path.exists(options.record):
        lines = [json.loads(line) for line in open(options.record)]

    def takes(build, results):
        lines.append({"build": build, "tls": options.tls, "machine": os.getloadavg()[0], "results": results})
        if options.record:
            with open(options.record, "a") as file:
                file.write(json.dumps(lines[-1]) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(options.xcache), folder, dists, options)
        try:
            for _ in range(options.media):
                takes("media", bench.media())
            for build in options.builds.split(","):
                for _ in range(options.runs):
                    takes(build, bench.run(build))
                for _ in range(options.first):
                    takes(build, bench.first(build))
            show(lines)
        finally:
            bench.close()


if __name__ == "__main__":
    main()
