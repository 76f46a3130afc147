/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_READ_WHOLE_H
#define SPATE_STORE_DISK_READ_WHOLE_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/* Reads `bytes` from `offset`, in as many calls as it takes.  Returns how many
 * were read, fewer only at the end of the file; or -errno. */
static inline ssize_t
read_whole(int fd, void *data, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got = pread(fd, (uint8_t *)data + done, bytes - done,
				    (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

#endif
