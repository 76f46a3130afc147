/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_IMPORT_BENCH_H
#define SPATE_TESTS_IMPORT_BENCH_H

#include <string.h>

#include "base/units.h"
#include "cli/schedule/import_scans.h"
#include "lib/suite.h"

/* Schedules as text, and what was made of them. */

static inline int
bench_read(struct import *im, struct fault *fault, const char *text,
	   const char *station)
{
	import_clear(im);
	*im = (struct import){ .file = "f", .station = station };
	memset(fault, 0, sizeof *fault);
	return import_text(im, text, strlen(text), fault);
}

/* Scan i is this one: "2013-03-21T05:00:00Z", and seconds. */
static inline void
bench_scan(const struct import *im, unsigned i, const char *name,
	   const char *start, double seconds)
{
	int64_t ns;

	ck_assert_uint_lt(i, im->n);
	ck_assert_int_eq(units_time(start, 0, &ns), 0);
	ck_assert_str_eq(im->scan[i].name, name);
	ck_assert_int_eq(im->scan[i].start, ns);
	ck_assert_int_eq(im->scan[i].stop - im->scan[i].start,
			 (int64_t)(seconds * 1e9));
}

static inline bool
bench_noted(const struct import *im, const char *text)
{
	for (unsigned i = 0; i < im->kept; i++)
		if (strstr(im->note[i], text))
			return true;
	return false;
}

/* It fails, and its line has this. */
static inline void
bench_fails(struct import *im, const char *text, const char *station,
	    const char *says)
{
	struct fault fault;
	char line[1024];

	ck_assert_int_lt(bench_read(im, &fault, text, station), 0);
	ck_assert_ptr_nonnull(fault.code);
	fault_line(&fault, line, sizeof line);
	ck_assert_msg(strstr(line, says) != NULL, "'%s' in '%s'", says, line);
}

#endif
