"""A device heals itself: a version whose first pages fail is left for the one before, at once, and without the network."""
import contextlib, json, os, signal, tempfile, time

from cdp import Browser, CDPError
from bench import App, case, until
from servers import Skipped, fails
from signing import TrustedApp
from lives import ASKS, FILES
from steps import KEPT, forward, lazy_of, lose, policy

THROWS = '<script type="module">throw new Error("of this version")</script>'
# What a page of this shape has, as bundlers make it: nothing until its script has run.
EMPTY = b'<!doctype html><title>version %d</title><link rel="icon" href="data:,"><script src="/xcache.js" defer></script><div id="app"></div>'
DRAWS = b'<script type="module">document.getElementById("app").textContent = "drawn";window.version = %d</script>'
# Takes 20 s at most: a page that hung for ever would keep a processor after the case.
LOOPS = b"const end = Date.now() + 20000; while (Date.now() < end);"


def page(version, script=DRAWS):
    return EMPTY % version + script.replace(b"%d", b"%d" % version)


def updated(bench, **broken):
    """A tab of an app at version 1, which holds a version 2 that is broken; and the app."""
    app = App(bench, goesBack=True)
    tab = app.visited(1, add={"index.html": page(1)})
    app.release(2, add={"index.html": page(2), **broken})
    goes(app, tab, 2)
    bench.proxy.forget()
    return app, tab


def goes(app, tab, version):
    until(lambda: tab.update() and tab.state()["version"] == str(version), f"version {version}")


def told(app):
    """The reports of versions that were left."""
    bodies = [json.loads(entry.body) for entry in list(app.bench.proxy.log) if entry.path.startswith(f"/report?app={app.app}&")]
    return [body for body in bodies if body.get("reason") == "returned"]


def opens(app, tab, version):
    """The page opens at a version, without the site."""
    app.web.stop()
    tab.open(app.base)
    tab.until(f"window.version === {version}")
    app.web.start()


def fails_twice(app, tab):
    for count in range(1, 3):
        tab.open(app.base)
        tab.until(KEPT % ("pages", f"[...kept.values()].filter((page) => page.hasFailed && page.isJudged).length >= {count}"), seconds=30)
        tab.open("about:blank")


def heals(bench, app, tab, cause="page"):
    """The version before is here, offline too; it is told once it came up, and the other one isn't taken again."""
    bench.proxy.stop()
    opens(app, tab, 1)
    state = tab.state()
    assert (state["version"], state["skipped"], state["from"]) == ("1", "2", "device") and "previous" not in state, state
    bench.proxy.start()
    tab.open(app.base)
    bench.proxy.forget()
    report = tab.update()
    assert report["to"] == "1" and tab.state()["version"] == "1", report
    assert "&skip=2" in app.polls()[0], app.polls()
    app.release(3)
    goes(app, tab, 3)
    assert "skipped" not in tab.state()
    tab.open(app.base)
    tab.until("window.version === 3")


@case("a version whose script throws: back at its second page, told when the version before came up, and skipped until a newer one")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, THROWS.encode())})
    assert tab.state()["previous"] == "1"
    fails_twice(app, tab)
    tab.open(app.base)
    tab.until("window.version === 1")
    until(lambda: told(app) == [{"reason": "returned", "version": "2", "url": app.base, "cause": "page"}], "the report")
    heals(bench, app, tab)
    assert told(app) == []


@case("a version whose page stays blank, without an error: back at its second page")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, b"")})
    fails_twice(app, tab)
    heals(bench, app, tab)


@case("a version that lacks a chunk, which the site hasn't either: back at its second page")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, b'<script type="module" src="/assets/gone-0123abcd.js"></script>')})
    fails_twice(app, tab)
    heals(bench, app, tab)


@case("a version that lacks a chunk that it imports: back at its second page")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, b'<script type="module">await import("/assets/gone-0123abcd.js")</script>')})
    fails_twice(app, tab)
    heals(bench, app, tab)


