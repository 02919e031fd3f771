"""Requests of people who want a cache to give others a wrong answer. HOSTILE.md says what is tried and what stops it.

A request is bytes; in them 1 is any digit, 2 a hexadecimal one, 3 a letter, which load/flood.c chooses anew each time. With it comes
whose marks its answer may have: those of a channel, nobody's, or those of any one.
"""
import collections, random, struct

NOBODY, ANY = 254, 255
HEAD, CLOSES = 1, 2
Request = collections.namedtuple("Request", "kind text owner flags")

CODINGS = ["gzip", "zstd", "gzip, deflate, br, zstd", "identity", "br", "dcz", "*", "*;q=0", "gzip;q=0", "gzip;q=0, zstd;q=0", "identity;q=0",
           "gzip;q=0.001", "GZIP", "x-gzip", "zstd;q=1.000, gzip;q=9", "gzip,,,,", ", ,gzip", "gzip;q=1;q=0", "gzip\tzstd", "gzipzstd", "zstd-evil",
           "gzip;level=9", "\"gzip\"", "", " ", "deflate", "compress, gzip", "gzip; q=0", "zstd ;q=0 , gzip", "gzip" + ", evil" * 200]
# Each is one field's line, or several.
FIELDS = [
    "X-Forwarded-Host: evil.test", "X-Forwarded-Proto: evil", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-For: 9.9.9.1, evil", "X-Forwarded-Port: 1",
    "X-Forwarded-Prefix: /evil", "X-Forwarded-Server: evil.test", "Forwarded: host=evil.test;proto=evil", "X-Host: evil.test", "X-Original-URL: {other}",
    "X-Rewrite-URL: {other}", "X-Original-Host: evil.test", "X-HTTP-Method-Override: POST", "X-HTTP-Method: DELETE", "X-Method-Override: PURGE",
    "Cookie: app={app}; channel={channel}; a=evil", "Cookie: s=\3\3\3\3\3\3", "Authorization: Bearer evil\1\1\1", "Authorization: Basic ZXZpbDpldmls",
    "Range: bytes=0-10", "Range: bytes=-5", "Range: bytes=0-0,5-9", "If-Range: \"evil\"", "If-None-Match: *", "If-None-Match: {tag}",
    "If-None-Match: W/{tag}, \"evil\"", "If-Match: \"evil\"", "If-Modified-Since: Mon, 30 Nov 2026 00:00:00 GMT", "If-Unmodified-Since: Mon, 30 Nov 1998 00:00:00 GMT",
    "Cache-Control: no-cache", "Cache-Control: no-store", "Cache-Control: max-age=0", "Cache-Control: only-if-cached, max-stale=9999", "Pragma: no-cache",
    "Accept: text/evil", "Accept-Language: evil", "Origin: https://evil.test", "Access-Control-Request-Method: EVIL", "Referer: https://evil.test/",
    "User-Agent: evil\3\3\3\3", "Via: 1.1 evil", "CDN-Loop: evil", "Surrogate-Capability: evil=\"ESI/1.0\"", "Prefer: evil", "Expect: evil", "TE: trailers, evil",
    "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "Connection: Accept-Encoding", "Connection: Host, close",
    "Connection: xcache-poll, xcache-coding", "Connection: keep-alive, If-None-Match", "Keep-Alive: timeout=1, max=1", "Proxy-Connection: close",
    "Available-Dictionary: :47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:", "Dictionary-ID: \"evil\"", "Content-Type: application/evil", "Content-Encoding: gzip",
    # Names that a config uses within.
    "xcache-poll: {other}", "xcache-coding: evil", "xcache-grace: 9999s", "xcache-kept: take", "xcache-while: 9999s", "xcache-query: &app={app}&", "xcache-value: evil",
    "xcache-tag: xcache:{app}:{channel}", "Cache-Tag: xcache:{app}:{channel}", "Surrogate-Key: xcache:{app}:{channel}", "CDN-Cache-Control: max-age=9999",
    "Surrogate-Control: max-age=9999", "X-Varnish: 1", "X-Accel-Expires: 9999", "X-Cache-Key: evil", "Fastly-Debug: 1", "CF-Connecting-IP: evil", "True-Client-IP: evil",
    # Not one field, or none.
    "Host: evil.test", "Host: evil.test\r\nHost: edge.test", "Accept-Encoding: gzip\r\nAccept-Encoding: evil", "X-Long: evil" + "x" * 3000, "X-Long: evil" + "x" * 9000,
    "\r\n".join(f"X-Evil-{n}: {n}" for n in range(40)), "\r\n".join(f"X-Evil-{n}: {n}" for n in range(120)), "X-Folded: evil\r\n more", " X-Space: evil", "X-No-Colon",
    "X-Nul: e\0vil", "X-Bare: a\nX-Evil: b", "X-Return: a\rb", ": evil", "X Space: evil", "X-Latin: \xe9vil\xff", "Host: edge.test:99999999", "Host: ed ge", "Host:",
    "Content-Length: 0", "Transfer-Encoding: identity",
]
METHODS = ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PURGE", "BAN", "REFRESH", "get", "Get", "EVIL", "PROPFIND", "GET\t", "PRI"]
VERSIONS = ["0", "00", "01", "-1", "+1", "1.0", "1e3", " 1", "1 ", "0x1", "1,2", "\u0661", "", "a", "9" * 18, "9" * 19, "9" * 40, "9" * 2000, str(2**31), str(2**32), str(2**32 + 1),
            str(2**53), str(2**63), str(2**64), str(2**64 + 1), "\1\1\1\1\1", "9\1\1\1\1\1\1\1\1\1", "1\1\1", "%31", "1%00", "1%0d%0aX-Evil:%20b", "1;2", "[1]", "null", "true"]
