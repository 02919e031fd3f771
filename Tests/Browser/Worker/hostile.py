"""Failures and attacks: pages that don't load, stuck or full storage, false answers, apps side by side."""
import hashlib, json, random, time

from answers import with_prefetch
from attacks import in_order
from bench import App, case, until
from servers import says
from steps import (KEPT, REGISTRATION, base_of, forward, from_the_site, looks_for_worker, new_worker, policy, second, takes, until_waiting)

THROWS = '<script type="module">throw new Error("of this version")</script>'


def told(bench, app, tab):
    """The counts in the next report to the origin."""
    forward(bench, app, 130)
    tab.update()
    return until(lambda: next((body["counts"] for body in (json.loads(entry.body) for entry in list(bench.proxy.log)
                                                           if entry.path.startswith(f"/report?app={app.app}&")) if "counts" in body), None),
                 "the batch")


@case("a page whose script fails twice is the network's until the next version, and the origin is told")
def _(bench):
    app = App(bench)
    tab = app.visited(1, extra=THROWS)
    from_the_site(app, (b"version 1", b"from the site"))
    tab.open(app.base)
    assert tab.title() == "version 1"
    tab.until(KEPT % ("health", "kept?.size === 1 && [...kept.values()][0].count === 2"))
    # A restarted worker remembers it, and the counts to report aren't lost.
    assert tab.eval(KEPT % ("tally", "kept?.counts['script-failed'] === 2"))
    bench.stop_worker(tab)
    tab.open(app.base)
    assert tab.title() == "from the site"
    tab.open(app.base + "help.html")
    assert tab.title() == "help 1"
    tab.open(app.base)
    assert tab.title() == "from the site"
    bench.proxy.forget()
    counts = told(bench, app, tab)
    assert counts.get("script-failed") == 2, counts
    app.release(2)
    app.hold(tab)
    tab.open(app.base)
    assert tab.title() == "version 2"
    app.web.stop()
    tab.open(app.base)
    assert tab.title() == "version 2"


@case("with the script neither deferred nor async, a classic script that fails counts, too")
def _(bench):
    app = in_order(App(bench))
    tab = app.visited(1, extra='<script>throw new Error("of this version")</script>')
    from_the_site(app, (b"version 1", b"from the site"))
    tab.open(app.base)
    tab.until(KEPT % ("health", "kept?.size === 1 && [...kept.values()][0].count === 2"))
    tab.open(app.base)
    assert tab.title() == "from the site"


@case("a page that came up in between begins the count anew")
def _(bench):
    app = App(bench)
    tab = app.visited(1, extra='<script type="module">if (location.search) throw new Error("with a query")</script>')
    from_the_site(app, (b"version 1", b"from the site"))
    for query in ("?1", "", "?2", ""):
        tab.open(app.base + query)
        assert tab.title() == "version 1", query


@case("a page that never comes up counts, one that is left in time doesn't")
def _(bench):
    app = in_order(App(bench))
    app.release(1, extra='<script src="/hangs.js"></script>')
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    from_the_site(app, (b"version 1", b"from the site"))
    held = []

    def hangs(request):
        held.append(request)
        until(lambda: not app.web.routes, "the end of the case")
    app.web.routes["/hangs.js"] = hangs

    def leaves(seconds):
        count = len(held)
        tab.session.send("Page.navigate", url=app.base)
        until(lambda: len(held) > count, "the script")
        assert tab.until("document.title") == "version 1"
        tab.until(KEPT % ("pages", "[...kept.values()].at(-1).began > 0"))
        if seconds:
            forward(bench, app, seconds)
        tab.open(app.base + "help.html")
        tab.until(KEPT % ("pages", "[...kept.values()].every((page) => page.isOver || !page.began || page.url === location.href)"))
    for seconds in (0, 0, 0, 25, 25):
        leaves(seconds)
    app.web.routes = {}
    tab.open(app.base)
    assert tab.title() == "from the site"


@case("two apps below one origin: one removes its worker, the other one's pages keep theirs")
def _(bench):
    one = App(bench, "/one/")
    tab = one.visited(1)
    two = App(bench, "/two/", web=one.web)
    other = two.visited(2)
    other.eval("xcache.on('removed', () => { window.removed = true; })")
    tab.eval("xcache.remove()")
    tab.until(f"{REGISTRATION}.then((r) => r === undefined)")
    # Messages arrive in order, so `removed` would have arrived by now.
    assert other.state()["version"] == two.version
    other.open(two.base)
    assert other.eval("xcache.ready.then((r) => r !== undefined)") and other.eval("window.removed") is None


@case("a cache that is stuck costs a page one wait, not one for each file")
def _(bench):
    app = App(bench, patience=6000)
    tab = app.visited()
    bench.stop_worker(tab)
    tab.eval("fetch('/wake')")
    bench.worker(app).eval("CacheStorage.prototype.open = CacheStorage.prototype.match = () => new Promise(() => {});")
    begun = time.monotonic()
    assert tab.fetch("logo.svg")["status"] == 200
    first = time.monotonic()
    for name in ("help.html", "index.html", "logo.svg"):
        assert tab.fetch(name)["status"] == 200
    assert first - begun >= 6 and time.monotonic() - first < 6, (first - begun, time.monotonic() - first)


