"""The network of one case: an HTTP proxy on a loopback port that answers for all hosts itself."""
import base64, gzip, hashlib, json, socket, struct, threading, time
from email.utils import formatdate
from urllib.parse import parse_qsl, urlsplit


class Rule:
    """A rule that matches requests, and its answer."""

    def __init__(self, rule):
        self.at = rule["at"]
        self.query = rule.get("query", {})
        self.method = rule.get("method", "GET")
        self.left = rule.get("times")
        self.status = rule.get("status", 200)
        self.headers = rule.get("headers", {})
        # Seconds by which the server's clock is ahead of the device's.
        self.date = rule.get("date")
        self.ranges = rule.get("ranges", True)
        self.coding = rule.get("coding")
        # The text to compress instead of the body.
        self.coded = rule.get("coded")
        self.damaged = rule.get("damaged", False)
        self.fault = rule.get("fault", {})
        if "json" in rule:
            text = json.dumps(rule["json"], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
            self.body = text.encode()
        elif "base64" in rule:
            self.body = base64.b64decode(rule["base64"])
        elif "fill" in rule:
            fill = rule["fill"]
            text = fill["text"] * fill["times"]
            if "{n}" in fill["text"]:
                text = "".join(fill["text"].replace("{n}", str(number)) for number in range(fill["times"]))
            self.body = (fill.get("before", "") + text + fill.get("after", "")).encode()
        else:
            self.body = rule.get("text", "").encode()

    def fits(self, method, url, query):
        if self.left == 0 or method != self.method or url != self.at:
            return False
        return all(query.get(key) == value for key, value in self.query.items())


class Network:
    """Answers by the rules and logs the requests."""

    def __init__(self):
        self.rules, self.log, self.posts = [], [], []
        # The most body bytes sent in one answer, by URL.
        self.sent = {}
        self.lock = threading.Lock()
        self.kill = lambda: None
        # The device's time, in milliseconds since 1970.
        self.now = lambda: 0
        # Set by the step `release`: held answers are sent.
        self.released = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        self.open = set()
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.socket.close()
        self.released.set()
        with self.lock:
            for connection in self.open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def serve(self, rules, fresh):
        with self.lock:
            made = [Rule(rule) for rule in rules]
            self.rules = made if fresh else made + self.rules

    def take_log(self):
        with self.lock:
            log, self.log = self.log, []
            return log

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.converse, args=(connection,), daemon=True).start()

    def converse(self, connection):
        with self.lock:
            self.open.add(connection)
        try:
            reader = connection.makefile("rb")
            while self.exchange(connection, reader):
                pass
        except (OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.open.discard(connection)
            connection.close()

    def exchange(self, connection, reader):
        """Handles one request; returns False if the connection ends."""
        line = reader.readline(65536).decode("latin-1").split()
        if len(line) != 3:
            return False
        method, target = line[0], line[1]
        fields = {}
        while (field := reader.readline(65536).strip()):
            name, _, value = field.decode("latin-1").partition(":")
            fields[name.strip().lower()] = value.strip()
        if fields.get("expect") == "100-continue":
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        sent = reader.read(int(fields.get("content-length", 0)))
        parts = urlsplit(target)
        url = f"{parts.scheme}://{parts.netloc}{parts.path}"
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        fields[":query"] = parts.query
        with self.lock:
            if method == "POST":
                self.posts.append((url, query, sent))
            else:
                self.log.append((method, url, query, fields))
            rule = next((rule for rule in self.rules if rule.fits(method, url, query)), None)
            if rule and rule.left:
                rule.left -= 1
        rule = rule or Rule({"at": url, "status": 404, "json": {"code": 404, "message": "nothing here"}})
        return self.answer(connection, rule, method, url, fields)

    def answer(self, connection, rule, method, url, fields):
        fault = rule.fault
        if "kill" in fault and fault["kill"] == 0:
            self.kill()
            return False
        if fault.get("reset"):
            # An RST instead of a FIN.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if fault.get("close"):
            return False
        if fault.get("hold"):
            self.released.wait(60)
        if fault.get("garbage"):
            connection.sendall(b"\x00\x01 this is no answer \xff\r\n" * 4)
            return False
        status, headers, body = self.body(rule, fields)
        if rule.date is not None:
            headers["Date"] = formatdate(self.now() // 1000 + rule.date, usegmt=True)
        if fault.get("stall"):
            body, status = b"", status
        length = len(body) + fault.get("length", 0) + (1000 if fault.get("stall") else 0)
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        connection.sendall(head.encode("latin-1") + b"\r\n")
        if method == "HEAD":
            return True
        if fault.get("stall"):
            # Until the device closes the connection.
            connection.settimeout(20)
            return bool(connection.recv(1)) and False
        torn = fault.get("torn", fault.get("kill"))
        if "drip" in fault:
            begin = int(headers["Content-Range"].split()[1].split("-")[0]) if status == 206 else 0
            self.drip(connection, body, fault["drip"], max(0, fault.get("after", 0) - begin))
            return True
        self.send(connection, url, body if torn is None else body[:torn])
        if "kill" in fault:
            # Gives the device time to read what was sent.
            threading.Event().wait(0.1)
            self.kill()
        return torn is None and not fault.get("length")

    def send(self, connection, url, body):
        for start in range(0, len(body), 1 << 16):
            connection.sendall(body[start:start + (1 << 16)])
            with self.lock:
                self.sent[url] = max(self.sent.get(url, 0), min(start + (1 << 16), len(body)))

    def drip(self, connection, body, rate, at_once=0):
        """Sends some bytes, then `rate` bytes a second, and the rest at once after the step `release`."""
        begun, sent = time.monotonic(), 0
        while sent < len(body):
            is_over = self.released.wait(0.05)
            due = len(body) if is_over else min(len(body), at_once + int((time.monotonic() - begun) * rate))
            connection.sendall(body[sent:due])
            sent = due

    def body(self, rule, fields):
        status, headers, body = rule.status, dict(rule.headers), rule.body
        if status != 200:
            return status, headers, body
        tag = headers.setdefault("ETag", f'"{hashlib.sha256(body).hexdigest()[:32]}"')
        if tag is None:
            del headers["ETag"]
        elif fields.get("if-none-match") == tag:
            return 304, headers, b""
        asked = fields.get("range", "")
        # "A server MUST use the strong comparison function": a weak tag equals none (RFC 9110 §13.1.5).
        condition = fields.get("if-range")
        if rule.ranges and asked.startswith("bytes=") and (condition is None or condition == tag and tag[0] == '"'):
            first, _, last = asked[6:].partition("-")
            first, end = int(first), min(int(last or len(body)) + (1 if last else 0), len(body))
            if first >= len(body):
                return 416, {"Content-Range": f"bytes */{len(body)}"}, b""
            headers["Content-Range"] = f"bytes {first}-{end - 1}/{len(body)}"
            return 206, headers, body[first:end]
        if rule.coding and rule.coding in fields.get("accept-encoding", ""):
            headers["Content-Encoding"] = rule.coding
            body = gzip.compress(body if rule.coded is None else rule.coded.encode(), mtime=0)
            if rule.damaged:
                body = body[: len(body) // 2] + bytes([body[len(body) // 2] ^ 0x55]) + body[len(body) // 2 + 1 :]
        return status, headers, body
