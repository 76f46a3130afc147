# SPDX-License-Identifier: MIT
"""Writes recordings as spated leaves them: for tests of what reads them.

    r = Recording(["/tmp/d0", "/tmp/d1"], "name", store="cube", subs=4,
                  payload=1000)
    r.run(sub=0, base=17)
    r.block(disk=0, sub=0, first=0, data=b"...", present=10, missing=2,
            holes=[[1000, 500]])
    r.end()

Index and metadata are as src/store/record/index.h and meta.h say.
"""
import json
import os
import struct

BLOCK, GAP, END = 1, 2, 3


def _table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


TABLE = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class Recording:
    """A recording on some disks; blocks get the next number."""

    SECOND = 1763632800 * 10**9

    def __init__(self, disks, name, store="cube", subs=1, payload=4096,
                 slots=16, **head):
        self.name = name
        self.folders = [os.path.join(d, name) for d in disks]
        self.store = store
        self.payload = payload
        self.number = 0
        shape = {"prefix": 0, "payload": payload, "sequence": "arrival",
                 "bits": 64, "parts": 1, "header": 0, "fps": 0, "threads": [],
                 "rate": 0, "around": 0, "store": store}
        if store == "cube":
            shape["item"] = 0x600A
        self.head = {
            "spate": 1, "software": "made", "name": name, "stream": "s",
            "format": "spead", "extension": "spead", "layout": "vbs",
            "fill": "zero", "start": "2025-11-20T10:00:00.000000000Z",
            "shape": shape,
            "geometry": {"payload": payload, "parts": 1, "quantum": 1,
                         "slots": slots, "block_bytes": slots * payload},
            "disks": disks, "subs": subs, **head}
        for folder in self.folders:
            os.makedirs(folder)
            self._append(folder, "index", b"")
        for disk in range(len(disks)):
            self.line(disk, self.head)

    def _append(self, folder, kind, data):
        with open(os.path.join(folder, f"{self.name}.{kind}"), "ab") as f:
            f.write(data)

    def line(self, disk, line):
        text = json.dumps(line, separators=(",", ":")) + "\n"
        self._append(self.folders[disk], "meta.jsonl", text.encode())

    def record(self, disk, kind, number, **r):
        """One record of the index of a disk; times are seconds of data."""
        raw = struct.pack(
            "<QQqqQIIIHBBI", number, r.get("first", 0),
            self.SECOND + r.get("from_s", 0) * 10**9,
            self.SECOND + r.get("to_s", 0) * 10**9, r.get("bytes", 0),
            r.get("run", 0), r.get("present", 0), r.get("missing", 0),
            r.get("sub", 0), kind, 0, 0)
        self._append(self.folders[disk], "index",
                     raw + struct.pack("<I", crc32c(raw)))

    def run(self, sub=0, run=0, base=0, disk=0):
        self.line(disk, {"run": run, "sub": sub, "base": str(base),
                         "time": "2025-11-20T10:00:00.000000000Z"})

    def chunk(self, disk, number):
        return os.path.join(self.folders[disk], f"{self.name}.{number:08d}")

    def block(self, disk, data, indexed=True, holes=None, **r):
        """A chunk, and what the index and the metadata say of it."""
        number = self.number
        self.number += 1
        with open(self.chunk(disk, number), "wb") as f:
            f.write(data)
        if holes:
            self.line(disk, {"block": number, "holes": holes, "unit": "byte"})
        if indexed:
            self.record(disk, BLOCK, number, bytes=len(data), **r)
        return number

    def gap(self, disk, **r):
        self.record(disk, GAP, self.number, **r)
        self.number += 1

    def end(self, **tail):
        for disk in range(len(self.folders)):
            self.line(disk, {"end": {"reason": "asked", **tail}})
            self.record(disk, END, self.number, to_s=9)
