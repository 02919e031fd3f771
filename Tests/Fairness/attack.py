#!/usr/bin/env python3
"""Sends costly requests, 200 at a time, in one of three ways: attack.py JOB.json MODE SECONDS

abandoned: each request is left after a second, half of them with a reset and half as a browser closes.
slow: heads arrive in two halves, and answers are read at 2 KB a second.
repeated: each answer is read, and the request sent again over the same connection.
Prints how many requests were sent and answered.
"""
import base64, json, os, random, selectors, socket, struct, sys, time

job, mode, seconds = json.load(open(sys.argv[1])), sys.argv[2], float(sys.argv[3])
requests = [base64.b64decode(text) for text in job["requests"]]
IN_FLIGHT = 200
dice, selector = random.Random(1), selectors.DefaultSelector()
sent = answered = 0
os.nice(10)  # the attackers' own work isn't what is measured


class Slot:
    """One request in flight."""

    def __init__(self, number):
        self.number, self.socket = number, None

    def open(self, now):
        self.socket = socket.socket()
        self.socket.setblocking(False)
        if mode == "slow":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        # Eight addresses, as a small office or a botnet's corner would have.
        self.socket.bind((f"127.0.1.{1 + self.number % 8}", 0))
        self.socket.connect_ex(("127.0.0.1", job["port"]))
        self.begin(now)
        selector.register(self.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, self)

    def begin(self, now):
        global sent
        sent += 1
        self.out = dice.choice(requests)
        self.head, self.left, self.due = b"", None, now + 1.0
        self.resume = 0.0
        self.half = len(self.out) // 2 if mode == "slow" else 0

    def close(self, resets=False):
        selector.unregister(self.socket)
        if resets:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def write(self, now):
        if not self.out or now < self.resume:
            return
        count = self.socket.send(self.out[:self.half or len(self.out)])
        self.out = self.out[count:]
        if self.half:
            self.half, self.resume = 0, now + 0.5
        if not self.out or self.resume > now:
            selector.modify(self.socket, selectors.EVENT_READ, self)

    def read(self, now):
        """Reads on; false if the connection has ended."""
        data = self.socket.recv(200 if mode == "slow" else 262_144)
        if not data:
            return False
        if mode == "slow":
            self.resume = now + 0.1
            return True
        if self.left is None:
            self.head += data
            head, found, rest = self.head.partition(b"\r\n\r\n")
            if not found:
                return True
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
            status = int(head.split(b" ", 2)[1])
            self.left = 0 if status in (204, 304) else int(fields.get(b"content-length", b"0"))
            self.closes = fields.get(b"connection") == b"close"
            data = rest
        self.left -= len(data)
        if self.left <= 0:
            global answered
            answered += 1
            if self.closes:
                return False
            self.begin(now)
            selector.modify(self.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, self)
        return True


slots = [Slot(number) for number in range(IN_FLIGHT)]
end = time.monotonic() + seconds
for slot in slots:
    slot.open(time.monotonic())
while (now := time.monotonic()) < end:
    for key, events in selector.select(0.02):
        slot = key.data
        try:
            if events & selectors.EVENT_WRITE:
                slot.write(now)
            goes_on = not events & selectors.EVENT_READ or mode == "abandoned" or now < slot.resume or slot.read(now)
        except BlockingIOError:
            continue
        except OSError:
            goes_on = False
        if not goes_on:
            slot.close()
            slot.open(now)
    if mode == "slow":
        for slot in slots:
            if slot.out and slot.resume <= now:
                selector.modify(slot.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, slot)
    elif mode == "abandoned":
        for slot in slots:
            if now >= slot.due + slot.number / IN_FLIGHT:
                slot.close(resets=slot.number % 2 == 0)
                slot.open(now)
    time.sleep(0.002)
print(json.dumps({"sent": sent, "answered": answered}))
