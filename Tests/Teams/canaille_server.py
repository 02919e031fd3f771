"""canaille as a provider for Tests/Teams, with everything in memory.   canaille_server.py SETTINGS (JSON), in its own venv.

SETTINGS: host, port, client, secret, redirect, keys (JWK with private parts: two EC keys with an RSA key between them), people ({login: [name, email, groups]}).
A password is the login. USR1 takes the second EC key for the first, as an operator does who rotates keys."""
import datetime, json, os, signal, sys, threading

from canaille import create_app
from canaille.app import models
from canaille.backends import Backend
from werkzeug.serving import make_server

settings = json.load(open(sys.argv[1]))
issuer = f"http://{settings['host']}:{settings['port']}"
app = create_app({
    "SECRET_KEY": os.urandom(16).hex(), "SERVER_NAME": f"{settings['host']}:{settings['port']}", "PREFERRED_URL_SCHEME": "http",
    # The cookie must be sent where no https is.
    "SESSION_COOKIE_SECURE": False,
    "CANAILLE": {"DATABASE": "memory", "LOGGING": {"version": 1, "disable_existing_loggers": False}, "JAVASCRIPT": False, "HTMX": False,
                 "ACL": {"DEFAULT": {"PERMISSIONS": ["edit_self", "use_oidc"], "READ": ["user_name"], "WRITE": []}}},
    "CANAILLE_OIDC": {"ACTIVE_JWKS": settings["keys"][:2], "REQUIRE_NONCE": True, "TRUSTED_DOMAINS": [settings["trusted"]]},
})
with app.app_context():
    people = {}
    for login, (name, email, groups) in settings["people"].items():
        given, _, family = name.partition(" ")
        people[login] = models.User(user_name=login, given_name=given, family_name=family or name, formatted_name=name,
                                    emails=[email], password=login)
        Backend.instance.save(people[login])
    for group in sorted({one for _, _, groups in settings["people"].values() for one in groups}):
        members = [people[login] for login, (_, _, groups) in settings["people"].items() if group in groups]
        Backend.instance.save(models.Group(display_name=group, members=members))
    for client in [settings["client"], "another-client"]:
        made = models.Client(
            client_id=client, client_secret=settings["secret"], client_name=client, client_uri=settings["redirect"],
            client_id_issued_at=datetime.datetime.now(datetime.timezone.utc), redirect_uris=[settings["redirect"]],
            grant_types=["authorization_code"], response_types=["code"], scope=["openid", "profile", "email", "groups"],
            token_endpoint_auth_method="client_secret_basic", id_token_signed_response_alg="ES256")
        Backend.instance.save(made)
        made.audience = [made]
        Backend.instance.save(made)

# Blocked before there are threads: the kernel hands a signal to any thread that takes it, and only the main one reads it.
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
server = make_server(settings["host"], settings["port"], app, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"canaille answers at {issuer}", flush=True)
while signal.sigwait([signal.SIGUSR1]):
    app.config["CANAILLE_OIDC"]["ACTIVE_JWKS"] = settings["keys"][:0:-1]
