"""A device that goes back by itself from a version that doesn't come up."""
import io, zipfile

import signed
from rollouts import candidate, origin as rolling, rule as ruling
from world import *

book = Book("heal")
FILES = {INDEX: "<p>one", APP: "let one"}
PART = SITE + "/part.js"
world = World()
world.publish(FILES)
world.publish({INDEX: "<p>two", APP: "let two", PART: "part two"})
world.publish({INDEX: "<p>three", APP: "let three"})
TWO = [world.poll(1), *world.downloads(2, 1)]


def case(name, rules, *steps, features=(), **members):
    book.case(name, rules, *steps, features=["healing", *features], **members)


def skips(poll, version=2):
    return f"{poll}&skip={version}"


def skipping(version, held, **extras):
    """An origin's answer to a device that skips the newest version."""
    return poll_rule({"app": "shop", "channel": "online", "skip": str(version)} | held_query(world, held), world.nothing(version, **extras))


def switched(first=None, extras={}, **settings):
    """Steps after which a device has the second version, and held the first one before."""
    return [*(first or got(world, **settings)), serve(skipping(2, 1), world.origin(2, 1, **extras), world.files(2, 1), fresh=True), later(), trigger(*TWO), later()]


def opens(name, text="<p>two", url=INDEX):
    return [{"pageOpen": url, "as": name}, ask(url, local(text), page=name, destination="document")]


def bad(name, text="<p>two", url=INDEX):
    return [opens(name, text, url), {"scriptFailed": name}]


def up(name, text="<p>two"):
    return [opens(name, text), {"pageUp": name}]


def killed(**settings):
    return [{"kill": True}, start(**settings)]


def on(version, text):
    return [{"state": {"version": str(version)}}, ask(INDEX, local(f"<p>{text}"), asks=[]), ask(APP, local(f"let {text}"), asks=[])]


def proves(name, text="<p>two"):
    return [up(name, text), later(11)]


to_two, one, two, three = switched(), on(1, "one"), on(2, "two"), on(3, "three")
RETURNED = {"reason": "returned", "url": INDEX, "version": "2"}
fails = [bad("a"), bad("b")]

# Pages that fail.

case("two first pages that fail lead back, without a request", ["D-150", "D-152", "D-154", "D-157"], to_two, fails, one, trigger(skips(world.poll(1))), one, later(),
     trigger(skips(world.poll(1))))
case("two first pages of two addresses, too", ["D-152"], to_two, bad("a"), bad("b", "let two", APP), one)
case("one that came up ends that", ["D-151", "D-152"], to_two, bad("a"), up("b"), bad("c"), bad("d", "let two", APP), {"state": {"version": "2"}})
case("also while another one fails", ["D-152"], to_two, opens("a"), opens("b"), opens("c"), {"scriptFailed": "a"}, {"pageUp": "b"}, {"scriptFailed": "c"}, two)
case("a page that was left before it came up is none", ["D-152"], to_two, bad("a"), *[[opens(name), {"pageClose": name}] for name in "bc"], two, bad("d"), one)
case("two scripts that fail in one page are one failure", ["D-152"], to_two, bad("a"), {"scriptFailed": "a"}, two)
case("a page that the network answered says nothing", ["D-152"], to_two, *[[{"pageOpen": SITE + "/other.html", "as": name}, ask(
    SITE + "/other.html", "network", page=name, destination="document"), {"scriptFailed": name}] for name in "ab"], two)
case("failures are counted over restarts", ["D-152", "D-161"], to_two, bad("a"), {"stop": True}, start(), two, bad("b"), one, {"kill": True}, start(), one, trigger(skips(world.poll(1))))
case("a page that came up is remembered over restarts", ["D-152", "D-161"], switched(proofDelay=60_000), bad("a"), up("b"), {"stop": True}, start(proofDelay=60_000), bad("c"), bad("d", "let two", APP),
     {"state": {"version": "2"}})
case("without a network", ["D-154"], to_two, {"conditions": {"network": "offline"}}, fails, one)
case("days later", ["D-150"], to_two, later(3 * 86_400), trigger(world.poll(2)), later(), trigger(world.poll(2)), fails, one)
case("by a clock that was set back", ["D-130", "D-150"], to_two, later(-40 * 86_400), trigger(world.poll(2)), fails, one)

# Crashes.

case("two processes that end while a page starts lead back, before any page is answered", ["D-153", "D-154"], to_two, opens("a"), killed(), two, opens("b"), killed(), one,
     trigger(skips(world.poll(1))))
