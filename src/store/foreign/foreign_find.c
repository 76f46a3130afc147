/* SPDX-License-Identifier: MIT */
/*
 * The files of a recording are found by name: a folder with its chunks, a
 * folder with a file of the folder's name, or a file that begins with Mark6's
 * first bytes.  Folders and chunks may be links to others on the same disk, as
 * FlexBuff's users make them.  A link that leaves the disk is not followed:
 * whoever made it may not be allowed to read its target, but we may.  Anything
 * but regular files is ignored, and opening a pipe does not block.
 *
 * The blocks of scatter/gather files are walked from header to header, since
 * their numbers are nowhere else.  A file may have thousands of them, 10 MB
 * apart.  So the kernel is asked to read the next header of a disk ahead, and
 * the disks are walked in turn, so that they seek at the same time.  Where
 * there is no block, the file is damaged: a block is then looked for where the
 * next ones would be if all are full, and the bytes in between are left out.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/disk/file.h"
#include "store/foreign/foreign_piece.h"

enum { NAME_LONGEST = 128 };

/* Folders of a disk that may have scatter/gather files. */
static const char *const sg_folder[] = { ".", FOREIGN_DATA };

/* Extensions that may follow a scan's name. */
static const char *const sg_extension[] = { "", ".vdif", ".m5b", ".mk6" };

bool
foreign_name_good(const char *name)
{
	size_t length = strlen(name);

	if (!length || length > NAME_LONGEST || *name == '.')
		return false;
	for (; *name; name++) {
		if ((unsigned char)*name < ' ' || *name == '/' || *name == 127)
			return false;
	}
	return true;
}

/* Stats the target of a link on a disk.  0 or -errno. */
static int
look_behind(int disk, const char *folder, const char *name, struct stat *st)
{
	char path[FOREIGN_PATH];
	int fd, err = 0;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = disk_open_at(disk, path, O_RDONLY, DISK_LINKS);
	if (fd < 0)
		return fd;
	if (file_stat(fd, st) < 0)
		err = -errno;
	file_close(fd);
	return err;
}

/* Sets size and modification time of a file in a recording's folder.  False if
 * it is no regular file. */
