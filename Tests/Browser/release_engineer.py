#!/usr/bin/env python3
"""Tests the console in Chromium with the workflow of a release engineer, against the program.

    Tests/Browser/release_engineer.py [XCACHE]      XCACHE: the program (default: .build/debug/xcache)

Signs in, finds what broke and when, compares, rolls back and watches the fleet follow; freezes, tries to publish, thaws; uses
every action; twice finds a failing page, sees its stack, looks at it and rolls back, in under 20 clicks and 90 seconds; signs in
with a read-only token; restarts the server. Every page is checked with axe, at 1,440, 1,100 and 390 px,
dark and light. Needs Chromium, and pip for axe-playwright-python.
"""
import json, os, sys, tempfile, time
from cdp import Browser
from console_page import Console, here, local, until, zone_text
from site_under_test import Site

xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../.build/debug/xcache"))
channel = "#/channel/shop/online"


def say(words):
    print(f"{time.monotonic() - begin:6.1f} s  {words}", flush=True)


def prepared(site):
    """Publishes three releases, the newest of which breaks something."""
    files = {f"js/part-{number}.js": f"console.log({number});\n" * 20 for number in range(20)}
    files["index.html"] = "<!doctype html><title>shop</title>\n<h1>Spring</h1>\n"
    files["logo.svg"] = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><circle cx='4' cy='4' r='4'/></svg>"
    site.publish(files, "spring sale")
    files["logo.svg"] = files["logo.svg"].replace("r='4'", "r='2'")
    # Releases need different seconds.
    time.sleep(1.2)
    site.publish(files | {"index.html": "<!doctype html><title>shop</title>\n<h1>Summer</h1>\n"}, "summer sale")
    time.sleep(1.2)
    site.publish(files | {"js/part-7.js": "throw new Error();\n"}, "a new basket")
    site.poll(2, 40)
    site.poll(3, 60)
    site.report("integrity", 3, 25, "https://m.example.com/js/part-7.js")


def find_what_broke(console, site):
    console.says("Devices reported 25 failures", "#problems")
    assert console.text("#view table tbody tr").startswith("shop online")
    console.press("Enter", "#to-shop\\/online")
    console.wait("#timeline li")
    assert not console.eval("document.querySelector('#older').offsetParent"), "a button that has nothing to do shows"
    console.says("integrity", "#view")
    console.says("58 %\nof 103 polls", "#health")
    console.says("https://m.example.com/js/part-7.js", "#view")
    # The version live at a time in the reader's zone, to the second.
    _, log = site.ask("GET", "apps/shop/channels/online/log")
    for release in reversed(log["releases"]):
        asked = zone_text(release["at"]).replace(" ", "T")
        console.eval(f"document.querySelector('#moment').value = '{asked}'; document.querySelector('#ask-moment').requestSubmit()")
        console.says(f"Version {release['version']} was live: publish by admin")
        assert console.text("#view [role=status]:has(a)").startswith("At "), "the moment isn't said"
    console.eval("[...document.querySelectorAll('#view a')].find((one) => one.textContent.includes('which it') || "
                 "one.textContent === 'Compare it with version 2').click()")
    console.wait(".tree li button")
    console.says("Version 2 → 3")
    console.eval("[...document.querySelectorAll('.tree li button')].find((one) => one.textContent === 'part-7.js').click()")
    console.says("+ throw new Error();", "#content pre")
    console.check("compare")


def times(console, site):
    """Relative times; exact times in the reader's zone and in UTC on hover and for screen readers."""
    console.go(channel, "#timeline li")
    shown = console.eval("[...document.querySelectorAll('#view time.age')].map((one) => [one.dateTime, one.innerText, one.title])")
    assert len(shown) > 3
    for moment, words, title in shown:
        exact = f"{local(moment):%b %-d, %Y}", f"{local(moment):%-I:%M:%S}", f"({moment[:10]} {moment[11:19]} UTC)"
        assert words.startswith("just now") or " min ago" in words, words
        assert all(part in words and part in title for part in exact), (moment, words, title)
    # Relative times are updated.
    console.eval("window.later = Date.now() + 7_200_000; Date.now = () => window.later")
    console.says("2 h ago", "#timeline li", 20)
    kept(console, site)


