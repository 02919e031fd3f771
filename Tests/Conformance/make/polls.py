"""Polls, failed polls, and the switch to the static copy and back."""
from world import *

book = Book("poll")
case = book.case

world, steps = one()
case("the first poll asks for the whole manifest", ["D-1", "D-60"], steps, world.holds(1))

case("a device polls again with what it holds", ["D-1", "D-2"], steps, later(),
     trigger(world.poll(1)), world.holds(1))

case("an empty channel is no failure", ["D-1"], serve(World().origin(0)), start(), trigger(World().poll()),
     {"state": {"version": "0", "files": {}}}, ask(INDEX, "network"))

case("triggers within 30 seconds don't poll again", ["D-2"], steps, later(29),
     *[trigger(kind=kind) for kind in ("launch", "foreground", "push", "pageClosed")],
     later(1), trigger(world.poll(1), kind="push"))

case("a restart doesn't poll earlier", ["D-2"], steps, {"stop": True}, later(10), start(), trigger(),
     later(20), trigger(world.poll(1)))

case("a kill doesn't poll earlier, either", ["D-2"], steps, {"kill": True}, later(10), start(), trigger(),
     later(20), trigger(world.poll(1)))

for seconds, taken in ((120, 120), (5, 30), (99999, 3600)):
    world = World()
    world.publish({INDEX: "<p>one"})
    case(f"an interval of {seconds} counts as {taken}", ["D-2", "D-3"],
         serve(world.origin(1, interval=seconds), world.files(1)), start(),
         trigger(world.poll(), world.url(1, INDEX)), later(taken - 1), trigger(), later(1), trigger(world.poll(1)))

world = World()
world.publish({INDEX: "<p>one"})
case("an answer without an interval ends it", ["D-3"],
     serve(world.origin(1, interval=600), world.files(1)), start(), trigger(world.poll(), *world.downloads(1)),
     serve(world.origin(1)), later(600), trigger(world.poll(1)), later(30), trigger(world.poll(1)))

world, steps = one()
case("triggers at the same time make one poll", ["D-4"], serve(world.origin(1), world.files(1)), start(),
     trigger(world.poll(), *world.downloads(1), kind=["launch", "foreground", "push"]))

case("a page that opens is a trigger; its update begins after a second at most", ["D-5"],
     serve(world.origin(1), world.files(1)), start(), {"pageOpen": INDEX, "as": "p"},
     trigger(world.poll(), *world.downloads(1), kind="pageOpened", page="p"), world.holds(1))

case("unknown members and query keys are passed over", ["D-8"],
     serve(world.origin(1, tomorrow={"a": [1, None]}, rollouts="x"), world.files(1)), start(),
     trigger(world.poll(), *world.downloads(1)), world.holds(1))

case("what is there is fetched no more", ["D-9"], steps, later(), trigger(world.poll(1)), later(),
     trigger(world.poll(1)), world.holds(1))

# Failed polls: after five of each kind the copy is polled.
down = {"status 500": {"status": 500, "text": "no"}, "status 404": {"status": 404, "json": {"code": 404, "message": "no"}},
        "another code": {"json": {"code": 503, "message": "no"}}, "no JSON": {"text": "<html>portal</html>"},
        "cut JSON": {"text": '{"code":200,"data":{"update":fal'},
        "a missing member": {"json": {"code": 200, "data": {"update": True, "version": "2"}}},
        "a version that is a number": {"json": {"code": 200, "data": {"update": False, "version": 2}}},
        "a reset": {"fault": {"reset": True}}, "a closed connection": {"fault": {"close": True}},
        "no HTTP": {"fault": {"garbage": True}}, "a torn body": {"json": {"code": 200}, "fault": {"torn": 3}},
        "a body that is too short": {"json": {"code": 200}, "fault": {"length": 100}}}
twice = {"times": [1, 2]}
for name, answer in down.items():
    world, steps = one({INDEX: "<p>one"})
    failed = [later(), trigger(*tries(world))] * 5
    case(f"five failed polls ({name}) lead to the copy", ["D-6", "D-10"], steps,
         serve(poll_rule({}, **answer), world.mirror(1), fresh=True), failed, world.holds(1),
         # 30 s ±20 % after the fifth failure the origin is polled, and after that the copy, for at least 48 s.
         later(37), trigger(*tries(world)), later(), trigger(world.copy("version.json")),
         world.holds(1), ask(INDEX, local("<p>one")))

