#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is what is scheduled on time?

Three figures of a real spated with the writer `null` and a schedule folder:

  start   from the start of a scan to the arrival of the first packet in its
          first block, by the kernel's stamps, over many scans
  edge    scans that follow each other on one port: packets at the boundaries
          that are in none of them, or in two
  idle    the share of a core that a daemon takes with many armed streams and
          many more entries, while nothing comes
"""

import argparse
import datetime
import glob
import json
import os
import shutil
import statistics
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

    def totals(self, name):
        """The last line of a recording's metadata, and its first index
        records, by number."""
        where = os.path.join(self.dir, "disk", name, name)
        try:
            with open(where + ".meta.jsonl", encoding="utf-8") as f:
                lines = [json.loads(line) for line in f]
            with open(where + ".index", "rb") as f:
                raw = f.read()
        except OSError:
            return None
        if not lines or "end" not in lines[-1]:
            return None
        records = [raw[i:i + 64] for i in range(0, len(raw) // 64 * 64, 64)]
        return {**lines[-1]["end"], "blocks": sorted(
            (r for r in records if r[54] == 1),
            key=lambda r: int.from_bytes(r[:8], "little"))}

    def wait(self, names, seconds):
        """Until all of them have ended; what they were."""
        end = time.time() + seconds
        got = {}
        while len(got) < len(names) and time.time() < end:
            for name in names:
                if name not in got and (t := self.totals(name)):
                    got[name] = t
            time.sleep(0.5)
        return got


def first_ns(total):
    return int.from_bytes(total["blocks"][0][16:24], "little", signed=True)


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


# ---- start ------------------------------------------------------------------


def start_run(a):
    port = free_ports()
    streams = f'''s : {{ {STREAM} block = "1M"; blocks = 8;
                         listen = [ "127.0.0.1:{port}" ]; }};'''
    with Bench(a, streams, 1024) as b:
        begin = time.time() + 3
        scans = [(f"start{i:03}", "s", begin + i * a.every,
                  begin + (i + 0.6) * a.every, "2s") for i in range(a.scans)]
        b.schedule(scans)
        lasts = a.scans * a.every + 3
        sender = threading.Thread(target=send, args=(
            b.build, port, a.start_rate, lasts, *DATA))
        sender.start()
        sender.join()
        got = b.wait([s[0] for s in scans], 10)
    late = [(first_ns(got[s[0]]) - ns_of(text_of(s[2]))) / 1e6
            for s in scans if s[0] in got and got[s[0]]["blocks"]]
    if not late:
        sys.exit("bench: no scan has recorded anything")
    return {"scans": len(scans), "recorded": len(late),
            "before": sum(t < 0 for t in late), "median": statistics.median(
                late), "p99": percentile(late, 0.99), "max": max(late)}


# ---- edge -------------------------------------------------------------------


def sequences(b, names):
    """(first, one behind the last, packets) of each, absolute."""
    out = {}
    for name in names:
        info = b.daemon.ask("info", name=name)["recordings"][0]
        runs = info["runs"]
        if len(runs) != 1:
            out[name] = None
            continue
        base = int(runs[0]["base"])
        out[name] = (base + runs[0]["first"], base + runs[0]["last"] + 1,
                     info["packets"])
    return out


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
        sender.join()
        got = b.wait(names, 10)
        span = sequences(b, [n for n in names if n in got])
    lost = twice = 0
    for one, two in zip(names, names[1:]):
        if not span.get(one) or not span.get(two):
            sys.exit(f"bench: {one} or {two} is not one run of packets")
        step = span[two][0] - span[one][1]
        lost += max(step, 0)
        twice += max(-step, 0)
    drops = sum(n for t in got.values() for why, n in t["drops"].items()
                if why != "before_start")
    return {"edges": a.edges, "rate": sent["rate"], "lost": lost,
            "twice": twice, "dropped": drops,
            "holes": sum(s[1] - s[0] - s[2] for s in span.values()),
            "overruns": max(t["overruns"] for t in got.values()),
            "packets": sum(s[2] for s in span.values())}


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
            [(f"armed{i}", f"s{i}", begin, begin + 60, "2h")
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


def main():
    p = argparse.ArgumentParser(prog="scripts/bench schedule",
                                description=__doc__.split("\n", 1)[0])
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--only", action="append",
                   choices=["start", "edge", "idle"])
    p.add_argument("--scans", type=int, default=200)
    p.add_argument("--every", type=float, default=0.25, help="seconds")
    p.add_argument("--start-rate", type=float, default=1e9)
    p.add_argument("--edges", type=int, default=10)
    p.add_argument("--edge-rate", type=float, default=4e9)
    p.add_argument("--armed", type=int, default=432)
    p.add_argument("--entries", type=int, default=1000)
    p.add_argument("--idle-seconds", type=float, default=20)
    p.add_argument("--gen", type=str.split, default=[],
                   help="more options of spate gen, for edge")
    p.add_argument("--keep", action="store_true", help="the recordings")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    what = a.only or ["start", "edge", "idle"]
    rows = [("", "measured", "wanted")]

    if "start" in what:
        r = start_run(a)
        if a.json:
            print(json.dumps({"start": r}), flush=True)
        rows += [("scans that recorded", f"{r['recorded']} of {r['scans']}",
                  "all"),
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
                  str(r["holes"] + r["dropped"] + r["overruns"]), "0")]
    if "idle" in what:
        r = idle_run(a)
        if a.json:
            print(json.dumps({"idle": r}), flush=True)
        rows += [(f"idle, {r['armed']} armed, {r['entries']} entries",
                  f"{100 * r['share']:.2f} % of a core", "< 1 %")]
    table("the schedule", rows, (36, 18, 8))


if __name__ == "__main__":
    main()
