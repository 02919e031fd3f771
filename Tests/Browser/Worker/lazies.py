"""Lazy files: entries that say so are fetched when a page asks for them, and not before."""
import hashlib, json, urllib.parse

from bench import App, case, until
from servers import fails
from steps import opens

MAPS = {"maps/a.bin": b"map a of version %d", "maps/b.bin": b"map b of version %d"}


class Lazy(App):
    """An app with lazy files; its manifests get the member on their way, so that any origin will do."""

    def __init__(self, bench, **settings):
        super().__init__(bench, **settings)
        self.lazy = list(MAPS)
        bench.proxy.rules = [(f"configure.json?app={self.app}&", self.answers)]

    def release(self, version, *words, add=None, **more):
        return super().release(version, *words, add={name: text % version for name, text in MAPS.items()} | (add or {}), **more)

    def answers(self, request, proxy):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)
        data = self.bench.origin.answer(self.app)
        data.pop("first", None)
        for name in self.lazy:
            data["resourcemap"][self.base + name]["lazy"] = True
        text = json.dumps(data["resourcemap"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        data["digest"] = hashlib.sha256(text.encode()).hexdigest()
        if query.get("digest") == [data["digest"]]:
            data = {name: data[name] for name in ("policy", "prefetch", "version") if name in data} | {"update": False}
        request.answer(json.dumps({"code": 200, "data": data}).encode(), "application/json", headers=[("Access-Control-Allow-Origin", "*")])

    def asked(self):
        """Requests for lazy files that came to the origin or to the site."""
        return [path for path in self.bench.proxy.seen("/maps") + self.bench.proxy.seen("maps%") + self.web.seen("/maps/")]

    def holds(self, tab, version):
        """Waits until the worker has a version and all files that aren't lazy."""
        return until(lambda: (tab.update(), state := tab.state())[1]["version"] == version
                     and state["held"] + state["lazy"] == state["listed"] and state, f"version {version}")


def first(bench):
    """A tab whose page the worker answered, without the lazy files."""
    app = Lazy(bench)
    app.release(1)
    tab = app.tab()
    tab.open(app.base)
    state = app.holds(tab, app.version)
    assert state["lazy"] == 2 and state["backlog"] == 0, state
    tab.open(app.base)
    assert tab.controlled()
    return app, tab


@case("lazy files: a first visit fetches none, and a page gets what it asks for, once")
def _(bench):
    app, tab = first(bench)
    assert app.asked() == [], app.asked()
    assert tab.fetch("/maps/a.bin")["text"] == "map a of version 1"
    assert len(app.asked()) == 1, app.asked()
    until(lambda: tab.state()["lazy"] == 1, "the file in the store")
    bench.stop_worker(tab)
    opens(app, tab, 1)
    bench.proxy.stop()
    assert tab.fetch("/maps/a.bin")["text"] == "map a of version 1"
    assert "error" in tab.fetch("/maps/b.bin")


@case("lazy files: after a release, one that was held comes behind the switch, and no other")
def _(bench):
    app, tab = first(bench)
    tab.fetch("/maps/a.bin")
    until(lambda: tab.state()["lazy"] == 1, "the file in the store")
    app.release(2)
    bench.proxy.forget()
    app.web.forget()
    report = tab.update()
    assert report["to"] == app.version, report
    until(lambda: tab.state()["lazy"] == 1, "the file behind the switch")
    assert [path for path in app.asked() if "b.bin" in path] == [] and tab.state()["backlog"] == 0
    opens(app, tab, 2)
    assert tab.fetch("/maps/a.bin")["text"] == "map a of version 2"


@case("lazy files: pages are told of a version before what follows it has come")
def _(bench):
    app, tab = first(bench)
    tab.fetch("/maps/a.bin")
    until(lambda: tab.state()["lazy"] == 1, "the file in the store")
    app.release(2)
    over = []

    def hangs(request, proxy):
        until(lambda: over, "the end of the wait", 600)
        return False
    bench.proxy.rules = [("maps%", hangs), *bench.proxy.rules]
    app.web.routes["/maps/a.bin"] = lambda request: until(lambda: over, "the end of the wait", 600) and request.answer(b"not here", status=404)
    tab.eval("xcache.on('updated', ({ to }) => { window.told = to; }); void xcache.update({ force: true })")
    assert tab.until("window.told", seconds=30) == app.version
    tab.open(app.base)
    tab.until("window.version === 2")
    assert tab.state()["lazy"] == 2 and tab.state()["backlog"] == 1, tab.state()
    over.append(True)
    until(lambda: tab.state()["lazy"] == 1, "the file behind the switch")


@case("lazy files: one that nobody has keeps no version, and waits for a page that asks")
def _(bench):
    app, tab = first(bench)
    tab.fetch("/maps/a.bin")
    until(lambda: tab.state()["lazy"] == 1, "the file in the store")
    app.release(2)
    bench.proxy.rules = [("maps%", fails(404)), *bench.proxy.rules]
    del app.web.files["maps/a.bin"]
    report = tab.update()
    assert report["to"] == app.version and report["kind"] == "whole", report
    until(lambda: tab.state()["backlog"] == 0, "the end of the backlog")
    assert tab.update()["kind"] == "nothing"
    opens(app, tab, 2)


@case("lazy files: what a metered line left, and is lazy by the next release, isn't fetched")
def _(bench):
    app, tab = first(bench)
    app.release(2, add={"data.txt": b"data"})
    report = tab.update(metered=True)
    assert report["to"] == app.version and tab.state()["backlog"] > 0, report
    app.lazy.append("data.txt")
    app.release(3, add={"data.txt": b"data"})
    bench.proxy.forget()
    app.web.forget()
    app.holds(tab, app.version)
    until(lambda: (tab.update(), tab.state())[1]["backlog"] == 0, "the end of the backlog")
    assert tab.state()["lazy"] == 3
    assert not bench.proxy.seen("data.txt") + app.web.seen("data.txt")
    assert tab.fetch("/data.txt")["text"] == "data"
