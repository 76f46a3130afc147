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
 *   rados.c         opens the disk, says how much room there is; threads
 *   rados_names.c   folders: objects "/" and "NAME/" whose omap has the names
 *   rados_data.c    files: an object each, or pieces of one size
 *   rados_lock.c    locks, and terms, which keep off who lost its lock
 */
struct disk_store {
	rados_t cluster;
	rados_ioctx_t io; /* names, and files that are appended to */
	const struct host *host;
	uint64_t piece;	 /* bytes of one object of a file */
	uint64_t device; /* the pool's, in this cluster */
	char *pool;
	char *name_space;
	bool kept; /* a thread uses it, so it is not freed */

	/* `lock` guards what follows. */
	pthread_mutex_t lock;
	pthread_cond_t renewed;
	/* Pool of the files that are not appended to.  NULL: the disk has none,
	 * or this process does not know of it yet.  Set once. */
	rados_ioctx_t data;
	char *data_pool;
	struct disk_file *locked;   /* files that have a lock */
	struct rados_doubt *doubts; /* names that may have been made */
	struct disk_room room;
	bool asked; /* room() was called since the room was last fetched */
	/* Bytes written in the current span of RADOS_LATE_S / 2 seconds, and in
	 * the span before: the monitors may not count them yet. */
	uint64_t written, written_before;
};

enum {
	RADOS_POOL = 512,    /* bytes of a pool's name, with the final 0 */
	RADOS_OBJECT = 2048, /* bytes of an object's name, with the final 0 */
	RADOS_TERM = 17,     /* bytes of a term, with the final 0 */
	RADOS_LOCK_S = 20,   /* a lock ends by itself after so long */
	RADOS_RENEW_S = 5,
	RADOS_LATE_S = 10, /* seconds until the monitors count a write */
};

/* An open file or folder. */
struct disk_file {
	struct disk_store *store;
	bool folder;
	bool nameless; /* it has no name yet */
	/* Only its maker writes to its objects: another process that opens the
	 * file to write it copies it into objects of its own. */
	bool once;
	uint64_t id;   /* of a folder; a later one of its name has another */
	uint64_t full; /* pieces that were full when last looked at; a hint */
	rados_ioctx_t io;      /* of the pool where its objects are */
	char *object;	       /* name of the first piece, or of the folder */
	char term[RADOS_TERM]; /* of its writes; "": they are not guarded */
	/* Number of the piece that was last made, or marked with the term,
	 * before a write to it; 0: none was. */
	uint64_t touched;

	/* Under the store's lock: */
	enum disk_lock has;
	bool renewing;	  /* it is being renewed now */
	bool lost;	  /* another one took over when this one's had ended */
	int64_t taken_ns; /* steady; when it was last taken or renewed */
	char cookie[160];
	struct disk_file *next; // disk_store::locked
};

/* Starts a thread that nobody joins, without signals.  0 or -errno. */
int ceph_thread(void *(*run)(void *arg), void *arg);

/* Finds the pool where objects of a name's value are, and opens it if another
 * process gave the disk one for data since.  0 or -errno. */
int ceph_pool_of(struct disk_store *s, const char *value, rados_ioctx_t *io);

/* ---- rados_names.c ------------------------------------------------------- */

/*
 * Reads the disk's own folder: the size of pieces into s->piece, and the name
 * of the pool for data into s->data_pool.  A folder that is not there is made
 * with pieces of `piece` bytes.  An s->data_pool that is set already is noted
 * in the folder; -EBUSY: the folder names another one.  `piece` 0: makes and
 * writes nothing; -ENOENT: there is no folder.
 */
int ceph_root(struct disk_store *s, uint64_t piece);

/* Reads the name of the pool for data, "" if there is none.  0 or -errno. */
int ceph_root_data(struct disk_store *s, char pool[RADOS_POOL]);

/* Removes names and objects whose making was not answered in time, and that
 * nobody asked for again.  Waits for the cluster. */
void ceph_doubts_end(struct disk_store *s);

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

/* ---- rados_data.c -------------------------------------------------------- */

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

/* Begins to make an object in a term, or "", which must not exist.  `once`: the
 * most bytes of one that is written once and in order; 0 for others.  NULL: no
 * memory, or no connection.  ceph_object_end() waits for it, and frees what
 * this returned. */
rados_completion_t ceph_object_start(rados_ioctx_t io, const char *object,
				     const char *term, uint64_t once);
int ceph_object_end(rados_completion_t is);

/* Removes all pieces of a file.  0, also if there are none.  -ESTALE: in a
 * later term than this, another one wrote to it. */
int ceph_data_remove(rados_ioctx_t io, const char *object, const char *term);

/* Sets the file's term in all its pieces, if it has one.  -ESTALE: another one
 * has set a later one.  -ENOENT: it has no object. */
int ceph_data_mark(struct disk_file *f);

/* True if an object was made with `once`. */
bool ceph_object_once(rados_ioctx_t io, const char *object);

/* Tells who may write a file that has a term: whoever has the lock, this
 * process alone, or another one alone.  Or -errno. */
enum { DATA_OF_ANY, DATA_OWN, DATA_OF_OTHER };
int ceph_data_once(struct disk_file *f);

/* Copies a whole file, and the time when it was last changed. */
int ceph_data_copy(struct disk_file *to, struct disk_file *from);

/* Checks that a pool can be written to at any place.  -EOPNOTSUPP: it cannot.
 */
int ceph_data_try(rados_ioctx_t io);

/* ---- rados_lock.c -------------------------------------------------------- */

int ceph_lock_set(struct disk_file *f, enum disk_lock how);

/* True if the file's lock went to another one: nothing may be written. */
bool ceph_lock_lost(struct disk_file *f);

/* Begins to renew all locks that are due, each by a thread of its own. */
void ceph_locks_renew(struct disk_store *s);

/* Writes the name of the object of the folder that a file's object is in. */
void ceph_folder_of(const char *object, char folder[RADOS_OBJECT]);

/* Finds the term in which this process may change a folder and files in it; "":
 * it has locked none of them.  -ESTALE: another one took over. */
int ceph_term_of(struct disk_store *s, const char *folder,
		 char term[RADOS_TERM]);

int ceph_belongs(struct disk_file *f, const char *folder);

/* Makes an operation fail with -ECANCELED if its object has a later term. */
void ceph_term_guard(rados_write_op_t op, const char *term);
void ceph_term_set(rados_write_op_t op, const char *term);

/* Returns -ESTALE if a folder is not in this term any more. */
int ceph_term_check(struct disk_store *s, const char *folder, const char *term);

#endif
