#!/usr/bin/env python3
"""A fleet behind two edges: fleet.py XCACHE [--devices N] [--compare N] [--interval S] [--ttl S] [--seed N]

Devices (load/fleet.c) poll through two Varnish in front of one origin, each in turn at one edge and the other. First few devices, then many:
the origin gets the same polls, at most one per key, TTL and edge. Then, with many, it publishes twice and uses the kill switch while both
edges are purged; starts the origin anew with a purge target where nobody listens, publishes again and lifts the kill. Counted
are the polls until 99 % see each change at each edge, devices that went back, and answers of another channel.
Exit code 1 if a bar is missed. Everything runs in real time; `make test-edge-fleet` runs it.
"""
import argparse, collections, json, os, struct, subprocess, sys, threading, time

import edges
from edges import Origin, Site, poll

POLL = struct.Struct("<QIIIIIBBBB")
FAILED, WENT_BACK, OTHERS = 2, 4, 8
# Seconds in which 99 % of polls see a change that was purged, and how late an edge is that wasn't told, beyond its TTL.
PURGED, STALE = 2.0, 20.0


class Watch:
    """Looks at the origin itself until a poll there shows a change: then devices could know."""

    def __init__(self, origin, seen):
        self.origin, self.seen, self.at = origin, seen, None
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            before = time.monotonic()
            try:
                if self.seen(poll(self.origin.port, "shop", "online", more="&preview=1")):
                    # Polls sent before this one had its answer may have been answered before the change.
                    self.at = before
                    return
            except OSError:
                pass
            time.sleep(0.01)

    def time(self):
        self.thread.join()
        if self.at is None:
            sys.exit("the origin never showed a change")
        return self.at


