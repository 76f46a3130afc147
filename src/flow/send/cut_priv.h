/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SEND_CUT_PRIV_H
#define SPATE_FLOW_SEND_CUT_PRIV_H

#include "flow/send/cut.h"
#include "flow/send/cut_heaps.h"
#include "store/record/fill.h"

/* Shared by the files cut*.c.  Slots are counted from the beginning of the
 * parcel, unless a comment says otherwise. */

enum {
	/* Most packets with a made prefix in one window. */
	CUT_HEADS = 1024,
	CUT_FILL = 4 << 20, /* most bytes of fill made at a time */
	/* Bytes of a packet when rows are sent as plain bytes. */
	CUT_PIECE = 64 << 10,
};

/* New numbers of a chosen thread's packets: the recorded packet `next` of the
 * run gets the number `count`, if it is chosen. */
struct cut_number {
	bool known;
	uint32_t run;
	uint64_t next, count;
};

/* State of one substream. */
struct cut_sub {
	struct fill fill; /* the cycle of threads, and their headers */
	int32_t *thread;  /* thread at each place of the cycle; -1: not seen */
	struct cut_number built; /* numbering behind the window */
	struct cut_number took;	 /* numbering behind what was taken */
	bool past;		 /* its last parcel was beyond the range */
};

/* A position: a block and the slots of it that are done.  For rows, packets
 * made of it, or bytes if they are plain. */
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
	struct cut_heaps *heaps; /* for rows that are not plain; else NULL */

	/* The parcel being cut. */
	struct parcel p;
	struct cut_sub *s;
	uint32_t skip;	     /* slots of the block before the parcel */
	uint32_t slots;	     /* slots in the parcel */
	uint64_t first;	     /* relative sequence of its slot 0 */
	const uint64_t *has; /* a bit per slot; NULL: no packet is missing */
	uint64_t *bits;	     /* memory for `has`, where a copy is needed */
	uint32_t bits_words;
	/* Chosen slots: from lo up to hi; for rows bytes. */
	uint64_t lo, hi;
	uint64_t from, to; /* chosen bytes of the parcel: from up to `to` */
	/* UTC ns of slot 0, and ns from slot to slot; 0: not known. */
	int64_t time, every;
	uint64_t pos; /* end of the window */
	bool done;

	/* Slots in memory: `data` points to slot `in`, and slots up to `out`
	 * follow it. */
	const uint8_t *data;
	uint64_t in, out;
	uint8_t *fill; /* memory for fill: CUT_FILL bytes, or one slot */
	/* Value of `taken` when the last packet with fill was taken. */
	uint64_t fill_until;

	/* The window: run[run_at] up to run[runs - 1].  For each run, the
	 * position of its first packet, and the distance from one packet's to
	 * the next's. */
	struct send_run run[SEND_RUNS];
	uint64_t run_pos[SEND_RUNS];
	uint32_t run_step[SEND_RUNS];
	unsigned run_at, runs;
	uint8_t *heads;
	uint32_t heads_n;

	uint64_t taken;	      /* packets taken so far, of all parcels */
	struct cut_mark mark; /* everything before it was taken */
	struct cut_mark told; /* everything before it was counted */
	/* Set by cut_back: packets before number back_first of run back_run are
	 * skipped. */
	bool back;
	uint32_t back_run;
	uint64_t back_first;
	unsigned past; /* parcels in a row that were beyond the range */
	uint64_t bad;  /* cut_heaps_bad when the last parcel ended */
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

/* Bytes left out at the beginning of a slot. */
static inline uint32_t
cut_strip(const struct cut *c, uint32_t slot)
{
	if (!c->choice->headers_off)
		return c->strip;
	return (c->first + slot) % c->shape->parts ? c->choice->strip
						   : c->strip;
}

/* Makes room for so many words in `bits`; false: no memory.  In cut.c. */
bool cut_bits(struct cut *c, uint32_t words);

/* Sets which slots and bytes of the parcel are chosen; false: the parcel lies
 * beyond the range.  In cut_range.c. */
bool cut_range(struct cut *c);
/* Sets `time` and `every`. */
void cut_clock(struct cut *c);

/* Adds the slots in memory to the window, as many as fit.  In cut_slots.c. */
void cut_slots(struct cut *c);
/* Returns the first slot after `slot` whose bit differs; at most `end`. */
uint32_t cut_alike(const struct cut *c, uint32_t slot, uint32_t end);

/* The same for blocks of rows.  In cut_rows.c. */
void cut_rows_begin(struct cut *c);
void cut_rows(struct cut *c);

/* The functions below are in cut_threads.c. */
/* Learns the threads and their cycle from the parcel. */
void cut_learn(struct cut *c);
/* True if the slot's packet is of a chosen thread, or would have been
 * (payload NULL: it is missing).  *number: its new number.  Slots have to
 * come in order. */
bool cut_thread(struct cut *c, uint32_t slot, const uint8_t *payload,
		uint64_t *number);
/* Returns how many of these slots' packets would have been of chosen
 * threads. */
uint64_t cut_thread_count(const struct cut *c, uint64_t first, uint64_t slots);

/* Makes fill in memory for slots from `pos` on.  0; -EAGAIN: its memory is
 * still in use; -ENOMEM.  In cut_fill.c. */
int cut_fill(struct cut *c, uint64_t released);

#endif
