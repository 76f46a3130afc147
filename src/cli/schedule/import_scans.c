/* SPDX-License-Identifier: MIT */
/*
 * Names of scans are made as the Field System makes them,
 * <experiment>_<station>_<scan> in lower case, so that a recording has the same
 * name whichever file its schedule came from.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/schedule/import_scans.h"
#include "cli/show/suggest.h"

enum { NOTE = 512, RAW = 3 * IMPORT_WORD, ROUNDS = 8 };

/* Keeps a note if fewer than `most` are kept. */
static void
note(struct import *im, unsigned line, unsigned most, const char *format,
     va_list args)
{
	char text[NOTE];
	int at;

	im->notes++;
	if (im->kept >= most)
		return;
	at = line ? snprintf(text, sizeof text, "%.200s:%u: ", im->file, line)
		  : snprintf(text, sizeof text, "%.200s: ", im->file);
	vsnprintf(text + at, sizeof text - (size_t)at, format, args);
	/*
	 * Words of the file may contain any bytes; a note is one line of text.
	 */
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	im->note[im->kept++] = strdup(text);
}

void
import_note(struct import *im, unsigned line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(im, line, IMPORT_NOTES / 2, format, args);
	va_end(args);
}

void
import_leave_out(struct import *im, unsigned line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(im, line, IMPORT_NOTES, format, args);
	va_end(args);
	im->left_out++;
}

int
import_fault(const struct import *im, unsigned line, struct fault *fault,
	     const char *format, ...)
{
	char why[256];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	if (line)
		fault_set(fault, -EINVAL, "conf", "%.250s:%u", im->file, line);
	else
		fault_set(fault, -EINVAL, "conf", "cannot import %.250s",
			  im->file);
	fault_why(fault, "%s", why);
	return -EINVAL;
}

/*
 * Returns the station that was probably meant.  Mistyped ones mostly differ in
 * case, although two stations may, too.
 */
static const char *
station_near(const char *wanted, const char *const *has, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strcasecmp(wanted, has[i]) == 0)
			return has[i];
	return suggest(wanted, has, n);
}

int
import_station_fault(const struct import *im, const char *const *has,
		     unsigned n, struct fault *fault)
{
	const char *near =
	    im->station ? station_near(im->station, has, n) : NULL;
	char list[256] = "";
	size_t used = 0;
	unsigned i;

	for (i = 0; i < n && used + 24 < sizeof list; i++)
		used += (size_t)snprintf(list + used, sizeof list - used,
					 "%s%.16s", i ? ", " : "", has[i]);
	if (i < n)
		strcpy(list + used, " ...");
	if (im->station)
		fault_set(fault, -ENOENT, "not-found",
			  "%.200s has no scans of station %.60s", im->file,
			  im->station);
	else
		fault_set(fault, -ENOENT, "usage",
			  "%.200s: scans of which station?", im->file);
	fault_why(fault, "it has %s", n ? list : "none of any station");
	if (near)
		fault_hint(fault, "did you mean --station %.60s?", near);
	else if (n && !im->station)
		fault_hint(fault, "--station %.60s", has[0]);
	return -ENOENT;
}

/* ---- names ------------------------------------------------------------- */

static void
raw_append(char *raw, const char *part)
{
	size_t used = strlen(raw);

	snprintf(raw + used, RAW - used, "%s%.*s", used && *part ? "_" : "",
		 IMPORT_WORD - 1, part);
}

/* Makes a valid name; returns true if more than the case had to change. */
static bool
name_make(char *name, const char *raw)
{
	bool changed = false;
	char *mark;
	int n = 0;

	for (; *raw && !isalnum((unsigned char)*raw); raw++)
		changed = true;
	for (; *raw; raw++) {
		unsigned char c = (unsigned char)*raw;
		bool good = c < 0x80 && (isalnum(c) || strchr("_+-", c));

		if (n == LAYOUT_NAME)
			break;
		name[n++] = good ? (char)tolower(c) : '-';
		changed = changed || !good;
	}
	changed = changed || *raw;
	name[n] = '\0';
	while ((mark = strstr(name, "_ds"))) {
		*mark = '-';
		changed = true;
	}
	return changed;
}

static void
name_scan(struct import *im, struct import_scan *scan,
	  const struct import_found *found)
{
	char raw[RAW + 16] = "";
	size_t used;

	raw_append(raw, found->experiment);
	raw_append(raw, found->station);
	raw_append(raw, found->scan);
	if (!raw[strspn(raw, "0123456789")])
		snprintf(raw, sizeof raw, "scan_%.*s", IMPORT_WORD - 1,
			 found->scan);
	if (!*found->scan) {
		used = strlen(raw);
		snprintf(raw + used, sizeof raw - used, "%s%u",
			 raw[used - 1] == '_' ? "" : "_", found->line);
	}
	if (!name_make(scan->name, raw))
		return;
	if (!*scan->name || !layout_name_good(scan->name))
		snprintf(scan->name, sizeof scan->name, "scan_%u", found->line);
	import_note(im, found->line,
		    "a recording cannot be called %.100s: "
		    "it will be %s",
		    raw, scan->name);
	im->renamed++;
}

/* ---- the list ---------------------------------------------------------- */

