/* SPDX-License-Identifier: MIT */
/*
 * A recording ordered over VSI-S is an ordinary order: it shares streams with
 * scans of the schedule, `spate status` lists it, and `spate stop` ends it.
 *
 * The streams are made when a setting changes, and kept: so a stream that has
 * learned its frame rate, or that is still being flushed, serves the next scan
 * too.  After the configuration was read again they are made anew with the next
 * recording.
 *
 * The numbers are those of `spate info`: this file reads the same JSON, of
 * sessions that run and of those that have ended.
 *
 * A recording of several streams has parts, NAME_ds<stream>.  "_ds" always
 * begins a part, since names that contain it are refused.
 */
#include "vsi/vsi_daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/conf/stream_vary.h"
#include "daemon/requests/daemon.h"
#include "daemon/sessions/order.h"
#include "daemon/sessions/report.h"
#include "daemon/transfers/transfer.h"
#include "vsi/vsi.h"
#include "vsi/vsi_server.h"
#include "vsi/vsi_streams.h"

/*
 * Facts of a recording, all of its parts together, from where they are known: a
 * running session, the list of recordings that ended since the daemon began,
 * else the catalogue.  The last answer is kept for a tenth of a second, so that
 * frequent queries cost little.
 */
struct vsi_facts_kept {
	char name[VSI_NAME];
	int64_t until; /* steady ns */
	struct vsi_facts f;
};

/* ---- facts ----------------------------------------------------------- */

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
	struct catalogue *c = catalogue_thread_get(d->r.catalogue);
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

static void
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

/* ---- the host -------------------------------------------------------- */

enum { RUNTIMES = 32, RUNTIME_NAME = 32 };
#define PATIENCE (10 * NS_SECOND) /* for m5copy to connect */
#define NOTHING_LEFT                                                           \
	"has nothing of what was chosen" /* a text of flow/send/sender.c */

/*
 * A runtime, as in jive5ab: settings and the jobs made with them, shared by all
 * clients that chose it.
 */
struct runtime {
	struct vsi_daemon *of;
	uint32_t number; /* a different one for each; 0: the default runtime */
	char name[RUNTIME_NAME];
	uint32_t owner; /* client that it ends with ("transient"); 0: none */
	struct vsi v;
	struct vsi_streams made;
	struct vsi_facts_kept kept;
	struct runtime *next; /* links vsi_daemon::runtimes or
			       * vsi_daemon::ended */
};

struct vsi_daemon {
	struct daemon *d;
	struct conf *conf; /* held: the server points to its texts */
	struct vsi_server *server;
	struct runtime *runtimes; /* newest first; the last one is the
				   * default runtime, number 0 */
	struct runtime *ended;	  /* to be freed after the command: a runtime
				   * may delete itself */
	uint32_t numbers;
};

/* ---- recording ------------------------------------------------------- */

static int
host_settle(void *arg, const struct vsi_settings *set, struct fault *fault)
{
	struct runtime *t = arg;
	struct daemon *d = t->of->d;
	struct vsi_streams made;
	int err = vsi_streams_make(&made, &t->made, &d->r.setup, set,
				   disk_set_writers(&d->r.disks), fault);

	if (err)
		return err;
	vsi_streams_clear(&t->made);
	t->made = made;
	return 0;
}

/*
 * Tells whether a session is ending, which frees ports and memory in a moment.
 */
static bool
is_ending(const struct daemon *d)
{
	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (s->state > SESSION_RECORDING && s->state < SESSION_ENDED)
			return true;
	}
	return false;
}

/*
 * Ends probes (`spate probe`) of the VSI-S streams, which hold their ports for
 * seconds.
 */
static void
probes_end(struct daemon *d)
{
	const struct option_texts *streams = &d->r.setup.vsi.streams;

	for (unsigned i = 0; i < streams->n; i++) {
		struct stream *s = setup_stream(&d->r.setup, streams->text[i]);

		if (s)
			probes_step(&d->r, s);
	}
}

