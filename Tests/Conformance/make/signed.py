"""Trust: what a device of an app with a root takes, asks for and says. The documents are those of Tests/Conformance/trust."""
import io, os, sys, zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../trust"))
import trust  # noqa: E402
from policies import KEY, SCRIPT, sign  # noqa: E402
from rollouts import candidate, origin as rolling, rule as rollout  # noqa: E402
from signing import KEYS, envelope, ids  # noqa: E402
from world import *  # noqa: E402

book = Book("trust")
case = book.case

# Cases begin at this time, by which everything here is signed.
NOW, HOUR, DAY = 1_800_000_000_000, 3_600_000, 86_400_000
PAY, BANK = SITE + "/pay/index.html", "https://bank.test/index.html"
TOP, TOP_OF_COPY = ORIGIN + "/xcache/shop/", MIRROR + "/xcache/shop/"
HEAD, POLICY, PREFETCH = TOP + "head.json", ORIGIN + "/policy.json?app=shop&channel=online", ORIGIN + "/prefetchConfig?app=shop&channel=online"


def root_url(number, top=TOP):
    return f"{top}root/{number}.json"


def of(text, owner="home", **members):
    return text, {"bundle": owner, **members}


FILES = {INDEX: of("<p>one"), APP: of("let one"), PAY: of("<p>pay", "pay")}
NEXT = FILES | {INDEX: of("<p>two")}
THIRD = FILES | {INDEX: of("<p>three"), PAY: of("<p>pay three", "pay")}


# Documents.

def root_value(number=1, **members):
    value = {
        "app": "shop", "heads": ids("head", "ci head"), "number": str(number), "prefetch": ids("publisher"),
        "releases": [
            {"bundles": ["*"], "channels": ["*"], "keys": ids("publisher"), "prefixes": [SITE + "/"], "threshold": 1},
            {"bundles": ["pay*"], "channels": ["online"], "keys": ids("second", "team"), "prefixes": [SITE + "/pay/"], "threshold": 2}],
        "roots": {"keys": ids("root a", "root b"), "threshold": 1}} | members
    used = set(value["heads"] + value["prefetch"] + value["roots"]["keys"] + [one for each in value["releases"] for one in each["keys"]])
    return {"keys": {one.id: b64(one.spki) for one in KEYS.values() if one.id in used}} | value


def root(number=1, *signers, **members):
    return envelope("root", root_value(number, **members), *(signers or ("root a",)))


ROOT = root()
# Roots that leave out a key each: the way out after it was stolen.
NO_PUBLISHER = {"prefetch": ids("new publisher"), "releases": [
    {"bundles": ["*"], "channels": ["*"], "keys": ids("new publisher"), "prefixes": ["*"], "threshold": 1}]}
NO_HEAD = {"heads": ids("new head")}


class Signed(World):
    """A channel whose publisher signs."""

    def content(self, version, owner):
        return {url: entry for url, entry in self.maps[version].items() if entry.get("bundle") == owner}

    def owners(self, version, base=None):
        """The bundles that changed since `base`."""
        every = sorted({entry.get("bundle", "") for entry in self.maps[version].values()} - {""})
        return [one for one in every if base is None or self.content(version, one) != self.content(base, one)]

    def release(self, version, owner, *signers, **members):
        value = {"app": "shop", "bundle": owner, "channels": ["online", "test"], "content": trust.digest(trust.content(self.content(version, owner))),
                 "serial": NOW + version} | members
        return envelope("release", value, *(signers or ("publisher",)))

    def releases(self, version, base=None, *signers, **members):
        return [self.release(version, one, *signers, **members) for one in self.owners(version, base)]

    def head(self, number, *signers, at=None, **members):
        at = NOW + 1000 * number if at is None else at
        value = {"app": "shop", "at": at, "channel": "online", "digest": self.digest(number), "until": at + 30 * DAY, "version": str(number)} | members
        return envelope("head", value, *(signers or ("head",)))

    def answers(self, version, base=None, number=1, head=None, releases=None, every=None, **extras):
        """An origin's answers; `releases` are the statements in a patch, `every` those in a whole manifest."""
        query = {"app": self.app, "channel": self.channel}
        own = {"root": str(number), **extras}
        head = {"head": self.head(version) if head is None else head} if head is not False else {}
        every = (self.releases(version) if every is None and releases is None else releases) if every is None else every
        releases = self.releases(version, base) if releases is None else releases
        rules = [poll_rule(query | held_query(self, version), self.nothing(version, **own))]
        if base is not None:
            rules.append(poll_rule(query | held_query(self, base) | {"patch": "1"}, self.patch(base, version, **own, trust={**head, "releases": releases})))
        return rules + [poll_rule(query, self.whole(version, **own, trust={**head, "releases": every}))]

    def on_copy(self, version, base=None, number=1, head=None, **extras):
        """A static copy's documents."""
        own = {"root": str(number), **extras}
        head = self.head(version) if head is None else head
        rules = [rule(self.copy("version.json"), json=self.nothing(version, **own)),
                 rule(self.copy("configure.json"), json=self.whole(version, **own, trust={"head": head, "releases": self.releases(version)}))]
        if base is not None:
            rules.append(rule(self.copy(f"patch/{base}-{version}.json"), json=self.patch(
                base, version, **own, trust={"head": head, "releases": self.releases(version, base)})))
        return rules


def signed(*maps):
    world = Signed()
    for files in maps or (FILES, NEXT, THIRD):
        world.publish(files)
    return world


world = signed()
GETS = [serve(world.answers(1), world.files(1)), start(root=ROOT), trigger(world.poll(), *world.downloads(1))]
# A device that holds the first version, and what it does until its next poll.
held = Group("holds version 1 of the channel", flat([GETS, later()]))
keeps = [world.holds(1), ask(INDEX, local("<p>one"), asks=[])]
two = [world.files(2, 1), world.files(3, 1)]
takes_two = [serve(world.answers(2, 1), two, fresh=True), later(), trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2),
             ask(INDEX, local("<p>two"), asks=[])]


def served(number, document, top=TOP):
    return rule(root_url(number, top), json=document)


def asked_whole(world=world, held=1):
    return [world.poll(held), world.poll(whole=True)]


def refused(name, rules, answers, asks, *more, after=None):
    """An update that fails the check changes nothing, fetches nothing, and keeps the device from nothing that comes after it."""
    case(name, rules, held, serve(answers, two, *more, fresh=True), trigger(*asks), keeps, takes_two if after is None else after)


# What is taken.

case("the first manifest, with a head and a statement for each bundle", ["T-1"], GETS, world.holds(1), ask(INDEX, local("<p>one")), ask(PAY, local("<p>pay")))
case("an update needs the statements of the bundles that changed", ["T-1", "T-11"], held, serve(world.answers(2, 1), two, fresh=True),
     trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2), ask(INDEX, local("<p>two")))
