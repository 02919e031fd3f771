"""Hosts, the policy and its scripts, and prefetched calls."""
from datetime import UTC, datetime
from email.utils import format_datetime
import os, subprocess, tempfile
from world import *

book = Book("host")
case = book.case
BANK = "https://bank.test/index.html"


def hostile(files=None):
    world = World()
    world.publish({INDEX: "<p>one", BANK: "<p>give me your money", "https://bank.test/app.js": "steal()"} | (files or {}))
    return world


world = hostile()
first = [serve(world.origin(1), world.files(1)), start(), trigger(world.poll(), world.url(1, INDEX))]
bank_is_safe = [ask(BANK, "network"), ask(BANK, "network", destination="document", mode="navigate"),
                ask("https://bank.test/app.js", "network"), ask(BANK, "network", method="HEAD"), ask(BANK, "network", headers={"Range": "bytes=0-1"}),
                {"pageOpen": BANK, "as": "bank"}, ask(BANK, "network", page="bank", destination="document"),
                ask("https://bank.test/app.js", "network", page="bank")]
case("a manifest that lists a bank: the bank's own pages are never answered", ["D-90", "D-93"], first,
     world.holds(1, only=[INDEX]), bank_is_safe, ask(INDEX, local("<p>one")))
case("after a restart, too", ["D-90"], first, {"stop": True}, start(), bank_is_safe)
case("a bank's page gets nothing of the app's", ["D-90"], first, {"pageOpen": BANK, "as": "bank"}, ask(INDEX, "network", page="bank"))
later_bank = World()
later_bank.publish({INDEX: "<p>one"})
later_bank.publish({INDEX: "<p>two", BANK: "<p>give me your money", "https://bank.test/app.js": "steal()"})
second = [serve(later_bank.origin(1), later_bank.files(1)), start(), trigger(later_bank.poll(), *later_bank.downloads(1)), later()]
case("a patch that lists a bank", ["D-90"], second, serve(later_bank.origin(2, 1), later_bank.files(2)),
     trigger(later_bank.poll(1), later_bank.url(2, INDEX)), later_bank.holds(2, only=[INDEX]), bank_is_safe)
made, _ = pack(later_bank, 1, 2)
answer, url = later_bank.with_pack(1, 2, made)
case("a pack that lists a bank", ["D-90"], second, serve(poll_rule({"pack": "1", "version": "1"}, json=answer), rule(url, data=made), later_bank.files(2)),
     trigger(later_bank.poll(1), url), {"state": {"version": "2", "files": later_bank.texts(2, [INDEX])}}, bank_is_safe, features=["packs"])
offer = {BANK: {"base": sha256(b"<p>one"), "download": CDN + "/xcache/delta/x.dcz", "size": 10}}
case("a delta of a bank's file isn't fetched", ["D-90"], second, serve(later_bank.origin(2, 1, deltas=offer), later_bank.files(2)),
     trigger(later_bank.poll(1), later_bank.url(2, INDEX)), bank_is_safe)
case("a copy that lists a bank", ["D-90"], second[:-1], serve(fresh=True), *[later(), trigger(later_bank.poll(1))] * 5,
     later(37), trigger(later_bank.poll(1)), later(40), serve(later_bank.mirror(2, 1), later_bank.files(2)),
     trigger(later_bank.copy("version.json"), later_bank.copy("update/1-2.json"), later_bank.copy("patch/1-2.json"), later_bank.url(2, INDEX)),
     bank_is_safe)
for name, url in {"a host that only begins so": "https://m.test.evil.test/a", "a host that only ends so": "https://xm.test/a",
                  "a host below it": "https://sub.m.test/a", "an address": "https://127.0.0.1/a", "a user's name": "https://m.test@evil.test/a",
                  "a trailing dot": "https://m.test./a"}.items():
    wide = World()
    wide.publish({INDEX: "<p>one"} | ({url: "evil"} if "@" not in url else {}))
    case(f"the app's host isn't {name}", ["D-90", "D-92"], serve(wide.origin(1), wide.files(1)), start(),
         trigger(wide.poll(), wide.url(1, INDEX)), ask(url, "network"), wide.holds(1, only=[INDEX]))
stars = World()
stars.publish({"https://a.m.test/x": "a", "https://b.a.m.test/x": "b", "https://m.test/x": "m", "https://am.test/x": "am"})
case("*. means a domain and all below it", ["D-92"], serve(stars.origin(1), stars.files(1)), start(hosts=["*.m.test"]),
     trigger(stars.poll(), *[stars.url(1, f"https://{host}/x") for host in ("a.m.test", "b.a.m.test", "m.test")]),
     ask("https://b.a.m.test/x", local("b")), ask("https://m.test/x", local("m")), ask("https://am.test/x", "network"))
