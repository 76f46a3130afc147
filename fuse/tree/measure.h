/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_MEASURE_H
#define SPATE_FUSE_TREE_MEASURE_H

#include "fuse/tree/tree.h"
#include "store/read/opened.h"
#include "store/view/view.h"

/*
 * What only an open recording can tell.  It is opened for that, which takes as
 * long as its disks take, and no longer than the patience of the set; for some
 * seconds it stays open, for who asks next.
 */
struct measured {
	uint64_t bytes;
	int64_t end_ns;
};

/* What is to be seen of a file, as it is mounted: strip and fill as far as
 * they fit it; who opens it asks for the same. */
struct view_choice measure_choice(const struct view_choice *mounted,
				  const struct tree_file *f,
				  enum heap_store store);

/* As long as a reader gets it now.  0; -ENOENT: it is not there; -ESTALE: it is
 * another recording by now; -EINVAL: there is nothing of that kind; -EIO. */
int measure_file(struct opened_set *set, const struct view_choice *mounted,
		 const struct tree_file *f, struct measured *m);

/* The threads of all its substreams, in their order; malloc'ed. */
struct measured_thread {
	unsigned sub, thread;
};
int measure_threads(struct opened_set *set, const struct tree_file *f,
		    struct measured_thread **list, size_t *n);

#endif
