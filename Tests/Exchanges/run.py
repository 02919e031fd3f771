#!/usr/bin/env python3
"""Requests of pages, made by our fetcher and by an independent client against one real server: run.py NETWORK_BENCH [--every N]

What the server saw (method, path, headers that matter, body) and what the client got (status, headers, bytes, cookies, address) have to
be equal. The other client is Python's http.client with the redirects of the Fetch standard and http.cookiejar, for brotli and for
every plain GET curl. Each exchange is written here as what is asked and what is answered. --every N takes each Nth of them.
Then a body of 1 GB (64 MB with --every) goes out, which may take no more than 24 MB of memory.
"""
import gzip, hashlib, http.client, http.cookiejar, http.server, itertools, json, socket, subprocess
import sys, tempfile, threading, time, urllib.parse, urllib.request, zlib

import zstandard

probe = sys.argv[1]
every = int(sys.argv[sys.argv.index("--every") + 1]) if "--every" in sys.argv else 1
TEXT = b"const answer = 42;\n" * 400
# TEXT in brotli.
BROTLI = bytes([0x1b, 0xaf, 0x1d, 0xf8, 0x45, 0x27, 0xe7, 0x17, 0x3a, 0xf0, 0x77, 0xfb, 0x32, 0xca, 0x0b, 0xaa, 0x58,
                0xb9, 0xad, 0x44, 0xf0, 0x47, 0xef, 0xdc, 0x5f, 0xe8, 0xaa, 0x02, 0xa0, 0x68, 0x05, 0x00])
CODED = {"gzip": gzip.compress(TEXT, mtime=0), "br": BROTLI, "zstd": zstandard.compress(TEXT), "deflate": zlib.compress(TEXT)}
seen, lock = {}, threading.Lock()


def pattern(count):
    return bytes((i * 31 + (i >> 8)) & 255 for i in range(count))


# MARK: the server

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *words):
        pass

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass

    def any(self):
        length = int(self.headers.get("Content-Length") or 0)
        if self.path == "/upload":
            count = 0
            while count < length:
                piece = self.rfile.read(min(1 << 20, length - count))
                if not piece:
                    return
                count += len(piece)
            return self.say(200, [], str(count).encode(), "length")
        body = self.rfile.read(length)
        told = table[self.path.split("/")[2]]
        own = ["accept", "accept-language", "authorization", "content-length", "content-type", "if-none-match", "origin",
               "range", "referer", "user-agent", "x-own"]
        entry = [self.command, told["name"], hashlib.sha256(body).hexdigest(), len(body),
                 {name: self.headers[name] for name in own if name in self.headers},
                 sorted((self.headers.get("Cookie") or "").split("; "))]
        with lock:
            seen.setdefault(self.headers.get("X-Case"), []).append(entry)
        self.answer(told)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = any

    def answer(self, told):
        fields = [tuple(f) for f in told.get("fields", [])]
        status, framing = told.get("status", 200), told.get("framing", "length")
        if "to" in told:
            fields.append(("Location", told["to"]))
            return self.say(told["redirect"], fields, b"moved", framing)
        if framing == "nothing":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.close_connection = True
            return self.connection.close()
        if framing == "garbage":
            self.wfile.write(b"what is this\r\n\r\n")
            self.close_connection = True
            return
        body = told["body"].encode() if "body" in told else TEXT
        if "range" in told and self.headers.get("Range"):
            first, last = self.headers["Range"].split("=")[1].split("-")
            start = int(first) if first else max(0, len(TEXT) - int(last))
            end = min(int(last) if last and first else len(TEXT) - 1, len(TEXT) - 1)
            if start >= len(TEXT):
                return self.say(416, fields + [("Content-Range", f"bytes */{len(TEXT)}")], b"", "length")
            fields.append(("Content-Range", f"bytes {start}-{end}/{len(TEXT)}"))
            return self.say(206, fields, TEXT[start:end + 1], framing)
        if "tag" in told:
            fields.append(("ETag", told["tag"]))
            if self.headers.get("If-None-Match") == told["tag"]:
                return self.say(304, fields, b"", "none")
        if "coding" in told:
            fields.append(("Content-Encoding", told["coding"]))
            body = CODED.get(told["coding"], body)
        self.say(status, fields, body, "none" if status in (204, 304) else framing)

    def say(self, status, fields, body, framing):
        head = [f"HTTP/1.1 {status} Said"] + [f"{n}: {v}" for n, v in fields]
        if framing in ("length", "slow"):
            head.append(f"Content-Length: {len(body)}")
        elif framing == "cut":
            head.append(f"Content-Length: {len(body) + 9}")
        elif framing in ("chunked", "cutchunk"):
            head.append("Transfer-Encoding: chunked")
        elif framing == "close":
            head.append("Connection: close")
        self.wfile.write(("\r\n".join(head) + "\r\n\r\n").encode())
        if self.command == "HEAD" or framing == "none":
            self.close_connection = self.close_connection or framing in ("close", "cut", "cutchunk")
            return
        if framing in ("chunked", "cutchunk"):
            for start in range(0, len(body), 1000):
                piece = body[start:start + 1000]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n" if framing == "chunked" else b"40\r\nhalf")
        elif framing == "slow":
            for start in range(0, len(body), 2000):
                time.sleep(0.01)
                self.wfile.write(body[start:start + 2000])
        else:
            self.wfile.write(body)
        if framing in ("close", "cut", "cutchunk"):
            self.close_connection = True


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


