/* SPDX-License-Identifier: MIT */
/*
 * Questions of the rest of the daemon to the inbox, on the event loop's thread,
 * which alone takes copies out of the list.
 */
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "daemon/transfers/inbox_priv.h"

/*
 * Tells whether shutdown waits for a copy: yes if its folders are on these
 * disks; no while its thread only looks at what is there, since reading all of
 * it again may take hours.
 */
static bool
is_awaited(struct copy_in *c)
{
	enum copy_in_state state = copy_in_is(c);

	return state >= COPY_IN_LOOKED && state <= COPY_IN_CLOSING &&
	       state != COPY_IN_THERE;
}

bool
inbox_busy(const struct inbox *inbox)
{
	struct inbox *in = (struct inbox *)inbox;
	bool waits, busy;

	if (!in)
		return false;
	waits = !in->stopping || clock_steady() < in->stop_by;
	busy = in->callers && waits;
	pthread_mutex_lock(&in->lock);
	for (struct copy_in *c = in->copies; c && !busy; c = c->next)
		busy = waits || is_awaited(c);
	pthread_mutex_unlock(&in->lock);
	return busy;
}

bool
inbox_has(const struct inbox *inbox, const char *name)
{
	struct inbox *in = (struct inbox *)inbox;
	bool has = false;

	if (!in)
		return false;
	pthread_mutex_lock(&in->lock);
	for (const struct copy_in *c = in->copies; c && !has; c = c->next)
		has = !strcmp(c->name, name);
	pthread_mutex_unlock(&in->lock);
	return has;
}

static const char *
word(const struct copy_in *c)
{
	switch (c->state) {
	case COPY_IN_GREETED:
	case COPY_IN_ASKED:
	case COPY_IN_LOOKING: return "looking";
	case COPY_IN_LOOKED:
	case COPY_IN_BEGINNING: return "beginning";
	case COPY_IN_TAKING:
		return c->full ? "waiting" : c->links ? "copying" : "broken";
	case COPY_IN_THERE: return "there";
	case COPY_IN_FAILED: return "failed";
	default: return "closing";
	}
}

static const char *
head_text(const struct copy_in *c, const char *key)
{
	const char *text =
	    json_string_value(json_object_get(c->told_head, key));

	return text ? text : "";
}

static json_t *
copy_json(struct copy_in *c)
{
	struct ledger_facts f = { 0 };
	char start[UNITS_TEXT];
	json_t *o;

	pthread_mutex_lock(&c->lock);
	if (c->state >= COPY_IN_LOOKED && c->ledger)
		ledger_facts(c->ledger, &f);
	o = json_pack(
	    "{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, "
	    "s:f, s:I, s:s}",
	    "id", (json_int_t)c->id, "name", c->name, "from", c->from, "state",
	    word(c), "why",
	    c->state == COPY_IN_FAILED ? c->fault.what
	    : c->full		       ? "no disk takes any more"
	    : c->links		       ? ""
				       : "the sender is away",
	    "stream", head_text(c, "stream"), "format", head_text(c, "format"),
	    "bytes", (json_int_t)f.durable_bytes, "total", (json_int_t)f.bytes,
	    "there", (json_int_t)f.there_bytes, "chunks", (json_int_t)f.durable,
	    "told", (json_int_t)f.told, "packets", (json_int_t)f.packets,
	    "rate", c->rate, "connections", (json_int_t)c->links, "start",
	    units_show_time_ns(start, c->start_ns));
	pthread_mutex_unlock(&c->lock);
	return o;
}

json_t *
inbox_json(const struct inbox *inbox)
{
	struct inbox *in = (struct inbox *)inbox;
	json_t *list = json_array();

	if (!in)
		return list;
	pthread_mutex_lock(&in->lock);
	for (struct copy_in *c = in->copies; c; c = c->next)
		json_array_append_new(list, copy_json(c));
	pthread_mutex_unlock(&in->lock);
	return list;
}
