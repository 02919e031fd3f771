#!/usr/bin/env python3
"""Tests in Chromium of the console for several people: sign-in with a provider, roles, command lines, and approvals.

    Tests/Browser/console_people.py [XCACHE]      XCACHE: the program (default: .build/debug/xcache)

Approvals are real, by two tokens. What an OpenID Connect provider would be needed for is answered in the page, in place of the
origin: `Tests/Teams` has the same with providers. Needs Chromium.
"""
import json, os, sys, tempfile, time
from cdp import Browser
from console_page import Console, here, until
from site_under_test import Site

xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../.build/debug/xcache"))
place, path = "#/channel/shop/test", "apps/shop/channels/test"

# Answers what belongs to sessions, and lets a session read with the admin's token. Each page load has it before any script.
answers = """(() => {
  const ask = window.fetch, made = %s;
  window.asked = [];
  window.fetch = async (address, options = {}) => {
    const url = new URL(address, location.href), { headers = {}, method = 'GET' } = options;
    window.asked.push({ method, path: url.pathname, headers, body: options.body ?? null, credentials: options.credentials });
    const answer = (status, body) => new Response(status === 204 ? null : JSON.stringify(body), { status });
    if (url.pathname === '/auth/session') return answer(409, { status: 409, code: 'insecure', detail: 'a session takes https' });
    if (url.pathname === '/auth/') return answer(200, { sso: made.sso });
    if (headers.Authorization) return ask(address, options);
    if (url.pathname === '/auth/logout') {
      if (sessionStorage.broken) throw new TypeError();
      sessionStorage.ended = 'yes';
      return answer(204);
    }
    if (sessionStorage.ended || headers['Xcache-Console'] !== '1') return answer(401, { status: 401, code: 'token', detail: 'no token' });
    const name = url.pathname.replace('/api/v1/', '');
    if (method === 'DELETE' && name.startsWith('sessions/')) made.api.sessions.sessions = made.api.sessions.sessions.filter((one) => `sessions/${one.id}` !== name);
    const found = made.api[`${method} ${name}`] ?? made.api[name];
    if (found) return answer(found.status ?? 200, found);
    return ask(address, { ...options, headers: { ...headers, Authorization: 'Bearer ' + made.token } });
  };
})()"""


def moment(minutes):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + minutes * 60))


def made_up(site):
    def grant(scope, app=None, channel=None, bundles=None):
        return {"scope": scope, "app": app, "channel": channel, "bundles": bundles}

    def session(name, client, is_current, browser=None):
        return {"id": name, "client": client, "browser": browser, "createdAt": moment(-60), "expiresAt": moment(600), "lastUsedAt": moment(-1), "isCurrent": is_current}

    def pending(code, address, kind):
        return {"userCode": code, "address": address, "at": moment(-1), "kind": kind}
    grants = [grant("release", "shop"), grant("read"), grant("publish", "shop", "test", "help-*,main")]
    return {"token": site.token, "sso": {"issuer": "https://id.example.com", "host": "id.example.com"}, "api": {
        "token": {"id": "s1", "name": "<b>ana</b>@example.com", "kind": "session", "issuer": "https://id.example.com", "subject": "ana-1", "detail": "console",
                  **grants[0], "hosts": None, "grants": grants, "createdAt": moment(-60), "expiresAt": moment(600), "lastUsedAt": None, "revokedAt": None},
        "sessions": {"sessions": [session("s1", "console", True, "<i>Firefox on Linux"), session("s0", "cli", False)]}, "DELETE sessions/s0": {},
        "signins/BCDF-GHJK": pending("BCDF-GHJK", "192.0.2.7", "device"), "POST signins/BCDF-GHJK": {"redirect": None},
        "signins/LMNP-QRST": pending("LMNP-QRST", "127.0.0.1", "loopback"), "POST signins/LMNP-QRST": {"redirect": f"{site.url}/?code=abc"},
        "signins/VWXZ-BCDF": pending("VWXZ-BCDF", "", "loopback"), "POST signins/VWXZ-BCDF": {"redirect": "https://evil.example/?code=abc"},
        "signins/ZZZZ-ZZZZ": {"status": 404, "code": "unknown-sign-in", "detail": "no command line waits with this code"}}}


def asked(console, method, name):
    return [one for one in console.eval("window.asked") if one["method"] == method and one["path"].endswith(name)]


def widths(console, what):
    """Clean on wide and narrow screens."""
    for width in (1280, 390):
        console.wide(width)
        console.check(f"{what}, {width} px")
    console.wide(1280)


