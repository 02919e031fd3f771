"""A fleet of devices that all take an update at once: what they ask for, without decoding it. Used by update.py."""
import asyncio
import json
import random
import statistics
import time
import urllib.parse
import zlib


class Connection:
    """A kept connection that counts."""

    def __init__(self, port):
        self.port, self.bytes, self.requests = port, 0, 0

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def get(self, path):
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: origin\r\nAccept-Encoding: gzip\r\n\r\n".encode())
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        if " 200 " not in head.split("\r\n")[0]:
            raise RuntimeError(f"{path}: {head}")
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await self.reader.readexactly(int(fields["content-length"]))
        self.bytes += len(body)
        self.requests += 1
        return zlib.decompress(body, 31) if fields.get("content-encoding") == "gzip" else body


def path_of(url):
    return urllib.parse.urlsplit(url).path


def newest(version, more=""):
    return f"/configure.json?app=bench{more}" + (f"&version={version}&patch=1" if version else "")


async def device(port, version, held, takes_packs):
    """Seconds, bytes and requests of an update."""
    start, connection = time.monotonic(), Connection(port)
    await connection.open()
    answer = json.loads(await connection.get(newest(version, "&pack=1" if takes_packs else "")))["data"]
    if "pack" in answer:
        body = await connection.get(path_of(answer["pack"]["download"]))
        if len(body) != answer["pack"]["size"]:
            raise RuntimeError("a pack of another size")
    elif takes_packs:
        raise RuntimeError(f"no pack for version {version}")
    else:
        entries = answer.get("patch") or answer["resourcemap"]
        for url, entry in entries.items():
            if entry and entry["sha256"] not in held:
                held = held | {entry["sha256"]}
                await connection.get(path_of(answer.get("deltas", {}).get(url, entry)["download"]))
    connection.writer.close()
    return time.monotonic() - start, connection.bytes, connection.requests


async def fleet(port, count, takes_packs):
    connection = Connection(port)
    await connection.open()
    last = int(json.loads(await connection.get(newest(None)))["data"]["version"])
    # What each older version holds: the versions' own documents aren't served by an origin, so patches tell it.
    held = {}
    whole = json.loads(await connection.get(newest(None)))["data"]["resourcemap"]
    for version in range(1, last):
        answer = json.loads(await connection.get(newest(version)))["data"]
        changed = answer.get("patch") or answer["resourcemap"]
        bases = {offer["base"] for offer in answer.get("deltas", {}).values()}
        held[version] = {entry["sha256"] for url, entry in whole.items() if url not in changed} | bases
    random.seed(1)
    versions = [random.randrange(1, last) for _ in range(count)]
    return await asyncio.gather(*(device(port, version, held[version], takes_packs) for version in versions))


def run(port, count, takes_packs):
    results = asyncio.run(fleet(port, count, takes_packs))
    seconds = sorted(result[0] for result in results)
    return {
        "median": statistics.median(seconds), "p99": seconds[int(len(seconds) * 0.99)],
        "bytes": sum(result[1] for result in results), "requests": sum(result[2] for result in results)}
