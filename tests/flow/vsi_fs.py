#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Field System's end of a VSI-S connection.

vsi_fs.py PORT [HOST]: sends each line of its input, and prints the reply,
which it reads as a Field System does: a line that begins with '!', and has a
number behind the first '=' or '?'.
"""
import re
import socket
import sys

port = int(sys.argv[1])
host = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
s = socket.create_connection((host, port), timeout=60)
replies = s.makefile("r", newline="")
for line in sys.stdin:
    s.sendall(line.replace("\\r", "\r").encode())
    reply = replies.readline()
    end = "\r\n" if "\\r" in line else "\n"
    body = reply.removesuffix(end)
    good = re.match(r"!\w+\s*[=?]\s*\d+\s*[:;]", body) and body != reply
    print(body if good and body.rstrip()[-1] == ";" else f"BAD {reply!r}",
          flush=True)
