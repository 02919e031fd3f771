"""Pages that stay open during releases."""
import random

from bench import App, case
from servers import Skipped, says
from steps import CACHE, second, takes, forward, lazy_of, lose

# Makes the worker poll, from a page without xcache.js; and what is held.
ASKS = """new Promise(async (done) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = done;
  (await navigator.serviceWorker.ready).active.postMessage({xcache: {ask: 'update', force: true}}, [port2]); }).then(() => true)"""
FILES = f"(async () => (await (await {CACHE}).keys()).map((k) => k.url))()"


@case("a page of version A, with B and C published and A's files gone from the site: its lazy chunks load")
def _(bench):
    app = App(bench)
    tab = app.visited(1)
    for version in (2, 3):
        second(bench, app, version)
        takes(app, tab, "pack")
    lazy = lazy_of(app, 1)
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
    lazy = lazy_of(app, 1)
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
    lazy = lazy_of(app, 2)
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
    lazy = lazy_of(app, 1)
    assert tab.fetch(lazy)["status"] == 200
    bench.proxy.rules = [("policy.json", says(bypass=[app.base + "*"], version="5")), ("configure.json", says(policy="5"))]
    tab.update()
    assert tab.fetch(lazy)["status"] == 404
    bench.proxy.rules = [("policy.json", says(intercept=False, until="2100-01-01T00:00:00Z", version="6")), ("configure.json", says(policy="6"))]
    tab.update()
    assert tab.fetch(lazy)["status"] == 404 and tab.state()["aside"] == 0


@case("a day after the switch what was set aside is dropped, but for what an open page may still ask for")
def _(bench):
    app = App(bench)
    tab = app.visited(1)
    second(bench, app, 2)
    takes(app, tab, "pack")
    lazy = lazy_of(app, 1)
    other = app.tab()
    # Until the new version has proved itself, the one before stays whole.
    other.open(app.base)
    assert other.eval("xcache.confirm()") is True
    other.open(app.base + "help.html")
    forward(bench, app, 25 * 3600)
    for _ in range(2):
        other.eval(ASKS)
        assert tab.fetch(lazy)["status"] == 200 and tab.eval("lazy()") == "lazy 1"
    assert other.fetch(lazy)["status"] == 404
    # One that isn't held any more comes from its download.
    lose(tab, lazy.split("/")[1])
    bench.stop_worker(tab)
    other.eval("fetch('/wake').then(() => true)")
    forward(bench, app, 25 * 3600)
    bench.proxy.forget()
    assert tab.fetch(lazy)["status"] == 200 and bench.proxy.seen(lazy.split("/")[1])
    tab.open("about:blank")
    other.until(f"{ASKS}.then(() => {FILES}).then((files) => !files.some((url) => url.includes('{lazy.split('/')[1]}')))")


@case("a full disk takes the files of an open page's version, and they come from their downloads")
def _(bench):
    app = App(bench, limit=250_000)
    tab = app.visited(1)
    app.release(2, add={"large.bin": random.Random(1).randbytes(200_000)})
    app.hold(tab)
    app.release(3, add={"large.bin": random.Random(2).randbytes(200_000)})
    app.hold(tab)
    lazy = lazy_of(app, 1)
    tab.until(f"{FILES}.then((files) => !files.some((url) => url.includes('{lazy.split('/')[1]}')))")
    assert tab.state()["page"] == "1" and tab.fetch(lazy)["status"] == 200 and tab.eval("lazy()") == "lazy 1"


@case("a web worker of an open page is of the page's version: what it imports later loads")
def _(bench):
    app = App(bench)
    part = {1: "assets/part-1a2b3c4d.js", 2: "assets/part-5e6f7a8b.js"}
    job = "onmessage = () => { importScripts('%s'); postMessage(part); };"
    files = lambda version: {"job.js": (job % part[version]).encode(), part[version]: f"self.part = 'part {version}';".encode()}
    app.release(1, add=files(1))
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    tab.eval("window.job = new Worker('job.js'); true")
    app.release(2, add=files(2))
    app.hold(tab)
    assert part[1] not in app.web.files
    said = "new Promise((done) => { job.onmessage = ({data}) => done(data); job.onerror = () => done('error'); job.postMessage(0); })"
    assert tab.eval(said) == "part 1"


@case("a page that the back button brings again, without opening anew, keeps its version")
def _(bench):
    app = App(bench)
    tab = app.visited(1, extra='<a id="to" href="plain.html">on</a>', add={"plain.html": b"<!doctype html><title>plain</title>"})
    tab.mark()
    tab.eval("document.getElementById('to').click()")
    tab.until("document.title === 'plain'")
    other = app.tab()
    other.open(app.base)
    forward(bench, app, 120)
    app.release(2)
    app.hold(other)
    tab.eval("history.back()")
    tab.until("document.title.startsWith('version') && document.readyState === 'complete'")
    if not tab.is_marked():
        raise Skipped("this browser keeps no pages for the back button here")
    assert tab.eval("lazy()") == "lazy 1"
