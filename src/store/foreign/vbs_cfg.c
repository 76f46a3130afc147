/* SPDX-License-Identifier: MIT */
/*
 * A .cfg is text in libconfig's syntax, of which three numbers are used.  They
 * are looked for line by line.  libconfig itself was rejected: it would open
 * other files that the text names (@include), and whoever may write a recording
 * must not be able to make us read those.
 *
 *   packet_size = 5016L;
 *
 * We write a .cfg if the configuration asks for it.  vbs_fs expects 64-bit
 * numbers, which end in L, and takes the first chunk that it finds for the
 * length of all but the last.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/disk/disk.h"
#include "store/foreign/vbs_cfg.h"
#include "store/disk/layout.h"
#include "store/disk/file.h"

#define BLANK " \t\r"

/* A piece of text that does not end with a 0. */
struct cfg_line {
	const char *at, *end;
};

static void
skip(struct cfg_line *l, const char *letters)
{
	while (l->at < l->end && *l->at && strchr(letters, *l->at))
		l->at++;
}

static bool
take(struct cfg_line *l, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(l->end - l->at) < length ||
	    memcmp(l->at, word, length) != 0)
		return false;
	l->at += length;
	return true;
}

static bool
take_number(struct cfg_line *l, uint64_t *number)
{
	enum { DIGITS = 18 }; /* cannot overflow 64 bits */
	const char *from = l->at;

	*number = 0;
	while (l->at < l->end && *l->at >= '0' && *l->at <= '9')
		*number = *number * 10 + (uint64_t)(*l->at++ - '0');
	return l->at > from && l->at - from <= DIGITS;
}

/* Reads "key = number" or "key : number"; the rest of the line is ignored. */
static void
read_line(struct cfg_line l, const char *key, uint64_t *number)
{
	uint64_t value;

	skip(&l, BLANK);
	if (!take(&l, key))
		return;
	skip(&l, BLANK);
	if (!take(&l, "=") && !take(&l, ":"))
		return;
	skip(&l, BLANK);
	if (take_number(&l, &value))
		*number = value;
}

bool
vbs_cfg_read(struct vbs_cfg *cfg, const char *text, size_t bytes)
{
	enum { PACKET_MOST = 1 << 20 };
	struct cfg_line l = { text, text }, all = { text, text + bytes };
	uint64_t packet = 0;

	*cfg = (struct vbs_cfg){ .there = false };
	while (l.at < all.end) {
		l.end = memchr(l.at, '\n', (size_t)(all.end - l.at));
		if (!l.end)
			l.end = all.end;
		read_line(l, "packet_size", &packet);
		read_line(l, "cumul", &cfg->files);
		read_line(l, "total_packets", &cfg->packets);
		l.at = l.end < all.end ? l.end + 1 : all.end;
	}
	if (packet <= PACKET_MOST)
		cfg->packet = (uint32_t)packet;
	cfg->there = cfg->packet || cfg->files || cfg->packets;
	return cfg->there;
}

int
vbs_cfg_write(int dir, const char *name, const struct vbs_cfg *cfg)
{
	char file[LAYOUT_FILE], text[200];
	int fd, err;

	snprintf(text, sizeof text,
		 "packet_size = %" PRIu32 "L;\n"
		 "cumul = %" PRIu64 "L;\n"
		 "total_packets = %" PRIu64 "L;\n"
		 "buf_division = 8;\n",
		 cfg->packet, cfg->files, cfg->packets);
	fd = disk_open_at(dir, layout_cfg(file, name),
			  O_CREAT | O_WRONLY | O_TRUNC, DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	err = write_whole(fd, text, strlen(text), 0);
	if (!err && file_sync_data(fd) < 0)
		err = -errno;
	file_close(fd);
	return err;
}