world, steps = one({INDEX: "<p>one"})
case("a stalled answer is a failed poll, and nothing is lost", ["D-6"], steps,
     serve(poll_rule({}, json=world.nothing(1), fault={"stall": True})), later(), trigger({"url": world.poll(1), "times": [1, 2]}),
     world.holds(1), serve(world.origin(1), fresh=True), later(), trigger(world.poll(1)))

for name, extra in (("duplicate keys", '{"code":200,"data":{"update":false,"version":"1","version":"1"}}'),
                    ("too many levels", '{"code":200,"data":{"update":false,"version":"1","x":' + "[" * 70 + "]" * 70 + "}}"),
                    ("bytes that aren't UTF-8", None)):
    body = {"data": b'{"code":200,"data":{"update":false,"version":"\xff"}}'} if extra is None else {"text": extra}
    case(f"a document with {name} is none", ["D-6"], steps, serve(rule(ORIGIN + "/configure.json", **body)), later(),
         trigger(*tries(world)), world.holds(1))

world, steps = two({INDEX: "<p>one"}, {INDEX: "<p>two"})
case("an answer is taken by gzip", ["D-7"], steps,
     serve([one | {"coding": "gzip"} for one in world.origin(2, 1) + world.files(2, 1)], fresh=True),
     trigger(world.poll(1), world.url(2, INDEX)), world.holds(2))
case("a damaged gzip answer is asked for once more without a coding", ["D-7"], steps,
     serve([one | {"coding": "gzip", "damaged": True} for one in world.origin(2, 1)] + world.files(2, 1), fresh=True),
     trigger(world.poll(1), {"url": world.poll(1), "headers": {"accept-encoding": "identity"}}, world.url(2, INDEX)),
     world.holds(2))

world = World()
world.publish({INDEX: "<p>one"})
case("a restart keeps the channel's interval", ["D-2"], serve(world.origin(1, interval=600), world.files(1)), start(),
     trigger(world.poll(), *world.downloads(1)), {"stop": True}, start(), later(599), trigger(), later(1), trigger(world.poll(1)))
world, steps = one()
case("the update of a page without an answer begins soon", ["D-5"],
     serve(world.origin(1), world.files(1)), start(), {"pageOpen": INDEX, "as": "p"},
     trigger(world.poll(), *world.downloads(1), kind="pageOpened", page="p", within=3.5), world.holds(1))
world, steps = one({INDEX: "<p>one"})
killed_poll = [serve(poll_rule({}, json=world.nothing(1), fault={"kill": 0}, times=1)), {"trigger": "launch", "dies": True},
               {"serve": [], "asks": [world.poll(1)]}, start()]
case("a poll that the process didn't outlive counts", ["D-2"], steps, later(), killed_poll, trigger(), later(29), trigger(), later(1),
     trigger(world.poll(1)))

case("an interval that is NaN makes it no JSON", ["D-6"], steps, serve(rule(ORIGIN + "/configure.json", text=
     '{"code":200,"data":{"interval":NaN,"update":false,"version":"1"}}')), later(), trigger(*tries(world)), world.holds(1),
     serve(world.origin(1), fresh=True), later(), trigger(world.poll(1)))
case("an answer that drips is given up", ["D-6", "D-99"], steps, serve(rule(ORIGIN + "/configure.json", fault={"drip": 1500}, fill={
     "before": '{"code":200,"data":{"rest":"', "text": "x" * 100, "times": 450, "after": '","update":false,"version":"1"}}'})), later(),
     trigger({"url": world.poll(1), "times": [1, 2]}, within=22), world.holds(1), serve(world.origin(1), fresh=True), later(), trigger(world.poll(1)))

# Of a shared cache that knows answers by their URLs.
world, steps = one({INDEX: "<p>one", SITE + "/app.js.map": ("{}", {"lazy": True})})
case("the parameters of polls are in order", ["D-187"], serve(world.origin(1), world.files(1)), start(), trigger(exactly(world.poll()), world.url(1, INDEX)),
     later(), trigger(exactly(world.poll(1))), features=["packs"])
world, steps = two({INDEX: "<p>one"}, {INDEX: "<p>two"})
answer, url = world.with_pack(1, 2, b"no pack")
case("also where they are sent again without a pack", ["D-187"], steps, serve(poll_rule({"pack": "1"}, json=answer), rule(url, data=b"no pack")),
     trigger(exactly(world.poll(1)), {"url": url, "times": [1, 4]}, exactly(world.poll(1, pack=False)), world.url(2, INDEX)), world.holds(2), features=["packs"])

