"""Trust: prefetched answers of other users, policies from stale caches, and pages without a maintained worker."""
import json, re, time

from answers import with_prefetch
from bench import App, case, until
from hostile import THROWS, in_order
from servers import fails, says
from steps import CACHE, KEPT, fails_for, forward, from_the_site, lazy_of, lose, opens, policy, second, takes, until_gone


def signs_in(web):
    """A site that answers who is signed in, by an HttpOnly cookie."""
    def api(request):
        # Cookies are a host's, whatever its port, so that those of other cases come along.
        found = re.search("id=([^;]*)", request.headers.get("Cookie") or "")
        request.answer(found[1].encode() if found else b"", headers=[("Vary", "Accept-Language")])

    def login(request):
        request.answer(b"", headers=[("Set-Cookie", f"id={request.body.decode() or 'C'}; HttpOnly; Path=/")])
    web.routes.update({"/api": api, "/login": login})


def slow_call(bench):
    """A page whose prefetch call was answered for the user A."""
    app, tab, _ = with_prefetch(bench, [{"api": "/api", "method": "GET"}])
    signs_in(app.web)
    tab.fetch("/login", "{method: 'POST', body: 'A'}")
    asked = []
    api = app.web.routes["/api"]
    app.web.routes["/api"] = lambda request: (api(request), asked.append(1))
    tab.open(app.base + "index.html")
    until(lambda: asked, "the call")
    return app, tab


@case("a prefetched answer isn't given to who signed in meanwhile, nor to who signed out")
def _(bench):
    app, tab = slow_call(bench)
    assert tab.fetch("/login", "{method: 'POST', body: 'B'}")["status"] == 200
    assert tab.fetch("/api")["text"] == "B"
    app, tab = slow_call(bench)
    # Without a new sign-in, it is.
    assert tab.fetch("/api")["text"] == "A" and tab.state()["counts"]["prefetched"] == 1
    app, tab = slow_call(bench)
    tab.eval("document.cookie = 'other=1'")
    assert tab.fetch("/api")["text"] == "A" and tab.state()["counts"]["prefetched"] == 0


@case("a page that opened elsewhere meanwhile ends what was prefetched: it may have signed somebody in")
def _(bench):
    app, tab = slow_call(bench)
    app.web.routes["/callback"] = lambda request: request.answer(
        b"<!doctype html><title>in</title>", "text/html", headers=[("Set-Cookie", "id=B; HttpOnly; Path=/")])
    other = app.tab()
    other.open(app.base + "callback")
    assert tab.fetch("/api")["text"] == "B"


@case("a header that the page set, and the answer varies by, isn't answered by what was prefetched")
def _(bench):
    app, tab = slow_call(bench)
    assert tab.fetch("/api", "{headers: {'Accept-Language': 'de'}}")["text"] == "A" and tab.state()["counts"]["prefetched"] == 0
    app, tab = slow_call(bench)
    assert tab.fetch("/api", "{headers: {'Accept': 'text/plain'}}")["text"] == "A" and tab.state()["counts"]["prefetched"] == 1


@case("the kill switch arrives with an answer that nothing can be taken of")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2)
    for number, wrong in enumerate(({"version": None}, {"update": "yes"}, {"digest": None}, {"resourcemap": None}), 5):
        bench.proxy.rules = [("policy.json", says(intercept=False, until="2100-01-01T00:00:00Z", version=str(number))),
                             ("configure.json", says(policy=str(number), pack=None, patch=None, **wrong))]
        assert tab.update()["kind"] == "failed"
        assert tab.state()["policy"] == number and tab.state()["version"] == "1", wrong


@case("an older policy than the one that is named, or held, isn't taken")
def _(bench):
    app = App(bench)
    tab = app.visited()
    for held, named, given, after in ((0, "5", "5", 5), (5, "7", "6", 5), (5, "7", "3", 5), (5, "3", "3", 5), (5, "7", "8", 5), (5, "7", "7", 7)):
        assert tab.state()["policy"] == held
        bench.proxy.rules = [("policy.json", says(intercept=True, version=given)), ("configure.json", says(policy=named))]
        tab.update()
        assert tab.state()["policy"] == after, (held, named, given)


@case("the kill switch stands a worker aside, and keeps what it has: it comes back without a download")
def _(bench):
    app = App(bench)
    tab = app.visited()
    from_the_site(app, (b"version 1", b"from the site"))
    # One without an end removed workers once.
    for words in ((), ("--until-resumed",)):
        before = tab.state()["policy"]
        policy(bench, app, "kill", *words)
        until(lambda: tab.update() and tab.state()["policy"] > before, "the policy")
        held = tab.state()
        tab.open(app.base)
        assert tab.title() == "from the site" and tab.controlled()
        assert tab.state()["held"] == held["listed"]
        policy(bench, app, "resume")
        until(lambda: tab.update() and tab.state()["policy"] > held["policy"], "the policy")
        bench.proxy.forget()
        bench.stop_worker(tab)
        tab.open(app.base)
        assert tab.title() == "version 1"
        assert not [path for path in bench.proxy.seen("/xcache/") if ".json" not in path]


