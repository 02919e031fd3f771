"""Attacks: nested apps, hanging third-party scripts, interrupted work, endless answers."""
import json, random, time

from bench import App, case, until
from servers import says
from steps import CACHE, KEPT, forward, from_the_site, looks_for_worker, lose, new_worker, policy, second, takes, until_gone, until_waiting

WORKERS = "navigator.serviceWorker.getRegistrations().then((all) => all.map((r) => r.active?.scriptURL).sort())"
COUNTS = """for (const name of ['removed', 'updated']) { window[name] = 0; xcache.on(name, () => { window[name] += 1; }); } true"""


def one_below_the_other(bench):
    """Two apps, one in a folder of the other, each with its page."""
    root = App(bench)
    shop = App(bench, "/shop/", web=root.web)
    tabs = []
    for app in (root, shop):
        app.release(1)
        tab = app.tab()
        tab.open(app.base)
        app.hold(tab)
        tabs.append(tab)
    return root, shop, *tabs


@case("an app in a folder of another one's: what its pages ask never reaches the other one's worker")
def _(bench):
    root, shop, above, below = one_below_the_other(bench)
    new_worker(root, b"self.marked = 6;\n")
    looks_for_worker(above)
    until_waiting(above)
    shop.deploy(shop.files(1))
    below.eval("xcache.remove()")
    assert below.eval(WORKERS) == [f"{root.base}xcache-sw.js"]
    bench.proxy.forget()
    for page in (0, 1):
        asked = "Promise.all([xcache.state(), xcache.update({force: true}), xcache.remove()]).then((all) => all.every((a) => a === undefined))"
        assert below.eval(asked)
        below.eval("xcache.reload()")
        if page == 0:
            below.open(shop.base)
    assert below.eval(WORKERS) == [f"{root.base}xcache-sw.js"] and not root.polls()
    assert above.state()["version"] == root.version
    assert above.eval("navigator.serviceWorker.getRegistration('/').then((r) => r.waiting !== null)"), "the other one's worker was let in"


def in_order(app):
    """Makes the app's pages load the script without defer or async."""
    files = app.files
    app.files = lambda version, **more: {name: file.replace(b'xcache.js" defer', b'xcache.js"') for name, file in files(version, **more).items()}
    return app


def with_foreign_script(bench):
    app = in_order(App(bench))
    third = bench.web()
    third.files["lib.js"] = b"window.third = { go() {} };"
    script = f'<script src="{third.url.replace("127.0.0.1", "localhost")}/lib.js"></script><script>third.go()</script>'
    return app, third, app.visited(1, extra=script)


@case("a page with a script of another host opens without a network, as often as it is opened")
def _(bench):
    app, third, tab = with_foreign_script(bench)
    for web in (app.web, third):
        web.stop()
    for _ in range(4):
        tab.open(app.base)
        tab.until("window.version === 1")
    # Only the app's host is up; the worker doesn't see requests to the other one.
    app.web.start()
    from_the_site(app, (b"version 1", b"from the site"))
    tab.open(app.base)
    assert tab.title() == "version 1"


@case("a script of another host that hangs is no failure of the page")
def _(bench):
    app, third, tab = with_foreign_script(bench)

    def hangs(request):
        until(lambda: not third.routes, "the end of the case", seconds=60)
    third.routes["/lib.js"] = hangs
    # Shortens the page's timeout of 15 seconds.
    tab.session.send("Page.addScriptToEvaluateOnNewDocument", source="""(() => { const wait = setTimeout;
      window.setTimeout = (act, time, ...more) => wait(act, time >= 10000 ? time / 10 : time, ...more); })()""")
    tab.session.send("Page.navigate", url=app.base)
    tab.until("document.title === 'version 1' && document.readyState === 'loading'")
    # The page reports it before its failure would count.
    tab.until(KEPT % ("pages", "[...kept.values()].at(-1).isOver === true"))
    third.routes = {}
    forward(bench, app, 25)
    tab.open(app.base)
    assert tab.eval(KEPT % ("health", "!kept || kept.size === 0")) and tab.title() == "version 1"