static int
list_grow(struct import *im, struct fault *fault)
{
	unsigned room = im->room ? 2 * im->room : 64;
	struct import_scan *grown;

	if (im->n >= IMPORT_SCANS) {
		fault_set(fault, -E2BIG, "conf", "cannot import %.250s",
			  im->file);
		fault_why(fault, "it has more than %d scans", IMPORT_SCANS);
		fault_hint(fault, "import it in parts");
		return -E2BIG;
	}
	if (im->n < im->room)
		return 0;
	grown = realloc(im->scan, room * sizeof *grown);
	if (!grown)
		return fault_set(fault, -ENOMEM, "no-memory", "no memory");
	im->scan = grown;
	im->room = room;
	return 0;
}

/* If no station was asked for, all scans must be of one station. */
static int
station_check(const struct import *im, const struct import_found *found,
	      struct fault *fault)
{
	const char *const has[] = { im->code, found->station };

	if (im->station || !im->n || strcasecmp(has[0], has[1]) == 0)
		return 0;
	return import_station_fault(im, has, 2, fault);
}

int
import_add(struct import *im, const struct import_found *found,
	   struct fault *fault)
{
	struct import_scan *scan;
	char text[UNITS_TEXT];
	int err = station_check(im, found, fault);

	if (err)
		return err;

	if (found->stop <= found->start) {
		import_leave_out(im, found->line,
				 "scan %.60s is left out: it stops %s it "
				 "starts, at %s",
				 found->scan,
				 found->stop < found->start ? "before" : "when",
				 units_show_time(text, found->start));
		return 0;
	}
	if (found->start < 0) {
		import_leave_out(
		    im, found->line,
		    "scan %.60s is left out: it starts before 1970",
		    found->scan);
		return 0;
	}
	err = list_grow(im, fault);
	if (err)
		return err;
	scan = &im->scan[im->n++];
	scan->line = found->line;
	scan->start = found->start;
	scan->stop = found->stop;
	name_scan(im, scan, found);
	snprintf(im->experiment, sizeof im->experiment, "%s",
		 found->experiment);
	snprintf(im->code, sizeof im->code, "%s", found->station);
	return 0;
}

static int
by_start(const void *a, const void *b)
{
	const struct import_scan *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int
by_name(const void *a, const void *b)
{
	const struct import_scan *const *x = a, *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);

	return order ? order : by_start(*x, *y);
}

/* Renames "x" to "x-2"; a letter could make it the name of the next scan. */
static void
name_count(struct import *im, struct import_scan *scan, unsigned n)
{
	char tail[16];
	size_t length = strlen(scan->name), most;

	most = LAYOUT_NAME - (size_t)snprintf(tail, sizeof tail, "-%u", n);
	length = length < most ? length : most;
	memcpy(scan->name + length, tail, strlen(tail) + 1);
	import_note(im, scan->line,
		    "another scan has that name: this one "
		    "will be %s",
		    scan->name);
}

/*
 * Makes names unique; returns true if they were.  Called again otherwise,
 * because a new name may be that of a third scan.  Names that stay equal are
 * refused by the daemon.
 */
static bool
names_differ(struct import *im, struct import_scan **scan)
{
	unsigned same = 1;
	bool differ = true;

	qsort(scan, im->n, sizeof *scan, by_name);
	for (unsigned i = 1, first = 0; i < im->n; i++) {
		if (strcmp(scan[i]->name, scan[first]->name) != 0) {
			first = i;
			same = 1;
			continue;
		}
		name_count(im, scan[i], ++same);
		differ = false;
	}
	return differ;
}

static void
overlaps_note(struct import *im)
{
	char text[UNITS_TEXT];

	for (unsigned i = 1, last = 0; i < im->n; i++) {
		const struct import_scan *a = &im->scan[last];
		const struct import_scan *b = &im->scan[i];

		if (b->start < a->stop)
			import_note(im, b->line,
				    "%s begins %s before %s ends: both will "
				    "have these packets",
				    b->name,
				    units_show_span(text, a->stop - b->start),
				    a->name);
		if (b->stop > a->stop)
			last = i;
	}
}

int
import_finish(struct import *im, struct fault *fault)
{
	struct import_scan **order;

	if (!im->n) {
		fault_set(fault, -ENOENT, "not-found", "nothing to import");
		if (im->left_out)
			fault_why(fault,
				  "none of the %u scans of %.200s can "
				  "be recorded",
				  im->left_out, im->file);
		else
			fault_why(fault, "%.200s asks for no recording",
				  im->file);
		return -ENOENT;
	}
	qsort(im->scan, im->n, sizeof *im->scan, by_start);
	order = calloc(im->n, sizeof *order);
	if (!order)
		return fault_set(fault, -ENOMEM, "no-memory", "no memory");
	for (unsigned i = 0; i < im->n; i++)
		order[i] = &im->scan[i];
	for (int round = 0; round < ROUNDS; round++)
		if (names_differ(im, order))
			break;
	free(order);
	overlaps_note(im);
	return 0;
}

void
import_clear(struct import *im)
{
	for (unsigned i = 0; i < im->kept; i++)
		free(im->note[i]);
	free(im->scan);
	im->scan = NULL;
	im->n = im->room = im->kept = im->notes = 0;
}
