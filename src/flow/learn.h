/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_LEARN_H
#define SPATE_FLOW_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/format.h"

/*
 * Learning is how a stream whose packets carry no counter, only their time,
 * gets to have a sequence: it needs the frames per second and the threads.
 *
 * Frames per second are the highest frame number of a whole second, plus
 * one, and two seconds have to agree, because the last frame of one may have
 * been lost; threads are those of a whole second, in the order of their first
 * frames.  So it takes about three seconds, unless the configuration has
 * `fps` and `threads`.
 */
enum { LEARN_THREADS = 1024 };

struct learn {
	bool fps_known, threads_known; /* from the configuration */
	int64_t second;		       /* the newest seen; 0: none */
	uint32_t highest;	       /* frame in it */
	uint32_t fps; /* of the last whole second; 0: none yet */
	bool whole;   /* its beginning was seen */
	uint32_t thread[LEARN_THREADS]; /* seen in this second */
	uint32_t threads;
};

/* Is there anything to learn for this shape? */
bool learn_needed(const struct format_shape *shape);

void learn_start(struct learn *l, const struct format_shape *shape);

/* True when all is known: then fps, thread and threads are final. */
bool learn_packet(struct learn *l, const struct format_packet *p);

#endif
