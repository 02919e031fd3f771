#!/usr/bin/env python3
"""Takes screenshots of all pages of the console in Chromium: 1,440, 1,100 and 390 px wide, light and dark.

    Tests/Browser/screenshots.py [XCACHE] [PART]      XCACHE: the program (default: .build/debug/xcache)

Writes .build/screenshots/PAGE-THEME-WIDTH.png for names that contain PART; those used by the documentation are also written to
docs/images, with a palette of 256 colours. Check the pictures before you commit them. The data are made up. Three days of history
need libfaketime (Debian: libfaketime), which FAKETIME_LIBRARY may name; without it all times are the current one. The font is
Inter if installed (Debian: fonts-inter).
"""
import base64, collections, glob, hashlib, json, math, os, struct, sys, tempfile, time, urllib.request, zlib
from cdp import Browser
from console_page import Console, here, until
from site_under_test import Site
import shop

xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../.build/debug/xcache"))
wanted = sys.argv[2] if len(sys.argv) > 2 else ""
pictures = os.path.join(here, "../../.build/screenshots")
images = os.path.join(here, "../../docs/images")
documented = ("channel-light-1440", "rollback-dark-1440")


def rows_of(png):
    """The rows of a PNG as lists of (R, G, B) bytes."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert depth == 8 and kind in (2, 6), "not what Chromium writes"
    step = 3 if kind == 2 else 4
    data, place = b"", 8
    while place < len(png):
        size, name = struct.unpack(">I4s", png[place:place + 8])
        if name == b"IDAT":
            data += png[place + 8:place + 8 + size]
        place += size + 12
    data = zlib.decompress(data)
    length, above = width * step, bytearray(width * step)
    for number in range(height):
        start = number * (length + 1)
        filter, row = data[start], bytearray(data[start + 1:start + 1 + length])
        for index in range(length if filter else 0):
            left = row[index - step] if index >= step else 0
            up, corner = above[index], above[index - step] if index >= step else 0
            if filter == 4:
                guess = left + up - corner
                distances = abs(guess - left), abs(guess - up), abs(guess - corner)
                add = (left, up, corner)[distances.index(min(distances))]
            else:
                add = (0, left, up, (left + up) // 2)[filter]
            row[index] = (row[index] + add) & 255
        above = row
        yield [bytes(row[index:index + 3]) for index in range(0, length, step)]


def with_palette(png):
    """The same picture with the 256 most frequent colours; others are replaced by the nearest of these."""
    rows = list(rows_of(png))
    counts = collections.Counter(pixel for row in rows for pixel in row)
    palette = [colour for colour, _ in counts.most_common(256)]
    numbers = {colour: number for number, colour in enumerate(palette)}
    for colour in counts:
        if colour not in numbers:
            numbers[colour] = min(range(len(palette)), key=lambda number: sum(
                (a - b) ** 2 for a, b in zip(colour, palette[number])))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    body = zlib.compress(b"".join(b"\0" + bytes(numbers[pixel] for pixel in row) for row in rows), 9)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0))
            + chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", body) + chunk(b"IEND", b""))


def take(console, name, tallest=2600):
    """Takes a screenshot of the page, up to a height of `tallest`, or of the visible part with a dialog."""
    width = console.eval("innerWidth")
    height = console.eval("Math.ceil(document.querySelector('main').getBoundingClientRect().bottom + scrollY)")
    console.wide(width, 900 if console.has("dialog") else min(tallest, max(500, height)))
    time.sleep(0.3)
    path = f"{pictures}/{name}.png"
    console.page.screenshot(path)
    if name in documented:
        with open(path, "rb") as file:
            small = with_palette(file.read())
        with open(f"{images}/{name}.png", "wb") as file:
            file.write(small)
        print(f"docs/images/{name}.png: {len(small)} bytes")


class Clock:
    """Sets the origin's time, if libfaketime is installed."""

    def __init__(self, folder):
        library = os.environ.get("FAKETIME_LIBRARY") or next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
        self.file = f"{folder}/time"
        self.set(0)
        self.fields = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": self.file, "FAKETIME_NO_CACHE": "1",
                       "FAKETIME_DONT_FAKE_MONOTONIC": "1"} if library else {}
        # libfaketime moves the environment of its first process, next to which Swift expects the arguments: use a shell
        # for it.
        self.program = f"{folder}/xcache"
        with open(self.program, "w") as file:
            file.write(f"#!/bin/sh\nexec '{xcache}' \"$@\"\n")
        os.chmod(self.program, 0o755)

    def set(self, hours):
        with open(self.file, "w") as file:
            file.write(f"-{hours * 60:.0f}m" if hours else "+0")

    def __enter__(self):
        os.environ.update(self.fields)
        return self

    def __exit__(self, *_):
        for name in self.fields:
            del os.environ[name]