case("one of them doesn't", ["D-153"], to_two, opens("a"), killed(), two, opens("b"), {"stop": True}, start(), two, opens("c"), killed(), one)
case("processes that were asked to end don't count", ["D-153"], to_two, [opens("a"), {"stop": True}, start()] * 3, two)
case("nor ones whose page was closed, or failed", ["D-153"], to_two, [opens("a"), {"pageClose": "a"}, killed()] * 3, bad("b"), killed(), two)
case("a page that fails and a process that ends are two", ["D-152", "D-153"], to_two, bad("a"), two, opens("b"), killed(), one, trigger(skips(world.poll(1))))
case("and the other way round", ["D-152", "D-153"], to_two, opens("a"), killed(), two, bad("b"), one, trigger(skips(world.poll(1))))
case("not once a page has come up", ["D-152"], to_two, opens("a"), killed(), two, up("b"), bad("c", "let two", APP), two)
case("nor ones in the background", ["D-153"], to_two, [opens("a"), {"conditions": {"foreground": False}}, killed()] * 3, two)
case("a second page that is closed doesn't hide that the first one is starting", ["D-153"], to_two,
     [opens("a"), opens("b"), {"pageClose": "b"}, killed()] * 2, one)
case("a page that came up, and the process that ended soon after", ["D-151", "D-153"], switched(proofDelay=60_000), [up("a"), killed(proofDelay=60_000)] * 2, one)
case("a version that has proved itself is left no more", ["D-151"], to_two, proves("a"), [opens("b"), killed()] * 2, bad("c"), bad("d", "let two", APP), {"state": {"version": "2"}})
case("that it has proved itself outlives the process", ["D-151", "D-161"], to_two, proves("a"), killed(), fails, {"state": {"version": "2"}})

# What the app says.

case("the app says that it works", ["D-159"], to_two, {"confirm": True}, [opens("a"), killed()] * 2, bad("b"), bad("c", "let two", APP), {"state": {"version": "2"}})
case("the app says that it doesn't", ["D-159"], to_two, {"reject": True}, one, trigger(skips(world.poll(1))), up("a", "<p>one"), {"told": [RETURNED | {"cause": "rejected", "url": ""}]})
case("it says so too late", ["D-151", "D-159"], to_two, proves("a"), {"reject": True}, two)

# What is told.

case("it is told when a page has come up", ["D-158"], to_two, fails, {"untold": RETURNED}, up("c", "<p>one"), up("d", "<p>one"), {"told": [RETURNED | {"cause": "page"}]},
     {"stop": True}, start(), up("e", "<p>one"), {"told": [RETURNED | {"cause": "page"}]})
case("without the page's query", ["D-158"], to_two, bad("a"), {"pageOpen": INDEX + "?id=7", "as": "b"}, ask(INDEX + "?id=7", local("<p>two"), page="b", destination="document"),
     {"scriptFailed": "b"}, up("c", "<p>one"), {"told": [RETURNED | {"cause": "page"}]}, {"secrets": ["id=7"]})
case("so are crashes, once the origin has answered a poll of that process", ["D-158"], to_two, [opens("a"), killed()] * 2, up("c", "<p>one"), {"untold": RETURNED},
     later(), trigger(skips(world.poll(1))), {"told": [RETURNED | {"cause": "start"}]})
case("it is told whatever share of the counts the origin wants", ["D-158"], switched(extras={"reports": 0}), fails, up("c", "<p>one"), {"told": [RETURNED | {"cause": "page"}]})
case("offline it is told later", ["D-158"], to_two, {"conditions": {"network": "offline"}}, fails, up("c", "<p>one"), {"untold": RETURNED},
     {"conditions": {"network": "unmetered"}}, trigger(skips(world.poll(1))), {"told": [RETURNED | {"cause": "page"}]})

# It wasn't the version.

lifted = [fails, bad("c", "<p>one"), trigger(world.poll(1)), two, later()]
case("if the first page after that fails as well, it wasn't the version", ["D-158"], to_two, lifted, trigger(world.poll(2)), {"untold": RETURNED})
case("and it isn't left again before a page has come up", ["D-158"], to_two, lifted, fails, {"state": {"version": "2"}}, [opens("d", "let two", APP), killed()] * 2,
     {"state": {"version": "2"}}, {"untold": RETURNED})
