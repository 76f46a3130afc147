/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_FORECAST_H
#define SPATE_DAEMON_SCHEDULE_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The forecast says beforehand what a schedule will want of memory, and of
 * the disks' space and speed, and which scans have to give way where that is
 * not there.  Pure: it reads no clock, and does what it does to numbers.
 *
 * Scans are taken in by their priority, then by their start: one is refused
 * where those that were taken in before leave it no room, and takes none
 * itself then.  So a higher priority never makes it worse for a scan.
 *
 *   memory  [start, stop); and as long before as it is to be armed, where
 *           nobody records in that.  Else it is armed later.
 *   speed   [start, stop): the sum of rates
 *   space   of all scans together: nothing is ever removed by itself
 *
 * What is not known is not in anybody's way: a scan without a rate is taken
 * in with its memory alone.  Any thread.
 */
enum { FORECAST_RIVALS = 8, FORECAST_WHY = 320 };
#define FORECAST_OPEN	   INT64_MAX  /* a stop that nobody knows */
#define FORECAST_ANY_SPACE UINT64_MAX /* it is not known: no disk is there */

enum forecast_verdict { FORECAST_OK, FORECAST_UNKNOWN, FORECAST_REFUSED };

/* What there is too little of. */
enum forecast_lack {
	FORECAST_NONE,
	FORECAST_MEMORY,
	FORECAST_SPEED,
	FORECAST_SPACE,
};

struct forecast_args {
	int64_t now;	 /* UTC ns, as all times here */
	uint64_t memory; /* bytes that can be borrowed in all */
	uint64_t space;	 /* bytes that are free on the disks now */
	uint64_t speed;	 /* bits per second that they take; 0: not known */
};

/* A scan, or a recording that somebody typed: which is `runs`. */
struct forecast_scan {
	/* To be filled by the caller. */
	const char *name;
	int priority;
	bool runs;	 /* has begun: is not asked, has what it has */
	int64_t arm;	 /* from when it is to have its memory */
	int64_t start;	 /* of the data; not before now */
	int64_t stop;	 /* or FORECAST_OPEN */
	uint64_t memory; /* bytes, of all its streams together */
	uint64_t rate;	 /* bits per second that are stored; 0: not known */
	bool passes;	 /* nothing of it is stored, and rate is 0 */

	/* Filled by forecast(). */
	enum forecast_verdict verdict;
	enum forecast_lack lack; /* where it is refused */
	int64_t armed;		 /* when it can be, arm to start */
	bool measured;		 /* is `volume` known? */
	uint64_t volume;	 /* bytes, from now on */
	uint64_t free_after;	 /* on the disks, at its stop; of a refused one:
				    as it would be without it */
	unsigned rivals;	 /* those that have what it lacks, or that it
				    is armed late for */
	unsigned rival[FORECAST_RIVALS]; /* the first of them: indices */
	char why[FORECAST_WHY];		 /* a sentence; "" where all is well */
};

/* Of the whole schedule, without those that are refused. */
struct forecast_sum {
	int64_t full_at; /* the disks; 0: not by this */
	uint64_t volume; /* of those of which it is known */
	unsigned unknown, refused;
	uint64_t memory; /* the most that is borrowed at one time */
	int64_t memory_at;
	uint64_t rate; /* the most that comes in at one time */
	int64_t rate_at;
};

/* 0 or -ENOMEM, and then nothing is decided.  `sum` may be NULL. */
int forecast(const struct forecast_args *args, struct forecast_scan *scan,
	     unsigned n, struct forecast_sum *sum);

#endif
