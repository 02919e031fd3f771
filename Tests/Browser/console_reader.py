#!/usr/bin/env python3
"""Tests in Chromium of what a screen reader says of the console's pages and dialogs, and where the keyboard's focus is.

    Tests/Browser/console_reader.py [XCACHE] [--say]      XCACHE: the program (default: .build/debug/xcache)

Reads the browser's accessibility tree of every page and dialog in order. `--say` prints what it reads. Needs Chromium.
"""
import collections, json, os, re, socket, sys, tempfile, time
from cdp import Browser
from console_page import Console, here, until
from site_under_test import Site

arguments = [one for one in sys.argv[1:] if one != "--say"]
xcache = os.path.abspath(arguments[0] if arguments else os.path.join(here, "../../.build/debug/xcache"))
says = "--say" in sys.argv
path, base = "apps/shop/channels", "https://m.example.com/"
online = "#/channel/shop/online"

Said = collections.namedtuple("Said", "role name depth about within node")
landmarks = {"banner", "navigation", "main", "region", "search", "contentinfo", "complementary"}
pressed = {"button", "link", "checkbox", "radio", "combobox", "textbox", "searchbox", "spinbutton", "DisclosureTriangle", "DisclosureTriangleGrouped", "Date", "DateTime", "InputTime", "Iframe"}
# What a reader spells out, such as "heavy multiplication x".
symbols = re.compile("[✖▲▼✔○▾●⚠★]")


def read(page):
    """What is read, in order: each node that isn't ignored, and texts."""
    nodes = {one["nodeId"]: one for one in page.send("Accessibility.getFullAXTree")["nodes"]}
    found = []

    def walk(node, depth, within):
        role = node.get("role", {}).get("value", "")
        about = {one["name"]: one["value"].get("value") for one in node.get("properties", [])}
        if not node.get("ignored") and (role not in ("none", "generic", "InlineTextBox") or about.get("focusable")):
            about["description"] = node.get("description", {}).get("value", "")
            name = " ".join(node.get("name", {}).get("value", "").split())
            found.append(Said(role, name, depth, about, within, node))
            within, depth = (*within, found[-1]), depth + 1
        for child in node.get("childIds", []):
            if child in nodes and role != "InlineTextBox":
                walk(nodes[child], depth, within)

    walk(next(one for one in nodes.values() if "parentId" not in one), 0, ())
    return found


def said(nodes):
    """As lines."""
    for one in nodes:
        more = [f"{name}={one.about[name]}" for name in ("level", "expanded", "checked", "disabled", "live", "description") if one.about.get(name)]
        if one.role not in ("StaticText",) or not one.within or one.within[-1].name != one.name:
            yield f"{'  ' * one.depth}{one.role} “{one.name}” {' '.join(more)}".rstrip()


def done(site, place, body):
    status, answer = site.ask("POST", place, body)
    assert status in (200, 201, 202), (place, status, answer)
    return answer


def moment(hours):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + hours * 3600))


