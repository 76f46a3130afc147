/* SPDX-License-Identifier: MIT */
/*
 * One allocation, touched when it is made: no page of it is missing when the
 * first packet comes.
 */
#include "flow/place/spare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/heaps/heaps.h"

/* Sizes for heaps, whose packets differ in length: a discard slot holds a jumbo
 * frame, a prefix more than the usual header.  A packet that exceeds them
 * arrives in memory of the receive plugin instead. */
enum { HEAPS_SLOT = 9216, HEAPS_PREFIX = 256 };

int
spare_make(struct spare **spare, uint32_t slot_bytes, uint32_t prefix_bytes)
{
	struct spare *s = calloc(1, sizeof *s);
	uint64_t slots = (uint64_t)(RECEIVE_BATCH + 1) * slot_bytes;
	uint64_t bytes = slots + (uint64_t)RECEIVE_BATCH * prefix_bytes;

	if (!s)
		return -ENOMEM;
	s->memory = malloc(bytes);
	if (!s->memory) {
		free(s);
		return -ENOMEM;
	}
	memset(s->memory, 0, bytes);
	s->slot_bytes = slot_bytes;
	s->prefix_bytes = prefix_bytes;
	s->discard = s->memory;
	s->moves.bytes = slot_bytes;
	s->moves.scratch = spare_slot(s, RECEIVE_BATCH);
	s->prefix = s->memory + slots;
	*spare = s;
	return 0;
}

int
spare_make_heaps(struct spare **spare)
{
	int err = spare_make(spare, HEAPS_SLOT, HEAPS_PREFIX);

	if (err)
		return err;
	err = heaps_spare_make(&(*spare)->heaps);
	if (err)
		spare_free(*spare);
	return err;
}

void
spare_free(struct spare *s)
{
	if (!s)
		return;
	heaps_spare_free(s->heaps);
	free(s->memory);
	free(s);
}
