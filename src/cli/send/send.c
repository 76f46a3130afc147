/* SPDX-License-Identifier: MIT */
/*
 * spate send and relay: have the daemon send a recording, or pass a stream on,
 * and wait for the end with --wait.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/send/sends.h"
#include "cli/show/site.h"

struct send_options {
	const char *to, *stream, *rate, *range, *bytes, *threads, *strip, *sub,
	    *as;
	uint64_t connections, priority, packet;
	int64_t run_ns, patience;
	bool plain, follow, no_prefix, wait;
};

/* ---- the request ----------------------------------------------------- */

static void
text_put(json_t *request, const char *key, const char *text)
{
	if (text)
		json_object_set_new(request, key, json_string(text));
}

static void
number_put(json_t *request, const char *key, uint64_t n)
{
	if (n)
		json_object_set_new(request, key, json_integer((json_int_t)n));
}

static void
flag_put(json_t *request, const char *key, bool flag)
{
	if (flag)
		json_object_set_new(request, key, json_true());
}

static void
span_put(json_t *request, const char *key, int64_t ns)
{
	char text[UNITS_TEXT];

	snprintf(text, sizeof text, "%lldns", (long long)ns);
	if (ns)
		json_object_set_new(request, key, json_string(text));
}

/*
 * Returns a JSON number if the text is one, else a string, which the daemon
 * checks.
 */
static json_t *
word(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	return *text && !*end ? json_integer(n) : json_string(text);
}

static void
words_put(json_t *request, const char *key, const char *list)
{
	char *text = list ? strdup(list) : NULL, *rest = text, *one;
	json_t *words = text ? json_array() : NULL;

	while (text && (one = strsep(&rest, ",")))
		json_array_append_new(words, word(one));
	if (words)
		json_object_set_new(request, key, words);
	free(text);
}

static json_t *
request_of(const struct send_options *a, const char *name)
{
	json_t *request = json_object();

	text_put(request, "name", name);
	text_put(request, "stream", a->stream);
	text_put(request, "to", a->to);
	text_put(request, "as", a->as);
	text_put(request, "rate", a->rate);
	text_put(request, "range", a->range);
	text_put(request, "bytes", a->bytes);
	number_put(request, "connections", a->connections);
	number_put(request, "priority", a->priority);
	number_put(request, "packet", a->packet);
	span_put(request, "patience", a->patience);
	span_put(request, "for", a->run_ns);
	words_put(request, "threads", a->threads);
	if (a->strip)
		json_object_set_new(request, "strip", word(a->strip));
	if (a->sub)
		json_object_set_new(request, "sub", word(a->sub));
	flag_put(request, "plain", a->plain);
	flag_put(request, "follow", a->follow);
	flag_put(request, "no_prefix", a->no_prefix);
	return request;
}

/* ---- the answer ------------------------------------------------------ */

static void
print_begun(const struct cli *cli, const json_t *sends)
{
	const json_t *send;
	size_t i;

	json_array_foreach(sends, i, send) {
		if (cli->json)
			cli_print_json(send);
		else if (!cli->quiet)
			printf("%s goes to %s as transfer %llu; spate sends "
			       "shows how\n",
			       field_text(send, "name"), field_text(send, "to"),
			       (unsigned long long)field_number(send, "id"));
	}
}

/*
 * Follows all transfers, one after the other; the fault is that of the first
 * that failed.
 */
static int
follow_all(const struct cli *cli, struct control *control, const json_t *sends,
	   struct fault *fault)
{
	const json_t *send;
	json_t *ended;
	size_t i;
	int err = 0, first = 0;

	json_array_foreach(sends, i, send) {
		struct fault one;

		err = sends_follow(cli, control, send, &ended, &one);
		if (!err) {
			if (cli->json)
				cli_print_json(ended);
			else if (!cli->quiet)
				sends_tell(ended);
			err = sends_check(ended, &one);
			json_decref(ended);
		}
		if (err && !first) {
			first = err;
			*fault = one;
		}
	}
	return first;
}

static int
ask(const struct cli *cli, const char *verb, const struct send_options *a,
    const char *name)
{
	struct control *control;
	struct fault fault;
	json_t *result;
	const json_t *sends;
	int err = site_connect(cli, &control, &fault);

	if (err)
		return cli_fail(&fault);
	if (a->wait)
		sends_prepare();
	err = control_ask(control, verb, request_of(a, name), &result, &fault);
	if (!err) {
		sends = json_object_get(result, "sends");
		if (a->wait)
			err = follow_all(cli, control, sends, &fault);
		else
			print_begun(cli, sends);
		json_decref(result);
	}
	control_close(control);
	return err ? cli_fail(&fault) : CLI_DONE;
}

