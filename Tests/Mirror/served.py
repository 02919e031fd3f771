"""An origin of its own, for scripts that kill what works with it."""
import os, random, subprocess, sys, tempfile, time


def arguments(kills):
    """The binary and how many kills, as the command line says them, and dice that SEED throws again."""
    xcache, kills = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else kills
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    return xcache, kills, seed, random.Random(seed)


class Origin:
    """A server over a data folder in a folder of its own, on a port that the kernel chooses."""

    def __init__(self, xcache, public_url, ram=False, **environment):
        ram = "/dev/shm" if ram and os.access("/dev/shm", os.W_OK) else None
        self.work = tempfile.mkdtemp(prefix="xcache-kill-", dir=ram)
        self.data, self.log = self.work + "/data", self.work + "/server.log"
        # What commands run in: nothing of the caller's settings.
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("XCACHE_")}
        self.environment.update(environment, XDG_CACHE_HOME=self.work + "/cache")
        self.command = [xcache, "serve", "--data", self.data, "--listen", "127.0.0.1:0", "--public-url"]
        self.public_url, self.process = public_url, None

    def start(self):
        """Returns once it listens; commands of `environment` then speak to it. Gives its URL."""
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [*self.command, self.public_url], stderr=log, env=self.environment)
        while True:
            assert self.process.poll() is None, open(self.log).read()
            lines = [line for line in open(self.log) if " listens on http://" in line]
            if lines:
                break
            time.sleep(0.02)
        url = lines[0].split(" listens on ")[1].split(",")[0]
        token = open(self.data + "/admin.token").read().strip()
        self.environment.update(XCACHE_SERVER=url, XCACHE_TOKEN=token)
        return url

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
