/* SPDX-License-Identifier: MIT */
/*
 * The disk recordings use, and comes back.
 *
 * A disk that fails takes no more blocks: it gives up its place in the queue,
 * and the other disks take its share.  It is probed after RETRY, then after
 * twice as long, and so on up to RETRY_MOST, until it has written a chunk
 * again: each failure costs a block a detour, and a line of the log only where
 * the reason is a new one.  A disk that is full or not mounted costs nothing to
 * probe, and is probed every RETRY.
 */
#include "flow/write/writer_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/disk/layout.h"
#include "store/disk/file.h"

/* ---- chunks that could not be removed yet ------------------------------ */

/*
 * Chunks that have to go because their blocks are on other disks, but which
 * their own disk failed to remove.  They are removed before the disk takes
 * blocks again.  Only for recordings with a file per chunk: a file that all
 * blocks share is cut back to what its index names when it is opened again.
 */

struct stray_chunk {
	char path[2 * LAYOUT_FILE]; /* relative to the disk's folder */
	struct stray_chunk *next;   /* linked in writer::strays */
};

static void
stray_keep(struct writer *w, const char *path)
{
	struct stray_chunk *d = calloc(1, sizeof *d);

	if (!d)
		return;
	snprintf(d->path, sizeof d->path, "%s", path);
	d->next = w->strays;
	w->strays = d;
}

/* Writes where a chunk is; parity has a file of its own in every layout. */
static void
stray_path(char path[2 * LAYOUT_FILE], const struct output *o,
	   const struct folder_target *target)
{
	char dir[LAYOUT_FILE], file[LAYOUT_FILE];

	layout_dir(dir, o->name, o->whole ? LAYOUT_MARK6 : LAYOUT_VBS);
	if (target->parity)
		layout_parity(file, o->name, target->number, 0);
	else
		layout_chunk(file, o->name, target->number);
	snprintf(path, 2 * (size_t)LAYOUT_FILE, "%s/%s", dir, file);
}

void
stray_add(struct writer *w, const struct chunk *c)
{
	char path[2 * LAYOUT_FILE];

	stray_path(path, c->rec->output, &c->target);
	log_line(LEVEL_WARN, w->disk.path,
		 "%s cannot be removed now; it will be when the disk is tried "
		 "again",
		 path);
	stray_keep(w, path);
}

void
writer_moved(struct writer *w, struct disk_recording *rec)
{
	struct index_record r;
	unsigned strays = 0;
	int err;

	while (disk_recording_moved(rec, &r, &err)) {
		const struct folder_target target = { .number = r.number };
		char path[2 * LAYOUT_FILE];

		output_moved(rec->output, w->a.number, r.bytes);
		if (!err || err == -ESTALE)
			continue;
		stray_path(path, rec->output, &target);
		stray_keep(w, path);
		strays++;
	}
	if (strays)
		log_line(LEVEL_WARN, w->disk.path,
			 "%u chunks of %s, which other disks have now, cannot "
			 "be removed; they will be when the disk is tried "
			 "again",
			 strays, rec->output->name);
}

/* Removes all remembered chunks.  0 or -errno. */
static int
strays_try(struct writer *w)
{
	struct stray_chunk *d;

	while ((d = w->strays)) {
		if (file_remove_at(w->disk.fd, d->path, 0) < 0 &&
		    errno != ENOENT && errno != ENOTDIR)
			return -errno;
		w->strays = d->next;
		free(d);
	}
	return 0;
}

void
strays_forget(struct writer *w)
{
	struct stray_chunk *d;

	while ((d = w->strays)) {
		log_line(LEVEL_ERROR, w->disk.path,
			 "%s is on another disk as well, and could not be "
			 "removed; remove it by hand",
			 d->path);
		w->strays = d->next;
		free(d);
	}
}

#define RETRY	   (5 * NS_SECOND)
#define RETRY_MOST (60 * NS_SECOND)

