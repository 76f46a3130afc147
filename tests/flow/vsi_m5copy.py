#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What m5copy 1.61 says to two recorders, word for word.

vsi_m5copy.py CASE ARGUMENT ...: exits with 0 when every reply was one that
m5copy goes on with.  A command ends with ";\\n\\r", and its reply is whatever
comes until nothing more does for a moment.
"""
import random
import socket
import string
import sys
import time


class Refused(Exception):
    pass


class Recorder:
    def __init__(self, port, data_port, runtime=True):
        self.s = socket.create_connection(("127.0.0.1", port), timeout=60)
        version = self.ask("version?", 0)
        assert version[2].startswith("jive5"), version
        assert version[3] == "3.1.0", version
        self.ask("dts_id?")
        self.runtime = None
        if runtime:
            letters = string.ascii_letters + string.digits
            self.runtime = "".join(random.choice(letters) for _ in range(8))
            self.old = self.ask("runtime?", 0)[2]
            self.ask(f"runtime={self.runtime}:transient", 0)
        self.ask("mode=none", 0)
        self.ask("net_protocol=tcp:4M:2M", 0)
        self.ask("mtu=1500", 0)
        self.ask("ipd=0ns")
        self.ask(f"net_port={data_port}", 0)

    def ask(self, command, *codes):
        """The fields of the reply; the code is the second."""
        self.s.settimeout(60)
        self.s.send((command + ";\n\r").encode())
        reply = self.s.recv(1024).decode()
        self.s.settimeout(0.01)
        try:
            while True:
                reply += self.s.recv(1024).decode()
        except socket.timeout:
            pass
        reply = reply.strip()
        body = reply[:reply.rfind(";")]
        at = body.find("=") if "=" in body else body.find("?")
        fields = [f.strip() for f in [body[:at]] + body[at + 1:].split(":")]
        if int(fields[1]) not in (codes or (0, 1)):
            raise Refused(reply)
        return fields

    def cleanup(self):
        self.ask("echo=on", 0)
        if self.runtime:
            self.ask(f"runtime={self.runtime}:delete")
            self.ask(f"runtime={self.old}")
        self.s.close()


def still(count, times=2):
    """Asks until the count of what arrived stays the same."""
    old, same = count(), 0
    while same < times:
        time.sleep(0.2)     # m5copy: 1 s
        new = count()
        same = same + 1 if new == old else 0
        old = new
    return old


class Record:
    """To vbs:// from what is not: vbs_record."""

    def __init__(self, sink, mode):
        self.sink, self.mode = sink, mode
        sink.ask("record=mk6:0", 0)
        sink.ask("net_protocol=::256M:8")
        sink.ask("record=nthread:1:4", 0)

    def open(self, name):
        self.sink.ask(f"mode={self.mode}", 0)
        assert len(self.sink.ask(f"record=on:{name}", 0)) == 2

    def count(self):
        reply = self.sink.ask("record?", 0)
        return None if reply[2] == "off" else int(reply[-1])

    def cancel(self):
        self.sink.ask("record=off", *range(9))
        self.sink.ask("mode=none", 0)


def case_record(sink_port, data_port, name, path):
    """A file, sent by somebody, becomes a recording."""
    sink = Recorder(int(sink_port), data_port)
    to = Record(sink, "VDIF_8000-64-1-2")
    to.open(name)
    with open(path, "rb") as f:
        data = f.read()
    with socket.create_connection(("127.0.0.1", int(data_port)), 60) as s:
        s.sendall(data)
    assert still(to.count) == len(data)
    to.cancel()
    sink.cleanup()


def case_runtimes(port, data_port, station):
    """One that is gone leaves nothing; the station's own is not touched."""
    one = Recorder(int(port), data_port)
    two = Recorder(int(port), data_port)
    assert one.ask("record?")[2] == "off"
    assert one.ask("runtime?")[2:4] == [one.runtime, "3"]
    for how in ("new", "transient"):
        try:
            two.ask(f"runtime={one.runtime}:{how}")
            raise AssertionError(how)
        except Refused as e:
            assert "already exists" in str(e), e
    two.ask(f"runtime={one.runtime}:exists", 0)
    assert two.ask("net_protocol?")[2] == "tcp"
    # It goes with its own connection; the other one falls back.
    one.s.close()
    while two.ask("runtime?")[2] != "default":
        time.sleep(0.01)
    assert two.ask("record?")[2:5] == ["on", "1", station]
    two.s.close()


if __name__ == "__main__":
    globals()["case_" + sys.argv[1]](*sys.argv[2:])
