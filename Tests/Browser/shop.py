"""A made-up shop for screenshots: a page with a style, and a script with the source map that its publisher keeps."""
import json

page = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>shop</title>
<style>
  body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #1d2430; background: #f4f1ec; }
  header { padding: 14px 16px; background: #14532d; color: #fff; font-weight: 700; }
  .sale { margin: 16px; padding: 16px; border-radius: 12px; background: #fff; }
  h1, p { margin: 0; }
  ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 12px; margin: 16px; padding: 0; list-style: none; }
  li { padding: 12px; border-radius: 12px; background: #fff; }
  li::before { content: ""; display: block; height: 84px; margin-bottom: 8px; border-radius: 8px; background: linear-gradient(135deg, #bbd8c3, #7fb08f); }
</style>
</head>
<body>
<header>shop</header>
<div class="sale">
<h1>Spring sale</h1>
<p>Ten per cent off.
</div>
<ul>
<li>Garden chair<br>39.90
<li>Watering can<br>14.50
<li>Bird house<br>22.00
<li>Lantern<br>17.90
</ul>
<script src="js/part-7.js"></script>
</body>
</html>
"""
script = ("const o=document.body;function r(t){const e=t.items.map(d);o.append(e)}"
          "function s(){r(window.basket)}function d(t){return t.price}window.basket&&s();\n")
source = """import { drawRow, total } from "./rows";

/** Draws what is in the basket, and its sum. */
export function renderBasket(basket) {
  const rows = basket.items.map(drawRow);
  total.append(rows);
}

export function start() {
  renderBasket(window.basket);
}
if (window.basket) start();
"""
# A place in the script; its line, counted from 1, its column, from 0, and the number of a name in the source.
points = (("function r", 4, 7, None), ("t.items", 5, 15, None), ("o.append", 6, 2, None), ("function s", 9, 7, None), ("r(window", 10, 2, 0), ("s();", 12, 19, 1))


def column(text):
    """Where a text stands in the script, counted from 1 as browsers do."""
    return script.index(text) + 1


def number(value):
    """A number in Base64 VLQ (ECMA-426)."""
    value = -value << 1 | 1 if value < 0 else value << 1
    text = ""
    while True:
        digit, value = value & 31, value >> 5
        text += "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[digit | (32 if value else 0)]
        if not value:
            return text


def source_map():
    """The script's source map: each place as the difference from the one before."""
    last, names, segments = (0, 0, 0), 0, []
    for text, line, at, name in points:
        here = (script.index(text), line - 1, at)
        segment = number(here[0] - last[0]) + number(0) + number(here[1] - last[1]) + number(here[2] - last[2])
        if name is not None:
            segment += number(name - names)
            names = name
        segments.append(segment)
        last = here
    return json.dumps({"version": 3, "sources": ["src/basket.js"], "sourcesContent": [source], "names": ["renderBasket", "start"],
                       "mappings": ",".join(segments)}).encode()
