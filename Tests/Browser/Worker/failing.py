"""With any failure, pages get the network: damaged, wiped or full storage, hanging polls, broken browser APIs."""
import random

from bench import App, case, until
from steps import CACHE, forward, opens, looks_for_worker, until_waiting, until_active, from_the_site, lose


def uncached(app):
    """Keeps the site's files out of the browser's HTTP cache."""
    app.web.headers = [("Cache-Control", "no-store")]


@case("a damaged file in the cache: the page gets the right bytes, and the cache too")
def _(bench):
    app = App(bench)
    uncached(app)
    tab = app.visited()
    tab.eval(f"""(async () => {{ const c = await {CACHE};
      for (const k of await c.keys()) if (k.url.includes('logo.svg')) await c.put(k, new Response('damaged'));
    }})()""")
    bench.stop_worker(tab)
    app.web.stop()
    bench.proxy.forget()
    tab.open(app.base)
    assert tab.fetch("logo.svg")["text"].startswith("<svg")
    assert bench.proxy.seen("logo.svg")
    bench.proxy.stop()
    bench.stop_worker(tab)
    tab.open(app.base)
    assert tab.fetch("logo.svg")["text"].startswith("<svg")


@case("a damaged file, and nobody who has it: the page gets the site's")
def _(bench):
    app = App(bench)
    uncached(app)
    tab = app.visited()
    lose(tab, "logo.svg")
    bench.stop_worker(tab)
    bench.proxy.stop()
    # The site has a newer version.
    app.web.files["logo.svg"] = b"<svg>of the site</svg>"
    tab.open(app.base)
    assert tab.fetch("logo.svg")["text"] == "<svg>of the site</svg>"


@case("a listed file whose download answers with other bytes: the page gets the site's, the origin is told")
def _(bench):
    app = App(bench)
    uncached(app)
    tab = app.visited()
    lose(tab, "logo.svg")
    bench.stop_worker(tab)
    tab.open(app.base + "help.html")
    app.web.files["logo.svg"] = b"<svg>of the site</svg>"
    bench.proxy.rules = [("logo.svg", lambda request, proxy: request.answer(b"x" * 95, headers=[("Access-Control-Allow-Origin", "*")]))]
    assert tab.fetch("logo.svg")["text"] == "<svg>of the site</svg>"
    until(lambda: [r for r in bench.proxy.log if r.path.startswith("/report") and b"integrity" in r.body], "the report")


@case("the cache is wiped alone: pages open, and the next update makes it whole")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval("caches.keys().then((names) => Promise.all(names.map((name) => caches.delete(name))))")
    bench.stop_worker(tab)
    tab.open(app.base)
    tab.until("window.version === 1")
    tab.eval("caches.keys().then((names) => Promise.all(names.map((name) => caches.delete(name))))")
    bench.stop_worker(tab)
    app.hold(tab)
    bench.proxy.stop()
    opens(app, tab, 1)


@case("the database is wiped alone: pages open, and the next update brings it back without downloads")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval("""indexedDB.databases().then((all) => Promise.all(all.map(({name}) => new Promise((done) => {
      indexedDB.deleteDatabase(name).onsuccess = done; }))))""")
    bench.stop_worker(tab)
    tab.open(app.base)
    tab.until("window.version === 1")
    bench.proxy.forget()
    app.hold(tab)
    assert bench.proxy.seen("logo.svg") == [], "what is held is fetched again"
    opens(app, tab, 1)


@case("the registration is wiped alone: the next visit registers anew, and has everything")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval("navigator.serviceWorker.getRegistration().then((r) => r.unregister())")
    tab.open("about:blank")
    tab.open(app.base)
    assert not tab.controlled()
    bench.proxy.forget()
    app.hold(tab)
    assert bench.proxy.seen("logo.svg") == []
    opens(app, tab, 1)


@case("everything is wiped, as Safari does after seven days")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.session.send("Storage.clearDataForOrigin", origin=app.web.url, storageTypes="all")
    tab.open("about:blank")
    tab.open(app.base)
    tab.until("window.version === 1")
    assert not tab.controlled()
    app.hold(tab)
    opens(app, tab, 1)


@case("Clear-Site-Data takes all of it, and the next visit is a first one")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.web.routes["/logout"] = lambda request: request.answer(
        b"<!doctype html><title>out</title>", "text/html", headers=[("Clear-Site-Data", '"storage"')])
    tab.open(app.base + "logout")
    assert tab.eval("caches.keys()") == []
    tab.open(app.base)
    tab.until("window.version === 1")
    app.hold(tab)
    opens(app, tab, 1)


@case("a full quota: the update fails, the origin is told, the page stays what it was")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2, add={"large.bin": random.Random(1).randbytes(3_000_000)})
    used = tab.eval("xcache.estimate().then(({usage}) => usage)")
    tab.session.send("Storage.overrideQuotaForOrigin", origin=app.web.url, quotaSize=used + 200_000)
    report = tab.update()
    assert report["kind"] == "failed" and tab.state()["version"] == "1", report
    until(lambda: [r for r in bench.proxy.log if r.path.startswith("/report") and b"storage" in r.body], "the report")
    opens(app, tab, 1)
    tab.session.send("Storage.overrideQuotaForOrigin", origin=app.web.url)
    forward(bench, app, 700)
    app.hold(tab)


