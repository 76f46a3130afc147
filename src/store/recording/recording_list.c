/* SPDX-License-Identifier: MIT */
/*
 * Lists recordings: every folder with metadata or an index of its own name, and
 * recordings of other programs.  Names are collected in one growing text and
 * become an array when all are known, so there is one piece of memory to free.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/foreign/foreign.h"
#include "store/recording/recording_priv.h"
#include "store/disk/file.h"

/* Names that were found. */
struct name_list {
	char *text; /* names, each with its terminating 0 */
	size_t bytes, room, n;
};

static int
add_name(struct name_list *names, const char *name)
{
	size_t length = strlen(name) + 1;
	char *grown;

	if (names->bytes + length > names->room) {
		grown = realloc(names->text, 2 * names->room + LAYOUT_FILE);
		if (!grown)
			return -ENOMEM;
		names->text = grown;
		names->room = 2 * names->room + LAYOUT_FILE;
	}
	memcpy(names->text + names->bytes, name, length);
	names->bytes += length;
	names->n++;
	return 0;
}

static bool
has_file(int disk, const char *dir, const char *file)
{
	char path[2 * LAYOUT_FILE];

	snprintf(path, sizeof path, "%s/%s", dir, file);
	return !file_access_at(disk, path, F_OK, 0);
}

/* True if the folder is a recording's; `name` is then its name. */
static bool
is_recording(int disk, const char *dir, char name[LAYOUT_FILE])
{
	char file[LAYOUT_FILE];
	enum layout layout;

	return layout_dir_name(dir, name, &layout) &&
	       (has_file(disk, dir, layout_meta(file, name)) ||
		has_file(disk, dir, layout_index(file, name)));
}

/* Adds the names in a folder; none if it cannot be listed.  0 or -ENOMEM. */
static int
list_folder(struct name_list *names, int disk, const char *folder)
{
	int fd = disk_open_at(disk, folder, O_RDONLY | O_DIRECTORY, DISK_LINKS);
	char name[LAYOUT_FILE];
	const struct dirent *entry;
	int err = 0;
	struct file_list *dir;

	if (fd < 0)
		return 0;
	dir = file_list_open(fd);
	if (!dir) {
		file_close(fd);
		return -ENOMEM;
	}
	while (!err && (entry = file_list_next(dir))) {
		if (is_recording(fd, entry->d_name, name))
			err = add_name(names, name);
		else if (foreign_is(disk, folder, entry->d_name))
			err = add_name(names, entry->d_name);
	}
	file_list_close(dir);
	return err;
}

static int
list_disk(struct name_list *names, int disk)
{
	int err = list_folder(names, disk, ".");

	return err ? err : list_folder(names, disk, FOREIGN_DATA);
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* An array and its texts in one piece of memory, each name once; NULL without
 * memory. */
static char **
pack(const struct name_list *names, size_t *n)
{
	char **list = malloc((names->n + 1) * sizeof *list + names->bytes);
	char *text = list ? (char *)(list + names->n + 1) : NULL;
	size_t kept = 0;

	if (!list)
		return NULL;
	if (names->bytes)
		memcpy(text, names->text, names->bytes);
	for (size_t i = 0; i < names->n; i++) {
		list[i] = text;
		text += strlen(text) + 1;
	}
	qsort(list, names->n, sizeof *list, by_text);
	for (size_t i = 0; i < names->n; i++) {
		if (!kept || strcmp(list[kept - 1], list[i]))
			list[kept++] = list[i];
	}
	list[kept] = NULL;
	*n = kept;
	return list;
}

int
recording_list(const struct disks *disks, char ***names, size_t *n)
{
	struct name_list all = { 0 };
	int err = 0;

	for (unsigned i = 0; i < disks->n && !err; i++) {
		if (disks->disk[i].fd >= 0)
			err = list_disk(&all, disks->disk[i].fd);
	}
	if (!err) {
		*names = pack(&all, n);
		err = *names ? 0 : -ENOMEM;
	}
	free(all.text);
	return err;
}

/* When the recording's metadata was last written, on any disk; 0: never. */
static int64_t
written(const struct disks *disks, const char *name)
{
	char path[2 * LAYOUT_FILE], file[LAYOUT_FILE];
	int64_t last = 0, ns;
	struct stat st;

	snprintf(path, sizeof path, "%s/%s", name, layout_meta(file, name));
	for (unsigned i = 0; i < disks->n; i++) {
		if (disks->disk[i].fd < 0 ||
		    file_stat_at(disks->disk[i].fd, path, &st, 0) < 0)
			continue;
		ns =
		    (int64_t)st.st_mtim.tv_sec * NS_SECOND + st.st_mtim.tv_nsec;
		last = ns > last ? ns : last;
	}
	return last;
}

int
recording_last(const struct disks *disks, char name[LAYOUT_FILE])
{
	char **names = NULL;
	int64_t last = 0, ns;
	size_t n = 0, found = 0;
	int err = recording_list(disks, &names, &n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		ns = written(disks, names[i]);
		if (ns < last)
			continue;
		last = ns;
		found = i;
	}
	if (n)
		strcpy(name, names[found]);
	free(names);
	return n ? 0 : -ENOENT;
}
