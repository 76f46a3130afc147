#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads a file here and there, and holds it against another.

    fuse_reads.py FILE EXPECTED [SEED [READS]]

Small and large pieces, at ends and across them, ahead and back, by pread,
by preadv into several pieces, and by mmap.
"""
import mmap
import os
import random
import sys

path, expected = sys.argv[1:3]
dice = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
reads = int(sys.argv[4]) if len(sys.argv) > 4 else 200

with open(expected, "rb") as file:
    ideal = file.read()
fd = os.open(path, os.O_RDONLY)


def must(truth, *what):
    if not truth:
        sys.exit(f"{path}: {what}")


def place():
    return dice.choice((0, dice.randrange(len(ideal) + 1), len(ideal),
                        dice.randrange(len(ideal) + 1)))


size = os.fstat(fd).st_size
must(size == len(ideal), "has", size, "bytes, expected", len(ideal))
for _ in range(reads):
    at = max(0, place() - dice.choice((0, 0, 1, 4096)))
    length = dice.choice((1, 7, 512, 4096, 65536, 1 << 20))
    want = ideal[at:at + length]
    got = os.pread(fd, length, at)
    must(got == want, "other bytes at", at, length, len(got))
    pieces = [bytearray(dice.choice((1, 3, 4096))) for _ in range(3)]
    n = os.preadv(fd, pieces, at)
    got = b"".join(pieces)
    must(got[:n] == ideal[at:at + n], "preadv: other bytes at", at, n)
    must(n == min(len(got), len(ideal) - at), "preadv: few bytes at", at, n)
must(os.pread(fd, 100, len(ideal)) == b"", "more behind its end")
must(os.pread(fd, 100, len(ideal) + 10**12) == b"", "more far behind its end")
if ideal:
    with mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ) as seen:
        for _ in range(reads):
            at = place()
            must(seen[at:at + 5000] == ideal[at:at + 5000], "mmap: at", at)
