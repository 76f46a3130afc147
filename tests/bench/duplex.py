#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What does sending cost a recording, and a recording sending?

In one run, on this machine, over loopback, a real spated over four folders

  finds the highest rate at which a recording alone loses nothing, as
  `scripts/bench record` does, or takes the one that --rate says; then

  live      records at half of that, and sends the recording while it is made
  disk      sends another recording from disks, and records nothing
  duplex    records at that half, and does both of that at the same time
  fio       writes at that half, and reads the other recording's chunks as fast
            as they come: what the disks can do

as plain TCP bytes to two programs that read and do nothing else.  Wanted: in
duplex not one packet is lost, the live send is as fast as the recording, and
the other one has 0.9 of what fio reads.

Generator, recorder and readers share the machine's processors.  Where those
were busy all the time, that bound is out of reach; then see what spated needs
beside what its parts need alone, per byte: more than 1.0 is work that they
cause each other.
"""

import argparse
import datetime
import json
import os
import statistics
import sys
import time
import types

import read
import record
from common import Spated, free_ports, highest, send, table
from send import Sink

PAYLOAD = record.DATAGRAM - 8
FPS = 25000
ENDED = ("finishing", "done", "failed", "stopped")


def when(text):
    """Seconds of a time as 2026-11-21T22:13:25.123456789Z."""
    whole, part = text.rstrip("Z").split(".")
    return (datetime.datetime.fromisoformat(whole).timestamp() +
            float("0." + part))


def idle():
    """Seconds that the processors had nothing to do, and all seconds."""
    with open("/proc/stat", encoding="ascii") as f:
        words = [int(w) for w in f.readline().split()[1:9]]
    return words[3] + words[4], sum(words)


class Bench(record.Bench):
    def __init__(self, args):
        super().__init__(args)
        self.port = free_ports(2)

    def spated(self):
        a = self.a
        disks = ", ".join(f'"{d}"' for d in self.disks)
        stream = (f'format = "vdif"; prefix = 8; payload = {PAYLOAD}; '
                  f'block = "{a.block}"; fps = {FPS};')
        return Spated(self.build, self.dir, f'''
            disks = [ {disks} ]; memory = "{a.memory}M";
            streams : {{ bench : {{ listen = [ "127.0.0.1:{self.port}" ];
                {stream} }}; }};''')

    def old_make(self, d):
        """Another recording, for the disk's send, long enough."""
        rate = self.a.old_rate * 1e9
        d.ask("record", name="old", streams=["bench"])
        send(self.build, self.port, rate, self.a.old_gb * 8e9 / rate,
             "--format", "vdif", "--fps", str(FPS))
        d.ask("stop", name="old")

    # -- sends -------------------------------------------------------------

    @staticmethod
    def send_begin(d, name, follow):
        sink = Sink(d.build, 3600)
        one = d.ask("send", name=name, plain=True, follow=follow,
                    to=f"tcp://127.0.0.1:{sink.port}")["sends"][0]
        return types.SimpleNamespace(sink=sink, id=one["id"], d=d)

    @staticmethod
    def send_look(one):
        return [s for s in one.d.ask("sends", all=True)["sends"]
                if s["id"] == one.id][0]

    def send_rate(self, one, since):
        """Bits per second since then, or until it was all sent."""
        now = self.send_look(one)
        if now["state"] == "failed":
            sys.exit(f"bench: send: {now['why']}")
        seconds = time.monotonic() - since
        if now["state"] == "done":
            seconds = when(now["ended"]) - when(now["started"])
        return now["bytes"] * 8 / max(seconds, 1e-3)

    def send_end(self, one):
        if self.send_look(one)["state"] not in ENDED:
            one.d.ask("stop", name=str(one.id))
        one.sink.drop()

    # -- the parts ---------------------------------------------------------

    def disk(self, d):
        """Bits per second, and CPU seconds per byte."""
        one = self.send_begin(d, "old", False)
        since, cpu = time.monotonic(), d.cpu()
        time.sleep(self.a.seconds)
        rate = self.send_rate(one, since)
        cost = (d.cpu() - cpu) / self.send_look(one)["bytes"]
        self.send_end(one)
        return rate, cost

    def fio_both(self, rate):
        """Bits per second that fio reads while it writes at that rate."""
        self.block_bytes = 64 << 20
        writes = self.fio_start(rate, self.a.seconds)
        try:
            return 8 * read.fio_rate(self.disks, "old")
        finally:
            self.fio_end(writes)

    def live(self, d, rate, beside):
        """Records and sends that; with `beside` the other one, too."""
        a = self.a
        d.ask("record", name="live", streams=["bench"])
        sends = [self.send_begin(d, "live", True)]
        if beside:
            sends.append(self.send_begin(d, "old", False))
        since, cpu, rest = time.monotonic(), d.cpu(), idle()
        sent = send(self.build, self.port, rate, a.seconds, "--format",
                    "vdif", "--fps", str(FPS))
        rates = [self.send_rate(s, since) for s in sends]
        rest = [now - before for now, before in zip(idle(), rest)]
        cpu = d.cpu() - cpu
        facts = self.send_look(sends[0])
        went = [self.send_look(s)["bytes"] for s in sends]
        got = d.ask("stop", name="live")["recordings"][0]
        for s in sends:
            self.send_end(s)
        d.ask("rm", name="live", force=True)
        return {"rates": rates, "sent": sent["rate"],
                "lost": sent["sent"] - got["packets"],
                "drops": sum(got["drops"].values()),
                "idle": rest[0] / rest[1], "cpu": cpu, "went": went,
                "from_memory": facts["from_memory"],
                "from_disk": facts["from_disk"]}


