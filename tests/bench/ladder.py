#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Up to which rate does it record without a loss, and at what cost?

Four ladders, each rung in at least five runs, and a long recording:

  rate      1 to 20 Gb/s of 8 kB packets, one stream, four disks
  size      packets of 1, 4, 8 and 64 kB
  streams   1 to 432 ports, blocks of 1M
  disks     1 to 16
  length    one recording of 20 minutes, looked at each minute

At each rung two recorders take turns: spate with its default memory and socket
buffers, and the least that can be done (a bare receive loop, and fio that
writes as much at the same time).  A run is void, and made again, when the
sender missed its pace by 2 % or more.  Any other run counts.  It is clean when
every packet that was sent is in the recording, nothing was dropped, and no
counter of the kernel or a card rose.  What is said is how many runs were
clean, out of those that count: never the best of some.  The ladder of rates
ends at the first one without a clean run of either recorder.

The disks are XFS on images of its own in --dir, by loop devices with direct
I/O, or folders that --disks names.  Files of the long recording are emptied 10
s after they were written, so that it needs no more room than others.  Packets
go over loopback, or with --veth over a veth pair with GRO, in a network that
the bench makes for itself: so nothing else on the machine raises its counters.
This needs root.

It writes to the folder OUT: ladder.json (every run, as soon as a rung is
whole), ladder.md (tables and the machine), and rate.svg, size.svg,
streams.svg, disks.svg and length.svg (CPU per GB).  Rungs that are in
ladder.json already are replaced, others stay: so ladders may be climbed one by
one.  `--draw` makes the rest again from ladder.json.  docs/18-performance.md
says how to read them.
"""

import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import types

from common import (GB, Loopback, Veth, counters, private, risen, run,
                    send_end)
from record import Bench

PACE = 0.02      # of the rate: how far a sender may be off
RATES = (1, 2, 4, 8, 12, 16, 20)
SIZES = (1032, 4128, 8032, 64032)
STREAMS = (1, 4, 16, 64, 128, 432)
DISKS = (1, 2, 4, 8, 16)
RECORDERS = ("spate", "loop + fio")
LADDERS = {"rate": "Gb/s", "size": "bytes of a packet's payload",
           "streams": "ports", "disks": "disks", "length": "minute"}
FULL = {"runs": 5, "seconds": 8, "minutes": 20, "rates": RATES,
        "sizes": SIZES, "streams": STREAMS, "number": DISKS}
QUICK = {"runs": 3, "seconds": 4, "minutes": 1, "rates": (1, 4, 8, 12, 16, 20),
         "sizes": SIZES, "streams": (1, 16, 128, 432), "number": (1, 4, 16)}
LEAST_DISK = 1 << 30
KEPT = 10        # seconds that a long recording keeps its files
FIO = 4 * GB     # bytes per second that fio alone does not exceed


# ---- disks -----------------------------------------------------------------

class Images:
    """XFS file systems on images in a folder.  Mounts and loop devices are
    those of private(): they leave with the bench, and so do the images, which
    have no name any more once they are mounted."""

    def __init__(self, folder):
        self.folder = folder
        self.mounted = []

    def make(self, n, each):
        self.close()
        for i in range(n):
            at = os.path.join(self.folder, f"disk{i}")
            image = at + ".img"
            with open(image, "wb") as f:
                f.truncate(each)
            try:
                run("mkfs.xfs", "-q", "-f", "-K", image)
                loop = subprocess.run(
                    ["losetup", "--find", "--show", "--direct-io=on", image],
                    stdout=subprocess.PIPE, text=True, check=True)
            finally:
                os.unlink(image)
            os.mkdir(at)
            try:
                run("mount", "-o", "discard", loop.stdout.strip(), at)
                self.mounted.append(at)
            finally:    # or as soon as it is unmounted
                run("losetup", "--detach", loop.stdout.strip())
        return self.mounted

    def close(self):
        while self.mounted:
            run("umount", "--lazy", self.mounted[-1])
            os.rmdir(self.mounted.pop())


class Folders:
    """Folders on disks that are there."""

    def __init__(self, folders):
        self.folders = folders

    def make(self, n, _):
        return self.folders[:n]

    def close(self):
        pass


# ---- runs ------------------------------------------------------------------

def rungs(a):
    """(ladder, step, settings of a rung), in the order of measuring."""
    def rung(**other):
        return {"rate": a.rate, "size": 8032, "streams": 1, "disks": 4,
                "block": a.block, **other}
    ladders = {
        "rate": [(r, rung(rate=r)) for r in a.rates],
        "size": [(s, rung(size=s)) for s in a.sizes],
        "streams": [(n, rung(streams=n, block="1M")) for n in a.streams],
        "disks": [(n, rung(disks=n)) for n in a.number],
        "length": [(a.minutes, rung())],
    }
    return [(ladder, step, r) for ladder in a.only for step, r in
            ladders[ladder]]


def need(a, ladder, rung):
    """Bytes that a run of a rung writes, or keeps, at most."""
    if ladder == "length":
        return rung["rate"] * GB / 8 * 3 * KEPT
    return max(rung["rate"] * GB / 8 * a.seconds, FIO * a.seconds / 2)


def room_check(a, todo):
    most = max(need(a, ladder, rung) for ladder, _, rung in todo)
    most = most * 1.1 + LEAST_DISK
    free = shutil.disk_usage(a.dir).free
    if free < most:
        sys.exit(f"bench: {a.dir} has {free / GB:.0f} GB free, and a run of "
                 f"{a.seconds:g} s needs {most / GB:.0f} GB: give another "
                 "--dir, fewer --seconds or lower --rates")


def once(b, who, rate, seconds):
    before, lost = counters(), b.link.lost()
    if who == "spate":
        got = b.spate(rate, seconds)
    else:
        got = b.both("gro", rate, seconds)
    rose = risen(before)
    if b.link.lost() > lost:
        rose["link"] = b.link.lost() - lost
    return {"who": who, "pace": got["rate"] / rate, "cpu": got["cpu"],
            "lost": got.get("lost"), "drops": got.get("drops"), "rose": rose,
            "void": abs(got["rate"] / rate - 1) > PACE,
            "clean": got["whole"] and not rose}


def rung_runs(a, b, rung, say):
    """Both in turns until each has `runs` that count, or 2 x `runs` were
    tried; fio alone first, which also touches the disks."""
    b.learn()
    say("fio alone")
    fio = b.fio(0, a.seconds / 2)["rate"]
    runs = []
    for tried in range(2 * a.runs):
        for who in RECORDERS:
            done = sum(r["who"] == who and not r["void"] for r in runs)
            if done == a.runs:
                continue
            say(f"{who}: {done} of {a.runs} runs, {tried - done} void")
            runs.append(once(b, who, rung["rate"] * 1e9, a.seconds))
    return {"fio": fio, "runs": runs}


def old_empty(b):
    """Empties the files that were written some time ago; they stay."""
    for disk in b.disks:
        for f in os.scandir(os.path.join(disk, "bench")):
            found = f.stat()
            if (f.name[-8:].isdigit() and found.st_size and
                    found.st_mtime < time.time() - KEPT):
                os.truncate(f.path, 0)


def minute(b, d, end):
    """Waits until `end`; what spated and the kernel have counted by then."""
    while time.monotonic() < end:
        time.sleep(min(2, max(end - time.monotonic(), 0)))
        old_empty(b)
    return {"cpu": d.cpu(), "at": time.monotonic(), "lost": counters(),
            "bytes": d.ask("status")["recordings"][0]["bytes"]}


def length_rungs(a, b, rung, say):
    """A rung for each minute of one recording, with one run each."""
    rate, seconds = rung["rate"] * 1e9, 60 * a.minutes
    b.fresh()
    with b.spated() as d:
        d.warm()
        d.ask("record", name="bench", streams=["bench"])
        sender = b.send_start(rate, seconds + 2)
        start = time.monotonic() + 1
        at = [minute(b, d, start)]
        for i in range(a.minutes):
            say(f"minute {i + 1} of {a.minutes}")
            at.append(minute(b, d, start + 60 * (i + 1)))
        sent = send_end(sender)
        b.settle(d, sent["sent"])
        got = d.ask("stop", name="bench")["recordings"][0]
    lost, drops = sent["sent"] - got["packets"], sum(got["drops"].values())
    out = []
    for i, (one, two) in enumerate(zip(at, at[1:])):
        wrote = two["bytes"] - one["bytes"]
        pace = wrote * 8 / (two["at"] - one["at"]) / rate
        rose = risen(one["lost"], two["lost"])
        out.append((i + 1, {"fio": None, "runs": [{
            "who": "spate", "pace": pace, "void": abs(pace - 1) > PACE,
            "cpu": (two["cpu"] - one["cpu"]) / max(wrote / GB, 1e-3),
            "lost": lost, "drops": got["drops"], "rose": rose,
            "clean": not (lost or drops or rose)}]}))
    return out


def settings(a, rung):
    """What record.Bench takes from its command line."""
    return types.SimpleNamespace(
        build=a.build, dir=a.work, memory=None, writer=None,
        block=rung["block"], rest=a.rest)


def disks_make(a, disks, rung, todo):
    each = max(need(a, ladder, r) for ladder, _, r in todo
               if r["disks"] == rung["disks"])
    each = int(each * 1.5 / rung["disks"] + LEAST_DISK) & -(1 << 20)
    return [os.path.join(d, f"spate-bench-{os.getpid()}")
            for d in disks.make(rung["disks"], each)]


def before(a):
    """What OUT has already, if it is of this machine; a dictionary."""
    here = machine(a)
    try:
        results = load(a.out)
    except FileNotFoundError:
        return {"machine": here, "rungs": []}
    if results["machine"] != here:
        sys.exit(f"bench: {a.out} has figures of another machine, other disks "
                 "or another link: give another OUT")
    return results


def keep(a, results, ladder, made):
    """Adds (step, rung) of `made` to the results, in place of those of before;
    each minute of a length belongs to one recording."""
    steps = [step for step, _ in made]
    results["rungs"] = [r for r in results["rungs"] if r["ladder"] != ladder or
                        (ladder != "length" and r["step"] not in steps)]
    results["rungs"] += [{"ladder": ladder, "step": step, "origin": origin(a),
                          **rung} for step, rung in made]
    results["rungs"].sort(key=lambda r: r["step"])
    with open(os.path.join(a.out, "ladder.json"), "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1)


def climb(a, disks, link):
    results = before(a)
    todo = rungs(a)
    room_check(a, todo)
    made, places, ended = 0, [], False
    for ladder, step, rung in todo:
        if ladder == "rate" and ended:
            continue
        if made != rung["disks"]:
            made, places = rung["disks"], disks_make(a, disks, rung, todo)
        b = Bench(settings(a, rung), places, rung["size"] + 8,
                  rung["streams"], link)

        def say(what, name=f"{ladder} {step:g}"):
            print(f"{name}: {what}", file=sys.stderr, flush=True)
        try:
            if ladder == "length":
                got = length_rungs(a, b, rung, say)
            else:
                got = [(step, rung_runs(a, b, rung, say))]
        finally:
            b.close()
        ended = ladder == "rate" and not any(
            r["clean"] and not r["void"] for r in got[0][1]["runs"])
        keep(a, results, ladder, [(n, {**rung, **more}) for n, more in got])
    return results


def machine(a):
    def first(path, start):
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.startswith(start):
                    return line.split(":", 1)[1].strip()
        return "?"
    return {
        "processor": f"{os.cpu_count()} x "
                     f"{first('/proc/cpuinfo', 'model name')}",
        "memory": first("/proc/meminfo", "MemTotal"),
        "kernel": os.uname().release,
        "disks": ", ".join(a.disks) if a.disks else
                 "XFS on loop devices with direct I/O, all on one device",
        "link": "veth with GRO" if a.veth else "loopback",
        "spate": "default memory and socket buffers, blocks of "
                 f"{a.block} (1M in the ladder of streams)",
    }


def origin(a):
    """Which command made a figure, when, and of which commit."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, check=False,
        cwd=os.path.dirname(os.path.abspath(__file__))).stdout.strip()
    return (f"`scripts/bench ladder {' '.join(a.command)}`, commit "
            f"{commit or '?'}, {a.date}, load at the start {a.load:.2f}")


