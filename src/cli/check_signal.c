/* SPDX-License-Identifier: MIT */
/*
 * The quality file has a line for each channel and interval.  Most say that all
 * is well, and these are only counted: of a day they are a hundred megabytes.
 */
#include "cli/check_signal.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/show/field.h"
#include "signal/finding.h"
#include "store/repair/quality_file.h"

enum { TIME = 64, SENTENCE = 320 };

/* A channel that had a finding. */
struct signal_channel {
	uint64_t sub, thread, channel;
	unsigned lines;
	struct signal_channel *next;
};

struct signal_check {
	unsigned intervals;
	char time[TIME]; /* of the last line */
	struct {
		char from[TIME], to[TIME];
		unsigned channels, most; /* most: lines of a channel */
		struct signal_channel *channel;
	} found[FINDING_COUNT];
	bool no_memory;
};

static void
channel_count(struct signal_check *c, enum finding f, const json_t *line)
{
	struct signal_channel like = { .sub = field_number(line, "sub"),
				       .thread = field_number(line, "thread"),
				       .channel =
					   field_number(line, "channel") };
	struct signal_channel *n = c->found[f].channel;

	while (n && (n->sub != like.sub || n->thread != like.thread ||
		     n->channel != like.channel))
		n = n->next;
	if (!n) {
		n = malloc(sizeof *n);
		if (!n) {
			c->no_memory = true;
			return;
		}
		*n = like;
		n->next = c->found[f].channel;
		c->found[f].channel = n;
		c->found[f].channels++;
	}
	if (++n->lines > c->found[f].most)
		c->found[f].most = n->lines;
}

static void
findings_count(struct signal_check *c, const json_t *line)
{
	const json_t *list = json_object_get(line, "findings"), *name;
	size_t i;

	json_array_foreach(list, i, name) {
		const char *text = json_string_value(name);
		unsigned f = 0;

		while (f < FINDING_COUNT && text &&
		       strcmp(finding_name(f), text) != 0)
			f++;
		if (f == FINDING_COUNT || !text)
			continue; /* of a newer spate */
		if (!c->found[f].from[0])
			memcpy(c->found[f].from, c->time, TIME);
		memcpy(c->found[f].to, c->time, TIME);
		channel_count(c, f, line);
	}
}

/* Sees from the text of a line whether another interval begins. */
static void
interval_count(struct signal_check *c, const char *text)
{
	static const char key[] = "\"time\":\"";
	const char *at = strstr(text, key);
	size_t n;

	if (!at)
		return;
	at += sizeof key - 1;
	n = strcspn(at, "\"");
	if (n >= TIME || (!strncmp(at, c->time, n) && !c->time[n]))
		return;
	memcpy(c->time, at, n);
	c->time[n] = '\0';
	c->intervals++;
}

static void
line_count(void *arg, const char *text)
{
	struct signal_check *c = arg;
	json_t *line;

	interval_count(c, text);
	if (strstr(text, "\"findings\":[]"))
		return;
	line = json_loads(text, 0, NULL);
	findings_count(c, line);
	json_decref(line);
}

static void
found_say(struct signal_check *c, enum finding f,
	  void (*say)(void *arg, const char *sentence), void *arg)
{
	const struct signal_channel *first = c->found[f].channel;
	bool once = !strcmp(c->found[f].from, c->found[f].to);
	char text[SENTENCE];

	while (first->next)
		first = first->next;
	snprintf(text, sizeof text,
		 "signal: %s in %u channels (substream %" PRIu64
		 ", thread %" PRIu64 ", channel %" PRIu64 "%s), %s%s%s, "
		 "%u of %u intervals: %s",
		 finding_name(f), c->found[f].channels, first->sub,
		 first->thread, first->channel,
		 c->found[f].channels > 1 ? ", ..." : "", c->found[f].from,
		 once ? "" : " to ", once ? "" : c->found[f].to,
		 c->found[f].most, c->intervals, finding_sentence(f));
	say(arg, text);
}

int
check_signal(const struct disks *disks, const char *name,
	     void (*say)(void *arg, const char *sentence), void *arg)
{
	struct signal_check *c = calloc(1, sizeof *c);
	int err = -ENOMEM;

	if (!c)
		return err;
	err = quality_file_read(disks, name, line_count, c);
	for (unsigned f = 0; f < FINDING_COUNT; f++) {
		struct signal_channel *n;

		if (c->found[f].channel && !err)
			found_say(c, f, say, arg);
		while ((n = c->found[f].channel)) {
			c->found[f].channel = n->next;
			free(n);
		}
	}
	if (c->no_memory)
		err = -ENOMEM;
	free(c);
	return err;
}
