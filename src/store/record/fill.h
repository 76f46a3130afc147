/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_FILL_H
#define SPATE_STORE_RECORD_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "contract/format.h"

/*
 * Fill is the bytes in a slot whose packet never came.
 *
 * "zero" is zero bytes.  "invalid" is a frame that a correlator can step over:
 * the header of a good packet of the same thread, stepped to the time and
 * number of the missing one, marked invalid where the format can say so, with
 * 0x11223344 as its data.  If no header is known at all, the whole slot is that
 * pattern.
 *
 * The thread of a slot follows from its neighbours: senders send their threads
 * in turn, so frames that are a multiple of `cycle` apart belong to one thread.
 * The cycle and the frames per second come from the shape or are learned from
 * the packets themselves.
 */
enum fill_kind { FILL_INVALID, FILL_ZERO };

#define FILL_PATTERN 0x11223344u
enum { FILL_CYCLE = 1024 }; /* most threads of a stream */

/*
 * The fill state of one recording; not thread-safe, one user at a time.  Frame
 * numbers here are sequence / parts, relative to the run.
 */
struct fill {
	const struct format_ops *format;
	const struct format_shape *shape;
	enum fill_kind kind;
	uint32_t fps;	/* frames per second of a thread; 0: unknown */
	uint32_t cycle; /* frames in a turn of all threads; 0: unknown */
	uint32_t run;	/* the run that all fields below are about */
	bool settled;	/* `cycle` is certain for this run */
	uint64_t base;	/* absolute sequence of slot 0 of the run */
	/* The first packet of the run that has a time, to learn fps from. */
	bool timed;
	int64_t second;
	uint64_t timed_frame;
	uint32_t frame;
	/* The last good header of each thread, by frame number modulo cycle,
	 * and its sequence; FILL_NONE where there is none.  Allocated for
	 * `cycle` threads once that is known: there may be hundreds of fills
	 * with one thread each. */
	uint32_t models;
	uint8_t *model; /* models x header bytes */
	uint64_t *model_sequence;
};

#define FILL_NONE UINT64_MAX

/* Initialises a fill.  `format` and `shape` must outlive it.  No memory is
 * allocated before the first packet is learned from. */
void fill_init(struct fill *fill, enum fill_kind kind,
	       const struct format_ops *format,
	       const struct format_shape *shape);
void fill_finish(struct fill *fill);

/* Begins a run: forgets what was learned from the run before, except for the
 * frames per second, and the cycle as long as nothing better is known. */
void fill_begin(struct fill *fill, uint32_t run, uint64_t base);

/* Learns from the packets of a block, and begins its run if it is a new one.
 * fill_block() calls it, too. */
void fill_learn(struct fill *fill, const struct block *b);

/*
 * Fills every slot below b->used that has no packet.  The caller owns b, which
 * is CLOSED.  Cheap where nothing is missing.
 */
void fill_block(struct fill *fill, struct block *b);

/* Parses the header of a slot of a block into p.  False if the slot is empty or
 * its header is not readable. */
bool fill_good_at(const struct fill *fill, const struct block *b, uint32_t slot,
		  struct format_packet *p);

/* Writes the fill of slot `sequence` (relative to the run) into `payload`, with a
 * header that was learned in this run, or the pattern alone. */
void fill_model(const struct fill *fill, uint8_t *payload, uint64_t sequence);

#endif
