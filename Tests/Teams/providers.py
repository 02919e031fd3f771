#!/usr/bin/env python3
"""Two real OpenID Connect providers on loopback: canaille (PyPI) and LemonLDAP::NG (Debian).   providers.py

Run alone, it signs in at each in Chromium as a client of its own, with PKCE, and shows what comes back: what the tests stand on."""
import base64, hashlib, http.server, json, os, pathlib, signal, subprocess, sys, tempfile, threading, time, urllib.parse

import tokens
from stage import ask, hosts, port, until

here = pathlib.Path(__file__).resolve().parent
tools = here.parents[1] / ".build" / "tools" / "teams"
version = "0.3.6"


class Provider:
    """A provider that runs: `issuer`, `client`, `secret` (None: a public client), `people` (login, which is the password: groups)."""

    def wait(self, log):
        def answers():
            assert self.process.poll() is None, f"{self.name} ended: {open(log).read()[-2000:]}"
            try:
                return ask(f"{self.issuer}/.well-known/openid-configuration", timeout=20).status == 200
            except OSError:
                return False

        until(answers, f"{self.name} to answer", 90)

    def stop(self):
        """Ends it, and what it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(10)

    def fill(self, page, fields, form):
        """Fills a form's fields in, and sends it as its button does."""
        page.eval("(() => { for (const [name, value] of Object.entries(%s)) document.querySelector(`[name=${name}]`).value = value; })()"
                  % json.dumps(fields))
        self.leave(page, f"document.querySelector({json.dumps(form)}).click()")

    def leave(self, page, script):
        """Runs what leads to another page, and waits until that has loaded."""
        mark = len(page.events)
        page.eval(script)
        page.wait_event("Page.loadEventFired", 60, since=mark)


class Canaille(Provider):
    """canaille: a confidential client that sends its secret by Basic, ID tokens by ES256, `iss` in its redirects (RFC 9207)."""

    name, client, secret = "canaille", "xcache", "canaille-s3cret/with+signs="
    people = {"ana": ["mobile-team", "staff"], "bo": ["staff"], "cy": []}
    names = {"ana": "ana@acme.example", "bo": "bo@acme.example", "cy": "cy@acme.example"}
    scopes = "openid profile email groups"

    def __init__(self, folder, redirect):
        python = tools / "bin" / "python"
        if subprocess.run([python, "-c", "import canaille"], capture_output=True).returncode if python.exists() else True:
            subprocess.run([sys.executable, "-m", "venv", tools], check=True)
            subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"canaille[front,oidc,server]=={version}"],
                           check=True)
        number = port(hosts["canaille"])
        self.issuer = f"http://{hosts['canaille']}:{number}"
        made = subprocess.run(
            [python, "-c", "import json; from joserfc.jwk import ECKey, RSAKey\n"
             "print(json.dumps([key.as_dict(private=True) for key in (ECKey.generate_key('P-256', auto_kid=True), "
             "RSAKey.generate_key(2048, auto_kid=True), ECKey.generate_key('P-256', auto_kid=True))]))"],
            check=True, capture_output=True, text=True)
        titles = {"ana": "Ana Alba", "bo": "Bo Berg", "cy": "Cy Cole"}
        settings = {"host": hosts["canaille"], "port": number, "client": self.client, "secret": self.secret, "redirect": redirect,
                    "trusted": hosts["origin"], "keys": json.loads(made.stdout),
                    "people": {login: [titles[login], self.names[login], groups] for login, groups in self.people.items()}}
        file, log = f"{folder}/canaille.json", f"{folder}/canaille.log"
        with open(file, "w") as out:
            json.dump(settings, out)
        self.process = subprocess.Popen([python, here / "canaille_server.py", file], stdout=open(log, "w"), stderr=subprocess.STDOUT,
                                        start_new_session=True, cwd=folder)
        self.wait(log)

    def sign_in(self, page, login):
        """At its form, in a page that was sent there; returns when the browser has left it."""
        until(lambda: page.eval("document.querySelector('[name=login]') !== null"), "canaille's form")
        self.fill(page, {"login": login}, "button[type=submit]")
        until(lambda: page.eval("document.querySelector('[name=password]') !== null"), "canaille's second form")
        self.fill(page, {"password": login}, "button[type=submit]")

    def rotate(self):
        """Another key from now on; the one before is gone from the key set."""
        before = ask(f"{self.issuer}/oauth/jwks.json").body
        self.process.send_signal(signal.SIGUSR1)
        until(lambda: ask(f"{self.issuer}/oauth/jwks.json").body != before, "canaille's other key")

    def sign_out(self, page):
        page.goto(f"{self.issuer}/logout")


