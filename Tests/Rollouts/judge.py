#!/usr/bin/env python3
"""What a run of broken_release.py must show, as demands on its record.     judge.py RECORD [--faults]

--faults: changes the record in one place at a time, as a fault of a device, of the origin or of the test would have it, and wants the
demand named beside it to notice. So each demand has failed once.
"""
import copy, json, re, sys

sys.dont_write_bytecode = True


def arm(record, name):
    return [device for device in record["devices"] if device["arm"] == name]


def evidence(record, device):
    """The evidence that a device has reported."""
    found = []
    for request in record["requests"]:
        if request["address"] == device["address"] and "/report" in request.get("url", "") and request.get("sent"):
            body = json.loads(request["sent"])
            if "evidence" in body:
                found.append(body["evidence"])
    return found


def returned(record, device):
    """The reports of a device that it went back."""
    return [body for request in record["requests"] if request["address"] == device["address"] and request.get("sent")
            for body in [json.loads(request["sent"])] if body.get("reason") == "returned"]


def asked(record, device, *words):
    return [request for request in record["requests"] if request["address"] == device["address"] and any(word in request.get("url", "") for word in words)]


def at(record, what):
    return next((step["at"] for step in record["steps"] if step["what"] == what), None)


def took(device):
    """Whether the device has held the broken version."""
    return any(version == "2" for _, version in device["held"])


def failed(device):
    """Whether somebody has seen the broken version on it."""
    return any(page["held"] == "2" for page in device["pages"])


def shown(device):
    """The pages since the broken version was published, but for the last one, after the halt."""
    return [page for page in device["pages"] if not page.get("before") and not page.get("last")]


# Each returns what is wrong, as a list of words; the first line of its text is the demand.

def whole(record):
    """nothing of the test itself went wrong: no process ended by itself, no request broke, the origin logged no error"""
    return record["errors"][:3] + [line for line in record["log"].splitlines() if " error" in line]


def engine(record):
    """WebKitGTK paints the good build, and says that a script of the bad one failed"""
    good, bad = record["verdicts"]["good"], record["verdicts"]["bad"]
    return ([] if not good["fails"] and any(one.startswith("painted") for one in good["signals"]) else [f"good: {good}"]) + (
        [] if bad["fails"] and any(one.startswith("failed") for one in bad["signals"]) else [f"bad: {bad}"])


def before(record):
    """every device held the good build, and had shown a page of it, before the bad one was published"""
    return [device["name"] for device in record["devices"]
            if not any(page.get("before") and page["build"] == "good" and not page["fails"] for page in device["pages"])]


def arms(record):
    """there are enough of both arms, and devices outside of them"""
    counts = {name: len(arm(record, name)) for name in ("candidate", "control", None)}
    return [f"{counts}"] if min(counts["candidate"], counts["control"]) < 40 or counts[None] < 20 else []


def taken(record):
    """devices in the rollout took the broken version: enough to judge it, and all that polled before the pause"""
    wrong = [f"{sum(map(took, record['devices']))} devices took it"] if sum(map(took, record["devices"])) < 25 else []
    pause = at(record, "paused") or 0
    for device in arm(record, "candidate"):
        polls = [request["at"] for request in asked(record, device, "candidate=1") if request["status"] == 200]
        if polls and polls[0] < pause - 5 and not took(device):
            wrong.append(f"{device['name']} polled after {polls[0]} s, and didn't take it")
    return wrong


def outside(record):
    """no other device asked for the broken version, got a byte of it, or held it; nor did one that came after the pause"""
    wrong = []
    for device in record["devices"]:
        if device["arm"] == "candidate" and not device["late"]:
            continue
        if device["arm"] != "candidate" and asked(record, device, "candidate=1"):
            wrong.append(f"{device['name']} asked for the candidate")
        if got := [one["url"] for one in asked(record, device, *record["onlyBad"], "pack/1-2-")]:
            wrong.append(f"{device['name']} fetched {got[0]}")
        if took(device) or any(page["build"] != "good" for page in device["pages"]):
            wrong.append(f"{device['name']} held it")
    return wrong


