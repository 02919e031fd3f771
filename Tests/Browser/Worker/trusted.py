"""Sites with a root (docs/protocol.md §14): whoever answers, what nobody signed costs no page, and gets into none."""
import json

from bench import case, until
from hostile import tasks_of
from signing import DAY, TrustedApp, documents, now, signed
from steps import KEPT, forward, looks_for_worker, new_worker, until_active, until_waiting


def stays(app, tab, version, reason=None):
    """Updates in vain; the page opens as before."""
    app.bench.proxy.forget()
    report = tab.update()
    state = tab.state()
    assert report["kind"] == "failed" and state["version"] == version, (report, state)
    if reason:
        until(lambda: reason in app.reports(), f"the report {reason}, not {app.reports()}")
    return report


def opens(app, tab, version):
    """The page opens from the device, without the site."""
    app.web.stop()
    tab.open(app.base)
    tab.until(f"window.version === {version}")
    app.web.start()


def restarts(bench, app, tab):
    """The next worker knows only what was kept."""
    bench.stop_worker(tab)
    tab.open(app.base)


def goes(app, tab, version):
    report = tab.update()
    assert report["to"] == str(version), report
    return report


def replaces(app, tab):
    """The site's new worker takes over."""
    looks_for_worker(tab)
    until_waiting(tab)
    tab.mark()
    tab.eval("void xcache.reload('now')")
    tab.until("window.mark === undefined && window.version === 1")
    until_active(tab)


def came_up(app, tab, version):
    """A page of a version comes up."""
    tab.open(app.base)
    tab.until(f"window.version === {version}")
    tab.until(KEPT % ("proved", f"kept === '{documents.digest(app.source.maps[str(version)])}'"))


@case("a root: what its publisher signed is taken, whole and by a patch, without a request more")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    app.release(2)
    bench.proxy.forget()
    report = goes(app, tab, 2)
    assert report["kind"] == "patch", report
    assert tab.update()["kind"] == "nothing"
    asked = [entry.path.split("?")[0] for entry in bench.proxy.log if entry.path.split("?")[0] not in app.source.files]
    assert [path for path in asked if path != "/report"] == ["/configure.json"] * 2 and not app.reports(), asked
    opens(app, tab, 2)


@case("no root: its members are ignored, nothing more is asked for, and nothing more is kept")
def _(bench):
    app = TrustedApp(bench, is_trusted=False)
    tab = app.visited(1)
    app.source.roots.append(app.source.root("2"))
    app.release(2, "thief")
    bench.proxy.forget()
    goes(app, tab, 2)
    opens(app, tab, 2)
    asked = {entry.path.split("?")[0] for entry in bench.proxy.log} - set(app.source.files)
    assert asked <= {"/configure.json", "/report"}, asked
    assert tab.until(KEPT % ("trust", "kept === undefined"))
    assert tab.until(KEPT % ("proved", "kept === undefined"))
    assert not app.web.seen("xcache-sw-trust.js")


