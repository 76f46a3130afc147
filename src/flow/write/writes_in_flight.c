/* SPDX-License-Identifier: MIT */
/*
 * A request is idle, with the plugin, or ready.  Ready requests were written
 * short or refused by a busy plugin, and are submitted again before new ones
 * are cut.  Two jobs share the requests, the older one first: the second begins
 * when all of the first is with the plugin, so that a disk with a queue never
 * runs dry between two files and a block is still written as fast as the disk
 * can.
 *
 * A request is 8 MiB for a plugin that does not queue: one system call each.
 * For one that queues it is 4 MiB.  CPU seconds per GB with uring and blocks of
 * 64 MiB are 0.018 with 1 MiB, 0.011 with 2, 0.008 with 4 and 0.007 with 8
 * (ext4 on virtio, Linux 6.18); but of sixteen requests of 8 MiB, which a disk
 * of 20 MB/s serves side by side, none would end within the time that a disk
 * may be silent.
 */
#include "flow/write/writes_in_flight.h"

#include <errno.h>

enum { SINGLE = 8 << 20, QUEUED = 4 << 20 };

void
writes_init(struct writes_in_flight *f, const struct write_ops *ops,
	    struct write_state *state, uint64_t align, struct beat *beat)
{
	*f = (struct writes_in_flight){ .ops = ops,
					.state = state,
					.align = align,
					.bytes = ops->reap ? QUEUED : SINGLE,
					.beat = beat,
					.idles = WRITES_REQUESTS };
	for (unsigned i = 0; i < WRITES_REQUESTS; i++)
		f->idle[i] = &f->request[i];
}

void
writes_add(struct writes_in_flight *f, struct file_write *job)
{
	job->err = 0;
	job->sent = 0;
	job->parts = 0;
	f->job[f->jobs++] = job;
}

bool
writes_hungry(const struct writes_in_flight *f)
{
	const struct file_write *newest;

	if (!f->ops->reap || f->jobs == WRITES_FILES || f->readies)
		return false;
	newest = f->jobs ? f->job[f->jobs - 1] : NULL;
	return !newest || newest->sent == newest->bytes;
}

static void
request_free(struct writes_in_flight *f, struct write_request *r)
{
	struct file_write *job = r->tag;

	job->parts--;
	f->idle[f->idles++] = r;
}

/* Takes the result of a request: the rest of a short write is submitted again.
 * With O_DIRECT that rest has to begin at an aligned offset, so a few bytes are
 * written twice. */
static void
request_done(struct writes_in_flight *f, struct write_request *r)
{
	struct file_write *job = r->tag;
	uint64_t got = r->result < 0 ? 0 : (uint64_t)r->result;

	beat_now(f->beat);
	if (got < r->bytes)
		got = got / f->align * f->align;
	if (!got && !job->err)
		job->err = r->result < 0 ? (int)r->result : -EIO;
	r->data = (const uint8_t *)r->data + got;
	r->offset += got;
	r->bytes -= got;
	if (r->bytes && !job->err)
		f->ready[f->readies++] = r;
	else
		request_free(f, r);
}

/* True if more of the job's data should be written. */
static bool
wanted(struct file_write *job)
{
	if (!job->err && job->away &&
	    atomic_load_explicit(job->away, memory_order_relaxed))
		job->err = -ECANCELED;
	return !job->err;
}

/* Makes a request of the next piece of the oldest job that has one left; NULL:
 * there is none, or no request is idle. */
static struct write_request *
request_cut(struct writes_in_flight *f)
{
	for (unsigned i = 0; i < f->jobs && f->idles; i++) {
		struct file_write *job = f->job[i];
		uint64_t left = job->bytes - job->sent;
		struct write_request *r;

		if (!left || !wanted(job))
			continue;
		r = f->idle[--f->idles];
		r->tag = job;
		r->fd = job->fd;
		r->data = (const uint8_t *)job->data + job->sent;
		r->bytes = left < f->bytes ? left : f->bytes;
		r->offset = job->offset + job->sent;
		job->sent += r->bytes;
		job->parts++;
		return r;
	}
	return NULL;
}

static struct write_request *
request_next(struct writes_in_flight *f)
{
	while (f->readies) {
		struct write_request *r = f->ready[--f->readies];

		if (wanted(r->tag))
			return r;
		request_free(f, r);
	}
	return request_cut(f);
}

/* False when the plugin is busy: it has to finish a request first. */
static bool
submit(struct writes_in_flight *f, struct write_request *r)
{
	struct file_write *job = r->tag;

	switch (f->ops->submit(f->state, r)) {
	case WRITE_QUEUED: f->queued++; return true;
	case WRITE_DONE: request_done(f, r); return true;
	default: break;
	}
	f->ready[f->readies++] = r;
	/* Busy without a request queued: a bug of the plugin. */
	if (!f->queued)
		job->err = -EIO;
	return !f->queued;
}

void
writes_push(struct writes_in_flight *f)
{
	struct write_request *r;

	while ((r = request_next(f)) && submit(f, r))
		;
	if (f->queued && f->ops->start)
		f->ops->start(f->state);
}

void
writes_wait(struct writes_in_flight *f)
{
	struct write_request *got[WRITES_REQUESTS];
	unsigned n = 0;

	if (f->queued)
		n = f->ops->reap(f->state, got, WRITES_REQUESTS);
	f->queued -= n;
	for (unsigned i = 0; i < n; i++)
		request_done(f, got[i]);
}

/* True if the job is finished.  Requests of a failed job that wait to be
 * submitted again are freed first. */
static bool
over(struct writes_in_flight *f, struct file_write *job)
{
	unsigned kept = 0;

	for (unsigned i = 0; job->err && i < f->readies; i++) {
		if (f->ready[i]->tag == job)
			request_free(f, f->ready[i]);
		else
			f->ready[kept++] = f->ready[i];
	}
	if (job->err)
		f->readies = kept;
	return !job->parts && (job->err || job->sent == job->bytes);
}

struct file_write *
writes_done(struct writes_in_flight *f)
{
	for (unsigned i = 0; i < f->jobs; i++) {
		struct file_write *job = f->job[i];

		if (!over(f, job))
			continue;
		f->jobs--;
		for (; i < f->jobs; i++)
			f->job[i] = f->job[i + 1];
		return job;
	}
	return NULL;
}
