/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_ADMISSION_H
#define SPATE_DAEMON_SCHEDULE_ADMISSION_H

#include "daemon/main/daemon.h"
#include "daemon/schedule/forecast.h"
#include "daemon/schedule/schedule.h"

/*
 * An admission is the forecast of what this daemon has: its memory, its disks,
 * what it records, and the scans of its schedule.  The event loop's thread.
 */
struct admission {
	struct forecast_args args;
	struct forecast_scan *scan;
	struct scan **of; /* of each; NULL: a recording that was typed */
	unsigned n, room;
	struct forecast_sum sum;
};

/* The hook `admit` of a schedule; `arg` is the daemon. */
void admission_decide(void *arg, struct schedule *s, int64_t utc);

/* Has the schedule decide anew when disks or what is recorded have changed,
 * and every ten seconds, as space is used; each turn of the event loop. */
void admission_watch(struct daemon *d, int64_t now);

/*
 * Decides without telling anybody: of the schedule as it is, or (`file` not
 * NULL) as it would be with `list` instead of that file's scans.  Borrows
 * both.  0 or -ENOMEM; admission_clear in either case.
 */
int admission_make(struct admission *a, struct daemon *d, const char *file,
		   const struct scan_list *list, int64_t utc);
void admission_clear(struct admission *a);

/* What the last admission that was made says of it; NULL: it was not asked. */
const struct forecast_scan *admission_of(const struct admission *a,
					 const struct scan *s);

/* SCAN with CHECK, as verbs.h lists them. */
json_t *admission_json(const struct admission *a, struct daemon *d,
		       const struct scan *s, int64_t utc);
/* {volume, unknown, refused, full_at, memory, rate, disks} */
json_t *admission_sum(const struct admission *a, const struct daemon *d);

#endif
