/* SPDX-License-Identifier: MIT */
/*
 * Each source is read by a thread of its own, piece by piece, so all disks are
 * busy, and one that does not answer is left behind: its thread owns what it works
 * with, and ends when the disk answers.  Each source has a weight (parity_solve),
 * with which its bytes are added to the sum.  A source turns out to be damaged
 * only when all of it was read; then the sum is worth nothing, and the next
 * attempt counts that source as lost.
 *
 * Members behind the wanted one are read through the page cache and left there,
 * because whoever reads a recording to its end wants them next.  So a disk that is
 * away costs its readers half as many further reads.  All other sources are read
 * past the page cache.
 */
#include "store/parity/heal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "store/disk/disk.h"
#include "store/disk/file.h"

enum {
	PIECE = 1 << 20,
	AHEAD = 4 * PIECE,
	STEP = 128 << 10,
	SLOTS = 2, /* pieces that a source is ahead of the sum */
	MANY = 16, /* sources; more of them have shorter pieces */
	PIECE_MANY = 64 << 10,
	PAGE = 4096
};

/* A source that is being read: shared by its thread and the sum. */
struct heal_fetch {
	struct parity_source is; /* a copy, whose `dir` is its own */
	size_t piece;
	bool again;    /* the reader is about to want its data, too */
	uint8_t *data; /* piece i is in slot i % SLOTS */
	/* Descriptors through the page cache, and past it; -1: not open.
	 * The fetch's thread owns them. */
	int fd, direct;
	pthread_mutex_t lock;
	pthread_cond_t news;
	/* ---- under the lock */
	unsigned refs;
	uint64_t read, used; /* pieces */
	int64_t since;	     /* steady ns since when the disk was asked; 0: it
				is not */
	bool stop, ended;
	int err; /* once it has ended */
};

/* A source in an attempt. */
struct heal_source {
	struct parity_source *is;
	bool bad; /* it cannot be used, in this attempt and all others */
	uint8_t weight;
	struct heal_fetch *fetch; /* NULL: it is not needed */
};

/* The state of healing a block, kept from attempt to attempt. */
struct attempt {
	struct parity_heal *h;
	struct heal_source member[PARITY_MEMBERS], parity[PARITY_ROWS];
	unsigned lost[PARITY_ROWS], row[PARITY_ROWS], n;
	size_t piece;
	uint8_t *sum;
	uint64_t bytes; /* of the sum */
};

struct parity_heal *
parity_heal_make(unsigned members)
{
	struct parity_heal *h;

	h = calloc(1, sizeof *h + members * sizeof *h->member);
	if (h)
		h->members = members;
	return h;
}

void
parity_heal_free(struct parity_heal *h)
{
	struct parity_heal *older;

	for (; h; h = older) {
		older = h->older;
		free(h);
	}
}

/* Chooses as many rows as members are lost, and the weights of all sources.  0 or
 * -ENODATA. */
static int
choose(struct attempt *a)
{
	const struct parity_heal *h = a->h;
	uint8_t weight[PARITY_ROWS];
	unsigned rows = 0;

	a->lost[0] = h->wanted;
	a->n = 1;
	for (unsigned i = 0; i < h->members; i++) {
		if (i == h->wanted || !a->member[i].bad)
			continue;
		if (a->n == PARITY_ROWS)
			return -ENODATA;
		a->lost[a->n++] = i;
	}
	for (unsigned i = 0; i < h->rows && rows < a->n; i++) {
		if (!a->parity[i].bad)
			a->row[rows++] = i;
	}
	if (rows < a->n)
		return -ENODATA;
	parity_solve(a->row, a->lost, a->n, weight);
	for (unsigned i = 0; i < h->rows; i++)
		a->parity[i].weight = 0;
	for (unsigned i = 0; i < a->n; i++)
		a->parity[a->row[i]].weight = weight[i];
	for (unsigned i = 0; i < h->members; i++)
		a->member[i].weight =
		    i == h->wanted || a->member[i].bad
			? 0
			: parity_rest(a->row, weight, a->n, i);
	return 0;
}

/* ---- a source's thread ---------------------------------------------------- */

