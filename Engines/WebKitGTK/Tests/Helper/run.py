#!/usr/bin/env python3
"""Tests xcache-webkit with real pages: run.py XCACHE XCACHE-WEBKIT [WORD…]

Publishes the pages below to a real origin, pulls them into a device's folder, and checks the helper's answer for each. With words,
runs only the cases whose names contain one of them. TLS sites record their requests: m.example.com and api.example.com, which belong
to the app, and foreign.test.
"""
import base64, contextlib, http.server, json, os, re, select, shutil, signal, socket, ssl, struct, subprocess, sys, tempfile
import threading, time, zlib

xcache, helper = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
words = sys.argv[3:]
SLOW = float(os.environ.get("SLOW", "2"))  # Factor on all timeouts, for busy machines.

PAGES = {
    "good.html": """<!doctype html><title>good</title><link rel=stylesheet href=main.css>
        <link rel=icon href="data:,"><h1>Hello</h1><img src=dot.svg>
        <script src=app.js></script><script>console.log('said', {a: 1}, [2]); console.warn('careful %s', 'now')</script>""",
    "app.js": "fetch('data.json').then(answer => answer.json()).then(data => { document.title += data.answer });",
    "data.json": '{"answer": 42}',
    "main.css": "@font-face { font-family: own; src: url(own.woff2) } h1 { color: red; font-family: own }",
    "own.woff2": "no font",
    "dot.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
    "error.html": """<!doctype html><title>error</title><p>There is text.</p>
<script>
window.state = 'before';
planted.error();
</script><script>Promise.reject(new RangeError('nobody cares'))</script><script>Promise.reject('a string')</script>""",
    "hushed.html": """<!doctype html><title>hushed</title><p>There is text.</p>
        <script>window.onerror = () => true; addEventListener('error', event => event.stopImmediatePropagation(), true);
        console.error = null; delete window.CustomEvent; window.dispatchEvent = null; JSON.stringify = null</script>
        <script>later.error()</script><script>setTimeout(() => { throw Error('thrown later') }, 50)</script>""",
    "worker.html": """<!doctype html><title>worker</title><p>There is text.</p><script>
        const worker = new Worker('worker.js'); worker.onerror = event => event.preventDefault();
        worker.onmessage = event => console.log('worker said', event.data, worker instanceof Worker, worker.constructor === Worker,
          Worker.name); worker.postMessage(1)</script>""",
    "worker.js": "onmessage = event => { postMessage(event.data + 1); missing.inWorker() }",
    "chunk.html": """<!doctype html><title>chunk</title><p>There is text.</p><script src=gone/chunk-1234.js></script>
        <link rel=stylesheet href=gone/style.css><img src=gone/image.png><script type=module>
        import('./gone/lazy.js').catch(error => console.error('caught', error)); fetch('/api/none')</script>""",
    "white.html": "<!doctype html><title>white</title><div id=root></div><script>let app</script>",
    "colour.html": "<!doctype html><title>colour</title><body style='background: teal'>",
    "invisible.html": "<!doctype html><title>invisible</title><p style='color: white'>White text on white.</p>",
    "late.html": """<!doctype html><title>late</title><div id=app></div>
        <script>setTimeout(() => { app.innerHTML = '<h1>There is text.</h1>' }, 1500)</script>""",
    "stopped.html": "<!doctype html><title>stopped</title><h1>There is text.</h1><script>onload = () => stop()</script>",
    "ever.html": """<!doctype html><title>ever</title><p>There is text.</p><img src=//m.example.com:PORT/api/hang>""",
    "loop.html": "<!doctype html><title>loop</title><p>There is text.</p><script>while (true) {}</script>",
    "late-loop.html": """<!doctype html><title>late loop</title><p>There is text.</p>
        <script>onload = () => setTimeout(() => { while (true) {} }, 100)</script>""",
    "dialogs.html": """<!doctype html><title>dialogs</title><p>There is text.</p><script>
        alert('one'); console.log('confirmed', confirm('two')); console.log('prompted', prompt('three', 'x'));
        onbeforeunload = event => { event.preventDefault(); return 'four' };
        console.log('opened', window.open('good.html') === null); print();
        navigator.geolocation && navigator.geolocation.getCurrentPosition(() => {}, error => console.log('place', error.code));
        </script><form action=good.html target=_blank id=form><input name=a></form><script>form.submit()</script>""",
    "download.html": """<!doctype html><title>download</title><p>There is text.</p><a id=link href=data.json download=x>x</a>
        <script>link.click(); onload = () => setTimeout(() => { location.href = '/api/attachment' }, 200)</script>""",
    "flood.html": """<!doctype html><title>flood</title><p>There is text.</p><script>
        for (let i = 0; i < 20000; i++) console.log('line ' + i);
        console.error('x'.repeat(1e6)); const loop = {}; loop.self = loop; console.log(loop);
        for (let i = 0; i < 1000; i++) setTimeout(() => { throw Error('error ' + i) });
        for (let i = 0; i < 100000; i++) dispatchEvent(new CustomEvent('xcache-inspected', {detail: '["message","log","x","",0,0]'}));
        </script>""",
    "objects.html": """<!doctype html><title>objects</title><p>There is text.</p><script>
        const round = {}; round.self = round; console.log(round); console.log(new Error('told')); console.log(document.body);
        console.log(null, undefined, 1n, Symbol('s'), () => 1); console.assert(false, 'not so'); console.assert(true, 'so');
        console.log('%d%% of %s', 5, 'all', 'rest'); console.table([1]);
        console.log({get thrown() { throw Error('no') }}); console.debug('d'); console.info('i');
        </script>""",
    "files.html": """<!doctype html><title>files</title><p>There is text.</p><iframe src="file:///etc/passwd"></iframe>
        <script>fetch('file:///etc/passwd').catch(error => console.log('fetch', error.name));
        const loaded = document.createElement('script'); loaded.src = 'file:///etc/passwd'; document.head.append(loaded);
        setTimeout(() => { location.href = 'file:///etc/passwd' }, 100);
        setTimeout(() => { location.href = 'mailto:a@b.example' }, 200)</script>""",
    "foreign.html": """<!doctype html><title>foreign</title><p>There is text.</p>
        <iframe src="https://foreign.test:PORT/frame.html"></iframe><script src="https://foreign.test:PORT/script.js"></script>
        <script src="https://foreign.test:PORT/none.js"></script>""",
    "out.html": """<!doctype html><title>out</title><p>There is text.</p>
        <link rel=dns-prefetch href="//foreign.test:PORT"><link rel=preconnect href="//foreign.test:PORT">
        <img src="https://foreign.test:PORT/image.svg"><img src="http://127.0.0.1:PLAIN/image.svg">
        <img src="http://localhost:PLAIN/image.svg"><img src="https://api.example.com:PORT/image.svg">
        <iframe src="http://127.0.0.1:PLAIN/frame"></iframe><link rel=prefetch href="https://foreign.test:PORT/ahead">
        <script>
        for (const url of ['https://foreign.test:PORT/fetch', 'http://127.0.0.1:PLAIN/fetch', '/api/own', 'https://api.example.com:PORT/x',
            'https://127.0.0.1:PORT/address', 'https://localhost:PORT/local']) {
          fetch(url, {mode: 'no-cors'}).then(answer => console.log('ok', url, answer.type), error => console.log('no', url));
        }
        for (const url of ['ws://127.0.0.1:PLAIN/', 'wss://foreign.test:PORT/', 'wss://m.example.com:PORT/api/socket']) {
          new WebSocket(url).onopen = () => console.log('open', url);
        }
        navigator.sendBeacon('https://foreign.test:PORT/beacon', 'x'); new EventSource('/api/events');
        new Worker(URL.createObjectURL(new Blob([`fetch('https://foreign.test:PORT/worker')`])));
        try { new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:PLAIN'}]}).createDataChannel('x') } catch {}
        </script>""",
    "csp.html": """<!doctype html><title>csp</title><meta http-equiv=Content-Security-Policy content="img-src 'none'">
        <p>There is text.</p><img src=dot.svg>""",
    "sri.html": """<!doctype html><title>sri</title><p>There is text.</p>
        <script src=app.js integrity="sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="></script>""",
    "moves.html": """<!doctype html><title>moves</title><p>There is text.</p><script>
        setTimeout(() => { location.href = 'good.html?moved#there' }, 100)</script>""",
    "reloads.html": """<!doctype html><title>reloads</title><p>There is text.</p><script>location.reload()</script>""",
    "crash.html": """<!doctype html><title>crash</title><p>There is text.</p><img src=/api/hang>""",
    "password.html": """<!doctype html><title>password</title><p>There is text.</p><iframe src=/api/password></iframe>""",
    "large.html": """<!doctype html><title>large</title><p>There is text.</p><script>
        fetch('large.bin').then(answer => answer.arrayBuffer()).then(data => console.log('got', data.byteLength))</script>""",
    "slow.html": """<!doctype html><title>slow</title><p>There is text.</p><script>
        const began = performance.now();
        fetch('/api/bytes?200000').then(answer => answer.arrayBuffer()).then(data =>
          console.log('took', data.byteLength, Math.round(performance.now() - began)));
        fetch('https://foreign.test:PORT/bytes?100000').then(answer => answer.arrayBuffer()).then(data =>
          console.log('foreign took', data.byteLength, Math.round(performance.now() - began)));</script>""",
    "storage.html": """<!doctype html><title>storage</title><p>There is text.</p><script>
        console.log('found', localStorage.length, document.cookie.length, history.length);
        localStorage.mine = 1; document.cookie = 'mine=1'</script>""",
    "memory.html": """<!doctype html><title>memory</title><p>There is text.</p><script>
        const kept = []; setTimeout(() => { for (;;) kept.push(new Uint8Array(1 << 24).fill(1)) }, 300)</script>""",
    "moment.html": "<!doctype html><title>moment</title><p>There is text.</p><img src=/api/wait?0.4>",
}


