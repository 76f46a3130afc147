/* SPDX-License-Identifier: MIT */
/*
 * The set of open recordings: the thread that each of them has, the jobs of
 * that thread (opening, refreshing), and how recordings are got and put.
 *
 * The set is a list, because few recordings are open at a time.  A recording
 * that nobody uses any more stays open for some seconds, in case it is opened
 * again.  Idle, it costs what its index takes; its buffers are free for others.
 *
 * Before a recording is opened, each disk is tried alone, with just the files
 * that opening will read: so it is known which disk hangs, and the recording is
 * opened without it.  A folder that was removed or made anew is told from the
 * open one by its inode.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ease.h"
#include "base/log.h"
#include "store/disk/layout.h"
#include "store/list/entry.h"
#include "store/read/open_recordings_priv.h"
#include "store/recording/recording_priv.h"
#include "store/disk/file.h"

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

/* ---- jobs of that thread: opening ---------------------------------------- */

/* Age up to which another recorder's recording is taken as unchanged. */
#define FOREIGN_NS (2 * NS_SECOND)

static void
take_facts(struct open_recording *op)
{
	const struct recording_facts *from = recording_facts(op->rec);
	struct open_recording_facts *f = &op->facts;

	*f = (struct open_recording_facts){
		.name = op->name,
		.state = from->state,
		.store = from->store,
		.subs = from->subs,
		.payload = from->payload,
		.begun_ns = entry_begun(from->head),
		.start_ns = from->start_ns,
		.end_ns = from->end_ns,
		.bytes = from->bytes,
		.chunks = from->chunks,
		.removed = f->removed,
	};
	snprintf(f->extension, sizeof f->extension, "%s", from->extension);
}

/* Reads the first byte of a file.  Returns 0 or -errno. */
static int
touch(int dir, const char *file)
{
	int fd = disk_open_at(dir, file, O_RDONLY, DISK_NO_LINKS);
	int err = 0;
	char byte;

	if (fd < 0)
		return fd;
	if (file_read(fd, &byte, 1, 0) < 0)
		err = -errno;
	file_close(fd);
	return err;
}

/* True if the file exists but cannot be read at present, so that fill in its
 * place would be wrong. */
static bool
is_refused(int err)
{
	return err && err != -ENOENT && err != -ENODEV && err != -ENOTDIR &&
	       err != -EISDIR && err != -ELOOP && err != -EXDEV &&
	       err != -ESPIPE;
}

/* Reads from a folder what opening the recording will read.  Returns 0 or
 * -errno. */
static int
try_folder(const struct open_recording *op, int disk)
{
	int dir = layout_dir_open(disk, op->name, DISK_LINKS), index, meta;
	char file[LAYOUT_FILE];

	if (dir < 0)
		return dir;
	index = touch(dir, layout_index(file, op->name));
	meta = touch(dir, layout_meta(file, op->name));
	file_close(dir);
	return is_refused(index) ? index : meta;
}

static void
try_begin(struct open_recording *op, unsigned disk)
{
	atomic_store_explicit(&op->trying, (int)disk, memory_order_relaxed);
}

/* Marks the disk as answering.  This may be an hour later, when no caller waits
 * any more. */
static void
try_end(struct open_recording *op, unsigned disk)
{
	struct open_recordings *set = op->set;

	atomic_store_explicit(&op->trying, -1, memory_order_relaxed);
	pthread_mutex_lock(&set->lock);
	set->hangs[disk] = false;
	pthread_mutex_unlock(&set->lock);
}

static void
try_disk(struct open_recording *op, unsigned i)
{
	struct disk *disk = &op->disks.disk[i];
	int err;

	try_begin(op, i);
	err = disk_open(disk);
	if (!err && layout_folder_good(op->name))
		err = try_folder(op, disk->fd);
	try_end(op, i);
	if (!is_refused(err))
		return;
	op->partial = true;
	open_recording_log(op, (int)i, err);
}

