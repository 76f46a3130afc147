/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_GATE_H
#define SPATE_FLOW_PLACE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/format.h"
#include "contract/receive.h"
#include "flow/place/arrival.h"

/*
 * A gate is when a recording takes packets: those of [open, close), by when
 * they arrived, or by the time of the data in them.  So a packet at the
 * boundary of two recordings that follow each other is of exactly one.
 *
 *        BEFORE     | open       IN        close |      AFTER
 *
 * Pure; any thread.
 */
enum gate_side { GATE_BEFORE, GATE_IN, GATE_AFTER, GATE_MIXED };

struct gate {
	int64_t open;  /* INT64_MIN: at once */
	int64_t close; /* INT64_MAX: by order */
	bool data;     /* UTC ns of the data; else steady ns of arrival */
};

static inline enum gate_side
gate_side(const struct gate *g, int64_t ns)
{
	if (ns >= g->close)
		return GATE_AFTER;
	return ns >= g->open ? GATE_IN : GATE_BEFORE;
}

/* How packets of one source are looked at through one gate. */
struct gate_eye {
	const struct arrival *arrival;	  /* for arrival; */
	int64_t now;			  /* steady: of the pass */
	const struct format_ops *format;  /* for the time of data; heaps */
	const struct format_shape *shape; /* tell none */
	const _Atomic uint32_t *fps;	  /* as in struct place_args; or NULL */
	enum gate_side last; /* kept from batch to batch: at first BEFORE */
};

/*
 * The side of all packets of a batch (n > 0), or GATE_MIXED, and then
 * side[i], an enum gate_side, is that of each.
 *
 * Only near the edges of a gate each packet is looked at: the first and the
 * last speak for a batch that is far from both.  With data time a packet that
 * tells none (a later part of a frame, or garbage) goes with the one before
 * it, of its source.
 */
enum gate_side gate_split(const struct gate *g, struct gate_eye *eye,
			  const struct receive_packet *packet, unsigned n,
			  uint8_t *side);

/* Those of a batch that are on one side. */
struct gate_picked {
	unsigned n;
	struct receive_packet packet[RECEIVE_BATCH];
	int16_t from[RECEIVE_BATCH]; /* where each was in the batch */
};

/* Copies them, in their order. */
void gate_pick(struct gate_picked *to, const struct receive_packet *packet,
	       const uint8_t *side, unsigned n, enum gate_side which);

#endif