# MARK: Sites

class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (OSError, ssl.SSLError, ValueError):
            self.close_connection = True

    def send(self, body, status=200, type="text/plain", **fields):
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Access-Control-Allow-Origin", "*")
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length:
            self.rfile.read(length)
        self.server.asked.append(f"{self.command} {self.headers.get('Host', '').split(':')[0]}{self.path}")
        path, _, query = self.path.partition("?")
        match path:
            case "/api/hang": time.sleep(120)
            case "/api/wait":
                time.sleep(float(query))
                self.send(b"waited")
            case "/api/attachment":
                self.send(b"bytes", type="application/octet-stream", Content_Disposition="attachment; filename=a.bin")
            case "/api/password": self.send(b"who?", 401, WWW_Authenticate='Basic realm="x"')
            case "/api/bytes" | "/bytes": self.send(b"x" * int(query))
            case "/frame.html": self.send(b"<!doctype html><script>console.log('in the frame'); frame.error()</script>", type="text/html")
            case "/script.js": self.send(b"console.log('foreign script'); throw Error('of a foreign script')", type="text/javascript")
            case _ if self.headers.get("Host", "").startswith("foreign.test") and "none" not in path: self.send(b"foreign")
            case _: self.send(b"not here", 404)

    do_POST = do_HEAD = do_OPTIONS = do_GET


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, tls=None):
        super().__init__(("127.0.0.1", 0), Site)
        self.tls, self.asked, self.connections, self.port = tls, [], 0, self.server_address[1]
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def process_request_thread(self, request, address):
        self.connections += 1
        try:
            request.settimeout(150)
            if self.tls:
                request = self.tls.wrap_socket(request, server_side=True)
            self.finish_request(request, address)
        except (OSError, ssl.SSLError):
            pass
        finally:
            self.shutdown_request(request)


