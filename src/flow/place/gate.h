/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_GATE_H
#define SPATE_FLOW_PLACE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/format.h"
#include "contract/receive.h"
#include "flow/place/arrival.h"

/*
 * A gate is the time window of a recording: it takes packets of [open, close),
 * judged by arrival or by the time of the data in them.  So a packet at the
 * boundary of two consecutive recordings belongs to exactly one.
 *
 *        BEFORE     | open       IN        close |      AFTER
 *
 * Functions are pure; any thread may call.
 */
enum gate_side { GATE_BEFORE, GATE_IN, GATE_AFTER, GATE_MIXED };

struct gate {
	int64_t open;  /* ns; INT64_MIN: at once */
	int64_t close; /* ns; INT64_MAX: when told to stop */
	/* true: UTC of the data; false: steady time of arrival. */
	bool data;
};

static inline enum gate_side
gate_side(const struct gate *g, int64_t ns)
{
	if (ns >= g->close)
		return GATE_AFTER;
	return ns >= g->open ? GATE_IN : GATE_BEFORE;
}

/* State to judge packets of one source by one gate. */
struct gate_eye {
	const struct arrival *arrival;	 /* used if the gate goes by arrival */
	int64_t now;			 /* steady ns of the pass */
	const struct format_ops *format; /* with `shape`, used if the gate goes
					    by data; heaps tell no time */
	const struct format_shape *shape;
	const _Atomic uint32_t *fps; /* as in struct place_args; or NULL */
	enum gate_side last; /* side of the newest packet; at first BEFORE */
};

/*
 * Judges a batch of n > 0 packets.  Returns their common side, or GATE_MIXED
 * with side[i] the enum gate_side of packet i.
 *
 * Only near the edges of a gate is each packet looked at; elsewhere the first
 * and the last speak for the batch.  With data time, a packet that tells none
 * (a later part of a frame, or garbage) joins the packet before it from the
 * same source.
 */
enum gate_side gate_split(const struct gate *g, struct gate_eye *eye,
			  const struct receive_packet *packet, unsigned n,
			  uint8_t *side);

/* The packets of a batch that are on one side of a gate. */
struct gate_picked {
	unsigned n;
	struct receive_packet packet[RECEIVE_BATCH];
	int16_t from[RECEIVE_BATCH]; /* index of each in the batch */
};

/* Copies the packets whose side is `which`, in their order. */
void gate_pick(struct gate_picked *to, const struct receive_packet *packet,
	       const uint8_t *side, unsigned n, enum gate_side which);

#endif
