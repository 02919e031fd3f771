"""What the tests of healing share: a real origin, a site, published front ends with planted faults, and starts of an app on a device."""
import base64, contextlib, json, os, pathlib, re, shutil, signal, ssl, subprocess, sys, tempfile, threading, time

here = pathlib.Path(__file__).resolve().parent
root = here.parents[3]
sys.dont_write_bytecode = True
sys.path[:0] = [str(root / "Benchmarks"), str(root / "Tests/Browser/Worker"), str(root / "Tests/Browser")]
import fronts  # noqa: E402
from open_webkit import HOST, certificate  # noqa: E402
from servers import Origin, Web, until  # noqa: E402

# Seconds from the request for the page after which a user who sees nothing ends the app: before the page's ten seconds are over.
PATIENCE = 4


PAGE = (b'<!doctype html><head><title>small</title></head><div id="root"></div><script src="app.js"></script>'
        + b"".join(b'<script src="part-%d.js"></script>' % number for number in range(8)))
# What costs little to open: for many openings, and busy machines.
SMALL = {"index.html": PAGE, "app.js": b"globalThis.show = (text) => document.getElementById('root').append(document.createElement('p'), text);"}
SMALL |= {f"part-{number}.js": f"globalThis.show?.('part {number}');".encode() for number in range(8)}


def files_of(front, release):
    """A release of a front end: files by their paths on the site."""
    if front == "small":
        return SMALL
    return {path: data for path, data in fronts.files_of(front, release).items() if not path.endswith(".map")}


def marked(files, name):
    """A build whose document and scripts say which one they are from."""
    made = {}
    for path, data in files.items():
        if path.endswith((".js", ".mjs")):
            data += f"\n;(globalThis.built ??= []).push({json.dumps(name)});\n".encode()
        elif path == "index.html":
            data = re.sub(rb"<head>", f'<head><meta name="build" content="{name}">'.encode(), data, count=1, flags=re.I)
        made[path] = data
    return made


def entry_of(files):
    """The script with which the page begins."""
    found = re.search(rb'<script[^>]*src="(?:\./)?([^"]+\.js)"', files["index.html"])
    return found[1].decode()


def instead(text):
    """A build whose first script is another one."""
    return lambda files: files | {entry_of(files): text.encode()}


def first(text):
    """A build in whose document something else runs first."""
    return lambda files: files | {"index.html": re.sub(rb"<head>", f"<head><script>{text}</script>".encode(), files["index.html"], count=1, flags=re.I)}


def without_chunk(files):
    """A build without the largest script that the first one needs."""
    entry = entry_of(files)
    named = [path for path in files if path.endswith(".js") and path != entry and os.path.basename(path).encode() in files[entry]]
    gone = max(named, key=lambda path: len(files[path])) if named else entry
    return {path: data for path, data in files.items() if path != gone}


def without_entry(files):
    return {path: data for path, data in files.items() if path != entry_of(files)}


NATIVE = "webkit.messageHandlers.native.postMessage('%s');"
# What is wrong, and why the device goes back.
FAULTS = {
    "blank": (instead(""), "page"),
    "throws": (instead("throw new Error('planted')"), "page"),
    "no first script": (without_entry, "page"),
    "loop, waited for": (instead("for (;;);"), "page"),
    "loop": (instead("for (;;);"), "start"),
    "loop after the first paint": (first("addEventListener('load', () => setTimeout(() => { for (;;); }, 2000))"), "start"),
    "hang, waited for": (first("const x = new XMLHttpRequest(); x.open('GET', '/hang', false); x.send();"), "page"),
    "hang": (first("const x = new XMLHttpRequest(); x.open('GET', '/hang', false); x.send();"), "start"),
    "crash": (first(NATIVE % "crash"), "start"),
    "frozen app": (first(NATIVE % "freeze"), "start"),
    "web process ends": (first(NATIVE % "end" + " for (;;);"), "page"),
}
# Those that end only because somebody ends the app.
ENDED = {"loop", "loop after the first paint", "hang", "frozen app"}


class Site(Web):
    """The site of the front end, over TLS. `/hang` never answers."""

    def __init__(self, folder):
        self.tls = certificate(folder)
        super().__init__()
        self.routes["/hang"] = lambda request: time.sleep(3600)

    def over(self, listening):
        return self.tls.wrap_socket(listening, server_side=True, do_handshake_on_connect=False)


