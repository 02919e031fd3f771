#!/usr/bin/env python3
"""Regression tests of the console's details in Chromium, against the program.

    Tests/Browser/console_details.py [XCACHE]      XCACHE: the program (default: .build/debug/xcache)

The first view's size and round trips; long lists and their limits; actions with outdated previews or lost responses; late responses;
permission to forget a mirror. Needs Chromium.
"""
import json, os, subprocess, sys, tempfile, time
from cdp import Browser
from console_page import Console, here, until, zone_text
from site_under_test import Site

xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../.build/debug/xcache"))
online, test, long = (f"#/channel/shop/{name}" for name in ("online", "test", "long"))
path = "apps/shop/channels"
files = {f"part-{number}.js": f"{number}" for number in range(14)}


def say(words):
    print(f"{time.monotonic() - begin:6.1f} s  {words}", flush=True)


def prepared(site):
    """Two releases, a channel with 62, and 57 lines of failures."""
    site.publish(files | {"index.html": "one"}, "one")
    # Releases need different seconds.
    time.sleep(2.1)
    site.publish(files | {"index.html": "two"}, "two")
    for name, versions in (("test", ["1"]), ("long", ["1", "2"] * 31)):
        done(site, f"{path}/{name}/create", {})
        for version in versions:
            done(site, f"{path}/{name}/promote", {"from": "online", "version": version})
    for reason in ("integrity", "timeout", "download", "storage"):
        for name in files:
            site.report(reason, 2, 1, f"https://m.example.com/{name}")
    site.report("patch", 1, 3)
    site.poll(2, 5)


def done(site, place, body):
    status, answer = site.ask("POST", place, body)
    assert status in (200, 201), (place, status, answer)
    return answer


def log(site, channel):
    return site.ask("GET", f"{path}/{channel}/log")[1]["releases"]


def late(console, part, milliseconds):
    """Delays responses to requests whose path contains `part`; an empty part ends the delay."""
    console.eval(f"""(() => {{ window.ask ??= window.fetch; window.fetch = async (path, options) => {{
      const answer = await window.ask(path, options);
      if ({json.dumps(part)} && String(path).includes({json.dumps(part)})) await new Promise((done) => {{ setTimeout(done, {milliseconds}); }});
      return answer; }}; }})()""")


def opened(console, place, button, values={}):
    """Opens a dialog, fills it in, and waits for its preview."""
    console.go(place, button)
    console.click(button)
    console.wait("dialog[open]")
    for name, value in values.items():
        console.set(name, value)
    console.wait("dialog #confirm:not([aria-disabled])")


def confirm(console):
    console.eval("document.querySelector('dialog form').requestSubmit()")


def closed(console):
    console.click("dialog #cancel")
    until(lambda: not console.has("dialog"), "the dialog's end")


def first_view(console):
    """The page itself names all resources of the first view: two round trips. Beside them it asks whether there is a session."""
    sent = [event["params"] for event in console.page.events if event["method"] == "Network.requestWillBeSent"]
    assert sent[0]["request"]["url"] == console.site.console and len(sent) > 4, sent
    for one in sent[1:]:
        if one["request"]["url"].endswith("/api/v1/token"):
            continue
        assert one["initiator"]["type"] == "parser" and one["initiator"]["url"] == console.site.console, one
    def sizes():
        ended = {event["params"]["requestId"]: event["params"]["encodedDataLength"] for event in console.page.events
                 if event["method"] == "Network.loadingFinished"}
        return ended if all(one["requestId"] in ended for one in sent) else None

    ended = until(sizes, "the end of the first view")
    size = sum(ended[one["requestId"]] for one in sent)
    assert 5_000 < size < 20_000, f"the first view is {size} bytes"
    return size


def unknown_places(console):
    for name in ("constructor", "__proto__", "toString", "nothing", "channel", "channel/shop", "release/shop/online", "audit/1"):
        console.eval("document.querySelector('#view').replaceChildren()")
        console.eval(f"location.hash = '#/{name}'")
        console.says("There is no such page", "#view h1")


def unchanged(console):
    """Unchanged data isn't sent again."""
    console.go(online, "#timeline li")
    time.sleep(6)
    mark = len(console.page.events)
    time.sleep(11)
    answers = [event["params"]["response"]["status"] for event in console.page.events[mark:]
               if event["method"] == "Network.responseReceived" and "/api/" in event["params"]["response"]["url"]]
    assert 1 <= len(answers) <= 3 and 304 in answers, answers


