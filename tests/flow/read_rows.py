# SPDX-License-Identifier: MIT
"""Rows of heaps, made and exported, and read by spead2.

    read_rows.py SPATE FOLDER

Substream 0 is whole, 1 has incomplete heaps, 2 lost a chunk and the end of
another, 3 is silent.  What spead2 reads in the exported files has to be every
whole heap, as it was sent.  Prints a line for each fault; exits 0, 1, or 77
where spead2 is not installed.
"""
import json
import os
import struct
import subprocess
import sys

from made import Recording

try:
    import spead2
    import spead2.recv
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)

SPATE, WORK = sys.argv[1:]
DISKS = [os.path.join(WORK, "r0"), os.path.join(WORK, "r1")]
DATA, VALUE = 0x600A, 0x6005
faults = 0


def same(what, found, expected):
    global faults
    if found != expected:
        faults += 1
        print(f"{what} is {found!r:.300}, expected {expected!r:.300}")


def spate(*args, status=0):
    done = subprocess.run(
        [SPATE, "--disks", ":".join(DISKS), "--quiet", "--json", *args],
        capture_output=True, text=True, check=False)
    same(f"status of {args}: {done.stderr}", done.returncode, status)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def payload(sub, heap):
    return bytes((sub * 91 + heap * 7 + i) % 256 for i in range(5000 + heap))


def packet(sub, heap, first=0, last=None):
    """One SPEAD packet (64-48) of bytes first to last of a heap."""
    data = payload(sub, heap)
    part = data[first:last]
    items = [(1, 1, heap), (1, 2, len(data)), (1, 3, first), (1, 4, len(part))]
    if not first:
        items += [(1, VALUE, sub), (0, DATA, 0)]
    head = struct.pack(">BBBBHH", 0x53, 4, 2, 6, 0, len(items))
    for immediate, item, value in items:
        head += struct.pack(">Q", immediate << 63 | item << 48 | value)
    return head + part


whole = {0: [], 1: [], 2: [], 3: []}


def block(r, sub, heaps, disk, torn=(), lost=()):
    """A chunk of heaps, of which the torn ones lack their middle."""
    data = b""
    for h in heaps:
        if h in torn:
            data += packet(sub, h, 0, 1000) + packet(sub, h, 3000)
            continue
        data += packet(sub, h)
        if h not in lost:
            whole[sub].append(h)
    return r.block(disk, data, sub=sub, first=heaps[0],
                   present=4 * len(heaps) - len(torn), missing=len(torn))


r = Recording(DISKS, "rows", store="heap", subs=4)
for n in range(4):
    for s in range(3):
        heaps = range(2 + 10 * n, 12 + 10 * n)
        number = block(r, s, heaps, (n + s) % 2,
                       (heaps[3], heaps[9]) if s == 1 else (),
                       {1: heaps, 2: heaps[6:]}.get(n, ()) if s == 2 else ())
        if s == 2 and n == 1:
            os.unlink(r.chunk((n + s) % 2, number))
        if s == 2 and n == 2:
            path = r.chunk((n + s) % 2, number)
            os.truncate(path, sum(len(packet(s, h)) for h in heaps[:6]) + 700)
r.end(heaps=120, heaps_incomplete=8)


def read(path):
    """What spead2 makes of a file: whole heaps, and how many others."""
    with open(path, "rb") as f:
        data = f.read()
    if not data:
        return {}, 0
    stream = spead2.recv.Stream(
        spead2.ThreadPool(), spead2.recv.StreamConfig(max_heaps=4),
        spead2.recv.RingStreamConfig(heaps=200, contiguous_only=False))
    stream.add_buffer_reader(data)
    found, partial = {}, 0
    for heap in stream:
        if isinstance(heap, spead2.recv.IncompleteHeap):
            partial += 1
            continue
        found[heap.cnt] = {
            i.id: i.immediate_value if i.is_immediate else bytes(memoryview(i))
            for i in heap.get_items()}
    stream.stop()
    return found, partial


def is_true(path, sub):
    found, partial = read(path)
    same(f"heaps of {sub}", sorted(found), whole[sub])
    same(f"incomplete heaps of {sub}", partial, 8 if sub == 1 else 0)
    for heap, items in found.items():
        same(f"heap {heap} of {sub}", items,
             {VALUE: sub, DATA: payload(sub, heap)})


out = os.path.join(WORK, "rows")
lines, why = spate("export", "rows", out, status=1)
same("why", "of heaps are left out" in why, True)
same("files", sorted(os.listdir(out)), [f"rows_{s}.spead" for s in range(4)])
for line in lines:
    is_true(line["file"], line["sub"])
one = os.path.join(WORK, "one.spead")
spate("export", "rows", one, "--sub", "1", status=1)
is_true(one, 1)

lines, _ = spate("info", "rows")
same("left out", lines[0]["left_out"] > 0, True)
same("heaps", (lines[0]["heaps"], lines[0]["heaps_incomplete"]), (120, 8))
same("lost", [s["packets_lost"] for s in lines[0]["subs"]], [0, 8, 0, 0])
lines, _ = spate("verify", "rows", status=1)
same("wrong", lines[-1]["wrong"], 2)
same("found", sorted(line["found"] for line in lines[:-1]),
     ["length", "missing"])
same("walked", (lines[-1]["heaps"], lines[-1]["heaps_incomplete"]), (100, 8))

# A chunk that looks as if it were there, and cannot be opened: a link that
# is as long as it should be, to nowhere.
r = Recording(DISKS, "gone", store="heap")
kept = []
for n in range(3):
    data = struct.pack(">BBBBHH5Q", 0x53, 4, 2, 6, 0, 5, 1 << 63 | 1 << 48 | n,
                       1 << 63 | 2 << 48 | 100, 1 << 63 | 3 << 48,
                       1 << 63 | 4 << 48 | 100, DATA << 48) + bytes([n]) * 100
    number = r.block(n % 2, data, first=n, present=1)
    if n == 1:
        os.unlink(r.chunk(1, number))
        os.symlink("x/" * len(data), r.chunk(1, number))
    else:
        kept.append(data)
r.end()
lines, why = spate("export", "gone", os.path.join(WORK, "gone"), status=1)
same("why", "of heaps are left out" in why, True)
with open(os.path.join(WORK, "gone"), "rb") as f:
    same("what is left", f.read(), b"".join(kept))
same("filled", (lines[0]["bytes"], lines[0]["filled"]), (296, 148))
sys.exit(1 if faults else 0)
