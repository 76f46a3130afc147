#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near to libucx's own benchmark do our plugins for it come?

Packets of 8192 bytes go from one process to another through the send and the
receive plugin (tests/bench/ucx_loop.c), out of memory as large as a pool and
into it; beside that runs ucx_perftest's ucp_am_bw over the same transport,
which sends one buffer again and again.  Messages of 16 MiB come from memory,
as ours do; the cache has those of the same size as ours.  Wanted: 0.9 of the
first, without checksums, which it has none of.

  perftest  ucx_perftest with messages of 16 MiB
  cached    the same with messages as long as ours
  plain     without checksums, the sender's memory as it lies
  checked   with them, as by default
  copied    checked, and the sender may keep no memory: a live recording

Figures are GB/s, medians of the runs; the ratio to perftest is that of each
run.
"""

import argparse
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time

from common import table

UNITS = {"K": 1 << 10, "M": 1 << 20}
WAYS = {"plain": ["-u"], "checked": [], "copied": ["-k"]}


def size_of(text):
    return int(text[:-1]) * UNITS[text[-1]]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Bench:
    def __init__(self, args):
        self.a = args
        self.build = os.path.abspath(args.build)

    def environment(self, tls):
        env = {**os.environ, "SPATE_PLUGINS": self.build + "/plugins/.libs",
               "UCX_WARN_UNUSED_ENV_VARS": "n"}
        if tls != "all":
            env["UCX_TLS"] = tls
        return env

    def ours(self, tls, message, way):
        p = subprocess.run(
            [self.build + "/tests/bench/ucx_loop", "-m", message,
             "-n", str(self.a.messages), "-s", str(self.a.seconds)] +
            WAYS[way], env=self.environment(tls), stdout=subprocess.PIPE,
            text=True, check=True)
        said = json.loads(p.stdout)
        if said["restarts"]:
            sys.exit("bench: a connection broke in the middle")
        return said["bytes"] / said["seconds"] / 1e9, said["straight"]

    def perftest(self, tls, message):
        """Its last line, of all messages: the average bandwidth, MB/s."""
        port = str(free_port())
        size = size_of(message)
        common = ["ucx_perftest", "-p", port]
        env = self.environment(tls)
        with subprocess.Popen(common, env=env, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as server:
            try:
                for _ in range(50):
                    time.sleep(0.1)
                    p = subprocess.run(
                        common + ["127.0.0.1", "-t", "ucp_am_bw",
                                  "-s", str(size), "-f", "-v", "-w", "100",
                                  "-n", str(self.count(size))],
                        env=env, stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL, text=True, check=False)
                    rows = re.findall(r"^ *\d+(?:,[\d.]+)+$", p.stdout, re.M)
                    if rows:
                        cells = rows[-1].split(",")
                        return float(cells[5]) * (1 << 20) / 1e9
            finally:
                server.kill()
        sys.exit("bench: ucx_perftest says nothing")

    def count(self, size):
        """As much as takes so long at 3 GB/s."""
        return max(int(self.a.seconds * 3e9 / size), 100)


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--messages", type=int, default=4,
                   help="on their way at a time")
    p.add_argument("--sizes", nargs="+", default=["512K"],
                   help="of messages: 256K 1M")
    p.add_argument("--tls", nargs="+", default=["tcp", "posix,cma", "all"])
    p.add_argument("--json", metavar="FILE")
    return p.parse_args()


def main():
    args = arguments()
    if not shutil.which("ucx_perftest"):
        sys.exit("bench: ucx_perftest is missing: apt-get install ucx-utils")
    bench = Bench(args)
    rows, all_runs = [], []
    for tls in args.tls:
        for message in args.sizes:
            runs = []
            for _ in range(args.runs):
                run = {"perftest": bench.perftest(tls, "16M"),
                       "cached": bench.perftest(tls, message)}
                for way in WAYS:
                    run[way], run["straight"] = bench.ours(tls, message, way)
                runs.append(run)
            all_runs.append({"tls": tls, "message": message, "runs": runs})
            middle = {k: statistics.median(r[k] for r in runs)
                      for k in runs[0]}
            ratio = {w: statistics.median(r[w] / r["perftest"] for r in runs)
                     for w in WAYS}
            rows.append([tls, message, f"{middle['perftest']:.2f}",
                         f"{middle['cached']:.2f}"] +
                        [f"{middle[w]:.2f} ({ratio[w]:.2f})" for w in WAYS] +
                        [f"{middle['straight']:.2f}"])
    rows.insert(0, ["UCX_TLS", "message", "perftest", "cached", *WAYS,
                        "straight"])
    table("GB/s through our plugins, and how much that is of ucx_perftest",
          rows, [10, 8, 9, 7, 13, 13, 13, 8])
    if args.json:
        with open(args.json, "w", encoding="ascii") as f:
            json.dump(all_runs, f, indent=1)


if __name__ == "__main__":
    main()
