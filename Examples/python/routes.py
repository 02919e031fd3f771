"""Which page answers a route of a single-page app: the rules D-167 to D-172."""
import re


def check(rules, need):
    """D-172."""
    need(isinstance(rules, list) and 1 <= len(rules) <= 4, "a fallback that can't be")
    for rule in rules:
        patterns = rule.get("except", []) if isinstance(rule, dict) else None
        need(isinstance(patterns, list) and len(patterns) <= 8, "exceptions that can't be")
        need(all(isinstance(one, str) and re.fullmatch(r"/[^#]*", one) for one in patterns), "an exception that can't be")
        need(isinstance(rule.get("prefix"), str) and re.fullmatch(r"/([^?#]*/)?", rule["prefix"]), "a prefix that can't be")
    need(len({rule["prefix"] for rule in rules}) == len(rules), "a prefix twice")


def navigates(method, destination, headers):
    """D-167 and D-169: whether a fallback may answer the request."""
    accept = next((value for name, value in headers.items() if name.lower() == "accept"), None)
    ranges = {one.split(";")[0].strip().lower() for one in (accept or "").split(",")}
    accepts = accept is None or ranges & {"text/html", "application/xhtml+xml", "text/*", "*/*"}
    return method == "GET" and destination in ("document", "frame") and bool(accepts)


def page(url, manifest, match_key):
    """D-168: the URL of the page that answers; None if there is none."""
    origin, path = split(match_key(url))
    found = []
    for listed, entry in manifest.items():
        kind = entry["ctype"].split(";")[0].strip().lower()
        if split(listed)[0] == origin and kind in ("text/html", "application/xhtml+xml"):
            for rule in entry.get("fallback", []):
                prefix = match_key(rule["prefix"])
                if path.startswith(prefix) and not any(matches(one, path, match_key) for one in rule.get("except", [])):
                    found.append((-len(prefix), listed))
    return min(found)[1] if found else None


def split(url):
    """A URL's origin, and what is behind it."""
    return re.fullmatch(r"(https?://[^/?#]*)(.*)", url).groups()


def matches(pattern, path, match_key):
    if "?" not in pattern:
        path = path.split("?")[0]
    # An escaped * is no wildcard.
    return re.fullmatch(".*".join(re.escape(match_key(part)) for part in pattern.split("*")), path) is not None
