#!/usr/bin/env python3
"""What an update costs, by a pack and by today's way: see update.sh, which calls this.

    update.py BINARY INPUTS WORK [line] [fleet]
"""
import atexit
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import time

import badnet
import update_fleet

BINARY, INPUTS, WORK = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
ROUNDS = int(os.environ.get("ROUNDS", "3"))
DEVICES = int(os.environ.get("DEVICES", "1000"))
BASE_URL = "https://m.example.com/app"
# The line, and what two of its round trips take.
DELAY_MS, MBIT = 100, 1.6
TWO_ROUND_TRIPS = 4 * DELAY_MS / 1000
failed = []


def bar(what, value, most, unit):
    ok = value <= most
    if not ok:
        failed.append(what)
    print(f"  {'ok   ' if ok else 'FAILS'} {what}: {value:,.2f} {unit} (at most {most:,.2f})", flush=True)


class Origin:
    """An origin over a folder of its own; `prefix` is what it and its publishers are run in."""

    def __init__(self, name, host, options=(), prefix=(), binary=BINARY):
        self.name, self.prefix, self.binary = name, list(prefix), binary
        self.data, self.log = WORK / name, WORK / f"{name}.access"
        self.log.touch()
        port = self._port() if prefix else 0
        self.process = subprocess.Popen(
            [*self.prefix, binary, "serve", "--data", self.data, "--listen", f"{host}:{port}", "--access-log", self.log,
             *options], stderr=open(WORK / f"{name}.log", "w"), start_new_session=True)
        atexit.register(self.stop)
        for _ in range(600):
            words = (WORK / f"{name}.log").read_text()
            if " listens on " in words:
                break
            if self.process.poll() is not None:
                raise RuntimeError(words)
            time.sleep(0.05)
        self.url = words.split(" listens on ")[1].split(",")[0].split()[0]
        self.port = int(self.url.rsplit(":", 1)[1])
        self.environment = dict(
            os.environ, XCACHE_SERVER=self.url, XCACHE_TOKEN=(self.data / "admin.token").read_text().strip(),
            XDG_CACHE_HOME=str(WORK / f"{name}-cache"))

    @staticmethod
    def _port():
        """A port that is free here; in a namespace of its own it is free, too."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return free.getsockname()[1]

    def publish(self, folder):
        # Versions up to 0.2 create channels without being told to.
        usage = subprocess.run([self.binary, "publish", "--help"], capture_output=True, text=True).stdout
        create = ["--create"] if "--create" in usage else []
        done = subprocess.run(
            [*self.prefix, self.binary, "publish", *create, folder, "--app", "bench", "--bundle", "main", "--base-url", BASE_URL,
             "--wait-deltas", "--no-check", "all", "--json"], env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        self.quiet()
        return json.loads(done.stdout)

    def ticks(self):
        """Processor time of all its threads, in seconds."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """What is resident, in MB."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1000

    def quiet(self):
        """Waits until it does nothing: deltas and packs are made in the background, too."""
        calm = 0
        for _ in range(600):
            before = self.ticks()
            time.sleep(0.5)
            calm = calm + 1 if self.ticks() - before <= 0.01 else 0
            if calm == 4:
                return
        raise RuntimeError(f"{self.name} isn't quiet after five minutes")

    def requests(self, since):
        """Requests that were logged behind the first `since` lines, and the bytes of their bodies."""
        lines = self.log.read_text().splitlines()[since:]
        sizes = [line.rsplit('" ', 1)[-1].split() for line in lines]
        return len(lines), sum(int(size[1]) for size in sizes if len(size) > 1 and size[1].isdigit())

    def logged(self):
        return len(self.log.read_text().splitlines())

    def settled(self, since):
        """Waits until the log, which is written in batches, has what came behind the first `since` lines; gives `since`."""
        last, quiet = since, 0
        while quiet < 3 or last == since:
            time.sleep(0.5)
            now = self.logged()
            last, quiet = now, quiet + 1 if now == last else 0
        return since

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)


def site(app, version):
    return INPUTS / f"{app}-{version}"


