"""What lives on: open pages while releases pass them by, and workers while others take their place."""
import json

from bench import DIST, App, case, until
from failing import CACHE
from servers import says
from updates import opens, second, takes


@case("a page of version A, with B and C published and A's files gone from the site: its lazy chunks load")
def _(bench):
    app = App(bench)
    tab = app.visited(1)
    for version in (2, 3):
        second(bench, app, version)
        takes(app, tab, "pack")
    lazy = next(name for name in app.files(1) if "lazy" in name)
    assert lazy not in app.web.files
    assert tab.state()["aside"] > 0
    assert tab.eval("lazy()") == "lazy 1"


@case("the same, after the worker was stopped meanwhile")
def _(bench):
    app = App(bench)
    tab = app.visited(1)
    second(bench, app, 2)
    takes(app, tab, "pack")
    bench.stop_worker(tab)
    second(bench, app, 3)
    takes(app, tab, "pack")
    bench.stop_worker(tab)
    assert tab.eval("lazy()") == "lazy 1"


@case("the same for a page that the network answered while the worker looked on")
def _(bench):
    app = App(bench)
    app.visited(1)
    app.web.files["late.html"] = app.web.files["index.html"]
    tab = app.tab()
    tab.open(app.base + "late.html")
    tab.until("window.version === 1")
    app.release(2)
    app.hold(tab)
    assert tab.eval("lazy()") == "lazy 1"


@case("pages opened later get nothing that was set aside")
def _(bench):
    app = App(bench)
    tab = app.visited(1)
    second(bench, app, 2)
    takes(app, tab, "pack")
    tab.open(app.base)
    lazy = next(name for name in app.files(1) if "lazy" in name)
    assert tab.fetch(lazy)["status"] == 404


@case("an open page gets the files of its own version, not of one between")
def _(bench):
    app = App(bench)
    tab = app.visited(1, add={"gone.txt": b"of version 1"})
    app.release(2, add={"gone.txt": b"of version 2"})
    app.hold(tab)
    app.release(3)
    app.hold(tab)
    assert tab.fetch("gone.txt")["text"] == "of version 1"


@case("a rollback ends what was set aside for open pages")
def _(bench):
    app = App(bench)
    app.visited(1)
    second(bench, app, 2)
    tab = app.tab()
    tab.open(app.base)
    takes(app, tab, "pack")
    tab.open(app.base)
    assert tab.state()["page"] == "2"
    bench.origin.run("rollback", "--app", app.app, "--all-bundles", "--steps", "1")
    app.version = bench.origin.answer(app.app)["version"]
    app.hold(tab)
    lazy = next(name for name in app.files(2) if "lazy" in name)
    app.deploy(app.files(1))
    assert tab.fetch(lazy)["status"] == 404


@case("a page gets nothing that came after it was opened, and is gone again")
def _(bench):
    app = App(bench)
    tab = app.visited(1)
    app.release(2, add={"between.txt": b"of version 2"})
    app.hold(tab)
    app.release(3)
    app.hold(tab)
    assert tab.state()["aside"] > 0 and tab.fetch("between.txt")["status"] == 404


@case("without a rollback on its way, going down serves open pages on")
def _(bench):
    app = App(bench)
    tab = app.visited(1)
    second(bench, app, 2)
    takes(app, tab, "pack")
    tab.open(app.base)
    app.release(3)
    bench.proxy.rules = [("configure.json", says(rollback="1"))]
    app.hold(tab)
    assert tab.eval("lazy()") == "lazy 2"


@case("the kill switch and a bypass end what was set aside")
def _(bench):
    app = App(bench)
    tab = app.visited(1)
    second(bench, app, 2)
    takes(app, tab, "pack")
    lazy = next(name for name in app.files(1) if "lazy" in name)
    assert tab.fetch(lazy)["status"] == 200
    bench.proxy.rules = [("policy.json", says(bypass=[app.base + "*"], version="5")), ("configure.json", says(policy="5"))]
    tab.update()
    assert tab.fetch(lazy)["status"] == 404
    bench.proxy.rules = [("policy.json", says(intercept=False, until="2100-01-01T00:00:00Z", version="6")), ("configure.json", says(policy="6"))]
    tab.update()
    assert tab.fetch(lazy)["status"] == 404 and tab.state()["aside"] == 0


