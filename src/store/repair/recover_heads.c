/* SPDX-License-Identifier: MIT */
/*
 * Disks may come from two machines, each with a recording of the same name.  A
 * chunk found twice is then no copy, and neither may be touched.  The first
 * line of each metadata has the start time to a nanosecond, which tells them
 * apart.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/repair/recover_priv.h"

static json_t *
read_head(const struct rescue *r, unsigned disk)
{
	char file[LAYOUT_FILE], *line = NULL;
	json_t *head = NULL;
	size_t room = 0;
	ssize_t length;
	FILE *from;
	int fd;

	fd = rescue_open(r, disk, layout_meta(file, r->rec->name), O_RDONLY);
	from = fd < 0 ? NULL : fdopen(fd, "r");
	if (!from)
		return NULL;
	length = getline(&line, &room, from);
	if (length > 0)
		head = json_loadb(line, (size_t)length, 0, NULL);
	free(line);
	fclose(from);
	return head;
}

/* True if a disk has another recording.  Unknown without a readable first line,
 * which counts as the same. */
static bool
is_other(const struct rescue *r, unsigned disk)
{
	json_t *head = read_head(r, disk);
	json_t *start = json_object_get(head, "start");
	bool other = json_is_string(start) &&
		     !json_equal(start, json_object_get(r->rec->head, "start"));

	json_decref(head);
	return other;
}

int
rescue_heads(const struct rescue *r, struct fault *fault)
{
	const char *name = r->rec->name;

	for (unsigned i = 0; i < r->disks->n; i++) {
		if (r->rec->part[i].dir < 0 || !is_other(r, i))
			continue;
		fault_set(fault, -EBADMSG, "refused", "cannot recover %s",
			  name);
		fault_why(fault,
			  "%s holds another recording of that name: it began "
			  "at another time",
			  r->disks->disk[i].path);
		fault_hint(fault, "leave that disk out, with --disks");
		return -EBADMSG;
	}
	return 0;
}