@case("a version that lacks a listed script because of the network says nothing; if there is none, it leads back")
def _(bench):
    for status in (503, 404):
        bench.proxy.rules = []
        late = b'<script type="module" src="/late-0123abcd.js"></script>'
        app, tab = updated(bench, **{"index.html": page(2, late), "late-0123abcd.js": b"window.version = 2"})
        lose(tab, "late-0123abcd")
        bench.stop_worker(tab)
        bench.proxy.rules = [("late-0123abcd", fails(status))]
        app.web.routes["/late-0123abcd.js"] = lambda request: request.answer(b"no", status=status)
        for _ in range(2):
            tab.open(app.base)
            assert tab.title() == "version 2"
            # The worker waits for what a page may still show.
            time.sleep(9)
            tab.open("about:blank")
        tab.open(app.base + "help.html")
        assert tab.until(KEPT % ("manifest", "kept.version")) == ("2" if status == 503 else "1"), status
        if status == 503:
            assert counted(tab) == "0,0"


def hangs(bench, script):
    app, tab = updated(bench, **{"index.html": page(2, script)})
    for count in range(1, 3):
        other = app.tab()
        other.session.send("Page.navigate", url=app.base)
        until(lambda: [t for t in bench.browser.targets("page") if t["url"] == app.base], "the page")
        tab.open(app.base + "help.html")
        tab.until(KEPT % ("pages", "[...kept.values()].filter((page) => page.isMarked && page.isSilent).length === 1"), seconds=30)
        other.close()
        until(lambda: not [t for t in bench.browser.targets("page") if t["url"] == app.base], "its end")
        tab.open(app.base + "help.html")
        tab.until(KEPT % ("heal", f"kept.crashes === {count} || kept.skip === '2'"))
    tab.open(app.base)
    tab.until("window.version === 1")
    until(lambda: told(app) == [{"reason": "returned", "version": "2", "url": app.base, "cause": "start"}], "the report")
    heals(bench, app, tab, "start")


@case("a version whose page loops without an end: back at its second page, when that is closed")
def _(bench):
    hangs(bench, b'<script type="module">' + LOOPS + b"</script>")


@case("a page that hasn't begun says nothing, closed after 10 seconds: what another host keeps, or an ad blocker takes, is no fault of it")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, b"<script>" + LOOPS + b"</script>")})
    for _ in range(2):
        other = app.tab()
        other.session.send("Page.navigate", url=app.base)
        time.sleep(10.5)
        other.close()
        tab.open(app.base + "help.html")
    assert counted(tab) == "0,0"


def crashes(tab):
    """The page's process ends."""
    with contextlib.suppress(CDPError):
        tab.session.send("Page.crash", 2)
    time.sleep(0.5)


def counted(tab):
    """Failures and crashes that the worker has counted."""
    return tab.until(KEPT % ("heal", "String([kept?.failed ?? 0, kept?.crashes ?? 0])"))


def stays(app, tab):
    """What became of the pages so far is looked at as another one opens, and says nothing."""
    for _ in range(2):
        tab.open(app.base + "help.html")
    assert counted(tab) == "0,0"
    tab.open(app.base)
    assert tab.state()["version"] == "2" and counted(tab) == "0,0"


def opened(tab, url):
    """Opens a page, and waits until its script has begun."""
    tab.open(url)
    tab.until(KEPT % ("pages", "[...kept.values()].some((page) => page.isMarked && page.began)"))


@case("a version whose page crashes, and is asked for anew: back at its second crash")
def _(bench):
    app, tab = updated(bench)
    tab.open("about:blank")
    other = app.tab()
    opened(other, app.base)
    for version in (2, 1):
        crashes(other)
        other.reload()
        other.until(f"window.version === {version}")
    assert other.state()["skipped"] == "2"
    until(lambda: told(app) == [{"reason": "returned", "version": "2", "url": app.base, "cause": "start"}], "the report")


@case("a page that crashes, and whose tab is closed, says nothing: it may as well have been left")
def _(bench):
    app, tab = updated(bench)
    for _ in range(4):
        other = app.tab()
        other.open(app.base)
        crashes(other)
        other.close()
        tab.open(app.base + "help.html")
    stays(app, tab)


@case("a page that is left at once says nothing, also while its worker is stopped: 10 times each by a link, a close, and both of a busy page")
def _(bench):
    busy = b"<script>const end = performance.now() + 1200; while (performance.now() < end);</script>"
    app, tab = updated(bench, **{"index.html": page(2, busy + DRAWS)})
    for number in range(40):
        other = app.tab()
        other.session.send("Page.navigate", url=app.base)
        if number % 4 < 2:
            time.sleep(0.3)
        if number % 10 < 5:
            bench.stop_worker(tab)
        if number % 2:
            other.session.send("Page.navigate", url="about:blank")
        other.close()
    stays(app, tab)


