#!/usr/bin/env python3
"""What a device costs an origin: bytes of a poll, an update, a batch of counts and a handshake; processor time of polls and batches.

    per_device.py PROGRAM [ROUNDS]          needs wrk and openssl; ROUNDS (3) of 3 seconds each, in turns

Bytes are HTTP's own, heads and bodies, as a device of ours (`xcache pull`) sends and gets them over a kept connection. Those of TLS are
of a connection with one request, with a certificate for P-256 that nobody else has signed, the request and its answer left out.
"""
import json
import pathlib
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "Tests/Docs"))
sys.dont_write_bytecode = True
from origin import Origin, free_port  # noqa: E402

BATCH = '{"counts":{"load-local-1024":1,"local":41,"paint-local-256":1,"passed":3,"polls":2,"status-2xx":2},"version":"2"}'
END = b"\r\n\r\n"
POLL = "/configure.json?app=shop&channel=online&version=2&digest={digest}&patch=1&pack=1"


class Recorder:
    """A proxy that keeps what goes each way."""

    def __init__(self, port):
        self.target, self.server = port, socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.clear()
        threading.Thread(target=self.accept, daemon=True).start()

    def clear(self):
        self.sent, self.got = bytearray(), bytearray()

    def accept(self):
        while True:
            client, _ = self.server.accept()
            origin = socket.create_connection(("127.0.0.1", self.target))
            for source, sink, is_sent in ((client, origin, True), (origin, client, False)):
                threading.Thread(target=self.copy, args=(source, sink, is_sent), daemon=True).start()

    def copy(self, source, sink, is_sent):
        try:
            while data := source.recv(65_536):
                (self.sent if is_sent else self.got).extend(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def exchange(port, request):
    """A request's answer, head and body."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request)
        return whole(connection.recv)


def whole(read):
    answer = b""
    while END not in answer:
        answer += read(65_536)
    head, _, body = answer.partition(END)
    size = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
    while len(body) < size:
        body += read(65_536)
    return head + END + body[:size]


def handshake(port, request):
    """Bytes each way of a connection with TLS, as its records have them, the request and its answer left out."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls, counts = context.wrap_bio(coming, going, server_hostname="localhost"), [0, 0]
    with socket.create_connection(("127.0.0.1", port)) as connection:
        def step(act):
            while True:
                try:
                    return act()
                except ssl.SSLWantReadError:
                    pass
                finally:
                    data = going.read()
                    counts[0] += len(data)
                    connection.sendall(data)
                data = connection.recv(65_536)
                counts[1] += len(data)
                coming.write(data)
        step(tls.do_handshake)
        step(lambda: tls.write(request))
        answer = whole(lambda size: step(lambda: tls.read(size)))
    return tls.version(), counts[0] - len(request), counts[1] - len(answer)


def processor(pid):
    """Nanoseconds that the process's threads have run."""
    return sum(int(path.read_text().split()[0]) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))


def microseconds(origin, url, *more):
    before = processor(origin.process.pid)
    said = subprocess.run(["wrk", "-t1", "-c16", "-d3s", *more, url], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in said:
        raise SystemExit(said)
    return (processor(origin.process.pid) - before) / 1000 / int(re.search(r"(\d+) requests in", said)[1])


def publish(origin, text):
    folder = origin.folder / "dist"
    folder.mkdir(exist_ok=True)
    (folder / "index.html").write_text(f'<!doctype html><meta charset="utf-8"><p>{text}')
    # What hardly changes, so that a pack is smaller than its file.
    (folder / "app.js").write_text("".join(f"export const name{n} = {n * n}\n" for n in range(5_000)) + f"// {text}\n")
    origin.xcache("publish", "dist", "--create", "--app", "shop", "--bundle", "main", "--base-url", "https://m.example.com/shop/")


def sizes(origin, recorder):
    """A poll with nothing new, and an update by a pack, as a device has them; returns the poll's digest."""
    def pull(*more):
        recorder.clear()
        return json.loads(origin.xcache("pull", "--app", "shop", "--to", "phone", "--force", "--server", recorder.url, "--json", *more))
    publish(origin, "one")
    pull()
    publish(origin, "two")
    pull()
    got = bytes(recorder.got)
    answer = whole(lambda _, left=[got]: left.pop())
    pack = json.loads(answer.partition(END)[2])["data"]["pack"]["size"]
    print(f"an update by a pack of {pack} B: {len(recorder.sent)} B asked, {len(got)} B answered, so {len(recorder.sent) + len(got) - pack} B besides")
    pull()
    request, answer = bytes(recorder.sent), bytes(recorder.got)
    print(f"a poll with nothing new: {len(request)} B asked, {len(answer)} B answered, of which {len(answer.partition(END)[2])} are the body")
    return re.search(rb"digest=(\w+)", request)[1].decode()


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    origin = Origin(program)
    port = int(origin.url.rsplit(":", 1)[1])
    recorder = Recorder(port)
    origin.environment["XCACHE_PUBLIC_URL"] = recorder.url
    with origin:
        digest = sizes(origin, recorder)
        report = (f"POST /report?app=shop&channel=online HTTP/1.1\r\nHost: origin.example.com\r\nUser-Agent: xcache\r\nAccept: */*\r\n"
                  f"Content-Type: application/json\r\nContent-Length: {len(BATCH)}\r\n\r\n{BATCH}").encode()
        print(f"a batch of counts: {len(report)} B sent, {len(exchange(port, report))} B answered")
        script = origin.folder / "report.lua"
        script.write_text(f'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = \'{BATCH}\'\n')
        polls, reports = [], []
        for _ in range(rounds):
            polls.append(microseconds(origin, origin.url + POLL.format(digest=digest)))
            reports.append(microseconds(origin, origin.url + "/report?app=shop&channel=online", "-s", str(script)))
        for what, each in (("a poll", polls), ("a batch of counts", reports)):
            print(f"{what}: {statistics.median(each):.1f} µs of processor time ({min(each):.1f}–{max(each):.1f})")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-keyout", "key.pem", "-out", "cert.pem"], cwd=origin.folder, check=True, capture_output=True)
        secure = free_port()
        other = subprocess.Popen([program, "serve", "--data", "other", "--listen", f"127.0.0.1:{secure}", "--tls-cert", "cert.pem",
                                  "--tls-key", "key.pem"], cwd=origin.folder, env=origin.environment, stderr=subprocess.PIPE, text=True)
        try:
            next(line for line in other.stderr if "listens on" in line)
            version, sent, got = handshake(secure, b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        finally:
            other.terminate()
            other.wait(30)
        certificate = ssl.PEM_cert_to_DER_cert((origin.folder / "cert.pem").read_text())
        print(f"{version}, with a certificate of {len(certificate)} B: {sent} B sent and {got} B got besides")


if __name__ == "__main__":
    if not shutil.which("wrk"):
        raise SystemExit("this needs wrk: apt-get install wrk")
    main()
