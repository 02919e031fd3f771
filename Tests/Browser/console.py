#!/usr/bin/env python3
"""Tests in Chromium that hostile texts and pages that were published can't attack the console on the same origin.

    Tests/Browser/console.py [XCACHE]      XCACHE: the program (default: .build/debug/xcache)

Exits with 0 if hostile messages are shown as text, tokens aren't stored, the console can't be framed, and a
published page opened at its download URL runs no script and has an opaque origin.
Needs Chromium (Debian: apt-get install chromium), which CHROMIUM may name.
"""
import json, os, sys, tempfile, time
from cdp import Browser, CDPError
from site_under_test import Site

here = os.path.dirname(os.path.abspath(__file__))
xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../.build/debug/xcache"))

# Each tries to leave a mark that the test looks for: in the console, in storage, in the title.
message = "<img src=x onerror=\"document.title='owned by a message'\"><script>document.title='owned'</script>"
author = "<img src=x onerror=alert(1)> \u00abann\u00bb"
hostile_name = "<svg onload=alert(1)>.js"
steal = """
document.title = 'owned by a page';
try { localStorage.setItem('mark', 'page'); } catch {}
try { document.cookie = 'mark=page'; } catch {}
fetch('/console/').then(() => { document.title = 'read the console'; });
try { document.title = window.opener.document.querySelector('#token').value; } catch {}
"""
files = {
    "index.html": f"<!doctype html><title>a page</title><p>text</p><script>{steal}</script>"
                  "<img src=x onerror=\"document.title='owned by an image'\"><script src=steal.js></script>"
                  "<iframe src=/console/></iframe>",
    "image.svg": f"<svg xmlns='http://www.w3.org/2000/svg'><title>a picture</title><script>{steal}</script></svg>",
    "steal.js": steal,
    hostile_name: "1",
}