static bool
look_at(struct foreign *f, const char *file, struct foreign_piece *p)
{
	const struct foreign_part *part = &f->part[p->disk];
	const struct disk *disk = &f->disks->disk[p->disk];
	struct stat st;
	int err = 0;

	if (file_stat_at(part->dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISLNK(st.st_mode))
		err = look_behind(disk->fd, f->name, file, &st);
	if (err == -EXDEV)
		foreign_note(f, "%s/%s/%s is left out: %s", disk->path, f->name,
			     file, disk_why(err));
	if (err || !S_ISREG(st.st_mode))
		return false;
	p->stored = (uint64_t)st.st_size;
	p->changed_ns =
	    (int64_t)st.st_mtim.tv_sec * NS_SECOND + st.st_mtim.tv_nsec;
	return true;
}

static int
open_folder(int disk, const char *name)
{
	return disk_open_at(disk, name, O_RDONLY | O_DIRECTORY, DISK_LINKS);
}

static struct file_list *
list_folder(int disk, const char *name)
{
	int fd = open_folder(disk, name);
	struct file_list *dir = fd < 0 ? NULL : file_list_open(fd);

	if (fd >= 0 && !dir)
		file_close(fd);
	return dir;
}

/* ---- chunks ------------------------------------------------------------ */

static bool
cfg_same(const struct vbs_cfg *a, const struct vbs_cfg *b)
{
	return a->packet == b->packet && a->files == b->files &&
	       a->packets == b->packets;
}

static void
read_cfg(struct foreign *f, unsigned disk)
{
	enum { TEXT = 1 << 16 };
	char file[FOREIGN_PATH + 4], *text = malloc(TEXT);
	struct vbs_cfg cfg;
	ssize_t got = -1;
	int fd;

	snprintf(file, sizeof file, "%s/%s.cfg", f->name, f->name);
	fd = disk_open_at(f->disks->disk[disk].fd, file, O_RDONLY, DISK_LINKS);
	if (text && fd >= 0)
		got = read_whole(fd, text, TEXT, 0);
	if (got > 0 && vbs_cfg_read(&cfg, text, (size_t)got)) {
		if (f->cfg.there && !cfg_same(&cfg, &f->cfg))
			foreign_note(f,
				     "%s.cfg differs from disk to disk; the "
				     "first one is used",
				     f->name);
		else
			f->cfg = cfg;
	}
	if (fd >= 0)
		file_close(fd);
	free(text);
}

/* State of listing the recording's folders. */
struct folder_look {
	struct foreign *f;
	unsigned disk;
	size_t chunks, singles; /* files found so far, on all disks */
};

static int
take_file(struct folder_look *l, const char *file)
{
	struct foreign_piece p = { .disk = l->disk };

	if (layout_chunk_number(file, l->f->name, &p.file)) {
		if (!look_at(l->f, file, &p))
			return 0;
		p.number = p.file;
		l->chunks++;
		return foreign_add(l->f, &p);
	}
	if (!strcmp(file, l->f->name))
		l->singles += look_at(l->f, file, &p);
	return 0;
}

static int
take_folder(struct folder_look *l)
{
	const struct dirent *entry;
	int err = 0;
	struct file_list *dir;

	dir = list_folder(l->f->part[l->disk].dir, ".");
	if (!dir)
		return 0;
	while (!err && (entry = file_list_next(dir)))
		err = take_file(l, entry->d_name);
	file_list_close(dir);
	if (!err)
		read_cfg(l->f, l->disk);
	return err;
}

/* Adds one piece per disk: its whole file, which foreign_single() cuts
 * later. */
static int
add_singles(struct foreign *f)
{
	int err = 0;

	for (unsigned i = 0; i < f->disks->n && !err; i++) {
		struct foreign_piece p = { .number = i, .disk = i };

		if (f->part[i].dir >= 0 && look_at(f, f->name, &p))
			err = foreign_add(f, &p);
	}
	return err;
}

static int
find_folders(struct foreign *f)
{
	struct folder_look l = { .f = f };
	int err = 0, refused = -ENOENT;

	for (l.disk = 0; l.disk < f->disks->n && !err; l.disk++) {
		int disk = f->disks->disk[l.disk].fd;
		struct foreign_part *part = &f->part[l.disk];

		if (disk >= 0)
			part->dir = open_folder(disk, f->name);
		if (part->dir >= 0)
			err = take_folder(&l);
		if (part->dir == -EXDEV || part->dir == -ELOOP) {
			refused = part->dir;
			foreign_note(f, "%s/%s is left out: %s",
				     f->disks->disk[l.disk].path, f->name,
				     disk_why(refused));
		}
	}
	if (err || (!l.chunks && !l.singles))
		return err ? err : refused;
	f->kind = l.chunks ? FOREIGN_CHUNKS : FOREIGN_SINGLE;
	f->made_by = f->cfg.there || !l.chunks ? "VLBI-streamer" : "jive5ab";
	return l.chunks ? 0 : add_singles(f);
}

/* ---- blocks of scatter/gather files ------------------------------------ */

struct sg_walk {
	struct foreign *f;
	struct sg_header header;
	uint64_t at, end;
	uint64_t last; /* offset of the last block */
	int64_t changed_ns;
	unsigned disk;
	int fd; /* -1: the walk has ended */
};

static const char *
disk_path(const struct sg_walk *w)
{
	return w->f->disks->disk[w->disk].path;
}

static int
walk_begin(struct sg_walk *w)
{
	uint8_t raw[SG_HEADER];
	struct stat st;

	char path[FOREIGN_PATH];

	snprintf(path, sizeof path, "%s/%s", w->f->part[w->disk].folder,
		 w->f->name);
	w->fd = disk_open_at(w->f->disks->disk[w->disk].fd, path, O_RDONLY,
			     DISK_LINKS);
	if (w->fd < 0)
		return w->fd;
	if (file_stat(w->fd, &st) < 0 ||
	    read_whole(w->fd, raw, sizeof raw, 0) != sizeof raw ||
	    sg_header_read(&w->header, raw)) {
		file_close(w->fd);
		w->fd = -1;
		return -EBADMSG;
	}
	file_advise(w->fd, 0, 0, POSIX_FADV_RANDOM);
	w->at = w->last = SG_HEADER;
	w->end = (uint64_t)st.st_size;
	w->changed_ns =
	    (int64_t)st.st_mtim.tv_sec * NS_SECOND + st.st_mtim.tv_nsec;
	return 0;
}

static void
walk_end(struct sg_walk *w)
{
	file_close(w->fd);
	w->fd = -1;
}

static int
read_block(const struct sg_walk *w, uint64_t at, struct sg_block *b)
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
is_block(const struct sg_walk *w, uint64_t at)
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
find_block(const struct sg_walk *w)
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
resume(struct sg_walk *w)
{
	uint64_t at = find_block(w);

	foreign_note(w->f,
		     "%s on %s is damaged: no block is at byte %" PRIu64
		     ", and %" PRIu64 " bytes from there on are left out",
		     w->f->name, disk_path(w), w->at,
		     (at ? at : w->end) - w->at);
	w->at = at;
	return at;
}

static int
take_block(struct sg_walk *w, const struct sg_block *b)
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
			     w->f->name, disk_path(w), b->cut, b->number);
	w->last = w->at;
	w->at += (uint64_t)b->header + b->bytes;
	return foreign_add(w->f, &p);
}

