#!/usr/bin/env python3
"""What the first install of whole front ends costs: bytes, requests, time on a slow line, memory.

    Benchmarks/first_install.py XCACHE [BUILD…] [--only sizes,line,memory] [--rounds N] [--record FILE]

A BUILD is a name of fronts.py, or PACKAGE==VERSION:FOLDER, a folder of a wheel on PyPI (gradio==5.49.1:gradio/templates/frontend/).
Each is published as `xcache init` proposes, and once more without `lazy`, if it proposes that; a device that holds nothing takes it.

The other side of the comparison is the published files as an archive: a tar, sorted by path, of those that compress, as `zstd -19`
writes it, plus the others as they are. A file compresses if `zstd -3` of it alone saves at least 3 %. The bar is against all published
files but source maps; the same without the files that are lazy, and with source maps, is printed, too, and what `xz -9e` makes of each
tar, with a window as large as the tar.

sizes    bytes and requests through a proxy that counts both directions, heads included; the origin's work for it
line     (root, ip) seconds over 100 ms each way and 1.6 Mbit/s between two network namespaces, and of one GET of as many bytes
memory   peak of the device's resident memory above idle, while it installs 80 MB of files: mlflow with its source maps, and, by the name
         `halves`, files that code to half of their size and have nothing in common

Ends with 1 if a bar isn't held. With a program without first packs (PATIENCE=0), it prints what an install costs file by file.
"""
import argparse, atexit, hashlib, io, json, os, pathlib, re, shutil, socket, statistics, subprocess, sys, tarfile, tempfile, time
import urllib.request

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here.parent / "Tests/Browser/Worker"), str(here.parent / "Tests/Browser"), str(here)]
import badnet
from fronts import BUILDS, files_of
from open import cache, wheel
from slowproxy import SlowProxy

BASE = "https://m.example.com/"
DELAY_MS, MBIT = 100, 1.6
# How long a pack is waited for, in seconds.
PATIENCE = int(os.environ.get("PATIENCE", "120"))
# What is asked of a first install.
SHARE_OF_ARCHIVE, REQUESTS, SHARE_OF_GET, MEMORY = 0.9, 2, 1.1, 16_000_000
failed = []


def bar(what, value, most, unit=""):
    ok = value <= most
    if not ok:
        failed.append(what)
    print(f"  {'ok   ' if ok else 'FAILS'} {what}: {value:,.2f}{unit} (at most {most:,.2f})", flush=True)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wheel_files(package, version, folder):
    """The files of a wheel's folder by their paths in it."""
    with wheel(package, version) as archive:
        found = {path[len(folder) + 1:]: archive.read(path) for path in archive.namelist()
                 if path.startswith(folder + "/") and not path.endswith("/")}
    if not found:
        sys.exit(f"{package} {version} has no files in {folder}")
    return found


def files(build):
    """A name, and the files by their paths."""
    if build in BUILDS:
        return build, files_of(build, 0)
    package, version, folder = re.fullmatch(r"([\w.-]+)==([\w.]+):(.*?)/?", build).groups()
    return package, wheel_files(package, version, folder)


