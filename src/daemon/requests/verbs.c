/* SPDX-License-Identifier: MIT */
/*
 * Requests of clients; verbs.h lists them.
 *
 * `record` is answered when at least one disk has the recording's folder, so
 * that "yes" means that it is being written, and `stop` when everything is
 * durable.  Both add a waiter, which daemon_tell checks whenever a session
 * changes state.
 */
#include "daemon/requests/verbs.h"

#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "daemon/requests/daemon.h"
#include "daemon/sessions/order.h"
#include "daemon/sessions/report.h"

/* ---- waiting --------------------------------------------------------- */

static void
waiter_add(struct daemon *d, struct server_ticket ticket, const char *group,
	   bool stop)
{
	struct waiter *w = calloc(1, sizeof *w);
	struct fault fault = { 0 };

	if (!w) {
		fault_set(&fault, -ENOMEM, "no-memory", "out of memory");
		server_refuse(d->r.server, ticket, &fault);
		return;
	}
	w->ticket = ticket;
	w->stop = stop;
	snprintf(w->group, sizeof w->group, "%s", group);
	w->next = d->waiters;
	d->waiters = w;
}

/* True if the session has this name, group, or number. */
static bool
session_is(const struct session *s, const char *name)
{
	char *end;
	unsigned long id = strtoul(name, &end, 10);

	return !strcmp(s->name, name) || !strcmp(s->group, name) ||
	       !strcmp(s->supply->name, name) ||
	       (*name && !*end && s->id == id);
}

static bool
ended_is(const json_t *info, const char *name, const char *group_prefix)
{
	const char *has = json_string_value(json_object_get(info, "name"));

	return !strcmp(has, name) ||
	       !strncmp(has, group_prefix, strlen(group_prefix));
}

/* Lists the running recordings of that name; with `ended` also those that have
 * ended. */
static json_t *
infos(struct daemon *d, const char *name, bool ended)
{
	json_t *list = json_array(), *info;
	char prefix[96];
	size_t i;

	for (struct session *s = d->r.sessions; s; s = s->next) {
		if (session_is(s, name))
			json_array_append_new(list, report_info(s));
	}
	snprintf(prefix, sizeof prefix, "%.79s_ds", name);
	json_array_foreach(d->r.ended, i, info) {
		if (ended && ended_is(info, name, prefix))
			json_array_append(list, info);
	}
	return list;
}

static void
refuse_failed(struct daemon *d, const struct waiter *w)
{
	struct fault fault = { 0 };
	char why[300] = "";
	size_t at = 0;

	fault_set(&fault, -EIO, "no-disk",
		  "cannot record %s: no disk could take it", w->group);
	for (unsigned i = 0; i < d->r.fleet.n && at < sizeof why; i++) {
		struct writer *of = fleet_writer(&d->r.fleet, i);
		struct writer_facts f;

		if (!of)
			continue;
		writer_facts(of, &f);
		at += (size_t)snprintf(why + at, sizeof why - at, "%s%s: %s",
				       at ? "; " : "", writer_path(of), f.why);
	}
	fault_why(&fault, "%s", why);
	fault_hint(&fault, "'spate disks' shows them");
	server_refuse(d->r.server, w->ticket, &fault);
}

/* Progress of all sessions of a group. */
struct progress {
	bool any, beginning, failed;
};

static struct progress
group_progress(const struct daemon *d, const char *group)
{
	struct progress p = { 0 };

	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (strcmp(s->group, group))
			continue;
		p.any = true;
		p.beginning |= s->state == SESSION_BEGINNING;
		p.failed |= s->failed;
	}
	return p;
}

/* Returns true if the waiter got its answer. */
static bool
waiter_answer(struct daemon *d, const struct waiter *w)
{
	struct progress p = group_progress(d, w->group);

	if (w->stop ? p.any : p.beginning)
		return false;
	if (!w->stop && (p.failed || !p.any))
		refuse_failed(d, w);
	else
		server_answer(d->r.server, w->ticket,
			      json_pack("{s:o}", "recordings",
					infos(d, w->group, w->stop)));
	return true;
}

