"""People in Chromium: real providers, the console, the command line, two pairs of eyes."""
import json, os, pathlib, re, subprocess, sys, time

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "Browser"))

from cdp import Browser
from console_page import Console
from providers import Canaille, LemonLDAP
from stage import Origin, port, hosts, until

channel = "#/channel/shop/online"


class Profile:
    """A browser with cookies of its own, within one Chromium."""

    def __init__(self, browser):
        self.browser = browser
        self.context = browser.root.send("Target.createBrowserContext")["browserContextId"]

    def new_page(self, apart=True):
        """`apart`: as all of a profile's pages are."""
        made = self.browser.root.send("Target.createTarget", url="about:blank", browserContextId=self.context)
        page = self.browser.attach(made["targetId"])
        for domain in ("Page", "Runtime", "Network"):
            page.send(domain + ".enable")
        return page


class Seat(Console):
    """A person before the console."""

    def __init__(self, browser, origin, provider, login=None):
        self.provider, self.login, self.origin = provider, login, origin
        self.profile = Profile(browser)
        super().__init__(self.profile, origin)

    def open(self, url):
        """Opens a URL of the console as a link from elsewhere does: the page is loaded, not only its fragment changed."""
        self.page.goto("about:blank")
        self.page.goto(url)

    def sign_in_at_provider(self, login=None):
        """From the console's sign-in page, by the link and the provider's forms."""
        self.login = login or self.login
        self.wait("#sso-link")
        self.provider.leave(self.page, "document.querySelector('#sso-link').click()")
        self.provider.sign_in(self.page, self.login)

    def begin_again(self):
        """By the link alone: the provider still knows the browser."""
        self.wait("#sso-link")
        self.eval("document.querySelector('#sso-link').click()")

    def ask(self, path, method="GET", body=None):
        """A request as the console's script sends it; its status and document."""
        options = {"method": method, "headers": {"Xcache-Console": "1"}}
        if body is not None:
            options |= {"body": json.dumps(body)}
            options["headers"]["Content-Type"] = "application/json"
        found = self.eval(f"fetch('/api/v1/{path}', {json.dumps(options)}).then(async (answer) => [answer.status, await answer.text()])")
        return found[0], json.loads(found[1]) if found[1] else None

    def check_clean(self, what, refusals=()):
        """What the console's own pages did wrong; what the provider's did is its own business."""
        own = lambda url: not url or url.startswith(self.origin.url)
        entries = [event["params"]["entry"] for event in self.page.events if event["method"] == "Log.entryAdded"]
        bad = [one["text"] for one in entries if own(one.get("url", "")) and ("Security Policy" in one["text"] or "Trusted" in one["text"])]
        assert not bad, f"{what}: {bad}"
        thrown = [event["params"]["exceptionDetails"] for event in self.page.events if event["method"] == "Runtime.exceptionThrown"]
        thrown = [one for one in thrown if own(one.get("url", ""))]
        assert not thrown, f"{what}: {json.dumps(thrown)[:800]}"


