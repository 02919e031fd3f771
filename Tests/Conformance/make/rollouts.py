"""Rollouts: which of two versions a device follows, what it requests, and what it never sends."""
import hashlib

from world import *
from world import rule as answer_at

book = Book("rollout")
case = book.case

SEED, OTHER = "9f86d081884c7d65", "3fc9b689459d738f"
FILES = {INDEX: "<p>one", APP: "let one"}
NEXT = {INDEX: "<p>two", APP: "let two"}
WHOLE = {"features": ["rollouts"]}


def bucket(install, seed):
    return int.from_bytes(hashlib.sha256(bytes.fromhex(install) + seed.encode()).digest()[:8], "big") % 10_000


# The first of 00…00, 00…01, … in the first 50 buckets of both seeds; for a random id the chance is 1 in 40,000.
EARLY = next(f"{n:032x}" for n in range(2**32) if bucket(f"{n:032x}", SEED) < 50 and bucket(f"{n:032x}", OTHER) < 50)
ID = "000102030405060708090a0b0c0d0e0f"


def rule(share=10_000, version=2, seed=SEED, **members):
    return {"seed": seed, "share": share, "version": str(version), **members}


def origin(world, full, rollout=None, packs=(), wrong=None, **extras):
    """An origin's answers during a rollout: for the candidate with `candidate=1`, otherwise for the full version."""
    query = {"app": "shop", "channel": "online"}
    said = wrong if rollout is None else rollout
    own = {**({} if said is None else {"rollout": said}), **extras}
    sides = [({}, full)] if rollout is None else [({"candidate": "1"}, int(rollout["version"])), ({}, full)]
    rules = []
    for asked, version in sides:
        rules.append(poll_rule(query | asked | held_query(world, version), world.nothing(version, **own)))
        for base in sorted(world.maps):
            if base < version:
                if (base, version) in packs:
                    answer, at = world.with_pack(base, version, packs[base, version], **own)
                    rules += [poll_rule(query | asked | held_query(world, base) | {"pack": "1"}, answer), answer_at(at, data=packs[base, version])]
                rules.append(poll_rule(query | asked | held_query(world, base) | {"patch": "1"}, world.patch(base, version, **own)))
        rules.append(poll_rule(query | asked, world.whole(version, **own) if version else world.nothing(0, **own)))
    # Rules with more parameters come first.
    return sorted(rules, key=lambda one: -len(one.get("query", {})))


def copy_of(world, full, rollout=None, without=(), **extras):
    """The static copy's documents during a rollout."""
    own = {**({} if rollout is None else {"rollout": rollout}), **extras}
    rules = [answer_at(world.copy("version.json"), json=world.nothing(full, **own)), answer_at(world.copy("configure.json"), json=world.whole(full, **own))]
    versions = [full] + ([] if rollout is None else [int(rollout["version"])])
    if rollout is not None and "configure" not in without:
        rules.append(answer_at(world.copy(f"configure/{rollout['version']}.json"), json=world.whole(int(rollout["version"]), **own)))
    for version in versions:
        for base in world.maps:
            if base < version and "patch" not in without:
                rules.append(answer_at(world.copy(f"patch/{base}-{version}.json"), json=world.patch(base, version)))
    return rules


def candidate(poll):
    return poll + "&candidate=1"


def begun(rollout=None, full=1, **settings):
    """A channel with three versions, and steps after which a device has the first and the second is being rolled out."""
    world = World()
    world.publish(FILES)
    world.publish(NEXT)
    world.publish({INDEX: "<p>three", APP: "let three"})
    files = [world.files(1), world.files(2, 1), world.files(3, 2)]
    steps = [serve(world.origin(1), *files), start(**settings), trigger(world.poll(), *world.downloads(1))]
    if rollout is not None:
        steps += [serve(origin(world, full, rollout), *files, fresh=True), later()]
    return world, steps, files


def joined(rollout=None, **settings):
    """As above, with a device that has the candidate."""
    rollout = rollout or rule()
    world, steps, files = begun(rollout, **settings)
    return world, steps + [
        trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(2, 1)), world.holds(2), later()], files


# requests.

world, steps, files = joined()
case("who is in asks again at once, takes the candidate, and goes on asking for it", ["R-2", "R-3"], steps,
     trigger(candidate(world.poll(2))), world.holds(2), later(), trigger(candidate(world.poll(2))), **WHOLE)
world, steps, files = begun(rule(share=0))
case("who is out asks for the full version alone", ["R-2", "R-3"], steps, trigger(world.poll(1)), world.holds(1), later(),
     trigger(world.poll(1)), **WHOLE)
at = bucket(ID, SEED)
for share, is_in in ((at, False), (at + 1, True)):
    world, steps, files = begun(rule(share=share), install=ID)
    asked = [world.poll(1)] + ([candidate(world.poll(1)), *world.downloads(2, 1)] if is_in else [])
    case(f"the bucket {at} is {'in' if is_in else 'out'} with a share of {share}", ["R-2"], steps, trigger(*asked),
         world.holds(2 if is_in else 1), **WHOLE)
world, steps, files = begun(rule(share=50), install=EARLY)
seeds = [serve(origin(world, 1, rule(share=50, version=3, seed=OTHER)), *files, fresh=True), later()]
case("an install id stays with the folder", ["R-1"], steps, trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(2, 1)),
     {"stop": True}, start(), seeds, trigger(candidate(world.poll(2)), *world.downloads(3, 2)), world.holds(3), **WHOLE)
