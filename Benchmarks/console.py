#!/usr/bin/env python3
"""What the console costs with 200 channels, 5,000 releases and 100,000 resources.

    Benchmarks/console.py [XCACHE] [--small]      XCACHE: a release build (default: .build/release/xcache); --small: a tenth of it

Prints the server's time for all that the first view asks for; the first view in Chromium through 100 ms of round trip and
1.6 Mbit/s; and the latency of polls with no console and with 50 open, in turns. Ends with 1 where a bar isn't met.
"""
import base64, hashlib, http.client, json, os, statistics, sys, tempfile, threading, time
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{here}/../Tests/Browser")
from cdp import Browser
from console_page import Console
from site_under_test import Site
from slowproxy import SlowProxy

small = "--small" in sys.argv
names = [word for word in sys.argv[1:] if not word.startswith("-")]
xcache = os.path.abspath(names[0] if names else os.path.join(here, "../.build/release/xcache"))
channels, releases, resources = (20, 500, 10_000) if small else (200, 5_000, 100_000)
missed = []


def bar(words, value, most, unit):
    print(f"{words}: {value:.1f} {unit} (bar: {most} {unit})", flush=True)
    if value > most:
        missed.append(words)


class API:
    def __init__(self, site):
        self.connection = http.client.HTTPConnection(site.url.removeprefix("http://"))
        self.token = site.token

    def ask(self, method, path, body=None, fields={}):
        data = json.dumps(body) if isinstance(body, dict) else body
        self.connection.request(method, path if path.startswith("/") else f"/api/v1/{path}", data,
                                {"Authorization": f"Bearer {self.token}", **fields})
        reply = self.connection.getresponse()
        return reply, reply.read()

    def must(self, *words):
        reply, body = self.ask(*words)
        assert reply.status < 300, (words[:2], reply.status, body[:300])
        return json.loads(body) if body else None


def fill(site):
    api = API(site)
    rounds = releases // channels
    each = resources // channels
    for number in range(channels):
        path = f"apps/app{number // 10}/channels/" + ("online" if number % 10 == 0 else f"test-{number % 10}")
        base = 0
        for turn in range(rounds):
            contents = {}
            for index in range(each) if turn == 0 else [turn % each]:
                data = f"resource {number} {index} {turn}\n".encode() * 8
                md5, sha256 = hashlib.md5(data), hashlib.sha256(data).hexdigest()
                contents[f"https://m.example.com/{number}/file-{index}.js"] = {
                    "ctype": "text/javascript", "md5": md5.hexdigest(), "sha256": sha256, "size": len(data)}
                reply, body = api.ask("PUT", f"blobs/{sha256}", data,
                                      {"Content-MD5": base64.b64encode(md5.digest()).decode()})
                assert reply.status < 300, body
            answer = api.must("POST", f"{path}/releases", {
                "bundles": [{"base": str(base), "bundle": "main", "remove": [], "set": contents}],
                "message": f"release {turn}", "now": True})
            base = answer["version"]
    return api


def server_times(api):
    """All that a first view asks for, one after the other: without the network, what the server takes."""
    asked = ["/console/", "/auth/", "/console/console.css", "/console/main.js", "/console/api.js", "/console/dom.js",
             "/console/overview.js", "/console/view.css", "/api/v1/token", "/api/v1/overview"]
    times, sizes = [], 0
    for _ in range(7):
        time.sleep(1.1)
        start, sizes = time.perf_counter(), 0
        for path in asked:
            reply, body = api.ask("GET", path, None, {"Accept-Encoding": "gzip"})
            assert reply.status == 200, path
            sizes += len(body)
        times.append((time.perf_counter() - start) * 1000)
    bar("first view at the server, median", statistics.median(times), 300, "ms")
    bar("first view, bytes over the wire", sizes / 1000, 60, "KB")


def slow_view(site):
    with SlowProxy(site.url.removeprefix("http://"), delay=50, rate=1.6, up_rate=1.6) as proxy:
        times = []
        for _ in range(3):
            with Browser() as browser:
                site.console = f"{proxy.url}/console/"
                start = time.perf_counter()
                console = Console(browser, site)
                console.wait("#token")
                door = time.perf_counter()
                entered = console.eval(f"""new Promise((done) => {{ const start = performance.now();
                  new MutationObserver(() => {{ if (document.querySelector('#view table')) done(performance.now() - start); }})
                    .observe(document, {{ childList: true, subtree: true }});
                  document.querySelector('#token').value = {json.dumps(site.token)};
                  document.querySelector('#sign-in').requestSubmit(); }})""") / 1000
                loaded = console.eval("performance.timing.loadEventEnd - performance.timing.navigationStart") / 1000
                times.append((loaded, entered))
        loaded, entered = (statistics.median(part) for part in zip(*times))
        bar("through 100 ms and 1.6 Mbit/s: the page", loaded, 1.3, "s")
        bar("through 100 ms and 1.6 Mbit/s: signed in to the overview", entered, 1.3, "s")


def polls(site, seconds=10, rate=200):
    """p99 of polls that come at a steady pace, in ms."""
    connection = http.client.HTTPConnection(site.url.removeprefix("http://"))
    times, start = [], time.perf_counter()
    for number in range(seconds * rate):
        due = start + number / rate
        time.sleep(max(0, due - time.perf_counter()))
        asked = time.perf_counter()
        connection.request("GET", f"/configure.json?app=app{number % (channels // 10)}&version={releases // channels}")
        connection.getresponse().read()
        times.append((time.perf_counter() - asked) * 1000)
    return sorted(times)[int(len(times) * 0.99)]


class Consoles:
    """As many pages as `count` that ask every 5 s for what changed."""

    def __init__(self, site, count):
        self.ends = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(site, index / count * 5)) for index in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, site, delay):
        api, tags, turn = API(site), {}, 0
        while not self.ends.wait(delay):
            path = ["overview", "apps/app0/channels/online/adoption/series?step=hour&points=24"][turn % 2]
            reply, _ = api.ask("GET", path, None, {"If-None-Match": tags.get(path, '"none"'), "Accept-Encoding": "gzip"})
            tags[path], turn, delay = reply.getheader("ETag") or tags.get(path), turn + 1, 5

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()


def main():
    with tempfile.TemporaryDirectory() as folder:
        site = Site(xcache, folder)
        try:
            start = time.perf_counter()
            api = fill(site)
            print(f"{channels} channels, {releases} releases, {resources} resources: {time.perf_counter() - start:.0f} s")
            server_times(api)
            slow_view(site)
            ratios = []
            for _ in range(5):
                alone = polls(site)
                consoles = Consoles(site, 50)
                time.sleep(5)
                beside = polls(site)
                consoles.stop()
                ratios.append(beside / alone)
                print(f"polls' p99: {alone:.2f} ms alone, {beside:.2f} ms beside 50 consoles", flush=True)
            bar("polls' p99 beside 50 consoles, median of ratios", statistics.median(ratios), 1.2, "x")
        finally:
            site.stop()
    if missed:
        raise SystemExit("missed: " + "; ".join(missed))


main()
