/* SPDX-License-Identifier: MIT */
/*
 * The table is read whole and sorted twice: parity blocks by group, members by
 * number.  For each member it takes as much memory as an index does.  Two rows
 * of a group say the same of its members, so one of them is enough.
 */
#include "store/parity/parity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "contract/bytes.h"
#include "store/disk/file.h"

enum {
	AT_GROUP = 0,
	AT_BYTES = 8,
	AT_MEMBERS = 16,
	AT_ROW = 20,
	AT_ROWS = 22,
	AT_GENERATION = 24,
	AT_GAPS = 32,
	AT_KIND = 54,
	AT_CRC = 56,
	AT_CHECK = 60,
};

void
parity_pack(uint8_t *raw, const struct parity_record *p,
	    const struct index_record *member)
{
	memset(raw, 0, INDEX_BYTES);
	write_le64(raw + AT_GROUP, p->group);
	write_le64(raw + AT_BYTES, p->bytes);
	write_le32(raw + AT_MEMBERS, p->members);
	write_le16(raw + AT_ROW, p->row);
	write_le16(raw + AT_ROWS, p->rows);
	write_le64(raw + AT_GENERATION, p->generation);
	write_le32(raw + AT_GAPS, p->gaps);
	raw[AT_KIND] = PARITY_KIND;
	write_le32(raw + AT_CRC, p->crc);
	write_le32(raw + AT_CHECK, crc32c(0, raw, AT_CHECK));
	for (uint32_t i = 0; i < p->members + p->gaps; i++)
		index_pack(raw + (i + 1) * (size_t)INDEX_BYTES, &member[i]);
}

int
parity_unpack(struct parity_record *p, const uint8_t raw[INDEX_BYTES])
{
	*p = (struct parity_record){ .group = read_le64(raw + AT_GROUP),
				     .generation =
					 read_le64(raw + AT_GENERATION),
				     .bytes = read_le64(raw + AT_BYTES),
				     .members = read_le32(raw + AT_MEMBERS),
				     .gaps = read_le32(raw + AT_GAPS),
				     .row = read_le16(raw + AT_ROW),
				     .rows = read_le16(raw + AT_ROWS),
				     .crc = read_le32(raw + AT_CRC) };
	if (raw[AT_KIND] != PARITY_KIND ||
	    read_le32(raw + AT_CHECK) != crc32c(0, raw, AT_CHECK) ||
	    !p->bytes || p->bytes > PARITY_MOST || !p->members ||
	    p->members > PARITY_MEMBERS || p->gaps > p->members || !p->rows ||
	    p->rows > PARITY_ROWS || p->row >= p->rows ||
	    p->group >= LAYOUT_CHUNKS)
		return -EBADMSG;
	return 0;
}

/* ---- the table ----------------------------------------------------------- */

/* Makes room for `more` further entries of a list.  0 or -ENOMEM. */
static int
grow(void **list, size_t *room, size_t used, size_t more, size_t each)
{
	size_t want = 2 * (used + more);
	void *grown;

	if (used + more <= *room)
		return 0;
	grown = realloc(*list, want * each);
	if (!grown)
		return -ENOMEM;
	*list = grown;
	*room = want;
	return 0;
}

static int
make_room(struct parity_table *t, uint32_t records)
{
	void *block = t->block, *member = t->member;
	int err = grow(&block, &t->blocks_room, t->blocks, 1, sizeof *t->block);

	t->block = block;
	if (!err)
		err = grow(&member, &t->members_room, t->members, records,
			   sizeof *t->member);
	t->member = member;
	return err;
}

/* Unpacks the members of a tail, and the gaps before them.  False: the members are
 * no blocks of this parity, which is as long as the longest of them. */
static bool
members_take(struct index_record *r, const struct parity_record *p,
	     const uint8_t *raw)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < p->members + p->gaps; i++, r++) {
		bool gap = i >= p->members;

		raw += INDEX_BYTES;
		if (index_unpack(r, raw) || r->number >= LAYOUT_CHUNKS ||
		    r->kind != (gap ? INDEX_GAP : INDEX_BLOCK))
			return false;
		if (!gap && r->bytes > most)
			most = r->bytes;
	}
	return most == p->bytes;
}

/* Adds a tail.  Returns its bytes, 0 if there is no good one, or -ENOMEM. */
static ssize_t
take(struct parity_table *t, const uint8_t *raw, size_t left, unsigned disk)
{
	struct parity_record p;
	size_t bytes;

	if (left < INDEX_BYTES || parity_unpack(&p, raw))
		return 0;
	bytes = parity_tail_bytes(&p);
	if (bytes > left)
		return 0;
	if (make_room(t, p.members + p.gaps))
		return -ENOMEM;
	if (!members_take(&t->member[t->members], &p, raw))
		return 0;
	t->block[t->blocks++] = (struct parity_block){ .record = p,
						       .disk = disk,
						       .first = t->members };
	t->members += p.members + p.gaps;
	return (ssize_t)bytes;
}

int
parity_read(struct parity_table *t, int fd, unsigned disk, uint64_t *from)
{
	struct stat st;
	uint8_t *raw;
	ssize_t got;
	size_t at = 0, good = 0, size;
	int err = 0;

	if (file_stat(fd, &st) < 0)
		return -errno;
	if (st.st_size > INDEX_MOST)
		return -EFBIG;
	if ((uint64_t)st.st_size <= *from)
		return 0;
	size = (size_t)st.st_size - *from;
	raw = malloc(size + 1);
	if (!raw)
		return -ENOMEM;
	got = read_whole(fd, raw, size, *from);
	if (got < 0)
		err = (int)got;
	while (!err && at < (size_t)got) {
		ssize_t bytes = take(t, raw + at, (size_t)got - at, disk);

		/* A bad record is skipped, to find the next good one. */
		if (bytes < 0)
			err = (int)bytes;
		else
			at += bytes ? (size_t)bytes : INDEX_BYTES;
		if (bytes > 0)
			good = at;
	}
	*from += good;
	free(raw);
	return err;
}

