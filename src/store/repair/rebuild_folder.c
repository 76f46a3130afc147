/* SPDX-License-Identifier: MIT */
/*
 * The folder of a recording on a disk that has none, as a new one in place of one
 * that died.  Each file appears under its name when it is whole and durable: the
 * metadata, then an index that has an end from the beginning.  So no reader takes
 * the recording for one that is being made, and a run that was cut short leaves a
 * folder that the next one goes on with.
 *
 * Only a disk that is mounted is taken: the folder where a dead one was mounted is
 * on the disk of the system.  No more are taken than are away.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/file.h"
#include "store/foreign/vbs_cfg.h"
#include "store/repair/mend_priv.h"

/* ---- its metadata ---------------------------------------------------------- */

/* True if a line is of no chunk, and no end. */
static bool
is_common(const char *line)
{
	static const char *const own[] = { "{\"block\":",   "{\"chunk\":",
					   "{\"written\":", "{\"cut\":",
					   "{\"control\":", "{\"end\":" };
	json_t *object;
	bool parses;

	for (unsigned i = 0; i < sizeof own / sizeof *own; i++) {
		if (!strncmp(line, own[i], strlen(own[i])))
			return false;
	}
	object = json_loads(line, 0, NULL);
	parses = object && !json_object_get(object, "spate");
	json_decref(object);
	return parses;
}

/* Adds the lines of a disk that concern all, each once. */
static void
lines_add(const struct mend *m, unsigned disk, json_t *seen, FILE *to)
{
	char file[LAYOUT_FILE], *line = NULL;
	ssize_t length;
	size_t room = 0;
	FILE *from;
	int fd;

	fd = disk_open_at(m->rec->part[disk].dir,
			  layout_meta(file, m->rec->name), O_RDONLY,
			  DISK_NO_LINKS);
	from = fd < 0 ? NULL : file_stream(fd);
	if (!from && fd >= 0)
		file_close(fd);
	while (from && (length = getline(&line, &room, from)) > 0) {
		if (line[length - 1] != '\n')
			break;
		line[length - 1] = '\0';
		if (json_object_get(seen, line) || !is_common(line))
			continue;
		json_object_set_new(seen, line, json_true());
		fprintf(to, "%s\n", line);
	}
	free(line);
	if (from)
		fclose(from);
}

static void
object_add(const json_t *object, FILE *to)
{
	if (object && !json_dumpf(object, to, JSON_COMPACT))
		fputc('\n', to);
}

/* Makes the text of the metadata; the caller frees it.  0 or -ENOMEM. */
static int
text_make(const struct mend *m, char **text, size_t *bytes)
{
	json_t *seen = json_object();
	FILE *to = open_memstream(text, bytes);
	bool failed = !seen || !to;

	for (unsigned i = 0; to && i < m->disks->n; i++) {
		if (!i)
			object_add(m->rec->head, to);
		if (m->rec->part[i].dir >= 0 && !m->rec->part[i].hangs)
			lines_add(m, i, seen, to);
	}
	if (to) {
		object_add(m->rec->tail, to);
		failed |= ferror(to) != 0;
		failed |= fclose(to) != 0;
	}
	json_decref(seen);
	return failed ? -ENOMEM : 0;
}

/* ---- the folder ------------------------------------------------------------ */

/* True if a run that was cut short began the folder, which has metadata at most. */
static bool
is_begun(const struct mend *m, int folder)
{
	struct file_list *list;
	const struct dirent *e;
	char file[LAYOUT_FILE];
	bool begun = !file_list_at(&list, folder);

	layout_meta(file, m->rec->name);
	while (begun && (e = file_list_next(list)))
		begun = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
			!strcmp(e->d_name, file);
	if (list)
		file_list_close(list);
	return begun;
}

