"""Validation of answers: manifests, patches, deltas and packs."""
from world import *

book = Book("answer")
case = book.case


def refused(name, rules, entries, host_files=(), digest=None):
    """An invalid manifest: the device keeps what it has."""
    world, steps = one({INDEX: "<p>one"})
    world.raw(entries(world), 2)
    whole = world.whole(2)
    if digest:
        whole["data"]["digest"] = digest
    case(name, rules, steps, serve(poll_rule({}, json=whole), *host_files, fresh=True), later(),
         trigger(*tries(world)), world.holds(1),
         ask(INDEX, local("<p>one")), never=["http://evil.test"])


def with_member(**members):
    return lambda world: {INDEX: world.entry(INDEX, "<p>two", 2) | members}


def without(name):
    return lambda world: {INDEX: {key: value for key, value in world.entry(INDEX, "<p>two", 2).items() if key != name}}


refused("a manifest with another digest is refused", ["D-20"], with_member(), digest="0" * 64)
for name in ("sha256", "md5", "size", "ctype", "download", "version"):
    refused(f"an entry without {name} is refused", ["D-25"], without(name))
for name, members in {
    "a size below 0": {"size": -1}, "a size above 2^53-1": {"size": 2**53}, "a size that is a text": {"size": "7"},
    "a size with a fraction": {"size": 7.5}, "a sha256 in capitals": {"sha256": "AB" * 32}, "a short md5": {"md5": "ab"},
    "a resource version of 0": {"version": "0"}, "a line break in its ctype": {"ctype": "text/html\r\nSet-Cookie: a=b"},
    "headers that break lines": {"headers": {"Content-Security-Policy": "default-src *\r\nSet-Cookie: a=b"}},
    "a header twice": {"headers": {"X-Frame-Options": "DENY", "x-frame-options": "SAMEORIGIN"}},
}.items():
    refused(f"an entry with {name} is refused", ["D-25"], with_member(**members))
for name, download in {
    "a file": "file:///etc/passwd", "no URL": "../../etc/passwd", "no name": CDN + "/xcache/1/2/1/x/",
    "two dots": CDN + "/xcache/1/2/1/x/%2E%2E", "a slash in its name": CDN + "/x/..%2F..%2Fetc%2Fpasswd",
    "a NUL in its name": CDN + "/x/a%00b", "a name of 300 bytes": CDN + "/x/" + "a" * 300,
    "bytes that aren't UTF-8": CDN + "/x/%FF%FE",
}.items():
    refused(f"an entry whose download has {name} is refused", ["D-22"],
            lambda world, download=download: with_member(download=download)(world) | {APP: world.entry(APP, "let two", 2)})
refused("two files under one name are refused", ["D-23"], lambda world: {
    INDEX: world.entry(INDEX, "<p>two", 2) | {"download": CDN + "/x/same"},
    APP: world.entry(APP, "let two", 2) | {"download": CDN + "/y/same"}})
for name, url in {
    "a fragment": INDEX + "#a", "capitals in its host": "https://M.test/a", "a default port": "https://m.test:443/a",
    "no scheme": "m.test/a", "another scheme": "ftp://m.test/a", "dots in its path": "https://m.test/a/../b",
    "5,000 bytes": SITE + "/" + "a" * 5000, "a space": SITE + "/a b",
}.items():
    refused(f"a URL with {name} is refused", ["D-21"], lambda world, url=url: {url: world.entry(INDEX, "<p>two", 2)})

world, steps = one({INDEX: "<p>one"})
text = canonical(world.whole(1)).decode()
double = text.replace('"resourcemap":{', '"resourcemap":{"' + INDEX + '":' + canonical(world.maps[1][INDEX]).decode() + ",")
case("a URL that comes twice is refused", ["D-21"], steps, serve(rule(ORIGIN + "/configure.json", text=double)), later(),
     trigger(*tries(world)), world.holds(1))

world = World()
world.publish({INDEX: ("<p>one", {"future": {"a": 1, "b": [True, None, 1.50]}, "note": "\u2028é"})})
case("unknown members of entries count in the digest", ["D-24"], got(world), world.holds(1), ask(INDEX, local("<p>one")))

