/* SPDX-License-Identifier: MIT */
/*
 * Feeds what reads the time behind a file's name, and the options of a mount.
 * A span that is taken has some time in it, and written again from what was
 * read it is the same; options that are taken are within bounds, and what is
 * refused has a sentence.
 */
#include <stdlib.h>
#include <string.h>

#include "../../fuse/tree/options.c"
#include "../../fuse/tree/span.c"

static const int64_t BEGIN = INT64_C(1795255200000000000);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void
must(bool truth)
{
	if (!truth)
		abort();
}

static void
span_check(const char *text)
{
	char from[UNITS_TEXT], to[UNITS_TEXT], again[2 * UNITS_TEXT + 2];
	int64_t a[2], b[2];

	if (span_parse(text, BEGIN, &a[0], &a[1]) < 0)
		return;
	must(a[0] >= 0 && (a[1] > a[0] || !a[1]) && (a[0] || a[1]));
	snprintf(again, sizeof again, "%s..%s",
		 a[0] ? units_show_time_ns(from, a[0]) : "",
		 a[1] ? units_show_time_ns(to, a[1]) : "");
	must(span_parse(again, BEGIN, &b[0], &b[1]) == 0);
	must(a[0] == b[0] && a[1] == b[1]);
}

static void
name_check(const char *text)
{
	const char *span = span_in(text);

	must(!span ||
	     (span > text + 1 && span[-1] == '@' && !strchr(span, '@')));
	span_check(text);
	if (span)
		span_check(span);
}

static void
options_check(char *text)
{
	char *argv[] = { "spatefs", "/mnt", "-o", text, NULL };
	struct mount_options o;
	struct fault fault;

	if (options_read(&o, 4, argv, &fault) < 0) {
		must(fault.code && fault.what[0]);
	} else if (!o.help && !o.version) {
		must(!strcmp(o.point, "/mnt") && !o.source);
		must(o.threads >= 1 && o.threads <= 1024);
		must(o.cache >= 1 << 20 && o.strip <= UINT32_MAX);
		must(o.timeout >= 0 && o.fill <= VIEW_SKIP);
	}
	options_clear(&o);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);

	memcpy(text, data, bytes);
	text[bytes] = 0;
	name_check(text);
	options_check(text);
	free(text);
	return 0;
}
