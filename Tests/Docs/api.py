#!/usr/bin/env python3
"""Checks docs/openapi/openapi.json against a running origin: what the command line sends to it, and what it answers.

    api.py PROGRAM          needs the packages jsonschema and openapi-spec-validator

Commands go through a proxy that holds each request and answer against the document. Every operation has to be seen once.
"""
import hashlib
import http.client
import http.server
import json
import pathlib
import re
import sys
import tempfile
import threading
import time
import urllib.parse

from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

sys.dont_write_bytecode = True
from origin import Origin  # noqa: E402
from provider import Provider  # noqa: E402

DOCUMENT = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/openapi/openapi.json").read_text())
PATHS = [(re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)) + "$"), path) for path in DOCUMENT["paths"]]
seen, wrong = {}, []


def errors(schema, value):
    validator = Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in validator.iter_errors(value)]


def check(method, target, fields, body, status, answered, answer):
    """Holds one exchange against the document."""
    type = answered["Content-Type"]
    path, _, query = target.partition("?")
    shown = next((shown for pattern, shown in PATHS if pattern.match(path)), None)
    operation = DOCUMENT["paths"].get(shown, {}).get(method.lower())
    where = f"{method} {path}"
    if operation is None:
        wrong.append(f"{where}: the document has no such operation")
        return
    names = {one["name"] for one in operation["parameters"] if one["in"] == "query"}
    wrong.extend(f"{where}: the document has no parameter {name}" for name in urllib.parse.parse_qs(query) if name not in names)
    wanted = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if wanted and status < 400:
        wrong.extend(f"{where}, request: {error}" for error in errors(wanted["schema"], json.loads(body)))
    elif body and "requestBody" not in operation:
        wrong.append(f"{where}: the document has no body")
    if status == 304:
        if answer or "304" not in operation["responses"] or "If-None-Match" not in fields:
            wrong.append(f"{where}: 304 with {len(answer)} bytes")
        return
    if method == "GET" and status == 200 and ("ETag" in answered) == shown.endswith("/manifest"):
        wrong.append(f"{where}: ETag {answered['ETag']}")
    responses = operation["responses"][f"{status // 100}XX"]["content"]
    if type not in responses or not type.endswith("json"):
        wrong.append(f"{where}: {status} is {type}, the document has {', '.join(responses)}")
    else:
        wrong.extend(f"{where}, {status}: {error}" for error in errors(responses[type]["schema"], json.loads(answer)))
    if status < 400:
        seen[shown, method.lower()] = seen.get((shown, method.lower()), 0) + 1


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    origin = None

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        out = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def forward(self):
        if self.headers.get("Expect"):
            self.send_response_only(100)
            self.end_headers()
        body = self.body()
        # Nothing is coded on its way, so that it can be read here.
        fields = {name: value for name, value in self.headers.items()
                  if name.lower() not in ("host", "connection", "accept-encoding", "transfer-encoding", "content-length", "expect")}
        connection = http.client.HTTPConnection(self.origin, timeout=120)
        connection.request(self.command, self.path, body if self.command != "GET" else None, fields)
        answer = connection.getresponse()
        content = answer.read()
        if self.path.startswith("/api/"):
            check(self.command, self.path, fields, body, answer.status, answer.headers, content)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in ("connection", "accept-encoding", "transfer-encoding", "content-length", "server", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = forward

    def log_message(self, *_):
        pass


def asked(origin, method, path, body=None, known=None, tag=False, wanted=(200, 201, 202, 204, 304), token=None):
    """What one request to the API is answered."""
    connection = http.client.HTTPConnection(origin.environment["XCACHE_SERVER"][7:], timeout=30)
    connection.request(method, "/api/v1/" + path, None if body is None else json.dumps(body), {
        "Authorization": "Bearer " + (token or origin.environment["XCACHE_TOKEN"]), "Content-Type": "application/json",
        **({"If-None-Match": known} if known else {})})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status not in wanted:
        raise SystemExit(f"{method} {path}: {answer.status} {text[:300]}")
    return answer.headers["ETag"] if tag else json.loads(text) if text else None


def commands(origin):
    def run(line, wanted=0):
        return origin.xcache(*[part.replace("~", " ") for part in line.split()], wanted=wanted)
    dist = origin.folder / "dist"
    dist.mkdir()
    (dist / "index.html").write_text("<!doctype html><p>one")
    publish = "publish --create dist --bundle main --base-url https://m.example.com/ --app shop"
    run(publish + " -m first")
    (dist / "index.html").write_text("<!doctype html><p>two")
    (dist / "large.bin").write_bytes(bytes(range(256)) * 40_000)
    run(publish + " --dry-run --if-version 1")
    run(publish)
    ahead = time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(time.time() + 86_400))
    for line in ("status", "samples", "samples --version 1", "channel set --samples off",
                 "channel set --samples on", "log --limit 5", "show 1", "show 1 --manifest", "diff 1 2", "pin 1 kept", "pin list",
                 "pin remove 1",
                 "channel create --channel test", "channel freeze --channel test --reason sale", "channel thaw --channel test",
                 "channel set --interval 60 --hosts m.example.com", "channel default-app shop",
                 "promote --from online --to test --create", "rollback --bundle main --steps 1 --dry-run",
                 "rollback --bundle main --steps 1 -m back", "rollback 2 --bundle main --rollout 5%",
                 "rollout show", "rollout set 25%", "rollout pause", "rollout resume", "rollout halt -m no",
                 "rollback 2 --bundle main --rollout 5%",
                 f"rollout halt -m no --schedule {ahead}", f"rollout complete --schedule {ahead}",
                 f"rollback 1 --bundle main --schedule {ahead}",
                 "schedule list", "schedule show 1", "schedule cancel 1", "schedule cancel 2", "schedule cancel 3", "rollout complete",
                 f"channel freeze --channel test --from {ahead} --reason sale", "channel thaw --channel test --planned 1",
                 "prefetch push prefetch.json", "prefetch show", "prefetch log",
                 "prefetch push none.json", "prefetch rollback --to 1", "policy kill --for 6h -m test", "policy show", "policy log",
                 "policy resume", "unpublish --bundle main --channel test", "channel remove --channel test"):
        (origin.folder / "prefetch.json").write_text(json.dumps([{
            "url": "https://m.example.com/index.html", "interfaces": [{"api": "https://m.example.com/a", "method": "GET"}]}]))
        (origin.folder / "none.json").write_text("[]")
        run(f"{line} --app shop" if "default-app" not in line else line)
    for line in ("channel list", "token create reader --scope read --all-apps --no-expiry", "token list", "token revoke reader", "gc --dry-run",
                 "audit log", "audit export", f"mirror --server {origin.environment['XCACHE_SERVER']} --to www", "mirror list"):
        run(line)
    hook = "http://127.0.0.1:9/"
    run(f"webhook add {hook} --allow-private --events purge,freeze --app shop --channel test --template slack")
    for line in ("list", f"show {hook}", f"deliveries {hook} --limit 5"):
        run(f"webhook {line}")
    run(f"webhook test {hook}", 1)
    run(f"webhook remove {hook}")
    name = json.loads(run("mirror list --json"))["mirrors"][0]["name"]
    run(f"mirror forget {name.replace(' ', '~')}")
    run("status --app nobody", 1)
    run(publish + " --if-version 1", 3)
    # What no command asks for by itself, or only after minutes.
    def ask(*arguments, **options):
        return asked(origin, *arguments, **options)
    ask("GET", "apps/shop/channels/online/settings")
    lease = ask("POST", "leases", {"holder": "a test", "seconds": 60})["id"]
    ask("POST", f"leases/{lease}", {"seconds": 60})
    ask("DELETE", f"leases/{lease}")
    console(ask)
    large = hashlib.sha256((dist / "large.bin").read_bytes()).hexdigest()
    for line in (f"purge {large} --reason a~test --yes", "purge list", f"purge lift {large}",
                 "channel set --public-url https://cdn.example.com --app shop --yes"):
        run(line)


