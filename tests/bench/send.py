#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near does sending come to what the machine can do?

In one run, on this machine, over loopback, it measures

  loop      a bare loop that sends memory as large as a pool to one that reads
            it (tests/bench/send_loop.c), by 1 and by 4 connections
  iperf3    the same, printed beside, where it is installed
  plain     the daemon's sender with its tcp plugin and plain bytes, out of
            memory (tests/bench/pace_send.c), to the same reader
  framed    with frames and their checksums, by 1 and by 4 connections
  fio       reads the files of a recording: O_DIRECT, io_uring, a job per disk
  disk      a real spated sends that recording as plain bytes, from four
            folders, checksums checked
  pacing    datagrams at rates (tests/bench/pacing.py)

A ratio is to the loop with as many connections, and of disk to the smaller of
fio and the loop.  Every figure is the median of the runs; only ratios mean
something on another machine.  UCX has `scripts/bench ucx`.
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
import types

import pacing
from common import GB, Spated, free_ports, send, table

PAYLOAD = 8032


class Sink:
    """Reads what comes; end() gives what that was."""

    all = []

    def __init__(self, build, seconds):
        self.p = subprocess.Popen(
            [build + "/tests/bench/send_loop", "sink", str(seconds)],
            stdout=subprocess.PIPE, text=True)
        self.all.append(self)
        self.port = int(self.p.stdout.readline())

    def end(self):
        got = json.loads(self.p.communicate()[0])
        got["rate"] = got["bytes"] * 8 / max(got["seconds"], 1e-3)
        return got

    def drop(self):
        self.p.kill()
        self.p.wait()

    @classmethod
    def drop_all(cls):
        for sink in cls.all:
            sink.drop()


class Bench:
    def __init__(self, args):
        self.a = args
        self.build = os.path.abspath(args.build)
        self.env = {**os.environ,
                    "SPATE_PLUGINS": self.build + "/plugins/.libs"}
        self.dir = tempfile.mkdtemp(prefix="spate-bench-",
                                    dir=os.path.abspath(args.dir))
        self.disks = [os.path.join(self.dir, f"disk{i}") for i in range(4)]
        for disk in self.disks:
            os.mkdir(disk)
        self.port = free_ports()

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    # -- out of memory -----------------------------------------------------

    def to_sink(self, *command):
        """What came of a program that sends; PORT is where."""
        sink = Sink(self.build, self.a.seconds)
        with subprocess.Popen(
                [w.replace("PORT", str(sink.port)) for w in command],
                stdout=subprocess.DEVNULL, env=self.env) as p:
            got = sink.end()
            p.terminate()
        return got["rate"]

    def loop(self, connections):
        return self.to_sink(self.build + "/tests/bench/send_loop", "source",
                            "PORT", str(connections),
                            str(self.a.seconds + 2))

    def sender(self, connections, *plain):
        return self.to_sink(self.build + "/tests/bench/pace_send",
                            "tcp://127.0.0.1:PORT", "0",
                            str(self.a.seconds + 2), str(self.a.payload),
                            str(connections), *plain)

    def iperf(self, connections):
        if not shutil.which("iperf3"):
            return 0
        port = str(free_ports())
        with subprocess.Popen(["iperf3", "-s", "-1", "-p", port],
                              stdout=subprocess.DEVNULL) as server:
            for _ in range(50):
                time.sleep(0.1)
                got = subprocess.run(
                    ["iperf3", "-c", "127.0.0.1", "-p", port, "-J",
                     "-t", str(max(1, round(self.a.seconds))),
                     "-P", str(connections)],
                    stdout=subprocess.PIPE, text=True, check=False)
                if got.returncode == 0:
                    break
            server.terminate()
        if got.returncode:
            return 0
        return json.loads(got.stdout)["end"]["sum_received"][
            "bits_per_second"]

    # -- from disks --------------------------------------------------------

    def spated(self):
        disks = ", ".join(f'"{d}"' for d in self.disks)
        return Spated(self.build, self.dir, f'''
            disks = [ {disks} ]; memory = "1G"; send_memory = "{self.a.memory}";
            streams : {{ bench : {{ listen = [ "127.0.0.1:{self.port}" ];
                format = "vdif"; prefix = 8; payload = {self.a.payload};
                block = "{self.a.block}"; }}; }};''')

    def record(self, d):
        """A recording of so many GB, at a rate that everybody can."""
        rate = self.a.record_rate * 1e9
        d.ask("record", name="bench", streams=["bench"])
        send(self.build, self.port, rate, self.a.gb * 8e9 / rate,
             "--format", "vdif", "--payload", str(self.a.payload))
        d.ask("stop", name="bench")

    def chunks(self, disk):
        found = glob.glob(os.path.join(disk, "**", "bench.*"), recursive=True)
        return sorted(f for f in found if os.path.getsize(f) > 1 << 20)

    def fio(self):
        """Reads each chunk once."""
        jobs = []
        for disk in self.disks:
            files = self.chunks(disk)
            if files:
                jobs += [f"--name={os.path.basename(disk)}",
                         "--filename=" + ":".join(files)]
        out = subprocess.run(
            ["fio", "--rw=read", "--readonly", "--direct=1",
             "--ioengine=io_uring", "--iodepth=8", "--bs=4M",
             "--file_service_type=sequential", "--group_reporting=1",
             "--thread=0", "--output-format=json", *jobs],
            stdout=subprocess.PIPE, text=True, check=True, cwd=self.dir)
        job = json.loads(out.stdout[out.stdout.index("{"):])["jobs"][0]["read"]
        return job["io_bytes"] * 8 / max(job["runtime"] / 1e3, 1e-3)

    def disk(self, d):
        """From the order to the last byte that came."""
        sink = Sink(self.build, 3600)
        begun, cpu = time.monotonic(), d.cpu()
        one = d.ask("send", name="bench", plain=True,
                    to=f"tcp://127.0.0.1:{sink.port}")["sends"][0]
        while True:
            now = [s for s in d.ask("sends", all=True)["sends"]
                   if s["id"] == one["id"]][0]
            if now["state"] in ("finishing", "done", "failed", "stopped"):
                break
            time.sleep(0.01)
        seconds = time.monotonic() - begun
        if now["state"] == "failed":
            sys.exit(f"bench: send: {now['why']}")
        sink.drop()
        return {"rate": now["bytes"] * 8 / seconds,
                "cpu": (d.cpu() - cpu) / (now["bytes"] / GB)}


