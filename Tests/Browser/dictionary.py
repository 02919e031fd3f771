#!/usr/bin/env python3
"""Tests that a browser gets deltas without the runtime (RFC 9842): Chromium loads version 1, then version 2.

    Tests/Browser/dictionary.py [XCACHE]      XCACHE: the program (default: .build/debug/xcache)

Exits with 0 if both the browser and the server report dcz for the second version, and its content is right.
Needs Chromium (Debian: apt-get install chromium), which CHROMIUM may name.
"""
import hashlib, json, os, re, sys, tempfile, time
from cdp import Browser
from site_under_test import Site, get

here = os.path.dirname(os.path.abspath(__file__))
xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../.build/debug/xcache"))


def pages(version):
    script = "".join(f"function f{i}(x) {{ return x * {i * 7919}; }}\n" for i in range(4000))
    script += f"globalThis.version = {version};\n"
    rows = "".join(f"<li>item {i}, {i * 31 % 97}</li>\n" for i in range(2000))
    page = f"<!doctype html><title>version {version}</title><ul>\n{rows}</ul><p id=v>{version}</p>\n"
    name = hashlib.sha256(script.encode()).hexdigest()[:8]
    return {"index.html": page, f"assets/app.{name}.js": script}


def script_of(downloads):
    return next(url for name, url in downloads.items() if name.endswith(".js"))


def coding_of(page, url, since):
    """Values of Content-Encoding that the browser reports for a response."""
    for event in page.events[since:]:
        for key in ("responseReceivedExtraInfo", "responseReceived"):
            if event["method"] == f"Network.{key}":
                response = event["params"].get("response", event["params"])
                if event["params"].get("response", {}).get("url", url) == url:
                    headers = {k.lower(): v for k, v in response["headers"].items()}
                    if "content-encoding" in headers:
                        yield headers["content-encoding"]


def load(page, downloads):
    """Fetches the page and its script by their download URLs, as an app's page does; returns their texts."""
    return [page.eval(f"fetch({json.dumps(url)}).then(r => r.text())")
            for url in (downloads["index.html"], script_of(downloads))]


def texts(version):
    files = pages(version)
    return [files["index.html"], next(text for name, text in files.items() if name.endswith(".js"))]


def main():
    with tempfile.TemporaryDirectory() as folder:
        site = Site(xcache, folder)
        try:
            first = site.publish(pages(1))
            with Browser() as browser:
                page = browser.new_page()
                # A published page opened directly is sandboxed, and its opaque origin stores no dictionary.
                page.goto(f"{site.url}/healthz")
                assert load(page, first) == texts(1)
                second = site.publish(pages(2))
                # The dictionary is stored after its response: wait, then load version 2.
                time.sleep(2)
                mark = len(page.events)
                html, text = load(page, second)
                assert [html, text] == texts(2), "other bytes"
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
