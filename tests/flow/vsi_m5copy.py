#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What m5copy 1.61 says to one recorder or two, word for word.

vsi_m5copy.py CASE ARGUMENT ...: exits with 0 when every reply was one that
m5copy goes on with, and with 3 and the reply where it gives up.  A command ends
with ";\\n\\r", and its reply is whatever comes until nothing more does for a
moment.  A recorder is written PORT, and the port of data as DATA_PORT.
"""
import random
import socket
import string
import sys
import time


class Refused(Exception):
    pass


class Ignored(Exception):
    """The other end has all of it."""


class Recorder:
    def __init__(self, port, data_port, runtime=True, protocol="tcp"):
        self.s = socket.create_connection(("127.0.0.1", int(port)), 60)
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
        self.ask(f"net_protocol={protocol}:4M:2M", 0)
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
            raise Refused(f"{command}: {reply}")
        return fields

    def anything(self, command):
        self.ask(command, *range(9))

    def cleanup(self):
        self.ask("echo=on", 0)
        if self.runtime:
            self.ask(f"runtime={self.runtime}:delete")
            self.ask(f"runtime={self.old}")
        self.s.close()


# ---- where it comes from --------------------------------------------------

class Net:
    """disk2net and file2net: connect, wait until it is, on, wait until it
    goes."""

    def __init__(self, source, word, connect):
        self.source, self.word, self.connect = source, word, connect

    def start(self, first, last=""):
        self.source.ask(f"{self.word}=connect:{self.connect}",
                        *((0, 1) if self.word == "disk2net" else (0,)))
        end = time.monotonic() + 10
        while "connected" not in self.source.ask(f"{self.word}?", 0):
            assert time.monotonic() < end, "not connected"
            time.sleep(0.1)
        self.source.ask(f"{self.word}=on:{first}:{last}", 0)
        while "connected" in (r := self.source.ask(f"{self.word}?", 0)):
            time.sleep(0.1)
        if "inactive" in r:
            raise Ignored

    def progress(self):
        r = self.source.ask(f"{self.word}?")
        if r[2] != "inactive":
            return None
        start, current, end = (int(n) for n in r[4:7])
        assert current == end, "Transfer did not finish correctly"
        return end - start

    def cancel(self):
        self.source.anything(f"{self.word}=disconnect")


def disk2net(source, scan):
    source.ask("record=mk6:0")
    source.ask(f"scan_set={scan}::", 0)
    source.ask("scan_set?", 0)
    return Net(source, "disk2net", "127.0.0.1")


def file2net(source, path):
    return Net(source, "file2net", f"127.0.0.1:{path}")


# ---- where it goes to -----------------------------------------------------

class File:
    """net2file."""

    def __init__(self, sink, mode):
        self.sink, self.mode = sink, mode

    def open(self, path):
        r = self.sink.ask(f"net2file=open:{path},{self.mode}", 0, 4)
        if r[1] == "4" and any("File exists" in f for f in r[2:]):
            raise Ignored
        if r[1] == "4":
            raise Refused(":".join(r))
        return int(r[2]) or None

    def count(self):
        r = self.sink.ask("net2file?")
        return None if r[2] == "inactive" or len(r) < 4 else int(r[3])

    def cancel(self):
        self.sink.anything("net2file=close")


class Record:
    """To vbs:// from what is not: vbs_record."""

    def __init__(self, sink, mode):
        self.sink, self.mode = sink, mode
        sink.ask("record=mk6:0", 0)
        sink.ask("net_protocol=::256M:8")
        sink.ask("record=nthread:1:4", 0)

    def open(self, name):
        self.sink.ask(f"mode={self.mode}", 0)
        if len(self.sink.ask(f"record=on:{name}", 0)) > 2:
            raise Ignored

    def count(self):
        r = self.sink.ask("record?", 0)
        return None if r[2] in ("off", "inactive") else int(r[-1])

    def cancel(self):
        self.sink.anything("record=off")
        self.sink.ask("mode=none", 0)


class Disk:
    """net2disk."""

    def __init__(self, sink):
        self.sink = sink
        sink.ask("runtime=0", 0)

    def open(self, name):
        self.sink.ask(f"net2disk=open:{name}", 0)

    def count(self):
        r = self.sink.ask("net2disk?", 0)
        return 0 if r[2] == "inactive" or len(r) < 6 else int(r[5])

    def cancel(self):
        self.sink.anything("net2disk=close")


