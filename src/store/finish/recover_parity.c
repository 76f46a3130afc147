/* SPDX-License-Identifier: MIT */
/*
 * Parity blocks that the list of their disk does not name: a crash came between
 * them, or the list is lost.  Each has the whole entry as its tail, so a good one
 * is listed again.  One without a good end, or whose data are not as it says, was
 * being written: it is worth nothing, and is removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "store/finish/recover_priv.h"

static bool
is_listed(const struct recording *rec, const struct parity_record *p,
	  unsigned disk)
{
	for (size_t i = 0; i < rec->parity.blocks; i++) {
		const struct parity_block *b = &rec->parity.block[i];

		if (b->disk == disk && b->record.group == p->group &&
		    b->record.row == p->row)
			return true;
	}
	return false;
}

static bool
is_good(int fd, const struct parity_record *p)
{
	enum { PIECE = 1 << 20 };
	uint8_t *piece = malloc(PIECE);
	uint32_t crc = 0;
	uint64_t at = 0;
	ssize_t got = 1;

	while (piece && at < p->bytes && got > 0) {
		uint64_t left = p->bytes - at;

		got = read_whole(fd, piece, left < PIECE ? left : PIECE, at);
		crc = got > 0 ? crc32c(crc, piece, (size_t)got) : 0;
		at += got > 0 ? (uint64_t)got : 0;
	}
	free(piece);
	return at == p->bytes && crc == p->crc;
}

static int
list_append(int dir, const char *file, const uint8_t *tail, size_t bytes)
{
	struct append_file to;
	int err;

	to.fd =
	    disk_open_at(dir, file, O_CREAT | O_RDWR | O_APPEND, DISK_NO_LINKS);
	if (to.fd < 0)
		return to.fd;
	to.bytes = lseek(to.fd, 0, SEEK_END);
	to.bytes -= to.bytes % INDEX_BYTES; /* a torn end */
	err = ftruncate(to.fd, to.bytes) < 0 ? -errno : 0;
	if (!err)
		err = append_bytes(&to, tail, bytes);
	if (!err && fdatasync(to.fd) < 0)
		err = -errno;
	close(to.fd);
	return err;
}

/* Looks at one parity block.  0 or -errno. */
static int
block_look(struct recovery *r, unsigned disk, const char *file)
{
	const struct recording *rec = r->rec;
	int dir = rec->part[disk].dir, fd, err = 0;
	const char *path = r->disks->disk[disk].path;
	char list[LAYOUT_FILE];
	struct parity_record p;
	uint8_t *tail = NULL;
	bool good;

	fd = disk_open_at(dir, file, O_RDONLY, DISK_NO_LINKS);
	if (fd < 0)
		return 0;
	good = !parity_tail_read(fd, &p, &tail);
	if (good && is_listed(rec, &p, disk))
		goto out;
	good = good && is_good(fd, &p);
	r->report->parity++;
	if (good && !r->dry)
		err = list_append(dir, layout_parity_list(list, rec->name),
				  tail, parity_tail_bytes(p.members));
	else if (!r->dry && unlinkat(dir, file, 0) < 0)
		err = -errno;
	if (!err)
		recover_say(r, "%s on %s is %s", file, path,
			    good ? "listed again"
				 : "no whole parity block, and is removed");
out:
	free(tail);
	close(fd);
	return err;
}

static int
part_look(struct recovery *r, unsigned disk)
{
	int fd = openat(r->rec->part[disk].dir, ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char list[LAYOUT_FILE];
	struct dirent *entry;
	uint64_t group;
	int err = 0;

	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	layout_parity_list(list, r->rec->name);
	while (!err && (entry = readdir(dir))) {
		if (layout_chunk_number(entry->d_name, list, &group))
			err = block_look(r, disk, entry->d_name);
	}
	closedir(dir);
	return err;
}

int
recover_parity(struct recovery *r)
{
	int err = 0;

	if (!r->rec->facts.parity || r->args->look)
		return 0;
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		if (r->rec->part[i].dir >= 0)
			err = part_look(r, i);
	}
	if (err || !r->report->parity || r->dry)
		return err;
	/* blocks of disks that are away may be known by now */
	return recording_refresh(r->rec);
}