void
writer_facts(struct writer *w, struct writer_facts *facts)
{
	pthread_mutex_lock(&w->lock);
	*facts = w->facts;
	for (unsigned i = 0; i < WRITES_FILES; i++)
		facts->queued += w->load[i].b && !w->load[i].away;
	if (facts->state == WRITER_HUNG)
		facts->hung_ns = clock_steady() - w->hung_since;
	facts->silent_ns =
	    w->busy
		? clock_steady() -
		      atomic_load_explicit(&w->beat.at, memory_order_relaxed)
		: 0;
	pthread_mutex_unlock(&w->lock);
}

bool
writer_works(const struct writer_facts *f)
{
	return f->state < WRITER_FULL ||
	       (f->state == WRITER_HUNG && f->hung_ns < WRITER_GONE);
}

const char *
writer_path(const struct writer *w)
{
	return w->a.disk->path;
}

void
writer_space_look(struct writer *w)
{
	bool closed = w->disk.fd < 0;
	struct disk_space space = { 0, 0 };

	if (closed)
		disk_open(&w->disk);
	disk_space(&w->disk, &space);
	if (closed)
		disk_close(&w->disk);
	heartbeat_now(&w->beat);
	pthread_mutex_lock(&w->lock);
	w->facts.space = space;
	w->facts.device = w->disk.id.device;
	pthread_mutex_unlock(&w->lock);
}

/* ---- the queue ------------------------------------------------------- */

void
writer_queue_leave(struct writer *w)
{
	struct taker *t;

	pthread_mutex_lock(&w->lock);
	t = w->taker;
	w->taker = NULL;
	/* The disk counts as fast until a block says otherwise. */
	w->facts.benched = false;
	pthread_mutex_unlock(&w->lock);
	if (t)
		taker_leave(t);
}

static int
queue_join(struct writer *w)
{
	int err = 0;

	pthread_mutex_lock(&w->lock);
	if (!w->taker)
		err = taker_join(&w->taker, w->queue, w->a.number);
	pthread_mutex_unlock(&w->lock);
	return err;
}

/* ---- leaving --------------------------------------------------------- */

static bool
has_left(enum writer_state state)
{
	return state >= WRITER_FULL && state != WRITER_HUNG;
}

bool
writer_disk_left(struct writer *w)
{
	bool left;

	pthread_mutex_lock(&w->lock);
	left = has_left(w->facts.state);
	pthread_mutex_unlock(&w->lock);
	return left;
}

static enum writer_state
state_after(int err)
{
	switch (err) {
	case -ENOSPC:
	case -EDQUOT: return WRITER_FULL;
	case -ENOENT:
	case -ENODEV: return WRITER_MISSING;
	default: return WRITER_FAILED;
	}
}

static const char *
error_text(int err)
{
	switch (err) {
	case -ENOSPC: return "no space above the reserve";
	case -ENODEV: return "nothing is mounted there";
	case -EFBIG:
		return "no file may be that long there (LimitFSIZE= or ulimit "
		       "-f of spated, or its file system)";
	case -ETIMEDOUT: return "it did not answer in time";
	case -EEXIST: return "another recording has that name there";
	case -EALREADY:
		return "the recording there has been ended, perhaps by spate "
		       "recover";
	case -EBUSY: return "another process has the recording there";
	case -ESTALE:
		return "another recorder took the recording there over, as "
		       "this one stood still";
	default: return disk_why(err);
	}
}

/* Sets when the disk is probed again, and returns how many ns from now. */
static int64_t
wait_for(struct writer *w, enum writer_state state)
{
	int64_t wait = RETRY;

	if (state == WRITER_FAILED) {
		wait <<= w->tries < 4 ? w->tries : 4;
		w->tries++;
	}
	if (wait > RETRY_MOST)
		wait = RETRY_MOST;
	w->try_at = clock_steady() + wait;
	return wait;
}

/* Sets state and reason; true if they differ from those before.  `again`: not
 * counted as another error. */
