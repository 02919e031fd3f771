"""Pages that answer the routes of single-page apps (`fallback` of an entry)."""
from heal import RETURNED, archive, skips
from policies import PREFETCH, POLICY, config, policy
from policies import page as prefetching
from rollouts import COUNTED, HELD, LATE, LOST, told
from rollouts import origin as rolling
from rollouts import rule as ruling
from world import *

book = Book("route")
case = book.case
HOME, DOCS, MAIN = SITE + "/app/index.html", SITE + "/app/docs/index.html", SITE + "/app/main.js"
RUN, OTHER_RUN = SITE + "/app/runs/1", SITE + "/app/runs/2"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def falls(*prefixes, **excepts):
    """Members of an entry: prefixes, or pairs of a prefix and patterns."""
    pairs = [(one, []) if isinstance(one, str) else one for one in prefixes]
    return {"fallback": [{"prefix": prefix, **({"except": patterns} if patterns else {})} for prefix, patterns in pairs]}


def goes(url, expect, **members):
    """A navigation."""
    return ask(url, expect, **({"destination": "document", "mode": "navigate", "headers": {"Accept": BROWSER}} | members))


def page(name, url=RUN, text="<p>home"):
    return [{"pageOpen": url, "as": name}, goes(url, local(text), page=name)]


def bad(name, url=RUN, text="<p>home"):
    return [page(name, url, text), {"scriptFailed": name}]


def passed(name, url):
    return [{"pageOpen": url, "as": name}, goes(url, "network", page=name)]


CSP = {"headers": {"Content-Security-Policy": "default-src 'self'"}}
FILES = {HOME: ("<p>home", falls(("/app/", ["/app/api/*", "/app/*.*", "/app/old?id=*"])) | CSP), MAIN: "let main", SITE + "/app/about": "<p>about"}
world, steps = one(FILES)
tag = f'"{world.maps[1][HOME]["md5"]}"'

# Which page answers.

case("a route is answered by the page of its prefix, as the page itself", ["D-167", "D-170"], steps,
     goes(RUN, local("<p>home", Content_Type="text/html;charset=UTF-8", Content_Length="7", ETag=tag, X_Content_Type_Options="nosniff",
                     Content_Security_Policy="default-src 'self'", Location=None, Set_Cookie=None), asks=[]),
     goes(SITE + "/app/", local("<p>home"), asks=[]), goes(SITE + "/app/a/b/c/", local("<p>home"), asks=[]), goes(HOME, local("<p>home")))
case("in a frame, too", ["D-167"], steps, goes(RUN, local("<p>home"), destination="frame", asks=[]))
case("query and fragment stay", ["D-167", "D-170"], steps, goes(RUN + "?tab=logs#end", local("<p>home", Location=None), asks=[]),
     goes(SITE + "/app/?x=.js", local("<p>home")))
case("what is listed answers for itself, also without its query", ["D-72", "D-167"], steps, goes(SITE + "/app/about", local("<p>about")),
     goes(SITE + "/app/about?from=mail", local("<p>about")), goes(MAIN, local("let main")))
case("outside of the prefix nothing changes", ["D-70", "D-167"], steps, *[goes(SITE + path, "network", asks=[]) for path in (
    "/", "/app", "/apps/1", "/App/runs/1", "/x/app/runs/1", "//app/runs/1", "/app/../runs/1", "/?/app/")])
case("another origin isn't the page's", ["D-167"], steps, *[goes(url, "network") for url in (
    "http://m.test/app/runs/1", "https://m.test:8443/app/runs/1", "https://www.m.test/app/runs/1", "https://n.test/app/runs/1")])
case("without a fallback nothing changes", ["D-70"], one({HOME: "<p>home", SITE + "/index.html": "<p>top"})[1], *[
    goes(SITE + path, "network", asks=[]) for path in ("/app/runs/1", "/app/", "/")])
case("what except matches goes to the network", ["D-168"], steps, *[goes(SITE + path, "network", asks=[]) for path in (
    "/app/api/", "/app/api/runs?x=1", "/app/%61pi/runs", "/app/logo.png", "/app/runs/1.json?x", "/app/old?id=3")],
    goes(SITE + "/app/old", local("<p>home")), goes(SITE + "/app/apis", local("<p>home")), goes(SITE + "/app/old?x&id=3", local("<p>home")))
