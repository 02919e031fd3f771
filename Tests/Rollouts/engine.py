#!/usr/bin/python3
"""A view of WebKitGTK whose whole network is an HTTP proxy:   engine.py PROXY-PORT WATCH

WATCH is the script that an app runs in each page (PageWatch.swift); what it signals is the verdict. Commands and answers are lines of JSON:

  {"open": URL, "seconds": 20}   loads the page, until it has come up, has failed, or the time is over: {"signals": ["loaded 51", "painted 80"]}
  {"close": true}                closes it: {}
  {"text": true}                 what the page shows: {"text": "…"}
"""
import json, os, pathlib, shutil, subprocess, sys, tempfile, time

folder = tempfile.mkdtemp(prefix="engine-")
read, write = os.pipe()
display = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "430x932x24", "-nolisten", "tcp"], pass_fds=[write],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
os.close(write)
number = b""
while not number.endswith(b"\n"):
    part = os.read(read, 16)
    if not part:
        sys.exit("Xvfb did not start")
    number += part
os.environ |= {"DISPLAY": ":" + number.decode().strip(), "GDK_BACKEND": "x11", "NO_AT_BRIDGE": "1", "GIO_USE_VFS": "local",
               "GSETTINGS_BACKEND": "memory", "LIBGL_ALWAYS_SOFTWARE": "1", "WEBKIT_DISABLE_DMABUF_RENDERER": "1", "XDG_RUNTIME_DIR": folder}

import gi  # noqa: E402
gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
from gi.repository import GLib, Gtk, WebKit2  # noqa: E402


def turn_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        while GLib.MainContext.default().iteration(False):
            pass
        time.sleep(0.003)


class View:
    """A new one for each page, as in an app that opens it: with the same cookies and storage, without what was in memory."""

    def __init__(self, port, watch):
        data = WebKit2.WebsiteDataManager(base_data_directory=f"{folder}/data", base_cache_directory=f"{folder}/cache")
        data.set_network_proxy_settings(WebKit2.NetworkProxyMode.CUSTOM, WebKit2.NetworkProxySettings.new(f"http://127.0.0.1:{port}", None))
        self.context, self.watch, self.window = WebKit2.WebContext.new_with_website_data_manager(data), watch, None
        # The device answers; the engine keeps nothing of its own.
        self.context.set_cache_model(WebKit2.CacheModel.DOCUMENT_VIEWER)

    def close(self):
        if self.window:
            self.window.destroy()
        self.window = self.web = None
        turn_until(lambda: False, 0.1)
        return {}

    def open(self, url, seconds):
        self.close()
        content = WebKit2.UserContentManager()
        content.register_script_message_handler("xcache")
        content.add_script(WebKit2.UserScript.new(self.watch, WebKit2.UserContentInjectedFrames.TOP_FRAME, WebKit2.UserScriptInjectionTime.START))
        signals = []
        content.connect("script-message-received::xcache", lambda _, message: signals.append(message.get_js_value().to_string()))
        self.web = WebKit2.WebView(web_context=self.context, user_content_manager=content)
        self.web.get_settings().set_hardware_acceleration_policy(WebKit2.HardwareAccelerationPolicy.NEVER)
        self.window = Gtk.Window()
        self.window.set_default_size(412, 732)
        self.window.add(self.web)
        self.window.show_all()
        self.web.load_uri(url)
        turn_until(lambda: any(signal.split()[0] in ("painted", "failed") for signal in signals), seconds)
        return {"signals": signals}

    def text(self):
        box = []
        self.web.call_async_javascript_function("return document.body.innerText", -1, None, None, None, None, lambda _, result: box.append(result))
        turn_until(lambda: box, 20)
        return {"text": self.web.call_async_javascript_function_finish(box[0]).to_string() if box else ""}


try:
    view = View(sys.argv[1], pathlib.Path(sys.argv[2]).read_text())
    for line in sys.stdin:
        command = json.loads(line)
        if "open" in command:
            answer = view.open(command["open"], command["seconds"])
        else:
            answer = view.close() if "close" in command else view.text()
        print(json.dumps(answer), flush=True)
finally:
    display.terminate()
    display.wait()
    shutil.rmtree(folder, ignore_errors=True)
