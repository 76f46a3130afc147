# SPDX-License-Identifier: MIT
"""live_read.py FILE COPY [RATE]: reads a file that grows, from its beginning,
and writes what it read to COPY; at the end of it, it waits for more.  RATE:
bytes per second that it reads at most.  Ends when it has as many bytes as
COPY.end says.  Prints how often there was nothing, how often the file was
shorter than before, and how many MiB are another thing when read again.

live_read.py --sum FILE COPY [RATE]: the same, but there is no copy, nothing is
read again, and what is printed is the SHA-1 of what was read.
"""

import hashlib
import os
import sys
import time

args = sys.argv[1:]
summed = args[0] == "--sum"
path, copy = args[summed : summed + 2]
rate = float(args[summed + 2]) if len(args) > summed + 2 else 0


def ended(at):
    try:
        with open(copy + ".end") as end:
            return at >= int(end.read() or sys.maxsize)
    except FileNotFoundError:
        return False


fd = os.open(path, os.O_RDONLY)
begun = time.monotonic()
at = nothing = shorter = again = 0
sha = hashlib.sha1()
with open(os.devnull if summed else copy, "wb", buffering=0) as out:
    while not ended(at):
        data = os.pread(fd, 1 << 20, at)
        at += len(data)
        out.write(data)
        if summed:
            sha.update(data)
        if data and rate:
            time.sleep(max(0, begun + at / rate - time.monotonic()))
        if not data:
            nothing += 1
            shorter += at > 0 and not os.pread(fd, 1, at - 1)
            time.sleep(0.02)
if summed:
    print(sha.hexdigest())
    sys.exit()
with open(copy, "rb") as was:
    for offset in range(0, at, 1 << 20):
        again += os.pread(fd, 1 << 20, offset) != was.read(1 << 20)
print(f"{nothing} {shorter} {again}")
