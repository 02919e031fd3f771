"""Opening pages: the first visit, later visits, offline."""
import os, time
from bench import App, case
from servers import TYPES, Skipped, says
from steps import from_the_site, second, takes


@case("first visit: the page comes from the network, and is the worker's once that holds the page's own release")
def _(bench):
    app = App(bench)
    app.release(1)
    tab = app.tab()
    tab.open(app.base)
    assert tab.title() == "version 1" and not tab.controlled()
    report = app.hold(tab)
    assert tab.state()["listed"] == len(app.files(1)) + 2, report
    tab.until("navigator.serviceWorker.controller !== null")
    # A file that the site no longer has after the next release.
    app.release(2)
    app.hold(tab)
    assert tab.state()["page"] == "1" and tab.eval("lazy()") == "lazy 1"


@case("first visit: a page whose address has a query comes under the worker as one without does")
def _(bench):
    app = App(bench)
    app.release(1)
    tab = app.tab()
    tab.open(app.base + "?utm_source=mail#top")
    assert not tab.controlled()
    app.hold(tab)
    tab.until("navigator.serviceWorker.controller !== null", seconds=10)
    state = tab.state()
    assert (state["page"], state["from"], state["why"]) == ("1", "network", "first-visit"), state
    # The site has another release by the time that a page with a query opens.
    other = App(bench)
    other.release(1)
    from_the_site(other, (b"version 1", b"from the site"))
    tab = other.tab()
    tab.open(other.base + "?utm_source=mail")
    other.hold(tab)
    time.sleep(1)
    assert not tab.controlled()


@case("first visit: a page of another release than the one that is published isn't taken")
def _(bench):
    app = App(bench)
    app.release(1)
    from_the_site(app, (b"version 1", b"from the site"))
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    time.sleep(1)
    assert tab.title() == "from the site" and not tab.controlled()


@case("first visit: the poll comes behind the page's own requests")
def _(bench):
    app = App(bench)
    app.release(1)
    order = []
    bench.proxy.rules = [(f"configure.json?app={app.app}", lambda request, proxy: order.append("poll") or False)]
    names = list(app.web.files)
    for name in names:
        def route(request, file=app.web.files[name], name=name):
            order.append(name)
            request.answer(file, TYPES[os.path.splitext(name)[1]])
        app.web.routes["/" + name] = route
    app.web.routes["/"] = app.web.routes["/index.html"]
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    first = order.index("poll")
    assert {"index.html", "xcache.js", "logo.svg"} <= set(order[:first]), order
    # WebKit may request files from the site that aren't in its cache.
    if os.environ.get("ENGINE") != "webkit":
        assert not [name for name in order[first:] if name != "poll" and not name.startswith("xcache-sw")], order


@case("second visit: everything comes from the worker")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.web.forget()
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.eval("getComputedStyle(document.body).color") == "rgb(0, 0, 1)"
    assert tab.eval("document.getElementById('logo').naturalWidth") == 9
    assert [path for path in app.web.seen("/") if "xcache-sw" not in path] == [], app.web.seen("/")


@case("offline: the site is gone")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.web.stop()
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.eval("lazy()") == "lazy 1"


@case("offline: the site and the origin are gone, and the worker was stopped")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.web.stop()
    bench.proxy.stop()
    bench.origin.stop()
    bench.stop_worker(tab)
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.eval("lazy()") == "lazy 1"


@case("offline: a page that is listed without its query opens with one")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.web.stop()
    tab.open(app.base + "index.html?from=push&id=7#top")
    assert tab.title() == "version 1" and tab.eval("location.search") == "?from=push&id=7"


@case("offline: navigation by a link, and back")
def _(bench):
    app = App(bench)
    tab = app.visited(extra='<a id="to" href="help.html">help</a>')
    app.web.stop()
    tab.eval("document.getElementById('to').click()")
    tab.until("document.title === 'help 1'")
    tab.eval("history.back()")
    tab.until("document.title === 'version 1' && document.readyState === 'complete'")


@case("offline: what isn't listed fails as without a worker; online it is the site's")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.web.files["other.html"] = b"<!doctype html><title>other</title>"
    tab.open(app.base + "other.html")
    assert tab.title() == "other"
    tab.open(app.base)
    app.web.stop()
    assert "error" in tab.fetch("other.html")
    assert not tab.tries(app.base + "other.html")


@case("the site's own 404 stays one")
def _(bench):
    app = App(bench)
    tab = app.visited()
    assert tab.fetch("nowhere.js")["status"] == 404


@case("a worker that was stopped answers its first request from what is kept")
def _(bench):
    app = App(bench)
    tab = app.visited()
    bench.stop_worker(tab)
    # Chromium may request the page from the site while a worker starts; the worker's answer has precedence.
    app.web.files = {name: b"of the network" for name in app.web.files}
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.title() == "version 1"


@case("pages of an app that lists none are asked for while a stopped worker starts; a listed page isn't asked for at all")
def _(bench):
    app = App(bench)
    files = app.files(1)
    app.deploy(files)
    app.version = bench.origin.publish(app.app, app.base, {name: file for name, file in files.items() if not name.endswith(".html")})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)

    def asked():
        bench.stop_worker(tab)
        app.web.forget()
        tab.open(app.base)
        tab.until("window.version")
        return [r.headers.get("Service-Worker-Navigation-Preload") for r in app.web.log if r.path == "/"]
    # Only the browser's own navigation preload.
    assert asked() == ["true"] and tab.controlled()
    assert tab.eval("lazy()") == "lazy 1"
    app.release(2)
    app.hold(tab)
    seen = asked()
    assert seen == [], (seen, tab.state(), asked(), tab.state())