/* True if the file has very many very short blocks.  No program makes those,
 * and they would fill the memory. */
static bool
is_flood(const struct sg_walk *w)
{
	enum { MANY = 1 << 16, SHORT = 1 << 16 };

	if (w->f->pieces < MANY || w->header.block_bytes >= SHORT)
		return false;
	foreign_note(w->f,
		     "%s on %s has blocks of %" PRIu32 " bytes, too short for "
		     "so many: what is behind byte %" PRIu64 " is left out",
		     w->f->name, disk_path(w), w->header.block_bytes, w->at);
	return true;
}

static int
walk_step(struct sg_walk *w)
{
	struct sg_block b;
	int err = is_flood(w) ? -ENODATA : read_block(w, w->at, &b);

	if (!err) {
		file_advise(w->fd, (off_t)(w->at + w->header.block_bytes),
			    SG_BLOCK, POSIX_FADV_WILLNEED);
		return take_block(w, &b);
	}
	if (err == -ENODATA || err == -ENOMEM || !resume(w))
		walk_end(w);
	return err == -ENOMEM ? err : 0;
}

static int
walk_all(struct sg_walk *walk, unsigned n)
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
take_header(struct sg_walk *w)
{
	struct foreign *f = w->f;
	uint64_t full = w->header.block_bytes;

	full -= w->header.version == 1 ? SG_BLOCK_1 : SG_BLOCK;
	if (!f->full_bytes) {
		f->full_bytes = full;
		f->form.packet = w->header.packet_bytes;
	} else if (f->form.packet != w->header.packet_bytes) {
		foreign_note(f,
			     "%s on %s says that packets have %" PRIu32
			     " bytes, another disk says %" PRIu32,
			     w->f->name, disk_path(w), w->header.packet_bytes,
			     f->form.packet);
	}
}

/* Adds the blocks of the scatter/gather file in each part's folder.  0 or
 * -ENOMEM. */
static int
find_blocks(struct foreign *f)
{
	struct sg_walk *walk = calloc(f->disks->n, sizeof *walk);
	int err;

	if (!walk)
		return -ENOMEM;
	for (unsigned i = 0; i < f->disks->n; i++) {
		walk[i] = (struct sg_walk){ .f = f, .disk = i, .fd = -1 };
		if (f->part[i].dir >= 0 && !walk_begin(&walk[i]))
			take_header(&walk[i]);
	}
	err = walk_all(walk, f->disks->n);
	for (unsigned i = 0; i < f->disks->n; i++) {
		if (walk[i].fd >= 0)
			walk_end(&walk[i]);
	}
	free(walk);
	return err;
}

/* ---- scatter/gather files ---------------------------------------------- */

static bool
is_sg(int disk, const char *folder, const char *file)
{
	char path[FOREIGN_PATH];
	uint8_t raw[SG_HEADER];
	struct sg_header h;
	bool is;
	int fd;

	snprintf(path, sizeof path, "%s/%s", folder, file);
	fd = disk_open_at(disk, path, O_RDONLY, DISK_LINKS);
	if (fd < 0)
		return false;
	is = read_whole(fd, raw, sizeof raw, 0) == sizeof raw &&
	     !sg_header_read(&h, raw);
	file_close(fd);
	return is;
}

/* The first folder of a disk that has this scatter/gather file; NULL if none
 * has. */
static const char *
sg_dir(int disk, const char *file)
{
	for (size_t i = 0; i < sizeof sg_folder / sizeof *sg_folder; i++) {
		if (is_sg(disk, sg_folder[i], file))
			return sg_folder[i];
	}
	return NULL;
}

