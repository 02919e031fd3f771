#!/usr/bin/env python3
"""Tests in Chromium of the console's pages for looking at releases: what changed in them, their pages, and what fails on devices.

    Tests/Browser/console_failures.py [XCACHE]      XCACHE: the program (default: .build/debug/xcache)

Two builds whose files have hashes in their names; samples of errors, and pictures, that are hostile. Needs Chromium.
"""
import json, os, re, socket, sys, tempfile, time, urllib.request
from cdp import Browser
from console_page import Console, here, until
from site_under_test import Site

xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../.build/debug/xcache"))
base = "https://m.example.com/"
hostile = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
mark = "document.title.startsWith('owned')"


def bundle(total, old):
    """A script as a bundler writes it: one long line. `old`: the hash of another file that it loads."""
    lines = [f"function f{number}(a,b){{if(a>{number}){{return/[/]{{/.test(b)?`t${{a}}`:b/{number + 1}/2}}return a}}" for number in range(60)]
    return "".join(lines) + f"import(\"./part.{old}.js\");export const total={total};"


def build(hash, part, total, colour):
    return {
        "index.html": f"<!doctype html><title>shop</title><script type=module src=js/app.{hash}.js></script><h1>Sale {total}</h1>",
        f"js/app.{hash}.js": bundle(total, part),
        f"js/part.{part}.js": f"export const part = 1; // {part[:1] * 40}\n" + "\n".join(f"export const p{number} = {number};" for number in range(200)),
        f"js/names.{part[::-1]}.js": bundle(0, part),
        "img/logo.svg": f"<svg xmlns='http://www.w3.org/2000/svg' width='90' height='90' onload='parent.document.title=\"owned\"'>"
                        f"<script>parent.document.title='owned'</script><circle cx='45' cy='45' r='40' fill='{colour}'/></svg>",
    }


def sample(site, version, kind, message, page, stack=(), engine="WebKit 605.1"):
    body = {"sample": {"engine": engine, "kind": kind, "message": message, "page": page, "stack": list(stack)}, "version": str(version)}
    urllib.request.urlopen(urllib.request.Request(f"{site.url}/report?app=shop", data=json.dumps(body).encode())).read()


def prepared(site):
    site.publish(build("1f3c77aa", "aa11bb22", 10, "teal"), "the first")
    # Files that are gone are removed by the publisher: the bundle is exactly the folder.
    # A word that is wider than every screen, as the address of an issue may be.
    site.publish(build("9e8d7c6b", "cc33dd44", 20, "orangered"), f"{hostile} {'W' * 300}")
    site.poll(1, 3)
    site.poll(2, 5)
    app = f"{base}js/app.9e8d7c6b.js"
    for _ in range(3):
        sample(site, 2, "script", "TypeError: undefined is not an object (evaluating 'a.b')", f"{base}index.html", [f"total@{app}:1:2391", f"@{app}:1:17"])
    sample(site, 2, "rejection", hostile, f"{base}index.html", [f"{hostile}@{app}:1:1"], "Chromium 141")
    sample(site, 2, "page", "the page did not come up", f"{base}index.html")
    site.count(2, {"page-failed": 5, "script-failed": 9, "local": 4000, "passed": 100, "paint-local-512": 400})
    site.count(1, {"page-failed": 0, "script-failed": 1, "local": 4000, "passed": 100, "paint-local-512": 4000})
    # Counts are kept in memory for some seconds; the series are asked for all of them.
    assert site.ask("GET", "apps/shop/channels/online/adoption/series")[0] == 200


