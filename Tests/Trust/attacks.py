#!/usr/bin/env python3
"""Attacks a device of an app with a root: attacks.py [--xcache PROGRAM] [--only TEXT] DEVICE [ARGUMENT...]
Several, as one table:                    attacks.py [--xcache PROGRAM] [--only TEXT] --table NAME='DEVICE...' [--table NAME='DEVICE...']

DEVICE speaks the commands of docs/conformance.md, as conformance-device, Tests/WebRuntime/Device/device.mjs and
Examples/python/conformance.py --complete do. Its whole network is a proxy here, in front of an origin: of PROGRAM, where that is given,
otherwise of a stand-in in this file. The proxy is the attacker, as

    middle   somebody on the way to the origin and to the copy, who has no key
    copy     a static copy, after the origin went away
    origin   a stolen origin: it has the head key
    token    somebody who has an admin token of the origin, and no key; only with PROGRAM

Each attack begins when the device holds the first version, and ends after some polls; then everybody is honest again, and the device
has to get to the newest version. Printed is what it did, and how many bytes it answered that no publisher had signed for that URL, how
often it answered pages of two releases at once, and whether it went back. Ends with 1 if any of these isn't 0.
"""
import argparse, base64, concurrent.futures, hashlib, json, os, pathlib, shlex, shutil, socket, subprocess, sys, tempfile, threading, time, zlib
import urllib.error, urllib.parse, urllib.request

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Tests/Conformance"), str(ROOT / "Tests/Conformance/trust")]
import trust  # noqa: E402
from runner.case import Device, Died, Failed  # noqa: E402
from signing import KEYS, b64, envelope, ids  # noqa: E402

ORIGIN, MIRROR, CDN, SITE = "http://origin.test", "http://mirror.test", "http://cdn.test", "https://m.test"
START, DAY = 1_800_000_000_000, 86_400_000
EVIL = b"document.title = 'evil'"
NOISE = "".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(64))
PAGES = {f"{SITE}/index.html": "home", f"{SITE}/app.js": "home", f"{SITE}/pay/index.html": "pay"}


def text_of(url, version):
    """What the publisher releases: app.js is the same in all versions. Of pages there is enough for a slow download."""
    return f"{url} 1".encode() if url.endswith("app.js") else f"{url} {version} {NOISE}".encode()


# --- Honest parties

class StandIn:
    """An origin, its copy and its CDN, for a channel whose publisher signs: what a device needs of them."""

    start = START

    def __init__(self, needs=()):
        self.maps, self.texts, self.files, self.newest, self.roots, self.extras, self.policies = {}, {}, {}, 0, [], {}, {}
        self.needs, members = needs, {}
        if "two publishers" in needs:
            members["releases"] = [self.grant("publisher", "team", threshold=2)]
        if "two roots" in needs:
            members["roots"] = {"keys": ids("root a", "root b"), "threshold": 2}
        self.base = members
        self.root()

    def key(self, name):
        """The name in KEYS of one of this origin's keys."""
        return name

    def ids(self, *names):
        return ids(*map(self.key, names))

    def grant(self, *names, threshold=1):
        return {"bundles": ["*"], "channels": ["*"], "keys": ids(*names), "prefixes": [SITE + "/"], "threshold": threshold}

    def other_root(self):
        """The publisher makes a root that changes nothing of what is signed."""
        self.root(prefetch=ids("publisher", "new publisher"))

    def replace_heads(self):
        """The publisher makes a root without the head key that there was."""
        self.root(heads=ids("new head"))

    def replace_publisher(self):
        """The publisher makes a root without the release key that there was, and with floors."""
        self.root(releases=[self.grant("new publisher")], prefetch=ids("new publisher"), floors={"home": START, "pay": START})

    def kill_switch(self):
        """The publisher kills: once the switch was lifted, and on again. Returns version and bytes of the policy that lifts it."""
        self.policies = {version: {"code": 200, "data": {"version": version, "intercept": version == "6", "bypass": [], "scripts": []}} for version in ("6", "7")}
        self.extras = {"policy": "7"}
        return "6", trust.canonical(self.policies["6"])

    def root(self, **members):
        members = self.base | members
        value = {"app": "shop", "heads": ids("head"), "number": str(len(self.roots) + 1), "prefetch": ids("publisher"),
                 "releases": [{"bundles": ["*"], "channels": ["*"], "keys": ids("publisher"), "prefixes": [SITE + "/"], "threshold": 1}],
                 "roots": {"keys": ids("root a", "root b"), "threshold": 1}} | members
        used = value["heads"] + value["prefetch"] + value["roots"]["keys"] + [one for each in value["releases"] for one in each["keys"]]
        value["keys"] = {key.id: b64(key.spki) for key in KEYS.values() if key.id in used}
        self.roots.append(envelope("root", value, *("root a", "root b")[:value["roots"]["threshold"]]))
        self.head_key = "new head" if ids("new head")[0] in value["heads"] else "head"
        signers = value["releases"][0]["keys"]
        self.release_keys = [name for name in ("new publisher", "publisher", "team") if KEYS[name].id in signers]

    def publish(self, version):
        entries = {}
        for url, bundle in PAGES.items():
            data = text_of(url, version)
            digest = hashlib.sha256(data).hexdigest()
            download = f"{CDN}/xcache/1/1/1/{digest[:32]}/file-{digest[:16]}"
            self.files[download] = data
            entries[url] = {"bundle": bundle, "ctype": "text/html;charset=UTF-8", "download": download, "md5": hashlib.md5(data).hexdigest(), "sha256": digest,
                            "size": len(data), "version": "1"}
        self.maps[version], self.newest = entries, version
        self.texts[version] = {url: text_of(url, version) for url in PAGES}

    def head(self, version, **members):
        at = members.pop("at", START + 1000 * version + 100 * len(self.roots))
        value = {"app": "shop", "at": at, "channel": "online", "digest": trust.digest(self.maps[version]), "until": at + 30 * DAY, "version": str(version)}
        return envelope("head", value | ({"policy": self.extras["policy"]} if "policy" in self.extras else {}) | members, self.head_key)

    def statement(self, entries, bundle, *signers, **members):
        content = trust.content({url: entry for url, entry in entries.items() if entry["bundle"] == bundle})
        value = {"app": "shop", "bundle": bundle, "channels": ["online"], "content": trust.digest(content), "serial": START + self.newest} | members
        return envelope("release", value, *(signers or self.release_keys))

    def statements(self, version, *signers, **members):
        members.setdefault("serial", START + version)
        return [self.statement(self.maps[version], bundle, *signers, **members) for bundle in sorted(set(PAGES.values()))]

    def statement_of(self, version, bundle):
        """What the publisher signed of a bundle for a version."""
        return self.statement(self.maps[version], bundle, serial=START + version)

    def whole(self, version):
        return {"code": 200, "data": {
            "digest": trust.digest(self.maps[version]), "resourcemap": self.maps[version], "root": str(len(self.roots)), "update": True, "version": str(version),
            "trust": {"head": self.head(version), "releases": self.statements(version)}, **self.extras}}

    def nothing(self):
        return {"code": 200, "data": {"root": str(len(self.roots)), "update": False, "version": str(self.newest), **self.extras}}

    def get(self, url, query):
        """The status and body of a request."""
        name = urllib.parse.urlsplit(url).path.removeprefix("/xcache/shop/").removeprefix("/")
        if url in self.files:
            return 200, self.files[url]
        if name == "configure.json":
            held = (query.get("version"), query.get("digest")) == (str(self.newest), trust.digest(self.maps[self.newest]))
            return 200, trust.canonical(self.nothing() if held else self.whole(self.newest))
        if name == "version.json":
            return 200, trust.canonical(self.nothing())
        if name == "head.json":
            return 200, trust.canonical(self.head(self.newest))
        if name == "policy.json":
            return 200, trust.canonical(self.policies[self.extras.get("policy", "0")])
        if name.startswith("root/") and 1 <= int(name[5:-5]) <= len(self.roots):
            return 200, trust.canonical(self.roots[int(name[5:-5]) - 1])
        return 404, b'{"code":404,"message":"nothing here"}'

    def settings(self):
        return {"server": ORIGIN, "fallback": MIRROR, "app": "shop", "channel": "online", "hosts": ["m.test"], "root": (self.roots or [None])[0]}

    def close(self):
        pass


