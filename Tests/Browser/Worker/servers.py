"""Servers for tests of the service worker: a real origin behind a proxy that can fail, and web sites."""
import contextlib, http.client, http.server, json, os, re, socket, subprocess, threading, time, types


class Skipped(Exception):
    """A case that this browser can't run."""


# Called by `until` between two probes.
pause = time.sleep


def until(probe, what, seconds=120):
    """Waits until `probe` returns a truthy value, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = probe()
        if value:
            return value
        pause(0.02)
    raise AssertionError(f"waited in vain for {what}")


class Listener:
    """An HTTP server that can be stopped and restarted on the same port."""

    def __init__(self):
        self.log, self.port, self.httpd = [], 0, None
        self.connections = set()
        self.start()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Sends header and body in one segment: Nagle's algorithm would delay a second one by 40 ms, until the
            # peer's delayed ACK.
            wbufsize, disable_nagle_algorithm = -1, True

            def setup(self):
                outer.connections.add(self.request)
                super().setup()

            def finish(self):
                outer.connections.discard(self.request)
                with contextlib.suppress(OSError, ValueError):
                    super().finish()

            def any(self):
                self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                # A copy, since a handler lives as long as its connection.
                outer.log.append(types.SimpleNamespace(command=self.command, path=self.path, headers=self.headers, body=self.body))
                with contextlib.suppress(OSError):
                    outer.handle(self)

            do_GET = do_HEAD = do_POST = do_PUT = do_OPTIONS = any

            def answer(self, body=b"", kind="text/plain", status=200, headers=()):
                self.send_response(status)
                for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *headers):
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 64

            def handle_error(self, *words):
                pass  # a browser may drop a connection

        self.httpd = Server(("127.0.0.1", self.port), Handler)
        self.httpd.socket = self.over(self.httpd.socket)
        self.port = self.httpd.server_address[1]
        threading.Thread(target=self.httpd.serve_forever, args=(0.02,), daemon=True).start()

    def over(self, socket):
        """Wraps the listening socket, for example for TLS."""
        return socket

    def stop(self):
        """Closes the port and every connection."""
        if not self.httpd:
            return
        self.httpd.shutdown()
        self.httpd.server_close()
        self.httpd = None
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def seen(self, part, method=None):
        """The paths of logged requests that contain `part`."""
        return [entry.path for entry in list(self.log) if part in entry.path and method in (None, entry.command)]

    def forget(self):
        self.log.clear()


TYPES = {".html": "text/html;charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".png": "image/png",
         ".svg": "image/svg+xml", ".wav": "audio/wav", ".json": "application/json"}


class Web(Listener):
    """A web site: files in memory, which deployments replace, and routes."""

    def __init__(self):
        self.files, self.routes, self.headers = {}, {}, []
        super().__init__()

    def handle(self, request):
        path = request.path.split("?")[0]
        if path in self.routes:
            return self.routes[path](request)
        file = self.files.get(path[1:] + ("index.html" if path.endswith("/") else ""))
        if file is None:
            return request.answer(b"not here", status=404)
        kind = TYPES.get(os.path.splitext(path)[1] or ".html", "application/octet-stream")
        request.answer(file, kind, headers=[("Cache-Control", "no-cache"), *self.headers])


class Proxy(Listener):
    """A proxy in front of the origin. `rules`: (part of a path, function of the request and the proxy; False: continue)."""

    def __init__(self):
        self.rules, self.origin_port = [], 0
        super().__init__()

    def handle(self, request):
        for part, act in list(self.rules):
            if part in request.path and act(request, self) is not False:
                return
        self.forward(request)

    def fetch(self, request, path=None):
        """The origin's answer: status, headers, body."""
        upstream = http.client.HTTPConnection("127.0.0.1", self.origin_port, timeout=30)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection")}
        upstream.request(request.command, path or request.path, request.body or None, headers)
        answer = upstream.getresponse()
        body = answer.read()
        upstream.close()
        skipped = ("connection", "transfer-encoding", "keep-alive", "date", "server")
        return answer.status, [pair for pair in answer.getheaders() if pair[0].lower() not in skipped], body

    def send(self, request, status, headers, body):
        request.send_response(status)
        for name, value in headers:
            if name.lower() != "content-length":
                request.send_header(name, value)
        if status not in (204, 304):
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)

    def forward(self, request, path=None):
        self.send(request, *self.fetch(request, path))


