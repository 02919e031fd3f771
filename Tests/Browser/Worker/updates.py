"""Updates from the origin by packs, patches and whole manifests."""
from bench import App, case, until
from servers import asks, fails, flips, says
from steps import base_of, second, takes, opens, forward


@case("an update by a pack while the page is open: the page stays as it is, the next one is new")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.mark()
    second(bench, app)
    bench.proxy.forget()
    report = takes(app, tab, "pack")
    whole = sum(len(file) for file in app.files(2).values())
    assert report["bytes"] < whole / 10, report
    # The update is one poll and one download.
    asked = [path for path in bench.proxy.seen("/") if f"/{app.app}/" in path or f"app={app.app}&" in path and "/report" not in path]
    assert len(asked) == 2 and ".xpk" in asked[1], asked
    assert tab.is_marked() and tab.title() == "version 1"
    opens(app, tab, 2)


@case("the page is told that a new version is ready")
def _(bench):
    app = App(bench)
    tab = app.visited()
    tab.eval("xcache.on('updated', (report) => { window.told = report; })")
    app.release(2)
    tab.update()
    assert tab.until("window.told")["to"] == app.version


@case("an update over two releases")
def _(bench):
    app = App(bench)
    tab = app.visited()
    base = base_of(bench, app)
    app.release(2)
    app.release(3)
    app.pack_ready(base)
    takes(app, tab, "pack")
    opens(app, tab, 3)


@case("four releases, one after another, each by a pack")
def _(bench):
    app = App(bench)
    tab = app.visited()
    for version in range(2, 6):
        second(bench, app, version)
        takes(app, tab, "pack")
    opens(app, tab, 5)


@case("without a pack: a patch, and deltas on the files that are held")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app)
    bench.proxy.rules = [("pack=1", asks("&pack=1", ""))]
    report = takes(app, tab, "patch")
    assert report["deltas"] >= 1, report
    opens(app, tab, 2)


@case("a damaged pack: what is left comes otherwise, without a new poll")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app)
    bench.proxy.rules = [(".xpk", flips(-10))]
    report = takes(app, tab, "patch")
    assert report["why"], report
    opens(app, tab, 2)


@case("a pack that isn't there")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app)
    bench.proxy.rules = [(".xpk", fails(404))]
    takes(app, tab, "patch")
    opens(app, tab, 2)


@case("a damaged delta costs one plain download")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app)
    bench.proxy.rules = [("pack=1", asks("&pack=1", "")), (".dcz", flips(-5))]
    report = takes(app, tab, "patch")
    assert report["deltas"] == 0, report
    opens(app, tab, 2)


@case("a version that the origin doesn't know: the whole manifest, and only the files that are new")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2)
    bench.proxy.rules = [("version=1", asks("version=1", "version=77"))]
    bench.proxy.forget()
    takes(app, tab, "whole")
    assert not [path for path in bench.proxy.seen("logo.svg")], "what is held is fetched again"
    opens(app, tab, 2)


@case("an answer whose digest isn't that of its manifest changes nothing")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2)
    bench.proxy.rules = [("configure.json", says(digest="0" * 64))]
    report = tab.update()
    assert report["kind"] == "failed", report
    assert tab.state()["version"] == "1"
    opens(app, tab, 1)


@case("a file with other bytes than the manifest says: the old version stays whole, the origin is told")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2, add={"new.txt": b"new " * 50})
    bench.proxy.rules = [("pack=1", asks("&pack=1", "")), (".dcz", fails()), ("new.txt", flips())]
    # The site would have the right ones.
    del app.web.files["new.txt"]
    report = tab.update()
    assert report["kind"] == "failed" and tab.state()["version"] == "1", report
    until(lambda: [r for r in bench.proxy.log if r.path.startswith("/report") and b"integrity" in r.body], "the report")
    opens(app, tab, 1)
    # Once the file is correct again, the update succeeds.
    bench.proxy.rules = []
    app.hold(tab)


