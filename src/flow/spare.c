/* SPDX-License-Identifier: MIT */
/*
 * One piece, touched when it is made: no page of it is missing when the
 * first packet comes.
 */
#include "flow/spare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

void
spare_free(struct spare *s)
{
	if (!s)
		return;
	free(s->memory);
	free(s);
}
