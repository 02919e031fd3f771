"""Trust, as docs/protocol.md §14 says, and written from that text alone: readers of its documents, and the device's check.

Needs the package `cryptography` (Debian's python3-cryptography, or PyPI), for P-256.
"""
import base64
import hashlib
import json
import re
import urllib.parse

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HIGHEST = 2**53 - 1
TYPES = {name: f"application/vnd.xcache.{name}+json" for name in ("root", "release", "prefetch", "head")}
SPKI = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")


class Refused(Exception):
    """What isn't a document, or fails the check: its name."""


def need(holds, name):
    if not holds:
        raise Refused(name)


# --- JSON

def parse(data):
    """A JSON text with each key once; numbers as they were written."""
    def members(pairs):
        need(len(dict(pairs)) == len(pairs), "a key twice")
        return dict(pairs)

    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=members, parse_int=Number, parse_float=Number,
                           parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Refused(f"no JSON: {error}") from error
    check_text(value)
    return value


def refuse(_):
    raise ValueError("no number of JSON")


class Number(str):
    """A number as it was written."""


def check_text(value, depth=0):
    if isinstance(value, (dict, list)):
        need(depth < 64, "too deep")
        for key in value if isinstance(value, dict) else ():
            check_text(key)
        for part in value.values() if isinstance(value, dict) else value:
            check_text(part, depth + 1)
    elif isinstance(value, str):
        need(not any(0xD800 <= ord(character) < 0xE000 for character in value), "half of a surrogate pair")


SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def canonical(value):
    return write(value).encode("utf-8")


def write(value):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(SHORT.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in value) + '"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    return "{" + ",".join(f"{write(key)}:{write(value[key])}" for key in sorted(value, key=lambda key: key.encode("utf-8"))) + "}"


def count(value):
    """How many values a value consists of."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, parts))


def digest(value):
    return hashlib.sha256(canonical(value)).hexdigest()


# --- Members

def member(value, key, read):
    need(isinstance(value, dict) and key in value, key)
    result = read(value[key])
    need(result is not None, key)
    return result


def optional(value, key, read, missing=None):
    return member(value, key, read) if key in value else missing


def text(pattern, limit):
    return lambda value: value if type(value) is str and len(value) <= limit and re.fullmatch(pattern, value, re.A) else None


app_text = text("[A-Za-z][A-Za-z0-9_-]*", 64)
channel = environment = text("[a-z][a-z0-9-]*", 32)
bundle = text("[A-Za-z0-9][A-Za-z0-9._-]*", 128)
sha256 = key_id = text("[0-9a-f]{64}", 64)


def app(value):
    return app_text(value) if value is not None and str(value).lower() != "delta" else None


def number(value, low=0, high=HIGHEST):
    if type(value) is not Number or not re.fullmatch("0|[1-9][0-9]*", value, re.A):
        return None
    return int(value) if low <= int(value) <= high else None


def version(value, low=0):
    if type(value) is not str or not re.fullmatch("0|[1-9][0-9]*", value, re.A):
        return None
    return int(value) if low <= int(value) <= HIGHEST else None


def boolean(value):
    return value if isinstance(value, bool) else None


def listed(read, low, high):
    """A list of texts, ordered by their bytes, each once."""
    def read_all(value):
        if not isinstance(value, list) or not low <= len(value) <= high or any(type(one) is not str for one in value):
            return None
        order = [one.encode("utf-8") for one in value]
        if any(not a < b for a, b in zip(order, order[1:])):
            return None
        return value if all(read(one) is not None for one in value) else None
    return read_all


def decoded(value, limit=None):
    """The only base64 of some bytes."""
    if type(value) is not str or len(value) > 4 * Envelope.SIZE:
        return None
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        return None
    return data if base64.b64encode(data).decode() == value and (limit is None or len(data) == limit) else None


# --- Keys, signatures, envelopes

def key_of(value):
    """The bytes of a key that is written as base64."""
    data = decoded(value)
    return data if data is not None and len(data) == 91 and data.startswith(SPKI) else None


def id_of(spki):
    return hashlib.sha256(spki).hexdigest()


def raw_of(der):
    """r and s of a signature, 32 bytes each; None if it isn't one."""
    if not 8 <= len(der) <= 72 or der[0] != 0x30 or der[1] != len(der) - 2:
        return None
    rest, numbers = der[2:], b""
    for _ in range(2):
        if len(rest) < 3 or rest[0] != 2 or not 1 <= rest[1] <= 33 or len(rest) < 2 + rest[1]:
            return None
        one, rest = rest[2:2 + rest[1]], rest[2 + rest[1]:]
        if one[0] >= 0x80 or one == b"\0" or one[0] == 0 and (len(one) == 1 or one[1] < 0x80):
            return None
        one = one.lstrip(b"\0")
        if len(one) > 32:
            return None
        numbers += one.rjust(32, b"\0")
    return None if rest else numbers