case("also with that of a process that was killed", ["R-1"], steps[:3], {"kill": True}, start(), steps[3:],
     trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(2, 1)), world.holds(2), **WHOLE)
secret = {"appVersion": "4.2.7", "groups": ["qa-seven"], "install": ID}
world, steps, files = joined(rule(share=0, groups=["qa-seven"], app=">=4.2"), **secret)
case("nothing about the device is in its requests", ["R-1"], steps, trigger(candidate(world.poll(2))),
     {"secrets": [ID, b64(bytes.fromhex(ID)), "4.2.7", "qa-seven", str(at)]}, **WHOLE)
world = World()
world.publish(FILES)
world.publish(NEXT)
case("a first start that is in takes nothing of the full version", ["R-2", "R-4"],
     serve(origin(world, 1, rule()), world.files(1), world.files(2, 1)), start(),
     trigger(world.poll(), candidate(world.poll()), *world.downloads(2)), world.holds(2), **WHOLE)
case("a first start that is out takes the full version", ["R-2"],
     serve(origin(world, 1, rule(share=0)), world.files(1), world.files(2, 1)), start(), trigger(world.poll(), *world.downloads(1)),
     world.holds(1), **WHOLE)
world, steps, files = begun(rule())
deaf = [serve([one for one in origin(world, 1, rule()) if "candidate" not in one["query"]], *files, fresh=True)]
case("an origin that doesn't know candidates is asked once more in each poll, and that is no failure", ["R-2", "R-4"], steps, deaf,
     trigger(world.poll(1), candidate(world.poll(1))), *[[later(), trigger(
         {"url": world.poll(1), "times": [0, 1]}, {"url": candidate(world.poll(1)), "times": [1, 2]})] for _ in range(6)],
     world.holds(1), **WHOLE)
world, steps, files = begun(rule(version=3), full=2)
case("who is in takes nothing of a newer full version", ["R-2"], steps,
     trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(3, 1)), world.holds(3), **WHOLE)
packs = {(1, 2): pack(world, 1, 2)[0]}
world, steps, files = begun()
answer, at_pack = world.with_pack(1, 2, packs[1, 2])
case("a pack leads to the candidate", ["R-2"], steps, serve(origin(world, 1, rule(), packs), *files, fresh=True), later(),
     trigger(world.poll(1), candidate(world.poll(1)), at_pack), world.holds(2), features=["rollouts", "packs"])
broken = {(1, 2): pack(world, 1, 2, lambda part, data: data[:-1] + bytes([data[-1] ^ 1]) if part == "changes" else data)[0]}
answer, at_pack = world.with_pack(1, 2, broken[1, 2])
case("where its pack can't be used, the candidate is asked for without", ["R-2"], steps,
     serve(origin(world, 1, rule(), broken), *files, fresh=True), later(),
     trigger(world.poll(1), candidate(world.poll(1)), at_pack, candidate(world.poll(1, pack=False)), *world.downloads(2, 1)),
     world.holds(2), features=["rollouts", "packs"])
wrong = [one for one in origin(world, 1, rule())]
for one in wrong:
    if one["query"].get("candidate") and "patch" in one["query"]:
        one["json"] = {"code": 200, "data": {**one["json"]["data"], "digest": "0" * 64}}
case("where a patch leads elsewhere, the whole candidate is asked for", ["R-2", "D-31"], steps, serve(wrong, *files, fresh=True), later(),
     trigger(world.poll(1), candidate(world.poll(1)), {"url": candidate(world.poll(1, pack=False)), "times": [0, 1]},
             candidate(world.poll(whole=True)), *world.downloads(2, 1)), world.holds(2), **WHOLE)

# a candidate that isn't for this device.

world, steps, files = begun()
pushed = [poll_rule({}, world.patch(1, 2, rollout=rule(share=0))), *files]
case("a candidate's answer that nobody asked for isn't taken", ["R-4"], steps, serve(pushed, fresh=True), later(),
     trigger({"url": world.poll(1), "times": [1, 2]}), world.holds(1), **WHOLE)
answer, at_pack = world.with_pack(1, 2, packs[1, 2], rollout=rule(share=0))
case("nor its pack", ["R-4"], steps, serve(poll_rule({}, answer), answer_at(at_pack, data=packs[1, 2]), fresh=True), later(),
     trigger({"url": world.poll(1), "times": [1, 2]}), world.holds(1), features=["rollouts", "packs"])

# Groups and app versions.

world, steps, files = begun(rule(share=0, groups=["qa", "staff"]), groups=["staff"])
case("a group of the device's is in", ["R-2"], steps, trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(2, 1)),
     world.holds(2), **WHOLE)
world, steps, files = begun(rule(share=0, groups=["qa"]), groups=["qa2", "q"])
case("another group isn't, until the app says so", ["R-2", "R-3"], steps, trigger(world.poll(1)), world.holds(1),
     {"describe": {"groups": ["qa"]}}, later(), trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(2, 1)), world.holds(2),
     **WHOLE)
for app, wanted, is_in in (("4.2.0-rc.1", ">=4.2 <5", False), ("4.10", ">=4.2 <5", True), (None, ">=0", False), ("4.x", ">=0", False),
                          ("4.2.0+77", "<4 || =4.2", True)):
    world, steps, files = begun(rule(app=wanted), appVersion=app)
    asked = [world.poll(1)] + ([candidate(world.poll(1)), *world.downloads(2, 1)] if is_in else [])
    case(f"{app or 'an unknown version'} is {'in' if is_in else 'out'} where {wanted} is asked for", ["R-2"], steps, trigger(*asked),
         world.holds(2 if is_in else 1), **WHOLE)

