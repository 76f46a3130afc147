# SPDX-License-Identifier: MIT
"""SPEAD between spate and spead2, a sender and receiver that is not ours.

    real_spead.py rewrap PROGRAM          what spead2 sends, stored
    real_spead.py gen SPATE PORT FILE     what spate sends, received

`rewrap` lets spead2 cut heaps into packets, gives these to tests/flow/rewrap,
and lets spead2 read both, the packets and what came of them: item by item
the same.  `gen` lets spead2 receive what `spate gen` sends, and read the dump
of it.  Exit status is 0, 1 with a line per fault, or 77 where spead2 is not
installed.
"""
import random
import struct
import subprocess
import sys

try:
    import numpy as np
    import spead2
    import spead2.recv
    import spead2.send
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)

FAULTS = []


def same(what, found, expected):
    if found == expected:
        return
    FAULTS.append(what)
    print(f"{what}: {str(found)[:300]}, expected {str(expected)[:300]}")


# ---- what spead2 sends ----------------------------------------------------

VISIBILITY = np.dtype([("TCI", "i1"), ("FD", "u1"), ("VIS", "<c8", 4)])


def group(bits, baselines):
    """Items of all kinds: visibilities as the SDP-CSP interface has them.

    With their descriptors, theirs begin at an odd byte, behind the end of a
    first packet of 1472 bytes.
    """
    ig = spead2.send.ItemGroup(flavour=spead2.Flavour(4, 64, bits))
    for n, (name, kind, value) in enumerate((
            ("timestamp_count", "<u4", 1795168800),
            ("timestamp_fraction", "<u4", 2 ** 32 - 2),
            ("channel_id", "<u4", 0), ("channel_count", "<u4", 1),
            ("baseline_polarisation_id", "<u4", None),
            ("baseline_count", "<u4", baselines),
            ("phase_bin_id", "<u2", None), ("phase_bin_count", "<u2", None),
            ("scan_id", "<u8", 2 ** 60 + 1), ("hardware_id", "<u4", None))):
        value = value if value is None else np.dtype(kind).type(value)
        ig.add_item(0x6000 + n, f"visibility_{name}", "", (), np.dtype(kind),
                    value=value)
    ig.add_item(0x600A, "correlator_output_data", "noise", (baselines,),
                VISIBILITY, value=np.zeros(baselines, VISIBILITY))
    ig.add_item(0x1600, "timestamp", "immediate", (), format=[("u", bits)],
                value=2 ** bits - 2)
    ig.add_item(0x1234, "name", "of no fixed length", (None,),
                format=[("c", 8)], value="name" * 5)
    return ig


def heaps_of(bits, baselines, describe, data=3):
    """Start, some heaps with data, a reissue, stop."""
    ig = group(bits, baselines)
    noise = np.random.default_rng(baselines)
    yield ig.get_start()
    for n in range(data):
        some = noise.integers(0, 256, baselines * VISIBILITY.itemsize, "u1")
        ig["correlator_output_data"].value = some.view(VISIBILITY)
        ig["timestamp"].value = n * 1000003
        yield ig.get_heap(descriptors=describe, data="all")
    yield ig.get_heap(descriptors="all", data="none")
    yield ig.get_end()


def many_items(bits):
    """A heap with 700 items, which all of its packets have."""
    heap = spead2.send.Heap(spead2.Flavour(4, 64, bits))
    heap.repeat_pointers = True
    for n in range(700):
        heap.add_item(spead2.Item(0x1000 + n, "", "", (), format=[("u", 24)],
                                  value=n))
    heap.add_item(spead2.Item(0x2000, "", "", (5000,), np.dtype("u1"),
                              value=np.arange(5000).astype("u1")))
    yield heap


def packets_of(heaps, size):
    """The packets of each heap, as lists."""
    return [[bytes(p) for p in spead2.send.PacketGenerator(h, n, size)]
            for n, h in enumerate(heaps, 1)]


