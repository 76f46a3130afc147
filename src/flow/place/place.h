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
#include "flow/memory/block_pool.h"
#include "store/record/geometry.h"

/*
 * A place puts the packets of one sequence, or the heaps of one substream,
 * where they belong in a block.  A receiver asks it where the next packets
 * should land, and tells it which packets came:
 *
 *   place_aim -> the plugin's receive() -> place_batch -> place_aim ...
 *
 * Two kinds exist: slots.h, for packets of equal size that carry a sequence,
 * and heaps.h, for packets that are pieces of heaps.
 *
 * Only the receiver thread may call.
 */
struct place;
struct scratch;

struct place_args {
	const struct format_ops *format;
	const struct format_shape *shape;
	const struct geometry *geometry;
	struct block_pool *pool;
	struct scratch *scratch; /* shared with the other places of
				the intake; outlives the place */
	/* Frames per second, learned while packets are placed: 0, LEARN_WAIT or
	 * the value, see struct intake.  NULL: the shape has the value, or
	 * nothing can learn it. */
	const _Atomic uint32_t *fps;
	uint16_t sub;	  /* substream number that its blocks get */
	uint64_t max_gap; /* bytes; a packet farther ahead is taken for another
			     run's */
	int64_t max_age;  /* ns; an open block closes when its first packet is
			     this old */
	const char *name; /* name of the recording, for the log */
	/* Takes over a CLOSED block; called on the receiver thread. */
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
	/* Optional: NULL where the kind of place has no use for it. */
	void (*expect)(struct place *p, struct aim *aim, uint64_t sequence);
};

struct place { /* first member of each kind's own struct */
	const struct place_ops *ops;
	struct counts counts;
};

/* Frees a place, after place_flush.  NULL is allowed. */
static inline void
place_free(struct place *p)
{
	if (p)
		p->ops->free(p);
}

/* Writes n pairs (struct receive_pair: the memory for one packet), where the
 * next packets of a source should land.  Returns how many of them are in free
 * slots of blocks; the rest are in scratch memory. */
static inline unsigned
place_aim(struct place *p, const struct aim *aim, struct receive_pair *pair,
	  unsigned n)
{
	return p->ops->aim(p, aim, pair, n);
}

/*
 * Takes in a batch: the packets of a receive() that was given the pairs of the
 * last place_aim.  now_ns is UTC, now is steady, both in ns.
 */
static inline void
place_batch(struct place *p, struct aim *aim,
	    const struct receive_packet *packet, unsigned n, int64_t now_ns,
	    int64_t now)
{
	p->ops->batch(p, aim, packet, n, now_ns, now);
}

/* Tells the absolute sequence of the source's next packet, which its plugin
 * knows. */
static inline void
place_expect(struct place *p, struct aim *aim, uint64_t sequence)
{
	if (p->ops->expect)
		p->ops->expect(p, aim, sequence);
}

/* Closes blocks that are too old; call it about every tenth of a second. */
static inline void
place_age(struct place *p, int64_t now)
{
	p->ops->age(p, now);
}

/* Closes all blocks, at the end of the recording. */
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

/* Counts n packets that were dropped before they reached the place. */
static inline void
place_drop(struct place *p, enum drop why, uint64_t n)
{
	p->counts.datagrams += n;
	p->counts.drop[why] += n;
}

#endif
