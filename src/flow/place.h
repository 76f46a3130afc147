/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_H
#define SPATE_FLOW_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "contract/format.h"
#include "contract/receive.h"
#include "flow/counts.h"
#include "flow/pool.h"
#include "store/geometry.h"

/*
 * A place is where the packets of one sequence find their slots.  It is
 * asked where the next packets should land, and told which came:
 *
 *   place_aim -> the plugin's receive() -> place_batch -> place_aim ...
 *
 * Packets find their slots in the two open blocks of the window (window.h):
 *
 *        origin          +slots          +2 slots         +3 slots
 *          | open          | open          | ahead            |
 *   late   |  xxx x xxxxxxx|xx.x           |                  |  gap, or
 *          |               |    ^ highest  |                  |  candidate
 *
 * A packet in `ahead` closes the first block and moves everything one on.  A
 * step forward of up to max_gap is a gap.  What is farther, or before the
 * origin, waits as a candidate for the next run.  A block also closes when
 * its first packet is max_age old, then perhaps short; the origin moves
 * behind its last packet.
 *
 * One thread, which owns all of it: the receiver.
 */
struct place;

struct place_args {
	const struct format_ops *format;
	const struct format_shape *shape;
	const struct geometry *geometry;
	struct stock *stock;
	uint64_t max_gap; /* bytes */
	int64_t max_age;  /* ns */
	/* Takes a CLOSED block over; called on the receiver thread. */
	void (*out)(void *arg, struct block *b);
	void *arg;
};

/* What one source is expected to bring next; zero to begin with. */
struct aim {
	uint64_t next; /* relative sequence */
	uint64_t run;  /* that it is relative to; 0: none */
};

int place_make(struct place **place, const struct place_args *args);
void place_free(struct place *place); /* after place_flush */

/* Writes n pairs: where the next packets of this source should land. */
void place_aim(struct place *p, const struct aim *aim,
	       struct receive_pair *pair, unsigned n);

/*
 * Takes in what came: `packet` of a receive() that was given the pairs of
 * the place_aim just before.  now_ns: UTC; now: steady.
 */
void place_batch(struct place *p, struct aim *aim,
		 const struct receive_packet *packet, unsigned n,
		 int64_t now_ns, int64_t now);

/* Closes what is too old; call every tenth of a second or so. */
void place_age(struct place *p, int64_t now);

/* The end: closes everything.  A candidate without rivals becomes a run. */
void place_flush(struct place *p);

const struct counts *place_counts(const struct place *p);

/* For drops that are decided before a packet gets here. */
void place_drop(struct place *p, enum drop why, uint64_t n);

#endif