class Origin:
    """An origin over a folder of its own, run with `prefix`; devices reach it at `public`, if that is another URL."""

    def __init__(self, binary, folder, host="127.0.0.1", prefix=(), public=None, port=None):
        self.binary, self.folder, self.prefix = binary, folder, list(prefix)
        folder.mkdir(parents=True, exist_ok=True)
        self.access, log = folder / "access.log", folder / "origin.log"
        self.access.touch()
        self.process = subprocess.Popen(
            [*self.prefix, binary, "serve", "--data", folder / "data", "--listen", f"{host}:{port or free_port()}",
             "--access-log", self.access, *(["--public-url", public] if public else [])],
            stderr=open(log, "w"), start_new_session=True)
        atexit.register(self.stop)
        while " listens on " not in (words := log.read_text()):
            if self.process.poll() is not None:
                sys.exit(words)
            time.sleep(0.05)
        self.url = words.split(" listens on ")[1].split(",")[0].split()[0]
        self.public = public or self.url
        self.environment = dict(
            os.environ, XCACHE_SERVER=self.url, XCACHE_TOKEN=(folder / "data/admin.token").read_text().strip(),
            XDG_CACHE_HOME=str(folder / "cache"))

    def run(self, *words, cwd):
        done = subprocess.run([*self.prefix, self.binary, *words], env=self.environment, cwd=cwd, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"xcache {' '.join(map(str, words))}: {done.stdout}{done.stderr}")
        return done.stdout

    def publish(self, project, app, patience=PATIENCE):
        """Publishes a project by its xcache.json, and waits until nothing more is done for it; seconds that this took the processor, and
        seconds until the first pack was there, or nil."""
        before, start, first = self.seconds(), time.monotonic(), None
        self.run("publish", "--create", "--now", "--no-check", "all", cwd=project)
        while first is None and time.monotonic() < start + patience:
            if "first" in json.loads(self.get(f"/configure.json?app={app}"))["data"]:
                first = time.monotonic() - start
            time.sleep(0.2)
        self.wait()
        return self.seconds() - before, first

    def wait(self):
        """Waits until it has done nothing for two seconds."""
        calm = 0
        while calm < 4:
            last = self.seconds()
            time.sleep(0.5)
            calm = calm + 1 if self.seconds() - last <= 0.01 else 0

    def get(self, path):
        return subprocess.run([*self.prefix, "curl", "-sf", "--compressed", self.url + path], capture_output=True, check=True).stdout

    def seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def manifest(self, app, cwd):
        return json.loads(self.run("show", "--app", app, "--manifest", cwd=cwd))

    def logged(self, since=None):
        """The requests so far with the bytes of their bodies. The log is written in batches; it is longer than `since` in the end."""
        size, calm = self.access.stat().st_size, 0
        while calm < 3:
            time.sleep(0.5)
            before, size = size, self.access.stat().st_size
            calm = calm + 1 if size == before and size > (since or 0) else 0
        found = [re.search(r'"(\S+) (\S+) [^"]*" (\d+) (\d+|-)', line) for line in self.access.read_text().splitlines()]
        return [(hit[2], 0 if hit[4] == "-" else int(hit[4])) for hit in found if hit]

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)


def project(folder, name, contents, binary, base=BASE):
    """A folder with the build and the xcache.json that `init` proposes."""
    for path, data in contents.items():
        target = folder / "dist" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    subprocess.run([binary, "init", "--app", name, "--dir", "dist", "--base-url", base, "--force"], cwd=folder, check=True,
                   capture_output=True)
    return json.loads((folder / "xcache.json").read_text())


def without_lazy(settings):
    """The same settings without `lazy`; nil if they have none."""
    copy = json.loads(json.dumps(settings))
    had = [bundle.pop("lazy", None) for bundle in copy["bundles"].values()]
    return copy if any(had) else None


# -- The other side

class Archive:
    """What files are as `zstd -19` of a tar, and the rest; kept beside the wheels, since it takes a minute."""

    def __init__(self, contents):
        coded, rest = {}, []
        for path, data in sorted(contents.items()):
            small = len(self.code(["zstd", "-3", "-c"], data))
            if small <= 0.97 * len(data):
                coded[path] = data
            else:
                rest.append(len(data))
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as archive:
            for path, data in coded.items():
                item = tarfile.TarInfo(path)
                item.size = len(data)
                archive.addfile(item, io.BytesIO(data))
        self.files, self.others, self.rest = len(coded), len(rest), sum(rest)
        self.zstd = self.size(["zstd", "-19", "-c"], tar.getvalue()) + self.rest
        self.xz = self.size(["xz", "-9e", "-c"], tar.getvalue()) + self.rest

    @staticmethod
    def code(command, data):
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout

    @classmethod
    def size(cls, command, data):
        known = cache / "archives.json"
        sizes = json.loads(known.read_text()) if known.exists() else {}
        key = f"{' '.join(command)} {hashlib.sha256(data).hexdigest()}"
        if key not in sizes:
            sizes[key] = len(cls.code(command, data))
            known.write_text(json.dumps(sizes, indent=1))
        return sizes[key]


# -- Installing

