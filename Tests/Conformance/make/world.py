"""Building blocks of cases: channels, their answers, deltas and packs. Written from docs/protocol.md."""
import base64, copy, hashlib, json, uuid
from urllib.parse import quote

import zstandard
from packs import number  # noqa: F401

ORIGIN, MIRROR, CDN, SITE = "http://origin.test", "http://mirror.test", "http://cdn.test", "https://m.test"
INDEX, APP, STYLE = SITE + "/index.html", SITE + "/app.js", SITE + "/style.css"
# Enough text for a delta to pay off; all lines differ.
LINES = "".join(f"export const part{i}={i * 7919 % 1000};\n" for i in range(24))


def canonical(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def raw(text):
    return text if isinstance(text, bytes) else text.encode()


def b64(data):
    return base64.b64encode(data).decode()


def file_name(url):
    name = quote(url, safe="-._~")
    if len(name) <= 200:
        return name
    last = url.split("?")[0].rsplit("/", 1)[-1]
    ending = "." + last.rsplit(".", 1)[1] if "." in last else ""
    return "~" + sha256(url.encode())[:32] + (ending if 1 <= len(ending) - 1 <= 8 and ending[1:].isalnum() else "")


def uuid8(digest):
    value = bytearray(bytes.fromhex(digest)[:16])
    value[6] = value[6] & 0x0F | 0x80
    value[8] = value[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(value)))


class World:
    """A channel with its history."""

    def __init__(self, app="shop", channel="online", number=1):
        self.app, self.channel, self.number = app, channel, number
        self.space = "xcache" if channel == "online" else "xcache_" + channel
        self.maps, self.data, self.newest, self.seen = {}, {}, 0, {}

    def entry(self, url, data, version, **members):
        data = raw(data)
        digest = sha256(data)
        known = self.seen.setdefault(url, {})
        key = (digest, json.dumps(members, sort_keys=True))
        if key not in known:
            number = len(known) + 1
            name = file_name(url).replace("%", "%25")
            download = f"{CDN}/{self.space}/{self.number}/{version}/{number}/{uuid8(digest)}/{name}"
            endings = {"html": "text/html", "js": "text/javascript", "css": "text/css", "json": "application/json"}
            ctype = endings.get(url.split("?")[0].rsplit(".", 1)[-1], "text/plain") + ";charset=UTF-8"
            known[key] = {
                "ctype": ctype, "download": download, "md5": hashlib.md5(data).hexdigest(), "sha256": digest,
                "size": len(data), "version": str(number), **members,
            }
            self.data[download] = data
        return known[key]

    def publish(self, files, version=None):
        """Publishes the next version; a value is a text, or a text and more members of the entry."""
        version = version or self.newest + 1
        entries = {}
        for url, value in files.items():
            text, members = value if isinstance(value, tuple) else (value, {})
            entries[url] = self.entry(url, text, version, **members)
        self.maps[version], self.newest = entries, version
        return version

    def raw(self, entries, version=None):
        """Publishes the next version with these entries, valid or not."""
        version = version or self.newest + 1
        self.maps[version], self.newest = entries, version
        return version

    def digest(self, version):
        return sha256(canonical(self.maps.get(version, {})))

    # Answers.

    def data_of(self, version, **members):
        return {"code": 200, "data": {"version": str(version), **members}}

    def nothing(self, version, **extras):
        return self.data_of(version, update=False, **extras)

    def whole(self, version, **extras):
        return self.data_of(
            version, update=True, digest=self.digest(version), resourcemap=self.maps[version], **extras)

    def patch(self, base, version, deltas=None, **extras):
        return self.data_of(
            version, update=True, base=str(base), digest=self.digest(version), deltas=deltas or {},
            patch=merge_patch(self.maps[base], self.maps[version]), **extras)

    def with_first(self, version, pack, made_for=None, **extras):
        """The whole manifest's answer that names a first pack, which may be of a version before, and the pack's URL."""
        url = f"{CDN}/{self.space}/{self.app}/pack/0-{made_for or version}-{sha256(pack)[:16]}.xpk"
        return self.whole(version, first={"download": url, "size": len(pack)}, **extras), url

    def with_pack(self, base, version, pack, **extras):
        """The answer that names a pack, and the pack's URL."""
        url = f"{CDN}/{self.space}/{self.app}/pack/{base}-{version}-{sha256(pack)[:16]}.xpk"
        answer = self.data_of(
            version, update=True, base=str(base), digest=self.digest(version),
            pack={"download": url, "size": len(pack)}, **extras)
        return answer, url

    def delta(self, url, base, version):
        """A URL's delta between two versions: its description in answers, and its rule."""
        old, new = (self.data[self.maps[number][url]["download"]] for number in (base, version))
        made = dcz(new, old)
        download = f"{CDN}/{self.space}/delta/{sha256(new)}/{sha256(old)}.dcz"
        return {"base": sha256(old), "download": download, "size": len(made)}, rule(download, data=made)

    # Rules.

    def origin(self, version, base=None, deltas=None, **extras):
        """An origin's answers with this newest version, with a patch from `base`."""
        query = {"app": self.app, "channel": self.channel}
        rules = [poll_rule(query | held_query(self, version), self.nothing(version, **extras))]
        if base is not None:
            rules.append(poll_rule(
                query | held_query(self, base) | {"patch": "1"}, self.patch(base, version, deltas, **extras)))
        rules.append(poll_rule(query, self.whole(version, **extras) if version else self.nothing(0, **extras)))
        return rules

    def mirror(self, version, base=None, deltas=None, **extras):
        """A static copy's documents with this newest version."""
        top = f"{MIRROR}/{self.space}/{self.app}"
        rules = [rule(f"{top}/version.json", json=self.nothing(version, **extras)),
                 rule(f"{top}/configure.json", json=self.whole(version, **extras))]
        if base is not None:
            rules.append(rule(f"{top}/patch/{base}-{version}.json", json=self.patch(base, version, deltas)))
        return rules

    def downloads(self, version, base=None):
        """The download URLs of a version that `base` doesn't have."""
        old = {entry["download"] for entry in self.maps.get(base, {}).values()}
        return sorted({entry["download"] for entry in self.maps[version].values()} - old)

    def files(self, version, base=None):
        return [rule(url, data=self.data[url]) for url in self.downloads(version, base)]

    def url(self, version, page):
        return self.maps[version][page]["download"]

    def texts(self, version, only=None):
        return {
            url: self.data[entry["download"]].decode() for url, entry in self.maps[version].items()
            if only is None or url in only}

    # Expectations.

    def poll(self, held=None, pack=True, whole=False):
        """The URL of a poll; `whole` if it asks for the whole manifest though the device holds one."""
        url = f"{ORIGIN}/configure.json?app={self.app}&channel={self.channel}" + ("&version=0" if whole else "")
        if held:
            url += f"&version={held}&digest={self.digest(held)}"
        is_lazy = any("lazy" in entry for entry in self.maps[held].values()) if held else False
        return url + ("&patch=1&pack=1" + ("&lazy=1" if is_lazy else "") if held and pack else "&patch=1")

    def copy(self, document):
        return f"{MIRROR}/{self.space}/{self.app}/{document}"

    def holds(self, version, files=True, only=None, without=()):
        state = {"version": str(version), "digest": self.digest(version)}
        if files:
            texts = self.texts(version, only)
            state["files"] = {url: text for url, text in texts.items() if url not in without}
        return {"state": state}


