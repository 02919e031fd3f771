#!/usr/bin/env python3
"""Others meanwhile: victims.py JOB.json polls|acts SECONDS prints the milliseconds that each request took.

polls: 100 a second over one connection.
acts: the kill switch 5 times a second, a rollback of one change 3 times, and a file that nobody asked for before 5 times.
"""
import http.client, json, socket, sys, threading, time

job, what, seconds = json.load(open(sys.argv[1])), sys.argv[2], float(sys.argv[3])
PATIENCE = 5.0  # what takes longer counts as that, and the connection is given up
end = time.monotonic() + seconds
found = {}


def repeat(name, pause, act):
    """Acts until the end, and notes how long each took and what failed."""
    found[name], found[name + " failed"] = times, failures = [], []
    number = 0
    while time.monotonic() < end:
        begin = time.monotonic()
        try:
            act(number)
        except (OSError, http.client.HTTPException, AssertionError) as error:
            failures.append(f"{type(error).__name__} {error}")
        took = time.monotonic() - begin
        times.append(round(took * 1000, 2))
        number += 1
        time.sleep(max(0, pause - took))


def ask(address, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", job["port"], timeout=PATIENCE, source_address=(address, 0))
    headers = {"Authorization": "Bearer " + job["token"]} if path.startswith("/api/") else {}
    connection.request(method, path, body and json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status in (200, 201, 206), f"{answer.status} {text[:200]}"


class Poller:
    request = (f"GET /configure.json?app=shop&version={job['newest']}&patch=1 HTTP/1.1\r\nHost: h\r\n\r\n").encode()
    socket = None

    def poll(self, _):
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", job["port"]), PATIENCE, ("127.0.0.9", 0))
        try:
            self.socket.sendall(self.request)
            answer = self.socket.recv(65536)
        except OSError:
            self.socket = None
            raise
        assert b'"update":false' in answer, answer[:200]


CALM = "/api/v1/apps/calm/channels/online"
cold = iter(job["cold"])
acts = {
    "kill": (0.2, lambda n: ask("127.0.0.2", "POST", CALM + "/policy", {"act": ("kill", "resume")[n % 2]})),
    "rollback": (0.33, lambda n: ask(
        "127.0.0.3", "POST", CALM + "/rollback", {"bundle": "main", "to": str(1 + n % 2), "message": "fairness"})),
    "cold": (0.2, lambda n: ask("127.0.0.4", "GET", next(cold))),
} if what == "acts" else {"poll": (0.01, Poller().poll)}
threads = [threading.Thread(target=repeat, args=(name, *act)) for name, act in acts.items()]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(found))
