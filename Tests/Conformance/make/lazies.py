"""Lazy files: what an update leaves to the pages, and packs that leave it out."""
import io, zipfile

import signed
from rollouts import candidate, origin as rolling, rule as ruling
from world import *

book = Book("lazy")
case = book.case
MAP, DE, FR = SITE + "/app.js.map", SITE + "/locales/de.json", SITE + "/locales/fr.json"
PACKS = {"features": ["packs"]}


def lazy(text, **members):
    return text, {"lazy": True, **members}


ONE = {INDEX: "<p>one", APP: LINES + "one", MAP: lazy(LINES + "map one"), DE: lazy("hallo")}
TWO = {INDEX: "<p>two", APP: LINES + "two", MAP: lazy(LINES + "map two"), DE: lazy("hallo")}


def published(*maps):
    world = World()
    for files in maps:
        world.publish(files)
    return world


def is_lazy(entry):
    return "lazy" in entry


def needed(world, version, base=None):
    """What an update to a version fetches: the files of entries that aren't lazy, and that `base` doesn't have."""
    old = {entry["sha256"] for entry in world.maps.get(base, {}).values() if not is_lazy(entry)}
    return sorted({entry["download"] for entry in world.maps[version].values() if not is_lazy(entry) and entry["sha256"] not in old})


def holds(world, version, *lazies):
    """All files but the lazy ones, of which the device has only these."""
    return world.holds(version, without=[url for url, entry in world.maps[version].items() if is_lazy(entry) and url not in lazies])


def has(world, version, *lazies):
    """All files that aren't lazy, and these; it may have others, too."""
    return {"state": {"version": str(version), "digest": world.digest(version), "has": {
        url: text for url, text in world.texts(version).items() if url in lazies or not is_lazy(world.maps[version][url])}}}


def has_one(world, *lazies, **settings):
    """Steps after which a device has the first version, with these of its lazy files."""
    return [serve(world.origin(1), world.files(1)), start(**settings), trigger(world.poll(), *needed(world, 1)),
            *[gets(world, 1, url) for url in lazies]]


def gets(world, version, url):
    """A page gets a file that has to be fetched first."""
    return ask(url, local(world.texts(version)[url]), asks=[world.url(version, url)])


def keeps(world, version, url):
    return ask(url, local(world.texts(version)[url]), asks=[])


def offers(world, version, base, **extras):
    return [serve(world.origin(version, base, **extras), world.files(version, base), fresh=True), later()]


def soon(check):
    return check | {"eventually": True}


def asked(*asks):
    return {"serve": [], "asks": list(asks)}


world = published(ONE, TWO)
first = has_one(world)
map_one, map_two = world.url(1, MAP), world.url(2, MAP)
to_two = [trigger(world.poll(1), *needed(world, 2, 1)), holds(world, 2)]

# Updates.

case("a first update leaves lazy files out", ["D-174"], first, holds(world, 1), keeps(world, 1, APP), later(), trigger(world.poll(1)), holds(world, 1))
case("a page that asks gets one, and it stays", ["D-175"], first, gets(world, 1, MAP), holds(world, 1, MAP), keeps(world, 1, MAP), {"stop": True}, start(),
     holds(world, 1, MAP), keeps(world, 1, MAP), gets(world, 1, DE), world.holds(1))
case("by any form of its URL", ["D-71", "D-175"], first, ask(SITE + "/locales/%64e.json", local("hallo"), asks=[world.url(1, DE)]), holds(world, 1, DE))
case("a part of a small one is answered from all of it", ["D-76", "D-175"], first, ask(DE, local("ll", 206), headers={"Range": "bytes=2-3"}, asks=[world.url(1, DE)]), holds(world, 1, DE))
for name, answer in {"that is missing": [], "with other bytes": [rule(map_one, text="map 666")], "that is torn": [rule(map_one, text=LINES, ranges=False, fault={"torn": 4})],
                     "with more bytes": [rule(map_one, text=LINES + "map one, and more")]}.items():
    case(f"a lazy file {name} goes to the network", ["D-79", "D-80", "D-175"], first, serve(answer, fresh=True),
         ask(MAP, "network", asks=[{"url": map_one, "times": [1, 6]}]), holds(world, 1), keeps(world, 1, INDEX))