nested = World()
nested.publish({HOME: ("<p>home", falls(("/app/", ["/app/docs/old/*"]))), DOCS: ("<p>docs", falls(("/app/docs/", ["/app/docs/raw/*", "/app/docs/old/*"]))),
                SITE + "/index.html": ("<p>top", falls("/"))})
case("the longest prefix wins", ["D-168"], got(nested), goes(RUN, local("<p>home")), goes(SITE + "/app/docs/", local("<p>docs")),
     goes(SITE + "/app/docs/a/b", local("<p>docs")), goes(SITE + "/app/docs", local("<p>home")), goes(SITE + "/x", local("<p>top")), goes(SITE + "/", local("<p>top")))
case("where except keeps one from it, the next one answers", ["D-168"], got(nested), goes(SITE + "/app/docs/raw/1", local("<p>home")),
     goes(SITE + "/app/docs/old/1", local("<p>top")))
several = World()
several.publish({HOME: ("<p>home", falls(("/a/", ["/a/x"]), "/b/c/", ("/a/long/", ["/a/long/y"])))})
case("a page can have several prefixes, each with exceptions of its own", ["D-168"], got(several), *[goes(SITE + path, local("<p>home")) for path in (
    "/a/1", "/b/c/", "/b/c/d", "/a/long/x", "/a/long/y")], *[goes(SITE + path, "network") for path in ("/b/", "/b/x", "/a/x", "/app/")])
same = World()
same.publish({SITE + "/b.html": ("<p>b", falls("/app/")), SITE + "/a.html": ("<p>a", falls(("/app/", ["/app/b/*"]))), SITE + "/c.html": ("<p>c", falls("/app/"))})
case("of two pages with one prefix, the first by its URL answers", ["D-168"], got(same), goes(RUN, local("<p>a")), goes(SITE + "/app/b/1", local("<p>b")))
escaped = World()
escaped.publish({HOME: ("<p>home", falls(("/caf%C3%A9/", ["/caf%C3%A9/%7Ex/*", "/caf%C3%A9/a%2Ab", "/caf%C3%A9/q?"]), "/a-b/"))})
case("prefixes and paths are compared as section 4 says", ["D-168"], got(escaped), goes(SITE + "/café/1", local("<p>home")),
     goes(SITE + "/c%61f%C3%A9/1", local("<p>home")), goes(SITE + "/a%2Db/1", local("<p>home")), goes("https://M.TEST:443/a-b/x/../1", local("<p>home")),
     goes(SITE + "/a-b%2F1", "network"), goes(SITE + "/caf%C3%A9/~x/1", "network"),
     goes(SITE + "/caf%C3%A9/a*b", "network"), goes(SITE + "/caf%C3%A9/acb", local("<p>home")), goes(SITE + "/caf%C3%A9/q?", "network"),
     goes(SITE + "/caf%C3%A9/q", local("<p>home")))
typed = World()
typed.publish({SITE + "/a.js": ("let a", falls("/app/")), SITE + "/x.xhtml": ("<p>x", falls("/app/") | {"ctype": "application/xhtml+xml"}),
               SITE + "/b.txt": ("b", falls("/app/docs/"))})
case("only a page of HTML answers", ["D-168"], got(typed), goes(RUN, local("<p>x", Content_Type="application/xhtml+xml")), goes(SITE + "/app/docs/1", local("<p>x")))
loud = World()
loud.publish({HOME: ("<p>home", falls("/app/") | {"ctype": "Text/HTML; charset=utf-8"})})
case("its type may be written in capitals", ["D-168"], got(loud), goes(RUN, local("<p>home")))

# What is no navigation.

for method in ("POST", "HEAD", "PUT"):
    case(f"{method} goes to the network", ["D-169"], steps, goes(RUN, "network", method=method, asks=[]))
for destination, mode in (("script", "noCORS"), ("style", "noCORS"), ("image", "noCORS"), ("fetch", "cors"), ("fetch", "sameOrigin"), ("worker", "sameOrigin"), ("other", "noCORS")):
    case(f"what is requested as {destination} ({mode}) goes to the network", ["D-169"], steps, page("p"),
         goes(SITE + "/app/chunk-1", "network", destination=destination, mode=mode, headers={"Accept": "*/*"}, page="p", asks=[]),
         goes(SITE + "/app/chunk-1", "network", destination=destination, mode=mode, headers={"Accept": BROWSER}, asks=[]))
