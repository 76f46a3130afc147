/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_IMPORT_SCANS_H
#define SPATE_CLI_SCHEDULE_IMPORT_SCANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fault.h"
#include "store/disk/layout.h"

/*
 * An import is the list of scans of one station that another program's schedule
 * asks for.  The readers of the file formats add the scans they find; here a
 * scan is checked and gets its name.
 *
 * A scan that cannot be recorded is left out, and the rest goes on: one bad
 * scan must not cost a weekend of observing.  Each such case becomes a note,
 * "file:line: what, and what was done".  A fault means that the whole file is
 * useless.
 */
enum {
	IMPORT_BYTES = 256 << 20, /* bytes: no schedule is larger */
	IMPORT_SCANS = 20000,
	/* notes kept; half of them are reserved for scans left out */
	IMPORT_NOTES = 24,
	IMPORT_WORD = 128, /* bytes of a name, as the file has it */
};

struct import_scan {
	char name[LAYOUT_NAME + 1];
	unsigned line;
	int64_t start, stop; /* UTC ns */
};

struct import {
	const char *file;    /* name of the file in messages */
	const char *station; /* the wanted station; NULL: the only one */
	const char *own;     /* the recorder's, taken where a file is of several
			      * and none is wanted; NULL: it has none */
	struct import_scan *scan;
	unsigned n, room; /* scans, and room for scans */
	char experiment[IMPORT_WORD],
	    code[IMPORT_WORD]; /* from the last scan */
	char *note[IMPORT_NOTES];
	unsigned kept, notes; /* notes kept, and notes in all */
	unsigned left_out;    /* scans left out */
	/* scans whose name had characters that a recording cannot have */
	unsigned renamed;
};

/* A scan as a reader found it; texts may be empty. */
struct import_found {
	const char *experiment, *station, *scan;
	int64_t start, stop;
	unsigned line;
};

/*
 * Adds a scan.  Returns 0, also if the scan is left out; -ENOMEM or -E2BIG with
 * a fault.
 */
int import_add(struct import *im, const struct import_found *found,
	       struct fault *fault);
/*
 * Sorts the scans by time, makes names unique and notes overlaps.  Returns 0,
 * or -ENOENT with a fault "not-found" if no scan is left.
 */
int import_finish(struct import *im, struct fault *fault);

/* Frees the scans and notes. */
void import_clear(struct import *im);

/* Adds a note about a line of the file (0: the whole file). */
void import_note(struct import *im, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a note, and counts a scan that is left out. */
void import_leave_out(struct import *im, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/*
 * Makes a fault "conf" about a line of the file (0: the whole file); returns
 * -EINVAL.
 */
int import_fault(const struct import *im, unsigned line, struct fault *fault,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Makes a fault that says which stations the file has; returns -ENOENT. */
int import_station_fault(const struct import *im, const char *const *has,
			 unsigned n, struct fault *fault);

/*
 * Reads a schedule of any known format from memory, and finishes the import; a
 * 0 must follow the `bytes`.
 */
int import_text(struct import *im, const char *text, size_t bytes,
		struct fault *fault);

/* Reads a file, "-" for standard input, and does the same. */
int import_file(struct import *im, const char *path, struct fault *fault);

/* Properties that all imported scans get. */
struct import_order {
	const char *streams; /* "S[,S...]" */
	const char *send;    /* a URL; NULL: none */
	int priority;	     /* 0: none */
};

/*
 * Make the text of the file for the schedule folder, and its name.  The caller
 * frees both; NULL: no memory.
 */
char *import_conf(const struct import *im, const struct import_order *order);
char *import_conf_name(const char *path);

/* Readers of the formats. */
int import_snp(struct import *im, const char *text, size_t bytes,
	       struct fault *fault);
int import_vex(struct import *im, const char *text, size_t bytes,
	       struct fault *fault);
int import_xml(struct import *im, const char *text, size_t bytes,
	       struct fault *fault);

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