for hosts in ([], ["https://m.test"], ["m.test/path"], ["*"+".*.test"], [""]):
    case(f"no app starts with the hosts {json.dumps(hosts)}", ["D-90"], {"open": {"hosts": hosts}, "gives": "error"})
case("a host that the app no longer names is answered no more", ["D-90"], serve(stars.origin(1), stars.files(1)), start(hosts=["*.m.test"]),
     trigger(stars.poll(), *[stars.url(1, f"https://{host}/x") for host in ("a.m.test", "b.a.m.test", "m.test")]),
     {"stop": True}, start(hosts=["a.m.test"]), ask("https://m.test/x", "network"), ask("https://a.m.test/x", local("a")))

# The policy.

hosts, book.name, book.cases = book.cases, "policy", []
POLICY = ORIGIN + "/policy.json?app=shop&channel=online"
# Cases begin at 2027-01-15T08:00:00Z.


def policy(version, **members):
    return rule(ORIGIN + "/policy.json", json={"code": 200, "data": {
        "version": str(version), "intercept": True, "bypass": [], "scripts": [], **members}})


world = World()
world.publish({INDEX: "<p>one", APP: "let one", SITE + "/pay/index.html": "<p>pay"})


def under(*rules, version="1", **settings):
    """A device with version 1 and this policy."""
    return [serve(world.origin(1, policy=version), world.files(1), *rules), start(**settings),
            trigger(world.poll(), *world.downloads(1), POLICY)]


newer = World()
newer.publish(world.texts(1))
newer.publish({APP: "let two"})
on, off = ask(APP, local("let one")), ask(APP, "network", asks=[])
killed = under(policy(1, intercept=False))
case("the kill switch", ["D-95", "D-96"], killed, off, ask(INDEX, "network", destination="document"), {"state": {"policy": "1", "version": "1"}})
case("it outlives a restart, without a network", ["D-95", "D-96"], killed, {"stop": True}, serve(fresh=True), start(), off)
case("under it, manifests go on being followed", ["D-96"], killed,
     serve(newer.origin(2, 1, policy="1"), newer.files(2, 1)), later(), trigger(world.poll(1), *newer.downloads(2, 1)), newer.holds(2), off)
case("a newer policy ends it", ["D-95", "D-96"], killed, serve(world.origin(1, policy="2"), policy(2)), later(), trigger(world.poll(1), POLICY), on)
case("an older policy isn't taken, from the origin either", ["D-95"], under(policy(3, intercept=False), version="3"),
     serve(world.origin(1, policy="2"), policy(2)), later(), trigger(world.poll(1)), off, {"state": {"policy": "3"}})
case("it lapses at its time", ["D-96"], under(policy(1, intercept=False, until="2027-01-15T09:00:00Z")), off, later(3599), off, later(2), on)
case("no policy is no kill", ["D-95"], serve(world.origin(1), world.files(1)), start(), trigger(world.poll(), *world.downloads(1)), on)
case("the policy that is held isn't fetched again", ["D-95"], killed, later(), trigger(world.poll(1)), off)
PAY = SITE + "/pay/index.html"
bypassed = under(policy(1, bypass=[SITE + "/pay/*"]))
pay = [{"pageOpen": PAY, "as": "pay"}, {"pageOpen": INDEX, "as": "page"}]
case("a page that is bypassed gets nothing from the device", ["D-97"], bypassed, pay, ask(PAY, "network", page="pay", destination="document"),
     ask(APP, "network", page="pay"), ask(APP, local("let one"), page="page"))
case("a bypass lapses at its time", ["D-97"], under(policy(1, bypass=[SITE + "/pay/*"], bypassUntil={SITE + "/pay/*": "2027-01-15T09:00:00Z"})),
     pay, ask(APP, "network", page="pay"), later(3601), ask(APP, local("let one"), page="pay"))
for pattern, hit, miss in (("*://*.test/pay/*", PAY, INDEX), ("https://m.test/pay/*", PAY + "?x=1#y", INDEX),
                           ("https://*.m.test/*", INDEX, None), ("https://m.test/index.html?x=*", INDEX + "?x=1", INDEX)):
    case(f"bypass {pattern}", ["D-97"], under(policy(1, bypass=[pattern])), {"pageOpen": hit, "as": "hit"}, ask(APP, "network", page="hit"),
         *([{"pageOpen": miss, "as": "miss"}, ask(APP, local("let one"), page="miss")] if miss else []))
case("patterns that can't be are passed over", ["D-97"], under(policy(1, bypass=["", "https://", 7, None, "*", SITE + "/pay/*"])), pay,
     ask(APP, "network", page="pay"), ask(APP, local("let one"), page="page"))