huge, steps = one({INDEX: "<p>one"})
huge.raw({INDEX: huge.entry(INDEX, "<p>two", 2) | {"size": 2**53 - 1}}, 2)
case("a size of 2^53-1 asks for no such room", ["D-25", "D-51"], steps, serve(huge.origin(2, 1), huge.files(2, 1), fresh=True),
     later(), trigger(huge.poll(1), {"url": huge.url(2, INDEX), "times": [0, 4]}),
     ask(INDEX, local("<p>one") | {"orNetwork": True}), {"stop": True}, start(), ask(INDEX, local("<p>one") | {"orNetwork": True}))

# Patches.

world, steps = two({INDEX: "<p>one", APP: "let one", STYLE: "a{}"}, {INDEX: "<p>two", STYLE: "a{}", SITE + "/new.js": "new"})
case("a patch changes, brings and removes", ["D-30", "D-32"], steps, trigger(world.poll(1), *world.downloads(2, 1)),
     world.holds(2), ask(APP, "network"), ask(SITE + "/new.js", local("new")))
for name, change in {
    "for another base": {"base": "7"}, "that leads to another digest": {"digest": "0" * 64},
}.items():
    answer = world.patch(1, 2)
    answer["data"] |= change
    case(f"a patch {name} costs the whole manifest", ["D-30", "D-31"], steps,
         serve(poll_rule({"version": "1"}, json=answer), poll_rule({}, json=world.whole(2)), world.files(2, 1), fresh=True),
         trigger(world.poll(1), world.poll(whole=True), *world.downloads(2, 1), ordered=False), world.holds(2))
    case(f"a patch {name}, and no whole manifest: nothing changes", ["D-31"], steps,
         serve(poll_rule({"version": "1"}, json=answer), fresh=True),
         trigger(world.poll(1), world.poll(whole=True)), world.holds(1))
headed = World()
headed.publish({INDEX: ("<p>one", {"headers": {"X-Frame-Options": "DENY"}})})
headed.publish({INDEX: ("<p>one", {})})
case("a patch takes a member away", ["D-32", "D-52"], serve(headed.origin(1), headed.files(1)), start(),
     trigger(headed.poll(), *headed.downloads(1)),
     ask(INDEX, local("<p>one", X_Frame_Options="DENY")), serve(headed.origin(2, 1), headed.files(2, 1), fresh=True), later(),
     trigger(headed.poll(1)), headed.holds(2), ask(INDEX, {"status": 200, "headers": {"X-Frame-Options": None}}))
nulls = world.patch(1, 2)
nulls["data"]["patch"][SITE + "/never.js"] = None
case("a patch that removes what isn't there", ["D-32"], steps, serve(poll_rule({"version": "1"}, json=nulls)),
     trigger(world.poll(1), *world.downloads(2, 1)), world.holds(2))
inner = World()
inner.publish({INDEX: ("<p>one", {"headers": {"Referrer-Policy": "origin", "X-Frame-Options": "DENY"}})})
inner.publish({INDEX: ("<p>one", {"headers": {"Referrer-Policy": "origin", "X-Frame-Options": "SAMEORIGIN"}})})
case("a patch changes a member of a member", ["D-32"], got(inner), serve(inner.origin(2, 1), inner.files(2, 1), fresh=True), later(),
     trigger(inner.poll(1)), inner.holds(2), ask(INDEX, local("<p>one", Referrer_Policy="origin", X_Frame_Options="SAMEORIGIN")))

# Deltas.

for name, download in {"a space": CDN + "/x/a b", "a line break": CDN + "/x/a\nb"}.items():
    refused(f"an entry whose download has {name} is refused", ["D-22"],
            lambda world, download=download: with_member(download=download)(world) | {APP: world.entry(APP, "let two", 2)})

book.name, answers, book.cases = "delta", book.cases, []
world, steps = two({APP: LINES + "one"}, {APP: LINES + "two"})
offer, delta = world.delta(APP, 1, 2)
offers = {APP: offer}
with_delta = world.origin(2, 1, deltas=offers)
whole_file = world.files(2, 1)
case("a delta over what is held", ["D-35"], steps, serve(with_delta, delta, fresh=True),
     trigger(world.poll(1), offer["download"]), world.holds(2), features=["deltas"])
