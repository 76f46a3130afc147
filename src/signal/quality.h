/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SIGNAL_QUALITY_H
#define SPATE_SIGNAL_QUALITY_H

#include "base/keys.h"
#include "contract/format.h"

/*
 * Quality is what the frames of a stream say of its signal, for each substream,
 * thread and channel.
 *
 *   frame -> samples -> levels     which states, level, offset
 *                    -> spectrum   power over the band
 *                    -> phase_cal  tones, if there are to be any
 *         -> findings, and an object of QUALITY_KEYS for each channel
 *
 * One thread at a time.
 */
struct quality;

struct quality_args {
	const struct format_ops *format; /* has samples() */
	const struct format_shape *shape;
	/* where headers do not say these, as in Mark5B; else not looked at */
	uint32_t bits, channels;
	uint64_t sample_rate; /* 0: by the frames per second of the shape */
	uint64_t tones;	      /* Hz from tone to tone; 0: there are none */
	uint64_t tone_offset; /* Hz, of the first one */
	/* samples of a frame, of all channels, that spectra are made of, which
	 * takes more time than all else; 0: all */
	uint32_t spectrum;
};

enum {
	QUALITY_CHANNELS = 4096, /* most channels, of all threads */
	/* groups of keys: in every line; */
	QUALITY_LINE = 1,
	QUALITY_TIMED = 2, /* only in the quality file */
};

/* A channel of a thread. */
#define QUALITY_KEYS(X)                                                        \
	X(TEXT, name, QUALITY_LINE, "of the recording")                        \
	X(TIME, time, QUALITY_TIMED, "end of the interval that it is of")      \
	X(COUNT, sub, QUALITY_LINE, "substream, from 0")                       \
	X(COUNT, thread, QUALITY_LINE | KEY_COLUMN, "its number", "thread")    \
	X(COUNT, channel, QUALITY_LINE | KEY_COLUMN, "of the thread, from 0",  \
	  "channel")                                                           \
	X(COUNT, bits, QUALITY_LINE | KEY_COLUMN,                              \
	  "of a sample, or of either part of a complex one", "bits")           \
	X(BOOL, complex, QUALITY_LINE, "samples are complex")                  \
	X(COUNT, frames, QUALITY_LINE, "that were looked at")                  \
	X(COUNT, samples, QUALITY_LINE | KEY_COLUMN, "in these", "samples")    \
	X(COUNT, sample_rate, QUALITY_LINE, "samples per second")              \
	X(JSON, states, QUALITY_LINE | KEY_COLUMN,                             \
	  "list of how many samples have each state, from the lowest; of "     \
	  "complex samples a list for either part; null: more than 8 bits",    \
	  "states %")                                                          \
	X(REAL, rms, QUALITY_LINE, "in levels")                                \
	X(REAL, dc, QUALITY_LINE | KEY_COLUMN, "mean, in rms", "dc")           \
	X(REAL, ratio, QUALITY_LINE | KEY_COLUMN,                              \
	  "of 2 bits: outer by inner states, 1 at the best level", "ratio")    \
	X(JSON, spectrum, QUALITY_LINE,                                        \
	  "list of 128 numbers: mean power over the band, in that of all")     \
	X(JSON, tones, QUALITY_LINE | KEY_COLUMN,                              \
	  "list: hz, amplitude in rms, phase in degrees, and whether it is "   \
	  "there",                                                             \
	  "tones")                                                             \
	X(REAL, delay_ns, QUALITY_LINE | KEY_COLUMN,                           \
	  "of the tones, up to one by their spacing", "delay ns")              \
	X(REAL, delay_error_ns, QUALITY_LINE,                                  \
	  "standard deviation of that, by the noise")                          \
	X(REAL, pps_ns, QUALITY_LINE,                                          \
	  "how much later a pulse per second from outside is than the "        \
	  "sampler's own, by the last frame; null: headers do not say")        \
	X(JSON, findings, QUALITY_LINE | KEY_COLUMN,                           \
	  "list of names: constant, stuck, dead, bit-missing, same, dc, "      \
	  "levels, marked, rate, pps, tones-gone; while it is recorded drift", \
	  "findings")

struct quality_line {
	QUALITY_KEYS(KEY_MEMBER)
};

extern const struct key quality_keys[];

/* Returns 0; -EINVAL with a sentence in `why` that says what would work. */
int quality_open(struct quality **q, const struct quality_args *args, char *why,
		 uint32_t why_bytes);
void quality_close(struct quality *q); /* NULL is allowed */

/*
 * Adds a whole frame of a substream: payload * parts bytes of the shape.  One that is marked
 * invalid, or has no readable header, or other samples than those of its thread
 * before, is left out and counted.  Returns 0; -EINVAL with a sentence if such
 * samples cannot be judged at all, or -ENOMEM.
 */
int quality_add(struct quality *q, unsigned sub, const void *frame, char *why,
		uint32_t why_bytes);

/*
 * quality_merge adds what another one of the same arguments has seen, as if its
 * frames had been added here.  quality_clear forgets all frames, and keeps the
 * memory.  Returns 0; -EINVAL or -ENOMEM as quality_add().
 */
int quality_merge(struct quality *q, const struct quality *from);
void quality_clear(struct quality *q);

struct quality_counts {
	uint64_t frames;  /* that were judged */
	uint64_t invalid; /* marked so by the sender */
	uint64_t odd;	  /* unreadable, or of another layout */
};
struct quality_counts quality_counts(const struct quality *q);

/*
 * Appends an object for each channel that had frames to `lines`, and adds to
 * *findings how many findings these have.  Returns 0 or -ENOMEM.
 */
int quality_json(struct quality *q, const char *name, json_t *lines,
		 unsigned *findings);

#endif
