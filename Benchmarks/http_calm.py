"""What http-calm.sh does when both servers run.

  http_calm.py measure XCACHE_PID NGINX_PID ALONE HELD RUNS SECONDS BARS
                  ALONE and HELD are the folders of two pairs of servers, and the processes those of HELD
  http_calm.py idle|readers|heads COUNT PORT TARGET
                  clients that stay until standard input ends; says "ready" when all of them are there
"""
import contextlib
import gc
import itertools
import os
import select
import socket
import statistics
import subprocess
import sys
import time

from http_servers import load, processes

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


def one_run(alone, held, kind, count, order, seconds):
    """Per server the median of the seconds' p99 in µs, of polls alone and of polls beside such clients. Polls alone go
    to a second pair of servers that nobody else is connected to, and all four take turns by the second, so that
    whatever else the machine does meets each of them."""
    poll = {"alone": poll_of(alone), "held": poll_of(held)}
    asked = download_of(held) if kind == "readers" else poll["held"]
    seen = {(server, place): [] for server in order for place in poll}
    with contextlib.ExitStack() as clients:
        for server in order:
            clients.enter_context(Held(kind, count, asked["ports"][server], asked["target"]))
        pollers = {key: clients.enter_context(contextlib.closing(Poller(poll[key[1]], key[0]))) for key in seen}
        for number in range(seconds):
            for key in list(seen)[::1 if number % 2 == 0 else -1]:
                seen[key].append(pollers[key].p99())
    return {key: statistics.median(values) for key, values in seen.items()}


class Poller:
    """Polls at a rate, 2,000 a second over 8 connections in turn. As fast as they are answered, the faster server would
    be sent more, and what its p99 tells would be another part of what the machine does."""

    RATE, CONNECTIONS = 2000, 8

    def __init__(self, entry, server):
        port = entry["ports"][server]
        self.request = f"GET {entry['target']} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
        self.sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(self.CONNECTIONS)]
        for connection in self.sockets:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def p99(self):
        """One second's, in µs."""
        took = []
        due = time.perf_counter()
        for connection in itertools.islice(itertools.cycle(self.sockets), self.RATE):
            if (early := due - time.perf_counter()) > 0:
                time.sleep(early)
            begin = time.perf_counter()
            connection.sendall(self.request)
            # So small an answer comes in one piece.
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
            took.append((time.perf_counter() - begin) * 1e6)
            due = max(due + 1 / self.RATE, begin)
        return statistics.quantiles(took, n=100)[98]

    def close(self):
        for connection in self.sockets:
            connection.close()


def poll_of(table):
    return next(entry for entry in table if entry["server"] == "file")


def download_of(table):
    return next(entry for entry in table if entry["name"].startswith("1 MB"))


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


def measure(xcache, nginx, alone, held, runs, seconds, strictness):
    alone, held = load(alone), load(held)
    gc.disable()
    missed = []
    # First, while nothing that earlier connections left can be used again.
    for server, pid in (("xcache", xcache), ("nginx", nginx)):
        (own, tcp, kernel), counted = idle_cost(poll_of(held), server, pid, 10000)
        total = own + tcp + kernel
        print(f"10,000 idle connections, {server}: {total:.1f} MB = {own:.1f} MB of the process, {tcp:.1f} MB of buffers, "
              f"{kernel:.1f} MB of the kernel's objects{'' if counted else ' (only root may read these)'}, "
              f"bar {IDLE_BAR * strictness:.0f} MB", flush=True)
        if server == "xcache" and total > IDLE_BAR * strictness:
            missed.append("10,000 idle connections")
    print(f"{runs} alternating runs, p99 is the median of {seconds} seconds' p99; "
          f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    for kind, count, words in STATES:
        seen = [one_run(alone, held, kind, count, ("xcache", "nginx") if number % 2 == 0 else ("nginx", "xcache"), seconds)
                for number in range(runs)]
        if report(words, seen, BAR * strictness):
            missed.append(words)
    if missed:
        print("FAILED, over the bar: " + "; ".join(missed))
    sys.exit(1 if missed else 0)


def report(words, seen, bar):
    """Prints a state; whether it is over the bar."""
    print(words)
    rises = {}
    for server in ("xcache", "nginx"):
        rises[server] = [run[server, "held"] / run[server, "alone"] for run in seen]
        middle = {place: statistics.median(run[server, place] for run in seen) for place in ("alone", "held")}
        print(f"  {server:7} p99 alone {middle['alone']:.0f} µs, beside them {middle['held']:.0f} µs: "
              f"{spread(rises[server])} of alone")
    compared = [a / b for a, b in zip(rises["xcache"], rises["nginx"])]
    print(f"  rise, xcache/nginx: {spread(compared)}, bar {bar:.2f}", flush=True)
    return statistics.median(compared) > bar


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        xcache, nginx, alone, held, runs, seconds, strictness = sys.argv[2:]
        measure(int(xcache), int(nginx), alone, held, int(runs), int(seconds), float(strictness))
    else:
        hold(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
