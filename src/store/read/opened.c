/* SPDX-License-Identifier: MIT */
/*
 * The set is a list, because few recordings are open at a time.  A recording
 * that nobody uses any more stays open for some seconds, in case it is opened
 * again.  Idle, it costs what its index takes; its buffers are free for others.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/read/opened_priv.h"
#include "store/recording/recording_priv.h"

enum { OPEN_MOST = 4096, PATIENCE_S = 10 };
enum { SAY_MOST = 8 };		   /* log lines about a disk, at most, */
#define SAY_AGAIN (60 * NS_SECOND) /* within this time */
#define CACHE	  (UINT64_C(512) << 20)

/*
 * ---- the set ----------------------------------------------------------------
 */

static void
set_free(struct opened_set *set)
{
	if (set->pool)
		reader_pool_leave(set->pool);
	disks_clear(&set->disks);
	pthread_mutex_destroy(&set->lock);
	pthread_cond_destroy(&set->ended);
	free(set->hangs);
	free(set->said);
	free(set);
}

/* Drops a reference.  Called under the set's lock, which it unlocks. */
static void
set_drop(struct opened_set *set)
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
opened_make(struct opened_set **set, const struct opened_args *a)
{
	struct opened_set *s = calloc(1, sizeof *s);
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
	s->hooks = a->hooks;
	pool.patience = s->patience;
	pthread_mutex_init(&s->lock, NULL);
	init_cond(&s->ended);
	s->hangs = calloc(a->disks->n + 1, sizeof *s->hangs);
	s->said = calloc(a->disks->n + 1, sizeof *s->said);
	err = s->hangs && s->said ? disks_copy(&s->disks, a->disks) : -ENOMEM;
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
opened_free(struct opened_set *set)
{
	int64_t until = clock_steady() + NS_SECOND / 2;
	struct timespec at = { until / NS_SECOND, until % NS_SECOND };
	int err = 0;

	if (!set)
		return;
	pthread_mutex_lock(&set->lock);
	set->closed = true;
	for (struct opened *op = set->op; op; op = op->next)
		opened_stir(op);
	while (set->refs > 1 && !err)
		err = pthread_cond_timedwait(&set->ended, &set->lock, &at);
	set_drop(set);
}

/* ---- one recording
 * ------------------------------------------------------------- */

static void
op_free(struct opened *op)
{
	struct opened_set *set = op->set;

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
opened_drop(struct opened *op)
{
	bool last;

	pthread_mutex_lock(&op->lock);
	last = --op->refs == 0;
	pthread_mutex_unlock(&op->lock);
	if (last)
		op_free(op);
}

struct opened *
opened_create(struct opened_set *set, const char *name)
{
	struct opened *op = calloc(1, sizeof *op);

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
	if (op->told && !disks_copy(&op->disks, &set->disks) &&
	    !opened_start(op))
		return op;
	op->refs = 1;
	pthread_mutex_unlock(&set->lock);
	opened_drop(op);
	pthread_mutex_lock(&set->lock);
	return NULL;
}

/* Counts a log line about a disk.  Returns how many there are now. */
static unsigned
say(struct opened_set *set, int disk)
{
	struct opened_said *said = &set->said[disk];
	int64_t now = clock_steady();
	unsigned lines;

	pthread_mutex_lock(&set->lock);
	if (!said->since || now - said->since > SAY_AGAIN)
		*said = (struct opened_said){ .since = now };
	lines = ++said->lines;
	pthread_mutex_unlock(&set->lock);
	return lines;
}

void
opened_tell(struct opened *op, int disk, int err)
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
	log_line(
	    LEVEL_WARN, op->name, "%s: %s; what it has there cannot be read%s",
	    op->disks.disk[disk].path,
	    err == -ETIMEDOUT ? "the disk does not answer" : strerror(-err),
	    lines == SAY_MOST ? "; of others the same is not said now" : "");
}

/* ---- facts
 * ----------------------------------------------------------------------- */

void
opened_facts(struct opened *op, struct opened_facts *f)
{
	pthread_mutex_lock(&op->lock);
	*f = op->facts;
	pthread_mutex_unlock(&op->lock);
}

bool
opened_counts(struct opened_set *set, const char *name, struct opened_counts *c)
{
	struct reader *r = NULL;
	struct reader_facts f;
	struct opened *op;

	pthread_mutex_lock(&set->lock);
	op = opened_find(set, name);
	if (op) {
		pthread_mutex_lock(&op->lock);
		*c = op->counts;
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
opened_use(struct opened_set *set, struct opened_use *use)
{
	pthread_mutex_lock(&set->lock);
	*use = (struct opened_use){ .open = set->open, .idle = set->idle };
	pthread_mutex_unlock(&set->lock);
	reader_pool_facts(set->pool, &use->cache_bytes, &use->hang);
}

/* ---- disks that come back
 * ------------------------------------------------------- */

bool
opened_came(const struct opened *op, unsigned i)
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
		close(dir);
	disk_close(&is);
	return dir >= 0;
}
