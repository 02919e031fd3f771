"""Records what the commands send: a proxy before a real server, through which every verb is driven."""
import base64
import http.client
import json
import os
import re
import socket
import subprocess
import threading
import time

# Verbs that send nothing of their own: they work on files, are the server, or are a device as `pull` is (`preview`, which needs an
# engine, and `device run`, which doesn't end by itself); `login` asks what `channel list` does.
LOCAL = {"backup", "check", "completions", "device", "doctor", "help", "init", "login", "logout", "preview", "restore", "serve",
         "smoke", "version", "web"}
# What one hop says to the next; the replay has its own.
HOP = {"connection", "content-length", "expect", "host", "keep-alive", "te", "transfer-encoding", "user-agent"}


class Recorded:
    """One request: what a fuzzer may change, taken apart."""

    def __init__(self, method, target, headers, body):
        self.method, self.target, self.body = method, target, body
        self.headers = [(name, value) for name, value in headers if name.lower() not in HOP]

    def key(self):
        """Requests that differ only in values which every run has anew count as one."""
        shape = re.sub(rb"[0-9a-f]{32,}|\d+", b"*", self.body[:2000])
        path = re.sub(r"[0-9a-f]{32,}|\d+|[A-Za-z0-9_-]{30,}", "*", self.target)
        return self.method, path, shape, tuple(sorted(name.lower() for name, _ in self.headers))


class Proxy:
    """Passes requests on to the server at `port`, one thread for each connection, and keeps what it saw."""

    def __init__(self):
        self.port, self.recorded, self.lock = 0, [], threading.Lock()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        file = connection.makefile("rb")
        try:
            while line := file.readline():
                method, target, _ = line.decode("latin-1").split()
                headers = []
                while (line := file.readline()) not in (b"\r\n", b""):
                    name, _, value = line.decode("latin-1").partition(":")
                    headers.append((name, value.strip()))
                said = {name.lower(): value for name, value in headers}
                if said.get("expect", "").lower() == "100-continue":
                    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = self.body(file, said)
                with self.lock:
                    self.recorded.append(Recorded(method, target, headers, body))
                self.forward(connection, method, target, headers, body)
        except (OSError, ValueError, http.client.HTTPException):
            pass
        finally:
            connection.close()

    @staticmethod
    def body(file, said):
        if said.get("transfer-encoding", "").lower() != "chunked":
            return file.read(int(said.get("content-length", 0)))
        body = b""
        while size := int(file.readline().split(b";")[0], 16):
            body += file.read(size)
            file.readline()
        while file.readline() not in (b"\r\n", b""):
            pass
        return body

    def forward(self, connection, method, target, headers, body):
        server = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        server.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            if name.lower() not in ("expect", "transfer-encoding", "content-length", "connection"):
                server.putheader(name, value)
        if body or method in ("POST", "PUT"):
            server.putheader("Content-Length", str(len(body)))
        server.endheaders(body or None)
        answer = server.getresponse()
        content = answer.read()
        lines = [f"HTTP/1.1 {answer.status} {answer.reason}"]
        lines += [f"{n}: {v}" for n, v in answer.getheaders() if n.lower() not in ("connection", "transfer-encoding")]
        connection.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content)
        server.close()


class Commands:
    """Runs the command line against the proxy."""

    def __init__(self, binary, folder, proxy, token):
        self.binary, self.folder, self.proxy = binary, folder, proxy
        self.driven = set()
        self.environment = {
            "HOME": folder, "PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{folder}/cache", "XCACHE_APP": "shop",
            "XCACHE_SERVER": f"http://{proxy.address}", "XCACHE_TOKEN": token,
        }

    def __call__(self, *words, fails=False):
        """Runs one; a failure where none is wanted ends the run, since then the recording has a hole."""
        self.driven.update([words[:1], words[:2], words[:3]])
        result = subprocess.run(
            [self.binary, *words], env=self.environment, cwd=self.folder, capture_output=True, timeout=120)
        if (result.returncode != 0) != fails:
            raise SystemExit(f"xcache {' '.join(words)} ended with {result.returncode}: {result.stderr.decode()}")
        return result.stdout.decode()

    def file(self, name, text):
        path = f"{self.folder}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)
        return path

    def undriven(self):
        """Verbs of the help that were neither driven nor are local, so that a new one can't be forgotten."""
        listed = subprocess.run([self.binary, "--help"], capture_output=True, check=True).stdout.decode()
        verbs = re.findall(r"^  ([a-z]+)  ", listed, re.M)
        missing = []
        for verb in verbs:
            if verb in LOCAL:
                continue
            if (verb,) not in self.driven:
                missing.append(verb)
            words = subprocess.run([self.binary, verb, "--help"], capture_output=True, check=True).stdout.decode()
            usage = re.sub(r"\s+", " ", words.split("Usage:")[1].split("\n\n")[0])
            for part in usage.split("xcache " + verb, 1)[1].split("|")[(0 if "|" in usage else 1):]:
                names = re.match(r"(?: [a-z][a-z-]*\b)*", " " + part.strip()).group().split()
                if names and (verb, *names) not in self.driven:
                    missing.append(" ".join([verb, *names]))
        return missing