for name, answer in {"missing": rule(ORIGIN + "/policy.json", status=404, text="no"), "no JSON": rule(ORIGIN + "/policy.json", text="<html>"),
                     "of another code": rule(ORIGIN + "/policy.json", json={"code": 500}), "another document": policy(1) | {"json": {"code": 200, "data": {"config": [], "version": "1"}}},
                     "torn": policy(1) | {"fault": {"torn": 9}}, "9 MB long": rule(ORIGIN + "/policy.json", fill={"text": " " * 1024, "times": 9216})}.items():
    case(f"a policy that is {name}: the poll is good, and the next asks again", ["D-98"],
         serve(world.origin(1, policy="1"), world.files(1), answer), start(),
         trigger(world.poll(), *world.downloads(1), {"url": POLICY, "times": [1, 3]}), on, world.holds(1),
         serve(policy(1, intercept=False)), later(), trigger(world.poll(1), POLICY), off)
case("the kill switch comes although the manifest's files don't", ["D-99"], serve(world.origin(1, policy="1"), policy(1, intercept=False)), start(),
     trigger(world.poll(), POLICY, *[{"url": url, "times": [0, 6]} for url in world.downloads(1)]), {"state": {"policy": "1", "version": "0"}}, off)
fall = [under(policy(2, intercept=False), version="2"), serve(fresh=True), [later(), trigger(world.poll(1))] * 5, later(37), trigger(world.poll(1)), later(40)]
case("from a copy only a newer policy is taken", ["D-17", "D-95"], fall, serve(world.mirror(1, policy="1"), rule(world.copy("policy.json"), json=policy(1)["json"])),
     trigger(world.copy("version.json")), off)
case("a copy's newer policy is taken", ["D-17", "D-95", "D-96"], under(policy(1)), serve(fresh=True), [later(), trigger(world.poll(1))] * 5,
     later(37), trigger(world.poll(1)), later(40), serve(world.mirror(1, policy="5"), rule(world.copy("policy.json"), json=policy(5, intercept=False)["json"])),
     trigger(world.copy("version.json"), world.copy("policy.json")), off)

# Scripts, signed with the test key below.

SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
KEY = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")


def sign(data):
    with tempfile.TemporaryDirectory() as folder:
        key, text = os.path.join(folder, "key"), os.path.join(folder, "text")
        for path, value in ((key, bytes.fromhex("302e020100300506032b657004220420") + SEED), (text, data)):
            with open(path, "wb") as file:
                file.write(value)
        return subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", key, "-keyform", "DER", "-rawin", "-in", text],
                              check=True, capture_output=True).stdout


SCRIPT = b"window.ready = true"
where = f"https://m.test/xcache/shop/script/{sha256(SCRIPT)}.js".replace("https", "http")
named = {"name": "ready", "download": where, "sha256": sha256(SCRIPT), "signature": b64(sign(SCRIPT))}
key = {"scriptKey": b64(KEY)}


def scripts(*list, **settings):
    """A device with version 1 and a policy with scripts, which it may fetch ahead."""
    steps = under(policy(1, scripts=[*list]), **settings)
    return steps[:-1] + [steps[-1] | {"asks": steps[-1]["asks"] + [{"url": where, "times": [0, 2]}]}]


case("a script with its sha256 and signature", ["D-100"], serve(rule(where, data=SCRIPT)), scripts(named, **key),
     {"script": "ready", "expect": SCRIPT.decode(), "asks": [{"url": where, "times": [0, 2]}]}, {"script": "ready", "expect": SCRIPT.decode(), "asks": []},
     {"script": "other", "expect": None})
case("a script with other bytes is refused", ["D-100"], serve(rule(where, text="steal()")), scripts(named, **key), {"script": "ready", "expect": "refused"})
case("a script that another key signed is refused", ["D-100"], serve(rule(where, data=SCRIPT)), scripts(named | {"signature": b64(sign(b"other"))}, **key),
     {"script": "ready", "expect": "refused"})
case("an app without a key takes no script", ["D-100"], under(policy(1, scripts=[named])), serve(rule(where, data=SCRIPT)), {"script": "ready", "expect": "refused", "asks": []})
case("a script of another host is refused", ["D-91", "D-100"], scripts(named | {"download": CDN + "/script.js"}, **key), serve(rule(CDN + "/script.js", data=SCRIPT)),
     {"script": "ready", "expect": "refused", "asks": []})
case("under the kill switch there are no scripts", ["D-96", "D-100"], under(policy(1, intercept=False, scripts=[named]), **key), serve(rule(where, data=SCRIPT)),
     {"script": "ready", "expect": None, "asks": []})

# Versions of policies.

stale = under(policy(3, intercept=False), version="3")
for given in (2, 3, 5, 8):
    case(f"the answer names policy 7, and a cache has {given}: the next poll asks again", ["D-95", "D-98"], stale,
         serve(world.origin(1, policy="7"), policy(given)), later(), trigger(world.poll(1), POLICY), off, {"state": {"policy": "3"}},
         serve(policy(7)), later(), trigger(world.poll(1), POLICY), on, {"state": {"policy": "7"}})
