/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_DISK_H
#define SPATE_FLOW_SOURCE_SOURCE_DISK_H

#include "base/fault.h"
#include "flow/source/source.h"
#include "store/disk/disk.h"

/*
 * A recording on disks as a source, whoever made it.  Blocks are given in the
 * order of their numbers, with what is known to be lost between them; all of
 * one as one parcel, or in several that hold whole slots.
 *
 * It is made without a look at any disk.  The first next(), seek or fill opens
 * the disks and the recording, and holds that, so that it is not removed.
 */
struct source_disk_args {
	const struct disks
	    *disks;	  /* their paths are copied; need not be open */
	const char *name; /* copied */
	uint64_t memory;  /* to read ahead; 0: 64 MiB */
	bool verify;	  /* checksums */
	bool follow; /* a live one is given until it has ended; else as far as
			it is recorded when it is opened */
	int sub;     /* one substream alone; -1: all */
	/* Blocks that have nothing of these are left out; what is given may be
	 * more, by most of a block.  All 0: no bounds. */
	int64_t from_ns, to_ns;
	uint64_t from_byte, to_byte; /* of a substream's file */
	int64_t patience; /* ns that a disk may take to answer; 0: 10 s */
};

/* 0 or -ENOMEM. */
int source_disk_make(struct source **source,
		     const struct source_disk_args *args);

/* What is wrong, when next() has said so, as a fault; its code is 0 where
 * nobody knows more than the error. */
const struct fault *source_disk_fault(const struct source *s);

#endif