static bool
is_hung(struct open_recordings *set, unsigned disk)
{
	bool hangs;

	pthread_mutex_lock(&set->lock);
	hangs = set->hangs[disk];
	pthread_mutex_unlock(&set->lock);
	return hangs || pool_hangs(set->pool, disk);
}

static bool
is_spare(const struct open_recording *op, unsigned disk)
{
	return !*op->disks.disk[disk].path;
}

/*
 * Takes over disk i of the set if it has joined since.  Without memory the
 * next call does.
 */
static bool
take_joined(struct open_recording *op, unsigned i)
{
	const struct disk *from = &op->set->disks.disk[i];
	struct disk *disk = &op->disks.disk[i];
	char *path = NULL;

	pthread_mutex_lock(&op->set->lock);
	if (is_spare(op, i) && *from->path)
		path = strdup(from->path);
	if (path)
		disk->mount = from->mount;
	pthread_mutex_unlock(&op->set->lock);
	if (!path)
		return false;
	free(disk->path);
	disk->path = path;
	op->joined++;
	return true;
}

/*
 * Opens the disks that joined since the recording was opened, and those that
 * were missing.  Refreshing finds what is on them.  One that does not answer
 * has not joined yet.
 */
static void
try_joined(struct open_recording *op)
{
	int64_t complete_ns;
	unsigned joined;

	pthread_mutex_lock(&op->set->lock);
	joined = op->set->joined;
	complete_ns = op->set->complete_ns;
	pthread_mutex_unlock(&op->set->lock);
	for (unsigned i = 0; i < op->disks.n; i++) {
		if (op->disks.disk[i].fd >= 0 || is_hung(op->set, i))
			continue;
		if (!is_spare(op, i) || take_joined(op, i))
			try_disk(op, i);
	}
	if (op->joined >= joined)
		op->disks_ns = complete_ns;
}

static void
try_disks(struct open_recording *op)
{
	struct open_recordings *set = op->set;

	for (unsigned i = 0; i < op->disks.n; i++) {
		if (is_spare(op, i))
			continue;
		if (is_hung(set, i))
			op->partial = true;
		else
			try_disk(op, i);
	}
}

static int
call_look(struct open_recording *op, struct recording *rec)
{
	const struct open_recordings_hooks *h = &op->set->hooks;
	bool closed;

	pthread_mutex_lock(&op->set->lock);
	closed = op->set->closed;
	pthread_mutex_unlock(&op->set->lock);
	if (!h->look || closed || recording_facts(rec)->state != RECORDING_LIVE)
		return 0;
	return h->look(h->arg, rec, op->disks_ns);
}

static int
make_reader(struct open_recording *op, struct recording *rec,
	    struct fault *fault)
{
	const struct open_recordings_hooks *h = &op->set->hooks;
	const struct pool_reader_args a = { .pool = op->set->pool,
					    .live = { h->arg, h->copy },
					    .verify = op->set->verify };
	struct pool_reader *reader;
	int err = pool_reader_open(&reader, rec, &a);

	if (err)
		return fault_set(fault, err, "no-memory", "no memory");
	pthread_mutex_lock(&op->lock);
	op->rec = rec;
	op->reader = reader;
	take_facts(op);
	pthread_mutex_unlock(&op->lock);
	return 0;
}

static int
open_now(struct open_recording *op, struct fault *fault)
{
	int64_t begun = clock_steady();
	struct recording *rec;
	int err;

	try_disks(op);
	err = recording_open(&rec, &op->disks, op->name, fault);
	if (err == -ENOENT && op->partial) {
		fault_why(fault, "a disk does not answer");
		err = -ETIMEDOUT;
	}
	if (err)
		return err;
	err = recording_hold(rec, fault);
	if (!err && (call_look(op, rec) || recording_refresh(rec)))
		err = fault_no_memory(fault);
	if (!err)
		err = make_reader(op, rec, fault);
	if (err)
		recording_close(rec);
	pthread_mutex_lock(&op->lock);
	op->looked = begun;
	op->cost = clock_steady() - begun;
	pthread_mutex_unlock(&op->lock);
	return err;
}