static int
host_record(void *arg, char name[VSI_NAME], bool rename, struct fault *fault)
{
	struct runtime *t = arg;
	struct daemon *d = t->of->d;
	struct order o = { .flags = ORDER_SHARE };
	int err = 0;

	if (d->r.stopping)
		return fault_set(fault, -ESHUTDOWN, "busy",
				 "the daemon is stopping");
	if (!t->made.n || t->made.conf != d->r.setup.conf)
		err = host_settle(t, &t->v.set, fault);
	if (err)
		return err;
	if (rename)
		o.flags |= ORDER_RENAME;
	o.streams = t->made.n;
	memcpy(o.stream, t->made.stream, o.streams * sizeof *o.stream);
	snprintf(o.name, sizeof o.name, "%s", name);
	err = order_check(&o, &d->r, fault);
	if (!err)
		probes_end(d);
	if (!err)
		err = order_begin(&d->r, &o, fault);
	if (!err) {
		snprintf(name, VSI_NAME, "%s", o.name);
		vsi_streams_tell(&t->made, name);
	}
	return (err == -EADDRINUSE || err == -ENOMEM) && is_ending(d) ? -EAGAIN
								      : err;
}

static void
host_stop(void *arg, const char *name)
{
	const struct runtime *t = arg;

	for (struct session *s = t->of->d->r.sessions; s; s = s->next) {
		if (!strcmp(s->group, name))
			session_stop(s, "record=off");
	}
}

static bool
host_runs(void *arg, const char *name)
{
	const struct runtime *t = arg;

	for (const struct session *s = t->of->d->r.sessions; s; s = s->next) {
		if ((!strcmp(s->group, name) || !strcmp(s->name, name)) &&
		    s->state <= SESSION_RECORDING)
			return true;
	}
	return false;
}

static void
host_facts(void *arg, const char *name, struct vsi_facts *f)
{
	struct runtime *t = arg;

	vsi_facts_take(&t->kept, t->of->d, name, f);
}

/* ---- disks and streams ----------------------------------------------- */

static void
host_space(void *arg, struct vsi_space *s)
{
	const struct runtime *t = arg;
	struct daemon *d = t->of->d;
	struct catalogue_facts facts;
	struct disk_set_space space;

	disk_set_space(&d->r.disks, &space);
	catalogue_facts(catalogue_thread_get(d->r.catalogue), &facts);
	*s = (struct vsi_space){ .total = space.total,
				 .free = space.free,
				 .disks = space.disks,
				 .recordings = facts.recordings };
	for (unsigned i = 0; i < t->made.n; i++)
		s->rate += (double)t->made.stream[i]->o.rate;
	if (s->rate <= 0)
		s->rate = space.rate * 8;
}

static const char *
host_disk(void *arg, unsigned n)
{
	const struct disk_set *f = &((struct runtime *)arg)->of->d->r.disks;

	for (unsigned i = 0; i < f->n; i++) {
		if (disk_set_writer(f, i) && n-- == 0)
			return disk_set_path(f, i);
	}
	return NULL;
}

/* Describes the first stream. */
static const char *
host_format(void *arg, uint32_t *payload, uint32_t *prefix, uint16_t *port)
{
	struct runtime *t = arg;
	struct setup *setup = &t->of->d->r.setup;
	struct stream *s = setup_stream(setup, setup->vsi.streams.text[0]);
	size_t host;

	*payload = s ? s->o.payload : 0;
	*prefix = s ? s->o.prefix : 0;
	*port =
	    s && s->listen.n ? stream_vary_port(s->listen.text[0], &host) : 0;
	return s ? s->o.format : "";
}

/* ---- sending --------------------------------------------------------- */

