"""Clocks, disks, folders, presets, reports, and network conditions."""
import io, zipfile
from world import *

book = Book("clock")
case = book.case
YEAR = 365 * 24 * 3600
world, steps = one({INDEX: "<p>one"})
on = ask(INDEX, local("<p>one"), asks=[])
for name, seconds in (("an hour", 3600), ("a day", 24 * 3600), ("a year", YEAR), ("twenty years", 20 * YEAR)):
    case(f"a clock that is set back by {name} silences nobody", ["D-130"], steps, later(-seconds), on, trigger(world.poll(1)), trigger(),
         later(), trigger(world.poll(1)))
    case(f"a clock that is set forward by {name} expires nothing", ["D-130"], steps, later(seconds), on, trigger(world.poll(1)), on, world.holds(1),
         later(-seconds), on, trigger(world.poll(1)), later(), trigger(world.poll(1)))
case("set back between two processes", ["D-130"], steps, {"stop": True}, later(-YEAR), start(), on, trigger(world.poll(1)))
case("set back at the copy: the origin is asked soon", ["D-12", "D-130"], steps, serve(world.mirror(1), fresh=True), *[later(), trigger(world.poll(1))] * 5,
     later(-YEAR), trigger(world.poll(1)))
case("a clock at 1970", ["D-130"], steps, later(-1_799_999_000), on, trigger(world.poll(1)), later(), trigger(world.poll(1)))
third = World()
for n in ("one", "two"):
    third.publish({INDEX: f"<p>{n}"})
case("set forward while an update is unfinished", ["D-55", "D-130"], serve(third.origin(1), third.files(1)), start(), trigger(third.poll(), *third.downloads(1)),
     serve(third.origin(2, 1)), later(), trigger(third.poll(1), {"url": third.url(2, INDEX), "times": [1, 6]}), later(YEAR), serve(third.files(2)),
     trigger(third.poll(1), third.url(2, INDEX)), third.holds(2))

# Disks.

clock, book.name, book.cases = book.cases, "disk", []
UNIT = "{:<10}".format
sized = lambda text: UNIT(text) * 10_000  # 100 KB
disk = World()
for n in ("one", "two", "three"):
    disk.publish({INDEX: f"<p>{n}", SITE + "/big.txt": sized(n)})
FILE = SITE + "/big.txt"


def bodies(version):
    unit = disk.data[disk.url(version, FILE)][:10].decode()
    return [rule(disk.url(version, INDEX), data=disk.data[disk.url(version, INDEX)]),
            rule(disk.url(version, FILE), fill={"text": unit, "times": 10_000})]


held = lambda n, text: [{"state": {"version": str(n)}}, ask(INDEX, local(f"<p>{text}")), ask(FILE, {"status": 200, "bytes": len(sized(text))})]
first = [serve(disk.origin(1), bodies(1)), start(), trigger(disk.poll(), *disk.downloads(1))]
small = {"disk": "420k"}
case("a full disk fails the update and loses nothing", ["D-120"], first, {"fill": 20000}, serve(disk.origin(2, 1), bodies(2)), later(),
     trigger(disk.poll(1), *[{"url": url, "times": [0, 6]} for url in disk.downloads(2, 1)]), held(1, "one"),
     {"fill": None}, later(), trigger(disk.poll(1), *[{"url": url, "times": [0, 1]} for url in disk.downloads(2, 1)]), held(2, "two"), **small)
case("a full disk takes what was set aside first", ["D-120"], first, serve(disk.origin(2, 1), bodies(2)), later(), trigger(disk.poll(1), *disk.downloads(2, 1)),
     {"fill": 60000}, serve(disk.origin(3, 2), bodies(3)), later(),
     trigger(disk.poll(2), *[{"url": url, "times": [1, 6]} for url in disk.downloads(3, 2)]), held(3, "three"), **small)
case("a disk that is full at the start answers what it has", ["D-120"], first, {"stop": True}, {"fill": 0}, {"open": {}, "gives": "any"},
     ask(INDEX, local("<p>one") | {"orNetwork": True}), ask(FILE, {"status": 200, "bytes": len(sized("one")), "orNetwork": True}),
     {"stop": True}, {"fill": None}, start(), held(1, "one"), **small)
case("a first start on a full disk: the network", ["D-81", "D-120"], {"fill": 0}, serve(disk.origin(1), bodies(1)), {"open": {}, "gives": "any"},
     {"trigger": "launch"}, ask(INDEX, "network"), ask(FILE, "network"), **small)
