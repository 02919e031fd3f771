"""Answers to pages: URL matching, headers, ranges, set-aside files, and pages that fail to load."""
from world import *

book = Book("serve")
case = book.case
CSP = {"headers": {"Content-Security-Policy": "default-src 'self'", "Service-Worker-Allowed": "/"}}
FILES = {INDEX: ("<p>one", CSP), APP: "0123456789", SITE + "/a.js?v=1": "v1", SITE + "/caf%C3%A9.js": "latin",
         SITE + "/a%2Fb.js": "slash", SITE + "/a-b_c~d.js": "marks", "https://m.test:8443/p.js": "port", "http://m.test/h.js": "http"}
world, steps = one(FILES)

case("a listed file is answered", ["D-70", "D-73"], steps, ask(
    APP, local("0123456789", Content_Type="text/javascript;charset=UTF-8", Content_Length="10", X_Content_Type_Options="nosniff",
               Set_Cookie=None), asks=[]))
case("what isn't listed goes to the network", ["D-70"], steps, ask(SITE + "/other.js", "network", asks=[]),
     ask("https://m.test/", "network"), ask("http://m.test/app.js", "network"), ask("https://m.test:444/app.js", "network"))
for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "get"):
    case(f"{method} goes to the network", ["D-70"], steps, ask(APP, "network", method=method))
case("what is no http URL goes to the network", ["D-70"], steps, *[
    ask(url, "network") for url in ("about:blank", "data:text/plain,x", "blob:https://m.test/1", "m.test/app.js", "", "https://", "file:///app.js",
                                    "https://m.test:99999/app.js", "https://user:pass@m.test/app.js")])
for name, url, text in (
    ("a fragment doesn't count", APP + "#part", "0123456789"), ("the query counts", SITE + "/a.js?v=1", "v1"),
    ("an escape of a printable character is the character", SITE + "/%61pp.js", "0123456789"),
    ("marks may be escaped", SITE + "/a%2Db%5Fc%7Ed.js", "marks"), ("the case of a host doesn't count", "https://M.Test/app.js", "0123456789"),
    ("the default port is none", "https://m.test:443/app.js", "0123456789"), ("another port is another URL", "https://m.test:8443/p.js", "port"),
    ("dots are taken out of a path", SITE + "/x/../app.js", "0123456789"), ("http is another URL", "http://m.test/h.js", "http"),
    ("letters that aren't ASCII are escaped", SITE + "/café.js", "latin"),
):
    case(name, ["D-71"], steps, ask(url, local(text)))
case("what doesn't match", ["D-71"], steps, *[ask(url, "network") for url in (
    SITE + "/a.js", SITE + "/a.js?v=2", SITE + "/a.js?v=1&", SITE + "/a/b.js", SITE + "/APP.js", SITE + "/app.js?", SITE + "/app.js/", SITE + "//app.js")])
case("a page's address with a query means the one without", ["D-72"], steps,
     ask(INDEX + "?from=push#top", local("<p>one"), destination="document", mode="navigate"),
     ask(INDEX + "?x", local("<p>one"), destination="frame"), ask(APP + "?x", "network", destination="script"))
case("an entry's own headers are sent", ["D-73", "D-74"], steps, ask(
    INDEX, local("<p>one", Content_Security_Policy="default-src 'self'", Service_Worker_Allowed="/", X_Content_Type_Options="nosniff")))
odd = World()
odd.publish({INDEX: ("<p>one", {"headers": {"Set-Cookie": "a=b", "Location": "http://evil.test/", "X-Frame-Options": "DENY",
                                             "Access-Control-Allow-Origin": "*", "Content-Type": "text/x"}})})
case("only the headers of the list are sent", ["D-74"], got(odd), ask(
    INDEX, local("<p>one", Set_Cookie=None, Location=None, X_Frame_Options="DENY", Access_Control_Allow_Origin=None,
                 Content_Type="text/html;charset=UTF-8")))
