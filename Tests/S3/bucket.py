"""Looks at a bucket by another hand than xcache's: signature v4 and nothing but Python's own library.

bucket.py NAME               makes a bucket
bucket.py check NAME PREFIX DIR   objects have their types, caching and bytes
bucket.py damage NAME PREFIX      removes one object and changes another
bucket.py get NAME KEY            prints an object
bucket.py empty NAME KEY          makes an object without bytes
"""
import datetime, hashlib, hmac, json, os, sys, urllib.error, urllib.parse, urllib.request


def call(method, bucket, key="", query="", body=b"", fields={}):
    url = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"])
    now = datetime.datetime.now(datetime.timezone.utc)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    path = "/" + bucket + ("/" + urllib.parse.quote(key, safe="/-._~") if key else "")
    digest = hashlib.sha256(body).hexdigest()
    heads = {"host": url.netloc, "x-amz-content-sha256": digest, "x-amz-date": stamp}
    heads.update({k.lower(): v for k, v in fields.items()})
    names = ";".join(sorted(heads))
    canonical = "\n".join([method, path, query, "".join(f"{k}:{heads[k]}\n" for k in sorted(heads)), names, digest])
    scope = f"{day}/us-east-1/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    secret = ("AWS4" + os.environ["AWS_SECRET_ACCESS_KEY"]).encode()
    for part in scope.split("/"):
        secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
    credential = os.environ["AWS_ACCESS_KEY_ID"] + "/" + scope
    heads["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}")
    request = urllib.request.Request(
        f"{url.scheme}://{url.netloc}{path}{'?' + query if query else ''}", data=body or None, method=method,
        headers=heads)
    return urllib.request.urlopen(request, timeout=60)


def main(words):
    if len(words) == 1:
        return call("PUT", words[0])
    verb, bucket, prefix = words[:3]
    if verb == "get":
        return sys.stdout.buffer.write(call("GET", bucket, prefix).read())
    if verb == "empty":
        return call("PUT", bucket, prefix)
    index = json.load(call("GET", bucket, prefix + "/mirror.json"))
    files = index["channels"][0]["files"]
    if verb == "damage":
        resources = sorted(p for p in files if p.split("/")[1].isdigit() and p.endswith(".js"))
        call("DELETE", bucket, f"{prefix}/{resources[0]}")
        call("PUT", bucket, f"{prefix}/{resources[1]}", body=b"x" * files[resources[1]]["size"],
             fields={"Content-Type": "application/javascript"})
        return
    manifest = json.load(call("GET", bucket, prefix + "/xcache/shop/configure.json"))["data"]["resourcemap"]
    for url, entry in manifest.items():
        key = prefix + "/" + urllib.parse.unquote(entry["download"].split("/hxm/", 1)[1])
        answer = call("GET", bucket, key)
        name = urllib.parse.unquote(url.split("/shop/", 1)[1])
        assert answer.read() == open(os.path.join(words[3], name), "rb").read(), url
        assert answer.headers["Content-Type"].split(";")[0] == entry["ctype"].split(";")[0], (url, answer.headers)
        assert "immutable" in answer.headers["Cache-Control"], url
    answer = call("GET", bucket, prefix + "/xcache/shop/configure.json")
    assert answer.headers["Cache-Control"] == "no-cache" and answer.headers["Content-Type"] == "application/json"
    print(f"   {len(manifest)} objects are right")


main(sys.argv[1:])