# The copy.

book.name, polls = "copy", book.cases
book.cases = []


def fallen(files=None, mirror=None, **settings):
    """Steps with five failed polls in a row; the copy has the device's version."""
    world, steps = one(files or {INDEX: "<p>one"}, **settings)
    steps += [serve(world.mirror(1) if mirror is None else mirror, fresh=True)]
    for _ in range(5):
        steps += [later(), trigger(world.poll(1))]
    return world, steps


world, steps = fallen()
case("four failures don't lead to the copy", ["D-10"], steps[:-2], later(), trigger(world.poll(1)))
case("after five the copy answers, until the origin's turn", ["D-10", "D-12"], steps,
     # 30 s ±20 % after the fifth failure the origin is polled; its failure doubles the wait: 60 s ±20 %.
     later(37), trigger(world.poll(1)), later(40), trigger(world.copy("version.json")),
     later(33), trigger(world.poll(1)))
case("a good answer between them begins the count anew", ["D-10", "D-13"], steps[:-2],
     serve(world.origin(1)), later(), trigger(world.poll(1)), serve(world.mirror(1), fresh=True),
     *[later(), trigger(world.poll(1))] * 5, later(37), trigger(world.poll(1)))
lone, steps_alone = one({INDEX: "<p>one"}, fallback=None)
case("without a copy the origin is asked again and again", ["D-11"], steps_alone, serve(fresh=True),
     *[later(), trigger(lone.poll(1))] * 8, lone.holds(1))

waits, more = 30, []
for turn in range(6):
    # The origin is polled after at most 120 % of the wait, and not before 80 % of the next.
    more += [later(int(waits * 1.2) + 1), trigger(world.poll(1))]
    waits = min(waits * 2, 600)
    more += [later(int(waits * 0.8) - 1), trigger(world.copy("version.json"))]
    waits_left = int(waits * 0.4) + 2
    more += [later(max(waits_left, 31)), trigger(world.poll(1))]
    waits = min(waits * 2, 600)
case("the waits for the origin double, to ten minutes", ["D-12"], steps, more)
case("after hours at the copy the origin is still asked every ten minutes", ["D-12"], steps,
     *[later(721), trigger(world.poll(1))] * 12, later(470), trigger(world.copy("version.json")), later(251),
     trigger(world.poll(1)))
case("one good answer of the origin ends it", ["D-12", "D-13"], steps, serve(world.origin(1)), later(37),
     trigger(world.poll(1)), *[later(), trigger(world.poll(1))] * 2)
case("back at the origin, five failures are needed again", ["D-13"], steps, serve(world.origin(1)), later(37),
     trigger(world.poll(1)), serve(world.mirror(1), fresh=True), *[later(), trigger(world.poll(1))] * 5, later(37),
     trigger(world.poll(1)), later(40), trigger(world.copy("version.json")))
case("a restart goes on at the copy", ["D-16"], steps, later(37), trigger(world.poll(1)), {"stop": True}, start(),
     later(40), trigger(world.copy("version.json")), later(33), trigger(world.poll(1)))
case("failures are counted over restarts", ["D-16"], steps[:-4], {"kill": True}, start(), later(), trigger(world.poll(1)),
     {"stop": True}, start(), later(), trigger(world.poll(1)), later(37), trigger(world.poll(1)), later(40),
     trigger(world.copy("version.json")))

world, steps = fallen()
to_copy = [later(37), trigger(world.poll(1)), later(40)]
world.publish({INDEX: "<p>two", APP: "let two"})
case("a copy's newer version comes by a patch", ["D-15", "D-60"], steps, to_copy,
     serve(world.mirror(2, 1), world.files(2, 1), fresh=True),
     trigger(world.copy("version.json"), world.copy("update/1-2.json"), world.copy("patch/1-2.json"),
             *world.downloads(2, 1), ordered=False), world.holds(2))
case("without a patch, by the whole manifest", ["D-15"], steps, to_copy,
     serve(world.mirror(2), world.files(2, 1), fresh=True),
     trigger(world.copy("version.json"), world.copy("update/1-2.json"), world.copy("patch/1-2.json"),
             world.copy("configure.json"), *world.downloads(2, 1)), world.holds(2))