case("offline, one that is missing isn't asked for", ["D-115", "D-175"], has_one(world, DE), {"conditions": {"network": "offline"}}, ask(MAP, "network", asks=[]), keeps(world, 1, DE))
case("an update fetches none, whether it changed or not", ["D-174"], first, offers(world, 2, 1), serve(world.files(1)), to_two, gets(world, 2, MAP), gets(world, 2, DE), world.holds(2))
only = published({APP: "let one", MAP: lazy("map one")}, {APP: "let one", MAP: lazy("map two")}, {APP: "let one", MAP: lazy("map two"), DE: lazy("hallo")},
                 {APP: "let one"})
case("one that brings nothing else is made at once", ["D-174"], has_one(only), offers(only, 2, 1), trigger(only.poll(1)), holds(only, 2), offers(only, 3, 2),
     trigger(only.poll(2)), holds(only, 3), gets(only, 3, DE), offers(only, 4, 3), trigger(only.poll(3)), holds(only, 4), ask(DE, "network", asks=[]))
case("a lazy file that can't be had keeps no update from its end", ["D-174"], has_one(world, MAP), offers(world, 2, 1), serve(rule(map_two, status=500, text="no"), rule(world.url(1, DE), status=500, text="no")),
     {"trigger": "launch"}, has(world, 2), ask(APP, local(LINES + "two")))
case("what is held stays with an update", ["D-174"], has_one(world, DE), offers(world, 2, 1), trigger(world.poll(1), *needed(world, 2, 1)), holds(world, 2, DE), keeps(world, 2, DE))
case("also with other members than before", ["D-52", "D-174"], has_one(named := published({INDEX: "<p>one", DE: lazy("hallo")}, {
    INDEX: "<p>one", DE: lazy("hallo", headers={"Cross-Origin-Resource-Policy": "cross-origin"})}), DE), offers(named, 2, 1), trigger(named.poll(1)), named.holds(2),
    ask(DE, local("hallo", Cross_Origin_Resource_Policy="cross-origin"), asks=[]))
same = published({INDEX: "<p>one", APP: "same"}, {INDEX: "<p>one", APP: "same", MAP: lazy("same")})
case("bytes that are held for another URL aren't fetched for a lazy one", ["D-52", "D-175"], has_one(same), offers(same, 2, 1), trigger(same.poll(1)), ask(MAP, local("same"), asks=[]))
both = published({INDEX: "<p>one", APP: "same", MAP: lazy("same")})
case("a file that another entry needs is fetched, though one is lazy", ["D-174"], serve(both.origin(1), both.files(1)), start(),
     trigger(both.poll(), both.url(1, INDEX), {"url": both.url(1, APP), "times": [0, 1]}, {"url": both.url(1, MAP), "times": [0, 1]}), has(both, 1), keeps(both, 1, APP), ask(MAP, local("same"), asks=[]))
paged = published({INDEX: "<p>one", SITE + "/help.html": lazy("<p>help")})
case("a page that is lazy all the same is fetched when it is opened", ["D-175"], has_one(paged), {"pageOpen": SITE + "/help.html", "as": "help"},
     ask(SITE + "/help.html", local("<p>help"), page="help", destination="document", asks=[paged.url(1, SITE + "/help.html")]), paged.holds(1))
case("one that is damaged counts as missing", ["D-80", "D-175"], has_one(world, DE), {"stop": True}, {"damage": "hallo"}, start(), gets(world, 1, DE), holds(world, 1, DE))
foreign = published({INDEX: "<p>one", "https://bank.test/a.map": lazy("map")})
case("one of another host is left alone", ["D-90", "D-93", "D-174"], has_one(foreign)[:2], trigger(foreign.poll(), foreign.url(1, INDEX)), {"state": {"version": "1"}},
     ask("https://bank.test/a.map", "network", asks=[]))
case("a device that is killed in its first update", ["D-61", "D-174"], serve(rule(world.url(1, APP), text=LINES + "one", times=1, fault={"kill": 5}), world.origin(1), world.files(1)), start(),
     {"trigger": "launch", "dies": True}, asked(world.poll(), {"url": world.url(1, INDEX), "times": [0, 1]}, world.url(1, APP)), start(), later(),
     trigger(world.poll(), {"url": world.url(1, INDEX), "times": [0, 1]}, world.url(1, APP)), holds(world, 1))

# Lazy or not.

