#!/usr/bin/env python3
"""What somebody published can't reach the console, which shares its origin: hostile texts and pages in Chromium.

    Tests/Browser/console.py [XCACHE]      XCACHE: the program (default: .build/debug/xcache)

Ends with 0 when hostile messages are shown as text, nothing of a token is kept, the console can't be framed, and a
published page opened at its download URL runs no script and has an origin of its own.
Needs Chromium (Debian: apt-get install chromium), which CHROMIUM may name.
"""
import json, os, sys, tempfile, time
from cdp import Browser, CDPError
from site_under_test import Site

here = os.path.dirname(os.path.abspath(__file__))
xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../.build/debug/xcache"))

# Each tries to leave a mark where the test looks for it: in the console, in what the origin keeps, in the title.
message = "<img src=x onerror=\"document.title='owned by a message'\"><script>document.title='owned'</script>"
steal = """
document.title = 'owned by a page';
try { localStorage.setItem('mark', 'page'); } catch {}
try { document.cookie = 'mark=page'; } catch {}
fetch('/console/').then(() => { document.title = 'read the console'; });
try { document.title = window.opener.document.querySelector('[name=token]').value; } catch {}
"""
files = {
    "index.html": f"<!doctype html><title>a page</title><p>text</p><script>{steal}</script>"
                  "<img src=x onerror=\"document.title='owned by an image'\"><script src=steal.js></script>"
                  "<iframe src=/console/></iframe>",
    "image.svg": f"<svg xmlns='http://www.w3.org/2000/svg'><title>a picture</title><script>{steal}</script></svg>",
    "steal.js": steal,
}


def until(probe, what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = probe()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit(f"waited in vain for {what}")


def ask(page, token):
    """Fills the console's form in and sends it."""
    page.eval(f"""(() => {{ const form = document.querySelector('#ask');
      form.elements.app.value = 'shop'; form.elements.token.value = {json.dumps(token)};
      form.requestSubmit(); }})()""")
    until(lambda: page.eval("document.querySelector('#releases tbody tr') !== null"), "the releases")


def check_console(page, site):
    page.goto(f"{site.url}/console/")
    ask(page, site.token)
    assert message in page.eval("document.querySelector('#releases tbody').textContent"), "the message isn't shown"
    assert page.eval("document.querySelectorAll('main img, main script').length") == 0, "a message became markup"
    assert page.eval("document.title") == "xcache", "a message ran"
    page.eval("document.querySelector('#releases tbody tr').click()")
    until(lambda: page.eval("document.querySelector('#diff tbody tr') !== null"), "the diff")
    assert page.eval("document.querySelectorAll('a, iframe, object, embed').length") == 0, "published files are linked"
    assert page.eval("localStorage.length + sessionStorage.length") == 0, "the console keeps something"
    assert page.eval("document.cookie") == "", "the console sets a cookie"
    assert page.eval("indexedDB.databases().then((all) => all.length)") == 0, "the console has a database"
    # What a fault in the console's script would meet.
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
    assert page.eval("document.querySelector('[name=token]').value") == "", "the token outlives its page"


def check_published(browser, url):
    """A published document, opened at its download URL."""
    page = browser.new_page()
    page.goto(url)
    time.sleep(0.5)
    # CDP's scripts aren't the page's: they tell what the document is.
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
            downloads = site.publish(files, message=message)
            with Browser() as browser:
                console = browser.new_page()
                check_console(console, site)
                ask(console, site.token)
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
