"""Who answers a page: the device at one version, or the network, for the document and all that the page asks for."""
import json, time

from bench import App, case, until
from servers import fails, says
from steps import CACHE, forward, from_the_site, lazy_of, lose, opens, second, takes

# A classic script without a hash in its name, and what the document says of itself.
MAIN = '<script>window.page = %d</script><script src="/main.js"></script>'
SAVES = b"Object.defineProperty(navigator, 'connection', {value: {saveData: true}});\n"


def store(app):
    return json.dumps(f"xcache {app.app} online {app.path}")


def puts(app, tab, key, value):
    """Writes what the worker keeps under a name."""
    tab.eval(f"""new Promise((done) => {{ indexedDB.open({store(app)}).onsuccess = ({{target: {{result}}}}) => {{
      const all = result.transaction('kept', 'readwrite'); all.objectStore('kept').put({value}, '{key}');
      all.oncomplete = () => {{ result.close(); done(true); }}; }}; }})""")


def unwell(bench, app, tab):
    """The page failed twice, and the worker was stopped since."""
    puts(app, tab, "health", "new Map([[location.href.split('?')[0], {count: 2, at: Date.now(), wait: 3600e3}]])")
    bench.stop_worker(tab)


def stale(bench, app, tab):
    """Polls failed for 40 days."""
    bench.proxy.stop()
    forward(bench, app, 40 * 24 * 3600)
    assert tab.update()["kind"] == "failed"


def slow(app, name, seconds):
    def route(request):
        time.sleep(seconds)
        request.answer(app.web.files[name], "text/html;charset=utf-8", headers=[("Cache-Control", "no-cache")])
    return route


def hangs(app):
    return lambda request: until(lambda: not app.web.routes, "the end of the case", 600)


def delays(seconds):
    def act(request, proxy):
        time.sleep(seconds)
        return False
    return act


def ahead(app, version=2, **more):
    """The site has a version that wasn't published."""
    app.deploy(app.files(version, **more))


def unhashed(bench):
    """A page of version 1 and its script, whose name has no hash."""
    app = App(bench)
    app.release(1, extra=MAIN % 1, add={"main.js": b"window.main = 1"})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    return app, tab


def both(tab):
    return tab.until("document.readyState === 'complete' && [window.page, window.main]")


def uncached(bench, tab, *names):
    """Takes files from the device and from the browser's cache."""
    for name in names:
        lose(tab, name)
    bench.stop_worker(tab)
    tab.session.send("Network.clearBrowserCache")


@case("a stale page whose document is slow is the device's, with all its files, though the site is ahead")
def _(bench):
    app = App(bench)
    tab = app.visited()
    ahead(app)
    stale(bench, app, tab)
    app.web.routes["/"] = slow(app, "index.html", 5)
    tab.open(app.base)
    tab.until("window.version === 1", seconds=10)
    # The network's document has come by then, and changes nothing.
    time.sleep(3)
    assert tab.title() == "version 1" and tab.eval("lazy()") == "lazy 1"


@case("an unwell page whose document is slow is the device's, with all its files, and is asked for once by a worker that starts")
def _(bench):
    app = App(bench)
    tab = app.visited()
    unwell(bench, app, tab)
    ahead(app)
    app.web.forget()
    app.web.routes["/"] = slow(app, "index.html", 5)
    tab.open(app.base)
    tab.until("window.version === 1", seconds=10)
    assert tab.title() == "version 1"
    assert len([entry for entry in app.web.log if entry.path == "/"]) == 1, app.web.seen("/")


@case("a page of the device gets the script of its version, also if the name has no hash and only the document is slow")
def _(bench):
    app, tab = unhashed(bench)
    unwell(bench, app, tab)
    app.deploy({**app.files(2, extra=MAIN % 2), "main.js": b"window.main = 2"})
    app.web.routes["/"] = slow(app, "index.html", 5)
    tab.open(app.base)
    assert both(tab) == [1, 1]


