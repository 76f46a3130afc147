/* SPDX-License-Identifier: MIT */
/*
 * A file is cut into pieces of one size, 64 MiB: the first has the name of the
 * file's object, those behind it have ".p1", ".p2" and so on.  So a chunk is
 * one object, and a file that all blocks share may be as long as it likes,
 * although a cluster refuses objects of more than 128 MiB.  All pieces before
 * the last are full: the file ends where the first one is not.
 *
 * RADOS does the operations of one client on one object in their order, so
 * within a piece nothing is written before what lies in front of it, and after
 * a crash its size is what was written.  libradosstriper was not used: it
 * spreads each megabyte over several objects, locks a file for every write, and
 * a file could no longer be read with `rados get`.
 *
 * A write says that its object must exist, at least the first piece: a write
 * that comes late, after its file was removed, does not bring it back.  With a
 * term (rados_lock.c) it also says that no other recorder went on with the
 * piece.
 *
 * That one has a price: an OSD compares when all writes before it are done, so
 * those of one object go one by one, 0.8 of the rate.  Whether an object exists
 * it knows without.  So a chunk's objects have names that no other one gets,
 * who takes the chunk over copies it and removes them (rados_names.c), and its
 * writes need no more than that they exist.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rados.h"

enum { PIECE_NAME = RADOS_OBJECT + 24, GAP = 4 };

/* Attribute of an object with one writer: the term in which that made it. */
static const char once_key[] = "once", no_term[] = "-";

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

/* ---- terms --------------------------------------------------------------- */

/* Returns -ESTALE for an operation that was refused for its term, or since
 * another one has taken the file over and removed this object. */
static int
answer(const struct disk_file *f, int err)
{
	if (err == -ENOENT && f->once && *f->term)
		return -ESTALE;
	return err == -ECANCELED ? -ESTALE : err;
}

/* Starts an operation, and frees it.  `changed`: when the object counts as
 * changed; NULL: now.  NULL: no memory, or no connection. */
static rados_completion_t
op_start(rados_ioctx_t io, rados_write_op_t op, const char *object,
	 time_t *changed, int flags)
{
	rados_completion_t is;

	if (rados_aio_create_completion2(NULL, NULL, &is) < 0) {
		is = NULL;
	} else if (rados_aio_write_op_operate(op, io, is, object, changed,
					      flags) < 0) {
		rados_aio_release(is);
		is = NULL;
	}
	rados_release_write_op(op);
	return is;
}

rados_completion_t
ceph_object_start(rados_ioctx_t io, const char *object, const char *term,
		  uint64_t once)
{
	/* BlueStore keeps a checksum of each 64 KiB then, not of each 4. */
	enum {
		WRITE = 64 << 10,
		HINTS = LIBRADOS_ALLOC_HINT_FLAG_SEQUENTIAL_WRITE |
			LIBRADOS_ALLOC_HINT_FLAG_SEQUENTIAL_READ |
			LIBRADOS_ALLOC_HINT_FLAG_APPEND_ONLY |
			LIBRADOS_ALLOC_HINT_FLAG_INCOMPRESSIBLE
	};
	rados_write_op_t op = rados_create_write_op();

	if (!op)
		return NULL;
	rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
	ceph_term_set(op, term);
	if (once) {
		rados_write_op_set_alloc_hint2(op, once, WRITE, HINTS);
		rados_write_op_setxattr(op, once_key, *term ? term : no_term,
					*term ? strlen(term) : strlen(no_term));
	}
	/* An empty object takes no room: a full pool has to be emptied, which a
	 * file in the folder says first. */
	return op_start(io, op, object, NULL, LIBRADOS_OPERATION_FULL_FORCE);
}

int
ceph_object_end(rados_completion_t is)
{
	int err;

	if (!is)
		return -ENOMEM;
	rados_aio_wait_for_complete(is);
	err = rados_aio_get_return_value(is);
	rados_aio_release(is);
	return err;
}

/* Begins to make a piece behind the first with its term, if it does not exist:
 * the OSD does it before what is asked of the piece next. */