class Fixture:
    """The sites, an origin with the pages published, and a device's folder with the pages stored."""

    def __init__(self, folder):
        self.folder = folder
        names = ",".join(f"DNS:{name}" for name in ("m.example.com", "api.example.com", "foreign.test"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=tests", "-addext", "subjectAltName=" + names, "-keyout",
                        f"{folder}/site.key", "-out", f"{folder}/site.pem"], check=True, stderr=subprocess.DEVNULL)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(f"{folder}/site.pem", f"{folder}/site.key")
        self.sites, self.plain = Server(tls), Server()
        os.mkdir(f"{folder}/www")
        for name, text in PAGES.items():
            text = text.replace("PORT", str(self.sites.port)).replace("PLAIN", str(self.plain.port))
            open(f"{folder}/www/{name}", "w").write(text)
        open(f"{folder}/www/large.bin", "wb").write(os.urandom(3 << 20))
        self.origin = subprocess.Popen([xcache, "serve", "--data", f"{folder}/data", "--listen", "127.0.0.1:0"],
                                       stderr=open(f"{folder}/origin.log", "w"))
        for _ in range(600):
            found = re.search(r"http://[0-9.:]+", open(f"{folder}/origin.log").read())
            if found and os.path.exists(f"{folder}/data/admin.token"):
                break
            time.sleep(0.1)
        self.server = found[0]
        token = open(f"{folder}/data/admin.token").read().strip()
        common = ["--server", self.server, "--app", "shop", "--token", token]
        subprocess.run([xcache, "publish", "--create", f"{folder}/www", "--bundle", "m", "--base-url", self.url(""), "--no-check", "all",
                        "--now", "-q", *common], check=True)
        subprocess.run([xcache, "pull", "--to", f"{folder}/device", "-q", *common], check=True)
        self.count = 0

    def url(self, path, host="m.example.com"):
        return f"https://{host}:{self.sites.port}/{path}"

    def device(self):
        """A copy of the device's folder: only one process can use a folder at a time."""
        self.count += 1
        path = f"{self.folder}/device-{self.count}"
        subprocess.run(["cp", "-a", f"{self.folder}/device", path], check=True)
        return path

    def asked(self):
        found, self.sites.asked[:], self.plain.asked[:] = self.sites.asked + self.plain.asked, [], []
        return found


# MARK: The helper

