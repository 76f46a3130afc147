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
	raw[AT_KIND] = PARITY_KIND;
	write_le32(raw + AT_CRC, p->crc);
	write_le32(raw + AT_CHECK, crc32c(0, raw, AT_CHECK));
	for (uint32_t i = 0; i < p->members; i++)
		index_pack(raw + (i + 1) * (size_t)INDEX_BYTES, &member[i]);
}

int
parity_unpack(struct parity_record *p, const uint8_t raw[INDEX_BYTES])
{
	*p = (struct parity_record){ .group = read_le64(raw + AT_GROUP),
				     .bytes = read_le64(raw + AT_BYTES),
				     .members = read_le32(raw + AT_MEMBERS),
				     .row = read_le16(raw + AT_ROW),
				     .rows = read_le16(raw + AT_ROWS),
				     .crc = read_le32(raw + AT_CRC) };
	if (raw[AT_KIND] != PARITY_KIND ||
	    read_le32(raw + AT_CHECK) != crc32c(0, raw, AT_CHECK) ||
	    !p->bytes || p->bytes > PARITY_BYTES || !p->members ||
	    p->members > PARITY_MEMBERS || !p->rows || p->rows > PARITY_ROWS ||
	    p->row >= p->rows)
		return -EBADMSG;
	return 0;
}

/* How many members there are is in the tail, and how long the tail is follows from
 * that: so each number is tried. */
int
parity_tail_read(int fd, struct parity_record *p, uint8_t **tail)
{
	size_t most = parity_tail_bytes(PARITY_MEMBERS), have, bytes;
	struct stat st;
	uint8_t *end;
	ssize_t got;

	if (fstat(fd, &st) < 0)
		return -errno;
	have = (size_t)st.st_size < most ? (size_t)st.st_size : most;
	end = malloc(have + 1);
	if (!end)
		return -ENOMEM;
	got = read_whole(fd, end, have, (uint64_t)st.st_size - have);
	for (uint32_t m = 1; got == (ssize_t)have && m <= PARITY_MEMBERS; m++) {
		bytes = parity_tail_bytes(m);
		if (bytes > have)
			break;
		if (parity_unpack(p, end + have - bytes) || p->members != m ||
		    p->bytes + bytes != (uint64_t)st.st_size)
			continue;
		memmove(end, end + have - bytes, bytes);
		*tail = end;
		return 0;
	}
	free(end);
	return got < 0 ? (int)got : -EBADMSG;
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
make_room(struct parity_table *t, uint32_t members)
{
	void *block = t->block, *member = t->member;
	int err = grow(&block, &t->blocks_room, t->blocks, 1, sizeof *t->block);

	t->block = block;
	if (!err)
		err = grow(&member, &t->members_room, t->members, members,
			   sizeof *t->member);
	t->member = member;
	return err;
}

/* Unpacks the members of a tail.  False: they are no blocks of this parity, which
 * is as long as the longest of them. */
static bool
members_take(struct index_record *r, const struct parity_record *p,
	     const uint8_t *raw)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < p->members; i++, r++) {
		raw += INDEX_BYTES;
		if (index_unpack(r, raw) || r->kind != INDEX_BLOCK ||
		    r->number >= LAYOUT_CHUNKS)
			return false;
		if (r->bytes > most)
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
	bytes = parity_tail_bytes(p.members);
	if (bytes > left)
		return 0;
	if (make_room(t, p.members))
		return -ENOMEM;
	if (!members_take(&t->member[t->members], &p, raw))
		return 0;
	t->block[t->blocks++] = (struct parity_block){ .record = p,
						       .disk = disk,
						       .first = t->members };
	t->members += p.members;
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

	if (fstat(fd, &st) < 0)
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

		/* A bad record costs itself: what is behind it is sought. */
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
	if (x->record.row != y->record.row)
		return x->record.row < y->record.row ? -1 : 1;
	return (x->disk > y->disk) - (x->disk < y->disk);
}

static int
by_number(const void *a, const void *b)
{
	const struct parity_member *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

int
parity_sort(struct parity_table *t)
{
	size_t n = 0, kept = 0;

	free(t->by_number);
	t->numbers = 0;
	t->by_number = malloc((t->members + 1) * sizeof *t->by_number);
	if (!t->by_number)
		return -ENOMEM;
	if (t->blocks)
		qsort(t->block, t->blocks, sizeof *t->block, by_group);
	for (size_t i = 0; i < t->blocks; i++) {
		const struct parity_block *b = &t->block[i];

		for (uint32_t k = 0; k < b->record.members; k++)
			t->by_number[n++] = (struct parity_member){
				.number = t->member[b->first + k].number,
				.block = i,
				.column = k
			};
	}
	if (n)
		qsort(t->by_number, n, sizeof *t->by_number, by_number);
	for (size_t i = 0; i < n; i++) {
		if (!kept ||
		    t->by_number[kept - 1].number != t->by_number[i].number)
			t->by_number[kept++] = t->by_number[i];
	}
	t->numbers = kept;
	return 0;
}

void
parity_clear(struct parity_table *t)
{
	free(t->block);
	free(t->member);
	free(t->by_number);
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
