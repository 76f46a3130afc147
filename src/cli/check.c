/* SPDX-License-Identifier: MIT */
/*
 * spate check: a quick look at a scan that has just been recorded.  It takes
 * about a second, and its exit status says whether the scan is good.  Several
 * streams that were recorded together are all checked.
 *
 * The JSON of a check is made first, and its text for people is made of that.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/check_signal.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/show.h"
#include "cli/show/site.h"
#include "cli/show/table.h"
#include "store/list/quick_check.h"
#include "store/recording/loss.h"

/* ---- for programs -------------------------------------------------- */

static json_t *
number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *
time_of(int64_t ns)
{
	char text[UNITS_TEXT];

	return ns ? json_string(units_show_time_ns(text, ns)) : json_null();
}

static json_t *
threads_of(const struct quick_check_second *s)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < QUICK_CHECK_THREADS; i++)
		if (quick_check_has_thread(s, i))
			json_array_append_new(list, json_integer(i));
	return list;
}

static json_t *
stations_of(const struct quick_check_second *s)
{
	json_t *list = json_array();
	char name[SHOW_STATION];

	for (unsigned i = 0; i < s->stations; i++)
		json_array_append_new(
		    list, json_string(show_station(name, s->station[i])));
	return list;
}

static json_t *
second_of(const struct quick_check_second *s, const char *name)
{
	json_t *line = json_pack(
	    "{s:s s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o}", "second", name,
	    "from", time_of(s->from_ns), "to", time_of(s->to_ns), "packets",
	    number(s->packets), "packets_lost", number(s->missing), "looked",
	    number(s->looked), "unreadable", number(s->unreadable), "misplaced",
	    number(s->misplaced), "backwards", number(s->backwards), "invalid",
	    number(s->invalid), "heaps_incomplete", number(s->incomplete));

	json_object_set_new(line, "threads",
			    s->threaded ? threads_of(s) : json_null());
	json_object_set_new(line, "stations",
			    s->threaded ? stations_of(s) : json_null());
	json_object_set_new(line, "offset_s",
			    s->timed ? json_real((double)s->offset_ns / 1e9)
				     : json_null());
	return line;
}

static json_t *
seconds_of(const struct quick_check *g)
{
	static const char *const names[] = { "first", "middle", "last" };
	json_t *list = json_array();

	for (unsigned i = 0; i < QUICK_CHECK_SECONDS; i++)
		if (g->second[i].to_ns)
			json_array_append_new(
			    list, second_of(&g->second[i], names[i]));
	return list;
}

/*
 * Makes JSON of a quick check, and prints that for people.
 *
 *   {name, state, why, stream, format, start, end, bytes, packets,
 *    packets_lost, packets_missed (those, and drops that were wanted), drops,
 *    loss, rate, rate_expected, substreams, substreams_looked,
 *    substreams_silent, seconds:[{second:"first", from, to, packets,
 *    packets_lost, looked, unreadable, misplaced, backwards, invalid,
 *    heaps_incomplete, threads:[], stations:[], offset_s}], max_loss, ok,
 *    wrong:[], remarks:[]}
 *
 * Unknown values are null.
 */
static json_t *
check_json(const struct recording *rec, const struct quick_check *g)
{
	static const char *const keys[] = {
		"name", "state", "why",	    "stream",	    "format", "start",
		"end",	"bytes", "packets", "packets_lost", "drops",
	};
	const struct recording_facts *f = recording_facts(rec);
	double all = (double)(f->packets + f->missing);
	json_t *info = recording_info(rec), *line = json_object();

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		json_object_set(line, keys[i], json_object_get(info, keys[i]));
	json_decref(info);
	json_object_set_new(line, "loss",
			    json_real(all ? (double)f->missing / all : 0));
	json_object_set_new(line, "rate",
			    g->rate ? json_real(g->rate) : json_null());
	json_object_set_new(line, "rate_expected",
			    g->rate_wanted ? json_real(g->rate_wanted)
					   : json_null());
	json_object_set_new(line, "substreams", json_integer(f->subs));
	json_object_set_new(line, "substreams_looked", json_integer(g->looked));
	json_object_set_new(line, "substreams_silent", json_integer(g->silent));
	json_object_set_new(line, "seconds", seconds_of(g));
	return line;
}

/* ---- for people ------------------------------------------------------ */