@case("a hostile origin: other content, other keys, an older version, another app's statement: nothing gets into a page")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source
    old = source.head()
    app.release(2)
    goes(app, tab, 2)
    came_up(app, tab, 2)
    theirs = {"main": {**app.files(3), "xcache.js": app.runtime_files()["xcache.js"]}, "help": {"help.html": b"theirs"}}

    def signs(*signers, **members):
        source.release("3", theirs, *signers, **members)
    signs("thief")
    stays(app, tab, "2", "trust-scope")
    other = "4" * 64
    # Whoever holds the head key, and no other one.
    for version, members, reason in (("4", {"content": other}, "content"), ("5", {"app": "other"}, "content"), ("6", {"channels": ["beta"]}, "content")):
        source.release(version, theirs, **members)
        stays(app, tab, "2", f"trust-{reason}")
    # Without that key: nothing signed, the head of another version, a head by another key, another app's.
    source.release("7", theirs)
    head = source.head
    for number, (made, reason) in enumerate((
            (lambda: None, "trust-head"), (lambda: old, "trust-head"), (lambda: {**head(), "signatures": []}, "trust-head"),
            (lambda: head(app="other"), "trust-head"), (lambda: head(channel="beta"), "trust-head"), (lambda: head(digest=other), "trust-head"),
            (lambda: {**head(), "payload": "e30="}, "trust-head"))):
        version = str(8 + number)
        source.release(version, theirs)
        source.head = made
        stays(app, tab, "2", reason)
        source.head = head
    # The older version, with all that was signed for it.
    source.version = "1"
    source.head = lambda: old
    stays(app, tab, "2")
    source.head = head
    source.news()
    stays(app, tab, "2")
    opens(app, tab, 2)
    # None of these polls failed, so that nobody is asked instead.
    state = tab.state()
    assert state["failures"] == 0 and state["source"] == "origin", state
    # What is right is taken in the end.
    source.version = "2"
    source.head = head
    app.release(20)
    goes(app, tab, 20)
    opens(app, tab, 20)


@case("a mix of versions that nobody made a head for is refused")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source
    app.release(2)
    mixed = {url: (source.maps["1"] if "help" in url else source.maps["2"])[url] for url in source.maps["2"]}
    source.changes = [lambda data: {**data, "resourcemap": mixed, "digest": documents.digest(mixed)} if "resourcemap" in data else data]
    source.patches = False
    stays(app, tab, "1", "trust-head")
    source.changes = []
    goes(app, tab, 2)


@case("a statement that is missing beside a patch: the whole manifest is asked for at once, and its own are taken")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    app.release(2)
    app.source.changes = [lambda data: {**data, "trust": {"head": data["trust"]["head"]}} if "patch" in data else data]
    bench.proxy.forget()
    report = goes(app, tab, 2)
    assert report["kind"] == "whole" and len(app.polls()) == 2 and not app.reports(), (report, app.polls(), app.reports())
    # Once: a whole one without them is refused.
    app.release(3)
    app.source.changes = [lambda data: {**data, "trust": {"head": data["trust"]["head"]}} if "trust" in data else data]
    stays(app, tab, "2", "trust-content")
    assert len(app.polls()) == 2, app.polls()


@case("a key may sign what its grant says, and no more: bundles, channels, URLs")
def _(bench):
    app = TrustedApp(bench)
    source = app.source
    grants = [source.grant("publisher", bundles=["main"]), source.grant("new publisher", bundles=["help"], prefixes=[app.base + "help/"])]
    source.roots = [source.root("1", releases=grants)]
    app.trusts()
    files = {"main": {**app.files(1), "xcache.js": app.runtime_files()["xcache.js"]}}
    app.release(1, bundles=files)
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    app.release(2, bundles={**files, "help": {"help/new.html": b"new"}})
    stays(app, tab, "1", "trust-scope")
    source.statements["2"]["help"] = source.statement("2", "help", "new publisher")
    goes(app, tab, 2)
    app.release(3, bundles={**files, "help": {"help.html": b"another place"}})
    source.statements["3"]["help"] = source.statement("3", "help", "new publisher")
    stays(app, tab, "2", "trust-scope")


