/* SPDX-License-Identifier: MIT */
/*
 * Requests of clients; verbs.h lists them.
 *
 * `record` is answered when at least one disk has the recording's folder, so
 * that "yes" means that it is being written, and `stop` when everything is
 * durable.  Both add a waiter, which daemon_tell checks whenever a session
 * changes state.
 *
 * `ls` is answered from memory, one page at a time, so that neither a disk nor
 * a client with 10 000 recordings holds up the event loop.
 *
 * Answers clients that read a recording while it is made (`map`).  A client
 * asks again and again, so the answer is cheap: no disk, no list of blocks, and
 * only those losses that the client does not know yet.
 *
 * `probe` is answered when the probe is over: after its time, when the stream
 * is to be recorded, or when the daemon ends.  If the client leaves, the probe
 * ends and the port is free.
 *
 * For a stream that is being recorded, the answer is what its session counts.
 */
#include "config.h"

#include "daemon/requests/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "control/answer.h"
#include "daemon/requests/daemon.h"
#include "daemon/sessions/live_tap.h"
#include "daemon/sessions/order.h"
#include "daemon/sessions/report.h"
#include "store/recording/recording_info.h"
#include "flow/memory/shm_page.h"
#include "flow/output/output.h"
#include "flow/memory/arena.h"

enum { PATTERNS = 64, PAGE = 1000 };

/* Updates the catalogue with the counts of the sessions that run. */
static void
count_running(struct daemon *d)
{
	struct entry e;

	for (struct session *s = d->r.sessions; s; s = s->next) {
		report_entry(s, &e);
		catalogue_live(catalogue_thread_get(d->r.catalogue), &e);
	}
}

static int
patterns_read(const json_t *request, const char *pattern[PATTERNS], unsigned *n,
	      struct fault *fault)
{
	const json_t *list = json_object_get(request, "patterns"), *item;
	size_t i;

	*n = 0;
	json_array_foreach(list, i, item) {
		if (!json_is_string(item) || i == PATTERNS)
			return fault_set(fault, -EINVAL, "usage",
					 "`patterns` has to be a list of up "
					 "to %d texts",
					 PATTERNS);
		pattern[(*n)++] = json_string_value(item);
	}
	return 0;
}

/* Returns the other keys of the answer: totals, and the name where the next
 * page begins. */
static json_t *
rest_json(struct daemon *d, const char *last)
{
	struct catalogue *c = catalogue_thread_get(d->r.catalogue);
	json_t *paths = json_array();
	struct catalogue_facts f;

	catalogue_facts(c, &f);
	for (unsigned i = 0; i < f.disks; i++)
		json_array_append_new(paths, json_string(catalogue_path(c, i)));
	return json_pack(
	    "{s:s?, s:o, s:i, s:I, s:I, s:o}", "more", *last ? last : NULL,
	    "disks", paths, "listed", (int)f.listed, "recordings_n",
	    (json_int_t)f.recordings, "unread", (json_int_t)f.unread, "space",
	    report_space(&d->r.disks));
}

static void
page_answer(struct daemon *d, struct server_ticket ticket, const char *page,
	    const char *last)
{
	json_t *rest = rest_json(d, last);
	char *tail = rest ? json_dumps(rest, JSON_COMPACT) : NULL;
	char *text = NULL;

	if (!page || !tail ||
	    asprintf(&text, "{\"rows\":%s,%s", page, tail + 1) < 0)
		text = NULL;
	server_answer_text(d->r.server, ticket, text);
	json_decref(rest);
	free(tail);
	free(text);
}

/* Returns of a recording's info the keys of INFO_BRIEF. */
static json_t *
brief_of(const json_t *info)
{
	json_t *brief = json_object();

	for (const struct key *k = info_keys; k->name; k++) {
		json_t *value = json_object_get(info, k->name);

		if (value && k->groups & INFO_BRIEF)
			json_object_set(brief, k->name, value);
	}
	return brief;
}

/* Lists the recordings that ended last, the last one first; NULL: none were asked
 * for. */
