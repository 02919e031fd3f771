#!/usr/bin/env python3
"""First packs, and packs that leave out lazy files: an encoder beside the one of world.py, and decoders, from docs/protocol.md.

    packs.py FILE [ANSWER]     what is in a pack of any kind; ANSWER: a whole manifest's answer that a first pack is for

Needs the package zstandard (Debian: python3-zstandard).
"""
import hashlib, json, sys

import zstandard

MAGIC = bytes.fromhex("28b52ffd")
WINDOW = 8 << 20
LARGEST = 2**53 - 1


class Fault(Exception):
    """The bytes aren't what the protocol says."""


def number(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


# The encoder.

def first_pack(version, files, damage=None, window_log=None, sized=True):
    """A first pack of these files, in their order, and for each of them the offset by which all its bytes have come.

    `damage` gets each part's name (head, list, frame, or a file's number: its bytes) and its bytes, and returns its replacement.
    The list and its lengths are made before the files are changed, and the head's before the list is. With `sized` the frame says how
    long its content is.
    """
    change = damage or (lambda part, data: data)
    listed = b"".join(hashlib.sha256(data).digest()[:16] + number(len(data)) for data in files)
    head = change("head", b"XPF1" + number(version) + number(len(files)) + number(len(listed)))
    listed = change("list", listed)
    contents = [change(place, data) for place, data in enumerate(files)]
    size = sum(map(len, contents))
    options = zstandard.ZstdCompressionParameters.from_level(
        19, source_size=size, write_content_size=sized, write_dict_id=False,
        window_log=window_log or min(23, max(10, (size - 1).bit_length())))
    coder = zstandard.ZstdCompressor(compression_params=options).compressobj(*([size] if sized else []))
    frame, ends = b"", []
    for place, data in enumerate(contents):
        # A block ends with each file, so that one that has come can be decoded, whatever follows.
        frame += coder.compress(data)
        frame += coder.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH if place + 1 == len(contents) else zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        ends.append(len(head) + len(listed) + len(frame) - len(MAGIC))
    if not contents:
        frame += coder.flush()
    return head + listed + change("frame", frame[len(MAGIC):]), ends


# Decoders, which know nothing of the encoders.

class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def bytes(self, count):
        if count > len(self.data) - self.at:
            raise Fault("it ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, most=LARGEST):
        value = 0
        for place in range(8):
            byte = self.bytes(1)[0]
            value |= (byte & 127) << 7 * place
            if byte < 128:
                if place and not byte:
                    raise Fault("a number longer than needed")
                if value > most:
                    raise Fault("a number above what it may be")
                return value
        raise Fault("a number of more than 8 bytes")

    def rest(self):
        return self.bytes(len(self.data) - self.at)


def decoded(frame, size, base=b""):
    """What a frame without its magic number stands for: exactly `size` bytes, if that is known."""
    window = max(WINDOW, min(len(base) * 5 // 4, 128 << 20))
    if zstandard.get_frame_parameters(MAGIC + frame).window_size > window:
        raise Fault("a window above what it may be")
    options = {"dict_data": zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)} if base else {}
    decoder = zstandard.ZstdDecompressor(max_window_size=1 << (window - 1).bit_length(), **options).decompressobj()
    try:
        out = decoder.decompress(MAGIC + frame)
    except zstandard.ZstdError as error:
        raise Fault(str(error))
    if not decoder.eof or decoder.unused_data:
        raise Fault("a frame that doesn't end where it should")
    if size is not None and len(out) != size:
        raise Fault(f"{len(out)} bytes, not {size}")
    return out


def read_first_pack(data):
    """The version that a first pack was made for, and its files, each with the beginning of its SHA-256 checked."""
    reader = Reader(data)
    if reader.bytes(4) != b"XPF1":
        raise Fault("no first pack")
    version, count = reader.number(), reader.number(2**20)
    if version < 1 or count < 1:
        raise Fault("no version, or no files")
    listed = Reader(reader.bytes(reader.number(40 * count)))
    items = [(listed.bytes(16), listed.number()) for _ in range(count)]
    if listed.rest():
        raise Fault("the list goes on behind its end")
    if len({digest for digest, _ in items}) != count:
        raise Fault("a file twice")
    size = sum(size for _, size in items)
    if size > LARGEST:
        raise Fault("more bytes than there may be")
    content, files, at = decoded(reader.rest(), size), [], 0
    for digest, size in items:
        files.append(content[at:at + size])
        at += size
        if hashlib.sha256(files[-1]).digest()[:16] != digest:
            raise Fault(f"file {len(files)} has other bytes")
    return version, files


def read_pack_head(reader):
    kind = reader.bytes(4)
    if kind not in (b"XPK1", b"XPK2"):
        raise Fault("no update pack")
    base, version = reader.number(), reader.number()
    if not 0 < base < version:
        raise Fault("versions that don't rise")
    digests = reader.bytes(32).hex(), reader.bytes(32).hex()
    records, plain, coded = reader.number(2**24), reader.number(), reader.number()
    check = reader.bytes(8)
    changes = decoded(reader.bytes(coded), plain)
    if hashlib.sha256(changes).digest()[:8] != check:
        raise Fault("a damaged list")
    return kind, base, version, digests, records, changes


def read_sources(changes, is_second, urls):
    """The columns up to the sources, and the identities of those that are left out: what differs in the second kind of pack.

    `urls`: those of the base, in order.
    """
    reader, touched = Reader(changes), []
    for _ in range(reader.number()):
        touched.append((touched[-1] + 1 if touched else 0) + reader.number())
    if touched and touched[-1] >= len(urls):
        raise Fault("a place behind the base")
    count, partners, expected = reader.number(), [], 0
    for _ in range(count):
        code = reader.number()
        if code:
            expected += (code - 1) // 2 if code % 2 else -(code // 2)
            if not 0 <= expected < len(touched):
                raise Fault("a partner that isn't there")
        partners.append(touched[expected] if code else None)
        expected += code > 0
    starts, ends, middles = ([reader.number(4096) for _ in range(count)] for _ in range(3))
    arrivals = []
    for partner, start, end, middle in zip(partners, starts, ends, middles):
        model = urls[partner] if partner is not None else arrivals[-1] if arrivals else ""
        if start + end > len(model):
            raise Fault("a URL that shares more than there is")
        arrivals.append(model[:start] + reader.bytes(middle).decode("ascii") + model[len(model) - end:])
    if arrivals != sorted(set(arrivals)):
        raise Fault("arrivals out of order")
    sources = list(reader.bytes(count))
    others = [reader.number() if source in (2, 3, 5, 6) else partner for source, partner in zip(sources, partners)]
    identities = [
        {"md5": reader.bytes(16).hex(), "sha256": reader.bytes(32).hex(), "size": reader.number()} if source == 8 and is_second else None
        for source in sources]
    if max(sources, default=0) > (8 if is_second else 7) or is_second != (8 in sources):
        raise Fault("a source that this kind of pack can't have")
    for place, (source, other) in enumerate(zip(sources, others)):
        if source in (0, 1, 7) and other is None or source in (2, 3, 5) and other >= len(urls):
            raise Fault("a source without a file")
        if source == 6 and (other >= place or sources[other] == 8):
            raise Fault("a source that names no earlier file")
    return arrivals, sources, others, identities


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    if data[:4] == b"XPF1":
        version, files = read_first_pack(data)
        print(f"a first pack for version {version}: {len(files)} files, {sum(map(len, files))} bytes in {len(data)}")
        named = {}
        if len(sys.argv) > 2:
            with open(sys.argv[2], encoding="utf-8") as file:
                entries = json.load(file)["data"]["resourcemap"]
            for url, entry in sorted(entries.items()):
                named.setdefault(entry["sha256"], (url, entry))
        for content in files:
            digest = hashlib.sha256(content).hexdigest()
            print(f"  {digest[:32]} {len(content):9} {named.get(digest, ('',))[0]}")
        if named:
            held = {hashlib.sha256(content).hexdigest() for content in files}
            lacking = [(url, entry) for digest, (url, entry) in named.items() if digest not in held]
            print(f"  not in it: {len(lacking)} files, {sum(entry['size'] for _, entry in lacking)} bytes;"
                  f" of these {sum('lazy' in entry for _, entry in lacking)} are lazy")
        return
    kind, base, version, _, records, changes = read_pack_head(Reader(data))
    print(f"a pack {base} -> {version} of the kind {kind.decode()}: {records} records, {len(changes)} bytes of changes, {len(data)} bytes")


if __name__ == "__main__":
    main()