def held_query(world, version):
    return {"version": str(version), "digest": world.digest(version)} if version else {}


def rule(at, json=None, text=None, data=None, **members):
    body = {}
    if json is not None:
        body = {"json": json}
    elif data is not None:
        try:
            body = {"text": data.decode()}
        except UnicodeDecodeError:
            body = {"base64": b64(data)}
    elif text is not None:
        body = {"text": text}
    return {"at": at, **body, **members}


def poll_rule(query, json=None, **members):
    return rule(ORIGIN + "/configure.json", json=json, query=query, **members)


def merge_patch(old, new):
    """The shortest merge patch (RFC 7396)."""
    patch = {}
    for key in sorted(set(old) | set(new)):
        if key not in new:
            patch[key] = None
        elif key not in old:
            patch[key] = new[key]
        elif old[key] != new[key]:
            both = isinstance(old[key], dict) and isinstance(new[key], dict)
            patch[key] = merge_patch(old[key], new[key]) if both else new[key]
    return patch


# Deltas and packs.

def frame(data, base=None):
    made = zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT) if base else None
    return zstandard.ZstdCompressor(level=19, dict_data=made, write_content_size=True, write_dict_id=False).compress(data)


def dcz(data, base):
    return bytes.fromhex("5e2a4d1820000000") + hashlib.sha256(base).digest() + frame(data, base)


