#!/usr/bin/env python3
"""Whole published front ends, opened at three routes each: online, offline, and after a release, in Chromium and in WebKitGTK.

    Benchmarks/front_routes.py XCACHE [--webkit XCACHE-WEBKIT] [--builds NAME,…] [--engines chromium,webkit] [--record FILE]

NAME: of fronts.py, or PACKAGE==VERSION,VERSION:FOLDER of a wheel on PyPI, with `;` between builds then. Each build is published with what
`xcache init` proposes for it, so also with the fallbacks that answer its routes. In Chromium, the web runtime is the device, and the
site answers 404 at every route. In WebKitGTK, `xcache pull` takes the releases into one folder, as an app's device would, and
xcache-webkit opens pages of it; then `xcache smoke` opens the build's routes by its folder, and `xcache preview` one of the release.

An opening counts if the address stays, the document is the device's, and the front end put something on the page. Its API isn't
there, but for what SERVED has. Ends with 0 if all count. On a machine that is busy, WebKit's own process may not answer within five
seconds: then the page is opened again, up to three times, which the table says.
"""
import argparse, functools, json, os, pathlib, re, shutil, subprocess, sys, tempfile, time, types

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here.parent / "Tests/Browser/Worker"), str(here.parent / "Tests/Browser"), str(here)]
from cdp import CDPError
from first_install import Origin, project, wheel_files
from fronts import BUILDS, files_of
from open import FAST
from open_builds import DIST, Bench
from servers import until
from whole_builds import SHOWN, Watched

BASE = "https://m.example.com/"
# Addresses as the front ends have them. All but prefect load by relative URLs, so that `init` leaves out routes of more than one part.
ROUTES = {
    "streamlit": ["", "settings", "report?embed=true"],
    "marimo": ["", "edit", "run?file=notebook"],
    "mlflow": ["", "#/experiments/0", "models?page=2"],
    "prefect": ["dashboard", "runs?tab=flows", "deployments/deployment/17"],
    "kedro-viz": ["", "experiment-tracking", "workflow?view=expanded#top"],
    "dagster": ["", "runs", "locations/a/jobs/b?tab=x"],
    "langflow": ["", "flows", "flow/17?x=1"],
}
# What a front end's own server says before the front end puts anything on the page, as a file of the release.
SERVED = {"prefect": {"ui-settings": b'{"api_url": "/api", "csrf_enabled": false, "auth": null, "flags": []}'}}
OTHERS = ["", "some-route", "another?tab=2#end"]
# Who gave the page, and why, as the worker tells.
FROM = "xcache.ready.then(() => xcache.state()).then(({from, why}) => [from, why ?? null])"


class Table:
    def __init__(self, record):
        self.record, self.rows, self.failed = record, {}, []

    def add(self, build, engine, state, route, problem, **more):
        self.rows.setdefault((build, engine), {}).setdefault(state, []).append(not problem)
        if problem:
            self.failed.append(f"{build}, {engine}, {state}, /{route}: {problem}")
        print(f"  {'ok    ' if not problem else 'FAILED'} {build:12} {engine:9} {state:24} /{route:28} {problem or more.get('note', '')}", flush=True)
        if self.record:
            with open(self.record, "a") as file:
                file.write(json.dumps({"build": build, "engine": engine, "state": state, "route": route, "problem": problem, **more}) + "\n")

    def show(self):
        states = list(dict.fromkeys(state for of in self.rows.values() for state in of))
        print("\n| | " + " | ".join(states) + " |\n|---|" + "--:|" * len(states))
        for (build, engine), of in self.rows.items():
            print(f"| {build}, {engine} | " + " | ".join(f"{sum(of[s])} of {len(of[s])}" if s in of else "–" for s in states) + " |")


def releases(spec):
    """A name, its routes, and a function of a release to its files."""
    if spec in BUILDS:
        name, routes, of = spec, ROUTES.get(spec, OTHERS), functools.partial(files_of, spec)
    else:
        name, versions, folder = re.fullmatch(r"([\w.-]+)==([\w.,]+):(.*?)/?", spec).groups()
        versions, routes = versions.split(","), OTHERS
        of = lambda release: wheel_files(name, versions[min(release, len(versions) - 1)], folder)

    def files(release):
        found = dict(of(release)) | SERVED.get(name, {})
        # Two versions of a package may have the same front end.
        found["index.html"] += f"<!-- release {release} -->".encode()
        return found
    return name, routes, files


