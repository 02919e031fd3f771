"""Costs of the worker: scripts are compiled once, nothing is downloaded twice, and pages' requests have priority."""
import json, os, random, threading, time

from bench import App, case, filler, until
from servers import Skipped, asks
from steps import CACHE, opens, policy, second, takes, forward, lose


def compiled(bench, tab, url, part):
    """Opens a page in a new process; returns the size of V8's code cache used for the script with `part` in its URL."""
    if os.environ.get("ENGINE") == "webkit":
        raise Skipped("another engine")
    root = bench.browser.root
    bench.stop_worker(tab)
    tab.open("about:blank")
    mark = len(root.events)
    root.send("Tracing.start", categories="v8,devtools.timeline,disabled-by-default-v8.compile", transferMode="ReportEvents")
    tab.open(url)
    tab.until("window.version > 0")
    # V8 writes its code cache after the page's load.
    time.sleep(2)
    root.send("Tracing.end")
    root.wait_event("Tracing.tracingComplete", since=mark)
    events = [one for entry in root.events[mark:] if entry["method"] == "Tracing.dataCollected" for one in entry["params"]["value"]]
    return max((one["args"].get("data", {}).get("consumedCacheSize") or 0 for one in events
                if one["name"].startswith("v8.compile") and part in json.dumps(one["args"])), default=0)


CLASSIC = '<script src="/classic.js"></script>'


def classic(version):
    """A classic script: Chromium 156 has no cached code for modules that it fetches in the background."""
    functions = "".join(f"function f{i}(a, b) {{ let s = a; for (let k = 0; k < b; k++) s = (s * {i + 3} + k) % {i + 7}; return s; }}\n" for i in range(800))
    return f"{functions}window.classic = [{', '.join(f'f{i}' for i in range(800))}].reduce((s, f) => s + f({version}, 3), 0);".encode()


# Whether a script is stored with its URL, as V8 needs it; with two versions, the newer one.
STORED = f"""(async () => {{ const c = await {CACHE}; const keys = (await c.keys()).filter((k) => k.url.includes('%s'));
  return keys.length > 0 && !!(await c.match(keys.at(-1))).url; }})()"""


@case("what V8 compiled of a script is kept: of one that the first visit brought, and of one that came by a pack")
def _(bench):
    app = App(bench)
    name = "classic.js"
    tab = app.visited(add={name: classic(1)}, extra=CLASSIC)
    for version in (1, 2):
        if version == 2:
            second(bench, app, add={name: classic(2)}, extra=CLASSIC)
            takes(app, tab, "pack")
            # Removes the version that no page uses any more.
            lose(tab, f"/1/1/")
            tab.open(app.base)
        # The page stores the response that it gets, by its own URL.
        tab.until(STORED % name, seconds=30)
        until(lambda: compiled(bench, tab, app.base, name) > 0, "what was compiled", 30)
    opens(app, tab, 2)
    # It has the entry's headers, and is verified like all files.
    assert tab.fetch(name)["headers"].get("x-content-type-options") == "nosniff"


@case("a release's scripts are stored by the page that is open as it comes: what the first page compiles of them the second one has")
def _(bench):
    app = App(bench)
    tab = app.visited(add={"classic-1a2b3c4d.js": classic(1)}, extra='<script src="/classic-1a2b3c4d.js"></script>')
    tab.until(STORED % "classic-1a2b3c4d.js")
    add = {"classic-5e6f7a8b.js": classic(2), "other-5e6f7a8b.js": classic(3)}
    second(bench, app, add=add, extra='<script src="/classic-5e6f7a8b.js"></script>')
    takes(app, tab, "pack")
    tab.until(STORED % "classic-5e6f7a8b.js", seconds=30)
    # No earlier version of the other one was run.
    assert not tab.eval(STORED % "other-5e6f7a8b.js")
    compiled(bench, tab, app.base, "classic-5e6f7a8b.js")
    assert compiled(bench, tab, app.base, "classic-5e6f7a8b.js") > 0
    opens(app, tab, 2)


@case("a script that a page stored with other bytes is never answered")
def _(bench):
    app = App(bench)
    tab = app.visited()
    name = next(name for name in app.files(1) if "app-" in name)
    tab.until(STORED % name.split("/")[1], seconds=30)
    # Wrong bytes, and wrong bytes with the right headers.
    for other in ("await fetch('logo.svg')", "new Response('window.version = 666', await c.match(k))"):
        tab.eval(f"""(async () => {{ const c = await {CACHE};
          for (const k of await c.keys()) if (k.url.includes('{name.split("/")[1]}')) await c.put(k, {other}); }})()""")
        bench.stop_worker(tab)
        tab.open(app.base)
        tab.until("window.version === 1")


