"""xcache and nginx side by side: what http.sh, http-calm.sh and http-cost.sh share in Python.

  http_servers.py folder PATH            200 files to publish; a second call changes one of them
  http_servers.py prepare PORT FOLDER WORKERS
                                         reads each case's answer from xcache, writes it for nginx, and FOLDER/cases.json
  http_servers.py check PORT FOLDER      holds both servers' answers to each other, byte by byte
  http_servers.py poll PORT TARGET COUNT as many requests over one connection, one after another
  http_servers.py turns ROUNDS PID PORT PID PORT
                                         polls two servers in turns, the second with a rollout; prints the processor time of a
                                         request of each and, in the last line, the median of the rounds' ratios
"""
import gzip
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from urllib.parse import unquote, urlsplit

BASE = "https://m.example.com/shop/"
GZIP = {"Accept-Encoding": "gzip"}


def folder(path):
    """200 files: scripts, and two that don't compress, of 64 KB and of 1 MB."""
    random.seed(3)
    if os.path.isdir(path):
        with open(f"{path}/page/script-7.js", "a") as file:
            file.write("// second\n")
        return
    os.makedirs(f"{path}/page")
    for number in range(198):
        with open(f"{path}/page/script-{number}.js", "w") as file:
            file.write(f"export default {number}; // {random.randbytes(200).hex()}\n")
    for name, size in (("small.png", 64 << 10), ("large.png", 1 << 20)):
        with open(f"{path}/{name}", "wb") as file:
            file.write(random.randbytes(size))


def ask(port, target, fields={}):
    """One GET on a connection of its own: status, header fields by lower-case name, body."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    lines = [f"GET {target} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    parts = []
    while part := connection.recv(1 << 20):
        parts.append(part)
    connection.close()
    head, body = b"".join(parts).split(b"\r\n\r\n", 1)
    first, *rest = head.decode().split("\r\n")
    return int(first.split()[1]), {n.lower(): v.strip() for n, v in (line.split(":", 1) for line in rest)}, body


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# What each case asks, and the nginx that it is compared with. Each comparison has a port of its own, so that both
# servers are sent the same target and the same fields.
def cases(port):
    newest = json.loads(ask(port, "/configure.json?app=shop&version=0")[2])["data"]
    version = int(newest["version"])
    downloads = {size: urlsplit(newest["resourcemap"][f"{BASE}{name}"]["download"]).path
                 for name, size in (("small.png", 64 << 10), ("large.png", 1 << 20))}
    query = "/configure.json?app=shop&channel=online&version={}&patch=1"
    poll = query.format(version)
    close = {"Connection": "close"}
    return [
        case("up-to-date poll vs return 200", poll, "return", bar=0.95),
        case("up-to-date poll vs static file", poll, "file", bar=0.70),
        case("304 vs static 304", poll, "file", bar=0.75, conditional=True, status=304),
        case("whole manifest, gzip", "/configure.json?app=shop&channel=online", "manifest", GZIP, bar=0.95),
        case("patch, gzip", query.format(version - 1), "patch", GZIP),
        case("64 KB download", downloads[64 << 10], "download", bar=1.05, connections=16),
        case("1 MB download", downloads[1 << 20], "download", bar=1.05, connections=16),
        case("poll, new connection each, vs return", poll, "return", close),
        case("poll, new connection each, vs file", poll, "file", close),
    ]


def case(name, target, server, fields={}, bar=None, connections=64, conditional=False, status=200):
    return {"name": name, "target": target, "server": server, "fields": fields, "bar": bar, "status": status,
            "connections": connections, "conditional": conditional}


def prepare(port, work, workers):
    """Writes what nginx serves, its settings, and the cases with their ports."""
    table = cases(port)
    ports = {name: free_port() for name in ("return", "file", "manifest", "patch", "download")}
    bodies = {}
    for entry in table:
        status, fields, body = ask(port, entry["target"], {n: v for n, v in entry["fields"].items() if n != "Connection"})
        assert status == 200, (entry["name"], status)
        bodies[entry["server"]] = body
        if entry["conditional"]:
            entry["etag"] = fields["etag"]
        if entry["server"] != "return":
            write(f"{work}/www/{entry['server']}", entry, body)
        entry["ports"] = {"xcache": port, "nginx": ports[entry["server"]]}
    with open(f"{work}/cases.json", "w") as file:
        json.dump(table, file)
    with open(f"{work}/nginx.conf", "w") as file:
        file.write(settings(work, workers, ports, bodies["return"].decode()))


def write(root, entry, body):
    path = root + unquote(urlsplit(entry["target"]).path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    plain = body
    if entry["fields"] == GZIP:
        with open(path + ".gz", "wb") as file:
            file.write(body)
        plain = gzip.decompress(body)
    with open(path, "wb") as file:
        file.write(plain)


def settings(work, workers, ports, answer):
    """nginx as one would run it for such files: sendfile, its cache of open files, no access log."""
    cache = os.environ.get("OPEN_FILE_CACHE", "off")
    blocks = "".join(f"""
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    root {work}/www/{name};
    {"gzip_static on;" if name in ("manifest", "patch") else ""}
    {f"location / {{ return 200 '{answer}'; }}" if name == "return" else ""}
  }}""" for name, port in ports.items())
    return f"""daemon off;
{"user root;" if os.getuid() == 0 else ""}
pid {work}/nginx.pid;
error_log {work}/nginx.log warn;
worker_processes {workers};
worker_rlimit_nofile 20000;
events {{ worker_connections 19000; }}
http {{
  types {{ application/json json; image/png png; }}
  default_type application/json;
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 10000;
  open_file_cache {"max=1000 inactive=300s" if cache == "on" else "off"};
  open_file_cache_valid 300s;
  client_body_temp_path {work}/nginx-body;
  proxy_temp_path {work}/nginx-proxy;
  fastcgi_temp_path {work}/nginx-fastcgi;
  uwsgi_temp_path {work}/nginx-uwsgi;
  scgi_temp_path {work}/nginx-scgi;
{blocks}
}}
"""


def load(work):
    with open(f"{work}/cases.json") as file:
        return json.load(file)


def fields_for(entry, server):
    """The fields of a case's request to one of the servers; each is sent its own entity tag."""
    fields = dict(entry["fields"])
    if entry["conditional"]:
        fields["If-None-Match"] = entry["etag"] if server == "xcache" else entry["nginx etag"]
    return fields