class People:
    kind, roles, who = None, [], {}

    def __init__(self, xcache, folder, table):
        self.table, number = table, port()
        self.provider = self.kind(folder, f"http://{hosts['origin']}:{number}/auth/callback")
        try:
            self.origin = Origin(xcache, f"{folder}/{type(self).__name__}", number, clock=True, oidc_issuer=self.provider.issuer,
                                 oidc_client=self.provider.client, secret=self.provider.secret, oidc_scopes=self.provider.scopes, role=self.roles)
        except BaseException:
            self.provider.stop()
            raise
        for name in ("online", "test"):
            self.origin.publish(channel=name)
        self.origin.publish(app="other")
        self.browser = Browser()

    def close(self):
        self.browser.close()
        self.origin.stop()
        self.provider.stop()

    def seat(self, login=None):
        return Seat(self.browser, self.origin, self.provider, login)

    def row(self, what, good, found=""):
        self.table.row(f"people at {self.provider.name}", what, "", found, good)

    # MARK: - Cases

    def console(self):
        """Sign-in from a link, roles, reload, another tab, sign-out."""
        login = next(iter(self.who))
        seat = self.seat(login)
        seat.wait("#sso-link")
        seat.check("the sign-in page")
        seat.open(seat.site.console + channel)
        seat.sign_in_at_provider()
        seat.wait("#timeline li")
        self.row("a link opened before signing in opens its view after", seat.eval("location.hash") == channel, seat.eval("location.href"))
        self.row("nothing of the sign-in stays in the address", "code=" not in seat.eval("location.href") and "state=" not in seat.eval("location.href"))
        seat.check("a channel, signed in")
        self.row("who is signed in is said", self.who[login][0] in seat.text("#who"), seat.text("#who"))
        self.row("no script reads the cookie", "xcache" not in seat.eval("document.cookie"))
        self.row("nothing is kept in the page's storage", seat.eval("localStorage.length + sessionStorage.length") == 0)
        seat.page.reload()
        seat.wait("#timeline li")
        self.row("a reload keeps the session, and the view", seat.eval("location.hash") == channel)
        tab = seat.profile.new_page()
        tab.goto(seat.site.console + "#/you")
        until(lambda: tab.eval("document.querySelector('#you-facts') !== null"), "the other tab")
        self.row("another tab is signed in, too", True)
        seat.go("#/you", "#you-facts")
        seat.check("who one is")
        seat.go("#/waiting", "#waiting")
        seat.check("what waits")
        for width in (390, 1100):
            seat.wide(width)
            seat.check(f"what waits, {width} px")
        seat.wide(1280)
        for login, (name, grants, refusals) in self.who.items():
            other = seat if login == seat.login else self.seat(login)
            if other is not seat:
                other.sign_in_at_provider()
            if grants is None:
                other.says("role", seconds=30)
                self.row(f"{login} has no role, and reads so", other.eval("location.pathname") == "/auth/callback", other.text()[:200])
                other.open(other.site.console)
                other.wait("#sso-link")
                self.row(f"{login} has no session", other.ask("token")[0] == 401)
                continue
            other.wait("#you")
            status, who = other.ask("token")
            found = {(one["scope"], one["app"], one["channel"]) for one in who["grants"]}
            self.row(f"{login} has the roles {sorted(one[0] for one in grants)}", found == grants and who["name"] == name, f"{who['name']}: {sorted(found, key=str)}")
            for method, path, body in refusals:
                status, answer = other.ask(path, method, body)
                self.row(f"{login} may not {method} {path}", status == 403, f"{status} {(answer or {}).get('detail')}")
            other.check_clean(login)
        self.sign_out(seat)

    def sign_out(self, seat):
        seat.click("#sign-out")
        seat.wait("#sso-link")
        self.row("signed out", seat.ask("token")[0] == 401)
        seat.page.reload()
        seat.wait("#sso-link")
        self.row("signed out after a reload, too", not seat.has("#you"))
        mark = time.monotonic()
        seat.begin_again()
        seat.wait("#you")
        self.row("signed in again without a form: the provider knows the browser", True, f"{time.monotonic() - mark:.1f} s")
        seat.check_clean("signing out and in")

    def ended(self):
        """An admin revokes a session; a session's time is over; the provider's keys change; the provider dies."""
        login = next(iter(self.who))
        seat = self.seat(login)
        seat.sign_in_at_provider()
        seat.wait("#you")
        status, who = seat.ask("token")
        done = self.origin.tool("token", "revoke", who["id"], "--server", self.origin.url, token=self.origin.token, check=False)
        self.row("an admin revokes the session by the command line", done.returncode == 0, (done.stdout + done.stderr).strip())
        seat.eval("location.hash = '#/channel/shop/online'")
        seat.wait("#sso-link")
        self.row("it ends at the next request, and says so", bool(seat.text("#refusal")), seat.text("#refusal"))
        seat.check("after the end")
        seat.begin_again()
        seat.wait("#you")
        if self.origin.clock:
            try:
                self.origin.clock.later(12.2)
                seat.eval("location.hash = '#/channel/shop/test'")
                seat.wait("#sso-link")
                self.row("a session of 12 h is over, and says so", bool(seat.text("#refusal")), seat.text("#refusal"))
            finally:
                self.origin.clock.later(0)
            seat.begin_again()
            seat.wait("#you")
        self.provider.rotate()
        # The key set is fetched anew at most once in 30 seconds.
        time.sleep(31)
        other = self.seat(login)
        other.sign_in_at_provider()
        other.wait("#you")
        self.row("signed in by the provider's new key", True)
        self.provider.stop()
        seat.page.reload()
        seat.wait("#you")
        self.row("the provider is dead: who is signed in stays so", seat.ask("overview")[0] == 200)
        admin = self.seat()
        admin.wait("#token")
        admin.sign_in(self.origin.token)
        admin.wait("#who:not([hidden])")
        self.row("the provider is dead: the local admin token opens the console", admin.text("#who").startswith("admin"), admin.text("#who"))

    def command(self):
        """`login --sso` on this machine and on another; what the token may do; denied; interrupted."""
        login = next(iter(self.who))
        seat = self.seat(login)
        seat.sign_in_at_provider()
        seat.wait("#you")
        name = self.who[login][0]
        for what, words in (("device", ["--device"]), ("loopback", [])):
            process, url = self.begin_login(what, words)
            seat.open(url)
            seat.wait("#signin-allow")
            code = seat.text("#signin-code").strip()
            self.row(f"{what}: the console shows the code of the terminal", code in url and (what == "loopback" or code in self.said(what)), code)
            seat.check(f"{what}: a command line asks")
            seat.click("#signin-allow")
            ended = until(lambda: process.poll() is not None, "the command line's end", 60)
            self.row(f"{what}: the command line is signed in", ended and process.returncode == 0, self.said(what)[-300:])
            done = self.origin.tool("whoami", profile=what, check=False)
            self.row(f"{what}: whoami", done.returncode == 0 and name in done.stdout, (done.stdout + done.stderr).strip().replace("\n", "; "))
        seat.open(seat.site.console)
        seat.wait("#you")
        # Signing in once more leaves nothing behind that nobody here could end.
        process, url = self.begin_login("device", ["--device"])
        seat.open(url)
        seat.click("#signin-allow")
        until(lambda: process.poll() is not None, "the command line's end", 60)
        seat.open(seat.site.console)
        seat.wait("#you")
        status, found = seat.ask("sessions")
        clients = sorted(one["client"] for one in found["sessions"])
        self.row("the sessions are listed, without the one that another login took the place of", clients.count("cli") == 2 and "console" in clients, clients)
        own = next(one["id"] for one in found["sessions"] if one["client"] == "cli")
        status, _ = seat.ask(f"sessions/{own}", "DELETE")
        works = [self.origin.tool("whoami", profile=what, check=False).returncode == 0 for what in ("device", "loopback")]
        self.row("one of them is ended by its person", status in (200, 204) and sorted(works) == [False, True], f"{status} {works}")
        process, url = self.begin_login("denied", ["--device"])
        seat.open(url)
        seat.click("#signin-deny")
        until(lambda: process.poll() is not None, "the command line's end", 60)
        self.row("denied: the command line says so", process.returncode not in (0, None), self.said("denied")[-200:])
        seat.open(url)
        seat.wait("#signin-outcome")
        self.row("a code is good for one decision", not seat.has("#signin-allow"), seat.text("#signin-outcome"))
        seat.open(seat.site.console + "#/signin/BBBB-BBBB")
        seat.wait("#signin-outcome")
        self.row("a code that isn't one", not seat.has("#signin-allow"), seat.text("#signin-outcome"))
        process, url = self.begin_login("interrupted", ["--device"])
        process.send_signal(2)
        until(lambda: process.poll() is not None, "its end", 20)
        self.row("Ctrl-C ends the wait", process.returncode != 0, f"{process.returncode} {self.said('interrupted')[-200:]}")
        seat.check_clean("signing command lines in")

    def begin_login(self, what, words):
        """`xcache login --sso`; returns the process and the URL that a browser has to open."""
        home = f"{self.origin.folder}/{what}"
        os.makedirs(home, exist_ok=True)
        opened, script = f"{home}/opened", f"{home}/browser"
        with open(script, "w") as out:
            out.write(f"#!/bin/sh\nprintf '%s' \"$1\" >'{opened}.new' && mv '{opened}.new' '{opened}'\n")
        os.chmod(script, 0o755)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("XCACHE_", "ACTIONS_"))}
        clean |= {"HOME": home, "XDG_CONFIG_HOME": f"{home}/config", "XDG_CACHE_HOME": f"{home}/cache", "BROWSER": script}
        with open(f"{home}/said", "w") as out:
            process = subprocess.Popen([self.origin.xcache, "login", self.origin.url, "--sso", *words], env=clean, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

        def url():
            assert process.poll() is None, f"login --sso ended: {self.said(what)}"
            found = re.search(r"https?://\S+#/signin/[A-Z-]+", self.said(what))
            return os.path.exists(opened) and open(opened).read() or (words and found and found[0])

        return process, until(url, f"the URL of login --sso {words}", 30)

    def said(self, what):
        return open(f"{self.origin.folder}/{what}/said").read()


class AtCanaille(People):
    """Two people with three roles, one with none."""

    kind = Canaille
    roles = ["release=groups:mobile-team@shop", "read=groups:staff", "publish=email:bo@acme.example@shop/test"]
    who = {
        "ana": ("ana@acme.example", {("release", "shop", None), ("read", None, None)},
                [("POST", "tokens", {"name": "x", "scope": "read"}), ("POST", "apps/other/channels/online/rollback", {"bundle": "main", "to": "1"}), ("GET", "identities", None)]),
        "bo": ("bo@acme.example", {("publish", "shop", "test"), ("read", None, None)},
               [("POST", "apps/shop/channels/online/policy", {}), ("POST", "apps/shop/channels/online/rollback", {"bundle": "main", "to": "1"})]),
        "cy": ("cy", None, []),
    }
    cases = ["console", "command", "ended"]


class AtLemonLDAP(People):
    """An admin and two release engineers: two pairs of eyes."""

    kind = LemonLDAP
    roles = ["admin=groups:timelords", "release=groups:earthlings@shop"]
    who = {
        "rtyler": ("rtyler@badwolf.org", {("release", "shop", None)}, [("POST", "tokens", {"name": "x", "scope": "read"})]),
        "msmith": ("msmith@badwolf.org", {("release", "shop", None)}, [("POST", "apps/other/channels/online/rollback", {"bundle": "main", "to": "1"})]),
        "dwho": ("dwho@badwolf.org", {("admin", None, None)}, []),
    }
    cases = ["console", "approvals", "command", "ended"]

    def approvals(self):
        """A protected channel: nobody alone, nobody twice, and rolling back never waits."""
        rose, mickey, doctor = self.seat("rtyler"), self.seat("msmith"), self.seat("dwho")
        for one in (rose, mickey, doctor):
            one.sign_in_at_provider()
            one.wait("#you")
        path, origin = "apps/shop/channels/online", self.origin
        status, answer = doctor.ask(f"{path}/protect", "POST", {"approvals": 1, "by": None, "share": 0})
        self.row("an admin protects the channel", status == 200 and answer["approvals"] == 1, f"{status} {answer}")
        status, answer = rose.ask(f"{path}/protect", "POST", {"approvals": 0})
        self.row("a release engineer doesn't lift it", status == 403, f"{status} {answer}")
        before = origin.version()
        done = origin.publish(check=False)
        acts = rose.ask("waiting")[1]["acts"]
        self.row("a publish waits", done.returncode == 0 and origin.version() == before and len(acts) == 1, (done.stdout + done.stderr).strip().replace("\n", " ")[-200:])
        number = acts[0]["id"]
        rose.go(f"#/waiting?act={number}", f"#act-{number}")
        rose.check("an act that waits for one")
        rose.eval(f"document.querySelector('#effect-{number}').open = true")
        shown, said = self.decide(rose, f"#approve-{number}", "looks right")
        self.row("approved in the console, and done", until(lambda: origin.version() != before, "the release", 30) and True, said)
        status, answer = rose.ask(f"{path}/schedules/{number}/approve", "POST", {})
        self.row("approved again: it is over, or nothing changes", status in (200, 409), f"{status} {(answer or {}).get('detail', answer)}"[:200])
        status, answer = rose.ask(f"{path}/rollback", "POST", {"bundle": "main", "to": before, "message": "back"})
        self.row("rolling back never waits", status == 201 and origin.version() != before, f"{status} {str(answer)[:160]}")
        before = origin.version()
        done = origin.publish(check=False)
        number = rose.ask("waiting")[1]["acts"][0]["id"]
        status, answer = mickey.ask(f"{path}/schedules/{number}/reject", "POST", {"message": ""})
        self.row("rejecting takes a reason", status == 400, f"{status} {(answer or {}).get('detail')}")
        mickey.go(f"#/waiting?act={number}", f"#act-{number}")
        shown, said = self.decide(mickey, f"#reject-{number}", "not before the weekend")
        self.row("rejected in the console", origin.version() == before and not rose.ask("waiting")[1]["acts"], said)
        # The kill switch works at once; taking it back waits, and not for whoever wants it back.
        status, answer = rose.ask(f"{path}/policy", "POST", {"act": "kill", "message": "a fire"})
        self.row("the kill switch never waits", status == 201 and not rose.ask("waiting")[1]["acts"], f"{status} {str(answer)[:160]}")
        status, answer = rose.ask(f"{path}/policy", "POST", {"act": "resume", "message": "it is out"})
        acts = rose.ask("waiting")[1]["acts"]
        self.row("taking it back waits", status == 202 and len(acts) == 1, f"{status} {str(answer)[:160]}")
        number = acts[0]["id"]
        status, answer = rose.ask(f"{path}/schedules/{number}/approve", "POST", {})
        self.row("nobody approves what they asked for", status in (403, 409) and rose.ask("waiting")[1]["acts"], f"{status} {(answer or {}).get('detail')}")
        rose.go(f"#/waiting?act={number}", f"#why-not-{number}")
        self.row("and the console says why", bool(rose.text(f"#why-not-{number}")), rose.text(f"#why-not-{number}"))
        mickey.go(f"#/waiting?act={number}", f"#act-{number}")
        _, said = self.decide(mickey, f"#approve-{number}", "seen")
        self.row("a colleague does", not rose.ask("waiting")[1]["acts"], said)
        # The author's own approval doesn't count, by whatever name it comes.
        status, answer = doctor.ask("tokens", "POST", {"name": "robot", "scope": "publish", "app": "shop"})
        robot = answer["token"]
        done = origin.publish(token=robot, check=False)
        number = rose.ask("waiting")[1]["acts"][0]["id"]
        own = origin.api(f"{path}/schedules/{number}/approve", "POST", {}, token=robot)
        self.row("its author may not approve it", own.status == 403 or own.status == 409, own)
        done = origin.tool("approve", str(number), "--server", origin.url, "--yes", token=origin.token, check=False)
        self.row("the command line approves", done.returncode == 0 and until(lambda: origin.version() != before, "the release", 30), (done.stdout + done.stderr).strip()[-200:])
        for one in (rose, mickey, doctor):
            one.check_clean("approving")
        rows = [row["act"] for row in origin.audit()]
        self.row("the audit has who approved, rejected and protected", {"approval.give", "approval.reject", "channel.protect", "session.create"} <= set(rows), sorted(set(rows)))
        origin.api(f"{path}/protect", "POST", {"approvals": 0})

    def decide(self, seat, button, reason):
        """As Console.act, with words of an outcome that may be several."""
        seat.click(button)
        seat.wait("dialog[open]")
        seat.wait("dialog #confirm:not([aria-disabled])")
        seat.check(f"the dialog of {button}")
        shown = seat.text("dialog #preview")
        seat.set("reason", reason)
        seat.eval("document.querySelector('dialog form').requestSubmit()")
        until(lambda: re.search("✔|✖", seat.text("dialog #outcome")), "the outcome")
        said = seat.text("dialog #outcome")
        seat.click("dialog #cancel")
        until(lambda: not seat.has("dialog"), "the dialog's end")
        return shown, said