def with_provider(browser, site):
    """A person who comes back to a link, signed in by the cookie."""
    console = Console(browser, site)
    console.page.send("Page.addScriptToEvaluateOnNewDocument", source=answers % json.dumps(made_up(site)))
    console.eval("sessionStorage.ended = 'yes'")
    console.page.goto(f"{site.console}?1{place}")
    href = "document.querySelector('#sso-link').getAttribute('href')"
    console.wait("#sso-link")
    assert console.eval(href) == "/auth/login?return=%23%2Fchannel%2Fshop%2Ftest", console.eval(href)
    assert console.text("#sso-link") == "Sign in with id.example.com" and console.has("#token")
    assert console.eval("document.activeElement.id") == "sso-link"
    console.eval("location.hash = '#/audit?act=session.create'")
    until(lambda: "%3Fact%3Dsession.create" in console.eval(href), "the link to the other view")
    console.eval("location.hash = 'view'")
    until(lambda: console.eval(href) == "/auth/login", "a link without a view")
    time.sleep(0.5)
    widths(console, "the sign-in page")
    # Signed in, by the cookie alone; a reload changes nothing.
    console.eval("delete sessionStorage.ended")
    for number in (2, 3):
        console.page.goto(f"{site.console}?{number}{place}")
        console.wait("#timeline li")
    sent = asked(console, "GET", "/api/v1/token")
    assert len(sent) == 1 and sent[0]["headers"].get("Xcache-Console") == "1" and sent[0]["credentials"] == "same-origin", sent
    assert console.text("#who").replace("\n", " ").startswith("<b>ana</b>@example.com"), console.text("#who")
    assert console.eval("document.querySelector('#you').title") == "3 roles"
    # Roles: publish here, release in the app's other channels.
    assert console.eval("document.querySelector('#act-promote-here').ariaDisabled") is None
    console.go("#/channel/shop/online", "#act-promote-here")
    assert console.eval("document.querySelector('#act-roll-back').ariaDisabled") is None
    console.says("You have the scope release in shop online; this needs publish.", "#why-not")
    console.go("#/operations", "h1")
    console.says("You have the scope publish; this needs admin.", "#view")
    # The page of who is signed in.
    console.press("g", "#view")
    console.press("y")
    console.wait("#sessions li")
    for words in ("id.example.com", "ana-1", "every app", "help-*, main", "Command line", "<i>Firefox on Linux"):
        console.says(words, "#view")
    widths(console, "you")
    console.click("#end-s0")
    console.wait("dialog #confirm:not([aria-disabled])")
    console.eval("document.querySelector('dialog form').requestSubmit()")
    console.says("✔ The session has ended", "dialog #outcome")
    console.click("dialog #cancel")
    until(lambda: not console.has("#end-s0"), "the end of its row")
    assert asked(console, "DELETE", "/sessions/s0")[0]["headers"]["Idempotency-Key"]
    command_lines(console)
    # A session that ended: the view stays, and the words say what to do.
    console.page.goto(f"{site.console}?4{place}")
    console.wait("#timeline li")
    console.eval("sessionStorage.ended = 'yes'")
    console.says("Your session has ended, or was revoked", "#refusal", 30)
    assert console.eval("location.hash") == place and console.eval(href).endswith("%23%2Fchannel%2Fshop%2Ftest")
    # Signing out ends it at the origin; one that can't be ended isn't forgotten.
    console.eval("delete sessionStorage.ended; sessionStorage.broken = 'yes'")
    console.page.goto(f"{site.console}?5#/you")
    console.wait("#sessions li")
    console.click("#sign-out")
    console.says("You are still signed in", "#link")
    console.eval("delete sessionStorage.broken")
    console.click("#sign-out")
    console.wait("#token")
    assert asked(console, "POST", "/auth/logout")[-1]["headers"]["Xcache-Console"] == "1"
    # Where a token gets no session it stays in memory, without a cookie, and the page says so.
    console.sign_in(site.token)
    console.wait("#sign-out")
    sent = asked(console, "GET", "/api/v1/token")[-1]
    assert sent["credentials"] == "omit" and "Xcache-Console" not in sent["headers"], sent
    console.go("#/you", "#you-facts")
    console.says("No session was given for it: a session takes https", "#you-facts")
    console.go("#/signin/BCDF-GHJK", "#signin-outcome")
    console.says("You signed in with a token", "#signin")
    console.check_clean("sessions")


def command_lines(console):
    """A command line is signed in by whoever sees its code, and the browser goes back to this machine only."""
    console.go("#/signin/ZZZZ-ZZZZ", "#signin-outcome")
    console.says("✖ no command line waits with this code", "#signin")
    for code, button, allow, words in (("BCDF-GHJK", "#signin-deny", False, "✔ Denied"), ("VWXZ-BCDF", "#signin-allow", True, "✔ Allowed")):
        console.go(f"#/signin/{code}", button)
        assert console.text("#signin-code") == code
        console.says("only if you started it just now", "#signin-warning")
        if not allow:
            console.says("192.0.2.7", "#signin-facts")
            widths(console, "a command line")
        assert not asked(console, "POST", code), "decided without its person"
        console.click(button)
        console.says(words, "#signin-outcome")
        assert json.loads(asked(console, "POST", code)[0]["body"]) == {"allow": allow}
    time.sleep(0.5)
    assert console.eval("location.origin") in console.site.console, "it follows a redirect to another host"
    console.go("#/signin/LMNP-QRST", "#signin-allow")
    console.click("#signin-allow")
    until(lambda: "code=abc" in console.eval("location.search"), "the way back to the command line")


