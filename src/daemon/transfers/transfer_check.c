/* SPDX-License-Identifier: MIT */
/*
 * Checks a request.  The sessions are asked first whether the recording exists,
 * then the catalogue, and only if that does not know it the disks, by the
 * thread that looks up names (lookup.h): so a recording that was copied there a
 * second ago is found.
 *
 * The text about a recording that its peer is told, and the number by which it
 * recognises the transfer: both depend only on the recording, so a transfer
 * that is started again, even by another daemon, continues where the peer says.
 *
 * A transfer is shown with the keys of control/answer.h.  Unknown values are null:
 * the size of a recording whose index was not read yet, or the time left while
 * nothing moves.
 */
#include "contract/bytes.h"
#include "daemon/transfers/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "control/answer.h"
#include "daemon/sessions/order.h"
#include "daemon/sessions/report.h"
#include "store/foreign/foreign.h"

struct session *
transfer_session(const struct transfers *all, const char *name)
{
	for (struct session *s = all->r->sessions; s; s = s->next) {
		if (s->state != SESSION_ARMED && !s->cancelled &&
		    !strcmp(s->name, name))
			return s;
	}
	return NULL;
}

/* ---- the recording --------------------------------------------------- */

static int
not_now(const struct transfer_order *o, struct fault *fault, const char *why)
{
	fault_set(fault, -EBUSY, "busy", "cannot send %s", o->name);
	fault_why(fault, "%s", why);
	return -EBUSY;
}

static int
recorded_now(const struct transfer_order *o, struct fault *fault)
{
	not_now(o, fault, "it is being recorded");
	fault_hint(fault, "with --follow it is sent while it grows");
	return -EBUSY;
}

static int
parts_there(const struct transfer_order *o, const char *part,
	    struct fault *fault)
{
	fault_set(fault, -ENOENT, "not-found",
		  "cannot send %s: it is several recordings", o->name);
	fault_hint(fault,
		   "send each of them, as %s; spate ls '%s_ds*' lists "
		   "them",
		   part, o->name);
	return -ENOENT;
}

static int
not_there(struct transfers *all, const struct transfer_order *o,
	  struct fault *fault)
{
	for (const struct session *s = all->r->sessions; s; s = s->next) {
		if (!strcmp(s->group, o->name) && strcmp(s->name, o->name))
			return parts_there(o, s->name, fault);
		if (s->state == SESSION_ARMED && !strcmp(s->name, o->name))
			return not_now(o, fault,
				       "it has not begun: it waits for its "
				       "start");
	}
	fault_set(fault, -ENOENT, "not-found", "there is no recording '%.80s'",
		  o->name);
	fault_hint(fault, "'spate ls' lists those there are");
	return -ENOENT;
}

/*
 * Finds a part of the name: several streams recorded under one name are
 * separate recordings, NAME_dsSTREAM.
 */
static bool
part_find(struct transfers *all, const char *name, char part[LAYOUT_FILE])
{
	char pattern[LAYOUT_FILE + 8];
	const char *patterns[1] = { pattern };
	const struct catalogue_query query = { .pattern = patterns,
					       .patterns = 1,
					       .most = 1 };
	json_t *rows;
	char *text;
	const char *first;

	snprintf(pattern, sizeof pattern, "%.200s_ds*", name);
	text = catalogue_page(catalogue_thread_get(all->r->catalogue), &query,
			      part);
	rows = text ? json_loads(text, 0, NULL) : NULL;
	first = json_string_value(json_array_get(json_array_get(rows, 0), 0));
	snprintf(part, LAYOUT_FILE, "%s", first ? first : "");
	json_decref(rows);
	free(text);
	return *part;
}

static int
recording_check(struct transfers *all, const struct transfer_order *o,
		struct fault *fault)
{
	const struct session *s = transfer_session(all, o->name);
	char part[LAYOUT_FILE];
	struct entry e;

	if (s)
		return o->follow || s->state == SESSION_ENDED
			   ? 0
			   : recorded_now(o, fault);
	if (!layout_folder_good(o->name) && !foreign_name_good(o->name))
		return not_there(all, o, fault);
	if (!catalogue_find(catalogue_thread_get(all->r->catalogue), o->name,
			    &e)) {
		if (order_name_disk(all->r, o->name))
			return 0;
		return part_find(all, o->name, part)
			   ? parts_there(o, part, fault)
			   : not_there(all, o, fault);
	}
	if (e.state == ENTRY_REMOVING)
		return not_now(o, fault, "it is being removed");
	/* Another program records it: our own recordings were found above. */
	if (e.state == ENTRY_LIVE && !o->follow && !e.end_ns)
		return recorded_now(o, fault);
	return 0;
}