# ---- what is said ----------------------------------------------------------

def summary(rung, who):
    """(clean, counted, void, [CPU of those that count])"""
    runs = [r for r in rung["runs"] if r["who"] == who]
    counted = [r for r in runs if not r["void"]]
    return (sum(r["clean"] for r in counted), len(counted),
            len(runs) - len(counted), sorted(r["cpu"] for r in counted))


def cell(rung, who):
    clean, counted, void, cpu = summary(rung, who)
    if not counted:
        slow = f"the sender was too slow, {void} of {void}"
        return slow if void else "-", "-"
    text = f"{clean} of {counted}" + (f" ({void} void)" if void else "")
    return text, (f"{statistics.median(cpu):.3f} "
                  f"({cpu[0]:.3f}-{cpu[-1]:.3f})")


def report(results):
    lines = ["# Ladder", "", "| | |", "|---|---|"]
    lines += [f"| {k} | {v} |" for k, v in results["machine"].items()]
    for ladder, unit in LADDERS.items():
        steps = [r for r in results["rungs"] if r["ladder"] == ladder]
        if not steps:
            continue
        lines += ["", f"## By {ladder}", "",
                  f"![CPU per GB by {ladder}]({ladder}.svg)", ""]
        lines += [f"- {origin}" for origin in
                  sorted({r["origin"] for r in steps})]
        lines += ["",
                  f"| {unit} | at Gb/s | spate clean | CPU s/GB | loop + fio "
                  "clean | CPU s/GB | spate / both | fio alone, Gb/s |",
                  "|" + "---|" * 8]
        for r in steps:
            mine, least = (summary(r, who)[3] for who in RECORDERS)
            ratio = (f"{statistics.median(mine) / statistics.median(least):.2f}"
                     if mine and least else "-")
            lines.append("| " + " | ".join((
                f"{r['step']:g}", f"{r['rate']:g}", *cell(r, "spate"),
                *cell(r, "loop + fio"), ratio,
                f"{r['fio'] / 1e9:.1f}" if r["fio"] else "-")) + " |")
    return "\n".join(lines) + "\n"


