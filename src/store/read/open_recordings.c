/* SPDX-License-Identifier: MIT */
/*
 * The set of open recordings, the thread that each of them has, and how they
 * are got and put.
 *
 * The set is a list, because few recordings are open at a time.  A recording
 * that nobody uses any more stays open for some seconds, in case it is opened
 * again.  Idle, it costs what its index takes; its buffers are free for others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ease.h"
#include "base/log.h"
#include "store/read/open_recordings_priv.h"
#include "store/recording/recording_priv.h"

/* ---- the thread of a recording ------------------------------------------- */

/*
 * The recording's own thread and its queue of jobs: everything
 * that may wait for a disk.  Callers wait no longer than `patience`.  A job
 * belongs to both, so a thread that comes back after an hour finds its memory
 * intact.  A thread that is known to be stuck gets no further jobs.
 *
 * When the recording has been idle for some seconds, the thread takes it out of
 * the set, closes it and ends.
 */

enum { IDLE_S = 5 };

static struct timespec
timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS_SECOND,
				  .tv_nsec = ns % NS_SECOND };
}

void
open_recording_job_put(struct open_recording *op,
		       struct open_recording_job *job)
{
	bool last;

	pthread_mutex_lock(&op->lock);
	last = --job->refs == 0;
	pthread_mutex_unlock(&op->lock);
	if (last && job->clear)
		job->clear(job);
	else if (last)
		free(job);
}

/* Under the lock. */
static void
put_in(struct open_recording *op, struct open_recording_job *job)
{
	job->refs++;
	job->next = NULL;
	*op->tail = job;
	op->tail = &job->next;
	pthread_cond_signal(&op->work);
}

static bool
is_stuck(const struct open_recording *op, int64_t now)
{
	return op->busy && now - op->busy > op->set->patience;
}

int
open_recording_await(struct open_recording *op, struct open_recording_job *job)
{
	int64_t until = clock_steady() + op->set->patience;
	const struct timespec at = timespec_of(until);
	int err = 0;

	pthread_mutex_lock(&op->lock);
	if (is_stuck(op, clock_steady()))
		err = -ETIMEDOUT;
	else
		put_in(op, job);
	while (!err && !job->done)
		err = -pthread_cond_timedwait(&op->done, &op->lock, &at);
	if (job->done)
		err = job->err;
	pthread_mutex_unlock(&op->lock);
	return err;
}

int
open_recording_do(struct open_recording *op, struct open_recording_job *job)
{
	int err;

	job->refs = 1;
	err = open_recording_await(op, job);
	open_recording_job_put(op, job);
	return err;
}

struct run_job {
	struct open_recording_job job;
	int (*run)(void *arg, struct recording *rec);
	void (*clear)(void *arg);
	void *arg;
};

static int
run_run(struct open_recording *op, struct open_recording_job *job)
{
	struct run_job *j = (struct run_job *)job;

	return j->run(j->arg, op->rec);
}

static void
clear_run(struct open_recording_job *job)
{
	struct run_job *j = (struct run_job *)job;

	j->clear(j->arg);
	free(j);
}

int
open_recording_run(struct open_recording *op,
		   int (*run)(void *arg, struct recording *rec),
		   void (*clear)(void *arg), void *arg)
{
	struct run_job *j = calloc(1, sizeof *j);

	if (!j) {
		clear(arg);
		return -ENOMEM;
	}
	j->job.run = run_run;
	j->job.clear = clear_run;
	j->run = run;
	j->clear = clear;
	j->arg = arg;
	return open_recording_do(op, &j->job);
}

enum state { HAD, IDLE, OVER };

/* Takes the recording out of the set.  Under the set's lock. */
static void
unlink_recording(struct open_recording *op)
{
	struct open_recording **link = &op->set->op;

	while (*link != op)
		link = &(*link)->next;
	*link = op->next;
	op->linked = false;
	op->set->idle--;
}

