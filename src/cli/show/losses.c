/* SPDX-License-Identifier: MIT */
/*
 * Each loss is shown with its place, because the remedy differs: a larger ring
 * for the card, a larger buffer or more receivers for the socket.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/show/field.h"
#include "cli/show/losses.h"
#include "cli/show/table.h"
#include "store/recording/loss.h"

enum { SAID = 320 };

struct loss {
	char where[80], what[SAID];
};

/* Appends to what is said of a loss, as far as there is room. */
static void __attribute__((format(printf, 2, 3)))
add(struct loss *p, const char *format, ...)
{
	size_t at = strlen(p->what);
	va_list args;

	va_start(args, format);
	vsnprintf(p->what + at, sizeof p->what - at, format, args);
	va_end(args);
}

/* Writes "12 rx_missed_errors, 3 rx_dropped"; false: no losses. */
static bool
card_say(struct loss *p, const json_t *card)
{
	static const char *const key[] = {
		"rx_dropped",	  "rx_missed_errors", "rx_fifo_errors",
		"rx_over_errors", "rx_errors",
	};
	size_t at = 0;

	for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
		uint64_t n = field_number(card, key[i]);

		if (n && at < SAID)
			at += (size_t)snprintf(p->what + at, SAID - at,
					       "%s%" PRIu64 " %s",
					       at ? ", " : "", n, key[i]);
	}
	snprintf(p->where, sizeof p->where, "card %s",
		 field_text(card, "device"));
	return at;
}

static bool
socket_say(struct loss *p, const json_t *source)
{
	const char *address = field_text(source, "address");
	const char *device = field_text(source, "device");
	uint64_t n = field_number(source, "overruns");

	snprintf(p->where, sizeof p->where, "socket");
	snprintf(p->what, sizeof p->what,
		 "%" PRIu64 " overruns of %s%s%s: its buffer was full", n,
		 *device ? device : "", *device && *address ? " " : "",
		 *address  ? address
		 : *device ? ""
			   : "all ports");
	return n;
}

static bool
udp_say(struct loss *p, const json_t *udp)
{
	uint64_t buffer = field_number(udp, "rcvbuf_errors");
	uint64_t all = field_number(udp, "in_errors");

	snprintf(p->where, sizeof p->where, "kernel");
	snprintf(p->what, sizeof p->what,
		 "UDP of all programs: %" PRIu64 " errors, %" PRIu64
		 " of them full buffers",
		 all, buffer);
	return all;
}

/* Prints losses in the queues of CPUs.  Packets that a CPU left for later are not
 * lost, but show that it has too much to do. */
static bool
backlog_say(struct loss *p, const json_t *backlog)
{
	uint64_t n = field_number(backlog, "dropped");

	snprintf(p->where, sizeof p->where, "kernel");
	snprintf(p->what, sizeof p->what,
		 "%" PRIu64 " dropped in full queues of CPUs, which %" PRIu64
		 " times left packets for later",
		 n, field_number(backlog, "squeezed"));
	return n;
}

/* Returns the sentence for a cause; `why` stays for one that is not in the list. */
static const char *
cause_why(const char *const (*met)[2], size_t n, const char *cause,
	  const char *why)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(cause, met[i][0]))
			why = met[i][1];
	}
	return why;
}

static void
cause_say(struct loss *p, const json_t *cause)
{
	static const char *const met[][2] = {
		{ "throttled",
		  "its control group, or one above it, had no CPU time left" },
		{ "stolen", "the host had given its CPUs to others" },
		{ "paged", "the receiver waited for memory from a disk" },
		{ "waited", "the receiver waited for a CPU" },
		{ "writeback",
		  "the receiver waited while the kernel wrote from its cache" },
		{ "busy", "the receiver had no rest" },
	};
	const char *name = field_text(cause, "cause");
	const char *process = field_text(cause, "process");
	const char *why = "nothing held up the receiver";
	double ms = field_real(cause, "lost_ms");

	why = cause_why(met, sizeof met / sizeof *met, name, why);
	snprintf(p->where, sizeof p->where, "overruns");
	p->what[0] = '\0';
	add(p, "%" PRIu64 " when %s", field_number(cause, "overruns"), why);
	if (ms > 0) /* 0: unknown */
		add(p, ", for up to %.0f ms of 2 s", ms);
	if (*process)
		add(p, "; %s had it", process);
}

/* Tells who lost, where several send. */
static bool
sender_say(struct loss *p, const json_t *sender)
{
	const json_t *threads = json_object_get(sender, "threads"), *one;
	const char *address = field_text(sender, "address");
	uint64_t lost = field_number(sender, "packets_lost");
	size_t i;
	int at;

	snprintf(p->where, sizeof p->where, "sender");
	at = snprintf(p->what, sizeof p->what,
		      "%s: %" PRIu64 " of %" PRIu64 " packets lost",
		      *address ? address : "an unknown one", lost,
		      field_number(sender, "packets") + lost);
	json_array_foreach(threads, i, one) {
		if (at < 0 || (size_t)at + 40 > sizeof p->what)
			break;
		at +=
		    snprintf(p->what + at, sizeof p->what - (size_t)at,
			     "%s%" JSON_INTEGER_FORMAT, i ? ", " : "; threads ",
			     json_integer_value(one));
	}
	return lost;
}

/* True for a cause of which the disk is the subject. */
static bool
is_about(const char *cause)
{
	return !strcmp(cause, "stalled") || !strcmp(cause, "slow");
}