low = World()
low.publish({INDEX: ("<p>one", {"headers": {"x-frame-options": "DENY"}})})
case("a header in small letters is sent", ["D-74"], got(low), ask(INDEX, local("<p>one", X_Frame_Options="DENY")))
case("HEAD is answered without a body", ["D-75"], steps, ask(APP, local("", Content_Length="10", X_Content_Type_Options="nosniff"), method="HEAD"))
for value, status, text, headers in (
    ("bytes=2-4", 206, "234", "bytes 2-4/10"), ("bytes=7-", 206, "789", "bytes 7-9/10"), ("bytes=-3", 206, "789", "bytes 7-9/10"),
    ("bytes=5-99", 206, "56789", "bytes 5-9/10"), ("bytes=-99", 206, "0123456789", "bytes 0-9/10"), ("bytes=0-0", 206, "0", "bytes 0-0/10"),
    ("bytes=10-", 416, "", "bytes */10"), ("bytes=-0", 416, "", "bytes */10"),
    ("bytes=99999999999999999999-", 416, "", "bytes */10"), ("bytes=3-2", 200, "0123456789", None), ("bytes=0-1,3-4", 200, "0123456789", None),
    ("lines=1-2", 200, "0123456789", None), ("bytes=a-b", 200, "0123456789", None), ("bytes=-", None, None, None),
):
    if status:
        case(f"Range: {value}", ["D-76"], steps, ask(APP, local(text, status, Content_Range=headers), headers={"Range": value}))
case("a Range with HEAD counts for nothing", ["D-75", "D-76"], steps,
     *[ask(APP, local("", Content_Length="10", Content_Range=None), method="HEAD", headers={"Range": value}) for value in ("bytes=2-4", "bytes=10-")])
case("If-Range with another tag gives the whole", ["D-76"], steps,
     ask(APP, local("0123456789"), headers={"Range": "bytes=2-4", "If-Range": '"other"'}))
tag = f'"{world.maps[1][APP]["md5"]}"'
case("If-Range with the file's tag", ["D-73", "D-76"], steps, ask(APP, local("0123456789", ETag=tag)),
     ask(APP, local("234", 206), headers={"Range": "bytes=2-4", "If-Range": tag}))
for value in (tag, "*", f'"x", {tag}', "W/" + tag):
    case(f"If-None-Match {'the tag' if value == tag else value[:4]}", ["D-77"], steps, ask(APP, local("", 304), headers={"If-None-Match": value}))
case("If-None-Match with another tag", ["D-77"], steps, ask(APP, local("0123456789"), headers={"If-None-Match": '"x"'}))
case("conditions on a server's state go there", ["D-77"], steps, ask(APP, "network", headers={"If-Match": "*"}),
     ask(APP, "network", headers={"If-Unmodified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"}))
case("another origin's page may read what hosts of the app have", ["D-78"], steps,
     ask(APP, local("0123456789", Access_Control_Allow_Origin="*", Access_Control_Allow_Credentials=None), mode="cors",
         headers={"Origin": "https://m.test:9000"}),
     ask(APP, local("0123456789", Access_Control_Allow_Origin="https://m.test:9000", Access_Control_Allow_Credentials="true", Vary="Origin"),
         mode="cors", credentials=True, headers={"Origin": "https://m.test:9000"}))
case("whether another host's page may read it, its server says", ["D-78"], steps,
     ask(APP, "network", mode="cors", headers={"Origin": "https://evil.test"}), ask(APP, "network", mode="cors", headers={"Origin": "null"}))
case("without CORS no such headers are sent", ["D-78"], steps, ask(APP, local("0123456789", Access_Control_Allow_Origin=None)))
case("a damaged file is never answered", ["D-80"], steps, {"stop": True}, {"damage": "0123456789"}, start(),
     ask(APP, local("0123456789"), asks=[world.url(1, APP)]), world.holds(1), ask(APP, local("0123456789"), asks=[]))
