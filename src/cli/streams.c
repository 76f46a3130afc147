/* SPDX-License-Identifier: MIT */
/* spate streams: lists the streams that the daemon is configured to receive. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/site.h"
#include "cli/show/table.h"

/* Adds a cell with the first address and the number of others. */
static void
listen_cell(struct table *t, const json_t *stream)
{
	const json_t *list = json_object_get(stream, "listen");
	const char *first = json_string_value(json_array_get(list, 0));

	if (json_array_size(list) > 1)
		table_cell(t, "%s +%zu", first ? first : "",
			   json_array_size(list) - 1);
	else
		table_cell(t, "%s", first ? first : "");
}

/*
 * Adds a cell with what the stream consists of: packets of one size, or heaps.
 */
static void
packet_cell(struct table *t, const json_t *stream)
{
	const char *store = field_text(stream, "store");

	if (strcmp(store, "heap") == 0)
		table_cell(t, "heaps");
	else if (strcmp(store, "cube") == 0)
		table_cell(t, "cube of %" PRIu64,
			   field_number(stream, "payload"));
	else
		table_cell(t, "%" PRIu64 "+%" PRIu64,
			   field_number(stream, "prefix"),
			   field_number(stream, "payload"));
}

static void
row(struct table *t, const json_t *stream)
{
	char text[UNITS_TEXT];

	table_cell(t, "%s", field_text(stream, "name"));
	table_cell(t, "%s", field_text(stream, "format"));
	table_cell(t, "%s", field_text(stream, "receive"));
	listen_cell(t, stream);
	packet_cell(t, stream);
	table_cell(t, "%s", field_text(stream, "sequence"));
	table_cell(t, "%s",
		   field_number(stream, "rate")
		       ? units_show_rate(text, field_real(stream, "rate"))
		       : "");
	table_cell(t, "%" PRIu64 " x %s", field_number(stream, "blocks"),
		   units_show_bytes(text, field_number(stream, "block_bytes")));
	table_cell(t, "%s", field_text(stream, "recording"));
}

static void
print(const struct cli *cli, const json_t *streams)
{
	static const struct table_column columns[] = {
		{ "stream", false },	{ "format", false },
		{ "from", false },	{ "listen", false },
		{ "packet", true },	{ "sequence", false },
		{ "rate", true },	{ "blocks", true },
		{ "recording", false },
	};
	struct table *t = table_open(columns, sizeof columns / sizeof *columns);
	const json_t *stream;
	size_t i;

	json_array_foreach(streams, i, stream) {
		if (cli->json)
			cli_print_json(stream);
		else
			row(t, stream);
	}
	if (!cli->json)
		table_print(t, 0, stdout);
	table_close(t);
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct fault fault;
	json_t *result;
	int err = site_ask(cli, "streams", NULL, &result, &fault);

	(void)values;
	(void)operand;
	if (err)
		return cli_fail(&fault);
	print(cli, json_object_get(result, "streams"));
	json_decref(result);
	return CLI_DONE;
}

const struct command command_streams = {
	.name = "streams",
	.operands = "",
	.help = "List the streams that can be recorded",
	.run = run,
};
