/* SPDX-License-Identifier: MIT */
/*
 * A moment is an event (events.c) of which only what plots show is left, with
 * the time in `at`; the page reads both with the same function.  It is kept as
 * text: with hundreds of streams a moment takes tens of kilobytes, and objects
 * of jansson ten times that.
 */
#include "web/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* An object with these members of another; NULL ends the list. */
static json_t *
members(const json_t *of, const char *const names[])
{
	json_t *some = json_object();

	for (; *names; names++)
		json_object_set(some, *names, json_object_get(of, *names));
	return some;
}

static json_t *
each(const json_t *list, const char *const names[])
{
	json_t *all = json_array();
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		json_array_append_new(all, members(one, names));
	return all;
}

static char *
moment_make(const struct figures *f)
{
	static const char *const recording[] = { "stream", "rate", "blocks",
						 "clock_s", NULL };
	static const char *const disk[] = { "path", "rate", NULL };
	static const char *const stream[] = { "name", "packets", "packets_lost",
					      "drops", NULL };
	const json_t *status = f->status;
	json_t *all, *some;
	char *text;

	some = json_pack("{s:o, s:o, s:O}", "recordings",
			 each(json_object_get(status, "recordings"), recording),
			 "disks", each(json_object_get(status, "disks"), disk),
			 "memory", json_object_get(status, "memory"));
	all = json_pack("{s:f, s:o, s:o}", "at", (double)clock_now() / 1e9,
			"status", some, "streams", each(f->streams, stream));
	text = all ? json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(13))
		   : NULL;
	json_decref(all);
	return text;
}

int
history_wait(const struct history *h)
{
	int64_t left = h->at + HISTORY_STEP_NS - clock_steady();

	return h->at && left > 0 ? (int)(left / 1000000) + 1 : 0;
}

void
history_step(struct history *h, struct figures *figures)
{
	if (history_wait(h))
		return;
	h->at = clock_steady();
	figures_refresh(figures);
	if (!figures->up)
		return;
	free(h->moment[h->next]);
	h->moment[h->next] = moment_make(figures);
	h->next = (h->next + 1) % HISTORY_MOST;
}

char *
history_text(const struct history *h)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);
	bool more = false;

	if (!to)
		return NULL;
	putc('[', to);
	for (unsigned i = 0; i < HISTORY_MOST; i++) {
		const char *one = h->moment[(h->next + i) % HISTORY_MOST];

		if (!one)
			continue;
		fprintf(to, "%s%s", more ? "," : "", one);
		more = true;
	}
	putc(']', to);
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}

void
history_clear(struct history *h)
{
	for (unsigned i = 0; i < HISTORY_MOST; i++)
		free(h->moment[i]);
}