case("the copy names policy 7, and its document is older", ["D-17", "D-95"], fall,
     serve(world.mirror(1, policy="7"), rule(world.copy("policy.json"), json=policy(5)["json"])),
     trigger(world.copy("version.json"), world.copy("policy.json")), off, {"state": {"policy": "2"}})

# Answers with an invalid manifest.
entry = newer.maps[2][APP]
wrong = {"has another digest": {"digest": "0" * 64}, "has no digest": {"digest": None}, "has no manifest": {"resourcemap": None},
         "says nothing of an update": {"update": None}, "has no version": {"version": None}, "has a version that is none": {"version": 2},
         "lists a download that is unsafe": {"resourcemap": {APP: entry | {"download": "file:///etc/passwd"}}},
         "lists an entry without a hash": {"resourcemap": {APP: {name: value for name, value in entry.items() if name != "sha256"}}},
         "lists a URL that is none": {"resourcemap": {"https://M.TEST/": entry}}, "has a patch that is none": {"resourcemap": None, "base": "1", "patch": 7},
         "has a pack that is none": {"resourcemap": None, "base": "1", "pack": 7}, "names a rollback that is none": {"rollback": 7}}
for name, change in wrong.items():
    answer = newer.whole(2, policy="1", prefetch="1")
    answer["data"] = {key: value for key, value in (answer["data"] | change).items() if value is not None}
    case(f"the kill switch comes with an answer that {name}", ["D-99"], got(world), serve(poll_rule({}, json=answer), policy(1, intercept=False), fresh=True), later(),
         trigger(*tries(world), POLICY, ORIGIN + "/prefetchConfig?app=shop&channel=online"), off, {"state": {"policy": "1", "version": "1"}})
answer = newer.nothing(2, policy="5")
del answer["data"]["update"]
case("and with a copy's that says nothing of an update", ["D-17", "D-99"], fall, serve(rule(world.copy("version.json"), json=answer),
     rule(world.copy("policy.json"), json=policy(5)["json"])), trigger({"url": world.copy("version.json"), "times": [1, 2]}, world.copy("policy.json")), on)
case("a policy of which the answer gives no version isn't asked for", ["D-6", "D-99"], got(world),
     serve(poll_rule({}, json={"code": 200, "data": {"policy": 7, "update": False, "version": "1"}}), policy(7, intercept=False), fresh=True),
     later(), trigger(*tries(world)), on)
case("an answer of another code names no policy", ["D-6", "D-99"], got(world),
     serve(poll_rule({}, json={"code": 503, "message": "no", "data": {"policy": "7"}}), policy(7, intercept=False), fresh=True),
     later(), trigger(*tries(world)), on)

# Documents with invalid data before the policy's version.
before = {"text that is no UTF-8": b'"\xff\xfe"', "half of a surrogate pair": b'"\\ud800"', "an escape that is none": b'"\\x"', "a hundred levels": b"[" * 100 + b"]" * 100,
          "a number that is none": b"01.", "a name that is no UTF-8": b'{"\xff":1}'}
bodies = {f"behind {what}": b'{"code":200,"data":{"a":' + value + b',"policy":"1","update":false,"version":"1"}}' for what, value in before.items()}
bodies["behind a byte order mark"] = b'\xef\xbb\xbf{"code":200,"data":{"policy":"1","update":false,"version":"1"}}'
for what, body in bodies.items():
    case(f"the kill switch {what}", ["D-99"], got(world), serve(rule(ORIGIN + "/configure.json", data=body), policy(1, intercept=False), fresh=True), later(),
         trigger(*tries(world), POLICY), off, {"state": {"policy": "1", "version": "1"}})
case("a policy that stands in text, or in another member, isn't asked for", ["D-99"], got(world), serve(rule(ORIGIN + "/configure.json", data=
     b'{"code":200,"data":{"a":"\\ud800\\",\\"policy\\":\\"1\\"","b":{"policy":"1"},"c":[{"policy":"1"}],"update":false,"version":"1"}}'),
     policy(1, intercept=False), fresh=True), later(), trigger(*tries(world)), on)

# Caches store compressed and plain documents separately.
IDENTITY = {"url": POLICY, "headers": {"accept-encoding": "identity"}}
cut = {"coding": "gzip", "coded": '{"code":200,"data":{"version":"1","interc'}
for what, coded in {"can't be decoded": {"coding": "gzip", "damaged": True}, "is of half a document": cut}.items():
    case(f"a policy whose coded copy {what} is requested without a coding", ["D-98"], serve(world.origin(1, policy="1"), world.files(1),
         policy(1, intercept=False) | coded), start(), trigger(world.poll(), *world.downloads(1), POLICY, IDENTITY), off, {"state": {"policy": "1"}})

