"""Error samples: what the origin is told of a page that failed, and which pages say nothing."""
import json

from attacks import in_order
from bench import App, case, until
from servers import Skipped, says
from steps import KEPT, base_of, forward, lose, policy, takes

THROWS = ('<script type="module">function render() { throw new TypeError("no cart of ann@example.com, order 1234567, see " + location.origin +'
          ' "/cart/1234567?user=ann") } render()</script>')
REJECTS = '<script type="module">document.body.innerHTML = ""; Promise.reject(new RangeError("out of range"))</script>'
# Kept over documents: whether something reached the page's own handlers.
LISTENS = ('<script>addEventListener("unhandledrejection", (event) => { (window.seen ??= []).push(String(event.reason)); });'
           'addEventListener("error", (event) => { (window.seen ??= []).push(event.message); });</script>')


def samples(bench, app):
    """Error samples of an app that were sent to the origin."""
    bodies = [json.loads(entry.body) for entry in list(bench.proxy.log)
              if entry.command == "POST" and entry.path.startswith(f"/report?app={app.app}&")]
    return [body for body in bodies if "sample" in body]


def told(bench, app, count=1):
    """The samples, once there are so many."""
    until(lambda: len(samples(bench, app)) >= count, f"{count} samples")
    found = samples(bench, app)
    assert len(found) == count, found
    return found


def counted(tab, number, name="script-failed"):
    tab.until(KEPT % ("tally", f"kept?.counts['{name}'] === {number}"))


def quiet(bench, app, tab, number):
    """Waits until a failure has been counted, and long enough for a sample; there may be none."""
    counted(tab, number)
    tab.eval("new Promise((done) => setTimeout(done, 1500))")
    assert samples(bench, app) == [], samples(bench, app)


def blank(app, extra):
    """Pages that show nothing but what a script renders."""
    build = app.files

    def files(version, **more):
        made = build(version, extra=extra, **more)
        made["index.html"] = made["index.html"].split(b"<h1>")[0] + extra.encode()
        return made
    app.files = files
    return app


@case("a sample: what a script threw where a page failed, once, without what names a person; other pages load nothing for it")
def _(bench):
    app = App(bench)
    tab = app.visited(1, extra=THROWS)
    [body] = told(bench, app)
    sample = body["sample"]
    assert body["version"] == "1" and set(body) == {"sample", "version"}, body
    assert (sample["kind"], sample["page"]) == ("script", app.base), sample
    assert sample["message"] == f"TypeError: no cart of <email> order <n>, see {app.web.url}/cart/*?user=", sample
    assert sample["engine"].split(" ")[0] in ("Chromium", "WebKit") and len(sample["engine"]) < 20, sample
    function, place = sample["stack"][0].split("@")
    assert function == "render" and place.startswith(f"{app.base}:1:"), sample
    # Again and again, also from another worker: the origin knows it.
    tab.open(app.base)
    bench.stop_worker(tab)
    tab.open(app.base)
    assert len(told(bench, app)) == 1
    loads = len(app.web.seen("xcache-samples.js"))
    assert loads > 0
    app.web.forget()
    # The next version comes up.
    app.release(2)
    app.hold(tab)
    tab.open(app.base)
    assert tab.title() == "version 2" and not app.web.seen("xcache-samples.js")
    assert len(told(bench, app)) == 1


@case("a sample: another kind of failure, and another version, is another one")
def _(bench):
    app = blank(App(bench), REJECTS)
    tab = app.visited(1)
    [body] = told(bench, app)
    assert (body["sample"]["kind"], body["sample"]["message"]) == ("rejection", "RangeError: out of range"), body
    assert body["sample"]["stack"] and all(app.base in frame for frame in body["sample"]["stack"]), body
    base = base_of(bench, app)
    app.files = blank(App(bench, app=app.app, web=app.web), REJECTS).files
    app.release(2, add={"more.txt": b"more"})
    app.pack_ready(base)
    takes(app, tab, "pack")
    tab.open(app.base)
    assert [body["version"] for body in told(bench, app, 2)] == ["1", "2"]


@case("a sample: a script of the version that doesn't come is named")
def _(bench):
    app = in_order(App(bench))
    app.release(1, extra='<script src="gone.js"></script>', add={"gone.js": b"1"})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    lose(tab, "gone.js")
    bench.stop_worker(tab)
    del app.web.files["gone.js"]
    bench.proxy.rules = [("gone.js", lambda request, proxy: request.answer(b"no", status=404, headers=[("Access-Control-Allow-Origin", "*")]))]
    tab.session.send("Network.clearBrowserCache")
    tab.open(app.base)
    counted(tab, 1)
    tab.eval("new Promise((done) => setTimeout(done, 1500))")
    # It isn't known yet in this life of the worker whether the origin wants any.
    assert samples(bench, app) == []
    tab.update()
    [body] = told(bench, app)
    assert (body["sample"]["kind"], body["sample"]["message"]) == ("script", f"Not loaded: {app.base}gone.js"), body