home, abroad = serve(), serve()


# What is answered, by the last part of its path.
table = {"loop": dict(name="loop", redirect=302, to="loop")}


def place(told, base=""):
    key = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
    table[key] = told
    return f"{base}/c/{key}"


# MARK: what is asked and answered

MULTIPART = ('--edge\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--edge\r\nContent-Disposition: form-data; '
             'name="f"; filename="x.bin"\r\nContent-Type: application/octet-stream\r\n\r\n\0\1\2\r\n--edge--\r\n')
ASKS = {
    "GET": dict(method="GET"), "HEAD": dict(method="HEAD"), "OPTIONS": dict(method="OPTIONS"),
    "DELETE": dict(method="DELETE"), "POST of nothing": dict(method="POST"),
    "POST of a form": dict(method="POST", type="application/x-www-form-urlencoded", text="a=1&b=%20+"),
    "POST of JSON": dict(method="POST", type="application/json", text='{"ä":[1,null]}'),
    "POST of parts": dict(method="POST", type="multipart/form-data; boundary=edge", text=MULTIPART),
    "POST of 300 KB": dict(method="POST", type="application/octet-stream", count=300_000),
    "PUT of a stream": dict(method="PUT", type="application/octet-stream", count=900_001, stream=1),
    "PATCH": dict(method="PATCH", type="application/json", text="[]"),
}
SETS = [["Set-Cookie", "a=1; Path=/"], ["Set-Cookie", "b=two; Path=/; HttpOnly"], ["X-Server", "one"], ["Vary", "Origin"]]
END = dict(name="end", fields=[["Set-Cookie", "c=3; Path=/"], ["X-Server", "end"]])
ANSWERS = {
    "200": dict(fields=SETS), "chunked": dict(framing="chunked"), "to the end": dict(framing="close"),
    "slow": dict(framing="slow"), "gzip": dict(coding="gzip"), "204": dict(status=204), "404": dict(status=404, body="no"),
    "500": dict(status=500, fields=SETS),
    **{str(s): dict(redirect=s, fields=SETS, to=place(END)) for s in (301, 302, 303, 307, 308)},
}


