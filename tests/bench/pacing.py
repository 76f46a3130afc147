#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near to the rate that is asked for do datagrams leave, and how evenly?

The daemon's sender with its udp plugin sends packets of 8040 bytes out of
memory (tests/bench/pace_send.c), over loopback, at 1, 4 and 8 Gb/s; a receiver
of ours (tests/bench/pace_sink.c) counts bytes by the times at which the kernel
had them.

  error     of the whole time, from the first packet to the last; wanted: 1 %
  10 ms     how far each stretch of 10 ms is from the rate: the median, and 99
            in 100 of them
  burst     the largest, in bytes and in time at the rate: what a switch of
            just that rate would have to keep
  gap       the longest time without a packet
  CPU       of the sender, seconds a second

Figures are medians of the runs, bursts and gaps the largest.  Other programs
on the machine keep the sender from running: it wants a quiet one.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys

from common import table

PAYLOAD = 8032


class Bench:
    def __init__(self, args):
        self.a = args
        self.bench = os.path.abspath(args.build) + "/tests/bench/"
        self.env = {**os.environ, "SPATE_PLUGINS":
                    os.path.abspath(args.build) + "/plugins/.libs"}

    def once(self, rate):
        """At so many bits per second."""
        a = self.a
        with subprocess.Popen(
                [self.bench + "pace_sink", "127.0.0.1", str(rate),
                 str(a.seconds)], stdout=subprocess.PIPE, text=True) as sink:
            port = sink.stdout.readline().strip()
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            p = subprocess.run(
                [self.bench + "pace_send", f"udp://127.0.0.1:{port}",
                 str(rate), str(a.seconds + 0.5), str(a.payload)],
                stdout=subprocess.PIPE, text=True, env=self.env, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            said = json.loads(p.stdout)
            got = json.loads(sink.communicate()[0])
        cpu = (after.ru_utime + after.ru_stime -
               before.ru_utime - before.ru_stime)
        return {"asked": rate, "rate": got["rate"],
                "error": got["rate"] / rate - 1,
                "bin_median": got["bin_median"], "bin_99": got["bin_99"],
                "burst": got["burst"], "gap": got["gap_ns"] / 1e9,
                "own_burst": said["burst"], "way": said["way"],
                "cpu": cpu / (a.seconds + 0.5)}


def middle(runs):
    largest = ("burst", "gap", "own_burst")
    return {key: (runs[0][key] if isinstance(runs[0][key], str) else
                  (max if key in largest else statistics.median)(
                      r[key] for r in runs))
            for key in runs[0]}


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--payload", type=int, default=PAYLOAD,
                   help="bytes of data in each packet")
    p.add_argument("--rates", type=float, nargs="+", default=[1, 4, 8],
                   metavar="GBPS")
    p.add_argument("--json", metavar="FILE", help="'-': to standard output")
    return p.parse_args()


def main():
    a = arguments()
    b = Bench(a)
    got = {rate: [] for rate in a.rates}
    for run in range(a.runs):
        for rate in a.rates:
            print(f"{rate:g} Gb/s: run {run + 1} of {a.runs}",
                  file=sys.stderr, flush=True)
            got[rate].append(b.once(int(rate * 1e9)))
    results = [middle(runs) for runs in got.values()]
    rows = [("Gb/s", "got", "error", "wanted", "10 ms", "99 of 100",
             "burst KiB", "is ms", "gap ms", "CPU s/s")]
    for r in results:
        rows.append((
            f"{r['asked'] / 1e9:g}", f"{r['rate'] / 1e9:.4f}",
            f"{100 * r['error']:+.3f} %", "1 %",
            f"{100 * r['bin_median']:.2f} %", f"{100 * r['bin_99']:.1f} %",
            f"{r['burst'] / 1024:.0f}",
            f"{8e3 * r['burst'] / r['asked']:.2f}", f"{1e3 * r['gap']:.2f}",
            f"{r['cpu']:.2f}"))
    table(f"datagrams of {a.payload + 8} bytes ({results[0]['way']})", rows,
          (5, 7, 8, 6, 7, 9, 9, 6, 6, 7))
    if a.json == "-":
        print(json.dumps(results))
    elif a.json:
        with open(a.json, "w", encoding="ascii") as f:
            json.dump(results, f)


if __name__ == "__main__":
    main()