@case("a page that failed twice opens from the device where the network accepts and never answers")
def _(bench):
    app = App(bench, patience=500)
    tab = app.visited(1, extra=THROWS)
    for _ in range(2):
        tab.open(app.base)
        tab.until("document.readyState === 'complete'")
    tab.until(KEPT % ("health", "kept?.size === 1 && [...kept.values()][0].count === 2"))

    def hangs(request):
        until(lambda: not app.web.routes, "the end of the case")
    app.web.routes["/"] = hangs
    begun = time.monotonic()
    tab.open(app.base)
    assert tab.title() == "version 1" and time.monotonic() - begun < 20
    app.web.routes = {}


@case("an error of a script of the page's own that keeps nothing from it isn't a failure")
def _(bench):
    shows = 'document.body.append(Object.assign(document.createElement("main"), {textContent: "the app"}))'
    renders = f'<script type="module">throw new Error("harmless")</script><script type="module">{shows}</script>'
    later = f'<script type="module">setTimeout(() => {shows}, 600); throw new Error("late")</script>'
    for extra in (renders, later):
        # Without `defer`, workers before this one saw the error, too.
        for is_deferred in (True, False):
            app = App(bench)
            if not is_deferred:
                in_order(app)
            tab = app.visited(1, extra=extra)
            from_the_site(app, (b"version 1", b"from the site"))
            for _ in range(4):
                tab.open(app.base)
                tab.until("document.querySelector('main') !== null")
                tab.until(KEPT % ("health", "!kept || kept.size === 0"), "no failure", seconds=30)
                assert tab.title() == "version 1"


TEXT = "Apples, pears and plums of this year's harvest, by the crate or by the pound, from the orchards around the lake. " * 2
ANALYTICS = '<script defer src="/analytics.js"></script>'
PICTURE = ('<svg style="display: block; width: 90vw; height: 90vh" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>')
REPLACES = ('<div id="root"><i>…</i></div><script type="module">const app = document.createElement("div"); '
            'app.append(document.createElement("p")); app.firstChild.textContent = "the app"; root.replaceWith(app)</script>')


def with_errors(bench, extra):
    """A page with an own script that throws, whose site has another title; returns how often it failed, after two opens."""
    app = App(bench)
    tab = app.visited(1, extra=ANALYTICS + extra, add={"analytics.js": b"throw new Error('analytics')"})
    from_the_site(app, (b"version 1", b"from the site"))
    tab.open(app.base)
    tab.state()
    # The last look at what a page shows comes three seconds after its load.
    time.sleep(0.5)
    failed = tab.eval(KEPT % ("health", "[...(kept?.values() ?? [])][0]?.count ?? 0"))
    tab.open(app.base)
    assert tab.title() == ("from the site" if failed else "version 1"), (extra, failed)
    return failed


@case("an error on a page that is complete in its HTML, or whose spinner an app replaced, isn't a failure")
def _(bench):
    for extra in (f"<main>{TEXT}</main>", PICTURE, REPLACES):
        assert with_errors(bench, extra) == 0, extra


@case("an error on a page with a spinner, or what says that it loads, and no more, is a failure")
def _(bench):
    for extra in ("<p>Loading...</p>", f'<div class="app-spinner"><svg width="900" height="900"></svg>{TEXT}</div>',
                  f'<main aria-busy="true">{TEXT}</main>', f"<noscript>{TEXT}</noscript>", f'<main style="margin-top: 500vh">{TEXT}</main>',
                  f"<main hidden>{TEXT}</main>"):
        assert with_errors(bench, extra) == 2, extra


@case("a page that comes up from the network alone is tried from the device once an hour, not with each open")
def _(bench):
    app = App(bench)
    tab = app.visited(1)
    app.release(2, extra=THROWS)
    app.hold(tab)
    # The site is rolled back.
    app.deploy(app.files(1))

    def opens(count):
        titles = []
        for _ in range(count):
            tab.open(app.base)
            titles.append(tab.title()[-1])
            tab.state()
        return "".join(titles)
    assert opens(10) == "2211111111"
    state = tab.state()
    assert (state["from"], state["why"], state["failures"]) == ("network", "failed", 0), state
    # A restarted worker remembers it.
    bench.stop_worker(tab)
    assert opens(2) == "11"
    for hours, seen in ((0.9, "11"), (0.2, "211"), (1.5, "11"), (0.6, "211")):
        forward(bench, app, hours * 3600)
        assert opens(len(seen)) == seen, hours
    app.release(3)
    app.hold(tab)
    assert opens(2) == "33"


CHAIN = {f"{name}.js": f"import './{after}.js';".encode() for name, after in zip("abc", "bcd")} | {"d.js": b"window.chained = true;"}