# a device that is in stays in.

world, steps, files = joined()
less = [serve(origin(world, 1, rule(share=0)), *files, fresh=True)]
case("who holds the candidate stays as the share falls", ["R-5"], steps, less, trigger(candidate(world.poll(2))), world.holds(2),
     later(), trigger(candidate(world.poll(2))), world.holds(2), **WHOLE)
case("also in the next process", ["R-5", "R-3"], steps, {"stop": True}, less, start(), trigger(candidate(world.poll(2))), world.holds(2),
     **WHOLE)
case("also after one that was killed", ["R-5"], steps[:-1], {"kill": True}, less, start(), later(),
     trigger({"url": world.poll(2), "times": [0, 1]}, candidate(world.poll(2))), world.holds(2), **WHOLE)
world, steps, files = joined(rule(share=0, groups=["qa"]), groups=["qa"])
case("who holds the candidate stays as its group goes", ["R-5"], steps, serve(origin(world, 1, rule(share=0)), *files, fresh=True),
     {"describe": {"groups": []}}, trigger(candidate(world.poll(2))), world.holds(2), **WHOLE)
world, steps, files = joined()
case("a candidate that was made again is followed under its seed", ["R-5"], steps,
     serve(origin(world, 1, rule(share=0, version=3)), *files, fresh=True), trigger(candidate(world.poll(2)), *world.downloads(3, 2)),
     world.holds(3), {"stop": True}, start(), later(), trigger(candidate(world.poll(3))), world.holds(3), **WHOLE)
case("another seed decides anew", ["R-5"], steps,
     serve(origin(world, 1, rule(share=0, version=3, seed=OTHER)), *files, fresh=True),
     trigger(candidate(world.poll(2)), {"url": world.poll(2), "times": [1, 1]}), world.holds(1), **WHOLE)
killed = [{"serve": [answer_at(world.url(2, APP), data=world.data[world.url(2, APP)], fault={"kill": 3}, times=1)]}]
world, steps, files = begun(rule())
case("who was killed on the way to the candidate isn't in for that alone", ["R-5"], steps, killed, {"trigger": "launch", "dies": True},
     {"serve": origin(world, 1, rule(share=0)) + flat(files), "fresh": True, "asks": [
         world.poll(1), candidate(world.poll(1)), {"url": world.url(2, INDEX), "times": [0, 1]}, world.url(2, APP)]}, start(), later(),
     trigger({"url": candidate(world.poll(1)), "times": [0, 1]}, world.poll(1)), world.holds(1), **WHOLE)

# the app's version leaves the range.

inside = {"appVersion": "4.2"}
world, steps, files = joined(rule(app=">=4.2 <5"), **inside)
case("whose app leaves the range goes to the full version", ["R-6"], steps, {"describe": {"appVersion": "5.0"}},
     trigger({"url": candidate(world.poll(2)), "times": [0, 1]}, world.poll(2)), world.holds(1), later(), trigger(world.poll(1)),
     world.holds(1), **WHOLE)
case("also by an update of the app", ["R-6"], steps, {"stop": True}, start(appVersion="5.0"),
     trigger({"url": candidate(world.poll(2)), "times": [0, 1]}, world.poll(2)), world.holds(1), **WHOLE)
case("and comes back with it", ["R-6"], steps, {"describe": {"appVersion": "5.0"}},
     trigger({"url": candidate(world.poll(2)), "times": [0, 1]}, world.poll(2)), world.holds(1), {"describe": {"appVersion": "4.9"}}, later(),
     trigger(world.poll(1), candidate(world.poll(1))), world.holds(2), **WHOLE)


def fallen(*asked):
    """Five failed polls lead to the copy; 30 s ±20 % later the origin is polled once more, and then not for 48 s."""
    return [[trigger(*asked), later()] for _ in range(4)] + [trigger(*asked), later(37), trigger(*asked), later()]


def failing(world, held, first=None):
    """Five failed polls of the origin, with the same request as last."""
    return fallen(candidate(world.poll(held)) if first else world.poll(held))


world, steps, files = joined(rule(app=">=4.2 <5"), **inside)
away = [serve(copy_of(world, 1, rule(app=">=4.2 <5")), files, fresh=True), failing(world, 2, True)]
back = {"url": world.copy("update/2-1.json"), "times": [0, 1]}, {"url": world.copy("patch/2-1.json"), "times": [0, 1]}
case("from the copy, too", ["R-6"], steps, away, {"describe": {"appVersion": "5.0"}},
     trigger(world.copy("version.json"), *back, world.copy("configure.json")), world.holds(1), **WHOLE)

# no rule.

world, steps, files = joined()
case("a rollout that was completed leaves the device where it is", ["R-7", "R-3"], steps,
     serve(origin(world, 2), *files, fresh=True), trigger(candidate(world.poll(2))), world.holds(2), later(), trigger(world.poll(2)),
     world.holds(2), **WHOLE)
halted = World()
halted.publish(FILES)
halted.publish(NEXT)
halted.publish(FILES)
case("one that was halted brings the old content back", ["R-7"], steps, serve(origin(halted, 3, rollback="3"), *files, fresh=True),
     trigger(candidate(halted.poll(2))), halted.holds(3), later(), trigger(halted.poll(3)), **WHOLE)
case("a newer full version without a rule is followed", ["R-7"], steps, serve(origin(world, 3), *files, fresh=True),
     trigger(candidate(world.poll(2)), *world.downloads(3, 2)), world.holds(3), **WHOLE)
