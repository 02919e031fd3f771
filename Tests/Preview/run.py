#!/usr/bin/env python3
"""`xcache smoke`, `publish --smoke` and `preview` with the real engine, on pages that were planted and on published front ends.

    Tests/Preview/run.py XCACHE XCACHE-WEBKIT [--fronts]

Planted: pages that come up in different ways, and pages each of which has one fault; each has to be told as what it is, and nothing
else. Then a release of each kind is looked at, alone and beside another, what docs/guide-release.md shows of a build is compared with
what is said of it, and Ctrl-C has to leave nothing behind. --fronts instead
opens five front ends from PyPI, whole and with a planted script error, a missing chunk and a white page, and prints what is said.
Packages come by pip, into ~/.cache/xcache-bench.
"""
import io, json, os, pathlib, re, shlex, shutil, signal, subprocess, sys, tempfile, time, zipfile

root = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "Tests/Docs"))
from blocks import PREVIEW, examples  # noqa: E402

BASE = "https://m.example.com/shop"
FINE = {
    "index.html": '<!doctype html><title>Shop</title><link rel=stylesheet href=style.css><h1>Shop</h1>'
                  '<img src=logo.svg alt=logo><script type=module src=app.js></script>',
    "style.css": "h1 { color: teal; background: url(logo.svg) }",
    "logo.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle cx="20" cy="20" r="20"/></svg>',
    "app.js": 'import("./chunk.js").then((chunk) => chunk.show("chunk"))',
    "chunk.js": "export function show(text) { document.body.append(text) }",
    # All of it is made by a script, a moment after load.
    "late.html": '<!doctype html><body><script>setTimeout(() => { document.body.textContent = "late" }, 300)</script>',
    "frame.html": '<!doctype html><p>outer<iframe src=inner.html></iframe>',
    "inner.html": "<!doctype html><p>inner",
    "caught.html": '<!doctype html><p>caught<script>try { nothing() } catch {} fetch("gone").catch(() => {})</script>',
    # What the app's own server would answer.
    "api.html": '<!doctype html><p>api<script>fetch("/api/user").then((r) => r.ok, () => 0); new XMLHttpRequest().open("GET", "x")'
                '</script>',
    "abroad.html": '<!doctype html><p>abroad<img src="https://elsewhere.example.org/a.png">',
    "canvas.html": '<!doctype html><body><canvas id=c></canvas><script>const x = c.getContext("2d"); x.fillStyle = "red"; '
                   'x.fillRect(10, 10, 50, 50)</script>',
}
# A page, and what it has to be told as.
FAULTY = {
    "throws.html": ('<!doctype html><p>throws<script>\nundefinedFunction()</script>', "script"),
    "later.html": ('<!doctype html><p>later<script>setTimeout(() => { null.x }, 200)</script>', "script"),
    "rejects.html": ('<!doctype html><p>rejects<script>Promise.reject(new Error("why"))</script>', "script"),
    "chunk.html": ('<!doctype html><p>chunk<script type=module>import("./gone-3f2a.js").catch(() => {})</script>', "missing"),
    "style.html": ('<!doctype html><link rel=stylesheet href=gone.css><p>style', "missing"),
    "query.html": ('<!doctype html><p>query<script src="app.js?v=1"></script>', "missing"),
    "image.html": ('<!doctype html><p>image<img src=gone.png>', "missing"),
    "font.html": ('<!doctype html><style>@font-face { font-family: F; src: url(gone.woff2) } p { font-family: F }</style><p>font',
                  "missing"),
    "framed.html": ('<!doctype html><p>framed<iframe src=gone.html></iframe>', "missing"),
    "white.html": ('<!doctype html><title>white</title><body><div id=root></div>', "blank"),
    "hangs.html": ('<!doctype html><p>hangs<script>for (;;) {}</script>', "load"),
}


