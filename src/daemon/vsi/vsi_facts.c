/* SPDX-License-Identifier: MIT */
/*
 * The numbers are those of `spate info`: this file reads the same JSON, of
 * sessions that run and of those that have ended.
 *
 * A recording of several streams has parts, NAME_ds<stream>.  "_ds" always
 * begins a part, since names that contain it are refused.
 */
#include "daemon/vsi/vsi_facts.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "daemon/sessions/report.h"

enum { KEEP = 100000000 };

static uint64_t
number(const json_t *of, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(of, key));
}

static void
text_keep(char *to, size_t bytes, const json_t *of, const char *key)
{
	const char *text = json_string_value(json_object_get(of, key));

	if (text)
		snprintf(to, bytes, "%s", text);
}

static void
times_add(struct vsi_facts *f, int64_t start, int64_t end)
{
	if (start && (!f->start_ns || start < f->start_ns))
		f->start_ns = start;
	if (end > f->end_ns)
		f->end_ns = end;
}

static int64_t
time_of(const json_t *of, const char *key)
{
	const char *text = json_string_value(json_object_get(of, key));
	int64_t ns;

	return text && units_time(text, 0, &ns) == 0 ? ns : 0;
}

/* Takes the data's own times if they are known, else the times of arrival. */
static void
runs_add(struct vsi_facts *f, const json_t *info)
{
	const json_t *runs = json_object_get(info, "runs"), *run;
	size_t i;

	json_array_foreach(runs, i, run)
		times_add(f, time_of(run, "start"), time_of(run, "end"));
	if (!json_array_size(runs))
		times_add(f, time_of(info, "start"), time_of(info, "end"));
}

static void
info_add(struct vsi_facts *f, const json_t *info)
{
	const json_t *drops = json_object_get(info, "drops"), *drop;
	const json_t *blocks = json_object_get(info, "blocks");
	double total = (double)number(blocks, "total");
	const char *key;

	f->known = true;
	f->received += number(info, "packets");
	f->lost += number(info, "packets_lost");
	f->reordered += number(info, "packets_reordered");
	json_object_foreach((json_t *)drops, key, drop) {
		if (strcmp(key, "before_start")) /* wanted by nobody */
			f->dropped += (uint64_t)json_integer_value(drop);
	}
	f->bytes += number(info, "bytes");
	f->payload = (uint32_t)number(info, "payload");
	f->rate += json_real_value(json_object_get(info, "rate"));
	if (total > 0 && 1 - (double)number(blocks, "free") / total > f->queue)
		f->queue = 1 - (double)number(blocks, "free") / total;
	f->failed |= json_object_get(info, "why") != NULL;
	text_keep(f->why, sizeof f->why, info, "why");
	text_keep(f->format, sizeof f->format, info, "format");
	runs_add(f, info);
}

/* Tells whether `has` is the recording `name` or a part of it. */
static bool
is_of(const char *has, const char *name)
{
	size_t length = strlen(name);

	return has && !strncmp(has, name, length) &&
	       (!has[length] || !strncmp(has + length, "_ds", 3));
}

static void
entry_add(struct vsi_facts *f, const struct entry *e)
{
	uint64_t packets = e->packets + e->missing;

	f->known = true;
	f->unread |= e->state == ENTRY_UNREAD;
	if (e->state == ENTRY_FAILED) {
		f->failed = true;
		snprintf(f->why, sizeof f->why, "%s", e->why);
	}
	f->received += e->packets;
	f->lost += e->missing;
	f->bytes += e->bytes;
	if (packets)
		f->payload = (uint32_t)(e->bytes / packets);
	times_add(f, e->start_ns, e->end_ns);
	snprintf(f->format, sizeof f->format, "%.15s", e->format);
}

static void
catalogue_add(struct vsi_facts *f, struct daemon *d, const char *name)
{
	struct catalogue *c = keeper_catalogue(d->r.keeper);
	const struct option_texts *streams = &d->r.setup.vsi.streams;
	char part[SESSION_NAME];
	struct entry e;

	if (catalogue_find(c, name, &e))
		entry_add(f, &e);
	for (unsigned i = 0; i < streams->n; i++) {
		snprintf(part, sizeof part, "%.80s_ds%.70s", name,
			 streams->text[i]);
		if (catalogue_find(c, part, &e))
			entry_add(f, &e);
	}
}

void
vsi_facts_take(struct vsi_facts_kept *kept, struct daemon *d, const char *name,
	       struct vsi_facts *f)
{
	int64_t now = clock_steady();
	json_t *info;
	size_t i;

	if (now < kept->until && !strcmp(kept->name, name)) {
		*f = kept->f;
		return;
	}
	*f = (struct vsi_facts){ .known = false };
	for (struct session *s = d->r.sessions; s; s = s->next) {
		if (strcmp(s->group, name) && !is_of(s->name, name))
			continue;
		info = report_info(s);
		info_add(f, info);
		json_decref(info);
	}
	json_array_foreach(d->r.ended, i, info) {
		if (is_of(json_string_value(json_object_get(info, "name")),
			  name))
			info_add(f, info);
	}
	if (!f->known)
		catalogue_add(f, d, name);
	kept->f = *f;
	kept->until = now + KEEP;
	snprintf(kept->name, sizeof kept->name, "%.127s", name);
}