def kept(console, site):
    """A reload keeps one signed in, by a cookie that no script reads; the token is sent once and forgotten."""
    console.reload()
    console.wait("#timeline li")
    assert console.eval("document.cookie") == "" and console.eval("sessionStorage.length") == 0, "a script can read the session"
    loaded = max(event["at"] for event in console.page.events if event["method"] == "Page.frameNavigated")
    sent = [event["params"]["request"] for event in console.page.events if event["method"] == "Network.requestWillBeSent" and event["at"] > loaded
            and "/api/" in event["params"]["request"]["url"]]
    assert sent and not [one for one in sent if "Authorization" in one["headers"]], "the token outlives its page"
    console.go("#/you", "#you-facts")
    console.says("kept as a cookie that scripts can't read", "#you-facts")
    console.says("this browser", "#sessions")
    console.go(channel, "#timeline li")


def fleet(console, site):
    """A channel's page shows its fleet's health, compared with the version before."""
    def counts(version, **all):
        site.count(version, {name.replace("_", "-"): number for name, number in all.items()})

    counts(2, local=900, passed=100, paint_local_256=150, paint_network_1024=50, load_local_512=150, page_failed=0)
    counts(3, local=700, passed=300, paint_local_512=180, paint_network_2048=18, load_local_1024=180, page_failed=2, script_failed=1)
    console.go("#/", "table")
    console.go(channel, "#timeline li")
    for words in ("On version 3\n58 %", "of 103 polls", "Hit rate\n70 %\nof 1,000 requests\nversion 2: 90 %",
                  "First paint (median)\n≤ 512 ms\nnetwork: ≤ 2,048 ms\nversion 2: ≤ 256 ms",
                  "Load (median)\n≤ 1,024 ms", "Failed pages per 1,000\n15\nof 200 openings\nversion 2: 0",
                  "from version 2"):
        console.says(words, "#health")
    for words in ("more pages fail: 15 of 1,000 instead of 0", "fewer requests are answered from the device: 70 % instead of 90 %",
                  "first paint from the device is slower: ≤ 512 ms instead of ≤ 256 ms", "load from the device is slower"):
        console.says(words, "#since")
    assert console.has("#health .spark polyline"), "no trend line"
    lines = console.eval("[...document.querySelectorAll('#health svg')].map((one) => one.getAttribute('aria-label'))")
    assert "Hit rate by version: 2: 90 %; 3: 70 %".replace(" %", "\u00a0%") in [one.replace(" %", "\u00a0%") for one in lines], lines


def roll_back(console, site):
    console.go(channel, "#timeline li")
    shown, said = console.act("#act-roll-back", "integrity failures since the new basket", {"to": "2"}, times=3)
    assert "Version 4 gets the content of version 2" in shown and ("2 changed" in shown or "1 changed" in shown), shown
    assert "Version 4 is live" in said, said
    console.says("version 4", "#view h1")
    _, log = site.ask("GET", "apps/shop/channels/online/log")
    assert [one["version"] for one in log["releases"]] == ["4", "3", "2", "1"], "the act was done more than once"
    assert log["releases"][0]["message"] == "integrity failures since the new basket"
    assert "of 103 polls" in console.text("#health")
    # The fleet follows, and the page is updated.
    asked = time.monotonic()
    site.poll(4, 300)
    console.says("74 %\nof 403 polls", "#health", 40)
    until(lambda: "version 4\t300" in console.text("#view .legend"), "the chart", 40)
    time.sleep(max(0, 21 - (time.monotonic() - asked)))
    paths = console.requests(time.monotonic() - 20)
    assert 2 <= len(paths) <= 4, f"in 20 s it asked for {paths}"
    # A hidden page sends no requests.
    console.eval("Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })")
    time.sleep(6)
    asked = time.monotonic()
    time.sleep(11)
    assert not console.requests(asked), "a hidden page asks"
    console.eval("delete document.hidden")