static int
order_make(struct transfer_order *o, struct daemon *d, const struct vsi_send *s)
{
	char to[600];

	transfer_order_init(o, d->r.setup.send);
	snprintf(o->name, sizeof o->name, "%s", s->name);
	if (s->host)
		snprintf(to, sizeof to, "tcp://%s:%u", s->host, s->port);
	else
		snprintf(to, sizeof to, "file:%s", s->path);
	o->plain = s->plain;
	o->choice.from_byte = s->from;
	o->choice.to_byte = s->to;
	o->patience = PATIENCE;
	o->follow = true;
	o->to = strdup(to);
	if (!s->host)
		o->file = transfer_file_make(s->fd);
	if (o->to && (s->host || o->file))
		return 0;
	if (!s->host && !o->file)
		close(s->fd);
	transfer_order_clear(o);
	return -ENOMEM;
}

static int
host_send(void *arg, const struct vsi_send *s, unsigned *id,
	  struct fault *fault)
{
	struct daemon *d = ((struct runtime *)arg)->of->d;
	struct transfer_order o;
	struct transfer *t;
	int err = order_make(&o, d, s);

	if (err)
		return fault_set(fault, err, "no-memory", "out of memory");
	err = transfer_add(&d->transfers, &o, &t, fault);
	if (!err)
		*id = t->id;
	return err;
}

/* Finds an ended transfer in the list of remembered ones. */
static void
sent_before(struct vsi_sent *s, const struct daemon *d, unsigned id)
{
	json_t *json;
	size_t i;

	json_array_foreach(d->transfers.ended, i, json) {
		const char *state, *why;

		if (json_integer_value(json_object_get(json, "id")) != id)
			continue;
		state = json_string_value(json_object_get(json, "state"));
		why = json_string_value(json_object_get(json, "why"));
		s->bytes = (uint64_t)json_integer_value(
		    json_object_get(json, "bytes"));
		s->failed = !state || strcmp(state, "done");
		s->nothing = why && strstr(why, NOTHING_LEFT);
		snprintf(s->why, sizeof s->why, "%.300s", why ? why : "");
	}
}

static void
host_sent(void *arg, unsigned id, struct vsi_sent *s)
{
	struct daemon *d = ((struct runtime *)arg)->of->d;
	struct transfer *t = transfer_find(&d->transfers, id);

	*s = (struct vsi_sent){ .runs = t };
	if (!t) {
		sent_before(s, d, id);
		return;
	}
	if (t->step == TRANSFER_RUNNING)
		t->ops->facts(t->run, &t->facts);
	s->bytes = t->facts.bytes;
}

static void
host_unsend(void *arg, unsigned id)
{
	struct daemon *d = ((struct runtime *)arg)->of->d;
	struct transfer *t = transfer_find(&d->transfers, id);

	if (t)
		transfer_stop(&d->transfers, t, "it was ended over VSI-S");
}

static bool
host_inbox(void *arg, uint16_t port)
{
	const struct option_texts *listen =
	    &((struct runtime *)arg)->of->d->r.setup.inbox.listen;
	size_t host;

	for (unsigned i = 0; i < listen->n; i++) {
		if (stream_vary_port(listen->text[i], &host) == port)
			return true;
	}
	return false;
}

/* ---- runtimes -------------------------------------------------------- */

/* Finds a runtime by name; jive5ab calls the first one "default", or "0". */
static struct runtime *
runtime_named(struct vsi_daemon *vsi, const char *name)
{
	struct runtime *t = vsi->runtimes;

	while (t && strcmp(t->name, strcmp(name, "0") ? name : "default"))
		t = t->next;
	return t;
}

static struct runtime *
runtime_of(struct vsi_daemon *vsi, const struct vsi_command *c)
{
	struct runtime *t = vsi->runtimes;

	while (t->next && t->number != *c->runtime)
		t = t->next;
	*c->runtime = t->number;
	return t;
}

static void runtime_do(void *arg, const struct vsi_command *c,
		       struct vsi_reply *r);

