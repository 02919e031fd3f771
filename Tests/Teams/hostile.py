"""A provider that is right by default, and wrong as told. It signs everybody in who comes, as `person`.   OpenID Connect Core, Discovery

It also plays the issuers of CI jobs' ID tokens (`issue`), and what GitHub gives a job to ask for one (`/actions`)."""
import base64, hashlib, http.server, json, os, threading, time, urllib.parse

import tokens
from stage import hosts, port


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    # Of calls that a client gave up.
    handle_error = lambda self, *_: None


class Hostile:
    """What it answers can be changed while it runs; `fresh` makes it right again, but for its keys and the codes that it gave."""

    def __init__(self, host=hosts["hostile"], secret="hostile-s3cret", kind="EdDSA"):
        self.host, self.number = host, port(host)
        self.issuer = f"http://{host}:{self.number}"
        self.client, self.secret = "xcache", secret
        self.key = tokens.Key(kind, "key-1")
        self.codes, self.requests, self.given = {}, [], []
        self.actions_bearer = "the-bearer-of-the-job"
        self.fresh()
        self.server = None
        self.start()

    def fresh(self):
        """Right again."""
        self.person = {"sub": "u-ana", "email": "ana@acme.example", "email_verified": True, "name": "Ana Alba",
                       "preferred_username": "ana", "groups": ["admins"]}
        self.published = None                          # the keys of the set; None: the one that signs
        self.edit_discovery = lambda document: document
        self.edit_claims = lambda claims: claims       # of the ID token
        self.edit_info = lambda claims: claims         # of userinfo
        self.edit_token_answer = lambda answer: answer
        self.edit_redirect = lambda query: query       # what the browser brings back
        self.make = tokens.token                       # (claims, key) -> the ID token's text
        self.delays = {}                               # seconds by path
        self.redirects = {}                            # another URL by path
        self.bodies = {}                               # bytes by path, in place of the answer
        self.reuses_codes = False
        self.in_token = True                           # whether the ID token has the person's claims, or userinfo alone

    def start(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.answer(self, "")

            def do_POST(self):
                outer.answer(self, self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

        self.server = Server((self.host, self.number), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        """Nothing listens any more; `start` brings it back at the same place."""
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def count(self, path):
        return sum(one == path for one in self.requests)

    def discovery(self):
        url = self.issuer
        return self.edit_discovery({
            "issuer": url, "authorization_endpoint": url + "/authorize", "token_endpoint": url + "/token", "jwks_uri": url + "/keys",
            "userinfo_endpoint": url + "/userinfo", "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "EdDSA"], "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"], "authorization_response_iss_parameter_supported": True})

    def answer(self, request, body):
        parts = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(parts.query))
        self.requests.append(parts.path)
        time.sleep(self.delays.get(parts.path, 0))
        if parts.path in self.redirects:
            return self.send(request, 307, b"", [("Location", self.redirects[parts.path])])
        if parts.path in self.bodies:
            return self.send(request, 200, self.bodies[parts.path])
        name = {"/.well-known/openid-configuration": "found", "/authorize": "authorize", "/token": "token", "/keys": "keys",
                "/userinfo": "userinfo", "/actions": "actions"}.get(parts.path)
        if not name:
            return self.send(request, 404, b"{}")
        getattr(self, "on_" + name)(request, query, dict(urllib.parse.parse_qsl(body)))

    def send(self, request, status, body, fields=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        request.send_response(status)
        for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(body))), *fields):
            request.send_header(name, value)
        request.end_headers()
        try:
            request.wfile.write(body)
        except OSError:
            request.close_connection = True

    def on_found(self, request, *_):
        self.send(request, 200, self.discovery())

    def on_keys(self, request, *_):
        keys = [self.key] if self.published is None else self.published
        self.send(request, 200, {"keys": [one if isinstance(one, dict) else one.public for one in keys]})

    def on_authorize(self, request, query, _):
        code = tokens.base64url(os.urandom(24))
        self.codes[code] = query
        self.given.append(code)
        back = self.edit_redirect({"code": code, "state": query.get("state", ""), "iss": self.issuer})
        back = {name: value for name, value in back.items() if value is not None}
        self.send(request, 302, b"", [("Location", f"{query['redirect_uri']}?{urllib.parse.urlencode(back)}")])

    def on_token(self, request, _, form):
        asked = self.codes.get(form.get("code"))
        pair = base64.b64encode(f"{self.client}:{self.secret}".encode()).decode()
        known = not self.secret or request.headers.get("Authorization") == f"Basic {pair}"
        challenge = tokens.base64url(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if not known:
            return self.send(request, 401, {"error": "invalid_client"})
        if not asked or challenge != asked.get("code_challenge") or form.get("redirect_uri") != asked["redirect_uri"]:
            return self.send(request, 400, {"error": "invalid_grant", "error_description": "no such code"})
        if not self.reuses_codes:
            del self.codes[form["code"]]
        made = self.claims_of(asked)
        text = self.make(self.edit_claims(made), self.key)
        self.given.append(text)
        self.send(request, 200, self.edit_token_answer(
            {"access_token": "access-" + os.urandom(8).hex(), "token_type": "Bearer", "expires_in": 300, "id_token": text}))

    def claims_of(self, asked):
        made = tokens.claims(self.issuer, self.client, self.person["sub"], nonce=asked.get("nonce"))
        return made | self.person if self.in_token else made

    def on_userinfo(self, request, *_):
        if not (request.headers.get("Authorization") or "").startswith("Bearer access-"):
            return self.send(request, 401, {"error": "invalid_token"})
        self.send(request, 200, self.edit_info(dict(self.person)))

    def on_actions(self, request, query, _):
        """What ACTIONS_ID_TOKEN_REQUEST_URL names in a job of GitHub."""
        if request.headers.get("Authorization", "").lower() != f"bearer {self.actions_bearer}":
            return self.send(request, 401, {"message": "the job has no permission id-token: write"})
        text = tokens.token(tokens.github(self.issuer, query.get("audience")), self.key)
        self.given.append(text)
        self.send(request, 200, {"count": 1, "value": text})