def freeze(console, site):
    console.go(channel, "#timeline li")
    shown, _ = console.act("#act-freeze", "the incident of today")
    assert "Releases are refused from now on" in shown
    console.says("frozen", "#problems")
    console.says("the incident of today", "#facts")
    assert site.publish({"index.html": "refused"}, check=False) == 3, "a frozen channel took a release"
    # Actions of the console are refused, too, with a reason; they can't be confirmed, not even by Enter.
    console.click("#act-roll-back")
    console.says("It would be refused", "dialog #preview")
    console.says("the incident of today", "dialog #preview")
    assert console.has("dialog #confirm[aria-disabled]"), "what would be refused can be confirmed"
    assert "shop online" in console.text("dialog h2") and "shop online" in console.text("dialog #confirm")
    console.set("reason", "no")
    console.eval("document.querySelector('dialog form').requestSubmit()")
    console.says("there is no preview of these values", "dialog #outcome")
    # A dialog is closed with its page.
    console.eval("location.hash = '#/'")
    until(lambda: not console.has("dialog"), "the dialog's end")
    console.go(channel, "#timeline li")
    console.click("#act-roll-back")
    console.wait("dialog[open]")
    console.press("Escape")
    until(lambda: not console.has("dialog"), "the dialog's end")
    console.act("#act-thaw", "it is over")
    until(lambda: "frozen" not in console.text("#problems"), "the banner without the freeze")
    assert site.publish({"index.html": "taken"}, check=False) == 0
    console.says("version 5", "#view h1")


def every_act(console, site):
    path = "apps/shop/channels/online"
    console.act("#act-kill-switch", "white pages")
    until(lambda: "✖ Error: shop online: The kill switch is on" in console.flat("#problems"), "the problem")
    assert site.ask("GET", f"{path}/policy")[1]["policy"]["intercept"] is False
    console.check("a killed channel")
    console.act("#act-resume", "mended")
    until(lambda: "kill switch" not in console.text("#problems"), "the banner without the kill switch")
    console.act("#act-bypass-pages", "the payment page is broken offline", {"pattern": "https://m.example.com/pay/*"})
    console.says("https://m.example.com/pay/*", "#facts")
    console.act("#act-bypass-pages", "nonsense", {"pattern": "not a pattern"}, expect="✖ Refused")
    console.act("#act-pins", "the version of the shops", {"version": "2"})
    assert [one["version"] for one in site.ask("GET", f"{path}/pins")[1]["pins"]] == ["2"]
    console.act("#act-pins", "no longer", {"what": "2"})
    assert site.ask("GET", f"{path}/pins")[1]["pins"] == []
    for pages in (["https://m.example.com/"], ["https://m.example.com/", "https://m.example.com/help/"]):
        config = [{"url": page, "interfaces": [{"api": f"{page}stock.json", "method": "GET"}]} for page in pages]
        assert site.ask("POST", f"{path}/prefetch", {"document": config})[0] == 201
    console.reload()
    shown, _ = console.act("#act-prefetch-config", "too many calls", {"to": "1"})
    assert "1 page ahead, of 2 pages now" in shown, shown
    assert site.ask("GET", f"{path}/prefetch")[1]["source"] == "1"
    # In the command line's unit.
    console.act("#act-settings", "fewer reports", {"reports": "12.5"})
    assert site.ask("GET", f"{path}/settings")[1]["reports"] == 1250
    console.act("#act-settings", "all of them", {"reports": ""})
    # Samples of errors: off forgets those that there are.
    shown, _ = console.act("#act-settings", "no samples", {"samples": "off"})
    assert "Samples of errors: on → off" in shown and "forgets" in shown, shown
    assert site.ask("GET", f"{path}/settings")[1]["samples"] is False
    console.says("Error samples", "#facts")
    console.act("#act-settings", "samples again", {"samples": "on"})
    shown, _ = console.act("#act-settings", "calmer", {"interval": "60"})
    assert "Poll interval: not set → 60 s" in shown, shown
    console.says("60 s", "#facts")
    # Promotes another channel's content to this one.
    assert site.ask("POST", f"{path.replace('online', 'test')}/create", {})[0] == 201
    status, _ = site.ask("POST", f"{path.replace('online', 'test')}/promote", {"from": "online"})
    assert status == 201, status
    site.publish({"index.html": "newer"}, "newer than test")
    console.go("#/channel/shop/test", "#timeline li")
    shown, said = console.act("#act-promote-here", "ready", {"from": "online"})
    assert "test gets what online has" in shown and "Version 2 is live" in said, (shown, said)
    _, audit = site.ask("GET", "audit?act=channel.set")
    assert '"reason":"calmer"' in audit["rows"][0]["parameters"], audit["rows"][0]
    _, audit = site.ask("GET", "audit?act=unpin")
    assert '"reason":"no longer"' in audit["rows"][0]["parameters"], audit["rows"][0]


