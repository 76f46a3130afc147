/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SEND_PACER_H
#define SPATE_FLOW_SEND_PACER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * A pacer says when packets may go, so that they keep a rate, or the intervals
 * of the data's own time stamps.  It reads no clock: the caller passes the
 * time, in steady ns.  Only the sender's thread uses it.
 *
 *   { [pacer_data] -> pacer_may -> pacer_went }*, and sleep to pacer_wake
 *
 * Over any second the rate is right to 1 %.  A sender that is late, because its
 * thread was or had nothing to send, catches up PACER_CATCH of time and no
 * more, at not more than 5/4 of the rate, in bursts of at most PACER_BURST.
 */
enum {
	PACER_SLICE = 100000,  /* ns; packets due within it go together */
	PACER_BURST = 1000000, /* ns at 5/4 of the rate that leave together */
	PACER_CATCH = 5000000, /* ns of the rate that are made up for */
};
#define PACER_JUMP                                                             \
	(10 * NS_SECOND) /* a longer step of the data's time, in
			      * ns, is skipped and not waited for */

struct pacer {
	/* Bits per second; or SEND_RATE_FREE or SEND_RATE_DATA. */
	uint64_t rate;
	/* Steady ns when the next packet is due at the rate, with a fraction in
	 * 2^-32 ns; and when it is due at 5/4 of the rate, which limits
	 * bursts. */
	int64_t next;
	uint64_t part;
	int64_t peak;
	bool begun;
	/* The clock of the data, for SEND_RATE_DATA.  `brisk`: it runs 1/16
	 * faster, for a recording that still grows: the transfer would
	 * otherwise stay as far behind as it once fell. */
	bool brisk;
	bool anchored;
	int64_t anchor; /* steady ns of the data's time 0 */
	int64_t every;	/* ns from packet to packet; 0: not known */
	/* Burst as the network sees it.  A bucket leaks at 5/4 of the rate:
	 * `burst` is the most bytes that were ever in it, `level` the bytes in
	 * it at the steady time `seen`. */
	uint64_t burst;
	double level;
	int64_t seen;
	int64_t late; /* ns in all that were not made up for */
};

void pacer_init(struct pacer *p, uint64_t rate);

/* Changes the rate, from now on. */
void pacer_rate(struct pacer *p, uint64_t rate, int64_t now);

/* Forgets how much is owed; called after a pause. */
void pacer_rest(struct pacer *p);

/* With SEND_RATE_DATA: tells that the next packet has the time time_ns (UTC),
 * and packets follow it `every` ns apart.  `alone`: only the intervals count,
 * because several substreams are sent. */
void pacer_data(struct pacer *p, int64_t time_ns, int64_t every, bool alone,
		int64_t now);

/* Returns how many packets of `bytes` bytes may go, at most `most`.  `ahead`:
 * those due so many ns from now may go already. */
uint32_t pacer_may(struct pacer *p, uint32_t bytes, uint32_t most,
		   int64_t ahead, int64_t now);

/* For a plugin that sends at given times: when the first of these packets is
 * due (steady ns), and ns from packet to packet; 0: at once. */
int64_t pacer_due(const struct pacer *p);
int64_t pacer_every(const struct pacer *p, uint32_t bytes);

/* Tells that packets were sent. */
void pacer_went(struct pacer *p, uint32_t packets, uint32_t bytes, int64_t now);

/* Returns when to ask again (steady ns), after pacer_may allowed fewer than
 * were there. */
int64_t pacer_wake(const struct pacer *p, int64_t ahead, int64_t now);

#endif
