"""Replaces values in recorded requests: each path segment, query value, header value, and JSON member at any depth."""
import random
import re

NUMBERS = [
    b"0", b"-0", b"-1", b"1", b"1.5", b"01", b"+1", b"0x10", b"NaN", b"2147483647", b"2147483648", b"4294967296",
    b"9007199254740991", b"9007199254740992", b"9223372036854775806", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775808", b"18446744073709551615", b"1e400", b"-1e400", b"9" * 400,
]
TEXTS = [
    # Characters that end a text somewhere, that terminals obey, or that aren't UTF-8.
    b"", b" ", b"\x00", b"a\x00b", b"\x01\x02", b"\x1b[2J", b"\x7f", b"\xc2\x9b", b"\xe2\x80\xae", b"\xff\xfe",
    b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98\x80" * 8,
    # Paths, escapes, and what means something to a reader further on.
    b"..", b"../../etc/passwd", b".", b"/", b"//", b"a/../b", b"%2e%2e%2f", b"%00", b"%", b"%zz", b"%25%30%30", b"*",
    b"?", b"#", b"+", b"&=&", b'"', b"\\", b"null", b"true", b"'; DROP TABLE token; --", b"javascript:alert(1)",
    # Names that there are, names at the border of a length, digests.
    b"online", b"shop", b"main", b"delta", b"A" * 64, b"a" * 65, b"a" * 129, b"0" * 32, b"0" * 64, b"f" * 64,
    b"https://m.example.com/", b"https://user:pw@m.example.com/", b"http://[::1]:99999/", b"*://*/*",
    b"https://m.example.com/%2e%2e", b"text/html;charset=\x00", b"a" * 10_000,
    b"9999-12-31T23:59:59Z", b"0000-01-01T00:00:00+23:59", b"9999999-01-01T00:00:00Z", b"2026-02-30T00:00:00Z",
    b"1970-01-01T00:00Z",
]
HUGE = b"h" * 1_000_000
# JSON tokens, as they stand in a document.
TOKENS = [
    b"null", b"true", b"false", b"[]", b"{}", b'""', b"[null]", b'{"a":1}', b'[["a",["b",{"c":[]}]]]',
    b'{"":{"":{}}}', b'{"a":1,"a":2}', b"[" * 63 + b"]" * 63, b"[" * 5000 + b"]" * 5000,
    b'{"a":' * 100 + b"1" + b"}" * 100, b"[" + b"0," * 9999 + b"0]", b"[" + b'"1",' * 5000 + b'"1"]',
    b'"\\u0000"', b'"\\u001b[2J"', b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\uFFFF"', b'"\xff"', b'"\x00"',
    b'"unended', b"}", b"]", b",", b"nul", b"'a'", b"tru", b"[1,", b'{"a"}', b"\xef\xbb\xbf1", b"",
]


def quoted(text):
    """The bytes as a JSON string; what is no UTF-8 stays as it is, so that readers must refuse it."""
    out = text.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return b'"' + re.sub(rb"[\x00-\x1f]", lambda found: b"\\u%04x" % found.group()[0], out) + b'"'


