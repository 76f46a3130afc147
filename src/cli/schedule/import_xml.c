/* SPDX-License-Identifier: MIT */
/*
 * Reads the scans of a Mark6's control program, as EHT stations have them:
 *
 *   <experiment name="e18c21" station="Ax" ...>
 *     <scan experiment="e18c21" source="M87" station_code="Ax"
 *           start_time="2018110223800" duration="300" scan_name="110-2238"/>
 *
 * Only attributes are read, which need no document type.  A file that declares
 * one is refused, because it could define entities that grow without bound.
 */
#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/schedule/import_scans.h"

enum { DEPTH = 32, STEP = 1 << 20, STATIONS = 32 };

struct xml {
	XML_Parser parser;
	struct import *im;
	struct fault *fault;
	int err;
	int depth;
	bool dump; /* <SCHED> was seen: a VEX file dumped as XML */
	bool any;
	/* attributes of the root element */
	char experiment[IMPORT_WORD], station[IMPORT_WORD];
	/* stations that were found and not wanted */
	char other[STATIONS][IMPORT_WORD];
	unsigned others;
};

static unsigned
line_of(const struct xml *x)
{
	return (unsigned)XML_GetCurrentLineNumber(x->parser);
}

static void
stop(struct xml *x, int err)
{
	x->err = err;
	XML_StopParser(x->parser, XML_FALSE);
}

static const char *
attribute(const char **list, const char *name)
{
	for (; list[0]; list += 2)
		if (strcasecmp(list[0], name) == 0)
			return list[1];
	return "";
}

/* Copies a word, cut to IMPORT_WORD bytes. */
static void
keep(char *word, const char *text)
{
	snprintf(word, IMPORT_WORD, "%.*s", IMPORT_WORD - 1, text);
}

static bool
is_wanted(struct xml *x, const char *station)
{
	if (!x->im->station || !*station ||
	    strcasecmp(x->im->station, station) == 0)
		return true;
	for (unsigned i = 0; i < x->others; i++)
		if (strcmp(x->other[i], station) == 0)
			return false;
	if (x->others < STATIONS)
		keep(x->other[x->others++], station);
	return false;
}

static void
on_scan(struct xml *x, const char **list)
{
	char scan[IMPORT_WORD], experiment[IMPORT_WORD], station[IMPORT_WORD];
	struct import_found found = { experiment, station, scan,
				      0,	  0,	   line_of(x) };
	int64_t length;
	int err;

	x->any = true;
	keep(scan, attribute(list, "scan_name"));
	keep(experiment, attribute(list, "experiment"));
	keep(station, attribute(list, "station_code"));
	if (!*experiment)
		keep(experiment, x->experiment);
	if (!*station)
		keep(station, x->station);
	if (!is_wanted(x, station))
		return;
	if (!*station && x->im->station)
		keep(station, x->im->station);
	if (import_mark6_time(attribute(list, "start_time"), &found.start) ||
	    import_seconds(attribute(list, "duration"), &length)) {
		import_leave_out(x->im, found.line,
				 "scan %.60s is left out: start_time and "
				 "duration must be as 2018110223800 and 300",
				 scan);
		return;
	}
	if (!*scan)
		keep(scan, attribute(list, "start_time"));
	found.stop = found.start + length;
	err = import_add(x->im, &found, x->fault);
	if (err)
		stop(x, err);
}

static void XMLCALL
on_begin(void *data, const char *name, const char **list)
{
	struct xml *x = data;

	if (x->err)
		return;
	if (++x->depth > DEPTH) {
		stop(x, import_fault(x->im, line_of(x), x->fault,
				     "it is nested too deeply"));
		return;
	}
	if (x->depth == 1) {
		keep(x->experiment, attribute(list, "name"));
		keep(x->station, attribute(list, "station"));
	}
	if (strcmp(name, "scan") == 0)
		on_scan(x, list);
	x->dump = x->dump || strcmp(name, "SCHED") == 0;
}

static void XMLCALL
on_finish(void *data, const char *name)
{
	struct xml *x = data;

	(void)name;
	x->depth--;
}

static void XMLCALL
on_doctype(void *data, const char *name, const char *system, const char *public,
	   int internal)
{
	struct xml *x = data;

	(void)name, (void)system, (void)public, (void)internal;
	stop(x, import_fault(x->im, line_of(x), x->fault,
			     "a schedule has no document type"));
}

static int
parse(struct xml *x, const char *text, size_t bytes)
{
	while (!x->err) {
		int step = bytes < STEP ? (int)bytes : STEP;

		bytes -= (size_t)step;
		if (XML_Parse(x->parser, text, step, !bytes) != XML_STATUS_OK &&
		    !x->err)
			x->err = import_fault(
			    x->im, line_of(x), x->fault, "%s",
			    XML_ErrorString(XML_GetErrorCode(x->parser)));
		text += step;
		if (!bytes)
			break;
	}
	return x->err;
}

int
import_xml(struct import *im, const char *text, size_t bytes,
	   struct fault *fault)
{
	struct xml x = { .im = im, .fault = fault };
	const char *has[STATIONS];
	int err;

	x.parser = XML_ParserCreate(NULL);
	if (!x.parser)
		return fault_no_memory(fault);
	XML_SetUserData(x.parser, &x);
	XML_SetElementHandler(x.parser, on_begin, on_finish);
	XML_SetStartDoctypeDeclHandler(x.parser, on_doctype);
	err = parse(&x, text, bytes);
	XML_ParserFree(x.parser);
	for (unsigned i = 0; i < x.others; i++)
		has[i] = x.other[i];
	if (!err && !im->n && !im->left_out && x.others)
		return import_station_fault(im, has, x.others, fault);
	if (!err && !x.any)
		return import_fault(im, 0, fault, "%s",
				    x.dump ? "it is a dump of a VEX file: "
					     "import that"
					   : "it has no <scan>");
	return err;
}