def console(ask):
    """What the console asks for, as it does: a page at a time, again with the ETag of the answer before, with a reason for each act."""
    channel, page = "apps/shop/channels/online", "https://m.example.com/index.html"
    release = ask("GET", f"{channel}/log?limit=2")["releases"][0]
    newest, released = release["version"], urllib.parse.quote(release["at"], safe="")
    quoted, why = urllib.parse.quote(page, safe=""), "as%20the%20console%20asks"
    for path in ("disk?hours=2160", "apps", "mirrors", "tokens", channel, f"{channel}/adoption",
                 f"{channel}/adoption/series?step=minute&points=60", f"{channel}/adoption/series?step=hour&points=48",
                 f"{channel}/adoption/series?step=day&points=90", f"{channel}/adoption/series?step=week&points=12",
                 f"{channel}/log?limit=6&before={newest}", f"{channel}/log?limit=2&at={released}",
                 f"{channel}/entry?url={quoted}&version={newest}", f"{channel}/diff?from=1&to=2&limit=0"):
        ask("GET", path)
    diff = f"{channel}/diff?from=1&to=2&limit=1&filter=m.example"
    first = ask("GET", diff)
    rest = ask("GET", f"{diff}&after={urllib.parse.quote(first['next'], safe='')}")
    assert first["counts"] == rest["counts"] and "next" not in rest, (first, rest)
    assert ask("GET", f"{channel}/entry?url={quoted}x&version={newest}", wanted=[404])["code"] == "unknown-url"
    assert ask("GET", "overview")["channels"] and ask("GET", "token")["scope"] == "admin"
    assert ask("GET", "audit/verify")["broken"] is None
    for path in ("token", "audit/verify", f"{channel}/releases/{newest}"):
        tag = ask("GET", path, tag=True)
        assert ask("GET", path, known=tag) is None, f"{path} is sent again to who has it"
    ask("POST", f"{channel}/rollback", {"bundle": "main", "to": "2", "dryRun": True})
    ask("POST", f"{channel}/freeze", {"reason": "a sale"})
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    ask("POST", "problems/acknowledge", {"app": "shop", "channel": "online", "code": "frozen", "reason": "a sale", "until": until})
    ask("DELETE", "problems/acknowledge?app=shop&channel=online&code=frozen")
    assert ask("GET", "search?q=first")["releases"] and ask("GET", f"{channel}/timeline?limit=5")["items"]
    # This origin has no listener for previews, and its releases have neither pictures nor source maps.
    assert ask("POST", f"{channel}/preview", {"page": page}, wanted=[409])["code"] == "preview-off"
    assert ask("GET", f"{channel}/releases/{newest}/pictures")["pictures"] == []
    ask("POST", f"{channel}/releases/{newest}/pictures", {"pictures": []}, wanted=[200, 201, 400])
    ask("GET", f"{channel}/releases/{newest}/pictures/{'0' * 64}", wanted=[404])
    ask("POST", f"{channel}/source-maps", {"maps": []}, wanted=[200, 201, 400])
    ask("POST", f"{channel}/thaw?reason={why}", {})
    ask("POST", f"{channel}/settings?reason={why}", {"interval": 90})
    ask("POST", f"{channel}/pins", {"version": newest, "reason": "a test"})
    ask("DELETE", f"{channel}/pins/{newest}?reason={why}")
    token = ask("POST", f"tokens?reason={why}", {"name": "of the console", "scope": "read"})["id"]
    ask("DELETE", f"tokens/{token}?reason={why}")
    ask("POST", f"gc?reason={why}", {"dryRun": False})
    rows = ask("GET", "audit?limit=50&act=channel.thaw&app=shop&channel=online&author=admin&since=2020-01-01T00%3A00%3A00.000Z"
               "&until=2999-01-01T00%3A00%3A00.000Z")["rows"]
    assert rows and urllib.parse.unquote(why) in json.dumps(rows[0]), rows
    assert ask("GET", "audit?limit=50&act=nothing")["rows"] == []
    assert len(ask("GET", f"audit?limit=1&before={rows[0]['id']}")["rows"]) == 1


