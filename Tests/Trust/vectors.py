#!/usr/bin/env python3
"""Writes vectors.json: envelopes that securesystemslib (PyPI) has signed, which our code has to verify.

    Tests/Trust/vectors.py            writes the vectors
    Tests/Trust/vectors.py --check    verifies those that are here with openssl, securesystemslib and Tests/Conformance/trust

securesystemslib is what TUF's Python implementation and in-toto sign with. Needs it, and the program `openssl`.
"""
import base64
import json
import pathlib
import subprocess
import sys
import tempfile

from cryptography.hazmat.primitives import serialization
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "Conformance" / "trust"))
import make  # noqa: E402
import trust  # noqa: E402


def pem_of(spki):
    key = serialization.load_der_public_key(spki)
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def theirs(spki):
    """A key as securesystemslib has it, by our id."""
    return SSlibKey(trust.id_of(spki), "ecdsa", "ecdsa-sha2-nistp256", {"public": pem_of(spki)})


def signed(kind, value, *names):
    """A document in an envelope that securesystemslib has made."""
    envelope = Envelope(trust.canonical(value), trust.TYPES[kind], {})
    for name in names:
        key = make.KEYS[name]
        envelope.sign(CryptoSigner(key.private, theirs(key.spki)))
    return {"document": kind, "envelope": envelope.to_dict(),
            "signers": {make.KEYS[name].id: base64.b64encode(make.KEYS[name].spki).decode() for name in names}}


def cases():
    map_ = make.site()
    return [
        signed("root", make.root(), "root a", "root b"), signed("release", make.release("home", map_), "publisher"),
        signed("release", make.release("activity-618", map_), "publisher", "team", "second"),
        signed("head", make.head(map_), "head", "ci head"), signed("prefetch", make.prefetch([]), "publisher"),
    ]


def by_openssl(spki, der, message):
    """Whether `openssl dgst -sha256 -verify` takes a signature."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "key").write_text(pem_of(spki))
        (folder / "signature").write_bytes(der)
        run = subprocess.run(["openssl", "dgst", "-sha256", "-verify", folder / "key", "-signature", folder / "signature"],
                             input=message, capture_output=True, check=False)
        return run.returncode == 0


def check(envelope, signers, kind):
    """Three implementations have to take each signature of an envelope, and none of them for another payload."""
    keys = {key: base64.b64decode(spki) for key, spki in signers.items()}
    read = trust.read(kind, trust.canonical(envelope))[1]
    assert read.signers(sorted(keys), keys) == sorted(keys), "ours"
    library = Envelope.from_dict(json.loads(json.dumps(envelope)))
    assert len(library.verify([theirs(spki) for spki in keys.values()], len(keys))) == len(keys), "securesystemslib"
    message = trust.message(envelope["payloadType"], base64.b64decode(envelope["payload"]))
    for signature in envelope["signatures"]:
        spki, der = keys[signature["keyid"]], base64.b64decode(signature["sig"])
        assert by_openssl(spki, der, message), "openssl"
        assert not by_openssl(spki, der, message + b" "), "openssl takes another message"
    other = Envelope(library.payload + b" ", library.payload_type, library.signatures)
    try:
        other.verify([theirs(spki) for spki in keys.values()], 1)
    except VerificationError:
        pass
    else:
        raise AssertionError("securesystemslib takes another payload")
    return len(keys)


def main():
    path = HERE / "vectors.json"
    if sys.argv[1:] == ["--check"]:
        vectors = json.loads(path.read_text())
        count = sum(check(case["envelope"], case["signers"], case["document"]) for case in vectors)
        print(f"{len(vectors)} envelopes with {count} signatures: openssl, securesystemslib and trust.py agree")
        return
    path.write_text(json.dumps(cases(), indent=1, sort_keys=True) + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
