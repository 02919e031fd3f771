#!/usr/bin/env python3
"""Whole published front ends under the worker: the kill switch, a broken release, a rollback, an emptied store, no room, a policy, WebSockets.

    Benchmarks/whole_builds.py [XCACHE] [NAME…]      XCACHE: the program (default: .build/release/xcache); NAME: of fronts.py (mlflow, marimo)

Ends with 0 if every front end came up in every case, with no more of its site than each allows. Needs Chromium; packages come from PyPI.
"""
import argparse, base64, hashlib, os, pathlib, re, sys, tempfile, time

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here.parent / "Tests/Browser/Worker"), str(here.parent / "Tests/Browser"), str(here)]
from cdp import Browser
from fronts import BUILDS
from open import FAST
from open_builds import DIST, Bench, Site
from servers import until

SHOWN = "document.querySelector('#root, #app, #__next')?.querySelectorAll('*').length ?? 0"
POLICY = ("default-src 'self'; script-src 'self' 'unsafe-eval' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; worker-src 'self' blob:; "
          "connect-src 'self' ws: {origin}; img-src 'self' data:; font-src 'self' data:")


class Watched(Site):
    """Takes note of the files that are asked for, and echoes one frame on `/echo`."""

    def __init__(self, origin):
        self.asked, self.policy = [], None
        super().__init__(origin)

    def handle(self, request):
        path = request.path.split("?")[0][1:] or "index.html"
        if request.headers.get("Upgrade", "").lower() == "websocket" and path == "echo":
            return self.echo(request)
        if request.headers.get("Host", "").startswith("ours") and path in self.hosts.get("ours", {}) and not path.startswith("xcache-sw"):
            self.asked.append(path)
        if self.policy:
            answer = request.answer
            request.answer = lambda *words, headers=(), **more: answer(*words, headers=[*headers, ("Content-Security-Policy", self.policy)], **more)
        return super().handle(request)

    def echo(self, request):
        """RFC 6455: the handshake, and a short text frame back without its mask."""
        key = hashlib.sha1(request.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        request.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                            + base64.b64encode(key) + b"\r\n\r\n")
        request.wfile.flush()
        _, length = request.rfile.read(2)
        mask, text = request.rfile.read(4), request.rfile.read(length & 127)
        request.wfile.write(bytes([0x81, len(text)]) + bytes(byte ^ mask[i % 4] for i, byte in enumerate(text)))
        request.wfile.flush()
        request.close_connection = True


