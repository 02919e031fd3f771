"""One case: its steps and the checks after each."""
import base64, ctypes, hashlib, json, os, queue, shutil, subprocess, threading, time
from urllib.parse import parse_qsl, urlsplit

from .network import Network

START = 1_800_000_000_000
# Known parameters of polls; a device may send others.
KNOWN = {"app", "channel", "version", "digest", "patch", "pack", "lazy", "candidate", "skip"}
# Seconds for one command, with a margin for busy machines.
PATIENCE = float(os.environ.get("CONFORMANCE_PATIENCE", "60"))


def canonical(value):
    return json.dumps(value, sort_keys=True)


class Failed(Exception):
    pass


class Lasting(Failed):
    """A failure that isn't retried."""


class Skipped(Exception):
    pass


class Died(Exception):
    pass


class Device:
    """A process of the implementation."""

    def __init__(self, command, port):
        names = {**os.environ, "http_proxy": f"http://127.0.0.1:{port}", "no_proxy": "", "NO_PROXY": ""}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=names, bufsize=0)
        self.answers = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with self.process.stdout as output:
            for line in iter(lambda: output.readline(), b""):
                self.answers.put(line)
        self.answers.put(None)

    def ask(self, command):
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            line = self.answers.get(timeout=PATIENCE)
        except OSError:
            line = None
        except queue.Empty:
            raise Failed(f"no answer to {command} in {PATIENCE} s")
        if line is None:
            raise Died()
        try:
            return json.loads(line)
        except ValueError:
            raise Failed(f"this is no answer: {line!r}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def memory(self):
        """Peak resident bytes; 0 if unknown."""
        try:
            with open(f"/proc/{self.process.pid}/status") as status:
                return next((int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:")), 0)
        except OSError:
            return 0

    def stop(self):
        """Closes the input, which ends the process."""
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed("it goes on after the end of its input")


class Case:
    def __init__(self, case, command, folder):
        self.case, self.command, self.folder = case, command, folder
        self.network = Network()
        self.devices = {}
        self.network.kill = lambda: [device.kill() for device in self.devices.values()]
        self.now = START
        self.network.now = lambda: self.now
        self.pages, self.requests = {}, {}
        self.asked = []
        self.mounted = None

    def run(self):
        try:
            if "disk" in self.case:
                self.mount(self.case["disk"])
            for number, step in enumerate(self.case["steps"], 1):
                try:
                    self.step(step)
                except Failed as failure:
                    raise Failed(f"step {number} {json.dumps(step)[:160]}: {failure}")
            self.check_reports()
            for url in self.case.get("never", []):
                if any(asked[1].startswith(url) for asked in self.asked + self.network.take_log()):
                    raise Failed(f"{url} was asked for")
        finally:
            for device in self.devices.values():
                device.kill()
            self.network.close()
            if self.mounted:
                libc().umount2(self.mounted.encode(), 2)

    def step(self, step):
        device = self.devices.get(step.get("device", "main"))
        verb = next((verb for verb in step if hasattr(self, "do_" + verb)), None)
        if verb is None:
            raise Failed("this is no step")
        begun = time.monotonic()
        try:
            getattr(self, "do_" + verb)(step, device)
            if time.monotonic() - begun > step.get("within", PATIENCE):
                raise Failed(f"it took {time.monotonic() - begun:.1f} s")
            if step.get("dies"):
                raise Failed("it lives")
        except Died:
            if not step.get("dies"):
                raise Failed("the process ended")
        if "asks" in step:
            self.check_asks(step["asks"], step.get("ordered", False))

    # Steps that change the environment.

    def do_serve(self, step, device):
        self.network.serve(step["serve"], step.get("fresh", False))

    def do_write(self, step, device):
        path = os.path.join(self.folder, step["write"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(step["base64"]))

    def do_damage(self, step, device):
        """Damages each file of the device's folder that has exactly this content."""
        wanted = step["damage"]
        wanted, found = (wanted if isinstance(wanted, str) else wanted["text"] * wanted["times"]).encode(), False
        for path, held in self.device_files(step):
            if held != wanted:
                continue
            found = True
            if step.get("how") in ("remove", "folder", "fifo"):
                os.remove(path)
                if step["how"] == "fifo":
                    os.mkfifo(path)
                if step["how"] == "folder":
                    os.makedirs(os.path.join(path, "folder"))
            else:
                with open(path, "wb") as file:
                    file.write(held[:-1] if step.get("how") == "cut" else bytes([held[0] ^ 1]) + held[1:])
        if not found:
            raise Skipped("no file has just the bytes of a listed one")

    def do_damageNotes(self, step, device):
        """Overwrites every file whose content isn't listed in `keep`."""
        keep = [text.encode() for text in step.get("keep", [])]
        for path, held in self.device_files(step):
            if held in keep:
                continue
            if step["damageNotes"] is None:
                os.remove(path)
                os.makedirs(os.path.join(path, "folder"))
                continue
            with open(path, "wb") as file:
                file.write(step["damageNotes"].encode())

    def do_memoryBelow(self, step, device):
        """Checks the peak resident bytes."""
        if device.memory() > step["memoryBelow"]:
            raise Failed(f"it has had {device.memory() >> 20} MiB of memory")

    def do_touch(self, step, device):
        """Says of each of the device's files that it was changed now, by the device's clock: what wrote it went by the machine's."""
        for path, _ in self.device_files(step):
            os.utime(path, (self.now / 1000, self.now / 1000))

    def do_fill(self, step, device):
        """Fills the small disk up to this many free bytes; None: frees the space."""
        path = os.path.join(self.folder, "filler")
        if step["fill"] is None:
            os.remove(path)
            return
        space = os.statvfs(self.folder)
        with open(path, "ab") as file:
            file.write(bytes(max(0, space.f_bavail * space.f_frsize - step["fill"])))

    def do_removeFolder(self, step, device):
        shutil.rmtree(os.path.join(self.folder, step["removeFolder"]))

    def do_arrives(self, step, device):
        """Waits for a request for this URL."""
        self.until({"eventually": True}, lambda: self.check_arrived(step["arrives"]))

    def do_release(self, step, device):
        """Sends held answers."""
        self.network.released.set()

    def do_absent(self, step, device):
        """Checks that no file of this name was written in or beside the device's folder."""
        for top, _, names in os.walk(os.path.dirname(self.folder)):
            if step["absent"] in names:
                raise Failed(f"{top} has it")

    def do_present(self, step, device):
        if not os.path.exists(os.path.join(self.folder, step["present"])):
            raise Failed("it is gone")

    def do_gone(self, step, device):
        """Waits until no file of the device's folder has exactly this content."""
        self.until({"eventually": True}, lambda: self.check_gone(step))

    def do_sent(self, step, device):
        """Checks that the device read at most about this many bytes of an answer for this URL."""
        with self.network.lock:
            sent = self.network.sent.get(step["sent"], 0)
        if sent > step["most"]:
            raise Failed(f"it took {sent} bytes")

    def do_waits(self, step, device):
        """Checks that the waits between requests for a URL are in a range and vary."""
        found = []
        for _ in range(step["rounds"]):
            seconds = 0
            while True:
                self.do_advance({"advance": 31}, device)
                self.do_trigger({"trigger": "launch"}, device)
                seconds += 31
                if any(asked[1] == step["waits"] for asked in self.network.take_log()):
                    break
                if seconds > step["most"]:
                    raise Failed(f"not asked in {seconds} s")
            found.append(seconds)
        if min(found) < step["least"] or len(set(found)) == 1:
            raise Failed(f"asked after {found} s")

    def device_files(self, step):
        """Yields the device's files and what they hold."""
        top = os.path.join(self.folder, step.get("folder", "device"))
        for folder, _, names in os.walk(top):
            for name in names:
                if name == "lock":
                    continue
                path = os.path.join(folder, name)
                try:
                    with open(path, "rb") as file:
                        held = file.read()
                except FileNotFoundError:
                    # A device that lives may just have renamed it.
                    continue
                yield path, held

    def mount(self, size):
        if os.environ.get("CONFORMANCE_MOUNTS") != "1":
            raise Skipped("a small disk needs a mount namespace (unshare -Urm), which isn't allowed here")
        path = os.path.join(self.folder, "disk")
        os.mkdir(path)
        if libc().mount(b"none", path.encode(), b"tmpfs", 0, f"size={size}".encode()):
            raise Skipped("a small disk can't be mounted here")
        self.folder = self.mounted = path

    # Commands to the device.

    def do_open(self, step, _):
        settings = {
            "server": "http://origin.test", "app": "shop", "channel": "online", "hosts": ["m.test"],
            "fallback": "http://mirror.test", "folder": "device", **step["open"],
        }
        for name in ("folder", "preset"):
            if settings.get(name):
                settings[name] = os.path.join(self.folder, settings[name])
        device = Device(self.command, self.network.port)
        self.devices[step.get("device", "main")] = device
        answer = device.ask({"do": "open", "now": self.now, "settings": settings})
        wanted = step.get("gives", "ready")
        given = "error" if "error" in answer else "fault" if "fault" in answer else "ready"
        if wanted not in (given, "any"):
            raise Failed(f"open gave {answer}, not {wanted}")

    def do_kill(self, step, device):
        device.kill()

    def do_stop(self, step, device):
        device.stop()

    def tell(self, device, verb, **members):
        answer = device.ask({"do": verb, **members})
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def do_advance(self, step, device):
        milliseconds = int(step["advance"] * 1000)
        self.now += milliseconds
        for device in self.devices.values():
            if device.process.poll() is None:
                self.tell(device, "advance", milliseconds=milliseconds)

    def do_trigger(self, step, device):
        triggers = step["trigger"] if isinstance(step["trigger"], list) else [step["trigger"]]
        background = {"background": True} if step.get("background") else {}
        self.tell(device, "trigger", triggers=triggers, **self.page(step), **background)

    def page(self, step):
        return {"page": self.pages[step["page"]]} if "page" in step else {}

    def do_pageOpen(self, step, device):
        sends = {"sends": True} if step.get("sends") else {}
        self.pages[step["as"]] = self.tell(device, "pageOpen", url=step["pageOpen"], **sends)["page"]

    def do_pageUp(self, step, device):
        self.tell(device, "pageUp", page=self.pages[step["pageUp"]])

    def do_scriptFailed(self, step, device):
        error = {name: step[name] for name in ("message", "stack") if name in step}
        self.tell(device, "scriptFailed", page=self.pages[step["scriptFailed"]], **error)

    def do_pageClose(self, step, device):
        self.tell(device, "pageClose", page=self.pages[step["pageClose"]])

    def do_conditions(self, step, device):
        self.tell(device, "conditions", **step["conditions"])

    def do_describe(self, step, device):
        self.tell(device, "describe", **step["describe"])

    def do_leaveCandidate(self, step, device):
        self.tell(device, "leaveCandidate")

    def do_confirm(self, step, device):
        self.tell(device, "confirm")

    def do_reject(self, step, device):
        self.tell(device, "reject")

    def do_secrets(self, step, device):
        """Checks that no request contains any of these in its URL, headers or body."""
        with self.network.lock:
            posts = [(url, query, str(body)) for url, query, body in self.network.posts]
        for asked in self.asked + self.network.take_log() + posts:
            for secret in step["secrets"]:
                if any(secret.lower() in str(part).lower() for part in asked):
                    raise Failed(f"{secret} is in {asked}")

    def do_cookies(self, step, device):
        self.tell(device, "cookies", value=step["cookies"])

    def do_memoryShort(self, step, device):
        self.tell(device, "memoryShort")

    def do_request(self, step, device):
        names = ("method", "headers", "destination", "mode", "credentials", "cookies")
        members = {name: step[name] for name in names if name in step}
        if "as" in step:
            answer = self.tell(device, "request", url=step["request"], **members, **self.page(step), background=True)
            self.requests[step["as"]] = answer["request"]
            return
        self.until(step, lambda: self.check_answer(
            step["expect"], self.tell(device, "request", url=step["request"], **members, **self.page(step))))

    def do_answer(self, step, device):
        """Checks the answer to a background request."""
        self.check_answer(step["expect"], self.tell(device, "answer", request=self.requests[step["answer"]]))

    def do_prefetch(self, step, device):
        given = self.tell(device, "prefetch", url=step["prefetch"])["requests"]
        given = [{name: value for name, value in request.items() if value is not None} for request in given]
        for request in given:
            if "body" in request:
                request["body"] = json.loads(request["body"])
        if given != step["expect"]:
            raise Failed(f"it would send {given}")

    def do_script(self, step, device):
        answer = device.ask({"do": "script", "name": step["script"]})
        text = "refused" if "error" in answer else None
        if answer.get("script") is not None:
            text = base64.b64decode(answer["script"]).decode()
        if text != step["expect"]:
            raise Failed(f"it gives {text!r}")

    def do_state(self, step, device):
        self.until(step, lambda: self.check_state(step["state"], self.tell(device, "state")))

    def do_told(self, step, device):
        self.until({"eventually": True}, lambda: self.check_told(step["told"]))

    def do_untold(self, step, device):
        """Checks that no report has these members."""
        with self.network.lock:
            told = [json.loads(body) for _, _, body in self.network.posts if body]
        if any(all(one.get(name) == value for name, value in step["untold"].items()) for one in told):
            raise Failed(f"told: {told}")

    def do_evidence(self, step, device):
        """Checks that this is the evidence that was reported, and no other."""
        self.until({"eventually": True}, lambda: self.check_evidence(step["evidence"]))

    def do_samples(self, step, device):
        """Checks that these are the error samples that were reported, and no others; `engine` doesn't count."""
        self.until({"eventually": True}, lambda: self.check_samples(step["samples"]))

    def do_counted(self, step, device):
        """Checks what was counted of some things, in all batches, by version; other versions have none of them."""
        self.until({"eventually": True}, lambda: self.check_counted(step["counted"]))
        for name in step.get("always", ()):
            self.check_always(name, step["counted"])

    # Checks.

    def until(self, step, check):
        """Runs a check, with retries if the step is `eventually`."""
        end = time.monotonic() + (min(PATIENCE, step.get("within", PATIENCE)) if step.get("eventually") else 0)
        while True:
            try:
                return check()
            except Failed as failure:
                if time.monotonic() >= end or isinstance(failure, Lasting):
                    raise
            time.sleep(0.02)

    def check_asks(self, wanted, ordered):
        log = self.network.take_log()
        self.asked += log
        left = list(log)
        for want in wanted:
            want = {"url": want} if isinstance(want, str) else want
            least, most = want.get("times", [1, 1])
            found = [ask for ask in left if fits(ask, want)][:most]
            if len(found) < least:
                raise Failed(f"not asked: {want}; asked: {words(log)}")
            if ordered and left[: len(found)] != found:
                raise Failed(f"another order: {words(log)}")
            left = [ask for ask in left if not any(ask is one for one in found)]
        if left:
            raise Failed(f"asked beside what was expected: {words(left)}")

    def check_state(self, wanted, state):
        for name in ("version", "digest", "policy", "prefetch"):
            if name in wanted and state.get(name) != wanted[name]:
                raise Failed(f"it holds {name} {state.get(name)}, not {wanted[name]}")
        held = state.get("files", {})
        if len(held) > wanted.get("most", len(held)) or set(held) & set(wanted.get("lacks", [])):
            raise Failed(f"it has the files {sorted(held)}")
        if "files" in wanted:
            files = {url: hashlib.sha256(text.encode()).hexdigest() for url, text in wanted["files"].items()}
            if state.get("files", {}) != files:
                raise Failed(f"it has the files {sorted(state.get('files', {}))}, not {sorted(files)}, or other bytes")
        for url, text in wanted.get("has", {}).items():
            if held.get(url) != hashlib.sha256(text.encode()).hexdigest():
                raise Failed(f"it has the files {sorted(held)}, and not the right bytes of {url}")

    def check_answer(self, wanted, answer):
        if wanted == "network" or answer["answer"] == "network":
            if answer["answer"] != wanted and not (wanted != "network" and wanted.get("orNetwork")):
                raise Failed(f"the answer is {answer}")
            return
        if answer["status"] != wanted["status"]:
            raise Failed(f"the status is {answer['status']}")
        fields = {}
        for name, value in answer["headers"]:
            if fields.setdefault(name.lower(), value) != value:
                raise Failed(f"{name} comes twice")
        for name, value in wanted.get("headers", {}).items():
            if fields.get(name.lower()) != value:
                raise Failed(f"{name} is {fields.get(name.lower())!r}")
        body = base64.b64decode(answer["body"])
        if "text" in wanted and body != wanted["text"].encode():
            raise Failed(f"the body is {body[:200]!r}")
        if wanted.get("bytes", len(body)) != len(body):
            raise Failed(f"the body has {len(body)} bytes")

    def check_arrived(self, url):
        with self.network.lock:
            if not any(asked[1] == url for asked in self.network.log):
                raise Failed(f"not asked; asked: {words(self.network.log)}")

    def check_told(self, wanted):
        with self.network.lock:
            # Reports without a body are from devices that ended while sending.
            told = [json.loads(body) for _, _, body in self.network.posts if body]
        for want in wanted:
            found = [one for one in told if all(one.get(name) == value for name, value in want.items())]
            if len(found) != 1:
                raise (Lasting if found else Failed)(f"not told once: {want}; told: {told}")

    def check_evidence(self, wanted):
        with self.network.lock:
            told = [json.loads(body) for _, _, body in self.network.posts if body]
        told = [one["evidence"] for one in told if "evidence" in one]
        if sorted(map(canonical, told)) != sorted(map(canonical, wanted)):
            raise (Failed if len(told) < len(wanted) else Lasting)(f"evidence: {told}")

    def check_samples(self, wanted):
        with self.network.lock:
            bodies = [body for _, _, body in self.network.posts if body]
        told = [one for one in map(json.loads, bodies) if "sample" in one]
        if any(len(body) > 8192 for body in bodies):
            raise Lasting("a report is too long")
        for one in told:
            # It may be left out.
            engine = one["sample"].pop("engine", "")
            if not isinstance(engine, str) or len(engine.encode()) > 64:
                raise Lasting(f"the engine is {engine}")
        wanted = [{"sample": {name: value for name, value in want.items() if name != "version"}, "version": want["version"]} for want in wanted]
        if sorted(map(canonical, told)) != sorted(map(canonical, wanted)):
            raise (Failed if len(told) < len(wanted) else Lasting)(f"samples: {told}")

    def check_counted(self, wanted):
        with self.network.lock:
            told = [json.loads(body) for _, _, body in self.network.posts if body]
        found, names = {}, {name for counts in wanted.values() for name in counts}
        for one in told:
            for name, count in one.get("counts", {}).items():
                if name in wanted.get(one["version"], names):
                    found.setdefault(one["version"], {}).setdefault(name, []).append(count)
        sums = {version: {name: sum(found.get(version, {}).get(name, [])) for name in wanted.get(version, names)} for version in {*wanted, *found}}
        if any(count > wanted.get(version, {}).get(name, 0) for version, counts in sums.items() for name, count in counts.items()):
            raise Lasting(f"counted: {sums}")
        if any(sums[version] != counts for version, counts in wanted.items()):
            raise Failed(f"counted: {sums}")

    def check_always(self, name, versions):
        """Checks that all batches of these versions have this count, also as 0."""
        with self.network.lock:
            told = [json.loads(body) for _, _, body in self.network.posts if body]
        lacking = [one for one in told if one.get("version") in versions and name not in one.get("counts", {name: 0})]
        if lacking:
            raise Failed(f"without {name}: {lacking}")

    def check_reports(self):
        """Checks that reports don't identify their sender (docs/protocol.md, section 12)."""
        with self.network.lock:
            posts = list(self.network.posts)
        for url, query, body in posts:
            try:
                names = set(json.loads(body))
            except ValueError:
                # The device was killed while it sent this.
                continue
            if set(query) != {"app", "channel"} or names not in ({"reason", "url", "version"}, {"cause", "reason", "url", "version"}, {"counts", "version"}, {"evidence"}, {"sample", "version"}):
                raise Failed(f"a report to {url} with {query} has {sorted(names)}")

    def check_gone(self, step):
        wanted = base64.b64decode(step["base64"]) if "base64" in step else step["gone"].encode()
        for path, held in self.device_files(step):
            if held == wanted:
                raise Failed(f"{path} has it")


def fits(ask, want):
    method, url, query, fields = ask
    parts = urlsplit(want["url"])
    if method != want.get("method", "GET") or url != f"{parts.scheme}://{parts.netloc}{parts.path}":
        return False
    if want.get("exact") and fields[":query"] != parts.query:
        return False
    wanted = dict(parse_qsl(parts.query, keep_blank_values=True))
    if wanted != {name: value for name, value in query.items() if name in KNOWN or name in wanted}:
        return False
    return all(
        name in fields if value == "*" else fields.get(name) == value  # None: absent
        for name, value in want.get("headers", {}).items())


def words(log):
    return [
        f"{method} {url}" + ("?" + "&".join(f"{k}={v[:12]}" for k, v in query.items()) if query else "")
        + (f" ({fields['range']})" if "range" in fields else "")
        for method, url, query, fields in log
    ]


def libc():
    return ctypes.CDLL(None, use_errno=True)
