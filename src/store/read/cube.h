/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_CUBE_H
#define SPATE_STORE_READ_CUBE_H

#include "store/recording/recording.h"

/*
 * A cube is what a recording of cubes is about: an item for each time and
 * each channel, which is what its sender's substream is.  Times are absolute
 * (the run's base and the place in it), so that channels are aligned however
 * late one of them began, or whatever it lost.
 *
 * A sender that begins to count anew has a second item for the same time;
 * one that leaps says nothing about the times between.  Either begins a new
 * span: cubes of their own, in the order in which they came.  Spans of the
 * same number of all channels belong together.
 *
 * As long as the recording is not refreshed; one thread at a time.
 */
struct cube;

enum { CUBE_LEAP = 65536 }; /* times that may lack in a span */

struct cube_span {
	uint64_t first, last; /* times, both are there for some channel */
};

enum cube_state {
	CUBE_WHOLE,
	CUBE_PART,    /* `missing` says what is not there */
	CUBE_UNKNOWN, /* some is missing, and the metadata that said what is
			 lost */
	CUBE_ABSENT,
};

struct cube_range {
	uint64_t at, bytes;
};

struct cube_item {
	enum cube_state state;
	uint64_t offset; /* in its channel's file, unless absent; what is
			    missing is zero there */
	const struct cube_range
	    *missing; /* of its bytes; until the next call */
	size_t n;
};

/* 0, -ENOTSUP for a recording that is not of cubes, -ENOMEM. */
int cube_open(struct cube **cube, struct recording *rec);
void cube_close(struct cube *cube);

const struct cube_span *cube_spans(const struct cube *cube, size_t *n);

/* Is there anything of these times, both included, of any channel? */
bool cube_any(const struct cube *cube, size_t span, uint64_t first,
	      uint64_t last);

/* 0 or -ENOMEM. */
int cube_find(struct cube *cube, size_t span, unsigned channel, uint64_t time,
	      struct cube_item *item);

#endif
