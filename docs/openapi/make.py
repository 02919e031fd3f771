#!/usr/bin/env python3
"""Writes docs/openapi/openapi.json (OpenAPI 3.1) of the API's own source.   make.py [--check]

Paths, methods and what a token needs come from the route table (APIRoutes.swift); what a request's body and query have, from the
handlers that it names; answers, from the functions of `OriginClient`; schemas, from the types of `OriginAPI`, and from the records
of `Manifests` with their coding (Coding/Records.swift). The Swift that it reads is regular; whatever it can't read ends it, so that nothing is left out in silence. Types with a coding of their own are below.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCES = {path: path.read_text() for folder in ("Common/Manifests/Records", "Origin/OriginAPI", "Tool/OriginClient")
           for path in sorted((ROOT / "Sources" / folder).rglob("*.swift"))}
HANDLERS = "\n".join(path.read_text() for path in sorted((ROOT / "Sources/Origin/Origin/API/Handlers").glob("*.swift")))
ROUTES = (ROOT / "Sources/Origin/Origin/API/Routing/APIRoutes.swift").read_text()

PATTERNS = {"ManifestVersion": "^(0|[1-9][0-9]{0,15})$", "SHA256": "^[0-9a-f]{64}$", "MD5": "^[0-9a-f]{32}$",
            "AppName": "^[A-Za-z][A-Za-z0-9_-]{0,63}$", "ChannelName": "^[a-z][a-z0-9-]{0,31}$", "BaseURL": "^https?://"}
SIMPLE = {"String": {"type": "string"}, "Bool": {"type": "boolean"}, "Int": {"type": "integer"}, "Int64": {"type": "integer"},
          "UInt64": {"type": "integer"}, "JSONValue": {}, "Moment": {"type": "string", "format": "date-time"},
          "BundleName": {"type": "string"}, "ContentType": {"type": "string"},
          "EntryHeaders": {"type": "object", "additionalProperties": {"type": "string"}},
          "PageFallbacks": {"type": "array", "minItems": 1, "maxItems": 4, "items": {"type": "object", "required": ["prefix"], "properties": {
              "prefix": {"type": "string"}, "except": {"type": "array", "maxItems": 8, "items": {"type": "string"}}}}},
          "ResourceContent": {"type": "object"},
          **{name: {"type": "string", "pattern": pattern} for name, pattern in PATTERNS.items()}}
NOT_READ = {"type": "string", "description": "a request that the server refused before it came to the API, for what it is as HTTP: its "
            "head is too long (414, 431), it isn't complete in time (408), it has a method that no path has (501)"}
SHA, VERSION = SIMPLE["SHA256"], SIMPLE["ManifestVersion"]


def ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


def both(*parts):
    return {"allOf": list(parts)}


# Types that write themselves: what they are made of.
OWN = {
    "ChannelRemovalAnswer": both(ref("ChannelSummary"), {"type": "object", "required": ["leavesNoDefault"],
                                                         "properties": {"leavesNoDefault": {"type": "boolean"}}}),
    "DocumentAnswer": {"type": "object", "required": ["version"], "properties": {"version": VERSION, "config": {}, "policy": {}},
                       "description": "the members of DocumentVersion, and the document; before the first one, version 0 alone"},
    "DocumentChangeAnswer": {
        "type": "object", "required": ["changed", "version", "manifestVersion"], "properties": {
            "changed": {"type": "boolean"}, "version": VERSION, "manifestVersion": VERSION, "calls": {"type": "integer"},
            "pages": {"type": "integer"}, "remarks": {"type": "array"}, "openRollout": ref("RolloutInfo"),
            "overtaken": ref("RolloutInfo"), "receipt": {"type": "string"}, "scheduled": ref("ScheduledInfo"),
            "replaced": {"anyOf": [ref("DocumentVersion"), {"type": "null"}]}},
        "description": "where something changed, the members of DocumentVersion, too"},
    "ChannelSettingsRequest": {"type": "object", "minProperties": 1, "properties": {
        "interval": {"type": ["integer", "null"]}, "hosts": {"type": ["array", "null"], "items": {"type": "string"}},
        "reports": {"type": ["integer", "null"]}, "samples": {"type": "boolean"}}},
    "EmptyRequest": {"type": "object"},
    "WaitingAct": both(ref("ScheduledInfo"), {"type": "object", "required": ["app", "channel"], "properties": {
        "app": SIMPLE["AppName"], "channel": SIMPLE["ChannelName"]}}),
    "ReleaseRequest": both(ref("ReleaseOptions"), {"type": "object", "properties": {
        "plan": SHA, "id": {"type": "string"}, "bundles": {
            "type": "array", "items": {"type": "object", "required": ["bundle"], "properties": {
                "bundle": {"type": "string"}, "unpublish": {"const": True}, "base": VERSION,
                "remove": {"type": "array", "items": {"type": "string"}},
                "set": {"type": "object", "additionalProperties": {"type": "object"}}}, "additionalProperties": False}}}})
    | {"unevaluatedProperties": False},
    "Problem": {"type": "object", "required": ["code", "title", "type", "status"], "properties": {
        "code": {"type": "string"}, "title": {"type": "string"}, "type": {"const": "about:blank"},
        "status": {"type": "integer"}, "detail": {"type": ["string", "null"]}}},
}
# What a manifest says of a URL: docs/schemas/configure.schema.json.
ENTRY = {"type": "object", "required": ["ctype", "download", "md5", "sha256", "size", "version"], "properties": {
    "ctype": {"type": "string"}, "download": {"type": "string", "format": "uri"}, "md5": SIMPLE["MD5"], "sha256": SHA,
    "size": {"type": "integer"}, "version": VERSION, "headers": SIMPLE["EntryHeaders"],
    "fallback": SIMPLE["PageFallbacks"], "lazy": {"const": True}}}
# Operations that the client sends or reads in a way of its own.
ANSWERS = {
    ("put", "blobs/*"): "BlobAnswer", ("post", "blobs"): "PackUploadAnswer", ("get", "*/settings"): "ChannelSettings",
    ("get", "*/schedules/*/request"): {"type": "object"}, ("get", "*/mirror/resources"): {"type": "object"}, ("get", "*/mirror/document"): {}, ("get", "*/manifest"): {"type": "object"},
    ("post", "*/releases"): "ReleaseAnswer", ("post", "*/preparations"): "PreparationAnswer",
    ("post", "*/settings"): "ChannelSettings", ("get", "audit/verify"): "AuditVerification", ("get", "token"): "TokenInfo",
    ("get", "*/entry"): ENTRY,
    # What only the console asks for.
    ("get", "sessions"): "SessionList", ("delete", "sessions/*"): "SessionInfo", ("get", "signins/*"): "PendingSignIn",
    ("post", "signins/*"): "SignInDecisionAnswer", ("post", "*/preview"): "PagePreviewAnswer",
    ("get", "*/releases/*/pictures"): "PagePictureList", ("post", "*/releases/*/pictures"): "PagePictureList",
    ("get", "*/releases/*/pictures/*"): {"type": "string"},
    ("post", "signins/*"): "SignInDecisionAnswer", ("get", "*/timeline"): "ChannelTimeline",
    ("get", "apps/*/trust"): "TrustOverview", ("post", "apps/*/trust/head-key"): "HeadKeyAnswer",
    ("post", "apps/*/trust/root"): "RootAnswer", ("post", "apps/*/trust/statements"): "StatementsAnswer",
    **{("post", f"*/rollout/{verb}"): "RolloutAnswer" for verb in ("set", "pause", "resume", "complete")},
    # The second one for a step that is scheduled.
    ("post", "*/rollout/halt"): {"anyOf": [ref("ReleaseAnswer"), ref("RolloutAnswer")]},
}
BODIES = {("post", "*/releases"): "ReleaseRequest", ("post", "*/preparations"): "ReleaseRequest",
          ("post", "blobs/missing"): "MissingBlobsRequest"}
# Answers that aren't JSON.
MEDIA = {("get", "*/releases/*/pictures/*"): "image/png"}
CHANNEL = "apps/*/channels/*"


def stop(words):
    raise SystemExit(f"docs/openapi/make.py: {words}")


def block(text, start):
    """What is between the brace or parenthesis at `start` and its partner."""
    depth, pairs = 0, {"{": "}", "(": ")", "[": "]"}
    opening = text[start]
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == pairs[opening])
        if depth == 0:
            return text[start + 1:at]
    stop(f"no end of {text[start:start + 60]!r}")


# -- Types


def declared():
    """Every struct and enum by its full name: its kind, its body without those inside, whether it has a coding of its own."""
    found = {}

    def scan(text, outer):
        rest, own = text, text
        for match in re.finditer(r"^ *package (struct|enum) (\w+)(<[^>]*>)?[^{\n]*\{", text, re.M):
            if text[:match.start()].count("{") != text[:match.start()].count("}"):
                continue
            body = block(text, match.end() - 1)
            name = f"{outer}.{match[2]}" if outer else match[2]
            found[name] = (match[1], scan(body, name), match[0])
            own = own.replace(body, "")
        return own if rest else rest
    for text in SOURCES.values():
        scan(text, "")
    return found


TYPES = declared()
ALIASES = dict(re.findall(r"package typealias (\w+) = (\S+)", "\n".join(SOURCES.values())))
used = {}


def records():
    """The members that each record's coding writes: what of the record, under which key, whether only if it has a value."""
    text = next(text for path, text in SOURCES.items() if path.match("OriginAPI/Coding/Records.swift"))
    found = {}
    for match in re.finditer(r"^extension ([\w.]+): Codable \{", text, re.M):
        body = block(text, match.end() - 1)
        encode = block(body, body.index("{", body.index("func encode(to")))
        found[match[1]] = [(value, key, bool(optional)) for optional, value, key in
                           re.findall(r"members\.encode(IfPresent)?\(([\w?.]+), forKey: \.(\w+)\)", encode)]
        keys = re.search(r"enum Key: CodingKey \{ case ([\w, ]+) \}", body)
        if sorted(key for _, key, _ in found[match[1]]) != sorted(keys[1].split(", ")):
            stop(f"not every member of {match[1]} was read")
    return found


