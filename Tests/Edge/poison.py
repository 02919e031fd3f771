#!/usr/bin/env python3
"""Whether an edge can be made to lie: poison.py XCACHE [--edge varnish|nginx|haproxy] [--requests N] [--minutes M] [--seed N]

Sends N hostile requests (hostile.py, load/flood.c) through two edges in front of one origin that has two apps with two channels each, and one
with an open rollout. Beside them honest devices poll, hold manifests, apply patches, and take what was published meanwhile. What they are told must be of their
own app, channel and version, in a coding that they accept, decodable, right to the digest, never older than what they hold, and never
older than the edge may be. The hostile know the digests of versions that don't exist yet, from a twin of the origin.
Before and after, answers of edges and origin to the same requests are compared. Exit code 1 if anything is wrong.
"""
import argparse, collections, ctypes, ctypes.util, hashlib, http.client, json, os, random, re, shutil, socket, subprocess, sys, threading, time, zlib

import edges, hostile
from edges import Origin, Site, get

CHANNELS = [("shop", "online"), ("shop", "beta"), ("news", "online"), ("news", "beta"), ("news", "trial")]
# This one has an open rollout, and gets no release meanwhile: devices in it hold the candidate, others never see it.
TRIAL, BASE, CANDIDATE = 4, 3, 4
MARKS = [f"mark-{app}-{channel}-" for app, channel in CHANNELS]
MARK = re.compile(rb"mark-\w+?-\w+?-")
# What honest devices accept; some of it no device sends.
ACCEPTED = [None, "gzip", "zstd", "gzip, deflate, br, zstd", "identity", "gzip;q=0", "zstd;q=0, gzip;q=0.5", "gzip;q=0.5, zstd;q=1.0", "br"]


class Zstd:
    """The system's libzstd, which the load program is linked with, too."""
    library = None

    @classmethod
    def decode(cls, body):
        if cls.library is None:
            cls.library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
            cls.library.ZSTD_decompress.restype = ctypes.c_size_t
            cls.library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
        room = ctypes.create_string_buffer(4 << 20)
        size = cls.library.ZSTD_decompress(room, len(room), body, len(body))
        if size > len(room):
            raise ValueError("no zstd")
        return room.raw[:size]


def decoded(coding, body):
    if coding == "gzip":
        reader = zlib.decompressobj(31)
        text = reader.decompress(body)
        if not reader.eof or reader.unused_data:
            raise ValueError("half a gzip stream, or more than one")
        return text
    if coding == "zstd":
        return Zstd.decode(body)
    if coding not in (None, "", "identity"):
        raise ValueError(f"coding {coding!r}")
    return body


def accepts(accepted, coding):
    """RFC 9110 §12.5.3."""
    weights = {}
    for part in (accepted or "").split(","):
        name, _, weight = part.partition(";q=")
        weights[name.strip()] = float(weight or 1)
    return weights.get(coding, 0) > 0


