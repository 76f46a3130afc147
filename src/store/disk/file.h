/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_FILE_H
#define SPATE_STORE_DISK_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "store/disk/remote.h"

/*
 * Calls that a recording makes to a disk, whatever the disk is.  Every call that
 * concerns a file or a folder below a disk goes through these functions.  They
 * take the arguments, and return the values and the errno, of the system calls
 * that are named with them; disk_open_at() (disk.h) opens.
 *
 * A file on a file system is its descriptor, and the system call is all that is
 * done.  The handle of a file on a remote disk is a larger number than any
 * descriptor, and remote.h does the call.  It has neither links, holes nor
 * pages, nor can space be reserved: file_reserve() says EOPNOTSUPP, a file ends
 * where its first hole begins, and advice is ignored.
 */

/* close(2) */
static inline int
file_close(int fd)
{
	return file_is_remote(fd) ? remote_close(fd) : close(fd);
}

/* A handle of its own for the same open file: fcntl(2), F_DUPFD_CLOEXEC. */
static inline int
file_dup(int fd)
{
	return file_is_remote(fd) ? remote_dup(fd)
				  : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* pread(2) */
static inline ssize_t
file_read(int fd, void *data, size_t bytes, off_t offset)
{
	return file_is_remote(fd) ? remote_read(fd, data, bytes, offset)
				  : pread(fd, data, bytes, offset);
}

/* preadv(2) */
static inline ssize_t
file_readv(int fd, const struct iovec *v, int n, off_t offset)
{
	return file_is_remote(fd) ? remote_readv(fd, v, n, offset)
				  : preadv(fd, v, n, offset);
}

/* pwrite(2) */
static inline ssize_t
file_write(int fd, const void *data, size_t bytes, off_t offset)
{
	return file_is_remote(fd) ? remote_write(fd, data, bytes, offset)
				  : pwrite(fd, data, bytes, offset);
}

/* write(2) to a file that was opened with O_APPEND */
static inline ssize_t
file_append(int fd, const void *data, size_t bytes)
{
	return file_is_remote(fd) ? remote_append(fd, data, bytes)
				  : write(fd, data, bytes);
}

/* fsync(2), also of a folder: then the names in it are durable */
static inline int
file_sync(int fd)
{
	return file_is_remote(fd) ? remote_sync(fd) : fsync(fd);
}

/* fdatasync(2) */
static inline int
file_sync_data(int fd)
{
	return file_is_remote(fd) ? remote_sync(fd) : fdatasync(fd);
}

/* ftruncate(2) */
static inline int
file_cut(int fd, off_t bytes)
{
	return file_is_remote(fd) ? remote_cut(fd, bytes)
				  : ftruncate(fd, bytes);
}

/* fallocate(2) */
static inline int
file_reserve(int fd, int mode, off_t offset, off_t bytes)
{
	if (!file_is_remote(fd))
		return fallocate(fd, mode, offset, bytes);
	errno = EOPNOTSUPP;
	return -1;
}

/* posix_fadvise(2) */
static inline int
file_advise(int fd, off_t offset, off_t bytes, int advice)
{
	return file_is_remote(fd) ? 0
				  : posix_fadvise(fd, offset, bytes, advice);
}

/* lseek(2) with SEEK_END, SEEK_DATA or SEEK_HOLE, and nobody's position */
static inline off_t
file_seek(int fd, off_t offset, int whence)
{
	return file_is_remote(fd) ? remote_seek(fd, offset, whence)
				  : lseek(fd, offset, whence);
}

/* fstat(2).  A folder that was removed has no links. */
static inline int
file_stat(int fd, struct stat *st)
{
	return file_is_remote(fd) ? remote_stat(fd, st) : fstat(fd, st);
}

/* fstatat(2) */
static inline int
file_stat_at(int at, const char *path, struct stat *st, int flags)
{
	return file_is_remote(at) ? remote_stat_at(at, path, st)
				  : fstatat(at, path, st, flags);
}

/* faccessat(2) with F_OK */
static inline int
file_access_at(int at, const char *path, int mode, int flags)
{
	struct stat st;

	return file_is_remote(at) ? remote_stat_at(at, path, &st)
				  : faccessat(at, path, mode, flags);
}

/* flock(2), of which LOCK_EX and LOCK_SH come with LOCK_NB */
static inline int
file_lock(int fd, int how)
{
	return file_is_remote(fd) ? remote_lock(fd, how) : flock(fd, how);
}

/* unlinkat(2) */
static inline int
file_remove_at(int at, const char *path, int flags)
{
	return file_is_remote(at)
		   ? remote_remove_at(at, path, flags & AT_REMOVEDIR)
		   : unlinkat(at, path, flags);
}

/* renameat(2) within a folder */
static inline int
file_rename_at(int at, const char *from, int to_at, const char *to)
{
	return file_is_remote(at) ? remote_rename_at(at, from, to)
				  : renameat(at, from, to_at, to);
}

/* mkdirat(2) */
static inline int
file_mkdir_at(int at, const char *path, mode_t mode)
{
	return file_is_remote(at) ? remote_mkdir_at(at, path)
				  : mkdirat(at, path, mode);
}

/* fstatvfs(3) */
static inline int
file_space(int fd, struct statvfs *vfs)
{
	return file_is_remote(fd) ? remote_space(fd, vfs) : fstatvfs(fd, vfs);
}

/* Opens a file without a name in a folder (open(2), O_TMPFILE) to write to it,
 * and gives such a file its name, which must be free.  A file that gets none is
 * gone when it is closed.  The first returns a handle, both -1 with errno. */
int file_nameless_at(int at, int flags);
int file_link_at(int fd, int at, const char *name);

/* fdopen(3) to read */
FILE *file_stream(int fd);

/*
 * The names in a folder: opendir(3) and its like.  file_list_open() takes the
 * folder's handle if it succeeds, else returns NULL with errno.  An entry has
 * d_name and d_type.
 */
struct file_list;
struct dirent;
struct file_list *file_list_open(int fd);
/* Opens a folder a second time to list its names, so that its own handle stays
 * where it is.  0 or -errno. */
int file_list_at(struct file_list **list, int folder);
const struct dirent *file_list_next(struct file_list *list);
int file_list_fd(const struct file_list *list);
void file_list_close(struct file_list *list);

/* Reads `bytes` from `offset`, in as many calls as it takes.  Returns how many
 * were read, fewer only at the end of the file; or -errno. */
static inline ssize_t
read_whole(int fd, void *data, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got = file_read(fd, (uint8_t *)data + done,
					bytes - done, (off_t)(offset + done));

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
		ssize_t put = file_write(fd, (const uint8_t *)data + done,
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
