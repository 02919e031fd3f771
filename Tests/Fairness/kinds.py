"""The costly requests: each kind is a name and the raw requests that it sends, chosen at random."""
import hashlib, json, random

SHOP = "apps/shop/channels/online"


def raw(method, path, token=None, body=None, more=()):
    lines = [f"{method} {path} HTTP/1.1", "Host: h", *more]
    if token:
        lines.append("Authorization: Bearer " + token)
    if body is not None:
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


def kinds(origin, read, publish, newest, downloads):
    dice = random.Random(1)
    digest = lambda: hashlib.sha256(dice.randbytes(8)).hexdigest()
    versions = range(1, newest + 1)
    pairs = [(a, b) for a in versions for b in versions if a < b]

    def api(path, token=read, method="GET", body=None, more=()):
        return raw(method, "/api/v1/" + path, token, body, more)

    large = [path for path in downloads if "large" in path]
    content = {"ctype": "image/png", "md5": "0" * 32, "size": 90}
    # A release of what is there already, under other URLs.
    held = json.loads(origin.ask("GET", f"/api/v1/{SHOP}/bundles/main/entries")[1])["entries"]
    values = list(held.values())[:3_000]

    def release(number, base=newest, count=3_000, **more):
        put = {f"https://shop.example.com/new{number}/{n}.png": value for n, value in enumerate(values[:count])}
        return {"bundles": [{"base": str(base), "bundle": "main", "remove": [], "set": put}], **more}

    # An app whose bundle is replaced whole by each release.
    busy = "apps/busy/channels/online"
    origin.api("POST", busy + "/releases", release(0, 0, 500, now=True))

    found = {
        "metrics": [raw("GET", "/metrics")],
        "whole manifest": [raw("GET", "/configure.json?app=shop")],
        "whole manifest, coded": [raw("GET", "/configure.json?app=shop", more=["Accept-Encoding: gzip"])],
        "patches": [raw("GET", f"/configure.json?app=shop&version={v}&patch=1") for v in versions],
        "unknown versions": [raw("GET", f"/configure.json?app=shop&version={v}") for v in range(90_000, 90_400)],
        "info": [raw("GET", "/xcache/shop/info.json")],
        "large files, 100 bytes": [raw("GET", path, more=["Range: bytes=0-99"]) for path in large],
        "large files, coded": [raw("GET", path, more=["Accept-Encoding: gzip, zstd, br"]) for path in large],
        "cold files": [raw("GET", path) for path in downloads],
        "files that aren't there": [
            raw("GET", f"/xcache/1/1/1/cb71c52a-bf85-8f6e-9634-{n:012x}/x") for n in range(1_000)],
        "deltas that aren't there": [raw("GET", f"/xcache/delta/{digest()}/{digest()}.dcz") for _ in range(400)],
        "packs that aren't there": [raw("GET", f"/xcache/shop/pack/{a}-{b}-{digest()[:16]}.xpk") for a, b in pairs],
        "zips": [raw("GET", f"/xcache/shop/bundle/{v}.zip") for v in versions],
        "zips of updates": [raw("GET", f"/xcache/shop/bundle/{a}-{b}.zip") for a, b in pairs],
        "scripts that aren't there": [raw("GET", f"/xcache/shop/script/{digest()}.js") for _ in range(400)],
        "reports": [raw("POST", "/report?app=shop", body={"version": "1", "counts": {"local": 1}})],
        "wrong tokens": [api(SHOP + "/log", "xc_" + digest()) for _ in range(400)],
        "diff": [api(f"{SHOP}/diff?from={a}&to={b}&after={n}") for a, b in pairs for n in range(60)],
        "diff, the same": [api(f"{SHOP}/diff?from=1&to={newest}")],
        "manifests": [api(f"{SHOP}/manifest?version={v}") for v in versions],
        "log": [api(SHOP + "/log?limit=1000")],
        "releases": [api(f"{SHOP}/releases/{v}") for v in versions],
        "entries": [api(f"{SHOP}/bundles/main/entries")],
        "the mirror's list": [api(f"{SHOP}/mirror/resources?from={a}&version={b}") for a, b in pairs],
        "overview": [api("overview?hours=168")],
        "adoption": [api(SHOP + "/adoption"), api(SHOP + "/adoption/series?step=hour")],
        "leases": [api("leases", method="POST", body={"holder": f"m{n}", "seconds": 60}) for n in range(50)],
        "releases, dry": [api(SHOP + "/releases", publish, "POST", release(n, dryRun=True)) for n in range(8)],
        "releases, made": [
            api(busy + "/releases", publish, "POST", release(n, 0, 500, now=True)) for n in range(8)],
        "preparations": [api(SHOP + "/preparations", publish, "POST", release(n)) for n in range(8)],
        "rollbacks, dry": [
            api(SHOP + "/rollback", publish, "POST", {"bundle": "main", "to": str(v), "dryRun": True})
            for v in versions[:-1]],
        "missing blobs": [
            api("blobs/missing", publish, "POST", {"sha256": [digest() for _ in range(5_000)]}) for _ in range(4)],
        "policies": [
            api(SHOP + "/policy", publish, "POST", {"act": act}) for act in ("kill", "resume")],
        "uploads that stall": [
            api("blobs/" + digest(), publish, "PUT", b"", ["Content-MD5: 1B2M2Y8AsgTpgAmY7PhCfg=="])
            .replace(b"Content-Length: 0", b"Content-Length: 30000") for _ in range(40)],
        "audit": [api("audit/export", origin.admin), api("audit/verify", origin.admin)],
    }
    return found
