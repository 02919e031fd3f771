"""An OpenID Connect provider of a few lines, for the tests of the documentation: it believes everybody, and signs by openssl (RS256).

What it makes for a sign-in is right; Tests/Teams has real providers, and one that lies.
"""
import base64
import http.client
import http.server
import json
import pathlib
import subprocess
import threading
import time
import urllib.parse


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Provider:
    """`issuer` is its URL; `sign_in(origin, name, groups)` signs somebody in, and gives the session's text."""

    def __init__(self, folder):
        self.key = pathlib.Path(folder) / "provider.key"
        subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True, capture_output=True, text=True).stdout
        self.jwk = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one", "e": "AQAB",
                    "n": base64url(bytes.fromhex(modulus.strip().partition("=")[2]))}
        outer, self.codes = self, {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, document):
                text = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                self.answer({"keys": [outer.jwk]} if self.path == "/keys" else {
                    "issuer": outer.issuer, "authorization_endpoint": outer.issuer + "/authorize", "token_endpoint": outer.issuer + "/token",
                    "jwks_uri": outer.issuer + "/keys", "response_types_supported": ["code"], "subject_types_supported": ["public"],
                    "id_token_signing_alg_values_supported": ["RS256"], "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"]})

            def do_POST(self):
                form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self.answer({"token_type": "Bearer", "access_token": "unused", "expires_in": 300,
                             "id_token": outer.signed(outer.codes.pop(form["code"][0]))})

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def signed(self, claims):
        head = base64url(json.dumps({"alg": "RS256", "kid": "one", "typ": "JWT"}).encode())
        text = f"{head}.{base64url(json.dumps(claims).encode())}"
        made = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text.encode(), check=True, capture_output=True).stdout
        return f"{text}.{base64url(made)}"

    def sign_in(self, origin, name, groups):
        def get(path, cookie=None):
            connection = http.client.HTTPConnection(origin.url[7:], timeout=30)
            connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
            answer = connection.getresponse()
            text = answer.read().decode()
            cookies = dict(line.partition(";")[0].split("=", 1) for line in answer.headers.get_all("Set-Cookie") or [])
            if answer.status not in (302, 303):
                raise SystemExit(f"{path.partition('?')[0]}: {answer.status} {text[:500]}")
            return answer.headers["Location"], cookies
        location, cookies = get("/auth/login")
        asked = {key: values[0] for key, values in urllib.parse.parse_qs(urllib.parse.urlsplit(location).query).items()}
        now = int(time.time())
        self.codes["code-of-" + name] = {
            "iss": self.issuer, "aud": asked["client_id"], "sub": name, "iat": now, "exp": now + 300, "nonce": asked["nonce"],
            "preferred_username": name, "groups": groups}
        query = urllib.parse.urlencode({"code": "code-of-" + name, "state": asked["state"]})
        _, cookies = get(f"/auth/callback?{query}", "; ".join(f"{name}={value}" for name, value in cookies.items()))
        return cookies["__Host-xcache"]
