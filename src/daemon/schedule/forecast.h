/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_FORECAST_H
#define SPATE_DAEMON_SCHEDULE_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The forecast computes in advance what a schedule needs of memory, disk space
 * and disk speed, and which scans must be refused because there is too little.
 * Pure: it reads no clock and touches nothing but its arguments.  Any thread
 * may call.
 *
 * Scans are admitted in order of priority, then of start: a scan is refused if
 * those admitted before it leave it no room, and then takes none itself.  So a
 * higher priority never makes it worse for a scan.
 *
 *   memory  [start, stop); and from the wanted arming time on, if no other
 *           scan records then.  Else the scan is armed later.
 *   speed   [start, stop): the sum of rates
 *   space   of all scans together: nothing is ever removed automatically
 *
 * Unknown demand blocks nobody: a scan without a rate is admitted with its
 * memory alone.
 */
enum { FORECAST_RIVALS = 8, FORECAST_WHY = 320 };
#define FORECAST_OPEN	   INT64_MAX  /* a stop time that is unknown */
#define FORECAST_ANY_SPACE UINT64_MAX /* unknown: no disk is there */

enum forecast_verdict { FORECAST_OK, FORECAST_UNKNOWN, FORECAST_REFUSED };

/* The resource that a refused scan lacks. */
enum forecast_lack {
	FORECAST_NONE,
	FORECAST_MEMORY,
	FORECAST_SPEED,
	FORECAST_SPACE,
};

struct forecast_args {
	int64_t now;	 /* UTC ns, as all times here */
	uint64_t memory; /* bytes of the memory pool in all */
	uint64_t space;	 /* free bytes on the disks now */
	uint64_t speed;	 /* bits per second that the disks can take; 0:
			  * unknown */
};

/*
 * One scan; or a recording that runs already (`runs`), also one started by
 * command.
 */
struct forecast_scan {
	/* Filled by the caller. */
	const char *name;
	int priority;
	bool runs;	 /* has begun: cannot be refused */
	int64_t arm;	 /* time from which it should have its memory */
	int64_t start;	 /* start of the data; a time before `now` counts as
			  * `now` */
	int64_t stop;	 /* end of the data, or FORECAST_OPEN */
	uint64_t memory; /* bytes, for all its streams together */
	uint64_t rate;	 /* bits per second that are stored; 0: unknown */
	bool passes;	 /* relayed or sent only: nothing is stored, and rate
			  * is 0 */

	/* Filled by forecast(). */
	enum forecast_verdict verdict;
	enum forecast_lack lack; /* if it is refused */
	int64_t armed;		 /* when it can be armed, between arm and
				  * start */
	bool measured;		 /* `volume` is known */
	uint64_t volume;	 /* bytes that it stores from now on */
	uint64_t free_after;	 /* free bytes on the disks at its stop; if
				  * refused, as they are without it */
	unsigned rivals;	 /* number of scans that hold what it lacks,
				  * or that it is armed late for */
	unsigned rival[FORECAST_RIVALS]; /* indices of the first of them */
	char why[FORECAST_WHY];		 /* a sentence; "" if it fits */
};

/* Totals of the whole schedule, without refused scans. */
struct forecast_sum {
	int64_t full_at; /* when the disks are full; 0: not within this
			  * schedule */
	uint64_t volume; /* bytes, of the scans whose volume is known */
	unsigned unknown, refused;
	uint64_t memory; /* most bytes of memory in use at one time */
	int64_t memory_at;
	uint64_t rate; /* highest rate coming in at one time */
	int64_t rate_at;
};

/*
 * Decides about n scans.  0, or -ENOMEM, and then nothing is decided.  `sum`
 * may be NULL.
 */
int forecast(const struct forecast_args *args, struct forecast_scan *scan,
	     unsigned n, struct forecast_sum *sum);

#endif
