#!/usr/bin/env python3
"""Generates a large pack over a large manifest, as of a release that changes much of a channel.

    make_pack.py FOLDER      FOLDER/pack.json (the answer, both manifests' digests, the base's entries and files) and FOLDER/pack.xpk;
                             work.json and work.xpk, a small pack that takes much work

Needs the package zstandard (Debian: python3-zstandard).
"""
import base64, json, pathlib, random, sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Conformance/make"))
from world import SITE, World, canonical, pack  # noqa: E402

folder = pathlib.Path(sys.argv[1])
lots = random.Random(21)
words = [bytes(lots.choices(b"abcdefghijklmnopqrstuvwxyz", k=lots.randrange(2, 10))) for _ in range(5000)]


def text(count):
    return b" ".join(lots.choice(words) for _ in range(count))


# 12,000 URLs, a third of them changed, and a script of 8 MB with a small change.
old = {f"{SITE}/assets/{i // 100}/part-{i:05}.js": f"export default {i}".encode() for i in range(12_000)}
large = text(1_300_000)
at = len(large) // 2
new = {url: data + (b";" if i % 3 == 0 else b"") for i, (url, data) in enumerate(old.items())}
old[f"{SITE}/large.js"], new[f"{SITE}/large.js"] = large, large[:at] + text(60_000) + large[at:]

world = World()
world.publish(old)
world.publish(new)
made, _ = pack(world, 1, 2)
bases = {entry["sha256"] for url, entry in world.maps[1].items() if world.maps[2].get(url) != entry}
files = {entry["sha256"]: base64.b64encode(world.data[entry["download"]]).decode() for entry in world.maps[1].values() if entry["sha256"] in bases}
(folder / "pack.xpk").write_bytes(made)
(folder / "pack.json").write_text(json.dumps({
    "answer": {"base": "1", "version": "2", "digest": world.digest(2)}, "digest": world.digest(1), "entries": world.maps[1], "files": files}))

# A small pack that takes much work: 90 files of 6 MB that compress to almost nothing, each over its old version.
zeros = bytes(6_000_000)
before = {f"{SITE}/zeros/{i:02}.bin": zeros + f"{i:02} one".encode() for i in range(90)}
after = {url: data[:-3] + b"two" for url, data in before.items()}
world = World()
world.publish(before)
world.publish(after)
made, _ = pack(world, 1, 2)
(folder / "work.xpk").write_bytes(made)
(folder / "work.json").write_text(json.dumps({
    "answer": {"base": "1", "version": "2", "digest": world.digest(2)}, "digest": world.digest(1), "entries": world.maps[1],
    "ends": {entry["sha256"]: f"{i:02} one" for i, entry in enumerate(world.maps[1][url] for url in before)}}))
