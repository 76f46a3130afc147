/* SPDX-License-Identifier: MIT */
/*
 * What clients may ask; the page is verbs.h.
 *
 * `record` is answered when at least one disk has the recording's folder, so
 * that "yes" means that it is being written, and `stop` when everything is
 * durable.  Both leave a waiter behind, and daemon_tell looks at it whenever
 * a session moves.
 */
#include "daemon/verbs.h"

#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/daemon.h"
#include "daemon/report.h"
#include "store/layout.h"

/* ---- record ---------------------------------------------------------- */

/* What `record` was asked to do. */
struct order {
	const char *name;
	struct stream *stream[256];
	unsigned streams;
	int64_t stop_at;	/* steady; 0: not by itself */
};

static int
usage(struct fault *fault, const char *what)
{
	return fault_set(fault, -EINVAL, "usage", "%s", what);
}

static int
order_time(const json_t *request, struct order *o, struct fault *fault)
{
	const char *span = json_string_value(json_object_get(request, "for"));
	const char *until = json_string_value(json_object_get(request, "until"));
	int64_t now = clock_now(), ns = 0;

	if (span && until)
		return usage(fault, "either `for` or `until`, not both");
	if (span && units_span(span, &ns) < 0) {
		fault_set(fault, -EINVAL, "usage", "'%s' is no span of time",
			  span);
		fault_hint(fault, "write it as 30s, 5m or 1h30m");
		return -EINVAL;
	}
	if (until && units_time(until, now, &ns) < 0) {
		fault_set(fault, -EINVAL, "usage", "'%s' is no time", until);
		fault_hint(fault, "write it as 2026-11-20T10:00:00Z, "
				  "2026y324d10h00m00s or +30s");
		return -EINVAL;
	}
	if (until)
		ns -= now;
	if ((span || until) && ns <= 0)
		return usage(fault, "that would be over before it begins");
	o->stop_at = span || until ? clock_steady() + ns : 0;
	return 0;
}

static int
stream_unknown(struct daemon *d, const char *name, struct fault *fault)
{
	char names[256] = "";
	size_t at = 0;

	for (unsigned i = 0; i < d->setup.streams && at < sizeof names; i++)
		at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
				       i ? ", " : "", d->setup.stream[i].name);
	fault_set(fault, -ENOENT, "not-found", "there is no stream '%s'", name);
	fault_hint(fault, "the configuration has %s", names);
	return -ENOENT;
}

static int
order_streams(struct daemon *d, const json_t *request, struct order *o,
	      struct fault *fault)
{
	const json_t *list = json_object_get(request, "streams"), *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *name = json_string_value(item);
		struct stream *s = name ? setup_stream(&d->setup, name) : NULL;

		if (i >= sizeof o->stream / sizeof *o->stream)
			return usage(fault, "too many streams");
		if (!s)
			return stream_unknown(d, name ? name : "?", fault);
		for (unsigned k = 0; k < o->streams; k++) {
			if (o->stream[k] == s)
				return usage(fault, "the same stream twice");
		}
		if (s->session) {
			fault_set(fault, -EBUSY, "busy",
				  "stream %s is being recorded already", name);
			fault_why(fault, "as %s", s->session->name);
			fault_hint(fault, "'spate stop %s' ends that",
				   s->session->group);
			return -EBUSY;
		}
		o->stream[o->streams++] = s;
	}
	return o->streams ? 0 : usage(fault, "which stream? `streams` is "
					     "missing");
}

static void
folder_name(const struct order *o, unsigned i, char name[160])
{
	if (o->streams == 1)
		snprintf(name, 160, "%s", o->name);
	else
		snprintf(name, 160, "%.79s_ds%.70s", o->name,
			 o->stream[i]->name);
}

static int
taken(struct fault *fault, const char *name, const char *where)
{
	fault_set(fault, -EEXIST, "exists",
		  "cannot record %s: the name is taken", name);
	fault_why(fault, "%s", where);
	fault_hint(fault, "choose another name, or move that recording away");
	return -EEXIST;
}

/* On no disk, and not being recorded: the folder may not be there yet. */
static int
name_free(struct daemon *d, const char *name, struct fault *fault)
{
	char path[4096];

	for (struct session *s = d->sessions; s; s = s->next) {
		if (!strcmp(s->name, name) || !strcmp(s->group, name))
			return taken(fault, name, "it is being recorded");
	}
	for (unsigned i = 0; i < d->writers; i++) {
		snprintf(path, sizeof path, "%s/%s", writer_path(d->writer[i]),
			 name);
		if (access(path, F_OK) == 0) {
			snprintf(path, sizeof path, "it is on %s",
				 writer_path(d->writer[i]));
			return taken(fault, name, path);
		}
	}
	return 0;
}

