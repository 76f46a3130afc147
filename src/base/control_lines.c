/* SPDX-License-Identifier: MIT */
/*
 * Lines out of a stream of bytes.  What was read and not yet given back lies
 * from `start` to `used`; it is moved to the front before each read, so that
 * the buffer is never larger than the longest line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/control.h"

int
control_lines_read(struct control_lines *l, int fd)
{
	size_t room = l->room ? 2 * l->room : 4096;
	char *data;
	ssize_t got;

	if (l->start) {
		l->used -= l->start;
		memmove(l->data, l->data + l->start, l->used);
		l->start = 0;
	}
	if (l->used >= (l->most ? l->most : CONTROL_LINE))
		return -EMSGSIZE;
	if (l->used == l->room) {
		data = realloc(l->data, room);
		if (!data)
			return -ENOMEM;
		l->data = data;
		l->room = room;
	}
	do
		got = read(fd, l->data + l->used, l->room - l->used);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	l->used += got;
	return got;
}

char *
control_lines_next(struct control_lines *l)
{
	char *line, *end;

	if (l->used == l->start)
		return NULL;
	line = l->data + l->start;
	end = memchr(line, '\n', l->used - l->start);
	if (!end)
		return NULL;
	*end = '\0';
	l->start = end + 1 - l->data;
	return line;
}

void
control_lines_clear(struct control_lines *l)
{
	free(l->data);
	*l = (struct control_lines){ 0 };
}
