/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SEND_PACER_H
#define SPATE_FLOW_SEND_PACER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A pacer says when packets may go, so that they go at a rate, or as the
 * data's own clock says.  It is pure: times come in, and go out, as steady ns.
 *
 *   { [pacer_data] -> pacer_may -> pacer_went }*, and sleep to pacer_wake
 *
 * Over any second it is right to 1 %: one that comes late, because a thread
 * was, or had nothing to give, catches up PACER_CATCH of time and no more,
 * not faster than 5/4 of the rate, and in bursts of at most PACER_BURST.
 */
enum {
	PACER_SLICE = 100000, /* ns; packets due in one go together */
	PACER_BURST =
	    1000000, /* ns of 5/4 of the rate that may leave together */
	PACER_CATCH = 5000000, /* ns of the rate that are made good */
};
#define PACER_JUMP                                                             \
	INT64_C(10000000000) /* ns of the data's clock that are
					   passed over and not waited for */

struct pacer {
	uint64_t rate; /* bits per second; SEND_RATE_FREE, SEND_RATE_DATA */
	int64_t next;  /* when the next packet is due, in ns, */
	uint64_t part; /* and 2^-32 ns */
	int64_t peak;  /* the same at 5/4 of the rate: how bursts end */
	bool begun;
	/* The data's clock. */
	bool brisk; /* it runs 1/16 faster: of what still grows, where it
			would else stay as far behind as it ever was */
	bool anchored;
	int64_t anchor; /* its time 0 */
	int64_t every;	/* ns from packet to packet; 0: not known */
	/* What the network sees: the depth, in bytes, of a bucket that leaks
	 * at 5/4 of the rate and never ran over; how full it is, and was when. */
	uint64_t burst;
	double level;
	int64_t seen;
	int64_t late; /* ns that were not made good, in all */
};

void pacer_init(struct pacer *p, uint64_t rate);

/* Another rate, from now on. */
void pacer_rate(struct pacer *p, uint64_t rate, int64_t now);

/* What was not sent so far is not owed: after a pause. */
void pacer_rest(struct pacer *p);

/* With SEND_RATE_DATA: the next packet is of this time, and the next ones
 * follow it so many ns apart.  `alone`: the intervals alone count, as of one
 * of several substreams. */
void pacer_data(struct pacer *p, int64_t time_ns, int64_t every, bool alone,
		int64_t now);

/* How many packets of so many bytes may go, at most `most`; with `ahead` (ns)
 * those that are due so soon. */
uint32_t pacer_may(struct pacer *p, uint32_t bytes, uint32_t most,
		   int64_t ahead, int64_t now);

/* For a plugin that sends at a time: when the first of them is due, and ns
 * from one to the next; 0: at once. */
int64_t pacer_due(const struct pacer *p);
int64_t pacer_every(const struct pacer *p, uint32_t bytes);

/* They went. */
void pacer_went(struct pacer *p, uint32_t packets, uint32_t bytes, int64_t now);

/* When to look again, after pacer_may said fewer than were there. */
int64_t pacer_wake(const struct pacer *p, int64_t ahead, int64_t now);

#endif
