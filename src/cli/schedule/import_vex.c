/* SPDX-License-Identifier: MIT */
/*
 * Reads a VEX file, of revision 1.5 or 2.0: both describe a recording in the
 * same way.
 *
 *   $GLOBAL    ref $EXPER = d21us;        which experiment it is
 *   $EXPER     def d21us; exper_name = ...
 *   $STATION   def Ap; ref $SITE = APEX;  codes, which matter with their case
 *   $SITE      def APEX; site_ID = Ap;    another code that people know
 *   $SCHED     scan No0001;
 *                start = 2013y080d05h00m00s;
 *                station = Ap: 0 sec: 240 sec: 0.000 GB: : : 1;
 *              endscan;
 *
 * A station records from start + data_good to start + data_stop.  The drive,
 * the last field, is 0 if the station does not record.
 *
 * Blocks come in any order, so the file is read twice: the first round finds
 * the stations and chooses the wanted one, the second adds its scans.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/schedule/import_scans.h"

/*
 * Reads the statements of a VEX file, one after the other:
 *
 *   $SCHED;   def Ef;   start=2013y080d05h00m00s;   station=Ap: 0 sec: 1 min;
 *
 * A statement is a head and, behind '=', fields between ':'.  Comments, from
 * '*' to the end of the line, and literal text are skipped.  A field that
 * begins with '"' is a string, in which these characters have no meaning.  A
 * '"' further on does not begin a string: a declination has seconds of arc.
 *
 * A statement is copied once, into the buffer `text`, where each field ends
 * with a 0.  A statement that is too long is an error, and takes no more
 * memory.
 */
enum { STATEMENT_FIELDS = 16, STATEMENT_BYTES = 1 << 16 };

/* ---- statements of VEX --------------------------------------------- */

struct vex_statement {
	const char *at, *end; /* text still to be read */
	unsigned line;
	/* The statement; its parts have no blanks around them. */
	char *head, *field[STATEMENT_FIELDS];
	unsigned fields;   /* fields kept */
	unsigned first;	   /* first line of the statement */
	const char *wrong; /* why there is no statement */
	char text[STATEMENT_BYTES];
};

/* Begins with a text, which must outlive `w`. */
static void
statement_begin(struct vex_statement *w, const char *text, size_t bytes)
{
	w->at = text;
	w->end = text + bytes;
	w->line = w->first = 1;
	w->fields = 0;
	w->wrong = NULL;
}

static int
wrong(struct vex_statement *w, unsigned line, const char *why)
{
	w->first = line;
	w->wrong = why;
	return -EINVAL;
}

/* Returns the next character outside of comments; -1: the end. */
static int
next(struct vex_statement *w)
{
	if (w->at < w->end && *w->at == '*')
		while (w->at < w->end && *w->at != '\n')
			w->at++;
	if (w->at == w->end)
		return -1;
	if (*w->at == '\n')
		w->line++;
	return (unsigned char)*w->at++;
}

/*
 * Copies a string up to its closing quote behind text[*n]; -EINVAL if there is
 * none.
 */
static int
string_copy(struct vex_statement *w, size_t *n)
{
	unsigned line = w->line;

	while (w->at < w->end && *w->at != '\n' && *w->at != '"') {
		if (*w->at == '\\' && w->at + 1 < w->end && w->at[1] == '"')
			w->at++;
		if (*n == STATEMENT_BYTES - 2)
			return wrong(w, line, "this string is too long");
		w->text[(*n)++] = *w->at++;
	}
	if (w->at == w->end || *w->at == '\n')
		return wrong(w, line, "the string is not ended by '\"'");
	w->at++;
	return 0;
}

static char *
trimmed(char *from, char *to)
{
	while (from < to && isspace((unsigned char)*from))
		from++;
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	*to = '\0';
	return from;
}

/* Takes text[from..n] as the head, or as the next field. */
static void
part_end(struct vex_statement *w, size_t from, size_t n)
{
	char *part = trimmed(w->text + from, w->text + n);

	if (!w->head)
		w->head = part;
	else if (w->fields < STATEMENT_FIELDS)
		w->field[w->fields++] = part;
}

/*
 * Tells whether a blank is at the beginning of a part, or follows another one.
 */
