#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near does reading a recording come to what the disks can do?

In one run, taking turns, the chunks of one recording are read by

  fio     io_uring, O_DIRECT, a job per disk, each through its own chunks
  spate   as a transfer gets them: all in their order, from a bounded memory
          (tests/bench/read_loop.c), with checksums and without
  file    as a file that many may read (tests/bench/cursor_loop.c): in
          requests of 1 MiB; by eight threads in requests of 128 KiB, a bit out
          of order; by four who read the same, in sum; without the first bytes
          of each packet; and anywhere, whose ratio is of what was wanted to
          what disks were asked for

The size of requests and how many are in flight on each disk are the same.
Every figure is the median of the runs, of ratios too; on another machine only
ratios mean something.  Without --disk the disks are folders on one file
system.  Nobody else should use the disks: who reads a recording gives way.
"""

import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from common import GB, table

REQUEST = 2 << 20  # POOL_REQUEST
DEPTH = 4          # POOL_DEPTH


def chunks(folder, name):
    """The files with data of a recording on a disk, in their order."""
    return sorted(glob.glob(f"{glob.escape(folder)}/{name}/{name}.[0-9]*"))


def drop(folders, name):
    """What is in memory of them is not read from there."""
    for folder in folders:
        for path in chunks(folder, name):
            fd = os.open(path, os.O_RDONLY)
            os.fdatasync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def fio_rate(folders, name, request=REQUEST, depth=DEPTH):
    """Bytes per second of fio through all chunks, a job for each disk."""
    jobs = []
    for i, folder in enumerate(folders):
        files = [f.replace(":", r"\:") for f in chunks(folder, name)]
        if files:
            jobs += [f"--name=disk{i}", "--filename=" + ":".join(files),
                     "--file_service_type=sequential"]
    drop(folders, name)
    out = subprocess.run(
        ["fio", "--output-format=json", "--ioengine=io_uring", "--direct=1",
         "--rw=read", f"--bs={request}", f"--iodepth={depth}", "--thread",
         "--group_reporting", *jobs],
        stdout=subprocess.PIPE, check=True, text=True).stdout
    read = json.loads(out[out.index("{"):])["jobs"][0]["read"]
    return read["io_bytes"] / (read["runtime"] / 1000)


def spate_rate(build, folders, name, memory=64, verify=False):
    """Bytes per second of read_loop, and what it says."""
    drop(folders, name)
    env = {**os.environ, "SPATE_PLUGINS": build + "/plugins/.libs"}
    out = subprocess.run(
        [build + "/tests/bench/read_loop", *(["-v"] if verify else []),
         "-m", str(memory), name, *folders],
        stdout=subprocess.PIPE, check=True, text=True, env=env).stdout
    got = json.loads(out)
    if got["bad"]:
        sys.exit(f"bench: {got['bad']} bytes could not be read")
    return got["bytes"] / got["seconds"], got


FILE = [("file", []),
        ("file, 8 threads", ["-t", "8", "-b", "128"]),
        ("file, 4 readers", ["-f", "4"]),
        ("file, strip", ["-s", "8"]),
        ("file, 1 MiB anywhere", ["-t", "4", "-n", "64"]),
        ("file, 4 KiB anywhere", ["-t", "4", "-n", "1000", "-b", "4"])]


def file_rate(build, folders, name, memory, options):
    """What cursor_loop says, and its bytes per second."""
    drop(folders, name)
    env = {**os.environ, "SPATE_PLUGINS": build + "/plugins/.libs"}
    out = subprocess.run(
        [build + "/tests/bench/cursor_loop", *options, "-m", str(memory),
         name, *folders],
        stdout=subprocess.PIPE, check=True, text=True, env=env).stdout
    got = json.loads(out)
    if got["bad"]:
        sys.exit(f"bench: {got['bad']} requests failed")
    return got["bytes"] / got["seconds"], got


def file_rates(build, folders, name, runs, memory):
    """As rates(), of what is read as a file."""
    seen = {way: [] for way, _ in FILE}
    for _ in range(runs):
        fio = fio_rate(folders, name)
        for way, options in FILE:
            rate, got = file_rate(build, folders, name, memory, options)
            ratio = rate / fio
            if "-n" in options:
                ratio = got["bytes"] / got["disk_bytes"]
            seen[way].append((rate, ratio, got["cpu_s"] / got["bytes"] * GB))
    return [(way, *(statistics.median(c) for c in zip(*rows)))
            for way, rows in seen.items()]


def rates(build, folders, name, runs=3, memory=64):
    """What others compare themselves with: rows of (way, bytes/s, ratio to
    fio in the same run, CPU s per GB); medians."""
    seen = {"fio": [], "spate": [], "spate, checksums": []}
    for _ in range(runs):
        fio = fio_rate(folders, name)
        seen["fio"].append((fio, 1, 0))
        for way in ("spate", "spate, checksums"):
            rate, got = spate_rate(build, folders, name, memory,
                                   way != "spate")
            seen[way].append((rate, rate / fio,
                              got["cpu_s"] / got["bytes"] * GB))
    return [(way, *(statistics.median(c) for c in zip(*rows)))
            for way, rows in seen.items()]


def show(rows):
    table("reading", [("", "MB/s", "of fio", "CPU s/GB")] + [
        (way, f"{rate / 1e6:.0f}", f"{ratio:.2f}",
         f"{cpu:.3f}" if cpu else "")
        for way, rate, ratio, cpu in rows], (22, 8, 8, 10))


def main():
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build-bench", help=argparse.SUPPRESS)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--disk", action="append",
                   help="a folder on a disk of its own; several times")
    p.add_argument("--dir", default="/var/tmp",
                   help="where the folders are made without --disk")
    p.add_argument("--disks", type=int, default=4,
                   help="how many of those")
    p.add_argument("--gib", type=float, default=4, help="of recording")
    p.add_argument("--block", type=int, default=64, help="MiB")
    p.add_argument("--memory", type=int, default=256, help="MiB")
    p.add_argument("--rest", type=float, default=2,
                   help="seconds between writing and reading")
    a = p.parse_args()
    build = os.path.abspath(a.build)
    folders = [tempfile.mkdtemp(prefix="spate-bench-",
                                dir=os.path.abspath(where))
               for where in a.disk or [a.dir] * a.disks]
    try:
        subprocess.run(
            [build + "/tests/bench/write_loop", "-c", "-b", str(a.block),
             "-t", str(int(a.gib * 1024)), *folders], check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "SPATE_PLUGINS": build + "/plugins/.libs"})
        os.sync()
        time.sleep(a.rest)
        show(rates(build, folders, "bench", a.runs, a.memory) +
             file_rates(build, folders, "bench", a.runs, a.memory))
    finally:
        for path in folders:
            shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    main()
