/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_SPLIT_H
#define SPATE_FLOW_RECEIVE_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/place/place.h"
#include "flow/place/spare.h"

/*
 * A split deals the packets of one source out to places by what their headers
 * say: the thread, or the station.  It takes the place's part towards the
 * intake: it is asked where packets should land, and told which came.
 *
 * What is no place's is dropped in the counts of the first, `unsplit`, and so
 * is what is of wrong size, or cannot be read.
 *
 * The thread of the intake only.
 */
struct split;

struct split_args {
	const struct format_ops *format;
	const struct format_shape *shape; /* of the packets of all places */
	bool station;			  /* else by thread */
	const uint32_t *key;		  /* of each place */
	struct place *const *place;
	unsigned places, sources;
	struct spare *spare; /* that the places share */
};

/* The arrays belong to the caller, and stay.  0 or -ENOMEM. */
int split_make(struct split **split, const struct split_args *args);
void split_free(struct split *s); /* NULL: nothing */

/* As place_aim, for a source. */
unsigned split_aim(struct split *s, unsigned source, struct receive_pair *pair,
		   unsigned n);

/* Of one source; `landing` as in struct place. */
struct split_batch {
	unsigned source;
	const struct receive_packet *packet;
	unsigned packets;
	const int16_t *landing;
	int64_t now_ns, now;
};

/* As place_batch.  Returns which places got packets, and how many they are. */
const uint16_t *split_batch(struct split *s, const struct split_batch *b,
			    unsigned *places);

#endif