@case("a day after the switch what was set aside is dropped")
def _(bench):
    app = App(bench)
    tab = app.visited(1)
    second(bench, app, 2)
    takes(app, tab, "pack")
    lazy = next(name for name in app.files(1) if "lazy" in name)
    assert tab.fetch(lazy)["status"] == 200
    bench.worker(app).eval("(() => { const now = Date.now; Date.now = () => now() + 25 * 3600e3; })()")
    assert tab.fetch(lazy)["status"] == 404
    tab.update()
    files = tab.eval(f"(async () => (await (await {CACHE}).keys()).map((k) => k.url))()")
    assert not [url for url in files if lazy.split("/")[1] in url] and tab.state()["aside"] == 0


# -- Workers


def new_worker(app, text=b"", settings=None):
    """Puts another worker on the site."""
    app.worker = text + (DIST / "xcache-sw.js").read_bytes()
    app.settings.update(settings or {})
    app.deploy(app.files(1))


@case("a newer worker waits until the pages of the older one are closed")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval("xcache.on('worker', () => { window.waiting = true; })")
    tab.mark()
    new_worker(app, b"self.marked = 2;\n")
    tab.eval("navigator.serviceWorker.getRegistration().then((r) => r.update())")
    tab.until("window.waiting")
    assert tab.eval("navigator.serviceWorker.getRegistration().then((r) => r.waiting !== null)") and tab.is_marked()
    # With its last page the older one goes.
    tab.open("about:blank")
    bench.only_one_worker(app)
    tab.open(app.base)
    assert bench.worker(app).eval("self.marked") == 2
    opens(app, tab, 1)


@case("a newer worker takes over at a good moment: xcache.reload")
def _(bench):
    app = App(bench)
    tab = app.visited()
    new_worker(app, b"self.marked = 3;\n")
    tab.eval("navigator.serviceWorker.getRegistration().then((r) => r.update())")
    tab.until("navigator.serviceWorker.getRegistration().then((r) => r.waiting !== null)")
    tab.mark()
    tab.eval("void xcache.reload('now')")
    tab.until("window.mark === undefined && window.version === 1")
    tab.until("navigator.serviceWorker.getRegistration().then((r) => r.waiting === null && r.active.state === 'activated')")
    assert bench.worker(app).eval("self.marked") == 3


@case("reload reaches every tab: those that nobody looks at, at once")
def _(bench):
    app = App(bench)
    tab = app.visited()
    other = app.tab()
    other.open(app.base)
    app.release(2)
    app.hold(tab)
    for page, state in ((tab, "visible"), (other, "hidden")):
        page.mark()
        page.eval(f"Object.defineProperty(document, 'visibilityState', {{value: '{state}', configurable: true}})")
    tab.eval("void xcache.reload()")
    other.until("window.mark === undefined && window.version === 2")
    assert tab.is_marked(), "the page that is looked at is reloaded"
    tab.eval("Object.defineProperty(document, 'visibilityState', {value: 'hidden'}); document.dispatchEvent(new Event('visibilitychange'))")
    tab.until("window.mark === undefined && window.version === 2")


@case("a worker that answers nothing is replaced from the server alone")
def _(bench):
    app = App(bench)
    app.worker = b"self.addEventListener('fetch', (e) => { if (e.request.url.includes('logo')) e.respondWith(new Promise(() => {})); });"
    app.release(1)
    tab = app.tab()
    tab.open(app.base)
    tab.until("navigator.serviceWorker.getRegistration().then((r) => r?.active?.state === 'activated')")
    tab.open(app.base + "help.html")
    assert tab.controlled()
    new_worker(app)
    # What browsers do by themselves after navigations.
    tab.eval("navigator.serviceWorker.getRegistration().then((r) => r.update())")
    tab.until("navigator.serviceWorker.getRegistration().then((r) => r.waiting === null && r.installing === null && r.active.state === 'activated')")
    assert tab.fetch("logo.svg")["status"] == 200
    tab.open(app.base)
    app.hold(tab)


@case("a worker with a syntax error leaves the one before in place")
def _(bench):
    app = App(bench)
    tab = app.visited()
    new_worker(app, b"this is no script;\n")
    tab.eval("navigator.serviceWorker.getRegistration().then((r) => r.update()).catch(() => {})")
    assert tab.state()["version"] == "1"
    opens(app, tab, 1)