/* Tells why packets found no free block. */
static void
no_buffer_say(struct loss *p, const json_t *cause)
{
	static const char *const met[][2] = {
		{ "stalled", "did not answer" },
		{ "gone", "no disk took blocks" },
		{ "memory", "another recording had its memory yet" },
		{ "writeback", "the kernel wrote what was in its cache" },
		{ "slow", "was slower than the others" },
	};
	const char *name = field_text(cause, "cause");
	const char *disk = field_text(cause, "disk");
	const char *why = "the disks took less than came";
	double ms = field_real(cause, "stall_ms");

	why = cause_why(met, sizeof met / sizeof *met, name, why);
	snprintf(p->where, sizeof p->where, "no_buffer");
	p->what[0] = '\0';
	add(p, "%" PRIu64 " when %s%s%s", field_number(cause, "packets"),
	    is_about(name) ? disk : "", is_about(name) ? " " : "", why);
	if (ms > 0) /* 0: unknown */
		add(p, " for up to %.1f s", ms / 1e3);
	if (*disk && !is_about(name))
		add(p, "; %s", disk);
}

static void
losses_tell(const json_t *info, void (*tell)(void *to, const struct loss *p),
	    void *to)
{
	const json_t *kernel = json_object_get(info, "kernel"), *one;
	struct loss p = { .what = "" };
	size_t i;

	json_array_foreach(json_object_get(kernel, "interfaces"), i, one) {
		if (card_say(&p, one))
			tell(to, &p);
	}
	json_array_foreach(json_object_get(info, "senders"), i, one) {
		if (sender_say(&p, one))
			tell(to, &p);
	}
	if (backlog_say(&p, json_object_get(kernel, "backlog")))
		tell(to, &p);
	if (udp_say(&p, json_object_get(kernel, "udp")))
		tell(to, &p);
	json_array_foreach(json_object_get(info, "sources"), i, one) {
		if (socket_say(&p, one))
			tell(to, &p);
	}
	json_array_foreach(json_object_get(info, "overrun_causes"), i, one) {
		cause_say(&p, one);
		tell(to, &p);
	}
	json_array_foreach(json_object_get(info, "no_buffer_causes"), i, one) {
		no_buffer_say(&p, one);
		tell(to, &p);
	}
}

static void
tell_row(void *to, const struct loss *p)
{
	table_cell(to, "%s", p->where);
	table_cell(to, "%s", p->what);
}

void
losses_rows(struct table *t, const json_t *info)
{
	losses_tell(info, tell_row, t);
}

struct line_form {
	const char *name;
	unsigned indent;
};

static void
tell_line(void *to, const struct loss *p)
{
	const struct line_form *line_form = to;

	printf("%*s%s: %s: %s\n", (int)line_form->indent, "", line_form->name,
	       p->where, p->what);
}

void
losses_lines(const json_t *info, unsigned indent)
{
	struct line_form line_form = { field_text(info, "name"), indent };

	losses_tell(info, tell_line, &line_form);
}

enum { COLUMNS = 60, WORST = 5 };

static char
mark(const json_t *column)
{
	if (field_number(column, "packets_absent"))
		return 'x';
	return loss_mark(field_number(column, "packets"),
			 field_number(column, "packets_lost"));
}

static bool
is_lossy(const json_t *map)
{
	const json_t *column;
	size_t i;

	json_array_foreach(map, i, column) {
		if (field_number(column, "packets_lost") ||
		    field_number(column, "packets_absent"))
			return true;
	}
	return false;
}

static void
show_bar(const json_t *map)
{
	const json_t *column = json_array_get(map, 0);
	int64_t span = field_time(column, "to") - field_time(column, "from");
	char bar[COLUMNS + 1] = "", text[UNITS_TEXT];
	size_t i;

	if (json_array_size(map) < COLUMNS) /* its packets have one time */
		return;
	json_array_foreach(map, i, column) {
		if (i < COLUMNS)
			bar[i] = mark(column);
	}
	units_show_span(text, span);
	printf("  lost over time, each %s:  . nothing  - up to 0.1 %%  "
	       "+ up to 1 %%  # more  x not on the disks\n  |%s|\n",
	       text, bar);
}

static void
show_worst(const json_t *worst, bool subs)
{
	static const struct table_column columns[] = {
		{ "most lost from", false },
		{ "in", true },
		{ "packets", true },
		{ "", false },
	};
	struct table *t = table_open(columns, 4);
	char text[UNITS_TEXT];
	const json_t *s;
	size_t i;

	json_array_foreach(worst, i, s) {
		int64_t from = field_time(s, "from");

		if (i == WORST)
			break;
		table_cell(t, "%s", units_show_time(text, from));
		table_cell(t, "%s",
			   units_show_span(text, field_time(s, "to") - from));
		table_cell(t, "%" PRIu64, field_number(s, "packets_lost"));
		if (json_is_true(json_object_get(s, "absent")))
			table_cell(t, "not on the disks");
		else if (subs)
			table_cell(t, "substream %" PRIu64,
				   field_number(s, "sub"));
		else
			table_cell(t, "%s", "");
	}
	if (json_array_size(worst))
		table_print(t, 2, stdout);
	table_close(t);
}

void
loss_show(const json_t *info)
{
	const json_t *map = json_object_get(info, "loss_map");
	const json_t *subs = json_object_get(info, "subs");

	if (!is_lossy(map))
		return;
	show_bar(map);
	show_worst(json_object_get(info, "loss_worst"),
		   json_array_size(subs) > 1);
}
