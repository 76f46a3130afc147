# SPDX-License-Identifier: MIT
"""What check_*.py should see in an export, told from what was sent.

    expect.py SENT EXPORTED PACKET HEADER [KEY=JSON...] > EXPECTED.json

SENT holds every packet as if none had been lost.  A frame is of as many
packets (of PACKET bytes) as `parts` says, one unless given, and begins with
HEADER bytes that are not data.  Packets that differ are taken for fill: how
many may do so is the caller's to check.
"""
import json
import sys

LOOK = 64  # bytes of data that are told, for each frame


def parts_of(sent, exported, packet, parts):
    """For each frame: its bytes as sent, and which of its parts differ."""
    size = packet * parts
    for at in range(0, len(sent), size):
        one, two = sent[at:at + size], exported[at:at + size]
        yield one, [k for k in range(parts) if one != two and
                    one[k * packet:][:packet] != two[k * packet:][:packet]]


def main():
    sent, exported = (open(path, "rb").read() for path in sys.argv[1:3])
    packet, header = (int(word) for word in sys.argv[3:5])
    told = {k: json.loads(v) for k, v in (a.split("=", 1)
                                          for a in sys.argv[5:])}
    parts = told.pop("parts", 1)
    frames = list(parts_of(sent, exported, packet, parts))
    told["frames"] = len(frames)
    told["invalid"] = [n for n, (_, bad) in enumerate(frames)
                       if len(bad) == parts]
    told["halves"] = {n: bad[0] for n, (_, bad) in enumerate(frames)
                      if 0 < len(bad) < parts}
    told["data"] = {n: frame[header:header + LOOK].hex()
                    for n, (frame, _) in enumerate(frames)}
    json.dump(told, sys.stdout)


main()
