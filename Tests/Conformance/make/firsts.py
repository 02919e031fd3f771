"""First packs: a device that holds no manifest gets all files in one download, and may use them as they come."""
import random

import signed
from packs import first_pack
from rollouts import candidate, rule as ruling
from world import *

book = Book("first")
PART, LAST, DE = SITE + "/part.js", SITE + "/last.js", SITE + "/locales/de.json"
# Text that doesn't compress well, so that a file of it takes a while to come.
NOISE = {name: random.Random(name).randbytes(300).hex() for name in ("app", "part", "last", "next")}
FILES = {INDEX: "<p>one", APP: "let app=" + NOISE["app"], STYLE: "a{}" + LINES, PART: "let part=" + NOISE["part"], LAST: "let last=" + NOISE["last"]}
ORDER = [INDEX, APP, STYLE, PART, LAST]


def case(name, rules, *steps, features=(), **members):
    book.case(name, rules, *steps, features=["first", *features], **members)


# Of devices that ignore first packs, too.
always = book.case


def lazy(text):
    return text, {"lazy": True}


def published(*maps):
    world = World()
    for files in maps:
        world.publish(files)
    return world


def content(world, version, urls):
    return [world.data[world.url(version, url)] for url in urls]


def told(world, version, answer):
    """An origin's answers, of which the whole manifest names a first pack."""
    query = {"app": world.app, "channel": world.channel}
    return [poll_rule(query | held_query(world, version), world.nothing(version)), poll_rule(query, answer)]


class Offer:
    """A world's first pack: its bytes, where each file ends in it, and the answer that names it."""

    def __init__(self, world, urls=ORDER, version=1, more=(), damage=None, change=None, made_for=None, **options):
        self.world, self.version = world, version
        made_for = made_for or version
        data, self.ends = first_pack(made_for, content(world, made_for, urls) + list(more), damage, **options)
        self.data = change(data) if change else data
        self.answer, self.url = world.with_first(version, self.data, made_for)

    def serve(self, files=True, **members):
        """Answers to a device; the files are a step of their own, which many cases share."""
        others = [serve(self.world.files(self.version), fresh=True)] if files else []
        return [*others, serve(told(self.world, self.version, self.answer), rule(self.url, data=self.data, **members), fresh=not files)]

    def installs(self, *asks):
        """The first poll, and what it leads to; a device may hold the manifest before all of its files."""
        return [{"trigger": "launch"}, installed(self.world, self.version), asked(self.world.poll(), *(asks or [self.url]))]

    def ranged(self, **headers):
        return {"url": self.url, "headers": {"range": "*", **headers}}


def soon(check, **members):
    return check | {"eventually": True, **members}


def asked(*asks):
    return {"serve": [], "asks": list(asks)}


def installed(world, version=1, without=()):
    left = [url for url, entry in world.maps[version].items() if "lazy" in entry]
    return soon(world.holds(version, without=[*left, *without]))


def has(world, *urls, version=1):
    return {"state": {"has": {url: world.texts(version)[url] for url in urls}}}


def maybe(url, most=1):
    return {"url": url, "times": [0, most]}


def each(world, version=1, urls=None, times=(0, 1)):
    return [{"url": world.url(version, url), "times": list(times)} for url in (urls or world.maps[version])]


world = published(FILES, FILES | {INDEX: "<p>two", APP: "let app=" + NOISE["next"]})
offer = Offer(world)
# What a device does with a pack that ends early: all that it asks for, and nothing twice.
quiet = [later(), trigger(world.poll(1)), world.holds(1)]
pages = [ask(url, local(FILES[url]), asks=[]) for url in ORDER]

# Two requests.

