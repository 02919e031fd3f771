"""What the tests of the edges send, as data."""

# Parameters that no poll has.
junk = ["x=1", "utm_source=mail", "_=1764479000", "App=other", "CHANNEL=test", "app[]=other", "versions=1", "a%20b=c%26", "=", "x", "patch=0",
        "q=app=other", "apps=other", "xapp=other"]

# Fields that must neither change an answer nor make another of it.
fields = [
    [], ["X-Forwarded-Host: evil.example"], ["X-Host: evil.example"], ["X-Original-URL: /configure.json?app=other"],
    ["X-Rewrite-URL: /configure.json?app=other"], ["Cookie: session=1"], ["Cookie: app=other; channel=test"], ["Range: bytes=0-3"],
    ["Authorization: Bearer x"], ["Authorization: Basic YTpi"], ["Forwarded: host=evil.example;for=1.2.3.4"], ["X-Forwarded-For: 1.2.3.4"],
    ["X-Forwarded-Proto: https"], ["X-HTTP-Method-Override: POST"], ["X-Method-Override: DELETE"], ["Cache-Control: no-cache"],
    ["Cache-Control: no-store, max-age=0"], ["Pragma: no-cache"], ["If-Modified-Since: Sat, 01 Jan 2022 00:00:00 GMT"], ['If-Range: "x"'],
    ["User-Agent: evil\t"], ["Origin: https://evil.example"], ["Referer: https://evil.example/"], ["Accept: text/html"],
    ["Accept-Language: xx"], ["X-Forwarded-Prefix: /api"], ["Available-Dictionary: :AAAA:"], ["xcache-poll: /configure.json?app=other"],
    ["xcache-coding: gzip"], ["xcache-kept: take"], ["xcache-grace: 100s"], ["xcache-query: &app=other&"], ["X-Cache-Key: other"],
    ["Connection: X-A, Host", "X-A: 1"], ["TE: trailers"], ["Via: 1.1 evil"]]

hosts = ["edge.example.com", "other.example", "127.0.0.1:1", "a.b\tc"]

# Queries that are odd, and that the edge and the origin read alike: the first of a name counts.
odd = ["app=shop&app=other", "app=other&app=shop", "channel=test&channel=online&app=shop", "app=shop&version=1&version=2&patch=1",
       "app=shop&patch=0&patch=1&version=1", "app=shop&version=2&skip=9&skip=2", "&&app=other&&", "app=shop&digest=" + "0" * 64 + "&version=1",
       "x=1;app=other&app=shop", "x=1?app=other&app=shop", "x?app=other&app=shop", "?app=other", "%61pp=other&app=shop", "app=shop#&channel=test"]

# Queries with a value that no device sends: the origin answers them, and nothing is kept.
apart = ["app", "app=", "app&app=other", "app=%73hop", "app=sh+op", "app=shop%00", "app=shop;channel=test", "app=shop?channel=test", "app=shop&version=",
         "app=shop&version=01", "app=shop&version=+1", "app=shop&version=-1", "app=shop&version=1e3", "app=shop&version=99999999999999999999",
         "app=shop&version=%31", "app=shop&digest=ABC", "app=shop&digest=" + "A" * 64, "app=shop&skip=0&skip=2&version=2",
         "app=shop&skip=x&version=1", "app=" + "a" * 65, "app=shop&channel=xcache_test", "app=shop&channel=Online", "app=shop&preview=1",
         "app=shop&channel=%74est", "app==shop", "app=shop&channel==test", "app=shop%26channel=test", "app=shop&channel=test%0d%0ax:y"]

# Accept-Encoding, and the coding of the answer.
codings = {
    "": "identity", "gzip": "gzip", "zstd": "zstd", "gzip, zstd": "zstd", "zstd, gzip": "zstd", "gzip, deflate, br, zstd": "zstd",
    "gzip, deflate, br": "gzip", "br": "identity", "GZIP": "gzip", "gzip;q=0": "identity", "gzip;q=0.0, zstd;q=0": "identity",
    "gzip;q=1.0": "gzip", "gzip; q=0.5": "gzip", "zstd;q=0, gzip": "gzip", "gzip;q=0, zstd": "zstd", "identity": "identity", "*": "identity",
    "*;q=0, gzip": "gzip", "gzipped": "identity", "x-zstd": "identity", "zstd-x, gzip": "gzip", "dcz, gzip": "gzip", "gzip;q=0.001": "gzip",
    "gzip;q=0.000": "identity", "\tgzip\t,\tzstd\t": "zstd", "," * 200 + "gzip": "gzip", "gzip;q=2;level=1": "identity",
    "identity;q=0": "identity"}

# What comes behind each hostile request in the same bytes.
behind = b"GET /configure.json?app=other HTTP/1.1\r\nHost: x\r\n\r\n"


