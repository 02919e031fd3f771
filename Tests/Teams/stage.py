"""What the tests of sign-in stand on: an origin, requests as a browser without a screen sends them, and a provider's ports."""
import atexit, base64, contextlib, glob, html, json, os, random, re, socket, subprocess, threading, time, urllib.parse

from tokens import secret_hash

# Loopback addresses that are sites of their own to a browser; unlike ports, which cookies don't tell apart.
hosts = {"origin": "127.0.0.1", "canaille": "127.0.0.2", "lemonldap": "127.0.0.3", "hostile": "127.0.0.4", "jobs": "127.0.0.5"}


def port(host="127.0.0.1"):
    """A port that is free, and below those that the kernel gives to connections."""
    while True:
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind((host, random.randrange(15_000, 30_000)))
            return s.getsockname()[1]


def until(probe, what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = probe()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


class Answer:
    """One answer: status, fields in order, body."""

    def __init__(self, status, fields, body):
        self.status, self.lines, self.body = status, fields, body
        self.fields = {name.lower(): value for name, value in fields}

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    @property
    def words(self):
        """What a person reads of it: a page's text, or a problem's detail."""
        if "html" in self.fields.get("content-type", ""):
            text = re.sub(r"(?s)<(style|script|title)\b.*?</\1>|<[^>]*>", " ", self.text)
            text = html.unescape(text)
            return re.sub(r"\s+", " ", text).strip()
        with contextlib.suppress(ValueError):
            document = json.loads(self.body)
            return document.get("detail") or document.get("message") or document.get("error_description") or ""
        return self.text

    @property
    def document(self):
        return json.loads(self.body)

    @property
    def code(self):
        with contextlib.suppress(ValueError):
            return self.document.get("code")

    def __repr__(self):
        return f"{self.status} {self.words[:200]!r}"


def ask(url, method="GET", body=None, fields=(), source=None, timeout=60):
    """Sends one request to a URL, exactly with these fields; follows nothing."""
    parts = urllib.parse.urlsplit(url)
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}", "Connection: close", *fields]
    if body is not None:
        if not any(line.lower().startswith("content-type:") for line in lines):
            lines.append("Content-Type: application/json")
        lines.append(f"Content-Length: {len(data)}")
    with socket.create_connection((parts.hostname, parts.port), timeout, source_address=source and (source, 0)) as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(1 << 16):
                received += piece
    head, _, rest = received.partition(b"\r\n\r\n")
    first, *more = head.decode("latin-1").split("\r\n")
    assert first, f"{method} {target}: no answer"
    found = [tuple(part.strip() for part in line.split(":", 1)) for line in more if ":" in line]
    if any(name.lower() == "transfer-encoding" and "chunked" in value for name, value in found):
        whole = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            if not int(size.split(b";")[0], 16):
                break
            length = int(size.split(b";")[0], 16)
            whole, rest = whole + rest[:length], rest[length + 2:]
        rest = whole
    return Answer(int(first.split()[1]), found, rest)


def somebody():
    """A loopback address that nobody came from yet: the origin makes an address wait that fails often."""
    global visitors
    visitors += 1
    return f"127.{1 + visitors // 60_000}.{visitors // 240 % 250}.{1 + visitors % 240}"


visitors = os.getpid() % 50_000


class Jar:
    """A browser without a screen, at an address of its own: keeps cookies by host, and follows redirects only when told."""

    def __init__(self):
        self.cookies, self.set, self.source = {}, [], somebody()

    def ask(self, url, method="GET", body=None, fields=(), **more):
        more.setdefault("source", self.source)
        host = urllib.parse.urlsplit(url).hostname
        mine = "; ".join(f"{name}={value}" for (where, name), value in self.cookies.items() if where == host)
        answer = ask(url, method, body, [*fields, *([f"Cookie: {mine}"] if mine else [])], **more)
        for name, value in answer.lines:
            if name.lower() == "set-cookie":
                self.set.append(value)
                pair = value.split(";")[0]
                key, _, content = pair.partition("=")
                gone = re.search(r"(?i)max-age=0\b|expires=thu, 01[ -]jan[ -]1970", value)
                if gone or not content:
                    self.cookies.pop((host, key), None)
                else:
                    self.cookies[host, key] = content
        return answer

    def drop(self, *names):
        self.cookies = {key: value for key, value in self.cookies.items() if key[1] not in names}

    @property
    def session(self):
        """The text of the origin's session cookie."""
        return self.cookies.get((hosts["origin"], "__Host-xcache"))


started = []


@atexit.register
def end_all():
    """Ends the origins of parts that failed before they were complete."""
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.wait(20)


