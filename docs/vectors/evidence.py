#!/usr/bin/env python3
"""The evidence of rollouts, to be read alongside docs/evidence.md. Writes evidence.json: cases by hand, and random ones. With --check it
compares the file instead."""
import json
import math
import pathlib
import random
import sys
from decimal import Decimal, localcontext

HERE = pathlib.Path(__file__).resolve().parent
LEAST = 20
ALTERNATIVES = 8


def arm(bucket, share):
    """The arm of a bucket, from 0 to 9,999."""
    if bucket < share:
        return "candidate"
    return "control" if bucket >= 10_000 - min(share, 10_000 - share) else None


def limit(counts, share):
    """The most that one of the counts weighs: the largest c with c = share · sum of min(count, c), or 1."""
    part, counts = share / 10_000, sorted(counts)
    if counts and counts[-1] <= part * sum(counts):
        # None is cut.
        return max(1.0, part * sum(counts))
    for cut in range(1, len(counts)):
        # The `cut` largest are cut to c, the others aren't: c = part · (cut · c + their sum).
        rest = counts[:-cut]
        if part * cut < 1 and rest[-1] <= (c := part * sum(rest) / (1 - part * cut)):
            return max(1.0, c)
    return 1.0


def counted(rows, share):
    """Rows (hour, arm, network, opened, failed) as hours: (hour, opened and failed of the candidate, the same of control); and how many
    openings were reported, how many count, and from how many networks the others came, on the day with the most."""
    def weights(index, time):
        sums = {}
        for row in rows:
            of = sums.setdefault((row[0] // time, row[1]), {})
            of[row[2]] = of.get(row[2], 0) + row[index]
        limits = {key: limit(list(of.values()), share) for key, of in sums.items()}
        return lambda row: min(1.0, limits[row[0] // time, row[1]] / max(1, sums[row[0] // time, row[1]][row[2]]))
    opened, failed = weights(3, 1), weights(4, 24)
    hours, cut = {}, {}
    for row in rows:
        if opened(row) < 1:
            cut.setdefault(row[0] // 24, set()).add(row[2])
        hour = hours.setdefault(row[0], [row[0], 0.0, 0.0, 0.0, 0.0])
        at = 1 if row[1] == "candidate" else 3
        hour[at] += row[3] * opened(row)
        hour[at + 1] += row[4] * failed(row)
    openings = [sum(row[3] for row in rows), sum(row[3] * opened(row) for row in rows), max(map(len, cut.values()), default=0)]
    return [hours[hour] for hour in sorted(hours)], openings


def blocks(hours):
    found, sums = [], None
    for hour in sorted(hours):
        sums = [a + b for a, b in zip(sums, hour[1:])] if sums else hour[1:]
        if min(sums[0], sums[2]) >= LEAST:
            found.append(sums)
            sums = None
    return found + [sums] if sums else found


def log_e(hours, ratio):
    """The natural logarithm of the e-value."""
    bets = []
    for index in range(ALTERNATIVES):
        u = (2 * index + 1) / (2 * ALTERNATIVES)
        alternative, bet = (ratio + u) / (1 - u), 0.0
        for opened, failed, control_opened, control_failed in blocks(hours):
            if opened == 0 or control_opened == 0:
                continue
            odds, odds0 = alternative * opened / control_opened, ratio * opened / control_opened
            # The probabilities that a failure is the candidate's: odds / (1 + odds); and that it is control's: 1 / (1 + odds).
            if failed:
                bet += failed * (math.log(odds / odds0) - math.log((1 + odds) / (1 + odds0)))
            bet -= control_failed * math.log((1 + odds) / (1 + odds0))
        bets.append(bet)
    top = max(bets)
    return top + math.log(math.fsum(math.exp(bet - top) for bet in bets) / ALTERNATIVES)


def log_gamma(x):
    """By Stirling's series, from 40 on, where its terms below have 30 digits."""
    if x < 40:
        return log_gamma(x + 1) - x.ln()
    bernoulli = ["1/6", "-1/30", "1/42", "-1/30", "5/66", "-691/2730", "7/6", "-3617/510", "43867/798", "-174611/330"]
    series = Decimal(0)
    for index, number in enumerate(bernoulli, 1):
        over, under = map(Decimal, number.split("/"))
        series += over / under / (2 * index * (2 * index - 1)) / x ** (2 * index - 1)
    return (x - HALF) * x.ln() - x + (2 * PI).ln() / 2 + series


HALF, PI = Decimal("0.5"), Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


def interval(opened, failed):
    """The rates p at which a bet against p, spread over all rates with the weight of Beta(1/2, 1/2), is worth less than 20, between
    which the true one is with 95 % at any look."""
    with localcontext() as context:
        context.prec = 60
        n = Decimal(opened)
        k = min(Decimal(failed), n)
        log_beta = log_gamma(k + HALF) + log_gamma(n - k + HALF) - log_gamma(n + 1) - PI.ln()

        def inside(p):
            likelihood = (k * p.ln() if k else 0) + ((n - k) * (1 - p).ln() if n - k else 0)
            return log_beta - likelihood < Decimal(20).ln()

        def end(out, within):
            for _ in range(130):
                middle = (out + within) / 2
                out, within = (out, middle) if inside(middle) else (middle, within)
            return within
        rate = k / n
        low, high = end(Decimal(0), rate) if k else rate, end(Decimal(1), rate) if n - k else rate
        return [float(low), float(rate), float(high)]


def intervals():
    sums = [(1, 0), (1, 1), (2, 1), (10, 0), (10, 10), (100, 0), (100, 1), (100, 50), (100, 99), (800, 40), (810, 2), (2_000, 4), (10_000, 20),
            (1_000_000, 2_000), (9.5, 0.25), (0.001, 0), (0.001, 0.001), (0.5, 0.25), (1e-9, 1e-10), (188.42105, 12.75),
            # Openings and failures are capped apart: there may be more of the latter.
            (3, 4), (0.25, 7),
            # Large ones.
            (2**53, 0), (2**53, 1), (2**53, 2**52), (2**53, 2**53 - 1), (2**53, 2**53), (2**40, 1e-6)]
    draw = random.Random(95)
    for _ in range(40):
        opened = round(draw.choice([1, 30, 1_000, 1_000_000]) * (1 - draw.random()), draw.choice([3, 4]))
        sums.append((opened, round(opened * draw.random() ** draw.choice([1, 4]), 3)))
    for opened, failed in sums:
        yield {"failed": failed, "interval": interval(opened, failed), "opened": opened}


def evidence():
    def case(hours, ratio=1.5):
        return {"hours": hours, "log": log_e(hours, ratio), "ratio": ratio}
    yield case([])
    yield case([[0, 100, 0, 100, 0]])
    yield case([[0, 100, 1, 100, 0]])
    yield case([[0, 100, 0, 100, 1]])
    # An arm without openings tells nothing, whatever failed.
    yield case([[0, 100, 9, 0, 0]])
    yield case([[0, 0, 9, 100, 0]])
    # Late ones, in an hour with fewer openings.
    yield case([[0, 30, 40, 30, 2]])
    # Hours are put together until both arms have 20 openings; 19 and a part aren't.
    yield case([[0, 20, 3, 20, 0], [1, 40, 1, 20, 2]])
    yield case([[0, 19.75, 3, 20, 0], [1, 40, 1, 20, 2]])
    yield case([[0, 20, 3, 19.75, 0], [1, 40, 1, 20, 2]])
    yield case([[5, 10, 3, 11, 0], [6, 10, 1, 2, 0], [9, 10, 0, 60, 1], [10, 50, 2, 50, 2], [11, 3, 1, 4, 0]])
    yield case([[11, 3, 1, 4, 0], [10, 50, 2, 50, 2], [9, 10, 0, 60, 1], [6, 10, 1, 2, 0], [5, 10, 3, 11, 0]])
    # Large ones, and arms of very different sizes.
    yield case([[7, 2**53, 2**53, 2**53, 0]])
    yield case([[7, 2**53, 0, 2**53, 2**53]])
    yield case([[7, 2**53, 1_000_000, 1, 1]])
    yield case([[7, 1, 1, 2**53, 1_000_000]])
    for ratio in (0.5, 1, 1.5, 3, 100):
        yield case([[1, 1000, 9, 1200, 2], [2, 900, 4, 1000, 1]], ratio)
    draw = random.Random(42)
    for _ in range(60):
        hours, hour = [], 490_000
        for _ in range(draw.randint(1, 12)):
            hour += draw.randint(1, 3)
            sizes = [round(draw.choice([1, 10, 100, 10_000]) * draw.random(), draw.choice([0, 0, 3])) for _ in range(2)]
            hours.append([hour] + [number for size in sizes for number in (size, round(size * draw.random() ** 4, draw.choice([0, 3])))])
        yield case(hours, draw.choice([1.5, 1.5, 1, 2]))


def caps():
    for share, counts in [
            (500, []), (500, [0]), (500, [1]), (500, [9]), (500, [1] * 19), (500, [7] * 19), (500, [7] * 20), (500, [7] * 21),
            (500, [3] * 19 + [2]), (500, [10**6] + [1] * 100), (500, [10**6, 10**6] + [1] * 1000), (500, [10**6] * 10 + [4] * 1000),
            (500, [10**6] * 19 + [4] * 1000), (500, [10**6] * 20 + [4] * 1000), (500, [50] + [1] * 950), (500, [51] + [1] * 950),
            (100, [5] * 50 + [1] * 50), (100, [1000] + [1] * 10_000), (10_000, [3, 1]), (10_000, [2**53]), (3_000, [9, 7, 5, 3, 1]),
            (1, [2**53] * 3)]:
        yield {"counts": counts, "limit": limit(counts, share), "share": share}


def some_rows():
    def case(rows, share=500):
        hours, openings = counted(rows, share)
        return {"hours": hours, "openings": openings, "rows": rows, "share": share}
    spread = [[48, "candidate", network, 1, 0] for network in range(100, 200)] + [[50, "control", network, 1, 0] for network in range(100, 200)]
    yield case([])
    yield case(spread)
    # One network: of openings by the hour, of failures by the day, in each arm for itself.
    yield case(spread + [[48, "candidate", 1, 50, 40]])
    yield case(spread + [[48, "control", 1, 50, 40]])
    yield case(spread + [[48, "candidate", 1, 5, 2], [49, "candidate", 1, 3, 2], [71, "candidate", 1, 3, 1], [72, "candidate", 1, 3, 1]])
    yield case([[48, "candidate", 1, 5, 2], [48, "candidate", 1, 5, 2], [48, "candidate", 2, 0, 3]])
    # Few networks: with the cap, hardly anything counts.
    few = [[hour, arm, network, 70, 1] for hour in (48, 49, 72) for arm in ("candidate", "control") for network in range(1, 4 if hour < 72 else 3)]
    yield case(few)
    yield case(few, 5_000)
    yield case(few, 10_000)
    draw = random.Random(7)
    for _ in range(10):
        yield case([[draw.randint(40, 60), draw.choice(["candidate", "control"]), draw.randint(1, 40), draw.randint(0, 30), draw.randint(0, 2)]
                    for _ in range(draw.randint(1, 120))], draw.choice([500, 500, 2_000, 10_000]))


def arms():
    for share in (0, 1, 500, 2_500, 4_999, 5_000, 5_001, 7_500, 9_999, 10_000):
        edges = {0, 9_999, share - 1, share, share + 1, 10_000 - share - 1, 10_000 - share, 10_000 - share + 1}
        for bucket in sorted(edge for edge in edges if 0 <= edge < 10_000):
            yield {"arm": arm(bucket, share), "bucket": bucket, "share": share}


def written():
    parts = {"arms": arms(), "caps": caps(), "evidence": evidence(), "intervals": intervals(), "rows": some_rows()}
    return "{\n" + ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(case, sort_keys=True) for case in cases) + "\n]" for name, cases in parts.items()) + "\n}\n"


def close(a, b):
    """Whether two documents are the same, numbers to 9 digits: the last ones depend on the C library."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    return a == b


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        same = close(json.loads(written()), json.loads((HERE / "evidence.json").read_text()))
        print("evidence.json is what evidence.py writes" if same else "evidence.json isn't what evidence.py writes")
        sys.exit(0 if same else 1)
    (HERE / "evidence.json").write_text(written())
