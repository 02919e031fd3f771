"""Sends requests as fast as the server takes them, over several kept connections, and judges each answer."""
import collections
import re
import select
import socket
import time

# On one connection before their answers are read.
DEPTH = 16
CONNECTIONS = 16
# Requests between two that get a connection of their own, since they break its framing.
ALONE = 100
# Seconds for an answer: releases wait for deltas for one.
PATIENCE = 30
LENGTH = re.compile(rb"\r\nContent-Length: *(\d+)", re.I)


class Finding(Exception):
    """What went wrong, and the requests of which one did it, likeliest first."""

    def __init__(self, what, requests):
        super().__init__(what)
        self.requests = requests


class Connection:
    """A kept connection: what is sent and not answered yet, oldest first."""

    def __init__(self, port):
        self.port, self.socket = port, None
        self.waiting, self.out, self.input = [], bytearray(), bytearray()
        self.skip, self.since = 0, time.monotonic()
        # How often it ended since the last answer.
        self.barren = 0

    def open(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.input.clear()
        self.skip, self.since = 0, time.monotonic()
        self.out = bytearray(b"".join(self.waiting))

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def add(self, request):
        self.waiting.append(request)
        self.out += request

    def write(self):
        del self.out[: self.socket.send(self.out)]

    def read(self):
        """Takes what has come: the answers, as (request, status, whole head and the body's beginning)."""
        arrived = self.socket.recv(1 << 18)
        if not arrived:
            return None
        self.since = time.monotonic()
        self.input += arrived
        answers = []
        while True:
            if self.skip:
                gone = min(self.skip, len(self.input))
                del self.input[:gone]
                self.skip -= gone
            end = -1 if self.skip else self.input.find(b"\r\n\r\n")
            if end < 0:
                return answers
            head = bytes(self.input[:end])
            if not head.startswith(b"HTTP/1.1 "):
                raise Finding("an answer that isn't HTTP: %r" % head[:200], self.waiting[:1])
            status = int(head[9:12])
            if status < 200:
                del self.input[: end + 4]
                continue
            request = self.waiting[0]
            length = LENGTH.search(head)
            count = 0 if request.startswith(b"HEAD ") or status in (204, 304) else int(length[1]) if length else None
            if count is None:
                raise Finding("an answer without Content-Length: %r" % head[:200], [request])
            beginning = bytes(self.input[end + 4 : end + 4 + min(count, 4096)])
            # What an error says is judged, so it is waited for.
            if status >= 500 and len(beginning) < min(count, 4096):
                return answers
            del self.input[: end + 4]
            self.skip = count
            self.waiting.pop(0)
            self.barren = 0
            answers.append((request, status, head, beginning))


def legitimate(request, status, head, beginning):
    """Whether a status from 500 on is the right answer: there are limits, and parts of HTTP that nobody implements."""
    if status == 503:
        return b"\r\nretry-after:" in head.lower() or b'"code":"busy"' in beginning
    return status in (501, 505) and re.search(rb"\r\ntransfer-encoding:", request, re.I) is not None


class Replay:
    """Sends a stream of requests; counts the answers by status."""

    def __init__(self, port, requests, breaking, alive, memory):
        self.port, self.requests, self.breaking, self.alive, self.memory = port, requests, breaking, alive, memory
        self.sent = self.answered = self.alone = 0
        self.statuses = {}
        # The newest answered ones: what they began may still go on.
        self.recent = collections.deque(maxlen=400)

    def run(self, seconds, each):
        connections = [Connection(self.port) for _ in range(CONNECTIONS)]
        begin = next_tick = time.monotonic()
        try:
            while (now := time.monotonic()) < begin + seconds:
                if now >= next_tick:
                    next_tick = now + 0.5
                    each(now - begin, self.answered, self.memory())
                self.turn(connections)
                while self.alone < self.answered // ALONE:
                    self.send_alone(next(self.breaking), connections)
            return self.answered
        except OSError:
            # Reset or refused: the process may be gone.
            self.check_alive(connections, 2)
            raise
        finally:
            for connection in connections:
                connection.close()

    def turn(self, connections):
        for connection in connections:
            if connection.socket is None:
                connection.open()
            while len(connection.waiting) < DEPTH and len(connection.out) < 1 << 20:
                connection.add(next(self.requests))
                self.sent += 1
        by_socket = {connection.socket: connection for connection in connections}
        writing = [connection.socket for connection in connections if connection.out]
        readable, writable, _ = select.select(by_socket, writing, [], 1)
        for one in writable:
            try:
                by_socket[one].write()
            except OSError:
                self.reconnect(by_socket[one], connections)
        for one in readable:
            if by_socket[one].socket is one:
                self.take(by_socket[one], connections)
        for connection in connections:
            if connection.waiting and time.monotonic() - connection.since > PATIENCE:
                self.check_alive(connections, 0)
                raise Finding(f"no answer within {PATIENCE} s", connection.waiting[:1])

    def send_alone(self, request, connections):
        """One on a connection of its own, which ends with it; there may be no answer."""
        self.alone += 1
        status = ask(self.port, request, ends=True)
        self.recent.append(request)
        if status is None:
            self.check_alive(connections, 0)
        elif status >= 500 and status not in (501, 503, 505):
            raise Finding(f"{status}", [request])

    def take(self, connection, connections):
        try:
            answers = connection.read()
        except ConnectionError:
            answers = None
        if answers is None:
            self.reconnect(connection, connections)
            return
        for request, status, head, beginning in answers:
            self.answered += 1
            self.recent.append(request)
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if status >= 500 and not legitimate(request, status, head, beginning):
                raise Finding(f"{status}: {beginning[:600].decode('utf-8', 'replace')}", [request])
            if b"\r\nConnection: close" in head and status in (400, 408, 411, 413, 414, 417, 431, 501, 505):
                # The rest of the pipeline is to be sent again, on a new connection.
                self.reconnect(connection, connections)
                return

    def reconnect(self, connection, connections):
        """The server ended a connection, as it may after framing that it refused: the rest is sent again on a new one.
        Where that brings no answer either, a request is lost. No wait here for a process that may be ending: it would stop
        all connections, and one to a process that ended is refused anyway."""
        self.check_alive(connections, 0)
        connection.close()
        connection.barren += 1
        if connection.barren > 3:
            raise Finding("a connection ends without an answer, again and again", connection.waiting[:1])

    def check_alive(self, connections, seconds):
        """Gives the process so long to end, if that is what it does."""
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() >= deadline:
                return
            time.sleep(0.005)
        suspects = [request for connection in connections for request in connection.waiting]
        raise Finding("the server's process ended", suspects + list(reversed(self.recent)))


def ask(port, request, patience=PATIENCE, ends=False):
    """One request on a connection of its own; the status, or None where there was no answer. `ends`: no more comes."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=patience) as one:
            one.sendall(request)
            if ends:
                one.shutdown(socket.SHUT_WR)
            head = one.recv(65536)
            while head.startswith(b"HTTP/1.1 100"):
                head = head.partition(b"\r\n\r\n")[2] or one.recv(65536)
            return int(head[9:12]) if head.startswith(b"HTTP/1.1 ") else None
    except (OSError, ValueError):
        return None
