/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_HEAP_CHUNK_H
#define SPATE_STORE_RECORD_HEAP_CHUNK_H

#include <stdint.h>

#include "contract/format.h"

/*
 * A row is a chunk of heaps: packets of a heap format back to back, each as
 * long as its own header says.  A whole heap is one packet.  An incomplete heap
 * is one packet for each stretch of it that came, in a row.
 */
struct heap_chunk {
	uint64_t packets;
	uint64_t heaps, incomplete;
	uint64_t first; /* number of the first heap, if there is one */
	/* length of the whole packets, from the beginning of the file */
	uint64_t bytes;
	/* packets that give another length for their heap than the packet
	 * before, or overlap it */
	uint64_t contradicted;
};

/*
 * Walks the packets of an open file of `bytes` bytes, to its end or to the
 * first thing that is no whole packet; row->bytes says how far.  Reads headers
 * only.  0 or -errno.
 */
int heap_chunk_read(const struct format_ops *format, int fd, uint64_t bytes,
		    struct heap_chunk *row);

/* Like heap_chunk_read(), for the first `most` packets. */
int heap_chunk_read_some(const struct format_ops *format, int fd,
			 uint64_t bytes, uint64_t most, struct heap_chunk *row);

#endif