# ---- what spead2 reads ----------------------------------------------------

def value_of(item):
    return (item.immediate_value if item.is_immediate
            else bytes(memoryview(item)))


def described(d):
    return (d.id, d.name, d.description, tuple(d.shape), d.numpy_header,
            tuple(d.format))


def read(data, disorder=False):
    """count -> what a heap is, read by spead2 from a buffer."""
    stream = spead2.recv.Stream(
        spead2.ThreadPool(),
        spead2.recv.StreamConfig(max_heaps=64, stop_on_stop_item=False,
                                 allow_out_of_order=disorder),
        spead2.recv.RingStreamConfig(heaps=100, contiguous_only=False,
                                     incomplete_keep_payload_ranges=True))
    stream.add_buffer_reader(data)
    heaps = {}
    for heap in stream:
        whole = not isinstance(heap, spead2.recv.IncompleteHeap)
        heaps[heap.cnt] = {
            "whole": whole,
            "items": sorted((i.id, i.is_immediate, value_of(i))
                            for i in heap.get_items()) if whole else [],
            "descriptors": [described(d) for d in heap.get_descriptors()]
            if whole else [],
            "start": heap.is_start_of_stream(),
            "stop": heap.is_end_of_stream(),
            "ranges": [] if whole else heap.payload_ranges,
            "length": 0 if whole else heap.heap_length,
        }
    return heaps


# ---- through spate's plugin -----------------------------------------------

def rewrap(program, datagrams, strange=0):
    stream = b"".join(struct.pack("<I", len(d)) + d for d in datagrams)
    done = subprocess.run([program], input=stream, check=True,
                          capture_output=True)
    same("datagrams that are none of SPEAD",
         done.stderr.decode().split(", ")[-1],
         f"{strange} strange datagrams\n")
    return done.stdout


def look_at_whole(program, what, packets):
    """In order, and in any order, heaps between each other."""
    datagrams = [d for heap in packets for d in heap]
    expected = read(b"".join(datagrams))
    same(f"{what}: heaps that spead2 reads of its own", len(expected),
         len(packets))
    for n, heap in expected.items():
        same(f"{what}: heap {n} of spead2's is whole", heap["whole"], True)
    same(f"{what}, in order", read(rewrap(program, datagrams)), expected)
    random.Random(what).shuffle(datagrams)
    same(f"{what}, in disorder", read(rewrap(program, datagrams)), expected)


def ranges_of(packets):
    """Where the payloads of these packets lie in their heap, joined."""
    ranges = []
    for p in sorted(packets, key=lambda p: field(p, 3)):
        begin = field(p, 3)
        if ranges and ranges[-1][1] == begin:
            ranges[-1] = (ranges[-1][0], begin + field(p, 4))
        else:
            ranges.append((begin, begin + field(p, 4)))
    return ranges


def field(packet, wanted):
    """The value of an immediate item of a packet."""
    bits, n = packet[3] * 8, struct.unpack(">H", packet[6:8])[0]
    for word in struct.unpack(f">{n}Q", packet[8:8 + 8 * n]):
        if word >> bits == 1 << (63 - bits) | wanted:
            return word & ((1 << bits) - 1)
    return None


def look_at_holes(program, what, packets):
    """Some packets are lost: the ranges that came are read as such."""
    dice = random.Random(what)
    kept = [[p for n, p in enumerate(heap) if n == 0 or dice.random() < 0.6]
            for heap in packets]
    found = read(rewrap(program, [d for heap in kept for d in heap]),
                 disorder=True)
    for n, (heap, all_of_it) in enumerate(zip(kept, packets), 1):
        same(f"{what}: heap {n} is whole", found[n]["whole"],
             len(heap) == len(all_of_it))
        if len(heap) < len(all_of_it):
            same(f"{what}: ranges of heap {n}", found[n]["ranges"],
                 ranges_of(heap))


