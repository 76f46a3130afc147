# SPDX-License-Identifier: MIT
"""Reads a plot's figures off its pixels, and holds them against the JSON of
spate info and spate info --quality.

    check_plot.py FILE.png INFO.json LINES.json
"""

import json
import struct
import sys
import zlib

SCALE = 2
LEFT, RIGHT, RATE, LOSS, BARS = 60, 980, 100, 200, 80  # cli/plot/plot.h
BLUE, ORANGE, RED = (0, 115, 178), (230, 158, 0), (214, 94, 0)


def pixels(name):
    """Rows of (r, g, b), of a PNG of 8 bits that is not interlaced."""
    raw = open(name, "rb").read()
    assert raw[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(raw):
        length, kind = struct.unpack(">I4s", raw[at : at + 8])
        body = raw[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, bits, colour = struct.unpack(">IIBB", body[:10])
            assert bits == 8 and colour in (2, 6)
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    each = 3 if colour == 2 else 4
    data = zlib.decompress(data)
    rows, before, step = [], bytearray(width * each), width * each + 1
    for y in range(height):
        kind = data[y * step]
        row = bytearray(data[y * step + 1 : (y + 1) * step])
        for i in range(len(row)):
            a = row[i - each] if i >= each else 0
            b, c = before[i], before[i - each] if i >= each else 0
            if kind == 1:
                row[i] = (row[i] + a) & 255
            elif kind == 2:
                row[i] = (row[i] + b) & 255
            elif kind == 3:
                row[i] = (row[i] + (a + b) // 2) & 255
            elif kind == 4:
                p = a + b - c
                near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))
                row[i] = (row[i] + near[2]) & 255
        rows.append([tuple(row[i : i + 3]) for i in range(0, len(row), each)])
        before = row
    return rows


def like(pixel, ink):
    return all(abs(p - i) < 12 for p, i in zip(pixel, ink))


def bars(rows, top, ink, n):
    """The heights of the bars of a strip, as a part of the highest."""
    heights = []
    for i in range(n):
        x = int((LEFT + (i + 0.45) * (RIGHT - LEFT) / n) * SCALE)
        column = [rows[y][x] for y in range(top * SCALE, (top + BARS) * SCALE)]
        heights.append(sum(like(p, ink) for p in column) / (BARS * SCALE))
    return heights


def compare(what, got, wanted, within=0.02):
    for i, (a, b) in enumerate(zip(got, wanted)):
        if abs(a - b) > within:
            sys.exit(f"{what} {i}: {a:.3f} in the picture, {b:.3f} in the JSON")


def runs(row):
    """The lengths of stretches of blue and orange, in order."""
    found = []
    for pixel in row:
        ink = BLUE if like(pixel, BLUE) else ORANGE if like(pixel, ORANGE) else None
        if found and found[-1][0] == ink:
            found[-1][1] += 1
        else:
            found.append([ink, 1])
    return [n for ink, n in found if ink and n > 4]


rows = pixels(sys.argv[1])
info = json.load(open(sys.argv[2]))
lines = [json.loads(line) for line in open(sys.argv[3])]
columns = info["loss_map"]
if len(rows[0]) != 1000 * SCALE:
    sys.exit(f"it is {len(rows[0])} pixels wide")

packets = [c["packets"] for c in columns]
compare("rate of part", bars(rows, RATE, BLUE, len(columns)),
        [p / max(packets) for p in packets])
share = [c["packets_lost"] / max(1, c["packets"] + c["packets_lost"]) for c in columns]
if not max(share):
    sys.exit("nothing was lost, so that no bar shows anything")
compare("loss of part", bars(rows, LOSS, RED, len(columns)), [s / max(share) for s in share])

# The levels of all channels in the first row of panels are in one row of pixels.
abreast = min(len(lines), 4)
wanted = []
for line in lines[:abreast]:
    total = sum(line["states"])
    wanted += [s / total for s in line["states"] if s / total > 0.02]
for y in range((LOSS + BARS + 60) * SCALE, len(rows), 4):
    got = runs(rows[y])
    if len(got) == len(wanted) and sum(got) > 600 * SCALE:
        break
else:
    sys.exit("no row of pixels has the levels of the channels")
width = sum(got) / abreast
compare("level", [n / width for n in got], wanted)
print(f"{len(columns)} parts and {len(wanted)} levels are as the JSON says")