@case("a first visit downloads nothing that the page has loaded, with the data saver neither")
def _(bench):
    for saves in (False, True):
        app = App(bench)
        head = b"Object.defineProperty(navigator, 'connection', {value: {saveData: true}});\n" if saves else b""
        app.worker = head + app.worker
        app.release(1, add={"other.bin": random.Random(1).randbytes(50_000)})
        tab = app.tab()
        bench.proxy.forget()
        tab.open(app.base)
        until(lambda: tab.update() and tab.state()["version"] == "1", "the version")
        loaded = [name for name in app.files(1) if name.startswith("assets/") and "lazy" not in name] + ["logo.svg"]
        for name in loaded:
            assert not bench.proxy.seen(name.split("/")[-1]), (saves, name)
        assert bool(bench.proxy.seen("other.bin")) is not saves
        if saves:
            bench.stop_worker(tab)
            tab.open(app.base)
            app.web.forget()
            # A missing file comes from the site once, and is stored.
            assert tab.eval("fetch('other.bin').then((r) => r.arrayBuffer()).then((b) => b.byteLength)") == 50_000
            assert app.web.seen("other.bin") and not bench.proxy.seen("other.bin")
            app.web.stop()
            assert tab.fetch("other.bin")["status"] == 200


@case("a first visit: downloads wait until the page has what it asks for, and are two at once at most")
def _(bench):
    app = App(bench)
    chain = ("<script>addEventListener('load', async () => { for (let i = 0; i < 12; i++) { const s = document.createElement('script'); s.src = '/part?' + i; "
             "document.head.append(s); await new Promise((done) => s.onload = done); } window.chained = true; });</script>")
    app.release(1, add={f"large{i}.bin": random.Random(i).randbytes(30_000) for i in range(12)}, extra=chain)
    parts, downloads, at_once, lock = [], [], [0, 0], threading.Lock()

    def part(request):
        time.sleep(0.3)
        parts.append(time.monotonic())
        request.answer(b"", "text/javascript", headers=[("Cache-Control", "no-store")])
    app.web.routes["/part"] = part

    def counts(request, proxy):
        with lock:
            downloads.append(time.monotonic())
            at_once[0] += 1
            at_once[1] = max(at_once)
        time.sleep(0.1)
        proxy.forward(request)
        with lock:
            at_once[0] -= 1
    bench.proxy.rules = [("large", counts)]
    tab = app.tab()
    tab.open(app.base)
    tab.until("window.chained")
    until(lambda: len(downloads) == 12, "the downloads")
    assert len(parts) == 12 and min(downloads) > max(parts), "it doesn't wait for the page"
    assert at_once[1] <= 2, at_once


@case("a page's request goes before what comes in the background")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2, add={f"large{i}.bin": random.Random(i).randbytes(30_000) for i in range(8)})
    bench.proxy.rules = [("pack=1", asks("&pack=1", ""))]
    bench.proxy.forget()
    tab.eval("""window.asking = setInterval(() => fetch('/api?' + Math.random()).catch(() => {}), 100);
      setTimeout(() => { clearInterval(asking); window.calm = true; }, 3000); window.begun = performance.now(); void xcache.update({force: true}); true""")
    time.sleep(2)
    seen = len(bench.proxy.seen("large"))
    assert seen <= 4, seen
    tab.until("window.calm")
    until(lambda: len(bench.proxy.seen("large")) == 8, "the rest")


@case("scripts and styles that a page's document names are checked before the page asks for them")
def _(bench):
    app = App(bench)
    # Resources in a template aren't loaded.
    tab = app.visited(extra='<template><script src="named.js"></script><link href="./named.css"><img src="logo.svg"></template>',
                      add={"named.js": b"1", "named.css": b"a {}", "other.js": b"2"})
    bench.stop_worker(tab)
    bench.worker_gone(app)
    tab.open(app.base + "help.html")
    worker = bench.worker(app)
    worker.eval("""self.read = []; const match = CacheStorage.prototype.match;
      CacheStorage.prototype.match = function (url, how) { read.push(url); return match.call(this, url, how); }; true""")
    tab.open(app.base)
    until(lambda: "named.css" in worker.eval("read.join()"), "the style", 20)
    read = worker.eval("read.join()")
    assert "named.js" in read and "other.js" not in read, read
    assert tab.title() == "version 1"


@case("a page that never stops asking doesn't keep a release from coming")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2, add={f"large{i}.bin": random.Random(i).randbytes(300_000) for i in range(12)})
    bench.proxy.rules = [("pack=1", asks("&pack=1", ""))]
    tab.eval("setInterval(() => fetch('/api?' + Math.random()).catch(() => {}), 100); void xcache.update({force: true}); true")
    # With a delay of five seconds for each file or chunk it would take minutes.
    until(lambda: tab.state()["version"] == app.version, "the release", 40)


@case("a full quota: what there was no room for isn't downloaded with each poll")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app, 2, add={"large.bin": random.Random(1).randbytes(3_000_000)})
    bench.proxy.forget()
    used = tab.eval("xcache.estimate().then(({usage}) => usage)")
    tab.session.send("Storage.overrideQuotaForOrigin", origin=app.web.url, quotaSize=used + 200_000)
    for _ in range(3):
        assert tab.update()["kind"] == "failed"
        forward(bench, app, 40)
    assert len(bench.proxy.seen(".xpk")) == 1 and not bench.proxy.seen("large.bin"), bench.proxy.seen(".xpk")
    # Polls continue, so the kill switch arrives.
    policy(bench, app, "kill", "--for", "1h")
    until(lambda: tab.update() and tab.state()["policy"] > 0, "the policy")
    tab.session.send("Storage.overrideQuotaForOrigin", origin=app.web.url)
    forward(bench, app, 700)
    app.hold(tab)