TOKENS += NUMBERS + [quoted(text) for text in NUMBERS + TEXTS]
VALUES = NUMBERS + TEXTS
# What broke most so far comes first, so that a short run has all of it.
FIRST = {b"9223372036854775807", b"-9223372036854775808", b"9007199254740991", b"1e400", b"\x00", b"\xff\xfe", b""}
FIRST |= {quoted(value) for value in FIRST}
FIRST |= {b'"\\u0000"', b'"\\ud800"', b"null", b"[]", b"{}", b"[" * 5000 + b"]" * 5000}
# These are in every request; a few values show whether one of them is read wrongly.
COMMON = {b"api", b"v1", b"accept", b"content-type", b"authorization", b"accept-encoding"}
# What a method may be exchanged for: those that HTTP knows.
METHODS = [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS"]
SPACE = re.compile(rb"[ \t\r\n]*")
SCALAR = re.compile(rb'"(?:[^"\\]|\\.)*"|[^,\]}\s]+')


def places(text):
    """Where values and members stand in a JSON text: (start, end, kind), kind "value" or "member"."""
    found = []

    def skip(at):
        return SPACE.match(text, at).end()

    def value(at):
        at = start = skip(at)
        if text[at : at + 1] in (b"{", b"["):
            end, isObject = (b"}", True) if text[at : at + 1] == b"{" else (b"]", False)
            at = skip(at + 1)
            while text[at : at + 1] != end:
                item = at
                if isObject:
                    at = skip(SCALAR.match(text, at).end()) + 1
                at = skip(value(at))
                found.append((item, at, "member"))
                if text[at : at + 1] == b",":
                    at = skip(at + 1)
            at += 1
        else:
            at = SCALAR.match(text, at).end()
        found.append((start, at, "value"))
        return at

    try:
        value(0)
    except (AttributeError, RecursionError, IndexError):
        return []
    return found


class Template:
    """A recorded request with the places at which it can be changed."""

    def __init__(self, recorded):
        self.method = recorded.method.encode()
        target = recorded.target.encode("latin-1")
        path, _, query = target.partition(b"?")
        self.segments = path.split(b"/")[1:]
        self.query = [item.partition(b"=")[::2] for item in query.split(b"&")] if query else []
        fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in recorded.headers]
        # An act that was done is answered by its key from then on, so that each request gets a new one.
        self.hasKey = any(name.lower() == b"idempotency-key" for name, _ in fields)
        self.headers = [field for field in fields if field[0].lower() != b"idempotency-key"]
        self.body = recorded.body
        self.json = places(self.body) if self.body[:1] in (b"{", b"[") else []
        self.digits = [] if self.json else [m.span() for m in re.finditer(rb"[0-9]{1,20}", self.body[:4096])]
        self.systematic = list(self.every())

    @staticmethod
    def render(method, segments, query, headers, body):
        target = b"/" + b"/".join(segments)
        if query:
            target += b"?" + b"&".join(name + b"=" + value for name, value in query)
        head = b"".join(b"%s: %s\r\n" % pair for pair in headers)
        length = b"Content-Length: %d\r\n" % len(body) if body or method in (b"POST", b"PUT") else b""
        return b"%s %s HTTP/1.1\r\nHost: x\r\n%s%s\r\n%s" % (method, target, head, length, body)

    def every(self):
        """Each single change, as (what, place, value)."""
        for place, segment in enumerate(self.segments):
            yield from (("segment", place, value) for value in self.values(segment))
        for place in range(len(self.query)):
            yield from (("query", place, value) for value in range(len(VALUES)))
        for place, (name, _) in enumerate(self.headers):
            yield from (("header", place, value) for value in self.values(name))
        for place, (_, _, kind) in enumerate(self.json):
            yield from (("json", place, value) for value in range(len(TOKENS) if kind == "value" else 4))
        for place in range(len(self.digits)):
            yield from (("digits", place, value) for value in range(len(NUMBERS)))
        yield from (("method", 0, value) for value in range(len(METHODS)))

    @staticmethod
    def values(name):
        """The numbers of the values to try in a place."""
        return [n for n, value in enumerate(VALUES) if value in FIRST or name.lower() not in COMMON]

    @staticmethod
    def isFirst(change):
        what, _, value = change
        return what in ("method", "digits") or (TOKENS if what == "json" else VALUES)[value] in FIRST

    def made(self, changes, dice):
        """The request with these changes, as bytes."""
        method, segments, query, headers, body = self.method, self.segments, self.query, self.headers, self.body
        if self.hasKey and dice.random() < 0.5:
            headers = headers + [(b"Idempotency-Key", b"%032x" % dice.getrandbits(128))]
        for what, place, value in changes:
            if what == "segment" and place < len(segments):
                segments = segments[:place] + [in_target(VALUES[value], dice)] + segments[place + 1 :]
            elif what == "query":
                name, _ = query[place]
                changed = [(name, in_target(VALUES[value], dice))]
                query = query[:place] + changed + ([query[place]] if dice.random() < 0.1 else []) + query[place + 1 :]
            elif what == "header":
                headers = headers[:place] + [(headers[place][0], in_field(VALUES[value]))] + headers[place + 1 :]
            elif what == "field":
                headers = headers + [(place, in_field(value))]
            elif what == "method":
                method = METHODS[value]
            elif what == "json":
                start, end, kind = self.json[place]
                body = body[:start] + self.replacement(start, end, kind, value, dice) + body[end:]
            elif what == "digits":
                start, end = self.digits[place]
                body = body[:start] + NUMBERS[value] + body[end:]
            elif what == "bytes":
                at = min(place, len(body))
                body = (body[:at], body[:at] + value + body[at:], body + body[at:])[dice.randrange(3)]
        return self.render(method, segments, query, headers, body)

    def replacement(self, start, end, kind, value, dice):
        if kind == "value":
            token = TOKENS[value]
            return quoted(HUGE) if dice.random() < 0.0003 else token
        member = self.body[start:end]
        if value == 0:
            return b'"":0' if member[:1] == b'"' else b"0"
        if value == 1:
            return member + b"," + member
        if value == 2:
            return member + b"," + re.sub(rb'"', b'"x', member, count=1)
        return member[::-1]

    def random(self, dice):
        """One to three changes drawn by lot."""
        changes = []
        for _ in range(dice.choice((1, 1, 1, 2, 2, 3))):
            lot = dice.random()
            if lot < 0.08:
                name, value = dice.choice(FIELDS)
                changes.append(("field", name, value if dice.random() < 0.4 else dice.choice(VALUES)))
            elif lot < 0.12 and self.body:
                changes.append(("bytes", dice.randrange(len(self.body) + 1), dice.choice(VALUES)))
            elif self.systematic:
                change = dice.choice(self.systematic)
                # Two splices of one body would not fit together.
                isSplice = change[0] in ("json", "digits")
                if not isSplice or all(other[0] not in ("json", "digits", "bytes") for other in changes):
                    changes.append(change)
        return changes


