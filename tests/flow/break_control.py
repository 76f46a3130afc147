#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What clients do that were not written with care.

break_control.py SOCKET CASE: exits with 0 when spated behaved.
"""
import json
import os
import random
import socket
import sys
import time

path = sys.argv[1]


class Client:
    def __init__(self, greet=True):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.connect(path)    # waits while too many others do
        self.s.settimeout(30)
        self.file = self.s.makefile("r")
        if greet:
            self.s.sendall(b'{"protocol":1}\n')
            assert json.loads(self.file.readline()) == {"protocol": 1}

    def ask(self, **request):
        self.s.sendall(json.dumps({"id": 1, **request}).encode() + b"\n")
        return json.loads(self.file.readline())

    def close(self):
        self.file.close()
        self.s.close()

    def is_cut_off(self):
        """Nothing comes but the greeting, and then the end."""
        try:
            while self.s.recv(65536):
                pass
        except ConnectionResetError:
            pass
        except TimeoutError:
            return False
        return True

    def spill(self, data):
        try:
            self.s.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass


def alive():
    assert Client().ask(do="status")["ok"]


def garbage():
    random.seed(2)
    lines = [b"\n", b"{}\n", b"[]\n", b"null\n", b"{\n", b"\0\n", b"7\n",
             b'{"protocol":2}\n', b'{"protocol":"1"}\n', b"GET / HTTP/1.1\n\n",
             b'{"do":"status"}\n', b"[" * 100000 + b"\n",
             b'{"protocol":1,"protocol":{"a":"\xff"}}\n']
    lines += [random.randbytes(n) + b"\n" for n in range(1, 2000, 97)]
    for line in lines:
        c = Client(greet=False)
        c.spill(line)
        assert c.is_cut_off(), line[:40]
    for line in (b"nonsense\n", b"[1]\n", b"\n", random.randbytes(500) + b"\n"):
        c = Client()
        c.spill(line)
        assert c.is_cut_off(), line
    alive()


def transfers():
    """Of `send` and its like: one thing is wrong with each."""
    good = {"do": "send", "name": "busy", "to": "null://", "follow": True}
    bad = {"name": [None, 5, "", "../x", "x" * 10**5, {}, "99", "nobody"],
           "to": [None, 5, "", "null", "null://" + "x" * 10**5, "foo://x", []],
           "follow": ["yes", 1, False], "plain": [0, "no"],
           "rate": [5, "", "fast", "-1Mbps", "1e400Gbps", []],
           "connections": [0, -1, 10**6, 2**63 - 1, "4", 1.5],
           "priority": ["high", 2**40, 0.5], "patience": [5, "x", "0s", "99y"],
           "range": ["", "..", "1..2", "now..", "+1s..", 5,
                     "2026-11-20T10:00:00Z..2026-11-20T10:00:00Z",
                     "x" * 500 + ".." + "y" * 500],
           "bytes": ["..", "5", "9..3", "a..b", "-1..", [1, 2],
                     "99999999999999999999T.."],
           "threads": [[], 5, ["a"], [-1], [1024], [0] * 5000, [[0]]],
           "sub": [-2, "a", 10**9], "strip": ["head", -1, 10**9],
           "no_prefix": ["x"], "packet": [1, 10**9, "1K"],
           "for": ["x", 5, "-1s"]}
    wrong = [{**good, key: value} for key, values in bad.items()
             for value in values]
    wrong += [{"do": "send"}, {"do": "relay"}, {"do": "relay", "stream": "t"},
              {"do": "relay", "stream": "x", "to": "null://"},
              {"do": "relay", "stream": [], "to": "null://"},
              {"do": "sends", "send": "1"}, {"do": "sends", "send": -1},
              {"do": "sends", "send": 2**63 - 1}, {"do": "rate"}]
    for do in ("rate", "pause", "resume-send"):
        wrong += [{"do": do, "send": send, "rate": "1Gbps"}
                  for send in (None, "1", -1, 0, 99999, 2**32, 1.5, [], {})]
    wrong += [{"do": "record", "name": "n", "streams": ["t"], "send": send}
              for send in (5, "foo://x", "null", [], "x" * 10**5)]
    return wrong


def varied():
    """Streams with keys that cannot be, none of which becomes a part of text."""
    keys = [{"payload": "x"}, {"payload": -1}, {"payload": 2**40},
            {"format": "../raw"}, {"format": "none"}, {"format": 5},
            {"format": 'raw"; rate = "1Gbps'}, {"name": "../x"}, {"name": ""},
            {"name": "x" * 99}, {"listen": "x"}, {"listen": [1]},
            {"listen": ["x" * 200]}, {"listen": ["127.0.0.1:1"] * 65},
            {"listen": ["nowhere"]}, {"split": "x"}, {"receive": "udp"},
            {"legacy": 1}, {"prefix": -1}, {"prefix": 9999},
            {"layout": 'vbs"; }; x : {'}, {"socket_buffer": 2**60},
            {"receive": "tcp", "allow": "x"}, {"palyoad": 1032},
            {"listen ": ["127.0.0.1:1"]}, {"allow": ["10.0.0.0/8"]},
            {"receive": "tcp", "listen": ["127.0.0.1:1"], "allow": ["x"]},
            {"stream": 5}, {"stream": None}, {"stream": "nobody"}]
    streams = [[{"stream": "t", **k}] for k in keys] + [[{}], [{"t": {}}]]
    return ([{"do": "streams", "streams": s} for s in streams] +
            [{"do": "record", "name": "n", "streams": s} for s in streams])


def kept():
    """A few small values are kept, each for a client that knows its name."""
    c = Client()
    wrong = [{}, {"name": ""}, {"name": 1}, {"name": "x" * 65, "value": 1},
             {"name": "large", "value": "x" * 700000}]
    for request in wrong:
        answer = c.ask(do="keep", **request)
        assert answer["ok"] is False and answer["error"]["what"], answer
    value = {"a": [1, None, "\u00e9"]}
    assert c.ask(do="keep", name="k0", value=value)["ok"]
    assert Client().ask(do="keep", name="k0")["result"]["value"] == value
    n = 1
    while c.ask(do="keep", name=f"k{n}", value=n)["ok"]:
        n += 1
        assert n < 100
    for i in range(n):
        assert c.ask(do="keep", name=f"k{i}", value=None)["ok"]
    assert c.ask(do="keep", name="k0")["result"]["value"] is None


def requests():
    """JSON, but not what is asked for: an answer that says what is wrong."""
    c = Client()
    wrong = [{}, {"do": 7}, {"do": None}, {"do": "dance"}, {"do": ""},
             {"do": "record"}, {"do": "record", "name": 5, "streams": ["t"]},
             {"do": "record", "name": "n", "streams": "t"},
             {"do": "record", "name": "n", "streams": [1]},
             {"do": "record", "name": "n", "streams": []},
             {"do": "record", "name": "n", "streams": [None]},
             {"do": "record", "name": "n", "streams": {"t": 1}},
             {"do": "record", "name": "n" * 10**5, "streams": ["t"]},
             {"do": "record", "name": "n", "streams": ["t"] * 1000},
             {"do": "record", "name": "n", "streams": ["t"], "for": "x"},
             {"do": "record", "name": "n", "streams": ["t"], "for": 30},
             {"do": "record", "name": "n", "streams": ["t"], "for": "250y"},
             {"do": "record", "name": "n", "streams": ["t"], "for": "0s"},
             {"do": "record", "name": "n", "streams": ["t"], "until": [1]},
             {"do": "record", "name": "../n", "streams": ["t"]},
             {"do": "stop"}, {"do": "stop", "name": ""},
             {"do": "stop", "name": 1}, {"do": "stop", "name": "99999"},
             {"do": "info"}, {"do": "info", "name": {}},
             {"do": "info", "name": ""}, {"do": "stop", "send": 1},
             {"do": "stop", "send": "x"}, {"do": "stop", "recording": True},
             {"do": "stop", "name": "1", "recording": True},
             {"do": "send", "name": "n", "to": "file:/etc/x", "fd": True}]
    wrong += transfers() + varied()
    kept()
    networks = [f"10.0.{i}.0/24" for i in range(200)]
    answer = c.ask(do="streams", streams=[
        {"stream": "t", "receive": "tcp", "listen": ["127.0.0.1:1"],
         "allow": networks}])
    assert answer["ok"], answer
    for request in wrong:
        answer = c.ask(**request)
        assert answer["ok"] is False, (request, answer)
        assert answer["error"]["what"] and answer["error"]["code"], answer
    assert c.ask(do="status", id="seven", extra=[[[]]])["ok"]
    many = b"".join(b'{"id":%d,"do":"streams"}\n' % i for i in range(1000))
    c.s.sendall(many)
    ids = [json.loads(c.file.readline())["id"] for _ in range(1000)]
    assert ids == list(range(1000))
    # One letter at a time, and a client that leaves in the middle of it.
    for i in b'{"id":5,"do":"disks"}\n':
        c.s.sendall(bytes([i]))
    assert json.loads(c.file.readline())["id"] == 5
    Client().s.sendall(b'{"id":1,"do":"sta')


def long_lines():
    for greet in (False, True):
        c = Client(greet)
        c.spill(b'{"id":1,"do":"' + b"x" * (10 << 20) + b'"}\n')
        assert c.is_cut_off()
        c = Client(greet)
        c.spill(b"x" * (10 << 20))
        assert c.is_cut_off()
    alive()


def idle():
    """More than there is room for, of which many never say anything."""
    first = Client()
    crowd = []
    for i in range(400):
        crowd.append(Client(greet=i % 4 == 0))
        time.sleep(0.002)   # others have to get a word in
    alive()
    assert crowd[-4].ask(do="status")["ok"]
    assert first.ask(do="status")["ok"]
    assert crowd[1].is_cut_off()
    for c in crowd:
        c.close()
    alive()


def never_reads():
    pid = Client().ask(do="status")["result"]["pid"]

    def memory():
        with open(f"/proc/{pid}/status") as f:
            return next(int(line.split()[1]) for line in f
                        if line.startswith("VmRSS"))

    before = memory()
    c = Client()
    c.s.settimeout(10)
    try:
        end = time.monotonic() + 15     # enough, where it is slow
        while time.monotonic() < end:
            c.s.sendall(b'{"id":1,"do":"status"}\n' * 10)
    except OSError:
        pass    # cut off, or not heard any more: both are good
    alive()
    grown = memory() - before
    assert grown < 64 << 10 or os.environ.get("ASAN_OPTIONS"), grown
    c.close()


def slow():
    """Reads an answer of status in small bites, far behind."""
    c = Client()
    c.s.sendall(b'{"id":1,"do":"status"}\n' * 200)
    got = b""
    while got.count(b"\n") < 200:
        got += c.s.recv(997)
        time.sleep(0.0003)
    for line in got.splitlines():
        assert json.loads(line)["ok"]


globals()[sys.argv[2]]()