def long_lists(console, site):
    console.go(long, "#timeline li")
    count = "document.querySelectorAll('#timeline > li').length"
    assert console.eval(count) == 20
    console.says("Only the newest 20 releases are marked", "#marks-note")
    # The newest of them are shown, the others by the first click.
    seen = "[...document.querySelectorAll('#timeline > li')].filter((one) => !one.hidden).length"
    assert console.eval(seen) == 6, console.eval(seen)
    console.click("#older")
    assert console.eval(seen) == 20, console.eval(seen)
    # A failed request is reported, and repeated by the next click.
    console.eval("window.ask ??= window.fetch; window.fetch = async () => { throw new TypeError(); }; document.querySelector('#older').click()")
    console.says("✖ Older entries can't be read", "#older-note")
    late(console, "before=", 700)
    for _ in range(3):
        console.eval("document.querySelector('#older').click(); document.querySelector('#older').click()")
        time.sleep(0.1)
    until(lambda: console.eval(count) > 20, "older releases")
    time.sleep(1.5)
    assert console.eval(count) == 40, "clicked twice, asked twice"
    late(console, "", 0)
    while console.eval("document.querySelector('#older').offsetParent !== null"):
        before = console.eval(count)
        console.eval("document.querySelector('#older').click()")
        until(lambda: console.eval(count) > before, "older releases")
    versions = console.eval("[...document.querySelectorAll('#timeline > li a')].map((one) => one.textContent)")
    assert versions == [f"Version {number}" for number in range(62, 0, -1)], versions
    assert not console.has("#marks-note") and not console.eval("document.querySelector('#older').offsetParent")
    # Versions that aren't listed in a dialog can be typed in.
    opened(console, long, "#act-roll-back")
    console.says("The newest 50 versions are offered above", "dialog")
    console.set("other", "3")
    console.says("Version 63 gets the content of version 3", "dialog #preview")
    closed(console)
    console.act("#act-pins", "an old one", {"other": "3"})
    assert [one["version"] for one in site.ask("GET", f"{path}/long/pins")[1]["pins"]] == ["3"]
    # Update costs from every older version, loaded in steps.
    console.go("#/release/shop/long/14", "#update-costs button")
    rows = "[...document.querySelectorAll('#update-costs tbody td:first-child')].map((one) => one.textContent)"
    for shown in (6, 12, 13):
        until(lambda: len(console.eval(rows)) == shown, f"{shown} older versions")
        console.eval("for (let i = 0; i < 2; i += 1) document.querySelector('#update-costs button')?.click()")
    assert console.eval(rows) == [str(number) for number in range(13, 0, -1)] and not console.has("#update-costs button")
    console.go(online, "#timeline li")
    console.says("7 further lines aren't shown", "#view")
    until(lambda: "patch" in console.text("#failures tbody tr"), "the most frequent failure in the first line")
    console.go("#/audit", "table")
    late(console, "before=", 700)
    rows = "[...document.querySelectorAll('#view tbody tr td:last-child')].map((one) => one.textContent)"
    assert len(console.eval(rows)) == 50
    console.eval("for (let i = 0; i < 3; i += 1) document.querySelector('#older-rows').click()")
    until(lambda: len(console.eval(rows)) > 50, "older rows")
    time.sleep(1.5)
    shown = console.eval(rows)
    assert shown == [str(number) for number in range(len(shown), 0, -1)], shown
    late(console, "", 0)


def moments(console, site):
    first, second = sorted(log(site, "online"), key=lambda one: int(one["version"]))[:2]
    times = [zone_text(one["at"], 1) for one in (first, second)]
    console.go("#/compare/shop/online", "#compare")
    for name, text in zip(("from", "to"), times):
        console.eval(f"document.querySelector('#{name}').value = {json.dumps(text)}")
    console.eval("document.querySelector('#compare').requestSubmit()")
    console.wait(".tree li button")
    console.says("Version 1 → 2")
    for words, one in (("from", first), ("to", second)):
        console.says(f"“{words}”: what was live at", "#view")
        console.says(f": version {one['version']}.", "#view")


