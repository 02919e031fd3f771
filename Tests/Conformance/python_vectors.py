#!/usr/bin/env python3
"""Applies the packs of docs/vectors with the device in Python: valid ones give their manifest, and none gives another."""
import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "Examples/python"))
from device import Device  # noqa: E402

VECTORS = ROOT / "docs/vectors"


def edited(pack, edits):
    for edit in edits:
        if "xor" in edit:
            pack[int(edit["at"])] ^= int(edit["xor"])
        elif "cut" in edit:
            del pack[int(edit["cut"]):]
        else:
            pack += bytes.fromhex(edit["append"])
    return bytes(pack)


def outcome(case, maps):
    """The resulting manifest; None if the device refuses the pack."""
    with tempfile.TemporaryDirectory() as folder:
        device = Device({"folder": folder, "hosts": ["*.example.com"]})
        device.notes |= {"version": case["answer"]["base"], "map": maps[case.get("base", case["answer"]["base"])]}
        for entry in device.notes["map"].values():
            file = VECTORS / "files" / entry["sha256"]
            if file.exists() and entry["sha256"] not in case.get("missing", []):
                device.write("files/" + entry["sha256"], file.read_bytes())
        pack = edited(bytearray((VECTORS / case["pack"]).read_bytes()), case.get("edits", []))
        device.fetch_pack = lambda url, size: pack
        try:
            return device.manifest(case["answer"] | {"pack": {"download": "", "size": len(pack)}})
        except Exception:
            return None


def main():
    packs = json.loads((VECTORS / "packs.json").read_bytes())
    whole = 0
    for case in packs["cases"]:
        found, wanted = outcome(case, packs["resourcemaps"]), packs["resourcemaps"][case["answer"]["version"]]
        # The device relies on the manifest's digest, so damage without effect (such as bytes after a frame) may pass.
        if found != wanted and (found is not None or "error" not in case):
            raise SystemExit(f"{case['pack']}: the device gets to {'another manifest' if found else 'none'}: {json.dumps(case)[:300]}")
        whole += "error" not in case
    print(f"vectors: {whole} packs lead to their manifests, {len(packs['cases']) - whole} damaged ones to no other")


if __name__ == "__main__":
    main()
