/* SPDX-License-Identifier: MIT */
/* Looks what there is to remove, and whether that is allowed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/list/entry_line.h"
#include "store/recording/foreign.h"
#include "store/repair/removal_priv.h"

enum { BLOCK = 512 /* bytes of one unit of st_blocks */ };

/* ---- what is there ------------------------------------------------------- */

/* True if this is the file that blocks share in some layouts. */
static bool
is_data(const struct removal *r, const char *file)
{
	char known[LAYOUT_FILE];

	if (!strcmp(file, layout_data(known, r->name, LAYOUT_MARK6, "")))
		return true;
	return r->map.layout == LAYOUT_SINGLE &&
	       !strcmp(file, layout_data(known, r->name, LAYOUT_SINGLE,
					 r->map.extension));
}

static enum removal_kind
kind_of_name(const struct removal *r, const char *file)
{
	static const char *(*const meta[])(char *, const char *) = {
		layout_meta,
		layout_protect,
		layout_index_new,
		layout_cfg,
	};
	char known[LAYOUT_FILE];
	uint64_t number;

	if (!strcmp(file, layout_index(known, r->name)))
		return REMOVAL_INDEX;
	if (!strcmp(file, layout_removing(known, r->name)))
		return REMOVAL_MARK;
	if (layout_chunk_number(file, r->name, &number) ||
	    !strcmp(file, r->name) || /* VLBI-streamer's single file */
	    layout_is_aside(file, r->name) || is_data(r, file) ||
	    !strcmp(file, layout_sums(known, r->name)))
		return REMOVAL_DATA;
	for (size_t i = 0; i < sizeof meta / sizeof *meta; i++) {
		if (!strcmp(file, meta[i](known, r->name)))
			return REMOVAL_META;
	}
	return REMOVAL_EXTRA;
}

enum removal_kind
removal_kind(const struct removal *r, int dir, const char *file)
{
	struct stat st;

	if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    S_ISDIR(st.st_mode))
		return REMOVAL_OTHER;
	return S_ISREG(st.st_mode) ? kind_of_name(r, file) : REMOVAL_EXTRA;
}

static int
each_in(int dir, int (*act)(void *arg, int dir, const char *file), void *arg)
{
	int fd = disk_open_at(dir, ".", O_RDONLY | O_DIRECTORY, DISK_NO_LINKS);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int err = 0;

	if (!list) {
		err = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(list))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = act(arg, dir, entry->d_name);
	}
	closedir(list);
	return err;
}

int
removal_each(const struct removal *r, unsigned disk,
	     int (*act)(void *arg, int dir, const char *file), void *arg)
{
	const struct removal_part *part = &r->part[disk];
	char data[LAYOUT_FILE];
	int err = each_in(part->dir, act, arg);

	if (err || part->layout != LAYOUT_MARK6)
		return err;
	layout_data(data, r->name, LAYOUT_MARK6, "");
	return faccessat(part->dir, data, F_OK, AT_SYMLINK_NOFOLLOW)
		   ? 0
		   : act(arg, part->dir, data);
}

/* Returns the bytes freed by deleting a file: none if it has other names. */
static uint64_t
frees(int dir, const char *file)
{
	struct stat st;

	if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_nlink != 1)
		return 0;
	return (uint64_t)st.st_blocks * BLOCK;
}

static int
count_file(void *arg, int dir, const char *file)
{
	struct removal *r = arg;
	struct removal_facts *f = &r->facts;
	enum removal_kind kind = removal_kind(r, dir, file);

	if (kind == REMOVAL_OTHER || kind == REMOVAL_EXTRA)
		snprintf(r->extra, sizeof r->extra, "%.60s", file);
	f->others += kind == REMOVAL_OTHER;
	f->extras += kind == REMOVAL_EXTRA;
	f->begun |= kind == REMOVAL_MARK;
	if (kind == REMOVAL_OTHER)
		return 0;
	f->files++;
	f->bytes += frees(dir, file);
	return 0;
}

