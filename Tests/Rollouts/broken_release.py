#!/usr/bin/env python3
"""A broken build goes to 1 % of a fleet: from its publish until every device has the old content again.

broken_release.py XCACHE CONFORMANCE-DEVICE BUILD-A BUILD-B [--devices N] [--arm N] [--spread SECONDS] [--seed N] [--record FILE] [--plant FAULT]

BUILD-A and BUILD-B are folders or wheels of two releases of Streamlit's front end. A is published and works. B is published to 1 % of
the devices, with a reference to `process.env` that the bundler didn't replace, as the first statement of its entry script: `xcache check`
can't see that, and a browser shows a blank page.

Real are: `xcache serve` and the commands, a process of the Swift runtime for each device, a network of its own for most of them
(networks.py), all requests and reports, the clock, and in three devices a WebKitGTK view. It renders both builds before, too, and what it
says of them is what the other devices' pages come to, which are told apart by their bytes. Not real: a fleet of 5,000 or so, of which
these devices are the part to look at. 1 % of so few devices would be two or three. So once the rollout's seed is known, the ids of
those that shall be in an arm are chosen anew, while the app is closed, as if others of the fleet had been looked at. An id has no
effect before there is a rollout.

Exit 0 if all demands of judge.py are met; --record writes what docs/pictures/timeline.py draws. --plant has the run itself go wrong:

  works         B isn't broken            person-halts  without --auto-halt      one-network  both arms are in one
  half          B goes to half of all     polls-first   apps poll after the pause and before their page opens (rule D-163: no arm)
"""
import argparse, hashlib, http.server, json, os, queue, random, shutil, signal, socket, subprocess, sys, tempfile, threading, time, traceback
import urllib.request, zipfile

sys.dont_write_bytecode = True
import judge  # noqa: E402
from devices import HERE, PAGE, Builds, Device, Engine, ENTRY, Site  # noqa: E402

# What a bundler leaves in the code when nobody told it the value.
MISTAKE = b"const release=process.env.RELEASE;"
FAULTS = ["works", "half", "one-network", "person-halts", "polls-first"]
# How long the devices may take, in seconds from the publish of the broken build on.
PATIENCE = 400


