#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near does recording come to what the machine can do?

In one run, on this machine, it measures

  receive   a bare loop into touched memory as large as the pool, with
            UDP_GRO and with recvmmsg (tests/bench/receive_loop.c)
  fio       O_DIRECT, io_uring, a job per disk, files of a block each,
            created inside the timed part; 8 MiB requests, so that its own
            rate limit can be met to a percent
  both      the better loop and fio at the same time, at the same rate: the
            ceiling
  spate     a real spated over four folders

For both and spate it searches the highest rate at which nothing is lost, by
halving with short probes, and proves it with a long one.  CPU per GB is
compared at one rate, four fifths of the ceiling.  Every figure is the median
of the runs; only ratios mean something on another machine.

With --live RATE it compares, at that rate, spate as it is with memory that is
shared, with a client that has it mapped, and with one that reads all of it.

With --veth it compares the ways to receive packets that come in one by one, as
from a card: over a veth pair, the sender in a network of its own, with GRO on
the receiving side and without, from a sender that sends packets evenly
("even") or 64 in a row ("rows"), in one flow and in 16.  Loops and spate write
to no disk.  Where GRO is on, NAPI has a thread of its own, and its CPU time
counts: it is where packets are joined, and where rings are filled.  Without
GRO the kernel takes packets in in the sender's time, which nobody counts.
"same mode" is what the default of spate costs against `gro = false`: above 1
it has chosen wrongly.  This needs root.
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

from common import (GB, Loop, Loopback, Spated, Veth, counters, die_with_us,
                    free_ports, highest, ports_text, private, risen, send_end,
                    send_start, sync)
from common import table as both_table

DATAGRAM = 8040
REQUEST = 9 << 20
ENOUGH = 0.97    # of a rate that was asked for


