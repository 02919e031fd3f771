"""Devices of the fleet: processes of the Swift runtime (conformance-device), some with a WebKitGTK view in front."""
import base64, hashlib, http.client, http.server, json, os, re, subprocess, sys, tempfile, threading, time, urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
HOST, PAGE = "m.example.com", "http://m.example.com/"
ENTRY = re.compile(r'<script type="module" crossorigin src="\./(static/js/[^"]+)"')
# How long a page may take to come up before it has failed; the machine does much else.
DEADLINE = 150


class Builds:
    """Which build a page is of, told by its bytes, and whether such a page comes up: what WebKitGTK said of it."""

    def __init__(self, **folders):
        self.fails, self.known = {}, {}
        for name, folder in folders.items():
            document = open(f"{folder}/index.html", "rb").read()
            entry = open(f"{folder}/{ENTRY.search(document.decode())[1]}", "rb").read()
            self.known[hashlib.sha256(document).hexdigest(), hashlib.md5(entry).hexdigest()] = name

    def of(self, document, entry_md5):
        return self.known.get((hashlib.sha256(document).hexdigest(), entry_md5), "mixed")


class Site:
    """The site itself, which has the build that was deployed before. There is no server of Streamlit's behind it, so a page that works
    shows the dialog "Connection error" of its own.
    """

    def __init__(self, folder):
        class Handler(http.server.SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def __init__(self, *words):
                super().__init__(*words, directory=folder)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def get(self, url):
        """The status, headers and body of the site's own answer."""
        url = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", url.path + ("?" + url.query if url.query else ""))
        answer = connection.getresponse()
        return answer.status, answer.getheaders(), answer.read()


def watch_script():
    """What apps run in each page, as Sources has it."""
    source = open(f"{HERE}/../../Sources/Device/XCacheRuntime/Pages/PageWatch.swift").read()
    name = re.search(r'static let name = "(\w+)"', source)[1]
    return re.search(r'static let script = """\n(.*?)"""', source, re.S)[1].replace(r"\(name)", name)


class Engine:
    """A WebKitGTK view (engine.py) whose requests a function answers."""

    def __init__(self, answer):
        class Proxy(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                try:
                    status, headers, body = answer(self.command, self.path, dict(self.headers))
                except (OSError, ValueError, RuntimeError):  # The app was closed, and the page with it.
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in ("content-length", "transfer-encoding", "connection", "server", "date"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    try:
                        self.wfile.write(body)
                    except OSError:  # The page was closed.
                        self.close_connection = True

            do_HEAD = do_GET

        self.proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        self.proxy.daemon_threads = True
        threading.Thread(target=self.proxy.serve_forever, daemon=True).start()
        self.watch = tempfile.NamedTemporaryFile("w", suffix=".js")
        self.watch.write(watch_script())
        self.watch.flush()
        self.process = subprocess.Popen(["/usr/bin/python3", f"{HERE}/engine.py", str(self.proxy.server_address[1]), self.watch.name],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the engine ended")
        return json.loads(line)

    def opens(self, url):
        """What the page signals, and whether it fails by the rule of docs/protocol.md §11: a script before it comes up, or nothing."""
        signals = self.ask(open=url, seconds=DEADLINE)["signals"]
        return signals, not any(signal.startswith("painted") for signal in signals)

    def closes(self):
        self.ask(close=True)

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.proxy.shutdown()


class Device:
    """One installation: its folder and address stay, processes come and go."""

    def __init__(self, fleet, name, address):
        self.fleet, self.name, self.address, self.folder = fleet, name, address, f"{fleet.work}/devices/{name}"
        self.process, self.engine, self.lock = None, None, threading.Lock()
        self.arm, self.bucket, self.is_late, self.goes_offline, self.has_engine, self.is_in_office, self.is_metered = None, None, False, False, False, False, False
        # What happened: pages, versions held, and times without a network; all in seconds since the broken release.
        self.pages, self.held, self.offline, self.final = [], [], [], None

    def start(self):
        proxy = f"http://{self.address}:{self.fleet.proxy_port}"
        self.process = subprocess.Popen(
            [self.fleet.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
            env={**os.environ, "http_proxy": proxy, "no_proxy": "", "NO_PROXY": ""})
        self.clock = time.time()
        settings = {"folder": self.folder, "server": "http://origin.test", "app": "shop", "hosts": [HOST], "pageDeadline": DEADLINE * 1000, "proofDelay": 10_000}
        self.tell({"do": "open", "now": int(self.clock * 1000), "settings": settings})
        if self.is_metered:
            self.tell({"do": "conditions", "network": "metered"})

    def tell(self, command):
        self.process.stdin.write(json.dumps(command) + "\n")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended at {command}")
        answer = json.loads(line)
        if "error" in answer or "fault" in answer:
            raise RuntimeError(f"{self.name}: {command}: {answer}")
        return answer

    def ask(self, verb, **members):
        """A command, at the time that it is."""
        with self.lock:
            passed = int((time.time() - self.clock) * 1000)
            if passed > 0:
                self.clock += passed / 1000
                self.tell({"do": "advance", "milliseconds": passed})
            return self.tell({"do": verb, **members})

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(60)
        self.process = None

    def poll(self, *names):
        self.ask("trigger", triggers=list(names or ["push"]))

    def state(self):
        """What it holds; files are told with the bytes that they have."""
        state = self.ask("state")
        if not self.held or self.held[-1][1] != state["version"]:
            self.held.append([self.fleet.now(), state["version"]])
        return state

    def holds(self, state, content):
        """Whether its files have the bytes of a version, and are all that it lists, or on a metered network some of them."""
        files = state["files"]
        return all(content.get(url) == digest for url, digest in files.items()) and (self.is_metered or len(files) == len(content))

    def network(self, name):
        self.ask("conditions", network=name)
        if name == "offline":
            self.offline.append([self.fleet.now(), None])
        else:
            self.offline[-1][1] = self.fleet.now()

    def opens_page(self, **more):
        """A person opens the page, and closes it; returns whether it failed."""
        begun, state = self.fleet.now(), self.state()
        # What the halt made has the content of the first one.
        held, content = state["version"], self.fleet.contents["2" if state["version"] == "2" else "1"]
        page = self.ask("pageOpen", url=PAGE)["page"]
        build, source, fails = (self.shows_page if self.engine else self.reads_page)(page)
        self.ask("scriptFailed" if fails else "pageUp", page=page)
        self.pages.append({"at": begun, "held": held, "build": build, "from": source, "whole": self.holds(state, content), "fails": fails, **more})
        self.state()
        # Somebody looks at it for a moment.
        time.sleep(1)
        if self.engine:
            self.engine.closes()
        self.ask("pageClose", page=page)
        return fails

    def request(self, url, page, method="GET", **more):
        """The device's own answer: status, headers, body; None where it passes the request on."""
        answer = self.ask("request", url=url, page=page, method=method, **more)
        if answer["answer"] == "network":
            return None
        return answer["status"], answer["headers"], base64.b64decode(answer["body"])

    def reads_page(self, page):
        """Without an engine: the document and its entry script tell which build the page is of, and the engine has told what that does."""
        answer = self.request(PAGE, page, destination="document", mode="navigate")
        source = "device" if answer else "network"
        _, _, document = answer or self.fleet.site.get(PAGE)
        entry = PAGE + ENTRY.search(document.decode())[1]
        local = self.request(entry, page, "HEAD", destination="script", mode="cors") if source == "device" else None
        if local:
            md5 = dict(local[1])["ETag"].strip('"')
        else:
            source = "network"
            md5 = hashlib.md5(self.fleet.site.get(entry)[2]).hexdigest()
        build = self.fleet.builds.of(document, md5)
        return build, source, self.fleet.builds.fails.get(build, True)

    def shows_page(self, page):
        """With an engine: it renders the page, of what the device answers or the network, and says itself how that goes."""
        self.page, self.parts = page, {}
        signals, fails = self.engine.opens(PAGE)
        self.signals = signals
        document, source = self.parts.get("/", (b"", "network"))
        entry = ENTRY.search(document.decode())
        body, where = self.parts.get("/" + entry[1], (b"", "network")) if entry else (b"", "network")
        return self.fleet.builds.of(document, hashlib.md5(body).hexdigest()), "device" if (source, where) == ("device", "device") else "network", fails

    def answers_engine(self, method, url, headers):
        path = urllib.parse.urlsplit(url).path
        about = {"destination": "document", "mode": "navigate"} if url == PAGE else {}
        local = self.request(url, self.page, method, **about)
        status, fields, body = local or self.fleet.site.get(url)
        if status == 200:
            self.parts[path] = body, "device" if local else "network"
        return status, fields, body

    def record(self):
        return {"name": self.name, "address": self.address, "network": self.address.rpartition(".")[0], "arm": self.arm, "bucket": self.bucket,
                "late": self.is_late, "goesOffline": self.goes_offline, "engine": self.has_engine, "office": self.is_in_office, "metered": self.is_metered,
                "pages": self.pages, "held": self.held, "offline": self.offline, "final": self.final}