static bool
has_file(int dir, const char *file)
{
	return !faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* ---- disks --------------------------------------------------------------- */

/* Opens the recording's folder on a disk, under either form of its name. */
static int
open_part(struct removal *r, unsigned i)
{
	static const enum layout looks[] = { LAYOUT_VBS, LAYOUT_MARK6 };
	struct removal_part *part = &r->part[i];
	int disk = r->disks->disk[i].fd, err = 0;

	for (unsigned k = 0; k < 2 && disk >= 0 && part->dir < 0; k++) {
		layout_dir(part->at, r->name, looks[k]);
		part->dir = disk_open_at(disk, part->at, O_RDONLY | O_DIRECTORY,
					 DISK_NO_LINKS);
		part->layout = looks[k];
		/* -ENOTDIR: with Mark6, the recording's own name is a file. */
		if (part->dir < 0 && part->dir != -ENOENT &&
		    part->dir != -ENOTDIR)
			err = part->dir;
	}
	return part->dir >= 0 ? 0 : err;
}

static bool
is_there(const struct disks *disks, const char *path)
{
	for (unsigned i = 0; i < disks->n; i++) {
		if (!strcmp(disks->disk[i].path, path))
			return disks->disk[i].fd >= 0;
	}
	return false;
}

/* Takes the disks and the layout from the first line of the metadata. */
static void
take_head(struct removal *r, const json_t *head)
{
	const json_t *path;
	size_t i;

	if (layout_map_make(&r->map, r->name, head))
		r->map = (struct layout_map){ 0 };
	json_array_foreach(json_object_get(head, "disks"), i, path) {
		if (json_is_string(path) &&
		    !is_there(r->disks, json_string_value(path)))
			json_array_append_new(
			    r->away, json_string(json_string_value(path)));
	}
}

/* Reads the metadata of the first disk that has it. */
static void
read_head(struct removal *r)
{
	char file[LAYOUT_FILE];
	json_t *head = NULL;

	layout_meta(file, r->name);
	for (unsigned i = 0; i < r->disks->n && !head; i++) {
		int fd = r->part[i].dir < 0
			     ? -1
			     : disk_open_at(r->part[i].dir, file, O_RDONLY,
					    DISK_NO_LINKS);

		if (fd < 0)
			continue;
		head = entry_head(fd);
		close(fd);
	}
	if (head)
		take_head(r, head);
	json_decref(head);
}

static int
cannot_look(const struct removal *r, unsigned disk, int err,
	    struct fault *fault)
{
	fault_set(fault, err, "io", "cannot look at %s on %s", r->name,
		  r->disks->disk[disk].path);
	fault_why(fault, "%s", disk_why(err));
	return err;
}

static int
look(struct removal *r, struct fault *fault)
{
	char file[LAYOUT_FILE];
	int err = 0;

	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		err = open_part(r, i);
		if (err)
			return cannot_look(r, i, err, fault);
	}
	read_head(r);
	for (unsigned i = 0; i < r->disks->n; i++) {
		int dir = r->part[i].dir;

		if (dir < 0)
			continue;
		err = removal_each(r, i, count_file, r);
		if (err)
			return cannot_look(r, i, err, fault);
		r->facts.disks++;
		r->facts.protected |=
		    has_file(dir, layout_protect(file, r->name));
	}
	return 0;
}

static bool
is_foreign(const struct removal *r)
{
	for (unsigned i = 0; i < r->disks->n; i++) {
		if (r->disks->disk[i].fd >= 0 &&
		    foreign_on(r->disks->disk[i].fd, r->name))
			return true;
	}
	return false;
}

/* Refuses what is no recording: a folder whose name ours cannot have is another
 * program's recording, or none. */