case("an older one of the origin, too", ["R-7"], steps, serve(origin(world, 1), *files, fresh=True),
     trigger(candidate(world.poll(2))), world.holds(1), **WHOLE)
world, steps, files = joined(rule(app=">=4.2 <5"), **inside)
bare = [serve(copy_of(world, 1), files, fresh=True), failing(world, 2, True)]
case("an older copy without a rule isn't followed", ["R-7"], steps, bare, trigger(world.copy("version.json")), world.holds(2), **WHOLE)
case("but where the app's version has left the last rule's range", ["R-7"], steps, bare, {"describe": {"appVersion": "5.0"}},
     trigger(world.copy("version.json"), *back, world.copy("configure.json")), world.holds(1), **WHOLE)

# the copy.

world, steps, files = begun()
away = [serve(copy_of(world, 1, rule()), files, fresh=True), later(), failing(world, 1)]
updates = {"url": world.copy("update/1-2.json"), "times": [0, 1]}
case("on the copy, who is in takes the candidate's documents", ["R-8"], steps, away,
     trigger(world.copy("version.json"), updates, world.copy("patch/1-2.json"), *world.downloads(2, 1)), world.holds(2), later(),
     {"stop": True}, start(), serve(copy_of(world, 1, rule(share=0)), files, fresh=True),
     trigger({"url": world.copy("version.json"), "times": [0, 1]}, {"url": world.poll(2), "times": [0, 1]}, {
         "url": candidate(world.poll(2)), "times": [0, 1]}), world.holds(2), **WHOLE)
case("without a patch the whole candidate", ["R-8"], steps, serve(copy_of(world, 1, rule(), without=["patch"]), files, fresh=True), later(),
     failing(world, 1), trigger(world.copy("version.json"), updates, {"url": world.copy("patch/1-2.json"), "times": [1, 1]},
                                world.copy("configure/2.json"), *world.downloads(2, 1)), world.holds(2), **WHOLE)
case("and no others", ["R-8"], steps, serve(copy_of(world, 1, rule(), without=["patch", "configure"]), files, fresh=True), later(),
     failing(world, 1), trigger(world.copy("version.json"), updates, world.copy("patch/1-2.json"), world.copy("configure/2.json")),
     world.holds(1), never=[world.copy("configure.json")], **WHOLE)
answer, at_pack = world.with_pack(1, 2, packs[1, 2])
case("or its pack", ["R-8"], steps, serve(copy_of(world, 1, rule()), answer_at(world.copy("update/1-2.json"), json=answer),
     answer_at(at_pack, data=packs[1, 2]), files, fresh=True), later(), failing(world, 1),
     trigger(world.copy("version.json"), world.copy("update/1-2.json"), at_pack), world.holds(2), features=["rollouts", "packs"])
case("who is out takes the full version's", ["R-8", "R-4"], steps, serve(copy_of(world, 2, rule(share=0, version=3)), files, fresh=True), later(),
     failing(world, 1), trigger(world.copy("version.json"), updates, world.copy("patch/1-2.json"), *world.downloads(2, 1)), world.holds(2),
     **WHOLE)
world = World()
world.publish(FILES)
world.publish(NEXT)
case("a first start on the copy, too", ["R-8"], serve(copy_of(world, 1, rule()), world.files(1), world.files(2, 1)), start(),
     fallen(world.poll()),
     trigger(world.copy("version.json"), world.copy("configure/2.json"), *world.downloads(2)), world.holds(2), **WHOLE)

# the app leaves the candidate.

world, steps, files = joined()
gone = [{"leaveCandidate": True}, trigger({"url": candidate(world.poll(2)), "times": [0, 1]}, world.poll(2)), world.holds(1), later()]
case("who leaves the candidate goes to the full version, and stays out", ["R-9"], steps, gone, trigger(world.poll(1)), world.holds(1),
     {"describe": {"groups": ["qa"]}}, serve(origin(world, 1, rule(groups=["qa"])), *files, fresh=True), later(), trigger(world.poll(1)),
     world.holds(1), **WHOLE)
case("also in the next process", ["R-9"], steps, gone, {"stop": True}, start(), trigger(world.poll(1)), world.holds(1), **WHOLE)
case("also one that was killed before the poll", ["R-9"], steps, {"leaveCandidate": True}, {"kill": True}, start(),
     trigger({"url": candidate(world.poll(2)), "times": [0, 1]}, world.poll(2)), world.holds(1), later(), trigger(world.poll(1)), **WHOLE)
case("until a rollout with another seed", ["R-9"], steps, gone, serve(origin(world, 1, rule(version=3, seed=OTHER)), *files, fresh=True),
     trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(3, 2)), world.holds(3), **WHOLE)
world, steps, files = joined()
case("from the copy, too", ["R-9"], steps, {"leaveCandidate": True}, serve(copy_of(world, 1, rule()), files, fresh=True),
     fallen({"url": world.poll(2), "times": [0, 1]}, {"url": candidate(world.poll(2)), "times": [0, 1]}),
     trigger(world.copy("version.json"), *back, world.copy("configure.json")), world.holds(1), **WHOLE)

# invalid rules.

for name, wrong in (("a share above all", rule(share=10_001)), ("a share that is a text", rule(share="500")),
                    ("no seed", {"share": 1, "version": "2"}), ("a seed of other characters", rule(seed="a b")),
                    ("groups in another order", rule(groups=["qa", "a"])), ("an empty list of groups", rule(groups=[])),
                    ("a range that is none", rule(app=">4 5")), ("no version", {"seed": SEED, "share": 1}), ("no object", "2")):
    world, steps, files = begun()
    told = [{"url": world.poll(1), "times": [1, 3]}, {"url": world.poll(1, pack=False), "times": [0, 1]}, {"url": world.poll(whole=True), "times": [0, 1]}]
    case(f"an answer with {name} is a failed poll", ["R-10"], steps,
         serve(origin(world, 1, wrong=wrong), copy_of(world, 1), *files, fresh=True), later(), fallen(*told),
         world.holds(1), trigger(world.copy("version.json")), **WHOLE)
