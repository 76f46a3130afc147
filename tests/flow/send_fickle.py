#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A TCP receiver that keeps what it gets, in its own time.

send_fickle.py HOW PORT FILE: FILE is made when it listens, and gets the bytes
of the first connection.  HOW is
    reads    at once
    lags     a MiB, and the rest when FILE.go is there
    resets   a MiB, then it breaks the connection, and is gone
It ends with its connection.
"""
import os
import socket
import struct
import sys
import time

how, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
PAUSE = 1 << 20

s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", port))
s.listen(1)
with open(path, "wb") as f:
    peer = s.accept()[0]
    s.close()
    left = PAUSE
    while True:
        got = peer.recv(1 << 18)
        if not got:
            break
        f.write(got)
        left -= len(got)
        if left > 0:
            continue
        if how == "resets":
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                            struct.pack("ii", 1, 0))
            break
        while how == "lags" and not os.path.exists(path + ".go"):
            time.sleep(0.05)
    peer.close()
