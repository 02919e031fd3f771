#!/usr/bin/env python3
"""Flips single bits in a data folder while its server is under load, and looks who finds it.

damage.py XCACHE [ROUNDS]      SEED repeats a run. Exit 0: what was damaged was found, nothing of it was answered after
that, and everything else came back byte for byte.

A third of the rounds each for files under blobs/, files under derived/ and bytes of xcache.db.
"""
import base64, gzip, hashlib, http.client, json, os, random, shutil, signal, sqlite3, subprocess, sys, tempfile
import threading, time, urllib.parse

xcache, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 50
work = tempfile.mkdtemp(prefix="xcache-damage-")
seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
dice = random.Random(seed)
environment = dict(os.environ, XDG_CACHE_HOME=work + "/cache", XCACHE_APP="shop")
for name in ("XCACHE_CHANNEL", "XCACHE_SERVER", "XCACHE_TOKEN", "XCACHE_TOKEN_FILE", "XCACHE_DATA"):
    environment.pop(name, None)
# Where everything is kept, and where the last good backup is.
data, backup = work + "/data0", work + "/backup"
tables = {  # what devices are answered from, and what proves it
    "app": "id, name", "channel": "id, app_id, name, public_url_id, least_next, removed_at",
    "public_url": "id, text", "url": "id, channel_id, text, match_key, versions",
    "content_type": "id, text, headers, fallback, lazy", "blob": "id, hex(sha256), hex(md5), size",
    "resource": "id, url_id, version, blob_id, content_type_id, public_url_id, brought_in",
    "release": "channel_id, version, kind, hex(digest), resources, bytes",
    "bundle": "id, channel_id, name, version, resources, bytes",
    "entry": "url_id, bundle_id, since, until, resource_id",
    "audit": "id, at, author, act, app, channel, parameters, result, hex(hash)",
    "policy_script": "hex(sha256), hex(bytes)",
}


def run(*arguments, ok=(0,)):
    done = subprocess.run([xcache, *arguments], env=environment, capture_output=True, text=True, timeout=120)
    if done.returncode not in ok:
        sys.exit(f"seed {seed}: xcache {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Server:
    def __init__(self):
        self.log = open(work + "/server.log", "a+")
        mark = self.log.seek(0, 2)
        self.process = subprocess.Popen(
            [xcache, "serve", "--data", data, "--listen", "127.0.0.1:0", "--public-url", "http://cdn.test",
             "--scrub", "3s", "--delta-wait", "10"], stderr=self.log, env=environment)
        while True:
            self.log.seek(mark)
            if "listens on " in (text := self.log.read()):
                self.port = int(text.split("listens on ")[1].split(",")[0].rsplit(":", 1)[1])
                break
            if self.process.poll() is not None:
                sys.exit(f"seed {seed}: the server ended: {text}")
            time.sleep(0.02)
        environment["XCACHE_SERVER"] = f"http://127.0.0.1:{self.port}"
        if os.path.exists(data + "/admin.token"):
            environment["XCACHE_TOKEN_FILE"] = data + "/admin.token"
            self.token = open(data + "/admin.token").read().strip()

    def get(self, path, accept="identity"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path, headers={"Accept-Encoding": accept})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.getheader("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return answer.status, answer.getheader("Content-Encoding") or "identity", body

    def found(self):
        text = self.get("/metrics")[2].decode()
        return {kind: int(text.split(f'files_total{{kind="{kind}"}} ')[1].split("\n")[0]) for kind in ("blob", "derived")}

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(30)


def write_site(version):
    site = work + "/site"
    os.makedirs(site, exist_ok=True)
    names = [f"part{n}.js" for n in range(12)] + [f"image{n}.png" for n in range(6)] + ["index.html", "style.css"]
    for name in names:
        own = random.Random(f"{name} {version if dice.random() < 0.5 else 0}")
        if name.endswith(".png"):
            content = own.randbytes(own.randrange(1, 60_000))
        else:
            base = random.Random(name)
            lines = [f"// {base.randrange(1 << 40):x} of {name}" for _ in range(base.randrange(100, 900))]
            lines[len(lines) // 2] = f"// version {own.randrange(1 << 40):x}"
            content = "\n".join(lines).encode()
        with open(f"{site}/{name}", "wb") as f:
            f.write(content)


def flip(path, at=None):
    size = os.path.getsize(path)
    at = dice.randrange(size) if at is None else at
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << dice.randrange(8)]))
        f.flush()
        os.fsync(f.fileno())
    return at


