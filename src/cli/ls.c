/* SPDX-License-Identifier: MIT */
/*
 * spate ls: what is on the disks, read from there.  A recording that cannot
 * be opened is listed too: it is why somebody looks.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/field.h"
#include "cli/site.h"
#include "cli/table.h"
#include "store/recording.h"

/* The fields of INFO that ls prints with --json. */
static const char *const keys[] = { "name",   "state",	 "stream",
				    "format", "start",	 "end",
				    "bytes",  "packets", "packets_lost" };

static json_t *
some_of(json_t *info)
{
	json_t *some = json_object();

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		json_object_set(some, keys[i], json_object_get(info, keys[i]));
	json_object_set_new(some, "substreams",
			    json_integer((json_int_t)json_array_size(
				json_object_get(info, "subs"))));
	json_decref(info);
	return some;
}

static json_t *
look(const struct disks *disks, const char *name)
{
	struct recording *rec;
	struct fault fault;
	json_t *info;

	if (recording_open(&rec, disks, name, &fault) < 0)
		return json_pack("{s:s s:s s:s s:s}", "name", name, "state",
				 "unreadable", "what", fault.what, "why",
				 fault.why);
	info = some_of(recording_info(rec));
	recording_close(rec);
	return info;
}

static void
row(struct table *t, const json_t *info)
{
	int64_t start = field_time(info, "start");
	int64_t end = field_time(info, "end");
	char text[UNITS_TEXT];

	table_cell(t, "%s", field_text(info, "name"));
	table_cell(t, "%s", field_text(info, "state"));
	table_cell(t, "%s", start ? units_show_time(text, start) : "");
	table_cell(t, "%s",
		   end > start ? units_show_span(text, end - start) : "");
	if (!field_known(info, "bytes")) {
		table_cell(t, "%s", "");
		table_cell(t, "%s", "");
		table_cell(t, "%s", "");
		return;
	}
	table_cell(t, "%s",
		   units_show_bytes(text, field_number(info, "bytes")));
	table_cell(t, "%" PRIu64, field_number(info, "packets_lost"));
	if (field_number(info, "substreams") > 1)
		table_cell(t, "%" PRIu64 " substreams",
			   field_number(info, "substreams"));
	else
		table_cell(t, "%s", "");
}

static void
print(const struct cli *cli, const json_t *infos)
{
	static const struct table_column columns[] = {
		{ "name", false },  { "state", false }, { "start", false },
		{ "length", true }, { "size", true },	{ "lost", true },
		{ "", false },
	};
	struct table *t = table_open(columns, sizeof columns / sizeof *columns);
	const json_t *info;
	size_t i;

	json_array_foreach(infos, i, info) {
		if (cli->json)
			cli_print_json(info);
		else
			row(t, info);
	}
	if (!cli->json && json_array_size(infos))
		table_print(t, 0, stdout);
	table_close(t);
}

static int
gather(json_t *infos, const struct disks *disks, const char *pattern,
       struct fault *fault)
{
	char **names = NULL;
	size_t n = 0;
	int err = recording_list(disks, &names, &n);

	if (err) {
		fault_set(fault, err, "io", "cannot list the disks");
		fault_why(fault, "%s", strerror(-err));
		return err;
	}
	for (size_t i = 0; i < n; i++)
		if (!pattern || fnmatch(pattern, names[i], 0) == 0)
			json_array_append_new(infos, look(disks, names[i]));
	free(names);
	if (!pattern || json_array_size(infos))
		return 0;
	fault_set(fault, -ENOENT, "not-found", "no recording is called %s",
		  pattern);
	fault_hint(fault, "spate ls lists all of them");
	return -ENOENT;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	json_t *infos = json_array();
	struct disks disks;
	struct fault fault;
	int err = site_disks(cli, &disks, &fault);

	(void)values;
	if (!err) {
		err = gather(infos, &disks, *operand, &fault);
		disks_clear(&disks);
	}
	if (!err)
		print(cli, infos);
	json_decref(infos);
	return err ? cli_fail(&fault) : CLI_DONE;
}

const struct command command_ls = {
	.name = "ls",
	.operands = "[PATTERN]",
	.help = "List recordings",
	.most = 1,
	.run = run,
};