class Fleet:
    def __init__(self, options):
        self.options, self.dice = options, random.Random(options.seed)
        self.work = tempfile.mkdtemp(prefix="broken-release-")
        self.program, self.xcache = os.path.abspath(options.device), os.path.abspath(options.xcache)
        self.began, self.devices, self.processes = time.time(), [], []
        self.requests, self.samples, self.webhooks, self.steps, self.errors = [], [], [], [], []
        self.paused, self.halted, self.over = threading.Event(), threading.Event(), threading.Event()
        self.evening, self.polled, self.counting = threading.Event(), 0, threading.Lock()
        # The machine has few cores: what takes a core for long is done by so many at once.
        self.room = threading.Semaphore(3)

    def now(self):
        """Seconds since the broken build was published; below 0 before."""
        return round(time.time() - self.began, 2)

    def say(self, text):
        print(f"{self.now():7.1f}  {text}", flush=True)

    def step(self, name):
        self.steps.append({"at": self.now(), "what": name})
        self.say(name)

    # --- Parts

    def builds_of(self, path, name):
        folder = f"{self.work}/{name}"
        if os.path.isdir(path):
            shutil.copytree(path, folder)
        else:
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(f"{self.work}/{name}.wheel", [one for one in wheel.namelist() if "/static/" in one])
            shutil.move(f"{self.work}/{name}.wheel/streamlit/static", folder)
        return folder

    def prepare(self):
        self.good, self.bad = self.builds_of(self.options.good, "good"), self.builds_of(self.options.bad, "bad")
        if self.options.plant != "works":
            entry = f"{self.bad}/{ENTRY.search(open(f'{self.bad}/index.html').read())[1]}"
            text = open(entry, "rb").read()
            open(entry, "wb").write(MISTAKE + text)
        self.builds = Builds(good=self.good, bad=self.bad)
        self.site = Site(self.good)

    def ask_engine(self):
        """What WebKitGTK says of both builds, as their own sites answer them."""
        self.verdicts = {}
        for name, folder in (("good", self.good), ("bad", self.bad)):
            site = Site(folder)
            engine = Engine(lambda _, url, __, site=site: site.get(url))
            signals, fails = engine.opens(PAGE)
            self.builds.fails[name] = fails
            self.verdicts[name] = {"signals": signals, "fails": fails, "text": engine.ask(text=True)["text"][:80]}
            engine.end()
            self.say(f"WebKitGTK: the {name} build {'fails' if fails else 'comes up'}: {', '.join(signals)}")

    def serve(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.log = open(f"{self.work}/serve.log", "w")
        server = subprocess.Popen([self.xcache, "serve", "--data", f"{self.work}/origin", "--listen", f"127.0.0.1:{self.port}", "--public-url", "http://cdn.test"],
                                  stderr=self.log, stdout=self.log)
        self.processes.append(server)
        for _ in range(200):
            if os.path.exists(f"{self.work}/origin/admin.token") and "listens" in open(self.log.name).read():
                break
            time.sleep(0.05)
        self.token = open(f"{self.work}/origin/admin.token").read().strip()
        self.names = {**os.environ, "XCACHE_SERVER": f"http://127.0.0.1:{self.port}", "XCACHE_TOKEN": self.token, "XCACHE_APP": "shop", "HOME": self.work}

    def run(self, *words):
        done = subprocess.run([self.xcache, *words], env=self.names, cwd=self.work, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"xcache {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def api(self, path):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/v1/{path}", headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def document(self, query):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/configure.json?app=shop&channel=online{query}", timeout=30) as answer:
            return json.load(answer)["data"]

    def listen(self):
        """A receiver of webhooks."""
        fleet = self

        class Receiver(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fleet.webhooks.append({"at": fleet.now(), "body": body})
                self.send_response(204)
                self.end_headers()

        receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        self.run("webhook", "add", f"http://127.0.0.1:{receiver.server_address[1]}/", "--allow-private", "--app", "shop")

    def make_devices(self):
        """Most are at home, one to three in a network; sixteen are in one office."""
        count, network = self.options.devices, 0
        addresses = []
        while len(addresses) < count - 16:
            network += 1
            addresses += [f"127.{10 + network // 200}.{network % 200}.{host}" for host in range(1, self.dice.choice([2, 2, 3, 4]))]
        addresses = addresses[:count - 16]
        self.dice.shuffle(addresses)
        # Arms: the first and the last so many; the office has some of each.
        arms = ["candidate"] * self.arm_size + ["control"] * self.arm_size
        self.plans = arms + [None] * (count - 16 - len(arms)) + ["candidate"] * 6 + ["control"] * 6 + [None] * 4
        addresses += [f"127.9.9.{host}" for host in range(1, 17)]
        if self.options.plant == "one-network":
            addresses = [f"127.9.{10 + n // 250 if plan is None else 9}.{n % 250 + 1}" for n, plan in enumerate(self.plans)]
        for n, address in enumerate(addresses):
            device = Device(self, f"device-{n:03d}", address)
            device.is_in_office = address.startswith("127.9.9.")
            # Most are on the road, and fetch what pages need. Those that shall have a view or lose their network have all files.
            device.is_metered = not (n < 6 or n == self.arm_size or n % 6 == 0)
            self.devices.append(device)
        gateway = subprocess.Popen(
            [sys.executable, f"{HERE}/networks.py", json.dumps({"addresses": addresses, "hosts": {
                "origin.test": self.port, "cdn.test": self.port, "m.example.com": self.site.port}})],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes.append(gateway)
        self.proxy_port = json.loads(gateway.stdout.readline())["port"]

        def read():
            for line in gateway.stdout:
                row = json.loads(line)
                row["at"] = round(row["at"] - self.began, 2) if row["at"] > self.began else row["at"]
                self.requests.append(row)
        threading.Thread(target=read, daemon=True).start()

    # --- The first release

    @property
    def arm_size(self):
        return self.options.arm - 6

    def everyone(self, act, devices=None, threads=4):
        """Does something for each device, a few at a time."""
        waiting = queue.Queue()
        for device in devices or self.devices:
            waiting.put(device)

        def work():
            while not self.errors:
                try:
                    act(waiting.get_nowait())
                except queue.Empty:
                    return
                except Exception:
                    self.errors.append(traceback.format_exc())
        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if self.errors:
            raise SystemExit("\n".join(self.errors))

    def install(self, device):
        """The app's first start, and a page; then the person closes the app."""
        device.start()
        device.poll("launch")
        device.opens_page(before=True)
        device.before = device.state()
        device.end()

    # --- Arms

    def bucket(self, identity):
        return int.from_bytes(hashlib.sha256(bytes.fromhex(identity) + self.seed.encode()).digest()[:8], "big") % 10_000

    def choose(self, device, plan):
        path = f"{device.folder}/rollout.json"
        kept = json.load(open(path))
        while True:
            bucket = self.bucket(kept["id"])
            arm = "candidate" if bucket < self.share else "control" if bucket >= 10_000 - self.share else None
            if arm == plan:
                break
            kept["id"] = self.dice.randbytes(16).hex()
        with open(path, "w") as file:
            json.dump(kept, file, sort_keys=True, separators=(",", ":"))
        device.arm, device.bucket = arm, bucket

    def assign(self):
        self.seed, self.share = self.open["seed"], 100
        for device, plan in zip(self.devices, self.plans):
            self.choose(device, plan)
        candidates = [device for device in self.devices if device.arm == "candidate" and not device.is_in_office]
        control = [device for device in self.devices if device.arm == "control"]
        for device in (candidates[0], candidates[1], control[0]):
            device.has_engine = True
        for device in candidates[2:6]:
            device.goes_offline = True
        for device in candidates[6:12]:
            device.is_late = True

    # --- What people and apps do

    def live(self, device):
        try:
            self.lives(device)
        except Exception:
            self.errors.append(f"{device.name}: {traceback.format_exc()}")
        finally:
            device.end()
            if device.engine:
                device.engine.end()

    def lives(self, device):
        dice = random.Random(f"{self.options.seed} {device.name}")
        begins, opens = dice.uniform(0, self.options.spread / 2), dice.uniform(0, self.options.spread)
        if device.has_engine:
            begins, opens = 0, 0
        if device.is_late:
            # Lets the app start when nobody new is let in any more.
            while not (self.paused.is_set() or self.over.is_set()):
                time.sleep(0.2)
            begins, opens = self.now() + dice.uniform(1, 4), 0
        self.pause_until(begins)
        with self.room:
            device.start()
            device.poll("launch")
            device.state()
        # It has taken what there is. The next poll is after the person has opened a page, as in an app that is asleep meanwhile.
        polls = self.now() + dice.uniform(31, 40) if self.options.plant == "polls-first" else float("inf")
        if device.goes_offline:
            device.network("offline")
        if device.has_engine:
            device.engine = Engine(device.answers_engine)
        if not device.is_late:
            # Apps take the release in the evening, say, and people open them in the morning.
            with self.counting:
                self.polled += 1
                if self.polled == sum(not one.is_late for one in self.devices):
                    self.step("taken")
                    self.evening.set()
            while not self.over.is_set() and not self.evening.wait(1):
                pass
        opens += self.now()
        while not self.over.is_set():
            self.pause_until(min(opens, polls))
            if opens <= polls:
                opens = float("inf")
                self.visits(device)
                if device.goes_offline:
                    time.sleep(4)
                    device.network("unmetered")
                polls = self.now() + dice.uniform(1, 31)
            else:
                with self.room:
                    device.poll()
                    version = device.state()["version"]
                if self.halted.is_set() and version not in ("1", "2"):
                    break
                polls = self.now() + dice.uniform(31, 40)
        self.last(device)

    def visits(self, device):
        """Somebody opens the page; if it fails, again, and a third time."""
        for _ in range(3):
            if not device.opens_page():
                return
            time.sleep(2)

    def last(self, device):
        with self.room:
            device.opens_page(last=True)
            state = device.state()
        device.final = {"at": self.now(), "version": state["version"], "digest": state["digest"], "files": len(state["files"]),
                        "right": device.holds(state, self.contents["1"])}

    def pause_until(self, at):
        while (left := at - self.now()) > 0 and not self.over.is_set():
            time.sleep(min(left, 0.5))

    # --- What the origin says meanwhile

    def watch(self):
        while not self.over.is_set():
            try:
                answer = self.api("apps/shop/channels/online/rollout")
            except OSError as error:
                self.errors.append(f"the origin: {error}")
                return
            evidence, opened = answer.get("evidence"), answer.get("open")
            if evidence and opened:
                self.samples.append({"at": self.now(), "e": evidence["e"], "highest": evidence["highest"], "networks": evidence["networks"],
                                     "candidate": evidence["candidate"], "control": evidence["control"], "share": opened["share"], "paused": opened["paused"]})
                if opened["paused"] and not self.paused.is_set():
                    self.step("paused")
                    self.paused.set()
            if not opened and not self.halted.is_set():
                self.step("halted")
                self.paused.set()
                self.halted.set()
            if self.now() > PATIENCE or self.errors:
                self.over.set()
            time.sleep(1)

    def publish(self, folder, *words):
        print(self.run("publish", folder, "--bundle", "main", "--base-url", PAGE, "--index", *words), end="", flush=True)

    def whole(self):
        fault, started = self.options.plant, time.time()
        self.prepare()
        self.ask_engine()
        self.serve()
        self.publish(self.good, "--create", "-m", "1.49.0")
        self.listen()
        good = self.document("")
        self.contents = {"1": {url: entry["sha256"] for url, entry in good["resourcemap"].items()}}
        self.digest = good["digest"]
        self.make_devices()
        self.everyone(self.install)
        self.say(f"{len(self.devices)} devices hold the good build")
        self.requests_before = len(self.requests)
        self.publish(self.bad, *(["--rollout", "50%"] if fault == "half" else ["--ramp", "1%,10%,100%", "--each", "500", "--at-least", "1m"]),
                     *([] if fault == "person-halts" else ["--auto-halt"]), "-m", "1.49.1")
        before, self.began = self.began, time.time()
        del self.requests[:self.requests_before]
        for device in self.devices:
            for page in device.pages:
                page["at"] = round(page["at"] + before - self.began, 2)
            device.held = [[round(at + before - self.began, 2), version] for at, version in device.held]
        self.step("published")
        self.open = self.api("apps/shop/channels/online/rollout")["open"]
        bad = self.document("&candidate=1")
        self.contents["2"] = {url: entry["sha256"] for url, entry in bad["resourcemap"].items()}
        downloads = {entry["download"] for entry in good["resourcemap"].values()}
        self.only_bad = sorted({entry["download"] for entry in bad["resourcemap"].values()} - downloads)
        self.assign()
        lives = [threading.Thread(target=self.live, args=(device,)) for device in self.devices]
        for life in lives:
            life.start()
        watch = threading.Thread(target=self.watch)
        watch.start()
        for life in lives:
            life.join()
        self.step("everyone is back")
        self.over.set()
        watch.join()
        time.sleep(12)  # What was reported last is written, and the last webhook sent.
        return self.record(started)

    def record(self, started):
        return {
            "seconds": round(time.time() - started, 1), "seed": self.options.seed, "share": self.share, "steps": self.steps, "errors": self.errors,
            "verdicts": self.verdicts, "good": {"version": "1", "digest": self.digest}, "onlyBad": self.only_bad,
            "devices": [device.record() for device in self.devices], "requests": self.requests, "samples": self.samples,
            "webhooks": self.webhooks, "audit": [row for row in self.api("audit?limit=100")["rows"]],
            "rollout": self.api("apps/shop/channels/online/rollout"), "full": {name: self.document("")[name] for name in ("version", "digest")},
            "content": self.contents["1"] == {url: entry["sha256"] for url, entry in self.document("")["resourcemap"].items()},
            "show": self.run("rollout", "show"), "status": self.run("status"), "log": open(self.log.name).read(),
        }

    def stop(self):
        self.over.set()
        for device in self.devices:
            if device.process and device.process.poll() is None:
                device.process.kill()
        for process in reversed(self.processes):
            process.terminate()
            process.wait(30)
        shutil.rmtree(self.work, ignore_errors=True)


def main():
    words = argparse.ArgumentParser()
    for name in ("xcache", "device", "good", "bad"):
        words.add_argument(name)
    words.add_argument("--devices", type=int, default=100)
    words.add_argument("--arm", type=int, default=40, help="how many of them are in each arm")
    words.add_argument("--spread", type=float, default=50, help="the seconds in which people open the page")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--record")
    words.add_argument("--plant", choices=FAULTS)
    options = words.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    fleet = Fleet(options)
    try:
        record = fleet.whole()
    finally:
        fleet.stop()
    if options.record:
        with open(options.record, "w") as file:
            json.dump(record, file)
    sys.exit(judge.report(record))


if __name__ == "__main__":
    main()