def hostile(query, secret):
    """Requests of somebody who wants devices to get something else, by name. README.md has them as a table."""
    size = len(behind)
    line = f"GET /configure.json?{query} HTTP/1.1\r\nHost: edge.example.com\r\n"
    other = lambda target, version=" HTTP/1.1": f"GET {target}{version}\r\nHost: x\r\n\r\n"
    method = lambda name: f"{name} /configure.json?{query} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    return {
        "two Content-Length": line + f"Content-Length: 0\r\nContent-Length: {size}\r\n\r\n",
        "Content-Length list": line + f"Content-Length: {size}, 0\r\n\r\n",
        "Content-Length and chunks": line + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "chunks": line + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "chunks by another name": line + "Transfer-Encoding: xchunked\r\n\r\n",
        "chunks twice": line + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
        "chunks after a space": line + "Transfer-Encoding : chunked\r\n\r\n",
        "chunks after a tab": line + f"Transfer-Encoding:\tchunked\r\nContent-Length: {size}\r\n\r\n",
        "chunks folded": line + "X: 1\r\n Transfer-Encoding: chunked\r\n\r\n",
        "a body": line + f"Content-Length: {size}\r\n\r\n",
        "a signed length": line + f"Content-Length: +{size}\r\n\r\n",
        "a length in hex": line + f"Content-Length: 0x{size:x}\r\n\r\n",
        "a line feed in a field": line + "X: a\nHost: other\r\n\r\n",
        "a zero in a field": line + "X: a\0b\r\n\r\n",
        "a carriage return in a field": line + "X: a\rHost: other\r\n\r\n",
        "two hosts": line + "Host: other.example\r\n\r\n",
        "no host": f"GET /configure.json?{query} HTTP/1.1\r\n\r\n",
        "a pipelined second": line + "\r\n",
        "a tab in the line": f"GET\t/configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
        "two spaces in the line": f"GET  /configure.json?{query}  HTTP/1.1\r\nHost: x\r\n\r\n",
        "HTTP/0.9": f"GET /configure.json?{query}\r\n\r\n",
        "HTTP/1.9": other(f"/configure.json?{query}", " HTTP/1.9"),
        "HTTP/2 in the clear": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "an upgrade": line + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
        "a hop-by-hop Accept-Encoding": line + "Connection: Accept-Encoding\r\nAccept-Encoding: zstd\r\n\r\n",
        "many fields": line + "".join(f"X-{n}: {n}\r\n" for n in range(300)) + "\r\n",
        "a large field": line + f"X: {'x' * 70_000}\r\n\r\n",
        "POST": method("POST"),
        "PUT": method("PUT"),
        "a method of its own": f"GETX /configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
        "get in small letters": f"get /configure.json?{query} HTTP/1.1\r\nHost: x\r\n\r\n",
        "Expect": line + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
        "trailing dot": other(f"/configure.json.?{query}"),
        "path parameter": other(f"/configure.json;x=1?{query}"),
        "slash behind": other(f"/configure.json/?{query}"),
        "escaped question mark": other(f"/configure.json%3f{query}"),
        "escaped path": other(f"/%63onfigure.json?{query}"),
        "two slashes": other(f"//configure.json?{query}"),
        "dots": other(f"/x/../configure.json?{query}"),
        "backslash": other(f"/x\\..\\configure.json?{query}"),
        "a static ending": other(f"/configure.json/x.css?{query}"),
        "another channel's path": other(f"/xcache_test/shop/configure.json?{query}"),
        "the older path": other("/xcache-provider/xhr/client/configure.json?app=other"),
        "authority and userinfo": other(f"http://a@b/configure.json?{query}"),
        "another scheme": other(f"ftp://x/configure.json?{query}"),
        "fragment": other("/configure.json?app=shop#&channel=test"),
        "two question marks": other("/configure.json??app=other"),
        "a question mark in the query": other("/configure.json?app=shop?&channel=test"),
        "bytes above ASCII": other("/configure.json?app=\xe9&app=shop"),
        "a line feed in the query": other("/configure.json?app=shop%0a&channel=test"),
        "the tag of another": line + "xcache-tag: xcache:other:online\r\nSurrogate-Key: xcache:other:online\r\nCache-Tag: x\r\n\r\n",
        "a purge by anybody": "BAN / HTTP/1.1\r\nHost: x\r\nxcache-tag: xcache:shop:online\r\n\r\n",
        "an expression as a tag": f"BAN / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {secret}\r\nxcache-tag: x || obj.status == 200\r\n\r\n",
    }


# What is inside, and bytes that only its answer has.
inside = {"/api/v1/apps/shop/channels/online": b'"bundles"', "/metrics": b"# TYPE", "/console/": b"<html lang=",
          "/auth/": b'"sso"'}


def spellings(path):
    """Targets that somebody may reach the path by."""
    first, rest = path[1:].split("/", 1) if "/" in path[1:] else (path[1:], None)
    slashes = [f"/{first}{dots}" + ("" if rest is None else f"/{rest}") for dots in ("//..", "//%2e%2e", "/x//../..", "//.//../..")]
    return [path, "/" + path, "/." + path, "/x/.." + path, "/%2e" + path, "/x/%2e%2e" + path, "/x/.%2E" + path, "/xcache/1/../.." + path,
            path.replace("/", "//"), f"/%{ord(path[1]):02x}{path[2:]}", path + "?x=/xcache/1/", "/%2f" + path[1:], "/;/.." + path,
            "/\\.." + path, path.upper(), path + "/.", path + "/..", "http://edge.example.com" + path, "http://127.0.0.1" + path,
            "http://x/." + path, "x:" + path, "/configure.json/.." + path, path + "%00", path + "#", "/xcache-purge/.." + path, *slashes]


# Commands that change what polls of the app shop see, or a poll without an app.
changes = [
    "policy kill --app shop -m x", "policy resume --app shop", "policy bypass add https://m.example.com/pay/* --app shop",
    "rollback --app shop --bundle main --yes", "channel set --interval 120 --app shop", "channel set --reports 5 --app shop",
    "channel default-app other", "channel default-app shop", "unpublish --bundle main --app shop --channel test",
    "channel remove test --app shop"]
