# SPDX-License-Identifier: MIT
"""Hostile SPEAD, made by hand: what it does not send is a broken recording.

    break_spead.py send SCENARIO PORT     prints {"sent": N, ...} as JSON
    break_spead.py check SCENARIO FILE    exits 1 with a line for each fault

Each scenario is a list of datagrams between good heaps, and says which heaps
have to come out whole, which may be there in part, and nothing else.
"""
import collections
import json
import random
import socket
import struct
import sys
import time

PIECE = 1000
Packet = collections.namedtuple("Packet", "count length offset data items")


def pointer(number, value, bits=40, immediate=True):
    return (immediate << 63) | (number << bits) | (value & ((1 << bits) - 1))


def packet(count, length, offset, data, items=(), bits=40):
    words = [pointer(1, count, bits)]
    if length is not None:
        words.append(pointer(2, length, bits))
    words += [pointer(3, offset, bits), pointer(4, len(data), bits), *items]
    head = struct.pack(">BBBBHH", 0x53, 4, 8 - bits // 8, bits // 8, 0,
                       len(words))
    return head + struct.pack(f">{len(words)}Q", *words) + data


def content(count, size=20 * PIECE, salt=0):
    return random.Random(count * 1000 + salt).randbytes(size)


def heap(count, data=None, items=None, bits=40, first=PIECE):
    """Its datagrams; the items in the first alone, as spead2 does it."""
    data = content(count) if data is None else data
    items = items if items is not None else [
        pointer(0x1600, count * 4096, bits),
        pointer(0x600A, 0, bits, immediate=False)]
    out = [packet(count, len(data), 0, data[:first], items, bits)]
    out += [packet(count, len(data), at, data[at:at + PIECE], (), bits)
            for at in range(first, len(data), PIECE)]
    return out


def good(counts):
    return {n: content(n) for n in counts}


# ---- scenarios: (datagrams, whole heaps, heaps in part) -------------------
# A datagram is bytes, or (sender, bytes).

def truncated():
    bad = []
    whole = heap(900)[0]
    for size in [*range(0, 72), 100, 500]:
        bad.append(whole[:size])
    return weave(range(1, 9), bad), good(range(1, 9)), []


def magic():
    whole = bytearray(heap(900)[0])
    bad = []
    for at in range(8):
        for value in (0, 0xff, whole[at] ^ 1):
            lie = bytearray(whole)
            lie[at] = value
            if lie != whole and at not in (4, 5):
                bad.append(bytes(lie))
    return weave(range(1, 9), bad), good(range(1, 9)), []


def many_items():
    """300 items, more than one byte can count; 2000 in several packets."""
    three = [pointer(0x2000 + i, i * 3) for i in range(300)]
    data = content(50)
    sent = heap(50, data, three)
    more = [pointer(0x3000 + i, i) for i in range(480)]
    other = content(51)
    for at in range(0, len(other), PIECE):
        part = more[at // PIECE * 120:][:120]
        sent.append(packet(51, len(other), at, other[at:at + PIECE], part))
    return (weave(range(1, 9), [], sent),
            {**good(range(1, 9)), 50: data, 51: other}, [])


def pointers_past():
    """Items that point behind the heap: nobody's memory may be read."""
    bad = []
    sent = []
    for n, at in enumerate((20 * PIECE + 1, 1 << 39, (1 << 40) - 1)):
        items = [pointer(0x600A, at, immediate=False),
                 pointer(5, at, immediate=False)]
        sent += heap(60 + n, items=items)
    return (weave(range(1, 9), bad, sent),
            {**good(range(1, 9)), **good(range(60, 63))}, [])


def past_end():
    bad = []
    for count in (3, 901):
        for length, offset, size in (
                (20000, 20000, 1), (20000, 19500, 1000), (500, 0, 1000),
                (20000, (1 << 40) - 1, 1000), (20000, 1 << 39, 8),
                ((1 << 40) - 1, (1 << 40) - 1, 1000)):
            bad.append(packet(count, length, offset, bytes(size)))
    return weave(range(1, 9), bad), good(range(1, 9)), []


def huge():
    """Heaps of 2^48 bytes fit into no block, and into no memory."""
    bad = []
    for n in range(40):
        bad.append(packet(800 + n, (1 << 48) - 1, n * PIECE, bytes(PIECE),
                          bits=48))
        bad.append(packet(700, 1 << 47, n << 30, bytes(PIECE), bits=48))
    return weave(range(1, 9), bad), good(range(1, 9)), []


def never_complete():
    """Ten of a hundred heaps lack a piece; all the others are whole."""
    lacking = range(5, 101, 10)
    sent = []
    for n in range(1, 101):
        pieces = heap(n)
        if n in lacking:
            del pieces[n % 19 + 1]
        sent += pieces
    return sent, good(n for n in range(1, 101) if n not in lacking), \
        list(lacking)


def two_senders():
    """The same counts from two senders at once: the pieces do not mix."""
    sent = []
    whole = collections.defaultdict(list)
    for n in range(1, 21):
        one, other = content(n), content(n, salt=7)
        for a, b in zip(heap(n, one), heap(n, other)):
            sent += [(0, a), (1, b)]
        whole[n] = [one, other]
    return sent, dict(whole), []


def restart():
    """A sender that begins anew, twice, with the counts it had before."""
    sent = []
    whole = {}
    for salt in range(3):
        for n in range(1, 31):
            data = content(n, salt=salt)
            whole.setdefault(n, []).append(data)
            sent += heap(n, data)
        sent.append(None)
    return sent, whole, []


def garbage():
    bad = [random.Random(n).randbytes(random.Random(n).randrange(1500))
           for n in range(3000)]
    return weave(range(1, 41), bad), good(range(1, 41)), []


def no_length():
    sent = []
    for n in range(1, 21):
        data = content(n)
        for at in range(0, len(data), PIECE):
            sent.append(packet(n, None, at, data[at:at + PIECE]))
    return sent, good(range(1, 21)), []


def late_first():
    """The first packet of every heap comes last."""
    sent = []
    for n in range(1, 41):
        pieces = heap(n)
        sent += pieces[1:] + pieces[:1]
    return sent, good(range(1, 41)), []


def weave(counts, bad, more=()):
    """Good heaps, with bad datagrams in between; the same every time."""
    sent = [d for n in counts for d in heap(n)]
    dice = random.Random(5)
    for lie in bad:
        sent.insert(dice.randrange(len(sent)), lie)
    return sent + list(more)


SCENARIOS = {f.__name__: f for f in (
    truncated, magic, many_items, pointers_past, past_end, huge,
    never_complete, two_senders, restart, garbage, no_length, late_first)}


def send(name, port):
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
               for _ in range(2)]
    n = 0
    for what in SCENARIOS[name]()[0]:
        if what is None:
            time.sleep(0.3)
            continue
        sender, data = what if isinstance(what, tuple) else (0, what)
        sockets[sender].sendto(data, ("127.0.0.1", port))
        n += 1
        if n % 16 == 0:
            time.sleep(0.001)
    print(json.dumps({"sent": n}))