def counted(site, version, openings, local, slow=1, failed=0):
    """Reports the counts of a version's devices that open pages."""
    def times(kind, pages, middle):
        weights = [math.exp(-(place - middle) ** 2) for place in range(8)]
        names = ["128", "256", "512", "1024", "2048", "4096", "8192", "more"]
        return {f"{kind}-{name}": round(pages * weight / sum(weights)) for name, weight in zip(names, weights)}

    requests = openings * 14
    near = round(openings * local)
    counts = {"local": round(requests * local), "passed": requests - round(requests * local), "page-failed": failed, "script-failed": failed // 3,
              "status-2xx": requests - round(requests * local)}
    for kind, pages, middle in (("paint-local", near, slow), ("paint-network", openings - near, 3), ("load-local", near, slow + 1),
                                ("load-network", openings - near, 4)):
        counts |= times(kind, pages, middle)
    site.count(version, counts)


def done(site, path, body, token=None):
    """Does an act; returns the id of what waits then, if it does."""
    status, answer = site.ask("POST", f"apps/shop/channels/{path}", body, token)
    assert status in (200, 201, 202), (path, status, answer)
    return answer.get("scheduled", {}).get("id") if status == 202 else None


def opened(site, arm, devices, failed, seed=0):
    """Reports pages that devices of an arm of beta's rollout opened, each from a network of its own; `seed`: which of them failed."""
    for device in range(devices):
        body = {"evidence": {"arm": arm, "failed": int((device + seed) % devices < failed), "opened": 1, "version": "2"}}
        urllib.request.urlopen(urllib.request.Request(
            f"{site.url}/report?app=shop&channel=beta", data=json.dumps(body).encode(),
            headers={"X-Forwarded-For": f"10.{len(arm)}.{device}.7"})).read()


def rolled_out(site, hour):
    """The rollout in beta in an hour of its life: it begins 16 hours ago and takes its second step 9 hours ago."""
    if hour == 20:
        done(site, "beta/create", {})
        done(site, "beta/promote", {"from": "online", "version": "1", "message": "Spring sale"})
    if hour == 16:
        ramp = {"steps": [500, 2500, 10_000], "completes": True, "each": 2000, "atLeast": 7200}
        done(site, "beta/promote", {
            "from": "online", "version": "2", "message": "Twenty per cent, and the logo of the season",
            "rollout": {"share": 500, "groups": ["staff"], "ramp": ramp, "autoHalt": True}})
    if hour == 9:
        done(site, "beta/rollout/set", {"share": 2500})
    if hour < 20:
        site.poll(1, 16 if hour > 9 else 12, "beta")
    if hour < 16:
        site.poll(2, 1 if hour > 9 else 5, "beta")
        opened(site, "candidate", 14 if hour > 9 else 40, 0 if hour > 9 else 2, 3 * hour)
        opened(site, "control", 34, 1 if hour in (14, 8) else 0, hour)


