#!/usr/bin/env python3
"""The networks between devices and an origin: forward proxies on addresses of 127/8, which log what goes through.

networks.py '{"addresses": ["127.1.0.1", …], "hosts": {"origin.test": PORT, …}}'

Each device's proxy (http_proxy) is an address of its own, and its requests reach the servers from that address. So an origin sees one
device at each, and each /24 as one network, without being told by a header. Prints {"port": N}, the same on each address, and then for
each request a line of JSON: when it ended, the address, method, URL, status, bytes of the answer's body, and both bodies if they are
small documents.
"""
import asyncio, json, sys, time
from urllib.parse import urlsplit

told = json.loads(sys.argv[1])
PIECE = 1 << 18


def log(**row):
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


async def head(reader):
    """The first line and the other lines of a head; None at the end of the connection."""
    try:
        text = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = text.decode("latin-1").split("\r\n")[:-2]
    return first, [line.split(": ", 1) for line in lines]


def value(fields, name):
    return next((value for key, value in fields if key.lower() == name), None)


class Upstream:
    """A connection to one server, from one address."""

    def __init__(self):
        self.port = None

    async def connect(self, port, address):
        if self.port != port:
            self.close()
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0), limit=PIECE)
            self.port = port

    def close(self):
        if self.port is not None:
            self.writer.close()
            self.port = None


async def exchange(first, fields, reader, writer, upstream, address):
    method, target, _ = first.split(" ")
    url = urlsplit(target)
    if value(fields, "expect"):
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = await reader.readexactly(int(value(fields, "content-length") or 0))
    path = (url.path or "/") + ("?" + url.query if url.query else "")
    is_poll = url.path == "/configure.json"
    # Answers to polls come without a coding, so that the log has their text.
    kept = [(key, "identity" if is_poll and key.lower() == "accept-encoding" else one) for key, one in fields
            if key.lower() not in ("proxy-connection", "connection", "expect")]
    request = "".join([f"{method} {path} HTTP/1.1\r\n", *(f"{key}: {one}\r\n" for key, one in kept), "\r\n"]).encode("latin-1") + body
    for attempt in (1, 2):
        await upstream.connect(told["hosts"][url.hostname], address)
        upstream.writer.write(request)
        if (answer := await head(upstream.reader)) is not None:
            break
        # A connection that the server has closed meanwhile.
        upstream.close()
    else:
        raise ConnectionError("no answer")
    line, answered = answer
    status = int(line.split(" ")[1])
    writer.write("".join([line + "\r\n", *(f"{key}: {one}\r\n" for key, one in answered), "\r\n"]).encode("latin-1"))
    left = 0 if method == "HEAD" or status in (204, 304) else value(answered, "content-length")
    text, length = b"", 0
    left = None if left is None else int(left)
    while left is None or left:
        piece = await upstream.reader.read(PIECE if left is None else min(left, PIECE))
        if not piece:
            break
        writer.write(piece)
        await writer.drain()
        length += len(piece)
        left = None if left is None else left - len(piece)
        if is_poll and length < 100_000:
            text += piece
    await writer.drain()
    if left is None:
        upstream.close()
    log(at=time.time(), address=address, method=method, url=target, status=status, bytes=length,
        sent=body.decode() if body else None, answer=text.decode() if text and text[:1] == b"{" and len(text) == length else None)
    return left is not None


# The loop itself has weak references alone.
connections = set()


async def serve(reader, writer):
    connections.add(task := asyncio.current_task())
    task.add_done_callback(connections.discard)
    address, upstream = writer.get_extra_info("sockname")[0], Upstream()
    try:
        while request := await head(reader):
            if not await exchange(*request, reader, writer, upstream, address):
                break
    except (OSError, ConnectionError, asyncio.IncompleteReadError) as error:
        # A process that ends closes what it had open.
        log(at=time.time(), address=address, broken=str(error))
    finally:
        upstream.close()
        writer.close()


async def main():
    port, servers = 0, []
    for address in told["addresses"]:
        servers.append(await asyncio.start_server(serve, address, port, limit=PIECE))
        port = servers[0].sockets[0].getsockname()[1]
    print(json.dumps({"port": port}), flush=True)
    # Ends with the process that started it.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