world, steps, files = begun()
switch = {"code": 200, "data": {"bypass": [], "intercept": False, "scripts": [], "version": "3"}}
case("the policy that it names is followed all the same", ["R-10", "D-99"], steps,
     serve(poll_rule({}, world.nothing(1, policy="3", rollout=rule(share=-1))), answer_at(ORIGIN + "/policy.json", json=switch), *files, fresh=True),
     later(), trigger({"url": world.poll(1), "times": [1, 3]}, {"url": world.poll(1, pack=False), "times": [0, 1]}, {
         "url": world.poll(whole=True), "times": [0, 1]}, ORIGIN + "/policy.json?app=shop&channel=online"), {"state": {"version": "1", "policy": "3"}},
     ask(INDEX, "network"), **WHOLE)
world, steps, files = begun()
case("members of a rule that aren't known are passed over", ["R-2", "D-8"], steps,
     serve(origin(world, 1, rule(tomorrow={"a": [1]})), *files, fresh=True), later(),
     trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(2, 1)), world.holds(2), **WHOLE)

# Outdated copies.

world, steps, files = begun(rule(share=0))
case("a copy from before a rollout was completed takes nothing back", ["R-7", "D-14"], steps, trigger(world.poll(1)),
     serve(origin(world, 2), *files, fresh=True), later(), trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2),
     serve(copy_of(world, 1, rule(share=0)), files, fresh=True), later(), failing(world, 2), trigger(world.copy("version.json")),
     world.holds(2), **WHOLE)
world, steps, files = begun(rule(share=0, app=">=4"), appVersion="5")
case("nor does one without a rule, from a device that was out", ["R-7", "D-14"], steps, trigger(world.poll(1)),
     serve(origin(world, 2, rule(share=0, app=">=4", version=3)), *files, fresh=True), later(), trigger(world.poll(1), *world.downloads(2, 1)),
     {"describe": {"appVersion": "3"}}, serve(copy_of(world, 1), files, fresh=True), later(), failing(world, 2),
     trigger(world.copy("version.json")), world.holds(2), **WHOLE)

world, steps, files = begun()
told = [{"url": world.poll(1), "times": [1, 3]}, {"url": world.poll(1, pack=False), "times": [0, 1]}, {"url": world.poll(whole=True), "times": [0, 1]}]
case("an answer with a prefetch config that is no version is a failed poll", ["R-10"], steps,
     serve(origin(world, 1, wrong=rule(prefetch=2)), copy_of(world, 1), *files, fresh=True), later(), fallen(*told),
     world.holds(1), trigger(world.copy("version.json")), **WHOLE)

# the candidate's prefetch config.

GET = "https://m.test/api/info"


def plan(version, api=GET):
    entry = {"url": INDEX, "interfaces": [{"api": api, "method": "GET"}]}
    return {"code": 200, "data": {"config": [entry], "name": "prefetchConfig", "version": str(version)}}


def plans(*versions, channel=1):
    """The channel's config, and those of candidates, whose calls contain their version."""
    at = ORIGIN + "/prefetchConfig"
    return [answer_at(at, query={"version": str(version)}, json=plan(version, f"{GET}/{version}")) for version in versions] + [
        answer_at(at, json=plan(channel))]


def sends(api=GET):
    return {"prefetch": INDEX, "expect": [{"method": "GET", "url": api}]}


CHANNELS = ORIGIN + "/prefetchConfig?app=shop&channel=online"


def planned(rollout=None, *versions, **settings):
    """A device with version 1 and the channel's config 1; then a rollout starts."""
    world, _, files = begun()
    return world, [serve(world.origin(1, prefetch="1"), *files, *plans()), start(**settings), trigger(world.poll(), *world.downloads(1), CHANNELS),
                   serve(origin(world, 1, rollout or rule(prefetch="2"), prefetch="1"), *files, *plans(*(versions or [2])), fresh=True), later()], files


def its(version):
    return f"{CHANNELS}&version={version}"


def follows(world, version=2):
    return trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(2, 1), its(version))


world, steps, files = planned()
case("who is in follows the candidate's prefetch config", ["R-11"], steps, follows(world), {"state": {"version": "2", "prefetch": "2"}},
     sends(GET + "/2"), later(), trigger(candidate(world.poll(2))), sends(GET + "/2"), **WHOLE)
case("also in the next process", ["R-11"], steps, follows(world), {"stop": True}, start(), sends(GET + "/2"), later(),
     trigger(candidate(world.poll(2))), sends(GET + "/2"), **WHOLE)
case("an answer without a rule takes it back", ["R-11"], steps, follows(world), serve(origin(world, 3, prefetch="1"), *files, *plans(), fresh=True),
     later(), trigger(candidate(world.poll(2)), *world.downloads(3, 2)), {"state": {"version": "3", "prefetch": "1"}}, sends(), **WHOLE)
case("a rule that names none, too", ["R-11"], steps, follows(world), serve(origin(world, 1, rule(), prefetch="1"), *files, *plans(), fresh=True),
     later(), trigger(candidate(world.poll(2))), {"state": {"version": "2", "prefetch": "1"}}, sends(), **WHOLE)
