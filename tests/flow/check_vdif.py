#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at an exported VDIF recording with baseband; see real_formats.py."""
import os
from datetime import datetime, timezone

from real_formats import is_fill, run, u, vdif


def epoch_second(header):
    """UTC second of the header, by its own half-year."""
    half = header["ref_epoch"]
    epoch = datetime(2000 + half // 2, 1 + half % 2 * 6, 1, tzinfo=timezone.utc)
    return int(epoch.timestamp()) + header["seconds"]


def look_at_headers(check, threads):
    """Every frame, one after the other."""
    e = check.e
    with vdif.open(check.path, "rb") as f:
        for n in range(e["frames"]):
            frame = f.read_frame()
            header = frame.header
            second, number = check.when(n, len(threads))
            at = f"frame {n}: "
            check.same(at + "second", epoch_second(header), second)
            check.same(at + "number", header["frame_nr"], number)
            check.same(at + "thread", header["thread_id"],
                       threads[n % len(threads)])
            check.same(at + "valid", bool(frame.valid), n not in check.invalid)
            check.same(at + "bytes", header.frame_nbytes, e["frame_bytes"])
            check.same(at + "bits", header.bps, check.bits)
            check.same(at + "channels", header.nchan, check.channels)
            if "station" in e:
                check.same(at + "station", header.station, e["station"])
            data = frame.payload.words.tobytes()
            sent = check.sent(n)
            check.true(at + "data as sent", data.startswith(sent))
            if n in check.invalid:
                check.true(at + "data all 0x11223344", is_fill(data))


def look_at_samples(check, threads):
    """As a correlator does: by time, all threads side by side."""
    rate = check.e["fps"] * u.Hz
    order = sorted(threads)
    with vdif.open(check.path, "rb") as f:
        per_frame = f.read_header().samples_per_frame
    with vdif.open(check.path, "rs", sample_rate=rate * per_frame,
                   squeeze=False) as f:
        whole = check.e["frames"] // len(threads)
        check.same("threads", f.sample_shape.nthread, len(threads))
        check.same("samples", f.shape[0], whole * per_frame)
        check.same_time("start", f.start_time, check.time(0))
        check.same_time("stop", f.stop_time, check.time(whole))
        for n in check.places():
            frame, thread = n // len(threads), threads[n % len(threads)]
            f.seek(frame * per_frame)
            check.same_time(f"time of frame {n}", f.time, check.time(frame))
            check.same_samples(n, f.read(per_frame)[:, order.index(thread)])
        f.seek(check.time(whole // 2))
        check.same_time("time where it went by time", f.time,
                        check.time(whole // 2))
        check.same("samples from there", len(f.read(100)), 100)


def look(check):
    threads = check.e["threads"]
    size = check.e["frames"] * check.e["frame_bytes"]
    check.same("size", os.path.getsize(check.path), size)
    if not check.faults:
        look_at_headers(check, threads)
    if not check.faults:
        look_at_samples(check, threads)


run("vdif", look)
