#!/usr/bin/env python3
"""Runs the vectors of this folder against decoder.py; ends with 1 where one isn't held. Needs the package zstandard."""
import json
import pathlib
import re
import sys

import decoder
import evidence
from decoder import Fault

HERE = pathlib.Path(__file__).resolve().parent
failures = []
count = 0


def load(name):
    return decoder.parse_json((HERE / name).read_bytes())


def expect(what, got, wanted):
    global count
    count += 1
    if got != wanted:
        failures.append(f"{what}: {str(got)[:200]}, where {str(wanted)[:200]} was expected")


def attempt(act):
    """What `act` gives, or "error"."""
    try:
        return act()
    except Fault:
        return "error"


def edited(data, edits):
    """The bytes with the edits of a damaged case: xor of a byte, a cut, bytes behind the end."""
    data = bytearray(data)
    for edit in edits:
        if "xor" in edit:
            data[int(edit["at"])] ^= int(edit["xor"])
        elif "cut" in edit:
            del data[int(edit["cut"]):]
        else:
            data += bytes.fromhex(edit["append"])
    return bytes(data)


for case in load("canonical.json"):
    expect(f"canonical {case['in']!r}", attempt(lambda: decoder.canonical(decoder.parse_json(case["in"]))),
           case.get("out", "error"))
for case in load("digests.json"):
    expect("digest, canonical", decoder.canonical(case["resourcemap"]), case["canonical"])
    expect("digest", decoder.digest(case["resourcemap"]).hex(), case["digest"])
urls = load("urls.json")
for case in urls["match"]:
    expect(f"match {case}", decoder.match_key(case["a"]) == decoder.match_key(case["b"]), case["match"])
for case in urls["pages"]:
    expect(f"page {case}", decoder.is_page_of(case["page"], case["entry"]), case["match"])
for case in load("downloads.json"):
    sha256 = bytes.fromhex(case["sha256"])
    place = f"{case['publicURL']}/{case['space']}/{case['appID']}"
    expect(f"download {case['url'][:60]}", decoder.download(
        place, case["manifestVersion"], case["resourceVersion"], sha256, case["url"]), case["download"])
    expect(f"file name {case['url'][:60]}", decoder.file_name(case["url"]), case["fileName"])
for case in load("patches.json"):
    expect(f"patch: {case['what']}", decoder.canonical(decoder.merge(case["base"], case["patch"])),
           decoder.canonical(case["result"]))
for case in load("numbers.json"):
    def read():
        reader = decoder.Reader(bytes.fromhex(case["bytes"]))
        number = reader.number()
        return number if not reader.left() else "error"
    expect(f"number {case['bytes']}", attempt(read), int(case["number"]) if "number" in case else "error")
for case in load("renaming.json"):
    pairs = decoder.word_pairs(case["urls"])
    expect(f"renaming {case['in']!r}", decoder.rename(case["in"].encode(), pairs).decode(), case["out"])
for case in load("dcz.json"):
    delta = edited((HERE / case["delta"]).read_bytes(), case.get("edits", []))
    expect(f"dcz {case['what']}",
           attempt(lambda: decoder.sha256(decoder.decode_dcz(delta, (HERE / case["base"]).read_bytes())).hex()),
           case.get("sha256", "error"))

lists = load("lists.json")
for case in lists["cases"]:
    got = attempt(lambda: [arrival["url"] for arrival in decoder.read_changes(
        bytes.fromhex(case["bytes"]), int(lists["version"]), sorted(lists["base"].items()),
        case.get("magic", "XPK1").encode())[1]])
    expect(f"list: {case['what']}", got, case.get("urls", "error"))

packs = load("packs.json")
for case in packs["cases"]:
    pack = edited((HERE / case["pack"]).read_bytes(), case.get("edits", []))
    base = packs["resourcemaps"][case.get("base", case["answer"]["base"])]
    files = {entry["sha256"]: (HERE / "files" / entry["sha256"]).read_bytes() for entry in base.values()}
    for missing in case.get("missing", []):
        files.pop(missing)

    def update():
        result, new_files = decoder.apply_pack(pack, case["answer"], base, files)
        for url, file in new_files.items():
            expect(f"pack {case['what']}: {url}", file, (HERE / "files" / result[url]["sha256"]).read_bytes())
        return decoder.canonical(result)
    if case["what"] == "a release with every source":
        reader = decoder.Reader(pack)
        _, _, version, _, _, plain, coded, _ = decoder.read_head(reader)
        changes = decoder.decode_frame(decoder.MAGIC + reader.bytes(coded), b"", plain)
        arrivals = decoder.read_changes(changes, version, sorted(base.items()))[1]
        expect("every source is there", {arrival["source"][0] for arrival in arrivals}, set(range(8)))
    wanted = "error" if case.get("error") else decoder.canonical(packs["resourcemaps"][case["answer"]["version"]])
    expect(f"pack: {case['what']}", attempt(update), wanted)