/* Adds a cell "0-3,8" for a sorted list. */
static void
threads_cell(struct table *t, const json_t *list)
{
	char text[64] = "";
	size_t n = json_array_size(list), at = 0, end;

	for (size_t i = 0; i < n && at < sizeof text; i = end + 1) {
		json_int_t from = json_integer_value(json_array_get(list, i));

		for (end = i; end + 1 < n; end++)
			if (json_integer_value(json_array_get(list, end + 1)) !=
			    from + (json_int_t)(end + 1 - i))
				break;
		at += (size_t)snprintf(text + at, sizeof text - at,
				       "%s%" JSON_INTEGER_FORMAT, at ? "," : "",
				       from);
		if (end > i && at < sizeof text)
			at += (size_t)snprintf(text + at, sizeof text - at,
					       "-%" JSON_INTEGER_FORMAT,
					       from + (json_int_t)(end - i));
	}
	table_cell(t, "%s", text);
}

static void
stations_cell(struct table *t, const json_t *list)
{
	char text[64] = "";
	size_t i, at = 0;
	json_t *name;

	json_array_foreach(list, i, name) {
		if (at < sizeof text)
			at += (size_t)snprintf(text + at, sizeof text - at,
					       "%s%s", at ? "," : "",
					       json_string_value(name));
	}
	table_cell(t, "%s", text);
}

static void
second_row(struct table *t, const json_t *s)
{
	uint64_t looked = field_number(s, "looked");
	uint64_t bad = field_number(s, "unreadable") +
		       field_number(s, "misplaced") +
		       field_number(s, "backwards");
	char text[UNITS_TEXT];

	table_cell(t, "%s", field_text(s, "second"));
	table_cell(t, "%s", units_show_time(text, field_time(s, "from")));
	table_cell(t, "%" PRIu64, field_number(s, "packets"));
	table_cell(t, "%" PRIu64, field_number(s, "packets_lost"));
	table_cell(t, "%" PRIu64, looked);
	table_cell(t, "%" PRIu64, bad);
	threads_cell(t, json_object_get(s, "threads"));
	stations_cell(t, json_object_get(s, "stations"));
	if (field_known(s, "offset_s"))
		table_cell(t, "%+.3f s", field_real(s, "offset_s"));
	else
		table_cell(t, "%s", "");
}

static void
show_seconds(const json_t *seconds)
{
	static const struct table_column columns[] = {
		{ "second", false },	    { "from", false },
		{ "packets", true },	    { "lost", true },
		{ "looked at", true },	    { "bad", true },
		{ "threads", false },	    { "station", false },
		{ "data - arrival", true },
	};
	struct table *t = table_open(columns, sizeof columns / sizeof *columns);
	const json_t *s;
	size_t i;

	json_array_foreach(seconds, i, s)
		second_row(t, s);
	if (json_array_size(seconds))
		table_print(t, 2, stdout);
	table_close(t);
}

static void
show_head(const json_t *line)
{
	uint64_t lost = field_number(line, "packets_lost");
	uint64_t all = field_number(line, "packets") + lost;
	int64_t span = field_time(line, "end") - field_time(line, "start");
	char text[UNITS_TEXT], percent[SHOW_PERCENT];

	printf("%s: %s, %s", field_text(line, "name"),
	       field_text(line, "state"), field_text(line, "format"));
	if (span > 0)
		printf(", %s", units_show_span(text, span));
	printf(", %s", units_show_bytes(text, field_number(line, "bytes")));
	if (field_known(line, "rate"))
		printf(", %s", units_show_rate(text, field_real(line, "rate")));
	printf(", lost %" PRIu64 " of %" PRIu64 " packets, %s\n", lost, all,
	       show_percent(percent, lost, all));
}

static void
check_show(const json_t *line)
{
	const json_t *said;
	size_t i;

	show_head(line);
	show_seconds(json_object_get(line, "seconds"));
	json_array_foreach(json_object_get(line, "wrong"), i, said)
		printf("  WRONG: %s\n", json_string_value(said));
	json_array_foreach(json_object_get(line, "remarks"), i, said)
		printf("  note: %s\n", json_string_value(said));
	printf("  %s\n",
	       json_is_true(json_object_get(line, "ok")) ? "good" : "NOT GOOD");
}

/* The daemon's default, for recordings that do not have their own. */
#define MAX_LOSS 0.01

/* copies of each packet that redundant cables could explain */
enum { REPEATS = 8 };

/* ---- the judgement ------------------------------------------------- */

struct check_args {
	double max_loss; /* negative: as the recording says */
};

struct check_run {
	const struct cli *cli;
	const struct check_args *args;
	const struct disks *disks;
	json_t *wrong, *remarks; /* sentences about the present recording */
	unsigned bad;		 /* recordings found bad */
	char why[160];		 /* first error of the first of them */
};