static bool
why_set(struct writer *w, enum writer_state state, const char *why, bool again)
{
	bool news;

	pthread_mutex_lock(&w->lock);
	news = w->facts.state != state || strcmp(w->facts.why, why) != 0;
	w->facts.state = state;
	w->facts.errors += !again;
	snprintf(w->facts.why, sizeof w->facts.why, "%s", why);
	pthread_mutex_unlock(&w->lock);
	return news;
}

/* `again`: the disk was out of use already, and a probe has failed. */
static void
disk_leave(struct writer *w, int err, const char *doing, bool again)
{
	enum writer_state state = state_after(err);
	int64_t wait = wait_for(w, state);
	char why[sizeof w->facts.why];
	bool news;

	snprintf(why, sizeof why, "cannot %s: %s", doing, error_text(err));
	news = why_set(w, state, why, again);
	log_line(news ? LEVEL_ERROR : LEVEL_DEBUG, w->disk.path,
		 "%s; the disk is left alone for %d s", why,
		 (int)(wait / NS_SECOND));
	w->leaving = true;
	writer_queue_leave(w);
	w->a.changed(w->a.arg);
}

void
writer_disk_leave(struct writer *w, int err, const char *doing)
{
	if (!writer_disk_left(w))
		disk_leave(w, err, doing, false);
}

/* ---- a disk that refuses one recording ---------------------------------- */

/* True for errors by which a disk that recorders share says that one recording
 * there is another one's.  Others can go on. */
static bool
is_refusal(const struct writer *w, int err)
{
	return remote_is_path(w->disk.path) &&
	       (err == -ESTALE || err == -EALREADY || err == -EBUSY);
}

void
writer_recording_fails(struct writer *w, struct disk_recording *rec, int err,
		       const char *doing)
{
	int full = 0;

	if (rec && rec->refused)
		return;
	if (!rec || !is_refusal(w, err) || writer_disk_left(w)) {
		writer_disk_leave(w, err, doing);
		return;
	}
	pthread_mutex_lock(&w->lock);
	if (w->taker)
		full =
		    taker_refuse(w->taker, rec->output, clock_steady() + RETRY);
	pthread_mutex_unlock(&w->lock);
	if (full) {
		writer_disk_leave(w, err, doing);
		return;
	}
	log_line(
	    rec->told_refused ? LEVEL_DEBUG : LEVEL_ERROR, rec->output->name,
	    "%s: cannot %s: %s; it gets no more of this recording for %d s",
	    w->disk.path, doing, error_text(err), (int)(RETRY / NS_SECOND));
	rec->refused = rec->told_refused = true;
	w->a.changed(w->a.arg);
}

static bool
is_written(const struct writer *w, const struct disk_recording *rec)
{
	for (unsigned i = 0; i < WRITES_FILES; i++) {
		if (w->load[i].b && w->load[i].chunk.rec == rec)
			return true;
	}
	return false;
}

void
writer_refused_suspend(struct writer *w)
{
	for (struct disk_recording *rec = w->recordings; rec; rec = rec->next) {
		int err;

		if (!rec->refused || is_written(w, rec))
			continue;
		err = disk_recording_sync(rec);
		writer_moved(w, rec);
		disk_recording_suspend(rec);
		rec->refused = false;
		if (err && !is_refusal(w, err))
			writer_disk_leave(w, err, "make it durable");
	}
}

void
writer_close_fails(struct writer *w, const struct output *o, int err)
{
	if (is_refusal(w, err))
		log_line(LEVEL_ERROR, o->name,
			 "%s: cannot close the recording: %s", w->disk.path,
			 error_text(err));
	else
		writer_disk_leave(w, err, "close the recording");
}

void
writer_admit(struct writer *w, const struct output *o)
{
	pthread_mutex_lock(&w->lock);
	if (w->taker)
		taker_admit(w->taker, o);
	pthread_mutex_unlock(&w->lock);
}

/* ---- coming back ----------------------------------------------------- */

/* Checks that a disk which was full has space for two blocks, so that it does
 * not come back for a single one. */
