/* SPDX-License-Identifier: MIT */
/*
 * A probe opens the receive plugin as a recording does, but accepts datagrams
 * of any length and keeps nothing: every call receives into the same memory.
 *
 * The thread owns the plugin instance and the sample until `over`.  The event
 * loop ends it by an eventfd, and joins it before it reads the result.
 */
#include "daemon/sessions/recorder.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/health/clock_watch.h"
#include "flow/receive/sample.h"

enum { BATCHES = 16, PASS_MS = 100, WINDOWS = 5 /* of a short look */ };

struct probe_look {
	struct stream *stream;
	struct format_shape shape;
	struct host log;
	struct receive_state *state;
	struct sample *sample;
	struct receive_pair pair[RECEIVE_BATCH];
	uint8_t *memory;     /* that the pairs point into */
	struct pollfd *poll; /* one per source; the last is `stop` */
	unsigned sources;
	struct clock_watch clock;    /* of the data */
	int64_t window;		     /* ns, steady: when the next one is due */
	int stop;		     /* eventfd, ends the thread */
	int64_t began, until, ended; /* ns, steady */
	void (*wake)(void *arg);
	void *arg;
	pthread_t thread;
	/* stored with release as the thread's last write; pairs with
	 * probe_over */
	atomic_bool over;
};

/* ---- the thread ------------------------------------------------------ */

static void
source_take(struct probe_look *l, unsigned source)
{
	const struct receive_ops *ops = l->stream->receive;
	unsigned sub = ops->sub ? ops->sub(l->state, source) : 0;
	struct receive_batch b = { .pair = l->pair };
	int64_t now = clock_now();

	for (unsigned i = 0; i < BATCHES; i++) {
		b.pairs = b.room = b.want = RECEIVE_BATCH;
		b.packets = 0;
		b.known = b.again = false;
		b.stamps = b.card = true;
		if (ops->receive(l->state, source, &b) < 0) {
			l->poll[source].fd = -1;
			return;
		}
		for (unsigned k = 0; k < b.packets; k++)
			sample_packet(l->sample, sub, &b.packet[k], now);
		if (!b.packets && !b.again)
			return;
	}
}

/* Takes a window of the data's clock once a second, and more often in a short
 * look: a thread is apart after three. */
static void
clock_take(struct probe_look *l, int64_t now)
{
	int64_t each = (l->until - l->began) / WINDOWS;
	struct data_clock_window w;
	bool stepped;

	l->window = now + (each < NS_SECOND ? each : NS_SECOND);
	sample_window(l->sample, &w);
	w.offset = clock_now() - now;
	clock_watch_look(&l->clock, &w, l->stream->o.max_clock, &stepped);
}

static void *
look_run(void *arg)
{
	struct probe_look *l = arg;
	int64_t now;

	pthread_setname_np(pthread_self(), "spate-probe");
	while ((now = clock_steady()) < l->until) {
		int64_t left = (l->until - now) / 1000000 + 1;

		if (now >= l->window)
			clock_take(l, now);
		if (poll(l->poll, l->sources + 1,
			 left < PASS_MS ? (int)left : PASS_MS) < 0 &&
		    errno != EINTR)
			break;
		if (l->poll[l->sources].revents)
			break;
		for (unsigned i = 0; i < l->sources; i++) {
			if (l->poll[i].fd >= 0 && l->poll[i].revents)
				source_take(l, i);
		}
	}
	l->ended = clock_steady();
	clock_take(l, l->ended);
	atomic_store_explicit(&l->over, true, memory_order_release);
	l->wake(l->arg);
	return NULL;
}

/* ---- opening --------------------------------------------------------- */

/* Makes the buffers for one call.  Heaps: the whole packet lands in the payload
 * buffer, because the length of its header varies. */
static int
pairs_make(struct probe_look *l)
{
	bool heaps = l->stream->format->piece;
	uint32_t prefix = heaps ? 0 : l->shape.prefix;
	uint32_t payload = heaps ? STREAM_DATAGRAM : l->shape.payload;
	uint64_t each = ((uint64_t)prefix + payload + 63) / 64 * 64;

	l->memory = malloc(RECEIVE_BATCH * each);
	if (!l->memory)
		return -ENOMEM;
	for (unsigned i = 0; i < RECEIVE_BATCH; i++) {
		uint8_t *at = l->memory + i * each;

		l->pair[i] =
		    (struct receive_pair){ at, at + prefix, prefix, payload };
	}
	return 0;
}

static int
sockets_open(struct probe_look *l, struct fault *fault)
{
	const struct stream *s = l->stream;
	char why[320] = "";
	struct receive_args args = { .host = &l->log,
				     .options = s->receive_options,
				     .prefix = l->pair[0].prefix_bytes,
				     .payload = l->pair[0].payload_bytes,
				     .longest = STREAM_DATAGRAM,
				     .senders = true,
				     .shares = 1,
				     .format = s->format,
				     .shape = &l->shape,
				     .why = why,
				     .why_bytes = sizeof why };
	int err = s->receive->open(&l->state, &args);

	if (!err)
		return 0;
	l->state = NULL;
	fault_set(fault, err, err == -EADDRINUSE ? "busy" : "io",
		  "cannot probe stream %s", s->name);
	fault_why(fault, "%s", why[0] ? why : strerror(-err));
	return err;
}

