#!/usr/bin/env python3
"""Lets the conformance cases drive the minimal device, or the complete one with --complete: docs/conformance.md."""
import base64
import json
import pathlib
import sys

sys.dont_write_bytecode = True
from complete import CompleteDevice  # noqa: E402
from device import Device, digest  # noqa: E402


def main():
    make, device, now, pages = CompleteDevice if "--complete" in sys.argv else Device, None, 0, 0
    for line in sys.stdin:
        command, answer = json.loads(line), {}
        if command["do"] == "open":
            settings = command["settings"]
            notes = pathlib.Path(settings["folder"]) / "notes"
            if settings.get("install") and not notes.exists():
                notes.parent.mkdir(parents=True, exist_ok=True)
                notes.write_text(json.dumps({"install": settings["install"]}))
            now, device = command["now"], make(settings)
        elif command["do"] == "describe":
            device.settings |= {name: command[name] for name in ("appVersion", "groups") if name in command}
        elif command["do"] == "leaveCandidate":
            device.leave_candidate()
        elif command["do"] == "advance":
            now += command["milliseconds"]
        elif command["do"] == "pageOpen":
            pages += 1
            answer = {"page": pages}
        elif command["do"] == "trigger":
            try:
                device.poll(now)
            except Exception as failure:
                print(f"no update: {failure!r}", file=sys.stderr)
        elif command["do"] == "request" and command.get("method", "GET") == "GET" and not command.get("headers"):
            try:
                fields, content = device.answer(command["url"])
                answer = {"answer": "local", "status": 200, "headers": list(fields.items()), "body": base64.b64encode(content).decode()}
            except Exception:
                answer = {"answer": "network"}
        elif command["do"] == "request":
            answer = {"answer": "network"}
        elif command["do"] == "state":
            manifest = device.notes["map"]
            files = {url: entry["sha256"] for url, entry in manifest.items() if device.is_ours(url) and device.held(entry) is not None}
            answer = {"version": device.notes["version"], "digest": digest(manifest), "policy": "0", "prefetch": "0", "files": files}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
