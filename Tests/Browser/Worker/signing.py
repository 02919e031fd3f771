"""An origin that signs, written for cases: it answers for one app in the place of the real one, and a case may change all that it says."""
import base64, hashlib, importlib.util, json, os, pathlib, time, urllib.parse

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bench import App
from servers import TYPES

# Its name is that of cases here, too.
spec = importlib.util.spec_from_file_location("documents", pathlib.Path(__file__).resolve().parents[2] / "Conformance/trust/trust.py")
documents = importlib.util.module_from_spec(spec)
spec.loader.exec_module(documents)

DAY = 86_400_000


def now():
    return int(time.time() * 1000)


def b64(data):
    return base64.b64encode(data).decode()


class Key:
    def __init__(self):
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.spki = self.private.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.id = documents.id_of(self.spki)

    def sign(self, message):
        return self.private.sign(message, ec.ECDSA(hashes.SHA256()))


def signed(kind, value, *keys):
    """An envelope."""
    payload, kind = documents.canonical(value), documents.TYPES[kind]
    return {"payload": b64(payload), "payloadType": kind,
            "signatures": [{"keyid": key.id, "sig": b64(key.sign(documents.message(kind, payload)))} for key in keys]}


class Source:
    """What answers for an app: at the origin, and below /copy as its static copy."""

    def __init__(self, bench, app):
        self.bench, self.app = bench, app
        self.keys = {name: Key() for name in ("root", "spare", "publisher", "head", "thief", "new publisher")}
        self.roots = [self.root("1")]
        # Resourcemaps and statements by version; what is downloaded, by path.
        self.maps, self.statements, self.files = {}, {}, {}
        # By URL.
        self.fallbacks = {}
        self.version, self.candidate = "0", None
        self.at, self.until, self.serial = now(), None, now()
        self.policy, self.prefetch = None, None
        self.head_keys = ["head"]
        # By the end of a path: what answers in its place; changes of an answer's data; whether patches are made.
        self.routes, self.changes, self.patches = {}, [], True
        # By the path of a download.
        self.downloads = {}
        self.is_down = False

    # Documents.

    def root(self, number, *signers, **members):
        keys = self.keys
        value = {"app": self.app.app, "heads": [keys["head"].id], "number": number, "prefetch": [keys["publisher"].id],
                 "releases": [self.grant("publisher")], "roots": {"keys": sorted([keys["root"].id, keys["spare"].id]), "threshold": 1}} | members
        named = {*value["heads"], *value["prefetch"], *value["roots"]["keys"], *(one for each in value["releases"] for one in each["keys"])}
        value = {"keys": {key.id: b64(key.spki) for key in keys.values() if key.id in named}} | value
        return signed("root", value, *(keys[name] for name in signers or ["root"]))

    def grant(self, *names, **members):
        return {"bundles": ["*"], "channels": ["*"], "keys": sorted(self.keys[name].id for name in names), "prefixes": ["*"], "threshold": 1} | members

    def head(self, **members):
        value = {"app": self.app.app, "at": self.at, "channel": "online", "digest": documents.digest(self.maps[self.version]),
                 "until": self.until or self.at + 30 * DAY, "version": self.version}
        if self.policy:
            value["policy"] = self.policy["version"]
        if self.prefetch:
            value["prefetch"] = self.prefetch["version"]
        if self.candidate:
            value["candidate"] = {"digest": documents.digest(self.maps[self.candidate["version"]]), "rollout": self.candidate}
        return signed("head", value | members, *(self.keys[name] for name in self.head_keys))

    def statement(self, version, bundle, *signers, **members):
        entries = {url: entry for url, entry in self.maps[version].items() if entry["bundle"] == bundle}
        value = {"app": self.app.app, "bundle": bundle, "channels": ["online"], "content": documents.digest(documents.content(entries)),
                 "serial": self.serial} | members
        return signed("release", value, *(self.keys[name] for name in signers or ["publisher"]))

    def news(self):
        """What was signed before is older from here on."""
        self.at, self.serial = max(self.at + 1, now()), max(self.serial + 1, now())

    def release(self, version, bundles, *signers, **members):
        """Makes a version of files by bundle, and signs what is another than before; returns its number."""
        self.news()
        before = self.maps.get(self.version, {})
        entries = {}
        for bundle, files in bundles.items():
            for name, data in files.items():
                for url in {self.app.base + name, self.app.base + name.removesuffix("index.html")} if name.endswith("index.html") else [self.app.base + name]:
                    old = before.get(url)
                    sha256 = hashlib.sha256(data).hexdigest()
                    if old and (old["sha256"], old["bundle"]) == (sha256, bundle):
                        entries[url] = old
                        continue
                    ending = os.path.splitext(name)[1]
                    path = f"/xcache/{self.app.app}/{version}/1/{sha256[:32]}/{sha256[:16]}{ending}"
                    self.files[path] = data
                    entries[url] = {"bundle": bundle, "ctype": TYPES[ending], "download": self.bench.proxy.url + path,
                                    "md5": hashlib.md5(data).hexdigest(), "sha256": sha256, "size": len(data), "version": "1"}
        for url in entries:
            entries[url] = {name: value for name, value in entries[url].items() if name != "fallback"}
            if url in self.fallbacks:
                entries[url]["fallback"] = self.fallbacks[url]
        self.maps[version] = entries
        old = self.statements.get(self.version, {})
        self.statements[version] = {}
        for bundle in bundles:
            statement = self.statement(version, bundle, *signers, **members)
            content = json.loads(base64.b64decode(statement["payload"]))["content"]
            same = bundle in old and json.loads(base64.b64decode(old[bundle]["payload"]))["content"] == content and not members
            self.statements[version][bundle] = old[bundle] if same else statement
        self.version = version
        return version

    # Answers.

    def always(self, **more):
        data = {"digest": documents.digest(self.maps[self.version]), "interval": 30, "root": str(len(self.roots)), "version": self.version}
        if self.policy:
            data["policy"] = self.policy["version"]
        if self.prefetch:
            data["prefetch"] = self.prefetch["version"]
        if self.candidate:
            data["rollout"] = self.candidate
        return data | more

    def update(self, version, base=None):
        """The answer that leads to a version."""
        statements, old = self.statements[version], self.statements.get(base, {})
        data = self.always(update=True, version=version, digest=documents.digest(self.maps[version]))
        data["trust"] = {"head": self.head(), "releases": [one for name, one in statements.items() if old.get(name) != one]}
        if base is None:
            return data | {"resourcemap": self.maps[version]}
        old, new = self.maps[base], self.maps[version]
        patch = {url: entry for url, entry in new.items() if old.get(url) != entry} | {url: None for url in old if url not in new}
        return data | {"base": base, "patch": patch}

    def configure(self, query):
        base, digest = query.get("version"), query.get("digest")
        version = self.candidate["version"] if self.candidate and "candidate" in query else self.version
        if base == version and digest == documents.digest(self.maps[version]):
            return self.always(update=False, version=version)
        known = self.patches and base in self.maps and documents.digest(self.maps[base]) == digest
        return self.update(version, base if known else None)

    def answer(self, path, query):
        """The document at a path below the channel's folder, or the one of that name at the origin."""
        if path == "configure.json":
            return self.configure(query)
        if path == "version.json":
            return self.always(update=False)
        if path == "policy.json":
            return self.policy
        if path in ("prefetchConfig", "prefetchConfig.json"):
            return self.prefetch
        if path.startswith("patch/") and self.patches:
            base, version = path[6:-5].split("-")
            return self.update(version, base) if base in self.maps else None
        return None

    def handle(self, request, proxy):
        """A rule of the proxy."""
        url = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        cors = [("Access-Control-Allow-Origin", "*")]
        folder = f"/xcache/{self.app.app}/"
        if url.path in self.downloads:
            return self.downloads[url.path](request)
        if url.path in self.files:
            return request.answer(self.files[url.path], "application/octet-stream", headers=cors)
        path = url.path.removeprefix("/copy").removeprefix(folder) if folder in url.path else url.path[1:] if query.get("app") == self.app.app else None
        if path is None or path == "report":
            return False
        if self.is_down and not url.path.startswith("/copy"):
            return request.answer(b"no", status=503, headers=cors)
        for end, act in self.routes.items():
            if url.path.endswith(end):
                return act(request)
        if path.startswith("root/"):
            number = int(path[5:-5])
            document = self.roots[number - 1] if number <= len(self.roots) else None
        elif path == "head.json":
            document = self.head()
        else:
            data = self.answer(path, query)
            for change in self.changes:
                data = change(data) if data and "version" in data else data
            document = data and {"code": 200, "data": data}
        body = b"no" if document is None else json.dumps(document).encode()
        return request.answer(body, "application/json", 404 if document is None else 200, cors)


class TrustedApp(App):
    """An app whose site was built with a root, and whose origin and copy are a `Source`."""

    def __init__(self, bench, is_trusted=True, **settings):
        super().__init__(bench, **settings)
        self.source = Source(bench, self)
        if is_trusted:
            self.trusts()
        bench.proxy.rules = [("", self.source.handle)]

    def trusts(self):
        """Builds the site with the first root."""
        self.settings["root"] = self.source.roots[0]

    def release(self, version, *signers, bundles=None, add=None, **members):
        files = {**self.files(version), **(add or {})}
        self.deploy(files)
        if bundles is None:
            bundles = {"help": {"help.html": files.pop("help.html")}, "main": {**files, "xcache.js": self.runtime_files()["xcache.js"]}}
        self.version = self.source.release(str(version), bundles, *signers, **members)
        return self.version

    def reports(self):
        """The reasons of the failures that the origin was told."""
        bodies = [json.loads(entry.body) for entry in list(self.bench.proxy.log) if entry.path.startswith(f"/report?app={self.app}&")]
        return [body["reason"] for body in bodies if "reason" in body]
