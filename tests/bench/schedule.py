#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is what is scheduled on time?

Four figures of a real spated with the writer `null` and a schedule folder:

  start   from the start of a scan to the arrival of the first packet in its
          first block, by the kernel's stamps, of many scans
  edge    scans that follow each other on one port: packets at the boundaries
          that are in none of them, or in two
  idle    the share of a core that a daemon takes with many armed streams and
          many more entries, while nothing comes
  many    how long a client waits while a file of very many entries comes, is
          there, and goes
"""

import argparse
import array
import bisect
import datetime
import glob
import json
import multiprocessing
import os
import shutil
import socket
import statistics
import struct
import sys
import tempfile
import threading
import time

from common import Spated, free_ports, send, table

UTC = datetime.timezone.utc
DATA = ["--format", "raw", "--sequence", "le64@0"]
STREAM = 'format = "raw"; sequence = "le64@0"; prefix = 8;'


def text_of(seconds):
    """UTC, to the millisecond."""
    t = datetime.datetime.fromtimestamp(seconds, UTC)
    return t.strftime("%Y-%m-%dT%H:%M:%S.") + f"{t.microsecond // 1000:03}Z"


def ns_of(text):
    whole, fraction = text.rstrip("Z").split(".")
    t = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S")
    return int(t.replace(tzinfo=UTC).timestamp()) * 10**9 + \
        int(fraction.ljust(9, "0"))


class Bench:
    """A daemon with an empty schedule folder."""

    def __init__(self, args, streams, memory):
        self.a = args
        self.build = os.path.abspath(args.build)
        self.dir = tempfile.mkdtemp(prefix="spate-bench-")
        self.folder = os.path.join(self.dir, "schedule.d")
        os.mkdir(os.path.join(self.dir, "disk"))
        os.mkdir(self.folder)
        self.daemon = Spated(self.build, self.dir, f'''
            disks = [ "{self.dir}/disk" ]; memory = "{memory}M";
            writer = "null"; schedule = "{self.folder}";
            streams : {{ {streams} }};''')

    def __enter__(self):
        self.daemon.__enter__()
        return self

    def __exit__(self, *unused):
        self.daemon.__exit__()
        if self.a.keep:
            print(f"kept: {self.dir}", file=sys.stderr)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def schedule(self, scans, name="bench.conf"):
        """(name, stream, start, stop) each; appears whole, at once."""
        lines = ["scans = ("]
        lines += [f'  {{ name = "{n}"; stream = "{s}"; start = "{text_of(b)}";'
                  f' stop = "{text_of(e)}"; arm = "{arm}"; }},'
                  for n, s, b, e, arm in scans]
        lines[-1] = lines[-1].rstrip(",")
        path = os.path.join(self.folder, name)
        with open(path + ".tmp", "w", encoding="ascii") as f:
            f.write("\n".join(lines + [");"]) + "\n")
        os.rename(path + ".tmp", path)

    def ended(self, name):
        """All about a recording that has ended; None before."""
        path = os.path.join(self.dir, "disk", name, name + ".meta.jsonl")
        try:
            with open(path, encoding="utf-8") as f:
                lines = f.readlines()
        except OSError:
            return None
        if not lines or not lines[-1].startswith('{"end"') or \
                not lines[-1].endswith("\n"):
            return None
        return self.daemon.ask("info", name=name)["recordings"][0]

    def collect(self, names, until):
        """Those that end before that time, as they do: the daemon forgets
        the oldest."""
        got = {}
        while len(got) < len(names) and time.time() < until:
            for name in names:
                if name not in got:
                    info = self.ended(name)
                    if not info:
                        break
                    got[name] = info
            time.sleep(0.2)
        return got


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


# ---- start ------------------------------------------------------------------


def send_evenly(port, every, end, pipe):
    """A packet every so often, by its own clock: `spate gen` sends the packets
    of a millisecond at once.  Tells when each was sent."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except OSError:
        pass
    packet = bytearray(8040)
    sent = array.array("q")
    due = time.time()
    while due < end:
        time.sleep(max(0, due - time.time()))
        due += every
        struct.pack_into("<Q", packet, 0, len(sent))
        sent.append(time.time_ns())
        s.sendto(packet, ("127.0.0.1", port))
    pipe.send(sent)


