/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_CUBE_H
#define SPATE_STORE_READ_CUBE_H

#include "store/recording/recording.h"

/*
 * A cube is a recording seen as a table: one item for each time and each
 * channel, where a channel is one substream.  Times are absolute (the run's
 * base plus the slot), so channels are aligned even if one of them began late
 * or lost packets.
 *
 * A sender that restarts its counter sends a second item for the same time; a
 * jump of the counter says nothing about the times in between.  Either begins a
 * new span: cubes of their own, in order of arrival.  Spans with the same
 * number belong together across channels.
 *
 * A cube is valid until its recording is refreshed.  One thread at a time.
 */
struct cube;

enum { CUBE_LEAP = 65536 }; /* a longer jump in time begins a new span */

struct cube_span {
	uint64_t first, last; /* times; both are there for some channel */
};

enum cube_state {
	CUBE_WHOLE,
	CUBE_PART,    /* `missing` lists the bytes that are not there */
	CUBE_UNKNOWN, /* some bytes are missing, but the metadata does not say
			 which */
	CUBE_ABSENT,
};

struct cube_range {
	uint64_t at, bytes;
};

struct cube_item {
	enum cube_state state;
	uint64_t offset; /* byte in its channel's file, unless absent; missing
			    bytes read as zeros */
	const struct cube_range
	    *missing; /* byte ranges of the item; valid until the next call */
	size_t n;
};

/* Returns 0; -ENOTSUP if the recording does not hold cubes; -ENOMEM. */
int cube_open(struct cube **cube, struct recording *rec);
void cube_close(struct cube *cube);

/* Returns the spans, *n of them; valid until cube_close(). */
const struct cube_span *cube_spans(const struct cube *cube, size_t *n);

/* True if any channel has a block with these times, both included. */
bool cube_any(const struct cube *cube, size_t span, uint64_t first,
	      uint64_t last);

/* Finds the item of a channel at a time.  Returns 0 or -ENOMEM. */
int cube_find(struct cube *cube, size_t span, unsigned channel, uint64_t time,
	      struct cube_item *item);

#endif
