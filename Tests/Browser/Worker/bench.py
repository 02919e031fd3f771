"""Runs the cases of the service worker: each has its own web site; they share a browser and an origin."""
import hashlib, json, os, pathlib, subprocess, sys, tempfile, time, traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from cdp import CDPError
from servers import Origin, Skipped, Web, until

if os.environ.get("ENGINE") == "webkit":
    from webkit import Browser
else:
    from cdp import Browser

# XCACHE_WORKER names another build of the worker, to see a case fail with it.
DIST = pathlib.Path(os.environ.get("XCACHE_WORKER") or pathlib.Path(__file__).resolve().parents[3] / "public/runtime/dist")
CASES = []


def case(name):
    """Registers a function as a case; it is called with the bench."""
    def add(function):
        CASES.append((name, function))
        return function
    return add


def filler(seed, lines=400):
    """Text that compresses like a script's."""
    out = []
    for i in range(lines):
        word = hashlib.sha256(f"{seed} {i}".encode()).hexdigest()
        out.append(f"export function f{word[:6]}(a,b){{return a.x{word[6:12]}+b*{int(word[12:16], 16)}}}")
    return "\n".join(out)


def named(stem, text, ending):
    """A file name with a content hash, as bundlers generate it."""
    return f"assets/{stem}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.{ending}"


def build(version, path="/", extra=""):
    """The files of a release: pages, and hashed files that differ little from the previous release's."""
    lazy = f'export const text = "lazy {version}";\n{filler("lazy", 60)}'
    style = f"body {{ --version: {version}; color: rgb(0, 0, {version}) }}"
    lazy_name, style_name = named("lazy", lazy, "js"), named("style", style, "css")
    app = (f'window.version = {version};\nwindow.lazy = () => import("./{lazy_name[7:]}").then((m) => m.text);\n'
           f'{filler("app")}\n{filler(f"own {version}", 3)}')
    app_name = named("app", app, "js")
    html = (f'<!doctype html><title>version {version}</title><link rel="icon" href="data:,"><script src="{path}xcache.js" defer></script>'
            f'<link rel="stylesheet" href="{path}{style_name}"><h1>version {version}</h1><img id="logo" src="{path}logo.svg">'
            f'<script type="module" src="{path}{app_name}"></script>{extra}')
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'
    texts = {"index.html": html, app_name: app, lazy_name: lazy, style_name: style, "logo.svg": svg,
             "help.html": f"<!doctype html><title>help {version}</title><h1>help</h1>"}
    return {name: text.encode() for name, text in texts.items()}


class Tab:
    """A page in the browser."""

    def __init__(self, bench):
        self.bench = bench
        self.session = bench.browser.new_page()
        self.session.send("Network.enable")

    def eval(self, script, timeout=120):
        return self.session.eval(script, timeout)

    def open(self, url):
        """Opens a URL, and waits until the page is loaded."""
        self.session.goto(url)

    def tries(self, url):
        """Opens a URL; returns whether a page was loaded."""
        try:
            self.open(url)
            return True
        except CDPError:
            return False

    def reload(self):
        self.session.reload()

    def title(self):
        return self.eval("document.title")

    def until(self, script, what=None, seconds=120):
        """Waits until a script returns a truthy value; errors of a page that is being replaced are ignored."""
        def probe():
            try:
                return self.eval(script)
            except CDPError:
                return None
        return until(probe, what or script, seconds)

    def update(self, **wish):
        """Makes the worker poll now; returns the report."""
        return self.until(f"xcache.ready.then(() => xcache.update({json.dumps({'force': True, **wish})}))")

    def state(self):
        return self.until("xcache.ready.then(() => xcache.state())")

    def fetch(self, url, options="{}"):
        """Status, headers and text of a response, or the error."""
        return self.eval(f"""fetch({json.dumps(url)}, {options}).then(async (r) => ({{status: r.status, text: await r.text(),
          headers: Object.fromEntries(r.headers)}}), (error) => ({{error: String(error)}}))""")

    def controlled(self):
        return self.eval("navigator.serviceWorker.controller !== null")

    def mark(self):
        """Marks the document, to detect later whether it was replaced."""
        self.eval("window.mark = true")

    def is_marked(self):
        return self.eval("window.mark === true")

    def close(self):
        self.bench.browser.root.send("Target.closeTarget", targetId=self.session.target["targetId"])