def signs(spki, der, message):
    try:
        serialization.load_der_public_key(spki).verify(der, message, ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True


def message(kind, payload):
    return b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(payload), payload)


class Envelope:
    SIZE, PAYLOAD, SIGNATURES, VALUES = 98_304, 65_536, 16, 256

    def __init__(self, data):
        """Reads an envelope from its bytes, or from the value that is part of another document."""
        if isinstance(data, bytes):
            need(len(data) <= self.SIZE, "size")
            data = parse(data)
        need(count(data) <= self.VALUES, "values")
        self.type = member(data, "payloadType", lambda value: value if type(value) is str else None)
        self.payload = member(data, "payload", decoded)
        need(len(self.payload) <= self.PAYLOAD, "size")
        self.signatures = {}
        for one in member(data, "signatures", lambda value: value if isinstance(value, list) and len(value) <= self.SIGNATURES else None):
            key, sig = member(one, "keyid", key_id), member(one, "sig", decoded)
            need(raw_of(sig) is not None, "sig")
            need(key not in self.signatures, "keyid")
            self.signatures[key] = sig

    def signers(self, ids, keys):
        """Which of `ids` have signed it."""
        text = message(self.type, self.payload)
        return sorted(one for one, sig in self.signatures.items() if one in ids and signs(keys[one], sig, text))


def read(kind, data):
    """A document and its envelope."""
    envelope = Envelope(data)
    need(envelope.type == TYPES[kind], "payloadType")
    return document(kind, envelope.payload), envelope


def document(kind, payload):
    value = parse(payload)
    need(canonical(value) == payload, "not canonical")
    return {"root": root, "release": release, "prefetch": prefetch, "head": head}[kind](value)


# --- Documents

def common(value):
    return {"app": member(value, "app", app), "environment": optional(value, "environment", environment)}


def group(value):
    keys = member(value, "keys", listed(key_id, 1, 16))
    return {"keys": keys, "threshold": member(value, "threshold", lambda value: number(value, 1, min(8, len(keys))))}


def scope(read_one):
    return lambda value: value if value == ["*"] else listed(read_one, 1, 256)(value)


def bundle_pattern(value):
    return bundle(value[:-1] if value.endswith("*") else value)


def prefix(value):
    """A URL in the form of section 4, without a query, that ends in a slash. (The vectors have plain ones.)"""
    plain = text(r"https?://[a-z0-9.-]+(:[0-9]+)?/([!$&'()*+,;=:@A-Za-z0-9._~%-]+/)*", 4096)(value)
    return plain if plain and not re.search(r"^https://[^/]*:443/|^http://[^/]*:80/|/(\.|%2e){1,2}/", plain, re.I) else None


def grant(value):
    need(isinstance(value, dict), "releases")
    return group(value) | {"channels": member(value, "channels", scope(channel)), "bundles": member(value, "bundles", scope(bundle_pattern)),
                           "prefixes": member(value, "prefixes", scope(prefix))}


def as_object(limit):
    return lambda value: value if isinstance(value, dict) and len(value) <= limit else None


def root(value):
    keys = {}
    for name, one in member(value, "keys", as_object(64)).items():
        spki = key_of(one)
        need(spki is not None and id_of(spki) == name, "keys")
        keys[name] = spki
    need(keys, "keys")
    grants = [grant(one) for one in member(value, "releases", lambda value: value if isinstance(value, list) and len(value) <= 64 else None)]
    floors = optional(value, "floors", as_object(1000), {})
    for name in floors:
        need(bundle(name) and number(floors[name]) is not None, "floors")
    result = common(value) | {
        "number": member(value, "number", lambda value: version(value, 1)), "keys": keys, "roots": group(member(value, "roots", as_object(HIGHEST))),
        "releases": grants, "prefetch": member(value, "prefetch", listed(key_id, 0, 16)), "heads": member(value, "heads", listed(key_id, 0, 16)),
        "floors": {name: int(floors[name]) for name in floors}, "prefetchFloor": optional(value, "prefetchFloor", number),
        "scriptKey": optional(value, "scriptKey", lambda value: decoded(value, 32)), "off": optional(value, "off", boolean, False)}
    others = set(result["prefetch"] + result["heads"] + [one for each in grants for one in each["keys"]])
    need(others | set(result["roots"]["keys"]) <= set(keys), "keys")
    need(not others & set(result["roots"]["keys"]), "roots")
    need(result["heads"] or result["off"], "heads")
    return result