def drive(run):
    """Every verb, with the options that make its requests carry the most."""
    shop, publish = "https://m.example.com/shop/", ("publish", "--create", "--base-url", "https://m.example.com/shop/", "--bundle")
    for version in (1, 2, 3):
        pages = {"index.html": f"<!doctype html><p>version {version}<script src=app.js></script>",
                 "app.js": f"console.log({version});\n" + "".join(f"f({n});\n" for n in range(200)),
                 f"page-{version}.css": "p { color: red }\n" * 50}
        for name, text in pages.items():
            run.file(f"site-{version}/{name}", text)
        run(*publish, f"main=site-{version}", "-m", f"version {version}\nand more", *["--now"][: version - 1])
    run(*publish, "main=site-1", "--channel", "test")
    other = ("publish", "--create", "--base-url", "https://m.example.com/help/", "--bundle", "help=site-2")
    run(*other, "--if-version", "3", "--dry-run")
    run(*other, "--if-version", "2999-01-01T00:00+00:00", fails=True)
    run(*other)
    run("unpublish", "--bundle", "help", "-m", "gone", "--if-version", "4")
    run("status")
    run("samples")
    run("samples", "--version", "2", "--page", "https://m.example.com/shop/index.html", "--limit", "3")
    run("channel", "set", "--samples", "off")
    run("channel", "set", "--samples", "on")
    run("log", "--limit", "5")
    run("show", "2")
    run("show", "2", "--manifest")
    run("diff", "1", "3")
    run("pin", "2", "the stand of the fair")
    run("pin", "list")
    run("rollback", "--bundle", "main", "--to", "2", "--dry-run")
    run("rollback", "--bundle", "main", "--to", "2", "-m", "back", "--if-version", "5")
    run("rollback", "--all-bundles", "--steps", "1", "--now")
    config = [{"url": f"{shop}index.html", "interfaces": [
        {"api": "https://m.example.com/info", "method": "GET", "urlParam": True},
        {"api": "https://m.example.com/list.json", "body": {"page": {"size": 20}}, "bodyParam": True, "method": "POST",
         "paramTypes": {"id": "number"}}]}]
    more = config + [{"url": f"{shop}other.html", "interfaces": [{"api": "https://m.example.com/x", "method": "GET"}]}]
    run("prefetch", "push", run.file("prefetch.json", json.dumps(config)), "-m", "first")
    run("prefetch", "push", run.file("prefetch.json", json.dumps(more)), "--if-version", "1")
    run("prefetch", "push", run.file("prefetch.json", json.dumps(config)), "--channel", "test")
    run("prefetch", "show")
    run("prefetch", "show", "--version", "1")
    run("prefetch", "log")
    run("prefetch", "run", f"{shop}no-page-of-the-config.html")
    run("prefetch", "check", "--url", f"{shop}index.html?id=1")
    run("prefetch", "rollback", "--to", "1", "-m", "back")
    run("promote", "--from", "test", "--to", "stage", "--create", "--map", f"https://m.example.com=https://stage.example.com",
        "--with-prefetch", "-m", "staged")
    run("policy", "bypass", "add", "https://third.example.com/*", "--for", "6h", "-m", "broken")
    run("policy", "bypass", "add", "*://*.example.org/pay")
    # Old origins don't have it.
    if "bypass list" in run("policy", "--help"):
        run("policy", "bypass", "list")
    run("policy", "bypass", "remove", "*://*.example.org/pay")
    run("policy", "kill", "--for", "30m", "--if-version", "3")
    run("policy", "show")
    run("policy", "resume")
    run("policy", "script", "key", f"{run.folder}/key.pem")
    run("policy", "script", "sign", run.file("guard.js", "guard()"), "--key", f"{run.folder}/key.pem")
    run("policy", "script", "add", run.file("guard.js", "guard()"), "--name", "guard", "--signature", "A" * 86 + "==")
    run("policy", "script", "remove", "guard")
    run("policy", "log", "--limit", "3")
    run("policy", "set", run.file("policy.json", json.dumps(json.loads(run("policy", "show", "--json"))["policy"])))
    run("channel", "list")
    run("channel", "create", "--channel", "extra", "--public-url", "https://cdn.example.com/x")
    run("channel", "set", "--interval", "60")
    run("channel", "freeze", "--channel", "online", "-m", "the sale")
    run(*publish, "main=site-1", "--break-glass", "it burns")
    # Old origins don't have it.
    if "  acknowledge " in run("--help"):
        run("acknowledge", "frozen", "--channel", "online", "-m", "until the sale is over", "--until", "4h")
        run("status", "--json")
        run("acknowledge", "frozen", "--channel", "online", "--off")
        run("search", "sale")
    run("channel", "thaw", "--channel", "online")
    run("channel", "remove", "--channel", "extra")
    if "default-app" in run("channel", "--help"):
        run("channel", "default-app", "shop")
    # Old origins don't have it.
    if "rollout" in run("--help"):
        beside = ("--channel", "test")
        run(*publish, "main=site-2", *beside, "--rollout", "5%", "--app-version", ">=4.2 <5", "--group", "qa")
        run("rollout", "show", *beside)
        run("rollout", "set", "25%", "--group", "none", "--app-version", ">=4", *beside)
        run("rollout", "pause", *beside)
        run("rollout", "resume", *beside)
        run("rollout", "halt", "-m", "broken", *beside)
        run(*publish, "main=site-3", *beside, "--rollout", "0.5%")
        run("rollout", "complete", "--candidate", "4", *beside)
    if "schedule" in run("--help"):
        ahead = lambda days: time.strftime("%Y-%m-%dT%H:%M+00:00", time.gmtime(time.time() + days * 86_400))
        run("channel", "freeze", "--channel", "test", "--from", ahead(30), "--to", ahead(31), "-m", "holidays")
        run("channel", "thaw", "--channel", "test", "--planned", "1")
        run(*publish, "main=site-1", "--channel", "test", "--schedule", ahead(2))
        run("schedule", "list", "--channel", "test")
        run("schedule", "show", "1", "--channel", "test")
        run("schedule", "cancel", "1", "--channel", "test")
    run("token", "create", "--name", "ci", "--scope", "publish", "--app", "shop", "--channel", "test", "--bundle", "activity-*",
        "--expires", "90d")
    run("token", "list")
    run("whoami")
    run("token", "revoke", "ci")
    # Old origins don't have it.
    if "  approve " in run("--help"):
        team(run, publish)
    run("webhook", "add", "http://127.0.0.1:9/", "--allow-private", "--events", "freeze,thaw", "--app", "shop", "--channel", "test",
        "--template", "slack")
    run("webhook", "list")
    hook = json.loads(run("webhook", "list", "--json"))["webhooks"][0]["id"]
    run("webhook", "show", hook)
    run("webhook", "test", hook, fails=True)
    run("webhook", "deliveries", hook, "--limit", "5")
    run("webhook", "remove", hook)
    run("audit", "log", "--limit", "5", "--before", "9")
    run("audit", "verify")
    run("audit", "export")
    run("gc", "--keep-versions", "50", "--keep-days", "90", "--dry-run")
    run("gc")
    # Old origins don't have it.
    if "trust" in run("--help"):
        trust(run)
    # A device that comes twice polls with what it holds, takes patches and tells of what it couldn't get.
    run("pull", "--to", "device")
    run(*publish, "main=site-3")
    run("pull", "--to", "device")
    run("mirror", "--to", "www", "--zips")
    run("mirror", "verify", "www")
    run("mirror", "--to", "www", "--name", "s3://bucket/copy")
    run("mirror", "list")
    run("mirror", "forget", "s3://bucket/copy")
    run("pin", "remove", "2")
    # Old origins don't have it.
    if "purge" in run("--help"):
        run("purge", "list")
        run("purge", "0" * 64, "--dry-run", fails=True)
        run("purge", "lift", "0" * 64, fails=True)