@case("roots come one after another; one that is skipped, forged or endless is the last, and nothing is taken under it")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source
    new = {"prefetch": [source.keys["new publisher"].id], "releases": [source.grant("new publisher")]}
    good = [source.root("2"), source.root("3", **new)]
    forged = source.root("2", "thief")
    sent = []

    def endless(request):
        request.send_response(200)
        for name, value in (("Content-Type", "application/json"), ("Access-Control-Allow-Origin", "*"), ("Connection", "close")):
            request.send_header(name, value)
        request.end_headers()
        request.close_connection = True
        for _ in range(1 << 12):
            request.wfile.write(b" " * (1 << 14))
            sent.append(1 << 14)
    app.release(2, "new publisher")
    for number, roots in enumerate(([good[1], good[1]], [forged, good[1]], [signed("head", {}), good[1]], [None, None])):
        source.roots = [source.roots[0], *roots]
        # It is told of once.
        stays(app, tab, "1", None if number else "trust-root")
        assert not bench.proxy.seen("root/3.json"), "the next one was asked for"
    source.routes["root/2.json"] = endless
    stays(app, tab, "1")
    assert sum(sent) < 60 << 20, sum(sent)
    source.routes = {}
    source.roots = [source.roots[0], *good]
    bench.proxy.forget()
    goes(app, tab, 2)
    assert bench.proxy.seen("/root/") == [f"/xcache/{app.app}/root/{number}.json" for number in (2, 3)], bench.proxy.seen("/root/")
    # They outlive the worker: the old key's releases are none any more.
    restarts(bench, app, tab)
    app.release(3, "publisher")
    stays(app, tab, "2", "trust-scope")
    assert not bench.proxy.seen("/root/")
    opens(app, tab, 2)


@case("a publisher's key is stolen: a new root ends it, and takes back the floor that it raised")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source
    # The thief locks everybody out.
    far = now() + 1000 * DAY
    app.release(2, serial=far, floor=far)
    goes(app, tab, 2)
    came_up(app, tab, 2)
    app.release(3)
    stays(app, tab, "2", "trust-floor")
    source.roots.append(source.root("2", releases=[source.grant("new publisher")], floors={"main": source.serial, "help": source.serial}))
    # It was told of this version before.
    stays(app, tab, "2")
    source.statements["3"] = {bundle: source.statement("3", bundle, "new publisher") for bundle in ("main", "help")}
    goes(app, tab, 3)
    opens(app, tab, 3)
    # Nothing that the thief signed comes back.
    source.news()
    source.maps["4"], source.statements["4"] = source.maps["2"], source.statements["2"]
    source.version = "4"
    stays(app, tab, "3", "trust-scope")


@case("a floor rises once a page of the version has come up, and outlives the worker")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source
    before = source.serial
    app.release(2, floor=now())
    goes(app, tab, 2)

    def takes_back(version):
        """A version with what was signed before."""
        source.news()
        source.maps[version], source.statements[version], source.version = source.maps["1"], source.statements["1"], version
    takes_back("3")
    goes(app, tab, 3)
    source.maps["4"], source.statements["4"], source.version = source.maps["2"], source.statements["2"], "4"
    source.news()
    goes(app, tab, 4)
    came_up(app, tab, 2)
    restarts(bench, app, tab)
    takes_back("5")
    stays(app, tab, "4", "trust-floor")
    assert before < source.serial


@case("the kill switch needs no publisher: it is in force while all else is wrong, and an older policy isn't")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source
    source.policy = {"version": "5", "intercept": True, "bypass": []}
    app.release(2)
    goes(app, tab, 2)
    assert tab.state()["policy"] == 5
    # The worker's store forgets the policy; what the head says of it stays.
    tab.until("""indexedDB.databases().then(([{ name }]) => new Promise((done) => {
      indexedDB.open(name).onsuccess = ({ target: { result } }) => {
        result.transaction('kept', 'readwrite').objectStore('kept').delete('policy').onsuccess = () => { result.close(); done(true); };
      }; }))""")
    restarts(bench, app, tab)
    head = source.head()
    source.head = lambda: head
    source.policy = {"version": "4", "intercept": False, "bypass": []}
    tab.update()
    assert tab.state()["policy"] == 0
    source.policy = {"version": "6", "intercept": False, "bypass": []}
    source.roots += [None, None]
    source.release("3", {"main": {"index.html": b"theirs"}}, "thief")
    stays(app, tab, "2")
    assert tab.state()["policy"] == 6
    app.web.files["index.html"] = app.web.files["index.html"].replace(b"version 2", b"from the site")
    tab.open(app.base)
    assert tab.title() == "from the site"


