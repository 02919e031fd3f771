"""Downloads, the switch, and the state after kills and faults."""
from world import *

book = Book("file")
case = book.case
THREE = {INDEX: "<p>one", APP: "let one", STYLE: "a{}"}

world, steps = two(THREE, {INDEX: "<p>one", APP: "let two", STYLE: "a{}"})
case("only what changed is fetched", ["D-50"], steps, trigger(world.poll(1), world.url(2, APP)), world.holds(2))
case("a missing file that didn't change waits until a page asks", ["D-50", "D-79"], steps, {"damage": "a{}", "how": "remove"},
     {"stop": True}, start(), serve(world.files(1)), trigger(world.poll(1), world.url(2, APP)),
     world.holds(2, without=[STYLE]),
     ask(STYLE, local("a{}"), asks=[world.url(1, STYLE)]), world.holds(2))
more = {f"{SITE}/{i}.js": f"let n={i}" for i in range(20)}
grown, first = two(more, more | {SITE + "/more.js": "more"})
case("one file more is one download", ["D-50"], first, trigger(grown.poll(1), grown.url(2, SITE + "/more.js")), grown.holds(2))

twin, first = two({APP: "same"}, {APP: "same", SITE + "/copy.js": "same", SITE + "/third.js": "same"})
case("bytes that are held under another key aren't fetched", ["D-52"], first, trigger(twin.poll(1)), twin.holds(2))
twins = World()
twins.publish({APP: "same", SITE + "/copy.js": "same"})
case("bytes that two URLs share are fetched once", ["D-52"], serve(twins.origin(1), twins.files(1)), start(),
     trigger(twins.poll(), *[{"url": url, "times": [0, 1]} for url in twins.downloads(1)]), twins.holds(1))
back = World()
for text in ("let one", "let two", "let one"):
    back.publish({APP: text})
case("bytes that come back were set aside, and aren't fetched", ["D-52"], serve(back.origin(1), back.files(1)), start(),
     trigger(back.poll(), *back.downloads(1)), serve(back.origin(2, 1), back.files(2), fresh=True), later(),
     trigger(back.poll(1), back.url(2, APP)), serve(back.origin(3, 2), fresh=True), later(), trigger(back.poll(2)), back.holds(3))

world, steps = two({INDEX: "<p>one", APP: "let one"}, {INDEX: "<p>two", APP: "let two"})
keeps = [world.holds(1), ask(INDEX, local("<p>one")), ask(APP, local("let one"))]
good = world.origin(2, 1)
page, script = world.url(2, INDEX), world.url(2, APP)


def many(url):
    return {"url": url, "times": [0, 6]}


for name, answer in {
    "with other bytes": {"text": "let 666"}, "with fewer bytes": {"text": "let"},
    "with more bytes": {"text": "let two, and much more"}, "of a million times its size": {"fill": {"text": "x" * 1024, "times": 8192}},
    "that is missing": {"status": 404, "text": "no"}, "that always fails": {"status": 503, "text": "no"},
    "that is always torn": {"text": "let two", "ranges": False, "fault": {"torn": 3}}, "behind a portal": {"text": "<html>log in</html>"},
    "of an empty answer": {"text": ""}, "that resets": {"fault": {"reset": True}}, "in half (206)": {"status": 206, "text": "let"},
}.items():
    case(f"a file {name} switches nothing", ["D-51", "D-60", "D-62"] + (["D-53"] if "more" in name or "million" in name else []), steps,
         serve(good, world.files(2, 1), fresh=True), serve(rule(script, **answer)),
         trigger(world.poll(1), many(page), {"url": script, "times": [1, 6]}), keeps,
         serve(good, world.files(2, 1), fresh=True), later(),
         trigger(world.poll(1), {"url": page, "times": [0, 1]}, script), world.holds(2), ask(APP, local("let two")))
for name, answer in {"fails once": {"status": 503, "text": "no"}, "is torn once": {"text": "let two", "fault": {"torn": 3}},
                     "resets once": {"fault": {"reset": True}}}.items():
    case(f"a file that {name} is asked for again", ["D-54"], steps,
         serve(good, world.files(2, 1), fresh=True), serve(rule(script, **answer, times=1)),
         trigger(world.poll(1), page, {"url": script, "times": [2, 3]}), world.holds(2))
