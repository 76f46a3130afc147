#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes an index lie, in records whose own checksums are right.

lie.py INDEX set NUMBER FIELD VALUE     a field of the record of a block
lie.py INDEX all [FIELD VALUE]...       fields of the records of all blocks
lie.py INDEX swap NUMBER NUMBER         the two have each other's numbers
lie.py INDEX from INDEX NUMBER          has the record of another index too
lie.py INDEX noise SEED                 some fields of some records are others
"""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.dirname(__file__))
from made import END, crc32c  # noqa: E402

FORMAT = "<QQqqQIIIHBBI"
FIELDS = ["number", "first", "first_ns", "last_ns", "bytes", "run", "present",
          "missing", "sub", "kind", "flags", "crc"]
SIZES = [8, 8, 8, 8, 8, 4, 4, 4, 2, 1, 1, 4]


def load(path):
    with open(path, "rb") as f:
        data = f.read()
    return [dict(zip(FIELDS, struct.unpack_from(FORMAT, data, at)))
            for at in range(0, len(data) - 63, 64)]


def store(path, records):
    with open(path, "wb") as f:
        for r in records:
            raw = struct.pack(FORMAT, *(r[k] for k in FIELDS))
            f.write(raw + struct.pack("<I", crc32c(raw)))


def find(records, number):
    return next(r for r in records
                if r["number"] == int(number) and r["kind"] != END)


def noise(records, seed):
    dice = random.Random(int(seed))
    for r in dice.sample(records, max(1, len(records) // 3)):
        for i in dice.sample(range(len(FIELDS)), dice.randint(1, 3)):
            bits = 8 * SIZES[i]
            value = dice.choice([0, 1, 2 ** (bits - 1) - 1, 2 ** bits - 1,
                                 dice.getrandbits(bits),
                                 (r[FIELDS[i]] + dice.randint(1, 9)),
                                 dice.getrandbits(bits // 2)])
            value %= 2 ** bits
            if FIELDS[i].endswith("_ns") and value >= 2 ** 63:
                value -= 2 ** 64
            if FIELDS[i] == "kind":
                value = dice.randint(1, 3)
            r[FIELDS[i]] = value


def main(path, verb, *args):
    records = load(path)
    if verb == "set":
        find(records, args[0])[args[1]] = int(args[2], 0)
    elif verb == "all":
        for r in records:
            if r["kind"] != END:
                r.update(zip(args[::2], (int(v, 0) for v in args[1::2])))
    elif verb == "swap":
        a, b = find(records, args[0]), find(records, args[1])
        a["number"], b["number"] = b["number"], a["number"]
    elif verb == "from":
        records.insert(0, find(load(args[0]), args[1]))
    else:
        noise(records, args[0])
    store(path, records)


if __name__ == "__main__":
    main(*sys.argv[1:])
