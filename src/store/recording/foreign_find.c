/* SPDX-License-Identifier: MIT */
/*
 * The files of a recording are found by name: a folder with its chunks, a
 * folder with a file of the folder's name, or a file that begins with Mark6's
 * first bytes.  Folders and chunks may be links to others on the same disk, as
 * FlexBuff's users make them.  A link that leaves the disk is not followed:
 * whoever made it may not be allowed to read its target, but we may.  Anything
 * but regular files is ignored, and opening a pipe does not block.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/recording/foreign_priv.h"
#include "store/disk/file.h"

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
	char path[RECORDING_PATH];
	int fd, err = 0;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = disk_open_at(disk, path, O_RDONLY, DISK_LINKS);
	if (fd < 0)
		return fd;
	if (fstat(fd, st) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Sets size and modification time of a file in a recording's folder.  False if
 * it is no regular file. */
static bool
look_at(const struct recording *rec, struct foreign *f, const char *file,
	struct foreign_piece *p)
{
	const struct recording_part *part = &rec->part[p->disk];
	const struct disk *disk = &rec->disks->disk[p->disk];
	struct stat st;
	int err = 0;

	if (fstatat(part->dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISLNK(st.st_mode))
		err = look_behind(disk->fd, rec->name, file, &st);
	if (err == -EXDEV)
		foreign_note(f, "%s/%s/%s is left out: %s", disk->path,
			     rec->name, file, disk_why(err));
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

static DIR *
list_folder(int disk, const char *name)
{
	int fd = open_folder(disk, name);
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
read_cfg(const struct recording *rec, struct foreign *f, unsigned disk)
{
	enum { TEXT = 1 << 16 };
	char file[RECORDING_PATH + 4], *text = malloc(TEXT);
	struct foreign_cfg cfg;
	ssize_t got = -1;
	int fd;

	snprintf(file, sizeof file, "%s/%s.cfg", rec->name, rec->name);
	fd =
	    disk_open_at(rec->disks->disk[disk].fd, file, O_RDONLY, DISK_LINKS);
	if (text && fd >= 0)
		got = read_whole(fd, text, TEXT, 0);
	if (got > 0 && foreign_cfg_read(&cfg, text, (size_t)got)) {
		if (f->cfg.there && !cfg_same(&cfg, &f->cfg))
			foreign_note(f,
				     "%s.cfg differs from disk to disk; the "
				     "first one is used",
				     rec->name);
		else
			f->cfg = cfg;
	}
	if (fd >= 0)
		close(fd);
	free(text);
}

/* State of listing the recording's folders. */
struct folder_look {
	struct recording *rec;
	struct foreign *f;
	unsigned disk;
	size_t chunks, singles; /* files found so far, on all disks */
};

static int
take_file(struct folder_look *l, const char *file)
{
	struct foreign_piece p = { .disk = l->disk };

	if (layout_chunk_number(file, l->rec->name, &p.file)) {
		if (!look_at(l->rec, l->f, file, &p))
			return 0;
		p.number = p.file;
		l->chunks++;
		return foreign_add(l->f, &p);
	}
	if (!strcmp(file, l->rec->name))
		l->singles += look_at(l->rec, l->f, file, &p);
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
		read_cfg(l->rec, l->f, l->disk);
	return err;
}

/* Adds one piece per disk: its whole file, which foreign_single() cuts
 * later. */
static int
add_singles(const struct recording *rec, struct foreign *f)
{
	int err = 0;

	for (unsigned i = 0; i < rec->disks->n && !err; i++) {
		struct foreign_piece p = { .number = i, .disk = i };

		if (rec->part[i].dir >= 0 && look_at(rec, f, rec->name, &p))
			err = foreign_add(f, &p);
	}
	return err;
}

static int
find_folders(struct recording *rec, struct foreign *f)
{
	struct folder_look l = { .rec = rec, .f = f };
	int err = 0, refused = -ENOENT;

	for (l.disk = 0; l.disk < rec->disks->n && !err; l.disk++) {
		int disk = rec->disks->disk[l.disk].fd;
		struct recording_part *part = &rec->part[l.disk];

		if (disk >= 0)
			part->dir = open_folder(disk, rec->name);
		if (part->dir >= 0)
			err = take_folder(&l);
		if (part->dir == -EXDEV || part->dir == -ELOOP) {
			refused = part->dir;
			foreign_note(f, "%s/%s is left out: %s",
				     rec->disks->disk[l.disk].path, rec->name,
				     disk_why(refused));
		}
	}
	if (err || (!l.chunks && !l.singles))
		return err ? err : refused;
	f->kind = l.chunks ? FOREIGN_CHUNKS : FOREIGN_SINGLE;
	f->made_by = f->cfg.there || !l.chunks ? "VLBI-streamer" : "jive5ab";
	return l.chunks ? 0 : add_singles(rec, f);
}

/* ---- scatter/gather ----------------------------------------------------- */

static bool
is_sg(int disk, const char *folder, const char *file)
{
	char path[RECORDING_PATH];
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
	close(fd);
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
find_files(struct recording *rec)
{
	bool found = false;

	for (unsigned i = 0; i < rec->disks->n; i++) {
		struct recording_part *part = &rec->part[i];
		int disk = rec->disks->disk[i].fd;

		part->folder = disk < 0 ? NULL : sg_dir(disk, rec->name);
		if (part->folder)
			part->dir = open_folder(disk, part->folder);
		found |= part->dir >= 0;
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

/* Notes scatter/gather files of the same name on other disks: chunks are read
 * instead, and the user should know. */
static void
note_files(const struct recording *rec, struct foreign *f)
{
	for (unsigned i = 0; i < rec->disks->n; i++) {
		int disk = rec->disks->disk[i].fd;

		if (rec->part[i].dir >= 0 || disk < 0 ||
		    !sg_dir(disk, rec->name))
			continue;
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
	int err, other;

	forget_parts(rec);
	err = find_folders(rec, f);
	if (!err)
		note_files(rec, f);
	if (err != -ENOENT && err != -EXDEV && err != -ELOOP)
		return err;
	forget_parts(rec);
	other = find_sg(rec, f);
	return other == -ENOENT ? err : other;
}

/* ---- is a disk's entry a recording?
 * --------------------------------------- */

/* True if a folder has a chunk, or a file with the folder's name.  Only the
 * first ENTRIES entries are looked at: a large folder may be something else. */
static bool
has_chunk(int disk, const char *folder, const char *name)
{
	enum { ENTRIES = 4096 };
	char path[RECORDING_PATH];
	struct dirent *entry;
	bool has = false;
	uint64_t number;
	DIR *dir;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	dir = list_folder(disk, path);
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
