/* SPDX-License-Identifier: MIT */
/*
 * Everything that a copy has on a disk can be sent again, so what is doubtful
 * is removed; an original would keep it for recover.  If every block has a
 * file, the index is written anew without the bad blocks.  If they share one,
 * it is cut before the first bad block, because the place of a block follows
 * from those before it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/units.h"
#include "contract/bytes.h"
#include "store/disk/layout.h"
#include "store/disk/file.h"
#include "store/recording/recording.h"
#include "store/write/copy_origin.h"

/* ---- the first line of the metadata -------------------------------------- */

uint64_t
copy_origin_identity(const json_t *head)
{
	json_t *bare = json_copy((json_t *)head);
	uint64_t hash = BYTES_HASH;
	char *text;

	json_object_del(bare, "name");
	json_object_del(bare, "disks");
	json_object_del(bare, "copied");
	text = json_dumps(bare, JSON_COMPACT | JSON_SORT_KEYS);
	if (text)
		hash = bytes_hash(hash, text, strlen(text));
	free(text);
	json_decref(bare);
	return hash;
}

json_t *
copy_origin_head(const json_t *head, const struct copy_origin *c)
{
	json_t *made = json_deep_copy(head), *disks = json_array();
	const char *name = json_string_value(json_object_get(head, "name"));
	char time[UNITS_TEXT];
	json_t *copied = json_pack("{s:s, s:s, s:s}", "from", c->from, "name",
				   name ? name : "", "time",
				   units_show_time_ns(time, c->time_ns));

	for (unsigned i = 0; i < c->disks_n; i++)
		json_array_append_new(disks, json_string(c->disks[i]));
	if (made && disks && copied &&
	    !json_object_set_new(made, "name", json_string(c->name)) &&
	    !json_object_set(made, "disks", disks) &&
	    !json_object_set(made, "copied", copied)) {
		json_decref(disks);
		json_decref(copied);
		return made;
	}
	json_decref(disks);
	json_decref(copied);
	json_decref(made);
	return NULL;
}

/* ---- other names --------------------------------------------------------- */

enum { HEAD_MOST = 1 << 20 };

/* True if a disk has a recording of this name with this identity. */
static bool
is_it(const struct disk *disk, const char *name, uint64_t identity, char *text)
{
	char file[LAYOUT_FILE];
	int dir =
	    disk->fd < 0 ? -1 : layout_dir_open(disk->fd, name, DISK_NO_LINKS);
	int fd = dir < 0 ? -1
			 : disk_open_at(dir, layout_meta(file, name), O_RDONLY,
					DISK_NO_LINKS);
	ssize_t got = fd < 0 ? -1 : read_whole(fd, text, HEAD_MOST, 0);
	json_t *head = NULL;
	bool same;

	if (got > 0)
		head =
		    json_loadb(text, (size_t)got, JSON_DISABLE_EOF_CHECK, NULL);
	same = json_is_object(json_object_get(head, "shape")) &&
	       copy_origin_identity(head) == identity;
	json_decref(head);
	if (fd >= 0)
		file_close(fd);
	if (dir >= 0)
		file_close(dir);
	return same;
}

int
copy_origin_find(const struct disks *disks, uint64_t identity,
		 char name[LAYOUT_FILE])
{
	char **names = NULL, *text = malloc(HEAD_MOST);
	bool found = false;
	size_t n = 0;
	int err = text ? recording_list(disks, &names, &n) : -ENOMEM;

	for (size_t i = 0; !err && i < n && !found; i++) {
		for (unsigned d = 0; d < disks->n && !found; d++)
			found =
			    layout_folder_good(names[i]) &&
			    is_it(&disks->disk[d], names[i], identity, text);
		if (found)
			strcpy(name, names[i]);
	}
	free(names);
	free(text);
	if (err)
		return err;
	return found ? 0 : -ENOENT;
}

/* ---- one disk ------------------------------------------------------------ */

