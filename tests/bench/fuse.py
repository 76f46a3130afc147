#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near does one file of a mount come to what the disks can do?

In one run, taking turns, one recording is read

  fio       its chunks: io_uring, O_DIRECT, a job for each disk
  spatefs   as one file, by dd bs=4M from a fresh mount that has nothing of it
            in memory: through the page cache and with -o direct_io; by one
            reader, by four that have a quarter each, and by four that all
            read all of it; with -o strip=8; with -o verify

and 1 MiB here and there, by fio from the file and from the chunks.  Then: how
long does the first byte of a recording of many chunks take from a fresh
mount; how much memory did spatefs have at most beyond its cache; and a reader
behind a recorder that records to the same disks: what came, what was lost.

Every figure is the median of the runs, of ratios too; on another machine only
ratios mean something.  Without --disk the disks are folders on one file
system.  To mount without being root, /dev/fuse and fusermount3 are needed;
read_ahead_kb is raised by root alone, and the table says what it was.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import read
from common import GB, Spated, free_ports, send, table

# Without it, blocks of the first seconds wait until it is learned.
FPS = 25000
MIB = 1 << 20
CACHE = 512 * MIB
NAME = "bench"


class Mount:
    """A fresh one, and what its process took."""

    def __init__(self, build, folders, *options):
        self.dir = tempfile.mkdtemp(prefix="spate-bench-mount-")
        words = ["disks=" + ":".join(folders), f"cache={CACHE}", *options]
        self.log = tempfile.TemporaryFile()
        self.p = subprocess.Popen(
            [build + "/spatefs", self.dir, "-f", "-o", ",".join(words)],
            stderr=self.log, stdout=self.log,
            env={**os.environ, "SPATE_PLUGINS": build + "/plugins/.libs"})

    def __enter__(self):
        for _ in range(400):
            if os.path.ismount(self.dir):
                return self
            if self.p.poll() is not None:
                break
            time.sleep(0.05)
        self.__exit__()
        self.log.seek(0)
        sys.exit("bench: spatefs did not mount:\n" + self.log.read().decode())

    def __exit__(self, *unused):
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGTERM)
            self.p.wait()
        subprocess.run(["umount", "-l", self.dir], check=False,
                       stderr=subprocess.DEVNULL)
        os.rmdir(self.dir)

    def file(self, name=NAME, wait_s=20):
        """The one of that name, whatever its extension."""
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            for entry in os.listdir(self.dir):
                if entry.rpartition(".")[0] == name:
                    return os.path.join(self.dir, entry)
            time.sleep(0.02)
        sys.exit(f"bench: {name} does not appear in the mount")

    def cpu(self):
        with open(f"/proc/{self.p.pid}/stat", encoding="ascii") as f:
            words = f.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def peak(self):
        """Resident memory at most, in bytes."""
        with open(f"/proc/{self.p.pid}/status", encoding="ascii") as f:
            for line in f:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        return 0

    def ahead_kb(self):
        """How far the kernel reads ahead here."""
        st = os.stat(self.dir)
        path = (f"/sys/class/bdi/{os.major(st.st_dev)}:"
                f"{os.minor(st.st_dev)}/read_ahead_kb")
        with open(path, encoding="ascii") as f:
            return int(f.read())


def dd(path, skip=0, count=0):
    """A reader of that many MiB from there on; 0: to the end."""
    part = [f"skip={skip}M", f"count={count}M",
            "iflag=skip_bytes,count_bytes"] if count else []
    return subprocess.Popen(["dd", f"if={path}", "of=/dev/null", "bs=4M",
                             *part], stderr=subprocess.DEVNULL)


def quarters(path):
    each = os.stat(path).st_size // MIB // 4
    return [dd(path, i * each, each) for i in range(4)], 4 * each * MIB


def whole(path):
    return [dd(path)], os.stat(path).st_size


def all_four(path):
    return [dd(path) for _ in range(4)], 4 * os.stat(path).st_size


def mounted(build, folders, readers, *options):
    """Bytes per second of such readers, in sum, CPU s per GB, and memory."""
    read.drop(folders, NAME)
    with Mount(build, folders, *options) as m:
        path = m.file()
        cpu, since = m.cpu(), time.monotonic()
        them, total = readers(path)
        if any(p.wait() for p in them):
            sys.exit("bench: dd failed")
        seconds = time.monotonic() - since
        return (total / seconds, (m.cpu() - cpu) / total * GB, m.peak(),
                m.ahead_kb())


