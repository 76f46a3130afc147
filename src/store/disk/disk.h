/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_DISK_H
#define SPATE_STORE_DISK_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "contract/option.h"

/* Identity of a folder, the same by every path that leads to it (links, bind
 * mounts). */
struct disk_id {
	/* two disks with the same device share their free space */
	dev_t device;
	ino_t folder;
};

/*
 * A disk is a folder that takes chunks, preferably on a file system of its own;
 * or a remote disk, whose path has a scheme (remote.h).
 * Disks are found from the patterns of the configuration.  A match of a
 * wildcard counts only where a file system is mounted, because an empty mount
 * point belongs to the system's own disk.  A path without wildcard may be any
 * folder; but if it was a mount point once, it must be one from then on.
 */
struct disk {
	char *path;
	int fd;		   /* descriptor of the folder, or the handle of a
			      remote disk's; -1: not open */
	struct disk_id id; /* identity, as of the last disk_open() */
	/* A file system must be mounted here: the path was found by a wildcard,
	 * or was a mount point when it was opened. */
	bool mount;
	uint64_t reserve; /* bytes to leave free on the file system */
	/* Configured reserve in bytes; 0: 1 % of the file system, at least 256
	 * MiB.  Another thread may set it at any time with a relaxed store: the
	 * thread that has the disk uses it from its next disk_open() on. */
	_Atomic uint64_t reserve_asked;
};

/* The disks that were found, in the order of the patterns. */
struct disks {
	struct disk *disk;
	unsigned n;
	unsigned skipped; /* wildcard matches where nothing is mounted */
	unsigned twins;	  /* further paths of folders that are in the list */
};

struct disk_space {
	uint64_t total, free;
}; /* Bytes; `free` is what is left above the reserve. */

/*
 * Expands the patterns in their order into a list of disks, each folder once;
 * the caller frees it with disks_clear().  A path without wildcard that does
 * not exist is kept with fd -1.  Finding no disk at all is no error here: n is
 * then 0, and `fault` says which pattern matched what.  Returns 0 or -errno
 * (with `fault` set, and an empty list).
 */
int disks_find(struct disks *disks, const struct option_texts *patterns,
	       struct fault *fault);
/* Closes the disks and frees the list, which is then empty. */
void disks_clear(struct disks *disks);

/* Copies the list for another thread: paths and `mount` only, no disk is open,
 * and behind them spare places with an empty path for disks that come later.
 * `to` must be empty; `from` NULL: spare places only.  0 or -ENOMEM; call
 * disks_clear(to) in either case. */
int disks_copy(struct disks *to, const struct disks *from, unsigned spare);

/*
 * The disks that a daemon has had, for threads that read recordings while disks
 * come and go.  One thread sets them, any may open them.  A place in the list
 * belongs to a path for ever.
 */
struct disk_list;
enum { DISK_LIST_MOST = 256 };

struct disk_list *disk_list_make(void); /* NULL: no memory */
struct disk_list *disk_list_share(struct disk_list *list);
void disk_list_drop(struct disk_list *list); /* the last one frees it */

/* Sets whether a disk answers.  A disk that is about to take chunks is set
 * before, so that who finds these has its path.  0, -ENOMEM or -ENOSPC. */
int disk_list_set(struct disk_list *list, const char *path, bool mount,
		  bool answers);

/* Gives spare places of `disks` to those in the list that have none, and opens
 * all that answer and are not open.  May wait for a disk. */
void disk_list_open(struct disk_list *list, struct disks *disks);

/*
 * Opens a disk, or opens it again.  Returns 0; -ENODEV if nothing is mounted
 * any more on a mount point; or another -errno; on failure fd is -1.  An open
 * disk cannot be unmounted, so a caller that does not record closes it again
 * soon.
 */
int disk_open(struct disk *disk);
void disk_close(struct disk *disk);

/* Opens a disk's folder by its path.  Returns a descriptor or handle that the
 * caller closes (file_close), or -errno. */
int disk_folder_open(const char *path);

/*
 * Checks by its path that a disk is there, without opening it, so that it can
 * be unmounted meanwhile.  Returns 0 and its identity in *id; -ENODEV if
 * `mount` is set and nothing is mounted; or another -errno.
 */
int disk_look(const char *path, bool mount, struct disk_id *id);

/* True if both are the same folder. */
static inline bool
disk_same(const struct disk_id *a, const struct disk_id *b)
{
	return a->device == b->device && a->folder == b->folder;
}

/* True if the path has a wildcard. */
bool disk_is_pattern(const char *path);

/* True if the path means the same in every working directory: it begins with a
 * slash, or with a scheme. */
bool disk_is_absolute(const char *path);

/* Returns a path's length without the slashes at its end, but with those of its
 * scheme, and of "/". */
size_t disk_path_length(const char *path);

/* True if two paths are of the same disk, as a recording's metadata names it: a
 * remote one may have other options behind a '?'. */
bool disk_path_same(const char *a, const char *b);

/* Returns the next path of a list like "/mnt/disk0:rados://pool/a", and advances
 * *list, which it writes to; NULL after the last.  It may be empty. */
char *disk_list_next(char **list);

/* True if the pattern would find this path with a file system mounted on it.  A
 * pattern without wildcard finds itself alone. */
bool disk_matches(const char *pattern, const char *path);

/*
 * Opens a file below a disk, or with O_DIRECTORY a folder.  Every open below a
 * disk goes through this function.  Other users may write to a disk, so a name
 * may mean another file from one moment to the next:
 *
 *   to write   only a regular file with no second name (hard link), on a path
 *              without links.  O_TRUNC takes effect after that was checked.
 *   to read    only a regular file.  DISK_LINKS follows relative links that
 *              stay below `at`.  Where the kernel cannot guarantee that
 *              (openat2 is missing or forbidden) no link is followed.
 *
 * `at` is the folder of the disk or, without DISK_LINKS, of a recording; then
 * "../NAME" is a file beside that folder.  New files get mode 0644.  Opening a
 * pipe does not block.  Returns the descriptor, which the caller closes, or
 *   -ELOOP             the file, or a folder on its path, is a link
 *   -EXDEV             a link leads out of `at`
 *   -EMLINK            the file has a second name
 *   -EISDIR, -ESPIPE   it is a folder; a pipe, a socket or a device
 * or another -errno.
 */
enum disk_links { DISK_NO_LINKS, DISK_LINKS };
int disk_open_at(int at, const char *path, int flags, enum disk_links links);

/* Makes a file, which must not exist, to be written by this opener alone and each
 * byte once, as a chunk: that takes less of a disk that recorders share (DISK_ONCE
 * in contract/disk.h).  `flags` may have O_DIRECT.  The descriptor or -errno. */
int disk_make_at(int at, const char *path, int flags);

/* Gives what root has made in a folder the folder's owner: the daemon, which is
 * mostly another user, has to write to it, too.  disk_open_at() does it where the
 * file system can.  0 or -errno. */
int disk_own(int fd, int folder);

/* Says what an error of disk_open_at() means ("it is a link ...").  disk_hint()
 * says what would help, or returns NULL.  Both are static strings. */
const char *disk_why(int err);
const char *disk_hint(int err);

/* Asks the file system for its total bytes and the bytes above the reserve.  0,
 * -ENODEV if the disk is not open, or another -errno. */
int disk_space(const struct disk *disk, struct disk_space *space);

#endif
