/* SPDX-License-Identifier: MIT */
/*
 * The metadata names a block when its writing begins ("chunk", not for every
 * kind of stream) and when it was written ("written").  If every block has a
 * file of its own, that file must exist, be long enough and have no hole: a
 * power cut may have taken the data and left the line.  If all share a file,
 * blocks lie behind those of the index in the order of their "chunk" lines; a
 * line "cut" says that the file was cut, and takes back the blocks behind.
 *
 * Mark6's blocks have headers, too.  A header that can be read says which block
 * it is; where it cannot, or lines are gone, the other one does.
 */
#include "store/finish/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/disk/file.h"
#include "store/record/meta.h"

struct leftover_scan {
	struct leftovers *to;
	int dir;
	const struct layout_plan *plan;
	const struct index_record *record;
	size_t records;
	uint64_t *known; /* numbers in the index, sorted */
};

static struct leftover *
add(struct leftovers *l, uint64_t number)
{
	struct leftover *grown = l->block;

	/* The array doubles when its length is a power of two. */
	if (!(l->n & (l->n - 1)))
		grown = realloc(grown, (2 * l->n + 1) * sizeof *grown);
	if (!grown)
		return NULL;
	l->block = grown;
	grown[l->n] = (struct leftover){ .record.number = number };
	return &grown[l->n++];
}

static void
see_number(struct leftovers *l, uint64_t number)
{
	if (number >= l->next)
		l->next = number + 1;
}

static int
failed(struct leftovers *l, const char *file, int err)
{
	snprintf(l->file, sizeof l->file, "%s", file);
	return err;
}

/* ---- the index ----------------------------------------------------------- */

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int
read_index(struct leftover_scan *s)
{
	struct leftovers *l = s->to;
	struct layout_spot spot;

	s->known = malloc((s->records + 1) * sizeof *s->known);
	if (!s->known)
		return -ENOMEM;
	l->end = layout_plan_begin(s->plan, NULL);
	for (size_t i = 0; i < s->records; i++) {
		const struct index_record *r = &s->record[i];

		s->known[i] = r->number;
		if (r->number >= l->next)
			l->next = r->number + 1;
		if (r->kind != INDEX_BLOCK || !l->shared)
			continue;
		layout_plan_spot(s->plan, l->end, r->number, r->bytes, &spot);
		l->end = spot.end;
	}
	qsort(s->known, s->records, sizeof *s->known, by_value);
	return 0;
}

static bool
is_known(const struct leftover_scan *s, uint64_t number)
{
	return bsearch(&number, s->known, s->records, sizeof number, by_value);
}

/* ---- the metadata -------------------------------------------------------- */

static int
read_text(struct leftover_scan *s)
{
	struct leftovers *l = s->to;
	char file[LAYOUT_FILE];
	struct stat st;
	const char *end;
	ssize_t got = 0;
	int fd, err = 0;

	layout_meta(file, s->plan->name);
	fd = disk_open_at(s->dir, file, O_RDONLY, DISK_NO_LINKS);
	if (fd < 0)
		return fd == -ENOENT ? 0 : failed(l, file, fd);
	if (file_stat(fd, &st) < 0)
		err = -errno;
	else if ((uint64_t)st.st_size > meta_most(s->record, s->records))
		err = -EFBIG;
	l->text = err ? NULL : malloc((size_t)st.st_size + 1);
	if (!err && !l->text)
		err = -ENOMEM;
	if (!err) {
		l->noted_ns =
		    (int64_t)st.st_mtim.tv_sec * NS_SECOND + st.st_mtim.tv_nsec;
		got = read_whole(fd, l->text, (size_t)st.st_size, 0);
		err = got < 0 ? (int)got : 0;
	}
	end = got > 0 ? memrchr(l->text, '\n', (size_t)got) : NULL;
	l->bytes = end ? (size_t)(end - l->text) + 1 : 0;
	file_close(fd);
	return err ? failed(l, file, err) : 0;
}

static struct leftover *
find(struct leftover *block, size_t n, uint64_t number)
{
	while (n--) {
		if (block[n].record.number == number)
			return &block[n];
	}
	return NULL;
}

static void
place(const struct leftover_scan *s, struct leftover *b, uint64_t start,
      uint64_t bytes)
{
	struct layout_spot spot;

	layout_plan_spot(s->plan, start, b->record.number, bytes, &spot);
	b->start = spot.start;
	b->at = spot.offset;
	b->end = spot.end;
}

static int
take_begun(struct leftover_scan *s, const json_t *line, uint64_t number)
{
	struct leftovers *l = s->to;
	uint64_t end = l->n ? l->block[l->n - 1].end : l->end;
	struct index_record r;
	struct leftover *b;

	if (meta_read_chunk(line, &r) || r.number != number)
		return 0;
	b = add(l, r.number);
	if (!b)
		return -ENOMEM;
	b->record = r;
	b->noted = true;
	if (l->shared)
		place(s, b, end, r.bytes);
	return 0;
}

