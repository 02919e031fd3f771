#!/usr/bin/env python3
"""Writes vectors.json: documents, and what a device does with them, by the second implementation in trust.py.

    Tests/Conformance/trust/make.py            writes the vectors
    Tests/Conformance/trust/make.py --check    runs those that are here, and the examples of docs/protocol.md

Needs the package `cryptography`.
"""
import hashlib
import json
import pathlib
import re
import sys

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

sys.dont_write_bytecode = True
import trust  # noqa: E402
from signing import KEYS, Key, b64, envelope, ids  # noqa: E402
from trust import Device, HIGHEST, Refused, TYPES, canonical, content, digest  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
DAY = 86_400_000
NOW = 1_790_000_000_000


def root(number="1", app="shop", **members):
    value = {
        "app": app, "heads": ids("head", "ci head"), "number": number, "prefetch": ids("publisher"),
        "releases": [
            {"bundles": ["*"], "channels": ["*"], "keys": ids("publisher"), "prefixes": ["*"], "threshold": 1},
            {"bundles": ["activity-*", "pay"], "channels": ["online"], "keys": ids("team", "second"),
             "prefixes": ["https://m.example.com/activity/", "https://m.example.com/pay/"], "threshold": 2}],
        "roots": {"keys": ids("root a", "root b"), "threshold": 1}} | members
    value = {name: one for name, one in value.items() if one is not None}
    named = set(value["heads"] + value["prefetch"] + value["roots"]["keys"] + [one for each in value["releases"] for one in each.get("keys", [])])
    return {"keys": {key.id: b64(key.spki) for key in KEYS.values() if key.id in named}} | value


def entry(text, owner=None, **members):
    data = text.encode()
    value = {"ctype": "text/javascript;charset=UTF-8", "download": f"https://cdn.example.com/xcache/1/1/1/{len(data)}/{hashlib.md5(data).hexdigest()}.js",
             "md5": hashlib.md5(data).hexdigest(), "sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "version": "1"} | members
    return value | ({"bundle": owner} if owner else {})


def site(home="one", activity="one", **more):
    base = "https://m.example.com/"
    value = {base + "home/a.js": entry("home a " + home, "home"), base + "home/b.js": entry("home b", "home", headers={
        "Content-Security-Policy": "default-src 'self'", "X-Later": "\u00e9\\"}),
        base + "activity/a.js": entry("activity " + activity, "activity-618")}
    return {url: one for url, one in (value | more).items() if one}


def routes(*prefixes, owner="home", folder="home"):
    """A site with a page for each list of prefixes for which it is the fallback."""
    pages = {f"https://m.example.com/{folder}/{number}.html": entry(f"page {number}", owner, fallback=[
        {"except": ["/home/*.js"], "later": True, "prefix": prefix} for prefix in each]) for number, each in enumerate(prefixes)}
    return site(**pages)


def release(owner, map_, serial=NOW, channels=("online", "test"), **members):
    entries = {url: one for url, one in map_.items() if one.get("bundle") == owner}
    return {"app": "shop", "bundle": owner, "channels": sorted(channels), "content": digest(content(entries)), "serial": serial} | members


def head(map_, version="10", at=NOW, channel="online", **members):
    return {"app": "shop", "at": at, "channel": channel, "digest": digest(map_), "until": at + 30 * DAY, "version": version} | members


def prefetch(config, serial=NOW, **members):
    return {"app": "shop", "channels": ["online"], "content": digest(config), "serial": serial} | members


# --- Forms

def keys():
    key = next(one for one in KEYS.values() if "+" in b64(one.spki))
    compressed = key.private.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint)
    other = ec.derive_private_key(7, ec.SECP384R1()).public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    yield {"what": "a key", "key": b64(key.spki), "id": key.id}
    for what, data in (("the point alone", key.spki[26:]), ("a compressed point", key.spki[:26] + compressed), ("P-384", other),
                       ("a byte more", key.spki + b"\0"), ("a byte less", key.spki[:-1]), ("another algorithm", key.spki[:10] + b"\0" + key.spki[11:]),
                       ("nothing", b"")):
        yield {"what": what, "key": b64(data), "error": True}
    yield {"what": "base64 without padding", "key": b64(key.spki).rstrip("="), "error": True}
    yield {"what": "base64 for URLs", "key": b64(key.spki).replace("+", "-").replace("/", "_"), "error": True}
    yield {"what": "base64 with spare bits", "key": b64(key.spki)[:-3] + "R==", "error": True}


def der(*numbers):
    body = b"".join(b"\x02" + bytes([len(one)]) + one for one in numbers)
    return b"\x30" + bytes([len(body)]) + body


def signatures():
    text = b"hello"
    for name in ("head", "publisher", "thief"):
        signature = KEYS[name].sign(text)
        yield {"what": f"a signature by {name}", "der": signature.hex(), "raw": trust.raw_of(signature).hex(), "key": b64(KEYS[name].spki),
               "message": text.hex(), "verifies": True}
        yield {"what": "of another message", "der": signature.hex(), "raw": trust.raw_of(signature).hex(), "key": b64(KEYS[name].spki),
               "message": (text + b"!").hex(), "verifies": False}
        yield {"what": "by another key", "der": signature.hex(), "raw": trust.raw_of(signature).hex(), "key": b64(KEYS["root a"].spki),
               "message": text.hex(), "verifies": False}
    one, high, full = b"\x01", b"\x00" + b"\xff" * 32, b"\x7f" * 32
    for what, data in (("small numbers", der(one, one)), ("large numbers", der(high, high)), ("numbers of 32 bytes", der(full, full))):
        yield {"what": what, "der": data.hex(), "raw": trust.raw_of(data).hex(), "key": b64(KEYS["head"].spki), "message": text.hex(), "verifies": False}
    for what, data in (
            ("zero", der(b"\0", one)), ("a minus", der(b"\x80", one)), ("a zero too many", der(b"\0\x7f", one)), ("an empty number", der(b"", one)),
            ("33 bytes", der(b"\x01" + full, one)), ("33 bytes after a zero", der(b"\0\xff" + full, one)), ("a third number", der(one, one, one)),
            ("one number", der(one)), ("something behind it", der(one, one) + b"\0"), ("a long length", b"\x30\x81\x06" + der(one, one)[2:]),
            ("no length", b"\x30\x80" + der(one, one)[2:] + b"\0\0"), ("r and s alone", bytes(64)), ("another type", b"\x31" + der(one, one)[1:]),
            ("an octet string", der(one, one)[:5] + b"\x04" + der(one, one)[6:]), ("cut", der(full, full)[:-1]), ("nothing", b"")):
        yield {"what": what, "der": data.hex(), "error": True}


