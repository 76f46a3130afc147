/* SPDX-License-Identifier: MIT */
/*
 * A time contains no '@' and a recording's name may, so the last '@' counts.
 * "now" is not accepted, because a name should mean the same bytes tomorrow.
 */
#include "fuse/tree/span.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum { TIME_ROOM = 64 };

static int
parse_time(const char *text, size_t length, int64_t begin_ns, int64_t *ns)
{
	char time[TIME_ROOM];

	if (length >= sizeof time)
		return -EINVAL;
	snprintf(time, sizeof time, "%.*s", (int)length, text);
	if (!strcmp(time, "now") || units_time(time, begin_ns, ns))
		return -EINVAL;
	return *ns > 0 ? 0 : -EINVAL;
}

int
span_parse(const char *text, int64_t begin_ns, int64_t *from_ns, int64_t *to_ns)
{
	const char *dots = strstr(text, "..");
	int err = 0;

	*from_ns = *to_ns = 0;
	if (!dots || !strcmp(text, ".."))
		return -EINVAL;
	if (dots > text)
		err =
		    parse_time(text, (size_t)(dots - text), begin_ns, from_ns);
	if (!err && dots[2])
		err = parse_time(dots + 2, strlen(dots + 2), begin_ns, to_ns);
	if (!err && *to_ns && *to_ns <= *from_ns)
		err = -EINVAL;
	return err;
}

const char *
span_in(const char *file)
{
	const char *at = strrchr(file, '@');

	return at && at > file ? at + 1 : NULL;
}
