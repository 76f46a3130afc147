#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is it cheaper to gather records, or to copy them first?

Records that do not lie in a row are sent, 1 to 32 of them at a time

  gather    as they lie, by an iovec each
  copy      copied to a row of their own, which is in the cache, then sent
  zerocopy  as they lie, and the kernel keeps the pages (MSG_ZEROCOPY)

over UDP and TCP, by the loopback interface and, as root, through a veth pair
between two network namespaces.  Records are joined in one datagram; and, as
`trains`, they are packets with a prefix of 8 bytes each, 64 KiB at most or 64
of them, which the kernel cuts (UDP_SEGMENT): what the sender's own threshold
is made of (COPY_MOST in plugins/send/udp/udp.c).

The memory is as large as a pool, so records are in no cache.  Of each point
all ways take turns; every figure is a median of the runs.  Cycles are counted
(perf_event_open) where the machine lets one, else CPU time times its clock;
they are those of the sending thread, which does the kernel's part too: over
loopback and veth also that of receiving, up to the socket.  Neither of them
can do without a copy, so MSG_ZEROCOPY shows what it costs where it does not
work; a network card is needed to show what it saves.
"""

import argparse
import atexit
import json
import os
import shutil
import statistics
import subprocess
import sys

from common import GB, table

WAYS = ["gather", "copy", "zerocopy"]
MTU = 9000
PREFIX = 8


class Path:
    """How to get from a sender to who takes it."""

    def __init__(self, name, address, sender=(), taker=()):
        self.name, self.address = name, address
        self.sender, self.taker = list(sender), list(taker)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True,
                          check=False)


def veth():
    """A veth pair between two namespaces of our own; None with a reason."""
    a, b = (f"spate-zc-{os.getpid()}-{x}" for x in "ab")
    for name in (a, b):
        if run("ip", "netns", "add", name).returncode:
            return None
        atexit.register(run, "ip", "netns", "del", name)
    for words in (
            f"-n {a} link add v0 type veth peer name v0 netns {b}",
            f"-n {a} addr add 10.119.0.1/24 dev v0",
            f"-n {b} addr add 10.119.0.2/24 dev v0",
            f"-n {a} link set v0 mtu {MTU} up",
            f"-n {b} link set v0 mtu {MTU} up"):
        if run("ip", *words.split()).returncode:
            return None
    return Path("veth", "10.119.0.2", ["ip", "netns", "exec", a],
                ["ip", "netns", "exec", b])


def clock():
    """Hz, where cycles are not counted."""
    try:
        with open("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
                  encoding="ascii") as f:
            return int(f.read()) * 1e3
    except OSError:
        pass
    with open("/proc/cpuinfo", encoding="ascii") as f:
        for line in f:
            if line.startswith("cpu MHz"):
                return float(line.split(":")[1]) * 1e6
    return 0


class Bench:
    def __init__(self, args):
        self.a = args
        self.loop = os.path.abspath(args.build) + "/tests/bench/gather_loop"
        self.hz = clock()
        self.counted = True

    def once(self, path, proto, port, way, point):
        p = subprocess.run(
            [*path.sender, self.loop, proto, path.address, port, way,
             str(point["record"]), str(point["records"]), str(point["head"]),
             str(point["cut"]), str(self.a.ms)],
            stdout=subprocess.PIPE, text=True, check=True)
        r = json.loads(p.stdout)
        if not r["bytes"]:
            return None
        cycles = r["cycles"]
        if cycles < 0:
            self.counted = False
            cycles = r["cpu_s"] * self.hz
        return {"gbs": r["bytes"] / r["seconds"] / GB,
                "cycles": cycles / r["bytes"], "copied": r["copied"]}

    def points(self, path, proto, points, ways):
        """Each with a median for each way; None where it does not go."""
        with subprocess.Popen([*path.taker, self.loop, "sink", proto,
                               path.address], stdout=subprocess.PIPE,
                              text=True) as taker:
            port = taker.stdout.readline().strip()
            got = [{w: [] for w in ways} for _ in points]
            for n in range(self.a.runs):
                say(f"{path.name} {proto}: run {n + 1} of {self.a.runs}")
                for point, runs in zip(points, got):
                    for i in range(len(ways)):
                        way = ways[(i + n) % len(ways)]
                        runs[way].append(
                            self.once(path, proto, port, way, point))
            taker.kill()
        return [{"path": path.name, "proto": proto, **point,
                 **{w: middle(runs[w]) for w in ways}}
                for point, runs in zip(points, got)]


def middle(runs):
    if any(r is None for r in runs):
        return None
    return {key: statistics.median(r[key] for r in runs) for key in runs[0]}


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- what is shown --------------------------------------------------------

def show(title, results, ways):
    rows = [("record", "n", *(f"{w} GB/s" for w in ways),
             *(f"{w} c/B" for w in ways), "copy saves")]
    for r in results:
        saves = 1 - r["copy"]["cycles"] / r["gather"]["cycles"]
        rows.append((
            r["record"], str(r["records"]),
            *(f"{r[w]['gbs']:.3f}" if r[w] else "-" for w in ways),
            *(f"{r[w]['cycles']:.3f}" if r[w] else "-" for w in ways),
            f"{100 * saves:+.0f} %"))
    table(title, rows, (7, 3, *(max(9, len(w) + 5) for w in ways * 2), 10))


def text_plot(results, ways):
    """Cycles per byte, a bar each."""
    most = max(r[w]["cycles"] for r in results for w in ways if r[w])
    for r in results:
        for w in ways:
            if r[w]:
                bar = "#" * max(1, round(50 * r[w]["cycles"] / most))
                print(f"  {r['proto']:3} {r['path']:8} {r['record']:5} x "
                      f"{r['records']:2} {w:8} {bar} "
                      f"{r[w]['cycles']:.2f} c/B")


def gnuplot(results, ways, file):
    sets = sorted({(r["path"], r["proto"], r["record"]) for r in results})
    script = [f"set terminal svg size 1200,{260 * (len(sets) + 3) // 4}",
              f"set output '{file}'", "set logscale x 2", "set yrange [0:]",
              "set xlabel 'records per send'", "set ylabel 'cycles/byte'",
              f"set multiplot layout {(len(sets) + 3) // 4},4"]
    data = []
    for path, proto, record in sets:
        parts = []
        for w in ways:
            rows = [f"{r['records']} {r[w]['cycles']}" for r in results
                    if (r["path"], r["proto"], r["record"]) ==
                    (path, proto, record) and r[w]]
            if rows:
                name = f"$d{len(data)}"
                data.append(f"{name} << e\n" + "\n".join(rows) + "\ne")
                parts.append(f"{name} with linespoints title '{w}'")
        script.append(f"set title '{proto}, {path}, {record} B'\n"
                      "plot " + ", ".join(parts))
    subprocess.run(["gnuplot"], text=True, check=True,
                   input="\n".join(data + script) + "\nunset multiplot\n")
    print(f"\nplot: {file}")


# ---- all of it ---------------------------------------------------------------

def arguments():
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--ms", type=int, default=200, help="of each measurement")
    p.add_argument("--records", type=int, nargs="+", default=[128, 1024])
    p.add_argument("--sends", type=int, nargs="+",
                   default=[1, 2, 4, 8, 16, 32], help="records in each")
    p.add_argument("--packets", type=int, nargs="+",
                   default=[64, 128, 256, 512, 1024, 2048, 4096, 8192],
                   help="bytes of data of the trains' packets")
    p.add_argument("--json", metavar="FILE", help="'-': to standard output")
    p.add_argument("--plot", metavar="FILE",
                   help="with gnuplot, zerocopy.svg in the build folder if "
                   "nobody says; without, bars are printed")
    a = p.parse_args()
    a.plot = a.plot or os.path.join(a.build, "zerocopy.svg")
    return a


def main():
    a = arguments()
    b = Bench(a)
    joined = [{"record": r, "records": n, "head": 0, "cut": 0}
              for r in a.records for n in a.sends]
    trains = [{"record": r, "records": min(64, 65000 // (r + PREFIX)),
               "head": PREFIX, "cut": 1} for r in a.packets]
    paths = [Path("loopback", "127.0.0.1")]
    other = veth()
    if other:
        paths.append(other)
    else:
        say("veth: no network namespaces here (is this root?): left out")
    out = {"joined": [], "trains": []}
    for path in paths:
        for proto in ("udp", "tcp"):
            got = b.points(path, proto, joined, WAYS)
            show(f"{proto}, {path.name}: records joined in one send", got,
                 WAYS)
            out["joined"] += got
        got = b.points(path, "udp", trains, WAYS[:2])
        show(f"udp, {path.name}: trains of packets with {PREFIX} bytes of "
             "prefix", got, WAYS[:2])
        out["trains"] += got
    out["cycles"] = ("counted" if b.counted else
                     f"CPU time x {b.hz / 1e6:.0f} MHz")
    print(f"\ncycles: {out['cycles']}")
    if shutil.which("gnuplot"):
        gnuplot(out["joined"], WAYS, a.plot)
    else:
        text_plot(out["joined"], WAYS)
    if a.json == "-":
        print(json.dumps(out))
    elif a.json:
        with open(a.json, "w", encoding="ascii") as f:
            json.dump(out, f)


if __name__ == "__main__":
    main()
