/* SPDX-License-Identifier: MIT */
/* Marks a recording as protected.  The mark is an empty file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "store/foreign/foreign.h"
#include "store/disk/layout.h"
#include "store/repair/protect.h"
#include "store/disk/file.h"

static int
open_dir(const struct disks *disks, unsigned disk, const char *name)
{
	if (disks->disk[disk].fd < 0 ||
	    (!layout_folder_good(name) &&
	     !foreign_on(disks->disk[disk].fd, name)))
		return -ENOENT;
	return layout_dir_open(disks->disk[disk].fd, name, DISK_NO_LINKS);
}

static int
mark(int dir, const char *file)
{
	int fd = disk_open_at(dir, file, O_CREAT | O_WRONLY, DISK_NO_LINKS);
	int err = 0;

	if (fd < 0)
		return fd;
	if (file_sync(fd) < 0)
		err = -errno;
	file_close(fd);
	return err;
}

static int
set(int dir, const char *name, bool on)
{
	char file[LAYOUT_FILE];
	int err = 0;

	if (!file_access_at(dir, layout_removing(file, name), F_OK,
			    AT_SYMLINK_NOFOLLOW))
		return -EIDRM;
	layout_protect(file, name);
	if (on)
		err = mark(dir, file);
	else if (file_remove_at(dir, file, 0) < 0 && errno != ENOENT)
		err = -errno;
	if (!err && file_sync(dir) < 0)
		err = -errno;
	return err;
}

static int
explain(struct fault *fault, const char *name, const char *path, int err)
{
	fault_set(fault, err, "io", "cannot change the protection of %s", name);
	if (err == -EIDRM)
		fault_why(fault, "it is being removed");
	else
		fault_why(fault, "%s: %s", path, disk_why(err));
	if (disk_hint(err))
		fault_hint(fault, "%s", disk_hint(err));
	return err;
}

/* Says why nothing was marked.  Mark6's files have no folder for a mark. */
static int
nothing(const struct disks *disks, const char *name, struct fault *fault)
{
	for (unsigned i = 0; i < disks->n; i++) {
		if (disks->disk[i].fd < 0 ||
		    !foreign_on(disks->disk[i].fd, name))
			continue;
		fault_set(fault, -ENOTSUP, "refused", "%s cannot be protected",
			  name);
		fault_why(fault, "it consists of Mark6 files, which have no "
				 "folder for a mark");
		return -ENOTSUP;
	}
	fault_set(fault, -ENOENT, "not-found", "no recording %.80s", name);
	fault_hint(fault, "spate ls shows the recordings there are");
	return -ENOENT;
}

int
protect_set(const struct disks *disks, const char *name, bool on, json_t **done,
	    struct fault *fault)
{
	json_t *list = json_array();
	int first = 0;

	for (unsigned i = 0; i < disks->n; i++) {
		int dir = open_dir(disks, i, name), err;

		if (dir < 0 && !disk_hint(dir))
			continue;
		err = dir < 0 ? dir : set(dir, name, on);
		if (dir >= 0)
			file_close(dir);
		if (!err)
			json_array_append_new(list,
					      json_string(disks->disk[i].path));
		else if (!first)
			first = explain(fault, name, disks->disk[i].path, err);
	}
	if (!first && !json_array_size(list))
		first = nothing(disks, name, fault);
	if (first)
		json_decref(list);
	else
		*done = json_pack("{s:s, s:b, s:o}", "name", name, "protected",
				  (int)on, "disks", list);
	return first;
}
