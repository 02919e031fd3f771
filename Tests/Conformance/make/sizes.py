"""Large files, and documents that are cheap to send and expensive to read."""
from world import *

book = Book("large")
case = book.case
FILM = SITE + "/film.bin"
UNIT, TIMES = "0123456789abcdef", 131072  # 2 MiB
film = World()
film.publish({FILM: UNIT * TIMES})
URL = film.url(1, FILM)
GOES_ON = ["resuming"]


def body(tag="\"cdn-5f3\"", **members):
    """The film from a CDN with its own ETags; None: without an ETag."""
    return rule(URL, fill={"text": UNIT, "times": TIMES}, headers={"ETag": tag}, **members)


def torn(**members):
    return body(fault={"torn": 1_500_000}, times=1, **members)


def first(**headers):
    return {"url": URL, "headers": {"range": None, "if-range": None, **headers}}


def rest(tag):
    return {"url": URL, "headers": {"range": "*", "if-range": tag}}


OWN = "\"cdn-5f3\""
done = ask(FILM, {"status": 200, "bytes": len(UNIT) * TIMES})
for name, broken in {
    "was answered with 503": {"status": 503, "text": "no"}, "was answered with 429": {"status": 429, "text": "no"},
    "was reset": {"fault": {"reset": True}}, "ended without an answer": {"fault": {"close": True}},
}.items():
    case(f"what came of a large file stays although the rest {name}", ["D-54", "D-57"], serve(film.origin(1), body()),
         serve(rule(URL, **broken, times=1)), serve(torn()), start(),
         trigger(film.poll(), first(), rest(OWN), rest(OWN), ordered=True), done, features=GOES_ON)
for name, tag in {"weak": "W/\"cdn-5f3\"", "no": None}.items():
    case(f"{name} tag: the rest is asked for without a condition", ["D-57"], serve(film.origin(1), body(tag)), serve(torn(tag=tag)), start(),
         trigger(film.poll(), first(), rest(None), ordered=True), done, features=GOES_ON)
case("another tag: the server sends the whole file", ["D-57"], serve(film.origin(1), body("\"cdn-600\"")), serve(torn()), start(),
     trigger(film.poll(), first(), rest(OWN), ordered=True), done, features=GOES_ON)
case("a server without ranges sends the whole file", ["D-51", "D-57"], serve(film.origin(1), body(ranges=False)), serve(torn()), start(),
     trigger(film.poll(), first(), rest(OWN), ordered=True), done, features=GOES_ON)
other = rule(URL, fill={"text": "fedcba9876543210", "times": TIMES}, headers={"ETag": None}, fault={"torn": 1_500_000}, times=1)
case("without a tag the digest decides, and costs one more download", ["D-51", "D-57"], serve(film.origin(1), body(None)), serve(other), start(),
     trigger(film.poll(), first(), rest(None), first(), ordered=True), done, features=GOES_ON)

# Requests of pages for missing large files.

part = {"headers": {"Range": "bytes=100-199"}}
metered = [serve(film.origin(1), body()), start(meteredLimit=1000), {"conditions": {"network": "metered"}},
           trigger(film.poll()), {"state": {"version": "1", "files": {}}}]
case("a part of a large file comes from the network", ["D-58"], metered, *[ask(FILM, "network", **part)] * 3, ask(FILM, "network", asks=[]),
     {"state": {"version": "1", "files": {}}})
case("what a page got from the network comes once it is free", ["D-58", "D-118"], metered, ask(FILM, "network", **part, asks=[]),
     {"conditions": {"network": "unmetered"}}, later(), {"trigger": "foreground"},
     ask(FILM, {"status": 206, "text": (UNIT * 8)[4:104], "headers": {"Content-Range": f"bytes 100-199/{len(UNIT) * TIMES}"}}, **part, eventually=True))
case("a file above the disk limit is never fetched for a page", ["D-58"], serve(film.origin(1), body()), start(diskLimit=1 << 20),
     trigger(film.poll(), {"url": URL, "times": [0, 1]}), {"stop": True}, start(diskLimit=1 << 20),
     *[ask(FILM, {"status": 206, "orNetwork": True}, **part, asks=[])] * 2)
small, steps = one({INDEX: "<p>one", APP: "let one"})
case("offline, a missing file isn't asked for", ["D-79", "D-115"], steps, {"damage": "let one", "how": "remove"}, {"stop": True}, start(),
     {"conditions": {"network": "offline"}}, ask(APP, "network", asks=[]), ask(INDEX, local("<p>one")), {"conditions": {"network": "unmetered"}},
     ask(APP, local("let one")))

# Unrelated answers, and CDN nodes with different ETags.