@case("a page whose document the device couldn't get has its files from the network, too")
def _(bench):
    app, tab = unhashed(bench)
    tab.open(app.base + "help.html")
    tab.eval(f"""(async () => {{ const c = await {CACHE};
      for (const k of await c.keys()) if (/%252F$|index\\.html/.test(k.url)) await c.delete(k); }})()""")
    uncached(bench, tab)
    app.deploy({**app.files(2, extra=MAIN % 2), "main.js": b"window.main = 2"})
    bench.proxy.stop()
    tab.open(app.base)
    assert both(tab) == [2, 2]
    # A worker that was stopped remembers it.
    bench.stop_worker(tab)
    assert tab.fetch("main.js")["text"] == "window.main = 2"


@case("a page of the network: a file with a hash comes from the device if the network has none, another one doesn't")
def _(bench):
    app, tab = unhashed(bench)
    lazy = lazy_of(app, 1)
    unwell(bench, app, tab)
    tab.open(app.base)
    bench.proxy.forget()
    for status in (404, 503):
        for name in ("main.js", lazy):
            app.web.routes["/" + name] = lambda request: request.answer(b"no", status=status)
        assert tab.fetch("main.js")["status"] == status
        assert tab.fetch(lazy)["status"] == (404 if status == 404 else 200), status
    app.web.routes = {}
    app.web.stop()
    assert tab.eval("lazy()") == "lazy 1" and "error" in tab.fetch("main.js")


@case("published before the deployment, with data saver and a slow download: the page comes up whole")
def _(bench):
    app = App(bench, meteredLimit=10)
    app.worker = SAVES + app.worker
    app.release(1)
    tab = app.tab()
    tab.open(app.base)
    until(lambda: tab.update() and tab.state()["version"] == "1", "the version")
    tab.open(app.base)
    deployed = dict(app.web.files)
    app.release(2)
    app.web.files = deployed
    tab.session.send("Network.clearBrowserCache")
    tab.update()
    assert tab.state()["version"] == "2"
    bench.proxy.rules = [("app-", delays(5)), ("style-", delays(5))]
    tab.open(app.base)
    tab.until("window.version === 2", seconds=20)
    assert tab.title() == "version 2" and tab.eval("getComputedStyle(document.body).color") == "rgb(0, 0, 2)"


@case("a chunk that was set aside and never held: its slow download is waited for, not the site's 404")
def _(bench):
    app = App(bench)
    tab = app.visited()
    name = lazy_of(app, 1).split("/")[-1]
    second(bench, app, 2)
    takes(app, tab, "pack")
    uncached(bench, tab, name)
    bench.proxy.rules = [(name, delays(5))]
    assert tab.eval("lazy()") == "lazy 1"


@case("a script that the device lacks: its slow download is waited for, not the site's 404")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.open(app.base + "help.html")
    uncached(bench, tab, "app-")
    ahead(app)
    bench.proxy.rules = [("app-", delays(5))]
    tab.open(app.base)
    tab.until("window.version === 1", seconds=20)


@case("a slow store: a held script isn't the site's 404")
def _(bench):
    app = App(bench)
    app.worker = (b"{ const match = caches.match.bind(caches); caches.match = async (url, how) => { if (/app-|lazy-/.test(url)) "
                  b"await new Promise((done) => setTimeout(done, 4000)); return match(url, how); }; }\n") + app.worker
    tab = app.visited()
    ahead(app)
    bench.proxy.stop()
    bench.stop_worker(tab)
    tab.open(app.base)
    tab.until("window.version === 1", seconds=20)


@case("a page that the device has answered stays the device's when polls have failed for too long meanwhile")
def _(bench):
    # The site answers what it doesn't have with an error, or with its start page.
    for status in (404, 200):
        app = App(bench)
        tab = app.visited()
        ahead(app)
        app.web.routes["/" + lazy_of(app, 1)] = lambda request: request.answer(app.web.files["index.html"], "text/html", status=status)
        stale(bench, app, tab)
        assert tab.eval("lazy()") == "lazy 1", status
        bench.proxy.start()


@case("the site's 5xx is no answer, where the device has the page")
def _(bench):
    app = App(bench)
    tab = app.visited()
    stale(bench, app, tab)
    for path in ("/", *("/" + name for name in app.web.files)):
        app.web.routes[path] = lambda request: request.answer(b"down", "text/html", status=503)
    tab.open(app.base)
    tab.until("window.version === 1", seconds=20)
    assert tab.title() == "version 1" and tab.eval("lazy()") == "lazy 1"