def files(folder, endings=None):
    found = []
    for root, _, names in os.walk(f"{data}/{folder}"):
        found += [f"{root}/{n}" for n in names
                  if endings is None or n.rsplit(".", 1)[-1] in endings]
    return sorted(found)


def contents(path):
    """The rows that matter, or why they can't be read."""
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        db.text_factory = bytes
        rows = {t: sorted(map(repr, db.execute(f"SELECT {columns} FROM {t}"))) for t, columns in tables.items()}
        db.close()
        return rows
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # SQLite quotes the damaged schema in its message, and bytes of that need not be UTF-8.
        return str(error)


server = Server()
for version in range(4):
    write_site(version)
    run("publish", "--create", work + "/site", "--base-url", "https://m.example.com/", "--bundle", "main", "--no-check", "all")
right = {}  # path and coding -> body
for version in range(1, 5):
    answer = json.loads(server.get(f"/xcache/shop/configure.json?version={version - 1}")[2])
    for url, entry in answer["data"].get("resourcemap", {}).items():
        path = urllib.parse.urlsplit(entry["download"]).path
        right[path, "identity"] = right[path, "gzip"] = server.get(path)[2]
        if (coded := server.get(path, "zstd"))[1] == "zstd":
            right[path, "zstd"] = coded[2]
        server.get(path, "gzip")
newest = server.get("/xcache/shop/configure.json")[2]
deadline = time.time() + 30
while not files("derived", ("dcz",)) and time.time() < deadline:
    time.sleep(0.1)
server.get("/xcache/shop/bundle/4.zip")
server.get("/xcache/shop/bundle/3-4.zip")
run("backup", "--data", data, "--to", backup)
paths = sorted({path for path, _ in right})
errors, answers, stopping, calm = [], 0, threading.Event(), threading.Event()
# What was flipped and not found yet.
damaged, wrong_before = None, 0


def load():
    global answers, wrong_before
    own = random.Random(threading.get_ident())
    while not stopping.is_set():
        if calm.is_set():
            time.sleep(0.01)
            continue
        path, coding = own.choice(list(right))
        phase = damaged
        try:
            status, coded, body = server.get(path, coding)
        except Exception:  # a body that isn't gzip, or a server that was ended
            status, coded, body = 0, coding, b""
        answers += 1
        if status == 200 and body != right.get((path, coded), body):
            # Between the flip and its discovery wrong bytes are what a scrub is for.
            if phase is None and damaged is None:
                errors.append(f"{path} ({coded}) was answered with other bytes")
            wrong_before += 1


