/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_HEALTH_CLOCK_WATCH_H
#define SPATE_DAEMON_HEALTH_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/place/data_clock.h"

/*
 * Watches the clock of a recording's data (flow/place/data_clock.h): is the
 * formatter's time right?  The event loop's thread.
 */
enum clock_wrong {
	CLOCK_RIGHT,
	CLOCK_DRIFTS,
	CLOCK_APART, /* one thread is not where the others are */
	CLOCK_FAR,   /* farther from ours than is allowed */
	CLOCK_EPOCH, /* by about half-years: the epoch of VDIF is wrong */
};

/* A word for it; NULL: nothing is wrong. */
const char *clock_wrong_name(enum clock_wrong wrong);

struct clock_watch {
	struct data_clock clock;
	uint64_t seen; /* data_clock_window::number of the last one */
	/* Our own leap second: TAI - UTC in s at the last look, when it changed
	 * by one (UTC ns; 0: it did not), and whether there was a look. */
	int64_t tai, leap_ns;
	bool looked;
	enum clock_wrong wrong;
	char why[160]; /* a sentence, unless RIGHT */
	/* The sender that was last seen of each thread. */
	struct clock_sender {
		uint32_t sub, thread;
		char address[DATA_CLOCK_SENDER];
	} sender[DATA_CLOCK_THREADS];
	unsigned senders;
};

/* Notes our TAI - UTC (clock_tai), before each look, at a time in UTC ns. */
void clock_watch_tai(struct clock_watch *w, int64_t tai, int64_t utc_ns);

/* Returns the end of a sentence that says that the clock stepped: ": it took a leap
 * second, ..." if the last step, seen at this UTC ns, was probably one, else
 * "". */
const char *clock_watch_step(const struct clock_watch *w, int64_t utc_ns);

/* Takes a window, unless it is the last one again, of data that may be `most` ns
 * from our clock (0: 0.75 s).  Returns true if what is wrong with it is something
 * else than at the last look, or it stepped; then *stepped says which. */
bool clock_watch_look(struct clock_watch *w,
		      const struct data_clock_window *window, int64_t most,
		      bool *stepped);

/* Returns the address of the sender of a thread; "": not known. */
const char *clock_watch_sender(const struct clock_watch *w, uint32_t sub,
			       uint32_t thread);

#endif
