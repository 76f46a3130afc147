/* SPDX-License-Identifier: MIT */
/*
 * Measures sequential speed, because recording is sequential.  The time of
 * writing ends when all data is durable, so neither the kernel's cache nor the
 * disk's counts as speed.  Before reading, the kernel's cache of the file is
 * dropped.
 *
 * Each page begins with its own offset, which is checked when it is read: a
 * disk that loses or swaps data is found here, and not in an observation.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/disks/disk_try.h"

enum { PAGE = 4096 };

/* The memory of one request, and its state. */
struct slot {
	struct write_request request;
	uint8_t *data;
	uint64_t at; /* offset in the file */
	int64_t since;
};

struct job {
	struct disk_try *t;
	const struct try_way *way;
	struct write_state *state;
	int fd;
	uint8_t *memory;
	struct slot slot[TRY_FLIGHT];
	struct slot *idle[TRY_FLIGHT];
	unsigned idles;
	int64_t *took; /* ns that each request took */
	unsigned n;
	uint64_t next;
	int err;
};

static int
by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t
percentile(int64_t *took, unsigned n, unsigned percent)
{
	if (!n)
		return 0;
	qsort(took, n, sizeof *took, by_value);
	return took[(n * percent + 99) / 100 - 1];
}

/* ---- pages that say where they belong -------------------------------- */

static void
stamp(uint8_t *data, uint64_t at)
{
	for (uint64_t i = 0; i < TRY_REQUEST; i += PAGE) {
		uint64_t place = ~(at + i);

		memcpy(data + i, &place, sizeof place);
	}
}

static bool
is_stamped(const uint8_t *data, uint64_t at)
{
	for (uint64_t i = 0; i < TRY_REQUEST; i += PAGE) {
		uint64_t place;

		memcpy(&place, data + i, sizeof place);
		if (place != ~(at + i))
			return false;
	}
	return true;
}

/* ---- writing --------------------------------------------------------- */

static void
request_done(struct job *j, struct write_request *r)
{
	struct slot *s = r->tag;
	size_t got = r->result < 0 ? 0 : (size_t)r->result;

	if (r->result <= 0 && !j->err)
		j->err = r->result < 0 ? (int)r->result : -EIO;
	r->data = (const uint8_t *)r->data + got;
	r->offset += got;
	r->bytes -= got;
	atomic_fetch_add_explicit(j->t->done, got, memory_order_relaxed);
	if (!r->bytes)
		j->took[j->n++] = clock_steady() - s->since;
	j->idle[j->idles++] = s;
}

/*
 * Returns a slot whose request was written in part or was not taken; NULL:
 * none.
 */
static struct slot *
slot_again(struct job *j)
{
	for (unsigned i = 0; i < j->idles; i++) {
		struct slot *s = j->idle[i];

		if (!s->request.bytes)
			continue;
		j->idle[i] = j->idle[--j->idles];
		return s;
	}
	return NULL;
}

static struct slot *
slot_next(struct job *j)
{
	struct slot *s = j->err ? NULL : slot_again(j);

	if (s || j->err || !j->idles || j->next >= j->t->bytes)
		return s;
	s = j->idle[--j->idles];
	s->at = j->next;
	j->next += TRY_REQUEST;
	stamp(s->data, s->at);
	s->request = (struct write_request){ .fd = j->fd,
					     .data = s->data,
					     .bytes = TRY_REQUEST,
					     .offset = s->at,
					     .tag = s };
	s->since = clock_steady();
	return s;
}

/* Waits for at least one of the queued requests. */
static void
reap(struct job *j, unsigned *queued)
{
	struct write_request *done[TRY_FLIGHT];
	unsigned n = j->way->ops->reap(j->state, done, TRY_FLIGHT);

	*queued -= n;
	for (unsigned i = 0; i < n; i++)
		request_done(j, done[i]);
}

static int
write_all(struct job *j)
{
	unsigned queued = 0;
	struct slot *s;

	for (;;) {
		s = slot_next(j);
		if (!s && !queued)
			return j->err;
		if (!s) {
			reap(j, &queued);
			continue;
		}
		switch (j->way->ops->submit(j->state, &s->request)) {
		case WRITE_DONE: request_done(j, &s->request); break;
		case WRITE_QUEUED: queued++; break;
		default:
			j->idle[j->idles++] = s;
			if (!queued)
				/*
				 * the plugin is busy although nothing is queued
				 */
				return -EIO;
			reap(j, &queued);
		}
	}
}

static int
measure_write(struct job *j)
{
	struct try_result *r = &j->t->result;
	int64_t since = clock_steady();
	int err;

	j->t->doing = "write";
	err = write_all(j);
	if (!err && fdatasync(j->fd) < 0)
		err = -errno;
	r->write = (double)j->t->bytes * 1e9 / (double)(clock_steady() - since);
	r->write_p50 = percentile(j->took, j->n, 50);
	r->write_p99 = percentile(j->took, j->n, 99);
	return err;
}

/* ---- reading --------------------------------------------------------- */

