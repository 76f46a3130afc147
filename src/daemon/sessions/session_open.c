/* SPDX-License-Identifier: MIT */
/*
 * A recording begins with memory and sockets, because those can be refused.
 * Then it asks the writers for folders, and takes in blocks from the first
 * packet on while the disks still make them: each writer does the begin job
 * before any block.
 *
 * An armed recording is received already, but its blocks wait until it begins.
 *
 * A split stream makes one session per part, all fed by the same supply.
 */
#include "daemon/sessions/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/record/meta.h"

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
}

/* Takes a finished block of a part; see supply_out for the threads.  `sub`
 * tells parts apart only in the memory they share: in its recording a part is
 * substream 0. */
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
				  .max_loss = stream->o.max_loss,
				  .vbs_cfg = stream->o.vbs_cfg };
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
output_open(struct session *s, bool resume, struct fault *fault)
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
	int err = resume ? session_resume(s, &args, fault) : -ENOENT;

	if (err == -ENOENT)
		err = output_make(&s->output, &args);
	return err;
}

static int
session_make(struct session *s, bool resume, struct fault *fault)
{
	int err;

	if (s->stream->plan.subs > 1) {
		s->sub = calloc(s->stream->plan.subs, sizeof *s->sub);
		if (!s->sub)
			return no_memory(fault);
	}
	err = head_make(s);
	if (err)
		return no_memory(fault);
	err = output_open(s, resume, fault);
	return err == -ENOMEM ? no_memory(fault) : err;
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

/* Sets start, end and first state. */
static void
times_set(struct session *s, int64_t now)
{
	const struct session_when *when = &s->when;

	s->start_ns = clock_now();
	s->started = s->sampled = now;
	s->state = SESSION_BEGINNING;
	if (when->data || when->start > now)
		s->state = SESSION_ARMED;
	if (when->data) {
		s->start_ns = when->start;
		return;
	}
	s->stop_at = when->stop;
	if (s->state == SESSION_ARMED) {
		s->start_ns += when->start - now;
		s->started = when->start;
	}
}

/* Makes a session, with one more user of the supply. */
static struct session *
session_new(const struct session_host *host, struct supply *supply,
	    const struct session_args *args, unsigned part)
{
	struct session *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->host = host;
	s->stream = supply->in->stream;
	s->in = supply->in;
	s->supply = supply;
	supply->users++;
	s->part = part;
	s->shape = reception_shape(s->in, part);
	session_name(s->name, supply->name, s->stream, part);
	s->scan = args->scan;
	s->when = args->when;
	times_set(s, clock_steady());
	kernel_look(&s->kernel);
	return s;
}

/* Returns the time window of a recording.  A recording that joins others on an
 * open stream takes only packets that arrive from now on. */
static struct gate
gate_of(const struct session_when *when, bool joins)
{
	struct gate g = { .open = INT64_MIN,
			  .close = when->stop ? when->stop : INT64_MAX,
			  .data = when->data };

	if (when->start)
		g.open = when->start;
	else if (joins && !when->data)
		g.open = clock_steady();
	return g;
}

static int
sessions_make(struct session **list, const struct session_host *host,
	      struct supply *supply, const struct session_args *args,
	      struct fault *fault)
{
	struct supply_out out[STREAM_KEYS];
	struct supply_args from = {
		.gate = gate_of(&args->when, supply->in->begun),
		.backlog = args->when.backlog,
		.changed = changed,
		.arg = (void *)host,
	};
	int err = 0;

	for (unsigned i = supply->in->stream->keys; i-- && !err;) {
		struct session *s = session_new(host, supply, args, i);

		if (!s)
			return no_memory(fault);
		s->next = *list;
		*list = s;
		from.waits = s->state == SESSION_ARMED;
		out[i] = (struct supply_out){ block_out, s };
		err = session_make(s, args->resume, fault);
	}
	if (err)
		return err;
	err = supply_feed(supply, &from, out);
	return err ? no_memory(fault) : 0;
}

/* Borrows more blocks if disks have come since the configuration was read. */
static void
disks_count(struct stream *stream, const struct session_host *host)
{
	struct pool_facts f = pool_facts(host->pool);
	unsigned disks = fleet_writers(host->fleet);

	stream_disks(stream, disks, f.bytes - f.borrowed);
	if (!stream->o.blocks && stream->disks < disks)
		log_line(
		    LEVEL_INFO, stream->name,
		    "recorded with %u blocks, as on %u disks, and there are "
		    "%u: `memory` has room for no more",
		    stream->blocks, stream->disks, disks);
}

/* Refuses a start by the data's time if packet headers do not carry it; heaps
 * have their times elsewhere. */
static int
when_check(const struct session_args *args, struct fault *fault)
{
	if (!args->when.data || args->stream->format->parse)
		return 0;
	fault_set(fault, -EINVAL, "usage",
		  "stream %s cannot begin or end by the time of its data",
		  args->stream->name);
	fault_why(fault, "packets of format %s do not tell it",
		  args->stream->o.format);
	fault_hint(fault, "leave out the '@' of the time: then it is when "
			  "packets arrive that counts");
	return -EINVAL;
}

/* Returns a reference to the stream's open input; opens it if this is the only
 * recording. */
static int
reception_take(struct reception **in, const struct session_host *host,
	       const struct session_args *args, struct fault *fault)
{
	*in = args->stream->reception;
	if (!*in)
		return reception_open(in, args->stream, args->name,
				      host->crew->n, fault);
	reception_hold(*in);
	return 0;
}

int
session_open(struct session **list, const struct session_host *host,
	     const struct session_args *args, struct fault *fault)
{
	struct reception *in;
	struct supply *supply;
	int err = when_check(args, fault);

	*list = NULL;
	if (err)
		return err;
	disks_count(args->stream, host);
	err = reception_take(&in, host, args, fault);
	if (err)
		return err;
	err = supply_open(&supply, in, host->pool, args->name, args->later,
			  fault);
	reception_put(in); /* the supply holds its own reference */
	if (err)
		return err;
	err = sessions_make(list, host, supply, args, fault);
	if (!err)
		return 0;
	if (!*list)
		supply_put(supply);
	session_drop(*list);
	*list = NULL;
	return err;
}

/* Gives every writer the begin job, also one whose disk is away now. */
static void
folders_begin(struct session *s)
{
	struct fleet *fleet = s->host->fleet;

	atomic_store(&s->output->jobs, fleet_writers(fleet));
	for (unsigned i = 0; i < fleet->n; i++) {
		struct writer *w = fleet_writer(fleet, i);

		if (w && writer_begin(w, s->output) < 0)
			/* no memory for a few bytes, and other writers have
			 * begun */
			abort();
	}
}

/* Makes the head of the metadata anew at the start: the time, what was learned,
 * and the disks were not known before. */
static void
head_renew(struct session *s)
{
	json_t *was = s->head;

	if (head_make(s) < 0) {
		s->head = was;
		return;
	}
	json_decref(was);
	output_head(s->output, s->head);
}

void
session_start(struct session *s)
{
	int64_t now = clock_steady();

	s->state = SESSION_BEGINNING;
	if (s->when.data)
		s->started = now;
	/* a resumed recording keeps its first start */
	if (!s->output->resumed) {
		s->start_ns = clock_now() + s->started - now;
		head_renew(s);
	}
	kernel_clear(&s->kernel);
	kernel_look(&s->kernel);
	folders_begin(s);
	supply_release(s->supply, s->part);
}

void
session_begin(struct session *list)
{
	struct supply *supply = list->supply;

	for (struct session *s = list; s && s->supply == supply; s = s->next) {
		if (s->state == SESSION_BEGINNING)
			folders_begin(s);
	}
	supply_begin(supply, list->host->crew);
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
	if (s->output) {
		/* closes an output that may never have begun */
		output_end(s->output);
		output_drop(s->output);
	}
	free(s->send);
	free(s->sub);
	kernel_clear(&s->kernel);
	json_decref(s->kernel_lost);
	json_decref(s->head);
	supply_put(s->supply);
	free(s);
}
