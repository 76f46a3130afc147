/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_HEALTH_HEALTH_H
#define SPATE_DAEMON_HEALTH_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The health of a recording: a chain of links from the wire to the disk, each a
 * count that has to grow.  A recording is well while every link holds.
 *
 *   arrive    datagrams come
 *   place     while they come, packets are stored
 *   write     while blocks are closed, disks take them
 *   durable   what disks took is in their indexes
 *
 * A link that is idle, because the one before it brings nothing, is as it was.
 * So a recording that lacks packets has one broken link, not four; and one whose
 * disks take nothing has no other that breaks by that.
 *
 * The event loop's thread.  Times are ns of the steady clock.
 */
enum health_link {
	HEALTH_ARRIVE,
	HEALTH_PLACE,
	HEALTH_WRITE,
	HEALTH_DURABLE,
	HEALTH_LINKS,
};

/* Counts of a recording since it began. */
struct health_counts {
	uint64_t datagrams, placed;
	uint64_t written; /* blocks on disks */
	uint64_t lost;	  /* packets of blocks that no disk took */
	unsigned waiting; /* blocks that are on no disk yet */
	uint64_t bytes;	  /* on disks */
	uint64_t durable; /* of these, in indexes */
};

struct health {
	struct health_counts last; /* of the last look, */
	int64_t at;		   /* and when that was */
	int64_t sync; /* ns from sync to sync that the configuration asks for */
	struct health_part {
		int64_t since; /* when the count last grew, or was idle */
		int64_t stood; /* ns of the time since then that do not count:
				  no disk took a block */
		bool broken;
	} link[HEALTH_LINKS];
};

/* Begins, with all links whole. */
void health_begin(struct health *h, int64_t now, int64_t sync);

/* Looks at the counts; call it every second.  Returns a bit, 1 << link, for each
 * link that broke or became whole. */
unsigned health_look(struct health *h, const struct health_counts *c,
		     int64_t now);

/* True if a link that counts as whole has not gone on for a while: too short for an
 * alarm, and long enough for somebody who looks. */
bool health_doubts(const struct health *h, enum health_link link, int64_t now);

/* True if every link holds. */
bool health_is_well(const struct health *h);

/* The name of a link, and what is said of one that is broken, "no packet comes",
 * and of one that is whole again, "packets come". */
const char *health_name(enum health_link link);
const char *health_why(enum health_link link);
const char *health_well(enum health_link link);

#endif