static int
by_group(const void *a, const void *b)
{
	const struct parity_block *x = a, *y = b;

	if (x->record.group != y->record.group)
		return x->record.group < y->record.group ? -1 : 1;
	if (x->record.generation != y->record.generation)
		return x->record.generation < y->record.generation ? -1 : 1;
	if (x->record.row != y->record.row)
		return x->record.row < y->record.row ? -1 : 1;
	return (x->disk > y->disk) - (x->disk < y->disk);
}

/* An entry of parity_table::by_number while that is sorted: of two groups with a
 * member of one number the later generation counts. */
struct membership {
	struct parity_member is;
	uint64_t generation;
};

static int
by_number(const void *a, const void *b)
{
	const struct membership *x = a, *y = b;

	if (x->is.number != y->is.number)
		return x->is.number < y->is.number ? -1 : 1;
	if (x->generation != y->generation)
		return x->generation > y->generation ? -1 : 1;
	return (x->is.block > y->is.block) - (x->is.block < y->is.block);
}

static int
gaps_by_number(const void *a, const void *b)
{
	const struct index_record *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Collects the records of gaps, each once. */
static int
gaps_sort(struct parity_table *t)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < t->blocks; i++)
		n += t->block[i].record.gaps;
	free(t->gap);
	t->gaps = 0;
	t->gap = malloc((n + 1) * sizeof *t->gap);
	if (!t->gap)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < t->blocks; i++) {
		const struct parity_block *b = &t->block[i];

		for (uint32_t k = 0; k < b->record.gaps; k++)
			t->gap[n++] =
			    t->member[b->first + b->record.members + k];
	}
	if (n)
		qsort(t->gap, n, sizeof *t->gap, gaps_by_number);
	for (size_t i = 0; i < n; i++) {
		if (!kept || t->gap[kept - 1].number != t->gap[i].number)
			t->gap[kept++] = t->gap[i];
	}
	t->gaps = kept;
	return 0;
}

const struct index_record *
parity_find_gap(const struct parity_table *t, uint64_t number)
{
	const struct index_record key = { .number = number };

	return t->gaps
		   ? bsearch(&key, t->gap, t->gaps, sizeof key, gaps_by_number)
		   : NULL;
}

int
parity_sort(struct parity_table *t)
{
	struct membership *all = malloc((t->members + 1) * sizeof *all);
	size_t n = 0, kept = 0;

	free(t->by_number);
	t->numbers = 0;
	t->by_number = malloc((t->members + 1) * sizeof *t->by_number);
	if (!t->by_number || !all || gaps_sort(t)) {
		free(all);
		return -ENOMEM;
	}
	if (t->blocks)
		qsort(t->block, t->blocks, sizeof *t->block, by_group);
	for (size_t i = 0; i < t->blocks; i++) {
		const struct parity_block *b = &t->block[i];

		for (uint32_t k = 0; k < b->record.members; k++)
			all[n++] = (struct membership){
				.is = { .number =
					    t->member[b->first + k].number,
					.block = i,
					.column = k },
				.generation = b->record.generation
			};
	}
	if (n)
		qsort(all, n, sizeof *all, by_number);
	for (size_t i = 0; i < n; i++) {
		const struct parity_member *m =
		    kept ? &t->by_number[kept - 1] : NULL;

		if (!m || m->number != all[i].is.number ||
		    !parity_same_group(&t->block[m->block],
				       &t->block[all[i].is.block]))
			t->by_number[kept++] = all[i].is;
	}
	t->numbers = kept;
	free(all);
	return 0;
}

const struct parity_block *
parity_first(const struct parity_table *t, const struct parity_block *p)
{
	while (p > t->block && parity_same_group(p - 1, p))
		p--;
	return p;
}

unsigned
parity_rows(const struct parity_table *t, const struct parity_member *m)
{
	const struct parity_block *first = parity_first(t, &t->block[m->block]);
	unsigned rows = 0, last = PARITY_ROWS;

	for (const struct parity_block *p = first;
	     p < t->block + t->blocks && parity_same_group(p, first); p++) {
		rows += p->record.row != last;
		last = p->record.row;
	}
	return rows;
}

const struct parity_block *
parity_on(const struct parity_table *t, uint64_t group, uint64_t generation,
	  unsigned disk)
{
	const struct parity_block key = {
		.record = { .group = group, .generation = generation }
	};
	size_t low = 0, high = t->blocks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_group(&t->block[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < t->blocks && parity_same_group(&t->block[low], &key);
	     low++) {
		if (t->block[low].disk == disk)
			return &t->block[low];
	}
	return NULL;
}

void
parity_clear(struct parity_table *t)
{
	free(t->block);
	free(t->member);
	free(t->by_number);
	free(t->gap);
	*t = (struct parity_table){ 0 };
}

const struct parity_member *
parity_find(const struct parity_table *t, uint64_t number)
{
	size_t low = 0, high = t->numbers;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->by_number[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->numbers && t->by_number[low].number == number
		   ? &t->by_number[low]
		   : NULL;
}