class Bench:
    """`disks`: folders, four of its own if None; `flows`: ports in a row."""

    def __init__(self, args, disks=None, datagram=DATAGRAM, flows=1,
                 link=Loopback()):
        self.a = args
        self.build = os.path.abspath(args.build)
        self.dir = tempfile.mkdtemp(prefix="spate-bench-",
                                    dir=os.path.abspath(args.dir))
        self.disks = disks or [os.path.join(self.dir, f"disk{i}")
                               for i in range(4)]
        self.datagram = datagram
        self.port = ports_text(free_ports(flows), flows)
        self.link = link
        self.how = []      # more options of the sender
        self.block_bytes = self.memory = None    # of spate, by learn()

    def close(self):
        for disk in self.disks:
            shutil.rmtree(disk, ignore_errors=True)
        shutil.rmtree(self.dir, ignore_errors=True)

    def fresh(self):
        """Empty disks, and nothing of the last probe still being written."""
        for disk in self.disks:
            shutil.rmtree(disk, ignore_errors=True)
            os.mkdir(disk)
            sync(disk)
        time.sleep(self.a.rest)

    # -- the parts ---------------------------------------------------------

    def learn(self):
        """What fio and the loop have as spate has it."""
        self.fresh()
        with self.spated() as d:
            self.block_bytes = d.ask("streams")["streams"][0]["block_bytes"]
            self.memory = d.ask("status")["memory"]["bytes"] >> 20

    def send_start(self, rate, seconds):
        return send_start(self.build, self.port, rate, seconds, "--format",
                          "vdif", "--payload", str(self.datagram - 8),
                          *self.how, link=self.link)

    def send(self, rate, seconds):
        return send_end(self.send_start(rate, seconds))

    def loop_start(self, mode, seconds):
        return Loop(self.build, self.port, mode, self.datagram, self.memory,
                    seconds, self.link)

    def spated(self, more="", keys="", at="", streams=""):
        """With more settings, more keys of the stream, and more streams; `at`:
        what stands before the address, as "eth2@"."""
        a = self.a
        writer = f'writer = "{a.writer}";' if a.writer else ""
        memory = f'memory = "{a.memory}M";' if a.memory else ""
        disks = ", ".join(f'"{d}"' for d in self.disks)
        return Spated(self.build, self.dir, f'''
            disks = [ {disks} ]; {memory} {writer} {more}
            streams : {{ bench : {{
                listen = [ "{at}{self.link.host}:{self.port}" ];
                format = "vdif"; prefix = 8; payload = {self.datagram - 8};
                block = "{a.block}"; {keys} }};
                {streams} }};''')

    def fio_start(self, rate, seconds):
        each = rate / 8 / len(self.disks)
        files = int((each or 2e9) * seconds / self.block_bytes) + 4
        request = self.block_bytes
        while request > REQUEST and request % 8192 == 0:
            request //= 2
        jobs = []
        for disk in self.disks:
            jobs += [f"--name={os.path.basename(disk)}",
                     f"--directory={disk}"]
        limit = [f"--rate={int(each)}"] if rate else []
        return subprocess.Popen(
            ["fio", "--rw=write", "--direct=1", "--ioengine=io_uring",
             "--iodepth=8", f"--bs={request}",
             f"--filesize={self.block_bytes}",
             f"--nrfiles={files}", "--openfiles=1", "--create_on_open=1",
             "--file_service_type=sequential", "--allow_file_create=1",
             f"--runtime={seconds}s", "--time_based=1", "--unlink=1",
             "--thread=0", "--group_reporting=1", "--output-format=json",
             *limit, *jobs],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            cwd=self.dir, preexec_fn=die_with_us)

    @staticmethod
    def fio_end(p):
        text = p.communicate()[0]
        job = json.loads(text[text.index("{"):])["jobs"][0]
        seconds = job["write"]["runtime"] / 1e3
        cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"]
        return {"bytes": job["write"]["io_bytes"], "seconds": seconds,
                "rate": job["write"]["io_bytes"] * 8 / max(seconds, 1e-3),
                "cpu": cpu / 1e3 / (job["write"]["io_bytes"] / GB)}

    # -- what is compared --------------------------------------------------

    def receive(self, mode, rate, seconds):
        loop = self.loop_start(mode, seconds)
        sent = self.send(rate, seconds)
        got = loop.end()
        return {"ok": got["packets"] == sent["sent"],
                "cpu": got["cpu_s"] / max(got["bytes"] / GB, 1e-3),
                "packets_a_call": got["packets"] / max(got["calls"], 1),
                "rate": sent["rate"]}

    def fio(self, rate, seconds):
        self.fresh()
        return self.fio_end(self.fio_start(rate, seconds))

    def both(self, mode, rate, seconds):
        self.fresh()
        loop = self.loop_start(mode, seconds)
        fio = self.fio_start(rate, seconds)
        sent = self.send(rate, seconds)
        got = loop.end()
        disk = self.fio_end(fio)
        whole = (got["packets"] == sent["sent"] and
                 disk["rate"] >= ENOUGH * rate)
        return {"ok": whole and sent["rate"] >= ENOUGH * rate,
                "whole": whole, "rate": sent["rate"],
                "cpu": got["cpu_s"] / max(got["bytes"] / GB, 1e-3) +
                disk["cpu"]}

    @staticmethod
    def settle(d, datagrams):
        """Waits until so many have come, for a second at most: a link may
        still hold some when the sender ends."""
        for _ in range(20):
            here = d.ask("status")["recordings"][0]["datagrams"]
            if here >= datagrams:
                break
            time.sleep(0.05)

    def spate(self, rate, seconds, *conf):
        self.fresh()
        with self.spated(*conf) as d:
            d.warm()
            d.ask("record", name="bench", streams=["bench"])
            before = d.cpu()
            sent = self.send(rate, seconds)
            self.settle(d, sent["sent"])
            got = d.ask("stop", name="bench")["recordings"][0]
            cpu = d.cpu() - before
        whole = (got["packets"] == sent["sent"] and
                 not sum(got["drops"].values()))
        return {"ok": whole and sent["rate"] >= ENOUGH * rate,
                "whole": whole, "rate": sent["rate"],
                "lost": sent["sent"] - got["packets"],
                "drops": {k: n for k, n in got["drops"].items() if n},
                "cpu": cpu / max(got["bytes"] / GB, 1e-3)}

    def live(self, rate, seconds, share, how):
        """As spate(), while somebody looks into its memory; `how`: None,
        nobody does; [], by `map`; ["copy"], and reads all."""
        client = None
        self.fresh()
        with self.spated("share = true;" if share else "") as d:
            d.warm()
            d.ask("record", name="bench", streams=["bench"])
            if how is not None:
                client = subprocess.Popen(
                    [sys.executable, os.path.join(
                        os.path.dirname(__file__), "../flow/map_client.py"),
                     d.socket, "watch", "bench", *how],
                    stdout=subprocess.PIPE, text=True)
                time.sleep(0.5)
            before = d.cpu()
            self.send(rate, seconds)
            got = d.ask("stop", name="bench")["recordings"][0]
            cpu = d.cpu() - before
            seen = int(client.communicate()[0]) if client else 0
        return {"cpu": cpu / max(got["bytes"] / GB, 1e-3),
                "lost": got["packets_lost"] + sum(got["drops"].values()),
                "chunks": sum(disk["chunks"] for disk in got["disks"]),
                "seen": seen}

    def highest(self, probe, low, high):
        """The highest rate that loses nothing, in steps of a fiftieth."""
        return highest(probe, low, high, self.a.step, self.a.probe,
                       self.a.seconds)[0]