# -- Through the line


class Line:
    """Two origins, one of them without packs, on the far side of a bad line."""

    def __init__(self, net, app):
        server = ["ip", "netns", "exec", f"{net.name}-s"]
        before = os.environ.get("SERVER_BEFORE")
        self.net, self.app = net, app
        self.packs = Origin(f"{app}-packs", net.server_ip, prefix=server)
        self.today = Origin(
            f"{app}-today", net.server_ip, () if before else ("--pack-limit", "0"), server, before or BINARY)
        self.origins = [self.packs, self.today]

    def slow(self, is_slow):
        self.net.set(delay=DELAY_MS if is_slow else 0, rate=MBIT if is_slow else 0)
        time.sleep(0.3)

    def pull(self, origin, device):
        """Seconds, requests and bytes of what a device does."""
        logged, start = origin.logged(), time.monotonic()
        done = subprocess.run(
            ["ip", "netns", "exec", f"{self.net.name}-c", origin.binary, "pull", "--to", device, "--server", origin.url,
             "--app", "bench", "--force", "--json"], capture_output=True, text=True)
        seconds = time.monotonic() - start
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        return seconds, *origin.requests(origin.settled(logged)), json.loads(done.stdout)

    def get(self, url):
        """Seconds and bytes of one download by curl."""
        done = subprocess.run(
            ["ip", "netns", "exec", f"{self.net.name}-c", "curl", "-sf", "-o", "/dev/null", "-m", "600", "-w",
             "%{time_total} %{size_download}", url], capture_output=True, text=True, check=True)
        seconds, size = done.stdout.split()
        return float(seconds), int(float(size))

    def same(self, origin, device, version):
        """Whether the device holds exactly the files that were published."""
        tree = WORK / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(device, tree)
        subprocess.run(
            ["ip", "netns", "exec", f"{self.net.name}-c", origin.binary, "pull", "--to", tree, "--server", origin.url,
             "--app", "bench", "--force", "--tree", BASE_URL + "/"], check=True, capture_output=True)
        subprocess.run(["diff", "-r", tree / "tree", site(self.app, version)], check=True)

    def run(self, versions):
        for origin in self.origins:
            origin.publish(site(self.app, versions[0]))
            self.pull(origin, WORK / f"{origin.name}-device")
        for old, new in zip(versions, versions[1:]):
            self.update(old, new)

    def update(self, old, new):
        print(f"{self.app} {old} -> {new}", flush=True)
        for origin in self.origins:
            origin.publish(site(self.app, new))
        results = {}
        self.slow(True)
        for number in range(ROUNDS):
            for origin in self.origins:
                device = WORK / "device"
                shutil.rmtree(device, ignore_errors=True)
                shutil.copytree(WORK / f"{origin.name}-device", device)
                results.setdefault(origin, []).append(self.pull(origin, device))
        ours, today = ([statistics.median(run[part] for run in results[origin]) for part in range(3)]
                       for origin in self.origins)
        single = statistics.median(self.get(self.file(int(ours[2])))[0] for _ in range(ROUNDS))
        self.slow(False)
        version = results[self.packs][0][3].get("version") or results[self.packs][0][3]["update"].get("version")
        zip_url = f"{self.packs.url}/xcache/bench/bundle/{version}.zip"
        for _ in range(60):
            try:
                self.get(zip_url)
                break
            except subprocess.CalledProcessError:
                time.sleep(1)
        self.slow(True)
        zip_seconds, zip_bytes = self.get(zip_url)
        self.slow(False)
        row = "  {:<28}{:>9}{:>10}{:>14}"
        print(row.format("", "seconds", "requests", "bytes"))
        print(row.format("a pack", f"{ours[0]:.2f}", int(ours[1]), f"{int(ours[2]):,}"))
        print(row.format("one GET of as many bytes", f"{single:.2f}", 1, f"{int(ours[2]):,}"))
        print(row.format("patch and deltas", f"{today[0]:.2f}", int(today[1]), f"{int(today[2]):,}"))
        print(row.format("the whole zip", f"{zip_seconds:.2f}", 1, f"{zip_bytes:,}"), flush=True)
        spread = sorted(run[0] for run in results[self.packs])
        print(f"  seconds by a pack, {ROUNDS} rounds: {spread[0]:.2f} to {spread[-1]:.2f}")
        bar("seconds against one GET, times 1.3, and two round trips", ours[0], 1.3 * single + TWO_ROUND_TRIPS, "s")
        bar("requests", ours[1], 2, "")
        bar("and no fewer, or they weren't counted", 2, ours[1], "")
        most = {("streamlit", "1.49.1"): 9_000, ("streamlit", "1.50.0"): 512_000}.get((self.app, new))
        if most:
            bar("bytes", ours[2], most, "B")
        if self.app == "gradio":
            bar("seconds of a front end of 1,000 files", ours[0], 3.5, "s")
        for origin in self.origins:
            self.pull(origin, WORK / f"{origin.name}-device")
            self.same(origin, WORK / f"{origin.name}-device", new)

    def file(self, size):
        """The URL of a file of as many bytes, on a plain server at the other end."""
        folder = WORK / "plain"
        folder.mkdir(exist_ok=True)
        (folder / f"{size}.bin").write_bytes(os.urandom(size))
        if not hasattr(self, "plain"):
            self.plain = Origin._port()
            self.net.server("python3", "-m", "http.server", str(self.plain), "--bind", self.net.server_ip, "--directory",
                            str(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(1)
        return f"http://{self.net.server_ip}:{self.plain}/{size}.bin"

    def stop(self):
        for origin in self.origins:
            origin.stop()


def through_the_line():
    for app, versions in (("streamlit", ["1.49.0", "1.49.1", "1.50.0"]), ("gradio", ["5.49.0", "5.49.1"])):
        with badnet.BadNet() as net:
            line = Line(net, app)
            try:
                line.run(versions)
            finally:
                line.stop()


# -- A fleet at once


def fleet():
    print(f"{DEVICES} devices at random older versions of streamlit at once", flush=True)
    row = "  {:<20}{:>12}{:>12}{:>12}{:>14}{:>14}{:>12}"
    print(row.format("", "CPU/update", "median", "p99", "bytes/device", "requests", "memory"))
    before = os.environ.get("SERVER_BEFORE")
    results = {}
    for name, options in (("a pack", ()), ("patch and deltas", () if before else ("--pack-limit", "0"))):
        origin = Origin(
            name.replace(" ", "-"), "127.0.0.1", options, binary=before if before and name != "a pack" else BINARY)
        try:
            for number, version in enumerate(("1.49.0", "1.49.0", "1.49.1", "1.49.1", "1.50.0")):
                folder = WORK / "edited"
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(site("streamlit", version), folder)
                if number % 2:
                    with open(folder / "index.html", "a") as page:
                        page.write("<!-- a small release -->")
                origin.publish(folder)
            idle, cpu = origin.memory(), origin.ticks()
            run = update_fleet.run(origin.port, DEVICES, takes_packs=name == "a pack")
            cpu = (origin.ticks() - cpu) / DEVICES
            results[name] = (cpu, run["p99"])
            print(row.format(
                name, f"{cpu * 1000:.2f} ms", f"{run['median']:.2f} s", f"{run['p99']:.2f} s",
                f"{run['bytes'] // DEVICES:,}", f"{run['requests']:,}", f"{idle:.0f}→{origin.memory():.0f} MB"), flush=True)
        finally:
            origin.stop()
    bar("CPU of an update by a pack, in today's", results["a pack"][0] / results["patch and deltas"][0], 1, "x")
    bar("p99 of an update by a pack, in today's", results["a pack"][1] / results["patch and deltas"][1], 1, "x")


wanted = sys.argv[4:] or ["line", "fleet"]
if "line" in wanted:
    through_the_line()
if "fleet" in wanted:
    fleet()
print("bars that weren't held: " + ", ".join(failed) if failed else "all bars held")
sys.exit(1 if failed else 0)
