"""A site's own worker that imports the runtime's, and controls its own life cycle; and removal of stored data."""
from bench import App, DIST, case, until
from servers import says
from steps import REGISTRATION, looks_for_worker, until_active, until_gone, until_waiting

STORES = "(async () => [...await caches.keys(), ...(await indexedDB.databases()).map(({name}) => name)])()"
IMPORT = b"importScripts('xcache-sw.js');\n"
OWN = b"""self.addEventListener('message', (e) => e.data === 'own' && e.source.postMessage('mine'));
self.addEventListener('fetch', (e) => { if (e.request.method === 'PUT') e.respondWith(new Response('put by our own')); });"""


def importing(bench, own=IMPORT + OWN):
    """A page controlled by its site's own worker, which imports the runtime's."""
    app = App(bench)
    app.page_settings = {"worker": "sw.js"}
    app.release(1, add={"sw.js": own})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    assert tab.controlled()
    return app, tab


@case("a worker of the site's own that begins to import ours waits as it would without")
def _(bench):
    app = App(bench)
    app.page_settings = {"worker": "sw.js"}
    app.release(1)
    app.web.files["plain.html"] = b"<!doctype html><title>plain</title>"
    app.web.files["sw.js"] = OWN
    tab = app.tab()
    tab.open(app.base + "plain.html")
    tab.eval("navigator.serviceWorker.register('sw.js').then(() => navigator.serviceWorker.ready).then(() => true)")
    tab.open(app.base + "plain.html")
    assert tab.controlled()
    tab.eval("navigator.serviceWorker.oncontrollerchange = () => { window.taken = true; }; true")
    app.web.files["sw.js"] = IMPORT + OWN
    looks_for_worker(tab)
    until_waiting(tab)
    assert not tab.eval("window.taken === true")


@case("what the site's own worker answers by other methods stays its own")
def _(bench):
    app, tab = importing(bench)
    assert tab.fetch("logo.svg", "{method: 'PUT', body: 'x'}")["text"] == "put by our own"


@case("the page's removal empties what ours kept, and leaves the site's own worker in place")
def _(bench):
    app, tab = importing(bench)
    tab.eval("xcache.on('removed', () => { window.removed = true; }); void xcache.remove()")
    tab.until("window.removed")
    assert tab.eval(STORES) == []
    assert tab.eval(f"{REGISTRATION}.then((r) => r.active.scriptURL)").endswith("/sw.js")
    tab.open(app.base)
    assert tab.controlled() and tab.fetch("logo.svg", "{method: 'PUT', body: 'x'}")["text"] == "put by our own"


@case("the worker that removes leaves the site's own worker that imports it in place")
def _(bench):
    app, tab = importing(bench)
    app.worker = app.packs = (DIST / "xcache-remove.js").read_bytes()
    app.deploy({**app.files(1), "sw.js": IMPORT + OWN})
    looks_for_worker(tab)
    until_waiting(tab)
    tab.open("about:blank")
    bench.only_one_worker(app, "sw.js")
    tab.open(app.base)
    tab.until(f"{STORES}.then((all) => all.length === 0)")
    until_active(tab)
    assert tab.controlled() and tab.fetch("logo.svg", "{method: 'PUT', body: 'x'}")["text"] == "put by our own"


@case("an update on its way when the page removes the worker leaves nothing behind")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2, add={"new.txt": b"new"})
    held = []

    def hangs(request, proxy):
        held.append(request)
        until(lambda: not bench.proxy.rules, "the end of the rule")
        return False
    bench.proxy.rules = [("new.txt", hangs), (".xpk", hangs), (".dcz", hangs)]
    tab.eval("window.report = xcache.update({force: true}); true")
    until(lambda: held, "the download")
    tab.eval("xcache.remove()")
    bench.proxy.rules = []
    tab.eval("report.then(() => true)")
    assert tab.eval(STORES) == []
    assert not [r for r in bench.proxy.log if r.path.startswith(f"/report?app={app.app}&") and b"reason" in r.body], "a failure is told"


@case("a worker of another channel in the place of this one: what this one kept is gone")
def _(bench):
    app = App(bench)
    tab = app.visited()
    bench.origin.run("promote", "--create", "--app", app.app, "--from", "online", "--to", "test")
    app.settings["channel"] = "test"
    app.deploy(app.files(1))
    looks_for_worker(tab)
    until_waiting(tab)
    tab.open("about:blank")
    bench.only_one_worker(app)
    tab.open(app.base)
    app.hold(tab)
    name = f"xcache {app.app} test /"
    assert tab.eval(STORES) == [name, name]


# A page that keeps a database open.
KEEPS = """new Promise((done) => { indexedDB.open('%s').onsuccess = ({target}) => { (window.kept ??= []).push(target.result); done(true); }; })"""


@case("a database that a page keeps open keeps neither the worker that removes nor one of another channel")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval(KEEPS % f"xcache {app.app} online /")
    bench.origin.run("promote", "--create", "--app", app.app, "--from", "online", "--to", "test")
    app.settings["channel"] = "test"
    app.deploy(app.files(1))
    looks_for_worker(tab)
    until_waiting(tab)
    tab.eval(f"{REGISTRATION}.then((r) => r.waiting.postMessage({{xcache: {{ask: 'activate'}}}}))")
    until_active(tab)
    app.hold(tab)
    tab.eval(KEEPS % f"xcache {app.app} test /")
    app.worker = (DIST / "xcache-remove.js").read_bytes()
    app.deploy(app.files(1))
    looks_for_worker(tab)
    until_gone(tab)
    assert tab.eval("caches.keys()") == []