case("those of the others are there also after a restart", ["T-11"], held, {"stop": True}, start(root=ROOT), takes_two[0],
     trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2))
case("and in a process that follows one that was killed", ["T-11"], held, {"kill": True}, start(root=ROOT), takes_two[0],
     trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2))
by_team = [world.release(1, "home"), world.release(1, "pay", "team", "second")]
case("a bundle that two of a team have signed", ["T-1"], serve(world.answers(1, every=by_team), world.files(1)), start(root=ROOT),
     trigger(world.poll(), *world.downloads(1)), world.holds(1))
crowd = [envelope("release", json.loads(base64.b64decode(one["payload"])), "thief", "publisher", "head") for one in world.releases(1)]
case("signatures that don't count do no harm", ["T-1"], serve(world.answers(1, every=crowd, head=world.head(1, "thief", "head")), world.files(1)), start(root=ROOT),
     trigger(world.poll(), *world.downloads(1)), world.holds(1))
idle = signed({INDEX: of("<p>one")}, {APP: of("let it", "shop")})
case("a bundle leaves, and another one comes", ["T-1"], serve(idle.answers(1), idle.files(1)), start(root=ROOT), trigger(idle.poll(), *idle.downloads(1)), later(),
     serve(idle.answers(2, 1), idle.files(2)), trigger(idle.poll(1), *idle.downloads(2)), idle.holds(2), ask(INDEX, "network"))
bare = World()
bare.publish({INDEX: "<p>one"})
bare.publish({INDEX: "<p>two"})
case("a device of an app without a root does nothing of this", ["T-1"],
     serve(world.answers(1, number=9, head={"payload": 7}, every=["no envelope"]), world.files(1)), start(), trigger(world.poll(), *world.downloads(1)),
     world.holds(1), later(), serve(world.answers(2, 1, number=9, head=False, releases=[]), two), trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2),
     later(90_000), trigger(world.poll(2)), never=[TOP + "root", HEAD])
case("a root that is none: the device doesn't start without it", ["T-1"], {"open": {"root": ROOT | {"payload": "e30="}}, "gives": "error"})
old_build = [serve(world.answers(1), world.files(1)), start(), trigger(world.poll(), *world.downloads(1)), {"stop": True}, later()]
case("a build with a root takes nothing that one without it had taken for checked", ["T-1", "T-11"], old_build, start(root=ROOT),
     trigger(world.poll(whole=True), *[{"url": url, "times": [0, 1]} for url in world.downloads(1)]), world.holds(1), ask(INDEX, local("<p>one")))
case("not even if that is all it can get", ["T-1", "T-11"], old_build, serve(bare.whole and poll_rule({}, bare.whole(2)), bare.files(2), fresh=True), start(root=ROOT),
     trigger(world.poll(whole=True), {"url": HEAD, "times": [1, 3]}), ask(INDEX, {**local("<p>one"), "orNetwork": True}))

# Roots.

NEXT_ROOTS = {2: root(2, "root b"), 3: root(3, "root a", "root c", roots={"keys": ids("root b", "root c"), "threshold": 1}),
              4: root(4, "root c", roots={"keys": ids("root b", "root c"), "threshold": 1})}
# The third is signed by a key of the second's and one of its own.
all_roots = [served(number, one) for number, one in NEXT_ROOTS.items()]
case("roots are asked for one after another, also where nothing is new", ["T-2", "T-3"], held, serve(world.answers(1, number=4), all_roots, fresh=True),
     trigger(world.poll(1), root_url(2), root_url(3), root_url(4), ordered=True), world.holds(1), later(), trigger(world.poll(1)))
case("they are kept", ["T-2", "T-11"], held, serve(world.answers(1, number=4), all_roots, fresh=True),
     trigger(world.poll(1), root_url(2), root_url(3), root_url(4)), {"kill": True}, start(root=ROOT), later(), trigger(world.poll(1)),
     serve(world.answers(2, 1, number=4), two, fresh=True), later(), trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2))
case("a lower root is ignored", ["T-2", "T-12"], held, serve(world.answers(1, number=4), all_roots, fresh=True),
     trigger(world.poll(1), root_url(2), root_url(3), root_url(4)), later(), takes_two[0], trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2))
case("a device without a manifest gets the roots first", ["T-2"], serve(world.answers(1, number=2), served(2, NEXT_ROOTS[2]), world.files(1)), start(root=ROOT),
     trigger(world.poll(), root_url(2), *world.downloads(1)), world.holds(1))


def update_by_new(number=2, head="new head", **extras):
    return world.answers(2, 1, number=number, head=world.head(2, head), releases=world.releases(2, 1, "new publisher"),
                         every=world.releases(2, None, "new publisher"), **extras)


new_keys = root(2, **NO_PUBLISHER, **NO_HEAD)
case("an update by the keys of a new root", ["T-1", "T-2", "T-5"], held, serve(update_by_new(), served(2, new_keys), two, fresh=True),
     trigger(world.poll(1), root_url(2), world.poll(whole=True), *world.downloads(2, 1)), world.holds(2))
refused("what a key signed that the root in force doesn't have", ["T-1", "T-5", "T-12"], world.answers(2, 1, number=2), [world.poll(1), root_url(2)], served(2, new_keys),
        after=[serve(update_by_new(), two, fresh=True), later(), trigger(*asked_whole(), *world.downloads(2, 1)), world.holds(2)])
case("a root that came counts though the update failed", ["T-2", "T-11", "T-12"], held, serve(world.answers(2, 1, number=2), served(2, new_keys), two, fresh=True),
     trigger(world.poll(1), root_url(2)), keeps, {"kill": True}, start(root=ROOT), later(), serve(world.answers(2, 1), two, fresh=True), trigger(world.poll(1)), keeps)
bad_roots = {
    "that is no envelope": {"payload": "e30="}, "that isn't JSON": None, "that is a head": world.head(2),
    "of another app": root(2, app="pay"), "of another environment": root(2, environment="staging"), "that is the third": root(3),
    "that is the first": ROOT, "that nobody signed": envelope("root", root_value(2)), "that a thief signed": root(2, "thief"),
    "that a release key signed": root(2, "publisher", "head"),
    "without its own keys": root(2, "root a", roots={"keys": ids("root c"), "threshold": 1}),
    "by its own keys alone": root(2, "root c", roots={"keys": ids("root c"), "threshold": 1}),
    "with too few of its own keys": root(2, "root a", roots={"keys": ids("root a", "root b"), "threshold": 2}),
    "whose payload isn't canonical": envelope("root", b" " + trust.canonical(root_value(2)), "root a"),
    "without a head key": envelope("root", root_value(2) | {"heads": []}, "root a"),
}
for name, document in bad_roots.items():
    wrong = rule(root_url(2), text="<html>") if document is None else served(2, document)
    refused(f"a root {name}", ["T-2", "T-4"], world.answers(2, 1, number=3), [world.poll(1), {"url": root_url(2), "times": [1, 3]}], wrong, served(3, root(3)))