WAYS = (
    ("one reader, page cache", whole, (), 0.9),
    ("one reader, direct_io", whole, ("direct_io",), 0.9),
    ("four, a quarter each", quarters, (), 0.95),
    ("four, direct_io", quarters, ("direct_io",), 0.95),
    ("four, all of it each", all_four, (), 0.95),
    ("strip=8", whole, ("strip=8",), 0.8),
    ("strip=8, direct_io", whole, ("strip=8", "direct_io"), 0.8),
    ("verify, direct_io", whole, ("verify", "direct_io"), None),
)


def sequential(build, folders, runs):
    seen = {way[0]: [] for way in WAYS}
    fio, most, ahead = [], 0, 0
    for _ in range(runs):
        fio.append(read.fio_rate(folders, NAME))
        for name, readers, options, _ in WAYS:
            rate, cpu, peak, ahead = mounted(build, folders, readers,
                                             *options)
            seen[name].append((rate, rate / fio[-1], cpu))
            most = max(most, peak)
    rows = [("", "MB/s", "of fio", "wanted", "CPU s/GB"),
            ("fio, chunks", f"{statistics.median(fio) / 1e6:.0f}", "", "", "")]
    for name, _, _, wanted in WAYS:
        rate, ratio, cpu = (statistics.median(c) for c in zip(*seen[name]))
        rows.append((name, f"{rate / 1e6:.0f}", f"{ratio:.2f}",
                     f"{wanted:.2f}" if wanted else "", f"{cpu:.3f}"))
    table(f"one file, median of {runs}; read_ahead_kb {ahead}", rows,
          (24, 8, 8, 8, 10))
    print(f"  memory at most: {most / MIB:.0f} MiB, of which "
          f"{CACHE // MIB} are its cache; wanted: under "
          f"{CACHE // MIB + 64} MiB")


def fio_random(files, seconds):
    """Bytes per second of 1 MiB here and there, one at a time."""
    out = subprocess.run(
        ["fio", "--output-format=json", "--ioengine=psync", "--rw=randread",
         "--bs=1M", "--thread", "--name=r", "--readonly", "--norandommap",
         "--time_based", f"--runtime={seconds}", "--direct=1",
         "--filename=" + ":".join(f.replace(":", r"\:") for f in files),
         "--file_service_type=random"],
        stdout=subprocess.PIPE, check=True, text=True).stdout
    got = json.loads(out[out.index("{"):])["jobs"][0]["read"]
    return got["io_bytes"] / (got["runtime"] / 1000)


def random_reads(build, folders, runs, seconds):
    chunks, file = [], []
    for _ in range(runs):
        files = [c for f in folders for c in read.chunks(f, NAME)]
        chunks.append(fio_random(files, seconds))
        read.drop(folders, NAME)
        with Mount(build, folders, "direct_io") as m:
            file.append(fio_random([m.file()], seconds))
    table("1 MiB here and there, one at a time",
          [("", "MB/s", "of fio"),
           ("fio, chunks", f"{statistics.median(chunks) / 1e6:.0f}", ""),
           ("fio, the file", f"{statistics.median(file) / 1e6:.0f}",
            f"{statistics.median(f / c for f, c in zip(file, chunks)):.2f}")],
          (24, 8, 8))


