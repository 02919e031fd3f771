"""Error samples: of which pages, what is left of them, and who gets them."""
from polls import fallen
from routes import falls
from world import *

book = Book("sample")
DAY = SITE + "/app.20261130.js"
ORDERS = SITE + "/orders/20261130/index.html"
FILES = {INDEX: "<p>one", APP: "let one", DAY: "let day", ORDERS: "<p>orders"}
world, steps = one(FILES)
world.publish(FILES | {APP: "let two"})
two = [serve(world.origin(2, 1), world.files(2, 1), fresh=True), later(), trigger(world.poll(1), *world.downloads(2, 1))]
ERROR = {"message": "TypeError: a", "stack": f"f@{APP}:1:2"}
SAMPLE = {"kind": "script", "message": "TypeError: a", "page": INDEX, "stack": [f"f@{APP}:1:2"], "version": "1"}
COUNT = iter(range(10**6))


def case(name, rules, *steps):
    book.case(name, rules, *steps, features=["samples"])


def shown(url=INDEX, text="<p>one"):
    name = f"p{next(COUNT)}"
    return name, [{"pageOpen": url, "as": name}, ask(url, text if text == "network" else local(text), page=name, destination="document", mode="navigate")]


def fails(url=INDEX, text="<p>one", **error):
    """A page is opened, and a script of it fails."""
    name, opens = shown(url, text)
    return [opens, {"scriptFailed": name, **(error or ERROR)}, {"pageClose": name}]


def told(*samples):
    """These samples, and no others."""
    return {"samples": list(samples)}


def at_last(*samples):
    """The same at the end of the process: by then nothing is on its way."""
    return [{"stop": True}, told(*samples)]


def polled(**extras):
    return [serve(world.origin(1, **extras), fresh=True), later(), trigger(world.poll(1))]


# Of which pages.

case("a page whose script fails is told with what failed", ["D-188"], steps, fails(), told(SAMPLE), at_last(SAMPLE))
case("an error without a stack", ["D-188"], steps, fails(message="TypeError: a"), at_last(SAMPLE | {"stack": []}))
up, opens = shown()
case("a page that came up fails no more", ["D-188"], steps, opens, {"pageUp": up}, {"scriptFailed": up, **ERROR}, at_last())
case("nor does one that the network answered", ["D-188"], steps, fails(SITE + "/none.html", "network"), at_last())
left, opens = shown()
case("nor one that is left, or still open", ["D-188"], steps, opens, {"pageClose": left}, shown()[1], at_last())
ROUTE = SITE + "/app/runs/1?user=zoe"
case("the page is the one that answers, without its query, also where a message or a frame names the route", ["D-173", "D-188", "D-190"],
     one({INDEX: ("<p>one", falls("/app/")), APP: "let one"})[1],
     fails(ROUTE, message=f"TypeError: a at {ROUTE}", stack=f"f@{ROUTE}:1:2\ng@{SITE}/app/runs/1/a.js:3:4"),
     at_last(SAMPLE | {"message": f"TypeError: a at {INDEX}", "stack": [f"f@{INDEX}:1:2", f"g@{SITE}/app/runs/1/a.js:3:4"]}))
old, opens = shown()
case("a page of an older version is told with that version", ["D-188"], steps, opens, two, {"scriptFailed": old, **ERROR}, at_last(SAMPLE))

# How many.

case("one for each page", ["D-189"], steps, fails(), fails(message="another"), fails(ORDERS, "<p>orders"), at_last(SAMPLE, SAMPLE | {"page": ORDERS}))
case("the next version has its own", ["D-189"], steps, fails(), two, fails(), at_last(SAMPLE, SAMPLE | {"version": "2"}))
many = World()
pages = [f"{SITE}/{letter}.html" for letter in "abcdefghijklmnopqrst"]
many.publish({page: f"<p>{page}" for page in pages})
case("sixteen for a version", ["D-189"], got(many), *[fails(page, f"<p>{page}") for page in pages], at_last(*[SAMPLE | {"page": page} for page in pages[:16]]))
case("ten frames", ["D-189"], steps, fails(message="x", stack="\n".join(f"f@{APP}:{n}:1" for n in range(1, 41))),
     at_last(SAMPLE | {"message": "x", "stack": [f"f@{APP}:{n}:1" for n in range(1, 11)]}))