# -- Chromium

class Routed(Bench):
    """A site with one host, whose bundle is published as `init` proposes."""

    def publish(self, name, files, release):
        folder = pathlib.Path(self.folder) / f"{name}-{release}"
        files["index.html"] = files["index.html"].replace(b"<script", b'<script src="/xcache.js" defer></script><script', 1)
        if b"xcache.js" not in files["index.html"]:
            raise AssertionError("index.html has no script")
        for script in ("xcache-sw.js", "xcache-sw-packs.js", "xcache.js"):
            files[script] = (DIST / script).read_bytes()
        published = {path: data for path, data in files.items() if not path.startswith("xcache-sw")}
        settings = project(folder, name, published, self.origin.xcache, base=self.url("ours"))
        self.origin.run("publish", "--create", "--now", "--no-check", "all", "--wait-deltas", cwd=folder)
        head = json.dumps({"app": name, "server": self.origin.url, "limit": 200_000_000, "goesBack": True})
        files["xcache-sw.js"] = f"self.xcacheSettings={head};\n".encode() + files["xcache-sw.js"]
        self.site.hosts["ours"] = files
        self.versions = {"ours": self.origin.answer(name)["version"]}
        return settings["bundles"]["main"].get("fallback")

    def opened(self, route):
        """What is wrong with an opening of a route; nil if nothing is."""
        page = self.page()
        self.site.asked.clear()
        url = self.url("ours") + route
        try:
            page.goto(url, 60)
            try:
                until(lambda: page.eval(SHOWN) > 0, "the front end", 30)
            except AssertionError:
                return "nothing is on the page"
            time.sleep(1)
            given, address = page.eval(FROM), page.eval("location.href")
            if given[0] != "device":
                return f"the document came from {given}"
            asked = [path for path in self.site.asked if path == (route.split("?")[0].split("#")[0] or "index.html")]
            if asked:
                return f"the site was asked for {asked}"
            # An app may lead on from an address of its own; the document was asked for at this one.
            entry = page.eval("performance.getEntriesByType('navigation')[0].name")
            if entry.split("#")[0] != url.split("#")[0]:
                return f"the document's address is {entry}"
            self.note = "" if address == url else f"then {address.removeprefix(self.url('ours'))}"
            return None
        except CDPError as error:
            return str(error).splitlines()[0]
        finally:
            self.ends(page)


def chromium(xcache, specs, folder, table):
    options = types.SimpleNamespace(tls=False, routes=False)
    bench = Routed(xcache, folder, {"ours": DIST}, options, site=Watched)
    try:
        for spec in specs:
            name, routes, files = releases(spec)
            with bench.browser_of() as bench.browser:
                for release in (0, 1):
                    rules = bench.publish(name, files(release), release)
                    if release == 0:
                        print(f"{name}: {json.dumps(rules)}")
                    bench.line.set(**FAST, refuse=False)
                    bench.holds("ours", 2)
                    for state in ("online", "offline"):
                        bench.line.set(**FAST, refuse=state == "offline")
                        for route in routes:
                            bench.note = ""
                            problem = bench.opened(route)
                            table.add(name, "Chromium", f"{state}{', after a release' if release else ''}", route, problem, note=bench.note)
                bench.line.set(**FAST, refuse=False)
    finally:
        bench.close()


# -- WebKitGTK

