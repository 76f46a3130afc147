/* SPDX-License-Identifier: MIT */
/*
 * One allocation, touched when it is made: no page of it is missing when the
 * first packet comes.
 */
#include "flow/place/placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
scratch_make(struct scratch **scratch, uint32_t slot_bytes,
	     uint32_t prefix_bytes)
{
	struct scratch *s = calloc(1, sizeof *s);
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
	s->relocate.aside = scratch_slot(s, RECEIVE_BATCH);
	s->relocate.aside_bytes = slot_bytes;
	s->prefix = s->memory + slots;
	*scratch = s;
	return 0;
}

void
scratch_free(struct scratch *s)
{
	if (!s)
		return;
	free(s->heaps);
	free(s->memory);
	free(s);
}
