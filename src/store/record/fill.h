/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_FILL_H
#define SPATE_STORE_RECORD_FILL_H

#include <stdbool.h>
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
 * their threads in turn, so frames that are a multiple of `cycle` apart are
 * of one thread.  The cycle and the frames per second come from the shape or
 * are learned from the packets themselves.
 */
enum fill_kind { FILL_INVALID, FILL_ZERO };

#define FILL_PATTERN 0x11223344u
enum { FILL_CYCLE = 1024 }; /* threads there can be */

/*
 * What one recording knows for its fill; one user at a time.  Frame numbers
 * here are sequence / parts, relative to the run.
 */
struct fill {
	const struct format_ops *format;
	const struct format_shape *shape;
	enum fill_kind kind;
	uint32_t fps;	/* 0 while unknown */
	uint32_t cycle; /* frames; 0 while unknown */
	uint32_t run;	/* that all below is about */
	bool settled;	/* the cycle was seen in this run */
	uint64_t base;	/* absolute sequence of its slot 0 */
	/* The first timed packet seen of the run, to learn fps from. */
	bool timed;
	int64_t second;
	uint64_t timed_frame;
	uint32_t frame;
	/* The last good header of each thread, by frame number modulo cycle,
	 * and its sequence: FILL_NONE where there is none.  As many as the
	 * cycle is long, made when that is known: there may be hundreds of
	 * fills, of one thread each. */
	uint32_t models;
	uint8_t *model; /* models x header bytes */
	uint64_t *model_sequence;
};

#define FILL_NONE UINT64_MAX

/* format and shape must outlive it. */
void fill_init(struct fill *fill, enum fill_kind kind,
	       const struct format_ops *format,
	       const struct format_shape *shape);
void fill_finish(struct fill *fill);

/* Begins a run: forgets what was learned of the one before, but the frames
 * per second, and the cycle as long as nothing better is known. */
void fill_begin(struct fill *fill, uint32_t run, uint64_t base);

/* Learns from the packets of a block what it can, and begins its run if need
 * be; fill_block does so too. */
void fill_learn(struct fill *fill, const struct block *b);

/*
 * Fills every slot below b->used without a packet.  b is CLOSED and the
 * caller's; it is cheap where nothing is missing.
 */
void fill_block(struct fill *fill, struct block *b);

/* Is this payload's header one that fill_slot can step? */
bool fill_near(const struct fill *fill, const uint8_t *payload);

/*
 * Writes the slot that would be `sequence` (relative to the run) into
 * `payload`, stepping the header at `near`, a good packet's payload whose
 * sequence is near_sequence (NULL: the pattern alone).
 */
void fill_slot(const struct fill *fill, uint8_t *payload, uint64_t sequence,
	       const uint8_t *near, uint64_t near_sequence);

/* The same with a header that was learned in this run. */
void fill_model(const struct fill *fill, uint8_t *payload, uint64_t sequence);

#endif
