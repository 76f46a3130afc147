#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at an exported Mark5B recording with baseband; see real_formats.py.

Mark5B headers cannot say that data is invalid.  baseband takes a frame for
invalid when all of its 10000 bytes are 0x11223344; a frame of which one of
two packets was lost is valid to it, with half of its data fill.
"""
import os

from real_formats import Time, is_fill, mark5b, run, u
from baseband.mark5b.header import crc16

FRAME = 10016
SPLIT = FRAME // 2 - 16  # data bytes in the first of two packets


def look_at_header(check, n, header):
    second, number = check.when(n)
    at = f"frame {n}: "
    mjd = second // 86400 + 40587
    check.same(at + "number", header["frame_nr"], number)
    check.same(at + "day", int(header.kday + header.jday), mjd)
    check.same(at + "second", header.seconds, second % 86400)
    check.same(at + "fraction", header["bcd_fraction"],
               int(str(number * 10000 // check.e["fps"]), 16))
    check.true(at + "CRC right",
               crc16.check(header.words[2] << 32 | header.words[3]))


def look_at_data(check, n, frame):
    at = f"frame {n}: "
    data = frame.payload.words.tobytes()
    check.same(at + "valid", bool(frame.valid), n not in check.invalid)
    check.true(at + "data as sent", data.startswith(check.sent(n)))
    if n in check.invalid:
        check.true(at + "data all 0x11223344", is_fill(data))
    if n in check.halves:
        parts = data[:SPLIT], data[SPLIT:]
        lost = check.halves[n]
        check.true(at + f"part {lost} all 0x11223344", is_fill(parts[lost]))
        check.true(at + "the other part not", not is_fill(parts[1 - lost]))


def look_at_frames(check, ref):
    with mark5b.open(check.path, "rb", ref_time=ref, nchan=check.channels,
                     bps=check.bits) as f:
        for n in range(check.e["frames"]):
            frame = f.read_frame()
            look_at_header(check, n, frame.header)
            look_at_data(check, n, frame)


def look_at_samples(check, ref):
    per_frame = 10000 * 8 // check.bits // check.channels
    rate = check.e["fps"] * per_frame * u.Hz
    with mark5b.open(check.path, "rs", sample_rate=rate, ref_time=ref,
                     nchan=check.channels, bps=check.bits,
                     squeeze=False) as f:
        frames = check.e["frames"]
        check.same("samples", f.shape[0], frames * per_frame)
        check.same_time("start", f.start_time, check.time(0))
        check.same_time("stop", f.stop_time, check.time(frames))
        for n in check.places():
            f.seek(n * per_frame)
            check.same_time(f"time of frame {n}", f.time, check.time(n))
            check.same_samples(n, f.read(per_frame))


def look(check):
    ref = Time(check.start, format="unix")
    check.same("size", os.path.getsize(check.path), check.e["frames"] * FRAME)
    if not check.faults:
        look_at_frames(check, ref)
    if not check.faults:
        look_at_samples(check, ref)


run("mark5b", look)
