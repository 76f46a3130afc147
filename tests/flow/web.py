# SPDX-License-Identifier: MIT
"""Clients of spate-web, good and bad.

    web.py agrees METRICS STATUS STREAMS SCANS   each metric is what --json says
    web.py flood PORT SECONDS RATE               prints how many were answered
    web.py never_reads PORT N                    until it is killed
    web.py names METRICS FILE...                 each metric that these use is there
    web.py garbage PORT                          what is no HTTP
"""
import json
import re
import socket
import sys
import threading
import time
from datetime import datetime

# Metric without `spate_`: key of its object.  What is derived is in derived().
KEYS = {
    "status": {"start_time_seconds": "started", "transfers_running": "sends_n",
               "transfers_failed_total": "sends_failed"},
    "memory": {"memory_bytes": "bytes", "memory_used_bytes": "borrowed",
               "memory_lent_bytes": "lent", "memory_ready_bytes": "ready",
               "memory_locked": "locked"},
    "space": {"space_disks": "disks", "space_size_bytes": "total",
              "space_free_bytes": "free", "space_full_seconds": "full_s"},
    "catalogue": {"catalogue_recordings": "recordings",
                  "catalogue_unread_recordings": "unread"},
    "disks": {"disk_free_bytes": "free", "disk_size_bytes": "total",
              "disk_full_seconds": "full_s",
              "disk_written_bytes_total": "written",
              "disk_written_blocks_total": "chunks",
              "disk_errors_total": "errors", "disk_queued_blocks": "queued",
              "disk_latency_seconds": "latency_ms",
              "disk_latency_p99_seconds": "latency_p99_ms",
              "disk_speed_bytes_per_second": "speed"},
    "streams": {"stream_recordings_total": "recordings",
                "stream_datagrams_total": "datagrams",
                "stream_packets_total": "packets",
                "stream_lost_packets_total": "packets_lost",
                "stream_reordered_packets_total": "packets_reordered",
                "stream_unreadable_packets_total": "packets_unreadable",
                "stream_at_risk_packets_total": "packets_at_risk",
                "stream_overruns_total": "overrun_causes",
                "stream_clock_steps_total": "clock_steps",
                "stream_written_bytes_total": "bytes",
                "stream_dropped_packets_total": "drops"},
}
# Other programs write to the same file system.
LOOSE = ("spate_disk_free_bytes", "spate_space_free_bytes",
         "spate_disk_full_seconds", "spate_space_full_seconds")
LINE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def metrics_of(path):
    """{(name, frozenset of labels): value}"""
    found = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            name, labels, value = LINE.match(line.rstrip("\n")).groups()
            key = name, frozenset(LABEL.findall(labels or ""))
            if key in found:
                sys.exit(f"twice: {line}")
            found[key] = float(value)
    return found


def number(key, value):
    if key in ("started", "start"):
        text = value.rstrip("Z")
        whole, part = text.split(".")
        return datetime.fromisoformat(whole + "+00:00").timestamp() + \
            float("0." + part)
    return value / 1000 if key.endswith("_ms") else float(value)


def derived(status, streams, scans):
    """Metrics that are no key of an object."""
    def counts(name, objects, key):
        for word in {one[key] for one in objects}:
            yield name, {key: word}, sum(o[key] == word for o in objects)
    yield "up", {}, 1
    yield "build_info", {"version": status["version"],
                         "station": status["station"]}, 1
    kernel = status["kernel"]
    for card in kernel["interfaces"]:
        for cause, n in card.items():
            if cause != "device":
                yield "interface_dropped_packets_total", \
                    {"interface": card["device"], "cause": cause}, n
    yield "backlog_dropped_packets_total", {}, kernel["backlog"]["dropped"]
    yield "backlog_squeezes_total", {}, kernel["backlog"]["squeezed"]
    for cause, n in kernel["udp"].items():
        yield "udp_errors_total", {"cause": cause}, n
    for disk in status["disks"]:
        yield "disk_state", {"disk": disk["path"], "state": disk["state"]}, 1
    for s in streams:
        mine = [r["blocks"] for r in status["recordings"]
                if r["stream"] == s["name"]]
        label = {"stream": s["name"]}
        yield "stream_recording", label, s["recording"] is not None
        yield "stream_armed", label, s["armed"] is not None
        yield "stream_blocks", label, sum(b["total"] for b in mine)
        yield "stream_free_blocks", label, sum(b["free"] for b in mine)
        yield from clock(status, s)
        if s["quality"] is not None:
            yield "stream_signal_ok", label, s["quality"] == "ok"
        found = [f for c in s["channels"] for f in c["findings"]]
        for word in set(found):
            yield "stream_channel_findings", {**label, "finding": word}, \
                found.count(word)
        links = [link for r in status["recordings"]
                 if r["stream"] == s["name"] for link in r["links"]]
        for word in {link["link"] for link in links}:
            yield "stream_link_well", {**label, "link": word}, \
                all(one["well"] for one in links if one["link"] == word)
    yield from counts("recordings", status["recordings"], "state")
    yield from counts("transfers", status["sends"], "state")
    yield from counts("incoming_copies", status["inbox"], "state")
    yield from counts("schedule_scans", scans, "state")
    ahead = [number("start", s["start"]) for s in scans
             if s["state"] in ("waiting", "armed")]
    if ahead:
        yield "schedule_next_start_time_seconds", {}, min(ahead)


