"""An origin of its own for a test in a browser: the program, started over an empty folder."""
import json, os, re, subprocess, urllib.request


def get(url):
    with urllib.request.urlopen(url) as reply:
        return reply.read()


class Site:
    def __init__(self, xcache, folder):
        self.xcache, self.folder, self.published = xcache, folder, 0
        self.log = f"{folder}/access.log"
        self.server = subprocess.Popen(
            [xcache, "serve", "--data", f"{folder}/data", "--listen", "127.0.0.1:0", "--access-log", self.log],
            stderr=subprocess.PIPE, text=True)
        for line in self.server.stderr:
            found = re.search(r"listens on (http://[0-9.:]+)", line)
            if found:
                self.url = found[1]
                self.token = open(f"{folder}/data/admin.token").read().strip()
                return
        raise SystemExit("the server did not start")

    def publish(self, files, message=""):
        """Publishes texts by their names; gives their download URLs."""
        self.published += 1
        build = f"{self.folder}/build-{self.published}"
        for name, text in files.items():
            os.makedirs(os.path.dirname(f"{build}/{name}"), exist_ok=True)
            with open(f"{build}/{name}", "w") as file:
                file.write(text)
        subprocess.run(
            [self.xcache, "publish", build, "--app", "shop", "--bundle", "main", "--base-url",
             "https://m.example.com/", "--server", self.url, "--no-check", "all", "--message", message],
            check=True, stdout=subprocess.DEVNULL,
            env={**os.environ, "XCACHE_TOKEN": self.token, "XDG_CACHE_HOME": f"{self.folder}/cache"})
        answer = json.loads(get(f"{self.url}/configure.json?app=shop"))["data"]["resourcemap"]
        return {url.removeprefix("https://m.example.com/"): entry["download"] for url, entry in answer.items()}

    def stop(self):
        self.server.terminate()
        assert self.server.wait(20) == 0, "the server ended with an error"