def first_byte(build, folders, runs, chunks):
    """Seconds from open to the first byte, of a fresh mount."""
    took = []
    for _ in range(runs):
        read.drop(folders, NAME)
        with Mount(build, folders) as m:
            path = m.file()
            since = time.monotonic()
            fd = os.open(path, os.O_RDONLY)
            if len(os.pread(fd, 1, os.stat(path).st_size // 2)) != 1:
                sys.exit("bench: no byte came")
            took.append(time.monotonic() - since)
            os.close(fd)
    print(f"\nfirst byte of {chunks} chunks, cold: "
          f"{statistics.median(took) * 1e3:.1f} ms, at most "
          f"{max(took) * 1e3:.1f} ms; wanted: under 50 ms")


def live(build, folders, rate, seconds, memory, blocks):
    """A reader right behind a recorder; all that it got, and what was lost."""
    port = free_ports()
    disks = ", ".join(f'"{d}"' for d in folders)
    conf = f'''disks = [ {disks} ]; memory = "{memory}M"; share = true;
        streams : {{ bench : {{ listen = [ "127.0.0.1:{port}" ];
            format = "vdif"; prefix = 8; payload = 8032; block = "16M";
            fps = {FPS}; blocks = {blocks}; }}; }};'''
    work = tempfile.mkdtemp(prefix="spate-bench-")
    try:
        with Spated(build, work, conf) as d, \
                Mount(build, folders, "socket=" + d.socket) as m:
            d.ask("record", name="live", streams=["bench"])
            path = m.file("live")
            reader = subprocess.Popen(
                [sys.executable, __file__, "--follow", path],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            reader.stdout.readline()
            sent = send(build, port, rate, seconds, "--format", "vdif",
                        "--fps", str(FPS))
            got = d.ask("stop", name="live")["recordings"][0]
            said = json.loads(reader.communicate("done\n")[0])
            with open(os.path.join(m.dir, ".info", "live.json"),
                      encoding="utf-8") as f:
                info = json.load(f)
            table("a reader behind a recorder (direct_io)",
                  [("", ""),
                   ("recorded", f"{sent['rate'] / 1e9:.2f} Gb/s"),
                   ("packets lost", str(sent["sent"] - got["packets"])),
                   ("of its bytes read", f"{said['bytes'] / info['bytes']:.3f}"),
                   ("between reads, median", f"{said['wait_ms']:.0f} ms"),
                   ("from memory", f"{share(info):.0f} %")], (24, 14))
            d.ask("rm", name="live", force=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def share(info):
    memory = info.get("read_from_memory", 0)
    return 100 * memory / max(memory + info.get("read_from_disks", 0), 1)


def follow(path):
    """Reads what grows until told that nothing comes any more."""
    import select  # of this process alone
    fd = os.open(path, os.O_RDONLY)
    print("ready", flush=True)
    total, done, waits = 0, False, []
    since = time.monotonic()
    while True:
        n = len(os.pread(fd, 4 * MIB, total))
        total += n
        if n:
            waits.append(time.monotonic() - since)
            since = time.monotonic()
            continue
        if done and time.monotonic() - since > 3:
            break
        done = done or bool(select.select([sys.stdin], [], [], 0.01)[0])
    waits.sort()
    wait = waits[len(waits) // 2] * 1e3 if waits else 0
    print(json.dumps({"bytes": total, "wait_ms": wait}))


def write(build, folders, block, gib):
    subprocess.run(
        [build + "/tests/bench/write_loop", "-c", "-b", str(block),
         "-t", str(int(gib * 1024)), *folders], check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "SPATE_PLUGINS": build + "/plugins/.libs"})
    os.sync()


def parse():
    p = argparse.ArgumentParser(
        prog="scripts/bench fuse", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build-bench", help=argparse.SUPPRESS)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--disk", action="append",
                   help="a folder on a disk of its own; several times")
    p.add_argument("--dir", default="/var/tmp",
                   help="where the folders are made without --disk")
    p.add_argument("--disks", type=int, default=4,
                   help="how many of those")
    p.add_argument("--gib", type=float, default=4, help="of recording")
    p.add_argument("--block", type=int, default=64, help="MiB")
    p.add_argument("--chunks", type=int, default=10000,
                   help="of 1 MiB, of the recording whose first byte is "
                   "waited for")
    p.add_argument("--rate", type=float, default=4, metavar="GBPS",
                   help="at which is recorded while a reader follows")
    p.add_argument("--seconds", type=float, default=5,
                   help="of that, and of reading here and there")
    p.add_argument("--memory", type=int, default=1024,
                   help="MiB of the recorder")
    p.add_argument("--blocks", type=int, default=48,
                   help="of 16 MiB, of which a reader may have a quarter")
    p.add_argument("--rest", type=float, default=2,
                   help="seconds between writing and reading")
    p.add_argument("--only", choices=("read", "random", "first", "live"))
    return p.parse_args()


def main():
    a = parse()
    build = os.path.abspath(a.build)
    if not os.path.exists(build + "/spatefs"):
        sys.exit("bench: there is no spatefs in " + build +
                 ": it needs libfuse3-dev")
    folders = [tempfile.mkdtemp(prefix="spate-bench-",
                                dir=os.path.abspath(where))
               for where in a.disk or [a.dir] * a.disks]
    try:
        if a.only in (None, "read", "random"):
            write(build, folders, a.block, a.gib)
            time.sleep(a.rest)
        if a.only in (None, "read"):
            sequential(build, folders, a.runs)
        if a.only in (None, "random"):
            random_reads(build, folders, a.runs, a.seconds)
        for folder in folders:
            shutil.rmtree(os.path.join(folder, NAME), ignore_errors=True)
        if a.only in (None, "first"):
            write(build, folders, 1, a.chunks / 1024)
            first_byte(build, folders, a.runs, a.chunks)
        if a.only in (None, "live"):
            live(build, folders, a.rate * 1e9, a.seconds, a.memory,
                 a.blocks)
    finally:
        for path in folders:
            shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--follow":
        follow(sys.argv[2])
    else:
        main()