def bytes_(record):
    """each page was of one build, from a device whose files had the right bytes: the bad one where it held that, otherwise the good one"""
    return [f"{device['name']}: {page}" for device in record["devices"] for page in device["pages"]
            if page["build"] != ("bad" if page["held"] == "2" else "good") or page["from"] != "device" or not page["whole"]]


def verdicts(record):
    """every page of the bad build failed, also in the engines, and none of the good one"""
    return [f"{device['name']}: {page}" for device in record["devices"] for page in device["pages"]
            if page["build"] in ("good", "bad") and page["fails"] != (page["build"] == "bad")]


def engines(record):
    """two devices with a WebKitGTK view failed and went back, and one of control showed its page"""
    views = [device for device in record["devices"] if device["engine"]]
    bad = [device for device in views if device["arm"] == "candidate" and failed(device)]
    good = [device for device in views if device["arm"] == "control" and shown(device)]
    return [] if len(bad) >= 2 and good else [f"{len(bad)} and {len(good)}"]


def second(record):
    """a device was back at its second opening: two pages failed, the third was the good build's; nobody saw a third failure"""
    wrong = []
    for device in filter(failed, record["devices"]):
        pages = shown(device)
        if [page["fails"] for page in pages] != [True, True, False] or [page["held"] for page in pages] != ["2", "2", "1"]:
            wrong.append(f"{device['name']}: {[(page['held'], page['fails']) for page in pages]}")
    return wrong


def seen(record):
    """whoever wasn't in the rollout saw no page fail, and in it nobody more than two"""
    return [f"{device['name']}: {count}" for device in record["devices"]
            if (count := sum(page["fails"] for page in device["pages"])) > (2 if device["arm"] == "candidate" else 0)]


def offline(record):
    """devices without a network went back, too, and requested nothing meanwhile"""
    those = [device for device in record["devices"] if device["offline"] and failed(device)]
    wrong = [] if len(those) >= 2 else [f"only {len(those)} of them failed"]
    for device in those:
        [begin, end] = device["offline"][0]
        if any(begin + 0.5 < request["at"] < end for request in asked(record, device, "")):
            wrong.append(f"{device['name']} had a network")
        if not any(begin < time < end for time, version in device["held"] if version == "1"):
            wrong.append(f"{device['name']} wasn't back before it had one")
    return wrong


def skipping(record):
    """after it was back a device polled with skip=2, and fetched nothing of that version any more"""
    wrong = []
    for device in filter(failed, record["devices"]):
        back = next((time for time, version in device["held"] if version == "1" and time > 0 and took(device) and
                     any(earlier < time and held == "2" for earlier, held in device["held"])), None)
        if back is None:
            wrong.append(f"{device['name']} never was")
            continue
        polls = [one for one in asked(record, device, "/configure.json") if one["at"] > back + 2]
        # The first poll above that version ends it.
        first = [one["url"] for one in polls if re.search(r"[?&]version=1&", one["url"])]
        if not first or not all("skip=2" in url for url in first):
            wrong.append(f"{device['name']}: {first[:2]}")
        if any(one["at"] > back + 2 for one in asked(record, device, *record["onlyBad"], "pack/1-2-")):
            wrong.append(f"{device['name']} fetched it again")
    return wrong


def reports(record):
    """each device reported once what it came to in its arm, and once that it went back; the others nothing"""
    wrong = []
    for device in record["devices"]:
        told = evidence(record, device)
        sums = sum(one["opened"] for one in told), sum(one["failed"] for one in told)
        counts = device["arm"] and any(page["at"] < (at(record, "halted") or 0) - 1 for page in shown(device)) and not device["late"]
        want = (1, 1) if failed(device) else (1, 0) if counts and device["arm"] == "control" else None
        # One that had no network until the halt is told of no rollout any more by its next poll, and has nothing to report of it.
        if want and sums != want and not (device["offline"] and sums == (0, 0) and device["offline"][0][1] > at(record, "halted") - 40):
            wrong.append(f"{device['name']}, {device['arm']}: {sums}, not {want}")
        if not device["arm"] and told or any(one["arm"] != device["arm"] for one in told):
            wrong.append(f"{device['name']}: {told}")
        back = returned(record, device)
        if [(one["version"], one["cause"]) for one in back] != ([("2", "page")] if failed(device) else []):
            wrong.append(f"{device['name']} returned: {back}")
    return wrong


