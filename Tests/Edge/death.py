#!/usr/bin/env python3
"""How long devices take to the static copy when the origin dies behind edges that go on answering: death.py XCACHE [--edges KIND,...]

Real devices (`xcache device run --fallback`) poll through edges whenever they may. A release is made that no edge has been told of and the copy
has; at once the origin is killed (SIGKILL). Each device must ask the copy and hold that release within five minutes. `make test-edge-death`
runs it, in real time: that is what it measures.
"""
import argparse, contextlib, functools, http.client, http.server, json, os, shutil, signal, subprocess, sys, tempfile, threading, time

import edges
from edges import Origin, Site, get, wait_for

BAR = 300


class Copy:
    """The static copy, at an address of its own for each device, so that it is known who asks. Another one is the CDN, which has the files."""

    def __init__(self, folder):
        copy, self.asked = self, None

        class Handler(http.server.SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                copy.asked = copy.asked or time.monotonic()
                super().do_GET()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Device:
    def __init__(self, xcache, work, number, edge, copy):
        self.edge, self.copy, self.held, self.failures = edge, copy, {}, []
        environment = {k: v for k, v in os.environ.items() if not k.startswith("XCACHE_")}
        with open(f"{work}/device{number}.log", "w") as log:
            self.process = subprocess.Popen(
                [xcache, "device", "run", "--to", f"{work}/device{number}", "--app", "shop", "--hosts", "shop.example.com", "--server",
                 f"http://127.0.0.1:{edge.port}", "--fallback", copy.url, "--listen", "127.0.0.1:0", "--json"],
                stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        where = json.loads(self.process.stdout.readline())["control"].removeprefix("http://127.0.0.1:")
        self.port, self.token = int(where.split("/")[0]), where.split("token=")[1]
        self.over = threading.Event()
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=self.open_pages, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            if '"failed"' in line:
                self.failures.append(time.monotonic())

    def open_pages(self):
        """Opens a page twice a second; with each the device polls if it may."""
        while not self.over.wait(0.5):
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
                get(self.port, f"/control/trigger?name=foreground&token={self.token}", method="POST")
                state, now = json.loads(get(self.port, f"/control.json?token={self.token}")[2]), time.monotonic()
                self.held.setdefault(int(state["version"]), now)

    def end(self):
        self.over.set()
        self.process.terminate()

    @property
    def version(self):
        return max(self.held, default=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("xcache", type=os.path.abspath)
    parser.add_argument("--edges", default="varnish,nginx,haproxy")
    parser.add_argument("--devices", type=int, default=4, help="behind each edge")
    parser.add_argument("--ttl", type=int, default=10)
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="xcache-edge-")
    started, missed = [], []
    try:
        run(options, work, started, missed)
    finally:
        for stop in reversed(started):
            stop()
        shutil.rmtree(work, ignore_errors=True)
    if missed:
        sys.exit("; ".join(missed))


def run(options, work, started, missed):
    copy_folder = f"{work}/copy"
    os.makedirs(copy_folder)
    origin = Origin(options.xcache, work, ttl=options.ttl)
    # Files come from a CDN, which needs no origin.
    origin.public_url = Copy(copy_folder).url
    started.append(origin.end)
    # Nobody purges: what the copy has and edges don't know is what devices can only have from the copy.
    origin.start()
    site = Site(work, "shop", "online", files=6)
    for _ in range(2):
        first = origin.publish("shop", "online", site.change())
    mirror = ("mirror", "--data", origin.data, "--to", copy_folder)
    origin.run(*mirror)
    caches = {}
    for kind in options.edges.split(","):
        caches[kind] = edges.stage.edges[kind](f"{work}/{kind}", origin.port)
        started.append(caches[kind].stop)
        caches[kind].start()
    devices, count = [], options.devices * len(caches)
    begin = time.monotonic()
    for number in range(count):
        # So that they don't poll at the same time.
        time.sleep(max(0, begin + 30 * number / count - time.monotonic()))
        kind = list(caches)[number % len(caches)]
        devices.append(Device(options.xcache, work, number, caches[kind], Copy(copy_folder)))
        started.append(devices[-1].end)
    keys = {kind: (edges.poll(origin.port, "shop", "online", patch=False, more="&preview=1")["digest"], [], []) for kind in caches}

    def turn():
        for kind, (digest, good, bad) in keys.items():
            try:
                data = edges.poll(caches[kind].port, "shop", "online", first, digest)
                good.append((time.monotonic(), data["version"]))
            except (OSError, http.client.HTTPException):
                bad.append(time.monotonic())
        time.sleep(1)

    def settle():
        turn()
        return all(device.version == first for device in devices)
    wait_for("devices hold the first release", settle, 120, 0)
    # They have polled with it, too: edges keep these answers.
    end = time.monotonic() + 35
    while time.monotonic() < end:
        turn()
    second = origin.publish("shop", "online", site.change())
    origin.run(*mirror)
    origin.end(signal.SIGKILL)
    dead = time.monotonic()
    print(f"{count} devices hold version {first}; the copy has {second}; the origin is dead", flush=True)
    while time.monotonic() < dead + BAR + 60 and not all(device.version == second for device in devices):
        turn()
    for kind, cache in caches.items():
        own = [device for device in devices if device.edge is cache]
        asked = [device.copy.asked - dead if device.copy.asked else float("inf") for device in own]
        held = [device.held.get(second, float("inf")) - dead for device in own]
        good = [moment for moment, _ in keys[kind][1] if moment > dead]
        newer = [version for moment, version in keys[kind][1] if int(version) > first]
        print(f"{kind}: answered from what it kept until {max(good, default=dead) - dead:.0f} s; devices asked the copy after "
              f"{', '.join(f'{t:.0f}' for t in sorted(asked))} s, and held version {second} after {', '.join(f'{t:.0f}' for t in sorted(held))} s", flush=True)
        slowest = max(own, key=lambda device: device.held.get(second, float("inf")))
        print(f"       polls of the last one failed after {', '.join(f'{at - dead:.1f}' for at in slowest.failures if at > dead)} s")
        ok = max(asked + held) <= BAR and not newer
        print(f"{'ok    ' if ok else 'MISSED'} {kind}: all are at the copy within {BAR} s")
        if not ok:
            missed.append(kind)


if __name__ == "__main__":
    main()