turns = published({INDEX: "<p>one", DE: lazy("hallo"), FR: "salut"}, {INDEX: "<p>two", DE: "hallo", FR: lazy("salut")},
                  {INDEX: "<p>two", DE: "hallo!", FR: lazy("salut!")}, {INDEX: "<p>two", DE: "hallo!", FR: "salut!"})
case("one that is lazy no more is fetched as one that changed", ["D-174"], has_one(turns), offers(turns, 2, 1), serve(rule(turns.url(2, DE), status=503, text="no")),
     trigger(turns.poll(1), {"url": turns.url(2, INDEX), "times": [0, 6]}, {"url": turns.url(2, DE), "times": [1, 6]}), holds(turns, 1), serve(turns.files(2)), later(),
     trigger(turns.poll(1), {"url": turns.url(2, INDEX), "times": [0, 1]}, turns.url(2, DE)), turns.holds(2))
case("not if it is held", ["D-52", "D-174"], has_one(turns, DE), offers(turns, 2, 1), trigger(turns.poll(1), turns.url(2, INDEX)), turns.holds(2), keeps(turns, 2, DE))
case("one that becomes lazy stays", ["D-174"], has_one(turns, DE), offers(turns, 2, 1), trigger(turns.poll(1), turns.url(2, INDEX)), turns.holds(2), keeps(turns, 2, FR))
case("one that changes as it becomes lazy comes after the switch", ["D-176"], serve(turns.origin(1), turns.files(1)), start(), trigger(turns.poll(), *needed(turns, 1)),
     offers(turns, 3, 1), {"trigger": "launch"}, soon(turns.holds(3)), asked(turns.poll(1), turns.url(3, INDEX), turns.url(3, DE), turns.url(3, FR)))

# The backlog.

held = has_one(world, MAP)
case("one that changed, and was held, comes after the switch", ["D-176"], held, offers(world, 2, 1), {"trigger": "launch"}, soon(holds(world, 2, MAP)),
     asked(world.poll(1), *needed(world, 2, 1), map_two), keeps(world, 2, MAP), later(), trigger(world.poll(2)))
case("the switch doesn't wait for it", ["D-174", "D-176"], held, offers(world, 2, 1), serve(rule(map_two, text=LINES + "map two", fault={"hold": True})),
     {"trigger": "launch", "background": True}, soon(holds(world, 2)), ask(APP, local(LINES + "two")), {"release": True}, soon(holds(world, 2, MAP)))
case("nor for one that can't be had; the next poll tries it again", ["D-176"], held, offers(world, 2, 1), serve(rule(map_two, status=503, text="no")), {"trigger": "launch"}, soon(holds(world, 2)),
     asked(world.poll(1), *needed(world, 2, 1), {"url": map_two, "times": [0, 6]}), serve(world.files(2)), later(), {"trigger": "launch"}, soon(holds(world, 2, MAP)))
case("what waits is remembered over a restart", ["D-176"], held, offers(world, 2, 1), serve(rule(map_two, status=503, text="no")), {"trigger": "launch"}, soon(holds(world, 2)),
     {"stop": True}, serve(world.files(2)), start(), later(), {"trigger": "launch"}, soon(holds(world, 2, MAP)))
case("a page that asks doesn't wait for the others", ["D-175", "D-176"], held, offers(world, 2, 1), serve(world.files(1), rule(map_two, text=LINES + "map two", fault={"hold": True}, times=1)),
     {"trigger": "launch", "background": True}, soon(holds(world, 2)), ask(DE, local("hallo")), {"release": True}, soon(world.holds(2)))
offer, delta = world.delta(MAP, 1, 2)
case("by a delta, where there is one", ["D-35", "D-176"], held, serve(world.origin(2, 1, deltas={MAP: offer}), delta, world.files(2, 1), fresh=True), later(), {"trigger": "launch"},
     soon(holds(world, 2, MAP)), asked(world.poll(1), *needed(world, 2, 1), {"url": offer["download"], "times": [0, 1]}, {"url": map_two, "times": [0, 1]}), features=["deltas"])
case("a delta of one that isn't held isn't fetched", ["D-35", "D-174"], first, serve(world.origin(2, 1, deltas={MAP: offer}), delta, world.files(2, 1), fresh=True), later(), to_two, gets(world, 2, MAP),
     features=["deltas"])