/* True if a disk has another file system mounted by now, or if one that was
 * missing has this recording now.  May wait for the disk. */
static bool
came_back(const struct open_recording *op, unsigned i)
{
	const struct disk *was = &op->disks.disk[i];
	struct disk is = { .path = was->path, .fd = -1, .mount = was->mount };
	int dir = -1;

	if (disk_look(is.path, is.mount, &is.id))
		return false;
	if (was->fd >= 0 && op->rec->part[i].dir >= 0)
		return !disk_same(&is.id, &was->id);
	if (!disk_open(&is))
		dir = layout_dir_open(is.fd, op->name, DISK_LINKS);
	if (dir >= 0)
		file_close(dir);
	disk_close(&is);
	return dir >= 0;
}

/* ---- jobs of that thread: refreshing ------------------------------------- */

static int
reload_from_disks(struct open_recording *op)
{
	struct fault fault;
	int err = 0;

	try_joined(op);
	pool_reader_watch(op->reader);
	if (!op->fresh)
		err = recording_open(&op->fresh, &op->disks, op->name, &fault);
	if (err)
		return err;
	for (unsigned i = 0; i < op->disks.n; i++)
		op->fresh->part[i].hangs = op->rec->part[i].hangs;
	/* Blocks that were shown from memory stay visible. */
	err = recording_remember_all(op->fresh, op->rec);
	if (err >= 0)
		err = call_look(op, op->fresh);
	return err < 0 ? err : recording_refresh(op->fresh);
}

static void
exchange(struct open_recording *op)
{
	pthread_mutex_lock(&op->lock);
	pool_reader_exchange(op->reader, op->fresh);
	take_facts(op);
	pthread_mutex_unlock(&op->lock);
}

/* True if one of the blocks from `from` up to `end` is on no disk that is
 * known. */
static bool
lacks_blocks(const struct recording *rec, size_t from, size_t end)
{
	const struct recording_block *b = rec->block;

	for (size_t i = from; i < end && i < rec->blocks; i++) {
		if (b[i].record.kind == RECORDING_ABSENT ||
		    (b[i].record.kind == INDEX_BLOCK && b[i].disk < 0))
			return true;
	}
	return false;
}

/*
 * True if the recording ended just now, and what it lacks may be on a disk that
 * has not joined yet; or its recorder was interrupted just now, and one that
 * goes on with it may find these blocks: fill in their place would be wrong.
 */
static bool
is_too_early(struct open_recording *op, int64_t now)
{
	enum recording_state state = recording_facts(op->fresh)->state;
	size_t shown = op->rec->blocks;

	if (state == RECORDING_LIVE)
		op->ended_ns = 0;
	else if (!op->ended_ns)
		op->ended_ns = now;
	if (recording_facts(op->rec)->state != RECORDING_LIVE || !op->ended_ns)
		return false;
	if (now - op->ended_ns >= op->set->patience)
		return false;
	/* Nothing waits for blocks that were shown and are lost. */
	if (state == RECORDING_INTERRUPTED &&
	    !lacks_blocks(op->fresh, 0, shown) &&
	    lacks_blocks(op->fresh, shown, SIZE_MAX))
		return true;
	return op->disks_ns < op->ended_ns &&
	       lacks_blocks(op->fresh, 0, SIZE_MAX);
}

/* A copy that saw an interruption would go on to show what it lacked then. */
static void
drop_fresh(struct open_recording *op)
{
	if (recording_facts(op->fresh)->state != RECORDING_INTERRUPTED)
		return;
	recording_close(op->fresh);
	op->fresh = NULL;
}

static int
reload(struct open_recording *op)
{
	int64_t begun = clock_steady();
	int err = reload_from_disks(op);
	bool removed = err == -EIDRM || err == -ENOENT;

	if (!err && is_too_early(op, clock_steady())) {
		drop_fresh(op);
	} else if (!err) {
		exchange(op);
		recording_hold(op->rec, NULL);
		cursors_refresh(op);
	}
	pthread_mutex_lock(&op->lock);
	op->facts.removed |= removed;
	op->looked = begun;
	op->cost = clock_steady() - begun;
	pthread_mutex_unlock(&op->lock);
	return removed ? 0 : err;
}

