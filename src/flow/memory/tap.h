/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_TAP_H
#define SPATE_FLOW_MEMORY_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "contract/format.h"

/*
 * A tap gives one reader (a sending session, or the page for live readers) the
 * blocks of a recording that is being made, while they are in memory anyway.  A
 * block is HELD for it when it is sealed, until the reader passes its number or
 * the recorder wants the block back:
 *
 *   sealed --> HELD --- tap_take --> READ --- tap_put --> dropped
 *               |                     |
 *               | revoked             | revoked: tap_wanted() is true, and
 *               v                     v its fd readable, until it is put
 *             dropped               READ
 *
 * All taps of a pool together have at most a quarter of its blocks; to make
 * room for one more, the oldest that nobody reads is revoked.  When the pool
 * is about to run short, all are.  A revoked block is on a disk already, or
 * soon.
 *
 * One thread takes, puts and passes; tap.c says which other threads are
 * involved.
 */
struct tap;

struct block_pool;

/* The recording whose blocks a tap gives; all of them come from `pool`.  Format
 * and shape make the blocks' index records, and outlive the tap. */
struct tap_of {
	const void *session; /* as block::session */
	const struct format_ops *format;
	const struct format_shape *shape;
	/* False: the tap is a reader's, as above.  True: it keeps each block
	 * until tap_release() says that its number is durable, so that a disk
	 * may die before that; it has no fd, and nobody takes from it. */
	bool keeps;
};

/* Makes a tap; output_tap_open() makes those of an output.  Returns 0 or
 * -errno. */
int tap_make(struct tap **tap, const struct tap_of *of,
	     struct block_pool *pool);

/* Frees a tap.  Every block was put. */
void tap_free(struct tap *t);

/* The next tap in the list of whoever made it (output::taps), for him to
 * set. */
struct tap **tap_peer(struct tap *t);

/* Takes the block with this number, or the one that brings the gap with this
 * number.  NULL: it is not in memory, or was revoked.  Put it once for each
 * take. */
struct block *tap_take(struct tap *t, uint64_t number);
/* Returns true if the recorder had asked for the block back. */
bool tap_put(struct tap *t, struct block *b);

/* Says that blocks below this number are not wanted, and blocks from it on
 * are. */
void tap_pass(struct tap *t, uint64_t number);

/* For a tap that keeps: tap_rescue returns the block of this number, held once
 * more for the caller; NULL: it is not in memory.  tap_release: that block need
 * not be kept any longer.  Any thread. */
struct block *tap_rescue(struct tap *t, uint64_t number);
void tap_release(struct tap *t, uint64_t number);

/* Shows blocks that the tap has or gets to live readers, through this page;
 * `recording` is the ID by which they know the recording. */
struct shm_page;
void tap_show(struct tap *t, struct shm_page *page, uint64_t recording);

/* True if a block that is being read is wanted back: put it within a
 * millisecond or so. */
bool tap_wanted(const struct tap *t);

/* True if the recorder is short of memory, so its disks have enough to do.  A
 * hint. */
bool tap_short(const struct tap *t);

/*
 * An eventfd that polls readable when a block arrives, when one was made
 * durable or lost, when the output ends, and when tap_wanted() becomes true;
 * until it is cleared.  Clear it before looking at any of these.
 */
int tap_fd(const struct tap *t);
void tap_clear(struct tap *t);
/* Makes tap_fd readable; any thread. */
void tap_poke(struct tap *t);

struct tap_facts {
	unsigned held;	  /* blocks held now, read or not */
	unsigned read;	  /* of these, blocks being read */
	uint64_t end;	  /* one more than the highest number sealed since the
			     tap exists */
	uint64_t revoked; /* total of wanted blocks that were taken back */
	uint64_t skipped; /* total of wanted blocks not kept for lack of room */
};
void tap_facts(struct tap *t, struct tap_facts *f);

/* ---- blocks that are lent ---------------------------------------------- */

/*
 * The blocks of one pool that are lent to taps, for all taps together.  The
 * pool and each tap hold a reference.
 */
struct lent_blocks;

/* Makes them for a pool of `blocks` blocks; the caller has the first reference.
 * Returns 0 or -ENOMEM. */
int lent_blocks_make(struct lent_blocks **lent, unsigned blocks);
void lent_blocks_hold(struct lent_blocks *s);
void lent_blocks_drop(struct lent_blocks *s); /* NULL is allowed */

/* True if lent_blocks_revoke would free anything. */
bool lent_blocks_any(const struct lent_blocks *s);

/* Says whether the pool is short of blocks, for tap_short. */
void lent_blocks_hint(struct lent_blocks *s, bool is_short);

/* Takes all lent blocks back, because the recorder is short: blocks that nobody
 * reads are dropped now, the others as soon as their readers put them.  Any
 * thread that keeps the pool alive. */
void lent_blocks_revoke(struct lent_blocks *s);

/* Offers a sealed block that the caller holds to the taps of its recording.  It
 * is kept only if that does not make the recorder short. */
void lent_blocks_offer(struct lent_blocks *s, struct block *b);

#endif
