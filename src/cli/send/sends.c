/* SPDX-License-Identifier: MIT */
/*
 * spate sends, rate, pause and resume: list transfers, and change them.  Values
 * that are 0, not given, or the same for all are left out, such as priorities,
 * or reasons where all is well.
 *
 * A transfer is followed as follow.c follows recordings: the daemon is asked
 * twice a second, with a wait for a signal in between.  A lost terminal ends
 * this program and not the transfer.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/send/sends.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/follow.h"
#include "cli/show/site.h"
#include "cli/show/table.h"
#include "cli/show/terminal.h"
#include "control/answer.h"

enum { CELL = 400, BAR_LEAST = 8, BAR_MOST = 40 };

static const char *
seconds_show(char text[UNITS_TEXT], double seconds)
{
	if (seconds < 1)
		return strcpy(text, "1s");
	if (seconds > 1e8)
		return strcpy(text, "years");
	return units_show_span(text, (int64_t)(seconds + 0.5) * NS_SECOND);
}

/* Writes "12s left", "2s behind" or "". */
static const char *
time_show(char text[TABLE_CELL], const struct answer_send *s)
{
	char span[UNITS_TEXT];

	*text = '\0';
	if (!isnan(s->left_s))
		snprintf(text, TABLE_CELL, "%s left",
			 seconds_show(span, s->left_s));
	else if (!isnan(s->behind_s))
		snprintf(text, TABLE_CELL, "%s%s",
			 s->behind_s < 1 ? "" : seconds_show(span, s->behind_s),
			 s->behind_s < 1 ? "live" : " behind");
	return text;
}

static const char *
bytes_show(char text[TABLE_CELL], const struct answer_send *s)
{
	uint64_t there = key_or_0(s->there), total = key_or_0(s->total);
	char part[UNITS_TEXT];
	size_t at;

	at = (size_t)snprintf(text, TABLE_CELL, "%s",
			      units_show_bytes(part, key_or_0(s->bytes)));
	if (s->total != KEY_UNKNOWN)
		at += (size_t)snprintf(
		    text + at, TABLE_CELL - at, " of %s",
		    units_show_bytes(part, total > there ? total - there : 0));
	if (there)
		snprintf(text + at, TABLE_CELL - at, ", %s there",
			 units_show_bytes(part, there));
	return text;
}

/* ---- a table --------------------------------------------------------- */

static const char *
cell(char text[TABLE_CELL], const struct key *key, const json_t *send)
{
	const json_t *value = json_object_get(send, key->name);
	struct answer_send s = answer_send(send);

	if (KEY_IS(key, struct answer_send, bytes))
		return bytes_show(text, &s);
	if (KEY_IS(key, struct answer_send, left_s))
		return time_show(text, &s);
	if (!KEY_IS(key, struct answer_send, asked_rate))
		return NULL;
	return json_is_integer(value)
		   ? units_show_rate(text, json_number_value(value))
		   : json_string_value(value);
}

void
sends_show(const json_t *sends, unsigned indent)
{
	static const struct table_keys t = { .keys = send_keys,
					     .groups = KEY_COLUMN,
					     .cell = cell };

	table_objects(&t, sends, indent);
}

/* Prints transfers: a JSON line each with --json, else the table. */
static void
sends_print(const struct cli *cli, const json_t *sends)
{
	const json_t *send;
	size_t i;

	if (!cli->json) {
		if (json_array_size(sends))
			sends_show(sends, 0);
		return;
	}
	json_array_foreach(sends, i, send)
		cli_print_json(send);
}

/* ---- a line ---------------------------------------------------------- */

/* Returns the share that is sent; negative: the total is unknown or grows. */
static double
share_of(const struct answer_send *s)
{
	double total = (double)key_or_0(s->total),
	       done = (double)key_or_0(s->bytes) + (double)key_or_0(s->there);

	if (!isnan(s->behind_s) || total < 1)
		return -1;
	return done >= total ? 1 : done / total;
}

static bool
has_state(const struct answer_send *s, const char *state)
{
	return s->state && !strcmp(s->state, state);
}

/* Returns a text without control characters; an unknown one is empty. */
static const char *
clean(char text[CELL], const char *from)
{
	snprintf(text, CELL, "%.330s", from ? from : "");
	return text_clean(text);
}

