#!/usr/bin/env python3
"""Attacks a device of an app with a root: attacks.py [--xcache PROGRAM] [--only TEXT] DEVICE [ARGUMENT...]

DEVICE speaks the commands of docs/conformance.md, as conformance-device, Tests/WebRuntime/Device/device.mjs and
Examples/python/conformance.py --complete do. Its whole network is a proxy here, in front of an origin: of PROGRAM, where that is given,
otherwise of a stand-in in this file. The proxy is the attacker, as

    middle   somebody on the way to the origin and to the copy, who has no key
    copy     a static copy, after the origin went away
    origin   a stolen origin: it has the head key

Each attack begins when the device holds the first version, and ends after some polls; then everybody is honest again, and the device
has to get to the newest version. Printed is what it did, and how many bytes it answered that no publisher had signed for that URL, how
often it answered pages of two releases at once, and whether it went back. Ends with 1 if any of these isn't 0.
"""
import argparse, base64, concurrent.futures, hashlib, json, os, pathlib, shutil, socket, subprocess, sys, tempfile, threading, time
import urllib.error, urllib.parse, urllib.request

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Tests/Conformance"), str(ROOT / "Tests/Conformance/trust")]
import trust  # noqa: E402
from runner.case import Device, Died, Failed  # noqa: E402
from signing import KEYS, b64, envelope, ids  # noqa: E402

ORIGIN, MIRROR, CDN, SITE = "http://origin.test", "http://mirror.test", "http://cdn.test", "https://m.test"
START, DAY = 1_800_000_000_000, 86_400_000
EVIL = b"document.title = 'evil'"
PAGES = {f"{SITE}/index.html": "home", f"{SITE}/app.js": "home", f"{SITE}/pay/index.html": "pay"}


def text_of(url, version):
    """What the publisher releases: app.js is the same in all versions."""
    return f"{url} {1 if url.endswith('app.js') else version}".encode()


# --- Honest parties

class StandIn:
    """An origin, its copy and its CDN, for a channel whose publisher signs: what a device needs of them."""

    def __init__(self):
        self.maps, self.texts, self.files, self.newest, self.roots, self.extras, self.policies = {}, {}, {}, 0, [], {}, {}
        self.root()

    def root(self, **members):
        value = {"app": "shop", "heads": ids("head"), "number": str(len(self.roots) + 1), "prefetch": ids("publisher"),
                 "releases": [{"bundles": ["*"], "channels": ["*"], "keys": ids("publisher"), "prefixes": [SITE + "/"], "threshold": 1}],
                 "roots": {"keys": ids("root a", "root b"), "threshold": 1}} | members
        used = value["heads"] + value["prefetch"] + value["roots"]["keys"] + [one for each in value["releases"] for one in each["keys"]]
        value["keys"] = {key.id: b64(key.spki) for key in KEYS.values() if key.id in used}
        self.roots.append(envelope("root", value, "root a"))
        self.head_key = "new head" if ids("new head")[0] in value["heads"] else "head"
        self.release_key = "new publisher" if ids("new publisher")[0] in value["releases"][0]["keys"] else "publisher"

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
        return envelope("release", value, *(signers or (self.release_key,)))

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


class FileKey:
    """A stolen key."""

    def __init__(self, path):
        self.private = serialization.load_pem_private_key(path.read_bytes(), None)
        self.spki = self.private.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.id = trust.id_of(self.spki)

    def sign(self, message):
        return self.private.sign(message, ec.ECDSA(hashes.SHA256()))