/* Decides whether to close the recording.  If so (OVER), it is taken out of the
 * set. */
static enum state
state_of(struct open_recording *op)
{
	struct open_recordings *set = op->set;
	int64_t now = clock_steady();
	enum state state = HAD;

	pthread_mutex_lock(&set->lock);
	if (!op->users)
		state = IDLE;
	if (!op->users && (set->closed || !op->linked ||
			   now - op->idle_since >= IDLE_S * NS_SECOND))
		state = OVER;
	if (state == OVER && op->linked)
		unlink_recording(op);
	pthread_mutex_unlock(&set->lock);
	return state;
}

/* Takes the first job.  Under the lock. */
static struct open_recording_job *
take(struct open_recording *op)
{
	struct open_recording_job *job = op->job;

	if (!job)
		return NULL;
	op->job = job->next;
	if (!op->job)
		op->tail = &op->job;
	op->busy = clock_steady();
	return job;
}

static void
do_job(struct open_recording *op, struct open_recording_job *job)
{
	int err = job->run(op, job);

	pthread_mutex_lock(&op->lock);
	op->busy = 0;
	job->err = err;
	job->done = true;
	pthread_cond_broadcast(&op->done);
	pthread_mutex_unlock(&op->lock);
	open_recording_job_put(op, job);
}

/* Waits for the next job.  NULL: there was none for a while. */
static struct open_recording_job *
next_job(struct open_recording *op)
{
	const struct timespec at =
	    timespec_of(clock_steady() + IDLE_S * NS_SECOND);
	struct open_recording_job *job;
	int err = 0;

	pthread_mutex_lock(&op->lock);
	while (!op->job && !op->wake && !err)
		err = pthread_cond_timedwait(&op->work, &op->lock, &at);
	job = take(op);
	op->wake = false;
	pthread_mutex_unlock(&op->lock);
	return job;
}

static void *
run(void *arg)
{
	struct open_recording *op = arg;
	struct open_recording_job *job;
	enum state state;

	ease_process();
	do {
		while ((job = next_job(op)))
			do_job(op, job);
		state = state_of(op);
		if (state == IDLE)
			open_recording_release(op);
	} while (state != OVER);
	/* Jobs still queued: their callers gave up waiting. */
	while ((job = op->job)) {
		op->job = job->next;
		open_recording_job_put(op, job);
	}
	open_recording_close(op);
	open_recording_drop(op);
	return NULL;
}

static int
start(struct open_recording *op)
{
	pthread_attr_t how;
	pthread_t thread;
	int err;

	pthread_attr_init(&how);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	err = -pthread_create(&thread, &how, run, op);
	pthread_attr_destroy(&how);
	return err;
}

/* Wakes the recording's thread, so that it checks whether to close. */
static void
wake(struct open_recording *op)
{
	pthread_mutex_lock(&op->lock);
	op->wake = true;
	pthread_cond_signal(&op->work);
	pthread_mutex_unlock(&op->lock);
}

static struct open_recording *
find(struct open_recordings *set, const char *name)
{
	struct open_recording *op = set->op;

	while (op && strcmp(op->name, name) != 0)
		op = op->next;
	return op;
}

enum { OPEN_MOST = 4096, PATIENCE_S = 10 };
enum { SAY_MOST = 8 };		   /* log lines about a disk, at most, */
#define SAY_AGAIN (60 * NS_SECOND) /* within this time */
#define CACHE	  (UINT64_C(512) << 20)

/* ---- the set ------------------------------------------------------------- */

static void
set_free(struct open_recordings *set)
{
	if (set->pool)
		reader_pool_leave(set->pool);
	disks_clear(&set->disks);
	pthread_mutex_destroy(&set->lock);
	pthread_cond_destroy(&set->ended);
	free(set->hangs);
	free(set->lines);
	free(set);
}

/* Drops a reference.  Called under the set's lock, which it unlocks. */
static void
set_drop(struct open_recordings *set)
{
	bool last = --set->refs == 0;

	pthread_cond_broadcast(&set->ended);
	pthread_mutex_unlock(&set->lock);
	if (last)
		set_free(set);
}

