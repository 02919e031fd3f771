#!/usr/bin/env python3
"""Handshakes without end, and whether the server keeps anything of them: load.py XCACHE [SECONDS (60)]

Clients of openssl's connect as fast as this machine goes, each connection with a request, while others send what is no TLS,
begin and say no more, or go away in the midst, and the certificate is read anew each 5 seconds. One more client begins each
second session with the ticket of the one before. No handshake of a client that keeps to the protocol may fail: openssl's end
at the first, ours count theirs, and the server may not count more than there were rude clients. Memory and descriptors must
be what they were after the first quarter. `make test-tls` runs it.
"""
import os
import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

xcache, seconds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
WANTED = 1000


def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def metric(port, name, context):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as connection:
            connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            text = b""
            while part := connection.recv(65536):
                text += part
    return int(re.search(rf"^{name} (\d+)$", text.decode(), re.M).group(1))


RUDE = ("spoke plain HTTP", "sent noise", "said nothing more", "broke off")


def trouble(port, over, counts):
    """One rude client after another; each is counted by its kind before it does anything that the server could count."""
    silent = []
    while not over.is_set():
        try:
            rude = socket.create_connection(("127.0.0.1", port), timeout=5)
            kind = random.randrange(4)
            counts[RUDE[kind]] += 1
            if kind == 0:
                rude.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                assert rude.recv(100).startswith(b"HTTP/1.1 400 ")
            elif kind == 1:
                rude.sendall(random.randbytes(random.randrange(1, 2000)))
            elif kind == 2:
                rude.sendall(bytes([22, 3, 1, 2, 0, 1, 0]))
                silent.append(rude)
                if len(silent) > 100:
                    silent.pop(0).close()
                time.sleep(0.005)
                continue
            else:
                # Reset in the midst.
                rude.sendall(bytes([22, 3, 1]))
                rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            rude.close()
        except ConnectionResetError:
            pass
        time.sleep(0.005)


def resuming(port, pem, over, counts, faults):
    """One client that keeps to the protocol after another, each second one with the session of the one before."""
    context = ssl.create_default_context(cafile=pem)
    session = None
    while not over.is_set():
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
                with context.wrap_socket(plain, server_hostname="localhost", session=session) as connection:
                    connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                    text = b""
                    while part := connection.recv(65536):
                        text += part
                    assert text.startswith(b"HTTP/1.1 200 "), text
                    counts["resumed" if connection.session_reused else "new"] += 1
                    # TLS 1.3 sends its tickets behind the handshake, with the answer.
                    session = None if connection.session_reused else connection.session
        except (OSError, AssertionError) as error:
            faults.append(f"{type(error).__name__}: {error}")
            session = None
        time.sleep(0.005)


def main():
    with tempfile.TemporaryDirectory() as work:
        pem, key = f"{work}/tls.pem", f"{work}/tls.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                        "/CN=localhost", "-days", "2", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", key, "-out", pem], check=True, capture_output=True)
        log = open(f"{work}/log", "w+")
        server = subprocess.Popen([xcache, "serve", "--data", f"{work}/data", "--listen", "127.0.0.1:0", "--tls-cert", pem,
                                   "--tls-key", key], stderr=log)
        try:
            run(server, log, pem)
        finally:
            if server.poll() is None:
                server.kill()


def run(server, log, pem):
    for _ in range(500):
        log.seek(0)
        words = log.read()
        if found := re.search(r"listens on https://127\.0\.0\.1:(\d+),", words):
            break
        assert server.poll() is None, words
        time.sleep(0.02)
    port = int(found.group(1))
    context = ssl.create_default_context(cafile=pem)
    over, counts, faults = threading.Event(), dict.fromkeys((*RUDE, "new", "resumed"), 0), []
    others = [threading.Thread(target=trouble, args=(port, over, counts), daemon=True),
              threading.Thread(target=resuming, args=(port, pem, over, counts, faults), daemon=True)]
    for other in others:
        other.start()
    start = time.monotonic()
    clients = [subprocess.Popen(["openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-new", "-time", str(seconds), version,
                                 "-CAfile", pem, "-www", "/healthz"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
               for version in ("-tls1_3", "-tls1_3", "-tls1_3", "-tls1_2")]
    samples, first = [], metric(port, "http_tls_handshakes_total", context)
    while time.monotonic() - start < seconds - 1:
        time.sleep(min(5, seconds / 8))
        server.send_signal(signal.SIGHUP)
        samples.append((time.monotonic() - start, resident(server.pid), descriptors(server.pid)))
        print("{:5.0f} s: {:.1f} MB, {} descriptors".format(*samples[-1]), flush=True)
    for client in clients:
        words = client.communicate(timeout=seconds + 60)[0]
        # It ends at the first handshake that fails.
        assert client.returncode == 0, words
    elapsed = time.monotonic() - start
    done = metric(port, "http_tls_handshakes_total", context) - first
    over.set()
    for other in others:
        other.join(timeout=60)
    failed, rude = metric(port, "http_tls_handshake_failures_total", context), sum(counts[kind] for kind in RUDE)
    print(f"{done} handshakes in {elapsed:.0f} s, {done / elapsed:.0f} a second; of one client that resumes each second session "
          f"{counts['new']} new, {counts['resumed']} resumed", flush=True)
    print(f"{rude} rude clients ({', '.join(f'{counts[kind]} {kind}' for kind in RUDE)}); "
          f"the server counts {failed} handshakes that failed", flush=True)
    assert not faults, f"{len(faults)} handshakes or requests of a right client failed, such as {faults[:3]}"
    assert counts["resumed"] > 0, "no session was resumed"
    assert failed <= rude, f"{failed - rude} handshakes failed that no rude client began"
    for _ in range(600):
        time.sleep(0.1)
        if descriptors(server.pid) < 40:
            break
    quarter = [memory for moment, memory, _ in samples if moment > seconds / 4]
    growth = samples[-1][1] - quarter[0]
    print(f"memory after a quarter {quarter[0]:.1f} MB, at the end {samples[-1][1]:.1f} MB; "
          f"descriptors at the end {descriptors(server.pid)}", flush=True)
    server.terminate()
    assert server.wait(timeout=20) == 0
    assert descriptors_ok(samples), samples
    assert growth < 8, "it grows"
    assert done / elapsed >= WANTED or os.cpu_count() < 4, f"fewer than {WANTED} handshakes a second"
    print("nothing is kept")


def descriptors_ok(samples):
    # Rude clients hold 100, and the others a few.
    return all(count < 400 for _, _, count in samples)


main()