def statement(value):
    serial = member(value, "serial", number)
    return common(value) | {"channels": member(value, "channels", listed(channel, 1, 64)), "content": member(value, "content", sha256),
                            "serial": serial, "floor": optional(value, "floor", lambda value: number(value, 0, serial), 0)}


def release(value):
    return statement(value) | {"bundle": member(value, "bundle", bundle)}


def prefetch(value):
    return statement(value)


def rule(value):
    """A rollout's rule (section 13). Its groups and its range of app versions are left to whoever decides by it."""
    return {name: value[name] for name in ("app", "groups", "prefetch") if name in value} | {"version": member(value, "version", lambda value: version(value, 1)), "seed": member(value, "seed", text("[A-Za-z0-9_-]+", 64)),
            "share": member(value, "share", lambda value: number(value, 0, 10_000))}


def head(value):
    result = common(value) | {
        "channel": member(value, "channel", channel), "version": member(value, "version", version), "digest": member(value, "digest", sha256),
        "policy": optional(value, "policy", version, 0), "prefetch": optional(value, "prefetch", version, 0),
        "at": member(value, "at", number), "until": member(value, "until", number), "candidate": None}
    need(result["at"] <= result["until"], "until")
    if "candidate" in value:
        candidate = value["candidate"]
        result["candidate"] = {"digest": member(candidate, "digest", sha256), "rollout": rule(member(candidate, "rollout", as_object(HIGHEST)))}
        need(result["candidate"]["rollout"]["version"] > result["version"], "candidate")
    return result


def content(entries):
    """What a release statement signs of a bundle's entries."""
    fallbacks = {url: entry["fallback"] for url, entry in entries.items() if "fallback" in entry}
    return ({"fallbacks": fallbacks} if fallbacks else {}) | {"resources": {url: {name: entry[name] for name in ("ctype", "headers", "sha256", "size") if name in entry}
                          for url, entry in entries.items()}}


def places(entries):
    """What `prefixes` must cover: the URLs, and the prefixes under which pages are fallbacks."""
    return list(entries) + [urllib.parse.urljoin(url, "/." + rule["prefix"]) for url, entry in entries.items() for rule in entry.get("fallback", [])]


# --- The device

