/* SPDX-License-Identifier: MIT */
/*
 * Reports where a recording's packets came from, to show the one silent port of
 * hundreds, or the one interface of two that loses packets.
 *
 *   kernel    losses before any socket; see kernel.h
 *   sources   one entry per socket; with several substreams one entry per
 *             interface, because every port is in `subs`
 *   subs      one entry per substream
 *   silent    substreams that bring nothing, by port
 *
 * A sender may pause between packets, so a substream is silent if it has
 * brought nothing at all, or nothing for QUIET.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/sessions/report.h"

enum { BOUND = 64 /* interfaces of a stream, at most */ };

#define QUIET INT64_C(5000000000) /* ns */

/* Sums over all sources that feed one substream, and all of its runs. */
struct origin {
	char name[72]; /* address of the first source */
	uint64_t overruns;
	char sender[RECEIVE_SENDER];
	uint64_t lost;
	unsigned runs;
	int64_t first_ns, last_ns;
	int64_t arrived_ns; /* UTC ns of the last packet's arrival */
};

static json_t *
integer(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* ---- sources --------------------------------------------------------- */

static bool
same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Returns the entry of the list that counts this source, and adds one if there
 * is none. */
static json_t *
source_entry(json_t *list, const struct receive_counts *c, bool by_device)
{
	json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry) {
		const char *device =
		    json_string_value(json_object_get(entry, "device"));

		if (by_device && same(device, c->device))
			return entry;
	}
	entry = json_pack("{s:s?, s:s?, s:i, s:i, s:s?}", "address",
			  by_device ? NULL : c->address, "device", c->device,
			  "datagrams", 0, "overruns", 0, "sender",
			  c->sender[0] ? c->sender : NULL);
	json_array_append_new(list, entry);
	return entry;
}

static void
entry_add(json_t *entry, const char *key, uint64_t n)
{
	json_int_t is = json_integer_value(json_object_get(entry, key));

	json_object_set_new(entry, key, integer((uint64_t)is + n));
}

static json_t *
sources_json(struct supply *from)
{
	bool by_device = from->in->stream->plan.subs > 1;
	unsigned n = reception_sources(from->in), sub;
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++) {
		struct receive_counts c;
		json_t *entry;

		supply_look(from, i, &c, &sub);
		entry = source_entry(list, &c, by_device);
		entry_add(entry, "datagrams", c.datagrams);
		entry_add(entry, "overruns", c.overruns);
	}
	return list;
}

/* Returns the kernel's losses on the interfaces that the sources are bound to;
 * without any, on all interfaces. */
static json_t *
kernel_json(struct session *s)
{
	const char *bound[BOUND];
	unsigned n = reception_sources(s->in), devices = 0, sub;

	for (unsigned i = 0; i < n && devices < BOUND; i++) {
		struct receive_counts c;
		unsigned k = 0;

		supply_look(s->supply, i, &c, &sub);
		while (k < devices && !same(bound[k], c.device))
			k++;
		if (c.device && k == devices)
			bound[devices++] = c.device;
	}
	return kernel_lost(&s->kernel, bound, devices);
}

/* Sets the kernel's losses.  The machine's counters go on, so a recording's are
 * kept when it ends, and every later report is the same. */
static void
kernel_set(struct session *s, json_t *to)
{
	if (s->state < SESSION_CLOSING) {
		json_object_set_new(to, "kernel", kernel_json(s));
		return;
	}
	if (!s->kernel_lost)
		s->kernel_lost = kernel_json(s);
	json_object_set(to, "kernel", s->kernel_lost);
}

/* ---- substreams ------------------------------------------------------ */

static struct origin *
origins_find(struct supply *from)
{
	struct origin *list = calloc(from->in->stream->plan.subs, sizeof *list);
	unsigned n = reception_sources(from->in), sub;

	for (unsigned i = 0; list && i < n; i++) {
		struct receive_counts c;
		struct origin *o;

		supply_look(from, i, &c, &sub);
		o = &list[sub];
		o->overruns += c.overruns;
		if (!o->name[0] && c.address)
			snprintf(o->name, sizeof o->name, "%s", c.address);
		if (!o->sender[0])
			memcpy(o->sender, c.sender, sizeof o->sender);
	}
	return list;
}

static void
runs_find(struct output *o, struct origin *list)
{
	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; i < o->runs; i++) {
		const struct output_run *r = &o->run[i];
		struct origin *to = &list[r->sub];

		to->lost += report_run_lost(r);
		if (!to->runs++)
			to->first_ns = report_run_first(r);
		to->last_ns = report_run_last(r);
		to->arrived_ns = r->last_ns;
	}
	pthread_mutex_unlock(&o->lock);
}

/* Returns one substream, with the keys of recording_info and those that only
 * the daemon knows. */
static json_t *
sub_json(struct session *s, unsigned i, const struct origin *o)
{
	struct output_sub *sub = &s->output->sub[i];
	struct counts c;

	if (s->sub)
		supply_sub_counts(s->supply, i, &c);
	else
		supply_counts(s->supply, s->part, &c);
	c.datagrams += sub->before;
	c.placed += sub->before;
	return json_pack(
	    "{s:i, s:s?, s:s?, s:I, s:I, s:I, s:I, s:i, s:I, "
	    "s:o, s:o, s:o}",
	    "sub", (int)i, "address", o->name[0] ? o->name : NULL, "sender",
	    o->sender[0] ? o->sender : NULL, "datagrams",
	    (json_int_t)c.datagrams, "packets",
	    (json_int_t)(c.placed - atomic_load(&sub->lost_packets)),
	    "packets_lost", (json_int_t)(o->lost + c.outside), "bytes",
	    (json_int_t)atomic_load(&sub->bytes), "runs", (int)o->runs,
	    "overruns", (json_int_t)o->overruns, "start",
	    report_time(o->first_ns), "end", report_time(o->last_ns),
	    "arrived_end", report_time(o->arrived_ns));
}

/* Returns the port of a substream's address, "41007" of "0.0.0.0:41007", or its
 * number. */
static json_t *
sub_name(const struct origin *o, unsigned i)
{
	const char *colon = strrchr(o->name, ':');
	char number[16];

	if (colon && colon[1])
		return json_string(colon + 1);
	snprintf(number, sizeof number, "%u", i);
	return json_string(number);
}

static bool
sub_silent(const struct session *s, unsigned i, int64_t now)
{
	const struct session_sub *sub = &s->sub[i];

	if (!sub->datagrams)
		return true;
	return s->state <= SESSION_RECORDING && now - sub->last > QUIET;
}

/* Lists the silent substreams; none if there is only one. */
static json_t *
silent_json(struct session *s, const struct origin *list, int64_t now)
{
	json_t *silent = json_array();

	if (!s->sub)
		return silent;
	for (unsigned i = 0; i < s->stream->plan.subs; i++) {
		if (sub_silent(s, i, now))
			json_array_append_new(silent, sub_name(&list[i], i));
	}
	return silent;
}

void
report_from(struct session *s, json_t *to)
{
	int64_t now = clock_steady();
	struct origin *list;
	json_t *subs;

	json_object_set_new(to, "sources", sources_json(s->supply));
	kernel_set(s, to);
	list = origins_find(s->supply);
	if (!list)
		return;
	runs_find(s->output, list);
	session_subs_sample(s, now);
	subs = json_array();
	for (unsigned i = 0; i < s->stream->plan.subs; i++)
		json_array_append_new(subs, sub_json(s, i, &list[i]));
	json_object_set_new(to, "subs", subs);
	json_object_set_new(to, "silent", silent_json(s, list, now));
	free(list);
}
