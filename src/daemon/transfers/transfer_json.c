/* SPDX-License-Identifier: MIT */
/*
 * Shows a transfer as SEND of verbs.h.  Unknown values are null: the size of a
 * recording whose index was not read yet, or the time left while nothing moves.
 */
#include "daemon/transfers/transfer.h"

#include <string.h>

#include "daemon/sessions/report.h"

static const char *const kinds[] = {
	[TRANSFER_SEND] = "send",
	[TRANSFER_COPY] = "copy",
	[TRANSFER_RELAY] = "relay",
};

static const char *const states[SENDER_STATES] = {
	[SENDER_CONNECTING] = "connecting", [SENDER_SENDING] = "sending",
	[SENDER_WAITING] = "waiting",	    [SENDER_PAUSED] = "paused",
	[SENDER_FINISHING] = "finishing",   [SENDER_DONE] = "done",
	[SENDER_STOPPED] = "stopped",	    [SENDER_FAILED] = "failed",
};

/* Tells whether the peer has asked for a copy, which starts in a moment. */
static bool
is_copied(const struct transfer *t)
{
	return t->step == TRANSFER_RUNNING && t->facts.wants_copy &&
	       !t->stop_why && transfer_is_whole(&t->o);
}

static const char *
state_of(const struct transfer *t)
{
	if (is_copied(t))
		return states[SENDER_CONNECTING];
	if (t->step != TRANSFER_QUEUED)
		return states[t->facts.state];
	return t->paused ? "paused" : "queued";
}

static json_t *
integer(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* Shows 0, which means unknown, as null. */
static json_t *
known(uint64_t n)
{
	return n ? integer(n) : json_null();
}

/*
 * Makes JSON of a sentence, without a UTF-8 character that was cut at its end.
 */
static json_t *
text(const char *of)
{
	size_t bytes = strlen(of);
	json_t *json = NULL;

	while (bytes && !(json = json_stringn(of, bytes)))
		bytes--;
	return json ? json : json_null();
}

static json_t *
rate_json(uint64_t rate)
{
	if (rate == SEND_RATE_DATA)
		return json_string("data");
	return rate ? integer(rate) : json_string("free");
}

static json_t *
seconds(double bytes, double bits_per_s)
{
	if (bits_per_s < 1)
		return json_null();
	return json_real(bytes > 0 ? bytes * 8 / bits_per_s : 0);
}

/* Returns seconds: how long it takes to record what is not sent yet. */
static json_t *
behind_json(const struct transfers *all, const struct transfer *t)
{
	const struct source_facts *f = &t->facts.source;
	const struct session *s = transfer_session(all, t->o.name);
	uint64_t given = f->bytes_memory + f->bytes_disk + f->passed;

	if (t->step != TRANSFER_RUNNING || !f->live || !s)
		return json_null();
	return seconds((double)f->total - (double)given, s->rate);
}

/* Returns seconds until the end; null while the recording grows. */
static json_t *
left_json(const struct transfer *t)
{
	const struct sender_facts *f = &t->facts;

	if (t->step != TRANSFER_RUNNING || f->source.live || !f->total)
		return json_null();
	return seconds((double)f->total - (double)f->bytes - (double)f->there,
		       f->rate);
}

static const char *
why_of(const struct transfer *t)
{
	const struct sender_facts *f = &t->facts;

	if (t->step != TRANSFER_RUNNING)
		return t->why;
	if (t->stop_why)
		return t->stop_why;
	if (is_copied(t))
		return "";
	return f->why[0] ? f->why : f->send.why;
}

/* Shows the plugin's counters. */
static json_t *
way_json(const struct sender_facts *f)
{
	const struct send_facts *s = &f->send;

	return json_pack("{s:i, s:i, s:o, s:o, s:o}", "connections",
			 (int)s->connections, "reconnects", (int)s->reconnects,
			 "burst", known(f->burst ? f->burst : s->burst), "peer",
			 text(s->peer), "way", text(s->way ? s->way : ""));
}

static json_t *
counts_json(const struct transfers *all, const struct transfer *t)
{
	const struct sender_facts *f = &t->facts;

	return json_pack(
	    "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o,"
	    " s:o, s:o}",
	    "bytes", integer(f->bytes), "there", integer(f->there), "total",
	    known(f->total), "packets", integer(f->packets), "missing",
	    integer(f->missing), "unreadable", integer(f->unreadable),
	    "dropped", integer(f->dropped), "lost", integer(f->send.lost),
	    "refused", integer(f->send.refused), "from_memory",
	    integer(f->source.bytes_memory), "from_disk",
	    integer(f->source.bytes_disk), "rate",
	    t->step == TRANSFER_RUNNING ? f->rate : 0.0, "asked_rate",
	    rate_json(t->o.rate), "behind_s", behind_json(all, t), "left_s",
	    left_json(t));
}

json_t *
transfer_json(const struct transfers *all, struct transfer *t)
{
	json_t *json, *counts, *way;

	if (t->step == TRANSFER_RUNNING)
		t->ops->facts(t->run, &t->facts);
	json = json_pack("{s:i, s:o, s:s, s:o, s:s, s:o, s:i, s:o, s:o, s:o}",
			 "id", (int)t->id, "name", text(t->o.name), "kind",
			 kinds[t->kind], "to", text(t->o.to), "state",
			 state_of(t), "why", text(why_of(t)), "priority",
			 t->o.priority, "queued", report_time(t->queued_ns),
			 "started", report_time(t->started_ns), "ended",
			 report_time(t->ended_ns));
	counts = counts_json(all, t);
	way = way_json(&t->facts);
	json_object_update(json, counts);
	json_object_update(json, way);
	json_decref(counts);
	json_decref(way);
	if (t->o.scan)
		json_object_set_new(json, "scan", integer(t->o.scan));
	return json;
}

json_t *
transfers_json(const struct transfers *all)
{
	json_t *list = json_array();

	for (struct transfer *t = all->list; t; t = t->next)
		json_array_append_new(list, transfer_json(all, t));
	return list;
}