@case("the kill switch is in force at once where the state of the check can't be kept; nothing is taken then")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source
    bench.worker(app).eval("""(() => { const { put } = IDBObjectStore.prototype;
      IDBObjectStore.prototype.put = function (value, key) {
        if (key === 'trust') throw new DOMException('full', 'QuotaExceededError');
        return put.call(this, value, key);
      }; })()""")
    source.policy = {"version": "1", "intercept": False, "bypass": []}
    app.release(2)
    assert tab.update()["kind"] == "failed" and tab.state()["version"] == "1" and tab.state()["policy"] == 1


@case("a root that comes while files are on their way: what it doesn't allow isn't switched to")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source
    app.release(2)
    held = []

    def hangs(request):
        held.append(request)
        until(lambda: len(source.roots) > 1 and bench.proxy.seen("root/2.json"), "the root")
        request.answer(source.files[request.path], "application/octet-stream", headers=[("Access-Control-Allow-Origin", "*")])
    path = next(path for path in source.files if path.startswith(f"/xcache/{app.app}/2/"))
    source.downloads[path] = hangs
    tab.eval("window.updated = xcache.update({force: true}); true")
    until(lambda: held, "the download")
    source.roots.append(source.root("2", releases=[source.grant("new publisher")]))
    source.news()
    tab.eval("void xcache.update({force: true})")
    report = tab.eval("window.updated")
    assert report["kind"] == "failed" and tab.state()["version"] == "1", report
    source.statements["2"] = {bundle: source.statement("2", bundle, "new publisher") for bundle in ("main", "help")}
    goes(app, tab, 2)


@case("a prefetch config is taken only if it is signed, with its numbers as they are written")
def _(bench):
    app = TrustedApp(bench)
    source = app.source
    heard = []
    app.web.routes["/api"] = lambda request: (heard.append(request.body), request.answer(b"{}"))
    tab = app.visited(1)
    text = json.dumps([{"url": app.base + "index.html", "interfaces": [{"api": app.web.url + "/api", "method": "POST", "body": {"a": 1.0, "b": 2}}]}])
    config = documents.parse(text.encode())

    def config_of(version, *signers, **members):
        value = {"app": app.app, "channels": ["online"], "content": documents.digest(config), "serial": now()} | members
        return {"version": version, "config": json.loads(text), "trust": signed("prefetch", value, *(source.keys[name] for name in signers))}
    for number, document in enumerate((config_of("1"), config_of("2", "thief"), config_of("3", "publisher", content="0" * 64),
                                       config_of("4", "publisher", app="other"))):
        source.prefetch = document
        source.news()
        bench.proxy.forget()
        tab.update()
        assert tab.state()["prefetch"] == 0 and bench.proxy.seen("prefetchConfig"), number
    source.prefetch = config_of("5", "publisher", floor=now() - 1000)
    tab.update()
    assert tab.state()["prefetch"] == 5
    tab.open(app.base + "index.html")
    until(lambda: heard, "the call")
    source.prefetch = config_of("6", "publisher", serial=now() - DAY)
    tab.update()
    assert tab.state()["prefetch"] == 5


@case("a head that has expired is told of once a day, and keeps nothing from being taken")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source
    source.until = now() + 5000
    app.release(2)
    source.at = source.until - 1000
    goes(app, tab, 2)
    forward(bench, app, 3600)
    for _ in range(2):
        assert tab.update()["kind"] == "nothing"
    until(lambda: app.reports() == ["trust-stale"], "the report")
    # A day later it is asked for anew, and told of again.
    forward(bench, app, 25 * 3600)
    bench.proxy.forget()
    for _ in range(2):
        assert tab.update()["kind"] == "nothing"
    assert bench.proxy.seen("head.json") == [f"/xcache/{app.app}/head.json"]
    until(lambda: app.reports() == ["trust-stale"], "the report")
    source.until = None
    app.release(3)
    goes(app, tab, 3)


