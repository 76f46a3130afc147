#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps datagrams as they come.

    udp_ear.py ADDRESS FIRST-LAST FILE [--on ADDRESS PORT]

Each port has a file, FILE.0, FILE.1 ...: of each datagram its length (u32,
little-endian) and its bytes.  With --on they are sent on to another port.
FILE.ready is there when it listens, FILE.n says how many came so far.  SIGTERM
ends it when all that has come by then is kept.
"""
import argparse
import os
import select
import signal
import socket
import struct

p = argparse.ArgumentParser()
p.add_argument("address")
p.add_argument("ports")
p.add_argument("file")
p.add_argument("--on", nargs=2)
a = p.parse_args()

first, last = (a.ports.split("-") * 2)[:2]
family = socket.AF_INET6 if ":" in a.address else socket.AF_INET
ears = []
for n, port in enumerate(range(int(first), int(last) + 1)):
    s = socket.socket(family, socket.SOCK_DGRAM)
    try:
        s.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)  # SO_RCVBUFFORCE
    except OSError:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 20)
    s.bind((a.address, port))
    ears.append((s, open(f"{a.file}.{n}", "wb")))
on = None
if a.on:
    on = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    on.connect((a.on[0], int(a.on[1])))

ended = False


def end(*_):
    global ended
    ended = True


signal.signal(signal.SIGTERM, end)
count = 0
told = -1
open(f"{a.file}.ready", "w").close()
files = dict(ears)
while True:
    ending = ended
    ready = select.select(list(files), [], [], 0 if ending else 0.1)[0]
    for s in ready:
        packet = s.recv(1 << 16)
        files[s].write(struct.pack("<I", len(packet)) + packet)
        count += 1
        if on:
            on.send(packet)
    if not ready and count != told:
        for f in files.values():
            f.flush()
        with open(f"{a.file}.new", "w") as f:
            f.write(f"{count}\n")
        os.rename(f"{a.file}.new", f"{a.file}.n")
        told = count
    if ending and not ready:
        break