def approvals(browser, site):
    """Two people: who asks doesn't approve, who approves sees what it does, and rolling back waits for nobody."""
    ben = done(site, "tokens", {"name": "ben", "scope": "release", "app": "shop"})["token"]
    admin, other = (Console(browser, site, window=True) for _ in range(2))
    admin.sign_in(site.token)
    other.sign_in(ben)
    for console in (admin, other):
        console.wait("#view table")
    admin.go(place, "#act-protection")
    shown, said = admin.act("#act-protection", "two pairs of eyes", {"approvals": "1", "share": "5%"})
    assert "Now" in shown and "1 approval of others; steps of a rollout up to 5 % wait for none" in said, (shown, said)
    protection = site.ask("GET", path)[1]["protection"]
    assert (protection["approvals"], protection["share"]) == (1, 500), protection
    admin.says("1 approval of others", "#facts")
    # It waits, with a link.
    before = site.ask("GET", path)[1]["version"]
    admin.click("#act-promote-here")
    admin.wait("dialog #confirm:not([aria-disabled])")
    admin.says("This channel is protected: it waits for 1 approval", "dialog #preview")
    admin.set("reason", "ready")
    admin.eval("document.querySelector('dialog form').requestSubmit()")
    admin.says("✔ It waits for 1 approval", "dialog #outcome")
    admin.click("#to-waiting")
    until(lambda: not admin.has("dialog"), "the dialog's end")
    act = waiting(site)
    admin.wait(f"#act-{act}")
    until(lambda: admin.eval("document.activeElement.id") == f"act-{act}", "the act that the link is about")
    admin.says("You can't approve or reject this", f"#act-{act}")
    assert not admin.has(f"#approve-{act}"), "a button that one may not press"
    assert site.ask("GET", path)[1]["version"] == before, "it didn't wait"
    widths(admin, "what waits")
    # Told to who may, shown before it is approved.
    until(lambda: other.eval("document.querySelector('#waiting-count').textContent") == ": 1 for you", "the count", 90)
    other.press("g", "#view")
    other.press("w")
    other.wait(f"#approve-{act}")
    other.click(f"#effect-{act} summary")
    other.says("for each device", f"#effect-{act}")
    shown, said = other.act(f"#approve-{act}", "")
    assert "It is then done at once" in shown and "✔ Approved" in said, (shown, said)
    until(lambda: site.ask("GET", path)[1]["version"] != before, "the promotion")
    until(lambda: not other.has(f"#act-{act}"), "the end of its card")
    other.go(f"#/waiting?act={act}&again", "#not-waiting")
    # Rejected, on the channel's page; the other way round somebody else is faster.
    before = site.ask("GET", path)[1]["version"]
    act = held(site)
    other.go("#/", "table")
    other.go(place, f"#reject-{act}")
    widths(other, "a channel with an act that waits")
    _, said = other.act(f"#reject-{act}", "not on a Friday")
    assert "✔ Rejected" in said, said
    ended = site.ask("GET", f"{path}/schedules/{act}")[1]
    assert (ended["state"], ended["code"]) == ("cancelled", "rejected"), ended
    act = held(site)
    other.go("#/waiting", f"#approve-{act}")
    other.click(f"#approve-{act}")
    other.wait("dialog #confirm:not([aria-disabled])")
    assert site.ask("DELETE", f"{path}/schedules/{act}")[0] == 200
    other.eval("document.querySelector('dialog form').requestSubmit()")
    other.says("changed meanwhile", "dialog #outcome")
    other.click("dialog #cancel")
    assert site.ask("GET", path)[1]["version"] == before
    # Back at once.
    admin.go(place, "#act-roll-back")
    _, said = admin.act("#act-roll-back", "broken")
    assert "is live with the content" in said, said
    admin.act("#act-protection", "alone again", {"approvals": "0"})
    assert not site.ask("GET", path)[1].get("protection")
    for console in (admin, other):
        console.check_clean("approvals")


def waiting(site):
    acts = site.ask("GET", "waiting")[1]["acts"]
    assert len(acts) == 1, acts
    return acts[0]["id"]


def held(site):
    """An act by the admin that waits."""
    status, answer = site.ask("POST", f"{path}/promote", {"from": "online", "version": "1"})
    assert status == 202, (status, answer)
    return answer["scheduled"]["id"]


def done(site, name, body):
    status, answer = site.ask("POST", name, body)
    assert status in (200, 201), (name, status, answer)
    return answer


def prepared(site):
    for text in ("one", "two"):
        site.publish({"index.html": text, "part.js": "1"}, text)
        # Releases need different seconds.
        time.sleep(2.1)
    done(site, f"{path}/create", {})
    done(site, f"{path}/promote", {"from": "online", "version": "1"})


def main():
    with tempfile.TemporaryDirectory() as folder:
        site = Site(xcache, folder)
        try:
            prepared(site)
            with Browser() as browser:
                with_provider(browser, site)
                print("sign-in with a provider, roles, sessions, command lines", flush=True)
                approvals(browser, site)
                print("approvals by two people", flush=True)
        finally:
            site.stop()
    print("OK")


if __name__ == "__main__":
    main()
