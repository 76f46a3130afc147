/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_IMPORT_SCANS_H
#define SPATE_CLI_SCHEDULE_IMPORT_SCANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "store/disk/layout.h"

/*
 * An import is the scans of one station that a foreign schedule asks for.
 * Readers add what they find; here it gets its name and is checked.
 *
 * A scan that cannot be is left out and the rest goes on: one bad scan must
 * not cost a weekend.  Everything of that sort becomes a note, "file:line:
 * what, and what was done".  A fault is what makes the whole file useless.
 */
enum {
	IMPORT_BYTES = 256 << 20, /* no schedule is larger */
	IMPORT_SCANS = 20000,
	IMPORT_NOTES = 24, /* kept; half of them for what is left out */
	IMPORT_WORD = 128, /* room for a name as the file has it */
};

struct import_scan {
	char name[LAYOUT_NAME + 1];
	unsigned line;
	int64_t start, stop; /* UTC ns */
};

struct import {
	const char *file;    /* as messages call it */
	const char *station; /* whose scans; NULL: there is only one */
	struct import_scan *scan;
	unsigned n, room;
	char experiment[IMPORT_WORD], code[IMPORT_WORD]; /* of the last scan */
	char *note[IMPORT_NOTES];
	unsigned kept, notes; /* the latter with those that are not kept */
	unsigned left_out;    /* scans */
	unsigned renamed;     /* for what a name cannot have */
};

/* A scan as a reader finds it; texts may be empty. */
struct import_found {
	const char *experiment, *station, *scan;
	int64_t start, stop;
	unsigned line;
};

/* 0, -ENOMEM or -E2BIG with a fault; a scan that is left out is no error. */
int import_add(struct import *im, const struct import_found *found,
	       struct fault *fault);
/* In order of time, names made unique, overlaps noted; a fault "not-found"
 * where nothing is left. */
int import_finish(struct import *im, struct fault *fault);
void import_clear(struct import *im);

void import_note(struct import *im, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes it, and counts a scan that is left out. */
void import_leave_out(struct import *im, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A fault "conf" about a line of the file; returns -EINVAL. */
int import_fault(const struct import *im, unsigned line, struct fault *fault,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* A fault "not-found": the file is of these stations only. */
int import_station_fault(const struct import *im, const char *const *has,
			 unsigned n, struct fault *fault);

/*
 * Reads what is in memory, whichever form it has, and finishes; `text` ends
 * with a 0 behind its `bytes`.
 */
int import_text(struct import *im, const char *text, size_t bytes,
		struct fault *fault);
int import_file(struct import *im, const char *path, struct fault *fault);

/* What every scan of the file is to do. */
struct import_order {
	const char *streams; /* "S[,S...]" */
	const char *send;    /* a URL, or NULL */
	int priority;	     /* 0: none is said */
};

/* The file for the schedule's folder, and what it is called there; the caller
 * frees both.  NULL without memory. */
char *import_conf(const struct import *im, const struct import_order *order);
char *import_conf_name(const char *path);

/* The forms. */
int import_snp(struct import *im, const char *text, size_t bytes,
	       struct fault *fault);
int import_vex(struct import *im, const char *text, size_t bytes,
	       struct fault *fault);
int import_xml(struct import *im, const char *text, size_t bytes,
	       struct fault *fault);

#endif
