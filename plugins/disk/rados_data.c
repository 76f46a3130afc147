/* SPDX-License-Identifier: MIT */
/*
 * A file is cut into pieces of one size, 64 MiB: the first has the name of the
 * file's object, those behind it have ".p1", ".p2" and so on.  So a chunk is
 * one object, and a file that all blocks share may be as long as it likes,
 * although a cluster refuses objects of more than 128 MiB.  All pieces before
 * the last are full: the file ends where the first one is not.
 *
 * RADOS does the operations of one client on one object in their order, so
 * within a piece nothing is written before what lies in front of it, and after a
 * crash its size is what was written.  libradosstriper was not used: it spreads
 * each megabyte over several objects, locks a file for every write, and a file
 * could no longer be read with `rados get`.
 *
 * A write says that its object must exist, at least the first piece: a write
 * that comes late, after its file was removed, does not bring it back.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rados.h"

enum { PIECE_NAME = RADOS_OBJECT + 24, GAP = 4 };

static const char *
piece_name(const char *object, uint64_t piece, char name[PIECE_NAME])
{
	if (!piece)
		return object;
	snprintf(name, PIECE_NAME, "%s.p%llu", object,
		 (unsigned long long)piece);
	return name;
}

/* Asks for the size of a piece.  0, with no bytes if it does not exist, unless
 * it is the first: -ENOENT; or -errno. */
static int
piece_bytes(struct disk_file *f, uint64_t piece, uint64_t *bytes,
	    time_t *changed)
{
	char name[PIECE_NAME];
	int err = rados_stat(f->io, piece_name(f->object, piece, name), bytes,
			     changed);

	if (err != -ENOENT)
		return err;
	*bytes = 0;
	return piece ? 0 : err;
}

/* Finds how many pieces are full, beginning with those that were before, and
 * the bytes of the one behind them. */
static int
pieces_full(struct disk_file *f, uint64_t *full, uint64_t *rest,
	    time_t *changed)
{
	uint64_t low = __atomic_load_n(&f->full, __ATOMIC_RELAXED), high, step,
		 size = f->store->piece;
	int err = piece_bytes(f, low, rest, changed);

	if (!err && low && !*rest) /* cut since */
		err = piece_bytes(f, low = 0, rest, changed);
	/* Piece `low` is full, `high` is not. */
	for (step = 1, high = low; !err && *rest >= size; step *= 2) {
		low = high;
		high = low + step;
		err = piece_bytes(f, high, rest, changed);
	}
	while (!err && high > low + 1) {
		uint64_t middle = low + (high - low) / 2;

		err = piece_bytes(f, middle, rest, changed);
		if (*rest >= size)
			low = middle;
		else
			high = middle;
	}
	if (!err && *rest >= size)
		err = piece_bytes(f, high, rest, changed);
	if (err)
		return err;
	*full = high;
	__atomic_store_n(&f->full, high, __ATOMIC_RELAXED);
	return 0;
}

int
ceph_data_bytes(struct disk_file *f, uint64_t *bytes, int64_t *changed_ns)
{
	uint64_t full, rest;
	time_t changed = 0;
	int err = pieces_full(f, &full, &rest, &changed);

	if (err)
		return err;
	*bytes = full * f->store->piece + rest;
	*changed_ns = (int64_t)changed * NS_SECOND;
	return 0;
}

/* ---- reading and writing ------------------------------------------------------- */

int64_t
ceph_data_read(struct disk_file *f, void *data, size_t bytes, uint64_t offset)
{
	uint64_t size = f->store->piece;
	char name[PIECE_NAME];
	size_t done = 0;

	if (f->folder)
		return -EISDIR;
	while (done < bytes) {
		uint64_t piece = (offset + done) / size,
			 at = (offset + done) % size;
		size_t want = bytes - done;
		int got;

		want = want < size - at ? want : size - at;
		got = rados_read(f->io, piece_name(f->object, piece, name),
				 (char *)data + done, want, at);
		if (got == -ENOENT && piece)
			break;
		if (got < 0)
			return got;
		done += (size_t)got;
		if ((size_t)got < want)
			break;
	}
	return (int64_t)done;
}

/* Says that bytes are being written, of which the monitors do not know yet.
 * Returns 0, or -ESTALE: they must not. */
static int
write_begin(struct disk_file *f, size_t bytes)
{
	struct disk_store *s = f->store;
	int err;

	pthread_mutex_lock(&s->lock);
	err = f->lost ? -ESTALE : 0;
	s->written += err ? 0 : bytes;
	pthread_mutex_unlock(&s->lock);
	return err;
}

