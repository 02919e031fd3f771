"""A minimal device: polls, patches and packs, in Python with the package zstandard. It was written from docs/protocol.md alone."""
import contextlib, hashlib, io, itertools, json, pathlib, re, shutil, time, urllib.parse, urllib.request

import zstandard

LIMIT = 256 << 20
HEADERS = re.compile("(content-security-policy(-report-only)?|(referrer|permissions|cross-origin-(opener|embedder|resource))-policy"
                     "|x-frame-options|service-worker-allowed)", re.I)


class Device:
    def __init__(self, settings):
        self.settings, self.folder, self.parameters = settings, pathlib.Path(settings["folder"]), {}
        (self.folder / "files").mkdir(parents=True, exist_ok=True)
        self.notes = {"version": "0", "map": {}, "polled": None, "interval": 30, "pack": [None, None]}
        with contextlib.suppress(OSError, TypeError, ValueError):  # rule D-137: notes that can't be read cost no start
            self.notes |= json.loads((self.folder / "notes").read_bytes())

    def write(self, name, content):
        for path in filter(pathlib.Path.is_dir, (self.folder / "new", self.folder / name)):  # rule D-138: in place of a file
            shutil.rmtree(path)
        (self.folder / "new").write_bytes(content)
        (self.folder / "new").replace(self.folder / name)

    def note(self, **changes):
        self.notes |= changes
        self.write("notes", json.dumps(self.notes).encode())

    def poll(self, now):
        """Section 2. A pack that can't be used gives way to a patch, and a patch to the whole manifest. `now` is in milliseconds."""
        if self.notes["polled"] is not None and 0 <= now - self.notes["polled"] < 1000 * self.notes["interval"]:
            return
        self.note(polled=now)
        data = self.ask(pack=self.notes["version"] != "0")
        self.note(interval=min(max(data.get("interval", 30), 30), 3600))
        while data["update"]:
            try:
                manifest = self.manifest(data)
            except Exception:
                need("pack" in data or "patch" in data, "no manifest that can be used")
                data = self.ask(whole="patch" in data)
            else:
                return self.switch(data, manifest)

    def ask(self, pack=False, whole=False):
        packs = {"pack": 1} | {"lazy": 1 for entry in self.notes["map"].values() if "lazy" in entry} if pack else {}
        held = {"version": 0} if whole else {"version": self.notes["version"], "digest": digest(self.notes["map"])}  # rule D-31
        held = held if self.notes["version"] != "0" or getattr(self, "lets_go", False) else {}
        query = {"app": self.settings["app"], "channel": self.settings["channel"]} | held | {"patch": 1} | packs | self.parameters  # rule D-187
        return read_answer(self.fetch(f"{self.settings['server']}/configure.json?{urllib.parse.urlencode(query)}"))

    def manifest(self, data):
        """The resourcemap that an answer leads to."""
        held = self.notes["map"]
        need("resourcemap" in data or data["base"] == self.notes["version"], "another base")
        manifest = self.unpack(data) if "pack" in data else merge(held, data["patch"]) if "patch" in data else data["resourcemap"]
        need(digest(manifest) == data["digest"], "another digest")
        return manifest

    def switch(self, data, manifest):
        """Fetches the files that changed and aren't lazy, then moves to the new manifest in one step."""
        for url, entry in manifest.items():
            if self.is_ours(url) and "lazy" not in entry and (old := self.notes["map"].get(url, {})).get("lazy", old.get("sha256")) != entry["sha256"]:
                self.file(entry)
        self.note(version=data["version"], map=manifest, pack=[None, None])

    def is_ours(self, url):  # rules D-90 and D-92
        host, names = urllib.parse.urlsplit(url).hostname, self.settings["hosts"]
        return any(host == name.removeprefix("*.") or name[0] == "*" and host.endswith(name[1:]) for name in names)

    def held(self, entry):
        """The bytes of an entry's file, if they are here and correct."""
        path = self.folder / "files" / entry["sha256"]
        content = path.read_bytes() if path.is_file() else b""
        return content if sha256(content) == entry["sha256"] else None

    def file(self, entry):
        """The bytes of an entry's file, downloaded if they aren't here."""
        if (content := self.held(entry)) is None:
            content = self.fetch(entry["download"], entry["size"])
            need(entry == entry | sums(content), "other bytes")
            self.write("files/" + sha256(content), content)
        return content

    def answer(self, url):
        """The header fields and the bytes for a page's plain GET. Where this fails, the network has to answer."""
        entry = self.notes["map"][url]
        need(self.is_ours(url), "another host")
        fields = {name: value for name, value in entry.get("headers", {}).items() if HEADERS.fullmatch(name)}
        return fields | {"Content-Type": entry["ctype"], "Content-Length": str(entry["size"]), "ETag": f'"{entry["md5"]}"',
                         "X-Content-Type-Options": "nosniff"}, self.file(entry)

    def fetch(self, url, size=None):  # a document, or a file of this size
        with request(url) as answer:
            content = read(answer, size)
            need(answer.status == 200 and answer.headers.get("Content-Length") in (None, str(len(content))), "another status or length")
            return content

    def fetch_pack(self, url, size):
        """The bytes of a pack. A download that was torn goes on from what the folder has, also in the next process."""
        need(type(size) is int, "a size that is no number")
        path = self.folder / "pack"
        for _ in range(3):
            have, tag, start = path.stat().st_size if self.notes["pack"][0] == url else 0, self.notes["pack"][1] or "", time.monotonic()
            ranges = {"Range": f"bytes={have}-"} | ({"If-Range": tag} if tag[:1] == '"' else {}) if 0 < have < size else {}
            with request(url, ranges) as answer, open(path, "ab" if answer.status == 206 else "wb", 0) as file:
                self.note(pack=[url, answer.headers["ETag"]])
                while file.tell() < size and time.monotonic() < start + 5 + (file.tell() - have) / 256 and (piece := answer.read1(1 << 16)):
                    file.write(piece)
            if path.stat().st_size >= size:
                return path.read_bytes()
        raise ConnectionError("a pack that is always torn")

    def unpack(self, data):
        """The resourcemap that a pack leads to: section 8. Each record's file is kept as soon as it is decoded."""
        pack, base = Reader(self.fetch_pack(data["pack"]["download"], data["pack"]["size"])), sorted(self.notes["map"].items())
        kind, *head = pack.read(4), *pack.numbers(2), pack.read(64).hex()
        need(head == [int(data["base"]), int(data["version"]), digest(self.notes["map"]) + data["digest"]], "another pack")
        records, plain, coded = pack.numbers(3)
        touched, arrivals = read_changes(Reader(pack.frame(coded, pack.read(8), limit=plain)), int(data["version"]), base)
        words = renamed_words((base[partner][0], url) for url, partner, *_ in arrivals if partner is not None)
        manifest, contents = {url: entry for place, (url, entry) in enumerate(base) if place not in touched}, []
        for url, _, source, other, *versions, form in arrivals:
            content = b"" if source in (4, 8) else contents[other] if source == 6 else self.held(base[other][1])
            if source in (1, 3):
                content = re.sub(rb"[\w-]+", lambda word: words.get(word[0], word[0]), content)
            if source < 5:
                content = pack.frame(pack.number(), pack.read(8), content)
                self.write("files/" + sha256(content), content)
            contents.append(None if source == 8 else content)
            manifest[url] = entry_of(form, url, *versions, other if source == 8 else sums(content))
        need((kind, records) == (b"XPK2" if None in contents else b"XPK1", sum(arrival[2] < 5 for arrival in arrivals)) and not pack.read(), "another pack")
        return manifest


