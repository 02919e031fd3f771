"""The minimal device with more of the protocol: the static copy, deltas, coded bodies, retries, rollouts, and manifests that are checked."""
import contextlib, http.client, os, pathlib, random, re, shutil, sys, time, zlib
import urllib.error, urllib.parse

import rollout, routes
from device import HEADERS, LIMIT, Device, Reader, need, read, read_answer, request

MEMBERS = {"ctype": "[ -~]+", "download": "[!-~]+", "md5": "[0-9a-f]{32}", "sha256": "[0-9a-f]{64}", "version": "[1-9][0-9]*"}
URL = re.compile(r"https?://(?=[^/:]*[a-z0-9])[a-z0-9._~-]+(:(?!0)\d{1,5})?/[^\s\"#<>\\`{}\x7f-\U0010ffff]*")
NOT_SERIALISED = re.compile(r"http://[^/]*:80/|https://[^/]*:443/|[^?]*/(\.|%2[eE]){1,2}(/|\?|$)")
FAILURES = (OSError, EOFError, ValueError, http.client.HTTPException, zlib.error)
FINAL = set(range(400, 500)) - {408, 429}


class CompleteDevice(Device):
    def __init__(self, settings):
        super().__init__(settings)
        made = {"install": os.urandom(16).hex(), "rule": None, "in": False, "left": None, "candidate": None}  # of rollouts
        self.notes = {"failures": 0, "back": 0, "answer": [None, None, None], "later": []} | made | self.notes
        self.taken, self.may_turn = None, True
        with contextlib.suppress(OSError):  # rule R-1: kept from the first start
            self.note()
        self.deltas, self.coding, self.coded, self.polling, self.unjudged = {}, "gzip", False, False, [None, None, None]

    def clear(self, name):
        """Rule D-138: removes what is in place of a file, be it a folder."""
        path = self.folder / name
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)

    def write(self, name, content):
        for path in "new", name:
            if not (self.folder / path).is_file():
                self.clear(path)
        super().write(name, content)

    def note(self, **changes):
        """Rules R-5 and D-176: in one step with the manifest, by which rollout it was taken, and what it leaves for later."""
        super().note(**changes, **({"candidate": self.taken, "later": self.later} if "map" in changes else {}))

    def poll(self, now):
        """Rules D-10 to D-16: five failures lead to the static copy; the origin is asked again after longer and longer waits."""
        polled, self.may_turn, self.parameters = self.notes["polled"], True, {"candidate": 1} if self.notes["in"] else {}
        if polled is not None and 0 <= now - polled < 1000 * self.notes["interval"]:
            return
        if self.settings.get("fallback") and self.notes["failures"] >= 5 and now < self.notes["back"] <= now + 720_000:
            self.note(polled=now)
            self.follow()
        else:
            self.polling = True
            super().poll(now)
        self.catch_up()

    def ask(self, pack=False, whole=False):
        """Asks the origin. Only the first question of a poll counts as failed or good: what is asked because of its answer doesn't."""
        polling, self.polling = self.polling, False
        if polling:  # rule D-16: it has failed until it is answered, since a process that ends can't say so
            failures = self.notes["failures"] + 1
            wait = min(30_000 * 2 ** min(max(0, failures - 5), 9), 600_000) * random.uniform(0.8, 1.2)
            self.note(failures=failures, back=self.notes["polled"] + wait)
        data = self.heard(self.settings["server"], self.ask_coded(pack, whole))
        if rule := data.get("rollout"):
            rollout.check(rule)
        if polling:
            self.note(failures=0)
        if rule is None:
            self.taken = None
            self.note(rule=None, **{"in": False})
            return data
        is_in = self.decide(rule)  # rules
        if is_in == (data["version"] == rule["version"]):
            self.taken = rule["seed"] if is_in else None
            return data
        if not self.may_turn:
            return data | {"update": False}
        self.may_turn, self.parameters = False, {"candidate": 1} if is_in else {}
        return self.ask(pack, whole)

    def heard(self, server, data):
        """An answer to a poll, and whose it is: trusted.py adds to this."""
        return data

    def decide(self, rule):
        notes, settings = self.notes, self.settings
        left = notes["left"] if notes["left"] == rule["seed"] else None  # rule R-9
        is_in = left is None and rollout.is_in(
            rule, notes["install"], settings.get("appVersion"), settings.get("groups") or (), notes["candidate"])
        self.note(rule=rule, left=left, **{"in": is_in})
        return is_in

    def goes_back(self, rule, is_in):
        """Rules R-6, R-7 and R-9: whether it holds a candidate that it has to leave for the copy's full version, though that is lower."""
        asked = rule or self.notes["rule"]
        holds = asked is not None and self.notes["candidate"] == asked["seed"]
        outside = asked is not None and "app" in asked and not rollout.lies_in(self.settings.get("appVersion"), asked["app"])
        return holds and (not is_in if rule else outside)

    def leave_candidate(self):
        rule = self.notes["rule"]
        self.note(left=rule["seed"] if rule else self.notes["candidate"], **{"in": False})

    def ask_coded(self, pack, whole):
        """Rule D-7: an answer that was coded, and can't be used, is asked for once more without a coding."""
        try:
            self.coding = "gzip"
            return super().ask(pack, whole)
        except Exception:
            self.coding = "identity"
            need(self.coded, "no answer")
            return super().ask(pack, whole)

    def place(self, server):
        space = "xcache" if self.settings["channel"] == "online" else "xcache_" + self.settings["channel"]
        return f"{server.rstrip('/')}/{space}/{self.settings['app']}/"

    def follow(self):
        """Section 10."""
        held, copy = self.notes["version"], self.place(self.settings["fallback"])
        small = self.heard(self.settings["fallback"], read_answer(self.fetch(copy + "version.json")))
        if rule := small.get("rollout"):
            rollout.check(rule)
        is_in = rule is not None and self.decide(rule)
        newest, back = rule["version"] if is_in else small["version"], self.goes_back(rule, is_in)
        self.taken = rule["seed"] if is_in else None
        steps = [f"update/{held}-{newest}.json", f"patch/{held}-{newest}.json"] if held != "0" and not back else []
        steps.append(f"configure/{newest}.json" if is_in else "configure.json")
        for step in steps if back or int(newest) > int(held) else []:
            try:
                data = read_answer(self.fetch(copy + step))
                need(not is_in or data["version"] == newest, "another version than the candidate")
                return self.switch(data, self.manifest(data)) if back or int(data["version"]) > int(held) else None
            except Exception as failure:
                print(f"{step}: {failure!r}", file=sys.stderr)

    def manifest(self, data):
        manifest = super().manifest(data)
        self.check(manifest)
        return manifest

    def check(self, manifest):
        """Sections 3 and 4, and the rules D-21 to D-25."""
        names = {}
        for url, entry in manifest.items():
            need(URL.fullmatch(url) and not NOT_SERIALISED.match(url) and len(url) <= 4096, "a URL that can't be")
            need(all(re.fullmatch(form, entry[member]) for member, form in MEMBERS.items()), "a member that can't be")
            need(type(entry["size"]) is int and 0 <= entry["size"] < 2**53 and int(entry["version"]) < 2**53, "a number that can't be")
            headers = [(name.lower(), value) for name, value in entry.get("headers", {}).items() if HEADERS.fullmatch(name)]
            need(len(dict(headers)) == len(headers), "a header twice")
            need(all(re.fullmatch("[!-~]([ -~]{0,8190}[!-~])?", value) for _, value in headers), "a header that can't be sent")
            need(entry.get("lazy", True) is True, "lazy, or not")
            if "fallback" in entry:
                routes.check(entry["fallback"], need)
            if self.is_ours(url):
                need(re.fullmatch(r"https?://[^/?#@]+/[^?#]*", entry["download"]), "a download that can't be")
                name = urllib.parse.unquote(entry["download"].rsplit("/", 1)[1], errors="strict")
                need(0 < len(name.encode()) <= 255 and not {"/", "\0"} & set(name) and name not in (".", ".."), "a name that can't be")
                need(names.setdefault(name, entry["sha256"]) == entry["sha256"], "two files of one name")

    def switch(self, data, manifest):
        self.note(answer=self.unjudged)  # a manifest that can be used
        self.deltas = {manifest[url]["sha256"]: delta for url, delta in data.get("deltas", {}).items() if url in manifest}
        self.later = [url for url, entry in self.notes["map"].items() if url in self.notes["later"] or (
            "lazy" in manifest.get(url, {}) and manifest[url]["sha256"] != entry["sha256"] and self.is_ours(url) and self.held(entry) is not None)]
        super().switch(data, manifest)

    def catch_up(self):
        """Rule D-176: lazy files that changed, and were here, come after the switch; what fails waits for the next poll."""
        for url in [*self.notes["later"]]:
            with contextlib.suppress(*FAILURES):
                if "lazy" in self.notes["map"].get(url, {}):
                    self.file(self.notes["map"][url])
                self.note(later=[one for one in self.notes["later"] if one != url])

    def file(self, entry):
        """Section 7 and rule D-54: a delta where there is one, then up to three downloads, the first of which may be coded."""
        delta = self.deltas.pop(entry["sha256"], None)
        if delta and self.held(entry) is None:
            try:
                self.write("files/" + entry["sha256"], self.decode(delta, entry))
            except Exception as failure:
                print(f"a delta of no use: {failure!r}", file=sys.stderr)
        cause = None
        for self.coding in ("gzip", "identity", "identity"):
            try:
                return super().file(entry)
            except FAILURES as failure:
                if not self.coded and (isinstance(failure, ValueError) or getattr(failure, "code", 500) in FINAL):
                    raise
                cause = failure
                time.sleep(0.02)
        raise ConnectionError(f"{entry['download']} can't be fetched: {cause!r}")

    def decode(self, delta, entry):
        base = self.held({"sha256": delta["base"]})
        need(base is not None and type(delta["size"]) is int, "no base")
        content = self.fetch(delta["download"], delta["size"])
        need(content[:44] == b"\x5e\x2a\x4d\x18\x20\0\0\0" + bytes.fromhex(delta["base"]) + b"\x28\xb5\x2f\xfd", "no delta over this base")
        return Reader(content[44:]).frame(len(content), bytes.fromhex(entry["sha256"])[:8], base, entry["size"])

    def fetch(self, url, size=None):
        kept = self.notes["answer"]  # rule D-56: the URL, the tag and the text of the last answer
        tag = {"If-None-Match": kept[1]} if kept[0] == url and self.coding == "gzip" else {}
        try:
            answer = request(url, {"Accept-Encoding": self.coding, **tag})
        except urllib.error.HTTPError as failure:
            if failure.code == 304:
                self.coded, self.unjudged = False, kept
                return kept[2].encode()
            raise
        with answer:
            self.coded = answer.headers["Content-Encoding"] == "gzip"
            limit, decoder = LIMIT if size is None else size, zlib.decompressobj(31)
            content = read(answer, size, (lambda piece: decoder.decompress(piece, limit + 1)) if self.coded else bytes)
            need(answer.status == 200 and len(content) <= limit, "another status, or too many bytes")
            if not (decoder.eof if self.coded else answer.headers.get("Content-Length") in (None, str(len(content)))):
                raise ConnectionError("a torn body")
            if "configure" in url and answer.headers["ETag"]:
                self.unjudged = [url, answer.headers["ETag"], content.decode(errors="replace")]
            return content

    def answer(self, url):
        """Section 4: the first of the URLs that match."""
        return super().answer(self.listed(url))

    def listed(self, url):
        return next((listed for listed in self.notes["map"] if match_key(listed) == match_key(url)), None)

    def page(self, url, method="GET", destination="document", headers={}):
        """The listed URL whose file answers a request: rule D-72, and those of routes.py; None: the network has to answer."""
        listed = self.listed(url)
        if listed is None and destination in ("document", "frame"):
            listed = self.listed(url.split("#")[0].split("?")[0])
        if listed is None and self.is_ours(url) and routes.navigates(method, destination, headers):
            listed = routes.page(url, self.notes["map"], match_key)
        return listed


def match_key(url):
    """What is equal for two URLs that match."""
    def decoded(escape):
        character = chr(int(escape[1], 16))
        return character if " " <= character <= "~" and character not in "%/?#\\&=+;" else escape[0]
    return re.sub("%([0-9A-Fa-f]{2})", decoded, url.split("#")[0])
