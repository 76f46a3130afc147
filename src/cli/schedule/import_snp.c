/* SPDX-License-Identifier: MIT */
/*
 * Reads a SNAP schedule as the Field System would run it: commands take no
 * time, lines with ! wait, and a recording lasts from the command that switches
 * the recorder on to the one that switches it off.
 *
 * Stations switch the recorder in different ways, so the file is read twice.
 * The first reading finds which of these the file has; the first one in this
 * list counts:
 *
 *   recorder    disk_record=on/off, mk5=record=on/off, mk6=..., fb=...
 *   data valid  data_valid=on/off: a file for a recorder that another
 *               program switches
 *   procedures  midob to postob: the .prc records in between
 *
 * A recorder that is not switched off before the next scan_name= can mean two
 * things.  If the next scan switches it on again, the "off" was forgotten, and
 * the recording ended with the last wait of its own scan.  If not, the station
 * records on between the scans: then each scan gets a recording, and they
 * follow each other without a gap, so that nothing is lost and a scan is found
 * by its name.
 *
 * The length in scan_name= is used only if nothing is waited for.  Commands are
 * compared without case, as the Field System does.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/schedule/import_scans.h"

/* ---- lines of SNAP, the language of .snp files -------------------------- */

enum { SNAP_LINE = 512 };

/*
 * Kinds of commands that switch a recorder, from the weakest evidence to the
 * strongest.
 */
enum snap_kind { SNAP_NONE, SNAP_PROCEDURE, SNAP_VALID, SNAP_RECORDER };

/*
 * Copies a line into SNAP_LINE bytes, as far as it fits, without blanks, which
 * mean nothing in SNAP; those in a comment stay.
 */
static void
snap_line(char *line, const char *text, size_t length)
{
	size_t n = 0;
	bool comment;

	while (length && isspace((unsigned char)*text)) {
		text++;
		length--;
	}
	comment = length && *text == '"';
	for (; length && n < SNAP_LINE - 1; text++, length--)
		if (comment || !isspace((unsigned char)*text))
			line[n++] = *text;
	line[n] = '\0';
}

/* Returns which kind of switch a line is; *on: it switches on. */
static enum snap_kind
snap_switch(const char *line, bool *on)
{
	static const struct {
		const char *text;
		enum snap_kind kind;
		bool on;
	} all[] = {
		{ "disk_record=on", SNAP_RECORDER, true },
		{ "disk_record=off", SNAP_RECORDER, false },
		{ "mk5=record=on", SNAP_RECORDER, true },
		{ "mk5=record=off", SNAP_RECORDER, false },
		{ "mk6=record=on", SNAP_RECORDER, true },
		{ "mk6=record=off", SNAP_RECORDER, false },
		{ "fb=record=on", SNAP_RECORDER, true },
		{ "fb=record=off", SNAP_RECORDER, false },
		{ "in2net=on", SNAP_RECORDER, true },
		{ "in2net=off", SNAP_RECORDER, false },
		{ "data_valid=on", SNAP_VALID, true },
		{ "data_valid=off", SNAP_VALID, false },
		{ "data_valid1=on", SNAP_VALID, true },
		{ "data_valid1=off", SNAP_VALID, false },
		{ "data_valid2=on", SNAP_VALID, true },
		{ "data_valid2=off", SNAP_VALID, false },
		{ "midob", SNAP_PROCEDURE, true },
		{ "postob", SNAP_PROCEDURE, false },
	};

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		size_t length = strlen(all[i].text);

		if (strncasecmp(line, all[i].text, length) != 0 ||
		    (line[length] && !strchr(":;,@", line[length])))
			continue;
		*on = all[i].on;
		return all[i].kind;
	}
	return SNAP_NONE;
}

/*
 * Splits the list behind '=' into at most n fields; returns how many there
 * were.
 */
static int
snap_split(const char *list, char field[][IMPORT_WORD], int n)
{
	int i;

	for (i = 0; i < n; i++) {
		size_t length = strcspn(list, ",");

		snprintf(field[i], IMPORT_WORD, "%.*s", (int)length, list);
		list += length;
		if (!*list++)
			return i + 1;
	}
	return i;
}

enum { FIELDS = 5 };

/* Latest time to which any length of scan_name= can be added. */
#define LATEST (INT64_MAX - NS_SECOND * NS_SECOND)

struct snap_scan {
	char name[IMPORT_WORD], experiment[IMPORT_WORD], station[IMPORT_WORD];
	int64_t length; /* ns, as scan_name= says; 0: none */
	unsigned line;
};