def check_release(console):
    console.go("#/release/shop/online/2", ".tree li button")
    # Three names with hashes, the page and the picture; nothing is listed as added or removed.
    console.says("3 renamed and changed, 2 changed", "#in-words")
    console.says("R 3 renamed and changed, ~2 changed", "#view form[role=search]")
    assert console.eval("[...document.querySelectorAll('.tree li .mark-of')].map((one) => one.textContent.trim()).sort().join()") \
        == "Rrenamed,Rrenamed,Rrenamed,~changed,~changed", console.text(".tree")
    app = f"{base}js/app.9e8d7c6b.js"
    console.click(f".tree button[data-url='{app}']")
    console.wait("#content pre.diff")
    console.says("renamed from " + f"{base}js/app.1f3c77aa.js", "#content")
    console.says("Shown formatted", "#content")
    # One line of the formatted script, not the one long line; the new name of the part it loads is no change.
    lines = console.eval("[...document.querySelectorAll('#content .del, #content .ins')].map((one) => one.textContent)")
    assert lines == ["− export const total = 10;", "+ export const total = 20;"], lines
    assert console.eval("[...document.querySelectorAll('#content .diff b')].map((one) => one.textContent).join()") == "10,20"
    console.click("#hide-renames")
    console.says("part.aa11bb22.js", "#content .del")
    # The address says what is shown, and opens it again.
    link = console.eval("location.hash")
    assert f"file={app.replace(':', '%3A').replace('/', '%2F')}" in link, link
    console.go("#/audit", "table")
    console.go(link, "#content pre.diff")
    assert console.eval("document.querySelector('.tree button[aria-current]').dataset.url") == app
    # A file in which nothing but names changed says so.
    console.click(f".tree button[data-url*='js/names.']")
    console.says("Only names of files that were renamed changed in it.", "#content")
    # Pictures, which run nothing.
    console.click(f".tree button[data-url='{base}img/logo.svg']")
    until(lambda: console.eval("[...document.querySelectorAll('#content img')].filter((one) => one.naturalWidth === 90).length") == 2, "two pictures")
    console.says("Before, 90 × 90", "#content")
    assert console.eval("document.querySelectorAll('#content .sizes svg').length") == 2
    # A filter finds a renamed file by the name that it had.
    console.eval("""(() => { const field = document.querySelector('#filter-changes'); field.value = '1f3c77aa';
      field.dispatchEvent(new Event('input')); })()""")
    console.says("R 1 renamed and changed", "#view form[role=search]")
    assert "filter=1f3c77aa" in console.eval("location.hash")
    console.says("From version 1", "#update-costs")
    assert console.eval("document.querySelector('.said').textContent").startswith("<img src=x"), "the message isn't shown"
    console.check("a release")


def check_failures(console, site):
    # What devices count is written every 10 seconds.
    until(lambda: site.ask("GET", "apps/shop/channels/online/adoption")[1].get("reports"), "what devices counted", 40)
    console.go("#/failures/shop/online?version=2", "#samples .sample")
    console.says("undefined is not an object", "#samples")
    console.says("3 times", "#samples .sample")
    text = console.text("#samples")
    assert "<img src=x" in text and "uncaught error" in text and "unhandled rejection" in text, text
    assert "Chromium 141" in text and "/js/app.9e8d7c6b.js:1:" in text, text
    assert "index.html" in console.text("#failing-pages"), console.text("#failing-pages")
    assert console.eval("document.querySelectorAll('main script, main img, main iframe, [onerror]').length") == 0
    console.says("on version 1", "#failure-figures")
    # A page is told by its samples, and figures have the words and digits of the channel's page.
    console.says("sample", "#failing-pages")
    assert "Failed downloads" in console.text("#failure-figures"), console.text("#failure-figures")
    # A page's own samples, by its link.
    console.click("#failing-pages a[href*='page=']")
    console.wait("#failing-pages a[aria-current=true]")
    assert "page=" in console.eval("location.hash")
    console.check("failures")
    # What to do about it is there.
    console.click("#act-roll-back")
    console.wait("dialog[open]")
    console.says("Roll back", "dialog")
    console.press("Escape")
    until(lambda: not console.has("dialog[open]"), "the dialog's end")
    # Switched off: the page says so.
    status, answer = site.ask("POST", "apps/shop/channels/online/settings", {"samples": False})
    assert status == 200, answer
    console.go("#/audit", "table")
    console.go("#/failures/shop/online?version=2", "#samples p")
    console.says("they are off", "#samples")
    site.ask("POST", "apps/shop/channels/online/settings", {"samples": True})


def check_preview(console):
    console.go(f"#/preview/shop/online/2?page={base}index.html", "#stage iframe")
    frame = console.eval("""(() => { const one = document.querySelector('#stage iframe');
      return { sandbox: one.getAttribute('sandbox'), src: one.src, width: one.offsetWidth }; })()""")
    assert frame["sandbox"] == "allow-scripts allow-same-origin allow-forms", frame
    assert not frame["src"].startswith(console.site.url), "the page runs in the console's origin"
    console.eval("[...document.querySelectorAll('[aria-label=Width] button')].find((one) => one.textContent === '390 px').click()")
    assert console.eval("document.querySelector('#stage iframe').offsetWidth") == 390
    assert "width=390" in console.eval("location.hash")
    console.says("There are no pictures of these versions.", "#pictures")
    until(lambda: any("Sale 20" in text(target) for target in console.page.send("Page.getFrameTree")["frameTree"].get("childFrames", []))
          or frame_says(console, frame["src"], "Sale 20"), "the page in its frame")
    time.sleep(0.5)
    assert not console.eval(mark), "a page reached the console"
    # A link to a page that isn't there leads to those that are.
    console.go("#/preview/shop/online/2?page=https://nowhere.example.com/", "#stage [role=alert]")
    console.wait(f"#page option[value='{base}index.html']")
    console.check_clean("a preview")