@case("a worker that is stopped as its page opens, and a page that is left then, 10 times: no return")
def _(bench):
    app, tab = updated(bench)
    for _ in range(10):
        tab.open(app.base)
        bench.stop_worker(tab)
        tab.open("about:blank")
    stays(app, tab)


@case("10 reloads within 2 seconds, of a page that is open and of one that never was: no return")
def _(bench):
    app, tab = updated(bench)
    for begun in (True, False, True):
        other = app.tab()
        if begun:
            opened(other, app.base)
        else:
            other.session.send("Page.navigate", url=app.base)
        for _ in range(10):
            with contextlib.suppress(CDPError):
                other.session.send("Page.reload")
            time.sleep(0.15)
        other.until("window.version === 2")
        other.close()
    stays(app, tab)


@case("a page that is closed within its first 50 ms, 10 times, and opened anew each time: no return")
def _(bench):
    app, tab = updated(bench)
    for number in range(10):
        other = app.tab()
        other.session.send("Page.navigate", url=app.base)
        time.sleep(number / 200)
        other.close()
        if number % 3 == 2:
            tab.open(app.base + "help.html")
    stays(app, tab)


@case("several tabs: what one is asked for anew says nothing of another one")
def _(bench):
    app, tab = updated(bench)
    tabs = [tab, app.tab(), app.tab()]
    for number in range(9):
        one = tabs[number % 3]
        if number > 2:
            one.reload()
        else:
            one.open(app.base)
        if number % 4 == 3:
            bench.stop_worker(tab)
        other = app.tab()
        other.session.send("Page.navigate", url=app.base)
        other.close()
    stays(app, tab)


@case("a browser that is killed as a page starts, twice: no return, since nothing tells it from a page that was left")
def _(bench):
    app, tab = updated(bench)
    if os.environ.get("ENGINE") == "webkit":
        raise Skipped("another browser's profile")
    with tempfile.TemporaryDirectory() as profile:
        def opens(urls):
            browser = Browser(profile=profile)
            one = browser.new_page()
            for url in urls:
                one.goto(url)
            return browser, one

        def held(one, version):
            state = "xcache.ready.then(() => xcache.update({force: true})).then(() => xcache.state()).then((s) => s.version)"
            until(lambda: one.eval(state) == version, f"version {version}")
        app.release(3)
        browser, one = opens([app.base])
        held(one, "3")
        app.release(4)
        held(one, "4")
        # Until it is on the disk.
        time.sleep(3)
        browser.close()
        for _ in range(3):
            browser, one = opens([app.base])
            state = one.eval("xcache.ready.then(() => xcache.state())")
            assert (state["version"], state["page"], state.get("previous")) == ("4", "4", "3"), state
            os.killpg(browser.process.pid, signal.SIGKILL)
            browser.process.wait(10)
            browser.close()


@case("a page that came up and lived 10 seconds proves its version: the way back ends, and failures say nothing of it any more")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, DRAWS + b'<script type="module">if (location.search) throw 0</script>')})
    tab.open(app.base)
    tab.until("window.version === 2")
    assert tab.state()["previous"] == "1"
    tab.until("xcache.state().then((state) => state.previous === undefined)", seconds=30)
    tab.until(KEPT % ("before", "kept === undefined"))
    for _ in range(3):
        tab.open(app.base + "?1")
    assert tab.state()["version"] == "2"


@case("the version before stays whole for more than a day, until the new one has proved itself, and goes then like all that is set aside")
def _(bench):
    app, tab = updated(bench)
    lazy = lazy_of(app, 1).split("/")[1]
    tab.open(app.base + "help.html")
    forward(bench, app, 25 * 3600)
    for _ in range(2):
        tab.eval(ASKS)
        assert any(lazy in url for url in tab.eval(FILES))
    tab.open(app.base)
    assert tab.eval("xcache.confirm()") is True
    tab.open(app.base + "help.html")
    tab.until(f"{ASKS}.then(() => {FILES}).then((files) => !files.some((url) => url.includes('{lazy}')))")


