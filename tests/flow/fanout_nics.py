#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One of two senders of one VDIF stream.

fanout_nics.py ideal N                          prints all frames
fanout_nics.py send N WHICH HOST:PORT START     sends those that are WHICH's

Frames have 8000 bytes of data; before each datagram are 8 of counter.  They
go to sender 0 or 1 in turns of 1 to 40 frames, the same for both, and at the
same pace from START on (as of time.time), so that they overlap.
"""
import random
import socket
import struct
import sys
import time

DATA, FPS, PER_MS = 8000, 8000, 2


def frame(n):
    words = (40_000_000 + n // FPS, 53 << 24 | n % FPS,
             1 << 29 | (32 + DATA) // 8, 1 << 26 | 0x6153, 0, 0, 0, 0)
    return struct.pack("<8I", *words) + struct.pack("<Q", n * n) * (DATA // 8)


def turns(n):
    dice, which, owner = random.Random(7), 0, []
    while len(owner) < n:
        owner += [which] * dice.randint(1, 40)
        which = 1 - which
    return owner[:n]


def send(n, which, to, start):
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    host, port = to.rsplit(":", 1)
    out.connect((host, int(port)))
    for i, owner in enumerate(turns(n)):
        late = start + i / PER_MS / 1000 - time.time()
        if late > 0.001:
            time.sleep(late)
        if owner == which:
            out.send(struct.pack("<Q", i) + frame(i))
    print(sum(1 for owner in turns(n) if owner == which))


if sys.argv[1] == "ideal":
    for i in range(int(sys.argv[2])):
        sys.stdout.buffer.write(frame(i))
else:
    send(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
