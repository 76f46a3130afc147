/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_REMOTE_H
#define SPATE_STORE_DISK_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "contract/disk.h"

struct iovec;
struct stat;
struct statvfs;

/*
 * A remote disk is one that is no folder of a file system but has a plugin
 * (contract/disk.h), which its path names by a scheme: "rados://pool/namespace".
 * Its files are known by handles, in the place of descriptors.  A plugin is
 * loaded when the first of its disks is opened.
 *
 * Like descriptors, handles belong to the process, and any thread may use them.
 * Functions return what the system call returns that file.h names: -1 with
 * errno.
 */
enum { REMOTE_FIRST = 1 << 28, REMOTE_MOST = 1 << 16 };

static inline bool
file_is_remote(int fd)
{
	return fd >= REMOTE_FIRST;
}

/* True if a disk's path has a scheme. */
bool remote_is_path(const char *path);

/*
 * Checks a disk's path by itself: its scheme, its form, its options, and with
 * `writes` whether such a disk can be recorded on at all.  Loads its plugin, but
 * asks no cluster.  0, also for a folder's path; -ENOENT if there is no plugin for
 * it; or another -errno; with a fault.
 */
int remote_check(const char *path, bool writes, struct fault *fault);

/* Lets remote disks be made where there are none yet (disk_args::makes), from now
 * on.  For programs that record, or put recordings onto new disks; call it before
 * there are threads. */
void remote_makes(void);

/* Writes why a disk could not be opened the last time, or "". */
void remote_why(const char *path, char *why, size_t bytes);

/* Opens a disk, and returns the handle of its folder; or -errno, with a fault
 * unless that is NULL. */
int remote_open(const char *path, struct fault *fault);

/* disk_open_at() below a remote disk: a handle or -errno. */
int remote_open_at(int at, const char *path, int flags);

/* disk_make_at() below a remote disk: a handle or -errno. */
int remote_make_at(int at, const char *path);

/* True if nothing can be written on the disk of a file. */
bool remote_reads_only(int fd);

int remote_close(int fd);
int remote_dup(int fd);
ssize_t remote_read(int fd, void *data, size_t bytes, off_t offset);
ssize_t remote_readv(int fd, const struct iovec *v, int n, off_t offset);
ssize_t remote_write(int fd, const void *data, size_t bytes, off_t offset);
ssize_t remote_append(int fd, const void *data, size_t bytes);
int remote_sync(int fd);
int remote_cut(int fd, off_t bytes);
off_t remote_seek(int fd, off_t offset, int whence);
int remote_stat(int fd, struct stat *st);
int remote_stat_at(int at, const char *path, struct stat *st);
int remote_lock(int fd, int how);
int remote_remove_at(int at, const char *path, bool folder);
int remote_rename_at(int at, const char *from, const char *to);
int remote_mkdir_at(int at, const char *path);
int remote_nameless_at(int at);
int remote_link_at(int fd, int at, const char *name);
int remote_space(int fd, struct statvfs *vfs);

/* All names in a folder, each with its terminating 0, those of folders with a
 * '/' before it.  The caller frees the text, also after an error. */
struct remote_names {
	char *text;
	size_t bytes, room;
};
int remote_list(int fd, struct remote_names *names);

/* Starts to write, see disk_ops::write_start.  0 or -errno. */
int remote_write_start(int fd, const void *data, size_t bytes, uint64_t offset,
		       void (*done)(void *arg, int64_t result), void *arg);

#endif
