# SPDX-License-Identifier: MIT
"""Looks into the memory of spated while it records, by the verb `map`:

  map_client.py SOCKET follow NAME FOLDER READY
      until it has ended: each block that is seen in memory becomes a file
      FOLDER/<number>, and its record FOLDER/<number>.record; READY is made
      when memory is mapped.  Prints JSON: seen, torn, gone (from memory before
      they were copied), wrong (other bytes than before), floor, end, lost
  map_client.py SOCKET write NAME
      fails if anything could be written
  map_client.py SOCKET floor NAME N
      there are no descriptors; until N blocks are durable
  map_client.py SOCKET watch NAME [copy]
      until it has ended: looks as `follow` does, and with `copy` reads all,
      of which nothing is kept; prints how many blocks
  map_client.py SOCKET many NAME...
      all of them, by one connection
  map_client.py SOCKET hostile NAME
      clients that should not be so
  map_client.py SOCKET same NAME FOLDER DISK... FILE
      fails unless what was followed is what the disks have, and the indexes;
      FILE is all of it, one block after the other, of memory where it was seen
"""

import array
import ctypes
import json
import mmap
import os
import socket
import struct
import sys
import time

ENTRY = 128


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.fds = []
        self.text = b""
        self.id = 0
        self.line()
        self.socket.sendall(b'{"protocol":1}\n')

    def line(self):
        while b"\n" not in self.text:
            room = socket.CMSG_SPACE(4 * array.array("i").itemsize)
            text, control, _, _ = self.socket.recvmsg(65536, room)
            if not text:
                raise EOFError("cut off")
            for _, kind, data in control:
                assert kind == socket.SCM_RIGHTS
                fds = array.array("i")
                fds.frombytes(data)
                self.fds += fds
            self.text += text
        line, self.text = self.text.split(b"\n", 1)
        return json.loads(line)

    def send(self, verb, **request):
        self.id += 1
        request.update(id=self.id, do=verb)
        self.socket.sendall(json.dumps(request).encode() + b"\n")

    def ask(self, verb, **request):
        self.send(verb, **request)
        return self.line()

    def map(self, name, **more):
        answer = self.ask("map", name=name, **more)
        return answer["result"] if answer["ok"] else None


class Memory:
    """What stands in the page, by the rules of store/record/shm_blocks.h."""

    def __init__(self, client, told):
        assert told["fds"] and len(client.fds) == 2, "no descriptors"
        arena, page = client.fds
        self.arena = mmap.mmap(arena, told["arena_bytes"], prot=mmap.PROT_READ)
        self.page = mmap.mmap(page, told["page_bytes"], prot=mmap.PROT_READ)
        magic, version, self.entries, arena_bytes = struct.unpack_from(
            "8sIIQ", self.page)
        assert magic == b"spatemap" and version == 1
        assert arena_bytes == told["arena_bytes"]
        self.recording = told["recording"]

    def generation(self, at):
        return struct.unpack_from("Q", self.page, at)[0]

    def blocks(self):
        for i in range(1, self.entries + 1):
            generation, recording, number = struct.unpack_from(
                "QQQ", self.page, i * ENTRY)
            if not generation & 1 and recording == self.recording:
                yield i * ENTRY, generation, number

    def copy(self, entry, generation):
        """The record and the data, or None where it went meanwhile."""
        at, = struct.unpack_from("Q", self.page, entry + 24)
        record = self.page[entry + 48:entry + 112]
        size, = struct.unpack_from("<Q", record, 32)
        if self.generation(entry) != generation:
            return None
        data = self.arena[at:at + size]
        return (record, data) if self.generation(entry) == generation else None


def keep(folder, number, record, data):
    with open(f"{folder}/{number}", "wb") as file:
        file.write(data)
    with open(f"{folder}/{number}.record", "wb") as file:
        file.write(record)


def patient(client, name):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        told = client.map(name)
        if told:
            return told
        time.sleep(0.02)
    sys.exit(f"{name} is not there")


def follow(path, name, folder, ready):
    client = Client(path)
    told = patient(client, name)
    memory = Memory(client, told)
    open(ready, "w").close()
    did = dict(seen=0, torn=0, floor=0, end=0, lost=[], answers=1)
    seen = set()
    asked = time.monotonic()
    while told:
        for entry, generation, number in memory.blocks():
            if number in seen:
                continue
            block = memory.copy(entry, generation)
            did["torn"] += block is None
            if block:
                keep(folder, number, *block)
                seen.add(number)
        did["lost"] += told["lost"]
        assert told["floor"] >= did["floor"], "the floor sank"
        did.update({key: told[key] for key in ("first", "floor", "end")})
        time.sleep(max(0, asked + 0.02 - time.monotonic()))
        asked = time.monotonic()
        told = client.map(name, **{"from": did["floor"]})
        assert not told or not told["fds"], "descriptors came twice"
        did["answers"] += 1
    did["seen"] = len(seen)
    print(json.dumps(did))


