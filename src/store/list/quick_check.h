/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_QUICK_CHECK_H
#define SPATE_STORE_LIST_QUICK_CHECK_H

#include "store/recording/recording.h"

/*
 * A quick check looks within a second whether a recording came out well, however
 * large it is.  The indexes say what was lost.  Of the first, the middle and
 * the last second some packets are read: are they of the recording's format, in
 * their places, from all threads, and of the right time?
 *
 *   wrong    is called with a sentence where the data is not as it should be
 *   remark   is called with a sentence about what people should know
 *
 * Losses are counted, and left to the caller to judge.  Of a live recording it
 * looks at what is durable.  `spate verify` reads everything.
 */
enum {
	QUICK_CHECK_SECONDS = 3, /* first, middle, last */
	QUICK_CHECK_THREADS = 1024,
	QUICK_CHECK_STATIONS = 16, /* most stations that are reported */
	QUICK_CHECK_SUBS = 16,	   /* most substreams that are read from */
};

/* Counts and findings of one second. */
struct quick_check_second {
	/* begin and end, by the times in the indexes */
	int64_t from_ns, to_ns;
	/* counts of this second, over all substreams */
	uint64_t packets, missing;
	/* Counts of the packets that were read. */
	uint64_t looked;
	uint64_t unreadable; /* not of this format, or of another size */
	uint64_t misplaced;  /* their number belongs to another place */
	/* their time is before that of the packet before */
	uint64_t backwards;
	uint64_t invalid;    /* marked invalid by the sender */
	uint64_t incomplete; /* heaps that lack packets */
	uint64_t thread[QUICK_CHECK_THREADS / 64];
	uint32_t station[QUICK_CHECK_STATIONS];
	unsigned stations;
	bool threaded; /* thread and station are set */
	/* offset_ns is set: the data's time less the time of arrival. */
	bool timed;
	int64_t offset_ns;
};

/* The result of a quick check. */
struct quick_check {
	struct quick_check_second second[QUICK_CHECK_SECONDS];
	bool data_time;	    /* the indexes have the data's own times */
	unsigned looked;    /* substreams that were read from */
	unsigned silent;    /* substreams without any data */
	double rate;	    /* bits of payload per second; 0: unknown */
	double rate_wanted; /* the configured rate; 0: none was configured */
};

/* Callbacks for sentences; each may be NULL. */
struct quick_check_hooks {
	void (*wrong)(void *arg, const char *sentence);
	void (*remark)(void *arg, const char *sentence);
	void *arg;
};

static inline bool
quick_check_has_thread(const struct quick_check_second *s, unsigned thread)
{
	return s->thread[thread / 64] >> (thread % 64) & 1;
}

/* Looks at a recording.  0 or -ENOMEM. */
int quick_check(struct recording *rec, const struct quick_check_hooks *hooks,
		struct quick_check *out);

#endif
