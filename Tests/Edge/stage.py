"""What the tests of deploy/edge stand on: an origin, a proxy before it that counts and fails as told, and the three edges."""
import contextlib, json, os, pathlib, random, signal, socket, subprocess, threading, time

deploy = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "edge"
secret = "0123456789abcdef0123456789abcdef"


def port():
    """A port that is free, and below those that the kernel gives to connections: one of these may be taken before it is listened on."""
    while True:
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", random.randrange(15_000, 30_000)))
            return s.getsockname()[1]


class Answer:
    """One answer: status, header fields (names in lower case) and body."""

    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.lines = [tuple(p.strip() for p in line.split(":", 1)) for line in lines[1:] if ":" in line]
        self.fields = {name.lower(): value for name, value in self.lines}
        self.body = body

    @property
    def document(self):
        return json.loads(self.body)

    def same(self, other):
        """Whether a device gets the same by both."""
        return all(getattr(self, a) == getattr(other, a) for a in ("status", "body")) and all(
            self.fields.get(n) == other.fields.get(n) for n in ("etag", "content-encoding", "content-type"))


def read_answer(file, method):
    """Reads one answer from a connection's file; None at its end."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = file.readline()
        if not line:
            return None
        head += line
    answer = Answer(head[:-4], b"")
    if method == "HEAD" or answer.status in (204, 304) or answer.status < 200:
        return answer
    if "chunked" in answer.fields.get("transfer-encoding", ""):
        while size := int(file.readline().split(b";")[0], 16):
            answer.body += file.read(size)
            file.readline()
        file.readline()
    elif "content-length" in answer.fields:
        answer.body = file.read(int(answer.fields["content-length"]))
    else:
        answer.body = file.read()
    return answer


def send(number, data, method="GET", source="127.0.0.1", timeout=30, answers=1):
    """Sends bytes as they are and returns the answers, up to so many."""
    with socket.create_connection(("127.0.0.1", number), timeout, source_address=(source, 0)) as connection:
        connection.sendall(data)
        file, found = connection.makefile("rb"), []
        with contextlib.suppress(ConnectionError, TimeoutError):
            while len(found) < answers and (answer := read_answer(file, method)):
                found.append(answer)
        return found


def ask(number, target, headers=(), method="GET", version="1.1", body=b"", source="127.0.0.1", timeout=30, host="edge.example.com"):
    """One request; None if the connection ends without an answer."""
    lines = [f"{method} {target} HTTP/{version}", f"Host: {host}", "Connection: close", *headers]
    found = send(number, "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body, method, source, timeout)
    return found[0] if found else None


class Origin:
    """The program, with apps and channels that are told apart by every answer."""

    def __init__(self, xcache, work, *options):
        self.xcache, self.work, self.port, self.options = xcache, pathlib.Path(work), port(), options
        self.count = 0
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [self.xcache, "serve", "--data", self.work / "data", "--listen", f"127.0.0.1:{self.port}", "--trust-proxy", "127.0.0.0/8",
             "--public-url", f"http://127.0.0.1:{self.port}", *self.options],
            stdout=open(self.work / "serve.log", "a"), stderr=subprocess.STDOUT, env={**os.environ, "XCACHE_PURGE_TOKEN": secret})
        for _ in range(600):
            if self.process.poll() is not None:
                raise SystemExit(f"the origin ended: {(self.work / 'serve.log').read_text()}")
            with contextlib.suppress(OSError):
                if ask(self.port, "/readyz").status == 200 and (self.work / "data/admin.token").exists():
                    return self
            time.sleep(0.05)
        raise SystemExit("the origin doesn't listen")

    def command(self, *words):
        token = (self.work / "data/admin.token").read_text().strip()
        return subprocess.run(
            [self.xcache, *words], capture_output=True, text=True,
            env={**os.environ, "XCACHE_SERVER": f"http://127.0.0.1:{self.port}", "XCACHE_TOKEN": token, "HOME": str(self.work)})

    def release(self, app, channel="online"):
        """Makes a release of a few files and returns its version."""
        self.count += 1
        site = self.work / "site" / app / channel
        site.mkdir(parents=True, exist_ok=True)
        (site / "index.html").write_text(f"<!DOCTYPE html><meta charset=utf-8><p>{app} {channel} {self.count}")
        (site / "large.js").write_text("".join(f"f({n}, '{app} {channel}');\n" for n in range(20_000)))
        if channel != "online":
            self.command("channel", "create", channel, "--app", app)
        done = self.command("publish", "--create", str(site), "--app", app, "--channel", channel, "--bundle", "main", "--base-url",
                            f"https://m.example.com/{app}/{channel}", "--no-check", "all", "--now")
        if done.returncode:
            raise SystemExit(f"a release failed: {done.stdout}{done.stderr}")
        return self.newest(app, channel)

    def newest(self, app, channel="online"):
        return ask(self.port, f"/configure.json?app={app}&channel={channel}").document["data"]["version"]

    def digest(self, app, channel="online"):
        return ask(self.port, f"/configure.json?app={app}&channel={channel}").document["data"]["digest"]

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


class Recorder:
    """A proxy between an edge and the origin. It keeps the head of each request that comes, and fails as `mode` says:
    ok; slow (`delay` seconds before the answer); error (503); hang (no answer); reset (the connection ends). `down` closes the port.
    `lifetime` takes the place of what CDN-Cache-Control says, so that a test needs seconds rather than minutes."""

    def __init__(self, origin):
        self.origin, self.port = origin, port()
        self.mode, self.delay, self.lifetime = "ok", 0.0, None
        self.sent = 0
        self.requests, self.lock = [], threading.Lock()
        self.connections, self.listener = set(), None

    def up(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(512)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()
        return self

    def down(self):
        # A thread in accept() would keep the port open.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for connection in self.connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with self.lock:
                    self.connections.add(connection)
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def polls(self, since=0):
        """The polls that came, but for the first `since` requests."""
        return [r for r in self.requests[since:] if r[1].split("?")[0].endswith("configure.json")]

    def serve(self, connection):
        try:
            with contextlib.suppress(OSError, ValueError, IndexError), connection.makefile("rb") as file:
                while self.one(connection, file):
                    pass
        finally:
            with self.lock:
                self.connections.discard(connection)
            with contextlib.suppress(OSError):
                connection.close()

    def one(self, connection, file):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = file.readline()
            if not line:
                return False
            head += line
        lines = head.decode("latin-1").split("\r\n")[:-2]
        method, target, _ = lines[0].split(" ")
        fields = {n.lower(): v.strip() for n, v in (line.split(":", 1) for line in lines[1:])}
        body = b""
        if "chunked" in fields.get("transfer-encoding", ""):
            while True:
                line = file.readline()
                body += line
                size = int(line.split(b";")[0], 16)
                body += file.read(size) + file.readline()
                if not size:
                    break
        else:
            body = file.read(int(fields.get("content-length", 0)))
        probe = target in ("/readyz", "/healthz")
        if not probe:
            with self.lock:
                self.requests.append((method, target, fields))
        if target.endswith("/large"):
            # A file of 256 MB, which the origin doesn't have.
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (256 << 20))
            for _ in range(4096):
                connection.sendall(bytes(65536))
                self.sent += 65536
            return False
        mode = self.mode
        if mode == "hang":
            time.sleep(60)
        if mode == "reset" or mode == "hang":
            return False
        if mode == "error":
            text = b'{"code":503,"message":"overloaded"}'
            connection.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
            return True
        with socket.create_connection(("127.0.0.1", self.origin.port), 30) as upstream:
            kept = [line for line in lines if not line.lower().startswith("connection:")]
            upstream.sendall("\r\n".join([*kept, "Connection: close", "", ""]).encode("latin-1") + body)
            answer = upstream.makefile("rb").read()
        # An answer that is on its way while things change is an old one.
        if not probe:
            time.sleep(self.delay)
        head, _, rest = answer.partition(b"\r\n\r\n")
        head = b"\r\n".join(self.dressed(line, target) for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:"))
        connection.sendall(head + b"\r\n\r\n" + rest)
        # Varnish's probe reads to the end.
        return fields.get("connection", "").lower() != "close"

    def dressed(self, line, target):
        if self.lifetime and line.lower().startswith(b"cdn-cache-control:"):
            return b"CDN-Cache-Control: " + self.lifetime.encode()
        return line


class Edge:
    """An edge with the configuration of deploy/edge, for these ports."""

    collapses = True
    stale = True
    purge_options = ()

    def __init__(self, work, upstream):
        self.work, self.upstream, self.port, self.process = pathlib.Path(work), upstream, port(), None
        self.work.mkdir(parents=True, exist_ok=True)
        self.write()

    def fill(self, name, *changes):
        text = (deploy / name).read_text()
        for old, new in changes:
            if old not in text:
                raise SystemExit(f"deploy/edge/{name} has no {old!r}")
            text = text.replace(old, new)
        (self.work / name).write_text(text)
        return self.work / name

    def start(self):
        self.process = subprocess.Popen(self.words(), stdin=subprocess.DEVNULL, stdout=open(self.work / "out", "a"),
                                        stderr=subprocess.STDOUT, start_new_session=True)
        for _ in range(400):
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                if self.ready():
                    return self
            time.sleep(0.05)
        raise SystemExit(f"{self.name} doesn't start: {(self.work / 'out').read_text()}")

    def ready(self):
        socket.create_connection(("127.0.0.1", self.port), 1).close()
        return True

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def purge(self, app, channel="online", token=secret, source="127.0.0.1"):
        """What the origin sends; the status."""
        headers = [f"xcache-tag: xcache:{app}:{channel}"] + ([f"Authorization: Bearer {token}"] if token is not None else [])
        return ask(self.port, self.purge_target.format(app=app, channel=channel), headers, self.purge_method, source=source).status


class Varnish(Edge):
    name = "varnish"
    purge_method, purge_target = "BAN", "/"

    def write(self):
        (self.work / "token").write_text(secret + "\n")
        self.fill("varnish.vcl", ('.port = "8080"', f'.port = "{self.upstream}"'),
                  ("/etc/varnish/xcache-purge.token", str(self.work / "token")))

    def words(self):
        return ["/usr/sbin/varnishd", "-F", "-j", "none", "-n", self.work / "n", "-T", "none", "-a", f"127.0.0.1:{self.port}",
                "-f", self.work / "varnish.vcl", "-s", "default,64m", "-p", "thread_pools=1"]

    def target(self):
        return f"varnish:http://127.0.0.1:{self.port}/"

    def kill(self):
        super().kill()
        # The child has a session of its own, and ends by itself.
        time.sleep(1)


class Nginx(Edge):
    name = "nginx"
    purge_method, purge_target = "PURGE", "/xcache-purge/{app}/{channel}"

    def write(self):
        (self.work / "token").write_text(f'"~^Bearer {secret}$" 1;\n')
        self.inner = port()
        self.fill("nginx.conf", ("127.0.0.1:8080", f"127.0.0.1:{self.upstream}"), ("127.0.0.1:8079", f"127.0.0.1:{self.inner}"),
                  ("listen 443 ssl;", f"listen 127.0.0.1:{self.port};"), ("listen [::]:443 ssl;", ""),
                  ("ssl_certificate     /etc/ssl/edge.example.com.pem;", ""), ("ssl_certificate_key /etc/ssl/edge.example.com.key;", ""),
                  ("/var/cache/nginx", str(self.work)), ("/etc/nginx/xcache-purge.token", str(self.work / "token")))
        folders = "".join(f"{n}_temp_path {self.work}/{n};" for n in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root; " if os.getuid() == 0 else ""
        (self.work / "main.conf").write_text(
            f"{user}daemon off; pid {self.work}/pid; worker_processes 2; events {{ worker_connections 4096; }} http {{ access_log off; {folders}\n"
            f"include {self.work}/nginx.conf; }}\n")

    def words(self):
        return ["/usr/sbin/nginx", "-p", self.work, "-e", self.work / "error.log", "-c", self.work / "main.conf"]

    def target(self):
        return f"nginx:http://127.0.0.1:{self.port}/xcache-purge"


class HAProxy(Edge):
    name = "haproxy"
    purge_method, purge_target = "POST", "/xcache-purge/{app}/{channel}"
    collapses = False
    stale = False

    def write(self):
        (self.work / "token").write_text(f"Bearer {secret}\n")
        self.fill("haproxy.cfg", ("127.0.0.1:8080", f"127.0.0.1:{self.upstream}"), ("bind :80\n", f"bind 127.0.0.1:{self.port}\n"),
                  ("maxconn 20000", "maxconn 2000"),
                  ("  log /dev/log local0\n", ""), ("  log global\n  option httplog\n", ""), ("  user haproxy\n  group haproxy\n", ""),
                  ("/etc/haproxy/xcache-purge.token", str(self.work / "token")))

    def words(self):
        return ["/usr/sbin/haproxy", "-db", "-f", self.work / "haproxy.cfg"]

    def target(self):
        return f"http:http://127.0.0.1:{self.port}/xcache-purge/{{app}}/{{channel}}"


edges = {edge.name: edge for edge in (Varnish, Nginx, HAProxy)}
