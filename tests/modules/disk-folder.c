/* SPDX-License-Identifier: MIT */
/*
 * A remote disk for tests that have no cluster: folder://PATH is the folder
 * /PATH.  It does by the contract of a disk what a folder does by itself; each
 * write that is started has a thread of its own, so that they end in any order.
 *
 * $DISK_FOLDER_AWAY names a file: while it exists, nothing answers (-ETIMEDOUT).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "contract/disk.h"

struct disk_store {
	int fd;
};

struct disk_file {
	int fd;
};

static bool
is_away(void)
{
	const char *file = getenv("DISK_FOLDER_AWAY");

	return file && !access(file, F_OK);
}

/* 0, or -errno of the call before. */
static int
told(int result)
{
	return result < 0 ? -errno : 0;
}

static const char *
path_of(const char *path)
{
	return *path ? path : ".";
}

static int
folder_check(const struct disk_args *a)
{
	if (*a->place == '/' && !strchr(a->place, '?'))
		return 0;
	snprintf(a->why, a->why_bytes, "its form is folder:///PATH");
	return -EINVAL;
}

static int
folder_open(struct disk_store **store, const struct disk_args *a)
{
	struct disk_store *s;

	if (is_away()) {
		snprintf(a->why, a->why_bytes, "the folder does not answer");
		return -ETIMEDOUT;
	}
	/* One of this name is made, if it may be. */
	if (strstr(a->place, "/new-") && a->makes)
		mkdir(a->place, 0755);
	s = malloc(sizeof *s);
	if (!s)
		return -ENOMEM;
	s->fd = open(a->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->fd >= 0) {
		*store = s;
		return 0;
	}
	free(s);
	return -errno;
}

static int
file_make(int fd, struct disk_file **file)
{
	if (fd < 0)
		return -errno;
	*file = malloc(sizeof **file);
	if (!*file) {
		close(fd);
		return -ENOMEM;
	}
	(*file)->fd = fd;
	return 0;
}

static int
file_open(struct disk_store *s, const char *path, enum disk_how how,
	  struct disk_file **file)
{
	static const int flags[] = {
		[DISK_READ] = O_RDONLY,
		[DISK_WRITE] = O_RDWR,
		[DISK_MAKE] = O_RDWR | O_CREAT,
		[DISK_NEW] = O_RDWR | O_CREAT | O_EXCL,
		[DISK_FOLDER] = O_RDONLY | O_DIRECTORY,
	};
	struct stat st;
	int err;

	if (is_away())
		return -ETIMEDOUT;
	err = file_make(
	    openat(s->fd, path_of(path),
		   flags[how & ~(DISK_APPENDED | DISK_ONCE)] | O_CLOEXEC, 0644),
	    file);
	if (err || how == DISK_FOLDER || fstat((*file)->fd, &st) < 0 ||
	    !S_ISDIR(st.st_mode))
		return err;
	close((*file)->fd);
	free(*file);
	return -EISDIR;
}

static void
file_close(struct disk_file *f)
{
	close(f->fd);
	free(f);
}

static int64_t
file_read(struct disk_file *f, void *data, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got = pread(f->fd, (char *)data + done, bytes - done,
				    (off_t)(offset + done));

		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (int64_t)done;
}

static int64_t
file_write(struct disk_file *f, const void *data, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	if (is_away())
		return -ETIMEDOUT;
	while (done < bytes) {
		ssize_t put = pwrite(f->fd, (const char *)data + done,
				     bytes - done, (off_t)(offset + done));

		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		done += (size_t)put;
	}
	return (int64_t)bytes;
}

static int
file_append(struct disk_file *f, const void *data, size_t bytes)
{
	struct stat st;
	int64_t put;

	if (fstat(f->fd, &st) < 0)
		return -errno;
	put = file_write(f, data, bytes, (uint64_t)st.st_size);
	return put < 0 ? (int)put : 0;
}

static int
file_sync(struct disk_file *f)
{
	return is_away() ? -ETIMEDOUT : told(fsync(f->fd));
}

static int
file_cut(struct disk_file *f, uint64_t bytes)
{
	return told(ftruncate(f->fd, (off_t)bytes));
}

static void
facts(const struct stat *st, struct disk_stat *is)
{
	*is = (struct disk_stat){
		.id = st->st_ino,
		.device = st->st_dev,
		.folder = S_ISDIR(st->st_mode),
		.bytes = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
		.changed_ns =
		    st->st_mtim.tv_sec * NS_SECOND + st->st_mtim.tv_nsec,
		.gone = !st->st_nlink,
	};
}

