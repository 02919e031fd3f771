"""ID tokens, right and wrong ones: JSON Web Tokens made by python3-cryptography, with nothing checked.   RFC 7515, 7517, 7519"""
import base64, hashlib, hmac, json, os, time

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature


def base64url(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else data.encode()).rstrip(b"=").decode()


def secret_hash(secret):
    """What `POST /auth/trade` wants of a token's secret of 32 bytes, as the origin's tokens have it: SHA-256 of these bytes."""
    return hashlib.sha256(secret).hexdigest()


def number(value, size=None):
    return base64url(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


class Key:
    """A key pair of a provider: kind is RS256, ES256 or EdDSA."""

    def __init__(self, kind="RS256", kid="key-1", bits=2048):
        self.kind, self.kid = kind, kid
        self.private = (rsa.generate_private_key(65537, bits) if kind == "RS256" else ec.generate_private_key(ec.SECP256R1())
                        if kind == "ES256" else ed25519.Ed25519PrivateKey.generate())

    @property
    def public(self):
        """Its JSON Web Key (RFC 7517), without the private part."""
        key, more = self.private.public_key(), {"kid": self.kid, "use": "sig", "alg": self.kind}
        if self.kind == "RS256":
            numbers = key.public_numbers()
            return {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e), **more}
        if self.kind == "ES256":
            numbers = key.public_numbers()
            return {"kty": "EC", "crv": "P-256", "x": number(numbers.x, 32), "y": number(numbers.y, 32), **more}
        raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return {"kty": "OKP", "crv": "Ed25519", "x": base64url(raw), **more}

    @property
    def pem(self):
        return self.private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def sign(self, data):
        if self.kind == "RS256":
            return self.private.sign(data, padding.PKCS1v15(), hashes.SHA256())
        if self.kind == "ES256":
            r, s = decode_dss_signature(self.private.sign(data, ec.ECDSA(hashes.SHA256())))
            return r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return self.private.sign(data)


def token(claims, key, header=None, sign=None):
    """A compact JWS; `header` overrides its members (None leaves one out), `sign` the signature of the bytes."""
    head = {"alg": key.kind, "kid": key.kid, "typ": "JWT"} | (header or {})
    head = {name: value for name, value in head.items() if value is not None}
    body = claims if isinstance(claims, (bytes, str)) else json.dumps(claims)
    data = f"{base64url(json.dumps(head))}.{base64url(body)}".encode()
    return f"{data.decode()}.{base64url((sign or key.sign)(data))}"


def unsigned(claims, key):
    """`alg: none` (RFC 7519 §6.1): what must never be believed."""
    return token(claims, key, {"alg": "none", "kid": None}, lambda data: b"")


def by_public_key(claims, key, secret=None):
    """HS256 with the provider's public key for the secret: what a verifier that trusts the header believes (RFC 8725 §2.1)."""
    return token(claims, key, {"alg": "HS256"}, lambda data: hmac.digest(secret or key.pem, data, "sha256"))


def claims(issuer, audience, subject="u-1", **more):
    """The claims of an ID token that is right; None removes one."""
    now = int(time.time())
    all = {"iss": issuer, "aud": audience, "sub": subject, "iat": now, "exp": now + 300, **more}
    return {name: value for name, value in all.items() if value is not None}


def github(issuer, audience, repository="acme/shop", ref="refs/heads/main", run="7654321", **more):
    """Like the ID tokens of GitHub Actions.   docs.github.com, "OpenID Connect reference" """
    owner = repository.split("/")[0]
    return claims(issuer, audience, f"repo:{repository}:ref:{ref}", jti=os.urandom(8).hex(), repository=repository, ref=ref,
                  repository_owner=owner, run_id=run, run_attempt="1", run_number="77", actor="ana", workflow="Publish",
                  event_name="push", ref_type="branch", sha=os.urandom(20).hex(), runner_environment="github-hosted", **more)


def gitlab(issuer, audience, project="acme/shop", ref="main", job="991", **more):
    """Like the ID tokens of GitLab CI.   docs.gitlab.com, "ID token authentication" """
    return claims(issuer, audience, f"project_path:{project}:ref_type:branch:ref:{ref}", jti=os.urandom(8).hex(), project_path=project,
                  project_id="22", namespace_path=project.split("/")[0], ref=ref, ref_type="branch", ref_protected="true",
                  pipeline_id="4711", job_id=job, user_login="ana", runner_environment="gitlab-hosted", **more)
