#!/usr/bin/env python3
"""The jobs of deploy/ci publish without a stored token: each has just the rights that this takes, for the right audience.
identities.py (with ruamel.yaml, as in check-jsonschema's environment)"""
import pathlib, re

from ruamel.yaml import YAML

CI = pathlib.Path(__file__).resolve().parents[2] / "deploy/ci"


def read(name):
    text = (CI / name).read_text()
    assert not re.search(r"XCACHE_TOKEN", text), f"{name} has a token"
    return text, YAML(typ="safe").load(text)


def named(text, name):
    """The identities that the head's comments add and name, and those that the jobs act as."""
    head, body = text.split("\nname:" if "\nname:" in text else "\nstages:", 1)
    used = set(re.findall(r"ci-shop[a-z-]*", body))
    assert used and used <= set(re.findall(r"ci-shop[a-z-]*", head)), f"{name}: nobody adds {used}"
    [server] = set(re.findall(r"XCACHE_SERVER: (\S+)", body))
    [added] = re.findall(r"xcache identity add .*", head)
    assert f"--server {server} " in added, f"{name}: an identity's audience is {added}, the server {server}"
    return server


text, document = read("github-publish.yml")
named(text, "github-publish.yml")
holders = [job for job, parts in document["jobs"].items() if (parts.get("permissions") or {}).get("id-token")]
assert holders == ["publish"], f"GitHub vouches for {holders}"
assert document["permissions"] == {"contents": "read"}, document["permissions"]
assert document["jobs"]["publish"]["permissions"] == {"contents": "read", "id-token": "write"}

text, document = read("gitlab-publish.yml")
server = named(text, "gitlab-publish.yml")
holders = {job: parts["id_tokens"] for job, parts in document.items() if isinstance(parts, dict) and "id_tokens" in parts}
assert holders == {".xcache": {"XCACHE_ID_TOKEN": {"aud": server}}}, holders
extended = {job for job, parts in document.items() if isinstance(parts, dict) and parts.get("extends") == ".xcache"}
assert extended == {"preview", "publish"}, extended
print("   the publish jobs trade an ID token for this server, and store none")
