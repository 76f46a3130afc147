/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_ENTRY_STAMP_H
#define SPATE_STORE_LIST_ENTRY_STAMP_H

#include "store/disk/disk.h"

/* A number that changes when a recording changes on one disk. */
struct stamp {
	uint64_t stamp;
	int64_t changed_ns; /* modification time of folder or file */
};

/* Opens the recording's folder on a disk, for stamp_look(); the caller closes
 * it.  Returns the descriptor or -errno. */
int stamp_dir(const struct disks *disks, unsigned disk, const char *name);

/* Makes the stamp of that folder or, if dir is negative, of the file that
 * another program has instead.  False if the recording is not on this disk. */
bool stamp_look(struct stamp *s, const struct disks *disks, unsigned disk,
		const char *name, int dir);

#endif
