/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_WRITE_COPIED_H
#define SPATE_STORE_WRITE_COPIED_H

#include <jansson.h>
#include <stdint.h>

#include "store/disk/disk.h"
#include "store/record/index.h"
#include "store/disk/layout.h"

/*
 * A recording that was copied from another spate is as any other, and says in
 * the first line of its metadata
 *
 *   "copied":{"from":"10.1.2.3","name":"r4123_wz","time":".."}
 *
 * whence it came.  Name, disks and that apart, the line is the original's: so
 * that two of them can be known to be of the same recording.
 */

/* The same for all copies of a recording, of copies too, and for itself. */
uint64_t copied_identity(const json_t *head);

struct copied {
	const char *name, *from;
	int64_t time_ns;
	const char *const *disks; /* their paths */
	unsigned disks_n;
};

/* The first line of a copy.  A new reference; NULL without memory. */
json_t *copied_head(const json_t *head, const struct copied *copied);

/* A recording with that identity, under whatever name: the first that is
 * found.  0; -ENOENT; or -errno. */
int copied_find(const struct disks *disks, uint64_t identity,
		char name[LAYOUT_FILE]);

/*
 * Makes what a copy that was interrupted left on a disk fit to go on with:
 * records and chunks of `bad` blocks (sorted) go, and so do chunks that no
 * record names, or of which half is there; all come again.  Nobody may have it
 * open.  0; -ENOENT: the disk has nothing of it; -EBUSY; or -errno.
 */
int copied_mend(const struct disk *disk, const char *name, const json_t *head,
		const uint64_t *bad, size_t n);

#endif