struct copy_mend {
	const char *name;
	struct layout_plan plan;
	int dir, index;
	const uint64_t *bad;
	size_t bads;
	struct index_record *record;
	size_t n;
	bool dropped;
};

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool
is_bad(const struct copy_mend *m, const struct index_record *r)
{
	return r->kind == INDEX_BLOCK && m->bads &&
	       bsearch(&r->number, m->bad, m->bads, sizeof *m->bad, by_value);
}

/* True if record i is a gap that directly precedes its block. */
static bool
has_block(const struct copy_mend *m, size_t i)
{
	const struct index_record *r = &m->record[i];

	return r->kind == INDEX_GAP && i + 1 < m->n &&
	       r[1].kind == INDEX_BLOCK && r[1].number == r->number + 1;
}

/* True if record i is kept.  A gap is dropped with its block, which brings it
 * again. */
static bool
is_kept(const struct copy_mend *m, size_t i)
{
	const struct index_record *r = &m->record[i];

	if (r->kind != INDEX_GAP)
		return !is_bad(m, r);
	return has_block(m, i) && !is_bad(m, r + 1);
}

static void
records_drop(struct copy_mend *m)
{
	bool shared = layout_plan_shared(&m->plan);
	size_t kept = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (is_kept(m, i))
			m->record[kept++] = m->record[i];
		else if (shared)
			break;
		else
			i += has_block(m, i); /* drop its block too */
	}
	m->dropped = kept < m->n;
	m->n = kept;
}

/* Returns the numbers of its blocks, sorted; malloc'ed. */
static uint64_t *
numbers_of(const struct copy_mend *m, size_t *n)
{
	uint64_t *number = malloc(m->n * sizeof *number + 1);

	*n = 0;
	for (size_t i = 0; number && i < m->n; i++) {
		if (m->record[i].kind == INDEX_BLOCK)
			number[(*n)++] = m->record[i].number;
	}
	if (*n)
		qsort(number, *n, sizeof *number, by_value);
	return number;
}

static int
chunks_drop(const struct copy_mend *m)
{
	size_t n;
	uint64_t *known = numbers_of(m, &n), number;
	struct file_list *dir = NULL;
	int err = known ? file_list_at(&dir, m->dir) : -ENOMEM;
	const struct dirent *e;

	while (!err && (e = file_list_next(dir))) {
		if (layout_chunk_number(e->d_name, m->name, &number) &&
		    !(n && bsearch(&number, known, n, sizeof number, by_value)))
			file_remove_at(m->dir, e->d_name, 0);
	}
	if (dir)
		file_list_close(dir);
	free(known);
	return err;
}

static int
mend(struct copy_mend *m)
{
	char file[LAYOUT_FILE];
	struct append_file made;
	uint64_t torn;
	int err;

	m->index = disk_open_at(m->dir, layout_index(file, m->name), O_RDWR,
				DISK_NO_LINKS);
	if (m->index < 0)
		return m->index == -ENOENT ? 0 : m->index;
	if (file_lock(m->index, LOCK_EX | LOCK_NB) < 0)
		return -EBUSY;
	err = index_read(m->index, &m->record, &m->n, &torn);
	if (err)
		return err;
	records_drop(m);
	if (m->dropped) {
		err = index_replace(&made, m->dir, m->name, m->record, m->n);
		if (!err)
			file_close(made.fd);
	}
	if (!err && !layout_plan_shared(&m->plan))
		err = chunks_drop(m);
	return err;
}

int
copy_origin_mend(const struct disk *disk, const char *name, const json_t *head,
		 const uint64_t *bad, size_t n)
{
	struct copy_mend m = {
		.name = name, .bad = bad, .bads = n, .dir = -1, .index = -1
	};
	int err = layout_plan_make(&m.plan, name, head);

	if (err)
		return err;
	m.dir = layout_dir_open(disk->fd, name, DISK_NO_LINKS);
	if (m.dir < 0)
		return m.dir;
	err = mend(&m);
	free(m.record);
	if (m.index >= 0)
		file_close(m.index);
	file_close(m.dir);
	return err;
}
