#!/usr/bin/env python3
"""Sends a running origin what schemathesis makes of docs/openapi/openapi.json, valid and invalid, and holds each answer against it.

    contract.py PROGRAM [SECONDS]          needs the package schemathesis; 40 seconds, if nothing is said

The app, the channel and the versions of most requests are ones that the origin has; otherwise nearly all answers would be 404.
It runs with a fixed seed, each operation without a token, too. api.py checks what our own commands send.
"""
import copy
import http.client
import json
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
from origin import Origin  # noqa: E402

DOCUMENT = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/openapi/openapi.json").read_text())
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
          "response_schema_conformance,missing_required_header,unsupported_method,allow_header_conformance")
KNOWN = {"app": ["shop", "shop", "nobody", "9%"], "channel": ["online", "online", "test", "-"],
         "from": ["1", "2", "0", "x"], "to": ["2", "1", "7", ""]}


def narrowed():
    """The document with names that the origin has, and without an act that ends the run's own token."""
    document = copy.deepcopy(DOCUMENT)
    for operations in document["paths"].values():
        for operation in operations.values():
            for one in operation["parameters"]:
                if one["name"] in KNOWN:
                    one["schema"] = {"type": "string", "enum": list(dict.fromkeys(KNOWN[one["name"]]))}
    return document


def without_token(origin):
    """Every operation wants a token."""
    for path, operations in DOCUMENT["paths"].items():
        path = path.replace("{app}", "shop").replace("{channel}", "online").replace("{name}", "1")
        for method in operations:
            connection = http.client.HTTPConnection(origin.url[7:], timeout=30)
            connection.request(method.upper(), path, b"{}" if method in ("post", "put") else None,
                               {"Content-Type": "application/json", "Content-MD5": "x"})
            answer = connection.getresponse()
            problem = json.loads(answer.read())
            if answer.status != 401 or not answer.headers["WWW-Authenticate"] or problem["status"] != 401:
                raise SystemExit(f"{method.upper()} {path} without a token: {answer.status} {problem}")


def main():
    program, seconds = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "40"
    with Origin(program) as origin:
        for word in ("one", "two"):
            (origin.folder / "dist").mkdir(exist_ok=True)
            (origin.folder / "dist/index.html").write_text(f"<!doctype html><p>{word}")
            origin.xcache("publish", "--create", "dist", "--bundle", "main", "--base-url", "https://m.example.com/", "--app", "shop", "-m", word)
        without_token(origin)
        (origin.folder / "openapi.json").write_text(json.dumps(narrowed()))
        # A method that the server has at no path, such as PATCH, is 501: RFC 9110, section 15.6.2.
        (origin.folder / "schemathesis.toml").write_text(
            '[phases.coverage]\nunexpected-methods = ["GET", "PUT", "POST", "DELETE"]\n')
        done = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "run", "openapi.json", "--url", origin.url, "--checks", CHECKS, "--seed", "1",
             "--phases", "examples,coverage,fuzzing", "--max-time", seconds, "--suppress-health-check", "all", "--warnings", "off",
             "--generation-database", "none", "--output-sanitize", "false", "--continue-on-failure", "--no-color",
             "--header", "Authorization: Bearer " + origin.environment["XCACHE_TOKEN"]],
            cwd=origin.folder, env=origin.environment, capture_output=True, text=True, timeout=float(seconds) + 60)
        lines = done.stdout.splitlines()
        if done.returncode != 0:
            raise SystemExit(done.stdout[-20_000:] + done.stderr[-4000:])
        print("contract: " + " ".join(line.strip() for line in lines if "generated" in line or "passed" in line))


if __name__ == "__main__":
    main()