case("a file that stalls is asked for again", ["D-54"], steps,
     serve(good, world.files(2, 1), fresh=True), serve(rule(script, text="let two", fault={"stall": True}, times=1)),
     trigger(world.poll(1), page, {"url": script, "times": [2, 3]}), world.holds(2))
case("a file whose gzip body is damaged is asked for without a coding", ["D-7", "D-51"], steps,
     serve(good, [one | {"coding": "gzip", "damaged": True} for one in world.files(2, 1)], fresh=True),
     trigger(world.poll(1), *[{"url": url, "times": [2, 3]} for url in (page, script)]), world.holds(2))
case("what came before a failure isn't fetched again", ["D-55"], steps,
     serve(good, rule(page, text="<p>two"), fresh=True), trigger(world.poll(1), many(page), {"url": script, "times": [1, 6]}),
     keeps, serve(good, world.files(2, 1), fresh=True), later(),
     trigger(world.poll(1), {"url": page, "times": [0, 1]}, script), world.holds(2))
moved = rule(script, status=302, headers={"Location": CDN + "/elsewhere"})
case("a download may be redirected; its bytes are checked all the same", ["D-51"], steps,
     serve(good, world.files(2, 1), fresh=True), serve(moved, rule(CDN + "/elsewhere", text="let two")),
     trigger(world.poll(1), page, script, CDN + "/elsewhere"), world.holds(2))
endless = rule(CDN + "/loop", status=302, headers={"Location": CDN + "/loop"})
case("redirects in a circle end", ["D-51", "D-62"], steps, serve(good, world.files(2, 1), fresh=True),
     serve(rule(script, status=302, headers={"Location": CDN + "/loop"}), endless),
     trigger(world.poll(1), many(page), {"url": script, "times": [1, 4]}, {"url": CDN + "/loop", "times": [0, 80]}), keeps)
big = World()
big.publish({SITE + "/big.bin": "0123456789abcdef" * 131072})
fills = [rule(big.url(1, SITE + "/big.bin"), fill={"text": "0123456789abcdef", "times": 131072})]
fills[0]["fill"] = {"text": "0123456789abcdef", "times": 131072}
case("a file of 2 MB", ["D-51", "D-76"], serve(big.origin(1), fills), start(), trigger(big.poll(), *big.downloads(1)),
     ask(SITE + "/big.bin", {"status": 200, "bytes": 2097152}),
     ask(SITE + "/big.bin", local("f0", 206, Content_Range="bytes 1048575-1048576/2097152"), headers={"Range": "bytes=1048575-1048576"}))

case("a file that isn't there is asked for once", ["D-54"], steps, serve(good, world.files(2, 1), fresh=True),
     serve(rule(script, status=404, text="no")), trigger(world.poll(1), {"url": page, "times": [0, 1]}, script), keeps)
case("a body that never seems to end is given up", ["D-53"], steps, serve(good, world.files(2, 1), fresh=True),
     serve(rule(script, fill={"text": "x" * 1024, "times": 65536})),
     trigger(world.poll(1), {"url": page, "times": [0, 1]}, {"url": script, "times": [1, 6]}), {"sent": script, "most": 16 << 20}, keeps)

again = {"url": world.poll(1), "headers": {"if-none-match": "*"}}
case("an answer whose files fail isn't downloaded again", ["D-56"], steps, serve(good, rule(page, text="<p>two"), fresh=True),
     trigger(world.poll(1), many(page), {"url": script, "times": [1, 6]}), later(),
     trigger(again, {"url": page, "times": [0, 1]}, {"url": script, "times": [1, 6]}), keeps, {"stop": True}, start(), later(),
     serve(world.files(2)), trigger(again, {"url": page, "times": [0, 1]}, script), world.holds(2), later(), trigger(world.poll(2)))
case("an answer that has changed since is taken", ["D-56"], steps, serve(good, rule(page, text="<p>two"), fresh=True),
     trigger(world.poll(1), many(page), {"url": script, "times": [1, 6]}), later(), serve(world.origin(1), fresh=True),
     trigger(again), keeps, later(), trigger({"url": world.poll(1), "headers": {}}), keeps)

