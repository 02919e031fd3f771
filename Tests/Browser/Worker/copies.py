"""The origin is down, and its static copy is used; and metered networks."""
import random

from bench import App, case, until
from servers import fails, says
from steps import second, opens, mirrored, Copy, forward


@case("the origin is lost: after five polls the copy is asked, which brings an update; then the origin again")
def _(bench):
    copy = Copy(f"{bench.folder}/copy")
    try:
        app = App(bench, fallback=copy.url)
        tab = app.visited()
        second(bench, app)
        mirrored(bench, app)
        # The origin's documents fail; downloads have other URLs.
        bench.proxy.rules = [("configure.json", fails())]
        for count in range(1, 6):
            report = tab.update()
            assert report["kind"] == "failed" and tab.state()["failures"] == count, report
        report = tab.update()
        assert report["source"] == "mirror" and report["to"] == "2", report
        assert copy.seen("version.json") and copy.seen("update/1-2.json"), copy.seen("/")
        # An older copy isn't followed, and after the wait the origin is polled first.
        forward(bench, app, 60)
        bench.proxy.rules = []
        report = tab.update()
        assert report["source"] == "origin" and report["kind"] == "nothing", report
        assert tab.state()["source"] == "origin" and tab.state()["failures"] == 0
        opens(app, tab, 2)
    finally:
        copy.stop()


@case("an older copy moves no device back")
def _(bench):
    copy = Copy(f"{bench.folder}/copy")
    try:
        app = App(bench, fallback=copy.url)
        app.release(1)
        mirrored(bench, app)
        app.release(2)
        tab = app.tab()
        tab.open(app.base)
        app.hold(tab)
        bench.proxy.rules = [("configure.json", fails())]
        for _ in range(5):
            tab.update()
        report = tab.update()
        assert (report["source"], report["kind"], report["to"]) == ("mirror", "nothing", "2"), report
    finally:
        copy.stop()


@case("a first visit while the origin is down: the copy brings the release")
def _(bench):
    copy = Copy(f"{bench.folder}/copy")
    try:
        app = App(bench, fallback=copy.url)
        app.release(1)
        mirrored(bench, app)
        bench.proxy.rules = [("configure.json", fails())]
        tab = app.tab()
        tab.open(app.base)
        until(lambda: tab.update()["source"] == "mirror", "the copy")
        assert tab.state()["version"] == "1"
        bench.proxy.stop()
    finally:
        copy.stop()


@case("an origin whose answers lie, with packs and without, leads to the copy, and is asked no more often than another one")
def _(bench):
    copy = Copy(f"{bench.folder}/copy")
    try:
        for pack in (True, False):
            app = App(bench, fallback=copy.url)
            tab = app.visited()
            second(bench, app)
            mirrored(bench, app)
            garbage = lambda request, proxy: request.answer(b"garbage", headers=[("Access-Control-Allow-Origin", "*")])
            # No manifest has the digest that its answer names; with packs, these are broken as well.
            bench.proxy.rules = [(".xpk", garbage), ("pack=1", lambda request, proxy: False if pack else says(digest="0" * 64, pack=None)(request, proxy)),
                                 (f"configure.json?app={app.app}&", lambda request, proxy: False if "pack=1" in request.path and pack else
                                  says(digest="0" * 64)(request, proxy))]
            bench.proxy.forget()
            for count in range(1, 6):
                report = tab.update()
                assert report["kind"] == "failed" and tab.state()["failures"] == count, (pack, report, tab.state())
            assert len(app.polls()) <= 15, app.polls()
            report = tab.update()
            assert report["source"] == "mirror" and report["to"] == "2", report
            opens(app, tab, 2)
    finally:
        copy.stop()


# -- Metered networks


@case("metered: a small pack is taken just so")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app)
    report = tab.update(metered=True)
    assert report["kind"] == "pack" and tab.state()["backlog"] == 0, report


@case("metered: a large update switches at once, pages fetch what they need, and a free line the rest")
def _(bench):
    lots = random.Random(3)
    app = App(bench)
    tab = app.visited()
    # Each below the limit of 256 KiB, together above it: pages wait for files below it.
    large = lots.randbytes(200_000)
    app.release(2, add={"large.bin": large, "other.bin": lots.randbytes(200_000)})
    bench.proxy.forget()
    bench.worker(app).eval("Object.defineProperty(navigator, 'connection', {value: {type: 'cellular'}, configurable: true})")
    report = tab.update()
    assert report["to"] == "2" and report["bytes"] == 0, report
    assert tab.state()["backlog"] >= 2 and not bench.proxy.seen(".bin"), tab.state()
    app.web.stop()
    tab.open(app.base)
    tab.until("window.version === 2")
    assert tab.fetch("large.bin")["status"] == 200 and len(bench.proxy.seen("large.bin")) == 1
    bench.worker(app).eval("Object.defineProperty(navigator, 'connection', {value: {type: 'wifi'}})")
    tab.update()
    state = tab.state()
    assert state["backlog"] == 0 and state["held"] == state["listed"], state
    assert len(bench.proxy.seen("large.bin")) == 1 and len(bench.proxy.seen("other.bin")) == 1
    bench.proxy.stop()
    assert tab.fetch("other.bin")["status"] == 200


@case("the user's data saver counts as metered")
def _(bench):
    app = App(bench)
    tab = app.visited()
    bench.worker(app).eval("Object.defineProperty(navigator, 'connection', {value: {saveData: true}})")
    app.release(2, add={"large.bin": random.Random(4).randbytes(400_000)})
    report = tab.update()
    assert report["to"] == "2" and tab.state()["backlog"] >= 1, report


@case("metered: after a first visit nobody is asked for what the page hasn't loaded")
def _(bench):
    app = App(bench)
    app.worker = b"Object.defineProperty(navigator, 'connection', {value: {saveData: true}});\n" + app.worker
    app.release(1, add={"other.bin": random.Random(1).randbytes(50_000)})
    tab = app.tab()
    bench.proxy.forget()
    tab.open(app.base)
    until(lambda: tab.update() and tab.state()["version"] == "1", "the version")
    for name in ("other.bin", "lazy-", "help.html"):
        assert not app.web.seen(name) and not bench.proxy.seen(name), name
