/* SPDX-License-Identifier: MIT */
/*
 * How a recording begins and ends.
 *
 * It begins with the memory and the sockets, because those can be refused,
 * and only then asks the writers for folders: from the first packet on blocks
 * are taken in, while the disks are still making their folders, and an errand
 * always comes before a block.
 *
 * It ends in the order in which the data flows: the receiver lets go of the
 * stream and closes what is open; the last block in flight reaches a disk;
 * then, and not before, the totals are known, and every writer puts them at
 * the end of its index.
 */
#include "daemon/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/report.h"
#include "store/meta.h"

static void
block_out(void *arg, struct block *b)
{
	struct session *s = arg;

	output_put(&s->output, b);
}

/* The receiver's last word. */
static void
intake_done(void *arg)
{
	struct session *s = arg;
	const struct session_host *host = s->host;

	atomic_store_explicit(&s->flushed, true, memory_order_release);
	host->wake(host->arg);
}

static void
output_changed(void *arg)
{
	const struct session *s = arg;

	s->host->wake(s->host->arg);
}

/* ---- opening --------------------------------------------------------- */

static int
head_make(struct session *s)
{
	const struct stream *stream = s->stream;
	struct meta_head head = { .name = s->name,
				  .stream = stream->name,
				  .format = stream->o.format,
				  .extension = stream->format->extension,
				  .fill = stream->fill,
				  .start_ns = s->start_ns,
				  .shape = &s->shape,
				  .geometry = &stream->geometry };
	const char **path = calloc(s->host->writers + 1, sizeof *path);

	if (!path)
		return -ENOMEM;
	for (unsigned i = 0; i < s->host->writers; i++)
		path[i] = writer_path(s->host->writer[i]);
	head.disks = path;
	head.disks_n = s->host->writers;
	s->head = meta_head(&head);
	free(path);
	return s->head ? 0 : -ENOMEM;
}

static int
output_open(struct session *s)
{
	struct output *o = &s->output;

	o->name = s->name;
	o->head = s->head;
	o->queue = s->host->queue;
	o->disk = calloc(s->host->writers + 1, sizeof *o->disk);
	if (!o->disk)
		return -ENOMEM;
	o->durable = s->host->durable;
	o->changed = output_changed;
	o->arg = s;
	return output_init(o, s->stream->fill, s->stream->format, &s->shape);
}

static int
sockets_open(struct session *s, struct fault *fault)
{
	const struct stream *stream = s->stream;
	char why[320] = "";
	struct receive_args args = { .host = &s->log,
				     .options = stream->receive_options,
				     .prefix = s->shape.prefix,
				     .payload = s->shape.payload,
				     .longest = stream_longest(stream),
				     .senders = stream->format->piece != NULL,
				     .shares = 1,
				     .format = stream->format,
				     .shape = &s->shape,
				     .reach = stream->geometry.slots,
				     .why = why,
				     .why_bytes = sizeof why };
	int err = stream->receive->open(&s->received, &args);

	if (!err)
		return 0;
	fault_set(fault, err, err == -EADDRINUSE ? "busy" : "io",
		  "cannot record stream %s", stream->name);
	fault_why(fault, "%s", why[0] ? why : strerror(-err));
	return err;
}

static int
intake_open(struct session *s)
{
	const struct stream *stream = s->stream;
	struct place_args place = { .format = stream->format,
				    .shape = &s->shape,
				    .geometry = &stream->geometry,
				    .stock = s->stock,
				    .max_gap = stream->o.max_gap,
				    .max_age = stream->o.max_age,
				    .name = s->name,
				    .out = block_out,
				    .arg = s };
	struct intake_args args = { .name = s->name,
				    .ops = stream->receive,
				    .state = s->received,
				    .shape = &s->shape,
				    .place = &place,
				    .places = 1,
				    .shares = 1,
				    .done = intake_done,
				    .arg = s };

	return intake_make(&s->intake, &args);
}

/* Every writer gets its errand, also one whose disk is away just now. */
static void
folders_begin(struct session *s)
{
	atomic_store(&s->output.errands, s->host->writers);
	for (unsigned i = 0; i < s->host->writers; i++) {
		if (writer_begin(s->host->writer[i], &s->output) < 0)
			abort(); /* a few bytes, and others have begun */
	}
}

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
}

static struct session *
session_new(const struct session_host *host, struct stream *stream,
	    const char *name)
{
	struct session *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->host = host;
	s->stream = stream;
	snprintf(s->name, sizeof s->name, "%s", name);
	s->log = log_host(s->name);
	s->start_ns = clock_now();
	s->started = s->sampled = clock_steady();
	s->shape = stream->shape;
	s->shape.around = s->start_ns / 1000000000;
	return s;
}

int
session_open(struct session **session, const struct session_host *host,
	     struct stream *stream, const char *name, struct fault *fault)
{
	const struct geometry *g = &stream->geometry;
	struct stock_args blocks = { .blocks = stream->blocks,
				     .slots = g->slots,
				     .slot_bytes = g->payload,
				     .extra = place_extra(&stream->shape, g) };
	struct session *s = session_new(host, stream, name);
	int err;

