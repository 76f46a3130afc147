/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_COUNTS_H
#define SPATE_FLOW_PLACE_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Counts record what became of every packet of a session.  Each datagram that
 * was handed to the core is either in a slot or in exactly one drop:
 *
 *   datagrams = packets in slots + sum of all drops
 */
#define DROPS(X)                                                               \
	X(FOREIGN, "foreign", "sender not in `allow`")                         \
	X(WRONG_SIZE, "wrong_size", "not prefix + payload bytes long")         \
	X(UNREADABLE, "unreadable", "no sequence could be read from it")       \
	X(BEFORE_START, "before_start",                                        \
	  "before the start, or the first whole frame")                        \
	X(DUPLICATE, "duplicate", "its slot had a packet")                     \
	X(LATE, "late", "its block was closed")                                \
	X(OUT_OF_WINDOW, "out_of_window", "far from all others")               \
	X(MALFORMED, "malformed", "no such packet, or contradicts itself")     \
	X(TOO_LARGE, "too_large", "its heap does not fit in a block")          \
	X(FRAGMENTED, "fragmented", "its heap has too many holes")             \
	X(UNTIMED, "untimed", "when its heap is from was not told")            \
	X(UNSTORED, "unstored", "its heap has not the item that is stored")    \
	X(NO_BUFFER, "no_buffer", "no free block: disks too slow")             \
	X(UNWRITTEN, "unwritten", "no disk could write its block")             \
	X(UNSPLIT, "unsplit", "of no thread or station that is recorded")

enum drop {
#define X(name, key, help) DROP_##name,
	DROPS(X)
#undef X
	    DROP_KINDS
};

/* Counts of one placement; plain integers, because only the receiver thread
 * uses them. */
struct counts {
	uint64_t datagrams;
	uint64_t placed;	   /* packets in slots of blocks that are open
				      or were handed on */
	uint64_t bytes;		   /* bytes of the placed packets that are
				      stored */
	uint64_t heaps;		   /* finished heaps */
	uint64_t heaps_incomplete; /* finished heaps with pieces missing */
	uint64_t reordered;  /* placed packets that came after one with a higher
				sequence */
	uint64_t unreadable; /* placed packets whose frame header is not sane */
	uint64_t moved;	     /* packets placed by copy */
	uint64_t runs;
	/* Packets lost in no block: before the first block of a run, or behind
	 * its last one, up to the highest sequence that came.  Falls when a
	 * block that accounts for them is handed on. */
	uint64_t outside;
	uint64_t drop[DROP_KINDS];
};

enum { COUNTS = sizeof(struct counts) / sizeof(uint64_t) };

/*
 * A copy of the counts for other threads, which the receiver thread updates.
 * Relaxed, each number by itself: while packets arrive the sums may be a batch
 * apart; after the end they agree.
 */
struct counts_shown {
	_Atomic uint64_t n[COUNTS];
};

static inline void
counts_show(struct counts_shown *to, const struct counts *from)
{
	const uint64_t *n = (const uint64_t *)from;

	for (unsigned i = 0; i < COUNTS; i++)
		atomic_store_explicit(&to->n[i], n[i], memory_order_relaxed);
}

static inline void
counts_read(struct counts *to, struct counts_shown *from)
{
	uint64_t *n = (uint64_t *)to;

	for (unsigned i = 0; i < COUNTS; i++)
		n[i] = atomic_load_explicit(&from->n[i], memory_order_relaxed);
}

#endif