static int
piece_touch(struct disk_file *f, uint64_t piece)
{
	char name[PIECE_NAME];
	rados_completion_t is =
	    ceph_object_start(f->io, piece_name(f->object, piece, name),
			      f->term, f->once ? f->store->piece : 0);

	if (!is)
		return -ENOMEM;
	rados_aio_release(is);
	return 0;
}

/* Returns the first of the pieces to touch before `piece` is written, which end
 * with `piece`; 0: none.  In a file that several write, each piece is touched
 * when it is not the one of the last write: a late write of another process may
 * have made it.  In a file with `once` each piece is touched once, so that none
 * is made again after it was removed. */
static uint64_t
untouched(const struct disk_file *f, uint64_t piece)
{
	uint64_t last = __atomic_load_n(&f->touched, __ATOMIC_RELAXED);

	if (f->once)
		return piece > last ? last + 1 : 0;
	return !*f->term || piece == last ? 0 : piece;
}

/* Begins an operation that changes a piece, whose name it writes.  A piece that
 * is made by it gets the file's term.  NULL: no memory, or no connection. */
static rados_write_op_t
piece_op(struct disk_file *f, uint64_t piece, char name[PIECE_NAME])
{
	uint64_t first = untouched(f, piece);
	rados_write_op_t op;

	snprintf(name, PIECE_NAME, "%s", f->object);
	piece_name(f->object, piece, name);
	for (uint64_t i = first; first && i <= piece; i++) {
		if (piece_touch(f, i))
			return NULL;
	}
	op = rados_create_write_op();
	if (!op)
		return NULL;
	if (!piece || f->once)
		rados_write_op_assert_exists(op);
	if (!f->once)
		ceph_term_guard(op, f->term);
	if (first && !f->once)
		ceph_term_set(op, f->term);
	if (first)
		__atomic_store_n(&f->touched, piece, __ATOMIC_RELAXED);
	return op;
}

/* Does an operation, and frees it. */
static int
piece_do(struct disk_file *f, rados_write_op_t op, const char *name)
{
	int err = rados_write_op_operate2(op, f->io, name, NULL, 0);

	rados_release_write_op(op);
	return answer(f, err);
}

/* Sets the term of one piece. */
static rados_completion_t
mark_start(struct disk_file *f, uint64_t piece, time_t *changed)
{
	rados_write_op_t op = rados_create_write_op();
	char name[PIECE_NAME];

	if (!op)
		return NULL;
	rados_write_op_assert_exists(op);
	ceph_term_guard(op, f->term);
	ceph_term_set(op, f->term);
	return op_start(f->io, op, piece_name(f->object, piece, name), changed,
			0);
}

static int
mark_end(const struct disk_file *f, rados_completion_t is)
{
	return answer(f, ceph_object_end(is));
}

int
ceph_data_mark(struct disk_file *f)
{
	enum { AT_ONCE = 64 };
	rados_completion_t is[AT_ONCE];
	uint64_t full, rest, end, at;
	time_t changed;
	unsigned n;
	int err = 0, one;

	if (!*f->term)
		return 0;
	/* The first one says whether the file may be written at all.  When the
	 * last one was changed is kept: recover goes by it. */
	err = piece_bytes(f, 0, &rest, &changed);
	if (!err)
		err = mark_end(f, mark_start(f, 0, &changed));
	if (!err)
		err = pieces_full(f, &full, &rest, &changed);
	end = err ? 0 : full + (rest > 0);
	for (at = 1; !err && at < end; at += n) {
		for (n = 0; n < AT_ONCE && at + n < end; n++)
			is[n] = mark_start(f, at + n, &changed);
		for (unsigned i = 0; i < n; i++) {
			one = mark_end(f, is[i]);
			err = err ? err : one;
		}
	}
	return err;
}

/* ---- reading and writing ------------------------------------------------- */

/* Returns how many of some bytes are in the piece where they begin. */
static size_t
part_bytes(const struct disk_file *f, uint64_t offset, size_t bytes)
{
	uint64_t left = f->store->piece - offset % f->store->piece;

	return bytes < left ? bytes : (size_t)left;
}