def start_look(scan, info, sent):
    """(ms to the first packet that was sent, ms to the first that is there,
    packets between them) from the start of a scan on."""
    start = ns_of(text_of(scan[2]))
    run = info["runs"][0]
    first = bisect.bisect_left(sent, start)
    there = int(run["base"]) + run["first"]
    return ((sent[first] - start) / 1e6, (ns_of(run["start"]) - start) / 1e6,
            max(0, there - first))


def start_run(a):
    port = free_ports()
    streams = f'''s : {{ {STREAM} block = "1M"; blocks = 8;
                         listen = [ "127.0.0.1:{port}" ]; }};'''
    with Bench(a, streams, 1024) as b:
        begin = time.time() + 3
        end = begin + a.scans * a.every
        scans = [(f"start{i:03}", "s", begin + i * a.every,
                  begin + (i + 0.6) * a.every, "2s") for i in range(a.scans)]
        b.schedule(scans)
        here, there = multiprocessing.Pipe()
        sender = multiprocessing.Process(target=send_evenly, args=(
            port, a.spacing / 1e6, end, there))
        sender.start()
        there.close()
        got = b.collect([s[0] for s in scans], end + 10)
        sent = here.recv()
        sender.join()
    looks = [start_look(s, got[s[0]], sent)
             for s in scans if s[0] in got and got[s[0]]["packets"]]
    if not looks:
        sys.exit("bench: no scan has recorded anything")
    sender, late, missed = zip(*looks)
    return {"scans": len(scans), "recorded": len(late),
            "before": sum(t < 0 for t in late), "missed": sum(missed),
            "sender_p99": percentile(sender, 0.99),
            "own_p99": percentile([t - s for s, t in zip(sender, late)], 0.99),
            "median": statistics.median(late),
            "p99": percentile(late, 0.99), "max": max(late)}


# ---- edge -------------------------------------------------------------------


def span(info):
    """First sequence of a recording, one behind the last."""
    if len(info["runs"]) != 1:
        sys.exit(f"bench: {info['name']} is not one run of packets")
    run = info["runs"][0]
    return (int(run["base"]) + run["first"], int(run["base"]) + run["last"] + 1)


def edge_run(a):
    port = free_ports()
    streams = f'''s : {{ {STREAM} block = "8M"; blocks = 16;
                         listen = [ "127.0.0.1:{port}" ]; }};'''
    with Bench(a, streams, 1024) as b:
        begin = time.time() + 3
        scans = [(f"edge{i:02}", "s", begin + i, begin + i + 1, "2s")
                 for i in range(a.edges + 1)]
        names = [s[0] for s in scans]
        b.schedule(scans)
        sent = {}
        sender = threading.Thread(target=lambda: sent.update(send(
            b.build, port, a.edge_rate, a.edges + 5, *DATA, *a.gen)))
        sender.start()
        got = b.collect(names, begin + a.edges + 15)
        sender.join()
    if len(got) < len(names):
        sys.exit(f"bench: only {len(got)} of {len(names)} scans have ended")
    spans = [span(got[name]) for name in names]
    steps = [two[0] - one[1] for one, two in zip(spans, spans[1:])]
    return {"edges": a.edges, "rate": sent["rate"],
            "lost": sum(max(n, 0) for n in steps),
            "twice": sum(max(-n, 0) for n in steps),
            "elsewhere": sum(
                i["packets_lost"] + i["overruns"] +
                sum(n for why, n in i["drops"].items()
                    if why != "before_start") for i in got.values()),
            "packets": sum(i["packets"] for i in got.values())}


# ---- idle -------------------------------------------------------------------


