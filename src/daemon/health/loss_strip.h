/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_HEALTH_LOSS_STRIP_H
#define SPATE_DAEMON_HEALTH_LOSS_STRIP_H

#include <stdint.h>

/*
 * A loss strip says in which parts of a recording packets were lost, while it is
 * made and after that, without a look at its disks: a mark (loss_mark) for each
 * second, and for each 2, 4, 8 ... seconds once there are more than
 * LOSS_STRIP_MOST.
 *
 * It goes by when a loss was counted, which is when its block was closed; the
 * loss map of the recording (store/recording/loss.h) goes by the time of the
 * data.  The event loop's thread.
 */
enum { LOSS_STRIP_MOST = 60 };

struct loss_strip {
	int64_t span_ns; /* of a column */
	unsigned n;	 /* columns that have begun */
	struct loss_strip_column {
		uint64_t packets, lost; /* in all, up to its end */
	} column[LOSS_STRIP_MOST];
};

/* Notes how many packets were stored and lost in all, `since` ns after the
 * recording began.  Call it every second, with times that do not fall. */
void loss_strip_add(struct loss_strip *s, int64_t since, uint64_t packets,
		    uint64_t lost);

/* Writes the marks; "" before the first packet or loss.  Returns `text`. */
const char *loss_strip_show(const struct loss_strip *s,
			    char text[LOSS_STRIP_MOST + 1]);

#endif
