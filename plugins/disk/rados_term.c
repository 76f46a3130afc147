/* SPDX-License-Identifier: MIT */
/*
 * A term keeps off who lost its lock without knowing it: a process that stood
 * still, or a write that waited in the network and comes when another recorder
 * has resumed the file.  It is a number, written as text so that RADOS compares
 * it, and rises in a folder with each exclusive lock of a file in it.
 *
 *   folder "r1/"           term of the last lock in r1
 *   each piece of a file   term in which it was last opened to be written
 *
 * Whoever has a lock in a folder opens its files in the lock's term: all pieces
 * are marked with it, and each later write, cut, removal and change of a name
 * says in the same operation that there is no later term.  The OSD compares,
 * whenever the operation comes.  So what was under way when another one opened
 * the file is refused from then on, piece by piece.  Files that are written once,
 * as chunks are, do without, since comparing costs rate (rados_data.c).
 *
 * To have the former client blocklisted, as block devices of RADOS do, was
 * rejected.  It needs a right of the monitors; the whole daemon would lose its
 * connection, with recordings whose locks are good, when somebody recovers one;
 * and where the lock had ended RADOS does not know any more whose it was.
 *
 * A term is the time, so that a folder that is removed and made anew does not
 * begin before what a late write left of the old one; and at least one more than
 * the last, whatever clocks say.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rados.h"

static const char term_key[] = "term";

void
ceph_folder_of(const char *object, char folder[RADOS_OBJECT])
{
	const char *slash = strrchr(object, '/');

	snprintf(folder, RADOS_OBJECT, "%.*s/",
		 slash ? (int)(slash - object) : 0, object);
}

int
ceph_term_of(struct disk_store *s, const char *folder, char term[RADOS_TERM])
{
	char of[RADOS_OBJECT];
	int err = 0;

	*term = '\0';
	pthread_mutex_lock(&s->lock);
	for (struct disk_file *f = s->locked; f; f = f->next) {
		if (f->has != DISK_EXCLUSIVE || strcmp(f->term, term) <= 0)
			continue;
		ceph_folder_of(f->object, of);
		if (strcmp(of, folder) != 0)
			continue;
		memcpy(term, f->term, RADOS_TERM);
		err = f->lost ? -ESTALE : 0;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

int
ceph_belongs(struct disk_file *f, const char *folder)
{
	char object[RADOS_OBJECT];
	int err;

	snprintf(object, sizeof object, "%s/", folder);
	err = ceph_term_of(f->store, object, f->term);
	return err ? err : ceph_data_mark(f);
}

void
ceph_term_guard(rados_write_op_t op, const char *term)
{
	if (*term)
		rados_write_op_cmpxattr(op, term_key, LIBRADOS_CMPXATTR_OP_GTE,
					term, strlen(term));
}

void
ceph_term_set(rados_write_op_t op, const char *term)
{
	if (*term)
		rados_write_op_setxattr(op, term_key, term, strlen(term));
}

int
ceph_term_read(struct disk_store *s, const char *folder, char term[RADOS_TERM])
{
	int got = rados_getxattr(s->io, folder, term_key, term, RADOS_TERM - 1);

	if (got == -ENODATA || got == -ENOENT)
		got = 0; /* or the folder was removed, under an open file */
	term[got < 0 ? 0 : got] = '\0';
	return got < 0 ? got : 0;
}

int
ceph_term_check(struct disk_store *s, const char *folder, const char *term)
{
	char is[RADOS_TERM];
	int err = ceph_term_read(s, folder, is);

	return !err && strcmp(is, term) ? -ESTALE : err;
}

/* Sets the folder's term, if it is `last`. */
static int
folder_set(struct disk_store *s, const char *folder, const char *last,
	   const char *term)
{
	rados_write_op_t op = rados_create_write_op();
	int err;

	if (!op)
		return -ENOMEM;
	rados_write_op_assert_exists(op);
	rados_write_op_cmpxattr(op, term_key, LIBRADOS_CMPXATTR_OP_EQ, last,
				strlen(last));
	ceph_term_set(op, term);
	err = rados_write_op_operate2(op, s->io, folder, NULL, 0);
	rados_release_write_op(op);
	return err;
}

int
ceph_term_begin(struct disk_file *f, const char *folder, const char *last)
{
	const struct host *host = f->store->host;
	uint64_t now = (uint64_t)host->now(host->ctx),
		 next = strtoull(last, NULL, 16) + 1;
	int err;

	snprintf(f->term, sizeof f->term, "%016" PRIx64,
		 now > next ? now : next);
	err = folder_set(f->store, folder, last, f->term);
	if (!err)
		err = ceph_data_mark(f);
	if (err)
		*f->term = '\0';
	/* The file or its folder was removed, and nobody else can open it; or
	 * this user may lock (x), but not write. */
	return err == -ENOENT || err == -EPERM || err == -EACCES ? 0 : err;
}
