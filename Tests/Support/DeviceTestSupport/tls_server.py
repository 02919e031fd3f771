#!/usr/bin/env python3
"""A TLS server of several names, for the tests of who is reached where: tls_server.py FOLDER

FOLDER gets authority.pem (to be trusted), and `port` once it listens, on one port of several addresses:
  127.0.0.1  good.test, second.test and dns.test with certificates of their own, wrong.test with that of second.test,
             expired.test with one that ran out
  127.0.0.2  the same
  127.0.0.3  somebody else: certificates for good.test that an unknown authority signed
  127.0.0.5  takes connections and never says a word
  127.0.0.6  lets connections wait for ever, since its queue is full
Each answer tells the address, SNI and Host that were used. dns.test is DNS over HTTPS, with FOLDER/zone.json as its zone
({"good.test": ["127.0.0.1"]}); "hang" in it has the service answer nothing. It ends when its standard input does.
"""
import base64, http.server, ipaddress, json, os, socket, ssl, struct, subprocess, sys, threading, time
import urllib.parse

folder = sys.argv[1]


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def authority(name):
    base = f"{folder}/{name}"
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-days", "2",
            "-keyout", f"{base}.key", "-out", f"{base}.pem")
    os.makedirs(f"{base}.ca", exist_ok=True)
    open(f"{base}.ca/index", "w").close()
    with open(f"{base}.cnf", "w") as file:
        file.write(f"""[ca]
default_ca = own
[own]
database = {base}.ca/index
new_certs_dir = {base}.ca
certificate = {base}.pem
private_key = {base}.key
default_md = sha256
rand_serial = yes
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
""")


def leaf(issuer, host, start, end):
    base = f"{folder}/{issuer}-{host}"
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={host}", "-addext",
            f"subjectAltName=DNS:{host}", "-keyout", f"{base}.key", "-out", f"{base}.csr")
    openssl("ca", "-batch", "-config", f"{folder}/{issuer}.cnf", "-startdate", start, "-enddate", end,
            "-in", f"{base}.csr", "-out", f"{base}.pem", "-notext")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{base}.pem", f"{base}.key")
    context.set_alpn_protocols(["http/1.1"])
    return context


authority("authority")
authority("stranger")
year = time.gmtime().tm_year
now = (f"{year - 1}0101000000Z", f"{year + 2}0101000000Z")
good = {host: leaf("authority", host, *now) for host in ["good.test", "second.test", "dns.test"]}
good["wrong.test"] = good["second.test"]
good["expired.test"] = leaf("authority", "expired.test", "20190101000000Z", "20200101000000Z")
bad = {"good.test": leaf("stranger", "good.test", *now)}


def dns_answer(query):
    with open(f"{folder}/zone.json") as file:
        zone = json.load(file)
    if "hang" in zone:
        time.sleep(60)
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode().lower())
        at += 1 + query[at]
    kind = struct.unpack(">H", query[at + 1:at + 3])[0]
    question = query[12:at + 5]
    addresses = [ipaddress.ip_address(text) for text in zone.get(".".join(labels), [])]
    records = [a.packed for a in addresses if (a.version == 4) == (kind == 1)]
    code = 0 if addresses else 3
    # The name is an alias of one beside it, so that a client has to follow.
    alias = b"\x05alias\xc0\x0c"
    body = b""
    if records:
        body += b"\xc0\x0c" + struct.pack(">HHIH", 5, 1, 300, len(alias)) + alias
    for record in records:
        body += alias + struct.pack(">HHIH", kind, 1, 60, len(record)) + record
    count = len(records) + (1 if records else 0)
    return struct.pack(">HHHHHH", 0, 0x8180 | code, 1, count, 0, 0) + question + body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        sni = getattr(self.connection, "name", None)
        kind = "text/plain"
        if sni == "dns.test":
            text = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query)).get("dns", "")
            body = dns_answer(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            kind = "application/dns-message"
        else:
            host = self.headers.get("Host", "").split(":")[0]
            body = f"{self.connection.getsockname()[0]} {sni} {host}".encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def serve(listener, contexts):
    default = next(iter(contexts.values()))

    def choose(connection, name, _):
        connection.name = name
        connection.context = contexts.get(name, default)

    default.sni_callback = choose

    def one(connection):
        try:
            connection = default.wrap_socket(connection, server_side=True)
            Handler(connection, connection.getpeername(), None)
        except (OSError, ValueError):
            # Gone, or there is no zone: the connection breaks.
            pass
        finally:
            connection.close()

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=one, args=(connection,), daemon=True).start()


def listeners():
    while True:
        sockets = []
        port = 0
        try:
            for address in ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.5", "127.0.0.6"]:
                sockets.append(socket.create_server((address, port), backlog=0 if address == "127.0.0.6" else 64))
                port = sockets[0].getsockname()[1]
            return sockets, port
        except OSError:
            for one in sockets:
                one.close()


sockets, port = listeners()
# listen(2): with a backlog of 0 there is room for one connection; the next ones get no answer.
waiting = [socket.socket() for _ in range(2)]
for one in waiting:
    one.setblocking(False)
    one.connect_ex(("127.0.0.6", port))
for listener, contexts in zip(sockets, [good, good, bad]):
    threading.Thread(target=serve, args=(listener, contexts), daemon=True).start()
with open(f"{folder}/port.new", "w") as file:
    file.write(str(port))
os.rename(f"{folder}/port.new", f"{folder}/port")
sys.stdin.read()
os._exit(0)