/* Makes the operation that writes one piece's part; NULL: no memory. */
static rados_write_op_t
write_op(uint64_t piece, const void *data, size_t bytes, uint64_t at)
{
	rados_write_op_t op = rados_create_write_op();

	if (!op)
		return NULL;
	if (!piece)
		rados_write_op_assert_exists(op);
	rados_write_op_write(op, data, bytes, at);
	return op;
}

int64_t
ceph_data_write(struct disk_file *f, const void *data, size_t bytes,
		uint64_t offset)
{
	uint64_t size = f->store->piece;
	char name[PIECE_NAME];
	size_t done = 0;
	int err = write_begin(f, bytes);

	if (err)
		return err;
	while (done < bytes) {
		uint64_t piece = (offset + done) / size,
			 at = (offset + done) % size;
		size_t part = bytes - done;
		rados_write_op_t op;

		part = part < size - at ? part : size - at;
		op = write_op(piece, (const char *)data + done, part, at);
		if (!op)
			return -ENOMEM;
		err = rados_write_op_operate2(
		    op, f->io, piece_name(f->object, piece, name), NULL, 0);
		rados_release_write_op(op);
		if (err)
			return err;
		done += part;
	}
	return (int64_t)bytes;
}

/* Notes where a file ends that this one wrote last. */
static void
end_set(struct disk_file *f, uint64_t end, uint64_t next)
{
	pthread_mutex_lock(&f->store->lock);
	f->end = end;
	f->end_next = next;
	pthread_mutex_unlock(&f->store->lock);
}

/* Returns -ESTALE if a file that is locked to be written ends elsewhere than this
 * one left it: its lock ended, and another one went on with it. */
static int
end_check(struct disk_file *f, uint64_t end)
{
	int err = 0;

	pthread_mutex_lock(&f->store->lock);
	if (f->has == DISK_EXCLUSIVE && end != f->end && end != f->end_next) {
		f->lost = true;
		err = -ESTALE;
	}
	pthread_mutex_unlock(&f->store->lock);
	return err;
}

/* Within a piece, RADOS itself appends: two who do it at the same time do not
 * write over each other.  A record that would cross the end of one is written
 * as two. */
int
ceph_data_append(struct disk_file *f, const void *data, size_t bytes)
{
	uint64_t full, rest, end;
	char name[PIECE_NAME];
	rados_write_op_t op;
	time_t changed;
	int64_t put;
	int err = ceph_lock_lost(f) ? -ESTALE : 0;

	if (!err)
		err = pieces_full(f, &full, &rest, &changed);
	if (err)
		return err;
	end = full * f->store->piece + rest;
	err = end_check(f, end);
	if (err)
		return err;
	end_set(f, end, end + bytes);
	if (rest + bytes > f->store->piece) {
		put = ceph_data_write(f, data, bytes, end);
		if (put >= 0)
			end_set(f, end + bytes, end + bytes);
		return put < 0 ? (int)put : 0;
	}
	op = rados_create_write_op();
	if (!op)
		return -ENOMEM;
	if (!full)
		rados_write_op_assert_exists(op);
	rados_write_op_append(op, data, bytes);
	err = rados_write_op_operate2(
	    op, f->io, piece_name(f->object, full, name), NULL, 0);
	rados_release_write_op(op);
	if (!err)
		end_set(f, end + bytes, end + bytes);
	return err;
}

/* A write that was started, in the parts that its pieces have of it. */
struct started {
	void (*done)(void *arg, int64_t result);
	void *arg;
	size_t bytes;
	atomic_uint parts; /* and one more while they are being started */
	atomic_int err;
};

static void
part_done(struct started *w, int err)
{
	int none = 0;

	if (err < 0)
		atomic_compare_exchange_strong(&w->err, &none, err);
	if (atomic_fetch_sub(&w->parts, 1) != 1)
		return;
	err = atomic_load(&w->err);
	w->done(w->arg, err ? err : (int64_t)w->bytes);
	free(w);
}

static void
completed(rados_completion_t is, void *arg)
{
	part_done(arg, rados_aio_get_return_value(is));
}