class Bench:
    def __init__(self, xcache, engine):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="preview-"))
        (self.folder / "tmp").mkdir()
        self.xcache = str(pathlib.Path(xcache).resolve())
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "TMPDIR": str(self.folder / "tmp"), "LANG": "C.UTF-8",
            "XCACHE_WEBKIT": str(pathlib.Path(engine).resolve()), "XCACHE_APP": "shop",
        }
        self.failed = []
        self.server = None

    def check(self, holds, what):
        print(f"{'ok    ' if holds else 'FAILED'} {what}", flush=True)
        if not holds:
            self.failed.append(what)

    def build(self, name, files):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(folder)

    def run(self, *words, patience=300):
        start = time.monotonic()
        done = subprocess.run([self.xcache, *words], env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=patience)
        done.seconds = time.monotonic() - start
        left = os.listdir(self.folder / "tmp")
        if left or self.processes():
            self.check(False, f"{words[:2]} left nothing behind: {left} {self.processes()}")
        return done

    def processes(self):
        """Programs that were started for a look at pages, by the folder for temporary files that they were given."""
        mark = f"TMPDIR={self.folder}/tmp".encode()
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (path / "environ").read_bytes() and b" Z " not in (path / "stat").read_bytes():
                    found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:80])
            except OSError:
                pass
        return [name for name in found if " serve " not in name]

    def serve(self):
        self.server = subprocess.Popen(
            [self.xcache, "serve", "--data", self.folder / "data", "--listen", "127.0.0.1:0"], env=self.env, cwd=self.folder,
            stderr=subprocess.PIPE, text=True)
        for line in self.server.stderr:
            found = re.search(r"listens on (http://127\.0\.0\.1:\d+)", line)
            if found:
                break
        self.env |= {"XCACHE_SERVER": found[1], "XCACHE_TOKEN": (self.folder / "data/admin.token").read_text().strip()}

    def close(self):
        if self.server:
            self.server.terminate()
            self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def problems(page):
    return sorted({finding["problem"] for finding in page["findings"] if finding["problem"]})


def planted(bench):
    dist = bench.build("fine", FINE)
    fine = bench.run("smoke", dist, "--base-url", BASE, "--json", "--screenshots", "pictures")
    document = json.loads(fine.stdout)
    for page in document["pages"]:
        name = page["url"].removeprefix(BASE + "/")
        bench.check(problems(page) == [], f"{name} comes up; {[f['text'] for f in page['findings']]}")
    pages = {page["url"].removeprefix(BASE + "/"): page for page in document["pages"]}
    bench.check(fine.returncode == 0, f"exit code {fine.returncode} of {len(pages)} pages that are fine, {fine.seconds:.1f} s")
    local = {request["url"].removeprefix(BASE + "/") for request in pages["index.html"]["requests"] if request["source"] == "device"}
    bench.check({"index.html", "style.css", "logo.svg", "app.js", "chunk.js"} <= local, f"index.html is the device's: {sorted(local)}")
    bench.check(any("/api/user" in finding["text"] for finding in pages["api.html"]["findings"]), "the API is a note")
    bench.check(len(os.listdir(bench.folder / "pictures")) == len(pages), "each page has its picture")

    dist = bench.build("faulty", FINE | {name: text for name, (text, _) in FAULTY.items()})
    faulty = bench.run("smoke", dist, *FAULTY, "--base-url", BASE, "--json", "--timeout", "8")
    for page in json.loads(faulty.stdout)["pages"]:
        name = page["url"].removeprefix(BASE + "/")
        bench.check(problems(page) == [FAULTY[name][1]], f"{name} is told as {FAULTY[name][1]}; {[f['text'] for f in page['findings']]}")
    bench.check(faulty.returncode == 3, f"exit code {faulty.returncode} of {len(FAULTY)} pages that aren't, {faulty.seconds:.1f} s")


def released(bench):
    bench.serve()
    words = ["--bundle", "main", "--base-url", BASE, "--now"]
    first = bench.run("publish", "--create", bench.build("dist", FINE), *words, "--smoke", "-q")
    bench.check(first.returncode == 0, f"a build that is fine is published, {first.seconds:.1f} s; {first.stderr}")
    throws = FINE | {"index.html": FAULTY["throws.html"][0]}
    refused = bench.run("publish", "--create", bench.build("dist", throws), *words, "--smoke", "--dry-run")
    bench.check(refused.returncode == 3 and "undefinedFunction" in refused.stderr, f"one that isn't is not; {refused.stderr}")
    bench.check(bench.run("log", "--json").stdout.count('"version"') > 0 and "version 1" in bench.run("status").stdout, "one version is there")
    second = bench.run("publish", "--create", bench.build("dist", throws), *words, "-q")
    bench.check(second.returncode == 0, f"without --smoke it is; {second.stderr}")

    seen = bench.run("preview", BASE + "/index.html", "--version", "1", "--offline", "--screenshot", "page.png", "--json")
    document = json.loads(seen.stdout)
    page = document["page"]
    sources = {request["source"] for request in page["requests"]}
    bench.check(seen.returncode == 0 and sources <= {"device", "engine"} and page["title"] == "Shop" and not page["scriptErrors"],
                f"version 1 comes up without a network, {seen.seconds:.1f} s, content after {page['firstContentfulPaint']} ms")
    bench.check((bench.folder / "page.png").read_bytes()[:4] == b"\x89PNG", "with a picture")
    newest = bench.run("preview", BASE + "/index.html", "--offline")
    bench.check(newest.returncode == 0 and "script error" in newest.stdout, "the newest has its script error")
    both = bench.run("preview", BASE + "/index.html", "--compare", "1", "2", "--offline", "--screenshot", "both.png")
    bench.check(both.returncode == 0 and re.search(r"script errors +0 +1", both.stdout) is not None, f"two versions side by side, {both.seconds:.1f} s")
    print(both.stdout)
    bench.check((bench.folder / "both.1.png").exists() and (bench.folder / "both.2.png").exists(), "with both pictures")
    gone = bench.run("preview", "https://gone.example.com/", "--offline", "--json")
    bench.check(gone.returncode == 1 and json.loads(gone.stdout)["code"] == "page-failed", "a page that nobody has fails")


