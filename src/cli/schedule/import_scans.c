/* SPDX-License-Identifier: MIT */
/*
 * A schedule of another program is recognised by its content, because
 * users change extensions; its scans are checked and named, and written as a
 * file of the schedule folder, one line each, so that a user can remove or
 * change one.
 *
 * Names of scans are made as the Field System makes them,
 * <experiment>_<station>_<scan> in lower case, so that a recording has the same
 * name whichever file its schedule came from.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/schedule/import_scans.h"
#include "cli/show/args.h"

enum { LOOK = 1 << 20, STEP = 1 << 20 };

static const char what_works[] =
    "a Field System .snp, a VEX file, or the XML of a Mark6";

/* ---- which format it is -------------------------------------------- */

static bool
holds(const char *text, size_t bytes, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= bytes; i++)
		if (strncasecmp(text + i, word, length) == 0)
			return true;
	return false;
}

/* Returns the first text that is neither blank nor a comment of VEX. */
static const char *
vex_first(const char *text)
{
	for (;;) {
		text += strspn(text, " \t\r\n");
		if (*text != '*')
			return text;
		text += strcspn(text, "\n");
	}
}

static int
no_schedule(const struct import *im, const char *why, const char *hint,
	    struct fault *fault)
{
	import_fault(im, 0, fault, "%s", why);
	fault_hint(fault, "%s", hint);
	return -EINVAL;
}

static int
unknown(const struct import *im, const char *text, size_t look,
	struct fault *fault)
{
	if (strncmp(text, "\x1f\x8b", 2) == 0)
		return no_schedule(im, "it is compressed", "gunzip it first",
				   fault);
	if (memchr(text, 0, look))
		return no_schedule(im, "it is no text", what_works, fault);
	if (holds(text, look, "enddef") && holds(text, look, "define "))
		return no_schedule(im, "it is a library of procedures",
				   "import the .snp beside it", fault);
	if (holds(text, look, "$EXPER") || holds(text, look, "$SKED"))
		return no_schedule(im, "it looks like a .skd file",
				   "let drudg make a .snp of it", fault);
	return no_schedule(im, "it is no schedule that spate knows", what_works,
			   fault);
}

int
import_text(struct import *im, const char *text, size_t bytes,
	    struct fault *fault)
{
	size_t look = bytes < LOOK ? bytes : LOOK;
	const char *first;
	int err;

	if (look >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3; /* byte order mark that some editors write */
		bytes -= 3;
		look -= 3;
	}
	first = vex_first(text);
	if (strncasecmp(first, "VEX_rev", 7) == 0)
		err = import_vex(im, text, bytes, fault);
	else if (text[strspn(text, " \t\r\n")] == '<')
		err = import_xml(im, text, bytes, fault);
	else if (!memchr(text, 0, look) &&
		 (holds(text, look, "scan_name") ||
		  holds(text, look, "data_valid") ||
		  holds(text, look, "disk_record")) &&
		 !holds(text, look, "enddef"))
		err = import_snp(im, text, bytes, fault);
	else
		return unknown(im, text, look, fault);
	return err ? err : import_finish(im, fault);
}

/* Reads the whole file, and puts a 0 behind it; at most IMPORT_BYTES. */
static int
read_whole(int fd, char **text, size_t *bytes)
{
	size_t room = STEP;
	ssize_t got = 1;
	char *grown;

	*bytes = 0;
	*text = malloc(room + 1);
	while (*text && got && *bytes <= IMPORT_BYTES) {
		got = read(fd, *text + *bytes, room - *bytes);
		if (got < 0 && errno != EINTR)
			return -errno;
		*bytes += got > 0 ? (size_t)got : 0;
		if (*bytes < room)
			continue;
		room *= 2;
		grown = realloc(*text, room + 1);
		if (!grown)
			return -ENOMEM;
		*text = grown;
	}
	if (!*text)
		return -ENOMEM;
	(*text)[*bytes] = '\0';
	return *bytes > IMPORT_BYTES ? -EFBIG : 0;
}