static int
part_start(struct disk_file *f, struct started *w, uint64_t piece,
	   const void *data, size_t bytes, uint64_t at)
{
	char name[PIECE_NAME];
	rados_completion_t is;
	rados_write_op_t op;
	int err = rados_aio_create_completion2(w, completed, &is);

	if (err < 0)
		return err;
	op = write_op(piece, data, bytes, at);
	err = -ENOMEM;
	if (op) {
		atomic_fetch_add(&w->parts, 1);
		err = rados_aio_write_op_operate(
		    op, f->io, is, piece_name(f->object, piece, name), NULL, 0);
		if (err < 0)
			atomic_fetch_sub(&w->parts, 1);
		rados_release_write_op(op);
	}
	rados_aio_release(is);
	return err < 0 ? err : 0;
}

int
ceph_data_write_start(struct disk_file *f, const void *data, size_t bytes,
		      uint64_t offset, void (*done)(void *arg, int64_t result),
		      void *arg)
{
	uint64_t size = f->store->piece;
	struct started *w;
	size_t at = 0;
	int err = write_begin(f, bytes);

	if (err)
		return err;
	w = malloc(sizeof *w);
	if (!w)
		return -ENOMEM;
	*w = (struct started){ .done = done, .arg = arg, .bytes = bytes };
	atomic_init(&w->parts, 1);
	while (at < bytes && !err) {
		uint64_t in = (offset + at) % size;
		size_t part = bytes - at < size - in ? bytes - at : size - in;

		err = part_start(f, w, (offset + at) / size,
				 (const char *)data + at, part, in);
		at += part;
	}
	part_done(w, err);
	return 0;
}

/* ---- cutting and removing --------------------------------------------------------- */

/* Removes the pieces from this one on.  A crash may have left a gap between
 * two. */
static int
pieces_remove(rados_ioctx_t io, const char *object, uint64_t from)
{
	char name[PIECE_NAME];
	unsigned gap = 0;
	int err = 0;

	for (; !err && gap < GAP; from++) {
		err = rados_remove(io, piece_name(object, from, name));
		gap = err == -ENOENT ? gap + 1 : 0;
		if (err == -ENOENT)
			err = 0;
	}
	return err;
}

int
ceph_data_remove(rados_ioctx_t io, const char *object)
{
	int err = pieces_remove(io, object, 1);

	/* The first one last: while it is there, the others can be found. */
	if (!err)
		err = rados_remove(io, object);
	return err == -ENOENT ? 0 : err;
}

/* Makes a piece shorter or longer, also one that does not exist yet, which RADOS
 * would leave at that. */
static int
piece_cut(struct disk_file *f, uint64_t piece, uint64_t bytes)
{
	rados_write_op_t op = rados_create_write_op();
	char name[PIECE_NAME];
	int err;

	if (!op)
		return -ENOMEM;
	if (piece)
		rados_write_op_create(op, LIBRADOS_CREATE_IDEMPOTENT, NULL);
	else
		rados_write_op_assert_exists(op);
	rados_write_op_truncate(op, bytes);
	err = rados_write_op_operate2(
	    op, f->io, piece_name(f->object, piece, name), NULL, 0);
	rados_release_write_op(op);
	return err;
}

int
ceph_data_cut(struct disk_file *f, uint64_t bytes)
{
	uint64_t size = f->store->piece, full, rest, last = bytes / size;
	time_t changed;
	int err = f->folder ? -EISDIR : pieces_full(f, &full, &rest, &changed);

	if (!err && ceph_lock_lost(f))
		err = -ESTALE;
	if (!err)
		end_set(f, full * size + rest, bytes);
	/* To grow, the pieces before the last have to be full. */
	for (; !err && full < last; full++)
		err = piece_cut(f, full, size);
	if (!err && (bytes % size || !last))
		err = piece_cut(f, last, bytes % size);
	if (!err)
		err = pieces_remove(f->io, f->object,
				    last + (bytes % size || !last));
	if (err)
		return err;
	__atomic_store_n(&f->full, last, __ATOMIC_RELAXED);
	end_set(f, bytes, bytes);
	return 0;
}

int
ceph_data_try(rados_ioctx_t io)
{
	static const char object[] = "spate-try", zero[4096];
	rados_write_op_t op = rados_create_write_op();
	int err;

	if (!op)
		return -ENOMEM;
	/* An erasure coded pool without overwrites refuses the second. */
	rados_write_op_write(op, zero, sizeof zero, 0);
	err = rados_write_op_operate2(op, io, object, NULL, 0);
	rados_release_write_op(op);
	if (!err)
		err = rados_write(io, object, zero, 100, 1000);
	rados_remove(io, object);
	return err;
}
