"""A shared cache that takes the polls: what devices count of them, and what it must not answer."""
from rollouts import candidate, origin as rolling, rule as ruling
from world import *

book = Book("edge")
EDGE = {"edge": 10}
world = World()
for n in ("one", "two", "three"):
    world.publish({INDEX: f"<p>{n}", APP: f"let {n}"})


def case(name, *steps, rules=("D-185",), features=(), **members):
    book.case(name, list(rules), *steps, features=["counts", *features], **members)


def counted(**versions):
    """All of these that were counted, by version: `counted(v1={"polls": 2})`."""
    return {"counted": {name[1:]: counts for name, counts in versions.items()}}


def told(**versions):
    """The same where each of these batches has `polls`, also as 0."""
    return counted(**versions) | {"always": ["polls"]}


def first(**extras):
    """Steps after which a device has the first version. Its poll had no version, and isn't counted."""
    return [serve(world.origin(1, **extras), world.files(1)), start(), trigger(world.poll(), *world.downloads(1))]


def quiet(version=1, **extras):
    """A poll that finds nothing new."""
    return [serve(world.origin(version, **extras), fresh=True), later(), trigger(world.poll(version))]


def follows(version, **extras):
    """A poll that goes to the next version. What was counted before comes in a batch by then."""
    return [serve(world.origin(version, version - 1, **extras), world.files(version, version - 1), fresh=True), later(),
            trigger(world.poll(version - 1), *world.downloads(version, version - 1)), world.holds(version)]


looks = ask(INDEX, local("<p>one"))

case("a poll that was counted makes a batch", first(**EDGE), quiet(**EDGE), counted(v1={"polls": 1}), rules=["D-185", "D-186"])
case("a poll that finds another version counts for the one that was held", first(**EDGE), follows(2, **EDGE), counted(v1={"polls": 1}),
     follows(3, **EDGE), counted(v1={"polls": 1}, v2={"polls": 1}), rules=["D-185", "D-186"])
case("each poll is counted", first(**EDGE), [quiet(**EDGE)] * 3, follows(2, **EDGE), counted(v1={"polls": 4}))
case("polls are in the batch of everything else", first(**EDGE), looks, quiet(**EDGE), looks, follows(2, **EDGE), counted(v1={"local": 2, "polls": 2}))
case("without `edge` no poll is counted", first(), [quiet()] * 2, looks, follows(2), counted(v1={"local": 1, "polls": 0}))
case("the first answer that has it is counted, and none after the last one", first(), quiet(), quiet(**EDGE), quiet(), looks, follows(2), counted(v1={"local": 1, "polls": 1}))
for name, value in {"text": "10", "true": True, "false": False, "null": None, "a list": [10], "an object": {"seconds": 10}}.items():
    case(f"an `edge` that is {name} is none, and the answer is valid", first(edge=value), quiet(edge=value), looks, follows(2, edge=value), counted(v1={"local": 1, "polls": 0}))
for value in (0, -1, 1, 60, 61, 2.5, 10**12):
    case(f"an `edge` of {value} counts", first(edge=value), quiet(edge=value), counted(v1={"polls": 1}))
case("one that has no end counts, too", first(), serve(rule(ORIGIN + "/configure.json", text='{"code":200,"data":{"edge":1e400,"update":false,"version":"1"}}'), fresh=True), later(),
     trigger(world.poll(1)), counted(v1={"polls": 1}))
case("polls without a version aren't counted", serve(World().origin(0, **EDGE)), start(), trigger(world.poll()), later(), trigger(world.poll()),
     serve(world.origin(1, **EDGE), world.files(1), fresh=True), later(), trigger(world.poll(), *world.downloads(1)), quiet(**EDGE), follows(2, **EDGE), counted(v1={"polls": 2}))

# Whoever else answers.

failed = {"status 500": {"status": 500, "json": world.nothing(1, **EDGE)}, "another code": {"json": world.nothing(1, **EDGE) | {"code": 503}},
          "a torn body": {"json": world.nothing(1, **EDGE), "fault": {"torn": 40}}, "no version": {"json": {"code": 200, "data": {**EDGE, "update": False}}}}
