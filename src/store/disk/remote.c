/* SPDX-License-Identifier: MIT */
/*
 * Handles are places in a table that never moves, so a call finds its file
 * without a lock: whoever closes a handle must not use it any more, as with a
 * descriptor.  A handle knows its path, and a path that is relative to a folder
 * becomes one from the disk's own folder here, so that a plugin sees no "..".
 *
 * An open disk is kept for as long as the process lives: a connection to a
 * cluster takes tens of milliseconds, and disks are looked at again and again.
 * A child of the process makes connections of its own, since the threads behind
 * those of its parent are not in it.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/module.h"
#include "store/disk/disk.h"
#include "store/disk/remote.h"

enum { PATH_BYTES = 1024, UNIT = 4096 };

/* An open disk. */
struct remote_disk {
	struct remote_disk *next;
	char *path; /* as it is configured */
	pid_t process;
	pthread_mutex_t lock; /* held while it is opened */
	const struct disk_ops *ops;
	struct disk_store *store; /* NULL: could not be opened yet */
	struct host host;
	atomic_uint tries; /* to open it; raised as one ends */
	int err;	   /* of the last one */
	/* Why it could not be opened, as it was logged; protected by the lock
	 * of all disks. */
	char said[sizeof(struct fault)];
};

/* An open file, or a folder. */
struct remote_file {
	struct remote_disk *disk;
	struct disk_file *file;
	atomic_uint handles;
	bool writes;
	char path[]; /* from the disk's folder on */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct remote_disk *disks; /* protected by `lock`; only grows */
/* Set and cleared under `lock`, read without. */
static struct remote_file *_Atomic files[REMOTE_MOST];
static bool makes;	    /* set before there are threads */
static unsigned next_place; /* where to look for a free one; under `lock` */

/* ---- handles ------------------------------------------------------------- */

static struct remote_file *
file_of(int fd)
{
	unsigned i = (unsigned)fd - REMOTE_FIRST;

	return i < REMOTE_MOST
		   ? atomic_load_explicit(&files[i], memory_order_acquire)
		   : NULL;
}

/* Returns -1 with errno for an error, else the result itself. */
static int64_t
answer(int64_t result)
{
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

/* Gives an open file a handle.  -EMFILE: there is none left. */
static int
handle_new(struct remote_file *f)
{
	int fd = -EMFILE;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < REMOTE_MOST && fd < 0; i++) {
		unsigned place = (next_place + i) % REMOTE_MOST;

		if (atomic_load_explicit(&files[place], memory_order_relaxed))
			continue;
		atomic_store_explicit(&files[place], f, memory_order_release);
		next_place = place + 1;
		fd = (int)(REMOTE_FIRST + place);
	}
	pthread_mutex_unlock(&lock);
	return fd;
}

static void
file_drop(struct remote_file *f)
{
	if (atomic_fetch_sub(&f->handles, 1) != 1)
		return;
	f->disk->ops->file_close(f->file);
	free(f);
}

/* Tells whether files of its disk may be changed.  0 or -errno. */
static int
may_change(const struct remote_file *f)
{
	if (!f)
		return -EBADF;
	return f->disk->ops->write ? 0 : -EROFS;
}

bool
remote_reads_only(int fd)
{
	const struct remote_file *f = file_of(fd);

	return f && !f->disk->ops->write;
}

int
remote_close(int fd)
{
	struct remote_file *f;

	pthread_mutex_lock(&lock);
	f = file_of(fd);
	if (f)
		atomic_store_explicit(&files[fd - REMOTE_FIRST], NULL,
				      memory_order_release);
	pthread_mutex_unlock(&lock);
	if (!f)
		return (int)answer(-EBADF);
	file_drop(f);
	return 0;
}

int
remote_dup(int fd)
{
	struct remote_file *f = file_of(fd);
	int new;

	if (!f)
		return (int)answer(-EBADF);
	atomic_fetch_add(&f->handles, 1);
	new = handle_new(f);
	if (new < 0)
		file_drop(f);
	return (int)answer(new);
}

/* ---- paths --------------------------------------------------------------- */

/* Appends one part of a path to `to`.  0 or -errno. */
static int
path_step(char to[PATH_BYTES], const char *part, size_t length)
{
	size_t used = strlen(to);
	char *slash;

	if (!length || (length == 1 && *part == '.'))
		return 0;
	if (length == 2 && !memcmp(part, "..", 2)) {
		if (!used)
			return -EXDEV; /* out of the disk */
		slash = strrchr(to, '/');
		*(slash ? slash : to) = '\0';
		return 0;
	}
	if (length > NAME_MAX || used + 1 + length >= PATH_BYTES)
		return -ENAMETOOLONG;
	if (used)
		to[used++] = '/';
	memcpy(to + used, part, length);
	to[used + length] = '\0';
	return 0;
}

/* Makes the path from the disk's folder on. */
static int
path_make(const struct remote_file *at, const char *path, char to[PATH_BYTES])
{
	size_t length;
	int err = 0;

	strcpy(to, at->path);
	for (; !err && *path; path += length + (path[length] == '/')) {
		length = strcspn(path, "/");
		err = path_step(to, path, length);
	}
	return err;
}

/* ---- opening ------------------------------------------------------------- */

bool
remote_is_path(const char *path)
{
	const char *scheme = strstr(path, "://");

	return scheme && scheme > path && !memchr(path, '/', scheme - path);
}

/* Makes a handle of an opened file; closes it after an error. */
static int
file_new(struct remote_disk *disk, struct disk_file *file, const char *path,
	 bool writes)
{
	struct remote_file *f = malloc(sizeof *f + strlen(path) + 1);
	int fd = -ENOMEM;

	if (f) {
		f->disk = disk;
		f->file = file;
		f->writes = writes;
		atomic_init(&f->handles, 1);
		strcpy(f->path, path);
		fd = handle_new(f);
	}
	if (fd < 0) {
		disk->ops->file_close(file);
		free(f);
	}
	return fd;
}

/* Finds the entry of a disk, or makes one; NULL: no memory. */
static struct remote_disk *
disk_entry(const char *path)
{
	struct remote_disk *d;

	pthread_mutex_lock(&lock);
	for (d = disks; d; d = d->next) {
		if (d->process == getpid() && !strcmp(d->path, path))
			break;
	}
	if (!d && (d = calloc(1, sizeof *d))) {
		d->path = strdup(path);
		d->process = getpid();
		d->host = log_host(d->path);
		pthread_mutex_init(&d->lock, NULL);
		if (d->path) {
			d->next = disks;
			disks = d;
		} else {
			free(d);
			d = NULL;
		}
	}
	pthread_mutex_unlock(&lock);
	return d;
}

/* Logs why a disk could not be opened, unless it was the same the last time:
 * most callers know no more than the error's number. */
static void
say(struct remote_disk *d, const struct fault *fault)
{
	const char *why = !fault ? "" : *fault->why ? fault->why : fault->what;
	char line[sizeof *fault];
	bool news;

	if (fault && !d->ops) {
		fault_line(fault, line, sizeof line);
		why = line; /* which plugins there are */
	}
	pthread_mutex_lock(&lock);
	news = strncmp(d->said, why, sizeof d->said - 1) != 0;
	snprintf(d->said, sizeof d->said, "%s", why);
	pthread_mutex_unlock(&lock);
	if (news && *why)
		log_line(LEVEL_WARN, d->path, "%s", why);
}

/* Loads the plugin that a path's scheme names. */
static int
plugin_load(const char *path, const struct disk_ops **ops, struct fault *fault)
{
	char scheme[64], lower[64];
	int n = snprintf(scheme, sizeof scheme, "%.*s",
			 (int)(strstr(path, "://") - path), path);
	int err = module_disk(scheme, ops, fault);

	for (int i = 0; i <= n && i < (int)sizeof lower; i++)
		lower[i] = (char)tolower((unsigned char)scheme[i]);
	if (err == -ENOENT && n < (int)sizeof lower && strcmp(lower, scheme))
		fault_hint(fault, "schemes are written small: %s%.200s", lower,
			   path + n);
	return err;
}

int
remote_check(const char *path, bool writes, struct fault *fault)
{
	char why[sizeof fault->why] = "", place[PATH_BYTES];
	struct disk_args args = { .why = why, .why_bytes = sizeof why };
	const struct disk_ops *ops;
	struct host host;
	int err;

	if (!remote_is_path(path))
		return 0;
	err = plugin_load(path, &ops, fault);
	if (err)
		return -ENOENT;
	host = log_host(path);
	args.host = &host;
	snprintf(place, sizeof place, "%.*s", (int)disk_path_length(path),
		 path);
	args.place = strstr(place, "://") + 3;
	err = ops->check ? ops->check(&args) : 0;
	if (err) {
		fault_set(fault, err, "bad-disk", "%.200s is no disk", path);
		fault_why(fault, "%s", why);
	} else if (writes && !ops->write) {
		err = fault_set(fault, -EROFS, "bad-disk",
				"nothing can be recorded on %.200s", path);
		fault_why(fault, "a disk of %s:// can only be read",
			  ops->head.name);
		fault_hint(fault, "record on a folder; 'spate send' brings "
				  "recordings there");
	}
	return err;
}

/* Loads the plugin and opens the disk, unless both was done. */
static int
disk_connect(struct remote_disk *d, struct fault *fault)
{
	char why[sizeof fault->why] = "";
	const struct disk_args args = { .host = &d->host,
					.place = strstr(d->path, "://") + 3,
					.why = why,
					.why_bytes = sizeof why,
					.makes = makes };
	unsigned tries;
	int err = 0;

	tries = atomic_load(&d->tries);
	pthread_mutex_lock(&d->lock);
	/* Another thread tried while this one waited: once is enough. */
	if (tries != atomic_load(&d->tries))
		err = d->err;
	if (err)
		fault_set(fault, err, "io", "cannot open %s: %s", d->path,
			  strerror(-err));
	if (!err && !d->ops)
		err = plugin_load(d->path, &d->ops, fault);
	if (!err && !d->store) {
		err = d->ops->open(&d->store, &args);
		if (err) {
			fault_set(fault, err, "io", "cannot open %s", d->path);
			fault_why(fault, "%s", *why ? why : strerror(-err));
		}
	}
	if (tries == atomic_load(&d->tries)) {
		say(d, err ? fault : NULL);
		d->err = err;
		atomic_fetch_add(&d->tries, 1);
	}
	pthread_mutex_unlock(&d->lock);
	return err;
}

void
remote_makes(void)
{
	makes = true;
}

void
remote_why(const char *path, char *why, size_t bytes)
{
	struct remote_disk *d = disk_entry(path);

	*why = '\0';
	if (!d)
		return;
	/* Not its own lock, which is held while the cluster is asked. */
	pthread_mutex_lock(&lock);
	snprintf(why, bytes, "%s", d->said);
	pthread_mutex_unlock(&lock);
}

int
remote_open(const char *path, struct fault *fault)
{
	struct remote_disk *d = disk_entry(path);
	struct disk_file *file;
	struct fault own;
	int err = -ENOMEM;

	fault = fault ? fault : &own;
	if (!d)
		return fault_set(fault, err, "no-memory",
				 "cannot open %s: no memory", path);
	err = disk_connect(d, fault);
	if (err)
		return err;
	err = d->ops->file_open(d->store, "", DISK_FOLDER, &file);
	if (!err)
		err = file_new(d, file, "", false);
	if (err < 0)
		fault_set(fault, err, "io", "cannot open %s: %s", path,
			  strerror(-err));
	return err;
}

static enum disk_how
how_open(int flags)
{
	if (flags & O_DIRECTORY)
		return DISK_FOLDER;
	if (flags & O_CREAT)
		return (flags & O_EXCL ? DISK_NEW : DISK_MAKE) |
		       (flags & O_APPEND ? DISK_APPENDED : 0);
	return (flags & O_ACCMODE) == O_RDONLY ? DISK_READ : DISK_WRITE;
}

/* Tells the plugin that an opened file belongs to the recording's folder `at`
 * if it does not lie in it: a Mark6 data file lies beside its folder. */
static int
belong(const struct remote_file *at, struct disk_file *file, const char *path)
{
	const struct disk_ops *ops = at->disk->ops;
	size_t length = strlen(at->path);

	if (!ops->belongs || !length ||
	    (!strncmp(path, at->path, length) && path[length] == '/'))
		return 0;
	return ops->belongs(file, at->path);
}

static int
open_how(int at, const char *path, enum disk_how how, bool empties)
{
	struct remote_file *a = file_of(at);
	bool writes = how != DISK_READ && how != DISK_FOLDER;
	struct disk_file *file;
	char whole[PATH_BYTES];
	int err = a ? 0 : -EBADF;

	if (writes)
		err = may_change(a);
	if (!err)
		err = path_make(a, path, whole);
	if (!err)
		err =
		    a->disk->ops->file_open(a->disk->store, whole, how, &file);
	if (err)
		return err;
	if (writes)
		err = belong(a, file, whole);
	if (!err && writes && empties)
		err = a->disk->ops->cut(file, 0);
	if (!err)
		return file_new(a->disk, file, whole, writes);
	a->disk->ops->file_close(file);
	return err;
}

int
remote_open_at(int at, const char *path, int flags)
{
	return open_how(at, path, how_open(flags), flags & O_TRUNC);
}

int
remote_make_at(int at, const char *path)
{
	return open_how(at, path, DISK_NEW | DISK_ONCE, false);
}

int
remote_nameless_at(int at)
{
	struct remote_file *a = file_of(at);
	struct disk_file *file;
	int err = may_change(a);

	if (!err)
		err = a->disk->ops->nameless(a->disk->store, a->path, &file);
	return (int)answer(err ? err : file_new(a->disk, file, a->path, true));
}

int
remote_link_at(int fd, int at, const char *name)
{
	struct remote_file *f = file_of(fd), *a = file_of(at);
	char whole[PATH_BYTES];
	int err = f ? may_change(a) : -EBADF;

	if (!err)
		err = path_make(a, name, whole);
	return (int)answer(err ? err : f->disk->ops->link(f->file, whole));
}

/* ---- reading and writing ------------------------------------------------- */

ssize_t
remote_read(int fd, void *data, size_t bytes, off_t offset)
{
	struct remote_file *f = file_of(fd);

	if (!f || offset < 0)
		return answer(f ? -EINVAL : -EBADF);
	return answer(
	    f->disk->ops->read(f->file, data, bytes, (uint64_t)offset));
}

/* One read of all bytes, from which the parts are copied: packets with a prefix
 * between them are many small parts. */
ssize_t
remote_readv(int fd, const struct iovec *v, int n, off_t offset)
{
	size_t bytes = 0, at = 0, part;
	ssize_t got;
	uint8_t *all;

	for (int i = 0; i < n; i++)
		bytes += v[i].iov_len;
	all = malloc(bytes ? bytes : 1);
	if (!all)
		return answer(-ENOMEM);
	got = remote_read(fd, all, bytes, offset);
	for (int i = 0; i < n && got > 0 && at < (size_t)got; i++) {
		part = (size_t)got - at < v[i].iov_len ? (size_t)got - at
						       : v[i].iov_len;
		memcpy(v[i].iov_base, all + at, part);
		at += part;
	}
	free(all);
	return got;
}

ssize_t
remote_write(int fd, const void *data, size_t bytes, off_t offset)
{
	struct remote_file *f = file_of(fd);

	if (!f || !f->writes || offset < 0)
		return answer(-EBADF);
	return answer(
	    f->disk->ops->write(f->file, data, bytes, (uint64_t)offset));
}

ssize_t
remote_append(int fd, const void *data, size_t bytes)
{
	struct remote_file *f = file_of(fd);
	int err;

	if (!f || !f->writes)
		return answer(-EBADF);
	err = f->disk->ops->append(f->file, data, bytes);
	return answer(err ? err : (ssize_t)bytes);
}

int
remote_write_start(int fd, const void *data, size_t bytes, uint64_t offset,
		   void (*done)(void *arg, int64_t result), void *arg)
{
	struct remote_file *f = file_of(fd);
	const struct disk_ops *ops;

	if (!f || !f->writes)
		return -EBADF;
	ops = f->disk->ops;
	if (ops->write_start)
		return ops->write_start(f->file, data, bytes, offset, done,
					arg);
	done(arg, ops->write(f->file, data, bytes, offset));
	return 0;
}

int
remote_sync(int fd)
{
	struct remote_file *f = file_of(fd);
	int err = may_change(f);

	if (err == -EROFS)
		return 0; /* there is nothing to sync */
	return (int)answer(err ? err : f->disk->ops->sync(f->file));
}

int
remote_cut(int fd, off_t bytes)
{
	struct remote_file *f = file_of(fd);

	if (!f || !f->writes || bytes < 0)
		return (int)answer(f ? -EINVAL : -EBADF);
	return (int)answer(f->disk->ops->cut(f->file, (uint64_t)bytes));
}

off_t
remote_seek(int fd, off_t offset, int whence)
{
	struct remote_file *f = file_of(fd);
	struct disk_stat is;
	int err = f ? f->disk->ops->stat(f->file, &is) : -EBADF;

	if (err)
		return answer(err);
	switch (whence) {
	case SEEK_END: return (off_t)is.bytes + offset;
	case SEEK_DATA:
		return answer(offset < (off_t)is.bytes ? offset : -ENXIO);
	case SEEK_HOLE:
		return answer(offset < (off_t)is.bytes ? (off_t)is.bytes
						       : -ENXIO);
	default: return answer(-EINVAL);
	}
}

/* ---- facts and locks ----------------------------------------------------- */

static int
stat_answer(int err, const struct disk_stat *is, struct stat *st)
{
	if (err)
		return (int)answer(err);
	*st = (struct stat){
		.st_dev = is->device,
		.st_ino = is->id,
		.st_mode = is->folder ? S_IFDIR | 0755 : S_IFREG | 0644,
		.st_nlink = is->gone ? 0 : 1,
		.st_size = (off_t)is->bytes,
		.st_blksize = UNIT,
		.st_blocks = (blkcnt_t)((is->bytes + 511) / 512),
		.st_mtim = { is->changed_ns / NS_SECOND,
			     is->changed_ns % NS_SECOND },
	};
	return 0;
}

int
remote_stat(int fd, struct stat *st)
{
	struct remote_file *f = file_of(fd);
	struct disk_stat is = { 0 };

	return stat_answer(f ? f->disk->ops->stat(f->file, &is) : -EBADF, &is,
			   st);
}

int
remote_stat_at(int at, const char *path, struct stat *st)
{
	struct remote_file *a = file_of(at);
	struct disk_stat is = { 0 };
	char whole[PATH_BYTES];
	int err = a ? path_make(a, path, whole) : -EBADF;

	if (!err)
		err = a->disk->ops->stat_at(a->disk->store, whole, &is);
	return stat_answer(err, &is, st);
}

int
remote_lock(int fd, int how)
{
	struct remote_file *f = file_of(fd);
	enum disk_lock as = how & LOCK_EX   ? DISK_EXCLUSIVE
			    : how & LOCK_SH ? DISK_SHARED
					    : DISK_UNLOCK;

	return (int)answer(f ? f->disk->ops->lock(f->file, as) : -EBADF);
}

int
remote_space(int fd, struct statvfs *vfs)
{
	struct remote_file *f = file_of(fd);
	struct disk_room room;
	int err = f ? f->disk->ops->room(f->disk->store, &room) : -EBADF;

	if (err)
		return (int)answer(err);
	*vfs = (struct statvfs){
		.f_bsize = UNIT,
		.f_frsize = UNIT,
		.f_blocks = room.total / UNIT,
		.f_bfree = room.free / UNIT,
		.f_bavail = room.free / UNIT,
		.f_namemax = NAME_MAX,
	};
	return 0;
}

/* ---- names --------------------------------------------------------------- */

int
remote_remove_at(int at, const char *path, bool folder)
{
	struct remote_file *a = file_of(at);
	char whole[PATH_BYTES];
	int err = may_change(a);

	if (!err)
		err = path_make(a, path, whole);
	if (!err)
		err = a->disk->ops->remove(a->disk->store, whole, folder);
	return (int)answer(err);
}

int
remote_rename_at(int at, const char *from, const char *to)
{
	struct remote_file *a = file_of(at);
	char whole_from[PATH_BYTES], whole_to[PATH_BYTES];
	int err = may_change(a);

	if (!err)
		err = path_make(a, from, whole_from);
	if (!err)
		err = path_make(a, to, whole_to);
	if (!err)
		err =
		    a->disk->ops->rename(a->disk->store, whole_from, whole_to);
	return (int)answer(err);
}

int
remote_mkdir_at(int at, const char *path)
{
	struct remote_file *a = file_of(at);
	char whole[PATH_BYTES];
	int err = may_change(a);

	if (!err)
		err = path_make(a, path, whole);
	if (!err)
		err = a->disk->ops->make_folder(a->disk->store, whole);
	return (int)answer(err);
}

static int
take_name(void *arg, const char *name, bool folder)
{
	struct remote_names *n = arg;
	size_t bytes = strlen(name) + folder + 1;
	char *grown;

	if (n->bytes + bytes > n->room) {
		grown = realloc(n->text, 2 * n->room + bytes + UNIT);
		if (!grown)
			return -ENOMEM;
		n->text = grown;
		n->room = 2 * n->room + bytes + UNIT;
	}
	memcpy(n->text + n->bytes, name, bytes - folder);
	if (folder)
		memcpy(n->text + n->bytes + bytes - 2, "/", 2);
	n->bytes += bytes;
	return 0;
}

int
remote_list(int fd, struct remote_names *names)
{
	struct remote_file *f = file_of(fd);

	return (int)answer(f ? f->disk->ops->list(f->file, take_name, names)
			     : -EBADF);
}