def look_at_strange(program):
    """What is no packet is left out, wherever it is."""
    packets = packets_of(heaps_of(48, 601, "all"), 1472)
    datagrams = [d for heap in packets for d in heap]
    expected = read(b"".join(datagrams))
    strange = [b"S", datagrams[3][:-1], datagrams[4] + b"x",
               bytes(57), datagrams[5][:60], b"\x53\x04" + bytes(1470)]
    for n, d in enumerate(strange):
        datagrams.insert(7 * n, d)
    same("between garbage", read(rewrap(program, datagrams, len(strange))),
         expected)


def all_of_rewrap(program):
    for bits in (40, 48):
        for size in (1472, 8972, 16356):
            for describe in ("all", "stale"):
                what = f"64-{bits}, {size} bytes, descriptors {describe}"
                packets = packets_of(heaps_of(bits, 2001, describe), size)
                look_at_whole(program, what, packets)
                look_at_holes(program, what, packets)
        look_at_whole(program, f"64-{bits}, 700 items",
                      packets_of(many_items(bits), 8972))
    for size in (1472, 8972):
        look_at_whole(program, f"512 stations, {size} bytes",
                      packets_of(heaps_of(48, 512 * 513 // 2, "all", 1), size))
    look_at_strange(program)


# ---- what spate gen sends -------------------------------------------------

def receive(port, command):
    """Heaps that spead2 receives, up to a stop heap, while command runs."""
    stream = spead2.recv.Stream(
        spead2.ThreadPool(),
        spead2.recv.StreamConfig(max_heaps=64, stop_on_stop_item=False),
        spead2.recv.RingStreamConfig(heaps=100))
    stream.add_udp_reader(port, bind_hostname="127.0.0.1")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as sender:
        heaps = {}
        for heap in stream:
            heaps[heap.cnt] = sorted((i.id, i.is_immediate, value_of(i))
                                     for i in heap.get_items())
            if heap.is_end_of_stream():
                break
        same(f"exit status of {' '.join(command)}", sender.wait(), 0)
    stream.stop()
    return heaps


def look_at_gen(program, port, dump, bits, options):
    """What was received is what a recording should be."""
    what = f"64-{bits} {' '.join(options)}"
    command = [program, "gen", "--to", f"udp://127.0.0.1:{port}", "--format",
               "spead", "--flavour", str(bits), "--rate", "50Mbps", "--dump",
               dump, "--time", "7", "--time-step", "9"] + options
    heaps = receive(int(port), command)
    with open(dump, "rb") as f:
        dumped = read(f.read())
    same(what, heaps, {n: heap["items"] for n, heap in dumped.items()})
    same(f"{what}: counts", sorted(dumped), list(range(1, 6)))
    for n, heap in dumped.items():
        same(f"{what}: heap {n} is whole", heap["whole"], True)
        same(f"{what}: heap {n} is a start", heap["start"], n == 1)
        same(f"{what}: heap {n} is a stop", heap["stop"], n == 5)
        if 1 < n < 5:
            times = [i[2] for i in heap["items"] if i[0] == 0x1600]
            same(f"{what}: time of heap {n}", times, [7 + 9 * (n - 2)])
        told = {"all": (2, 3, 4), "first": (2,), "none": ()}[options[-1]]
        same(f"{what}: what heap {n} describes",
             [d[1] for d in heap["descriptors"]],
             [b"timestamp", b"data"] if n in told else [])


def all_of_gen(program, port, dump):
    for bits in (40, 48):
        for size in ("1472", "8972"):
            for descriptors in ("all", "first", "none"):
                look_at_gen(program, port, dump, bits,
                            ["--heaps", "3", "--heap-bytes", "30001",
                             "--packet", size, "--descriptors", descriptors])


COMMANDS = {"rewrap": all_of_rewrap, "gen": all_of_gen}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
    sys.exit(1 if FAULTS else 0)
