#!/usr/bin/env python3
"""Runs the steps of deploy/Containerfile one by one, each stage in a chroot of Debian 12, then the image's command as its user and
its health check, as they would run in a container; then deploy/Containerfile.smoke on that image, and `xcache smoke` as its user.
   container.py PACKAGES [XCACHE]      As root. PACKAGES is the folder in which `make deb-webkit` put its packages.

The Swift image is Debian with this machine's toolchain mounted at /opt/swift. With XCACHE, that program takes the place of the
one that `make build` would make, which saves most of the time."""
import glob, json, os, pathlib, re, shlex, shutil, signal, subprocess, sys, tempfile, time

repository = pathlib.Path(__file__).resolve().parents[2]
base = repository / ".build/tools/bookworm.tar"
packages = pathlib.Path(sys.argv[1]).resolve()
built = sys.argv[2] if len(sys.argv) > 2 else None
mounts = []


def run(*words, **more):
    return subprocess.run([str(w) for w in words], check=True, **more)


def mount(*words):
    run("mount", *words)
    mounts.append(words[-1])


class Stage:
    def __init__(self, image, folder):
        known = {"docker.io/library/swift:6.3-bookworm", "docker.io/library/debian:bookworm-slim"}
        if image not in known:
            sys.exit(f"container.py has no {image}")
        self.root, self.work, self.user, self.env = folder, "/", "root", {}
        self.settings = {}
        folder.mkdir()
        run("tar", "-C", folder, "-xf", base)
        mount("--bind", folder, folder)
        mount("-t", "proc", "proc", folder / "proc")
        mount("--bind", "/dev", folder / "dev")
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
        run("sh", "-c", f"cp -r /etc/apt/sources.list* {folder}/etc/apt/")
        (folder / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (folder / "usr/sbin/policy-rc.d").chmod(0o755)
        self.path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        if "swift:" in image:
            toolchain = pathlib.Path(os.path.realpath(shutil.which("swift"))).parents[2]
            (folder / "opt/swift").mkdir(parents=True)
            mount("--bind", toolchain, folder / "opt/swift")
            self.path += ":/opt/swift/usr/bin"
            # What that image has besides the toolchain.
            self.run("apt-get update -q && apt-get install -y -q --no-install-recommends binutils gcc libc6-dev libstdc++-12-dev git "
                     "libxml2 libncurses6 libedit2 libpython3.11 tzdata")

    def environment(self):
        return {"PATH": self.path, "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root", "LC_ALL": "C.UTF-8", **self.env}

    def words(self, command):
        user = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
        return ["chroot", str(self.root), *(user if self.user != "root" else []), "env", "-C", self.work, *command]

    def run(self, text):
        log = open(f"{self.root}.log", "a+b")
        done = subprocess.run(self.words(["sh", "-c", text]), env=self.environment(), stdout=log, stderr=log)
        if done.returncode:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-3000:])
            sys.exit(f"failed: RUN {text}")


