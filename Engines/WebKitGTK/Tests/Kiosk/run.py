#!/usr/bin/env python3
"""Tests Examples/kiosk under a virtual display (display.sh): run.py XCACHE KIOSK

The page has an image from a server that never answers and counts its connections: one for each time the page is shown.
"""
import json, os, signal, socket, subprocess, sys, tempfile, threading, time

xcache, kiosk = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../XCacheWebKitTests/Site/site.py")
SLOW = float(os.environ.get("SLOW", "3"))  # Factor on all timeouts, for busy machines.


class Silent:
    """A server that accepts connections and never answers."""

    def __init__(self):
        self.listener, self.connections = socket.create_server(("127.0.0.1", 0)), []
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            self.connections.append(self.listener.accept()[0])


def until(what, seconds, condition):
    end = time.monotonic() + seconds * SLOW
    while not condition():
        assert time.monotonic() < end, f"not within {seconds * SLOW:.0f} s: {what}"
        time.sleep(0.1)
    print("ok:", what, flush=True)


def descendants(pid):
    """A process and its descendants, with their names."""
    rows = [line.split(None, 2) for line in subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True).stdout.splitlines()]
    found = {pid}
    for _ in range(5):
        found |= {int(row[0]) for row in rows if int(row[1]) in found}
    return [(int(row[0]), row[2]) for row in rows if int(row[0]) in found]


class Kiosk:
    def __init__(self, folder, url, **environment):
        self.errors = open(f"{folder}/stderr-{time.monotonic_ns()}", "w+")
        inherited = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_DATA_HOME")}
        self.process = subprocess.Popen([kiosk, told["server"], "shop", url], env=inherited | environment, stderr=self.errors)

    def said(self):
        return open(self.errors.name).read()

    def end(self):
        self.process.terminate()
        self.process.wait()


with tempfile.TemporaryDirectory() as folder:
    listed, home = f"{folder}/site/listed", f"{folder}/home"
    os.makedirs(listed)
    os.makedirs(home)
    site = subprocess.Popen([sys.executable, SITE, f"{folder}/site", xcache], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    told, running = json.loads(site.stdout.readline()), []
    base, images = f"https://m.localhost:{told['port']}", [Silent(), Silent()]

    def publish(number):
        with open(f"{listed}/index.html", "w") as page:
            page.write(f'<!doctype html><title>{number}</title><p>{number}</p><img src="https://127.0.0.1:{images[number].port}/">')
        site.stdin.write(f"run publish --create {listed} --bundle listed --base-url {base}/ --no-check all --now\n")
        site.stdin.flush()
        assert site.stdout.readline() == "ok\n"

    def start(**environment):
        running.append(Kiosk(folder, f"{base}/index.html", **environment))
        return running[-1]

    try:
        publish(0)
        first = start(HOME=home)
        until("a release is shown", 30, lambda: images[0].connections)
        until("the device's folder is in HOME", 5, lambda: os.path.exists(f"{home}/.local/share/kiosk/device"))

        second = start(HOME=home)
        until("a second kiosk says that the device isn't its own", 10, lambda: f"in use by process {first.process.pid}" in second.said())
        second.end()
        third = start(HOME=home, XDG_DATA_HOME=f"{folder}/data")
        until("one with XDG_DATA_HOME has a device of its own", 10, lambda: os.path.exists(f"{folder}/data/kiosk/device"))
        assert "in use" not in third.said()
        third.end()

        shown, killed = len(images[0].connections), [pid for pid, name in descendants(first.process.pid) if name.startswith("WebKitWebPro")]
        assert killed, "it has no web process"
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        until("a page whose process was killed is shown again", 15, lambda: len(images[0].connections) > shown)

        publish(1)
        until("the next release is shown, though the one before never ended", 75, lambda: images[1].connections)
    except AssertionError as error:
        sys.exit(f"{error}\n{''.join(one.said() for one in running)}")
    finally:
        for one in running:
            if one.process.poll() is None:
                one.end()
        site.stdin.close()
        site.wait(20)
