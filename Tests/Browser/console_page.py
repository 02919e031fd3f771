"""Drives the console in Chromium, with checks that apply to all its pages."""
import datetime, glob, json, os, subprocess, sys, time

here = os.path.dirname(os.path.abspath(__file__))
# The reader's zone differs from the machine's and the server's, by half an hour, too.
zone = "Asia/Kolkata"


def local(moment, later=0):
    """A time of the API in the reader's zone."""
    at = datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")) + datetime.timedelta(seconds=later)
    return at.astimezone(datetime.timezone(datetime.timedelta(hours=5, minutes=30)))


def zone_text(moment, later=0):
    """The same in the format that users type."""
    return local(moment, later).strftime("%Y-%m-%d %H:%M:%S")


def until(probe, what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = probe()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit(f"waited in vain for {what}")


def axe():
    """axe-core's script, from the package axe-playwright-python of PyPI; fetched once."""
    folder = os.path.join(here, "../../.build/axe")
    found = glob.glob(f"{folder}/**/axe.min.js", recursive=True)
    if not found:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder,
                        "axe-playwright-python==0.1.4"], check=True, stdout=subprocess.DEVNULL)
        found = glob.glob(f"{folder}/**/axe.min.js", recursive=True)
    return open(found[0]).read()


class Console:
    """A page that shows the console."""

    def __init__(self, browser, site, width=1280, height=900, **page):
        # Each has its own session.
        self.site, self.page = site, browser.new_page(**{"apart": True, **page})
        self.page.send("Log.enable")
        self.page.send("Emulation.setTimezoneOverride", timezoneId=zone)
        self.wide(width, height)
        self.page.goto(site.console)

    def wide(self, width, height=900):
        self.page.viewport(width, height, 1, width < 600)

    def scheme(self, name):
        self.page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def eval(self, script):
        return self.page.eval(script)

    def has(self, selector):
        return self.eval(f"document.querySelector({json.dumps(selector)}) !== null")

    def wait(self, selector, seconds=30):
        until(lambda: self.has(selector), f"{selector} in {self.text()[:300]!r}", seconds)

    def text(self, selector="body"):
        # Numbers and units are joined by no-break spaces.
        return self.eval(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''").replace("\u00a0", " ")

    def says(self, words, selector="body", seconds=30):
        until(lambda: words in self.text(selector), f"{words!r} in {self.text(selector)[:400]!r}", seconds)

    def sign_in(self, token):
        self.eval(f"document.querySelector('#token').value = {json.dumps(token)}")
        self.press("Enter", "#token")

    def reload(self):
        """Reloads the page of who is signed in, which keeps them signed in."""
        self.page.reload()
        until(lambda: self.eval("!document.querySelector('#nav').hidden"), f"the session after a reload; there is {self.text()[:200]!r}")

    def flat(self, selector="body"):
        """A text without its line ends: what only screen readers get is on lines of its own."""
        return " ".join(self.text(selector).split())

    def press(self, key, selector=None):
        """Presses a key on the focused element."""
        if selector:
            self.eval(f"document.querySelector({json.dumps(selector)}).focus()")
        codes = {"Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), " ": (32, " ")}
        code, text = codes.get(key) or (ord(key.upper()), key)
        for kind in ("keyDown", "keyUp"):
            self.page.send("Input.dispatchKeyEvent", type=kind, key=key, code="Space" if key == " " else key,
                           windowsVirtualKeyCode=code, **({"text": text} if text and kind == "keyDown" else {}))

    def click(self, selector):
        self.wait(selector)
        self.eval(f"document.querySelector({json.dumps(selector)}).click()")

    def go(self, place, selector):
        self.eval(f"location.hash = {json.dumps(place)}")
        self.wait(f"#view {selector}")

    def set(self, name, value):
        """Fills a field of the dialog in."""
        self.eval(f"""(() => {{ let field = document.querySelector('dialog [name={name}]');
          if (field.type === 'radio') {{
            field = [...document.querySelectorAll('dialog [name={name}]')].find((one) => one.value === {json.dumps(value)});
            field.checked = true;
          }} else if (field.type === 'checkbox') field.checked = {json.dumps(value)}; else field.value = {json.dumps(value)};
          field.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()""")

    def act(self, button, reason, values={}, times=1, expect="✔"):
        """Opens a dialog, waits for its preview, confirms it, and returns the texts of the preview and the outcome."""
        self.click(button)
        self.wait("dialog[open]")
        for name, value in values.items():
            self.set(name, value)
        # Only what was previewed can be confirmed.
        self.wait("dialog #confirm:not([aria-disabled])")
        shown = self.text("dialog #preview")
        self.set("reason", reason)
        self.eval("for (let i = 0; i < %d; i += 1) document.querySelector('dialog form').requestSubmit()" % times)
        self.says(expect, "dialog #outcome")
        said = self.text("dialog #outcome")
        self.click("dialog #cancel")
        until(lambda: not self.has("dialog"), "the dialog's end")
        return shown, said

    def requests(self, since):
        """URLs of requests to the API since a time of `time.monotonic()`."""
        return [event["params"]["request"]["url"] for event in self.page.events
                if event["method"] == "Network.requestWillBeSent" and event["at"] > since
                and "/api/" in event["params"]["request"]["url"]]

    def check(self, what):
        """Checks for serious findings of axe, horizontal overflow, and violations of the content security policy."""
        if not self.eval("typeof axe === 'object'"):
            self.eval(axe() + ";0")
        # A text that is still fading in has too little contrast.
        until(lambda: self.eval("document.getAnimations().every((one) => one.playState === 'finished')"), "the animations' end")
        # Behind a dialog nothing is read, and axe takes the dialog's colours for those behind the texts that it covers.
        found = self.eval("""axe.run(document.querySelector('dialog[open]') ?? document, { resultTypes: ['violations'] }).then((result) => result.violations
          .filter((one) => ['serious', 'critical'].includes(one.impact))
          .map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).join(' ')}`))""")
        assert not found, f"{what}: {found}"
        # Not `innerWidth`: phones zoom out pages that are too wide.
        over = self.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, f"{what}: {over} px beside the page"
        self.check_clean(what)

    def check_clean(self, what, refusals=()):
        entries = [event["params"]["entry"] for event in self.page.events if event["method"] == "Log.entryAdded"]
        bad = [one["text"] for one in entries if "Security Policy" in one["text"] or "Trusted" in one["text"]]
        assert not bad, f"{what}: {bad}"
        thrown = [event["params"] for event in self.page.events if event["method"] == "Runtime.exceptionThrown"]
        assert not thrown, f"{what}: {json.dumps(thrown)[:800]}"
