/* SPDX-License-Identifier: MIT */
/*
 * What is there of a recording is found by name: a folder with its chunks, a
 * folder with a file called as itself, or a file with Mark6's first bytes.
 * Folders and chunks may be links to others, as FlexBuff's users make them;
 * whatever is no file is passed over, and a pipe is not waited for.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/foreign_priv.h"
#include "store/read_whole.h"

enum { NAME_LONGEST = 128 };

/* Where in a disk scatter/gather files are. */
static const char *const sg_folder[] = { ".", FOREIGN_DATA };
/* Behind a scan's name. */
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

/* Its size and when it was changed; false: it is no file. */
static bool
look_at(int dir, const char *file, uint64_t *bytes, int64_t *changed_ns)
{
	struct stat st;

	if (fstatat(dir, file, &st, 0) < 0 || !S_ISREG(st.st_mode))
		return false;
	*bytes = (uint64_t)st.st_size;
	*changed_ns =
	    (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return true;
}

static int
open_folder(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static DIR *
list_folder(int at, const char *name)
{
	int fd = open_folder(at, name);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

/* ---- chunks ------------------------------------------------------------- */

static bool
cfg_same(const struct foreign_cfg *a, const struct foreign_cfg *b)
{
	return a->packet == b->packet && a->files == b->files &&
	       a->packets == b->packets;
}

static void
read_cfg(const struct recording *rec, struct foreign *f, int dir)
{
	enum { TEXT = 1 << 16 };
	char file[LAYOUT_FILE + 4], *text = malloc(TEXT);
	struct foreign_cfg cfg;
	ssize_t got = -1;
	int fd;

	snprintf(file, sizeof file, "%s.cfg", rec->name);
	fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (text && fd >= 0)
		got = read_whole(fd, text, TEXT, 0);
	if (got > 0 && foreign_cfg_read(&cfg, text, (size_t)got)) {
		if (f->cfg.there && !cfg_same(&cfg, &f->cfg))
			foreign_note(f,
				     "%s differs from disk to disk; the first "
				     "one is used",
				     file);
		else
			f->cfg = cfg;
	}
	if (fd >= 0)
		close(fd);
	free(text);
}

struct folder_look {
	struct recording *rec;
	struct foreign *f;
	unsigned disk;
	size_t chunks, singles; /* on all disks */
};

static int
take_file(struct folder_look *l, const char *file)
{
	int dir = l->rec->part[l->disk].dir;
	struct foreign_piece p = { .disk = l->disk };

	if (layout_chunk_number(file, l->rec->name, &p.file)) {
		if (!look_at(dir, file, &p.stored, &p.changed_ns))
			return 0;
		p.number = p.file;
		l->chunks++;
		return foreign_add(l->f, &p);
	}
	if (!strcmp(file, l->rec->name))
		l->singles += look_at(dir, file, &p.stored, &p.changed_ns);
	return 0;
}

static int
take_folder(struct folder_look *l)
{
	struct dirent *entry;
	int err = 0;
	DIR *dir;

	dir = list_folder(l->rec->part[l->disk].dir, ".");
	if (!dir)
		return 0;
	while (!err && (entry = readdir(dir)))
		err = take_file(l, entry->d_name);
	closedir(dir);
	if (!err)
		read_cfg(l->rec, l->f, l->rec->part[l->disk].dir);
	return err;
}

/* The whole file of each disk, for now. */
static int
add_singles(const struct recording *rec, struct foreign *f)
{
	int err = 0;

	for (unsigned i = 0; i < rec->disks->n && !err; i++) {
		struct foreign_piece p = { .number = i, .disk = i };

		if (rec->part[i].dir >= 0 &&
		    look_at(rec->part[i].dir, rec->name, &p.stored,
			    &p.changed_ns))
			err = foreign_add(f, &p);
	}
	return err;
}

static int
find_folders(struct recording *rec, struct foreign *f)
{
	struct folder_look l = { .rec = rec, .f = f };
	int err = 0;

	for (l.disk = 0; l.disk < rec->disks->n && !err; l.disk++) {
		int disk = rec->disks->disk[l.disk].fd;
		struct recording_part *part = &rec->part[l.disk];

		if (disk >= 0)
			part->dir = open_folder(disk, rec->name);
		if (part->dir >= 0)
			err = take_folder(&l);
	}
	if (err || (!l.chunks && !l.singles))
		return err ? err : -ENOENT;
	f->kind = l.chunks ? FOREIGN_CHUNKS : FOREIGN_SINGLE;
	f->made_by = f->cfg.there || !l.chunks ? "VLBI-streamer" : "jive5ab";
	return l.chunks ? 0 : add_singles(rec, f);
}

/* ---- scatter/gather ----------------------------------------------------- */

static bool
is_sg(int dir, const char *file)
{
	int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t raw[SG_HEADER];
	struct sg_header h;
	struct stat st;
	bool is;

	if (fd < 0)
		return false;
	is = !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	     read_whole(fd, raw, sizeof raw, 0) == sizeof raw &&
	     !sg_header_read(&h, raw);
	close(fd);
	return is;
}

/* The first folder of a disk that has the file; -1: none. */
static int
sg_dir(int disk, const char *file)
{
	for (size_t i = 0; i < sizeof sg_folder / sizeof *sg_folder; i++) {
		int dir = open_folder(disk, sg_folder[i]);

		if (dir >= 0 && is_sg(dir, file))
			return dir;
		if (dir >= 0)
			close(dir);
	}
	return -1;
}

static bool
find_files(struct recording *rec)
{
	bool found = false;

	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->disks->disk[i].fd >= 0)
			rec->part[i].dir =
			    sg_dir(rec->disks->disk[i].fd, rec->name);
		found |= rec->part[i].dir >= 0;
	}
	return found;
}

static int
find_sg(struct recording *rec, struct foreign *f)
{
	size_t length = strlen(rec->name);

	for (size_t i = 0; i < sizeof sg_extension / sizeof *sg_extension;
	     i++) {
		strcpy(rec->name + length, sg_extension[i]);
		if (!find_files(rec))
			continue;
		f->kind = FOREIGN_SG;
		f->made_by = "Mark6";
		return foreign_sg(rec, f);
	}
	rec->name[length] = '\0';
	return -ENOENT;
}

/* Chunks are read; but who looks for the other should know. */
static void
note_files(const struct recording *rec, struct foreign *f)
{
	for (unsigned i = 0; i < rec->disks->n; i++) {
		int dir = -1;

		if (rec->part[i].dir < 0 && rec->disks->disk[i].fd >= 0)
			dir = sg_dir(rec->disks->disk[i].fd, rec->name);
		if (dir < 0)
			continue;
		close(dir);
		foreign_note(f,
			     "%s has a scatter/gather file of this name, which "
			     "is not read: others have chunks",
			     rec->disks->disk[i].path);
	}
}

static void
forget_parts(struct recording *rec)
{
	for (unsigned i = 0; i < rec->disks->n; i++) {
		if (rec->part[i].dir >= 0)
			close(rec->part[i].dir);
		rec->part[i].dir = -1;
	}
}

int
foreign_find(struct recording *rec, struct foreign *f)
{
	int err;

	forget_parts(rec);
	err = find_folders(rec, f);
	if (!err)
		note_files(rec, f);
	if (err != -ENOENT)
		return err;
	forget_parts(rec);
	return find_sg(rec, f);
}

/* ---- is there one? ------------------------------------------------------ */

/* Of a large folder that is something else not all is looked at. */
static bool
has_chunk(int at, const char *name)
{
	enum { ENTRIES = 4096 };
	struct dirent *entry;
	bool has = false;
	uint64_t number;
	DIR *dir = list_folder(at, name);

	for (int i = 0; dir && i < ENTRIES && !has; i++) {
		entry = readdir(dir);
		if (!entry)
			break;
		has = layout_chunk_number(entry->d_name, name, &number) ||
		      (entry->d_type == DT_REG && !strcmp(entry->d_name, name));
	}
	if (dir)
		closedir(dir);
	return has;
}

bool
foreign_is(int dir, const char *name)
{
	struct stat st;

	if (!foreign_name_good(name) || fstatat(dir, name, &st, 0) < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return has_chunk(dir, name);
	return S_ISREG(st.st_mode) && is_sg(dir, name);
}

bool
foreign_on(int disk, const char *name)
{
	int dir;

	if (!foreign_name_good(name))
		return false;
	if (foreign_is(disk, name))
		return true;
	dir = sg_dir(disk, name);
	if (dir >= 0)
		close(dir);
	return dir >= 0;
}

bool
foreign_stat(int disk, const char *name, struct stat *st)
{
	char path[2 * LAYOUT_FILE];

	if (!foreign_name_good(name))
		return false;
	for (size_t i = 0; i < sizeof sg_folder / sizeof *sg_folder; i++) {
		snprintf(path, sizeof path, "%s/%s", sg_folder[i], name);
		if (!fstatat(disk, path, st, 0) && S_ISREG(st->st_mode))
			return true;
	}
	return false;
}

static size_t
unnamed_in(int disk, const char *folder)
{
	DIR *dir = list_folder(disk, folder);
	struct dirent *entry;
	struct stat st;
	size_t n = 0;

	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.' || foreign_name_good(entry->d_name))
			continue;
		n += !fstatat(dirfd(dir), entry->d_name, &st, 0) &&
		     S_ISDIR(st.st_mode);
	}
	if (dir)
		closedir(dir);
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