def acknowledged(console, site):
    """Who knows of a problem says so: it leaves the banner for everybody, until its time or until it is taken back."""
    site.ask("POST", "apps/shop/channels/test/freeze", {"reason": "a long test"})
    console.go("#/", "#channels table")
    until(lambda: "a long test" in console.text("#problems"), "the problem", 20)
    console.says("just now", "#problems")
    button = "#problems [data-acknowledge=frozen]"
    shown, _ = console.act(button, "ann knows, it ends on Friday")
    assert "Hidden from the banner until" in shown, shown
    until(lambda: "a long test" not in console.text("#problems"), "the banner without it", 20)
    for words in ("Acknowledged problems", "admin", "ann knows, it ends on Friday", "ends in 4 h"):
        console.says(words, "#all-problems")
    console.says("frozen, acknowledged", "#channels")
    console.check("an acknowledged problem")
    _, found = site.ask("GET", "overview")
    assert [one["acknowledged"]["reason"] for one in found["problems"] if one["code"] == "frozen"] == ["ann knows, it ends on Friday"], found["problems"]
    console.act("#all-problems button", "it is not known")
    console.says("a long test", "#problems", 20)
    site.ask("POST", "apps/shop/channels/test/thaw", {})
    until(lambda: "a long test" not in console.text("#problems"), "the end of the problem", 20)


def happened(console, site):
    """Releases, freezes and policy in one list; the address names the kinds that are shown, and the time."""
    console.go(f"{channel}?span=week", "#timeline li")
    assert console.eval("document.querySelector('#span-week').ariaPressed") == "true"
    days = console.eval("[...document.querySelectorAll('.chart')[0].querySelectorAll('svg text:not([text-anchor=end], .mark-label)')].map((one) => one.textContent)")
    assert len(days) > 2 and len(set(days)) == len(days), f"days of the axis: {days}"
    for group in ("release", "freeze", "policy"):
        assert console.has(f"#timeline li.of-{group}"), f"no {group}"
    moments = console.eval("[...document.querySelectorAll('#timeline time')].map((one) => one.dateTime)")
    assert moments == sorted(moments, reverse=True), moments
    console.click("#kind-freeze")
    kinds = "[...document.querySelectorAll('#timeline li:not([hidden])')].map((one) => one.className)"
    assert set(console.eval(kinds)) == {"of-freeze"}, console.eval(kinds)
    assert console.eval("location.hash") == f"{channel}?span=week&kinds=freeze", console.eval("location.hash")
    console.reload()
    console.wait("#timeline li")
    assert set(console.eval(kinds)) == {"of-freeze"}, "a reload shows something else"
    console.click("#kind-all")
    console.click("#span-day")
    assert console.eval("location.hash") == channel


failing = "TypeError: undefined is not an object (evaluating 'basket.items')"


