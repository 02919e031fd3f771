#!/usr/bin/env python3
"""names.py BENCH, in a mount and network namespace of its own: see names.sh."""
import json, os, socket, struct, subprocess, sys, tempfile, threading, time

bench = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
folder = tempfile.mkdtemp(prefix="xcache-names-")
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
conf = f"{folder}/resolv.conf"
open(conf, "w").write("nameserver 127.0.0.1\n")
subprocess.run(["mount", "--bind", conf, "/etc/resolv.conf"], check=True)
# The system's DNS server: what it says is one of "fine", "lies", "hangs", "down".
mode = {"system": "fine"}
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))


def answer(query):
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]])
        at += 1 + query[at]
    kind = struct.unpack(">H", query[at + 1:at + 3])[0]
    question = query[12:at + 5]
    if mode["system"] == "down":
        return query[:2] + struct.pack(">HHHHH", 0x8182, 1, 0, 0, 0) + question
    address = "127.0.0.3" if mode["system"] == "lies" else "127.0.0.1"
    record = b""
    if kind == 1:
        record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(address)
    return query[:2] + struct.pack(">HHHHH", 0x8180, 1, 1 if record else 0, 0, 0) + question + record


def serve():
    while True:
        query, peer = server.recvfrom(1_500)
        if mode["system"] != "hangs":
            server.sendto(answer(query), peer)


threading.Thread(target=serve, daemon=True).start()
tls = subprocess.Popen([sys.executable, f"{here}/../Tests/Support/DeviceTestSupport/tls_server.py", folder],
                       stdin=subprocess.PIPE)
while not os.path.exists(f"{folder}/port"):
    time.sleep(0.05)
port = open(f"{folder}/port").read()
print("system   service  client           first ms    second ms")
for system in ["fine", "lies", "hangs", "down"]:
    for service in ["fine", "hangs", "down"]:
        mode["system"] = system
        zone = {"fine": {"good.test": ["127.0.0.1"]}, "hangs": {"hang": []}, "down": None}[service]
        if zone is None:
            # Not a zone at all: the service breaks the connection.
            open(f"{folder}/zone.json", "w").write("")
        else:
            open(f"{folder}/zone.json", "w").write(json.dumps(zone))
        lines = subprocess.run([bench, "names", "good.test", port, f"{folder}/authority.pem"],
                               stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        for line in lines:
            name, first, second = line.split("\t")
            print(f"{system:8} {service:8} {name:14} {first:>12} {second:>12}")
        sys.stdout.flush()
tls.stdin.close()
tls.wait()
