/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_STEPS_H
#define SPATE_FLOW_HEAPS_STEPS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Steps count the heaps that were lost whole.  Counts of heaps need not grow,
 * nor by one; but most senders count by one step from heap to heap, and once
 * that is certain, counts that were left out are heaps that did not come.  Each
 * sender of a substream is counted by itself.
 */
enum { STEPS_SENDERS = 4 };

struct steps_sender {
	uint32_t sender;
	uint32_t agree;		 /* times the step was seen in a row */
	uint64_t step;		 /* difference of counts from heap to heap; 0:
				    not known */
	uint64_t first, highest; /* lowest and highest count since the step is
				    known */
	uint64_t came;		 /* heaps from first to highest that came */
	bool passed;		 /* the highest did not come: see steps_pass */
	uint64_t told;		 /* missing heaps that were reported */
	uint64_t seen;		 /* steps::seen when its newest heap came */
};

struct steps {
	struct steps_sender of[STEPS_SENDERS];
	unsigned n;
	uint64_t seen;
	uint64_t far; /* a jump by more steps than this is no loss */
};

/* Records a heap that begins, for the first time. */
void steps_see(struct steps *s, uint64_t count, uint32_t sender);

/* Records a heap for which there was no memory.  It counts as missing unless it
 * begins later.  False: the sender's step is not certain. */
bool steps_pass(struct steps *s, uint64_t count, uint32_t sender);

/* Returns how many more heaps are missing than were reported before, and takes
 * them as reported. */
uint64_t steps_missing(struct steps *s);
/* Returns the same number without taking them as reported. */
uint64_t steps_untold(const struct steps *s);

#endif
