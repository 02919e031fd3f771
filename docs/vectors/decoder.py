"""A device's side of docs/protocol.md in Python, written from that text alone. Needs the package zstandard.

Everything is held in memory, and all faults are one exception: it is here to be read beside the text, not to be fast.
"""
import hashlib
import json
import re

import zstandard

LARGEST = 2**53 - 1


class Fault(Exception):
    """The bytes aren't what the protocol says."""


def sha256(data):
    return hashlib.sha256(data).digest()


# -- 1. Values


class Number(str):
    """A JSON number as it was written."""


def parse_json(data):
    def members(pairs):
        result = dict(pairs)
        if len(result) != len(pairs):
            raise Fault("a key twice")
        return result

    def constant(text):
        raise Fault(text)

    text = data.decode("utf-8", "strict") if isinstance(data, bytes) else data
    try:
        value = json.loads(
            text, object_pairs_hook=members, parse_int=Number, parse_float=Number, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise Fault(str(error))
    depth(value, 0)
    return value


def depth(value, level):
    if isinstance(value, (dict, list)):
        if level == 64:
            raise Fault("too deep")
        for element in value.values() if isinstance(value, dict) else value:
            depth(element, level + 1)
    elif isinstance(value, str) and not isinstance(value, Number) and any(0xD800 <= ord(c) < 0xE000 for c in value):
        raise Fault("half a character")


ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def string(text):
    return '"' + "".join(ESCAPES.get(c) or (f"\\u00{ord(c):02x}" if c < " " else c) for c in text) + '"'


def canonical(value):
    """The canonical form, as text."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode())
        return "{" + ",".join(string(key) + ":" + canonical(value[key]) for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def digest(resourcemap):
    return sha256(canonical(resourcemap).encode())


def version_number(text):
    if not isinstance(text, str) or not re.fullmatch("0|[1-9][0-9]*", text) or int(text) > LARGEST:
        raise Fault("not a version")
    return int(text)


# -- 3. Entries

HEADERS = {name.lower() for name in (
    "Content-Security-Policy", "Content-Security-Policy-Report-Only", "Referrer-Policy", "Permissions-Policy",
    "Cross-Origin-Opener-Policy", "Cross-Origin-Embedder-Policy", "Cross-Origin-Resource-Policy", "X-Frame-Options",
    "Service-Worker-Allowed")}


def check_headers(headers):
    if not isinstance(headers, dict):
        raise Fault("headers that aren't an object")
    names = [name.lower() for name in headers if name.lower() in HEADERS]
    if len(set(names)) != len(names):
        raise Fault("a header twice")
    for name, value in headers.items():
        if name.lower() in HEADERS and (
                not isinstance(value, str) or isinstance(value, Number) or len(value) > 8192
                or not re.fullmatch("[!-~]([ -~]*[!-~])?", value)):
            raise Fault("a header that can't be sent")


def check_fallback(fallback):
    if not isinstance(fallback, list) or not 1 <= len(fallback) <= 4:
        raise Fault("a fallback that isn't a list of 1 to 4 rules")
    prefixes = []
    for rule in fallback:
        texts = [rule.get("prefix"), *rule.get("except", [])] if isinstance(rule, dict) and isinstance(rule.get("except", []), list) else [None]
        if len(texts) > 9 or not all(isinstance(text, str) and not isinstance(text, Number) and re.fullmatch("/[^#]*", text) for text in texts):
            raise Fault("a rule of a fallback that can't be")
        if not texts[0].endswith("/") or "?" in texts[0] or texts[0] in prefixes:
            raise Fault("a prefix that can't be")
        prefixes.append(texts[0])


# -- 4. URLs


def match_key(url):
    url = url.split("#")[0]

    def decoded(escape):
        byte = int(escape[1], 16)
        return chr(byte) if 0x20 <= byte <= 0x7E and chr(byte) not in "%/?#\\&=+;" else escape[0]

    return re.sub("%([0-9A-Fa-f]{2})", decoded, url)


def is_page_of(page, entry):
    page = page.split("#")[0]
    return match_key(page if "?" in entry else page.split("?")[0]) == match_key(entry)


def check_url(url):
    """What this text can tell of the WHATWG serialiser's form: ours is stricter."""
    if len(url) > 4096 or not re.fullmatch(r"https?://[^\x00-\x20\x7f-\U0010ffff\"#<>/\\@]+/[\x21\x24-\x7e]*", url):
        raise Fault("not a URL of a resourcemap")


# -- 5. Downloads


def uuid(digest):
    data = bytearray(digest[:16])
    data[6] = 0x80 | data[6] & 0x0F
    data[8] = 0x80 | data[8] & 0x3F
    text = data.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def file_name(url):
    name = "".join(
        c if re.match(r"[A-Za-z0-9._~-]", c) else "".join(f"%{b:02X}" for b in c.encode()) for c in url)
    if len(name) <= 200:
        return name
    path = re.match(r"https?://[^/?]*([^?]*)", url)[1]
    ending = re.search(r"\.[A-Za-z0-9]{1,8}$", path)
    return "~" + sha256(url.encode()).hex()[:32] + (ending[0] if ending else "")


def download(place, manifest_version, resource_version, digest, url):
    name = file_name(url).replace("%", "%25")
    return f"{place}/{manifest_version}/{resource_version}/{uuid(digest)}/{name}"


# -- 6. Patches


def merge(target, patch):
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


# -- 7. Deltas, and the frames of section 8

MAGIC = bytes.fromhex("28b52ffd")


def decode_frame(frame, base, limit):
    """What a frame, magic number included, stands for; `limit` bytes at most."""
    window = min(max(8 << 20, len(base) * 5 // 4), 128 << 20)
    window = 1 << (window - 1).bit_length()
    options = {"max_window_size": window}
    if base:
        options["dict_data"] = zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    decoder = zstandard.ZstdDecompressor(**options).decompressobj()
    out = b""
    try:
        # A few bytes at a time, so that a short frame for a long file is stopped on its way.
        for start in range(0, len(frame), 16):
            out += decoder.decompress(frame[start:start + 16])
            if len(out) > limit:
                raise Fault("more than it may be")
            if decoder.eof and (decoder.unused_data or start + 16 < len(frame)):
                raise Fault("something follows a frame")
    except zstandard.ZstdError as error:
        raise Fault(str(error))
    if not decoder.eof:
        raise Fault("a frame ends too early")
    return out


def decode_dcz(delta, base, limit=128 << 20):
    if delta[:8] != bytes.fromhex("5e2a4d1820000000") or delta[8:40] != sha256(base):
        raise Fault("not a delta on this base")
    if delta[40:44] != MAGIC:
        raise Fault("no frame")
    return decode_frame(delta[40:], base, limit)


# -- 8. Packs


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def bytes(self, count):
        if count > self.left():
            raise Fault("it ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, below=LARGEST + 1):
        value = 0
        for position in range(8):
            byte = self.bytes(1)[0]
            value |= (byte & 0x7F) << 7 * position
            if byte < 0x80:
                if byte == 0 and position > 0:
                    raise Fault("a number longer than needed")
                if value >= below:
                    raise Fault("a number above what it may be")
                return value
        raise Fault("a number of more than 8 bytes")

    def count(self):
        return self.number(self.left() + 1)


def form_of(entry):
    """An entry's form; None where its download has too few segments or no manifest version."""
    parts = entry["download"].rsplit("/", 4)
    if len(parts) != 5:
        return None
    version_number(parts[1])
    form = {key: value for key, value in entry.items() if key not in ("md5", "sha256", "size", "version")}
    form["download"] = parts[0]
    return form


def read_changes(data, version, entries, magic=b"XPK1"):
    """The touched places, and the arrivals. `entries`: the base's URLs with their entries, in order."""
    reader = Reader(data)
    touched = []
    for _ in range(reader.count()):
        touched.append((touched[-1] + 1 if touched else 0) + reader.number())
        if touched[-1] >= len(entries):
            raise Fault("a place behind the base")
    count = reader.count()

    partners, expected = [], 0
    for _ in range(count):
        value = reader.number()
        if value == 0:
            partners.append(None)
            continue
        zigzag = value - 1
        partner = expected + (zigzag // 2 if zigzag % 2 == 0 else -(zigzag + 1) // 2)
        if not 0 <= partner < len(touched):
            raise Fault("a partner that isn't there")
        partners.append(touched[partner])
        expected = partner + 1

    starts, ends, middles = ([reader.number(4097) for _ in range(count)] for _ in range(3))
    urls = []
    for partner, start, end, middle in zip(partners, starts, ends, middles):
        model = (entries[partner][0] if partner is not None else urls[-1] if urls else "").encode()
        if start + end > len(model):
            raise Fault("a URL that shares more than there is")
        try:
            url = (model[:start] + reader.bytes(middle) + model[len(model) - end:]).decode("ascii")
        except UnicodeDecodeError:
            raise Fault("a URL that isn't ASCII")
        check_url(url)
        if urls and urls[-1] >= url:
            raise Fault("arrivals out of order")
        urls.append(url)

    sources = []
    for index, code in enumerate(reader.bytes(count)):
        partner = partners[index]
        if code > (8 if magic == b"XPK2" else 7) or code in (0, 1, 7) and partner is None:
            raise Fault("a source that can't be")
        sources.append([code, partner])
    for index, source in enumerate(sources):
        if source[0] in (2, 3, 5):
            source[1] = reader.number(len(entries))
        elif source[0] == 6:
            source[1] = reader.number(index)
            if sources[source[1]][0] == 8:
                raise Fault("the file of an arrival without one")
    for source in sources:
        if source[0] == 8:
            source[1] = {"md5": reader.bytes(16).hex(), "sha256": reader.bytes(32).hex(), "size": Number(reader.number())}

    versions = [reader.number() for _ in range(count)]
    manifests = [(version - reader.number()) % 2**53 for _ in range(count)]
    if 0 in versions or 0 in manifests:
        raise Fault("a version of 0")
    places = [reader.number() for _ in range(count)]
    forms = []
    for _ in range(reader.count()):
        form = parse_json(reader.bytes(reader.count()))
        if not isinstance(form, dict) or {"md5", "sha256", "size", "version"} & set(form):
            raise Fault("a form that can't be")
        for member in ("ctype", "download"):
            if not isinstance(form.get(member), str) or isinstance(form[member], Number):
                raise Fault("a form without " + member)
        if not re.fullmatch("[ -~]*", form["ctype"]):
            raise Fault("a ctype that can't be")
        check_headers(form.get("headers", {}))
        if "fallback" in form:
            check_fallback(form["fallback"])
        if form.get("lazy", True) is not True:
            raise Fault("a form that is neither lazy nor not")
        forms.append(form)
    if reader.left():
        raise Fault("the list goes on behind its end")

    arrivals = []
    for index in range(count):
        place = places[index]
        if place > len(forms):
            raise Fault("a form that isn't there")
        form = forms[place - 1] if place else partners[index] is not None and form_of(entries[partners[index]][1])
        if not form:
            raise Fault("no form")
        if sources[index][0] == 8 and "lazy" not in form:
            raise Fault("an arrival without a file that isn't lazy")
        arrivals.append({
            "url": urls[index], "partner": partners[index], "source": sources[index], "form": form,
            "version": versions[index], "manifest": manifests[index]})
    return touched, arrivals


PIECES = re.compile(rb"[A-Za-z0-9_-]+|[^A-Za-z0-9_-]+")
WORD = re.compile(rb"[A-Za-z0-9_-]+")


def word_pairs(urls):
    """The words that are renamed; `urls`: the partner's and the arrival's, in the order of the arrivals."""
    pairs = {}
    for old, new in urls:
        before, after = PIECES.findall(old.encode()), PIECES.findall(new.encode())
        if len(before) != len(after):
            continue
        differ = [(a, b) for a, b in zip(before, after) if a != b]
        if all(WORD.fullmatch(a) and WORD.fullmatch(b) for a, b in differ):
            for a, b in differ:
                if 6 <= len(a) <= 64 and len(b) <= min(64, 2 * len(a)):
                    pairs.setdefault(a, b)
    return pairs


def rename(file, pairs):
    return WORD.sub(lambda word: pairs.get(word[0], word[0]), file)


def read_head(reader):
    magic = reader.bytes(4)
    if magic not in (b"XPK1", b"XPK2"):
        raise Fault("not a pack")
    base, version = reader.number(), reader.number()
    digests = reader.bytes(32), reader.bytes(32)
    if not 0 < base < version:
        raise Fault("versions that don't rise")
    records = reader.number(2**24 + 1)
    plain, coded = reader.number(), reader.number()
    return magic, base, version, digests, records, plain, coded, reader.bytes(8)


def read_first(pack, resourcemap, keep=lambda digest, file: None):
    """The digests of the files that a first pack has of a resourcemap, in its order.

    `keep` is called with each of them as soon as it is checked: it stays valid whatever follows."""
    wanted = {(bytes.fromhex(entry["sha256"])[:16], int(entry["size"])): entry for entry in resourcemap.values()}
    reader = Reader(pack)
    if reader.bytes(4) != b"XPF1":
        raise Fault("not a first pack")
    version, count = reader.number(), reader.number(2**20 + 1)
    items = Reader(reader.bytes(reader.number(40 * count + 1)))
    if version == 0 or count == 0:
        raise Fault("no version, or no file")
    files = [(items.bytes(16), items.number()) for _ in range(count)]
    if items.left() or len(set(files)) != count or sum(size for _, size in files) > LARGEST:
        raise Fault("a list that can't be")
    decoded = decode_frame(MAGIC + reader.bytes(reader.left()), b"", sum(size for _, size in files))
    if len(decoded) != sum(size for _, size in files):
        raise Fault("fewer bytes than the list says")
    found, at = [], 0
    for file in files:
        data, at = decoded[at:at + file[1]], at + file[1]
        entry = wanted.get(file)
        if entry is None:
            continue
        if sha256(data).hex() != entry["sha256"] or hashlib.md5(data).hexdigest() != entry["md5"]:
            raise Fault("a file with other bytes")
        keep(entry["sha256"], data)
        found.append(entry["sha256"])
    return found


def apply_pack(pack, answer, base, files, limit=256 << 20, keep=lambda file: None):
    """The new resourcemap, and the files of its arrivals by URL, without those that the pack leaves out.

    `answer`: base, version and digest of the poll; `base`: the resourcemap that is held; `files`: by SHA-256.
    `keep` is called with each file that a record holds, as soon as it is checked: it stays valid whatever follows."""
    reader = Reader(pack)
    magic, head_base, version, (base_digest, result_digest), records, plain, coded, check = read_head(reader)
    if (head_base, version) != (version_number(answer["base"]), version_number(answer["version"])):
        raise Fault("another pack")
    if result_digest.hex() != answer["digest"] or base_digest != digest(base):
        raise Fault("another manifest")
    if max(plain, coded) > limit:
        raise Fault("over the limit")
    changes = decode_frame(MAGIC + reader.bytes(coded), b"", plain)
    if len(changes) != plain or sha256(changes)[:8] != check:
        raise Fault("a damaged change list")

    entries = sorted(base.items())
    touched, arrivals = read_changes(changes, version, entries, magic)
    if records != sum(arrival["source"][0] <= 4 for arrival in arrivals):
        raise Fault("another number of records")
    pairs = word_pairs(
        (entries[arrival["partner"]][0], arrival["url"]) for arrival in arrivals if arrival["partner"] is not None)

    def held(place):
        file = files.get(entries[place][1]["sha256"])
        if file is None or sha256(file).hex() != entries[place][1]["sha256"]:
            raise Fault("a file that isn't held")
        return file

    new_files = []
    for arrival in arrivals:
        code, place = arrival["source"]
        if code in (5, 7):
            new_files.append(held(place))
        elif code == 6:
            new_files.append(new_files[place])
        elif code == 8:
            new_files.append(None)
        else:
            over = b"" if code == 4 else held(place)
            if code in (1, 3):
                over = rename(over, pairs)
            length, check = reader.number(), reader.bytes(8)
            file = decode_frame(MAGIC + reader.bytes(length), over, limit)
            if sha256(file)[:8] != check:
                raise Fault("a damaged file")
            keep(file)
            new_files.append(file)
    if reader.left():
        raise Fault("the pack goes on behind its end")

    result = {url: entry for place, (url, entry) in enumerate(entries) if place not in set(touched)}
    for arrival, file in zip(arrivals, new_files):
        if arrival["url"] in result:
            raise Fault("an arrival that is there already")
        identity = arrival["source"][1] if file is None else {
            "md5": hashlib.md5(file).hexdigest(), "sha256": sha256(file).hex(), "size": Number(len(file))}
        result[arrival["url"]] = dict(
            arrival["form"], **identity, version=str(arrival["version"]),
            download=download(
                arrival["form"]["download"], arrival["manifest"], arrival["version"], bytes.fromhex(identity["sha256"]),
                arrival["url"]))
    if digest(result) != result_digest:
        raise Fault("it leads to another manifest")
    return result, {arrival["url"]: file for arrival, file in zip(arrivals, new_files) if file is not None}


# -- 13. Rollouts

IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
APP_VERSION = re.compile(rf"([0-9]{{1,9}}(?:\.[0-9]{{1,9}}){{0,3}})(?:-({IDENTIFIERS}))?(?:\+{IDENTIFIERS})?")
COMPARISONS = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
}


def bucket(install, seed):
    """The bucket of an installation, whose id is 16 bytes."""
    return int.from_bytes(sha256(install + seed.encode())[:8], "big") % 10_000


def app_version(text):
    """What versions are ordered by; None for a text that isn't one."""
    match = APP_VERSION.fullmatch(text)
    if not match or len(text) > 256:
        return None
    numbers = [int(number) for number in match[1].split(".")]
    identifiers = match[2].split(".") if match[2] else []
    if any(identifier.isdigit() and identifier != "0" and identifier[0] == "0" for identifier in identifiers):
        return None
    # Semantic Versioning, 11: numbers below words, fewer identifiers below more, a pre-release below the release.
    ordered = [(0, int(identifier), "") if identifier.isdigit() else (1, 0, identifier) for identifier in identifiers]
    return numbers + [0] * (4 - len(numbers)), not identifiers, ordered


def app_range(text):
    """The alternatives of a range: lists of comparators."""
    if len(text.encode()) > 256:
        raise Fault("a range of more than 256 bytes")
    alternatives = []
    for alternative in text.split("||"):
        comparators = []
        for comparator in filter(None, alternative.split(" ")):
            match = re.fullmatch("(<=|>=|<|>|=)(.*)", comparator, re.S)
            version = match and app_version(match[2])
            if not version:
                raise Fault(f"no comparator: {comparator}")
            comparators.append((match[1], version))
        if not comparators:
            raise Fault("an alternative without a comparator")
        alternatives.append(comparators)
    if sum(map(len, alternatives)) > 16:
        raise Fault("more than 16 comparators")
    return alternatives


def lies_in(app, alternatives):
    """Whether an app's version, None if it is unknown, lies in a range."""
    version = None if app is None else app_version(app)
    return version is not None and any(
        all(COMPARISONS[comparison](version, other) for comparison, other in comparators) for comparators in alternatives)


def read_rule(rule):
    """Checks the member `rollout` of an answer."""
    def number(value, largest):
        # However it is written: parsers in other languages don't tell 500 from 5e2.
        if not isinstance(value, Number) or float(value) % 1 != 0 or not 0 <= float(value) <= largest:
            raise Fault(f"no such number: {value}")
        return int(float(value))

    def text(value, form):
        if not isinstance(value, str) or isinstance(value, Number) or not re.fullmatch(form, value):
            raise Fault(f"not in its form: {value}")
        return value

    if not isinstance(rule, dict):
        raise Fault("no object")
    read = {"seed": text(rule.get("seed"), "[A-Za-z0-9_-]{1,64}"), "share": number(rule.get("share"), 10_000),
            "version": text(rule.get("version"), "[1-9][0-9]{0,15}"), "groups": [], "app": None}
    if int(read["version"]) > LARGEST:
        raise Fault("no version")
    if "groups" in rule:
        groups = rule["groups"]
        if not isinstance(groups, list) or not 1 <= len(groups) <= 20:
            raise Fault("no groups")
        read["groups"] = [text(group, "[a-z][a-z0-9-]{0,31}") for group in groups]
        if read["groups"] != sorted(set(groups)):
            raise Fault("groups in another order, or one twice")
    if "app" in rule:
        read["app"] = app_range(text(rule["app"], "(?s:.*)"))
    return read


def is_in(rule, install, app=None, groups=(), held=None):
    """Whether a device is in, by a rule that was read; `held` is the seed of the candidate that it holds and took."""
    if rule["app"] is not None and not lies_in(app, rule["app"]):
        return False
    return held == rule["seed"] or bucket(install, rule["seed"]) < rule["share"] or not set(groups).isdisjoint(rule["groups"])
