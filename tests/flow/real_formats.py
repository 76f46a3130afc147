# SPDX-License-Identifier: MIT
"""What check_vdif.py and check_mark5b.py share.

Both take a file that spate exported and a file of expectations, and look at
the first with the `baseband` package, a reader that is not ours.  They print
one line per fault and exit 0 (all as expected), 1 (faults) or 77 (baseband
is not installed).

Expectations are a JSON object; frames are counted in the file, from 0:

  frames       how many frames the file has, of all threads
  fps          frames per second of one thread
  start        "2026-11-20T10:00:00Z", the second of frame 0
  first        number of frame 0 in that second (0)
  bits, channels
  invalid      [12, 13]: frames that are fill, wholly
  halves       {"40": 1}: frames of which one part is fill (Mark5B)
  data         {"0": "1b1b..", "*": ".."}: hex of the first bytes of a
               frame's data; "*" is of all other valid frames
  threads, station, frame_bytes        VDIF only; threads in their order
"""
import json
import sys
from datetime import datetime, timezone

try:
    import astropy.units as u
    import numpy as np
    from astropy.time import Time
    from astropy.utils import iers

    # Nothing here needs the Earth's rotation, and no test may download it.
    iers.conf.auto_download = False
    from baseband import mark5b, vdif  # noqa: F401 (for both programs)
    from baseband.base.encoding import OPTIMAL_2BIT_HIGH
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)

FILL = bytes.fromhex("44332211")
LOOK_AT = 64  # frames whose samples are decoded, of each kind

# Levels by code, from the specifications.  Two bits: 00 to 11 in VDIF; sign
# and magnitude in Mark5B, where the sign is the lower bit.  How much higher
# the high level is, is a convention of each reader.
HIGH = OPTIMAL_2BIT_HIGH
LEVELS = {
    ("vdif", 1): [-1.0, 1.0],
    ("vdif", 2): [-HIGH, -1.0, 1.0, HIGH],
    ("mark5b", 1): [1.0, -1.0],
    ("mark5b", 2): [-HIGH, 1.0, -1.0, HIGH],
}


class Check:
    """Expectations, and the faults that were found against them."""

    MOST = 20  # faults that are printed

    def __init__(self, kind, path, expected):
        self.kind = kind
        self.path = path
        self.e = expected
        self.faults = 0
        self.looked = 0
        self.invalid = set(expected.get("invalid", []))
        self.halves = {int(k): v for k, v in expected.get("halves", {}).items()}
        self.data = expected.get("data", {})
        self.bits = expected.get("bits", 2)
        self.channels = expected.get("channels", 1)
        start = datetime.fromisoformat(expected["start"].replace("Z", "+00:00"))
        self.start = int(start.astimezone(timezone.utc).timestamp())

    def same(self, what, found, expected):
        self.looked += 1
        if found == expected:
            return
        self.faults += 1
        if self.faults <= self.MOST:
            print(f"{self.path}: {what} is {found}, expected {expected}")

    def true(self, what, truth):
        self.same(what, bool(truth), True)

    def when(self, n, threads=1):
        """UTC second and number of the frame at place n of the file."""
        frame = self.e.get("first", 0) + n // threads
        return self.start + frame // self.e["fps"], frame % self.e["fps"]

    def time(self, n, threads=1):
        second, frame = self.when(n, threads)
        return Time(second, format="unix") + frame / self.e["fps"] * u.s

    def same_time(self, what, found, expected):
        away = abs((found - expected).to_value(u.ns))
        self.true(f"{what} ({found.isot}, {away:.0f} ns off)", away < 2)

    def sent(self, n):
        """The first bytes of the data of frame n, as far as they are known."""
        if n in self.invalid or n in self.halves:
            return b""
        return bytes.fromhex(self.data.get(str(n), self.data.get("*", "")))

    def decode(self, data):
        """Samples of data, as (time, channel), by the specification."""
        per_byte = 8 // self.bits
        shifts = np.arange(per_byte) * self.bits
        values = np.frombuffer(data, np.uint8)[:, None] >> shifts
        levels = np.array(LEVELS[self.kind, self.bits])
        samples = levels[values & ((1 << self.bits) - 1)].ravel()
        whole = len(samples) // self.channels * self.channels
        return samples[:whole].reshape(-1, self.channels)

    def same_samples(self, n, found):
        """`found`: samples of frame n from a stream, as (time, channel)."""
        sent = self.decode(self.sent(n))
        if n in self.invalid:
            self.true(f"samples of frame {n}, which is fill, all 0",
                      (found == 0).all())
        elif len(sent):
            self.true(f"samples of frame {n} as sent",
                      np.allclose(found[:len(sent)], sent, atol=1e-3))

    def places(self):
        """Frames whose samples are worth a look: ends, fill, some between."""
        n = self.e["frames"]
        some = set(range(0, n, max(1, n // LOOK_AT))) | {0, n - 1}
        some |= set(sorted(self.invalid)[:LOOK_AT])
        some |= set(sorted(self.halves)[:LOOK_AT])
        some |= {int(k) for k in list(self.data)[:LOOK_AT] if k != "*"}
        return sorted(p for p in some if p < n)

    def finish(self):
        if self.faults > self.MOST:
            print(f"{self.path}: and {self.faults - self.MOST} more faults")
        if not self.faults:
            print(f"{self.path}: {self.e['frames']} frames, "
                  f"{len(self.invalid)} of them fill, "
                  f"{self.looked} things as expected")
        return 1 if self.faults else 0


def is_fill(data):
    return data == FILL * (len(data) // 4)


def run(kind, look):
    """Runs look(check) for each pair of arguments; never returns."""
    if len(sys.argv) < 3 or len(sys.argv) % 2 == 0:
        print(f"usage: {sys.argv[0]} FILE EXPECTED.json...", file=sys.stderr)
        sys.exit(2)
    status = 0
    for path, expected in zip(sys.argv[1::2], sys.argv[2::2]):
        with open(expected, encoding="utf-8") as f:
            check = Check(kind, path, json.load(f))
        look(check)
        status |= check.finish()
    sys.exit(status)