case("a file that was lost and finds no room: the network", ["D-79", "D-120"], first, {"stop": True}, {"damage": "<p>one", "how": "remove"}, {"fill": 0},
     {"open": {}, "gives": "any"}, ask(INDEX, local("<p>one") | {"orNetwork": True}), **small)
killing = rule(ORIGIN + "/policy.json", json={"code": 200, "data": {"version": "1", "intercept": False, "bypass": [], "scripts": []}})
case("the kill switch acts although it can't be written", ["D-96", "D-120"], first, {"fill": 0}, serve(disk.origin(1, policy="1"), killing), later(),
     trigger(disk.poll(1), ORIGIN + "/policy.json?app=shop&channel=online"), ask(INDEX, "network"), **small)
case("a pack on a full disk", ["D-41", "D-120"], first, {"fill": 20000},
     (lambda made: (lambda answer: [serve(disk.origin(2, 1), bodies(2)), serve(poll_rule({"pack": "1", "version": "1"}, json=answer[0]), rule(answer[1], data=made)), later(),
      {"trigger": "launch"}, held(1, "one"), {"fill": None}, later(), {"trigger": "launch"}, held(2, "two")])(disk.with_pack(1, 2, made)))(pack(disk, 1, 2)[0]),
     features=["packs"], **small)
four = World()
NAMES = [f"{SITE}/{name}.txt" for name in "abcd"]
four.publish({url: url[-5] * 4000 for url in NAMES})
get = lambda url: ask(url, {"status": 200, "bytes": 4000})
limited = [serve(four.origin(1), four.files(1)), start(diskLimit=3 * 4096), {"trigger": "launch"}]
case("a manifest above the disk limit is no error", ["D-121", "D-122"], limited, {"state": {"version": "1", "most": 3}},
     *[get(url) for url in NAMES], *[get(url) for url in reversed(NAMES)], {"state": {"version": "1", "most": 3}, "eventually": True})
case("what was used least recently goes first", ["D-121"], limited, *[[get(url), {"memoryShort": True}] for url in [*NAMES, *NAMES[1:], NAMES[0]]],
     {"state": {"lacks": [NAMES[1]], "most": 3}, "eventually": True})
case("and not what was used last", ["D-121"], limited, *[[get(url), {"memoryShort": True}] for url in NAMES],
     {"state": {"lacks": [NAMES[0]], "most": 3}, "eventually": True})

# The device deletes a failed update's files to make room.
case("a kill switch that comes on a full disk outlives the process", ["D-95", "D-120"], first, serve(disk.origin(2, 1), bodies(2)[1:], fresh=True), later(),
     {"trigger": "launch"}, held(1, "one")[0], {"fill": 0}, serve(disk.origin(2, 1, policy="1"), killing, fresh=True), later(), {"trigger": "launch"},
     ask(INDEX, "network"), {"kill": True}, serve(fresh=True), start(), ask(INDEX, "network"), {"state": {"policy": "1"}}, **small)
wordy = rule(ORIGIN + "/policy.json", fill={"before": '{"code":200,"data":{"bypass":[],"intercept":false,"rest":"', "text": "x" * 100, "times": 500,
                                            "after": '","scripts":[],"version":"1"}}'})
case("a long one, too", ["D-95", "D-120"], first, serve(disk.origin(2, 1), bodies(2)[1:], fresh=True), later(),
     {"trigger": "launch"}, held(1, "one")[0], {"fill": 0}, serve(disk.origin(2, 1, policy="1"), wordy, fresh=True), later(), {"trigger": "launch"},
     ask(INDEX, "network"), {"kill": True}, serve(fresh=True), start(), ask(INDEX, "network"), {"state": {"policy": "1"}}, **small)

# Folders, apps and channels.

# Six minutes with a full disk: the file isn't downloaded with each poll, and the kill switch arrives.
case("a version that finds no room isn't fetched with each poll", ["D-120"], first, {"fill": 20000}, serve(disk.origin(2, 1), bodies(2)),
     [later(), {"trigger": "launch"}] * 12,
     {"serve": [], "asks": [{"url": disk.poll(1), "times": [12, 12]}, *[{"url": url, "times": [0, 8]} for url in disk.downloads(2, 1)]]}, held(1, "one"),
     serve(disk.origin(2, 1, policy="1"), killing), later(), {"trigger": "launch"}, ask(FILE, "network"), {"state": {"version": "1", "policy": "1"}},
     {"fill": None}, later(3600), {"trigger": "launch"}, later(), {"trigger": "launch"}, {"state": {"version": "2"}}, **small)