/* Adds a runtime in front of the list; NULL without memory. */
static struct runtime *
runtime_make(struct vsi_daemon *vsi, const char *name)
{
	struct vsi_host host = {
		.record = host_record,
		.stop = host_stop,
		.runs = host_runs,
		.facts = host_facts,
		.space = host_space,
		.disk = host_disk,
		.settle = host_settle,
		.format = host_format,
		.send = host_send,
		.sent = host_sent,
		.unsend = host_unsend,
		.inbox = host_inbox,
		.files = &vsi->d->r.setup.vsi.files,
		.allow = &vsi->d->r.setup.vsi.allow,
		.runtime = runtime_do,
		.version = vsi->d->r.setup.vsi.version,
	};
	struct runtime *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	host.arg = t;
	t->of = vsi;
	if (vsi->runtimes)
		t->number = ++vsi->numbers;
	snprintf(t->name, sizeof t->name, "%s", name);
	vsi_init(&t->v, &host);
	t->next = vsi->runtimes;
	vsi->runtimes = t;
	return t;
}

/* Ends a runtime and what it does; ended_free() frees it later. */
static void
runtime_end(struct vsi_daemon *vsi, struct runtime *t)
{
	struct runtime **at = &vsi->runtimes;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (!vsi->d->r.stopping && vsi_is_on(&t->v)) {
		log_line(LEVEL_WARN, "vsi",
			 "runtime %s has gone: its recording %s is stopped",
			 t->name, t->v.name);
		host_stop(t, t->v.name);
	}
	vsi_finish(&t->v);
	vsi_streams_clear(&t->made);
	t->next = vsi->ended;
	vsi->ended = t;
}

static void
ended_free(struct vsi_daemon *vsi)
{
	struct runtime *t;

	while ((t = vsi->ended)) {
		vsi->ended = t->next;
		free(t);
	}
}

static void
runtime_ask(struct vsi_daemon *vsi, const struct runtime *own,
	    struct vsi_reply *r)
{
	unsigned n = 0;

	for (const struct runtime *t = vsi->runtimes; t; t = t->next)
		n++;
	vsi_say(r, VSI_DONE, "%s : %u", own->name, n);
	for (const struct runtime *t = vsi->runtimes; t; t = t->next) {
		if (t != own)
			vsi_more(r, "%s", t->name);
	}
}

static bool
runtime_name_good(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

	return length && !name[length] && length < RUNTIME_NAME;
}

static struct runtime *
runtime_new(struct vsi_daemon *vsi, const struct vsi_command *c,
	    struct vsi_reply *r, const char **why)
{
	const char *name = vsi_field(c, 0);
	struct runtime *t;
	unsigned n = 0;

	(void)r;
	for (t = vsi->runtimes; t; t = t->next)
		n++;
	*why = "a runtime's name has up to 31 letters, digits, '_', '-', '.'";
	if (!runtime_name_good(name))
		return NULL;
	*why = "there are 32 runtimes already";
	if (n == RUNTIMES)
		return NULL;
	*why = "out of memory";
	t = runtime_make(vsi, name);
	if (t && !strcmp(vsi_field(c, 1), "transient"))
		t->owner = c->client;
	return t;
}

/*
 * Handles runtime=NAME[:new|exists|transient|delete]; without the second field
 * the runtime is made if it does not exist.
 */