@case("a first worker with a syntax error costs no page")
def _(bench):
    app = App(bench)
    app.worker = b"this is no script;\n"
    app.release(1)
    tab = app.tab()
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.eval("xcache.ready.then((r) => r === undefined)")
    # And the next one that is right is taken.
    new_worker(app)
    tab.open(app.base)
    app.hold(tab)


@case("a worker of somebody else at the scope isn't pushed aside under its pages")
def _(bench):
    app = App(bench)
    app.page_settings = {"worker": "xcache-sw.js"}
    app.release(1)
    app.web.files["other.html"] = b"<!doctype html><title>other</title>"
    app.web.files["theirs.js"] = b"self.addEventListener('fetch', () => {});"
    tab = app.tab()
    tab.open(app.base + "other.html")
    tab.eval("navigator.serviceWorker.register('theirs.js').then(() => navigator.serviceWorker.ready).then(() => true)")
    tab.open(app.base)
    tab.until("navigator.serviceWorker.getRegistration().then((r) => r.waiting?.scriptURL.endsWith('xcache-sw.js'))")
    assert tab.eval("navigator.serviceWorker.controller.scriptURL").endswith("theirs.js")


@case("the worker that removes takes over at once, empties the caches and is gone")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.worker = (DIST / "xcache-remove.js").read_bytes()
    app.deploy(app.files(1))
    tab.eval("xcache.on('removed', () => { window.removed = true; })")
    tab.eval("navigator.serviceWorker.getRegistration().then((r) => r.update()).catch(() => {})")
    tab.until("window.removed")
    tab.until("caches.keys().then((names) => names.length === 0)")
    tab.until("navigator.serviceWorker.getRegistration().then((r) => r === undefined)")
    tab.until("indexedDB.databases().then((all) => all.length === 0)")
    app.web.forget()
    tab.open(app.base)
    tab.until("window.version === 1")
    assert not tab.controlled() and app.web.seen("/")


@case("the worker that removes leaves the caches of others alone")
def _(bench):
    app = App(bench, "/shop/")
    tab = app.visited()
    tab.eval("caches.open('theirs').then(() => caches.open('xcache other online /'))")
    app.worker = (DIST / "xcache-remove.js").read_bytes()
    app.deploy(app.files(1))
    tab.eval("navigator.serviceWorker.getRegistration().then((r) => r.update()).catch(() => {})")
    tab.until("navigator.serviceWorker.getRegistration().then((r) => r === undefined)")
    assert sorted(tab.eval("caches.keys()")) == ["theirs", "xcache other online /"]


@case("the page itself can remove the worker")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval("xcache.remove()")
    tab.until("navigator.serviceWorker.getRegistration().then((r) => r === undefined)")
    assert tab.eval("caches.keys()") == []


@case("a page without its worker's file is a page")
def _(bench):
    app = App(bench)
    app.release(1)
    del app.web.files["xcache-sw.js"]
    tab = app.tab()
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.eval("xcache.ready.then((r) => r === undefined)")
    assert tab.eval("xcache.update().then((r) => r === undefined)")


@case("the origin is told what happened, in numbers alone")
def _(bench):
    app = App(bench)
    tab = app.visited()
    # Nothing polls until the clock is put forward.
    tab.fetch("nowhere.js")
    bench.proxy.forget()
    bench.worker(app).eval("(() => { const now = Date.now; Date.now = () => now() + 130000; })()")

    def batch():
        tab.update()
        bodies = [json.loads(r.body) for r in bench.proxy.log if r.path.startswith(f"/report?app={app.app}&")]
        return next((b for b in bodies if "counts" in b), None)
    told = until(batch, "the batch")
    assert told["version"] == "1" and set(told) == {"counts", "version"}, told
    assert told["counts"]["local"] >= 5 and told["counts"]["passed"] >= 1, told
    # One in two minutes; and where the origin asks for none, none.
    bench.worker(app).eval("(() => { const now = Date.now; Date.now = () => now() + 130000; })()")
    bench.proxy.rules = [("configure.json", says(reports=0))]
    bench.proxy.forget()
    tab.fetch("logo.svg")
    tab.update()
    tab.update()
    assert not [r for r in bench.proxy.log if f"app={app.app}&" in r.path and b"counts" in r.body]