refused("a root that can't be had", ["T-2", "T-4"], world.answers(2, 1, number=2), [world.poll(1), {"url": root_url(2), "times": [1, 3]}])
two_of = {"roots": {"keys": ids("root a", "root b"), "threshold": 2}}
first_of_two = root(1, **two_of)
case("a root that one of two has signed", ["T-2"], serve(world.answers(1, number=2), served(2, root(2, "root a", **two_of)), world.files(1)), start(root=first_of_two),
     trigger(world.poll(), {"url": root_url(2), "times": [1, 3]}), ask(INDEX, "network"), later(), serve(served(2, root(2, "root a", "root b", **two_of))),
     trigger(world.poll(), root_url(2), *world.downloads(1)), world.holds(1))
twice = root(2, "root a", **two_of)
twice["signatures"] = [twice["signatures"][0], envelope("root", root_value(2, **two_of), "root a")["signatures"][0] | {"keyid": KEYS["root b"].id}]
case("one signature under two ids", ["T-2"], serve(world.answers(1, number=2), served(2, twice), world.files(1)), start(root=first_of_two),
     trigger(world.poll(), {"url": root_url(2), "times": [1, 3]}), ask(INDEX, "network"))
long = canonical(NEXT_ROOTS[2]).decode()
padded = rule(root_url(2), fill={"before": long, "text": " ", "times": 98_305 - len(long)})
case("a root as large as an envelope may be", ["T-3"], held, serve(world.answers(1, number=2), rule(root_url(2), fill={
    "before": long, "text": " ", "times": 98_304 - len(long)}), fresh=True), trigger(world.poll(1), root_url(2)), later(), trigger(world.poll(1)))
refused("a root of a byte more", ["T-3"], world.answers(2, 1, number=2), [world.poll(1), {"url": root_url(2), "times": [1, 3]}], padded)
case("a root without an end", ["T-3", "T-4"], held, serve(world.answers(2, 1, number=2), two, rule(root_url(2), fill={
    "before": long, "text": " " * 1024, "times": 48 << 10}), fresh=True), trigger(world.poll(1), {"url": root_url(2), "times": [1, 3]}),
    {"sent": root_url(2), "most": 16 << 20}, keeps, takes_two)
drips = {"fault": {"drip": 1500}, "fill": {"before": long, "text": " ", "times": 98_304 - len(long)}}
case("a root that drips is given up", ["T-3", "D-99"], held, serve(world.answers(2, 1, number=2), two, rule(root_url(2), **drips), fresh=True),
     trigger(world.poll(1), {"url": root_url(2), "times": [1, 3]}, within=40), keeps, takes_two)
case("a build with another root: it counts from there", ["T-12"], held, {"stop": True}, start(root=root(1, "root c", **NO_HEAD, roots={
    "keys": ids("root c"), "threshold": 1})), serve(world.answers(2, 1), two, fresh=True), trigger(world.poll(1)), keeps,
    serve(world.answers(2, 1, head=world.head(2, "new head")), two, fresh=True), later(), trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2))
# The new root has forgotten the head: a device may ask for another one.
forgotten = {"url": HEAD, "times": [0, 1]}
case("a build with the same root goes on with the one in force", ["T-12"], held, serve(world.answers(1, number=2), served(2, new_keys), fresh=True),
     trigger(world.poll(1), root_url(2), forgotten), {"stop": True}, start(root=ROOT), serve(world.answers(2, 1, number=2), two, fresh=True), later(),
     trigger(world.poll(1), forgotten), keeps)
off = root(2, off=True, heads=[], releases=[], prefetch=[])
plain = Signed()
plain.publish(FILES)
plain.publish({INDEX: "<p>two"})
plain.publish({INDEX: "<p>three"})
unsigned = [poll_rule({"version": "1"}, plain.patch(1, 2, root="2")), poll_rule({"version": "2"}, plain.nothing(2, root="2")), poll_rule({}, plain.whole(2, root="2"))]
case("a root that is off: nothing has to be signed", ["T-1", "T-2"], held, serve(unsigned, served(2, off), plain.files(2), fresh=True),
     trigger(plain.poll(1), root_url(2), *plain.downloads(2)), plain.holds(2), later(), trigger(plain.poll(2)))
case("a forged one that is off", ["T-2", "T-12"], held, serve(unsigned, served(2, root(2, "thief", off=True)), plain.files(2), fresh=True),
     trigger(plain.poll(1), {"url": root_url(2), "times": [1, 3]}), keeps, takes_two)
case("and on again", ["T-1", "T-2", "T-12"], held, serve(unsigned, served(2, off), plain.files(2), fresh=True), trigger(plain.poll(1), root_url(2), *plain.downloads(2)),
     later(), serve([one | {"json": {"code": 200, "data": one["json"]["data"] | {"root": "3"}}} for one in (
         poll_rule({"version": "2"}, plain.patch(2, 3)), poll_rule({}, plain.whole(3)))], served(3, root(3)), plain.files(3), fresh=True),
     trigger(plain.poll(2), root_url(3), {"url": HEAD, "times": [1, 3]}), plain.holds(2))

# Heads.

for name, head in {
    "no head": False, "a head that is no envelope": {"payload": "e30=", "payloadType": trust.TYPES["head"], "signatures": []},
    "a head that nobody signed": envelope("head", json.loads(base64.b64decode(world.head(2)["payload"]))), "a thief's head": world.head(2, "thief"),
    "a head by a key that signs releases": world.head(2, "publisher"), "a head of another channel": world.head(2, channel="test"),
    "a head of another app": world.head(2, app="pay"), "a head of another environment": world.head(2, environment="staging"),
    "a head of another version": world.head(3), "a head of another digest": world.head(2, digest=world.digest(3)),
    "a head of these bytes as another version": world.head(2, version="3"),
    "a head whose version fell": world.head(2, version="0"), "the head that is held": world.head(1),
    "an older head": world.head(2, at=NOW - HOUR), "a head of the same time": world.head(2, at=NOW + 1000),
}.items():
    # Who gets none asks for one.
    refused(f"an update with {name}", ["T-1", "T-4"], world.answers(2, 1, head=head), [world.poll(1), *([] if head else [{"url": HEAD, "times": [1, 3]}])])
mixed = Signed()
mixed.maps, mixed.data, mixed.seen, mixed.newest = dict(world.maps), world.data, world.seen, 3
mixed.raw(world.maps[3] | {INDEX: world.maps[2][INDEX]}, 2)
of_mix = [world.release(2, "home"), world.release(3, "pay")]
case("bundles of two releases, mixed without the head key", ["T-1", "T-4"], held, serve(
    [poll_rule({"version": "1"}, mixed.patch(1, 2, root="1", trust={"head": head, "releases": of_mix})) for head in [world.head(3)]], mixed.files(2), fresh=True),
    trigger(world.poll(1)), keeps, takes_two)