static int
polls_make(struct probe_look *l)
{
	const struct receive_ops *ops = l->stream->receive;

	l->sources = ops->sources(l->state);
	l->poll = calloc(l->sources + 1, sizeof *l->poll);
	l->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!l->poll || l->stop < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < l->sources; i++)
		l->poll[i] = (struct pollfd){ ops->fd(l->state, i), POLLIN, 0 };
	l->poll[l->sources] = (struct pollfd){ l->stop, POLLIN, 0 };
	return 0;
}

static void
look_free(struct probe_look *l)
{
	if (l->state)
		l->stream->receive->close(l->state);
	if (l->stop >= 0)
		close(l->stop);
	sample_free(l->sample);
	stream_drop(l->stream);
	free(l->poll);
	free(l->memory);
	free(l);
}

static int
look_open(struct probe_look *l, struct fault *fault)
{
	struct sample_args args = { .format = l->stream->format,
				    .shape = &l->shape,
				    .subs = l->stream->plan.subs };
	int err = pairs_make(l);

	if (!err)
		err = sample_make(&l->sample, &args);
	if (!err) {
		err = sockets_open(l, fault);
		if (err)
			return err;
		err = polls_make(l);
	}
	if (!err)
		err = -pthread_create(&l->thread, NULL, look_run, l);
	if (err)
		return fault_set(fault, err, "no-memory", "out of memory");
	return 0;
}

int
probe_begin(struct probe **probe, struct stream *stream, int64_t span,
	    void (*wake)(void *arg), void *arg, struct fault *fault)
{
	struct probe *p = calloc(1, sizeof *p);
	struct probe_look *l = calloc(1, sizeof *l);
	int err;

	if (!p || !l) {
		free(p);
		free(l);
		return fault_no_memory(fault);
	}
	l->stream = p->stream = stream_hold(stream);
	l->shape = stream->shape;
	l->shape.around = clock_now() / 1000000000;
	l->log = log_host(stream->name);
	l->stop = -1;
	l->wake = wake;
	l->arg = arg;
	l->began = clock_steady();
	l->until = l->began + span;
	l->window = l->began;
	p->look = l;
	err = look_open(l, fault);
	if (err) {
		look_free(l);
		free(p);
		return err;
	}
	*probe = p;
	return 0;
}

/* True if the thread has finished; any thread. */
static bool
probe_over(const struct probe *p)
{
	return atomic_load_explicit(&p->look->over, memory_order_acquire);
}

/* ---- the report ------------------------------------------------------ */

static json_t *
sources_json(struct probe_look *l, uint64_t *overruns)
{
	const struct receive_ops *ops = l->stream->receive;
	json_t *list = json_array();

	for (unsigned i = 0; i < l->sources; i++) {
		struct receive_counts c = { 0 };

		ops->counts(l->state, i, &c);
		*overruns += c.overruns;
		json_array_append_new(
		    list, json_pack("{s:s?, s:s?, s:s?, s:I, s:I}", "address",
				    c.address, "device", c.device, "sender",
				    c.sender[0] ? c.sender : NULL, "datagrams",
				    (json_int_t)c.datagrams, "overruns",
				    (json_int_t)c.overruns));
	}
	return list;
}

/* Adds what is known of the data's clock; a hint, if it is wrong. */
static void
clock_tell(const struct probe_look *l, json_t *seen)
{
	const struct clock_watch *w = &l->clock;
	double spread = data_clock_spread(&w->clock);
	const char *fault = clock_wrong_name(w->wrong);
	int64_t behind;

	json_object_set_new(seen, "clock_s",
			    data_clock_behind(&w->clock, &behind)
				? json_real((double)behind / 1e9)
				: json_null());
	json_object_set_new(seen, "clock_spread_s",
			    isnan(spread) ? json_null() : json_real(spread));
	json_object_set_new(seen, "clock_fault",
			    fault ? json_string(fault) : json_null());
	if (fault)
		json_array_append_new(json_object_get(seen, "hints"),
				      json_string(w->why));
}

static json_t *
look_json(struct probe_look *l)
{
	int64_t span = l->ended - l->began;
	json_t *seen = sample_json(l->sample, span);
	uint64_t overruns = 0;
	json_t *sources = sources_json(l, &overruns);

	if (!seen) {
		json_decref(sources);
		return NULL;
	}
	json_object_set_new(seen, "stream", json_string(l->stream->name));
	json_object_set_new(seen, "format", json_string(l->stream->o.format));
	json_object_set_new(seen, "recording", json_null());
	json_object_set_new(seen, "seconds", json_real((double)span / 1e9));
	json_object_set_new(seen, "subs", json_integer(l->stream->plan.subs));
	json_object_set_new(seen, "sources", sources);
	json_object_set_new(seen, "overruns",
			    json_integer((json_int_t)overruns));
	clock_tell(l, seen);
	return seen;
}

/* Ends the probe, early if need be, and frees it.  Returns the result as
 * verbs.h describes PROBE; NULL without memory. */
static json_t *
probe_end(struct probe *p)
{
	struct probe_look *l = p->look;
	json_t *seen;

	eventfd_write(l->stop, 1);
	pthread_join(l->thread, NULL);
	seen = look_json(l);
	look_free(l);
	free(p);
	return seen;
}

static bool
is_wanted(const struct probe *p, const struct stream *wanted)
{
	return wanted && !strcmp(p->stream->name, wanted->name);
}

void
probes_step(struct recorder *r, const struct stream *wanted)
{
	struct probe **at = &r->probes, *p;

	while ((p = *at)) {
		struct server_ticket ticket = p->ticket;

		if (!probe_over(p) && !is_wanted(p, wanted) && !r->stopping &&
		    server_waits(r->server, ticket)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		server_answer(r->server, ticket, probe_end(p));
	}
}