# During an update's downloads: a file is sent slowly until the step `release`.
LINE, COUNT = "let two = 2\n", 20_000
FILL = {"text": LINE, "times": COUNT}
during = World()
during.publish(world.texts(1))
during.publish(world.texts(1) | {APP: LINE * COUNT})
slow = rule(during.url(2, APP), fill=FILL, fault={"drip": 4096})
downloading = [got(world), later(), serve(during.origin(2, 1), slow, fresh=True),
               {"trigger": "launch", "background": True}, {"arrives": during.url(2, APP), "asks": [world.poll(1), during.url(2, APP)]}]
push = {"trigger": "push", "background": True}
named = serve(during.origin(2, 1, policy="7"), policy(7, intercept=False))
ended = [{"release": True}, {"state": {"version": "2"}, "eventually": True}]
case("the kill switch comes while an update downloads", ["D-4", "D-96"], downloading, named, later(), push,
     ask(APP, "network", eventually=True, within=40), {"state": {"policy": "7", "version": "1"}, "asks": [world.poll(1), POLICY]},
     ended, {"trigger": "push", "asks": []})
case("triggers beside an update poll no earlier", ["D-2", "D-4"], downloading, named, later(29), push, {"state": {"policy": "0"}}, later(2), push,
     {"state": {"policy": "7", "version": "1"}, "eventually": True, "within": 40}, later(29), push, push, {"state": {"version": "1"}},
     ended, {"trigger": "push", "asks": [world.poll(1), POLICY]}, later(2), trigger(during.poll(2)))
case("a poll beside an update that the process doesn't outlive counts", ["D-2", "D-4"], downloading,
     serve(poll_rule({}, json=world.nothing(1), fault={"kill": 0}, times=1)), later(), {"trigger": "push", "dies": True}, {"serve": [], "asks": [world.poll(1)]},
     start(), serve(during.origin(2, 1), rule(during.url(2, APP), fill=FILL)), later(29), trigger(), later(2),
     trigger(world.poll(1), {"url": during.url(2, APP), "headers": {}}), {"state": {"version": "2"}})
whole = World()
whole.publish({INDEX: "<p>one", APP: LINE * COUNT})
whole_url = whole.url(1, APP)
case("a request that waited for a file when the kill switch came is passed on", ["D-96"],
     serve(whole.origin(1), rule(whole.url(1, INDEX), text="<p>one"), rule(whole_url, fill=FILL)), start(), trigger(whole.poll(), *whole.downloads(1)),
     {"damage": FILL, "how": "remove"}, {"stop": True}, start(),
     serve(whole.origin(1, policy="1"), policy(1, intercept=False), rule(whole_url, fill=FILL, fault={"drip": 4096})), later(),
     {"request": APP, "as": "waiting"}, {"arrives": whole_url, "asks": [whole_url]}, trigger(whole.poll(1), POLICY), {"release": True},
     {"answer": "waiting", "expect": "network"})

# Slow answers.
# The answer names the policy first, followed by an unknown member.
dripping = rule(ORIGIN + "/configure.json", fault={"drip": 4096}, fill={
    "before": '{"code":200,"data":{"policy":"1","rest":"', "text": "x" * 100, "times": 2600, "after": '","update":false,"version":"1"}}'})
case("the kill switch comes before the answer's end", ["D-99"], got(world), serve(dripping, policy(1, intercept=False), fresh=True), later(),
     {"trigger": "launch", "background": True}, ask(APP, "network", eventually=True, within=40), {"release": True},
     {"trigger": "launch", "asks": [world.poll(1), POLICY]}, features=["partial"])

# Clocks that are hours off: `until` is in server time.
HOUR = 3600


def when(seconds):
    """The device's time, in seconds since the start of the case."""
    return datetime.fromtimestamp(1_800_000_000 + seconds, UTC)


