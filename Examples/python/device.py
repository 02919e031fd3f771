#!/usr/bin/env python3
"""A minimal device in Python: polls, patches, packs, deltas and the static copy. It needs the package zstandard.

It was written from docs/protocol.md alone and runs the conformance cases: docs/conformance.md. It leaves out policy, prefetch
calls, presets, reports, ranges and CORS; a request that it can't answer goes to the network. wire.py reads what comes from the
network; docs/vectors/decoder.py decodes it.
"""
import base64
import hashlib
import json
import os
import random
import sys
import urllib.parse

sys.dont_write_bytecode = True
from wire import FAILURES, check_manifest, fetch, is_of, need, number, read_answer, resume  # noqa: E402
from decoder import (  # noqa: E402
    HEADERS, Fault, Number, apply_pack, canonical, decode_dcz, digest, match_key, merge, parse_json)


class Device:
    def __init__(self, now, settings):
        self.now, self.settings, self.folder = now, settings, settings["folder"]
        os.makedirs(self.folder + "/files", exist_ok=True)
        self.notes = {"version": "0", "map": None, "polled": None, "interval": 30, "failures": 0, "back": 0, "pack": None}
        if os.path.exists(self.folder + "/notes"):
            with open(self.folder + "/notes", "rb") as file:
                self.notes = json.load(file)
        self.map = parse_json(self.notes["map"]) if self.notes["map"] else None

    def write(self, name, content):
        with open(f"{self.folder}/{name}.new", "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{self.folder}/{name}.new", f"{self.folder}/{name}")

    def note(self, **changes):
        self.notes.update(changes)
        self.write("notes", json.dumps(self.notes).encode())

    def store(self, content):
        self.write("files/" + hashlib.sha256(content).hexdigest(), content)

    def get(self, sha256):
        """The bytes of a file, if they are here and correct. (The decoder calls this, too: the device is its `files`.)"""
        try:
            with open(f"{self.folder}/files/{sha256}", "rb") as file:
                content = file.read()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == sha256 else None

    def trigger(self):
        polled, now = self.notes["polled"], self.now
        if polled is not None and 0 <= now - polled < 1000 * self.notes["interval"]:
            return
        self.note(polled=now)
        try:
            if self.settings.get("fallback") and self.notes["failures"] >= 5 and now < self.notes["back"] <= now + 720_000:
                return self.follow()
            data = self.ask("patch", "pack")
        except FAILURES:
            failures = self.notes["failures"] + 1
            wait = min(30 * 2 ** min(max(0, failures - 5), 9), 600) * random.uniform(0.8, 1.2)
            return self.note(failures=failures, back=now + 1000 * wait)
        self.note(failures=0, interval=min(max(number(data.get("interval", Number(30))), 30), 3600))
        try:
            self.update(data)
        except FAILURES as failure:
            print(f"no update: {failure!r}", file=sys.stderr)

    def ask(self, *forms):
        query = {"app": self.settings["app"], "channel": self.settings["channel"]}
        if self.map is not None and forms:
            query |= {"version": self.notes["version"], "digest": digest(self.map).hex()}
        query |= {"patch": 1} | ({"pack": 1} if "pack" in forms and self.map is not None else {})
        return fetch(f"{self.settings['server']}/configure.json?{urllib.parse.urlencode(query)}", read_answer)

    def update(self, data):
        """Follows an answer of the origin: a pack that is of no use gives way to a patch, a patch to the whole manifest."""
        while data["update"]:
            try:
                new = self.manifest(data)
            except Fault:
                need("pack" in data or "patch" in data, "a manifest that can't be used")
                data = self.ask(*(["patch"] if "pack" in data else []))
            else:
                return self.switch(data, new)

    def follow(self):
        """Polls the static copy."""
        space = "xcache" if self.settings["channel"] == "online" else "xcache_" + self.settings["channel"]
        folder, held = f"{self.settings['fallback']}/{space}/{self.settings['app']}/", self.notes["version"]
        try:
            newest = fetch(folder + "version.json", read_answer)["version"]
        except FAILURES:
            return
        steps = [f"update/{held}-{newest}.json", f"patch/{held}-{newest}.json"] if self.map is not None else []
        for step in steps + ["configure.json"] if int(newest) > int(held) else []:
            try:
                data = fetch(folder + step, read_answer)
                return self.switch(data, self.manifest(data)) if int(data["version"]) > int(held) else None
            except FAILURES:
                continue

    def manifest(self, data):
        """The resourcemap that an answer leads to."""
        if "pack" in data or "patch" in data:
            need(self.map is not None and data["base"] == self.notes["version"], "another base")
        try:
            if "pack" in data:
                url, tag = data["pack"]["download"], self.notes["pack"]
                pack = resume(url, self.folder + "/pack", number(data["pack"]["size"]), tag[1] if tag and tag[0] == url else None,
                              lambda tag: self.note(pack=[url, tag]))
                new = apply_pack(pack, data, self.map, self, keep=self.store)[0]
            else:
                new = merge(self.map, data["patch"]) if "patch" in data else data["resourcemap"]
                need(digest(new).hex() == data["digest"], "another digest")
            check_manifest(new, self.settings["hosts"])
            return new
        except FAILURES as failure:
            raise Fault(str(failure)) from failure

    def switch(self, data, new):
        """Fetches the files that changed, then moves to the new manifest in one step."""
        for url, entry in new.items():
            changed = self.map is None or url not in self.map or self.map[url]["sha256"] != entry["sha256"]
            if changed and self.ours(url) and self.get(entry["sha256"]) is None:
                self.load(entry, data.get("deltas", {}).get(url))
        self.note(version=data["version"], map=canonical(new), pack=None)
        self.map = new

    def load(self, entry, delta=None):
        def take(content):
            need(len(content) == int(entry["size"]) and hashlib.md5(content).hexdigest() == entry["md5"]
                 and hashlib.sha256(content).hexdigest() == entry["sha256"], "other bytes")
            self.store(content)
        try:
            over = self.get(delta["base"])
            need(over is not None, "no base")
            fetch(delta["download"], lambda body: take(decode_dcz(body, over)), limit=number(delta["size"]))
        except FAILURES:
            fetch(entry["download"], take, tries=3, limit=int(entry["size"]))

    def ours(self, url):
        return is_of(url, self.settings["hosts"])

    def request(self, url, method="GET", headers={}, mode=None, **_):
        entry = next((entry for listed, entry in (self.map or {}).items() if match_key(listed) == match_key(url)), None)
        unanswered = {"range", "if-match", "if-none-match", "if-unmodified-since", "authorization"}
        if not entry or not self.ours(url) or method != "GET" or mode == "cors" or unanswered & {n.lower() for n in headers}:
            return {"answer": "network"}
        if self.get(entry["sha256"]) is None:
            try:
                self.load(entry)
            except FAILURES:
                return {"answer": "network"}
        fields = [[name, value] for name, value in entry.get("headers", {}).items() if name.lower() in HEADERS]
        fields += [["Content-Type", entry["ctype"]], ["Content-Length", str(entry["size"])], ["ETag", f'"{entry["md5"]}"'],
                   ["X-Content-Type-Options", "nosniff"]]
        body = base64.b64encode(self.get(entry["sha256"])).decode()
        return {"answer": "local", "status": 200, "headers": fields, "body": body}

    def state(self):
        files = {url: entry["sha256"] for url, entry in (self.map or {}).items()
                 if self.ours(url) and self.get(entry["sha256"]) is not None}
        return {"version": self.notes["version"], "digest": digest(self.map or {}).hex(), "policy": "0", "prefetch": "0",
                "files": files}


def main():
    device, pages = None, 0
    for line in sys.stdin:
        command, answer = json.loads(line), {}
        do = command.pop("do")
        if do == "open":
            device = Device(command["now"], command["settings"])
        elif do == "advance":
            device.now += command["milliseconds"]
        elif do == "trigger":
            device.trigger()
        elif do == "pageOpen":
            pages += 1
            answer = {"page": pages}
        elif do in ("request", "state"):
            answer = getattr(device, do)(**command)
        elif do in ("prefetch", "script"):
            answer = {"requests": [], "script": None}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