class Engine:
    """xcache-webkit over a device's folder."""

    def __init__(self, program, **settings):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.say(settings)
        self.ready = json.loads(self.process.stdout.readline())

    def say(self, line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def open(self, url, picture=None):
        self.say({"id": 1, "url": url, "screenshot": picture, "timeout": 60})
        line = self.process.stdout.readline()
        if not line:
            return {"failure": "xcache-webkit ended: " + self.process.stderr.read()[-300:]}
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.stderr.read()
        self.process.wait(30)


def judged(report, url, files):
    """What is wrong with a page that the engine opened; nil if nothing is."""
    if report.get("failure"):
        return f"failed: {report['failure']}"
    document = next((one for one in report["requests"] if one["url"].split("#")[0] == url.split("#")[0]), None)
    if not document or document["source"] != "device":
        return f"the document is {document and document['source']}'s"
    if report.get("isBlank"):
        return f"blank; {[error.get('text', error) for error in report['scriptErrors']][:2]}"
    lacking = [one["url"] for one in report["requests"]
               if one["source"] in ("missing", "failed", "network") and one["url"].split("?")[0].removeprefix(BASE) in files]
    return f"not from the device: {lacking[:3]}" if lacking else None


def webkit(xcache, program, specs, work, table):
    for spec in specs:
        name, routes, files = releases(spec)
        origin = Origin(xcache, work / f"{name}-webkit")
        folder, device = work / f"{name}-project", work / f"{name}-device"
        try:
            for release in (0, 1):
                contents = files(release)
                shutil.rmtree(folder / "dist", ignore_errors=True)
                settings = project(folder, name, contents, xcache)
                if release == 0:
                    print(f"{name}: {json.dumps(settings['bundles']['main'].get('fallback'))}")
                origin.publish(folder, name, patience=0)
                subprocess.run([xcache, "pull", "--to", device, "--server", origin.url, "--app", name, "--force", "--json"], check=True,
                               capture_output=True)
                for state in ("online", "offline"):
                    engine = Engine(program, folder=str(device), server=origin.url, app=name, hosts=["m.example.com"],
                                    offline=state == "offline", width=1280, height=800, addresses={"m.example.com": "127.0.0.1"})
                    for route in routes:
                        for tries in (1, 2, 3):
                            report = engine.open(BASE + route)
                            if "doesn't answer" not in (report.get("failure") or ""):
                                break
                        final = (report.get("finalURL") or "").removeprefix(BASE)
                        notes = [f"then {final}"] * (final != route) + [f"at try {tries}"] * (tries > 1)
                        table.add(name, "WebKitGTK", f"{state}{', after a release' if release else ''}", route,
                                  judged(report, BASE + route, contents), note=", ".join(notes),
                                  errors=[error.get("text", "") for error in report.get("scriptErrors", [])][:3])
                    engine.close()
            environment = origin.environment | {"XCACHE_WEBKIT": program}
            smoke = subprocess.run([xcache, "smoke", "dist", *(route or "index.html" for route in routes), "--bundle", "main", "--timeout", "60",
                                    "--json"], cwd=folder, env=environment, capture_output=True, text=True)
            document = json.loads(smoke.stdout)
            for route, page in zip(routes, document.get("pages", [{"findings": [{"problem": smoke.stderr}]}] * len(routes))):
                wrong = sorted({finding["problem"] for finding in page["findings"] if finding["problem"]} - {"script"})
                table.add(name, "WebKitGTK", "smoke", route, ", ".join(wrong) or None)
            preview = subprocess.run([xcache, "preview", BASE + routes[1], "--app", name, "--offline", "--json", "--timeout", "60"], cwd=folder,
                                     env=environment, capture_output=True, text=True)
            document = json.loads(preview.stdout)
            table.add(name, "WebKitGTK", "preview", routes[1], None if preview.returncode == 0 else f"{preview.returncode}: {preview.stderr}",
                      note=f"its fallback is {document.get('fallback')}")
        finally:
            origin.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xcache")
    parser.add_argument("--webkit", help="xcache-webkit; without it, only Chromium is used")
    parser.add_argument("--builds", default="streamlit;marimo;mlflow;prefect;kedro-viz")
    parser.add_argument("--engines", default="chromium,webkit")
    parser.add_argument("--record", help="append each opening to this file, as a line of JSON")
    given = parser.parse_args()
    xcache, engines = os.path.abspath(given.xcache), given.engines.split(",")
    specs = given.builds.split(";" if "==" in given.builds or ";" in given.builds else ",")
    table = Table(given.record)
    with tempfile.TemporaryDirectory(prefix="xcache-routes-", ignore_cleanup_errors=True) as folder:
        if "webkit" in engines and given.webkit:
            webkit(xcache, os.path.abspath(given.webkit), specs, pathlib.Path(folder), table)
        if "chromium" in engines:
            chromium(xcache, specs, folder, table)
    table.show()
    for line in table.failed:
        print(line)
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
