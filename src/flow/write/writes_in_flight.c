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
 * may be silent.  A pool of Ceph has more of them: its thread makes the next chunk
 * meanwhile, which takes an answer of a busy cluster, 20 to 100 ms, and with
 * sixteen the OSDs ran dry.
 *
 * Files that all blocks of a disk share are copied on their way, where a block
 * does not begin and end with a page.  In a Mark6 file nothing does: it has 20
 * bytes, then 8 before each block, and the place of a block is known only when
 * a disk takes it, long after its packets were put where they are in memory.
 * O_DIRECT wants pages at addresses that are pages, so each request is gathered
 * in memory of its own: the end of the block before, the header, the data, and
 * zeros up to a page.  A request of STAGE bytes is copied while others are with
 * the disk, and is still in the processor's cache when it leaves.
 *
 * Measured with uring, blocks of 9 MB, XFS on a loop device with direct I/O,
 * two cores that others use too, Linux 6.18: Mark6 takes 0.10 to 0.13 CPU s per
 * GB and is written as fast as fio writes (1.2 to 3 GB/s), chunks take 0.02;
 * through the page cache it was 0.47 to 0.95 CPU s per GB, at 0.4 to 0.7 GB/s.
 * Requests of 256 KiB and 1 MiB take as much, of 128 KiB 0.16 and more; pwrite,
 * one at a time, is half as fast with 256 KiB as with 512.  The copy is two
 * thirds of the time; stores past the cache do not make it cheaper.
 *
 * Left out: writing data from where it lies, which the kernel allows
 * since 6.0 where a device takes memory aligned to 4 bytes (NVMe, SATA).  It
 * would save the copy, 0.05 to 0.08 CPU s per GB; virtio and loop devices do not
 * take it, and a driver that handles it wrongly would write wrong data.
 */
#include "flow/write/writes_in_flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	SINGLE = 8 << 20,
	QUEUED = 4 << 20,
	STAGE = 512 << 10,
	HUGE_PAGE = 2 << 20,
};

void
writes_init(struct writes_in_flight *f, const struct write_ops *ops,
	    struct write_state *state, unsigned requests, uint64_t align,
	    struct heartbeat *beat)
{
	*f = (struct writes_in_flight){ .ops = ops,
					.state = state,
					.align = align,
					.bytes = ops->reap ? QUEUED : SINGLE,
					.beat = beat,
					.requests = requests,
					.idles = requests };
	for (unsigned i = 0; i < requests; i++)
		f->idle[i] = &f->request[i];
}

void
writes_finish(struct writes_in_flight *f)
{
	free(f->stage);
	f->stage = NULL;
}

/* Makes the memory for copies.  0 or -ENOMEM. */
static int
stage_make(struct writes_in_flight *f)
{
	size_t bytes = (size_t)f->requests * STAGE;

	if (f->stage)
		return 0;
	f->stage = aligned_alloc(HUGE_PAGE, bytes);
	if (!f->stage)
		return -ENOMEM;
	/* Small pages will do if the kernel refuses huge ones. */
	madvise(f->stage, bytes, MADV_HUGEPAGE);
	return 0;
}

static bool
is_copied(const struct file_write *file)
{
	return file->before_bytes || file->pad;
}

void
writes_add(struct writes_in_flight *f, struct file_write *file)
{
	file->err = is_copied(file) ? stage_make(f) : 0;
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
	return !newest || newest->sent == newest->bytes + newest->pad;
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

/* Copies `bytes` of the file's write, from position `at` of it on. */
static void
gather(uint8_t *to, const struct file_write *file, uint64_t at, size_t bytes)
{
	size_t part = 0;

	if (at < file->before_bytes) {
		part = file->before_bytes - at;
		part = part < bytes ? part : bytes;
		memcpy(to, (const uint8_t *)file->before + at, part);
	}
	to += part;
	at += part;
	bytes -= part;
	part = 0;
	if (at < file->bytes) {
		part = file->bytes - at < bytes ? file->bytes - at : bytes;
		memcpy(to,
		       (const uint8_t *)file->data + (at - file->before_bytes),
		       part);
	}
	memset(to + part, 0, bytes - part);
}

/* Fills in a request of the next piece of the file. */
static void
request_fill(struct writes_in_flight *f, struct write_request *r,
	     struct file_write *file)
{
	uint64_t left = file->bytes + file->pad - file->sent;
	uint64_t most = is_copied(file) ? STAGE : f->bytes;
	uint8_t *copy;

	r->tag = file;
	r->fd = file->fd;
	r->offset = file->offset + file->sent;
	r->bytes = left < most ? left : most;
	if (is_copied(file)) {
		copy = f->stage + (size_t)(r - f->request) * STAGE;
		gather(copy, file, file->sent, r->bytes);
		r->data = copy;
	} else {
		r->data = (const uint8_t *)file->data + file->sent;
	}
	file->sent += r->bytes;
	file->parts++;
}

/* Makes a request of the next piece of the oldest file that has one left; NULL:
 * there is none, or no request is idle. */
static struct write_request *
request_cut(struct writes_in_flight *f)
{
	for (unsigned i = 0; i < f->files && f->idles; i++) {
		struct file_write *file = f->file[i];
		struct write_request *r;

		if (file->sent == file->bytes + file->pad || !wanted(file))
			continue;
		r = f->idle[--f->idles];
		request_fill(f, r, file);
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

static void
start(struct writes_in_flight *f)
{
	if (f->queued && f->ops->start)
		f->ops->start(f->state);
}

void
writes_push(struct writes_in_flight *f)
{
	struct write_request *r;
	bool copied;

	while ((r = request_next(f))) {
		copied = is_copied(r->tag);
		if (!submit(f, r))
			break;
		/* The disk writes it while the next one is copied. */
		if (copied)
			start(f);
	}
	start(f);
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
	return !file->parts &&
	       (file->err || file->sent == file->bytes + file->pad);
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