case("512 bytes of a message", ["D-189"], steps, fails(message="é " * 400), at_last(SAMPLE | {"message": ("é " * 171)[:-1], "stack": []}))
case("300 bytes of a frame", ["D-189"], steps, fails(message='"' * 2000, stack="\n".join([f"f@{SITE}/{'~' * 400}.js:1:2"] * 10)),
     at_last(SAMPLE | {"message": '"' * 512, "stack": [f"f@{SITE}/{'~' * 279}:1:2"] * 10}))

# What is left.

case("stacks of V8 are written like the others", ["D-188"], steps, fails(message="Error: x", stack="\n".join([
    "Error: x", f"    at f ({APP}:1:2)", f"    at async Foo.bar ({APP}:3:4)", f"    at {INDEX}:5:6", "    at Array.map (<anonymous>)"])),
    at_last(SAMPLE | {"message": "Error: x", "stack": [f"f@{APP}:1:2", f"Foo.bar@{APP}:3:4", f"@{INDEX}:5:6"]}))
case("what may name a person is taken out", ["D-190"], steps, fails(
    message=f"user 12345678 (zoe@mail.example)\nat {SITE}/users/12345678/?token=hunter#top", stack="\n".join([
        "f@https://zoe:hunter@m.test/app.js?session=hunter:1:2", f"g@{SITE}/users/12345678/x.js:3:4", "h@blob:https://m.test/zoe:5:6"])),
    at_last(SAMPLE | {"message": f"user <n> <email> at {SITE}/users/*/?token=", "stack": [f"f@{APP}?session=:1:2", f"g@{SITE}/users/*/x.js:3:4", "h@blob::5:6"]}),
    {"secrets": ["12345678", "zoe", "hunter"]})
case("what is listed keeps its path", ["D-190"], steps, fails(ORDERS, "<p>orders", message=f"in {DAY}?v=zoe", stack=f"f@{DAY}:1:2\nf@{SITE}/app.20261131.js:1:2"),
     at_last(SAMPLE | {"message": f"in {DAY}?v=", "page": ORDERS, "stack": [f"f@{DAY}:1:2", f"f@{SITE}/*:1:2"]}))
case("an error of any text costs nothing", ["D-190"], steps, fails(message="\u0000\u202e\n" * 1000, stack="@" * 20000 + "\n" + ":" * 20000),
     shown()[1], at_last(SAMPLE | {"message": "", "stack": []}))

# Who gets them.

case("an origin that wants none gets none", ["D-191"], steps, polled(samples=0), fails(), at_last())
case("until it says so no more; what failed meanwhile isn't told", ["D-191"], steps, polled(samples=0), fails(), polled(), fails(ORDERS, "<p>orders"),
     at_last(SAMPLE | {"page": ORDERS}))
case("a poll that fails doesn't say so", ["D-191"], steps, polled(samples=0), serve(fresh=True), later(), trigger(world.poll(1)), fails(),
     polled(), at_last())
for name, value in {"1": 1, "true": True, "a text": "0", "null": None, "a list": [0]}.items():
    case(f"`samples` that is {name} is as none", ["D-191"], steps, polled(samples=value), fails(), at_last(SAMPLE))
case("the share of batches doesn't count", ["D-191"], steps, polled(reports=0), fails(), at_last(SAMPLE))
case("nothing is told before the first poll of a process has said whether it may be", ["D-191"], steps, {"stop": True}, start(), fails(), polled(samples=0), at_last())
case("nor offline", ["D-191"], steps, {"conditions": {"network": "offline"}}, fails(), at_last())
fallen_world, down = fallen(FILES)
case("nor while the device is on the static copy", ["D-191"], down, later(37), trigger(fallen_world.poll(1)), later(40), trigger(fallen_world.copy("version.json")), fails(), at_last())
case("a report that is refused isn't sent again", ["D-191"], steps, serve(rule(ORIGIN + "/report", method="POST", status=500, text="no")), fails(), polled(), polled(), at_last(SAMPLE))

books = [book]
