#!/usr/bin/env python3
"""Lets the conformance cases drive the minimal device, or the complete one with --complete: docs/conformance.md."""
import base64
import json
import pathlib
import sys

sys.dont_write_bytecode = True
from complete import CompleteDevice  # noqa: E402
from device import Device, digest  # noqa: E402


def opened(settings):
    """A device with these settings. One that can't check a root isn't there for an app that has one."""
    if "root" not in settings:
        return (CompleteDevice if "--complete" in sys.argv else Device)(settings)
    if "--complete" not in sys.argv:
        raise ValueError("the minimal device checks no root")
    from trusted import TrustedDevice
    return TrustedDevice(settings)


def main():
    device, now, pages, answered = None, 0, 0, set()
    for line in sys.stdin:
        command, answer = json.loads(line), {}
        if command["do"] == "open":
            settings = command["settings"]
            notes = pathlib.Path(settings["folder"]) / "notes"
            if settings.get("install") and not notes.exists():
                notes.parent.mkdir(parents=True, exist_ok=True)
                notes.write_text(json.dumps({"install": settings["install"]}))
            try:
                now, device = command["now"], opened(settings)
            except Exception as failure:
                answer = {"error": str(failure)}
        elif command["do"] == "describe":
            device.settings |= {name: command[name] for name in ("appVersion", "groups") if name in command}
        elif command["do"] == "leaveCandidate":
            device.leave_candidate()
        elif command["do"] == "advance":
            now += command["milliseconds"]
        elif command["do"] == "pageOpen":
            pages += 1
            answer = {"page": pages}
        elif command["do"] == "pageUp" and command["page"] in answered and hasattr(device, "proved"):
            device.proved()
        elif command["do"] == "trigger":
            try:
                device.poll(now)
            except Exception as failure:
                print(f"no update: {failure!r}", file=sys.stderr)
        elif command["do"] == "request" and command.get("method", "GET") == "GET" and not {name.lower() for name in command.get("headers", {})} - {"accept"}:
            try:
                url, destination = command["url"], command.get("destination")
                if hasattr(device, "page"):
                    url = device.page(url, "GET", destination, command.get("headers", {}))
                fields, content = device.answer(url)
                answer = {"answer": "local", "status": 200, "headers": list(fields.items()), "body": base64.b64encode(content).decode()}
                if command.get("destination") == "document":
                    answered.add(command.get("page"))
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
