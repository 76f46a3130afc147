/* SPDX-License-Identifier: MIT */
/*
 * A recording ordered over VSI-S is an ordinary order: it shares streams with
 * scans of the schedule, `spate status` lists it, and `spate stop` ends it.
 *
 * The numbers are those of `spate info`, of recordings that run and of those
 * that have ended since spated began; of older ones those of `spate ls`.
 *
 * A recording of several streams has parts, NAME_ds<stream>.  "_ds" always
 * begins a part, since names that contain it are refused.
 *
 * Functions that cannot fail leave their answer empty when spated is away:
 * vsi_command() then answers with that (vsi_host::away).
 */
#include "vsi/vsi_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "store/disk/layout.h"
#include "store/list/entry.h"
#include "vsi/vsi_streams.h"

/* ---- facts ----------------------------------------------------------- */

/* How long the last answer is kept, so that frequent queries cost little. */
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
rows_add(struct vsi_facts *f, struct spated *s, const char *name)
{
	char parts[VSI_NAME + 8];
	struct fault fault = { 0 };
	json_t *page, *row;
	struct entry e;
	size_t i;

	/* Any other text could be a pattern. */
	if (!layout_name_good(name))
		return;
	snprintf(parts, sizeof parts, "%s_ds*", name);
	if (spated_ask(s, "ls",
		       json_pack("{s:[s, s]}", "patterns", name, parts), -1,
		       &page, &fault))
		return;
	json_array_foreach(json_object_get(page, "rows"), i, row) {
		if (!entry_from_row(&e, row))
			entry_add(f, &e);
	}
	json_decref(page);
}

/* Asks for the recordings of that name which run, or ended since spated began;
 * a new reference, or NULL. */
static json_t *
info_ask(const struct vsi_asker *a, const char *name)
{
	struct fault fault = { 0 };
	json_t *info;

	spated_ask(a->spated, "info", json_pack("{s:s}", "name", name), -1,
		   &info, &fault);
	return info;
}

static void
host_facts(void *arg, const char *name, struct vsi_facts *f)
{
	struct vsi_asker *a = arg;
	int64_t now = clock_steady();
	json_t *info, *one;
	size_t i;

	if (now < a->kept.until && !strcmp(a->kept.name, name)) {
		*f = a->kept.f;
		return;
	}
	*f = (struct vsi_facts){ .known = false };
	info = info_ask(a, name);
	json_array_foreach(json_object_get(info, "recordings"), i, one) {
		if (is_of(json_string_value(json_object_get(one, "name")),
			  name))
			info_add(f, one);
	}
	json_decref(info);
	if (!f->known && !spated_away(a->spated))
		rows_add(f, a->spated, name);
	a->kept.f = *f;
	a->kept.until = spated_away(a->spated) ? 0 : now + KEEP;
	snprintf(a->kept.name, sizeof a->kept.name, "%.127s", name);
}

static bool
host_runs(void *arg, const char *name)
{
	const struct vsi_asker *a = arg;
	json_t *info = info_ask(a, name), *one;
	bool runs = false;
	size_t i;

	json_array_foreach(json_object_get(info, "recordings"), i, one) {
		const char *state =
		    json_string_value(json_object_get(one, "state"));

		runs |=
		    is_of(json_string_value(json_object_get(one, "name")),
			  name) &&
		    (!strcmp(state, "armed") || !strcmp(state, "recording"));
	}
	json_decref(info);
	return runs;
}

/* ---- recording ------------------------------------------------------- */

/* Asks for all configured streams; a new reference, or NULL with a fault. */
static json_t *
configured_ask(const struct vsi_asker *a, struct fault *fault)
{
	json_t *answer, *streams;

	if (spated_ask(a->spated, "streams", json_object(), -1, &answer, fault))
		return NULL;
	streams = json_incref(json_object_get(answer, "streams"));
	json_decref(answer);
	return streams;
}

/* Makes the list of streams for `set`.  0, or -errno with a fault. */
static int
list_make(json_t **list, const struct vsi_asker *a,
	  const struct vsi_settings *set, struct fault *fault)
{
	json_t *configured = configured_ask(a, fault);
	int err = configured
		      ? vsi_streams_list(list, a->conf, configured, set, fault)
		      : -EIO;

	json_decref(configured);
	return err;
}

/* Asks what the streams for `set` would be; *answer as `streams` has it. */
static int
settle_ask(const struct vsi_asker *a, const struct vsi_settings *set,
	   json_t **answer, struct fault *fault)
{
	json_t *list;
	int err = list_make(&list, a, set, fault);

	*answer = NULL;
	return err ? err
		   : spated_ask(a->spated, "streams",
				json_pack("{s:o}", "streams", list), -1, answer,
				fault);
}

