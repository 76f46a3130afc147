#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What does it cost to watch a stream while it is recorded?

A real spated takes VDIF at one rate, in trains as the sender cuts them, with a
disk plugin that writes nothing, unless --writer names another.  Runs with
`quality` and without come in turns, the first one of a pair changing with each,
and CPU seconds per GB are compared: of the whole process, of the thread that
looks at samples, and of the receiver.  The process has the beginning and the end
of the recording as well, which cost some milliseconds whatever its length.  Every
figure is the median of the runs.  A run that lost something counts, and is said.
"""

import argparse
import json
import os
import statistics
import sys

from common import GB
from common import table as both_table
from record import Bench

WAYS = {"off": "quality = false;", "on": ""}


def thread_cpu(pid, name):
    """CPU seconds of the threads of that name."""
    ticks = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii") as f:
            text = f.read()
        if text[text.index("(") + 1:text.rindex(")")] == name:
            fields = text[text.rindex(")") + 2:].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def once(b, keys):
    b.fresh()
    with b.spated("", keys) as d:
        d.warm()
        d.ask("record", name="bench", streams=["bench"])
        before = d.cpu()
        sent = b.send(b.a.rate, b.a.seconds)
        b.settle(d, sent["sent"])
        seen = d.ask("status")["recordings"][0]
        thread = thread_cpu(d.p.pid, "spate-signal")
        receiver = thread_cpu(d.p.pid, "spate-receive")
        got = d.ask("stop", name="bench")["recordings"][0]
        cpu = d.cpu() - before
    return {"cpu": cpu / (got["bytes"] / GB),
            "thread": thread / (got["bytes"] / GB),
            "receiver": receiver / (got["bytes"] / GB),
            "lost": sent["sent"] - got["packets"],
            "frames": seen["quality_frames"] or 0,
            "missed": seen["quality_missed"] or 0,
            "quality": seen["quality"]}


def main():
    p = argparse.ArgumentParser(prog="scripts/bench observe",
                                description=__doc__.split("\n", 1)[0])
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--dir", default=".", help="where the disks' folders go")
    p.add_argument("--runs", type=int, default=6)
    p.add_argument("--seconds", type=float, default=10)
    p.add_argument("--rate", type=float, default=4e9,
                   help="bits per second (default 4e9)")
    p.add_argument("--rest", type=float, default=1,
                   help="seconds between runs")
    p.add_argument("--memory", type=int, metavar="MIB")
    p.add_argument("--block", default="64M")
    p.add_argument("--writer", default="null", help="write plugin")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()

    runs = {way: [] for way in WAYS}
    b = Bench(a)
    try:
        for i in range(a.runs):
            for way in list(WAYS)[::-1 if i % 2 else 1]:
                print(f"run {i + 1} of {a.runs}: {way}", file=sys.stderr)
                runs[way].append(once(b, WAYS[way]))
                if a.json:
                    print(json.dumps({"way": way, **runs[way][-1]}),
                          flush=True)
    finally:
        b.close()
    rows = [("", "CPU s/GB", "least", "most", "thread", "receiver",
             "frames", "missed", "lost")]
    for way, got in runs.items():
        cpu = [r["cpu"] for r in got]
        rows.append((way, f"{statistics.median(cpu):.4f}", f"{min(cpu):.4f}",
                     f"{max(cpu):.4f}",
                     f"{statistics.median(r['thread'] for r in got):.4f}",
                     f"{statistics.median(r['receiver'] for r in got):.4f}",
                     f"{statistics.median(r['frames'] for r in got):.0f}",
                     sum(r["missed"] for r in got),
                     sum(r["lost"] for r in got)))
    both_table(f"at {a.rate / 1e9:.1f} Gb/s, {a.seconds:.0f} s, median of "
               f"{a.runs}", rows, [8, 10, 8, 8, 8, 8, 8, 8, 8])
    ratio = [on["cpu"] / off["cpu"]
             for on, off in zip(runs["on"], runs["off"])]
    of = (statistics.median(r["cpu"] for r in runs["on"]) /
          statistics.median(r["cpu"] for r in runs["off"]))
    print(f"\n  on / off: {of:.3f}; of pairs {statistics.median(ratio):.3f}, "
          f"{min(ratio):.3f} to {max(ratio):.3f} (wanted 1.02)")


if __name__ == "__main__":
    main()