bad = raw(base64.b64decode(delta["base64"]))
for name, rules in {
    "that is missing": [], "that is cut": [rule(offer["download"], data=bad[:-5])],
    "with a flipped bit": [rule(offer["download"], data=bad[:60] + bytes([bad[60] ^ 1]) + bad[61:])],
    "that has another base": [rule(offer["download"], data=dcz(raw(LINES + "two"), raw(LINES + "other")))],
    "that makes other bytes": [rule(offer["download"], data=dcz(raw(LINES + "six"), raw(LINES + "one")))],
    "that makes too many": [rule(offer["download"], data=dcz(raw(LINES * 40), raw(LINES + "one")))],
    "with bytes behind it": [rule(offer["download"], data=bad + b"more")],
    "that is torn": [delta | {"fault": {"torn": 20}}], "that is no delta": [rule(offer["download"], text="<html>")],
}.items():
    case(f"a delta {name} costs one plain download", ["D-35", "D-51"], steps, serve(with_delta, rules, whole_file, fresh=True),
         trigger(world.poll(1), {"url": offer["download"], "times": [0, 2]}, world.url(2, APP)), world.holds(2),
         features=["deltas"])
absent = {APP: offer | {"base": "1" * 64}}
case("a delta over what isn't held isn't fetched", ["D-35"], steps, serve(world.origin(2, 1, deltas=absent), delta, whole_file, fresh=True),
     trigger(world.poll(1), world.url(2, APP)), world.holds(2), features=["deltas"])
case("a delta over a damaged file costs a plain download", ["D-35", "D-51"], steps,
     {"damage": LINES + "one"}, serve(with_delta, delta, whole_file, fresh=True),
     trigger(world.poll(1), {"url": offer["download"], "times": [0, 1]}, world.url(2, APP)), world.holds(2), features=["deltas"])

# Packs.

deltas, book.name, book.cases = book.cases, "pack", []
FILES = {INDEX: "<p>one", APP: LINES + "one", STYLE: "a{}", SITE + "/gone.js": "gone"}
NEXT = {INDEX: "<p>two", APP: LINES + "two", STYLE: "a{}", SITE + "/new.js": LINES + "new"}
world, steps = two(FILES, NEXT)
made, bounds = pack(world, 1, 2)
answer, url = world.with_pack(1, 2, made)
packed = poll_rule({"pack": "1", "version": "1"}, json=answer)
plain = [world.origin(2, 1), world.files(2, 1)]
feature = {"features": ["packs"]}
case("an update by a pack is one poll and one download", ["D-40", "D-44"], steps,
     serve(packed, rule(url, data=made), fresh=True), trigger(world.poll(1), url), world.holds(2),
     ask(SITE + "/gone.js", "network"), **feature)
gone = {
    "that is missing": [], "of garbage": [rule(url, text="garbage")], "that fails": [rule(url, status=500)],
    "that is cut": [rule(url, data=made[:-4])], "with bytes behind it": [rule(url, data=made + b"x")],
}
for name, damage in {
    "with another base digest": lambda part, data: data.replace(bytes.fromhex(world.digest(1)), bytes(32)) if part == "head" else data,
    "with another digest": lambda part, data: data.replace(bytes.fromhex(world.digest(2)), bytes(32)) if part == "head" else data,
    "whose changes name a place that isn't there": lambda part, data: bytes([data[0], 99]) + data[2:] if part == "changes" else data,
    "whose changes are cut": lambda part, data: data[:-3] if part == "changes" else data,
    "with a number in another form": lambda part, data: b"XPK1\x81\x00" + data[5:] if part == "head" else data,
    "of another kind": lambda part, data: b"XPK3" + data[4:] if part == "head" else data,
    "that says it has a terabyte of changes": lambda part, data: data[:-20] + number(2**40) * 2 + data[-8:] if part == "head" else data,
}.items():
    gone[name] = [rule(url, data=pack(world, 1, 2, damage)[0])]
for name, rules in gone.items():
    case(f"a pack {name} costs the same question without pack=1", ["D-41"], steps, serve(packed, rules, *plain, fresh=True),
         trigger(world.poll(1), {"url": url, "times": [1, 6]}, world.poll(1, pack=False),
                 *[{"url": one, "times": [0, 1]} for one in world.downloads(2, 1)]),
         world.holds(2), **feature)
