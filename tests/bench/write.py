#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near does writing come to what the disks can do?

In one run, taking turns, the same bytes go to 1 and to 4 disks

  fio     io_uring, O_DIRECT, a job per disk; makes and grows its files
          inside the timed part, and makes them durable at its end
  spate   full blocks through queue, writers, chunks and index, by each write
          plugin (tests/bench/write_loop.c), until all is durable

Files, their size, the size of requests and how many are in flight are the
same.  The p99 time of spate is that of a block, fio's that of a request.
Every figure is the median of the runs, of ratios too; on another machine only
ratios mean something.  Without --disk the disks are folders on one file
system.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from common import GB, table

PLUGINS = ["uring", "direct", "writev", "aio"]
MIB = 1 << 20


class Bench:
    def __init__(self, args):
        self.a = args
        self.build = os.path.abspath(args.build)
        self.dirs = []
        for where in args.disk or [args.dir] * 4:
            self.dirs.append(tempfile.mkdtemp(
                prefix="spate-bench-", dir=os.path.abspath(where)))
        self.env = {**os.environ,
                    "SPATE_PLUGINS": self.build + "/plugins/.libs"}

    def close(self):
        for path in self.dirs:
            shutil.rmtree(path, ignore_errors=True)

    def has(self, plugin):
        return os.path.exists(
            f"{self.build}/plugins/.libs/write-{plugin}.so")

    def fresh(self):
        """Empty disks, and nothing of the last run still being written."""
        for path in self.dirs:
            for entry in os.scandir(path):
                if entry.is_dir():
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)
        os.sync()
        time.sleep(self.a.rest)

    def file_systems(self, disks):
        return len({os.stat(d).st_dev for d in self.dirs[:disks]})

    def fixed(self):
        """Registered buffers, where this user may lock as much; spate tries
        the same, and says so where it may not."""
        most = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        need = self.a.depth * self.a.request * MIB * 5
        ok = os.geteuid() == 0 or most < 0 or most > need
        return ["--fixedbufs=1"] if ok else []

    def fio(self, disks):
        a = self.a
        files = a.mib // a.block // disks
        self.fresh()
        jobs = []
        for i, path in enumerate(self.dirs[:disks]):
            os.mkdir(path + "/fio")
            jobs += [f"--name=disk{i}", f"--directory={path}/fio"]
        p = subprocess.run(
            ["fio", "--rw=write", "--direct=1", "--ioengine=io_uring",
             f"--iodepth={a.depth}", f"--bs={a.request}m",
             f"--filesize={a.block}m", f"--nrfiles={files}",
             f"--size={files * a.block}m", "--openfiles=2",
             "--create_on_open=1", "--file_service_type=sequential",
             "--allow_file_create=1", "--end_fsync=1", *self.fixed(),
             "--scramble_buffers=0", "--thread=0", "--group_reporting=1",
             "--output-format=json", *jobs],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            cwd=self.dirs[0], check=True)
        job = json.loads(p.stdout[p.stdout.index("{"):])["jobs"][0]
        write = job["write"]
        cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"]
        return {"rate": write["io_bytes"] / write["runtime"] * 1e3 / GB,
                "cpu": cpu / 1e3 / (write["io_bytes"] / GB),
                "p99": write["clat_ns"]["percentile"]["99.000000"] / 1e9}

    def spate(self, plugin, paths, *how):
        a = self.a
        self.fresh()
        p = subprocess.run(
            [self.build + "/tests/bench/write_loop", "-w", plugin,
             "-b", str(a.block), "-t", str(a.mib), "-l", a.layout, *how,
             *paths],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.env, check=False)
        if p.returncode:
            sys.exit(f"bench: {p.stderr}")
        r = json.loads(p.stdout)
        for d in r["disks"]:
            if d["way"] not in ("", "paced", plugin):
                sys.exit(f"bench: {d['path']} is not written with {plugin}")
        return {"rate": r["bytes"] / r["seconds"] / GB,
                "cpu": r["cpu_s"] / (r["bytes"] / GB),
                "lost": r["lost_packets"],
                "p99": max(d["p99_s"] for d in r["disks"]),
                "dead": sum(d["state"] not in ("idle", "writing")
                            for d in r["disks"])}


def say(text):
    print(text, file=sys.stderr, flush=True)


def median(runs, key, base=None):
    """Of the runs, or of their ratios to the run of `base` at their side."""
    if not base:
        return statistics.median(r[key] for r in runs)
    return statistics.median(
        r[key] / max(b[key], 1e-9) for r, b in zip(runs, base))


def turns(b, what, parts):
    """All parts in every run, each time another one first."""
    names = list(parts)
    got = {name: [] for name in names}
    for run in range(b.a.runs):
        say(f"{what}: run {run + 1} of {b.a.runs}")
        first = run % len(names)
        for name in names[first:] + names[:first]:
            got[name].append(parts[name]())
    return got