def instructions(file):
    text = (repository / "deploy" / file).read_text()
    lines = [l for l in text.splitlines() if not l.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        if line.strip():
            yield line.split(None, 1)


def build(file, context, work, images):
    """Runs the steps of a file; gives its last stage.   images: what was built before, by name."""
    stages, stage = {}, None
    for name, rest in instructions(file):
        began = time.monotonic()
        if name == "FROM":
            image, _, alias = rest.partition(" AS ")
            stage = images[image] if image in images else Stage(image, work / (alias or "final"))
            stages[alias or "final"] = stage
        elif name == "RUN":
            if built and "make build" in rest:
                binary = stage.root / stage.work.lstrip("/") / ".build/release/xcache"
                binary.parent.mkdir(parents=True)
                shutil.copy(built, binary)
                rest = rest.replace("make build", "true")
            stage.run(rest)
        elif name == "COPY":
            words = shlex.split(rest)
            source, target = words[-2:]
            place = stage.root / os.path.join(stage.work, target).lstrip("/")
            if words[0].startswith("--from="):
                shutil.copy(stages[words[0][7:]].root / source.lstrip("/"), place)
            elif source == ".":
                ignored = (repository / ".containerignore").read_text().split()
                run("rsync", "-a", *[f"--exclude=/{i}" for i in ignored], f"{context}/", f"{place}/")
            else:
                found = glob.glob(f"{context}/{source}")
                if not found:
                    sys.exit(f"{file}: there is no {source} in {context}")
                for path in found:
                    shutil.copy(path, place)
        elif name == "WORKDIR":
            stage.work = rest
            (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif name == "ENV":
            stage.env.update(w.split("=", 1) for w in shlex.split(rest))
        elif name == "USER":
            stage.user = rest
        elif name in ("EXPOSE", "VOLUME", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"):
            stage.settings[name] = rest
        else:
            sys.exit(f"container.py doesn't know {name}")
        print(f"   {name} {' '.join(rest.split())[:90]} ({time.monotonic() - began:.0f} s)", flush=True)
    return stage


def alone(words):
    """With a network of its own, where every port is free and nobody can be reached."""
    return ["unshare", "--net", "--kill-child", "--fork", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *words]


def main(work):
    if not base.exists():
        base.parent.mkdir(parents=True, exist_ok=True)
        run("debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", work / "base", stdout=subprocess.DEVNULL)
        run("tar", "-C", work / "base", "-cf", f"{base}.new", ".")
        os.rename(f"{base}.new", base)
    stage = build("Containerfile", repository, work, {})
    serves(stage)
    smokes(build("Containerfile.smoke", packages, work, {"registry.example.com/xcache:latest": stage}))


def serves(stage):
    words = json.loads(stage.settings["ENTRYPOINT"]) + json.loads(stage.settings["CMD"])
    check = json.loads(stage.settings["HEALTHCHECK"].partition("CMD ")[2])
    server = subprocess.Popen(alone(stage.words(words)), env=stage.environment())
    try:
        inner = None
        for _ in range(200):
            found = subprocess.run(["pgrep", "-P", str(server.pid)], capture_output=True, text=True).stdout.split()
            inner = found[0] if found else inner
            if inner and not subprocess.run(["nsenter", f"--net=/proc/{inner}/ns/net", *stage.words(check)], env=stage.environment(),
                                            stderr=subprocess.DEVNULL).returncode:
                break
            time.sleep(0.1)
        else:
            sys.exit("the health check fails")
        owner = os.stat(f"/proc/{inner}").st_uid
        print(f"   it runs as {owner}, and the health check succeeds")
        if owner != 10001:
            sys.exit("that isn't the image's user")
        run("kill", "-" + stage.settings["STOPSIGNAL"], inner)
        if code := server.wait(20):
            sys.exit(f"it ended with {code}")
    finally:
        server.kill()


def smokes(stage):
    """What a CI job does with a build: one that is fine, and one that isn't."""
    folder = stage.root / "pages"
    (folder / "dist").mkdir(parents=True)
    folder.chmod(0o777)
    stage.work = "/pages"
    words = json.loads(stage.settings["ENTRYPOINT"]) + shlex.split("smoke dist --base-url https://m.example.com/shop/ --screenshots pictures")
    for text, wanted in (("<p>one", 0), ("<p>one<script>nothing()</script>", 3)):
        (folder / "dist/index.html").write_text(f"<!doctype html>{text}")
        done = subprocess.run(alone(stage.words(words)), env=stage.environment(), capture_output=True, text=True)
        print(f"   {done.stdout.strip()}")
        if done.returncode != wanted:
            sys.exit(f"xcache smoke ended with {done.returncode}, not {wanted}: {done.stderr}")
    if not (folder / "pictures/1-index.html.png").exists():
        sys.exit("xcache smoke took no picture")


work = pathlib.Path(tempfile.mkdtemp())
signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
try:
    main(work)
finally:
    for place in reversed(mounts):
        subprocess.run(["umount", "-l", str(place)])
    # Never through a mount that is still there: this machine's toolchain is behind one of them.
    if str(work) not in open("/proc/mounts").read():
        shutil.rmtree(work, ignore_errors=True)
