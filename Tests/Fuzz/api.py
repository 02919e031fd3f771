"""Fuzzes the API of a real server: api.py BINARY SECONDS [--seed N] [--least REQUESTS] [--send FILE].

It records what every command sends (api/recording.py), replaces each value in it by hostile ones (api/mutation.py) and
sends that as fast as it goes (api/replay.py). The verdict: the process goes on, no status from 500 on but a 503 that
says when to come again, every answer within 30 s, and resident memory at most twice what it was once caches were full.
A request that broke something is printed, and kept in .build/fuzz/found; --send FILE sends one to a new server.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "api"))
from mutation import framing, stream, templates
from recording import DEVICE, FIELDS, Commands, Proxy, Recorded, drive
from replay import Finding, Replay, ask

FOUND = ".build/fuzz/found"
# Requests between two rounds of the recorded ones as they were.
REFRESH = 5000
# The part of the time after which caches count as full.
WARM_UP = 0.25


class Server:
    def __init__(self, binary, folder, proxy):
        # One for each server: what an earlier one said must not be read as this one's words.
        self.log_path = f"{folder}/server-{time.monotonic_ns()}.log"
        self.log = open(self.log_path, "ab")
        # Swift's crash reporter takes seconds for each end, and tells what the request tells.
        environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no"}
        self.process = subprocess.Popen(
            [binary, "serve", "--data", f"{folder}/data", "--listen", "127.0.0.1:0", "--delta-wait", "1",
             "--delta-threads", "1", "--public-url", f"http://{proxy.address}", "--max-requests", "1000000000"],
            stderr=self.log, env=environment)
        self.port = 0
        for _ in range(1000):
            words = open(self.log_path).read()
            if listens := re.findall(r" listens on http://127\.0\.0\.1:(\d+),", words):
                self.port = int(listens[0])
                return
            if not self.alive():
                raise SystemExit(f"no server: {words}")
            time.sleep(0.02)
        raise SystemExit(f"no server after 20 s: {words}")

    def alive(self):
        return self.process.poll() is None

    def memory(self):
        """Resident bytes."""
        try:
            return int(open(f"/proc/{self.process.pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            return 0

    def stop(self):
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None


def culprit(suspects, binary, folder, proxy):
    """One of the suspects that ends a new server over the same data; None: none alone."""
    server = Server(binary, folder, proxy)
    for number, request in enumerate(suspects):
        ask(server.port, request, 5)
        time.sleep(0.02)
        if server.alive():
            continue
        # Some work goes on behind an answer, so that it may have been one before.
        for request in reversed(suspects[max(0, number - 20) : number + 1]):
            server = Server(binary, folder, proxy)
            ask(server.port, request, 5)
            time.sleep(0.5)
            if not server.alive():
                return request
        break
    server.stop()
    return None


def tell(finding, seed, binary, folder, proxy):
    sys.stdout.flush()
    print(f"\nFOUND: {finding}", file=sys.stderr)
    request = finding.requests[0] if finding.requests else b""
    if "process ended" in str(finding):
        one = culprit(finding.requests, binary, folder, proxy)
        print("this request alone ends it:" if one else "none of the requests in flight ends it alone; all of them:",
              file=sys.stderr)
        request = one or b"".join(finding.requests)
    os.makedirs(FOUND, exist_ok=True)
    path = f"{FOUND}/api-{seed}-{int(time.time())}.http"
    with open(path, "wb") as out:
        out.write(request)
    shown = re.sub(rb"(?i)(authorization: bearer )\S+", rb"\1TOKEN", request[:3000])
    print(shown.decode("utf-8", "backslashreplace"), file=sys.stderr)
    print(f"\n{len(request)} bytes, kept as {path}; send it again with: Tests/Fuzz/api.py {binary} 0 --send {path}",
          file=sys.stderr)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary", type=os.path.abspath)
    arguments.add_argument("seconds", type=float)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--least", type=int, default=0)
    arguments.add_argument("--send")
    asked = arguments.parse_args()
    # Not on a disk: each act waits for it otherwise, and what is tested here is no disk.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="xcache-fuzz.", dir=place)
    servers = []
    try:
        return run(asked, folder, servers)
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def run(asked, folder, servers):
    proxy = Proxy()
    server = Server(asked.binary, folder, proxy)
    servers.append(server)
    proxy.port = server.port
    token = open(f"{folder}/data/admin.token").read().strip()
    commands = Commands(asked.binary, folder, proxy, token)
    drive(commands)
    if missing := commands.undriven():
        raise SystemExit(f"not driven, add them to drive() in Tests/Fuzz/api/recording.py: {', '.join(missing)}")
    if asked.send:
        request = re.sub(rb"(?i)(authorization: bearer )\S+", rb"\1" + token.encode(), open(asked.send, "rb").read())
        print("answered:", ask(server.port, request), "alive:", server.alive())
        return 0 if server.alive() else 1
    recorded = list({request.key(): request for request in proxy.recorded}.values())
    recorded += [Recorded(method, target, [], *(body or [b""])) for method, target, *body in DEVICE]
    known = templates(recorded, FIELDS)
    changes = sum(len(template.systematic) for template in known)
    print(f"seed {asked.seed}: {len(known)} requests recorded, {changes} single changes of them", flush=True)

    full = [0, 0]
    samples = []

    def watch(seconds, answered, memory):
        samples.append((seconds, answered, memory))
        if seconds < asked.seconds * WARM_UP:
            full[0] = max(full[0], memory)
        else:
            full[1] = max(full[1], memory)
        if int(seconds) % 30 == 0 and int(seconds) != int(samples[-2][0] if len(samples) > 1 else -1):
            print(f"{int(seconds):5} s  {answered:8} answers  {memory >> 20} MB", flush=True)

    replay = Replay(
        server.port, stream(known, asked.seed, REFRESH), framing(known, asked.seed), server.alive, server.memory)
    try:
        replay.run(asked.seconds, watch)
    except Finding as finding:
        print(f"after {replay.answered} answers, {replay.statuses}", file=sys.stderr)
        tell(finding, asked.seed, asked.binary, folder, proxy)
        print(open(server.log_path).read()[-1500:], file=sys.stderr)
        return 1
    counts = ", ".join(f"{status}: {count}" for status, count in sorted(replay.statuses.items()))
    rate = replay.answered / max(asked.seconds, 1)
    print(f"{replay.answered} answers in {asked.seconds:.0f} s ({rate:.0f}/s): {counts}")
    print(f"resident: at most {full[0] >> 20} MB while caches filled, {full[1] >> 20} MB afterwards")
    if full[1] > 2 * full[0]:
        print("FOUND: memory grew to more than twice", file=sys.stderr)
        return 1
    if replay.answered < asked.least:
        print(f"too slow: {asked.least} answers were wanted", file=sys.stderr)
        return 1
    if (status := server.stop()) != 0:
        print(f"FOUND: after SIGTERM the server ended with {status}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
