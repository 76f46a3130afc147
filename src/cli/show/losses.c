/* SPDX-License-Identifier: MIT */
/*
 * Each loss is shown with its place, because the remedy differs: a larger ring
 * for the card, a larger buffer or more receivers for the socket.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/show/field.h"
#include "cli/show/losses.h"

enum { SAID = 240 };

struct place {
	char where[80], what[SAID];
};

/* Writes "12 rx_missed_errors, 3 rx_dropped"; false: no losses. */
static bool
card_say(struct place *p, const json_t *card)
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
socket_say(struct place *p, const json_t *source)
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
udp_say(struct place *p, const json_t *udp)
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

static void
losses_tell(const json_t *info, void (*tell)(void *to, const struct place *p),
	    void *to)
{
	const json_t *kernel = json_object_get(info, "kernel"), *one;
	struct place p = { .what = "" };
	size_t i;

	json_array_foreach(json_object_get(kernel, "interfaces"), i, one) {
		if (card_say(&p, one))
			tell(to, &p);
	}
	if (udp_say(&p, json_object_get(kernel, "udp")))
		tell(to, &p);
	json_array_foreach(json_object_get(info, "sources"), i, one) {
		if (socket_say(&p, one))
			tell(to, &p);
	}
}

static void
tell_row(void *to, const struct place *p)
{
	table_cell(to, "%s", p->where);
	table_cell(to, "%s", p->what);
}

void
losses_rows(struct table *t, const json_t *info)
{
	losses_tell(info, tell_row, t);
}

struct line {
	const char *name;
	unsigned indent;
};

static void
tell_line(void *to, const struct place *p)
{
	const struct line *line = to;

	printf("%*s%s: %s: %s\n", (int)line->indent, "", line->name, p->where,
	       p->what);
}

void
losses_lines(const json_t *info, unsigned indent)
{
	struct line line = { field_text(info, "name"), indent };

	losses_tell(info, tell_line, &line);
}
