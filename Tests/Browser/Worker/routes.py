"""Routes of single-page apps: pages that answer navigations which nothing else answers (`fallback` of an entry)."""
import hashlib, json, os, time, urllib.parse

from bench import App, case, until
from failing import uncached
from healing import THROWS, page, told
from hostile import tasks_of
from servers import Skipped, fails
from signing import TrustedApp
from steps import KEPT, from_the_site, lose, policy

IS_WEBKIT = os.environ.get("ENGINE") == "webkit"
RULES = [{"prefix": "/", "except": ["/api/*", "/*.*"]}]
# Who gave the page, and why, as `xcache.state()` says.
FROM = "xcache.ready.then(() => xcache.state()).then(({ from, why, page }) => [from, why ?? null, page])"


class Routed(App):
    """An app whose pages answer routes; its manifests get their fallbacks on their way, so that any origin will do."""

    def __init__(self, bench, path="/", fallbacks=None, **settings):
        super().__init__(bench, path, **settings)
        self.fallbacks = fallbacks or {"index.html": RULES}
        self.rules = [(f"configure.json?app={self.app}&", self.answers)]
        bench.proxy.rules = [*self.rules]

    def answers(self, request, proxy):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)
        data = self.bench.origin.answer(self.app)
        entries = data["resourcemap"]
        for name, rules in self.fallbacks.items():
            entries[self.base + name]["fallback"] = rules
        text = json.dumps(entries, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        data["digest"] = hashlib.sha256(text.encode()).hexdigest()
        if query.get("digest") == [data["digest"]] or query.get("skip") == [data["version"]]:
            data = {name: data[name] for name in ("policy", "prefetch", "version") if name in data} | {"update": False}
        request.answer(json.dumps({"code": 200, "data": data}).encode(), "application/json", headers=[("Access-Control-Allow-Origin", "*")])

    def asked(self):
        """The requests for routes that came to the site."""
        return [(entry.command, entry.path) for entry in list(self.web.log) if entry.path.startswith(f"{self.path}runs")]


def shows(tab, url, version, *given):
    """Opens an address; it stays, and the page is of this version and was given so."""
    tab.open(url)
    tab.until(f"window.version === {version}")
    assert tab.eval("location.href") == url, tab.eval("location.href")
    assert tab.until(FROM) == list(given or ("device", None, str(version))), tab.until(FROM)


def of_the_site(app, path, text="of the site"):
    """A page that the site has at a route."""
    html = f'<!doctype html><title>{text}</title><script src="{app.path}xcache.js" defer></script><img id="logo" src="{app.path}logo.svg">'
    app.web.routes[path] = lambda request: request.answer(html.encode(), "text/html")


@case("routes: from the device, with query and fragment, as the page itself; reloaded, too")
def _(bench):
    app = Routed(bench)
    tab = app.visited()
    app.web.forget()
    for place in ("runs/1", "runs/1?tab=logs.x#end", "runs/2/steps/", "?from=mail", "api"):
        shows(tab, app.base + place, 1)
    assert tab.eval("lazy()") == "lazy 1"
    tab.reload()
    tab.until("window.version === 1")
    entry = tab.eval("(({ redirectCount, responseStatus = 200 }) => [redirectCount, responseStatus])(performance.getEntriesByType('navigation')[0])")
    assert entry == [0, 200], entry
    # One that the page wrote itself.
    tab.eval("history.pushState(null, '', '/runs/3?x=1')")
    tab.reload()
    tab.until("window.version === 1 && location.search === '?x=1'")
    tab.open("about:blank")
    bench.stop_worker(tab)
    shows(tab, app.base + "runs/4", 1)
    assert app.asked() == [] and [path for path in app.web.seen("/") if "xcache-sw" not in path] == [], app.web.seen("/")


@case("routes: without site and origin, also from a worker that was stopped; what is excepted fails as without a worker")
def _(bench):
    app = Routed(bench)
    tab = app.visited(extra='<a id="to" href="/runs/5">5</a>')
    app.web.stop()
    bench.proxy.stop()
    shows(tab, app.base + "runs/1", 1)
    bench.stop_worker(tab)
    shows(tab, app.base + "runs/2?x", 1)
    assert tab.eval("lazy()") == "lazy 1"
    tab.eval("document.getElementById('to').click()")
    tab.until("location.pathname === '/runs/5' && window.version === 1")
    for place in ("api/runs", "runs/photo.png", "assets/gone-0123abcd.js"):
        assert not tab.tries(app.base + place), place


@case("routes: after a release a route opens at the new version; the page that was open keeps its own")
def _(bench):
    app = Routed(bench)
    tab = app.visited()
    shows(tab, app.base + "runs/1", 1)
    app.release(2)
    other = app.tab()
    other.open(app.base)
    app.hold(other)
    app.web.stop()
    assert tab.eval("lazy()") == "lazy 1"
    shows(other, app.base + "runs/1", 2)
    assert other.eval("lazy()") == "lazy 2"
    tab.reload()
    tab.until("window.version === 2 && location.pathname === '/runs/1'")
    app.web.start()
    # The next one takes its routes back.
    app.fallbacks = {"index.html": [{"prefix": "/other/"}]}
    app.release(3)
    app.hold(tab)
    of_the_site(app, "/runs/1")
    tab.open(app.base + "runs/1")
    assert tab.title() == "of the site" and tab.until(FROM)[:2] == ["network", "unlisted"]
    shows(tab, app.base + "other/1", 3)


@case("routes: without a fallback they are the site's")
def _(bench):
    app = App(bench)
    tab = app.visited()
    of_the_site(app, "/runs/1")
    tab.open(app.base + "runs/1")
    assert tab.title() == "of the site" and tab.until(FROM)[:2] == ["network", "unlisted"]


@case("routes: an app below a path answers for its own alone")
def _(bench):
    app = Routed(bench, "/shop/", {"index.html": [{"prefix": "/"}], "help.html": [{"prefix": "/shop/help/"}]})
    tab = app.visited()
    of_the_site(app, "/runs/1")
    app.web.files["index.html"] = b"<!doctype html><title>front</title>"
    shows(tab, app.base + "runs/1", 1)
    tab.open(app.base + "help/a/b")
    assert tab.title() == "help 1"
    # Its worker isn't asked for what lies above it.
    tab.open(app.web.url + "/runs/1")
    assert tab.title() == "of the site"


@case("routes: in a frame")
def _(bench):
    app = Routed(bench, fallbacks={"help.html": RULES})
    tab = app.visited(extra='<iframe id="frame" src="/runs/1"></iframe>')
    app.web.stop()
    tab.open(app.base)
    tab.until("document.getElementById('frame').contentDocument.title === 'help 1'")
    assert tab.eval("document.getElementById('frame').contentWindow.location.pathname") == "/runs/1"


@case("routes: what the page itself asks for isn't answered, whatever it accepts")
def _(bench):
    app = Routed(bench)
    tab = app.visited()
    shows(tab, app.base + "runs/1", 1)
    for options in ("{}", "{headers: {Accept: 'text/html'}}", "{redirect: 'manual', headers: {Accept: 'text/html,*/*'}}", "{mode: 'same-origin'}"):
        assert tab.fetch("/runs/2", options)["status"] == 404, options
    loads = """new Promise((done) => { const element = document.createElement('%s'); element.%s = '/runs/%s';
      element.onload = () => done(true); element.onerror = () => done(false); document.body.append(element); })"""
    for name, member in (("script", "src"), ("img", "src")):
        assert tab.eval(loads % (name, member, name)) is False, name
    # Some browsers ask no worker for these; a page of their own they would show.
    for name, member in (("object", "data"), ("embed", "src")):
        tab.eval(f"void {loads % (name, member, name)}")
        until(lambda: ("GET", f"/runs/{name}") in app.asked(), f"the request for {name}", 20)
    app.web.stop()
    assert "error" in tab.fetch("/runs/2", "{headers: {Accept: 'text/html'}}")


@case("routes: a form by POST goes to the site, one by GET to the device")
def _(bench):
    app = Routed(bench)
    form = '<form id="form" action="/runs/1" method="%s"><input name="q" value="7"></form>'
    tab = app.visited(extra=form % "post")
    heard = []

    def posted(request):
        heard.append((request.command, request.body))
        request.answer(b"<!doctype html><title>posted</title>", "text/html")
    app.web.routes["/runs/1"] = posted
    tab.eval("document.getElementById('form').submit()")
    tab.until("document.title === 'posted'")
    assert heard == [("POST", b"q=7")], heard
    tab.open(app.base)
    tab.eval("document.getElementById('form').method = 'get', document.getElementById('form').submit()")
    tab.until("window.version === 1 && location.search === '?q=7'")
    assert len(heard) == 1, heard


@case("routes: a page that the site leads to one, and a download of one")
def _(bench):
    app = Routed(bench, fallbacks={"index.html": [{"prefix": "/runs/"}]})
    tab = app.visited()
    app.web.routes["/go"] = lambda request: request.answer(status=302, headers=[("Location", "/runs/7")])
    app.web.forget()
    tab.open(app.base + "go")
    tab.until("window.version === 1 && location.pathname === '/runs/7'")
    assert app.asked() == [], app.asked()
    tab.eval("""(() => { const a = document.createElement('a'); a.href = '/runs/export'; a.download = 'export'; document.body.append(a); a.click(); })()""")
    until(lambda: app.asked() == [("GET", "/runs/export")], "the download", 20)


@case("routes: bypass and kill switch are matched to the route")
def _(bench):
    app = Routed(bench)
    tab = app.visited()
    uncached(app)
    of_the_site(app, "/runs/1")
    policy(bench, app, "bypass", "add", app.base + "runs/*")
    until(lambda: tab.update() and tab.state()["policy"] > 0, "the policy")
    tab.open(app.base + "runs/1")
    assert tab.title() == "of the site" and tab.until(FROM)[:2] == ["network", "bypassed"]
    app.web.forget()
    assert tab.fetch("/logo.svg")["status"] == 200 and app.web.seen("/logo.svg"), "its files are the site's"
    shows(tab, app.base + "list", 1)
    policy(bench, app, "kill", "--for", "6h")
    until(lambda: tab.update() and tab.until(KEPT % ("policy", "kept.data.intercept === false")), "the kill switch")
    of_the_site(app, "/list")
    tab.open(app.base + "list")
    assert tab.title() == "of the site" and tab.until(FROM)[:2] == ["network", "killed"]


@case("routes: two that don't come up are two failures of one page, which is the network's then, as are its routes")
def _(bench):
    app = Routed(bench)
    tab = app.visited(1, add={"index.html": page(1)})
    app.release(2, add={"index.html": page(2, THROWS.encode())})
    until(lambda: tab.update() and tab.state()["version"] == "2", "the version")
    for number in (1, 2):
        tab.open(f"{app.base}runs/{number}?secret={number}")
        tab.until(KEPT % ("health", f"kept.get('{app.base}index.html')?.count === {number} && kept.size === 1"))
    of_the_site(app, "/runs/3")
    tab.open(app.base + "runs/3")
    assert tab.title() == "of the site" and tab.until(FROM) == ["network", "failed", "2"]
    tab.open(app.base + "index.html")
    assert tab.until(FROM) == ["network", "failed", "2"]
    # The folder's page is another one.
    tab.open(app.base)
    assert tab.until(FROM) == ["device", None, "2"]


@case("routes: a version whose routes fail is left, and the report names the page")
def _(bench):
    app = Routed(bench, goesBack=True)
    tab = app.visited(1, add={"index.html": page(1)})
    app.release(2, add={"index.html": page(2, THROWS.encode())})
    until(lambda: tab.update() and tab.state()["version"] == "2", "the version")
    bench.proxy.forget()
    for number in (1, 2):
        tab.open(f"{app.base}runs/{number}?secret={number}")
        tab.until(KEPT % ("pages", f"[...kept.values()].filter((page) => page.hasFailed && page.isJudged).length >= {number}"), seconds=30)
        tab.open("about:blank")
    shows(tab, app.base + "runs/3", 1)
    until(lambda: told(app) == [{"reason": "returned", "version": "2", "url": app.base + "index.html", "cause": "page"}], "the report")
    assert not [entry for entry in bench.proxy.log if b"runs" in entry.body or "runs" in entry.path], "a report names a route"


@case("routes: a page that is missing is fetched for one; if nobody has it, the route is the site's")
def _(bench):
    app = Routed(bench)
    tab = app.visited()
    uncached(app)
    lose(tab, "index.html")
    bench.stop_worker(tab)
    shows(tab, app.base + "runs/1", 1)
    lose(tab, "index.html")
    bench.stop_worker(tab)
    from_the_site(app, (b"version 1", b"version 9"))
    bench.proxy.rules = [("index.html", fails(404)), *app.rules]
    of_the_site(app, "/runs/2")
    tab.open(app.base + "runs/2")
    assert tab.title() == "of the site" and tab.until(FROM)[:2] == ["network", "missing"]


@case("routes: a first visit at one is taken if its document is the release's, and not if it is another")
def _(bench):
    # WebKit doesn't say what its cache has by an address, and takes none.
    for text in (None, "another") if not IS_WEBKIT else ("another",):
        app = Routed(bench)
        app.release(1)
        file = app.web.files["index.html"].replace(b"<h1>version 1", b"<h1>" + text.encode()) if text else app.web.files["index.html"]
        app.web.routes["/runs/1"] = lambda request, file=file: request.answer(file, "text/html", headers=[("Cache-Control", "no-cache")])
        tab = app.tab()
        tab.open(app.base + "runs/1")
        assert not tab.controlled()
        app.hold(tab)
        if text is None:
            tab.until("navigator.serviceWorker.controller !== null", seconds=10)
            assert tab.until(FROM) == ["network", "first-visit", "1"]
        else:
            time.sleep(1)
            assert not tab.controlled()


@case("routes: a manifest with a fallback that can't be is refused")
def _(bench):
    app = Routed(bench)
    tab = app.visited()
    app.release(2)
    for rules in ([], {}, [{"prefix": "/runs"}], [{"prefix": "/"}, {"prefix": "/"}], [{"prefix": "/", "except": ["runs/*"]}], [{"prefix": "/?/"}]):
        app.fallbacks = {"index.html": rules}
        assert tab.update()["kind"] == "failed" and tab.state()["version"] == "1", rules
    shows(tab, app.base + "runs/1", 1)
    app.fallbacks = {"index.html": RULES}
    assert tab.update()["to"] == "2"


@case("routes: what is signed covers them, and a key answers for none that it has no prefix of")
def _(bench):
    app = TrustedApp(bench)
    source = app.source
    source.fallbacks = {app.base + "index.html": RULES}
    app.release(1)
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    app.web.stop()
    shows(tab, app.base + "runs/1", 1)
    app.web.start()
    # Somebody in between adds one.
    app.release(2)
    maps = source.maps["2"]
    right = maps[app.base + "help.html"]
    maps[app.base + "help.html"] = {**right, "fallback": [{"prefix": "/runs/"}]}
    source.news()
    bench.proxy.forget()
    assert tab.update()["kind"] == "failed" and tab.state()["version"] == "1"
    until(lambda: "trust-content" in app.reports(), "the report")
    maps[app.base + "help.html"] = right
    source.news()
    assert tab.update()["to"] == "2"
    # A publisher of one folder.
    folder = source.grant("new publisher", bundles=["help"], prefixes=[app.base + "help/"])
    source.roots.append(source.root("2", releases=[source.grant("publisher"), folder]))
    bundles = {"help": {"help/a.html": b"<!doctype html><title>help</title>"}, "main": {**app.files(2), "xcache.js": app.runtime_files()["xcache.js"]}}
    for version, prefix, result in (("3", "/", None), ("4", "/help/", "4")):
        source.fallbacks = {app.base + "index.html": [{"prefix": "/runs/"}], app.base + "help/a.html": [{"prefix": prefix}]}
        source.release(version, bundles)
        source.statements[version]["help"] = source.statement(version, "help", "new publisher")
        bench.proxy.forget()
        report = tab.update()
        assert (report["to"] if report["kind"] != "failed" else None) == result, (prefix, report)
        if result is None:
            until(lambda: "trust-scope" in app.reports(), "the report")
    tab.open(app.base + "help/b/c")
    assert tab.title() == "help"


@case("routes: what is listed costs no more, and routes cost little, also with many pages of rules")
def _(bench):
    if IS_WEBKIT:
        raise Skipped("WebKit has no trace of tasks")
    most = [{"prefix": f"/p{n}/", "except": [f"/p{n}/{m}*x*y*z" for m in range(8)]} for n in range(4)]
    app = Routed(bench)
    pages = {f"pages/{number}.html": b"<!doctype html><title>page</title>" for number in range(200)}
    app.fallbacks = {"index.html": RULES, **{name: most for name in pages}}
    tab = app.visited(add=pages)
    tasks = tasks_of(bench, lambda: [tab.open(f"{app.base}p1/{number}") for number in range(5)])
    assert tab.title() == "page" and max(tasks) < 50, sorted(tasks)[-5:]