JUNK = ["utm_source=\3\3\3\3\3", "_=\1\1\1\1\1\1\1\1", "x=evil", "callback=evil", "APP={app}", "App={app}", "app[]={app}", "app.={app}", "xapp={app}", "appx={app}", "%61pp={app}", "ap%70={app}",
        "channe%6c={channel}", "versio%6e=9", "&", "&&&", "=", "=evil", "%", "%zz", "%00", "a=%00", "?app={app}", "?", ";app={app}", "a;app={app}", "a=b;channel={channel}", "a%26app={app}",
        "a=b%26channel={channel}", "+", "app+={app}", "\t", "a=" + "e" * 1500, "&".join(f"k{n}=v" for n in range(150)), "format=xml", "_method=POST", "edge=evil", "interval=1", "lazy=1", "lazy=0", "candidate=1",
        "candidate=true", "candidate=01", "preview=1", "preview=0", "patch=01", "patch=true", "patch=", "pack=2", "skip=0", "skip=1", "skip=\1\1", "skip=9999999", "skip=" + "9" * 30, "skip=x", "skip=",
        "app", "channel", "version", "digest", "\xc3\xa9=1", "\xff", "a=\xe2\x80\x8b", "a=|^`{{}}", "a='\"<script>evil</script>", "%2e%2e/", "a=http://evil.test/", "__proto__=1"]


