#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What 10 000 recordings on a disk cost those who list them and add one.

A recording is made and linked under N names on each disk.  Then, with N and
with none of them there: how long it takes until the daemon answers, until its
catalogue is read, `spate ls` (all, as a table and as JSON; ten of them),
`spate record` and `spate stop` (the program, and the request alone), and the
longest that a request waits while the catalogue is being read.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from common import Spated, free_ports, send, table


class Bench:
    def __init__(self, args):
        self.a = args
        self.build = os.path.abspath(args.build)
        self.dir = tempfile.mkdtemp(prefix="spate-bench-")
        self.folder = tempfile.mkdtemp(prefix="spate-bench-", dir=args.dir)
        self.disks = [os.path.join(self.folder, f"disk{i}")
                      for i in range(args.disks)]
        for disk in self.disks:
            os.mkdir(disk)
        self.port = free_ports()

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def spated(self):
        disks = ", ".join(f'"{d}"' for d in self.disks)
        return Spated(self.build, self.dir, f"""
            disks = [ {disks} ];
            memory = "256M";
            reserve = "1M";
            streams : {{ s : {{ listen = [ "127.0.0.1:{self.port}" ];
                format = "vdif"; prefix = 8; payload = 8032;
                block = "1M"; }}; }};""")

    def spate(self, *words):
        began = time.monotonic()
        out = subprocess.run(
            [self.build + "/spate", "--socket",
             os.path.join(self.dir, "socket"), *words],
            check=words[0] != "ls", stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL).stdout
        return (time.monotonic() - began) * 1e3, out

    def make(self):
        with self.spated() as d:
            d.ask("record", name="first", streams=["s"])
            send(self.build, self.port, 200e6, 1, "--format", "vdif")
            time.sleep(0.5)
            d.ask("stop", name="first")
        for disk in self.disks:
            for i in range(self.a.recordings):
                name = f"scan{i:05d}"
                os.mkdir(os.path.join(disk, name))
                for file in os.listdir(os.path.join(disk, "first")):
                    os.link(os.path.join(disk, "first", file),
                            os.path.join(disk, name,
                                         name + file[len("first"):]))

    def read(self, d, result):
        """Until the catalogue is read; nobody may wait for that."""
        began = time.monotonic()
        waits = []
        while True:
            asked = time.monotonic()
            c = d.ask("status")["catalogue"]
            waits.append((time.monotonic() - asked) * 1e3)
            if c["listed"] == c["disks"] and not c["unread"]:
                break
            time.sleep(0.001)
        result["read"] = (time.monotonic() - began) * 1e3
        result["wait"] = max(waits)

    def measure(self, d, result):
        def median(what, *words):
            result[what] = statistics.median(
                self.spate(*words)[0] for _ in range(self.a.runs))

        median("ls", "ls")
        median("ls --json", "ls", "--json")
        median("ls of ten", "ls", "scan0001*")
        record, stop, ask = [], [], []
        for i in range(self.a.runs):
            record.append(self.spate("record", f"r{i}", "--stream", "s")[0])
            stop.append(self.spate("stop", f"r{i}")[0])
            began = time.monotonic()
            d.ask("record", name=f"q{i}", streams=["s"])
            ask.append((time.monotonic() - began) * 1e3)
            d.ask("stop", name=f"q{i}")
        result["record"] = statistics.median(record)
        result["asked"] = statistics.median(ask)
        result["stop"] = statistics.median(stop)

    def one(self):
        result = {}
        began = time.monotonic()
        with self.spated() as d:
            result["start"] = (time.monotonic() - began) * 1e3
            self.read(d, result)
            self.measure(d, result)
        return result

    def run(self):
        none = self.one()
        for disk in self.disks:
            shutil.rmtree(disk)
            os.mkdir(disk)
        self.make()
        many = self.one()
        rows = [["ms", "none", f"{self.a.recordings}"]]
        rows += [[what, f"{none[what]:.1f}", f"{many[what]:.1f}"]
                 for what in many]
        table(f"{self.a.recordings} recordings, {self.a.disks} disks",
              rows, [12, 9, 9])


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", required=True)
    p.add_argument("--recordings", type=int, default=10000)
    p.add_argument("--disks", type=int, default=1)
    p.add_argument("--dir", default=None, help="where the disks are made")
    p.add_argument("--runs", type=int, default=7)
    bench = Bench(p.parse_args())
    try:
        bench.run()
    finally:
        bench.close()


if __name__ == "__main__":
    main()
