/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_TIME_WINDOW_H
#define SPATE_FLOW_PLACE_TIME_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/format.h"
#include "contract/receive.h"

/*
 * An arrival clock turns the kernel's UTC time stamps of packets into steady
 * time.  People and time servers step UTC; a time window (time_window.h) that
 * opened on the steady clock must not close or open again because of that.
 *
 * The clock knows how far UTC is ahead of steady time, how far it was before
 * the last step, and when the step was noticed: a stamp from before a step that
 * is read after it is converted with the old offset.
 *
 * Only the receiver thread calls; arrival_look() reads the clocks, the others
 * are pure.
 */
/* ns; no socket holds a packet longer. */
#define ARRIVAL_OLD (10 * NS_SECOND)

struct arrival {
	int64_t offset;	 /* ns, UTC minus steady */
	int64_t before;	 /* ns, the offset before the last step */
	int64_t stepped; /* steady ns when the step was noticed; 0: never */
	bool known;	 /* `offset` was measured */
};

/*
 * Reads both clocks; call it at the start of each pass, before any packet is
 * read.  Returns the time of the pass, steady ns.
 */
int64_t arrival_look(struct arrival *a);

/* Records that UTC was `utc` at some time from `steady` to `steady` + `within`;
 * all in ns. */
void arrival_set(struct arrival *a, int64_t utc, int64_t steady,
		 int64_t within);

/*
 * Converts a stamp (UTC ns; 0: none) that is read in a pass at `now` into
 * steady ns.  Returns `now` where the stamp cannot be true: in the future, or
 * older than ARRIVAL_OLD.
 */
int64_t arrival_time(const struct arrival *a, int64_t stamp, int64_t now);

/*
 * A time window says when a recording records: it takes packets of [open,
 * close), judged by arrival or by the time of the data in them.  So a packet at
 * the boundary of two consecutive recordings belongs to exactly one.
 *
 *        BEFORE     | open       IN        close |      AFTER
 *
 * Functions are pure; any thread may call.
 */
enum time_side { TIME_BEFORE, TIME_IN, TIME_AFTER, TIME_MIXED };

struct time_window {
	int64_t open;  /* ns; INT64_MIN: at once */
	int64_t close; /* ns; INT64_MAX: when told to stop */
	/* true: UTC of the data; false: steady time of arrival. */
	bool data;
};

static inline enum time_side
time_window_side(const struct time_window *g, int64_t ns)
{
	if (ns >= g->close)
		return TIME_AFTER;
	return ns >= g->open ? TIME_IN : TIME_BEFORE;
}

/* State to judge packets of one source by one time window. */
struct time_window_state {
	const struct arrival
	    *arrival; /* used if the time window goes by arrival */
	int64_t now;  /* steady ns of the pass */
	const struct format_ops
	    *format; /* with `shape`, used if the time window goes
					    by data; heaps tell no time */
	const struct format_shape *shape;
	const _Atomic uint32_t *fps; /* as in struct placement_args; or NULL */
	enum time_side last; /* side of the newest packet; at first BEFORE */
};

/*
 * Judges a batch of n > 0 packets.  Returns their common side, or TIME_MIXED
 * with side[i] the enum time_side of packet i.
 *
 * Only near the edges of a time window is each packet looked at; elsewhere the
 * first and the last speak for the batch.  With data time, a packet that tells
 * none (a later part of a frame, or garbage) joins the packet before it from
 * the same source.
 */
enum time_side time_window_split(const struct time_window *g,
				 struct time_window_state *eye,
				 const struct receive_packet *packet,
				 unsigned n, uint8_t *side);

/* The packets of a batch that are on one side of a time window. */
struct time_window_picked {
	unsigned n;
	struct receive_packet packet[RECEIVE_BATCH];
	int16_t from[RECEIVE_BATCH]; /* index of each in the batch */
};

/* Copies the packets whose side is `which`, in their order. */
void time_window_pick(struct time_window_picked *to,
		      const struct receive_packet *packet, const uint8_t *side,
		      unsigned n, enum time_side which);

#endif
