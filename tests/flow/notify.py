#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands where systemd would, for notify.sh and notify_stuck.sh.

    notify.py listen SOCKET FILE   each message as a line of FILE, its lines
                                   joined by spaces; a line READY comes first
    notify.py hold TID             stops that one thread until stdin ends;
                                   prints "held", exits with 77 if it may not
"""
import ctypes
import os
import socket
import sys

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000


def listen(path, out):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(path)
    with open(out, "w", buffering=1) as f:
        f.write("LISTENS\n")
        while True:
            f.write(s.recv(65536).decode().strip().replace("\n", " ") + "\n")


def ptrace(request, tid):
    libc = ctypes.CDLL(None, use_errno=True)
    args = [ctypes.c_long(request), ctypes.c_long(tid), None, None]
    if libc.ptrace(*args) != 0:
        print(os.strerror(ctypes.get_errno()), file=sys.stderr)
        sys.exit(77)


def hold(tid):
    ptrace(PTRACE_SEIZE, tid)
    ptrace(PTRACE_INTERRUPT, tid)
    os.waitpid(tid, WALL)
    print("held", flush=True)
    sys.stdin.read()
    ptrace(PTRACE_DETACH, tid)


if sys.argv[1] == "listen":
    listen(sys.argv[2], sys.argv[3])
else:
    hold(int(sys.argv[2]))
