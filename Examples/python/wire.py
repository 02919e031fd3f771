"""What the device in device.py reads from the network: downloads, answers and manifests, each checked before it is used."""
import http.client
import os
import re
import sys
import time
import urllib.parse
import urllib.request
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/vectors"))
from decoder import Fault, Number, check_headers, parse_json, version_number  # noqa: E402

FAILURES = (Fault, OSError, http.client.HTTPException, zlib.error, ValueError, TypeError, KeyError, AttributeError)
URL = re.compile(r"https?://(?=[^/:]*[a-z0-9])[a-z0-9._~-]+(:(?!0)\d{1,5})?/[^\s\"#<>\\`{}\x7f-\U0010ffff]*")
UNFIT = re.compile(r"http://[^/]*:80/|https://[^/]*:443/|[^?]*/(\.|%2[eE]){1,2}(/|\?|$)")


def need(condition, what):
    if not condition:
        raise Fault(what)


def number(value, most=2**53 - 1):
    need(isinstance(value, Number) and version_number(str(value)) <= most, "a number that can't be")
    return int(value)


def fetch(url, use, tries=1, limit=256 << 20):
    """What `use` makes of the body at a URL. Asks again for what was torn, and without a coding for what was coded wrong."""
    coding = "gzip"
    while True:
        coded = False
        try:
            request = urllib.request.Request(url, headers={"Accept-Encoding": coding})
            with urllib.request.urlopen(request, timeout=1) as answer:
                coded = answer.headers["Content-Encoding"] == "gzip"
                body = answer.read(limit + (1024 if coded else 1))
                need(answer.status == 200 and (coded or len(body) <= limit), "another status, or too many bytes")
                if len(body) < int(answer.headers["Content-Length"] or 0):
                    raise OSError("torn")
            if coded:
                decoder = zlib.decompressobj(31)
                body = decoder.decompress(body, limit + 1)
                need(decoder.eof and not decoder.unused_data and len(body) <= limit, "a coded body that can't be decoded")
            return use(body)
        except FAILURES as failure:
            status = getattr(failure, "code", 500)
            if coded and coding == "gzip":
                coding = "identity"
            elif tries > 1 and not isinstance(failure, Fault) and (status >= 500 or status in (408, 429)):
                tries -= 1
                time.sleep(0.02)
            else:
                raise


def resume(url, path, size, tag, note):
    """The bytes of a pack. What arrives is kept in the file at `path`, so that a download that was torn goes on from there, also
    in the next process. `tag` is the entity tag of what the file has, or None; `note` is told the tag of what comes."""
    for _ in range(3):
        have = os.path.getsize(path) if tag and os.path.exists(path) else 0
        headers = {"Range": f"bytes={have}-", "If-Range": tag} if have else {}
        try:
            request = urllib.request.Request(url, headers={"Accept-Encoding": "identity", **headers})
            with urllib.request.urlopen(request, timeout=1) as answer, open(path, "ab") as file:
                if answer.status != 206 or not (answer.headers["Content-Range"] or "").startswith(f"bytes {have}-"):
                    need(answer.status == 200, "another range")
                    file.truncate(0)
                tag = answer.headers["ETag"]
                note(tag)
                while piece := answer.read1(1 << 16):
                    file.write(piece)
                    file.flush()
                    need(file.tell() <= size, "too many bytes")
        except OSError as failure:
            need(getattr(failure, "code", 500) >= 500, "no pack")
        if os.path.exists(path) and os.path.getsize(path) >= size:
            break
    with open(path, "rb") as file:
        return file.read()


def read_answer(body):
    """The data of an answer to a poll: sections 1 and 2."""
    document = parse_json(body)
    need(number(document["code"]) == 200 and isinstance(document["data"]["update"], bool), "no answer")
    data = document["data"]
    for name in {"policy", "prefetch", "rollback", "base"} & set(data) | {"version"}:
        need(not isinstance(data[name], Number), name)
        version_number(data[name])
    number(data.get("reports", Number(0)), 10_000)
    number(data.get("interval", Number(30)))
    need(not data["update"] or re.fullmatch("[0-9a-f]{64}", data["digest"]), "a digest")
    return data


def is_of(url, hosts):
    """Whether a URL is of one of the app's hosts: rule D-92."""
    host = urllib.parse.urlsplit(url).hostname
    return any(host == name.removeprefix("*.") or name[:1] == "*" and host.endswith(name[1:]) for name in hosts)


def check_manifest(resourcemap, hosts):
    """Sections 3 and 4, and the rules D-21 to D-25."""
    names = {}
    for url, entry in resourcemap.items():
        need(URL.fullmatch(url) and not UNFIT.match(url) and len(url) <= 4096, "a URL")
        for member, form in (("ctype", "[ -~]+"), ("md5", "[0-9a-f]{32}"), ("sha256", "[0-9a-f]{64}"), ("download", ".+")):
            need(re.fullmatch(form, entry[member]) and not isinstance(entry[member], Number), member)
        number(entry["size"])
        need(not isinstance(entry["version"], Number) and version_number(entry["version"]) > 0, "a resource version")
        check_headers(entry.get("headers", {}))
        if is_of(url, hosts):
            need(re.fullmatch(r"https?://[^/?#@]+/[^?#]*", entry["download"]), "a download")
            name = urllib.parse.unquote(entry["download"].rsplit("/", 1)[1], errors="strict")
            need(0 < len(name.encode()) <= 255 and not {"/", "\0"} & set(name) and name not in (".", ".."), "a name")
            need(names.setdefault(name, entry["sha256"]) == entry["sha256"], "two files of one name")