static int
room_check(struct writer *w)
{
	struct disk_space space;
	int err = w->need ? disk_space(&w->disk, &space) : 0;

	if (err || !w->need)
		return err;
	return space.free < 2 * w->need ? -ENOSPC : 0;
}

static int
probe(struct writer *w, const char **doing)
{
	int err = 0;

	*doing = "open the folder";
	/* The disk stays open while it has open folders. */
	if (w->disk.fd < 0 || !w->recordings)
		err = disk_open(&w->disk);
	heartbeat_now(&w->beat);
	if (err)
		return err;
	*doing = "write to it";
	err = room_check(w);
	if (!err)
		err = strays_try(w);
	if (!err)
		err = disk_writes_probe(&w->plugins, &w->disk);
	heartbeat_now(&w->beat);
	return err ? err : queue_join(w);
}

int
writer_disk_try(struct writer *w)
{
	bool left = writer_disk_left(w);
	const char *doing;
	int err = probe(w, &doing);

	if (err) {
		disk_leave(w, err, doing, left);
		return err;
	}
	if (left)
		log_line(LEVEL_INFO, w->disk.path,
			 "the disk takes blocks again");
	w->need = 0;
	pthread_mutex_lock(&w->lock);
	if (w->facts.state != WRITER_HUNG)
		w->facts.state = WRITER_IDLE;
	w->facts.why[0] = 0;
	w->facts.plugin = w->plugins.main.is->ops->head.name;
	pthread_mutex_unlock(&w->lock);
	writer_space_look(w);
	w->a.changed(w->a.arg);
	return 0;
}

/*
 * Called when the thread is back from a hung disk and its loads are written or
 * removed.  The syncs come first: chunks at risk may be durable after all.  A
 * disk that hangs twice without a chunk written in between is left alone for a
 * while.
 */
void
writer_disk_return(struct writer *w)
{
	int64_t hung;

	pthread_mutex_lock(&w->lock);
	hung = clock_steady() - w->hung_since;
	w->facts.state = WRITER_IDLE;
	w->facts.why[0] = 0;
	heartbeat_now(&w->beat);
	pthread_mutex_unlock(&w->lock);
	log_line(LEVEL_WARN, w->disk.path, "the disk answers again, after %d s",
		 (int)(hung / NS_SECOND));
	writer_rounds(w, INT64_MAX);
	if (writer_disk_left(w))
		return;
	if (w->tries++)
		disk_leave(w, -ETIMEDOUT, "rely on it", false);
	else if (!w->taker || w->strays)
		writer_disk_try(w);
}

/* ---- a disk that hangs; on the event loop ------------------------------ */

/*
 * A disk that does not answer, seen from outside.  This code runs on the event
 * loop, never on the disk's thread, which is stuck in some system call, be it a
 * write, an open, an fsync or an unlink.
 *
 * Decisions here are made under the writer's lock, and so are those of its
 * thread about its blocks (claim() in writer.c): a block is either given
 * away before the thread claims it, or not at all.
 *
 *   - A block that is given away gets another hold, for the disk that takes
 *     it; so its memory is free only when the old call has ended too, and is
 *     not reused while a device may still read from it.
 *   - The disk's place in the queue is taken away only while other disks take
 *     blocks: else new blocks wait in memory, and the disk may come back in
 *     time.
 *   - Its chunks since the last sync count as at risk.
 *   - Nobody waits for its jobs.
 */

/* Puts the writer in state HUNG; `since`: steady ns of its last sign of life.
 * Caller holds the lock. */
static void
hang(struct writer *w, int64_t since)
{
	w->hung_since = since;
	w->facts.state = WRITER_HUNG;
	w->facts.errors++;
	snprintf(w->facts.why, sizeof w->facts.why,
		 "no answer for %d s; it may come back",
		 (int)(WRITER_PATIENCE / NS_SECOND));
	for (struct disk_recording *l = w->recordings; l; l = l->next)
		disk_recording_risk(l);
	jobs_count(w);
}

