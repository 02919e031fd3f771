"""What the worker keeps and counts for itself: damaged state, polls that fail for days, the site's own state, the page's side."""
import json, time

from bench import App, case, until
from servers import fails, says
from steps import (KEPT, REGISTRATION, Copy, forward, from_the_site, looks_for_worker, lose, mirrored, new_worker, policy,
                   until_waiting)

DAY = 24 * 3600


def put(tab, app, name, value):
    """Writes a value, a JavaScript expression, into the worker's store."""
    tab.eval(f"""new Promise((done) => {{ indexedDB.open({json.dumps(f'xcache {app.app} online {app.path}')}).onsuccess = ({{target: {{result}}}}) => {{
      const change = result.transaction('kept', 'readwrite'); change.objectStore('kept').put({value}, '{name}');
      change.oncomplete = () => {{ result.close(); done(true); }}; }}; }})""")


def opens_later(bench, app, tab, days):
    """Polls, and opens the page, after each number of days."""
    for count in days:
        forward(bench, app, count * DAY)
        tab.update()
        tab.open(app.base)


@case("what is damaged in IndexedDB counts as nothing: the page opens, with and without a network, and the next poll is made")
def _(bench):
    app = App(bench)
    tab = app.visited()
    values = {
        "tally": ["{counts: 5}", "{counts: {local: 'x'}, at: 0}", "5"], "pages": ["new Map([[1, null]])", "new Map([['a', {url: 5}]])", "'x'"],
        "poll": ["{server: 'x'}", "null"], "manifest": ["{version: 'x', digest: '', map: new Map()}"], "aside": ["new Map([['a', [null]]])"],
        "used": ["new Map([['a', 'x']])"], "backlog": ["5"], "health": ["new Map([['a', null]])"], "site": ["{looked: 'x'}", "null"],
        "begun": ["null"], "full": ["null"], "rollout": ["{groups: 5, install: 7}", "'x'"]}
    for name, damaged in values.items():
        for value in damaged:
            put(tab, app, name, value)
            bench.stop_worker(tab)
            bench.worker_gone(app)
            assert tab.tries(app.base) and tab.title() == "version 1", (name, value)
            report = tab.update()
            assert report["kind"] != "failed", (name, value, report)
            app.hold(tab)
            app.web.stop()
            assert tab.tries(app.base) and tab.title() == "version 1", (name, value)
            app.web.start()


@case("polls that fail are counted by days: neither a month without a visit nor a clock that was wrong makes a device stale")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.update()
    # One good poll while the clock was 70 years ahead.
    forward(bench, app, 70 * 365 * DAY)
    tab.update()
    forward(bench, app, -70 * 365 * DAY)
    from_the_site(app, (b"version 1", b"from the site"))
    bench.proxy.rules = [("configure.json", fails(503))]
    assert tab.update()["kind"] == "failed"
    tab.open(app.base)
    assert tab.title() == "version 1"
    bench.proxy.rules = []
    assert tab.update()["kind"] == "nothing"
    forward(bench, app, 31 * DAY)
    bench.proxy.rules = [("configure.json", fails(503))]
    assert tab.update()["kind"] == "failed"
    tab.open(app.base)
    assert tab.title() == "version 1"


@case("an origin that never answered counts from the first poll that failed; a new server setting doesn't begin anew")
def _(bench):
    for is_new in (True, False):
        app = App(bench)
        tab = app.visited()
        if is_new:
            new_worker(app, settings={"server": "http://127.0.0.1:9"})
            looks_for_worker(tab)
            until_waiting(tab)
            tab.open("about:blank")
            bench.only_one_worker(app)
            tab.open(app.base)
            tab.until("!!navigator.serviceWorker.controller")
        else:
            put(tab, app, "poll", f"{{server: {json.dumps(bench.origin.url)}, source: 'origin', failures: 0, interval: 30, lastPoll: 0, "
                f"originWait: 30000, originDue: 0}}")
            bench.stop_worker(tab)
            bench.worker_gone(app)
            bench.proxy.stop()
            tab.open(app.base)
        from_the_site(app, (b"version 1", b"from the site"))
        opens_later(bench, app, tab, (1, 20, 20))
        assert tab.title() == "from the site", is_new


@case("a copy that nobody renews, of an origin that is gone, keeps no device from the site")
def _(bench):
    app = App(bench)
    copy = Copy(f"{bench.folder}/copy")
    bench.webs.append(copy)
    app.settings["fallback"] = copy.url
    tab = app.visited()
    mirrored(bench, app)
    tab.update()
    from_the_site(app, (b"version 1", b"from the site"))
    bench.proxy.stop()
    sources = set()
    for _ in range(9):
        forward(bench, app, 5 * DAY)
        for _ in range(3):
            forward(bench, app, 40)
            sources.add(tab.update().get("source"))
    assert sources == {"origin", "mirror"}, sources
    tab.open(app.base)
    assert tab.title() == "from the site"
    # The origin is back; but the site has been ahead of it for long, too.
    bench.proxy.start()
    forward(bench, app, 700)
    assert tab.update().get("source") == "origin"
    assert tab.until(KEPT % ("poll", "kept.missed === undefined"))