static int
order_name(struct daemon *d, struct order *o, struct fault *fault)
{
	const char *wrong = o->name ? layout_name_fault(o->name)
				    : "`name` is missing";
	char name[160];
	int err = 0;

	if (wrong) {
		fault_set(fault, -EINVAL, "bad-name",
			  "cannot record under the name '%.80s'",
			  o->name ? o->name : "");
		fault_why(fault, "%s", wrong);
		fault_hint(fault, "a name is up to 64 of A-Z a-z 0-9 _ + -, "
				  "as in r4123_wz_123-0456");
		return -EINVAL;
	}
	for (unsigned i = 0; i < o->streams && !err; i++) {
		folder_name(o, i, name);
		err = name_free(d, name, fault);
	}
	return err;
}

static int
disks_there(struct daemon *d, struct fault *fault)
{
	if (d->writers)
		return 0;
	fault_set(fault, -ENODEV, "no-disk", "there is no disk to record on");
	fault_why(fault, "%s",
		  d->setup.no_disk.code ? d->setup.no_disk.what
					 : "no pattern of `disks` matched");
	fault_hint(fault, "mount the disks, or put plain folders into `disks`, "
			  "and restart spated");
	return -ENODEV;
}

static struct session *
session_add(struct daemon *d, const struct order *o, unsigned i,
	    struct fault *fault)
{
	struct session *s;
	char name[160];

	folder_name(o, i, name);
	if (session_open(&s, &d->host, o->stream[i], name, fault) < 0)
		return NULL;
	s->id = ++d->last_id;
	s->stop_at = o->stop_at;
	snprintf(s->group, sizeof s->group, "%s", o->name);
	return s;
}

/* All of them or none: what can be refused comes before anything begins. */
static int
sessions_begin(struct daemon *d, const struct order *o, struct fault *fault)
{
	struct session *s, *new = NULL;

	for (unsigned i = 0; i < o->streams; i++) {
		s = session_add(d, o, i, fault);
		if (!s)
			goto refuse;
		s->next = new;
		new = s;
	}
	while ((s = new)) {
		new = s->next;
		s->next = d->sessions;
		d->sessions = s;
		session_begin(s, d->receiver[d->next_receiver]);
		d->next_receiver = (d->next_receiver + 1) % d->receivers;
		log_line(LOG_INFO, s->name, "recording stream %s",
			 s->stream->name);
	}
	return 0;

refuse:
	while ((s = new)) {
		new = s->next;
		session_drop(s);
	}
	return -EINVAL;
}

/* ---- waiting --------------------------------------------------------- */

static void
waiter_add(struct daemon *d, struct server_ticket ticket, const char *group,
	   bool stop)
{
	struct waiter *w = calloc(1, sizeof *w);
	struct fault fault = { 0 };

	if (!w) {
		fault_set(&fault, -ENOMEM, "no-memory", "out of memory");
		server_refuse(d->server, ticket, &fault);
		return;
	}
	w->ticket = ticket;
	w->stop = stop;
	snprintf(w->group, sizeof w->group, "%s", group);
	w->next = d->waiters;
	d->waiters = w;
}

/* By the name of the recording, of the group, or by number. */
static bool
session_is(const struct session *s, const char *name)
{
	char *end;
	unsigned long id = strtoul(name, &end, 10);

	return !strcmp(s->name, name) || !strcmp(s->group, name) ||
	       (*name && !*end && s->id == id);
}

static bool
ended_is(const json_t *info, const char *name, const char *group_prefix)
{
	const char *has = json_string_value(json_object_get(info, "name"));

	return !strcmp(has, name) ||
	       !strncmp(has, group_prefix, strlen(group_prefix));
}

