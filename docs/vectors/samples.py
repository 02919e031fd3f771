#!/usr/bin/env python3
"""How the texts of error samples are stripped, to be read alongside docs/protocol.md, section 12. Writes samples.json; with --check it
compares the file instead."""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
LONGEST = 4096  # Of what is given, only so many characters are looked at.
# White space as in JavaScript's \s, and characters that don't show or change the direction of text.
SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
HIDDEN = "\0-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
SCHEME = "[a-z][a-z+-]*"  # Without digits, which would be shown with the scheme.
URL = re.compile(rf"({SCHEME}://[^{SPACE}\"'`]*|\b(?:data|blob):[^{SPACE}\"'`]+)", re.I | re.A)


def cut(text, size):
    """One line without hidden characters, of at most `size` bytes."""
    text = re.sub(f"[{SPACE}{HIDDEN}]+", " ", text).strip(" ")
    return text.encode()[:size].decode(errors="ignore").rstrip(" ")


def names_something(text):
    """Whether a part of a URL may name a person or a thing of theirs."""
    return bool(re.search(r"[0-9]{4}|@|%40", text) or len(text) >= 16 and re.search("[0-9]", text))


def words(text):
    """Text outside of URLs."""
    text = re.sub(f"([?&#][^{SPACE}?&#=\"'`]*=)[^{SPACE}&\"'`]+", r"\1", text)
    text = re.sub(f"[^{SPACE}]+", lambda m: "<email>" if re.search(r".(?:@|%40).+\.", m[0], re.S) else m[0], text)
    text = re.sub("[A-Za-z0-9_-]{16,}", lambda m: "<id>" if re.search("[0-9]", m[0]) else m[0], text)
    text = re.sub(rf"[0-9](?:[().{SPACE}{HIDDEN}/-]*[0-9]){{6,}}", "<n>", text)
    return re.sub("[0-9]{4,}", "<n>", text)


def url(text, listed=(), size=1024):
    text = text[:LONGEST]
    scheme = re.match(f"({SCHEME}):", text, re.I | re.A)
    if not scheme:
        return ""
    scheme = cut(scheme[1].lower(), 32)
    parts = re.match(r"https?://(?:[^/?#]*@)?([^/?#@]+)(/[^?#]*|(?=[?#]|\Z))(\?[^#]*)?", text, re.I)
    if not parts:
        return scheme + ":"
    start, path, query = f"{scheme}://{parts[1]}", parts[2], parts[3]
    if start + path not in listed:
        path = "/".join("*" if names_something(part) else part for part in path.split("/"))
    if query:
        fields = [field.partition("=")[:2] for field in query[1:].split("&")]
        isLong = any(len(name) > 32 or names_something(name) for name, _ in fields)
        query = "?" if isLong else "?" + "&".join(name + equals for name, equals in fields)
    return cut(start + path + (query or ""), size)


def message(text, listed=(), size=512):
    text = text[:LONGEST]
    if "JSON" in text:
        text = re.sub('".*"', '"<text>"', text, flags=re.S)
    parts = URL.split(text)
    return cut("".join(url(part, listed) if i % 2 else words(part) for i, part in enumerate(parts)), size)


def frame(text, listed=()):
    text = text[:LONGEST]
    position = re.search(r":[0-9]{1,9}:[0-9]{1,9}\Z", text)
    position = position[0] if position else ""
    text = text[:len(text) - len(position)]
    at = re.search(rf"@(?={SCHEME}:)", text, re.I | re.A)
    at = at.start() if at else text.rfind("@")
    function, place = (text, "") if at < 0 else (text[:at], text[at + 1:])
    function = message(function, listed, 64)
    return f"{function}@{url(place, listed, 299 - len(function.encode()) - len(position))}{position}"