for accept in ("application/json", "image/avif,image/webp", "application/json;x=text/html", "text/plain", "application/*"):
    case(f"Accept: {accept} goes to the network", ["D-169"], steps, goes(RUN, "network", headers={"Accept": accept}, asks=[]))
case("what accepts HTML", ["D-167"], steps, *[goes(RUN, local("<p>home"), headers=headers) for headers in (
    {}, {"accept": "text/html"}, {"Accept": "application/json, text/html;q=0.1"}, {"Accept": "*/*"}, {"Accept": "text/*;q=0.5"},
    {"Accept": "application/xhtml+xml"}, {"Accept": "TEXT/HTML"}, {"Accept": "image/png , */*;q=0.1"})])

# The answer is the page's own.

case("conditions and ranges are those of the page", ["D-170"], steps, goes(RUN, local("", 304), headers={"Accept": BROWSER, "If-None-Match": tag}),
     goes(RUN, local("home", 206), headers={"Accept": BROWSER, "Range": "bytes=3-"}), goes(RUN, "network", headers={"Accept": BROWSER, "If-Match": "*"}))
case("a page that is missing is fetched when a route asks for it", ["D-79", "D-170"], steps, {"stop": True}, {"damage": "<p>home", "how": "remove"}, start(),
     goes(RUN, local("<p>home"), asks=[world.url(1, HOME)]), goes(OTHER_RUN, local("<p>home"), asks=[]), world.holds(1))
case("if it can't be had, the route goes to the network", ["D-79", "D-170"], steps, {"stop": True}, {"damage": "<p>home"}, start(),
     serve(fresh=True), goes(RUN, "network", asks=[{"url": world.url(1, HOME), "times": [1, 6]}]), goes(SITE + "/app/about", local("<p>about")),
     serve(world.files(1)), goes(RUN, local("<p>home")))
case("offline it answers as online", ["D-115", "D-167"], steps, {"conditions": {"network": "offline"}}, goes(RUN, local("<p>home"), asks=[]), goes(SITE + "/x", "network", asks=[]))
case("after a restart, without a network", ["D-167", "D-170"], steps, {"stop": True}, serve(fresh=True), start(), goes(RUN, local("<p>home"), asks=[]),
     goes(SITE + "/app/api/1", "network", asks=[]))
case("a preset brings it", ["D-140", "D-167"], archive(1, world), serve(fresh=True), start(preset="preset.zip", build="1"), goes(RUN, local("<p>home"), asks=[]))

# The policy, and other documents.

BYPASS = policy(1, bypass=[SITE + "/app/runs/*"])
under = lambda *rules: [serve(world.origin(1, policy="1"), world.files(1), rules), start(), trigger(world.poll(), *world.downloads(1), POLICY)]
case("under the kill switch it goes to the network", ["D-96", "D-171"], under(policy(1, intercept=False)), goes(RUN, "network", asks=[]))
case("bypass matches the route", ["D-97", "D-171"], under(BYPASS), passed("run", RUN), ask(MAIN, "network", page="run"),
     page("list", SITE + "/app/list"), ask(MAIN, local("let main"), page="list"), page("home", HOME))
case("and not the page that answers", ["D-97", "D-171"], under(policy(1, bypass=[HOME])), passed("home", HOME), ask(MAIN, "network", page="home"),
     page("run"), ask(MAIN, local("let main"), page="run"))
RUNS, LIST = [{"api": SITE + path, "method": "GET"} for path in ("/api/run", "/api/home")]
case("the prefetch config is matched by the route", ["D-105", "D-171"], serve(
    world.origin(1, prefetch="1"), world.files(1), config(prefetching(RUNS, url=RUN), prefetching(LIST, url=HOME))), start(),
    trigger(world.poll(), *world.downloads(1), PREFETCH), {"prefetch": RUN, "expect": [{"method": "GET", "url": RUNS["api"]}]},
    {"prefetch": HOME, "expect": [{"method": "GET", "url": LIST["api"]}]}, {"prefetch": OTHER_RUN, "expect": []})

# Updates.

changing = World()
changing.publish({HOME: ("<p>home", falls("/app/")), MAIN: "let main"})
changing.publish({HOME: ("<p>new", falls("/app/")), MAIN: "let new"})
changing.publish({HOME: ("<p>new", {}), MAIN: "let new"})
changing.publish({HOME: ("<p>new", falls(("/app/", ["/app/runs/*"]))), MAIN: "let new"})