metered, free = {"conditions": {"network": "metered"}}, {"conditions": {"network": "unmetered"}}
case("metered, nothing of it comes", ["D-117", "D-174", "D-176"], has_one(world, MAP, meteredLimit=50), offers(world, 2, 1), metered, trigger(world.poll(1)), {"state": {"version": "2"}}, ask(APP, local(LINES + "two"), asks=[world.url(2, APP)]),
     free, {"trigger": "foreground"}, soon(holds(world, 2, MAP)))
case("a first install on a metered network leaves lazy files out later, too", ["D-118", "D-174"], serve(world.origin(1), world.files(1)), start(meteredLimit=50), metered, trigger(world.poll()),
     {"state": {"version": "1", "files": {}}}, free, {"trigger": "foreground"}, soon(holds(world, 1)), asked(*needed(world, 1)), later(), trigger(world.poll(1)), holds(world, 1))
case("a page gets one on a metered network", ["D-175"], has_one(world, meteredLimit=50), metered, gets(world, 1, DE), holds(world, 1, DE))

# Room.

LARGE = SITE + "/large.bin"
roomy = published({INDEX: "<p>one", LARGE: lazy("0123456789abcdef" * 40_000)})
case("a disk that has no room for lazy files", ["D-120", "D-174"], {"fill": 60_000}, serve(roomy.origin(1), rule(roomy.url(1, LARGE), fill={"text": "0123456789abcdef", "times": 40_000}), rule(roomy.url(1, INDEX), text="<p>one")),
     start(), trigger(roomy.poll(), roomy.url(1, INDEX)), ask(INDEX, local("<p>one"), asks=[]), ask(LARGE, {"status": 200, "bytes": 640_000, "orNetwork": True}), ask(INDEX, local("<p>one")), disk="420k")
names = [f"{SITE}/{name}.txt" for name in "abcd"]
four = published({url: lazy(url[-5] * 4000) if url == names[0] else url[-5] * 4000 for url in names})
case("lazy files don't count in the limit before they are there", ["D-121", "D-174"], serve(four.origin(1), four.files(1)), start(diskLimit=3 * 4096), trigger(four.poll(), *needed(four, 1)),
     holds(four, 1), ask(names[0], local("a" * 4000)), {"memoryShort": True}, {"state": {"version": "1", "most": 3}, "eventually": True})

# Polls.

plain = published({INDEX: "<p>one", APP: LINES + "one"}, {INDEX: "<p>two", APP: LINES + "two", MAP: lazy(LINES + "map")}, {INDEX: "<p>three", APP: LINES + "two"})
case("`lazy=1` comes with `pack=1`, while the manifest has a lazy entry, and no sooner", ["D-177"], serve(plain.origin(1), plain.files(1)), start(), trigger(plain.poll(), *plain.downloads(1)),
     offers(plain, 2, 1), trigger(plain.poll(1), *needed(plain, 2, 1)), later(), trigger(plain.poll(2)), {"stop": True}, start(), later(), trigger(plain.poll(2)),
     offers(plain, 3, 2), trigger(plain.poll(2), plain.url(3, INDEX)), later(), trigger(plain.poll(3)), **PACKS)
away = published({INDEX: "<p>one", "https://bank.test/a.map": lazy("map")})
case("an entry of another host counts", ["D-93", "D-177"], serve(away.origin(1), away.files(1)), start(), trigger(away.poll(), away.url(1, INDEX)), later(), trigger(away.poll(1)), **PACKS)

# Packs.

made, bounds = pack(world, 1, 2)
answer, url = world.with_pack(1, 2, made)
packed = poll_rule({"version": "1", "pack": "1", "lazy": "1"}, json=answer)
fallback = [world.origin(2, 1), world.files(2, 1)]
tried = {"url": url, "times": [1, 6]}
case("a pack that leaves lazy files out", ["D-178"], first, serve(packed, rule(url, data=made), fresh=True), later(), trigger(world.poll(1), url), holds(world, 2), keeps(world, 2, APP),
     serve(world.files(2)), gets(world, 2, MAP), **PACKS)
case("what it leaves out, and was held, comes after the switch", ["D-176", "D-178"], held, serve(packed, rule(url, data=made), world.files(2, 1), fresh=True), later(), {"trigger": "launch"},
     soon(holds(world, 2, MAP)), asked(world.poll(1), url, map_two), **PACKS)
case("on a metered network it waits", ["D-116", "D-176", "D-178"], has_one(world, MAP, meteredLimit=100_000), serve(packed, rule(url, data=made), world.files(2, 1), fresh=True), later(), metered,
     trigger(world.poll(1), url), holds(world, 2), free, {"trigger": "foreground"}, soon(holds(world, 2, MAP)), **PACKS)