FIELDS = []


def in_target(value, dice):
    """A value as a request line can carry it: escaped mostly, else with what would end the line taken out."""
    if dice.random() < 0.7:
        return re.sub(rb"[^A-Za-z0-9]", lambda found: b"%%%02X" % found.group()[0], value[:7000])
    return re.sub(rb"[\x00-\x20\x7f?#&]", b"", value)[:7000]


def in_field(value):
    return re.sub(rb"[\r\n]", b" ", value)[:12_000]


def templates(recorded, fields):
    FIELDS[:] = [(name.encode(), value.encode()) for name, value in fields]
    return [Template(request) for request in recorded]


# How long a request's body is and where it ends, said wrongly.
FRAMING = [b"Content-Length: " + value for value in NUMBERS] + [
    b"Content-Length: 5\r\nContent-Length: 6", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: chunked\r\nContent-Length: 5", b"Expect: 100-continue", b"Expect: \x00", b"Connection: close",
    b"Upgrade: h2c", b"Host: a\r\nHost: b", b"\x00: a", b"a" * 20_000, b"a: " + b"b" * 20_000, b"a: b\r\n" * 500]


def framing(known, seed):
    """Requests without end that a connection can't go on after."""
    dice = random.Random(seed)
    while True:
        head, _, body = dice.choice(known).made([], dice).partition(b"\r\n\r\n")
        if dice.random() < 0.7:
            head = re.sub(rb"\r\nContent-Length: \d+", b"", head)
        chunks = dice.choice((
            b"", body, b"5\r\nhello\r\n0\r\n\r\n", b"ffffffffffffffff\r\nx", b"8000000000000000\r\n", b"-1\r\n"))
        yield head + b"\r\n" + dice.choice(FRAMING) + b"\r\n\r\n" + chunks


def stream(known, seed, refresh):
    """Requests without end: first each single change once, then random ones. Every `refresh` requests the recorded ones
    come as they were, so that there is something to act on."""
    dice = random.Random(seed)
    single = [(number, change) for number, template in enumerate(known) for change in template.systematic]
    dice.shuffle(single)
    # They are taken from the end.
    single.sort(key=lambda one: Template.isFirst(one[1]))
    made = 0
    while True:
        if made % refresh == 0:
            yield from (template.made([], dice) for template in known)
        made += 1
        if single:
            number, change = single.pop()
            changes = [change]
        else:
            number = dice.randrange(len(known))
            changes = known[number].random(dice)
        yield known[number].made(changes, dice)