class Helper:
    ends = []

    def __init__(self, world, *options, env=None, settings=True, **more):
        self.world = world
        self.temporary = tempfile.mkdtemp(dir=world.folder)
        self.errors = open(f"{self.temporary}.stderr", "w+")
        self.process = subprocess.Popen([helper, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        env={**os.environ, "TMPDIR": self.temporary, **(env or {})})
        self.rest, self.last = b"", 0
        if settings:
            self.settings = {"folder": world.device(), "server": world.server, "app": "shop",
                             "hosts": ["m.example.com", "api.example.com"], "network": None, "offline": False, "local": True,
                             "width": 800, "height": 600, "parallel": 2, "confined": False,
                             "authorities": f"{world.folder}/site.pem",
                             "addresses": {name: "127.0.0.1" for name in ("m.example.com", "api.example.com", "foreign.test")},
                             **more}
            self.send(self.settings)
            self.ready = self.read(60)
            assert self.ready.get("ready"), self.ready

    def send(self, value):
        line = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self, seconds):
        end = time.monotonic() + seconds * SLOW
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise AssertionError(f"no answer within {seconds} s: {self.said()}")
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                raise AssertionError(f"the helper ended with {self.process.wait()}: {self.said()}")
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def ask(self, path, host="m.example.com", **more):
        self.last += 1
        job = {"id": self.last, "url": path if ":" in path else self.world.url(path, host), "screenshot": None, "timeout": 30, **more}
        self.send(job)
        return job

    def look(self, path, **more):
        job = self.ask(path, **more)
        answer = self.read(job["timeout"] + 30)
        assert answer["id"] == job["id"] and answer["url"] == job["url"], answer
        return answer

    def said(self):
        self.errors.seek(0)
        return self.errors.read()[-2000:]

    def end(self, within=2.0):
        """Closes the input, and checks that the process exits and leaves nothing behind."""
        tree = processes(self.process.pid)
        began = time.monotonic()
        self.process.stdin.close()
        code = self.process.wait(20 * SLOW)
        took = time.monotonic() - began
        Helper.ends.append(took)
        assert code == 0, (code, self.said())
        assert took < within * SLOW, took
        self.check_nothing_left(tree)

    def check_nothing_left(self, tree, patience=1.0):
        end = time.monotonic() + patience * SLOW
        while left := [name for name, start in tree.items() if start_of(name) == start]:
            assert time.monotonic() < end, [open(f"/proc/{pid}/cmdline").read() for pid in left]
            time.sleep(0.05)
        assert os.listdir(self.temporary) == [], os.listdir(self.temporary)


def start_of(pid):
    try:
        fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
        return None if fields[0] == "Z" else fields[19]
    except OSError:
        return None


def processes(root):
    """This process and its descendants, with their start times."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            parents[int(name)] = int(open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found and pid not in found}:
        found |= more
    return {pid: start for pid in found if (start := start_of(pid))}


def children(helper, name):
    return [pid for pid in processes(helper.process.pid) if name in open(f"/proc/{pid}/comm").read()]


def by_path(answer):
    return {re.sub(r"^https?://[^/]*/", "", request["url"]): request for request in answer["requests"]}


def texts(answer, level=None):
    return [entry["text"] for entry in answer["console"] if level in (None, entry["level"])]


def picture(path):
    """Width, height, and number of raw bytes (8 bits a channel, no interlacing)."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body, head = 8, b"", None
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            head = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT":
            body += data[at + 8:at + 8 + size]
        at += size + 12
    raw = zlib.decompress(body)
    return head[0], head[1], len(raw)


# MARK: Cases

CASES = []


def case(body):
    CASES.append(body)
    return body


@case
def good_page(world):
    helper = Helper(world)
    assert helper.ready["ready"] is True and re.fullmatch(r"WebKitGTK 2\.\d+\.\d+", helper.ready["engine"]), helper.ready
    path = f"{world.folder}/good.png"
    world.asked()
    answer = helper.look("good.html", screenshot=path)
    assert answer["failure"] is None and answer["status"] == 200 and answer["title"] == "good42", answer
    assert answer["finalURL"] == world.url("good.html") and answer["scriptErrors"] == [] and answer["isBlank"] is False, answer
    assert 0 < answer["firstContentfulPaint"] < 20_000 and 0 < answer["load"] < 20_000, answer
    kinds = {path: (request["source"], request["status"], request["kind"]) for path, request in by_path(answer).items()}
    assert kinds == {"good.html": ("device", 200, "document"), "main.css": ("device", 200, "style"),
                     "app.js": ("device", 200, "script"), "dot.svg": ("device", 200, "image"),
                     "data.json": ("device", 200, "fetch"), "own.woff2": ("device", 200, "font")}, answer["requests"]
    assert by_path(answer)["data.json"]["bytes"] == len(PAGES["data.json"])
    assert all(request["ms"] >= 0 for request in answer["requests"])
    said = [entry for entry in answer["console"] if entry["level"] in ("log", "warning")]
    assert [(entry["level"], entry["text"]) for entry in said] == [("log", 'said {"a":1} [2]'), ("warning", "careful now")], said
    assert said[0]["url"] == world.url("good.html") and said[0]["line"] == 3, said
    assert world.asked() == [], "the device holds it all"
    assert picture(path)[:2] == (800, 600)
    assert answer["hasScreenshot"] is True
    helper.end()


@case
def script_errors(world):
    helper = Helper(world)
    answer = helper.look("error.html")
    assert answer["failure"] is None and answer["isBlank"] is False, answer
    errors = answer["scriptErrors"]
    assert len(errors) == 3, errors
    assert "planted" in errors[0]["text"] and errors[0]["url"] == world.url("error.html"), errors
    assert errors[0]["line"] == 4 and errors[0]["column"] > 0, errors
    assert errors[1]["text"] == "Unhandled promise rejection: RangeError: nobody cares" and errors[1]["line"] == 5, errors
    assert errors[2]["text"] == "Unhandled promise rejection: a string", errors
    answer = helper.look("worker.html")
    assert texts(answer, "log") == ["worker said 2 true true Worker"], answer["console"]
    [error] = answer["scriptErrors"]
    assert error["text"].startswith("In a worker: ") and "missing" in error["text"], error
    assert error["url"] == world.url("worker.js") and error["line"] == 1, error
    assert by_path(answer)["worker.js"]["kind"] == "script"
    # A page that tries to hide its errors.
    answer = helper.look("hushed.html")
    assert len(answer["scriptErrors"]) == 2 and "later" in answer["scriptErrors"][0]["text"], answer
    helper.end()


