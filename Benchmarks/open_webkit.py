#!/usr/bin/env python3
"""How fast pages open in WebKitGTK over a slow line: by itself, and from a runtime's cache, in new views and in views that wait.

    Benchmarks/open_webkit.py XCACHE BENCH [--runs N] [--record FILE] [--chart FILE]
                                                       BENCH: open-bench of Engines/WebKitGTK, a release build

The front ends, the line and `--record` are those of open.py, behind TLS. Each page asks for data, which its server takes 300 ms to
answer, and for the same once more by another name; the first call is in the channel's prefetch config. The runs alternate; the tables
have medians, in milliseconds from the app's wish to open the page: first contentful paint, load, the data of the first call and of the
second, and what the line carried before load. (l) is a page in a view that waited, without a runtime, from a server without a limit.
"""
import argparse, html, json, os, pathlib, ssl, statistics, subprocess, sys, tempfile, time

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "Tests/Browser/Worker"), str(here.parent / "Tests/Browser")]
from open import FAST, FRONTS, LINE, Record, Site, build
from servers import Origin, until
from slowproxy import SlowProxy

# Milliseconds that the server of the pages' data takes.
CALL = 300
HOST = "m.localhost"
# Asks once the page's own scripts have run, as front ends do, and notes when the answers are there.
SCRIPT = """<script>addEventListener('DOMContentLoaded', () => {
  for (const name of ['shown', 'other']) fetch('/api?' + name).then((r) => r.json()).then(() => { window[name + 'At'] = Date.now(); });
});</script>"""
WORDS = {"a": "WebKit, empty cache", "b": "WebKit, its HTTP cache", "c": "WebKit, after a release", "d": "xcache, new view",
         "e": "xcache, preloaded view", "f": "the same after a release", "g": "the same offline",
         "l": "WebKit, preloaded, local server"}
COLUMNS = ("began", "fcp", "load", "data", "other", "bytes")


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=bench", "-addext", f"subjectAltName=DNS:{HOST}", "-keyout", f"{folder}/site.key",
                    "-out", f"{folder}/site.pem"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(f"{folder}/site.pem", f"{folder}/site.key")
    return made


class TLSSite(Site):
    def __init__(self, origin, tls):
        self.tls = tls
        super().__init__(origin)

    def over(self, socket):
        return self.tls.wrap_socket(socket, server_side=True, do_handshake_on_connect=False)

    def handle(self, request):
        if request.path.startswith("/api"):
            time.sleep(CALL / 1000)
            return request.answer(b"{}", "application/json", headers=[("Cache-Control", "no-store")])
        if request.path.startswith("/blank"):
            return request.answer(b"<!doctype html><title>blank</title>", "text/html")
        super().handle(request)