# The switch, and kills.

files, book.name, book.cases = book.cases, "switch", []
fresh = World()
fresh.publish({INDEX: "<p>one", APP: "let one"})
case("before everything is there, nothing is answered", ["D-60"],
     serve(fresh.origin(1), rule(fresh.url(1, INDEX), text="<p>one")), start(),
     trigger(fresh.poll(), many(fresh.url(1, INDEX)), {"url": fresh.url(1, APP), "times": [1, 6]}),
     {"state": {"version": "0", "files": {}}}, ask(INDEX, "network"))
case("after the switch the new version is answered, also after a restart", ["D-60", "D-63"], steps,
     serve(world.files(2, 1)), trigger(world.poll(1), page, script), world.holds(2), ask(APP, local("let two")),
     {"stop": True}, start(), world.holds(2), ask(APP, local("let two")), ask(INDEX, local("<p>two")))
for name, where in {
    "as the poll is answered": poll_rule({"version": "1"}, json=world.patch(1, 2), fault={"kill": 0}),
    "in the middle of the poll's answer": poll_rule({"version": "1"}, json=world.patch(1, 2), fault={"kill": 100}),
    "as a file is asked for": rule(script, text="let two", fault={"kill": 0}),
    "in the middle of a file": rule(script, text="let two", fault={"kill": 3}),
}.items():
    case(f"a device that is killed {name} holds the old version, and comes to the new one", ["D-61"], steps,
         serve(good, world.files(2, 1), fresh=True), serve(where | {"times": 1}),
         {"trigger": "launch", "dies": True}, {"serve": [], "asks": [{"url": world.poll(1)}, many(page), {"url": script, "times": [0, 1]}]},
         start(), keeps, later(), trigger(world.poll(1), {"url": page, "times": [0, 1]}, {"url": script, "times": [0, 1]}), world.holds(2))
case("a device that is killed in its first update starts empty", ["D-61"], serve(fresh.origin(1), fresh.files(1)),
     serve(rule(fresh.url(1, APP), text="let one", fault={"kill": 2}, times=1)), start(), {"trigger": "launch", "dies": True},
     {"serve": [], "asks": [fresh.poll(), many(fresh.url(1, INDEX)), fresh.url(1, APP)]},
     start(), {"state": {"version": "0"}}, ask(INDEX, "network"), later(),
     trigger(fresh.poll(), many(fresh.url(1, INDEX)), fresh.url(1, APP)), fresh.holds(1))
case("a kill after the switch loses nothing", ["D-61", "D-63"], steps, serve(world.files(2, 1)), trigger(world.poll(1), page, script),
     {"kill": True}, start(), world.holds(2), ask(INDEX, local("<p>two")), ask(APP, local("let two")), later(), trigger(world.poll(2)))
case("killed three times in a row", ["D-61"], steps, serve(good, world.files(2, 1), fresh=True),
     *[[serve(rule(script, text="let two", fault={"kill": n}, times=1)), {"trigger": "launch", "dies": True},
        {"serve": [], "asks": [world.poll(1), many(page), script]}, start(), keeps, later()] for n in (0, 2, 5)],
     trigger(world.poll(1), many(page), script), world.holds(2))
empty = World()
empty.publish({INDEX: "<p>one"})
empty.publish({})
case("a version without files", ["D-60", "D-63"], serve(empty.origin(1), empty.files(1)), start(), trigger(empty.poll(), *empty.downloads(1)),
     serve(empty.origin(2, 1)), later(), trigger(empty.poll(1)), empty.holds(2), ask(INDEX, "network"))
third = World()
for n in ("one", "two", "three"):
    third.publish({INDEX: f"<p>{n}"})
case("a version may be left out", ["D-60"], serve(third.origin(1), third.files(1)), start(), trigger(third.poll(), *third.downloads(1)),
     serve(third.origin(3, 1), third.files(3)), later(), trigger(third.poll(1), third.url(3, INDEX)), third.holds(3))

books = [Book("file"), Book("switch")]
books[0].cases, books[1].cases = files, book.cases