@case("a site that is ahead of what is published, for as long as the site says, is asked first; until the next version")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.update()
    app.deploy(app.files(2))
    app.web.forget()
    opens_later(bench, app, tab, (1, 15))
    assert tab.title() == "version 1"
    # One request a day at most.
    for _ in range(4):
        forward(bench, app, 3700)
        tab.update()
    assert len([e for e in app.web.log if e.path == "/" and e.command == "GET"]) == 2, [e.path for e in app.web.log]
    opens_later(bench, app, tab, (20, 1))
    assert tab.title() == "version 2"
    app.release(3)
    app.hold(tab)
    app.deploy(app.files(4))
    tab.open(app.base)
    assert tab.title() == "version 3"


@case("a page that the site never served as it is published says nothing of the site's being ahead")
def _(bench):
    app = App(bench)
    app.release(1)
    from_the_site(app, (b"version 1</title>", b"from the site</title>"))
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    opens_later(bench, app, tab, (1, 1, 20, 20, 20))
    assert tab.title() == "version 1"


@case("a site that never answers a HEAD of the worker's script keeps no update and no switch")
def _(bench):
    app = App(bench)
    app.release(1)
    heads = []

    def hangs(request):
        if request.command != "HEAD":
            return request.answer(app.web.files["xcache-sw.js"], "text/javascript")
        heads.append(request)
        until(lambda: not app.web.routes, "the end of the case", 600)
    app.web.routes["/xcache-sw.js"] = hangs
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    until(lambda: heads, "the look")
    begun = time.monotonic()
    policy(bench, app, "kill", "--for", "6h")
    until(lambda: tab.update() and tab.state()["policy"] > 0, "the policy")
    assert time.monotonic() - begun < 8, time.monotonic() - begun
    # It isn't asked again before an hour is over, whatever becomes of the worker.
    bench.stop_worker(tab)
    bench.worker_gone(app)
    tab.open(app.base)
    tab.update()
    assert len(heads) == 1, heads
    app.web.routes = {}


@case("a script that wants a login, or whose server knows no HEAD, is there; a page in its place has to stay for a week")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.update()

    def no_head(request):
        if request.command == "HEAD":
            return request.answer(b"", "text/html", status=404)
        request.answer(app.web.files["xcache-sw.js"], "text/javascript")
    app.web.routes["/login"] = lambda request: request.answer(b"<h1>login", "text/html")
    login = lambda request: request.answer(b"", "text/plain", status=302, headers=[("Location", "/login")])
    page = lambda request: request.answer(b"<h1>a page", "text/html")
    for there, hours in ((login, 1), (no_head, 1), (page, 1)):
        app.web.routes["/xcache-sw.js"] = there
        for _ in range(4):
            forward(bench, app, hours * 3700)
            assert tab.update()["kind"] == "nothing"
        assert tab.eval(f"{REGISTRATION}.then((r) => r !== undefined)")
    for _ in range(3):
        forward(bench, app, 3 * DAY)
        tab.eval("xcache.update({force: true})")
    tab.until(f"{REGISTRATION}.then((r) => r === undefined)")


@case("a listed script that doesn't come fails the page: after two visits it is the network's")
def _(bench):
    app = App(bench)
    app.worker = b"Object.defineProperty(navigator, 'connection', {value: {saveData: true}});\n" + app.worker
    app.settings["meteredLimit"] = 10
    app.release(1)
    tab = app.tab()
    tab.open(app.base)
    tab.update()
    tab.open(app.base)
    tab.open(app.base + "help.html")
    lose(tab, "app-")
    bench.stop_worker(tab)
    app.deploy(app.files(2))
    bench.proxy.stop()
    tab.session.send("Network.clearBrowserCache")
    for _ in range(3):
        tab.open(app.base)
        tab.until(KEPT % ("pages", "[...kept.values()].at(-1).isOver"))
    assert tab.until("window.version", seconds=10) == 2


@case("a blank page whose first import fails isn't up")
def _(bench):
    app = App(bench)
    app.release(1, add={
        "blank.html": b'<!doctype html><title>blank</title><link rel="icon" href="data:,"><script src="/xcache.js" defer></script><div></div>'
                      b'<script type="module">import("/boot.js").then(() => {})</script>', "boot.js": b"throw new Error('of this version')"})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    from_the_site(app, (b"<title>blank", b"<title>from the site"))
    for _ in range(2):
        tab.open(app.base + "blank.html")
        assert tab.title() == "blank"
        tab.until(KEPT % ("pages", "[...kept.values()].at(-1).isOver"), seconds=20)
    tab.open(app.base + "blank.html")
    assert tab.title() == "from the site"