static void
init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t steady;

	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &steady);
	pthread_condattr_destroy(&steady);
}

int
open_recordings_make(struct open_recordings **set,
		     const struct open_recordings_args *a)
{
	struct open_recordings *s = calloc(1, sizeof *s);
	struct reader_pool_args pool = {
		.disks = a->disks->n,
		.memory = a->cache ? a->cache : CACHE,
	};
	int err;

	if (!s)
		return -ENOMEM;
	s->refs = 1;
	s->patience = a->patience ? a->patience : PATIENCE_S * NS_SECOND;
	s->verify = a->verify;
	s->once = a->once;
	s->hooks = a->hooks;
	pool.patience = s->patience;
	pthread_mutex_init(&s->lock, NULL);
	init_cond(&s->ended);
	s->hangs = calloc(a->disks->n + 1, sizeof *s->hangs);
	s->lines = calloc(a->disks->n + 1, sizeof *s->lines);
	err = s->hangs && s->lines ? disks_copy(&s->disks, a->disks) : -ENOMEM;
	if (!err)
		err = reader_pool_make(&s->pool, &pool);
	if (err)
		set_free(s);
	else
		*set = s;
	return err;
}

/* Waits up to half a second for threads that no disk holds. */
void
open_recordings_free(struct open_recordings *set)
{
	int64_t until = clock_steady() + NS_SECOND / 2;
	struct timespec at = { until / NS_SECOND, until % NS_SECOND };
	int err = 0;

	if (!set)
		return;
	pthread_mutex_lock(&set->lock);
	set->closed = true;
	for (struct open_recording *op = set->op; op; op = op->next)
		wake(op);
	while (set->refs > 1 && !err)
		err = pthread_cond_timedwait(&set->ended, &set->lock, &at);
	set_drop(set);
}

/* ---- one recording ------------------------------------------------------- */

static void
op_free(struct open_recording *op)
{
	struct open_recordings *set = op->set;

	disks_clear(&op->disks);
	pthread_mutex_destroy(&op->lock);
	pthread_cond_destroy(&op->done);
	pthread_cond_destroy(&op->work);
	free(op->told);
	free(op);
	pthread_mutex_lock(&set->lock);
	set->open--;
	set_drop(set);
}

void
open_recording_drop(struct open_recording *op)
{
	bool last;

	pthread_mutex_lock(&op->lock);
	last = --op->refs == 0;
	pthread_mutex_unlock(&op->lock);
	if (last)
		op_free(op);
}

/*
 * Makes a recording and starts its thread.  It has two references: the thread's
 * and the caller's.  NULL: no memory, or too many recordings are stuck on disks
 * that hang.
 */
static struct open_recording *
create(struct open_recordings *set, const char *name)
{
	struct open_recording *op = calloc(1, sizeof *op);

	if (!op ||
	    set->open >= OPEN_MOST) { /* each stuck on a disk that hangs */
		free(op);
		return NULL;
	}
	op->set = set;
	op->refs = 2;
	op->users = 1;
	op->tail = &op->job;
	atomic_init(&op->trying, -1);
	snprintf(op->name, sizeof op->name, "%s", name);
	pthread_mutex_init(&op->lock, NULL);
	init_cond(&op->done);
	init_cond(&op->work);
	op->told = calloc(set->disks.n + 1, sizeof *op->told);
	set->open++;
	set->refs++;
	if (op->told && !disks_copy(&op->disks, &set->disks) && !start(op))
		return op;
	op->refs = 1;
	pthread_mutex_unlock(&set->lock);
	open_recording_drop(op);
	pthread_mutex_lock(&set->lock);
	return NULL;
}