void
writer_watch(struct writer *w, int64_t now)
{
	int64_t beat;
	bool hangs;

	pthread_mutex_lock(&w->lock);
	beat = atomic_load_explicit(&w->beat.at, memory_order_relaxed);
	hangs = w->busy && w->facts.state != WRITER_HUNG &&
		now - beat > WRITER_PATIENCE;
	if (hangs)
		hang(w, beat);
	pthread_mutex_unlock(&w->lock);
	if (!hangs)
		return;
	log_line(LEVEL_ERROR, writer_path(w),
		 "the disk does not answer; its blocks wait until it does, or "
		 "another disk takes blocks");
	w->a.changed(w->a.arg);
}

bool
writer_takes(struct writer *w)
{
	bool takes;

	pthread_mutex_lock(&w->lock);
	takes = w->taker && w->facts.state != WRITER_HUNG;
	pthread_mutex_unlock(&w->lock);
	return takes;
}

/* True if nobody has decided about the load's block yet, so that it can be
 * given away or up. */
static bool
is_undecided(const struct load *l)
{
	return l->b && !l->away && !l->given_up;
}

/* Marks all undecided blocks as given away and holds each once more for the
 * caller; returns how many.  Caller holds the lock. */
static unsigned
loads_take(struct writer *w, struct block **b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WRITES_FILES; i++) {
		struct load *l = &w->load[i];

		if (!is_undecided(l))
			continue;
		l->away = true;
		block_hold(l->b);
		b[n++] = l->b;
	}
	return n;
}

void
writer_relieve(struct writer *w)
{
	struct block *b[WRITES_FILES];
	struct taker *t = NULL;
	unsigned n = 0;

	pthread_mutex_lock(&w->lock);
	if (w->facts.state == WRITER_HUNG) {
		n = loads_take(w, b);
		t = w->taker;
		w->taker = NULL;
		w->facts.benched = false;
	}
	pthread_mutex_unlock(&w->lock);
	if (t)
		taker_leave(t);
	for (unsigned i = 0; i < n; i++)
		queue_return(w->queue, b[i]);
	if (n)
		log_line(LEVEL_WARN, writer_path(w),
			 "%u blocks that were on their way to it are given to "
			 "other disks",
			 n);
	/* Only now: the disk has left the queue. */
	pthread_mutex_lock(&w->lock);
	for (struct disk_recording *l = w->recordings;
	     l && w->facts.state == WRITER_HUNG; l = l->next)
		disk_recording_rescue(l);
	pthread_mutex_unlock(&w->lock);
}

void
writer_abandon(struct writer *w, const struct output *o)
{
	struct block *b[WRITES_FILES];
	unsigned n = 0;

	pthread_mutex_lock(&w->lock);
	for (unsigned i = 0; i < WRITES_FILES; i++) {
		struct load *l = &w->load[i];

		if (w->facts.state != WRITER_HUNG || !is_undecided(l) ||
		    l->b->session != o)
			continue;
		l->given_up = true;
		block_hold(l->b);
		b[n++] = l->b;
	}
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < n; i++)
		output_lost(b[i]->session, b[i]);
}

/* ---- orders; on the event loop ----------------------------------------- */

/* Orders to the writer that follow from plugging disks: end, since the disk is
 * to be taken away, or probe, since it may be there again.  Called on the event
 * loop; nothing here waits. */

static void
poke(struct writer *w)
{
	pthread_cond_signal(&w->wake);
	if (w->taker)
		taker_poke(w->taker);
}

void
writer_drop(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	poke(w);
	pthread_mutex_unlock(&w->lock);
}

bool
writer_dropped(struct writer *w)
{
	bool finished;

	pthread_mutex_lock(&w->lock);
	finished = w->finished;
	pthread_mutex_unlock(&w->lock);
	return finished;
}

void
writer_retry(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->retry = true;
	poke(w);
	pthread_mutex_unlock(&w->lock);
}