class LemonLDAP(Provider):
    """LemonLDAP::NG with its demo accounts: a public client, PKCE demanded, RS256, groups from userinfo alone."""

    name, client, secret = "LemonLDAP::NG", "xcache", None
    people = {"dwho": ["timelords", "users"], "rtyler": ["earthlings", "users"], "msmith": ["earthlings", "users"]}
    names = {login: f"{login}@badwolf.org" for login in people}
    scopes = "openid profile email groups"

    def __init__(self, folder, redirect):
        number = port(hosts["lemonldap"])
        self.issuer = f"http://{hosts['lemonldap']}:{number}"
        self.folder = f"{folder}/lemonldap"
        for name in ("conf", "sessions/lock", "psessions/lock", "cache", "notifications", "captcha"):
            os.makedirs(f"{self.folder}/{name}")
        shipped = "/var/lib/lemonldap-ng"
        settings = json.loads(open(f"{shipped}/conf/lmConf-1.json").read().replace(shipped, self.folder))
        private = subprocess.run(["openssl", "genrsa", "2048"], check=True, capture_output=True, text=True).stdout
        public = subprocess.run(["openssl", "rsa", "-pubout"], input=private, check=True, capture_output=True, text=True).stdout
        settings |= {
            "portal": self.issuer + "/", "domain": hosts["lemonldap"], "securedCookie": 0, "applicationList": {}, "exportedHeaders": {},
            "locationRules": {hosts["lemonldap"]: {"default": "accept"}}, "notification": 0, "loginHistoryEnabled": 0,
            # Modules that this needs not, and which need many packages.
            "captcha": "::Captcha::None", "registerDB": "Null", "passwordDB": "Null",
            "issuerDBOpenIDConnectActivation": 1, "oidcServiceMetaDataIssuer": self.issuer, "oidcServiceAllowAuthorizationCodeFlow": 1,
            "oidcServicePrivateKeySig": private, "oidcServicePublicKeySig": public, "oidcServiceKeyIdSig": "key-1",
            "oidcRPMetaDataExportedVars": {"xcache": {"email": "mail", "name": "cn", "preferred_username": "uid",
                                                      "groups": "groups;string;always"}},
            "oidcRPMetaDataOptionsExtraClaims": {"xcache": {"groups": "groups"}},
            "oidcRPMetaDataOptions": {"xcache": {
                "oidcRPMetaDataOptionsClientID": self.client, "oidcRPMetaDataOptionsPublic": 1, "oidcRPMetaDataOptionsRequirePKCE": 1,
                "oidcRPMetaDataOptionsRedirectUris": redirect, "oidcRPMetaDataOptionsIDTokenSignAlg": "RS256",
                "oidcRPMetaDataOptionsBypassConsent": 1, "oidcRPMetaDataOptionsUserIDAttr": "uid"}},
        }
        with open(f"{self.folder}/conf/lmConf-1.json", "w") as out:
            json.dump(settings, out, indent=1)
        with open(f"{self.folder}/lemonldap-ng.ini", "w") as out:
            out.write(open("/etc/lemonldap-ng/lemonldap-ng.ini").read().replace(shipped, self.folder))
        self.environment = {**os.environ, "LLNG_DEFAULTCONFFILE": f"{self.folder}/lemonldap-ng.ini",
                            "LLNG_DEFAULTLOGGER": "Lemonldap::NG::Common::Logger::Std"}
        log = f"{self.folder}/log"
        self.process = subprocess.Popen(
            ["plackup", "-s", "Starman", "--workers", "4", "-E", "deployment", "--listen", f"{hosts['lemonldap']}:{number}",
             here / "portal.psgi"], env=self.environment, stdout=open(log, "w"), stderr=subprocess.STDOUT, start_new_session=True)
        self.wait(log)

    def sign_in(self, page, login):
        until(lambda: page.eval("document.querySelector('[name=user]') !== null"), "the portal's form")
        self.fill(page, {"user": login, "password": login}, "form#lform button[type=submit], form#lformDemo button[type=submit]")

    def rotate(self):
        """By its own script for operators; workers read the settings again within a second."""
        before = ask(f"{self.issuer}/oauth2/jwks").body
        subprocess.run(["perl", "/usr/share/lemonldap-ng/bin/rotateOidcKeys"], env=self.environment, check=True, capture_output=True)
        until(lambda: all(ask(f"{self.issuer}/oauth2/jwks").body != before for _ in range(12)), "the portal's other key", 60)

    def sign_out(self, page):
        page.goto(f"{self.issuer}/?logout=1")