static int
files_make(const struct mend *m, int dir, const char *text, size_t bytes)
{
	struct vbs_cfg cfg = { .packet = m->rec->plan.cfg_packet };
	const char *name = m->rec->name;
	struct index_record end;
	uint8_t raw[INDEX_BYTES];
	char file[LAYOUT_FILE];
	int err;

	if (!recording_end(m->rec, &end))
		return -ENODATA;
	index_pack(raw, &end);
	err = mend_file_new(dir, layout_meta(file, name), text, bytes);
	if (!err)
		err = mend_file_new(dir, layout_index(file, name), raw,
				    sizeof raw);
	if (!err && cfg.packet) {
		cfg.files = end.number;
		cfg.packets = m->rec->facts.bytes / cfg.packet;
		err = vbs_cfg_write(dir, name, &cfg);
	}
	return err;
}

/* Makes the folder on a disk.  0 or -errno. */
static int
folder_make(struct mend *m, unsigned disk, const char *text, size_t bytes)
{
	struct recording_part *part = &m->rec->part[disk];
	int at = m->disks->disk[disk].fd, err = 0;
	char file[LAYOUT_FILE];

	layout_dir(file, m->rec->name, m->rec->plan.layout);
	if (file_mkdir_at(at, file, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (part->dir < 0)
		part->dir = disk_open_at(at, file, O_RDONLY | O_DIRECTORY,
					 DISK_NO_LINKS);
	if (part->dir < 0)
		return part->dir;
	(void)disk_own(part->dir, at);
	if (!is_begun(m, part->dir))
		return -EEXIST;
	file_remove_at(part->dir, layout_meta(file, m->rec->name), 0);
	part->meta_bytes = 0;
	err = files_make(m, part->dir, text, bytes);
	return !err && file_sync(at) < 0 ? -errno : err;
}

/* ---- which disks ----------------------------------------------------------- */

/* How many of the disks on which it was recorded have no folder of it here. */
static unsigned
disks_away(const struct mend *m)
{
	unsigned were = recording_disks_were(m->rec), here = 0;

	for (unsigned i = 0; i < m->disks->n; i++)
		here += m->rec->part[i].dir >= 0 && m->rec->part[i].indexed;
	return were > here ? were - here : 0;
}

/* Returns the disk with the most room that has nothing of the recording; -1:
 * none. */
static int
disk_new(const struct mend *m, const struct block_bars *tried)
{
	uint64_t most = 0;
	int best = -1;

	for (unsigned i = 0; i < m->disks->n && i < BLOCK_DISKS; i++) {
		const struct recording_part *part = &m->rec->part[i];
		struct disk_space space;

		if (!m->disks->disk[i].mount || part->hangs ||
		    block_bars_has(tried, i) ||
		    disk_space(&m->disks->disk[i], &space) ||
		    space.free <= most ||
		    (part->dir >= 0 &&
		     (part->indexed || !is_begun(m, part->dir))))
			continue;
		best = (int)i;
		most = space.free;
	}
	return best;
}

int
rebuild_folders(struct mend *m)
{
	struct block_bars tried = { 0 };
	unsigned away = disks_away(m);
	char *text = NULL;
	size_t bytes = 0;
	int disk, err = 0;

	if (layout_plan_shared(&m->rec->plan))
		return 0;
	while (away && (disk = disk_new(m, &tried)) >= 0) {
		block_bars_add(&tried, (unsigned)disk);
		if (!text)
			err = text_make(m, &text, &bytes);
		if (!err && !m->a->dry_run)
			err = folder_make(m, (unsigned)disk, text, bytes);
		if (err == -ENOMEM)
			break;
		away -= !err;
		m->report->failed += err != 0;
		if (err)
			mend_say(m, "%s cannot take any of it: %s",
				 mend_path(m, disk), disk_why(err));
		else
			mend_say(m, "%s %s part of it, which had nothing of it",
				 mend_path(m, disk),
				 m->a->dry_run ? "would take" : "takes");
		err = 0;
	}
	free(text);
	return err;
}
