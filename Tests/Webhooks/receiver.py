#!/usr/bin/env python3
"""A receiver of webhooks that checks signatures by itself.   receiver.py FOLDER [PORT]

FOLDER/secrets has a line "PATH SECRET" for each path; FOLDER/modes a line "PATH MODE" for each that doesn't simply answer 200: a
status, or "hang". What arrives is added to FOLDER/log, one JSON document per line. Prints its port.
"""
import base64
import hashlib
import hmac
import http.server
import json
import pathlib
import sys
import threading
import time

FOLDER = pathlib.Path(sys.argv[1])
LOCK = threading.Lock()


def pairs(name):
    file = FOLDER / name
    return dict(line.split() for line in file.read_text().splitlines()) if file.exists() else {}


def verified(headers, body, secret):
    """Standard Webhooks, "Verifying signatures"."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return abs(time.time() - int(headers["webhook-timestamp"])) < 300 and any(
        hmac.compare_digest(wanted, one) for one in headers["webhook-signature"].split(" "))


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        mode = pairs("modes").get(self.path, "200")
        secret = pairs("secrets").get(self.path)
        line = {"path": self.path, "id": self.headers["webhook-id"], "mode": mode, "body": json.loads(body),
                "verified": bool(secret) and verified(self.headers, body, secret),
                "contentType": self.headers["content-type"]}
        with LOCK, open(FOLDER / "log", "a") as log:
            print(json.dumps(line), file=log)
        if mode == "hang":
            time.sleep(60)
            return
        self.send_response(int(mode))
        if mode.startswith("3"):
            self.send_header("Location", "/elsewhere")
        answer = b"x" * 100_000
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        try:
            self.wfile.write(answer)
        except OSError:
            self.close_connection = True

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Receiver)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
