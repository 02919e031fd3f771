"""CI jobs without a stored token: hostile ID tokens at `POST /auth/trade`, and the command line in what passes for a job."""
import base64, json, os, re, time

import tokens
from hostile import Hostile
from stage import Origin, ask, hosts, side_by_side, somebody, trade

main = "repo:acme/shop:ref:refs/heads/main"


class Trading:
    def __init__(self, xcache, folder, table):
        self.table = table
        self.github, self.gitlab = Hostile(hosts["jobs"], kind="RS256"), Hostile(hosts["hostile"], kind="ES256")
        self.stranger = Hostile(hosts["jobs"])
        self.origin = Origin(xcache, f"{folder}/trading")
        self.audience = self.origin.url
        self.origin.publish()
        self.add("ci-shop", self.github, main, app="shop", bundles="main")
        self.add("ci-gitlab", self.gitlab, "project_path:acme/shop:ref_type:branch:ref:main", app="shop", channel="test", scope="release")

    def close(self):
        self.origin.stop()
        for one in (self.github, self.gitlab, self.stranger):
            one.stop()

    def add(self, name, issuer, subject, scope="publish", audience=None, **limits):
        answer = self.origin.api("identities", "POST", {"name": name, "issuer": issuer.issuer, "subject": subject,
                                                        "audience": audience or self.audience, "scope": scope, **limits})
        assert answer.status == 201, f"identity {name}: {answer}"
        return answer

    def right(self, **more):
        """An ID token like GitHub's that may publish."""
        more = {"issuer": self.github.issuer, "audience": self.audience} | more
        return tokens.github(**more)

    def refused(self, what, token, code, statuses=(400, 401, 403, 409), words=".", **more):
        answer, text = trade(self.origin, token, **more)
        problems = [] if answer.status in statuses else [f"status {answer.status}"]
        if not re.fullmatch(code, answer.code or ""):
            problems.append(f"code {answer.code}, not {code}")
        if not re.search(words, answer.words, re.I):
            problems.append(f"doesn't say {words}")
        if token and len(token) > 40 and token in answer.text:
            problems.append("repeats the token")
        self.table.row("trade", what, f"refused, {code}", f"{answer.status} {answer.code}: {answer.words}", not problems, "; ".join(problems))

    def accepted(self, what, token, **more):
        answer, text = trade(self.origin, token, **more)
        self.table.row("trade", what, "traded", f"{answer.status} {answer.words or answer.document.get('name', '')}", answer.status == 201)
        return answer, text

    # MARK: - Cases

    def traded(self):
        """A trade, and what its token may do."""
        origin, check = self.origin, self.table.check
        claims = self.right(run="900100")
        answer, text = self.accepted("right: like GitHub's, RS256", tokens.token(claims, self.github.key))
        if answer.status != 201:
            return
        document = answer.document
        check("15 minutes", 14 * 60 < self.seconds(document["expiresAt"]) <= 15 * 60, document["expiresAt"])
        check("its name has the identity and the run", document["name"] == "ci-shop run 900100", document["name"])
        who = origin.api("token", token=text).document
        check("it knows what it is", who["kind"] == "job" and who["subject"] == main and who["issuer"] == self.github.issuer, who)
        done = origin.publish(token=text, check=False)
        self.table.row("trade", "publish with the traded token", "published", done.stdout.strip().splitlines()[-1][:120] if done.returncode == 0 and done.stdout.strip()
                       else done.stderr[-200:], done.returncode == 0)
        for what, more in (("another app", dict(app="other")), ("another bundle", dict(bundle="second"))):
            done = origin.publish(token=text, check=False, **more)
            self.table.row("trade", f"{what} with the traded token", "refused", done.stderr.strip()[:160], done.returncode != 0)
        for path, method, body in (("tokens", "GET", None), ("tokens", "POST", {"name": "x", "scope": "read"}), ("identities", "GET", None),
                                   ("audit", "GET", None)):
            found = origin.api(path, method, body, token=text)
            check(f"a job may not {method} {path}", found.status == 403, found)
        row = next((one for one in origin.audit("identity.trade") if "900100" in json.dumps(one)), None)
        check("the audit has issuer, subject and run", row and all(part in json.dumps(row) for part in (main, self.github.issuer.split("/")[2], "900100")), row)
        answer, text = self.accepted("right: like GitLab's, ES256", tokens.token(tokens.gitlab(self.gitlab.issuer, self.audience, job="55"), self.gitlab.key))
        check("GitLab's job is in its name", answer.status == 201 and answer.document["name"].startswith("ci-gitlab run "), answer)
        check("two audiences", trade(origin, tokens.token(self.right(audience=["https://other.example", self.audience]), self.github.key))[0].status == 201)

    @staticmethod
    def seconds(moment):
        import datetime
        return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp() - time.time()

    def hostile(self):
        """ID tokens that are wrong in one way."""
        key, stranger = self.github.key, tokens.Key("RS256", "key-1")
        now = int(time.time())
        make = lambda key=key, header=None, sign=None, **more: tokens.token(self.right(**more), key, header, sign)
        self.refused("alg: none", tokens.unsigned(self.right(), key), "alg|malformed-token")
        self.refused("HS256 with the public key", tokens.by_public_key(self.right(), key), "alg")
        self.refused("another key, the same kid", make(stranger), "signature|unknown-key")
        self.refused("an unknown kid", make(tokens.Key("RS256", "key-7")), "unknown-key|signature")
        self.refused("an audience of another server", make(audience="https://other.example"), "wrong-audience", words="audience")
        self.refused("GitHub's default audience", make(audience="https://github.com/acme"), "wrong-audience", words="audience")
        self.refused("an audience with a slash more", make(audience=self.audience + "/"), "wrong-audience")
        self.refused("no audience", make(audience=None), "wrong-audience|claim")
        self.refused("another repository", make(repository="evil/shop"), "[a-z-]+", words="sub|identity")
        self.refused("another branch", make(ref="refs/heads/evil"), "[a-z-]+", words="sub|identity")
        self.refused("a pull request's subject", make(sub="repo:acme/shop:pull_request"), "[a-z-]+", words="sub|identity")
        self.refused("a branch that begins like it", make(ref="refs/heads/main2"), "[a-z-]+", words="sub|identity")
        self.refused("a subject in other letters", make(repository="Acme/shop"), "[a-z-]+", words="sub|identity")
        self.refused("an issuer that no identity has", tokens.token(self.right(issuer=self.stranger.issuer), self.stranger.key), "untrusted-issuer")
        self.table.check("an issuer that no identity has is never asked", not self.stranger.requests, self.stranger.requests)
        self.refused("GitLab's issuer, GitHub's key", tokens.token(tokens.gitlab(self.gitlab.issuer, self.audience), key), "unknown-key|signature|alg")
        self.refused("GitHub's subject from GitLab", tokens.token(self.right(issuer=self.gitlab.issuer), self.gitlab.key), "[a-z-]+", words="sub|identity")
        self.refused("expired", make(exp=now - 120, iat=now - 600), "expired")
        self.refused("from the future", make(iat=now + 120, exp=now + 600), "not-yet")
        self.refused("not before tomorrow", make(nbf=now + 86400), "not-yet")
        self.refused("issued two days ago", make(iat=now - 2 * 86400, exp=now + 600), "too-old")
        self.refused("good for a year", make(exp=now + 365 * 86400), "too-long-lived")
        for what, more in (("expired 30 s ago", dict(exp=now - 30, iat=now - 600)), ("30 s from the future", dict(iat=now + 30, exp=now + 600))):
            self.accepted(what, make(**more))
        self.refused("a year that no clock has", make(exp=1 << 80), "claim|too-long-lived|malformed-token")
        self.refused("no text at all", "", "[a-z-]+")
        self.refused("20 KB", "a" * 20_000, "[a-z-]+", (400, 401, 403, 413))
        self.refused("two parts", "e30.e30", "malformed-token")
        self.refused("letters beyond base64url", "e30=.e30=.e30=", "malformed-token")
        for what, body, status in (("no JSON", b"{", 400), ("an array", b"[]", 400), ("no hash", {"token": make()}, 400),
                                   ("a hash that is none", {"token": make(), "secretHash": "zz"}, 400),
                                   ("an unknown member", {"token": make(), "secretHash": "a" * 64, "scope": "admin"}, 400),
                                   ("10 MB", b" " * 10_000_000, 413)):
            answer = ask(self.origin.url + "/auth/trade", "POST", body, source=somebody())
            self.table.row("trade", f"a body: {what}", str(status), f"{answer.status} {answer.words}", answer.status == status or answer.status in (400, 413))

    def replay(self):
        """Once is once: again by its owner, again by another, two at a time, a lost answer."""
        secret, other = os.urandom(32), os.urandom(32)
        text = tokens.token(self.right(), self.github.key)
        first, _ = self.accepted("the first time", text, secret=secret)
        again, _ = trade(self.origin, text, secret=secret)
        self.table.row("trade", "the same again (a lost answer)", "the same answer", f"{again.status} {again.words}",
                       again.status == 201 and again.document == first.document)
        self.refused("replayed by somebody else", text, "token-replayed", (409,), secret=other)
        head, body, sign = text.split(".")
        self.refused("replayed with another spelling", f"{head}.{body}.{sign}=", "malformed-token|token-replayed", secret=other)
        # ECDSA signatures have a twin (r, n - s): another text for the same token.
        claims = tokens.gitlab(self.gitlab.issuer, self.audience)
        text = tokens.token(claims, self.gitlab.key)
        trade(self.origin, text)
        raw = base64.urlsafe_b64decode(text.split(".")[2] + "==")
        order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
        twin = raw[:32] + (order - int.from_bytes(raw[32:], "big")).to_bytes(32, "big")
        self.refused("replayed with the signature's twin (ES256)", ".".join([*text.split(".")[:2], tokens.base64url(twin)]), "token-replayed", (409,))
        text, mine = tokens.token(self.right(), self.github.key), [os.urandom(32) for _ in range(8)]
        answers = [answer for answer, _ in side_by_side(*[lambda secret=secret: trade(self.origin, text, secret) for secret in mine])]
        won = sum(one.status == 201 for one in answers)
        self.table.row("trade", "eight at once, each with a secret of its own", "one wins", f"{sorted(one.status for one in answers)}",
                       won == 1 and all(one.status in (201, 409) for one in answers))
        text, one = tokens.token(self.right(), self.github.key), os.urandom(32)
        answers = [answer for answer, _ in side_by_side(*[lambda: trade(self.origin, text, one)] * 8)]
        self.table.row("trade", "eight at once with one secret", "one answer", f"{sorted(one.status for one in answers)}",
                       {one.status for one in answers} == {201} and len({one.body for one in answers}) == 1)

    def identities(self):
        """Several identities, removed ones, patterns."""
        origin, check = self.origin, self.table.check
        self.add("ci-any", self.github, "repo:acme/shop:ref:refs/heads/*", scope="read", app="shop")
        text = tokens.token(self.right(), self.github.key)
        self.refused("two identities match", text, "[a-z-]+", (409,), words="ci-any.*ci-shop|ci-shop.*ci-any")
        answer, given = self.accepted("the one that is named", text, identity="ci-any")
        check("it gets that one's scope", answer.status == 201 and answer.document["scope"] == "read", answer)
        self.refused("one that doesn't match is named", tokens.token(self.right(ref="refs/heads/next"), self.github.key), "[a-z-]+", identity="ci-shop")
        self.refused("a slash isn't of a pattern", tokens.token(self.right(ref="refs/heads/a/b"), self.github.key), "[a-z-]+")
        self.refused("an identity that isn't there", tokens.token(self.right(), self.github.key), "[a-z-]+", (400, 401, 403, 404), identity="no-such")
        done = origin.api("identities/ci-any", "DELETE")
        check("removing answers", done.status in (200, 204), done)
        gone = origin.api("token", token=given)
        self.table.row("trade", "a token of an identity that was removed", "401", f"{gone.status} {gone.words}", gone.status == 401)
        self.refused("an identity that was removed", tokens.token(self.right(ref="refs/heads/next"), self.github.key), "[a-z-]+")
        self.refused("and by name", tokens.token(self.right(), self.github.key), "[a-z-]+", (400, 401, 403, 404), identity="ci-any")
        for what, more in (("*", {}), ("a*", {}), ("", {}), ("repo:*\n", {})):
            answer = origin.api("identities", "POST", {"name": "wide", "issuer": self.github.issuer, "subject": what, "audience": self.audience, "scope": "read"})
            self.table.row("trade", f"identity add with the subject {what!r}", "400", f"{answer.status} {answer.words}", answer.status == 400)
        for what, more in (("scope admin", {"scope": "admin"}), ("issuer by http", {"issuer": "http://id.example.com"}), ("an issuer with a query", {"issuer": "https://id.example.com/?a"}),
                           ("a name that is taken", {"name": "ci-shop"}), ("no audience", {"audience": None})):
            body = {"name": "odd", "issuer": "https://id.example.com", "subject": "repo:acme/shop", "audience": self.audience, "scope": "read"} | more
            answer = origin.api("identities", "POST", {name: value for name, value in body.items() if value is not None})
            self.table.row("trade", f"identity add: {what}", "refused", f"{answer.status} {answer.words}", answer.status in (400, 409))
        reader = origin.api("tokens", "POST", {"name": "app-admin", "scope": "admin", "app": "shop"}).document["token"]
        answer = origin.api("identities", "POST", {"name": "grown", "issuer": self.github.issuer, "subject": main, "audience": self.audience, "scope": "publish"}, token=reader)
        check("an admin of one app adds no identity", answer.status == 403, answer)

    def keys(self):
        """The issuer's keys while it is down, and after they changed."""
        github = self.github
        self.accepted("before the issuer is down", tokens.token(self.right(), github.key))
        github.stop()
        self.accepted("the issuer is down, its keys are known", tokens.token(self.right(), github.key))
        mark = time.monotonic()
        self.refused("the issuer is down, an unknown key", tokens.token(self.right(), tokens.Key("RS256", "key-8")), "provider-down|unknown-key|signature", (401, 403, 502, 503, 504))
        self.table.check("told within 12 s", time.monotonic() - mark < 12, time.monotonic() - mark)
        github.start()
        old, github.key = github.key, tokens.Key("EdDSA", "key-2")
        time.sleep(31)
        self.accepted("rotated: the new key", tokens.token(self.right(), github.key))
        self.refused("rotated: the key before", tokens.token(self.right(), old), "unknown-key|signature|alg")

    def command(self):
        """`xcache publish` in a job: GitHub's variables, GitLab's, a file."""
        origin, table = self.origin, self.table
        github = {"ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.github.issuer}/actions?api-version=2.0", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": self.github.actions_bearer,
                  "GITHUB_ACTIONS": "true"}

        def publish(what, environment, good, words="", profile="job", more=()):
            before, done = origin.version(), origin.publish(check=False, environment=environment, profile=profile, more=more)
            said = (done.stdout + done.stderr).strip()
            works = (done.returncode == 0 and origin.version() != before) if good else \
                (done.returncode != 0 and origin.version() == before and re.search(words, said, re.I))
            secret = [one for one in self.github.given + [self.github.actions_bearer] if one in said]
            table.row("command", what, "published" if good else f"refused, {words}", said.replace("\n", " ")[-260:], works and not secret, "prints a secret" if secret else "")

        publish("GitHub's variables", github, True)
        publish("GitHub's, without permission", github | {"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "wrong"}, False, "id-token: write|permission|401")
        publish("GitHub's address is dead", github | {"ACTIONS_ID_TOKEN_REQUEST_URL": f"http://{hosts['jobs']}:1/actions?a=b"}, False, "ID token|ACTIONS", profile="dead")
        gitlab = tokens.token(self.right(), self.github.key)
        publish("XCACHE_ID_TOKEN", {"XCACHE_ID_TOKEN": gitlab}, True, profile="gitlab")
        publish("the next command of the same job", {"XCACHE_ID_TOKEN": gitlab}, True, profile="gitlab")
        publish("the same ID token elsewhere", {"XCACHE_ID_TOKEN": gitlab}, False, "used|again|replay|traded", profile="thief")
        file = f"{origin.folder}/id-token"
        for name in ("--id-token", "XCACHE_ID_TOKEN_FILE"):
            with open(file, "w") as out:
                out.write(tokens.token(self.right(), self.github.key) + "\n")
            publish(f"{name}", {"XCACHE_ID_TOKEN_FILE": file} if name.startswith("X") else {}, True, profile="file", more=() if name.startswith("X") else ("--id-token", file))
        publish("an ID token for another server", {"XCACHE_ID_TOKEN": tokens.token(self.right(audience="https://other.example"), self.github.key)}, False, "audience")
        publish("an ID token of another branch", {"XCACHE_ID_TOKEN": tokens.token(self.right(ref="refs/heads/evil"), self.github.key)}, False, "sub|identity")
        publish("no token and no ID token", {}, False, "token|login", profile="nobody")
        publish("XCACHE_TOKEN beside GitHub's variables", github | {"XCACHE_TOKEN": origin.token}, True)
        kept = [os.path.join(where, name) for where, _, names in os.walk(f"{origin.folder}/gitlab/cache") for name in names if "jobs" in where]
        modes = [os.stat(one).st_mode & 0o777 for one in kept if not one.endswith(".lock")] + [os.stat(os.path.dirname(one)).st_mode & 0o777 for one in kept]
        table.check("a traded token is kept with mode 600, in a folder of mode 700", set(modes) == {0o600, 0o700}, [oct(one) for one in modes])
        table.check("nothing that is kept has the ID token", kept and not any(gitlab.encode() in open(one, "rb").read() for one in kept))
        found = origin.leaks(*self.github.given, gitlab, self.github.actions_bearer)
        table.check("no ID token in logs, audit and database", not found, found)

    def guessing(self):
        """Wrong ID tokens by the hundred: counted, slowed down, and nobody else is."""
        answers = [trade(self.origin, tokens.unsigned(self.right(), self.github.key), source="127.0.0.9")[0] for _ in range(120)]
        self.table.row("trade", "120 forged ones from one address", "429 in the end", f"{answers[-1].status} {answers[-1].words}", answers[-1].status == 429)
        self.accepted("another address meanwhile", tokens.token(self.right(), self.github.key), source="127.0.0.10")
        metrics = ask(self.origin.url + "/metrics").text
        self.table.check("trades are counted by outcome", 'xcache_trades_total{outcome="' in metrics)

    cases = ["traded", "hostile", "replay", "identities", "command", "keys", "guessing"]
