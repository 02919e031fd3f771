"""Replacing and removing workers."""
import json

from bench import App, DIST, case, until
from servers import says
from steps import opens, new_worker, second, takes, looks_for_worker, until_gone, until_waiting, until_active, forward


@case("a newer worker waits until the pages of the older one are closed")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval("xcache.on('worker', () => { window.waiting = true; })")
    tab.mark()
    new_worker(app, b"self.marked = 2;\n")
    looks_for_worker(tab)
    tab.until("window.waiting")
    assert tab.eval("navigator.serviceWorker.getRegistration().then((r) => r.waiting !== null)") and tab.is_marked()
    # The older one ends with its last page.
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
    looks_for_worker(tab)
    until_waiting(tab)
    tab.mark()
    tab.eval("void xcache.reload('now')")
    tab.until("window.mark === undefined && window.version === 1")
    until_active(tab)
    assert bench.worker(app).eval("self.marked") == 3


@case("reload reaches every tab: those that nobody looks at, at once")
def _(bench):
    app = App(bench)
    tab = app.visited()
    other = app.tab()
    other.open(app.base)
    app.release(2)
    app.hold(tab)
    def shows(page, isHidden):
        page.eval("for (const [name, value] of Object.entries(%s)) Object.defineProperty(document, name, {value, configurable: true})"
                  % json.dumps({"hidden": isHidden, "visibilityState": "hidden" if isHidden else "visible"}))
    for page in (tab, other):
        page.mark()
        shows(page, page is other)
    tab.eval("void xcache.reload()")
    other.until("window.mark === undefined && window.version === 2")
    assert tab.is_marked(), "the page that is looked at is reloaded"
    shows(tab, True)
    tab.eval("void document.dispatchEvent(new Event('visibilitychange'))")
    tab.until("window.mark === undefined && window.version === 2")


@case("a worker that answers nothing is replaced from the server alone")
def _(bench):
    app = App(bench)
    app.worker = b"self.addEventListener('fetch', (e) => { if (e.request.url.includes('logo')) e.respondWith(new Promise(() => {})); });"
    app.release(1)
    tab = app.tab()
    tab.open(app.base)
    until_active(tab)
    tab.open(app.base + "help.html")
    assert tab.controlled()
    new_worker(app)
    looks_for_worker(tab)
    until_active(tab)
    assert tab.fetch("logo.svg")["status"] == 200
    tab.open(app.base)
    app.hold(tab)


@case("a worker with a syntax error leaves the one before in place")
def _(bench):
    app = App(bench)
    tab = app.visited()
    new_worker(app, b"this is no script;\n")
    looks_for_worker(tab)
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
    # The next valid one is installed.
    new_worker(app)
    tab.open(app.base)
    app.hold(tab)


@case("a worker whose second script is missing isn't installed, and the next visit takes it")
def _(bench):
    app = App(bench)
    app.release(1, extra="<script>console.warn = (...words) => { window.warned = words.join(' '); }</script>")
    packs = app.web.files.pop("xcache-sw-packs.js")
    tab = app.tab()
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.eval("xcache.ready.then((r) => r === undefined)")
    # The browser's console names the file.
    warned = tab.eval("window.warned")
    assert "xcache-sw-packs.js is 404" in warned, warned
    app.web.files["xcache-sw-packs.js"] = packs
    tab.open(app.base)
    app.hold(tab)


@case("the second script is kept with the worker: an update by a pack without the site, after the worker was stopped")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app)
    app.web.stop()
    bench.stop_worker(tab)
    takes(app, tab, "pack")


@case("a second script with a syntax error leaves the worker before in place")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.packs = b"this is no script;"
    new_worker(app, b"self.marked = 5;\n")
    looks_for_worker(tab)
    assert tab.state()["version"] == "1"
    second(bench, app)
    takes(app, tab, "pack")
    bench.only_one_worker(app)
    assert bench.worker(app).eval("self.marked") is None


@case("a second script that is new brings a new worker")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.packs += b"\nself.markedPacks = 2;"
    app.deploy(app.files(1))
    looks_for_worker(tab)
    until_waiting(tab)
    tab.open("about:blank")
    bench.only_one_worker(app)
    tab.open(app.base)
    second(bench, app)
    takes(app, tab, "pack")
    assert bench.worker(app).eval("self.markedPacks") == 2


@case("reload opens the page anew though the worker doesn't answer, and though the page never loaded")
def _(bench):
    app = App(bench)
    app.release(1, extra="<script>if (window.hangs) document.write('<img src=/hangs>')</script>")
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    bench.worker(app).eval("self.clients.matchAll = () => new Promise(() => {})")
    tab.mark()
    tab.eval("void xcache.reload('now')")
    tab.until("window.mark === undefined && window.version === 1")
    # An image that never loads delays the load event, and with it the registration.
    held = []

    def hangs(request):
        held.append(request)
        until(lambda: not app.web.routes, "the end of the case")
    app.web.routes["/hangs"] = hangs
    tab.session.send("Page.addScriptToEvaluateOnNewDocument", source="window.hangs = true")
    tab.session.send("Page.navigate", url=app.base)
    until(lambda: held, "the image")
    tab.until("window.hangs && window.xcache && document.readyState === 'interactive'")
    tab.mark()
    tab.eval("void xcache.reload('now')")
    tab.until("window.hangs && window.mark === undefined && window.xcache")
    app.web.routes = {}


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
    looks_for_worker(tab)
    tab.until("window.removed")
    tab.until("caches.keys().then((names) => names.length === 0)")
    until_gone(tab)
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
    looks_for_worker(tab)
    until_gone(tab)
    assert sorted(tab.eval("caches.keys()")) == ["theirs", "xcache other online /"]


@case("the page itself can remove the worker")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval("xcache.remove()")
    until_gone(tab)
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
    # Nothing polls until the clock is advanced.
    tab.fetch("nowhere.js")
    bench.proxy.forget()
    forward(bench, app, 130)

    def batch():
        tab.update()
        bodies = [json.loads(r.body) for r in bench.proxy.log if r.path.startswith(f"/report?app={app.app}&")]
        return next((b for b in bodies if "counts" in b), None)
    told = until(batch, "the batch")
    assert told["version"] == "1" and set(told) == {"counts", "version"}, told
    assert told["counts"]["local"] >= 5 and told["counts"]["passed"] >= 1, told
    # One report in two minutes; and none if the origin turns them off.
    forward(bench, app, 130)
    bench.proxy.rules = [("configure.json", says(reports=0))]
    bench.proxy.forget()
    tab.fetch("logo.svg")
    tab.update()
    tab.update()
    assert not [r for r in bench.proxy.log if f"app={app.app}&" in r.path and b"counts" in r.body]


@case("a Content-Security-Policy as strict as can be, for pages and worker: it is registered, and an update by a pack comes")
def _(bench):
    app = App(bench)
    app.web.headers = [("Content-Security-Policy", f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                        f"worker-src 'self'; connect-src 'self' {bench.origin.url}; "
                        "require-trusted-types-for 'script'; trusted-types xcache")]
    tab = app.visited()
    tab.open(app.base + "?xcache-debug=1")
    tab.until("document.getElementById('xcache-debug').textContent.includes('xcache 1 → 1 (origin)')")
    second(bench, app)
    takes(app, tab, "pack")
    opens(app, tab, 2)
