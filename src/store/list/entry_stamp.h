/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_LIST_ENTRY_STAMP_H
#define SPATE_STORE_LIST_ENTRY_STAMP_H

#include "store/disk/disk.h"

/* What tells that something became of a recording on one disk. */
struct stamp {
	uint64_t stamp;
	int64_t changed_ns; /* when that was */
};

/* Its folder there, for stamp_look() and to be closed; or -errno. */
int stamp_dir(const struct disks *disks, unsigned disk, const char *name);

/* Of that folder, or where there is none of the file that another program has
 * instead; false: it is not on this disk. */
bool stamp_look(struct stamp *s, const struct disks *disks, unsigned disk,
		const char *name, int dir);

#endif
