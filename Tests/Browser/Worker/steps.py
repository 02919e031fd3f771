"""Steps shared by cases: releases, updates, replaced workers, clocks, policies."""
from bench import DIST
from servers import Web

CACHE = "caches.open((await caches.keys())[0])"
# Evaluates an expression of `kept`, the value stored by the worker under a name: KEPT % (name, expression).
KEPT = """indexedDB.databases().then(([{ name }]) => new Promise((done) => {
  indexedDB.open(name).onsuccess = ({ target: { result } }) => {
    result.transaction('kept').objectStore('kept').get('%s').onsuccess = ({ target: { result: kept } }) => {
      result.close();
      done(%s);
    };
  }; }))"""
REGISTRATION = "navigator.serviceWorker.getRegistration()"


def base_of(bench, app):
    """Version and digest of the current release, as the base of the next one."""
    answer = bench.origin.answer(app.app)
    return {"version": answer["version"], "digest": answer["digest"]}


def second(bench, app, version=2, **more):
    """Releases another version, and waits until it has a pack from the one before."""
    base = base_of(bench, app)
    app.release(version, **more)
    app.pack_ready(base)


def takes(app, tab, kind):
    """Updates once; returns the report, which has to be of this kind."""
    report = tab.update()
    assert report["kind"] == kind and report["to"] == app.version, report
    state = tab.state()
    assert state["version"] == app.version and state["held"] == state["listed"] - state["backlog"], state
    return report


def opens(app, tab, version):
    """Checks that the page opens at a version from the worker, with the site stopped."""
    app.web.stop()
    tab.open(app.base)
    tab.until(f"window.version === {version}")
    assert tab.eval("lazy()") == f"lazy {version}"


def mirrored(bench, app):
    """Writes a static copy of the origin, which `Copy` serves."""
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
    """Deploys another worker to the site."""
    app.worker = text + (DIST / "xcache-sw.js").read_bytes()
    app.settings.update(settings or {})
    app.deploy(app.files(1))


def looks_for_worker(tab):
    """Checks for a new worker, as browsers do after navigations."""
    tab.eval(f"{REGISTRATION}.then((r) => r.update()).catch(() => {{}})")


def until_gone(tab):
    """Waits until no worker is registered."""
    tab.until(f"{REGISTRATION}.then((r) => r === undefined)")


def until_waiting(tab):
    tab.until(f"{REGISTRATION}.then((r) => r.waiting !== null)")


def until_active(tab):
    tab.until(f"{REGISTRATION}.then((r) => r?.active?.state === 'activated' && !r.waiting && !r.installing)")


def forward(bench, app, seconds):
    """Advances the clock of the running worker."""
    bench.worker(app).eval(f"(() => {{ const now = Date.now; Date.now = () => now() + {seconds * 1000}; }})()")


def fails_for(bench, app, tab, days):
    """Polls on three days, the last one so many days after the first; all have to fail."""
    for count in (0, days - 1, 1):
        forward(bench, app, count * 24 * 3600)
        assert tab.update()["kind"] == "failed"


def lazy_of(app, version):
    """The name of a release's lazy chunk."""
    return next(name for name in app.files(version) if "lazy" in name)


def from_the_site(app, *pairs):
    """Replaces texts in the site's own files."""
    for old, new in pairs:
        app.web.files = {name: file.replace(old, new) for name, file in app.web.files.items()}


def lose(tab, name):
    """Deletes a file from the cache."""
    tab.eval(f"(async () => {{ const c = await {CACHE}; for (const k of await c.keys()) if (k.url.includes('{name}')) await c.delete(k); }})()")
