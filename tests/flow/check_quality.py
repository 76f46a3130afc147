#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what `spate info --quality` says with what numpy makes of the bytes.

	check_quality.py EXPORTED LINES [KEY=VALUE...]

LINES is the output with --json of all frames.  Keys: format (vdif, mark5b),
payload, of mark5b channels; of tones (Hz) tone_offset (Hz), and those that were
planted delay_ns and phase (degrees).  With baseband=1 the states of samples of
up to 8 bits are those of baseband, too.
"""
import json
import math
import sys

import numpy as np

LEVELS = {1: [-1, 1], 2: [-3.3359, -1, 1, 3.3359]}


class Frames:
    """Frames of one thread: states as [frame, sample, channel, part]."""

    def __init__(self, bits, channels, parts):
        self.bits, self.channels, self.parts = bits, channels, parts
        self.data, self.number = [], []

    def states(self, mark5b):
        data = np.frombuffer(b"".join(self.data), dtype=np.uint8)
        if self.bits == 16:
            code = data.view("<u2")
        else:
            shift = np.arange(0, 8, self.bits, dtype=np.uint8)
            code = (data[:, None] >> shift).astype(np.uint8).reshape(-1)
            code = code & ((1 << self.bits) - 1)
        if mark5b:
            code = np.array([[1, 0], [0, 2, 1, 3]][self.bits - 1],
                            dtype=np.uint8)[code]
        return code.reshape(len(self.data), -1, self.channels, self.parts)


def read(path, e):
    threads = {}
    with open(path, "rb") as f:
        whole = np.frombuffer(f.read(), dtype=np.uint8)
    whole = whole.reshape(-1, int(e["payload"]))
    for frame in whole:
        word = frame[:32].view("<u4")
        if e["format"] == "mark5b":
            threads.setdefault(0, Frames(2, int(e["channels"]), 1))
            threads[0].data.append(frame[16:].tobytes())
            threads[0].number.append(int(word[1] & 0x7fff))
            continue
        if word[0] >> 31:
            continue
        thread = int(word[3] >> 16 & 1023)
        if thread not in threads:
            threads[thread] = Frames(int(word[3] >> 26 & 31) + 1,
                                     1 << int(word[2] >> 24 & 31),
                                     1 + int(word[3] >> 31))
        threads[thread].data.append(frame[32:].tobytes())
        threads[thread].number.append(int(word[1] & 0xffffff))
    return threads


def of_baseband(path, e, bits):
    """States of all frames of each thread, as baseband decodes them."""
    from baseband import mark5b, vdif
    threads = {}
    if e["format"] == "mark5b":
        opened = mark5b.open(path, "rb", nchan=int(e["channels"]), bps=2,
                             kday=61000)
    else:
        opened = vdif.open(path, "rb")
    with opened as f:
        while True:
            try:
                frame = f.read_frame()
            except (EOFError, AssertionError):
                break
            data = np.asarray(frame.data if hasattr(frame, "payload")
                              else frame)
            if np.iscomplexobj(data):
                data = np.stack([data.real, data.imag], axis=-1)
            else:
                data = data[..., None]
            state = {1: lambda v: v > 0,
                     2: lambda v: np.digitize(v, [-2, 0, 2]),
                     4: lambda v: np.rint(v * 2.95 + 8),
                     8: lambda v: np.rint(v * 35.5 + 127.5)}[bits](data)
            thread = (0 if e["format"] == "mark5b"
                      else frame.header["thread_id"])
            threads.setdefault(thread, []).append(state.astype(int))
    return {t: np.stack(s) for t, s in threads.items()}


def spectrum_of(value):
    """Mean power in 128 parts of the band, of segments without a window."""
    parts = value.shape[-1]
    segment = 256 if parts == 1 else 128
    power = np.zeros(128)
    for frames in np.array_split(value, max(1, value.size // 500000)):
        whole = frames.shape[1] // segment * segment
        one = frames[:, :whole].astype(np.float32)
        one = (one[..., 0] if parts == 1
               else one[..., 0] + 1j * one[..., 1]).reshape(-1, segment)
        z = np.fft.rfft(one)[:, :128] if parts == 1 else np.fft.fft(one)
        z = z.view(z.real.dtype)
        power += np.einsum("ij,ij->j", z, z).reshape(-1, 2).sum(axis=1)
    return power * 128 / power.sum()


def levels_check(at, line, bits, one, value):
    """Compares rms, offset, ratio and spectrum."""
    parts = value.shape[-1]
    rms = [value[..., p].std() for p in range(parts)]
    dc = [value[..., p].mean() / rms[p] for p in range(parts)]
    dc = dc[0] if parts == 1 else math.hypot(*dc)
    assert abs(line["dc"] - dc) < 1e-6, at + f"dc {line['dc']}, not {dc}"
    assert math.isclose(line["rms"], math.hypot(*rms), rel_tol=1e-6), \
        at + f"rms {line['rms']}, not {math.hypot(*rms)}"
    if bits != 2:
        assert line["ratio"] is None, at + "ratio"
    else:
        outer = [(one[..., p] % 3 == 0).mean() for p in range(parts)]
        best = math.erfc(0.9816 / math.sqrt(2))
        ratio = np.mean([o / (1 - o) for o in outer]) / (best / (1 - best))
        assert math.isclose(line["ratio"], ratio, rel_tol=1e-3), \
            at + f"ratio {line['ratio']}, not {ratio}"
    off = np.abs(np.array(line["spectrum"]) / spectrum_of(value) - 1).max()
    assert off < 1e-4, at + f"the spectrum is off by {off}"


def tones_of(frames, value, rate, spacing, offset):
    """Phasors of all tones in rms, by a DFT of the mean period at each."""
    rms = math.hypot(*value.std(axis=(0, 1)))
    period = rate // math.gcd(rate, spacing, offset)
    at = (np.array(frames.number)[:, None] * value.shape[1]
          + np.arange(value.shape[1])) % period
    n = np.bincount(at.reshape(-1), minlength=period)
    mean = [np.bincount(at.reshape(-1), weights=value[..., p].reshape(-1),
                        minlength=period) / n for p in range(value.shape[-1])]
    mean = mean[0] if len(mean) == 1 else mean[0] + 1j * mean[1]
    complex_ = np.iscomplexobj(mean)
    hz = np.arange(offset or spacing, rate if complex_ else rate / 2, spacing)
    turn = np.exp(-2j * np.pi * np.outer(hz, np.arange(period)) / rate)
    return hz, turn @ mean * (1 if complex_ else 2) / period / rms, n.sum()


def turned(degrees):
    return abs((degrees + 180) % 360 - 180)


def fitted(hz, z, near):
    """The delay in s that fits best, from one near it on."""
    left = np.angle(z * np.exp(2j * np.pi * hz * near) /
                    np.sum(z * np.exp(2j * np.pi * hz * near)))
    slope = np.polyfit(2 * np.pi * hz, left, 1, w=np.abs(z))[0]
    return near - slope


def main(path, lines, *words):
    e = dict(word.split("=", 1) for word in words)
    with open(lines) as f:
        lines = [json.loads(line) for line in f]
    threads = read(path, e)
    expected = sum(t.channels for t in threads.values())
    assert len(lines) == expected, f"{len(lines)} lines, not {expected}"
    for line in lines:
        t = threads[line["thread"]]
        at = f"thread {line['thread']}, channel {line['channel']}: "
        states = t.states(e["format"] == "mark5b")
        one = states[:, :, line["channel"], :]
        counts = [np.bincount(one[..., part].reshape(-1),
                              minlength=1 << t.bits).tolist()
                  for part in range(t.parts)]
        said = line["states"]
        if t.bits <= 8:
            assert said == (counts if t.parts > 1 else counts[0]), \
                at + f"{said}, not {counts}"
        assert line["samples"] == one.shape[0] * one.shape[1], at + "samples"
        assert line["bits"] == t.bits and line["complex"] == (t.parts > 1), at
        level = np.array(LEVELS.get(t.bits, np.arange(1 << t.bits)
                                    - ((1 << t.bits) - 1) / 2))
        value = level[one]
        levels_check(at, line, t.bits, one, value)
        if e.get("baseband") == "1":
            theirs = of_baseband(path, e, t.bits)[line["thread"]]
            theirs = theirs.reshape(states.shape)
            assert (theirs == states).all(), at + "baseband differs"
        if "tones" not in e:
            continue
        hz, z, n = tones_of(t, value, line["sample_rate"], int(e["tones"]),
                            int(e.get("tone_offset", 0)))
        assert [tone["hz"] for tone in line["tones"]] == hz.tolist(), at
        least = 6 * math.sqrt((2 if t.parts == 1 else 1) / n)
        for tone, ours in zip(line["tones"], z):
            of = at + f"{tone['hz']} Hz "
            off = turned(tone["phase"] - np.angle(ours, deg=True))
            assert off < 0.1, of + f"is off by {off} degrees"
            assert math.isclose(tone["amplitude"], abs(ours), rel_tol=1e-3), \
                of + f"has {tone['amplitude']} rms, not {abs(ours)}"
            assert tone["there"] == (abs(ours) > least), of + "is there?"
        if "delay_ns" not in e:
            assert (line["delay_ns"] is None) == (
                sum(tone["there"] for tone in line["tones"]) < 2), at
            continue
        delay = fitted(hz, z, float(e["delay_ns"]) * 1e-9) * 1e9
        print(at + f"delay {line['delay_ns']:.4f} ns, of numpy {delay:.4f}")
        assert abs(line["delay_ns"] - delay) < 0.02, at + "delay of numpy"
        assert abs(line["delay_ns"] - float(e["delay_ns"])) < 0.1, at + "delay"
        planted = float(e["phase"]) - 360e-9 * hz * float(e["delay_ns"])
        off = np.mean([(tone["phase"] - p + 180) % 360 - 180
                       for tone, p in zip(line["tones"], planted)])
        assert abs(off) < 1, at + f"phases are off by {off} degrees"


main(*sys.argv[1:])
