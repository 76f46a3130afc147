# SPDX-License-Identifier: MIT
"""Damages recordings, and knows what of them is damaged then.

    verify.py flip IDEAL PACKET DISK...    flips a bit of that packet on a disk
    verify.py where IDEAL PACKET SLOTS     where its quantum is, as JSON

A packet is found on the disks by its header, which is no other's: so it does
not matter how they keep it.
"""

import calendar
import json
import os
import struct
import sys

PAYLOAD, QUANTUM, FPS = 8032, 1 << 20, 1000


def flip(ideal, packet, disks):
    head = ideal[packet * PAYLOAD:][:32]
    for disk in disks:
        for path, _, names in os.walk(disk):
            for name in names:
                file = os.path.join(path, name)
                data = open(file, "rb").read()
                at = data.find(head)
                if at < 0:
                    continue
                with open(file, "r+b") as f:
                    f.seek(at + 3000)
                    f.write(bytes([data[at + 3000] ^ 4]))
                return
    sys.exit("no disk has packet %d" % packet)


def time_of(ideal, packet):
    a, b = struct.unpack_from("<II", ideal, packet * PAYLOAD)
    epoch = b >> 24 & 0x3f
    start = calendar.timegm((2000 + epoch // 2, 1 + epoch % 2 * 6, 1, 0, 0, 0))
    return (start + (a & 0x3fffffff)) * 10**9 + (b & 0xffffff) * 10**9 // FPS


def where(ideal, packet, slots):
    block, slot = divmod(packet, slots)
    slots = min(slots, len(ideal) // PAYLOAD - block * slots)
    at = (slot * PAYLOAD + 3000) // QUANTUM * QUANTUM
    end = min(at + QUANTUM, slots * PAYLOAD)
    begin = packet - slot
    first, last = begin + at // PAYLOAD, begin + (end - 1) // PAYLOAD
    return {"number": block, "at": at, "bytes": end - at,
            "offset": begin * PAYLOAD + at, "end": begin * PAYLOAD + end,
            "first": first, "last": last,
            "from": time_of(ideal, first), "to": time_of(ideal, last)}


def main():
    ideal = open(sys.argv[2], "rb").read()
    packet = int(sys.argv[3])
    if sys.argv[1] == "flip":
        flip(ideal, packet, sys.argv[4:])
    else:
        print(json.dumps(where(ideal, packet, int(sys.argv[4]))))


main()
