"""The worker's answers: headers, ranges and conditions; requests that it leaves to the network; prefetching."""
import io, json, wave

from bench import App, case, until
from servers import Web


def sound():
    """A WAV file with 20 seconds of a tone."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(1)
        out.setframerate(8000)
        out.writeframes(bytes(128 + (i % 40) for i in range(160_000)))
    return file.getvalue()


def with_data(bench, **settings):
    """A page whose release has a file of 2,000 bytes without repeated parts."""
    app = App(bench, **settings)
    data = b"".join(f"{i:04d}".encode() for i in range(500))
    app.release(1, add={"data.txt": data})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    app.web.stop()
    return app, tab, data.decode()


@case("an answer has the entry's type, nosniff and its own entity tag, and nothing of the download's")
def _(bench):
    app, tab, data = with_data(bench)
    answer = tab.fetch("data.txt")
    assert answer["text"] == data
    entry = bench.origin.answer(app.app)["resourcemap"][app.base + "data.txt"]
    wanted = {"accept-ranges": "bytes", "content-length": "2000", "content-type": entry["ctype"], "etag": f'"{entry["md5"]}"',
              "x-content-type-options": "nosniff"}
    assert answer["headers"] == wanted, answer["headers"]


@case("a page has its entry's own security headers, and they hold")
def _(bench):
    app = App(bench)
    policy = "img-src 'none'"
    app.release(1, headers={"*.html": {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    app.web.stop()
    tab.open(app.base)
    assert tab.fetch("index.html")["headers"]["content-security-policy"] == policy
    assert tab.eval("""new Promise((done) => { document.addEventListener('securitypolicyviolation', () => done('refused'));
      const image = new Image(); image.onload = () => done('loaded'); image.src = 'logo.svg?2'; })""") == "refused"


@case("a range is cut from the whole file")
def _(bench):
    app, tab, data = with_data(bench)
    answer = tab.fetch("data.txt", "{headers: {Range: 'bytes=10-19'}}")
    assert (answer["status"], answer["text"]) == (206, data[10:20]), answer
    assert answer["headers"]["content-range"] == "bytes 10-19/2000"


@case("a range at the end, an open one, and one that isn't there")
def _(bench):
    app, tab, data = with_data(bench)
    assert tab.fetch("data.txt", "{headers: {Range: 'bytes=1990-'}}")["text"] == data[1990:]
    # A cross-origin request with this form of range would need a preflight; this one is same-origin.
    assert tab.fetch("data.txt", "{headers: {Range: 'bytes=-7'}}")["text"] == data[-7:]
    answer = tab.fetch("data.txt", "{headers: {Range: 'bytes=2000-'}}")
    assert (answer["status"], answer["headers"]["content-range"]) == (416, "bytes */2000"), answer


@case("a range to beyond the end is the rest of the file, all of it, too")
def _(bench):
    app, tab, data = with_data(bench)
    bench.stop_worker(tab)
    # Of the stored response, and of what is in memory.
    for asked, start in (("0-99999999999", 0), ("0-", 0), ("0-1999", 0), ("-99999999999", 0), ("1990-99999999999", 1990)):
        answer = tab.fetch("data.txt", f"{{headers: {{Range: 'bytes={asked}'}}}}")
        assert (answer["status"], answer["text"]) == (206, data[start:]), (asked, answer)
        assert answer["headers"]["content-range"] == f"bytes {start}-1999/2000" and answer["headers"]["content-length"] == str(2000 - start)


@case("ranges of a file of 40 MB, which isn't kept in memory")
def _(bench):
    app = App(bench)
    data = b"".join(b"%08d" % i for i in range(5_000_000))
    app.release(1, add={"film.bin": data})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    app.web.stop()
    bench.proxy.stop()
    bench.stop_worker(tab)
    assert tab.eval("fetch('film.bin', {headers: {Range: 'bytes=0-99999999999'}}).then(async (r) => [r.status, (await r.blob()).size])") == [206, len(data)]
    for start in (0, 20_000_000, 39_999_992):
        answer = tab.fetch("film.bin", f"{{headers: {{Range: 'bytes={start}-{start + 7}'}}}}")
        assert (answer["status"], answer["text"]) == (206, data[start:start + 8].decode()), answer
    assert tab.eval("fetch('film.bin').then((r) => r.arrayBuffer()).then((b) => b.byteLength)") == len(data)


@case("If-Range with another tag gets the whole file")
def _(bench):
    app, tab, data = with_data(bench)
    answer = tab.fetch("data.txt", """{headers: {Range: 'bytes=0-1', 'If-Range': '"other"'}}""")
    assert (answer["status"], answer["text"]) == (200, data)


@case("If-None-Match with its tag gets 304")
def _(bench):
    app, tab, data = with_data(bench)
    tag = tab.fetch("data.txt")["headers"]["etag"]
    assert tab.fetch("data.txt", json.dumps({"headers": {"If-None-Match": f"W/{tag}"}}))["status"] == 304
    assert tab.fetch("data.txt", json.dumps({"headers": {"If-None-Match": '"x"'}}))["status"] == 200


@case("HEAD has the head alone")
def _(bench):
    app, tab, data = with_data(bench)
    answer = tab.fetch("data.txt", "{method: 'HEAD'}")
    assert (answer["status"], answer["text"], answer["headers"]["content-length"]) == (200, "", "2000"), answer


@case("a sound plays, and is searched, offline")
def _(bench):
    app = App(bench)
    app.release(1, add={"tone.wav": sound()})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    app.web.stop()
    assert tab.eval("""new Promise((done) => { const a = new Audio('tone.wav'); a.muted = true; a.preload = 'auto';
      a.onerror = () => done(a.error.message); a.onseeked = () => done(a.currentTime);
      a.onloadedmetadata = () => { a.currentTime = 15; }; document.body.append(a); })""") == 15


@case("a URL that matches by its escapes is answered")
def _(bench):
    app = App(bench)
    app.release(1, add={"caf\u00e9 (1).txt": b"escaped"})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    tab.open(app.base)
    app.web.stop()
    assert tab.fetch("caf%C3%A9%20(1).txt")["text"] == "escaped"
    assert tab.fetch("c%61f\u00e9 %281).txt#part")["text"] == "escaped"
    assert "error" in tab.fetch("caf%C3%A9%20(1).txt?v=2"), "the query doesn't count"


@case("POST, PUT and requests with Authorization are the server's")
def _(bench):
    app = App(bench)
    tab = app.visited()
    heard = []

    def api(request):
        heard.append((request.command, request.headers.get("Authorization"), request.body))
        request.answer(b"api")
    app.web.routes["/logo.svg"] = api
    for options in ("{method: 'POST', body: 'x'}", "{method: 'PUT', body: 'y'}", "{headers: {Authorization: 'Bearer z'}}"):
        assert tab.fetch("logo.svg", options)["text"] == "api", options
    assert heard == [("POST", None, b"x"), ("PUT", None, b"y"), ("GET", "Bearer z", b"")], heard
    assert tab.fetch("logo.svg")["text"] != "api"


def two_hosts(bench, **settings):
    """An app with files of another host: localhost instead of 127.0.0.1."""
    app = App(bench, **settings)
    other = bench.web()
    other.headers = [("Access-Control-Allow-Origin", app.web.url), ("Access-Control-Allow-Credentials", "true")]
    files = {"lib.js": b"window.lib = 'lib';"}
    other.files = files
    host = other.url.replace("127.0.0.1", "localhost")
    app.release(1)
    app.version = bench.origin.publish(app.app, host + "/", files, bundle="lib")
    tab = app.tab()
    tab.open(app.base)
    return app, tab, other, f"{host}/lib.js"


@case("files of a host that is named come from the worker, by script and by CORS")
def _(bench):
    app, tab, other, lib = two_hosts(bench, hosts=["localhost"])
    app.hold(tab)
    tab.open(app.base)
    other.stop()
    assert tab.fetch(lib)["text"] == "window.lib = 'lib';"
    assert tab.eval(f"""new Promise((done) => {{ const s = document.createElement('script'); s.src = '{lib}';
      s.onload = () => done(window.lib); s.onerror = () => done('error'); document.head.append(s); }})""") == "lib"


@case("files of a host that isn't named are neither fetched nor answered, and the origin is told")
def _(bench):
    app, tab, other, lib = two_hosts(bench)
    tab.until(f"xcache.ready.then(() => xcache.state()).then(({{version}}) => version === '{app.version}')")
    state = tab.state()
    assert state["held"] == state["listed"] - 1, state
    tab.open(app.base)
    assert tab.fetch(lib)["text"] == "window.lib = 'lib';" and other.seen("/lib.js")
    until(lambda: [r for r in bench.proxy.log if r.path.startswith("/report") and lib.encode() in r.body], "the report")


@case("a credentialed request by CORS to another host is left alone")
def _(bench):
    app, tab, other, lib = two_hosts(bench, hosts=["localhost"])
    app.hold(tab)
    tab.open(app.base)
    assert tab.fetch(lib, "{credentials: 'include'}")["text"] == "window.lib = 'lib';"
    assert len(other.seen("/lib.js")) == 1
    assert tab.fetch(lib)["text"] == "window.lib = 'lib';"
    assert len(other.seen("/lib.js")) == 1, "a plain one isn't answered"


@case("what a page asks of a host that isn't named starts no worker")
def _(bench):
    app = App(bench)
    tab = app.visited()
    if not tab.eval("'addRoutes' in (self.InstallEvent ?? {prototype: {}}).prototype || navigator.userAgent.includes('Chrome')"):
        raise Skipped("this browser has no static routes")
    other = bench.web()
    other.headers = [("Access-Control-Allow-Origin", "*")]
    other.files = {"theirs.txt": b"theirs"}
    bench.stop_worker(tab)
    bench.worker_gone(app)
    assert tab.fetch(other.url.replace("127.0.0.1", "localhost") + "/theirs.txt")["text"] == "theirs"
    assert tab.fetch("logo.svg", "{method: 'PUT', body: 'x'}")
    assert not [t for t in bench.browser.targets("service_worker") if t["url"].startswith(app.base)]
    assert tab.fetch("logo.svg")["status"] == 200
    assert bench.worker(app)


# -- Prefetch


def with_prefetch(bench, interfaces, **settings):
    """A page with prefetch calls, and a list of the requests that the API received."""
    app = App(bench, **settings)
    app.release(1)
    config = [{"url": app.base + "index.html", "interfaces": [
        {**call, "api": call["api"] if "://" in call["api"] else app.web.url + call["api"]} for call in interfaces]}]
    path = f"{bench.folder}/prefetch.json"
    with open(path, "w") as file:
        json.dump(config, file)
    bench.origin.run("prefetch", "push", path, "--app", app.app)
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    until(lambda: tab.update() and tab.state()["prefetch"] > 0, "the prefetch config")
    heard = []

    def api(request):
        heard.append((request.command, request.path, request.body.decode(), request.headers.get("Cookie")))
        request.answer(json.dumps({"calls": len(heard)}).encode(), "application/json")
    app.web.routes["/api"] = api
    return app, tab, heard


@case("a prefetch call is sent when the page opens, and handed to the page's own request, once")
def _(bench):
    app, tab, heard = with_prefetch(bench, [{"api": "/api?v=1", "method": "GET", "urlParam": True}])
    tab.eval("document.cookie = 'id=7'")
    tab.open(app.base + "index.html?item=3")
    until(lambda: heard, "the call")
    assert heard == [("GET", "/api?v=1&item=3", "", "id=7")], heard
    assert tab.fetch("/api?v=1&item=3")["text"] == '{"calls": 1}' and len(heard) == 1, heard
    assert tab.state()["counts"]["prefetched"] == 1
    assert tab.fetch("/api?v=1&item=3")["text"] == '{"calls": 2}', "it was handed over twice"


@case("a prefetch call with a body: the page's parameters are in it, and another body gets its own answer")
def _(bench):
    calls = [{"api": "/api", "method": "POST", "bodyParam": True, "body": {"visit": {"a": 1}}}]
    app, tab, heard = with_prefetch(bench, calls)
    tab.open(app.base + "index.html?item=a+b")
    until(lambda: heard, "the call")
    assert [json.loads(body) for _, _, body, _ in heard] == [{"visit": {"a": 1}, "item": "a b"}]
    post = "{method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(%s)}"
    assert tab.fetch("/api", post % "{item: 'other'}")["text"] == '{"calls": 2}'
    assert tab.fetch("/api", post % "{item: 'a b', visit: {a: 1}}")["text"] == '{"calls": 1}'


@case("a request with a header of its own isn't given the prefetched answer")
def _(bench):
    app, tab, heard = with_prefetch(bench, [{"api": "/api", "method": "GET"}])
    tab.open(app.base + "index.html")
    until(lambda: heard, "the call")
    assert tab.fetch("/api", "{headers: {'X-Mine': '1'}}")["text"] == '{"calls": 2}'


@case("a prefetch call that fails costs nothing: the page's own request goes")
def _(bench):
    app, tab, heard = with_prefetch(bench, [{"api": "/api", "method": "GET"}])
    api = app.web.routes["/api"]
    failed = []
    app.web.routes["/api"] = lambda request: failed.append(1) or request.answer(b"no", status=503)
    tab.open(app.base + "index.html")
    until(lambda: failed, "the call")
    app.web.routes["/api"] = api
    assert tab.fetch("/api")["text"] == '{"calls": 1}'


@case("a prefetch call to a host that isn't named isn't sent")
def _(bench):
    other = Web()
    try:
        foreign = other.url.replace("127.0.0.1", "localhost") + "/secret"
        app, tab, heard = with_prefetch(bench, [{"api": foreign, "method": "GET"}, {"api": "/api", "method": "GET"}])
        tab.open(app.base + "index.html")
        until(lambda: heard, "the call that may be sent")
        assert other.seen("/secret") == []
    finally:
        other.stop()
