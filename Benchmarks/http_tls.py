"""What https costs xcache and nginx: http-tls.sh in Python.

  http_tls.py prepare PORT FOLDER WORKERS      nginx's settings and files for the answers of the xcache at PORT
  http_tls.py measure XCACHE_PID NGINX_PID FOLDER ROUNDS SECONDS BARS
"""
import json
import os
import re
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import time
from urllib.parse import unquote, urlsplit

from http_servers import BASE, cpu, free_port, wait_for, wrk

POLL = "/configure.json?app=shop&channel=online&version={}&patch=1"
CLOSE = {"Connection": "close"}


def context(version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if version:
        context.minimum_version = context.maximum_version = version
    return context


def ask(port, target, context=context(), session=None):
    """One GET on a connection of its own: the body, the session to go on with, and whether it was one that went on."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
        connection = context.wrap_socket(plain, server_hostname="localhost", session=session)
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        parts = []
        while part := connection.recv(1 << 20):
            parts.append(part)
        head, body = b"".join(parts).split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 200 "), head
        return body, connection.session, connection.session_reused


def prepare(port, work, workers):
    newest = json.loads(ask(port, POLL.format(0))[0])["data"]
    poll = POLL.format(newest["version"])
    targets = {name: urlsplit(newest["resourcemap"][f"{BASE}{name}"]["download"]).path
               for name in ("small.png", "large.png")}
    for target in targets.values():
        path = f"{work}/www{unquote(target)}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(ask(port, target)[0])
    nginx = free_port()
    with open(f"{work}/nginx/nginx.conf", "w") as file:
        file.write(settings(work, workers, nginx, ask(port, poll)[0].decode()))
    with open(f"{work}/tls.json", "w") as file:
        json.dump({"ports": {"xcache": port, "nginx": nginx}, "poll": poll, "targets": targets}, file)


def settings(work, workers, port, answer):
    """nginx with the protocols and ciphers that xcache has, tickets among them."""
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
  keepalive_requests 1000000;
  client_body_temp_path {work}/nginx/body;
  proxy_temp_path {work}/nginx/proxy;
  fastcgi_temp_path {work}/nginx/fastcgi;
  uwsgi_temp_path {work}/nginx/uwsgi;
  scgi_temp_path {work}/nginx/scgi;
  ssl_certificate {work}/tls.pem;
  ssl_certificate_key {work}/tls.key;
  ssl_protocols TLSv1.2 TLSv1.3;
  ssl_ciphers ECDHE+AESGCM:ECDHE+CHACHA20;
  ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256;
  ssl_prefer_server_ciphers on;
  ssl_ecdh_curve X25519:prime256v1:secp384r1;
  ssl_session_cache off;
  ssl_session_timeout 12h;
  server {{
    listen 127.0.0.1:{port} ssl backlog=4096;
    root {work}/www;
    location = /configure.json {{ return 200 '{answer}'; }}
  }}
}}
"""


def handshakes(port, target, seconds, version, resumed):
    """Connections of one request each, one after another; how many. Python is slow, and only the server is measured."""
    own = context(version)
    session = ask(port, target, own)[1]
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        body, next_session, was_resumed = ask(port, target, own, session if resumed else None)
        assert was_resumed == resumed, (version, resumed)
        session = next_session
        count += 1
    return count


def cases(table):
    def by_wrk(target, connections, fields={}):
        def run(server, seconds):
            entry = {"name": target, "ports": table["ports"], "target": target, "fields": fields, "conditional": False,
                     "connections": connections, "scheme": "https"}
            return wrk(entry, server, seconds)[0]
        return run

    def by_hand(version, resumed):
        return lambda server, seconds: handshakes(table["ports"][server], table["poll"], seconds, version, resumed)

    return [
        ("poll, 64 connections", by_wrk(table["poll"], 64), 1.1),
        ("64 KB download, 16 connections", by_wrk(table["targets"]["small.png"], 16), 1.1),
        ("1 MB download, 16 connections", by_wrk(table["targets"]["large.png"], 16), 1.1),
        ("poll with a handshake of TLS 1.3", by_wrk(table["poll"], 16, CLOSE), 1.1),
        ("poll with a handshake of TLS 1.2", by_hand(ssl.TLSVersion.TLSv1_2, False), 1.1),
        ("poll with a ticket of TLS 1.3", by_hand(ssl.TLSVersion.TLSv1_3, True), 1.1),
        ("poll with a ticket of TLS 1.2", by_hand(ssl.TLSVersion.TLSv1_2, True), 1.1),
    ]


def measure(run, server, pid, seconds):
    before = cpu(pid)
    requests = run(server, seconds)
    # A thread's last slice is counted when it sleeps.
    time.sleep(0.05)
    return (cpu(pid) - before) / 1e3 / requests


def calls(table, pids, seconds=3):
    """System calls of a poll over 64 connections that stand, and which."""
    run = cases(table)[0][1]
    for server, pid in pids.items():
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            every = [pid] + [int(child) for child in file.read().split()]
        tracer = subprocess.Popen(["strace", "-f", "-c", "-o", f"/tmp/strace-{pid}"] + [f"-p{one}" for one in every],
                                  stderr=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        time.sleep(1)
        requests = run(server, seconds)
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
        with open(f"/tmp/strace-{pid}") as file:
            lines = [line.split() for line in file if re.match(r" *\d", line)]
        os.remove(f"/tmp/strace-{pid}")
        total = sum(int(line[3]) for line in lines if line[-1] != "total")
        most = ", ".join(f"{line[-1]} {int(line[3]) / requests:.2f}" for line in lines[:5] if line[-1] != "total")
        print(f"system calls of a poll, {server}: {total / requests:.2f} ({most})", flush=True)


def spread(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}}–{max(values):{form}})"


def main(xcache, nginx, work, count, seconds, bars):
    pids = {"xcache": int(xcache), "nginx": int(nginx)}
    with open(f"{work}/tls.json") as file:
        table = json.load(file)
    wait_for(table["ports"]["nginx"])
    assert ask(table["ports"]["nginx"], table["poll"])[0] == ask(table["ports"]["xcache"], table["poll"])[0]
    print(f"{count} alternating rounds of {seconds} s; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    missed = []
    for name, run, bar in cases(table):
        figures = {"xcache": [], "nginx": []}
        for number in range(int(count)):
            for server in ("xcache", "nginx") if number % 2 == 0 else ("nginx", "xcache"):
                figures[server].append(measure(run, server, pids[server], int(seconds)))
        ratios = [a / b for a, b in zip(figures["xcache"], figures["nginx"])]
        print(f"{name}: CPU xcache {spread(figures['xcache'], '.2f')} µs, nginx {spread(figures['nginx'], '.2f')} µs, "
              f"ratio {spread(ratios, '.3f')}, bar {bar * float(bars):.2f}", flush=True)
        if statistics.median(ratios) > bar * float(bars):
            missed.append(name)
    calls(table, pids)
    if missed:
        sys.exit("FAILED, over the bar: " + ", ".join(missed))


if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        prepare(int(sys.argv[2]), sys.argv[3], sys.argv[4])
    else:
        main(*sys.argv[2:])