@case("the first poll doesn't wait for scripts that the browser doesn't load, or whose entries are gone")
def _(bench):
    taken = {}
    extras = {"plain": "", "nomodule": '<script nomodule src="/legacy.js"></script>', "data": '<script src="data:text/javascript,1"></script>',
              "template": '<script type="text/template" src="/legacy.js"></script>',
              "cleared": "<script>onload = () => performance.clearResourceTimings()</script>",
              "many": "<script>for (let i = 0; i < 300; i++) new Image().src = '/logo.svg?' + i; onload = () => { const s = "
                      "document.createElement('script'); s.src = '/legacy.js'; document.head.append(s); }</script>"}
    for name, extra in extras.items():
        app = App(bench)
        app.release(1, extra=extra, add={"legacy.js": b"1"})
        tab = app.tab()
        tab.open(app.base)
        begun = time.monotonic()
        until(app.polls, "the poll")
        taken[name] = round(time.monotonic() - begun, 1)
        app.hold(tab)
        # Nothing is told without end.
        words = bench.worker(app).eval("new Promise((done) => { let count = 0; addEventListener('message', ({data}) => { "
                                       "if (data?.xcache?.ask === 'busy') count++; }); setTimeout(() => done(count), 2000); })")
        assert words == 0, (name, words)
        tab.close()
        bench.tabs.remove(tab)
    assert all(time < taken["plain"] + 6 for time in taken.values()), taken


@case("a file that the download host lacks comes from the site")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2)
    bench.proxy.rules = [(".xpk", fails(404)), (".dcz", fails(404)), ("lazy-", fails(404))]
    app.hold(tab)
    app.web.stop()
    tab.open(app.base)
    assert tab.title() == "version 2" and tab.eval("lazy()") == "lazy 2"


@case("an update to no version throws nothing away")
def _(bench):
    app = App(bench)
    tab = app.visited()
    empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    bench.proxy.rules = [("configure.json", says(update=True, version="0", resourcemap={}, digest=empty, patch=None, base=None, pack=None))]
    assert tab.update()["kind"] == "failed" and tab.state()["version"] == "1"
    app.web.stop()
    tab.open(app.base)
    assert tab.title() == "version 1"


@case("the first visit's page isn't reloaded by the usual controllerchange listener; a later worker's page is")
def _(bench):
    app = App(bench)
    app.release(1, extra="<script type='module'>navigator.serviceWorker.addEventListener('controllerchange', () => location.reload())</script>")
    tab = app.tab()
    tab.open(app.base)
    tab.mark()
    tab.until("navigator.serviceWorker.controller !== null")
    time.sleep(1)
    assert tab.is_marked()
    tab.open(app.base)
    tab.mark()
    app.worker = b"self.marked = 4;\n" + app.worker
    app.deploy(app.files(1))
    looks_for_worker(tab)
    until_waiting(tab)
    tab.eval(f"{REGISTRATION}.then((r) => r.waiting.postMessage({{xcache: {{ask: 'activate'}}}}))")
    tab.until("!window.mark")


@case("in a sandboxed frame, window.xcache is there and has no worker")
def _(bench):
    app = App(bench)
    app.release(1, add={"frame.html": b'<script src="/xcache.js"></script><script>parent.postMessage(typeof window.xcache, "*")</script>'})
    tab = app.tab()
    tab.open(app.base)
    assert tab.eval("""new Promise((done) => { addEventListener('message', ({data}) => done(data)); const frame = document.createElement('iframe');
      frame.sandbox = 'allow-scripts'; frame.src = 'frame.html'; document.body.append(frame); })""", 20) == "object"


@case("a browser that says by mistake that there is no network gets releases all the same, and counts no failures")
def _(bench):
    app = App(bench)
    tab = app.visited()
    bench.worker(app).eval("Object.defineProperty(navigator, 'onLine', {value: false})")
    app.release(2)
    bench.proxy.forget()
    assert tab.update()["kind"] == "early" and not app.polls()
    forward(bench, app, DAY)
    bench.proxy.rules = [("configure.json", fails(503))]
    assert tab.update()["kind"] == "early" and len(app.polls()) == 1 and tab.state()["failures"] == 0
    bench.proxy.rules = []
    assert tab.update()["kind"] == "early"
    forward(bench, app, DAY)
    assert tab.update()["to"] == "2"


@case("data files that end with .map are held, source maps aren't")
def _(bench):
    app = App(bench)
    app.release(1, add={"level1.map": b"level", "assets/a.js.map": b"{}"})
    tab = app.tab()
    tab.open(app.base)
    until(lambda: tab.update() and (lambda state: state["version"] == "1" and state["held"] == state["listed"] - 1)(tab.state()), "the files")
    tab.open(app.base)
    app.web.stop()
    bench.proxy.stop()
    assert tab.fetch("level1.map")["text"] == "level"
