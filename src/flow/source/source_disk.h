/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_DISK_H
#define SPATE_FLOW_SOURCE_SOURCE_DISK_H

#include "base/fault.h"
#include "flow/source/source.h"
#include "store/disk/disk.h"

/*
 * A source that reads a recording on disks, whoever made it.  It gives blocks
 * in the order of their numbers, and parcels for what is known to be lost
 * between them.  A block is one parcel, or several of whole slots.
 *
 * Making it touches no disk.  The first next(), seek or fill opens the disks
 * and the recording, and protects that from removal until the source is closed.
 */
struct source_disk_args {
	/* Paths are copied; they need not be open.  NULL: those of `list`. */
	const struct disks *disks;
	/* Disks that come while the source reads; shared.  NULL: none do. */
	struct disk_list *list;
	const char *name; /* copied */
	uint64_t memory;  /* bytes for reading ahead; 0: 64 MiB */
	bool verify;	  /* check the checksums */
	/* Wait for more blocks of a recording that is being made until it ends;
	 * else give what is recorded when it is opened. */
	bool follow;
	int sub; /* only this substream; -1: all */
	/* Give only blocks that overlap this range; they may reach beyond it by
	 * up to a block.  Times in UTC ns; all 0: no bounds. */
	int64_t from_ns, to_ns;
	uint64_t from_byte, to_byte; /* offsets in a substream's file */
	int64_t patience; /* ns that a disk may take to answer; 0: 10 s */
};

/* Makes the source.  0 or -ENOMEM, or -errno without a descriptor. */
int source_disk_make(struct source **source,
		     const struct source_disk_args *args);

#endif