case("the one that the rule names, whatever its number", ["R-11"], planned(rule(prefetch="5"), 5)[1], follows(world, 5), sends(GET + "/5"),
     serve(origin(world, 1, rule(prefetch="3"), prefetch="1"), *files, *plans(3), fresh=True), later(),
     trigger(candidate(world.poll(2)), its(3)), sends(GET + "/3"), **WHOLE)
case("a completed rollout's is the channel's", ["R-11", "D-95"], steps, follows(world),
     serve(origin(world, 2, prefetch="2"), *files, *plans(channel=2), fresh=True), later(), trigger(candidate(world.poll(2))),
     {"state": {"version": "2", "prefetch": "2"}}, sends(GET + "/2"), {"stop": True}, start(), sends(GET + "/2"), later(),
     trigger({"url": candidate(world.poll(2)), "times": [0, 1]}, {"url": world.poll(2), "times": [0, 1]}), **WHOLE)
world, steps, files = planned(rule(share=0, prefetch="2"))
case("who is out doesn't ask for it", ["R-11"], steps, trigger(world.poll(1)), {"state": {"version": "1", "prefetch": "1"}}, sends(), **WHOLE)
world, steps, files = planned(rule(prefetch="2"), 9)
case("another one than the rule names isn't taken, and asked for again", ["R-11", "D-98"], steps, follows(world), world.holds(2), sends(), later(),
     trigger(candidate(world.poll(2)), its(2)), sends(), serve(*plans(2)), later(), trigger(candidate(world.poll(2)), its(2)), sends(GET + "/2"),
     **WHOLE)
world, steps, files = planned()
copied = [answer_at(world.copy("prefetchConfig/2.json"), json=plan(2, GET + "/2")), answer_at(world.copy("prefetchConfig.json"), json=plan(1))]
case("from the copy, too", ["R-11", "R-8"], steps[:-2], serve(copy_of(world, 1, rule(prefetch="2"), prefetch="1"), *copied, files, fresh=True), later(),
     failing(world, 1), trigger(world.copy("version.json"), {"url": world.copy("update/1-2.json"), "times": [0, 1]}, world.copy("patch/1-2.json"),
                                *world.downloads(2, 1), world.copy("prefetchConfig/2.json")), {"state": {"version": "2", "prefetch": "2"}},
     sends(GET + "/2"), **WHOLE)
case("one without a rule that has a newer config, too", ["R-11"], steps, follows(world),
     serve(copy_of(world, 2, prefetch="3"), answer_at(world.copy("prefetchConfig.json"), json=plan(3)), files, fresh=True), later(),
     failing(world, 2, candidate(world.poll(2))), trigger(world.copy("version.json"), world.copy("prefetchConfig.json")),
     {"state": {"version": "2", "prefetch": "3"}}, sends(), **WHOLE)
case("one without a rule that has a newer version takes it back", ["R-11", "R-7"], steps, follows(world),
     serve(copy_of(world, 3, prefetch="1"), *copied, files, fresh=True), later(), failing(world, 2, candidate(world.poll(2))),
     trigger(world.copy("version.json"), {"url": world.copy("update/2-3.json"), "times": [0, 1]}, world.copy("patch/2-3.json"),
             *world.downloads(3, 2)), {"state": {"version": "3", "prefetch": "1"}}, sends(), **WHOLE)
world, steps, files = planned()
case("who has no candidate yet follows the channel's", ["R-11"], steps[:-2], serve(origin(world, 1, rule(prefetch="2"), prefetch="1"), *plans(2), fresh=True),
     later(), trigger(world.poll(1), candidate(world.poll(1)), *[{"url": url, "times": [1, 9]} for url in world.downloads(2, 1)], its(2)),
     world.holds(1), sends(), **WHOLE)

# Evidence.

LATE = next(f"{n:032x}" for n in range(2**32) if bucket(f"{n:032x}", SEED) >= 9_950 and bucket(f"{n:032x}", OTHER) >= 9_950)
COUNTED = {"features": ["rollouts", "evidence"]}
HALF = rule(share=5000)


def opens(name, text="two", url=INDEX):
    return [{"pageOpen": url, "as": name}, ask(url, local(f"<p>{text}"), page=name, destination="document")]


def up(name, text="two"):
    return [opens(name, text), {"pageUp": name}]


def bad(name, text="two"):
    return [opens(name, text), {"scriptFailed": name}]


def known(arm="candidate", opened=1, failed=0, version=2, **members):
    return {"arm": arm, "failed": failed, "opened": opened, "version": str(version), **members}


def told(*reports):
    return {"evidence": list(reports)}


def at_last(*reports):
    """What was told when the process has ended."""
    return [{"stop": True}, told(*reports)]


def control(share=50, install=LATE, **members):
    """A device of control that has polled."""
    world, steps, files = begun(rule(share=share, **members.pop("rule", {})), install=install, **members)
    return world, [steps, trigger(world.poll(1)), world.holds(1), later()], files


def polls(world, version=1, **members):
    return [later(), trigger(world.poll(version), **members)]


def counted(name, rules, *steps, features=()):
    case(name, rules, *steps, features=COUNTED["features"] + list(features))


HELD = known("control")
FAILED = known(opened=0, failed=1, age=0)
LOST = known("control", opened=0, failed=1, age=0)
world, in_it, files = joined(HALF, install=EARLY)
again = [later(), trigger(candidate(world.poll(2)))]
counted("a device of the candidate's arm has opened with its first page after the switch", ["D-162", "D-163", "D-165"], in_it, up("a"), told(known()), up("b"), again, up("c"),
        at_last(known()))