int64_t
ceph_data_read(struct disk_file *f, void *data, size_t bytes, uint64_t offset)
{
	uint64_t size = f->store->piece;
	char name[PIECE_NAME];
	size_t done = 0, part;

	if (f->folder)
		return -EISDIR;
	for (; done < bytes; offset += part, done += part) {
		uint64_t piece = offset / size;
		int got;

		part = part_bytes(f, offset, bytes - done);
		got = rados_read(f->io, piece_name(f->object, piece, name),
				 (char *)data + done, part, offset % size);
		if (got == -ENOENT && piece)
			break;
		if (got < 0)
			return got;
		if ((size_t)got < part)
			return (int64_t)(done + (size_t)got);
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

int64_t
ceph_data_write(struct disk_file *f, const void *data, size_t bytes,
		uint64_t offset)
{
	uint64_t size = f->store->piece;
	char name[PIECE_NAME];
	size_t done = 0, part;
	int err = write_begin(f, bytes);

	for (; !err && done < bytes; offset += part, done += part) {
		rados_write_op_t op = piece_op(f, offset / size, name);

		if (!op)
			return -ENOMEM;
		part = part_bytes(f, offset, bytes - done);
		rados_write_op_write(op, (const char *)data + done, part,
				     offset % size);
		err = piece_do(f, op, name);
	}
	return err ? err : (int64_t)bytes;
}

/* Within a piece, RADOS itself appends: two who do it at the same time do not
 * write over each other.  A record that would cross the end of one is written
 * as two. */
int
ceph_data_append(struct disk_file *f, const void *data, size_t bytes)
{
	uint64_t full, rest, size = f->store->piece;
	char name[PIECE_NAME];
	rados_write_op_t op;
	time_t changed;
	int64_t put;
	int err = ceph_lock_lost(f) ? -ESTALE : 0;

	if (!err)
		err = pieces_full(f, &full, &rest, &changed);
	if (err)
		return err;
	if (rest + bytes > size) {
		put = ceph_data_write(f, data, bytes, full * size + rest);
		return put < 0 ? (int)put : 0;
	}
	op = piece_op(f, full, name);
	if (!op)
		return -ENOMEM;
	rados_write_op_append(op, data, bytes);
	return piece_do(f, op, name);
}

/* A write that was started: one part for each piece that it covers. */
struct started {
	const struct disk_file *f;
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
	err = answer(w->f, atomic_load(&w->err));
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
	op = piece_op(f, piece, name);
	err = -ENOMEM;
	if (op) {
		rados_write_op_write(op, data, bytes, at);
		atomic_fetch_add(&w->parts, 1);
		err = rados_aio_write_op_operate(op, f->io, is, name, NULL, 0);
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
	size_t at = 0, part;
	int err = write_begin(f, bytes);

	if (err)
		return err;
	w = malloc(sizeof *w);
	if (!w)
		return -ENOMEM;
	*w = (struct started){
		.f = f, .done = done, .arg = arg, .bytes = bytes
	};
	atomic_init(&w->parts, 1);
	for (; at < bytes && !err; offset += part, at += part) {
		part = part_bytes(f, offset, bytes - at);
		err = part_start(f, w, offset / size, (const char *)data + at,
				 part, offset % size);
	}
	part_done(w, err);
	return 0;
}

/* ---- cutting and removing ------------------------------------------------ */

static int
piece_remove(rados_ioctx_t io, const char *name, const char *term)
{
	rados_write_op_t op = rados_create_write_op();
	int err;

	if (!op)
		return -ENOMEM;
	ceph_term_guard(op, term);
	rados_write_op_remove(op);
	err = rados_write_op_operate2(op, io, name, NULL, 0);
	rados_release_write_op(op);
	return err == -ECANCELED ? -ESTALE : err;
}

/* Removes the pieces from this one on.  A crash may have left a gap between
 * two. */
static int
pieces_remove(rados_ioctx_t io, const char *object, uint64_t from,
	      const char *term)
{
	char name[PIECE_NAME];
	unsigned gap = 0;
	int err = 0;

	for (; !err && gap < GAP; from++) {
		err = piece_remove(io, piece_name(object, from, name), term);
		gap = err == -ENOENT ? gap + 1 : 0;
		if (err == -ENOENT)
			err = 0;
	}
	return err;
}

int
ceph_data_remove(rados_ioctx_t io, const char *object, const char *term)
{
	int err = pieces_remove(io, object, 1, term);

	/* The first one last: while it is there, the others can be found. */
	if (!err)
		err = piece_remove(io, object, term);
	return err == -ENOENT ? 0 : err;
}

/* Makes a piece shorter or longer, also one that does not exist yet, which
 * RADOS would leave at that. */
static int
piece_cut(struct disk_file *f, uint64_t piece, uint64_t bytes)
{
	char name[PIECE_NAME];
	rados_write_op_t op = piece_op(f, piece, name);

	if (!op)
		return -ENOMEM;
	if (piece)
		rados_write_op_create(op, LIBRADOS_CREATE_IDEMPOTENT, NULL);
	rados_write_op_truncate(op, bytes);
	return piece_do(f, op, name);
}

int
ceph_data_cut(struct disk_file *f, uint64_t bytes)
{
	uint64_t size = f->store->piece, full, rest, last = bytes / size;
	time_t changed;
	int err = f->folder ? -EISDIR : pieces_full(f, &full, &rest, &changed);

	if (!err && ceph_lock_lost(f))
		err = -ESTALE;
	/* To grow, the pieces before the last have to be full. */
	for (; !err && full < last; full++)
		err = piece_cut(f, full, size);
	if (!err && (bytes % size || !last))
		err = piece_cut(f, last, bytes % size);
	if (!err)
		err = pieces_remove(f->io, f->object,
				    last + (bytes % size || !last), f->term);
	/* The piece that was touched last may be gone. */
	if (!f->once)
		__atomic_store_n(&f->touched, 0, __ATOMIC_RELAXED);
	if (err)
		return answer(f, err);
	if (f->once)
		__atomic_store_n(&f->touched, bytes ? (bytes - 1) / size : 0,
				 __ATOMIC_RELAXED);
	__atomic_store_n(&f->full, last, __ATOMIC_RELAXED);
	return 0;
}

/* ---- files that one alone writes ----------------------------------------- */

bool
ceph_object_once(rados_ioctx_t io, const char *object)
{
	char term[RADOS_TERM];

	return rados_getxattr(io, object, once_key, term, sizeof term) >= 0;
}

int
ceph_data_once(struct disk_file *f)
{
	char term[RADOS_TERM] = "";
	int got =
	    rados_getxattr(f->io, f->object, once_key, term, sizeof term - 1);

	if (got == -ENODATA)
		return DATA_OF_ANY;
	if (got < 0)
		return got;
	return strcmp(term, f->term) ? DATA_OF_OTHER : DATA_OWN;
}

/* Sets when a file was last changed. */
static int
time_set(struct disk_file *f, uint64_t bytes, int64_t changed_ns)
{
	uint64_t last = bytes ? (bytes - 1) / f->store->piece : 0;
	time_t changed = changed_ns / NS_SECOND;

	return mark_end(f, mark_start(f, last, &changed));
}

int
ceph_data_copy(struct disk_file *to, struct disk_file *from)
{
	enum { PART = 4 << 20 };
	char *data = malloc(PART);
	uint64_t bytes = 0, at = 0;
	int64_t changed_ns, got;
	int err = data ? ceph_data_bytes(from, &bytes, &changed_ns) : -ENOMEM;

	while (!err && at < bytes) {
		got = ceph_data_read(from, data, PART, at);
		if (got > 0)
			got = ceph_data_write(to, data, (size_t)got, at);
		if (got > 0)
			at += (uint64_t)got;
		else
			err = got ? (int)got : -EIO;
	}
	if (!err)
		err = time_set(to, bytes, changed_ns);
	free(data);
	return err;
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
