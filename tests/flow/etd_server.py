# SPDX-License-Identifier: MIT
"""An etransfer server for tests.

    etd_server.py FOLDER [KEY=VALUE ...]

Prints the ports of control and data on one line, and serves until it is
killed.  It was made after a description of etransfer's protocol (text lines;
"{ uuid:U, sz:N}" and bytes), because the real one could not be had: what it
agrees with is that description.

    address=TEXT   what data-channel-addr answers; %d is the data port
    break=N        the first data connection is reset after N bytes
    drop=N         the same, and the control connection, too
    refuse=TEXT    every write-file is answered with ERR TEXT
    lie=N          AlreadyHave says N, whatever there is
    silent=1       no answers at all
    short=N        the last N bytes of a load are thrown away
"""
import os
import re
import socket
import struct
import sys
import threading
import uuid

folder = sys.argv[1]
want = dict(a.split("=", 1) for a in sys.argv[2:])
files = {}
lock = threading.Lock()
broke = threading.Event()


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def open_file(mode, path):
    path = os.path.join(folder, path.lstrip("/"))
    there = os.path.exists(path)
    if "refuse" in want:
        return "ERR " + want["refuse"]
    if mode == "New" and there:
        return "ERR File exists"
    with lock:
        if any(f.name == path for f in files.values()):
            return "ERR already being written"
        f = open(path, "r+b" if there and mode == "Resume" else "w+b")
        have = f.seek(0, os.SEEK_END)
        u = str(uuid.uuid4())
        files[u] = f
    return f"AlreadyHave:{want.get('lie', have)}\nUUID:{u}\nOK"


def close_file(u):
    with lock:
        f = files.pop(u, None)
    if not f:
        return "ERR no such uuid"
    f.close()
    return "OK"


def answer(line, mine):
    word, _, rest = line.partition(" ")
    if word.startswith("write-file-"):
        said = open_file(word[len("write-file-"):], rest)
        mine += re.findall("UUID:(.*)", said)
        return said
    if word == "data-channel-addr":
        where = want.get("address", "<tcp/0.0.0.0:%d>")
        return "OK " + (where % data_port if "%d" in where else where) + "\nOK"
    if word in ("remove-uuid", "cancel"):
        return close_file(rest)
    return "ERR unknown command"


def control(s):
    mine = []
    controls.append(s)
    try:
        for line in s.makefile("r"):
            if "silent" not in want:
                s.sendall((answer(line.strip(), mine) + "\n").encode())
    except OSError:
        pass
    for u in mine:
        close_file(u)
    s.close()


def load(s, f, size):
    limit = int(want.get("break", want.get("drop", -1)))
    keep = size - int(want.get("short", 0))
    got = 0
    while got < size:
        data = s.recv(min(65536, size - got))
        if not data:
            return False
        f.write(data[:max(0, keep - got)])
        f.flush()
        got += len(data)
        if 0 <= limit <= got and not broke.is_set():
            broke.set()
            if "drop" in want:
                reset(controls[-1])
            reset(s)
            return False
    s.sendall(b"y")
    return True


def data(s):
    try:
        while True:
            head = b""
            while not head.endswith(b"}"):
                byte = s.recv(1)
                if not byte or len(head) > 4096:
                    return
                head += byte
            u = re.search(rb"uuid:([^,}\s]+)", head).group(1).decode()
            size = int(re.search(rb"sz:(\d+)", head).group(1))
            f = files.get(u)
            if not f or not load(s, f, size):
                return
    except (OSError, ValueError):
        pass
    finally:
        s.close()


def serve(door, what):
    while True:
        s, _ = door.accept()
        threading.Thread(target=what, args=(s,), daemon=True).start()


controls = []
doors = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
data_port = doors[1].getsockname()[1]
print(doors[0].getsockname()[1], data_port, flush=True)
threading.Thread(target=serve, args=(doors[1], data), daemon=True).start()
serve(doors[0], control)