def late_answers(console):
    """A chart shows what is selected, whatever the order of responses."""
    console.go(online, "#timeline li")
    late(console, "points=168", 1500)
    console.click("#span-week")
    console.click("#span-hour")
    unit = "document.querySelector('#view h3 .unit').textContent"
    until(lambda: console.eval(unit).startswith("polls per minute"), "an hour's minutes")
    time.sleep(2)
    assert console.eval(unit).startswith("polls per minute"), "an answer that came late is shown"
    assert console.eval("document.querySelector('#span-hour').ariaPressed") == "true"
    late(console, "", 0)
    console.click("#span-day")


def only_what_was_previewed(console, site):
    opened(console, online, "#act-settings", {"interval": "60"})
    console.set("reason", "calmer")
    # Faster than a preview, and without an input event, as by some form fillers.
    for event in ("field.dispatchEvent(new Event('input', { bubbles: true }))", "0"):
        console.eval(f"""(() => {{ const field = document.querySelector('dialog [name=interval]'); field.value = '90'; {event};
          document.querySelector('dialog form').requestSubmit(); }})()""")
        assert "there is no preview of these values" in console.text("dialog #outcome"), console.text("dialog")
        closed(console)
        opened(console, online, "#act-settings", {"interval": "60"})
        console.set("reason", "calmer")
    closed(console)
    assert site.ask("GET", f"{path}/online/settings")[1]["interval"] is None
    # The version shown is promoted, not a newer one; a rollback from another version is refused.
    opened(console, test, "#act-promote-here")
    console.set("reason", "ready")
    shown = console.text("dialog #preview")
    assert "what online has in version 2" in shown, shown
    site.publish(files | {"index.html": "three"}, "three")
    confirm(console)
    console.says("✔ Version 2 is live", "dialog #outcome")
    closed(console)
    assert log(site, "test")[0]["source"]["version"] == "2", log(site, "test")[0]
    opened(console, online, "#act-roll-back")
    console.set("reason", "back")
    assert "gets the content of version 2" in console.text("dialog #preview")
    site.publish(files | {"index.html": "four"}, "four")
    confirm(console)
    console.says("✖ Refused", "dialog #outcome")
    closed(console)
    assert log(site, "online")[0]["message"] == "four", log(site, "online")[0]


def lost_answers(console, site):
    """An action is done and its response is lost in two ways; confirming again doesn't repeat it."""
    before = int(log(site, "online")[0]["version"])
    for lost in ("throw new TypeError()", "return new Response('{}', { status: 503 })"):
        opened(console, online, "#act-roll-back")
        console.set("reason", "an answer that is lost")
        console.eval(f"""(() => {{ window.ask ??= window.fetch; window.fetch = async (path, options) => {{
          const answer = await window.ask(path, options);
          if (options?.headers?.['Idempotency-Key']) {{ window.fetch = window.ask; {lost}; }}
          return answer; }}; }})()""")
        confirm(console)
        console.says("Whether it was done is not known", "dialog #outcome")
        # The page may have newer data by now; the action stays the same.
        confirm(console)
        console.says(f"✔ Version {before + 1} is live", "dialog #outcome")
        closed(console)
        before += 1
        assert log(site, "online")[0]["version"] == str(before), "it was done twice"


def on_its_way(console, site):
    """A dialog with a pending action can't be closed, and a secret is shown even after navigation."""
    console.go("#/operations", "#make-token")
    console.click("#make-token")
    for field, value in (("name", "slow"), ("scope", "read"), ("app", "shop")):
        console.set(field, value)
    console.set("reason", "an answer that comes late")
    console.wait("dialog #confirm:not([aria-disabled])")
    late(console, "tokens", 2500)
    confirm(console)
    console.says("Sending", "dialog #outcome", 2)
    for _ in range(2):
        console.press("Escape")
    console.eval("document.querySelector('dialog #cancel').click(); location.hash = '#/audit'")
    # As the browser's back gesture does, which pages can't prevent.
    console.eval("document.querySelector('dialog').close()")
    console.wait("#new-token")
    late(console, "", 0)
    assert console.eval("document.querySelector('dialog').open")
    closed(console)