def one_run(b, say):
    r = {}
    a = b.a
    b.fresh()
    if a.rate:
        r["free"] = a.rate * 1e9
    else:
        say("the highest rate without loss")
        r["free"] = highest(b.spate, 0, a.high, a.step, a.probe, a.probe)[0]
        b.fresh()
    r["rate"] = r["free"] / 2
    with b.spated() as d:
        d.build = b.build
        say("another recording")
        b.old_make(d)
        say("disk")
        r["disk_alone"], per_byte = b.disk(d)
        say("live")
        live = b.live(d, r["rate"], False)
        say("duplex")
        both = b.live(d, r["rate"], True)
        say("fio")
        r["disk_fio"] = b.fio_both(r["rate"])
    r["idle"] = both["idle"]
    r["cpu"] = both["cpu"] / (both["went"][1] * per_byte +
                              both["went"][0] * live["cpu"] / live["went"][0])
    r["live_alone"] = live["rates"][0]
    r["live_lost"] = live["lost"] + live["drops"]
    r["live"], r["disk"] = both["rates"]
    r["sent"] = both["sent"]
    r["lost"], r["drops"] = both["lost"], both["drops"]
    r["from_memory"], r["from_disk"] = both["from_memory"], both["from_disk"]
    return r


def show(results, runs):
    m = {k: statistics.median(r[k] for r in results) for k in results[0]}
    most = {k: max(r[k] for r in results)
            for k in ("lost", "drops", "live_lost")}

    def gbps(key):
        return f"{m[key] / 1e9:.2f}"

    def ratio(key):
        alone = m[key + "_alone"]
        return f"{m[key] / alone:.2f}" if alone else "-"

    rows = [("", "Gb/s", "alone", "ratio", "wanted"),
            ("nothing is lost up to", gbps("free"), "", "", ""),
            ("recorded", gbps("sent"), "", "", ""),
            ("sent live", gbps("live"), gbps("live_alone"), ratio("live"),
             ""),
            ("sent from disks", gbps("disk"), gbps("disk_alone"),
             ratio("disk"), ""),
            ("  of what fio reads", gbps("disk_fio"), "",
             f"{m['disk'] / m['disk_fio']:.2f}", "0.90")]
    table(f"recording and two sends, median of {runs}", rows,
          (24, 8, 8, 6, 6))
    print(f"  the processors had nothing to do for {100 * m['idle']:.0f} % of "
          f"duplex; spated took {m['cpu']:.2f} of the CPU time of its parts")
    print(f"  packets lost: {most['lost']} (dropped: {most['drops']}; "
          f"with the live send alone: {most['live_lost']}); wanted: 0")
    share = m["from_memory"] / max(m["from_memory"] + m["from_disk"], 1)
    print(f"  of the live send {100 * share:.0f} % came from memory")


def main():
    p = argparse.ArgumentParser(
        prog="scripts/bench duplex", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--dir", default=".", help="where the disks' folders go")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--seconds", type=float, default=10, help="of each part")
    p.add_argument("--rate", type=float, metavar="GBPS",
                   help="at which nothing is lost; is looked for otherwise")
    p.add_argument("--probe", type=float, default=3,
                   help="seconds of each look for that rate")
    p.add_argument("--rest", type=float, default=1,
                   help="seconds between looks")
    p.add_argument("--old-gb", type=float, default=8,
                   help="of the recording that is sent from disks; better "
                        "more than it can send in --seconds")
    p.add_argument("--old-rate", type=float, default=6, metavar="GBPS",
                   help="at which that is made")
    p.add_argument("--memory", type=int, default=2048, help="MiB")
    p.add_argument("--block", default="64M")
    p.add_argument("--high", type=float, default=40e9,
                   help="bits per second that are not exceeded")
    p.add_argument("--step", type=float, default=0.4e9)
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    a.writer = None

    b = Bench(a)
    results = []
    try:
        for i in range(a.runs):
            def say(what, run=i + 1):
                print(f"run {run} of {a.runs}: {what}", file=sys.stderr)
            results.append(one_run(b, say))
            if a.json:
                print(json.dumps(results[-1]), flush=True)
    finally:
        Sink.drop_all()
        b.close()
    show(results, a.runs)


if __name__ == "__main__":
    main()
