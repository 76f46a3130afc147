/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_ADMISSION_H
#define SPATE_DAEMON_SCHEDULE_ADMISSION_H

#include "daemon/schedule/forecast.h"
#include "daemon/schedule/schedule_host.h"

/*
 * An admission decides which scans of the schedule fit: it is the forecast made
 * of what this daemon has, its memory, its disks, what it records now, and the
 * scans of its schedule.  Only the event loop's thread uses it.
 */
struct admission {
	struct forecast_args args;
	struct forecast_scan *scan;
	struct scan **of; /* the scan of each forecast entry; NULL: a
			   * recording started by command */
	unsigned n, room;
	struct forecast_sum sum;
};

/* Implements the hook `admit` of the schedule; `arg` is the daemon. */
void admission_decide(void *arg, struct schedule *s, int64_t utc);

/*
 * Makes the schedule decide again when disks or recordings have changed, and
 * every ten seconds, because space is used up.  Called in each turn of the
 * event loop; `now` is steady ns.
 */
void admission_watch(struct schedule_host *h, int64_t now);

/*
 * Makes the forecast without changing the schedule: of the schedule as it is,
 * or (`file` not NULL) as it would be with `list` in place of that file's
 * scans.  Borrows both.  0 or -ENOMEM; call admission_clear() in either case.
 */
int admission_make(struct admission *a, struct schedule_host *h,
		   const char *file, const struct scan_list *list, int64_t utc);
void admission_clear(struct admission *a);

/* Returns the forecast of a scan; NULL if this admission did not include it. */
const struct forecast_scan *admission_of(const struct admission *a,
					 const struct scan *s);

/* Returns the scan as SCAN with CHECK, as verbs.h lists the keys. */
json_t *admission_json(const struct admission *a, struct schedule_host *h,
		       const struct scan *s, int64_t utc);
/* Returns the keys of SCHEDULE_SUM_KEYS; `others`: scans of other stations. */
json_t *admission_sum(const struct admission *a, const struct schedule_host *h,
		      unsigned others);

#endif