def pack(world, base, version, damage=None, sources=None):
    """A pack with a record for each file, over the file of the same URL if there is one. If the base has lazy entries, it leaves
    out the files of lazy arrivals, as devices may lack what they would be made from.

    `damage` gets each part's name and bytes and returns its replacement. `sources` are by URL, where they aren't the usual ones:
    2 (a record), 4 (one over no base), 5 (the file of the same URL), (6, an arrival's index) or 8 (no file). Returns the bytes, and
    the records' offsets.
    """
    old, new = world.maps[base], world.maps[version]
    has_lazy = any("lazy" in entry for entry in old.values())
    change = damage or (lambda part, data: data)
    places = {url: place for place, url in enumerate(sorted(old, key=str.encode))}
    touched = sorted(places[url] for url in old if old[url] != new.get(url))
    arrivals = [url for url in sorted(new, key=str.encode) if old.get(url) != new[url]]
    columns = [number(len(touched))]
    columns += [number(place - before - 1) for before, place in zip([-1] + touched, touched)]
    columns.append(number(len(arrivals)))
    columns += [number(0) for _ in arrivals]
    starts, ends, middles, model = [], [], [], b""
    for url in map(str.encode, arrivals):
        start = 0
        while start < min(len(url), len(model)) and url[start] == model[start]:
            start += 1
        end = 0
        while end < min(len(url), len(model)) - start and url[-1 - end] == model[-1 - end]:
            end += 1
        starts.append(start)
        ends.append(end)
        middles.append(url[start:len(url) - end])
        model = url
    columns += [number(value) for value in starts + ends] + [number(len(middle)) for middle in middles] + middles
    kinds = {url: 8 if has_lazy and "lazy" in new[url] else 2 if url in old and "lazy" not in old[url] else 4 for url in arrivals}
    kinds |= sources or {}
    copies = {url: kinds[url][1] for url in arrivals if isinstance(kinds[url], tuple)}
    kinds |= dict.fromkeys(copies, 6)
    columns += [bytes([kinds[url]]) for url in arrivals]
    columns += [number(copies.get(url, places.get(url, 0))) for url in arrivals if kinds[url] in (2, 5, 6)]
    columns += [change("identity", bytes.fromhex(new[url]["md5"] + new[url]["sha256"]) + number(new[url]["size"]))
                for url in arrivals if kinds[url] == 8]
    columns += [number(int(new[url]["version"])) for url in arrivals]
    columns += [number(version - int(new[url]["download"].split("/")[-4])) for url in arrivals]
    forms = []
    picked = []
    for url in arrivals:
        form = {key: value for key, value in new[url].items() if key not in ("md5", "sha256", "size", "version")}
        form["download"] = form["download"].rsplit("/", 4)[0]
        if form not in forms:
            forms.append(form)
        picked.append(forms.index(form))
    columns += [number(1 + index) for index in picked] + [number(len(forms))]
    for form in forms:
        columns += [number(len(canonical(form))), canonical(form)]
    plain = change("changes", b"".join(columns))
    coded = frame(plain)[4:]
    records = [url for url in arrivals if kinds[url] in (2, 4)]
    head = ((b"XPK2" if 8 in kinds.values() else b"XPK1") + number(base) + number(version) + bytes.fromhex(world.digest(base))
            + bytes.fromhex(world.digest(version)) + number(len(records)) + number(len(plain)) + number(len(coded))
            + hashlib.sha256(plain).digest()[:8])
    out, bounds = change("head", head) + coded, []
    for url in records:
        data = world.data[new[url]["download"]]
        made = frame(data, world.data[old[url]["download"]] if kinds[url] == 2 else None)[4:]
        bounds.append(len(out))
        out += change(url, number(len(made)) + hashlib.sha256(data).digest()[:8] + made)
    return out, bounds


# Cases.

class Book:
    """The cases of one file."""

    def __init__(self, name):
        self.name, self.cases = name, []

    def case(self, name, rules, *steps, **members):
        self.cases.append({
            "id": f"{self.name}-{len(self.cases) + 1:02}", "name": name, "rules": rules, **members,
            "steps": copy.deepcopy(flat(steps))})


class Group(list):
    """Steps shared by many cases, which the file contains once."""

    def __init__(self, name, steps):
        super().__init__(steps)
        self.name = name


def flat(steps):
    """Flattens nested lists of steps."""
    return [one for step in steps for one in (
        flat(step) if isinstance(step, (list, tuple)) and not isinstance(step, Group) else [step])]


def serve(*rules, fresh=False):
    return {"serve": flat(rules), **({"fresh": True} if fresh else {})}


def start(**settings):
    return {"open": settings}


def trigger(*asks, kind="launch", **members):
    return {"trigger": kind, "asks": list(asks), **members}


def tries(world, held=1):
    """Requests that one poll may make after an invalid answer: again, uncompressed, without `pack`, or for the whole manifest."""
    return [{"url": world.poll(held), "times": [1, 3]}, {"url": world.poll(held, pack=False), "times": [0, 1]},
            {"url": world.poll(whole=True), "times": [0, 1]}]


def exactly(url):
    """A request whose query is written like this, too."""
    return {"url": url, "exact": True}


def later(seconds=31):
    return {"advance": seconds}


def ask(url, expect, **members):
    return {"request": url, "expect": expect, **members}


def local(text, status=200, **headers):
    return {"status": status, "text": text, **({"headers": {k.replace("_", "-"): v for k, v in headers.items()}} if headers else {})}


def one(files=None, **settings):
    """A world with one version, and steps after which a device has it."""
    world = World()
    world.publish(files or {INDEX: "<p>one", APP: "let one"})
    return world, got(world, **settings)


def got(world, **settings):
    return [
        serve(world.origin(1), world.files(1)), start(**settings),
        trigger(world.poll(), *world.downloads(1)),
    ]


def two(files=None, next=None, **settings):
    """A world with two versions, and steps after which a device has the first and the origin the second."""
    world, steps = one(files, **settings)
    world.publish(next or {INDEX: "<p>two", APP: "let two"})
    return world, steps + [serve(world.origin(2, 1), world.files(2, 1), fresh=True), later()]