def pause(record):
    """the origin paused it by itself, once, at an e-value of 100 or more, and by then nobody had let more in"""
    rows = [row for row in record["audit"] if row["act"] == "rollout.pause"]
    wrong = [] if [row["author"] for row in rows] == ["xcache"] else [f"{rows}"]
    paused = [sample for sample in record["samples"] if sample["paused"]]
    if not paused or paused[0]["highest"] < 100:
        wrong.append(f"{paused[:1]}")
    if early := [sample for sample in record["samples"] if not sample["paused"] and sample["highest"] >= 100 and sample["at"] < (at(record, "paused") or 1e9) - 25]:
        wrong.append(f"not yet at {early[0]}")
    return wrong


def share(record):
    """the ramp never went beyond 1 %"""
    return [f"{sample['share']}" for sample in record["samples"] if sample["share"] != 100][:1]


def halt(record):
    """the origin halted it by itself, once, after the pause, at an e-value of 10,000 or more, with failures in 5 networks or more"""
    rows = [row for row in record["audit"] if row["act"] in ("rollout.halt", "rollout.pause")]
    acts = sorted((row["at"], row["act"], row["author"]) for row in rows)
    wrong = [] if [one[1:] for one in acts] == [("rollout.pause", "xcache"), ("rollout.halt", "xcache")] else [f"{acts}"]
    ended = next((one for one in record["rollout"]["rollouts"] if one["version"] == "2"), {})
    if record["rollout"].get("open") or ended.get("state") != "halted" or ended.get("changedBy") != "xcache":
        wrong.append(f"{ended}")
    found = re.search(r"\(e = ([\d.e+]+)\)", ended.get("reason") or "")
    if not found or float(found[1]) < 10_000:
        wrong.append(f"its reason: {ended.get('reason')}")
    if record["samples"][-1]["networks"] < 5:
        wrong.append(f"{record['samples'][-1]}")
    return wrong


def content(record):
    """what the halt made is the good build, entry by entry, and a version above the broken one"""
    return [] if record["content"] and int(record["full"]["version"]) > 2 else [f"{record['full']}"]


def back(record):
    """every device holds that version in the end, each file with its right bytes, and shows a page of it"""
    wrong = []
    for device in record["devices"]:
        final, last = device["final"], [page for page in device["pages"] if page.get("last")]
        if not final or final["version"] != record["full"]["version"] or final["digest"] != record["full"]["digest"] or not final["right"]:
            wrong.append(f"{device['name']}: {final}")
        elif [(page["build"], page["from"], page["fails"]) for page in last] != [("good", "device", False)]:
            wrong.append(f"{device['name']}: {last}")
    return wrong


def hooks(record):
    """webhooks told of the rollout, the alarm and the halt, each once and in this order"""
    names = [hook["body"]["type"] for hook in record["webhooks"]]
    return [] if [name for name in names if name in ("rollout.alarm", "halt")] == ["rollout.alarm", "halt"] else [f"{names}"]


def words(record):
    """`rollout show` says that it was halted and by whom, and `status` how many devices went back"""
    count = sum(map(failed, record["devices"]))
    told = re.search(r"(\d+) × returned-page", record["status"])
    return ([] if re.search(r"halted .* xcache ", record["show"]) else [record["show"]]) + (
        [] if told and int(told[1]) == count else [f"{count} devices; {record['status']}"])


DEMANDS = [whole, engine, before, arms, taken, outside, bytes_, verdicts, engines, second, seen, offline, skipping, reports, pause, share, halt, content,
           back, hooks, words]


def broken(record):
    """The demands that aren't met, with what is wrong."""
    return {demand.__name__: wrong for demand in DEMANDS if (wrong := demand(record))}