struct snp {
	struct import *im;
	struct fault *fault;
	unsigned line;
	bool looking;	     /* first reading: finds only the kind of switch */
	enum snap_kind kind; /* kind of command that switches the recorder */
	/*
	 * From the comment at the top, used where scan_name= leaves things out.
	 */
	struct snap_scan header;
	struct import_now now;
	int64_t waited; /* ns of the last absolute wait; 0: none */
	int64_t mark;	/* ns that "!*" remembered */
	struct snap_scan scan;
	bool running;
	bool inherited; /* the recorder runs since before this scan */
	bool on_known;	/* `on` is valid */
	int64_t on;	/* ns: when the recorder was switched on */
	unsigned on_line;
	/* a note was made that it records on between scans */
	bool told_on;
	char station[IMPORT_WORD]; /* another station that was found */
};

/* ---- recordings -------------------------------------------------------- */

/*
 * Returns the name of a recording; without a scan_name=, one made of its time.
 */
static const char *
scan_name(const struct snp *s, char *text)
{
	int64_t minute = s->on % IMPORT_DAY / (60 * NS_SECOND);
	int year, day;

	if (*s->scan.name)
		return s->scan.name;
	import_day_of(s->on, &year, &day);
	snprintf(text, IMPORT_WORD, "%03d-%02d%02d", day, (int)(minute / 60),
		 (int)(minute % 60));
	return text;
}

static int
recording_add(struct snp *s, int64_t stop)
{
	char name[IMPORT_WORD];
	struct import_found found = {
		.experiment = *s->scan.experiment ? s->scan.experiment
						  : s->header.experiment,
		.station =
		    *s->scan.station ? s->scan.station : s->header.station,
		.start = s->on,
		.stop = stop,
		.line = s->on_line,
	};

	found.scan = scan_name(s, name);
	if (s->im->station && *found.station &&
	    strcasecmp(s->im->station, found.station) != 0) {
		snprintf(s->station, sizeof s->station, "%s", found.station);
		return 0;
	}
	if (!*found.station && s->im->station)
		found.station = s->im->station;
	return import_add(s->im, &found, s->fault);
}

static int
recording_end(struct snp *s)
{
	int64_t stop = s->now.ns;

	s->running = false;
	if (!s->on_known || !s->now.known) {
		import_leave_out(s->im, s->on_line,
				 "a recording of %.60s is left out: no "
				 "!YYYY.DDD.HH:MM:SS says when it begins",
				 *s->scan.name ? s->scan.name : "no scan");
		return 0;
	}
	if (s->inherited && stop <= s->on)
		return 0; /* the "off" came after the next scan_name= */
	if (stop <= s->on && s->scan.length) {
		stop = s->on + s->scan.length;
		import_note(s->im, s->on_line,
			    "nothing is waited for while %.60s records: its "
			    "length is that of its scan_name=",
			    s->scan.name);
	}
	return recording_add(s, stop);
}

static void
recording_begin(struct snp *s)
{
	if (s->running && !s->inherited)
		return;
	if (s->running)
		import_note(s->im, s->line,
			    "the scan before this one is not ended by "
			    "anything: it ends with its last wait");
	s->running = true;
	s->inherited = false;
	s->on = s->now.ns;
	s->on_known = s->now.known;
	s->on_line = s->scan.line ? s->scan.line : s->line;
}

/* ---- lines ------------------------------------------------------------- */

static int
on_scan(struct snp *s, const char *list)
{
	char field[FIELDS][IMPORT_WORD] = { "" };
	bool goes_on = s->running;
	int err = 0;

	if (s->looking)
		return 0;
	if (goes_on) {
		if (s->inherited && !s->told_on) {
			import_note(
			    s->im, s->on_line,
			    "it records on from scan to scan: each "
			    "recording lasts until the next scan_name=");
			s->told_on = true;
		}
		err = recording_end(s);
	}
	snap_split(list, field, FIELDS);
	memset(&s->scan, 0, sizeof s->scan);
	memcpy(s->scan.name, field[0], IMPORT_WORD);
	memcpy(s->scan.experiment, field[1], IMPORT_WORD);
	memcpy(s->scan.station, field[2], IMPORT_WORD);
	if (import_seconds(field[3], &s->scan.length))
		s->scan.length = 0;
	s->scan.line = s->line;
	if (goes_on) {
		s->running = s->inherited = true;
		s->on = s->now.ns;
		s->on_known = s->now.known;
		s->on_line = s->line;
	}
	return err;
}