def incident(browser, site):
    """Finds a page that fails, sees what happened on the devices, looks at it, rolls back, and watches it recover."""
    begun = time.monotonic()
    _, status = site.ask("GET", "apps/shop/channels/online")
    good = status["version"]
    site.publish({"index.html": "<!doctype html><title>shop</title><h1>Autumn</h1><script src=basket.js></script>\n",
                  "basket.js": f"// {good}\nrender();\n"}, "the basket of autumn")
    bad = str(int(good) + 1)
    page = "https://m.example.com/index.html"
    site.poll(bad, 40)
    site.count(bad, {"local": 900, "passed": 100, "paint-local-256": 150, "page-failed": 30})
    for _ in range(3):
        site.sample(bad, failing, page, ["render@https://m.example.com/basket.js:2:1"])
    for _ in range(25):
        site.report("integrity", bad, 1, "https://m.example.com/basket.js")
    console = Console(browser, site)
    clicks = 0

    def press(selector):
        nonlocal clicks
        clicks += 1
        console.click(selector)

    console.sign_in(site.token)
    clicks += 1
    console.says("failures", "#problems", 20)
    press("#problems li a")
    console.says("Failed pages per 1,000", "#health")
    press("#to-failures")
    console.says(failing, "#view")
    console.says("basket.js", "#view")
    console.says("Chromium 141", "#view")
    console.check("failures")
    # The page as devices have it, in a frame of another origin.
    press(f"#view a[href^='#/preview/shop/online/{bad}']")
    console.wait("#view iframe")
    source = console.eval("new URL(document.querySelector('#view iframe').src).origin")
    assert source != site.url, "the page is shown in the console's own origin"
    console.check("a preview")
    console.eval("history.back()")
    clicks += 1
    console.says(failing, "#view")
    console.eval("[...document.querySelectorAll('#view button')].find((one) => one.innerText.startsWith('Roll back')).id ||= 'roll-back-here'")
    press("#" + console.eval("[...document.querySelectorAll('#view button')].find((one) => one.innerText.startsWith('Roll back')).id"))
    console.wait("dialog #confirm:not([aria-disabled])")
    console.set("reason", "the basket of autumn fails")
    press("dialog #confirm")
    console.says(f"Version {int(bad) + 1} is live", "dialog #outcome")
    press("dialog #cancel")
    console.eval(f"location.hash = {json.dumps(channel)}")
    clicks += 1
    site.poll(int(bad) + 1, 120)
    console.says(f"On version {int(bad) + 1}", "#health", 20)
    console.says("%", "#health dd.number", 20)
    seconds = time.monotonic() - begun
    assert clicks < 20, f"{clicks} clicks"
    assert seconds < 90, f"{seconds:.0f} s"
    say(f"an incident of {seconds:.0f} s and {clicks} clicks")


def audit_and_operations(console, site):
    console.go("#/audit", "table")
    console.click("#verify")
    console.says("✔ whole", "#view")
    console.eval("document.querySelector('#by-act').value = 'channel.freeze'; document.querySelector('#view form').requestSubmit()")
    console.says("2 rows")
    console.says("the incident of today", "#view table")
    console.check("audit")
    site.ask("POST", "mirrors", {"name": "s3://copy", "versions": [{"app": "shop", "channel": "online", "version": "2"}]})
    console.go("#/operations", "#mirror-s3\\:\\/\\/copy")
    shown, _ = console.act("#gc", "room", {"keepVersions": "50"})
    assert "would go" in shown, shown
    shown, _ = console.act("#make-token", "a screen on the wall", {"name": "screen", "scope": "read", "app": "shop"})
    assert "screen may look in shop" in shown, shown
    console.says("screen", "#view")
    console.check("operations")
    a_secret(console)


def a_secret(console):
    """A new token is shown once, isn't announced to screen readers, and is removed with its dialog."""
    console.click("#make-token")
    console.wait("dialog[open]")
    for field, value in (("name", "once"), ("scope", "read"), ("app", "shop")):
        console.set(field, value)
    console.set("reason", "a secret")
    console.wait("dialog #confirm:not([aria-disabled])")
    console.eval("document.querySelector('dialog form').requestSubmit()")
    console.wait("#new-token")
    secret = console.text("#new-token")
    assert len(secret) > 20 and secret not in console.text("#outcome"), "the secret is announced"
    assert secret not in console.eval("document.querySelector('#told').textContent"), "the secret is announced"
    for _ in range(3):
        console.press("Escape")
    assert console.has("#new-token"), "Escape closes the only showing of a secret"
    console.click("#cancel")
    until(lambda: not console.has("dialog"), "the dialog's end")
    assert secret not in console.eval("document.documentElement.outerHTML"), "the secret stays in the page"