/* Drops a reference, and unlocks. */
static void
fetch_drop(struct heal_fetch *f)
{
	bool last = --f->refs == 0;

	pthread_mutex_unlock(&f->lock);
	if (!last)
		return;
	file_close(f->is.dir);
	pthread_cond_destroy(&f->news);
	pthread_mutex_destroy(&f->lock);
	free(f->data);
	free(f);
}

/* Asks the kernel to read ahead, in steps: for one call it reads no more than
 * `read_ahead_kb` of the device, mostly 128 KiB. */
static void
advise(const struct heal_fetch *f, uint64_t at, uint64_t bytes)
{
	uint64_t end = at + bytes < f->is.bytes ? at + bytes : f->is.bytes;

	for (; at < end; at += STEP)
		file_advise(f->fd, (off_t)(f->is.offset + at), STEP,
			    POSIX_FADV_WILLNEED);
}

/* Waits for a slot that the sum has used.  NULL: nobody wants the source any
 * more. */
static uint8_t *
slot_wait(struct heal_fetch *f)
{
	uint8_t *slot;

	pthread_mutex_lock(&f->lock);
	f->since = 0;
	while (!f->stop && f->read - f->used == SLOTS)
		pthread_cond_wait(&f->news, &f->lock);
	f->since = clock_steady();
	slot = f->stop ? NULL : f->data + f->read % SLOTS * f->piece;
	pthread_mutex_unlock(&f->lock);
	return slot;
}

static void
slot_give(struct heal_fetch *f)
{
	pthread_mutex_lock(&f->lock);
	f->read++;
	pthread_cond_signal(&f->news);
	pthread_mutex_unlock(&f->lock);
}

static void
direct_close(struct heal_fetch *f)
{
	if (f->direct >= 0)
		file_close(f->direct);
	f->direct = -1;
}

/* Reads a piece: in whole pages past the page cache, as long as that goes, else
 * through it.  0 or -errno. */
static int
piece_read(struct heal_fetch *f, uint8_t *slot, size_t part, uint64_t at)
{
	ssize_t got;

	if (f->direct >= 0) {
		got =
		    file_read(f->direct, slot, (part + PAGE - 1) / PAGE * PAGE,
			      (off_t)(f->is.offset + at));
		if (got >= (ssize_t)part)
			return 0;
		direct_close(f);
	}
	advise(f, at + AHEAD, part);
	got = read_whole(f->fd, slot, part, f->is.offset + at);
	if (got < 0)
		return (int)got;
	return got == (ssize_t)part ? 0 : -ENODATA;
}

static int
fetch_open(struct heal_fetch *f)
{
	f->fd = disk_open_at(f->is.dir, f->is.file, O_RDONLY, DISK_NO_LINKS);
	if (f->fd < 0)
		return f->fd;
	if (f->again || f->is.offset % PAGE)
		advise(f, 0, AHEAD);
	else
		f->direct = disk_open_at(f->is.dir, f->is.file,
					 O_RDONLY | O_DIRECT, DISK_NO_LINKS);
	return 0;
}

static void
fetch_close(struct heal_fetch *f)
{
	direct_close(f);
	if (f->fd < 0)
		return;
	if (!f->again)
		file_advise(f->fd, (off_t)f->is.offset, (off_t)f->is.bytes,
			    POSIX_FADV_DONTNEED);
	file_close(f->fd);
}

/* Reads all of the source.  0; -ECANCELED: nobody wants it; or -errno: it is
 * away, short or damaged. */
static int
fetch_all(struct heal_fetch *f)
{
	uint32_t crc = 0;
	uint8_t *slot;
	size_t part;
	int err = fetch_open(f);

	for (uint64_t at = 0; at < f->is.bytes && !err; at += part) {
		uint64_t left = f->is.bytes - at;

		part = left < f->piece ? (size_t)left : f->piece;
		slot = slot_wait(f);
		err = slot ? piece_read(f, slot, part, at) : -ECANCELED;
		if (err)
			break;
		if (f->is.summed)
			crc = crc32c(crc, slot, part);
		slot_give(f);
	}
	if (!err && f->is.summed && crc != f->is.crc)
		err = -EBADMSG;
	fetch_close(f);
	return err;
}

static void *
fetch_run(void *arg)
{
	struct heal_fetch *f = arg;
	int err = fetch_all(f);

	pthread_mutex_lock(&f->lock);
	f->since = 0;
	f->err = err;
	f->ended = true;
	pthread_cond_signal(&f->news);
	fetch_drop(f);
	return NULL;
}

