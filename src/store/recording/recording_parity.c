/* SPDX-License-Identifier: MIT */
/*
 * Parity (store/parity) gives a recording the records of blocks whose disk is
 * away, and the data of blocks that cannot be read.  Each disk has a list of
 * its parity blocks, and each entry has the index records of all members of its
 * group; so the lists of the disks that are left say what the others had.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/recording/recording_priv.h"
#include "store/disk/file.h"

/* Reads what is new in the list of a disk.  A list that cannot be read is as
 * one that is not there. */
static int
read_part(struct recording *rec, unsigned disk)
{
	struct recording_part *part = &rec->part[disk];
	char file[LAYOUT_FILE];
	int fd, err;

	fd = disk_open_at(part->dir, layout_parity_list(file, rec->name),
			  O_RDONLY, DISK_NO_LINKS);
	if (fd < 0)
		return 0;
	err = parity_read(&rec->parity, fd, disk, &part->parity_bytes);
	file_close(fd);
	return err == -ENOMEM ? err : 0;
}

int
recording_parity(struct recording *rec)
{
	json_int_t rows =
	    json_integer_value(json_object_get(rec->head, "parity"));
	size_t had = rec->parity.blocks;
	int err = 0;

	/* The head may be damaged and still parse. */
	rec->facts.parity =
	    rows < 0 || rows > PARITY_ROWS ? PARITY_ROWS : (unsigned)rows;
	for (unsigned i = 0; i < rec->disks->n && rec->facts.parity; i++) {
		if (rec->part[i].dir >= 0 && !rec->part[i].hangs && !err)
			err = read_part(rec, i);
	}
	if (err || rec->parity.blocks == had)
		return err;
	rec->stale = true;
	return parity_sort(&rec->parity);
}

void
recording_parity_forget(struct recording *rec)
{
	parity_clear(&rec->parity);
	for (unsigned i = 0; i < rec->disks->n; i++)
		rec->part[i].parity_bytes = 0;
	rec->stale = true;
}

bool
recording_protects(const struct recording *rec, uint64_t number)
{
	return rec->parity.numbers && parity_find(&rec->parity, number);
}

/* True if a member is there as its group knows it. */
static bool
member_there(const struct recording *rec, const struct index_record *r)
{
	const struct recording_block *b =
	    r->number < rec->blocks ? &rec->block[r->number] : NULL;

	return b && b->disk >= 0 && !b->computed &&
	       b->record.kind == INDEX_BLOCK && b->record.bytes == r->bytes &&
	       (!(b->record.flags & r->flags & INDEX_SUMMED) ||
		b->record.crc == r->crc);
}

/* The state of a group: how many of its blocks each disk has, how many members
 * are lost, and how many rows of parity are there. */
struct group_state {
	uint8_t on[BLOCK_DISKS]; /* at most 255 */
	unsigned lost, rows;
	bool doubled; /* a disk has two */
};

static void
state_add(struct group_state *s, int disk)
{
	if (disk < 0 || disk >= BLOCK_DISKS)
		return;
	s->doubled |= s->on[disk] > 0;
	s->on[disk] += s->on[disk] < UINT8_MAX;
}

static void
group_look(const struct recording *rec, const struct parity_block *p,
	   struct group_state *s)
{
	const struct parity_table *t = &rec->parity;
	const struct parity_block *first = parity_first(t, p);
	bool seen[PARITY_ROWS] = { false };

	*s = (struct group_state){ .lost = 0 };
	for (uint32_t i = 0; i < p->record.members; i++) {
		const struct index_record *r = &t->member[p->first + i];

		if (member_there(rec, r))
			state_add(s, rec->block[r->number].disk);
		else
			s->lost++;
	}
	/* A row may have two blocks, after a disk came back: one counts, first
	 * of all one on a disk with no other block of the group. */
	for (p = first; p < t->block + t->blocks && parity_same_group(p, first);
	     p++) {
		if (seen[p->record.row] || p->disk >= BLOCK_DISKS ||
		    s->on[p->disk])
			continue;
		seen[p->record.row] = true;
		state_add(s, (int)p->disk);
		s->rows++;
	}
	for (p = first; p < t->block + t->blocks && parity_same_group(p, first);
	     p++) {
		if (seen[p->record.row])
			continue;
		seen[p->record.row] = true;
		state_add(s, (int)p->disk);
		s->rows++;
	}
}

