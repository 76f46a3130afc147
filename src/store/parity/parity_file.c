/* SPDX-License-Identifier: MIT */
/*
 * A parity block that no list names has the whole entry as its tail; and a list
 * has the tails of all its blocks.  So each is mended by the other.  Only a file
 * that neither explains is set aside, and none is ever removed.
 */
#include "store/parity/parity_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "store/disk/disk.h"
#include "store/disk/file.h"

/* ---- the list ------------------------------------------------------------ */

int
parity_list_open(int dir, const char *name, struct append_file *list)
{
	char file[LAYOUT_FILE];
	int err;

	list->fd = disk_open_at(dir, layout_parity_list(file, name),
				O_CREAT | O_RDWR | O_APPEND, DISK_NO_LINKS);
	if (list->fd < 0)
		return list->fd;
	list->bytes = file_seek(list->fd, 0, SEEK_END);
	if (list->bytes >= 0)
		list->bytes -= list->bytes % INDEX_BYTES;
	if (list->bytes >= 0 && !file_cut(list->fd, list->bytes))
		return 0;
	err = -errno;
	file_close(list->fd);
	list->fd = -1;
	return err;
}

int
parity_list_append(int dir, const char *name, const void *tails, size_t bytes)
{
	struct append_file list;
	int err = parity_list_open(dir, name, &list);

	if (err)
		return err;
	err = append_bytes(&list, tails, bytes);
	if (!err && file_sync_data(list.fd) < 0)
		err = -errno;
	file_close(list.fd);
	if (!err && file_sync(dir) < 0) /* the list may be new */
		err = -errno;
	return err;
}