class App:
    """A web site whose pages register the worker, published as an app of the origin."""

    def __init__(self, bench, path="/", app=None, web=None, **settings):
        self.bench, self.path = bench, path
        bench.count += 1
        self.app = app or f"app{bench.count}"
        self.web = web or bench.web()
        self.base = self.web.url + path
        self.worker = (DIST / "xcache-sw.js").read_bytes()
        self.packs = (DIST / "xcache-sw-packs.js").read_bytes()
        self.settings = {"app": self.app, "server": bench.origin.url, **settings}
        self.page_settings = {}

    def runtime_files(self):
        head = f"self.xcacheSettings={json.dumps(self.settings)};\n".encode()
        page = f"self.xcacheSettings={json.dumps(self.page_settings)};\n".encode()
        files = {"xcache-sw.js": head + self.worker, "xcache-sw-packs.js": self.packs,
                 "xcache.js": page + (DIST / "xcache.js").read_bytes()}
        # Another build of the worker may have none.
        if (DIST / "xcache-samples.js").exists():
            files["xcache-samples.js"] = (DIST / "xcache-samples.js").read_bytes()
        if "root" in self.settings:
            files["xcache-sw-trust.js"] = (DIST / "xcache-sw-trust.js").read_bytes()
        return files

    def deploy(self, files):
        """Replaces the site's files below the app's path."""
        prefix = self.path[1:]
        kept = {} if not prefix else {name: file for name, file in self.web.files.items() if not name.startswith(prefix)}
        self.web.files = {**kept, **{prefix + name: file for name, file in {**files, **self.runtime_files()}.items()}}

    def files(self, version, **more):
        return build(version, self.path, **more)

    def release(self, version, *words, add=None, headers=None, **more):
        """Deploys and publishes a version of the build; returns the manifest's version."""
        files = {**self.files(version, **more), **(add or {})}
        self.deploy(files)
        published = {**files, "xcache.js": self.runtime_files()["xcache.js"]}
        self.version = self.bench.origin.publish(self.app, self.base, published, "--index", *words, headers=headers)
        return self.version

    def pack_ready(self, base):
        """Waits until the origin offers a pack from the version of `base`."""
        query = f"&version={base['version']}&digest={base['digest']}&patch=1&pack=1"
        until(lambda: "pack" in self.bench.origin.answer(self.app, query), "the pack")

    def polls(self):
        """Polls of this app's worker; workers of other cases may still be running."""
        return self.bench.proxy.seen(f"configure.json?app={self.app}&")

    def tab(self):
        tab = Tab(self.bench)
        self.bench.tabs.append(tab)
        return tab

    def visited(self, version=1, **more):
        """Publishes a version, and returns a tab whose worker has all its files and answered the page."""
        self.release(version, **more)
        tab = self.tab()
        tab.open(self.base)
        self.hold(tab)
        tab.open(self.base)
        assert tab.controlled(), "the worker doesn't control the second visit"
        return tab

    def hold(self, tab, version=None):
        """Waits until the worker has a version and all its files."""
        version = version or self.version

        seen = []

        def probe():
            report = tab.update()
            state = tab.state()
            seen[:] = [report, state]
            return state["version"] == version and state["held"] == state["listed"] and report
        try:
            return until(probe, f"version {version} on the device")
        except AssertionError as error:
            raise AssertionError(f"{error}: {seen}") from None


