/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_PLACEMENT_H
#define SPATE_FLOW_PLACE_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "contract/format.h"
#include "contract/receive.h"
#include "flow/place/prediction.h"
#include "flow/place/counts.h"
#include "flow/memory/block_pool.h"
#include "flow/place/relocate.h"
#include "store/record/geometry.h"

/*
 * A placement puts the packets of one sequence, or the heaps of one substream,
 * where they belong in a block.  A receiver asks it where the next packets
 * should land, and tells it which packets came:
 *
 *   placement_aim -> the plugin's receive() -> placement_batch -> ...
 *
 * Two kinds exist: slots.h, for packets of equal size that carry a sequence,
 * and heaps.h, for packets that are pieces of heaps.
 *
 * Only the receiver thread may call.
 */
struct placement;
struct scratch;
struct frame_ring;

struct placement_args {
	const struct format_ops *format;
	const struct format_shape *shape;
	const struct geometry *geometry;
	struct block_pool *pool;
	struct scratch *scratch; /* shared with the other placements of
				the intake; outlives the placement */
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
	/* Gets copies of some frames; of the receiver thread that calls.  NULL:
	 * none.  Heaps are never copied. */
	struct frame_ring *frames;
	/* Takes over a CLOSED block; called on the receiver thread. */
	void (*out)(void *arg, struct block *b);
	void *arg;
};

struct placement_ops {
	unsigned (*aim)(struct placement *p,
			const struct prediction *prediction,
			struct receive_pair *pair, unsigned n);
	void (*batch)(struct placement *p, struct prediction *prediction,
		      const struct receive_packet *packet, unsigned n,
		      int64_t now_ns, int64_t now);
	void (*age)(struct placement *p, int64_t now);
	void (*flush)(struct placement *p);
	void (*free)(struct placement *p);
	/* Optional: NULL where the kind of placement has no use for it. */
	void (*expect)(struct placement *p, struct prediction *prediction,
		       uint64_t sequence);
};

struct placement { /* first member of each kind's own struct */
	const struct placement_ops *ops;
	struct counts counts;
};

/* Frees a placement, after placement_flush.  NULL is allowed. */
static inline void
placement_free(struct placement *p)
{
	if (p)
		p->ops->free(p);
}

/* Writes n pairs (struct receive_pair: the memory for one packet), where the
 * next packets of a source should land.  Returns how many of them are in free
 * slots of blocks; the rest are in scratch memory. */
static inline unsigned
placement_aim(struct placement *p, const struct prediction *prediction,
	      struct receive_pair *pair, unsigned n)
{
	return p->ops->aim(p, prediction, pair, n);
}

/*
 * Takes in a batch: the packets of a receive() that was given the pairs of the
 * last placement_aim.  now_ns is UTC, now is steady, both in ns.
 */
static inline void
placement_batch(struct placement *p, struct prediction *prediction,
		const struct receive_packet *packet, unsigned n, int64_t now_ns,
		int64_t now)
{
	p->ops->batch(p, prediction, packet, n, now_ns, now);
}

/* Tells the absolute sequence of the source's next packet, which its plugin
 * knows. */
static inline void
placement_expect(struct placement *p, struct prediction *prediction,
		 uint64_t sequence)
{
	if (p->ops->expect)
		p->ops->expect(p, prediction, sequence);
}

/* Closes blocks that are too old; call it about every tenth of a second. */
static inline void
placement_age(struct placement *p, int64_t now)
{
	p->ops->age(p, now);
}

/* Closes all blocks, at the end of the recording. */
static inline void
placement_flush(struct placement *p)
{
	p->ops->flush(p);
}

static inline const struct counts *
placement_counts(const struct placement *p)
{
	return &p->counts;
}

/* Counts n packets that were dropped before they reached it. */
static inline void
placement_drop(struct placement *p, enum drop why, uint64_t n)
{
	p->counts.datagrams += n;
	p->counts.drop[why] += n;
}

/* ---- scratch memory ---------------------------------------------------- */

/*
 * Scratch is memory of an intake for one batch: buffers for what the kernel
 * delivers beside the slots of blocks (prefixes, and packets without a block to
 * land in), and working arrays to sort one batch.  Nothing in it outlives the
 * batch, so all placements of an intake share one, however many there are.
 *
 * Only the thread of the intake may use it.
 */
struct heaps_scratch;

struct scratch {
	uint32_t slot_bytes, prefix_bytes;
	uint8_t *discard; /* RECEIVE_BATCH slots for packets without a block */
	uint8_t *prefix;  /* RECEIVE_BATCH prefixes */

	/* Discard slots and prefixes that the aims of this receive call use.
	 * Set it to 0 before aiming for another call. */
	unsigned used;

	struct relocate relocate;
	/* One allocation, freed with the scratch memory (heaps.c).  NULL: the
	 * placements are slots, not heaps. */
	struct heaps_scratch *heaps;
	uint8_t *memory;
};

/* Makes scratch memory for slots of these sizes; heaps_scratch_make makes that
 * of heaps.  Returns 0 or -ENOMEM. */
int scratch_make(struct scratch **scratch, uint32_t slot_bytes,
		 uint32_t prefix_bytes);
void scratch_free(struct scratch *s); /* NULL is allowed */

/* Address of discard slot n. */
static inline uint8_t *
scratch_slot(const struct scratch *s, unsigned n)
{
	return s->discard + (uint64_t)n * s->slot_bytes;
}

static inline uint8_t *
scratch_prefix(const struct scratch *s, unsigned n)
{
	return s->prefix + (uint64_t)n * s->prefix_bytes;
}

#endif