@case("a disk limit: what it has no room for comes when a page asks")
def _(bench):
    app = App(bench, limit=250_000)
    app.release(1, add={f"large{i}.bin": random.Random(i).randbytes(100_000) for i in range(4)})
    tab = app.tab()
    tab.open(app.base)
    until(lambda: tab.update() and tab.state()["version"] == "1", "the version")
    state = tab.state()
    assert state["held"] < state["listed"], state
    tab.open(app.base)
    app.web.stop()
    for i in range(4):
        assert tab.eval(f"fetch('large{i}.bin').then((r) => r.arrayBuffer()).then((b) => b.byteLength)") == 100_000
    tab.update()
    used = tab.eval(f"""(async () => {{ const c = await {CACHE}; let n = 0;
      for (const k of await c.keys()) n += (await (await c.match(k)).blob()).size; return n; }})()""")
    assert used <= 250_000, used


def broken(bench, script):
    """A page whose worker has a broken browser API, installed by a script."""
    app = App(bench, patience=200)
    tab = app.visited()
    bench.stop_worker(tab)
    tab.eval("fetch('/wake')")
    bench.worker(app).eval(script)
    from_the_site(app, (b"version 1", b"from the site"))
    tab.open(app.base)
    assert tab.title() == "from the site"
    return app, tab


@case("a cache that throws: the page gets the network")
def _(bench):
    broken(bench, "Cache.prototype.match = () => { throw new Error('broken'); }; CacheStorage.prototype.open = CacheStorage.prototype.match = Cache.prototype.match;")


@case("a cache that never answers: the page gets the network, after the time limit")
def _(bench):
    app, tab = broken(bench, "CacheStorage.prototype.open = CacheStorage.prototype.match = () => new Promise(() => {});")
    assert tab.fetch("help.html")["status"] == 200


@case("a database that can't be opened: the page gets the network")
def _(bench):
    app = App(bench)
    tab = app.visited()
    own = app.worker
    app.worker = b"IDBFactory.prototype.open = () => { throw new Error('broken'); };\n" + own
    app.deploy(app.files(1))
    looks_for_worker(tab)
    until_waiting(tab)
    tab.open("about:blank")
    bench.only_one_worker(app)
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.controlled()


@case("a database that never opens: the page gets the network, after the time limit")
def _(bench):
    app = App(bench, patience=200)
    app.worker = b"IDBFactory.prototype.open = () => ({});\n" + app.worker
    app.release(1)
    tab = app.tab()
    tab.open(app.base)
    until_active(tab)
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.controlled()


@case("a poll that hangs keeps no page")
def _(bench):
    app = App(bench)
    tab = app.visited()
    held = []

    def hangs(request, proxy):
        held.append(request)
        until(lambda: not bench.proxy.rules, "the end of the rule")
    bench.proxy.rules = [("configure.json", hangs)]
    tab.eval("void xcache.update({force: true})")
    until(lambda: held, "the poll")
    opens(app, tab, 1)
    bench.proxy.rules = []


@case("an origin that answers nonsense")
def _(bench):
    app = App(bench)
    tab = app.visited()
    for body in (b"", b"<html>", b"[]", b'{"code":200}', b'{"code":200,"data":{"update":true,"version":"2"}}',
                 b'{"code":200,"data":{"digest":"' + b"0" * 64 + b'","update":true,"version":"2","resourcemap":{"__proto__":{}}}}',
                 b'{"code":200,"data":{"update":true,"version":2,"resourcemap":{}}}'):
        bench.proxy.rules = [("configure.json", lambda request, proxy: request.answer(
            body, "application/json", headers=[("Access-Control-Allow-Origin", "*")]))]
        report = tab.update()
        assert report["kind"] == "failed", (body, report)
    opens(app, tab, 1)


@case("a cache that never answers, and no network: the request ends")
def _(bench):
    app = App(bench, patience=200)
    tab = app.visited()
    bench.worker(app).eval("CacheStorage.prototype.open = CacheStorage.prototype.match = () => new Promise(() => {});")
    app.web.stop()
    # Neither the site nor the download has it.
    bench.proxy.stop()
    assert "error" in tab.fetch("help.html")


@case("a file above the disk limit is the site's, and isn't fetched beside it")
def _(bench):
    app = App(bench, limit=250_000)
    app.release(1, add={"large.bin": random.Random(5).randbytes(300_000)})
    tab = app.tab()
    tab.open(app.base)
    until(lambda: tab.update() and tab.state()["version"] == "1", "the version")
    tab.open(app.base)
    app.web.forget()
    bench.proxy.forget()
    for _ in range(2):
        assert tab.eval("fetch('large.bin').then((r) => r.arrayBuffer()).then((b) => b.byteLength)") == 300_000
    assert len(app.web.seen("large.bin")) == 2 and not bench.proxy.seen("large.bin")
