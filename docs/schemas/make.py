#!/usr/bin/env python3
"""Writes the JSON Schemas of this folder (draft 2020-12), so that their common parts are written once.   make.py [--check]"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent

VERSION = {"type": "string", "pattern": "^(0|[1-9][0-9]{0,15})$", "description": "a version: a decimal number as a string"}
SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
NUMBER = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
HTTP = {"type": "string", "pattern": "^https?://"}
LISTED = {"type": "string", "pattern": "^https?://[^#]*$", "maxLength": 4096}
HEADERS = ["Content-Security-Policy", "Content-Security-Policy-Report-Only", "Referrer-Policy", "Permissions-Policy",
           "Cross-Origin-Opener-Policy", "Cross-Origin-Embedder-Policy", "Cross-Origin-Resource-Policy", "X-Frame-Options",
           "Service-Worker-Allowed"]
ENTRY = {
    "type": "object", "required": ["ctype", "download", "md5", "sha256", "size", "version"],
    "properties": {
        "ctype": {"type": "string", "pattern": "^[ -~]+$", "description": "the media type of the page's own answer"},
        "download": {**HTTP, "description": "where the bytes are; a device's cache key"},
        "md5": {"type": "string", "pattern": "^[0-9a-f]{32}$"}, "sha256": SHA256, "size": NUMBER,
        "version": {"type": "string", "pattern": "^[1-9][0-9]{0,15}$", "description": "the resource version"},
        "bundle": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", "description": "its bundle, in a channel with a root"},
        "headers": {"type": "object", "description": "fields to send when a page is answered from a local file",
                    "properties": {name: {"type": "string", "pattern": "^[!-~]([ -~]{0,8190}[!-~])?$"} for name in HEADERS}},
        "fallback": {"type": "array", "minItems": 1, "maxItems": 4, "description": "for which paths the page answers that nothing else does",
                     "items": {"type": "object", "required": ["prefix"], "properties": {
                         "prefix": {"type": "string", "pattern": "^/([^?#]*/)?$", "description": "a path of the page's own origin"},
                         "except": {"type": "array", "maxItems": 8, "items": {"type": "string", "pattern": "^/[^#]*$"}}}}},
        "lazy": {"const": True, "description": "updates leave the file out until a page asks for it"}}}
CHANGE = {**ENTRY, "type": ["object", "null"]}
# A merge patch may change single members of an entry, and remove others with null.
CHANGE.pop("required")
CHANGE["properties"] = {name: {"anyOf": [value, {"type": "null"}]} for name, value in ENTRY["properties"].items()
                        if name != "headers"}
CHANGE["properties"]["headers"] = {"type": ["object", "null"], "additionalProperties": {"type": ["string", "null"]}}
FILE = {"type": "object", "required": ["download", "size"], "properties": {"download": HTTP, "size": NUMBER}}
DELTA = {"type": "object", "required": ["base", "download", "size"], "properties": {"base": SHA256, **FILE["properties"]}}
ROLLOUT = {
    "type": "object", "required": ["seed", "share", "version"],
    "description": "the rule by which a device decides whether it follows the candidate",
    "properties": {
        "version": VERSION, "seed": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
        "share": {"type": "integer", "minimum": 0, "maximum": 10000, "description": "buckets that are in, of 10,000"},
        "groups": {"type": "array", "minItems": 1, "maxItems": 20, "uniqueItems": True,
                   "items": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,31}$"}},
        "app": {"type": "string", "maxLength": 256, "description": "a range of app versions"},
        "prefetch": {**VERSION, "description": "the prefetch config that goes along with the candidate"}}}
BASE64 = {"type": "string", "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"}
ENVELOPE = {
    "type": "object", "required": ["payload", "payloadType", "signatures"], "description": "a signed document",
    "properties": {
        "payload": BASE64, "payloadType": {"type": "string", "pattern": "^application/vnd\\.xcache\\.(root|release|prefetch|head)\\+json$"},
        "signatures": {"type": "array", "maxItems": 16, "items": {
            "type": "object", "required": ["keyid", "sig"], "properties": {"keyid": SHA256, "sig": BASE64}}}}}
TRUST = {
    "type": "object", "description": "the head, and the statements of the bundles that changed; in a whole manifest those of all",
    "properties": {"head": ENVELOPE, "releases": {"type": "array", "maxItems": 1000, "items": ENVELOPE}}}
NEWEST = {
    "update": {"type": "boolean"}, "version": VERSION,
    "interval": {"type": "integer", "minimum": 30, "maximum": 3600, "description": "seconds between polls"},
    "policy": VERSION, "prefetch": VERSION, "rollback": VERSION, "rollout": ROLLOUT,
    "root": {"type": "string", "pattern": "^[1-9][0-9]{0,15}$", "description": "the number of the newest root"},
    "reports": {"type": "integer", "minimum": 0, "maximum": 10000, "description": "batches asked for, of 10,000"},
    "samples": {"const": 0, "description": "no error samples are asked for"}}
DIGEST = {**SHA256, "description": "of the resourcemap that the answer leads to"}
EVIDENCE = {"type": "object", "required": ["arm", "failed", "opened", "version"], "properties": {
    "age": {"type": "integer", "minimum": 0, "maximum": 24, "description": "whole hours since the device opened its first page"},
    "arm": {"enum": ["candidate", "control"]}, "failed": {"enum": [0, 1]}, "opened": {"enum": [0, 1]}, "version": VERSION}}
SAMPLE = {"type": "object", "required": ["kind", "message", "page"], "properties": {
    "engine": {"type": "string", "maxLength": 64, "description": "name and major version"},
    "kind": {"enum": ["script", "rejection", "page", "process"]}, "message": {"type": "string", "maxLength": 512},
    "page": {"type": "string", "pattern": "^https?://", "maxLength": 1024},
    "stack": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 300, "description": "FUNCTION@URL:LINE:COLUMN"}}}}
FAILURE = {"type": "object", "required": ["code", "message"],
           "properties": {"code": {"type": "integer", "minimum": 400, "maximum": 599}, "message": {"type": "string"}}}


def answer(data):
    return {"type": "object", "required": ["code", "data"], "properties": {"code": {"const": 200}, "data": data}}


def update(required, **members):
    return {"type": "object", "required": ["update", "version", "digest", *required],
            "properties": {**NEWEST, "update": {"const": True}, "digest": DIGEST, "trust": TRUST, **members}}


def mapped(value, key=LISTED):
    return {"type": "object", "propertyNames": key, "additionalProperties": value}


NOTHING = {"type": "object", "required": ["update", "version"], "properties": {**NEWEST, "update": {"const": False}}}
WHOLE = update(["resourcemap"], resourcemap=mapped(ENTRY), base=VERSION, deltas=mapped(DELTA), first=FILE)
PATCH = update(["base", "patch", "deltas"], base=VERSION, patch=mapped(CHANGE), deltas=mapped(DELTA))
PACK = update(["base", "pack"], base=VERSION, pack=FILE)
for one, others in ((WHOLE, ("patch", "pack")), (PATCH, ("resourcemap", "pack")), (PACK, ("resourcemap", "patch", "deltas"))):
    one["not"] = {"anyOf": [{"required": [name]} for name in others]}

SCHEMAS = {
    "configure": ("The answer to a poll, and `configure.json`, `configure/V.json`, `patch/A-B.json`, `update/A-B.json` and "
                  "`version.json` of a static copy",
                  {"oneOf": [answer({"oneOf": [NOTHING, WHOLE, PATCH, PACK]}), FAILURE]}),
    "prefetchConfig": ("What a device requests when a page opens", answer({
        "type": "object", "required": ["config", "name", "version"], "properties": {
            "name": {"const": "prefetchConfig"}, "version": VERSION, "trust": ENVELOPE,
            "config": {"type": "array", "items": {"type": "object", "required": ["interfaces", "url"], "properties": {
                "url": HTTP, "interfaces": {"type": "array", "items": {"type": "object", "required": ["api", "method"], "properties": {
                    "api": HTTP, "method": {"type": "string"}, "urlParam": {"type": "boolean"}, "bodyParam": {"type": "boolean"},
                    "body": True, "paramTypes": {"type": "object", "additionalProperties": {"const": "number"}}}}}}}}}})),
    "policy": ("What apps leave alone, switch off or inject", answer({
        "type": "object", "required": ["bypass", "intercept", "scripts", "version"], "properties": {
            "bypass": {"type": "array", "items": {"type": "string", "pattern": "^(https?|\\*)://"}},
            "bypassUntil": {"type": "object", "additionalProperties": {"anyOf": [{"type": "string", "format": "date-time"},
                                                                                {"type": "null"}]}},
            "intercept": {"type": "boolean"}, "httpdns": {"const": False}, "version": VERSION,
            "until": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
            "scripts": {"type": "array", "items": {"type": "object", "required": ["download", "name", "sha256", "signature"], "properties": {
                "download": HTTP, "name": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}, "sha256": SHA256, "signature": {"type": "string", "pattern": "^[A-Za-z0-9+/]{86}==$"}}}}}})),
    "info": ("The newest manifest's URLs, for clients that know only file lists", {
        "type": "object", "required": ["files", "version"], "properties": {
            "files": {"type": "array", "items": LISTED}, "version": {"type": "string", "pattern": "^[0-9a-f]{20}$"}}}),
    "envelope": ("A root (`root/N.json`) or a head (`head.json`) of a channel with a root, and what answers have in `trust`", ENVELOPE),
    "report": ("What a device reports: a failure, a batch of counts, what a rollout came to, or an example of how pages failed", {"oneOf": [
        {"type": "object", "required": ["reason", "url", "version"], "properties": {
            "reason": {"enum": ["download", "not-found", "integrity", "patch", "manifest", "storage", "timeout", "other",
                                "trust-root", "trust-head", "trust-entry", "trust-content", "trust-scope", "trust-floor", "trust-policy",
                                "trust-prefetch", "trust-stale", "returned"]},
            "cause": {"enum": ["page", "start", "rejected"], "description": "of `returned`"}, "evidence": EVIDENCE,
            "url": {"type": "string", "maxLength": 4096}, "version": VERSION}, "not": {"required": ["counts"]}},
        {"type": "object", "required": ["evidence"], "properties": {"evidence": EVIDENCE},
         "not": {"anyOf": [{"required": ["counts"]}, {"required": ["reason"]}]}},
        {"type": "object", "required": ["counts", "version"], "properties": {
            "counts": {"type": "object", "maxProperties": 128,
                       "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 1000000}},
            "version": VERSION}, "not": {"required": ["reason"]}},
        {"type": "object", "required": ["sample", "version"], "properties": {"sample": SAMPLE, "version": VERSION},
         "not": {"anyOf": [{"required": ["counts"]}, {"required": ["reason"]}, {"required": ["evidence"]}]}}]}),
    "reported": ("The answer to a report", {"oneOf": [
        {"type": "object", "required": ["code"], "properties": {"code": {"const": 200}}, "not": {"required": ["message"]}},
        FAILURE]}),
    "mirror": ("`mirror.json` of a static copy: what it has, for `mirror verify` and `restore`", {
        "type": "object", "required": ["at", "channels"], "properties": {
            "at": {**NUMBER, "description": "milliseconds since 1970"},
            "audit": {"type": "string", "pattern": "^[0-9]+:[0-9a-f]{64}$"},
            "channels": {"type": "array", "items": {
                "type": "object", "required": ["app", "appID", "channel", "digest", "files", "version"], "properties": {
                    "app": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$"}, "appID": NUMBER, "digest": SHA256,
                    "channel": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,31}$"}, "version": VERSION,
                    "files": mapped({"type": "object", "required": ["sha256", "size"],
                                     "properties": {"sha256": SHA256, "size": NUMBER}}, {"type": "string"})}}}}}),
    "release": ("`release/V.json` of a static copy: how a version came about", {
        "type": "object", "required": ["app", "appID", "at", "bundles", "channel", "digest", "kind", "publicURL", "version"],
        "properties": {
            "app": {"type": "string"}, "appID": NUMBER, "channel": {"type": "string"}, "digest": SHA256, "version": VERSION,
            "at": {**NUMBER, "description": "milliseconds since 1970"}, "publicURL": HTTP,
            "kind": {"enum": ["publish", "unpublish", "rollback", "promote", "rebase"]},
            "added": NUMBER, "changed": NUMBER, "removed": NUMBER, "resources": NUMBER, "bytes": NUMBER, "newBytes": NUMBER,
            "bundles": {"type": "array", "items": {"type": "object", "required": ["name", "urls", "version"], "properties": {
                "name": {"type": "string"}, "urls": {"type": "array", "items": LISTED}, "version": VERSION, "resources": NUMBER,
                "bytes": NUMBER, "added": NUMBER, "changed": NUMBER, "removed": NUMBER}}}}}),
    "webhook": ("The body of a webhook's request, without `--template slack`", {
        "type": "object", "required": ["data", "timestamp", "type"], "properties": {
            "timestamp": {"type": "string", "format": "date-time", "description": "when it happened"},
            "type": {"type": "string", "description": "receivers ignore types that they don't know", "examples": [
                "release", "rollback", "rollout", "halt", "kill", "resume", "bypass", "freeze", "thaw", "purge", "schedule",
                "mirror-late", "rollout.alarm", "approval.needed", "test"]},
            "data": {"type": "object", "properties": {
                "app": {"type": "string"}, "channel": {"type": "string"},
                "author": {"type": "string", "description": "the token that did it"},
                "receipt": {"type": "string", "pattern": "^[0-9]+:[0-9a-f]{64}$", "description": "its row in the audit trail"},
                "message": {"type": "string"}, "reason": {"type": "string"}, "breakGlass": {"type": "string"},
                "console": {**HTTP, "description": "the console's page about it, if the origin knows its URL"},
                "kind": {"enum": ["publish", "unpublish", "promote", "rebase"], "description": "of a release"},
                "version": VERSION, "previous": VERSION, "to": {**VERSION, "description": "what a rollback went back to"},
                "from": {"type": "string", "description": "the channel that was promoted"}, "fromVersion": VERSION,
                "bundle": {"type": "string"}, "bundles": {"type": "array", "items": {"type": "string"}, "maxItems": 50},
                "changes": {"type": "object", "properties": {"added": NUMBER, "changed": NUMBER, "removed": NUMBER}},
                "publicURL": HTTP, "policy": VERSION,
                "act": {"type": "string", "description": "of a rollout: set, pause, resume or complete; of a scheduled act: what it was",
                        "examples": ["set", "publish", "rollout.complete"]},
                "schedule": {**NUMBER, "description": "the id of a scheduled act"},
                "summary": {"type": "string", "description": "a scheduled act, in words"},
                "due": {"type": "string", "format": "date-time", "description": "when a scheduled act was to be done"},
                "state": {"enum": ["failed", "missed", "cancelled"], "description": "of a scheduled act; cancelled: somebody rejected it"},
                "missing": {**NUMBER, "description": "how many approvals an act waits for"},
                "code": {"type": "string", "description": "why a scheduled act failed, as the API's problems have it"},
                "hint": {"type": "string", "description": "what can be done about it"},
                "candidate": {**VERSION, "description": "of a rollout that was halted"},
                "prefetch": {**VERSION, "description": "the prefetch config that a completed rollout made the channel's"},
                "overtaken": {**VERSION, "description": "the prefetch config of a rollout that ended since a newer one replaced it"},
                "is": {"type": "object", "description": "the share of 10,000, groups, app versions and pause of a rollout, now"},
                "was": {"type": "object", "description": "the same, before"},
                "rollout": {"type": "object", "description": "what a release did to the channel's rollouts"},
                "until": {"type": "string", "description": "when the kill switch ends by itself"},
                "added": {"type": "array", "items": {"type": "string"}}, "removed": {"type": "array", "items": {"type": "string"}},
                "sha256": SHA256, "channels": {"type": "array", "maxItems": 50, "items": {
                    "type": "object", "required": ["app", "channel"],
                    "properties": {"app": {"type": "string"}, "channel": {"type": "string"}}}},
                "mirror": {"type": "string"}, "mirrorVersion": VERSION,
                "since": {"type": "string", "format": "date-time", "description": "since when a mirror lacks a release"},
                "webhook": {"type": "string", "description": "the id of the webhook that is tested"}}}}}),
    "problem": ("A failure of the API (RFC 9457), and of a command with `--json`", {
        "type": "object", "required": ["code", "detail", "title", "type"], "properties": {
            "type": {"const": "about:blank"}, "title": {"type": "string"}, "detail": {"type": "string"},
            "code": {"type": "string", "pattern": "^[a-z][a-z-]*$"}, "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "exitCode": {"enum": [1, 2, 3]}}})}


def main():
    stale = []
    for name, (title, schema) in SCHEMAS.items():
        text = json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}, indent=2) + "\n"
        path = HERE / f"{name}.schema.json"
        if "--check" in sys.argv:
            if not path.exists() or path.read_text() != text:
                stale.append(path.name)
        else:
            path.write_text(text)
    if stale:
        raise SystemExit(f"{', '.join(stale)}: not what make.py writes; run docs/schemas/make.py")


if __name__ == "__main__":
    main()
