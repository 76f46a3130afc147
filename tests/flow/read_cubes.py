# SPDX-License-Identifier: MIT
"""Cubes of six channels, made and exported, and every byte looked at.

    read_cubes.py SPATE FOLDER

Channel 1 begins late and lost some in between, 2 is silent, 3 lacks pieces
of heaps, 4 a chunk, and 5 counted anew.  Prints a line for each fault.
"""
import json
import os
import subprocess
import sys

from made import Recording

SPATE, WORK = sys.argv[1:]
ITEM = 700
DISKS = [os.path.join(WORK, "d0"), os.path.join(WORK, "d1")]
faults = 0


def same(what, found, expected):
    global faults
    if found != expected:
        faults += 1
        print(f"{what} is {found!r:.300}, expected {expected!r:.300}")


def item(channel, time, run=0):
    return bytes((channel * 57 + time * 13 + run * 101 + i) % 251 + 1
                 for i in range(ITEM))


def spate(*args, status=0):
    done = subprocess.run(
        [SPATE, "--disks", ":".join(DISKS), "--quiet", "--json", *args],
        capture_output=True, text=True, check=False)
    same(f"status of {args}", (done.returncode, done.stderr and True),
         (status, True if status else ""))
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


# What there is: by run (span), channel and time; part of one as bytes.
there = {}
PART = {(3, 104): [[10, 5], [600, 100]], (3, 105): [[0, 1]]}


def items(sub, times, run=0):
    data = b""
    for t in times:
        one = bytearray(item(sub, t, run))
        for at, n in PART.get((sub, t), []):
            one[at:at + n] = bytes(n)
        there[run, sub, t] = bytes(one)
        data += one
    return data


r = Recording(DISKS, "cubes", subs=6, payload=ITEM, channels_per_file=2)
for c, base in enumerate([100, 103, 0, 100, 100, 100]):
    r.run(sub=c, base=base, disk=c % 2)
r.run(sub=5, run=1, base=101)
for first in (0, 10):
    for c in (0, 3, 4, 5):
        holes = None
        if c == 3 and not first:
            holes = [[4 * ITEM + 10, 5], [4 * ITEM + 600, 101]]
        n = r.block(c % 2, items(c, range(100 + first, 110 + first)), sub=c,
                    first=first, present=30 - 2 * bool(holes),
                    missing=2 * bool(holes), holes=holes)
        if c == 4 and first:
            os.unlink(r.chunk(0, n))
            for t in range(110, 120):
                del there[0, 4, t]
r.block(0, items(1, range(103, 105)), sub=1, first=0, present=6)
r.gap(0, sub=1, first=2, missing=7)
r.block(1, items(1, range(112, 120)), sub=1, first=9, present=24)
r.block(0, items(5, range(101, 103), 1), sub=5, run=1, present=6)
r.end()


def look(line, run, times, channels):
    """A file, and its map, against what there is."""
    t0, t1 = line["times"]
    c0, c1 = line["channels"]
    same("times", line["times"], list(times))
    same("channels", line["channels"], list(channels))
    with open(line["file"], "rb") as f:
        data = f.read()
    with open(line["presence"], encoding="utf-8") as f:
        m = json.load(f)
    missing = {}
    for entry in m["missing"]:
        for t in range(entry["times"][0], entry["times"][1] + 1):
            key = (entry["channel"], t)
            same(f"{key} is told twice", key in missing, False)
            missing[key] = entry.get("bytes", "all")
    at = 0
    whole = 0
    for t in range(t0, t1 + 1):
        for c in range(c0, c1 + 1):
            want = there.get((run, c, t))
            same(f"{line['file']}: time {t}, channel {c}",
                 data[at:at + ITEM], want or bytes(ITEM))
            same(f"missing of {t}, {c}", missing.pop((c, t), None),
                 "all" if want is None else PART.get((c, t)))
            whole += want is not None and (c, t) not in PART
            at += ITEM
    same("bytes", (len(data), line["bytes"]), (at, at))
    same("missing of others", missing, {})
    same("whole", (m["whole"], line["whole"]), (whole, whole))
    same("items", m["whole"] + m["part"] + m["absent"], at // ITEM)
    same("map of", (m["recording"], m["file"], m["item_bytes"], m["times"]),
         ("cubes", os.path.basename(line["file"]), ITEM, line["times"]))


out = os.path.join(WORK, "out")
lines, why = spate("export", "cubes", out, status=1)
same("why", "stand for chunks that cannot be read" in why, True)
same("files", sorted(os.listdir(out)), sorted(
    name + end for name in (
        "cubes_t0100-0119_c0000-0001", "cubes_t0100-0119_c0002-0003",
        "cubes_t0100-0119_c0004-0005", "cubes_r1_t0101-0102_c0000-0001",
        "cubes_r1_t0101-0102_c0002-0003", "cubes_r1_t0101-0102_c0004-0005")
    for end in (".dat", ".presence.json")))
for n, line in enumerate(lines):
    run, c = divmod(n, 3)
    look(line, run, (101, 102) if run else (100, 119), (2 * c, 2 * c + 1))

# Eight times, four channels a file, where files are already.
lines, why = spate("export", "cubes", out, "--times-per-file", "8",
                   "--channels-per-file", "4", status=1)
same("not without --force", "--force" in why, True)
lines, why = spate("export", "cubes", out, "--times-per-file", "8", "--force",
                   "--channels-per-file", "4", status=1)
cut = [((100, 103), 0), ((104, 111), 0), ((112, 119), 0), ((101, 102), 1)]
same("files", len(lines), 2 * len(cut))
for n, line in enumerate(lines):
    times, run = cut[n // 2]
    look(line, run, times, (4, 5) if n % 2 else (0, 3))

# One channel is a file as it was recorded, its gaps zeros.
one = os.path.join(WORK, "one")
lines, _ = spate("export", "cubes", one, "--sub", "1")
with open(one, "rb") as f:
    same("channel 1", f.read(),
         b"".join(there.get((0, 1, t), bytes(ITEM)) for t in range(103, 120)))
for sub in ("6", "-1", "x", ""):
    _, why = spate("export", "cubes", one + "x", "--sub", sub, status=1)
    same(f"no substream {sub}", "has no substream" in why, True)
spate("export", "cubes", "-", status=2)
spate("export", "cubes", one, "--sub", "1", "--times-per-file", "1", status=2)
spate("export", "cubes", one, status=1)

lines, _ = spate("info", "cubes")
subs = lines[0]["subs"]
same("packets", [s["packets"] for s in subs], [60, 30, 0, 58, 60, 66])
same("lost", [s["packets_lost"] for s in subs], [0, 21, 0, 2, 0, 0])
same("runs", [s["runs"] for s in subs], [1, 1, 0, 1, 1, 2])
same("bytes", [s["bytes"] // ITEM for s in subs], [20, 17, 0, 20, 20, 22])
sys.exit(1 if faults else 0)