def numbers(record):
    """What the documentation tells of a run."""
    ended = [device for device in record["devices"] if failed(device)]
    first = min((page["at"] for device in ended for page in device["pages"] if page["fails"]), default=None)
    return {
        "devices": len(record["devices"]), "candidate": len(arm(record, "candidate")), "control": len(arm(record, "control")),
        "networks": len({device["network"] for device in record["devices"]}),
        "took it": sum(map(took, record["devices"])), "saw it": len(ended),
        "failed pages": sum(page["fails"] for device in record["devices"] for page in device["pages"]),
        "most for one": max(sum(page["fails"] for page in device["pages"]) for device in record["devices"]),
        "first failure": first, "paused": at(record, "paused"), "halted": at(record, "halted"), "everyone back": at(record, "everyone is back"),
        "failed before the pause": sum(1 for device in ended if min(page["at"] for page in device["pages"] if page["fails"]) < (at(record, "paused") or 0)),
        "run": record["seconds"],
    }


def report(record):
    wrong = broken(record)
    for demand in DEMANDS:
        print(("FAILS " if demand.__name__ in wrong else "ok    ") + demand.__doc__.splitlines()[0])
        for line in wrong.get(demand.__name__, [])[:4]:
            print("        " + str(line)[:400])
    print(json.dumps(numbers(record)))
    return 1 if wrong else 0


# What may be wrong, and the demand that must notice: each changes a record that is good.

def first(record, condition):
    return next(device for device in record["devices"] if condition(device))


def outsider(record):
    return first(record, lambda device: device["arm"] is None)


def victim(record):
    return first(record, lambda device: failed(device) and not device["offline"])


def add(record, device, url, sent=None, time=50.0):
    record["requests"].append({"at": time, "address": device["address"], "method": "GET", "url": url, "status": 200, "bytes": 9, "sent": sent})


def drop(record, condition):
    record["requests"] = [request for request in record["requests"] if not condition(request)]


def told_by(device, word):
    return lambda request: request["address"] == device["address"] and word in (request.get("sent") or "")


def change(list_of, condition, **members):
    next(one for one in list_of if condition(one)).update(members)


def unskip(record):
    for request in record["requests"]:
        request["url"] = request.get("url", "").replace("&skip=2", "") if request["address"] == victim(record)["address"] else request.get("url", "")


def ended(record):
    return next(one for one in record["rollout"]["rollouts"] if one["version"] == "2")


