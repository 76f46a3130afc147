/* SPDX-License-Identifier: MIT */
#ifndef SPATE_PLUGINS_DISK_RADOS_H
#define SPATE_PLUGINS_DISK_RADOS_H

#include <pthread.h>
#include <rados/librados.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/disk.h"

/*
 * Declarations shared by the files of the RADOS disk: one namespace of a pool.
 *
 *   rados.c         opens the disk, says how much room there is, and renews locks
 *   rados_names.c   folders: objects "/" and "NAME/" whose omap has the names
 *   rados_data.c    files: an object each, or pieces of one size
 *   rados_lock.c    locks of files
 */
struct disk_store {
	rados_t cluster;
	rados_ioctx_t io;   /* names, and files that are appended to */
	rados_ioctx_t data; /* all other files; NULL: in the same pool */
	const struct host *host;
	uint64_t piece;		/* bytes of one object of a file */
	uint64_t device;	/* the pool's, in this cluster */
	char *pool, *data_pool; /* the second may be NULL */

	pthread_t keeper; /* renews locks, and asks for room */
	/* `lock` guards what follows. */
	pthread_mutex_t lock;
	pthread_cond_t renewed;
	struct disk_file *locked; /* files that have a lock */
	struct disk_room room;
	bool asked; /* for room, since it was last fetched */
	/* Bytes written in this span of RADOS_LATE_S / 2, and in the one before:
	 * the monitors may not know of them yet. */
	uint64_t written, written_before;
};

/* An open file or folder. */
struct disk_file {
	struct disk_store *store;
	bool folder;
	bool nameless; /* it has no name yet */
	uint64_t id;   /* of a folder: another one of its name has another */
	uint64_t full; /* pieces that were full when last looked at; a hint */
	rados_ioctx_t io; /* of the pool where its objects are */
	char *object;	  /* name of the first piece, or of the folder */

	/* Under the store's lock: */
	enum disk_lock has;
	bool renewing;	  /* it is being renewed now */
	bool lost;	  /* another one wrote when this one's lock had ended */
	int64_t taken_ns; /* steady; when it was last taken or renewed */
	/* Bytes of a file that is locked to be written, as this one left it; and
	 * with what it appends now. */
	uint64_t end, end_next;
	char cookie[160];
	struct disk_file *next; // disk_store::locked
};

enum {
	RADOS_POOL = 512,    /* bytes of a pool's name, with the final 0 */
	RADOS_OBJECT = 2048, /* bytes of an object's name, with the final 0 */
	RADOS_LOCK_S = 20,   /* a lock ends by itself after so long */
	RADOS_RENEW_S = 5,
	RADOS_LATE_S = 10, /* what is older the monitors know */
};

/* ---- rados_names.c ---------------------------------------------------------- */

/*
 * Makes the disk's own folder unless it is there, and reads from it the size of
 * pieces, which `piece` is for a new one, and the name of the pool for data into
 * s->data_pool.  Where that is given already, it is noted there.  -EBUSY: another
 * one is.
 */
int ceph_root(struct disk_store *s, uint64_t piece);

int ceph_file_open(struct disk_store *s, const char *path, enum disk_how how,
		   struct disk_file **file);
void ceph_file_close(struct disk_file *f);
int ceph_stat_of(struct disk_file *f, struct disk_stat *is);
int ceph_stat_at(struct disk_store *s, const char *path, struct disk_stat *is);
int ceph_remove(struct disk_store *s, const char *path, bool folder);
int ceph_rename(struct disk_store *s, const char *from, const char *to);
int ceph_make_folder(struct disk_store *s, const char *path);
int ceph_nameless(struct disk_store *s, const char *folder,
		  struct disk_file **file);
int ceph_link(struct disk_file *f, const char *path);
int ceph_list(struct disk_file *folder,
	      int (*take)(void *arg, const char *name, bool folder), void *arg);

/* ---- rados_data.c ----------------------------------------------------------- */

int64_t ceph_data_read(struct disk_file *f, void *data, size_t bytes,
		       uint64_t offset);
int64_t ceph_data_write(struct disk_file *f, const void *data, size_t bytes,
			uint64_t offset);
int ceph_data_append(struct disk_file *f, const void *data, size_t bytes);
int ceph_data_cut(struct disk_file *f, uint64_t bytes);
int ceph_data_write_start(struct disk_file *f, const void *data, size_t bytes,
			  uint64_t offset,
			  void (*done)(void *arg, int64_t result), void *arg);

/* Asks for a file's bytes, and when its last piece changed.  -ENOENT: it was
 * removed. */
int ceph_data_bytes(struct disk_file *f, uint64_t *bytes, int64_t *changed_ns);

/* Removes all pieces of a file.  0, also if there are none. */
int ceph_data_remove(rados_ioctx_t io, const char *object);

/* Checks that a pool can be written to at any place.  -EOPNOTSUPP: it cannot. */
int ceph_data_try(rados_ioctx_t io);

/* ---- rados_lock.c ----------------------------------------------------------- */

int ceph_lock_set(struct disk_file *f, enum disk_lock how);

/* True if the file's lock went to another one: nothing may be written. */
bool ceph_lock_lost(struct disk_file *f);

/* Renews all locks that are due.  The keeper calls it. */
void ceph_locks_renew(struct disk_store *s);

#endif