LEFT, TOP, WIDE, HIGH = 60, 40, 520, 260
COLOURS = {"spate": "#0b6e99", "loop + fio": "#b5541c"}


def text(x, y, what, anchor="middle", colour="#333"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" '
            f'fill="{colour}">{what}</text>')


def points(steps, who, x_at, y_at):
    """Medians joined by a line, the least and the most by a bar; hollow where
    a run was not clean."""
    out, joined = [], []
    for i, r in enumerate(steps):
        clean, counted, _, cpu = summary(r, who)
        if not counted:
            continue
        x, y = x_at(i), y_at(statistics.median(cpu))
        joined.append(f"{x:.0f},{y:.0f}")
        out.append(f'<path d="M{x:.0f} {y_at(cpu[0]):.0f}V'
                   f'{y_at(cpu[-1]):.0f}"/>')
        fill = COLOURS[who] if clean == counted else "#fff"
        out.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="4" fill="{fill}"/>')
    return (f'<g stroke="{COLOURS[who]}" fill="none" stroke-width="1.5">'
            f'<polyline points="{" ".join(joined)}"/>{"".join(out)}</g>')


def curve(ladder, steps):
    """SVG of CPU per GB; its steps are as far apart from each other."""
    most = max((c for r in steps for who in RECORDERS
                for c in summary(r, who)[3]), default=1) * 1.1

    def x_at(i):
        return LEFT + WIDE * (i + 0.5) / len(steps)

    def y_at(cpu):
        return TOP + HIGH * (1 - cpu / most)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" '
             f'viewBox="0 0 {LEFT + WIDE + 20} {TOP + HIGH + 60}" '
             'font-family="sans-serif" font-size="12">'
             '<rect width="100%" height="100%" fill="#fff"/>',
             text(LEFT, 20, f"CPU seconds per GB by {ladder}", "start")]
    for i in range(6):
        y = y_at(most * i / 5)
        parts.append(f'<path d="M{LEFT} {y:.0f}h{WIDE}" stroke="#ddd"/>' +
                     text(LEFT - 6, y + 4, f"{most * i / 5:.2f}", "end"))
    for i, r in enumerate(steps):
        parts.append(text(x_at(i), TOP + HIGH + 18, f"{r['step']:g}"))
    parts.append(text(LEFT + WIDE / 2, TOP + HIGH + 36, LADDERS[ladder]))
    for i, who in enumerate(RECORDERS):
        if not any(summary(r, who)[1] for r in steps):
            continue
        parts.append(points(steps, who, x_at, y_at))
        parts.append(text(LEFT + WIDE - 120 * i, 20, who, "end",
                          COLOURS[who]))
    parts.append(text(LEFT, TOP + HIGH + 54,
                      "median, least and most; hollow: a run was not clean",
                      "start"))
    return "\n".join(parts) + "\n</svg>\n"


