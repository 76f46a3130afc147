/* SPDX-License-Identifier: MIT */
/*
 * The blocks of scatter/gather files are walked from header to header, since
 * their numbers are nowhere else.  A file may have thousands of them, 10 MB
 * apart.  So the kernel is asked to read the next header of a disk ahead, and
 * the disks are walked in turn, so that they seek at the same time.
 *
 * Where there is no block, the file is damaged: a block is then looked for
 * where the next ones would be if all are full, and the bytes in between are
 * left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/recording/foreign_priv.h"
#include "store/disk/file.h"

struct walk {
	struct recording *rec;
	struct foreign *f;
	struct sg_header header;
	uint64_t at, end;
	uint64_t last; /* offset of the last block */
	int64_t changed_ns;
	unsigned disk;
	int fd; /* -1: the walk has ended */
};

static const char *
path_of(const struct walk *w)
{
	return w->rec->disks->disk[w->disk].path;
}

static int
walk_begin(struct walk *w)
{
	uint8_t raw[SG_HEADER];
	struct stat st;

	char path[RECORDING_PATH];

	snprintf(path, sizeof path, "%s/%s", w->rec->part[w->disk].folder,
		 w->rec->name);
	w->fd = disk_open_at(w->rec->disks->disk[w->disk].fd, path, O_RDONLY,
			     DISK_LINKS);
	if (w->fd < 0)
		return w->fd;
	if (fstat(w->fd, &st) < 0 ||
	    read_whole(w->fd, raw, sizeof raw, 0) != sizeof raw ||
	    sg_header_read(&w->header, raw)) {
		close(w->fd);
		w->fd = -1;
		return -EBADMSG;
	}
	posix_fadvise(w->fd, 0, 0, POSIX_FADV_RANDOM);
	w->at = w->last = SG_HEADER;
	w->end = (uint64_t)st.st_size;
	w->changed_ns =
	    (int64_t)st.st_mtim.tv_sec * NS_SECOND + st.st_mtim.tv_nsec;
	return 0;
}

static void
walk_end(struct walk *w)
{
	close(w->fd);
	w->fd = -1;
}

static int
read_block(const struct walk *w, uint64_t at, struct sg_block *b)
{
	uint8_t raw[SG_BLOCK] = { 0 };
	ssize_t got;

	if (at >= w->end)
		return -ENODATA;
	got = read_whole(w->fd, raw, sizeof raw, at);
	if (got < 0)
		return (int)got;
	return sg_block_read(&w->header, raw, w->end - at, b);
}

/* True if there is a block at this offset, and behind it another one or the
 * end. */
static bool
is_block(const struct walk *w, uint64_t at)
{
	struct sg_block b, next;

	if (at <= w->at || read_block(w, at, &b))
		return false;
	return b.cut ||
	       read_block(w, at + b.header + b.bytes, &next) != -EBADMSG;
}

/* Offset of the next block: whole blocks away from here, or from the last
 * block, whose length may have been wrong.  0 if none is found. */
static uint64_t
find_block(const struct walk *w)
{
	enum { TRIES = 64 };
	uint64_t full = w->header.block_bytes;

	for (uint64_t i = 1; i <= TRIES; i++) {
		if (is_block(w, w->last + i * full))
			return w->last + i * full;
		if (is_block(w, w->at + i * full))
			return w->at + i * full;
	}
	return 0;
}

static bool
resume(struct walk *w)
{
	uint64_t at = find_block(w);

	foreign_note(w->f,
		     "%s on %s is damaged: no block is at byte %" PRIu64
		     ", and %" PRIu64 " bytes from there on are left out",
		     w->rec->name, path_of(w), w->at,
		     (at ? at : w->end) - w->at);
	w->at = at;
	return at;
}

static int
take_block(struct walk *w, const struct sg_block *b)
{
	struct foreign_piece p = {
		.number = b->number,
		.file = b->number,
		.disk = w->disk,
		.offset = w->at + b->header,
		.stored = b->bytes,
		.changed_ns = w->changed_ns,
	};

	if (b->cut)
		foreign_note(w->f,
			     "%s on %s is cut: %" PRIu32 " bytes of block "
			     "%" PRIu32 " are missing",
			     w->rec->name, path_of(w), b->cut, b->number);
	w->last = w->at;
	w->at += (uint64_t)b->header + b->bytes;
	return foreign_add(w->f, &p);
}

/* True if the file has very many very short blocks.  No program makes those,
 * and they would fill the memory. */
static bool
is_flood(const struct walk *w)
{
	enum { MANY = 1 << 16, SHORT = 1 << 16 };

	if (w->f->pieces < MANY || w->header.block_bytes >= SHORT)
		return false;
	foreign_note(w->f,
		     "%s on %s has blocks of %" PRIu32 " bytes, too short for "
		     "so many: what is behind byte %" PRIu64 " is left out",
		     w->rec->name, path_of(w), w->header.block_bytes, w->at);
	return true;
}

static int
walk_step(struct walk *w)
{
	struct sg_block b;
	int err = is_flood(w) ? -ENODATA : read_block(w, w->at, &b);

	if (!err) {
		posix_fadvise(w->fd, (off_t)(w->at + w->header.block_bytes),
			      SG_BLOCK, POSIX_FADV_WILLNEED);
		return take_block(w, &b);
	}
	if (err == -ENODATA || err == -ENOMEM || !resume(w))
		walk_end(w);
	return err == -ENOMEM ? err : 0;
}

static int
walk_all(struct walk *walk, unsigned n)
{
	bool more = true;
	int err = 0;

	while (more && !err) {
		more = false;
		for (unsigned i = 0; i < n && !err; i++) {
			if (walk[i].fd < 0)
				continue;
			err = walk_step(&walk[i]);
			more = true;
		}
	}
	return err;
}

/* Takes the sizes from the first good file header.  The files should all agree;
 * a difference is noted. */
static void
take_header(struct walk *w)
{
	struct foreign *f = w->f;
	uint64_t full = w->header.block_bytes;

	full -= w->header.version == 1 ? SG_BLOCK_1 : SG_BLOCK;
	if (!f->full_bytes) {
		f->full_bytes = full;
		f->form.packet = w->header.packet_bytes;
	} else if (f->form.packet != w->header.packet_bytes) {
		foreign_note(f,
			     "%s on %s says that packets are of %" PRIu32
			     " bytes, another disk of %" PRIu32,
			     w->rec->name, path_of(w), w->header.packet_bytes,
			     f->form.packet);
	}
}

int
foreign_sg(struct recording *rec, struct foreign *f)
{
	struct walk *walk = calloc(rec->disks->n, sizeof *walk);
	int err;

	if (!walk)
		return -ENOMEM;
	for (unsigned i = 0; i < rec->disks->n; i++) {
		walk[i] =
		    (struct walk){ .rec = rec, .f = f, .disk = i, .fd = -1 };
		if (rec->part[i].dir >= 0 && !walk_begin(&walk[i]))
			take_header(&walk[i]);
	}
	err = walk_all(walk, rec->disks->n);
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (walk[i].fd >= 0)
			walk_end(&walk[i]);
	}
	free(walk);
	return err;
}