threads = [threading.Thread(target=load, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()


def wait_for(what, condition):
    end = time.time() + 40
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.02)
    errors.append(f"{what}: not found")
    return False


def everything_is_right(what):
    for path, coding in sorted(right):
        status, coded, body = server.get(path, coding)
        if status != 200 or body != right.get((path, coded), b""):
            errors.append(f"{what}: {path} ({coding}) is {status}, or other bytes")
    if json.loads(server.get("/xcache/shop/configure.json")[2]) != json.loads(newest):
        errors.append(f"{what}: configure.json is another one")


def blob_round():
    """A bit of a file under blobs/: the scrub sets it aside; the right bytes once more, and it is answered."""
    global damaged
    path = dice.choice(files("blobs"))
    sha256, what = "".join(path.split("/")[-2:]), f"blob {path[len(data) + 1:]}"
    before, damaged = server.found()["blob"], path
    flip(path)
    if not wait_for(what, lambda: server.found()["blob"] > before):
        return
    damaged = None
    with open(f"{backup}/blobs/{sha256[:2]}/{sha256[2:]}", "rb") as f:
        content = f.read()
    bad = [p for p in paths if hashlib.sha256(right[p, "identity"]).hexdigest() == sha256]
    for p in bad:
        for coding in ("identity", "gzip", "zstd"):
            if (status := server.get(p, coding)[0]) != 500:
                errors.append(f"{what}: {p} ({coding}) is {status} after it was found")
    # As a publish of it does.
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("PUT", f"/api/v1/blobs/{sha256}", content, {
        "Authorization": f"Bearer {server.token}",
        "Content-MD5": base64.b64encode(hashlib.md5(content).digest()).decode()})
    answer = connection.getresponse()
    if answer.status >= 300:
        errors.append(f"{what}: {answer.status} {answer.read()} to the right bytes")
    for p in bad:
        if server.get(p)[2] != right[p, "identity"]:
            errors.append(f"{what}: {p} isn't answered again")


def derived_round():
    """A bit of a coded file, a delta or a zip: it is dropped, and what is made again is the same."""
    global damaged
    choices = files("derived", ("gzip", "zstd", "dcz", "zip"))
    ending = dice.choice(sorted({name.rsplit(".", 1)[-1] for name in choices}))
    path = dice.choice([name for name in choices if name.endswith(ending)])
    before, damaged = server.found()["derived"], path
    flip(path)
    wait_for(path[len(data) + 1:], lambda: server.found()["derived"] > before)
    damaged = None
    for path, coding in right:
        server.get(path, coding)
    for zip in ("4.zip", "3-4.zip"):
        server.get("/xcache/shop/bundle/" + zip)


def database_round():
    """A bit of a page of the database: what it changes is found by doctor or backup, and restored from the backup."""
    global damaged, server, data
    database = data + "/xcache.db"
    with sqlite3.connect(database) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    before, damaged = contents(database), database
    at = flip(database)
    flipped = open(database, "rb").read()[at]
    doctor = run("doctor", "--data", data, "--deep", ok=(0, 1))
    saved = run("backup", "--data", data, "--to", backup, ok=(0, 1))
    after = contents(database)
    is_found = doctor.returncode == 1 or saved.returncode == 1
    changed = after if isinstance(after, str) else [t for t in tables if after[t] != before[t]]
    tally["found" if is_found else "idle"] += 1
    if changed and not is_found:
        errors.append(f"byte {at} of xcache.db: {changed} changed, and nobody found it")
    if server.process.poll() is not None:
        errors.append(f"byte {at} of xcache.db: the server ended with {server.process.returncode}")
    if not is_found:
        flip_back(database, at, flipped)
        damaged = None
        return
    calm.set()
    server.end(signal.SIGKILL)
    restored = f"{work}/data{tally['found']}"
    run("restore", "--from-backup", backup, "--data", restored)
    shutil.copy(data + "/admin.token", restored + "/admin.token")
    shutil.rmtree(data)
    data = restored
    shutil.rmtree(backup)
    server = Server()
    damaged = None
    calm.clear()
    everything_is_right(f"byte {at} of xcache.db, restored")
    run("backup", "--data", data, "--to", backup)


def flip_back(path, at, flipped):
    """The idle byte as it was, unless the server wrote it meanwhile: damage must not add up."""
    with open(path, "r+b") as f:
        f.seek(at)
        if f.read(1)[0] == flipped:
            f.seek(at)
            f.write(bytes([original[at]]))


tally = {"found": 0, "idle": 0}
for number in range(rounds):
    kind = (blob_round, derived_round, database_round)[number % 3]
    if kind is database_round:
        with sqlite3.connect(data + "/xcache.db") as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        original = open(data + "/xcache.db", "rb").read()
    kind()
    everything_is_right(f"after round {number}")
    if errors:
        break
    if sys.stdout.isatty():
        print(f"\r{number + 1} of {rounds}", end="", flush=True)
stopping.set()
for thread in threads:
    thread.join()
server.end()
if errors:
    print(f"seed {seed}, kept in {work}:", *errors[:10], sep="\n  ")
    sys.exit(1)
shutil.rmtree(work)
print(f"seed {seed}: {rounds} rounds, {answers} answers, {wrong_before} of them wrong before the damage was found; "
      f"{tally['found']} of {tally['found'] + tally['idle']} flips of the database found, the others changed nothing")