def team(run, publish):
    """A CI job's identity, and a channel whose changes somebody else has to approve."""
    beside = ("--channel", "test")
    run("identity", "add", "ci-shop", "--issuer", "https://token.actions.githubusercontent.com", "--subject",
        "repo:acme/shop:ref:refs/heads/main", "--scope", "publish", "--app", "shop", "--bundle", "main")
    run("identity", "list")
    run("identity", "remove", "ci-shop")
    lead = ("--token", json.loads(run("token", "create", "--name", "lead", "--scope", "release", "--app", "shop", "--expires", "1d", "--json"))["token"])
    run("channel", "protect", "--approvals", "1", "--by", "l*", "--above", "10%", *beside)

    def waiting(build):
        run(*publish, f"main={build}", *beside)
        return str(json.loads(run("approve", "--json"))["acts"][-1]["id"])

    run("approve", waiting("site-1"), "-y", "-m", "seen", *lead)
    run("reject", waiting("site-2"), "-m", "not today", *lead)
    run("channel", "protect", "--off", *beside)


def trust(run):
    """An app of its own with a root: the ceremony, the changes of the root, and releases that are signed."""
    app, key = ("--app", "signed"), ("--sign-key", "trust/release.key")
    site = ("publish", *app, "--base-url", "https://m.example.com/signed/", "--bundle")
    run(*site, "main=site-1", "--create")
    run("trust", "init", *app, "--out", "trust", "--root-key", "trust/root.key", "--spare-key", "trust/spare.key",
        "--release-key", "trust/release.key", "--no-passphrase")
    run("trust", "push", "-y", *app, "--out", "trust", *key)
    run("trust", "status", *app, "--out", "trust")
    run(*site, "main=site-2", *key)
    run(*site, "main=site-3", fails=True)
    run("promote", *app, "--from", "online", "--to", "test", "--create", *key)
    config = [{"url": "https://m.example.com/signed/index.html", "interfaces": [{"api": "https://m.example.com/info", "method": "GET"}]}]
    run("prefetch", "push", *app, run.file("signed.json", json.dumps(config)), *key)
    run("trust", "resign", *app, "--out", "trust", *key, "--every")

    number = 1

    def change(*words, also=()):
        nonlocal number
        number += 1
        draft = f"trust/root-{number}.draft.json"
        run("trust", *words, *app, "--out", "trust")
        run("trust", "sign", draft, "--out", "trust", "--key", "trust/root.key", "--key", "trust/spare.key")
        run("trust", "push", "-y", draft, *app, "--out", "trust", *key, *also)
        roots = json.loads(run("trust", "status", *app, "--out", "trust", "--json"))["roots"]
        before, now = [json.loads(base64.b64decode(root["envelope"]["payload"]))["keys"] for root in roots[-2:]]
        return next(iter(set(now) - set(before)), None)

    second = change("add-key", "--new", "trust/second.key", "--no-passphrase")
    # Old origins don't have it.
    if "  sign " in run("--help"):
        both = ("--sign-key", "trust/second.key")
        change("set-threshold", "releases", "2", also=both)
        waiting = str(json.loads(run(*site, "main=site-3", *key, "--json"))["scheduled"]["id"])
        run("schedule", "show", waiting, *app)
        run("sign", waiting, *app, *both, "--no-build", "-y")
        change("set-threshold", "releases", "1")
    change("set-floor", "main", "--to", "1")
    change("rotate-head", "--keep")
    change("set-scope", second, "--channels", "test")
    change("set-threshold", "roots", "2")
    run("trust", "set-threshold", "releases", "1", *app, "--out", "trust")
    change("remove-key", second)
    change("remove-root", change("add-root", "--new", "trust/third.key", "--no-passphrase"))
    change("off")
    change("on")


