/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_DEFAULTS_H
#define SPATE_CONTRACT_DEFAULTS_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "contract/format.h"

/*
 * Helpers that format plugins share: for shape(), how to refuse a
 * configuration, where a counter may stand, and how many frames per second a
 * bit rate makes; and the callbacks of a format whose packets have a counter
 * and nothing else.
 */

/*
 * Seconds from 1970-01-01 to 2000-01-01 UTC; VDIF and others count from 2000.
 */
#define FORMAT_Y2000 INT64_C(946684800)

/*
 * Formats a sentence into `why` and returns -EINVAL, so that a caller can
 * return it at once.
 */
static inline __attribute__((format(printf, 3, 4))) int
format_refuse(char *why, uint32_t why_bytes, const char *sentence, ...)
{
	va_list args;

	va_start(args, sentence);
	if (why_bytes)
		vsnprintf(why, why_bytes, sentence, args);
	va_end(args);
	return -EINVAL;
}

/* Returns the bytes of a plain counter; 0 if the sequence is of another kind. */
static inline uint32_t
format_counter_bytes(const struct format_shape *s)
{
	switch (s->sequence) {
#define X(kind, name, bits, other)                                             \
	case SEQUENCE_##kind: return bits / 8;
		SEQUENCE_COUNTERS(X)
#undef X
	default: return 0;
	}
}

/*
 * Returns the offset in the payload of the first byte behind the counter; 0 if
 * the counter is not in the payload.
 */
static inline uint32_t
format_counter_end(const struct format_shape *s)
{
	uint32_t bytes = format_counter_bytes(s);

	if (!bytes || s->sequence_at < s->prefix)
		return 0;
	return s->sequence_at - s->prefix + bytes;
}

/*
 * Completes the shape's sequence once its kind is chosen.  Returns 0, or
 * -EINVAL for a counter that is not wholly in the prefix or wholly in the
 * payload.
 */
static inline int
format_counter_settle(struct format_shape *s, char *why, uint32_t why_bytes)
{
	uint32_t bytes = format_counter_bytes(s);
	uint64_t end = (uint64_t)s->sequence_at + bytes;

	s->sequence_bits = bytes ? bytes * 8 : 64;
	if (!bytes) {
		s->sequence_at = 0;
		return 0;
	}
	if (end > (uint64_t)s->prefix + s->payload)
		return format_refuse(
		    why, why_bytes,
		    "a counter of %u bytes at byte %u is not within the "
		    "datagram of prefix %u + payload %u bytes; bytes are "
		    "counted from 0, at the start of the prefix",
		    bytes, s->sequence_at, s->prefix, s->payload);
	if (s->sequence_at < s->prefix && end > s->prefix)
		return format_refuse(
		    why, why_bytes,
		    "a counter of %u bytes at byte %u is half in the prefix "
		    "of %u bytes and half in the payload; with prefix = %u it "
		    "is whole",
		    bytes, s->sequence_at, s->prefix, (uint32_t)end);
	return 0;
}

/*
 * Returns the frames per second of each thread, or 0 if `rate` makes no whole
 * number of them.  Some users give the bit rate of the samples, as in
 * VDIF_8000-512, others the rate on the wire with frame headers: the one that
 * makes whole frames is meant.  The wire is tried first: its rates often divide
 * by the samples of a frame too (8000 x 8032 bytes is 8032 x 8000), while
 * sample rates, products of 2s and 5s only, do not divide by the odd length of
 * a frame with its header.
 */
static inline uint32_t
format_fps(uint64_t rate, uint32_t threads, uint32_t data, uint32_t frame)
{
	uint64_t samples = 8ull * threads * data;
	uint64_t wire = 8ull * threads * frame;
	uint64_t fps = 0;

	if (wire && rate % wire == 0)
		fps = rate / wire;
	else if (samples && rate % samples == 0)
		fps = rate / samples;
	return fps <= UINT32_MAX ? (uint32_t)fps : 0;
}

/*
 * The callbacks of a format that knows a counter and nothing else.  A counter
 * within the payload makes everything up to the counter's end the header.
 */
static inline void
format_counted_parse(const struct format_shape *s, const void *prefix,
		     const void *payload, struct format_packet *packet)
{
	*packet = (struct format_packet){
		.has = FORMAT_READABLE | FORMAT_VALID,
		.bytes = s->payload,
	};
	if (format_counter_read(s, prefix, payload, &packet->sequence))
		packet->has |= FORMAT_SEQUENCE;
}

static inline void
format_counted_model(const struct format_shape *s, void *payload)
{
	memset(payload, 0, s->header);
}

static inline void
format_counted_stamp(const struct format_shape *s,
		     const struct format_packet *packet, void *prefix,
		     void *payload)
{
	if (packet->has & FORMAT_SEQUENCE)
		format_counter_write(s, packet->sequence, prefix, payload);
}

#endif