case("a cut file is never answered", ["D-80"], steps, {"stop": True}, {"damage": "0123456789", "how": "cut"}, start(),
     ask(APP, local("0123456789"), asks=[world.url(1, APP)]), world.holds(1))
case("a missing file is fetched when it is asked for", ["D-79"], steps, {"stop": True}, {"damage": "0123456789", "how": "remove"}, start(),
     ask(APP, local("0123456789"), asks=[world.url(1, APP)]), world.holds(1))
case("a folder where a file belongs is replaced", ["D-138"], steps, {"stop": True}, {"damage": "0123456789", "how": "folder"}, start(),
     ask(APP, local("0123456789"), asks=[world.url(1, APP)]), world.holds(1))
for name, answer in {"missing": None, "wrong": rule(world.url(1, APP), text="9876543210"), "torn": rule(world.url(1, APP), text="0123456789", fault={"torn": 4}),
                     "down": rule(world.url(1, APP), fault={"reset": True})}.items():
    case(f"a damaged file whose download is {name} goes to the network", ["D-79", "D-80"], steps, {"stop": True}, {"damage": "0123456789"}, start(),
         serve([answer] if answer else [], fresh=True), ask(APP, "network", asks=[{"url": world.url(1, APP), "times": [1, 6]}]),
         ask(INDEX, local("<p>one")), serve(world.files(1)), ask(APP, local("0123456789")))
case("memory may be let go of at any time", ["D-81"], steps, ask(APP, local("0123456789")), {"memoryShort": True}, ask(APP, local("0123456789"), asks=[]))
case("with nothing held every request goes to the network", ["D-81"], serve(fresh=True), start(), ask(APP, "network"), trigger(world.poll()),
     ask(APP, "network"), ask(INDEX, "network", destination="document"))
dup = World()
dup.publish({SITE + "/a.js": "plain", SITE + "/%61.js": "escaped"})
case("of two URLs that match each other one is answered", ["D-71"], serve(dup.origin(1), dup.files(1)), start(),
     trigger(dup.poll(), *[{"url": url, "times": [0, 1]} for url in dup.downloads(1)]), ask(SITE + "/a.js", {"status": 200}))
case("a file that was right when it was last read is compared again once it has changed", ["D-80"], steps, serve(fresh=True),
     ask(APP, local("0123456789")), {"memoryShort": True}, {"damage": "0123456789"}, ask(APP, "network", asks=[{"url": world.url(1, APP), "times": [1, 6]}]))
for value, status, text, headers in (
    ("bytes=0-99999999999", 206, "0123456789", "bytes 0-9/10"), ("bytes=0-", 206, "0123456789", "bytes 0-9/10"),
    ("bytes= 0-1", 206, "01", "bytes 0-1/10"), ("bytes = 0-1", 200, "0123456789", None), ("bytes=0 -1", 200, "0123456789", None),
    ("bytes=0-1,", 206, "01", "bytes 0-1/10"),
):
    case(f"Range: {value}", ["D-76"], steps, ask(APP, local(text, status, Content_Range=headers), headers={"Range": value}))
empty = World()
empty.publish({APP: ""})
case("ranges of an empty file", ["D-76"], got(empty), *[
    ask(APP, local("", status, Content_Range=headers), headers={"Range": value}) for value, status, headers in
    (("bytes=-5", 200, None), ("bytes=-0", 416, "bytes */0"), ("bytes=0-", 416, "bytes */0"))])

# Pages that stay open during a switch.

serving, book.name, book.cases = book.cases, "aside", []
world, steps = two({INDEX: "<p>one", SITE + "/part-1.js": "part one", APP: "let one"},
                   {INDEX: "<p>two", SITE + "/part-2.js": "part two", APP: "let two"})