@case("a first visit without room for the whole build: where the browser says so nothing is downloaded, and pages have what fits")
def _(bench):
    for tells in (True, False):
        app = App(bench)
        if tells:
            app.worker = b"StorageManager.prototype.estimate = async () => ({quota: 2e6, usage: 0});\n" + app.worker
        app.release(1, add={f"large{i}.bin": random.Random(i).randbytes(900_000) for i in range(6)})
        tab = app.tab()
        tab.session.send("Storage.overrideQuotaForOrigin", origin=app.web.url, quotaSize=2_000_000)
        bench.proxy.forget()
        tab.open(app.base)
        until(lambda: tab.update() and tab.state()["version"] == "1", "the version", 20)
        for _ in range(3):
            tab.update()
            forward(bench, app, 40)
        state = tab.state()
        seen = len(bench.proxy.seen("large"))
        assert not app.web.seen("large") and (seen == 0 if tells else 1 <= seen <= 4), (seen, state)
        assert 4 <= state["held"] < state["listed"], state
        # The page that opened it comes under the worker, and opens offline.
        tab.until("navigator.serviceWorker.controller !== null")
        tab.open(app.base)
        assert tab.eval("fetch('large5.bin').then((r) => r.arrayBuffer()).then((b) => b.byteLength)") == 900_000
        opens(app, tab, 1)
        app.web.start()
        # With more room, the rest comes.
        tab.session.send("Storage.overrideQuotaForOrigin", origin=app.web.url)
        if tells:
            bench.worker(app).eval("StorageManager.prototype.estimate = async () => ({quota: 2e9, usage: 0}); true")
        forward(bench, app, 700)
        app.hold(tab)


@case("ranges of a large file: it is hashed once in a worker's life")
def _(bench):
    app = App(bench)
    tab = app.visited(add={"film.bin": random.Random(3).randbytes(12_000_000)})
    bench.stop_worker(tab)
    tab.eval("fetch('/wake')")
    worker = bench.worker(app)
    worker.eval("""self.hashed = 0; (() => { const { digest } = SubtleCrypto.prototype; SubtleCrypto.prototype.digest = function (name, bytes) {
      if (bytes.byteLength > 10e6) self.hashed += 1; return digest.call(this, name, bytes); }; })()""")
    ask = """Promise.all(Array.from({length: 8}, (_, i) => fetch('film.bin', {headers: {Range: `bytes=${i * 1000}-${i * 1000 + 9}`}})
      .then(async (r) => [r.status, (await r.arrayBuffer()).byteLength])))"""
    for _ in range(2):
        assert tab.eval(ask) == [[206, 10]] * 8
    assert worker.eval("self.hashed") == 1
    film = random.Random(3).randbytes(12_000_000)
    assert tab.eval("fetch('film.bin', {headers: {Range: 'bytes=11999990-'}}).then(async (r) => [...new Uint8Array(await r.arrayBuffer())])") == list(film[-10:])


@case("source maps come when they are asked for")
def _(bench):
    app = App(bench)
    app.release(1, add={"assets/app.js.map": filler("map").encode()})
    tab = app.tab()
    tab.open(app.base)
    until(lambda: tab.update() and (lambda state: state["version"] == "1" and state["held"] == state["listed"] - 1)(tab.state()), "all but the map")
    assert not bench.proxy.seen("app.js.map")
    tab.open(app.base)
    assert tab.fetch("assets/app.js.map")["status"] == 200
    app.web.stop()
    assert tab.fetch("assets/app.js.map")["status"] == 200


@case("what asks past all caches is told what the site has; offline it gets what is held")
def _(bench):
    app = App(bench)
    tab = app.visited(add={"version.json": b'{"version": 1}'})
    app.web.files["version.json"] = b'{"version": 2}'
    for mode in ("no-store", "no-cache", "reload"):
        assert tab.fetch("version.json", f"{{cache: '{mode}'}}")["text"] == '{"version": 2}', mode
    assert tab.fetch("version.json")["text"] == '{"version": 1}'
    app.web.stop()
    assert tab.fetch("version.json", "{cache: 'no-store'}")["text"] == '{"version": 1}'


@case("a page that stays open polls by itself")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.session.send("Page.addScriptToEvaluateOnNewDocument", source="""(() => { const every = setInterval;
      window.setInterval = (act, time, ...rest) => every(act, time >= 60000 ? 300 : time, ...rest); })()""")
    tab.open(app.base)
    tab.until("xcache.ready.then(() => true)")
    # Waits for the poll that follows each opening.
    time.sleep(4)
    bench.proxy.forget()
    forward(bench, app, 60)
    until(lambda: app.polls(), "a poll", seconds=20)
