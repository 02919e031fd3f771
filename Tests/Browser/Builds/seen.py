"""A feature as a page shows it: on a first visit, from the device, without site and origin, and after a release."""
import os, subprocess, tempfile

import matrix
from bench import case
from builds import BUILDS, package
from servers import Skipped
from sites import Front
from whole import FROM, IS_WEBKIT, of_the_site

# Which of them worked.
WORKED = []
HEAD = '<!doctype html><html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,"><title>%s</title>%s</head><body><p>%s'


def feature(name, source, lacks=None):
    """A case that is a row of the matrix. `lacks`: what doesn't work, and fails the run once it does."""
    def add(function):
        def works(bench):
            try:
                function(bench)
            except Skipped as why:
                WORKED.append((name, source, f"not tested: {why}"))
                raise
            except Lacking:
                assert lacks, "it doesn't work"
                WORKED.append((name, source, f"no: {lacks}"))
            else:
                WORKED.append((name, source, "yes"))
        works.__module__ = function.__module__
        return case(f"{name}: {source}")(works)
    return add


def build_of(name):
    return next(build for build in BUILDS if build.name == name)


def read(wheel, *names):
    with package(*wheel) as archive:
        return [archive.read(name) for name in names]


def one_of(wheel, part):
    """The only file whose path has a part: its name and its bytes."""
    with package(*wheel) as archive:
        name = next(name for name in archive.namelist() if part in name and not name.endswith(".txt"))
        return name.rsplit("/", 1)[1], archive.read(name)


def page(title, head="", body=""):
    return (HEAD % (title, head, title) + body).encode()


def bundled(sources, *options, entries=("app.js",)):
    """What esbuild makes of sources: files by their names, with hashes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)
        subprocess.run(["esbuild", *entries, "--bundle", "--minify", "--format=esm", "--outdir=out", "--entry-names=[name]-[hash]",
                        "--chunk-names=[name]-[hash]", "--asset-names=[name]-[hash]", "--log-level=error", *options], cwd=folder, check=True)
        found = {}
        for name in os.listdir(f"{folder}/out"):
            with open(f"{folder}/out/{name}", "rb") as file:
                found[name] = file.read()
        return found


def named(files, stem, ending=".js"):
    return next(name for name in files if name.startswith(stem + "-") and name.endswith(ending))


def in_front(tab):
    """Shows a tab: those behind others load no video, and see nothing come into view."""
    if not IS_WEBKIT:
        tab.session.send("Page.bringToFront")


class Lacking(Exception):
    """What a case finds that isn't there yet, as the matrix says."""


class Seen:
    """Two releases of files, and what a page of them says."""

    def __init__(self, bench, releases, place="", path="/", config=None, headers=()):
        self.bench, self.releases, self.place = bench, releases, place
        self.app = Front(bench, path, config)
        self.app.web.headers = list(headers)
        self.tab = self.app.tab()

    def opens(self, probe, wanted, *given, tab=None):
        tab = tab or self.tab
        tab.open("about:blank")
        in_front(tab)
        tab.open(self.app.base + self.place)
        told = tab.until(FROM)
        assert told[:2] == list(given), (given, told)
        got = tab.eval(probe)
        assert got == wanted, (given, got)

    def goes(self, probe, wanted, late=None):
        """`wanted`: what the probe gives in each release; `late`: another probe, that the page asks for only after the release."""
        app, bench = self.app, self.bench
        app.releases_of(self.releases[0])
        self.opens(probe, wanted[0], "network", "first-visit")
        app.hold(self.tab)
        app.web.forget()
        self.opens(probe, wanted[0], "device", None)
        assert of_the_site(app) == [], of_the_site(app)
        self.offline(probe, wanted[0])
        # A page that stays open while the release comes.
        open_page = app.tab()
        self.opens("true", True, "device", None, tab=open_page)
        app.releases_of(self.releases[1])
        app.hold(self.tab)
        app.web.stop()
        self.opens(probe, wanted[1], "device", None)
        bench.proxy.stop()
        late = late or (probe, wanted[0])
        in_front(open_page)
        got = open_page.eval(late[0])
        assert got == late[1], ("a page that was open", got)
        self.opens(probe, wanted[1], "device", None)
        app.web.start()
        bench.proxy.start()

    def offline(self, probe, wanted):
        self.app.web.stop()
        self.bench.proxy.stop()
        self.opens(probe, wanted, "device", None)
        self.app.web.start()
        self.bench.proxy.start()


def tell():
    """Compares with the matrix what worked."""
    for name, source, worked in WORKED:
        matrix.row(name, {"files of": source, "WebKitGTK" if IS_WEBKIT else "Chromium": worked})
