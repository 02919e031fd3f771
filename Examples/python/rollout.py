"""Section 13 of docs/protocol.md: whether a device follows the candidate of an open rollout."""
import hashlib, re

from device import need

WORDS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
VERSION = re.compile(rf"([0-9]{{1,9}}(?:\.[0-9]{{1,9}}){{0,3}})(?:-({WORDS}))?(?:\+{WORDS})?")
FORMS = {"seed": "[A-Za-z0-9_-]{1,64}", "version": "[1-9][0-9]{0,15}"}


def app_version(text):
    """What versions are ordered by; None if the text isn't a version."""
    match = VERSION.fullmatch(text or "") if len(text or "") <= 256 else None
    words = match[2].split(".") if match and match[2] else []
    if not match or any(re.fullmatch("0[0-9]+", word) for word in words):
        return None
    numbers = [int(number) for number in match[1].split(".")]
    return numbers + [0] * (4 - len(numbers)), not words, [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in words]


def app_range(text):
    """The alternatives of a range, each a list of comparators."""
    comparators = [[re.fullmatch("([<>]=?|=)(.*)", part) for part in alternative.split(" ") if part] for alternative in text.split("||")]
    need(len(text.encode()) <= 256 and all(comparators) and sum(map(len, comparators)) <= 16, "no range")
    need(all(part and app_version(part[2]) for parts in comparators for part in parts), "no comparator")
    return [[(part[1], app_version(part[2])) for part in parts] for parts in comparators]


def lies_in(app, text):
    """Whether an app's version, None if it is unknown, lies in a range."""
    version = app_version(app)
    return version is not None and any(all(
        "=" in sign if version == other else sign[0] == "<>"[version > other] for sign, other in parts) for parts in app_range(text))


def check(rule):
    """Refuses what isn't a rule."""
    need(all(isinstance(rule[name], str) and re.fullmatch(form, rule[name]) for name, form in FORMS.items()), "no candidate")
    need(int(rule["version"]) < 2**53 and type(rule["share"]) in (int, float) and rule["share"] % 1 == 0 and 0 <= rule["share"] <= 10_000, "no share")
    groups = rule.get("groups", ["a"])
    need(isinstance(groups, list) and 1 <= len(groups) <= 20 and all(
        isinstance(group, str) and re.fullmatch("[a-z][a-z0-9-]{0,31}", group) for group in groups), "no groups")
    need(groups == sorted(set(groups)), "groups in another order")
    app_range(rule["app"]) if "app" in rule else None
    need(re.fullmatch(FORMS["version"], str(rule.get("prefetch", "1"))) and isinstance(rule.get("prefetch", "1"), str), "no prefetch config")


def bucket(install, seed):
    return int.from_bytes(hashlib.sha256(bytes.fromhex(install) + seed.encode()).digest()[:8], "big") % 10_000


def is_in(rule, install, app=None, groups=(), held=None):
    """`held` is the seed of the rollout by which the device took the candidate that it holds."""
    if "app" in rule and not lies_in(app, rule["app"]):
        return False
    return held == rule["seed"] or bucket(install, rule["seed"]) < rule["share"] or bool({*groups} & {*rule.get("groups", ())})
