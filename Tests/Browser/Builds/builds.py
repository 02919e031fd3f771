"""Published front ends by their bundlers, whole, as wheels on PyPI have them: two releases each, as a site serves them."""
import dataclasses, functools, io, pathlib, re, subprocess, sys, tarfile

root = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(root / "Tests/Browser/Worker"), str(root / "Tests/Browser"), str(root / "Benchmarks")]
from fronts import FILLED  # noqa: E402
from open import wheel  # noqa: E402


@dataclasses.dataclass(eq=False)
class Build:
    """One front end. `shown`: what is true in a page that came up; `routes`: three of its addresses below the base."""
    name: str
    bundler: str
    package: str
    versions: tuple
    folder: str
    shown: str
    routes: tuple
    # Where the site has it.
    path: str = "/"
    # Where the site has all but the page.
    prefix: str = ""
    # What its own server fills in, or a build option sets.
    filled: dict = dataclasses.field(default_factory=dict)
    # Members of the bundle in xcache.json beside what `init` proposes; null takes one away.
    config: dict = dataclasses.field(default_factory=dict)
    # What its own server answers, besides {}: a part of a path, and JSON.
    api: dict = dataclasses.field(default_factory=dict)
    # Whether its scripts are modules, so that a page can import one by its URL.
    modules: bool = True
    # Files that a developer leaves out.
    without: tuple = ()
    # Why browsers' workers can't have it: it ends them.
    lacks: str = ""


BUILDS = [
    Build("marimo", "Vite", "marimo", ("0.9.10", "0.9.14"), "marimo/_static/",
          "document.getElementById('root').childElementCount > 0", ("", "?file=a.py", "index.html")),
    Build("prefect", "Vite", "prefect", ("3.3.0", "3.4.24"), "prefect/server/ui/",
          "document.getElementById('app').childElementCount > 0", ("", "runs", "deployments"),
          api={"ui-settings": {"api_url": "/api", "csrf_enabled": False, "auth": None, "flags": []}}),
    Build("mlflow", "webpack (CRA)", "mlflow", ("2.17.0", "2.17.2"), "mlflow/server/js/build/",
          "document.getElementById('root').childElementCount > 0", ("", "#/experiments", "#/models"), prefix="static-files/", modules=False),
    Build("calypsso", "Next export", "calypsso", ("2.7.0", "2.7.1"), "calypsso/public/",
          "document.querySelector('main').innerText.length > 20", ("message/?type=payment_success", "register/", "recover/"), path="/calypsso/", modules=False),
    Build("pymscada", "Angular", "pymscada-html", ("0.2.5", "0.2.6"), "pymscada_html/html/",
          "document.querySelector('app-root').childElementCount > 0", ("", "?from=mail", "index.html"), modules=False),
    Build("lilac", "SvelteKit static", "lilac", ("0.3.8", "0.3.9"), "lilac/web/",
          "document.querySelector('.contents').innerText.length > 5", ("", "settings.html", "concepts"),
          config={"fallback": [{"prefix": "/", "page": "/index.html", "except": ["/api/*", "/*.*", "/*/*"]}]}),
    Build("argilla", "Nuxt generate", "argilla-server", ("2.7.1", "2.8.0"), "argilla_server/static/",
          "!document.getElementById('nuxt-loading') && document.getElementById('__nuxt').innerText.length > 5",
          ("", "sign-in/", "dataset/1/annotation-mode"), filled={"@@baseUrl@@": ""}, modules=False,
          config={"exclude": ["*.br", "*.gz", "*.map"], "fallback": [{"prefix": "/", "page": "/200.html", "except": ["/api/*", "/*.*"]}]}),
    Build("jupyterlite", "Rspack, module federation", "jupyterlite-core", ("0.8.5", "0.8.6"), "package/",
          "document.querySelector('#jp-main-dock-panel, #main-panel, .jp-Repl, .jp-Launcher') !== null", ("lab/", "tree/", "repl/"), modules=False,
          without=("service-worker.js", "build/service-worker.js"),
          lacks="each new version of it unregisters every worker of the site, and its scripts have a query (`?_=`)"),
    Build("trame", "Vue CLI", "trame-client", ("2.17.0", "3.0.0"), "trame_client/module/vue2-www/",
          "document.getElementById('app').childElementCount > 0", ("", "?from=mail", "index.html"), modules=False),
    Build("netron", "none, modules", "netron", ("9.3.2", "9.3.3"), "netron/",
          "document.querySelector('.open-file-button, .open-file-dialog, .logo') !== null", ("", "index.html", "?url=gone")),
]


class Unreachable(Exception):
    """PyPI has no answer."""


def package(name, version):
    """The files of a wheel, or of the archive in it."""
    try:
        return wheel(name, version)
    except (subprocess.CalledProcessError, StopIteration) as error:
        raise Unreachable(f"pip can't download {name}=={version}, which the tests of builds open: they need PyPI once") from error


@functools.cache
def files_of(build, release):
    """A release of a front end: files by their paths on the site."""
    found = {}
    with package(build.package, build.versions[release]) as archive:
        inner = [name for name in archive.namelist() if name.endswith(".tgz")]
        if inner:
            with tarfile.open(fileobj=io.BytesIO(archive.read(inner[0]))) as packed:
                found = {one.name: packed.extractfile(one).read() for one in packed if one.isfile()}
        else:
            found = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    files = {}
    for name, data in found.items():
        if not name.startswith(build.folder) or name.endswith((".py", ".pyc")) or name.removeprefix(build.folder) in build.without:
            continue
        if name.endswith((".html", ".js", ".css", ".json")):
            for old, new in {**FILLED, **build.filled}.items():
                data = data.replace(old.encode(), new.encode())
        if name.endswith(".html"):
            # What other hosts have isn't part of the build.
            data = re.sub(rb'<link[^>]*href="https://[^>]*>', b"", data)
        inner = name.removeprefix(build.folder)
        files[inner if inner == "index.html" else build.prefix + inner] = data
    if not files:
        raise AssertionError(f"{build.package} {build.versions[release]} has nothing below {build.folder}")
    return files


# What is looked for in a build's own files, and how the matrix calls it.
CONTENTS = [
    ("module preload", r"rel=.?modulepreload", (".html",)),
    ("import map", r"type=.?importmap", (".html",)),
    ("`<base>`", r"<base ", (".html",)),
    ("CSP in the page", r"http-equiv=.?Content-Security-Policy", (".html",)),
    ("`import()`", r"\bimport\(", (".js", ".mjs", ".html")),
    ("workers", r"new Worker\(", (".js", ".mjs")),
    ("shared workers", r"new SharedWorker\(", (".js", ".mjs")),
    ("wasm streaming", r"(instantiate|compile)Streaming", (".js", ".mjs")),
    ("own service worker", r"serviceWorker\.register\(", (".js", ".mjs", ".html")),
    ("module federation", r"__webpack_init_sharing__|remoteEntry", (".js",)),
]
KINDS = [("web fonts", (".woff2", ".woff", ".ttf")), ("wasm", (".wasm",)), ("source maps", (".map",))]


def contents(files):
    """What a build has, in the words of the matrix."""
    found = []
    for word, pattern, endings in CONTENTS:
        if any(name.endswith(endings) and re.search(pattern.encode(), data) for name, data in files.items()):
            found.append(word)
    return found + [word for word, endings in KINDS if any(name.endswith(endings) for name in files)]

