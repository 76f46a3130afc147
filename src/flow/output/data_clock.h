/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_DATA_CLOCK_H
#define SPATE_FLOW_OUTPUT_DATA_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The data's clock: how far the time that the data say is behind the time at
 * which they arrived, by our clock.  One packet of each block tells.  What the
 * way takes, and a receiver that comes late, only add to it, so the least of ten
 * seconds is what is said.
 *
 * A clock that steps, by more than 5 ms, begins anew: forward at once, back when
 * four seconds agree.
 *
 * Not safe by itself: the caller's lock.
 */
enum { DATA_CLOCK_LOOKS = 128 };

struct data_clock {
	/* A ring, one look for half a second or longer. */
	struct data_clock_look {
		int64_t arrived; /* UTC ns */
		int64_t behind;	 /* ns, the least */
	} look[DATA_CLOCK_LOOKS];
	uint64_t looks; /* since it began or stepped */
	uint64_t steps;
	int64_t step_ns, step_at; /* the last step, and when; UTC ns */
};

/* Takes the time that a packet says, and that of its arrival, UTC ns. */
void data_clock_add(struct data_clock *c, int64_t data_ns, int64_t arrived_ns);

/* Returns whether it is known how far the data are behind; then sets
 * *behind_ns. */
bool data_clock_behind(const struct data_clock *c, int64_t *behind_ns);

/* Returns whether it is known how fast they fall behind, which takes 20 s; then
 * sets *drift, s in a s, over the last minute. */
bool data_clock_drift(const struct data_clock *c, double *drift);

#endif
