/* SPDX-License-Identifier: MIT */
/*
 * The kernel says whether a folder is a mount point (STATX_ATTR_MOUNT_ROOT,
 * which sees bind mounts of the same file system too).  A kernel before 5.8
 * does not know that attribute: there the folder's device must differ from its
 * parent's.  Reading /proc/self/mounts was rejected: its paths are as they were
 * when the file systems were mounted, and it does not list links to a mount
 * point.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store/disk/disk.h"
#include "store/disk/disk_keys.h"
#include "store/disk/file.h"

enum { RESERVE_PART = 100 }; /* 1 % */
static const uint64_t reserve_least = UINT64_C(256) << 20;

bool
disk_is_pattern(const char *path)
{
	return !remote_is_path(path) && strpbrk(path, "*?[");
}

bool
disk_is_absolute(const char *path)
{
	return *path == '/' || remote_is_path(path);
}

size_t
disk_path_length(const char *path)
{
	size_t length = strlen(path), least = 1;

	if (remote_is_path(path))
		least = (size_t)(strstr(path, "://") - path) + strlen("://");
	while (length > least && path[length - 1] == '/')
		length--;
	return length;
}

bool
disk_path_same(const char *a, const char *b)
{
	size_t length = strlen(a);

	if (remote_is_path(a))
		length = strcspn(a, "?");
	return !strncmp(a, b, length) &&
	       (!b[length] || (remote_is_path(b) && b[length] == '?'));
}

char *
disk_list_next(char **list)
{
	char *path = *list, *end = path;

	if (!path)
		return NULL;
	/* The colon of a scheme is part of the path. */
	while (*end && (*end != ':' || !strncmp(end, "://", 3)))
		end++;
	*list = *end ? end + 1 : NULL;
	*end = '\0';
	return path;
}

bool
disk_matches(const char *pattern, const char *path)
{
	size_t length = disk_path_length(pattern);

	if (disk_is_pattern(pattern))
		return !fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD);
	return !strncmp(pattern, path, length) && !path[length];
}

static bool
is_root(const struct statx *sx, dev_t here, dev_t parent)
{
	if (sx->stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
		return sx->stx_attributes & STATX_ATTR_MOUNT_ROOT;
	return here != parent;
}

static bool
is_mounted(int fd)
{
	struct statx sx;
	struct stat here, parent;

	return !statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &sx) &&
	       !fstat(fd, &here) && !fstatat(fd, "..", &parent, 0) &&
	       is_root(&sx, here.st_dev, parent.st_dev);
}

static int
remote_look(const char *path, struct disk_id *id)
{
	int fd = remote_open(path, NULL);
	struct stat st;
	int err;

	if (fd < 0)
		return fd;
	err = file_stat(fd, &st) < 0 ? -errno : 0;
	if (!err)
		*id = (struct disk_id){ st.st_dev, st.st_ino };
	file_close(fd);
	return err;
}

int
disk_look(const char *path, bool mount, struct disk_id *id)
{
	char above[PATH_MAX];
	struct stat here, parent;
	struct statx sx;

	if (remote_is_path(path))
		return remote_look(path, id);
	snprintf(above, sizeof above, "%s/..", path);
	if (stat(path, &here) < 0 || stat(above, &parent) < 0 ||
	    statx(AT_FDCWD, path, 0, STATX_TYPE, &sx) < 0)
		return -errno;
	if (!S_ISDIR(here.st_mode))
		return -ENOTDIR;
	if (mount && !is_root(&sx, here.st_dev, parent.st_dev))
		return -ENODEV;
	*id = (struct disk_id){ here.st_dev, here.st_ino };
	return 0;
}

void
disk_close(struct disk *disk)
{
	if (disk->fd >= 0)
		file_close(disk->fd);
	disk->fd = -1;
}

