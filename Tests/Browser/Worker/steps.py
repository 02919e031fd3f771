"""What many cases do: releases that reach a page or don't, workers in the place of others, clocks, switches."""
from bench import DIST
from servers import Web

CACHE = "caches.open((await caches.keys())[0])"
# What an expression of `kept` gives, which the worker keeps under a name: KEPT % (name, expression).
KEPT = """indexedDB.databases().then(([{ name }]) => new Promise((done) => {
  indexedDB.open(name).onsuccess = ({ target: { result } }) => {
    result.transaction('kept').objectStore('kept').get('%s').onsuccess = ({ target: { result: kept } }) => {
      result.close();
      done(%s);
    };
  }; }))"""
REGISTRATION = "navigator.serviceWorker.getRegistration()"


def base_of(bench, app):
    """What the origin said of the version that devices have now."""
    answer = bench.origin.answer(app.app)
    return {"version": answer["version"], "digest": answer["digest"]}


def second(bench, app, version=2, **more):
    """Releases another version, and waits until it has a pack from the one before."""
    base = base_of(bench, app)
    app.release(version, **more)
    app.pack_ready(base)


def takes(app, tab, kind):
    """Updates once; the report, which has to be of that kind."""
    report = tab.update()
    assert report["kind"] == kind and report["to"] == app.version, report
    state = tab.state()
    assert state["version"] == app.version and state["held"] == state["listed"] - state["backlog"], state
    return report


def opens(app, tab, version):
    """The page opens from the worker at a version, without the site."""
    app.web.stop()
    tab.open(app.base)
    tab.until(f"window.version === {version}")
    assert tab.eval("lazy()") == f"lazy {version}"


def mirrored(bench, app):
    """A static copy of the origin, as a web site."""
    if not hasattr(bench, "copy"):
        bench.copy = f"{bench.folder}/copy"
    bench.origin.run("mirror", "--to", bench.copy, "--app", app.app)


class Copy(Web):
    def __init__(self, folder):
        self.folder = folder
        super().__init__()
        self.headers = [("Access-Control-Allow-Origin", "*")]

    def handle(self, request):
        try:
            with open(self.folder + request.path.split("?")[0], "rb") as file:
                request.answer(file.read(), "application/json", headers=self.headers)
        except OSError:
            request.answer(b"no", status=404, headers=self.headers)


def policy(bench, app, *words):
    bench.origin.run("policy", *words, "--app", app.app)


def new_worker(app, text=b"", settings=None):
    """Puts another worker on the site."""
    app.worker = text + (DIST / "xcache-sw.js").read_bytes()
    app.settings.update(settings or {})
    app.deploy(app.files(1))


def looks_for_worker(tab):
    """What browsers do by themselves after navigations."""
    tab.eval(f"{REGISTRATION}.then((r) => r.update()).catch(() => {{}})")


def until_gone(tab):
    """Waits until no worker is registered."""
    tab.until(f"{REGISTRATION}.then((r) => r === undefined)")


def until_waiting(tab):
    tab.until(f"{REGISTRATION}.then((r) => r.waiting !== null)")


def until_active(tab):
    tab.until(f"{REGISTRATION}.then((r) => r?.active?.state === 'activated' && !r.waiting && !r.installing)")


def forward(bench, app, seconds):
    """Puts the clock of the running worker forward."""
    bench.worker(app).eval(f"(() => {{ const now = Date.now; Date.now = () => now() + {seconds * 1000}; }})()")


def lazy_of(app, version):
    """The name of a release's lazy chunk."""
    return next(name for name in app.files(version) if "lazy" in name)


def from_the_site(app, *pairs):
    """Changes what the site itself sends, by pairs of texts."""
    for old, new in pairs:
        app.web.files = {name: file.replace(old, new) for name, file in app.web.files.items()}


def lose(tab, name):
    """Takes a file out of the cache."""
    tab.eval(f"(async () => {{ const c = await {CACHE}; for (const k of await c.keys()) if (k.url.includes('{name}')) await c.delete(k); }})()")