static json_t *
ended_json(const struct daemon *d, const json_t *asked)
{
	size_t i = json_array_size(d->r.ended);
	json_int_t left = json_integer_value(asked);
	json_t *list;

	if (!json_is_integer(asked))
		return NULL;
	list = json_array();
	for (; i-- && left > 0; left--)
		json_array_append_new(list,
				      brief_of(json_array_get(d->r.ended, i)));
	return list;
}

static json_t *
catalogue_json(struct daemon *d)
{
	struct catalogue_facts f;
	struct answer_catalogue c;

	catalogue_facts(catalogue_thread_get(d->r.catalogue), &f);
	c = (struct answer_catalogue){ .disks = f.disks,
				       .listed = f.listed,
				       .recordings = f.recordings,
				       .unread = f.unread,
				       .read = f.work.entries,
				       .whole = f.work.whole };
	return keys_json(catalogue_keys, &c, ANSWER);
}

static int
verb_ls(struct daemon *d, struct server_ticket ticket, const json_t *request,
	struct fault *fault)
{
	const char *pattern[PATTERNS];
	char last[LAYOUT_FILE];
	struct catalogue_query q = {
		.after = json_string_value(json_object_get(request, "after")),
		.pattern = pattern,
		.most = PAGE,
	};
	int err = patterns_read(request, pattern, &q.patterns, fault);
	char *page;

	if (err)
		return err;
	count_running(d);
	page = catalogue_page(catalogue_thread_get(d->r.catalogue), &q, last);
	page_answer(d, ticket, page, last);
	free(page);
	return 0;
}

/* ---- map ------------------------------------------------------------- */

enum { LOST_MOST = 1024 };

/* Finds the session or the incoming copy of that name. */
static bool
of_name(struct daemon *d, const char *name, struct live_tap_of *of)
{
	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (strcmp(s->name, name) != 0 || s->state == SESSION_ARMED ||
		    s->state == SESSION_ENDED || s->cancelled)
			continue;
		*of = (struct live_tap_of){ .id = s->id,
					    .output = s->output,
					    .pool = s->input->pool };
		return true;
	}
	return inbox_find(d->inbox, name, of);
}

static json_t *
facts(const struct live_tap_of *of, uint64_t from)
{
	struct output *o = of->output;
	struct output_stretch lost[LOST_MOST];
	uint64_t floor, end;
	unsigned n = output_floor(o, from, &floor, lost, LOST_MOST);
	bool over = output_over(o, &end);
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, json_pack("[I, I]",
						      (json_int_t)lost[i].from,
						      (json_int_t)lost[i].to));
	return json_pack(
	    "{s:I, s:I, s:o, s:b, s:o}", "first", (json_int_t)o->first_number,
	    "floor", (json_int_t)floor, "end",
	    of->copied ? json_null() : json_integer((json_int_t)end), "over",
	    (int)over, "lost", list);
}

static void
answer(struct daemon *d, struct server_ticket ticket,
       const struct live_tap_of *of, json_t *result)
{
	const struct shm_page *page = d->r.live_taps.page;
	int fd[2] = { -1, -1 };
	uint64_t bytes;

	json_object_set_new(result, "recording", json_integer(of->id));
	if (page) {
		arena_memory(d->r.arena, &bytes);
		fd[0] = arena_fd(d->r.arena);
		fd[1] = shm_page_fd(page);
		json_object_set_new(result, "arena_bytes",
				    json_integer((json_int_t)bytes));
		json_object_set_new(
		    result, "page_bytes",
		    json_integer((json_int_t)shm_page_bytes(page)));
	}
	server_answer_fds(d->r.server, ticket, result, fd, page ? 2 : 0);
}

/* verbs.c */
static int
verb_map(struct daemon *d, struct server_ticket ticket, const json_t *request,
	 struct fault *fault)
{
	const char *name = json_string_value(json_object_get(request, "name"));
	const json_t *from = json_object_get(request, "from");
	struct live_tap_of of;
	int err;

	if (!name || (from && !json_is_integer(from)) ||
	    json_integer_value(from) < 0)
		return fault_set(fault, -EINVAL, "usage",
				 "map takes a name, and a number to begin "
				 "from");
	if (!of_name(d, name, &of))
		return fault_set(fault, -ENOENT, "not-found",
				 "'%.80s' is not being recorded", name);
	err = live_tap_ask(&d->r, &of, ticket, clock_steady());
	if (err)
		return fault_set(fault, err, "no-memory",
				 "cannot follow '%.80s': %s", name,
				 strerror(-err));
	answer(d, ticket, &of, facts(&of, (uint64_t)json_integer_value(from)));
	return 0;
}

