/* SPDX-License-Identifier: MIT */
/*
 * A moment is an event (events.c) of which only what plots show is left, with
 * the time in `at`; the page reads both with the same function.  It is kept as
 * text: with hundreds of streams a moment takes tens of kilobytes, and objects
 * of jansson ten times that.  Of phases there are as many as the page keeps: 256
 * of them take 10 kB.
 */
#include "web/history.h"

#include <math.h>
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

/* Tells whether a channel has tones. */
static bool
has_tones(const json_t *channel)
{
	return json_array_size(json_object_get(channel, "tones"));
}

/* Keeps of a channel the phases of its first tones, to a tenth of a degree. */
static json_t *
channel_kept(const json_t *channel, unsigned most)
{
	static const char *const names[] = { "sub", "thread", "channel", NULL };
	json_t *kept = members(channel, names), *tones = json_array();
	const json_t *tone;
	size_t i;

	json_array_foreach(json_object_get(channel, "tones"), i, tone) {
		double phase =
		    json_number_value(json_object_get(tone, "phase"));

		if (i == most)
			break;
		json_array_append_new(
		    tones,
		    json_pack("{s:O, s:f}", "hz", json_object_get(tone, "hz"),
			      "phase", round(phase * 10) / 10));
	}
	json_object_set_new(kept, "tones", tones);
	return kept;
}

static unsigned
channels_with_tones(const json_t *streams)
{
	const json_t *stream, *channel;
	unsigned n = 0;
	size_t i, k;

	json_array_foreach(streams, i, stream) {
		json_array_foreach(json_object_get(stream, "channels"), k,
				   channel) {
			n += has_tones(channel);
		}
	}
	return n;
}

static json_t *
streams_kept(const json_t *streams)
{
	static const char *const names[] = { "name",  "packets", "packets_lost",
					     "drops", "subs",	 NULL };
	enum { TONES = 256 }; /* as in page.html */
	json_t *all = json_array(), *kept, *channels;
	unsigned n = channels_with_tones(streams), left = TONES;
	unsigned each = n && n < TONES ? TONES / n : 1;
	const json_t *stream, *channel;
	size_t i, k;

	json_array_foreach(streams, i, stream) {
		kept = members(stream, names);
		channels = json_array();
		json_array_foreach(json_object_get(stream, "channels"), k,
				   channel) {
			if (!left || !has_tones(channel))
				continue;
			left--;
			json_array_append_new(channels,
					      channel_kept(channel, each));
		}
		json_object_set_new(kept, "channels", channels);
		json_array_append_new(all, kept);
	}
	return all;
}

static char *
moment_make(const struct figures *f)
{
	static const char *const recording[] = { "stream", "rate", "blocks",
						 "clock_s", NULL };
	static const char *const disk[] = { "path", "rate", NULL };
	const json_t *status = f->status;
	json_t *all, *some;
	char *text;

	some = json_pack("{s:o, s:o, s:O}", "recordings",
			 each(json_object_get(status, "recordings"), recording),
			 "disks", each(json_object_get(status, "disks"), disk),
			 "memory", json_object_get(status, "memory"));
	all = json_pack("{s:f, s:o, s:o}", "at", (double)clock_now() / 1e9,
			"status", some, "streams", streams_kept(f->streams));
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