@case("a store without room: the kill switch is in force all the same")
def _(bench):
    app = App(bench)
    tab = app.visited()
    bench.worker(app).eval("IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); }")
    policy(bench, app, "kill", "--for", "6h")
    until(lambda: tab.update() and tab.state()["policy"] > 0, "the policy")
    from_the_site(app, (b"version 1", b"from the site"))
    tab.open(app.base)
    assert tab.title() == "from the site"


@case("a store without room in the middle of a switch: the version stays, whole")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app)
    bench.worker(app).eval("""(() => { const { put } = IDBObjectStore.prototype;
      IDBObjectStore.prototype.put = function (value, key) {
        const request = put.call(this, value, key);
        if (key === 'manifest') this.transaction.abort();
        return request;
      }; })()""")
    assert tab.update()["kind"] == "failed" and tab.state()["version"] == "1"
    bench.stop_worker(tab)
    app.web.stop()
    tab.open(app.base)
    tab.until("window.version === 1")
    takes(app, tab, "pack")


@case("a worker that ended in the middle of a poll keeps its distance of 30 seconds")
def _(bench):
    app = App(bench)
    tab = app.visited()
    held = []

    def hangs(request, proxy):
        held.append(request)
        until(lambda: not bench.proxy.rules, "the end of the rule")
    forward(bench, app, 100)
    bench.proxy.rules = [(f"configure.json?app={app.app}&", hangs)]
    tab.eval("void xcache.update()")
    until(lambda: held, "the poll")
    # The next worker's clock isn't changed.
    assert tab.until(KEPT % ("poll", "kept.lastPoll > Date.now() + 50_000"))


@case("a worker that waited knows what the older one did meanwhile")
def _(bench):
    app = App(bench)
    tab = app.visited()
    new_worker(app, b"self.marked = 4;\n")
    looks_for_worker(tab)
    until_waiting(tab)
    app.release(2)
    app.hold(tab)
    tab.eval("void xcache.reload('now')")
    tab.until("window.version === 2")
    tab.until(f"{REGISTRATION}.then((r) => r.waiting === null && r.active.state === 'activated')")
    app.web.stop()
    tab.open(app.base)
    tab.until("window.version === 2")
    state = tab.state()
    assert (state["version"], state["page"]) == ("2", "2") and bench.worker(app).eval("self.marked") == 4, state


@case("a store that can't be read out answers what the page asks of it")
def _(bench):
    app = App(bench)
    tab = app.visited()
    bench.worker(app).eval("CacheStorage.prototype.open = () => { throw new Error('broken'); }")
    assert tab.eval("xcache.state().then((state) => state === undefined)")


@case("numbers that lie: sizes and deltas that can't be cost a plain download, or are refused")
def _(bench):
    app = App(bench)
    tab = app.visited()
    base = base_of(bench, app)
    second(bench, app)
    answer = bench.origin.answer(app.app, f"&version={base['version']}&digest={base['digest']}&patch=1")
    deltas = answer["deltas"]
    assert deltas
    sizes = ["x", None, 2 ** 53, -1]
    lies = {url: {**delta, "size": sizes[i % 4], "download": "data:,short"} for i, (url, delta) in enumerate(deltas.items())}

    def lie(request, proxy):
        request.path = request.path.replace("&pack=1", "")
        says(deltas={**lies, "__proto__": None})(request, proxy)
    bench.proxy.rules = [("configure.json", lie)]
    report = takes(app, tab, "patch")
    assert report["deltas"] == 0, report
    # Manifests with one invalid entry.
    app.release(3)
    for entry in ({"size": 2 ** 60}, {"size": -1}, {"version": "0"}, {"download": "data:,x"}, {"download": 7}, {"sha256": "x"},
                  {"headers": {"Content-Security-Policy": "a\r\nb: c"}}):
        whole = bench.origin.answer(app.app)["resourcemap"]
        whole[app.base + "logo.svg"] = {**whole[app.base + "logo.svg"], **entry}
        bench.proxy.rules = [("configure.json", says(resourcemap=whole, patch=None, base=None, pack=None))]
        assert tab.update()["kind"] == "failed" and tab.state()["version"] == "2", entry


@case("an entry of another host counts in the digest, and is neither fetched nor answered")
def _(bench):
    app = App(bench)
    tab = app.visited()
    foreign = app.web.url.replace("127.0.0.1", "localhost") + "/"
    bench.origin.publish(app.app, foreign, {"theirs.js": b"theirs"}, bundle="theirs")
    bench.proxy.forget()
    until(lambda: tab.update()["to"] == "2", "the version")
    tab.open(app.base)
    # The site answers, and the page may not read it (CORS).
    assert "error" in tab.fetch(foreign + "theirs.js") and app.web.seen("theirs.js")