def changed_meanwhile(console, site):
    """An action's subject is read again before it is sent."""
    done(site, f"{path}/online/freeze", {"reason": "the first"})
    console.go(online, "#timeline li")
    console.wait("#act-thaw")
    opened(console, online, "#act-thaw")
    console.set("reason", "over")
    done(site, f"{path}/online/thaw", {})
    done(site, f"{path}/online/freeze", {"reason": "the second"})
    confirm(console)
    console.says("changed meanwhile: admin froze the channel: the second", "dialog #outcome")
    console.says("the second", "dialog #preview")
    assert site.ask("GET", f"{path}/online")[1]["freeze"]["reason"] == "the second", "it was thawed"
    console.wait("dialog #confirm:not([aria-disabled])")
    confirm(console)
    console.says("✔", "dialog #outcome")
    closed(console)
    opened(console, online, "#act-settings", {"interval": "60"})
    console.set("interval", "90")
    console.set("reason", "calmer")
    console.says("Poll interval: not set → 90 s", "dialog #preview")
    done(site, f"{path}/online/settings", {"reports": 5000})
    confirm(console)
    console.says("changed meanwhile: Usage reports: now 50 %", "dialog #outcome")
    console.wait("dialog #confirm:not([aria-disabled])")
    confirm(console)
    console.says("✔", "dialog #outcome")
    closed(console)
    now = site.ask("GET", f"{path}/online/settings")[1]
    assert (now["interval"], now["reports"]) == (90, 5000), now


def rollouts(console, site):
    """A rollout from start to end, with concurrent changes by somebody else."""
    place, channel = "#/channel/shop/staged", f"{path}/staged"
    done(site, f"{channel}/create", {})
    done(site, f"{channel}/promote", {"from": "online", "version": "1"})
    done(site, f"{channel}/promote", {"from": "online", "version": "2", "rollout": {"share": 500}})
    console.go(place, "#rollout-halt")
    for words in ("Version 2 goes to 5 % of the devices", "all others stay at version 1", "no polls"):
        console.says(words, "#view")
    console.says("candidate, 5 %", "#timeline li")
    # What devices report is written every 10 seconds, and drawn.
    assert not console.has("#rates")
    site.evidence("candidate", 1, 2, "staged")
    site.evidence("control", 0, 2, "staged")
    until(lambda: site.ask("GET", f"{channel}/rollout")[1]["evidence"]["control"]["opened"] == 1, "the reports", 40)
    console.go("#/", "table")
    console.go(place, "#rates .rate.own rect")
    rows = "[...document.querySelectorAll('.rollout tbody tr')].map((one) => [...one.cells].map((cell) => cell.innerText.replaceAll('\u00a0', ' ')))"
    assert console.eval(rows)[1:] == [["Opened a page", "1 device", "1 device"], ["Failed", "1 (100 %)", "0 (0 %)"],
                                      ["95 % range", "2.5 % to 100 %", "0 % to 97.5 %"]], console.eval(rows)
    # A long command doesn't make a phone scroll sideways.
    console.wide(390)
    console.eval("document.querySelector('#facts dd').append(Object.assign(document.createElement('code'), { textContent: 'xcache rollout set --network-cap 100%' }))")
    console.check("a rollout on a phone")
    console.wide(1280)
    # A share is a percentage; the previewed one is sent.
    opened_with = lambda button: (console.click(button), console.wait("dialog[open]"))
    opened_with("#rollout-change-share")
    for wrong in ("101", "five", "1.234", ""):
        console.set("share", wrong)
        console.says("Write the share as a percentage", "dialog #preview")
    console.set("share", "5")
    console.says("That is what it is now", "dialog #preview")
    console.set("share", "25.5 %")
    console.set("groups", "qa, staff")
    console.says("goes to 25.5 % of the devices and the groups qa, staff; it was 5 % of the devices", "dialog #preview")
    command = "document.querySelector('dialog #command').textContent"
    until(lambda: "rollout set 25.5% --group qa --group staff --app-version=any" in console.eval(command), "the command")
    console.set("reason", "more of them")
    # Somebody else pauses it meanwhile: this is shown, and no input is lost.
    done(site, f"{channel}/rollout/pause", {})
    confirm(console)
    console.says("changed meanwhile: admin changed it: 5 % of the devices, paused", "dialog #outcome")
    console.says("It is paused", "dialog #preview")
    console.wait("dialog #confirm:not([aria-disabled])")
    confirm(console)
    console.says("✔ Version 2 goes to 25.5 % of the devices and the groups qa, staff", "dialog #outcome")
    closed(console)
    open = site.ask("GET", f"{channel}/rollout")[1]["open"]
    assert (open["share"], open["groups"], open["paused"]) == (2550, ["qa", "staff"], True), open
    console.wait("#rollout-resume")
    console.act("#rollout-resume", "calm again")
    console.wait("#rollout-pause")
    console.go("#/", "table")
    console.says("rollout 25.5 %", "#view table")
    # Somebody else halts it while a dialog is open.
    console.go(place, "#rollout-complete")
    opened(console, place, "#rollout-complete")
    console.set("reason", "good")
    done(site, f"{channel}/rollout/halt", {"message": "checkout is broken"})
    confirm(console)
    console.says("changed meanwhile: admin ended the rollout: halted, checkout is broken", "dialog #outcome")
    console.says("No rollout is open any more", "dialog #preview")
    closed(console)
    assert site.ask("GET", channel)[1]["version"] == "3", "it was completed"
    until(lambda: not console.has("#rollout-halt"), "the end of the rollout's card", 90)
    # Halted and completed by this console.
    done(site, f"{channel}/promote", {"from": "online", "version": "2", "rollout": {"share": 500}})
    console.go("#/", "table")
    console.go(place, "#rollout-halt")
    shown, said = console.act("#rollout-halt", "broken again")
    assert "go back to what version 3 has" in shown and "version 5 is live" in said, (shown, said)
    done(site, f"{channel}/promote", {"from": "online", "version": "2", "rollout": {"share": 500}})
    console.go("#/", "table")
    console.go(place, "#rollout-complete")
    console.act("#rollout-complete", "good")
    assert site.ask("GET", channel)[1]["version"] == "6" and not site.ask("GET", f"{channel}/rollout")[1]["open"]
    trail = json.dumps(site.ask("GET", "audit?limit=30")[1])
    assert all(f'\\"{words}\\"' in trail for words in ("more of them", "calm again", "broken again", "good")), trail