@case("a page in a frame comes from the worker")
def _(bench):
    app = App(bench)
    tab = app.visited(extra='<iframe id="frame" src="help.html"></iframe>')
    app.web.stop()
    tab.open(app.base)
    tab.until("document.getElementById('frame').contentDocument.title === 'help 1'")


@case("a web worker and what it imports come from the worker")
def _(bench):
    app = App(bench)
    job = b"importScripts('part.js'); postMessage(part);"
    app.release(1, add={"job.js": job, "part.js": b"self.part = 'a part';"})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    app.web.stop()
    script = "new Promise((done) => { new Worker('job.js').onmessage = ({data}) => done(data); })"
    assert tab.eval(script) == "a part"


@case("two tabs: both come from the worker, and each knows its version")
def _(bench):
    app = App(bench)
    first = app.visited()
    second = app.tab()
    second.open(app.base)
    assert first.state()["page"] == second.state()["page"] == app.version
    app.release(2)
    app.hold(first)
    third = app.tab()
    third.open(app.base)
    assert (first.state()["page"], third.state()["page"]) == ("1", "2")
    assert (second.title(), third.title()) == ("version 1", "version 2")


@case("a subpath: the worker leaves the rest of the site alone")
def _(bench):
    app = App(bench, "/shop/")
    app.web.files["index.html"] = b"<!doctype html><title>front</title>"
    tab = app.visited()
    assert tab.eval("xcache.ready.then((r) => new URL(r.scope).pathname)") == "/shop/"
    tab.open(app.web.url + "/")
    assert tab.title() == "front" and not tab.controlled()
    app.web.stop()
    tab.open(app.base)
    tab.until("window.version === 1")


@case("two apps below one origin keep apart")
def _(bench):
    one = App(bench, "/one/")
    tab = one.visited(1)
    two = App(bench, "/two/", web=one.web)
    other = two.visited(2)
    names = sorted(other.eval("caches.keys()"))
    assert names == sorted([f"xcache {one.app} online /one/", f"xcache {two.app} online /two/"]), names
    one.web.stop()
    tab.open(one.base)
    other.open(two.base)
    assert (tab.title(), other.title()) == ("version 1", "version 2")


@case("a worker of the site's own takes ours in by importScripts")
def _(bench):
    app = App(bench)
    app.page_settings = {"worker": "sw.js"}
    own = b"importScripts('xcache-sw.js'); self.addEventListener('message', (e) => e.data === 'own' && e.source.postMessage('mine'));"
    app.release(1, add={"sw.js": own})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    app.web.stop()
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.eval("""new Promise((done) => { navigator.serviceWorker.addEventListener('message', ({data}) => data === 'mine' && done(data));
      navigator.serviceWorker.controller.postMessage('own'); })""") == "mine"
    app.web.start()
    second(bench, app)
    takes(app, tab, "pack")


@case("the overlay says what the page has")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.open(app.base + "?xcache-debug=1")
    text = tab.until("document.getElementById('xcache-debug')?.textContent")
    tab.until("document.getElementById('xcache-debug').textContent.includes('xcache 1 → 1 (origin)\\npage from the device\\n')", text)


@case("who gave a page, and why it wasn't the device, is told")
def _(bench):
    app = App(bench, "/shop/")
    app.release(1)
    tab = app.tab()
    tab.open(app.base)

    def told():
        state = tab.state()
        return state["from"], state.get("why")
    assert told() == ("network", "first-visit")
    app.hold(tab)
    tab.open(app.base)
    assert told() == ("device", None)
    app.web.files["shop/other.html"] = app.web.files["shop/index.html"]
    tab.open(app.base + "other.html?xcache-debug=1")
    assert told() == ("network", "unlisted")
    tab.until("document.getElementById('xcache-debug').textContent.includes('page from the network (unlisted)')")
    app.web.files["index.html"] = b'<!doctype html><title>front</title><script src="/shop/xcache.js" defer></script>'
    tab.open(app.web.url + "/?xcache-debug=1")
    assert told() == ("network", "outside")
    tab.until("document.getElementById('xcache-debug').textContent.includes(\"outside of the registration's scope, \" + location.origin + '/shop/')")
    bench.proxy.rules = [("policy.json", says(bypass=[app.base + "*"], version="5")), ("configure.json", says(policy="5"))]
    tab.update()
    tab.open(app.base)
    assert told() == ("network", "bypassed")
    bench.proxy.rules = [("policy.json", says(intercept=False, until="2100-01-01T00:00:00Z", version="6")), ("configure.json", says(policy="6"))]
    tab.update()
    tab.open(app.base)
    assert told() == ("network", "killed")


@case("the browser can be asked to keep the store, and says how much there is")
def _(bench):
    app = App(bench)
    tab = app.visited()
    usage = tab.eval("xcache.estimate().then(({usage}) => usage ?? null)")
    if usage is None:
        raise Skipped("this browser tells no usage")
    assert usage > 10000, usage
    assert isinstance(tab.eval("xcache.persist()"), bool)
