"""What patches.sh does in Python: makes the channel, and times a publisher's request beside pollers.

  patches.py make PORT RESOURCES VERSIONS
  patches.py measure PORT LUA CLIENTS ROUNDS SECONDS BAR      XCACHE_TOKEN in the environment
"""
import base64
import hashlib
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import time

CHANNEL = "/api/v1/apps/shop/channels/online"
# Between two of the publisher's requests.
PAUSE = 0.01


def ask(connection, method, path, body=None, fields={}):
    connection.request(method, path, body, {"Authorization": f"Bearer {os.environ['XCACHE_TOKEN']}", **fields})
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status < 300, (method, path, answer.status, content[:300])
    return content


def make(port, resources, versions):
    """One release of all resources, and then releases that each change one of a hundred: the older a base, the larger
    the patch from it. Each release has one file under many URLs, so that no time goes into files."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    changed = max(1, resources // 100)
    for version in range(versions):
        data = f"export default {version};\n".encode()
        sha256, md5 = hashlib.sha256(data).hexdigest(), hashlib.md5(data)
        ask(connection, "PUT", f"/api/v1/blobs/{sha256}", data,
            {"Content-MD5": base64.b64encode(md5.digest()).decode()})
        content = {"ctype": "application/javascript;charset=UTF-8", "md5": md5.hexdigest(), "sha256": sha256,
                   "size": len(data)}
        numbers = range(resources) if version == 0 else range((version - 1) * changed, version * changed)
        names = {f"https://m.example.com/shop/d{n % resources // 500}/f{n % resources}.js": content for n in numbers}
        bundle = {"base": str(version), "bundle": "main", "remove": [], "set": names}
        answer = ask(connection, "POST", f"{CHANNEL}/releases",
                     json.dumps({"bundles": [bundle], "message": "", "now": True}))
        assert json.loads(answer)["version"] == str(version + 1), answer[:300]
    print(f"{resources} resources, {versions} versions that change {changed} each")


def watch(port, seconds):
    """Milliseconds that the publisher's requests took, one after another."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        ask(connection, "GET", f"{CHANNEL}/log?limit=20")
        times.append((time.perf_counter() - begin) * 1e3)
        time.sleep(PAUSE)
    return times


def p99(times):
    return sorted(times)[min(len(times) - 1, len(times) * 99 // 100)]


def metric(port, name):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/metrics")
    found = re.search(rf"^{name} (\d+)", connection.getresponse().read().decode(), re.M)
    return int(found.group(1)) if found else None


def measure(port, lua, clients, rounds, seconds, bar):
    watch(port, 1)
    ratios = []
    for number in range(rounds):
        # What the round before left behind is over.
        while max(watch(port, 1)) > 500:
            pass
        alone = watch(port, seconds)
        made = metric(port, "xcache_patches_made_total")
        load = subprocess.Popen(
            # Clients are other machines: what they compute isn't taken from the server's cores while it needs them.
            ["nice", "-n", "19", "wrk", "-t1", f"-c{clients}", f"-d{seconds + 1}s", "--timeout", "30s", "-s", lua, f"http://127.0.0.1:{port}"],
            stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        beside = watch(port, seconds)
        output = load.communicate()[0]
        assert load.returncode == 0 and "Non-2xx" not in output, output
        polls = int(re.search(r"(\d+) requests in", output).group(1))
        if made is not None:
            made = metric(port, "xcache_patches_made_total") - made
        ratios.append(p99(beside) / p99(alone))
        print(f"  round {number + 1}: p99 alone {p99(alone):.2f} ms of {len(alone)}, beside {clients} clients "
              f"{p99(beside):.2f} ms of {len(beside)}, {ratios[-1]:.2f} times; medians {statistics.median(alone):.2f} and "
              f"{statistics.median(beside):.2f} ms; {polls} polls, {made} patches made", flush=True)
    ratio = statistics.median(ratios)
    print(f"GET …/log, p99 beside {clients} clients that cycle older versions, in its value without them: {ratio:.2f}, "
          f"the median of {rounds} rounds ({min(ratios):.2f} to {max(ratios):.2f}, bar {bar:g})")
    return ratio <= bar


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(*map(int, sys.argv[2:]))
    else:
        port, lua, clients, rounds, seconds, bar = sys.argv[2:]
        sys.exit(0 if measure(int(port), lua, int(clients), int(rounds), int(seconds), float(bar)) else 1)