class Clock:
    """The time of a program, if libfaketime is installed: it can be set while that runs."""

    library = os.environ.get("FAKETIME_LIBRARY") or next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)

    def __init__(self, program, folder):
        self.file, self.program = f"{folder}/clock", f"{folder}/xcache"
        self.later(0)
        self.environment = {"LD_PRELOAD": self.library, "FAKETIME_TIMESTAMP_FILE": self.file, "FAKETIME_NO_CACHE": "1",
                            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        # libfaketime moves the environment of its first process, next to which Swift expects the arguments: use a shell for it.
        with open(self.program, "w") as out:
            out.write(f"#!/bin/sh\nexec '{program}' \"$@\"\n")
        os.chmod(self.program, 0o755)

    def later(self, hours):
        with open(self.file, "w") as out:
            out.write(f"+{hours * 60:.0f}m" if hours else "+0")


class Origin:
    """`xcache serve`, with a provider; options as for the command, e.g. role=["admin=groups:staff"]. `clock`: its time can be set."""

    def __init__(self, xcache, folder, number=None, clock=False, **options):
        self.xcache, self.folder = xcache, str(folder)
        self.number = number or port()
        self.url = f"http://{hosts['origin']}:{self.number}"
        self.console, self.published = f"{self.url}/console/", 0
        os.makedirs(self.folder, exist_ok=True)
        self.log, self.server = f"{self.folder}/serve.log", None
        self.options = options
        self.clock = Clock(xcache, self.folder) if clock and Clock.library else None
        self.start()

    def start(self, **changed):
        """Starts the server, after a stop with other options, too."""
        self.options |= changed
        words, environment = [], dict(os.environ)
        for name in [name for name in environment if name.startswith(("XCACHE_", "ACTIONS_"))]:
            del environment[name]
        for name, value in self.options.items():
            if name == "secret":
                if value:
                    environment["XCACHE_OIDC_SECRET"] = value
            else:
                for one in value if isinstance(value, list) else [value]:
                    words += ["--" + name.replace("_", "-"), one]
        if self.clock:
            environment |= self.clock.environment
        with open(self.log, "a") as log:
            mark = log.tell()
            self.server = subprocess.Popen(
                [self.clock.program if self.clock else self.xcache, "serve", "--data", f"{self.folder}/data", "--listen", f"{hosts['origin']}:{self.number}",
                 "--access-log", f"{self.folder}/access.log", *words], stderr=log, stdout=log, env=environment)
        started.append(self.server)

        def listens():
            said = open(self.log).read()[mark:]
            assert self.server.poll() is None, f"the server ended: {said}"
            return " listens on " in said

        until(listens, "the origin to listen", 60)
        self.token = open(f"{self.folder}/data/admin.token").read().strip()

    def stop(self):
        if self.server and self.server.poll() is None:
            self.server.terminate()
            assert self.server.wait(60) == 0, "the server ended with an error"

    def api(self, path, method="GET", body=None, token=None, fields=()):
        """A request to the API with a token, by default the local admin's."""
        return ask(f"{self.url}/api/v1/{path}", method, body, [f"Authorization: Bearer {token or self.token}", *fields],
                   source=somebody() if token else None)

    def by_cookie(self, jar, path, method="GET", body=None, fields=("Xcache-Console: 1", "Sec-Fetch-Site: same-origin")):
        """A request to the API as the console's script sends it."""
        return jar.ask(f"{self.url}/api/v1/{path}", method, body, fields)

    def tool(self, *words, token=None, check=True, environment={}, profile="profile", timeout=120):
        """Runs the command line; its environment has nothing of this one's xcache."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("XCACHE_", "ACTIONS_"))}
        home = f"{self.folder}/{profile}"
        clean |= {"HOME": home, "XDG_CONFIG_HOME": f"{home}/config", "XDG_CACHE_HOME": f"{home}/cache", **environment}
        if token:
            clean["XCACHE_TOKEN"] = token
        os.makedirs(home, exist_ok=True)
        done = subprocess.run([self.xcache, *words], env=clean, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
        assert not check or done.returncode == 0, f"xcache {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def build(self, **files):
        """A folder to publish."""
        self.published += 1
        folder = f"{self.folder}/build-{self.published}"
        os.makedirs(folder)
        for name, text in {"index.html": f"<!doctype html><title>{self.published}</title>", **files}.items():
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)
        return folder

    def publish(self, token=None, app="shop", channel="online", bundle="main", more=(), **options):
        """Publishes a new build; by default as the local admin."""
        token = self.token if token is None and "environment" not in options else token
        return self.tool("publish", *(["--create"] if token == self.token else []), self.build(), "--app", app, "--channel", channel,
                         "--bundle", bundle, "--base-url", "https://m.example.com/", "--server", self.url, "--no-check", "all", *more,
                         token=token, **options)

    def version(self, app="shop", channel="online"):
        """The version that the channel has; None without one."""
        answer = self.api(f"apps/{app}/channels/{channel}")
        return answer.document.get("version") if answer.status == 200 else None

    def audit(self, act=None):
        """The audit's rows, newest first, maybe those of one act."""
        rows = self.api("audit?limit=200").document["rows"]
        return [one for one in rows if act is None or one["act"] == act]

    def leaks(self, *secrets):
        """What of these is in logs, in answers about the audit, or in the database's text."""
        texts = {"the server's log": open(self.log, "rb").read(), "the audit": self.api("audit?limit=200").body}
        for name in sorted(os.listdir(f"{self.folder}/data")):
            path = f"{self.folder}/data/{name}"
            if os.path.isfile(path) and name != "admin.token":
                texts[name] = open(path, "rb").read()
        access = f"{self.folder}/access.log"
        if os.path.exists(access):
            texts["the access log"] = open(access, "rb").read()
        return [where for where, text in texts.items() for secret in secrets if secret and secret.encode() in text]


def trade(origin, token, secret=None, identity=None, **more):
    """`POST /auth/trade`; returns the answer and the text that the token has if it was given one."""
    secret = secret or os.urandom(32)
    more.setdefault("source", somebody())
    body = {"token": token, "secretHash": secret_hash(secret), **({"identity": identity} if identity else {})}
    answer = ask(f"{origin.url}/auth/trade", "POST", body, **more)
    text = answer.status == 201 and f"xcache_{answer.document['id']}_{base64.urlsafe_b64encode(secret).rstrip(b'=').decode()}"
    return answer, text


def side_by_side(*acts):
    """Runs functions at the same time; returns what each returned, in their order."""
    results, barrier = [None] * len(acts), threading.Barrier(len(acts))

    def run(index):
        barrier.wait()
        results[index] = acts[index]()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(acts))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return results