def signed_out(browser, site):
    """After signing out nothing of a channel is shown, not even by a late response."""
    console = Console(browser, site)
    console.sign_in(site.token)
    console.wait("#view table")
    console.go(channel, "#timeline li")
    console.eval("""(() => { const ask = fetch; window.fetch = async (...all) => {
      const answer = await ask(...all); await new Promise((done) => { setTimeout(done, 1500); }); return answer; }; })()""")
    console.eval("location.hash = '#/'")
    time.sleep(0.3)
    console.click("#sign-out")
    console.wait("#token")
    time.sleep(4)
    assert console.has("#token") and console.text("#refusal") == "", console.text("#refusal")
    for hidden in ("#problems", "#nav", "#who"):
        assert console.eval(f"getComputedStyle(document.querySelector('{hidden}')).display") == "none", hidden
    said = console.eval("document.body.textContent")
    assert "shop" not in said and "frozen" not in said, said


def answered_badly(console, site):
    """A gateway's error isn't a refusal; confirming again repeats the same action."""
    console.go(channel, "#timeline li")
    console.click("#act-freeze")
    console.wait("dialog #confirm:not([aria-disabled])")
    console.set("reason", "a bad gateway")
    console.eval("""(() => { const ask = fetch; window.keys = []; window.fetch = async (path, options) => {
      if (options?.method === 'POST') window.keys.push(options.headers['Idempotency-Key']);
      const answer = await ask(path, options);
      if (options?.method !== 'POST' || window.keys.length > 1) return answer;
      return new Response('<h1>Bad Gateway</h1>', { status: 502 }); }; })()""")
    console.eval("document.querySelector('dialog form').requestSubmit()")
    console.says("Whether it was done is not known", "dialog #outcome")
    console.eval("document.querySelector('dialog form').requestSubmit()")
    console.says("✔", "dialog #outcome")
    assert console.eval("window.keys.length === 2 && window.keys[0] === window.keys[1]"), "it is another act"
    console.says("a bad gateway", "#problems", 20)
    console.click("#cancel")
    console.says("a bad gateway", "#facts")
    console.act("#act-thaw", "the gateway is back")


def only_reading(browser, site):
    _, made = site.ask("POST", "tokens", {"name": "reader", "scope": "read", "app": "shop"})
    console = Console(browser, site)
    console.sign_in("not-a-token")
    console.says("unknown, expired or revoked", "#refusal")
    console.sign_in(made["token"])
    console.wait("#view table")
    console.go(channel, "#timeline li")
    console.says("Your token has the scope read; this needs publish.", "#why-not")
    for button in ("#act-roll-back", "#act-kill-switch", "#act-freeze", "#act-settings"):
        console.click(button)
        assert console.eval(f"document.querySelector('{button}').getAttribute('aria-disabled')") == "true", button
    assert not console.has("dialog")
    console.go("#/audit", "p")
    console.says("○ Your token", "#view")
    console.check("a reader's audit")
    # The server refuses it as well.
    assert site.ask("POST", "apps/shop/channels/online/freeze", {"reason": "no"}, token=made["token"])[0] == 403
    # With its token a session ends, and the sign-in form is shown.
    site.ask("DELETE", "tokens/reader")
    console.says("Your session has ended, or was revoked", "#refusal", 30)
    assert not console.has("#view table")


def restarted(console, site):
    # The page is in the background since, and hidden pages send no requests.
    console.page.send("Page.bringToFront")
    console.go(channel, "#timeline li")
    site.stop()
    console.says("The server does not answer", "#link", 40)
    site.start(site.url.removeprefix("http://"))
    until(lambda: console.text("#link") == "", "the server's return", 40)
    console.act("#act-freeze", "after a restart")
    console.act("#act-thaw", "after a restart")


