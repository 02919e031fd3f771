#!/usr/bin/env python3
"""The drills of docs/trust.md, as they are printed there, against the program:   drills.py XCACHE [--keep]

A publisher with two bundles has the ceremony. Its devices are folders of `xcache pull --root`, all with the root of the ceremony: nobody
builds the app anew. Before each drill a thief does what the text says that thieves can, and after it

  - the device that was there all the time follows to the new content with one poll, and so does one that is new;
  - what the thief signs, or has kept, is refused by the origin, and by devices if the thief gives the answers.

The origin's name and the CDN are small servers here, which can lead elsewhere. Prints how many seconds each drill took. Needs
python3-cryptography and openssl.
"""
import base64
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Conformance/trust"))
import trust  # noqa: E402

PASSPHRASE = "practice"
SITE = {"main": "https://m.example.com/shop/", "help": "https://m.example.com/help/"}
EVIL = "stolen by a thief"
YEAR_2035 = 2_051_222_400_000


def blocks(heading, level="###"):
    """The commands of a drill, block by block."""
    text = (ROOT / "docs/trust.md").read_text()
    section = re.split(r"\n#{2,%d} " % len(level), text.split(f"\n{level} {heading}\n", 1)[1], maxsplit=1)[0]
    found = re.findall(r"(?:^    .*\n)+", section, re.M)
    assert found, f"docs/trust.md: {heading} has no commands"
    return [re.sub(r"^    ", "", block, flags=re.M) for block in found]


