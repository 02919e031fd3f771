#!/usr/bin/env python3
"""What a cold large file costs, and whom: cold.py XCACHE [OTHER]

60 clients ask for 100 bytes of a 15 MB script that nobody asked for before, and one for a file of 3 KB. Then, after a restart,
four ask for a range in the middle of a file of 256 MB, and one for a file of 3 KB. With a second binary, both are measured
in turn, three times each (ROUNDS=N); times are medians, in milliseconds.
"""
import http.client, json, os, random, shutil, statistics, subprocess, sys, tempfile, threading, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Tests", "Fairness"))
from origin import Origin

ROUNDS = int(os.environ.get("ROUNDS", 3))


def get(port, path, fields):
    """The status, the body, and the milliseconds to the first byte of the head and to the end."""
    begin = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", path, headers=fields)
    answer = connection.getresponse()
    first = time.monotonic()
    body = answer.read()
    connection.close()
    return answer.status, body, (first - begin) * 1000, (time.monotonic() - begin) * 1000


def cpu(origin):
    fields = open(f"/proc/{origin.process.pid}/stat").read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 10


def crowd(origin, requests, small):
    """Sends all requests at once and, 50 ms later, that for the small file; waits until the server is idle."""
    found, before = [], cpu(origin)
    threads = [threading.Thread(target=lambda r=r: found.append(get(origin.port, *r))) for r in requests]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    status, body, _, small_took = get(origin.port, small, {})
    assert status == 200 and len(body) > 3000
    for thread in threads:
        thread.join()
    assert all(status == 206 for status, *_ in found), [status for status, *_ in found]
    while True:
        used = cpu(origin)
        time.sleep(1.5)
        if cpu(origin) - used <= 20:
            break
    return {"first byte": statistics.median(first for _, _, first, _ in found),
            "last byte": max(end for *_, end in found), "small file": small_took, "CPU": cpu(origin) - before}


def measure(xcache):
    work = tempfile.mkdtemp(prefix="xcache-cold-")
    origin = None
    try:
        origin, dice = Origin(xcache, work), random.Random(36)
        os.mkdir(work + "/site")
        with open(work + "/site/large.js", "w") as file:
            for line in range(420_000):
                file.write(f"call({dice.randrange(10**9)}, 'line {line}')\n")
        for name in ("a", "b"):
            with open(f"{work}/site/{name}.js", "w") as file:
                file.write("// " + dice.randbytes(1_500).hex())
        with open(work + "/site/film.mp4", "wb") as file:
            for _ in range(256):
                file.write(dice.randbytes(1 << 20))
        origin.publish("shop", work + "/site")
        entries = json.loads(origin.ask("GET", "/configure.json?app=shop")[1])["data"]["resourcemap"]
        path = {url.rsplit("/", 1)[1]: "/" + entry["download"].split("/", 3)[3] for url, entry in entries.items()}
        codings = ("gzip", "zstd", "gzip, zstd, br")
        script = crowd(origin, [
            (path["large.js"], {"Range": "bytes=0-99", "Accept-Encoding": codings[n % 3]}) for n in range(60)], path["a.js"])
        origin.end()
        # What a start reads comes from the disk, as after a reboot.
        subprocess.run(["sync"], check=True)
        for root, _, names in os.walk(origin.data):
            for name in names:
                descriptor = os.open(f"{root}/{name}", os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(descriptor)
        origin.start()
        film = crowd(origin, [(path["film.mp4"], {"Range": f"bytes={n}-{n + 999}"}) for n in
                              (100_000_000, 130_000_000, 160_000_000, 190_000_000)], path["b.js"])
        return {"15 MB script, 60 clients": script, "256 MB after a restart, 4 ranges": film}
    finally:
        if origin and origin.process.poll() is None:
            origin.end()
        shutil.rmtree(work, ignore_errors=True)


binaries = [os.path.abspath(path) for path in sys.argv[1:3]]
results = {binary: [] for binary in binaries}
for _ in range(ROUNDS):
    for binary in binaries:
        results[binary].append(measure(binary))
for binary in binaries:
    version = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout.strip()
    print(f"{binary} ({version})")
    for what in results[binary][0]:
        medians = {key: statistics.median(result[what][key] for result in results[binary]) for key in results[binary][0][what]}
        print(f"  {what:34}" + "".join(f"{key} {value:8.0f}   " for key, value in medians.items()))
