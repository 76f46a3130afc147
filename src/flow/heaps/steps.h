/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_STEPS_H
#define SPATE_FLOW_HEAPS_STEPS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Steps tell how many heaps were lost whole.  Counts of heaps need not grow,
 * nor by one; but most senders count by the same step from heap to heap, and
 * once that is certain, counts that were left out are heaps that did not
 * come.  Each sender of a substream counts for itself.
 */
enum { STEPS_SENDERS = 4 };

struct steps_sender {
	uint32_t sender;
	uint32_t agree;		 /* times the step was seen in a row */
	uint64_t step;		 /* 0: not known */
	uint64_t first, highest; /* counts, since it is known what they mean */
	uint64_t came;		 /* heaps, of those between */
	bool passed;		 /* the highest has not come, see steps_pass */
	uint64_t told;		 /* of the missing */
	uint64_t seen;		 /* steps::seen, when it last came */
};

struct steps {
	struct steps_sender of[STEPS_SENDERS];
	unsigned n;
	uint64_t seen;
	uint64_t far; /* steps at once that are no loss any more */
};

/* A heap begins, that did not come before. */
void steps_see(struct steps *s, uint64_t count, uint32_t sender);

/* A piece of a heap came that there was no memory for.  The heap counts as
 * missing, unless it begins yet.  False: how its sender counts is not known. */
bool steps_pass(struct steps *s, uint64_t count, uint32_t sender);

/* How many more heaps than was told before are missing now. */
uint64_t steps_missing(struct steps *s);
/* The same, and they are not told by that. */
uint64_t steps_untold(const struct steps *s);

#endif
