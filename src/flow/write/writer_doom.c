/* SPDX-License-Identifier: MIT */
/*
 * Chunks that have to go because their blocks are on other disks, but which
 * their own disk failed to remove.  They are removed before the disk takes
 * blocks again.  Only for recordings with a file per chunk: a file that all
 * blocks share is cut back to what its index names when it is opened again.
 */
#include "flow/write/writer_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "store/disk/layout.h"

struct doom {
	char path[2 * LAYOUT_FILE]; /* relative to the disk's folder */
	struct doom *next;	    /* linked in writer::doom */
};

void
doom_add(struct writer *w, const struct chunk *c)
{
	char dir[LAYOUT_FILE], file[LAYOUT_FILE];
	const char *name = c->rec->output->name;
	struct doom *d = calloc(1, sizeof *d);

	layout_dir(dir, name, LAYOUT_VBS);
	layout_chunk(file, name, c->place.number);
	log_line(LEVEL_WARN, w->disk.path,
		 "%s/%s cannot be removed now; it will be before the disk "
		 "takes blocks again",
		 dir, file);
	if (!d)
		return;
	snprintf(d->path, sizeof d->path, "%s/%s", dir, file);
	d->next = w->doom;
	w->doom = d;
}

int
dooms_try(struct writer *w)
{
	struct doom *d;

	while ((d = w->doom)) {
		if (unlinkat(w->disk.fd, d->path, 0) < 0 && errno != ENOENT &&
		    errno != ENOTDIR)
			return -errno;
		w->doom = d->next;
		free(d);
	}
	return 0;
}

void
dooms_forget(struct writer *w)
{
	struct doom *d;

	while ((d = w->doom)) {
		log_line(LEVEL_ERROR, w->disk.path,
			 "%s is on another disk as well, and could not be "
			 "removed; remove it by hand",
			 d->path);
		w->doom = d->next;
		free(d);
	}
}
