#!/usr/bin/env python3
"""A receiver of webhooks that checks signatures by itself.   receiver.py FOLDER [PORT [CERTIFICATE KEY]]

FOLDER/secrets has a line "PATH SECRET" for each path; FOLDER/modes a line "PATH MODE" for each that doesn't simply answer 200: a
status, "hang", or one of ATTACKS. What arrives is added to FOLDER/log, one JSON document per line. Prints its port.
"""
import base64
import hashlib
import hmac
import http.server
import json
import pathlib
import ssl
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


OK = b"HTTP/1.1 200 OK\r\n"


def then(first, rest):
    yield first
    yield from rest


def forever(piece, pause=0.0):
    while True:
        yield piece
        time.sleep(pause)


# What a hostile receiver sends, piece by piece.
ATTACKS = {
    "endless-body": lambda: then(
        OK + b"Transfer-Encoding: chunked\r\n\r\n", forever(b"10000\r\n" + b"x" * 65536 + b"\r\n")),
    "endless-head": lambda: then(OK, forever(b"X-More: " + b"x" * 60_000 + b"\r\n")),
    "endless-line": lambda: then(OK + b"X-More: ", forever(b"x" * 65536)),
    "endless-1xx": lambda: forever(b"HTTP/1.1 103 Early Hints\r\nLink: <" + b"x" * 8000 + b">\r\n\r\n"),
    "dripping-head": lambda: then(OK, forever(b"X: y\r\n", 0.2)),
    "dripping-body": lambda: then(OK + b"Content-Length: 1000\r\n\r\n", forever(b"x", 0.2)),
    "bomb": lambda: [OK + b"Content-Encoding: gzip\r\nContent-Length: 1000000\r\n\r\n" + b"\x1f\x8b" + b"x" * 100_000],
    "no-http": lambda: [b"\x16\x03\x01" * 1000],
    "nothing": lambda: [],
}


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
        if mode in ATTACKS:
            self.close_connection = True
            try:
                for piece in ATTACKS[mode]():
                    self.wfile.write(piece)
            except OSError:
                pass
            return
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
if len(sys.argv) > 4:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
