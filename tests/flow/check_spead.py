# SPDX-License-Identifier: MIT
"""Compares recorded SPEAD with what was sent, as spead2 reads both.

    check_spead.py RECORDED SENT... [--missing N] [--partial N]

RECORDED and SENT come in pairs, one for each port.  Every heap of RECORDED has to be one of SENT, item by item and byte by byte,
and each of SENT has to be there once, but for N that are missing and N that
came in part (those may differ only by being incomplete).  Prints a line for
each fault, with the number of the pair; exits 0, 1 (faults) or 77 (spead2 is not installed).
"""
import argparse
import sys

try:
    import spead2
    import spead2.recv
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)


def items(heap):
    out = []
    for item in heap.get_items():
        if item.is_immediate:
            out.append((item.id, item.immediate_value))
        else:
            out.append((item.id, bytes(memoryview(item))))
    for d in heap.get_descriptors():
        out.append((5, d.id, d.name, d.description, str(d.shape), d.format,
                    d.numpy_header))
    out.append(("start", heap.is_start_of_stream()))
    out.append(("stop", heap.is_end_of_stream()))
    return sorted(out, key=repr)


def heaps(path):
    """{count: items}, counts that came in part, and counts that came twice."""
    with open(path, "rb") as f:
        data = f.read()
    if not data:
        return {}, set(), []
    stream = spead2.recv.Stream(
        spead2.ThreadPool(),
        spead2.recv.StreamConfig(stop_on_stop_item=False, max_heaps=64),
        spead2.recv.RingStreamConfig(contiguous_only=False))
    stream.add_buffer_reader(data)
    found, partial, twice = {}, set(), []
    for heap in stream:
        if isinstance(heap, spead2.recv.IncompleteHeap):
            partial.add(heap.cnt)
            continue
        if heap.cnt in found:
            twice.append(heap.cnt)
        found[heap.cnt] = items(heap)
    stream.stop()
    return found, partial, twice


def faults_of(a, recorded, sent):
    got, partial, twice = heaps(recorded)
    sent, _, _ = heaps(sent)
    faults = [f"heap {count} is there twice" for count in twice]
    for count, what in sorted(got.items()):
        if count not in sent:
            faults.append(f"heap {count} was never sent")
        elif what != sent[count]:
            faults.append(f"heap {count} is not as sent")
    partial &= set(sent) - set(got)
    absent = set(sent) - set(got) - partial
    if len(absent) != a.missing:
        faults.append(f"{len(absent)} heaps are missing, expected "
                      f"{a.missing}: {sorted(absent)[:20]}")
    if len(partial) != a.partial:
        faults.append(f"{len(partial)} heaps are there in part, expected "
                      f"{a.partial}: {sorted(partial)[:20]}")
    if not sent:
        faults.append("nothing was sent")
    return faults


def main():
    p = argparse.ArgumentParser()
    p.add_argument("pairs", nargs="+", metavar="RECORDED SENT")
    p.add_argument("--missing", type=int, default=0)
    p.add_argument("--partial", type=int, default=0)
    a = p.parse_args()
    if len(a.pairs) % 2:
        p.error("files come in pairs")
    status = 0
    for n, pair in enumerate(zip(a.pairs[::2], a.pairs[1::2])):
        for fault in faults_of(a, *pair)[:20]:
            print(f"{n}: {fault}")
            status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
