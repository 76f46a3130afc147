/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_TAP_PRIV_H
#define SPATE_FLOW_MEMORY_TAP_PRIV_H

#include <stdatomic.h>

#include "flow/memory/shelf.h"
#include "flow/memory/tap.h"

/* What shelf.c and output_tap.c have of a tap. */
struct tap {
	struct shelf *shelf;   /* held */
	struct output *output; /* held */
	int fd;
	struct tap *peer; /* output::taps */

	/* shelf::lock */
	struct tap *next;   /* shelf::taps */
	uint64_t from;	    /* lower numbers are not wanted */
	uint64_t end;	    /* see tap_facts */
	unsigned reads;	    /* of all slots */
	uint64_t revoked;   /* blocks that it wanted, */
	uint64_t skipped;   /* and that it was not even given */
	struct map *map;    /* where others see what it gets, and */
	uint64_t shown_as;  /* of which recording; NULL: nowhere */
	atomic_uint wanted; /* reads of revoked slots; written under the lock */
	uint16_t read[];    /* of each slot */
};

/* output_tap.c: it is poked from here on, or not any more. */
void output_tap(struct output *o, struct tap *t);
void output_untap(struct output *o, struct tap *t);

#endif
