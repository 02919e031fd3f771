#!/usr/bin/env python3
"""The TLS sites of the WebKit tests, and a real origin: site.py FOLDER XCACHE

Hosts are m.example.com and cdn.example.com, which belong to the app, foreign.test, whose certificate is trusted as well, bad.test,
whose certificate isn't trusted, and m.localhost, which resolves without the tests' resolver. It publishes pages/, prints one line
of JSON (port, server, authorities, certificate), and then reads one command a line, each of which is answered with a line:

  stop | start        stop or start the sites; the port stays the same
  log                 requests to the sites since the last time, as JSON
  connections         number of connections to the sites since the last time
  edit HOST/PATH TEXT replaces a file's text, and publishes it
  large HOST/PATH MB  creates a file whose 64 KiB blocks begin with their number, and publishes it
  tone HOST/PATH MB   creates a WAV file, a tone in the first and last ten seconds and silence in between, and publishes it
  run WORDS           runs xcache with these words
  ask WORDS           the same, answered with its output as JSON
  list HOST           publishes pages for a host that differ from its own, with the title "listed"
  probe PORT          a proxy's answers without a password and with a wrong one
  forward PORT PASSWORD  a new port that leads to m.example.com through that proxy
  script good|bad JS  adds a script to the policy, with a good or bad signature; answers the public key in base64
  release N           writes the files of version N below v/, and publishes them
  proxy-origin SEED   starts a proxy to the origin, with bad answers set by bad-percent; answers its address
  forget              removes v/ from the sites
  whole FROM TO       the seeds in this range whose hostile responses are valid, as JSON
  bad-percent PERCENT sets the rate of bad answers; answers their number since the last time
  quit
"""
import base64, gzip, hashlib, http.server, json, math, os, re, shutil, socket, ssl, struct, subprocess, sys, threading, time
import urllib.parse

import attacks

folder, xcache = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
here = os.path.dirname(os.path.abspath(__file__))
www = f"{folder}/www"
HOSTS = ["m.example.com", "cdn.example.com", "foreign.test", "m.localhost"]


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def certificates():
    def own(name, names):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=tests", "-addext", "subjectAltName=" + ",".join("DNS:" + n for n in names),
                "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem")
    own("site", HOSTS)
    own("bad", ["bad.test"])


def context():
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(f"{folder}/site.pem", f"{folder}/site.key")
    bad = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    bad.load_cert_chain(f"{folder}/bad.pem", f"{folder}/bad.key")

    def choose(connection, name, _):
        if name == "bad.test":
            connection.context = bad
    made.sni_callback = choose
    return made


log, taken, log_lock = [], [], threading.Lock()
recorded = {}
# Headers of published entries, which the site sends, too.
HEADERS = {"csp-header.html": {"Content-Security-Policy": "default-src 'self'; style-src 'self'"},
           "framed-by-nobody.html": {"X-Frame-Options": "DENY"}}
TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml",
         "png": "image/png", "ttf": "font/ttf", "json": "application/json", "wasm": "application/wasm",
         "txt": "text/plain; charset=utf-8", "wav": "audio/wav", "bin": "application/octet-stream"}


