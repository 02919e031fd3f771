#!/usr/bin/env python3
"""Kills mirror runs at random moments while a device reads the mirror through nginx and follows every URL.

kill.py XCACHE [KILLS]      Needs nginx. Exit 0: no manifest ever named an absent or wrong file.
"""
import hashlib, http.client, json, os, shutil, signal, socket, subprocess, sys, threading, time
import urllib.parse

import served

xcache, kills, seed, dice = served.arguments(50)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


port = free_port()
origin = served.Origin(xcache, f"http://127.0.0.1:{port}", XCACHE_APP="shop")
work, environment = origin.work, origin.environment
www = work + "/www"
os.mkdir(www)
with open(work + "/nginx.conf", "w") as f:
    temps = " ".join(f"{m}_temp_path {work}/{m};" for m in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    f.write(f"""daemon off; master_process off; pid {work}/pid; error_log {work}/error.log;
events {{ worker_connections 256; }}
http {{ access_log off; {temps} default_type application/octet-stream;
  server {{ listen 127.0.0.1:{port}; root {www}; location ~ /\\. {{ return 404; }} }} }}""")
nginx = subprocess.Popen(["/usr/sbin/nginx", "-p", work, "-e", work + "/error.log", "-c", work + "/nginx.conf"])
errors, rounds, followed = [], 0, 0
stopping = threading.Event()


def follow():
    """A device that asks for everything, again and again."""
    global rounds, followed
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def get(path):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()

    newest = 0
    while not stopping.is_set():
        try:
            status, body = get("/xcache/shop/version.json")
            if status == 404 and newest == 0:
                time.sleep(0.005)
                continue
            version = int(json.loads(body)["data"]["version"])
            if version < newest:
                errors.append(f"version.json went back from {newest} to {version}")
            newest = version
            status, body = get("/xcache/shop/configure.json")
            data = json.loads(body)["data"]
            if int(data["version"]) < version:
                errors.append(f"version.json says {version}, configure.json after it {data['version']}")
            if version > 1:
                status, patch = get(f"/xcache/shop/patch/{version - 1}-{version}.json")
                if status != 200 or json.loads(patch)["data"]["version"] != str(version):
                    errors.append(f"no patch to {version}")
            for url, entry in data["resourcemap"].items():
                path = urllib.parse.urlsplit(entry["download"]).path
                status, body = get(path)
                followed += 1
                if status != 200:
                    errors.append(f"version {data['version']} names {path}: {status}")
                elif hashlib.sha256(body).hexdigest() != entry["sha256"]:
                    errors.append(f"version {data['version']} names {path}, which has other bytes")
            rounds += 1
        except (http.client.HTTPException, OSError, ValueError) as error:
            if not stopping.is_set():
                errors.append(f"the mirror answered what can't be read: {error!r}")
            connection.close()


def run(*words, **more):
    return subprocess.run([xcache, *words], env=environment, capture_output=True, text=True, **more)


def publish(version):
    """Most files stay, some change, some have new names."""
    site = work + "/site"
    os.makedirs(site, exist_ok=True)
    for name in os.listdir(site):
        if name.startswith("new"):
            os.unlink(f"{site}/{name}")
    for i in range(60):
        if version == 1 or i % 6 == version % 6:
            with open(f"{site}/{i}.js", "wb") as f:
                f.write(dice.randbytes(dice.randrange(1, 60_000)))
    for i in range(10):
        with open(f"{site}/new-{version}-{i}.css", "wb") as f:
            f.write(dice.randbytes(5000))
    done = run("publish", "--create", site, "--bundle", "main", "--base-url", "https://m.example.com/", "--now")
    assert done.returncode == 0, done.stderr


verdict = 1
try:
    origin.start()
    publish(1)
    started = time.monotonic()
    done = run("mirror", "--data", work + "/data", "--to", www, "--prune", "--grace", "1")
    assert done.returncode == 0, done.stderr
    span = time.monotonic() - started
    reader = threading.Thread(target=follow)
    reader.start()
    killed = whole = 0
    version = 1
    while killed < kills:
        if (killed + whole) % 2 == 0:
            version += 1
            publish(version)
        process = subprocess.Popen(
            [xcache, "mirror", "--data", work + "/data", "--to", www], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        time.sleep(dice.uniform(0, span * 1.2))
        process.kill()
        _, words = process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed += 1
        else:
            assert process.returncode == 0, words.decode()
            whole += 1
    done = run("mirror", "--data", work + "/data", "--to", www)
    assert done.returncode == 0, done.stderr
    target, deadline = rounds + 2, time.monotonic() + 30
    while rounds < target and time.monotonic() < deadline:
        time.sleep(0.01)
    stopping.set()
    reader.join()
    checked = run("mirror", "verify", f"http://127.0.0.1:{port}")
    assert checked.returncode == 0, checked.stdout
    assert not errors, "\n".join(errors[:20])
    assert rounds > 1, "nothing was followed"
    print(f"{killed} runs killed, {whole} came through, {version} versions; {rounds} rounds, {followed} URLs followed, "
          f"none absent or wrong (SEED={seed})")
    verdict = 0
except AssertionError as error:
    print(f"FAILED (SEED={seed}): {error}")
finally:
    stopping.set()
    nginx.terminate()
    nginx.wait()
    origin.stop()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(verdict)