def cpu_ns(pid):
    """Of all threads, to the nanosecond."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


def idle_run(a):
    port = free_ports(a.armed)
    streams = "\n".join(
        f's{i} : {{ {STREAM} payload = 1024; block = "64K"; blocks = 4; '
        f'listen = [ "127.0.0.1:{port + i}" ]; }};' for i in range(a.armed))
    with Bench(a, streams, 512) as b:
        begin = time.time() + 1800
        b.schedule(
            [(f"armed{i}", f"s{i}", begin, begin + 60, "1h")
             for i in range(a.armed)] +
            [(f"waiting{i}", f"s{i % a.armed}", begin + 86400 + i * 60,
              begin + 86400 + i * 60 + 60, "10s")
             for i in range(a.entries - a.armed)])
        armed, end = 0, time.time() + 60
        while armed < a.armed and time.time() < end:
            time.sleep(0.5)
            scans = b.daemon.ask("schedule-ls")["scans"]
            armed = sum(s["state"] == "armed" for s in scans)
        time.sleep(3)
        pid = b.daemon.p.pid
        cpu, begin = cpu_ns(pid), time.monotonic()
        time.sleep(a.idle_seconds)
        share = (cpu_ns(pid) - cpu) / (time.monotonic() - begin) / 1e9
    return {"armed": armed, "entries": len(scans), "share": share}


# ---- many -------------------------------------------------------------------


def waits(b, seconds):
    """The longest that a client waits in that time."""
    longest, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        b.daemon.ask("streams")
        longest = max(longest, time.monotonic() - begin)
        time.sleep(0.01)
    return longest


def many_run(a):
    port = free_ports()
    streams = f'''s : {{ {STREAM} payload = 1024; block = "64K"; rate = "1Gbps";
                         listen = [ "127.0.0.1:{port}" ]; }};'''
    with Bench(a, streams, 512) as b:
        begin = time.time() + 86400
        b.schedule([(f"many{i}", "s", begin + i * 60, begin + i * 60 + 50,
                     "10s") for i in range(a.many)])
        comes = waits(b, 15)
        there = waits(b, 15)
        os.unlink(os.path.join(b.folder, "bench.conf"))
        goes = waits(b, 15)
    return {"entries": a.many, "comes": comes, "there": there, "goes": goes}


def main():
    p = argparse.ArgumentParser(prog="scripts/bench schedule",
                                description=__doc__.split("\n", 1)[0])
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--only", action="append",
                   choices=["start", "edge", "idle", "many"])
    p.add_argument("--scans", type=int, default=200)
    p.add_argument("--every", type=float, default=0.25, help="seconds")
    p.add_argument("--spacing", type=float, default=100,
                   help="us between packets, for start")
    p.add_argument("--edges", type=int, default=10)
    p.add_argument("--edge-rate", type=float, default=4e9)
    p.add_argument("--armed", type=int, default=432)
    p.add_argument("--entries", type=int, default=1000)
    p.add_argument("--many", type=int, default=60000)
    p.add_argument("--idle-seconds", type=float, default=20)
    p.add_argument("--gen", type=str.split, default=[],
                   help="more options of spate gen, for edge")
    p.add_argument("--keep", action="store_true", help="the recordings")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    what = a.only or ["start", "edge", "idle", "many"]
    rows = [("", "measured", "wanted")]

    if "start" in what:
        r = start_run(a)
        if a.json:
            print(json.dumps({"start": r}), flush=True)
        rows += [("scans that recorded", f"{r['recorded']} of {r['scans']}",
                  "all"),
                 ("sent after the start, and not there", str(r["missed"]), "0"),
                 ("start to first packet sent, p99",
                  f"{r['sender_p99']:.3f} ms", ""),
                 ("from that to the first that is there, p99",
                  f"{r['own_p99']:.3f} ms", ""),
                 ("start to first packet, median",
                  f"{r['median']:.3f} ms", ""),
                 ("start to first packet, p99", f"{r['p99']:.3f} ms",
                  "< 1 ms"),
                 ("the same, the latest", f"{r['max']:.3f} ms", ""),
                 ("scans with packets from before", str(r["before"]), "0")]
    if "edge" in what:
        r = edge_run(a)
        if a.json:
            print(json.dumps({"edge": r}), flush=True)
        rows += [(f"boundaries at {r['rate'] / 1e9:.1f} Gb/s",
                  str(r["edges"]), ""),
                 ("packets lost at them", str(r["lost"]), "0"),
                 ("packets held twice", str(r["twice"]), "0"),
                 ("packets lost or dropped elsewhere",
                  str(r["elsewhere"]), "0")]
    if "idle" in what:
        r = idle_run(a)
        if a.json:
            print(json.dumps({"idle": r}), flush=True)
        rows += [(f"idle, {r['armed']} armed, {r['entries']} entries",
                  f"{100 * r['share']:.2f} % of a core", "< 1 %")]
    if "many" in what:
        r = many_run(a)
        if a.json:
            print(json.dumps({"many": r}), flush=True)
        rows += [(f"a client waits while {r['entries']} come",
                  f"{r['comes']:.2f} s", "< 2 s"),
                 ("while they are there", f"{r['there']:.2f} s", "< 0.5 s"),
                 ("while they go", f"{r['goes']:.2f} s", "< 2 s")]
    table("the schedule", rows, (42, 18, 8))


if __name__ == "__main__":
    main()
