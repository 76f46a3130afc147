/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_ARRIVAL_H
#define SPATE_FLOW_PLACE_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * An arrival clock turns the kernel's UTC time stamps of packets into steady
 * time.  People and time servers step UTC; a gate (gate.h) that opened on the
 * steady clock must not close or open again because of that.
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

#endif