disks, book.name, book.cases = book.cases, "folder", []
a = World("shop", "online")
a.publish({INDEX: "<p>online"})
b = World("shop", "test", number=1)
b.publish({INDEX: "<p>test"})
c = World("news", "online", number=2)
c.publish({INDEX: "<p>news"})


def device(name, *steps):
    return [step | {"device": name} for step in flat(steps)]


def answers(world, version=1, base=None):
    return [one | {"query": one["query"] | {"app": world.app, "channel": world.channel}} for one in world.origin(version, base)] + world.files(version, base)


everyone = [serve(answers(a), answers(b), answers(c)),
            device("a", start(folder="a"), trigger(a.poll(), *a.downloads(1))),
            device("b", start(folder="b", channel="test"), trigger(b.poll(), *b.downloads(1))),
            device("c", start(folder="c", app="news"), trigger(c.poll(), *c.downloads(1)))]
texts = [device("a", ask(INDEX, local("<p>online"))), device("b", ask(INDEX, local("<p>test"))), device("c", ask(INDEX, local("<p>news")))]
case("apps and channels side by side", ["D-135"], everyone, texts)
b.publish({INDEX: "<p>test 2"})
case("one channel's release is no other's", ["D-135"], everyone, serve(answers(b, 2, 1)), later(),
     device("a", trigger(a.poll(1))), device("b", trigger(b.poll(1), *b.downloads(2, 1))), device("c", trigger(c.poll(1))),
     device("a", ask(INDEX, local("<p>online"))), device("b", ask(INDEX, local("<p>test 2"))))
b.newest = 1
case("a channel's copy is its own", ["D-15", "D-135"], serve(answers(b)), device("b", start(folder="b", channel="test"), trigger(b.poll(), *b.downloads(1))),
     serve(fresh=True), *[later(), device("b", trigger(b.poll(1)))] * 5, later(37), device("b", trigger(b.poll(1))), later(40),
     device("b", trigger(b.copy("version.json"))))
case("a folder of another channel isn't touched", ["D-135"], everyone, device("b", {"stop": True}), device("d", {"open": {"folder": "b"}, "gives": "fault"}),
     device("d", ask(INDEX, "network")), device("d", {"stop": True}), device("b", start(folder="b", channel="test"), ask(INDEX, local("<p>test"))))
case("a folder of another app isn't touched", ["D-135"], everyone, device("c", {"stop": True}), device("d", {"open": {"folder": "c"}, "gives": "fault"}),
     device("d", ask(INDEX, "network")), device("d", {"stop": True}), device("c", start(folder="c", app="news"), ask(INDEX, local("<p>news"))))
case("a second process on a folder passes everything on", ["D-136"], everyone, device("d", {"open": {"folder": "a"}, "gives": "fault"}), device("d", ask(INDEX, "network")),
     device("a", ask(INDEX, local("<p>online"))), device("d", trigger()), device("a", {"kill": True}), device("d", {"stop": True}),
     device("e", start(folder="a"), ask(INDEX, local("<p>online"))))
for name, notes in {"garbage": "\u0000\u0001 garbage", "nothing": "", "another format": '{"format":99,"index":{}}', "half of them": '{"app":"shop","channel":"online","dig'}.items():
    world, first = one({INDEX: "<p>one", APP: "let one"})
    case(f"notes with {name} cost no page", ["D-81", "D-137"], first, {"stop": True}, {"damageNotes": notes, "keep": ["<p>one", "let one"]},
         {"open": {}, "gives": "any"}, ask(INDEX, local("<p>one") | {"orNetwork": True}), ask(APP, local("let one") | {"orNetwork": True}),
         later(), {"trigger": "launch"}, world.holds(1), ask(INDEX, local("<p>one")))
case("a device without its folder starts anew", ["D-81", "D-137"], first, {"stop": True}, {"damageNotes": "", "keep": []}, {"open": {}, "gives": "any"},
     later(), {"trigger": "launch"}, world.holds(1), ask(APP, local("let one")))
case("a folder with somebody else's files isn't touched", ["D-135"], {"write": "device/letters.txt", "base64": "aGVsbG8="},
     {"open": {}, "gives": "fault"}, ask(INDEX, "network"), trigger(), {"stop": True}, {"present": "device/letters.txt"})
case("a process whose folder was deleted, and made again by another one, passes everything on", ["D-136"], everyone, {"removeFolder": "a"},
     device("e", start(folder="a"), {"trigger": "launch"}, ask(INDEX, local("<p>online"))), later(), device("a", {"trigger": "launch"}, ask(INDEX, "network")),
     device("e", ask(INDEX, local("<p>online"))))

# Presets.

