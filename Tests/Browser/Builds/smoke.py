#!/usr/bin/env python3
"""The same builds in WebKitGTK, by the native runtime: `xcache smoke` opens each at its three addresses, with nothing but the build.

    Engines/WebKitGTK/display.sh Tests/Browser/Builds/smoke.py XCACHE XCACHE-WEBKIT [--write] [NAME…]

What it says is compared with docs/builds.md, or with --write put there. Exits with 0 if it is the same.
"""
import json, os, subprocess, sys, tempfile

import matrix
from builds import BUILDS, files_of

PLACE = "https://m.example.com"


def said(build, folder, xcache, engine):
    """What `smoke` says of a build, in the words of the document."""
    dist = f"{folder}/{build.name}/dist"
    for name, data in files_of(build, 1).items():
        os.makedirs(os.path.dirname(f"{dist}/{name}"), exist_ok=True)
        with open(f"{dist}/{name}", "wb") as file:
            file.write(data)
    place = f"{folder}/{build.name}"
    base = PLACE + build.path
    answers = {f"{base.rstrip('/')}/{part}": answer for part, answer in build.api.items()}
    # In the locale C pages have the language "C", which Intl refuses.
    environment = {**os.environ, "XCACHE_WEBKIT": os.path.abspath(engine), "LANG": "en_US.UTF-8", "LC_ALL": "en_US.UTF-8", "LANGUAGE": "en_US"}

    def run(*words):
        return subprocess.run([xcache, *words], cwd=place, env=environment, capture_output=True, text=True)
    done = run("init", "--app", build.name, "--dir", "dist", "--base-url", base)
    assert done.returncode == 0, done.stderr
    with open(f"{place}/xcache.json") as file:
        settings = json.load(file)
    for name, value in build.config.items():
        settings["bundles"]["main"][name] = value
    with open(f"{place}/xcache.json", "w") as file:
        json.dump(settings, file)
    words = []
    if answers:
        os.mkdir(f"{place}/fixtures")
        index = {}
        for number, (url, answer) in enumerate(answers.items()):
            with open(f"{place}/fixtures/{number}.json", "w") as file:
                json.dump(answer, file)
            index[url] = {"ctype": "application/json", "file": f"{number}.json"}
        with open(f"{place}/fixtures/fixtures.json", "w") as file:
            json.dump(index, file)
        words = ["--fixtures", "fixtures"]
    done = run("smoke", "dist", *[base + route for route in build.routes], "--json", "--bundle", "main", *words)
    if done.returncode not in (0, 3):
        return done.stderr.strip()
    pages = json.loads(done.stdout)["pages"]
    problems = [(page["url"].removeprefix(base), finding["problem"], finding["text"]) for page in pages for finding in page["findings"]
                if finding["problem"]]
    for url, problem, text in problems:
        print(f"    {build.name} /{url}: {problem}: {text[:200]}")
    fine = len(pages) - len({url for url, _, _ in problems})
    return f"{fine} of {len(pages)}" + "".join(f", {kind}" for kind in sorted({problem for _, problem, _ in problems}))


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    matrix.WRITES = "--write" in sys.argv
    xcache = os.path.abspath(words[0])
    with tempfile.TemporaryDirectory() as folder:
        for build in BUILDS:
            if not words[2:] or build.name in words[2:]:
                text = said(build, folder, xcache, words[1])
                print(f"{build.name}: {text}", flush=True)
                matrix.row(f"{build.package} {build.versions[1]}", {"WebKitGTK": text})
    sys.exit(matrix.report())


if __name__ == "__main__":
    main()
