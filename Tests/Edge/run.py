#!/usr/bin/env python3
"""The edges of deploy/edge in front of a real origin, on this machine's loopback.   run.py XCACHE [varnish] [nginx] [haproxy]

What each case is and what happens is in README.md. Each edge has an origin of its own, and they run side by side."""
import contextlib, concurrent.futures, itertools, os, pathlib, random, socket, subprocess, sys, tempfile, time

import stage
from stage import ask, secret, send

ttl = 10
# What the recorder puts in place of the origin's numbers. nginx counts in whole seconds.
short = "max-age=1, stale-while-revalidate=3, stale-if-error=9"
long = "max-age=50, stale-while-revalidate=20, stale-if-error=60"
channels = [("shop", "online"), ("shop", "test"), ("other", "online")]
codings = ["identity", "gzip", "zstd"]


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
        junk = ["x=1", "utm_source=mail", "_=1764479000", "App=other", "CHANNEL=test", "app[]=other", "versions=1", "a%20b=c%26", "=", "x",
                "patch=0", "q=app=other", "apps=other", "xapp=other"]
        headers = [[], ["X-Forwarded-Host: evil.example"], ["X-Host: evil.example"], ["X-Original-URL: /configure.json?app=other"],
                   ["X-Rewrite-URL: /configure.json?app=other"], ["Cookie: session=1"], ["Cookie: app=other; channel=test"],
                   ["Range: bytes=0-3"], ["Authorization: Bearer x"], ["Authorization: Basic YTpi"], ["Forwarded: host=evil.example;for=1.2.3.4"],
                   ["X-Forwarded-For: 1.2.3.4"], ["X-Forwarded-Proto: https"], ["X-HTTP-Method-Override: POST"], ["X-Method-Override: DELETE"],
                   ["Cache-Control: no-cache"], ["Cache-Control: no-store, max-age=0"], ["Pragma: no-cache"], ["If-Modified-Since: Sat, 01 Jan 2022 00:00:00 GMT"],
                   ["If-Range: \"x\""], ["User-Agent: evil\t"], ["Origin: https://evil.example"], ["Referer: https://evil.example/"],
                   ["Accept: text/html"], ["Accept-Language: xx"], ["X-Forwarded-Prefix: /api"], ["Available-Dictionary: :AAAA:"],
                   ["xcache-poll: /configure.json?app=other"], ["xcache-coding: gzip"], ["xcache-kept: take"], ["xcache-grace: 100s"],
                   ["xcache-query: &app=other&"], ["X-Cache-Key: other"], ["Connection: X-A, Host", "X-A: 1"], ["TE: trailers"], ["Via: 1.1 evil"]]
        with self.at_most(1, "one query in any order, with junk"):
            for n in range(60):
                mixed = self.random.sample(items, len(items)) + self.random.sample(junk, n % 4)
                self.random.shuffle(mixed)
                some = self.random.choice(headers)
                answer = self.poll("&".join(mixed), some)
                self.check(answer and (answer.same(good) or answer.status == 400 and "Connection" in str(some)), f"{mixed}, {some}: {answer and (answer.status, answer.body[:80])}")
            for some in headers:
                for host in ("edge.example.com", "other.example", "127.0.0.1:1", "a.b\tc"):
                    answer = self.poll(query, some, host=host)
                    self.check(answer and (answer.same(good) or answer.status == 400), f"{some}, Host: {host}: {answer and answer.status}")
        mark = len(self.recorder.requests)
        self.poll(query, ["Accept-Encoding: gzip", *itertools.chain(*(h for h in headers if not h or "Connection" not in h[0]))])
        self.purge()
        self.poll(query, ["Accept-Encoding: gzip", *itertools.chain(*(h for h in headers if not h or "Connection" not in h[0]))])
        allowed = {"host", "accept-encoding", "x-varnish", "xcache-poll", "xcache-coding", "via", "connection", "if-none-match", "x-a",
                   "te", "x-forwarded-prefix", "x-cache-key"}
        for method, target, fields in self.recorder.polls(mark):
            self.check(target == "/configure.json?" + query, f"the origin was asked for {target}")
            self.check(fields["host"] == "origin.example.com" and not set(fields) - allowed, f"the origin got {sorted(set(fields) - allowed)}")

    def repeated(self):
        """The first of a name counts, as at the origin; what no device sends is the origin's business, and isn't kept."""
        self.fresh()
        queries = ["app=shop&app=other", "app=other&app=shop", "channel=test&channel=online&app=shop", "app=shop&version=1&version=2&patch=1",
                   "app=shop&patch=0&patch=1&version=1", "app=shop&version=2&skip=9&skip=2", "&&app=other&&", "app=shop#&channel=test", "x=1;app=other&app=shop",
                   "app=shop&digest=" + "0" * 64 + "&version=1"]
        apart = ["app", "app=", "app&app=other", "app=%73hop", "%61pp=other&app=shop", "app=sh+op", "app=shop%00", "app=shop;channel=test",
                 "app=shop&version=", "app=shop&version=01", "app=shop&version=+1", "app=shop&version=-1", "app=shop&version=1e3",
                 "app=shop&version=99999999999999999999", "app=shop&version=%31", "app=shop&digest=ABC", "app=shop&digest=" + "A" * 64, "app=shop&skip=0&skip=2&version=2",
                 "app=shop&skip=x&version=1", "app=" + "a" * 65, "app=shop&channel=xcache_test", "app=shop&channel=Online", "app=shop&preview=1",
                 "app=shop&channel=%74est", "app==shop", "app=shop&channel==test", "app=delta", "app=shop%26channel=test", "app=shop&channel=test%0d%0ax:y"]
        for query in queries + apart:
            wanted = self.direct(query)
            for _ in range(2):
                answer = self.poll(query)
                self.check(answer and (answer.same(wanted) or "#" in query), f"{query}: {answer and (answer.status, answer.body[:90])}, not {wanted.body[:90]}")
        for query in apart:
            with self.at_most(2, f"{query} isn't kept", exactly=not query.startswith("%61pp") and "%26" not in query or None):
                self.poll(query)
                self.poll(query)
        for size in (500, 990, 1500, 6000, 7500, 60_000):
            wanted = self.direct("app=shop&version=" + self.versions["shop", "online"])
            answer = self.poll("x=" + "y" * size + "&app=shop&version=" + self.versions["shop", "online"])
            self.check(answer is None or answer.same(wanted) or answer.status in (400, 414), f"a query of {size}: {answer and answer.status}")

    def coded(self):
        """No device gets a coding that it doesn't take."""
        self.fresh()
        query = "app=shop"
        cases = {"": "identity", "gzip": "gzip", "zstd": "zstd", "gzip, zstd": "zstd", "zstd, gzip": "zstd", "gzip, deflate, br, zstd": "zstd", "gzip, deflate, br": "gzip",
                 "br": "identity", "GZIP": "gzip", "gzip;q=0": "identity", "gzip;q=0.0, zstd;q=0": "identity", "gzip;q=1.0": "gzip", "gzip; q=0.5": "gzip",
                 "zstd;q=0, gzip": "gzip", "gzip;q=0, zstd": "zstd", "identity": "identity", "*": "identity", "*;q=0, gzip": "gzip", "gzipped": "identity",
                 "x-zstd": "identity", "zstd-x, gzip": "gzip", "dcz, gzip": "gzip", "gzip;q=0.001": "gzip", "gzip;q=0.000": "identity", "\tgzip\t,\tzstd\t": "zstd",
                 "," * 200 + "gzip": "gzip", "gzip;q=2;level=1": "identity", "identity;q=0": "identity"}
        with self.at_most(3, "three answers for all kinds of Accept-Encoding"):
            for value, coding in cases.items():
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
                self.check(answer.fields.get("content-length") in (str(len(good.body)), None), f"{method}: {answer.fields.get('content-length')} bytes")
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
        self.check("date" in answer.fields and answer.fields.get("cache-status", "").startswith(f"{self.edge.name}; hit"), f"{answer.fields}")
        options = ask(self.edge.port, "/configure.json", ["Origin: https://m.example.com", "Access-Control-Request-Method: GET"], method="OPTIONS")
        self.check(options.status == 204, f"OPTIONS: {options.status}")

    # MARK: - Poisoning

    def poisoned(self):
        """After each hostile request, every channel's devices get what is theirs."""
        self.fresh()
        victims = [self.query(*name) for name in channels] + [f"app={a}&channel={c}" for a, c in channels] + ["", "app=shop"]
        wanted = {query: self.direct(query) for query in victims}
        body = b"GET /configure.json?app=other HTTP/1.1\r\nHost: x\r\n\r\n"
        query = self.query()
        line = f"GET /configure.json?{query} HTTP/1.1\r\nHost: edge.example.com\r\n"
        hostile = {
            "two Content-Length": line + f"Content-Length: 0\r\nContent-Length: {len(body)}\r\n\r\n",
            "Content-Length list": line + f"Content-Length: {len(body)}, 0\r\n\r\n",
            "Content-Length and chunks": line + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "chunks": line + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "chunks by another name": line + "Transfer-Encoding: xchunked\r\n\r\n",
            "chunks twice": line + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
            "chunks after a space": line + "Transfer-Encoding : chunked\r\n\r\n",
            "chunks after a tab": line + f"Transfer-Encoding:\tchunked\r\nContent-Length: {len(body)}\r\n\r\n",
            "chunks folded": line + "X: 1\r\n Transfer-Encoding: chunked\r\n\r\n",
            "a body": line + f"Content-Length: {len(body)}\r\n\r\n",
            "a signed length": line + f"Content-Length: +{len(body)}\r\n\r\n",
            "a length in hex": line + f"Content-Length: 0x{len(body):x}\r\n\r\n",
            "a line feed in a field": line + "X: a\nHost: other\r\n\r\n",
            "a zero in a field": line + "X: a\0b\r\n\r\n",
            "a carriage return in a field": line + "X: a\rHost: other\r\n\r\n",
            "two hosts": line + "Host: other.example\r\n\r\n",
            "no host": f"GET /configure.json?{query} HTTP/1.1\r\n\r\n",
            "a pipelined second": line + "\r\n",
            "a tab in the line": f"GET\t/configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "two spaces in the line": f"GET  /configure.json?{query}  HTTP/1.1\r\nHost: x\r\n\r\n",
            "HTTP/0.9": f"GET /configure.json?{query}\r\n\r\n",
            "HTTP/1.9": f"GET /configure.json?{query} HTTP/1.9\r\nHost: x\r\n\r\n",
            "HTTP/2 in the clear": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "an upgrade": line + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
            "a hop-by-hop Accept-Encoding": line + "Connection: Accept-Encoding\r\nAccept-Encoding: zstd\r\n\r\n",
            "many fields": line + "".join(f"X-{n}: {n}\r\n" for n in range(300)) + "\r\n",
            "a large field": line + f"X: {'x' * 70_000}\r\n\r\n",
            "POST": f"POST /configure.json?{query} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
            "PUT": f"PUT /configure.json?{query} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
            "a method of its own": f"GETX /configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "get in small letters": f"get /configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "Expect": line + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
            "trailing dot": f"GET /configure.json.?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "path parameter": f"GET /configure.json;x=1?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "slash behind": f"GET /configure.json/?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "escaped question mark": f"GET /configure.json%3f{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "escaped path": f"GET /%63onfigure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "two slashes": f"GET //configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "dots": f"GET /x/../configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "backslash": f"GET /x\\..\\configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "a static ending": f"GET /configure.json/x.css?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "another channel's path": f"GET /xcache_test/shop/configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "the older path": f"GET /xcache-provider/xhr/client/configure.json?app=other HTTP/1.1\r\nHost: x\r\n\r\n",
            "authority and userinfo": f"GET http://a@b/configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "another scheme": f"GET ftp://x/configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
            "fragment": f"GET /configure.json?app=shop#&channel=test HTTP/1.1\r\nHost: x\r\n\r\n",
            "two question marks": f"GET /configure.json??app=other HTTP/1.1\r\nHost: x\r\n\r\n",
            "a question mark in the query": f"GET /configure.json?app=shop?&channel=test HTTP/1.1\r\nHost: x\r\n\r\n",
            "bytes above ASCII": "GET /configure.json?app=\xe9&app=shop HTTP/1.1\r\nHost: x\r\n\r\n",
            "a line feed in the query": "GET /configure.json?app=shop%0a&channel=test HTTP/1.1\r\nHost: x\r\n\r\n",
            "the tag of another": line + "xcache-tag: xcache:other:online\r\nSurrogate-Key: xcache:other:online\r\nCache-Tag: x\r\n\r\n",
            "a purge by anybody": "BAN / HTTP/1.1\r\nHost: x\r\nxcache-tag: xcache:shop:online\r\n\r\n",
            "an expression as a tag": f"BAN / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {secret}\r\nxcache-tag: x || obj.status == 200\r\n\r\n",
        }
        for kept in (True, False):
            for name, head in hostile.items():
                if not kept:
                    self.purge()
                mark = len(self.recorder.requests)
                answers = send(self.edge.port, head.encode("latin-1") + body, timeout=0.5, answers=3)
                self.outcomes[name] = [a.status for a in answers]
                stray = [t for m, t, _ in self.recorder.requests[mark:] if "other" in t and "other" not in head.split("\r\n")[0]]
                # A second request in the same bytes is one, if the first has no body: then it is an ordinary poll.
                for victim in victims:
                    answer = self.poll(victim)
                    self.check(answer and answer.same(wanted[victim]), f"after {name!r}, {victim} gets {answer and (answer.status, answer.body[:90])}")
                self.check(len(stray) <= 1, f"{name!r} let {stray} through")

    # MARK: - Time

    def flight(self):
        """Many polls at once for what isn't kept are one at the origin."""
        self.fresh()
        self.recorder.delay = 0.5
        queries = [self.query(*name) for name in channels]
        many = 40
        with concurrent.futures.ThreadPoolExecutor(many * len(queries)) as pool:
            with self.at_most(len(queries) if self.edge.collapses else many * len(queries), f"{many} polls at once for each of {len(queries)} keys"):
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
            self.check(answer.document["code"] != 200 and answer.fields.get("cache-control") in ("no-cache", None), f"{mode}: {answer.body[:80]}")
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
        for words, status in [(dict(token=None), 403), (dict(token=""), 403), (dict(token="x"), 403), (dict(token=secret[:-1]), 403), (dict(token=secret + "0"), 403),
                              (dict(token=secret.upper()), 403), (dict(source="127.0.0.2"), 403), (dict(token=None, source="127.0.0.2"), 403)]:
            found = self.edge.purge("shop", **words)
            self.check(found == status, f"a purge with {words}: {found}")
        found = ask(self.edge.port, self.edge.purge_target.format(app="shop", channel="online"),
                    [f"Authorization: Bearer {secret}", "xcache-tag: xcache:shop:online", "X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1",
                     "Forwarded: for=127.0.0.1"], self.edge.purge_method, source="127.0.0.2").status
        self.check(found == 403, f"a purge from outside that says it is from inside: {found}")
        self.check(self.poll(query).body == self.poll(query).body and not self.poll(query).document["data"]["update"], "a refused purge purges nothing")
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
        self.check(self.poll("app=shop&channel=online&patch=1").document["data"]["version"] == new, "an answer on its way doesn't outlive the second purge")

    # MARK: - What isn't kept

    def unshared(self):
        self.fresh()
        newest = int(self.versions["shop", "online"])
        targets = [f"/configure.json?app=shop&version={newest + 1}&patch=1", f"/configure.json?app=shop&version={newest}&digest={'0' * 64}&patch=1",
                   f"/configure.json?app=shop&version={newest}&skip={newest + 5}", "/configure.json?app=nobody", "/configure.json?app=shop&channel=none",
                   "/xcache/shop/configure.json", f"/xcache/shop/configure.json?version={newest}", "/xcache-provider/xhr/client/configure.json?app=shop",
                   "/prefetchConfig?app=shop", "/policy.json?app=shop", "/info.json?app=shop", "/head.json?app=shop", "/healthz", "/nothing"]
        for target in targets:
            wanted = ask(self.origin.port, target)
            mark = len(self.recorder.requests)
            for _ in range(3):
                answer = ask(self.edge.port, target)
                self.check(answer.status == wanted.status and (answer.body == wanted.body), f"{target}: {answer.status} {answer.body[:60]}")
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
        for headers in ([], ["Range: bytes=0-99"], ["Range: bytes=-50"], ["Range: bytes=100000-"], ["Range: bytes=99999999-"], ["Accept-Encoding: gzip"],
                        ["Accept-Encoding: zstd"], ["Range: bytes=0-9", 'If-Range: "x"']):
            wanted, answer = ask(self.origin.port, path, headers), ask(self.edge.port, path, headers)
            self.check(answer.same(wanted) and answer.fields.get("content-range") == wanted.fields.get("content-range"),
                       f"a download with {headers}: {answer.status}, not {wanted.status}")
            self.check(answer.fields.get("cache-control") == wanted.fields.get("cache-control"), "a download's Cache-Control")
        self.recorder.sent = 0
        with socket.create_connection(("127.0.0.1", self.edge.port)) as slow:
            slow.sendall(b"GET /xcache/1/1/1/x/large HTTP/1.1\r\nHost: edge.example.com\r\n\r\n")
            self.check(slow.recv(100).startswith(b"HTTP/1.1 200"), "a large download begins")
            time.sleep(2)
            self.check(self.recorder.sent < 24 << 20, f"the edge holds {self.recorder.sent >> 20} MB of a download that the client hasn't taken")
        mark = len(self.recorder.requests)
        second = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /console/ HTTP/1.1\r\nHost: x\r\n\r\n"
        answers = send(self.edge.port, second.encode(), timeout=2, answers=3)
        self.check(answers and answers[0].status == 200 and all(a.status == 403 for a in answers[1:]), f"behind a download: {[a.status for a in answers]}")
        # The recorder reads one request of a connection that is to be closed. So does the origin.
        answers = send(self.origin.port, second.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1).encode(), timeout=2, answers=3)
        self.check(len(answers) == 1 and answers[0].status == 200, f"the origin reads on after Connection: close: {[a.status for a in answers]}")
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
            self.check(answer and (answer.status, answer.body) == (wanted.status, wanted.body), f"a report of {len(body)} bytes: {answer and answer.status}, not {wanted.status}")
            came = [r for r in self.recorder.requests[mark:] if r[1] == "/report"]
            self.check(len(came) == 1 and "127.0.0.1" in came[0][2].get("x-forwarded-for", ""), "the origin learns a reporter's address")
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (report[:10], report[10:])) + b"0\r\n\r\n"
        wanted = ask(self.origin.port, "/report", ["Content-Type: application/json", f"Content-Length: {len(report)}"], method="POST", body=report)
        answer = ask(self.edge.port, "/report", ["Content-Type: application/json", "Transfer-Encoding: chunked"], method="POST", body=chunks)
        self.check(answer and answer.status == wanted.status, f"a report in chunks: {answer and answer.status}, not {wanted.status}")

    def inside(self):
        """What is inside stays inside, however its path is written."""
        token = (self.origin.work / "data/admin.token").read_text().strip()
        marks = {"/api/v1/apps/shop/channels/online": b'"version"', "/metrics": b"# TYPE", "/console/": b"<html lang="}
        for path, mark in marks.items():
            self.check(mark in ask(self.origin.port, path, [f"Authorization: Bearer {token}"]).body, f"{path} isn't there to be protected")
            first = f"/%{ord(path[1]):02x}{path[2:]}"
            for target in [path, "/" + path, "/." + path, "/x/.." + path, "/%2e" + path, "/x/%2e%2e" + path, "/x/.%2E" + path, "/xcache/1/../.." + path,
                           path.replace("/", "//"), first, path + "?x=/xcache/1/", "/%2f" + path[1:], "/;/.." + path, "/\\.." + path, path.upper(),
                           path + "/.", path + "/..", "http://edge.example.com" + path, "http://127.0.0.1" + path, "http://x/." + path, "x:" + path,
                           "/configure.json/.." + path, path + "%00", path + "#", "/xcache-purge/.." + path]:
                for method in ("GET", "HEAD", "POST"):
                    answer = ask(self.edge.port, target, [f"Authorization: Bearer {token}", "X-Original-URL: " + path, "X-Rewrite-URL: " + path], method,
                                 timeout=5)
                    self.check(answer is None or (mark not in answer.body and answer.status >= 300),
                               f"{method} {target} gets out: {answer and (answer.status, answer.body[:60])}")
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
            began = time.monotonic()
            # Varnish takes no more connections before its probe has been answered.
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
        wanted = f"max-age={ttl}, stale-while-revalidate={min(2 * ttl, 20)}, stale-if-error={100 - ttl}"
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
        changes = [("policy", "kill", "--app", "shop", "-m", "x"), ("policy", "resume", "--app", "shop"),
                   ("policy", "bypass", "add", "https://m.example.com/pay/*", "--app", "shop"), ("rollback", "--app", "shop", "--bundle", "main", "--yes"),
                   ("channel", "set", "--interval", "120", "--app", "shop"), ("channel", "set", "--reports", "5", "--app", "shop"),
                   ("channel", "default-app", "other"), ("channel", "default-app", "shop"),
                   ("unpublish", "--bundle", "main", "--app", "shop", "--channel", "test"), ("channel", "remove", "test", "--app", "shop")]
        queries = [query, "app=shop&channel=online", "app=shop&channel=test", ""]
        for words in changes:
            before = [self.poll(q) for q in queries]
            done = self.origin.command(*words)
            began = time.monotonic()
            self.check(done.returncode == 0, f"{' '.join(words)}: {done.stderr}")
            self.check(not all(a.same(self.direct(q)) for a, q in zip(before, queries)), f"{' '.join(words)} changes no poll's answer")
            while (old := [q for q in queries if not self.poll(q).same(self.direct(q))]) and time.monotonic() - began < 30:
                time.sleep(0.02)
                last = [(q, self.poll(q).body[:150], self.direct(q).body[:150]) for q in old]
            took = time.monotonic() - began
            self.check(took < 2, f"{' '.join(words)} was visible after {took:.1f} s: {took >= 2 and last}")

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
                import traceback
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
