/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_DISK_H
#define SPATE_STORE_DISK_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "contract/option.h"

/* One folder, whatever it is called: by a link, or mounted twice. */
struct disk_id {
	dev_t device; /* disks with the same share their space */
	ino_t folder;
};

/*
 * A disk is a folder on a file system, best one of its own, that takes
 * chunks.  Disks are found from the patterns of the configuration: a match
 * of a wildcard counts only where a file system is mounted, because what is
 * behind an empty mount point is the system's own disk; a path without
 * wildcard may be any folder, but where it was a mount point once it has to
 * be one from then on.
 */
struct disk {
	char *path;
	int fd;		   /* of the folder; -1 when it is not there */
	struct disk_id id; /* as it was last looked at */
	bool mount;	   /* found by a wildcard, or was a mount point
				   when it was opened: counts only while a file
				   system is mounted there */
	uint64_t reserve;  /* bytes that stay free on the file system */
	/* 0: 1 %, at least 256 MiB.  Of a disk that another thread has open it
	 * may be set at any time, relaxed: it counts when that opens it next. */
	_Atomic uint64_t reserve_asked;
};

struct disks {
	struct disk *disk;
	unsigned n;
	unsigned skipped; /* wildcard matches that are not mounted */
	unsigned twins;	  /* other paths of folders that are in the list */
};

struct disk_space {
	uint64_t total, free;
}; /* free: above the reserve */

/*
 * Expands the patterns, in their order, each folder once.  A path without
 * wildcard that is not there is kept with fd -1.  A pattern that matches
 * nothing that counts is not an error here: n may be 0 and `fault` then says
 * which pattern matched what.  0 or -errno.
 */
int disks_find(struct disks *disks, const struct option_texts *patterns,
	       struct fault *fault);
void disks_clear(struct disks *disks);

/* The same disks for another thread, none of them open; `to` is empty.  0 or
 * -ENOMEM; disks_clear() in either case. */
int disks_copy(struct disks *to, const struct disks *from);

/*
 * Opens a disk, again where it is open.  -ENODEV where nothing is mounted any
 * more on a mount point; else 0 or -errno; then fd is -1.  An open disk cannot
 * be unmounted, so who does not record closes it.
 */
int disk_open(struct disk *disk);
void disk_close(struct disk *disk);

/*
 * Is a disk there?  Asked by its path: nothing is opened, so that it can be
 * unmounted meanwhile.  0 and what it is; -ENODEV as disk_open says it; or
 * -errno.
 */
int disk_look(const char *path, bool mount, struct disk_id *id);

static inline bool
disk_same(const struct disk_id *a, const struct disk_id *b)
{
	return a->device == b->device && a->folder == b->folder;
}

/* Has it a wildcard? */
bool disk_is_pattern(const char *path);

/* Is this path one that the pattern would find, if a file system was mounted
 * there?  Of a path without wildcard: is it that? */
bool disk_matches(const char *pattern, const char *path);

/*
 * Opens a file, or with O_DIRECTORY a folder, below a disk: whatever is opened
 * there is opened by this.  Others than who runs us may write to a disk, so a
 * name may stand for something else from one moment to the next:
 *
 *   what is written to   is a regular file with no other name, and no link
 *                        leads to it.  O_TRUNC acts when that is known.
 *   what is read         is a regular file.  DISK_LINKS follows links, but
 *                        only to what lies below `at`, and not absolute ones;
 *                        where the kernel cannot promise that (openat2 is
 *                        missing, or forbidden) it follows none.
 *
 * `at` is the folder of the disk, or without DISK_LINKS that of a recording;
 * "../NAME" is a file beside that.  Files are made with mode 0644, and a pipe
 * is not waited for.  Returns the descriptor, or
 *   -ELOOP    the file, or a folder on the way, is a link
 *   -EXDEV    it is a link that leads out of `at`
 *   -EMLINK   it has another name
 *   -EISDIR, -ESPIPE   it is a folder; a pipe, a socket or a device
 * or another -errno.
 */
enum disk_links { DISK_NO_LINKS, DISK_LINKS };
int disk_open_at(int at, const char *path, int flags, enum disk_links links);

/* Says what such an error means: "it is a link"; and what would help, or
 * NULL. */
const char *disk_why(int err);
const char *disk_hint(int err);

/* 0 or -errno. */
int disk_space(const struct disk *disk, struct disk_space *space);

#endif
