/* SPDX-License-Identifier: MIT */
/*
 * Lines in the metadata of daemons that resumed a recording after another one
 * was killed.  Such a line is on every disk that takes part from then on.  It
 * is written when the disk has records of all that it will ever have of earlier
 * numbers.
 *
 * So in a live recording a number below may be missing for good: a block that
 * was in flight.  That is certain when every disk here has the line and no disk
 * was missing at the time; else readers wait, since bytes below the visible end
 * never change.
 */
#include <errno.h>

#include "store/recording/recording_priv.h"

static uint64_t
number_of(const json_t *line, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(line, key));

	return n > 0 ? (uint64_t)n : 0;
}

/* Adds a line in the order of the numbers, once: many disks have it. */
static int
add(struct recording *rec, json_t *line, uint64_t number)
{
	size_t at = 0, n = json_array_size(rec->resumed);

	while (at < n &&
	       number_of(json_array_get(rec->resumed, at), "number") < number)
		at++;
	if (at < n &&
	    number_of(json_array_get(rec->resumed, at), "number") == number)
		return 0;
	return json_array_insert(rec->resumed, at, line) ? -ENOMEM : 0;
}

int
recording_resumed_line(struct recording *rec, unsigned disk, json_t *line)
{
	struct recording_part *part = &rec->part[disk];
	uint64_t number = number_of(line, "number");

	if (!json_is_string(json_object_get(line, "resumed")))
		return 0;
	if (!rec->resumed)
		rec->resumed = json_array();
	if (!rec->resumed)
		return -ENOMEM;
	if (number > part->resumed)
		part->resumed = number;
	return add(rec, line, number);
}

/* The number from which on a daemon last resumed with all disks.  0 if none
 * did, a disk was missing then, or a disk lacks its line. */
static uint64_t
settled_before(const struct recording *rec)
{
	size_t n = json_array_size(rec->resumed);
	const json_t *last = n ? json_array_get(rec->resumed, n - 1) : NULL;
	uint64_t number = number_of(last, "number");

	if (!last || number_of(last, "missing"))
		return 0;
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].dir >= 0 && rec->part[i].resumed != number)
			return 0;
	}
	return number;
}

void
recording_settle(struct recording *rec, uint64_t end)
{
	if (end <= rec->settled)
		return;
	rec->settled = end;
	rec->stale = true;
}

uint64_t
recording_settled(const struct recording *rec)
{
	uint64_t resumed = settled_before(rec);

	return resumed > rec->settled ? resumed : rec->settled;
}
bool
recording_unused(const struct recording *rec, uint64_t number)
{
	const json_t *line;
	size_t i;

	json_array_foreach(rec->resumed, i, line) {
		if (number >= number_of(line, "seen") &&
		    number < number_of(line, "number"))
			return true;
	}
	return false;
}
