/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_MEASURE_H
#define SPATE_FUSE_TREE_MEASURE_H

#include "fuse/tree/tree.h"
#include "store/read/open_recordings.h"
#include "store/view/view.h"

/*
 * Facts that only an open recording can tell.  The recording is opened for it,
 * which waits for its disks, at most for the set's patience.  It stays open for
 * some seconds, for the next request.
 */
struct measured {
	uint64_t bytes;
	int64_t end_ns;
};

/*
 * Returns how a file is shown: strip and fill as mounted, as far as they apply
 * to it.  Readers of the file use the same choice.
 */
struct view_choice measure_choice(const struct view_choice *mounted,
				  const struct tree_file *f,
				  enum heap_store store);

/*
 * Measures a file as a reader gets it now.  Returns 0; -ENOENT: it is not
 * there; -ESTALE: another recording has its name by now; -EINVAL: it has no
 * such thread or time; -EIO.
 */
int measure_file(struct opened_set *set, const struct view_choice *mounted,
		 const struct tree_file *f, struct measured *m);

/*
 * Lists the VDIF threads of all substreams, sorted; the caller frees *list.
 * Returns as measure_file().
 */
struct measured_thread {
	unsigned sub, thread;
};
int measure_threads(struct opened_set *set, const struct tree_file *f,
		    struct measured_thread **list, size_t *n);

#endif
