/* SPDX-License-Identifier: MIT */
/* Remote disks for fuzzers, which have none and load no plugins. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "store/disk/remote.h"

bool
remote_is_path(const char *path)
{
	(void)path;
	return false;
}

int
remote_check(const char *path, bool writes, struct fault *fault)
{
	(void)path, (void)writes, (void)fault;
	return 0;
}

int
remote_open(const char *path, struct fault *fault)
{
	(void)path, (void)fault;
	return -ENOSYS;
}

int
remote_open_at(int at, const char *path, int flags)
{
	(void)at, (void)path, (void)flags;
	return -ENOSYS;
}

int
remote_make_at(int at, const char *path)
{
	(void)at, (void)path;
	return -ENOSYS;
}

int
remote_close(int fd)
{
	(void)fd;
	errno = ENOSYS;
	return -1;
}

int
remote_dup(int fd)
{
	(void)fd;
	errno = ENOSYS;
	return -1;
}

ssize_t
remote_read(int fd, void *data, size_t bytes, off_t offset)
{
	(void)fd, (void)data, (void)bytes, (void)offset;
	errno = ENOSYS;
	return -1;
}

ssize_t
remote_readv(int fd, const struct iovec *v, int n, off_t offset)
{
	(void)fd, (void)v, (void)n, (void)offset;
	errno = ENOSYS;
	return -1;
}

ssize_t
remote_write(int fd, const void *data, size_t bytes, off_t offset)
{
	(void)fd, (void)data, (void)bytes, (void)offset;
	errno = ENOSYS;
	return -1;
}

ssize_t
remote_append(int fd, const void *data, size_t bytes)
{
	(void)fd, (void)data, (void)bytes;
	errno = ENOSYS;
	return -1;
}

int
remote_sync(int fd)
{
	(void)fd;
	errno = ENOSYS;
	return -1;
}

int
remote_cut(int fd, off_t bytes)
{
	(void)fd, (void)bytes;
	errno = ENOSYS;
	return -1;
}

off_t
remote_seek(int fd, off_t offset, int whence)
{
	(void)fd, (void)offset, (void)whence;
	errno = ENOSYS;
	return -1;
}

int
remote_stat(int fd, struct stat *st)
{
	(void)fd, (void)st;
	errno = ENOSYS;
	return -1;
}

int
remote_stat_at(int at, const char *path, struct stat *st)
{
	(void)at, (void)path, (void)st;
	errno = ENOSYS;
	return -1;
}

int
remote_lock(int fd, int how)
{
	(void)fd, (void)how;
	errno = ENOSYS;
	return -1;
}

int
remote_remove_at(int at, const char *path, bool folder)
{
	(void)at, (void)path, (void)folder;
	errno = ENOSYS;
	return -1;
}

int
remote_rename_at(int at, const char *from, const char *to)
{
	(void)at, (void)from, (void)to;
	errno = ENOSYS;
	return -1;
}

int
remote_mkdir_at(int at, const char *path)
{
	(void)at, (void)path;
	errno = ENOSYS;
	return -1;
}

int
remote_nameless_at(int at)
{
	(void)at;
	errno = ENOSYS;
	return -1;
}

int
remote_link_at(int fd, int at, const char *name)
{
	(void)fd, (void)at, (void)name;
	errno = ENOSYS;
	return -1;
}

int
remote_space(int fd, struct statvfs *vfs)
{
	(void)fd, (void)vfs;
	errno = ENOSYS;
	return -1;
}

int
remote_list(int fd, struct remote_names *names)
{
	(void)fd, (void)names;
	errno = ENOSYS;
	return -1;
}

int
remote_write_start(int fd, const void *data, size_t bytes, uint64_t offset,
		   void (*done)(void *arg, int64_t result), void *arg)
{
	(void)fd, (void)data, (void)bytes, (void)offset, (void)done, (void)arg;
	return -ENOSYS;
}