static int
thread_start(struct heal_fetch *f)
{
	pthread_attr_t how;
	pthread_t thread;
	int err;

	pthread_attr_init(&how);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	err = -pthread_create(&thread, &how, fetch_run, f);
	pthread_attr_destroy(&how);
	return err;
}

/* Begins to read a source.  0 or -errno. */
static int
fetch_start(struct heal_fetch **fetch, const struct parity_source *s,
	    size_t piece, bool again)
{
	struct heal_fetch *f = malloc(sizeof *f);
	void *data = f ? aligned_alloc(PAGE, SLOTS * piece) : NULL;
	pthread_condattr_t steady;
	int err = 0;

	if (!data) {
		free(f);
		return -ENOMEM;
	}
	*f = (struct heal_fetch){ .is = *s,
				  .data = data,
				  .piece = piece,
				  .again = again,
				  .fd = -1,
				  .direct = -1,
				  .refs = 2,
				  .since = clock_steady() };
	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->news, &steady);
	pthread_condattr_destroy(&steady);
	f->is.dir = file_dup(s->dir);
	if (f->is.dir < 0)
		err = -errno;
	if (!err)
		err = thread_start(f);
	if (!err) {
		*fetch = f;
		return 0;
	}
	pthread_mutex_lock(&f->lock);
	f->refs = 1;
	fetch_drop(f);
	return err;
}

/* ---- the sum -------------------------------------------------------------- */

static bool
fetch_is_late(const struct heal_fetch *f, int64_t patience)
{
	return patience && f->since && clock_steady() - f->since > patience;
}

/* Waits for piece `i` of a source (UINT64_MAX: its end), saying meanwhile that it
 * goes on.  0; -ETIMEDOUT: its disk does not answer; or -errno. */
static int
fetch_wait(const struct parity_heal *h, struct heal_fetch *f, uint64_t i)
{
	int64_t turn = h->patience && h->patience < 4 * NS_SECOND
			   ? h->patience / 4
			   : NS_SECOND;
	int err = 0;

	pthread_mutex_lock(&f->lock);
	while (f->read <= i && !f->ended && !err) {
		int64_t until = clock_steady() + turn;
		const struct timespec at = { until / NS_SECOND,
					     until % NS_SECOND };

		pthread_cond_timedwait(&f->news, &f->lock, &at);
		if (f->read <= i && fetch_is_late(f, h->patience))
			err = -ETIMEDOUT;
		pthread_mutex_unlock(&f->lock);
		if (h->alive)
			h->alive(h->arg);
		pthread_mutex_lock(&f->lock);
	}
	if (f->read <= i && f->ended)
		err = f->err;
	pthread_mutex_unlock(&f->lock);
	return err;
}

/* Begins to read a source, if it is needed. */
static int
part_open(const struct attempt *a, struct heal_source *s)
{
	s->fetch = NULL;
	if (!s->weight)
		return 0;
	if (s->is->dir < 0)
		return -ENOENT;
	if (s->is->bytes > a->bytes)
		return -EBADMSG;
	return fetch_start(&s->fetch, s->is, a->piece,
			   s > &a->member[a->h->wanted] &&
			       s < &a->member[a->h->members]);
}

/* Adds a piece of a source, if it is that long. */
static int
part_add(const struct attempt *a, struct heal_source *s, uint64_t at)
{
	struct heal_fetch *f = s->fetch;
	uint64_t left = at < s->is->bytes ? s->is->bytes - at : 0;
	size_t part = left < a->piece ? (size_t)left : a->piece;
	uint64_t i = at / a->piece;
	int err;

	if (!f || !part)
		return 0;
	err = fetch_wait(a->h, f, i);
	if (err)
		return err;
	parity_mix(a->sum + at, s->weight, f->data + i % SLOTS * a->piece,
		   part);
	pthread_mutex_lock(&f->lock);
	f->used++;
	pthread_cond_signal(&f->news);
	pthread_mutex_unlock(&f->lock);
	return 0;
}

/* Lets go of a source; notes if its disk does not answer. */
static void
part_close(const struct attempt *a, struct heal_source *s)
{
	struct heal_fetch *f = s->fetch;

	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	if (fetch_is_late(f, a->h->patience))
		s->bad = s->is->late = true;
	f->stop = true;
	pthread_cond_signal(&f->news);
	fetch_drop(f);
	s->fetch = NULL;
}

