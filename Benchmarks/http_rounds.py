"""What http.sh does when both servers run: alternating rounds, medians, and the bars.

  http_rounds.py XCACHE_PID NGINX_PID FOLDER ROUNDS SECONDS THREADS BARS
"""
import os
import statistics
import sys
import time

from http_servers import cpu, load, wrk


def measure(entry, server, pid, seconds, threads):
    before = cpu(pid)
    requests, rate, p50, p99 = wrk(entry, server, seconds, threads)
    # A thread's last slice is counted when it sleeps.
    time.sleep(0.05)
    return {"cpu": (cpu(pid) - before) / 1e3 / requests, "rate": rate, "p50": p50, "p99": p99, "requests": requests}


def rounds(table, pids, count, seconds, threads):
    """Per case and server the figures of each round. A server that two cases ask the same is asked for each, so that
    the two figures of a comparison are seconds apart."""
    figures = [{"xcache": [], "nginx": []} for _ in table]
    for number in range(count):
        order = ("xcache", "nginx") if number % 2 == 0 else ("nginx", "xcache")
        for entry, of_case in zip(table, figures):
            for server in order:
                of_case[server].append(measure(entry, server, pids[server], seconds, threads))
    return figures


def spread(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}}–{max(values):{form}})"


def report(entry, of_case):
    """Prints a case; gives the median over the rounds of xcache's CPU per request in nginx's."""
    print(f"{entry['name']} ({entry['bytes']} B, {entry['connections']} connections)")
    for server in ("xcache", "nginx"):
        column = lambda key: [figure[key] for figure in of_case[server]]
        print(f"  {server:7} CPU {spread(column('cpu'), '.2f')} µs  {spread(column('rate'), '.0f')} req/s  "
              f"p50 {spread(column('p50'), '.0f')} µs  p99 {spread(column('p99'), '.0f')} µs")
    ratios = [a["cpu"] / b["cpu"] for a, b in zip(of_case["xcache"], of_case["nginx"])]
    bar = f"bar {entry['bar']:.2f}" if entry["bar"] else "no bar"
    print(f"  CPU per request, xcache/nginx: {spread(ratios, '.3f')}, {bar}", flush=True)
    return statistics.median(ratios)


def main():
    xcache, nginx, work, count, seconds, threads, strictness = sys.argv[1:]
    pids = {"xcache": int(xcache), "nginx": int(nginx)}
    table = load(work)
    for entry in table:
        entry["bar"] = entry["bar"] and entry["bar"] * float(strictness)
        for server, pid in pids.items():
            measure(entry, server, pid, 1, int(threads))
    cache = os.environ.get("OPEN_FILE_CACHE", "off")
    print(f"{threads} thread(s) each, nginx's open_file_cache {cache}; {count} alternating rounds of {seconds} s, "
          f"median (range); load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    figures = rounds(table, pids, int(count), int(seconds), int(threads))
    missed = []
    for entry, of_case in zip(table, figures):
        ratio = report(entry, of_case)
        if entry["bar"] and ratio > entry["bar"]:
            missed.append(f"{entry['name']}: {ratio:.3f}, bar {entry['bar']:.2f}")
    if missed:
        print("FAILED, over the bar:\n  " + "\n  ".join(missed))
    sys.exit(1 if missed else 0)


main()
