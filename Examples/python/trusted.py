"""The complete device of an app with a root: it takes a manifest only if keys have signed it that the root names (section 14). The check
itself is the one of Tests/Conformance/trust, which needs the package cryptography."""
import json, pathlib, sys, time

import rollout
from complete import CompleteDevice
from device import need, request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Tests/Conformance/trust"))
try:
    import trust
except ImportError as missing:
    raise ImportError("a root can't be checked without the package cryptography (python3-cryptography)") from missing

STORED = {"head": "head", "signers": "signers", "floors": "floors", "prefetchFloor": "prefetch_floor", "releases": "releases", "builtIn": "built_in"}


class TrustedDevice(CompleteDevice):
    def __init__(self, settings):
        self.trust = self.refusal = None
        self.lets_go = False
        super().__init__(settings)
        self.root, fresh = settings["root"], self.built_in(settings)
        need(fresh.app == settings["app"], "a root of another app")
        try:
            self.trust = self.restored(self.notes["trust"])
        except Exception:  # rule T-11
            self.trust, self.lets_go = fresh, self.notes["version"] != "0"
            self.notes |= {"version": "0", "map": {}}

    @staticmethod
    def built_in(settings):
        document = trust.canonical(settings["root"])
        first = trust.read("root", document)[0]
        return trust.Device(first["app"], first["environment"], settings["channel"], document)

    def restored(self, kept):
        """What the notes have, and then the root of this build, if that is another one than before."""
        device = self.built_in(self.settings)
        for name, member in STORED.items():
            setattr(device, member, kept[name])
        device.root = before = trust.read("root", trust.canonical(kept["root"]))[0]
        device.start(trust.canonical(self.settings["root"]))
        if device.root is before:
            self.root = kept["root"]
        return device

    def note(self, **changes):
        """All that the check stores is written with the rest of the notes: statements with their manifest, in one step."""
        if self.trust:
            if "map" in changes:
                self.trust.switch()
            changes["trust"] = {"root": self.root, **{name: getattr(self.trust, member) for name, member in STORED.items()}}
        super().note(**changes)

    def poll(self, now):
        self.now, self.refusal, self.has_asked = now, None, False
        super().poll(now)

    def ask(self, pack=False, whole=False):
        """Rule T-5: what fails with a patch or a pack may pass with the whole manifest; what fails otherwise waits for the next poll."""
        refusal, self.refusal = self.refusal, None
        need(refusal is None or refusal.startswith(("entry-", "release-")), refusal)
        return super().ask(pack, whole or refusal is not None or self.lets_go and self.notes["version"] == "0")

    def heard(self, server, data):
        """Rules T-2, T-3 and T-8: newer roots, and once a day a newer head, of whoever answered."""
        self.server, self.newest = server, trust.version(data.get("root")) or 0
        while self.trust.root["number"] < self.newest:
            try:
                document = self.envelope(f"root/{self.trust.root['number'] + 1}.json")
                need(self.trust.check({"roots": [document]}, self.now)[0] is None, "a root that fails")
            except Exception as failure:
                print(f"no root: {failure!r}", file=sys.stderr)
                break
            self.root = json.loads(document)
            self.note()
        head, asked = self.trust.head, self.notes.get("head", 0)
        if data["version"] == self.notes["version"] and head and self.now > head["at"] + 86_400_000 and not 0 <= self.now - asked < 86_400_000:
            self.note(head=self.now)
            try:
                self.follow_head()
            except Exception as failure:
                print(f"no head: {failure!r}", file=sys.stderr)
        return data

    def follow_head(self):
        need(self.trust.check({"head": self.envelope("head.json")}, self.now)[0] is None, "a head that fails")
        self.note()

    def needs_head(self, manifest):
        """Whether a manifest is none of those of the stored head."""
        head = self.trust.head
        known = [(head["version"], head["digest"])] if head else []
        known += [(head["candidate"]["rollout"]["version"], head["candidate"]["digest"])] if head and head["candidate"] else []
        return not self.trust.root["off"] and (int(manifest["version"]), trust.digest(manifest["resourcemap"])) not in known

    def envelope(self, name):
        """Rule T-3: no more bytes than an envelope may have, and not more slowly than documents may come."""
        content, begun = b"", time.monotonic()
        with request(self.place(self.server) + name) as answer:
            while piece := answer.read1(1 << 14):
                content += piece
                need(len(content) <= trust.Envelope.SIZE and time.monotonic() - begun < 5, "too many bytes, or too slowly")
        return content

    def manifest(self, data):
        manifest = super().manifest(data)
        given = data.get("trust") if isinstance(data.get("trust"), dict) else {}
        offer = {"root": self.newest, "manifest": {"version": data["version"], "resourcemap": manifest}, "releases": given.get("releases", [])}
        offer |= {"head": given["head"]} if "head" in given else {}
        asks_first = "head" not in offer and not self.has_asked and self.newest <= self.trust.root["number"] and self.needs_head(offer["manifest"])
        if asks_first:  # what a copy keeps of a candidate has no head
            self.has_asked, self.refusal = True, "head-missing"
            self.follow_head()
        self.refusal, is_candidate, _ = self.trust.check(offer, self.now)
        if is_candidate and not asks_first:  # rule T-9
            self.refusal = "candidate"
            self.follow_head()
            self.refusal, is_candidate, _ = self.trust.check(offer, self.now)
        self.note()
        if is_candidate:
            rule = self.trust.head["candidate"]["rollout"]
            rule = rule | {"version": str(rule["version"])}
            rollout.check(rule)
            self.refusal = None if self.decide(rule) else "candidate"
        need(self.refusal is None, self.refusal)
        return manifest

    def proved(self):
        """Rule T-14: a page that is answered from the manifest in force has come up."""
        self.trust.proved()
        self.note()