case("that outlives the process", ["D-158", "D-161"], to_two, lifted, {"kill": True}, start(), fails, {"state": {"version": "2"}})
case("once a page has come up, it may be left again", ["D-158"], to_two, fails, bad("c", "<p>one"), up("d", "<p>one"), trigger(world.poll(1)), two, bad("e"), bad("f"), one)
case("a process that ends in the first page after that says the same", ["D-158"], to_two, fails, opens("c", "<p>one"), killed(), trigger(world.poll(1)), two, {"untold": RETURNED})
case("a page that was open before says nothing", ["D-158"], got(world), opens("old", "<p>one"), switched()[3:], fails, {"scriptFailed": "old"}, one, trigger(skips(world.poll(1))))

# The version that is skipped, and higher ones.

case("an origin that doesn't know `skip`", ["D-157"], to_two, fails, serve(world.origin(2, 1), world.files(2, 1), fresh=True), trigger(skips(world.poll(1))), one)
case("one that answers with the whole manifest", ["D-157"], to_two, fails, serve(poll_rule({}, world.whole(2)), world.files(2, 1), fresh=True), trigger(skips(world.poll(1))), one)
(lambda made: (lambda answer: case("one that answers with a pack", ["D-157"], to_two, fails, serve(poll_rule({}, answer[0]), rule(answer[1], data=made), fresh=True),
                                   trigger(skips(world.poll(1))), one, features=["packs"]))(world.with_pack(1, 2, made)))(pack(world, 1, 2)[0])
to_three = [serve(world.origin(3, 1), world.origin(3, 2), world.files(3, 1), world.files(3, 2), fresh=True), trigger(skips(world.poll(1)), *world.downloads(3, 1)), three, later()]
case("a higher version is taken, and ends it", ["D-157"], to_two, fails, to_three, trigger(world.poll(3)))
case("that one may fail, too", ["D-150", "D-157"], to_two, fails, to_three, bad("c", "<p>three"), bad("d", "<p>three"), one, serve(skipping(3, 1), fresh=True),
     trigger(skips(world.poll(1), 3)))
case("after two switches the device goes back to the version that has proved itself", ["D-150"], to_two,
     serve(skipping(3, 1), world.origin(3, 2), world.files(3, 2), fresh=True), trigger(world.poll(2), *world.downloads(3, 2)), later(), bad("a", "<p>three"), bad("b", "<p>three"), one,
     trigger(skips(world.poll(1), 3)))
case("after two that have, to the last of them", ["D-150", "D-151"], to_two, proves("a"),
     serve(skipping(3, 2), world.origin(3, 2), world.files(3, 2), fresh=True), trigger(world.poll(2), *world.downloads(3, 2)), later(), bad("b", "<p>three"), bad("c", "<p>three"), two,
     trigger(skips(world.poll(2), 3)))
five = [later(), trigger(skips(world.poll(1)))] * 5
case("at the static copy it isn't requested", ["D-157"], to_two, fails, serve(fresh=True), five, later(37), trigger(skips(world.poll(1))), later(40),
     serve(world.mirror(2, 1), world.files(2, 1)), trigger(world.copy("version.json")), one, serve(world.mirror(3, 1), world.files(3, 1), fresh=True), later(33),
     trigger(skips(world.poll(1))), later(), trigger(world.copy("version.json"), world.copy("update/1-3.json"), world.copy("patch/1-3.json"), *world.downloads(3, 1)), three)

# Where there is no way back.

case("the first version of all", ["D-150"], got(world), bad("a", "<p>one"), bad("b", "<p>one"), {"state": {"version": "1"}})
case("what a rollback made the device leave", ["D-150", "D-155"], switched(extras={"rollback": "2"}), fails, {"state": {"version": "2"}})
case("a rollback of the version on trial", ["D-150", "D-155"], to_two, bad("a"), serve(world.origin(3, 2, rollback="3"), world.files(3, 2), fresh=True),
     trigger(world.poll(2), *world.downloads(3, 2)), bad("b", "<p>three"), bad("c", "<p>three"), {"state": {"version": "3"}})
case("a rollback of the version that is skipped", ["D-155", "D-157"], to_two, fails, serve(world.origin(3, 1, rollback="3"), world.files(3, 1), fresh=True),
     trigger(skips(world.poll(1)), *world.downloads(3, 1)), three, later(), trigger(world.poll(3)))
