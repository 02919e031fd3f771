"""People: what a provider, or somebody between it and the origin, may do wrong, and what the person at the browser reads."""
import json, re, time, urllib.parse

import tokens
from hostile import Hostile
from stage import Jar, Origin, ask, hosts, side_by_side, somebody, until

roles = ["admin=groups:admins", "release=groups:mobile-team@shop", "publish=groups:devs@shop/test:main*", "read=groups:staff",
         "admin=email:root@acme.example@*"]


def begin(origin, jar, target="/auth/login"):
    """To the provider and back; returns the URL of the origin that the browser is sent to, with its query."""
    sent = jar.ask(origin.url + target)
    assert sent.status == 302, f"the begin of a sign-in: {sent}"
    back = jar.ask(sent.fields["location"])
    assert back.status in (302, 303), f"the provider: {back}"
    return back.fields["location"]


def sign_in(origin, jar=None, edit=lambda url: url, target="/auth/login"):
    """A sign-in as far as it goes; returns the origin's last answer."""
    jar = jar or Jar()
    sent = jar.ask(origin.url + target)
    if sent.status != 302:
        return sent
    back = jar.ask(sent.fields["location"])
    return jar.ask(edit(back.fields["location"]))


def changed(**query):
    """Edits the query of a URL; None takes one out."""
    def edit(url):
        parts = urllib.parse.urlsplit(url)
        now = dict(urllib.parse.parse_qsl(parts.query)) | query
        return parts._replace(query=urllib.parse.urlencode({name: value for name, value in now.items() if value is not None})).geturl()
    return edit


