#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What does it cost that a disk may die?

In one run, taking turns, the same blocks go to six disks without parity, with
one and with two parity blocks for each group (tests/bench/write_loop.c); each
disk takes so many MiB a second.  Blocks come at the rate at which all of them are
to be protected, then faster than the disks take them, then at half of what these
take.  CPU seconds per GB of data are compared with those without parity, beside
what ISA-L takes for the same over memory, block by block.

Then a recording is read with all disks, and without one of them.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from common import GB, table

DISKS = 6
FED = 1.0


class Bench:
    def __init__(self, a):
        self.a = a
        self.build = os.path.abspath(a.build)
        self.dirs = [tempfile.mkdtemp(prefix="spate-bench-",
                                      dir=os.path.abspath(a.dir))
                     for _ in range(DISKS)]
        self.env = {**os.environ,
                    "SPATE_PLUGINS": self.build + "/plugins/.libs"}

    def close(self):
        for path in self.dirs:
            shutil.rmtree(path, ignore_errors=True)
            shutil.rmtree(path + ".dead", ignore_errors=True)

    def fresh(self):
        for path in self.dirs:
            for entry in os.scandir(path):
                shutil.rmtree(entry.path)
        os.sync()
        time.sleep(self.a.rest)

    def run(self, *args):
        p = subprocess.run(args, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, env=self.env,
                           check=False)
        if p.returncode:
            sys.exit(f"bench: {p.stderr}")
        return json.loads(p.stdout)

    def write(self, rows, *how):
        self.fresh()
        r = self.run(self.build + "/tests/bench/write_loop", "-c",
                     "-b", str(self.a.block), "-t", str(self.a.mib),
                     "-p", str(rows), *how, *self.dirs)
        return {"rate": r["bytes"] / r["seconds"] / GB,
                "cpu": r["cpu_s"] / (r["bytes"] / GB),
                "protected": r["protected"] / r["chunks"]}

    def isal(self, rows):
        r = self.run(self.build + "/tests/bench/write_loop", "-i", str(rows))
        return r["cpu_s"] / (r["bytes"] / GB)

    def read(self):
        """GB/s of an export to nowhere, nothing of it in memory."""
        os.sync()
        for path in self.dirs:
            for folder, _, files in os.walk(path):
                for name in files:
                    fd = os.open(os.path.join(folder, name), os.O_RDONLY)
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                    os.close(fd)
        before = os.times()
        p = subprocess.run(
            [self.build + "/spate", "export", "bench", "-", "--quiet",
             "--disks", ":".join(self.dirs)], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=self.env, check=False)
        if p.returncode:
            sys.exit(f"bench: {p.stderr.decode()}")
        now = os.times()
        return self.a.mib * (1 << 20) / (now.elapsed - before.elapsed) / GB


def writing(b):
    flood, fits, eased = ({rows: [] for rows in (0, 1, 2)} for _ in range(3))
    pace = ("-r", str(b.a.pace))
    half = str(b.a.pace * DISKS // 2)
    for i in range(b.a.runs):
        print(f"write: run {i + 1} of {b.a.runs}", file=sys.stderr)
        flood[0].append(b.write(0, *pace))
        disks = flood[0][-1]["rate"] * GB / (1 << 20)
        for rows in list(eased)[i % 3:] + list(eased)[:i % 3]:
            eased[rows].append(b.write(rows, *pace, "-s", half))
            if not rows:
                continue
            flood[rows].append(b.write(rows, *pace))
            fits[rows].append(b.write(
                rows, *pace, "-s", str(round(disks * FED * left(rows)))))
    fits[0] = flood[0]
    tell(b, f"{FED} of what k/(k+m) leaves comes", fits)
    tell(b, "more comes than disks take: data go before parity", flood)
    tell(b, "half of what the disks take comes", eased)


def left(rows):
    """The share of the disks that data have, k/(k+m)."""
    return (DISKS - rows) / DISKS


def tell(b, what, runs):
    base = runs[0]
    out = [("parity", "GB/s", "of none", "of k/(k+m)", "CPU s/GB",
            "more", "wanted", "ISA-L", "protected")]
    for rows, got in runs.items():
        share = statistics.median(r["rate"] / n["rate"]
                                  for r, n in zip(got, base))
        more = statistics.median(r["cpu"] - n["cpu"]
                                 for r, n in zip(got, base))
        out.append((
            rows, f"{statistics.median(r['rate'] for r in got):.3f}",
            f"{share:.3f}", f"{share / left(rows):.3f}",
            f"{statistics.median(r['cpu'] for r in got):.4f}",
            f"{more:.4f}", "0.10" if rows else "",
            f"{b.isal(rows):.4f}" if rows else "",
            f"{min(r['protected'] for r in got):.3f}"))
    table(f"six disks of {b.a.pace} MiB/s, {b.a.mib} MiB in blocks of "
          f"{b.a.block} MiB; {what}", out, (8, 7, 8, 10, 9, 8, 7, 8, 9))


def reading(b):
    b.write(1, "-s", "600")
    whole, less = [], []
    for i in range(b.a.runs):
        print(f"read: run {i + 1} of {b.a.runs}", file=sys.stderr)
        whole.append(b.read())
        dead = b.dirs[i % DISKS]
        os.rename(dead, dead + ".dead")
        os.mkdir(dead)
        less.append(b.read())
        os.rmdir(dead)
        os.rename(dead + ".dead", dead)
    share = [l / w for l, w in zip(less, whole)]
    table("reading, with parity 1",
          [("", "GB/s", "of whole", "wanted"),
           ("whole", f"{statistics.median(whole):.3f}", "", ""),
           ("a disk is dead", f"{statistics.median(less):.3f}",
            f"{statistics.median(share):.3f}", "0.5")], (16, 7, 9, 7))


def main():
    p = argparse.ArgumentParser(prog="scripts/bench parity",
                                description=__doc__.split("\n", 1)[0])
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--dir", default=".", help="where the disks' folders go")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--bytes", dest="mib", default="3840M",
                   type=lambda s: int(s.rstrip("M")),
                   help="of each run, 3840M")
    p.add_argument("--block", type=int, default=16, help="MiB")
    p.add_argument("--pace", type=int, default=60,
                   help="MiB/s of each disk")
    p.add_argument("--only", choices=["write", "read"])
    p.add_argument("--rest", type=float, default=0.3,
                   help="seconds between parts")
    a = p.parse_args()
    b = Bench(a)
    try:
        if a.only != "read":
            writing(b)
        if a.only != "write":
            reading(b)
    finally:
        b.close()


if __name__ == "__main__":
    main()
