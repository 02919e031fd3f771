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
             candidate(world.poll()), *world.downloads(2, 1)), world.holds(2), **WHOLE)

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
    told = [{"url": world.poll(1), "times": [1, 3]}, {"url": world.poll(1, pack=False), "times": [0, 1]}, {"url": world.poll(), "times": [0, 1]}]
    case(f"an answer with {name} is a failed poll", ["R-10"], steps,
         serve(origin(world, 1, wrong=wrong), copy_of(world, 1), *files, fresh=True), later(), fallen(*told),
         world.holds(1), trigger(world.copy("version.json")), **WHOLE)
world, steps, files = begun()
switch = {"code": 200, "data": {"bypass": [], "intercept": False, "scripts": [], "version": "3"}}
case("the policy that it names is followed all the same", ["R-10", "D-99"], steps,
     serve(poll_rule({}, world.nothing(1, policy="3", rollout=rule(share=-1))), answer_at(ORIGIN + "/policy.json", json=switch), *files, fresh=True),
     later(), trigger({"url": world.poll(1), "times": [1, 3]}, {"url": world.poll(1, pack=False), "times": [0, 1]}, {
         "url": world.poll(), "times": [0, 1]}, ORIGIN + "/policy.json?app=shop&channel=online"), {"state": {"version": "1", "policy": "3"}},
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
told = [{"url": world.poll(1), "times": [1, 3]}, {"url": world.poll(1, pack=False), "times": [0, 1]}, {"url": world.poll(), "times": [0, 1]}]
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

books = [book]