static int
take_written(struct leftover_scan *s, const json_t *line, uint64_t number)
{
	struct leftovers *l = s->to;
	struct index_record r;
	struct leftover *b;
	uint32_t gap;

	if (meta_read_written(line, &r, &gap) || r.number != number)
		return 0;
	b = l->shared ? find(l->block, l->n, r.number) : add(l, r.number);
	if (!b)
		return l->shared ? 0 : -ENOMEM;
	/* The length that was begun says where the next block lies, so it must be
	 * that of the record. */
	if (l->shared && r.bytes != b->record.bytes)
		return 0;
	b->record = r;
	b->gap = gap;
	b->noted = b->written = true;
	return 0;
}

static void
take_cut(struct leftovers *l, const json_t *line)
{
	uint64_t bytes = meta_read_cut(line);

	while (l->n && l->block[l->n - 1].end > bytes)
		l->n--;
}

/* Returns the text behind `key`, or NULL if the line does not begin with it. */
static const char *
behind(const char *line, size_t bytes, const char *key)
{
	size_t length = strlen(key);

	return bytes > length && !memcmp(line, key, length) ? line + length
							    : NULL;
}

static int
take_line(struct leftover_scan *s, const char *text, size_t bytes)
{
	const char *chunk = behind(text, bytes, "{\"chunk\":");
	const char *written = behind(text, bytes, "{\"written\":");
	const char *cut = behind(text, bytes, "{\"cut\":");
	uint64_t number = 0;
	json_t *line;
	int err = 0;

	if (!chunk && !written && !cut)
		return 0;
	if (!cut) {
		number = strtoull(chunk ? chunk : written, NULL, 10);
		if (number >= LAYOUT_CHUNKS)
			return 0;
		see_number(s->to, number);
		if (is_known(s, number)) {
			/* The index has this block: blocks noted before it were
			 * taken back. */
			if (chunk && s->to->shared)
				s->to->n = 0;
			return 0;
		}
	}
	line = json_loadb(text, bytes, 0, NULL);
	if (line && cut)
		take_cut(s->to, line);
	else if (line && chunk)
		err = take_begun(s, line, number);
	else if (line)
		err = take_written(s, line, number);
	json_decref(line);
	return err;
}

static int
take_lines(struct leftover_scan *s)
{
	const char *text = s->to->text, *newline;
	size_t at = 0;
	int err = 0;

	while (!err && at < s->to->bytes) {
		newline = memchr(text + at, '\n', s->to->bytes - at);
		err = take_line(s, text + at, (size_t)(newline - text) - at);
		at = (size_t)(newline - text) + 1;
	}
	return err;
}

/* True if the number and slots of the gap before a block are free.  A line in
 * which they are not is damaged, so its block is not believed to be whole. */
static bool
gap_fits(const struct leftover_scan *s, const struct leftover *b)
{
	return !b->gap || (b->record.number && b->record.first >= b->gap &&
			   !is_known(s, b->record.number - 1));
}

/* True if the file has all these bytes, and no hole among them. */
static bool
has_bytes(int fd, uint64_t from, uint64_t bytes)
{
	struct stat st;
	off_t hole;

	if (file_stat(fd, &st) < 0 || (uint64_t)st.st_size < from + bytes)
		return false;
	hole = bytes ? file_seek(fd, (off_t)from, SEEK_HOLE) : -1;
	return hole < 0 || (uint64_t)hole >= from + bytes;
}

/* ---- a file for each block ----------------------------------------------- */

static int
take_names(struct leftover_scan *s)
{
	struct leftovers *l = s->to;
	const struct dirent *e;
	struct leftover *b;
	uint64_t number;
	struct file_list *dir;
	int err = file_list_at(&dir, s->dir);

	if (err)
		return err;
	while (!err && (e = file_list_next(dir))) {
		if (!layout_chunk_number(e->d_name, s->plan->name, &number))
			continue;
		l->chunks = true;
		see_number(l, number);
		if (is_known(s, number))
			continue;
		b = add(l, number);
		if (b)
			b->there = true;
		else
			err = -ENOMEM;
	}
	file_list_close(dir);
	return err;
}

static int
by_number(const void *a, const void *b)
{
	const struct leftover *x = a, *y = b;

	if (x->record.number != y->record.number)
		return x->record.number < y->record.number ? -1 : 1;
	/* Lines come before names, and those of written blocks first. */
	if (x->written != y->written)
		return x->written ? -1 : 1;
	return y->noted - x->noted;
}

/* Makes one of what lines and names say of each number. */
static void
fold(struct leftovers *l)
{
	size_t kept = 0;

	if (l->n)
		qsort(l->block, l->n, sizeof *l->block, by_number);
	for (size_t i = 0; i < l->n; i++) {
		struct leftover *last = kept ? &l->block[kept - 1] : NULL;

		if (last && last->record.number == l->block[i].record.number)
			last->there |= l->block[i].there;
		else
			l->block[kept++] = l->block[i];
	}
	l->n = kept;
}