def check_left(console):
    """Who goes on before an answer has come, or before what they typed was looked for, stays where they are."""
    console.go("#/search", "#search")
    console.eval("""(() => { const field = document.querySelector('#search'); field.value = 'shop';
      field.dispatchEvent(new Event('input', { bubbles: true })); location.hash = '#/audit'; })()""")
    console.wait("#view table")
    time.sleep(0.5)
    assert console.eval("location.hash") == "#/audit", console.eval("location.hash")
    # The first answer comes after the second one.
    console.go(f"#/preview/shop/online/2?page={base}index.html", "#stage iframe")
    console.eval(f"""(() => {{ const [real, field] = [fetch, document.querySelector('#page')];
      let late = 1000;
      window.fetch = async (...all) => {{
        if (all[0].endsWith('/preview')) {{ const mine = late; late = 0; await new Promise((done) => setTimeout(done, mine)); }}
        return real(...all); }};
      const choose = (page) => {{ field.append(new Option(page, page)); field.value = page; field.dispatchEvent(new Event('change')); }};
      choose('{base}nowhere/'); choose('{base}index.html'); setTimeout(() => (window.fetch = real), 1500); }})()""")
    time.sleep(2)
    console.wait("#stage iframe[src$='/index.html']")
    assert console.eval("document.querySelector('#page').value") == f"{base}index.html"
    # What no origin answers isn't taken for its answer.
    console.eval("""(() => { const real = fetch; window.real = real;
      window.fetch = (...all) => (all[0].includes('/samples') ? Promise.resolve(new Response(null)) : real(...all)); })()""")
    console.go("#/failures/shop/online?version=1", "#samples p.bad")
    console.says("The server does not answer.", "#samples")
    console.eval("window.fetch = real; 0")


def check_refused(browser, site):
    """Who couldn't be let in isn't signed in after a reload, either."""
    console = Console(browser, site)
    console.eval("""(() => { const real = fetch;
      window.fetch = (...all) => (all[0].endsWith('/overview') ? Promise.resolve(new Response('{}', { status: 500 })) : real(...all)); })()""")
    console.sign_in(site.token)
    console.says("✖ The server answered with the status 500.", "#refusal")
    time.sleep(0.5)
    console.page.reload()
    time.sleep(1)
    assert console.eval("document.querySelector('#nav').hidden"), "a session is left"


def text(frame):
    return frame["frame"].get("name", "")


def frame_says(console, address, words):
    """What the frame's address answers, by the same way as the browser asks."""
    found = re.match(r"http://([^/]+):(\d+)(/.*)", address)
    with socket.create_connection(("127.0.0.1", int(found[2]))) as link:
        link.sendall(f"GET {found[3]} HTTP/1.1\r\nHost: {found[1]}:{found[2]}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while part := link.recv(65536):
            answer += part
    return words.encode() in answer


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ["XCACHE_PREVIEW_LISTEN"] = f"127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        site = Site(xcache, folder)
        try:
            prepared(site)
            with Browser() as browser:
                console = Console(browser, site)
                console.sign_in(site.token)
                console.wait("#sign-out")
                for width in (1280, 390):
                    console.wide(width)
                    check_release(console)
                    check_failures(console, site)
                    for _ in range(3):
                        sample(site, 2, "script", "TypeError: undefined is not an object (evaluating 'a.b')", f"{base}index.html",
                               [f"total@{base}js/app.9e8d7c6b.js:1:2391"])
                    sample(site, 2, "rejection", hostile, f"{base}index.html", [f"{hostile}@{base}js/app.9e8d7c6b.js:1:1"], "Chromium 141")
                    check_preview(console)
                    check_left(console)
                check_refused(browser, site)
                assert not console.eval(mark), "a text ran"
                print(f"{browser.version}: renamed files, formatted texts, failures and previews; hostile texts are text")
        finally:
            site.stop()
    print("OK")


main()
