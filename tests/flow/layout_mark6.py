# SPDX-License-Identifier: MIT
"""Walks the Mark6 files of one recording as the strictest reader would.

    layout_mark6.py OPTION OUT PACKET FILE...

That one (sg_access of difx) does not go from block to block: it computes where
each packet is.  So here every rule that makes this possible is held against
the files, and the data, put together by block number, are written to OUT:

  - the sync word, version 2, blocks of at most 10 000 000 bytes
  - the packet size is that of the frames, and blocks are whole packets
  - all blocks have the length that the header says, but for the last of a
    file, which may be shorter
  - at least four packets in a file
  - block numbers ascend in each file, and are unique over all
  - of VDIF, two neighbouring packets have the same signature (the length,
    version, channels, bits, station), and time never goes back from one block
    to the next of the set

OPTION: "zero", packets of zeros are fill, and not looked at; "back", time may go
back, as a counter began anew; "behind", a file has blocks behind later ones, as a
disk failed; or "".

Prints the blocks, and how many numbers from 0 on are not there.
"""
import struct
import sys

SYNC, HEADER, BLOCK = 0xFEED6666, 20, 8


def fail(text):
    sys.exit("FAIL: " + text)


def walk(path, packet, option):
    """The blocks of a file: number and data."""
    data = open(path, "rb").read()
    sync, version, block, kind, size = struct.unpack_from("<IiiIi", data)
    if (sync, version, size) != (SYNC, 2, packet):
        fail("%s begins with %r" % (path, (hex(sync), version, size)))
    if block > 10000000 or (block - BLOCK) % size:
        fail("%s: blocks of %d bytes" % (path, block))
    blocks, at, last = [], HEADER, -1
    while at < len(data):
        number, length = struct.unpack_from("<ii", data, at)
        if number <= last and option != "behind":
            fail("%s: block %d after %d" % (path, number, last))
        if length != block and at + length != len(data):
            fail("%s: block %d has %d of %d bytes and is not the last"
                 % (path, number, length, block))
        if length <= BLOCK or (length - BLOCK) % size:
            fail("%s: block %d has %d bytes" % (path, number, length))
        if at + length > len(data):
            fail("%s: block %d is cut off" % (path, number))
        blocks.append((number, data[at + BLOCK:at + length]))
        last = number
        at += length
    if sum(len(d) for _, d in blocks) < 4 * size:
        fail("%s has less than four packets" % path)
    return kind, blocks


def look_vdif(blocks, packet, option):
    """Signatures and times of all packets."""
    signature, last = None, None
    for number, data in blocks:
        for at in range(0, len(data), packet):
            w = struct.unpack_from("<IIII", data, at)
            if option == "zero" and not any(w):
                continue
            mine = (w[2], w[3] & 0x7C00FFFF, w[1] >> 24 & 0x3F)
            if signature is not None and mine != signature:
                fail("block %d: packet at %d is of another kind: %r, %r"
                     % (number, at, mine, signature))
            signature = mine
            time = (w[0] & 0x3FFFFFFF, w[1] & 0xFFFFFF)
            if at == 0 and last is not None and time < last and \
                    option != "back":
                fail("block %d begins at %r, behind %r" % (number, time, last))
            last = time


def main():
    option, out, packet = sys.argv[1], sys.argv[2], int(sys.argv[3])
    every = []
    for path in sys.argv[4:]:
        kind, blocks = walk(path, packet, option)
        every += blocks
    every.sort(key=lambda b: b[0])
    numbers = [number for number, _ in every]
    if len(set(numbers)) != len(numbers):
        fail("a block number is there twice")
    if kind == 0:
        look_vdif(every, packet, option)
    with open(out, "wb") as to:
        for _, data in every:
            to.write(data)
    print(len(every), numbers[-1] + 1 - len(numbers))


main()