LISTED = ["https://m.example.com/app.20261130.js", "https://m.example.com/a/3f1c9d2e8877aabbccdd.js"]
H = "https://m.example.com"
MESSAGES = [
    "", "   ", "TypeError: undefined is not an object (evaluating 'a.b')", "Can't find variable: x",
    "Failed to fetch https://m.example.com/api/user?id=7&name=ann", f"Loading chunk 7 failed. ({H}/a/app.js)",
    f"at {H}/orders/20261130/items", f"'{H}/me#/account/ann'", f"\"{H}/a\"b", f"`{H}/a?k=v`tail",
    "HTTPS://M.EXAMPLE.COM/A?B=C", "http://ann:secret@m.example.com/x", "x=https://u@h/p@q/r", "https:// nothing",
    f"{H}/app.20261130.js is bad", f"{H}/app.20261131.js is bad", f"{H}/app.20261130.js?v=20261130 is bad",
    "mail ann@example.com now", "(ann.b+c@mail.example.co.uk), and bob@example.org!", "a@b", "@example.com", "x@y.z",
    "render@app.js:1:2 threw", "{\"email\":\"ann@example.com\",\"id\":5}", "@@@@@@@@.@@@@", "ann@example.", "ann@.com", "ann@example.comhttps://m.example.com/",
    "user 6f1c2d3e-4a5b-4c6d-8e7f-001122334455 is gone", "token eyJhbGciOiJIUzI1NiJ9.payload_without_digits.x",
    "abcdefghijklmnop", "abcdefghijklmno1", "abcdefghijklmn1", "__proto__-__proto__-1", "getElementsByClassName",
    "HTTP 404", "HTTP 4040", "phone +86 138 0013 8000", "1.2345", "12345.6", "9" * 40, "a1234b", "2026-11-30T12:00:00",
    "one\ntwo\r\nthree\tfour", "a\u0000b\u0007c", "  trimmed \n", "a\u202eb\u2066c\u200bd", "12\u200b34", "a\u2028b\u2029c",
    "wss://m.example.com/socket?token=abc", "file:///home/ann/x.html", "chrome-extension://abcdef/x.js threw",
    "data:text/html;base64,QUJD is no page", "blob:https://m.example.com/6f1c2d3e", "metadata:abc", "data: none", "x-data:abc",
    "BLOB:x", "_data:x", "1://x", "1a://x", "é@é.é", "\u00e9" * 300, "\U0001f600" * 200, "错误：找不到变量 x", "一" * 171,
    f"a{H}/b c", "ends with a blank " + "x" * 493 + " y", "12 345 6789 12345", "a&b<c>d", "<script>alert(1)</script>",
    "e" * 700, "https://m.example.com/" + "a" * 600, "\\u0000", "a=1&b=2&c=3456", "null", "[object Object]",
    "Unexpected token 'A', \"Ann \"\nSmith\" is not valid JSON", "Unexpected token 'x', ...\"e\":\"Ann\"x\"... is not valid JSON",
    "JSON Parse error: Unexpected identifier \"Ann\"", "JSON \"", f"\"{H}/a\" isn't JSON, nor is \"{H}/b\"", "no Json in \"x\"",
    "Failed to parse URL from /api/me?session=s3cr3t&mail=ann%40example.com", "No route matches \"/a?token=AbC&b\" at all", "//h/x?a=b#c=d",
    "/x#access_token=abc", "a&&b==c", "`?a=b`", "?=x", "?a=b?c=d", "mail ann%40example.com now", "%40x.y", "a%40.b", "a%4@b.c",
    "call +49 170 123 45 67", "+1 (555) 123-4567", "0171/555 12 34", "card 4111 1111 1111 1111", "at 192.168.101.23:80", "at 10.0.0.1:80",
    "12 345 6", "12 345 67", "1\u200b2   3\n4.5/6-(7)", "12 34 5a67", "[1, 2, 3, 4, 5, 6, 7]", "12:30:45.123", "0.1234567",
    f"x1234567{H}/a", f"6f1c2d3e-4a5b-4c6d-8e7f-001122334455{H}/a", "h323://x", "a1:2",
]
URLS = [
    "", H, f"{H}/", f"{H}/ares/", f"{H}/ares/index.html?a=1&b", f"{H}/?q=ann", f"{H}/?", f"{H}/#top", f"{H}?a=b#c?d",
    f"{H}/order/12345", f"{H}/order/123", f"{H}/o/6f1c2d3e-4a5b-4c6d-8e7f-001122334455/x", f"{H}/abcdefghijklmnop/",
    f"{H}/abcdefghijklmno1/", f"{H}/a/3f1c9d2e8877aabbccdd.js", f"{H}/a/3f1c9d2e8877aabbccde.js",
    f"{H}/app.20261130.js?x=1#y", "https://ann:secret@m.example.com/app.20261130.js", f"{H}/?{'a' * 32}", f"{H}/?{'a' * 33}",
    f"{H}/?12345", f"{H}/?1234=5", f"{H}/?a=b&12345", f"{H}/?a=b=c&d==", f"{H}/?a;b=c", f"{H}/?&&", f"{H}/?a%40b=c",
    f"{H}/?abcdefghijklmno1", f"{H}/~ann@example.com/", f"{H}/ann%40example.com/x", "http://localhost:8080/a",
    "https://[::1]:8443/a", "HTTPS://M.Example.com/A", "ftp://m.example.com/x", "file:///home/ann/index.html", "about:blank",
    "data:text/html,x", "blob:https://m.example.com/6f1c", "javascript:alert(1)", "chrome-extension://abc/x.js", "https:",
    "https://", "https:///x", "https://@/x", "https://a@/x", "https://a@?x", "/ares/", "ares", ":x", "1http://x", "https://a@b@c/d", f"{H}//a//1234//",
    f"{H}/a;jsessionid=1A2B3C4D5E", f"{H}/" + "a" * 1100, f"{H}/\u202eevil\n/x", f"{H}/*/x?a=", f"{H}/%E4%BD%A0", "x" * 40 + ":y",
    "h323:x", "s3://bucket/x",
]
FRAMES = [
    "", "@", f"render@{H}/ares/app.js:1:23911", f"@{H}/app.js:10:2", f"f@{H}/a/3f1c9d2e8877aabbccdd.js:1:2",
    f"f@{H}/a/3f1c9d2e8877aabbccde.js:1:2", f"new Foo@{H}/a.js?v=1:3:4", f"f@{H}/a.js", f"f@{H}/a.js:12", f"f@{H}/a.js:12345",
    "map@[native code]", "f", "f:1:2", "global code@https://h:8443/a.js:1:2", f"ann@example.com@{H}/a.js:1:2",
    f"async g@{H}/@scope/x.js:1:2", f"f@{H}/a.js:9999999999:1", "f@data:text/javascript,x:1:2", "f@blob:https://h/6f1c:1:2",
    "f@chrome-extension://abcdef/content.js:7:8", "f@file:///home/ann/a.js:1:2", f"{'f' * 70}@{H}/a.js:1:2",
    f"f@{H}/{'a/' * 200}b.js:1:2", f"key12345678901234567@{H}/a.js:1:2", f"a@b@{H}/a.js:1:2", f"a\nb@{H}/a.js:1:2",
    f"\u202ef@{H}/a.js:1:2", f"f@{H}/user/12345/a.js:1:2", f"f@{H}/a.js:0:0", f"f@https://u:p@m.example.com/a.js:1:2",
    "f@app.js:1:2", f"é@{H}/a.js:123456789:123456789", f"Object.<anonymous>@{H}/a.js:1:2", "一" * 30 + f"@{H}/a.js:1:2",
]


def cases():
    for of, texts in (("message", MESSAGES), ("url", URLS), ("frame", FRAMES)):
        for text in texts:
            strip = globals()[of]
            out = strip(text, LISTED)
            assert strip(out, LISTED) == out or of == "frame" and out == "@", (text, out)
            case = {"in": text, "of": of, "out": out}
            yield case if strip(text) == out else case | {"listed": LISTED}


text = "[\n" + ",\n".join(json.dumps(case, sort_keys=True, separators=(",", ":")) for case in cases()) + "\n]\n"
if "--check" in sys.argv:
    sys.exit("samples.json isn't what samples.py writes" if (HERE / "samples.json").read_text() != text else 0)
(HERE / "samples.json").write_text(text)
