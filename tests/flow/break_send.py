#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sends what no telescope sends, and good packets beside it.

break_send.py PORT [--from ADDRESS] STEP...     sends, prints how many
break_send.py ideal STEP...                     prints the payloads instead

A good packet is 8 bytes of counter, little-endian, and 1024 bytes that say
the same counter 128 times.  The steps:

    good:FIRST:N    N good packets; the counter wraps at 2^64
    times:FIRST:N:K the same, each of them K times
    size:BYTES[:N]  N datagrams of that size
    mixed:FIRST:N:K N good packets, and before each of them K of garbage
    garbage:N       N datagrams of the right size, with random bytes
    wait:SECONDS
"""
import random
import socket
import struct
import sys
import time

BURST, PAUSE = 32, 0.001    # a burst fits any socket buffer


def payload(n):
    return struct.pack("<Q", n % 2 ** 64) * 128


def good(n):
    return struct.pack("<Q", n % 2 ** 64) + payload(n)


def datagrams(step):
    kind, *given = step.split(":")
    given = [int(x, 0) for x in given]
    if kind in ("good", "times"):
        first, n, times = (given + [1])[:3]
        for i in range(first, first + n):
            for _ in range(times):
                yield good(i)
    elif kind == "mixed":
        first, n, times = given
        for i in range(first, first + n):
            for _ in range(times):
                yield random.randbytes(1032)
            yield good(i)
    elif kind == "size":
        for _ in range((given + [1])[1]):
            yield bytes(given[0])
    elif kind == "garbage":
        for _ in range(given[0]):
            yield random.randbytes(1032)
    else:
        sys.exit(f"break_send.py: no step '{step}'")


def send(port, steps):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sent = 0
    if steps[0] == "--from":
        s.bind((steps[1], 0))
        steps = steps[2:]
    s.connect(("127.0.0.1", port))
    for step in steps:
        if step.startswith("wait:"):
            time.sleep(float(step[5:]))
            continue
        for d in datagrams(step):
            try:
                s.send(d)
            except ConnectionRefusedError:
                pass    # nobody records any more
            sent += 1
            if sent % BURST == 0:
                time.sleep(PAUSE)
    print(sent)


def main():
    random.seed(1)
    if sys.argv[1] != "ideal":
        send(int(sys.argv[1]), sys.argv[2:])
        return
    for step in sys.argv[2:]:
        _, first, n, *_ = step.split(":")
        for i in range(int(first, 0), int(first, 0) + int(n, 0)):
            sys.stdout.buffer.write(payload(i))


main()
