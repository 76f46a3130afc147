# SPDX-License-Identifier: MIT
"""What the benchmarks share: a private daemon, the sender, the bare loop."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

GB = 1e9


class Spated:
    """A private daemon over some folders, and a client of it."""

    def __init__(self, build, folder, conf):
        self.socket = os.path.join(folder, "socket")
        self.log = open(os.path.join(folder, "log"), "w+b")
        path = os.path.join(folder, "spate.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write(f'control : {{ socket = "{self.socket}"; }};\n{conf}\n')
        self.p = subprocess.Popen([build + "/spated", "-c", path],
                                  stderr=self.log)
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
        with open(f"/proc/{self.p.pid}/stat", encoding="ascii") as f:
            words = f.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

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


def send(build, ports, rate, seconds, *how):
    """`spate gen`; what it says it did."""
    out = subprocess.run(
        [build + "/spate", "gen", "--to", f"udp://127.0.0.1:{ports}",
         "--rate", str(int(rate)) if rate else "max", "--for", f"{seconds}s",
         "--json", *how],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(out.stdout.splitlines()[-1])


class Loop:
    """The bare loop; end() gives what came and what it took."""

    def __init__(self, build, ports, mode, datagram, memory, seconds):
        self.p = subprocess.Popen(
            [build + "/tests/bench/receive_loop", str(ports), mode,
             str(datagram), str(memory), str(seconds + 10)],
            stdout=subprocess.PIPE, text=True)
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
