"""The origin under attack, with what was published to it."""
import http.client, json, os, random, signal, subprocess, sys, time, urllib.parse

# Of the large app, and the files of the small one that nobody asks for: in the whole suite and in the short one.
SIZES = {False: (8_000, 5, 1_600, 1_500), True: (3_000, 3, 1_000, 300)}


class Origin:
    def __init__(self, xcache, work):
        self.xcache, self.work, self.data = xcache, work, work + "/data"
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("XCACHE_")}
        self.environment.update(XDG_CACHE_HOME=work + "/cache", XCACHE_TOKEN_FILE=self.data + "/admin.token")
        # Versions up to 0.2 create channels without being told to.
        usage = subprocess.run([xcache, "publish", "--help"], capture_output=True, text=True).stdout
        self.create = ["--create"] if "--create" in usage else []
        self.start()
        self.admin = open(self.data + "/admin.token").read().strip()

    def start(self):
        self.log = open(self.work + "/server.log", "a+")
        mark = self.log.seek(0, 2)
        self.process = subprocess.Popen(
            [self.xcache, "serve", "--data", self.data, "--listen", "127.0.0.1:0", "--public-url", "http://cdn.test",
             "--delta-wait", "2", "--delta-threads", "1"], stderr=self.log, env=self.environment)
        while True:
            self.log.seek(mark)
            if "listens on " in (text := self.log.read()):
                break
            if self.process.poll() is not None:
                sys.exit("the server ended: " + text)
            time.sleep(0.02)
        self.port = int(text.split("listens on ")[1].split(",")[0].rsplit(":", 1)[1])
        self.environment["XCACHE_SERVER"] = f"http://127.0.0.1:{self.port}"

    def end(self, how=signal.SIGTERM, patience=120):
        """Seconds until it has ended, and its exit code."""
        begin = time.monotonic()
        self.process.send_signal(how)
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = None
        return time.monotonic() - begin, code

    def ask(self, method, path, body=None, token=None, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = {"Authorization": f"Bearer {token or self.admin}"} if path.startswith("/api/") else {}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text

    def api(self, method, path, body=None, token=None):
        status, text = self.ask(method, "/api/v1/" + path, body, token)
        if status not in (200, 201):
            sys.exit(f"{method} {path}: {status} {text[:500]}")
        return json.loads(text)

    def token(self, name, scope):
        return self.api("POST", "tokens", {"name": name, "scope": scope})["token"]

    def publish(self, app, folder, *more):
        done = subprocess.run(
            [self.xcache, "publish", *self.create, folder, "--base-url", f"https://{app}.example.com/", "--bundle", "main",
             "--now", "--no-check", "all", "--app", app, *more], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"publish {app}: {done.returncode}\n{done.stdout}{done.stderr}")

    def fill(self, is_short):
        """Publishes a large app with a history, and a small one whose files nobody asks for."""
        resources, versions, changes, cold = SIZES[is_short]
        dice, shop, calm = random.Random(36), self.work + "/shop", self.work + "/calm"
        os.makedirs(shop)
        os.makedirs(calm)
        for version in range(versions):
            changed = range(resources) if version == 0 else dice.sample(range(resources), changes)
            for number in changed:
                with open(f"{shop}/file{number:05}.png", "wb") as file:
                    file.write(dice.randbytes(90))
            for number in range(3 if version == 0 else 0):
                with open(f"{shop}/large{number}.js", "w") as file:
                    file.writelines(f"call({dice.randrange(10**9)}, 'line {line}')\n" for line in range(150_000))
            self.publish("shop", shop)
        for number in range(cold):
            with open(f"{calm}/file{number:05}.js", "wb") as file:
                file.write(b"// " + dice.randbytes(1_500).hex().encode())
        for version in range(2):
            with open(f"{calm}/index.html", "w") as file:
                file.write(f"<p>{version}")
            self.publish("calm", calm)

    def downloads(self, app):
        """The paths of an app's files, and its newest version."""
        _, text = self.ask("GET", f"/configure.json?app={app}")
        data = json.loads(text)["data"]
        return ([urllib.parse.urlsplit(entry["download"]).path for entry in data["resourcemap"].values()],
                int(data["version"]))

    def wait_until_calm(self, seconds=120):
        """Waits until deltas from older versions are made."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            _, text = self.ask("GET", "/metrics")
            if b"\nxcache_delta_versions_pending 0\n" in text:
                return
            time.sleep(0.5)
        print("deltas are still being made")

    @property
    def threads(self):
        try:
            return int(open(f"/proc/{self.process.pid}/status").read().split("Threads:")[1].split()[0])
        except (OSError, IndexError):
            return 0

    @property
    def bytes(self):
        total = 0
        for root, _, names in os.walk(self.data):
            for name in names:
                try:
                    total += os.lstat(f"{root}/{name}").st_blocks * 512
                except OSError:
                    pass
        return total