class Part:
    """A range of a file, which may be larger than memory."""

    def __init__(self, path, start, count):
        self.path, self.start, self.count = path, start, count

    def __len__(self):
        return self.count

    def pieces(self):
        with open(self.path, "rb") as file:
            file.seek(self.start)
            left = self.count
            while left > 0 and (piece := file.read(min(left, 1 << 20))):
                left -= len(piece)
                yield piece


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16

    def log_message(self, *_):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (OSError, ssl.SSLError):
            self.close_connection = True

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            out = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                out += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return out
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send(self, body=b"", status=200, type="text/plain; charset=utf-8", **fields):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("Content-Type", type)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.allow()
        for name, value in fields.items():
            for one in value if isinstance(value, list) else [value]:
                self.send_header(name.replace("_", "-"), one)
        self.end_headers()
        if self.command != "HEAD":
            for piece in body.pieces() if isinstance(body, Part) else [body]:
                self.wfile.write(piece)

    def allow(self):
        if origin := self.headers.get("Origin"):
            self.send_header("Access-Control-Allow-Origin", origin)
            self.send_header("Access-Control-Allow-Credentials", "true")
            self.send_header("Vary", "Origin")

    def do_ANY(self):
        host = self.headers.get("Host", "").split(":")[0]
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        with log_lock:
            log.append(f"{self.command} {host}{self.path}")
        if self.headers.get("Upgrade", "").lower() == "websocket":
            return self.websocket()
        if url.path == "/api/early":
            return self.early()
        body = self.body()
        if url.path.startswith("/api/"):
            return getattr(self, "api_" + url.path[5:].split("/")[0], self.missing)(query, body)
        path = f"{www}/{host}{urllib.parse.unquote(url.path)}"
        if not os.path.isfile(path):
            return self.missing(query, body)
        size = os.path.getsize(path)
        type = TYPES.get(path.rsplit(".", 1)[-1], "application/octet-stream")
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if found and (found[1] or found[2]):
            start, end = (int(found[1]), int(found[2] or size - 1)) if found[1] else (max(0, size - int(found[2])), size - 1)
            if start >= size:
                return self.send(b"", 416, type, Content_Range=f"bytes */{size}")
            end = min(end, size - 1)
            return self.send(Part(path, start, end + 1 - start), 206, type, Content_Range=f"bytes {start}-{end}/{size}", Accept_Ranges="bytes")
        own = HEADERS.get(url.path.lstrip("/"), {}) if host == "m.example.com" else {}
        self.send(Part(path, 0, size), 200, type, Accept_Ranges="bytes", Cache_Control="no-cache", **own)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_ANY

    def missing(self, *_):
        self.send("not here", 404)

    def api_echo(self, query, body):
        if self.command == "OPTIONS":
            return self.send(b"", 204, Access_Control_Allow_Methods="PUT, PATCH, DELETE",
                             Access_Control_Allow_Headers="x-own, content-type", Access_Control_Max_Age="0")
        kind = self.headers.get("Content-Type")
        self.send(json.dumps({"method": self.command, "path": self.path, "type": kind and kind.split("boundary=")[0],
                              "length": len(body), "text": body[:2000].decode("latin-1"),
                              "sha256": hashlib.sha256(body).hexdigest(), "own": self.headers.get("X-Own"),
                              "cookie": self.headers.get("Cookie"), "referer": self.headers.get("Referer"),
                              "origin": self.headers.get("Origin"),
                              "proxy": self.headers.get("Proxy-Authorization"), "accept": self.headers.get("Accept-Encoding")}),
                  type="application/json", Cache_Control="no-store")

    def api_record(self, query, body):
        """Records a body, with a multipart boundary replaced by B."""
        type = self.headers.get("Content-Type")
        if boundary := re.search("boundary=(.+)", type or ""):
            type = type.replace(boundary[1], "B")
            body = body.replace(boundary[1].encode(), b"B")
        recorded[query["key"]] = json.dumps([self.command, type, body.hex()])
        self.send("recorded")

    def api_recorded(self, query, body):
        self.send(recorded.get(query["key"], ""), 200 if query["key"] in recorded else 404, Cache_Control="no-store")

    def api_form(self, query, body):
        self.send(f"<!doctype html><pre>{self.command} {body.decode('latin-1').replace('<', '&lt;')}</pre>",
                  type="text/html")

    def api_cookie(self, query, body):
        self.send("set", Set_Cookie=query["set"].split("|"), Cache_Control="no-store")

    def api_redirect(self, query, body):
        self.send(b"", int(query.get("status", 302)), Location=query["to"])

    def api_status(self, query, body):
        self.send("status " + query["code"], int(query["code"]))

    def api_gzip(self, query, body):
        self.send(gzip.compress(b"zipped " * 1000), Content_Encoding="gzip")

    def api_cached(self, query, body):
        self.send(str(time.time_ns()), Cache_Control="max-age=600")

    def api_pattern(self, query, body):
        size = int(query["size"])
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(size))
        self.end_headers()
        piece = bytes(range(256)) * 256
        while size > 0:
            self.wfile.write(piece[:size])
            size -= len(piece)

    def api_attachment(self, query, body):
        size = int(query["size"])
        self.send_response(200)
        self.send_header("Content-Type", "application/x-own; charset=x")
        self.send_header("Content-Disposition", f'attachment; filename="{query["name"]}"')
        self.send_header("Content-Length", str(size))
        self.end_headers()
        text = (bytes(range(256)) * (size // 256 + 1))[:size // 2 if "breaks" in query else size]
        if "pause" in query:
            self.wfile.write(text[:size // 2])
            self.wfile.flush()
            time.sleep(float(query["pause"]))
            text = text[size // 2:]
        self.wfile.write(text)
        self.wfile.flush()
        if "breaks" in query:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def api_pieces(self, query, body):
        self.send_response(200)
        self.send_header("Content-Type", query.get("type", "text/plain"))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(int(query.get("count", 4))):
            text = f"data: {number}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            self.wfile.flush()
            time.sleep(float(query.get("pause", 0.05)))
        self.wfile.write(b"0\r\n\r\n")

    def api_break(self, query, body):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"half")
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def api_cut(self, query, body):
        """A truncated script, compressed or not, with a length or in chunks; or a complete but damaged gzip."""
        text = b"window.ran = (window.ran || 0) + 1; // 0123456789abcdef\n" * 1000
        how = query["how"].split()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-own" if "name" in query else "text/javascript")
        if "name" in query:
            self.send_header("Content-Disposition", f'attachment; filename="{query["name"]}"')
        self.send_header("Cache-Control", "max-age=600")
        if "gzip" in how:
            # Hardly compressible, so that half of the gzip is half of the text.
            text = b"".join(b"window.ran = (window.ran || 0) + 1; // %s\n" % hashlib.sha256(b"%d" % i).hexdigest().encode() for i in range(2 if "short" in how else 500))
            text = gzip.compress(text)
            self.send_header("Content-Encoding", "gzip")
        if "chunks" in how:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        sent = text[:-8] + bytes(8) if "damaged" in how else text[:len(text) // 2]
        self.wfile.write(b"%x\r\n%s\r\n" % (len(sent), sent) if "chunks" in how else sent)
        self.wfile.flush()
        if "damaged" not in how:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def api_reason(self, query, body):
        self.send_response(299, "Own reason")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def early(self):
        """Answers before it has read the body, which is discarded."""
        self.wfile.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large")
        self.wfile.flush()
        self.close_connection = True
        self.connection.settimeout(5)
        while self.connection.recv(65536):
            pass

    def api_private(self, query, body):
        self.send("<!doctype html><title>private</title>", 401, "text/html", WWW_Authenticate='Basic realm="own"')

    def api_slow(self, query, body):
        time.sleep(float(query["pause"]))
        self.send("<!doctype html><title>slow</title>", type="text/html")

    def api_hostile(self, query, body):
        """A malformed response, the same for each seed."""
        self.wfile.flush()
        self.close_connection = attacks.answer(self.connection, int(query.get("seed", 0)), "kept" in query, self.headers.get("Origin"))

    def api_hang(self, query, body):
        time.sleep(30)

    def websocket(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.wfile.flush()
        while len(head := self.rfile.read(2)) == 2:
            length = head[1] & 127
            if length == 126:
                length = struct.unpack("!H", self.rfile.read(2))[0]
            elif length == 127:
                length = struct.unpack("!Q", self.rfile.read(8))[0]
            mask = self.rfile.read(4)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(length)))
            size = bytes([length]) if length < 126 else b"\x7e" + struct.pack("!H", length)
            self.wfile.write(head[:1] + size + data)
            self.wfile.flush()
            if head[0] & 15 == 8:
                break
        self.close_connection = True


class Sites(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", port), Site)
        self.live = set()

    def process_request_thread(self, request, address):
        try:
            request.settimeout(60)
            request = tls.wrap_socket(request, server_side=True)
            self.live.add(request)
            with log_lock:
                taken.append(address)
            self.finish_request(request, address)
        except (OSError, ssl.SSLError):
            pass
        finally:
            self.live.discard(request)
            self.shutdown_request(request)


sites, port = None, 0


def start():
    global sites, port
    sites = Sites(port)
    port = sites.server_address[1]
    threading.Thread(target=sites.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()


def stop():
    sites.shutdown()
    sites.server_close()
    for connection in list(sites.live):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def copy_pages():
    shutil.copytree(f"{here}/pages", www)
    for path, _, names in os.walk(www):
        for name in names:
            if name.rsplit(".", 1)[-1] in ("html", "js", "css"):
                text = open(f"{path}/{name}").read()
                open(f"{path}/{name}", "w").write(text.replace("@CDN@", f"https://cdn.example.com:{port}"))
    sri = base64.b64encode(hashlib.sha384(open(f"{www}/m.example.com/js/sri.js", "rb").read()).digest()).decode()
    page = f"{www}/m.example.com/sri.html"
    text = open(page).read()
    open(page, "w").write(text.replace("DIGEST", sri))
    shutil.copy("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", f"{www}/m.example.com/font.ttf")
    open(f"{www}/m.example.com/digits.txt", "w").write("0123456789" * 10)
    open(f"{www}/m.example.com/large.bin", "wb").write(bytes(range(256)) * 4096 * 6)


class Origin:
    def __init__(self):
        self.process = subprocess.Popen([xcache, "serve", "--data", f"{folder}/data", "--listen", "127.0.0.1:0"],
                                        stderr=open(f"{folder}/origin.log", "w"))
        for _ in range(600):
            found = re.search(r"http://[0-9.:]+", open(f"{folder}/origin.log").read())
            if found and os.path.exists(f"{folder}/data/admin.token"):
                break
            time.sleep(0.1)
        self.server = found[0]
        self.token = open(f"{folder}/data/admin.token").read().strip()

    def run(self, *words):
        made = subprocess.run([xcache, *words, "--server", self.server, "--app", "shop", "--token", self.token],
                              capture_output=True, text=True, cwd=folder)
        if made.returncode:
            raise SystemExit(f"xcache {' '.join(words)}: {made.stdout}{made.stderr}")
        return made.stdout

    def publish(self):
        bundles = {host.split(".")[0]: {"dirs": [f"www/{host}"], "baseURL": f"https://{host}:{port}/",
                                        "exclude": ["net/**"], "headers": HEADERS if host == "m.example.com" else {}}
                   for host in ("m.example.com", "cdn.example.com")}
        json.dump({"bundles": bundles}, open(f"{folder}/xcache.json", "w"))
        self.run("publish", "--create", "--no-check", "all", "--now")


def probe(number):
    said = []
    wrong = base64.b64encode(b"xcache:" + b"0" * 48).decode()
    for line in ("CONNECT m.example.com:443", "GET http://m.example.com/index.html", "GET /index.html"):
        for field in ("", f"Proxy-Authorization: Basic {wrong}\r\n"):
            with socket.create_connection(("127.0.0.1", number), timeout=10) as client:
                client.sendall(f"{line} HTTP/1.1\r\nHost: m.example.com\r\n{field}\r\n".encode())
                said.append(client.recv(100).split(b"\r\n")[0].decode())
    for greeting, more in ((b"\5\1\0", b""), (b"\5\2\0\2", b"\1\6xcache\x30" + b"0" * 48)):
        with socket.create_connection(("127.0.0.1", number), timeout=10) as client:
            client.sendall(greeting)
            answer = client.recv(2)
            if more:
                client.sendall(more)
                answer = client.recv(2)
            said.append(answer.hex() + client.recv(100).hex())
    return json.dumps(said)


def forward(proxy, password):
    server = socket.create_server(("127.0.0.1", 0))
    key = base64.b64encode(f"xcache:{password}".encode()).decode()

    def pass_on(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def serve():
        while True:
            client, _ = server.accept()
            inner = socket.create_connection(("127.0.0.1", proxy))
            inner.sendall(f"CONNECT m.example.com:{port} HTTP/1.1\r\nHost: m.example.com\r\n"
                          f"Proxy-Authorization: Basic {key}\r\n\r\n".encode())
            said = b""
            while not said.endswith(b"\r\n\r\n"):
                said += inner.recv(1)
            for ends in ((client, inner), (inner, client)):
                threading.Thread(target=pass_on, args=ends, daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()
    return str(server.getsockname()[1])


def tone(path, size):
    """16-bit PCM, 48 kHz, two channels. The silence is a hole in the file."""
    rate = 48000
    data = (size - 44) // 4 * 4
    ten = b"".join(struct.pack("<h", int(2000 * math.sin(2 * math.pi * 440 * i / rate))) * 2 for i in range(rate)) * 10
    with open(path, "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 36 + data) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 2, rate, rate * 4, 4, 16))
        file.write(b"data" + struct.pack("<I", data) + ten)
        file.seek(44 + data - len(ten))
        file.write(ten)


def list_other(host):
    os.makedirs(f"{folder}/listed")
    for name in ("index.html", "text.txt"):
        open(f"{folder}/listed/{name}", "w").write("<!doctype html><title>listed</title>")
    origin.run("publish", "--create", f"{folder}/listed", "--bundle", "listed", "--base-url", f"https://{host}:{port}/",
               "--no-check", "all", "--now")


def script(kind, text):
    key = f"{folder}/script.key"
    if not os.path.exists(key):
        openssl("genpkey", "-algorithm", "ed25519", "-out", key)
        openssl("pkey", "-in", key, "-pubout", "-outform", "DER", "-out", f"{folder}/script.pub")
    path = f"{folder}/{kind}.js"
    open(path, "w").write(text)
    openssl("pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", path, "-out", f"{folder}/signature")
    signature = bytearray(open(f"{folder}/signature", "rb").read())
    if kind == "bad":
        signature[5] ^= 1
    origin.run("policy", "script", "add", path, "--signature", base64.b64encode(signature).decode(), "-m", "test")
    return base64.b64encode(open(f"{folder}/script.pub", "rb").read()[-32:]).decode()


def release(number):
    for host, name, text in attacks.release(number, f"https://cdn.example.com:{port}"):
        os.makedirs(f"{www}/{host}/v", exist_ok=True)
        open(f"{www}/{host}/v/{name}", "w").write(text)
    origin.publish()


certificates()
tls = context()
start()
copy_pages()
origin = Origin()
try:
    origin.publish()
    print(json.dumps({"port": port, "server": origin.server, "authorities": f"{folder}/site.pem",
                      "certificate": open(f"{folder}/site.pem").read()}), flush=True)
    for line in sys.stdin:
        words = line.split()
        answer = "ok"
        match words[0]:
            case "quit": raise SystemExit
            case "stop": stop()
            case "start": start()
            case "log":
                with log_lock:
                    answer, log[:] = json.dumps(log), []
            case "connections":
                with log_lock:
                    answer, taken[:] = str(len(taken)), []
            case "edit":
                open(f"{www}/{words[1]}", "w").write(" ".join(words[2:]))
                origin.publish()
            case "large":
                with open(f"{www}/{words[1]}", "wb") as file:
                    for number in range(int(words[2]) * 16):
                        file.write(number.to_bytes(4, "big") + bytes(65532))
                origin.publish()
            case "tone":
                tone(f"{www}/{words[1]}", int(words[2]) << 20)
                origin.publish()
            case "run": origin.run(*words[1:])
            case "ask": answer = json.dumps(json.loads(origin.run(*words[1:])))
            case "list": list_other(words[1])
            case "forward": answer = forward(int(words[1]), words[2])
            case "probe": answer = probe(int(words[1]))
            case "release": release(int(words[1]))
            case "proxy-origin":
                bad_origin = attacks.BadOrigin(origin.server, int(words[1]))
                answer = bad_origin.server
            case "whole": answer = json.dumps([seed for seed in range(int(words[1]), int(words[2])) if attacks.is_whole(seed)])
            case "forget":
                for host in HOSTS:
                    shutil.rmtree(f"{www}/{host}/v", ignore_errors=True)
            case "bad-percent": answer = str(bad_origin.set_percent(int(words[1])))
            case "script": answer = script(words[1], " ".join(words[2:]))
        print(answer, flush=True)
finally:
    origin.process.terminate()
    origin.process.wait()
