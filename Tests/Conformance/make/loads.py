"""The requests of a real page: whatever the state of the device, each gets the same bytes as from the network."""
import os
from world import *

book = Book("load")
LOAD = [line.split() for line in open(os.path.join(os.path.dirname(__file__), "page-load.txt")) if line[0] != "#"]
FILES = {url.split("?")[0]: f"the bytes of {url.split('/')[-1]}" for method, url, kind in LOAD
         if method == "GET" and url.startswith(SITE + "/") and "_stcore" not in url and not url.endswith(".ico")}
RULE = ["D-80", "D-81", "D-142"]
world = World()
world.publish(FILES)
world.publish(FILES | {SITE + "/index.html": "the bytes of the next index.html"})


def load(sure=False):
    """All requests; with `sure`, the device must answer them itself."""
    steps = [{"pageOpen": LOAD[0][1], "as": "page"}]
    for method, url, kind in LOAD:
        text = world.texts(1).get(url.split("?")[0])
        expect = "network" if method != "GET" or text is None else local(text) | ({} if sure else {"orNetwork": True})
        steps.append(ask(url, expect, page="page", destination=kind, method=method))
    return Group("all requests, of which the device answers " + ("what it holds" if sure else "what it likes"), steps)


def each(how="flip"):
    return Group(f"each file: {how}", [{"damage": text, "how": how} for text in FILES.values()])


held = [serve(world.origin(1), world.files(1)), start(), trigger(world.poll(), *world.downloads(1)), {"stop": True}]
again = {"open": {}, "gives": "any"}
for name, steps in {
    "all is well": [held, start(), load(sure=True), {"memoryShort": True}, load(sure=True)],
    "nothing is held": [serve(fresh=True), start(), load()],
    "every file is damaged": [held, each(), again, load()],
    "every file is damaged, and no server answers": [held, each(), serve(fresh=True), again, load()],
    "every file is cut": [held, each("cut"), serve(fresh=True), again, load()],
    "every file is gone": [held, each("remove"), serve(fresh=True), again, load()],
    "its notes are damaged": [held, {"damageNotes": "garbage", "keep": list(FILES.values())}, again, load()],
    "its notes are of another format": [held, {"damageNotes": '{"format":99}', "keep": list(FILES.values())}, again, load()],
    "all of its folder is damaged": [held, {"damageNotes": "garbage"}, again, load()],
    "the origin is down": [held, serve(fresh=True), start(), later(), trigger(world.poll(1)), load(sure=True)],
    "the origin resets": [held, serve(poll_rule({}, fault={"reset": True}), fresh=True), start(), later(), {"trigger": "launch"}, load(sure=True)],
    "the policy can't be read": [held, serve(world.origin(1, policy="1"), rule(ORIGIN + "/policy.json", text="garbage"), fresh=True), start(), later(),
                                 {"trigger": "launch"}, load(sure=True)],
    "the prefetch config can't be read": [held, serve(world.origin(1, prefetch="1"), rule(ORIGIN + "/prefetchConfig", text="garbage"), fresh=True), start(),
                                          later(), {"trigger": "launch"}, load(sure=True)],
    "an update fails": [held, serve(world.origin(2, 1), fresh=True), start(), later(), {"trigger": "launch"}, load(sure=True)],
    "it is killed in an update": [held, serve(world.origin(2, 1), rule(world.url(2, SITE + "/index.html"), text="the bytes", fault={"kill": 3}), fresh=True), start(),
                                  later(), {"trigger": "launch", "dies": True}, start(), load(sure=True)],
    "another process has its folder": [held, start(), {"open": {}, "gives": "fault", "device": "other"},
                                       [step | {"device": "other"} for step in load()]],
    "the clock is at 1970": [held, start(), later(-1_799_999_000), load(sure=True), {"trigger": "launch"}, load(sure=True)],
    "its preset is damaged": [{"write": "preset.zip", "base64": b64(b"PK\x03\x04 garbage")}, serve(fresh=True), start(preset="preset.zip", build="1"), load()],
}.items():
    book.case(f"a page's requests when {name}", RULE, steps)
full = {"disk": "2m"}
book.case("a page's requests when the disk is full", RULE + ["D-120"], held, {"fill": 0}, again, load(), {"trigger": "launch"}, load(), **full)
book.case("a page's requests when the disk is full and files are gone", RULE + ["D-120"], held, each("remove"),
          {"fill": 0}, again, load(), **full)
book.case("a page's requests when the disk fills up in an update", RULE + ["D-120"], held, start(), {"fill": 0}, serve(world.origin(2, 1), world.files(2, 1)), later(),
          {"trigger": "launch"}, load(sure=True), **full)
books = [book]