/* Writes the words behind the bar. */
static void
words(const struct answer_send *s, char text[CELL])
{
	char part[TABLE_CELL], state[CELL], why[CELL];
	double share = share_of(s);
	size_t at = 0;

	if (share >= 0)
		at = (size_t)snprintf(text, CELL, "%3d %%  ",
				      (int)(100 * share));
	at += (size_t)snprintf(text + at, CELL - at, "%s",
			       units_show_bytes(part, key_or_0(s->bytes)));
	if (has_state(s, "sending") || has_state(s, "waiting") ||
	    has_state(s, "finishing")) {
		at += (size_t)snprintf(text + at, CELL - at, "  %s",
				       units_show_rate(part, s->rate));
		if (*time_show(part, s))
			snprintf(text + at, CELL - at, "  %.60s", part);
		return;
	}
	clean(why, s->why);
	snprintf(text + at, CELL - at, "  %.20s%s%.200s",
		 clean(state, s->state), *why ? ": " : "", why);
}

void
sends_line(const json_t *send, char *line, size_t bytes)
{
	char text[CELL], name[CELL], drawing[BAR_MOST + 1] = "";
	struct answer_send s = answer_send(send);
	double share = share_of(&s);
	size_t used;

	words(&s, text);
	clean(name, s.name);
	used = strlen(name) + strlen(text) + 5;
	if (share >= 0 && bytes >= used + BAR_LEAST)
		progress_draw(drawing,
			      bytes - used < BAR_MOST ? bytes - used : BAR_MOST,
			      share);
	snprintf(line, bytes, "%s  %s%s%s", name, drawing, *drawing ? "  " : "",
		 text);
}

/* ---- the end --------------------------------------------------------- */

/* Tells whether a transfer has ended. */
static bool
sends_ended(const json_t *send)
{
	struct answer_send s = answer_send(send);

	return has_state(&s, "done") || has_state(&s, "stopped") ||
	       has_state(&s, "failed");
}

void
sends_tell(const json_t *send)
{
	struct answer_send s = answer_send(send);
	uint64_t sent = key_or_0(s.bytes), missing = key_or_0(s.missing);
	int64_t took = s.ended - s.started;
	char name[CELL], to[CELL], bytes[UNITS_TEXT], span[UNITS_TEXT];
	char rate[UNITS_TEXT];

	clean(name, s.name);
	clean(to, s.to);
	if (has_state(&s, "done") && !sent && key_or_0(s.total)) {
		printf("%s: all of it was at %s already\n", name, to);
		return;
	}
	printf("%s: %s sent to %s", name, units_show_bytes(bytes, sent), to);
	if (s.started && took > 0)
		printf(
		    " in %s, %s", units_show_span(span, took),
		    units_show_rate(rate, (double)sent * 8e9 / (double)took));
	if (key_or_0(s.there))
		printf("; %s were there already",
		       units_show_bytes(bytes, s.there));
	if (missing)
		printf("; %" PRIu64 " packets of it were never received",
		       missing);
	putchar('\n');
}

/*
 * Writes "12 unreadable, 3 lost"; returns its length.  Packets that were never
 * received are not counted.
 */
static size_t
not_sent(const struct answer_send *s, char text[CELL])
{
	const struct {
		uint64_t n;
		const char *words;
	} part[] = {
		{ s->unreadable, "unreadable" },
		{ s->dropped, "dropped because it was too slow" },
		{ s->lost, "lost on the way" },
		{ s->refused, "refused" },
	};
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < sizeof part / sizeof *part && at < CELL; i++) {
		if (key_or_0(part[i].n))
			at += (size_t)snprintf(
			    text + at, CELL - at, "%s%" PRIu64 " packets %s",
			    at ? ", " : "", part[i].n, part[i].words);
	}
	return at;
}

int
sends_check(const json_t *send, struct fault *fault)
{
	struct answer_send s = answer_send(send);
	char name[CELL], to[CELL], why[CELL], lost[CELL], state[CELL];
	bool done = has_state(&s, "done");

	if (!not_sent(&s, lost) && done)
		return 0;
	clean(why, s.why);
	fault_set(fault, -EIO, has_state(&s, "stopped") ? "cancelled" : "io",
		  "%.160s was not sent whole to %.120s", clean(name, s.name),
		  clean(to, s.to));
	fault_why(fault, "%.160s%s%.150s",
		  *why || done ? why : clean(state, s.state),
		  *why && *lost ? "; " : "", lost);
	return -EIO;
}

