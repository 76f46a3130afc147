/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_IMPORT_TIME_H
#define SPATE_CLI_SCHEDULE_IMPORT_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * Read times as schedules write them: by day of the year, in UTC.  All
 * functions read the whole text, and return 0 or -EINVAL.
 */
#define IMPORT_DAY (86400 * NS_SECOND)

/*
 * Makes UTC ns of a date; day 1 is January 1st. ns_of_day may be up to 24 h and
 * a leap second.
 */
int import_date(int64_t year, int64_t day, int64_t ns_of_day, int64_t *ns);
/* Returns year and day of a time. */
void import_day_of(int64_t ns, int *year, int *day);

/* VEX: "2013y080d05h00m00.5s"; parts left out at the end are 0. */
int import_vex_time(const char *text, int64_t *ns);
/*
 * VEX: "240 sec", "4 min", "-1.5 sec".  *unit is the unit of a number without
 * one (0: seconds), and gets the unit that was read.
 */
int import_vex_span(const char *text, int64_t *unit, int64_t *ns);

/* Mark6: "2016099050000", and a length in seconds. */
int import_mark6_time(const char *text, int64_t *ns);
int import_seconds(const char *text, int64_t *ns);

/* SNAP, behind "!+": "2s", "1m30s", "2". */
int import_snap_span(const char *text, int64_t *ns);
/*
 * SNAP, behind "!": "2015.079.12:30:00"; with parts left out in front, the next
 * such time after `now`: "079.12:30:00", "12:30:00"; also without points.  If
 * `now` is not known, `year` is used (0: neither is known).
 */
struct import_now {
	bool known;
	int64_t ns;
	int year;
};
int import_snap_time(const char *text, const struct import_now *now,
		     int64_t *ns);

#endif
