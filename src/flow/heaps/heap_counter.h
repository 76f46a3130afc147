/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_HEAP_COUNTER_H
#define SPATE_FLOW_HEAPS_HEAP_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A heap counter counts the heaps that were lost whole.  Counts of heaps need
 * not grow, nor by one; but most senders count by one step from heap to heap,
 * and once that is certain, counts that were left out are heaps that did not
 * come.  Each sender of a substream is counted by itself.
 */
enum { HEAP_COUNTER_SENDERS = 4 };

struct counted_sender {
	uint32_t sender;
	uint32_t agree;		 /* times the step was seen in a row */
	uint64_t step;		 /* difference of counts from heap to heap; 0:
				    not known */
	uint64_t wider;		 /* the last difference that was a larger
				    multiple of the step */
	uint32_t widely;	 /* times it was seen in a row */
	uint64_t first, highest; /* lowest and highest count since the step is
				    known */
	uint64_t came;		 /* heaps from first to highest that came */
	bool passed;   /* the highest did not come: see heap_counter_pass */
	uint64_t told; /* missing heaps that were reported */
	uint64_t seen; /* heap_counter::seen when its newest heap came */
};

struct heap_counter {
	struct counted_sender of[HEAP_COUNTER_SENDERS];
	unsigned n;
	uint64_t seen;
	uint64_t far; /* a jump by more steps than this is no loss */
};

/* Records a heap that begins, for the first time. */
void heap_counter_see(struct heap_counter *s, uint64_t count, uint32_t sender);

/* Records a heap for which there was no memory.  It counts as missing unless it
 * begins later.  False: the sender's step is not certain. */
bool heap_counter_pass(struct heap_counter *s, uint64_t count, uint32_t sender);

/* Returns how many more heaps are missing than were reported before, and takes
 * them as reported. */
uint64_t heap_counter_missing(struct heap_counter *s);
/* Returns the same number without taking them as reported. */
uint64_t heap_counter_untold(const struct heap_counter *s);

#endif
