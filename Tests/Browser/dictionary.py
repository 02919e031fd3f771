#!/usr/bin/env python3
"""A browser gets deltas with no code of ours (RFC 9842): Chromium loads version 1, then version 2.

    Tests/Browser/dictionary.py [XCACHE]      XCACHE: the program (default: .build/debug/xcache)

Ends with 0 when the second version came as dcz, by the browser's word and by the server's, with the right bytes.
Needs Chromium (Debian: apt-get install chromium), which CHROMIUM may name.
"""
import hashlib, json, os, re, subprocess, sys, tempfile, time, urllib.request
from cdp import Browser

here = os.path.dirname(os.path.abspath(__file__))
xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../.build/debug/xcache"))


def pages(version):
    script = "".join(f"function f{i}(x) {{ return x * {i * 7919}; }}\n" for i in range(4000))
    script += f"globalThis.version = {version};\n"
    rows = "".join(f"<li>item {i}, {i * 31 % 97}</li>\n" for i in range(2000))
    page = f"<!doctype html><title>version {version}</title><ul>\n{rows}</ul><p id=v>{version}</p>\n"
    name = hashlib.sha256(script.encode()).hexdigest()[:8]
    return {"index.html": page, f"assets/app.{name}.js": script}


def get(url):
    with urllib.request.urlopen(url) as reply:
        return reply.read()


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.log = f"{folder}/access.log"
        self.server = subprocess.Popen(
            [xcache, "serve", "--data", f"{folder}/data", "--listen", "127.0.0.1:0", "--access-log", self.log],
            stderr=subprocess.PIPE, text=True)
        for line in self.server.stderr:
            found = re.search(r"listens on (http://[0-9.:]+)", line)
            if found:
                self.url = found[1]
                return
        raise SystemExit("the server did not start")

    def publish(self, version):
        build = f"{self.folder}/build-{version}"
        for name, text in pages(version).items():
            os.makedirs(os.path.dirname(f"{build}/{name}"), exist_ok=True)
            with open(f"{build}/{name}", "w") as file:
                file.write(text)
        token = open(f"{self.folder}/data/admin.token").read().strip()
        subprocess.run(
            [xcache, "publish", build, "--app", "shop", "--bundle", "main", "--base-url", "https://m.example.com/",
             "--server", self.url],
            check=True, stdout=subprocess.DEVNULL,
            env={**os.environ, "XCACHE_TOKEN": token, "XDG_CACHE_HOME": f"{self.folder}/cache"})
        answer = json.loads(get(f"{self.url}/configure.json?app=shop"))["data"]["resourcemap"]
        return {url.removeprefix("https://m.example.com/"): entry["download"] for url, entry in answer.items()}

    def stop(self):
        self.server.terminate()
        assert self.server.wait(20) == 0, "the server ended with an error"


def script_of(downloads):
    return next(url for name, url in downloads.items() if name.endswith(".js"))


def coding_of(page, url, since):
    """What the browser saw as the Content-Encoding of a response."""
    for event in page.events[since:]:
        for key in ("responseReceivedExtraInfo", "responseReceived"):
            if event["method"] == f"Network.{key}":
                response = event["params"].get("response", event["params"])
                if event["params"].get("response", {}).get("url", url) == url:
                    headers = {k.lower(): v for k, v in response["headers"].items()}
                    if "content-encoding" in headers:
                        yield headers["content-encoding"]


def load(page, downloads):
    """Opens the page and loads its script, both under their download URLs; the script's text."""
    page.goto(downloads["index.html"])
    return page.eval(f"fetch({json.dumps(script_of(downloads))}).then(r => r.text())")


def main():
    with tempfile.TemporaryDirectory() as folder:
        site = Site(folder)
        try:
            first = site.publish(1)
            with Browser() as browser:
                page = browser.new_page()
                assert load(page, first) == next(t for n, t in pages(1).items() if n.endswith(".js"))
                second = site.publish(2)
                # The dictionary is written after its response: give it a moment, then load version 2.
                time.sleep(2)
                mark = len(page.events)
                text = load(page, second)
                assert text == next(t for n, t in pages(2).items() if n.endswith(".js")), "other bytes"
                assert page.eval("document.title") == "version 2", "another page"
                assert page.eval("document.getElementById('v').textContent") == "2", "another page"
                seen = list(coding_of(page, script_of(second), mark))
                print(f"{browser.version}: codings of version 2: {seen}")
                assert "dcz" in seen, "the browser saw no dcz"
            metrics = get(f"{site.url}/metrics").decode()
            sent = int(re.search(r"^xcache_dcz_answers_total (\d+)", metrics, re.M)[1])
        finally:
            site.stop()
        path = script_of(second).removeprefix(site.url)
        lines = [line for line in open(site.log) if path in line]
        sizes = [int(re.search(r'" 200 (\d+)', line)[1]) for line in lines]
        size = len(text)
        print(f"server: {sent} answers as dcz; the script of {size} bytes took {sizes} on the wire")
        assert sent >= 2, "the server sent no dcz for the page or the script"
        assert sizes and min(sizes) < size / 100, "the log shows no delta"
        print("OK")


main()
