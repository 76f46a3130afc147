#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings as other programs make them, byte by byte.

Each recording is asked for on the standard input, and told when it is made:

    KIND NAME IDEAL DISK... [OPTION]...

with a zero byte behind each word, and two behind the last.
KIND is jive5ab, streamer (VLBI-streamer), single (its one file for a disk),
sg1 or sg2 (Mark6).  IDEAL gets what a reader is to get of the packets that are
in them.
"""

import argparse
import functools
import os
import struct

EPOCH = 50  # half-years since 2000: January 2025
SECOND = 20_000_000 + 3599  # of it: the second turns soon
MJD = 60_676 + 231  # the same day


def vdif(n, a):
    """Frame n of all threads in turn, with a header of 32 bytes."""
    n, thread = divmod(n, a.threads)
    second, frame = divmod(n + a.early, a.fps)
    words = (
        SECOND + second,
        EPOCH << 24 | frame,
        a.payload // 8 | 1 << 29,
        0x4566 | thread * 2 << 16 | 1 << 26,
        0, 0, 0, 0,
    )
    return struct.pack("<8I", *words) + body(n * 7 + thread, a.payload - 32)


def bcd(number):
    return int(str(number), 16)


def mark5b(n, a):
    second, frame = divmod(n + a.early, a.fps)
    words = (0xABADDEED, frame, bcd(MJD % 1000) << 20 | bcd(second + 100), 0)
    return struct.pack("<4I", *words) + body(n, 10000)


def body(seed, length):
    """Never the same, never like a header."""
    word = struct.pack("<I", 0x5A000000 | seed * 2654435761 & 0xFFFFFF)
    return (word * (length // 4 + 1))[:length]


@functools.lru_cache(2)
def packets_of(*key):
    """(prefix, payload) of each; one asks for the same again and again."""
    a = argparse.Namespace(**dict(key))
    made = []
    n = -1
    for i in range(a.packets):
        if a.format == "mark5b" and a.payload == 5008:
            half = i % 2
            data = mark5b(i // 2, a)[5008 * half:5008 * (half + 1)]
        elif a.format == "mark5b":
            data = mark5b(i, a)
        elif a.format == "vdif":
            data = vdif(i, a)
        else:
            data = os.urandom(a.payload)
        n += 1
        prefix = {
            "le64": struct.pack("<Q", 18841270355 + n),
            "le32@4": struct.pack("<II", 0, (0xFFFFFFF0 + n) & 0xFFFFFFFF),
            "none": b"",
        }[a.counter]
        made.append((prefix, data))
    return made


def packets(a):
    return packets_of(*((key, getattr(a, key)) for key in (
        "packets", "format", "payload", "threads", "fps", "early", "counter")))


def filler(a):
    """What jive5ab puts in place of a frame: no time, no thread."""
    head = struct.pack("<4I", 1 << 31, 0, a.payload // 8, 0)
    if a.format == "mark5b":
        head = b"\x44\x33\x22\x11" * 4
    return head + b"\x44\x33\x22\x11" * (a.payload // 4 - 4)


def blocks(a):
    """Lists of packets, without those that were lost; each with its number."""
    lost = set(a.lose)
    block, number = [], 0
    for i, packet in enumerate(packets(a)):
        if i not in lost:
            block.append(packet)
        elif a.fill:
            block.append((packet[0], filler(a)))
        if len(block) == a.per_block:
            yield number, block
            block, number = [], number + 1
    if block:
        yield number, block


def stored(block):
    return b"".join(prefix + data for prefix, data in block)


def pad(data, junk):
    """To whole pages with what follows in the buffer, as O_DIRECT does."""
    return data + (junk * 4096)[:-len(data) % 4096]


def write(path, data, mode="wb"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, mode) as file:
        file.write(data)


def chunks(a, ideal):
    count = total = 0
    for number, block in blocks(a):
        count, total = number + 1, total + len(block)
        if number in a.drop:
            continue
        data = stored(block)
        if a.pad:
            data = pad(data, data[:a.payload])
        disk = a.disk[(number * 7 + number // 3) % len(a.disk)]
        write(f"{disk}/{a.name}/{a.name}.{number:08d}", data)
        ideal.write(b"".join(data for _, data in block))
    if a.kind == "streamer" and not a.crash:
        config(a, count, total, len(block[0][0] + block[0][1]))


def config(a, count, total, packet):
    text = (f"packet_size = {packet}L;\nbuf_division = 8;\n"
            f"cumul = {count}L;\ntotal_packets = {total}L;\n")
    for disk in a.disk:
        if os.path.isdir(f"{disk}/{a.name}"):
            write(f"{disk}/{a.name}/{a.name}.cfg", text.encode())


def single(a, ideal):
    count = total = 0
    for number, block in blocks(a):
        count, total = number + 1, total + len(block)
        disk = a.disk[(number * 7 + number // 3) % len(a.disk)]
        write(f"{disk}/{a.name}/{a.name}", stored(block), "ab")
        ideal.write(b"".join(data for _, data in block))
    config(a, count, total, len(block[0][0] + block[0][1]))


def sg(a, ideal):
    version = int(a.kind[2])
    head = 8 if version == 2 else 4
    for number, block in blocks(a):
        packet = len(block[0][0] + block[0][1])
        data = stored(block)
        full = a.per_block * packet
        disk = a.disk[(number * 7 + number // 3) % len(a.disk)]
        path = f"{disk}/{a.name}"
        if not os.path.exists(path):
            kind = {"vdif": 0, "mark5b": 1}.get(a.format, 2)
            write(path, struct.pack("<Iiiii", 0xFEED6666, version, full + head,
                                    kind, packet))
        if number in a.drop:
            continue
        if version == 2:
            write(path, struct.pack("<ii", number, len(data) + 8) + data, "ab")
        else:
            write(path, struct.pack("<i", number) + data, "ab")
        ideal.write(b"".join(data for _, data in block))


def make(words):
    p = argparse.ArgumentParser()
    p.add_argument("kind")
    p.add_argument("name")
    p.add_argument("ideal")
    p.add_argument("disk", nargs="+")
    p.add_argument("--format", default="vdif")
    p.add_argument("--payload", type=int, default=1032)
    p.add_argument("--packets", type=int, default=5000)
    p.add_argument("--per-block", type=int, default=640)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--fps", type=int, default=800)
    p.add_argument("--early", type=int, default=100,
                   help="number of the first frame in its second")
    p.add_argument("--counter", default="none")
    p.add_argument("--pad", action="store_true")
    p.add_argument("--crash", action="store_true", help="no .cfg")
    p.add_argument("--drop", type=int, nargs="*", default=[],
                   help="blocks that are on no disk")
    p.add_argument("--lose", type=int, nargs="*", default=[],
                   help="packets that never came")
    p.add_argument("--fill", action="store_true",
                   help="in their place, as jive5ab does")
    a = p.parse_intermixed_args(words)
    with open(a.ideal, "wb") as ideal:
        {"jive5ab": chunks, "streamer": chunks, "single": single,
         "sg1": sg, "sg2": sg}[a.kind](a, ideal)


def main():
    words = b""
    while more := os.read(0, 65536):
        words += more
        if words.endswith(b"\0\0"):
            make([os.fsdecode(word) for word in words[:-2].split(b"\0")])
            print("made", flush=True)
            words = b""


main()