static bool
is_idle(const struct vex_statement *w, size_t from, size_t n, int c)
{
	return isspace(c) &&
	       (n == from || isspace((unsigned char)w->text[n - 1]));
}

static int
statement_copy(struct vex_statement *w)
{
	size_t n = 0, from = 0;
	int c, err;

	while ((c = next(w)) != ';') {
		if (c < 0)
			return wrong(w, w->first, "this is not ended by ';'");
		if (n == STATEMENT_BYTES - 2)
			return wrong(w, w->first,
				     "this is too long without a ';'");
		if (is_idle(w, from, n, c))
			continue;
		if (c == '"' && w->head && n == from) {
			err = string_copy(w, &n);
			if (err)
				return err;
		} else if ((c == '=' && !w->head) || (c == ':' && w->head)) {
			part_end(w, from, n);
			from = ++n;
		} else {
			w->text[n++] = isspace(c) ? ' ' : (char)c;
		}
	}
	part_end(w, from, n);
	return 0;
}

/* Skips literal text up to "end_literal"; it may contain anything. */
static int
literal_skip(struct vex_statement *w)
{
	static const char end[] = "end_literal";
	const char *found =
	    memmem(w->at, (size_t)(w->end - w->at), end, sizeof end - 1);

	if (!found)
		return wrong(w, w->first,
			     "this text is not ended by end_literal");
	for (; w->at < found; w->at++)
		w->line += *w->at == '\n';
	return 0;
}

/* Skips blanks and comments; 0: the end. */
static int
first_find(struct vex_statement *w)
{
	while (w->at < w->end) {
		if (*w->at != '*' && !isspace((unsigned char)*w->at))
			return 1;
		next(w);
	}
	return 0;
}

/*
 * Reads a statement.  Returns 1; 0 at the end; -EINVAL with `wrong` and
 * `first`.
 */
static int
statement_next(struct vex_statement *w)
{
	int err;

	if (!first_find(w))
		return 0;
	w->head = NULL;
	w->fields = 0;
	w->first = w->line;
	err = statement_copy(w);
	if (err)
		return err;
	if (strncasecmp(w->head, "start_literal", 13) == 0)
		err = literal_skip(w);
	return err ? err : 1;
}

enum { STATIONS = 256, PARTS = 8, FIRST_DRIVE = 6 };

enum block { OTHER, GLOBAL, EXPER, STATION, SITE, SCHED };

/* ---- what is read -------------------------------------------------- */

struct station {
	char code[IMPORT_WORD], site[IMPORT_WORD];
	bool scheduled;
};

/* One station= of a scan; start= may follow it. */
struct vex_part {
	int64_t good, stop;
	unsigned line;
};

struct vex_scan {
	bool open, started;
	char name[IMPORT_WORD];
	unsigned line;
	int64_t start;
	struct vex_part part[PARTS];
	unsigned parts;
};

struct vex {
	struct vex_statement words;
	struct import *im;
	struct fault *fault;
	bool looking; /* first round */
	enum block block;
	char def[IMPORT_WORD];
	char reference[IMPORT_WORD]; /* the experiment that $GLOBAL names */
	char experiment[IMPORT_WORD];
	struct station station[STATIONS], site[STATIONS];
	unsigned stations, sites;
	const char *wanted; /* the station's code in $SCHED */
	struct vex_scan scan;
	bool in_sched, any_scan; /* a $SCHED block, or a scan, was seen */
};

static bool
is(const char *a, const char *b)
{
	return strcasecmp(a, b) == 0;
}

static void
keep(char *word, const char *text)
{
	snprintf(word, IMPORT_WORD, "%s", text);
}

/*
 * Returns "No0001" for "scan No0001"; NULL if the head does not begin with the
 * keyword.
 */
static const char *
behind(const char *head, const char *keyword)
{
	size_t length = strlen(keyword);

	return strncasecmp(head, keyword, length) == 0 && head[length] == ' '
		   ? head + length + 1
		   : NULL;
}

static int
vex_fault(struct vex *v, unsigned line, const char *why)
{
	return import_fault(v->im, line, v->fault, "%s", why);
}

/* ---- definitions ------------------------------------------------------- */

