#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""spead2's receiver, for scripts/bench: heaps into a pool of memory that is
touched before, counted and given back.

    spead2_loop.py PORT SECONDS

Ends at the stop item or after SECONDS; prints one JSON line: heaps, bytes,
cpu_s (user + system, of all threads).
"""

import json
import resource
import socket
import sys
import threading

import spead2
import spead2.recv


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def buffered(port):
    """A socket with as much buffer as the others of this benchmark have."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for force in (33, socket.SO_RCVBUF):    # SO_RCVBUFFORCE: for root
        try:
            s.setsockopt(socket.SOL_SOCKET, force, 32 << 20)
            break
        except PermissionError:
            pass
    s.setblocking(False)
    s.bind(("127.0.0.1", port))
    return s


def main():
    port, seconds = int(sys.argv[1]), float(sys.argv[2])
    pool = spead2.MemoryPool(1 << 20, 8 << 20, 24, 24)
    stream = spead2.recv.Stream(
        spead2.ThreadPool(1),
        spead2.recv.StreamConfig(memory_allocator=pool, max_heaps=4),
        spead2.recv.RingStreamConfig(heaps=8, contiguous_only=True))
    stream.add_udp_reader(buffered(port), max_size=9200)
    print("ready", flush=True)
    before = cpu()
    timer = threading.Timer(seconds, stream.stop)
    timer.start()
    heaps = size = 0
    for heap in stream:
        heaps += 1
        size += heap.cnt > 0 and heap_bytes(heap)
        del heap
    timer.cancel()
    print(json.dumps({"heaps": heaps, "bytes": size, "cpu_s": cpu() - before}))


def heap_bytes(heap):
    return sum(memoryview(i).nbytes for i in heap.get_items()
               if not i.is_immediate)


if __name__ == "__main__":
    main()
