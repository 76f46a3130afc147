#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What does it cost to receive, against the least that it can cost?

Each kind of traffic goes, at one rate, to bare loops into touched memory as
large as the pool (UDP_GRO and recvmmsg, tests/bench/receive_loop.c), to a
real spated with the writer `null`, with checksums and without ("sums" is what
they cost), and SPEAD also to spead2's receiver where the Python that runs this
has it.  CPU seconds per GB are compared; the rate is a share of the highest at
which the better loop loses nothing.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from common import (GB, Loop, Spated, free_ports, highest, send,
                    table)

HEAP = 4467003
VDIF = ["--format", "vdif"]
SPEAD = ["--format", "spead", "--packet", "8968", "--heap-bytes", str(HEAP)]
KINDS = {
    "8 kB packets, segmented": (8040, VDIF),
    "8 kB packets, one by one": (8040, VDIF + ["--segment", "0"]),
    "SPEAD heaps, segmented": (8968, SPEAD),
    "SPEAD heaps, one by one": (8968, SPEAD + ["--segment", "0"]),
}


class Bench:
    def __init__(self, args):
        self.a = args
        self.build = os.path.abspath(args.build)
        self.dir = tempfile.mkdtemp(prefix="spate-bench-")
        os.mkdir(os.path.join(self.dir, "disk"))
        self.port = free_ports()

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def send(self, how, rate, seconds):
        return send(self.build, self.port, rate, seconds, *how)

    def loop(self, kind, mode, rate, seconds):
        datagram, how = KINDS[kind]
        loop = Loop(self.build, self.port, mode, datagram, self.a.memory,
                    seconds)
        sent = self.send(how, rate, seconds)
        got = loop.end()
        return result(got["packets"] == sent["sent"], sent, rate,
                      got["bytes"], got["cpu_s"])

    def spate(self, kind, rate, seconds, checksum=True):
        _, how = KINDS[kind]
        stream = ('format = "spead"; block = "16M";' if "spead" in how else
                  'format = "vdif"; prefix = 8; payload = 8032;')
        stream += f" checksum = {'true' if checksum else 'false'};"
        with Spated(self.build, self.dir, f'''
                disks = [ "{self.dir}/disk" ]; memory = "{self.a.memory}M";
                writer = "null";
                streams : {{ bench : {{ {stream}
                    listen = [ "127.0.0.1:{self.port}" ]; }}; }};''') as d:
            d.ask("record", name="bench", streams=["bench"])
            before = d.cpu()
            sent = self.send(how, rate, seconds)
            got = d.ask("stop", name="bench")["recordings"][0]
            cpu = d.cpu() - before
        shutil.rmtree(os.path.join(self.dir, "disk", "bench"),
                      ignore_errors=True)
        return result(got["packets"] == sent["sent"] and
                      not sum(got["drops"].values()), sent, rate,
                      got["bytes"], cpu) | {
                          "moved": got["packets_moved"] / max(1, got["packets"])}

    def spead2(self, kind, rate, seconds):
        _, how = KINDS[kind]
        p = subprocess.Popen(
            [sys.executable, os.path.join(os.path.dirname(__file__),
                                          "spead2_loop.py"),
             str(self.port), str(seconds + 10)],
            stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        sent = self.send(how, rate, seconds)
        got = json.loads(p.communicate()[0])
        whole = sent["sent"] * 8968 * 0.999    # its last heap may be cut
        return result(got["bytes"] >= whole - 2 * HEAP, sent, rate,
                      got["bytes"], got["cpu_s"])


def result(complete, sent, rate, size, cpu):
    return {"ok": complete and sent["rate"] >= 0.97 * rate,
            "cpu": cpu / max(size / GB, 1e-3)}


def has_spead2():
    return subprocess.run([sys.executable, "-c", "import spead2"],
                          stderr=subprocess.DEVNULL).returncode == 0


def kind_run(b, kind, rate):
    a = b.a
    parts = {"gro": lambda: b.loop(kind, "gro", rate, a.seconds),
             "mmsg": lambda: b.loop(kind, "mmsg", rate, a.seconds),
             "spate": lambda: b.spate(kind, rate, a.seconds),
             "unsummed": lambda: b.spate(kind, rate, a.seconds, False)}
    if kind.startswith("SPEAD") and has_spead2():
        parts["spead2"] = lambda: b.spead2(kind, rate, a.seconds)
    got = {}
    for run in range(a.runs):
        for name, part in parts.items():
            print(f"{kind}: run {run + 1} of {a.runs}: {name}",
                  file=sys.stderr)
            got.setdefault(name, []).append(part())
    out = {"kind": kind, "rate": rate}
    for name, runs in got.items():
        out[name] = statistics.median(r["cpu"] for r in runs)
        out["lossy_" + name] = sum(not r["ok"] for r in runs)
    out["moved"] = statistics.median(r["moved"] for r in got["spate"])
    return out


def main():
    p = argparse.ArgumentParser(prog="scripts/bench receive",
                                description=__doc__.split("\n", 1)[0])
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--seconds", type=float, default=4)
    p.add_argument("--memory", type=int, default=1024, help="MiB")
    p.add_argument("--share", type=float, default=0.6,
                   help="of the loop's highest rate")
    p.add_argument("--rate", type=float, help="bits per second, instead")
    p.add_argument("--kind", action="append", choices=list(KINDS))
    p.add_argument("--json", action="store_true")
    a = p.parse_args()

    b = Bench(a)
    rows = [("", "Gb/s", "gro", "mmsg", "spate", "spate/best", "wanted",
             "moved", "sums", "spead2", "spead2/spate", "lossy runs")]
    try:
        for kind in a.kind or KINDS:
            mode = "mmsg" if "one by one" in kind else "gro"
            rate = a.rate or a.share * highest(
                lambda x, s, k=kind, m=mode: b.loop(k, m, x, s),
                0, 40e9, 1e9, 1, 2)[0]
            r = kind_run(b, kind, rate)
            if a.json:
                print(json.dumps(r), flush=True)
            best = min(r["gro"], r["mmsg"])
            peer = r.get("spead2")
            rows.append((
                kind, f"{rate / 1e9:.1f}", f"{r['gro']:.3f}",
                f"{r['mmsg']:.3f}", f"{r['spate']:.3f}",
                f"{r['spate'] / best:.2f}",
                "1.30" if "SPEAD" in kind else "1.15", f"{r['moved']:.4f}",
                f"{r['spate'] - r['unsummed']:+.3f}",
                f"{peer:.3f}" if peer else "-",
                f"{peer / r['spate']:.2f}" if peer else "-",
                "/".join(str(r["lossy_" + n]) for n in
                         ("gro", "mmsg", "spate", "unsummed", "spead2")
                         if "lossy_" + n in r)))
    finally:
        b.close()
    table(f"CPU seconds per GB, median of {a.runs} runs", rows,
          (26, 5, 6, 6, 6, 10, 6, 7, 6, 7, 12, 12))


if __name__ == "__main__":
    main()