PART = SITE + "/part-1.js"
opened = steps[:3] + [{"pageOpen": INDEX, "as": "old"}, ask(INDEX, local("<p>one"), page="old", destination="document")] + steps[3:]
switched = opened + [serve(world.files(2, 1)), trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2)]
case("a page of the version before still gets its parts", ["D-85"], switched, ask(PART, local("part one"), page="old", asks=[]))
case("it gets the bytes that it was opened with, whatever is listed now", ["D-85"], switched, ask(APP, local("let one"), page="old", asks=[]),
     ask(INDEX, local("<p>one"), page="old", destination="frame"), ask(APP, local("let two")),
     ask(APP, local("et", 206), page="old", headers={"Range": "bytes=1-2"}), ask(APP, local("", Content_Length="7"), page="old", method="HEAD"))
case("what is no longer here it gets as it is listed now", ["D-85"], switched, {"damage": "let one", "how": "remove"}, ask(APP, local("let two"), page="old", asks=[]),
     ask(PART, local("part one"), page="old"))
case("what was set aside and is damaged isn't answered; what is listed now is", ["D-80", "D-85"], switched, {"damage": "let one"},
     ask(APP, local("let two"), page="old", asks=[]))
case("a page that loads its document again is one of the new version", ["D-85"], switched, ask(INDEX, local("<p>two"), page="old", destination="document"),
     ask(APP, local("let two"), page="old"), ask(PART, "network", page="old"))
case("over two switches it stays with the version that it was opened with", ["D-85"], switched, (lambda: (
    world.publish({INDEX: "<p>three", SITE + "/part-2.js": "part two", APP: "let three"}),
    [serve(world.origin(3, 2), world.files(3, 2)), later(), trigger(world.poll(2), *world.downloads(3, 2)), ask(APP, local("let one"), page="old"),
     ask(PART, local("part one"), page="old"), ask(SITE + "/part-2.js", local("part two"), page="old")])[1])())
case("a page that opens later doesn't", ["D-85"], switched, {"pageOpen": INDEX, "as": "new"},
     ask(PART, "network", page="new"), ask(SITE + "/part-2.js", local("part two"), page="new"))
case("a request without a page doesn't", ["D-85"], switched, ask(PART, "network"))
case("after it was closed, nobody does", ["D-85"], switched, {"pageClose": "old"}, {"pageOpen": INDEX, "as": "old"}, ask(PART, "network", page="old"))
case("after a restart, nobody does", ["D-85"], switched, {"stop": True}, start(), {"pageOpen": INDEX, "as": "old"}, ask(PART, "network", page="old"))
case("a damaged set-aside file isn't answered", ["D-80", "D-85"], switched, {"damage": "part one"}, ask(PART, "network", page="old"))
case("HEAD and Range of set-aside files", ["D-75", "D-76", "D-85"], switched, ask(PART, local("", Content_Length="8"), page="old", method="HEAD"),
     ask(PART, local("one", 206), page="old", headers={"Range": "bytes=5-"}))
killed = {"code": 200, "data": {"version": "1", "intercept": False, "bypass": [], "scripts": []}}
kill_rule = rule(ORIGIN + "/policy.json", json=killed)
case("the kill switch ends it", ["D-87", "D-96"], switched, serve(world.origin(2, policy="1"), kill_rule, fresh=True), later(),
     trigger(world.poll(2), ORIGIN + "/policy.json?app=shop&channel=online"), ask(PART, "network", page="old"))
case("bypass ends it", ["D-87", "D-97"], switched,
     serve(world.origin(2, policy="1"), rule(ORIGIN + "/policy.json", json={"code": 200, "data": {
         "version": "1", "intercept": True, "bypass": [INDEX], "scripts": []}}), fresh=True), later(),
     trigger(world.poll(2), ORIGIN + "/policy.json?app=shop&channel=online"), ask(PART, "network", page="old"))