@case("a deferred script of another host that hangs is no failure of the page, wherever it stands; one of the page's own is")
def _(bench):
    for own in (False, True):
        app = App(bench)
        third = bench.web()
        third.files["lib.js"] = b""
        foreign = third.url.replace("127.0.0.1", "localhost") + "/lib.js"
        # Placed before one of the page's own scripts, which it blocks.
        extra = f'<script defer src="{"/late.js" if own else foreign}"></script><script defer src="/after.js"></script>'
        tab = app.visited(1, extra=extra, add={"after.js": b"void 0"})
        hanging = app.web if own else third

        def hangs(request, hanging=hanging):
            until(lambda: not hanging.routes, "the end of the case", seconds=90)
        hanging.routes["/late.js" if own else "/lib.js"] = hangs
        if own:
            # From here on it is listed, and its download hangs.
            app.release(2, add={"after.js": b"void 0", "late.js": b"own"}, extra=extra)
            app.hold(tab)
            lose(tab, "late.js")
            bench.stop_worker(tab)
            bench.proxy.rules = [("late.js", lambda request, proxy: until(lambda: not bench.proxy.rules, "the end of the case", seconds=90))]
        title = f"version {2 if own else 1}"
        tab.session.send("Page.navigate", url=app.base)
        tab.until(f"document.title === '{title}' && document.readyState === 'interactive' && performance.now() > 16000")
        over = tab.eval(KEPT % ("pages", "[...kept.values()].at(-1).isOver === true"))
        assert over is not own, "it says nothing" if not own else "it says that it was cut off"
        forward(bench, app, 25)
        hanging.routes = {}
        bench.proxy.rules = []
        tab.open(app.base)
        failed = tab.eval(KEPT % ("health", "kept?.size ?? 0"))
        assert failed == own, (own, failed)


@case("a stylesheet of another host that hangs is no failure of the page")
def _(bench):
    app, third = App(bench), bench.web()

    def hangs(request):
        until(lambda: not third.routes, "the end of the case", seconds=60)
    third.files["font.css"] = b""
    link = f'<link rel="stylesheet" href="{third.url.replace("127.0.0.1", "localhost")}/font.css"><script>1</script>'
    tab = app.visited(1, extra=link)
    third.routes["/font.css"] = hangs
    tab.session.send("Page.navigate", url=app.base)
    tab.until("document.title === 'version 1' && document.readyState === 'loading'")
    # The deferred script waits for it, too, so that no failure is counted.
    forward(bench, app, 25)
    third.routes = {}
    tab.open(app.base)
    assert tab.eval(KEPT % ("health", "!kept || kept.size === 0")) and tab.title() == "version 1"


@case("answers of an origin that are of no use count as failures: too deep, another version's nothing, a byte now and then")
def _(bench):
    app = App(bench)
    tab = app.visited()
    lies = ({"update": True, "version": "9", "base": "1", "digest": "0" * 64, "patch": {app.base + "logo.svg": "deep"}},
            {"update": False, "version": "9"})
    for number, lie in enumerate(lies, 1):
        answer = json.dumps({"code": 200, "data": {"name": "configure", **lie}}).replace('"deep"', '{"x":' * 3000 + "1" + "}" * 3000).encode()
        bench.proxy.rules = [("configure.json", lambda request, proxy: request.answer(
            answer, "application/json", headers=[("Access-Control-Allow-Origin", "*")]))]
        assert tab.update()["kind"] == "failed", lie
        assert tab.state()["failures"] == number, lie

    def drips(request, proxy):
        request.send_response(200)
        for name, value in (("Content-Type", "application/json"), ("Content-Length", "1000"), ("Access-Control-Allow-Origin", "*")):
            request.send_header(name, value)
        request.end_headers()
        for _ in range(100):
            request.wfile.write(b" ")
            request.wfile.flush()
            time.sleep(0.3)
    # Speeds up the clock, for a timeout of one minute.
    bench.worker(app).eval("(() => { const now = performance.now.bind(performance), t = now(); performance.now = () => t + 100 * (now() - t); })()")
    bench.proxy.rules = [("configure.json", drips)]
    assert tab.update()["kind"] == "failed"
    assert tab.state()["failures"] == 3