def cases():
    for (ask, a), (answer, b) in itertools.product(ASKS.items(), ANSWERS.items()):
        yield dict(a, told=b, name=f"{ask}, {answer}")
    for coding in ["gzip", "deflate", "br", "zstd", "identity"]:
        for framing in ["length", "chunked", "slow"]:
            yield dict(method="GET", told=dict(coding=coding, framing=framing), name=f"{coding}, {framing}", curl=1)
        yield dict(ASKS["POST of JSON"], told=dict(coding=coding), name=f"POST, {coding}", curl=1)
    for part in ["0-0", "0-99", "100-", "-5", "7000-9999", "99999-", "0-"]:
        yield dict(method="GET", extra=[["Range", f"bytes={part}"]], told=dict(range=1), name=f"range {part}")
    for tag in ['"a"', 'W/"a"']:
        for asked in ['"a"', '"b"']:
            yield dict(method="GET", extra=[["If-None-Match", asked]], told=dict(tag=tag), name=f"{asked} of {tag}")
    for count in [2, 5, 20]:
        told = END
        for number in range(count):
            told = dict(name=f"step {number}", redirect=302, to=place(told),
                        fields=[["Set-Cookie", f"step{number}=1; Path=/"], ["Set-Cookie", "last=%d; Path=/" % number]])
        yield dict(method="GET", told=told, name=f"{count} redirects")
    gone = dict(END, fields=[["Set-Cookie", "a=; Path=/; Max-Age=0"]])
    yield dict(method="GET", told=dict(redirect=302, to=place(gone), fields=SETS), name="a cookie that goes")
    again = dict(END, fields=[["Set-Cookie", "a=2; Path=/"]])
    yield dict(method="POST", told=dict(redirect=303, to=place(again), fields=SETS), name="a cookie that changes")
    for status in [302, 307]:
        yield dict(ASKS["POST of JSON"], extra=[["Authorization", "Bearer x"]],
                   told=dict(redirect=status, to=place(END, abroad)), name=f"to another server, {status}")
        yield dict(ASKS["POST of JSON"], extra=[["Authorization", "Bearer x"]],
                   told=dict(redirect=status, to=place(END)), name=f"to the same server, {status}")
        yield dict(method="GET", back=1, told=dict(redirect=status, to=place(END), fields=SETS), name=f"given back, {status}")
    yield dict(method="GET", told=dict(status=300, fields=SETS), name="300")
    yield dict(method="GET", told=dict(status=302, fields=SETS), name="a redirect without an address")
    for framing in ["cut", "cutchunk", "nothing", "garbage"]:
        for method in ["GET", "POST"]:
            yield dict(method=method, told=dict(framing=framing), name=f"{method}, {framing}")
    yield dict(method="GET", told={}, base="http://127.0.0.1:1", name="nobody there")
    for status in [401, 403, 410, 429, 503]:
        yield dict(ASKS["POST of a form"], told=dict(status=status, body="no", fields=SETS), name=f"{status}")
    yield dict(method="GET", told=dict(redirect=302, to="/c/loop"), name="redirects without end")


# MARK: the other client

class Answer(Exception):
    pass


class Jar:
    """http.cookiejar, fed by hand."""

    def __init__(self):
        self.jar = http.cookiejar.CookieJar()

    def header(self, url):
        request = urllib.request.Request(url)
        self.jar.add_cookie_header(request)
        return request.get_header("Cookie")

    def take(self, response, url):
        class Wrapped:
            def info(self):
                return response.headers
        self.jar.extract_cookies(Wrapped(), urllib.request.Request(url))

    def all(self):
        return sorted(f"{c.name}={c.value}" for c in self.jar)


def direct(ask, headers, body):
    url, method, jar = ask["url"], ask["method"], Jar()
    for _ in range(21):
        at = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(at.hostname, at.port, timeout=20)
        sent = dict(headers)
        if jar.header(url):
            sent["Cookie"] = jar.header(url)
        connection.request(method, at.path + ("?" + at.query if at.query else ""), body, sent)
        response = connection.getresponse()
        if response.version == 9:
            raise http.client.BadStatusLine("no HTTP")
        data = response.read()
        connection.close()
        jar.take(response, url)
        status, location = response.status, response.getheader("Location")
        if "back" in ask or location is None or status not in (301, 302, 303, 307, 308):
            names = [(n.lower(), v) for n, v in response.getheaders()]
            coding = dict(names).get("content-encoding")
            decode = {"gzip": gzip.decompress, "deflate": zlib.decompress,
                      "zstd": lambda d: zstandard.ZstdDecompressor().decompressobj().decompress(d)}
            if coding in decode and data:
                data = decode[coding](data)
            return status, url, names, data, jar.all()
        to = urllib.parse.urljoin(url, location)
        if urllib.parse.urlsplit(to).netloc != at.netloc:
            headers = {n: v for n, v in headers.items() if n != "Authorization"}
        if (status in (301, 302) and method == "POST") or (status == 303 and method not in ("GET", "HEAD")):
            method, body = "GET", None
            headers = {n: v for n, v in headers.items() if n != "Content-Type"}
        url = to
    raise Answer("too many redirects")


