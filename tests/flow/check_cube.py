# SPDX-License-Identifier: MIT
"""Compares an exported cube with the heaps that were sent.

    check_cube.py CUBE ITEM FIRST SENT... [--zero T:C ...]

CUBE is time x channel x item; SENT the channels' heaps as spead_send.py wrote
them, FIRST the heap count of time 0.  A heap of --zero has to be zero bytes.
"""
import sys

from check_spead import heaps


def main():
    args = sys.argv[1:]
    zeros = set()
    if "--zero" in args:
        at = args.index("--zero")
        zeros = {tuple(map(int, z.split(":"))) for z in args[at + 1:]}
        args = args[:at]
    cube, item, first, *sent = args
    channels = [heaps(path)[0] for path in sent]
    faults = 0
    times = 0
    with open(cube, "rb") as f:
        while True:
            for c, found in enumerate(channels):
                what = dict(i for i in found.get(int(first) + times, [])
                            if len(i) == 2).get(int(item, 0))
                if what is None:
                    rest = f.read(1)
                    if rest or c:
                        print(f"more in the cube than {times} times")
                        faults += 1
                    print(f"{times} times")
                    sys.exit(1 if faults or not times else 0)
                if (times, c) in zeros:
                    what = bytes(len(what))
                if f.read(len(what)) != what:
                    print(f"time {times}, channel {c}: not as sent")
                    faults += 1
            times += 1


if __name__ == "__main__":
    main()
