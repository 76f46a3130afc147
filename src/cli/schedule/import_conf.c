/* SPDX-License-Identifier: MIT */
/*
 * Writes scans as files of the schedule folder have them: one line each, so
 * that a user can remove or change one.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/schedule/import_scans.h"
#include "cli/schedule/import_time.h"

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