@case
def missing_resources(world):
    helper = Helper(world)
    answer = helper.look("chunk.html")
    found = by_path(answer)
    for path, kind in (("gone/chunk-1234.js", "script"), ("gone/style.css", "style"), ("gone/image.png", "image"),
                       ("gone/lazy.js", "script"), ("api/none", "fetch")):
        assert (found[path]["source"], found[path]["status"], found[path]["kind"]) == ("missing", 404, kind), found[path]
    assert found["chunk.html"]["source"] == "device"
    assert any("<script> could not be loaded" in text and "chunk-1234" in text for text in texts(answer, "error")), answer["console"]
    assert any(text.startswith("caught TypeError") for text in texts(answer, "error")), answer["console"]
    # A page that doesn't exist.
    answer = helper.look("none.html")
    assert answer["status"] == 404 and by_path(answer)["none.html"]["source"] == "missing", answer
    answer = helper.look(world.url("x", "unknown.example"))
    assert answer["failure"] and answer["status"] is None, answer
    helper.end()


@case
def blank_screenshots(world):
    helper = Helper(world)
    blank = {path: helper.look(path)["isBlank"] for path in ("white.html", "colour.html", "invisible.html", "good.html")}
    assert blank == {"white.html": True, "colour.html": True, "invisible.html": False, "good.html": False}, blank
    answer = helper.look("white.html")
    assert answer["firstContentfulPaint"] is None and answer["failure"] is None and answer["load"] > 0, answer
    # Pages that paint 1.5 s later or stop their own load aren't blank.
    for path in ("late.html", "stopped.html"):
        answer = helper.look(path)
        assert answer["failure"] is None and answer["isBlank"] is False, answer
    helper.end()


@case
def pages_that_never_finish(world):
    helper = Helper(world, parallel=4)
    path = f"{world.folder}/ever.png"
    began = time.monotonic()
    # Two of them keep a CPU busy until they are terminated.
    pages = {"ever.html": 15, "loop.html": 4, "late-loop.html": 4, "good.html": 30}
    jobs = {helper.ask(page, timeout=seconds, screenshot=path if page == "ever.html" else None)["id"]: page
            for page, seconds in pages.items()}
    answers = {jobs[answer["id"]]: answer for answer in (helper.read(30) for _ in jobs)}
    assert time.monotonic() - began < 30 * SLOW
    assert answers["good.html"]["failure"] is None and answers["good.html"]["title"] == "good42", answers["good.html"]
    ever = answers["ever.html"]
    assert "15 seconds" in ever["failure"] and ever["title"] == "ever" and ever["load"] is None, ever
    assert by_path(ever)["api/hang"]["source"] == "failed" and ever["hasScreenshot"] and picture(path)[0] == 800, ever
    assert "4 seconds" in answers["loop.html"]["failure"], answers["loop.html"]
    late = answers["late-loop.html"]["failure"]
    assert "doesn't answer" in late or "4 seconds" in late, late
    assert helper.look("good.html")["failure"] is None
    helper.end()


@case
def dialogs_and_windows(world):
    helper = Helper(world)
    answer = helper.look("dialogs.html", timeout=20)
    assert answer["failure"] is None, answer
    assert texts(answer, "dialog")[:3] == ["alert: one", "confirm: two", "prompt: three"], answer["console"]
    said = texts(answer, "log")
    assert "confirmed false" in said and "prompted null" in said and "opened true" in said, said
    assert "printing" in texts(answer, "refused"), answer["console"]
    answer = helper.look("password.html", timeout=20)
    assert answer["failure"] is None and by_path(answer)["api/password"]["status"] == 401, answer
    helper.end()


@case
def downloads(world):
    home = tempfile.mkdtemp(dir=world.folder)
    helper = Helper(world, env={"HOME": home})
    answer = helper.look("download.html", timeout=20)
    assert answer["failure"] is None and answer["title"] == "download", answer
    refused = texts(answer, "refused")
    assert any("data.json" in text for text in refused) and any("attachment" in text for text in refused), answer["console"]
    answer = helper.look("api/attachment", timeout=20)
    assert answer["failure"], answer
    helper.end()
    kept = [f"{path}/{name}" for path, _, names in os.walk(home) for name in names]
    assert [path for path in kept if path.endswith((".bin", "/x"))] == [], kept


@case
def floods(world):
    helper = Helper(world)
    answer = helper.look("flood.html", timeout=60)
    assert answer["failure"] is None, answer["failure"]
    assert len(answer["console"]) <= 200 and len(answer["scriptErrors"]) <= 200, (len(answer["console"]), len(answer["scriptErrors"]))
    assert texts(answer)[:2] == ["line 0", "line 1"] and max(map(len, texts(answer))) <= 2000
    assert len(answer["scriptErrors"]) == 200 and "error 0" in answer["scriptErrors"][0]["text"], answer["scriptErrors"][:2]
    said = texts(helper.look("objects.html"))
    expected = ["told", "<body>", "null undefined 1 Symbol(s) function", "Assertion failed: not so", "5% of all rest"]
    assert all(any(want in text for text in said) for want in expected), said
    assert "so" not in said
    helper.end()


