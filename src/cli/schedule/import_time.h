/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_IMPORT_TIME_H
#define SPATE_CLI_SCHEDULE_IMPORT_TIME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Times as schedules write them: by the day of the year, in UTC.  All return
 * 0 or -EINVAL, and take the whole text.
 */
#define IMPORT_SECOND INT64_C(1000000000)
#define IMPORT_DAY    (86400 * IMPORT_SECOND)

/* Day 1 is the 1st of January; ns_of_day may be a leap second, and 24 h. */
int import_date(int64_t year, int64_t day, int64_t ns_of_day, int64_t *ns);
/* The year and the day that a time is in. */
void import_day_of(int64_t ns, int *year, int *day);

/* VEX: "2013y080d05h00m00.5s"; what is left out at the end is 0. */
int import_vex_time(const char *text, int64_t *ns);
/* VEX: "240 sec", "4 min", "-1.5 sec"; *unit is that of a bare number, and
 * becomes the one that is read (0: none so far, seconds). */
int import_vex_span(const char *text, int64_t *unit, int64_t *ns);

/* Mark6: "2016099050000", and a length in seconds. */
int import_mark6_time(const char *text, int64_t *ns);
int import_seconds(const char *text, int64_t *ns);

/* SNAP, behind "!+": "2s", "1m30s", "2". */
int import_snap_span(const char *text, int64_t *ns);
/* SNAP, behind "!": "2015.079.12:30:00", and with less in front the next
 * time after `now`: "079.12:30:00", "12:30:00"; also without points.  Where
 * no `now` is known, `year` (0: neither) has to do. */
struct import_now {
	bool known;
	int64_t ns;
	int year;
};
int import_snap_time(const char *text, const struct import_now *now,
		     int64_t *ns);

#endif