def prepared(site):
    """Something of all that the console shows: problems, a rollout, acts that wait, planned ones, samples, tokens of one name."""
    files = {f"js/part-{number}.js": f"console.log({number});\n" * 9 for number in range(6)}
    files |= {"index.html": "<title>shop</title>\n<h1>Spring</h1>\n", "help/index.html": "<title>help</title>\n<p>Help\n"}
    site.publish(files, "spring sale")
    time.sleep(1.1)
    site.publish(files | {"index.html": "<title>shop</title>\n<h1>Summer</h1>\n", "help/index.html": "<title>help</title>\n<p>More help\n"}, "summer sale")
    for name in ("staged", "held", "planned"):
        done(site, f"{path}/{name}/create", {})
        done(site, f"{path}/{name}/promote", {"from": "online", "version": "1"})
    done(site, f"{path}/staged/promote", {"from": "online", "version": "2", "rollout": {"share": 500}})
    site.evidence("candidate", 1, 2, "staged")
    site.evidence("control", 0, 2, "staged")
    done(site, f"{path}/planned/freeze", {"reason": "the load test runs until Friday"})
    for hours in (5, 6):
        done(site, f"{path}/planned/promote", {"from": "online", "version": "2", "schedule": moment(hours), "breakGlass": "sale"})
        done(site, f"{path}/planned/freeze", {"reason": f"the fair {hours}", "from": moment(hours), "to": moment(hours + 9)})
    done(site, "problems/acknowledge", {"app": "shop", "channel": "planned", "code": "frozen", "reason": "announced", "until": moment(9)})
    done(site, f"{path}/held/protect", {"approvals": 1, "by": None, "share": 0})
    ben = done(site, "tokens", {"name": "ben", "scope": "publish", "app": "shop"})["token"]
    for version in ("1", "2"):
        status, answer = site.ask("POST", f"{path}/held/promote", {"from": "online", "version": version}, ben)
        assert status in (200, 202), answer
    for name in ("wall", "wall-2"):
        done(site, "tokens", {"name": name, "scope": "read", "app": "shop"})
        done(site, "mirrors", {"name": f"s3://copies/{name}", "versions": [{"app": "shop", "channel": "online", "version": "1"}]})
    done(site, f"{path}/online/pins", {"version": "1", "reason": "the audit of March"})
    done(site, f"{path}/online/policy", {"act": "bypass-add", "pattern": f"{base}pay/*", "message": "broken offline"})
    done(site, f"{path}/staged/policy", {"act": "kill", "message": "white pages", "until": moment(4)})
    site.poll(1, 4)
    site.poll(2, 9)
    for version, failed in ((1, 1), (2, 9)):
        site.count(version, {"local": 4000, "passed": 100, "page-failed": failed, "paint-local-512": 400, "load-local-1024": 400, "paint-network-1024": 40})
    for name in ("index.html", "help/index.html"):
        site.sample(2, f"TypeError: basket of {name} is undefined", f"{base}{name}", [f"total@{base}js/part-1.js:1:7", f"@{base}js/part-2.js:1:1"])
    site.report("integrity", 2, 12, f"{base}js/part-1.js")
    site.report("timeout", 2, 3, f"{base}js/part-2.js")
    for channel in ("online", "staged"):
        assert site.ask("GET", f"{path}/{channel}/adoption/series")[0] == 200


# What must never come back, page by page: each gives sentences about what is wrong.

def headings(nodes, is_dialog):
    found = [(int(one.about["level"]), one.name) for one in nodes if one.role == "heading"]
    first = 2 if is_dialog else 1
    if [level for level, _ in found].count(1) != 2 - first or not found or found[0][0] != first:
        yield f"its headings begin with {found[:2]}"
    for (before, _), (level, name) in zip(found, found[1:]):
        if level > before + 1:
            yield f"the heading “{name}” of level {level} follows one of level {before}"
    yield from (f"a heading of level {level} says nothing" for level, name in found if not name)


def places(nodes, is_dialog):
    """Everything is in a landmark, and no two have the same name."""
    if is_dialog:
        return
    found = [(one.role, one.name) for one in nodes if one.role in landmarks]
    yield from (f"two landmarks are “{name}”, {role}" for (role, name), times in collections.Counter(found).items() if times > 1)
    yield from (f"a {role} has no name" for role, name in found if not name and role not in ("banner", "main", "search"))
    if [role for role, _ in found].count("main") != 1:
        yield "there isn't one main landmark"
    yield from (f"“{one.name}” is in no landmark" for one in nodes if one.role == "StaticText" and one.name
                and not any(each.role in landmarks or each.role in ("status", "alert") or each.name == "Skip to content" or each.about.get("live") for each in one.within))


