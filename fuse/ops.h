/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_OPS_H
#define SPATE_FUSE_OPS_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/view/view.h"

struct opened_set;
struct tree;

/*
 * Ops are the answers to what the kernel asks: names and attributes from the
 * tree, data from readings.  Nothing is written here, so nothing else is
 * answered: the mount is read-only, and the kernel itself says EROFS.
 *
 * Any thread of the session; tree and opened are set before these begin.
 */
enum { OPS_STAMPS = 4096, OPS_READ_AHEAD = 4 << 20 };

/* What is open: a file or a folder has it first. */
struct ops_handle {
	struct ops_handle *next, *before; /* ops::handles */
	void (*close)(struct ops_handle *h);
};

struct ops {
	struct tree *tree;	   /* borrowed */
	struct opened_set *opened; /* borrowed */
	struct view_choice choice; /* strip and fill, as mounted */
	bool direct_io;		   /* of all files */

	pthread_mutex_t lock;
	struct ops_handle *handles; /* that are open; by lock */
	struct ops_stamp {
		uint64_t id, stamp;
	} stamp[OPS_STAMPS]; /* of what was opened last; by lock */
	struct {
		char name[64];
		int err;
		int64_t until;
	} told; /* the last refusal that is in the log; by lock */
};

void ops_init(struct ops *ops);
/* No thread answers any more: closes what the kernel did not, as it was
 * unmounted while it was open. */
void ops_finish(struct ops *ops);

extern const struct fuse_lowlevel_ops ops_table;

void ops_handle_add(struct ops *ops, struct ops_handle *h);
void ops_handle_remove(struct ops *ops, struct ops_handle *h);

/* ---- of open files, in ops_file.c ------------------------------------- */

void ops_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);
void ops_read(fuse_req_t req, fuse_ino_t id, size_t bytes, off_t offset,
	      struct fuse_file_info *fi);
void ops_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);

/* How long an open file is; 0: the tree knows better. */
uint64_t ops_file_bytes(const struct fuse_file_info *fi);

#endif
