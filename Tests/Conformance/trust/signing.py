"""The keys of the vectors and cases, and what they sign. The same bytes get the same signature (RFC 6979), so that files don't change by
themselves; any version of `cryptography` does."""
import base64
import hashlib
import hmac

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

import trust

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def b64(data):
    return base64.b64encode(data).decode()


def point(number):
    return ec.derive_private_key(number, ec.SECP256R1()).public_key()


class Key:
    """A key that is made of its name: for tests alone."""

    def __init__(self, name):
        self.number = int.from_bytes(hashlib.sha256(name.encode()).digest(), "big") % (ORDER - 1) + 1
        self.private = ec.derive_private_key(self.number, ec.SECP256R1())
        self.spki = point(self.number).public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.id = trust.id_of(self.spki)

    def sign(self, message):
        digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
        nonce = self.nonce(digest % ORDER)
        r = point(nonce).public_numbers().x % ORDER
        return encode_dss_signature(r, pow(nonce, -1, ORDER) * (digest + r * self.number) % ORDER)

    def nonce(self, digest):
        """RFC 6979, section 3.2."""
        seed = self.number.to_bytes(32, "big") + digest.to_bytes(32, "big")
        key, value = bytes(32), b"\1" * 32
        for byte in b"\0", b"\1":
            key = hmac.digest(key, value + byte + seed, "sha256")
            value = hmac.digest(key, value, "sha256")
        while True:
            value = hmac.digest(key, value, "sha256")
            if 0 < int.from_bytes(value, "big") < ORDER:
                return int.from_bytes(value, "big")
            key = hmac.digest(key, value + b"\0", "sha256")
            value = hmac.digest(key, value, "sha256")


KEYS = {name: Key(name) for name in ("root a", "root b", "root c", "publisher", "team", "second", "head", "ci head", "new publisher", "new head",
                                     "new root", "thief")}


def ids(*names):
    return sorted(KEYS[name].id for name in names)


def envelope(kind, value, *signers, **edits):
    """A signed document; `edits` replace members of the envelope."""
    payload = value if isinstance(value, bytes) else trust.canonical(value)
    kind = trust.TYPES.get(kind, kind)
    return {"payload": b64(payload), "payloadType": kind, "signatures": [
        {"keyid": KEYS[name].id, "sig": b64(KEYS[name].sign(trust.message(kind, payload)))} for name in signers]} | edits