RECORDS = records()


def record(name):
    """The schema of a record."""
    properties, required = {}, []
    for value, key, optional in RECORDS[name]:
        of = name
        for part in (path := value.replace("?", "").split(".")):
            found = re.search(rf"((?: *///.*\n)*) *package (?:private\(set\) )?(?:let|var) {part}: ([^={{\n]+)", TYPES[of][1])
            if not found:
                stop(f"what is {value} of {name}?")
            type = found[2].strip()
            if part != path[-1]:
                of = f"{of}.{type.removesuffix('?')}"
        notes = " ".join(line.strip().removeprefix("///").strip() for line in found[1].splitlines()).replace("`", "")
        schema = typed(type if not optional else type.removesuffix("?"), of)
        properties[key] = {**schema, "description": notes} if notes else schema
        if not optional:
            required.append(key)
    return {"type": "object", "properties": properties, "required": required}


def typed(text, inside=""):
    """The schema of a Swift type, as it is written within the type `inside`."""
    if text.endswith("?"):
        return {"anyOf": [typed(text[:-1], inside), {"type": "null"}]}
    if match := re.fullmatch(r"\[String: (.+)\]", text):
        return {"type": "object", "additionalProperties": typed(match[1], inside)}
    if match := re.fullmatch(r"\[(.+)\]", text):
        return {"type": "array", "items": typed(match[1], inside)}
    if match := re.fullmatch(r"ReleaseAct<(\w+)>", ALIASES.get(text, text)):
        return both(typed("ReleaseAnswer"), typed(match[1]))
    if text in SIMPLE:
        return SIMPLE[text]
    scope = inside
    while scope and f"{scope}.{text}" not in TYPES:
        scope = scope.rpartition(".")[0]
    name = f"{scope}.{text}" if scope else text
    if name not in TYPES and name not in OWN:
        stop(f"what is {text} (in {inside or 'an operation'})?")
    if name not in used:
        used[name] = None
        used[name] = OWN.get(name) or (record(name) if name in RECORDS else schema(name))
        for inner in re.findall(r'"#/components/schemas/([\w.]+)"', json.dumps(used[name])):
            if inner not in used:
                typed(inner)
    return ref(name)