def by_curl(ask, headers, body):
    with tempfile.TemporaryDirectory() as folder:
        words = ["curl", "-sS", "--compressed", "-X", ask["method"], "-D", f"{folder}/head", "-o", f"{folder}/body"]
        for name, value in headers.items():
            words += ["-H", f"{name}: {value}"]
        if body is not None:
            words += ["--data-binary", "@-"]
        subprocess.run(words + [ask["url"]], input=body, check=True, stderr=subprocess.DEVNULL)
        lines = open(f"{folder}/head", newline="").read().split("\r\n")
        names = [(l.split(":")[0].lower(), l.split(":", 1)[1].strip()) for l in lines[1:] if ":" in l]
        return int(lines[0].split()[1]), ask["url"], names, open(f"{folder}/body", "rb").read(), []


def reference(ask, headers, body):
    try:
        status, url, names, data, cookies = (by_curl if "curl" in ask else direct)(ask, headers, body)
    except (OSError, http.client.HTTPException, subprocess.CalledProcessError, Answer) as error:
        return {"error": repr(error)}
    return {"status": status, "url": url, "length": len(data), "sha256": hashlib.sha256(data).hexdigest(),
            "headers": [f"{n}: {v}" for n, v in names], "cookies": cookies}


# MARK: the comparison

def plain(result):
    """What has to be equal. A body that was decoded has neither a coding nor a length."""
    if "error" in result:
        return "error"
    headers = [h for h in result["headers"] if h.split(":")[0] not in ("connection", "transfer-encoding")]
    isCoded = any(h.startswith("content-encoding:") and h != "content-encoding: identity" for h in headers)
    if isCoded or "gone" in result:
        headers = [h for h in headers if h.split(":")[0] not in ("content-encoding", "content-length")]
    return [result["status"], result["url"], result["length"], result["sha256"], sorted(headers), result["cookies"]]


def main():
    process = subprocess.Popen([probe, "exchanges"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    count, failures = 0, []
    for number, case in enumerate(cases()):
        if number % every:
            continue
        count += 1
        told = dict({"name": "start"}, **case["told"])
        base = [["User-Agent", "Engine/1"], ["Accept", "*/*"], ["Accept-Language", "de"], ["X-Own", "a b"],
                ["Accept-Encoding", "gzip, deflate, br, zstd"]]
        headers = base + ([["Content-Type", case["type"]]] if "type" in case else []) + case.get("extra", [])
        ask = {k: case[k] for k in ("method", "text", "count", "stream", "back", "curl") if k in case}
        ask.update(id=number, url=place(told, case.get("base", home)))
        process.stdin.write(json.dumps(dict(ask, headers=headers + [["X-Case", f"{number}-ours"]])) + "\n")
        process.stdin.flush()
        ours = json.loads(process.stdout.readline())
        body = case["text"].encode() if "text" in case else pattern(case["count"]) if "count" in case else None
        if body is None and case["method"] == "POST":
            body = b""
        theirs = reference(ask, dict(headers + [["X-Case", f"{number}-theirs"]]), body)
        if "coding" in told and told["coding"] != "identity":
            ours["gone"] = theirs["gone"] = 1
        if "curl" in case:
            ours["cookies"] = []
        with lock:
            saw = [seen.pop(f"{number}-{who}", []) for who in ("ours", "theirs")]
        if plain(ours) != plain(theirs):
            failures.append(f"{case['name']}: the page got\n    {plain(ours)}\n    {plain(theirs)}\n    {ours}\n    {theirs}")
        if saw[0] != saw[1]:
            failures.append(f"{case['name']}: the server saw\n    {saw[0]}\n    {saw[1]}")
    process.stdin.close()
    process.wait()
    for failure in failures:
        print(failure)
    print(f"{count} exchanges, {len(failures)} differ")

    size = 1 << 30 if every == 1 else 64 << 20
    out = subprocess.run([probe, "upload", f"{home}/upload", str(size)], capture_output=True, text=True, check=True).stdout
    arrived, milliseconds, before, after = (int(part) for part in out.split())
    print(f"{arrived >> 20} MB sent in {milliseconds} ms; memory at most {before} KB before, {after} KB after")
    if arrived != size or after - before > 24 << 10:
        failures.append("upload")
    sys.exit(1 if failures else 0)


main()