def prepared(site, clock):
    files = {f"js/part-{number}.js": f"console.log({number});\n" * 40 for number in range(24)}
    files["index.html"] = shop.page
    files["img/logo.svg"] = ("<svg xmlns='http://www.w3.org/2000/svg' width='90' height='90'>"
                             "<circle cx='45' cy='45' r='40' fill='teal'/></svg>")
    clock.set(72)
    authors = {name: site.ask("POST", "tokens", {"name": name, "scope": "publish", "expiresIn": 86400 * 90})[1]["token"] for name in ("ann", "ci-shop")}
    admin = site.token

    def publish(author, message):
        site.token = authors[author]
        site.publish(files, message)
        site.token = admin

    def history(hours, shares):
        """Polls for each hour, more in the evening; `shares` returns the versions' shares."""
        for hour in hours:
            clock.set(hour)
            many = 15 + 11 * math.sin(hour / 24 * 2 * math.pi)
            for version, share in shares(hour).items():
                site.poll(version, round(many * share))
            rolled_out(site, hour)
            if hour == 6:
                done(site, "kiosk/create", {})
                done(site, "kiosk/promote", {"from": "online", "message": "The first kiosks"})
            if hour < 6:
                site.poll(1, 12 - hour, "kiosk")
            get_adoption(site)

    clock.set(70)
    site.publish(files, "Spring sale")
    history(range(69, 30, -1), lambda hour: {1: 1})
    clock.set(30)
    files["index.html"] = files["index.html"].replace("Ten", "Twenty")
    files["img/logo.svg"] = files["img/logo.svg"].replace("teal", "orangered")
    publish("ann", "Twenty per cent, and the logo of the season")
    history(range(29, 2, -1), lambda hour: {1: max(0.04, 1 - (30 - hour) / 7), 2: min(0.96, (30 - hour) / 7)})
    for reason, url in (("timeout", "part-3"), ("download", "part-11")):
        clock.set(20)
        site.report(reason, 2, 3, f"https://m.example.com/js/{url}.js")
        get_adoption(site)
    clock.set(3)
    files["js/part-7.js"] = shop.script
    files["index.html"] = files["index.html"].replace("<header>shop</header>", "<header>shop · basket: 2</header>")
    publish("ci-shop", "New basket")
    for channel, hours in (("test", 2.9), ("staging", 2), ("tablet", 1.5)):
        clock.set(hours)
        site.ask("POST", f"apps/shop/channels/{channel}/create", {})
        site.ask("POST", f"apps/shop/channels/{channel}/promote", {"from": "online"})
    site.ask("POST", "apps/shop/channels/staging/freeze", {"reason": "the load test runs until Friday"})
    history((2, 1), lambda hour: {1: 0.04, 2: 0.96 - (3 - hour) / 4, 3: (3 - hour) / 4})
    clock.set(0)


def today(site):
    site.poll(1, 1)
    site.poll(2, 9)
    site.poll(3, 21)
    site.poll(1, 8, "test")
    counted(site, 1, 40_000, 0.91)
    counted(site, 2, 31_000, 0.93, failed=28)
    counted(site, 3, 6_200, 0.88, slow=2, failed=71)
    site.report("integrity", 3, 14, "https://m.example.com/js/part-7.js")
    site.report("timeout", 3, 3, "https://m.example.com/js/part-3.js")
    page, script = "https://m.example.com/index.html", "https://m.example.com/js/part-7.js"
    for engine, times in (("WebKit 605.1", 7), ("Chromium 141", 4)):
        for _ in range(times):
            site.sample(3, "TypeError: undefined is not an object (evaluating 'basket.items')", page,
                        [f"r@{script}:1:{shop.column('t.items')}", f"s@{script}:1:{shop.column('r(window')}", f"@{script}:1:{shop.column('s();')}"], engine)
    site.sample(3, "", page, [], "Chromium 141", "page")
    site.ask("POST", "apps/shop/channels/online/policy", {"act": "bypass-add", "pattern": "https://m.example.com/pay/*", "message": "the payment page is broken offline"})
    until_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 8 * 3600))
    site.ask("POST", "problems/acknowledge", {"app": "shop", "channel": "staging", "code": "frozen", "reason": "the load test is announced", "until": until_at})
    site.ask("POST", "mirrors", {"name": "s3://shop-copy/hxm", "versions": [{"app": "shop", "channel": "online", "version": "3"}]})
    site.ask("POST", "tokens", {"name": "wall", "scope": "read", "app": "shop"})
    site.ask("POST", "apps/shop/channels/online/pins", {"version": "1", "reason": "the audit of March"})
    held(site)
    get_adoption(site)


