"""What scale.sh does in Python: makes folders, and times commits at the client's socket.

  scale.py make FOLDER COUNT
  scale.py commits PORT ROUNDS APP…      XCACHE_TOKEN in the environment
"""
import base64
import gzip
import hashlib
import http.client
import json
import os
import socket
import statistics
import sys
import time


def make(folder, count):
    for number in range(count):
        path = f"{folder}/d{number // 500}"
        if number % 500 == 0:
            os.makedirs(path)
        with open(f"{path}/f{number}.js", "w") as file:
            file.write(f"export default {number};\n")


class Client:
    def __init__(self, port):
        self.port = port
        self.fields = {"Authorization": f"Bearer {os.environ['XCACHE_TOKEN']}"}
        self.connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask(self, method, path, body=None, fields={}):
        self.connection.request(method, path, body, {**self.fields, **fields})
        answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status < 300, (method, path, answer.status, content[:300])
        return content

    def timed_post(self, path, body):
        """The answer, and seconds from the request's last byte to the answer's first."""
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in self.fields.items())
        # All but the last byte first: the time begins when the request is complete.
        connection.sendall((head + "\r\n").encode() + body[:-1])
        time.sleep(0.02)
        connection.sendall(body[-1:])
        begin = time.perf_counter()
        first = connection.recv(1)
        seconds = time.perf_counter() - begin
        rest = [first]
        while part := connection.recv(65536):
            rest.append(part)
        connection.close()
        status, content = b"".join(rest).split(b"\r\n\r\n", 1)
        assert status.startswith(b"HTTP/1.1 201 "), (status, content[:300])
        return json.loads(content), seconds


def commit(client, app, number):
    """One release of one changed file; milliseconds to the acknowledgement, and to each thing after it."""
    data = f"export default 'round {number} {time.time_ns()}';\n".encode()
    sha256, md5 = hashlib.sha256(data).hexdigest(), hashlib.md5(data)
    client.ask("PUT", f"/api/v1/blobs/{sha256}", data, {"Content-MD5": base64.b64encode(md5.digest()).decode()})
    channel = f"/api/v1/apps/{app}/channels/online"
    version = json.loads(client.ask("GET", channel))["version"]
    content = {"ctype": "application/javascript;charset=UTF-8", "md5": md5.hexdigest(), "sha256": sha256, "size": len(data)}
    bundle = {"base": version, "bundle": "main", "remove": [], "set": {"https://m.example.com/scale/d0/f1.js": content}}
    body = json.dumps({"bundles": [bundle], "message": "", "now": True}).encode()
    answer, seconds = client.timed_post(f"{channel}/releases", body)
    assert answer["version"] == str(int(version) + 1), answer
    acknowledged = time.perf_counter()
    client.ask("GET", f"/configure.json?app={app}&version={version}&patch=1")
    patched = time.perf_counter()
    # The whole manifest is coded after the acknowledgement; whoever asks meanwhile is answered when it is there.
    whole = client.ask("GET", f"/configure.json?app={app}", fields={"Accept-Encoding": "gzip"})
    coded = time.perf_counter()
    if whole[:2] == b"\x1f\x8b":
        whole = gzip.decompress(whole)
    assert json.loads(whole)["data"]["version"] == answer["version"]
    return [seconds * 1e3, (patched - acknowledged) * 1e3, (coded - acknowledged) * 1e3]


def commits(port, rounds, apps):
    client = Client(port)
    times = {app: [] for app in apps}
    for number in range(rounds):
        for app in apps:
            times[app].append(commit(client, app, number))
    for app in apps:
        acknowledged, patch, coded = zip(*times[app])
        print(f"{app}\tacknowledged {statistics.median(acknowledged):.1f} ms in the median of {rounds}, "
              f"{min(acknowledged):.1f} to {max(acknowledged):.1f}; then the patch within "
              f"{statistics.median(patch):.1f} ms, the whole manifest, coded, within {statistics.median(coded):.0f} ms")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
    else:
        commits(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