case("with it, that can be done", ["T-1"], held, serve(poll_rule({"version": "1"}, mixed.patch(1, 2, root="1", trust={
    "head": mixed.head(2), "releases": of_mix})), mixed.files(2, 1), fresh=True), trigger(world.poll(1), *mixed.downloads(2, 1)), mixed.holds(2))
has_three = [GETS, later(), serve(world.answers(3, 1), two, fresh=True), trigger(world.poll(1), *world.downloads(3, 1)), world.holds(3), later()]
back = [poll_rule({"version": "3"}, world.patch(3, 2, root="1", trust={"head": world.head(2), "releases": world.releases(2, 3)})),
        poll_rule({}, world.whole(2, root="1", trust={"head": world.head(2), "releases": world.releases(2)}))]
case("all that was signed before, replayed", ["T-1", "T-12"], has_three, serve(back, world.files(2), fresh=True), trigger(world.poll(3)), world.holds(3))
late = world.head(2, at=NOW + HOUR)
case("an older version by a newer head", ["T-1", "T-12"], has_three, serve(
    [poll_rule({"version": "3"}, world.patch(3, 2, root="1", trust={"head": late, "releases": world.releases(2, 3)})),
     poll_rule({}, world.whole(2, root="1", trust={"head": late, "releases": world.releases(2)}))], world.files(2), fresh=True),
    trigger(world.poll(3)), world.holds(3))
for name in ("policy", "prefetch"):
    case(f"an update by a head whose {name} fell", ["T-1", "T-12"], serve(world.answers(1, head=world.head(1, policy="7", prefetch="4")), world.files(1)), start(root=ROOT),
         trigger(world.poll(), *world.downloads(1)), later(), serve(world.answers(2, 1, head=world.head(2, **{"policy": "7", "prefetch": "4", name: "3"})), two, fresh=True),
         trigger(world.poll(1)), keeps)
case("also to the next process", ["T-11", "T-12"], has_three, {"kill": True}, start(root=ROOT), serve(back, world.files(2), fresh=True), trigger(world.poll(3)), world.holds(3))
future = world.head(2, at=NOW + 3000 * DAY)
taken_future = [held, serve(world.answers(2, 1, head=future), two, fresh=True), trigger(world.poll(1), *world.downloads(2, 1)), later()]
three = world.answers(3, 2)
case("a head of the year 2035 stops updates", ["T-1", "T-12"], taken_future, serve(three, world.files(3, 2), fresh=True), trigger(world.poll(2)), world.holds(2))
case("a root without its key is the way out", ["T-2", "T-12"], taken_future, serve(world.answers(3, 2, number=2, head=world.head(3, "new head")),
     served(2, root(2, **NO_HEAD)), world.files(3, 2), fresh=True), trigger(world.poll(2), root_url(2), *world.downloads(3, 2)), world.holds(3))
case("a root with its key leaves the head", ["T-2", "T-12"], taken_future, serve(world.answers(3, 2, number=2), served(2, root(2)), world.files(3, 2), fresh=True),
     trigger(world.poll(2), root_url(2)), world.holds(2))

# Statements: where a patch fails, the whole manifest is asked for.

second = world.release(2, "home")
for name, rules, releases in (
        ("no statement", ["T-5"], []), ("a statement that is no envelope", ["T-5"], [{"payload": "e30="}]), ("two statements of a bundle", ["T-5"], [second, second]),
        ("another bundle's statement", ["T-5"], [world.release(1, "pay")]), ("the statement of the version before", ["T-5"], [world.release(1, "home")]),
        ("a statement for another channel", ["T-5"], [world.release(2, "home", channels=["test"])]),
        ("a statement of another app", ["T-5"], [world.release(2, "home", app="pay")]), ("a statement of staging", ["T-5"], [world.release(2, "home", environment="staging")]),
        ("a thief's statement", ["T-5"], [world.release(2, "home", "thief")]), ("a statement by the head key", ["T-5"], [world.release(2, "home", "head")]),
        ("a statement by the root key", ["T-5"], [world.release(2, "home", "root a", "root b")]), ("a statement by one of a team", ["T-5"], [world.release(2, "home", "team")]),
        ("a statement by a team whose bundle it isn't", ["T-5"], [world.release(2, "home", "team", "second")]),
        ("a statement by one of the bundle's team", ["T-5"], [second, world.release(1, "pay", "team")])):
    refused(f"an update with {name}", ["T-1", "T-4", *rules], world.answers(2, 1, releases=releases, every=releases + (
        [] if any(one["payload"] == world.release(1, "pay")["payload"] for one in releases) else [world.release(1, "pay")])), asked_whole())
case("a bundle without any statement", ["T-1"], serve(world.answers(1, every=[world.release(1, "home")]), world.files(1)), start(root=ROOT), trigger(world.poll()),
     ask(INDEX, "network"))
case("a key that signs another channel's releases", ["T-1"], serve(world.answers(1), world.files(1)), start(root=root(releases=[
    {"bundles": ["*"], "channels": ["test"], "keys": ids("publisher"), "prefixes": ["*"], "threshold": 1}])), trigger(world.poll()), ask(INDEX, "network"))
repaired = world.answers(2, 1, releases=[world.release(1, "home")], every=world.releases(2))
case("where a patch fails, the whole manifest may pass", ["T-5"], held, serve(repaired, two, fresh=True), trigger(*asked_whole(), *world.downloads(2, 1)), world.holds(2),
     later(), trigger(world.poll(2)))
made, _ = pack(world, 1, 2)
packed, at_pack = world.with_pack(1, 2, made, root="1", trust={"head": world.head(2), "releases": world.releases(2, 1)})
case("a pack with its statements", ["T-1"], held, serve(poll_rule({"pack": "1", "version": "1"}, packed), rule(at_pack, data=made), fresh=True),
     trigger(world.poll(1), at_pack), world.holds(2), features=["packs"])
damaged = json.loads(json.dumps(packed))
damaged["data"]["trust"]["releases"] = [world.release(2, "home", "thief")]
case("a pack that fails costs the whole manifest, not a patch", ["T-5"], held, serve(
    poll_rule({"pack": "1", "version": "1"}, damaged), rule(at_pack, data=made), world.answers(2, 1), world.files(2, 1), fresh=True),
    trigger(world.poll(1), {"url": at_pack, "times": [1, 6]}, world.poll(whole=True), *[{"url": url, "times": [0, 1]} for url in world.downloads(2, 1)]), world.holds(2), features=["packs"])