static void
wrong(void *arg, const char *sentence)
{
	struct check_run *l = arg;

	json_array_append_new(l->wrong, json_string(sentence));
}

static void
remark(void *arg, const char *sentence)
{
	struct check_run *l = arg;

	json_array_append_new(l->remarks, json_string(sentence));
}

static double
limit(const struct check_run *l, const struct recording_facts *f)
{
	const json_t *told = json_object_get(f->head, "max_loss");

	if (l->args->max_loss >= 0)
		return l->args->max_loss;
	return json_is_number(told) ? json_number_value(told) : MAX_LOSS;
}

/*
 * Asks the daemon for the counts of a running recording: the disks know neither
 * its drops nor all of its losses.  Returns a new reference, or NULL if the
 * daemon does not say.
 */
static json_t *
ask_counts(const struct check_run *l, const struct recording_facts *f)
{
	json_t *answer, *info, *counts = NULL;
	struct fault none;
	size_t i;

	if (f->state != RECORDING_LIVE || l->cli->disks ||
	    site_ask(l->cli, "info", json_pack("{s:s}", "name", f->name),
		     &answer, &none))
		return NULL;
	json_array_foreach(json_object_get(answer, "recordings"), i, info) {
		if (!strcmp(field_text(info, "name"), f->name) && !counts)
			counts = json_incref(info);
	}
	json_decref(answer);
	return counts;
}

/* Compares lost and dropped packets with max_loss, wherever they were lost. */
static void
judge_loss(struct check_run *l, const struct recording_facts *f, json_t *line)
{
	json_t *counts = ask_counts(l, f);
	const json_t *from = counts ? counts : line;
	const json_t *drops = json_object_get(from, "drops");
	uint64_t lost = field_number(from, "packets_lost");
	uint64_t missed = loss_missed(drops, lost);
	uint64_t all = field_number(from, "packets") + missed;
	char is[SHOW_PERCENT], dropped[SHOW_DROPS], text[512];

	json_object_set(line, "drops", (json_t *)drops);
	json_object_set_new(line, "packets_missed",
			    json_integer((json_int_t)missed));
	show_drops(dropped, drops, loss_is_wanted);
	json_decref(counts);
	if (!missed || (double)missed <= limit(l, f) * (double)all)
		return;
	snprintf(text, sizeof text,
		 "%s of its packets were lost%s, more than max_loss = %g %%"
		 "%s%s",
		 show_percent(is, missed, all),
		 missed > lost ? " or dropped" : "", limit(l, f) * 100,
		 *dropped ? "; dropped here: " : "", dropped);
	json_array_insert_new(l->wrong, 0, json_string(text));
}

/*
 * Reports packets that came many times.  Two or three cables bring a packet
 * twice or three times; more means that the numbers read are not packet
 * numbers.
 */
static void
judge_repeats(struct check_run *l, const struct recording_facts *f,
	      const json_t *line)
{
	const json_t *drops = json_object_get(line, "drops");
	uint64_t n = field_number(drops, "duplicate");
	char text[160];

	if (f->state == RECORDING_LIVE || n / REPEATS < f->packets || !n)
		return;
	snprintf(text, sizeof text,
		 "%" PRIu64 " datagrams were dropped as duplicates of %" PRIu64
		 " packets: is `sequence` of the stream right?",
		 n, f->packets);
	wrong(l, text);
}

/* Makes the line of a recording; takes l->wrong and l->remarks over. */
static json_t *
verdict(struct check_run *l, const struct recording *rec,
	const struct quick_check *g)
{
	const struct recording_facts *f = recording_facts(rec);
	const char *first;
	json_t *line;

	line = check_json(rec, g);
	judge_loss(l, f, line);
	judge_repeats(l, f, line);
	json_object_set_new(line, "max_loss", json_real(limit(l, f)));
	json_object_set_new(line, "ok",
			    json_boolean(!json_array_size(l->wrong)));
	first = json_string_value(json_array_get(l->wrong, 0));
	if (first && !l->bad++)
		snprintf(l->why, sizeof l->why, "%s", first);
	json_object_set_new(line, "wrong", l->wrong);
	json_object_set_new(line, "remarks", l->remarks);
	return line;
}

/*
 * Reports hung disks of a running recording: readers wait for the data that
 * such a disk has, so what can be read is good, and nothing follows behind it.
 */
