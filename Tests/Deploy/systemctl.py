#!/usr/bin/python3
"""What package.sh needs of systemctl in a chroot without systemd: it starts a unit as its file says, with its user, folders,
environment, limits, read-only file system and system call filter. A setting that it doesn't know it leaves out."""
import ctypes, errno, glob, os, pathlib, pwd, resource, shlex, signal, subprocess, sys, time

RUN = pathlib.Path("/run/systemctl")
LOG = pathlib.Path("/var/log/journal.txt")


class Unit:
    def __init__(self, name):
        self.name = name.removesuffix(".service")
        found = [f"{d}/system/{self.name}.service" for d in ("/etc/systemd", "/usr/lib/systemd", "/lib/systemd")]
        self.path = next((p for p in found if os.path.exists(p)), None)
        self.settings = {}
        for path in [self.path] * bool(self.path) + sorted(glob.glob(f"/etc/systemd/system/{self.name}.service.d/*.conf")):
            for line in open(path):
                key, equals, value = line.strip().partition("=")
                if equals and not key.startswith(("#", ";")):
                    self.settings[key] = self.settings.get(key, []) + [value] if value else []

    def one(self, key, default=None):
        return (self.settings.get(key) or [default])[-1]

    @property
    def pid(self):
        try:
            pid = int((RUN / self.name).read_text())
            return pid if runs(pid) else None
        except (OSError, ValueError):
            return None

    def environment(self):
        values = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"}
        lines = [w for line in self.settings.get("Environment", []) for w in shlex.split(line)]
        for path in self.settings.get("EnvironmentFile", []):
            if os.path.exists(path.lstrip("-")):
                lines += [l.strip() for l in open(path.lstrip("-")) if l.strip() and not l.startswith(("#", ";"))]
            elif not path.startswith("-"):
                sys.exit(f"there is no {path}")
        values.update(line.split("=", 1) for line in lines)
        return values

    def start(self):
        if self.pid:
            return
        if not self.path:
            sys.exit(f"Unit {self.name}.service not found.")
        RUN.mkdir(parents=True, exist_ok=True)
        user = pwd.getpwnam(self.one("User", "root"))
        folders = []
        for key, parent in (("StateDirectory", "/var/lib/"), ("LogsDirectory", "/var/log/")):
            for name in self.settings.get(key, []):
                folders.append(parent + name)
                os.makedirs(folders[-1], exist_ok=True)
                if os.stat(folders[-1]).st_uid != user.pw_uid:
                    subprocess.run(["chown", "-R", f"{user.pw_uid}:{user.pw_gid}", folders[-1]], check=True)
                os.chmod(folders[-1], int(self.one(key + "Mode", "0755"), 8))
        writable = folders + [p for line in self.settings.get("ReadWritePaths", []) for p in line.split()]
        words, environment, allowed = shlex.split(self.one("ExecStart")), self.environment(), self.system_calls()
        log = open(LOG, "ab")
        pid = os.fork()
        if pid:
            (RUN / self.name).write_text(str(pid))
            time.sleep(0.3)
            done, status = os.waitpid(pid, os.WNOHANG)
            sys.exit(f"{self.name}.service failed: {status}") if done else None
            return
        try:
            os.setsid()
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            self.confine(user, writable, allowed)
            os.execve(words[0], words, environment)
        except BaseException as error:
            print(f"{self.name}: {error!r}", file=sys.stderr, flush=True)
        os._exit(203)

    def confine(self, user, writable, allowed):
        libc = ctypes.CDLL(None, use_errno=True)
        if self.one("ProtectSystem") == "strict":
            libc.unshare(0x20000)  # CLONE_NEWNS
            mount = lambda *words: subprocess.run(["mount", *words], check=True)
            mount("--make-rprivate", "/")
            for path in writable:
                mount("--bind", path, path)
            if self.one("PrivateTmp") == "yes":
                mount("-t", "tmpfs", "tmpfs", "/tmp")
            mount("-o", "remount,bind,ro", "/")
        # Where the test itself may have fewer, so does the service.
        limit = min(int(self.one("LimitNOFILE", "1024")), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        os.umask(int(self.one("UMask", "0022"), 8))
        if self.settings.get("CapabilityBoundingSet") == []:
            for capability in range(64):
                libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        if self.one("NoNewPrivileges") == "yes" or allowed:
            libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        if allowed:
            import seccomp

            number = getattr(errno, self.one("SystemCallErrorNumber", "EPERM"))
            rules = seccomp.SyscallFilter(seccomp.ERRNO(number))
            families = [f for line in self.settings.get("RestrictAddressFamilies", []) for f in line.split()]
            for name in allowed:
                try:
                    if name == "socket" and families:
                        import socket

                        for family in families:
                            rules.add_rule(seccomp.ALLOW, name, seccomp.Arg(0, seccomp.EQ, int(getattr(socket, family))))
                    else:
                        rules.add_rule(seccomp.ALLOW, name)
                except (RuntimeError, ValueError):
                    pass  # of another architecture, or newer than libseccomp
            rules.load()

    def system_calls(self):
        """The calls that SystemCallFilter= leaves."""
        allowed = set()
        for line in self.settings.get("SystemCallFilter", []):
            calls = {c for word in line.lstrip("~").split() for c in group(word)}
            allowed = allowed - calls if line.startswith("~") else allowed | group("@default") | calls
        return allowed

    def stop(self):
        pid = self.pid
        if pid:
            os.kill(pid, signal.SIGTERM)
            wait(pid, float(self.one("TimeoutStopSec", "90")))
            if self.pid:
                LOG.open("a").write(f"{self.name}: killed after its time to stop\n")
                os.kill(pid, signal.SIGKILL)
                wait(pid, 5)
        (RUN / self.name).unlink(missing_ok=True)

    def reload(self):
        if not self.pid:
            sys.exit(f"{self.name}.service is not active, cannot reload.")
        subprocess.run(shlex.split(self.one("ExecReload").replace("$MAINPID", str(self.pid))), check=True)


def group(word):
    if not word.startswith("@"):
        return {word}
    text = subprocess.run(["systemd-analyze", "syscall-filter", word], capture_output=True, text=True, check=True).stdout
    lines = [l.strip() for l in text.splitlines()[1:] if l.strip() and not l.strip().startswith("#")]
    return {c for line in lines for c in group(line)}


def runs(pid):
    """Whether a process is there and not only waits for its parent to look."""
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait(pid, seconds):
    end = time.monotonic() + seconds
    while runs(pid) and time.monotonic() < end:
        time.sleep(0.02)


words = [w for w in sys.argv[1:] if not w.startswith("-") and w != "--now"]
verb, units = words[0], [Unit(w) for w in words[1:] if not w.endswith((".timer", ".socket", ".target"))]
for unit in units:
    if verb in ("preset", "enable") and unit.path:
        link = f"/etc/systemd/system/{unit.one('WantedBy')}.wants/{unit.name}.service"
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.path.lexists(link) or os.symlink(unit.path, link)
    if verb in ("start", "enable") and (verb == "start" or "--now" in sys.argv):
        unit.start()
    elif verb == "stop" or verb == "disable" and "--now" in sys.argv:
        unit.stop()
    elif verb == "restart" or verb == "try-restart" and unit.pid:
        unit.stop()
        Unit(unit.name).start()
    elif verb == "reload":
        unit.reload()
    elif verb == "is-active":
        sys.exit(0 if unit.pid else 3)
    elif verb == "is-enabled":
        enabled = bool(glob.glob(f"/etc/systemd/system/*.wants/{unit.name}.service"))
        print("enabled" if enabled else "disabled")
        sys.exit(0 if enabled else 1)
    elif verb == "show":
        print(unit.pid or 0)