case("a first install is two requests", ["D-179"], offer.serve(files=False), start(), offer.installs(), pages, quiet)
case("also after a restart everything is there", ["D-63", "D-179"], offer.serve(files=False), start(), offer.installs(), {"stop": True}, serve(fresh=True), start(), world.holds(1), pages)
case("also one whose frame doesn't say how long it is", ["D-179"], (unsized := Offer(world, sized=False)).serve(files=False), start(), unsized.installs(), quiet)
case("in whatever order the files come", ["D-179"], (backwards := Offer(world, ORDER[::-1])).serve(files=False), start(), backwards.installs(), quiet)
mixed = Offer(world, [], more=[b"other " * 50, *content(world, 1, ORDER[:3]), b"", b"another", *content(world, 1, ORDER[3:]), b"the last one" * 20])
case("files that it doesn't list are passed over", ["D-179"], mixed.serve(files=False), start(), mixed.installs(), quiet)
partial = Offer(world, ORDER[:4])
case("files that aren't in it come one by one", ["D-179"], partial.serve(), start(), partial.installs(partial.url, world.url(1, LAST)), quiet)
older = Offer(world, version=2, made_for=1)
case("it may be of a version before", ["D-179"], older.serve(), start(), older.installs(older.url, world.url(2, INDEX), world.url(2, APP)), later(), trigger(world.poll(2)), world.holds(2))
twins = published(FILES | {SITE + "/twin.js": FILES[PART], SITE + "/empty.js": "", SITE + "/nothing.css": ""})
twin = Offer(twins, [*ORDER, SITE + "/empty.js"])
case("a file of two URLs is in it once, and one may be empty", ["D-52", "D-179"], twin.serve(files=False), start(), twin.installs(), ask(SITE + "/twin.js", local(FILES[PART]), asks=[]),
     ask(SITE + "/empty.js", local(""), asks=[]))
lazies = published(FILES | {DE: lazy("hallo" * 20)})
lazily = Offer(lazies)
case("lazy files aren't in it, and are left out", ["D-174", "D-179"], lazily.serve(), start(), lazily.installs(), ask(DE, local("hallo" * 20), asks=[lazies.url(1, DE)]), later(), trigger(lazies.poll(1)))
bank = published(FILES | {"https://bank.test/money.js": "let money"})
banked = Offer(bank, [*ORDER[:2], "https://bank.test/money.js", *ORDER[2:]])
case("a file of another host is neither taken nor asked for", ["D-90", "D-179"], banked.serve(), start(), {"trigger": "launch"},
     soon({"state": {"version": "1", "files": FILES}}), asked(bank.poll(), banked.url), ask("https://bank.test/money.js", "network", asks=[]), never=["http://bank.test", bank.url(1, "https://bank.test/money.js")])
moved = rule(offer.url, status=302, headers={"Location": CDN + "/elsewhere.xpk"})
case("it may be redirected", ["D-179"], offer.serve(files=False), serve(moved, rule(CDN + "/elsewhere.xpk", data=offer.data)), start(), offer.installs(offer.url, CDN + "/elsewhere.xpk"))
case("it is asked for without a coding", ["D-179"], offer.serve(files=False), start(), offer.installs({"url": offer.url, "headers": {"accept-encoding": "identity"}}))
case("nothing of it stays beside the files", ["D-179"], offer.serve(files=False), start(), offer.installs(), quiet, {"gone": "", "base64": b64(offer.data)})
upgrade = Offer(world, version=2)
renewed = published(FILES, {url: text + "\n// two" for url, text in FILES.items()})
renewal = Offer(renewed, version=2)
always("a device that holds a manifest fetches what changed", ["D-50", "D-179"], serve(renewed.origin(1), renewed.files(1)), start(), trigger(renewed.poll(), *renewed.downloads(1)), renewal.serve(), later(),
       trigger(renewed.poll(1), *renewed.downloads(2, 1)), renewed.holds(2))

# Files as they come: only where a device may switch before it has all of them.