def payload(document):
    return json.loads(base64.b64decode(document["payload"]))


class FileKey:
    """A stolen key."""

    def __init__(self, path, passphrase=None):
        self.private = serialization.load_pem_private_key(path.read_bytes(), passphrase)
        self.spki = self.private.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.id = trust.id_of(self.spki)

    def sign(self, message):
        return self.private.sign(message, ec.ECDSA(hashes.SHA256()))


class Program(StandIn):
    """An origin of the program, with the ceremony of docs/trust.md. Requests go to that process. An attacker who has stolen it has its head
    key."""

    def __init__(self, program, needs=(), has_root=True):
        self.program, self.folder = str(pathlib.Path(program).resolve()), pathlib.Path(tempfile.mkdtemp(prefix="attacks-"))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url, self.maps, self.newest, self.roots, self.extras = f"http://127.0.0.1:{self.port}", {}, 0, [], {}
        self.texts, self.released, self.signed, self.start, self.needs = {}, {}, {}, int(time.time() * 1000), needs
        self.log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen([self.program, "serve", "--data", self.folder / "data", "--listen", f"127.0.0.1:{self.port}", "--public-url", CDN],
                                        stdout=self.log, stderr=self.log)
        for _ in range(100):
            try:
                urllib.request.urlopen(self.url + "/readyz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        self.environment = os.environ | {"XCACHE_SERVER": self.url, "XCACHE_TOKEN": (self.folder / "data/admin.token").read_text().strip(), "XCACHE_APP": "shop",
                                         "XCACHE_SIGN_PASSPHRASE": "practice"}
        self.sign_with, self.root_keys = [], ["keys/root.key"]
        self.publish(1)
        if not has_root:
            return
        self.xcache("trust", "init", "--out", "keys", "--prefix", SITE + "/")
        self.sign_with = ["keys/release.key"]
        self.xcache("trust", "push", "-y", "keys/root.json", *self.signing())
        self.roots.append(json.loads((self.folder / "keys/root.json").read_text()))
        self.note()
        self.release_keys = [self.take("publisher", "keys/release.key")]
        self.take("root a", "keys/root.key")
        self.take("root b", "keys/root-spare.key")
        self.head_key = self.take("head", next((self.folder / "data/keys").glob("head-*.pem")).relative_to(self.folder), None)
        if "two publishers" in needs:
            self.sign_with.append("keys/team.key")
            self.put(["add-key", "--new", "keys/team.key"], ["set-threshold", "releases", "2"])
            self.release_keys.append(self.take("team", "keys/team.key"))
        if "two roots" in needs:
            self.root_keys.append("keys/root-spare.key")
            self.put(["set-threshold", "roots", "2"])
        if needs:
            self.roots[:-1] = []

    def key(self, name):
        mine = f"{name} of {self.port}"
        return mine if mine in KEYS else name

    def take(self, name, path, passphrase=b"practice"):
        """Attackers may have stolen it: it gets a name in KEYS."""
        KEYS[mine := f"{name} of {self.port}"] = FileKey(self.folder / path, passphrase)
        return mine

    def signing(self):
        return [text for path in self.sign_with for text in ("--sign-key", path)]

    def put(self, *acts):
        """The ceremony of the next root: a draft, its signatures, the push."""
        for act in acts:
            self.xcache("trust", *act, "--out", "keys")
        draft = f"keys/root-{int(payload(self.roots[-1])['number']) + 1}.draft.json"
        for path in self.root_keys:
            self.xcache("trust", "sign", draft, "--key", path)
        self.xcache("trust", "push", "-y", draft, *self.signing())
        self.roots.append(json.loads(self.get(f"{ORIGIN}/xcache/shop/root/{int(payload(self.roots[-1])['number']) + 1}.json", {})[1]))
        self.note()

    def other_root(self):
        self.put(["add-key", "--new", f"keys/other-{len(self.roots)}.key"])

    def replace_heads(self):
        self.put(["rotate-head"])

    def replace_publisher(self):
        before, self.sign_with = KEYS[self.key("publisher")].id, ["keys/new.key"]
        self.put(["add-key", "--new", "keys/new.key"], ["remove-key", before[:12], "--stolen"])

    def kill_switch(self):
        for act in ("kill", "resume"):
            self.xcache("policy", act)
        lifting = self.get(f"{ORIGIN}/xcache/shop/policy.json", {})[1]
        self.xcache("policy", "kill")
        return json.loads(lifting)["data"]["version"], lifting

    def xcache(self, *arguments, may_fail=False):
        done = subprocess.run([self.program, *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        if done.returncode and not may_fail:
            raise RuntimeError(f"xcache {' '.join(arguments)}: {done.stderr}")
        return done

    def api(self, path, body, method="POST"):
        """What somebody who has the admin token gets: the status, and the problem's code."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data, method=method, headers={
            "Authorization": "Bearer " + self.environment["XCACHE_TOKEN"], "Content-MD5": base64.b64encode(hashlib.md5(data).digest()).decode(),
            "Content-Type": "application/octet-stream" if body is data else "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, ""
        except urllib.error.HTTPError as failure:
            return failure.code, json.loads(failure.read()).get("code", "")

    def publish(self, version, *options):
        for bundle in sorted(set(PAGES.values())):
            top = self.folder / f"build-{bundle}"
            for url in [url for url, owner in PAGES.items() if owner == bundle]:
                path = top / url.removeprefix(SITE + "/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text_of(url, version))
            self.xcache("publish", top.name, "--create", "--bundle", bundle, "--base-url", SITE + "/", *self.signing(), *options)
            self.released[bundle] = version
            self.note()

    def note(self):
        """What the channel has now, which an honest device may hold."""
        answer = json.loads(self.get(f"{ORIGIN}/configure.json", {"app": "shop"})[1]).get("data", {})
        if "resourcemap" not in answer:
            return
        self.newest = int(answer["version"])
        self.maps[self.newest] = answer["resourcemap"]
        self.signed[self.newest] = answer.get("trust", {})
        self.texts[self.newest] = {url: text_of(url, self.released[bundle]) for url, bundle in PAGES.items() if bundle in self.released}

    def head(self, version, **members):
        """The origin's; with members, what somebody made of it who has its key."""
        head = self.signed[version].get("head")
        members |= {"until": members["at"] + 30 * DAY} if "at" in members else {}
        return envelope("head", payload(head) | members, self.head_key) if members else head

    def statements(self, version, *signers, **members):
        """The publisher's; with signers or members, what somebody made of them who has keys."""
        made = self.signed[version].get("releases", [])
        return [envelope("release", payload(one) | members, *(signers or self.release_keys)) for one in made] if signers or members else made

    def statement_of(self, version, bundle):
        return next(one for one in self.statements(version) if payload(one)["bundle"] == bundle)

    def get(self, url, query):
        """The CDN is this origin, and so is the copy, whose version.json is an answer with nothing new."""
        path = urllib.parse.urlsplit(url).path
        if path.endswith("/version.json"):
            path, query = path.replace("version.json", "configure.json"), {"version": str(self.newest), "digest": trust.digest(self.maps[self.newest])}
        query = {"app": "shop"} | query if "/" not in path[1:] else query
        try:
            with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(query)}") as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as failure:
            return failure.code, failure.read()

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


# --- The network

class Proxy:
    """The device's whole network, of which an attacker has a part."""

    def __init__(self, site):
        self.site, self.attack, self.dead, self.reports, self.most, self.failures = site, None, False, [], 0, []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.converse, args=(connection,), daemon=True).start()

    def converse(self, connection):
        with connection:
            try:
                reader = connection.makefile("rb")
                while self.exchange(connection, reader):
                    pass
            except OSError:
                pass
            except Exception as failure:
                self.failures.append(repr(failure))

    def exchange(self, connection, reader):
        line, length = reader.readline(65536).decode("latin-1").split(), 0
        if len(line) != 3:
            return False
        while field := reader.readline(65536).strip():
            name, _, value = field.decode("latin-1").partition(":")
            length = int(value) if name.lower() == "content-length" else length
            if name.lower() == "expect":
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body, parts = reader.read(length), urllib.parse.urlsplit(line[1])
        url, query = f"{parts.scheme}://{parts.netloc}{parts.path}", dict(urllib.parse.parse_qsl(parts.query))
        if line[0] == "POST":
            self.reports.append(json.loads(body).get("reason"))
            status, answer = 200, b'{"code":200}'
        elif self.dead and url.startswith(ORIGIN):
            return False
        else:
            status, answer = self.site.get(url, query)
            attack = self.attack
            if attack and not (attack.position == "copy" and not url.startswith((MIRROR, CDN)) or attack.position == "origin" and url.startswith(MIRROR)):
                status, answer = attack.answer(url, query, status, answer)
        if answer is None:
            return False
        if isinstance(answer, Coded):
            # More than anybody would read.
            connection.sendall(b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
                               + f"Content-Length: {len(answer)}\r\n\r\n".encode() + answer)
            return True
        if callable(answer):
            connection.sendall(b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
            sent = 0
            for piece in answer():
                connection.sendall(piece)
                sent += len(piece)
                self.most = max(self.most, sent)
            return False
        connection.sendall(f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(answer)}\r\n\r\n".encode() + answer)
        return True


class Coded(bytes):
    """The gzip form of a body."""


# --- Attackers

class Attack:
    """Rewrites answers. `begin` is called when the device holds version 1; `data` gets each answer to a poll that has data."""
    name, positions, rounds, known, jump = "", ("middle", "copy", "origin"), 3, "", 40
    # What the publisher's root asks for; whether the device lives on while its update waits.
    needs, is_background = (), False
    # Seconds before each poll at the end; whether there is a second act, once the device has shown what `begin` published.
    after, is_watched = 900, False

    def __init__(self, site, position):
        self.site, self.position, self.said = site, position, []

    def begin(self):
        self.site.publish(self.site.newest + 1)

    def end(self):
        pass

    def answer(self, url, query, status, body):
        name = url.rsplit("/", 1)[1]
        if name in ("configure.json", "version.json"):
            changed = self.data(json.loads(body)["data"], name == "version.json")
            return (200, trust.canonical({"code": 200, "data": changed})) if isinstance(changed, dict) else (200, changed)
        if "/root/" in url or name == "head.json":
            return self.document(url, status, body)
        return self.file(url, status, body)

    def is_lifted(self, watch):
        return False

    def data(self, data, is_small):
        return data

    def document(self, url, status, body):
        return status, body

    def file(self, url, status, body):
        return status, body

    # What an attacker makes of an answer.

    def evil_map(self):
        """The newest entries, of which app.js has other bytes."""
        entries = json.loads(json.dumps(self.site.maps[self.site.newest]))
        entries[f"{SITE}/app.js"] |= {"download": f"{CDN}/xcache/evil/1/1/1/evil.js", "md5": hashlib.md5(EVIL).hexdigest(),
                                      "sha256": hashlib.sha256(EVIL).hexdigest(), "size": len(EVIL)}
        return entries

    def offering(self, data, entries, version=None, head=None, releases=None, **members):
        """An answer with these entries; by an attacker who has the head key if that is so, else with the head that was there."""
        version = str(version or self.site.newest + 1)
        if data.get("update") is False and members.pop("is_small", False):
            return data | {"version": version}
        own = {"head": head if head is not None else self.signed_head(entries, version), "releases": self.site.statements(self.site.newest) if releases is None else releases}
        return {"digest": trust.digest(entries), "resourcemap": entries, "root": "1", "update": True, "version": version, "trust": own} | members

    def signed_head(self, entries, version):
        at = START + 900_000 + int(version)
        value = {"app": "shop", "at": at, "channel": "online", "digest": trust.digest(entries), "until": at + 30 * DAY, "version": version}
        return envelope("head", value, self.site.head_key if self.position == "origin" else "thief")


class OtherBytes(Attack):
    name = "arbitrary content: other bytes of files"

    def file(self, url, status, body):
        return 200, EVIL.ljust(len(body))[:len(body)] if status == 200 else body


class OtherEntries(Attack):
    name = "arbitrary content: entries of other files"

    def releases(self):
        return None

    def data(self, data, is_small):
        return self.offering(data, self.evil_map(), releases=self.releases(), is_small=is_small)

    def file(self, url, status, body):
        return (200, EVIL) if "evil" in url else (status, body)


class ThiefSigns(OtherEntries):
    name = "arbitrary content: signed by a key that the root lacks"

    def releases(self):
        return [self.site.statement(self.evil_map(), bundle, "thief") for bundle in sorted(set(PAGES.values()))]


class NoTrust(OtherEntries):
    name = "arbitrary content: without head and statements"

    def data(self, data, is_small):
        data = super().data(data, is_small)
        data.pop("trust", None)
        return data


class DuplicateKeys(ThiefSigns):
    name = "extra signatures, and one under the publisher's id"

    def releases(self):
        made = super().releases()
        for one in made:
            one["signatures"].append(one["signatures"][0] | {"keyid": self.site.ids("publisher")[0]})
        return made


class TwiceInOne(DuplicateKeys):
    name = "a key id twice in an envelope"

    def releases(self):
        made = super().releases()
        for one in made:
            one["signatures"].append(one["signatures"][-1])
        return made


class OwnRoot(ThiefSigns):
    name = "a root that the attacker signed"

    def data(self, data, is_small):
        return super().data(data, is_small) | {"root": "2"}

    def document(self, url, status, body):
        grants = [{"bundles": ["*"], "channels": ["*"], "keys": ids("thief"), "prefixes": ["*"], "threshold": 1}]
        value = payload(self.site.roots[0]) | {"number": "2", "heads": ids("thief"), "releases": grants, "prefetch": []}
        value["keys"] = value["keys"] | {KEYS["thief"].id: b64(KEYS["thief"].spki)}
        return 200, trust.canonical(envelope("root", value, "thief", "new root"))


class Replay(Attack):
    name = "rollback: old answers replayed"

    def begin(self):
        self.old = self.site.whole(self.site.newest)["data"] if not isinstance(self.site, Program) else json.loads(self.site.get(f"{ORIGIN}/configure.json", {})[1])["data"]
        super().begin()
        self.is_late = False

    def data(self, data, is_small):
        # The first update is honest, so that there is something to go back from.
        if not self.is_late:
            self.is_late = not is_small
            return data
        return {"update": False, "version": self.old["version"], "root": "1"} if is_small else self.old


class ReplayWithHead(Replay):
    name, positions = "rollback: old bundles under a new head", ("origin",)
    known = "that is what a head key can do, as far as floors allow"

    def data(self, data, is_small):
        data = super().data(data, is_small)
        if data is self.old:
            version = str(self.site.newest + 1)
            return data | {"version": version, "trust": {"head": self.signed_head(data["resourcemap"], version), "releases": data["trust"]["releases"]}}
        return data

    def end(self):
        self.site.replace_heads()
        self.site.publish(self.site.newest + 2)


class Freeze(Attack):
    name, rounds = "freeze: nothing is ever new", 4

    def data(self, data, is_small):
        return {"update": False, "version": "1", "root": "1"}


class Mix(Attack):
    name, positions = "mix of bundles, without the head key", ("middle", "copy")

    def begin(self):
        before = self.site.newest
        super().begin()
        of = {"home": before, "pay": self.site.newest}
        self.entries = {url: self.site.maps[of[bundle]][url] for url, bundle in PAGES.items()}
        self.releases = [self.site.statement_of(version, bundle) for bundle, version in of.items()]

    def data(self, data, is_small):
        return self.offering(data, self.entries, self.site.newest, self.head(), self.releases, is_small=is_small)

    def head(self):
        return self.site.head(self.site.newest)


class OtherChannel(OtherEntries):
    name = "another channel's statements"

    def data(self, data, is_small):
        entries = self.site.maps[self.site.newest]
        return self.offering(data, entries, self.site.newest, self.site.head(self.site.newest, channel="test"), self.site.statements(self.site.newest, channels=["test"]),
                             is_small=is_small)


class OtherApp(OtherEntries):
    name = "another app's statements"

    def data(self, data, is_small):
        return self.offering(data, self.site.maps[self.site.newest], self.site.newest, None, self.site.statements(self.site.newest, app="pay"), is_small=is_small)


class Scope(OtherEntries):
    name = "a URL outside of its grant"

    def data(self, data, is_small):
        entries = self.site.maps[self.site.newest] | {"https://bank.test/": self.site.maps[self.site.newest][f"{SITE}/index.html"]}
        return self.offering(data, entries, releases=[self.site.statement(entries, bundle) for bundle in ("home", "pay")], is_small=is_small)


class OldHead(Attack):
    name = "an old head with a new release"

    def data(self, data, is_small):
        return data | {"trust": data["trust"] | {"head": self.site.head(min(self.site.maps))}} if "trust" in data else data


class SkippedRoot(Attack):
    name = "a root left out"

    def begin(self):
        super().begin()
        self.first = len(self.site.roots)
        self.site.other_root()
        self.site.other_root()

    def document(self, url, status, body):
        return (200, trust.canonical(self.site.roots[-1])) if url.endswith(f"root/{self.first + 1}.json") else (status, body)


class Missing(SkippedRoot):
    name = "roots that can't be had"

    def document(self, url, status, body):
        return 404, b"no"


class Endless(SkippedRoot):
    name = "endless data: roots and heads"

    def document(self, url, status, body):
        def pieces():
            yield body[:-1]
            for _ in range(64 << 4):
                yield b" " * 65_536
        return 200, pieces


class Slow(SkippedRoot):
    name, rounds = "slow retrieval: roots and heads", 2

    def document(self, url, status, body):
        def pieces():
            for place in range(min(len(body), 240)):
                yield body[place:place + 1]
                time.sleep(0.25)
        return 200, pieces


class SlowAnswer(Attack):
    name, rounds = "slow retrieval: answers", 2

    def data(self, data, is_small):
        text = trust.canonical({"code": 200, "data": data})

        def pieces():
            for place in range(min(len(text), 240)):
                yield text[place:place + 1]
                time.sleep(0.25)
        return pieces


class Garbage(Attack):
    name = "garbage for everything"

    def answer(self, url, query, status, body):
        return 200, hashlib.sha256(url.encode()).digest() * 30


class HeadOf2035(Attack):
    name, positions = "a head of 2035 by a stolen head key", ("origin",)

    def data(self, data, is_small):
        newest = self.site.newest
        return self.offering(data, self.site.maps[newest], newest, self.site.head(newest, at=START + 3000 * DAY), None)

    def end(self):
        self.site.replace_heads()
        self.site.publish(self.site.newest + 1)


class HighFloor(Attack):
    name, positions = "a floor of 2^53-1 by a stolen release key", ("origin",)

    def data(self, data, is_small):
        newest = self.site.newest
        return data if data.get("update") is False else self.offering(data, self.site.maps[newest], newest, self.site.head(newest), self.site.statements(newest, serial=trust.HIGHEST, floor=trust.HIGHEST))

    def end(self):
        self.site.replace_publisher()
        self.site.publish(self.site.newest + 1)


class StolenKey(OtherEntries):
    name, positions = "what a stolen key signed, after the root that ends it", ("origin",)

    def begin(self):
        super().begin()
        self.site.replace_publisher()

    def data(self, data, is_small):
        return super().data(data, is_small) | {"root": "2"}

    def releases(self):
        return [self.site.statement(self.evil_map(), bundle, self.site.key("publisher")) for bundle in ("home", "pay")]


class OldPolicy(Attack):
    name = "an old policy that lifts a kill switch"

    def begin(self):
        (self.version, self.lifting), self.is_late = self.site.kill_switch(), False
        super().begin()

    def data(self, data, is_small):
        if not self.is_late:
            self.is_late = not is_small
            return data
        return data | {"policy": self.version}

    def answer(self, url, query, status, body):
        if url.endswith("policy.json") and self.is_late and not self.is_first:
            return 200, self.lifting
        self.is_first = False
        return super().answer(url, query, status, body)

    is_first = True

    def is_lifted(self, watch):
        return watch.is_on and int(watch.policy) > 0


class BelowThreshold(OtherEntries):
    name, needs = "one signature where the threshold is 2", ("two publishers",)

    def releases(self):
        """One publisher's key is stolen; what it signs comes again under the other one's id."""
        made = [self.site.statement(self.evil_map(), bundle, self.site.key("publisher")) for bundle in ("home", "pay")]
        for one in made:
            one["signatures"].append(one["signatures"][0] | {"keyid": self.site.ids("team")[0]})
        return made


class RootBelowThreshold(OwnRoot):
    name, needs = "a root by one of two root keys", ("two roots",)

    def data(self, data, is_small):
        return super().data(data, is_small) | {"root": str(int(payload(self.site.roots[0])["number"]) + 1)}

    def document(self, url, status, body):
        number = int(payload(self.site.roots[0])["number"]) + 1
        before = payload(self.site.roots[0])
        value = before | {"number": str(number), "heads": ids("thief"), "prefetch": [], "releases": [self.site.grant("thief")],
                          "roots": {"keys": sorted(self.site.ids("root a") + ids("new root")), "threshold": 2}}
        value["keys"] = before["keys"] | {KEYS[name].id: b64(KEYS[name].spki) for name in ("thief", "new root")}
        return 200, trust.canonical(envelope("root", value, self.site.key("root a"), "new root"))


def trickle(body, seconds=120):
    """Bytes so slowly that no connection times out."""
    def pieces():
        for place in range(min(len(body), 4 * seconds)):
            yield body[place:place + 1]
            time.sleep(0.25)
    return pieces


class SlowFiles(Attack):
    name, rounds, is_background = "slow retrieval: files and packs", 3, True

    def file(self, url, status, body):
        return 200, trickle(body) if url.startswith(CDN) else body


class EndlessFiles(Attack):
    name = "endless data: files and packs"

    def file(self, url, status, body):
        def pieces():
            yield body
            for _ in range(64 << 4):
                yield b" " * 65_536
        return 200, pieces if url.startswith(CDN) else body


def bomb():
    """Grows to 400 MiB by decoding."""
    packer = zlib.compressobj(9, wbits=31)
    return Coded(b"".join(packer.compress(b" " * (1 << 20)) for _ in range(400)) + packer.flush())


class Bombs(SkippedRoot):
    name = "endless data: roots and heads that grow by decoding"

    def begin(self):
        super().begin()
        self.bomb = bomb()

    def document(self, url, status, body):
        return 200, self.bomb

    def is_lifted(self, watch):
        """Whether it used the memory."""
        megabytes = watch.device.memory() >> 20
        self.said.append(f"at most {megabytes} MiB of memory")
        return megabytes > 250


class FileBombs(Bombs):
    name = "endless data: files that grow by decoding"

    def begin(self):
        Attack.begin(self)
        self.bomb = bomb()

    def document(self, url, status, body):
        return status, body

    def file(self, url, status, body):
        return 200, self.bomb if url.startswith(CDN) else body


class OtherForm(Attack):
    name = "a signature's other form, and 15 more beside it"

    def data(self, data, is_small):
        """Not what was signed is changed, but the signature: n − s for s. Who takes it takes what the publisher signed."""
        for one in data.get("trust", {}).get("releases", []):
            first = one["signatures"][0]
            r, s = decode_dss_signature(base64.b64decode(first["sig"]))
            first["sig"] = b64(encode_dss_signature(r, OddSignatures.ORDER - s))
            one["signatures"] += [first | {"keyid": hashlib.sha256(bytes([number])).hexdigest()} for number in range(15)]
        return data


class ReplayedHead(Attack):
    name = "a head with another channel's name, and one by another app"

    def data(self, data, is_small):
        newest = self.site.newest
        head = self.site.head(newest, channel="test", at=START + 900_000) if is_small else self.site.head(newest, app="pay", at=START + 900_000)
        return data | ({"trust": data["trust"] | {"head": head}} if "trust" in data else {})

    def document(self, url, status, body):
        return 200, trust.canonical(self.site.head(self.site.newest, channel="test", at=START + 900_000)) if url.endswith("head.json") else body


def integer(number):
    digits = number.to_bytes(32, "big").lstrip(b"\0") or b"\0"
    return b"\2" + bytes([len(digits) + (digits[0] >> 7)]) + b"\0" * (digits[0] >> 7) + digits


class OddSignatures(OtherEntries):
    name = "signatures of 0, of the order, empty, long, not in DER"
    ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

    def releases(self):
        self.round = getattr(self, "round", -1) + 1
        numbers = integer(1) + integer(1)
        forms = [integer(0) + integer(0), integer(self.ORDER) + integer(self.ORDER), integer(self.ORDER - 1) + integer(self.ORDER - 1), integer(1) + integer(0), b"",
                 b"\2\1\1", numbers + b"\0", b"\2\2\0\1" * 2, b"\2\1\xff" * 2, b"\2\x81\1\1" * 2]
        body = forms[self.round % len(forms)]
        sig = b"\x30" + bytes([len(body)]) + body if self.round % 11 != 10 else b"\0" * 200
        made = [self.site.statement(self.evil_map(), bundle, "thief") for bundle in sorted(set(PAGES.values()))]
        for one in made:
            one["signatures"] = [{"keyid": self.site.ids("publisher")[0], "sig": b64(sig)}]
        return made

    rounds = 12


class OtherName(OtherEntries):
    name = "a bundle's name in another case or form"

    def data(self, data, is_small):
        self.turn = getattr(self, "turn", -1) + 1
        name = ("Home", "HOME", "h\u006fme\u200b", "\uff48ome", "home.", "home\0")[self.turn % 6]
        entries = self.evil_map()
        for entry in entries.values():
            entry["bundle"] = name if entry["bundle"] == "home" else entry["bundle"]
        return self.offering(data, entries, is_small=is_small)

    rounds = 6


class NoMoreBundle(OtherEntries):
    name = "entries put into another bundle, which is signed"

    def data(self, data, is_small):
        entries = self.evil_map()
        entries[f"{SITE}/app.js"]["bundle"] = "pay"
        return self.offering(data, entries, is_small=is_small)


class ClockOff(Attack):
    name, rounds, jump = "a clock that is 40 days ahead", 1, 40 * 86_400


class ClockBehind(Attack):
    name, rounds, jump = "a clock that is 40 days behind", 1, -40 * 86_400


# --- With an admin token

class Token(Attack):
    """Uses the API with the admin token; what it was answered is in `said`. The network is honest."""
    positions = ("token",)

    def begin(self):
        self.strike()

    def strike(self):
        self.act()
        self.site.note()

    def call(self, what, path, body, method="POST"):
        status, code = self.site.api(path, body, method)
        self.said.append(f"{what}: {code or status}")
        return status

    def tool(self, what, *arguments):
        done = self.site.xcache(*arguments, may_fail=True)
        self.said.append(f"{what}: {'done' if done.returncode == 0 else 'refused'}")
        return done.returncode

    def end(self):
        self.site.publish(max(version for version in self.site.released.values()) + 1)

    CHANNEL = "apps/shop/channels/online"


def release_of(site, statements, entries=None):
    """A release of one file, as `publish` would send it."""
    digest = hashlib.sha256(EVIL).hexdigest()
    site.api(f"blobs/{digest}", EVIL, "PUT")
    entry = {"ctype": "text/html;charset=UTF-8", "md5": hashlib.md5(EVIL).hexdigest(), "sha256": digest, "size": len(EVIL)}
    return {"bundles": [{"bundle": "home", "base": "0", "set": {f"{SITE}/index.html": entry}}], "statements": statements}


class TokenPublishes(Token):
    name = "admin token: publishes other content"

    def act(self):
        newest = self.site.newest
        content = {f"{SITE}/index.html": {"bundle": "home", "ctype": "text/html;charset=UTF-8", "sha256": hashlib.sha256(EVIL).hexdigest(), "size": len(EVIL)}}
        evil = self.site.statement(content, "home", "thief")
        twice = evil | {"signatures": evil["signatures"] + [evil["signatures"][0] | {"keyid": self.site.ids("publisher")[0]}]}
        for what, statements in (("unsigned", []), ("old statements", self.site.statements(newest)), ("own key", [evil]), ("publisher's id", [twice])):
            self.call(what, f"{self.CHANNEL}/releases", release_of(self.site, statements))
        for what, members in (("statements by own key", {"releases": [evil]}), ("statements for the old content", {"releases": self.site.statements(newest, "thief")})):
            self.call(what, "apps/shop/trust/statements", members)
        # The program of the publisher, with a key that the root hasn't.
        (self.site.folder / "evil").mkdir()
        (self.site.folder / "evil/index.html").write_bytes(EVIL)
        thief = KEYS["thief"].private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (self.site.folder / "thief.key").touch(0o600)
        (self.site.folder / "thief.key").write_bytes(thief)
        self.tool("publish", "publish", "evil", "--bundle", "home", "--base-url", SITE + "/", "--sign-key", "thief.key")
        self.tool("in another channel, then promote", "publish", "evil", "--create", "--channel", "test", "--bundle", "home", "--base-url", SITE + "/", "--sign-key", "thief.key")


class TokenRollsBack(Token):
    name = "admin token: rolls back below a floor"

    is_watched = True

    def begin(self):
        # Whoever has shown the fix takes nothing older.
        self.site.publish(self.site.newest + 1, "--raise-floor")

    def strike(self):
        self.old = [version for version in self.site.texts if version != self.site.newest]
        for version in self.old:
            del self.site.texts[version]
        super().strike()

    def act(self):
        for version in self.old:
            self.call(f"to {version}", f"{self.CHANNEL}/rollback", {"allBundles": True, "to": str(version), "breakGlass": "thief"})
        self.call("one step", f"{self.CHANNEL}/rollback", {"bundle": "home", "steps": 1})
        self.call("as a rollout", f"{self.CHANNEL}/rollback", {"bundle": "home", "steps": 1, "rollout": {"share": 1000}})


class TokenRoot(Token):
    name = "admin token: pushes roots of its own"

    def act(self):
        before = payload(self.site.roots[0])
        value = before | {"number": "2", "heads": before["heads"], "prefetch": [], "releases": [self.site.grant("thief")]}
        value["keys"] = before["keys"] | {KEYS[name].id: b64(KEYS[name].spki) for name in ("thief", "new root")}
        own = value | {"roots": {"keys": ids("new root"), "threshold": 1}}
        off = before | {"number": "2", "off": True}
        for what, root in (("unsigned", envelope("root", value)), ("own keys", envelope("root", own, "new root", "thief")), ("off", envelope("root", off, "thief")),
                           ("number 1", envelope("root", own | {"number": "1"}, "new root")),
                           ("the first again", self.site.roots[0])):
            self.call(what, "apps/shop/trust/root", {"root": root})
        self.call("another head key", "apps/shop/trust/head-key", {"another": True})


class TokenRemakes(Token):
    name = "admin token: removes the channel, makes it anew"

    def act(self):
        self.tool("unpublish home", "unpublish", "--bundle", "home")
        self.tool("unpublish pay", "unpublish", "--bundle", "pay")
        self.tool("remove", "channel", "remove", "online")
        self.tool("create", "channel", "create", "online")
        self.call("publish", f"{self.CHANNEL}/releases", release_of(self.site, []))


class TokenRebases(Token):
    name = "admin token: moves downloads to the thief's host"

    def act(self):
        self.call("rebase", f"{self.CHANNEL}/rebase", {"publicURL": "http://evil.test"})

    def answer(self, url, query, status, body):
        return (200, EVIL.ljust(len(body))) if url.startswith("http://evil.test") else (status, body)

    def end(self):
        self.call("back", f"{self.CHANNEL}/rebase", {"publicURL": CDN})
        super().end()


ATTACKS = [OtherBytes, OtherEntries, ThiefSigns, NoTrust, DuplicateKeys, TwiceInOne, OddSignatures, OtherForm, OtherName, NoMoreBundle, BelowThreshold, OwnRoot, RootBelowThreshold, Replay,
           ReplayWithHead, Freeze, Mix, OtherChannel, OtherApp, ReplayedHead, Scope, OldHead, SkippedRoot, Missing, Endless, EndlessFiles, Bombs, FileBombs, Slow, SlowAnswer, SlowFiles, Garbage,
           OldPolicy, ClockOff, ClockBehind, HeadOf2035, HighFloor, StolenKey, TokenPublishes, TokenRollsBack, TokenRoot, TokenRemakes, TokenRebases]


class Watch:
    """A device under attack, and what it answers."""

    def __init__(self, command, proxy, site, folder, has_no_root):
        self.device, self.proxy, self.site = Device(command, proxy.port), proxy, site
        self.wrong, self.mixed, self.went_back, self.versions, self.now = 0, 0, False, [], site.start
        answer = self.device.ask({"do": "open", "now": self.now, "settings": {
            name: value for name, value in site.settings().items() if name != "root" or not has_no_root} | {"folder": folder}})
        if "error" in answer:
            raise SystemExit(f"the device doesn't open: {answer['error']}")

    def poll(self, seconds=31, in_background=False):
        self.now += 1000 * seconds
        self.device.ask({"do": "advance", "milliseconds": 1000 * seconds})
        self.device.ask({"do": "trigger", "triggers": ["launch"], "background": in_background})
        self.look()

    def look(self):
        page, possible = self.device.ask({"do": "pageOpen", "url": f"{SITE}/index.html"})["page"], set(self.site.maps)
        for url in PAGES:
            document = {"destination": "document"} if url.endswith("index.html") and "pay" not in url else {}
            answer = self.device.ask({"do": "request", "url": url, "page": page, **document})
            if answer["answer"] == "network":
                continue
            body = base64.b64decode(answer["body"])
            fits = {version for version, texts in self.site.texts.items() if texts.get(url) == body}
            self.wrong += 0 if fits else len(body)
            possible &= fits or possible
        self.mixed += not possible
        self.is_on = possible != set(self.site.maps)
        self.device.ask({"do": "pageUp", "page": page})
        self.device.ask({"do": "pageClose", "page": page})
        state = self.device.ask({"do": "state"})
        version, self.policy = int(state["version"]), state.get("policy", "0")
        self.went_back |= bool(self.versions) and version < self.versions[-1]
        if self.versions[-1:] != [version]:
            self.versions.append(version)


class Row:
    """What became of an attack."""

    def __init__(self, kind, position, site):
        self.kind, self.position, self.site = kind, position, site
        self.did, self.said, self.notes, self.out, self.wrong, self.mixed, self.went_back = "", [], [], 0, 0, 0, False

    @property
    def has_failed(self):
        return bool(self.wrong or self.mixed or self.went_back or not self.out)

    @property
    def line(self):
        notes = [self.did] + ([f"says {', '.join(self.said)}"] if self.said else []) + self.notes
        back = f"after {self.out} poll{'s' if self.out > 1 else ''}" if self.out else "never"
        return "| " + " | ".join(map(str, [self.kind.name, self.position, "; ".join(notes), back, self.wrong, self.mixed, "yes" if self.went_back else "no"])) + (
            f" | {self.kind.known}" if self.kind.known else " |")


def mount(kind, position, command, options):
    """Mounts an attack; returns its row."""
    row = Row(kind, position, "real" if options.xcache else "stand-in")
    site = Program(options.xcache, kind.needs, not options.no_root) if options.xcache else StandIn(kind.needs)
    proxy, folder, watch = Proxy(site), tempfile.mkdtemp(prefix="attacked-"), None
    try:
        if not site.newest:
            site.publish(1)
        watch = Watch(command, proxy, site, folder + "/device", options.no_root)
        watch.poll()
        if watch.versions[-1] != site.newest:
            row.did = "doesn't take the first version"
            return row
        attack = kind(site, position)
        attack.begin()
        if attack.is_watched:
            watch.poll()
            watch.poll(900)
            attack.strike()
        if position == "copy":
            proxy.dead = True
            for seconds in (31, 31, 31, 31, 31, 37):
                watch.poll(seconds)
        begun, proxy.attack, before = time.monotonic(), attack, len(watch.versions)
        for _ in range(attack.rounds):
            watch.poll(attack.jump, attack.is_background)
            if attack.is_background:
                time.sleep(3)
        lifted = attack.is_lifted(watch)
        seconds, proxy.attack, proxy.dead = time.monotonic() - begun, None, False
        row.did = "versions " + " → ".join(map(str, watch.versions))
        row.took = watch.versions[before:]
        attack.end()
        # A clock that was ahead is right again, and so on.
        for polls in range(1, 4):
            watch.poll(attack.after)
            if attack.is_background:
                time.sleep(3)
                watch.look()
            if watch.versions[-1] == site.newest:
                row.out = polls
                break
        if proxy.failures:
            raise SystemExit(f"{kind.name}: the attack itself fails: {proxy.failures[0]}")
        row.said = sorted({reason for reason in proxy.reports if reason})
        row.notes = ([f"{seconds:.0f} s"] if seconds > 10 else []) + ([f"read {proxy.most >> 10} KiB at most"] if proxy.most else []) + attack.said
        row.wrong, row.mixed, row.went_back = watch.wrong, watch.mixed, watch.went_back or lifted
        return row
    except (Died, Failed) as failure:
        row.did = f"died, or hung: {str(failure)[:60]}"
        return row
    finally:
        if watch:
            watch.device.kill()
        proxy.socket.close()
        site.close()
        shutil.rmtree(folder, ignore_errors=True)


def run(command, options, report=lambda row: None, only_tokens=False):
    """Mounts the attacks against a device."""
    chosen = [(kind, position) for kind in ATTACKS for position in kind.positions
              if options.only in kind.name and (options.xcache or not issubclass(kind, Token)) and (issubclass(kind, Token) or not only_tokens)]
    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda one: mount(*one, command, options), chosen):
            rows.append(row)
            report(row)
    return rows