/* Counts a log line about a disk.  Returns how many there are now. */
static unsigned
say(struct open_recordings *set, int disk)
{
	struct disk_lines *disk_lines = &set->lines[disk];
	int64_t now = clock_steady();
	unsigned lines;

	pthread_mutex_lock(&set->lock);
	if (!disk_lines->since || now - disk_lines->since > SAY_AGAIN)
		*disk_lines = (struct disk_lines){ .since = now };
	lines = ++disk_lines->lines;
	pthread_mutex_unlock(&set->lock);
	return lines;
}

void
open_recording_log(struct open_recording *op, int disk, int err)
{
	unsigned lines;
	bool told;

	pthread_mutex_lock(&op->lock);
	told = op->told[disk];
	op->told[disk] = true;
	pthread_mutex_unlock(&op->lock);
	lines = told ? SAY_MOST + 1 : say(op->set, disk);
	if (lines > SAY_MOST)
		return;
	log_line(LEVEL_WARN, op->name,
		 "%s: %s; its chunks on that disk cannot be read%s",
		 op->disks.disk[disk].path,
		 err == -ETIMEDOUT ? "the disk does not answer"
				   : strerror(-err),
		 lines == SAY_MOST
		     ? "; the same of further recordings is not logged now"
		     : "");
}

/* ---- facts --------------------------------------------------------------- */

void
open_recording_facts(struct open_recording *op, struct open_recording_facts *f)
{
	pthread_mutex_lock(&op->lock);
	*f = op->facts;
	pthread_mutex_unlock(&op->lock);
}

struct recording *
open_recording_rec(struct open_recording *op)
{
	return op->rec;
}