def names(nodes, _):
    """What can be pressed or filled in has a name that says what it is, out of its context, too."""
    leads = collections.defaultdict(set)
    for one in nodes:
        if one.about.get("focusable") and one.role in ("generic", "none", "Pre"):
            yield f"“{one.name}” can have the focus, and is nothing"
        if one.role not in pressed or "date and time picker" in one.name:
            continue
        if not re.search("[A-Za-z]{2}", one.name):
            yield f"a {one.role} is called “{one.name}”"
        # The same address by the same name is the same link; buttons of one name are described: by a file's address.
        if one.role in ("link", "button"):
            leads[one.role, one.name].add(one.about.get("url") or one.about["description"] or one.node["backendDOMNodeId"])
    for (role, name), them in leads.items():
        if len(them) > 1 and (role == "link" or any(isinstance(each, int) for each in them)):
            yield f"{len(them)} times there is a {role} “{name}”, and not for the same"


def tables(nodes, _):
    for table in (one for one in nodes if one.role == "table"):
        inside = [one for one in nodes if any(each is table for each in one.within)]
        heads = [one.name for one in inside if one.role == "columnheader"]
        if not table.name or not heads or not all(heads):
            yield f"the table “{table.name}” has the headers {heads}"
        for row in (one for one in inside if one.role == "row"):
            cells = [one.role for one in inside if one.within[-1] is row and one.role in ("cell", "gridcell", "columnheader", "rowheader")]
            # A day's name stands alone above its rows.
            if cells != ["rowheader"] and len(cells) != len(heads) or "columnheader" not in cells and cells[0] != "rowheader":
                yield f"the table “{table.name}” has {heads} and a row {cells}"
                break


def signs(nodes, _):
    yield from (f"“{one.name}” is read with its sign" for one in nodes if one.role == "StaticText" and symbols.search(one.name))


def pictures(nodes, _):
    for one in nodes:
        if one.role in ("image", "img") and any(each.within and each.within[-1] is one for each in nodes):
            yield f"what is in the picture “{one.name}” is read, too"
        if one.role in ("image", "img") and not re.search(r"\d|table below", one.name):
            yield f"a picture says only “{one.name}”"
        if one.role == "Iframe" and not one.name:
            yield "a frame has no title"


def times(nodes, _):
    for one in (one for one in nodes if one.role == "time"):
        words = " ".join(each.name for each in nodes if each.role == "StaticText" and any(within is one for within in each.within))
        if "UTC" not in words or not re.search(r"\d:\d\d", words):
            yield f"a time is read as “{words}”"


rules = (headings, places, names, tables, signs, pictures, times)

# In the page: focus that isn't seen, what can be focused though nobody hears of it, and long texts that are read at once.
looked = """(() => {
  const found = [], before = document.activeElement, within = document.querySelector('dialog[open]') ?? document.body;
  for (const one of within.querySelectorAll('a[href], button, input, select, textarea, summary, iframe, [tabindex="0"]')) {
    if (!one.checkVisibility({ visibilityProperty: true })) continue;
    const name = one.id || one.textContent.trim().slice(0, 40) || one.name;
    if (one.closest('[aria-hidden=true]')) found.push(`${name} can have the focus, and is hidden from who listens`);
    one.focus({ focusVisible: true, preventScroll: true });
    // A choice of a list has its ring around the whole row.
    const { outlineStyle, outlineWidth } = getComputedStyle(one.closest('.choices label') ?? one);
    if (one.localName !== 'iframe' && (outlineStyle === 'none' || outlineWidth === '0px')) found.push(`the focus isn't seen on ${name}`);
  }
  before.focus({ preventScroll: true });
  for (const one of document.querySelectorAll('[aria-live], [role=status], [role=alert]')) {
    if (one.innerText.length > 600) found.push(`${one.innerText.length} characters are read at once: ${one.innerText.slice(0, 60)}`);
  }
  return found; })()"""