static void
wait_until(struct snp *s, int64_t ns)
{
	char text[UNITS_TEXT];

	/*
	 * A time that has passed is no wait, unless the schedule goes back, as
	 * where two schedules were joined.
	 */
	if (s->waited && ns < s->waited) {
		import_note(s->im, s->line, "the time goes back here, to %s",
			    units_show_time(text, ns));
		s->now.ns = ns;
	} else if (!s->now.known || ns > s->now.ns) {
		s->now.ns = ns;
	}
	s->now.known = true;
	s->waited = ns;
}

static int
wait_span(struct snp *s, int64_t from, const char *text)
{
	int64_t ns;
	int err = import_snap_span(text, &ns);

	if (!err && (__builtin_add_overflow(from, ns, &ns) || ns > LATEST))
		err = -EINVAL;
	if (!err && ns > s->now.ns)
		s->now.ns = ns;
	return err;
}

/* Handles "!..."; a bare "!" waits for the operator. */
static void
on_wait(struct snp *s, const char *text)
{
	int64_t ns;
	int err = 0;

	if (s->looking || !*text)
		return;
	if (strcmp(text, "*") == 0) {
		s->mark = s->now.ns;
	} else if (strncmp(text, "*+", 2) == 0) {
		err = wait_span(s, s->mark, text + 2);
	} else if (*text == '+') {
		err = wait_span(s, s->now.ns, text + 1);
	} else {
		err = import_snap_time(text, &s->now, &ns);
		if (!err)
			wait_until(s, ns);
	}
	if (!err)
		return;
	import_note(s->im, s->line,
		    "!%.40s cannot be read: what follows has no time until "
		    "the next one that can",
		    text);
	s->now.known = false;
}

static int
on_switch(struct snp *s, enum snap_kind kind, bool on)
{
	if (s->looking && on && kind > s->kind)
		s->kind = kind;
	if (s->looking || kind != s->kind)
		return 0;
	if (on)
		recording_begin(s);
	else if (s->running)
		return recording_end(s);
	return 0;
}

/* Reads the first comment of drudg: " r4123     2015 WETTZELL  V Wz" */
static void
on_comment(struct snp *s, const char *text)
{
	char experiment[33], site[33], letter[9], code[9];
	int year;

	if (s->header.line ||
	    sscanf(text, "%32s %4d %32s %8s %8s", experiment, &year, site,
		   letter, code) != 5 ||
	    strlen(code) != 2 || year < 1979 || year > 2199)
		return;
	s->header.line = s->line;
	s->now.year = year;
	strcpy(s->header.experiment, experiment);
	strcpy(s->header.station, code);
}

static int
on_line(struct snp *s, char *line)
{
	enum snap_kind kind;
	bool on = false;

	if (*line == '"') {
		on_comment(s, line + 1);
		return 0;
	}
	if (*line == '!') {
		on_wait(s, line + 1);
		return 0;
	}
	if (strncasecmp(line, "scan_name=", 10) == 0)
		return on_scan(s, line + 10);
	kind = snap_switch(line, &on);
	return kind ? on_switch(s, kind, on) : 0;
}

static int
lines_read(struct snp *s, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	char line[SNAP_LINE] = "";
	int err = 0;

	for (s->line = 1; text < end && !err; s->line++) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));

		if (!eol)
			eol = end;
		snap_line(line, text, (size_t)(eol - text));
		err = on_line(s, line);
		text = eol < end ? eol + 1 : end;
	}
	if (!err && s->running && !s->looking) {
		if (!s->inherited)
			import_note(s->im, s->on_line,
				    "nothing ends this scan: it ends with the "
				    "file's last wait");
		err = recording_end(s);
	}
	return err;
}

int
import_snp(struct import *im, const char *text, size_t bytes,
	   struct fault *fault)
{
	struct snp look = { .im = im, .fault = fault, .looking = true };
	struct snp s = { .im = im, .fault = fault };
	const char *station = s.station;
	int err;

	lines_read(&look, text, bytes);
	s.kind = look.kind;
	s.header = look.header;
	s.now.year = look.now.year;
	err = lines_read(&s, text, bytes);
	if (!err && s.kind == SNAP_PROCEDURE && im->n)
		import_note(im, 0,
			    "no line switches a recorder: recordings "
			    "last from midob to postob");
	if (!err && !im->n && !im->left_out && *s.station)
		return import_station_fault(im, &station, 1, fault);
	return err;
}