# What devices ask beside what `pull` and `mirror` do.
DEVICE = [
    ("GET", f"/configure.json?app=shop&channel=online&version=1&patch=1&digest={'0' * 64}&bucket=9999&appVersion=1.2"),
    ("GET", "/configure.json?app=shop&version=2&patch=1"),
    ("GET", "/configure.json"),
    ("GET", "/xcache-provider/xhr/client/configure.json?app=shop"),
    ("GET", "/xcache/shop/configure.json?version=3&patch=1"),
    ("GET", "/prefetchConfig?app=shop&channel=online"),
    ("GET", "/policy?app=shop&channel=online"),
    ("GET", "/xcache/shop/info.json"),
    ("GET", "/xcache/shop/bundle/3.zip"),
    ("GET", "/xcache/shop/bundle/1-3.zip"),
    ("GET", "/xcache/shop/bundle/3-1.zip"),
    ("GET", "/xcache/shop/bundle/0-9007199254740991.zip"),
    ("POST", "/report?app=shop&channel=online",
     b'{"reason":"integrity","url":"https://m.example.com/shop/app.js","version":"2"}'),
    ("POST", "/report?app=shop&channel=online",
     b'{"counts":{"local":120,"passed":7,"status-2xx":7,"paint-local-256":3},"version":"2"}'),
    ("GET", "/metrics"), ("GET", "/healthz"), ("GET", "/"), ("GET", "/console/"),
]
# Header fields that no command sends, on any request.
FIELDS = [
    ("Accept-Encoding", "gzip;q=0.5, zstd"), ("If-None-Match", '"abc", W/"def"'), ("If-Match", "*"),
    ("Range", "bytes=0-1,5-"), ("If-Range", '"abc"'), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("Available-Dictionary", f":{'A' * 43}=:"), ("Dictionary-ID", '"x"'), ("X-Forwarded-For", "10.0.0.1, 192.0.2.1"),
    ("Forwarded", "for=192.0.2.1"), ("Origin", "https://x"), ("Content-Encoding", "gzip"), ("Cookie", "a=b"),
    ("Prefer", "wait=1"), ("Idempotency-Key", "0123456789abcdef"),
]
