/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_PLAN_H
#define SPATE_CLI_GEN_GEN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A plan says which packets of an ideal stream, numbered from 0, are sent and
 * in which order: which are lost, sent twice or overtaken on purpose.  It is a
 * pure function of the seed, and counts exactly.
 *
 * The first and the last GEN_GUARD packets are sent unchanged, so that a
 * receiver sees every loss as a gap between two packets.
 */
enum { GEN_GUARD = 64 };

struct gen_chances {
	/* probability for each packet, 0 to 1 */
	double loss, reorder, duplicate;
	/*
	 * an overtaken packet comes 1 to this many packets late; 1 swaps
	 * neighbours
	 */
	uint32_t displace;
	uint64_t seed;
};

struct gen_plan {
	struct gen_chances chances;
	uint64_t packets; /* number of packets in the plan */
	uint64_t next;	  /* number of packets planned so far */
	uint64_t sent, lost, swapped, duplicated;

	uint64_t held; /* the packet that is held back */
	/* how many packets shall overtake it; 0: none is held */
	uint32_t behind;
	uint32_t passed; /* how many packets have overtaken it */
	bool again;	 /* `last` is to be sent again */
	uint64_t last;
};

void gen_plan_init(struct gen_plan *plan, const struct gen_chances *chances,
		   uint64_t packets);

/* Returns the next packet to send in *packet; false: the plan has ended. */
bool gen_plan_next(struct gen_plan *plan, uint64_t *packet);

/*
 * Ends a plan early, with this many packets.  The number must be larger than
 * `next`, so that the end lies behind all packets lost or held.
 */
void gen_plan_end(struct gen_plan *plan, uint64_t packets);

#endif