def instant(seconds):
    return when(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def kills(seconds):
    return policy(1, intercept=False, until=instant(seconds))


def dated(rules, **members):
    """Adds members such as `date` to the answers."""
    return [one | members if one["at"].endswith(("configure.json", "version.json")) else one for one in rules]


def named(until, **members):
    return serve(dated(world.origin(1, policy="1"), **members), kills(until), fresh=True)


polled = [later(), trigger(world.poll(1))]
taken = [later(), trigger(world.poll(1), POLICY)]
answered, passed = ask(APP, local("let one")), ask(APP, "network")
begun = lambda **members: [serve(dated(world.origin(1), **members), world.files(1)), start(), trigger(world.poll(), *world.downloads(1)), polled]
# The device's clock is five hours ahead: a switch that ends in four hours has ended an hour ago by it.
case("a kill switch for four hours, by a clock that is five hours ahead", ["D-101"], begun(date=-5 * HOUR), named(-HOUR, date=-5 * HOUR), taken, passed,
     {"stop": True}, start(), passed, later(3 * HOUR + 1800), passed, later(HOUR), answered)
case("a kill switch for an hour, by a clock that is five hours behind", ["D-101"], begun(date=5 * HOUR), named(6 * HOUR, date=5 * HOUR), taken, passed,
     later(HOUR), answered)
case("the same, until it is set", ["D-101"], begun(date=-5 * HOUR), named(-HOUR, date=-5 * HOUR), taken, passed, later(-5 * HOUR), passed, later(4 * HOUR), answered)
case("bypass entries end by the server's clock, too", ["D-101"], begun(date=-5 * HOUR),
     serve(dated(world.origin(1, policy="1"), date=-5 * HOUR), policy(1, bypass=[SITE + "/pay/*"], until=instant(-HOUR)), fresh=True), taken, pay,
     ask(APP, "network", page="pay"), ask(APP, local("let one"), page="page"), later(4 * HOUR), ask(APP, local("let one"), page="pay"))
# By the device's clock the switch ended an hour ago, and there is no evidence of another time.
for name, members in {"an answer that a cache kept": {"headers": {"Date": format_datetime(when(-5 * HOUR), usegmt=True)}},
                      "an answer with an age": {"date": -5 * HOUR, "headers": {"Age": "18000"}},
                      "a date that is none": {"headers": {"Date": "yesterday"}}}.items():
    case(f"{name} says nothing of the time", ["D-101"], begun(**members), polled, named(-HOUR, **members), taken, answered, polled, answered)
case("one date says nothing of the time", ["D-101"], begun(), named(-HOUR, date=-5 * HOUR), taken, answered, polled, passed)
case("a cache that is hours behind, and looks up each answer after hours, says nothing of the time", ["D-101"],
     begun(date=-5 * HOUR)[:-1], named(-HOUR, date=-5 * HOUR), later(3 * HOUR), trigger(world.poll(1), POLICY), answered)
case("an answer that a cache kept doesn't undo what is known of the time", ["D-101"], begun(date=-5 * HOUR), named(-HOUR, date=-5 * HOUR), taken, passed,
     named(-HOUR, headers={"Date": format_datetime(when(-5 * HOUR), usegmt=True)}), polled, polled, passed)
case("a clock that is an hour ahead ends it an hour early", ["D-101"], begun(date=-HOUR), named(3 * HOUR, date=-HOUR), taken, passed, later(3 * HOUR), answered)
case("the static copy's clock counts, too", ["D-101"], got(world), serve(dated(world.mirror(1), date=-5 * HOUR), fresh=True),
     [later(), trigger(world.poll(1))] * 5, later(37), trigger(world.poll(1)), later(40), trigger(world.copy("version.json")),
     serve(dated(world.mirror(1, policy="1"), date=-5 * HOUR), rule(world.copy("policy.json"), json=kills(-HOUR)["json"]), fresh=True),
     later(33), trigger(world.poll(1)), later(), trigger(world.copy("version.json"), world.copy("policy.json")), passed)

# Answers that a shared cache kept for a moment: what their age says is added.
case("an answer that is some seconds old says the time, too", ["D-101"], begun(), serve(dated(world.origin(1), date=-5 * HOUR, headers={"Age": "0"}), fresh=True), polled,
     named(-HOUR, date=-5 * HOUR - 100, headers={"Age": "100"}), taken, passed, later(4 * HOUR), answered)
for name, age in {"that is higher": "301", "that is none": "a while", "below 0": "-1"}.items():
    old = {"date": -5 * HOUR, "headers": {"Age": age}}
    case(f"one with an age {name} doesn't", ["D-101"], begun(**old), named(-HOUR, **old), taken, answered, polled, answered)
case("answers of caches that say no age shift it by theirs", ["D-101"], begun(date=-5 * HOUR - 100), named(-HOUR, date=-5 * HOUR - 100), taken, passed, later(4 * HOUR - 200), passed, later(400), answered)

# Prefetched calls.

policies, book.name, book.cases = book.cases, "prefetch", []
PREFETCH = ORIGIN + "/prefetchConfig?app=shop&channel=online"
API = SITE + "/api/info"


def config(*entries, version=1):
    return rule(ORIGIN + "/prefetchConfig", json={"code": 200, "data": {"config": list(entries), "name": "prefetchConfig", "version": str(version)}})


def page(*calls, url=INDEX):
    return {"url": url, "interfaces": list(calls)}


def plan(*entries):
    return [serve(world.origin(1, prefetch="1"), world.files(1), config(*entries)), start(), trigger(world.poll(), *world.downloads(1), PREFETCH)]


GET = {"api": API, "method": "GET"}
case("the calls of a page, in their order", ["D-105"], plan(page(GET, GET | {"api": API + "/2"})),
     {"prefetch": INDEX, "expect": [{"method": "GET", "url": API}, {"method": "GET", "url": API + "/2"}]},
     {"prefetch": SITE + "/other.html", "expect": []}, {"state": {"prefetch": "1"}})
case("urlParam: the page's query behind the api's", ["D-105"], plan(page(GET | {"urlParam": True}, GET | {"api": API + "?a=1", "urlParam": True})),
     {"prefetch": INDEX + "?id=7&x=%20#top", "expect": [{"method": "GET", "url": API + "?id=7&x=%20"}, {"method": "GET", "url": API + "?a=1&id=7&x=%20"}]})
case("bodyParam: the page's parameters in the body", ["D-105"], plan(page({"api": API, "method": "POST", "body": {"a": 1, "id": 0}, "bodyParam": True})),
     {"prefetch": INDEX + "?id=7&id=8&n=a+b%21", "expect": [{"method": "POST", "url": API, "body": {"a": 1, "id": "7", "n": "a b!"}}]})
case("a page matches by scheme, host, port and path", ["D-106"], plan(page(GET)),
     {"prefetch": INDEX + "?x=1#y", "expect": [{"method": "GET", "url": API}]}, {"prefetch": "http://m.test/index.html", "expect": []},
     {"prefetch": "https://m.test:444/index.html", "expect": []}, {"prefetch": SITE + "/index", "expect": []})
case("an entry with a query goes before one without", ["D-106"], plan(page(GET), page(GET | {"api": API + "/seven"}, url=INDEX + "?id=7")),
     {"prefetch": INDEX + "?id=7", "expect": [{"method": "GET", "url": API + "/seven"}]}, {"prefetch": INDEX + "?id=8", "expect": [{"method": "GET", "url": API}]})
case("calls to hosts that the app doesn't name are left out", ["D-91"], plan(page(GET | {"api": "https://bank.test/transfer", "method": "POST"}, GET)),
     {"prefetch": INDEX, "expect": [{"method": "GET", "url": API}]})
case("a page of another host gets no calls", ["D-91"], plan(page(GET, url=BANK)), {"prefetch": BANK, "expect": []})
case("a page that is bypassed gets no calls", ["D-97", "D-105"], serve(world.origin(1, prefetch="1", policy="1"), world.files(1), config(page(GET)), policy(1, bypass=[INDEX])), start(),
     trigger(world.poll(), *world.downloads(1), PREFETCH, POLICY), {"prefetch": INDEX, "expect": []})
case("entries that can't be used are passed over", ["D-105"], plan({"url": 7}, {"interfaces": []}, page({"api": "x", "method": "GET"}, {"api": API, "method": "TRACE /"}, 7, GET)),
     {"prefetch": INDEX, "expect": [{"method": "GET", "url": API}]})
case("the config is held over a restart, and followed", ["D-95", "D-105"], plan(page(GET)), {"stop": True}, start(), {"prefetch": INDEX, "expect": [{"method": "GET", "url": API}]},
     serve(world.origin(1, prefetch="2"), config(version=2)), later(), trigger(world.poll(1), PREFETCH), {"prefetch": INDEX, "expect": []})

case("an older config isn't taken, nor another one than was named", ["D-95"], serve(world.origin(1, prefetch="3"), world.files(1), config(page(GET), version=3)), start(),
     trigger(world.poll(), *world.downloads(1), PREFETCH), serve(world.origin(1, prefetch="2"), config(version=2)), later(), trigger(world.poll(1)),
     serve(world.origin(1, prefetch="5"), config(version=4)), later(), trigger(world.poll(1), PREFETCH), {"state": {"prefetch": "3"}},
     {"prefetch": INDEX, "expect": [{"method": "GET", "url": API}]})
# Which requests get the answer to a prefetched call. The runner only answers http.

HTTP = "http://m.test"
HOME, ACCOUNT, OTHER = HTTP + "/index.html", HTTP + "/api/account", HTTP + "/other.html"
mine, MINE, A, B = World(), "account of A", "session=A", "session=B"
mine.publish({HOME: "<p>one", OTHER: "<p>other"})


def ahead(*answers, calls=({"api": ACCOUNT, "method": "GET"},), cookies=A, held=False):
    """A page whose calls are prefetched with the cookies of A."""
    given = answers or ({"text": MINE},)
    fault = {"fault": {"hold": True}} if held else {}
    return [serve(mine.origin(1, prefetch="1"), mine.files(1), config(page(*calls, url=HOME), page(*calls, url=OTHER)),
                  [rule(**({"at": ACCOUNT} | answer | fault)) for answer in given]), start(),
            trigger(mine.poll(), *mine.downloads(1), PREFETCH), {"cookies": cookies}, {"pageOpen": HOME, "as": "p", "sends": True}]


def wants(expect, cookies=True, url=ACCOUNT, **members):
    return ask(url, expect, **({"page": "p", "mode": "cors", "destination": "fetch", "cookies": cookies} | members))


gets, sent = wants(local(MINE)), {"url": ACCOUNT, "headers": {"cookie": A}}
case("an answer that was sent ahead is given once", ["D-107"], ahead(), gets | {"asks": [sent]}, wants("network"))
case("not to another page", ["D-107"], ahead(), {"pageOpen": OTHER, "as": "q"}, wants("network", page="q"), gets)
case("not for another URL or method", ["D-107"], ahead(), wants("network", url=ACCOUNT + "?x=1"), wants("network", method="HEAD"), gets)
for name, other in {"another user's": B, "none": None, "those of the call and others": A + "; role=admin"}.items():
    case(f"not with other cookies, and then to nobody: {name}", ["D-107"], ahead(), {"arrives": ACCOUNT}, {"cookies": other}, wants("network"),
         {"cookies": A}, wants("network"))
case("not with the cookies of a user who came while the call was on its way", ["D-107"], ahead(held=True), {"arrives": ACCOUNT}, {"cookies": B}, {"release": True},
     wants("network"), {"cookies": A}, wants("network"))
case("who asks with other cookies while it is on its way drops it", ["D-107"], ahead(held=True), {"arrives": ACCOUNT}, {"cookies": B}, wants("network", within=30),
     {"cookies": A}, {"release": True}, wants("network"))
case("not to a request without cookies, and then to nobody", ["D-107"], ahead(), wants("network", cookies=False), wants("network"))
case("not to a request with an Authorization, and then to nobody", ["D-107"], ahead(), wants("network", headers={"Authorization": "Bearer B"}), wants("network"))
case("a call without cookies is for requests without cookies", ["D-107"], ahead(cookies=None), {"arrives": ACCOUNT}, {"cookies": B}, wants("network"),
     {"cookies": None}, wants("network"))
case("not with another value of a header that the answer varies by", ["D-107"], ahead({"text": MINE, "headers": {"Vary": "X-Other, ACCEPT"}}),
     wants("network", headers={"Accept": "application/json"}), wants("network"))
case("an answer that varies by * is nobody's", ["D-107"], ahead({"text": MINE, "headers": {"Vary": "*"}}), wants("network", headers={"Accept": "text/html"}))
case("cookies, coding and origin may be named", ["D-107"], ahead({"text": MINE, "headers": {"Vary": "Accept-Encoding, Cookie, Origin"}}), gets)
to = {"status": 302, "headers": {"Location": HTTP + "/api/v2"}}
second = {"at": HTTP + "/api/v2", "text": MINE}
case("a redirect with the same cookies", ["D-108"], ahead(to, second), gets)
case("a redirect that came to another user's cookies makes it nobody's", ["D-108"], ahead(to, second, held=True), {"arrives": ACCOUNT}, {"cookies": B},
     {"release": True}, {"arrives": HTTP + "/api/v2"}, {"cookies": A}, wants("network"))

case("documents that are held are fetched no more", ["D-9", "D-95"], serve(world.origin(1, prefetch="1", policy="1"), world.files(1), config(page(GET)), policy(1)), start(),
     trigger(world.poll(), *world.downloads(1), PREFETCH, POLICY), *[[later(), trigger(world.poll(1))]] * 2, {"stop": True}, start(), later(), trigger(world.poll(1)))
case("what a copy's patch says of other documents doesn't count", ["D-17"], under(policy(1)), serve(fresh=True), [later(), trigger(world.poll(1))] * 5,
     later(37), trigger(world.poll(1)), later(40), serve(rule(newer.copy("version.json"), json=newer.nothing(2, policy="1")), newer.files(2, 1),
     rule(newer.copy("patch/1-2.json"), json=newer.patch(1, 2, policy="9")), rule(newer.copy("policy.json"), json=policy(9, intercept=False)["json"])),
     trigger(newer.copy("version.json"), newer.copy("update/1-2.json"), newer.copy("patch/1-2.json"), *newer.downloads(2, 1)), ask(APP, local("let two")))
case("a config whose coded copy is of half a document is requested without a coding", ["D-98"], serve(world.origin(1, prefetch="1"), world.files(1), config(page(GET)) | cut),
     start(), trigger(world.poll(), *world.downloads(1), PREFETCH, {"url": PREFETCH, "headers": {"accept-encoding": "identity"}}),
     {"prefetch": INDEX, "expect": [{"method": "GET", "url": API}]})

books = []
for name, cases in (("host", hosts), ("policy", policies), ("prefetch", book.cases)):
    books.append(Book(name))
    books[-1].cases = cases
