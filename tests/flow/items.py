#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""items.py DUMP ITEM BYTES: that item of every heap of a file of SPEAD
packets (64-48), one after the other."""
import struct
import sys

data = open(sys.argv[1], "rb").read()
wanted, size = int(sys.argv[2], 0), int(sys.argv[3])
at = 0
while at < len(data):
    n = struct.unpack_from(">H", data, at + 6)[0]
    body = at + 8 + 8 * n
    length = offset = None
    for item in struct.unpack_from(f">{n}Q", data, at + 8):
        ident, value = item >> 48, item & (1 << 48) - 1
        if ident == 0x8004:
            length = value
        elif ident == wanted:
            offset = value
    if offset is not None:
        sys.stdout.buffer.write(data[body + offset:body + offset + size])
    at = body + length