FAULTS = [
    ("a device's process ends", whole, lambda r: r["errors"].append("device-007 ended")),
    ("the good build fails in the engine", engine, lambda r: r["verdicts"]["good"].update(fails=True)),
    ("the bad build comes up in the engine", engine, lambda r: r["verdicts"]["bad"].update(signals=["painted 80"], fails=False)),
    ("a device begins without a build", before, lambda r: outsider(r)["pages"].pop(0)),
    ("control is too small", arms, lambda r: [device.update(arm=None) for device in arm(r, "control")[5:]]),
    ("a device in the rollout stays at the old version", taken, lambda r: victim(r).update(held=[[0, "1"]])),
    ("another one asks for the candidate", outside, lambda r: add(r, outsider(r), "http://origin.test/configure.json?candidate=1")),
    ("another one fetches a file of it", outside, lambda r: add(r, outsider(r), r["onlyBad"][0])),
    ("another one holds it", outside, lambda r: outsider(r)["held"].append([40, "2"])),
    ("one that comes after the pause takes it", outside, lambda r: first(r, lambda device: device["late"])["held"].append([90, "2"])),
    ("a page has files of both builds", bytes_, lambda r: victim(r)["pages"][1].update(build="mixed")),
    ("a device shows another build than it holds", bytes_, lambda r: outsider(r)["pages"][-1].update(build="bad")),
    ("a page of the bad build comes up", verdicts, lambda r: victim(r)["pages"][1].update(fails=False)),
    ("a page of the good build fails", verdicts, lambda r: outsider(r)["pages"][-1].update(fails=True)),
    ("only one engine was in the rollout", engines, lambda r: change(r["devices"], lambda device: device["engine"] and failed(device), engine=False)),
    ("a device goes back at the third failure", second, lambda r: victim(r)["pages"].insert(2, dict(victim(r)["pages"][1]))),
    ("a device goes back at the first failure", second, lambda r: victim(r)["pages"].pop(1)),
    ("somebody sees three failures", seen, lambda r: victim(r)["pages"].extend([dict(victim(r)["pages"][1])])),
    ("somebody outside sees one", seen, lambda r: outsider(r)["pages"][-1].update(fails=True)),
    ("going back needs the network", offline, lambda r: [add(r, device, "http://cdn.test/a", time=device["offline"][0][0] + 1) for device in r["devices"] if device["offline"]]),
    ("a device without a network waits for it", offline,
     lambda r: first(r, lambda device: device["offline"] and failed(device)).update(held=[[0, "1"], [1, "2"], [999, "1"]])),
    ("a device doesn't say what it skips", skipping, unskip),
    ("a device fetches the bad build again", skipping, lambda r: add(r, victim(r), r["onlyBad"][0], time=9999)),
    ("a failure isn't reported", reports, lambda r: drop(r, told_by(victim(r), '"failed":1'))),
    ("a failure is reported twice", reports, lambda r: r["requests"].extend([one for one in r["requests"] if told_by(victim(r), '"failed":1')(one)])),
    ("a return isn't reported", reports, lambda r: drop(r, told_by(victim(r), '"returned"'))),
    ("a device outside reports evidence", reports,
     lambda r: add(r, outsider(r), "http://origin.test/report?app=shop", '{"evidence":{"arm":"control","failed":0,"opened":1,"version":"2"}}')),
    ("a person paused it", pause, lambda r: change(r["audit"], lambda row: row["act"] == "rollout.pause", author="admin")),
    ("it was paused twice", pause, lambda r: r["audit"].append(dict(next(row for row in r["audit"] if row["act"] == "rollout.pause")))),
    ("it was paused at an e-value of 50", pause, lambda r: [sample.update(highest=min(sample["highest"], 50)) for sample in r["samples"]]),
    ("the ramp went on", share, lambda r: r["samples"][-1].update(share=1000)),
    ("a person halted it", halt, lambda r: change(r["audit"], lambda row: row["act"] == "rollout.halt", author="admin")),
    ("it is still open", halt, lambda r: r["rollout"].update(open=dict(ended(r), state="open"))),
    ("it was halted at an e-value of 9,000", halt, lambda r: ended(r).update(reason=re.sub(r"e = [\d.e+]+", "e = 9000", ended(r)["reason"]))),
    ("it has failed in four networks", halt, lambda r: r["samples"][-1].update(networks=4)),
    ("the halt made another content", content, lambda r: r.update(content=False)),
    ("a device stays at the version before", back, lambda r: outsider(r)["final"].update(version="1")),
    ("a file of a device has other bytes", back, lambda r: outsider(r)["final"].update(right=False)),
    ("a device lacks files when it shows a page", bytes_, lambda r: outsider(r)["pages"][-1].update(whole=False)),
    ("a device never came back", back, lambda r: victim(r).update(final=None)),
    ("the halt was told before the alarm", hooks, lambda r: r["webhooks"].reverse()),
    ("no alarm was told", hooks, lambda r: r.update(webhooks=[hook for hook in r["webhooks"] if hook["body"]["type"] != "rollout.alarm"])),
    ("show doesn't say who halted it", words, lambda r: r.update(show=r["show"].replace("xcache", "admin"))),
    ("status counts another number of returns", words, lambda r: r.update(status=r["status"].replace("returned-page", "other"))),
]


def faults(record):
    """Whether each fault is noticed, and each demand has failed."""
    missed = [name for name, demand, plant in FAULTS if demand.__name__ not in broken(planted(record, plant))]
    idle = [demand.__name__ for demand in DEMANDS if demand not in [demand for _, demand, _ in FAULTS]]
    print(f"{len(FAULTS) - len(missed)} of {len(FAULTS)} faults are noticed" + "".join(f"\nmissed: {one}" for one in missed + idle))
    return 1 if missed or idle else 0


def planted(record, plant):
    record = copy.deepcopy(record)
    plant(record)
    return record


def main():
    with open(sys.argv[1]) as file:
        record = json.load(file)
    sys.exit(report(record) or ("--faults" in sys.argv and faults(record)))


if __name__ == "__main__":
    main()
