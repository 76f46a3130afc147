# SPDX-License-Identifier: MIT
"""Sends SPEAD heaps with spead2, a sender that is not ours.

    spead_send.py FILE [OPTION...]

FILE gets the same heaps as spead2 writes them into memory, a stream for each
port: FILE.0, FILE.1 ...; check_spead.py compares those with what was
recorded.  Heaps are those of the SDP-CSP interface (visibilities of so many
stations, items 0x6000 to 0x600A, SPEAD-64-48) or of a correlator that counts
time in an item (0x1600, SPEAD-64-40).
"""
import argparse
import random
import sys

try:
    import numpy as np
    import spead2
    import spead2.send
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)

VIS = np.dtype([("TCI", "i1"), ("FD", "u1"), ("VIS", "<c8", 4)])
SDP = [  # id, name, dtype; those without a value are descriptors only
    (0x6000, "visibility_timestamp_count", "<u4", True),
    (0x6001, "visibility_timestamp_fraction", "<u4", True),
    (0x6002, "visibility_channel_id", "<u4", True),
    (0x6003, "visibility_channel_count", "<u4", True),
    (0x6004, "visibility_baseline_polarisation_id", "<u4", False),
    (0x6005, "visibility_baseline_count", "<u4", True),
    (0x6006, "phase_bin_id", "<u2", False),
    (0x6007, "phase_bin_count", "<u2", False),
    (0x6008, "scan_id", "<u8", False),
    (0x6009, "visibility_hardware_id", "<u4", False),
]


def group(kind, baselines):
    bits = 48 if kind == "sdp" else 40
    g = spead2.send.ItemGroup(flavour=spead2.Flavour(4, 64, bits))
    if kind == "sdp":
        for number, name, dtype, _ in SDP:
            g.add_item(number, name, name, shape=(), dtype=np.dtype(dtype))
        g.add_item(0x600A, "correlator_output_data", "visibilities",
                   shape=(baselines,), dtype=VIS)
    else:
        g.add_item(0x1600, "timestamp", "samples", shape=(),
                   format=[("u", 40)])
        g.add_item(0x1800, "xeng_raw", "products",
                   shape=(baselines * 17, 2), dtype=np.int32)
    return g


def fill(g, kind, channel, t, noise):
    """A heap's values; every byte follows from the channel and the time."""
    if kind == "sdp":
        g["visibility_timestamp_count"].value = np.uint32(1000 + t)
        g["visibility_timestamp_fraction"].value = np.uint32(t * 7919)
        g["visibility_channel_id"].value = np.uint32(channel)
        g["visibility_channel_count"].value = np.uint32(1)
        g["visibility_baseline_count"].value = np.uint32(
            g["correlator_output_data"].shape[0])
        item = g["correlator_output_data"]
        size = item.shape[0] * VIS.itemsize
        at = (channel * 131 + t * 17) % 4096
        item.value = noise[at:at + size].view(VIS)
    else:
        g["timestamp"].value = 4096 * (t + 10)
        item = g["xeng_raw"]
        at = (channel * 131 + t * 17) % 1024 * 4
        size = item.shape[0] * 8
        item.value = noise[at:at + size].view(np.int32).reshape(item.shape)


def heaps_make(a, channel, noise):
    """[(count, heap)] of one port."""
    g = group(a.kind, a.baselines)
    made = []
    count = a.first
    if a.controls:
        made.append((count, g.get_start()))
        count += a.step
    for t in range(a.heaps):
        fill(g, a.kind, channel, t, noise)
        first = t == 0 and a.descriptors != "none"
        made.append((count, g.get_heap(
            descriptors="all" if a.descriptors == "all" or first else "none",
            data="all")))
        if a.repeat:
            made[-1][1].repeat_pointers = True
        count += a.step
    if a.controls:
        made.append((count, g.get_end()))
    return made


def memory_write(a, path, heaps):
    config = spead2.send.StreamConfig(max_packet_size=a.packet)
    s = spead2.send.BytesStream(spead2.ThreadPool(), config)
    for count, heap in heaps:
        s.send_heap(heap, count)
    with open(path, "wb") as f:
        f.write(s.getvalue())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("file")
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=41000)
    p.add_argument("--ports", type=int, default=1)
    p.add_argument("--kind", choices=("sdp", "meerkat"), default="sdp")
    p.add_argument("--baselines", type=int, default=2016)
    p.add_argument("--heaps", type=int, default=12)
    p.add_argument("--packet", type=int, default=8972)
    p.add_argument("--descriptors", choices=("all", "first", "none"),
                   default="all")
    p.add_argument("--repeat", action="store_true",
                   help="all items in every packet")
    p.add_argument("--first", type=int, default=1, help="heap count")
    p.add_argument("--step", type=int, default=1, help="of heap counts")
    p.add_argument("--controls", action="store_true",
                   help="start and stop heaps")
    p.add_argument("--mixed", type=int, default=1,
                   help="heaps of one port whose packets go in turn")
    p.add_argument("--rate", type=float, default=50e6, help="bytes per second")
    a = p.parse_args()

    noise = np.random.RandomState(4711).bytes(a.baselines * 136 + 8192)
    noise = np.frombuffer(noise, dtype=np.uint8)
    heaps = [heaps_make(a, c, noise) for c in range(a.ports)]
    for channel, made in enumerate(heaps):
        memory_write(a, f"{a.file}.{channel}", made)
    config = spead2.send.StreamConfig(
        max_packet_size=a.packet, rate=a.rate, burst_size=65536,
        max_heaps=max(4, a.mixed * a.ports))
    stream = spead2.send.UdpStream(
        spead2.ThreadPool(), [(a.host, a.port + c) for c in range(a.ports)],
        config)
    # Ports in a random order at every step; within a port, heaps in theirs.
    order = random.Random(1)
    for i in range(0, len(heaps[0]), a.mixed):
        turn = [spead2.send.HeapReference(heap, cnt=count, substream_index=c)
                for c, made in enumerate(heaps)
                for count, heap in made[i:i + a.mixed]]
        if a.mixed == 1:
            order.shuffle(turn)
        stream.send_heaps(turn, spead2.send.GroupMode.ROUND_ROBIN)
    print(sum(len(made) for made in heaps))


if __name__ == "__main__":
    main()
