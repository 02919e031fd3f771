#!/usr/bin/env python3
"""docs/images: the console as Chromium shows it, 1280 and 390 px wide, light and dark.

    Tests/Browser/screenshots.py [XCACHE]      XCACHE: the program (default: .build/debug/xcache)

The data are made up. What is written has a palette of 256 colours. Look at the pictures before you commit them.
"""
import collections, os, struct, sys, tempfile, time, zlib
from cdp import Browser
from console_page import Console, here, until
from site_under_test import Site

xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../.build/debug/xcache"))
images = os.path.join(here, "../../docs/images")


def rows_of(png):
    """The width, and the rows of a PNG as (R, G, B) bytes."""
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
    """The same picture with at most 256 colours: the most frequent ones, and the nearest of them for the rest."""
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


def take(console, name, tallest):
    """The page from its top, as high as it is or as `tallest`."""
    width = console.eval("innerWidth")
    height = min(tallest, console.eval("Math.ceil(document.querySelector('main').getBoundingClientRect().bottom + scrollY)"))
    if console.has("dialog"):
        height = tallest
    console.wide(width, height)
    time.sleep(0.3)
    path = f"{images}/{name}.png"
    console.page.screenshot(path)
    with open(path, "rb") as file:
        small = with_palette(file.read())
    with open(path, "wb") as file:
        file.write(small)
    print(f"{name}.png: {len(small)} bytes")


def prepared(site):
    files = {f"js/part-{number}.js": f"console.log({number});\n" * 40 for number in range(24)}
    files["index.html"] = "<!doctype html>\n<title>shop</title>\n<h1>Spring sale</h1>\n<p>Ten per cent off.\n"
    files["img/logo.svg"] = ("<svg xmlns='http://www.w3.org/2000/svg' width='90' height='90'>"
                             "<circle cx='45' cy='45' r='40' fill='teal'/></svg>")
    site.publish(files, "Spring sale")
    files["index.html"] = files["index.html"].replace("Ten", "Twenty")
    files["img/logo.svg"] = files["img/logo.svg"].replace("teal", "orangered")
    site.publish(files, "Twenty per cent, and the logo of the season")
    files["js/part-7.js"] = "throw new Error();\n"
    site.publish(files, "New basket")
    for channel in ("test", "staging"):
        site.ask("POST", f"apps/shop/channels/{channel}/create", {})
        site.ask("POST", f"apps/shop/channels/{channel}/promote", {"from": "online"})
    site.ask("POST", "apps/shop/channels/staging/freeze", {"reason": "the load test runs until Friday"})
    site.poll(1, 40)
    site.poll(2, 130)
    site.poll(3, 210)
    site.poll(1, 30, "test")
    site.report("integrity", 3, 34, "https://m.example.com/js/part-7.js")
    site.report("timeout", 3, 6, "https://m.example.com/js/part-3.js")


def main():
    os.makedirs(images, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        site = Site(xcache, folder)
        try:
            prepared(site)
            with Browser() as browser:
                console = Console(browser, site)
                console.sign_in(site.token)
                console.wait("#view table")
                until(lambda: "failures" in console.text("#problems"), "the problem", 40)
                for scheme in ("light", "dark"):
                    console.scheme(scheme)
                    for width, tallest in ((1280, 1500), (390, 1400)):
                        console.wide(width, 900)
                        for name, place, probe in (("overview", "#/", "table"), ("channel", "#/channel/shop/online", "#timeline li"),
                                                   ("release", "#/release/shop/online/2", ".tree li")):
                            console.wide(width, 900)
                            console.go("#/compare/shop/online", "#compare")
                            console.go(place, probe)
                            time.sleep(1)
                            if name == "release":
                                console.eval("[...document.querySelectorAll('.tree li button')]"
                                             ".find((one) => one.textContent === 'index.html').click()")
                                console.wait("#content pre")
                                console.eval("scrollTo(0, 0)")
                            take(console, f"{name}-{scheme}-{width}", tallest)
                        console.wide(width, 900)
                        console.go("#/channel/shop/online", "#act-roll-back")
                        console.click("#act-roll-back")
                        console.wait("dialog #preview dl")
                        take(console, f"rollback-{scheme}-{width}", 800)
                        console.press("Escape")
                        until(lambda: not console.has("dialog"), "the dialog's end")
        finally:
            site.stop()


main()
