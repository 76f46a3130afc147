#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many streams can one receiver thread take?

SPEAD heaps go to 1, 4, 16 ... 432 ports of a real spated with one receiver
thread and the writer `null`.  For each number it searches the highest rate
of all together at which nothing is lost, and proves it; the bare loop over
as many sockets (tests/bench/receive_loop.c) says what the kernel alone would
allow.  Ratios are to one stream of the same run.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile

from common import (GB, Loop, Spated, free_ports, highest, ports_text, send,
                    table)

STREAMS = (1, 4, 16, 128, 256, 432)


class Bench:
    def __init__(self, args):
        self.a = args
        self.build = os.path.abspath(args.build)
        self.dir = tempfile.mkdtemp(prefix="spate-bench-")
        os.mkdir(os.path.join(self.dir, "disk"))
        self.first = free_ports(max(args.streams))

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def send(self, n, rate, seconds):
        return send(self.build, ports_text(self.first, n), rate, seconds,
                    "--format", "spead", "--packet", "8968", "--heap-bytes",
                    str(self.a.heap), *self.a.gen)

    def loop(self, n, rate, seconds):
        loop = Loop(self.build, ports_text(self.first, n), "gro", 8968,
                    self.a.memory, seconds)
        sent = self.send(n, rate, seconds)
        got = loop.end()
        return {"ok": got["packets"] == sent["sent"] and
                sent["rate"] >= 0.97 * rate,
                "cpu": got["cpu_s"] / max(got["bytes"] / GB, 1e-3)}

    def spate(self, n, rate, seconds):
        with Spated(self.build, self.dir, f'''
                disks = [ "{self.dir}/disk" ]; memory = "{self.a.memory}M";
                writer = "null"; receivers = {self.a.receivers};
                streams : {{ bench : {{ format = "spead";
                    block = "{self.a.block}"; listen = [ "127.0.0.1:{
                    ports_text(self.first, n)}" ]; }}; }};''') as d:
            idle = d.status("VmRSS")
            d.ask("record", name="bench", streams=["bench"])
            before = d.cpu()
            sent = self.send(n, rate, seconds)
            resident = d.status("VmRSS")
            got = d.ask("stop", name="bench")["recordings"][0]
            cpu = d.cpu() - before
        shutil.rmtree(os.path.join(self.dir, "disk", "bench"),
                      ignore_errors=True)
        lost = sent["sent"] - got["packets"]
        return {"ok": not lost and not sum(got["drops"].values()) and
                sent["rate"] >= 0.97 * rate,
                "cpu": cpu / max(got["bytes"] / GB, 1e-3),
                "lost": lost, "sent": sent["sent"],
                "rss": resident / 1024, "beyond": (resident - idle) / 1024}


def one(b, n, say):
    a = b.a
    say(f"{n} streams: bare loop")
    bare, _ = highest(lambda r, s: b.loop(n, r, s), 0, a.high, a.step,
                      a.probe, a.probe)
    say(f"{n} streams: spate")
    rate, got = highest(lambda r, s: b.spate(n, r, s), 0, a.high, a.step,
                        a.probe, a.seconds)
    return {"streams": n, "bare": bare, "rate": rate, **got}


def main():
    p = argparse.ArgumentParser(prog="scripts/bench streams",
                                description=__doc__.split("\n", 1)[0])
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--streams", type=lambda t: [int(n) for n in t.split(",")],
                   default=list(STREAMS))
    p.add_argument("--receivers", type=int, default=1)
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--probe", type=float, default=1.5)
    p.add_argument("--memory", type=int, default=2048, help="MiB")
    p.add_argument("--block", default="1M")
    p.add_argument("--heap", type=int, default=500000, help="bytes of a heap")
    p.add_argument("--high", type=float, default=40e9)
    p.add_argument("--step", type=float, default=0.5e9)
    p.add_argument("--gen", type=str.split, default=[],
                   help="more options of spate gen")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()

    b = Bench(a)
    results = []
    try:
        for run in range(a.runs):
            for n in a.streams:
                def say(what, k=run + 1):
                    print(f"run {k} of {a.runs}: {what}", file=sys.stderr)
                results.append(one(b, n, say))
                if a.json:
                    print(json.dumps(results[-1]), flush=True)
    finally:
        b.close()

    def mid(n, key):
        return statistics.median(r.get(key, 0) for r in results
                                 if r["streams"] == n)
    base = a.streams[0]
    rows = [("streams", "Gb/s", f"of {base}", "lost", "CPU s/GB", "RSS MiB",
             "loop Gb/s", f"of {base}", "spate/loop")]
    for n in a.streams:
        rows.append((
            str(n), f"{mid(n, 'rate') / 1e9:.1f}",
            f"{mid(n, 'rate') / max(mid(base, 'rate'), 1):.2f}",
            f"{mid(n, 'lost'):.0f}", f"{mid(n, 'cpu'):.3f}",
            f"{mid(n, 'rss'):.0f}", f"{mid(n, 'bare') / 1e9:.1f}",
            f"{mid(n, 'bare') / max(mid(base, 'bare'), 1):.2f}",
            f"{mid(n, 'rate') / max(mid(n, 'bare'), 1):.2f}"))
    table(f"highest rate without loss, {a.receivers} receiver thread"
          f"{'s' if a.receivers != 1 else ''}, median of {a.runs} (wanted: "
          "0.80 at 432)", rows, (8, 6, 6, 6, 9, 8, 10, 6, 11))


if __name__ == "__main__":
    main()