moved = published({INDEX: "<p>one", DE: lazy("hallo"), FR: lazy("salut")}, {
    INDEX: "<p>one", DE: lazy("hallo", headers={"Cross-Origin-Resource-Policy": "cross-origin"}), FR: "salut"})
moving, moves = moved.with_pack(1, 2, moved_pack := pack(moved, 1, 2)[0])
case("what it leaves out, and has the same bytes as before, stays", ["D-52", "D-178"], has_one(moved, DE), serve(poll_rule({"version": "1", "pack": "1", "lazy": "1"}, json=moving), rule(moves, data=moved_pack), fresh=True),
     later(), trigger(moved.poll(1), moves), moved.holds(2), ask(DE, local("hallo", Cross_Origin_Resource_Policy="cross-origin"), asks=[]), **PACKS)
case("and isn't fetched if it wasn't held", ["D-174", "D-178"], has_one(moved), serve(poll_rule({"version": "1", "pack": "1", "lazy": "1"}, json=moving), rule(moves, data=moved_pack), fresh=True),
     later(), trigger(moved.poll(1), moves), holds(moved, 2), **PACKS)
old_pack, _ = pack(plain, 1, 2)
old_answer, old_url = plain.with_pack(1, 2, old_pack)
case("a pack over a version without lazy entries has all files", ["D-177", "D-178"], serve(plain.origin(1), plain.files(1)), start(), trigger(plain.poll(), *plain.downloads(1)),
     serve(poll_rule({"version": "1", "pack": "1"}, json=old_answer), rule(old_url, data=old_pack), fresh=True), later(), trigger(plain.poll(1), old_url), has(plain, 2), keeps(plain, 2, APP), **PACKS)


def other(part, change):
    return lambda name, data: change(data) if name == part else data


wrong = {
    "with another digest": other("identity", lambda data: data[:20] + bytes([data[20] ^ 1]) + data[21:]), "with another MD5": other("identity", lambda data: bytes([data[0] ^ 1]) + data[1:]),
    "with another size": other("identity", lambda data: data[:-1] + bytes([data[-1] ^ 1])), "with a size in another form": other("identity", lambda data: data[:48] + b"\x85\x80\x00"),
    "without the identity": other("identity", lambda data: b""), "with half an identity": other("identity", lambda data: data[:30]),
    "that calls itself one of the first kind": other("head", lambda data: b"XPK1" + data[4:]), "of a third kind": other("head", lambda data: b"XPK3" + data[4:]),
    "that says it has a record more": other("head", lambda data: data[:70] + bytes([data[70] + 1]) + data[71:]),
}
for name, damage in wrong.items():
    bad_pack, _ = pack(world, 1, 2, damage)
    bad_answer, bad_url = world.with_pack(1, 2, bad_pack)
    case(f"a pack {name} costs the same question without pack=1, and without lazy=1", ["D-41", "D-177", "D-178"], first,
         serve(poll_rule({"version": "1", "pack": "1", "lazy": "1"}, json=bad_answer), rule(bad_url, data=bad_pack), fallback, fresh=True), later(),
         trigger(world.poll(1), {"url": bad_url, "times": [1, 6]}, world.poll(1, pack=False), *[{"url": one, "times": [0, 1]} for one in needed(world, 2, 1)]), holds(world, 2), **PACKS)
twins = published({INDEX: "<p>one", DE: lazy(LINES + "hallo")}, {INDEX: "<p>two", DE: lazy(LINES + "bonjour"), FR: lazy("salut"), SITE + "/new.js": LINES + "bonjour"})
for name, sources in {"that copies what it leaves out": {SITE + "/new.js": (6, 1)}, "with a source of 9": {DE: 9}, "that builds on a lazy file that isn't held": {DE: 2}}.items():
    bad_pack, _ = pack(twins, 1, 2, sources=sources)
    bad_answer, bad_url = twins.with_pack(1, 2, bad_pack)
    case(f"a pack {name} costs a patch", ["D-41", "D-178"], has_one(twins),
         serve(poll_rule({"version": "1", "pack": "1", "lazy": "1"}, json=bad_answer), rule(bad_url, data=bad_pack), twins.origin(2, 1), twins.files(2, 1), fresh=True), later(),
         trigger(twins.poll(1), {"url": bad_url, "times": [1, 6]}, twins.poll(1, pack=False), *[{"url": one, "times": [0, 1]} for one in needed(twins, 2, 1)]), has(twins, 2),
         ask(SITE + "/new.js", local(LINES + "bonjour"), asks=[]), **PACKS)
