#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a file of a mount must be, told from an export, packet by packet.

    fuse_ideal.py EXPORTED OUT PACKET [OPTION]...

EXPORTED is cut into packets of PACKET bytes.  Those that differ from the file
--ideal, of which none is missing, are missing ones.  Nothing here knows of
blocks, of an index, or of how a view finds its bytes.
"""
import argparse
import calendar
import struct
import time

PATTERN = bytes.fromhex("44332211")


def pattern(length):
    return (PATTERN * (length // 4 + 1))[:length]


def vdif_time(a, packet):
    """Of a frame's header, in ns."""
    first, second = struct.unpack_from("<2I", packet)
    half = second >> 24 & 0x3F
    epoch = calendar.timegm((2000 + half // 2, 1 + half % 2 * 6, 1, 0, 0, 0))
    return ((epoch + (first & 0x3FFFFFFF)) * 10**9 +
            (second & 0xFFFFFF) * 10**9 // a.fps)


def vdif_thread(packet):
    return struct.unpack_from("<I", packet, 12)[0] >> 16 & 0x3FF


def invalid(a, n, packet):
    """A frame that has its time and thread, and says that it is none."""
    if a.format == "vdif":
        word = struct.unpack_from("<I", packet)[0] | 1 << 31
        return (struct.pack("<I", word) + bytes(packet[4:32]) +
                pattern(a.packet - 32))
    head = 16 if a.format == "mark5b" and n % a.parts == 0 else 0
    return bytes(packet[:head]) + pattern(a.packet - head)


def filled(a, n, got, ideal):
    if a.fill == "zero":
        return bytes(a.packet)
    if a.fill == "invalid":
        return invalid(a, n, ideal)
    return got


def utc(text):
    whole, _, rest = text.rstrip("Z").partition(".")
    second = calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S"))
    return second * 10**9 + int(rest.ljust(9, "0"))


def wanted(a, ideal):
    if a.thread is not None and vdif_thread(ideal) != a.thread:
        return False
    if a.since and vdif_time(a, ideal) < utc(a.since):
        return False
    return not a.until or vdif_time(a, ideal) < utc(a.until)


def view(a, exported, whole):
    for n in range(len(exported) // a.packet):
        got, ideal = (data[n * a.packet:][:a.packet]
                      for data in (exported, whole))
        if not wanted(a, ideal):
            continue
        if got != ideal and a.fill == "skip":
            continue
        if got != ideal:
            got = filled(a, n, got, ideal)
        yield got[a.strip:]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("exported")
    p.add_argument("out")
    p.add_argument("packet", type=int)
    p.add_argument("--ideal")
    p.add_argument("--format", default="vdif")
    p.add_argument("--parts", type=int, default=1)
    p.add_argument("--fps", type=int, default=0)
    p.add_argument("--strip", type=int, default=0)
    p.add_argument("--fill", choices=("invalid", "zero", "skip"))
    p.add_argument("--thread", type=int)
    p.add_argument("--since")
    p.add_argument("--until")
    a = p.parse_args()
    with open(a.exported, "rb") as file:
        exported = memoryview(file.read())
    whole = exported
    if a.ideal:
        with open(a.ideal, "rb") as file:
            whole = memoryview(file.read())
    with open(a.out, "wb") as file:
        for packet in view(a, exported, whole):
            file.write(packet)


main()
