"""Whole builds of each bundler: online, offline, and after a release, at three of their addresses each."""
import hashlib, json, os

import matrix
from bench import case
from builds import BUILDS, contents, files_of
from sites import Front

IS_WEBKIT = os.environ.get("ENGINE") == "webkit"
# Who gave the page, and why, as `xcache.state()` says.
FROM = "xcache.ready.then(() => xcache.state()).then(({ from, why, page }) => [from, why ?? null, page])"
LOADED = "performance.getEntriesByType('resource').map(({ name }) => name.split('#')[0])"
# By build: what the matrix says of the run.
RESULTS = {}


def opens(tab, app, build, route, *given):
    """Opens an address in an empty tab; the page comes up, is given as said, and lacks no file of its release."""
    tab.open("about:blank")
    events = getattr(tab.session, "events", [])
    del events[:]
    tab.open(app.base + route)
    tab.until(build.shown, f"{build.name} at /{route}", 60)
    if given:
        told = tab.until(FROM)
        assert told == list(given), (route, told)
    asked = {event["params"]["requestId"]: event["params"]["request"]["url"] for event in list(events) if event["method"] == "Network.requestWillBeSent"}
    failed = [(asked.get(event["params"]["requestId"]), event["params"].get("errorText")) for event in list(events)
              if event["method"] == "Network.loadingFailed" and not event["params"].get("canceled")]
    lacked = [one for one in failed if one[0] in app.listed()]
    assert not lacked, (route, lacked)


def of_the_site(app):
    """Listed files that were asked of the site. What a page's script asks for with a query is the site's: see docs/builds.md."""
    return [one.path for one in list(app.web.log)
            if app.web.url + one.path.split("?")[0] in app.listed() and ("?" not in one.path or one.headers.get("Sec-Fetch-Mode") == "navigate")
            and one.headers.get("Service-Worker") != "script" and not one.path.endswith(("xcache-sw.js", "xcache-sw-packs.js"))]


def unused(tab, app, old, new):
    """A file that an open page may still ask for, and that the newer release has no more or has otherwise: its name."""
    loaded = set(tab.eval(LOADED))
    gone = [name for name in old if name.endswith((".js", ".mjs")) and new.get(name) != old[name] and app.base + name in app.listed()]
    rest = [name for name in gone if app.base + name not in loaded]
    return next(iter(sorted(rest, key=lambda name: name in new)), None) or gone[0]


def goes(bench, build):
    app = Front(bench, build.path, build.config)
    app.web.api = build.api
    old, new = files_of(build, 0), files_of(build, 1)
    steps = {"online": 0, "offline": 0, "after a release": 0}
    app.releases_of(old)
    RESULTS[build] = (steps, app.proposed, app.used)
    first = app.version
    tab = app.tab()
    opens(tab, app, build, build.routes[0])
    app.hold(tab)
    if build.lacks:
        opens(tab, app, build, build.routes[0])
        tab.until("navigator.serviceWorker.getRegistrations().then(({ length }) => length === 0)", f"{build.name}: {build.lacks}; does it still?", 30)
        return
    for route in build.routes:
        app.web.forget()
        opens(tab, app, build, route, "device", None, first)
        assert of_the_site(app) == [], of_the_site(app)
        steps["online"] += 1
    app.web.stop()
    bench.proxy.stop()
    for route in build.routes:
        opens(tab, app, build, route, "device", None, first)
        steps["offline"] += 1
    app.web.start()
    bench.proxy.start()
    opens(tab, app, build, build.routes[0], "device", None, first)
    name = unused(tab, app, app.deployed, new)
    was = app.deployed[name]
    app.releases_of(new)
    other = app.tab()
    opens(other, app, build, build.routes[0])
    app.hold(other)
    app.web.stop()
    # The page that was open still gets its own files.
    got = tab.eval(f"fetch({json.dumps(app.base + name)}).then((r) => r.arrayBuffer()).then((b) => crypto.subtle.digest('SHA-256', b))"
                   ".then((d) => [...new Uint8Array(d)].map((n) => n.toString(16).padStart(2, '0')).join(''))")
    assert got == hashlib.sha256(was).hexdigest(), f"{name} is another one"
    if build.modules:
        assert tab.eval(f"import({json.dumps(app.base + name)}).then((module) => typeof module)") == "object", name
    for route in build.routes:
        opens(other, app, build, route, "device", None, app.version)
        steps["after a release"] += 1


for one in BUILDS:
    case(f"{one.name} {one.versions[0]} and {one.versions[1]}, {one.bundler}: online, offline, after a release")(lambda bench, build=one: goes(bench, build))


def tell():
    """Compares with the matrix what was found of the builds that were opened."""
    for build, (steps, proposed, used) in RESULTS.items():
        files = files_of(build, 1)
        addresses = ", ".join(f"`{build.path}{route}`" for route in build.routes)
        matrix.row(f"{build.package} {build.versions[1]}", {
            "bundler": build.bundler, "before": build.versions[0], "files": f"{len(files)}, {sum(map(len, files.values())) / 1e6:.1f} MB",
            "contains": ", ".join(contents(files)), "addresses": addresses, "xcache.json": matrix.settings(proposed, used),
            "Chromium": ", ".join(f"{count} {word}" for word, count in steps.items()) + (f": {build.lacks}" if build.lacks else "")})