# --- Several devices

def outcome(row):
    """What a device did, in few words."""
    said = [reason.removeprefix("trust-") for reason in row.said if reason not in ("download", "trust-stale")]
    if not row.did.startswith("versions"):
        return row.did
    what = "takes what is signed" if row.took else "stays"
    wrong = "".join(f", **{text}**" for text, holds in ((f"{row.wrong} wrong bytes", row.wrong), ("mixed", row.mixed), ("went back", row.went_back and not row.kind.known)) if holds)
    late = "" if row.out == 1 else ", **never gets out**" if not row.out else f", out after {row.out} polls"
    return what + (f" ({', '.join(said)})" if said else "") + wrong + late


def cell(rows):
    """All mounts of one attack on one device: each outcome, with who mounts it where they differ."""
    found = {}
    for row in rows:
        found.setdefault(outcome(row), []).append(row)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{'/'.join(dict.fromkeys(row.position for row in which))}: {what}" for what, which in found.items())


def tabulate(devices, options):
    """Prints one line per attack; the program's origin is there for those with its token."""
    def all_of(command):
        # An origin takes seconds to set up: it is there for what only it can answer. The other attacks on it: --xcache without --table.
        return [row for program in ([None, options.xcache] if options.xcache else [None])
                for row in run(command, argparse.Namespace(**{**vars(options), "xcache": program}), only_tokens=bool(program))]

    with concurrent.futures.ThreadPoolExecutor(len(devices)) as pool:
        results = dict(zip(devices, pool.map(all_of, devices.values())))
    print(f"| attack | by | {' | '.join(devices)} |\n|---|---|{'---|' * len(devices)}")
    for kind in ATTACKS:
        by = {name: [row for row in rows if row.kind is kind] for name, rows in results.items()}
        if any(by.values()):
            print(f"| {kind.name} | {', '.join(kind.positions)} | {' | '.join(cell(rows) for rows in by.values())} |")
    rows = [row for each in results.values() for row in each]
    real = sum(row.site == "real" for row in rows)
    print(f"\n{len(rows)} mounted, {real} of them on an origin of the program. Wrong bytes: {sum(row.wrong for row in rows)}; mixed: {sum(row.mixed for row in rows)}; "
          f"went back: {sum(row.went_back for row in rows if not row.kind.known)}; never got out: {sum(not row.out for row in rows)}.")
    said = {row.kind.name: row.notes for row in rows if issubclass(row.kind, Token)}
    if said:
        print("\nWhat the origin said to the admin token:\n")
        for name, notes in said.items():
            print(f"- {name.removeprefix('admin token: ')}: {'; '.join(notes)}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--xcache", help="the program whose origin is attacked; without it, a stand-in")
    parser.add_argument("--only", default="", help="attacks whose name has this text")
    parser.add_argument("--no-root", action="store_true", help="the app has no root: shows that attacks work")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--table", action="append", metavar="NAME=DEVICE", help="compares devices; repeatable")
    parser.add_argument("device", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if bool(options.device) == bool(options.table):
        parser.error("which device?")
    if options.table:
        rows = tabulate({name: shlex.split(command) for name, _, command in (text.partition("=") for text in options.table)}, options)
    else:
        print("| attack | by | the device | gets out | wrong bytes | mixed | went back |\n|---|---|---|---|--:|--:|---|")
        rows = run(options.device, options, lambda row: print(row.line, flush=True))
    return 1 if any(row.has_failed and not row.kind.known for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
