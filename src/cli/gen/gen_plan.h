/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_PLAN_H
#define SPATE_CLI_GEN_GEN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A plan says which packets of an ideal stream, numbered from 0, are sent,
 * and in which order: what is lost, sent twice, or overtaken on purpose.  It
 * is a pure function of the seed, and counts exactly.
 *
 * The first and the last GEN_GUARD packets are sent as they are, so that a
 * receiver sees every loss as a gap between two packets.
 */
enum { GEN_GUARD = 64 };

struct gen_chances {
	double loss, reorder, duplicate; /* of each packet, 0 to 1 */
	uint32_t displace; /* an overtaken packet comes 1 to this many
				   packets late; 1 swaps neighbours */
	uint64_t seed;
};

struct gen_plan {
	struct gen_chances chances;
	uint64_t packets; /* the end of the plan */
	uint64_t next;	  /* the first not looked at: packets so far */
	uint64_t sent, lost, swapped, duplicated;

	uint64_t held;	 /* the packet that others overtake now */
	uint32_t behind; /* how many shall; 0: none is held */
	uint32_t passed; /* how many did */
	bool again;	 /* `last` is sent once more */
	uint64_t last;
};

void gen_plan_init(struct gen_plan *plan, const struct gen_chances *chances,
		   uint64_t packets);

/* The next packet to send; false when that was the last one. */
bool gen_plan_next(struct gen_plan *plan, uint64_t *packet);

/* Ends it early, with this many packets: at least one more than `next`, behind
 * whatever was lost or held. */
void gen_plan_end(struct gen_plan *plan, uint64_t packets);

#endif