@case("pages that are closed in order, or soon, say nothing against a version; one that came up ends the count of failures")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, DRAWS + b'<script type="module">if (location.search) { app.remove(); throw new Error("x"); }</script>')})
    tab.open(app.base + "?1")
    tab.until(KEPT % ("heal", "kept.failed === 1"), seconds=30)
    for _ in range(5):
        tab.session.send("Page.navigate", url=app.base)
        tab.open("about:blank")
    tab.open(app.base)
    tab.until("window.version === 2")
    for _ in range(3):
        tab.open(app.base + "?1")
        tab.open("about:blank")
    tab.open(app.base)
    state = tab.state()
    assert state["version"] == "2" and state["previous"] == "1", state


@case("a page that shows late what an error seemed to have kept from it isn't one that failed")
def _(bench):
    late = b'<script type="module">setTimeout(() => { app.innerHTML = "<p>drawn</p>"; window.version = 2; }, 1500); throw new Error("none of it")</script>'
    app, tab = updated(bench, **{"index.html": page(2, late)})
    for _ in range(3):
        tab.open(app.base)
        tab.until("window.version === 2")
    assert tab.state()["version"] == "2"


LATE = b'<script type="module">setTimeout(() => { app.innerHTML = "<p>drawn</p>"; window.version = %d; }, 1500); throw new Error("none of it")</script>'


@case("a page that is left before it is certain that it failed says nothing, by a link, another site, or while another one opens")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, LATE)})
    for number in range(4):
        tab.open(app.base)
        time.sleep(0.5)
        tab.open(app.base + "help.html" if number % 2 else "about:blank")
    tabs = [app.tab() for _ in range(3)]
    for other in tabs:
        other.session.send("Page.navigate", url=app.base)
        time.sleep(0.4)
    for other in tabs:
        other.until("window.version === 2")
        other.close()
    stays(app, tab)


def shows(bench, script, seconds=21):
    """Two pages that are looked at until it would be certain that they are blank say nothing."""
    app, tab = updated(bench, **{"index.html": page(2, script)})
    for _ in range(2):
        tab.open(app.base)
        time.sleep(seconds)
        tab.open("about:blank")
    tab.open(app.base)
    state = tab.state()
    assert state["version"] == "2" and "skipped" not in state, state


@case("a page whose app is in a shadow root, or is a text field, or a picture of the stylesheet, isn't blank")
def _(bench):
    shows(bench, b"""<my-app></my-app><script type="module">customElements.define("my-app", class extends HTMLElement {
        connectedCallback() { this.attachShadow({mode: "open"}).innerHTML = "<h1>An app</h1>"; Promise.reject(new Error("harmless")) } })</script>""")
    for element in (b'<textarea style="width:90vw;height:90vh"></textarea>', b'<div contenteditable style="height:90vh"></div>',
                    b'<div style="width:100vw;height:100vh;background:url(/logo.svg)"></div>'):
        app, tab = updated(bench, **{"index.html": page(2, element)})
        tab.open(app.base)
        tab.until(KEPT % ("pages", "[...kept.values()].some((page) => page.isBare === false && page.isUp)"))


@case("a page that has nothing to be seen is blank: a hidden picture, field or frame, or one pixel")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, b'<svg style="display:none"><symbol id="a"></symbol></svg><input type="hidden">'
                                                       b'<img src="/logo.svg" width="1" height="1"><iframe width="0" height="0" frameborder="0"></iframe>')})
    fails_twice(app, tab)
    opens(app, tab, 1)


@case("a page that waits 9 seconds for its data, or goes elsewhere then, isn't blank")
def _(bench):
    shows(bench, b'<script type="module">setTimeout(() => (app.textContent = "drawn"), 9000)</script>', 11)


@case("a script of another host that is blocked, and an own one that an ad blocker takes, are no fault of the version")
def _(bench):
    lost = b'<script defer src="http://localhost:9/gtag.js"></script><script type="module">gtag()</script>'
    taken = b'<div>Loading</div><script defer src="/analytics/track.js"></script>'
    for script in (lost, taken):
        app, tab = updated(bench, **{"index.html": page(2, script)})
        app.web.files["analytics/track.js"] = b"1"
        tab.session.send("Network.setBlockedURLs", urls=["*track.js*"])
        for _ in range(2):
            tab.open(app.base)
            time.sleep(6)
            tab.open("about:blank")
        stays(app, tab)
        tab.session.send("Network.setBlockedURLs", urls=[])