def watch(path, name, copy=None):
    client = Client(path)
    told = patient(client, name)
    memory = Memory(client, told)
    seen = set()
    while told:
        for _ in range(10):
            for entry, generation, number in memory.blocks():
                if number not in seen and (not copy or
                                           memory.copy(entry, generation)):
                    seen.add(number)
            time.sleep(0.02)
        told = client.map(name, **{"from": told["floor"]})
    print(len(seen))


def can_write(fd):
    """What could be done with a descriptor that should only read."""
    libc = ctypes.CDLL(None, use_errno=True)
    for how in (lambda: os.write(fd, b"x"), lambda: os.ftruncate(fd, 0),
                lambda: mmap.mmap(fd, 4096)):
        try:
            how()
            return True
        except (OSError, PermissionError):
            pass
    keep_punch = 3
    return libc.fallocate(fd, keep_punch, ctypes.c_long(0),
                          ctypes.c_long(4096)) == 0


def write(path, name):
    client = Client(path)
    told = client.map(name)
    if not told:
        sys.exit(1)
    for fd in client.fds:
        assert not can_write(fd), "what was given can be written"
        for how in (os.O_RDWR, os.O_WRONLY):
            try:
                again = os.open(f"/proc/self/fd/{fd}", how)
            except OSError:
                continue
            assert not can_write(again), "opened anew it can be written"
    return told


def many(path, *names):
    client = Client(path)
    told = [client.map(name) for name in names]
    assert [one["fds"] for one in told] == [True] + [False] * (len(names) - 1)
    assert len({one["recording"] for one in told}) == len(names)
    assert len(client.fds) == 2


def floor(path, name, least):
    client = Client(path)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        told = client.map(name)
        assert not told["fds"] and not client.fds and "page_bytes" not in told
        if told["floor"] >= int(least):
            return
        time.sleep(0.1)
    sys.exit("what was written is not hurried")


def close(path, name):
    for n in range(20):
        client = Client(path)
        client.send("map", name=name)
        if n % 2:
            client.socket.shutdown(socket.SHUT_RD)
        client.socket.close()


def unknown(path, name):
    client = Client(path)
    for what in ("", "nobody", "x" * 5000, "../" + name, name + "\n", 7, None,
                 [name]):
        assert not client.ask("map", name=what)["ok"], what
    for what in (-1, "0", 1.5, None):
        assert not client.ask("map", name=name, **{"from": what})["ok"], what
    assert client.ask("map", name=name, **{"from": 2**62})["ok"]


def garbage(path, name):
    client = Client(path)
    pipes = os.pipe()
    socket.send_fds(client.socket, [b"{"], list(pipes))
    client.socket.sendall(b'"id":1,"do":"map","name":"%s"}\n' % name.encode())
    assert client.line()["ok"]
    for fd in pipes:
        os.close(fd)


def crowd(path, name):
    clients = [Client(path) for _ in range(100)]
    for client in clients:
        client.send("map", name=name)
    for client in clients[::2]:
        told = client.line()["result"]
        assert told["fds"] and len(client.fds) == 2
        for fd in client.fds:
            os.close(fd)
    for client in clients[:50]:
        client.socket.close()
    time.sleep(1.2)


def deaf(path, name):
    client = Client(path)
    client.socket.settimeout(0.2)
    try:
        for _ in range(3000):
            client.send("map", name=name)
    except OSError:
        pass


def often(path, name):
    client = Client(path)
    for _ in range(1000):
        assert client.map(name)


def hostile(path, name):
    for case in (close, unknown, garbage, crowd, deaf, often):
        print(case.__name__)
        case(path, name)


def same(path, name, folder, *disks):
    *disks, joined = disks
    chunks, records = {}, set()
    for disk in disks:
        with open(f"{disk}/{name}/{name}.index", "rb") as file:
            index = file.read()
        records |= {index[i:i + 64] for i in range(0, len(index), 64)}
        for one in os.listdir(f"{disk}/{name}"):
            number = one[len(name) + 1:]
            if number.isdigit():
                chunks[int(number)] = f"{disk}/{name}/{one}"
    with open(joined, "wb") as out:
        for number in sorted(chunks):
            with open(chunks[number], "rb") as file:
                data = file.read()
            if os.path.exists(f"{folder}/{number}"):
                with open(f"{folder}/{number}", "rb") as file:
                    seen = file.read()
                with open(f"{folder}/{number}.record", "rb") as file:
                    assert file.read() in records, f"record of {number}"
                assert seen == data, f"data of {number}"
                data = seen
            out.write(data)


def main():
    path, what, *rest = sys.argv[1:]
    cases = dict(follow=follow, write=write, floor=floor, hostile=hostile,
                 same=same, many=many, watch=watch)
    cases[what](path, *rest)


main()
