#!/usr/bin/env python3
"""Stands in for xcache-webkit: opens pages of a device's folder as far as regular expressions can, or misbehaves.

It was written from the contract of the two programs alone (docs/guide-webkit.md, section 9). XCACHE_WEBKIT_MODE says what it does
wrong; words in a page's text do the same to that page's answer:

    <script>throw "why"</script>   a script error              <script src=…>, <link href=…>, <img src=…>   a request
    <!--api URL-->  a fetch        <!--slow SECONDS-->         <!--console TEXT-->       nothing in <body>: a blank page
"""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from urllib.parse import quote, urljoin, urlsplit

MODE = os.environ.get("XCACHE_WEBKIT_MODE", "")
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
KINDS = {"script": "script", "link": "style", "img": "image"}


def note(name, text):
    """Tells the tests what they couldn't see."""
    folder = os.environ.get("XCACHE_WEBKIT_NOTES")
    if folder:
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


def held(settings, url):
    """The text that the device has for a URL; None where it has none."""
    path = os.path.join(settings["folder"], "files", quote(url.split("#")[0], safe="-._~"))
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def request(settings, url, kind):
    text = held(settings, url)
    if text is not None:
        return {"bytes": len(text), "kind": kind, "ms": 2.6, "source": "device", "status": 200, "url": url}
    own = urlsplit(url).hostname in settings["hosts"]
    if settings["confined"]:
        source, status = ("missing", 404) if own else ("failed", None)
    elif settings["offline"]:
        source, status = "failed", None
    else:
        source, status = "network", 200
    return {"bytes": 10, "kind": kind, "ms": None, "source": source, "status": status, "url": url}


def answer(settings, job):
    url = job["url"]
    first = request(settings, url.split("?")[0], "document")
    text = held(settings, url.split("?")[0]) or ""
    wait = re.search(r"<!--slow ([\d.]+)-->", text)
    time.sleep(float(wait[1]) if wait else 0)
    requests = [first]
    for tag, target in re.findall(r"<(script|link|img)\b[^>]*?(?:src|href)=[\"']?([^\"'>\s]+)", text):
        requests.append(request(settings, urljoin(url, target), KINDS[tag]))
    for target in re.findall(r"<!--api (\S+)-->", text):
        requests.append(request(settings, urljoin(url, target), "fetch"))
    body = re.sub(r"<script.*?</script>|<!--.*?-->|<[^>]*>", "", text.split("<body>")[-1], flags=re.S).strip()
    title = re.search(r"<title>(.*?)</title>", text)
    failure = None if first["source"] in ("device", "network") else "the page isn't there"
    if job["screenshot"] and not failure:
        with open(job["screenshot"], "wb") as file:
            file.write(PIXEL if MODE != "no-picture" else b"GIF89a")
    return {
        "id": job["id"], "url": url, "finalURL": url, "title": title[1] if title else None,
        "status": first["status"], "failure": failure, "requests": requests,
        "console": [{"level": "error", "text": said, "url": url, "line": 3} for said in
                    re.findall(r"<!--console (.*?)-->", text)],
        "scriptErrors": [{"text": said, "url": url, "line": 7, "column": 5} for said in
                         re.findall(r"throw \"(.*?)\"", text)],
        "firstContentfulPaint": 12.4, "load": 34.5, "isBlank": not body and not failure,
    }


lock = threading.Lock()


def write(document):
    with lock:
        sys.stdout.write((document if isinstance(document, str) else json.dumps(document)) + "\n")
        sys.stdout.flush()


def main():
    note("pid", str(os.getpid()))
    note("environment", json.dumps(dict(os.environ)))
    note("descriptors", json.dumps([os.readlink(f"/proc/self/fd/{n}") for n in ("0", "1", "2")]
                                   + [n for n in os.listdir("/proc/self/fd") if int(n) > 3]))
    line = sys.stdin.readline()
    note("settings", line)
    settings = json.loads(line)
    if MODE == "die-first":
        sys.exit("the display is on fire")
    if MODE == "refuse":
        write({"error": "Xvfb isn't installed: apt-get install xvfb"})
        sys.exit(1)
    if MODE == "no-display":
        sys.stderr.write("_XSERVTransmkdir: ERROR: Cannot create /tmp/.X11-unix\n(EE) \nFatal server error:\n"
                         "(EE) Failed to find a socket to listen on(EE) \n")
        sys.stderr.flush()
        write({"error": "Xvfb doesn't start; see what it says: Xvfb -displayfd 1"})
        sys.exit(1)
    if MODE == "garbage-first":
        write("Gtk-WARNING **: cannot open display")
    if MODE == "no-ready":
        write({"engine": "x"})
    if MODE == "noise":
        sys.stderr.write("Gdk-WARNING: noise\n" * 400_000 + "\x1b[31mred\x1b[0m\n")
    if MODE in ("stubborn", "keeps-pipe"):
        # What it starts doesn't end with it, and keeps its pipes.
        children = subprocess.Popen(["sleep", "1000"])
        note("grandchild", str(children.pid))
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    write({"ready": True, "engine": "Stand-in 1.0"})
    jobs = []
    for line in sys.stdin:
        job = json.loads(line)
        jobs.append(job)
        note("jobs", json.dumps(jobs))
        if MODE == "hang":
            continue
        if MODE == "die" and job["id"] == 2 or MODE == "keeps-pipe":
            sys.stderr.write("segmentation fault in the renderer\n")
            sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        if MODE == "garbage":
            write("{\"id\":1,")
            continue
        if MODE == "flood":
            while True:
                sys.stdout.write("x" * 65536)
        if MODE == "member":
            write({"id": job["id"], "requests": "many", "console": [], "scriptErrors": []})
            continue
        if MODE == "unasked":
            write({**answer(settings, job), "id": 99})
            continue
        if MODE == "reverse":
            # Waits for as many as may be open at a time.
            if len(jobs) == settings["parallel"]:
                for other in reversed(jobs):
                    write(answer(settings, other))
            elif len(jobs) > settings["parallel"]:
                write(answer(settings, job))
            continue
        if MODE == "huge":
            report = answer(settings, job)
            report["requests"] += [
                {"url": "https://m.example.com/" + "a" * 3000 + str(n), "source": "engine", "status": 200, "bytes": 1,
                 "kind": "other", "ms": 1} for n in range(5000)]
            report["console"] += [{"level": "log", "text": "b" * 2000, "url": None, "line": None}] * 200
            report["futureMember"] = {"is": "ignored"}
            write(report)
            continue
        threading.Thread(target=lambda job=job: (write(answer(settings, job)),
                                                 MODE == "twice" and write(answer(settings, job)))).start()
    while MODE == "stubborn":
        time.sleep(1)


main()