# A file in the middle that takes 20 seconds, at a pace at which no connection is given up.
SLOW = SITE + "/slow.js"
slow = published(FILES | {SLOW: "".join(random.Random("slow").choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", k=40_000))})
slowly = Offer(slow, [*ORDER[:2], SLOW, *ORDER[2:]])
paused = slowly.serve(fault={"drip": 1500, "after": slowly.ends[1] + 5})
begun = [paused, start(), {"trigger": "launch", "background": True}, soon({"state": {"version": "1", "has": {url: FILES[url] for url in ORDER[:2]}}}), asked(slow.poll(), slowly.url)]
done = [{"release": True}, installed(slow)]
case("pages get what has come before the rest has", ["D-180"], begun, ask(INDEX, local("<p>one"), asks=[]), ask(APP, local(FILES[APP]), asks=[]), done, asked(),
     [later(), {"trigger": "launch"}] * 2, asked({"url": slow.poll(1), "times": [1, 2]}), slow.holds(1))
case("a page gets what hasn't come at once, by its own request", ["D-58", "D-180"], begun, ask(LAST, local(FILES[LAST]), asks=[slow.url(1, LAST)]), ask(LAST, local(FILES[LAST]), asks=[]), done, asked(), pages)
case("a page that is opened meanwhile is of this version", ["D-85", "D-180"], begun, {"pageOpen": INDEX, "as": "page"}, ask(INDEX, local("<p>one"), page="page", destination="document"),
     ask(APP, local(FILES[APP]), page="page", asks=[]), ask(PART, local(FILES[PART]), page="page", asks=[slow.url(1, PART)]), done)
case("a listed file that can't be had meanwhile goes to the network", ["D-79", "D-180"], begun, serve(rule(slow.url(1, LAST), status=404, text="no")),
     ask(LAST, "network", asks=[{"url": slow.url(1, LAST), "times": [1, 6]}]), done, ask(LAST, local(FILES[LAST]), asks=[]))
case("what has come outlives the process", ["D-180", "D-183"], begun, {"kill": True}, start(), has(slow, *ORDER[:2]), ask(INDEX, local("<p>one"), asks=[]), ask(APP, local(FILES[APP]), asks=[]))
case("in the middle of a pack, pages get the right bytes or go to the network", ["D-142", "D-180"], paused, start(), {"trigger": "launch", "background": True}, {"arrives": slowly.url},
     *[ask(url, local(FILES[url]) | {"orNetwork": True}) for url in ORDER], {"release": True}, installed(slow), [ask(url, local(FILES[url])) for url in ORDER])

# Interruptions.

torn = {"times": 1, "fault": {"torn": offer.ends[2] + 3}}
again = rule(offer.url, data=offer.data)
case("a torn pack goes on by Range", ["D-183"], offer.serve(files=False), serve(rule(offer.url, data=offer.data, **torn)), start(), offer.installs(offer.url, offer.ranged()), quiet)
case("with the tag of what it goes on with", ["D-183"], offer.serve(files=False), serve(rule(offer.url, data=offer.data, headers={"ETag": '"of the first node"'}, times=1, fault=torn["fault"]),
     rule(offer.url, data=offer.data, headers={"ETag": '"of the first node"'})), start(), offer.installs(offer.url, offer.ranged(**{"if-range": '"of the first node"'})))
case("it goes on wherever it was torn", ["D-183"], offer.serve(files=False), serve(*[rule(offer.url, data=offer.data, times=1, fault={"torn": at}) for at in (3, 70)]), start(),
     {"trigger": "launch"}, installed(world), asked(world.poll(), {"url": offer.url, "times": [3, 3]}), quiet)
case("a server that knows no Range", ["D-183"], offer.serve(files=False, ranges=False), serve(rule(offer.url, data=offer.data, ranges=False, **torn)), start(), offer.installs({"url": offer.url, "times": [2, 2]}))
case("another node with another tag sends all of it", ["D-183"], offer.serve(files=False, headers={"ETag": '"b"'}), serve(rule(offer.url, data=offer.data, headers={"ETag": '"a"'}, **torn)), start(),
     {"trigger": "launch"}, installed(world), asked(world.poll(), {"url": offer.url, "times": [2, 3]}), quiet)
case("a server without tags", ["D-183"], offer.serve(headers={"ETag": None}), serve(rule(offer.url, data=offer.data, headers={"ETag": None}, **torn)), start(), {"trigger": "launch"}, installed(world),
     asked(world.poll(), {"url": offer.url, "times": [2, 3]}, *each(world)), quiet)
case("a captive portal in the middle", ["D-142", "D-183"], offer.serve(), serve(rule(offer.url, text="<p>sign in", ranges=False, times=1)), serve(rule(offer.url, data=offer.data, **torn)), start(),
     {"trigger": "launch"}, installed(world), asked(world.poll(), {"url": offer.url, "times": [2, 6]}, *each(world)), quiet)
case("a connection that stalls", ["D-183"], offer.serve(files=False), serve(rule(offer.url, data=offer.data, times=1, fault={"stall": True})), start(), {"trigger": "launch"}, installed(world),
     asked(world.poll(), {"url": offer.url, "times": [2, 3]}), quiet)
case("one that is reset", ["D-183"], offer.serve(files=False), serve(rule(offer.url, data=offer.data, times=1, fault={"reset": True})), start(), {"trigger": "launch"}, installed(world),
     asked(world.poll(), {"url": offer.url, "times": [2, 3]}), quiet)
case("a server that is busy for a moment", ["D-54", "D-183"], offer.serve(files=False), serve(rule(offer.url, status=503, text="busy", times=1)), start(), {"trigger": "launch"}, installed(world),
     asked(world.poll(), {"url": offer.url, "times": [2, 3]}), quiet)
dies = [offer.serve(), serve(rule(offer.url, data=offer.data, times=1, fault={"kill": offer.ends[2] + 3})), start(), {"trigger": "launch", "dies": True}, asked(world.poll(), offer.url)]
case("a device that is killed in the middle goes on with the pack", ["D-61", "D-183"], dies, start(), later(), {"trigger": "launch"}, installed(world),
     asked(maybe(world.poll()), maybe(world.poll(1)), maybe(offer.url, 2), *each(world, urls=ORDER[1:])), quiet)
case("at the first byte that it lacks", ["D-183"], dies, {"touch": True}, start(), later(), {"trigger": "launch"}, installed(world), asked(world.poll(1), offer.ranged(**{"if-range": "*"})), quiet)
for name, at in {"as it asks for the pack": 0, "in its head": 3, "in its list": 30, "in its first file": offer.ends[0] - 2, "in its last file": offer.ends[3] + 9}.items():
    case(f"a device that is killed {name} has the right files in the end", ["D-61", "D-183"], offer.serve(), serve(rule(offer.url, data=offer.data, times=1, fault={"kill": at})), start(),
         {"trigger": "launch", "dies": True}, start(), later(), {"trigger": "launch"}, installed(world), [ask(url, local(FILES[url])) for url in ORDER])
case("a device that is asked to end in the middle", ["D-61", "D-183"], paused, start(), {"trigger": "launch", "background": True}, {"arrives": slowly.url}, {"stop": True}, {"release": True}, start(), later(),
     {"trigger": "launch"}, installed(slow), asked(slow.poll(), maybe(slow.poll()), maybe(slow.poll(1)), {"url": slowly.url, "times": [2, 3]}), pages)
case("a newer version in the meantime", ["D-183"], dies, start(), later(), serve(world.origin(2, 1), world.files(2), rule(offer.url, data=offer.data), fresh=True), {"trigger": "launch"}, soon(world.holds(2)),
     [ask(url, local(world.texts(2)[url])) for url in ORDER], asked(maybe(world.poll()), maybe(world.poll(1)), maybe(offer.url, 3), *each(world, 2), *each(world, urls=[INDEX, APP])), later(),
     trigger(world.poll(2)), world.holds(2))
case("a pack that is gone after a restart", ["D-183"], dies, start(), later(), serve(told(world, 1, world.whole(1)), world.files(1), fresh=True), {"trigger": "launch"}, installed(world),
     asked(maybe(world.poll()), maybe(world.poll(1)), maybe(offer.url, 6), *each(world)), pages)

# Damage.


def spoilt(name, rules=("D-182",), damage=None, change=None, kept=0, least=1, **options):
    """A pack that can't be used: all files are fetched, except for the first ones of it if these have come before the damage."""
    bad = Offer(world, damage=damage, change=change, sized=False, **options)
    case(f"a first pack {name} is given up", list(rules), bad.serve(), start(), {"trigger": "launch"}, installed(world),
         asked(world.poll(), {"url": bad.url, "times": [least, 6]}, *each(world, urls=ORDER[kept:])), pages, quiet, {"stop": True}, start(), later(), trigger(world.poll(1)), world.holds(1))


def part(which, change):
    return lambda name, data: change(data) if name == which else data


HEAD = 4 + 1 + 1  # the magic number, and two numbers of one byte
LIST = b"".join(hashlib.sha256(raw(FILES[url])).digest()[:16] + number(len(FILES[url])) for url in ORDER)


def head(version=b"\x01", count=b"\x05", length=None, magic=b"XPF1"):
    return part("head", lambda data: magic + version + count + (number(len(LIST)) if length is None else length))


def listing(change):
    return part("list", change)


spoilt("of another kind", damage=head(magic=b"XPF2"))
spoilt("that is an update pack", damage=head(magic=b"XPK1"))
spoilt("of version 0", damage=head(version=b"\0"))
spoilt("with a number in another form", damage=head(version=b"\x81\0"))
spoilt("with a number of nine bytes", damage=head(version=b"\xff" * 8 + b"\x01"))
spoilt("of no files", damage=head(count=b"\0"))
spoilt("that says it has fewer files", damage=head(count=b"\x04"))
spoilt("that says it has more files", damage=head(count=b"\x06"))
spoilt("that says it has a million files and more", damage=head(count=number(2**20 + 1), length=number(40 << 20)))
spoilt("whose list is longer than it may be", damage=head(length=number(40 * 5 + 1)))
spoilt("whose list is said to be of a terabyte", damage=head(count=number(2**20), length=number(2**40)))
spoilt("whose list is shorter than it says", damage=head(length=number(len(LIST) + 3)))
spoilt("whose list is longer than it says", damage=head(length=number(len(LIST) - 3)))
spoilt("whose list has bytes behind its end", damage=lambda name, data: b"XPF1\x01\x05" + number(len(LIST) + 1) if name == "head" else data + b"x" if name == "list" else data)
spoilt("that lists a file twice", damage=lambda name, data: b"XPF1\x01\x06" + number(len(LIST) + 17) if name == "head" else data + LIST[:17] if name == "list" else data)
spoilt("with a size that is too large", damage=listing(lambda data: data[:16] + number(2**53)[:1] + data[17:]))
spoilt("with sizes of more than there can be", damage=lambda name, data: b"XPF1\x01\x05" + number(5 * 24) if name == "head" else b"".join(
    hashlib.sha256(raw(FILES[url])).digest()[:16] + number(2**53 - 1) for url in ORDER) if name == "list" else data)
spoilt("with a size of a file that is larger than listed", damage=listing(lambda data: data[:16] + bytes([data[16] + 1]) + data[17:]))
spoilt("with a size of a file that is smaller than listed", damage=listing(lambda data: data[:16] + bytes([data[16] - 1]) + data[17:]))
spoilt("whose files come in another order than listed", damage=listing(lambda data: b"".join(
    hashlib.sha256(raw(FILES[url])).digest()[:16] + number(len(FILES[url])) for url in ORDER[::-1])))
spoilt("with other bytes of its first file", ["D-181", "D-182"], damage=part(0, lambda data: b"<p>666"))
spoilt("with other bytes of its third file", ["D-181", "D-182"], damage=part(2, lambda data: data[:-1] + b"x"), kept=2)
spoilt("with other bytes of its last file", ["D-181", "D-182"], damage=part(4, lambda data: data[:-1] + b"x"), kept=4)
spoilt("with a file that has a byte more", ["D-181", "D-182"], damage=part(3, lambda data: data + b"x"), kept=3)
spoilt("with a file that has a byte less", ["D-181", "D-182"], damage=part(3, lambda data: data[:-1]), kept=3)
spoilt("whose frame stands for more", damage=part(4, lambda data: data + b"and more"), kept=4)
spoilt("whose frame stands for fewer bytes", damage=part(4, lambda data: data[:-20]), kept=4)
spoilt("whose frame stands for a thousand times as much", damage=part(4, lambda data: data + bytes(5_000_000)), kept=4)
spoilt("whose frame begins with its magic number", damage=part("frame", lambda data: bytes.fromhex("28b52ffd") + data))
spoilt("whose frame is none", damage=part("frame", lambda data: b"no frame at all" * 20))
spoilt("with a window of 128 MiB", window_log=27)
spoilt("that is cut", change=lambda data: data[:-30], kept=4)
spoilt("with bytes behind its end", change=lambda data: data + b"x", kept=4)
spoilt("with another frame behind its end", change=lambda data: data + frame(b"more"), kept=4)
spoilt("of one byte", change=lambda data: data[:1])
spoilt("without a byte", change=lambda data: b"", least=0)
spoilt("of garbage", change=lambda data: b"<html>sign in</html>")
spoilt("that is its list alone", change=lambda data: data[:HEAD + 1 + len(LIST)])
at = offer.ends[3] - 40
spoilt("with a flipped bit", ["D-181", "D-182"], change=lambda data: data[:at] + bytes([data[at] ^ 4]) + data[at + 1:], kept=3)
for name, wrong in {"that is missing": {"status": 404, "text": "no"}, "that is forbidden": {"status": 403, "text": "no"}, "that is of another size than the answer says": {"data": offer.data + b"more"}}.items():
    case(f"a first pack {name} is given up", ["D-182"], offer.serve(), serve(rule(offer.url, **wrong)), start(), {"trigger": "launch"},
         installed(world), asked(world.poll(), {"url": offer.url, "times": [1, 6]}, *each(world)), pages, quiet)
for name, wrong in {"that can't be had for now": {"status": 503, "text": "no"}, "that is never sent": {"fault": {"reset": True}},
                    "that always breaks off": {"fault": {"torn": offer.ends[1] + 3}, "ranges": False}, "whose server makes no sense": {"fault": {"garbage": True}}}.items():
    # A device may try it again in some later polls.
    case(f"a first pack {name} is given up in the end", ["D-182"], offer.serve(), serve(rule(offer.url, **wrong) if "status" in wrong else rule(offer.url, data=offer.data, **wrong)), start(), {"trigger": "launch"},
         [later(), {"touch": True}, {"trigger": "launch"}] * 4, installed(world), asked({"url": world.poll(), "times": [1, 5]}, {"url": world.poll(1), "times": [0, 5]}, {"url": offer.url, "times": [1, 40]}, *each(world)),
         pages, quiet)
small = copy.deepcopy(offer.answer)
small["data"]["first"]["size"] -= 7
case("one that has more bytes than the answer says isn't followed to its end", ["D-182"], offer.serve(), serve(told(world, 1, small)), start(), {"trigger": "launch"}, installed(world),
     asked(world.poll(), {"url": offer.url, "times": [1, 6]}, *each(world)), pages, quiet)

# Members that aren't valid.

for name, first in {
    "that is a number": 7, "that is null": None, "that is a text": "https://cdn.test/pack.xpk", "that is a list": [offer.answer["data"]["first"]], "that is an empty object": {}, "without a size": {"download": offer.url},
    "without a download": {"size": len(offer.data)}, "of a size that is a text": {"download": offer.url, "size": str(len(offer.data))}, "of a size below 0": {"download": offer.url, "size": -1},
    "of a size that can't be": {"download": offer.url, "size": 2**53}, "of a size with a fraction": {"download": offer.url, "size": 7.5}, "of a download that is none": {"download": 7, "size": len(offer.data)},
    "with a relative download": {"download": "/xcache/shop/pack/0-1-0123456789abcdef.xpk", "size": len(offer.data)}, "of a file": {"download": "file:///etc/passwd", "size": len(offer.data)},
    "of a download with a line break": {"download": offer.url + "\r\nX: y", "size": len(offer.data)},
}.items():
    answer = copy.deepcopy(offer.answer)
    answer["data"]["first"] = first
    always(f"`first` {name} is ignored", ["D-8", "D-179"], offer.serve(), serve(told(world, 1, answer)), start(), {"trigger": "launch"}, installed(world), asked(world.poll(), *world.downloads(1)), pages, quiet)
answer = copy.deepcopy(offer.answer)
answer["data"]["first"]["future"] = {"a": [1]}
case("members of it that aren't known are ignored", ["D-8", "D-179"], offer.serve(files=False), serve(told(world, 1, answer)), start(), offer.installs(), quiet)
lying = copy.deepcopy(offer.answer)
lying["data"]["digest"] = "0" * 64
always("a manifest that is refused leads to no pack", ["D-20", "D-179"], offer.serve(), serve(told(world, 1, lying)), start(), trigger({"url": world.poll(), "times": [1, 3]}), {"state": {"version": "0", "files": {}}},
     never=[offer.url])
case("nor does an answer with nothing new", ["D-9", "D-179"], offer.serve(), start(), offer.installs(), later(),
     serve(poll_rule({"version": "1"}, json=world.nothing(1, first=offer.answer["data"]["first"]))), trigger(world.poll(1)))
case("nor one with a patch", ["D-8", "D-179"], offer.serve(), start(), offer.installs(), later(), serve(poll_rule({"version": "1"}, json=world.patch(1, 2, first=upgrade.answer["data"]["first"])), world.files(2, 1)),
     trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2))

# Networks, disks.

metered, free = {"conditions": {"network": "metered"}}, {"conditions": {"network": "unmetered"}}
always("metered, a pack above the limit isn't taken", ["D-117", "D-184"], offer.serve(), start(meteredLimit=len(offer.data) - 1), metered, trigger(world.poll()), {"state": {"version": "1", "files": {}}},
     ask(INDEX, local("<p>one"), asks=[world.url(1, INDEX)]), later(), trigger(world.poll(1)))
always("once the network isn't metered, the files come", ["D-118", "D-184"], offer.serve(), start(meteredLimit=len(offer.data) - 1), metered, trigger(world.poll()), free, {"trigger": "foreground"}, installed(world),
     asked({"url": offer.url, "times": [0, 1]}, *each(world)), pages)
case("metered, one within the limit is taken", ["D-116", "D-184"], offer.serve(), start(meteredLimit=len(offer.data)), metered, offer.installs(), pages)
always("who saves data has a metered network", ["D-119", "D-184"], offer.serve(), start(meteredLimit=len(offer.data) - 1), {"conditions": {"network": "unmetered", "dataSaver": True}}, trigger(world.poll()),
     {"state": {"version": "1", "files": {}}})
LARGE = SITE + "/large.txt"
wide = published(FILES | {LARGE: "0123456789abcdef" * 20_000})
widely = Offer(wide, [*ORDER, LARGE])
always("a disk that is too small for what it holds", ["D-120"], {"fill": 100_000}, widely.serve(files=False), start(), {"trigger": "launch"},
     *[ask(url, local(FILES[url]) | {"orNetwork": True}) for url in ORDER], {"fill": None}, serve(*[rule(url, data=wide.data[url]) for url in wide.downloads(1) if url != wide.url(1, LARGE)],
     rule(wide.url(1, LARGE), fill={"text": "0123456789abcdef", "times": 20_000})), [later(3600), {"trigger": "launch"}] * 3, soon(has(wide, *ORDER)),
     ask(LARGE, {"status": 200, "bytes": 320_000}, eventually=True), disk="1200k")
four = published({f"{SITE}/{name}.txt": name * 4000 for name in "abcde"})
fourth = Offer(four, sorted(four.maps[1]))
always("a manifest above the disk limit", ["D-121", "D-122"], fourth.serve(), start(diskLimit=3 * 4096), {"trigger": "launch"}, soon({"state": {"version": "1", "most": 3}}),
     *[ask(url, {"status": 200, "bytes": 4000}) for url in sorted(four.maps[1])], {"state": {"version": "1", "most": 3}, "eventually": True})
lots = published({INDEX: "<p>one", **{f"{SITE}/lots/{place:02}.txt": f"{place:02} " + "0123456789abcde\n" * 131_072 for place in range(48)}})
heavy = Offer(lots, sorted(lots.maps[1]))
installs_lots = [heavy.serve(files=False), start(diskLimit=256 << 20), {"trigger": "launch"}, soon({"state": {"version": "1", "digest": lots.digest(1)}}), asked(lots.poll(), heavy.url),
                 *[ask(f"{SITE}/lots/{place:02}.txt", {"status": 200, "bytes": 3 + (2 << 20)}, eventually=True) for place in (0, 47)]]
case("a pack that stands for 100 MB isn't held in memory", ["D-179"], installs_lots, {"memoryBelow": 190 << 20})
case("nor a half of it, in a native device", ["D-179"], installs_lots, {"memoryBelow": 64 << 20})

# The static copy, rollouts, trust.

away = [serve(fresh=True), start(), [trigger(world.poll()), later()] * 5]
from_copy = [rule(world.copy("version.json"), json=world.nothing(1)), rule(world.copy("configure.json"), json=offer.answer), again]
case("a copy's", ["D-15", "D-179"], away, serve(from_copy), later(40), {"trigger": "launch"}, asked(world.poll()), later(40), {"trigger": "launch"}, installed(world),
     asked(world.copy("version.json"), world.copy("configure.json"), offer.url), pages)
rolled = Offer(world, version=2)
query = {"app": "shop", "channel": "online"}
in_rollout = [poll_rule(query | {"candidate": "1"} | held_query(world, 2), world.nothing(2, rollout=ruling())), poll_rule(query | {"candidate": "1"}, world.with_first(2, rolled.data, rollout=ruling())[0]),
              poll_rule(query, world.with_first(1, offer.data, rollout=ruling())[0])]
case("a candidate's", ["R-2", "D-179"], serve(in_rollout, rule(offer.url, data=offer.data), rule(rolled.url, data=rolled.data)), start(), {"trigger": "launch"}, soon(world.holds(2)),
     asked(world.poll(), candidate(world.poll()), rolled.url), [ask(url, local(world.texts(2)[url]), asks=[]) for url in ORDER], features=["rollouts"])
sealed = signed.signed({url: signed.of(text) for url, text in FILES.items()})
seal = Offer(sealed)


def checked(**members):
    """An origin of an app with a root, whose answers to devices without a manifest name a first pack."""
    return serve(sealed.answers(1, first=seal.answer["data"]["first"], **members), rule(seal.url, data=seal.data), sealed.files(1))


case("of an app with a root", ["D-179", "T-1"], checked(), start(root=signed.ROOT), seal.installs(), pages)
always("a manifest that fails the check leads to no pack", ["D-179", "T-1", "T-4"], checked(releases=[sealed.release(1, "home", "second")]), start(root=signed.ROOT),
     trigger({"url": sealed.poll(), "times": [1, 3]}), {"state": {"version": "0", "files": {}}}, ask(INDEX, "network"), never=[seal.url])

books = [book]