@case
def local_files(world):
    helper = Helper(world)
    for url in ("file:///etc/passwd", "ftp://m.example.com/", "about:blank", "javascript:alert(1)", "data:text/html,x"):
        answer = helper.look(url)
        assert answer["failure"] and answer["requests"] == [] and answer["title"] == "", answer
    answer = helper.look("files.html")
    assert answer["finalURL"] == world.url("files.html") and answer["title"] == "files", answer
    assert "root:" not in json.dumps(answer)
    assert "fetch TypeError" in texts(answer, "log"), answer["console"]
    helper.end()


@case
def foreign_frames(world):
    helper = Helper(world)
    answer = helper.look("foreign.html")
    found = by_path(answer)
    assert (found["frame.html"]["source"], found["frame.html"]["status"], found["frame.html"]["kind"]) == ("network", 200, "document"), found
    assert (found["script.js"]["source"], found["script.js"]["kind"]) == ("network", "script"), found
    assert (found["none.js"]["source"], found["none.js"]["status"]) == ("missing", 404), found
    assert {"in the frame", "foreign script"} <= set(texts(answer, "log")), answer["console"]
    errors = " ".join(error["text"] for error in answer["scriptErrors"])
    assert "frame" in errors and len(answer["scriptErrors"]) == 2, answer["scriptErrors"]
    helper.end()


@case
def offline(world):
    helper = Helper(world, offline=True)
    world.asked()
    before = world.sites.connections + world.plain.connections
    answer = helper.look("out.html", timeout=20)
    assert answer["failure"] is None and answer["title"] == "out", answer
    assert not [text for text in texts(answer, "log") if text.startswith(("ok", "open"))], answer["console"]
    assert world.asked() == [] and world.sites.connections + world.plain.connections == before
    found = by_path(answer)
    assert found["out.html"]["source"] == "device" and found["api/own"]["source"] == "failed", found
    assert found["fetch"]["source"] == "failed", found
    answer = helper.look("none.html")
    assert "offline" in answer["failure"], answer
    helper.end()


@case
def confined(world):
    helper = Helper(world, confined=True)
    world.asked()
    before = world.sites.connections + world.plain.connections
    answer = helper.look("out.html", timeout=20)
    assert answer["failure"] is None and answer["title"] == "out", answer
    assert world.asked() == [] and world.sites.connections + world.plain.connections == before
    found = by_path(answer)
    assert (found["api/own"]["source"], found["api/own"]["status"]) == ("missing", 404), found
    own = [request for request in answer["requests"] if "api.example.com" in request["url"]]
    assert own and all(request["status"] == 404 for request in own), own
    foreign = [request for request in answer["requests"] if "foreign.test" in request["url"] and request["url"].startswith("https")]
    assert foreign and all(request["source"] == "failed" for request in foreign), foreign
    answer = helper.look("chunk.html")
    assert by_path(answer)["gone/chunk-1234.js"]["status"] == 404
    assert helper.look("none.html")["status"] == 404
    assert "without a network" in helper.look(world.url("frame.html", "foreign.test"))["failure"]
    helper.end()


@case
def unrestricted_network(world):
    helper = Helper(world)
    world.asked()
    answer = helper.look("out.html", timeout=20)
    said = texts(answer, "log")
    assert any(text.startswith("ok https://foreign.test") for text in said), said
    asked = world.asked()
    assert {"GET foreign.test/fetch", "GET 127.0.0.1/image.svg", "GET localhost/image.svg", "GET foreign.test/worker", "POST foreign.test/beacon"} <= set(asked), asked
    helper.end()


@case
def throttled_network(world):
    helper = Helper(world, network={"delay": 300, "kilobitsPerSecond": 800})
    answer = helper.look("slow.html", timeout=60)
    took = {text.split(" took")[0]: int(text.split()[-1]) for text in texts(answer, "log")}
    # 300 KB at 100 KB/s over one shared link.
    assert 2_300 <= min(max(took.values()), 9e9) and min(took.values()) >= 1_200, answer["console"]
    assert answer["firstContentfulPaint"] < 1_000 * SLOW, "the device isn't slow"
    helper.end()


@case
def engine_without_a_device(world):
    helper = Helper(world, local=False)
    world.asked()
    answer = helper.look("frame.html", host="foreign.test")
    assert answer["status"] == 200 and [request["source"] for request in answer["requests"]] == ["network"], answer
    answer = helper.look("good.html")
    assert answer["status"] == 404 and "GET m.example.com/good.html" in world.asked(), answer
    helper.end()


@case
def navigation_and_reloads(world):
    helper = Helper(world)
    answer = helper.look("moves.html")
    assert answer["finalURL"] == world.url("good.html?moved#there") and answer["title"].startswith("good"), answer
    answer = helper.look("reloads.html", timeout=8)
    assert "8 seconds" in answer["failure"] and len(answer["requests"]) > 5, answer
    answer = helper.look("csp.html")
    assert any("Content-Security-Policy" in text and "img-src" in text for text in texts(answer, "error")), answer["console"]
    answer = helper.look("sri.html")
    assert any("<script> could not be loaded" in text for text in texts(answer, "error")), answer["console"]
    helper.end()