lacking, _ = pack(world, 1, 2, sources={APP: 8})
lacking_answer, lacking_url = world.with_pack(1, 2, lacking)
case("a pack that leaves out a file that isn't lazy switches nothing before that is there", ["D-60", "D-178"], first,
     serve(poll_rule({"version": "1", "pack": "1", "lazy": "1"}, json=lacking_answer), rule(lacking_url, data=lacking), fallback, fresh=True), later(),
     trigger(world.poll(1), {"url": lacking_url, "times": [1, 6]}, {"url": world.poll(1, pack=False), "times": [0, 1]}, *[{"url": one, "times": [0, 1]} for one in needed(world, 2, 1)]),
     holds(world, 2), keeps(world, 2, APP), **PACKS)
case("a torn one goes on by Range", ["D-42", "D-178"], first, serve(packed, rule(url, data=made, times=1, fault={"torn": bounds[-1] + 3}), rule(url, data=made), fresh=True), later(),
     trigger(world.poll(1), url, {"url": url, "headers": {"range": "*"}}), holds(world, 2), **PACKS)
case("a device that is killed in one goes on with it", ["D-43", "D-178"], first, serve(packed, rule(url, data=made, times=1, fault={"kill": bounds[-1] + 3}), rule(url, data=made), fresh=True), later(),
     {"trigger": "launch", "dies": True, "asks": [world.poll(1), url]}, start(), holds(world, 1), later(), trigger(world.poll(1), url), holds(world, 2), **PACKS)
case("one that is missing costs a patch", ["D-41", "D-177"], first, serve(packed, fallback, fresh=True), later(), trigger(world.poll(1), tried, world.poll(1, pack=False), *needed(world, 2, 1)), holds(world, 2), **PACKS)
fallen = [*first, serve(world.mirror(1), fresh=True), [later(), trigger(world.poll(1))] * 5, later(37), trigger(world.poll(1)), later(40)]
case("a copy's", ["D-15", "D-178"], fallen, serve(rule(world.copy("update/1-2.json"), json=answer), rule(url, data=made), world.mirror(2, 1), fresh=True),
     trigger(world.copy("version.json"), world.copy("update/1-2.json"), url), holds(world, 2), **PACKS)
case("a copy's patch", ["D-15", "D-174"], fallen, serve(world.mirror(2, 1), world.files(2, 1), fresh=True),
     trigger(world.copy("version.json"), world.copy("update/1-2.json"), world.copy("patch/1-2.json"), *needed(world, 2, 1)), holds(world, 2), **PACKS)

# Values.

for name, value in {"false": False, "null": None, "1": 1, "a text": "true", "a list": [], "an object": {"when": "asked"}}.items():
    refused = published({INDEX: "<p>one"})
    refused.raw({INDEX: refused.entry(INDEX, "<p>two", 2), MAP: refused.entry(MAP, "map", 2) | {"lazy": value}}, 2)
    case(f"an entry whose `lazy` is {name} is refused", ["D-25", "D-174"], got(refused), serve(poll_rule({}, json=refused.whole(2)), refused.files(2), fresh=True), later(),
         trigger(*tries(refused)), refused.holds(1), ask(INDEX, local("<p>one")))
broken = published(ONE)
broken.raw(broken.maps[1] | {DE: broken.maps[1][DE] | {"lazy": False}}, 2)
case("a patch that makes it false is refused", ["D-25", "D-174"], has_one(broken), serve(broken.origin(2, 1), broken.files(2), fresh=True), later(), trigger(*tries(broken)), holds(broken, 1))
taken = published(ONE)
taken.publish({INDEX: "<p>one", APP: LINES + "one", MAP: lazy(LINES + "map one"), DE: "hallo"})
case("one that removes it makes the file one that changed", ["D-32", "D-174"], has_one(taken), offers(taken, 2, 1), trigger(taken.poll(1), taken.url(2, DE)), holds(taken, 2))
form_pack, _ = pack(broken, 1, 2, sources={DE: 4})
form_answer, form_url = broken.with_pack(1, 2, form_pack)
case("a pack with such a form is refused", ["D-41", "D-174"], has_one(broken), serve(poll_rule({"version": "1", "pack": "1"}, json=form_answer), rule(form_url, data=form_pack), broken.origin(2, 1), fresh=True), later(),
     trigger({"url": form_url, "times": [1, 6]}, *[one | ({"times": [1, 3]} if "pack=1" in one["url"] else {}) for one in tries(broken)]), has(broken, 1), keeps(broken, 1, INDEX), **PACKS)