rolled = World()
rolled.publish({INDEX: "<p>one"})
rolled.publish({INDEX: "<p>bad", PART: "bad part"})
rolled.raw(rolled.maps[1], 3)
before = [serve(rolled.origin(2), rolled.files(2)), start(), trigger(rolled.poll(), *rolled.downloads(2)), {"pageOpen": INDEX, "as": "old"},
          ask(PART, local("bad part"), page="old"), serve(rolled.files(1)), later()]
case("a rollback ends it", ["D-87"], before, serve(rolled.origin(3, 2, rollback="3")), trigger(rolled.poll(2), *rolled.downloads(3, 2)),
     ask(PART, "network", page="old"), ask(INDEX, local("<p>one"), page="old", destination="frame"))
case("a rollback before the page was opened doesn't", ["D-85", "D-87"], switched[:-3],
     serve(world.origin(2, 1, rollback="1"), world.files(2, 1), fresh=True), trigger(world.poll(1), *world.downloads(2, 1)),
     ask(PART, local("part one"), page="old"))
case("24 hours after the switch what was set aside is deleted", ["D-86"], switched, {"pageClose": "old"},
     {"pageOpen": INDEX, "as": "new"}, ask(INDEX, local("<p>two"), page="new", destination="document"), {"pageUp": "new"}, later(24 * 3600 + 60),
     trigger(world.poll(2)), {"gone": "part one"})
case("after 24 hours it ends", ["D-86"], switched, later(24 * 3600 + 60), trigger(world.poll(2)), ask(PART, "network", page="old"),
     ask(APP, local("let two"), page="old"))

# Pages that fail to load.

aside, book.name, book.cases = book.cases, "health", []
world, steps = one({INDEX: "<p>one", APP: "let one"})
show = lambda name, how: [{"pageOpen": INDEX, "as": name}, ask(INDEX, local("<p>one"), page=name, destination="document"), how]
bad = lambda name: show(name, {"scriptFailed": name})
gone = lambda name: [{"pageOpen": INDEX, "as": name}, ask(INDEX, "network", page=name, destination="document"), ask(APP, "network", page=name)]
case("a page that fails twice in a row goes to the network", ["D-110"], steps, bad("a"), bad("b"), gone("c"))
case("one that came up in between begins the count anew", ["D-110"], steps, bad("a"), show("b", {"pageUp": "b"}), bad("c"),
     show("d", {"pageUp": "d"}))
case("a late signal of an older page counts for nothing", ["D-110"], steps, {"pageOpen": INDEX, "as": "late"},
     ask(INDEX, local("<p>one"), page="late", destination="document"), {"scriptFailed": "late"}, bad("a"), {"pageUp": "late"}, gone("b"))
case("a script that fails after the page came up counts for nothing", ["D-110"], steps,
     *[show(name, {"pageUp": name}) + [{"scriptFailed": name}] for name in "abc"], show("d", {"pageUp": "d"}))
case("a page that was left before it came up counts for nothing", ["D-110"], steps, *[show(name, {"pageClose": name}) for name in "abc"],
     show("d", {"pageUp": "d"}))
case("it is remembered over a restart", ["D-110"], steps, bad("a"), bad("b"), {"stop": True}, start(), gone("c"))
case("the next version is another chance", ["D-110"], steps, bad("a"), bad("b"), gone("c"),
     (lambda: (world.publish({INDEX: "<p>two"}), [serve(world.origin(2, 1), world.files(2, 1)), later(), trigger(world.poll(1), *world.downloads(2, 1)),
      {"pageOpen": INDEX, "as": "d"}, ask(INDEX, local("<p>two"), page="d", destination="document")])[1])())
case("a page of the network's says nothing of what is held", ["D-110"], serve(fresh=True), start(),
     *[[{"pageOpen": INDEX, "as": n}, ask(INDEX, "network", page=n, destination="document"), {"scriptFailed": n}] for n in "abc"],
     serve(World().origin(0)), steps[0], trigger(world.poll(), *world.downloads(1)), {"pageOpen": INDEX, "as": "d"},
     ask(INDEX, local("<p>one"), page="d", destination="document"))
