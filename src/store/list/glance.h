/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_GLANCE_H
#define SPATE_STORE_LIST_GLANCE_H

#include "store/recording/recording.h"

/*
 * A glance at a recording tells within a second whether a scan came out
 * well, however large it is.  What was lost its indexes say; of its first,
 * its middle and its last second some packets are read: are they of its
 * format, in their places, from all threads, and of the right time?
 *
 *   wrong    is said where the data is not what it should be
 *   remark   where somebody should know of it
 *
 * What was lost is counted, and left to the caller to judge.  Of a recording
 * that is being written it looks at what is durable.  Verify reads
 * everything.
 */
enum {
	GLANCE_SECONDS = 3, /* first, middle, last */
	GLANCE_THREADS = 1024,
	GLANCE_STATIONS = 16, /* that are told */
	GLANCE_SUBS = 16,     /* that are read from */
};

struct glance_second {
	int64_t from_ns, to_ns;	   /* as the indexes tell times */
	uint64_t packets, missing; /* in it, of all substreams */
	/* Of the packets that were read: */
	uint64_t looked;
	uint64_t unreadable; /* not of this format, or of another size */
	uint64_t misplaced;  /* their number is another place's */
	uint64_t backwards;  /* their time is before the one before */
	uint64_t invalid;    /* so the sender says */
	uint64_t incomplete; /* heaps */
	uint64_t thread[GLANCE_THREADS / 64];
	uint32_t station[GLANCE_STATIONS];
	unsigned stations;
	bool threaded; /* the two above are there */
	/* The data's time less that of arrival, where both are known. */
	bool timed;
	int64_t offset_ns;
};

struct glance {
	struct glance_second second[GLANCE_SECONDS];
	bool data_time;	    /* the indexes tell the data's own times */
	unsigned looked;    /* substreams that were read from */
	unsigned silent;    /* substreams with nothing at all */
	double rate;	    /* bits of payload per second; 0: unknown */
	double rate_wanted; /* as configured; 0: it was not */
};

struct glance_hooks {
	void (*wrong)(void *arg, const char *sentence);
	void (*remark)(void *arg, const char *sentence);
	void *arg;
};

static inline bool
glance_has_thread(const struct glance_second *s, unsigned thread)
{
	return s->thread[thread / 64] >> (thread % 64) & 1;
}

/* 0, or -ENOMEM. */
int glance(struct recording *rec, const struct glance_hooks *hooks,
	   struct glance *out);

#endif