def look(console, what, is_dialog=False):
    found = read(console.page)
    if says:
        print(f"\n== {what}", *said(found), sep="\n")
    return [f"{what}: {words}" for words in [*(each for rule in rules for each in rule(found, is_dialog)), *console.eval(looked)]]


pages = (
    ("overview", "#/", "#channels table"), ("a channel", online, "#failures table"), ("a week", f"{online}?span=week&kinds=policy", "#timeline li"),
    ("a rollout", "#/channel/shop/staged", "#rates"), ("what is planned", "#/channel/shop/planned", "#planned"), ("a protected channel", "#/channel/shop/held", "#planned"),
    ("search", "#/search?q=s", "#search"), ("results", "#/search?q=sum", "#results section"), ("failures", "#/failures/shop/online", "#samples article"),
    ("a preview", "#/preview/shop/online/2", "#stage iframe"), ("a release", f"#/release/shop/online/2?file={base}index.html", "#content pre"),
    ("compare", "#/compare/shop/online?from=1&to=2", ".tree li"), ("audit", "#/audit", "table"), ("operations", "#/operations", "#gc"), ("waiting", "#/waiting", ".act"),
    ("you", "#/you", "#sessions button"), ("no page", "#/nothing", "h1"), ("a refused page", "#/channel/shop/nothing", "h1"))

dialogs = {
    online: ["#act-roll-back", "#act-promote-here", "#act-freeze", "#act-kill-switch", "#act-bypass-pages", "#act-pins", "#act-settings", "#act-protection", "#problems [data-acknowledge]"],
    "#/channel/shop/staged": ["#act-resume", "#rollout-change-share", "#rollout-pause", "#rollout-complete", "#rollout-halt"],
    "#/channel/shop/planned": ["#act-thaw", "[id^=cancel-]", "[id^=take-back-]"],
    "#/waiting": ["[id^=approve-]", "[id^=reject-]"],
    "#/": ["#all-problems .known [data-acknowledge]", "#keys"],
    "#/operations": ["#make-token", "#gc", ".columns td[data-label=Act] button", "#view > section td[data-label=Act] button"],
    "#/failures/shop/online": ["#act-roll-back"],
    "#/release/shop/online/1": ["#act-roll-back"],
}


def arrive(console, place, probe):
    console.go(place, probe)
    until(lambda: "Loading …" not in console.text("#view"), f"all of {place}")
    until(lambda: console.eval("document.activeElement.id") in ("view", "search"), f"the focus on {place}", 5)


def every_page(console, width):
    """Read in order; the focus goes along, and the title says where it went."""
    wrong, titles = [], set()
    for what, place, probe in pages:
        console.eval("location.hash = '#/audit?author=nobody'; 0")
        console.says("No rows match", "#view")
        arrive(console, place, probe)
        title, name = console.eval("[document.title, document.querySelector('#view').ariaLabel]")
        if title != f"{name} – xcache console" or what not in ("a week", "results") and title in titles:
            wrong.append(f"{what}: the title is “{title}”, the page is called “{name}”")
        titles.add(title)
        wrong += look(console, f"{what}, {width} px")
    return wrong


def every_dialog(console):
    """Opened with Enter; the focus goes into it, and back where it was."""
    wrong = []
    for place, buttons in dialogs.items():
        arrive(console, place, "*")
        for button in buttons:
            console.wait(button)
            console.eval(f"""(() => {{ const one = document.querySelector({json.dumps(button)}); const menu = one.closest('details'); if (menu) menu.open = true; one.focus(); }})()""")
            console.press("Enter")
            console.wait("dialog[open] h2")
            if button != "#keys":
                console.wait("dialog #preview h3")
            title = console.flat("dialog h2")
            if not console.eval("document.querySelector('dialog').contains(document.activeElement)"):
                wrong.append(f"{title}: the focus isn't in it")
            found = read(console.page)
            if [one.name for one in found if one.role == "dialog"] != [title] or any(one.role in landmarks for one in found):
                wrong.append(f"{title}: read are {[one.role for one in found][:9]}")
            wrong += look(console, title, True)
            console.press("Escape")
            until(lambda: not console.has("dialog"), "the dialog's end")
            if not console.eval(f"document.activeElement === document.querySelector({json.dumps(button)})"):
                wrong.append(f"{title}: the focus doesn't come back to {button}, but to {console.eval('document.activeElement.outerHTML.slice(0, 99)')}")
    return wrong


