"""Malformed responses of the sites and the origin. Each follows from a seed and can be reproduced."""
import gzip, http.server, json, random, re, socket, struct, threading, time
import http.client
import urllib.parse

RECORD = 16


def release(number, cdn):
    """Files that carry their version in every record: (host, name, text)."""
    def filler(name, size):
        return "".join(f"{number:07d} {index:07d}\n" for index in range(size // RECORD))
    for page in range(4):
        yield "m.example.com", f"page{page}.html", (
            f"<!doctype html><title>v{number}</title><script>window.seen = {{document: {number}}}</script>"
            "<link rel=stylesheet href=/v/b.css><script src=/v/a.js></script><script type=module src=/v/m.js></script>"
            f"<script src={cdn}/v/d.js></script><p>{'text ' * 50}</p><iframe src=/v/frame.html></iframe>")
    yield "m.example.com", "frame.html", f"<!doctype html><script>window.seen = {number}</script>"
    yield "m.example.com", "b.css", f":root {{ --seen: {number} }}\n/*{filler('b', 20_000)}*/"
    yield "m.example.com", "a.js", f"seen.script = {number};\n/*{filler('a', 40_000)}*/"
    yield "m.example.com", "m.js", f"import part from '/v/n.js';\nseen.module = {number}; seen.part = part;"
    yield "m.example.com", "n.js", f"export default {number};"
    yield "m.example.com", "lazy.js", f"export default {number};\n/*{filler('lazy', 30_000)}*/"
    yield "m.example.com", "small.txt", filler("small", 3_200)
    yield "m.example.com", "large.txt", filler("large", 1_200_000)
    yield "cdn.example.com", "d.js", f"seen.cdn = {number};"


def pieces(rng, data):
    while data:
        size = rng.randint(1, max(1, len(data) // 3 + 1))
        yield data[:size]
        data = data[size:]


ODD_PLACES = ["", "/", "//", "///", "https://", "https:///x", "http://[::1", "https://m.example.com:99999/", "https://m.example.com:0/",
              "\\\\x", "/\x01", "/%00", "/%zz", "javascript:alert(1)", "data:text/plain,redirected", "blob:null/1", "file:///etc/passwd",
              "about:blank", "https://user:pw@m.example.com/digits.txt", "?", "#x", "/digits.txt#a#b", "/digits.txt", "/api/echo",
              "/api/hostile?seed=%d", "xcache-https://m.example.com/", "https://127.0.0.1:1/", "/" + "a" * 9000, "/ä", " /digits.txt ",
              "/.well-known/xcache/blank"]
ODD_LINES = [b"Set-Cookie: a=1; Domain=example.com; Path=/", b"Set-Cookie: =; ;;", b"Set-Cookie: b=" + b"x" * 5000, b"Set-Cookie: \xff\xfe=\x80",
             b"Set-Cookie: __Host-c=1; Secure; Path=/x", b"Content-Security-Policy: default-src 'none'", b"Content-Security-Policy: \xff; ;;script-src",
             b"X-Odd: \x01\x02\x7f", b"X-Odd: \xe4\xf6\xfc", b"X-Odd: a\x00b", b"no colon here", b": no name", b"Spaced : x", b" folded onto the line before",
             b"X-Long: " + b"y" * 20_000, b"Refresh: 0; url=/second.html", b"Clear-Site-Data: \"cache\"", b"Alt-Svc: h3=\":1\"; ma=60",
             b"Upgrade: h2c", b"Connection: upgrade, x-odd", b"Connection: close", b"Keep-Alive: timeout=-1", b"Trailer: X-End",
             b"Proxy-Authenticate: Basic realm=x", b"WWW-Authenticate: Negotiate", b"Content-Type: ", b"Content-Type: text/html; charset=\xff",
             b"Content-Disposition: attachment; filename=\"../../x\"", b"Access-Control-Allow-Origin: *", b"Age: -1", b"Date: never", b"ETag: W/",
             b"Vary: *", b"Strict-Transport-Security: max-age=0", b"Location: /digits.txt", b"Transfer-Encoding: identity",
             b"Content-Range: bytes 5-1/0", b"Cache-Control: max-age=99999999999999999999", b"Sec-WebSocket-Accept: x", b"Link: </x>; rel=preload",
             b"Service-Worker-Allowed: /", b"X-Frame-Options: DENY", b"Timing-Allow-Origin: *"]


def head_and_body(rng, seed, origin):
    text = f"[{seed}]".encode() + bytes(rng.choices(b"0123456789\n", k=rng.choice([0, 1, 10, 1_000, 30_000, 100_000])))
    status = rng.choice([200] * 12 + [201, 203, 204, 205, 206, 206, 300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 407, 416, 421, 425, 500, 503, 511, 599, 600, 999])
    reason = rng.choice([b" OK"] * 4 + [b"", b" ", b" \xff\xfe", b" " + b"r" * 3000])
    start = rng.choice([b"HTTP/1.1"] * 12 + [b"HTTP/1.0", b"HTTP/1.7", b"http/1.1", b"HTTP/2"])
    lines = [b"%s %d%s" % (start, status, reason)]
    if 300 <= status < 400 and rng.random() < 0.9:
        place = rng.choice(ODD_PLACES)
        lines.append(b"Location: " + (place % rng.randint(0, 1 << 30) if "%d" in place else place).encode())
    if rng.random() < 0.8:
        lines.append(b"Content-Type: text/plain")
    if origin:
        lines.append(b"Access-Control-Allow-Origin: " + origin.encode())
    if status == 206:
        lines.append(rng.choice([b"Content-Range: bytes 0-9/10", b"Content-Range: bytes 9-0/*", b"Content-Range: lines 1-2/3", b"X-None: 1"]))
    lines += rng.sample(ODD_LINES, rng.choice([0, 0, 0, 1, 1, 2, 5]))
    if rng.random() < 0.04:
        lines += [b"X-Many-%d: %s" % (index, b"z" * 900) for index in range(rng.choice([50, 150, 400]))]
    size, body = b"%d" % len(text), text
    frame = rng.choice(["length"] * 6 + ["chunks"] * 3 + ["short", "excess", "twice", "two", "negative", "word", "huge", "plus", "list", "both", "gzip",
                        "bad gzip", "cut gzip", "coding", "end", "bad chunk", "cut chunk", "huge chunk", "trailer", "extension"])
    if status in (204, 304) and frame not in ("length", "short", "end"):
        frame = "length"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces(rng, text))
    chunked = b"Transfer-Encoding: chunked"
    match frame:
        case "length": lines.append(b"Content-Length: " + size)
        case "chunks": lines.append(chunked); body = chunks + b"0\r\n\r\n"
        case "short": lines.append(b"Content-Length: %d" % (len(text) + rng.randint(1, 5000)))
        case "excess": lines.append(b"Content-Length: " + size); body = text + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON"
        case "twice": lines += [b"Content-Length: " + size] * 2
        case "two": lines += [b"Content-Length: " + size, b"Content-Length: %d" % (len(text) + 3)]
        case "negative": lines.append(b"Content-Length: -" + size)
        case "word": lines.append(b"Content-Length: many")
        case "huge": lines.append(b"Content-Length: 99999999999999999999999")
        case "plus": lines.append(b"Content-Length: +" + size)
        case "list": lines.append(b"Content-Length: " + size + b", " + size)
        case "both": lines += [chunked, b"Content-Length: 3"]; body = chunks + b"0\r\n\r\n"
        case "gzip": body = gzip.compress(text); lines += [b"Content-Encoding: gzip", b"Content-Length: %d" % len(body)]
        case "bad gzip":
            body = bytearray(gzip.compress(text)); body[rng.randrange(len(body))] ^= 1 << rng.randrange(8); body = bytes(body)
            lines += [b"Content-Encoding: gzip", b"Content-Length: %d" % len(body)]
        case "cut gzip":
            body = gzip.compress(text)[:-rng.randint(1, 10)]
            lines += [b"Content-Encoding: gzip", b"Content-Length: %d" % len(body)]
        case "coding": lines += [b"Content-Encoding: " + rng.choice([b"x-odd", b"br", b"gzip, gzip", b"zstd", b"deflate", b"identity"]), b"Content-Length: " + size]
        case "end": pass
        case "bad chunk": lines.append(chunked); body = chunks + rng.choice([b"-1\r\n", b"zz\r\n", b"\r\n\r\n", b"5;\r\nabcdeXX"]) + b"0\r\n\r\n"
        case "cut chunk": lines.append(chunked); body = chunks[:rng.randint(0, len(chunks))]
        case "huge chunk": lines.append(chunked); body = chunks + b"ffffffffffffffffff\r\nx\r\n0\r\n\r\n"
        case "trailer": lines.append(chunked); body = chunks + b"0\r\nX-End: 1\r\nContent-Length: 5\r\n\r\n"
        case "extension": lines.append(chunked); body = chunks.replace(b"\r\n", b";a=b\r\n", 1) + b"0\r\n\r\n"
    return lines, body, frame


WAYS = ["once"] * 12 + ["dripped"] * 3 + ["held", "cut", "reset", "held for long", "none"]


def answer(connection, seed, may_keep, origin):
    """Writes the response with this seed; returns whether to close the connection."""
    rng = random.Random(seed)
    lines, body, frame = head_and_body(rng, seed, origin)
    end = rng.choice([b"\r\n"] * 8 + [b"\n"])
    early = rng.choice([b""] * 8 + [b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n" * 3,
                                   b"HTTP/1.1 199 Odd\r\nContent-Length: 5\r\n\r\n"])
    way = rng.choice(WAYS)
    keeps = may_keep and rng.random() < 0.5
    if not keeps:
        lines.append(b"Connection: close")
    data = early + end.join(lines) + end * 2 + body
    try:
        match way:
            case "dripped":
                for piece in list(pieces(rng, data))[:40]:
                    connection.sendall(piece)
                    data = data[len(piece):]
                    time.sleep(0.002)
                connection.sendall(data)
            case "held":
                time.sleep(rng.random() / 2)
                connection.sendall(data)
            case "held for long":
                connection.sendall(data[:rng.randint(0, len(data))])
                time.sleep(1)
            case "cut" | "reset":
                connection.sendall(data[:rng.randint(0, len(data))])
                if way == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            case "none": pass
            case _: connection.sendall(data)
        if way in ("cut", "reset", "held for long", "none") or not keeps:
            if way != "reset":
                connection.shutdown(socket.SHUT_RDWR)
            return True
    except OSError:
        return True
    return frame not in WHOLE or b"Transfer-Encoding: identity" in lines


# Framings whose end is explicit, and those that browsers accept.
WHOLE = ["length", "chunks", "gzip", "trailer", "extension", "twice"]


def is_whole(seed):
    """Whether the response with this seed is valid, if unusual: pages then get it as without a device."""
    rng = random.Random(seed)
    lines, _, frame = head_and_body(rng, seed, None)
    rng.choice(range(9)), rng.choice(range(11))
    way = rng.choice(WAYS)
    told = b"\n".join(lines)
    return (frame in WHOLE and way in ("once", "dripped", "held") and b"\x00" not in told and b"HTTP/1.7" not in told
            and b"xcache/blank" not in told)


class BadOrigin:
    """A proxy in front of the real origin, which answers badly at a given rate."""

    def __init__(self, origin, seed):
        self.origin = urllib.parse.urlsplit(origin)
        self.rng = random.Random(seed)
        self.lock = threading.Lock()
        self.percent = self.bad = 0
        self.last = b"{}"
        bad_origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_ANY(self):
                try:
                    bad_origin.answer(self)
                except OSError:
                    self.close_connection = True
            do_GET = do_POST = do_HEAD = do_ANY

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass
        server = Server(("127.0.0.1", 0), Handler)
        self.server = f"http://127.0.0.1:{server.server_address[1]}{self.origin.path}"
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def set_percent(self, percent):
        with self.lock:
            bad, self.bad, self.percent = self.bad, 0, percent
        return bad

    def answer(self, client):
        body = client.rfile.read(int(client.headers.get("Content-Length") or 0))
        real = http.client.HTTPConnection(self.origin.hostname, self.origin.port, timeout=30)
        fields = {name: value for name, value in client.headers.items() if name.lower() not in ("connection", "host")}
        real.request(client.command, client.path, body or None, {**fields, "Host": self.origin.netloc})
        got = real.getresponse()
        data, status = got.read(), got.status
        real.close()
        fields = [(name, value) for name, value in got.getheaders() if name.lower() not in ("connection", "transfer-encoding", "content-length", "keep-alive")]
        with self.lock:
            is_bad = self.rng.random() * 100 < self.percent
            self.bad += is_bad
            rng = random.Random(self.rng.random())
            last, self.last = self.last, data
        way, length = "as it is", None
        if is_bad:
            way = rng.choice(["held", "held and cut", "cut", "short", "flipped", "longer", "dripped", "status", "moved", "coding", "digest", "empty",
                              "another", "reset", "204", "206", "304", "many heads", "garbage"])
        match way:
            case "held": time.sleep(rng.random())
            case "held and cut":
                time.sleep(rng.random())
                client.close_connection = True
                return
            case "cut": length, data = len(data), data[:rng.randint(0, len(data))]
            case "short": data = data[:rng.randint(0, len(data))]
            case "flipped":
                data = bytearray(data)
                for _ in range(rng.choice([1, 1, 20])):
                    if data:
                        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                data = bytes(data)
            case "longer": data += bytes(rng.choices(range(256), k=rng.choice([1, 100, 100_000])))
            case "status": status = rng.choice([400, 401, 403, 404, 410, 416, 429, 500, 502, 503])
            case "moved":
                status, data = rng.choice([301, 302, 303, 307, 308]), b""
                fields.append(("Location", rng.choice(["/", client.path, "//", "https://127.0.0.1:1/", "file:///etc/passwd", "/none"])))
            case "coding": fields = [one for one in fields if one[0].lower() != "content-encoding"] + [("Content-Encoding", rng.choice(["gzip", "zstd", "dcz", "br", "x-odd"]))]
            case "digest":
                data = re.sub(rb"[0-9a-f]{32,64}", lambda found: found[0][:-1] + (b"0" if found[0][-1:] != b"0" else b"1"), data, count=rng.choice([1, 0]))
            case "empty": data = b""
            case "another": data = last
            case "reset":
                client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close_connection = True
                return
            case "204" | "206" | "304": status = int(way)
            case "many heads": fields += [(f"X-Many-{index}", "z" * 900) for index in range(rng.choice([50, 400]))]
            case "garbage": data = bytes(rng.choices(range(256), k=len(data)))
        client.send_response_only(status)
        for name, value in fields:
            client.send_header(name, value)
        if status not in (204, 304):
            client.send_header("Content-Length", str(len(data) if length is None else length))
        client.end_headers()
        if client.command != "HEAD" and status not in (204, 304):
            for piece in (pieces(rng, data) if way == "dripped" else [data]):
                client.wfile.write(piece)
                client.wfile.flush()
                if way == "dripped":
                    time.sleep(0.01)
        if way == "cut":
            client.close_connection = True
