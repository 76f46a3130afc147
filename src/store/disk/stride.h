/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_STRIDE_H
#define SPATE_STORE_DISK_STRIDE_H

#include <stdint.h>
#include <sys/types.h>

enum { STRIDE_PREFIX = 4096 }; /* bytes, at most */

/* Data in packets that lie apart in a file: before each payload is a prefix
 * that is not part of the data. */
struct stride {
	/* position of the first packet's prefix in the file */
	uint64_t offset;
	uint32_t prefix;  /* bytes; 0: the data is contiguous */
	uint32_t payload; /* bytes of data behind each prefix */
};

/* Reads `bytes` of the data from position `at` of the data, like pread(2):
 * maybe fewer; 0 at the end; -1 with errno. */
ssize_t stride_read(int fd, const struct stride *s, void *data, size_t bytes,
		    uint64_t at);

#endif
