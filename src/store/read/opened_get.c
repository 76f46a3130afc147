/* SPDX-License-Identifier: MIT */
/*
 * Gets and puts recordings, and decides how long they stay open.
 *
 * A disk that hangs holds the thread that opens a recording.  The caller runs
 * out of patience once, and then knows which disk it was.  From then on
 * recordings are opened without that disk until it answers: what they have
 * there cannot be read, but the rest can.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/read/opened_priv.h"

enum { IDLE_MOST = 16, TRIES = 3 };

void
opened_stir(struct opened *op)
{
	pthread_mutex_lock(&op->lock);
	op->stir = true;
	pthread_cond_signal(&op->work);
	pthread_mutex_unlock(&op->lock);
}

/* ---- finding
 * ----------------------------------------------------------------- */

struct opened *
opened_find(struct opened_set *set, const char *name)
{
	struct opened *op = set->op;

	while (op && strcmp(op->name, name) != 0)
		op = op->next;
	return op;
}

static struct opened *
find_or_make(struct opened_set *set, const char *name)
{
	struct opened *op;

	pthread_mutex_lock(&set->lock);
	op = opened_find(set, name);
	if (op) {
		set->idle -= !op->users++;
		pthread_mutex_lock(&op->lock);
		op->refs++;
		pthread_mutex_unlock(&op->lock);
	} else {
		op = opened_create(set, name);
	}
	if (op && !op->linked) {
		op->linked = true;
		op->next = set->op;
		set->op = op;
	}
	pthread_mutex_unlock(&set->lock);
	return op;
}

/* Takes the recording out of the set: its name is free for another. */
static void
forget(struct opened *op, bool removed)
{
	struct opened_set *set = op->set;
	struct opened **link = &set->op;

	pthread_mutex_lock(&set->lock);
	if (op->linked) {
		while (*link != op)
			link = &(*link)->next;
		*link = op->next;
	}
	op->linked = false;
	pthread_mutex_unlock(&set->lock);
	pthread_mutex_lock(&op->lock);
	op->facts.removed |= removed;
	pthread_mutex_unlock(&op->lock);
}

/* ---- getting
 * ------------------------------------------------------------------- */

struct enter_job {
	struct opened_job job;
	struct fault fault;
};

static int
run_enter(struct opened *op, struct opened_job *job)
{
	return opened_enter(op, &((struct enter_job *)job)->fault);
}

/* Marks the disk that the recording's thread waits for as hanging.  True if it
 * was not marked before. */
static bool
note_hang(struct opened *op)
{
	struct opened_set *set = op->set;
	int disk = atomic_load_explicit(&op->trying, memory_order_relaxed);
	bool news = false;

	pthread_mutex_lock(&set->lock);
	if (disk >= 0)
		news = !set->hangs[disk];
	if (disk >= 0)
		set->hangs[disk] = true;
	pthread_mutex_unlock(&set->lock);
	if (news)
		opened_tell(op, disk, -ETIMEDOUT);
	return news;
}

static int
enter(struct opened *op, struct fault *fault)
{
	struct enter_job *e = calloc(1, sizeof *e);
	int err;

	if (!e)
		return fault_set(fault, -ENOMEM, "no-memory", "no memory");
	e->job.run = run_enter;
	e->job.refs = 1;
	err = opened_await(op, &e->job);
	if (err && err != -ETIMEDOUT) {
		*fault = e->fault;
	} else if (err) {
		fault_set(fault, err, "io", "cannot read recording %s",
			  op->name);
		fault_why(fault, "a disk does not answer");
	}
	opened_job_put(op, &e->job);
	if (err == -ETIMEDOUT && note_hang(op))
		err = -EAGAIN; /* try again without that disk */
	return err;
}

/* Drops a recording that failed to open.  One whose thread is stuck is useless
 * to the next caller, who shall try the disks anew. */
static void
let_go(struct opened *op, int err)
{
	forget(op, err == -ESTALE || err == -EIDRM);
	opened_put(op);
}

int
opened_get(struct opened_set *set, const char *name, struct opened **op,
	   struct fault *fault)
{
	struct opened *o;
	int err = -EAGAIN;

	if (strlen(name) >= sizeof o->name)
		return fault_set(fault, -ENOENT, "not-found",
				 "there is no recording %s", name);
	for (int i = 0; i < TRIES && (err == -EAGAIN || err == -ESTALE); i++) {
		o = find_or_make(set, name);
		if (!o)
			return fault_set(fault, -ENOMEM, "no-memory",
					 "no memory for recording %s", name);
		err = enter(o, fault);
		if (err)
			let_go(o, err);
		else
			*op = o;
	}
	return err == -EAGAIN || err == -ESTALE ? -ETIMEDOUT : err;
}

/* ---- putting
 * -------------------------------------------------------------------- */

/* Has the recording closed that was put longest ago. */
static void
close_oldest(struct opened_set *set)
{
	struct opened *oldest = NULL;

	for (struct opened *op = set->op; op; op = op->next) {
		if (!op->users && op->idle_since &&
		    (!oldest || op->idle_since < oldest->idle_since))
			oldest = op;
	}
	if (oldest) {
		oldest->idle_since = 0;
		opened_stir(oldest);
	}
}

void
opened_put(struct opened *op)
{
	struct opened_set *set = op->set;

	pthread_mutex_lock(&set->lock);
	if (!--op->users) {
		op->idle_since = clock_steady();
		set->idle += op->linked;
		if (set->idle > IDLE_MOST)
			close_oldest(set);
	}
	pthread_mutex_unlock(&set->lock);
	opened_stir(op);
	opened_drop(op);
}
