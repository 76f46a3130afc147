/* SPDX-License-Identifier: MIT */
/*
 * A transfer to an inbox is a copy.  Only the peer's answer tells what listens
 * there, so a copy begins as an ordinary transfer and is turned into a copy
 * here.
 */
#include <errno.h>

#include "daemon/transfers/transfer.h"
#include "flow/copy/copy_out.h"

static void
run_rate(void *run, uint64_t rate)
{
	copy_out_rate(run, rate);
}

static void
run_pause(void *run, bool pause)
{
	copy_out_pause(run, pause);
}

static void
run_stop(void *run)
{
	copy_out_stop(run);
}

static void
run_facts(void *run, struct sender_facts *facts)
{
	copy_out_facts(run, facts);
}

static bool
run_ended(void *run)
{
	return copy_out_ended(run);
}

static bool
run_free(void *run)
{
	return copy_out_free(run);
}

static const struct transfer_ops copy_ops = {
	.rate = run_rate,
	.pause = run_pause,
	.stop = run_stop,
	.facts = run_facts,
	.ended = run_ended,
	.free = run_free,
};

static int
copy_begin(struct transfers *all, struct transfer *t, struct source *source,
	   struct fault *fault)
{
	const struct secret *secret = &t->send->secret;
	const struct copy_out_args args = {
		.name = t->o.name,
		.to = t->o.to,
		.as = t->o.as,
		.disks = &t->disks,
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
	struct copy_out *copy;
	int err = copy_out_start(&copy, &args, fault);

	if (err)
		return err;
	t->kind = TRANSFER_COPY;
	t->ops = &copy_ops;
	t->run = copy;
	return 0;
}

int
transfer_copy(struct transfers *all, struct transfer *t, struct fault *fault)
{
	struct source *source = NULL;
	int err;

	if (!transfer_is_whole(&t->o)) {
		fault_set(fault, -ENOTSUP, "refused",
			  "cannot send %s to %.200s", t->o.name, t->o.to);
		fault_why(fault, "that is an inbox, which takes whole "
				 "recordings alone");
		return -ENOTSUP;
	}
	transfer_run_drop(t);
	err = transfer_source(all, t, &source, fault);
	if (!err)
		err = copy_begin(all, t, source, fault);
	if (!err && t->paused)
		t->ops->pause(t->run, true);
	return err;
}