static int
file_stat(struct disk_file *f, struct disk_stat *is)
{
	struct stat st;

	if (is_away())
		return -ETIMEDOUT;
	if (fstat(f->fd, &st) < 0)
		return -errno;
	facts(&st, is);
	return 0;
}

static int
file_stat_at(struct disk_store *s, const char *path, struct disk_stat *is)
{
	struct stat st;

	if (is_away())
		return -ETIMEDOUT;
	if (fstatat(s->fd, path_of(path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	facts(&st, is);
	return 0;
}

static int
file_lock(struct disk_file *f, enum disk_lock how)
{
	return told(flock(f->fd, how == DISK_UNLOCK   ? LOCK_UN
				 : how == DISK_SHARED ? LOCK_SH | LOCK_NB
						      : LOCK_EX | LOCK_NB));
}

static int
name_remove(struct disk_store *s, const char *path, bool folder)
{
	return told(unlinkat(s->fd, path, folder ? AT_REMOVEDIR : 0));
}

static int
name_change(struct disk_store *s, const char *from, const char *to)
{
	return told(renameat(s->fd, from, s->fd, to));
}

static int
make_folder(struct disk_store *s, const char *path)
{
	return told(mkdirat(s->fd, path, 0755));
}

static int
nameless(struct disk_store *s, const char *folder, struct disk_file **file)
{
	return file_make(openat(s->fd, path_of(folder),
				O_TMPFILE | O_RDWR | O_CLOEXEC, 0644),
			 file);
}

/* A file without a name is "/the/folder/#123 (deleted)" to the kernel: the name
 * is made in that folder. */
static int
name_give(struct disk_file *f, const char *path)
{
	char link[64], folder[4096];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/self/fd/%d", f->fd);
	length = readlink(link, folder, sizeof folder - 1);
	if (length < 0)
		return -errno;
	folder[length] = '\0';
	*strrchr(folder, '/') = '\0';
	if (strrchr(path, '/'))
		path = strrchr(path, '/') + 1;
	if (strlen(folder) + strlen(path) + 2 > sizeof folder)
		return -ENAMETOOLONG;
	strcat(strcat(folder, "/"), path);
	return told(
	    linkat(AT_FDCWD, link, AT_FDCWD, folder, AT_SYMLINK_FOLLOW));
}

static int
folder_list(struct disk_file *f,
	    int (*take)(void *arg, const char *name, bool folder), void *arg)
{
	int fd = openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			err = take(arg, e->d_name, e->d_type == DT_DIR);
	closedir(dir);
	return err;
}

static int
folder_room(struct disk_store *s, struct disk_room *room)
{
	struct statvfs vfs;

	if (is_away())
		return -ETIMEDOUT;
	if (fstatvfs(s->fd, &vfs) < 0)
		return -errno;
	*room = (struct disk_room){ (uint64_t)vfs.f_blocks * vfs.f_frsize,
				    (uint64_t)vfs.f_bavail * vfs.f_frsize };
	return 0;
}

struct started {
	struct disk_file *file;
	const void *data;
	size_t bytes;
	uint64_t offset;
	void (*done)(void *arg, int64_t result);
	void *arg;
};

static void *
write_do(void *arg)
{
	struct started *w = arg;

	w->done(w->arg, file_write(w->file, w->data, w->bytes, w->offset));
	free(w);
	return NULL;
}

static int
write_start(struct disk_file *f, const void *data, size_t bytes,
	    uint64_t offset, void (*done)(void *arg, int64_t result), void *arg)
{
	struct started *w = malloc(sizeof *w);
	pthread_t thread;
	int err;

	if (!w)
		return -ENOMEM;
	*w = (struct started){ f, data, bytes, offset, done, arg };
	err = -pthread_create(&thread, NULL, write_do, w);
	if (err)
		free(w);
	else
		pthread_detach(thread);
	return err;
}

SPATE_PLUGIN const struct disk_ops spate_disk = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct disk_ops),
		  .name = "folder",
		  .help = "a folder, by way of a plugin" },
	.open = folder_open,
	.file_open = file_open,
	.file_close = file_close,
	.read = file_read,
	.write = file_write,
	.append = file_append,
	.sync = file_sync,
	.cut = file_cut,
	.stat = file_stat,
	.stat_at = file_stat_at,
	.lock = file_lock,
	.remove = name_remove,
	.rename = name_change,
	.make_folder = make_folder,
	.nameless = nameless,
	.link = name_give,
	.list = folder_list,
	.room = folder_room,
	.write_start = write_start,
	.check = folder_check,
};
