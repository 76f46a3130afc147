/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_TREE_H
#define SPATE_FUSE_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

struct disks;
struct mount_source;
struct open_recordings;
struct view_choice;

/*
 * The tree is what a mount shows of the recordings on some disks:
 *
 *   <name>.<ext>                     one of a single substream; as <name>,
 *                                    where that ends in .<ext> already
 *   <name>/<name>_<sub>.<ext>        of several: as `spate export` names them
 *   .info/<name>.json                what is known of it
 *   by-thread/<name>/<thread>.vdif   of VDIF; of several substreams
 *   by-thread/<name>/<sub>_<thread>.vdif
 *
 * and, in no list, each file of data with a range of time behind its name,
 * x.vdif@T1..T2, of which one time may be left out.
 *
 * Names and sizes come from a catalogue (store/list), which a thread of the
 * tree keeps up to date.  No other thread waits for a disk for longer than
 * `patience_ns`.
 *
 *   lookup, dir_read -> id, counted ... get, open, text ... forget
 *
 * An id is never used twice.  A file that is gone keeps its id and its last
 * known facts until it is forgotten; a new recording of the same name gets
 * another id.
 *
 * Any thread may call all functions but tree_make() and tree_free().
 */
struct tree;

enum {
	TREE_ROOT = 1,
	TREE_JOIN = 16, /* disks that may join while it is mounted */
};

struct tree_args {
	const struct disks *disks; /* copied */
	/*
	 * where disks that join are found; copied; NULL: the disks stay what
	 * they are
	 */
	const struct mount_source *source;
	struct open_recordings *opened;	  /* the caller's */
	const struct view_choice *choice; /* strip and fill, as mounted */
	int64_t patience_ns;
	uid_t uid; /* owner of all files */
	gid_t gid;
};

struct tree_attr {
	uint64_t id;
	struct stat st;
	bool growing; /* still recorded */
	bool text;    /* read it with tree_text(), with direct_io, too */
	/* how long the kernel may cache name and attributes */
	unsigned keep_ms;
	uint64_t stamp; /* cached data are stale when this changes */
};

/* The part of a recording that an open file shows. */
struct tree_file {
	char name[256]; /* recording's name */
	unsigned sub;
	int thread; /* -1: all */
	/* range of time; both 0: all; to 0: to the end */
	int64_t from_ns, to_ns;
	/*
	 * when the recording began; one with another time is not the one that
	 * was looked up
	 */
	int64_t begun_ns;
	bool growing; /* or it may: open with direct_io */
	uint64_t stamp;
};

/*
 * Makes the tree and starts its thread, whose first pass over the disks is then
 * under way.  Returns 0 or -errno.
 */
int tree_make(struct tree **t, const struct tree_args *args);
/*
 * Frees the tree.  If a disk holds up its thread, the thread is left behind,
 * with all that it uses.
 */
void tree_free(struct tree *t);

/*
 * Finds a name in a folder, and raises the count of its id by one.  Returns 0;
 * -ENOENT; -ENAMETOOLONG; -EINVAL: a bad range of time; -EIO: it cannot be
 * opened; -ENOMEM.
 */
int tree_lookup(struct tree *t, uint64_t parent, const char *name,
		struct tree_attr *a);
/*
 * Gets the present attributes.  Returns 0; -ESTALE: no such id; -ENOMEM; or as
 * tree_lookup().
 */
int tree_get(struct tree *t, uint64_t id, struct tree_attr *a);

/* Lowers the count of an id by n, and frees its node at 0. */
void tree_forget(struct tree *t, uint64_t id, uint64_t n);

/*
 * Tells what to open for an id.  Returns 0; -ESTALE: no such id, or it is gone;
 * -EISDIR.
 */
int tree_open(struct tree *t, uint64_t id, struct tree_file *f);
/*
 * Looks at a recording again at once, because an open found that it is gone or
 * replaced.
 */
void tree_doubt(struct tree *t, uint64_t id);
/*
 * Returns the text of an .info file as tree_get() measured it last; the caller
 * frees *text.  Returns 0 or -errno.
 */
int tree_text(struct tree *t, uint64_t id, char **text, size_t *bytes);

/*
 * A list of a folder, as it was when it was opened. tree_dir_read() calls
 * `entry` for each entry from `at` on (0 at first), with the place of the next
 * one, until `entry` returns false: that entry was not taken.
 *
 * With `count`, as readdirplus needs it, entries have all attributes and the
 * count of their id was raised.  An entry with id 0 has only st_ino and type:
 * "." and "..", and files that would have to be opened for more.  Without
 * `count` all entries are like that.
 */
struct tree_dir;

struct tree_entry {
	bool (*entry)(void *arg, const char *name, const struct tree_attr *a,
		      uint64_t next);
	void *arg;
	bool count;
};

/*
 * Opens the list of a folder.  Returns 0; -ESTALE: no such id, or it is gone;
 * -ENOTDIR; -ENOMEM; for a folder of threads also as measure_threads().
 */
int tree_dir_open(struct tree *t, uint64_t id, struct tree_dir **dir);
int tree_dir_read(struct tree_dir *dir, uint64_t at,
		  const struct tree_entry *e);
void tree_dir_close(struct tree_dir *dir);

/* Sums up all disks, each file system once, as of the last pass. */
void tree_statfs(struct tree *t, struct statvfs *vfs);

#endif