static struct station *
station_of(struct vex *v, const char *code)
{
	struct station *s;

	for (unsigned i = 0; i < v->stations; i++)
		if (strcmp(v->station[i].code, code) == 0)
			return &v->station[i];
	if (v->stations == STATIONS)
		return NULL;
	s = &v->station[v->stations++];
	keep(s->code, code);
	return s;
}

static void
on_define(struct vex *v)
{
	const struct vex_statement *w = &v->words;
	const char *value = w->fields ? w->field[0] : "";
	struct station *s;

	if (v->block == GLOBAL && is(w->head, "ref $EXPER"))
		keep(v->reference, value);
	if (v->block == EXPER && is(w->head, "exper_name") &&
	    (!*v->experiment || strcmp(v->def, v->reference) == 0))
		keep(v->experiment, value);
	if (v->block == STATION && is(w->head, "ref $SITE")) {
		s = station_of(v, v->def);
		if (s)
			keep(s->site, value);
	}
	if (v->block == SITE && is(w->head, "site_ID") && v->sites < STATIONS) {
		keep(v->site[v->sites].site, v->def);
		keep(v->site[v->sites++].code, value);
	}
}

/*
 * Returns the code of a station that is named by the ID or the name of its
 * site.
 */
static const char *
code_of_site(const struct vex *v, const char *wanted)
{
	const char *site = wanted;

	for (unsigned i = 0; i < v->sites; i++)
		if (strcmp(v->site[i].code, wanted) == 0)
			site = v->site[i].site;
	for (unsigned i = 0; i < v->stations; i++)
		if (v->station[i].scheduled &&
		    strcmp(v->station[i].site, site) == 0)
			return v->station[i].code;
	return NULL;
}

static int
station_choose(struct vex *v)
{
	const char *has[STATIONS], *named = v->im->station;
	unsigned n = 0;

	for (unsigned i = 0; i < v->stations; i++)
		if (v->station[i].scheduled)
			has[n++] = v->station[i].code;
	if (!named && n > 1)
		named = v->im->own;
	for (unsigned i = 0; i < n && named; i++)
		if (strcmp(has[i], named) == 0)
			v->wanted = has[i];
	if (!v->wanted && named)
		v->wanted = code_of_site(v, named);
	if (!v->im->station && n == 1)
		v->wanted = has[0];
	if (v->wanted || !v->any_scan)
		return 0;
	return import_station_fault(v->im, has, n, v->fault);
}

/* ---- the schedule ------------------------------------------------------ */

static int
part_add(struct vex *v, const struct vex_part *part)
{
	struct vex_scan *scan = &v->scan;
	struct import_found found = {
		.experiment = *v->experiment ? v->experiment : v->reference,
		.station = v->wanted,
		.scan = scan->name,
		.line = part->line,
	};

	if (__builtin_add_overflow(scan->start, part->good, &found.start) ||
	    __builtin_add_overflow(scan->start, part->stop, &found.stop)) {
		import_leave_out(v->im, part->line,
				 "scan %.60s is left out: its times make no "
				 "sense",
				 scan->name);
		return 0;
	}
	return import_add(v->im, &found, v->fault);
}

static int
scan_end(struct vex *v)
{
	struct vex_scan *scan = &v->scan;
	int err = 0;

	scan->open = false;
	if (v->looking || !scan->parts)
		return 0;
	if (!scan->started) {
		import_leave_out(v->im, scan->line,
				 "scan %.60s is left out: it has no start, as "
				 "2013y080d05h00m00s",
				 scan->name);
		return 0;
	}
	for (unsigned i = 0; i < scan->parts && !err; i++)
		err = part_add(v, &scan->part[i]);
	return err;
}

/* Reads a start; one that cannot be read counts as missing. */
static void
on_start(struct vex *v)
{
	const struct vex_statement *w = &v->words;

	v->scan.started =
	    w->fields && !import_vex_time(w->field[0], &v->scan.start);
}

/*
 * Tells whether a station records.  Files without any drive have a recorder all
 * the same.
 */
