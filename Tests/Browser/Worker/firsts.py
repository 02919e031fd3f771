"""First packs: what a first visit hasn't loaded comes in one request, as the answer's `first` says."""
import base64, functools, hashlib, json, os, subprocess, sys

from bench import App, case, filler, until
from servers import fails, flips
from steps import KEPT, opens

ENCODER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Conformance/make")
ENCODE = """
import base64, json, sys
from packs import first_pack
pack, ends = first_pack(1, [base64.b64decode(file) for file in json.load(sys.stdin)])
json.dump([base64.b64encode(pack).decode(), ends], sys.stdout)
"""
IS_WEBKIT = os.environ.get("ENGINE") == "webkit"
CORS = ("Access-Control-Allow-Origin", "*")


@functools.cache
def python():
    """A Python with the package zstandard. Debian's packages are for Debian's Python; another one may come first in PATH."""
    return next(one for one in (sys.executable, "/usr/bin/python3") if not subprocess.run([one, "-c", "import zstandard"], stderr=subprocess.DEVNULL).returncode)


def first_pack(files):
    """A first pack of version 1, and for each file the offset by which all its bytes have come."""
    given = json.dumps([base64.b64encode(file).decode() for file in files])
    made = subprocess.run([python(), "-c", ENCODE], input=given, capture_output=True, text=True, cwd=ENCODER, check=True)
    pack, ends = json.loads(made.stdout)
    return base64.b64decode(pack), ends


def chunks(count, lines=40):
    """Files that no page asks for by itself."""
    return {f"chunks/{number}.js": f"export default {number};\n{filler(f'chunk {number}', lines)}".encode() for number in range(count)}


class Packed(App):
    """An app whose whole manifests name a first pack of the published files, whatever the origin makes."""

    def __init__(self, bench, more=None, without=(), **settings):
        super().__init__(bench, **settings)
        self.more = chunks(9) if more is None else more
        self.release(1, add=self.more)
        data = bench.origin.answer(self.app)
        entries = {url: entry for url, entry in data["resourcemap"].items() if url.removeprefix(self.base) not in without}
        # Pages first, and each file once.
        order = sorted(entries, key=lambda url: (not url.endswith(".html"), url))
        listed = {entries[url]["sha256"]: self.web.files[url.removeprefix(self.base) or "index.html"] for url in order}
        self.pack, self.ends = first_pack(list(listed.values()))
        self.place = f"/xcache/{self.app}/pack/0-1-{hashlib.sha256(self.pack).hexdigest()[:16]}.xpk"
        self.offer = {"download": bench.origin.url + self.place, "size": len(self.pack)}
        self.rules = [(f"configure.json?app={self.app}&", self.answers), (self.place, self.gives)]
        bench.proxy.rules = [*self.rules]

    def answers(self, request, proxy):
        data = self.bench.origin.answer(self.app, "" if "version=" not in request.path else "&" + request.path.split("&", 1)[1])
        if "resourcemap" in data:
            data["first"] = self.offer
        request.answer(json.dumps({"code": 200, "data": data}).encode(), "application/json", headers=[CORS])

    def gives(self, request, proxy):
        begin = int((request.headers.get("Range") or "bytes=0-")[6:-1])
        request.answer(self.pack[begin:], "application/octet-stream", status=206 if begin else 200, headers=[CORS])

    def asked(self):
        """What came to the origin: polls, packs, files."""
        paths = [request.path for request in list(self.bench.proxy.log) if request.command == "GET"]
        return ([path for path in paths if f"configure.json?app={self.app}&" in path], [path for path in paths if path == self.place],
                [path for path in paths if path.startswith("/xcache/") and ("chunks%" in path or "help.html" in path)])

    def visits(self):
        """A first visit, until all files are held; returns its tab."""
        self.bench.proxy.forget()
        self.web.forget()
        tab = self.tab()
        tab.open(self.base)
        self.hold(tab)
        return tab


def works(app, tab):
    """The page and its chunks come from the device."""
    tab.until("navigator.serviceWorker.controller !== null")
    opens(app, tab, 1)
    assert tab.eval("import('/chunks/3.js').then((m) => m.default)") == 3


@case("first packs: what the page hasn't loaded comes in one request")
def _(bench):
    app = Packed(bench)
    tab = app.visits()
    polls, packs, files = app.asked()
    assert len(packs) == 1 and not files, (packs, files)
    # What the page had loaded wasn't asked for again.
    loaded = [path for path in app.web.seen("/") if "xcache-sw" not in path]
    assert not [path for path in loaded if "chunks" in path or "help" in path], loaded
    if not IS_WEBKIT:
        assert len(loaded) == len(set(loaded)), loaded
    works(app, tab)


@case("first packs: a site's page that is of another release isn't taken for one of this")
def _(bench):
    app = Packed(bench)
    app.web.files["index.html"] = app.web.files["index.html"].replace(b"version 1", b"from the site")
    tab = app.visits()
    assert len(app.asked()[1]) == 1 and not tab.controlled()
    app.web.stop()
    tab.open(app.base)
    assert tab.title() == "version 1"