future = published({INDEX: "<p>one", DE: lazy("hallo", when={"idle": True})})
case("a member that isn't known changes nothing of it", ["D-24", "D-174"], has_one(future), holds(future, 1))

# Pages, and the way back.

opened = [{"pageOpen": INDEX, "as": "old"}, ask(INDEX, local("<p>one"), page="old", destination="document")]
case("a page of the version before keeps its lazy files", ["D-85", "D-176"], has_one(world, MAP), opened, offers(world, 2, 1), {"trigger": "launch"}, soon(holds(world, 2, MAP)),
     asked(world.poll(1), *needed(world, 2, 1), map_two), ask(MAP, local(LINES + "map one"), page="old", asks=[]), ask(MAP, local(LINES + "map two"), asks=[]))
skips = f"{world.poll(1)}&skip=2"
fails = [[{"pageOpen": INDEX, "as": name}, ask(INDEX, local("<p>two"), page=name, destination="document"), {"scriptFailed": name}] for name in "ab"]
returned = [{"state": {"version": "1"}}, keeps(world, 1, INDEX), keeps(world, 1, APP)]
case("a device that goes back has the lazy files that it had", ["D-150", "D-154", "D-176"], has_one(world, MAP), offers(world, 2, 1), {"trigger": "launch"}, soon(holds(world, 2, MAP)), later(),
     asked(world.poll(1), *needed(world, 2, 1), map_two), fails, returned, keeps(world, 1, MAP), trigger(skips), features=["healing"])
case("and fetches no others", ["D-154", "D-174", "D-177"], first, offers(world, 2, 1), to_two, later(), fails, returned, holds(world, 1), trigger(skips), serve(world.files(1)), gets(world, 1, MAP),
     features=["healing"])

# Rollouts, presets, trust.

rolled = published(ONE, TWO)
rolled_pack = {(1, 2): pack(rolled, 1, 2)[0]}
at_pack = rolled.with_pack(1, 2, rolled_pack[1, 2])[1]
case("a candidate's pack", ["D-177", "D-178"], has_one(rolled), serve(rolling(rolled, 1, ruling(), rolled_pack), rolled.files(2, 1), fresh=True), later(),
     trigger(rolled.poll(1), candidate(rolled.poll(1)), at_pack), holds(rolled, 2), features=["packs", "rollouts"])


def archive(version, without=()):
    """A preset of a version without some files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in [("manifest.json", canonical(world.whole(version)))] + [
                ("files/" + file_name(url), world.data[entry["download"]]) for url, entry in world.maps[version].items() if url not in without]:
            file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return {"write": "preset.zip", "base64": b64(out.getvalue())}


shipped = dict(preset="preset.zip", build="1")
case("a preset may lack lazy files", ["D-140", "D-174"], archive(1, [MAP, DE]), serve(world.origin(1), world.files(1)), start(**shipped), holds(world, 1), keeps(world, 1, APP), gets(world, 1, MAP))
case("and may have them", ["D-140", "D-174"], archive(1, [MAP]), serve(world.origin(1), world.files(1)), start(**shipped), has(world, 1),
     ask(DE, local("hallo"), asks=[{"url": world.url(1, DE), "times": [0, 1]}]))
of = signed.of
sealed = signed.signed({INDEX: of("<p>one"), DE: of("hallo", lazy=True), FR: of("salut")}, {INDEX: of("<p>one"), DE: of("hallo"), FR: of("salut", lazy=True)})
case("what publishers sign says nothing of it", ["D-174", "T-1"], serve(sealed.answers(1), sealed.files(1)), start(root=signed.ROOT), trigger(sealed.poll(), *needed(sealed, 1)), holds(sealed, 1), later(),
     serve(sealed.answers(2, 1, releases=[], every=[sealed.release(1, "home")]), sealed.files(2, 1), fresh=True), trigger(sealed.poll(1), sealed.url(2, DE)), sealed.holds(2))

books = [book]
