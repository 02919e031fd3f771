"""What stands between devices and an origin in these tests: a real origin, edges in front of it, and the load programs in C."""
import http.client, json, os, re, shutil, signal, subprocess, sys, tempfile, time

import stage

HERE = os.path.dirname(os.path.abspath(__file__))


def wait_for(what, condition, seconds=20, every=0.02):
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            sys.exit(f"waited {seconds} s in vain: {what}")
        time.sleep(every)
    return value


def get(port, target, headers={}, method="GET", timeout=10):
    """Status, headers and body, not decoded."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def poll(port, app, channel, version=None, digest=None, patch=True, more=""):
    """The `data` of an answer."""
    held = f"&version={version}&digest={digest}" if version else ""
    target = f"/configure.json?app={app}&channel={channel}{held}{'&patch=1&pack=1' if patch else ''}{more}"
    status, _, body = get(port, target)
    if status != 200:
        raise OSError(f"{target}: {status} {body[:200]}")
    return json.loads(body)["data"]


def built(work, name):
    """A program of load/, compiled."""
    program = f"{work}/{name}"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-Wno-format-truncation", "-o", program,
                    f"{HERE}/load/{name}.c", "-lz", "-lzstd"], check=True)
    return program


class Origin:
    """`xcache serve` with an address that it keeps when it is started again."""

    def __init__(self, xcache, work, name="origin", ttl=10, public_url="http://cdn.test"):
        self.xcache, self.work, self.name, self.ttl, self.public_url = xcache, work, name, ttl, public_url
        self.data, self.port, self.process = f"{work}/{name}", stage.port(), None
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("XCACHE_")}
        self.environment.update(XDG_CACHE_HOME=work + "/cache", XCACHE_TOKEN_FILE=self.data + "/admin.token",
                                XCACHE_SERVER=f"http://127.0.0.1:{self.port}")

    def words(self, purges):
        return [self.xcache, "serve", "--data", self.data, "--listen", f"127.0.0.1:{self.port}", "--public-url", self.public_url,
                "--delta-wait", "2", "--delta-threads", "1", "--edge-ttl", str(self.ttl),
                *(word for purge in purges for word in ("--purge", purge))]

    def start(self, purges=()):
        with open(f"{self.work}/{self.name}.log", "a") as log:
            self.process = subprocess.Popen(self.words(purges), stderr=log, env=self.environment | {"XCACHE_PURGE_TOKEN": stage.secret})

        def is_up():
            if self.process.poll() is not None:
                sys.exit(f"the origin ended:\n{open(f'{self.work}/{self.name}.log').read()[-2000:]}")
            try:
                return get(self.port, "/readyz")[0] == 200 and os.path.exists(self.data + "/admin.token")
            except OSError:
                return False
        wait_for("the origin", is_up)

    def end(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def run(self, *words):
        done = subprocess.run([self.xcache, *words], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def publish(self, app, channel, folder, *more):
        """The version that came of it."""
        return int(json.loads(self.run(
            "publish", folder, "--create", "--app", app, "--channel", channel, "--bundle", "main", "--now", "--no-check", "all",
            "--base-url", f"https://{app}.example.com/", "--json", *more))["version"])

    def digest(self, app, channel, more=""):
        """The newest version and its digest, asked for at the origin itself."""
        data = poll(self.port, app, channel, more=more + "&preview=1")
        return int(data["version"]), data["digest"]


class Site:
    """A small site whose files have the names of app and channel in their paths; a version changes three of them."""

    def __init__(self, work, app, channel, files=40):
        self.app, self.channel, self.folder, self.files, self.number = app, channel, f"{work}/site-{app}-{channel}", files, 0
        os.makedirs(self.folder)
        for number in range(files):
            self.write(number)

    def write(self, number):
        with open(f"{self.folder}/mark-{self.app}-{self.channel}-{number:03}.js", "w") as file:
            file.write(f"export const {self.app}_{self.channel} = [{self.number}, {number}];\n" * 20)

    def change(self):
        self.number += 1
        for number in range(3):
            self.write((self.number * 3 + number) % self.files)
        return self.folder


def edges(kind, work, origin_port):
    """Two edges of a kind, not started."""
    return [stage.edges[kind](f"{work}/{name}", origin_port) for name in ("a", "b")]


class Suite:
    """What is measured, against its bars. A subclass sets `origin` and `caches`, and measures in `run`."""

    def __init__(self, options, work):
        self.options, self.work, self.missed = options, work, []

    def bar(self, what, holds, value=""):
        print(f"{'ok    ' if holds else 'MISSED'} {what}{': ' if value != '' else ''}{value}", flush=True)
        if not holds:
            self.missed.append(what)

    def end(self):
        for cache in self.caches:
            cache.stop()
        self.origin.end()


def measure(kind, parser):
    """Runs a suite with the options of the command line, and ends what it started; exits with 1 if a bar was missed."""
    parser.add_argument("--keep", help="a folder that stays")
    options = parser.parse_args()
    work = options.keep or tempfile.mkdtemp(prefix="xcache-edge-")
    os.makedirs(work, exist_ok=True)
    suite = kind(options, work)
    try:
        suite.run()
    finally:
        suite.end()
        if not options.keep:
            shutil.rmtree(work, ignore_errors=True)
    if suite.missed:
        sys.exit(f"{len(suite.missed)} bars missed: {'; '.join(suite.missed)}")


def log_fetches(varnish):
    """A line for each of a Varnish's requests to the origin: when it began, its target, its Accept-Encoding, and the answer's status."""
    path = f"{varnish.work}/fetches"
    process = subprocess.Popen(
        ["varnishncsa", "-n", varnish.work / "n", "-b", "-w", path, "-F", "%{VSL:Timestamp:Bereq[1]}x %U%q %{Accept-Encoding}i %s"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path, process


def resident(edge):
    """Megabytes of an edge's processes."""
    family, total = [edge.process.pid], 0
    for pid in family:
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as file:
                    family += map(int, file.read().split())
            with open(f"/proc/{pid}/status") as file:
                total += int((re.search(r"VmRSS:\s+(\d+)", file.read()) or [0, 0])[1]) / 1024
        except OSError:
            pass
    return total
