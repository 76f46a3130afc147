/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SIGNAL_SAMPLES_H
#define SPATE_SIGNAL_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "contract/format.h"

/*
 * Samples decodes the data of frames into states.  A state is the number of a
 * sample's level, counted from the lowest: 0 to 2^bits - 1, whatever the coding
 * on the wire.
 *
 *   bytes of a frame  --samples_decode()-->  states of all channels, as sent
 *                     --samples_pick()---->  states of one channel
 *                     level[state]           its value
 *
 * Levels lie symmetrically around zero.  With one bit they are -1 and 1, with
 * two -3.3359, -1, 1 and 3.3359, as correlators take them; with more bits they
 * are one apart.
 */
struct samples {
	struct format_samples layout;
	unsigned parts;	  /* values of a sample: 2 if it is complex, else 1 */
	unsigned in_byte; /* states in a byte; 0: a state has two bytes */
	uint16_t (*byte)[8]; /* states of each byte */
	float *level;	     /* value of each state */
};

/*
 * Makes a decoder.  Returns 0; -ENOTSUP for samples that have neither 1, 2, 4,
 * 8 nor 16 bits, or of Mark5B more than 2; -ENOMEM.
 */
int samples_open(struct samples *s, const struct format_samples *layout);
void samples_close(struct samples *s);

static inline unsigned
samples_states(const struct samples *s)
{
	return 1u << s->layout.bits;
}

/* Returns how many samples of each channel are in so many bytes of data. */
static inline size_t
samples_in(const struct samples *s, size_t bytes)
{
	return bytes * 8 / s->layout.bits / s->layout.channels / s->parts;
}

/* Writes the states that are in `data`: bytes * 8 / bits of them.  `state` has
 * room for bytes * 8, and what lies behind the states may be overwritten. */
void samples_decode(const struct samples *s, const uint8_t *data, size_t bytes,
		    uint16_t *state);

/* Copies n states of a channel's part, 0 the real or only one, from all. */
void samples_pick(const struct samples *s, const uint16_t *all,
		  unsigned channel, unsigned part, size_t n, uint16_t *state);

#endif