def put(site, content):
    """Uploads a file; returns its SHA-256."""
    name = hashlib.sha256(content).hexdigest()
    urllib.request.urlopen(urllib.request.Request(f"{site.url}/api/v1/blobs/{name}", method="PUT", data=content, headers={
        "Authorization": f"Bearer {site.token}", "Content-MD5": base64.b64encode(hashlib.md5(content).digest()).decode()})).read()
    return name


def kept(site, browser):
    """What a publisher keeps with releases: the source map of a script, and pictures of a page."""
    source_map = shop.source_map()
    done(site, "online/source-maps", {"maps": [
        {"file": hashlib.sha256(shop.script.encode()).hexdigest(), "map": put(site, source_map), "size": len(source_map)}]})
    address = "https://m.example.com/index.html"
    for version in ("2", "3"):
        page = browser.new_page(apart=True)
        page.viewport(390, 700, 1, True)
        page.goto(site.ask("POST", "apps/shop/channels/online/preview", {"version": version, "page": address})[1]["url"])
        time.sleep(1)
        page.screenshot(f"{pictures}/{version}.png")
        with open(f"{pictures}/{version}.png", "rb") as file:
            picture = put(site, file.read())
        os.remove(f"{pictures}/{version}.png")
        done(site, f"online/releases/{version}/pictures", {"pictures": [{"page": address, "blob": picture, "width": 390, "height": 700}]})


def elsewhere(site):
    """Sessions of the same token in other browsers."""
    for system, browser in (("X11; Linux x86_64", "Firefox/140.0"), ("iPhone; CPU iPhone OS 18_5 like Mac OS X", "Safari/604.1")):
        urllib.request.urlopen(urllib.request.Request(f"{site.url}/auth/session", method="POST", headers={
            "Authorization": f"Bearer {site.token}", "Xcache-Console": "1", "User-Agent": f"Mozilla/5.0 ({system}) {browser}"})).read()


def held(site):
    """Acts that wait: for the approval of who looks, of others, for their time; and a freeze by calendar."""
    def later(hours):
        return time.strftime("%Y-%m-%dT%H:00:00Z", time.gmtime(time.time() + hours * 3600))

    ben, carl, dora, eve = (site.ask("POST", "tokens", {"name": name, "scope": scope, "app": "shop"})[1]["token"]
                       for name, scope in (("ben", "release"), ("carl", "publish"), ("dora", "release"), ("eve", "publish")))
    done(site, "test/promote", {"from": "online", "version": "2", "schedule": later(9), "message": "Back to the basket of last week"})
    done(site, "test/freeze", {"from": later(30), "to": later(78), "reason": "the warehouse counts its stock"})
    done(site, "test/protect", {"approvals": 1})
    done(site, "beta/protect", {"approvals": 2})
    done(site, "test/promote", {"from": "online", "version": "2", "message": "The season's prices, as agreed with the shops"}, carl)
    done(site, "test/promote", {"from": "online", "version": "1", "message": "Spring sale, to compare the season with"}, eve)
    act = done(site, "beta/rollout/set", {"share": 10_000, "schedule": later(14)}, dora)
    done(site, f"beta/schedules/{act}/approve", {"message": "the shops are ready"}, ben)
    for _ in range(9):
        site.poll(1, 1, "beta")
    site.poll(2, 5, "beta")
    site.poll(1, 12, "kiosk")
    opened(site, "candidate", 40, 1, 11)
    opened(site, "control", 34, 0)


def get_adoption(site):
    """Makes the origin store its counts."""
    assert site.ask("GET", "apps/shop/channels/online/adoption/series")[0] == 200