there = {"url": URL, "headers": {"range": "bytes=1500000-", "if-range": None}}
case("nodes with tags of their own: what another one sends again takes nothing away", ["D-57"], serve(film.origin(1), body("\"c\"")),
     serve(body("\"b\"", fault={"torn": 1_000_000}, times=1)), serve(torn(tag="\"a\"")), start(),
     trigger(film.poll(), first(), rest("\"a\""), there, ordered=True), done, features=GOES_ON)
case("a page of a captive portal takes nothing away", ["D-57"], serve(film.origin(1), body()),
     serve(rule(URL, text="<p>sign in", ranges=False, headers={"ETag": None}, times=1)), serve(torn()), start(),
     trigger(film.poll(), first(), rest(OWN), {"url": URL, "headers": {"range": "bytes=1500000-"}}, ordered=True), done, features=GOES_ON)
case("an answer with some other part takes nothing away the first time", ["D-57"], serve(film.origin(1), body()),
     serve(rule(URL, status=206, text="no", headers={"Content-Range": "bytes 5-6/7"}, times=1)), serve(torn()), start(),
     trigger(film.poll(), first(), rest(OWN), {"url": URL, "headers": {"range": "bytes=1500000-"}}, ordered=True), done, features=GOES_ON)
SONG, PIECES = SITE + "/song.bin", 56_250  # 900 KB
song = World()
song.publish({SONG: UNIT * PIECES})
sung = {"fill": {"text": UNIT, "times": PIECES}}
case("a file of middling size goes on, too", ["D-57"], serve(song.origin(1), rule(song.url(1, SONG), **sung)),
     serve(rule(song.url(1, SONG), **sung, fault={"torn": 600_000}, times=1)), start(),
     trigger(song.poll(), song.url(1, SONG), {"url": song.url(1, SONG), "headers": {"range": "bytes=600000-"}}, ordered=True),
     ask(SONG, {"status": 200, "bytes": len(UNIT) * PIECES}), features=GOES_ON)

# Documents.

large, book.name, book.cases = book.cases, "budget", []


def document(base, version, member, times):
    """The answer with a patch, and an unknown member with an array of `times` numbers."""
    text = canonical(two_versions.patch(base, version)).decode()
    at = text.index("\"update\"")
    return poll_rule({"version": str(base), "patch": "1"}, fill={"before": text[:at] + f"\"{member}\":[", "text": "0,", "times": times, "after": "0]," + text[at:]})


two_versions, steps = two()
case("an unknown member of 24 MB is passed over", ["D-8", "D-26"], steps,
     serve(document(1, 2, "unknown", 12 << 20) | {"coding": "gzip"}), trigger(two_versions.poll(1), *two_versions.downloads(2, 1)),
     two_versions.holds(2), {"memoryBelow": 256 << 20})
POLICY = ORIGIN + "/policy.json?app=shop&channel=online"
patterns = [f"https://m.test/{number}.html" for number in range(199)] + [INDEX]


def policy(**members):
    return rule(ORIGIN + "/policy.json", json={"code": 200, "data": {"bypass": [], "intercept": True, "scripts": [], "version": "1", **members}})


world, steps = one({INDEX: "<p>one", APP: "let one"})
case("the last of 200 patterns counts", ["D-27", "D-97"], steps, serve(world.origin(1, policy="1"), policy(bypass=patterns)), later(),
     trigger(world.poll(1), POLICY), {"pageOpen": INDEX, "as": "page"}, ask(INDEX, "network", destination="document", page="page"))
case("a policy of 40,000 patterns has its switch obeyed", ["D-27", "D-96"], steps,
     serve(world.origin(1, policy="1"), rule(ORIGIN + "/policy.json", fill={
         "before": "{\"code\":200,\"data\":{\"bypass\":[", "text": "\"https://m.test/{n}/*\",", "times": 40_000,
         "after": "\"https://m.test/b\"],\"intercept\":false,\"scripts\":[],\"version\":\"1\"}}"})), later(),
     trigger(world.poll(1), POLICY, within=15), ask(INDEX, "network"), {"stop": True}, {"open": {}, "within": 15}, ask(INDEX, "network"))
seen = two_versions.whole(2, policy="1")
del seen["data"]["digest"]
text = canonical(seen).decode()
at = text.index("\"update\"")
case("one of 4 MB in an answer that can't be used costs no memory either", ["D-26", "D-99"], got(two_versions),
     serve(poll_rule({}, fill={"before": text[:at] + "\"unknown\":[", "text": "0,", "times": 2 << 20, "after": "0]," + text[at:]}, coding="gzip"),
           policy(intercept=False), fresh=True), later(), trigger(*tries(two_versions), POLICY), ask(INDEX, "network"), {"memoryBelow": 110 << 20})

books = []
for name, cases in (("large", large), ("budget", book.cases)):
    books.append(Book(name))
    books[-1].cases = cases