class Opening:
    """A start of the app, until it ends or is ended."""

    def __init__(self, app, folder, setup, environment):
        self.lines, self.folder = [], folder
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([app, json.dumps(setup)], stdout=subprocess.PIPE, stderr=self.errors, text=True, env=environment)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):
                made = json.loads(line)
                self.lines.append((made["at"], *made["is"]))

    def said(self, what):
        return [line[2] for line in list(self.lines) if line[1] == what]

    def waits(self, condition, seconds):
        """Whether the condition holds within this time, while the app runs."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition(self):
                return True
            if self.process.poll() is not None:
                self.reader.join(10)
                return bool(condition(self))
            time.sleep(0.05)
        return False

    def children(self):
        """The app's processes, with their names."""
        rows = [line.split(None, 2) for line in subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True).stdout.splitlines()]
        found = {self.process.pid}
        for _ in range(5):
            found |= {int(row[0]) for row in rows if int(row[1]) in found}
        return [(int(row[0]), row[2]) for row in rows if int(row[0]) in found and int(row[0]) != self.process.pid]

    def kill(self):
        """As a user ends an app that doesn't answer; what it has started goes, too, for a loop there would go on."""
        children = self.children()
        self.process.kill()
        self.process.wait()
        for pid, _ in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.reader.join(10)

    def end(self):
        """As the system ends an app: it is asked to, and tidies up."""
        children = self.children()
        self.process.terminate()
        self.wait(30)
        for pid, _ in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def wait(self, seconds=90):
        """Waits for the end of the app by itself."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the app doesn't end: {self.lines}\n{self.stderr()}")
        self.reader.join(10)
        return self

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()[-2000:]

    @property
    def shown(self):
        """What was on the screen, one after the other."""
        return self.said("shows")

    @property
    def held(self):
        return (self.said("held") or [""])[0]


class Device:
    """A device on which the app is installed."""

    def __init__(self, bench, app, folder=None):
        self.bench, self.app = bench, app
        self.folder = folder or tempfile.mkdtemp(prefix="device-", dir=bench.folder)

    def start(self, polls=False, stays=0.0, closes=None, awaits=None, environment=None):
        if polls:
            self.passes_time()
        setup = {"folder": self.folder, "certificate": f"{self.bench.folder}/site.pem", "server": self.bench.origin.url, "app": self.app,
                 "url": self.bench.base, "launches": polls, "stays": stays, "closes": closes, "awaits": awaits}
        return Opening(self.bench.program, self.folder, setup, environment or os.environ)

    def opens(self, **words):
        return self.start(**words).wait()

    def passes_time(self):
        """Lets an hour pass, after which a poll is due."""
        path = f"{self.folder}/device/poll.json"
        with contextlib.suppress(OSError, ValueError):
            saved = json.load(open(path))
            if "lastPoll" in saved:
                saved["lastPoll"] = max(0, saved["lastPoll"] - 3_600_000)
            with open(path, "w") as file:
                json.dump(saved, file)

    def trial(self):
        """What the device has noted of versions that haven't proved themselves."""
        with contextlib.suppress(OSError, ValueError):
            return json.load(open(f"{self.folder}/device/trial.json"))["state"]
        return {}


class Bench:
    def __init__(self, xcache, program, folder):
        self.folder, self.program = folder, os.path.abspath(program)
        self.origin = Origin(os.path.abspath(xcache), folder)
        self.site = Site(folder)
        self.base = f"https://{HOST}:{self.site.port}/"

    def publish(self, app, files):
        """Publishes a build, which the site then has, too; returns the version."""
        self.site.files = files
        folder = tempfile.mkdtemp(prefix="build-", dir=self.folder)
        for name, data in files.items():
            os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
            pathlib.Path(folder, name).write_bytes(data)
        self.origin.run("publish", "--create", folder, "--app", app, "--bundle", "main", "--base-url", self.base, "--no-check", "all",
                        "--now", "--index", "-q")
        shutil.rmtree(folder)
        return self.origin.answer(app)["version"]

    def polls(self, app):
        return [entry.path for entry in list(self.origin.proxy.log) if "configure" in entry.path and f"app={app}&" in entry.path + "&"
                or f"/{app}/" in entry.path and "configure" in entry.path]

    def reports(self, app):
        """The reports about an app that arrived."""
        found = []
        for entry in list(self.origin.proxy.log):
            if "report" in entry.path and app in entry.path + entry.body.decode(errors="replace"):
                with contextlib.suppress(ValueError):
                    found.append(json.loads(entry.body))
        return found

    def cuts(self):
        """Ends origin and site."""
        self.site.stop()
        self.origin.proxy.stop()
        self.origin.stop()

    def joins(self):
        self.site.start()
        self.origin.proxy.start()
        self.origin.start()

    def close(self):
        self.site.stop()
        self.origin.proxy.stop()
        self.origin.stop()
