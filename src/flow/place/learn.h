/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_LEARN_H
#define SPATE_FLOW_PLACE_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/format.h"

/*
 * Learning finds out what neither the configuration nor a single packet says
 * about a stream: its frames per second and its threads.
 *
 * Packets that carry only a time, and no counter, have no sequence before both
 * are known, so they are held until then (slots_held.c).  A stream with a
 * counter is placed at once; there, frames per second turn the frame numbers of
 * its headers into times.
 *
 * Frames per second are the highest frame number of a second, plus one, seen
 * when the next second begins.  That takes at most a second if nothing is lost
 * just then.  Threads are known after an eighth of a second.
 */
enum { LEARN_THREADS = 1024 };

/* Stands for frames per second that are not known yet, and may be soon. */
#define LEARN_WAIT UINT32_MAX

struct learn_thread {
	uint32_t thread, frame; /* second and frame of its newest packet */
	int64_t second;		/* seconds since 1970 */
	uint64_t at;		/* index of that packet among all that were
				   learned from */
	uint64_t packets;
};

struct learn {
	bool fps_known, threads_known;
	uint64_t bits; /* data bits in a frame */
	uint32_t fps;  /* valid if fps_known */

	int64_t second;	  /* second that is being watched; 0: none yet */
	uint32_t highest; /* highest frame of that second */
	uint32_t row;	  /* frames in a row that end at `highest` */
	uint32_t before;  /* frames of the last good second; 0: none */
	/* The same for the next second, which may have begun. */
	uint32_t next_highest, next_row;
	uint64_t next_packets;
	bool next_first;  /* frame 0 of that second came */
	uint32_t strays;  /* packets in a row that belong to neither second */
	uint64_t packets; /* packets seen */
	uint64_t untimed; /* packets without a time */

	struct learn_thread seen[LEARN_THREADS];
	uint32_t thread[LEARN_THREADS]; /* in the order of arrival within a
					   frame, when known */
	/* How many are known, or else were seen. */
	uint32_t threads;
};

/* True if packets of this shape have no sequence before something is
 * learned. */
bool learn_needed(const struct format_shape *shape);

/* True if packets have a sequence, and lack only the frames per second for
 * their times. */
bool learn_wanted(const struct format_shape *shape);

void learn_start(struct learn *l, const struct format_shape *shape);

/* Learns from a packet.  True when all is known: then fps, thread and threads
 * are final. */
bool learn_packet(struct learn *l, const struct format_packet *p);

/* True if the packets so far show that nothing can be learned: none tells a
 * time, or too many came. */
bool learn_hopeless(const struct learn *l);

#endif