case("an earlier rollback leaves it", ["D-155"], switched(extras={"rollback": "1"}), fails, one)
case("a lower version", ["D-150"], to_two, proves("a"), serve(world.origin(1), world.files(1), fresh=True), trigger(world.poll(2)), on(1, "one"), bad("b", "<p>one"), bad("c", "<p>one"),
     {"state": {"version": "1"}})

# Pages, documents, and what is under way.

case("pages that are open keep the files of the version that was left", ["D-85", "D-154"], to_two, opens("open"), fails, ask(PART, local("part two"), page="open", asks=[]),
     ask(PART, "network"), ask(APP, local("let two"), page="open", asks=[]), one)
case("a page of the version before gets its own all the while", ["D-85", "D-154"], got(world), opens("old", "<p>one"), switched()[3:], ask(APP, local("let one"), page="old", asks=[]), fails,
     ask(APP, local("let one"), page="old", asks=[]))
POLICY = {"code": 200, "data": {"version": "1", "intercept": False, "bypass": [], "scripts": []}}
policed = serve(world.origin(2, policy="1"), rule(ORIGIN + "/policy.json", json=POLICY), fresh=True)
case("the kill switch stays in force", ["D-154"], to_two, policed, trigger(world.poll(2), ORIGIN + "/policy.json?app=shop&channel=online"), {"reject": True},
     {"state": {"version": "1", "policy": "1"}}, ask(INDEX, "network"))
held_up = {**rule(world.url(3, APP), data=b"let three"), "fault": {"hold": True}}
case("an update that is under way doesn't hold it up", ["D-154"], to_two, serve(world.origin(3, 2), world.origin(3, 1), held_up, world.files(3, 1), fresh=True),
     {"trigger": "launch", "background": True}, {"arrives": world.url(3, APP)}, fails, {"state": {"version": "1"}}, ask(INDEX, local("<p>one")), ask(APP, local("let one")),
     {"release": True, "asks": [world.poll(2), *[{"url": url, "times": [0, 2]} for url in world.downloads(3, 2)]]}, later(), serve(world.origin(3, 1), world.files(3, 1), fresh=True),
     trigger(skips(world.poll(1)), *[{"url": url, "times": [0, 1]} for url in world.downloads(3, 1)]), three)
case("notes that can't be read", ["D-137", "D-161"], to_two, fails, {"stop": True}, {"damageNotes": "{", "keep": list(world.texts(1).values()) + list(world.texts(2).values())}, start(),
     serve(world.origin(2), world.files(2), fresh=True), later(), trigger(world.poll(), *[{"url": url, "times": [0, 1]} for url in world.downloads(2)]), two)

# Room.

# A block of the disk each.
large = World()
for text in ("one", "two"):
    large.publish({INDEX: f"<p>{text}" + " " * 4000, APP: f"let {text}" + " " * 4000})
TIGHT = 3 * 4096


def limited(begin):
    answers = [poll_rule({"skip": "2"}, large.nothing(2)), large.origin(2, 1), large.files(2, 1)]
    return [begin, serve(*answers, fresh=True), later(), trigger(large.poll(1), *large.downloads(2, 1)), later(),
            [bad(name, "<p>two" + " " * 4000) for name in "ab"]]


def filled(version, text):
    return [{"state": {"version": str(version)}}, ask(INDEX, local(f"<p>{text}" + " " * 4000), asks=[]), ask(APP, local(f"let {text}" + " " * 4000), asks=[])]


case("a disk limit that both versions fit in", ["D-160"], limited(got(large, diskLimit=4 * 4096)), filled(1, "one"))
case("one that they don't fit in costs the way back", ["D-160"], limited(got(large, diskLimit=TIGHT)), {"state": {"version": "2"}}, ask(APP, local("let two" + " " * 4000), asks=[]))


def archive(version, world=world):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        files = {"manifest.json": canonical(world.whole(version))}
        files |= {"files/" + file_name(url): world.data[entry["download"]] for url, entry in world.maps[version].items()}
        for name, data in files.items():
            file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return {"write": "preset.zip", "base64": b64(out.getvalue())}


preset = dict(preset="preset.zip", build="1")
case("what the app carries is the last resort", ["D-156"], limited([archive(1, large), start(**preset, diskLimit=TIGHT)]), filled(1, "one"), trigger(skips(large.poll(1))))
case("what was there before goes before what the app carries", ["D-156"], archive(1), start(**preset),
     serve(world.origin(2, 1), world.files(2, 1)), trigger(*TWO), later(), proves("a"), serve(skipping(3, 2), world.origin(3, 2), world.files(3, 2), fresh=True),
     trigger(world.poll(2), *world.downloads(3, 2)), bad("b", "<p>three"), bad("c", "<p>three"), two)