ownerless = Signed()
ownerless.publish(FILES)
ownerless.publish(NEXT | {APP: "let one"})
refused("an update with an entry of no bundle", ["T-1", "T-5"], ownerless.answers(2, 1), asked_whole(), ownerless.files(2))
ownerless.raw(ownerless.maps[1] | {APP: ownerless.maps[1][APP] | {"bundle": "no name"}}, 2)
refused("an update with a bundle that has no name", ["T-1", "T-5"], ownerless.answers(2, 1, releases=[]), asked_whole(), ownerless.files(2))
foreign = signed(FILES, FILES | {BANK: of("<p>money")})
refused("an update with a URL outside of its grant", ["T-1", "T-5"], foreign.answers(2, 1), asked_whole(), foreign.files(2))
moved = signed(FILES, FILES | {APP: of("let one", "pay")})
case("a URL that moves to another bundle needs the statements of both", ["T-1"], held, serve(moved.answers(2, 1), moved.files(2), fresh=True),
     trigger(world.poll(1)), moved.holds(2))
refused("a URL that moves without one of them", ["T-1", "T-5"], moved.answers(2, 1, releases=[moved.release(2, "pay")]), asked_whole(), moved.files(2))
for name, change in {"type": {"ctype": "text/html;charset=UTF-8"}, "headers": {"headers": {"X-Frame-Options": "DENY"}},
                     "bytes": {"sha256": sha256(b"let bad"), "md5": hashlib.md5(b"let bad").hexdigest(), "download": CDN + "/x/bad.js"}}.items():
    altered = Signed()
    altered.publish(FILES)
    altered.publish(NEXT)
    honest = altered.releases(2, 1)
    every = altered.releases(2)
    altered.raw(altered.maps[2] | {APP: altered.maps[2][APP] | change}, 2)
    refused(f"an entry with another {name} than was signed, by the head key", ["T-1", "T-5"], altered.answers(2, 1, releases=honest, every=every), asked_whole(),
            rule(CDN + "/x/bad.js", text="let bad"))

# Floors.

HIGH = NOW + 50
raised = [world.release(2, "home", serial=HIGH, floor=HIGH)]
to_two = [held, serve(world.answers(2, 1, releases=raised, every=raised + [world.release(1, "pay")]), two, fresh=True), trigger(world.poll(1), *world.downloads(2, 1)),
          world.holds(2), later()]
proof = [{"pageOpen": INDEX, "as": "page"}, ask(INDEX, local("<p>two"), page="page", destination="document"), {"pageUp": "page"}]
low = serve(world.answers(3, 2), world.files(3, 2), fresh=True)
refusal = [trigger(*asked_whole(held=2)), world.holds(2), ask(INDEX, local("<p>two"))]
case("a floor of a version that has proved itself", ["T-14"], to_two, proof, low, refusal, later(), serve(
    world.answers(3, 2, releases=world.releases(3, 2, serial=HIGH)), world.files(3, 2), fresh=True), trigger(world.poll(2), *world.downloads(3, 2)), world.holds(3))
case("a floor of one that hasn't", ["T-14"], to_two, low, trigger(world.poll(2), *world.downloads(3, 2)), world.holds(3))
case("a page from the network proves nothing", ["T-14"], to_two, {"pageOpen": SITE + "/other.html", "as": "page"}, ask(SITE + "/other.html", "network", page="page", destination="document"),
     {"pageUp": "page"}, low, trigger(world.poll(2), *world.downloads(3, 2)), world.holds(3))
case("a floor outlives the process", ["T-11", "T-12", "T-14"], to_two, proof, {"kill": True}, start(root=ROOT), low, refusal)
anew = [world.release(3, bundle, "new publisher") for bundle in ("home", "pay")]
case("a floor by a key that the root doesn't have any more", ["T-12", "T-14"], to_two, serve(world.answers(2, number=2), served(2, root(2, **NO_PUBLISHER)), fresh=True),
     trigger(world.poll(2), root_url(2)), later(), proof, serve(world.answers(3, 2, number=2, releases=anew, every=anew), world.files(3, 2), fresh=True),
     trigger(world.poll(2), *world.downloads(3, 2)), world.holds(3))
way_out = root(2, floors={"home": NOW})
case("a root with a lower floor, before the page that proves the version", ["T-12", "T-14"], to_two, serve(world.answers(2, number=2), served(2, way_out), fresh=True),
     trigger(world.poll(2), root_url(2)), later(), proof, serve(world.answers(3, 2, number=2), world.files(3, 2), fresh=True),
     trigger(world.poll(2), *world.downloads(3, 2)), world.holds(3))
case("a root with a lower floor", ["T-2", "T-12"], to_two, proof, serve(world.answers(3, 2, number=2), served(2, way_out), world.files(3, 2), fresh=True),
     trigger(world.poll(2), root_url(2), *world.downloads(3, 2)), world.holds(3))
early = root(2, floors={"home": HIGH})
case("a root with a higher one", ["T-1", "T-2"], held, serve(world.answers(2, 1, number=2), served(2, early), two, fresh=True), trigger(world.poll(1), root_url(2), world.poll(whole=True)), keeps)

# The static copy.

to_copy = [held, serve(fresh=True), [trigger(world.poll(1)), later()] * 4, trigger(world.poll(1)), later(37), trigger(world.poll(1)), later(40)]
case("an update from the copy", ["T-1"], to_copy, serve(world.on_copy(2, 1), two, fresh=True),
     trigger(world.copy("version.json"), {"url": world.copy("update/1-2.json"), "times": [0, 1]}, world.copy("patch/1-2.json"), *world.downloads(2, 1)), world.holds(2))
case("roots are asked of the copy, where that answered", ["T-2", "T-3"], to_copy, serve(world.on_copy(1, number=3), served(2, NEXT_ROOTS[2], TOP_OF_COPY), served(
    3, NEXT_ROOTS[3], TOP_OF_COPY), fresh=True), trigger(world.copy("version.json"), root_url(2, TOP_OF_COPY), root_url(3, TOP_OF_COPY), ordered=True), world.holds(1),
    never=[TOP + "root"])
false_copy = [one if "patch" in one["at"] or "version" in one["at"] else one for one in world.on_copy(2, 1, head=world.head(2, "thief"))]
case("a copy with a thief's head", ["T-1", "T-4"], to_copy, serve(false_copy, two, fresh=True), trigger(
    world.copy("version.json"), *[{"url": world.copy(name), "times": [0, 1]} for name in ("update/1-2.json", "patch/1-2.json", "configure.json")]), keeps)
bad_patch = world.on_copy(2, 1)
for one in bad_patch:
    if "/patch/" in one["at"]:
        one["json"]["data"]["trust"]["releases"] = [world.release(1, "home")]
