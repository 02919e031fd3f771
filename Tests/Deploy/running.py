#!/usr/bin/env python3
"""An origin behind nginx and behind Caddy, as deploy/ configures them.   running.py XCACHE CADDY

Devices get the same bytes through each proxy as from the origin; what is inside stays inside, however its path is written;
a publish goes through. From outside, a publish goes through the proxies of nginx-origin-ci.conf and Caddyfile.ci, and is refused by
the others, in words that say what refused it. Each metric that an alert or the dashboard names is one that the server has."""
import contextlib, json, os, pathlib, re, socket, ssl, subprocess, sys, tempfile, threading, time, urllib.request

xcache, caddy = sys.argv[1:3]
deploy = pathlib.Path(__file__).resolve().parents[2] / "deploy"
started = []


def fail(words):
    sys.exit(f"running.py: {words}")


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(words, log, env=None):
    child = subprocess.Popen(words, stdout=open(log, "w"), stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
    started.append(child)
    return child


def wait(number, log):
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", number)):
            return
        time.sleep(0.1)
    fail(f"nothing listens: {open(log).read()}")


def ask(number, target, origin="127.0.0.1", tls=False, headers=()):
    """The status and the body of a GET of exactly this target; 127.0.0.2 as `origin` plays the world outside."""
    connection = socket.create_connection(("127.0.0.1", number), 30, source_address=(origin, 0))
    if tls:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = context.wrap_socket(connection, server_hostname="origin.example.com")
    lines = [f"GET {target} HTTP/1.1", "Host: origin.example.com", "Connection: close", *headers]
    connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    answer = b""
    while piece := connection.recv(65536):
        answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head.lower():
        whole, rest = b"", body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            if not int(size, 16):
                break
            whole, rest = whole + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
        body = whole
    return int(head.split()[1]), body


def outside(number):
    """A port whose connections come to that of a proxy from outside."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source, sink):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)

    def run():
        while True:
            here, _ = listener.accept()
            there = socket.create_connection(("127.0.0.1", number), 30, source_address=("127.0.0.2", 0))
            for pair in ((here, there), (there, here)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=run, daemon=True).start()
    return listener.getsockname()[1]


def front(name, work, direct, tls, plain):
    """A file of nginx's in deploy/, for these ports."""
    text = (deploy / name).read_text()
    for old, new in [("listen 443 ssl;", f"listen 127.0.0.1:{tls} ssl; listen 127.0.0.1:{plain};"),
                     ("listen [::]:443 ssl;", ""), ("127.0.0.1:8080", f"127.0.0.1:{direct}"),
                     ("/etc/ssl/origin.example.com.pem", str(work / "pem")),
                     ("/etc/ssl/origin.example.com.key", str(work / "key"))]:
        if old not in text:
            fail(f"{name} has no {old}")
        text = text.replace(old, new)
    return text


def publish(site, work, number, token):
    """A publish of the folder to a port of this machine."""
    return subprocess.run(
        [xcache, "publish", "--create", site, "--app", "shop", "--bundle", "main", "--base-url", "https://m.example.com/shop"],
        env={**os.environ, "XCACHE_SERVER": f"http://127.0.0.1:{number}", "XCACHE_TOKEN": token, "HOME": str(work)},
        capture_output=True, text=True)


def main(work):
    plain, tls, mirror, caddied, direct = port(), port(), port(), port(), port()
    ci, ci_tls, ci_caddied = port(), port(), port()
    www, data = work / "www", work / "data"
    www.mkdir()
    serve = [xcache, "serve", "--data", str(data), "--listen", f"127.0.0.1:{direct}", "--trust-proxy", "127.0.0.0/8",
             "--public-url", f"http://127.0.0.1:{mirror}"]
    server = start(serve, work / "serve")
    wait(direct, work / "serve")

    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=origin.example.com",
                    "-keyout", work / "key", "-out", work / "pem"], check=True, capture_output=True)
    copy = (deploy / "nginx-mirror.conf").read_text().replace("listen 80;", f"listen 127.0.0.1:{mirror};")
    copy = copy.replace("listen [::]:80;", "").replace("root /srv/xcache-mirror;", f"root {www};")
    folders = "".join(f"{n}_temp_path {work}/{n};" for n in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root; " if os.getuid() == 0 else ""
    (work / "nginx.conf").write_text(
        f"{user}daemon off; pid {work}/pid; worker_processes 1; events {{}} http {{ access_log off; {folders}\n"
        + front("nginx-origin.conf", work, direct, tls, plain)
        + front("nginx-origin-ci.conf", work, direct, ci_tls, ci).replace("xcache_origin", "xcache_origin_ci")
        .replace("xcache:20m", "xcache_ci:20m") + f"\n{copy}\n}}\n")
    start(["nginx", "-p", work, "-e", work / "nginx.log", "-c", work / "nginx.conf"], work / "nginx.out")
    wait(plain, work / "nginx.log")

    for name, number in (("Caddyfile", caddied), ("Caddyfile.ci", ci_caddied)):
        # Its administration would listen on a fixed port.
        (work / name).write_text("{\n\tadmin off\n}\n" + (deploy / name).read_text())
        start([caddy, "run", "--config", work / name, "--adapter", "caddyfile"], work / (name + ".log"),
              {"HOME": str(work), "XDG_DATA_HOME": str(work), "XCACHE_SITE": f"http://:{number}",
               "XCACHE_ORIGIN": f"127.0.0.1:{direct}"})
        wait(number, work / (name + ".log"))

    for _ in range(300):
        if (data / "admin.token").exists():
            break
        time.sleep(0.1)
    token = (data / "admin.token").read_text().strip()
    site = work / "site"
    site.mkdir()
    (site / "index.html").write_text("<!DOCTYPE html><meta charset=utf-8><p>one")
    (site / "a b%3A+c.txt").write_text("a name that must go through as it is written")
    # Larger than what proxies take where nobody told them.
    (site / "large.bin").write_bytes(os.urandom(3 << 20))
    for number, text in [(plain, "two"), (caddied, "three")]:
        (site / "index.html").write_text(f"<!DOCTYPE html><meta charset=utf-8><p>{text}")
        (site / "large.bin").write_bytes(os.urandom(3 << 20))
        done = publish(site, work, number, token)
        if done.returncode:
            fail(f"a publish through port {number}: {done.stderr}")
    print("   a publish of 3 MB files goes through nginx and through Caddy")

    for name, closed, opened in (("nginx", plain, ci), ("Caddy", caddied, ci_caddied)):
        (site / "index.html").write_text(f"<!DOCTYPE html><meta charset=utf-8><p>from outside, {name}")
        refused = publish(site, work, outside(closed), token)
        if refused.returncode != 1 or f"{name} in front of http://127.0.0.1" not in refused.stderr or "status 403" not in refused.stderr:
            fail(f"a publish from outside through {name}: {refused.returncode} {refused.stderr}")
        done = publish(site, work, outside(opened), token)
        if done.returncode:
            fail(f"a publish from outside through {name} as CI needs it: {done.stderr}")
        wrong = publish(site, work, outside(opened), "xcache_0123456789ab_" + "A" * 43)
        if wrong.returncode != 1 or "token" not in wrong.stderr:
            fail(f"a publish from outside with a wrong token: {wrong.returncode} {wrong.stderr}")
    print("   from outside: refused by name where /api is closed, done where it is open to tokens")

    fronts = {"nginx": dict(number=tls, tls=True), "Caddy": dict(number=caddied)}
    opened = {"nginx for CI": dict(number=ci_tls, tls=True), "Caddy for CI": dict(number=ci_caddied)}
    paths = ["/configure.json?app=shop", "/configure.json?app=shop&version=1", "/xcache/shop/configure.json", "/healthz"]
    document = json.loads(ask(direct, paths[0])[1])
    paths += [e["download"].split(str(mirror), 1)[1] for e in document["data"]["resourcemap"].values()]
    if not any("%25" in p for p in paths):
        fail("no download's name is escaped twice")
    for name, way in {**fronts, **opened}.items():
        for path in paths:
            if ask(origin="127.0.0.2", target=path, **way) != ask(direct, path):
                fail(f"{name} answers {path} in another way than the origin")
    print(f"   {len(paths)} answers to devices are the origin's, byte by byte")

    bearer = [f"Authorization: Bearer {token}"]
    inside = {"/api/v1/apps/shop/channels/online": b'"version"', "/metrics": b"# TYPE", "/console/": b'<html lang=',
              "/auth/": b'"sso"'}
    written = lambda p: [p, "/" + p, "/." + p, "/x/.." + p, "/%2e" + p, "/x/%2e%2e" + p, "/xcache/1/../.." + p, p.replace("/", "//"),
                         "/%" + "%02x" % ord(p[1]) + p[2:], p + "?x=/xcache/1/", "/%2f" + p[1:], "/;/.." + p, "/\\.." + p,
                         # The origin takes what is between two slashes for a segment.
                         *(re.sub("^(/[a-z]+)", r"\1" + d, p) for d in ("//..", "//%2e%2e", "/x//../..", "//.//../..")),
                         "http://origin.example.com" + p, "http://127.0.0.1" + p]
    asked = 0
    for name, way in {**fronts, **opened}.items():
        for path, mark in inside.items():
            if path.startswith("/api") and name in opened:
                continue
            status, body = ask(target=path, headers=bearer, **way)
            if status != 200 or mark not in body:
                fail(f"{name} refuses {path} from inside: {status}")
            for target in written(path):
                for more in ([], ["X-Forwarded-For: 10.0.0.1"], ["X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1"]):
                    status, body = ask(target=target, origin="127.0.0.2", headers=bearer + more, **way)
                    asked += 1
                    if status == 200 or mark in body or status not in (301, 308, 400, 403, 404):
                        fail(f"{name} lets {target} out: {status} {body[:80]}")
    # A job has no token yet when it trades its ID token: the origin answers it, where jobs come from outside.
    for name, way in {**fronts, **opened}.items():
        status = ask(target="/auth/trade", origin="127.0.0.2", **way)[0]
        if (status == 403) == (name in opened) or name in opened and status != ask(direct, "/auth/trade")[0]:
            fail(f"{name} answers /auth/trade from outside with {status}")
    print(f"   {asked} requests from outside for what is inside got nothing of it")

    # With a webhook, a static copy that is watched, an edge that is told, and a certificate of its own, as the alerts want it.
    subprocess.run([xcache, "webhook", "add", "https://hooks.example.com/x", "--server", f"http://127.0.0.1:{direct}",
                    "--token-file", f"{data}/admin.token"], check=True, capture_output=True)
    subprocess.run([xcache, "mirror", "--data", data, "--to", www], check=True, capture_output=True)
    server.terminate()
    server.wait()
    start(serve + ["--watch-mirror", f"http://127.0.0.1:{mirror}", "--edge-ttl", "10", "--purge", "varnish:http://127.0.0.1:1", "--tls-cert", str(work / "pem"), "--tls-key", str(work / "key")],
          work / "serve")
    wait(direct, work / "serve")
    for _ in range(300):
        metrics = ask(direct, "/metrics", tls=True)[1].decode()
        if "xcache_mirror_age_seconds" in metrics:
            break
        time.sleep(0.1)
    known = set(re.findall(r"^# TYPE (\S+)", metrics, re.M))
    known |= {f"{m}_bucket" for m in re.findall(r"^# TYPE (\S+) histogram", metrics, re.M)}
    rules = re.sub(r"#.*|^\s*(summary|description|runbook):.*", "", (deploy / "monitoring/alerts.yml").read_text(), flags=re.M)
    board = json.loads((deploy / "monitoring/grafana-dashboard.json").read_text())
    asked = [t["expr"] for p in board["panels"] for t in p.get("targets", [])]
    asked += [v["definition"] for v in board["templating"]["list"] if "definition" in v]
    asked += [a["expr"] for a in board["annotations"]["list"]]
    names = set(re.findall(r"\b(?:xcache|http|process)_[a-z0-9_]+", rules + "\n".join(asked)))
    if names - known:
        fail(f"no such metric: {', '.join(sorted(names - known))}")
    ids = [p["id"] for p in board["panels"]]
    if len(ids) != len(set(ids)):
        fail("two panels of the dashboard have the same id")
    print(f"   all {len(names)} metrics of alerts and dashboard are there, of {len(known)}")
    lint = subprocess.run([os.environ["PROMTOOL"], "check", "metrics"], input=metrics, capture_output=True, text=True)
    print("   promtool check metrics:", (lint.stderr.strip().replace("\n", "; ") or "nothing to say"))
    (work / "queries").write_text(json.dumps(asked))


with tempfile.TemporaryDirectory() as folder:
    try:
        main(pathlib.Path(folder))
    finally:
        for child in reversed(started):
            child.terminate()
            child.wait()