piped, steps = one({INDEX: "<p>one", APP: "let one"})
case("a FIFO where a file belongs keeps nobody waiting, and is replaced", ["D-138"], steps, {"stop": True}, {"damage": "let one", "how": "fifo"}, start(),
     ask(APP, local("let one"), asks=[piped.url(1, APP)]), ask(INDEX, local("<p>one"), asks=[]))
case("folders where notes belong cost no page", ["D-81", "D-137", "D-138"], steps, {"stop": True}, {"damageNotes": None, "keep": ["<p>one", "let one"]},
     {"open": {}, "gives": "any"}, ask(INDEX, local("<p>one") | {"orNetwork": True}), later(), {"trigger": "launch"}, piped.holds(1), ask(INDEX, local("<p>one")),
     {"stop": True}, start(), piped.holds(1))
case("a folder where a file belongs is replaced", ["D-138"], steps, {"stop": True}, {"damage": "let one", "how": "folder"}, start(),
     ask(APP, local("let one"), asks=[piped.url(1, APP)]), piped.holds(1))
folders, book.name, book.cases = book.cases, "preset", []
world = World()
for n in ("one", "two", "three"):
    world.publish({INDEX: f"<p>{n}", APP: "let it be"})


def archive(version, change=None, more=()):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        files = {"manifest.json": canonical(world.whole(version))}
        for url, entry in world.maps[version].items():
            files["files/" + file_name(url)] = world.data[entry["download"]]
        for name, data in list((change or (lambda files: files))(files).items()) + list(more):
            file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return {"write": "preset.zip", "base64": b64(out.getvalue())}


shipped = dict(preset="preset.zip", build="1")
case("the first start, offline, opens the page", ["D-140"], archive(2), serve(fresh=True), start(**shipped), ask(INDEX, local("<p>two"), asks=[]), world.holds(2))
case("the first poll asks for what changed since", ["D-1", "D-140"], archive(2), serve(world.origin(3, 2), world.files(3, 2)), start(**shipped),
     trigger(world.poll(2), *world.downloads(3, 2)), world.holds(3))
newer = [serve(world.origin(3), world.files(3)), archive(2), start(build="1"), trigger(world.poll(), *world.downloads(3)), {"stop": True}]
case("what was downloaded and is newer stays", ["D-140"], newer, start(**shipped), world.holds(3), ask(INDEX, local("<p>three")))
case("an app's upgrade brings a newer preset", ["D-140"], archive(1), start(**shipped), world.holds(1), {"stop": True}, archive(2), start(preset="preset.zip", build="2"),
     world.holds(2), ask(INDEX, local("<p>two")))
for name, zip in {"isn't there": {"write": "other.zip", "base64": ""}, "is no zip": {"write": "preset.zip", "base64": b64(b"PK no zip")},
                  "has a wrong file": archive(2, lambda files: {**files, "files/" + file_name(INDEX): b"<p>666"}),
                  "lacks a file": archive(2, lambda files: {name: data for name, data in files.items() if "index" not in name}),
                  "has no manifest": archive(2, lambda files: {name: data for name, data in files.items() if name != "manifest.json"}),
                  "has a manifest of another digest": archive(2, lambda files: {**files, "manifest.json": files["manifest.json"].replace(b'"digest":"', b'"digest":"00', 1)}),
                  }.items():
    case(f"a preset that {name} costs nothing else", ["D-140", "D-141"], zip, serve(world.origin(1), world.files(1)), start(**shipped), ask(INDEX, "network"),
         trigger(world.poll(), *[{"url": url, "times": [0, 1]} for url in world.downloads(1)]), world.holds(1))
case("names in a preset lead nowhere else", ["D-22", "D-141"], archive(2, more=[("../../escaped", b"x"), ("files/../../../escaped", b"x"), ("/tmp/escaped", b"x")]), start(**shipped),
     ask(INDEX, {**local("<p>two"), "orNetwork": True}), {"absent": "escaped"})
bank = World()
bank.publish({INDEX: "<p>one", "https://bank.test/": "<p>money"})
out = io.BytesIO()
with zipfile.ZipFile(out, "w") as file:
    for name, data in [("manifest.json", canonical(bank.whole(1)))] + [("files/" + file_name(url), bank.data[bank.url(1, url)]) for url in bank.maps[1]]:
        file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
case("a preset that lists a bank", ["D-90", "D-141"], {"write": "preset.zip", "base64": b64(out.getvalue())}, start(**shipped), ask("https://bank.test/", "network"),
     ask(INDEX, local("<p>one")))

# Reports.