@case("one wait for all of a page: what its document waited for in vain its scripts don't wait for again")
def _(bench):
    extra = '<script type="module" src="/a.js"></script>'
    for fails in (True, False):
        app = App(bench, staleAfter=10, patience=2000)
        tab = app.visited(1, extra=(THROWS if fails else "") + extra, add=CHAIN)
        if fails:
            tab.open(app.base)
            tab.state()
            tab.until(KEPT % ("health", "kept?.size === 1"))
        else:
            tab.update()
            bench.proxy.stop()
            fails_for(bench, app, tab, 12)
        answers, isOver = app.web.handle, []
        app.web.handle = lambda request: until(lambda: isOver, "the end of the case")
        begun = time.monotonic()
        tab.open(app.base)
        tab.until("window.chained")
        took = time.monotonic() - begun
        assert 2 <= took < 5, took
        state = tab.state()
        assert (state["from"], state["why"]) == ("device", "failed" if fails else "stale"), state
        isOver.append(True)
        app.web.handle = answers


@case("without an answer to polls for as long as the site says, the network is asked first, and the device where it has none")
def _(bench):
    app = App(bench, staleAfter=10, patience=500)
    tab = app.visited()
    tab.update()
    from_the_site(app, (b"version 1", b"from the site"))
    bench.proxy.stop()
    for days, title in ((9, "version 1"), (2, "version 1"), (7, "version 1"), (2, "from the site")):
        forward(bench, app, days * 24 * 3600)
        assert tab.update()["kind"] == "failed"
        tab.open(app.base)
        assert tab.title() == title, days
    app.web.stop()
    tab.open(app.base)
    assert tab.title() == "version 1"
    app.web.start()
    bench.proxy.start()
    # The site has the page of the release again, and still answers.
    from_the_site(app, (b"from the site", b"version 1"))
    forward(bench, app, 24 * 3600)
    assert tab.update()["kind"] == "nothing"
    tab.until(KEPT % ("site", "kept.ahead === undefined"))
    app.web.forget()
    tab.open(app.base)
    assert tab.title() == "version 1" and not [entry for entry in app.web.log if entry.path == "/"]


@case("a worker whose own script isn't on the site any more leaves, and not before it was missed twice")
def _(bench):
    app = App(bench)
    tab = app.visited()
    files = app.web.files
    app.web.files = {name: file for name, file in files.items() if not name.startswith("xcache")}
    forward(bench, app, 2 * 3600)
    tab.update()
    assert tab.controlled() and tab.state()["version"] == "1"
    # As during a deployment.
    app.web.files = files
    forward(bench, app, 2 * 3600)
    assert tab.update()["kind"] == "nothing"
    app.web.files = {name: file for name, file in files.items() if not name.startswith("xcache")}
    for kind in ("nothing", "removed"):
        forward(bench, app, 2 * 3600)
        assert tab.eval("xcache.update({force: true}).then((report) => report?.kind)") == kind
    until_gone(tab)
    assert tab.eval("caches.keys()") == []


@case("an open page gets its own version of what both list, also if it is not here any more")
def _(bench):
    app = App(bench)
    tab = app.visited(1, add={"lang.json": b"1"})
    app.release(2, add={"lang.json": b"2"})
    app.hold(tab)
    assert tab.state()["page"] == "1" and tab.fetch("lang.json")["text"] == "1" and tab.eval("lazy()") == "lazy 1"
    # What isn't here any more comes from its download, and from the site once nobody has it.
    for old, rules in (("1", []), ("2", [("lang.json", fails(404))])):
        lose(tab, "/1/1/")
        bench.stop_worker(tab)
        tab.session.send("Network.clearBrowserCache")
        bench.proxy.rules = rules
        assert tab.fetch("lang.json")["text"] == old


@case("a lazy chunk of an open page's version that was never held, and is gone from the site, comes from its download")
def _(bench):
    app = App(bench)
    tab = app.visited()
    second(bench, app, 2)
    takes(app, tab, "pack")
    lose(tab, lazy_of(app, 1).split("/")[1])
    bench.stop_worker(tab)
    assert lazy_of(app, 1) not in app.web.files
    assert tab.eval("lazy()") == "lazy 1"


@case("a page is isolated by headers of xcache.json; publish names those that its server alone has, and pages that need a login")
def _(bench):
    app = App(bench)
    isolation = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
    app.web.headers = list(isolation.items())
    # `publish` looks at the site of a build that has the worker.
    worker = {"xcache-sw.js": app.runtime_files()["xcache-sw.js"]}
    # As after the first deployment.
    app.deploy(app.files(1))
    app.release(1, add=worker)
    assert all(name in bench.origin.warned for name in isolation), bench.origin.warned
    tab = app.tab()
    tab.open(app.base)
    assert tab.eval("crossOriginIsolated")
    app.hold(tab)
    tab.open(app.base)
    assert tab.controlled() and not tab.eval("crossOriginIsolated")
    app.release(2, add=worker, headers={"*.html": isolation})
    assert "from its server" not in bench.origin.warned, bench.origin.warned
    app.hold(tab)
    tab.open(app.base)
    assert tab.title() == "version 2" and tab.eval("crossOriginIsolated")
    app.web.routes["/help.html"] = lambda request: request.answer(b"who are you?", status=401)
    app.release(3, add=worker, headers={"*.html": isolation})
    assert "help.html is answered with 401" in bench.origin.warned, bench.origin.warned