def schema(name):
    kind, body, head = TYPES[name]
    if kind == "enum":
        cases = [case.strip() for line in re.findall(r"^ *case (.+)$", body, re.M) for case in line.split(",")]
        return {"type": "string", "enum": [re.sub(r'.*"(.*)"', r"\1", case) for case in cases]}
    if "func encode(to" in body or "init(from decoder" in body:
        stop(f"{name} writes or reads itself: say of what it is made, in OWN")
    keys = {}
    if match := re.search(r"enum CodingKeys: String, CodingKey \{(.*?)\n  \}", SOURCES_TEXT[SOURCES_TEXT.index(head):], re.S):
        if name == "ReleaseAnswer":
            keys = dict(re.findall(r'case (\w+) = "(\w+)"', match[1]))
    properties, required, notes = {}, [], []
    for line in body.splitlines():
        line = line.strip()
        if line.startswith("///"):
            notes.append(line[3:].strip())
            continue
        match = re.fullmatch(r"(@OrNull )?package (?:let|var) (\w+): ([^={]+?)(?: = .*)?", line)
        if match:
            key, type = keys.get(match[2], match[2]), match[3].strip()
            plain = type.removesuffix("?")
            value = typed(plain, name)
            if match[1]:
                value = {"anyOf": [value, {"type": "null"}]}
            if notes:
                value = {**value, "description": " ".join(notes).replace("`", "")} if "$ref" not in value else both(value) | {
                    "description": " ".join(notes).replace("`", "")}
            properties[key] = value
            # A request may leave out what an answer always writes.
            if not type.endswith("?") or match[1] and not name.endswith(("Request", "Options")):
                required.append(key)
        elif re.match(r"(@OrNull )?package (let|var) \w+: [^{]*$", line):
            stop(f"{name}: {line}")
        notes = []
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


