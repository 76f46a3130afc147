/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_ROW_H
#define SPATE_STORE_RECORD_ROW_H

#include <stdint.h>

#include "contract/format.h"

/*
 * A row is a chunk of heaps: packets of a heap format, one behind the other,
 * each as long as its own header says.  A whole heap is one packet; of an
 * incomplete one each stretch that came is one, and they stand together.
 */
struct row {
	uint64_t packets;
	uint64_t heaps, incomplete;
	uint64_t first;	       /* count of the first heap, if there is one */
	uint64_t bytes;	       /* of whole packets, from the beginning */
	uint64_t contradicted; /* packets that say another length of their
				  heap than the one before, or overlap it */
};

/*
 * Walks the packets of an open file of `bytes`, up to its end or to what is
 * no whole packet: row->bytes says how far.  Reads headers only.  0 or -errno.
 */
int row_look(const struct format_ops *format, int fd, uint64_t bytes,
	     struct row *row);

/* The same of the first packets, not more than `most`. */
int row_look_some(const struct format_ops *format, int fd, uint64_t bytes,
		  uint64_t most, struct row *row);

#endif