case("a copy's patch that fails gives way to its whole manifest", ["T-5"], to_copy, serve(bad_patch, two, fresh=True),
     trigger(world.copy("version.json"), {"url": world.copy("update/1-2.json"), "times": [0, 1]}, world.copy("patch/1-2.json"), world.copy("configure.json"), *world.downloads(2, 1)),
     world.holds(2))

# Heads that are asked for, and time.

day = later(86_401)
case("a day later a head is asked for, once", ["T-8"], held, day, trigger(world.poll(1), {"url": HEAD, "times": [1, 3]}), later(), trigger(world.poll(1)), later(),
     trigger(world.poll(1)), day, trigger(world.poll(1), {"url": HEAD, "times": [1, 3]}), world.holds(1))
case("not while the head is newer", ["T-8"], held, later(80_000), trigger(world.poll(1)))
case("a head that came is kept", ["T-8", "T-12"], held, day, serve(rule(HEAD, json=world.head(1, at=NOW + DAY + HOUR))), trigger(world.poll(1), HEAD), later(),
     serve(world.answers(2, 1, head=world.head(2, at=NOW + DAY)), two, fresh=True), trigger(world.poll(1)), keeps, {"kill": True}, start(root=ROOT), later(),
     trigger(world.poll(1)), keeps)
case("a head that is asked for may be of a newer version", ["T-8"], held, day, serve(rule(HEAD, json=world.head(2, at=NOW + DAY + HOUR))), trigger(world.poll(1), HEAD), world.holds(1),
     later(), serve(world.answers(2, 1), two, fresh=True), trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2))
for name, document in {"a thief's": world.head(1, "thief", at=NOW + 2 * DAY, version="9"), "another channel's": world.head(1, at=NOW + 2 * DAY, version="9", channel="test")}.items():
    case(f"{name} head that is asked for changes nothing", ["T-8", "T-12"], held, day, serve(rule(HEAD, json=document)), trigger(world.poll(1), {"url": HEAD, "times": [1, 3]}), takes_two)
case("a head without an end", ["T-3", "T-8"], held, day, serve(rule(HEAD, fill={"before": canonical(world.head(1, at=NOW + DAY)).decode(), "text": " " * 1024, "times": 48 << 10})),
     trigger(world.poll(1), {"url": HEAD, "times": [1, 3]}), {"sent": HEAD, "most": 16 << 20}, takes_two)
month = [held, later(40 * 86_400)]
case("a stale head changes nothing of what is taken", ["T-7"], month, takes_two[0], trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2))
case("nor does a clock that is 40 days off", ["T-7"], held, later(-40 * 86_400), takes_two)

# Candidates.

WHOLE = {"features": ["rollouts"]}


def candidates(head, said=None, **extras):
    """An origin's answers during a rollout of the second version."""
    rules = rolling(world, 1, said or rollout(), root="1", **extras)
    for one in rules:
        data = one["json"]["data"]
        if data["update"]:
            version, base = int(data["version"]), int(data["base"]) if "base" in data else None
            data["trust"] = {"head": head, "releases": world.releases(version, base)}
    return rules


def of_candidate(rule=None, at=NOW + 2000, **members):
    return world.head(1, at=at, candidate={"digest": world.digest(2), "rollout": rule or rollout()}, **members)


asks_candidate = [world.poll(1), candidate(world.poll(1))]
case("before a candidate a head is asked for", ["T-9"], held, serve(candidates(of_candidate()), two, rule(HEAD, json=of_candidate()), fresh=True),
     trigger(*asks_candidate, {"url": HEAD, "times": [1, 2]}, *world.downloads(2, 1)), world.holds(2), later(), trigger(candidate(world.poll(2))), world.holds(2), **WHOLE)
halted = world.head(3, at=NOW + 5000, digest=world.digest(1))
for name, document in {
    "without one nothing is taken": None, "one by a thief doesn't count": world.head(1, "thief", at=NOW + 9000, candidate={"digest": world.digest(2), "rollout": rollout()}),
    "one without a candidate": world.head(1, at=NOW + 9000), "one of another share: the device isn't in": of_candidate(rollout(share=0), NOW + 9000),
    "one of a candidate with other bytes": world.head(1, at=NOW + 9000, candidate={"digest": world.digest(3), "rollout": rollout()}),
    "one after the rollout was halted": halted,
}.items():
    case(f"a head for a candidate: {name}", ["T-9"], held, serve(candidates(of_candidate()), two, [] if document is None else rule(HEAD, json=document), fresh=True),
         trigger(*asks_candidate, {"url": HEAD, "times": [1, 3]}), keeps, **WHOLE)
case("a candidate from the copy: a head is asked of the copy", ["T-3", "T-9"], to_copy, serve(
    rule(world.copy("version.json"), json=world.nothing(1, root="1", rollout=rollout())), rule(world.copy("head.json"), json=of_candidate()),
    rule(world.copy("patch/1-2.json"), json=world.patch(1, 2, trust={"head": of_candidate(), "releases": world.releases(2, 1)})), two, fresh=True),
    trigger(world.copy("version.json"), {"url": world.copy("head.json"), "times": [1, 2]}, {"url": world.copy("update/1-2.json"), "times": [0, 1]}, world.copy("patch/1-2.json"),
            *world.downloads(2, 1)), world.holds(2), never=[HEAD], **WHOLE)

# What the device stores.

texts = [value[0] for value in FILES.values()]
maybe = [{"url": url, "times": [0, 1]} for url in world.downloads(1)]
for name, text in {"cut": "", "garbage": "{", "a folder": None}.items():
    case(f"notes that are {name}: the app's root, and a whole manifest", ["T-11"], held, serve(world.answers(1, number=2), served(2, NEXT_ROOTS[2]), fresh=True), trigger(world.poll(1), root_url(2)),
         {"stop": True}, {"damageNotes": text, "keep": texts}, start(root=ROOT), later(), serve(world.answers(1, number=2), served(2, NEXT_ROOTS[2]), world.files(1), fresh=True),
         trigger(world.poll(), root_url(2), *maybe), world.holds(1), later(), serve(world.answers(2, 1, number=2), two, fresh=True),
         trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2))
case("a root that came is kept by a device that is killed in the update", ["T-11"], held, serve(world.answers(2, 1, number=2), served(2, NEXT_ROOTS[2]),
     rule(world.url(2, INDEX), data=b"<p>two", times=1, fault={"kill": 2}), two, fresh=True),
     {"trigger": "launch", "dies": True, "asks": [world.poll(1), root_url(2), world.url(2, INDEX)]}, start(root=ROOT), later(),
     trigger(world.poll(1), {"url": world.url(2, INDEX), "times": [0, 1]}), world.holds(2))

# Candidates from the copy, whose whole manifest has no head.

begins_at_copy = [start(root=ROOT), [trigger(world.poll()), later()] * 4, trigger(world.poll()), later(37), trigger(world.poll()), later(40)]
HEAD_OF_COPY = world.copy("head.json")