def digest(resources):
    """That of the canonical resourcemap (docs/protocol.md §3)."""
    return hashlib.sha256(json.dumps(resources, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class Device:
    def __init__(self, number, dice):
        self.channel = number % len(CHANNELS)
        self.is_candidate = self.channel == TRIAL and dice.random() < 0.5
        self.edge, self.version, self.digest, self.resources = dice.randrange(2), 0, None, {}


class Honest(threading.Thread):
    """Devices that poll, `rate` times a second, until they are told to stop."""

    def __init__(self, suite, count, rate, seed):
        super().__init__(daemon=True)
        self.suite, self.rate, self.dice, self.over = suite, rate, random.Random(seed), threading.Event()
        self.devices = [Device(number, self.dice) for number in range(count)]
        self.connections = [None, None]
        self.counts, self.wrong, self.known, self.late = collections.Counter(), [], collections.defaultdict(dict), 0.0

    def run(self):
        due = time.monotonic()
        while not self.over.is_set():
            self.turn(self.dice.choice(self.devices))
            due = max(due + 1 / self.rate, time.monotonic() - 1)
            time.sleep(max(0, due - time.monotonic()))

    def fault(self, what, device, detail):
        self.counts["wrong"] += 1
        self.counts["wrong: " + what] += 1
        if self.counts["wrong: " + what] <= 3:
            self.wrong.append(f"{what}: {'/'.join(CHANNELS[device.channel])} with {device.version} at edge {device.edge}: {str(detail)[:400]}")

    def ask(self, device, target, accepted):
        """The answer's `data`, or nothing."""
        device.edge ^= 1
        for is_second in (False, True):
            connection = self.connections[device.edge]
            if connection is None:
                connection = self.connections[device.edge] = http.client.HTTPConnection("127.0.0.1", self.suite.caches[device.edge].port, timeout=15)
            try:
                connection.putrequest("GET", target, skip_accept_encoding=True)
                if accepted is not None:
                    connection.putheader("Accept-Encoding", accepted)
                connection.endheaders()
                answer = connection.getresponse()
                body = answer.read()
                break
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                self.connections[device.edge] = None
                # An idle connection may be closed; a new one may not.
                if is_second:
                    return self.fault("no answer", device, f"{target}: {error!r}")
        head, coding = str(answer.headers).encode("latin-1", "replace"), answer.getheader("Content-Encoding")
        if answer.status != 200:
            return self.fault("status", device, f"{target}: {answer.status} {body[:200]}")
        if coding is not None and not accepts(accepted, coding):
            return self.fault("a coding that wasn't asked for", device, f"{accepted!r}: {coding!r}")
        self.counts[f"coding {coding}"] += 1
        try:
            body = decoded(coding, body)
            data = json.loads(body)["data"]
        except (ValueError, KeyError, zlib.error) as error:
            return self.fault("not decodable", device, f"{accepted!r}, {coding!r}: {error!r} {body[:100]}")
        if b"evil" in head or b"evil" in body:
            return self.fault("what the hostile sent", device, head + body)
        if any(mark != MARKS[device.channel].encode() for mark in MARK.findall(body)):
            return self.fault("another channel's answer", device, f"{target}: {body}")
        for name in ("cdn-cache-control", "cache-tag", "surrogate-key", "surrogate-control", "set-cookie"):
            if answer.getheader(name) is not None:
                return self.fault("a field that is the edge's own", device, name)
        if answer.getheader("Cache-Control") != "no-cache":
            return self.fault("Cache-Control", device, answer.getheader("Cache-Control"))
        return data

    def turn(self, device):
        app, channel = CHANNELS[device.channel]
        pick = self.dice.random()
        known = self.known[device.channel, device.is_candidate]
        if pick < 0.05:
            device.version, device.digest, device.resources = 0, None, {}
        elif pick < 0.2 and known:
            # Set back to what a backup had.
            device.version = self.dice.choice(list(known))
            device.digest, device.resources = known[device.version]
        target = f"/configure.json?app={app}&channel={channel}"
        if device.version:
            target += f"&version={device.version}&digest={device.digest}"
        accepted, is_trial = self.dice.choice(ACCEPTED), device.channel == TRIAL
        must = self.suite.oldest(device.channel, time.monotonic())
        if is_trial:
            must = CANDIDATE if device.is_candidate else BASE
        end = "&candidate=1" if device.is_candidate else ""
        data = self.ask(device, target + "&patch=1" + ("&pack=1" if self.dice.random() < 0.5 else "") + end, accepted)
        self.counts["polls"] += 1
        if data and "pack" in data:
            if f"/{app}/pack/{device.version}-{data['version']}-" not in data["pack"]["download"]:
                return self.fault("another's pack", device, data)
            self.counts["packs"] += 1
            # This device can't use packs: the same again, at the same edge, which needn't have the same age.
            device.edge ^= 1
            data = self.ask(device, target + "&patch=1" + end, accepted)
        if not data:
            return
        version = int(data["version"])
        if is_trial and version != must:
            return self.fault("the rollout", device, f"{version}, not {must}: {data}")
        if version < must:
            self.fault("older than an edge may be", device, f"{version}, not {must}: {data}")
        if not is_trial and version < self.suite.newest[device.channel]:
            self.counts["stale"] += 1
        if not data["update"]:
            self.counts["nothing new"] += 1
            # "Nothing new" is for who has it, at the time of the answer.
            if device.version == 0 or version < device.version:
                self.fault("nothing new", device, data)
            return
        if version <= device.version:
            return self.fault("went back", device, data)
        if "patch" in data:
            if int(data["base"]) != device.version:
                return self.fault("a patch of another version", device, data)
            resources = {url: entry for url, entry in (device.resources | data["patch"]).items() if entry is not None}
            for url, entry in data["patch"].items():
                if entry is not None and url in device.resources:
                    resources[url] = {name: value for name, value in (device.resources[url] | entry).items() if value is not None}
            self.counts["patches"] += 1
        else:
            resources = data["resourcemap"]
            self.counts["whole"] += 1
        if any(MARKS[device.channel] not in url for url in resources):
            return self.fault("another channel's resources", device, list(resources)[:5])
        if digest(resources) != data["digest"] or self.suite.digests[device.channel].get(version, data["digest"]) != data["digest"]:
            return self.fault("digest", device, f"{version}: {data['digest']}")
        device.version, device.digest, device.resources = version, data["digest"], resources
        known[version] = (data["digest"], resources)


class Suite(edges.Suite):
    def __init__(self, options, work):
        super().__init__(options, work)
        self.dice = random.Random(options.seed)
        self.program = edges.built(work, "flood")
        self.origin = Origin(options.xcache, work, ttl=options.ttl)
        self.caches = edges.edges(options.edge, work, self.origin.port)
        self.sites = [Site(work, app, channel, files=12) for app, channel in CHANNELS]
        self.newest, self.digests, self.made = [0] * len(CHANNELS), [{} for _ in CHANNELS], [[] for _ in CHANNELS]

    def oldest(self, channel, moment):
        """The version that an answer to a poll of this moment has at least: purges may be lost, TTL and stale-while-revalidate not."""
        limit = moment - self.options.ttl - 20 - 2
        return max((version for version, at in self.made[channel] if at < limit), default=0)

    def publish(self, number, folder=None):
        app, channel = CHANNELS[number]
        version = self.origin.publish(app, channel, folder or self.sites[number].change())
        newest, text = self.origin.digest(app, channel)
        if newest != version:
            sys.exit(f"{app}/{channel} is at {newest}, not at {version}")
        self.digests[number][version] = text
        self.newest[number] = version
        self.made[number].append((version, time.monotonic()))

    def prepare(self):
        """Publishes, and lets a twin publish what will come."""
        # Nobody purges the second edge: what is kept there in vain stays as long as it can.
        purges = [self.caches[0].target()]
        self.origin.start(purges)
        for _ in range(BASE):
            for number in range(len(CHANNELS)):
                self.publish(number)
        self.origin.publish(*CHANNELS[TRIAL], self.sites[TRIAL].change(), "--rollout", "50%", "--ramp", "none")
        version, text = self.origin.digest(*CHANNELS[TRIAL], "&candidate=1")
        if version != CANDIDATE:
            sys.exit(f"the candidate is {version}")
        self.digests[TRIAL][version] = text
        self.origin.end()
        twin = Origin(self.options.xcache, self.work, "twin", self.options.ttl)
        shutil.copytree(self.origin.data, twin.data)
        twin.start()
        self.future, self.coming = [[] for _ in CHANNELS], []
        for turn in range(self.options.releases):
            number = turn % TRIAL
            folder = f"{self.work}/coming-{turn}"
            shutil.copytree(self.sites[number].change(), folder)
            twin.publish(*CHANNELS[number], folder)
            self.future[number].append(twin.digest(*CHANNELS[number]))
            self.coming.append((number, folder))
        twin.end()
        self.future[TRIAL].append((CANDIDATE + 1, "0" * 64))
        self.origin.start(purges)
        for cache in self.caches:
            cache.start()

    def tags(self):
        """Entity tags of other people's answers."""
        return sorted({get(self.origin.port, f"/configure.json?app={app}&channel={channel}", {"Accept-Encoding": coding})[1]["etag"]
                       for app, channel in CHANNELS for coding in ("gzip", "zstd", "identity")})

    def raw(self, port, text):
        """Status, fields and decoded body of one request, or nothing."""
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=3) as peer:
                peer.sendall(text)
                answer = http.client.HTTPResponse(peer, method="HEAD" if text.startswith(b"HEAD") else "GET")
                answer.begin()
                body = answer.read()
                coding = answer.getheader("Content-Encoding")
                # A part of a coded body can't be decoded.
                return answer.status, decoded(coding, body) if body and answer.status != 206 else body
        except (OSError, http.client.HTTPException, ValueError, zlib.error):
            return None, b""

    def compare(self, pool, count, what):
        """The same requests at an edge and at the origin: where both have an answer, it is the same one."""
        counts, differing = collections.Counter(), []
        for _ in range(count):
            request = pool.one()
            text = bytes(48 + self.dice.randrange(10) if b == 1 else b"0123456789abcdef"[self.dice.randrange(16)] if b == 2 else 97 + self.dice.randrange(26) if b == 3 else b
                         for b in request.text)
            if request.kind in ("purges of strangers", "malformed"):
                continue
            own, theirs = self.raw(self.origin.port, text), self.raw(self.dice.choice(self.caches).port, text)
            if own[0] == theirs[0] == 200:
                counts["the same" if own[1] == theirs[1] else "different"] += 1
                if own[1] != theirs[1] and b"/configure.json" in text.split(b"\n")[0]:
                    differing.append((request.kind, text, own, theirs))
                elif own[1] != theirs[1]:
                    counts["different, other documents"] += 1
            elif theirs[0] == 200:
                counts["only the edge answers"] += 1
            elif own[0] == 200:
                counts["only the origin answers"] += 1
            else:
                counts["neither answers"] += 1
        print(f"{what}: " + ", ".join(f"{n} {name}" for name, n in sorted(counts.items())), flush=True)
        for kind, text, own, theirs in differing[:5]:
            print(f"  {kind}: {text[:500]}\n    origin {own[1][:300]}\n    edge   {theirs[1][:300]}", flush=True)
        self.bar(f"{what}: edge and origin say the same", not differing, len(differing))

    def settled(self, what):
        """What edges keep for honest devices, each coding: byte for byte what the origin says."""
        differing = []
        for number, (app, channel) in enumerate(CHANNELS):
            for version, text in [(None, None), *self.digests[number].items()]:
                for more in ("&patch=1&pack=1", "&patch=1", "", "&patch=1&candidate=1"):
                    held = f"&version={version}&digest={text}" if version else ""
                    target = f"/configure.json?app={app}&channel={channel}{held}{more}"
                    for coding in ("gzip", "zstd", "identity"):
                        status, head, own = get(self.origin.port, target, {"Accept-Encoding": coding})
                        for cache in self.caches:
                            answer = get(cache.port, target, {"Accept-Encoding": coding})
                            if (status, head.get("etag"), own) != (answer[0], answer[1].get("etag"), answer[2]):
                                differing.append((target, coding, own[:200], answer[0], answer[2][:200]))
        for one in differing[:5]:
            print("  ", *one)
        self.bar(f"{what}: what edges keep is what the origin says", not differing, len(differing))

    def run(self):
        options = self.options
        self.prepare()
        held = [list(known.items()) for known in self.digests]
        pool = hostile.Hostile(CHANNELS, held, self.future, self.tags(), options.seed)
        self.compare(pool, options.compare, "before")
        pool.file(f"{self.work}/requests", options.pool)
        honest = Honest(self, 200, options.honest, options.seed)
        honest.start()
        time.sleep(2)
        log = open(f"{self.work}/flood.log", "w+")
        flood = subprocess.Popen(
            [self.program, ",".join(str(cache.port) for cache in self.caches), f"{self.work}/requests", str(options.requests), str(options.minutes * 60),
             str(options.connections), str(options.seed), ",".join(MARKS)], stdout=subprocess.PIPE, stderr=log, text=True)
        # A release each time another share of the requests, or of the time, is done.
        steps, last, told = len(self.coming) + 1, {}, 0
        for line in flood.stdout:
            last = json.loads(line)
            if "done" not in last:
                break
            done = max(last["done"] / options.requests, last["seconds"] / (options.minutes * 60))
            while self.coming and done * steps >= options.releases - len(self.coming) + 1:
                number, folder = self.coming.pop(0)
                self.publish(number, folder)
                if (self.newest[number], self.digests[number][self.newest[number]]) not in self.future[number]:
                    self.bar("the twin knew what would come", False, CHANNELS[number])
            if last["seconds"] > told + 60:
                told = last["seconds"]
                print(f"  {last['done']:,} after {told:.0f} s; {honest.counts['polls']:,} honest polls, {honest.counts['wrong']} wrong; "
                      f"edges {', '.join(f'{edges.resident(cache):.0f} MB' for cache in self.caches)}", flush=True)
        code = flood.wait()
        for number, folder in self.coming:
            self.publish(number, folder)
        self.coming.clear()
        time.sleep(3)
        honest.over.set()
        honest.join(20)
        counts = honest.counts
        print(f"hostile, {options.edge}: {last.get('answered', 0):,} answered, {last.get('closed', 0):,} connections closed, {last.get('timeouts', 0):,} given up in "
              f"{last.get('seconds', 0):.0f} s, {(last.get('answered', 0) + last.get('closed', 0)) / max(1, last.get('seconds', 1)):,.0f} a second; "
              f"statuses {last.get('statuses')}")
        print(f"honest: {counts['polls']:,} polls, " + ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items()) if name != "polls")
              + f"; {options.releases} releases; versions at the end {self.newest}")
        log.seek(0)
        words = log.read()
        self.bar("no answer to the hostile has another channel's marks, what they sent, or a coding that can't be decoded", code == 0 and last.get("answered", 0) > 0,
                 {name: last.get(name) for name in ("others", "undecodable", "surplus", "reflected")})
        if code:
            print(words[:8000])
        self.bar("every honest answer is right", counts["wrong"] == 0 and counts["polls"] > 0, counts["wrong"])
        for one in honest.wrong:
            print("  " + one)
        # What wasn't purged has ended then.
        time.sleep(options.ttl + 21)
        self.settled("after")
        pool = hostile.Hostile(CHANNELS, [list(known.items()) for known in self.digests], [[(newest + 1, "0" * 64)] for newest in self.newest], self.tags(), options.seed + 1)
        self.compare(pool, options.compare, "after")
        self.bar("the origin lives", self.origin.process.poll() is None)
        self.bar("the edges live", all(cache.process.poll() is None for cache in self.caches))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("xcache", type=os.path.abspath)
    parser.add_argument("--edge", choices=("varnish", "nginx", "haproxy"), default="varnish")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--releases", type=int, default=8)
    parser.add_argument("--honest", type=float, default=150, help="honest polls a second")
    parser.add_argument("--compare", type=int, default=500, help="requests that are compared with the origin's answers")
    parser.add_argument("--pool", type=int, default=50_000, help="requests that are told apart by more than digits")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--ttl", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    edges.measure(Suite, parser)


if __name__ == "__main__":
    main()
