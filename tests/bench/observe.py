#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What does it cost to watch a stream while it is recorded?

A real spated takes VDIF at one rate, in trains as the sender cuts them, with a
disk plugin that writes nothing, unless --writer names another.  Runs with all
of it off and with all of it on come in turns, the first one of a pair changing
with each.  On is: samples are looked at (`quality`), spate-web runs, /metrics is
scraped once a second, a page listens to /events, and `spate status --watch` has
a terminal.  CPU seconds per GB are compared: of spated, spate-web and the
terminal together; beside that stand the thread that looks at samples, spate-web
and the terminal.  The clock of the data is watched in both: nothing turns it
off.  The processes have the beginning and the end of the recording as well, which
cost some milliseconds whatever its length.  Every figure is the median of the
runs.  A run that lost something counts, and is said.

With --scrape N it times instead how long /metrics takes with N streams that are
all recorded: a scrape a second, and a read of a buffer of the same size from a
bare server, which is what HTTP and Python take.
"""

import argparse
import contextlib
import http.client
import http.server
import json
import os
import pty
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

from common import GB, die_with_us, free_ports, process_cpu, ports_text
from common import table as both_table
from record import Bench

WAYS = {"off": "quality = false;", "on": ""}


def thread_cpu(pid, name):
    """CPU seconds of the threads of that name."""
    ticks = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii") as f:
            text = f.read()
        if text[text.index("(") + 1:text.rindex(")")] == name:
            fields = text[text.rindex(")") + 2:].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def free_tcp_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Web:
    """spate-web beside a daemon of Bench."""

    def __init__(self, b, port):
        self.url = f"http://127.0.0.1:{port}"
        self.p = subprocess.Popen(
            [b.build + "/spate-web", "-c", os.path.join(b.dir, "spate.conf")],
            stderr=subprocess.DEVNULL, preexec_fn=die_with_us)
        for _ in range(200):
            with contextlib.suppress(OSError):
                self.scrape()
                return
            time.sleep(0.05)
        sys.exit("bench: spate-web does not answer")

    def scrape(self):
        with urllib.request.urlopen(self.url + "/metrics", timeout=10) as r:
            return r.read()

    def end(self):
        self.p.terminate()
        self.p.wait()


class Watchers:
    """All who look: a scraper, a page and a terminal."""

    def __init__(self, b, d, port):
        self.web = Web(b, port)
        self.over = threading.Event()
        self.page = urllib.request.urlopen(self.web.url + "/events")
        main, side = pty.openpty()
        self.watch = subprocess.Popen(
            [b.build + "/spate", "--socket", d.socket, "status", "--watch"],
            stdin=side, stdout=side, stderr=side, preexec_fn=die_with_us,
            env={**os.environ, "TERM": "xterm", "LINES": "24",
                 "COLUMNS": "80"})
        os.close(side)
        self.threads = [threading.Thread(target=t, daemon=True) for t in (
            self.scraper, lambda: self.drain(self.page.read1),
            lambda: self.drain(lambda n: os.read(main, n)))]
        for t in self.threads:
            t.start()
        self.before = self.now()

    def scraper(self):
        while not self.over.wait(1):
            self.web.scrape()

    @staticmethod
    def drain(read):
        with contextlib.suppress(OSError, ValueError,
                                 http.client.HTTPException):
            while read(65536):
                pass

    def now(self):
        return process_cpu(self.web.p.pid), process_cpu(self.watch.pid)

    def cpu(self):
        """Of spate-web and of the terminal, since the beginning."""
        return [a - b for a, b in zip(self.now(), self.before)]

    def end(self):
        self.over.set()
        self.threads[0].join()
        self.watch.terminate()
        self.watch.wait()
        self.web.end()


def once(b, way):
    port = free_tcp_port()
    b.fresh()
    with b.spated(f'web : {{ listen = "127.0.0.1:{port}"; }};',
                  WAYS[way]) as d:
        d.warm()
        d.ask("record", name="bench", streams=["bench"])
        watchers = Watchers(b, d, port) if way == "on" else None
        before = d.cpu()
        sent = b.send(b.a.rate, b.a.seconds)
        b.settle(d, sent["sent"])
        web, terminal = watchers.cpu() if watchers else (0, 0)
        seen = d.ask("status")["recordings"][0]
        thread = thread_cpu(d.p.pid, "spate-signal")
        got = d.ask("stop", name="bench")["recordings"][0]
        cpu = d.cpu() - before + web + terminal
        if watchers:
            watchers.end()
    each = {"cpu": cpu, "thread": thread, "web": web, "terminal": terminal}
    return {**{k: v / (got["bytes"] / GB) for k, v in each.items()},
            "lost": sent["sent"] - got["packets"],
            "frames": seen["quality_frames"] or 0,
            "missed": seen["quality_missed"] or 0,
            "quality": seen["quality"]}


def compare(b, a):
    runs = {way: [] for way in WAYS}
    for i in range(a.runs):
        for way in list(WAYS)[::-1 if i % 2 else 1]:
            print(f"run {i + 1} of {a.runs}: {way}", file=sys.stderr)
            runs[way].append(once(b, way))
            if a.json:
                print(json.dumps({"way": way, **runs[way][-1]}), flush=True)
    rows = [("", "CPU s/GB", "least", "most", "samples", "web", "terminal",
             "frames", "missed", "lost")]
    for way, got in runs.items():
        cpu = [r["cpu"] for r in got]
        rows.append((way, f"{statistics.median(cpu):.4f}", f"{min(cpu):.4f}",
                     f"{max(cpu):.4f}",
                     *(f"{statistics.median(r[k] for r in got):.4f}"
                       for k in ("thread", "web", "terminal")),
                     f"{statistics.median(r['frames'] for r in got):.0f}",
                     sum(r["missed"] for r in got),
                     sum(r["lost"] for r in got)))
    both_table(f"at {a.rate / 1e9:.1f} Gb/s, {a.seconds:.0f} s, median of "
               f"{a.runs}", rows, [8, 10, 8, 8, 8, 8, 8, 8, 8, 8])
    ratio = [on["cpu"] / off["cpu"]
             for on, off in zip(runs["on"], runs["off"])]
    of = (statistics.median(r["cpu"] for r in runs["on"]) /
          statistics.median(r["cpu"] for r in runs["off"]))
    print(f"\n  on / off: {of:.3f}; of pairs {statistics.median(ratio):.3f}, "
          f"{min(ratio):.3f} to {max(ratio):.3f} (wanted 1.02)")


class Bare(http.server.BaseHTTPRequestHandler):
    text = b""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.text)))
        self.end_headers()
        self.wfile.write(self.text)

    def log_message(self, *_unused):
        pass


def timed(what):
    begun = time.monotonic()
    what()
    return (time.monotonic() - begun) * 1e3


def scrapes(b, a):
    port = free_tcp_port()
    first = free_ports(a.scrape)
    more = "".join(f'''s{i} : {{ listen = [ "127.0.0.1:{first + i}" ];
            format = "vdif"; prefix = 8; payload = 8032; block = "1M";
            blocks = 4; socket_buffer = "1M"; }};''' for i in range(a.scrape))
    b.port = ports_text(first, 1)
    b.fresh()
    with b.spated(f'web : {{ listen = "127.0.0.1:{port}"; }};', "",
                  streams=more) as d:
        d.warm()
        for i in range(a.scrape):
            d.ask("record", name=f"r{i}", streams=[f"s{i}"])
        web = Web(b, port)
        before, began = d.cpu() + process_cpu(web.p.pid), time.monotonic()
        took = []
        for _ in range(a.runs):
            time.sleep(1.2)     # spated is asked anew after a second
            took.append(timed(web.scrape))
        cpu = d.cpu() + process_cpu(web.p.pid) - before
        seconds = time.monotonic() - began
        Bare.text = web.scrape()
        web.end()
    server = http.server.HTTPServer(("127.0.0.1", 0), Bare)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    bare = [timed(lambda: urllib.request.urlopen(url).read())
            for _ in range(a.runs)]
    server.shutdown()
    both_table(
        f"{a.scrape} streams, {len(Bare.text)} bytes, {a.runs} scrapes",
        [("", "ms", "least", "most")] +
        [(what, *(f"{of(got):.1f}" for of in (statistics.median, min, max)))
         for what, got in (("scrape (wanted 20)", took),
                           ("a bare server's", bare))], [20, 8, 8, 8])
    print(f"\n  CPU of spated and spate-web meanwhile: "
          f"{cpu / seconds * 1e3:.0f} ms per second")


def main():
    p = argparse.ArgumentParser(prog="scripts/bench observe",
                                description=__doc__.split("\n", 1)[0])
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--dir", default=".", help="where the disks' folders go")
    p.add_argument("--runs", type=int, default=6)
    p.add_argument("--seconds", type=float, default=10)
    p.add_argument("--rate", type=float, default=4e9,
                   help="bits per second (default 4e9)")
    p.add_argument("--scrape", type=int, metavar="N",
                   help="time /metrics with N streams instead")
    p.add_argument("--rest", type=float, default=1,
                   help="seconds between runs")
    p.add_argument("--memory", type=int, metavar="MIB")
    p.add_argument("--block", default="64M")
    p.add_argument("--writer", default="null", help="write plugin")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()

    b = Bench(a)
    try:
        if a.scrape:
            scrapes(b, a)
        else:
            compare(b, a)
    finally:
        b.close()


if __name__ == "__main__":
    main()