case("other pages aren't touched by it", ["D-110"], steps, bad("a"), bad("b"), {"pageOpen": SITE + "/second.html", "as": "c"}, ask(APP, local("let one"), page="c"))
case("the deadline of a page that says nothing", ["D-110"], serve(world.origin(1), world.files(1)), start(pageDeadline=1), trigger(world.poll(), *world.downloads(1)),
     {"pageOpen": INDEX, "as": "a"}, ask(INDEX, {"status": 200}, page="a", destination="document"))
crash = lambda: [{"kill": True}, start(build="1")]
begin = [serve(world.origin(1), world.files(1)), start(build="1"), trigger(world.poll(), *world.downloads(1))]
one_start = [{"pageOpen": INDEX, "as": "p"}, ask(INDEX, local("<p>one"), page="p", destination="document"), {"state": {"version": "1"}}]
case("three processes that end while their first page loads leave interception off", ["D-111"], begin,
     one_start, crash(), one_start, crash(), one_start, crash(), {"pageOpen": INDEX, "as": "p"}, ask(INDEX, "network", page="p"),
     {"stop": True}, start(build="2"), {"pageOpen": INDEX, "as": "p"}, ask(INDEX, local("<p>one"), page="p"))
case("one that lives through its first page ends the count", ["D-111"], begin, one_start, crash(), one_start, crash(), one_start, {"pageUp": "p"},
     {"stop": True}, start(build="1"), one_start, crash(), one_start, crash(), one_start)
case("another policy ends it", ["D-111"], begin, one_start, crash(), one_start, crash(), one_start, crash(), ask(APP, "network"),
     serve(world.origin(1, policy="1"), rule(ORIGIN + "/policy.json", json={"code": 200, "data": {
         "version": "1", "intercept": True, "bypass": [], "scripts": []}})), later(),
     trigger(world.poll(1), ORIGIN + "/policy.json?app=shop&channel=online"), ask(APP, local("let one")))
shown = lambda name, query, how: [{"pageOpen": INDEX + query, "as": name},
                                  ask(INDEX + query, local("<p>one"), page=name, destination="document"), how]
case("failures count for a page whatever its query is", ["D-110"], steps, shown("a", "?id=1", {"scriptFailed": "a"}),
     shown("b", "?id=2", {"scriptFailed": "b"}), {"pageOpen": INDEX + "?id=3", "as": "c"},
     ask(INDEX + "?id=3", "network", page="c", destination="document"))
case("two scripts that fail in one page count once", ["D-110"], steps, bad("a"), {"scriptFailed": "a"}, show("b", {"pageUp": "b"}))

off = [one_start, crash(), one_start, crash(), one_start, crash(), {"pageOpen": INDEX, "as": "p"}, ask(INDEX, "network", page="p")]
lapsed = [{"pageOpen": INDEX, "as": "p"}, ask(INDEX, local("<p>one"), page="p")]
case("a day later it is on again, and in the same process", ["D-111"], begin, off, later(24 * 3600 - 60), ask(INDEX, "network"), later(120), lapsed)
case("a day later another process has it on again", ["D-111"], begin, off, {"stop": True}, later(24 * 3600 + 60), start(build="1"), lapsed)
case("a clock that was set back ends it, too", ["D-111", "D-130"], begin, off, {"stop": True}, later(-3600), start(build="1"), lapsed)
case("processes that were asked to end don't count", ["D-111"], begin, [one_start, {"stop": True}, start(build="1")] * 4, lapsed)
case("nor ones whose page was opened in the background", ["D-111"], begin, [{"conditions": {"foreground": False}}, one_start, crash()] * 4, lapsed)

books = []
for name, cases in (("serve", serving), ("aside", aside), ("health", book.cases)):
    books.append(Book(name))
    books[-1].cases = cases
