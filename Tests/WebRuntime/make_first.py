#!/usr/bin/env python3
"""Generates first packs (docs/protocol.md §8).

    make_first.py FOLDER      FOLDER/first.xpk (a few files, among them empty ones) and FOLDER/large.xpk (80 MB in 1,000 files);
                              first.json and large.json: their lists

Needs the package zstandard (Debian: python3-zstandard).
"""
import hashlib, json, pathlib, random, sys

import zstandard

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Conformance/make"))
from world import number  # noqa: E402

folder = pathlib.Path(sys.argv[1])
lots = random.Random(8)
words = [bytes(lots.choices(b"abcdefghijklmnopqrstuvwxyz", k=lots.randrange(2, 10))) for _ in range(3000)]


def text(count):
    out = b" ".join(lots.choices(words, k=count // 6 + 1))
    return out[:count]


def write(name, files, level, window):
    """Writes a pack of these files, whose frame is made a file at a time."""
    listed = b"".join(hashlib.sha256(data).digest()[:16] + number(len(data)) for data in files)
    options = zstandard.ZstdCompressionParameters.from_level(level, window_log=window, write_content_size=False)
    coder = zstandard.ZstdCompressor(compression_params=options).compressobj()
    frame = b"".join([coder.compress(data) for data in files] + [coder.flush()])
    (folder / f"{name}.xpk").write_bytes(b"XPF1" + number(7) + number(len(files)) + number(len(listed)) + listed + frame[4:])
    (folder / f"{name}.json").write_text(json.dumps([{"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)} for data in files]))


write("first", [b"", text(40_000), lots.randbytes(300), b"x", text(200_000), bytes(150_000), text(90_000)], 19, 17)
shared = text(3_000_000)
large = []
for i in range(1000):
    size = 1_500_000 if i % 100 == 0 else 66_000
    at = lots.randrange(len(shared) - size)
    large.append(b"%d " % i + shared[at:at + size - 8_000] + text(4_000) + lots.randbytes(4_000))
write("large", large, 1, 23)