int
parity_list_write(int dir, const char *name, const struct parity_table *t,
		  unsigned disk, const bool *without)
{
	char file[LAYOUT_FILE], new[LAYOUT_FILE];
	uint64_t at = 0;
	int fd, err = 0;

	fd = disk_open_at(dir, layout_parity_new(new, name),
			  O_CREAT | O_TRUNC | O_WRONLY, DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	for (size_t i = 0; i < t->blocks && !err; i++) {
		const struct parity_block *p = &t->block[i];
		size_t bytes = parity_tail_bytes(&p->record);
		uint8_t *tail;

		if (p->disk != disk || (without && without[i]))
			continue;
		tail = parity_tail_make(&p->record, &t->member[p->first]);
		err = tail ? write_whole(fd, tail, bytes, at) : -ENOMEM;
		at += bytes;
		free(tail);
	}
	if (!err && file_sync(fd) < 0)
		err = -errno;
	file_close(fd);
	if (!err &&
	    file_rename_at(dir, new, dir, layout_parity_list(file, name)) < 0)
		err = -errno;
	if (err)
		file_remove_at(dir, new, 0);
	else if (file_sync(dir) < 0)
		err = -errno;
	return err;
}

/* ---- parity blocks ------------------------------------------------------- */

uint8_t *
parity_tail_make(const struct parity_record *p,
		 const struct index_record *member)
{
	uint8_t *tail = malloc(parity_tail_bytes(p));

	if (tail)
		parity_pack(tail, p, member);
	return tail;
}

/* The tail ends with the file, and its first record says how many follow: so its
 * beginning is found by trying every number of records. */
int
parity_tail_read(int fd, struct parity_record *p, uint8_t **tail)
{
	size_t most = PARITY_TAIL_MOST, have;
	struct stat st;
	uint8_t *end;
	ssize_t got;

	if (file_stat(fd, &st) < 0)
		return -errno;
	have = (size_t)st.st_size < most ? (size_t)st.st_size : most;
	end = malloc(have + 1);
	if (!end)
		return -ENOMEM;
	got = read_whole(fd, end, have, (uint64_t)st.st_size - have);
	for (size_t bytes = parity_tail_of(1);
	     got == (ssize_t)have && bytes <= have; bytes += INDEX_BYTES) {
		if (parity_unpack(p, end + have - bytes) ||
		    parity_tail_bytes(p) != bytes ||
		    p->bytes + bytes != (uint64_t)st.st_size)
			continue;
		memmove(end, end + have - bytes, bytes);
		*tail = end;
		return 0;
	}
	free(end);
	return got < 0 ? (int)got : -EBADMSG;
}

int
parity_data_check(int fd, const struct parity_record *p,
		  void (*read)(void *arg, size_t bytes), void *arg)
{
	enum { PIECE = 1 << 20 };
	uint8_t *piece = malloc(PIECE);
	uint32_t crc = 0;
	uint64_t at = 0;
	ssize_t got = 1;

	if (!piece)
		return -ENOMEM;
	while (at < p->bytes && got > 0) {
		uint64_t left = p->bytes - at;

		got = read_whole(fd, piece, left < PIECE ? (size_t)left : PIECE,
				 at);
		if (got <= 0)
			break;
		crc = crc32c(crc, piece, (size_t)got);
		at += (uint64_t)got;
		if (read)
			read(arg, (size_t)got);
	}
	free(piece);
	if (got < 0)
		return (int)got;
	if (at < p->bytes)
		return -ENODATA;
	return crc == p->crc ? 0 : -EBADMSG;
}

int
parity_file_write(int dir, const char *name, const struct parity_record *p,
		  const struct index_record *member, const uint8_t *data)
{
	size_t tail_bytes = parity_tail_bytes(p);
	uint8_t *tail = parity_tail_make(p, member);
	char file[LAYOUT_FILE], new[LAYOUT_FILE];
	int fd, err = 0;

	if (!tail)
		return -ENOMEM;
	fd = disk_open_at(dir, layout_parity_new(new, name),
			  O_CREAT | O_TRUNC | O_WRONLY, DISK_NO_LINKS);
	if (fd < 0) {
		free(tail);
		return fd;
	}
	err = write_whole(fd, data, p->bytes, 0);
	if (!err)
		err = write_whole(fd, tail, tail_bytes, p->bytes);
	if (!err && file_sync(fd) < 0)
		err = -errno;
	file_close(fd);
	layout_parity(file, name, p->group, p->generation);
	if (!err && file_rename_at(dir, new, dir, file) < 0)
		err = -errno;
	if (err)
		file_remove_at(dir, new, 0);
	else if (file_sync(dir) < 0)
		err = -errno;
	free(tail);
	return err;
}

/* ---- what the list and the blocks say ------------------------------------ */

static void
say(const struct parity_look *l, const char *file, const char *what)
{
	if (l->say)
		l->say(l->arg, l->disk, file, what);
}

/* Writes the tail of a block again, as the list has it.  A file that is too short
 * for the data stays as it is: scrub mends data (store/repair). */
static int
tail_mend(struct parity_look *l, int dir, const char *file,
	  const struct parity_block *b)
{
	const struct parity_record *p = &b->record;
	size_t bytes = parity_tail_bytes(p);
	uint8_t *want = parity_tail_make(p, &l->table->member[b->first]);
	uint8_t *is = malloc(bytes);
	int fd = -1, err = want && is ? 0 : -ENOMEM;
	struct stat st;

	if (!err)
		fd = disk_open_at(dir, file, l->dry ? O_RDONLY : O_RDWR,
				  DISK_NO_LINKS);
	if (fd < 0 || file_stat(fd, &st) < 0 || (uint64_t)st.st_size < p->bytes)
		goto out;
	if ((uint64_t)st.st_size == p->bytes + bytes &&
	    read_whole(fd, is, bytes, p->bytes) == (ssize_t)bytes &&
	    !memcmp(is, want, bytes))
		goto out;
	if (!l->dry)
		err = write_whole(fd, want, bytes, p->bytes);
	if (!err && !l->dry &&
	    (file_cut(fd, (off_t)(p->bytes + bytes)) < 0 ||
	     file_sync_data(fd) < 0))
		err = -errno;
	l->tails += !err;
	l->failed += err != 0;
	say(l, file,
	    err	     ? "has a bad tail, which cannot be written"
	    : l->dry ? "has a bad tail, which would be written again"
		     : "had a bad tail, which is written again");
	err = 0;
out:
	if (fd >= 0)
		file_close(fd);
	free(is);
	free(want);
	return err;
}

static int
set_aside(struct parity_look *l, int dir, const char *file, const char *would,
	  const char *is)
{
	char aside[LAYOUT_FILE];
	unsigned n = 0;

	do {
		if (n == LAYOUT_ASIDES)
			return -EEXIST;
		layout_parity_aside(aside, file, n++);
	} while (!file_access_at(dir, aside, F_OK, AT_SYMLINK_NOFOLLOW));
	if (!l->dry &&
	    (file_rename_at(dir, file, dir, aside) < 0 || file_sync(dir) < 0))
		return -errno;
	l->aside++;
	say(l, file, l->dry ? would : is);
	return 0;
}

/* Returns how many bytes at the beginning of `raw` are a tail by its first record;
 * 0: none. */
static size_t
tail_at(const uint8_t *raw)
{
	struct parity_record p;

	return parity_unpack(&p, raw) ? 0 : parity_tail_bytes(&p);
}

/* Returns whether a list is longer than any, or has a stretch without a tail that
 * is longer than one that was torn, which readers pass over: 1, 0 or -errno. */
static int
list_is_implausible(int fd)
{
	enum { PIECE = 1 << 20 };
	uint64_t at = 0, good = 0, from = 0; /* `piece` is from there on */
	uint8_t *piece;
	struct stat st;
	ssize_t got = 0;

	if (file_stat(fd, &st) < 0)
		return -errno;
	if (st.st_size > INDEX_MOST)
		return 1;
	piece = malloc(PIECE);
	if (!piece)
		return -ENOMEM;
	while (at <= good + PARITY_TAIL_MOST) {
		size_t bytes;

		if (at + INDEX_BYTES > from + (uint64_t)got) {
			from = at;
			got = read_whole(fd, piece, PIECE, from);
			if (got < INDEX_BYTES)
				break;
		}
		bytes = tail_at(piece + (at - from));
		at += bytes ? bytes : INDEX_BYTES;
		good = bytes ? at : good;
	}
	free(piece);
	return got < 0 ? (int)got : at > good + PARITY_TAIL_MOST;
}

/* Sets a list aside that is implausible, and writes one of what it had that is
 * good.  Blocks that this does not name are listed as those of a list that is
 * lost. */
static int
list_look(struct parity_look *l, int dir, const char *name)
{
	char file[LAYOUT_FILE];
	bool any = false;
	int err, fd;

	fd = disk_open_at(dir, layout_parity_list(file, name), O_RDONLY,
			  DISK_NO_LINKS);
	if (fd < 0)
		return 0;
	err = list_is_implausible(fd);
	file_close(fd);
	if (err <= 0)
		return err == -ENOMEM ? err : 0;
	err = set_aside(l, dir, file,
			"is no list of parity blocks, and would be set aside",
			"is no list of parity blocks, and is set aside");
	if (err) {
		l->failed++;
		say(l, file,
		    "is no list of parity blocks, and cannot be set aside");
		return err;
	}
	l->lists++;
	for (size_t i = 0; i < l->table->blocks; i++)
		any |= l->table->block[i].disk == l->disk;
	return any && !l->dry
		   ? parity_list_write(dir, name, l->table, l->disk, NULL)
		   : 0;
}

/* Looks at a block that no list names. */
static int
unlisted_look(struct parity_look *l, int dir, const char *file,
	      const char *name)
{
	struct parity_record p = { 0 };
	uint8_t *tail = NULL;
	char named[LAYOUT_FILE];
	int err, fd = disk_open_at(dir, file, O_RDONLY, DISK_NO_LINKS);

	err = fd < 0 ? fd : parity_tail_read(fd, &p, &tail);
	if (!err &&
	    strcmp(file, layout_parity(named, name, p.group, p.generation)))
		err = -EBADMSG;
	if (!err)
		err = parity_data_check(fd, &p, NULL, NULL);
	if (fd >= 0)
		file_close(fd);
	if (!err && !l->dry)
		err =
		    parity_list_append(dir, name, tail, parity_tail_bytes(&p));
	if (err == -EBADMSG || err == -ENODATA) {
		err = set_aside(
		    l, dir, file,
		    "is no whole parity block, and would be set aside",
		    "is no whole parity block, and is set aside");
	} else if (!err) {
		l->listed++;
		say(l, file,
		    l->dry ? "would be listed again" : "is listed again");
	} else if (err != -ENOMEM && err != -ENOENT) {
		l->failed++;
		say(l, file,
		    "is in no list, cannot be read or listed, and stays");
		err = 0;
	}
	free(tail);
	return err == -ENOENT ? 0 : err;
}

int
parity_files_look(struct parity_look *l, int dir, const char *name)
{
	const struct parity_block *b;
	uint64_t group, generation;
	const struct dirent *entry;
	struct file_list *list;
	int err = file_list_at(&list, dir);

	if (err)
		return err;
	err = list_look(l, dir, name);
	while (!err && (entry = file_list_next(list))) {
		if (!layout_parity_number(entry->d_name, name, &group,
					  &generation))
			continue;
		b = parity_on(l->table, group, generation, l->disk);
		err = b ? tail_mend(l, dir, entry->d_name, b)
			: unlisted_look(l, dir, entry->d_name, name);
	}
	file_list_close(list);
	return err;
}
