/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_PRIV_H
#define SPATE_FLOW_PLACE_PRIV_H

#include "flow/candidate.h"
#include "flow/moves.h"
#include "flow/place.h"
#include "flow/window.h"

/*
 * What the two halves of a place share: place.c sorts batches, place_run.c
 * knows when a run begins.
 */
struct place {
	struct place_args a;
	uint32_t slots, payload, parts;
	uint32_t datagram; /* bytes: prefix + payload */
	uint64_t max_gap;  /* slots */

	struct window window; /* and the run that it is of */

	/* The batch. */
	const struct receive_pair *pair;
	uint64_t key[RECEIVE_BATCH]; /* sequences of the landings */
	unsigned keys;
	bool moved_on;	  /* a run began: the keys mean nothing */
	uint64_t reached; /* one behind the highest of this batch */
	int64_t now_ns, now;
	struct moves moves;

	struct candidate candidate[CANDIDATES];
	bool parked;	       /* some of them have packets */
	struct candidate echo; /* one inside the window; see place_run.c */
	bool echoed;	       /* its memory is in use until the batch ends */
	struct counts counts;

	uint8_t *spare;	   /* what follows is in here */
	uint8_t *discard;  /* RECEIVE_BATCH slots */
	uint8_t *prefixes; /* RECEIVE_BATCH prefixes */
};

/*
 * Gives a packet the slot of its sequence, which is not before the origin;
 * the window moves on where it has to.  Returns where its payload has to be,
 * or NULL when it was dropped.
 */
uint8_t *place_give(struct place *p, uint64_t rel, bool readable);

/* Formats without a sequence: packets follow each other. */
void place_run_arrival(struct place *p);

/* Parks a packet that is far from where the stream is. */
void place_park(struct place *p, const struct receive_packet *k,
		const struct format_packet *f);

/* Parks one that is in the window, but may be of a counter that restarted
 * there.  False: it is not. */
bool place_echo(struct place *p, uint64_t rel, const struct receive_packet *k,
		const struct format_packet *f);

/* A packet of the stream came, perhaps ahead of all others. */
void place_oppose(struct place *p, bool ahead);

/* The echo was none: its packets are duplicates, or late ones. */
void place_echo_dissolve(struct place *p);

/* Begins the runs of candidates that nobody opposed since then. */
void place_runs_begin(struct place *p, int64_t since);

/* The end: a last candidate may be the recording, the others are dropped. */
void place_runs_flush(struct place *p);

#endif