@case("a page that failed twice opens from the store where the network has no answer, and once it comes up there as before")
def _(bench):
    app = App(bench)
    tab = app.visited(1, extra='<script type="module">if (localStorage.fails) throw new Error("of this browser")</script>')
    from_the_site(app, (b"version 1", b"from the site"))
    tab.eval("localStorage.fails = 1")
    for title in ("version 1", "version 1", "from the site"):
        tab.open(app.base)
        assert tab.title() == title, title
    app.web.stop()
    tab.open(app.base)
    tab.until("document.title === 'version 1' && window.version === 1")
    assert tab.eval("lazy()") == "lazy 1"
    app.web.start()
    tab.eval("delete localStorage.fails")
    for _ in range(2):
        tab.open(app.base)
        assert tab.title() == "from the site"
        tab.until("xcache.ready.then(() => true)")
    forward(bench, app, 3700)
    for _ in range(2):
        tab.open(app.base)
        assert tab.title() == "version 1"
        tab.state()


def first_visit(bench):
    """A page loaded from the network, and a worker with all files."""
    app = App(bench)
    app.release(1)
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.eval(COUNTS)
    return app, tab


def stays_away(app, tab):
    """Opens the page three times: no worker is requested, and nothing polls."""
    app.web.forget()
    app.bench.proxy.forget()
    for _ in range(3):
        tab.open(app.base)
        assert tab.eval("xcache.ready.then((r) => r === undefined)")
    assert not app.web.seen("xcache-sw") and not app.polls()


@case("a page of a first visit removes the worker: that ends, is told once, and lasts")
def _(bench):
    app, tab = first_visit(bench)
    tab.eval("xcache.remove()", timeout=30)
    until_gone(tab)
    assert tab.eval("caches.keys()") == [] and tab.eval("window.removed") == 1
    stays_away(app, tab)
    assert tab.eval("indexedDB.databases()") == []


@case("a worker that doesn't answer is removed all the same")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval("window.wait = setTimeout; window.setTimeout = (call, time, ...more) => wait(call, time / 20, ...more); true")
    bench.worker(app).eval("self.addEventListener('message', (e) => e.stopImmediatePropagation()); MessagePort.prototype.postMessage = () => {}")
    tab.eval("xcache.remove()", timeout=30)
    until_gone(tab)


@case("many who wait for one update, or one end, are told of it once")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval(COUNTS)
    app.release(2)
    kinds = "Promise.all(Array.from({length: 5}, () => xcache.update(%s))).then((all) => all.map(({kind}) => kind))"
    until(lambda: tab.update()["to"] == "2" or tab.state()["version"] == "2", "the version")
    app.release(3)
    forward(bench, app, 100)
    tab.eval(kinds % "")
    tab.until("xcache.state().then((state) => state.version === '3')")
    assert tab.eval("window.updated") == 2, tab.eval("window.updated")
    tab.eval("Promise.all(Array.from({length: 5}, () => xcache.remove()))")
    until_gone(tab)
    assert tab.eval("window.removed") == 1


@case("an answer with a pack that nobody asked for is refused, and isn't asked for without end")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2)
    bench.proxy.forget()
    pack = {"download": bench.origin.url + "/nothing.xpk", "size": 10}
    bench.proxy.rules = [("configure.json", says(pack=pack, base="99", patch=None, resourcemap=None, update=True))]
    report = tab.eval("xcache.update({force: true})", timeout=30)
    assert report["kind"] == "failed" and len(app.polls()) == 2, (report, len(app.polls()))
    assert tab.state()["failures"] == 1
    bench.proxy.rules = []
    app.hold(tab)


