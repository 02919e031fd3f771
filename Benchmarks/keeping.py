"""What keeping.sh and kills.sh do in Python.

  keeping.py fill PORT RELEASES RESOURCES CHANGES    one channel with a history; XCACHE_TOKEN in the environment
  keeping.py rollbacks DATABASE                      the newest version, rollbacks in the trail, and among releases
  keeping.py p99 PORT COMMAND…                       polls while COMMAND runs: the median of the seconds' p99, in µs
"""
import base64
import hashlib
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys

from scale import Client

URL = "https://m.example.com/keep/"


def content(text):
    data = text.encode()
    sha256, md5 = hashlib.sha256(data).hexdigest(), hashlib.md5(data).hexdigest()
    return data, {"ctype": "application/javascript;charset=UTF-8", "md5": md5, "sha256": sha256, "size": len(data)}


def release(client, base, contents, remove):
    pack = b"".join(f"{c['sha256']} {c['md5']} {c['size']}\n".encode() + data for data, c in contents.values())
    client.ask("POST", "/api/v1/blobs", pack, {"Content-Type": "application/vnd.xcache.pack"})
    bundle = {"base": base, "bundle": "main", "remove": remove, "set": {URL + n: c for n, (_, c) in contents.items()}}
    body = json.dumps({"bundles": [bundle], "message": "", "now": True}).encode()
    return json.loads(client.ask("POST", "/api/v1/apps/keep/channels/online/releases", body))["version"]


def fill(port, releases, resources, changes):
    """Each release changes some files in place and renames as many, as bundlers do."""
    client = Client(port)
    version, renamed = "0", []
    try:
        version = json.loads(client.ask("GET", "/api/v1/apps/keep/channels/online"))["version"]
    except AssertionError:
        version = release(client, "0", {f"f{n}.js": content(f"export default {n};\n") for n in range(resources)}, [])
    begin = int(version)
    for number in range(begin, begin + releases - 1):
        half = changes // 2
        files = {f"f{(number * half + n) % resources}.js": content(f"// {number}\nexport default {n};\n") for n in range(half)}
        names = [f"chunk-{hashlib.md5(f'{number} {n}'.encode()).hexdigest()[:12]}.js" for n in range(half)]
        files |= {name: content(f"// {name}\n") for name in names}
        version = release(client, version, files, [URL + name for name in renamed])
        renamed = names
    print(version)


def p99(port, command):
    """Seconds of polls, one after another, until the command ends (at least 5 s without one)."""
    version = json.loads(Client(port).ask("GET", "/api/v1/apps/keep/channels/online"))["version"]
    url = f"http://127.0.0.1:{port}/configure.json?app=keep&version={version}&patch=1"
    running = subprocess.Popen(command, stdout=sys.stderr) if command else None
    seconds = []
    while (running and running.poll() is None) or (not running and len(seconds) < 8):
        out = subprocess.run(["wrk", "-t1", "-c8", "-d1s", "--latency", url], capture_output=True, text=True).stdout
        value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", out).groups()
        seconds.append(float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit])
    if running and running.returncode != 0:
        sys.exit(f"{command} ended with {running.returncode}")
    print(f"{statistics.median(seconds):.0f} {len(seconds)}")


def rollbacks(path):
    print(*sqlite3.connect(path).execute("""
        SELECT (SELECT max(version) FROM release), (SELECT count(*) FROM audit WHERE act = 'rollback'),
          (SELECT count(*) FROM release WHERE kind = 'rollback')""").fetchone())


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill(*map(int, sys.argv[2:6]))
    elif sys.argv[1] == "rollbacks":
        rollbacks(sys.argv[2])
    else:
        p99(int(sys.argv[2]), sys.argv[3:])