void
daemon_tell(struct daemon *d, const char *group)
{
	struct waiter **at = &d->waiters, *w;

	while ((w = *at)) {
		if (strcmp(w->group, group) || !waiter_answer(d, w)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		free(w);
	}
}

/* ---- the verbs ------------------------------------------------------- */

static int
do_record(struct daemon *d, struct server_ticket ticket, const json_t *request,
	  struct fault *fault)
{
	struct order o;
	int err;

	if (d->r.stopping)
		return fault_set(fault, -ESHUTDOWN, "busy",
				 "the daemon is stopping");
	if (json_object_get(request, "at"))
		return verb_record_at(d, ticket, request, fault);
	err = order_read(&o, &d->r, request, fault);
	if (!err && o.send)
		err = transfer_url_check(&d->transfers, o.name, o.send, fault);
	if (!err)
		err = order_check(&o, &d->r, fault);
	if (!err)
		err = order_begin(&d->r, &o, fault);
	if (!err)
		waiter_add(d, ticket, o.name, false);
	return err;
}

/* True if `name` means this session; also by its scan's name in the schedule,
 * which may differ when that name was taken. */
static bool
is_meant(const struct daemon *d, const struct session *s, const char *name)
{
	const struct scan *scan = schedule_find(d->host.schedule, s->scan);

	return session_is(s, name) || (scan && !strcmp(scan->name, name));
}

static int
do_stop(struct daemon *d, struct server_ticket ticket, const json_t *request,
	struct fault *fault)
{
	const char *name = json_string_value(json_object_get(request, "name"));
	char group[80] = "", scan[16] = "";

	for (struct session *s = d->r.sessions; name && s; s = s->next) {
		if (!is_meant(d, s, name))
			continue;
		if (s->state == SESSION_ARMED)
			snprintf(scan, sizeof scan, "%u", s->scan);
		else
			snprintf(group, sizeof group, "%s", s->group);
	}
	/* A number may name a recording, a transfer and a scan: recordings come
	 * first, then transfers, incoming copies, and scans that wait. */
	if (!group[0] && !scan[0] && name &&
	    verb_stop_send(d, ticket, name) == 0)
		return 0;
	if (!group[0] && !scan[0] && name && inbox_end(d->inbox, name) == 0) {
		server_answer(d->r.server, ticket,
			      json_pack("{s:[]}", "recordings"));
		return 0;
	}
	if (!group[0] && name &&
	    verb_stop_waiting(d, ticket, scan[0] ? scan : name) == 0)
		return 0;
	if (!group[0]) {
		fault_set(fault, -ENOENT, "not-found",
			  "nothing of the name '%.80s' is being recorded, or "
			  "sent",
			  name ? name : "");
		fault_hint(fault, "'spate status' shows what is");
		return -ENOENT;
	}
	/* Streams that were started together stop together. */
	for (struct session *s = d->r.sessions; s; s = s->next) {
		if (!strcmp(s->group, group))
			session_stop(s, "stop");
	}
	waiter_add(d, ticket, group, true);
	return 0;
}

static int
do_info(struct daemon *d, struct server_ticket ticket, const json_t *request,
	struct fault *fault)
{
	const char *name = json_string_value(json_object_get(request, "name"));
	json_t *list = infos(d, name ? name : "", true);

	if (!json_array_size(list)) {
		json_decref(list);
		return fault_set(fault, -ENOENT, "not-found",
				 "the daemon does not know '%.80s'",
				 name ? name : "");
	}
	server_answer(d->r.server, ticket,
		      json_pack("{s:o}", "recordings", list));
	return 0;
}

static int
do_streams(struct daemon *d, struct server_ticket ticket, const json_t *request,
	   struct fault *fault)
{
	json_t *list = json_array();

	(void)request;
	(void)fault;
	for (unsigned i = 0; i < d->r.setup.streams; i++)
		json_array_append_new(list,
				      report_stream(d->r.setup.stream[i]));
	server_answer(d->r.server, ticket, json_pack("{s:o}", "streams", list));
	return 0;
}

static int
do_status(struct daemon *d, struct server_ticket ticket, const json_t *request,
	  struct fault *fault)
{
	json_t *list = json_array();
	char text[UNITS_TEXT];

	(void)request;
	(void)fault;
	for (struct session *s = d->r.sessions; s; s = s->next)
		json_array_append_new(list, report_info(s));
	server_answer(
	    d->r.server, ticket,
	    json_pack("{s:s, s:i, s:s, s:f, s:o, s:o, s:o, s:i, s:o, s:o, s:o,"
		      " s:i, s:o}",
		      "version", PACKAGE_VERSION, "pid", (int)getpid(),
		      "started", units_show_time_ns(text, d->started_ns),
		      "uptime_s", (double)(clock_steady() - d->started) / 1e9,
		      "memory", report_memory(d->r.pool), "recordings", list,
		      "disks", report_disks(&d->r.fleet), "streams_n",
		      (int)d->r.setup.streams, "space",
		      report_space(&d->r.fleet), "catalogue", verb_ls_facts(d),
		      "sends", transfers_json(&d->transfers), "sends_n",
		      (int)transfers_running(&d->transfers), "inbox",
		      inbox_json(d->inbox)));
	return 0;
}

void
daemon_ask(void *arg, struct server_ticket ticket, const char *verb,
	   const json_t *request)
{
	static const struct {
		const char *verb;
		int (*act)(struct daemon *d, struct server_ticket ticket,
			   const json_t *request, struct fault *fault);
	} table[] = {
		{ "record", do_record },
		{ "scan", verb_scan },
		{ "stop", do_stop },
		{ "info", do_info },
		{ "status", do_status },
		{ "streams", do_streams },
		{ "reload", verb_reload },
		{ "disks", verb_disks },
		{ "disks-add", verb_disks_add },
		{ "disks-drop", verb_disks_drop },
		{ "probe", verb_probe },
		{ "schedule-ls", verb_schedule_ls },
		{ "schedule-add", verb_schedule_add },
		{ "schedule-rm", verb_schedule_rm },
		{ "schedule-check", verb_schedule_check },
		{ "ls", verb_ls },
		{ "map", verb_map },
		{ "rm", verb_rm },
		{ "protect", verb_protect },
		{ "look", verb_look },
		{ "send", verb_send },
		{ "relay", verb_relay },
		{ "sends", verb_sends },
		{ "rate", verb_rate },
		{ "pause", verb_pause },
		{ "resume-send", verb_resume_send },
	};
	struct daemon *d = arg;
	struct fault fault = { 0 };

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (strcmp(table[i].verb, verb))
			continue;
		if (table[i].act(d, ticket, request, &fault) < 0)
			server_refuse(d->r.server, ticket, &fault);
		return;
	}
	fault_set(&fault, -ENOTSUP, "usage",
		  "this spated does not know '%.80s'", verb);
	server_refuse(d->r.server, ticket, &fault);
}