def probe(provider, page, redirect, got, login):
    """Signs in as a client that isn't xcache; returns the claims of the ID token and of userinfo."""
    found = ask(f"{provider.issuer}/.well-known/openid-configuration").document
    assert found["issuer"] == provider.issuer, found["issuer"]
    verifier, state, nonce = (tokens.base64url(os.urandom(32)) for _ in range(3))
    query = {"response_type": "code", "client_id": provider.client, "redirect_uri": redirect, "scope": provider.scopes, "state": state,
             "nonce": nonce, "code_challenge": tokens.base64url(hashlib.sha256(verifier.encode()).digest()),
             "code_challenge_method": "S256"}
    page.goto(f"{found['authorization_endpoint']}?{urllib.parse.urlencode(query)}")
    provider.sign_in(page, login)
    answer = until(lambda: got and got.pop(), "the redirect")
    assert answer["state"] == state, answer
    form = {"grant_type": "authorization_code", "code": answer["code"], "redirect_uri": redirect}
    fields = ["Content-Type: application/x-www-form-urlencoded"]
    if provider.secret:
        pair = ":".join(urllib.parse.quote(one, safe="") for one in (provider.client, provider.secret))
        fields.append(f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}")
    else:
        form["client_id"] = provider.client
    wrong = ask(found["token_endpoint"], "POST", urllib.parse.urlencode({**form, "code_verifier": "a" * 43}).encode(), fields)
    assert wrong.status in (400, 401), f"a wrong verifier: {wrong}"
    # A code may be gone after a wrong verifier, and a nonce is good for one.
    query["nonce"] = nonce = tokens.base64url(os.urandom(32))
    page.goto(f"{found['authorization_endpoint']}?{urllib.parse.urlencode(query)}")
    form["code"] = until(lambda: got and got.pop(), "the second redirect")["code"]
    given = ask(found["token_endpoint"], "POST", urllib.parse.urlencode({**form, "code_verifier": verifier}).encode(), fields)
    assert given.status == 200, given
    head, body, _ = given.document["id_token"].split(".")
    read = lambda part: json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    assert read(body)["nonce"] == nonce
    info = ask(found["userinfo_endpoint"], fields=[f"Authorization: Bearer {given.document['access_token']}"])
    return answer, read(head), read(body), info.document


def main():
    sys.path.insert(0, str(here.parent / "Browser"))
    from cdp import Browser

    got, number = [], port()
    redirect = f"http://{hosts['origin']}:{number}/auth/callback"

    class Client(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            parts = urllib.parse.urlsplit(self.path)
            if parts.path == "/auth/callback":
                got.append(dict(urllib.parse.parse_qsl(parts.query)))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>back</title>")

    server = http.server.ThreadingHTTPServer((hosts["origin"], number), Client)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        for kind in (Canaille, LemonLDAP):
            provider = kind(folder, redirect)
            try:
                page = browser.new_page()
                answer, head, claims, info = probe(provider, page, redirect, got, next(iter(provider.people)))
                print(f"{provider.name}: redirect {sorted(answer)}, header {head}\n  ID token {claims}\n  userinfo {info}")
                before = time.monotonic()
                provider.rotate()
                print(f"  another key after {time.monotonic() - before:.1f} s")
            finally:
                provider.stop()
    print("OK")


if __name__ == "__main__":
    main()