@case
def killed_processes(world):
    helper = Helper(world, parallel=1)
    world.asked()
    helper.ask("crash.html", timeout=30)
    until(lambda: "GET m.example.com/api/hang" in world.sites.asked)
    for pid in children(helper, "WebKitWebProc"):
        os.kill(pid, signal.SIGKILL)
    answer = helper.read(15)
    assert "crashed" in answer["failure"] and by_path(answer)["crash.html"]["source"] == "device", answer
    assert helper.look("good.html")["title"] == "good42"
    # The network process is killed while a page loads: pending requests fail, and the page is shown.
    world.asked()
    helper.ask("crash.html", timeout=30)
    until(lambda: "GET m.example.com/api/hang" in world.sites.asked)
    for pid in children(helper, "WebKitNetwork"):
        os.kill(pid, signal.SIGKILL)
    answer = helper.read(60)
    assert answer["title"] == "crash" and by_path(answer)["api/hang"]["source"] == "failed", answer
    assert helper.look("good.html")["title"] == "good42"
    helper.end()


@case
def memory_limit(world):
    helper = Helper(world, memory=500)
    answer = helper.look("memory.html", timeout=20)
    assert answer["failure"] == "the page took more than 500 MB of memory", answer
    assert helper.look("good.html")["failure"] is None
    helper.end()


@case
def parallel_pages(world):
    helper = Helper(world, parallel=3)
    began = time.monotonic()
    names = ["moment.html", "storage.html", "error.html", "good.html", "storage.html", "white.html", "moment.html", "chunk.html", "storage.html"]
    jobs = {helper.ask(name)["id"]: name for name in names}
    answers = [helper.read(60) for _ in jobs]
    assert {answer["id"] for answer in answers} == set(jobs)
    for answer in answers:
        name = jobs[answer["id"]]
        assert answer["failure"] is None and answer["finalURL"] == world.url(name), answer
        assert (len(answer["scriptErrors"]) == 3) == (name == "error.html"), (name, answer)
        assert ("api/wait?0.4" in by_path(answer)) == (name == "moment.html"), (name, answer["requests"])
        assert ("gone/chunk-1234.js" in by_path(answer)) == (name == "chunk.html"), (name, answer["requests"])
        # Each page starts with empty storage.
        if name == "storage.html":
            assert texts(answer, "log") == ["found 0 0 1"], answer["console"]
    print(f"    {len(names)} pages, 3 at a time: {time.monotonic() - began:.1f} s")
    assert len(children(helper, "WebKitWebProc")) <= 3
    helper.end()


@case
def repeated_failures(world):
    """The runtime bypasses a page that failed twice; the helper still loads it from the device."""
    folder = world.device()
    # Written by a runtime after the page failed twice and the app ended during startup.
    url = world.url("error.html")
    json.dump({"pages": {url: 2}, "version": "1"}, open(f"{folder}/pages.json", "w"))
    helper = Helper(world, folder=folder)
    world.asked()
    for _ in range(4):
        answer = helper.look("error.html")
        assert by_path(answer)["error.html"]["source"] == "device", answer
    assert world.asked() == []
    helper.end()


@case
def no_polls_or_reports(world):
    """Sends no polls or reports, even though the folder records no recent poll."""
    folder = world.device()
    for name in os.listdir(folder):
        if name not in ("files", "index.json"):
            path = f"{folder}/{name}"
            os.remove(path) if os.path.isfile(path) else shutil.rmtree(path)
    helper = Helper(world, folder=folder, server=f"http://127.0.0.1:{world.plain.port}")
    world.asked()
    for name in ("good.html", "error.html", "moves.html"):
        assert helper.look(name)["failure"] is None
    helper.end()
    assert world.asked() == []


@case
def standard_output_has_only_answers(world):
    """GLib logs to standard output by default."""
    helper = Helper(world, env={"G_MESSAGES_DEBUG": "all"})
    assert helper.look("good.html")["failure"] is None
    assert helper.said() != ""
    helper.end()


@case
def shutdown(world):
    # While pages load, among them one whose process is stuck in a loop.
    helper = Helper(world, parallel=4)
    for page in ("ever.html", "loop.html", "good.html"):
        helper.ask(page)
    until(lambda: len(children(helper, "WebKitWebProc")) >= 2)
    time.sleep(1)
    helper.end()
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        helper = Helper(world)
        helper.ask("loop.html")
        until(lambda: children(helper, "WebKitWebProc"))
        tree = processes(helper.process.pid)
        helper.process.send_signal(number)
        assert helper.process.wait(5 * SLOW) == code
        helper.check_nothing_left(tree)
    # Before the first line of input.
    helper = Helper(world, settings=False)
    helper.end()
    # With a closed output pipe.
    helper = Helper(world)
    helper.ask("good.html")
    tree = processes(helper.process.pid)
    helper.process.stdout.close()
    assert helper.process.wait(20 * SLOW) == 1
    helper.check_nothing_left(tree)


