#!/usr/bin/env python3
"""A small shop that opens offline: an origin, a site, and two releases.   Examples/web/run.py [XCACHE]"""
import functools, hashlib, http.server, os, re, shutil, subprocess, sys, tempfile, threading, webbrowser

here = os.path.dirname(os.path.abspath(__file__))
xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../.build/release/xcache"))


def bundle(folder, price):
    """What a bundler does: puts hashes of their content into the names of files."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/assets")
    page = open(f"{here}/src/index.html").read()
    for name in ("shop.js", "shop.css"):
        text = open(f"{here}/src/{name}").read().replace("PRICE", price)
        stem, ending = name.split(".")
        hashed = f"assets/{stem}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.{ending}"
        open(f"{folder}/{hashed}", "w").write(text)
        page = page.replace(name, hashed)
    open(f"{folder}/index.html", "w").write(page)


class Site(http.server.SimpleHTTPRequestHandler):
    def end_headers(self):
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *words):
        pass


def serve(folder, port=0):
    site = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Site, directory=folder))
    threading.Thread(target=site.serve_forever, daemon=True).start()
    return site


with tempfile.TemporaryDirectory() as work:
    origin = subprocess.Popen([xcache, "serve", "--data", f"{work}/data", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        server = next(found[0] for found in (re.search(r"http://[0-9.:]+", line) for line in origin.stderr) if found)
        token = open(f"{work}/data/admin.token").read().strip()
        dist = f"{work}/dist"
        site = serve(dist)
        port = site.server_address[1]
        address = f"http://127.0.0.1:{port}/"

        def release(price):
            bundle(dist, price)
            for words in (["web", "init", "--dir", dist, "--server", server, "--inject"],
                          ["publish", dist, "--create", "--bundle", "main", "--base-url", address, "--index", "--server", server]):
                print(f"$ xcache {' '.join(words)}", flush=True)
                subprocess.run([xcache, *words], check=True,
                               env={**os.environ, "XCACHE_APP": "shop", "XCACHE_TOKEN": token, "XDG_CACHE_HOME": f"{work}/cache"})

        release("4.20")
        print(f"\nthe shop is open: {address}?xcache-debug=1")
        if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
            webbrowser.open(f"{address}?xcache-debug=1")
        input("Load it, and press Enter to stop the site. ")
        site.shutdown()
        site.server_close()
        input("The site is gone; load the page again. Enter starts it with a new release. ")
        site = serve(dist, port)
        release("3.90")
        input("Load the page twice: once for the update, once to see it. Enter ends all. ")
    finally:
        origin.terminate()
        origin.wait()
