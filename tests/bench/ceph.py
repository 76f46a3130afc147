#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near does recording into a Ceph pool come to what the pool can do?

In one run, taking turns, the same bytes in objects of the same size

  rados   rados bench: writes of 4 MiB, 16 in flight; then it reads them
  spate   full blocks through queue, writer, chunks and index into
          rados://POOL/NAMESPACE, until all is in the index
          (tests/bench/write_loop.c); then spate export reads them

Without --pool a Ceph of one machine is made for it (mon, mgr, three OSDs on
files of one disk, two replicas), and removed: its rates are those of this
machine's processors, which the OSDs need more of than both programs.  Every
figure is the median of the runs, of ratios too.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

from common import GB, table

MIB = 1 << 20
MAKE = """
. tests/flow/functions.sh
. tests/flow/functions_ceph.sh
ceph_start 12
"$@" --pool spate
"""


def own_ceph(build):
    """This program again, with a cluster that ends with it."""
    env = {**os.environ, "top_builddir": build}
    return subprocess.run(
        ["bash", "-c", MAKE, "bench", sys.executable] + sys.argv,
        env=env, check=False).returncode


def say(text):
    print(text, file=sys.stderr, flush=True)


def median(runs, key, base=None):
    """Of the runs, or of their ratios to the run of `base` at their side."""
    return statistics.median(
        r[key] / b[key] for r, b in zip(runs, base)) if base else \
        statistics.median(r[key] for r in runs)


def run(argv, **more):
    """Its output, its seconds, and its CPU seconds."""
    began = time.monotonic()
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, **more)
    out = p.stdout.read().decode()
    _, status, used = os.wait4(p.pid, 0)
    if status:
        sys.exit(f"bench: {' '.join(argv)} failed:\n{out}")
    return out, time.monotonic() - began, used.ru_utime + used.ru_stime


class Bench:
    def __init__(self, args):
        self.a = args
        self.build = os.path.abspath(args.build)
        self.place = f"rados://{args.pool}/bench"
        self.env = {**os.environ,
                    "SPATE_PLUGINS": self.build + "/plugins/.libs"}

    def rados(self, *words):
        return run(["/usr/bin/rados", "-p", self.a.pool, "-N", "bench",
                    *words])

    def fresh(self):
        """An empty namespace, and nothing of the last run being removed."""
        names = self.rados("ls")[0].split()
        for at in range(0, len(names), 500):
            self.rados("rm", *names[at:at + 500])
        time.sleep(self.a.rest)

    def bench(self, how, *words):
        a = self.a
        out, _, cpu = self.rados(
            "bench", str(a.seconds), how, "-t", "16", *words)
        found = dict(re.findall(r"^(Total time run|Bandwidth \(MB/sec\)|"
                                r"Total writes made|Total reads made|"
                                r"Write size|Read size):\s+([0-9.]+)$", out,
                                re.M))
        rate = float(found["Bandwidth (MB/sec)"]) * MIB / GB
        done = rate * float(found["Total time run"])
        return {"rate": rate, "cpu": cpu / max(done, 1e-9)}

    def rados_both(self):
        self.fresh()
        wrote = self.bench("write", "-b", str(4 * MIB), "-O",
                           str(self.a.block * MIB), "--no-cleanup")
        return wrote, self.bench("seq")

    def spate_both(self):
        a = self.a
        self.fresh()
        out, _, _ = run(
            [self.build + "/tests/bench/write_loop", "-b", str(a.block),
             "-t", str(a.mib), self.place], env=self.env,
            stderr=subprocess.PIPE)
        r = json.loads(out)
        if r["lost_packets"]:
            sys.exit("bench: the pool did not take all blocks")
        gb = r["bytes"] / GB
        wrote = {"rate": gb / r["seconds"], "cpu": r["cpu_s"] / gb}
        _, seconds, cpu = run(
            [self.build + "/spate", "export", "bench", "/dev/null", "--force",
             "--quiet", "--disks", self.place], env=self.env)
        return wrote, {"rate": gb / seconds, "cpu": cpu / gb}


def main():
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build-bench")
    p.add_argument("--pool", help="a pool to use ($CEPH_CONF); its namespace "
                   "`bench` is emptied")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--block", type=int, default=64, help="MiB of an object")
    p.add_argument("--mib", type=int, default=1536, help="of each recording")
    p.add_argument("--seconds", type=int, default=8, help="of rados bench")
    p.add_argument("--rest", type=float, default=3)
    a = p.parse_args()
    if not a.pool:
        sys.exit(own_ceph(os.path.abspath(a.build)))
    b = Bench(a)
    got = {"rados": [], "spate": []}
    for n in range(a.runs):
        say(f"run {n + 1} of {a.runs}")
        order = [("rados", b.rados_both), ("spate", b.spate_both)]
        for name, part in order[::1 if n % 2 else -1]:
            got[name].append(part())
    b.fresh()
    rows = [["", "GB/s", "of rados", "CPU s per GB"]]
    for i, what in enumerate(("writes", "reads")):
        base = [r[i] for r in got["rados"]]
        for name, runs in got.items():
            runs = [r[i] for r in runs]
            rows.append([f"{name} {what}", f"{median(runs, 'rate'):.2f}",
                         f"{median(runs, 'rate', base):.2f}",
                         f"{median(runs, 'cpu'):.2f}"])
    table(f"{a.block} MiB objects in the pool {a.pool}", rows,
          [14, 6, 9, 13])


if __name__ == "__main__":
    main()
