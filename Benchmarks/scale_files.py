"""Makes a folder of many small files of distinct text, 10 to 300 bytes each, a hundred to a folder.

  scale_files.py FOLDER COUNT
"""
import os
import random
import sys

WORDS = """export default const function return import from let state props render button label title item list index
value change click submit cancel error message loading user order price total cart address phone city street
delivery payment coupon search result filter sort page next previous open close menu header footer image icon""".split()


def text(chance, number):
    length = chance.randint(10, 300)
    parts = [f"{number}:"]
    size = len(parts[0])
    while size < length:
        part = chance.choice(WORDS) if chance.random() < 0.7 else format(chance.getrandbits(32), "x")
        parts.append(part)
        size += len(part) + 1
    return " ".join(parts)[:length].ljust(10, "x")


def main(folder, count):
    chance = random.Random(7)
    for number in range(count):
        path = f"{folder}/module-{number // 100:04}"
        if number % 100 == 0:
            os.makedirs(path)
        ending = chance.choice(["js", "css", "json", "html", "svg"])
        with open(f"{path}/part-{chance.getrandbits(32):08x}-{number % 100:02}.{ending}", "w") as file:
            file.write(text(chance, number))


main(sys.argv[1], int(sys.argv[2]))