# ---- reading -------------------------------------------------------------

def packets(data):
    """The packets of a recording, which lie one behind the other."""
    at = 0
    while at < len(data):
        magic_, version, wide, bits, _, n = struct.unpack_from(">BBBBHH", data,
                                                               at)
        if (magic_, version) != (0x53, 4) or wide + bits != 8:
            raise ValueError(f"no SPEAD packet at byte {at}")
        words = struct.unpack_from(f">{n}Q", data, at + 8)
        bits *= 8
        own, items = {}, []
        for w in words:
            number = w >> bits & ((1 << (63 - bits)) - 1)
            if w >> 63 and 1 <= number <= 4 and number not in own:
                own[number] = w & ((1 << bits) - 1)
            else:
                items.append(w)
        at += 8 + 8 * n
        size = own[4]
        if at + size > len(data):
            raise ValueError(f"the packet at byte {at} is cut")
        yield Packet(own[1], own.get(2), own[3], data[at:at + size], items)
        at += size


def check(name, path):
    sent, whole, partial = SCENARIOS[name]()
    want = {n: list(d) if isinstance(d, list) else [d]
            for n, d in whole.items()}
    with open(path, "rb") as f:
        found = list(packets(f.read()))
    faults = []
    items = collections.defaultdict(list)
    for what in sent:
        data = what[1] if isinstance(what, tuple) else what
        try:
            for p in packets(data or b""):
                items[p.count] += [i for i in p.items
                                   if i not in items[p.count]]
        except (ValueError, struct.error, KeyError):
            pass
    for p in found:
        left = want.get(p.count, [])
        if p.data in left and p.offset == 0:
            left.remove(p.data)
            if sorted(set(p.items)) != sorted(items[p.count]):
                faults.append(f"heap {p.count} has other items than sent")
        elif p.count in partial:
            ideal = content(p.count)
            if p.data != ideal[p.offset:p.offset + len(p.data)]:
                faults.append(f"heap {p.count} has bytes that were not sent")
        else:
            faults.append(f"heap {p.count} with {len(p.data)} bytes at "
                          f"{p.offset} is not as sent")
    for n, left in want.items():
        if left:
            faults.append(f"heap {n} is missing")
    for n in partial:
        got = sum(len(p.data) for p in found if p.count == n)
        if got != 19 * PIECE:
            faults.append(f"of heap {n} {got} bytes are there")
    print("\n".join(faults[:20]))
    return 1 if faults or not found else 0


def main():
    if len(sys.argv) == 2 and sys.argv[1] == "list":
        print("\n".join(SCENARIOS))
        return 0
    verb, name, what = sys.argv[1:]
    if verb == "send":
        send(name, int(what))
        return 0
    return check(name, what)


if __name__ == "__main__":
    sys.exit(main())