@case("a version that says that it loads, and lacks a chunk that it imports: back at its second page")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, b'<p>Loading</p><script type="module">await import("/assets/gone-0123abcd.js")</script>')})
    fails_twice(app, tab)
    opens(app, tab, 1)


@case("a page that waits for its user says nothing, closed or open; nor does one of the network, whatever its app says")
def _(bench):
    asks = DRAWS + b'<script type="module">setTimeout(() => confirm("Really?"), 500)</script>'
    app, tab = updated(bench, **{"index.html": page(2, asks)})
    for _ in range(2):
        tab.open(app.base + "help.html")
        other = app.tab()
        other.session.send("Page.enable")
        other.session.send("Page.navigate", url=app.base)
        time.sleep(11)
        other.close()
        tab.open(app.base + "help.html")
        assert counted(tab) == "0,0"
    tab.session.send("Page.reload", ignoreCache=True)
    time.sleep(2)
    assert tab.eval("typeof xcache") == "undefined" or tab.eval("xcache.reject()") is False


@case("a version whose page loads itself again and again: back at its sixth")
def _(bench):
    if os.environ.get("ENGINE") == "webkit":
        raise Skipped("no event says so")
    loops = b'<script type="module">import("/assets/gone-0123abcd.js").catch(() => location.reload())</script>'
    app, tab = updated(bench, **{"index.html": page(2, loops)})
    tab.session.send("Page.navigate", url=app.base)
    tab.until("window.version === 1", seconds=30)


@case("a version whose script throws, in tabs that nobody looks at: back at its second page")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, THROWS.encode())})
    for count in range(1, 3):
        target = bench.browser.root.send("Target.createTarget", url=app.base, background=True)["targetId"]
        tab.until(KEPT % ("heal", f"kept.failed === {count} || kept.skip === '2'"), seconds=30)
        bench.browser.root.send("Target.closeTarget", targetId=target)
    opens(app, tab, 1)


@case("the version before fails as well: the skip is lifted, nothing is told, and the other one is taken again and not left")
def _(bench):
    app = App(bench, goesBack=True)
    # As where the site's own servers are down.
    asks = b'<script type="module">if (!(await fetch("/api")).ok) throw new Error("no data"); app.textContent = "drawn"; window.version = %d</script>'
    app.web.routes["/api"] = lambda request: request.answer(b"{}")
    tab = app.visited(1, add={"index.html": page(1, asks)})
    app.release(2, add={"index.html": page(2, asks)})
    goes(app, tab, 2)
    app.web.routes["/api"] = lambda request: request.answer(b"no", status=503)
    bench.proxy.forget()
    fails_twice(app, tab)
    tab.open(app.base)
    tab.until("document.title === 'version 1'")
    tab.until(KEPT % ("heal", "kept.spared === '2' && !kept.skip"), seconds=20)
    goes(app, tab, 2)
    for _ in range(3):
        tab.open(app.base)
        tab.open("about:blank")
    tab.open(app.base)
    assert tab.state()["version"] == "2" and not told(app)


@case("the app says it itself: confirm() ends the way back, reject() takes it")
def _(bench):
    app, tab = updated(bench)
    tab.open(app.base)
    assert tab.eval("xcache.confirm()") is True
    assert "previous" not in tab.state() and tab.eval("xcache.reject('why not')") is False
    app.release(3)
    goes(app, tab, 3)
    tab.eval("xcache.on('updated', (report) => { window.report = report; }); true")
    # This page is of the version before.
    assert tab.eval("xcache.reject('not mine')") is False
    tab.open(app.base)
    tab.eval("xcache.on('updated', (report) => { window.report = report; }); true")
    assert tab.eval("xcache.reject('no cart')") is True
    assert tab.until("window.report")["kind"] == "returned"
    # What is open keeps its files.
    app.web.stop()
    assert tab.eval("lazy()") == "lazy 3"
    app.web.start()
    tab.open(app.base)
    tab.until("window.version === 2")
    until(lambda: [one["cause"] for one in told(app)] == ["rejected"], "the report")


@case("there is no way back to what the operator rolled back, nor from a first version")
def _(bench):
    app = App(bench, goesBack=True)
    tab = app.visited(1)
    assert "previous" not in tab.state()
    app.release(2)
    goes(app, tab, 2)
    bench.origin.run("rollback", "--app", app.app, "--to", "1", "--yes")
    goes(app, tab, 3)
    state = tab.state()
    assert "previous" not in state, state
    tab.open(app.base)
    assert tab.eval("xcache.reject()") is False