def one_run(b, say):
    r = {}
    high = b.a.high
    b.learn()
    say("fio alone")
    r["fio"] = b.fio(0, b.a.probe)["rate"]
    say("ceiling")
    r["ceiling"] = b.highest(lambda x, s: b.both("gro", x, s), 0,
                             min(high, 1.1 * r["fio"]))
    say("spate")
    r["spate"] = b.highest(b.spate, 0, min(high, 1.2 * r["fio"]))
    at = r["at"] = 0.8 * r["ceiling"]
    say("CPU per GB")
    r["cpu_gro"] = b.receive("gro", at, b.a.probe)["cpu"]
    r["cpu_mmsg"] = b.receive("mmsg", at, b.a.probe)["cpu"]
    r["cpu_fio"] = b.fio(at, b.a.probe)["cpu"]
    r["cpu_both"] = b.both("gro", at, b.a.probe)["cpu"]
    r["cpu_spate"] = b.spate(at, b.a.probe)["cpu"]
    r["cpu_alone"] = min(r["cpu_gro"], r["cpu_mmsg"]) + r["cpu_fio"]
    return r


LIVE = [("as it is", False, None), ("share = true", True, None),
        ("mapped by a client", True, []), ("read by a client", True, ["copy"])]


def live_run(b, rate, say):
    r = {}
    for what, share, how in LIVE:
        say(what)
        r[what] = b.live(rate, b.a.probe, share, how)
    return r


def live_table(results, rate):
    rows = [("", "CPU s/GB", "least", "most", "lost", "seen")]
    for what, *_ in LIVE:
        all_of = [r[what] for r in results]
        cpu = [one["cpu"] for one in all_of]
        seen = [one["seen"] / max(one["chunks"], 1) for one in all_of]
        rows.append((what, f"{statistics.median(cpu):.3f}",
                     f"{min(cpu):.3f}", f"{max(cpu):.3f}",
                     sum(one["lost"] for one in all_of),
                     f"{statistics.median(seen):.2f}"))
    both_table(f"at {rate / 1e9:.1f} Gb/s, median of {len(results)}", rows,
               [24, 10, 8, 8, 8, 8])


# The ways to receive over a veth pair: a loop's mode, or settings and keys.
VETH = {"loop, UDP_GRO": "gro", "loop, recvmmsg": "mmsg",
        "spate": ("", ""), "spate, gro = false": ("", "gro = false;"),
        "spate, 1 ring": ("", 'receive = "fanout"; rings = 1;'),
        "spate, 2 rings": ("receivers = 2;",
                           'receive = "fanout"; rings = 2;')}
SENDERS = {"even": ["--segment", "0"], "rows": []}


def veth_once(b, way, rate, seconds):
    """What b.receive() or b.spate() says, with what the kernel lost, and the
    CPU time of its NAPI threads."""
    before, napi, lost = counters(), b.link.cpu(), b.link.lost()
    if isinstance(VETH[way], str):
        r = b.receive(VETH[way], rate, seconds)
    else:
        ring = "ring" in way
        r = b.spate(rate, seconds, *VETH[way],
                    b.link.device + "@" if ring else "")
    r["napi"] = (b.link.cpu() - napi) / (r["rate"] * seconds / 8 / GB)
    rose = risen(before)
    if "ring" in way:    # every packet of a ring is an error of UDP, too
        rose = {k: n for k, n in rose.items() if not k.startswith("udp")}
    r["clean"] = r["ok"] and not rose and b.link.lost() == lost
    return r


def veth_case(a, gro, flows, sender):
    """All ways in turns: {way: [runs]}."""
    ways = [w for w in VETH if flows == 1 or "ring" not in w]
    runs = {w: [] for w in ways}
    link = Veth(gro)
    try:
        b = Bench(a, flows=flows, link=link)
        b.how = SENDERS[sender]
        try:
            b.learn()
            for run in range(a.runs):
                for way in ways:
                    print(f"GRO {'on' if gro else 'off'}, {flows} flows, "
                          f"{sender}: run {run + 1} of {a.runs}: {way}",
                          file=sys.stderr)
                    runs[way].append(veth_once(b, way, a.veth, a.probe))
        finally:
            b.close()
    finally:
        link.close()
    return runs