def every_page(console):
    places = [("#/", "table"), (channel, "#timeline li"), (f"{channel}?span=week&kinds=freeze,policy", "#timeline li"), ("#/search?q=sale", "#results section"), ("#/you", "#you-facts"), ("#/waiting", "h1"), ("#/release/shop/online/3", ".tree li"),
              ("#/compare/shop/online?from=1&to=2", ".tree li"), ("#/audit", "table"), ("#/operations", "table"),
              ("#/channel/shop/nothing", "[role=alert]")]
    for scheme in ("light", "dark"):
        console.scheme(scheme)
        for width in (1440, 1100, 390):
            console.wide(width)
            for place, probe in places:
                console.go("#/compare/shop/online", "#compare")
                console.go(place, probe)
                time.sleep(0.3)
                console.check(f"{place} {scheme} {width}")
                # Expandable content: a text's lines, two pictures, a chart's numbers, a row's details.
                for name, probe in (("index.html", "#content pre"), ("logo.svg", "#content img")) if "compare" in place else ():
                    console.eval(f"[...document.querySelectorAll('.tree li button')].find((one) => one.textContent === '{name}').click()")
                    console.wait(probe)
                    console.check(f"{name} {scheme} {width}")
                if console.eval("(() => { const all = [...document.querySelectorAll('#view details:not([open])')].slice(0, 8); "
                                "for (const one of all) one.open = true; return all.length; })()"):
                    console.check(f"{place} opened {scheme} {width}")
            if width != 1100:
                every_dialog(console, f"{scheme} {width}")


def every_dialog(console, how):
    """Checks the dialogs of the channel's page and of operations, with their previews."""
    for place, probe in ((channel, "#act-roll-back"), ("#/operations", "tbody button")):
        console.go(place, probe)
        buttons = "document.querySelectorAll('#view [id^=act-], #gc, #make-token, #view tbody button')"
        # The parts of a page come one after the other.
        until(lambda: console.eval(f"{buttons}.length") >= 4, "the buttons")
        names = console.eval(f"[...{buttons}].map((one) => one.textContent)")
        # One dialog of each kind; there are several tokens.
        for number, name in {name.split()[0]: (number, name) for number, name in enumerate(names)}.values():
            console.eval(f"{buttons}[{number}].click()")
            console.wait("dialog #preview h3")
            console.check(f"dialog {name} {how}")
            low, edge = console.eval("['dialog #confirm', 'dialog'].map((one) => document.querySelector(one).getBoundingClientRect().bottom)")
            assert low < edge <= console.eval("innerHeight"), f"dialog {name} {how}: its button is out of sight"
            console.press("Escape")
            until(lambda: not console.has("dialog"), "the dialog's end")


def by_keyboard(browser, site):
    """From signing in to a dialog and back with the keyboard only."""
    console = Console(browser, site)
    assert console.eval("document.activeElement.id") == "token"
    console.sign_in(site.token)
    console.wait("#view table")

    def tab_to(name):
        for _ in range(60):
            console.press("Tab")
            if console.eval("document.activeElement.id") == name:
                return
        raise SystemExit(f"{name} isn't reached by Tab")

    tab_to("to-shop/online")
    console.press("Enter")
    console.wait("#act-freeze")
    tab_to("act-freeze")
    console.press(" ")
    console.wait("dialog[open]")
    assert console.eval("document.querySelector('dialog').contains(document.activeElement)")
    console.press("Escape")
    until(lambda: not console.has("dialog"), "the dialog's end")
    assert console.eval("document.activeElement.id") == "act-freeze", "the focus doesn't come back"
    # What is needed less often is in a menu.
    tab_to("more")
    console.press("Enter")
    tab_to("act-settings")
    console.press("Enter")
    console.wait("dialog #preview h3")
    console.press("Escape")
    until(lambda: not console.has("dialog"), "the dialog's end")
    assert console.eval("document.activeElement.id") == "act-settings", "the focus doesn't come back to the menu"
    console.press("Escape")
    until(lambda: console.eval("document.activeElement.id") == "more" and not console.has("#more-acts[open]"), "the menu's end")