static void
runtime_do(void *arg, const struct vsi_command *c, struct vsi_reply *r)
{
	struct runtime *own = arg, *t;
	struct vsi_daemon *vsi = own->of;
	const char *name = vsi_field(c, 0), *how = vsi_field(c, 1);
	const char *why = "";

	if (c->query) {
		runtime_ask(vsi, own, r);
		return;
	}
	t = runtime_named(vsi, name);
	if (*how && strcmp(how, "new") && strcmp(how, "exists") &&
	    strcmp(how, "transient") && strcmp(how, "delete")) {
		vsi_refuse(&own->v, c, r, VSI_PARAMETER,
			   "a runtime is new, exists, transient or delete");
		return;
	}
	if (t && (!strcmp(how, "new") || !strcmp(how, "transient"))) {
		vsi_refuse(&own->v, c, r, VSI_CONFLICT,
			   "'%.40s' already exists", name);
		return;
	}
	if (!t && (!strcmp(how, "exists") || !strcmp(how, "delete"))) {
		vsi_refuse(&own->v, c, r, VSI_CONFLICT, "'%.40s' doesn't exist",
			   name);
		return;
	}
	if (!strcmp(how, "delete")) {
		if (!t->next) {
			vsi_refuse(&own->v, c, r, VSI_CONFLICT,
				   "cannot delete the default runtime");
			return;
		}
		runtime_end(vsi, t);
		t = runtime_of(vsi, c);
	} else if (!t) {
		t = runtime_new(vsi, c, r, &why);
	}
	if (!t) {
		vsi_refuse(&own->v, c, r, VSI_CONFLICT, "%s", why);
		return;
	}
	*c->runtime = t->number;
	vsi_say(r, VSI_DONE, "%s", t->name);
}

static void
gone(void *arg, uint32_t client)
{
	struct vsi_daemon *vsi = arg;
	struct runtime *t, *next;

	for (t = vsi->runtimes; t; t = next) {
		next = t->next;
		if (t->owner == client)
			runtime_end(vsi, t);
	}
	ended_free(vsi);
}

/* ---- the server ------------------------------------------------------ */

static bool
command(void *arg, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_daemon *vsi = arg;
	bool done = vsi_command(&runtime_of(vsi, c)->v, c, r);

	ended_free(vsi);
	return done;
}

static void
ready(void *arg, short revents)
{
	struct vsi_daemon *vsi = arg;

	(void)revents;
	vsi_server_step(vsi->server);
}

static int
listen_begin(struct vsi_daemon *vsi, struct fault *fault)
{
	const struct vsi_conf *o = &vsi->d->r.setup.vsi;
	const struct vsi_server_args args = { .listen = o->listen,
					      .allow = o->allow,
					      .command = command,
					      .gone = gone,
					      .arg = vsi };
	struct daemon_fd fd = { .events = POLLIN, .ready = ready, .arg = vsi };
	int err = vsi_server_open(&vsi->server, &args, fault);

	if (err)
		return err;
	fd.fd = vsi_server_fd(vsi->server);
	if (daemon_fds_add(&vsi->d->r.fds, &fd) < 0)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	for (unsigned i = 0; i < o->listen.n; i++)
		log_line(LEVEL_INFO, "vsi", "takes commands on %s",
			 o->listen.text[i]);
	return 0;
}

int
vsi_daemon_open(struct vsi_daemon **out, struct daemon *d, struct fault *fault)
{
	struct vsi_daemon *vsi;
	int err;

	*out = NULL;
	if (!d->r.setup.vsi.listen.n)
		return 0;
	vsi = calloc(1, sizeof *vsi);
	if (!vsi)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	vsi->d = d;
	vsi->conf = conf_hold(d->r.setup.conf);
	err = runtime_make(vsi, "default")
		  ? listen_begin(vsi, fault)
		  : fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	if (!err)
		err = host_settle(vsi->runtimes, &vsi->runtimes->v.set, fault);
	if (err) {
		vsi_daemon_close(vsi);
		return err;
	}
	*out = vsi;
	return 0;
}

void
vsi_daemon_close(struct vsi_daemon *vsi)
{
	if (!vsi)
		return;
	if (vsi->server)
		daemon_fds_remove(&vsi->d->r.fds, vsi_server_fd(vsi->server));
	vsi_server_close(vsi->server);
	while (vsi->runtimes)
		runtime_end(vsi, vsi->runtimes);
	ended_free(vsi);
	conf_close(vsi->conf);
	free(vsi);
}