SOURCES_TEXT = "\n".join(SOURCES.values())

# -- Operations


def routes():
    """Each route's path, methods and acts."""
    table = block(ROUTES, ROUTES.index("[", ROUTES.index("static let all: [APIRoute] =") + len("static let all: [APIRoute] =")))
    limits = {name: eval(value) for name, value in re.findall(r"static let (\w+) = (\d+ << \d+)", ROUTES)}  # noqa: S307
    found = 0
    for match in re.finditer(r'\b(APIRoute|channel)\(\s*"([^"]*)"', table):
        text = block(table, match.start() + len(match[1]))
        path = (CHANNEL if match[1] == "channel" else "") + match[2]
        for act in re.finditer(r"\.(get|put|post|delete): (\.?\w+)\(", text):
            arguments = block(text, act.end() - 1)
            takes = re.search(r"\.(scope|channel|wholeChannel|app|wholeApp)\(\.(\w+)\)|\.(everything)", arguments)
            limit = re.search(r"limit: (\w+)", arguments)
            handler = re.search(r"\b(\w+(?:Handler|Sink)\.\w+)", arguments)
            found += 1
            needs = ("publish", "channel") if act[2] == "release" else (takes[2] or "admin", takes[1] or takes[3])
            # A member that such an act doesn't know is refused.
            strict = act[2] == ".change" and "rejectsUnknown: false" not in arguments
            yield path, act[1], act[2], needs, limits.get(limit[1]) if limit else None, handler[1] if handler else None, strict
    if found != len(re.findall(r"\.(?:get|put|post|delete): ", table)):
        stop("not every act of the route table was read")


def handler_body(name):
    """A handler's method: what it takes, its comment, and its text with that of the private methods that it calls."""
    owner, method = name.split(".")
    start = HANDLERS.find(f"struct {owner}")
    text = block(HANDLERS, HANDLERS.index("{", start))
    match = re.search(rf"((?:^ *///.*\n)*)^ *func {method}\((?:_(?: \w+)?: (\w+))?\) throws -> Response \{{", text, re.M)
    if not match:
        stop(f"there is no {name}")
    body = block(text, match.end() - 1)
    for inner in set(re.findall(r"\b(\w+)\(", body)):
        if found := re.search(rf"private func {inner}\([^)]*\)[^{{]*\{{", text):
            body += block(text, found.end() - 1)
    comment = " ".join(line.strip().removeprefix("///").strip() for line in match[1].splitlines())
    comment = re.sub(r" \([\w/]+\.md §[^)]*\)", "", re.sub(r"^`[^`]*`[:,]? ?", "", comment).replace("`", ""))
    return match[2], comment[:1].upper() + comment[1:], body


def client():
    """What answers: by method and path, of the client's functions."""
    answers = {}
    for match in re.finditer(r"package func \w+\([^{]*?\{", SOURCES_TEXT):
        body = block(SOURCES_TEXT, match.end() - 1)
        call = re.search(r'OriginCall\(\s*"(\w+)", "((?:[^"\\]|\\\((?:[^()]|\([^()]*\))*\))*)"', body)
        get = re.search(r'\bget\((?:"((?:[^"\\]|\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*)"|(channel\.path)\))', body)
        if not call and not get:
            continue
        method, path = (call[1].lower(), call[2]) if call else ("get", get[1] or r"\(channel.path)")
        path = path.split("?")[0].replace(r"\(channel.path)", CHANNEL)
        path = re.sub(r"\\\((Self\.)?query\S*$", "", path)
        path = re.sub(r"\\\((?:[^()]|\([^()]*\))*\)", "*", path)
        result = re.search(r"as: (\w+)\.self", body) or re.search(r"-> (?:OriginAnswer<)?(\w+)>?", match[0])
        if result:
            answers[method, path] = result[1]
    return answers


def named(table, method, path):
    short = path.replace(CHANNEL, "*", 1) if path.startswith(CHANNEL) else path
    return table.get((method, short))