def signatures(console):
    """Who signed what, in an app with a root; nothing in one without."""
    console.go(online, "#timeline li")
    console.go(test, "#timeline li")
    assert not console.has("#trust")
    at, until, key = "2026-11-28T10:00:00Z", "2026-11-27T10:00:00Z", "9f" * 32
    bundle = {"content": "ac" * 32, "floor": None, "channels": ["online"], "keys": [key], "serial": 1790000000000, "problem": None}
    document = {"app": "shop", "headKeys": [], "roots": [
        {"number": number, "envelope": {}, "at": at, "author": "<b>ci</b>"} for number in (1, 2)], "channels": [{
            "channel": "online", "version": "2", "head": {"at": at, "until": until, "keys": [key], "version": "2"},
            "bundles": [{**bundle, "bundle": "home"},
                        {**bundle, "bundle": "news", "keys": [], "serial": None, "problem": "release-missing"}],
            "candidate": [], "prefetch": {"version": 4, "content": "ac" * 32, "serial": 1, "keys": [key]}}]}
    act = {"id": 42, "act": "publish", "summary": "publish of <b>home", "due": at, "state": "waiting", "author": "ci", "at": at, "signatures": [
        {"bundle": "home", "content": "ac" * 32, "envelope": {}, "keys": [key], "missing": 1, "candidates": ["5e" * 32]}]}
    console.eval(f"""(() => {{ window.ask ??= window.fetch; window.fetch = async (path, options) =>
      String(path).endsWith("/trust") ? new Response({json.dumps(json.dumps(document))}) :
      String(path).endsWith("/schedules") ? new Response({json.dumps(json.dumps({"schedules": [act]}))}) : window.ask(path, options); }})()""")
    console.go(online, "#trust")
    for words in ("number 2", "by <b>ci</b>", "expired", "config 4, signed by"):
        console.says(words, "#trust")
    for words in ("\u2714 taken", "\u2716 release-missing", "nobody", "42: publish of <b>home", "1 more of"):
        console.says(words, "#view")
    console.check("signatures")
    console.eval("window.fetch = window.ask")