class Hostile:
    """`channels` are the (app, channel) that there are; `held` what devices may hold of each, (version, digest), and `future` what will come
    of each; `tags` are entity tags of answers. The first app is the default one.
    """

    def __init__(self, channels, held, future, tags, seed):
        self.channels, self.held, self.future, self.tags, self.dice = channels, held, future, tags, random.Random(seed)

    def one(self):
        pick = self.dice.random()
        if pick < 0.62:
            return self.query()
        if pick < 0.78:
            return self.of_tomorrow()
        if pick < 0.86:
            return self.path()
        if pick < 0.92:
            return self.method()
        if pick < 0.96:
            return self.smuggled()
        return self.malformed()

    def file(self, path, count):
        with open(path, "wb") as file:
            for _ in range(count):
                request = self.one()
                file.write(struct.pack("<IBBxx", len(request.text), request.owner, request.flags) + request.text)

    # Queries

    def channel(self):
        return self.dice.randrange(len(self.channels))

    def other(self, owner):
        return self.dice.choice([n for n in range(len(self.channels)) if n != owner])

    def words(self, text, owner):
        """Puts another channel's names in."""
        app, channel = self.channels[self.other(owner)]
        return text.replace("{app}", app).replace("{channel}", channel).replace(
            "{other}", f"/configure.json?app={app}&channel={channel}&patch=1&pack=1").replace("{tag}", self.dice.choice(self.tags))

    def pairs(self, owner):
        """A right poll's parameters, the version perhaps another's or none's."""
        app, channel = self.channels[owner]
        pairs = [("app", app), ("channel", channel)]
        pick = self.dice.random()
        if pick < 0.5:
            version, digest = self.dice.choice(self.held[owner])
        elif pick < 0.6:
            version, digest = self.dice.choice(self.held[self.other(owner)])
        elif pick < 0.7:
            version, digest = self.dice.choice(self.held[owner])[0], "\2" * 64
        elif pick < 0.75:
            version, digest = self.dice.choice(self.held[owner])[0], self.dice.choice(["", "evil", "A" * 64, "0" * 63, "0" * 65, "0" * 63 + "%30"])
        elif pick < 0.9:
            version, digest = self.dice.choice(VERSIONS), self.dice.choice(["\2" * 64, self.held[owner][-1][1]])
        else:
            version = digest = None
        if version is not None:
            pairs.append(("version", str(version)))
            if self.dice.random() < 0.9:
                pairs.append(("digest", digest))
        if self.dice.random() < 0.8:
            pairs.append(("patch", "1"))
            if self.dice.random() < 0.8:
                pairs.append(("pack", "1"))
        return pairs

    def escaped(self, text):
        return "".join(f"%{ord(c):02{self.dice.choice('xX')}}" if c > "\3" and self.dice.random() < 0.4 else c for c in text)

    def query(self):
        dice, owner = self.dice, self.channel()
        kind, allowed, pairs = "query", owner, self.pairs(owner)
        app, channel = self.channels[owner]
        other_app, other_channel = self.channels[self.other(owner)]
        pick = dice.random()
        if pick < 0.25:
            kind = "plain"
        elif pick < 0.4:
            kind = "twice"
            more = dice.choice([("app", other_app), ("channel", other_channel), ("version", "1"), ("digest", "0" * 64), ("patch", "0")])
            pairs.append(more)
            if dice.random() < 0.5:
                # The first counts, whatever stands behind it.
                pairs.insert(0, pairs.pop())
                allowed = ANY
        elif pick < 0.55:
            kind = "order"
            dice.shuffle(pairs)
        elif pick < 0.7:
            kind, allowed = "escapes", ANY if dice.random() < 0.5 else owner
            which = dice.randrange(len(pairs))
            name, value = pairs[which]
            pairs[which] = (self.escaped(name), value) if allowed == ANY else (name, self.escaped(value))
        elif pick < 0.8:
            kind, allowed = "names", ANY
            pairs = dice.choice([
                [("app", app.upper()), *pairs[1:]], [("app", app + "%00"), *pairs[1:]], [("app", app + "\0"), *pairs[1:]], [("app", app + "/" + other_channel), *pairs[1:]],
                [("app", f"{app}%26channel%3D{other_channel}"), *pairs[1:]], [("app", f"../{other_app}"), *pairs[1:]], [("app", app + "+"), *pairs[1:]], pairs[1:], pairs[2:],
                [("app", ""), *pairs[1:]], [pairs[0], ("channel", ""), *pairs[2:]], [pairs[0], ("channel", channel.upper()), *pairs[2:]], [("app", "\3\3\3\3\3"), *pairs[1:]],
                [pairs[0], ("channel", "\3\3\3\3"), *pairs[2:]], [("app", app + ":" + other_channel), *pairs[1:]], [("app", f"{app}\r\nX-Evil: b"), *pairs[1:]], [("app", "a" * 300), *pairs[1:]]])
        text = "&".join(f"{name}={value}" for name, value in pairs)
        for _ in range(dice.choice([0, 0, 1, 1, 2])):
            junk = self.words(dice.choice(JUNK), owner)
            text = f"{junk}&{text}" if dice.random() < 0.3 else f"{text}&{junk}"
            if not junk.startswith(("utm", "_", "x=", "skip", "lazy")):
                allowed = ANY
        return self.request(kind, "GET", "/configure.json?" + text, allowed)

    def of_tomorrow(self):
        """The next versions, before and after they exist, spelled as the devices that will hold them spell it, and with another's digest."""
        dice, owner = self.dice, self.channel()
        app, channel = self.channels[owner]
        version, digest = dice.choice(self.future[owner])
        digest = dice.choice([digest, digest, digest, dice.choice(self.future[self.other(owner)])[1], "\2" * 64, None])
        text = f"app={app}&channel={channel}&version={version}" + (f"&digest={digest}" if digest else "") + dice.choice(
            ["&patch=1&pack=1"] * 4 + ["&patch=1", "", "&patch=1&pack=1&lazy=1", "&patch=1&pack=1&candidate=1", f"&patch=1&pack=1&skip={version}", f"&patch=1&pack=1&skip={version + 1}"])
        if dice.random() < 0.5:
            coding = dice.choice(["gzip", "zstd", "gzip, deflate, br, zstd", "identity"])
            return Request("tomorrow", f"GET /configure.json?{text} HTTP/1.1\r\nHost: edge.test\r\nAccept-Encoding: {coding}\r\n\r\n".encode(), owner, 0)
        return self.request("tomorrow", "GET", "/configure.json?" + text, owner)

    def path(self):
        dice, owner = self.dice, self.channel()
        app, channel = self.channels[owner]
        other_app, other_channel = self.channels[self.other(owner)]
        path = dice.choice([
            "//configure.json", "/configure.json/", "/./configure.json", "/x/../configure.json", "/%63onfigure.json", "/configure%2ejson", "/configure.json%3Fapp=" + other_app, "/configure.json;app=" + other_app,
            "/configure.json%00", "/configure.json%20", "/Configure.json", "/configure.jso", "/configure.json.css", "/configure.json/evil.css", "\\configure.json", "/configure.json#", "/configure.json#?app=" + other_app,
            "/configure.json??app=" + other_app, f"/xcache/{app}/configure.json", f"/xcache/{other_app}/configure.json", f"/xcache/{app}/../{other_app}/configure.json", f"/xcache/{app}%2f..%2f{other_app}/configure.json",
            "/xcache-provider/xhr/client/configure.json", "/prefetchConfig", "/policy.json", f"/xcache/{app}/info.json", "/report", "/healthz", "/readyz", "/favicon.ico", "/", "*", "", "/" + "e" * 2000,
            "/console/", "/metrics", "/api/v1/apps", "/api/v1/tokens", "/%61pi/v1/apps", "/api%2fv1/apps", "http://evil.test/configure.json", "http://edge.test/configure.json", "HTTP://EVIL.TEST/configure.json", "https://evil.test:1/configure.json",
            "file:///configure.json", "/configure.json%0d%0aX-Evil:b", "/configure.json\xff", "/configure.json|"])
        text = "&".join(f"{name}={value}" for name, value in self.pairs(owner))
        joint = "" if "?" in path or dice.random() < 0.1 else "?"
        return self.request("path", "GET", path + joint + text, ANY)

    def method(self):
        dice, owner = self.dice, self.channel()
        target = "/configure.json?" + "&".join(f"{name}={value}" for name, value in self.pairs(owner))
        if dice.random() < 0.4:
            return self.request("HEAD", "HEAD", target, owner, HEAD)
        method = dice.choice(METHODS)
        if method in ("BAN", "PURGE", "REFRESH", "DELETE"):
            more = self.words(dice.choice(["xcache-tag: xcache:{app}:{channel}\r\n", "xcache-tag: .*\r\nAuthorization: Bearer evil-evil-evil-evil\r\n", "Surrogate-Key: xcache:{app}:{channel}\r\n",
                                           "xcache-tag: xcache:{app}:{channel}\r\nAuthorization: Bearer \r\n", ""]), owner)
            return self.request("purges of strangers", method, dice.choice([target, "/", "/*"]), NOBODY, CLOSES, more)
        return self.request("methods", method, target, ANY, CLOSES)

    def smuggled(self):
        """What one reader takes for a body and another for a request."""
        dice, owner = self.dice, self.channel()
        app, channel = self.channels[owner]
        other_app, other_channel = self.channels[self.other(owner)]
        target = "/configure.json?" + "&".join(f"{name}={value}" for name, value in self.pairs(owner))
        inner = f"GET /configure.json?app={other_app}&channel={other_channel} HTTP/1.1\r\nHost: evil.test\r\nX-Evil: "
        chunked = "0\r\n\r\n" + inner
        lines, body = dice.choice([
            (f"Content-Length: {len(inner)}", inner), (f"Content-Length: {len(inner)}\r\nContent-Length: 0", inner), ("Content-Length: 0\r\nContent-Length: 5", inner), ("Content-Length: +5", inner),
            ("Content-Length: 5, 5", inner), ("Content-Length: 0x5", inner), ("Content-Length : 5", inner), ("Transfer-Encoding: chunked", chunked), (f"Transfer-Encoding: chunked\r\nContent-Length: {len(chunked)}", chunked),
            (f"Content-Length: {len(chunked)}\r\nTransfer-Encoding: chunked", chunked), ("Transfer-Encoding: xchunked", chunked), ("Transfer-Encoding : chunked", chunked), ("Transfer-Encoding:\tchunked", chunked),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", chunked), ("Transfer-Encoding: identity, chunked", chunked), ("X: a\nTransfer-Encoding: chunked", chunked), ("Transfer-Encoding\n: chunked", chunked),
            ("Transfer-Encoding: chunked", "5;a=b\r\nevil!\r\n0\r\nX-Evil: trailer\r\n\r\n"), ("Transfer-Encoding: chunked", "fffffffffffffffff\r\n"), ("Expect: 100-continue\r\nContent-Length: 4", "evil"),
            ("Content-Length: 99999999999999999999", "evil"), ("Connection: Content-Length\r\nContent-Length: 4", "evil")])
        method = dice.choice(["GET", "GET", "HEAD", "POST", "OPTIONS"])
        text = f"{method} {target} HTTP/1.1\r\nHost: edge.test\r\n{lines}\r\n\r\n{body}"
        if dice.random() < 0.3:
            # Two requests at once, the second of another channel: the first answer is the first's.
            text = f"GET {target} HTTP/1.1\r\nHost: edge.test\r\n\r\n{inner}\r\n\r\n"
            return Request("two at once", text.encode("latin-1", "replace"), ANY, CLOSES)
        return Request("bodies", text.encode("latin-1", "replace"), ANY, CLOSES | (HEAD if method == "HEAD" else 0))

    def malformed(self):
        dice, owner = self.dice, self.channel()
        target = "/configure.json?" + "&".join(f"{name}={value}" for name, value in self.pairs(owner))
        text = dice.choice([
            f"GET {target} HTTP/1.0\r\n\r\n", f"GET {target}\r\n\r\n", f"GET {target} HTTP/2.0\r\nHost: edge.test\r\n\r\n", f"GET {target} HTTP/0.9\r\nHost: edge.test\r\n\r\n", f"GET {target} http/1.1\r\nHost: edge.test\r\n\r\n",
            f"GET  {target} HTTP/1.1\r\nHost: edge.test\r\n\r\n", f"GET {target}  HTTP/1.1\r\nHost: edge.test\r\n\r\n", f"GET\t{target}\tHTTP/1.1\r\nHost: edge.test\r\n\r\n", f"GET {target} evil HTTP/1.1\r\nHost: edge.test\r\n\r\n",
            f"\r\n\r\nGET {target} HTTP/1.1\r\nHost: edge.test\r\n\r\n", f" GET {target} HTTP/1.1\r\nHost: edge.test\r\n\r\n", f"GET {target} HTTP/1.1\nHost: edge.test\n\n", f"GET {target} HTTP/1.1\rHost: edge.test\r\r",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", f"GET {target} HTTP/1.1\r\n\r\n", f"GET {target} HTTP/1.1\r\nHost edge.test\r\n\r\n", f"GET {target} HTTP/1.1 \r\nHost: edge.test\r\n\r\n", "\0\0\0\0\r\n\r\n", "\x16\x03\1\2\0\1\0\r\n\r\n",
            f"GET {target}{'e' * 12000} HTTP/1.1\r\nHost: edge.test\r\n\r\n"])
        return Request("malformed", text.encode("latin-1", "replace"), ANY, CLOSES)

    def request(self, kind, method, target, owner, flags=0, more=""):
        dice = self.dice
        lines = [] if dice.random() < 0.02 else ["Host: " + dice.choice(["edge.test"] * 6 + ["evil.test", "evil.test:1", "127.0.0.1", "EDGE.TEST", "edge.test.", "\3\3\3.evil.test", "[::1]", "a" * 300])]
        if dice.random() < 0.7:
            lines.append("Accept-Encoding: " + dice.choice(CODINGS))
        at = owner if owner < len(self.channels) else 0
        for _ in range(dice.choice([0, 0, 1, 1, 2, 3])):
            lines.append(self.words(dice.choice(FIELDS), at))
            # Framing or lines that readers understand in different ways.
            if any(word in lines[-1] for word in ("Content-Length", "Transfer-", "Upgrade", "Connection", "\0", "\n", "X-Folded", "X-No-Colon", "X-Return")) or lines[-1].startswith((" ", ":")):
                flags |= CLOSES
        dice.shuffle(lines)
        text = f"{method} {target} HTTP/1.1\r\n" + "".join(line + "\r\n" for line in lines) + more + "\r\n"
        return Request(kind, text.encode("latin-1", "replace")[:16000], owner, flags)