def operations():
    paths, answers, strict = {}, client(), set()
    for path, method, act, (scope, reach), limit, handler, is_strict in routes():
        answer = named(ANSWERS, method, path) or answers.get((method, path))
        if answer is None and named(ANSWERS, method, path) is None:
            # The client has one function for the logs of both documents.
            answer = answers.get((method, re.sub(r"/(prefetch|policy)/log$", "/*/log", path)))
        if answer is None and (method, path.replace(CHANNEL, "*", 1)) not in ANSWERS:
            stop(f"nothing says what {method} {path} answers")
        body_type, comment, text = (None, "", "")
        if handler and "Sink" not in handler:
            text_of = handler_body(handler) if act != "release" else (None, "", "")
            body_type, comment, text = text_of
        body_type = named(BODIES, method, path) or body_type
        names = iter(["app", "channel", "name", "part"] if path.startswith("apps/*/") else ["name"])
        shown = "/api/v1/" + "/".join("{%s}" % next(names) if part == "*" else part for part in path.split("/"))
        parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                      for name in re.findall(r"\{(\w+)\}", shown)]
        for name in dict.fromkeys(re.findall(r'(?:request\.(?:text|version|versionName|number)|\bmoment)\("(\w+)"', text)):
            parameters.append({"name": name, "in": "query", "schema": {"type": "string"}})
        operation = {
            "operationId": handler.replace("Handler.", ".") if handler else "blobs.missing",
            "description": (comment + " " if comment else "") + f"Needs a token of scope {scope}" + {
                "everything": " without limits.", "wholeChannel": " for the channel and all its bundles.",
                "channel": " for the channel.", "app": " for the app.", "wholeApp": " for the app, all its channels and bundles.",
                "scope": "."}[reach],
            "parameters": parameters,
            "responses": {
                "2XX": {"description": "done", "content": {named(MEDIA, method, path) or "application/json": {
                    "schema": answer if isinstance(answer, dict) else typed(answer) if answer else {}}}},
                **{code: {"description": words, "content": {
                    "application/problem+json": {"schema": typed("Problem")}, "text/plain": {"schema": NOT_READ}}}
                   for code, words in (("4XX", "refused"), ("5XX", "failed; try again later"))}}}
        if act == ".upload":
            operation["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
            if method == "put":
                operation["parameters"].append({"name": "Content-MD5", "in": "header", "required": True, "schema": {"type": "string"}})
        elif method == "post":
            if not body_type:
                stop(f"nothing says what {method} {path} takes")
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": typed(body_type)}}}
            if is_strict:
                strict.add(body_type)
            if limit:
                operation["requestBody"]["description"] = f"at most {limit} bytes"
        if method == "get":
            operation["parameters"].append({
                "name": "If-None-Match", "in": "header", "schema": {"type": "string"},
                "description": "the ETag of an answer that is here already; if it hasn't changed, the answer is 304"})
            operation["responses"]["2XX"]["headers"] = {"ETag": {"schema": {"type": "string"}, "description": "not of a streamed body"}}
            operation["responses"]["304"] = {"description": "not changed"}
        if method in ("post", "delete"):
            if act != ".upload" and handler:
                operation["parameters"].append({
                    "name": "reason", "in": "query", "schema": {"type": "string", "maxLength": 1024},
                    "description": "why it is done, for the audit trail"})
            operation["parameters"].append({
                "name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "minLength": 16, "maxLength": 128},
                "description": "names one act, so that a repeated request is answered as the first one was"})
        paths.setdefault(shown, {})[method] = operation
    for name in strict:
        if not name.endswith(("Request", "Decision")) or used[name].get("type") != "object":
            stop(f"{name} is a body that takes no other members, but no request's own object")
        used[name] = {**used[name], "additionalProperties": False}
    return paths


def main():
    paths = operations()
    version = re.search(r'static let version = "([^"]+)"', (ROOT / "Sources/Tool/xcache/XCache.swift").read_text())
    document = {
        "openapi": "3.1.0",
        "info": {"title": "xcache: the API of an origin", "version": version[1],
                 "description": "What the command line and the console send. What devices ask for is in docs/protocol.md and docs/schemas."},
        "security": [{"token": []}], "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
                       "schemas": dict(sorted(used.items()))}}
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    path = HERE / "openapi.json"
    if "--check" in sys.argv:
        if not path.exists() or path.read_text() != text:
            raise SystemExit("docs/openapi/openapi.json isn't what the source says; run docs/openapi/make.py, and look at the difference")
    else:
        path.write_text(text)
        print(f"openapi: {sum(map(len, paths.values()))} operations, {len(used)} schemas")


if __name__ == "__main__":
    main()