@case("a sample: a page that never comes up, told when the next one opens")
def _(bench):
    app = in_order(App(bench))
    app.release(1, extra='<script src="/hangs.js?token=secret"></script>')
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    held = []

    def hangs(request):
        held.append(request)
        until(lambda: not app.web.routes, "the end of the case")
    app.web.routes["/hangs.js"] = hangs
    tab.session.send("Page.navigate", url=app.base + "?q=secret#x")
    until(lambda: held, "the script")
    assert tab.until("document.title") == "version 1"
    tab.until(KEPT % ("pages", "[...kept.values()].at(-1).began > 0"))
    forward(bench, app, 25)
    tab.open(app.base + "help.html")
    [body] = told(bench, app)
    assert body["sample"] == {**body["sample"], "kind": "page", "page": app.base, "stack": []}, body
    assert body["sample"]["message"].startswith("The page did not come up in time.") and "secret" not in json.dumps(body), body
    app.web.routes = {}


@case("no sample: \"samples\":0 in an answer of the origin, until another one says otherwise; the next worker knows it")
def _(bench):
    app = App(bench)
    bench.proxy.rules = [(f"configure.json?app={app.app}&", says(samples=0))]
    tab = app.visited(1, extra=THROWS)
    quiet(bench, app, tab, 1)
    bench.stop_worker(tab)
    bench.worker_gone(app)
    tab.open(app.base)
    quiet(bench, app, tab, 2)
    assert not app.web.seen("xcache-samples.js")
    bench.proxy.rules = []
    app.release(2, extra=THROWS)
    app.hold(tab)
    tab.open(app.base)
    assert told(bench, app)[0]["version"] == "2"


@case("no sample: of pages that the network answered, though the same script fails there")
def _(bench):
    app = App(bench)
    app.release(1, extra=THROWS)
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    policy(bench, app, "bypass", "add", app.base)
    until(lambda: tab.update() and tab.state()["policy"] > 0, "the policy")
    tab.open(app.base)
    assert tab.controlled() and tab.state()["from"] == "network"
    tab.eval("new Promise((done) => setTimeout(done, 2000))")
    assert samples(bench, app) == [] and not app.web.seen("xcache-samples.js")


@case("no sample: xcache-samples.js isn't there, or is a start page: the page hears nothing of it")
def _(bench):
    app = App(bench)
    tab = app.visited(1, extra=LISTENS + THROWS)
    told(bench, app)
    for answer in (lambda request: request.answer(b"no", status=404), lambda request: request.answer(b"<!doctype html>", "text/html"),
                   lambda request: request.answer(b"not a script (", "text/javascript")):
        bench.proxy.forget()
        app.web.routes["/xcache-samples.js"] = answer
        app.release(app.bench.origin.builds + 1, extra=LISTENS + THROWS)
        app.hold(tab)
        app.web.forget()
        tab.open(app.base)
        until(lambda: app.web.seen("xcache-samples.js"), "the script")
        tab.eval("new Promise((done) => setTimeout(done, 1500))")
        seen = tab.eval("window.seen")
        assert len(seen) == 1 and "no cart" in seen[0], seen
        assert samples(bench, app) == []


@case("a sample: of a page with a strict Content-Security-Policy and Trusted Types, and nothing is reported of it")
def _(bench):
    app = App(bench)
    guards = [("Content-Security-Policy", f"default-src 'self'; script-src 'self'; connect-src 'self' {bench.origin.url}; "
               "require-trusted-types-for 'script'; trusted-types xcache")]
    app.web.headers = guards
    csp = guards[0][1]
    app.release(1, extra='<script src="/throws.js" defer></script>', headers={"*.html": {"Content-Security-Policy": csp}}, add={
        "throws.js": b"addEventListener('securitypolicyviolation', (event) => { (window.refused ??= []).push(event.blockedURI); });"
                     b"function late() { throw new Error('of this version') } late()"})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    assert tab.controlled() and tab.state()["from"] == "device"
    assert tab.fetch(app.base)["headers"]["content-security-policy"] == csp
    [body] = told(bench, app)
    assert body["sample"]["stack"][0].startswith(f"late@{app.base}throws.js:1:"), body
    assert tab.eval("window.refused") is None, tab.eval("window.refused")


@case("a sample: of an app below a path with a worker of the site's own, by the folder of that worker")
def _(bench):
    app = App(bench, "/shop/")
    files = app.runtime_files
    app.page_settings = {"worker": "sw.js"}
    app.runtime_files = lambda: {**files(), "sw.js": b'importScripts("xcache-sw.js");'}
    tab = app.visited(1, extra=THROWS)
    [body] = told(bench, app)
    assert body["sample"]["page"] == app.base and app.web.seen("/shop/xcache-samples.js"), body


@case("a sample: the origin keeps it, and `xcache samples` shows it")
def _(bench):
    app = App(bench)
    tab = app.visited(1, extra=THROWS)
    sample = told(bench, app)[0]["sample"]
    try:
        bench.origin.run("samples", "--help")
    except AssertionError:
        raise Skipped("an origin without samples") from None
    # Without the command that turns them off a poll says nothing of them.
    assert "samples" not in bench.origin.answer(app.app)
    kept = until(lambda: json.loads(bench.origin.run("samples", "--app", app.app, "--json"))["samples"], "the sample")
    assert [one["message"] for one in kept] == [sample["message"]] and kept[0]["page"] == app.base and kept[0]["count"] == 1, kept
    bench.origin.run("channel", "set", "--app", app.app, "--samples", "off")
    assert bench.origin.answer(app.app)["samples"] == 0
    bench.proxy.forget()
    app.release(2, extra=THROWS)
    app.hold(tab)
    tab.open(app.base)
    quiet(bench, app, tab, 1)