class SigningIn:
    """The cases; `table` collects what was read."""

    def __init__(self, xcache, folder, table):
        self.table, self.provider = table, Hostile()
        self.xcache, self.folder = xcache, folder
        self.origin = Origin(xcache, f"{folder}/signing-in", oidc_issuer=self.provider.issuer, oidc_client="xcache",
                             clock=True, secret=self.provider.secret, role=roles, oidc_scopes="openid profile email groups")
        self.count = 0

    def close(self):
        self.origin.stop()
        self.provider.stop()

    # MARK: - How a case is held against what happens

    def accepted(self, what, answer, jar=None):
        good = answer.status == 303 and answer.fields.get("location", "").endswith("/console/") or \
            answer.status == 303 and "/console/#" in answer.fields.get("location", "")
        self.table.row("sign-in", what, "signed in", "signed in" if good else repr(answer), good)

    def refused(self, what, answer, words, statuses=(400, 401, 403, 409, 502, 503, 504)):
        """Refused by a page in words, which says `words` (a pattern), with no session."""
        session = any(value.startswith("__Host-xcache=xcache_") for name, value in answer.lines if name.lower() == "set-cookie")
        problems = []
        if answer.status not in statuses:
            problems.append(f"status {answer.status}")
        if session:
            problems.append("A SESSION")
        if not re.search(words, answer.words, re.I):
            problems.append(f"doesn't say {words}")
        problems += self.page_problems(answer)
        self.table.row("sign-in", what, f"refused, {words}", f"{answer.status} {answer.words}", not problems, "; ".join(problems))

    def page_problems(self, answer):
        policy = answer.fields.get("content-security-policy", "")
        wanted = {"a page": "html" in answer.fields.get("content-type", ""), "Cache-Control: no-store": answer.fields.get("cache-control") == "no-store",
                  "a policy": "default-src 'none'" in policy, "a way back": "/console/" in answer.text,
                  "Referrer-Policy": answer.fields.get("referrer-policy") == "no-referrer", "no script": "<script" not in answer.text.lower()}
        return [f"lacks {name}" for name, good in wanted.items() if not good]

    def token_case(self, what, words, claims=None, make=None, **more):
        """One sign-in with an ID token that is wrong in one way."""
        self.provider.fresh()
        if claims:
            self.provider.edit_claims = claims
        if make:
            self.provider.make = make
        for name, value in more.items():
            setattr(self.provider, name, value)
        answer = sign_in(self.origin)
        self.provider.fresh()
        self.refused(what, answer, words) if words else self.accepted(what, answer)

    # MARK: - Cases

    def right(self):
        """Each algorithm, userinfo, the console's place, what the cookies are."""
        self.provider.fresh()
        jar = Jar()
        answer = sign_in(self.origin, jar, target="/auth/login?return=%23%2Fchannel%2Fshop%2Fonline%3Fat%3D1")
        self.accepted("right: EdDSA", answer)
        self.table.check("a link comes back to its view", answer.fields.get("location", "").endswith("/console/#/channel/shop/online?at=1"),
                         answer.fields.get("location"))
        session = next((one for one in jar.set if one.startswith("__Host-xcache=xcache_")), "")
        for part in ("HttpOnly", "Secure", "SameSite=Strict", "Path=/", "Max-Age="):
            self.table.check(f"session cookie has {part}", part.lower() in session.lower(), session.split(";", 1)[-1])
        self.table.check("session cookie has no Domain", "domain=" not in session.lower())
        login = next((one for one in jar.set if one.startswith("__Host-xcache-login=")), "")
        for part in ("HttpOnly", "Secure", "SameSite=Lax", "Path=/"):
            self.table.check(f"sign-in cookie has {part}", part.lower() in login.lower(), login.split(";", 1)[-1])
        who = self.origin.by_cookie(jar, "token")
        self.table.check("the session is Ana's", who.status == 200 and who.document["name"] == "ana@acme.example"
                         and who.document["kind"] == "session" and who.document["issuer"] == self.provider.issuer, repr(who.body[:300]))
        seconds = who.status == 200 and self.origin.api("token", token=jar.session).status
        self.table.check("the cookie's text is a token", seconds == 200, seconds)
        self.token_case("claims from userinfo alone", None, in_token=False)

    def forgery(self):
        """ID tokens that the provider didn't make, or not for this client."""
        provider = self.provider
        provider.fresh()
        other = tokens.Key("EdDSA", "key-1")
        self.token_case("alg: none", "alg|algorithm|none|only RS256", make=tokens.unsigned)
        self.token_case("alg: None, by another spelling", "alg|algorithm|only RS256", make=lambda c, k: tokens.token(c, k, {"alg": "nOnE"}, lambda _: b""))
        self.token_case("no signature", "signature|malformed|token", make=lambda c, k: tokens.token(c, k, None, lambda _: b""))
        rsa = tokens.Key("RS256", "key-1")
        self.token_case("HS256 with the public key", "alg|algorithm|only RS256", make=lambda c, k: tokens.by_public_key(c, k))
        self.token_case("RS256 in the header, an Ed25519 key", "alg|algorithm|only RS256|key", make=lambda c, k: tokens.token(c, k, {"alg": "RS256"}, rsa.sign))
        self.token_case("another key, the same kid", "sign", make=lambda c, k: tokens.token(c, other))
        self.token_case("a key in the header (jwk)", "sign", make=lambda c, k: tokens.token(c, other, {"jwk": other.public}))
        self.token_case("a key by URL in the header (jku)", "sign|key",
                        make=lambda c, k: tokens.token(c, other, {"jku": provider.issuer + "/other-keys", "kid": "key-9"}))
        self.token_case("claims changed after signing", "sign", make=self.reworded)
        self.token_case("crit in the header", "crit|extension|demand|understand", make=lambda c, k: tokens.token(c, k, {"crit": ["b64"], "b64": False}))
        self.token_case("wrong audience", "audience|aud", lambda c: c | {"aud": "another-client"})
        self.token_case("no audience", "audience|aud", lambda c: {k: v for k, v in c.items() if k != "aud"})
        self.token_case("audience of no text", "audience|aud", lambda c: c | {"aud": [["xcache"]]})
        self.token_case("token of another client (azp)", "client|azp|another", lambda c: c | {"aud": ["xcache", "other"], "azp": "other"})
        self.token_case("two audiences, no azp", "client|azp|audience", lambda c: c | {"aud": ["xcache", "other"]})
        self.token_case("azp right, two audiences", None, lambda c: c | {"aud": ["xcache", "other"], "azp": "xcache"})
        self.token_case("wrong issuer", "issuer|iss", lambda c: c | {"iss": "https://id.evil.example"})
        self.token_case("issuer with a slash more", "issuer|iss", lambda c: c | {"iss": c["iss"] + "/"})
        self.token_case("wrong nonce", "nonce|sign-in|begun", lambda c: c | {"nonce": "another"})
        self.token_case("no nonce", "nonce|sign-in|begun", lambda c: {k: v for k, v in c.items() if k != "nonce"})
        self.token_case("no subject", "sub", lambda c: {k: v for k, v in c.items() if k != "sub"})
        self.token_case("a subject that is a number", "sub", lambda c: c | {"sub": 7})
        self.token_case("no expiry", "exp", lambda c: {k: v for k, v in c.items() if k != "exp"})
        self.token_case("typ of an access token", "typ|kind|access|token", make=lambda c, k: tokens.token(c, k, {"typ": "at+jwt"}))
        self.token_case("encrypted (five parts)", "token|part|encrypt", make=lambda c, k: "a.b.c.d.e")
        self.token_case("claims that aren't JSON", "token|JSON|claim", make=lambda c, k: tokens.token("{", k))
        self.token_case("claims twice", "token|JSON|twice|claim", make=lambda c, k: tokens.token(json.dumps(c)[:-1] + ',"sub":"root"}', k))
        self.token_case("100,000 brackets", "token|JSON|deep|nest|long|claim", make=lambda c, k: tokens.token("[" * 11_000, k))
        self.token_case("a token of 1 MB", "long|large|token|KB", make=lambda c, k: tokens.token(c | {"pad": "a" * 700_000}, k))

    @staticmethod
    def reworded(claims, key):
        head, _, signature = tokens.token(claims, key).split(".")
        return f"{head}.{tokens.base64url(json.dumps(claims | {'groups': ['admins', 'more']}))}.{signature}"

    def clocks(self):
        """Skew: 30 s are taken, 120 s aren't."""
        now = lambda: int(time.time())
        for seconds, words in ((30, None), (120, "expired|ended|clock")):
            self.token_case(f"expired {seconds} s ago", words, lambda c: c | {"exp": now() - seconds, "iat": now() - seconds - 60})
        for name in ("iat", "nbf"):
            for seconds, words in ((30, None), (120, "future|not yet|clock|valid")):
                self.token_case(f"{name} {seconds} s in the future", words, lambda c: c | {name: now() + seconds, "exp": now() + 900})
        self.token_case("expired a day ago", "expired|ended|clock", lambda c: c | {"exp": now() - 86400, "iat": now() - 90000})
        self.token_case("expiry of no size", "exp", lambda c: c | {"exp": 1e300})
        self.token_case("expiry below nothing", "exp", lambda c: c | {"exp": -(1 << 62)})
        self.token_case("expiry as text", "exp", lambda c: c | {"exp": str(now() + 300)})
        self.token_case("expiry with a fraction", None, lambda c: c | {"exp": now() + 300.5})

    def keys(self):
        """Rotation, weak keys, two keys of one name. The key set is fetched anew at most once in 30 seconds, so this takes two minutes."""
        provider, old = self.provider, self.provider.key
        provider.fresh()
        time.sleep(31)
        provider.key = tokens.Key("ES256", "key-2")
        self.token_case("key rotation: another kid, ES256", None)
        self.token_case("key rotation: a token by the key before", "key|sign", make=lambda c, k: tokens.token(c, old))
        time.sleep(31)
        provider.key = tokens.Key("RS256", "key-2")
        self.token_case("key rotation: the same kid, RS256", None)
        time.sleep(31)
        weak = tokens.Key("RS256", "weak", 1024)
        provider.key = weak
        self.token_case("a weak key: RSA of 1,024 bits", "key|weak|sign", make=tokens.token)
        time.sleep(31)
        provider.key, stranger = tokens.Key("EdDSA", "twice"), tokens.Key("EdDSA", "twice")
        provider.fresh()
        provider.published = [tokens.Key("EdDSA", "twice"), provider.key]
        answer = sign_in(self.origin)
        ok = answer.status == 303
        self.table.row("sign-in", "two keys of one kid, the second signs", "signed in, or refused in words",
                       "signed in" if ok else repr(answer), ok or bool(answer.words) and answer.status in (401, 403, 502))
        provider.make = lambda c, k: tokens.token(c, stranger)
        self.refused("two keys of one kid, neither signs", sign_in(self.origin), "sign|key")
        before = provider.count("/keys")
        for _ in range(20):
            sign_in(self.origin)
        self.table.check("20 forged tokens have the keys fetched once at most", provider.count("/keys") - before <= 1, provider.count("/keys") - before)
        provider.fresh()
        time.sleep(31)
        provider.published = [{"kty": "oct", "k": tokens.base64url(b"secret"), "kid": "key-5", "alg": "HS256"}]
        self.token_case("a shared secret in the key set, HS256", "alg|algorithm|only RS256|key", published=provider.published,
                        make=lambda c, k: tokens.token(c, tokens.Key("EdDSA", "key-5"), {"alg": "HS256"}, lambda d: tokens.hmac.digest(b"secret", d, "sha256")))

    def browser(self):
        """What comes back to the callback: codes, states, issuers."""
        provider, origin = self.provider, self.origin
        provider.fresh()
        # The same URL again, as "reload" and "back" send it.
        jar = Jar()
        url = begin(origin, jar)
        self.accepted("the first callback", jar.ask(url))
        asked = provider.count("/token")
        jar.drop("__Host-xcache")
        self.refused("the same callback again", jar.ask(url), "again|already|once|used")
        self.table.check("a replayed callback asks the provider nothing", provider.count("/token") == asked, provider.count("/token") - asked)
        # Somebody's code in one's own sign-in (RFC 9700 §4.5).
        victim, attacker = Jar(), Jar()
        code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(begin(origin, victim)).query))["code"]
        self.refused("a code of another sign-in", sign_in(origin, attacker, changed(code=code)), "provider|code|again")
        # A code that the provider would take twice, in a sign-in of its own.
        provider.reuses_codes = True
        jar = Jar()
        url = begin(origin, jar)
        jar.ask(url)
        code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))["code"]
        self.refused("a replayed code", sign_in(origin, Jar(), changed(code=code)), "provider|code|again|nonce")
        provider.fresh()
        for what, edit in (("state missing", changed(state=None)), ("state empty", changed(state="")), ("another state", changed(state="a" * 96)),
                           ("state of 3,000 letters", changed(state="ab" * 1500)), ("state of odd letters", changed(state="äß%00"))):
            self.refused(what, sign_in(origin, Jar(), edit), "begun|begin|browser|again|state|this")
        self.refused("another browser's state (login CSRF)", Jar().ask(begin(origin, Jar())), "browser|begun|begin|again|cookie")
        other, mine = Jar(), Jar()
        mine.ask(origin.url + "/auth/login")
        self.refused("another's whole callback in a browser that began one", mine.ask(begin(origin, other)), "browser|begun|begin|again")
        jar = Jar()
        first, second = begin(origin, jar), begin(origin, jar)
        self.accepted("two tabs: the second", jar.ask(second))
        self.accepted("two tabs: the first, too", jar.ask(first))
        self.refused("code missing", sign_in(origin, Jar(), changed(code=None)), "code|provider")
        self.refused("mix-up: another issuer in the redirect", sign_in(origin, Jar(), changed(iss="https://id.evil.example")), "provider|issuer")
        self.refused("mix-up: no issuer where one is promised", sign_in(origin, Jar(), changed(iss=None)), "provider|issuer")
        provider.edit_redirect = lambda query: {"state": query["state"], "iss": query["iss"], "error": "access_denied",
                                                "error_description": "<script>alert(1)</script>\r\nSet-Cookie: a=b <b>no</b>"}
        answer = sign_in(origin)
        self.refused("the provider says no, with markup", answer, "declined")
        self.table.check("its markup is text", "<script>alert" not in answer.text and "<b>" not in answer.text and "set-cookie" not in answer.fields)
        provider.edit_redirect = lambda query: {"state": query["state"], "iss": query["iss"], "error": "login_required"}
        self.refused("the provider wants a person at its page", sign_in(origin, target="/auth/login?prompt=none"), "provider|sign")
        provider.fresh()

    def returns(self):
        """`return` leads nowhere but to a view of the console."""
        self.provider.fresh()
        for text in ("https://evil.example/", "//evil.example/", "/\\evil.example", "/console/../evil", "javascript:alert(1)", "#//evil.example",
                     "#/a\r\nSet-Cookie: a=b", "#/a\x00b", "#/" + "a" * 2000, "#/@evil.example", ".evil.example", "@evil.example", "#\\evil"):
            answer = sign_in(self.origin, target="/auth/login?return=" + urllib.parse.quote(text, safe=""))
            where = answer.fields.get("location", "")
            path = where.removeprefix(self.origin.url)
            good = answer.status == 303 and path.startswith("/console/") and (path == "/console/" or path.startswith("/console/#/")) \
                and not any(value.startswith("a=b") for name, value in answer.lines if name.lower() == "set-cookie")
            self.table.row("sign-in", f"return={text[:40]!r}", "the console, and nothing else", where[:80] or repr(answer), good)
        twice = self.origin.url + "/auth/login?return=%23%2Fone&return=https%3A%2F%2Fevil.example"
        self.table.check("return twice", "evil" not in sign_in(self.origin, target=twice.removeprefix(self.origin.url)).fields.get("location", "evil"))
        other = ask(self.origin.url + "/auth/login?redirect_uri=https://evil.example/&client_id=x&scope=x&prompt=login")
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(other.fields["location"]).query))
        self.table.check("nothing of the request but `return` and prompt=none goes to the provider",
                         query["redirect_uri"] == self.origin.url + "/auth/callback" and query["client_id"] == "xcache" and "prompt" not in query, query)
        self.table.check("PKCE by S256, a nonce and a state", query.get("code_challenge_method") == "S256" and len(query.get("code_challenge", "")) == 43
                         and query.get("nonce") and query.get("state") and query.get("response_type") == "code", query)

    def people(self):
        """Who gets what, by claims that are right but for their person."""
        provider = self.provider
        provider.fresh()
        who = lambda **claims: provider.person | claims
        self.token_case("no role", "role|right|group", person=who(groups=["others"]))
        self.token_case("no groups at all", "role|right|group", person={"sub": "u-x", "email": "x@acme.example", "email_verified": True})
        self.token_case("groups that aren't text", "role|right|group", person=who(groups=[{"admins": True}, 7, None]))
        self.token_case("groups by another case", "role|right|group", person=who(groups=["Admins"]))
        self.token_case("a group in a longer name", "role|right|group", person=who(groups=["admins,x", " admins"]))
        self.token_case("a role's email that isn't verified", "role|right|group", person=who(groups=[], email="root@acme.example", email_verified=False))
        self.token_case("a role's email, verified", None, person=who(groups=[], email="root@acme.example"))
        self.token_case("groups as one text", None, person=who(groups="admins"))
        self.token_case("userinfo of somebody else", "somebody|other|another|subject|sub", in_token=False, edit_info=lambda claims: claims | {"sub": "u-root"})
        self.token_case("userinfo without a subject", "somebody|other|another|subject|sub|claim", in_token=False,
                        edit_info=lambda claims: {k: v for k, v in claims.items() if k != "sub"})
        for name in ("<img src=x onerror=alert(1)>", "a\r\nb", "x" * 5000, "\u202eadmin", ""):
            provider.fresh()
            provider.person = who(email=None, preferred_username=name)
            jar = Jar()
            answer = sign_in(self.origin, jar)
            shown = answer.status == 303 and self.origin.by_cookie(jar, "token").document["name"]
            good = answer.status in (400, 403, 502) or shown and len(shown.encode()) <= 128 and not re.search(r"[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]", shown)
            self.table.row("sign-in", f"a name like {name[:30]!r}", "a name that shows as one, or refused", shown or repr(answer), bool(good))
        provider.fresh()
        provider.person = who(groups=["mobile-team", "devs", "staff"])
        jar = Jar()
        self.accepted("three roles", sign_in(self.origin, jar))
        grants = {(one["scope"], one["app"], one["channel"], one["bundles"]) for one in self.origin.by_cookie(jar, "token").document["grants"]}
        self.table.check("three roles, three grants", grants == {("release", "shop", None, None), ("publish", "shop", "test", "main*"), ("read", None, None, None)}, grants)
        provider.fresh()

    def endpoints(self):
        """What the provider's own answers may be: redirects, other people's addresses, more than fits, no JSON."""
        provider = self.provider
        elsewhere = Hostile(hosts["jobs"])
        deep = b'{"issuer":' + b"[" * 200_000
        found = "/.well-known/openid-configuration"
        try:
            for what, path, words in (("the token endpoint redirects", "/token", "redirect|provider"), ("userinfo redirects", "/userinfo", "redirect|provider")):
                provider.fresh()
                provider.in_token = path != "/userinfo"
                provider.redirects[path] = elsewhere.issuer + path
                self.refused(what, sign_in(self.origin), words)
                self.table.check(f"{what}: nobody follows", elsewhere.count(path) == 0)
            for what, path, body, words in (
                    ("token endpoint: 10 MB", "/token", b" " * 10_000_000 + b"{}", "provider"), ("token endpoint: no JSON", "/token", b"<html>", "provider"),
                    ("token endpoint: 200,000 brackets", "/token", deep, "provider"), ("token endpoint: no id_token", "/token", b'{"access_token":"a"}', "provider|ID token"),
                    ("userinfo: 10 MB", "/userinfo", b"[" * 10_000_000, "provider"), ("userinfo: no JSON", "/userinfo", b"\xff\xfe", "provider")):
                provider.fresh()
                provider.in_token = path != "/userinfo"
                provider.bodies[path] = body
                self.refused(what, sign_in(self.origin), words)
            provider.fresh()
            cold = {
                "discovery redirects": dict(redirects={found: elsewhere.issuer + found}),
                "discovery: 10 MB": dict(bodies={found: b" " * 10_000_000 + b"{}"}),
                "discovery: no JSON": dict(bodies={found: b"<!doctype html>"}),
                "discovery: 200,000 brackets": dict(bodies={found: deep}),
                "discovery: another issuer": dict(edit_discovery=lambda d: d | {"issuer": elsewhere.issuer}),
                "discovery: an issuer with a slash more": dict(edit_discovery=lambda d: d | {"issuer": d["issuer"] + "/"}),
                "discovery: no issuer": dict(edit_discovery=lambda d: {k: v for k, v in d.items() if k != "issuer"}),
                "discovery: http beyond this machine": dict(edit_discovery=lambda d: d | {"token_endpoint": "http://192.0.2.1/token"}),
                "discovery: a file for the keys": dict(edit_discovery=lambda d: d | {"jwks_uri": "file:///etc/passwd"}),
                "discovery: endpoints that are numbers": dict(edit_discovery=lambda d: d | {"token_endpoint": 7}),
                "discovery: a javascript: address for the browser": dict(edit_discovery=lambda d: d | {"authorization_endpoint": "javascript:alert(1)//"}),
                "the key set redirects": dict(redirects={"/keys": elsewhere.issuer + "/keys"}),
                "the key set: 10 MB": dict(bodies={"/keys": b" " * 10_000_000 + b'{"keys":[]}'}),
                "the key set: 10,000 keys": dict(published=[provider.key.public | {"kid": str(n)} for n in range(10_000)]),
                "the key set: none": dict(published=[]),
            }
            for what, edits in cold.items():
                # Another process each time: what it fetched is kept for an hour.
                self.origin.stop()
                self.origin.start()
                for name, value in edits.items():
                    setattr(provider, name, value)
                jar = Jar()
                self.refused(what, sign_in(self.origin, jar), "provider|key")
                provider.fresh()
                self.table.check(f"{what}: nobody follows", not elsewhere.requests, elsewhere.requests)
        finally:
            elsewhere.stop()
            provider.fresh()
            self.origin.stop()
            self.origin.start()

    def down(self):
        """A provider that is slow, and one that is dead: who is signed in, and who has a token, notices nothing."""
        provider, origin = self.provider, self.origin
        provider.fresh()
        jar = Jar()
        self.accepted("before the provider is slow", sign_in(origin, jar))
        provider.delays = {"/token": 30}
        ways = []

        def meanwhile():
            time.sleep(1)
            for _ in range(20):
                mark = time.monotonic()
                # A job's ID token of an issuer that nobody knows needs no provider, either.
                job = ask(origin.url + "/auth/trade", "POST", {"token": tokens.token(tokens.claims("https://id.example.com", "a"), provider.key),
                                                              "secretHash": "0" * 64}, source=somebody())
                ways.append((origin.by_cookie(jar, "token").status, origin.api("token").status, ask(origin.url + "/healthz").status, job.status,
                             time.monotonic() - mark))
                time.sleep(0.2)

        mark = time.monotonic()
        slow, _ = side_by_side(lambda: sign_in(origin), meanwhile)
        took = time.monotonic() - mark
        self.refused("the provider is slow (30 s)", slow, "provider")
        self.table.check("a slow provider is given up after 10 s or so", 8 < took < 20, f"{took:.1f} s")
        worst = max(way[4] for way in ways)
        self.table.check("sessions, tokens, devices and jobs don't wait for it", all(way[:4] == (200, 200, 200, 403) for way in ways) and worst < 2, f"{worst:.2f} s")
        mark = time.monotonic()
        answers = side_by_side(*[lambda: sign_in(origin)] * 24)
        took = time.monotonic() - mark
        self.table.check("24 sign-ins at a slow provider: each is told within 25 s", all(one.status in (502, 503, 504) for one in answers) and took < 25,
                         f"{sorted({one.status for one in answers})}, {took:.1f} s")
        self.table.check("and the origin works meanwhile", origin.api("token").status == 200)
        provider.fresh()
        provider.stop()
        jar_at_callback = Jar()
        answer = jar_at_callback.ask(origin.url + "/auth/login")
        if answer.status == 302:
            # What was found is kept: the browser notices. The code is asked of nobody.
            state = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.fields["location"]).query))["state"]
            answer = jar_at_callback.ask(f"{origin.url}/auth/callback?code=a&state={state}&iss={urllib.parse.quote(provider.issuer, safe='')}")
        self.refused("the provider is dead", answer, "provider|answer")
        self.table.check("sessions go on", origin.by_cookie(jar, "token").status == 200)
        self.table.check("the local admin token goes on", origin.api("tokens").status == 200)
        origin.stop()
        origin.start()
        self.table.check("the origin starts without its provider", ask(origin.url + "/healthz").status == 200)
        self.refused("the provider is dead since the start", Jar().ask(origin.url + "/auth/login"), "provider")
        self.table.check("sessions outlive a restart", origin.by_cookie(jar, "token").status == 200)
        provider.start()
        until(lambda: sign_in(origin).status == 303, "the provider to be found again", 40)
        self.table.row("sign-in", "the provider is back", "signed in", "signed in", True)

    def cookies(self):
        """What else a browser may be made to send (CSRF), and the end of sessions."""
        provider, origin = self.provider, self.origin
        provider.fresh()
        jar = Jar()
        sign_in(origin, jar)
        for what, fields in (("no Xcache-Console field", []), ("Sec-Fetch-Site: cross-site", ["Xcache-Console: 1", "Sec-Fetch-Site: cross-site"]),
                             ("Sec-Fetch-Site: same-site", ["Xcache-Console: 1", "Sec-Fetch-Site: same-site"]),
                             ("Sec-Fetch-Site: none", ["Xcache-Console: 1", "Sec-Fetch-Site: none"])):
            for method, path, body in (("GET", "token", None), ("POST", "tokens", {"name": "stolen", "scope": "admin"})):
                answer = origin.by_cookie(jar, path, method, body, fields)
                self.table.row("cookie", f"{method} {path}: {what}", "401", f"{answer.status} {answer.words}", answer.status == 401)
        wrong = f"Authorization: Bearer xcache_0123456789ab_{'A' * 43}"
        answer = origin.by_cookie(jar, "token", fields=["Xcache-Console: 1", wrong])
        self.table.row("cookie", "a wrong bearer token beside the cookie", "401", f"{answer.status} {answer.words}", answer.status == 401)
        asked = ask(f"{origin.url}/api/v1/token", "OPTIONS", None, ["Origin: https://evil.example", "Access-Control-Request-Method: GET",
                                                                     "Access-Control-Request-Headers: xcache-console"])
        self.table.check("no other site's script may send the field (CORS)", "access-control-allow-credentials" not in asked.fields
                         and "xcache-console" not in asked.fields.get("access-control-allow-headers", "").lower(), asked.lines)
        answer = jar.ask(origin.url + "/auth/logout", "POST", b"", ["Content-Type: application/x-www-form-urlencoded", "Origin: https://evil.example"])
        self.table.row("cookie", "another site's form signs out", "refused", f"{answer.status} {answer.words}",
                       answer.status in (400, 401, 403) and origin.by_cookie(jar, "token").status == 200)
        text = jar.session
        answer = jar.ask(origin.url + "/auth/logout", "POST", b"", ["Xcache-Console: 1", "Sec-Fetch-Site: same-origin"])
        self.table.row("cookie", "sign out", "204", f"{answer.status}", answer.status == 204 and jar.session is None)
        answer = origin.api("token", token=text)
        self.table.row("cookie", "a cookie kept after signing out", "401", f"{answer.status} {answer.words}", answer.status == 401)
        jar = Jar()
        sign_in(origin, jar)
        who = origin.by_cookie(jar, "token").document["id"]
        listed = origin.api("tokens?kind=session").document["tokens"]
        self.table.check("an admin sees the session", any(one["id"] == who and one["kind"] == "session" for one in listed), [one["id"] for one in listed])
        done = origin.api(f"tokens/{who}", "DELETE")
        answer = origin.by_cookie(jar, "token")
        self.table.row("cookie", "a session that an admin revoked", "401", f"{done.status}, then {answer.status} {answer.words}",
                       done.status in (200, 204) and answer.status == 401)
        jar = Jar()
        sign_in(origin, jar)
        own = origin.by_cookie(jar, "sessions").document["sessions"]
        self.table.check("one's own sessions", len(own) >= 1 and sum(one["isCurrent"] for one in own) == 1, own)
        other = Jar()
        provider.person = provider.person | {"sub": "u-bo", "email": "bo@acme.example", "groups": ["staff"]}
        sign_in(origin, other)
        mine = origin.by_cookie(jar, "token").document["id"]
        answer = origin.by_cookie(other, f"sessions/{mine}", "DELETE", fields=("Xcache-Console: 1", "Sec-Fetch-Site: same-origin"))
        self.table.row("cookie", "another's session can't be ended by a reader", "refused", f"{answer.status} {answer.words}",
                       answer.status in (403, 404) and origin.by_cookie(jar, "token").status == 200)
        provider.fresh()

    def ends(self):
        """A session ends after its 12 hours, whatever the browser keeps."""
        provider, origin = self.provider, self.origin
        if not origin.clock:
            print("        sessions' end: skipped, there is no libfaketime")
            return
        provider.fresh()
        jar = Jar()
        sign_in(origin, jar)
        try:
            for hours, status in ((11.9, 200), (12.1, 401)):
                origin.clock.later(hours)
                answer = origin.by_cookie(jar, "token")
                self.table.row("cookie", f"{hours} hours after signing in", str(status), f"{answer.status} {answer.words}", answer.status == status)
            self.table.check("the local admin token goes on", origin.api("token").status == 200)
        finally:
            origin.clock.later(0)

    def secrets(self):
        """Nothing secret was written anywhere."""
        session = Jar()
        sign_in(self.origin, session)
        found = self.origin.leaks(self.provider.secret, session.session and session.session.split("_", 2)[2], *self.provider.given[-200:])
        self.table.check("no client secret, code, ID token or session in logs, audit and database", not found, found)
        metrics = ask(self.origin.url + "/metrics").text
        self.table.check("sign-ins are counted by outcome", 'xcache_sign_ins_total{outcome="' in metrics)

    cases = ["right", "forgery", "clocks", "browser", "returns", "people", "cookies", "ends", "secrets", "down", "endpoints", "keys"]
