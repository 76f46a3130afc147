/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_LEARN_H
#define SPATE_FLOW_PLACE_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/format.h"

/*
 * Learning finds out what neither the configuration nor a packet says of a
 * stream: the frames per second, and the threads.
 *
 * A stream whose packets carry no counter, only their time, has no sequence
 * before both are known, so its packets are held until then (slots_held.c).  A
 * stream with a counter is placed at once; frames per second turn the frame
 * numbers of its headers into times.
 *
 * Frames per second are the highest frame number of a second, plus one, seen
 * when the next second begins: so it takes a second at most, if nothing is
 * lost just then.  Threads are known after an eighth of a second.
 */
enum { LEARN_THREADS = 1024 };

/* Said instead of frames per second: they are not known yet, and may be soon. */
#define LEARN_WAIT UINT32_MAX

struct learn_thread {
	uint32_t thread, frame; /* of its newest packet, */
	int64_t second;		/* too, */
	uint64_t at;		/* which came as number `at` */
	uint64_t packets;
};

struct learn {
	bool fps_known, threads_known;
	uint64_t bits; /* of data in a frame */
	uint32_t fps;  /* when known */

	int64_t second;	  /* that is looked at; 0: none yet */
	uint32_t highest; /* frame in it, */
	uint32_t row;	  /* the last of so many in a row */
	uint32_t before;  /* frames of the last good second; 0: none */
	/* The same of the second behind it, which may have begun. */
	uint32_t next_highest, next_row;
	uint64_t next_packets;
	bool next_first;  /* its frame 0 came */
	uint32_t strays;  /* packets in a row that are of neither */
	uint64_t packets; /* in all; */
	uint64_t untimed; /* those without a time */

	struct learn_thread seen[LEARN_THREADS];
	uint32_t thread[LEARN_THREADS]; /* when known, in their order */
	uint32_t threads;		/* known, else seen */
};

/* Do packets of this shape have no sequence before something is learned? */
bool learn_needed(const struct format_shape *shape);

/* Do they only lack the frames per second, for their times? */
bool learn_wanted(const struct format_shape *shape);

void learn_start(struct learn *l, const struct format_shape *shape);

/* True when all is known: then fps, thread and threads are final. */
bool learn_packet(struct learn *l, const struct format_packet *p);

/* Packets do not tell what is to be learned; true once it is clear. */
bool learn_hopeless(const struct learn *l);

#endif