class Device:
    """What a device stores, and its check."""

    def __init__(self, app, environment, channel, built_in):
        self.app, self.environment, self.channel = app, environment, channel
        self.head, self.signers, self.floors, self.prefetch_floor, self.releases = None, [], {}, 0, {}
        first, envelope = read("root", built_in)
        self.built_in = hashlib.sha256(envelope.payload).hexdigest()
        self.adopt(first)

    def start(self, built_in):
        """Begins with the root of a build, which may be another one."""
        first, envelope = read("root", built_in)
        if hashlib.sha256(envelope.payload).hexdigest() == self.built_in:
            return
        self.built_in = hashlib.sha256(envelope.payload).hexdigest()
        if first != self.root:
            self.adopt(first)

    def adopt(self, root):
        self.root = root
        for name, floor in root["floors"].items():
            self.floors[name] = floor
            if name in self.releases:
                self.releases[name]["leaves"] = min(self.releases[name]["leaves"], floor)
        if root["prefetchFloor"] is not None:
            self.prefetch_floor = root["prefetchFloor"]
        if not set(self.signers) & set(root["heads"]):
            self.head, self.signers = None, []

    def proved(self):
        for name, held in self.releases.items():
            if any(self.met(one, held["signers"]) and self.covers(one, name) for one in self.root["releases"]):
                self.floors[name] = max(self.floors.get(name, 0), held["leaves"])

    def switch(self):
        self.releases = self.taken

    @staticmethod
    def met(group, signers):
        return len(set(group["keys"]) & set(signers)) >= group["threshold"]

    def covers(self, grant, name, urls=()):
        def is_in(values, matches):
            return values == ["*"] or any(map(matches, values))

        return is_in(grant["channels"], lambda one: one == self.channel) and all(
            is_in(grant["prefixes"], url.startswith) for url in urls) and is_in(
                grant["bundles"], lambda one: name.startswith(one[:-1]) if one.endswith("*") else one == name)

    def is_place(self, value):
        return (value["app"], value["environment"]) == (self.app, self.environment) and (
            value["channel"] == self.channel if "channel" in value else self.channel in value["channels"])

    def check(self, offer, now):
        """Returns the result's name (None if all passes), whether a manifest is the candidate, and whether the head is stale."""
        self.taken = None
        result, candidate, before = None, False, None
        try:
            self.check_roots(offer)
            if self.root["off"]:
                self.taken = {} if "manifest" in offer else None
                return None, False, False
            before = self.head, self.signers, self.prefetch_floor
            is_old = self.check_head(offer)
            if "manifest" in offer:
                candidate = self.check_manifest(offer["manifest"], offer.get("releases", []), is_old)
            if "policy" in offer:
                need(not self.head or int(offer["policy"]) >= self.head["policy"], "policy-old")
            if "prefetch" in offer:
                self.check_prefetch(offer["prefetch"])
        except Refused as refused:
            result, self.taken, candidate = str(refused), None, False
            if before:
                self.head, self.signers, self.prefetch_floor = before
        return result, candidate, bool(not self.root["off"] and self.head and self.head["until"] < now)

    @staticmethod
    def received(kind, data, name):
        try:
            return read(kind, data)
        except Refused as refused:
            raise Refused(name) from refused

    def check_roots(self, offer):
        for data in offer.get("roots", []):
            next_one, envelope = self.received("root", data, "root-form")
            need((next_one["app"], next_one["environment"]) == (self.app, self.environment), "root-app")
            need(next_one["number"] == self.root["number"] + 1, "root-number")
            for root, name in ((self.root, "root-old-keys"), (next_one, "root-new-keys")):
                need(self.met(root["roots"], envelope.signers(root["roots"]["keys"], root["keys"])), name)
            self.adopt(next_one)
        need(int(offer.get("root", 0)) <= self.root["number"], "root-missing")

    def check_head(self, offer):
        if "head" not in offer:
            return False
        value, envelope = self.received("head", offer["head"], "head-form")
        signers = envelope.signers(self.root["heads"], self.root["keys"])
        need(signers, "head-key")
        need(self.is_place(value), "head-place")
        if self.head:
            if value["at"] <= self.head["at"]:
                return value != self.head
            need(all(value[name] >= self.head[name] for name in ("version", "policy", "prefetch")), "head-fell")
        self.head, self.signers = value, signers
        return False

    def check_manifest(self, manifest, statements, is_old):
        need(self.head, "head-missing")
        offered = int(manifest["version"]), digest(manifest["resourcemap"])
        candidate = self.head["candidate"]
        is_candidate = bool(candidate) and offered == (candidate["rollout"]["version"], candidate["digest"])
        need(is_candidate or offered == (self.head["version"], self.head["digest"]), "head-old" if is_old else "head-manifest")
        bundles, came, taken = {}, {}, {}
        for url, entry in manifest["resourcemap"].items():
            need(bundle(entry.get("bundle")) is not None, "entry-bundle")
            bundles.setdefault(entry["bundle"], {})[url] = entry
        for value, envelope in [self.received("release", data, "release-form") for data in statements]:
            need(value["bundle"] not in came, "release-twice")
            came[value["bundle"]] = value, envelope
        for name in sorted(bundles):
            taken[name] = self.check_bundle(name, bundles[name], came.get(name))
        self.taken = taken
        return is_candidate

    def check_bundle(self, name, entries, came):
        if came:
            value, envelope = came
            keys = {one for each in self.root["releases"] for one in each["keys"]}
            held = {"statement": value, "signers": envelope.signers(keys, self.root["keys"]), "leaves": value["floor"]}
        else:
            need(name in self.releases, "release-missing")
            held = self.releases[name]
            value = held["statement"]
        need(self.is_place(value), "release-place")
        need(digest(content(entries)) == value["content"], "release-content")
        grants = [one for one in self.root["releases"] if self.met(one, held["signers"])]
        need(grants, "release-key")
        need(any(self.covers(one, name, places(entries)) for one in grants), "release-scope")
        need(value["serial"] >= self.floors.get(name, 0), "release-floor")
        return held

    def check_prefetch(self, offer):
        need("statement" in offer, "prefetch-missing")
        value, envelope = self.received("prefetch", offer["statement"], "prefetch-form")
        need(self.is_place(value), "prefetch-place")
        need(value["content"] == digest(offer["config"]), "prefetch-content")
        need(envelope.signers(self.root["prefetch"], self.root["keys"]), "prefetch-key")
        need(value["serial"] >= self.prefetch_floor, "prefetch-floor")
        need(not self.head or int(offer["version"]) >= self.head["prefetch"], "prefetch-old")
        self.prefetch_floor = max(self.prefetch_floor, value["floor"])

    def stored(self):
        """What is stored, as in vectors."""
        return {"root": str(self.root["number"]), "head": self.head and str(self.head["version"]), "at": self.head and self.head["at"],
                "signers": self.signers, "floors": {name: floor for name, floor in self.floors.items() if floor},
                "prefetchFloor": self.prefetch_floor,
                "releases": {name: {"serial": held["statement"]["serial"], "leaves": held["leaves"], "signers": held["signers"]}
                             for name, held in self.releases.items()}}