class FileKey:
    """A key of a file, for a thief who has it."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        self.private = serialization.load_pem_private_key(data, PASSPHRASE.encode() if b"ENCRYPTED" in data else None)
        self.spki = self.private.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.id = trust.id_of(self.spki)

    def sign(self, message):
        return self.private.sign(message, ec.ECDSA(hashes.SHA256()))

    def envelope(self, kind, document):
        """An envelope of a document, signed by this key alone."""
        payload = trust.canonical(document)
        return {"payload": base64.b64encode(payload).decode(), "payloadType": trust.TYPES[kind],
                "signatures": [{"keyid": self.id, "sig": base64.b64encode(self.sign(trust.message(trust.TYPES[kind], payload))).decode()}]}


def payload(envelope):
    return json.loads(base64.b64decode(envelope["payload"]))


# --- The network

class Name:
    """A name in the network: it leads to a server, to a folder and what that lacks from a server, or nowhere. `attack` may change answers."""

    def __init__(self):
        self.target, self.folder, self.attack, self.reports = None, None, None, []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, self))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def get(self, path, body=None):
        """The status and body of a request; None: nobody is there."""
        if body:
            self.reports.append(body.decode())
        file = self.folder and self.folder / urllib.parse.unquote(path.split("?")[0]).lstrip("/")
        if file and not file.is_file():
            # Names of downloads have percent signs in them.
            file = self.folder / path.split("?")[0].lstrip("/")
        if file and file.is_file():
            return 200, file.read_bytes()
        if not self.target:
            return (404, b"") if self.folder else None
        try:
            with urllib.request.urlopen(urllib.request.Request(self.target + path, data=body), timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as failure:
            return failure.code, failure.read()
        except OSError:
            return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, name, *arguments):
        self.name = name
        super().__init__(*arguments)

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
        answer = self.name.get(self.path, body)
        if answer and self.name.attack:
            answer = self.name.attack(self.path, *answer)
        if not answer:
            self.close_connection = True
            return
        self.send_response(answer[0])
        self.send_header("Content-Length", str(len(answer[1])))
        self.end_headers()
        self.wfile.write(answer[1])

    do_POST = do_GET

    def log_message(self, *_):
        pass


# --- Whom the drills are about

class Device:
    """A device whose app was built with the root of the ceremony."""

    def __init__(self, drills, name):
        self.drills, self.folder = drills, drills.folder / "devices" / name

    def poll(self, wanted=0, *more):
        """One poll: what the program says about it."""
        done = self.drills.run(
            "xcache", "pull", "--to", self.folder, "--server", self.drills.name.url, "--app", "shop", "--root", self.drills.folder / "built-in.json",
            "--fallback", self.drills.cdn.url, "--force", "--json", "--tree", "https://m.example.com/", *more, wanted=wanted, token=None)
        return json.loads(done.stdout)

    def held(self):
        return (self.folder / "index.json").read_bytes() if (self.folder / "index.json").exists() else b""

    def texts(self):
        return {bundle: (self.folder / "tree" / url.split("/")[-2] / "index.html").read_text() for bundle, url in SITE.items()}

    def trust(self):
        return json.loads((self.folder / "trust.json").read_text())["state"]

    def follows(self, when):
        """One poll leads to what the publisher wants shown."""
        said = self.poll()
        texts = self.texts()
        for bundle, text in self.drills.wanted.items():
            assert text in texts[bundle], f"{when}: {self.folder.name} shows {texts[bundle]!r} of {bundle} after one poll, not {text!r}: {said}"

    def refuses(self, attack, *checks):
        """A thief who gives the answers gets nothing taken: the check that failed is one of these."""
        before, told = self.held(), self.drills.name.reports
        told.clear()
        self.drills.name.attack = attack
        try:
            said = self.poll(wanted=None)
        finally:
            self.drills.name.attack = None
        assert self.held() == before, f"{self.folder.name} took what a thief signed: {said}"
        assert any(check in json.dumps(said) + "".join(told) for check in checks), \
            f"{self.folder.name} refused it, but not by {checks}: {said}, {told}"


class Drills:
    def __init__(self, program, folder):
        self.folder, self.processes, self.wanted, self.count, self.seconds = folder, [], {}, 0, 0
        (folder / "bin").mkdir()
        (folder / "bin/xcache").symlink_to(program)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XCACHE_")}
        self.environment = {**kept, "PATH": f"{folder}/bin:{kept['PATH']}", "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "NO_COLOR": "1",
                            "XCACHE_SIGN_PASSPHRASE": PASSPHRASE}
        self.replaced = []
        self.name, self.cdn = Name(), Name()

    # Commands

    def run(self, *words, wanted=0, token="", **more):
        environment = {**self.environment, **more}
        if token != "":
            environment.pop("XCACHE_TOKEN", None)
            if token:
                environment["XCACHE_TOKEN"] = token
        done = subprocess.run([str(word) for word in words], cwd=self.folder / "project", env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300)
        if wanted is not None and done.returncode != wanted:
            raise AssertionError(f"{' '.join(str(word) for word in words)}: exit code {done.returncode}, not {wanted}\n{done.stdout}{done.stderr}")
        return done

    def refused(self, name, *words, **more):
        """A command of a thief, which the origin refuses."""
        done = self.run(*words, "--json", wanted=None, **more)
        assert done.returncode and name in done.stdout, f"{' '.join(str(word) for word in words)} wasn't refused as {name}: {done.stdout}{done.stderr}"

    def block(self, text):
        """Commands of docs/trust.md: what they say."""
        for old, new in self.replaced:
            text = text.replace(old, new)
        begun = time.monotonic()
        # At a terminal, push asks.
        text = text.replace("xcache trust push ", "xcache trust push -y ")
        done = self.run("bash", "-euc", text)
        self.seconds += time.monotonic() - begun
        return done.stdout + done.stderr

    def serve(self, data):
        """An origin on this folder, to which the name leads from now on."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        with open(self.folder / f"{data}.log", "ab") as log:
            process = subprocess.Popen(["xcache", "serve", "--data", self.folder / data, "--listen", url[7:], "--public-url", self.cdn.url],
                                       executable=self.folder / "bin/xcache", env=self.environment, stdout=log, stderr=log)
        self.processes.append(process)
        for _ in range(300):
            try:
                urllib.request.urlopen(url + "/readyz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise AssertionError(f"no origin on {data}: {(self.folder / f'{data}.log').read_text()}")
        self.data, self.url = self.folder / data, url
        self.environment |= {"XCACHE_SERVER": url, "XCACHE_TOKEN": (self.data / "admin.token").read_text().strip()}
        self.name.target = self.cdn.target = url

    def stop(self):
        """The machine of the origin is off."""
        process = self.processes.pop()
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        self.name.target = self.cdn.target = None

    def path(self, name):
        return self.folder / "project" / name

    # The publisher

    def write(self, bundle, text):
        top = self.path("dist" if bundle == "main" else bundle)
        top.mkdir(exist_ok=True)
        (top / "index.html").write_text(f"<!doctype html><meta charset=utf-8><p>{text}\n")

    def publish(self, key=None, *more):
        """A release of both bundles."""
        self.count += 1
        for bundle in SITE:
            self.wanted[bundle] = f"{bundle} {self.count}"
            self.write(bundle, self.wanted[bundle])
        self.run("xcache", "publish", *more, *(["--sign-key", key] if key else []))

    def id_of(self, name):
        return FileKey(self.path(name)).id[:16]

    def roots(self):
        """The newest root."""
        return max((payload(json.loads(path.read_text())) for path in self.path(".").glob("root*.json") if "draft" not in path.name),
                   key=lambda root: int(root["number"]))

    def answer(self):
        """What a device gets that holds nothing."""
        return json.loads(self.name.get("/configure.json?app=shop&channel=online")[1])["data"]

    def both_follow(self, when):
        self.device.follows(when)
        self.fresh = Device(self, when.replace(" ", "-"))
        self.fresh.follows(when)

    # The ceremony

    def ceremony(self):
        for top in ("project", "devices"):
            (self.folder / top).mkdir()
        bundles = {name: {"dirs": ["dist" if name == "main" else name], "baseURL": url} for name, url in SITE.items()}
        self.path("xcache.json").write_text(json.dumps({"app": "shop", "bundles": bundles}))
        self.serve("origin")
        self.publish(None, "--create")
        text = (ROOT / "docs/trust.md").read_text().split("\n## The ceremony\n")[1].split("\n## ")[0]
        self.block(re.sub(r"^    ", "", re.search(r"(?:^    .*\n)+", text, re.M)[0], flags=re.M))
        shutil.copy(self.path("root.json"), self.folder / "built-in.json")
        self.device, self.sleeper = Device(self, "device"), Device(self, "sleeper")
        self.device.follows("the ceremony")
        self.sleeper.follows("the ceremony")
        self.publish("release.key")
        self.device.follows("every day")
        self.run("xcache", "token", "create", "ci", "--scope", "publish", "--app", "shop", "--expires", "1d")

    # The drills

    def ci_key_lost(self):
        [commands] = blocks("The CI key is lost")
        self.replaced = [("60303f8b", self.id_of("release.key"))]
        self.block(commands)
        self.publish("ci2.key")
        self.both_follow("after a lost CI key")
        # Should somebody find it.
        self.refuses("release.key", "release-key")

    def ci_key_stolen(self):
        first, second, third = blocks("The CI key is stolen")
        token = self.run("xcache", "token", "create", "ci-2", "--scope", "publish", "--app", "shop", "--expires", "1d", "--json")
        token = json.loads(token.stdout)["token"]
        # The thief releases, as the text says that a thief can.
        self.write("main", EVIL)
        self.run("xcache", "publish", "--bundle", "main", "--sign-key", "ci2.key", token=token)
        self.device.poll()
        assert EVIL in self.device.texts()["main"], "the thief's release isn't there, so that the drill shows nothing"
        evil = self.answer()
        self.replaced = [("7d1a9c04", self.id_of("ci2.key")), ("token revoke ci", "token revoke ci-2")]
        self.block(first)
        # A clean checkout.
        self.write("main", self.wanted["main"])
        said = self.block(second)
        assert "nothing changed" in said, f"the channel hasn't the publisher's files after the rollback: {said}"
        self.block(third)
        self.both_follow("after a stolen CI key")
        self.refuses("ci2.key", "revoked", token)
        # With somebody's token, too, and where the thief gives all answers.
        self.refuses("ci2.key", "release-key")
        newest = self.roots()["number"]
        self.device.refuses(self.answering(evil), "head-")
        Device(self, "new-to-a-thief").refuses(self.answering(evil | {"root": newest}), "release-")

    def floor_raised(self):
        """The thief has signed the highest floor that there is."""
        lower, remove = blocks("The thief has raised the floor")
        token = self.run("xcache", "token", "create", "ci-3", "--scope", "publish", "--app", "shop", "--expires", "1d", "--json")
        token = json.loads(token.stdout)["token"]
        # This one doesn't poll between the two roots.
        other = Device(self, "polls-once-after-the-floor")
        other.follows("before a floor")
        code, said = self.release_of_thief("ci3.key", token, 2**53 - 1)
        assert code == 201, f"the thief's release isn't there, so that the drill shows nothing: {said}"
        for device in self.device, other:
            device.poll()
            assert self.wanted["help"] in device.texts()["main"], "the device hasn't the thief's release, so that the drill shows nothing"
        evil = self.answer()
        self.run("xcache", "token", "revoke", "ci-3")
        self.refused("release-floor", "xcache", "rollback", "--app", "shop", "--bundle", "main", "--steps", "1")
        self.replaced = [("c2e85b16", self.id_of("ci3.key"))]
        self.block(lower)
        signed = {one["keyid"] for statement in self.answer()["trust"]["releases"] for one in statement["signatures"]}
        assert signed == {FileKey(self.path("ci3.key")).id}, f"the root that lowers the floor has content signed: {signed}"
        self.device.follows("after the root that lowers the floor")
        self.block(remove)
        other.follows("after both roots")
        self.both_follow("after a floor that a thief raised")
        self.refuses("ci3.key", "revoked", token)
        self.refuses("ci3.key", "release-key")
        for device in self.device, other:
            device.refuses(self.answering(evil), "head-")
        Device(self, "new-to-a-thief-of-floors").refuses(self.answering(evil | {"root": self.roots()["number"]}), "release-")
        self.publish("ci4.key")
        other.follows("the next release after a floor")
        self.both_follow("the next release after a floor that a thief raised")

    def unpublished(self):
        """A floor of a thief's where somebody unpublished the bundle first, as the text below that drill says: with a version to go back to,
        and without one."""
        def stolen():
            before = self.answer()["version"]
            code, said = self.release_of_thief("ci4.key", None, 2**53 - 1)
            assert code == 201, f"the thief's release isn't there, so that the drill shows nothing: {said}"
            self.device.poll()
            assert self.wanted["help"] in self.device.texts()["main"], "the device hasn't the thief's release, so that the drill shows nothing"
            page = (SITE["main"] + "index.html").encode()
            assert page in self.device.held(), "index.json has no URLs"
            evil = self.answer()
            self.block("xcache unpublish --bundle main")
            self.device.poll()
            assert page not in self.device.held(), "unpublish left the thief's files on the device"
            return before, evil
        self.replaced = []
        number = int(self.roots()["number"]) + 1
        before, _ = stolen()
        self.block(f"xcache trust set-floor main --to 0\nxcache trust sign root-{number}.draft.json --key root2.key\n"
                   f"xcache trust push root-{number}.draft.json\nxcache rollback --app shop --bundle main --to {before}\n")
        self.both_follow("after unpublish and a rollback")
        _, evil = stolen()
        number += 1
        self.block(f"xcache trust add-key --new ci5.key\nxcache trust remove-key {self.id_of('ci4.key')} --stolen\n"
                   f"xcache trust sign root-{number}.draft.json --key root2.key\n"
                   f"xcache trust push root-{number}.draft.json --sign-key ci5.key\nxcache publish --sign-key ci5.key\n")
        self.both_follow("after unpublish and a clean checkout")
        self.refuses("ci4.key", "release-key")
        self.device.refuses(self.answering(evil), "head-")
        Device(self, "new-to-a-thief-after-unpublish").refuses(self.answering(evil | {"root": str(number)}), "release-")

    def two_people(self):
        """A threshold of 2, by two people on two machines: the manager's has no key but the manager's own, and a token of the scope publish."""
        make, first, resign, second = blocks("How to get there", "####")[:4]
        ci, number = "ci5.key", int(self.roots()["number"])
        made = self.run("xcache", "token", "create", "manager", "--scope", "publish", "--app", "shop", "--expires", "1d", "--json")
        token = json.loads(made.stdout)["token"]
        machine = self.folder / "manager"
        machine.mkdir()

        def manager(commands):
            """The manager's commands, in a folder with the roots and nothing else of the publisher's."""
            for path in self.path(".").glob("root*.json"):
                if "draft" not in path.name:
                    shutil.copy(path, machine)
            commands = commands.replace(" -aes-256-cbc", "")
            begun = time.monotonic()
            self.run("bash", "-euc", f"cd {machine}\n{commands}", token=token, XCACHE_APP="shop")
            self.seconds += time.monotonic() - begun

        def root_holder(commands, *numbers):
            for old, new in numbers:
                commands = commands.replace(f"root-{old}.", f"root-{new}.")
            self.replaced = [("root.key", "root2.key")]
            self.block(commands)

        def live():
            """The keys that count, of each statement."""
            named = self.roots()["keys"]
            return {tuple(sorted(one["keyid"] for one in statement["signatures"] if one["keyid"] in named))
                    for statement in self.answer()["trust"]["releases"]}
        manager(make)
        shutil.copy(machine / "manager.pem", self.path("manager.pem"))
        root_holder(first, (2, number + 1))
        manager(resign)
        root_holder(second, (3, number + 2))
        keys = [FileKey(self.path(ci)).id, FileKey(machine / "manager.key").id]
        assert live() == {tuple(sorted(keys))}, f"not everything that is live has both signatures: {live()}"
        self.both_follow("with a threshold of 2")
        # One key alone releases nothing, whoever has it.
        self.refuses(ci, "release-key")
        add, renew, remove = blocks("One of the two keys is lost or stolen", "####")[:3]
        shutil.copy(machine / "manager.key", self.path("stolen-manager.key"))
        manager(make.replace("manager.", "manager2."))
        shutil.copy(machine / "manager2.pem", self.path("manager2.pem"))
        root_holder(add, (4, number + 3))
        (machine / "manager.key").unlink()
        manager(renew)
        root_holder(remove, (5, number + 4))
        keys[1] = FileKey(machine / "manager2.key").id
        assert live() == {tuple(sorted(keys))}, f"what is live hasn't the signatures of the two keys that count: {live()}"
        self.refuses("stolen-manager.key", "release-key")
        self.both_follow("after one of two keys was stolen")

    def release_of_thief(self, key, token=None, floor=0):
        """A thief with a program of their own has main show the page of the other bundle, signed by this key: our program would refuse to sign."""
        data = self.answer()
        item = {name: data["resourcemap"][SITE["help"] + "index.html"][name] for name in ("ctype", "md5", "sha256", "size")}
        url = SITE["main"] + "index.html"
        statement = FileKey(self.path(key)).envelope("release", {
            "app": "shop", "bundle": "main", "channels": ["online"], "floor": floor, "serial": max(floor, time.time_ns() // 1_000_000 + 60_000),
            "content": trust.digest({"resources": {url: {name: item[name] for name in ("ctype", "sha256", "size")}}})})
        body = {"bundles": [{"base": data["version"], "bundle": "main", "remove": [], "set": {url: item}}], "statements": [statement]}
        return self.post("channels/online/releases", body, token)

    def post(self, path, body, token=None):
        """A request of a thief's, with an admin's token or this one: the status, and what the origin says."""
        request = urllib.request.Request(f"{self.url}/api/v1/apps/shop/{path}", method="POST", data=json.dumps(body).encode(), headers={
            "Authorization": f"Bearer {token or self.environment['XCACHE_TOKEN']}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as failure:
            return failure.code, failure.read().decode()

    def refuses(self, key, name, token=None):
        """The origin takes no release of a thief's."""
        code, said = self.release_of_thief(key, token)
        assert code >= 400 and name in said, f"the origin didn't refuse a thief's release as {name}: {code} {said}"

    def answering(self, data):
        def attack(path, status, body):
            return (200, trust.canonical({"code": 200, "data": data})) if path.startswith("/configure.json") else (status, body)
        return attack

    def root_key_lost(self):
        [commands] = blocks("A root key is lost")
        self.replaced = [("1b4f02aa", self.id_of("root.key"))]
        lost = FileKey(self.path("root.key"))
        shutil.move(self.path("root.key"), self.folder / "lost.key")
        self.block(commands)
        self.publish("ci4.key")
        self.both_follow("after a lost root key")
        # Who finds it makes a root with a key of their own for releases.
        thief = FileKey(self.folder / "lost.key")
        root = self.roots()
        forged = root | {"number": str(int(root["number"]) + 1), "roots": {"keys": [thief.id], "threshold": 1},
                         "keys": root["keys"] | {thief.id: base64.b64encode(thief.spki).decode()}}
        own = lost.envelope("root", forged)

        def attack(path, status, body):
            if path.endswith(f"/root/{forged['number']}.json"):
                return 200, trust.canonical(own)
            if path.startswith("/configure.json"):
                return 200, trust.canonical({"code": 200, "data": json.loads(body)["data"] | {"root": forged["number"]}})
            return status, body
        self.device.refuses(attack, "trust-root")
        assert self.device.trust()["root"]["number"] == root["number"], "the device has a root of the thief's"
        code, said = self.post("trust/root", {"root": own, "releases": []})
        assert code >= 400 and "root-old-keys" in said, f"the origin didn't refuse a thief's root: {code} {said}"

    def origin_stolen(self):
        restore, rotate, take_over = blocks("The origin is stolen")
        self.run("xcache", "mirror", "--to", self.folder / "www")
        self.cdn.folder = self.folder / "www"
        [key] = (self.data / "keys").glob("head-*.pem")
        key = FileKey(key)
        data = self.answer()

        def late(data, version, at):
            """An answer of the thief's: what was signed, under a head from years ahead."""
            head = payload(data["trust"]["head"]) | {"at": at, "until": at + 1, "version": version}
            return data | {"version": version, "trust": data["trust"] | {"head": key.envelope("head", head)}}
        stuck = str(int(data["version"]) + 500)
        self.name.attack = self.answering(late(data, stuck, YEAR_2035))
        self.device.poll()
        self.name.attack = None
        assert self.device.trust()["head"]["document"]["at"] == YEAR_2035, "the thief's head isn't there, so that the drill shows nothing"
        self.publish("ci4.key")
        self.device.refuses(None, "head-")
        self.run("xcache", "mirror", "--to", self.folder / "www")
        # The name leads to another machine.
        self.stop()
        self.replaced = [("https://cdn.example.com/hxm", str(self.folder / "www")), ("/var/lib/xcache-new", str(self.folder / "restored")),
                         ("/srv/www", str(self.folder / "www"))]
        self.block(restore)
        self.serve("restored")
        self.block(rotate)
        self.take_over(take_over)
        self.both_follow("after a stolen origin")
        self.publish("ci4.key")
        self.both_follow("the next release after a stolen origin")
        newest = self.answer()
        forged = late(newest, str(int(newest["version"]) + 500), YEAR_2035 + 1000)
        self.device.refuses(self.answering(forged), "head-key")
        Device(self, "new-to-a-thief-of-origins").refuses(self.answering(forged), "head-key")

    def take_over(self, commands):
        """The copy of an origin that is no more belongs to the new one, with all files that devices may be about to read."""
        top = self.folder / "www"
        done = self.run("xcache", "mirror", "--to", top, wanted=None)
        assert done.returncode and "the mirror of another origin" in done.stdout + done.stderr, f"mirror took another origin's copy: {done.stdout}"
        before = {path.relative_to(top) for path in top.glob("**/*") if path.is_file()} - {pathlib.Path("mirror.json")}
        self.block(commands)
        gone = {path for path in before if not (top / path).is_file()}
        assert not gone, f"the new origin has removed files of the copy: {sorted(map(str, gone))}"

    def origin_gone(self):
        before, on_the_day = blocks("The origin is gone")
        self.replaced = [("/srv/www", str(self.folder / "www"))]
        self.block(before)
        # What was released since is on the copy, and the device hasn't seen it.
        self.device.follows("with a copy's head key")
        self.publish("ci4.key")
        self.run("xcache", "mirror", "--to", self.folder / "www")
        self.stop()
        [path] = (self.folder / "www").glob("**/head.json")
        old = payload(json.loads(path.read_text()))
        self.block(on_the_day)
        head = json.loads(path.read_text())
        assert payload(head)["at"] > old["at"] and [one["keyid"] for one in head["signatures"]] == [FileKey(self.path("copy-head.key")).id], head
        for _ in range(4):
            self.device.poll(wanted=None)
        # The fifth failure leads to the copy.
        self.device.poll(wanted=None)
        self.device.follows("without an origin")
        # And the origin that comes of the copy.
        restore, _, take_over = blocks("The origin is stolen")
        shutil.rmtree(self.folder / "restored")
        self.replaced += [("https://cdn.example.com/hxm", str(self.folder / "www")), ("/var/lib/xcache-new", str(self.folder / "restored"))]
        self.block(restore)
        self.serve("restored")
        number = int(self.roots()["number"]) + 1
        self.block(f"xcache trust rotate-head\nxcache trust rotate-head --keep --public-key copy-head.pem\n"
                   f"xcache trust sign root-{number}.draft.json --key root2.key\n"
                   f"xcache trust push root-{number}.draft.json\n")
        self.take_over(take_over)
        self.publish("ci4.key")
        # A device that relies on the copy asks the origin again after 30 seconds or so (D-12).
        due = json.loads((self.device.folder / "poll.json").read_text())["originDue"] / 1000
        time.sleep(min(max(due - time.time(), 0), 60))
        self.both_follow("with a new origin")

    def all(self):
        self.ceremony()
        print("the ceremony: two bundles, and devices with its root", flush=True)
        for name, drill in (("The CI key is lost", self.ci_key_lost), ("The CI key is stolen", self.ci_key_stolen),
                            ("The thief has raised the floor", self.floor_raised), ("A root key is lost", self.root_key_lost),
                            ("The origin is stolen", self.origin_stolen), ("The origin is gone", self.origin_gone),
                            ("The thief has raised the floor, and the bundle was unpublished", self.unpublished),
                            ("A threshold of 2 by two people on two machines, and one of the keys stolen", self.two_people)):
            begun, self.seconds = time.monotonic(), 0
            drill()
            print(f"{name}: {self.seconds:.1f} s for its commands, {time.monotonic() - begun:.1f} s with the thief and the devices", flush=True)
        self.sleeper.follows("a device that slept through all drills")
        print("a device that slept through all of them follows with one poll", flush=True)


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="drills-"))
    drills = Drills(pathlib.Path(sys.argv[1]).resolve(), folder)
    try:
        drills.all()
    finally:
        for process in drills.processes:
            process.terminate()
            process.wait(60)
        if "--keep" in sys.argv:
            print(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