def plans(console, site):
    """Scheduled actions and planned freezes: author, time in the reader's zone, and cancelling."""
    place, channel = "#/channel/shop/planned", f"{path}/planned"
    done(site, f"{channel}/create", {})
    done(site, f"{channel}/promote", {"from": "online", "version": "1"})
    console.go(place, "#timeline li")
    assert not console.has("#planned")

    def moment(hours):
        return time.strftime("%Y-%m-%dT%H:%M:00.000Z", time.gmtime(time.time() + hours * 3600))

    due = moment(48)
    first, second = (scheduled(site, f"{channel}/promote", {"from": "online", "version": version, "schedule": due, "breakGlass": "sale"})
                     for version in ("2", "1"))
    done(site, f"{channel}/freeze", {"from": moment(24), "to": moment(72), "reason": "holidays <b>"})
    console.wait(f"#cancel-{first}", 90)
    rows = "[...document.querySelectorAll('#planned .act')].map((one) => one.innerText.replaceAll('\u00a0', ' '))"
    until(lambda: len(console.eval(rows)) == 3, "three rows")
    shown = console.eval(rows)
    assert "holidays <b>" in shown[0] and "Promotion of version 2 of online" in shown[1] and "admin" in shown[1], shown
    text = console.eval(f"new Intl.DateTimeFormat(undefined, {{ dateStyle: 'medium', timeStyle: 'short' }}).format(new Date({json.dumps(due)}))")
    assert text.replace("\u202f", " ") in shown[1].replace("\u202f", " ") and ("in 2 days" in shown[1] or "in 48 h" in shown[1]), (text, shown)
    console.check("what is planned")
    # The overview marks them, and cancelling needs a confirmation.
    console.go("#/", "table")
    for words in ("2 scheduled", "1 planned freeze"):
        console.says(words, "#view table")
    opened(console, place, f"#cancel-{first}")
    console.says("This won't be done: promotion of version 2 of online, scheduled by admin for", "dialog #preview")
    command = console.eval("document.querySelector('dialog #command').textContent")
    assert command.startswith(f"xcache schedule cancel {first} --app shop --channel planned "), command
    closed(console)
    assert site.ask("GET", f"{channel}/schedules/{first}")[1]["state"] == "waiting"
    console.act(f"#cancel-{first}", "not now")
    until(lambda: not console.has(f"#cancel-{first}"), "the end of its row")
    assert site.ask("GET", f"{channel}/schedules/{first}")[1]["state"] == "cancelled"
    assert "not now" in json.dumps(site.ask("GET", "audit?act=schedule.cancel")[1]["rows"][0])
    # Somebody else has cancelled it first.
    opened(console, place, f"#cancel-{second}")
    console.set("reason", "me, too")
    assert site.ask("DELETE", f"{channel}/schedules/{second}")[0] == 200
    confirm(console)
    console.says("changed meanwhile: It doesn't wait any more: it is cancelled, by admin.", "dialog #outcome")
    console.says("It would be refused", "dialog #preview")
    closed(console)
    freeze = site.ask("GET", channel)[1]["plannedFreezes"][0]["id"]
    console.act(f"#take-back-{freeze}", "no holidays")
    until(lambda: not console.has("#planned"), "the end of the card", 90)
    assert "plannedFreezes" not in site.ask("GET", channel)[1]
    # A failed one is shown for a week.
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
    scheduled(site, f"{channel}/promote", {"from": "online", "version": "2", "schedule": soon, "ifVersion": "1"})
    done(site, f"{channel}/promote", {"from": "online", "version": "2"})
    console.says("promotion of version 2 of online by admin, which was due", "#view", 90)
    console.says("failed", "#planned")
    console.go("#/", "table")
    console.says("1 not carried out", "#view table")


def scheduled(site, place, body):
    status, answer = site.ask("POST", place, body)
    assert status == 202, (place, status, answer)
    return answer["scheduled"]["id"]


def refused_here(console, site):
    """Invalid input can't be confirmed."""
    for place, button, values, words in (
            (online, "#act-kill-switch", {"until": "2020-01-01T10:00"}, "This time has already passed"),
            (long, "#act-pins", {"other": "999"}, "It would be refused"),
            (online, "#act-bypass-pages", {"pattern": "https://m.example.com/pay/*"}, "matches. Is the pattern right?"),
            (online, "#act-bypass-pages", {"pattern": "https://m.example.com/*"}, "1 page of version"),
            ("#/operations", "#make-token", {"channel": "online"}, "name the app, too"),
            ("#/operations", "#make-token", {"app": "shop"}, "Choose what it may do"),
            ("#/operations", "#make-token", {"scope": "read"}, "Name its app, or tick every app")):
        console.go(place, button)
        console.click(button)
        console.wait("dialog[open]")
        for name, value in values.items():
            console.set(name, value)
        console.says(words, "dialog .body")
        closed(console)
    console.go("#/compare/shop/online", "#compare")
    for text in ("2026-02-31 10:00", "19.11.2026", "yesterday"):
        console.eval(f"document.querySelector('#from').value = {json.dumps(text)}; document.querySelector('#to').value = '2'")
        console.eval("document.querySelector('#compare').requestSubmit()")
        console.says(f"“{text}” is neither a version nor a time", "#view")