@case("first packs: one that is damaged is left, and the rest comes one by one")
def _(bench):
    app = Packed(bench)
    app.pack = bytearray(app.pack)
    app.pack[app.ends[len(app.ends) // 2] + 5] ^= 0x40
    app.pack = bytes(app.pack)
    tab = app.visits()
    _, packs, files = app.asked()
    assert len(packs) == 1 and 0 < len(files) < len(app.more), (packs, files)
    works(app, tab)


@case("first packs: one that isn't there")
def _(bench):
    app = Packed(bench)
    bench.proxy.rules = [(app.place, fails(404)), *app.rules]
    tab = app.visits()
    assert len(app.asked()[2]) >= len(app.more), app.asked()
    works(app, tab)


@case("first packs: one that lacks files")
def _(bench):
    app = Packed(bench, without=["chunks/3.js", "help.html"])
    tab = app.visits()
    _, packs, files = app.asked()
    assert len(packs) == 1 and len(files) == 2, (packs, files)
    works(app, tab)


@case("first packs: none where it costs more than what is left, or three files are")
def _(bench):
    app = Packed(bench)
    app.offer = {**app.offer, "size": 10_000_000}
    tab = app.visits()
    assert not app.asked()[1] and len(app.asked()[2]) >= len(app.more), app.asked()
    works(app, tab)
    if IS_WEBKIT:
        return
    few = Packed(bench, more=chunks(1, 400))
    few.visits()
    assert not few.asked()[1], few.asked()


def tears(app, at, then=None):
    """Cuts off the first answer with the pack after `at` bytes."""
    seen = []

    def act(request, proxy):
        seen.append(request.headers.get("Range"))
        if len(seen) > 1:
            return False
        request.send_response(200)
        for name, value in ("Content-Type", "application/octet-stream"), ("Content-Length", str(len(app.pack))), CORS:
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(app.pack[:at])
        request.wfile.flush()
        (then or (lambda: None))()
        request.close_connection = True
    return (app.place, act), seen


# The files that are kept, once some of the pack are among them.
CHUNKS = """caches.keys().then(async ([name]) => { const all = name ? (await (await caches.open(name)).keys()).map(({ url }) => url) : [];
  return all.filter((url) => url.includes('chunks')).length > 3 && all; })"""


@case("first packs: one that is torn off goes on where it was")
def _(bench):
    app = Packed(bench)
    tab = app.tab()
    held = []
    rule, seen = tears(app, app.ends[-5], lambda: until(lambda: held, "the first files", 600))
    bench.proxy.rules = [rule, *app.rules]
    bench.proxy.forget()
    tab.open(app.base)
    # What was decoded is kept by then, and what came is known to the worker.
    held.append(tab.until(CHUNKS))
    app.hold(tab)
    assert len(seen) == 2 and seen[0] is None and seen[1].startswith("bytes="), seen
    assert not app.asked()[2], app.asked()
    works(app, tab)


@case("first packs: what came before the worker's end is held, and isn't taken again")
def _(bench):
    app = Packed(bench)
    tab = app.tab()
    held = []

    def hangs():
        until(lambda: held, "the worker's end", 600)
    rule, seen = tears(app, app.ends[-5], hangs)
    bench.proxy.rules = [rule, *app.rules]
    tab.open(app.base)
    kept = tab.until(CHUNKS)
    assert tab.eval(KEPT % ("begun", "kept?.count")) == 1
    bench.stop_worker(tab)
    held.append(True)
    bench.proxy.forget()
    app.hold(tab)
    _, packs, files = app.asked()
    again = [path for path in files if any(url.endswith(path) for url in kept)]
    assert not again, again
    works(app, tab)


@case("first packs: metered, one above the limit isn't asked for, and a small one is")
def _(bench):
    saves = b"Object.defineProperty(navigator, 'connection', {value: {saveData: true}});\n"
    for limit in (1000, 1_000_000):
        app = Packed(bench, meteredLimit=limit)
        app.worker = saves + app.worker
        app.deploy({**app.files(1), **app.more})
        bench.proxy.forget()
        tab = app.tab()
        tab.open(app.base)
        tab.until(f"xcache.ready.then(() => xcache.update()).then(() => xcache.state()).then(({{ version }}) => version === '1')")
        _, packs, files = app.asked()
        assert len(packs) == (1 if limit > 1000 else 0) and not files, (limit, packs, files)
        state = tab.state()
        assert (state["held"] == state["listed"]) == (limit > 1000), state


@case("first packs: a full quota keeps what came, and pages fetch the rest")
def _(bench):
    app = Packed(bench)
    # Cache Storage has no room after six files.
    app.worker = (b"let puts = 0; const { put } = Cache.prototype; Cache.prototype.put = function (...all) {"
                  b" return ++puts > 9 ? Promise.reject(new DOMException('no room', 'QuotaExceededError')) : put.apply(this, all); };\n") + app.worker
    app.deploy({**app.files(1), **app.more})
    tab = app.tab()
    tab.open(app.base)
    tab.until("xcache.ready.then(() => xcache.update()).then(() => xcache.state()).then(({ version }) => version === '1')")
    state = tab.state()
    assert 0 < state["held"] < state["listed"] and state["backlog"] == state["listed"] - state["held"], state
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.eval("import('/chunks/8.js').then((m) => m.default)") == 8
