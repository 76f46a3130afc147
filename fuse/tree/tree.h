/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_TREE_H
#define SPATE_FUSE_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

struct disks;
struct opened_set;
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
 * and, in no list, each file of data again with a range of time behind its
 * name, x.vdif@T1..T2, of which one may be left out.
 *
 * What it shows it knows from a catalogue, which a thread of its own keeps.
 * No other thread waits for a disk for longer than `patience`.
 *
 *   lookup, dir_read -> id, counted ... get, open, text ... forget
 *
 * An id is never given twice.  What is gone keeps its id and what was last
 * known of it until it is forgotten; one recorded anew gets another id.
 *
 * Any thread may call anything, but for make and free.
 */
struct tree;

enum { TREE_ROOT = 1 };

struct tree_args {
	const struct disks *disks;	  /* copied */
	struct opened_set *opened;	  /* borrowed */
	const struct view_choice *choice; /* strip and fill, as mounted */
	int64_t patience_ns;
	uid_t uid; /* whose the files are */
	gid_t gid;
};

struct tree_attr {
	uint64_t id;
	struct stat st;
	bool growing;	  /* open it with direct_io */
	bool text;	  /* read with tree_text(); direct_io, too */
	unsigned keep_ms; /* how long entry and attributes may be believed */
	uint64_t stamp;	  /* what was read is stale when this differs */
};

/* What an open file is of. */
struct tree_file {
	char name[256]; /* the recording's */
	unsigned sub;
	int thread;		/* -1: all */
	int64_t from_ns, to_ns; /* both 0: all of it; to 0: to the end */
	int64_t begun_ns; /* when it began: another is not the one looked up */
	bool growing;
	uint64_t stamp;
};

/* 0 or -errno; the first pass over the disks is then under way. */
int tree_make(struct tree **t, const struct tree_args *args);
/* A thread that a disk holds up is left behind, with what it uses. */
void tree_free(struct tree *t);

/* Counts the id up by one.  0; -ENOENT; -ENAMETOOLONG; -EINVAL: a range that
 * is none; -EIO: it cannot be opened; -ENOMEM. */
int tree_lookup(struct tree *t, uint64_t parent, const char *name,
		struct tree_attr *a);
/* As it is now.  0; -ESTALE: no such id; -ENOMEM. */
int tree_get(struct tree *t, uint64_t id, struct tree_attr *a);
void tree_forget(struct tree *t, uint64_t id, uint64_t n);

/* 0; -ESTALE: no such id, or it is gone; -EISDIR. */
int tree_open(struct tree *t, uint64_t id, struct tree_file *f);
/* What it was looked up as is not there any more, as who opened it has seen:
 * has it looked at again, at once. */
void tree_doubt(struct tree *t, uint64_t id);
/* Of .info: as tree_get() measured it last; malloc'ed.  0 or -errno. */
int tree_text(struct tree *t, uint64_t id, char **text, size_t *bytes);

/*
 * A list is as it was when it was opened.  `entry` is called for each from
 * `at` on (at first 0), with the place of the next, until it returns false:
 * that one was not taken.  `count`, as readdirplus wants it: attributes are
 * there and the id was counted up; but an id of 0 has only st_ino and type,
 * as "." and ".." and what would have to be opened for more.  Without it all
 * are so.
 */
struct tree_dir;

struct tree_entry {
	bool (*entry)(void *arg, const char *name, const struct tree_attr *a,
		      uint64_t next);
	void *arg;
	bool count;
};

int tree_dir_open(struct tree *t, uint64_t id, struct tree_dir **dir);
int tree_dir_read(struct tree_dir *dir, uint64_t at,
		  const struct tree_entry *e);
void tree_dir_close(struct tree_dir *dir);

/* Of all disks together, each file system once, as of the last pass. */
void tree_statfs(struct tree *t, struct statvfs *vfs);

#endif