class Reader(io.BytesIO):  # where bytes are missing, a check or the manifest's digest differs
    def number(self, length=1):
        byte = self.read(1)[0]
        need(length == 1 or length <= 8 and byte > 0, "a number in another form")
        return byte if byte < 128 else byte - 128 + (self.number(length + 1) << 7)

    def numbers(self, count):
        return [self.number() for _ in range(count)]

    def frame(self, length, check, base=b"", limit=LIMIT):
        dictionary = zstandard.ZstdCompressionDict(base, zstandard.DICT_TYPE_RAWCONTENT) if base else None
        decoder = zstandard.ZstdDecompressor(dictionary, max_window_size=128 << 20)
        content = decoder.stream_reader(b"\x28\xb5\x2f\xfd" + self.read(length)).read(min(limit, LIMIT))
        need(sha256(content)[:16] == check.hex(), "damaged")
        return content


def read_changes(list, version, base):
    """The places that are touched, and of each arrival: URL, partner, source, other, manifest and resource version, form."""
    touched = [*itertools.accumulate(list.numbers(list.number()), lambda place, gap: place + 1 + gap, initial=-1)][1:]
    count, partners, expected = list.number(), [], 0
    for code in list.numbers(count):
        expected += (code - 1) // 2 if code % 2 else -(code // 2)
        partners.append(touched[expected] if code else None)
        expected += code > 0
    starts, ends, middles, urls = list.numbers(count), list.numbers(count), list.numbers(count), []
    for partner, start, end, middle in zip(partners, starts, ends, middles):
        model = base[partner][0] if partner is not None else urls[-1] if urls else ""
        urls.append(model[:start] + list.read(middle).decode("ascii") + model[len(model) - end:])
    sources = list.read(count)
    others = [list.number() if source in (2, 3, 5, 6) else partner for source, partner in zip(sources, partners)]
    others = [dict(md5=list.read(16).hex(), sha256=list.read(32).hex(), size=list.number()) if source == 8 else other for source, other in zip(sources, others)]
    versions, manifests = list.numbers(count), [(version - since) % 2**53 for since in list.numbers(count)]
    chosen, forms = list.numbers(count), [parse(list.read(list.number())) for _ in range(list.number())]
    forms = [forms[form - 1] if form else base[partner][1] | {"download": base[partner][1]["download"].rsplit("/", 4)[0]} for form, partner in zip(chosen, partners)]
    return set(touched), [*zip(urls, partners, sources, others, manifests, versions, forms)]


