/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_ARRIVAL_H
#define SPATE_FLOW_PLACE_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Arrival is when packets came, on the steady clock.  The kernel stamps them
 * in UTC, which people and time servers step; a gate that opened on the steady
 * clock must not close, nor open again, because of that.
 *
 * It knows how far UTC is ahead of the steady clock, how far it was before the
 * last step, and when that was noticed: what was stamped before a step and is
 * read after it is turned with the offset of its time.
 *
 * One thread, the receiver; arrival_look() reads the clocks, all else is pure.
 */
#define ARRIVAL_OLD INT64_C(10000000000) /* ns: no socket holds it so long */

struct arrival {
	int64_t offset;	 /* UTC minus steady */
	int64_t before;	 /* the same before the last step */
	int64_t stepped; /* steady, when that was noticed; 0: never */
	bool known;	 /* offset is */
};

/*
 * Looks at both clocks: with every pass, before it reads anything.  Returns
 * steady ns, the time of the pass.
 */
int64_t arrival_look(struct arrival *a);

/* UTC was `utc` at some time from `steady` to `steady` + `within` ns. */
void arrival_set(struct arrival *a, int64_t utc, int64_t steady,
		 int64_t within);

/*
 * Steady ns of a stamp (UTC ns; 0: there is none) that a pass at `now` reads.
 * That is `now` itself where the stamp cannot be true: of the future, or too
 * old by far.
 */
int64_t arrival_time(const struct arrival *a, int64_t stamp, int64_t now);

#endif