class Visitor:
    """An app on a device that was never here."""

    def __init__(self, bench, runtime):
        self.bench = bench
        folder = tempfile.mkdtemp(dir=bench.folder)
        self.process = subprocess.Popen([bench.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=None if os.environ.get("BENCH_ERRORS") else subprocess.DEVNULL)
        self.does({"folder": folder, "certificate": f"{bench.folder}/site.pem", "site": bench.base.rstrip("/"),
                   "server": bench.origin.url if runtime else None, "app": bench.app})

    def does(self, act):
        self.process.stdin.write(json.dumps(act) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError(f"open-bench ended, asked for {act}")
        return json.loads(answer)

    def launches(self, version):
        """Takes what is published, whole."""
        until(lambda: self.does({"act": "launch"})["version"] == version, f"version {version}", 120)

    def opens(self, path, warm=False, offline=False):
        if warm:
            self.does({"act": "wait"})
        before = self.bench.carried()
        made = self.does({"act": "open", "url": self.bench.base.rstrip("/") + path, "isWarm": warm, "isOffline": offline})
        return {**made, "bytes": self.bench.carried() - before}

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)


class Bench:
    def __init__(self, xcache, program, folder):
        self.program, self.folder, self.count = program, folder, 0
        self.origin = Origin(xcache, folder)
        self.site = TLSSite(self.origin, certificate(folder))
        self.lines = [SlowProxy(f"127.0.0.1:{port}", **FAST).__enter__() for port in (self.site.port, self.origin.proxy.port)]
        # Downloads come over a line of the same kind.
        self.origin.stop()
        self.origin.url = self.lines[1].url
        self.origin.start()
        self.base = f"https://{HOST}:{self.lines[0].port}/"

    def carried(self):
        return sum(line.bytes_down for line in self.lines)

    def set(self, **conf):
        for line in self.lines:
            line.set(**conf)

    def deploy(self, front, release):
        path = f"/page{self.count}/"
        files = build(front, release, path, SCRIPT)
        self.site.files = {path[1:] + name: file for name, file in files.items()}
        return self.origin.publish(self.app, self.base[:-1] + path, files, "--index")

    def run(self, front):
        """All the ways for one front end, once."""
        self.count += 1
        self.app, path = f"run{self.count}", f"/page{self.count}/"
        self.set(**FAST)
        first = self.deploy(front, 0)
        config = f"{self.folder}/prefetch.json"
        with open(config, "w") as file:
            json.dump([{"url": f"{self.base[:-1]}{path}", "interfaces": [
                {"api": f"{self.base}api?shown", "method": "GET", "urlParam": True}]}], file)
        self.origin.run("prefetch", "push", config, "--app", self.app)
        nobody, cached, local = (Visitor(self, False) for _ in range(3))
        ours = Visitor(self, True)
        results = {}
        try:
            self.set(**LINE)
            results["a"] = nobody.opens(path)
            self.set(**FAST)
            cached.opens(path)
            local.opens(path)
            results["l"] = local.opens(path, warm=True)
            ours.launches(first)
            self.set(**LINE)
            results["b"] = cached.opens(path)
            results["d"] = ours.opens(path)
            results["e"] = ours.opens(path, warm=True)
            self.set(**FAST)
            second = self.deploy(front, 1)
            # In the background.
            ours.launches(second)
            self.set(**LINE)
            results["c"] = cached.opens(path)
            results["f"] = ours.opens(path, warm=True)
            self.set(**FAST, refuse=True)
            results["g"] = ours.opens(path, warm=True, offline=True)
            self.set(**FAST, refuse=False)
            for key, release in zip("abcdefgl", (0, 0, 1, 0, 0, 1, 1, 0)):
                assert results[key]["title"] == f"release {release}", (key, results[key])
            used = ours.does({"act": "counts"})["used"]
            assert used >= 3, f"{used} of the calls that were sent ahead of (d), (e) and (f) met their page"
            return results
        finally:
            for visitor in (nobody, cached, local, ours):
                visitor.end()

    def close(self):
        for line in self.lines:
            line.__exit__()
        self.site.stop()
        self.origin.stop()
        self.origin.proxy.stop()


def show(lines):
    if not lines:
        return print("no runs yet")
    loads = sorted(line["machine"] for line in lines)
    print(f"{lines[-1]['engine']}, the machine's load {loads[0]} to {loads[-1]}, median {statistics.median(loads)}")
    missed = []
    for name in dict.fromkeys(line["front"] for line in lines):
        ways = [line["ways"] for line in lines if line["front"] == name]
        median = {key: {what: statistics.median([way[key][what] for way in ways if way[key].get(what)] or [0]) for what in COLUMNS}
                  for key in WORDS}
        print(f"{name}: {LINE['delay']} ms each way, {LINE['rate']} Mbit/s; medians of {len(ways)} runs")
        for key, words in WORDS.items():
            one = median[key]
            print(f"  ({key}) {words:32} begins {one['began']:4.0f} ms  FCP {one['fcp']:6.0f} ms  load {one['load']:6.0f} ms  data {one['data']:6.0f} ms "
                  f"(not sent ahead {one['other']:6.0f})  {one['bytes']:9.0f} B")
        bars = (("above the local server's FCP, ms", median["e"]["fcp"] - median["l"]["fcp"], 60), ("FCP, ms", median["e"]["fcp"], 300),
                ("bytes after a release, of WebKit's, %", 100 * median["f"]["bytes"] / max(1, median["c"]["bytes"]), 10))
        for words, value, most in bars:
            print(f"  {'FAILED ' if value > most else ''}preloaded view, {words}: {value:.1f} (bar: {most})")
            if value > most:
                missed.append(words)
    return missed


def medians(lines, name, key, what):
    return statistics.median([line["ways"][key][what] for line in lines if line["front"] == name])


def chart(lines):
    """An SVG: first contentful paint of each front end, WebKit by itself beside ours."""
    ways = [("a", "#a9b6c3"), ("b", "#a9b6c3"), ("c", "#a9b6c3"), ("d", "#2f6f9f"), ("e", "#2f6f9f"), ("f", "#2f6f9f"), ("g", "#2f6f9f")]
    fronts = list(dict.fromkeys(line["front"] for line in lines))
    most = max(medians(lines, name, key, "fcp") for name in fronts for key, _ in ways)
    left, wide, row, top = 200, 170, 22, 58
    width, height = left + (wide + 50) * len(fronts) + 12, top + row * len(ways) + 12
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
           "<title>Seconds until a page's first contentful paint in WebKitGTK: by itself, and with its files on the device.</title>",
           "<style>text{font:13px system-ui,sans-serif;fill:#1c2733}.title{font-weight:600}</style>",
           f'<rect width="{width}" height="{height}" fill="#fff"/>',
           f'<text class="title" x="12" y="22">Seconds to first contentful paint, {LINE["delay"]} ms each way, {LINE["rate"]} Mbit/s '
           f"({len(lines) // len(fronts)} runs, medians)</text>"]
    out += [f'<text class="title" x="{left + (wide + 50) * place}" y="46">{html.escape(name)}</text>' for place, name in enumerate(fronts)]
    for place, (key, colour) in enumerate(ways):
        y = top + row * place
        out.append(f'<text x="12" y="{y + 14}">{html.escape(WORDS[key])}</text>')
        for column, name in enumerate(fronts):
            x, value = left + (wide + 50) * column, medians(lines, name, key, "fcp")
            size = max(1, round(wide * value / most))
            out.append(f'<rect x="{x}" y="{y + 2}" width="{size}" height="16" rx="2" fill="{colour}"/>'
                       f'<text x="{x + size + 6}" y="{y + 14}">{value / 1000:.2f}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xcache", help="the program")
    parser.add_argument("bench", help="open-bench")
    parser.add_argument("--runs", type=int, default=15, help="over the slow line (15)")
    parser.add_argument("--record", metavar="FILE", help="a JSON line for each run; where it has some, the tables are of them, too")
    parser.add_argument("--chart", metavar="FILE", help="where to draw the medians, as SVG")
    options = parser.parse_args()
    engine = subprocess.run(["pkg-config", "--modversion", "webkit2gtk-4.1"], capture_output=True, text=True).stdout.strip()
    record = Record(options.record, {"engine": f"WebKitGTK {engine}"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        bench = Bench(os.path.abspath(options.xcache), os.path.abspath(options.bench), folder)
        try:
            for number in range(options.runs):
                for front in FRONTS:
                    record.add(kind="open", front=front[0], ways=bench.run(front))
                print(f"  run {number + 1} of {options.runs}", file=sys.stderr)
        finally:
            bench.close()
    if options.chart and record.lines:
        pathlib.Path(options.chart).write_text(chart(record.lines))
    return 1 if show(record.lines) else 0


if __name__ == "__main__":
    sys.exit(main())