def messages():
    for kind, payload in (("http://example.com/HelloWorld", b"hello world"), ("", b""), (TYPES["head"], b"{}"), ("é", "é".encode())):
        yield {"type": kind, "payload": payload.hex(), "message": trust.message(kind, payload).hex()}


def packed(text):
    """A text, and where something in it is repeated very often, that only once."""
    run = re.search(r"(eHh4|Hh4e|h4eH|4eHh| )\1{99,}", text)
    if not run:
        return {"envelope": text}
    return {"envelope": text[:run.start()], "fill": run[1], "times": len(run[0]) // len(run[1]), "rest": text[run.end():]}


def unpacked(case):
    return case["envelope"] + case.get("fill", "") * int(case.get("times", 0)) + case.get("rest", "")


def envelopes():
    good = envelope("head", head(site()), "head", "ci head")
    one = good["signatures"][0]

    def case(what, value, **more):
        return {"what": what} | packed(value if isinstance(value, str) else canonical(value).decode()) | more

    yield case("two signatures", good, signers=ids("head", "ci head"))
    yield case("white space and unknown members", " " + json.dumps(good | {"more": [1, {"a": None}]}, indent=1) + "\n", signers=ids("head", "ci head"))
    yield case("no signature", good | {"signatures": []}, signers=[])
    yield case("a signature by another key under this id", good | {"signatures": [one | {"sig": envelope("head", head(site()), "thief")["signatures"][0]["sig"]}]},
               signers=[])
    yield case("a signature of another type", good | {"signatures": envelope("release", head(site()), "head")["signatures"]}, signers=[])
    yield case("a signature by a key that isn't listed", envelope("head", head(site()), "head", "thief"), signers=ids("head"))
    sixteen = good | {"signatures": [one | {"keyid": f"{n:064x}"} for n in range(16)]}
    yield case("16 signatures", sixteen, signers=[])
    yield case("17 signatures", sixteen | {"signatures": sixteen["signatures"] + [one]}, error=True)
    yield case("a key id twice", good | {"signatures": [one, one]}, error=True)
    yield case("a key id in capitals", good | {"signatures": [one | {"keyid": one["keyid"].upper()}]}, error=True)
    yield case("no key id", good | {"signatures": [{"sig": one["sig"]}]}, error=True)
    yield case("no sig", good | {"signatures": [{"keyid": one["keyid"]}]}, error=True)
    yield case("a sig that isn't DER", good | {"signatures": [one | {"sig": b64(b"1234567890")}]}, error=True)
    yield case("signatures as an object", good | {"signatures": {}}, error=True)
    yield case("a member twice", canonical(good).decode()[:-1] + ',"payload":""}', error=True)
    yield case("something behind it", canonical(good).decode() + "x", error=True)
    yield case("no JSON", "{", error=True)
    yield case("a list", "[]", error=True)
    yield case("another type", envelope("release", head(site()), "head"), error=True)
    for name in good:
        yield case(f"no {name}", {key: good[key] for key in good if key != name}, error=True)
    yield case("base64 for URLs", good | {"payload": good["payload"].rstrip("=") + "_"}, error=True)
    padded = next(one for one in (envelope("head", head(site(), policy="7" * n), "head") for n in (1, 2, 3)) if one["payload"].endswith("=="))
    yield case("base64 with padding", padded, signers=ids("head"))
    yield case("base64 without padding", padded | {"payload": padded["payload"].rstrip("=")}, error=True)
    spare = chr(ord(padded["payload"][-3]) + 1)
    yield case("base64 with spare bits", padded | {"payload": padded["payload"][:-3] + spare + "=="}, error=True)
    yield case("base64 with a line break", padded | {"payload": padded["payload"][:8] + "\n" + padded["payload"][8:]}, error=True)
    yield case("256 values", good | {"more": [0] * (256 - trust.count(good) - 1)}, signers=ids("head", "ci head"))
    yield case("257 values", good | {"more": [0] * (256 - trust.count(good))}, error=True)
    head_ = head(site())
    full = head_ | {"z": "x" * (65_536 - len(canonical(head_ | {"z": ""})))}
    yield case("a payload of 65,536 bytes", envelope("head", full, "head"), signers=ids("head"))
    yield case("a payload of 65,537 bytes", envelope("head", full | {"z": full["z"] + "x"}, "head"), error=True)
    space = 98_304 - len(canonical(good))
    yield case("98,304 bytes", canonical(good).decode() + " " * space, signers=ids("head", "ci head"))
    yield case("98,305 bytes", canonical(good).decode() + " " * (space + 1), error=True)


def documents():
    def good(kind, value, what="good"):
        return {"what": what, "type": kind, "payload": canonical(value).decode()}

    def bad(kind, what, payload):
        return {"what": what, "type": kind, "payload": payload if isinstance(payload, str) else canonical(payload).decode(), "error": True}

    samples = {
        "root": root(environment="staging", floors={"home": 5}, prefetchFloor=HIGHEST, scriptKey=b64(bytes(32)), off=False),
        "release": release("home", site(), floor=NOW, environment="staging"),
        "prefetch": prefetch([], floor=0, environment="staging"),
        "head": head(site(), policy="7", prefetch="4", environment="staging", candidate={
            "digest": "0" * 64, "rollout": {"seed": "s", "share": 500, "version": "11"}})}
    needed = {"root": ["app", "heads", "keys", "number", "prefetch", "releases", "roots"], "release": ["app", "bundle", "channels", "content", "serial"],
              "prefetch": ["app", "channels", "content", "serial"], "head": ["app", "at", "channel", "digest", "until", "version"]}
    for kind, sample in samples.items():
        yield good(kind, sample)
        yield good(kind, {name: sample[name] for name in needed[kind]}, "without optional members")
        yield good(kind, sample | {"later": {"a": [None, True]}}, "an unknown member")
        yield bad(kind, "white space", canonical(sample).decode() + " ")
        yield bad(kind, "members in another order", json.dumps(dict(sorted(sample.items(), reverse=True)), separators=(",", ":")))
        yield bad(kind, "an escape that isn't needed", canonical(sample).decode().replace('"shop"', '"sho\\u0070"'))
        yield bad(kind, "a list", "[]")
        for name in sample:
            if name in needed[kind]:
                yield bad(kind, f"no {name}", {key: sample[key] for key in sample if key != name})
            wrong = 1 if isinstance(sample[name], (str, list, dict, bool)) else str(sample[name])
            yield bad(kind, f"{name} of another kind", sample | {name: wrong})
            yield bad(kind, f"{name} is null", sample | {name: None})
        for name, value in (("app", "9"), ("app", "Delta"), ("app", "a" * 65), ("app", ""), ("environment", "A"), ("environment", "a" * 33), ("environment", "")):
            yield bad(kind, f"{name} {value[:9]}", sample | {name: value})
    numbers = [(kind, name) for kind, names in (("release", ("serial", "floor")), ("prefetch", ("serial", "floor")), ("head", ("at", "until")),
                                                ("root", ("prefetchFloor",))) for name in names]
    for kind, name in numbers:
        lone = {key: one for key, one in samples[kind].items() if key not in ("floor", "at", "until")} | (
            {"at": 0, "until": HIGHEST} if kind == "head" else {"serial": HIGHEST} if kind != "root" else {})
        low, high = lone | {name: 0}, lone | {name: HIGHEST}
        if (kind, name) == ("head", "until"):
            low = lone | {"at": 0, "until": 0}
        yield good(kind, low, f"{name} 0")
        yield good(kind, high, f"{name} 2^53-1")
        for written in ("-1", "-0", "9007199254740992", "1.0", "1e3", "18446744073709551616", '"1"', "true"):
            yield bad(kind, f"{name} {written}", canonical(lone | {name: 111}).decode().replace(f'"{name}":111', f'"{name}":{written}'))
    for kind, name, low in (("root", "number", 1), ("head", "version", 0), ("head", "policy", 0), ("head", "prefetch", 0)):
        lone = {key: one for key, one in samples[kind].items() if key != "candidate"}
        for value in (str(low), "9007199254740991"):
            yield good(kind, lone | {name: value}, f"{name} {value}")
        for value in ([] if low == 0 else ["0"]) + ["", "01", "-1", "+1", " 1", "1.0", "9007199254740992", "99999999999999999999999", "\u0661"]:
            yield bad(kind, f"{name} {value}", lone | {name: value})
    for kind in ("release", "prefetch"):
        yield bad(kind, "a floor above the serial", samples[kind] | {"serial": 5, "floor": 6})
        for what, value in (("no channel", []), ("a channel twice", ["a", "a"]), ("channels out of order", ["b", "a"]), ("no name", ["A"]), ("all", ["*"]),
                            ("65 channels", [f"c{n:02}" for n in range(65)])):
            yield bad(kind, what, samples[kind] | {"channels": value})
        yield good(kind, samples[kind] | {"channels": [f"c{n:02}" for n in range(64)]}, "64 channels")
        for value in ("0" * 63, "A" * 64, "0" * 65):
            yield bad(kind, f"content {value}", samples[kind] | {"content": value})
    for value in ("", "-a", "a" * 129, "a/b", "a*"):
        yield bad("release", f"bundle {value[:9]}", samples["release"] | {"bundle": value})
    yield good("release", samples["release"] | {"bundle": "a" * 128}, "bundle of 128 characters")
    yield bad("head", "until before at", samples["head"] | {"at": 6, "until": 5})
    yield bad("head", "a candidate that isn't above", samples["head"] | {"version": "11"})
    for what, value in (("without digest", {"rollout": samples["head"]["candidate"]["rollout"]}), ("without rule", {"digest": "0" * 64}),
                        ("with a share of 10,001", {"digest": "0" * 64, "rollout": {"seed": "s", "share": 10_001, "version": "11"}})):
        yield bad("head", "a candidate " + what, samples["head"] | {"candidate": value})
    yield from root_documents(good, bad)


def root_documents(good, bad):
    grant = root()["releases"][0]

    def granted(**members):
        return root(releases=[{name: one for name, one in (grant | members).items() if one is not None}])

    for name in grant:
        yield bad("root", f"a grant without {name}", granted(**{name: None}))
    for name, values in (("channels", (["a", "b"],)), ("bundles", (["a", "a*", "b."],)), ("prefixes", (["http://m.example.com:8080/", "https://m.example.com/a/b/"],))):
        for value in values:
            yield good("root", granted(**{name: value}), f"{name} {value}")
    for name, values in (
            ("channels", ([], ["*", "a"], ["a*"], ["b", "a"], ["a", "a"], "*")), ("bundles", ([], ["*", "a"], ["*a"], ["a**"], ["b", "a"], [1])),
            ("prefixes", ([], ["*", "https://m.example.com/"], ["https://m.example.com"], ["https://m.example.com/a"], ["https://m.example.com/?a/"],
                          ["https://M.example.com/"], ["https://m.example.com:443/"], ["https://m.example.com/a/../"], ["ftp://m.example.com/"],
                          ["//m.example.com/"], ["https://u@m.example.com/"], ["https://m.example.com/#/"], [""]))):
        for value in values:
            yield bad("root", f"{name} {value}", granted(**{name: value}))
    yield bad("root", "257 bundles", granted(bundles=[f"b{n:03}" for n in range(257)]))
    yield good("root", granted(bundles=[f"b{n:03}" for n in range(256)]), "256 bundles")
    yield bad("root", "65 grants", root(releases=[grant] * 65))
    yield good("root", root(releases=[grant] * 64), "64 grants")
    yield good("root", root(releases=[]), "no grant")
    for value in (0, 2, -1, 9):
        yield bad("root", f"a threshold of {value} for one key", granted(threshold=value))
        yield bad("root", f"a threshold of {value + 1 if value > 0 else value} for two root keys", root(roots={
            "keys": ids("root a", "root b"), "threshold": value + 1 if value > 0 else value}))
    many = [Key(f"key {n}") for n in range(66)]

    def among(count, threshold, extra=0):
        some = sorted(many[:count], key=lambda key: key.id)
        value = root(roots={"keys": [key.id for key in some], "threshold": threshold})
        value["keys"] |= {key.id: b64(key.spki) for key in many[:count + extra]}
        return value

    yield good("root", among(16, 8), "16 root keys, 8 of which must sign")
    yield bad("root", "17 root keys", among(17, 8))
    yield bad("root", "a threshold of 9", among(16, 9))
    yield good("root", among(16, 1, 64 - 16 - 5), "64 keys")
    yield bad("root", "65 keys", among(16, 1, 65 - 16 - 5))
    yield bad("root", "a root key that also signs releases", granted(keys=ids("root a")))
    yield bad("root", "a root key that also signs heads", root(heads=ids("root a")))
    yield bad("root", "a root key that also signs prefetch configs", root(prefetch=ids("root a")))
    yield bad("root", "no head key", root(heads=[]))
    yield good("root", root(heads=[], prefetch=[], releases=[], off=True), "off, and no head key")
    yield bad("root", "keys out of order", root(heads=ids("head", "ci head")[::-1]))
    yield bad("root", "a key twice", root(heads=ids("head") * 2))
    yield bad("root", "a key that isn't there", root(keys={name: one for name, one in root()["keys"].items() if name != KEYS["head"].id}))
    yield bad("root", "a key under another id", root(keys=root()["keys"] | {"0" * 64: b64(KEYS["thief"].spki)}))
    yield bad("root", "a key that is none", root(keys=root()["keys"] | {hashlib.sha256(b"x").hexdigest(): b64(b"x")}))
    yield good("root", root(floors={f"b{n}": n for n in range(1000)}), "1,000 floors")
    yield bad("root", "1,001 floors", root(floors={f"b{n}": n for n in range(1001)}))
    yield bad("root", "a floor of 2^53", root(floors={"home": HIGHEST + 1}))
    yield bad("root", "a floor of no bundle", root(floors={"*": 1}))
    yield bad("root", "a script key of 31 bytes", root(scriptKey=b64(bytes(31))))


def contents():
    for what, map_, owner in (("two entries, one with headers", site(), "home"), ("one entry", site(), "activity-618"), ("none", {}, "home"),
                              ("of another origin's making", {url: one | {"download": "https://x.example.com/a/b", "version": "9", "md5": "0" * 32, "lazy": True}
                                                              for url, one in site().items()}, "home"),
                              ("two pages with fallbacks", routes(["/"], ["/b/", "/c/"]), "home"), ("another bundle's fallback", routes(["/"]), "activity-618")):
        value = content({url: one for url, one in map_.items() if one["bundle"] == owner})
        yield {"what": what, "bundle": owner, "resourcemap": map_, "canonical": canonical(value).decode(), "digest": digest(value)}


# --- Checks

class Book:
    """Checks, whose documents are named so that each is written once."""

    def __init__(self):
        self.envelopes, self.maps, self.cases = {}, {}, []

    def named(self, names, value):
        for name, one in names.items():
            if one == value:
                return name
        names[f"{len(names) + 1}"] = value
        return f"{len(names)}"

    def case(self, what, *steps, built_in=None, app="shop", environment=None, channel="online"):
        built_in = built_in or envelope("root", root(**({"environment": environment} if environment else {})), "root a")
        case = {"what": what, "app": app, "channel": channel, "builtIn": self.named(self.envelopes, built_in), "steps": []}
        if environment:
            case["environment"] = environment
        device = Device(app, environment, channel, canonical(built_in))
        for step in steps:
            case["steps"].append(self.step(device, dict(step)))
        self.cases.append(case)

    def step(self, device, step):
        want = step.pop("want", "")
        if "start" in step:
            device.start(canonical(step["start"]))
            step["start"] = self.named(self.envelopes, step["start"])
        elif "switch" in step:
            device.switch()
        elif "proved" in step:
            device.proved()
        else:
            step.setdefault("now", NOW)
            offer = {name: one for name, one in step.items() if name != "now"}
            offer["roots"] = list(map(canonical, offer.get("roots", [])))
            result, candidate, stale = device.check(offer, step["now"])
            if want != "" and result != want:
                raise SystemExit(f"{step}: {result} instead of {want}")
            step |= {"result": result} | ({"candidate": True} if candidate else {}) | ({"stale": True} if stale else {})
            for name in ("roots", "releases"):
                if name in step:
                    step[name] = [self.named(self.envelopes, one) for one in step[name]]
            if "head" in step:
                step["head"] = self.named(self.envelopes, step["head"])
            if "statement" in step.get("prefetch", {}):
                step["prefetch"] = step["prefetch"] | {"statement": self.named(self.envelopes, step["prefetch"]["statement"])}
            if "manifest" in step:
                step["manifest"] = step["manifest"] | {"resourcemap": self.named(self.maps, step["manifest"]["resourcemap"])}
        return step | {"stored": device.stored()}


def offer(map_, version="10", head_=None, by="head", releases=None, want=None, owners=("home", "activity-618"), **more):
    """An answer that leads to a manifest."""
    value = {"manifest": {"version": version, "resourcemap": map_}, "want": want,
             "head": head_ or envelope("head", head(map_, version, NOW + int(version)), by),
             "releases": releases if releases is not None else [envelope("release", release(one, map_), "publisher") for one in owners]}
    return {name: one for name, one in (value | more).items() if one is not False}


SWITCH, PROVED = {"switch": True}, {"proved": True}


def checks():
    book = Book()
    one, two = site(), site(home="two")
    taken = offer(one), SWITCH
    home_two = [envelope("release", release("home", two, NOW + 1000), "publisher")]

    def root_two(*signers, **members):
        return envelope("root", root("2", **members), *signers)

    # Roots
    rotated = {"roots": {"keys": ids("new root"), "threshold": 1}}
    book.case("the next root, by an old key that stays", {"root": "2", "roots": [root_two("root a")], "want": None})
    book.case("the next root, by an old key and a new one", {"root": "2", "roots": [root_two("root a", "new root", **rotated)], "want": None})
    book.case("a root by new keys alone", {"root": "2", "roots": [root_two("new root", **rotated)], "want": "root-old-keys"})
    book.case("a root by old keys alone", {"root": "2", "roots": [root_two("root a", **rotated)], "want": "root-new-keys"})
    book.case("a root by a thief", {"root": "2", "roots": [root_two("thief")], "want": "root-old-keys"})
    book.case("a root by a key that signs releases", {"root": "2", "roots": [root_two("publisher", "head")], "want": "root-old-keys"})
    both = {"roots": {"keys": ids("root a", "root b", "root c"), "threshold": 2}}
    strict = envelope("root", root(**both), "root a", "root b")
    book.case("one of two signatures", {"roots": [root_two("root a", **both)], "want": "root-old-keys"}, built_in=strict)
    book.case("a signature twice, under the id of another key", {"roots": [root_two("root a", **both) | {"signatures": [
        {"keyid": key, "sig": envelope("root", root("2", **both), "root a")["signatures"][0]["sig"]} for key in ids("root a", "root b")]}],
        "want": "root-old-keys"}, built_in=strict)
    book.case("two of three signatures", {"roots": [root_two("root a", "root c", **both)], "want": None}, built_in=strict)
    book.case("three in one go", {"root": "4", "roots": [root_two("root a"), envelope("root", root("3", **rotated), "root b", "new root"),
                                                         envelope("root", root("4", **rotated), "new root")], "want": None})
    book.case("the second of two is bad, the first stays", {"root": "3", "roots": [root_two("root a"), envelope("root", root("3"), "thief")],
                                                            "want": "root-old-keys"})
    book.case("a root is skipped", {"root": "3", "roots": [envelope("root", root("3"), "root a")], "want": "root-number"})
    book.case("the same root again", {"roots": [envelope("root", root(), "root a")], "want": "root-number"})
    book.case("an older root", {"roots": [root_two("root a")]}, {"roots": [envelope("root", root(), "root a")], "want": "root-number"})
    book.case("another app's root", {"roots": [root_two("root a", app="pay")], "want": "root-app"})
    book.case("another environment's root", {"roots": [root_two("root a", environment="staging")], "want": "root-app"})
    book.case("a root without the environment", {"roots": [root_two("root a")], "want": "root-app"}, environment="staging")
    book.case("no root", {"root": "2", "want": "root-missing"})
    book.case("a lower root", {"root": "1", "want": None})
    book.case("a root that is none", {"roots": [envelope("root", b"{}", "root a")], "want": "root-form"})
    book.case("a head for a root", {"roots": [envelope("head", head(one), "head")], "want": "root-form"})
    book.case("a root beside a manifest that waits for it", offer(one, root="2", want="root-missing"))

    # Heads
    book.case("the first manifest", *taken)
    book.case("by the other head key", offer(one, by="ci head"))
    book.case("a head by a publisher", offer(one, by="publisher", want="head-key"))
    book.case("a head by a thief", offer(one, by="thief", want="head-key"))
    book.case("a head with an invalid signature", offer(one, head_=envelope("head", head(one), "head") | {
        "signatures": envelope("head", head(two), "head")["signatures"]}, want="head-key"))
    book.case("another app's head", offer(one, head_=envelope("head", head(one, app="pay"), "head"), want="head-place"))
    book.case("another channel's head", offer(one, head_=envelope("head", head(one, channel="test"), "head"), want="head-place"))
    book.case("another environment's head", offer(one, head_=envelope("head", head(one, environment="staging"), "head"), want="head-place"))
    book.case("a head that is none", offer(one, head_=envelope("head", b"{}", "head"), want="head-form"))
    book.case("no head", offer(one, head=False, want="head-missing"))
    book.case("a head of another digest", offer(one, head_=envelope("head", head(two), "head"), want="head-manifest"))
    book.case("a head of another version", offer(one, head_=envelope("head", head(one, "11"), "head"), want="head-manifest"))
    later = envelope("head", head(two, "11", NOW + DAY), "head")
    book.case("head.json by itself", {"head": later, "want": None})
    book.case("an older head with its manifest", {"head": later}, offer(one, want="head-old"))
    book.case("an older head, and the manifest of the newer one", {"head": later}, offer(
        two, "11", head_=envelope("head", head(two, "11", NOW), "head"), want=None))
    book.case("no head, and the manifest of the stored one", {"head": later}, offer(two, "11", head=False, want=None))
    book.case("an older head by itself", {"head": later}, {"head": envelope("head", head(one), "head"), "want": None})
    book.case("the same head, and another manifest", {"head": later}, offer(one, head_=later, want="head-manifest"))
    book.case("another head of the same time", {"head": later}, {"head": envelope("head", head(one, "12", NOW + DAY), "head"), "want": None})
    for name, low, high in (("version", {"version": "9"}, {"version": "10"}), ("policy", {"policy": "6"}, {"policy": "7"}), ("prefetch", {}, {"prefetch": "7"})):
        book.case(f"a newer head with a lower {name}", {"head": envelope("head", head(one, **high), "head")},
                  {"head": envelope("head", head(one, at=NOW + 1, **low), "head"), "want": "head-fell"})
    book.case("a stale head is taken", offer(one, now=NOW + 40 * DAY, want=None))
    book.case("a clock in 1970", offer(one, now=0, want=None))
    book.case("a head that is just not stale", {"head": later, "now": NOW + 31 * DAY}, {"head": later, "now": NOW + 31 * DAY + 1})

    # Candidates
    candidate = envelope("head", head(one, candidate={"digest": digest(two), "rollout": {"seed": "s", "share": 500, "version": "11"}}), "head")
    book.case("a candidate", offer(two, "11", head_=candidate, want=None))
    book.case("a candidate with the full version's number", offer(two, "10", head_=candidate, want="head-manifest"))
    book.case("the full version beside a candidate", offer(one, head_=candidate, want=None))
    book.case("a candidate that is none any more", {"head": envelope("head", head(one, at=NOW + 1), "head")},
              offer(two, "11", head_=candidate, want="head-old"))

    # Bundles
    for what, wrong in (("an entry without a bundle", None), ("an entry with a number for a bundle", 1), ("an entry with no bundle's name", "a b")):
        url = "https://m.example.com/x.js"
        map_ = site() | {url: entry("x") | ({"bundle": wrong} if wrong else {})}
        book.case(what, offer(map_, want="entry-bundle"))
    book.case("a statement that is none", offer(one, releases=[envelope("release", b"{}", "publisher")], want="release-form"))
    book.case("two statements of a bundle", offer(one, releases=[envelope("release", release("home", one), "publisher")] * 2, want="release-twice"))
    book.case("two statements of a bundle, and one that is none", offer(one, releases=[
        envelope("release", release("home", one), "publisher")] * 2 + [envelope("release", b"{}", "publisher")], want="release-form"))
    book.case("no statement", offer(one, releases=[], want="release-missing"))
    book.case("a statement of another bundle", offer(one, owners=("home",), want="release-missing"))
    book.case("one too many", offer(one, owners=("home", "activity-618", "gone")))
    for name, value in (("app", "pay"), ("environment", "staging"), ("channels", ["test"])):
        book.case(f"a statement of another {name}", offer(one, releases=[
            envelope("release", release("activity-618", one), "publisher"), envelope("release", release("home", one) | {name: value}, "publisher")],
            want="release-place"))
    book.case("in the environment", offer(one, head_=envelope("head", head(one, environment="staging"), "head"), releases=[
        envelope("release", release(name, one, environment="staging"), "publisher") for name in ("home", "activity-618")], want=None), environment="staging")
    book.case("other bytes", offer(two, owners=("activity-618",), releases=[envelope("release", release(name, one), "publisher") for name in (
        "home", "activity-618")], want="release-content"))
    for what, edit in (("another ctype", {"ctype": "text/html"}), ("other headers", {"headers": {}}), ("another size", {"size": 1})):
        url = "https://m.example.com/home/b.js"
        book.case(what, offer(one | {url: one[url] | edit}, releases=[envelope("release", release(name, one), "publisher") for name in (
            "home", "activity-618")], want="release-content"))
    url = "https://m.example.com/home/b.js"
    moved = one | {url: one[url] | {"bundle": "activity-618"}}
    book.case("a URL of another bundle", offer(moved, releases=[envelope("release", release(name, one), "publisher") for name in (
        "home", "activity-618")], want="release-content"))
    book.case("a bundle left out", offer({name: value for name, value in one.items() if value["bundle"] == "home"}, owners=("home",), want=None))
    for name in ("thief", "head", "root a", "team"):
        book.case(f"a statement by {name}", offer(one, releases=[envelope("release", release(owner, one), name) for owner in ("home", "activity-618")],
                                                  want="release-key"))

    def by_team(map_, owner="activity-618", **members):
        return [envelope("release", release("home", map_), "publisher"), envelope("release", release(owner, map_, **members), "team", "second")]

    book.case("by two of a team", offer(one, releases=by_team(one), want=None))
    book.case("a team's bundle that isn't its own", offer(one, releases=[
        envelope("release", release(owner, one), "team", "second") for owner in ("home", "activity-618")], want="release-scope"))
    book.case("a team's URL that isn't its own", offer(moved, releases=by_team(moved), want="release-scope"))
    query = one | {"https://m.example.com/activity/?a=https://m.example.com/home/": entry("q", "activity-618")}
    book.case("a team's URL with a query", offer(query, releases=by_team(query), want=None))
    host = one | {"https://m.example.com.evil.example/activity/a.js": entry("q", "activity-618")}
    book.case("a host that begins with a team's", offer(host, releases=by_team(host), want="release-scope"))
    for what, prefixes, want in (("", ["/activity/"], None), (" in a folder of its own", ["/activity/618/"], None), (" for all", ["/"], "release-scope"),
                                 (" for another's folder", ["/activity/", "/home/"], "release-scope"),
                                 (" for a folder that begins with its own", ["/activity-2/"], "release-scope"),
                                 (" for all, in other words", ["/activity/../"], "release-scope")):
        paths = routes(prefixes, owner="activity-618", folder="activity")
        book.case(f"a team's fallback{what}", offer(paths, releases=by_team(paths), want=want))
    shared = routes(["/activity/"], ["/pay/"], owner="activity-618", folder="activity")
    book.case("a team's fallbacks in two of its folders", offer(shared, releases=by_team(shared), want=None))
    paths = routes(["/home/"])
    book.case("a fallback", offer(paths, want=None))
    for what, prefix in (("came", None), ("changed", "/")):
        signed = one | {url: {name: value for name, value in each.items() if name != "fallback"} for url, each in paths.items()} if prefix is None else routes([prefix])
        book.case(f"a fallback that {what} after it was signed", offer(paths, releases=[
            envelope("release", release(owner, signed), "publisher") for owner in ("home", "activity-618")], want="release-content"))
    book.case("a team in another channel", offer(one, head_=envelope("head", head(one, channel="test"), "head"), releases=by_team(one), want="release-scope"),
              channel="test")
    book.case("two people of whom each may do a half", offer(one, releases=[envelope("release", release("home", one), "publisher"), envelope(
        "release", release("activity-618", one), "team", "thief")], want="release-key"))

    # Updates
    book.case("an update of one bundle", *taken, offer(two, "11", releases=home_two, want=None), SWITCH)
    book.case("an update with an old statement", *taken, offer(two, "11", releases=[envelope("release", release("home", one), "publisher")],
                                                               want="release-content"))
    book.case("an update without the statement", *taken, offer(two, "11", releases=[], want="release-content"))
    book.case("back to what was before", *taken, offer(two, "11", releases=home_two), SWITCH,
              offer(one, "12", releases=[envelope("release", release("home", one), "publisher")], want=None))
    raised = [envelope("release", release("home", two, NOW + 1000, floor=NOW + 1000), "publisher")]
    back = offer(one, "12", releases=[envelope("release", release("home", one), "publisher")])
    book.case("back below a floor that hasn't proved itself", *taken, offer(two, "11", releases=raised), SWITCH, back | {"want": None})
    book.case("back below a floor", *taken, offer(two, "11", releases=raised), SWITCH, PROVED, back | {"want": "release-floor"})
    book.case("a floor isn't taken by an update that didn't switch", *taken, offer(two, "11", releases=raised), PROVED, back | {"want": None})
    book.case("at the floor", *taken, offer(two, "11", releases=raised), SWITCH, PROVED, offer(two, "12", releases=raised, want=None))

    # Recoveries
    stolen = [envelope("release", release("home", two, HIGHEST, floor=HIGHEST), "publisher")]
    thieves = offer(two, "11", releases=stolen), SWITCH, PROVED
    fresh = {"releases": [{"bundles": ["*"], "channels": ["*"], "keys": ids("new publisher"), "prefixes": ["*"], "threshold": 1}],
             "prefetch": ids("new publisher")}
    again = offer(one, "12", releases=[envelope("release", release(name, one, NOW + DAY), "new publisher") for name in ("home", "activity-618")], want=None)
    book.case("a floor of 2^53-1 by a stolen key", *taken, *thieves, offer(one, "12", want="release-floor"))
    book.case("the way out of it: a root with floors", *taken, *thieves, {"root": "2", "roots": [root_two("root a", floors={"home": NOW}, **fresh)]}, again,
              SWITCH, PROVED)
    book.case("a root with floors, and the held statement's floor proves itself after it", *taken, offer(two, "11", releases=stolen), SWITCH,
              {"roots": [root_two("root a", floors={"home": NOW})]}, PROVED)
    book.case("a root without the key, whose floor proves itself after it", *taken, offer(two, "11", releases=stolen), SWITCH,
              {"roots": [root_two("root a", **fresh)]}, PROVED, again)
    book.case("a root without the key, and what it had signed", *taken, offer(two, "11", releases=home_two, roots=[root_two("root a", **fresh)],
                                                                            want="release-key"))
    book.case("a held statement by a key that went", *taken, {"roots": [root_two("root a", **fresh)]}, offer(two, "11", releases=[
        envelope("release", release("home", two, NOW + 1000), "new publisher")], want="release-key"))
    future = envelope("head", head(one, str(HIGHEST), NOW + 3000 * DAY, policy=str(HIGHEST), prefetch=str(HIGHEST)), "head")
    heads = {"heads": ids("ci head", "new head")}
    book.case("a head of 2034", *taken, {"head": future}, offer(two, "11", releases=home_two, want="head-old"))
    book.case("the way out of it: a root without the head key", *taken, {"head": future}, offer(
        two, "11", by="new head", releases=home_two, roots=[root_two("root a", **heads)], want=None))
    book.case("a head by a key that stays isn't forgotten", {"head": envelope("head", head(one, "20"), "ci head")}, {"roots": [root_two("root a", **heads)]},
              offer(two, "11", by="ci head", want="head-fell"))
    book.case("nor one by both", {"head": envelope("head", head(one, "20"), "head", "ci head")}, {"roots": [root_two("root a", **heads)]})
    book.case("a head key that went", offer(one, roots=[root_two("root a", **heads)], want="head-key"))
    book.case("off", offer(two, "3", head=False, releases=[], roots=[root_two("root a", off=True, heads=[])], want=None), SWITCH,
              {"policy": "0", "want": None}, {"prefetch": {"version": "1", "config": []}, "want": None})
    book.case("on again", {"roots": [root_two("root a", off=True), envelope("root", root("3"), "root a")]}, offer(one, head=False, want="head-missing"))
    book.case("a forged off", {"roots": [root_two("thief", off=True)], "want": "root-old-keys"}, offer(two, "3", releases=[], want="release-missing"))
    other = envelope("root", root("1", heads=ids("new head"), floors={"home": 5}), "root a")
    book.case("a build with another root", *taken, {"start": other}, offer(two, "11", by="head", want="head-key"))
    book.case("a build with the same root", {"roots": [root_two("root a")]}, {"start": envelope("root", root(), "root a", "root b")})
    book.case("a build with the root in force", *taken, {"roots": [root_two("root a", floors={"home": 5})]}, offer(two, "11", releases=raised), SWITCH, PROVED,
              {"start": root_two("root a", floors={"home": 5})})
    book.case("a build with an older root", {"roots": [root_two("root a"), envelope("root", root("3"), "root a")]}, {"start": root_two("root b")})
    book.case("a first root with floors", offer(one, want="release-floor"), built_in=envelope("root", root(floors={"home": NOW + 1}, prefetchFloor=7), "root a"))

    # Policies and prefetch configs
    book.case("a policy without a head", {"policy": "0", "want": None})
    kill = {"head": envelope("head", head(one, policy="7", prefetch="4"), "head")}
    book.case("an old policy", kill, {"policy": "6", "want": "policy-old"}, {"policy": "7", "want": None}, {"policy": "8", "want": None})
    config = [{"interfaces": [{"api": "https://m.example.com/info", "method": "GET"}], "url": "https://m.example.com/a.html"}]

    def fetched(value, *signers, version="4", want=None, config=config):
        return {"prefetch": {"version": version, "config": config, "statement": envelope("prefetch", value, *signers)}, "want": want}

    book.case("a prefetch config", fetched(prefetch(config), "publisher"))
    book.case("a prefetch config without a statement", {"prefetch": {"version": "4", "config": config}, "want": "prefetch-missing"})
    book.case("a prefetch statement that is none", fetched(b"{}", "publisher", want="prefetch-form"))
    book.case("another prefetch config", fetched(prefetch(config), "publisher", config=[], want="prefetch-content"))
    book.case("a prefetch config of another channel", fetched(prefetch(config, channels=["test"]), "publisher", want="prefetch-place"))
    book.case("a prefetch config of another app", fetched(prefetch(config, app="pay"), "publisher", want="prefetch-place"))
    book.case("a prefetch config by a thief", fetched(prefetch(config), "thief", "team", "head", want="prefetch-key"))
    book.case("a prefetch config below the floor", fetched(prefetch(config, floor=NOW), "publisher"), fetched(
        prefetch(config, NOW - 1), "publisher", want="prefetch-floor"), {"roots": [root_two("root a", prefetchFloor=0)]},
        fetched(prefetch(config, NOW - 1), "publisher", want=None))
    book.case("an old prefetch config", kill, fetched(prefetch(config, floor=NOW), "publisher", version="3", want="prefetch-old"))
    return book


# --- Running what is here

def run(vectors):
    """Runs vectors by trust.py alone."""
    for case in vectors["keys"]:
        spki = trust.key_of(case["key"])
        assert (trust.id_of(spki) if spki else None) == case.get("id"), case
    for case in vectors["signatures"]:
        raw = trust.raw_of(bytes.fromhex(case["der"]))
        assert (raw.hex() if raw else None) == case.get("raw"), case
        if raw:
            assert trust.signs(trust.key_of(case["key"]), bytes.fromhex(case["der"]), bytes.fromhex(case["message"])) == case["verifies"], case
    for case in vectors["messages"]:
        assert trust.message(case["type"], bytes.fromhex(case["payload"])).hex() == case["message"], case
    listed = ids("head", "ci head")
    for case in vectors["envelopes"]:
        try:
            _, one = trust.read("head", unpacked(case).encode())
            got = one.signers(listed, {KEYS[name].id: KEYS[name].spki for name in ("head", "ci head")})
        except Refused:
            got = None
        assert got == case.get("signers") and (got is None) == ("error" in case), case["what"]
    for case in vectors["documents"]:
        try:
            trust.document(case["type"], case["payload"].encode())
            good = True
        except Refused:
            good = False
        assert good != ("error" in case), case
    for case in vectors["contents"]:
        value = content({url: one for url, one in case["resourcemap"].items() if one["bundle"] == case["bundle"]})
        assert (canonical(value).decode(), digest(value)) == (case["canonical"], case["digest"]), case["what"]
    documents_, maps = vectors["checks"]["envelopes"], vectors["checks"]["resourcemaps"]
    steps = 0
    for case in vectors["checks"]["cases"]:
        device = Device(case["app"], case.get("environment"), case["channel"], canonical(documents_[case["builtIn"]]))
        for step in case["steps"]:
            steps += 1
            if "start" in step:
                device.start(canonical(documents_[step["start"]]))
            elif "switch" in step:
                device.switch()
            elif "proved" in step:
                device.proved()
            else:
                given = {name: step[name] for name in ("root", "policy") if name in step}
                given["roots"] = [canonical(documents_[name]) for name in step.get("roots", [])]
                given["releases"] = [documents_[name] for name in step.get("releases", [])]
                if "head" in step:
                    given["head"] = documents_[step["head"]]
                if "manifest" in step:
                    given["manifest"] = step["manifest"] | {"resourcemap": maps[step["manifest"]["resourcemap"]]}
                if "prefetch" in step:
                    given["prefetch"] = dict(step["prefetch"])
                    if "statement" in given["prefetch"]:
                        given["prefetch"]["statement"] = documents_[step["prefetch"]["statement"]]
                got = device.check(given, int(step["now"]))
                assert got == (step["result"], step.get("candidate", False), step.get("stale", False)), f"{case['what']}: {got}"
            assert canonical(device.stored()) == canonical(step["stored"]), case["what"]
    forms = sum(len(vectors[name]) for name in ("keys", "signatures", "messages", "envelopes", "documents", "contents"))
    print(f"trust: {forms} forms, {len(vectors['checks']['cases'])} cases of {steps} steps")


def examples():
    """The members of the examples in docs/protocol.md are the ones that are read."""
    text = (HERE.parents[2] / "docs/protocol.md").read_text(encoding="utf-8").split("\n## 14. Trust")[1]
    known = [{"payload", "payloadType", "signatures"}, set(root(floors={}, prefetchFloor=0)), {*release("home", site()), "floor"}, {"resources"}, {"fallbacks", "resources"},
             {*head(site()), "candidate", "policy", "prefetch"}]
    for found, members in zip(re.findall("```json\n(.*?)```", text, re.S), known, strict=True):
        assert set(json.loads(found)) == members, found
    for name in re.findall(r"^\| `((?:root|head|entry|release|policy|prefetch)-[a-z-]+)` \|", text, re.M):
        assert f'"{name}"' in (HERE / "trust.py").read_text(encoding="utf-8"), name


def lines(values, indent=""):
    return ",\n".join(indent + json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values)


def main():
    path = HERE / "vectors.json"
    if "--check" not in sys.argv[1:]:
        book = checks()
        parts = [f'"{name}": [\n{lines(make())}\n]' for name, make in (
            ("keys", keys), ("signatures", signatures), ("messages", messages), ("envelopes", envelopes), ("documents", documents), ("contents", contents))]
        named = [f'"{name}": {{\n' + ",\n".join(f'"{key}": {json.dumps(one, ensure_ascii=False, separators=(",", ":"))}' for key, one in values.items()) + "\n}"
                 for name, values in (("envelopes", book.envelopes), ("resourcemaps", book.maps))]
        parts.append('"checks": {' + ",\n".join(named) + ',\n"cases": [\n' + lines(book.cases) + "\n]}")
        path.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
    run(json.loads(path.read_bytes(), parse_int=trust.Number))
    examples()


if __name__ == "__main__":
    main()
