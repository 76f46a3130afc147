/* SPDX-License-Identifier: MIT */
/*
 * A request is idle, with the plugin, or ready.  Ready requests were written
 * short or refused by a busy plugin, and are submitted again before new ones
 * are cut.  Two files share the requests, the older one first: the second begins
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
	    struct write_state *state, uint64_t align, struct heartbeat *beat)
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
writes_add(struct writes_in_flight *f, struct file_write *file)
{
	file->err = 0;
	file->sent = 0;
	file->parts = 0;
	f->file[f->files++] = file;
}

bool
writes_hungry(const struct writes_in_flight *f)
{
	const struct file_write *newest;

	if (!f->ops->reap || f->files == WRITES_FILES || f->readies)
		return false;
	newest = f->files ? f->file[f->files - 1] : NULL;
	return !newest || newest->sent == newest->bytes;
}

static void
request_free(struct writes_in_flight *f, struct write_request *r)
{
	struct file_write *file = r->tag;

	file->parts--;
	f->idle[f->idles++] = r;
}

/* Takes the result of a request: the rest of a short write is submitted again.
 * With O_DIRECT that rest has to begin at an aligned offset, so a few bytes are
 * written twice. */
static void
request_done(struct writes_in_flight *f, struct write_request *r)
{
	struct file_write *file = r->tag;
	uint64_t got = r->result < 0 ? 0 : (uint64_t)r->result;

	heartbeat_now(f->beat);
	if (got < r->bytes)
		got = got / f->align * f->align;
	if (!got && !file->err)
		file->err = r->result < 0 ? (int)r->result : -EIO;
	r->data = (const uint8_t *)r->data + got;
	r->offset += got;
	r->bytes -= got;
	if (r->bytes && !file->err)
		f->ready[f->readies++] = r;
	else
		request_free(f, r);
}

/* True if more of the file's data should be written. */
static bool
wanted(struct file_write *file)
{
	if (!file->err && file->away &&
	    atomic_load_explicit(file->away, memory_order_relaxed))
		file->err = -ECANCELED;
	return !file->err;
}

/* Makes a request of the next piece of the oldest file that has one left; NULL:
 * there is none, or no request is idle. */
static struct write_request *
request_cut(struct writes_in_flight *f)
{
	for (unsigned i = 0; i < f->files && f->idles; i++) {
		struct file_write *file = f->file[i];
		uint64_t left = file->bytes - file->sent;
		struct write_request *r;

		if (!left || !wanted(file))
			continue;
		r = f->idle[--f->idles];
		r->tag = file;
		r->fd = file->fd;
		r->data = (const uint8_t *)file->data + file->sent;
		r->bytes = left < f->bytes ? left : f->bytes;
		r->offset = file->offset + file->sent;
		file->sent += r->bytes;
		file->parts++;
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
	struct file_write *file = r->tag;

	switch (f->ops->submit(f->state, r)) {
	case WRITE_QUEUED: f->queued++; return true;
	case WRITE_DONE: request_done(f, r); return true;
	default: break;
	}
	f->ready[f->readies++] = r;
	/* Busy without a request queued: a bug of the plugin. */
	if (!f->queued)
		file->err = -EIO;
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

/* True if the file is finished.  Requests of a failed file that wait to be
 * submitted again are freed first. */
static bool
over(struct writes_in_flight *f, struct file_write *file)
{
	unsigned kept = 0;

	for (unsigned i = 0; file->err && i < f->readies; i++) {
		if (f->ready[i]->tag == file)
			request_free(f, f->ready[i]);
		else
			f->ready[kept++] = f->ready[i];
	}
	if (file->err)
		f->readies = kept;
	return !file->parts && (file->err || file->sent == file->bytes);
}

struct file_write *
writes_done(struct writes_in_flight *f)
{
	for (unsigned i = 0; i < f->files; i++) {
		struct file_write *file = f->file[i];

		if (!over(f, file))
			continue;
		f->files--;
		for (; i < f->files; i++)
			f->file[i] = f->file[i + 1];
		return file;
	}
	return NULL;
}
