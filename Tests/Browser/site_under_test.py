"""An origin for a browser test: the program with an empty data folder."""
import json, os, re, subprocess, threading, urllib.error, urllib.request


def get(url):
    with urllib.request.urlopen(url) as reply:
        return reply.read()


class Site:
    def __init__(self, xcache, folder, options=()):
        """`options`: further ones of `serve`."""
        self.xcache, self.folder, self.published, self.options = xcache, folder, 0, options
        self.log = f"{folder}/access.log"
        self.start("127.0.0.1:0")

    def start(self, listen):
        """Starts the server; after a stop at its old address with start(site.url.removeprefix("http://"))."""
        self.server = subprocess.Popen(
            [self.xcache, "serve", "--data", f"{self.folder}/data", "--listen", listen, "--access-log", self.log, *self.options],
            stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.server.stderr:
            said.append(line)
            found = re.search(r"listens on (http://[0-9.:]+)", line)
            if found:
                self.url = found[1]
                self.console = f"{self.url}/console/"
                self.token = open(f"{self.folder}/data/admin.token").read().strip()
                threading.Thread(target=self.server.stderr.read, daemon=True).start()
                return
        raise SystemExit(f"the server did not start: {''.join(said)}")

    def ask(self, method, path, body=None, token=None):
        """Sends a request to the API; returns its status and document."""
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}", method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token or self.token}"})
        try:
            with urllib.request.urlopen(request) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def poll(self, version, times=1, channel="online"):
        """Polls like `times` devices."""
        for _ in range(times):
            get(f"{self.url}/configure.json?app=shop&channel={channel}&version={version}")

    def report(self, reason, version, times=1, url=""):
        """Reports failures of devices."""
        for _ in range(times):
            urllib.request.urlopen(urllib.request.Request(
                f"{self.url}/report?app=shop",
                data=json.dumps({"reason": reason, "url": url, "version": str(version)}).encode())).read()

    def count(self, version, counts):
        """Reports a device's batch of counts (docs/protocol.md, section 12)."""
        urllib.request.urlopen(urllib.request.Request(
            f"{self.url}/report?app=shop", data=json.dumps({"counts": counts, "version": str(version)}).encode())).read()

    def sample(self, version, message, page, stack, engine="Chromium 141", kind="script"):
        """Reports what a page that failed said (docs/protocol.md, section 12)."""
        urllib.request.urlopen(urllib.request.Request(
            f"{self.url}/report?app=shop", data=json.dumps({"sample": {
                "engine": engine, "kind": kind, "message": message, "page": page, "stack": stack}, "version": str(version)}).encode())).read()

    def evidence(self, arm, failed, version, channel="online"):
        """Reports that a device of an arm opened a page of a rollout, and whether one failed."""
        urllib.request.urlopen(urllib.request.Request(
            f"{self.url}/report?app=shop&channel={channel}",
            data=json.dumps({"evidence": {"arm": arm, "failed": failed, "opened": 1, "version": str(version)}}).encode())).read()

    def publish(self, files, message="", check=True):
        """Publishes texts by name; returns their download URLs, or without `check` the exit code."""
        self.published += 1
        build = f"{self.folder}/build-{self.published}"
        for name, text in files.items():
            os.makedirs(os.path.dirname(f"{build}/{name}"), exist_ok=True)
            with open(f"{build}/{name}", "w") as file:
                file.write(text)
        code = subprocess.run(
            [self.xcache, "publish", "--create", build, "--app", "shop", "--bundle", "main", "--base-url",
             "https://m.example.com/", "--server", self.url, "--no-check", "all", "--message", message],
            check=check, stdout=subprocess.DEVNULL, stderr=None if check else subprocess.DEVNULL,
            env={**os.environ, "XCACHE_TOKEN": self.token, "XDG_CACHE_HOME": f"{self.folder}/cache"}).returncode
        if not check:
            return code
        answer = json.loads(get(f"{self.url}/configure.json?app=shop"))["data"]["resourcemap"]
        return {url.removeprefix("https://m.example.com/"): entry["download"] for url, entry in answer.items()}

    def stop(self):
        self.server.terminate()
        assert self.server.wait(20) == 0, "the server ended with an error"