static void
judge_disks(struct check_run *l, const struct recording_facts *f)
{
	json_t *answer, *disk;
	struct fault none;
	char text[300];
	size_t i;

	if (f->state != RECORDING_LIVE || l->cli->disks ||
	    site_ask(l->cli, "disks", json_object(), &answer, &none))
		return;
	json_array_foreach(json_object_get(answer, "disks"), i, disk) {
		if (strcmp(field_text(disk, "state"), "hung"))
			continue;
		snprintf(text, sizeof text,
			 "%.150s does not answer: what it was given last is at "
			 "risk, and readers wait for it",
			 field_text(disk, "path"));
		wrong(l, text);
	}
	json_decref(answer);
}

static int
check_one(struct check_run *l, const char *name, struct fault *fault)
{
	struct quick_check_hooks hooks = { wrong, remark, l };
	struct recording *rec;
	struct quick_check g;
	json_t *line;
	int err = recording_open_by_index(&rec, l->disks, name, fault);

	if (err)
		return err;
	l->wrong = json_array();
	l->remarks = json_array();
	err = quick_check(rec, &hooks, &g);
	judge_disks(l, recording_facts(rec));
	if (!err)
		err = check_signal(l->disks, recording_facts(rec)->name, remark,
				   l);
	line = verdict(l, rec, &g);
	recording_close(rec);
	if (err)
		fault_set(fault, err, "no-memory", "no memory");
	else if (l->cli->json)
		cli_print_json(line);
	else
		check_show(line);
	json_decref(line);
	return err;
}

/* Checks the recordings <name>_ds<stream> of several streams. */
static int
check_streams(struct check_run *l, const char *name, struct fault *fault)
{
	size_t n = 0, length = strlen(name);
	struct fault missing = *fault;
	char **names = NULL;
	unsigned found = 0;
	int err = recording_list(l->disks, &names, &n);

	for (size_t i = 0; !err && i < n; i++) {
		if (strncmp(names[i], name, length) != 0 ||
		    strncmp(names[i] + length, "_ds", 3) != 0)
			continue;
		err = check_one(l, names[i], fault);
		found++;
	}
	free(names);
	if (!err && !found) {
		*fault = missing;
		err = -ENOENT;
	}
	return err;
}

/* Checks the last recording, with those that were recorded together with it. */
static int
check_last(struct check_run *l, struct fault *fault)
{
	char name[LAYOUT_FILE], *part;
	int err = recording_last(l->disks, name);

	if (err == -ENOENT) {
		fault_set(fault, err, "not-found",
			  "there is no recording to check");
		fault_why(fault, "none of the disks has one");
		return err;
	}
	if (err) {
		fault_set(fault, err, "io", "cannot list the disks");
		fault_why(fault, "%s", strerror(-err));
		return err;
	}
	part = strstr(name, "_ds");
	if (!part)
		return check_one(l, name, fault);
	*part = '\0';
	return check_streams(l, name, fault);
}

static int
check_named(struct check_run *l, const char *name, struct fault *fault)
{
	int err = check_one(l, name, fault);

	return err == -ENOENT ? check_streams(l, name, fault) : err;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct disks disks;
	struct check_run l = { .cli = cli, .args = values, .disks = &disks };
	struct fault fault;
	int err = site_disks(cli, &disks, &fault);

	if (err)
		return cli_fail(&fault);
	if (*operand)
		err = check_named(&l, *operand, &fault);
	else
		err = check_last(&l, &fault);
	disks_clear(&disks);
	if (!err && l.bad) {
		err = fault_set(&fault, -EBADMSG, "bad", "%s is not good",
				l.bad > 1  ? "more than one recording"
				: *operand ? *operand
					   : "the last recording");
		fault_why(&fault, "%s", l.why);
		fault_hint(&fault, "spate info shows when packets were lost, "
				   "spate verify reads everything");
	}
	return err ? cli_fail(&fault) : CLI_DONE;
}

static const struct args_option options[] = {
	{ "max-loss", 0, ARGS_SHARE, offsetof(struct check_args, max_loss),
	  "SHARE",
	  "call it bad when more packets were lost, or dropped here, as 0.01 "
	  "or "
	  "1% (default max_loss of its stream)" },
	{ .name = NULL },
};

static const struct check_args defaults = { .max_loss = -1 };

const struct command command_check = {
	.name = "check",
	.operands = "[NAME]",
	.help = "Look within a second whether a recording, or the last one, is "
		"good",
	.most = 1,
	.options = options,
	.defaults = &defaults,
	.bytes = sizeof(struct check_args),
	.eased = true,
	.run = run,
};
