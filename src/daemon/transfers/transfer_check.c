/* SPDX-License-Identifier: MIT */
/*
 * Checks a request.  The sessions are asked first whether the recording exists,
 * then the catalogue, and only if that does not know it the disks, by the
 * thread that looks up names (seek.h): so a recording that was copied there a
 * second ago is found.
 */
#include "daemon/transfers/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "daemon/sessions/order_name.h"
#include "daemon/transfers/transfer_order.h"
#include "store/recording/foreign.h"

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

/* ---- the recording ---------------------------------------------------- */

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
	text = catalogue_page(keeper_catalogue(all->r->keeper), &query, part);
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
	if (!catalogue_find(keeper_catalogue(all->r->keeper), o->name, &e)) {
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

/* ---- the destination -------------------------------------------------- */

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
		   struct fault *fault)
{
	struct transfer_order o;
	int err;

	transfer_order_init(&o, all->r->setup.send);
	snprintf(o.name, sizeof o.name, "%.100s", name);
	o.to = strdup(url);
	err = o.to ? way_check(all, &o, fault)
		   : fault_set(fault, -ENOMEM, "no-memory", "out of memory");
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
