"""What http-calm.sh does when both servers run.

  http_calm.py measure XCACHE_PID NGINX_PID FOLDER RUNS SECONDS BARS
  http_calm.py idle|readers|heads COUNT PORT TARGET
                  clients that stay until standard input ends; says "ready" when all of them are there
"""
import contextlib
import itertools
import os
import select
import socket
import statistics
import subprocess
import sys
import time

from http_servers import load, processes, wrk

STATES = [("idle", 5000, "5,000 idle connections"), ("readers", 200, "200 clients reading 1 MB at 1 KB/s"),
          ("heads", 500, "500 heads arriving a byte a second")]
BAR, IDLE_BAR = 1.2, 60


class Client:
    """One connection of a trying kind."""

    def __init__(self, kind, port, target):
        self.kind, self.port = kind, port
        self.request = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode()
        if kind == "heads":
            self.request += b"X-Slow: " + b"x" * 4000
        self.open()

    def open(self):
        self.sent = 0
        self.socket = socket.socket()
        self.socket.settimeout(10)
        if self.kind == "readers":
            # Else the kernel on this side would take much of the body at once.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", self.port))
        if self.kind == "heads":
            return
        self.socket.sendall(self.request + b"\r\n")
        if self.kind == "idle":
            # Idle is what an answered connection is.
            assert self.socket.recv(4096).startswith(b"HTTP/1.1 200")

    def step(self):
        """What it does each second; who was sent away comes again."""
        try:
            if self.kind == "heads":
                self.sent += self.socket.send(self.request[self.sent:self.sent + 1])
                gone = bool(select.select([self.socket], [], [], 0)[0])
            else:
                gone = not self.socket.recv(1024)
        except OSError:
            gone = True
        if gone:
            self.socket.close()
            self.open()


def hold(kind, count, port, target):
    clients = [Client(kind, port, target) for _ in range(count)]
    print("ready", flush=True)
    if kind == "idle":
        sys.stdin.read()
        return
    # A hundredth of them at a time, so that they aren't one burst each second.
    turn = time.monotonic()
    for part in itertools.cycle(range(100)):
        for client in clients[part::100]:
            client.step()
        turn += 0.01
        if select.select([sys.stdin], [], [], max(0, turn - time.monotonic()))[0]:
            return


class Held:
    """Such clients, in a process of their own."""

    def __init__(self, kind, count, port, target):
        command = [sys.executable, __file__, kind, str(count), str(port), target]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        if self.process.stdout.readline() != "ready\n":
            sys.exit("the clients could not connect")

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def p99(entry, order, seconds):
    """Per server the median of the seconds' p99, in µs: 8 connections that poll as fast as they are answered. The
    servers take turns by the second, so that whatever else the machine does meets both."""
    seen = {server: [] for server in order}
    for _ in range(seconds):
        for server in order:
            seen[server].append(wrk(entry, server, 1, connections=8)[3])
    return {server: statistics.median(values) for server, values in seen.items()}


def one_run(table, order, seconds):
    """p99 per state and server; "" is the state without other clients. The others are at both servers at once."""
    poll = next(entry for entry in table if entry["server"] == "file")
    download = next(entry for entry in table if entry["name"].startswith("1 MB"))
    seen = {"": p99(poll, order, seconds)}
    for kind, count, _ in STATES:
        asked = download if kind == "readers" else poll
        with contextlib.ExitStack() as held:
            for server in order:
                held.enter_context(Held(kind, count, asked["ports"][server], asked["target"]))
            seen[kind] = p99(poll, order, seconds)
    return seen


def resident(pid):
    """Bytes of a process and its children that are in memory."""
    total = 0
    for process in processes(pid):
        with open(f"/proc/{process}/statm") as file:
            total += int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total


def buffers():
    """Bytes of all TCP buffers of this machine."""
    with open("/proc/net/sockstat") as file:
        words = next(line for line in file if line.startswith("TCP:")).split()
    return int(words[words.index("mem") + 1]) * os.sysconf("SC_PAGE_SIZE")


def kernel_objects():
    """Bytes of the server's share of the kernel's objects for connections, which root may read.
    Both ends of a connection have a socket, an inode, a file and its entry; only the server's is in an epoll set."""
    total = 0.0
    with open("/proc/slabinfo") as file:
        for line in file.readlines()[2:]:
            kind, count, _, size = line.split()[:4]
            if kind in ("TCP", "sock_inode_cache"):
                total += int(count) * int(size) / 2
            elif kind == "filp":
                total += int(count) * (int(size) + 192) / 2
            elif kind == "eventpoll_epi":
                total += int(count) * int(size)
    return total


def idle_cost(entry, server, pid, count):
    """Megabytes that idle connections add: to the process, to TCP's buffers on one side, and to the kernel's objects."""
    counted = os.access("/proc/slabinfo", os.R_OK)
    look = lambda: (resident(pid), buffers() / 2, kernel_objects() if counted else 0)
    before = look()
    with Held("idle", count, entry["ports"][server], entry["target"]):
        time.sleep(1)
        # What earlier connections had left in TCP's buffers may have gone meanwhile.
        return [max(now - then, 0) / 1e6 for now, then in zip(look(), before)], counted


def measure(xcache, nginx, work, runs, seconds, strictness):
    table = load(work)
    missed = []
    # First, while nothing that earlier connections left can be used again.
    poll = next(entry for entry in table if entry["server"] == "file")
    for server, pid in (("xcache", xcache), ("nginx", nginx)):
        (own, tcp, kernel), counted = idle_cost(poll, server, pid, 10000)
        total = own + tcp + kernel
        print(f"10,000 idle connections, {server}: {total:.1f} MB = {own:.1f} MB of the process, {tcp:.1f} MB of buffers, "
              f"{kernel:.1f} MB of the kernel's objects{'' if counted else ' (only root may read these)'}, "
              f"bar {IDLE_BAR * strictness:.0f} MB", flush=True)
        if server == "xcache" and total > IDLE_BAR * strictness:
            missed.append("10,000 idle connections")
    print(f"{runs} alternating runs, p99 is the median of {seconds} seconds' p99; "
          f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    seen = [one_run(table, ("xcache", "nginx") if number % 2 == 0 else ("nginx", "xcache"), seconds)
            for number in range(runs)]
    show = lambda state, server: f"{statistics.median(run[state][server] for run in seen):.0f} µs"
    print(f"polls alone: p99 xcache {show('', 'xcache')}, nginx {show('', 'nginx')}")
    for kind, _, words in STATES:
        rises = {server: [run[kind][server] / run[""][server] for run in seen] for server in ("xcache", "nginx")}
        compared = [a / b for a, b in zip(rises["xcache"], rises["nginx"])]
        middle = {server: statistics.median(values) for server, values in rises.items()}
        ratio = statistics.median(compared)
        print(f"{words}: p99 xcache {show(kind, 'xcache')} ({middle['xcache']:.2f} of alone), nginx "
              f"{show(kind, 'nginx')} ({middle['nginx']:.2f}); ratio {ratio:.2f} "
              f"({min(compared):.2f}–{max(compared):.2f}), bar {BAR * strictness:.2f}", flush=True)
        if ratio > BAR * strictness:
            missed.append(words)
    if missed:
        print("FAILED, over the bar: " + "; ".join(missed))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        measure(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5]), int(sys.argv[6]), float(sys.argv[7]))
    else:
        hold(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