def candidate_on_copy(*more, head=None):
    return serve(rule(world.copy("version.json"), json=world.nothing(1, root="1", rollout=rollout())),
                 rule(world.copy("configure.json"), json=world.whole(1, root="1", trust={"head": of_candidate(), "releases": world.releases(1)})),
                 rule(world.copy("configure/2.json"), json=world.whole(2, root="1", trust={"releases": world.releases(2)})),
                 rule(HEAD_OF_COPY, json=head or of_candidate()), world.files(1), two, *more, fresh=True)


whole_candidate = [world.copy("configure/2.json"), HEAD_OF_COPY]
no_step = [{"url": world.copy(name), "times": times} for name, times in (("update/1-2.json", [0, 3]), ("patch/1-2.json", [1, 3]))]
case("a candidate from the copy, for a device without a manifest: a head is asked for first, once", ["T-3", "T-9"], begins_at_copy, candidate_on_copy(),
     trigger(world.copy("version.json"), *whole_candidate, *world.downloads(2)), world.holds(2), ask(INDEX, local("<p>two"), asks=[]), never=[HEAD], **WHOLE)
case("for a device that is older than the copy's patches", ["T-3", "T-9"], to_copy, candidate_on_copy(),
     trigger(world.copy("version.json"), *no_step, *whole_candidate, *world.downloads(2, 1)), world.holds(2), never=[HEAD], **WHOLE)
bad_step = world.patch(1, 2, trust={"head": of_candidate(), "releases": [world.release(1, "home")]})
case("in place of its patch, which fails", ["T-3", "T-5", "T-9"], to_copy, candidate_on_copy(rule(world.copy("patch/1-2.json"), json=bad_step)),
     trigger(world.copy("version.json"), {"url": world.copy("update/1-2.json"), "times": [0, 3]}, world.copy("patch/1-2.json"), *whole_candidate, *world.downloads(2, 1)),
     world.holds(2), never=[HEAD], **WHOLE)
for name, document in {"by a thief": world.head(1, "thief", at=NOW + 9000, candidate={"digest": world.digest(2), "rollout": rollout()}), "after the rollout was halted": halted}.items():
    case(f"a candidate from the copy, and a head {name}", ["T-3", "T-9"], to_copy, candidate_on_copy(head=document),
         trigger(world.copy("version.json"), *no_step, *whole_candidate), keeps, never=[HEAD], **WHOLE)

# Presets.

manifests, book.name, book.cases = book.cases, "signed", []