pages = (("overview", "#/", "table"), ("channel", "#/channel/shop/online", "#timeline li"), ("quiet-channel", "#/channel/shop/tablet", "#timeline li"),
         ("week", "#/channel/shop/online?span=week&kinds=policy,freeze", "#timeline"), ("search", "#/search?q=logo", "#results section"),
         ("failures", "#/failures/shop/online", "#samples article"), ("preview", "#/preview/shop/online/3", "iframe"), ("release", "#/release/shop/online/2", ".tree li"),
         ("compare", "#/compare/shop/online?from=1&to=3", ".tree li"), ("audit", "#/audit", "table"), ("error", "#/release/shop/online/99", "[role=alert]"), ("operations", "#/operations", "table"),
         ("waiting", "#/waiting", "#waiting section"), ("rollout", "#/channel/shop/beta", "#rates"), ("planned", "#/channel/shop/test", "#planned"),
         ("young-channel", "#/channel/shop/kiosk?span=week", "#timeline li"), ("you", "#/you", "#sessions li"),
         ("missing", "#/nothing", "h1"))
dialogs = (("rollback", "#act-roll-back"), ("kill", "#act-kill-switch"), ("freeze", "#act-freeze"), ("bypass", "#act-bypass-pages"), ("settings", "#act-settings"),
           ("protection", "#act-protection"), ("acknowledge", "#problems [data-acknowledge]"))
values = {"settings": ("interval", "60"), "protection": ("approvals", "2"), "bypass": ("pattern", "https://m.example.com/pay/*")}


def all_pages(console, scheme, width):
    def fresh(place, probe):
        console.wide(width, 900)
        console.go("#/compare/shop/online", "#compare")
        console.go(place, probe)
        time.sleep(1.2)

    for name, place, probe in pages:
        title = f"{name}-{scheme}-{width}"
        if wanted not in title:
            continue
        fresh(place, probe)
        if name in ("release", "compare"):
            file = "index.html" if name == "release" else "logo.svg"
            console.eval(f"[...document.querySelectorAll('.tree li button')].find((one) => one.textContent === '{file}').click()")
            console.wait("#content pre, #content img")
            time.sleep(0.3)
            console.eval("scrollTo(0, 0)")
        take(console, title)
    for name, button in dialogs:
        title = f"{name}-{scheme}-{width}"
        if wanted not in title:
            continue
        fresh("#/channel/shop/online", "#act-roll-back")
        console.click(button)
        console.wait("dialog #preview h3")
        if name in values:
            console.set(*values[name])
            time.sleep(1)
        console.set("reason", "white pages since the new basket")
        take(console, title)
        console.press("Escape")
        until(lambda: not console.has("dialog"), "the dialog's end")
    if wanted in f"keys-{scheme}-{width}":
        fresh("#/", "table")
        console.click("#keys")
        console.wait("dialog dl")
        take(console, f"keys-{scheme}-{width}")
        console.press("Escape")


def main():
    for folder in (pictures, images):
        os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        with Clock(folder) as clock:
            # Pages of releases are looked at in an origin of their own.
            site = Site(clock.program, folder, ("--preview-listen", "127.0.0.1:0", "--trust-proxy", "127.0.0.1/32"))
            try:
                prepared(site, clock)
            finally:
                site.stop()
        # The last minutes are in the server's memory: a new server has only those of today.
        site.xcache = xcache
        site.start("127.0.0.1:0")
        try:
            today(site)
            with Browser() as browser:
                kept(site, browser)
                elsewhere(site)
                console = Console(browser, site, 1440)
                for scheme in ("light", "dark"):
                    console.scheme(scheme)
                    for width in (1440, 1100, 390):
                        if wanted in f"door-{scheme}-{width}":
                            console.wide(width)
                            take(console, f"door-{scheme}-{width}")
                console.sign_in(site.token)
                console.wait("#view table")
                until(lambda: "failures" in console.text("#problems"), "the problem", 40)
                for scheme in ("light", "dark"):
                    console.scheme(scheme)
                    for width in (1440, 1100, 390):
                        all_pages(console, scheme, width)
        finally:
            site.stop()


main()