int
import_file(struct import *im, const char *path, struct fault *fault)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				   : dup(STDIN_FILENO);
	char *text = NULL;
	size_t bytes = 0;
	int err = fd < 0 ? -errno : read_whole(fd, &text, &bytes);

	if (fd >= 0)
		close(fd);
	if (!err && text) {
		err = import_text(im, text, bytes, fault);
	} else {
		fault_set(fault, err, "io", "cannot read %.250s", path);
		fault_why(fault, "%s", strerror(-err));
		if (err == -EFBIG)
			fault_hint(fault, "no schedule is larger than %d MiB",
				   IMPORT_BYTES >> 20);
	}
	free(text);
	return err;
}

/* ---- the file for the schedule folder ------------------------------ */

static void
string_print(FILE *f, const char *text, size_t length)
{
	putc('"', f);
	for (; length; length--, text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c == 0x7f)
			fprintf(f, "\\x%02x", c);
		else if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else
			putc(c, f);
	}
	putc('"', f);
}

/* Prints text for a comment: no character of it may end the line. */
static void
comment_print(FILE *f, const char *text)
{
	for (; *text; text++)
		putc((unsigned char)*text < ' ' ? ' ' : *text, f);
}

static void
streams_print(FILE *f, const char *list)
{
	unsigned n = 0;

	fputs("streams = [ ", f);
	while (*list) {
		size_t length = strcspn(list, ",");

		if (length) {
			fputs(n++ ? ", " : "", f);
			string_print(f, list, length);
		}
		list += length + (list[length] == ',');
	}
	fputs(" ];", f);
}

/* Prints a time; whole seconds, the usual case, without a fraction. */
static void
time_print(FILE *f, int64_t ns)
{
	char text[UNITS_TEXT], *end;

	units_show_time_ns(text, ns);
	end = text + strlen(text) - 1; /* the Z at the end */
	while (end[-1] == '0')
		end--;
	if (end[-1] == '.')
		end--;
	fprintf(f, "\"%.*sZ\"", (int)(end - text), text);
}

static void
scan_print(FILE *f, const struct import_scan *scan,
	   const struct import_order *order, bool last)
{
	int64_t length = scan->stop - scan->start;

	fprintf(f, "  { name = \"%s\"; ", scan->name);
	streams_print(f, order->streams);
	fputs(" start = ", f);
	time_print(f, scan->start);
	if (length % NS_SECOND)
		fprintf(f, "; duration = \"%lldns\";", (long long)length);
	else
		fprintf(f, "; duration = \"%llds\";",
			(long long)(length / NS_SECOND));
	if (order->priority)
		fprintf(f, " priority = %d;", order->priority);
	if (order->send) {
		fputs(" send = ", f);
		string_print(f, order->send, strlen(order->send));
		putc(';', f);
	}
	fprintf(f, " }%s\n", last ? "" : ",");
}

char *
import_conf(const struct import *im, const struct import_order *order)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	fputs("# Imported from ", f);
	comment_print(f, im->file);
	fprintf(f, ": %u scan%s", im->n, im->n == 1 ? "" : "s");
	if (*im->experiment) {
		fputs(" of experiment ", f);
		comment_print(f, im->experiment);
	}
	if (*im->code) {
		fputs(", station ", f);
		comment_print(f, im->code);
	}
	fputs("\nscans = (\n", f);
	for (unsigned i = 0; i < im->n; i++)
		scan_print(f, &im->scan[i], order, i + 1 == im->n);
	fputs(");\n", f);
	if (ferror(f) | fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/*
 * Makes the file's name: "/a/r4123wz.snp" becomes "r4123wz.conf".  The name
 * never begins with '.' or '#', which the folder ignores.
 */
char *
import_conf_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot;
	char *name;

	path = slash ? slash + 1 : path;
	path += strspn(path, ".#");
	dot = strrchr(path, '.');
	if (asprintf(&name, "%.*s.conf",
		     (int)(dot && dot > path ? dot - path : 100), path) < 0)
		return NULL;
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._+-", *c))
			*c = '-';
	if (*name == '.')
		*name = '-';
	return name;
}

enum { NOTE = 512, RAW = 3 * IMPORT_WORD, ROUNDS = 8 };

/* ---- notes and faults ---------------------------------------------- */

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
		return fault_no_memory(fault);
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
		return fault_no_memory(fault);
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
