/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_PLACE_H
#define SPATE_FLOW_PLACE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "contract/format.h"
#include "contract/receive.h"
#include "flow/place/aim.h"
#include "flow/place/counts.h"
#include "flow/memory/pool.h"
#include "store/record/geometry.h"

/*
 * A place is where the packets of one sequence, or the heaps of one
 * substream, find where in a block they belong.  It is asked where the next
 * packets should land, and told which came:
 *
 *   place_aim -> the plugin's receive() -> place_batch -> place_aim ...
 *
 * There are two kinds: slots.h, for packets that are equal in size and carry
 * a sequence, and heaps.h, for pieces of heaps.
 *
 * One thread, which owns all of it: the receiver.
 */
struct place;
struct spare;

struct place_args {
	const struct format_ops *format;
	const struct format_shape *shape;
	const struct geometry *geometry;
	struct stock *stock;
	struct spare *spare; /* shared with the other places of its intake;
				outlives it */
	/* As struct intake has it: frames per second that are learned while
	 * packets are placed.  NULL: the shape says, or nobody knows. */
	const _Atomic uint32_t *fps;
	uint16_t sub;	  /* substream: goes into its blocks */
	uint64_t max_gap; /* bytes */
	int64_t max_age;  /* ns */
	const char *name; /* of the recording, for the log */
	/* Takes a CLOSED block over; called on the receiver thread. */
	void (*out)(void *arg, struct block *b);
	void *arg;
};

struct place_ops {
	unsigned (*aim)(struct place *p, const struct aim *aim,
			struct receive_pair *pair, unsigned n);
	void (*batch)(struct place *p, struct aim *aim,
		      const struct receive_packet *packet, unsigned n,
		      int64_t now_ns, int64_t now);
	void (*age)(struct place *p, int64_t now);
	void (*flush)(struct place *p);
	void (*free)(struct place *p);
	/* NULL: the kind has no use for it. */
	void (*expect)(struct place *p, struct aim *aim, uint64_t sequence);
};

struct place { /* begins that of its kind */
	const struct place_ops *ops;
	struct counts counts;
	/* NULL: packet i of a batch is in pair i, if it is in any.  Else set
	 * for each batch: the pair of each packet, -1 for none. */
	const int16_t *landing;
};

/* Bytes that blocks of such a place need beside their slots, for notes. */
uint32_t place_extra(const struct format_shape *shape,
		     const struct geometry *geometry);

/* The spare memory that places of this kind need. */
int place_spare(struct spare **spare, const struct place_args *args);

/* Of the kind that the shape asks for.  0 or -ENOMEM. */
int place_make(struct place **place, const struct place_args *args);

/* After place_flush; NULL is none. */
static inline void
place_free(struct place *p)
{
	if (p)
		p->ops->free(p);
}

/* Writes n pairs: where the next packets of this source should land.
 * Returns how many of them are in free blocks, and not in spare memory. */
static inline unsigned
place_aim(struct place *p, const struct aim *aim, struct receive_pair *pair,
	  unsigned n)
{
	return p->ops->aim(p, aim, pair, n);
}

/*
 * Takes in what came: `packet` of a receive() that was given the pairs of
 * the place_aim just before.  now_ns: UTC; now: steady.
 */
static inline void
place_batch(struct place *p, struct aim *aim,
	    const struct receive_packet *packet, unsigned n, int64_t now_ns,
	    int64_t now)
{
	p->ops->batch(p, aim, packet, n, now_ns, now);
}

/* The source's plugin knows the (absolute) sequence of its next packet. */
static inline void
place_expect(struct place *p, struct aim *aim, uint64_t sequence)
{
	if (p->ops->expect)
		p->ops->expect(p, aim, sequence);
}

/* Closes what is too old; call every tenth of a second or so. */
static inline void
place_age(struct place *p, int64_t now)
{
	p->ops->age(p, now);
}

/* The end: closes everything. */
static inline void
place_flush(struct place *p)
{
	p->ops->flush(p);
}

static inline const struct counts *
place_counts(const struct place *p)
{
	return &p->counts;
}

/* For drops that are decided before a packet gets here. */
static inline void
place_drop(struct place *p, enum drop why, uint64_t n)
{
	p->counts.datagrams += n;
	p->counts.drop[why] += n;
}

#endif
