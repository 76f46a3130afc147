/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_WRITE_COPY_ORIGIN_H
#define SPATE_STORE_WRITE_COPY_ORIGIN_H

#include <jansson.h>
#include <stdint.h>

#include "store/disk/disk.h"
#include "store/record/index.h"
#include "store/disk/layout.h"

/*
 * A recording that was copied from another spate.  It is like any other, but
 * the first line of its metadata says where it came from:
 *
 *   "copied":{"from":"10.1.2.3","name":"r4123_wz","time":".."}
 *
 * Apart from that key, the name and the disks, the line is the original's, so
 * two copies can be recognised as the same recording.
 */

/* Returns a hash that is the same for a recording and for all its copies, and
 * copies of copies. */
uint64_t copy_origin_identity(const json_t *head);

struct copy_origin {
	const char *name, *from;
	int64_t time_ns;
	const char *const *disks; /* paths of the copy's disks */
	unsigned disks_n;
};

/* Makes the first line of a copy's metadata.  Returns a new reference, or NULL
 * without memory. */
json_t *copy_origin_head(const json_t *head, const struct copy_origin *origin);

/* Finds a recording with this identity under any name.  Returns 0; -ENOENT; or
 * -errno. */
int copy_origin_find(const struct disks *disks, uint64_t identity,
		     char name[LAYOUT_FILE]);

/*
 * Prepares what an interrupted copy left on a disk for going on.  It removes
 * the records and chunks of `bad` blocks (sorted numbers), and chunks that no
 * record names; all of them will be sent again.  Nobody may have the recording
 * open.  Returns 0; -ENOENT: the disk has nothing of it; -EBUSY; or -errno.
 */
int copy_origin_mend(const struct disk *disk, const char *name,
		     const json_t *head, const uint64_t *bad, size_t n);

#endif