firsts = load("first-packs.json")
for case in firsts["cases"]:
    pack = edited((HERE / case["pack"]).read_bytes(), case.get("edits", []))

    def keep(digest, file):
        expect(f"first pack {case['what']}: {digest}", file, (HERE / "files" / digest).read_bytes())
    got = attempt(lambda: decoder.read_first(pack, firsts["resourcemaps"][case["resourcemap"]], keep))
    expect(f"first pack: {case['what']}", got, "error" if case.get("error") else case["files"])

rollout = load("rollout.json")
for case in rollout["buckets"]:
    expect(f"bucket {case['install']} {case['seed']}", decoder.bucket(bytes.fromhex(case["install"]), case["seed"]), int(case["bucket"]))
for case in rollout["versions"]:
    a, b = decoder.app_version(case["a"]), decoder.app_version(case["b"])
    expect(f"app versions {case['a']!r} {case['b']!r}", None if a is None else (a > b) - (a < b),
           int(case["order"]) if "order" in case else None)
for case in rollout["ranges"]:
    expect(f"range {case['range']!r} of {case['app']!r}",
           attempt(lambda: decoder.lies_in(case["app"], decoder.app_range(case["range"]))), case.get("in", "error"))
for case in rollout["rules"]:
    expect(f"rule {case['rule']}", attempt(lambda: decoder.read_rule(case["rule"]) and "read"), "error" if "error" in case else "read")
for case in rollout["decisions"]:
    expect(f"decision {case}", attempt(lambda: decoder.is_in(
        decoder.read_rule(case["rule"]), bytes.fromhex(case["install"]), case["app"], case["groups"], case["held"])),
        case.get("in", "error"))

expect("evidence.json is what evidence.py writes", evidence.close(
    json.loads(evidence.written()), json.loads((HERE / "evidence.json").read_text())), True)

# Each byte of the smallest pack, flipped: noticed, or harmless.
case = min((case for case in packs["cases"] if not case.get("error") and "edits" not in case),
           key=lambda case: (HERE / case["pack"]).stat().st_size)
pack = (HERE / case["pack"]).read_bytes()
base = packs["resourcemaps"][case["answer"]["base"]]
files = {entry["sha256"]: (HERE / "files" / entry["sha256"]).read_bytes() for entry in base.values()}
right = decoder.canonical(packs["resourcemaps"][case["answer"]["version"]])
for at in range(len(pack)):
    flipped = bytearray(pack)
    flipped[at] ^= 0xFF
    got = attempt(lambda: decoder.canonical(decoder.apply_pack(bytes(flipped), case["answer"], base, files)[0]))
    expect(f"byte {at} of {case['pack']} flipped", got in ("error", right), True)

# And of a first pack.
case = firsts["cases"][0]
pack = (HERE / case["pack"]).read_bytes()
for at in range(len(pack)):
    flipped = bytearray(pack)
    flipped[at] ^= 0xFF
    got = attempt(lambda: decoder.read_first(bytes(flipped), firsts["resourcemaps"][case["resourcemap"]]))
    expect(f"byte {at} of {case['pack']} flipped", got == "error" or set(got) <= set(case["files"]), True)

# The examples of the text are documents, too.
for block in re.findall("```json\n(.*?)```", (HERE.parent / "protocol.md").read_text(), re.S):
    try:
        expect("an example of protocol.md", isinstance(json.loads(block if block[0] == "{" else f"{{{block}}}"), dict), True)
    except ValueError as error:
        failures.append(f"an example of protocol.md: {error}: {block[:60]}")

for failure in failures:
    print(failure)
print(f"vectors: {count - len(failures)} of {count} held")
sys.exit(1 if failures else 0)