/* ---- the destination ------------------------------------------------- */

static bool
is_chosen(const struct send_choice *c)
{
	return c->from_ns || c->to_ns || c->from_byte || c->to_byte ||
	       c->threads_n || c->sub >= 0 || c->strip || c->headers_off ||
	       c->packet || c->prefix != SEND_PREFIX_MADE;
}

bool
transfer_is_whole(const struct transfer_order *o)
{
	return !o->relay && !o->plain && !is_chosen(&o->choice);
}

static int
way_check(struct transfers *all, const struct transfer_order *o,
	  struct fault *fault)
{
	const struct setup_send *send = all->r->setup.send;
	const struct setup_send_way *way =
	    o->file ? NULL : setup_send_way(send, o->to, fault);
	struct host host = log_host(o->name);
	char why[SEND_SENTENCE] = "";
	struct send_args args = {
		.host = &host,
		.to = o->to,
		.subs = 1,
		.connections = o->connections,
		.plain = o->plain,
		.ordered = !o->relay,
		.transfer = 1,
		.name = o->name,
		.secret = send->secret.n ? send->secret.bytes : NULL,
		.secret_bytes = send->secret.n,
		.why = why,
		.why_bytes = sizeof why,
	};
	int err;

	if (o->file)
		return 0;
	if (!way)
		return -EINVAL;
	if (way->ops->objects && !transfer_is_whole(o)) {
		fault_set(fault, -ENOTSUP, "refused",
			  "cannot send %s to %.200s", o->name, o->to);
		fault_why(fault, "whole recordings go there, and nothing else");
		return -ENOTSUP;
	}
	args.options = way->options;
	err = way->ops->check(&args);
	if (!err)
		return 0;
	fault_set(fault, err, "usage", "cannot send %s to %.200s", o->name,
		  o->to);
	fault_why(fault, "%s", why);
	return err;
}

int
transfer_url_check(struct transfers *all, const char *name, const char *url,
		   bool relay, struct fault *fault)
{
	struct transfer_order o;
	int err;

	transfer_order_init(&o, all->r->setup.send);
	o.relay = relay;
	snprintf(o.name, sizeof o.name, "%.100s", name);
	o.to = strdup(url);
	err = o.to ? way_check(all, &o, fault) : fault_no_memory(fault);
	transfer_order_clear(&o);
	return err;
}

int
transfer_check(struct transfers *all, const struct transfer_order *o,
	       struct fault *fault)
{
	int err;

	if (all->r->stopping)
		return fault_set(fault, -ESHUTDOWN, "busy",
				 "the daemon is stopping");
	err = way_check(all, o, fault);
	if (err || !o->relay)
		return err ? err : recording_check(all, o, fault);
	return setup_stream(&all->r->setup, o->name)
		   ? 0
		   : setup_stream_unknown(&all->r->setup, o->name, fault);
}

/* ---- what a peer is told --------------------------------------------- */

struct identity {
	char stream[ENTRY_TEXT], format[ENTRY_TEXT];
	int64_t start_ns;
};

static void
of_session(struct identity *i, const struct session *s)
{
	snprintf(i->stream, sizeof i->stream, "%.79s", s->stream->name);
	snprintf(i->format, sizeof i->format, "%.79s", s->stream->o.format);
	i->start_ns = s->start_ns;
}

static void
identify(struct transfers *all, const struct transfer_order *o,
	 struct identity *i)
{
	const struct session *s =
	    o->relay ? NULL : transfer_session(all, o->name);
	struct stream *stream =
	    o->relay ? setup_stream(&all->r->setup, o->name) : NULL;
	struct entry e;

	*i = (struct identity){ .start_ns = 0 };
	if (s) {
		of_session(i, s);
	} else if (stream) {
		snprintf(i->stream, sizeof i->stream, "%.79s", stream->name);
		snprintf(i->format, sizeof i->format, "%.79s",
			 stream->o.format);
	} else if (catalogue_find(catalogue_thread_get(all->r->catalogue),
				  o->name, &e)) {
		memcpy(i->stream, e.stream, sizeof i->stream);
		memcpy(i->format, e.format, sizeof i->format);
		i->start_ns = e.start_ns;
	}
}

