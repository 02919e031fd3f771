#!/usr/bin/env python3
"""Checks docs/schemas against the documents of a running origin and of a static copy, and against damaged ones.

    schemas.py PROGRAM          needs the package jsonschema
"""
import base64
import copy
import http.server
import json
import pathlib
import sys
import threading
import time

from jsonschema import Draft202012Validator, FormatChecker

sys.dont_write_bytecode = True
from origin import Origin  # noqa: E402

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "docs/schemas"
VALIDATORS = {}
for path in SCHEMAS.glob("*.schema.json"):
    schema = json.loads(path.read_text())
    Draft202012Validator.check_schema(schema)
    VALIDATORS[path.name.removesuffix(".schema.json")] = Draft202012Validator(schema, format_checker=FormatChecker())
checked, refused = {}, 0


def holds(name, document, where):
    """A document that the schema must take; its text, or what it is read to."""
    value = json.loads(document) if isinstance(document, (bytes, str)) else document
    errors = [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in VALIDATORS[name].iter_errors(value)]
    if errors:
        raise SystemExit(f"{where} isn't what {name}.schema.json says:\n  " + "\n  ".join(errors))
    checked[name] = checked.get(name, 0) + 1
    return value


def refuses(name, value, change):
    """A document that the schema must refuse once `change` has damaged it."""
    global refused
    damaged = copy.deepcopy(value)
    change(damaged)
    if VALIDATORS[name].is_valid(damaged):
        raise SystemExit(f"{name}.schema.json takes what it must refuse: {json.dumps(damaged)[:300]}")
    refused += 1


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes what webhooks are told."""
    bodies = []

    def do_POST(self):
        self.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


def told(count):
    """What webhooks were told, once so many messages have come."""
    end = time.monotonic() + 30
    while len(Receiver.bodies) < count:
        if time.monotonic() > end:
            raise SystemExit(f"a webhook got {len(Receiver.bodies)} messages of {count}: {Receiver.bodies}")
        time.sleep(0.05)
    return [holds("webhook", body, "what a webhook is told") for body in Receiver.bodies]


def documents(origin):
    receiver = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    origin.xcache("webhook", "add", f"http://127.0.0.1:{receiver.server_port}/", "--allow-private")
    build = origin.folder / "dist"
    build.mkdir()
    app = ["--app", "shop"]
    publish = ["publish", "--create", "dist", "--bundle", "main", "--base-url", "https://m.example.com/", *app]
    (build / "index.html").write_text("<!doctype html><script src=app.js></script>")
    (build / "app.js").write_text("let one = 1;\n" * 200)
    (build / "gone.js").write_text("let gone")
    origin.xcache(*publish)
    (build / "app.js").write_text("let one = 1;\n" * 200 + "let two = 2;\n")
    (build / "gone.js").unlink()
    origin.xcache(*publish)
    poll = "/configure.json?app=shop"
    whole = holds("configure", origin.get(poll), "the whole manifest")
    patch = holds("configure", origin.get(poll + "&version=1&patch=1"), "a patch")
    pack = holds("configure", origin.get(poll + "&version=1&patch=1&pack=1"), "a pack")
    nothing = holds("configure", origin.get(poll + "&version=2"), "nothing new")
    failure = holds("configure", origin.get("/configure.json?app=nobody"), "a failed poll")
    assert "patch" in patch["data"] and "pack" in pack["data"] and nothing["data"]["update"] is False and failure["code"] == 404
    config = holds("prefetchConfig", origin.get("/prefetchConfig?app=shop"), "the prefetch config before the first one")
    holds("policy", origin.get("/policy.json?app=shop"), "the policy before the first one")

    (origin.folder / "prefetch.json").write_text(json.dumps([{"url": "https://m.example.com/index.html", "interfaces": [
        {"api": "https://m.example.com/info", "method": "POST", "urlParam": True, "bodyParam": True, "body": {"a": 1}}]}]))
    origin.xcache("prefetch", "push", "prefetch.json", *app)
    config = holds("prefetchConfig", origin.get("/prefetchConfig?app=shop"), "the prefetch config")
    origin.xcache("policy", "bypass", "add", "https://pay.example.com/*", "--for", "2d", *app)
    origin.xcache("policy", "kill", "--for", "6h", "-m", "a test", *app)
    (origin.folder / "hook.js").write_text("void 0")
    signature = base64.b64encode(bytes(64)).decode()
    origin.xcache("policy", "script", "add", "hook.js", "--signature", signature, *app)
    policy = holds("policy", origin.get("/policy.json?app=shop"), "the policy")
    assert policy["data"]["bypass"] and not policy["data"]["intercept"] and policy["data"]["scripts"]
    origin.xcache("channel", "set", "--interval", "120", "--reports", "5", *app)
    origin.xcache("rollback", "--bundle", "main", "--steps", "1", *app)
    polled = holds("configure", origin.get(poll + "&version=3"), "a poll with every member")
    assert {"interval", "policy", "prefetch", "reports", "rollback"} <= set(polled["data"]), polled
    info = holds("info", origin.get("/xcache/shop/info.json"), "info.json")

    report = "/report?app=shop&channel=online"
    for one in ({"reason": "integrity", "url": "https://m.example.com/app.js", "version": "3"},
                {"counts": {"local": 41, "paint-local-256": 1}, "version": "3"},
                {"evidence": {"age": 3, "arm": "candidate", "failed": 1, "opened": 0, "version": "3"}},
                {"cause": "page", "evidence": {"arm": "candidate", "failed": 1, "opened": 0, "version": "3"}, "reason": "returned",
                 "url": "https://m.example.com/", "version": "3"},
                {"sample": {"engine": "Chromium 141", "kind": "script", "message": "x is not defined", "page": "https://m.example.com/",
                            "stack": ["f@https://m.example.com/app.js:1:7"]}, "version": "3"}):
        holds("report", one, "a report")
        holds("reported", origin.get(report, json.dumps(one).encode()), "the answer to a report")
    holds("reported", origin.get(report, b'{"reason":"because"}'), "the answer to a wrong report")

    problem = holds("problem", origin.get("/api/v1/nothing"), "a problem of the API")
    holds("problem", origin.xcache("status", "--app", "nobody", "--json", wanted=1), "a failed command")
    holds("problem", origin.xcache("status", "--nonsense", "--json", wanted=2), "a wrong command")

    origin.xcache("channel", "freeze", "-m", "a sale", *app)
    messages = told(6)
    assert [one["type"] for one in messages] == ["release", "release", "bypass", "kill", "rollback", "freeze"], messages
    assert messages[1]["data"]["changes"] == {"added": 0, "changed": 1, "removed": 1}, messages[1]

    origin.xcache("mirror", "--data", "data", "--to", "www")
    mirror, kinds = None, {"version.json": "configure", "configure.json": "configure", "info.json": "info", "policy.json": "policy",
                           "prefetchConfig.json": "prefetchConfig", "mirror.json": "mirror", "configure": "configure",
                           "patch": "configure", "update": "configure", "release": "release"}
    for path in sorted((origin.folder / "www").rglob("*.json")):
        name = path.name if path.name in kinds else path.parent.name
        if name not in kinds:
            raise SystemExit(f"the static copy has a document without a schema: {path.relative_to(origin.folder)}")
        value = holds(kinds[name], path.read_bytes(), path.relative_to(origin.folder))
        mirror = value if name == "mirror.json" else mirror

    # An app with a root.
    origin.environment["XCACHE_SIGN_PASSPHRASE"] = "for this test"
    signed = ["--app", "signed"]
    publish = ["dist", "--bundle", "main", "--base-url", "https://m.example.com/", *signed]
    origin.xcache("publish", "--create", *publish)
    origin.xcache("trust", "init", *signed)
    origin.xcache("trust", "push", "-y", "root.json", "--sign-key", "release.key", *signed)
    (build / "app.js").write_text("let three = 3;\n")
    origin.xcache("publish", *publish, "--sign-key", "release.key")
    root = holds("envelope", origin.get("/xcache/signed/root/1.json"), "a root")
    holds("envelope", origin.get("/xcache/signed/head.json"), "a head")
    for query in ("", "&version=3", "&version=2&patch=1", "&version=2&patch=1&pack=1"):
        answer = holds("configure", origin.get(f"/configure.json?app=signed{query}"), "an answer in an app with a root")
        assert answer["data"]["root"] == "1" and ("trust" in answer["data"]) == answer["data"]["update"], answer
    refuses("envelope", root, lambda d: d.pop("payload"))

    entry = next(iter(whole["data"]["resourcemap"]))
    refuses("configure", whole, lambda d: d["data"].pop("digest"))
    refuses("configure", whole, lambda d: d["data"].update(version=2))
    refuses("configure", whole, lambda d: d["data"].update(update=False, version="01"))
    refuses("configure", whole, lambda d: d["data"]["resourcemap"][entry].pop("md5"))
    refuses("configure", whole, lambda d: d["data"]["resourcemap"][entry].update(size=-1))
    refuses("configure", whole, lambda d: d["data"]["resourcemap"][entry].update(headers={"X-Frame-Options": "a\nb"}))
    refuses("configure", whole, lambda d: d["data"]["resourcemap"].update({"ftp://m.example.com/": d["data"]["resourcemap"][entry]}))
    refuses("configure", patch, lambda d: d["data"].pop("base"))
    refuses("configure", pack, lambda d: d["data"].update(patch={}))
    refuses("configure", nothing, lambda d: d.pop("data"))
    refuses("configure", polled, lambda d: d["data"].update(interval=5))
    refuses("configure", failure, lambda d: d.update(code=200))
    refuses("prefetchConfig", config, lambda d: d["data"]["config"][0].pop("url"))
    refuses("policy", policy, lambda d: d["data"].update(until=7))
    refuses("policy", policy, lambda d: d["data"]["scripts"][0].update(signature="no"))
    refuses("info", info, lambda d: d.update(version="3"))
    refuses("report", {"reason": "because", "url": "", "version": "3"}, lambda d: None)
    refuses("report", {"counts": {"local": 1000001}, "version": "3"}, lambda d: None)
    refuses("report", {"evidence": {"arm": "both", "failed": 0, "opened": 1, "version": "3"}}, lambda d: None)
    refuses("report", {"sample": {"kind": "other", "message": "", "page": "https://m.example.com/"}, "version": "3"}, lambda d: None)
    refuses("reported", {"code": 400}, lambda d: None)
    refuses("mirror", mirror, lambda d: d["channels"][0].pop("files"))
    refuses("release", {"kind": "publish"}, lambda d: None)
    refuses("webhook", messages[0], lambda d: d.pop("type"))
    refuses("webhook", messages[0], lambda d: d["data"].update(version=1))
    refuses("problem", problem, lambda d: d.update(code="Not Found"))


def main():
    with Origin(sys.argv[1]) as origin:
        documents(origin)
    missing = set(VALIDATORS) - set(checked)
    if missing:
        raise SystemExit(f"no document was checked against {', '.join(sorted(missing))}")
    print(f"schemas: {sum(checked.values())} documents hold, {refused} damaged ones are refused")


if __name__ == "__main__":
    main()