/* ---- jobs of that thread: is it still the same? -------------------------- */

/*
 * Returns 1 if the folder on a disk is the open one, 0 if not, -1 if unknown.
 */
static int
is_same_on(struct open_recording *op, unsigned i)
{
	const struct recording_part *part = &op->rec->part[i];
	char file[LAYOUT_FILE];
	struct stat was, is;
	int dir, same = 0;
	bool new;

	if (is_spare(op, i) || part->hangs || is_hung(op->set, i))
		return -1;
	try_begin(op, i);
	new = came_back(op, i);
	if (new || part->dir < 0 || op->disks.disk[i].fd < 0) {
		try_end(op, i);
		return new ? 0 : -1;
	}
	dir = layout_dir_open(op->disks.disk[i].fd, op->name, DISK_LINKS);
	if (dir >= 0)
		touch(dir, layout_index(file, op->name));
	if (dir >= 0 && !file_stat(part->dir, &was) && !file_stat(dir, &is))
		same = was.st_dev == is.st_dev && was.st_ino == is.st_ino;
	try_end(op, i);
	if (dir >= 0)
		file_close(dir);
	return same;
}

static bool
is_same(struct open_recording *op)
{
	try_joined(op);
	pool_reader_watch(op->reader);
	for (unsigned i = 0; i < op->disks.n; i++) {
		if (!is_same_on(op, i))
			return false;
	}
	return !recording_is_removed(op->rec);
}

static bool
is_alone(struct open_recording *op)
{
	bool alone;

	pthread_mutex_lock(&op->set->lock);
	alone = op->users == 1;
	pthread_mutex_unlock(&op->set->lock);
	return alone;
}

/*
 * Opens the recording, or checks that an open one is still current; holds it
 * against removal.  Returns -ESTALE if the caller shall open it anew: its name
 * is gone or is another recording now; or nobody else uses it and it was opened
 * without a disk, or is another recorder's and was opened some time ago.
 */
static int
check(struct open_recording *op, struct fault *fault)
{
	if (!op->rec)
		return open_now(op, fault);
	/*
	 * Another recorder's index is not ours to watch: reopen to see changes.
	 */
	if (is_alone(op) &&
	    (op->partial ||
	     (op->rec->foreign && clock_steady() - op->looked > FOREIGN_NS)))
		return -ESTALE;
	if (!op->rec->foreign && !is_same(op))
		return -ESTALE;
	if (!op->rec->foreign &&
	    recording_facts(op->rec)->state != RECORDING_COMPLETE)
		reload(op); /* on failure, what was seen before stays */
	return recording_hold(op->rec, fault);
}

/* Releases the hold that check() took, once nobody uses the recording: a
 * removal need not wait. */
static void
release(struct open_recording *op)
{
	if (op->rec)
		recording_release(op->rec);
	if (op->fresh)
		recording_release(op->fresh);
}

/* Closes the reader and both copies of the recording. */
static void
close_op(struct open_recording *op)
{
	pool_reader_close(op->reader);
	if (op->rec)
		recording_close(op->rec);
	if (op->fresh)
		recording_close(op->fresh);
}

