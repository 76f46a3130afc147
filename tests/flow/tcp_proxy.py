# SPDX-License-Identifier: MIT
"""A long way between a sender and spated.

    tcp_proxy.py LISTEN TO [DELAY JITTER] [cut:CONNECTION:BYTES] [spoil:...]

Connections to port LISTEN go on to port TO of this machine.  Every piece of
each takes DELAY seconds and up to JITTER more, by itself, so that connections
overtake each other; what comes back takes DELAY.  With cut, that connection
(from 0, as they come) breaks when so many bytes have gone through; with spoil,
one byte behind so many is another one.
"""
import queue
import random
import socket
import struct
import sys
import threading
import time

listen, to = int(sys.argv[1]), int(sys.argv[2])
words = [a for a in sys.argv[3:] if ":" not in a]
delay, jitter = (float(w) for w in (words + ["0", "0"])[:2])
cuts = {int(a.split(":")[1]): int(a.split(":")[2])
        for a in sys.argv[3:] if a.startswith("cut:")}
spoils = {int(a.split(":")[1]): int(a.split(":")[2])
          for a in sys.argv[3:] if a.startswith("spoil:")}


def reset(*sockets):
    for s in sockets:
        try:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                         struct.pack("ii", 1, 0))
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        s.close()


def send(way, out, number, source):
    left = cuts.get(number, -1)
    spoil = spoils.get(number, -1)
    while True:
        due, data = way.get()
        time.sleep(max(0, due - time.monotonic()))
        try:
            if not data:
                out.shutdown(socket.SHUT_WR)
                return
            if 0 <= spoil < len(data):
                data = bytearray(data)
                data[spoil] ^= 4
            spoil -= len(data)
            if 0 <= left <= len(data):
                out.sendall(data[:left])
                reset(out, source)
                return
            left -= len(data) if left >= 0 else 0
            out.sendall(data)
        except OSError:
            reset(out, source)
            return


def carry(source, out, number, wobble):
    way = queue.Queue(64)
    dice = random.Random(number)
    threading.Thread(target=send, args=(way, out, number, source),
                     daemon=True).start()
    while True:
        try:
            data = source.recv(65536)
        except OSError:
            data = b""
        way.put((time.monotonic() + delay + dice.random() * wobble, data))
        if not data:
            return


s = socket.create_server(("127.0.0.1", listen), backlog=64)
number = 0
while True:
    near, _ = s.accept()
    far = socket.create_connection(("127.0.0.1", to))
    for a, b, n, w in (near, far, number, jitter), (far, near, -1, 0):
        threading.Thread(target=carry, args=(a, b, n, w), daemon=True).start()
    number += 1
