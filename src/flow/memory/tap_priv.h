/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_TAP_PRIV_H
#define SPATE_FLOW_MEMORY_TAP_PRIV_H

#include <stdatomic.h>

#include "flow/memory/shelf.h"
#include "flow/memory/tap.h"

/* A tap, as tap.c, shelf.c and output_tap.c share it. */
struct tap {
	struct shelf *shelf;   /* counted reference */
	struct output *output; /* counted reference */
	int fd;
	struct tap *peer; /* output::taps */

	/* guarded by shelf::lock */
	struct tap *next;   /* shelf::taps */
	uint64_t from;	    /* blocks with lower numbers are not wanted */
	uint64_t end;	    /* see tap_facts */
	unsigned reads;	    /* sum of read[] */
	uint64_t revoked;   /* wanted blocks that were taken back */
	uint64_t skipped;   /* wanted blocks that were not kept */
	struct map *map;    /* shows its blocks to live readers; NULL: none */
	uint64_t shown_as;  /* the recording's ID in that map */
	atomic_uint wanted; /* reads of revoked slots; written under the lock */
	uint16_t read[];    /* per slot of the shelf: takes not yet put */
};

/* Puts a tap on the list of its output, which pokes it from then on, and takes
 * it off (output_tap.c). */
void output_tap(struct output *o, struct tap *t);
void output_untap(struct output *o, struct tap *t);

#endif
