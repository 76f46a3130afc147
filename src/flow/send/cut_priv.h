/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SEND_CUT_PRIV_H
#define SPATE_FLOW_SEND_CUT_PRIV_H

#include "flow/send/cut.h"
#include "flow/send/cut_heaps.h"
#include "store/record/fill.h"

/* What the parts of a cut share.  Slots are counted from the beginning of the
 * parcel, unless it is said otherwise. */

enum {
	CUT_HEADS = 1024,     /* most packets with a prefix in one window */
	CUT_FILL = 4 << 20,   /* bytes of fill that are made at a time */
	CUT_PIECE = 64 << 10, /* of plain bytes of rows */
};

/* Of a choice of threads: the packet `next` of a run, as it was recorded,
 * would get the number `count`. */
struct cut_number {
	bool known;
	uint32_t run;
	uint64_t next, count;
};

/* A substream. */
struct cut_sub {
	struct fill fill; /* knows the cycle of threads, and their headers */
	int32_t *thread;  /* at each place of the cycle; -1: not seen */
	struct cut_number built; /* behind the window */
	struct cut_number took;	 /* behind what was taken */
	bool past;		 /* its last parcel was beyond the range */
};

/* How far something has come: in slots of the block; of rows in packets that
 * were made, or in bytes where they are plain. */
struct cut_mark {
	uint64_t number, pos;
};

struct cut {
	const struct format_ops *format;
	const struct format_shape *shape;
	const struct send_choice *choice;
	unsigned subs;
	bool plain, rows, threads, zero_fill;
	uint32_t slot_bytes, head_bytes, strip;
	struct cut_sub *sub;
	struct cut_heaps *heaps; /* of rows that are not plain */

	/* The parcel. */
	struct parcel p;
	struct cut_sub *s;
	uint32_t skip;	     /* slots of the block before it */
	uint32_t slots;	     /* in it */
	uint64_t first;	     /* sequence of its slot 0 */
	const uint64_t *has; /* a bit per slot; NULL: all are there */
	uint64_t *bits;	     /* memory for that, where a copy is needed */
	uint32_t bits_words;
	uint64_t lo, hi;     /* slots of it that are chosen; of rows bytes */
	uint64_t from, to;   /* and bytes */
	int64_t time, every; /* of slot 0, and from slot to slot; 0 */
	uint64_t pos;	     /* what the window has come to */
	bool done;

	/* Where slots are in memory: `data` is that of slot `in`; up to the
	 * slot `out` they are there. */
	const uint8_t *data;
	uint64_t in, out;
	uint8_t *fill;	     /* CUT_FILL bytes, or one slot */
	uint64_t fill_until; /* taken, when the last of it was */

	/* The window: runs, and by run its first packet's position, and how
	 * far it is to the next's. */
	struct send_run run[SEND_RUNS];
	uint64_t run_pos[SEND_RUNS];
	uint32_t run_step[SEND_RUNS];
	unsigned run_at, runs;
	uint8_t *heads;
	uint32_t heads_n;

	uint64_t taken;	      /* packets, of all */
	struct cut_mark mark; /* what is before it was taken */
	struct cut_mark told; /* the same of what was counted */
	bool back;	      /* passes over what is before: */
	uint32_t back_run;
	uint64_t back_first;
	unsigned past; /* parcels in a row that were beyond the range */
	uint64_t bad;  /* bytes that heaps had */
	struct cut_counts counts;
};

static inline bool
cut_has(const struct cut *c, uint32_t slot)
{
	return !c->has || c->has[slot / 64] >> slot % 64 & 1;
}

static inline int64_t
cut_time(const struct cut *c, uint64_t slot)
{
	return c->time ? c->time + (int64_t)slot * c->every : 0;
}

/* Bytes of a slot that are left out at its beginning. */
static inline uint32_t
cut_strip(const struct cut *c, uint32_t slot)
{
	if (!c->choice->headers_off)
		return c->strip;
	return (c->first + slot) % c->shape->parts ? c->choice->strip
						   : c->strip;
}

/* cut.c: room for so many words of bits; false: there is no memory. */
bool cut_bits(struct cut *c, uint32_t words);

/* cut_range.c: which slots, and bytes, of the parcel are chosen; false: it is
 * beyond all that is. */
bool cut_range(struct cut *c);
/* Sets time and every. */
void cut_clock(struct cut *c);

/* cut_slots.c: adds to the window what fits of the slots in memory. */
void cut_slots(struct cut *c);
/* Slots from `slot` on, before `end`, up to one with another bit. */
uint32_t cut_alike(const struct cut *c, uint32_t slot, uint32_t end);

/* cut_rows.c: the same of rows. */
void cut_rows_begin(struct cut *c);
void cut_rows(struct cut *c);

/* cut_threads.c. */
/* Learns from the parcel what threads there are. */
void cut_learn(struct cut *c);
/* Is the slot of a thread that is wanted, or would it have been?  payload
 * NULL: it is not there.  Slots come in their order. */
bool cut_thread(struct cut *c, uint32_t slot, const uint8_t *payload,
		uint64_t *number);
/* How many in a stretch of slots would have been of wanted threads. */
uint64_t cut_thread_count(const struct cut *c, uint64_t first, uint64_t slots);

/* cut_fill.c: has fill for slots from `pos` on made, in memory.  0; -EAGAIN;
 * -ENOMEM. */
int cut_fill(struct cut *c, uint64_t released);

#endif