@case("a candidate is taken by what the newest head says of it, which is asked for first")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source

    def offers(version, share):
        full = source.version
        app.release(int(version))
        source.version = full
        source.candidate = {"seed": f"seed{version}", "share": share, "version": version}
    offers("2", 0)
    # The answers say that everybody is in.
    source.changes = [lambda data: {**data, "rollout": {**data["rollout"], "share": 10_000}} if "rollout" in data else data]
    bench.proxy.forget()
    report = tab.update()
    assert report["to"] == "1" and tab.state()["version"] == "1" and bench.proxy.seen("head.json"), report
    # A head that names none any more: it was halted.
    source.candidate["share"] = 10_000
    head = source.head
    source.routes["head.json"] = lambda request: request.answer(
        json.dumps(signed("head", trust_head(source, source.at + 10), source.keys["head"])).encode(), "application/json",
        headers=[("Access-Control-Allow-Origin", "*")])
    stays(app, tab, "1", "trust-head")
    source.routes = {}
    source.at += 20
    source.head = head
    bench.proxy.forget()
    goes(app, tab, 2)
    assert len(bench.proxy.seen("head.json")) == 1 and tab.state()["candidate"]


def trust_head(source, at):
    return {"app": source.app.app, "at": at, "channel": "online", "digest": documents.digest(source.maps[source.version]), "until": at + DAY,
            "version": source.version}


@case("a root that is off: nothing is checked any more but roots, and another one turns it on again")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source
    source.roots.append(source.root("2", off=True, heads=[]))
    source.head_keys = ["thief"]
    app.release(2, "thief")
    goes(app, tab, 2)
    app.release(3, "thief")
    stays_off = goes(app, tab, 3)
    assert stays_off["kind"] == "patch" and not app.reports(), stays_off
    source.roots.append(source.root("3"))
    app.release(4, "thief")
    stays(app, tab, "3", "trust-head")
    source.head_keys = ["head"]
    app.release(5)
    source.statements["5"] = {bundle: source.statement("5", bundle) for bundle in ("main", "help")}
    goes(app, tab, 5)
    opens(app, tab, 5)


@case("a hostile copy: an older version, and content of its own, while the origin is away; then the copy that is right")
def _(bench):
    app = TrustedApp(bench, fallback=bench.origin.url + "/copy")
    tab = app.visited(1)
    source = app.source
    app.release(2)
    goes(app, tab, 2)
    source.is_down = True
    for _ in range(5):
        assert tab.update()["kind"] == "failed"
    source.version = "1"
    assert tab.update()["kind"] == "nothing" and tab.state()["version"] == "2"
    source.version = "2"
    source.release("3", {"main": {"index.html": b"theirs"}}, "thief")
    stays(app, tab, "2", "trust-scope")
    # The older version under a new number, by who holds no key.
    source.maps["4"], source.statements["4"], source.version, source.head_keys = source.maps["1"], source.statements["1"], "4", ["thief"]
    stays(app, tab, "2", "trust-head")
    source.head_keys, source.version = ["head"], "2"
    source.roots.append(source.root("2"))
    app.release(5)
    bench.proxy.forget()
    report = goes(app, tab, 5)
    assert report["source"] == "mirror" and bench.proxy.seen("/copy/")[-1], report
    assert [path for path in bench.proxy.seen("/root/")] == [f"/copy/xcache/{app.app}/root/2.json"], bench.proxy.seen("/root/")
    opens(app, tab, 5)


