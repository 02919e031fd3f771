#!/usr/bin/env python3
"""Kills devices at random moments of an update by a pack, over a slow line that now and then breaks off.

kill_packs.py XCACHE [KILLS]      Exit 0: each device came to the new version by the pack, with every file right, and fetched no
                            more of it anew than the file that it was at.
"""
import json, os, random, shutil, signal, socket, subprocess, sys, threading, time

import served

xcache, kills, seed, dice = served.arguments(30)

# Bytes of a file that has no relative, and how many there are: most of the pack.
LARGE, COUNT = 150_000, 20


class Line:
    """A way to the origin that carries so many bytes a second, and breaks off where it is told to."""

    def __init__(self, rate):
        self.rate, self.target, self.carried, self.cut_after = rate, None, 0, None
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        server = socket.create_connection(("127.0.0.1", self.target))
        threading.Thread(target=self.upwards, args=(client, server), daemon=True).start()
        try:
            while piece := server.recv(8192):
                if self.cut_after is not None and self.carried > self.cut_after:
                    self.cut_after = None
                    break
                client.sendall(piece)
                self.carried += len(piece)
                time.sleep(len(piece) / self.rate)
        except OSError:
            pass
        for end in (client, server):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def upwards(self, client, server):
        try:
            while piece := client.recv(8192):
                server.sendall(piece)
        except OSError:
            pass


line = Line(4_000_000)
origin = served.Origin(xcache, f"http://127.0.0.1:{line.port}", XCACHE_APP="shop")
work, environment = origin.work, origin.environment


def publish(version):
    """Large files that are new each time, text whose names a bundler renames, and what stays."""
    site = work + "/site"
    shutil.rmtree(site, ignore_errors=True)
    os.makedirs(site)
    for i in range(COUNT):
        open(f"{site}/picture-{i}.bin", "wb").write(random.Random(version * 1000 + i).randbytes(LARGE))
    for i in range(40):
        words = random.Random(i)
        text = " ".join(str(words.randrange(10_000_000)) for _ in range(2000))
        mark = f"{(i + 7) * (version + 3) * 7919 % (1 << 32):08x}"
        open(f"{site}/chunk{i}.{mark}.js", "w").write(f"import './chunk{i + 1}.{mark}.js';{text}")
    open(f"{site}/kept.js", "w").write("kept")
    done = subprocess.run(
        [xcache, "publish", "--create", site, "--bundle", "main", "--base-url", "https://m.example.com/"], env=environment,
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def pull(folder):
    return subprocess.Popen(
        [xcache, "pull", "--to", folder, "--force", "--json"], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)


def whole(folder):
    words, complaint = (process := pull(folder)).communicate()
    assert process.returncode == 0, complaint
    return json.loads(words)["update"]


def state(folder):
    held = {"index.json": open(f"{folder}/index.json", "rb").read()}
    for name in os.listdir(f"{folder}/files"):
        held[name] = open(f"{folder}/files/{name}", "rb").read()
    return held


verdict = 1
try:
    address = origin.start()
    line.target = int(address.rsplit(":", 1)[1])
    publish(1)
    environment["XCACHE_SERVER"] = f"http://127.0.0.1:{line.port}"
    assert whole(work + "/first")["kind"] == "whole"
    environment["XCACHE_SERVER"] = address
    publish(2)
    environment["XCACHE_SERVER"] = f"http://127.0.0.1:{line.port}"
    assert whole(work + "/second")["kind"] == "whole"
    right = state(work + "/second")
    shutil.copytree(work + "/first", work + "/measure")
    line.carried, started = 0, time.monotonic()
    report = whole(work + "/measure")
    span, size = time.monotonic() - started, line.carried
    assert report["kind"] == "pack", f"no pack was offered, or it was of no use: {report}"
    assert state(work + "/measure") == right
    shutil.rmtree(work + "/measure")

    killed = finished = resumed = torn = most = 0
    while killed < kills:
        folder = work + "/device"
        shutil.copytree(work + "/first", folder)
        line.carried, ends = 0, 0
        if dice.random() < 0.3:
            line.cut_after = dice.randrange(size)
            torn += 1
        for _ in range(dice.choice((1, 1, 2))):
            process = pull(folder)
            time.sleep(dice.uniform(0, span * 1.05))
            process.kill()
            process.communicate()
            if process.returncode == -signal.SIGKILL:
                killed += 1
                ends += 1
            else:
                finished += 1
        report = whole(folder)
        line.cut_after = None
        assert report["kind"] in ("pack", "nothing"), f"seed {seed}: {report}"
        if report["pack"]:
            assert report["pack"]["failure"] is None, f"seed {seed}: {report}"
            resumed += report["pack"]["resumed"] > 0
        assert state(folder) == right, f"seed {seed}: other files"
        left = [name for name in os.listdir(folder + "/staging")]
        assert not left, f"seed {seed}: left in staging: {left}"
        # Each end costs a poll, the file that was being made, and what was on its way.
        again = line.carried - size
        assert again < (ends + 2) * (LARGE + 400_000), f"seed {seed}: {again} bytes more than one pack"
        most = max(most, again)
        shutil.rmtree(folder)
    assert resumed > kills // 4, f"seed {seed}: only {resumed} devices went on in the middle of a pack"
    print(f"{killed} devices killed in updates of {size} bytes and {span:.1f} s, {finished} had ended before; "
          f"{resumed} went on in the middle, {torn} lines broke off, at most {most} bytes came twice (seed {seed})")
    verdict = 0
finally:
    origin.stop()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(verdict)