def keys_off(console):
    """Who doesn't want single letters to do something switches them off (WCAG 2.2, 2.1.4)."""
    console.go("#/", "#channels table")
    for is_on in (False, True):
        console.click("#keys")
        console.click("dialog #keys-on")
        console.press("Escape")
        until(lambda: not console.has("dialog"), "the dialog's end")
        for key in ("g", "p"):
            console.press(key, "#view")
        until(lambda: (console.eval("location.hash") == "#/operations") == is_on, "what the keys do")
    assert console.eval("localStorage.length") == 0, "more is kept than a choice"


# What changes in a place that is read out at once.
watched = """window.heard = []; for (const one of document.querySelectorAll('[aria-live], [role=status], [role=alert]'))
  new MutationObserver((all) => { for (const each of all) window.heard.push(`${one.id || one.className}: ${one.innerText.slice(0, 80)}`); })
    .observe(one, { subtree: true, childList: true, characterData: true }); 0"""


class Quiet:
    """Two pages that somebody leaves open, while devices report and time passes: nothing is said, and the focus stays."""

    def __init__(self, browser, site):
        self.site = site
        self.page, self.dialog = (Console(browser, site, window=True) for _ in range(2))
        for console in (self.page, self.dialog):
            console.sign_in(site.token)
            console.wait("#channels table")
        self.page.says("15 failures", "#problems")
        self.page.eval("document.querySelector('#problems [data-acknowledge=failing]').focus()")
        self.dialog.go("#/channel/shop/planned", "#act-thaw")
        self.dialog.press("Enter", "#act-thaw")
        self.dialog.wait("dialog #preview time")
        for console in (self.page, self.dialog):
            console.eval(watched)
        self.dialog.eval("window.later = Date.now() + 7_200_000; Date.now = () => window.later; 0")
        site.report("timeout", 2, 3, f"{base}js/part-2.js")

    def wrong(self):
        self.page.says("18 failures", "#problems")
        self.page.says("18 failures", "#channels")
        self.dialog.says("2 h", "#view")
        focus = self.page.eval("document.activeElement.textContent")
        if focus != "Acknowledge failing of shop online":
            yield f"the focus is lost when the banner is drawn anew: it is on “{focus[:80]}”"
        for name, console in (("a page", self.page), ("a dialog", self.dialog)):
            yield from (f"{name} says without being asked: {words}" for words in console.eval("window.heard"))
            console.check_clean(name)


def main():
    with tempfile.TemporaryDirectory() as folder:
        site = Site(xcache, folder, ("--preview-listen", "127.0.0.1:0"))
        try:
            prepared(site)
            with Browser() as browser:
                console = Console(browser, site, window=True)
                wrong = look(console, "the sign-in page")
                quiet = Quiet(browser, site)
                console.page.send("Page.bringToFront")
                console.sign_in(site.token)
                console.wait("#channels table")
                wrong += every_page(console, 1280)
                wrong += every_dialog(console)
                console.wide(390)
                wrong += every_page(console, 390)
                wrong += quiet.wrong()
                assert not wrong, "\n".join(["it reads badly:", *sorted(set(wrong))])
                keys_off(console)
                console.check_clean("all of it")
                print(f"{browser.version}: {len(pages)} pages and {sum(map(len, dialogs.values()))} dialogs were read")
        finally:
            site.stop()
    print("OK")


if __name__ == "__main__":
    main()
