#!/usr/bin/env python3
"""1,000 releases over 20,000 resources: what rolling back 500 steps and comparing the ends costs.

    Benchmarks/operations.py .build/release/xcache [--releases 1000] [--resources 20000] [--changes 30] [--folder DIR]

--folder keeps the data folder as it is after the releases, and the next run begins from there.
Fails where `rollback --steps 500` or `diff 1 1000` takes over 300 ms at the origin, or xcache.db is over 60 MB.
"""
import argparse, hashlib, json, os, random, shutil, subprocess, sys, tempfile, time, urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("xcache")
parser.add_argument("--releases", type=int, default=1000)
parser.add_argument("--resources", type=int, default=20000)
parser.add_argument("--changes", type=int, default=30)
parser.add_argument("--folder")
options = parser.parse_args()
BASE = "https://m.example.com/app/"
dice = random.Random(7)


def content(number):
    body = b"file %d" % number
    return body, {"ctype": "application/javascript;charset=UTF-8", "md5": hashlib.md5(body).hexdigest(),
                  "sha256": hashlib.sha256(body).hexdigest(), "size": len(body)}


class Origin:
    def __init__(self, folder):
        self.folder = folder
        self.log = open(folder + "/log", "wb")
        self.process = subprocess.Popen(
            [options.xcache, "serve", "--data", folder + "/data", "--listen", "127.0.0.1:0", "--delta-wait", "0"],
            stdout=self.log, stderr=self.log)
        said = ""
        while "http://" not in said:
            time.sleep(0.05)
            said = open(folder + "/log").read()
        self.url = said[said.index("http://"):].split()[0].rstrip(".,;")
        self.token = open(folder + "/data/admin.token").read().strip()

    def ask(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", body, method=method, headers={
            "Authorization": "Bearer " + self.token, "Content-Type": kind})
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def send(self, bodies):
        pack = b"".join(
            b"%s %s %d\n%s" % (hashlib.sha256(b).hexdigest().encode(), hashlib.md5(b).hexdigest().encode(), len(b), b)
            for b in bodies)
        self.ask("POST", "blobs", pack, self.pack_type)

    def release(self, base, contents):
        self.send([body for body, _ in contents.values()])
        change = {"bundle": "main", "base": str(base), "set": {url: entry for url, (_, entry) in contents.items()}}
        self.ask("POST", "apps/shop/channels/online/releases", json.dumps({"bundles": [change]}).encode())


def processor(pid):
    """Milliseconds of processor time that a process has used: what a busy machine doesn't change."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def settle(origin):
    """Waits until the deltas that follow a start or a release behind its back are made, a minute at most."""
    for _ in range(120):
        before = processor(origin.process.pid)
        time.sleep(0.5)
        if processor(origin.process.pid) - before < 20:
            return


def timed(origin, what, times, body):
    settle(origin)
    walls, before = [], processor(origin.process.pid)
    for _ in range(times):
        start = time.perf_counter()
        size = len(body())
        walls.append((time.perf_counter() - start) * 1000)
    used = (processor(origin.process.pid) - before) / times
    median = sorted(walls)[len(walls) // 2]
    print(f"{what}: {median:.0f} ms (of {', '.join(f'{t:.0f}' for t in walls)}), "
          f"{used:.0f} ms of processor time at the origin, {size:,} bytes of answer")
    return median


def main():
    with tempfile.TemporaryDirectory() as folder:
        filled = options.folder or folder + "/filled"
        if not os.path.exists(filled + "/data"):
            os.makedirs(filled, exist_ok=True)
            serving(filled, lambda origin: fill(origin))
        shutil.copytree(filled + "/data", folder + "/data")
        os.sync()
        return serving(folder, lambda origin: measure(origin, folder))


def serving(folder, body):
    origin = Origin(folder)
    try:
        return body(origin)
    finally:
        origin.process.terminate()
        origin.process.wait(20)


def fill(origin):
    urls = [f"{BASE}static/js/chunk-{hashlib.sha1(b'%d' % n).hexdigest()[:12]}.js" for n in range(options.resources)]
    number = len(urls)
    origin.release(0, {url: content(n) for n, url in enumerate(urls)})
    for version in range(2, options.releases + 1):
        changed = dice.sample(urls, options.changes)
        origin.release(version - 1, {url: content(number + n) for n, url in enumerate(changed)})
        number += options.changes


def measure(origin, folder):
    channel = "apps/shop/channels/online"
    megabytes = os.path.getsize(folder + "/data/xcache.db") / 1e6
    print(f"{options.releases} releases over {options.resources} resources, {options.changes} changes each: "
          f"xcache.db {megabytes:.1f} MB")
    steps = options.releases // 2
    asked = {"allBundles": True, "steps": steps, "dryRun": True}
    diff = timed(origin, f"diff 1 {options.releases}", 5, lambda: origin.ask("GET", f"{channel}/diff?from=1&to={options.releases}"))
    timed(origin, f"rollback --steps {steps} --dry-run", 3,
          lambda: origin.ask("POST", f"{channel}/rollback", json.dumps(asked).encode()))
    # What is measured is the store's work, not the deltas that a rollback waits for otherwise.
    asked["dryRun"], asked["now"] = False, True
    back = timed(origin, f"rollback --steps {steps} --all-bundles", 1,
                 lambda: origin.ask("POST", f"{channel}/rollback", json.dumps(asked).encode()))
    # There and back again, a bundle at a time: each goes over the same rows.
    pair = [{"bundle": "main", "to": str(options.releases)}, {"bundle": "main", "to": str(options.releases - steps)}]
    for body in [dict(body, now=True) for body in pair * 2]:
        back = max(back, timed(origin, f"rollback --to {body['to']} --bundle main", 1,
                               lambda: origin.ask("POST", f"{channel}/rollback", json.dumps(body).encode())))
    failed = [what for what, bad in (
        ("diff", diff > 300), ("rollback", back > 300), ("xcache.db", megabytes > 60)) if bad]
    print("too slow or too large: " + ", ".join(failed) if failed else "all within their limits")
    return 1 if failed else 0


Origin.pack_type = "application/vnd.xcache.pack"
sys.exit(main())