def signed(origin):
    """An app that gets a root: the ceremony, a signed release, and what was signed given once more."""
    origin.environment["XCACHE_SIGN_PASSPHRASE"] = "for this test"
    app, key = ["--app", "signed"], ["--sign-key", "release.key"]
    (origin.folder / "signed").mkdir()
    (origin.folder / "signed/a.js").write_text("let one")
    publish = ["publish", "signed", "--bundle", "main", "--base-url", "https://m.example.com/", *app]
    origin.xcache(*publish, "--create")
    origin.xcache("trust", "init", *app)
    origin.xcache("trust", "push", "-y", "root.json", *key, *app)
    (origin.folder / "signed/a.js").write_text("let two")
    origin.xcache(*publish, *key)
    origin.xcache("trust", "status", *app)
    origin.xcache(*publish, *key, "--sign-for", "online,test")
    # Two signatures: the release waits for the second.
    for words in (["add-key", "--new", "second.key"], ["set-threshold", "releases", "2"], ["sign", "root-2.draft.json", "--key", "root.key"],
                  ["push", "-y", *key, "--sign-key", "second.key"]):
        origin.xcache("trust", *words, *([] if words[0] == "sign" else app))
    (origin.folder / "signed/a.js").write_text("let three")
    waiting = json.loads(origin.xcache(*publish, *key, "--json"))["scheduled"]
    assert waiting["signatures"][0]["missing"] == 1, waiting
    for line in (["status"], ["schedule", "list"], ["schedule", "show", str(waiting["id"])]):
        origin.xcache(*line, *app)
    origin.xcache("sign", str(waiting["id"]), "--sign-key", "second.key", "--no-build", "--yes", *app)