bad = world.patch(1, 2)
bad["data"]["digest"] = "0" * 64
case("a copy's patch that leads elsewhere costs the whole manifest", ["D-15", "D-31"], steps, to_copy,
     serve(rule(world.copy("patch/1-2.json"), json=bad), world.mirror(2), world.files(2, 1), fresh=True),
     trigger(world.copy("version.json"), world.copy("update/1-2.json"), world.copy("patch/1-2.json"),
             world.copy("configure.json"), *world.downloads(2, 1)), world.holds(2))
made, _ = pack(world, 1, 2)
answer, url = world.with_pack(1, 2, made)
case("a copy's pack", ["D-15", "D-44"], steps, to_copy,
     serve(rule(world.copy("update/1-2.json"), json=answer), rule(url, data=made), world.mirror(2, 1), fresh=True),
     trigger(world.copy("version.json"), world.copy("update/1-2.json"), url), world.holds(2), features=["packs"])
older = World()
older.publish({INDEX: "<p>old"})
older.publish({INDEX: "<p>one"})
first, steps2 = older, [serve(older.origin(2), older.files(2)), start(), trigger(older.poll(), *older.downloads(2)),
                        serve(older.mirror(1), older.files(1), fresh=True)]
steps2 += [later(), trigger(older.poll(2))] * 5 + [later(37), trigger(older.poll(2)), later(40)]
case("a copy's older version is passed over", ["D-14"], steps2, trigger(older.copy("version.json")), older.holds(2))
other = World()
other.publish({INDEX: "<p>other"})
other.raw(other.maps.pop(1), 2)
case("a copy's other manifest of the same version is passed over", ["D-14"], steps2,
     serve(other.mirror(2), other.files(2), fresh=True), trigger(older.copy("version.json")), older.holds(2))
case("a device without a manifest gets the copy's whole one", ["D-10", "D-15"], serve(world.mirror(2), world.files(2)), start(),
     trigger(world.poll()), *[later(), trigger(world.poll())] * 4, later(37), trigger(world.poll()), later(40),
     trigger(world.copy("version.json"), world.copy("configure.json"), *world.downloads(2)), world.holds(2))
case("a copy that fails, too, loses nothing", ["D-6", "D-12"], steps, to_copy, serve(fresh=True),
     trigger(world.copy("version.json")), world.holds(1), ask(INDEX, local("<p>one")))
forced = World()
forced.publish({INDEX: "<p>one"})
forced.publish({INDEX: "<p>two"})
case("the origin's lower version is taken", ["D-14"],
     serve(forced.origin(2), forced.files(2)), start(), trigger(forced.poll(), *forced.downloads(2)),
     serve(poll_rule({}, json=forced.whole(1)), forced.files(1), fresh=True), later(),
     trigger(forced.poll(2), forced.url(1, INDEX)), forced.holds(1), ask(INDEX, local("<p>one")))
same = World()
same.publish({INDEX: "<p>else"})
case("the origin's other manifest of the same version is taken", ["D-14"],
     serve(forced.origin(1), forced.files(1), fresh=True), start(), trigger(forced.poll(), *forced.downloads(1)),
     serve(same.origin(1), same.files(1), fresh=True), later(), trigger(forced.poll(1), same.url(1, INDEX)),
     same.holds(1), ask(INDEX, local("<p>else")))
world, steps = one({INDEX: "<p>one"})
case("five polls that the process didn't outlive lead to the copy", ["D-10", "D-16"], steps, serve(world.mirror(1), fresh=True),
     [later(), killed_poll] * 5, later(37), killed_poll, later(40), trigger(world.copy("version.json")), world.holds(1))
kills, first = two({INDEX: "<p>one", APP: "let one"}, {INDEX: "<p>one", APP: "let two"})
case("a process that ends after the answer hasn't failed to poll", ["D-10", "D-16"], first, serve(kills.origin(2, 1), fresh=True),
     [[serve(rule(kills.url(2, APP), text="let two", fault={"kill": 0}, times=1)), {"trigger": "launch", "dies": True},
       {"serve": [], "asks": [kills.poll(1), kills.url(2, APP)]}, start(), later()]] * 7,
     serve(kills.files(2)), trigger(kills.poll(1), kills.url(2, APP)), kills.holds(2))

world, steps = fallen()
case("the waits for the origin aren't all the same", ["D-12"], steps,
     *[later(721), trigger(world.poll(1))] * 5,
     {"waits": ORIGIN + "/configure.json", "least": 480, "most": 751, "rounds": 6})

copies = Book("copy")
copies.cases = book.cases
book.name, book.cases = "poll", polls
books = [book, copies]
