/* SPDX-License-Identifier: MIT */
/*
 * Writes the files of an export.  A file with content is never overwritten
 * without --force, and a file that cannot be finished is removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/export.h"

int
export_fault(const char *path, int err, struct fault *fault)
{
	fault_set(fault, err, "io", "cannot write %s", path);
	fault_why(fault, "%s", strerror(-err));
	return err;
}

static int
exists(const char *path, const char *why, struct fault *fault)
{
	fault_set(fault, -EEXIST, "exists", "cannot export to %s", path);
	fault_why(fault, "%s", why);
	fault_hint(fault, "--force overwrites it");
	return -EEXIST;
}

static int
reopen(struct export_file *f, bool force, struct fault *fault)
{
	struct stat st;

	if (stat(f->path, &st) < 0)
		return export_fault(f->path, -errno, fault);
	if (S_ISREG(st.st_mode) && st.st_size && !force)
		return exists(f->path, "it is there already", fault);
	f->fd = open(f->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	return f->fd < 0 ? export_fault(f->path, -errno, fault) : 0;
}

int
export_open(struct export_file *f, const char *path, bool force,
	    struct fault *fault)
{
	*f = (struct export_file){ .path = path };
	if (strcmp(path, "-") == 0) {
		f->fd = STDOUT_FILENO;
		return 0;
	}
	f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	f->created = f->fd >= 0;
	if (f->created)
		return 0;
	if (errno == EEXIST)
		return reopen(f, force, fault);
	return export_fault(path, -errno, fault);
}

int
export_put(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes) {
		ssize_t n = write(fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* A full disk may report an error only here. */
int
export_close(struct export_file *f, struct fault *fault)
{
	int err = 0;

	if (f->fd == STDOUT_FILENO)
		return 0;
	if (fdatasync(f->fd) < 0 && errno != EINVAL && errno != EROFS)
		err = -errno;
	if (close(f->fd) < 0 && !err)
		err = -errno;
	f->fd = -1;
	return err ? export_fault(f->path, err, fault) : 0;
}

void
export_drop(struct export_file *f)
{
	if (f->fd >= 0 && f->fd != STDOUT_FILENO)
		close(f->fd);
	if (f->created)
		unlink(f->path);
}

static bool
is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	unsigned n = 0;

	if (!dir)
		return true; /* writing into the folder will report the error */
	while ((entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(dir);
	return !n;
}

int
export_folder(const char *path, bool force, struct fault *fault)
{
	struct stat st;

	if (!mkdir(path, 0777))
		return 0;
	if (errno != EEXIST || stat(path, &st) < 0)
		return export_fault(path, -errno, fault);
	if (!S_ISDIR(st.st_mode)) {
		fault_set(fault, -ENOTDIR, "exists", "cannot export to %s",
			  path);
		fault_why(fault, "it is no folder, and there are several files "
				 "to write");
		fault_hint(fault, "name a new folder; --sub N writes one file "
				  "of one substream");
		return -ENOTDIR;
	}
	if (force || is_empty(path))
		return 0;
	return exists(path, "something is in it already", fault);
}
