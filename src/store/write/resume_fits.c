/* SPDX-License-Identifier: MIT */
/*
 * A recording has one shape from beginning to end: its first line states it,
 * and all readers rely on it.  So a stream that has been configured otherwise
 * since must record under another name.
 */
#include "config.h"

#include <errno.h>

#include "base/units.h"
#include "store/recording/recording_priv.h"
#include "store/write/resume.h"

static int
differs(const struct resume *r, const char *what, struct fault *fault)
{
	fault_set(fault, -EINVAL, "refused", "cannot go on with %.80s",
		  r->rec->name);
	fault_hint(fault, "record under another name");
	fault_why(fault, "its %s is not what the stream has now", what);
	return -EINVAL;
}

static bool
same(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	return x == y || json_equal(x, y);
}

/* True if both values are equal, or one is 0: values learned while recording
 * may not be known yet. */
static bool
agree(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	if (!json_integer_value(x) || !json_integer_value(y))
		return true;
	return json_equal(x, y);
}

int
resume_fits(const struct resume *r, const json_t *head, struct fault *fault)
{
	static const char *const all[] = { "stream",   "format",
					   "layout",   "fill",
					   "subs",     "extension",
					   "geometry", "channels_per_file" };
	static const char *const shape[] = { "prefix", "payload", "sequence",
					     "bits",   "parts",	  "header",
					     "store",  "item",	  "time_item" };
	static const char *const learned[] = { "fps", "time_step" };
	const json_t *was = r->rec->head;
	const json_t *is = json_object_get(head, "shape");

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (!same(was, head, all[i]))
			return differs(r, all[i], fault);
	}
	was = json_object_get(was, "shape");
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		if (!same(was, is, shape[i]))
			return differs(r, shape[i], fault);
	}
	for (size_t i = 0; i < sizeof learned / sizeof *learned; i++) {
		if (!agree(was, is, learned[i]))
			return differs(r, learned[i], fault);
	}
	return 0;
}

json_t *
resume_line(const struct resume *r, json_t *disks)
{
	char at[UNITS_TEXT], stopped[UNITS_TEXT];

	units_show_time_ns(at, r->at_ns);
	units_show_time_ns(stopped, r->stopped_ns);
	return json_pack("{s:s, s:s, s:I, s:I, s:i, s:O}", "resumed", at,
			 "stopped", stopped, "seen", (json_int_t)r->seen,
			 "number", (json_int_t)r->next, "missing",
			 (int)r->missing, "disks", disks);
}