outer, out_of_it, _ = control()
counted("one of control with its first page after the poll", ["D-162", "D-163", "D-165"], out_of_it, up("a", "one"), told(HELD), up("b", "one"), polls(outer), up("c", "one"), at_last(HELD))
first, before, _ = begun(HALF, install=EARLY)
counted("no page, or one from before the poll", ["D-162"], before[:3], up("a", "one"), before[3:], trigger(first.poll(1), candidate(first.poll(1)), *first.downloads(2, 1)), later(),
        trigger(candidate(first.poll(2))), at_last())
counted("a page of the full version says nothing in the candidate's arm", ["D-162"], before[:3], serve(origin(first, 1, HALF), fresh=True), later(),
        trigger(first.poll(1), candidate(first.poll(1)), *[{"url": url, "times": [0, 9]} for url in first.downloads(2, 1)]), up("a", "one"), bad("b", "one"), at_last())
counted("a page that isn't listed", ["D-162"], out_of_it, {"pageOpen": SITE + "/other.html", "as": "a"}, ask(SITE + "/other.html", "network", page="a", destination="document"),
        {"scriptFailed": "a"}, at_last())
counted("a request that is no page's document", ["D-162"], out_of_it, {"pageOpen": INDEX, "as": "a"}, ask(APP, local("let one"), page="a", destination="script"), at_last())
_, between, _ = control(install=ID)
counted("a device between the arms", ["D-163"], between, up("a", "one"), bad("b", "one"), at_last())
counted("with a share above one half control is what is left", ["D-163"], control(share=9000)[1], up("a", "one"), at_last(HELD))
counted("a paused rollout has no arms", ["D-163"], control(share=0)[1], up("a", "one"), at_last())
_, member, _ = joined(rule(share=50, groups=["qa"]), install=LATE, groups=["qa"])
counted("a member of a group", ["D-163"], member, up("a"), bad("b"), at_last())
counted("also one whose bucket is in", ["D-163"], joined(rule(share=50, groups=["qa"]), install=EARLY, groups=["qa"])[1], up("a"), bad("b"), at_last())
counted("an app outside of the range", ["D-163"], control(appVersion="3.9", rule={"app": ">=4"})[1], up("a", "one"), at_last())
counted("an unknown app version", ["D-163"], control(rule={"app": ">=4"})[1], up("a", "one"), at_last())
counted("one that has left the candidate", ["D-163"], in_it, {"leaveCandidate": True}, up("a"), at_last())

counted("a page that fails", ["D-164"], in_it, up("a"), told(known()), bad("b"), told(known(), FAILED), again, up("c"), bad("d"), at_last(known(), FAILED))
counted("also the first one, and in control", ["D-164"], out_of_it, bad("a", "one"), bad("b", "one"), at_last(HELD, LOST))
counted("hours later", ["D-164", "D-166"], out_of_it, up("a", "one"), told(HELD), later(3.5 * 3600), bad("b", "one"), at_last(HELD, {**LOST, "age": 3}))
counted("a day later", ["D-164"], out_of_it, up("a", "one"), told(HELD), later(24 * 3600), bad("b", "one"), at_last(HELD))
counted("a page that is opened a moment before that, and fails after it", ["D-164"], out_of_it, up("a", "one"), told(HELD), later(24 * 3600 - 1), opens("b", "one"), later(5), {"scriptFailed": "b"},
        at_last(HELD, {**LOST, "age": 24}))
counted("a clock that was set back", ["D-130", "D-164"], out_of_it, up("a", "one"), told(HELD), later(-3600), bad("b", "one"), at_last(HELD))
ends = [{"state": {"version": "1"}}, told(HELD), {"kill": True}, start(), later()]
counted("a process that ends while its first page loads", ["D-164", "D-166"], out_of_it, opens("a", "one"), ends, trigger(outer.poll(1)), told(HELD, LOST), up("b", "one"), at_last(HELD, LOST))
counted("not one that was asked to", ["D-164"], out_of_it, opens("a", "one"), told(HELD), {"stop": True}, start(), later(), trigger(outer.poll(1)), at_last(HELD))
counted("nor one whose page had come up", ["D-164"], out_of_it, up("a", "one"), ends, trigger(outer.poll(1)), at_last(HELD))
counted("nor one of the day before", ["D-164"], out_of_it, up("a", "one"), told(HELD), {"stop": True}, later(25 * 3600), start(), opens("b", "one"), ends, trigger(outer.poll(1)), at_last(HELD))

asks_network = [{"pageOpen": INDEX, "as": "c"}, ask(INDEX, "network", page="c", destination="document")]
lost, of_control, _ = begun(rule(share=50), install=LATE)
counted("a page that is passed on since it fails in any version", ["D-162", "D-164"], of_control[:3], bad("a", "one"), bad("b", "one"), of_control[3:], trigger(lost.poll(1)), asks_network,
        at_last({**HELD, "failed": 1}))
counted("a page from before the first one", ["D-164"], of_control[:3], opens("old", "one"), of_control[3:], trigger(lost.poll(1)), later(), up("a", "one"), told(HELD), {"scriptFailed": "old"},
        at_last(HELD))
counted("a device that goes back as its app says", ["D-164"], joined(HALF, install=EARLY, proofDelay=60_000)[1], up("a"), told(known()), {"reject": True}, told(known(), FAILED), up("b", "one"), bad("c", "one"), at_last(known(), FAILED),
        features=["healing"])