static uint64_t
count_of(atomic_uint_fast64_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

bool
open_recording_counts(struct open_recordings *set, const char *name,
		      struct open_recording_counts *c)
{
	struct reader *r = NULL;
	struct reader_facts f;
	struct open_recording *op;

	pthread_mutex_lock(&set->lock);
	op = find(set, name);
	if (op) {
		*c = (struct open_recording_counts){
			.bytes = count_of(&op->sums.bytes),
			.live_bytes = count_of(&op->sums.live),
			.unreadable_bytes = count_of(&op->sums.unreadable),
			.filled_bytes = count_of(&op->sums.filled),
		};
		pthread_mutex_lock(&op->lock);
		r = op->reader;
		pthread_mutex_unlock(&op->lock);
	}
	if (op && r) { /* the reader is not closed while the set is locked */
		reader_facts(r, &f);
		c->disk_bytes = f.bytes;
	}
	pthread_mutex_unlock(&set->lock);
	return op != NULL;
}

void
open_recordings_use(struct open_recordings *set,
		    struct open_recordings_use *use)
{
	pthread_mutex_lock(&set->lock);
	*use = (struct open_recordings_use){ .open = set->open,
					     .idle = set->idle };
	pthread_mutex_unlock(&set->lock);
	reader_pool_facts(set->pool, &use->cache_bytes, &use->hang);
}

/* ---- getting and putting ------------------------------------------------- */

/*
 * Gets and puts recordings, and decides how long they stay open.
 *
 * A disk that hangs holds the thread that opens a recording.  The caller runs
 * out of patience once, and then knows which disk it was.  From then on
 * recordings are opened without that disk until it answers: what they have
 * there cannot be read, but the rest can.
 */

enum { IDLE_MOST = 16, TRIES = 3 };

static struct open_recording *
find_or_make(struct open_recordings *set, const char *name)
{
	struct open_recording *op;

	pthread_mutex_lock(&set->lock);
	op = find(set, name);
	if (op) {
		set->idle -= !op->users++;
		pthread_mutex_lock(&op->lock);
		op->refs++;
		pthread_mutex_unlock(&op->lock);
	} else {
		op = create(set, name);
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
forget(struct open_recording *op, bool removed)
{
	struct open_recordings *set = op->set;
	struct open_recording **link = &set->op;

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

struct enter_job {
	struct open_recording_job job;
	struct fault fault;
};

static int
run_enter(struct open_recording *op, struct open_recording_job *job)
{
	return open_recording_check(op, &((struct enter_job *)job)->fault);
}

/* Marks the disk that the recording's thread waits for as hanging.  True if it
 * was not marked before. */
static bool
note_hang(struct open_recording *op)
{
	struct open_recordings *set = op->set;
	int disk = atomic_load_explicit(&op->trying, memory_order_relaxed);
	bool news = false;

	pthread_mutex_lock(&set->lock);
	if (disk >= 0)
		news = !set->hangs[disk];
	if (disk >= 0)
		set->hangs[disk] = true;
	pthread_mutex_unlock(&set->lock);
	if (news)
		open_recording_log(op, disk, -ETIMEDOUT);
	return news;
}

static int
enter(struct open_recording *op, struct fault *fault)
{
	struct enter_job *e = calloc(1, sizeof *e);
	int err;

	if (!e)
		return fault_set(fault, -ENOMEM, "no-memory", "no memory");
	e->job.run = run_enter;
	e->job.refs = 1;
	err = open_recording_await(op, &e->job);
	if (err && err != -ETIMEDOUT) {
		*fault = e->fault;
	} else if (err) {
		fault_set(fault, err, "io", "cannot read recording %s",
			  op->name);
		fault_why(fault, "a disk does not answer");
	}
	open_recording_job_put(op, &e->job);
	if (err == -ETIMEDOUT && note_hang(op))
		err = -EAGAIN; /* try again without that disk */
	return err;
}

/* Drops a recording that failed to open.  One whose thread is stuck is useless
 * to the next caller, who shall try the disks anew. */
static void
let_go(struct open_recording *op, int err)
{
	forget(op, err == -ESTALE || err == -EIDRM);
	open_recording_put(op);
}

int
open_recording_get(struct open_recordings *set, const char *name,
		   struct open_recording **op, struct fault *fault)
{
	struct open_recording *o;
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

/* Has the recording closed that was put longest ago. */
static void
close_oldest(struct open_recordings *set)
{
	struct open_recording *oldest = NULL;

	for (struct open_recording *op = set->op; op; op = op->next) {
		if (!op->users && op->idle_since &&
		    (!oldest || op->idle_since < oldest->idle_since))
			oldest = op;
	}
	if (oldest) {
		oldest->idle_since = 0;
		wake(oldest);
	}
}

void
open_recording_put(struct open_recording *op)
{
	struct open_recordings *set = op->set;

	pthread_mutex_lock(&set->lock);
	if (!--op->users) {
		op->idle_since = clock_steady();
		set->idle += op->linked;
		if (set->idle > IDLE_MOST)
			close_oldest(set);
	}
	pthread_mutex_unlock(&set->lock);
	wake(op);
	open_recording_drop(op);
}

/* ---- refreshing ---------------------------------------------------------- */

struct reload_job {
	struct open_recording_job job;
	int64_t asked;
};

static int
run_reload(struct open_recording *op, struct open_recording_job *job)
{
	/* Skip it if another caller's refresh began after this one was asked
	 * for. */
	return op->looked >= ((struct reload_job *)job)->asked
		   ? 0
		   : open_recording_reload(op);
}

int
open_recording_refresh(struct open_recording *op, int64_t max_age_ns)
{
	enum { COST = 4 }; /* refreshing takes at most 1/COST of the time */
	int64_t now = clock_steady(), age;
	struct reload_job *l;
	bool wanted;

	pthread_mutex_lock(&op->lock);
	age = op->cost * COST > max_age_ns ? op->cost * COST : max_age_ns;
	wanted = !op->set->once && op->facts.state == RECORDING_LIVE &&
		 !op->facts.removed && now - op->looked >= age;
	pthread_mutex_unlock(&op->lock);
	if (!wanted)
		return 0;
	l = calloc(1, sizeof *l);
	if (!l)
		return -ENOMEM;
	l->job.run = run_reload;
	l->asked = now;
	return open_recording_do(op, &l->job);
}
