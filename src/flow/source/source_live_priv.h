/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_LIVE_PRIV_H
#define SPATE_FLOW_SOURCE_SOURCE_LIVE_PRIV_H

#include "flow/source/source_live.h"
#include "flow/memory/tap.h"

/*
 * What the halves of a live source share: source_live.c decides where the next
 * block is from, source_live_give.c makes parcels and knows where they lie,
 * source_live_ops.c is what is asked besides.
 */
enum { LIVE_PAST = 1024 }; /* blocks that can be gone back to by heart */

struct live_block {
	uint64_t number, first, offset;
	uint32_t run;
	uint16_t sub;
};

/* How far a substream was given. */
struct live_sub {
	bool known;
	uint32_t run;
	uint64_t next;	 /* sequence behind the last slot */
	uint64_t offset; /* in its file */
};

struct source_live {
	struct source head;
	struct output *output; /* held */
	struct tap *tap;
	struct source *disk;
	int64_t start_ns;
	int sub;
	int epoll, timer;
	int watched; /* the disk's descriptor in epoll; -1: none */

	struct format_shape shape;
	bool shaped, about_told;

	uint64_t number;  /* of the next block */
	bool inside;	  /* of it, from disk: some of it was given */
	unsigned reads;	  /* of the tap, not yet put */
	bool wants_back;  /* they have to be, before a disk is asked */
	uint64_t last;	  /* given, not from disk, and */
	bool fresh;	  /* nothing was asked for since */
	bool gives_back;  /* since then something was put that was wanted */
	uint64_t disk_at; /* the number that the disk gives next */
	uint64_t told;	  /* source_ops::settled */

	/* From disk, behind a hole that is given first. */
	struct parcel held;
	bool holds;

	int64_t waits;	  /* steady: since when for `number`; 0: it does not */
	unsigned hurries; /* rounds asked for, of this catching up */
	int64_t hurried;  /* steady: the last of them */
	int64_t yields;	  /* steady: no block from disk before, while the
			     recorder is short of memory */

	bool away; /* a number that no disk has now is of a block that was
		      written; nobody knows of which substream */

	struct live_sub *of;
	struct live_block past[LIVE_PAST]; /* ascending, the last pasts */
	uint64_t pasts;

	uint64_t from_memory, from_disk;
	uint64_t passed; /* see source_facts */
};

/* source_live.c: of source_ops. */
int live_next(struct source *source, struct parcel *p, int64_t until);
void live_put(struct source *source, struct parcel *p);
bool live_wanted(struct source *source);

/* A sealed block of the tap's, or the gap before it (`number`); true: it is
 * kept in the parcel, and has to be put. */
bool live_give_block(struct source_live *s, const struct block *b,
		     uint64_t number, struct parcel *p);

/* A parcel of the disk's; true: it is held, and *p is the hole before it. */
bool live_give_disk(struct source_live *s, struct parcel *p);

/* Goes back to the block with this packet.  False: that was given too long
 * ago, or not at all. */
bool live_seek(struct source_live *s, uint32_t run, uint64_t first);

/* The next parcel is of this number. */
void live_goto(struct source_live *s, uint64_t number);

#endif
