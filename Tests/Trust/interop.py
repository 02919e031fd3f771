#!/usr/bin/env python3
"""Other programs and ours sign and verify the same roots:   Tests/Trust/interop.py XCACHE

`xcache trust sign` signs by a key's file, by `openssl pkeyutl`, by `openssl dgst`, and by a token of SoftHSM2 over PKCS #11; what it
writes is verified by `openssl dgst -verify` and by securesystemslib. Roots that securesystemslib has signed count for xcache. Needs
no server.
"""
import base64
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from cryptography.hazmat.primitives import serialization

import vectors
from vectors import make, trust

PASSPHRASE = "correct horse"
PIN = "1234"


class Bench:
    """A folder with keys, and xcache."""

    def __init__(self, xcache, folder):
        self.xcache, self.folder = os.path.abspath(xcache), pathlib.Path(folder)
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": folder, "XCACHE_SIGN_PASSPHRASE": PASSPHRASE, "PIN": PIN,
                            "SOFTHSM2_CONF": f"{folder}/softhsm2.conf"}
        self.count = 0

    def run(self, *words, code=0, **more):
        run = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, check=False, **more)
        assert run.returncode == code, f"{words}: {run.returncode}, {run.stdout.decode()}{run.stderr.decode()}"
        return run

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        path.chmod(0o600)
        return name

    def sign(self, root, *words, code=0):
        """What `trust sign` makes of a root: the document that it prints, and the envelope."""
        run = self.run(self.xcache, "trust", "sign", root, "--json", *words, code=code)
        return json.loads(run.stdout), json.loads((self.folder / root).read_bytes())

    def verify(self, envelope, *spkis):
        """Each of these keys has to have signed, for all implementations."""
        self.count += vectors.check(envelope, {trust.id_of(spki): base64.b64encode(spki).decode() for spki in spkis}, "root")


def root(*spkis):
    """The first root of an app, whose root keys these are."""
    keys = {trust.id_of(spki): base64.b64encode(spki).decode() for spki in spkis}
    other = make.KEYS
    for name in ("publisher", "head"):
        keys[other[name].id] = base64.b64encode(other[name].spki).decode()
    return {"app": "shop", "heads": [other["head"].id], "keys": keys, "number": "1", "prefetch": [],
            "releases": [{"bundles": ["*"], "channels": ["*"], "keys": [other["publisher"].id], "prefixes": ["*"], "threshold": 1}],
            "roots": {"keys": sorted(trust.id_of(spki) for spki in spkis), "threshold": len(spkis)}}


def unsigned(bench, name, *spkis):
    bench.write(name, trust.canonical(make.envelope("root", root(*spkis))))
    return name


def pem(key, passphrase=None):
    sealed = serialization.BestAvailableEncryption(passphrase.encode()) if passphrase else serialization.NoEncryption()
    return key.private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, sealed)


def files(bench):
    """Key files of others: with a passphrase, and without."""
    one, two = make.KEYS["root a"], make.KEYS["root b"]
    bench.write("one.key", pem(one, PASSPHRASE))
    bench.write("two.key", pem(two))
    said, envelope = bench.sign(unsigned(bench, "root.json", one.spki, two.spki), "--key", "one.key", "--key", "two.key")
    assert said["complete"] and said["changed"], said
    bench.verify(envelope, one.spki, two.spki)
    # Signed by openssl's own key file, in the older form.
    bench.run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "ec.key")
    bench.folder.joinpath("ec.key").chmod(0o600)
    spki = bench.run("openssl", "pkey", "-in", "ec.key", "-pubout", "-outform", "DER").stdout
    said, envelope = bench.sign(unsigned(bench, "ec.json", spki), "--key", "ec.key")
    bench.verify(envelope, spki)


def programs(bench):
    """Programs of openssl on standard input and output."""
    key = make.KEYS["root a"]
    bench.write("one.key", pem(key))
    bench.write("one.pem", vectors.pem_of(key.spki).encode())
    for number, command in enumerate((
            "openssl pkeyutl -sign -inkey one.key -rawin -digest sha256", "openssl dgst -sha256 -sign one.key",
            "openssl dgst -sha256 -binary | openssl pkeyutl -sign -inkey one.key -pkeyopt digest:sha256")):
        name = unsigned(bench, f"program-{number}.json", key.spki)
        said, envelope = bench.sign(name, "--sign-with", command, "--public-key", "one.pem")
        assert said["complete"], said
        bench.verify(envelope, key.spki)
    name = unsigned(bench, "wrong.json", key.spki)
    for command in ("openssl dgst -sha384 -sign one.key", "false", "echo hello"):
        said, envelope = bench.sign(name, "--sign-with", command, "--public-key", "one.pem", code=1)
        assert said["code"] == "signing" and not envelope["signatures"], said


def tokens(bench):
    """A key that never leaves its token: SoftHSM2, over PKCS #11."""
    module = next(iter(glob.glob("/usr/lib/softhsm/libsofthsm2.so") + glob.glob("/usr/lib/*/softhsm/libsofthsm2.so")))
    bench.folder.joinpath("tokens").mkdir()
    bench.write("softhsm2.conf", f"directories.tokendir = {bench.folder}/tokens\nobjectstore.backend = file\n".encode())
    bench.run("softhsm2-util", "--init-token", "--free", "--label", "xcache", "--pin", PIN, "--so-pin", PIN)
    tool = ["pkcs11-tool", "--module", module]
    bench.run(*tool, "--login", "--pin", "env:PIN", "--keypairgen", "--key-type", "EC:prime256v1", "--label", "root", "--id", "01")
    bench.run(*tool, "--read-object", "--type", "pubkey", "--label", "root", "-o", "token.der")
    spki = bench.folder.joinpath("token.der").read_bytes()
    # This token has no mechanism that hashes: openssl does it.
    command = (f"openssl dgst -sha256 -binary | pkcs11-tool --module {module} --login --pin env:PIN --sign --mechanism ECDSA "
               "--signature-format openssl --label root")
    said, envelope = bench.sign(unsigned(bench, "token.json", spki), "--sign-with", command, "--public-key", "token.der")
    assert said["complete"], said
    bench.verify(envelope, spki)
    raw = command.replace(" --signature-format openssl", "")
    said, _ = bench.sign(unsigned(bench, "raw.json", spki), "--sign-with", raw, "--public-key", "token.der", code=1)
    assert "DER" in said["detail"], said


def library(bench):
    """What securesystemslib has signed counts for xcache: it signs nothing again."""
    one, two = make.KEYS["root a"], make.KEYS["root b"]
    made = vectors.signed("root", root(one.spki, two.spki), "root a", "root b")
    bench.write("theirs.json", json.dumps(made["envelope"]).encode())
    bench.write("one.key", pem(one))
    said, _ = bench.sign("theirs.json", "--key", "one.key")
    assert said["complete"] and not said["changed"], said
    half = vectors.signed("root", root(one.spki, two.spki), "root b")
    bench.write("half.json", json.dumps(half["envelope"]).encode())
    said, envelope = bench.sign("half.json", "--key", "one.key")
    assert said["complete"] and said["changed"], said
    bench.verify(envelope, one.spki, two.spki)
    bench.count += 1


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], folder)
        for part in (files, programs, tokens, library):
            before = bench.count
            part(bench)
            print(f"{part.__name__}: {bench.count - before} signatures, verified by openssl, securesystemslib and trust.py")


if __name__ == "__main__":
    main()
