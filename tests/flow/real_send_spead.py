# SPDX-License-Identifier: MIT
"""spead2 at both ends of a recording that is sent again.

    real_send_spead.py send PORT                 heaps of all kinds; prints how
                                                 many packets
    real_send_spead.py receive PORT FILE COMMAND...
                                                 what comes while COMMAND runs,
                                                 at a rate, are the heaps of
                                                 FILE

Exit status is 0, 1 with a line per fault, or 77 where spead2 is not installed.
"""
import socket
import subprocess
import sys
import time

from real_spead import FAULTS, heaps_of, packets_of, read, same, value_of
from real_spead import described, spead2


def send(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.1", int(port)))
    n = 0
    for heap in packets_of(heaps_of(48, 2001, "all", data=20), 1472):
        for packet in heap:
            s.send(packet)
            n += 1
            if n % 20 == 0:
                time.sleep(0.005)
    print(n)


def heaps_of_stream(stream):
    return {heap.cnt: {
        "items": sorted((i.id, i.is_immediate, value_of(i))
                        for i in heap.get_items()),
        "descriptors": [described(d) for d in heap.get_descriptors()],
        "start": heap.is_start_of_stream(),
        "stop": heap.is_end_of_stream(),
    } for heap in stream}


def receive_once(port, command):
    """The heaps that came until nothing comes any more."""
    stream = spead2.recv.Stream(
        spead2.ThreadPool(),
        spead2.recv.StreamConfig(max_heaps=16, stop_on_stop_item=False),
        spead2.recv.RingStreamConfig(heaps=2000))
    stream.add_udp_reader(port, bind_hostname="127.0.0.1",
                          buffer_size=4 << 20)
    status = subprocess.run(command, stdout=subprocess.DEVNULL,
                            check=False).returncode
    same(f"exit status of {' '.join(command)}", status, 0)
    time.sleep(0.5)
    stream.stop()
    return heaps_of_stream(stream)


def receive(port, path, *command):
    """Again and slower while the kernel had to drop some of it."""
    with open(path, "rb") as f:
        recorded = read(f.read())
    for rate in ("100Mbps", "30Mbps", "10Mbps"):
        got = receive_once(int(port), [*command, "--rate", rate])
        if len(got) == len(recorded):
            break
    same("heaps", sorted(got), sorted(recorded))
    for n, heap in got.items():
        same(f"heap {n}", heap, {key: recorded[n][key] for key in heap})
    same("starts and stops", [sum(h[k] for h in got.values())
                              for k in ("start", "stop")], [1, 1])


if __name__ == "__main__":
    {"send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
    sys.exit(1 if FAULTS else 0)