class Trial:
    def __init__(self, bench, build):
        self.bench, self.build, self.app, self.base = bench, build, f"{build}-ours", bench.url("ours")

    def visit(self, shows=True):
        """Opens the page anew, and waits until the front end is there; the files that the site was asked for."""
        self.bench.site.asked.clear()
        self.tab = self.bench.page()
        self.tab.goto(self.base)
        if shows:
            until(lambda: self.tab.eval(SHOWN) > 0, f"{self.build} on the page", 30)
        time.sleep(1)
        return list(self.bench.site.asked)

    def leave(self):
        self.bench.ends(self.tab)

    def visits(self, shows=True):
        asked = self.visit(shows)
        self.leave()
        return asked

    def polls(self, condition, what):
        """Polls from an open page until the worker's state fulfils a condition."""
        until(lambda: self.tab.eval(f"xcache.ready.then(() => xcache.update({{force: true}})).then(() => xcache.state()).then((s) => {condition})"),
              what, 120)

    def policy(self, *words):
        before = self.tab.eval("xcache.ready.then(() => xcache.state()).then(({policy}) => policy)")
        self.bench.origin.run("policy", *words, "--app", self.app)
        self.polls(f"s.policy > {before}", "the policy")

    def run(self):
        bench, held = self.bench, "s.held > 0 && s.version == {}"
        bench.deploy(self.build, 0)
        first = bench.versions["ours"]
        self.visit()
        self.polls(held.format(first), "the first release")
        self.leave()
        assert not self.visits(), "a revisit asks the site"
        print("  revisit: nothing is asked of the site")

        self.visit()
        assert self.tab.eval(f"new Promise((done, fails) => {{ const s = new WebSocket('{self.base.replace('http', 'ws')}echo'); s.onerror = fails; "
                             "s.onopen = () => s.send('hello'); s.onmessage = ({data}) => done(data); })") == "hello"
        print("  a WebSocket of a page under the worker: its echo came")
        self.policy("kill")
        self.leave()
        whole = self.visit()
        assert "index.html" in whole, "the page isn't the network's"
        self.policy("resume")
        self.leave()
        before = bench.line.bytes_down
        assert not self.visits() and bench.line.bytes_down - before < 20_000, "it has to be downloaded again"
        print(f"  killed: the network answers {len(whole)} files; resumed: nothing of them is asked, nothing is downloaded again")

        good = dict(bench.site.hosts["ours"])
        broken = {name: b"throw new Error('broken')" if name.endswith(".js") and b'src="' in good["index.html"]
                  and name.split("/")[-1].encode() in good["index.html"] and not name.startswith("xcache") else file
                  for name, file in good.items() if not name.startswith("xcache-sw")}
        self.visit()
        second = bench.origin.publish(self.app, self.base, broken, "--index")
        self.polls(held.format(second), "the broken release")
        self.leave()
        for _ in range(2):
            self.visit(shows=False)
            # It is looked at for some seconds whether it comes up all the same.
            time.sleep(8)
            self.leave()
        assert not self.visits(), "after two failures the site is asked"
        print("  a broken release: two pages fail, the third is of the release before, and shows the app")
        bench.origin.run("rollback", "--yes", "--app", self.app, "--to", first)
        self.visit()
        self.polls(f"+s.version > {second} && s.held > 0", "the rollback")
        self.leave()
        assert not self.visits(), "after the rollback the site is asked"
        print("  rolled back: the device answers again, without asking the site")

        self.visit()
        self.tab.eval("caches.keys().then((all) => Promise.all(all.map((name) => caches.delete(name))))")
        self.leave()
        asked = self.visit()
        self.polls("s.held > 0 && s.backlog == 0", "the files again")
        time.sleep(1)
        self.leave()
        assert not self.visits(), "the store isn't whole again"
        print(f"  an emptied store: {len(asked)} files of the site for one visit, then it is whole again")
        self.visit()
        self.tab.eval("new Promise((done) => { const all = indexedDB.databases(); all.then((list) => Promise.all(list.map(({name}) => "
                      "new Promise((next) => { const r = indexedDB.deleteDatabase(name); r.onsuccess = r.onerror = r.onblocked = next; })))).then(done); })")
        self.leave()
        self.visit()
        self.polls("s.held > 0", "the release again")
        self.leave()
        print("  a deleted database: the page comes up, and the release comes back")

        self.visit()
        room = self.tab.eval("navigator.storage.estimate().then(({usage}) => usage)")
        self.tab.send("Storage.overrideQuotaForOrigin", origin=self.base[:-1], quotaSize=room + 50_000)
        bench.deploy(self.build, 1)
        kind = self.tab.eval("xcache.update({force: true}).then(({kind}) => kind)")
        self.leave()
        self.visit()
        self.tab.send("Storage.overrideQuotaForOrigin", origin=self.base[:-1])
        self.leave()
        self.visits()
        print(f"  no room for an update ({kind}): the page comes up on each visit")

        bench.site.policy = POLICY.format(origin=bench.origin.url)
        bench.deploy(self.build, 0)
        # What the policy forbids the front end itself, and what it misses of its own server, fails without a worker, too.
        plain = bench.page()
        plain.goto(bench.url("plain"))
        until(lambda: plain.eval(SHOWN) > 0, f"{self.build} without a worker", 30)
        own = errors_of(plain)
        bench.ends(plain)
        self.visits()
        self.visit()
        errors = errors_of(self.tab)
        registered = self.tab.eval("xcache.ready.then((registration) => registration?.active?.state)")
        self.leave()
        bench.site.policy = None
        assert registered == "activated", registered
        new = [error for error in errors if error not in own]
        assert not new, f"under the policy, and not without a worker: {new}"
        print(f"  a Content-Security-Policy: the worker is {registered}, the page came up, {len(errors)} errors, all of them without a worker, "
              "too" + "".join(f"\n    {error}" for error in errors))


def errors_of(page, quiet=3):
    """The exceptions of a page, once none was added for some seconds: under load they come late."""
    def thrown():
        return [event for event in page.events if event["method"] == "Runtime.exceptionThrown"]
    seen = -1
    while seen < len(thrown()):
        seen = len(thrown())
        time.sleep(quiet)
    return [error_of(event) for event in thrown()]


def error_of(event):
    """The first line of an exception, without the page's host; of one that is no `Error`, such as mlflow's of a failed call, its members."""
    details = event["params"]["exceptionDetails"]
    thrown = details.get("exception", {})
    text = thrown.get("description", details["text"]).split("\n")[0]
    if thrown.get("subtype") != "error":
        text += "".join(f" {one['name']}: {one.get('value')}" for one in thrown.get("preview", {}).get("properties", []))
    return re.sub(r"https?://[^/\s]+", "", text)[:200]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xcache", nargs="?", default=here.parent / ".build/release/xcache", help="the program")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BUILDS)}")
    options = parser.parse_args()
    options.tls = options.routes = False
    for name in options.names or ["mlflow", "marimo"]:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(os.path.abspath(options.xcache), folder, {"ours": DIST}, options, Watched)
            bench.ways = ["plain", "ours"]
            print(name, flush=True)
            try:
                bench.line.set(**FAST)
                with Browser() as bench.browser:
                    Trial(bench, name).run()
            finally:
                bench.close()


if __name__ == "__main__":
    main()