def clock(status, stream):
    """Metrics of the clock of a stream's data."""
    label = {"stream": stream["name"]}
    pulses = [c["pps_ns"] for c in stream["channels"]
              if c["pps_ns"] is not None]
    if pulses:
        yield "stream_pps_seconds", label, max(pulses, key=abs) / 1e9
    for r in status["recordings"]:
        if r["stream"] == stream["name"] and r["clock_s"] is not None:
            break
    else:
        return
    yield "stream_clock_seconds", label, r["clock_s"]
    yield "stream_clock_ok", label, r["clock_fault"] is None
    if r["clock_fault"] is not None:
        yield "stream_clock_fault", {**label, "fault": r["clock_fault"]}, 1
    yield "stream_clock_apart_seconds", label, r["clock_apart_s"] or 0
    for name, key in (("drift_ratio", "clock_drift"),
                      ("spread_seconds", "clock_spread_s")):
        if r[key] is not None:
            yield "stream_clock_" + name, label, r[key]


def expected(status, streams, scans):
    """(name without spate_, labels, value) of all that spated says."""
    objects = {name: [(status[name], {})]
               for name in ("memory", "space", "catalogue")}
    objects["status"] = [(status, {})]
    objects["disks"] = [(d, {"disk": d["path"]}) for d in status["disks"]]
    objects["streams"] = [(s, {"stream": s["name"]}) for s in streams]
    for which, table in KEYS.items():
        for thing, labels in objects[which]:
            for name, key in table.items():
                if isinstance(thing[key], dict):
                    for cause, n in thing[key].items():
                        yield name, {**labels, "cause": cause}, float(n)
                elif thing[key] is not None:
                    yield name, labels, number(key, thing[key])
    yield from derived(status, streams, scans)


def agrees(path, *answers):
    loaded = []
    for one in answers:
        with open(one, encoding="utf-8") as text:
            loaded.append([json.loads(line) for line in text])
    status, streams, scans = loaded[0][0], loaded[1], loaded[2]
    is_, wrong = metrics_of(path), []
    for name, labels, value in expected(status, streams, scans):
        key = "spate_" + name, frozenset(labels.items())
        got = is_.pop(key, None)
        near = got is not None and key[0] in LOOSE and \
            abs(got - value) <= 0.1 * abs(value) + 1e9
        near = near or got is not None and abs(got - value) <= 1e-13 * abs(value)
        if not near:
            wrong.append(f"{key}: {got}, expected {value}")
    wrong += [f"{key}: nobody expects it" for key in is_
              if not key[0].startswith("spate_web_") and key[0] not in LOOSE]
    if wrong:
        sys.exit("\n".join(wrong))


def names(path, *files):
    """Names of metrics that alerts and dashboards use, and nobody makes."""
    with open(path, encoding="utf-8") as text:
        made = set(re.findall(r"^# TYPE (\S+) ", text.read(), re.M))
    for file in files:
        with open(file, encoding="utf-8") as text:
            used = set(re.findall(r"\bspate_[a-z0-9_]+", text.read()))
        if len(used) < 10:
            sys.exit(f"{file} uses {len(used)} metrics")
        if used - made:
            sys.exit(f"{file} uses {used - made}")


def get(port):
    return (f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            "\r\n").encode()


def flood(port, seconds, rate):
    """Four clients that stay connected, and ask in turn."""
    answered, clients = [0] * 4, 4
    end = time.monotonic() + seconds

    def client(i):
        with socket.create_connection(("127.0.0.1", port)) as s:
            stream, due = s.makefile("rb"), time.monotonic()
            while time.monotonic() < end:
                s.sendall(get(port))
                size = 0
                if not stream.readline().startswith(b"HTTP/1.1 200"):
                    return
                for line in iter(stream.readline, b"\r\n"):
                    if line.lower().startswith(b"content-length:"):
                        size = int(line.split(b":")[1])
                if len(stream.read(size)) < size:
                    return
                answered[i] += 1
                due += clients / rate
                time.sleep(max(0, due - time.monotonic()))
    threads = [threading.Thread(target=client, args=(i,))
               for i in range(clients)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    print(sum(answered))


def never_reads(port, n):
    mute = []
    for _ in range(n):
        s = socket.create_connection(("127.0.0.1", port))
        s.setblocking(False)
        try:
            while True:
                s.send(get(port) * 100)
        except OSError:
            mute.append(s)
    print("mute", flush=True)
    time.sleep(600)


def garbage(port):
    host = f"Host: 127.0.0.1:{port}\r\n".encode()
    for what in (b"\0" * 5000, b"\xff\xfe\r\n\r\n", b"GET\r\n\r\n",
                 b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 3000,
                 b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n" + host + b"\r\n",
                 b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
                 b"GET /../../etc/passwd HTTP/1.1\r\n" + host + b"\r\n",
                 b"POST /metrics HTTP/1.1\r\n" + host +
                 b"Content-Length: 99999999999999999999\r\n\r\n",
                 b"POST /metrics HTTP/1.1\r\n" + host +
                 b"Transfer-Encoding: chunked\r\n\r\nzzz\r\n",
                 b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"x" * 500,
                 b"GET /metrics HTTP/1.1\r\n" + host * 2 +
                 b"Host: evil\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port)) as s:
            got = b""
            s.settimeout(0.2)  # some wait for more, up to a limit of their own
            try:
                s.sendall(what)
                s.shutdown(socket.SHUT_WR)
                while part := s.recv(65536):
                    got += part
            except OSError:
                pass
        if b"etc/passwd" in what and b"root:" in got:
            sys.exit("it gives files away")
        if b" 200 " in got[:20] and b"evil" not in what:
            sys.exit(f"{what[:60]!r} is answered with {got[:60]!r}")


if __name__ == "__main__":
    act = globals()[sys.argv[1]]
    act(*(int(a) if a.isdigit() else a for a in sys.argv[2:]))