def veth(a):
    private()
    a.writer = a.writer or "null"
    rows = [("", "clean", "CPU s/GB", "least", "most", "NAPI", "both",
             "packets a call")]
    choice = [("", "same mode")]
    for gro in (False, True):
        for flows in a.flows:
            for sender in SENDERS:
                case = f"GRO {'on' if gro else 'off'}, {flows}, {sender}"
                runs = veth_case(a, gro, flows, sender)
                rows.append((case,))
                for way, got in runs.items():
                    rows.append(("  " + way, *veth_row(got)))
                best = [statistics.median(r["cpu"] for r in runs[way])
                        for way in ("spate", "spate, gro = false")]
                choice.append((case, f"{best[0] / max(best[1], 1e-9):.2f}"))
                if a.json:
                    print(json.dumps({"case": case, "runs": runs}),
                          flush=True)
    both_table(f"veth at {a.veth / 1e9:.1f} Gb/s, median of {a.runs}", rows,
               [26, 5, 8, 6, 6, 6, 6, 14])
    both_table("spate against spate with gro = false", choice, [26, 9])


def veth_row(got):
    cpu = [r["cpu"] for r in got]
    napi = statistics.median(r["napi"] for r in got)
    calls = [r["packets_a_call"] for r in got if "packets_a_call" in r]
    return (f"{sum(r['clean'] for r in got)}/{len(got)}",
            f"{statistics.median(cpu):.3f}", f"{min(cpu):.3f}",
            f"{max(cpu):.3f}", f"{napi:.3f}",
            f"{statistics.median(r['cpu'] + r['napi'] for r in got):.3f}",
            f"{statistics.median(calls):.1f}" if calls else "-")


def table(m, runs):
    gbps = 1e9
    rows = [
        ("fio alone, 4 jobs", f"{m['fio'] / gbps:.1f} Gb/s"),
        ("ceiling: bare loop and fio together",
         f"{m['ceiling'] / gbps:.1f} Gb/s"),
        ("spate, nothing lost", f"{m['spate'] / gbps:.1f} Gb/s"),
        ("  of the ceiling (wanted 0.80)",
         f"{m['spate'] / m['ceiling']:.2f}"),
        (f"CPU s per GB at {m['at'] / gbps:.1f} Gb/s", ""),
        ("  bare loop, UDP_GRO", f"{m['cpu_gro']:.3f}"),
        ("  bare loop, recvmmsg", f"{m['cpu_mmsg']:.3f}"),
        ("  fio", f"{m['cpu_fio']:.3f}"),
        ("  better loop + fio, each alone", f"{m['cpu_alone']:.3f}"),
        ("  bare loop and fio together", f"{m['cpu_both']:.3f}"),
        ("  spate", f"{m['cpu_spate']:.3f}"),
        ("  of the two alone (wanted 1.15)",
         f"{m['cpu_spate'] / m['cpu_alone']:.2f}"),
        ("  of the two together",
         f"{m['cpu_spate'] / m['cpu_both']:.2f}"),
    ]
    print(f"\nmedian of {runs}")
    for what, value in rows:
        print(f"  {what:<38} {value:>12}")


def main():
    p = argparse.ArgumentParser(prog="scripts/bench record",
                                description=__doc__.split("\n", 1)[0])
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--dir", default=".", help="where the disks' folders go")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--seconds", type=float, default=10,
                   help="of the proof that nothing is lost")
    p.add_argument("--probe", type=float, default=3)
    p.add_argument("--rest", type=float, default=1,
                   help="seconds between probes")
    p.add_argument("--memory", type=int, metavar="MIB",
                   help="of spate, and of the loop; by default what spate "
                   "takes by default")
    p.add_argument("--block", default="64M")
    p.add_argument("--writer", help="write plugin")
    p.add_argument("--high", type=float, default=100e9,
                   help="bits per second that are not exceeded")
    p.add_argument("--step", type=float, default=0.4e9)
    p.add_argument("--live", type=float, metavar="RATE",
                   help="compare live readers at so many bits per second")
    p.add_argument("--veth", type=float, metavar="RATE", nargs="?",
                   const=2e9, help="compare ways to receive from a veth pair "
                   "at so many bits per second (default 2e9)")
    p.add_argument("--flows", type=int, nargs="+", default=[1, 16],
                   help="with --veth: ports that are sent to")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    if a.veth:
        veth(a)
        return

    b = Bench(a)
    results = []
    try:
        for i in range(a.runs):
            def say(what, run=i + 1):
                print(f"run {run} of {a.runs}: {what}", file=sys.stderr)
            results.append(live_run(b, a.live, say) if a.live
                           else one_run(b, say))
            if a.json:
                print(json.dumps(results[-1]), flush=True)
    finally:
        b.close()
    if a.live:
        live_table(results, a.live)
        return
    median = {k: statistics.median(r[k] for r in results)
              for k in results[0]}
    table(median, a.runs)


if __name__ == "__main__":
    main()