class Bench:
    def __init__(self, xcache, folder):
        self.folder = folder
        self.origin = Origin(xcache, folder)
        self.proxy = self.origin.proxy
        self.browser = Browser()
        self.tabs, self.webs, self.ports, self.count = [], [], set(), 0

    def web(self):
        # A port may be reused by the system, and the browser still has the earlier case's worker there.
        web = Web()
        while web.port in self.ports:
            web.stop()
            web = Web()
        self.ports.add(web.port)
        self.webs.append(web)
        return web

    def reset(self):
        """Runs after each case: restarts what it stopped, and closes its pages."""
        self.proxy.rules = []
        if self.proxy.httpd is None:
            self.proxy.start()
        if self.origin.server.poll() is not None:
            self.origin.start()
        for tab in self.tabs:
            try:
                tab.close()
            except CDPError:
                pass
        for web in self.webs:
            web.stop()
        self.tabs, self.webs = [], []

    def worker(self, app):
        """A session with the running worker of an app."""
        url = f"{app.base}xcache-sw.js"
        found = until(lambda: [t for t in self.browser.targets("service_worker") if t["url"] == url], "the worker's target")
        session = self.browser.attach(found[0]["targetId"])
        session.send("Runtime.enable")
        return session

    def only_one_worker(self, app, name="xcache-sw.js"):
        """Waits until only one worker of the app is running."""
        url = f"{app.base}{name}"
        until(lambda: len([t for t in self.browser.targets("service_worker") if t["url"] == url]) <= 1, "the older worker's end")

    def worker_gone(self, app):
        """Waits until the app's worker isn't running."""
        until(lambda: not [t for t in self.browser.targets("service_worker") if t["url"] == app.base + "xcache-sw.js"], "the worker's end")

    def stop_worker(self, tab):
        """Stops all workers, as browsers do with idle ones."""
        tab.session.send("ServiceWorker.enable")
        tab.session.send("ServiceWorker.stopAllWorkers")
        tab.session.send("ServiceWorker.disable")

    def close(self):
        self.browser.close()
        for listener in self.webs:
            listener.stop()
        self.origin.stop()
        self.proxy.stop()


def fits(word, number, name, function):
    return word in name or word in (str(number), function.__module__)


def main(xcache, words):
    """Runs the matching cases; with -jN in N processes, each with its own browser and origin."""
    for word in words:
        if not (word[:2] == "-j" and word[2:].isdigit()):
            word = word.removeprefix("-")
            if not any(fits(word, number, *one) for number, one in enumerate(CASES, 1)):
                raise SystemExit(f"no case has {word!r} in its name, as its number or as its file")
    for word in words:
        if word[:2] == "-j" and word[2:].isdigit():
            rest, count = [one for one in words if one != word], int(word[2:])
            parts = [subprocess.Popen([sys.executable, sys.argv[0], xcache, *rest], env={**os.environ, "XCACHE_PART": f"{part}/{count}"})
                     for part in range(count)]
            # A killed process has a negative exit code.
            return int(any([part.wait() for part in parts]))
    part, parts = [int(number) for number in os.environ.get("XCACHE_PART", "0/1").split("/")]
    wanted, unwanted = [word for word in words if word[0] != "-"], [word[1:] for word in words if word[0] == "-"]
    failed, skipped = [], 0
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(xcache, folder)
        try:
            print(f"{bench.browser.version}, {len(CASES)} cases")
            for number, (name, function) in enumerate(CASES, 1):
                def fit(words):
                    return any(fits(word, number, name, function) for word in words)
                if wanted and not fit(wanted) or fit(unwanted) or number % parts != part:
                    continue
                start = time.monotonic()
                try:
                    function(bench)
                    print(f"ok {number} {name} ({time.monotonic() - start:.1f} s)", flush=True)
                except Skipped as why:
                    skipped += 1
                    print(f"skipped {number} {name}: {why}", flush=True)
                except Exception:
                    failed.append(name)
                    print(f"not ok {number} {name}\n{traceback.format_exc()}", flush=True)
                finally:
                    bench.reset()
        finally:
            bench.close()
    print(f"{len(failed)} failed, {skipped} skipped, {time.monotonic() - begun:.0f} s" + "".join(f"\n  {name}" for name in failed))
    return 1 if failed else 0
