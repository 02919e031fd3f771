#!/usr/bin/env python3
"""Checks the examples of the documents that aren't run: settings, documents of the protocol, pieces of example apps.   texts.py PROGRAM

Each is read by what it is written for, or compared with the source that it is taken from. Needs the packages jsonschema and, for
Debian's python3, zstandard.
"""
import configparser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

from jsonschema import Draft202012Validator

sys.dont_write_bytecode = True
from blocks import ROOT, TEXTS, blocks  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()


def ios_sources():
    return [" ".join(line.split()) for path in sorted((ROOT / "Examples/ios").rglob("*.swift")) for line in path.read_text().splitlines()]


def variables(text):
    """Every variable is one of `xcache serve`."""
    said = subprocess.run([PROGRAM, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"^[A-Z]\w+", text, re.M):
        assert re.search(rf"\b{name}\b", said), f"xcache serve has no {name}"


def shell(text):
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def unit(text):
    """Three settings that systemd.exec(5) has."""
    read = configparser.ConfigParser(strict=True)
    read.optionxform = str
    read.read_string(text)
    assert set(read["Service"]) == {"AmbientCapabilities", "CapabilityBoundingSet", "PrivateUsers"}, list(read["Service"])


def site(text):
    """A policy, and bundles of xcache.json whose pages have the same one."""
    guide = (ROOT / "docs/guide-web.md").read_text()
    name, policy = re.search(r"^    (Content-Security-Policy): (.*)$", guide, re.MULTILINE).groups()
    if text.startswith('"'):
        headers = json.loads("{%s}" % text)["bundles"]["main"]["headers"]["*.html"]
        assert headers[name] == policy, f"{headers[name]} isn't {policy}"
    else:
        assert {"worker-src 'self'", "default-src 'self'"} <= set(policy.split("; ")), policy


def javascript(text):
    """It parses, and what it calls is declared."""
    node = shutil.which("node") or shutil.which("nodejs")
    if node:
        subprocess.run([node, "--check", "-"], input=text, text=True, check=True)
    declared = (ROOT / "public/runtime/dist/xcache.d.ts").read_text()
    for name in re.findall(r"\bxcache\.(\w+)\(", text):
        assert re.search(rf"\b{name}[(<:?]", declared), f"xcache.d.ts has no {name}"


def package(text):
    """Packages' folders are there, and have the products."""
    folders = [folder for folder in re.findall(r'path: "(xcache[^"]*)"', text)]
    for name, of in re.findall(r'\.product\(name: "(\w+)", package: "([^"]+)"', text):
        folder = next(folder for folder in folders if folder.endswith(of))
        manifest = (ROOT / folder.replace("xcache", ".", 1) / "Package.swift").read_text()
        assert f'.library(name: "{name}"' in manifest, f"{folder}/Package.swift has no product {name}"


def ios(text):
    """Each line is one of the example app, which check-apple type-checks."""
    known = ios_sources()
    for line in text.splitlines():
        assert " ".join(line.split()) in known, f"Examples/ios has no line {line.strip()!r}"


def usage(text):
    said = subprocess.run([sys.executable, "Tests/Conformance/run.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for option in re.findall(r"--\w+", text):
        assert option in said, f"Tests/Conformance/run.py has no {option}"
    targets(text)


def targets(text):
    """What a developer types: targets of the Makefile, its strict flags, packages that CI installs, products of an example."""
    makefile = (ROOT / "Makefile").read_text()
    for line in text.splitlines():
        words = line.split("  ")[0].split()
        if words[0] == "make":
            for target in words[1:]:
                assert re.search(rf"^{target}:", makefile, re.M), f"the Makefile has no {target}"
        elif words[:2] == ["swift", "build"]:
            strict = re.search(r"^STRICT :?= (.*)$", makefile, re.M)[1]
            assert " ".join(words[3:]) == strict, f"the Makefile has {strict}"
        elif words[0] == "apt-get":
            stems = [re.sub("-(dev|0)$", "", name) for name in words[2:]]
            assert all(re.search(rf"\.ci/packages .*{stem}", makefile) for stem in stems), "the Makefile installs other packages"
        elif words[:2] == ["swift", "run"]:
            assert f'name: "{words[2]}"' in (ROOT / "Examples/kiosk/Package.swift").read_text(), f"the example has no {words[2]}"


def tarball(text):
    """The files that it installs are in deploy/, and the version is the program's."""
    shell(text)
    for name in re.findall(r"\b(?:sysusers|serve|xcache|logrotate)\.(?:conf|env|service)\b", text.replace("sysusers.d/xcache.conf", "")):
        assert (ROOT / "deploy" / name).exists(), f"deploy has no {name}"
    version = subprocess.run([PROGRAM, "version"], capture_output=True, text=True, check=True).stdout.split()[1]
    assert set(re.findall(r"xcache-(\d+\.\d+\.\d+)", text)) == {version}, f"the program is {version}"


def form(text):
    """A form of URLs: the URLs of the protocol's own examples that are of its kind have it."""
    pattern = re.sub(r"\\{.*?\\}", "[^/]+", re.escape(text.strip()).replace(r"\{public\-url\}", "https://cdn.example.com/hxm/tech", 1))
    urls = re.findall(r'"download":"([^"]*)"', (ROOT / "docs/protocol.md").read_text())
    kind = next((kind for kind in ("/delta/", "/pack/0-", "/pack/") if kind in text), None)
    urls = [url for url in urls if (kind in url if kind else not re.search("/(delta|pack|script)/", url))]
    assert urls and all(re.fullmatch(pattern, url) for url in urls), f"{pattern}: {urls}"


def case(text):
    """A case whose steps the runner knows."""
    runner = (ROOT / "Tests/Conformance/runner/case.py").read_text()
    for step in json.loads(text)["steps"]:
        assert any(f"def do_{verb}(" in runner for verb in step), f"the runner knows none of {', '.join(step)}"


def helper(text):
    """Lines of JSON whose members xcache-webkit reads."""
    source = (ROOT / "Sources/Tool/PreviewProtocol/EngineSettings.swift").read_text()
    for line in text.splitlines():
        for name in json.loads(line):
            assert re.search(rf"\b(let|var) {name}\b", source), f"EngineSettings.swift has no {name}"


def document(text):
    """A document of the protocol: the schema that is for its members takes it."""
    value = json.loads(text)
    data = value.get("data", value)
    name = ("prefetchConfig" if "config" in data else "policy" if "bypass" in data else "info" if "files" in data
            else "report" if {"reason", "counts", "evidence", "sample"} & set(data) else "configure")
    schema = json.loads((ROOT / f"docs/schemas/{name}.schema.json").read_text())
    errors = [error.message for error in Draft202012Validator(schema).iter_errors(value)]
    assert not errors, f"{name}.schema.json: {errors}"


def member(text):
    """A member of the answer to a poll: its own schema takes it."""
    schema = json.loads((ROOT / "docs/schemas/configure.schema.json").read_text())
    for name, value in json.loads("{%s}" % text).items():
        described = list(find(schema, name))
        assert described, f"configure.schema.json has no {name}"
        errors = [error.message for each in described for error in Draft202012Validator(each).iter_errors(value)]
        assert not errors, f"{name}: {errors}"


def find(schema, name):
    """Each description of a member, anywhere in a schema."""
    if isinstance(schema, list):
        for part in schema:
            yield from find(part, name)
    elif isinstance(schema, dict):
        if name in schema.get("properties", {}):
            yield schema["properties"][name]
        for part in schema.values():
            yield from find(part, name)


def poll(text):
    """The text names every parameter of the request."""
    described = (ROOT / "docs/protocol.md").read_text().split("## 2. The poll")[1].split("\n## ")[0]
    for name in urllib.parse.parse_qs(urllib.parse.urlsplit(text.split()[1]).query):
        assert re.search(rf"`{name}(=1)?`", described), f"section 2 doesn't describe {name}"


def renaming(text):
    """The example of renamed words, by the device in Python."""
    parts = {name: rest.split("  ")[0] for name, rest in re.findall(r"^(old URL|new URL|old file|renamed) +(.*)$", text, re.M)}
    script = "import json, re, sys; sys.dont_write_bytecode = True; sys.path.insert(0, 'Examples/python'); import device\n" \
        "parts = json.load(sys.stdin); words = device.renamed_words([(parts['old URL'], parts['new URL'])])\n" \
        "print(re.sub(rb'[\\w-]+', lambda word: words.get(word[0], word[0]), parts['old file'].encode()).decode())"
    done = subprocess.run(["/usr/bin/python3", "-c", script], cwd=ROOT, input=json.dumps(parts), capture_output=True, text=True, check=True)
    assert done.stdout.rstrip("\n") == parts["renamed"], done.stdout


def reader(block):
    """What reads an example."""
    if block.file == "docs/protocol.md":
        return (poll if block.text.startswith("GET") else renaming if block.text.startswith("old URL")
                else form if block.text.startswith("{public-url}") else member if block.text.startswith('"') else document)
    if block.text.startswith(".package"):
        return package
    if block.text.startswith(("make ", "swift ", "apt-get ")):
        return targets
    if block.text.startswith("XCACHE_"):
        return variables
    return {"docs/guide-ios.md": ios, "docs/guide-webkit.md": helper, "docs/guide-web.md": site if block.text.startswith(('"', "Content-")) else javascript,
            "docs/conformance.md": case if block.text.startswith("{") else usage,
            "deploy/OPERATIONS.md": tarball if block.text.startswith("tar ") else shell if block.text.startswith("#!") else unit if block.text.startswith("[") else variables}[block.file]


def main():
    count = 0
    for block in blocks():
        if block.check == TEXTS:
            count += 1
            try:
                reader(block)(block.text)
            except (AssertionError, ValueError, subprocess.CalledProcessError, configparser.Error) as failure:
                raise SystemExit(f"{block.file}:{block.line}: {failure}")
    print(f"texts: {count} examples can be read by what they are for")


if __name__ == "__main__":
    main()