uint64_t
transfer_number(struct transfers *all, const struct transfer_order *o)
{
	uint64_t hash = BYTES_HASH;
	struct identity i;

	identify(all, o, &i);
	if (!i.start_ns)
		return 0;
	hash = bytes_hash(hash, o->name, strlen(o->name) + 1);
	hash = bytes_hash(hash, i.stream, strlen(i.stream) + 1);
	hash = bytes_hash(hash, &i.start_ns, sizeof i.start_ns);
	return hash ? hash : 1;
}

char *
transfer_about(struct transfers *all, const struct transfer_order *o)
{
	struct identity i;
	json_t *about;
	char *text;

	identify(all, o, &i);
	about =
	    json_pack("{s:s, s:s, s:s, s:o, s:b}", "name", o->name, "stream",
		      i.stream, "format", i.format, "start",
		      report_time(i.start_ns), "copy", transfer_is_whole(o));
	text = json_dumps(about, JSON_COMPACT);
	json_decref(about);
	return text;
}

/* ---- reports --------------------------------------------------------- */

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

/* Returns unknown for 0. */
static uint64_t
known(uint64_t n)
{
	return n ? n : KEY_UNKNOWN;
}

/* Returns NULL, unknown, for a text that is empty. */
static const char *
said(const char *text)
{
	return text && *text ? text : NULL;
}

static json_t *
rate_json(uint64_t rate)
{
	if (rate == SEND_RATE_DATA)
		return json_string("data");
	return rate ? json_integer((json_int_t)rate) : json_string("free");
}

static double
seconds(double bytes, double bits_per_s)
{
	if (bits_per_s < 1)
		return NAN;
	return bytes > 0 ? bytes * 8 / bits_per_s : 0;
}

/* Returns seconds: how long it takes to record what is not sent yet. */
static double
behind_s(const struct transfers *all, const struct transfer *t)
{
	const struct source_facts *f = &t->facts.source;
	const struct session *s = transfer_session(all, t->o.name);
	uint64_t given = f->bytes_memory + f->bytes_disk + f->passed;

	if (t->step != TRANSFER_RUNNING || !f->live || !s)
		return NAN;
	return seconds((double)f->total - (double)given, s->rate);
}

/* Returns seconds until the end; unknown while the recording grows. */
static double
left_s(const struct transfer *t)
{
	const struct sender_facts *f = &t->facts;

	if (t->step != TRANSFER_RUNNING || f->source.live || !f->total)
		return NAN;
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

json_t *
transfer_json(const struct transfers *all, struct transfer *t)
{
	const struct sender_facts *f = &t->facts;
	const struct send_facts *plugin = &f->send;
	struct answer_send send;

	if (t->step == TRANSFER_RUNNING)
		sender_facts(t->run, &t->facts);
	send = (struct answer_send){
		.id = t->id,
		.name = said(t->o.name),
		.kind = kinds[t->kind],
		.to = said(t->o.to),
		.state = state_of(t),
		.why = said(why_of(t)),
		.priority = t->o.priority,
		.queued = t->queued_ns,
		.started = t->started_ns,
		.ended = t->ended_ns,
		.bytes = f->bytes,
		.there = f->there,
		.total = known(f->total),
		.packets = f->packets,
		.missing = f->missing,
		.unreadable = f->unreadable,
		.healed = f->source.healed,
		.dropped = f->dropped,
		.lost = plugin->lost,
		.refused = plugin->refused,
		.from_memory = f->source.bytes_memory,
		.from_disk = f->source.bytes_disk,
		.rate = t->step == TRANSFER_RUNNING ? f->rate : 0,
		.asked_rate = rate_json(t->o.rate),
		.behind_s = behind_s(all, t),
		.left_s = left_s(t),
		.connections = plugin->connections,
		.reconnects = plugin->reconnects,
		.burst = known(f->burst ? f->burst : plugin->burst),
		.peer = said(plugin->peer),
		.way = said(plugin->way),
		.scan = known(t->o.scan),
	};
	return keys_json(send_keys, &send, ANSWER);
}

json_t *
transfers_json(const struct transfers *all)
{
	json_t *list = json_array();

	for (struct transfer *t = all->list; t; t = t->next)
		json_array_append_new(list, transfer_json(all, t));
	return list;
}