# The build of docs/guide-release.md.
GUIDE = {
    "index.html": '<!doctype html><title>Shop</title><link rel=stylesheet href=shop.css><h1>Shop</h1>'
                  '<script type=module src=assets/app.js></script>',
    # One after the other, so that the list of requests has one order.
    "assets/app.js": 'const build = "3f2a"\nfetch("/api/items").catch(() => {}).finally(() => import(`./cart-${build}.js`))\n',
    "shop.css": "h1 { color: teal }\n",
    "cart.html": '<!doctype html><title>Cart</title><link rel=stylesheet href=shop.css><h1>Cart</h1><script src=assets/cart.js></script>',
    "assets/cart.js": 'document.title = prices.length\n',
    "help.html": '<!doctype html><title>Help</title><div id=root></div>',
}


def shown(text):
    """A pattern of what an example shows: times and sizes are other ones, `…` stands for anything, and columns may be wider."""
    varies = r"(…|\d+(?:\.\d+)? (?:ms|s|B|KB)\b|(?<=content )—|WebKitGTK [\d.]+|\d+(?=  https:)|  +)"
    other = {"…": ".*?", " ": " +", "W": r"WebKitGTK [\d.]+", "—": r"(?:\d+ ms|—)"}
    parts = re.split(varies, text)
    return "".join(other.get(part[0], r"\d+(?:\.\d+)?(?: (?:ms|s|B|KB))?") if place % 2 else re.escape(part)
                   for place, part in enumerate(parts))


def documented(bench):
    """What the guide shows of a build, and of its release."""
    words = ["publish", "--create", "dist", "--app", "guide", "--bundle", "main", "--base-url", BASE, "--now", "-q"]
    for files in ({"index.html": "<!doctype html><p>before"}, GUIDE):
        bench.build("dist", files)
        published = bench.run(*words)
        bench.check(published.returncode == 0, f"the guide's build is published; {published.stderr}")
    guide = (root / "docs/guide-release.md").read_text()
    for line, _, text in examples(guide):
        if not text.startswith(PREVIEW):
            continue
        command, _, wanted = text[2:].partition("\n")
        said = bench.run(*shlex.split(command.replace("--app shop", "--app guide"))[1:]).stdout.replace(" of guide online", " of shop online")
        fits = re.fullmatch(shown(wanted), said, re.S) is not None
        bench.check(fits, f"docs/guide-release.md:{line}: {command}" + ("" if fits else f" says\n{wanted}and the output is\n{said}"))