static int
to_missing(const char *example, const char *to)
{
	struct fault fault;

	fault_set(&fault, -EINVAL, "usage", "send it where? --to is missing");
	fault_hint(&fault, "spate %s --to %s", example, to);
	return cli_fail(&fault);
}

static int
run_send(const struct cli *cli, const void *values, char **operand)
{
	const struct send_options *a = values;

	return a->to ? ask(cli, "send", a, *operand)
		     : to_missing("send NAME", "tcp://correlator:2631");
}

static int
run_relay(const struct cli *cli, const void *values, char **operand)
{
	const struct send_options *a = values;
	struct fault fault;

	(void)operand;
	if (!a->stream) {
		fault_set(&fault, -EINVAL, "usage", "relay which stream?");
		fault_hint(&fault, "--stream S; spate streams lists them");
		return cli_fail(&fault);
	}
	return a->to ? ask(cli, "relay", a, NULL)
		     : to_missing("relay --stream S", "tcp://correlator:2630");
}

/* ---- options --------------------------------------------------------- */

#define AT(field) offsetof(struct send_options, field)

#define TO                                                                     \
	{                                                                      \
		"to", 't', ARGS_TEXT, AT(to), "URL",                           \
		    "where to: udp://, tcp://, ucx://, etd:// HOST:PORT, "     \
		    "s3://BUCKET"                                              \
	}
#define RATE                                                                   \
	{                                                                      \
		"rate", 'r', ARGS_TEXT, AT(rate), "RATE",                      \
		    "as 8Gbps; data: as fast as the data came; free: any"      \
	}
#define HOW                                                                        \
	{ "connections",   0,	ARGS_COUNT,                                        \
	  AT(connections), "N", "how many, side by side, over a long way" },       \
	    { "plain",	 0,    ARGS_FLAG,                                          \
	      AT(plain), NULL, "bytes and nothing else, as net2file takes them" }, \
	    { "threads",   0,	       ARGS_TEXT,                                  \
	      AT(threads), "N[,N...]", "these threads of VDIF alone" },            \
	    { "sub", 0, ARGS_TEXT, AT(sub), "N", "one substream alone" },          \
	    { "strip",                                                             \
	      0,                                                                   \
	      ARGS_TEXT,                                                           \
	      AT(strip),                                                           \
	      "N",                                                                 \
	      "leave out the first N bytes of each packet, "                       \
	      "or its \"header\"" },                                               \
	    { "no-prefix",   0,	   ARGS_FLAG,                                      \
	      AT(no_prefix), NULL, "leave out what was not stored" },              \
	    { "packet",	  0,	   ARGS_BYTES,                                     \
	      AT(packet), "BYTES", "of a heap in a datagram" },                    \
	    { "priority",   0,	 ARGS_COUNT,                                       \
	      AT(priority), "N", "before those in the queue that have less" },     \
	    { "patience",   0,	    ARGS_SPAN,                                     \
	      AT(patience), "SPAN", "how long the receiver may be away" },         \
	    { "wait",	'w',  ARGS_FLAG,                                           \
	      AT(wait), NULL, "show how it goes until it ends; Ctrl-C ends it" },  \
	{                                                                          \
		.name = NULL                                                       \
	}

static const struct args_option send_options[] = {
	TO,
	RATE,
	{ "follow", 'f', ARGS_FLAG, AT(follow), NULL,
	  "one that is recorded now: to its end" },
	{ "as", 0, ARGS_TEXT, AT(as), "NAME",
	  "the name that a copy gets in an inbox" },
	{ "range", 0, ARGS_TEXT, AT(range), "T1..T2",
	  "what was received from a time to a time, UTC" },
	{ "bytes", 0, ARGS_TEXT, AT(bytes), "A..B",
	  "these bytes of its file, in whole packets" },
	HOW,
};

static const struct args_option relay_options[] = {
	{ "stream", 's', ARGS_TEXT, AT(stream), "S",
	  "what is passed on, without being recorded" },
	TO,
	RATE,
	{ "for", 0, ARGS_SPAN, AT(run_ns), "SPAN", "how long, as 30s" },
	HOW,
};

const struct command command_send = {
	.name = "send",
	.operands = "NAME",
	.help = "Send a recording to another machine",
	.least = 1,
	.most = 1,
	.options = send_options,
	.bytes = sizeof(struct send_options),
	.run = run_send,
};

const struct command command_relay = {
	.name = "relay",
	.operands = "",
	.help = "Pass a stream on, without recording it",
	.options = relay_options,
	.bytes = sizeof(struct send_options),
	.run = run_relay,
};
