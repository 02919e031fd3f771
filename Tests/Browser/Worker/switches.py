"""The operator's switches: kill and bypass."""
import random

from bench import App, case, until
from servers import asks, says
from steps import CACHE, forward, from_the_site, policy, second


@case("the kill switch, for a time: pages are the network's, then the worker's again")
def _(bench):
    app = App(bench)
    tab = app.visited()
    policy(bench, app, "kill", "--for", "6h")
    until(lambda: tab.update() and tab.state()["policy"] > 0, "the policy")
    from_the_site(app, (b"version 1", b"from the site"))
    tab.open(app.base)
    assert tab.title() == "from the site" and tab.controlled()
    held = tab.state()["policy"]
    # Updates continue meanwhile.
    app.release(2)
    app.hold(tab)
    policy(bench, app, "resume")
    until(lambda: tab.update() and tab.state()["policy"] > held, "the policy")
    tab.open(app.base)
    assert tab.title() == "version 2"


@case("the kill switch arrives where the manifest can't be taken")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2)
    bench.proxy.rules = [("policy.json", says(intercept=False, until="2100-01-01T00:00:00Z", version="5")),
                         ("configure.json", says(policy="5", digest="0" * 64))]
    tab.update()
    assert tab.state()["policy"] == 5 and tab.state()["version"] == "1"


@case("the kill switch arrives while a download hangs, once a poll is due, whether it is of a pack or of files")
def _(bench):
    for hanging in (".xpk", "large.bin"):
        app = App(bench)
        tab = app.visited()
        second(bench, app, add={"large.bin": random.Random(1).randbytes(100_000)})
        held = []

        def hangs(request, proxy):
            held.append(request)
            until(lambda: not bench.proxy.rules, "the end of the rule")
            proxy.forward(request)
        rules = [(hanging, hangs), ("pack=1", asks("&pack=1", ""))]
        bench.proxy.rules = rules[:1] if hanging == ".xpk" else rules
        bench.proxy.forget()
        tab.eval("void xcache.update({force: true})")
        until(lambda: held, "the download")
        policy(bench, app, "kill", "--for", "6h")
        # No poll is due yet.
        tab.eval("void xcache.update()")
        assert len(app.polls()) == 1, app.polls()
        forward(bench, app, 40)
        tab.eval("void xcache.update()")
        tab.until("xcache.state().then((state) => state.policy > 0)", seconds=15)
        assert len(app.polls()) == 2 and len(held) == 1, (app.polls(), held)
        from_the_site(app, (b"version 2", b"from the site"))
        tab.open(app.base)
        assert tab.title() == "from the site"
        assert tab.state()["version"] == "1"
        # The running update still completes.
        bench.proxy.rules = []
        tab.until(f"xcache.state().then((state) => state.version === '{app.version}' && state.held === state.listed)", seconds=60)


# Fails all writes from a certain file on until a file is deleted, since an overridden quota doesn't stop small writes.
FULL = """(() => { let isFull = %s; const { put } = IDBObjectStore.prototype, { delete: drop, put: keep } = Cache.prototype;
  const full = () => { throw new DOMException('full', 'QuotaExceededError'); };
  IDBObjectStore.prototype.put = function (...words) { return isFull ? full() : put.call(this, ...words); };
  Cache.prototype.put = async function (url, response) { if (url.includes('large3.bin')) isFull = true; return isFull ? full() : keep.call(this, url, response); };
  Cache.prototype.delete = async function (url) { const gone = await drop.call(this, url); isFull &&= !gone; return gone; }; })()"""
FILES = {f"large{i}.bin": random.Random(i).randbytes(120_000) for i in range(4)}


@case("an update that filled the disk isn't tried again at once by the next worker")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2, add=FILES)
    bench.proxy.rules = [("pack=1", asks("&pack=1", ""))]
    bench.worker(app).eval(FULL % "false")
    assert tab.update()["kind"] == "failed" and tab.state()["version"] == "1"
    bench.stop_worker(tab)
    bench.worker_gone(app)
    bench.proxy.forget()
    assert tab.update()["kind"] == "failed" and not bench.proxy.seen("large"), bench.proxy.seen("large")
    # After the wait there is space.
    forward(bench, app, 1000)
    app.hold(tab)


@case("a kill switch that comes when an update has filled the disk outlives the worker")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2, add=FILES)
    bench.proxy.rules = [("pack=1", asks("&pack=1", "")), ("large3.bin", lambda request, proxy: until(lambda: not bench.proxy.rules, "its end"))]
    tab.eval("void xcache.update({force: true})")
    tab.until(f"(async () => {{ const cache = await {CACHE}; return (await cache.keys()).filter(({{url}}) => /large[012]/.test(url)).length === 3; }})()")
    bench.stop_worker(tab)
    bench.worker_gone(app)
    tab.eval("fetch('/wake')")
    bench.worker(app).eval(FULL % "true")
    policy(bench, app, "kill", "--for", "6h")
    bench.proxy.rules = [("configure.json", says(digest="0" * 64))]
    until(lambda: tab.update() and tab.state()["policy"] > 0, "the policy")
    from_the_site(app, (b"version 2", b"from the site"))
    bench.stop_worker(tab)
    bench.worker_gone(app)
    tab.open(app.base)
    assert tab.title() == "from the site"


@case("a bypassed page and what it asks for are the network's; others aren't")
def _(bench):
    app = App(bench)
    tab = app.visited()
    policy(bench, app, "bypass", "add", app.base + "help*")
    until(lambda: tab.update() and tab.state()["policy"] > 0, "the policy")
    from_the_site(app, (b"help 1", b"help of the site"), (b"svg", b"SVG"))
    tab.open(app.base + "help.html?x=1")
    assert tab.title() == "help of the site" and tab.fetch("logo.svg")["text"].startswith("<SVG")
    tab.open(app.base)
    assert tab.title() == "version 1" and tab.fetch("logo.svg")["text"].startswith("<svg")
    # For pages opened before the worker started, the page's URL decides.
    tab.open(app.base + "help.html")
    bench.stop_worker(tab)
    assert tab.fetch("logo.svg")["text"].startswith("<SVG")