/* ---- how that thread ends ------------------------------------------------ */

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
			release(op);
	} while (state != OVER);
	/* Jobs still queued: their callers gave up waiting. */
	while ((job = op->job)) {
		op->job = job->next;
		open_recording_job_put(op, job);
	}
	close_op(op);
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
		pool_leave(set->pool);
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
	unsigned places = a->disks->n + a->spare;
	struct pool_args pool = { .disks = places, .spare = a->spare };
	int err;

	if (!s)
		return -ENOMEM;
	s->refs = 1;
	s->patience = a->patience ? a->patience : PATIENCE_S * NS_SECOND;
	s->verify = a->verify;
	s->once = a->once;
	s->hooks = a->hooks;
	s->complete_ns = a->spare ? 0 : INT64_MAX;
	s->cache = a->cache ? a->cache : CACHE;
	if (s->cache < POOL_LEAST * POOL_REQUEST)
		s->cache = POOL_LEAST * POOL_REQUEST;
	pool.memory = s->cache;
	pool.patience = s->patience;
	pthread_mutex_init(&s->lock, NULL);
	init_cond(&s->ended);
	s->hangs = calloc(places + 1, sizeof *s->hangs);
	s->lines = calloc(places + 1, sizeof *s->lines);
	err = s->hangs && s->lines ? disks_copy(&s->disks, a->disks, a->spare)
				   : -ENOMEM;
	if (!err)
		err = pool_make(&s->pool, &pool);
	if (err)
		set_free(s);
	else
		*set = s;
	return err;
}

int
open_recordings_join(struct open_recordings *set, const char *path, bool mount)
{
	char *copy = strdup(path);
	struct disk *spare = NULL;

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&set->lock);
	for (unsigned i = 0; i < set->disks.n && !spare; i++) {
		if (!*set->disks.disk[i].path)
			spare = &set->disks.disk[i];
	}
	if (spare) {
		free(spare->path);
		spare->path = copy;
		spare->mount = mount;
		set->joined++;
	}
	pthread_mutex_unlock(&set->lock);
	if (spare)
		pool_join(set->pool);
	else
		free(copy);
	return spare ? 0 : -ENOSPC;
}

void
open_recordings_complete(struct open_recordings *set, int64_t at_ns)
{
	pthread_mutex_lock(&set->lock);
	set->complete_ns = at_ns;
	pthread_mutex_unlock(&set->lock);
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
	op->joined = set->joined;
	op->disks_ns = set->complete_ns;
	op->told = calloc(set->disks.n + 1, sizeof *op->told);
	set->open++;
	set->refs++;
	if (op->told && !disks_copy(&op->disks, &set->disks, 0) && !start(op))
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
	struct pool_reader *r = NULL;
	struct pool_reader_facts f;
	struct open_recording *op;

	pthread_mutex_lock(&set->lock);
	op = find(set, name);
	if (op) {
		*c = (struct open_recording_counts){
			.bytes = count_of(&op->sums.bytes),
			.unreadable_bytes = count_of(&op->sums.unreadable),
			.filled_bytes = count_of(&op->sums.filled),
		};
		pthread_mutex_lock(&op->lock);
		r = op->reader;
		pthread_mutex_unlock(&op->lock);
	}
	if (op && r) { /* the reader is not closed while the set is locked */
		pool_reader_facts(r, &f);
		c->disk_bytes = f.bytes;
		c->live_bytes = f.live_bytes;
		c->healed = f.healed;
		c->damaged_bytes = f.damaged;
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
	pool_facts(set->pool, &use->cache_bytes, &use->hang);
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
	return check(op, &((struct enter_job *)job)->fault);
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
		return fault_no_memory(fault);
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

/* ---- asking for a refresh ------------------------------------------------ */

/* How often one that was interrupted is looked at: a recorder may go on with
 * it. */
#define RESUMED_NS NS_SECOND

struct reload_job {
	struct open_recording_job job;
	int64_t asked;
};

static int
run_reload(struct open_recording *op, struct open_recording_job *job)
{
	/* Skip it if another caller's refresh began after this one was asked
	 * for. */
	return op->looked >= ((struct reload_job *)job)->asked ? 0 : reload(op);
}

int
open_recording_refresh(struct open_recording *op, int64_t max_age_ns)
{
	enum { COST = 4 }; /* refreshing takes at most 1/COST of the time */
	int64_t now = clock_steady(), age = max_age_ns;
	struct reload_job *l;
	bool wanted;

	pthread_mutex_lock(&op->lock);
	if (op->facts.state == RECORDING_INTERRUPTED && age < RESUMED_NS)
		age = RESUMED_NS;
	if (age < op->cost * COST)
		age = op->cost * COST;
	wanted = !op->set->once && op->facts.state != RECORDING_COMPLETE &&
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