def team(origin, provider):
    """Two people and a CI job: sessions, sign-ins of a command line, identities, acts that wait for approval."""
    def ask(*arguments, **options):
        return asked(origin, *arguments, **options)

    def device():
        connection = http.client.HTTPConnection(origin.url[7:], timeout=30)
        connection.request("POST", "/auth/device", b"{}", {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())
    ana, kim = (provider.sign_in(origin, name, ["team"]) for name in ("ana", "kim"))
    shown = ask("GET", "token", token=ana)
    assert shown["kind"] == "session" and shown["subject"] == "ana" and shown["grants"][0]["scope"] == "admin", shown
    code = device()["userCode"]
    assert ask("GET", f"signins/{code}", token=ana)["kind"] == "device"
    ask("POST", f"signins/{code}", {"allow": False}, token=ana)
    ask("POST", f"signins/{device()['userCode']}", {"allow": True}, token=ana)
    sessions = ask("GET", "sessions", token=kim)["sessions"]
    assert len(sessions) == 1 and sessions[0]["isCurrent"], sessions
    ask("GET", "tokens?kind=session")
    ask("POST", "identities", {"name": "ci", "issuer": "https://ci.example.com", "subject": "repo:acme/shop:ref:refs/heads/main",
                               "audience": origin.url, "scope": "publish", "app": "shop", "bundles": "main", "hosts": ["m.example.com"]})
    assert ask("GET", "identities")["identities"][0]["name"] == "ci"
    ask("DELETE", "identities/ci")

    channel = "apps/shop/channels/online"
    ask("POST", f"{channel}/protect", {"approvals": 1, "by": "*", "share": 500})
    assert ask("GET", channel)["protection"]["approvals"] == 1
    acts = []
    for words in ("waits for ana", "is rejected"):
        (origin.folder / "dist/index.html").write_text(f"<!doctype html><p>{words}")
        said = json.loads(origin.xcache("publish", "dist", "--bundle", "main", "--base-url", "https://m.example.com/", "--app", "shop", "--json"))
        acts.append(said["scheduled"]["id"])
    assert [act["id"] for act in ask("GET", "waiting")["acts"]] == acts
    ask("GET", f"{channel}/schedules/{acts[0]}/preview", token=ana)
    ask("POST", f"{channel}/schedules/{acts[1]}/reject", {"message": "not this one"}, token=kim)
    approved = ask("POST", f"{channel}/schedules/{acts[0]}/approve", {"message": "looks right"}, token=ana)
    assert approved["approvals"]["missing"] == 0 and approved["approvals"]["given"][0]["name"] == "ana", approved
    (origin.folder / "prefetch.json").write_text("[]")
    origin.xcache("prefetch", "push", "prefetch.json", "--app", "shop")
    ask("POST", f"{channel}/protect", {"approvals": 0})
    ask("DELETE", f"sessions/{sessions[0]['id']}", token=kim)


def main():
    validate(DOCUMENT)
    provider = Provider(tempfile.mkdtemp(prefix="xcache-docs-"))
    with Origin(sys.argv[1], "--oidc-issuer", provider.issuer, "--oidc-client", "xcache", "--role", "admin=groups:team") as origin:
        Proxy.origin = origin.url[7:]
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin.environment["XCACHE_SERVER"] = f"http://127.0.0.1:{server.server_port}"
        commands(origin)
        signed(origin)
        team(origin, provider)
        server.shutdown()
    if wrong:
        raise SystemExit("\n".join(dict.fromkeys(wrong)))
    every = {(path, method) for path, operations in DOCUMENT["paths"].items() for method in operations}
    print(f"api: {sum(seen.values())} requests and answers are what openapi.json says, by {len(seen)} of its {len(every)} operations")
    # They need a listener, pictures of a web engine or a build with maps: OriginTests drives them (Previews, Pictures, SourceMapAPITests).
    channel = "/api/v1/apps/{app}/channels/{channel}"
    elsewhere = {(f"{channel}/preview", "post"), (f"{channel}/releases/{{name}}/pictures", "post"),
                 (f"{channel}/releases/{{name}}/pictures/{{part}}", "get"), (f"{channel}/source-maps", "post")}
    unseen = sorted(every - set(seen) - elsewhere)
    if unseen:
        raise SystemExit("not seen: " + ", ".join(f"{method.upper()} {path}" for path, method in unseen))


if __name__ == "__main__":
    main()
