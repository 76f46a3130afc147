#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near do stores that are no disks come to what the machine can do?

Each part measures a ceiling and spate in turns, in one run on this machine.  A
ratio is the median over the runs; only ratios mean something on another machine.

  s3   the loop puts the files of a recording by libcurl, as many at a time as
       there are connections, to a server on this machine that throws bytes
       away (tests/bench/s3_loop.c): neither signed nor summed, one thread.
       spate sends the same recording to the same server, with signatures and
       checksums, from four folders.  Neither finds the files in the page
       cache.  With --dir /dev/shm both read memory, and the ratio is that of
       what each does with a byte on its one thread.
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

from common import GB, Spated, die_with_us, free_ports, send, table

PAYLOAD = 8032


class S3:
    """The part s3."""

    rows = (("bare libcurl", "loop", ""), ("spate send", "send", "0.90"))

    def __init__(self, args):
        self.a = args
        self.build = os.path.abspath(args.build)
        self.loop_file = self.build + "/tests/bench/s3_loop"
        if not os.path.exists(self.loop_file):
            sys.exit("bench: s3: built without libcurl")
        self.dir = tempfile.mkdtemp(prefix="spate-bench-",
                                    dir=os.path.abspath(args.dir))
        self.disks = [os.path.join(self.dir, f"disk{i}") for i in range(4)]
        for disk in self.disks:
            os.mkdir(disk)
        self.sink = subprocess.Popen(
            [self.loop_file, "sink"], stdout=subprocess.PIPE, text=True,
            preexec_fn=die_with_us)
        self.url = "http://127.0.0.1:" + self.sink.stdout.readline().strip()
        self.port = free_ports()
        self.n = 0

    def close(self):
        self.sink.kill()
        self.sink.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def spated(self):
        os.environ["AWS_ACCESS_KEY_ID"] = "bench"
        os.environ["AWS_SECRET_ACCESS_KEY"] = "bench"
        disks = ", ".join(f'"{d}"' for d in self.disks)
        return Spated(self.build, self.dir, f'''
            disks = [ {disks} ]; memory = "1G"; reserve = "1M";
            send : {{ s3 : {{ endpoint = "{self.url}"; }}; }};
            streams : {{ bench : {{ listen = [ "127.0.0.1:{self.port}" ];
                format = "vdif"; prefix = 8; payload = {PAYLOAD};
                block = "{self.a.block}"; }}; }};''')

    def begin(self):
        self.d = self.spated().__enter__()
        self.d.warm()
        rate = self.a.record_rate * 1e9
        self.d.ask("record", name="bench", streams=["bench"])
        send(self.build, self.port, rate, self.a.gb * 8e9 / rate,
             "--format", "vdif", "--payload", str(PAYLOAD))
        self.d.ask("stop", name="bench")

    def end(self):
        self.d.__exit__()

    def loop(self):
        files = sorted(f for disk in self.disks for f in
                       glob.glob(os.path.join(disk, "bench", "bench.*"))
                       if f[-8:].isdigit())
        for file in files:
            # As spate finds them: not in the page cache.
            with open(file, "rb") as f:
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        out = subprocess.run(
            [self.loop_file, "put", self.url + "/bare",
             str(self.a.connections), *files],
            stdout=subprocess.PIPE, text=True, check=True)
        got = json.loads(out.stdout)
        return got["bytes"] * 8 / got["seconds"], \
            got["cpu"] / (got["bytes"] / GB)

    def send(self):
        """From the order to the end, with lists and metadata."""
        self.n += 1
        cpu = self.d.cpu()
        begun = time.monotonic()
        one = self.d.ask("send", name="bench", to=f"s3://bucket/{self.n}",
                         connections=self.a.connections)["sends"][0]
        while True:
            now = [s for s in self.d.ask("sends", all=True)["sends"]
                   if s["id"] == one["id"]][0]
            if now["state"] in ("done", "failed", "stopped"):
                break
            time.sleep(0.005)
        seconds = time.monotonic() - begun
        if now["state"] != "done" or now["why"]:
            sys.exit(f"bench: s3: {now['state']}: {now['why']}")
        return now["bytes"] * 8 / seconds, \
            (self.d.cpu() - cpu) / (now["bytes"] / GB)

    def run(self):
        return {"loop": self.loop(), "send": self.send()}


PARTS = {"s3": S3}


def show(name, part, results):
    rows = [("", "Gb/s", "CPU s/GB", "ratio", "wanted")]
    for what, key, wanted in part.rows:
        rate, cpu = (statistics.median(r[key][i] for r in results)
                     for i in (0, 1))
        ratio = statistics.median(r[key][0] / r[part.rows[0][1]][0]
                                  for r in results)
        rows.append((what, f"{rate / 1e9:.2f}", f"{cpu:.2f}",
                     f"{ratio:.2f}" if wanted else "", wanted))
    table(f"{name}, median of {len(results)}", rows, (20, 8, 8, 6, 6))


def main():
    p = argparse.ArgumentParser(
        prog="scripts/bench s3", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--only", choices=PARTS, help="this part")
    p.add_argument("--dir", default=".", help="where the disks' folders go")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--gb", type=float, default=2, help="of the recording")
    p.add_argument("--record-rate", type=float, default=4, metavar="GBPS",
                   help="at which it is made")
    p.add_argument("--block", default="16M")
    p.add_argument("--connections", type=int, default=4)
    p.add_argument("--json", action="store_true")
    a = p.parse_args()

    for name in [a.only] if a.only else PARTS:
        part = PARTS[name](a)
        results = []
        try:
            part.begin()
            for i in range(a.runs):
                print(f"{name}: run {i + 1} of {a.runs}", file=sys.stderr)
                results.append(part.run())
                if a.json:
                    print(json.dumps({name: results[-1]}), flush=True)
            part.end()
        finally:
            part.close()
        show(name, part, results)


if __name__ == "__main__":
    main()