static int
look_at_chunks(struct leftover_scan *s)
{
	struct leftovers *l = s->to;
	int err = take_names(s);

	if (err)
		return err;
	fold(l);
	for (size_t i = 0; i < l->n; i++) {
		struct leftover *b = &l->block[i];
		char file[LAYOUT_FILE];
		int fd;

		if (!b->written || !b->there || !gap_fits(s, b))
			continue;
		layout_chunk(file, s->plan->name, b->record.number);
		fd = disk_open_at(s->dir, file, O_RDONLY, DISK_NO_LINKS);
		b->whole = fd >= 0 && has_bytes(fd, 0, b->record.bytes);
		if (fd >= 0)
			file_close(fd);
	}
	return 0;
}

/* ---- a file for all blocks ----------------------------------------------- */

/* Goes through Mark6's blocks, and gives each what lines say of it. */
static int
take_headers(struct leftover_scan *s, int fd, uint64_t size)
{
	struct leftovers *l = s->to;
	struct leftover *noted = l->block;
	size_t n = l->n, i = 0;
	uint64_t at = l->end;
	int err = 0;

	l->block = NULL;
	l->n = 0;
	while (at < size) {
		uint64_t number, bytes;
		uint8_t raw[SG_BLOCK];
		const struct leftover *says;
		struct leftover *b;
		bool headed;

		while (i < n && noted[i].start < at)
			i++;
		headed = read_whole(fd, raw, sizeof raw, at) == sizeof raw &&
			 !layout_plan_back(s->plan, raw, size - at, &number,
					   &bytes) &&
			 number < LAYOUT_CHUNKS && !is_known(s, number);
		if (!headed && (i == n || noted[i].start != at))
			break;
		if (!headed)
			number = noted[i].record.number;
		says = find(noted, n, number);
		b = add(l, number);
		if (!b) {
			err = -ENOMEM;
			break;
		}
		if (says)
			*b = *says;
		b->headless = !headed;
		see_number(l, number);
		place(s, b, at, 0);
		at = b->end;
	}
	free(noted);
	return err;
}

/* Sees how much of a block the file has. */
static void
measure(const struct leftover_scan *s, struct leftover *b, int fd,
	uint64_t size)
{
	uint64_t left = size > b->at ? size - b->at : 0;
	uint64_t room = b->end - b->at, bytes = room;

	if (b->noted && b->record.bytes < room)
		bytes = b->record.bytes;
	b->there = left > 0;
	b->full = bytes <= left;
	b->bytes = b->full ? bytes : left;
	b->whole = b->written && !b->headless && gap_fits(s, b) &&
		   b->record.bytes <= room &&
		   has_bytes(fd, b->at, b->record.bytes);
}

static int
look_at_data(struct leftover_scan *s)
{
	struct leftovers *l = s->to;
	struct layout_spot spot;
	struct stat st;
	int fd, err = 0;

	layout_plan_spot(s->plan, 0, 0, 0, &spot);
	fd = disk_open_at(s->dir, spot.file, O_RDONLY, DISK_NO_LINKS);
	if (fd < 0 && fd != -ENOENT)
		return failed(l, spot.file, fd);
	if (fd < 0)
		return 0;
	if (file_stat(fd, &st) < 0)
		err = -errno;
	else if (s->plan->layout == LAYOUT_MARK6)
		err = take_headers(s, fd, (uint64_t)st.st_size);
	for (size_t i = 0; !err && i < l->n; i++)
		measure(s, &l->block[i], fd, (uint64_t)st.st_size);
	file_close(fd);
	return err;
}

/* ---- all ----------------------------------------------------------------- */

int
leftovers_read(struct leftovers *l, int dir, const struct layout_plan *plan,
	       const struct index_record *record, size_t records)
{
	struct leftover_scan s = { .to = l,
				   .dir = dir,
				   .plan = plan,
				   .record = record,
				   .records = records };
	int err;

	*l = (struct leftovers){ .shared = layout_plan_shared(plan) };
	err = read_index(&s);
	if (!err)
		err = read_text(&s);
	if (!err)
		err = take_lines(&s);
	if (!err)
		err = l->shared ? look_at_data(&s) : look_at_chunks(&s);
	free(s.known);
	return err;
}

void
leftovers_clear(struct leftovers *l)
{
	free(l->block);
	free(l->text);
	*l = (struct leftovers){ 0 };
}

bool
leftovers_head_is(const struct leftovers *l, const json_t *head)
{
	json_t *is = json_loadb(l->text ? l->text : "", l->bytes,
				JSON_DISABLE_EOF_CHECK, NULL);
	bool same = is && json_equal(is, head);

	json_decref(is);
	return same;
}

int
leftovers_adopt(const struct leftovers *l, uint64_t below,
		struct index_record **record, size_t *n, uint64_t *stop)
{
	struct index_record *grown =
	    realloc(*record, (*n + 2 * l->n + 1) * sizeof *grown);

	if (!grown)
		return -ENOMEM;
	*record = grown;
	*stop = l->next;
	for (size_t i = 0; i < l->n; i++) {
		const struct leftover *b = &l->block[i];

		if (!b->whole || b->record.number >= below) {
			if (!l->shared)
				continue;
			*stop = b->record.number;
			break;
		}
		if (b->gap)
			grown[(*n)++] = index_gap(&b->record, b->gap);
		grown[(*n)++] = b->record;
	}
	return 0;
}