/* Looks at the group of a block.  NULL if it is in none, else one of the
 * group's parity blocks. */
static const struct parity_block *
group_find(const struct recording *rec, uint64_t number, struct group_state *s)
{
	const struct parity_table *t = &rec->parity;
	const struct parity_member *m;

	m = t->numbers ? parity_find(t, number) : NULL;
	if (!m)
		return NULL;
	group_look(rec, &t->block[m->block], s);
	return &t->block[m->block];
}

unsigned
recording_margin(const struct recording *rec, uint64_t number)
{
	struct group_state s;
	unsigned left, may = 0;

	if (!group_find(rec, number, &s) || s.lost >= s.rows)
		return 0;
	/* The worst disks go first. */
	for (left = s.rows - s.lost; left; may++) {
		unsigned worst = 0;

		for (unsigned i = 1; i < BLOCK_DISKS; i++) {
			if (s.on[i] > s.on[worst])
				worst = i;
		}
		if (!s.on[worst] || s.on[worst] > left)
			break;
		left -= s.on[worst];
		s.on[worst] = 0;
	}
	return may;
}

bool
recording_gives(const struct recording *rec, const struct recording_block *b)
{
	const struct parity_table *t = &rec->parity;
	const struct parity_member *m;
	struct group_state s;

	if (!b->computed)
		return true;
	for (m = parity_find(t, b->record.number); m; m = parity_older(t, m)) {
		group_look(rec, &t->block[m->block], &s);
		if (s.lost <= s.rows)
			return true;
	}
	return false;
}

uint64_t
recording_parity_end(const struct recording *rec)
{
	const struct parity_table *t = &rec->parity;

	return t->numbers ? t->by_number[t->numbers - 1].number + 1 : 0;
}

bool
recording_is_whole(const struct recording *rec, uint64_t number)
{
	struct group_state s;

	return group_find(rec, number, &s) && !s.lost && !s.doubled;
}

bool
recording_is_safe(const struct recording *rec, uint64_t number)
{
	struct group_state s;
	const struct parity_block *p = group_find(rec, number, &s);

	return p && !s.lost && !s.doubled && s.rows == p->record.rows;
}

void
recording_compute(const struct recording *rec, struct recording_block *b)
{
	const struct parity_table *t = &rec->parity;
	const struct parity_member *m;
	const struct index_record *gap;

	m = t->numbers ? parity_find(t, b->record.number) : NULL;
	gap = m ? NULL : parity_find_gap(t, b->record.number);
	if (gap)
		b->record = *gap;
	if (!m)
		return;
	b->record = *parity_member_record(t, m);
	b->disk = (int)t->block[m->block].disk;
	b->bytes = RECORDING_UNSEEN;
	b->computed = true;
}

/* ---- how a block follows from its group ---------------------------------- */

static void
source_dir(const struct recording *rec, struct parity_source *s, int disk)
{
	s->disk = s->dir = -1;
	if (disk < 0 || rec->part[disk].hangs || rec->part[disk].dir < 0)
		return;
	s->disk = disk;
	s->dir = rec->part[disk].dir;
}

/* True if a block is what its group has as a member of that number: else the
 * number was given to other data later, or a list lies. */
static bool
is_member(const struct index_record *block, const struct index_record *member)
{
	bool summed = block->flags & member->flags & INDEX_SUMMED;

	return block->kind == INDEX_BLOCK && block->bytes == member->bytes &&
	       (!summed || block->crc == member->crc);
}

static void
member_source(const struct recording *rec, const struct index_record *r,
	      struct parity_source *s)
{
	const struct recording_block *b =
	    r->number < rec->blocks ? &rec->block[r->number] : NULL;
	struct recording_where where;

	*s = (struct parity_source){ .disk = -1,
				     .dir = -1,
				     .bytes = r->bytes,
				     .crc = r->crc,
				     .summed = r->flags & INDEX_SUMMED };
	if (!b || !is_member(&b->record, r) || recording_where(rec, b, &where))
		return;
	source_dir(rec, s, b->disk);
	s->offset = where.offset;
	snprintf(s->file, sizeof s->file, "%s", where.file);
}

static void
parity_source(const struct recording *rec, const struct parity_block *p,
	      struct parity_source *s)
{
	*s = (struct parity_source){ .bytes = p->record.bytes,
				     .crc = p->record.crc,
				     .summed = true };
	source_dir(rec, s, (int)p->disk);
	layout_parity(s->file, rec->name, p->record.group,
		      p->record.generation);
}