static int
host_settle(void *arg, const struct vsi_settings *set, struct fault *fault)
{
	json_t *answer;
	int err = settle_ask(arg, set, &answer, fault);

	json_decref(answer);
	return err;
}

static int
host_record(void *arg, char name[VSI_NAME], bool rename, struct fault *fault)
{
	struct vsi_asker *a = arg;
	json_t *list, *answer;
	const char *now;
	int err = list_make(&list, a, &a->v->set, fault);

	if (err)
		return err;
	err = spated_ask(a->spated, "record",
			 json_pack("{s:s, s:o, s:b, s:b, s:b, s:s}", "name",
				   name, "streams", list, "rename", rename,
				   "share", 1, "wait", 0, "by", a->by),
			 -1, &answer, fault);
	if (err)
		return err;
	a->kept.until = 0;
	now = json_string_value(json_object_get(answer, "name"));
	if (now)
		snprintf(name, VSI_NAME, "%.127s", now);
	json_decref(answer);
	return 0;
}

static void
host_stop(void *arg, const char *name)
{
	struct vsi_asker *a = arg;
	struct fault fault = { 0 };
	json_t *answer;

	a->kept.until = 0;
	spated_ask(a->spated, "stop",
		   json_pack("{s:s, s:b, s:b, s:s}", "name", name, "recording",
			     1, "wait", 0, "by", a->by),
		   -1, &answer, &fault);
	json_decref(answer);
}

/* ---- disks and streams ----------------------------------------------- */

static double
streams_rate(const json_t *answer)
{
	const json_t *stream;
	double rate = 0;
	size_t i;

	json_array_foreach(json_object_get(answer, "streams"), i, stream)
		rate += (double)number(stream, "rate");
	return rate;
}

static void
host_space(void *arg, struct vsi_space *s)
{
	const struct vsi_asker *a = arg;
	struct fault fault = { 0 };
	json_t *status, *streams;
	const json_t *space;

	*s = (struct vsi_space){ .disks = 0 };
	if (spated_ask(a->spated, "status", json_object(), -1, &status, &fault))
		return;
	space = json_object_get(status, "space");
	s->total = number(space, "total");
	s->free = number(space, "free");
	s->disks = (unsigned)number(space, "disks");
	s->recordings =
	    number(json_object_get(status, "catalogue"), "recordings");
	if (!settle_ask(a, &a->v->set, &streams, &fault))
		s->rate = streams_rate(streams);
	if (s->rate <= 0)
		s->rate = 8 * json_real_value(json_object_get(space, "rate"));
	json_decref(streams);
	json_decref(status);
}

/* Asks when the first is wanted. */
static const char *
host_disk(void *arg, unsigned n)
{
	struct vsi_asker *a = arg;
	struct fault fault = { 0 };
	json_t *answer, *disk;
	size_t i;

	if (!n) {
		json_decref(a->disks);
		a->disks = json_array();
		spated_ask(a->spated, "disks", json_object(), -1, &answer,
			   &fault);
		json_array_foreach(json_object_get(answer, "disks"), i, disk) {
			const char *state =
			    json_string_value(json_object_get(disk, "state"));

			if (state && strcmp(state, "leaving"))
				json_array_append(
				    a->disks, json_object_get(disk, "path"));
		}
		json_decref(answer);
	}
	return json_string_value(json_array_get(a->disks, n));
}

/* Describes the first stream. */
static const char *
host_format(void *arg, uint32_t *payload, uint32_t *prefix, uint16_t *port)
{
	struct vsi_asker *a = arg;
	struct fault fault = { 0 };
	json_t *configured = configured_ask(a, &fault);
	const json_t *stream =
	    vsi_streams_find(configured, a->conf->streams.text[0]);
	const char *listen = json_string_value(
	    json_array_get(json_object_get(stream, "listen"), 0));
	size_t host;

	*payload = (uint32_t)number(stream, "payload");
	*prefix = (uint32_t)number(stream, "prefix");
	*port = listen ? vsi_streams_port(listen, &host) : 0;
	a->format[0] = '\0';
	text_keep(a->format, sizeof a->format, stream, "format");
	json_decref(configured);
	return a->format;
}

/* ---- sending --------------------------------------------------------- */

#define PATIENCE "10s" /* for m5copy to connect */
#define NOTHING_LEFT                                                           \
	"has nothing of what was chosen" /* a text of flow/send/sender.c */