static int
read_request(struct job *j, uint64_t at)
{
	int64_t since = clock_steady();
	size_t got = 0;

	while (got < TRY_REQUEST) {
		ssize_t n = pread(j->fd, j->memory + got, TRY_REQUEST - got,
				  (off_t)(at + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		got += (size_t)n;
	}
	j->took[j->n++] = clock_steady() - since;
	atomic_fetch_add_explicit(j->t->done, TRY_REQUEST,
				  memory_order_relaxed);
	return is_stamped(j->memory, at) ? 0 : -EBADMSG;
}

static int
measure_read(struct job *j)
{
	struct try_result *r = &j->t->result;
	int64_t since;
	int err = 0;

	j->t->doing = "read back";
	j->n = 0;
	posix_fadvise(j->fd, 0, 0, POSIX_FADV_DONTNEED);
	since = clock_steady();
	for (uint64_t at = 0; at < j->t->bytes && !err; at += TRY_REQUEST)
		err = read_request(j, at);
	r->read = (double)j->t->bytes * 1e9 / (double)(clock_steady() - since);
	r->read_p50 = percentile(j->took, j->n, 50);
	r->read_p99 = percentile(j->took, j->n, 99);
	return err;
}

/* ---- the file -------------------------------------------------------- */

/*
 * Opens a file without a name; if the file system has no O_TMPFILE, a file that
 * is unlinked at once.
 */
static int
file_open(const char *path, int flags)
{
	char name[4096];
	int fd;

	flags |= O_RDWR | O_CLOEXEC;
	fd = open(path, O_TMPFILE | flags, 0600);
	if (fd >= 0 || errno != EOPNOTSUPP)
		return fd < 0 ? -errno : fd;
	snprintf(name, sizeof name, "%s/.spate-test-%d", path, (int)getpid());
	fd = open(name, O_CREAT | O_EXCL | flags, 0600);
	if (fd < 0)
		return -errno;
	unlink(name);
	return fd;
}

/* Writes the first page to see whether a write plugin works here. */
static int
way_works(struct job *j)
{
	struct write_request r = { .fd = j->fd,
				   .data = j->memory,
				   .bytes = PAGE },
			     *done = &r;

	switch (j->way->ops->submit(j->state, &r)) {
	case WRITE_DONE: break;
	case WRITE_QUEUED: j->way->ops->reap(j->state, &done, 1); break;
	default: return -EIO;
	}
	return r.result < 0 ? (int)r.result : r.result < PAGE ? -EIO : 0;
}

static void
way_close(struct job *j)
{
	if (j->state && j->fd >= 0 && j->way->ops->finish)
		j->way->ops->finish(j->state, j->fd);
	if (j->state)
		j->way->ops->close(j->state);
	if (j->fd >= 0)
		close(j->fd);
	j->state = NULL;
	j->fd = -1;
}

static int
way_open(struct job *j, const struct try_way *way)
{
	struct host host = log_host(j->t->path);
	struct write_args args = { .host = &host,
				   .options = way->options,
				   .arena = j->memory,
				   .arena_bytes = TRY_FLIGHT * TRY_REQUEST };
	bool direct = way->ops->head.flags & WRITE_DIRECT;
	int err;

	j->way = way;
	j->t->writer = way->ops->head.name;
	j->fd = file_open(j->t->path, direct ? O_DIRECT : 0);
	err = j->fd < 0 ? j->fd : way->ops->open(&j->state, &args);
	if (!err)
		err = way_works(j);
	if (err)
		way_close(j);
	return err;
}

static int
job_run(struct job *j)
{
	int err = -EINVAL;

	j->t->doing = "make a file";
	for (unsigned i = 0; i < j->t->ways && err; i++)
		err = way_open(j, &j->t->way[i]);
	if (err)
		return err;
	/* Reserves the full size, as the daemon does for chunks. */
	if (fallocate(j->fd, 0, 0, (off_t)j->t->bytes) < 0 &&
	    errno != EOPNOTSUPP)
		err = -errno;
	if (!err)
		err = measure_write(j);
	if (!err)
		err = measure_read(j);
	way_close(j);
	return err;
}

void
disk_try(struct disk_try *t)
{
	struct job j = { .t = t, .fd = -1, .idles = TRY_FLIGHT };

	t->result = (struct try_result){ 0 };
	j.took = calloc(t->bytes / TRY_REQUEST + 1, sizeof *j.took);
	j.memory = mmap(NULL, TRY_FLIGHT * TRY_REQUEST, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (j.memory == MAP_FAILED || !j.took) {
		t->doing = "get memory";
		t->err = -ENOMEM;
	} else {
		for (unsigned i = 0; i < TRY_FLIGHT; i++) {
			j.slot[i].data = j.memory + (uint64_t)i * TRY_REQUEST;
			j.idle[i] = &j.slot[i];
			memset(j.slot[i].data, 0x5a + (int)i, TRY_REQUEST);
		}
		t->err = job_run(&j);
	}
	if (j.memory != MAP_FAILED)
		munmap(j.memory, TRY_FLIGHT * TRY_REQUEST);
	free(j.took);
}