for name, answer in failed.items():
    case(f"a failed poll ({name}) isn't counted", first(**EDGE), serve(poll_rule({}, **answer), fresh=True), [later(), trigger(*tries(world))] * 2, follows(2, **EDGE), counted(v1={"polls": 1}))
fall = [first(**EDGE), serve(world.mirror(1, **EDGE), fresh=True), [later(), trigger(world.poll(1))] * 5, later(37), trigger(world.poll(1)), later(40)]
case("a poll of the static copy isn't counted", fall, trigger(world.copy("version.json")), serve(world.origin(1, **EDGE)), later(33), trigger(world.poll(1)), looks,
     follows(2, **EDGE), counted(v1={"local": 1, "polls": 2}))
case("nor is one that takes its version", fall, serve(world.mirror(2, 1, **EDGE), world.files(2, 1), fresh=True),
     trigger(world.copy("version.json"), world.copy("update/1-2.json"), world.copy("patch/1-2.json"), *world.downloads(2, 1)), world.holds(2),
     serve(world.origin(2, **EDGE)), later(33), trigger(world.poll(2)), follows(3, **EDGE), counted(v1={"polls": 0}, v2={"polls": 2}))

# One poll of several requests.

answer, url = world.with_pack(1, 2, b"no pack", **EDGE)
case("a pack that can't be used, and the patch, are one poll", first(**EDGE), serve(poll_rule({"pack": "1", "version": "1"}, json=answer), rule(url, data=b"no pack"), world.origin(2, 1, **EDGE),
     world.files(2, 1), fresh=True), later(), trigger(world.poll(1), {"url": url, "times": [1, 4]}, world.poll(1, pack=False), *world.downloads(2, 1)), world.holds(2), counted(v1={"polls": 1}),
     rules=["D-41", "D-185"], features=["packs"])
wrong = world.patch(1, 2, **EDGE)
wrong["data"]["digest"] = "0" * 64
case("a patch that leads elsewhere, and the whole manifest, are one poll", first(**EDGE), serve(poll_rule({"patch": "1", "version": "1"}, json=wrong), world.origin(2, **EDGE), world.files(2, 1), fresh=True),
     later(), {"trigger": "launch"}, world.holds(2), counted(v1={"polls": 1}), rules=["D-31", "D-185"])
coded = [one | {"coding": "gzip", "damaged": True} for one in world.origin(2, 1, **EDGE)]
case("an answer whose coded copy is damaged, and the plain one, are one poll", first(**EDGE), serve(coded, world.files(2, 1), fresh=True), later(), {"trigger": "launch"}, world.holds(2),
     counted(v1={"polls": 1}), rules=["D-7", "D-185"])
case("both versions of a rollout are one poll", first(**EDGE), serve(rolling(world, 1, ruling(), **EDGE), world.files(2, 1), fresh=True), later(),
     trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(2, 1)), world.holds(2), later(), trigger(candidate(world.poll(2))),
     later(121), trigger(candidate(world.poll(2))), {"stop": True}, counted(v1={"polls": 1}, v2={"polls": 2}), rules=["D-185", "R-2"], features=["rollouts"])
case("an update that fails has polled, and so has the next one", first(**EDGE), quiet(**EDGE), serve(world.origin(2, 1, **EDGE), fresh=True), later(), {"trigger": "launch"}, world.holds(1),
     serve(world.files(2, 1)), later(), {"trigger": "launch"}, world.holds(2), counted(v1={"polls": 3}), rules=["D-56", "D-185"])