def until(probe, what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = probe()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit(f"waited in vain for {what}")


def sign_in(page, token):
    """Fills in the token and submits the form."""
    page.eval(f"""(() => {{ document.querySelector('#token').value = {json.dumps(token)};
      document.querySelector('#sign-in').requestSubmit(); }})()""")
    until(lambda: page.eval("!document.querySelector('#nav').hidden"), "the door to open")


def open_at(page, place, probe):
    page.eval(f"location.hash = {json.dumps(place)}")
    until(lambda: page.eval(f"document.querySelector({json.dumps('#view ' + probe)}) !== null"), place)


def check_console(page, site):
    page.send("Log.enable")
    page.goto(site.console)
    sign_in(page, site.token)
    open_at(page, "#/channel/shop/online", "#timeline li")
    assert message in page.eval("document.querySelector('#timeline').textContent"), "the message isn't shown"
    assert author in page.eval("document.querySelector('#timeline').textContent"), "the author isn't shown"
    open_at(page, "#/release/shop/online/1", ".tree li button")
    assert "%3Csvg%20onload" in page.eval("document.querySelector('.tree').textContent"), "the file's name isn't shown"
    for name in ("index.html", "image.svg"):
        page.eval(f"""[...document.querySelectorAll('.tree li button')]
          .find((one) => one.textContent === {json.dumps(name)}).click()""")
        shown = "img" if name == "image.svg" else "pre"
        until(lambda: page.eval(f"document.querySelector('#content {shown}') !== null"), name)
        time.sleep(0.5)
    open_at(page, "#/release/shop/online/2", ".tree li button")
    page.eval("document.querySelector('.tree li button').click()")
    until(lambda: "+ the line that changed" in page.eval("document.querySelector('#content pre')?.textContent ?? ''"), "the line")
    shown = page.eval("document.querySelector('#content').textContent")
    assert "− line 19990" in shown and "19,987 lines are the same" in shown and "6 lines are the same" in shown, shown
    hostile_search(page)
    open_at(page, "#/audit", "table")
    open_at(page, "#/operations", "table")
    assert author in page.eval("document.querySelector('#view').textContent"), "the token isn't listed"
    for place in ("#/channel/%3Cimg%20src%3Dx%3E/online", "#/release/shop/online/%22%3E%3Cscript%3E", "#/channel/%zz"):
        page.eval(f"location.hash = {json.dumps(place)}")
        time.sleep(0.5)
    assert page.eval("document.querySelectorAll('main script, main iframe, main object, main embed, [onerror]').length") == 0, \
        "a text became markup"
    assert "console" in page.eval("document.title") and "owned" not in page.eval("document.title"), "a message ran"
    assert page.eval("[...document.querySelectorAll('a')].every((one) => one.getAttribute('href').startsWith('#'))"), \
        "a link leads out of the console"
    assert page.eval("localStorage.length + sessionStorage.length") == 0, "the console keeps something"
    assert page.eval("document.cookie") == "", "the console sets a cookie"
    assert page.eval("indexedDB.databases().then((all) => all.length)") == 0, "the console has a database"
    assert site.token not in page.eval("location.href + JSON.stringify(history.state)"), "the token is in the address"
    assert site.token not in page.eval("document.documentElement.outerHTML"), "the token is in the page"
    said = [event["params"]["entry"]["text"] for event in page.events if event["method"] == "Log.entryAdded"]
    assert not [text for text in said if "Content Security Policy" in text or "Trusted" in text], said
    assert not [event for event in page.events if event["method"] == "Runtime.exceptionThrown"], "a script failed"
    # Injection by a fault in the console's script would be blocked.
    for attempt in ("document.body.innerHTML = '<b>x</b>'", "document.write('<b>x</b>')"):
        try:
            page.eval(f"(() => {{ {attempt} }})()")
        except CDPError:
            continue
        raise SystemExit(f"the console's policy lets it {attempt}")
    assert page.eval("""new Promise((done) => { const script = document.createElement('script');
      document.addEventListener('securitypolicyviolation', () => done('refused'));
      const image = new Image(); image.onload = () => done('loaded'); image.src = '/configure.json?app=shop'; })
      """) == "refused", "an image is loaded"
    page.reload()
    until(lambda: page.eval("!document.querySelector('#nav').hidden"), "the session after a reload")
    assert site.token not in page.eval("document.documentElement.outerHTML"), "the token outlives its page"
    assert page.eval("document.cookie") == "" and page.eval("localStorage.length + sessionStorage.length") == 0, "a script can read the session"


def hostile_search(page):
    """What is found, what was looked for, a problem and why somebody knows it are texts."""
    words = message[:40]
    page.eval(f"location.hash = '#/search?q=' + encodeURIComponent({json.dumps(words)})")
    until(lambda: message in page.eval("document.querySelector('#results')?.textContent ?? ''"), "the message that was looked for")
    page.eval("location.hash = '#/search?q=' + encodeURIComponent('<svg onload=')")
    until(lambda: "Nothing has “<svg onload=" in page.eval("document.querySelector('#search-note')?.textContent ?? ''"), "the words that were looked for")
    open_at(page, "#/", "#all-problems li")
    shown = page.eval("document.querySelector('#all-problems').textContent")
    assert author in shown and message in shown, shown


def check_published(browser, url):
    """A published document, opened at its download URL."""
    page = browser.new_page()
    page.goto(url)
    time.sleep(0.5)
    # Scripts by CDP run even though the page's own don't.
    assert page.eval("self.origin") == "null", f"{url} has the origin {page.eval('self.origin')}"
    title = page.eval("document.title")
    assert not any(word in title for word in ("owned", "read", "xcache_")), f"a published script ran: {title}"
    for store in ("localStorage", "sessionStorage"):
        try:
            page.eval(f"{store}.length")
        except CDPError:
            continue
        raise SystemExit(f"{url} reaches {store}")
    return page


def frames_of(page):
    def walk(tree):
        yield tree["frame"]
        for child in tree.get("childFrames", []):
            yield from walk(child)
    return list(walk(page.send("Page.getFrameTree")["frameTree"]))


def main():
    with tempfile.TemporaryDirectory() as folder:
        site = Site(xcache, folder)
        try:
            admin = site.token
            _, made = site.ask("POST", "tokens", {"name": author, "scope": "admin"})
            site.token = made["token"]
            # Longer than the part of a text that is shown, with the only difference near the end.
            lines = [f"line {number} {'-' * 40}" for number in range(20000)]
            downloads = site.publish(files | {"long.txt": "\n".join(lines)}, message=message)
            lines[19990] = "the line that changed"
            downloads = site.publish(files | {"long.txt": "\n".join(lines)}, message="a late line")
            # A problem that somebody knows of.
            site.ask("POST", "apps/shop/channels/test/create", {})
            site.ask("POST", "apps/shop/channels/test/freeze", {"reason": message})
            status, answer = site.ask("POST", "problems/acknowledge", {
                "app": "shop", "channel": "test", "code": "frozen", "reason": message, "until": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))})
            assert status == 200, (status, answer)
            site.token = admin
            with Browser() as browser:
                console = browser.new_page()
                check_console(console, site)
                for name in ("index.html", "image.svg"):
                    page = check_published(browser, downloads[name])
                    framed = [frame for frame in frames_of(page)[1:] if frame["url"].startswith(site.url)]
                    assert not framed, f"the console is framed: {framed}"
                assert console.eval("localStorage.length") == 0 and console.eval("document.cookie") == "", "a mark is left"
                print(f"{browser.version}: hostile texts are text, hostile pages are alone")
        finally:
            site.stop()
    print("OK")


main()
