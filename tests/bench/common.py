# SPDX-License-Identifier: MIT
"""What the benchmarks share: a private daemon, the sender, the bare loop,
and the link between them."""

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

GB = 1e9
LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_us():
    """In a child: SIGTERM when the bench ends, however it ends."""
    LIBC.prctl(1, signal.SIGTERM)    # PR_SET_PDEATHSIG


class Spated:
    """A private daemon over some folders, and a client of it."""

    def __init__(self, build, folder, conf):
        self.socket = os.path.join(folder, "socket")
        self.log = open(os.path.join(folder, "log"), "w+b")
        path = os.path.join(folder, "spate.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write(f'control : {{ socket = "{self.socket}"; }};\n{conf}\n')
        self.p = subprocess.Popen([build + "/spated", "-c", path],
                                  stderr=self.log, preexec_fn=die_with_us)
        self.file = self.connect()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.p.send_signal(signal.SIGTERM)
        self.p.wait()

    def connect(self):
        for _ in range(200):
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(self.socket)
                f = s.makefile("rw")
                f.write('{"protocol":1}\n')
                f.flush()
                f.readline()
                return f
            except OSError:
                s.close()
                time.sleep(0.05)
        self.log.seek(0)
        sys.exit("bench: spated did not start:\n" +
                 self.log.read().decode())

    def ask(self, verb, **request):
        self.file.write(json.dumps({"id": 1, "do": verb, **request}) + "\n")
        self.file.flush()
        answer = json.loads(self.file.readline())
        if not answer["ok"]:
            sys.exit(f"bench: {verb}: {answer['error']}")
        return answer["result"]

    def cpu(self):
        return process_cpu(self.p.pid)

    def warm(self):
        """Waits until all its memory is touched, which takes CPU time that
        belongs to no recording."""
        for _ in range(1200):
            memory = self.ask("status")["memory"]
            if memory["ready"] == memory["bytes"]:
                return
            time.sleep(0.05)
        sys.exit("bench: spated has not touched its memory within a minute")

    def status(self, field):
        """A number of kB from /proc, as VmRSS."""
        with open(f"/proc/{self.p.pid}/status", encoding="ascii") as f:
            for line in f:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        return 0


def free_ports(n=1):
    """The first of n UDP ports in a row that nobody uses."""
    for first in range(10500, 32000, 433):
        held = []
        try:
            for port in range(first, first + n):
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                held.append(s)
                s.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for s in held:
                s.close()
    sys.exit("bench: no ports are free")


def ports_text(first, n):
    return f"{first}-{first + n - 1}" if n > 1 else str(first)


class Loopback:
    """The link of a sender and a receiver in one network."""

    host = "127.0.0.1"
    sender = []      # in front of the sender's command

    def lost(self):
        return 0

    def close(self):
        pass


class Veth:
    """A link like that of a network card: a veth pair, the sender in a
    network of its own.

    Packets are cut before they leave the sender, and come in one by one;
    what joins them again is GRO (`gro`), by a NAPI thread, whose CPU time
    cpu() has.  Without GRO the kernel takes them in in the sender's time.
    Only within private(): the kernel removes all of it when the bench ends,
    however it ends.
    """

    host = "10.119.0.1"
    far = "10.119.0.2"

    def __init__(self, gro):
        pid = os.getpid()
        self.device = f"bn{pid}"
        other = f"bf{pid}"
        # `cat` holds the sender's network, and ends when its input does.
        self.keeper = subprocess.Popen(
            ["unshare", "-n", "cat"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.keeper.stdin.write("there?\n")
        self.keeper.stdin.flush()
        self.keeper.stdout.readline()
        self.sender = ["nsenter", "-t", str(self.keeper.pid), "-n"]
        mac = "02:00:00:00:00:01"
        run("ip", "link", "add", self.device, "address", mac, "mtu", "9000",
            "type", "veth", "peer", "name", other, "mtu", "9000")
        # veth passes packets to GRO only if its peer does not cut TCP
        ethtool(other, 0x1f, 0)                     # ETHTOOL_STSO
        ethtool(self.device, 0x2c, 1 if gro else 0)    # ETHTOOL_SGRO
        run("ip", "link", "set", other, "netns", str(self.keeper.pid))
        run("ip", "address", "add", self.host + "/24", "dev", self.device)
        run("ip", "link", "set", self.device, "up")
        run(*self.sender, "ip", "address", "add", self.far + "/24", "dev",
            other)
        run(*self.sender, "ip", "link", "set", other, "gso_max_segs", "1",
            "up")
        # nothing is lost while a first packet asks who has the address
        run(*self.sender, "ip", "neighbour", "add", self.host, "lladdr", mac,
            "dev", other)
        # a veth device keeps 256 packets, a card thousands: more wait here
        # (Linux 6.16 and newer; older ones drop, and lost() has it)
        run(*self.sender, "tc", "qdisc", "add", "dev", other, "root",
            "pfifo", "limit", "10000")
        self.threads = self.threaded() if gro else []

    def threaded(self):
        """Gives NAPI a thread; returns the threads' ids."""
        with tempfile.TemporaryDirectory() as sys_here:
            run("mount", "-t", "sysfs", "sysfs", sys_here)
            with open(f"{sys_here}/class/net/{self.device}/threaded", "w",
                      encoding="ascii") as f:
                f.write("1")
            run("umount", sys_here)
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                    if f.read().startswith(f"napi/{self.device}-"):
                        found.append(int(pid))
            except OSError:
                continue
        if not found:
            sys.exit("bench: this kernel gives NAPI of a veth device no "
                     "thread, so what GRO costs cannot be measured; Linux "
                     "5.15 and newer can")
        return found

    def cpu(self):
        return sum(process_cpu(pid) for pid in self.threads)

    def lost(self):
        """How many packets the link itself has lost by now."""
        dev = subprocess.run([*self.sender, "cat", "/proc/net/dev"],
                             stdout=subprocess.PIPE, text=True, check=True)
        return sum(int(line.split()[12]) for line in dev.stdout.split("\n")
                   if line.lstrip().startswith("bf"))

    def close(self):
        # It is gone already if a Ctrl-C has ended `cat`, too.
        subprocess.run(["ip", "link", "del", self.device],
                       stderr=subprocess.DEVNULL, check=False)
        self.keeper.stdin.close()
        self.keeper.wait()


def ethtool(device, command, value):
    """SIOCETHTOOL with a command that sets a number."""
    words = bytearray(struct.pack("II", command, value))
    buffer = (ctypes.c_char * len(words)).from_buffer(words)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8946, struct.pack("16sP16x", device.encode(),
                                           ctypes.addressof(buffer)))


def run(*command):
    """A command that has to succeed."""
    p = subprocess.run(command, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True, check=False)
    if p.returncode:
        sys.exit(f"bench: '{' '.join(command)}' failed: {p.stderr.strip()}")


def private():
    """Gives the bench a network and mounts of its own, which the kernel
    removes when the bench ends, and whose counters only the bench raises (but
    that of the backlog, which is the machine's).  Skips without root."""
    if LIBC.unshare(0x40020000):    # CLONE_NEWNET | CLONE_NEWNS
        print("bench: skipped: this makes a network and mounts of its own, "
              "which the kernel refused "
              f"({os.strerror(ctypes.get_errno())}): run it as root",
              file=sys.stderr)
        sys.exit(77)
    run("mount", "--make-rprivate", "/")
    run("ip", "link", "set", "lo", "up")

    def end(number, _):
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)


def sync(folder):
    """As sync(2), for the file system of a folder alone."""
    fd = os.open(folder, os.O_RDONLY)
    LIBC.syncfs(fd)
    os.close(fd)


def counters():
    """How many packets this machine has lost by now: {counter: number}."""
    lost = {}
    with open("/proc/net/snmp", encoding="ascii") as f:
        names, values = [line.split() for line in f
                         if line.startswith("Udp:")]
    for name, value in zip(names, values):
        if name.endswith("Errors"):
            lost["udp " + name] = int(value)
    with open("/proc/net/softnet_stat", encoding="ascii") as f:
        lost["backlog"] = sum(int(line.split()[1], 16) for line in f)
    with open("/proc/net/dev", encoding="ascii") as f:
        for line in list(f)[2:]:
            device, words = line.split(":")
            lost[device.strip()] = sum(map(int, words.split()[2:5]))
    return lost


def risen(before, after=None):
    """The counters that rose since `before`, and by how much."""
    return {name: n - before.get(name, 0)
            for name, n in (after or counters()).items()
            if n > before.get(name, 0)}


def process_cpu(pid):
    """Seconds, by the clock of the CPU time of a process, which is finer than
    the hundredths of /proc."""
    return time.clock_gettime(~pid << 3 | 2)


def send_start(build, ports, rate, seconds, *how, link=Loopback()):
    return subprocess.Popen(
        [*link.sender, build + "/spate", "gen", "--to",
         f"udp://{link.host}:{ports}",
         "--rate", str(int(rate)) if rate else "max", "--for", f"{seconds}s",
         "--json", *how],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        preexec_fn=die_with_us)


def send_end(p):
    out = p.communicate()[0]
    if p.returncode:
        sys.exit(f"bench: `spate gen` failed with {p.returncode}")
    return json.loads(out.splitlines()[-1])


def send(*what, **how):
    """`spate gen`; what it says it did."""
    return send_end(send_start(*what, **how))


class Loop:
    """The bare loop; end() gives what came and what it took."""

    def __init__(self, build, ports, mode, datagram, memory, seconds,
                 link=Loopback()):
        self.p = subprocess.Popen(
            [build + "/tests/bench/receive_loop", str(ports), mode,
             str(datagram), str(memory), str(seconds + 10), link.host],
            stdout=subprocess.PIPE, text=True, preexec_fn=die_with_us)
        self.p.stdout.readline()

    def end(self):
        return json.loads(self.p.communicate()[0])


def highest(probe, low, high, step, seconds, proof):
    """The highest rate at which probe(rate, seconds)["ok"], halved to `step`
    and proved for `proof` seconds; with what the proof gave."""
    while high - low > step:
        rate = (low + high) / 2
        if probe(rate, seconds)["ok"]:
            low = rate
        else:
            high = rate
    rate = low
    while rate > step:
        got = probe(rate, proof)
        if got["ok"]:
            return rate, got
        rate *= 0.97
    return 0, {}


def table(title, rows, widths):
    print(f"\n{title}")
    for row in rows:
        print("  " + "  ".join(
            f"{cell:<{w}}" if i == 0 else f"{cell:>{w}}"
            for i, (cell, w) in enumerate(zip(row, widths))))
