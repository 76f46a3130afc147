/* SPDX-License-Identifier: MIT */
/* spate streams: lists the streams that the daemon is configured to receive. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/show/cli.h"
#include "cli/show/site.h"
#include "cli/show/table.h"
#include "control/answer.h"

/* Writes the first address and the number of others. */
static const char *
listen_show(char text[TABLE_CELL], const json_t *list)
{
	const char *first = json_string_value(json_array_get(list, 0));
	size_t n = json_array_size(list);
	int at = snprintf(text, TABLE_CELL, "%.330s", first ? first : "");

	if (n > 1)
		snprintf(text + at, TABLE_CELL - (size_t)at, " +%zu", n - 1);
	return text;
}

/* Writes what the stream consists of: packets of one size, or heaps. */
static const char *
packet_show(char text[TABLE_CELL], const struct answer_stream *s)
{
	if (s->store && !strcmp(s->store, "heap"))
		return "heaps";
	if (s->store && !strcmp(s->store, "cube"))
		snprintf(text, TABLE_CELL, "cube of %" PRIu64, s->payload);
	else
		snprintf(text, TABLE_CELL, "%" PRIu64 "+%" PRIu64, s->prefix,
			 s->payload);
	return text;
}

static const char *
cell(char text[TABLE_CELL], const struct key *key, const json_t *stream)
{
	struct answer_stream s = answer_stream(stream);
	char bytes[UNITS_TEXT];

	if (KEY_IS(key, struct answer_stream, listen))
		return listen_show(text, s.listen);
	if (KEY_IS(key, struct answer_stream, payload))
		return packet_show(text, &s);
	if (KEY_IS(key, struct answer_stream, rate))
		return key_or_0(s.rate) ? units_show_rate(text, (double)s.rate)
					: "";
	if (!KEY_IS(key, struct answer_stream, blocks))
		return NULL;
	snprintf(text, TABLE_CELL, "%" PRIu64 " x %s", s.blocks,
		 units_show_bytes(bytes, s.block_bytes));
	return text;
}

static void
print(const struct cli *cli, const json_t *streams)
{
	static const struct table_keys t = { .keys = stream_keys,
					     .groups = KEY_COLUMN,
					     .cell = cell };
	const json_t *stream;
	size_t i;

	if (!cli->json)
		table_objects(&t, streams, 0);
	json_array_foreach(streams, i, stream)
		if (cli->json)
			cli_print_json(stream);
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