counted("one whose app says so before any page has come", ["D-162", "D-164"], in_it, {"reject": True}, up("b", "one"), bad("c", "one"), at_last(), features=["healing"])
counted("one that goes back as its pages fail has failed once", ["D-164", "D-165"], in_it, bad("a"), bad("b"), world.holds(1), up("c", "one"), at_last(known(), FAILED), features=["healing"])

paused = [serve(origin(outer, 1, rule(share=0)), files, fresh=True), polls(outer)]
counted("the arm stays while the share falls", ["D-163"], out_of_it, up("a", "one"), told(HELD), paused, bad("b", "one"), at_last(HELD, LOST))
counted("and while it rises", ["D-163"], out_of_it, up("a", "one"), told(HELD), serve(origin(outer, 1, rule(share=9_900)), files, fresh=True), polls(outer), bad("b", "one"), at_last(HELD, LOST))
counted("the candidate's failures aren't control's", ["D-164"], out_of_it, up("a", "one"), told(HELD), serve(origin(outer, 1, rule()), files, fresh=True), later(),
        trigger(outer.poll(1), candidate(outer.poll(1)), *outer.downloads(2, 1)), bad("b"), at_last(HELD))
counted("who has taken the candidate stays in its arm", ["D-163"], in_it, up("a"), told(known()), serve(origin(world, 1, rule(share=0)), files, fresh=True), again, bad("b"), at_last(known(), FAILED))
counted("who holds it though the share fell has none", ["D-163"], in_it, serve(origin(world, 1, rule(share=bucket(EARLY, SEED))), files, fresh=True), again, up("a"), bad("b"), at_last())
held_back = [serve(origin(world, 1, rule(share=0)), files, fresh=True), again]
counted("a pause changes nothing about the arms: the candidate's", ["D-163"], in_it, held_back, up("a"), told(known()), bad("b"), at_last(known(), FAILED))
counted("and control's, also after a start", ["D-163"], out_of_it, paused, {"stop": True}, start(), polls(outer), up("a", "one"), told(HELD), bad("b", "one"), at_last(HELD, LOST))
counted("another rollout's share isn't this one's", ["D-163"], out_of_it, serve(origin(outer, 1, rule(share=0, seed=OTHER)), files, fresh=True), polls(outer), up("a", "one"), bad("b", "one"), at_last())
counted("nor that of one that ended", ["D-163"], out_of_it, serve(origin(outer, 1, None), files, fresh=True), polls(outer), serve(origin(outer, 1, rule(share=0)), files, fresh=True), polls(outer),
        up("a", "one"), bad("b", "one"), at_last())

remade = [serve(origin(world, 1, rule(share=5000, version=3)), world.files(3, 2), fresh=True), later(), trigger(candidate(world.poll(2)), *world.downloads(3, 2)), world.holds(3)]
counted("a candidate that is made again is the same rollout", ["D-165"], in_it, up("a"), told(known()), remade, up("b", "three"), bad("c", "three"), at_last(known(), {**FAILED, "version": "3"}))
renewed = [serve(origin(world, 1, rule(share=5000, version=3, seed=OTHER)), world.files(3, 2), fresh=True), later(), trigger(candidate(world.poll(2)), *world.downloads(3, 2)), world.holds(3)]
counted("another rollout counts anew", ["D-165"], in_it, bad("a"), told(known(), FAILED), renewed, up("b", "three"), at_last(known(), FAILED, known(version=3)))
counted("the next process knows what was told", ["D-165"], in_it, up("a"), told(known()), {"stop": True}, start(), later(), trigger(candidate(world.poll(2))), up("b"), bad("c"), {"stop": True},
        start(), later(), trigger(candidate(world.poll(2))), bad("d"), at_last(known(), FAILED))
counted("also after one that was killed", ["D-165"], in_it, up("a"), told(known()), {"kill": True}, start(), later(), trigger(candidate(world.poll(2))), up("b"), at_last(known()))
counted("a rollout that has ended", ["D-162"], out_of_it, serve(origin(outer, 1), files, fresh=True), polls(outer), up("a", "one"), at_last())

counted("whatever share of the counts the origin wants", ["D-166"], out_of_it[:1], serve(origin(outer, 1, rule(share=50), reports=0), files, fresh=True), out_of_it[1:], bad("a", "one"), at_last(HELD, LOST))
offline, online = {"conditions": {"network": "offline"}}, {"conditions": {"network": "unmetered"}}
counted("offline it is told later", ["D-166"], out_of_it, offline, up("a", "one"), told(), later(2 * 3600), online, trigger(outer.poll(1)), at_last({**HELD, "age": 2}))
counted("the failure with it", ["D-166"], out_of_it, offline, bad("a", "one"), online, polls(outer), at_last({**HELD, "failed": 1}))
counted("but not days later", ["D-166"], out_of_it, offline, up("a", "one"), later(25 * 3600), online, trigger(outer.poll(1)), up("b", "one"), at_last())
counted("by another process", ["D-165", "D-166"], out_of_it, offline, bad("a", "one"), {"kill": True}, start(), told(), polls(outer), at_last({**HELD, "failed": 1}))
counted("an origin that doesn't answer is told later", ["D-166"], out_of_it, serve(fresh=True), polls(outer), up("a", "one"), told(), serve(origin(outer, 1, rule(share=50)), fresh=True), later(75),
        trigger(outer.poll(1)), at_last(HELD))

world, steps, files = joined()
case("`candidate` comes after everything else", ["D-187", "R-3"], steps, trigger(exactly(candidate(world.poll(2)))), **WHOLE)

books = [book]