presets, book.name, book.cases = book.cases, "report", []
world, steps = two({INDEX: "<p>one"}, {INDEX: "<p>two"})
for name, reason, answer in (("with other bytes", "integrity", [rule(world.url(2, INDEX), text="<p>666")]), ("that is missing", "not-found", []),
                             ("that always fails", "download", [rule(world.url(2, INDEX), status=500, text="no")]),
                             ("that is torn", "download", [rule(world.url(2, INDEX), text="<p>two", ranges=False, fault={"torn": 2})])):
    case(f"a file {name} is told once", ["D-125"], steps, serve(world.origin(2, 1), answer, fresh=True), *[[{"trigger": "launch"}, later()]] * 3,
         {"told": [{"reason": reason, "url": INDEX, "version": "2"}]})
lying = world.whole(2)
lying["data"]["digest"] = "0" * 64
case("a manifest that can't be held is told", ["D-125"], steps, serve(poll_rule({}, json=lying), fresh=True), {"trigger": "launch"}, {"told": [{"url": "", "version": "2"}]})
case("an entry of another host is told", ["D-90", "D-125"], serve(bank.origin(1), bank.files(1)), start(), {"trigger": "launch"},
     {"told": [{"reason": "manifest", "url": "https://bank.test/", "version": "1"}]})
case("reports that can't be sent cost nothing", ["D-125"], steps, serve(world.origin(2, 1), rule(ORIGIN + "/report", method="POST", fault={"reset": True}), fresh=True),
     {"trigger": "launch"}, world.holds(1), serve(world.files(2, 1)), later(), {"trigger": "launch"}, world.holds(2))
case("what always fails is told once by the end of the process", ["D-125"], steps, serve(world.origin(2, 1), rule(world.url(2, INDEX), text="<p>666"), fresh=True),
     *[[{"trigger": "launch"}, later()]] * 3, {"stop": True}, {"told": [{"reason": "integrity", "url": INDEX, "version": "2"}]})

# Network conditions.

reports, book.name, book.cases = book.cases, "network", []
world, steps = two({INDEX: "<p>one", APP: LINES + "one"}, {INDEX: "<p>two", APP: LINES + "two"}, meteredLimit=100_000)
tight = [one | ({"open": {"meteredLimit": 50}} if "open" in one else {}) for one in steps]
made, _ = pack(world, 1, 2)
answer, url = world.with_pack(1, 2, made)
packed = [serve(poll_rule({"pack": "1", "version": "1"}, json=answer), rule(url, data=made), world.origin(2, 1), world.files(2, 1), fresh=True)]
metered = {"conditions": {"network": "metered"}}
free = {"conditions": {"network": "unmetered"}}
case("without a network nothing is asked", ["D-115"], steps, {"conditions": {"network": "offline"}}, trigger(), trigger(kind=["foreground", "push"]), ask(INDEX, local("<p>one"), asks=[]),
     free, trigger(world.poll(1), *world.downloads(2, 1)) , world.holds(2))
case("metered: a small pack is taken just so", ["D-116"], steps, packed, metered, trigger(world.poll(1), url), world.holds(2), features=["packs"])
switched = [tight, packed, metered, trigger(world.poll(1), world.poll(1, pack=False)), {"state": {"version": "2", "files": {}}}]
case("metered: above the limit the device switches at once and fetches nothing", ["D-117"], switched, ask(INDEX, local("<p>two"), asks=[world.url(2, INDEX)]),
     world.holds(2, only=[INDEX]), features=["packs"])
case("unmetered, the rest comes", ["D-118"], switched, free, {"trigger": "foreground"}, world.holds(2) | {"eventually": True}, features=["packs"])
case("what waits is remembered over a restart", ["D-118"], switched, {"stop": True}, start(meteredLimit=50), later(), {"trigger": "launch"}, world.holds(2) | {"eventually": True},
     features=["packs"])
case("data saver counts as metered", ["D-119"], tight, packed, {"conditions": {"network": "unmetered", "dataSaver": True}}, trigger(world.poll(1), world.poll(1, pack=False)),
     {"state": {"version": "2", "files": {}}}, features=["packs"])
case("metered, without a pack: a patch switches at once", ["D-117"], tight, metered, trigger(world.poll(1)), {"state": {"version": "2", "files": {}}},
     ask(APP, local(LINES + "two"), asks=[world.url(2, APP)]))

books = []
for name, cases in (("clock", clock), ("disk", disks), ("folder", folders), ("preset", presets), ("report", reports), ("network", book.cases)):
    books.append(Book(name))
    books[-1].cases = cases