def pace(b):
    a = types.SimpleNamespace(build=b.build, seconds=b.a.seconds,
                              payload=b.a.payload)
    runs = pacing.Bench(a)
    return [runs.once(int(rate * 1e9)) for rate in b.a.rates]


def one_run(b, d, say):
    r = {}
    for n in (1, 4):
        say(f"loop, {n}")
        r[f"loop{n}"] = b.loop(n)
        if n == 1:
            say("plain")
            r["plain1"] = b.sender(1, "plain")
        say(f"framed, {n}")
        r[f"framed{n}"] = b.sender(n)
        say(f"iperf3, {n}")
        r[f"iperf{n}"] = b.iperf(n)
    if d:
        say("fio")
        r["fio"] = b.fio()
        say("disk")
        got = b.disk(d)
        r["disk"], r["disk_cpu"] = got["rate"], got["cpu"]
    if b.a.rates:
        say("pacing")
        r["pacing"] = pace(b)
    return r


def ratio(x, of):
    return f"{x / of:.2f}" if of else "-"


def show(results, runs):
    m = {k: statistics.median(r[k] for r in results)
         for k in results[0] if k != "pacing"}
    rows = [("", "Gb/s", "ratio", "wanted")]

    def row(what, key, of=None, wanted=""):
        rows.append((what, f"{m[key] / 1e9:.2f}",
                     ratio(m[key], of) if of else "", wanted))

    for n in (1, 4):
        many = f"{n} connection" + "s" * (n > 1)
        row(f"bare loop, {many}", f"loop{n}")
        row(f"  iperf3, {many}", f"iperf{n}", m[f"loop{n}"])
        if n == 1:
            row("  plain bytes", "plain1", m["loop1"], "0.95")
        row("  frames, checksums", f"framed{n}", m[f"loop{n}"], "0.80")
    if "disk" in m:
        row("fio reads the recording", "fio")
        row("  from disks, plain", "disk", min(m["fio"], m["loop1"]), "0.90")
    table(f"TCP over loopback, median of {runs}", rows, (30, 8, 6, 6))
    if "disk" in m:
        print(f"  spated took {m['disk_cpu']:.2f} s of CPU per GB from disks")
    if "pacing" in results[0]:
        show_pacing(results)


def show_pacing(results):
    rows = [("asked", "Gb/s", "error", "wanted", "burst KiB", "is ms")]
    for at in range(len(results[0]["pacing"])):
        r = pacing.middle([x["pacing"][at] for x in results])
        rows.append((f"{r['asked'] / 1e9:g} Gb/s", f"{r['rate'] / 1e9:.4f}",
                     f"{100 * r['error']:+.3f} %", "1 %",
                     f"{r['burst'] / 1024:.0f}",
                     f"{8e3 * r['burst'] / r['asked']:.2f}"))
    table("datagrams at a rate", rows, (10, 8, 9, 6, 9, 6))


def main():
    p = argparse.ArgumentParser(
        prog="scripts/bench send", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--dir", default=".", help="where the disks' folders go")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--seconds", type=float, default=5, help="of each part")
    p.add_argument("--gb", type=float, default=8,
                   help="of the recording that is read; 0: no disks")
    p.add_argument("--record-rate", type=float, default=8, metavar="GBPS",
                   help="at which it is made")
    p.add_argument("--memory", default="256M", help="send_memory")
    p.add_argument("--block", default="64M")
    p.add_argument("--payload", type=int, default=PAYLOAD)
    p.add_argument("--rates", type=float, nargs="*", default=[1, 4, 8],
                   metavar="GBPS", help="of datagrams")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()

    b = Bench(a)
    results = []

    def runs(d):
        for i in range(a.runs):
            def say(what, run=i + 1):
                print(f"run {run} of {a.runs}: {what}", file=sys.stderr)
            results.append(one_run(b, d, say))
            if a.json:
                print(json.dumps(results[-1]), flush=True)

    try:
        if a.gb:
            with b.spated() as d:
                b.record(d)
                runs(d)
        else:
            runs(None)
    finally:
        Sink.drop_all()
        b.close()
    show(results, a.runs)


if __name__ == "__main__":
    main()