/* The running ones of that name; then, with `ended`, those that ended. */
static json_t *
infos(struct daemon *d, const char *name, bool ended)
{
	json_t *list = json_array(), *info;
	char prefix[96];
	size_t i;

	for (struct session *s = d->sessions; s; s = s->next) {
		if (session_is(s, name))
			json_array_append_new(list, report_info(s));
	}
	snprintf(prefix, sizeof prefix, "%.79s_ds", name);
	json_array_foreach(d->ended, i, info) {
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
	for (unsigned i = 0; i < d->writers && at < sizeof why; i++) {
		struct writer_facts f;

		writer_facts(d->writer[i], &f);
		at += (size_t)snprintf(why + at, sizeof why - at, "%s%s: %s",
				       i ? "; " : "",
				       writer_path(d->writer[i]), f.why);
	}
	fault_why(&fault, "%s", why);
	fault_hint(&fault, "'spate disks' shows them");
	server_refuse(d->server, w->ticket, &fault);
}

/* How far is the group that is waited for? */
struct progress {
	bool any, beginning, failed;
};

static struct progress
group_progress(const struct daemon *d, const char *group)
{
	struct progress p = { 0 };

	for (const struct session *s = d->sessions; s; s = s->next) {
		if (strcmp(s->group, group))
			continue;
		p.any = true;
		p.beginning |= s->state == SESSION_BEGINNING;
		p.failed |= s->failed;
	}
	return p;
}

/* True when the waiter has its answer. */
static bool
waiter_answer(struct daemon *d, const struct waiter *w)
{
	struct progress p = group_progress(d, w->group);

	if (w->stop ? p.any : p.beginning)
		return false;
	if (!w->stop && (p.failed || !p.any))
		refuse_failed(d, w);
	else
		server_answer(d->server, w->ticket,
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
do_record(struct daemon *d, struct server_ticket ticket,
	  const json_t *request, struct fault *fault)
{
	struct order o = {
		.name = json_string_value(json_object_get(request, "name"))
	};
	int err;

	if (d->stopping)
		return fault_set(fault, -ESHUTDOWN, "busy",
				 "the daemon is stopping");
	err = order_streams(d, request, &o, fault);
	if (!err)
		err = order_name(d, &o, fault);
	if (!err)
		err = order_time(request, &o, fault);
	if (!err)
		err = disks_there(d, fault);
	if (!err)
		err = sessions_begin(d, &o, fault);
	if (!err)
		waiter_add(d, ticket, o.name, false);
	return err;
}

static int
do_stop(struct daemon *d, struct server_ticket ticket, const json_t *request,
	struct fault *fault)
{
	const char *name = json_string_value(json_object_get(request, "name"));
	char group[80] = "";

	for (struct session *s = d->sessions; name && s; s = s->next) {
		if (!session_is(s, name))
			continue;
		snprintf(group, sizeof group, "%s", s->group);
	}
	if (!group[0]) {
		fault_set(fault, -ENOENT, "not-found",
			  "nothing of the name '%.80s' is being recorded",
			  name ? name : "");
		fault_hint(fault, "'spate status' shows what is");
		return -ENOENT;
	}
	/* Streams that were started together stop together. */
	for (struct session *s = d->sessions; s; s = s->next) {
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
	server_answer(d->server, ticket, json_pack("{s:o}", "recordings", list));
	return 0;
}

static json_t *
disks_list(struct daemon *d)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < d->writers; i++)
		json_array_append_new(list,
				      report_disk(d->writer[i],
						  d->disk_rate[i].rate));
	return list;
}

static int
do_disks(struct daemon *d, struct server_ticket ticket, const json_t *request,
	 struct fault *fault)
{
	const struct option_texts *patterns = &d->setup.o.disks;
	json_t *list = json_array();

	(void)request;
	(void)fault;
	for (unsigned i = 0; i < patterns->n; i++)
		json_array_append_new(list, json_string(patterns->text[i]));
	server_answer(d->server, ticket,
		      json_pack("{s:o, s:o, s:i}", "disks", disks_list(d),
				"patterns", list, "skipped",
				(int)d->setup.disks.skipped));
	return 0;
}

static int
do_streams(struct daemon *d, struct server_ticket ticket,
	   const json_t *request, struct fault *fault)
{
	json_t *list = json_array();

	(void)request;
	(void)fault;
	for (unsigned i = 0; i < d->setup.streams; i++)
		json_array_append_new(list,
				      report_stream(&d->setup.stream[i]));
	server_answer(d->server, ticket, json_pack("{s:o}", "streams", list));
	return 0;
}

static int
do_status(struct daemon *d, struct server_ticket ticket,
	  const json_t *request, struct fault *fault)
{
	json_t *list = json_array();
	char text[UNITS_TEXT];

	(void)request;
	(void)fault;
	for (struct session *s = d->sessions; s; s = s->next)
		json_array_append_new(list, report_info(s));
	server_answer(
	    d->server, ticket,
	    json_pack("{s:s, s:i, s:s, s:f, s:o, s:o, s:o, s:i}", "version",
		      PACKAGE_VERSION, "pid", (int)getpid(), "started",
		      units_show_time_ns(text, d->started_ns), "uptime_s",
		      (double)(clock_steady() - d->started) / 1e9, "memory",
		      report_memory(d->pool), "recordings", list, "disks",
		      disks_list(d), "streams_n", (int)d->setup.streams));
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
		{ "record", do_record },   { "stop", do_stop },
		{ "info", do_info },	   { "status", do_status },
		{ "streams", do_streams }, { "disks", do_disks },
	};
	struct daemon *d = arg;
	struct fault fault = { 0 };

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (strcmp(table[i].verb, verb))
			continue;
		if (table[i].act(d, ticket, request, &fault) < 0)
			server_refuse(d->server, ticket, &fault);
		return;
	}
	fault_set(&fault, -ENOTSUP, "usage", "this spated does not know '%.80s'",
		  verb);
	server_refuse(d->server, ticket, &fault);
}