def entry_of(form, url, manifest, version, sums):  # section 5
    digest, name = sums["sha256"], urllib.parse.quote(url, safe="")
    if len(name) > 200:
        name = "~" + sha256(url.encode())[:32] + re.search(r"(\.[A-Za-z0-9]{1,8})?$", urllib.parse.urlsplit(url).path)[0]
    uuid = f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-{'89ab'[int(digest[16], 16) % 4]}{digest[17:20]}-{digest[20:32]}"
    download = f"{form['download']}/{manifest}/{version}/{uuid}/{urllib.parse.quote(name, safe='')}"
    return form | sums | {"download": download, "version": str(version)}


def renamed_words(urls):
    """What the words of an old file become, by pairs of an old and a new URL."""
    words = {}
    for pair in urls:
        old, new = (re.findall(rb"[\w-]+|[^\w-]+", url.encode()) for url in pair)
        differ = [(a, b) for a, b in zip(old, new) if a != b]
        if len(old) == len(new) and all(re.match(rb"[\w-]", a) and re.match(rb"[\w-]", b) for a, b in differ):
            words = {a: b for a, b in reversed(differ) if 6 <= len(a) <= 64 and len(b) <= min(64, 2 * len(a))} | words
    return words


def need(condition, what):
    if not condition:
        raise ValueError(what)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def sums(content):
    return {"md5": hashlib.md5(content).hexdigest(), "sha256": sha256(content), "size": len(content)}


def digest(resourcemap):
    return sha256(json.dumps(resourcemap, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode())


def parse(document):  # section 1
    def members(pairs):
        need(len(dict(pairs)) == len(pairs), "a key twice")
        return dict(pairs)
    brackets = re.sub(r'"(\\.|[^"\\])*"|[^][{}]', "", document.decode())
    need(max(itertools.accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0) <= 64, "too many levels")
    return json.loads(document.decode(), object_pairs_hook=members, parse_constant=lambda name: need(False, name))


def read_answer(document):
    data = (answer := parse(document))["data"]
    need(answer["code"] == 200 and isinstance(data["update"], bool) and re.fullmatch("0|[1-9][0-9]*", data["version"]), "no answer")
    need(not data["update"] or data.keys() & {"pack", "patch", "resourcemap"}, "nothing in it")
    return data


def merge(target, patch):  # RFC 7396
    if not isinstance(patch, dict):
        return patch
    target = target if isinstance(target, dict) else {}
    changed = {name: merge(target.get(name), value) for name, value in patch.items() if value is not None}
    return {name: value for name, value in target.items() if name not in patch} | changed


def read(answer, size, decoded=bytes):  # rule D-99: what drips is given up; files may come more slowly than documents
    content, start, least = bytearray(), time.monotonic(), 2048 if size is None else 256
    while len(content) <= (LIMIT if size is None else size) and (piece := answer.read1(1 << 16)):
        content += decoded(piece)
        need((seconds := time.monotonic() - start) < 5 or len(content) > least * seconds, "it comes too slowly")
    return bytes(content)


def request(url, fields={}):
    return urllib.request.urlopen(urllib.request.Request(url, headers={"Accept-Encoding": "identity", **fields}), timeout=4)
