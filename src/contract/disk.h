/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_DISK_H
#define SPATE_CONTRACT_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/plugin.h"

/*
 * A disk plugin is a disk that is no folder of a file system: a place that
 * keeps files in folders, by what recordings need of it, and of no more.  Its
 * name is the scheme of its disks: disk-rados.so has those of
 * "rados://pool/namespace".
 *
 *   check -> open -> { file_open -> { read, write, append ... } -> file_close }*
 *
 * A disk is opened once in a process and stays open, as its plugin stays
 * loaded.  Callbacks return 0, or what they say, or -errno.  Any thread may
 * call them, several at the same time, also for one file.  A callback may wait
 * for the disk, but gives up with -ETIMEDOUT where that does not answer.  When
 * it returns, later calls see what was done, from any machine; `sync` makes it
 * durable.
 *
 * A path is that from the disk's own folder on, which is "" itself: "NAME",
 * "NAME/NAME.meta".  No part of it is "." or "..", and there are no links.
 * -ENOENT, -EEXIST, -ENOTDIR, -EISDIR, -ENOTEMPTY and -ENOSPC mean what they
 * mean on a file system.
 */
struct disk_store; /* an open disk */
struct disk_file;  /* an open file or folder */

struct disk_args {
	const struct host *host;
	/* The disk's path behind its scheme: "pool/namespace". */
	const char *place;
	/* Room for a plain sentence that says why it could not be opened. */
	char *why;
	size_t why_bytes;
	/* True: `open` may make a disk where there is none yet.  Else that is
	 * -ENOENT, and nothing is written. */
	bool makes;
};

enum disk_how {
	DISK_READ,   /* the file exists */
	DISK_WRITE,  /* to read as well; it exists */
	DISK_MAKE,   /* as DISK_WRITE, and it is made if it does not exist */
	DISK_NEW,    /* as DISK_WRITE, and it is made and must not exist */
	DISK_FOLDER, /* a folder, which exists */
	/* Or'ed to DISK_MAKE and DISK_NEW: a small file, such as an index, that
	 * is only appended to. */
	DISK_APPENDED = 16,
	/* Or'ed to DISK_NEW: its maker alone writes it, each byte once, as a
	 * chunk.  See `lock`. */
	DISK_ONCE = 32,
};

struct disk_stat {
	uint64_t id;	    /* of the file on the disk */
	uint64_t device;    /* of the disk; disks that share space share it */
	uint64_t bytes;	    /* 0: a folder */
	int64_t changed_ns; /* UTC; of a folder: when a name came or went */
	bool folder;
	bool gone; /* it was removed since it was opened */
};

struct disk_room {
	uint64_t total, free;
}; /* bytes */

enum disk_lock { DISK_UNLOCK, DISK_SHARED, DISK_EXCLUSIVE };

struct disk_ops {
	struct plugin head;

	/* Opens a disk.  One that does not answer is -ETIMEDOUT. */
	int (*open)(struct disk_store **store, const struct disk_args *args);

	/* Opens a file or a folder. */
	int (*file_open)(struct disk_store *store, const char *path,
			 enum disk_how how, struct disk_file **file);

	/* Frees a file, and its lock. */
	void (*file_close)(struct disk_file *file);

	/* Reads at an offset.  Returns the bytes, fewer only at the end of the
	 * file. */
	int64_t (*read)(struct disk_file *file, void *data, size_t bytes,
			uint64_t offset);

	/* Writes all of it at an offset.  Returns `bytes`.  NULL: the disk can
	 * only be read, and need not have any other that changes something. */
	int64_t (*write)(struct disk_file *file, const void *data, size_t bytes,
			 uint64_t offset);

	/* Writes all of it to the end of the file, or nothing. */
	int (*append)(struct disk_file *file, const void *data, size_t bytes);

	/* Makes durable all that was done to a file or in a folder. */
	int (*sync)(struct disk_file *file);

	/* Makes a file shorter, or longer by zeros. */
	int (*cut)(struct disk_file *file, uint64_t bytes);

	int (*stat)(struct disk_file *file, struct disk_stat *is);

	/* The same of a path, without an open file. */
	int (*stat_at)(struct disk_store *store, const char *path,
		       struct disk_stat *is);

	/*
	 * Locks a file for its opener, in every process and on every machine,
	 * or changes its lock, or gives it back.  Never waits for another
	 * opener: -EWOULDBLOCK.  The lock of a process that was killed ends by
	 * itself, within 30 s.  A process that stood still so long may not know
	 * that its exclusive lock ended: what it writes to files of the same
	 * folder, opened since it had the lock, or appends, cuts, removes or
	 * renames there, is -ESTALE when another one has locked a file of the
	 * folder so and opened the same to be written.  What it writes to a
	 * file that it made with DISK_ONCE may still come to that one, but to
	 * no other of the same path, and not when the file was removed.
	 */
	int (*lock)(struct disk_file *file, enum disk_lock how);

	/* Removes a file, or a folder, which must be empty. */
	int (*remove)(struct disk_store *store, const char *path, bool folder);

	/* Gives a file another name in the same folder, at once: a file that
	 * had that name is removed. */
	int (*rename)(struct disk_store *store, const char *from,
		      const char *to);

	int (*make_folder)(struct disk_store *store, const char *path);

	/* Makes an open file without a name; it is removed when it is closed,
	 * unless `link` gave it a name, which must be free. */
	int (*nameless)(struct disk_store *store, const char *folder,
			struct disk_file **file);
	int (*link)(struct disk_file *file, const char *path);

	/* Tells all names in a folder, until `take` returns an error, which it
	 * returns. */
	int (*list)(struct disk_file *folder,
		    int (*take)(void *arg, const char *name, bool folder),
		    void *arg);

	int (*room)(struct disk_store *store, struct disk_room *room);

	/*
	 * Starts to write, and returns: `done` is told its result, `bytes` or
	 * -errno, by a thread of the plugin's library, perhaps before this
	 * returns.  After an error of this call it is told nothing.  NULL:
	 * `write` is used.
	 */
	int (*write_start)(struct disk_file *file, const void *data,
			   size_t bytes, uint64_t offset,
			   void (*done)(void *arg, int64_t result), void *arg);

	/* Says that a file, just opened to be written, belongs to another
	 * folder than the one it is in: locks there count for it.  NULL: they
	 * do not. */
	int (*belongs)(struct disk_file *file, const char *folder);

	/*
	 * Checks the place, without looking at anything outside of it.  0, or
	 * -EINVAL with `why`, which says what would work.  NULL: every place
	 * may be one.
	 */
	int (*check)(const struct disk_args *args);
};

#endif
