/* SPDX-License-Identifier: MIT */
#include "store/repair/quality_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/file.h"
#include "store/disk/layout.h"

enum { READ_MOST = 64 << 20 };

/* True if the folder has blocks, and is not being removed. */
static bool
has_blocks(int dir, const char *name)
{
	char file[LAYOUT_FILE];
	struct stat st;

	return !file_stat_at(dir, layout_index(file, name), &st,
			     AT_SYMLINK_NOFOLLOW) &&
	       st.st_size > 0 &&
	       file_access_at(dir, layout_removing(file, name), F_OK,
			      AT_SYMLINK_NOFOLLOW) < 0;
}

static int
append(int dir, const char *name, const char *lines, size_t bytes)
{
	char file[LAYOUT_FILE];
	struct append_file to = {
		.fd = disk_open_at(dir, layout_quality(file, name),
				   O_CREAT | O_WRONLY | O_APPEND, DISK_NO_LINKS)
	};
	struct stat st;
	int err;

	if (to.fd < 0)
		return to.fd;
	err = file_stat(to.fd, &st) < 0 ? -errno : 0;
	to.bytes = st.st_size;
	if (!err)
		err = append_bytes(&to, lines, bytes);
	file_close(to.fd);
	return err;
}

static int
append_on(const struct disk *disk, const char *name, const char *lines,
	  size_t bytes)
{
	struct disk_space space;
	int dir, err;

	if (disk->fd < 0)
		return -ENOENT;
	dir = layout_dir_open(disk->fd, name, DISK_NO_LINKS);
	if (dir < 0)
		return dir;
	err = has_blocks(dir, name) ? disk_space(disk, &space) : -ENOENT;
	if (!err && space.free < bytes)
		err = -ENOSPC;
	if (!err)
		err = append(dir, name, lines, bytes);
	file_close(dir);
	return err;
}

int
quality_file_append(const struct disks *disks, const char *name,
		    const char *lines, size_t bytes, struct fault *fault)
{
	int first = -ENOENT;

	for (unsigned i = 0; i < disks->n; i++) {
		int err = append_on(&disks->disk[i], name, lines, bytes);

		if (!err)
			return 0;
		if (err == -ENOENT || first != -ENOENT)
			continue;
		first = err;
		fault_set(fault, err, "io", "cannot write the quality file");
		fault_why(fault, "%s: %s", disks->disk[i].path, disk_why(err));
	}
	return first;
}

static int
lines_read(int fd, void (*line)(void *arg, const char *text), void *arg)
{
	struct stat st;
	uint64_t from = 0;
	char *text, *at, *end;
	ssize_t got;

	if (file_stat(fd, &st) < 0)
		return 0;
	if (st.st_size > READ_MOST)
		from = (uint64_t)st.st_size - READ_MOST;
	text = malloc((size_t)st.st_size - from + 1);
	if (!text)
		return -ENOMEM;
	got = read_whole(fd, text, (size_t)st.st_size - from, from);
	text[got > 0 ? got : 0] = '\0';
	at = text;
	if (from) /* half a line */
		at = strchr(text, '\n') ? strchr(text, '\n') + 1 : text + got;
	for (; (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		line(arg, at);
	}
	free(text);
	return 0;
}

int
quality_file_read(const struct disks *disks, const char *name,
		  void (*line)(void *arg, const char *text), void *arg)
{
	char file[LAYOUT_FILE];
	int err = 0;

	for (unsigned i = 0; i < disks->n && !err; i++) {
		int dir, fd = -1;

		if (disks->disk[i].fd < 0)
			continue;
		dir = layout_dir_open(disks->disk[i].fd, name, DISK_LINKS);
		if (dir >= 0)
			fd = disk_open_at(dir, layout_quality(file, name),
					  O_RDONLY, DISK_NO_LINKS);
		if (fd >= 0) {
			err = lines_read(fd, line, arg);
			file_close(fd);
		}
		if (dir >= 0)
			file_close(dir);
	}
	return err;
}
