/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_SPLIT_H
#define SPATE_FLOW_RECEIVE_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/place/placement.h"

/*
 * A split deals the packets of one source out to placements by what their
 * headers say: the thread, or the station.  Towards the intake it acts as a
 * placement: it is asked where packets should land, and told which came.
 *
 * Packets that belong to no placement are dropped in the counts of the first
 * placement, as `unsplit`.  Packets of a wrong size, or that cannot be read,
 * are counted there, too, as `wrong_size` or `unreadable`.
 *
 * Only the thread of the intake may call.
 */
struct split;

struct split_args {
	const struct format_ops *format;
	const struct format_shape *shape; /* shape of all packets */
	bool station;			  /* by station; else by thread */
	const uint32_t *key; /* station or thread of each placement */
	struct placement *const *placement;
	unsigned placements, sources;
	struct scratch *scratch; /* scratch memory that the placements share */
};

/* Makes a split; the arrays belong to the caller, and must outlive it.  Returns
 * 0 or -ENOMEM. */
int split_make(struct split **split, const struct split_args *args);
void split_free(struct split *s); /* NULL is allowed */

/* Aims pairs for a source, as placement_aim does. */
unsigned split_aim(struct split *s, unsigned source, struct receive_pair *pair,
		   unsigned n);

/* A batch of one source. */
struct split_batch {
	unsigned source;
	const struct receive_packet *packet;
	unsigned packets;
	/* The pair of the last split_aim in which each packet landed, -1 for
	 * none.  NULL: packet i landed in pair i, if in any. */
	const int16_t *landing;
	int64_t now_ns, now;
};

/* Sorts a batch, as placement_batch does.  Returns an array of the placements
 * that got packets, and its length in *placements. */
const uint16_t *split_batch(struct split *s, const struct split_batch *b,
			    unsigned *placements);

#endif
