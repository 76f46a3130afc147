/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_OPS_H
#define SPATE_FUSE_OPS_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/view/view.h"

struct open_recordings;
struct tree;

/*
 * The callbacks of libfuse: names and attributes come from the tree, data from
 * readings (store/read).  The mount is read-only and the kernel itself answers
 * writes with EROFS, so no callback writes.
 *
 * Any thread of the session calls them. tree and opened are set before the
 * session runs, and do not change.
 */
enum { OPS_STAMPS = 4096, OPS_READ_AHEAD = 4 << 20 };

/* An open file or folder; the first member of struct file and struct folder. */
struct ops_handle {
	struct ops_handle *next, *before;    /* ops::handles */
	void (*close)(struct ops_handle *h); /* frees the file or folder */
};

struct ops {
	struct tree *tree;		/* the caller's */
	struct open_recordings *opened; /* the caller's */
	struct view_choice choice;	/* strip and fill, as mounted */
	bool direct_io;			/* set for all files */

	pthread_mutex_t lock;
	struct ops_handle *handles; /* all open ones; guarded by lock */
	struct ops_stamp {
		uint64_t id, stamp;
		/* stamps of the files opened last, by id; guarded by lock */
	} stamp[OPS_STAMPS];
	struct {
		char name[64];
		int err;
		int64_t until;
	} told; /* the last refusal that was logged; guarded by lock */
};

/* Prepares an empty struct; the caller then sets tree and opened. */
void ops_init(struct ops *ops);
/*
 * Closes files and folders that the kernel did not, because it was unmounted
 * while they were open.  Called when no thread answers any more.
 */
void ops_finish(struct ops *ops);

extern const struct fuse_lowlevel_ops ops_table;

#endif