@case("a kill switch that came with the version that failed stays in force")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, THROWS.encode())})
    policy(bench, app, "kill", "--for", "6h")
    fails_twice(app, tab)
    until(lambda: tab.tries(app.base) and tab.update() and tab.state()["policy"] > 0, "the policy")
    tab.open(app.base)
    assert tab.state()["why"] == "killed"


@case("a way back outlives the worker, and a further version before the proof keeps the one that was proved")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, THROWS.encode())})
    app.release(3, add={"index.html": page(3, THROWS.encode())})
    goes(app, tab, 3)
    assert tab.state()["previous"] == "1"
    for count in range(1, 3):
        bench.stop_worker(tab)
        tab.open(app.base)
        tab.until(KEPT % ("heal", f"kept.failed === {count} || kept.skip === '3'"), seconds=30)
        tab.open("about:blank")
    bench.stop_worker(tab)
    app.web.stop()
    bench.proxy.stop()
    tab.open(app.base)
    tab.until("document.title === 'version 1'")
    assert tab.state()["skipped"] == "3"


@case("a disk limit without room for both: the version before is given up, and nothing else")
def _(bench):
    import random
    app = App(bench, goesBack=True, limit=300_000)
    tab = app.visited(1, add={"large.bin": random.Random(1).randbytes(150_000)})
    app.release(2, add={"large.bin": random.Random(2).randbytes(200_000)})
    goes(app, tab, 2)
    state = tab.state()
    assert "previous" not in state and state["held"] == state["listed"], state
    # What hasn't proved itself is none to go back to.
    app.release(3, add={"large.bin": random.Random(2).randbytes(200_000)})
    goes(app, tab, 3)
    assert "previous" not in tab.state()
    tab.open(app.base)
    assert tab.eval("xcache.confirm()") is True
    app.release(4, add={"large.bin": random.Random(2).randbytes(200_000)})
    goes(app, tab, 4)
    assert tab.state()["previous"] == "3"


@case("with a root: back to what its publisher signed, and never below a floor")
def _(bench):
    app = TrustedApp(bench, goesBack=True)
    tab = app.visited(1)
    source = app.source
    app.release(2, add={"index.html": page(2, THROWS.encode())})
    goes(app, tab, 2)
    fails_twice(app, tab)
    opens(app, tab, 1)
    assert tab.state()["skipped"] == "2"
    # What is held was checked: a patch over it is enough.
    app.release(3)
    bench.proxy.forget()
    goes(app, tab, 3)
    assert f"&version=1&" in app.polls()[0] and "&skip=2" in app.polls()[0], app.polls()
    # A root that raises the floor above what version 3 was signed with.
    tab.open(app.base)
    tab.eval("xcache.confirm()")
    app.release(4)
    goes(app, tab, 4)
    source.roots.append(source.root("2", floors={"main": source.serial, "help": source.serial}))
    until(lambda: tab.update() and tab.until(KEPT % ("trust", "kept.root.number")) == "2", "the root")
    tab.open(app.base)
    state = tab.state()
    assert state["previous"] == "3" and tab.eval("xcache.reject()") is False and tab.state()["version"] == "4"


@case("50 openings of a version that works, on a slow processor and whatever ends them: no return")
def _(bench):
    app, tab = updated(bench, **{"index.html": page(2, DRAWS + b'<script type="module">import("/assets/none.js").catch(() => {})</script>')})
    tab.session.send("Emulation.setCPUThrottlingRate", rate=4)
    for number in range(50):
        style = number % 5
        if style == 0:
            tab.open(app.base)
        elif style == 1:
            # Left at once.
            tab.session.send("Page.navigate", url=app.base + "?left")
        elif style == 2:
            tab.open(app.base + "?again")
        else:
            other = app.tab()
            if style == 3:
                other.open(app.base)
            else:
                other.session.send("Page.navigate", url=app.base)
            other.close()
        if number % 10 == 9:
            bench.stop_worker(tab)
    tab.open(app.base)
    tab.until("window.version === 2")
    state = tab.state()
    assert state["version"] == "2" and "skipped" not in state, state
    assert tab.until(KEPT % ("heal", "String([kept.failed ?? 0, kept.crashes ?? 0])")) == "0,0"