/* Says how a block follows from one group. */
static struct parity_heal *
group_plan(const struct recording *rec, const struct parity_member *m)
{
	const struct parity_table *t = &rec->parity;
	const struct parity_block *p;
	struct parity_heal *h;

	if (!is_member(&rec->block[m->number].record,
		       parity_member_record(t, m)))
		return NULL;
	p = &t->block[m->block];
	h = parity_heal_make(p->record.members);
	if (!h)
		return NULL;
	h->wanted = m->column;
	h->rows = p->record.rows;
	for (uint32_t i = 0; i < p->record.members; i++)
		member_source(rec, &t->member[p->first + i], &h->member[i]);
	for (p = parity_first(t, p); p < t->block + t->blocks &&
				     parity_same_group(p, &t->block[m->block]);
	     p++) {
		struct parity_source *s = &h->parity[p->record.row];

		/* A row may have two blocks: the first that is there. */
		if (p->record.row < h->rows && (!s->bytes || s->dir < 0))
			parity_source(rec, p, s);
	}
	return h;
}

/* Two, unless several rebuilds were cut short, or a list lies. */
enum { GROUPS = 4 };

struct parity_heal *
recording_heal_plan(const struct recording *rec, uint64_t number)
{
	const struct parity_table *t = &rec->parity;
	struct parity_heal *plan = NULL, **end = &plan;
	const struct parity_member *m;

	m = t->numbers && number < rec->blocks ? parity_find(t, number) : NULL;
	for (unsigned i = 0; m && i < GROUPS; m = parity_older(t, m), i++) {
		*end = group_plan(rec, m);
		if (*end)
			end = &(*end)->older;
	}
	return plan;
}

/* Disks that did not answer are not asked again. */
static void
plan_done(struct recording *rec, const struct parity_heal *plan)
{
	for (; plan; plan = plan->older) {
		for (unsigned i = 0; i < plan->members; i++) {
			if (plan->member[i].late)
				rec->part[plan->member[i].disk].hangs = true;
		}
		for (unsigned i = 0; i < plan->rows; i++) {
			if (plan->parity[i].late)
				rec->part[plan->parity[i].disk].hangs = true;
		}
	}
}

/* A disk that was spun down answers within half a minute. */
enum { PATIENCE_S = 30 };

/* Computes a block, unless it is the last one that was.  0 or -errno. */
static int
heal(struct recording *rec, uint64_t number)
{
	struct parity_heal *plan;

	if (!rec->healing || rec->healed_number != number) {
		plan = recording_heal_plan(rec, number);
		if (!plan)
			return -ENOENT;
		free(rec->healed);
		rec->healed = NULL;
		rec->healing = true;
		rec->healed_number = number;
		plan->patience = PATIENCE_S * NS_SECOND;
		parity_heal(plan, &rec->healed);
		plan_done(rec, plan);
		parity_heal_free(plan);
	}
	return rec->healed ? 0 : -ENODATA;
}

int
recording_heal(struct recording *rec, const struct recording_block *b,
	       void *data, size_t bytes, uint64_t at)
{
	int err = heal(rec, b->record.number);

	if (!err && bytes)
		memcpy(data, rec->healed + at, bytes);
	return err;
}

const struct sums *
recording_sums(struct recording *rec, const struct recording_block *b)
{
	struct recording_part *part;
	const struct sums *s;

	if (b->disk < 0 || b->computed || !(b->record.flags & INDEX_SUMMED))
		return NULL;
	part = &rec->part[b->disk];
	if (part->dir < 0 || part->hangs)
		return NULL;
	s = sums_find(&part->sums, b->record.number);
	if (!s) {
		sums_refresh(&part->sums, part->dir, rec->name);
		s = sums_find(&part->sums, b->record.number);
	}
	return s && s->bytes == b->record.bytes && s->crc == b->record.crc
		   ? s
		   : NULL;
}

int
recording_heal_open(struct recording *rec, const struct recording_block *b)
{
	int fd, err = heal(rec, b->record.number);

	if (err)
		return err;
	fd = memfd_create(rec->name, MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_whole(fd, rec->healed, b->record.bytes, 0);
	if (!err)
		return fd;
	file_close(fd);
	return err;
}