def to(new, old):
    return [serve(changing.origin(new, old), changing.files(new, old), fresh=True), later(), trigger(changing.poll(old), *changing.downloads(new, old))]


case("after an update the new page answers", ["D-60", "D-167"], got(changing), to(2, 1), goes(RUN, local("<p>new"), asks=[]), changing.holds(2))
case("an update takes a fallback away, without a download", ["D-50", "D-170"], got(changing), to(2, 1), serve(changing.origin(3, 2), fresh=True), later(),
     trigger(changing.poll(2)), changing.holds(3), goes(RUN, "network", asks=[]), goes(HOME, local("<p>new")))
case("an update changes its exceptions, and a restart keeps them", ["D-50", "D-168"], got(changing), to(2, 1), serve(changing.origin(4, 2), fresh=True), later(),
     trigger(changing.poll(2)), changing.holds(4), goes(RUN, "network", asks=[]), goes(SITE + "/app/list", local("<p>new")), {"stop": True}, start(),
     goes(RUN, "network", asks=[]), goes(SITE + "/app/list", local("<p>new"), asks=[]))
made, _ = pack(changing, 1, 2)
answer, url = changing.with_pack(1, 2, made)
case("a pack brings it", ["D-44", "D-167"], got(changing), serve(poll_rule({"pack": "1", "version": "1"}, json=answer), rule(url, data=made), fresh=True), later(),
     trigger(changing.poll(1), url), changing.holds(2), goes(RUN, local("<p>new"), asks=[]), features=["packs"])
opened = [got(changing), page("old"), to(2, 1)]
case("an open page keeps its version, at whatever route it was opened", ["D-85", "D-170"], opened, ask(MAIN, local("let main"), page="old", asks=[]),
     goes(OTHER_RUN, local("<p>home"), destination="frame", page="old", asks=[]), ask(MAIN, local("let new")))
case("one that loads its route again is one of the new version", ["D-85", "D-170"], opened, goes(RUN, local("<p>new"), page="old", asks=[]),
     ask(MAIN, local("let new"), page="old"))

# What a device must refuse.

for name, value in {
    "no list": {"prefix": "/app/"}, "an empty list": [], "a text in the list": ["/app/"], "no prefix": [{}], "a prefix that is a number": [{"prefix": 7}],
    "a prefix without a slash at its beginning": [{"prefix": "app/"}], "a prefix without one at its end": [{"prefix": "/app"}], "an empty prefix": [{"prefix": ""}],
    "a prefix that is a URL": [{"prefix": SITE + "/app/"}], "a query in its prefix": [{"prefix": "/app/?x=/"}], "a fragment in its prefix": [{"prefix": "/app/#/"}],
    "one prefix twice": [{"prefix": "/app/"}, {"prefix": "/app/"}], "five prefixes": [{"prefix": f"/{n}/"} for n in range(5)],
    "exceptions that are no list": [{"prefix": "/app/", "except": "/app/api/*"}], "an exception that is no text": [{"prefix": "/app/", "except": [7]}],
    "an exception that is no path": [{"prefix": "/app/", "except": ["api/*"]}], "an exception with a fragment": [{"prefix": "/app/", "except": ["/app/#x"]}],
    "nine exceptions": [{"prefix": "/app/", "except": [f"/app/{n}" for n in range(9)]}],
}.items():
    wrong, first = one({INDEX: "<p>one"})
    wrong.raw({INDEX: wrong.entry(INDEX, "<p>two", 2) | {"fallback": value}}, 2)
    case(f"an entry whose fallback has {name} is refused", ["D-25", "D-172"], first, serve(poll_rule({}, json=wrong.whole(2)), wrong.files(2), fresh=True), later(),
         trigger(*tries(wrong)), wrong.holds(1), ask(INDEX, local("<p>one")), goes(RUN, "network"))
most = World()
most.publish({HOME: ("<p>home", {"fallback": [{"prefix": f"/{n}/", "except": [f"/{n}/{m}/*" for m in range(8)], "later": {"a": [1]}} for n in range(4)]})})
case("four prefixes with eight exceptions each are taken, and members that it doesn't know count in the digest", ["D-24", "D-172"], got(most), most.holds(1),
     *[goes(f"{SITE}/{n}/8", local("<p>home")) for n in range(4)], *[goes(f"{SITE}/{n}/7/x", "network") for n in range(4)])

