/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FILL_H
#define SPATE_STORE_FILL_H

#include <stdint.h>

#include "contract/block.h"
#include "contract/format.h"

/*
 * Fill is what stands in a slot whose packet never came.
 *
 * "zero" is zero bytes.  "invalid" is a frame that a correlator can step
 * over: the header of a good packet of the same thread, stepped to the time
 * and number that this one would have had, marked invalid where the format
 * can say so, with 0x11223344 as its data.  Where no header is known at all,
 * the pattern alone.
 *
 * Which thread a slot belongs to follows from its neighbours: senders send
 * their threads in turn, so slots that are a multiple of `cycle` packets
 * apart are of one thread.  The cycle and the frames per second come from
 * the configuration or are learned from the packets themselves.
 */
enum fill_kind { FILL_INVALID, FILL_ZERO };

#define FILL_PATTERN 0x11223344u

/* What one recording knows for its fill; one user at a time. */
struct fill {
	const struct format_ops *format;
	const struct format_shape *shape;
	enum fill_kind kind;
	uint32_t cycle;		/* packets; 0 while unknown */
	uint32_t fps;		/* 0 while unknown */
	/* The first timed packet seen of each run, to learn fps from. */
	uint32_t run;
	int64_t second;
	uint64_t sequence;
	uint32_t frame;
	/* One whole cycle of good headers, for blocks without any. */
	uint8_t *model;		/* cycle x parts x header bytes */
	uint64_t model_first;	/* sequence of model[0] */
};

/* Returns 0 or -ENOMEM. */
int fill_init(struct fill *fill, enum fill_kind kind,
	      const struct format_ops *format,
	      const struct format_shape *shape);
void fill_finish(struct fill *fill);

/*
 * Fills every slot below b->used without a packet.  b is CLOSED and the
 * caller's; it is cheap where nothing is missing.
 */
void fill_block(struct fill *fill, struct block *b);

/*
 * Writes the slot that would be `sequence` (relative to the run) into
 * `payload`, stepping the header at `near`, a good packet's payload whose
 * sequence is near_sequence (NULL: the pattern alone).
 */
void fill_slot(const struct fill *fill, uint8_t *payload, uint64_t sequence,
	       const uint8_t *near, uint64_t near_sequence);

#endif