class Fleet:
    def __init__(self, program, work, name, count, origin, caches, interval, seconds, seed, held):
        self.record, self.count, self.interval = f"{work}/{name}.polls", count, interval
        lines = []
        left = count
        for app, channel, version, digest, share, stays in held:
            lines.append(f"{(number := int(count * share))} {app} {channel} {version} {digest} {stays}")
            left -= number
        app, channel, version, digest = held[0][:4]
        lines.append(f"{left} {app} {channel} {version} {digest} 0")
        self.log = open(f"{work}/{name}.log", "w+")
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [program, ",".join(str(cache.port) for cache in caches), str(int(interval * 1000)), str(seconds), self.record, str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.process.stdin.write("\n".join(lines) + "\n")
        self.process.stdin.close()

    def result(self):
        text = self.process.stdout.read()
        if self.process.wait() != 0:
            self.log.seek(0)
            sys.exit(f"the load program ended with {self.process.returncode}: {self.log.read()[:2000]}")
        with open(self.record, "rb") as file:
            self.polls = list(POLL.iter_unpack(file.read()))
        self.log.seek(0)
        return json.loads(text), self.log.read()

    def seen(self, at, until, sees, edge=None):
        """Seconds after `at` from which on 99 % of polls see a change, in bins of at least 200 polls, and the last poll that doesn't."""
        begin, end = at * 1e6, until * 1e6
        polls = [(p[0] - begin, sees(p)) for p in self.polls
                 if begin <= p[0] < end and p[7] == 0 and edge in (None, p[6]) and not p[8] & FAILED]
        polls.sort()
        width = max(0.1, 250 / max(1, len(polls) / (until - at))) * 1e6
        bins = collections.defaultdict(lambda: [0, 0])
        for moment, is_seen in polls:
            bins[int(moment // width)][is_seen] += 1
        late = [number for number, (no, yes) in bins.items() if yes < 0.99 * (no + yes)]
        last = max((moment for moment, is_seen in polls if not is_seen), default=0)
        return (max(late) + 1) * width / 1e6 if late else 0.0, last / 1e6, len(polls)


class Suite(edges.Suite):
    def __init__(self, options, work):
        super().__init__(options, work)
        self.program = edges.built(work, "fleet")
        self.origin = Origin(options.xcache, work, ttl=options.ttl)
        self.caches, self.logs = edges.edges("varnish", work, self.origin.port), []
        self.sites = {channel: Site(work, "shop", channel) for channel in ("online", "beta")}

    def end(self):
        for _, process in self.logs:
            process.terminate()
        super().end()

    def prepare(self):
        self.origin.start([cache.target() for cache in self.caches])
        self.logs = [edges.log_fetches(cache.start()) for cache in self.caches]
        self.versions = {}
        for channel, count in (("online", 6), ("beta", 3)):
            for _ in range(count):
                self.origin.publish("shop", channel, self.sites[channel].change())
                self.versions.setdefault(channel, []).append(self.origin.digest("shop", channel))

    def held(self):
        """What a fleet holds at first: the newest, that before, older ones, some that stay, and some that hold nothing."""
        online, beta = self.versions["online"], self.versions["beta"]
        return [("shop", "online", *online[-1], 0.78, 0), ("shop", "online", *online[-2], 0.10, 0),
                *(("shop", "online", *version, 0.01, 0) for version in online[-5:-2]),
                ("shop", "online", *online[-2], 0.02, 1), ("shop", "online", "-", "-", 0.01, 0), ("shop", "beta", *beta[-1], 0.05, 0)]

    def fetches(self):
        """What the edges asked the origin for: (when, edge, key)."""
        # Varnish writes wall time; the fleet's is the monotonic clock.
        offset = time.time() - time.monotonic()
        result = []
        for number, (path, _) in enumerate(self.logs):
            with open(path) as file:
                for line in file:
                    words = line.split()
                    # "-" is when there was no origin to ask.
                    if len(words) == 4 and words[0] != "-" and words[1].startswith("/configure.json"):
                        result.append((float(words[0]) - offset, number, (words[1], words[2])))
        return sorted(result)

    def calm(self, what, fleet, begin, end):
        """Polls at the origin in a time without a change."""
        inside = [fetch for fetch in self.fetches() if begin <= fetch[0] < end]
        counts, gaps, before = collections.Counter(), [], {}
        for moment, edge, key in inside:
            counts[edge, key] += 1
            if (edge, key) in before:
                gaps.append(moment - before[edge, key])
            before[edge, key] = moment
        most = (end - begin) / self.options.ttl + 1
        sent = sum(begin <= p[0] / 1e6 < end for p in fleet.polls)
        rate = len(inside) / (end - begin)
        print(f"{what}: {sent / (end - begin):,.0f} polls a second of {fleet.count:,} devices; at the origin {rate:.2f} a second, "
              f"{len(counts)} keys (edge, target, coding), at most {max(counts.values(), default=0)} of one in {end - begin:.0f} s, "
              f"shortest gap {min(gaps, default=0):.2f} s", flush=True)
        self.bar(f"{what}: at most one poll per key, TTL and edge", all(n <= most for n in counts.values())
                 and all(gap > self.options.ttl - 0.05 for gap in gaps))
        return rate, len(counts)

    def change(self, what, act, seen):
        """Does something to the channel; when polls at the origin show it."""
        watch = Watch(self.origin, seen)
        act()
        return what, watch.time()

    def release(self, what):
        before, _ = self.origin.digest("shop", "online")
        result = self.change(what, lambda: self.origin.publish("shop", "online", self.sites["online"].change()),
                             lambda data: int(data["version"]) > before)
        self.versions["online"].append(self.origin.digest("shop", "online"))
        version = before + 1
        return *result, lambda p: p[4] >= version

    def policy(self, what, word):
        before = int(poll(self.origin.port, "shop", "online", more="&preview=1").get("policy", 0))
        result = self.change(what, lambda: self.origin.run("policy", word, "--app", "shop"),
                             lambda data: int(data.get("policy", 0)) > before)
        return *result, lambda p: p[5] > before

    def fleet(self, name, count, seconds):
        return Fleet(self.program, self.work, name, count, self.origin, self.caches, self.options.interval, seconds, self.options.seed,
                     self.held())

    def until(self, moment):
        time.sleep(max(0, moment - time.monotonic()))

    def run(self):
        self.prepare()
        ttl, interval, window = self.options.ttl, self.options.interval, 4 * self.options.ttl
        # All have polled twice, at each edge, by then, and hold the newest.
        warm = 2.2 * interval + 3
        few = self.fleet("few", self.options.compare, int(warm + window + 2))
        few_sum, few_log = few.result()
        few_rate, few_keys = self.calm("few devices", few, few.begun + warm, few.begun + warm + window)

        changes = []
        seconds = int(warm + window + 15 + 15 + 15 + 10 + ttl + STALE + 10 + 10)
        many = self.fleet("many", self.options.devices, seconds)
        begin = many.begun + warm
        self.until(begin + window)
        for act in (lambda: self.release("release 1"), lambda: self.release("release 2"), lambda: self.policy("kill switch", "kill")):
            began = time.monotonic()
            changes.append((act(), PURGED, PURGED))
            self.until(began + 15)
        # From now on nobody purges the second edge.
        self.origin.end()
        self.origin.start([self.caches[0].target(), f"varnish:http://127.0.0.1:{edges.stage.port()}"])
        self.until(time.monotonic() + 3)
        late = ttl + STALE
        changes.append((self.release("release 3, second purge fails"), PURGED, late))
        self.until(time.monotonic() + 5)
        changes.append((self.policy("kill lifted, second purge fails", "resume"), PURGED, late))
        many_sum, many_log = many.result()
        last = time.monotonic()

        seconds = collections.Counter(int(fetch[0] - many.begun) for fetch in self.fetches() if fetch[0] >= many.begun)
        print(f"all polls at the origin meanwhile: {sum(seconds.values()):,} in {last - many.begun:.0f} s, at most {max(seconds.values())} in one "
              f"second, for {len(many.polls):,} of devices", flush=True)
        many_rate, many_keys = self.calm("many devices", many, begin, begin + window)
        self.bar("as many polls at the origin for many devices as for few", many_rate <= 1.2 * few_rate + 0.2,
                 f"{few_rate:.2f} and {many_rate:.2f} a second")
        ends = [change[0][1] for change in changes[1:]] + [last]
        for ((what, at, sees), first_bar, second_bar), until in zip(changes, ends):
            # Both of the last changes are looked at to the end.
            until = last if "fails" in what else until
            for edge, bar in ((0, first_bar), (1, second_bar)):
                seen, final, polls = many.seen(at, until, sees, edge)
                self.bar(f"{what}, {'second' if edge else 'first'} edge: 99 % of polls see it within {bar:.0f} s", seen <= bar,
                         f"{seen:.1f} s, the last poll that doesn't after {final:.1f} s; {polls:,} polls")
            seen, final, polls = many.seen(at, until, sees)
            print(f"       {what}, all polls: 99 % from {seen:.1f} s on", flush=True)
        for name, total, log in (("few", few_sum, few_log), ("many", many_sum, many_log)):
            print(f"{name}: {total['polls']:,} polls, {total['updates']:,} with an update, {total['older_said']} 'nothing new' with an older "
                  f"version, at most {total['late_us'] / 1000:.0f} ms late, {total['waited']} waiting, {total['sent_again']} sent again on a new connection", flush=True)
            self.bar(f"{name}: no device went back", total["went_back"] == 0, total["went_back"])
            self.bar(f"{name}: no answer of another channel, and one digest for a version", total["others"] == 0, total["others"])
            self.bar(f"{name}: no poll failed", total["failed"] + total["surplus"] == 0, total["failed"] + total["surplus"])
            if log:
                print(log[:2000])
        self.monotone(many)
        latencies = sorted(p[1] for p in many.polls)
        print(f"latency of polls: median {latencies[len(latencies) // 2] / 1000:.2f} ms, 99 % {latencies[len(latencies) * 99 // 100] / 1000:.2f} "
              f"ms; edges {', '.join(f'{edges.resident(cache):.0f} MB' for cache in self.caches)}; "
              f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")

    def monotone(self, fleet):
        """The same again from the record, not from what the load program thought: what each device holds only grows."""
        held, back = {}, 0
        for p in sorted(fleet.polls):
            back += p[3] < held.get(p[2], 0)
            held[p[2]] = p[3]
        self.bar("what each device holds only grows", back == 0, f"{len(held):,} devices")
        newest = self.versions["online"][-1][0]
        print(f"at the end {sum(p == newest for p in held.values()) / len(held):.1%} had polled with version {newest}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("xcache", type=os.path.abspath)
    parser.add_argument("--devices", type=int, default=20_000)
    parser.add_argument("--compare", type=int, default=2_000)
    parser.add_argument("--interval", type=float, default=30)
    parser.add_argument("--ttl", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    edges.measure(Suite, parser)


if __name__ == "__main__":
    main()