int
disk_folder_open(const char *path)
{
	int fd;

	if (remote_is_path(path))
		return remote_open(path, NULL);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static uint64_t
reserve_of(const struct disk *disk, const struct statvfs *vfs)
{
	uint64_t part = (uint64_t)vfs->f_blocks * vfs->f_frsize / RESERVE_PART;

	if (disk->reserve_asked)
		return disk->reserve_asked;
	return part < reserve_least ? reserve_least : part;
}

int
disk_open(struct disk *disk)
{
	struct statvfs vfs;
	struct stat st;
	bool mounted;
	int err = 0;

	disk_close(disk);
	err = disk_folder_open(disk->path);
	if (err < 0)
		return err;
	disk->fd = err;
	err = 0;
	mounted = !file_is_remote(disk->fd) && is_mounted(disk->fd);
	if (disk->mount && !mounted)
		err = -ENODEV;
	else if (file_stat(disk->fd, &st) < 0 || file_space(disk->fd, &vfs) < 0)
		err = -errno;
	if (err) {
		disk_close(disk);
		return err;
	}
	disk->mount = mounted || disk->mount;
	disk->id = (struct disk_id){ st.st_dev, st.st_ino };
	disk->reserve = reserve_of(disk, &vfs);
	return 0;
}

int
disk_space(const struct disk *disk, struct disk_space *space)
{
	struct statvfs vfs;
	uint64_t free_bytes;

	if (disk->fd < 0)
		return -ENODEV;
	if (file_space(disk->fd, &vfs) < 0)
		return -errno;
	free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	space->total = (uint64_t)vfs.f_blocks * vfs.f_frsize;
	space->free =
	    free_bytes > disk->reserve ? free_bytes - disk->reserve : 0;
	return 0;
}

/* ---- files below a disk ------------------------------------------------- */

/* True if `name`, in a folder that was reached without links, is a link. */
static bool
is_link(int at, const char *name)
{
	struct stat st;

	return !fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISLNK(st.st_mode);
}

/* Opens one name of a path.  O_NOFOLLOW with O_DIRECTORY makes the kernel
 * report a link as ENOTDIR; this returns -ELOOP for it. */
static int
open_name(int at, const char *name, int flags)
{
	int fd = openat(at, name, flags | O_NOFOLLOW, 0644);

	if (fd >= 0)
		return fd;
	return errno == ENOTDIR && is_link(at, name) ? -ELOOP : -errno;
}

/* Opens the path component by component, so that no component can be a link. */
static int
open_without_links(int at, const char *path, int flags)
{
	const char *slash;
	char name[NAME_MAX + 1];
	int dir = at, next;

	while ((slash = strchr(path, '/'))) {
		size_t length = (size_t)(slash - path);

		next = -ENAMETOOLONG;
		if (length < sizeof name) {
			memcpy(name, path, length);
			name[length] = '\0';
			next = open_name(dir, name,
					 O_PATH | O_DIRECTORY | O_CLOEXEC);
		}
		if (dir != at)
			close(dir);
		if (next < 0)
			return next;
		dir = next;
		path = slash + 1;
	}
	next = open_name(dir, path, flags);
	if (dir != at)
		close(dir);
	return next;
}

/* Opens a path whose links may not leave `at`.  The kernel returns EAGAIN when
 * a name changes while it resolves "..": try again, at most TRIES times. */
static int
open_with_links(int at, const char *path, int flags)
{
	enum { TRIES = 100 };
	const struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = (int)syscall(SYS_openat2, at, path, &how, sizeof how);
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_without_links(at, path, flags);
	return fd < 0 ? -errno : fd;
}

/* Checks that an opened file is of a kind that may be used with `flags`, and
 * truncates it if they ask for that.  0 or -errno. */
static int
judge(int fd, int flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY;
	struct stat st;

	if (flags & O_DIRECTORY)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ESPIPE;
	if (writes && st.st_nlink > 1)
		return -EMLINK;
	if (flags & O_TRUNC && ftruncate(fd, 0) < 0)
		return -errno;
	return 0;
}

int
disk_own(int fd, int folder)
{
	struct stat own, of;

	if (file_is_remote(fd) || geteuid() != 0)
		return 0;
	if (fstat(fd, &own) < 0 || fstat(folder, &of) < 0)
		return -errno;
	if (own.st_uid != 0 || of.st_uid == 0)
		return 0;
	return fchown(fd, of.st_uid, of.st_gid) < 0 ? -errno : 0;
}

/* True if a file that was opened with O_CREAT seems to be new. */
static bool
is_new(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_size == 0;
}

int
disk_open_at(int at, const char *path, int flags, enum disk_links links)
{
	int how = (flags & ~O_TRUNC) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd, err;

	if (file_is_remote(at))
		return remote_open_at(at, path, flags);
	fd = links == DISK_LINKS ? open_with_links(at, path, how)
				 : open_without_links(at, path, how);
	if (fd < 0)
		return fd;
	err = judge(fd, flags);
	if (err) {
		close(fd);
		return err;
	}
	if (flags & O_CREAT && is_new(fd))
		(void)disk_own(fd, at);
	return fd;
}

int
disk_make_at(int at, const char *path, int flags)
{
	if (file_is_remote(at))
		return remote_make_at(at, path);
	return disk_open_at(at, path, O_CREAT | O_EXCL | O_WRONLY | flags,
			    DISK_NO_LINKS);
}

const char *
disk_why(int err)
{
	switch (err) {
	case -ELOOP: return "it is a link, or is reached by one";
	case -EXDEV: return "it is a link that is absolute or leaves the disk";
	case -EMLINK: return "it has another name (a hard link)";
	case -EISDIR: return "it is a folder";
	case -ENOTDIR: return "it is not a folder";
	case -ENXIO: /* a pipe that nobody reads */
	case -ESPIPE: return "it is not a regular file";
	default: return strerror(-err);
	}
}

const char *
disk_hint(int err)
{
	switch (err) {
	case -ELOOP:
		return "put the file or folder itself in its place; nothing is "
		       "written through a link";
	case -EXDEV:
		return "make it a relative link to something on that disk, or "
		       "look on the disk that it leads to (--disks)";
	case -EMLINK:
		return "replace it by a copy of itself (cp); writing to it "
		       "would change the file under its other name, too";
	case -EISDIR:
	case -ESPIPE:
	case -ENXIO: return "remove it";
	default: return NULL;
	}
}

/* ---- finding disks ------------------------------------------------------ */

static bool
is_known(const struct disks *disks, const char *path)
{
	for (unsigned i = 0; i < disks->n; i++) {
		if (!strcmp(disks->disk[i].path, path))
			return true;
	}
	return false;
}

/* True if the list has this folder already under another path.  Two entries for
 * one folder would get twice as many blocks, and a recording's folder cannot be
 * made in it twice. */
static bool
is_twin(const struct disks *disks, const struct disk *disk)
{
	for (unsigned i = 0; disk->fd >= 0 && i < disks->n; i++) {
		if (disks->disk[i].fd >= 0 &&
		    disk_same(&disks->disk[i].id, &disk->id))
			return true;
	}
	return false;
}

/* Adds a path to the list unless it is there already or is not to be used.  0
 * or -errno; a path that is skipped is no error. */
static int
add(struct disks *disks, const char *path, bool must_be_mounted)
{
	struct disk disk = { .fd = -1, .mount = must_be_mounted };
	struct disk *grown;
	int err;

	disk.path = strndup(path, disk_path_length(path));
	if (!disk.path)
		return -ENOMEM;
	if (is_known(disks, disk.path))
		goto skip;
	err = disk_open(&disk);
	disks->skipped += err == -ENODEV;
	if (err && must_be_mounted)
		goto skip; /* a file, gone or not mounted: no disk */
	if (is_twin(disks, &disk)) {
		disks->twins++;
		goto skip;
	}
	grown = realloc(disks->disk, (disks->n + 1) * sizeof *grown);
	if (!grown)
		goto no_memory;
	disks->disk = grown;
	disks->disk[disks->n++] = disk;
	return 0;
skip:
	disk_close(&disk);
	free(disk.path);
	return 0;
no_memory:
	disk_close(&disk);
	free(disk.path);
	return -ENOMEM;
}

static int
add_matches(struct disks *disks, const char *pattern, size_t *matches)
{
	glob_t found;
	int err = 0;

	switch (glob(pattern, 0, NULL, &found)) {
	case 0: break;
	case GLOB_NOMATCH: return 0;
	case GLOB_NOSPACE: return -ENOMEM;
	default: return -EIO;
	}
	*matches = found.gl_pathc;
	for (size_t i = 0; i < found.gl_pathc && !err; i++)
		err = add(disks, found.gl_pathv[i], true);
	globfree(&found);
	return err;
}

/* Fills in `fault` with what the last pattern matched; used when no disk was
 * found. */
static void
explain(const struct disks *disks, const char *pattern, size_t matches,
	struct fault *fault)
{
	fault_set(fault, 0, "no-disk", "no disk found");
	if (!matches) {
		fault_why(fault, "\"%s\" matches nothing", pattern);
		fault_hint(fault, "name folders that exist, or mount disks "
				  "where the pattern points");
		return;
	}
	fault_why(fault,
		  "\"%s\" matches %zu paths, and %u of the paths that patterns "
		  "match are not mount points",
		  pattern, matches, disks->skipped);
	fault_hint(fault, "mount a disk there, or name the folder without a "
			  "wildcard to use it as it is");
}

int
disks_find(struct disks *disks, const struct option_texts *patterns,
	   struct fault *fault)
{
	int err = 0;

	*disks = (struct disks){ 0 };
	if (!patterns->n)
		fault_set(fault, 0, "no-disk", "no disks are configured");
	for (unsigned i = 0; i < patterns->n && !err; i++) {
		const char *pattern = patterns->text[i];
		size_t matches = 0;

		err = remote_check(pattern, false, fault);
		if (err && err != -ENOENT)
			break;
		if (disk_is_pattern(pattern))
			err = add_matches(disks, pattern, &matches);
		else
			err = add(disks, pattern, false);
		if (err)
			fault_set(fault, err, "io",
				  "cannot look for disks at \"%s\": %s",
				  pattern, strerror(-err));
		else if (!disks->n)
			explain(disks, pattern, matches, fault);
	}
	if (err)
		disks_clear(disks);
	return err;
}

void
disks_clear(struct disks *disks)
{
	for (unsigned i = 0; i < disks->n; i++) {
		if (disks->disk[i].fd >= 0)
			file_close(disks->disk[i].fd);
		free(disks->disk[i].path);
	}
	free(disks->disk);
	*disks = (struct disks){ 0 };
}

int
disks_copy(struct disks *to, const struct disks *from, unsigned spare)
{
	unsigned n = from ? from->n : 0;

	to->disk = calloc(n + spare + 1, sizeof *to->disk);
	if (!to->disk)
		return -ENOMEM;
	for (; to->n < n + spare; to->n++) {
		struct disk *disk = &to->disk[to->n];

		disk->mount = to->n < n && from->disk[to->n].mount;
		disk->fd = -1;
		disk->path = strdup(to->n < n ? from->disk[to->n].path : "");
		if (!disk->path)
			return -ENOMEM;
	}
	return 0;
}

/* ---- disks that come and go ------------------------------------------------ */

struct disk_list {
	pthread_mutex_t lock; /* guards all of it */
	unsigned users;
	unsigned n;
	struct disk_listed {
		char *path;
		bool mount, answers;
	} disk[DISK_LIST_MOST];
};

struct disk_list *
disk_list_make(void)
{
	struct disk_list *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	l->users = 1;
	return l;
}

struct disk_list *
disk_list_share(struct disk_list *l)
{
	pthread_mutex_lock(&l->lock);
	l->users++;
	pthread_mutex_unlock(&l->lock);
	return l;
}

void
disk_list_drop(struct disk_list *l)
{
	unsigned users;

	pthread_mutex_lock(&l->lock);
	users = --l->users;
	pthread_mutex_unlock(&l->lock);
	if (users)
		return;
	for (unsigned i = 0; i < l->n; i++)
		free(l->disk[i].path);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Returns the place of a path, or that of the next new one.  Under the lock. */
static unsigned
listed(const struct disk_list *l, const char *path)
{
	unsigned i = 0;

	while (i < l->n && strcmp(l->disk[i].path, path) != 0)
		i++;
	return i;
}

int
disk_list_set(struct disk_list *l, const char *path, bool mount, bool answers)
{
	unsigned i;
	int err = 0;

	pthread_mutex_lock(&l->lock);
	i = listed(l, path);
	if (i == DISK_LIST_MOST)
		err = -ENOSPC;
	else if (i == l->n && (l->disk[i].path = strdup(path)))
		l->n++;
	else if (i == l->n)
		err = -ENOMEM;
	if (!err) {
		l->disk[i].mount = mount;
		l->disk[i].answers = answers;
	}
	pthread_mutex_unlock(&l->lock);
	return err;
}

/* Tells whether a disk answers, and takes over where something must be mounted
 * by now. */
static bool
answers(struct disk_list *l, struct disk *disk)
{
	bool is = false;
	unsigned i;

	pthread_mutex_lock(&l->lock);
	i = listed(l, disk->path);
	if (i < l->n) {
		disk->mount = l->disk[i].mount;
		is = l->disk[i].answers;
	}
	pthread_mutex_unlock(&l->lock);
	return is;
}

/* Gives the next spare place from *place on to disk i of the list, unless the
 * disk has one. */
static void
take_place(struct disk_list *l, unsigned i, struct disks *disks,
	   unsigned *place)
{
	const char *path = l->disk[i].path;
	char *copy;

	for (unsigned k = 0; k < disks->n; k++) {
		if (!strcmp(disks->disk[k].path, path))
			return;
	}
	while (*place < disks->n && *disks->disk[*place].path)
		++*place;
	copy = *place < disks->n ? strdup(path) : NULL;
	if (!copy)
		return; /* the next call tries again */
	free(disks->disk[*place].path);
	disks->disk[*place].path = copy;
}

void
disk_list_open(struct disk_list *l, struct disks *disks)
{
	unsigned place = 0;

	pthread_mutex_lock(&l->lock);
	for (unsigned i = 0; i < l->n; i++)
		take_place(l, i, disks, &place);
	pthread_mutex_unlock(&l->lock);
	for (unsigned i = 0; i < disks->n; i++) {
		struct disk *disk = &disks->disk[i];

		if (*disk->path && disk->fd < 0 && answers(l, disk))
			disk_open(disk);
	}
}

#define X(...) KEY_ENTRY(struct disk_report, __VA_ARGS__)
const struct key disk_keys[] = { DISK_KEYS(X){ .name = NULL } };
#undef X