LINE, COUNT = "let two = 2\n", 20_000
during = World()
during.publish({INDEX: "<p>one", APP: "let one"})
during.publish({INDEX: "<p>one", APP: LINE * COUNT})
slow = rule(during.url(2, APP), fill={"text": LINE, "times": COUNT}, fault={"drip": 4096})
case("a poll beside an update's downloads is counted", first(**EDGE), later(), serve(during.origin(2, 1, **EDGE), slow, fresh=True), {"trigger": "launch", "background": True},
     {"arrives": during.url(2, APP), "asks": [during.poll(1), during.url(2, APP)]}, serve(during.origin(2, 1, policy="7", **EDGE),
     rule(ORIGIN + "/policy.json", json={"code": 200, "data": {"version": "7", "intercept": False, "bypass": [], "scripts": []}})), later(), {"trigger": "push", "background": True},
     {"state": {"policy": "7", "version": "1"}, "eventually": True, "within": 40}, {"release": True}, {"state": {"version": "2"}, "eventually": True}, counted(v1={"polls": 2}),
     rules=["D-4", "D-185"])

# Batches.

case("each batch has `polls`, also what is counted after its poll's batch", first(**EDGE), later(), serve(during.origin(2, 1, **EDGE), slow, fresh=True), {"trigger": "launch", "background": True},
     {"arrives": during.url(2, APP), "asks": [during.poll(1), during.url(2, APP)]}, looks, {"release": True}, {"state": {"version": "2"}, "eventually": True}, told(v1={"local": 1, "polls": 1}),
     rules=["D-186"])
case("and one that is made as the app ends", first(**EDGE), quiet(**EDGE), looks, {"stop": True}, start(), follows(2, **EDGE), told(v1={"polls": 2}), rules=["D-186"])
case("and with the first answer that has `edge`, for what was counted before", first(), looks, quiet(**EDGE), looks, follows(2, **EDGE), told(v1={"local": 2, "polls": 2}), rules=["D-186"])
case("where nothing happened there is none with 0 alone", first(**EDGE), quiet(**EDGE), {"stop": True}, {"told": [{"version": "1"}]}, rules=["D-186"])
case("whatever share of the batches the origin wants, 0 is none", first(reports=0, **EDGE), quiet(reports=0, **EDGE), follows(2, **EDGE), follows(3, **EDGE), counted(v1={"polls": 1}, v2={"polls": 1}),
     rules=["D-186"])
case("another process goes on", first(**EDGE), quiet(**EDGE), counted(v1={"polls": 1}), {"kill": True}, start(), quiet(**EDGE), follows(2, **EDGE), counted(v1={"polls": 3}), rules=["D-186"])
lost = Group("a device that went back", [
    serve(poll_rule({"skip": "2"}, world.nothing(2, **EDGE)), world.origin(2, 1, **EDGE), world.files(2, 1), fresh=True), later(), trigger(world.poll(1), *world.downloads(2, 1)), later(),
    *[one for name in "ab" for one in ({"pageOpen": INDEX, "as": name}, ask(INDEX, local("<p>two"), page=name, destination="document"), {"scriptFailed": name})]])
case("a device that went back counts for the version that it is back at", first(**EDGE), lost, trigger(world.poll(1) + "&skip=2"), later(121), trigger(world.poll(1) + "&skip=2"),
     {"stop": True}, counted(v1={"polls": 3}, v2={"polls": 0}),
     features=["healing"])

# What shared caches keep.

kept = World()
for text in ("<p>one", "<p>two", "<p>three"):
    kept.publish({INDEX: text})
wrong = kept.patch(2, 3, **EDGE)
wrong["data"]["digest"] = "0" * 64
book.case("a device that holds a manifest doesn't get the older one that a shared cache keeps for others", ["D-31", "D-187"], serve(kept.origin(2, **EDGE), kept.files(2)), start(),
     trigger(kept.poll(), *kept.downloads(2)), later(), serve(poll_rule({"patch": "1", "version": "2"}, json=wrong), poll_rule({"version": "0"}, json=kept.whole(3, **EDGE)),
     poll_rule({}, json=kept.whole(1, **EDGE)), kept.files(1), kept.files(3), fresh=True), trigger(kept.poll(2), exactly(kept.poll(whole=True)), *kept.downloads(3)), kept.holds(3))

books = [book]