class Program(StandIn):
    """An origin of the program, with the ceremony of docs/trust.md. Requests go to that process. An attacker who has stolen it has its head
    key."""

    def __init__(self, program, has_root=True):
        self.program, self.folder = str(pathlib.Path(program).resolve()), pathlib.Path(tempfile.mkdtemp(prefix="attacks-"))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url, self.maps, self.newest, self.roots, self.extras = f"http://127.0.0.1:{self.port}", {}, 0, [], {}
        self.texts, self.released, self.signed, self.release_key = {}, {}, {}, "thief"
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
        self.publish(1)
        if not has_root:
            return
        self.xcache("trust", "init", "--out", "keys")
        self.xcache("trust", "push", "keys/root.json", "--sign-key", "keys/release.key")
        self.roots.append(json.loads((self.folder / "keys/root.json").read_text()))
        self.note()
        self.head_key = f"head of {self.port}"
        KEYS[self.head_key] = FileKey(next((self.folder / "data/keys").glob("head-*.pem")))

    def xcache(self, *arguments):
        done = subprocess.run([self.program, *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"xcache {' '.join(arguments)}: {done.stderr}")

    def publish(self, version):
        for bundle in sorted(set(PAGES.values())):
            top = self.folder / f"build-{bundle}"
            for url in [url for url, owner in PAGES.items() if owner == bundle]:
                path = top / url.removeprefix(SITE + "/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text_of(url, version))
            key = ["--sign-key", "keys/release.key"] if self.roots else []
            self.xcache("publish", top.name, "--create", "--bundle", bundle, "--base-url", SITE + "/", *key)
            self.released[bundle] = version
            self.note()

    def note(self):
        """What the channel has now, which an honest device may hold."""
        answer = json.loads(self.get(f"{ORIGIN}/configure.json", {"app": "shop"})[1])["data"]
        self.newest = int(answer["version"])
        self.maps[self.newest] = answer["resourcemap"]
        self.signed[self.newest] = answer.get("trust", {})
        self.texts[self.newest] = {url: text_of(url, self.released[bundle]) for url, bundle in PAGES.items() if bundle in self.released}

    def head(self, version):
        return self.signed[version].get("head")

    def statements(self, version):
        return self.signed[version].get("releases", [])

    def statement_of(self, version, bundle):
        return next(one for one in self.statements(version) if json.loads(base64.b64decode(one["payload"]))["bundle"] == bundle)

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


# --- Attackers

class Attack:
    """Rewrites answers. `begin` is called when the device holds version 1; `data` gets each answer to a poll that has data."""
    name, positions, rounds, known, jump = "", ("middle", "copy", "origin"), 3, "", 40

    def __init__(self, site, position):
        self.site, self.position = site, position

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
            one["signatures"].append(one["signatures"][0] | {"keyid": ids("publisher")[0]})
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
        value = json.loads(base64.b64decode(self.site.roots[0]["payload"])) | {"number": "2", "heads": ids("thief"), "releases": grants, "prefetch": []}
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
        self.site.root(heads=ids("new head"))
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
        entries = self.site.maps[self.site.newest] | {"https://bank.test/": self.site.maps[1][f"{SITE}/index.html"]}
        return self.offering(data, entries, releases=[self.site.statement(entries, bundle) for bundle in ("home", "pay")], is_small=is_small)


class OldHead(Attack):
    name = "an old head with a new release"

    def data(self, data, is_small):
        return data | {"trust": data["trust"] | {"head": self.site.head(min(self.site.maps))}} if "trust" in data else data


class SkippedRoot(Attack):
    name = "a root left out"

    def begin(self):
        super().begin()
        self.site.root()
        self.site.root(prefetch=ids("new publisher"))

    def document(self, url, status, body):
        return (200, trust.canonical(self.site.roots[2])) if url.endswith("root/2.json") else (status, body)


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
        self.site.root(heads=ids("new head"))
        self.site.publish(self.site.newest + 1)


class HighFloor(Attack):
    name, positions = "a floor of 2^53-1 by a stolen release key", ("origin",)

    def data(self, data, is_small):
        newest = self.site.newest
        return data if data.get("update") is False else self.offering(data, self.site.maps[newest], newest, self.site.head(newest), self.site.statements(newest, serial=trust.HIGHEST, floor=trust.HIGHEST))

    def end(self):
        grants = [{"bundles": ["*"], "channels": ["*"], "keys": ids("new publisher"), "prefixes": [SITE + "/"], "threshold": 1}]
        self.site.root(releases=grants, prefetch=ids("new publisher"), floors={"home": START, "pay": START})
        self.site.publish(self.site.newest + 1)


class StolenKey(OtherEntries):
    name, positions = "what a stolen key signed, after the root that ends it", ("origin",)

    def begin(self):
        super().begin()
        grants = [{"bundles": ["*"], "channels": ["*"], "keys": ids("new publisher"), "prefixes": [SITE + "/"], "threshold": 1}]
        self.site.root(releases=grants, prefetch=ids("new publisher"))

    def data(self, data, is_small):
        return super().data(data, is_small) | {"root": "2"}

    def releases(self):
        return [self.site.statement(self.evil_map(), bundle, "publisher") for bundle in ("home", "pay")]


class OldPolicy(Attack):
    name = "an old policy that lifts a kill switch"

    def begin(self):
        self.site.policies = {version: {"code": 200, "data": {"version": version, "intercept": version == "6", "bypass": [], "scripts": []}} for version in ("6", "7")}
        self.site.extras, self.is_late = {"policy": "7"}, False
        super().begin()

    def data(self, data, is_small):
        if not self.is_late:
            self.is_late = not is_small
            return data
        return data | {"policy": "6"}

    def answer(self, url, query, status, body):
        if url.endswith("policy.json") and self.is_late and not self.is_first:
            return 200, trust.canonical(self.site.policies["6"])
        self.is_first = False
        return super().answer(url, query, status, body)

    is_first = True

    def is_lifted(self, watch):
        return watch.is_on and int(watch.policy) > 0


class ClockOff(Attack):
    name, rounds, jump = "a clock that is 40 days off", 1, 40 * 86_400


ATTACKS = [OtherBytes, OtherEntries, ThiefSigns, NoTrust, DuplicateKeys, TwiceInOne, OwnRoot, Replay, ReplayWithHead, Freeze, Mix, OtherChannel, OtherApp, Scope, OldHead,
           SkippedRoot, Missing, Endless, Slow, SlowAnswer, Garbage, OldPolicy, ClockOff, HeadOf2035, HighFloor, StolenKey]
# Those that a publisher's keys are needed for can be mounted on the stand-in alone.
NEED_KEYS = (SkippedRoot, OldPolicy, HeadOf2035, HighFloor, StolenKey, OtherChannel, OtherApp, Scope, ReplayWithHead)


class Watch:
    """A device under attack, and what it answers."""

    def __init__(self, command, proxy, site, folder, has_no_root):
        self.device, self.proxy, self.site = Device(command, proxy.port), proxy, site
        self.wrong, self.mixed, self.went_back, self.versions, self.now = 0, 0, False, [], START
        answer = self.device.ask({"do": "open", "now": START, "settings": {
            name: value for name, value in site.settings().items() if name != "root" or not has_no_root} | {"folder": folder}})
        if "error" in answer:
            raise SystemExit(f"the device doesn't open: {answer['error']}")

    def poll(self, seconds=31):
        self.now += 1000 * seconds
        self.device.ask({"do": "advance", "milliseconds": 1000 * seconds})
        self.device.ask({"do": "trigger", "triggers": ["launch"]})
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


def mount(kind, position, options):
    """Mounts an attack; returns its row."""
    site = Program(options.xcache, not options.no_root) if options.xcache else StandIn()
    proxy, folder, watch = Proxy(site), tempfile.mkdtemp(prefix="attacked-"), None
    try:
        if not site.newest:
            site.publish(1)
        watch = Watch(options.device, proxy, site, folder + "/device", options.no_root)
        watch.poll()
        if watch.versions[-1] != site.newest:
            return [kind.name, position, "doesn't take the first version", "", 1, 0, False]
        attack = kind(site, position)
        attack.begin()
        if position == "copy":
            proxy.dead = True
            for seconds in (31, 31, 31, 31, 31, 37):
                watch.poll(seconds)
        begun, proxy.attack = time.monotonic(), attack
        for _ in range(attack.rounds):
            watch.poll(attack.jump)
        lifted = attack.is_lifted(watch)
        seconds, proxy.attack, proxy.dead = time.monotonic() - begun, None, False
        did = " → ".join(map(str, watch.versions))
        attack.end()
        for polls in range(1, 4):
            watch.poll(900)
            if watch.versions[-1] == site.newest:
                break
        back = f"after {polls} poll{'s' if polls > 1 else ''}" if watch.versions[-1] == site.newest else "never"
        if proxy.failures:
            raise SystemExit(f"{kind.name}: the attack itself fails: {proxy.failures[0]}")
        said = ", ".join(sorted({reason for reason in proxy.reports if reason}))
        notes = [f"versions {did}"] + ([f"says {said}"] if said else []) + ([f"{seconds:.0f} s"] if seconds > 10 else []) + (
            [f"read {proxy.most >> 10} KiB at most"] if proxy.most else [])
        return [kind.name, position, "; ".join(notes), back, watch.wrong, watch.mixed, watch.went_back or lifted]
    except (Died, Failed) as failure:
        return [kind.name, position, f"died, or hung: {str(failure)[:60]}", "never", 0, 0, False]
    finally:
        if watch:
            watch.device.kill()
        proxy.socket.close()
        site.close()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--xcache", help="the program whose origin is attacked; without it, a stand-in")
    parser.add_argument("--only", default="", help="attacks whose name has this text")
    parser.add_argument("--no-root", action="store_true", help="the app has no root: shows that attacks work")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("device", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.device:
        parser.error("which device?")
    chosen = [(kind, position) for kind in ATTACKS for position in kind.positions
              if options.only in kind.name and not (options.xcache and issubclass(kind, NEED_KEYS))]
    bad = 0
    print("| attack | by | the device | gets out | wrong bytes | mixed | went back |\n|---|---|---|---|--:|--:|---|")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (kind, _), (*row, wrong, mixed, went_back) in zip(chosen, pool.map(lambda one: mount(*one, options), chosen)):
            failed = bool(wrong or mixed or went_back or row[3] in ("", "never"))
            bad += failed and not kind.known
            known = f" {kind.known}" if kind.known else ""
            print("| " + " | ".join(map(str, row)) + f" | {wrong} | {mixed} | {'yes' if went_back else 'no'} |{known}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