@case
def killed_helper(world):
    helper = Helper(world)
    helper.look("good.html")
    # One process is idle, another is stuck in a loop.
    helper.ask("moment.html")
    helper.ask("loop.html")
    until(lambda: len(children(helper, "WebKitWebProc")) == 2)
    time.sleep(1)
    tree = processes(helper.process.pid)
    helper.process.kill()
    helper.process.wait()
    end = time.monotonic() + 15 * SLOW
    while left := [pid for pid, start in tree.items() if start_of(pid) == start]:
        assert time.monotonic() < end, [open(f"/proc/{pid}/comm").read() for pid in left]
        time.sleep(0.1)


@case
def invalid_input(world):
    def refused(line, *options, env=None):
        helper = Helper(world, *options, settings=False, env=env)
        helper.send(line)
        answer = helper.read(30)
        assert helper.process.wait(5 * SLOW) == 1
        helper.check_nothing_left({})
        return answer["error"]
    good = {"folder": world.device(), "server": world.server, "app": "shop", "hosts": ["m.example.com"]}
    assert "JSON" in refused(b"not json")
    assert '"folder"' in refused({"server": "x"})
    assert '"hosts"' in refused({**good, "hosts": "m.example.com"})
    assert "width" in refused({**good, "width": 100_000})
    assert "app" in refused({**good, "app": "no app!"})
    assert "can't be read" in refused({**good, "authorities": "/none.pem"})
    assert "no display" in refused(good, "--display", ":4711")
    assert "apt-get install xvfb" in refused(good, env={"PATH": "/none"})
    blocked = f"{world.folder}/a-file"
    open(blocked, "w").write("x")
    assert "can't be used" in refused({**good, "folder": blocked})
    assert "can't be used" in refused({**good, "channel": "other"})
    helper = Helper(world)
    for line in (b"{}", b'{"id": 7}', b'{"id": "x", "url": "y"}', b"[" * 1000, b"\xff\xfe"):
        helper.send(line)
        answer = helper.read(10)
        assert answer["error"] and answer.get("id") == (7 if b"7" in line else None), answer
    assert helper.look("good.html")["failure"] is None
    tree = processes(helper.process.pid)
    with contextlib.suppress(BrokenPipeError):
        helper.send(b"x" * (2 << 20))
    helper.process.wait(10 * SLOW)
    helper.check_nothing_left(tree)


@case
def existing_display(world):
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-nolisten", "tcp"], pass_fds=[write], stderr=subprocess.DEVNULL)
    try:
        os.close(write)
        display = ":" + os.read(read, 10).decode().strip()
        helper = Helper(world, "--display", display)
        assert helper.look("good.html")["failure"] is None
        assert children(helper, "Xvfb") == []
        helper.end()
        assert server.poll() is None
    finally:
        server.terminate()
        server.wait()


@case
def many_pages(world):
    """Pages leak no processes, descriptors or memory."""
    helper = Helper(world, parallel=2)
    count = int(os.environ.get("PAGES", "40"))
    def run(number):
        for _ in range(number):
            helper.ask("good.html")
        for _ in range(number):
            answer = helper.read(60)
            assert answer["failure"] is None and answer["title"] == "good42", answer
    def state():
        pid = helper.process.pid
        return (len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task")),
                int(open(f"/proc/{pid}/statm").read().split()[1]) * 4 >> 10)
    run(12)
    before, began = state(), time.monotonic()
    run(count)
    took = time.monotonic() - began
    time.sleep(1)
    after = state()
    print(f"    {count} pages in {took:.1f} s; descriptors, threads, MB before {before} and after {after}")
    assert len(children(helper, "WebKitWebProc")) <= 1
    assert after[0] <= before[0] + 20 and after[1] <= before[1] + 10 and after[2] <= before[2] + 40 + count // 4
    helper.end()


def until(body, seconds=20):
    end = time.monotonic() + seconds * SLOW
    while True:
        found = body()
        if found:
            return found
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


def main():
    folder = tempfile.mkdtemp(prefix="xcache-helper-tests-")
    world, failed = Fixture(folder), []
    chosen = [body for body in CASES if not words or any(word in body.__name__ for word in words)]
    try:
        for body in chosen:
            began = time.monotonic()
            try:
                body(world)
                print(f"ok   {body.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
            except Exception as error:
                failed.append(body.__name__)
                import traceback
                place = traceback.extract_tb(error.__traceback__)
                line = next((frame for frame in reversed(place) if frame.name == body.__name__), place[-1])
                print(f"FAIL {body.__name__}, line {line.lineno}: {line.line}\n     {str(error)[:3000]}", flush=True)
    finally:
        world.origin.terminate()
        world.origin.wait()
        shutil.rmtree(folder, ignore_errors=True)
    ends = sorted(Helper.ends) or [0]
    print(f"{len(ends)} ends: {ends[len(ends) // 2]:.2f} s, at most {ends[-1]:.2f} s")
    print(f"{len(chosen) - len(failed)} of {len(chosen)} cases")
    # Helpers left over by failed cases exit when their input is closed.
    os._exit(1 if failed or not chosen else 0)


main()
