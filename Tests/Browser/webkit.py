"""WebKitGTK instead of Chromium, for cases that only need pages: implements a part of cdp.py's Browser and Session.

Needs Debian's gir1.2-webkit2-4.1, xvfb and python3-gi, and so /usr/bin/python3. It shares its engine with Safari.
"""
import ctypes, gc, json, os, select, shutil, signal, subprocess, tempfile, time

for name, value in (("NO_AT_BRIDGE", "1"), ("GIO_USE_VFS", "local"), ("GSETTINGS_BACKEND", "memory"), ("GDK_BACKEND", "x11"),
                    ("LIBGL_ALWAYS_SOFTWARE", "1"), ("WEBKIT_DISABLE_DMABUF_RENDERER", "1")):
    os.environ.setdefault(name, value)


class Screen:
    """A private X server on a free display number, without TCP, that ends with this process."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="webkit-runtime-")
        os.environ.setdefault("XDG_RUNTIME_DIR", self.folder)
        read, write = os.pipe()
        self.process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "430x932x24", "-nolisten", "tcp"], pass_fds=[write],
            preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGTERM), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(write)
        number = b""
        while not number.endswith(b"\n"):
            part = os.read(read, 16) if select.select([read], [], [], 60)[0] else b""
            if not part:
                raise SystemExit("Xvfb did not start: apt-get install -y --no-install-recommends xvfb")
            number += part
        os.close(read)
        os.environ["DISPLAY"] = ":" + number.decode().strip()

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


# Garbage collection of a window on a server's thread would crash: only this thread collects, when a page is closed.
gc.disable()
screen = Screen()
import gi  # noqa: E402
gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
gi.require_version("JavaScriptCore", "4.1")
from gi.repository import GLib, Gtk, WebKit2  # noqa: E402

import servers  # noqa: E402
from cdp import CDPError  # noqa: E402
from servers import Skipped  # noqa: E402

DONE = ("Network.enable", "Page.enable", "Runtime.enable")


def turn(seconds=0.02):
    """Runs WebKit's main loop in this process."""
    end = time.monotonic() + seconds
    while True:
        while GLib.MainContext.default().iteration(False):
            pass
        if time.monotonic() >= end:
            return
        time.sleep(0.002)


servers.pause = turn


def spin(probe, timeout, what):
    end = time.monotonic() + timeout
    while (value := probe()) is None:
        if time.monotonic() > end:
            raise CDPError(f"timed out after {timeout} s waiting for {what}")
        turn(0.002)
    return value


class Session:
    """A page in its own window."""

    def __init__(self, browser):
        self.web = WebKit2.WebView(web_context=browser.context)
        self.web.get_settings().set_hardware_acceleration_policy(WebKit2.HardwareAccelerationPolicy.NEVER)
        self.window = Gtk.Window()
        self.window.set_default_size(412, 732)
        self.window.add(self.web)
        self.window.show_all()
        self.is_finished, self.error = None, None
        self.web.connect("load-changed", self.changed)
        self.web.connect("load-failed", self.failed)
        self.target = {"targetId": self}

    def changed(self, _, event):
        if event == WebKit2.LoadEvent.FINISHED:
            self.is_finished = True

    def failed(self, _, event, uri, error):
        self.error = f"{uri}: {error.message}"
        return True

    def send(self, method, timeout=120, **params):
        if method == "Page.navigate":
            return self.web.load_uri(params["url"])
        if method not in DONE:
            raise Skipped(f"WebKit has no {method}")

    def loads(self, act, timeout, what):
        self.is_finished = self.error = None
        act()
        spin(lambda: self.is_finished, timeout, what)
        if self.error:
            raise CDPError(self.error)

    def goto(self, url, timeout=120):
        self.loads(lambda: self.web.load_uri(url), timeout, url)

    def reload(self, timeout=120):
        self.loads(self.web.reload, timeout, "the page")

    def eval(self, expression, timeout=120):
        """Value of a JavaScript expression; promises are awaited."""
        box = []
        source = f"return JSON.stringify(await ({expression.strip().rstrip(';')})) ?? null"
        self.web.call_async_javascript_function(source, -1, None, None, None, None, lambda _, result: box.append(result))
        result = spin(lambda: box[0] if box else None, timeout, expression[:200])
        try:
            value = self.web.call_async_javascript_function_finish(result)
        except GLib.Error as error:
            raise CDPError(error.message)
        return json.loads(value.to_string()) if value.is_string() else None


class Root:
    def send(self, method, timeout=120, **params):
        if method != "Target.closeTarget":
            raise Skipped(f"WebKit has no {method}")
        params["targetId"].window.destroy()
        turn()
        gc.collect()


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="webkit-data-")
        data = WebKit2.WebsiteDataManager(base_data_directory=f"{self.folder}/data", base_cache_directory=f"{self.folder}/cache")
        self.context = WebKit2.WebContext.new_with_website_data_manager(data)
        self.root = Root()
        self.version = f"WebKitGTK {WebKit2.get_major_version()}.{WebKit2.get_minor_version()}.{WebKit2.get_micro_version()}"

    def new_page(self):
        return Session(self)

    def targets(self, kind=None):
        raise Skipped("WebKit tells nothing of its workers")

    def close(self):
        turn(0.3)
        shutil.rmtree(self.folder, ignore_errors=True)
        screen.stop()