def interrupted(bench):
    dist = bench.build("hangs", {"index.html": "<!doctype html><p>x<script>for (;;) {}</script>"})
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        child = subprocess.Popen([bench.xcache, "smoke", dist, "--base-url", BASE], env=bench.env, cwd=bench.folder)
        end = time.monotonic() + 60
        while not any("WebKitWebProcess" in name for name in bench.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        child.send_signal(number)
        code = child.wait(60)
        end = time.monotonic() + 20
        while bench.processes() and time.monotonic() < end:
            time.sleep(0.1)
        left = bench.processes()
        bench.check(code == -number and not left, f"{number.name} ends all of it: exit {code}, left: {left}")
    # Nobody can remove it after SIGKILL.
    shutil.rmtree(bench.folder / "tmp")
    (bench.folder / "tmp").mkdir()


# MARK: Front ends

def wheel(package, version):
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "xcache-bench"
    cache.mkdir(parents=True, exist_ok=True)
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    if not list(cache.glob(pattern)):
        subprocess.run(["pip", "download", "-q", "--no-deps", "-d", cache, f"{package}=={version}"], check=True)
    return zipfile.ZipFile(next(cache.glob(pattern)))


def below(archive, folder):
    return {name.removeprefix(folder): archive.read(name) for name in archive.namelist()
            if name.startswith(folder) and not name.endswith("/")}


def fronts():
    """Five front ends, as their packages have them; of two the package has no page."""
    spec = json.dumps({"openapi": "3.0.0", "info": {"title": "Shop", "version": "1"}, "paths": {}})
    sidecar = "drf_spectacular_sidecar/static/drf_spectacular_sidecar/redoc/"
    head = '<!doctype html><meta charset="utf-8"><title>page</title><div id="ui"></div>'
    redoc = below(wheel("drf-spectacular-sidecar", "2024.12.1"), sidecar)
    redoc["index.html"] = (f'{head}<script src="bundles/redoc.standalone.js"></script><script>Redoc.init({spec}, {{}}, '
                           'document.getElementById("ui"))</script>').encode()
    bokeh = {"bokeh.min.js": wheel("bokeh", "3.4.3").read("bokeh/server/static/js/bokeh.min.js"),
             "bokeh-api.min.js": wheel("bokeh", "3.4.3").read("bokeh/server/static/js/bokeh-api.min.js")}
    bokeh["index.html"] = (f'{head}<script src="bokeh.min.js"></script><script src="bokeh-api.min.js"></script><script>const p = '
                           'Bokeh.Plotting.figure({title: "a figure", width: 300, height: 200}); p.line([1, 2, 3], [3, 1, 2]); '
                           'Bokeh.Plotting.show(p, "#ui")</script>').encode()
    files = zipfile.ZipFile(io.BytesIO(wheel("tensorboard", "2.16.2").read("tensorboard/webfiles.zip")))
    return {
        "streamlit 1.50.0": below(wheel("streamlit", "1.50.0"), "streamlit/static/"),
        "swagger-ui 4.15.5": below(wheel("swagger-ui-bundle", "1.1.0"), "swagger_ui_bundle/vendor/swagger-ui-4.15.5/"),
        "redoc (2024.12.1)": redoc, "bokeh 3.4.3": bokeh, "tensorboard 2.16.2": below(files, ""),
    }


def base_of(name):
    """TensorBoard's paths begin at the root of its host."""
    return BASE.removesuffix("/shop") + "/" if name.startswith("tensorboard") else BASE + "/"


def broken(files):
    """The same with one fault each."""
    page = files["index.html"].decode()
    scripts = sorted((name for name in files if name.endswith(".js")), key=lambda name: -len(files[name]))
    main = next((name for name in re.findall(r'src="\.?/?([^"]+\.js)', page) if name in files), scripts[0])
    return {
        "script error": files | {"index.html": (page + "<script>plantedMistake()</script>").encode()},
        "missing chunk": {name: data for name, data in files.items() if name != main},
        "white page": {"index.html": b"<!doctype html><title>white</title><div id=root></div>"},
    }


def look(bench):
    print("| front end | files | smoke: exit, s | what it says |\n|---|--:|--:|---|")
    planted = None
    for name, files in fronts().items():
        planted = planted or broken(files)
        row(bench, name, files)
    for fault, files in planted.items():
        row(bench, f"streamlit, {fault}", files)
    bench.serve()
    print("\n| front end | preview: exit, s | device | network | missing | script errors | first content, load |\n|---|--:|--:|--:|--:|--:|--:|")
    for name, files in list(fronts().items()) + [(f"streamlit, {fault}", files) for fault, files in planted.items()]:
        app = re.sub(r"\W+", "-", name).strip("-")
        published = bench.run("publish", "--create", bench.build("dist", files), "--app", app, "--bundle", "main", "--index", "--base-url", base_of(name),
                              "--now", "-q", "--no-check", "all")
        bench.check(published.returncode == 0, f"{name} is published; {published.stderr}") if published.returncode else None
        seen = bench.run("preview", base_of(name), "--app", app, "--json", "--offline", "--screenshot", f"{app}.png")
        page = json.loads(seen.stdout)["page"]
        counts = [sum(1 for request in page["requests"] if request["source"] in kinds) for kinds in
                  (["device"], ["network"], ["missing", "failed"])]
        print(f"| {name} | {seen.returncode}, {seen.seconds:.1f} | {counts[0]} | {counts[1]} | {counts[2]} | {len(page['scriptErrors'])} | "
              f"{page['firstContentfulPaint']}, {page['load']} ms |", flush=True)


def row(bench, name, files):
    done = bench.run("smoke", bench.build("dist", files), "/", "--index", "--base-url", base_of(name), "--json", "--screenshots",
                     f"pictures/{name}")
    if done.returncode in (0, 3):
        page = json.loads(done.stdout)["pages"][0]
        said = [f"{finding['problem'] or 'note'}: {finding['text'][:110]}" for finding in page["findings"]]
        said = "<br>".join(said[:4] + ([f"and {len(said) - 4} more"] if len(said) > 4 else [])) or "fine"
    else:
        said = done.stderr
    print(f"| {name} | {len(files)} | {done.returncode}, {done.seconds:.1f} | {said} |", flush=True)


def main():
    bench = Bench(sys.argv[1], sys.argv[2])
    start = time.monotonic()
    try:
        if "--fronts" in sys.argv:
            look(bench)
        else:
            planted(bench)
            released(bench)
            documented(bench)
            interrupted(bench)
    finally:
        bench.close()
    print(f"{len(bench.failed)} failed, {time.monotonic() - start:.0f} s")
    sys.exit(1 if bench.failed else 0)


main()
