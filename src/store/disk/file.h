/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_FILE_H
#define SPATE_STORE_DISK_FILE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
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

/* True if a file has anything but zeros from this offset on, or cannot be
 * read. */
bool file_has_data(int fd, uint64_t from);

/* A file, opened with O_APPEND, that is only appended to. */
struct append_file {
	int fd;
	off_t bytes; /* bytes of whole records or lines */
};

/* Appends to a file.  What did not fit whole is cut off again: nothing may
 * follow half a record.  0 or -errno. */
int append_bytes(struct append_file *to, const void *data, size_t bytes);

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