def torn(bench, app, at):
    """Cuts off the first answer with a pack after `at` bytes; later requests, for the rest, are answered."""
    worker, seen = bench.worker(app), []
    worker.eval("""(() => { const proto = ReadableStreamDefaultReader.prototype, { read } = proto;
      proto.read = async function () { const r = await read.call(this); self.taken += r.value?.length ?? 0; return r; }; })()""")

    def act(request, proxy):
        seen.append(request.headers.get("Range"))
        if len(seen) > 1:
            return False
        worker.eval("self.taken = 0")
        status, headers, body = proxy.fetch(request)
        request.send_response(status)
        for name, value in headers:
            if name.lower() != "content-length":
                request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[:at])
        request.wfile.flush()
        # Waits until the worker has read them: a broken stream drops buffered data.
        until(lambda: worker.eval("self.taken") >= at, "the first bytes")
        request.close_connection = True
    return (".xpk", act), seen


@case("a pack that is torn off goes on where it was")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app)
    rule, seen = torn(bench, app, 200)
    bench.proxy.rules = [rule]
    takes(app, tab, "pack")
    assert seen == [None, "bytes=200-"], seen
    opens(app, tab, 2)


@case("an update that was cut off by the end of the worker is made at the next poll")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app)
    held = []

    def hangs(request, proxy):
        held.append(request)
        until(lambda: not bench.proxy.rules, "the end of the rule")
    bench.proxy.rules = [(".xpk", hangs)]
    tab.eval("void xcache.update({force: true})")
    until(lambda: held, "the download")
    bench.stop_worker(tab)
    bench.proxy.rules = []
    takes(app, tab, "pack")
    opens(app, tab, 2)


@case("two tabs that ask at once: one update")
def _(bench):
    app = App(bench)
    first = app.visited()
    other = app.tab()
    other.open(app.base)
    second(bench, app)
    bench.proxy.forget()
    kinds = first.eval("Promise.all([xcache.update({force: true}), xcache.update(), xcache.update()]).then((all) => all.map(({kind}) => kind))")
    assert kinds == ["pack"] * 3, kinds
    assert len(bench.proxy.seen(f"/{app.app}/pack/")) == 1


def apart(bench, app):
    """A visited page whose worker polls once an hour, since steps of a case may take half a minute on a busy machine."""
    bench.proxy.rules = [("configure.json", says(interval=3600))]
    return app.visited()


@case("polls keep the distance that the operator asks for")
def _(bench):
    app = App(bench)
    tab = apart(bench, app)
    bench.proxy.forget()
    report = tab.eval("xcache.update()")
    assert report["kind"] == "early" and not app.polls(), report
    # Also after the worker was stopped.
    bench.stop_worker(tab)
    assert tab.eval("xcache.update()")["kind"] == "early"


@case("the page polls when it is looked at again, and when the network is back, if it is time")
def _(bench):
    app = App(bench)
    tab = apart(bench, app)
    bench.proxy.forget()
    for event in ("document.dispatchEvent(new Event('visibilitychange'))", "dispatchEvent(new Event('online'))"):
        tab.eval(event)
    tab.update()
    assert len(app.polls()) == 1
    # Only the worker's clock is advanced.
    forward(bench, app, 3601)
    tab.eval("dispatchEvent(new Event('online'))")
    until(lambda: len(app.polls()) == 2, "the poll")


@case("nothing new is one small answer")
def _(bench):
    app = App(bench)
    tab = app.visited()
    bench.proxy.forget()
    report = tab.update()
    assert report["kind"] == "nothing" and len(app.polls()) == 1, report


@case("a release that changes headers alone fetches nothing")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(1, headers={"*.html": {"Referrer-Policy": "no-referrer"}})
    bench.proxy.rules = [("pack=1", asks("&pack=1", ""))]
    report = takes(app, tab, "patch")
    assert report["fetched"] == 0 and report["copied"] > 0, report
    app.web.stop()
    tab.open(app.base)
    assert tab.fetch("index.html")["headers"]["referrer-policy"] == "no-referrer"


@case("a rollback: the device goes back, and fetches nothing")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app)
    takes(app, tab, "pack")
    bench.origin.run("rollback", "--app", app.app, "--all-bundles", "--steps", "1")
    app.version = bench.origin.answer(app.app)["version"]
    bench.proxy.rules = [("pack=1", asks("&pack=1", ""))]
    bench.proxy.forget()
    report = tab.update()
    assert report["to"] == app.version == "3" and report["bytes"] == 0, report
    opens(app, tab, 1)