/* ---- probe ----------------------------------------------------------- */

#define SPAN_DEFAULT INT64_C(3000000000)
#define SPAN_MOST    INT64_C(600000000000)

/* Returns the counts of the stream's sessions. */
static json_t *
recorded_json(struct daemon *d, const struct stream *stream, const char *name)
{
	json_t *list = json_array();

	for (struct session *s = d->r.sessions; s; s = s->next) {
		if (!strcmp(s->stream->name, stream->name))
			json_array_append_new(list, report_info(s, NULL));
	}
	return json_pack("{s:s, s:s, s:s, s:o}", "stream", stream->name,
			 "format", stream->o.format, "recording", name,
			 "recordings", list);
}

/* Returns the name of the stream's recording that runs, else of one that is
 * armed, or NULL.  Compares names: after a reload the stream may be another
 * object. */
static const char *
recording_of(const struct daemon *d, const struct stream *stream)
{
	const char *armed = NULL;

	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (strcmp(s->stream->name, stream->name))
			continue;
		if (s->state != SESSION_ARMED)
			return s->input->name;
		armed = s->input->name;
	}
	return armed;
}

static int
span_read(const json_t *request, int64_t *span, struct fault *fault)
{
	const json_t *value = json_object_get(request, "for");
	const char *text = json_string_value(value);

	*span = SPAN_DEFAULT;
	if (!value || json_is_null(value))
		return 0;
	if (!text || units_span(text, span) < 0 || *span <= 0 ||
	    *span > SPAN_MOST) {
		fault_set(fault, -EINVAL, "usage",
			  "`for` has to be a span of time, up to 10m");
		fault_hint(fault, "write it as 3s or 1m");
		return -EINVAL;
	}
	return 0;
}

static int
probed_already(const struct daemon *d, const struct stream *stream,
	       struct fault *fault)
{
	for (const struct probe *p = d->r.probes; p; p = p->next) {
		if (strcmp(p->stream->name, stream->name))
			continue;
		fault_set(fault, -EBUSY, "busy",
			  "stream %s is being probed already", stream->name);
		fault_hint(fault, "try again in a few seconds");
		return -EBUSY;
	}
	return 0;
}

/* verbs.c */
static int
verb_probe(struct daemon *d, struct server_ticket ticket, const json_t *request,
	   struct fault *fault)
{
	const char *name =
	    json_string_value(json_object_get(request, "stream"));
	struct stream *stream = name ? setup_stream(&d->r.setup, name) : NULL;
	const char *recording;
	struct probe *p;
	int64_t span;
	int err = span_read(request, &span, fault);

	if (err)
		return err;
	if (!stream)
		return setup_stream_unknown(&d->r.setup, name ? name : "?",
					    fault);
	recording = recording_of(d, stream);
	if (recording) {
		server_answer(d->r.server, ticket,
			      recorded_json(d, stream, recording));
		return 0;
	}
	err = probed_already(d, stream, fault);
	if (!err)
		err = probe_begin(&p, stream, span, d->r.host.wake,
				  d->r.host.arg, fault);
	if (err)
		return err;
	p->ticket = ticket;
	p->next = d->r.probes;
	d->r.probes = p;
	return 0;
}

/* ---- the rest -------------------------------------------------------- */

/* ---- waiting --------------------------------------------------------- */

static void
waiter_add(struct daemon *d, struct server_ticket ticket, const char *group,
	   bool stop)
{
	struct waiter *w = calloc(1, sizeof *w);
	struct fault fault = { 0 };

	if (!w) {
		fault_no_memory(&fault);
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
	       !strcmp(s->input->name, name) || (*name && !*end && s->id == id);
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
			json_array_append_new(list, report_info(s, NULL));
	}
	snprintf(prefix, sizeof prefix, "%.79s_ds", name);
	json_array_foreach(d->r.ended, i, info) {
		if (ended && ended_is(info, name, prefix))
			json_array_append(list, info);
	}
	return list;
}

