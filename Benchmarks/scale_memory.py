"""What scale-memory.sh does in Python; XCACHE_TOKEN in the environment.

  scale_memory.py work PORT APP ROUNDS            reads the manifest, makes releases of one file, reads patches and a diff
  scale_memory.py whole PORT APP [QUERY]          one poll
  scale_memory.py channels PORT COUNT FOLDER BASE makes the apps c1, c2, … of the files that c0 has, and polls each
  scale_memory.py warm PORT COUNT                 comes back when every channel's manifest is in memory and answered
  scale_memory.py releases ROUNDS PORT PID PORT PID   releases of c0 at two origins in turn; ALONE_TOKEN: of the first
"""
import hashlib
import json
import os
import statistics
import sys
import time

import scale


def poll(client, app, query="", coding="gzip"):
    return client.ask("GET", f"/configure.json?app={app}{query}", fields={"Accept-Encoding": coding})


def work(client, app, rounds):
    poll(client, app, coding="identity")
    poll(client, app)
    for number in range(rounds):
        scale.commit(client, app, number)
    for version in range(1, rounds + 1):
        poll(client, app, f"&version={version}&patch=1")
    poll(client, app, coding="identity")
    client.ask("GET", f"/api/v1/apps/{app}/channels/online/diff?from=1&to={rounds}")
    client.ask("GET", f"/api/v1/apps/{app}/channels/online/manifest")


def channels(client, count, folder, base):
    entries = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                data = file.read()
            url = f"{base}/{os.path.relpath(os.path.join(path, name), folder)}"
            entries[url] = {
                "ctype": "application/javascript;charset=UTF-8", "md5": hashlib.md5(data).hexdigest(),
                "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    bundle = {"base": "0", "bundle": "main", "remove": [], "set": entries}
    body = json.dumps({"bundles": [bundle], "message": "", "now": True}).encode()
    for number in range(1, count):
        client.ask("POST", f"/api/v1/apps/c{number}/channels/online/releases", body)
    for number in range(count):
        poll(client, f"c{number}", "&version=1")


def metric(client, name):
    for line in client.ask("GET", "/metrics").decode().splitlines():
        if line.startswith(f"{name} "):
            return int(line.split()[1])


def warm(client, count):
    while metric(client, "xcache_manifests_in_memory") < count:
        time.sleep(0.1)
    for number in range(count):
        poll(client, f"c{number}")


def cpu(pid):
    """Seconds of the process, threads that ended included."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def releases(rounds, origins):
    times = [[] for _ in origins]
    used = [0.0] * len(origins)
    for number in range(rounds):
        for place, (client, pid) in enumerate(origins):
            before = cpu(pid)
            times[place].append(scale.commit(client, "c0", number)[0])
            # What follows a release goes on behind it.
            time.sleep(0.3)
            used[place] += cpu(pid) - before
    milliseconds = [statistics.median(values) for values in times]
    for place, what in enumerate(["few channels", "many channels"]):
        print(f"{what}: {milliseconds[place]:.1f} ms in the median of {rounds}, {used[place] / rounds * 1e3:.1f} ms of CPU")
    print(f"ratios {used[1] / used[0]:.2f} {milliseconds[1] / milliseconds[0]:.2f}")


if __name__ == "__main__":
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "work":
        work(scale.Client(int(arguments[0])), arguments[1], int(arguments[2]))
    elif what == "whole":
        poll(scale.Client(int(arguments[0])), arguments[1], "".join(f"&{query}" for query in arguments[2:]))
    elif what == "channels":
        channels(scale.Client(int(arguments[0])), int(arguments[1]), *arguments[2:])
    elif what == "warm":
        warm(scale.Client(int(arguments[0])), int(arguments[1]))
    else:
        many = scale.Client(int(arguments[3]))
        os.environ["XCACHE_TOKEN"] = os.environ["ALONE_TOKEN"]
        releases(int(arguments[0]), [(scale.Client(int(arguments[1])), arguments[2]), (many, arguments[4])])