enum { LINE = 400 };

/* ---- following a transfer ------------------------------------------ */

struct following {
	const struct cli *cli;
	struct control *control;
	uint64_t id;
	bool terminal, stopping;
	/* steady ns of the next line when stderr is no terminal */
	int64_t next_ns;
};

void
sends_prepare(void)
{
	follow_prepare();
}

static int
ask(const struct following *f, json_t **send, struct fault *fault)
{
	json_t *result;
	int err = control_ask(f->control, "sends",
			      json_pack("{s:I}", "send", (json_int_t)f->id),
			      &result, fault);

	if (err)
		return err;
	*send =
	    json_incref(json_array_get(json_object_get(result, "sends"), 0));
	json_decref(result);
	return *send ? 0
		     : fault_set(fault, -EPROTO, "internal",
				 "spated says nothing of it");
}

static void
show(struct following *f, const json_t *send)
{
	int64_t now = clock_steady();
	char line[LINE];
	size_t width = terminal_width(STDERR_FILENO);

	if (f->cli->json || f->cli->quiet || (!f->terminal && now < f->next_ns))
		return;
	f->next_ns = now + 10 * NS_SECOND;
	if (!f->terminal || width > sizeof line)
		width = sizeof line;
	sends_line(send, line, width);
	if (f->terminal)
		terminal_do(stderr, ERASE_LINE);
	fprintf(stderr, "%s%s", line, f->terminal ? "" : "\n");
}

static void
erase(const struct following *f)
{
	if (f->terminal && !f->cli->json && !f->cli->quiet)
		terminal_do(stderr, ERASE_LINE);
}