# Pages that fail.

both = World()
both.publish({HOME: ("<p>home", falls("/app/")), DOCS: ("<p>docs", falls("/docs/")), MAIN: "let main"})
shown = got(both)
case("failures count for the page that answers, whatever the route is", ["D-110", "D-173"], shown, bad("a"), bad("b", OTHER_RUN), passed("c", SITE + "/app/list"),
     ask(MAIN, "network", page="c"), passed("d", HOME), page("e", SITE + "/docs/1", "<p>docs"))
case("and failures of the page itself for its routes", ["D-110", "D-173"], shown, bad("a", HOME), bad("b", HOME + "?x"), passed("c", RUN))
case("one route that comes up begins the count anew", ["D-110", "D-173"], shown, bad("a"), page("b", OTHER_RUN), {"pageUp": "b"}, bad("c", SITE + "/app/list"), page("d", HOME))
case("two pages that fail once each are two counts", ["D-110", "D-173"], shown, bad("a"), bad("b", SITE + "/docs/1", "<p>docs"), page("c"), page("d", SITE + "/docs/2", "<p>docs"))
case("it is remembered over a restart", ["D-110", "D-173"], shown, bad("a"), bad("b", OTHER_RUN), {"stop": True}, start(), passed("c", SITE + "/app/list"), passed("d", HOME))
case("what a page still requests while it is open is answered as before", ["D-110", "D-173"], shown, page("open", SITE + "/app/open"), bad("a"), bad("b", OTHER_RUN),
     ask(MAIN, local("let main"), page="open"), goes(SITE + "/app/open", "network", page="open"))
case("the next version is another chance", ["D-110", "D-173"], got(changing), bad("a"), bad("b", OTHER_RUN), passed("c", RUN), to(2, 1), page("d", RUN, "<p>new"))
back = World()
back.publish({HOME: ("<p>home", falls("/app/"))})
back.publish({HOME: ("<p>new", falls("/app/"))})
returning = [got(back), serve(poll_rule({"app": "shop", "channel": "online", "skip": "2"} | held_query(back, 1), back.nothing(2)), back.origin(2, 1), back.files(2, 1), fresh=True),
             later(), trigger(back.poll(1), *back.downloads(2, 1)), later()]
case("two routes of a version on trial that fail lead back, and the report names the page", ["D-152", "D-158", "D-173"], returning, bad("a", RUN, "<p>new"),
     bad("b", OTHER_RUN, "<p>new"), {"state": {"version": "1"}}, page("c", SITE + "/app/list"), {"pageUp": "c"}, trigger(skips(back.poll(1))),
     {"told": [RETURNED | {"cause": "page", "url": HOME}]}, {"secrets": ["/app/runs", "/app/list"]}, features=["healing"])
case("so do two crashes while routes start", ["D-153", "D-158", "D-173"], returning, page("a", RUN, "<p>new"), {"kill": True}, start(), page("b", OTHER_RUN, "<p>new"),
     {"kill": True}, start(), {"state": {"version": "1"}}, page("c", SITE + "/app/list"), {"pageUp": "c"}, trigger(skips(back.poll(1))),
     {"told": [RETURNED | {"cause": "start", "url": HOME}]}, {"secrets": ["/app/runs", "/app/list"]}, features=["healing"])
counting = [got(both, install=LATE)]
both.publish({HOME: ("<p>new", falls("/app/")), DOCS: "<p>docs", MAIN: "let main"})
rolls = [serve(rolling(both, 1, ruling(share=50)), both.files(1), fresh=True), later(), trigger(both.poll(1)), later()]
case("a route is a page for the evidence of a rollout", ["D-162", "D-164", "D-173"], counting, rolls, bad("a"), page("b", OTHER_RUN), {"pageUp": "b"},
     {"stop": True}, told(HELD, LOST), **COUNTED)
case("also one that is passed on because its page has failed", ["D-162", "D-164", "D-173"], counting, bad("a"), bad("b", OTHER_RUN), rolls, passed("c", SITE + "/app/list"),
     {"stop": True}, told(HELD | {"failed": 1}), **COUNTED)
case("one that only the network has is none", ["D-162", "D-173"], counting, rolls, passed("a", SITE + "/about"), {"scriptFailed": "a"}, {"stop": True}, told(), **COUNTED)

books = [book]
