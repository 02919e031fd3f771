#!/usr/bin/env python3
"""Says of every example in the documents how it is checked, and counts them; one that isn't in the table fails.   blocks.py

The table has, for each document, its examples in their order: how each begins, and by what it is checked. What begins with "not" isn't
checked, and says why.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS, GUIDES, SWIFT, TEXTS, DRILL = "commands.py", "guides.py", "swift_blocks.py", "texts.py", "make test-deb"

TABLE = {
    "README.md": [
        ("make demo", TEXTS), ("make build", "not: make test-docs builds it before anything else"),
        *[(line, STEPS) for line in ("mkdir /tmp", "xcache login", "mkdir dist", "xcache pull", "xcache init", "xcache pull", "xcache rollback")],
        ("xcache serve", GUIDES), ("xcache token create", GUIDES), ("// Package.swift", SWIFT)],
    "CONTRIBUTING.md": [("make build", TEXTS), ("swift build", TEXTS), ("XCACHE_RECORD=1", "not: it writes golden files anew")],
    "deploy/OPERATIONS.md": [
        ("apt install", DRILL), ("tar -xzf", TEXTS),
        *[(start, "not: it needs a wildcard name with a certificate; EndToEnd drives the listener")
          for start in ("XCACHE_CONSOLE_URL", "server {", "*.xcache-preview.com")],
        ("XCACHE_LISTEN", TEXTS), ("#!/bin/sh", TEXTS),
        ("openssl", GUIDES), ("[Service]", TEXTS), ("xcache mirror", GUIDES), ("curl -X POST", "not: it needs an account at Fastly"),
        ("curl -sS", "not: it needs a cache; make test-edge looks at policies through one"), ("export XCACHE_SERVER", DRILL),
        *[("", DRILL)] * 20, ("apt install", DRILL)],
    "deploy/edge/README.md": [
        ("xcache serve", "not: make test-edge starts origins so"), ("[Service]", "not: it needs Varnish under systemd"),
        ("frontend", "not: it needs hitch"), ("curl -si", "not: it needs an edge; make test-edge sends the same"),
        *[(start, "not: it needs an account at Fastly") for start in ("xcache serve", "if (req.url.path", "if (req.url.path", "if (req.url.path", "if (fastly")],
        *[(start, "not: it needs an account at Cloudflare") for start in ("xcache serve", "const grammar", "export default", "http.host")]],
    "docs/quick-start.md": [("", STEPS)] * 18,
    "docs/guide-release.md": [
        ("xcache login", GUIDES), ('"index"', GUIDES),
        ("xcache publish --source-maps", "not: it needs a build with maps; OriginTests.SourceMapAPITests keeps and reads them"), ('"fallback"', GUIDES), ('"lazy"', GUIDES),
        ("new devices", "not: EndToEnd.LazyTests compares such lines"), ("$ npm run build", GUIDES), ("xcache token create", GUIDES),
        ("xcache publish -m", "not: it needs an app with a root; EndToEnd.TrustCeremonyTests and SigningTests sign"), ("xcache publish", GUIDES),
        ("xcache publish --rollout", "not: EndToEnd.RolloutTests drives these commands"),
        ("xcache publish --ramp", "not: EndToEnd.RolloutAlarmTests drives these commands"),
        ("version 2 goes to 5 %", "not: EndToEnd.RolloutAlarmTests compares such lines"),
        ("evidence against it since", "not: XCacheTests.RolloutOutputTests compares such lines"),
        ("$ xcache status", GUIDES), ("$ xcache channel freeze", GUIDES), ("$ xcache log", GUIDES)],
    "docs/guide-commands.md": [
        ("xcache publish", GUIDES), ("[{", GUIDES), ("$ xcache prefetch", GUIDES), ("xcache policy", GUIDES), ("$ xcache check", GUIDES),
        ('"check"', GUIDES), ("xcache rollback", GUIDES), ("$ xcache mirror", GUIDES), ("$ xcache restore", GUIDES),
        ("$ xcache backup", GUIDES),
        ("$ xcache samples", "not: XCacheTests.SamplesOutputTests compares such lines"), ("$ xcache webhook", GUIDES), ("(printf whsec_", GUIDES),
        ("$ xcache serve", "not: it needs /srv, and a wildcard name; EndToEnd.PreviewListenerTests starts servers so"), ("{", GUIDES)],
    "docs/guide-app.md": [("xcache web init", GUIDES), ("let runtime", SWIFT), ("let host", SWIFT)],
    "docs/guide-web.md": [("$ export XCACHE_SERVER", GUIDES), ('xcache.on("updated"', TEXTS), ("xcache.describe", TEXTS),
                          ("Content-Security-Policy", TEXTS), ('"bundles"', TEXTS), ("xcache web init", GUIDES)],
    "docs/guide-console.md": [("$ xcache token create", GUIDES)],
    "docs/guide-teams.md": [
        ("XCACHE_OIDC_ISSUER", TEXTS), *[("XCACHE_OIDC_ISSUER", TEXTS)] * 5,
        ("xcache login", "not: it needs a provider and a browser; make test-sso signs in so"), ("xcache identity add", GUIDES),
        ("permissions:", "not: it needs GitHub; make check-deploy reads deploy/ci/github-publish.yml"),
        ("publish:", "not: it needs GitLab; make check-deploy reads deploy/ci/gitlab-publish.yml"), ("xcache identity add", GUIDES),
        ("xcache channel protect", GUIDES), ("xcache approve", GUIDES)],
    "docs/guide-scale.md": [("$ devices", GUIDES), ("$ per_gb", GUIDES), ("$ versions", GUIDES), ("(umask", GUIDES),
                            ("export XCACHE_FASTLY_TOKEN", "not: it needs an account at Fastly; OriginTests purge by its API's words"),
                            ("$ reports", GUIDES)],
    "docs/trust.md": [
        ("xcache trust init", GUIDES), ("export XCACHE_SIGN_KEY", GUIDES), ("xcache publish --sign-with", GUIDES), ('"signWith"', GUIDES),
        ("$ xcache publish --sign-key", "not: it needs two people; Tests/EndToEnd/WaitingTests.swift takes the same steps"),
        *[(start, "not: Tests/Trust/drills.py takes these steps, on two machines")
          for start in ("(umask", "xcache trust add-key", "xcache trust resign", "xcache trust set-threshold", "xcache trust add-key",
                        "xcache trust resign", "xcache trust remove-key")],
        ("xcache trust add-key", GUIDES), ("xcache trust add-key", GUIDES), ("xcache token revoke", GUIDES), ("xcache publish", GUIDES),
        ("xcache trust add-key", GUIDES), ("xcache trust set-floor", GUIDES), ("xcache trust add-key", GUIDES), ("xcache trust remove-root", GUIDES),
        ("xcache mirror verify", GUIDES), ("xcache trust rotate-head", GUIDES), ("rm /srv/www", GUIDES), ("(umask", GUIDES), ("xcache mirror", GUIDES),
        ("xcache trust off", GUIDES)],
    "docs/guide-runtime.md": [("", SWIFT)] * 8,
    "docs/guide-network.md": [("", SWIFT)] * 3,
    "docs/guide-ios.md": [(".package", TEXTS), *[("", TEXTS)] * 4],
    "docs/guide-webkit.md": [("apt-get install", TEXTS), (".package", TEXTS), *[("", SWIFT)] * 5, ("make webkit", TEXTS), ("{", TEXTS)],
    "docs/conformance.md": [("Tests/Conformance/run.py", TEXTS), ("{", TEXTS)],
    "docs/protocol.md": [
        ("GET", TEXTS), *[("{", TEXTS)] * 2, ('"first"', TEXTS), *[("{", TEXTS)] * 2, ('"fallback"', TEXTS), *[("{public-url}", TEXTS)] * 3, ("pack", "not: it is a grammar, in words"),
        ("old URL", TEXTS), ("{public-url}", TEXTS), *[("{", TEXTS)] * 9, ('"rollout"', TEXTS),
        *[("{", "not: Tests/Conformance/trust/make.py --check compares its members with those that are read")] * 6],
    "docs/evidence.md": [("", "not: a formula; docs/vectors/evidence.py computes by them")] * 8,
    "docs/openapi/README.md": [("curl", GUIDES)],
    "Examples/kiosk/README.md": [("apt-get install", TEXTS)],
    "Examples/python/README.md": [("make conformance-python", TEXTS), ("Examples/python", GUIDES)],
    "Examples/web/README.md": [("make build", "not: it waits for a person at a browser; guides.py takes the same steps from docs/guide-web.md")],
}

# Examples that need the engine's helper, wherever they stand.
PREVIEW = ("$ xcache preview", "$ xcache smoke")

Block = collections.namedtuple("Block", "file line language text check")


def examples(text):
    """The line, language and text of each example: a fence, or paragraphs of indented lines outside of lists."""
    lines, at, last = text.splitlines(), 0, ""
    while at < len(lines):
        fence = re.match(r"```(\w*)", lines[at])
        if fence:
            end = lines.index("```", at + 1)
            yield at + 1, fence[1], "\n".join(lines[at + 1:end]) + "\n"
            at = end
        elif lines[at].startswith("    ") and not re.match(r" *([-*]|\d+\.) ", last):
            start, session = at, lines[at].startswith("    $ ")
            while at < len(lines) and (lines[at].startswith("    ") or session and not lines[at] and lines[at + 1:at + 2][0].startswith("    ")):
                at += 1
            yield start + 1, "", "\n".join(line[4:] for line in lines[start:at]) + "\n"
            continue
        elif lines[at] and not lines[at].startswith(" "):
            last = lines[at]
        at += 1


def blocks():
    """Every example of the documents with its check."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "README.md", "CONTRIBUTING.md", "SECURITY.md",
                             "deploy/*.md", "docs/*.md", "Examples/*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.split():
        every, known = list(examples((ROOT / name).read_text())), TABLE.get(name, [])
        found = [example for example in every if not example[2].startswith(PREVIEW)]
        for line, language, text in every:
            if text.startswith(PREVIEW):
                yield Block(name, line, language, text, "make test-preview")
        for (line, language, text), (begins, check) in zip(found, known):
            if not text.startswith(begins):
                raise SystemExit(f"{name}:{line}: Tests/Docs/blocks.py expects an example that begins with {begins!r} here")
            yield Block(name, line, language, text, check)
        if len(found) > len(known):
            raise SystemExit(f"{name}:{found[len(known)][0]}: Tests/Docs/blocks.py doesn't say how this example is checked")
        if len(found) < len(known):
            raise SystemExit(f"{name}: Tests/Docs/blocks.py knows {len(known)} examples, and there are {len(found)}")


def main():
    every, makefile = list(blocks()), (ROOT / "Makefile").read_text()
    every = [block if not block.check.startswith("make ") or f"\n{block.check[5:]}:" in makefile
             else block._replace(check=f"not: the Makefile has no {block.check[5:]}") for block in every]
    left = [block for block in every if block.check.startswith("not")]
    kinds = collections.Counter(block.check for block in every if block not in left)
    for block in left if "--left" in sys.argv else []:
        print(f"  {block.file}:{block.line}: {block.check}: {block.text.splitlines()[0][:60]}")
    print(f"examples: {len(every) - len(left)} of {len(every)} are checked ("
          + ", ".join(f"{count} by {kind}" for kind, count in kinds.most_common()) + f"); {len(left)} aren't: blocks.py --left")


if __name__ == "__main__":
    main()