spoilt, spoilt_bounds = pack(world, 1, 2, lambda part, data: data[:-2] + b"xx" if part == SITE + "/new.js" else data)
case("what came of a damaged pack isn't fetched again", ["D-41"], steps,
     serve(packed, rule(url, data=spoilt), *plain, fresh=True),
     trigger(world.poll(1), {"url": url, "times": [1, 6]}, world.poll(1, pack=False), world.url(2, SITE + "/new.js")),
     world.holds(2), **feature)
for name, change in {"of another base": {"base": "7"}, "without a download": {"pack": {"size": 5}},
                     "of no number": {"pack": {"download": url, "size": "5"}}}.items():
    wrong = copy.deepcopy(answer)
    wrong["data"] |= change
    case(f"an answer with a pack {name} is asked for without", ["D-41"], steps,
         serve(poll_rule({"pack": "1", "version": "1"}, json=wrong), *plain, fresh=True),
         trigger(world.poll(1), world.poll(1, pack=False), *world.downloads(2, 1)), world.holds(2), **feature)
case("a torn pack goes on by Range", ["D-42"], steps,
     serve(packed, rule(url, data=made, times=1, fault={"torn": bounds[1] + 3}), rule(url, data=made), fresh=True),
     trigger(world.poll(1), url, {"url": url, "headers": {"range": "*"}}), world.holds(2), **feature)
case("a pack whose server knows no Range is taken from its beginning", ["D-42"], steps,
     serve(packed, rule(url, data=made, times=1, ranges=False, fault={"torn": bounds[1] + 3}),
           rule(url, data=made, ranges=False), fresh=True),
     trigger(world.poll(1), {"url": url, "times": [2, 2]}), world.holds(2), **feature)
case("a device that is killed in a pack goes on with it", ["D-43", "D-61"], steps,
     serve(packed, rule(url, data=made, times=1, fault={"kill": bounds[2] + 3}), rule(url, data=made), fresh=True),
     {"trigger": "launch", "dies": True, "asks": [world.poll(1), url]}, start(), world.holds(1), later(),
     trigger(world.poll(1), {"url": url, "times": [1, 1]}), world.holds(2), **feature)
case("without a manifest no pack is asked for", ["D-40"], serve(packed, world.origin(2), world.files(2)), start(),
     trigger(world.poll(), *world.downloads(2)), world.holds(2), **feature)
case("a pack over a damaged file costs that file", ["D-41", "D-51"], steps, {"damage": LINES + "one"},
     serve(packed, rule(url, data=made), *plain, fresh=True),
     trigger(world.poll(1), {"url": url, "times": [1, 6]}, {"url": world.poll(1, pack=False), "times": [0, 1]},
             *[{"url": one, "times": [0, 1]} for one in world.downloads(2, 1)]), world.holds(2), **feature)


def forged(part, data):
    """A record with the right digest and wrong bytes."""
    if part != APP:
        return data
    other = frame(b"let evil")[4:]
    return number(len(other)) + hashlib.sha256(world.data[world.url(2, APP)]).digest()[:8] + other


forgery, _ = pack(world, 1, 2, forged)
forged_answer, forged_url = world.with_pack(1, 2, forgery)
case("a pack's file with other bytes than its digest says costs a patch", ["D-41", "D-44"], steps,
     serve(poll_rule({"pack": "1", "version": "1"}, json=forged_answer), rule(forged_url, data=forgery), *plain, fresh=True),
     trigger(world.poll(1), {"url": forged_url, "times": [1, 6]}, world.poll(1, pack=False),
             *[{"url": one, "times": [0, 1]} for one in world.downloads(2, 1)]), world.holds(2), **feature)
case("what a torn pack goes on with names the file that it has the beginning of", ["D-42"], steps,
     serve(packed, rule(url, data=made, times=1, fault={"torn": bounds[1] + 3}), rule(url, data=made), fresh=True),
     trigger(world.poll(1), url, {"url": url, "headers": {"range": "*", "if-range": "*"}}), world.holds(2), **feature)

books = []
for name, cases in (("answer", answers), ("delta", deltas), ("pack", book.cases)):
    books.append(Book(name))
    books[-1].cases = cases
