#!/usr/bin/env python3
"""The edges of deploy/edge in front of a real origin, on this machine's loopback.   run.py XCACHE [varnish] [nginx] [haproxy]

What each case is and what happens is in README.md. Each edge has an origin of its own, and they run side by side."""
import contextlib, concurrent.futures, itertools, os, pathlib, random, socket, subprocess, sys, tempfile, time, traceback

import cases, stage
from stage import ask, secret, send

ttl = 10
# What the recorder puts in place of the origin's numbers. nginx counts in whole seconds.
short = "max-age=1, stale-while-revalidate=3, stale-if-error=9"
long = "max-age=50, stale-while-revalidate=20, stale-if-error=60"
channels = [("shop", "online"), ("shop", "test"), ("other", "online")]


def brief(answer):
    """An answer for a message; None if there was none."""
    return answer and (answer.status, answer.body[:90])


class Checks:
    """The checks of one edge."""

    def __init__(self, edge, origin, recorder):
        self.edge, self.origin, self.recorder = edge, origin, recorder
        self.failures, self.count = [], 0
        self.random = random.Random(7)

    def check(self, good, words):
        self.count += 1
        if not good:
            self.failures.append(words)
            print(f"   {self.edge.name}: FAILED: {words}", flush=True)

    def poll(self, query, headers=(), **more):
        """A poll at the edge; `query` without its question mark."""
        return ask(self.edge.port, "/configure.json" + (f"?{query}" if query else ""), headers, **more)

    def direct(self, query, coding="identity"):
        """The same at the origin."""
        return ask(self.origin.port, "/configure.json" + (f"?{query}" if query else ""), [f"Accept-Encoding: {coding}"])

    @contextlib.contextmanager
    def at_most(self, polls, words, exactly=False):
        """What is in it causes so many polls at the origin."""
        mark = len(self.recorder.requests)
        yield
        found = len(self.recorder.polls(mark))
        self.check(found == polls if exactly else found <= polls, f"{words}: {found} polls at the origin, not {polls}")

    def purge(self, *name):
        status = self.edge.purge(*(name or ("shop",)))
        self.check(status == 200, f"a purge: {status}")

    def fresh(self):
        """Nothing is kept, everything works, and what is kept from now on stays for the next test."""
        self.recorder.mode, self.recorder.delay, self.recorder.lifetime = "ok", 0.0, long
        for name in channels:
            self.purge(*name)

    def query(self, app="shop", channel="online", version=None):
        """A query like a device's, which holds `version` or the newest."""
        version = version or self.versions[app, channel]
        return f"app={app}&channel={channel}&version={version}&digest={self.digests[app, channel, version]}&patch=1&pack=1"

    def release(self, app="shop", channel="online"):
        version = self.origin.release(app, channel)
        self.versions[app, channel] = version
        self.digests[app, channel, version] = self.origin.digest(app, channel)
        return version

    def prepare(self):
        self.versions, self.digests = {}, {}
        for app, channel in channels:
            self.release(app, channel)
        self.release()
        # With what the recorder asks itself, no test has to think of what is made on demand.
        for name in channels:
            self.direct(self.query(*name))

    # MARK: - The key

    def keys(self):
        self.fresh()
        query = self.query()
        good = self.direct(query)
        self.check(good.status == 200 and not good.document["data"]["update"], "the origin has nothing new")
        items = query.split("&")
        with self.at_most(1, "one query in any order, with junk"):
            for n in range(60):
                mixed = self.random.sample(items, len(items)) + self.random.sample(cases.junk, n % 4)
                self.random.shuffle(mixed)
                some = self.random.choice(cases.fields)
                answer = self.poll("&".join(mixed), some)
                self.check(answer and (answer.same(good) or answer.status == 400 and "Connection" in str(some)),
                           f"{mixed}, {some}: {brief(answer)}")
            for some in cases.fields:
                for host in cases.hosts:
                    answer = self.poll(query, some, host=host)
                    self.check(answer and (answer.same(good) or answer.status == 400), f"{some}, Host: {host}: {answer and answer.status}")
        mark = len(self.recorder.requests)
        everything = ["Accept-Encoding: gzip", *itertools.chain(*(f for f in cases.fields if "Connection" not in str(f)))]
        self.poll(query, everything)
        self.purge()
        self.poll(query, everything)
        allowed = {"host", "accept-encoding", "x-varnish", "xcache-poll", "xcache-coding", "via", "connection", "if-none-match", "x-a",
                   "te", "x-forwarded-prefix", "x-cache-key"}
        for method, target, fields in self.recorder.polls(mark):
            self.check(target == "/configure.json?" + query, f"the origin was asked for {target}")
            self.check(fields["host"] == "origin.example.com", f"the origin is called {fields['host']}")
            self.check(not set(fields) - allowed, f"the origin got {sorted(set(fields) - allowed)}")

    def repeated(self):
        """The first of a name counts, as at the origin; what no device sends is the origin's business, and isn't kept."""
        self.fresh()
        for query in cases.odd + cases.apart:
            wanted = self.direct(query)
            for _ in range(2):
                answer = self.poll(query)
                self.check(answer and (answer.same(wanted) or "#" in query), f"{query}: {brief(answer)}, not {brief(wanted)}")
        for query in cases.apart:
            with self.at_most(2, f"{query} isn't kept", exactly=True):
                self.poll(query)
                self.poll(query)
        for size in (500, 990, 1500, 6000, 7500, 60_000):
            wanted = self.direct("app=shop&version=" + self.versions["shop", "online"])
            answer = self.poll("x=" + "y" * size + "&app=shop&version=" + self.versions["shop", "online"])
            self.check(answer is None or answer.same(wanted) or answer.status in (400, 414), f"a query of {size}: {brief(answer)}")

    def coded(self):
        """No device gets a coding that it doesn't take."""
        self.fresh()
        query = "app=shop"
        with self.at_most(3, "three answers for all kinds of Accept-Encoding"):
            for value, coding in cases.codings.items():
                answer = self.poll(query, [f"Accept-Encoding: {value}"] if value else [])
                found = answer.fields.get("content-encoding", "identity")
                self.check(found == coding, f"Accept-Encoding: {value!r}: {found}, not {coding}")
                self.check(answer.same(self.direct(query, coding)), f"Accept-Encoding: {value!r}: other bytes than the origin's")
                self.check(answer.fields.get("vary") == "Accept-Encoding", f"Vary: {answer.fields.get('vary')}")

    def heads(self):
        self.fresh()
        query = self.query()
        good = self.direct(query)
        for first, second in (("HEAD", "GET"), ("GET", "HEAD")):
            self.purge()
            for method in (first, second, first):
                answer = self.poll(query, method=method)
                self.check(answer.status == 200 and answer.body == (good.body if method == "GET" else b"")
                           and answer.fields["etag"] == good.fields["etag"], f"{method} in {first}, {second}")
                length = answer.fields.get("content-length")
                self.check(length in (str(len(good.body)), None), f"{method}: {length} bytes")
        for tag, status in ((good.fields["etag"], 304), (f"W/{good.fields['etag']}", 304), ('"other"', 200), ("*", 304),
                            (f'"a", {good.fields["etag"]}', 304)):
            answer = self.poll(query, [f"If-None-Match: {tag}"])
            # A device sends the one tag that it was given; what an edge doesn't compare gets the whole answer.
            self.check(answer.status == status or (answer.same(good) and tag != good.fields["etag"]), f"If-None-Match: {tag}: {answer.status}")
            self.check(answer.status != 304 or answer.fields.get("etag") == good.fields["etag"], "the tag of a 304")
        self.purge()
        self.check(self.poll(query, [f"If-None-Match: {good.fields['etag']}"]).status in (200, 304), "If-None-Match first")
        self.check(self.poll(query).same(good), "a poll after a conditional one that nothing was kept for")
        answer = self.poll(query, version="1.0")
        self.check(answer.same(good), f"HTTP/1.0: {answer.status}")
        answer = send(self.edge.port, f"GET /configure.json?{query} HTTP/1.0\r\n\r\n".encode())
        self.check(answer and answer[0].same(good), "HTTP/1.0 without a Host")
        with self.at_most(0, "absolute-form targets are the same poll"):
            for target in (f"http://edge.example.com/configure.json?{query}", f"http://other.example/configure.json?{query}",
                           f"HTTP://edge.example.com/configure.json?{query}"):
                answer = ask(self.edge.port, target)
                self.check(answer and (answer.same(good) or answer.status == 400), f"{target[:30]}: {answer and answer.status}")
        answer = self.poll(query)
        for name in ("cdn-cache-control", "surrogate-control", "surrogate-key", "cache-tag", "xcache-while", "set-cookie"):
            self.check(name not in answer.fields, f"devices get {name}")
        self.check(answer.fields.get("cache-control") == "no-cache", f"Cache-Control: {answer.fields.get('cache-control')}")
        self.check(answer.fields.get("access-control-allow-origin") == "*", "Access-Control-Allow-Origin is missing")
        self.check("date" in answer.fields, "devices get no Date")
        self.check(answer.fields.get("cache-status", "").startswith(f"{self.edge.name}; hit"), f"{answer.fields.get('cache-status')}")
        asking = ["Origin: https://m.example.com", "Access-Control-Request-Method: GET"]
        options = ask(self.edge.port, "/configure.json", asking, method="OPTIONS")
        self.check(options.status == 204, f"OPTIONS: {options.status}")

    # MARK: - Poisoning

    def poisoned(self):
        """After each hostile request, every channel's devices get what is theirs."""
        self.fresh()
        victims = [self.query(*name) for name in channels] + [f"app={a}&channel={c}" for a, c in channels] + ["", "app=shop"]
        wanted = {query: self.direct(query) for query in victims}
        hostile = cases.hostile(self.query(), secret)
        for kept in (True, False):
            for name, head in hostile.items():
                if not kept:
                    self.purge()
                mark = len(self.recorder.requests)
                answers = send(self.edge.port, head.encode("latin-1") + cases.behind, timeout=0.5, answers=3)
                self.outcomes[name] = [a.status for a in answers]
                stray = [t for m, t, _ in self.recorder.requests[mark:] if "other" in t and "other" not in head.split("\r\n")[0]]
                # A second request in the same bytes is one, if the first has no body: then it is an ordinary poll.
                for victim in victims:
                    answer = self.poll(victim)
                    self.check(answer and answer.same(wanted[victim]), f"after {name!r}, {victim} gets {brief(answer)}")
                self.check(len(stray) <= 1, f"{name!r} let {stray} through")

    # MARK: - Time

    def flight(self):
        """Many polls at once for what isn't kept are one at the origin."""
        self.fresh()
        self.recorder.delay = 0.5
        queries = [self.query(*name) for name in channels]
        many = 40
        with concurrent.futures.ThreadPoolExecutor(many * len(queries)) as pool:
            allowed = len(queries) * (1 if self.edge.collapses else many)
            with self.at_most(allowed, f"{many} polls at once for each of {len(queries)} keys"):
                answers = list(pool.map(lambda q: (q, self.poll(q)), queries * many))
        wanted = {query: self.direct(query) for query in queries}
        self.check(all(a.same(wanted[q]) for q, a in answers), "an answer of a common flight is another's")
        # What isn't kept must not make polls wait for one another, either.
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: self.poll("app=shop&version=777777&patch=1"), range(20)))
        took = time.monotonic() - began
        self.check(all(a.status == 200 for a in answers), "polls at once for what isn't kept")
        self.slow["20 polls at once for an answer that isn't shared"] = took
        self.recorder.delay = 0.0

    def stales(self):
        """Old answers, for as long as the origin says."""
        self.fresh()
        self.recorder.lifetime = short
        query = "app=shop&channel=online&patch=1"
        old = self.poll(query).document["data"]["version"]
        new = self.release()
        self.check(self.poll(query).document["data"]["version"] == old, "without a purge, an answer lives for its time")
        time.sleep(2.2)
        self.recorder.delay = 1.0
        began = time.monotonic()
        answer = self.poll(query).document["data"]["version"]
        took = time.monotonic() - began
        if self.edge.stale:
            self.check(answer == old and took < 0.5, f"within stale-while-revalidate: {answer}, not {old}, in {took:.2f} s")
            time.sleep(1.5)
        self.recorder.delay = 0.0
        self.check(self.poll(query).document["data"]["version"] == new, "after it was asked for in the background, the answer is new")
        old, new = new, self.release()
        time.sleep(5.5)
        self.check(self.poll(query).document["data"]["version"] == new, "after stale-while-revalidate, the answer is new")

    def deaths(self):
        """An origin that is gone, hangs or is overloaded: what is kept is given out for its time, then devices hear of it."""
        for mode in ("down", "error", "hang", "reset"):
            self.fresh()
            self.recorder.lifetime = short
            query, other = "app=shop&channel=online&patch=1", self.query("other")
            old = self.poll(query)
            time.sleep(1.2)
            (self.recorder.down() if mode == "down" else setattr(self.recorder, "mode", mode))
            began, slowest, last = time.monotonic(), 0.0, 0.0
            while (age := time.monotonic() - began) < 11.5:
                asked = time.monotonic()
                answer = self.poll(query)
                took = time.monotonic() - asked
                slowest = max(slowest, took)
                if answer.status == 200:
                    last = age + 1.2
                    self.check(answer.same(old), f"{mode}: another answer after {age:.1f} s")
                time.sleep(0.25)
            answer = self.poll(query)
            self.check(answer.status in (502, 503, 504), f"{mode}: {answer.status} at the end")
            self.check(slowest < 9, f"{mode}: a poll took {slowest:.1f} s")
            if self.edge.stale:
                # Of an origin that hangs, each poll hears after three seconds.
                least = 5.5 if mode == "hang" else 8.5
                self.check(least < last < 11.5, f"{mode}: the last old answer was {last:.1f} s old, of 10 that are allowed")
            else:
                self.check(last < 2, f"{mode}: the last old answer was {last:.1f} s old")
            self.slow[f"origin {mode}: slowest poll"] = slowest
            answer = self.poll(other)
            self.check(answer.status in (502, 503, 504), f"{mode}: what isn't kept: {answer.status}")
            self.check(answer.document["code"] != 200, f"{mode}: {brief(answer)}")
            self.check(answer.fields.get("cache-control") in ("no-cache", None), f"{mode}: {answer.fields}")
            (self.recorder.up() if mode == "down" else setattr(self.recorder, "mode", "ok"))
            began = time.monotonic()
            while self.poll(query).status != 200 and time.monotonic() - began < 15:
                time.sleep(0.1)
            took = time.monotonic() - began
            self.check(took < 10, f"{mode}: {took:.1f} s until polls work again")
            self.slow[f"origin {mode}: polls work again after"] = took

    def purges(self):
        self.fresh()
        query = self.query()
        for app, channel in channels:
            self.poll(f"app={app}&channel={channel}")
        self.poll(query)
        self.poll("")
        new = self.release()
        old = self.poll(query).document["data"]
        self.check(not old["update"], "before the purge, the old answer")
        for words in [dict(token=None), dict(token=""), dict(token="x"), dict(token=secret[:-1]), dict(token=secret + "0"),
                      dict(token=secret.upper()), dict(source="127.0.0.2"), dict(token=None, source="127.0.0.2")]:
            found = self.edge.purge("shop", **words)
            self.check(found == 403, f"a purge with {words}: {found}")
        forged = [f"Authorization: Bearer {secret}", "xcache-tag: xcache:shop:online", "X-Forwarded-For: 127.0.0.1",
                  "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1"]
        target = self.edge.purge_target.format(app="shop", channel="online")
        found = ask(self.edge.port, target, forged, self.edge.purge_method, source="127.0.0.2").status
        self.check(found == 403, f"a purge from outside that says it is from inside: {found}")
        self.check(not self.poll(query).document["data"]["update"], "a refused purge purges nothing")
        began = time.monotonic()
        self.purge("shop", "online")
        answer = self.poll(query)
        self.slow["a purge and the poll after it"] = time.monotonic() - began
        self.check(answer.document["data"]["version"] == new and answer.document["data"]["update"], "after the purge, the answer is new")
        self.check(self.poll("").document["data"]["version"] == new, "the default app's answer is new, too")
        if self.edge.name == "varnish":
            with self.at_most(0, "another channel's answers stay"):
                self.poll("app=other&channel=online")
                self.poll("app=shop&channel=test")
        # An answer that is on its way while the release is made, and the second purge two seconds later.
        self.recorder.delay = 1.0
        self.purge("shop", "online")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            going = pool.submit(self.poll, "app=shop&channel=online&patch=1")
            time.sleep(0.3)
            new = self.release()
            self.purge("shop", "online")
            going.result()
        self.recorder.delay = 0.0
        time.sleep(2)
        self.purge("shop", "online")
        version = self.poll("app=shop&channel=online&patch=1").document["data"]["version"]
        self.check(version == new, f"an answer on its way outlives the second purge: {version}, not {new}")

    # MARK: - What isn't kept

    def unshared(self):
        self.fresh()
        newest = int(self.versions["shop", "online"])
        targets = [f"/configure.json?app=shop&version={newest + 1}&patch=1", "/configure.json?app=shop&channel=online&version=0&patch=1",
                   f"/configure.json?app=shop&version={newest}&digest={'0' * 64}&patch=1",
                   f"/configure.json?app=shop&version={newest}&skip={newest + 5}", "/configure.json?app=nobody",
                   "/configure.json?app=shop&channel=none", "/xcache/shop/configure.json",
                   f"/xcache/shop/configure.json?version={newest}", "/xcache-provider/xhr/client/configure.json?app=shop",
                   "/prefetchConfig?app=shop", "/policy.json?app=shop", "/info.json?app=shop", "/head.json?app=shop", "/healthz", "/nothing"]
        for target in targets:
            wanted = ask(self.origin.port, target)
            mark = len(self.recorder.requests)
            for _ in range(3):
                answer = ask(self.edge.port, target)
                self.check(answer.status == wanted.status and (answer.body == wanted.body), f"{target}: {brief(answer)}")
            found = len([r for r in self.recorder.requests[mark:]])
            self.check(found == 3 or target == "/healthz", f"{target} is kept: {found} of 3 requests came")
        # The answer for the next version, asked for before it exists, isn't what its devices get.
        ahead = f"app=shop&version={newest + 1}&patch=1"
        self.check(self.poll(ahead).document["data"]["update"], "a version above the newest gets the whole manifest")
        self.check(int(self.release()) == newest + 1, "versions are numbers in a row")
        self.check(not self.poll(ahead).document["data"]["update"], "a device with the version that is new now isn't sent back")

    def passed(self):
        """Files, documents and reports go through."""
        self.fresh()
        entries = self.direct("app=shop").document["data"]["resourcemap"]
        path = next(e["download"] for u, e in entries.items() if u.endswith("large.js")).split(str(self.origin.port), 1)[1]
        self.check("%25" in path, "no download's name is escaped twice")
        for headers in ([], ["Range: bytes=0-99"], ["Range: bytes=-50"], ["Range: bytes=100000-"], ["Range: bytes=99999999-"],
                        ["Accept-Encoding: gzip"], ["Accept-Encoding: zstd"], ["Range: bytes=0-9", 'If-Range: "x"']):
            # The origin codes a file after it was asked for.
            for _ in range(50):
                wanted, answer = ask(self.origin.port, path, headers), ask(self.edge.port, path, headers)
                if answer.same(wanted):
                    break
                time.sleep(0.1)
            self.check(answer.same(wanted) and answer.fields.get("content-range") == wanted.fields.get("content-range"),
                       f"a download with {headers}: {answer.status}, not {wanted.status}")
            self.check(answer.fields.get("cache-control") == wanted.fields.get("cache-control"), "a download's Cache-Control")
        self.recorder.sent = 0
        with socket.create_connection(("127.0.0.1", self.edge.port)) as slow:
            slow.sendall(b"GET /xcache/1/1/1/x/large HTTP/1.1\r\nHost: edge.example.com\r\n\r\n")
            self.check(slow.recv(100).startswith(b"HTTP/1.1 200"), "a large download begins")
            time.sleep(2)
            # The kernel alone takes some 40 MB on its way over three sockets.
            self.check(self.recorder.sent < 128 << 20, f"the edge holds {self.recorder.sent >> 20} MB of a slow download")
        mark = len(self.recorder.requests)
        second = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /console/ HTTP/1.1\r\nHost: x\r\n\r\n"
        answers = send(self.edge.port, second.encode(), timeout=2, answers=3)
        statuses = [a.status for a in answers]
        self.check(statuses[:1] == [200] and set(statuses[1:]) <= {403}, f"behind a download: {statuses}")
        # The recorder reads one request of a connection that is to be closed. So does the origin.
        answers = send(self.origin.port, second.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1).encode(), timeout=2, answers=3)
        self.check([a.status for a in answers] == [200], f"the origin answers {len(answers)} requests, the first with Connection: close")
        came = [r[1] for r in self.recorder.requests[mark:]]
        self.check(came == [path], f"behind a download, the origin got {came}")
        self.check(self.recorder.requests[-1][2]["host"] == "origin.example.com", "the origin's name")
        tag = ask(self.origin.port, path).fields["etag"]
        self.check(ask(self.edge.port, path, [f"If-None-Match: {tag}"]).status == 304, "a download that the device has")
        report = b'{"app":"shop","channel":"online"}'
        for body in (report, b"x" * 300_000):
            headers = ["Content-Type: application/json", f"Content-Length: {len(body)}"]
            mark = len(self.recorder.requests)
            wanted = ask(self.origin.port, "/report", headers, method="POST", body=body)
            answer = ask(self.edge.port, "/report", headers, method="POST", body=body)
            self.check(answer and (answer.status, answer.body) == (wanted.status, wanted.body),
                       f"a report of {len(body)} bytes: {brief(answer)}, not {brief(wanted)}")
            came = [r for r in self.recorder.requests[mark:] if r[1] == "/report"]
            self.check(len(came) == 1 and "127.0.0.1" in came[0][2].get("x-forwarded-for", ""), "the origin learns a reporter's address")
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (report[:10], report[10:])) + b"0\r\n\r\n"
        kind = "Content-Type: application/json"
        wanted = ask(self.origin.port, "/report", [kind, f"Content-Length: {len(report)}"], method="POST", body=report)
        answer = ask(self.edge.port, "/report", [kind, "Transfer-Encoding: chunked"], method="POST", body=chunks)
        self.check(answer and answer.status == wanted.status, f"a report in chunks: {answer and answer.status}, not {wanted.status}")

    def inside(self):
        """What is inside stays inside, however its path is written."""
        token = (self.origin.work / "data/admin.token").read_text().strip()
        for path, mark in cases.inside.items():
            self.check(mark in ask(self.origin.port, path, [f"Authorization: Bearer {token}"]).body, f"{path} isn't there to be protected")
            for target in cases.spellings(path):
                for method in ("GET", "HEAD", "POST"):
                    headers = [f"Authorization: Bearer {token}", "X-Original-URL: " + path, "X-Rewrite-URL: " + path]
                    answer = ask(self.edge.port, target, headers, method, timeout=5)
                    self.check(answer is None or (mark not in answer.body and answer.status >= 300),
                               f"{method} {target} gets out: {brief(answer)}")
        for method in ("PUT", "DELETE", "PATCH", "TRACE", "CONNECT"):
            answer = ask(self.edge.port, "/configure.json", method=method)
            self.check(answer is None or answer.status >= 400, f"{method}: {answer and answer.status}")

    def restarts(self):
        self.fresh()
        query = self.query()
        wanted = self.direct(query)
        for way in ("stop", "kill"):
            self.poll(query)
            getattr(self.edge, way)()
            new = self.release() if way == "kill" else None
            self.edge.start()
            answer = self.poll(query)
            self.check(answer and answer.status == 200, f"after a {way}: {answer and answer.status}")
            if new:
                # A purge that couldn't be sent is sent again.
                self.purge()
                self.check(self.poll(query).document["data"]["version"] == new, "after a kill and a purge, the answer is new")
            else:
                self.check(answer.same(wanted), f"after a {way}: another answer")

    def by_itself(self):
        """The origin's own purges and numbers, without the recorder's."""
        self.recorder.lifetime = None
        self.recorder.mode, self.recorder.delay = "ok", 0.0
        self.origin.stop()
        self.origin.options += ("--purge", self.edge.target())
        self.origin.start()
        for name in channels:
            self.purge(*name)
        answer = ask(self.recorder.port, "/configure.json?app=shop")
        wanted = f"max-age={ttl}, stale-while-revalidate={min(2 * ttl, 20)}, stale-if-error={80 - ttl}"
        self.check(answer.fields.get("cdn-cache-control") == wanted, f"CDN-Cache-Control: {answer.fields.get('cdn-cache-control')}")
        self.check(answer.fields.get("cache-tag") == answer.fields.get("surrogate-key") == "xcache:shop:online", f"{answer.fields}")
        query = self.query()
        self.poll(query)
        slowest = 0.0
        for _ in range(3):
            new = self.release()
            began = time.monotonic()
            while self.poll(query).document["data"]["version"] != new and time.monotonic() - began < 30:
                time.sleep(0.02)
            slowest = max(slowest, time.monotonic() - began)
        self.check(slowest < 2, f"a release was visible after {slowest:.1f} s")
        self.slow["a release by the origin's own purge visible after"] = slowest
        # All that polls see of a channel, and what a poll without an app gets.
        queries = [query, "app=shop&channel=online", "app=shop&channel=test", ""]
        for words in cases.changes:
            before = [self.poll(q) for q in queries]
            done = self.origin.command(*words.split())
            began = time.monotonic()
            self.check(done.returncode == 0, f"{words}: {done.stderr}")
            self.check(not all(a.same(self.direct(q)) for a, q in zip(before, queries)), f"{words} changes no poll's answer")
            while (old := [q for q in queries if not self.poll(q).same(self.direct(q))]) and time.monotonic() - began < 30:
                time.sleep(0.02)
                last = [(q, self.poll(q).body[:150], self.direct(q).body[:150]) for q in old]
            took = time.monotonic() - began
            self.check(took < 2, f"{words} was visible after {took:.1f} s: {took >= 2 and last}")

    def run(self):
        self.slow, self.outcomes = {}, {}
        self.prepare()
        tests = [self.keys, self.repeated, self.coded, self.heads, self.poisoned, self.flight, self.stales, self.purges, self.unshared,
                 self.passed, self.inside, self.restarts, self.deaths, self.by_itself]
        only = os.environ.get("ONLY", "").split()
        for test in tests:
            if only and test.__name__ not in only:
                continue
            before, began = self.count, time.monotonic()
            try:
                test()
            except Exception as error:
                traceback.print_exc()
                self.check(False, f"{test.__name__}: {error!r}")
            print(f"   {self.edge.name}: {test.__name__}: {self.count - before} checks, {time.monotonic() - began:.0f} s", flush=True)
        if "TABLE" in os.environ:
            for words, statuses in self.outcomes.items():
                print(f"TABLE {self.edge.name}|{words}|{' '.join(map(str, statuses)) or 'closed'}")
        for words, seconds in self.slow.items():
            print(f"   {self.edge.name}: {words}: {seconds:.2f} s")


def one(xcache, name):
    with tempfile.TemporaryDirectory(prefix=f"edge-{name}-") as folder:
        work = pathlib.Path(folder)
        origin = stage.Origin(xcache, work, "--edge-ttl", str(ttl))
        recorder = stage.Recorder(origin)
        edge = stage.edges[name](work / name, recorder.port)
        try:
            origin.start()
            recorder.up()
            edge.start()
            checks = Checks(edge, origin, recorder)
            checks.run()
        finally:
            edge.stop()
            origin.stop()
            recorder.down()
        print(f"   {name}: {checks.count} checks, {len(checks.failures)} failed", flush=True)
        return not checks.failures


def main(xcache, names):
    if len(names) == 1:
        sys.exit(0 if one(xcache, names[0]) else 1)
    children = [subprocess.Popen([sys.executable, __file__, xcache, name]) for name in names]
    try:
        sys.exit(max([child.wait() for child in children]))
    finally:
        for child in children:
            if child.poll() is None:
                child.terminate()
                child.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or list(stage.edges))
