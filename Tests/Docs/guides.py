#!/usr/bin/env python3
"""Runs the commands of the guides, each guide against an origin of its own.   guides.py PROGRAM

A guide's commands stand for a reader's own project: SETUP makes one, BEFORE does what the text says somebody has done by then, and
REPLACED puts this machine's addresses and folders in the place of the guide's. Every command has to succeed, or to end with the code
that CODES names. Programs of other people (npm, rsync to a server) are stand-ins.

Where an example is a session, its commands behind `$ `, each has to say what follows it, where `…` stands for anything.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from blocks import GUIDES, ROOT, blocks  # noqa: E402
from origin import Origin, free_port  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()

# What every guide begins with: a build, made by a stand-in for npm, with something that a dry run and a comparison can show.
SETUP = """
cat >bin/npm <<'END'
#!/bin/sh
mkdir -p dist/assets dist/img
echo '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="shop.css"><p>one<script src="assets/app.js"></script>' >dist/index.html
echo 'document.title = "shop"' >dist/assets/app.js
echo 'body { background: url(img/logo.png) }' >dist/shop.css
echo png >dist/img/logo.png
END
printf '#!/bin/sh\\n' >bin/rsync
chmod +x bin/npm bin/rsync
npm run build
publish() { xcache publish --create dist --app shop --bundle main --base-url https://m.example.com/shop/ "$@"; }
change() { echo "// change $1" >>dist/assets/app.js; }
"""
TWO_VERSIONS = "publish; sleep 1.1; then=$(date -u +%Y-%m-%dT%H:%M:%SZ); sleep 1.1; change 2; publish\n"
FILES = "head -c 64 /dev/urandom >interceptor.sig; echo 'void 0' >interceptor.js\n"
TEST_CHANNEL = ("xcache channel create --app shop --channel test; "
                "xcache publish dist --create --app shop --channel test --bundle main --base-url https://test.m.example.com/shop/\n")
BROKEN = r"""
kept=$(mktemp -d); cp -r dist/. $kept
{ echo '<!doctype html><meta charset="utf-8">'; yes '' | head -10; printf '    <script src="assets/app.js"></script>\n'; } >dist/index.html
rm dist/assets/app.js
printf '%68s{b:url(img/Logo.png)}\n' a >dist/shop.css
"""
# What a key is called in `trust status`; a passphrase, as nobody is asked here.
KEY_IDS = ("export XCACHE_SIGN_PASSPHRASE=practice; "
           "id_of() { openssl pkey -in $1 -passin env:XCACHE_SIGN_PASSPHRASE -pubout -outform DER | sha256sum | cut -c1-16; }\n")
MENDED = "rm -r dist; mv $kept dist\n"
CDN, ORIGIN = "https://cdn.example.com/hxm", "https://origin.example.com"

REPLACED = {
    "README.md": [("/srv/xcache", "{folder}/new"), ("--trust-proxy", "--listen 127.0.0.1:{port} --trust-proxy")],
    "docs/guide-release.md": [
        (f"xcache login {ORIGIN}", "xcache login {url} --token-file data/admin.token"),
        ("'yesterday 14:05'", "$then"), ("--map https://test.m", "--map https://test.m")],
    "docs/guide-commands.md": [
        ("xcache publish …", "publish"), ('xcache publish -m "the sale"', 'publish -m "the sale"'), ("2026-12-01T02:00+08:00", "$later"),
        ("2026-12-24T00:00+01:00", "$from"), ("2027-01-02T08:00+01:00", "$to"), ("552 553", "1 2"), ("show 553", "show 2"), ("2026-11-19T14:05+08:00", "$then"),
        ("s3://bucket/hxm", "www2"), (ORIGIN, "{url}"), (CDN, "www"), ("/srv/new", "new"), ("/srv/www", "www"),
        ("/var/lib/xcache-new", "restored"), ("/var/lib/xcache", "data"), ("/srv/xcache", "data"), ("/backup/xcache", "backup"),
        ("127.0.0.1:9000", "127.0.0.1:{port}"), ('"127.0.0.1", 9000', '"127.0.0.1", {port}')],
    "docs/guide-app.md": [(ORIGIN, "{url}")],
    # There is no terminal to ask on, and nobody approves what they asked for.
    "docs/guide-teams.md": [("xcache approve 553", "XCACHE_TOKEN=$other xcache approve -y 1"), ("xcache reject 554", "XCACHE_TOKEN=$other xcache reject 2")],
    # Nobody listens at that port, so the purges are late, which holds up nothing.
    "docs/guide-scale.md": [("/srv/xcache", "{folder}/new"), ("--trust-proxy", "--listen 127.0.0.1:{port} --trust-proxy")],
    "docs/guide-web.md": [("XCACHE_SERVER=https://xcache.example.com XCACHE_TOKEN=…", "XCACHE_SERVER={url}"), ("poll https://xcache.example.com", "poll {url}"),
                          # The version before lies under another base URL here, whose page goes.
                          ("m.example.com/ --index", "m.example.com/ --index --allow-no-pages")],
    "docs/openapi/README.md": [(ORIGIN, "{url}")],
    "docs/trust.md": [("60303f8b", "$ci"), ("7d1a9c04", "$ci2"), ("c2e85b16", "$(id_of ci3.key)"), ("1b4f02aa", "$lost"),
                      ("5e0b2f6d", "$(id_of pay1.key)"), ("9c41aa70", "$(id_of pay2.key)"), (CDN, "www"), ("/var/lib/xcache-new", "restored"), ("/srv/www", "www"),
                      # There is no terminal to ask on.
                      ("xcache trust push ", "xcache trust push -y ")],
    "deploy/OPERATIONS.md": [(ORIGIN, "{url}"), (CDN, "www"), ("s3://bucket/hxm", "www2"), ("/srv/xcache-mirror", "www"),
                             ("/var/lib/xcache", "data")],
    "Examples/python/README.md": [("Examples/python", f"/usr/bin/python3 {ROOT}/Examples/python"), ("http://127.0.0.1:8080", "{url}"),
                                  ("/tmp/device", "{folder}/device")],
}

# By the beginning of a block, what has been done when it is read.
BEFORE = {
    "docs/guide-release.md": {
        "xcache login": "unset XCACHE_TOKEN XCACHE_TOKEN_FILE\n", "xcache token create": "unset XCACHE_APP\n",
        "xcache publish": "xcache channel create --channel test\n",
        "$ xcache status": "change 2; sleep 1.1; then=$(date -u +%Y-%m-%dT%H:%M:%SZ); sleep 1.1; xcache publish\n"},
    "docs/guide-commands.md": {
        "xcache publish": "export XCACHE_APP=shop; " + TWO_VERSIONS, "xcache policy": FILES, "$ xcache check": BROKEN, '"check"': MENDED,
        "xcache rollback": "day() { date -u -d \"$1 days\" +%Y-%m-%dT%H:%MZ; }; later=$(day 2); from=$(day 5); to=$(day 9); change 3; publish; " + TEST_CHANNEL + "xcache mirror --data data --to www\n",
        "$ xcache mirror": "xcache channel thaw --app shop\n"},
    "deploy/OPERATIONS.md": {"xcache mirror": TWO_VERSIONS},
    "docs/openapi/README.md": {"curl": TWO_VERSIONS},
    "docs/guide-console.md": {"$ xcache token": TWO_VERSIONS},
    "docs/guide-teams.md": {
        "xcache channel protect": "publish\n",
        "xcache approve": "other=$(xcache token create other --scope release --app shop --expires 1d); change 2; publish; change 3; publish\n"},
    "docs/trust.md": {
        "xcache trust init": "publish; xcache init --app shop --dir dist --base-url https://m.example.com/shop/; " + KEY_IDS,
        "export XCACHE_SIGN_KEY": "change 2\n",
        "xcache publish --sign-with": "unset XCACHE_SIGN_KEY; openssl pkey -in release.key -passin env:XCACHE_SIGN_PASSPHRASE -pubout -out release.pem; change 3\n",
        "xcache trust add-key --new pay1": "ci=$(id_of release.key)\n",
        # What the drills begin with has no such bundles.
        "xcache trust add-key --new ci2": "rm root-2.draft.json\n",
        "xcache token revoke": "xcache token create ci --scope publish --app shop --expires 1d; change 4; xcache publish --sign-key ci2.key\n",
        "xcache trust add-key --new ci3": "ci2=$(id_of ci2.key)\n",
        "xcache trust set-floor": "change 5; xcache publish --sign-key ci3.key --raise-floor; "
                                  "if xcache rollback --app shop --bundle main --steps 1; then echo 'went below a floor'; exit 1; fi\n",
        "xcache trust remove-root": "lost=$(id_of root.key)\n",
        # Who follows the drills has lost this key, and signs with others.
        "xcache mirror verify": "rm root.key; xcache mirror --to www\n"},
    "README.md": {"xcache token": TWO_VERSIONS},
    "docs/guide-app.md": {"xcache web": TWO_VERSIONS},
    "docs/guide-web.md": {"$ export": "publish\n", "xcache web init": "echo 'self.ours = 1' >dist/sw.js\n"},
    "Examples/python/README.md": {"Examples": TWO_VERSIONS},
}
CODES = {"xcache check dist --base-url https://m.example.com/shop/": 3, "xcache backup": 0}


def commands(block):
    """The block's commands, one by one, none if it isn't of the shell; a here document and a continued line are one."""
    waiting, end = "", None
    for line in block.text.splitlines() if not block.text.startswith(("[", "{", '"')) else []:
        waiting += line + "\n"
        if end is None and re.search(r"<<'?(\w+)'?$", line):
            end = re.search(r"<<'?(\w+)'?$", line)[1]
        if (end is None or line == end) and not line.endswith("\\"):
            yield waiting
            waiting, end = "", None


def session(block):
    """The commands of a session, each with the output that follows it."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        while command.endswith("\\"):
            more, _, output = output.partition("\n")
            command += "\n" + more
        yield command + "\n", output.rstrip("\n") + "\n" if output.strip() else ""


def steps(block):
    """Commands with what they say; None: that isn't shown."""
    yield from session(block) if block.text.startswith("$ ") else ((command, None) for command in commands(block))


def script(name, examples, replaced):
    """The guide as one script; what it writes before a command that fails is the last thing that it says."""
    lines = ["set -u", "PATH=$PWD/bin:$PATH", "said=$PWD/said", "mkdir $said", SETUP]
    number = 0
    for block in examples:
        for begins, before in BEFORE.get(name, {}).items():
            if block.text.startswith(begins):
                lines.append(f"set -e; {before}set +e")
        for command, output in steps(block):
            said = command
            for old, new in replaced:
                command = command.replace(old, new)
            wanted = next((code for begins, code in CODES.items() if said.startswith(begins)), 0)
            if command.startswith("xcache serve"):
                command = f"timeout -s TERM 3 {command.strip()}; [ $? = 124 ]\n"
            lines.append(f"printf '%s' {json.dumps(said.splitlines()[0]).replace('$', chr(92) + '$').replace('`', chr(92) + '`')} >doing")
            if output is not None:
                command = f"{{ {command}}} >$said/{number} 2>&1\n"
                number += 1
            lines.append(f"{command}code=$?; [ $code = {wanted} ] || {{ echo \"exit code $code\"; exit 1; }}")
    return "\n".join(lines) + "\n"


def settings(origin, examples):
    """The guide's JSON, each piece used for what it is shown for."""
    for block in examples:
        if block.text.startswith("["):
            (origin.folder / "prefetch.json").write_text(block.text)
        elif block.text.startswith("{"):
            project = origin.folder / "project"
            project.mkdir()
            (project / "xcache.json").write_text(block.text.replace(ORIGIN, origin.url))
            (project / "dist").mkdir()
            (project / "dist/index.html").write_text("<!doctype html><p>one")
            done = subprocess.run([PROGRAM, "publish", "--create", "--dry-run"], cwd=project, env=origin.environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        elif block.text.startswith('"'):
            read = json.loads("{" + re.sub(r"//.*", "", block.text) + "}")
            (origin.folder / "piece").mkdir(exist_ok=True)
            bundle = {"dirs": ["../dist"], "baseURL": "https://m.example.com/piece/"}
            if "fallback" in read:
                # The build of these guides has relative URLs, with which no page can be one.
                (origin.folder / "piece/dist").mkdir()
                (origin.folder / "piece/dist/index.html").write_text('<!doctype html><meta charset="utf-8"><p>one')
                bundle |= {"dirs": ["dist"], "baseURL": "https://m.example.com/shop/"}
            (origin.folder / "piece/xcache.json").write_text(json.dumps(
                {"app": "shop", **read, "bundles": {"main": bundle}} if {"check", "signWith"} & set(read)
                else {"app": "shop", "bundles": {"main": {**bundle, **read}}}))
            done = subprocess.run([PROGRAM, "check"], cwd=origin.folder / "piece", env=origin.environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr + done.stdout


def run(name, examples):
    with Origin(PROGRAM) as origin:
        port = free_port()
        replaced = [(old, new.format(url=origin.url, folder=origin.folder, port=port)) for old, new in REPLACED.get(name, [])]
        for block in examples:
            if block.text.startswith("["):
                (origin.folder / "prefetch.json").write_text(block.text)
        done = subprocess.run(["bash", "-c", script(name, examples, replaced)], cwd=origin.folder, env=origin.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        if done.returncode:
            doing = origin.folder / "doing"
            raise SystemExit(f"{name}: {doing.read_text() if doing.exists() else 'the setup'}\n{done.stdout[-2000:]}")
        sessions = [step for block in examples for step in steps(block) if step[1] is not None]
        for number, (command, wanted) in enumerate(sessions):
            for old, new in replaced:
                wanted = wanted.replace(old, new)
            said = (origin.folder / f"said/{number}").read_text()
            # The guides' origins are on the internet, the one here is on this machine, which publish warns of.
            said = re.sub(r"^(devices are told to download from|warning: only this machine reaches) http://127\.0\.0\.1.*\n", "", said, flags=re.M)
            # Nobody answers for the guides' sites here.
            said = re.sub(r"^the pages' headers weren't compared with those of the site, which has no answer now .*\n", "", said, flags=re.M)
            if not re.fullmatch(re.escape(wanted).replace("…", ".*?"), said, re.S):
                raise SystemExit(f"{name}: after\n$ {command}it says\n{wanted}but the output was\n{said}")
        settings(origin, examples)
        return sum(1 for block in examples for _ in steps(block)), len(sessions)


def main():
    guides = {}
    for block in blocks():
        if block.check == GUIDES:
            guides.setdefault(block.file, []).append(block)
    for name, examples in guides.items():
        done, compared = run(name, examples)
        shown = f", {compared} say what is shown" if compared else ""
        print(f"guides: {name}: {done} commands in {len(examples)} examples do what they say{shown}", flush=True)


if __name__ == "__main__":
    main()
