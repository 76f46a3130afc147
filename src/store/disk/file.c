/* SPDX-License-Identifier: MIT */
/*
 * One system call reads hundreds of packets: preadv() puts the payloads where
 * they belong, and the bytes between them into a scratch buffer.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "store/disk/disk.h"
#include "store/disk/file.h"

int
append_bytes(struct append_file *to, const void *data, size_t bytes)
{
	const char *at = data;
	size_t left = bytes;

	while (left) {
		ssize_t put = file_append(to->fd, at, left);
		int err = errno;

		if (put < 0 && err == EINTR)
			continue;
		/* If it cannot be cut, readers stop at the half record. */
		if (put < 0)
			return file_cut(to->fd, to->bytes) < 0 ? -EIO : -err;
		at += put;
		left -= (size_t)put;
	}
	to->bytes += (off_t)bytes;
	return 0;
}

bool
file_has_data(int fd, uint64_t from)
{
	static const uint8_t zero[4096];
	uint8_t page[sizeof zero];
	ssize_t n;

	while ((n = read_whole(fd, page, sizeof page, from)) > 0) {
		if (memcmp(page, zero, (size_t)n))
			return true;
		from += (uint64_t)n;
	}
	return n < 0;
}

enum { PACKETS = 256 };

/* How many of the `got` bytes read from the file are data.  The first `ahead`
 * of them are the rest of a packet. */
static size_t
data_of(const struct stride *s, size_t got, size_t ahead)
{
	size_t packet = (size_t)s->prefix + s->payload, part;

	if (got <= ahead)
		return got;
	got -= ahead;
	part = got % packet;
	return ahead + got / packet * s->payload +
	       (part > s->prefix ? part - s->prefix : 0);
}

ssize_t
stride_read(int fd, const struct stride *s, void *data, size_t bytes,
	    uint64_t at)
{
	uint8_t rubbish[STRIDE_PREFIX], *to = data;
	struct iovec v[2 * PACKETS];
	uint64_t slot = at / s->payload;
	uint32_t in = (uint32_t)(at % s->payload);
	size_t done, ahead = s->payload - in < bytes ? s->payload - in : bytes;
	uint64_t from = s->offset + slot * ((uint64_t)s->prefix + s->payload) +
			s->prefix + in;
	int n = 0;
	ssize_t got;

	if (!s->prefix)
		return file_read(fd, data, bytes, (off_t)(s->offset + at));
	v[n++] = (struct iovec){ to, ahead };
	for (done = ahead; done < bytes && n + 2 <= 2 * PACKETS;) {
		size_t part =
		    bytes - done < s->payload ? bytes - done : s->payload;

		v[n++] = (struct iovec){ rubbish, s->prefix };
		v[n++] = (struct iovec){ to + done, part };
		done += part;
	}
	got = file_readv(fd, v, n, (off_t)from);
	return got <= 0 ? got : (ssize_t)data_of(s, (size_t)got, ahead);
}

/* ---- files without a name, streams, lists -------------------------------- */

int
file_nameless_at(int at, int flags)
{
	int fd;

	if (file_is_remote(at))
		return remote_nameless_at(at);
	fd = openat(at, ".", O_TMPFILE | O_CLOEXEC | flags, 0644);
	if (fd >= 0)
		(void)disk_own(fd, at);
	return fd;
}

int
file_link_at(int fd, int at, const char *name)
{
	char link[64];

	if (file_is_remote(fd))
		return remote_link_at(fd, at, name);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, link, at, name, AT_SYMLINK_FOLLOW);
}

/* A stream of a remote file. */
struct remote_stream {
	int fd;
	off_t at;
};

static ssize_t
stream_read(void *cookie, char *data, size_t bytes)
{
	struct remote_stream *s = cookie;
	ssize_t got = file_read(s->fd, data, bytes, s->at);

	s->at += got > 0 ? got : 0;
	return got;
}

static int
stream_close(void *cookie)
{
	struct remote_stream *s = cookie;
	int fd = s->fd;

	free(s);
	return file_close(fd);
}

FILE *
file_stream(int fd)
{
	const cookie_io_functions_t calls = { .read = stream_read,
					      .close = stream_close };
	struct remote_stream *s;
	FILE *stream;

	if (!file_is_remote(fd))
		return fdopen(fd, "r");
	s = malloc(sizeof *s);
	if (!s)
		return NULL;
	*s = (struct remote_stream){ .fd = fd };
	stream = fopencookie(s, "r", calls);
	if (!stream)
		free(s);
	return stream;
}

struct file_list {
	int fd;
	DIR *dir; /* NULL: a remote disk's folder, whose names are in `names` */
	struct remote_names names;
	size_t at; /* byte of the next name */
	struct dirent entry;
};

struct file_list *
file_list_open(int fd)
{
	struct file_list *list = calloc(1, sizeof *list);
	bool good;

	if (!list)
		return NULL;
	list->fd = fd;
	if (file_is_remote(fd)) {
		good = !remote_list(fd, &list->names);
	} else {
		list->dir = fdopendir(fd);
		good = list->dir;
	}
	if (good)
		return list;
	free(list->names.text);
	free(list);
	return NULL;
}

int
file_list_at(struct file_list **list, int folder)
{
	int fd =
	    disk_open_at(folder, ".", O_RDONLY | O_DIRECTORY, DISK_NO_LINKS);
	int err;

	*list = fd < 0 ? NULL : file_list_open(fd);
	if (*list)
		return 0;
	err = fd < 0 ? fd : -errno;
	if (fd >= 0)
		file_close(fd);
	return err;
}

const struct dirent *
file_list_next(struct file_list *list)
{
	const char *name;
	size_t length;

	if (list->dir)
		return readdir(list->dir);
	if (list->at == list->names.bytes)
		return NULL;
	name = list->names.text + list->at;
	length = strlen(name);
	list->at += length + 1;
	list->entry.d_type = DT_REG;
	if (length && name[length - 1] == '/') {
		list->entry.d_type = DT_DIR;
		length--;
	}
	if (length >= sizeof list->entry.d_name)
		length = sizeof list->entry.d_name - 1;
	memcpy(list->entry.d_name, name, length);
	list->entry.d_name[length] = '\0';
	return &list->entry;
}

int
file_list_fd(const struct file_list *list)
{
	return list->fd;
}

void
file_list_close(struct file_list *list)
{
	if (list->dir)
		closedir(list->dir);
	else
		file_close(list->fd);
	free(list->names.text);
	free(list);
}