def speed(b, disks, plugins):
    """fio and every plugin."""
    parts = {"fio": lambda: b.fio(disks)}
    for plugin in plugins:
        parts[plugin] = lambda p=plugin: b.spate(p, b.dirs[:disks])
    got = turns(b, f"{disks} disk(s)", parts)
    fio = got["fio"]
    rows = [("", "GB/s", "of fio", "wanted", "CPU s/GB", "of fio", "wanted",
             "p99 s")]
    for name, runs in got.items():
        first = name == "uring"
        rows.append((
            name, f"{median(runs, 'rate'):.3f}",
            f"{median(runs, 'rate', fio):.3f}", "0.97" if first else "",
            f"{median(runs, 'cpu'):.4f}", f"{median(runs, 'cpu', fio):.2f}",
            "1.20" if first else "", f"{median(runs, 'p99'):.3f}"))
    systems = b.file_systems(disks)
    where = ("" if systems == disks else
             f" ({disks} folders on {systems} file system)")
    table(f"{disks} disk(s){where}", rows, (8, 7, 7, 7, 9, 7, 7, 7))
    return got


def dead(b, plugin):
    """One of four disks is not there, or fails in the middle.  Folders of one
    disk are held to an equal speed, or three would be as fast as four."""
    three = b.dirs[:3]
    how, title = ["-b", "16"], "one of four disks dead"
    if b.file_systems(4) < 4:
        how += ["-r", str(b.a.pace)]
        title += f" (folders, each held to {b.a.pace} MiB/s)"
    got = turns(b, "one of four disks dead", {
        "three disks": lambda: b.spate(plugin, three, *how),
        "the fourth is missing":
            lambda: b.spate(plugin, three + [b.dirs[3] + "/none"], *how),
        "the fourth fails half-way":
            lambda: b.spate(plugin, b.dirs[:4], "-k", str(b.a.mib // 2),
                            *how)})
    base = got["three disks"]
    # Half of it goes to four: 1 / (1/2 * 3/4 + 1/2) of what three give.
    could = {"the fourth fails half-way": 8 / 7}
    rows = [("", "GB/s", "of the living", "wanted", "lost packets")]
    for name, runs in got.items():
        if name != "three disks" and any(r["dead"] != 1 for r in runs):
            sys.exit(f"bench: {name}: no disk died")
        share = median(runs, "rate", base) / could.get(name, 1)
        rows.append((name, f"{median(runs, 'rate'):.3f}", f"{share:.3f}",
                     "" if name == "three disks" else "0.97",
                     str(max(r["lost"] for r in runs))))
    table(title, rows, (26, 7, 13, 7, 12))
    return got


def sums(b, plugin):
    """Checksums, taken by the writers of memory that is in no cache."""
    got = turns(b, "checksums", {
        "off": lambda: b.spate(plugin, b.dirs[:1]),
        "on": lambda: b.spate(plugin, b.dirs[:1], "-c")})
    cost = statistics.median(on["cpu"] - off["cpu"] for on, off in
                             zip(got["on"], got["off"]))
    table("checksums (wanted: at most 0.06 CPU s/GB)",
          [("", "GB/s", "CPU s/GB")] +
          [(k, f"{median(v, 'rate'):.3f}", f"{median(v, 'cpu'):.4f}")
           for k, v in got.items()] + [("cost", "", f"{cost:.4f}")],
          (8, 7, 9))
    return got


def arguments():
    p = argparse.ArgumentParser(prog="scripts/bench write",
                                description=__doc__.split("\n", 1)[0])
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--dir", default=".",
                   help="where the folders go that are the disks")
    p.add_argument("--disk", action="append",
                   help="a folder of a disk of its own, four times")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--bytes", dest="mib", default="1024M",
                   type=lambda s: int(s.rstrip("M")),
                   help="of each run, 1024M")
    p.add_argument("--block", type=int, default=64, help="MiB")
    p.add_argument("--request", type=int, default=4, help="of fio, MiB")
    p.add_argument("--depth", type=int, default=16, help="of fio")
    p.add_argument("--pace", type=int, default=250,
                   help="MiB/s of folders of one disk, for --dead")
    p.add_argument("--rest", type=float, default=0.3,
                   help="seconds between parts")
    p.add_argument("--plugin", action="append", choices=PLUGINS)
    p.add_argument("--layout", choices=["vbs", "mark6", "file"],
                   default="vbs", help="of spate's files; fio's are as of vbs")
    p.add_argument("--only", choices=["speed", "dead", "sums"])
    p.add_argument("--dead", dest="only", action="store_const", const="dead",
                   help="only one of four disks dead")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    if a.disk and len(a.disk) != 4:
        p.error("--disk is given four times")
    return a


def main():
    a = arguments()
    b = Bench(a)
    plugins = [p for p in a.plugin or PLUGINS if b.has(p)]
    got = {}
    try:
        for disks in (1, 4):
            if a.only in (None, "speed"):
                got[f"disks{disks}"] = speed(b, disks, plugins)
        if a.only in (None, "dead"):
            got["dead"] = dead(b, plugins[0])
        if a.only in (None, "sums"):
            got["sums"] = sums(b, plugins[0])
    finally:
        b.close()
    if a.json:
        print(json.dumps(got))


if __name__ == "__main__":
    main()
