/* SPDX-License-Identifier: MIT */
/*
 * Chooses the source of a transfer's data, and the thread that sends them:
 *
 *   a recording on disks          source_disk   --+
 *   one that is made here now     source_live   --+-- sender; copy_out if the
 *                                                 |   peer is an inbox, upload
 *                                                 |   if it is a store of objects
 *   a stream                      relay         --+-- sender
 *
 * Nothing here touches a disk: sources do, in their sender's thread.
 *
 * A URL of a store of objects makes an upload.  A transfer to an inbox is a copy.  Only the peer's answer tells what listens
 * there, so a copy begins as an ordinary transfer and is turned into a copy
 * here.
 */
#include "daemon/transfers/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sessions/order.h"
#include "flow/copy/copy_out.h"
#include "flow/source/source_disk.h"
#include "flow/source/source_live.h"
#include "flow/upload/upload.h"

/* ---- sources --------------------------------------------------------- */

static int
disk_make(struct transfers *all, struct transfer *t, struct source **source,
	  struct fault *fault)
{
	const struct send_choice *c = &t->o.choice;
	struct source_disk_args args = {
		.list = all->r->disks.list,
		.name = t->o.name,
		.memory = t->send->o.memory,
		.verify = true,
		.follow = t->o.follow,
		.sub = c->sub,
		.from_ns = c->from_ns,
		.to_ns = c->to_ns,
		.from_byte = c->from_byte,
		.to_byte = c->to_byte,
	};

	if (source_disk_make(source, &args) < 0)
		return fault_no_memory(fault);
	return 0;
}

/*
 * Makes the source for a recording that still receives: blocks come from
 * memory, and from its disks through *source.  After its end the disks alone
 * will soon have all of it.
 */
static int
live_make(struct session *s, const struct transfer *t, struct source **source,
	  struct fault *fault)
{
	const struct source_live_args args = {
		.output = s->output,
		.pool = s->input->pool,
		.disk = *source,
		.start_ns = s->start_ns,
		.sub = t->o.choice.sub,
	};

	*source = NULL;
	return source_live_make(source, &args, fault);
}

/*
 * For transfer_run.c: makes the source of a recording's data.  0, or -errno
 * with a fault.
 */
static int
transfer_source(struct transfers *all, struct transfer *t,
		struct source **source, struct fault *fault)
{
	struct session *s = transfer_session(all, t->o.name);
	int err = disk_make(all, t, source, fault);

	if (err || !s || s->state > SESSION_RECORDING)
		return err;
	return live_make(s, t, source, fault);
}

static int
relay_make(struct transfers *all, struct transfer *t, struct source **source,
	   struct fault *fault)
{
	const struct relay_args args = {
		.stream = setup_stream(&all->r->setup, t->o.name),
		.name = t->o.name,
		.when = { .start = t->o.start, .stop = t->o.until },
	};
	int err;

	if (!args.stream)
		return setup_stream_unknown(&all->r->setup, t->o.name, fault);
	probes_step(all->r, args.stream);
	err = relay_open(&t->relay, &all->r->host, &args, fault);
	if (!err)
		*source = relay_source(t->relay);
	return err;
}

/* ---- an upload ------------------------------------------------------- */

static int
upload_begin(struct transfers *all, struct transfer *t,
	     const struct setup_send_way *way, struct source *source,
	     struct fault *fault)
{
	const struct upload_args args = {
		.name = t->o.name,
		.to = t->o.to,
		.as = t->o.as,
		.ops = way->ops,
		.options = way->options,
		.list = all->r->disks.list,
		.source = source,
		.rate = t->o.rate,
		.connections = t->o.connections,
		.memory = t->send->o.memory,
		.follow = t->o.follow,
		.patience = t->o.patience,
		.changed = all->r->host.wake,
		.arg = all->r->host.arg,
	};
	int err = upload_start(&t->run, &args, fault);

	if (!err)
		t->kind = TRANSFER_COPY;
	return err;
}

/* ---- beginning ------------------------------------------------------- */

/* `way` NULL: to a file. */
static int
sender_begin(struct transfers *all, struct transfer *t,
	     const struct setup_send_way *way, struct source *source,
	     struct fault *fault)
{
	const struct secret *secret = &t->send->secret;
	char *about = transfer_about(all, &t->o);
	const struct sender_args args = {
		.name = t->o.name,
		.to = t->o.to,
		.source = source,
		.ops = way ? way->ops : &transfer_file_ops,
		.options = way ? way->options : t->o.file,
		.choice = t->o.choice,
		.rate = t->o.rate,
		.connections = t->o.connections,
		.plain = t->o.plain,
		.ordered = !t->o.relay,
		.transfer = transfer_number(all, &t->o),
		.about = about,
		.secret = secret->n ? secret->bytes : NULL,
		.secret_bytes = secret->n,
		.patience = t->o.patience,
		.changed = all->r->host.wake,
		.arg = all->r->host.arg,
	};
	int err = sender_start(&t->run, &args, fault);

	free(about);
	return err;
}

bool
transfer_run_drop(struct transfer *t)
{
	if (t->run && !sender_free(t->run))
		t->hangs = true;
	t->run = NULL;
	return !t->hangs;
}

int
transfer_begin(struct transfers *all, struct transfer *t, struct fault *fault)
{
	const struct setup_send_way *way = NULL;
	struct source *source = NULL;
	int err;

	t->send = setup_send_hold(all->r->setup.send);
	if (!t->o.file)
		way = setup_send_way(t->send, t->o.to, fault);
	if (!way && !t->o.file)
		return -EINVAL;
	err = t->o.relay ? relay_make(all, t, &source, fault)
			 : transfer_source(all, t, &source, fault);
	if (!err && way && way->ops->objects)
		err = upload_begin(all, t, way, source, fault);
	else if (!err)
		err = sender_begin(all, t, way, source, fault);
	if (!err && t->relay)
		relay_begin(t->relay);
	if (err && t->relay) {
		relay_free(t->relay);
		t->relay = NULL;
	}
	return err;
}

/* ---- a copy ---------------------------------------------------------- */

static int
copy_begin(struct transfers *all, struct transfer *t, struct source *source,
	   struct fault *fault)
{
	const struct secret *secret = &t->send->secret;
	const struct copy_out_args args = {
		.name = t->o.name,
		.to = t->o.to,
		.as = t->o.as,
		.list = all->r->disks.list,
		.source = source,
		.rate = t->o.rate,
		.connections = t->o.connections,
		.follow = t->o.follow,
		.secret = secret->n ? secret->bytes : NULL,
		.secret_bytes = secret->n,
		.patience = t->o.patience,
		.changed = all->r->host.wake,
		.arg = all->r->host.arg,
	};
	int err = copy_out_start(&t->run, &args, fault);

	if (!err)
		t->kind = TRANSFER_COPY;
	return err;
}

int
transfer_copy(struct transfers *all, struct transfer *t, struct fault *fault)
{
	struct source *source = NULL;
	int err;

	if (!transfer_is_whole(&t->o)) {
		fault_set(fault, -ENOTSUP, "refused",
			  "cannot send %s to %.200s", t->o.name, t->o.to);
		fault_why(
		    fault,
		    "that is an inbox, which takes whole recordings only");
		return -ENOTSUP;
	}
	transfer_run_drop(t);
	err = transfer_source(all, t, &source, fault);
	if (!err)
		err = copy_begin(all, t, source, fault);
	if (!err && t->paused)
		sender_pause(t->run, true);
	return err;
}