def archive(version, **members):
    """A preset, with these members in its manifest's data."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        files = {"manifest.json": canonical(world.whole(version, **members))}
        files |= {"files/" + file_name(url): world.data[entry["download"]] for url, entry in world.maps[version].items()}
        for name, data in files.items():
            file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return {"write": "preset.zip", "base64": b64(out.getvalue())}


shipped = dict(preset="preset.zip", build="1", root=ROOT)
case("a preset with its statements", ["T-13"], archive(1, root="1", trust={"head": world.head(1), "releases": world.releases(1)}), start(**shipped),
     ask(INDEX, local("<p>one"), asks=[]), serve(world.answers(2, 1), two), trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2))
for name, members in {"without any": {}, "with a thief's": {"root": "1", "trust": {"head": world.head(1), "releases": world.releases(1, None, "thief")}},
                      "with a thief's head": {"root": "1", "trust": {"head": world.head(1, "thief"), "releases": world.releases(1)}}}.items():
    case(f"a preset {name} is passed over", ["T-13"], archive(1, **members), start(**shipped), ask(INDEX, "network"), serve(world.answers(1), world.files(1)),
         trigger(world.poll(), *[{"url": url, "times": [0, 1]} for url in world.downloads(1)]), world.holds(1))

# Policies and prefetch configs.


def policy(version, **members):
    return rule(ORIGIN + "/policy.json", json={"code": 200, "data": {
        "version": str(version), "intercept": True, "bypass": [], "scripts": [], **members}})


kill = policy(1, intercept=False)
killed = [ask(INDEX, "network"), {"state": {"policy": "1", "version": "1"}}]
case("the kill switch needs no signature", ["T-10"], held, serve(world.answers(1, policy="1"), kill, fresh=True), trigger(world.poll(1), POLICY), killed)
case("nor a root that can't be had", ["T-10"], held, serve(world.answers(1, number=3, policy="1"), kill, fresh=True),
     trigger(world.poll(1), {"url": root_url(2), "times": [1, 3]}, POLICY), killed)
case("nor a manifest that passes", ["T-10"], held, serve(world.answers(2, 1, head=world.head(2, "thief"), policy="1"), kill, fresh=True), trigger(world.poll(1), POLICY), killed)
case("nor a head", ["T-10"], serve(world.answers(1, head=False, policy="1"), world.files(1), kill), start(root=ROOT), trigger(world.poll(), {"url": HEAD, "times": [1, 3]}, POLICY), ask(INDEX, "network"),
     {"state": {"policy": "1"}})
seven = world.head(1, policy="7", prefetch="4")
knows = [serve(world.answers(1, head=seven), world.files(1)), start(root=ROOT), trigger(world.poll(), *world.downloads(1)), later()]
case("a policy below the head's isn't taken", ["T-1", "T-10"], knows, serve(world.answers(1, policy="6"), policy(6, intercept=False), fresh=True),
     trigger(world.poll(1), {"url": POLICY, "times": [0, 1]}), ask(INDEX, local("<p>one")), {"state": {"policy": "0"}}, later(),
     serve(world.answers(1, policy="7"), policy(7, intercept=False), fresh=True), trigger(world.poll(1), POLICY), ask(INDEX, "network"))
CONFIG = [{"interfaces": [{"api": SITE + "/info", "method": "GET"}], "url": INDEX}]


def config(version=4, serial=NOW, by=("publisher",), content=CONFIG, statement=True, **members):
    value = {"app": "shop", "channels": ["online"], "content": trust.digest(CONFIG), "serial": serial} | members
    own = {"trust": envelope("prefetch", value, *by)} if statement is True else {} if statement is None else {"trust": statement}
    return rule(ORIGIN + "/prefetchConfig", json={"code": 200, "data": {"config": content, "name": "prefetchConfig", "version": str(version), **own}})


calls = {"prefetch": INDEX, "expect": [{"method": "GET", "url": SITE + "/info"}]}
no_calls = {"prefetch": INDEX, "expect": []}
case("a prefetch config with its statement", ["T-1"], held, serve(world.answers(1, prefetch="4"), config(), fresh=True), trigger(world.poll(1), PREFETCH), calls,
     {"state": {"prefetch": "4"}}, later(), trigger(world.poll(1)))
for name, document in {
    "without one": config(statement=None), "with one that is none": config(statement={"payload": "e30="}), "of another channel": config(channels=["test"]),
    "of another app": config(app="pay"), "with other calls": config(content=[CONFIG[0] | {"url": APP}]), "by a thief": config(by=("thief",)),
    "by the team": config(by=("team", "second")), "by the head key": config(by=("head",)), "with a release's statement": config(statement=world.release(1, "home")),
}.items():
    case(f"a prefetch config {name}", ["T-1", "T-4"], held, serve(world.answers(1, prefetch="4"), document, fresh=True), trigger(world.poll(1), {"url": PREFETCH, "times": [1, 2]}), no_calls,
         {"state": {"prefetch": "0"}}, later(), serve(config()), trigger(world.poll(1), PREFETCH), calls)
case("a prefetch config below the floor of one before", ["T-1", "T-12"], held, serve(world.answers(1, prefetch="4"), config(floor=NOW), fresh=True), trigger(world.poll(1), PREFETCH), later(),
     serve(world.answers(1, prefetch="5"), config(5, NOW - 1, content=CONFIG), fresh=True), trigger(world.poll(1), {"url": PREFETCH, "times": [1, 2]}), {"state": {"prefetch": "4"}})
case("a prefetch config below the head's", ["T-1"], knows, serve(world.answers(1, prefetch="3"), config(3), fresh=True), trigger(world.poll(1), {"url": PREFETCH, "times": [0, 2]}), no_calls,
     {"state": {"prefetch": "0"}})
where = f"http://m.test/xcache/shop/script/{sha256(SCRIPT)}.js"
named = {"name": "ready", "download": where, "sha256": sha256(SCRIPT), "signature": b64(sign(SCRIPT))}
scripted, key = root(1, scriptKey=b64(KEY)), {"scriptKey": b64(KEY)}
for name, own, settings, given in (("a root's script key", scripted, {}, SCRIPT.decode()),
                                   ("a root's script key counts, and not the app's", root(1, scriptKey=b64(bytes(31) + b"\1")), key, "refused"),
                                   ("a root without one leaves it to the app's", ROOT, key, SCRIPT.decode())):
    case(name, ["T-15"], serve(world.answers(1, policy="1"), world.files(1), policy(1, scripts=[named]), rule(where, data=SCRIPT)), start(root=own, **settings),
         trigger(world.poll(), *world.downloads(1), POLICY, {"url": where, "times": [0, 2]}), {"script": "ready", "expect": given})

# Reports.


def told(name, reason, answers, *more, version="2", asks=None):
    case(name, ["T-6"], held, serve(answers, two, *more, fresh=True), *[[{"trigger": "launch"}, later()]] * 3,
         {"told": [{"reason": reason, "url": "", "version": version}]})


told("a root that fails is told once", "trust-root", world.answers(2, 1, number=2), served(2, root(2, "thief")))
told("so is a head", "trust-head", world.answers(2, 1, head=world.head(2, "thief")))
told("so are entries", "trust-entry", signed(FILES, NEXT | {APP: "let one"}).answers(2, 1))
told("so is content", "trust-content", world.answers(2, 1, releases=[world.release(1, "home")], every=world.releases(1)))
told("a statement that is missing counts as content", "trust-content", world.answers(2, 1, releases=[], every=[]))
told("so is a key", "trust-scope", world.answers(2, 1, releases=world.releases(2, 1, "thief"), every=world.releases(2, None, "thief")))
told("a URL outside of a grant counts as a key", "trust-scope", foreign.answers(2, 1))
told("so is a floor", "trust-floor", world.answers(2, 1, number=2), served(2, early))
case("a policy that fails is told", ["T-6"], knows, serve(world.answers(1, policy="6"), policy(6), fresh=True), {"trigger": "launch"}, {"told": [{"reason": "trust-policy", "url": ""}]})
case("so is a prefetch config", ["T-6"], held, serve(world.answers(1, prefetch="4"), config(by=("thief",)), fresh=True), {"trigger": "launch"},
     {"told": [{"reason": "trust-prefetch", "url": ""}]})
held_up = {**rule(world.url(3, INDEX), data=b"<p>three"), "fault": {"hold": True}}
case("a floor that a page proves during the downloads keeps the device from the switch", ["T-12", "T-14"], to_two,
     serve(world.answers(3, 2), held_up, world.files(3, 2), fresh=True), {"trigger": "launch", "background": True},
     {"arrives": world.url(3, INDEX), "asks": [world.poll(2), *[url if url == world.url(3, INDEX) else {"url": url, "times": [0, 1]} for url in world.downloads(3, 2)]]},
     proof, {"release": True}, {"told": [{"reason": "trust-floor", "url": "", "version": "3"}]}, {"state": {"version": "2"}}, ask(INDEX, local("<p>two")))
case("a stale head is told once a day", ["T-7"], month, {"trigger": "launch"}, later(), {"trigger": "launch"}, later(), {"trigger": "launch"},
     {"told": [{"reason": "trust-stale", "url": "", "version": "1"}]})

# Fallbacks: for which paths a page answers is signed, and a key signs it only for its own ones.

ROUTES = of("<p>pay two", "pay", fallback=[{"except": ["/pay/api/*"], "prefix": "/pay/"}])
TEAM = ("second", "team")
for name, everything in (("/pay/", False), ("/", True)):
    page = ROUTES if not everything else of("<p>pay two", "pay", fallback=[{"prefix": "/pay/"}, {"prefix": "/"}])
    routed = signed(FILES, FILES | {PAY: page})
    answers = routed.answers(2, 1, releases=[routed.release(2, "pay", *TEAM)], every=[routed.release(2, "home"), routed.release(2, "pay", *TEAM)])
    if everything:
        refused("a fallback outside of its grant", ["T-1", "T-5"], answers, asked_whole(), routed.files(2))
    else:
        case("a fallback within its grant", ["T-1"], held, serve(answers, routed.files(2), fresh=True), trigger(routed.poll(1), *routed.downloads(2, 1)), routed.holds(2))
for name, before, after in (("that wasn't signed", FILES[PAY], ROUTES), ("for more than was signed", ROUTES, of("<p>pay two", "pay", fallback=[{"prefix": "/pay/"}])),
                            ("that was signed and is missing", ROUTES, FILES[PAY])):
    routed = signed(FILES, NEXT | {PAY: before})
    honest, every = [routed.release(2, "home"), routed.release(2, "pay")], routed.releases(2)
    entry = {name: value for name, value in routed.maps[2][PAY].items() if name != "fallback"}
    routed.raw(routed.maps[2] | {PAY: entry | {name: value for name, value in after[1].items() if name == "fallback"}}, 2)
    refused(f"a fallback {name}", ["T-1", "T-5"], routed.answers(2, 1, releases=honest, every=every), asked_whole())


books = []
for name, cases in (("trust", manifests), ("signed", book.cases)):
    books.append(Book(name))
    books[-1].cases = cases