/* True if another recorder has a name of the group. */
static bool
group_taken(const struct daemon *d, const char *group)
{
	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (!strcmp(s->group, group) && s->taken)
			return true;
	}
	return false;
}

static void
refuse_failed(struct daemon *d, const struct waiter *w)
{
	struct fault fault = { 0 };
	char why[300] = "";
	size_t at = 0;

	if (group_taken(d, w->group)) {
		fault_set(&fault, -EEXIST, "exists",
			  "cannot record %s: the name is taken", w->group);
		fault_why(&fault, "another recorder began it at the same time");
		fault_hint(&fault, "choose another name");
		server_refuse(d->r.server, w->ticket, &fault);
		return;
	}
	fault_set(&fault, -EIO, "no-disk",
		  "cannot record %s: no disk could take it", w->group);
	for (unsigned i = 0; i < d->r.disks.n && at < sizeof why; i++) {
		struct writer *of = disk_set_writer(&d->r.disks, i);
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
			      json_pack("{s:s, s:o}", "name", w->group,
					"recordings",
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

/* True if the request does not want to wait for what it began. */
static bool
is_hurried(const json_t *request)
{
	return json_is_false(json_object_get(request, "wait"));
}

/* Ends the probes of the configured streams that variants are made of. */
static void
probes_end(struct daemon *d, const json_t *request)
{
	const json_t *list = json_object_get(request, "streams"), *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *name =
		    json_string_value(json_object_get(item, "stream"));

		if (name)
			probes_step(&d->r, setup_stream(&d->r.setup, name));
	}
}

/* Logs each stream that is not as configured: if nothing is received, that may
 * be the reason. */
static void
variants_log(struct daemon *d, const struct order *o)
{
	for (unsigned i = 0; i < o->streams; i++) {
		const struct stream *s = o->stream[i];

		if (setup_stream(&d->r.setup, s->name) == s)
			continue;
		log_line(LEVEL_INFO, o->name,
			 "stream %s has settings%s%s: %s, %u + %u bytes, "
			 "layout %s, from %s%s",
			 s->name, o->by[0] ? " from " : "", o->by, s->o.format,
			 s->o.prefix, s->o.payload, s->o.layout,
			 s->listen.n ? s->listen.text[0] : s->o.receive,
			 s->listen.n > 1 ? ", ..." : "");
	}
}

/* Replaces the fault of ports or memory that a recording which is ending gives
 * back in a moment. */
static int
again(const struct daemon *d, int err, struct fault *fault)
{
	bool ends = false;

	for (const struct session *s = d->r.sessions; s; s = s->next)
		ends |=
		    s->state > SESSION_RECORDING && s->state < SESSION_ENDED;
	if (ends && (err == -EADDRINUSE || err == -ENOMEM))
		fault->code = "again";
	return err;
}

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
		err = transfer_url_check(&d->transfers, o.name, o.send, false,
					 fault);
	if (!err)
		err = order_check(&o, &d->r, fault);
	if (err)
		return err;
	probes_end(d, request);
	err = order_begin(&d->r, &o, fault);
	if (err)
		return again(d, err, fault);
	variants_log(d, &o);
	if (is_hurried(request))
		server_answer(d->r.server, ticket,
			      json_pack("{s:s, s:o}", "name", o.name,
					"recordings", infos(d, o.name, false)));
	else
		waiter_add(d, ticket, o.name, false);
	return 0;
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
nothing_named(const char *name, struct fault *fault)
{
	fault_set(fault, -ENOENT, "not-found",
		  "nothing named '%.80s' is being recorded or sent",
		  name ? name : "");
	fault_hint(fault, "'spate status' shows what is");
	return -ENOENT;
}

/* Stops the recordings of an order.  Streams that were started together stop
 * together. */
static void
group_stop(struct daemon *d, struct server_ticket ticket, const char *group,
	   const json_t *request)
{
	for (struct session *s = d->r.sessions; s; s = s->next) {
		if (!strcmp(s->group, group))
			session_stop(s, verb_is_vsi(request) ? "record=off"
							     : "stop");
	}
	if (is_hurried(request))
		server_answer(d->r.server, ticket,
			      json_pack("{s:[]}", "recordings"));
	else
		waiter_add(d, ticket, group, true);
}

/* Stops the recordings of exactly this name, and nothing else of it. */
static int
recording_stop(struct daemon *d, struct server_ticket ticket, const char *name,
	       const json_t *request, struct fault *fault)
{
	for (const struct session *s = d->r.sessions; name && s; s = s->next) {
		if (strcmp(s->group, name))
			continue;
		group_stop(d, ticket, name, request);
		return 0;
	}
	return nothing_named(name, fault);
}

static int
do_stop(struct daemon *d, struct server_ticket ticket, const json_t *request,
	struct fault *fault)
{
	const char *name = json_string_value(json_object_get(request, "name"));
	char group[80] = "", scan[16] = "";

	if (json_object_get(request, "send"))
		return verb_stop_one(d, ticket, request, fault);
	if (json_is_true(json_object_get(request, "recording")))
		return recording_stop(d, ticket, name, request, fault);
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
	if (!group[0])
		return nothing_named(name, fault);
	group_stop(d, ticket, group, request);
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
				 "the daemon knows no recording '%.80s'",
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
	const json_t *asked = json_object_get(request, "streams"), *item;
	struct stream *const *stream = d->r.setup.stream;
	struct stream *some[ORDER_STREAMS];
	unsigned n = asked ? 0 : d->r.setup.streams;
	json_t *list;
	int err = 0;
	size_t i;

	json_array_foreach(asked, i, item) {
		stream = some;
		if (n == ORDER_STREAMS)
			return fault_set(fault, -EINVAL, "usage",
					 "too many streams");
		err =
		    setup_vary(&d->r.setup, item, disk_set_writers(&d->r.disks),
			       &some[n++], fault);
		if (err)
			return err;
	}
	if (asked)
		err = setup_streams_fit(&d->r.setup, stream, n, fault);
	if (err)
		return err;
	list = report_streams(&d->r, stream, n);
	if (!list)
		return fault_no_memory(fault);
	server_answer(d->r.server, ticket, json_pack("{s:o}", "streams", list));
	return 0;
}

/* ---- keep ------------------------------------------------------------ */

enum { KEPT_MOST = 16, KEPT_BYTES = 1 << 19 };

static bool
is_short(const json_t *value)
{
	return json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) <=
	       KEPT_BYTES;
}

static int
do_keep(struct daemon *d, struct server_ticket ticket, const json_t *request,
	struct fault *fault)
{
	const char *name = json_string_value(json_object_get(request, "name"));
	json_t *value = json_object_get(request, "value"), *kept;

	if (!name || !*name || strlen(name) > 64)
		return fault_set(
		    fault, -EINVAL, "usage",
		    "keep takes a name of up to 64 characters, and "
		    "a value");
	if (value && json_is_null(value))
		json_object_del(d->kept, name);
	else if (value && !is_short(value))
		return fault_set(fault, -EMSGSIZE, "usage",
				 "a value of %d KiB at most is kept",
				 KEPT_BYTES >> 10);
	else if (value && !json_object_get(d->kept, name) &&
		 json_object_size(d->kept) >= KEPT_MOST)
		return fault_set(fault, -ENOSPC, "busy",
				 "%d values are kept already", KEPT_MOST);
	else if (value && json_object_set(d->kept, name, value))
		return fault_no_memory(fault);
	kept = json_object_get(d->kept, name);
	server_answer(d->r.server, ticket,
		      json_pack("{s:s, s:O?}", "name", name, "value", kept));
	return 0;
}

/* Returns the losses of each card, and of the machine, since the daemon was
 * started. */
static json_t *
kernel_since(struct kernel *k, const struct kernel *now)
{
	const char **name = calloc(k->devices + 1, sizeof *name);
	json_t *lost;

	for (unsigned i = 0; name && i < k->devices; i++)
		name[i] = k->device[i].name;
	lost = kernel_lost(k, now, name, name ? k->devices : 0);
	free(name);
	return lost;
}

static int
do_status(struct daemon *d, struct server_ticket ticket, const json_t *request,
	  struct fault *fault)
{
	bool brief = json_is_true(json_object_get(request, "brief"));
	struct kernel kernel;
	struct answer_status status;

	kernel_look(&kernel);
	status = (struct answer_status){
		.version = PACKAGE_VERSION,
		.station = d->r.setup.o.station,
		.pid = (uint64_t)getpid(),
		.started = d->started_ns,
		.uptime_s = (double)(clock_steady() - d->started) / 1e9,
		.memory = report_memory(d->r.arena),
		.recordings = json_array(),
		.sends = transfers_json(&d->transfers),
		.sends_n = transfers_running(&d->transfers),
		.sends_failed = d->transfers.failed,
		.inbox = inbox_json(d->inbox),
		.disks = report_disks(&d->r.disks),
		.streams_n = d->r.setup.streams,
		.space = report_space(&d->r.disks),
		.catalogue = catalogue_json(d),
		.ended = ended_json(d, json_object_get(request, "ended")),
		.kernel = kernel_since(&d->kernel, &kernel),
	};

	(void)fault;
	for (struct session *s = d->r.sessions; s; s = s->next)
		json_array_append_new(status.recordings,
				      brief ? report_brief(s)
					    : report_info(s, &kernel));
	kernel_clear(&kernel);
	server_answer(d->r.server, ticket,
		      keys_json(status_keys, &status, ANSWER));
	return 0;
}

void
daemon_ask(void *arg, struct server_ticket ticket, const char *verb,
	   const json_t *request)
{
	enum { VSI = 1, WEB = 2 }; /* spate-vsi, spate-web */
	static const struct {
		const char *verb;
		int (*act)(struct daemon *d, struct server_ticket ticket,
			   const json_t *request, struct fault *fault);
		unsigned may; /* users of services that may ask for it */
	} table[] = {
		{ "record", do_record, VSI },
		{ "scan", verb_scan, 0 },
		{ "stop", do_stop, VSI },
		{ "info", do_info, VSI },
		{ "status", do_status, VSI | WEB },
		{ "streams", do_streams, VSI | WEB },
		{ "keep", do_keep, VSI },
		{ "reload", verb_reload, 0 },
		{ "disks", verb_disks, VSI | WEB },
		{ "disks-add", verb_disks_add, 0 },
		{ "disks-drop", verb_disks_drop, 0 },
		{ "probe", verb_probe, 0 },
		{ "schedule-ls", verb_schedule_ls, WEB },
		{ "schedule-add", verb_schedule_add, 0 },
		{ "schedule-rm", verb_schedule_rm, 0 },
		{ "schedule-check", verb_schedule_check, 0 },
		{ "ls", verb_ls, VSI | WEB },
		{ "map", verb_map, 0 },
		{ "rm", verb_rm, 0 },
		{ "protect", verb_protect, 0 },
		{ "look", verb_look, 0 },
		{ "send", verb_send, VSI },
		{ "relay", verb_relay, 0 },
		{ "sends", verb_sends, VSI | WEB },
		{ "rate", verb_rate, 0 },
		{ "pause", verb_pause, 0 },
		{ "resume-send", verb_resume_send, 0 },
	};
	struct daemon *d = arg;
	uid_t user = server_user(d->r.server, ticket);
	bool vsi = d->vsi_user && user == d->vsi_user;
	bool web = d->web_user && user == d->web_user;
	unsigned is = vsi ? VSI : web ? WEB : 0;
	struct fault fault = { 0 };
	int err;

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (strcmp(table[i].verb, verb))
			continue;
		/* `at` makes it an entry of the schedule. */
		err = is && (!(table[i].may & is) ||
			     json_object_get(request, "at"))
			  ? fault_set(&fault, -EPERM, "usage",
				      "%s has no right to '%s'",
				      vsi ? "spate-vsi" : "spate-web", verb)
			  : table[i].act(d, ticket, request, &fault);
		if (err < 0)
			server_refuse(d->r.server, ticket, &fault);
		return;
	}
	fault_set(&fault, -ENOTSUP, "usage",
		  "this spated does not know '%.80s'", verb);
	server_refuse(d->r.server, ticket, &fault);
}