def keys(console):
    """Shortcuts: `?`, `g` and a letter, `/`; inactive in text fields and under dialogs."""
    console.go("#/", "table")
    console.press("?", "#view")
    console.says("These keys", "dialog")
    console.press("g")
    console.press("a")
    assert console.eval("location.hash") == "#/", "a key went through a dialog"
    console.press("Escape")
    until(lambda: not console.has("dialog"), "the dialog's end")
    for letter, place in (("a", "#/audit"), ("s", "#/search"), ("p", "#/operations"), ("o", "#/")):
        console.press("g", "#view")
        console.press(letter)
        until(lambda: console.eval("location.hash") == place, place)
        if letter == "s":
            until(lambda: console.eval("document.activeElement.id") == "search", "the field to search in")
            console.eval("document.activeElement.blur()")
    console.wait("#filter")
    console.press("f", "#view")
    until(lambda: console.eval("document.activeElement.id") == "filter", "the filter")
    console.eval("document.activeElement.blur()")
    search(console)


def search(console):
    """From everywhere: channels, releases, files, people; Enter opens the first; the address names what was looked for."""
    console.go("#/channel/shop/online", "#timeline li")
    console.press("/", "#view")
    until(lambda: console.eval("document.activeElement.id") == "search", "the field to search in")
    for letter in "gosummer":
        console.press(letter)
    assert console.eval("document.querySelector('#search').value") == "gosummer", "a key that somebody wrote went elsewhere"
    console.says("Nothing has “gosummer” in it", "#search-note")
    for words, found in (("summer", "summer sale"), ("part-7", "https://m.example.com/js/part-7.js"), ("adm", "People\n1 result")):
        console.go(f"#/search?q={words}", "#results section")
        console.says(found, "#results")
        console.check(f"search for {words}")
    assert console.eval("location.hash") == "#/search?q=adm"
    console.eval("document.querySelector('#search').value = ''")
    for letter in "test":
        console.press(letter, "#search")
    console.press("Enter", "#search")
    until(lambda: console.eval("location.hash") == "#/channel/shop/test", "the first channel")


def theme(console):
    """The user's theme overrides the system's and survives a reload; nothing else is stored."""
    def background():
        return console.eval("getComputedStyle(document.querySelector('header')).backgroundColor")

    def choose(name):
        console.eval(f"(() => {{ const one = document.querySelector('#theme'); one.value = '{name}'; one.dispatchEvent(new Event('change')); }})()")

    console.scheme("light")
    light = background()
    choose("dark")
    dark = background()
    assert dark != light
    console.page.reload()
    assert background() == dark and console.eval("Object.keys(localStorage).join()") == "theme"
    choose("light")
    console.scheme("dark")
    assert background() == light
    choose("")
    assert background() == dark and console.eval("localStorage.length") == 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        # Pages of releases are looked at in an origin of their own.
        site = Site(xcache, folder, ("--preview-listen", "127.0.0.1:0"))
        try:
            prepared(site)
            with Browser() as browser:
                console = Console(browser, site)
                console.check("the door")
                console.sign_in(site.token)
                console.wait("#view table")
                find_what_broke(console, site)
                times(console, site)
                fleet(console, site)
                say("found what broke, at times of another zone")
                roll_back(console, site)
                say("rolled back, and the fleet followed")
                freeze(console, site)
                say("frozen, refused, thawed")
                every_act(console, site)
                say("every act")
                happened(console, site)
                acknowledged(console, site)
                say("what happened, and who knows of it")
                for _ in range(2):
                    incident(browser, site)
                console.page.send("Page.bringToFront")
                audit_and_operations(console, site)
                say("audit and operations")
                only_reading(browser, site)
                say("a token that may only read")
                signed_out(browser, site)
                console.page.send("Page.bringToFront")
                answered_badly(console, site)
                say("signed out, and answered badly")
                restarted(console, site)
                say("the server was restarted")
                every_page(console)
                say("axe, 390 px, dark and light")
                by_keyboard(browser, site)
                console.page.send("Page.bringToFront")
                keys(console)
                say("by keyboard")
                theme(console)
                say("themes")
                console.check_clean("all of it")
        finally:
            site.stop()
    print("OK")


begin = time.monotonic()
main()