def load(out):
    with open(os.path.join(out, "ladder.json"), encoding="utf-8") as f:
        return json.load(f)


def write(out, results):
    with open(os.path.join(out, "ladder.md"), "w", encoding="utf-8") as f:
        f.write(report(results))
    for ladder in LADDERS:
        steps = [r for r in results["rungs"] if r["ladder"] == ladder]
        if steps:
            with open(os.path.join(out, ladder + ".svg"), "w",
                      encoding="utf-8") as f:
                f.write(curve(ladder, steps))
    print(report(results), end="")


def arguments():
    p = argparse.ArgumentParser(
        prog="scripts/bench ladder", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", metavar="OUT", help="folder, made if it is absent")
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--only", nargs="+", choices=list(LADDERS),
                   default=list(LADDERS), metavar="LADDER",
                   help="some of the ladders")
    p.add_argument("--quick", action="store_true",
                   help="a quarter of an hour: fewer and shorter runs, fewer "
                   "rungs, one minute")
    p.add_argument("--runs", type=int, help="that count, of each (5)")
    p.add_argument("--seconds", type=float, help="of a run (8)")
    p.add_argument("--minutes", type=int, help="of the long recording (20)")
    p.add_argument("--rest", type=float, default=1,
                   help="seconds before each run")
    p.add_argument("--rate", type=float, default=4, metavar="GBPS",
                   help="of the ladders other than that of rates")
    p.add_argument("--rates", type=float, nargs="+", metavar="GBPS")
    p.add_argument("--sizes", type=int, nargs="+", metavar="BYTES")
    p.add_argument("--streams", type=int, nargs="+", metavar="N")
    p.add_argument("--number", type=int, nargs="+", metavar="N",
                   help="of disks")
    p.add_argument("--block", default="64M")
    p.add_argument("--veth", action="store_true",
                   help="a veth pair with GRO instead of loopback")
    p.add_argument("--dir", default=".", help="where images of disks go")
    p.add_argument("--disks", nargs="+", metavar="FOLDER",
                   help="folders on real disks, instead of images")
    p.add_argument("--draw", action="store_true",
                   help="measure nothing, draw OUT/ladder.json again")
    a = p.parse_args()
    a.command = [w for i, w in enumerate(sys.argv[1:])
                 if not (w == "--build" or sys.argv[i] == "--build")]
    for name, value in (QUICK if a.quick else FULL).items():
        if getattr(a, name) is None:
            setattr(a, name, value)
    a.date = datetime.datetime.now(datetime.timezone.utc).strftime(
        "%Y-%m-%d %H:%M UTC")
    a.load = os.getloadavg()[0]
    if a.veth:    # what is longer would come in fragments
        a.sizes = [n for n in a.sizes if n <= 8900]
    if a.disks:
        a.number = [n for n in a.number if n <= len(a.disks)]
    return a


def main():
    a = arguments()
    if a.draw:
        write(a.out, load(a.out))
        return
    private()
    os.makedirs(a.out, exist_ok=True)
    a.work = tempfile.mkdtemp(prefix="spate-bench-",
                              dir=os.path.abspath(a.dir))
    disks = Folders(a.disks) if a.disks else Images(a.work)
    link = Loopback()
    try:
        if a.veth:
            link = Veth(True)
        write(a.out, climb(a, disks, link))
    finally:
        link.close()
        disks.close()
        shutil.rmtree(a.work, ignore_errors=True)


if __name__ == "__main__":
    main()