@case("with a small limit an update drops nothing that pages use for what nobody asked for")
def _(bench):
    app = App(bench, limit=300_000)
    tab = app.visited(1)
    tab.eval("lazy()")
    files = app.files(1)
    lots = random.Random(2)
    pictures = {f"picture{i}.bin": lots.randbytes(90_000) for i in range(4)}
    for words in ((), ("--now",)):
        app.release(1, *words, add=pictures)
        until(lambda: tab.update() and tab.state()["version"] == app.version, "the version")
        pictures["picture4.bin"] = lots.randbytes(90_000)
    tab.update()
    held = tab.eval(f"(async () => (await (await {CACHE}).keys()).map((k) => decodeURIComponent(decodeURIComponent(k.url))))()")
    for name in files:
        if name not in ("help.html", "index.html"):
            assert [url for url in held if url.endswith(name)], (name, held)
    app.web.stop()
    bench.proxy.stop()
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.eval("lazy()") == "lazy 1"


@case("a database of the right name and another shape is made anew")
def _(bench):
    for version in (2, 1):
        app = App(bench)
        tab = app.visited()
        app.web.files["plain.html"] = b"<!doctype html><title>plain</title>"
        tab.open(app.base + "plain.html")
        bench.stop_worker(tab)
        tab.eval(f"""(async () => {{ const [{{ name }}] = await indexedDB.databases();
          const done = (request) => new Promise((end, fail) => {{ request.onsuccess = () => end(request.result); request.onerror = fail; }});
          await done(indexedDB.deleteDatabase(name));
          (await done(indexedDB.open(name, {version}))).close(); return true; }})()""")
        # A message from the page may have restarted it with the old state in memory.
        bench.stop_worker(tab)
        tab.open(app.base)
        app.hold(tab)
        bench.stop_worker(tab)
        tab.open(app.base)
        assert tab.state()["version"] == app.version, version


@case("a pack in whose middle the worker is ended twice isn't begun a third time; who waits for the update isn't kept")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app, 2, add={"large.bin": random.Random(1).randbytes(1_000_000)})
    begun = []

    def halves(request, proxy):
        begun.append(request.path)
        status, headers, body = proxy.fetch(request)
        request.send_response(status)
        for name, value in headers:
            if name.lower() != "content-length":
                request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[:len(body) // 2])
        request.wfile.flush()
        until(lambda: not bench.proxy.rules, "the end of the rule")
    bench.proxy.rules = [(".xpk", halves)]
    # Shortens the page's timeouts.
    tab.eval("window.wait = setTimeout; window.setTimeout = (call, time, ...more) => wait(call, time / 100, ...more); true")
    for count in (1, 2):
        tab.eval("window.over = false; void xcache.update({force: true}).then(() => { window.over = true; })")
        until(lambda: len(begun) == count, "the pack")
        bench.stop_worker(tab)
        tab.until("window.over", seconds=30)
    tab.eval("window.setTimeout = wait; true")
    takes(app, tab, "patch")
    assert len(begun) == 2
    bench.proxy.rules = []
    second(bench, app, 3)
    takes(app, tab, "pack")


@case("an update that nobody answers ends for the page at its time limit")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval("window.wait = setTimeout; window.setTimeout = (call, time, ...more) => wait(call, time / 100, ...more); true")
    bench.worker(app).eval("MessagePort.prototype.postMessage = () => {}")
    assert tab.eval("xcache.update().then((report) => report === undefined)", timeout=30)


@case("a metered line: what was set aside a day ago is dropped there, too")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app)
    takes(app, tab, "pack")
    assert tab.state()["aside"] > 0
    # A page that is open keeps what is its version's.
    tab.open(app.base)
    forward(bench, app, 25 * 3600)
    tab.update(metered=True)
    assert tab.state()["aside"] == 0


@case("the overlay says why there is no worker")
def _(bench):
    app = App(bench)
    app.release(1)
    worker = app.web.files.pop("xcache-sw.js")
    tab = app.tab()
    says = "document.getElementById('xcache-debug')?.textContent.includes('%s')"
    tab.open(app.base + "?xcache-debug=1")
    tab.until(says % "no worker (refused")
    app.web.files["xcache-sw.js"] = worker
    tab.open(app.base + "?xcache-debug=1")
    tab.until(says % "xcache ")
    tab.until("xcache.ready.then(() => true)")
    tab.eval("xcache.remove()")
    tab.until(says % "no worker (removed)")