@case("a prefetched answer that was led elsewhere isn't given to a page that doesn't let itself be led")
def _(bench):
    app, tab, heard = with_prefetch(bench, [{"api": "/api", "method": "GET"}])
    app.web.routes["/moved"] = app.web.routes["/api"]
    app.web.routes["/api"] = lambda request: request.answer(status=302, headers=[("Location", "/moved")])
    tab.open(app.base + "index.html")
    until(lambda: heard, "the call")
    assert tab.eval("fetch('/api', {redirect: 'manual'}).then((r) => r.type)") == "opaqueredirect"
    assert tab.fetch("/api", "{credentials: 'omit'}")["text"] == '{"calls": 2}'


@case("a manifest with URLs that can't be is refused, whatever its digest says")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2)
    whole = bench.origin.answer(app.app)["resourcemap"]
    entry = whole[app.base + "logo.svg"]

    def offers(**more):
        resourcemap = {**whole, **more}
        text = json.dumps(resourcemap, sort_keys=True, separators=(",", ":"))
        return [("configure.json", says(resourcemap=resourcemap, digest=hashlib.sha256(text.encode()).hexdigest(), patch=None, base=None,
                                        pack=None))]
    for url in ("javascript:alert(1)", "//evil.test/x.js", "/x.js", "data:,x", "https://a:b@evil.test/", "HTTP://evil.test/", "http://evil.test",
                "http://evil.test:80/", "http://evil.test/#x", "http://evil.test/\u00e9", "http://evil.test/a/../b", "file:///etc/passwd"):
        bench.proxy.rules = offers(**{url: entry})
        assert tab.update()["kind"] == "failed" and tab.state()["version"] == "1", url
    there = entry["download"]
    for download in (there + "#x", there.replace("/xcache/", "/x/../xcache/"), there.replace("//127.0.0.1", "//127.1"),
                     there.replace("http://", "http://a:b@"), "http:x/logo"):
        assert download != there
        bench.proxy.rules = offers(**{app.base + "logo.svg": {**entry, "download": download}})
        assert tab.update()["kind"] == "failed" and tab.state()["version"] == "1", download
    # Without the invalid URL the manifest is accepted.
    bench.proxy.rules = offers()
    assert tab.update()["to"] == "2"


def tasks_of(bench, act):
    """The CPU milliseconds of each task of the workers during `act`; CPU time isn't affected by other load."""
    root = bench.browser.root
    mark = len(root.events)
    root.send("Tracing.start", transferMode="ReportEvents", traceConfig={"includedCategories": ["toplevel"]})
    act()
    root.send("Tracing.end")
    root.wait_event("Tracing.tracingComplete", since=mark)
    events = [event for told in root.events[mark:] if told["method"] == "Tracing.dataCollected" for event in told["params"]["value"]]
    workers = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name" and "ServiceWorker" in e["args"]["name"]}
    return [e["tdur"] / 1000 for e in events if (e["pid"], e["tid"]) in workers and "tdur" in e and "RunTask" in e["name"]]


@case("a manifest of 10,000 URLs: no task of the worker takes 50 ms")
def _(bench):
    app = App(bench, meteredLimit=1000)
    tab = app.visited()
    app.release(2, add={f"assets/photo-{number:05}-{number * 2654435761 % 2**32:08x}.txt": b"%d" % number for number in range(10_000)})
    reports = []
    # On a metered network the files aren't downloaded at once, and no pack is requested.
    tasks = tasks_of(bench, lambda: reports.append(tab.eval("xcache.update({force: true, metered: true})")))
    assert reports[0]["kind"] in ("patch", "whole") and reports[0]["to"] == "2", reports
    assert tab.state()["listed"] > 10_000 and sum(tasks) > 50, sum(tasks)
    assert max(tasks) < 50, sorted(tasks)[-5:]


@case("beside a large pack no task of the worker takes 50 ms")
def _(bench):
    lots = random.Random(21)
    words = ["".join(lots.choices("abcdefghijklmnopqrstuvwxyz", k=lots.randrange(2, 10))) for _ in range(5000)]

    def text(count):
        return " ".join(lots.choices(words, k=count)).encode()
    large, small = text(1_300_000), {f"assets/part-{i:03}.js": f"export default {i}".encode() for i in range(200)}
    app = App(bench)
    tab = app.visited(1, add={**small, "large.js": large})
    half = len(large) // 2
    second(bench, app, add={**{name: file + b";" for name, file in small.items()}, "large.js": large[:half] + text(60_000) + large[half:]})
    tasks = tasks_of(bench, lambda: takes(app, tab, "pack"))
    assert len(tasks) > 100 and sum(tasks) > 100, (len(tasks), sum(tasks))
    assert max(tasks) < 50, sorted(tasks)[-5:]