@case("a site that hangs keeps no file that its download URL has waiting")
def _(bench):
    app = App(bench)
    tab = app.visited()
    uncached(bench, tab, "lazy-")
    tab.open(app.base)
    app.web.routes["/" + lazy_of(app, 1)] = hangs(app)
    begun = time.monotonic()
    assert tab.eval("lazy()") == "lazy 1" and time.monotonic() - begun < 12
    app.web.routes = {}


@case("a large file that isn't held is of the page's version: from its download URL, checked before its end, and kept")
def _(bench):
    app = App(bench)
    tab = app.visited(add={"large.bin": b"1" * (2 << 20)})
    uncached(bench, tab, "large.bin")
    app.deploy({**app.files(2), "large.bin": b"2" * (2 << 20)})
    tab.open(app.base)
    found = tab.fetch("large.bin")
    assert len(found["text"]) == 2 << 20 and set(found["text"]) == {"1"}
    until(lambda: tab.state()["held"] == tab.state()["listed"], "the file")
    # Other bytes of the same length never arrive as a whole.
    uncached(bench, tab, "large.bin")
    bench.proxy.rules = [("large.bin", lambda request, proxy: request.answer(
        b"3" * (2 << 20), headers=[("Access-Control-Allow-Origin", "*")]))]
    assert tab.eval("fetch('large.bin').then((r) => r.text()).then(() => 'whole', () => 'error')") == "error"
    until(lambda: [entry for entry in bench.proxy.log if entry.path.startswith("/report") and b"integrity" in entry.body], "the report")
    # Without its download the site's is better than none.
    bench.proxy.rules = [("large.bin", fails(404))]
    bench.stop_worker(tab)
    assert set(tab.fetch("large.bin")["text"]) == {"2"}


@case("parts of one file in one page are of one version")
def _(bench):
    def part(tab, start):
        found = tab.fetch("large.bin", f"{{headers: {{Range: 'bytes={start}-{start + 99}'}}}}")
        assert "error" in found or found["status"] == 206 and len(found["text"]) == 100, found
        return found.get("text", "error")[0]
    for is_broken in (False, True):
        bench.proxy.rules = []
        app = App(bench)
        tab = app.visited(add={"large.bin": b"1" * (2 << 20)})
        app.web.routes["/large.bin"] = lambda request: request.answer(
            b"2" * 100, status=206, headers=[("Content-Range", f"bytes 0-99/{2 << 20}")])
        uncached(bench, tab, "large.bin")
        tab.open(app.base)
        bench.proxy.rules = [("large.bin", fails(404))] if is_broken else []
        assert part(tab, 0) == ("2" if is_broken else "1")
        bench.proxy.rules = []
        tab.update()
        until(lambda: tab.state()["held"] == tab.state()["listed"], "the file")
        bench.stop_worker(tab)
        assert part(tab, 1000) == ("2" if is_broken else "1")
        if not is_broken:
            uncached(bench, tab, "large.bin")
            bench.proxy.rules = [("large.bin", fails(404))]
            assert part(tab, 5000) == "e"


@case("what asks past all caches waits three seconds for a network that never answers; a chunk that was set aside is the page's")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.web.routes["/logo.svg"] = hangs(app)
    begun = time.monotonic()
    assert tab.fetch("logo.svg", "{cache: 'no-store'}")["status"] == 200 and time.monotonic() - begun < 12
    app.web.routes = {}
    second(bench, app, 2)
    takes(app, tab, "pack")
    assert tab.fetch(lazy_of(app, 1), "{cache: 'no-store'}")["status"] == 200


@case("pages that are kept and damaged are passed over, and the next update mends them")
def _(bench):
    app = App(bench)
    tab = app.visited()
    puts(app, tab, "pages", "new Map([[1, null], ['x', null], ['y', {url: 5}]])")
    bench.stop_worker(tab)
    tab.open(app.base)
    assert tab.update()["kind"] == "nothing"
    second(bench, app, 2)
    takes(app, tab, "pack")
    opens(app, tab, 2)


@case("an update to version 0 takes nothing away")
def _(bench):
    app = App(bench)
    tab = app.visited()
    bench.proxy.rules = [("configure.json", says(update=True, version="0", resourcemap={},
                                                 digest="44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"))]
    assert tab.update()["kind"] == "failed" and tab.state()["version"] == "1"
    opens(app, tab, 1)