/* Returns source `i`; members have the first numbers, then comes parity. */
static struct heal_source *
part_at(struct attempt *a, unsigned i)
{
	return i < a->h->members ? &a->member[i]
				 : &a->parity[i - a->h->members];
}

/* Adds all sources.  0; or -EAGAIN: one of them is lost, too, and is marked. */
static int
sum_up(struct attempt *a)
{
	unsigned n = a->h->members + a->h->rows;
	int err = 0;

	memset(a->sum, 0, a->bytes);
	for (unsigned i = 0; i < n; i++) {
		part_at(a, i)->bad |= part_open(a, part_at(a, i)) != 0;
		if (part_at(a, i)->bad && part_at(a, i)->weight)
			err = -EAGAIN;
	}
	for (uint64_t at = 0; at < a->bytes && !err; at += a->piece) {
		for (unsigned i = 0; i < n && !err; i++) {
			if (!part_add(a, part_at(a, i), at))
				continue;
			part_at(a, i)->bad = true;
			err = -EAGAIN;
		}
		if (a->h->alive)
			a->h->alive(a->h->arg);
	}
	for (unsigned i = 0; i < n && !err; i++) {
		struct heal_source *s = part_at(a, i);

		if (!s->fetch || !fetch_wait(a->h, s->fetch, UINT64_MAX))
			continue;
		s->bad = true;
		err = -EAGAIN;
	}
	for (unsigned i = 0; i < n; i++)
		part_close(a, part_at(a, i));
	return err;
}

/* Computes the block from one group. */
static int
group_heal(struct parity_heal *h, uint8_t **data)
{
	const struct parity_source *wanted = &h->member[h->wanted];
	struct attempt a = { .h = h, .piece = PIECE };
	int err = 0;

	for (unsigned i = 0; i < h->members; i++)
		a.member[i].is = &h->member[i];
	for (unsigned i = 0; i < h->rows; i++) {
		uint64_t bytes = h->parity[i].bytes;

		a.parity[i].is = &h->parity[i];
		a.parity[i].bad = !bytes || bytes > PARITY_MOST;
		if (!a.parity[i].bad && bytes > a.bytes)
			a.bytes = bytes;
	}
	if (wanted->bytes > a.bytes)
		return -ENODATA;
	if (h->members + h->rows > MANY)
		a.piece = PIECE_MANY;
	a.sum = malloc(a.bytes + 1);
	if (!a.sum)
		err = -ENOMEM;
	/* Each attempt that fails marks one more source. */
	while (!err && !(err = choose(&a))) {
		err = sum_up(&a);
		if (err != -EAGAIN)
			break;
		err = 0;
	}
	if (!err && wanted->summed &&
	    crc32c(0, a.sum, wanted->bytes) != wanted->crc)
		err = -EBADMSG;
	if (err) {
		free(a.sum);
		return err;
	}
	*data = a.sum;
	return 0;
}

/* Leaves out of a plan what is on a disk that was late for this one: each group
 * would wait for it once more. */
static void
late_leave(const struct parity_heal *h, struct parity_source *s)
{
	for (unsigned i = 0; i < h->members; i++) {
		if (h->member[i].late && h->member[i].disk == s->disk)
			s->dir = -1;
	}
	for (unsigned i = 0; i < h->rows; i++) {
		if (h->parity[i].late && h->parity[i].disk == s->disk)
			s->dir = -1;
	}
}

static void
late_disks_leave(const struct parity_heal *h, struct parity_heal *older)
{
	for (; h != older; h = h->older) {
		for (unsigned i = 0; i < older->members; i++)
			late_leave(h, &older->member[i]);
		for (unsigned i = 0; i < older->rows; i++)
			late_leave(h, &older->parity[i]);
	}
}

int
parity_heal(struct parity_heal *h, uint8_t **data)
{
	int err = group_heal(h, data), older = err;

	for (struct parity_heal *o = h->older; o && older; o = o->older) {
		o->patience = h->patience;
		o->alive = h->alive;
		o->arg = h->arg;
		late_disks_leave(h, o);
		older = group_heal(o, data);
	}
	return older ? err : 0;
}