def check(port, work):
    """Both servers answer each case with the same status, coding and bytes."""
    table = load(work)
    for entry in table:
        seen = []
        for server in ("xcache", "nginx"):
            if entry["conditional"] and server == "nginx":
                entry["nginx etag"] = ask(entry["ports"]["nginx"], entry["target"])[1]["etag"]
            fields = {n: v for n, v in fields_for(entry, server).items() if n != "Connection"}
            status, answer, body = ask(entry["ports"][server], entry["target"], fields)
            assert status == entry["status"], (entry["name"], server, status)
            coding = answer.get("content-encoding")
            assert coding == ("gzip" if entry["fields"] == GZIP else None), (entry["name"], server, coding)
            seen.append(body)
        assert seen[0] == seen[1], (entry["name"], len(seen[0]), len(seen[1]))
        assert len(seen[0]) > 0 or entry["status"] == 304, entry["name"]
        entry["bytes"] = len(seen[0])
    with open(f"{work}/cases.json", "w") as file:
        json.dump(table, file)


def processes(pid):
    """A process and its children."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [pid] + [int(child) for child in file.read().split()]


def cpu(pid):
    """Nanoseconds that all threads of a process and its children ran so far, from their schedstat: /proc/PID/stat
    says the same in steps of 10 ms."""
    total = 0
    for process in processes(pid):
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/schedstat") as file:
                total += int(file.read().split()[0])
    return total


def wrk(entry, server, seconds, threads=1, connections=None):
    """One run: requests answered, requests a second, and p50 and p99 in microseconds."""
    command = ["wrk", f"-t{threads}", f"-c{connections or entry['connections']}", f"-d{seconds}s", "--latency"]
    for name, value in fields_for(entry, server).items():
        command += ["-H", f"{name}: {value}"]
    url = f"{entry.get('scheme', 'http')}://127.0.0.1:{entry['ports'][server]}{entry['target']}"
    out = subprocess.run(command + [url], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in out or "Socket errors" in out:
        sys.exit(f"{entry['name']}, {server}:\n{out}")
    requests = int(re.search(r"(\d+) requests in", out).group(1))
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))
    return requests, rate, percentile(out, 50), percentile(out, 99)


def percentile(out, percent):
    found = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s)$", out, re.M)
    if not found:
        sys.exit(f"wrk measured no latency:\n{out}")
    value, unit = found.groups()
    return float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


def wait_for(port):
    for _ in range(500):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.02)
    sys.exit(f"nothing listens on port {port}")


def poll(port, target, count):
    connection = socket.create_connection(("127.0.0.1", port))
    request = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    for _ in range(count):
        connection.sendall(request)
        answer = b""
        while not re.search(rb'"update":false,"version":"\d+"}}$', answer):
            part = connection.recv(4096)
            assert part, answer
            answer += part
        assert answer.startswith(b"HTTP/1.1 200 "), answer


def processor_time(pid):
    """Nanoseconds that the threads of a process have run."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def turns(rounds, none, candidate):
    """Polls (pid, port) of two servers in turns, a second each, the first one changing from round to round."""
    query = "/configure.json?app=shop&channel=online&version=2&patch=1&pack=1"
    for port, has_rule in ((none[1], False), (candidate[1], True)):
        data = json.loads(ask(port, query)[2])["data"]
        assert ("rollout" in data) == has_rule and data["update"] is False, data
    costs = ([], [])
    for number in range(rounds + 1):
        for which in ((0, 1), (1, 0))[number % 2]:
            pid, port = (none, candidate)[which]
            before = processor_time(pid)
            out = subprocess.run(["wrk", "-t1", "-c16", "-d1s", f"http://127.0.0.1:{port}{query}"], check=True,
                                 capture_output=True, text=True).stdout
            after = processor_time(pid)
            costs[which].append((after - before) / int(re.search(r"(\d+) requests in", out)[1]))
    # The first round warms up.
    costs = [values[1:] for values in costs]
    for name, values in zip(("none", "candidate open"), costs):
        print(f"{name}: {median(values):.0f} ns of processor time a poll, {min(values):.0f} to {max(values):.0f}")
    ratios = [with_rule / without for without, with_rule in zip(*costs)]
    print(f"{rounds} rounds, ratios {min(ratios):.3f} to {max(ratios):.3f}")
    print(f"{median(ratios):.3f}")


def median(values):
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    verb, arguments = sys.argv[1], sys.argv[2:]
    if verb == "folder":
        folder(arguments[0])
    elif verb == "prepare":
        prepare(int(arguments[0]), arguments[1], arguments[2])
    elif verb == "turns":
        turns(int(arguments[0]), *((int(pid), int(port)) for pid, port in (arguments[1:3], arguments[3:5])))
    elif verb == "poll":
        poll(int(arguments[0]), arguments[1], int(arguments[2]))
    else:
        for entry in load(arguments[1]):
            wait_for(entry["ports"]["nginx"])
        check(int(arguments[0]), arguments[1])