/* Writes the range as `send` takes it: "A..B", "A.." or "..B". */
static void
range_set(json_t *request, const struct vsi_send *s)
{
	char text[64], from[24] = "", to[24] = "";

	if (!s->from && !s->to)
		return;
	if (s->from)
		snprintf(from, sizeof from, "%llu",
			 (unsigned long long)s->from);
	if (s->to)
		snprintf(to, sizeof to, "%llu", (unsigned long long)s->to);
	snprintf(text, sizeof text, "%s..%s", from, to);
	json_object_set_new(request, "bytes", json_string(text));
}

static int
host_send(void *arg, const struct vsi_send *s, unsigned *id,
	  struct fault *fault)
{
	struct vsi_asker *a = arg;
	json_t *request, *answer;
	char to[600];
	int err;

	if (s->host)
		snprintf(to, sizeof to, "tcp://%s:%u", s->host, s->port);
	else
		snprintf(to, sizeof to, "file:%s", s->path);
	request = json_pack("{s:s, s:s, s:b, s:b, s:s, s:b}", "name", s->name,
			    "to", to, "plain", s->plain, "follow", 1,
			    "patience", PATIENCE, "fd", !s->host);
	range_set(request, s);
	err = spated_ask(a->spated, "send", request, s->host ? -1 : s->fd,
			 &answer, fault);
	if (!s->host)
		close(s->fd);
	*id = (unsigned)number(
	    json_array_get(json_object_get(answer, "sends"), 0), "id");
	a->life = spated_life(a->spated);
	json_decref(answer);
	return err;
}

/* A transfer is over with the spated that it was ordered from. */
static bool
is_gone(const struct vsi_asker *a, struct vsi_sent *s)
{
	if (a->life == spated_life(a->spated))
		return false;
	s->failed = true;
	snprintf(s->why, sizeof s->why,
		 "spated was started anew, which ended it");
	return true;
}

static void
host_sent(void *arg, unsigned id, struct vsi_sent *s)
{
	const struct vsi_asker *a = arg;
	struct fault fault = { 0 };
	const char *state, *why;
	const json_t *send;
	json_t *answer;
	int err;

	*s = (struct vsi_sent){ .runs = false };
	err =
	    spated_ask(a->spated, "sends", json_pack("{s:i}", "send", (int)id),
		       -1, &answer, &fault);
	/* Nobody knows: vsi_command() answers with that. */
	s->runs = spated_away(a->spated);
	if (s->runs || is_gone(a, s))
		goto out;
	if (err) {
		s->failed = true;
		snprintf(s->why, sizeof s->why, "%.300s", fault.what);
		goto out;
	}
	send = json_array_get(json_object_get(answer, "sends"), 0);
	state = json_string_value(json_object_get(send, "state"));
	why = json_string_value(json_object_get(send, "why"));
	s->bytes = number(send, "bytes");
	s->runs = json_is_null(json_object_get(send, "ended"));
	s->failed = !s->runs && (!state || strcmp(state, "done"));
	s->nothing = !s->runs && why && strstr(why, NOTHING_LEFT);
	if (!s->runs)
		snprintf(s->why, sizeof s->why, "%.300s", why ? why : "");
out:
	json_decref(answer);
}

static void
host_unsend(void *arg, unsigned id)
{
	const struct vsi_asker *a = arg;
	struct fault fault = { 0 };
	json_t *answer;

	if (a->leaving)
		return;
	spated_ask_only(a->spated, a->life, "stop",
			json_pack("{s:i, s:b, s:s}", "send", (int)id, "wait", 0,
				  "by", a->by),
			&answer, &fault);
	json_decref(answer);
}

static bool
host_inbox(void *arg, uint16_t port)
{
	const struct option_texts *listen = ((struct vsi_asker *)arg)->inbox;
	size_t host;

	for (unsigned i = 0; i < listen->n; i++) {
		if (vsi_streams_port(listen->text[i], &host) == port)
			return true;
	}
	return false;
}

static const char *
host_away(void *arg)
{
	return spated_away(((struct vsi_asker *)arg)->spated);
}

/* ---- the host -------------------------------------------------------- */

void
vsi_host_set(struct vsi_host *host, struct vsi_asker *a)
{
	host->record = host_record;
	host->stop = host_stop;
	host->runs = host_runs;
	host->facts = host_facts;
	host->space = host_space;
	host->disk = host_disk;
	host->settle = host_settle;
	host->format = host_format;
	host->send = host_send;
	host->sent = host_sent;
	host->unsend = host_unsend;
	host->inbox = host_inbox;
	host->away = host_away;
	host->files = &a->conf->files;
	host->allow = &a->conf->allow;
	host->version = a->conf->version;
	host->arg = a;
}

void
vsi_host_clear(struct vsi_asker *a)
{
	json_decref(a->disks);
	a->disks = NULL;
}