/* Waits half a second; returns true if a signal came. */
static bool
is_interrupted(const struct following *f)
{
	const struct timespec half = { .tv_nsec = NS_SECOND / 2 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (!f->stopping)
		return sigtimedwait(&set, NULL, &half) > 0;
	nanosleep(&half, NULL);
	return false;
}

static int
stop(struct following *f, struct fault *fault)
{
	char id[24];
	sigset_t set;
	int err;

	f->stopping = true;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	erase(f);
	if (!f->cli->quiet)
		fprintf(stderr, "spate: stopping; a second signal leaves it to "
				"spated\n");
	snprintf(id, sizeof id, "%llu", (unsigned long long)f->id);
	err = control_ask(f->control, "stop", json_pack("{s:s}", "name", id),
			  NULL, fault);
	/* the transfer may have ended by itself just now */
	return err == -ENOENT ? 0 : err;
}

int
sends_follow(const struct cli *cli, struct control *control, const json_t *send,
	     json_t **ended, struct fault *fault)
{
	struct following f = { .cli = cli,
			       .control = control,
			       .id = field_number(send, "id"),
			       .terminal = isatty(STDERR_FILENO),
			       .next_ns = clock_steady() + 10 * NS_SECOND };
	int err;

	for (;;) {
		err = ask(&f, ended, fault);
		if (err || sends_ended(*ended))
			break;
		show(&f, *ended);
		json_decref(*ended);
		if (is_interrupted(&f))
			err = stop(&f, fault);
		if (err)
			break;
	}
	erase(&f);
	return err;
}

/* ---- spate sends --------------------------------------------------- */

struct sends_args {
	bool all, watch;
};

static int
print_once(const struct cli *cli, struct control *control,
	   const struct sends_args *args, struct fault *fault)
{
	const json_t *sends;
	json_t *result;
	int err =
	    control_ask(control, "sends", json_pack("{s:b}", "all", args->all),
			&result, fault);

	if (err)
		return err;
	sends = json_object_get(result, "sends");
	if (args->watch && !cli->json && isatty(STDOUT_FILENO))
		terminal_do(stdout, CLEAR_SCREEN);
	sends_print(cli, sends);
	if (!json_array_size(sends) && !cli->json && !cli->quiet)
		printf("nothing is being sent%s\n",
		       args->all ? "" : "; spate sends --all shows what was");
	json_decref(result);
	return 0;
}

static int
run_sends(const struct cli *cli, const void *values, char **operand)
{
	const struct timespec second = { .tv_sec = 1 };
	const struct sends_args *args = values;
	struct control *control;
	struct fault fault;
	int err = site_connect(cli, &control, &fault);

	(void)operand;
	if (err)
		return cli_fail(&fault);
	do
		err = print_once(cli, control, args, &fault);
	while (!err && args->watch && fflush(stdout) == 0 &&
	       nanosleep(&second, NULL) == 0);
	control_close(control);
	return err ? cli_fail(&fault) : CLI_DONE;
}

/* ---- orders ---------------------------------------------------------- */

static bool
is_meant(const json_t *send, const char *which)
{
	char *end;
	unsigned long long id = strtoull(which, &end, 10);

	if (*which && !*end)
		return field_number(send, "id") == id;
	return !strcmp(field_text(send, "name"), which);
}

static int
order_one(struct control *control, const char *verb, uint64_t id,
	  const char *rate, json_t *done, struct fault *fault)
{
	json_t *request = json_pack("{s:I}", "send", (json_int_t)id), *result;
	int err;

	if (rate)
		json_object_set_new(request, "rate", json_string(rate));
	err = control_ask(control, verb, request, &result, fault);
	if (err)
		return err;
	json_array_extend(done, json_object_get(result, "sends"));
	json_decref(result);
	return 0;
}

/* Gives an order to all transfers of a name, or to one by its number. */
static int
order_all(struct control *control, const char *verb, char **operand,
	  json_t *done, struct fault *fault)
{
	const json_t *send;
	json_t *result;
	size_t i;
	int err = control_ask(control, "sends", NULL, &result, fault);
	bool any = false;

	if (err)
		return err;
	json_array_foreach(json_object_get(result, "sends"), i, send) {
		if (!is_meant(send, operand[0]))
			continue;
		any = true;
		err = order_one(control, verb, field_number(send, "id"),
				operand[1], done, fault);
		if (err)
			break;
	}
	json_decref(result);
	if (any)
		return err;
	fault_set(fault, -ENOENT, "not-found",
		  "no transfer has the name or number '%.80s'", operand[0]);
	fault_hint(fault, "'spate sends' lists what is");
	return -ENOENT;
}

static int
order(const struct cli *cli, const char *verb, char **operand)
{
	struct control *control;
	struct fault fault;
	json_t *done;
	int err = site_connect(cli, &control, &fault);

	if (err)
		return cli_fail(&fault);
	done = json_array();
	err = order_all(control, verb, operand, done, &fault);
	if (!cli->quiet || cli->json)
		sends_print(cli, done);
	json_decref(done);
	control_close(control);
	return err ? cli_fail(&fault) : CLI_DONE;
}

static int
run_rate(const struct cli *cli, const void *values, char **operand)
{
	(void)values;
	return order(cli, "rate", operand);
}

static int
run_pause(const struct cli *cli, const void *values, char **operand)
{
	(void)values;
	return order(cli, "pause", operand);
}

static int
run_resume(const struct cli *cli, const void *values, char **operand)
{
	(void)values;
	return order(cli, "resume-send", operand);
}

/* ---- commands -------------------------------------------------------- */

static const struct args_option options[] = {
	{ "all", 'a', ARGS_FLAG, offsetof(struct sends_args, all), NULL,
	  "also the last ones that have ended" },
	{ "watch", 'w', ARGS_FLAG, offsetof(struct sends_args, watch), NULL,
	  "print it anew every second" },
	{ .name = NULL },
};

const struct command command_sends = {
	.name = "sends",
	.operands = "",
	.help = "List what is being sent, or waits to be",
	.options = options,
	.bytes = sizeof(struct sends_args),
	.run = run_sends,
};

const struct command command_rate = {
	.name = "rate",
	.operands = "ID|NAME RATE",
	.help = "Change how fast it is sent: 8Gbps, data or free",
	.least = 2,
	.most = 2,
	.run = run_rate,
};

const struct command command_pause = {
	.name = "pause",
	.operands = "ID|NAME",
	.help = "Stop sending it for a while",
	.least = 1,
	.most = 1,
	.run = run_pause,
};

const struct command command_resume = {
	.name = "resume",
	.operands = "ID|NAME",
	.help = "Go on with sending what was paused",
	.least = 1,
	.most = 1,
	.run = run_resume,
};
