/* SPDX-License-Identifier: MIT */
/*
 * Finds the bytes of a block of a foreign recording.  Pieces are sorted by the
 * number of the block that they became.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/recording/foreign_priv.h"

const struct foreign_piece *
foreign_piece_find(const struct foreign *f, uint64_t number)
{
	size_t low = 0, high = f->pieces;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->piece[middle].number == number)
			return &f->piece[middle];
		if (f->piece[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Path of a piece's file, relative to its disk. */
static const char *
path_of(const struct recording *rec, const struct foreign *f,
	const struct foreign_piece *p, char path[RECORDING_PATH])
{
	const char *folder = rec->name, *file = rec->name;
	char chunk[LAYOUT_FILE];

	if (f->kind == FOREIGN_SG)
		folder = rec->part[p->disk].folder;
	if (f->kind == FOREIGN_CHUNKS)
		file = layout_chunk(chunk, rec->name, p->file);
	snprintf(path, RECORDING_PATH, "%s/%s", folder, file);
	return path;
}

int
foreign_piece_open(const struct recording *rec, const struct foreign *f,
		   const struct foreign_piece *p)
{
	char path[RECORDING_PATH];

	return disk_open_at(rec->disks->disk[p->disk].fd,
			    path_of(rec, f, p, path), O_RDONLY, DISK_LINKS);
}

int
foreign_chunk(const struct recording *rec, uint64_t number, uint64_t *offset)
{
	const struct foreign_piece *p =
	    foreign_piece_find(rec->foreign, number);

	if (!p)
		return -ENOENT;
	*offset = p->offset;
	return foreign_piece_open(rec, rec->foreign, p);
}

int
foreign_where(const struct recording *rec, uint64_t number, char *file,
	      uint64_t *offset)
{
	const struct foreign_piece *p =
	    foreign_piece_find(rec->foreign, number);

	if (!p)
		return -ENOENT;
	*offset = p->offset;
	path_of(rec, rec->foreign, p, file);
	return 0;
}

int64_t
foreign_chunk_bytes(const struct recording *rec, uint64_t number)
{
	const struct foreign *f = rec->foreign;
	const struct foreign_piece *p = foreign_piece_find(f, number);
	char path[RECORDING_PATH];
	uint64_t there;
	struct stat st;

	if (!p)
		return -ENOENT;
	if (fstatat(rec->disks->disk[p->disk].fd, path_of(rec, f, p, path), &st,
		    0) < 0)
		return -errno;
	there = (uint64_t)st.st_size;
	there = there > p->offset ? there - p->offset : 0;
	if (there >= p->stored)
		return (int64_t)p->bytes;
	there = there / f->form.packet * foreign_payload(f);
	return (int64_t)(there < p->bytes ? there : p->bytes);
}

/* True if the blocks of a disk's file lie back to back under their own numbers,
 * all of them full but the last, and the file is in the disk's own folder. */
static bool
is_regular(const struct recording *rec, const struct foreign *f, unsigned disk)
{
	uint64_t step = f->full_bytes + SG_BLOCK, at = SG_HEADER + SG_BLOCK;
	bool last = false;
	char dir[LAYOUT_FILE];
	struct stat here, there;

	for (size_t i = 0; i < f->pieces; i++) {
		const struct foreign_piece *p = &f->piece[i];

		if (p->disk != disk)
			continue;
		if (last || p->offset != at || p->number != p->file)
			return false;
		last = p->stored != f->full_bytes;
		at += step;
	}
	/* Our folder goes beside the file, in the disk's own folder. */
	return !fstat(rec->part[disk].dir, &here) &&
	       !fstatat(rec->disks->disk[disk].fd, ".", &there, 0) &&
	       here.st_ino == there.st_ino && here.st_dev == there.st_dev &&
	       layout_dir(dir, rec->name, LAYOUT_MARK6);
}

/* True if a file of the recording is a symbolic link.  An index of ours cannot
 * describe it: our own data files are opened without following links. */
static bool
has_links(const struct recording *rec, const struct foreign *f)
{
	char path[RECORDING_PATH];
	struct stat st;

	for (size_t i = 0; i < f->pieces; i++) {
		const struct foreign_piece *p = &f->piece[i];

		if (!fstatat(rec->disks->disk[p->disk].fd,
			     path_of(rec, f, p, path), &st,
			     AT_SYMLINK_NOFOLLOW) &&
		    S_ISLNK(st.st_mode))
			return true;
	}
	return false;
}

bool
foreign_layout(const struct recording *rec, enum layout *layout)
{
	const struct foreign *f = rec->foreign;
	struct layout_map map;

	if (!layout_folder_good(rec->name) || f->kind == FOREIGN_SINGLE ||
	    has_links(rec, f))
		return false;
	*layout = f->kind == FOREIGN_SG ? LAYOUT_MARK6 : LAYOUT_VBS;
	if (*layout == LAYOUT_VBS)
		return true;
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].dir >= 0 && !is_regular(rec, f, i))
			return false;
	}
	return !f->twins && !f->form.prefix &&
	       f->full_bytes % (f->form.packet * f->parts) == 0 &&
	       !layout_map_make(&map, rec->name, rec->head);
}
