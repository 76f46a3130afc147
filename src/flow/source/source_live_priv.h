/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_LIVE_PRIV_H
#define SPATE_FLOW_SOURCE_SOURCE_LIVE_PRIV_H

#include "flow/source/source_live.h"
#include "flow/memory/tap.h"

/*
 * The files of a live source:
 *
 *   source_live.c       decides where the next block comes from
 *   source_live_give.c  makes parcels, and knows where they lie in the file
 *   source_live_ops.c   makes, describes, seeks and closes it
 */
/* Last blocks that a seek finds without asking a disk. */
enum { LIVE_PAST = 1024 };

struct live_block {
	uint64_t number, first, offset;
	uint32_t run;
	uint16_t sub;
};

/* How far a substream was given, and where in its file that is. */
struct live_sub {
	bool known;
	uint32_t run;
	uint64_t next;	 /* relative sequence behind the last slot given */
	uint64_t offset; /* bytes, in the substream's file */
};

struct source_live {
	struct source head;
	struct output *output; /* a reference is held */
	struct tap *tap;
	struct source *disk;
	int64_t start_ns;
	int sub;
	int epoll, timer;
	int watched; /* the descriptor of `disk` that is in epoll; -1: none */

	struct format_shape shape;
	bool shaped, about_told;

	uint64_t number; /* number of the next block */
	/* The block is read from disk, and a part of it was given. */
	bool inside;
	unsigned reads; /* blocks taken from the tap and not yet put */
	/* Blocks of the tap must be put before a disk is read. */
	bool wants_back;
	uint64_t last; /* number of the last parcel that came from memory */
	bool fresh;    /* no other parcel was asked for since `last` */
	/* Since `last`, a block was put that the recorder wants back. */
	bool gives_back;
	/* Number that `disk` gives next; UINT64_MAX: not known. */
	uint64_t disk_at;
	uint64_t told; /* what source_ops::settled of `disk` was told last */

	/* A parcel from disk that waits until the hole before it was given. */
	struct parcel held;
	bool holds;

	/* Steady ns since when it waits for `number`; 0: it does not wait. */
	int64_t waits;
	unsigned hurries; /* syncs asked for while catching up this time */
	int64_t hurried;  /* steady ns: the last of these */
	/* Steady ns: reads no block from disk before then while the recorder is
	 * short of memory. */
	int64_t yields;

	/* A number without a block was recorded, but its disk is gone.  Its
	 * substream is not known, so the next hole is taken for it. */
	bool away;

	struct live_sub *of;
	/* Given last, in ascending order; pasts of them in all. */
	struct live_block past[LIVE_PAST];
	uint64_t pasts;

	uint64_t from_memory, from_disk;
	uint64_t passed; /* see source_facts */
};

/* In source_live.c, functions of source_ops. */
int live_next(struct source *source, struct parcel *p, int64_t until);
void live_put(struct source *source, struct parcel *p);
bool live_wanted(struct source *source);

/* Makes a parcel of a sealed block from the tap, or of the gap before it if
 * `number` is the gap's.  True: the parcel keeps the block, which has to be
 * put. */
bool live_give_block(struct source_live *s, const struct block *b,
		     uint64_t number, struct parcel *p);

/* Takes a parcel from disk.  True: the parcel is held, and *p was set to the
 * hole before it. */
bool live_give_disk(struct source_live *s, struct parcel *p);

/* Goes back to the block with this packet.  False: the block was given too long
 * ago, or not at all. */
bool live_seek(struct source_live *s, uint32_t run, uint64_t first);

/* Makes block `number` the next one. */
void live_goto(struct source_live *s, uint64_t number);

#endif