def plain(request):
    """Requests an uncompressed answer from the origin."""
    request.headers.replace_header("Accept-Encoding", "identity")


# Actions of rules.

def fails(status=503):
    def act(request, proxy):
        request.answer(b"no", status=status, headers=[("Access-Control-Allow-Origin", "*")])
    return act


def flips(at=-1):
    """Flips a bit of one byte of the answer."""
    def act(request, proxy):
        plain(request)
        status, headers, body = proxy.fetch(request)
        body = bytearray(body)
        body[at] ^= 0x40
        proxy.send(request, status, headers, bytes(body))
    return act


def says(**members):
    """Sets members in the `data` of an answer."""
    def act(request, proxy):
        plain(request)
        status, headers, body = proxy.fetch(request)
        document = json.loads(body)
        document["data"].update(members)
        proxy.send(request, status, headers, json.dumps(document).encode())
    return act


def asks(old, new):
    """Replaces a part of the request's path."""
    def act(request, proxy):
        proxy.forward(request, request.path.replace(old, new))
    return act


class Origin:
    """The program with an empty data folder; its downloads go through the proxy."""

    def __init__(self, xcache, folder):
        self.xcache, self.folder, self.builds = xcache, folder, 0
        self.proxy = Proxy()
        self.url = self.proxy.url
        self.server = None
        self.start()
        self.token = open(f"{folder}/data/admin.token").read().strip()

    def start(self):
        self.server = subprocess.Popen(
            [self.xcache, "serve", "--data", f"{self.folder}/data", "--listen", f"127.0.0.1:{self.proxy.origin_port}",
             "--public-url", self.url],
            stderr=subprocess.PIPE, text=True)
        for line in self.server.stderr:
            found = re.search(r"listens on http://127.0.0.1:(\d+)", line)
            if found:
                self.proxy.origin_port = int(found[1])
                threading.Thread(target=self.server.stderr.read, daemon=True).start()
                return
        raise SystemExit("the origin did not start")

    def stop(self):
        self.server.terminate()
        assert self.server.wait(30) == 0, "the origin ended with an error"

    def run(self, *words, check=True, cwd=None):
        """Runs a command, and returns its output; `warned` has what it wrote to stderr."""
        result = subprocess.run(
            [self.xcache, *words, "--server", f"http://127.0.0.1:{self.proxy.origin_port}"], text=True, capture_output=True, cwd=cwd,
            env={**os.environ, "XCACHE_TOKEN": self.token, "XDG_CACHE_HOME": f"{self.folder}/cache"})
        self.warned = result.stderr
        if check and result.returncode:
            raise AssertionError(f"xcache {' '.join(words)}: {result.stderr}")
        return result.stdout

    def publish(self, app, base, files, *words, bundle="main", headers=None):
        """Publishes files by name; returns the version."""
        self.builds += 1
        folder = f"{self.folder}/build-{self.builds}"
        for name, bytes_ in files.items():
            os.makedirs(os.path.dirname(f"{folder}/dist/{name}"), exist_ok=True)
            with open(f"{folder}/dist/{name}", "wb") as file:
                file.write(bytes_)
        if headers:
            with open(f"{folder}/xcache.json", "w") as file:
                json.dump({"app": app, "bundles": {bundle: {"baseURL": base, "dirs": ["dist"], "headers": headers}}}, file)
            self.run("publish", "--create", "--no-check", "all", "--wait-deltas", *words, cwd=folder)
            return self.answer(app)["version"]
        self.run("publish", "--create", f"{folder}/dist", "--app", app, "--bundle", bundle, "--base-url", base, "--no-check", "all",
                 "--wait-deltas", *words)
        return self.answer(app)["version"]

    def answer(self, app, query=""):
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.origin_port, timeout=30)
        connection.request("GET", f"/configure.json?app={app}{query}")
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer["data"]