def no_answer(console):
    """A server that doesn't answer is reported; later requests are still sent."""
    console.go("#/", "table")
    console.eval("""(() => { window.ask ??= window.fetch; window.fetch = (path, options) => new Promise((_, fail) => {
      options.signal.addEventListener('abort', () => { fail(options.signal.reason); }); }); })()""")
    console.says("The server does not answer", "#link", 30)
    late(console, "", 0)
    until(lambda: console.text("#link") == "", "the next request", 30)


def commands(console, site):
    """The command shown in a dialog does the same in a shell, whatever the texts contain."""
    reason = "ann's \"test\" $HOME `id` \\ * --yes"

    def shown(place, button, values={}, why=reason):
        console.go(place, button)
        console.click(button)
        console.wait("dialog[open]")
        for name, value in values.items():
            console.set(name, value)
        time.sleep(0.5)
        console.wait("dialog #confirm:not([aria-disabled])")
        console.set("reason", why)
        command = console.eval("document.querySelector('dialog #command').textContent")
        closed(console)
        return command

    def run(command):
        assert command.startswith("xcache ") and command.endswith(f" --server {site.url}"), command
        done = subprocess.run(["sh", "-c", 'xcache() { "$XCACHE_PROGRAM" "$@"; }; ' + command], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "XCACHE_PROGRAM": xcache, "XCACHE_TOKEN": site.token, "XDG_CONFIG_HOME": site.folder})
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    site.publish(files | {"index.html": "to be promoted"}, "newer")
    run(shown(test, "#act-promote-here", {"from": "online"}))
    assert (log(site, "test")[0]["message"], log(site, "test")[0]["source"]["channel"]) == (reason, "online"), log(site, "test")[0]
    run(shown(online, "#act-roll-back", {"to": "1"}))
    assert (log(site, "online")[0]["kind"], log(site, "online")[0]["message"]) == ("rollback", reason), log(site, "online")[0]
    run(shown(online, "#act-freeze"))
    assert site.ask("GET", f"{path}/online")[1]["freeze"]["reason"] == reason
    run(shown(online, "#act-thaw"))
    run(shown(online, "#act-kill-switch"))
    assert site.ask("GET", f"{path}/online/policy")[1]["policy"]["intercept"] is False
    run(shown(online, "#act-resume"))
    assert site.ask("GET", f"{path}/online/policy")[1]["policy"].get("intercept") is not False
    pattern = "https://m.example.com/ind*"
    run(shown(online, "#act-bypass-pages", {"pattern": pattern}))
    run(shown(online, "#act-bypass-pages", {"act": "bypass-remove", "pattern": pattern}))
    run(shown(long, "#act-pins", {"version": "61"}))
    assert {one["version"]: one["reason"] for one in site.ask("GET", f"{path}/long/pins")[1]["pins"]}["61"] == reason
    run(shown(long, "#act-pins", {"what": "61"}))
    run(shown(test, "#act-settings", {"interval": "90", "hosts": "m.example.com *.example.org", "reports": "12.5"}))
    now = site.ask("GET", f"{path}/test/settings")[1]
    assert (now["interval"], now["hosts"], now["reports"]) == (90, ["m.example.com", "*.example.org"], 1250), now
    run(shown(test, "#act-settings", {"interval": "", "hosts": "", "reports": ""}))
    now = site.ask("GET", f"{path}/test/settings")[1]
    assert [now.get(name) for name in ("interval", "hosts", "reports")] == [None, None, None], now
    run(shown("#/operations", "#make-token", {"name": "by command", "scope": "read", "app": "shop", "bundles": "m*"}))
    made = [one for one in site.ask("GET", "tokens")[1]["tokens"] if one["name"] == "by command"]
    assert made and made[0]["scope"] == "read" and made[0]["bundles"] == "m*", made
    run(shown("#/operations", "#gc"))
    # No command is shown for what can't be confirmed.
    console.go(test, "#act-settings")
    console.click("#act-settings")
    console.says("Nothing is changed yet.", "dialog #preview")
    assert not console.eval("document.querySelector('dialog details.command').offsetParent"), "a command that does nothing"
    closed(console)