static bool
find_files(struct foreign *f)
{
	bool found = false;

	for (unsigned i = 0; i < f->disks->n; i++) {
		struct foreign_part *part = &f->part[i];
		int disk = f->disks->disk[i].fd;

		part->folder = disk < 0 ? NULL : sg_dir(disk, f->name);
		if (part->folder)
			part->dir = open_folder(disk, part->folder);
		found |= part->dir >= 0;
	}
	return found;
}

static int
find_sg(struct foreign *f)
{
	size_t length = strlen(f->name);

	for (size_t i = 0; i < sizeof sg_extension / sizeof *sg_extension;
	     i++) {
		strcpy(f->name + length, sg_extension[i]);
		if (!find_files(f))
			continue;
		f->kind = FOREIGN_SG;
		f->made_by = "Mark6";
		return find_blocks(f);
	}
	f->name[length] = '\0';
	return -ENOENT;
}

/* ---- all files --------------------------------------------------------- */

/* Notes scatter/gather files of the same name on other disks: chunks are read
 * instead, and the user should know. */
static void
note_files(struct foreign *f)
{
	for (unsigned i = 0; i < f->disks->n; i++) {
		int disk = f->disks->disk[i].fd;

		if (f->part[i].dir >= 0 || disk < 0 || !sg_dir(disk, f->name))
			continue;
		foreign_note(f,
			     "%s has a scatter/gather file of this name, which "
			     "is not read, because other disks have chunks",
			     f->disks->disk[i].path);
	}
}

static void
forget_parts(struct foreign *f)
{
	for (unsigned i = 0; i < f->disks->n; i++) {
		if (f->part[i].dir >= 0)
			file_close(f->part[i].dir);
		f->part[i].dir = -1;
	}
}

int
foreign_find(struct foreign *f)
{
	int err, other;

	err = find_folders(f);
	if (!err)
		note_files(f);
	if (err != -ENOENT && err != -EXDEV && err != -ELOOP)
		return err;
	forget_parts(f);
	other = find_sg(f);
	return other == -ENOENT ? err : other;
}

/* ---- is a disk's entry a recording? ------------------------------------ */

/* True if a folder has a chunk, or a file with the folder's name.  Only the
 * first ENTRIES entries are looked at: a large folder may be something else. */
static bool
has_chunk(int disk, const char *folder, const char *name)
{
	enum { ENTRIES = 4096 };
	char path[FOREIGN_PATH];
	const struct dirent *entry;
	bool has = false;
	uint64_t number;
	struct file_list *dir;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	dir = list_folder(disk, path);
	for (int i = 0; dir && i < ENTRIES && !has; i++) {
		entry = file_list_next(dir);
		if (!entry)
			break;
		has = layout_chunk_number(entry->d_name, name, &number) ||
		      (entry->d_type == DT_REG && !strcmp(entry->d_name, name));
	}
	if (dir)
		file_list_close(dir);
	return has;
}

bool
foreign_is(int disk, const char *folder, const char *name)
{
	return foreign_name_good(name) &&
	       (has_chunk(disk, folder, name) || is_sg(disk, folder, name));
}

bool
foreign_on(int disk, const char *name)
{
	return foreign_is(disk, ".", name) ||
	       (foreign_name_good(name) && sg_dir(disk, name));
}

bool
foreign_stat(int disk, const char *name, struct stat *st)
{
	char path[2 * LAYOUT_FILE];

	if (!foreign_name_good(name))
		return false;
	for (size_t i = 0; i < sizeof sg_folder / sizeof *sg_folder; i++) {
		snprintf(path, sizeof path, "%s/%s", sg_folder[i], name);
		if (!file_stat_at(disk, path, st, 0) && S_ISREG(st->st_mode))
			return true;
	}
	return false;
}

static size_t
unnamed_in(int disk, const char *folder)
{
	struct file_list *dir = list_folder(disk, folder);
	const struct dirent *entry;
	struct stat st;
	size_t n = 0;

	while (dir && (entry = file_list_next(dir))) {
		if (*entry->d_name == '.' || foreign_name_good(entry->d_name))
			continue;
		n += !file_stat_at(file_list_fd(dir), entry->d_name, &st, 0) &&
		     S_ISDIR(st.st_mode);
	}
	if (dir)
		file_list_close(dir);
	return n;
}

size_t
foreign_unnamed(int disk)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof sg_folder / sizeof *sg_folder; i++)
		n += unnamed_in(disk, sg_folder[i]);
	return n;
}