@case("a site that gets a root: what is held was never checked, and the next answer is a whole manifest")
def _(bench):
    app = TrustedApp(bench, is_trusted=False)
    tab = app.visited(1)
    app.trusts()
    new_worker(app)
    replaces(app, tab)
    bench.proxy.forget()
    report = until(lambda: (report := tab.update()) and report["kind"] != "early" and report, "the poll")
    assert "&version=0&" in app.polls()[0] and "&digest=" not in app.polls()[0], app.polls()
    assert report["kind"] in ("whole", "nothing") and report["fetched"] == 0, report
    app.release(2)
    bench.proxy.forget()
    assert goes(app, tab, 2)["kind"] == "patch"
    assert "&version=1" in app.polls()[0], app.polls()


@case("the state of the check is damaged: the device begins anew with the site's root, and asks for a whole manifest")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    tab.until("""indexedDB.databases().then(([{ name }]) => new Promise((done) => {
      indexedDB.open(name).onsuccess = ({ target: { result } }) => {
        const store = result.transaction('kept', 'readwrite').objectStore('kept');
        store.get('trust').onsuccess = ({ target: { result: kept } }) => {
          kept.root.roots.threshold = 0;
          store.put(kept, 'trust').onsuccess = () => { result.close(); done(true); };
        };
      }; }))""")
    bench.stop_worker(tab)
    app.release(2)
    bench.proxy.forget()
    report = until(lambda: (report := tab.update())["to"] == "2" and report, "the version")
    assert report["kind"] == "whole" and "&version=0&" in app.polls()[0], (report, app.polls())
    opens(app, tab, 2)


@case("a site with a root whose check is missing has no worker, rather than one that checks nothing")
def _(bench):
    app = TrustedApp(bench)
    app.release(1)
    del app.web.files["xcache-sw-trust.js"]
    tab = app.tab()
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.eval("xcache.ready.then((r) => r === undefined)")
    app.deploy(app.files(1))
    tab.open(app.base)
    app.hold(tab)


@case("a site whose root is none has no worker")
def _(bench):
    app = TrustedApp(bench)
    app.release(1)
    root = app.settings["root"]
    app.settings["root"] = {**root, "payloadType": "application/vnd.xcache.head+json"}
    app.deploy(app.files(1))
    tab = app.tab()
    tab.open(app.base)
    tab.until("window.version === 1")
    assert tab.eval("xcache.ready.then((r) => r === undefined)") and not app.polls()
    app.settings["root"] = root
    app.deploy(app.files(1))
    tab.open(app.base)
    app.hold(tab)


@case("a new build with another root: that one is in force, and what is held stays")
def _(bench):
    app = TrustedApp(bench)
    tab = app.visited(1)
    source = app.source
    new = source.root("1", releases=[source.grant("new publisher")])
    app.settings["root"] = new
    app.deploy(app.files(1))
    replaces(app, tab)
    app.release(2, "publisher")
    until(lambda: tab.update()["kind"] == "failed" and "trust-scope" in app.reports(), "the refusal")
    assert tab.state()["version"] == "1"
    source.statements["2"] = {bundle: source.statement("2", bundle, "new publisher") for bundle in ("main", "help")}
    goes(app, tab, 2)
    opens(app, tab, 2)


@case("a manifest of 3,000 URLs and 50 bundles of a site with a root: no task of the worker takes 50 ms")
def _(bench):
    app = TrustedApp(bench, meteredLimit=1000)
    tab = app.visited(1)
    photos = {f"photo-{number:05}-{number * 2654435761 % 2**32:08x}.svg": b"%d" % number for number in range(3_000)}
    bundles = {f"photos-{part:02}": {name: photos[name] for name in list(photos)[part::50]} for part in range(50)}
    app.release(2, bundles={"main": {**app.files(2), "xcache.js": app.runtime_files()["xcache.js"]}, **bundles})
    reports = []
    tasks = tasks_of(bench, lambda: reports.append(tab.eval("xcache.update({force: true, metered: true})")))
    assert reports[0]["to"] == "2" and tab.state()["listed"] > 3_000 and sum(tasks) > 50, reports
    assert max(tasks) < 50, sorted(tasks)[-5:]
