# SPDX-License-Identifier: MIT
"""schedule_stall.py PORT...: packets with a counter, 60 a second, to each
port, until standard input ends; then it says of each packet when, in UTC ns,
it was not sent yet, and when it was.

schedule_stall.py judge LOG AT LAST NEXT: of one recording that ends at AT ns
with packet LAST, and one that begins then with NEXT: has each what is its
own?"""

import select
import socket
import struct
import sys
import time


def send(ports):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    packet = bytearray(1008)
    sent = []
    while not select.select([sys.stdin], [], [], 0.015)[0]:
        struct.pack_into("<Q", packet, 0, len(sent))
        before = time.time_ns()
        for port in ports:
            s.sendto(packet, ("127.0.0.1", port))
        sent.append((before, time.time_ns()))
    for times in sent:
        print(*times)


def judge(log, at, last, following):
    with open(log, encoding="ascii") as f:
        sent = [tuple(map(int, line.split())) for line in f]
    before = sum(after < at for _, after in sent)
    later = sum(start < at for start, _ in sent)
    if following != last + 1:
        sys.exit(f"packet {last} is followed by {following}")
    if not before <= following <= later:
        sys.exit(f"packet {following} begins it: {before} packets were sent "
                 f"before that, {later} perhaps")


if sys.argv[1] == "judge":
    judge(sys.argv[2], *map(int, sys.argv[3:]))
else:
    send([int(port) for port in sys.argv[1:]])
