/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_STRIDE_H
#define SPATE_STORE_DISK_STRIDE_H

#include <stdint.h>
#include <sys/types.h>

enum { STRIDE_PREFIX = 4096 }; /* at most */

/* Packets in a file that lie apart: before each are bytes that are not read. */
struct stride {
	uint64_t offset;  /* of the first packet's prefix in the file */
	uint32_t prefix;  /* 0: the data is in one piece */
	uint32_t payload; /* bytes of data behind it */
};

/* Reads bytes of the data from `at` on, as pread(2): maybe fewer, 0 at the
 * end; -1 with errno. */
ssize_t stride_read(int fd, const struct stride *s, void *data, size_t bytes,
		    uint64_t at);

#endif
