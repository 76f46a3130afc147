#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the chunks that indexes name against what was sent.

power.py IDEAL PAYLOAD NAME DISK...     prints how many blocks are named

Every record of an index that is whole has to have its chunk on that disk, of
its length, with the very bytes of IDEAL from its first slot on; slots that
the metadata calls holes are passed over.
"""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(__file__))
from made import BLOCK, crc32c  # noqa: E402


def records(path):
    with open(path, "rb") as f:
        while len(raw := f.read(64)) == 64:
            if struct.unpack_from("<I", raw, 60)[0] != crc32c(raw[:60]):
                return
            yield struct.unpack_from("<QQqqQIIIHBB", raw)


def holes(path):
    found = {}
    with open(path, "rb") as f:
        for line in f:
            if line.startswith(b'{"block":') and line.endswith(b"}\n"):
                line = json.loads(line)
                found[line["block"]] = line["holes"]
    return found


def differ(data, ideal, payload, first, missing):
    there = bytearray(data)
    want = bytearray(ideal[first * payload:first * payload + len(data)])
    for at, count in missing:
        here = slice(at * payload, (at + count) * payload)
        there[here] = want[here]
    return there != want


def main(ideal, payload, name, *disks):
    payload = int(payload)
    named = 0
    with open(ideal, "rb") as f:
        ideal = f.read()
    for disk in disks:
        path = f"{disk}/{name}/{name}"
        if not os.path.exists(path + ".index"):
            continue
        missing = holes(path + ".meta.jsonl")
        for r in records(path + ".index"):
            number, first, size, kind = r[0], r[1], r[4], r[9]
            if kind != BLOCK:
                continue
            chunk = f"{path}.{number:08d}"
            with open(chunk, "rb") as f:
                data = f.read()
            if len(data) != size:
                sys.exit(f"{chunk} has {len(data)} bytes, not {size}")
            if differ(data, ideal, payload, first, missing.get(number, [])):
                sys.exit(f"{chunk} is not what was sent")
            named += 1
    print(named)


if __name__ == "__main__":
    main(*sys.argv[1:])
