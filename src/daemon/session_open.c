/* SPDX-License-Identifier: MIT */
/*
 * How a recording begins: with the memory and the sockets, because those can
 * be refused, and only then it asks the writers for folders: from the first
 * packet on blocks are taken in, while the disks are still making their
 * folders, and an errand always comes before a block.
 *
 * A stream that is split makes a session of each part, all fed by the same
 * reception.
 */
#include "daemon/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/meta.h"

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
}

/* A part's blocks are told from the others' by the stock alone: in its own
 * recording it is the only one. */
static void
block_out(void *arg, struct block *b)
{
	struct session *s = arg;

	if (s->stream->split)
		b->sub = 0;
	output_put(s->output, b);
}

static void
changed(void *arg)
{
	const struct session_host *host = arg;

	host->wake(host->arg);
}

static int
head_make(struct session *s)
{
	const struct stream *stream = s->stream;
	struct meta_head head = { .name = s->name,
				  .stream = stream->name,
				  .format = stream->o.format,
				  .extension = stream->format->extension,
				  .layout = stream->layout,
				  .fill = stream->fill,
				  .start_ns = s->start_ns,
				  .shape = s->shape,
				  .geometry = &stream->geometry,
				  .subs = stream->plan.subs,
				  .channels_per_file =
				      stream->o.channels_per_file,
				  .max_loss = stream->o.max_loss };
	const struct fleet *fleet = s->host->fleet;
	const char *path[FLEET_MOST];

	for (unsigned i = 0; i < fleet->n; i++) {
		if (fleet_writer(fleet, i))
			path[head.disks_n++] = fleet_path(fleet, i);
	}
	head.disks = path;
	s->head = meta_head(&head);
	return s->head ? 0 : -ENOMEM;
}

static int
output_open(struct session *s)
{
	struct output_args args = { .name = s->name,
				    .head = s->head,
				    .queue = s->host->queue,
				    .disks = FLEET_MOST,
				    .durable = s->host->durable,
				    .changed = changed,
				    .arg = (void *)s->host,
				    .subs = s->stream->plan.subs,
				    .fill = s->stream->fill,
				    .whole = s->stream->layout == LAYOUT_MARK6,
				    .format = s->stream->format,
				    .shape = s->shape };

	return output_make(&s->output, &args);
}

static int
session_make(struct session *s)
{
	int err;

	if (s->stream->plan.subs > 1) {
		s->sub = calloc(s->stream->plan.subs, sizeof *s->sub);
		if (!s->sub)
			return -ENOMEM;
	}
	err = head_make(s);
	if (err)
		return err;
	return output_open(s);
}

const char *
session_name(char name[SESSION_NAME], const char *base,
	     const struct stream *stream, unsigned part)
{
	if (stream->split == SPLIT_STATION)
		snprintf(name, SESSION_NAME, "%.137s_ds%.8s", base,
			 stream->o.stations.text[part]);
	else if (stream->split == SPLIT_THREAD)
		snprintf(name, SESSION_NAME, "%.137s_ds%u", base,
			 stream->key[part]);
	else
		snprintf(name, SESSION_NAME, "%.137s", base);
	return name;
}

/* Takes part of the reception, which is the last one's to close. */
static struct session *
session_new(const struct session_host *host, struct reception *in,
	    const struct session_args *args, unsigned part)
{
	int64_t now = clock_steady();
	struct session *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->host = host;
	s->stream = in->stream;
	s->in = in;
	in->users++;
	kernel_look(&s->kernel);
	s->part = part;
	s->shape = reception_shape(in, part);
	session_name(s->name, in->name, in->stream, part);
	s->scan = args->scan;
	s->when = args->when;
	s->start_ns = clock_now();
	s->started = s->sampled = now;
	s->state = SESSION_BEGINNING;
	if (s->when.data)
		return s;
	s->stop_at = s->when.stop;
	if (s->when.start <= now)
		return s;
	s->state = SESSION_ARMED;
	s->start_ns += s->when.start - now;
	s->started = s->when.start;
	return s;
}

static int
sessions_make(struct session **list, const struct session_host *host,
	      struct reception *in, const struct session_args *args)
{
	struct reception_out out[STREAM_KEYS];
	int err = 0;

	for (unsigned i = in->stream->keys; i-- && !err;) {
		struct session *s = session_new(host, in, args, i);

		if (!s)
			return -ENOMEM;
		s->next = *list;
		*list = s;
		out[i] = (struct reception_out){ block_out, s };
		err = session_make(s);
	}
	in->flushed = changed;
	in->arg = (void *)host;
	return err ? err : reception_feed(in, out);
}

/* Some may have come since the configuration was read. */
static void
disks_count(struct stream *stream, const struct session_host *host)
{
	struct pool_facts f = pool_facts(host->pool);

	stream_disks(stream, fleet_writers(host->fleet), f.bytes - f.borrowed);
}

int
session_open(struct session **list, const struct session_host *host,
	     const struct session_args *args, struct fault *fault)
{
	struct stream *stream = args->stream;
	struct reception *in;
	int err;

	*list = NULL;
	disks_count(stream, host);
	err = reception_open(&in, stream, args->name, host->pool, host->crew->n,
			     fault);
	if (err)
		return err;
	err = sessions_make(list, host, in, args);
	if (!err)
		return 0;
	no_memory(fault);
	if (!*list)
		reception_put(in);
	session_drop(*list);
	*list = NULL;
	return err;
}

/* Every writer gets its errand, also one whose disk is away just now. */
static void
folders_begin(struct session *s)
{
	struct fleet *fleet = s->host->fleet;

	atomic_store(&s->output->errands, fleet_writers(fleet));
	for (unsigned i = 0; i < fleet->n; i++) {
		struct writer *w = fleet_writer(fleet, i);

		if (w && writer_begin(w, s->output) < 0)
			abort(); /* a few bytes, and others have begun */
	}
}

void
session_start(struct session *s)
{
	s->state = SESSION_BEGINNING;
	folders_begin(s);
	reception_begin(s->in, s->host->crew);
}

void
session_begin(struct session *list)
{
	struct reception *in = list->in;

	for (struct session *s = list; s && s->in == in; s = s->next) {
		if (s->state == SESSION_BEGINNING)
			session_start(s);
	}
}

void
session_drop(struct session *list)
{
	struct session *next;

	for (; list; list = next) {
		next = list->next;
		session_free(list);
	}
}

void
session_free(struct session *s)
{
	if (s->output)
		output_drop(s->output);
	free(s->sub);
	kernel_clear(&s->kernel);
	json_decref(s->kernel_lost);
	json_decref(s->head);
	reception_put(s->in);
	free(s);
}
