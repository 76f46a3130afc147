#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A receiver of transfers that counts.

send_sink.py udp|tcp|stall PORT FILE: FILE has the number of bytes so far, as
soon as it listens.  `stall` takes TCP connections, and reads nothing.
"""
import os
import select
import socket
import sys
import time

kind, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
total = 0
told = 0.0


def tell():
    """At once as a whole: somebody reads it at any time."""
    global told
    with open(path + ".new", "w") as f:
        f.write(f"{total}\n")
    os.rename(path + ".new", path)
    told = time.monotonic()


udp = kind == "udp"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if udp else
                  socket.SOCK_STREAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if udp:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
s.bind(("127.0.0.1", port))
if not udp:
    s.listen(16)
tell()
open_ones = [s]
stalled = []
while True:
    ready = select.select(open_ones, [], [], 0.1)[0]
    for one in ready:
        if one is s and not udp:
            peer = s.accept()[0]
            (stalled if kind == "stall" else open_ones).append(peer)
            continue
        got = len(one.recv(1 << 16))
        total += got
        if not got and not udp:
            open_ones.remove(one)
            one.close()
    if time.monotonic() - told > 0.1:
        tell()