class Install:
    """What a device that holds nothing does to get a version; `page` has the bytes of a page, whose time is taken."""

    def __init__(self, origin, app, device, prefix=(), page=b""):
        shutil.rmtree(device, ignore_errors=True)
        logged, size, start = len(origin.logged()), origin.access.stat().st_size, time.monotonic()
        process = subprocess.Popen(
            [*prefix, origin.binary, "pull", "--to", device, "--server", origin.public, "--app", app, "--force", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        # Seconds until the page's file is whole in the device's folder.
        self.page = None
        while page and self.page is None and process.poll() is None:
            time.sleep(0.1)
            if self.holds(device, page):
                self.page = time.monotonic() - start
        words, _ = process.communicate()
        self.seconds = time.monotonic() - start
        if process.returncode:
            raise RuntimeError(words)
        answers = origin.logged(since=size)[logged:]
        self.requests, self.bodies = len(answers), sum(size for _, size in answers)
        self.packs = [path for path, _ in answers if "/pack/0-" in path]

    @staticmethod
    def holds(device, page):
        try:
            return any(path.stat().st_size == len(page) and path.read_bytes() == page for path in device.rglob("*") if path.is_file())
        except OSError:
            return False  # one was moved meanwhile


def held(device, manifest):
    """Files of entries that aren't lazy and that the device lacks, by size."""
    sizes = {}
    for path in (device / "files").rglob("*"):
        if path.is_file():
            sizes[path.stat().st_size] = sizes.get(path.stat().st_size, 0) + 1
    needed = {entry["sha256"]: entry["size"] for entry in manifest.values() if not entry.get("lazy")}
    missing = 0
    for size in needed.values():
        if sizes.get(size, 0) == 0:
            missing += 1
        else:
            sizes[size] -= 1
    return missing


def tree(origin, app, device, work):
    """The files as the device holds them, by path."""
    copy = work / "tree-device"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(device, copy)
    subprocess.run([origin.binary, "pull", "--to", copy, "--server", origin.public, "--app", app, "--force", "--tree", BASE],
                   check=True, capture_output=True)
    return {str(path.relative_to(copy / "tree")): path.read_bytes() for path in (copy / "tree").rglob("*") if path.is_file()}


def sizes(binary, builds, work, record):
    for build in builds:
        name, contents = files(build)
        folder = work / name
        settings = project(folder, name, contents, binary)
        print(f"{name}: {len(contents)} files, {sum(map(len, contents.values())):,} B", flush=True)
        variants = [("as init proposes", settings)]
        if plain := without_lazy(settings):
            variants.append(("without lazy", plain))
        for variant, document in variants:
            port = free_port()
            (folder / "xcache.json").write_text(json.dumps(document))
            with SlowProxy(f"127.0.0.1:{port}") as line:
                origin = Origin(binary, folder / variant.replace(" ", "-"), public=line.url, port=port)
                try:
                    lazy = measured(origin, name, variant, contents, folder, line, record)
                finally:
                    origin.stop()
            # Source maps are proposed as lazy, but aren't published.
            if not lazy:
                break


def measured(origin, name, variant, contents, folder, line, record):
    """A variant of a front end, published and installed; the paths of its lazy files."""
    row = "    {:<26}{:>7}{:>14}{:>14}{:>8}{:>14}{:>8}"
    cpu, first = origin.publish(folder, name)
    manifest = origin.manifest(name, folder)
    # Files are coded when the first device asks for them.
    Install(origin, name, folder / "device")
    origin.wait()
    down, up = line.bytes_down, line.bytes_up
    device = folder / "device"
    install = Install(origin, name, device)
    down, up = line.bytes_down - down, line.bytes_up - up
    lazy = {url[len(BASE):] or "index.html" for url, entry in manifest.items() if entry.get("lazy")}
    published = {path: contents[path] for url in manifest if (path := url[len(BASE):]) in contents}
    print(f"  {variant}: {down:,} B down, {up:,} B up, {install.requests} requests; {len(lazy)} of {len(published)} files are lazy; the "
          f"origin's work for the release {cpu:.1f} s of CPU; " + (f"the pack after {first:.1f} s" if first else "no pack"))
    print(row.format("against", "files", "raw bytes", "zstd -19", "share", "xz -9e", "share"))
    archives = {
        "all published": lambda path: True,
        "without source maps": lambda path: not path.endswith(".map"),
        "without lazy": lambda path: path not in lazy,
    }
    shares = {}
    for what, takes in archives.items():
        chosen = {path: data for path, data in published.items() if takes(path)}
        archive = Archive(chosen)
        shares[what] = down / archive.zstd
        print(row.format(what, len(chosen), f"{sum(map(len, chosen.values())):,}", f"{archive.zstd:,}", f"{down / archive.zstd:.3f}",
                         f"{archive.xz:,}", f"{down / archive.xz:.3f}")
              + f"   {archive.others} as they are, {archive.rest:,} B", flush=True)
        record(name=name, variant=variant, against=what, files=len(chosen), lazy=len(lazy), down=down, up=up, requests=install.requests,
               zstd=archive.zstd, xz=archive.xz, rest=archive.rest, cpu=cpu, first=first, packs=install.packs)
    what = f"{name}, {variant}"
    bar(f"{what}: bytes of the archive", shares["without source maps"], SHARE_OF_ARCHIVE)
    bar(f"{what}: requests", install.requests, REQUESTS)
    bar(f"{what}: and no fewer, or they weren't counted", 2, install.requests)
    bar(f"{what}: files that the device lacks", held(device, manifest), 0)
    if not lazy:
        got = tree(origin, name, device, folder)
        bar(f"{what}: files that differ from the build's", sum(got.get(path) != data for path, data in published.items()), 0)
    return lazy


def line(binary, builds, work, rounds, record):
    for build in builds:
        name, contents = files(build)
        folder = work / f"{name}-line"
        project(folder, name, contents, binary)
        with badnet.BadNet() as net:
            server, client = (["ip", "netns", "exec", f"{net.name}-{side}"] for side in "sc")
            origin = Origin(binary, folder / "origin", net.server_ip, server)
            try:
                origin.publish(folder, name)
                Install(origin, name, folder / "device", client)
                origin.wait()
                plain = free_port()
                (folder / "plain").mkdir()
                net.server("python3", "-m", "http.server", str(plain), "--bind", net.server_ip, "--directory", str(folder / "plain"),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                net.set(delay=DELAY_MS, rate=MBIT)
                time.sleep(0.3)
                ours, single = [], []
                for _ in range(rounds):
                    ours.append(Install(origin, name, folder / "device", client, page=contents.get("index.html", b"")))
                    file = folder / "plain" / f"{ours[0].bodies}.bin"
                    if not file.exists():
                        file.write_bytes(os.urandom(ours[0].bodies))
                    single.append(float(subprocess.run(
                        [*client, "curl", "-sf", "-o", "/dev/null", "-m", "1800", "-w", "%{time_total}",
                         f"http://{net.server_ip}:{plain}/{file.name}"], capture_output=True, text=True, check=True).stdout))
                took, one = statistics.median(run.seconds for run in ours), statistics.median(single)
                page = [run.page or run.seconds for run in ours]
                print(f"{name}: {took:.2f} s in {ours[0].requests} requests, {ours[0].bodies:,} B; its page was held after "
                      f"{statistics.median(page):.2f} s; one GET of as many bytes {one:.2f} s", flush=True)
                bar(f"{name}: seconds, of one GET", took / one, SHARE_OF_GET)
                record(name=name, line=[run.seconds for run in ours], page=page, get=single, bodies=ours[0].bodies, requests=ours[0].requests)
            finally:
                origin.stop()


# -- Memory

class Device:
    """`xcache device run`: what an app's process does, without an engine."""

    def __init__(self, origin, folder, app):
        self.process = subprocess.Popen(
            [origin.binary, "device", "run", "--to", folder, "--server", origin.public, "--app", app, "--hosts", "m.example.com",
             "--listen", "127.0.0.1:0", "--disk-limit", "1GB", "--json"], stdout=subprocess.PIPE, text=True, start_new_session=True)
        atexit.register(self.stop)
        self.control, self.query = json.loads(self.process.stdout.readline())["control"].split("?")

    def resident(self, what="VmRSS"):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{what}:\s+(\d+)", text)[1]) * 1024

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def state(self):
        return json.loads(urllib.request.urlopen(f"{self.control}control.json?{self.query}").read())

    def trigger(self, name):
        request = urllib.request.Request(f"{self.control}control/trigger?name={name}&{self.query}", data=b"", method="POST")
        urllib.request.urlopen(request).read()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)


def halves(count, size):
    """Files that code to half of their size, and have nothing in common."""
    return {f"chunk-{number:02}.js": os.urandom(size // 2).hex().encode() for number in range(count)} | {
        "index.html": b"<!doctype html><html><head><title>halves</title></head><body>halves</body></html>"}


def memory(binary, builds, work, record):
    cases = {"mlflow": lambda: files_of("mlflow", 0), "halves": lambda: halves(40, 2_000_000)}
    for name in [build for build in builds if build in cases] if "halves" in builds else cases:
        contents = cases[name]()
        folder = work / f"{name}-memory"
        settings = project(folder, name, contents, binary)
        for bundle in settings["bundles"].values():
            for key in ("lazy", "exclude"):
                bundle.pop(key, None)
        (folder / "xcache.json").write_text(json.dumps(settings))
        origin = Origin(binary, folder / "origin")
        try:
            # The app is there before its first version: the device polls a channel that has none.
            origin.run("publish", "--create", "--now", "--no-check", "all", "--channel", "test", "--include", "index.html", cwd=folder)
            origin.run("channel", "create", "--app", name, "--channel", "online", cwd=folder)
            device = Device(origin, folder / "device", name)
            cpu, _ = origin.publish(folder, name)
            manifest = origin.manifest(name, folder)
            # Polls are half a minute apart.
            time.sleep(35)
            idle = device.resident()
            device.forget_peak()
            logged, size, start = len(origin.logged()), origin.access.stat().st_size, time.monotonic()
            device.trigger("push")
            while time.monotonic() < start + 600:
                state = device.state()
                missing = sum(not file["held"] for file in state["files"])
                whole = len(state["files"]) >= len(manifest) and missing == 0
                if state["version"] != "0" and whole and not any(state["queue"].values()):
                    break
                time.sleep(0.1)
            took = time.monotonic() - start
            answers = origin.logged(since=size)[logged:]
            peak = device.resident("VmHWM")
            raw = sum({entry["sha256"]: entry["size"] for entry in manifest.values()}.values())
            print(f"{name}: {raw:,} B in {len(contents)} files, {len(answers)} requests, {sum(size for _, size in answers):,} B of bodies, "
                  f"{took:.1f} s; resident {idle / 1e6:.1f} MB idle, {peak / 1e6:.1f} at most; the origin's work {cpu:.1f} s of CPU",
                  flush=True)
            bar(f"{name}: files that are missing in the end", missing, 0)
            bar(f"{name}: MB above idle", (peak - idle) / 1e6, MEMORY / 1e6)
            record(name=name, memory=peak - idle, idle=idle, raw=raw, requests=len(answers), seconds=took, cpu=cpu)
            device.stop()
        finally:
            origin.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xcache")
    parser.add_argument("builds", nargs="*", default=[])
    parser.add_argument("--only", default="sizes,line,memory")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--record", help="append each result to this file, as a line of JSON")
    given = parser.parse_args()
    binary, builds = os.path.abspath(given.xcache), given.builds or ["streamlit", "marimo", "mlflow", "prefect", "kedro-viz"]
    version = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout.strip()

    def record(**result):
        if given.record:
            with open(given.record, "a") as file:
                file.write(json.dumps({"xcache": version, "load": os.getloadavg()[0], **result}) + "\n")

    with tempfile.TemporaryDirectory(prefix="xcache-first-") as work:
        work = pathlib.Path(work)
        wanted = given.only.split(",")
        if "sizes" in wanted:
            sizes(binary, builds, work, record)
        if "line" in wanted:
            line(binary, builds, work, given.rounds, record)
        if "memory" in wanted:
            memory(binary, builds, work, record)
    print("bars that weren't held: " + "; ".join(failed) if failed else "all bars held")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
