#!/usr/bin/env python3
"""Generates zstd frames with libzstd, some of them damaged, and libzstd's result for each.

    make_frames.py FOLDER [COUNT]      FOLDER/frames.json and FOLDER/frames.bin, from a fixed seed

Needs the package zstandard (Debian: python3-zstandard).
"""
import json, os, pathlib, random, sys

import zstandard

folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000
lots = random.Random(5)
top = pathlib.Path(__file__).resolve().parents[2]
texts = [path.read_bytes() for name in ("public", "docs", "Tests/Browser", "Tests/WebRuntime")
         for path in sorted((top / name).rglob("*")) if path.is_file() and path.stat().st_size > 200]


def content():
    kind = lots.random()
    if kind < 0.05:
        return lots.randbytes(lots.choice((0, 1, 100, 70_000, 300_000)))
    if kind < 0.1:
        return bytes([lots.randrange(256)]) * lots.choice((1, 5, 1000, 400_000))
    if kind < 0.2:
        return bytes(lots.choice(b"abcd") for _ in range(lots.randrange(30_000)))
    text = b"".join(lots.choice(texts) for _ in range(lots.choice((1, 1, 1, 2, 4, 12))))
    start = lots.randrange(max(1, len(text) // 2))
    return text[start:start + lots.choice((10, 300, 5_000, 60_000, 200_000, 2_000_000))]


def edited(data):
    """A copy of a file with random edits."""
    data = bytearray(data)
    for _ in range(lots.randrange(1, 12)):
        at = lots.randrange(len(data) + 1)
        data[at:at + lots.randrange(40)] = lots.randbytes(lots.randrange(40))
    return bytes(data)


def decoded(frame, dictionary):
    options = {"max_window_size": 1 << 27}
    if dictionary:
        options["dict_data"] = zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    decoder = zstandard.ZstdDecompressor(**options).decompressobj()
    try:
        out = decoder.decompress(frame)
    except zstandard.ZstdError:
        return None
    return out if decoder.eof and not decoder.unused_data else None


cases, place = [], 0
with open(folder / "frames.bin", "wb") as file:
    def put(data):
        global place
        file.write(data)
        place += len(data)
        return [place - len(data), len(data)]

    for number in range(count):
        data = content()
        dictionary = edited(data) if data and lots.random() < 0.4 else b""
        level = lots.choice((-5, 1, 3, 5, 9, 12, 15, 19, 22 if len(data) < 100_000 else 19))
        size = max(1, len(data) + len(dictionary))
        options = zstandard.ZstdCompressionParameters.from_level(
            level, source_size=size, write_checksum=lots.random() < 0.5 and number % 4 != 3, write_content_size=lots.random() < 0.7,
            enable_ldm=lots.random() < 0.1)
        extra = {"dict_data": zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)} \
            if dictionary else {}
        compressor = zstandard.ZstdCompressor(compression_params=options, **extra)
        if lots.random() < 0.6:
            frame = compressor.compress(data)
        else:
            writer = compressor.compressobj()
            middle = lots.randrange(len(data) + 1)
            frame = writer.compress(data[:middle]) + writer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) \
                + writer.compress(data[middle:]) + writer.flush()
        # A quarter are damaged; without checksums, which the decoder ignores because callers check the SHA-256.
        if number % 4 == 3:
            frame = bytearray(frame)
            for _ in range(lots.choice((1, 1, 3))):
                frame[lots.randrange(len(frame))] ^= 1 << lots.randrange(8)
            frame = bytes(frame[:lots.randrange(len(frame))] if lots.random() < 0.1 else frame)
        result = decoded(frame, dictionary)
        cases.append({"frame": put(frame), "dictionary": put(dictionary), "damaged": number % 4 == 3,
                      "result": put(result) if result is not None else None})
json.dump(cases, open(folder / "frames.json", "w"))