static bool
records(const struct vex_statement *w)
{
	bool named = false;

	for (unsigned i = FIRST_DRIVE; i < w->fields; i++) {
		named = named || *w->field[i];
		if (*w->field[i] && strtol(w->field[i], NULL, 10) != 0)
			return true;
	}
	return !named;
}

static int
on_station(struct vex *v)
{
	const struct vex_statement *w = &v->words;
	struct vex_scan *scan = &v->scan;
	struct vex_part part = { .line = w->first };
	struct station *s;
	int64_t unit = 0;

	if (!w->fields)
		return 0;
	if (v->looking) {
		s = station_of(v, w->field[0]);
		if (s)
			s->scheduled = true;
		return 0;
	}
	if (!v->wanted || strcmp(w->field[0], v->wanted) != 0 || !records(w))
		return 0;
	if (w->fields < 3 || import_vex_span(w->field[1], &unit, &part.good) ||
	    import_vex_span(w->field[2], &unit, &part.stop)) {
		import_leave_out(
		    v->im, w->first,
		    "scan %.60s is left out: it does not say from "
		    "when to when data are good, as 0 sec: 240 sec",
		    scan->name);
		return 0;
	}
	if (scan->parts == PARTS)
		import_leave_out(v->im, w->first,
				 "one more recording of scan %.60s is left out",
				 scan->name);
	else
		scan->part[scan->parts++] = part;
	return 0;
}

static int
on_sched(struct vex *v)
{
	const struct vex_statement *w = &v->words;
	const char *name = behind(w->head, "scan");

	if (name) {
		if (v->scan.open)
			return vex_fault(v, v->scan.line,
					 "this scan is not ended by endscan");
		memset(&v->scan, 0, sizeof v->scan);
		keep(v->scan.name, name);
		v->scan.line = w->first;
		v->scan.open = v->any_scan = true;
		return 0;
	}
	if (is(w->head, "endscan"))
		return scan_end(v);
	if (!v->scan.open)
		return 0;
	if (is(w->head, "start"))
		on_start(v);
	return is(w->head, "station") ? on_station(v) : 0;
}

/* ---- statements -------------------------------------------------------- */

static int
on_block(struct vex *v)
{
	static const struct {
		const char *name;
		enum block block;
	} all[] = {
		{ "$GLOBAL", GLOBAL },	 { "$EXPER", EXPER },
		{ "$STATION", STATION }, { "$SITE", SITE },
		{ "$SCHED", SCHED },
	};

	if (v->scan.open)
		return vex_fault(v, v->scan.line,
				 "this scan is not ended by endscan");
	v->block = OTHER;
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		if (is(v->words.head, all[i].name))
			v->block = all[i].block;
	v->in_sched = v->in_sched || v->block == SCHED;
	return 0;
}

static int
on_statement(struct vex *v)
{
	const struct vex_statement *w = &v->words;
	const char *name;

	if (*w->head == '$' && !w->fields)
		return on_block(v);
	if (v->block == SCHED)
		return on_sched(v);
	name = behind(w->head, "def");
	if (name)
		keep(v->def, name);
	else if (v->looking)
		on_define(v);
	return 0;
}

static int
round_read(struct vex *v, const char *text, size_t bytes)
{
	int got;

	v->block = OTHER;
	memset(&v->scan, 0, sizeof v->scan);
	statement_begin(&v->words, text, bytes);
	while ((got = statement_next(&v->words)) > 0) {
		got = on_statement(v);
		if (got)
			return got;
	}
	if (got < 0)
		return vex_fault(v, v->words.first, v->words.wrong);
	if (v->scan.open)
		return vex_fault(v, v->scan.line,
				 "this scan is not ended by endscan");
	if (!v->in_sched)
		return vex_fault(v, 0, "it has no $SCHED block");
	return 0;
}

int
import_vex(struct import *im, const char *text, size_t bytes,
	   struct fault *fault)
{
	struct vex *v = calloc(1, sizeof *v);
	int err;

	if (!v)
		return fault_no_memory(fault);
	v->im = im;
	v->fault = fault;
	v->looking = true;
	err = round_read(v, text, bytes);
	if (!err)
		err = station_choose(v);
	v->looking = false;
	if (!err && v->wanted)
		err = round_read(v, text, bytes);
	free(v);
	return err;
}