static int
check_there(const struct removal *r, struct fault *fault)
{
	bool foreign = is_foreign(r);

	if (r->facts.disks &&
	    (layout_folder_good(r->name) || foreign || r->facts.begun))
		return 0;
	fault_set(fault, -ENOENT, "not-found", "no recording %s", r->name);
	if (foreign) {
		fault_set(fault, -ENOTSUP, "refused", "%s is not removed",
			  r->name);
		fault_why(fault, "it is Mark6's: a file on each disk, in no "
				 "folder of its own");
		fault_hint(fault, "remove these files by hand");
		return -ENOTSUP;
	}
	fault_why(fault, r->facts.disks
			     ? "what is in the folder of that name is none"
			     : "no disk has a folder of that name");
	fault_hint(fault, "spate ls shows the recordings there are");
	return -ENOENT;
}

int
removal_open(struct removal **removal, const struct disks *disks,
	     const char *name, struct fault *fault)
{
	struct removal *r;
	int err;

	r = layout_folder_good(name) || foreign_name_good(name)
		? calloc(1, sizeof *r)
		: NULL;
	if (!r)
		return fault_set(fault, -ENOENT, "not-found",
				 "no recording %.80s", name);
	strcpy(r->name, name);
	r->disks = disks;
	r->away = json_array();
	r->part = calloc(disks->n + 1, sizeof *r->part);
	for (unsigned i = 0; r->part && i < disks->n; i++)
		r->part[i].dir = -1;
	err = r->part && r->away
		  ? look(r, fault)
		  : fault_set(fault, -ENOMEM, "no-memory", "no memory");
	if (!err)
		err = check_there(r, fault);
	if (err) {
		removal_close(r);
		return err;
	}
	removal_lock(r, false);
	*removal = r;
	return 0;
}

void
removal_close(struct removal *r)
{
	if (r->part)
		removal_unlock(r);
	for (unsigned i = 0; r->part && i < r->disks->n; i++) {
		if (r->part[i].dir >= 0)
			close(r->part[i].dir);
	}
	json_decref(r->away);
	free(r->part);
	free(r);
}

const struct removal_facts *
removal_facts(const struct removal *r)
{
	return &r->facts;
}

/* ---- is it allowed? ------------------------------------------------------ */

static int
refuse(const struct removal *r, struct fault *fault, int err, const char *why)
{
	fault_set(fault, err, "busy", "%s is not removed", r->name);
	fault_why(fault, "%s", why);
	return err;
}

int
removal_allowed(const struct removal *r, bool force, struct fault *fault)
{
	const struct removal_facts *f = &r->facts;
	char why[160];
	int err = 0;

	if (f->protected) {
		err = refuse(r, fault, -EPERM, "it is protected");
		fault_hint(fault, "spate protect --off %s", r->name);
	} else if (f->live) {
		err = refuse(r, fault, -EBUSY, "it is being recorded");
		fault_hint(fault, "spate stop %s ends that", r->name);
	} else if (f->read && !force) {
		err = refuse(r, fault, -EBUSY, "it is being read");
		fault_hint(fault, "wait for that, or use --force");
	} else if (f->others || (f->extras && !force)) {
		snprintf(why, sizeof why,
			 "%s in its folder is none of its files, and %" PRIu64
			 " more",
			 r->extra, f->others + f->extras - 1);
		err = refuse(r, fault, -EPERM, why);
		fault_hint(fault, "%s",
			   f->others ? "move that away"
				     : "move that away, or use --force");
	}
	return err;
}

/* ---------------------------------------------------------------------- */

json_t *
removal_json(const struct removal *r)
{
	const struct removal_facts *f = &r->facts;
	json_t *list = json_array();

	for (unsigned i = 0; i < r->disks->n; i++) {
		if (r->part[i].dir >= 0)
			json_array_append_new(
			    list, json_string(r->disks->disk[i].path));
	}
	return json_pack("{s:s, s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:o, s:O}",
			 "name", r->name, "files", (json_int_t)f->files,
			 "bytes", (json_int_t)f->bytes, "extras",
			 (json_int_t)(f->extras + f->others), "protected",
			 (int)f->protected, "live", (int)f->live, "read",
			 (int)f->read, "begun", (int)f->begun, "disks", list,
			 "away", r->away);
}
