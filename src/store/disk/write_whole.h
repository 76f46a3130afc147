/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_WRITE_WHOLE_H
#define SPATE_STORE_DISK_WRITE_WHOLE_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/* Writes all `bytes` at `offset`.  0 or -errno; after an error some of them may
 * have been written. */
static inline int
write_whole(int fd, const void *data, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t put = pwrite(fd, (const uint8_t *)data + done,
				     bytes - done, (off_t)(offset + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		done += (size_t)put;
	}
	return 0;
}

#endif