# ---- the copy -------------------------------------------------------------

def still(count, times=2):
    """Asks until the count of what arrived stays the same."""
    old, same = count(), 0
    while same < times:
        time.sleep(0.2)     # m5copy: 1 s
        new = count()
        same = same + 1 if new == old else 0
        old = new
    return old


def copy(source, sink, come, go, name, resume=False, first="", last=""):
    try:
        has = go.open(name)
        if resume and has:
            first = f"+{has}" if come.word == "disk2net" else has
        come.start(first, last)
        source.ask("echo=off", 0)
        sink.ask("echo=off", 0)
        while (sent := come.progress()) is None:
            time.sleep(0.1)
        source.ask("echo=on", 0)
        sink.ask("echo=on", 0)
        came = still(go.count)
        assert came is None or came == sent, (came, sent)
        print(f"{sent} bytes")
    except Ignored:
        print("already exists")
    for _ in range(2):          # it cancels again when it leaves
        come.cancel()
        go.cancel()
    source.cleanup()
    sink.cleanup()


def case_vbs_file(src, dst, data_port, scan, path, mode="n", first="",
                  last=""):
    source, sink = Recorder(src, data_port), Recorder(dst, data_port)
    go = File(sink, mode)
    copy(source, sink, disk2net(source, scan), go, path, mode == "a", first,
         last)


def case_file_file(src, dst, data_port, path, to, mode="n"):
    source, sink = Recorder(src, data_port), Recorder(dst, data_port)
    go = File(sink, mode)
    copy(source, sink, file2net(source, path), go, to, mode == "a")


def case_file_vbs(src, dst, data_port, path, name):
    source, sink = Recorder(src, data_port), Recorder(dst, data_port)
    go = Record(sink, None)
    r = source.ask(f"file_check ? : : {path}", 0)[2:]
    tracks = int(r[1])
    rate = int(r[4].removesuffix("Mbps"))
    go.mode = f"{r[0]}_{int(r[6]) - 32}-{tracks * rate}-{tracks}-1"
    copy(source, sink, file2net(source, path), go, name)


def case_file_mk5(src, dst, data_port, path, name):
    source = Recorder(src, data_port)
    sink = Recorder(dst, data_port, runtime=False)
    go = Disk(sink)
    copy(source, sink, file2net(source, path), go, name)


def case_vbs_local(port, data_port, scan, path, mode="n", first="", last=""):
    """disk2file."""
    source, sink = Recorder(port, data_port), Recorder(port, data_port)
    source.ask("record=mk6:0")
    source.ask(f"scan_set={scan}::", 0)
    source.ask(f"disk2file={path}:{first}:{last}:{mode}", 1)
    while (r := source.ask("disk2file?"))[2] != "inactive":
        assert int(r[4]) <= int(r[5]) <= int(r[6]), r
        time.sleep(0.1)
    for _ in range(2):
        source.anything("reset=abort")
    source.cleanup()
    sink.cleanup()


def case_vbs_vbs(src, dst, data_port, scan):
    """vbs2net and net2vbs."""
    source, sink = Recorder(src, data_port), Recorder(dst, data_port)
    source.ask("vbs2net=nthread:2:1")
    sink.ask("net2vbs=nthread:1:8", 0)
    sink.ask("net2vbs=open", 0)
    source.ask(f"vbs2net=connect:{scan}:127.0.0.1", 0)
    while (r := source.ask("tstat="))[3] == "vbs2net":
        int(r[5])
        time.sleep(0.1)
    for _ in range(2):
        source.anything("vbs2net=disconnect")
        sink.anything("net2vbs=close")
    source.cleanup()
    sink.cleanup()


def case_udt(port, data_port):
    Recorder(port, data_port, protocol="udt")


def case_runtimes(port, data_port, station):
    """One that is gone leaves nothing; the station's own is not touched."""
    one, two = Recorder(port, data_port), Recorder(port, data_port)
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
    try:
        globals()["case_" + sys.argv[1]](*sys.argv[2:])
    except Refused as refused:
        print(refused)
        sys.exit(3)
