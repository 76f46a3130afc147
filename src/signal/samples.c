/* SPDX-License-Identifier: MIT */
/*
 * A table has the states of each byte, in the order of time, so that decoding is
 * a copy for each byte, and the coding matters only when the table is made.
 * Samples of 16 bits need no table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contract/bytes.h"
#include "signal/samples.h"

/* The outer level of two bits, for an inner one of 1. */
#define OUTER 3.3359f

static uint16_t
state_of(const struct format_samples *layout, unsigned code)
{
	if (layout->coding != SAMPLE_MARK5B)
		return (uint16_t)code;
	/* a single bit is set below zero; of two, the low one is the sign */
	return (uint16_t)(layout->bits == 1 ? !code
					    : (code & 1) << 1 | code >> 1);
}

static void
bytes_make(struct samples *s)
{
	unsigned bits = s->layout.bits, mask = (1u << bits) - 1;

	for (unsigned byte = 0; byte < 256; byte++)
		for (unsigned i = 0; i < s->in_byte; i++)
			s->byte[byte][i] =
			    state_of(&s->layout, byte >> i * bits & mask);
}

static void
levels_make(struct samples *s)
{
	static const float two[] = { -OUTER, -1, 1, OUTER };
	unsigned n = samples_states(s);

	for (unsigned state = 0; state < n; state++)
		s->level[state] = n == 2   ? 2.0f * (float)state - 1
				  : n == 4 ? two[state]
					   : (float)state - (float)(n - 1) / 2;
}

int
samples_open(struct samples *s, const struct format_samples *layout)
{
	unsigned bits = layout->bits;

	*s = (struct samples){ .layout = *layout,
			       .parts = layout->complex ? 2 : 1 };
	if (!bits || bits > 16 || bits & (bits - 1) || !layout->channels ||
	    (layout->coding == SAMPLE_MARK5B && bits > 2))
		return -ENOTSUP;
	s->in_byte = 8 / bits;
	s->byte = calloc(256, sizeof *s->byte);
	s->level = calloc(samples_states(s), sizeof *s->level);
	if (!s->byte || !s->level) {
		samples_close(s);
		return -ENOMEM;
	}
	bytes_make(s);
	levels_make(s);
	return 0;
}

void
samples_close(struct samples *s)
{
	free(s->byte);
	free(s->level);
	s->byte = NULL;
	s->level = NULL;
}

void
samples_decode(const struct samples *s, const uint8_t *data, size_t bytes,
	       uint16_t *state)
{
	if (!s->in_byte) {
		for (size_t i = 0; i < bytes / 2; i++)
			state[i] = read_le16(data + 2 * i);
		return;
	}
	/* all eight, because a copy of a constant size is a single move; those
	 * behind in_byte are written again by the next byte */
	for (size_t i = 0; i < bytes; i++, state += s->in_byte)
		memcpy(state, s->byte[data[i]], sizeof s->byte[data[i]]);
}

void
samples_pick(const struct samples *s, const uint16_t *all, unsigned channel,
	     unsigned part, size_t n, uint16_t *state)
{
	size_t step = (size_t)s->layout.channels * s->parts;

	all += (size_t)channel * s->parts + part;
	for (size_t i = 0; i < n; i++)
		state[i] = all[i * step];
}
