# SPDX-License-Identifier: MIT
"""Holds exported cubes against what was sent, and against their maps.

    cube_is_true.py FOLDER SENT FIRST

SENT.0, SENT.1 ... are the items of each channel, FIRST the time of the first.
Bytes that the maps call missing have to be zero and all others as sent; every
time and channel has to be in one file.  Prints a line for each fault, and how
many bytes are missing; exits 1 where there is a fault.
"""
import glob
import json
import os
import sys

folder, prefix, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
sent = []
while os.path.exists(f"{prefix}.{len(sent)}"):
    with open(f"{prefix}.{len(sent)}", "rb") as f:
        sent.append(f.read())
faults = 0
lost = 0
seen = set()


def wrong(text):
    global faults
    faults += 1
    if faults < 20:
        print(text)


def look(path, m):
    global lost
    size = m["item_bytes"]
    holes = {}
    for entry in m["missing"]:
        for t in range(entry["times"][0], entry["times"][1] + 1):
            holes[t, entry["channel"]] = entry.get("bytes", [[0, size]])
            if "unknown" in entry:
                wrong(f"{path}: what of {entry} is missing is not known")
    t0, t1 = m["times"]
    c0, c1 = m["channels"]
    with open(path, "rb") as f:
        for t in range(t0, t1 + 1):
            for c in range(c0, c1 + 1):
                at = (t - first) * size
                want = bytearray(sent[c][at:at + size])
                for begin, n in holes.get((t, c), []):
                    want[begin:begin + n] = bytes(n)
                    lost += n
                if f.read(size) != want or len(want) != size:
                    wrong(f"{path}: time {t}, channel {c} is not as sent")
                if (t, c) in seen:
                    wrong(f"{path}: time {t}, channel {c} is there twice")
                seen.add((t, c))
        if f.read(1):
            wrong(f"{path} is too long")
    return size


item = 0
for name in sorted(glob.glob(os.path.join(folder, "*.presence.json"))):
    with open(name, encoding="utf-8") as f:
        item = look(name.replace(".presence.json", ".dat"), json.load(f))
expected = {(first + i, c) for c, data in enumerate(sent)
            for i in range(len(data) // item)} if item else {None}
if seen != expected:
    wrong(f"{sorted(expected - seen)[:5]} are in no file, "
          f"{sorted(seen - expected)[:5]} were never sent")
print(lost)
sys.exit(1 if faults else 0)