case("a preset of the version that is skipped isn't taken", ["D-157"], to_two, fails, {"stop": True}, archive(2), start(preset="preset.zip", build="2"), one)

# Rollouts.

enters = [*got(world), serve(poll_rule({"app": "shop", "channel": "online", "skip": "2", "candidate": "1"}, world.nothing(2, rollout=ruling())), rolling(world, 1, ruling()), world.files(2, 1), fresh=True),
          later(), trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(2, 1)), later()]
case("a candidate that fails leads back to the full version, which is followed from then on", ["D-150", "D-157"], enters, fails, one, trigger(skips(world.poll(1))), one, features=["rollouts"])
case("the next candidate is taken", ["D-157"], enters, fails, serve(rolling(world, 1, ruling(version=3)), world.files(3, 1), fresh=True),
     trigger(skips(world.poll(1)), skips(candidate(world.poll(1))), *world.downloads(3, 1)), three, later(), trigger(candidate(world.poll(3))), features=["rollouts"])

# Signed releases.

s = signed.world
trusted = [signed.held, serve(s.answers(2, 1), signed.two, fresh=True), trigger(s.poll(1), *s.downloads(2, 1)), s.holds(2), later()]
back = [s.holds(1), ask(INDEX, local("<p>one"), asks=[])]
case("a version whose statements are held", ["D-155", "T-14"], trusted, fails, back, serve(s.answers(3, 1), signed.two, fresh=True),
     trigger(skips(s.poll(1)), *s.downloads(3, 1)), s.holds(3))
high = signed.root(2, floors={"home": signed.NOW + 2})
case("a version below a floor that came meanwhile", ["D-155", "T-14"], trusted, serve(s.answers(2, number=2), signed.served(2, high), fresh=True),
     trigger(s.poll(2), signed.root_url(2)), fails, {"state": {"version": "2"}})
case("the floors of a version that hasn't proved itself count for nothing", ["D-151", "T-14"], signed.to_two, fails, back)

# What the app says of a version that isn't left again.

case("if the version before failed, what the app says changes nothing before a page has come up", ["D-158", "D-159"], to_two, lifted, {"reject": True}, two, {"untold": RETURNED})

# Told in time.

case("offline it is told later, also if there is a higher version by then", ["D-158"], to_two, {"conditions": {"network": "offline"}}, fails, up("c", "<p>one"),
     serve(world.origin(3, 1), world.files(3, 1), fresh=True), {"conditions": {"network": "unmetered"}}, trigger(skips(world.poll(1)), *world.downloads(3, 1)), three,
     {"told": [RETURNED | {"cause": "page"}]})

# Files that aren't here.

case("pages that lack a listed file because of the network say nothing of their version", ["D-152", "D-158"], got(world, meteredLimit=1), {"conditions": {"network": "metered"}},
     serve(world.origin(2, 1), world.files(2, 1), fresh=True), later(), trigger(world.poll(1)), later(), ask(INDEX, local("<p>two"), asks=[world.url(2, INDEX)]),
     {"conditions": {"network": "offline"}},
     *[[opens(name), ask(APP, "network", page=name), {"scriptFailed": name}, {"pageClose": name}] for name in "ab"], {"state": {"version": "2"}},
     {"conditions": {"network": "unmetered"}}, bad("c", "let two", APP), bad("d", "let two", APP), {"state": {"version": "1"}})

# A device that was away.

case("a candidate that leads back to an older version than the full one", ["D-157"], got(world), serve(rolling(world, 2, ruling(version=3)), world.files(3, 1), world.files(2, 1), fresh=True), later(),
     trigger(world.poll(1), candidate(world.poll(1)), *world.downloads(3, 1)), later(), bad("a", "<p>three"), bad("b", "<p>three"), one,
     trigger(skips(world.poll(1), 3), *world.downloads(2, 1)), two, later(), trigger(skips(world.poll(2), 3)), features=["rollouts"])

# What D-111 counts.

case("going back begins the count of processes anew", ["D-111", "D-153"], to_two, opens("a"), killed(), opens("b"), killed(), opens("c", "<p>one"), killed(),
     opens("d", "<p>one"))

# The URLs of polls.

case("`skip` comes after everything else", ["D-157", "D-187"], to_two, fails, one, trigger(exactly(skips(world.poll(1)))))

books = [book]