def under_a_dialog(console, site):
    """The banner is updated under a dialog, the page isn't."""
    console.go("#/audit", "table")
    opened(console, online, "#act-freeze")
    console.eval("window.heading = document.querySelector('#view h1')")
    done(site, f"{path}/long/freeze", {"reason": "meanwhile"})
    console.says("meanwhile", "#problems", 20)
    assert console.eval("window.heading.isConnected && document.querySelector('dialog').open"), "the page changed under a dialog"
    closed(console)
    done(site, f"{path}/long/thaw", {})


def after_an_act(console):
    """The banner's data is requested first, so that the page doesn't contradict it."""
    console.go(online, "#timeline li")
    mark = len(console.page.events)
    console.act("#act-kill-switch", "white pages")
    console.says("The kill switch is on", "#problems")
    console.wait("#act-resume")
    asked = [event["params"]["request"]["url"].partition("/api/v1/")[2] for event in console.page.events[mark:]
             if event["method"] == "Network.requestWillBeSent" and event["params"]["request"]["method"] in ("GET", "POST")]
    asked = asked[asked.index(f"{path}/online/policy"):]
    assert asked.index("overview") < asked.index(f"{path}/online"), asked
    console.act("#act-resume", "mended")
    until(lambda: "kill switch" not in console.text("#problems"), "the banner's end")


def forgetting_a_mirror(browser, site):
    """The button has the API's permissions: for the mirror's own token and for admins."""
    owner, other = (done(site, "tokens", {"name": name, "scope": "read"})["token"] for name in ("mirror", "other"))
    named = {"name": "s3://copy", "versions": [{"app": "shop", "channel": "online", "version": "2"}]}
    assert site.ask("POST", "mirrors", named, token=owner)[0] == 200
    button = "[...document.querySelectorAll('#view button')].find((one) => one.textContent === 'Forget s3://copy')"
    for token, may in ((other, False), (site.token, True), (owner, True)):
        console = Console(browser, site)
        console.sign_in(token)
        console.wait("#view table")
        console.go("#/operations", "#mirror-s3\\:\\/\\/copy")
        assert console.eval(f"{button}.ariaDisabled") == (None if may else "true"), (token, may)
        console.eval(f"{button}.click()")
        assert console.has("dialog") == may
        console.check("operations")
        if not may:
            console.says("the token that it runs with", "#not-yours")
            assert site.ask("DELETE", "mirrors/s3:%2F%2Fcopy", token=token)[0] == 403
        elif token == owner:
            console.wait("dialog #confirm:not([aria-disabled])")
            console.set("reason", "moved")
            confirm(console)
            console.says("✔ It is forgotten", "dialog #outcome")
            closed(console)
            console.says("No mirror is registered", "#view")
    assert site.ask("GET", "mirrors")[1]["mirrors"] == []


def main():
    with tempfile.TemporaryDirectory() as folder:
        site = Site(xcache, folder)
        try:
            prepared(site)
            with Browser() as browser:
                console = Console(browser, site)
                say(f"the first view: {first_view(console)} bytes")
                console.sign_in(site.token)
                console.wait("#view table")
                unknown_places(console)
                unchanged(console)
                say("places that there aren't, and what didn't change")
                long_lists(console, site)
                moments(console, site)
                late_answers(console)
                say("long lists, moments, late answers")
                only_what_was_previewed(console, site)
                lost_answers(console, site)
                say("only what was previewed; answers that are lost")
                on_its_way(console, site)
                changed_meanwhile(console, site)
                rollouts(console, site)
                say("rollouts, beside somebody else")
                signatures(console)
                say("who signed what")
                plans(console, site)
                say("what is planned, and taken back")
                refused_here(console, site)
                no_answer(console)
                say("acts on their way, what changed meanwhile, what is refused, no answer")
                commands(console, site)
                say("commands to copy")
                under_a_dialog(console, site)
                after_an_act(console)
                say("the banner under a dialog and after an act")
                console.check_clean("all of it")
                forgetting_a_mirror(browser, site)
                say("who may forget a mirror")
        finally:
            site.stop()
    print("OK")


begin = time.monotonic()
main()