	if (!s)
		return no_memory(fault);
	err = pool_borrow(host->pool, &s->stock, &blocks, fault);
	if (err)
		goto no_stock;
	err = sockets_open(s, fault);
	if (err)
		goto no_sockets;
	err = head_make(s);
	if (err)
		goto no_head;
	err = output_open(s);
	if (err)
		goto no_output;
	err = intake_open(s);
	if (err)
		goto no_intake;
	*session = s;
	stream->session = s;
	return 0;

no_intake:
	output_finish(&s->output);
no_output:
	free(s->output.disk);
	json_decref(s->head);
no_head:
	no_memory(fault);
	stream->receive->close(s->received);
no_sockets:
	stock_return(s->stock);
no_stock:
	free(s);
	return err;
}

void
session_begin(struct session *s, struct receiver *receiver)
{
	s->receiver = receiver;
	folders_begin(s);
	if (receiver_add(receiver, s->intake) < 0)
		abort();
}

void
session_drop(struct session *s)
{
	s->stream->session = NULL;
	session_free(s);
}

/* ---- moving on ------------------------------------------------------- */

void
session_stop(struct session *s, const char *reason)
{
	if (s->state > SESSION_RECORDING)
		return;
	s->reason = reason;
	s->state = SESSION_STOPPING;
	s->end_ns = clock_now();
	if (receiver_remove(s->receiver, s->intake) < 0)
		abort(); /* a few bytes, and nothing else would end it */
}

/* Have all writers done their errand?  Acquire: see output.h. */
static bool
errands_done(struct session *s)
{
	return atomic_load_explicit(&s->output.errands, memory_order_acquire) ==
	       0;
}

static void
folders_end(struct session *s)
{
	struct index_record end = {
		.number = atomic_load(&s->output.records),
		.first = atomic_load(&s->output.packets),
		.first_ns = s->start_ns,
		.last_ns = s->end_ns,
		.kind = INDEX_END,
	};
	json_t *tail = report_tail(s);

	/* One each: giving back a JSON value orders nothing between threads,
	 * so the last of several might free what another still reads. */
	atomic_store(&s->output.errands, s->host->writers);
	for (unsigned i = 0; i < s->host->writers; i++) {
		if (writer_end(s->host->writer[i], &s->output, &end,
			       json_deep_copy(tail)) < 0)
			abort(); /* a few bytes, and no way back */
	}
	json_decref(tail);
}

/* One folder is enough to record; a disk that hangs is not waited for. */
static void
begin_look(struct session *s)
{
	if (atomic_load(&s->output.folders)) {
		s->state = SESSION_RECORDING;
	} else if (errands_done(s)) {
		s->failed = true;
		session_stop(s, "no disk could take it");
	}
}

/* A disk that left comes back with the next recording, not to this one; so
 * without any disk it would go on for nothing, and look as if it did. */
static void
disks_look(struct session *s)
{
	for (unsigned i = 0; i < s->host->writers; i++) {
		struct writer_facts f;

		writer_facts(s->host->writer[i], &f);
		if (f.state < WRITER_FULL)
			return;
	}
	s->failed = true;
	session_stop(s, "no disk is left");
}

static void
ended(struct session *s)
{
	s->state = SESSION_ENDED;
	stream_learned(s->stream, &s->shape);
	s->stream->session = NULL;
	report_summary(s);
}

static void
rate_sample(struct session *s, int64_t now)
{
	double seconds = (double)(now - s->sampled) / 1e9;
	struct counts c;
	uint64_t bytes;

	if (seconds < 1)
		return;
	counts_read(&c, &s->intake->shown[0]);
	bytes = c.bytes - s->sampled_bytes;
	s->rate = (double)bytes * 8 / seconds;
	s->sampled = now;
	s->sampled_bytes = c.bytes;
}

void
session_step(struct session *s, int64_t now)
{
	rate_sample(s, now);
	if (s->state == SESSION_BEGINNING)
		begin_look(s);
	if (s->state == SESSION_RECORDING && errands_done(s))
		disks_look(s);
	if (s->stop_at && now >= s->stop_at)
		session_stop(s, "time");
	/* Acquire: the receiver's counts and blocks are all out before it. */
	if (s->state == SESSION_STOPPING && errands_done(s) &&
	    atomic_load_explicit(&s->flushed, memory_order_acquire))
		s->state = SESSION_WRITING;
	if (s->state == SESSION_WRITING &&
	    atomic_load_explicit(&s->output.in_flight, memory_order_acquire) ==
		0) {
		s->state = SESSION_CLOSING;
		folders_end(s);
	}
	if (s->state == SESSION_CLOSING && errands_done(s))
		ended(s);
}

/* The output before the intake: its fill may use the threads it learned. */
void
session_free(struct session *s)
{
	output_finish(&s->output);
	free(s->output.disk);
	intake_free(s->intake);
	s->stream->receive->close(s->received);
	stock_return(s->stock);
	json_decref(s->head);
	free(s);
}
