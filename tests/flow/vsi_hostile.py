#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What comes in over VSI-S that no Field System sends.

vsi_hostile.py PORT CASE: exits with 0 when spated behaved, which a client
with manners finds out at the end of each.
"""
import random
import socket
import sys
import time

port = int(sys.argv[1])


class Client:
    def __init__(self):
        self.s = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.s.makefile("r", newline="\n", errors="replace")

    def ask(self, command):
        self.s.sendall(command.encode() + b"\n")
        return self.file.readline()

    def spill(self, data):
        try:
            self.s.sendall(data)
        except OSError:
            pass    # cut off: that is fine, too

    def close(self):
        self.file.close()
        self.s.close()


def alive():
    c = Client()
    reply = c.ask("record?")
    assert reply.startswith("!record? 0 : "), reply
    c.close()


def garbage():
    random.seed(5)
    c = Client()
    for n in range(1, 4000, 97):
        c.spill(random.randbytes(n) + b"\n")
    for line in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 5000,
                 b";" * 5000, b"\n" * 5000, b"=;?;:;\n", b"\xff\xf4\xff\xfd"):
        c.spill(line)
    c.spill(b"\n")
    c.s.shutdown(socket.SHUT_WR)
    while c.s.recv(65536):      # it is answered, line by line, to the end
        pass
    for _ in range(100):        # connects, and leaves in the middle of a word
        c = Client()
        c.spill(random.randbytes(random.randrange(200)))
        c.close()
    alive()


def long_lines():
    for byte in (b"x", b":", b" ", b"\0"):
        c = Client()
        c.spill(byte * (10 << 20))
        c.spill(b"\nrecord?\n")
        while "!record? 0" not in c.file.readline():
            pass
        c.close()
    alive()


def commands():
    """Many at once; every one is answered, in its order."""
    c = Client()
    c.s.sendall(b"".join(b"runtime?;x%d?;\n" % i for i in range(5000)))
    # A line that comes in pieces may be answered in two.
    text = ""
    while text.count(";") < 10000:
        text += c.file.readline().strip()
    for i, reply in enumerate(text.split(";")[:-1]):
        good = f"!x{i // 2}? 7 : " if i % 2 else "!runtime? 0 : default : 1"
        assert reply.startswith(good), (i, reply)
    c.close()
    crowd = [Client() for _ in range(30)]
    for c in crowd:
        c.s.sendall(b"evlbi?;rtime?;status?;scan_check?;mode?;\n" * 20)
    for c in crowd:
        text = ""
        while text.count(";") < 100:
            text += c.file.readline().strip()
        assert text.count("!evlbi? 0 : total") == 20, text
        c.close()
    alive()


def wrong():
    """Words that are good and orders that are not."""
    c = Client()
    for command in ("record=on", "record=on:" + "x" * 51, "record=on:;",
                    "record=on:" + "/.." * 10 + "x" * 30, "mode=VDIF",
                    "mode=VDIF_8000-512-16-999999999999", "net_port=0:0:0",
                    "net_protocol=udps:-1:-1:-1", "mtu=0x", "set_disks=/",
                    "scan_set=../../etc/passwd", "net_port=" + "1:" * 100,
                    "datastream=add", "record=nthread:-1:99999999999999",
                    "disk2file=../../etc/passwd:::w", "net2file=open:/etc/x,w",
                    "file2net=connect:a@b/c:/etc/passwd",
                    "vbs2net=connect:../../etc:127.0.0.1",
                    "disk2net=connect:" + "h" * 300,
                    "runtime=" + "x" * 99 + ":new", "runtime=a/b:transient"):
        reply = c.ask(command)
        code = int(reply.split("=", 1)[1].split()[0])
        assert code in (3, 4, 6, 7, 8), (command, reply)
    c.close()
    alive()


def half_lines():
    c = Client()
    for letter in b"record?\r":
        c.s.sendall(bytes([letter]))
        time.sleep(0.01)
    c.s.sendall(b"\n")
    assert c.file.readline().startswith("!record? 0")
    crowd = [Client() for _ in range(50)]
    for c in crowd:
        c.s.sendall(b"record = of")
    alive()
    for c in crowd:
        c.close()


def idle():
    """More than there is room for, that never say anything."""
    first = Client()
    assert first.ask("record?").startswith("!record? 0")
    crowd = []
    for _ in range(300):
        crowd.append(Client())
        time.sleep(0.002)   # others have to get a word in
    alive()
    assert first.ask("record?").startswith("!record? 0")
    for c in crowd:
        c.close()
    alive()


def browsers():
    """An order within what a web page has a browser send."""
    for request in (b"POST / HTTP/1.1\r\nHost: x\r\n\r\nrecord=off;\n",
                    b"GET /;record=off; HTTP/1.1\r\nHost: x\r\n\r\n",
                    b"OPTIONS * HTTP/1.1\r\n\r\nrecord=off;\n"):
        c = Client()
        c.spill(request)
        try:
            assert c.s.recv(100) == b"", request
        except ConnectionResetError:
            pass
        c.close()
    alive()


def never_reads():
    crowd = [Client() for _ in range(20)]
    for c in crowd:
        c.s.setblocking(False)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        for c in crowd:
            try:
                c.s.send(b"set_disks?;net_port?;evlbi?;\n" * 100)
            except BlockingIOError:
                pass
    alive()
    for c in crowd:
        c.close()


globals()[sys.argv[2]]()
