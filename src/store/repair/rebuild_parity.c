/* SPDX-License-Identifier: MIT */
/*
 * The parity half of rebuild: rows that groups lack, then new groups, and at last
 * what these make obsolete.  A new group has a generation, so that it is another
 * one than the group of its number on a disk that is away.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ease.h"
#include "store/disk/file.h"
#include "store/repair/mend_priv.h"

/* ---- parity: rows that are away --------------------------------------------- */

/* Writes a parity block and lists it.  0 or -errno. */
static int
row_write(struct mend *m, const struct parity_record *p,
	  const struct index_record *member, const uint8_t *data, int disk)
{
	int dir = m->rec->part[disk].dir, err = 0;

	for (uint32_t i = 0; i < p->members && !err; i++) {
		if (member[i].missing || m->rec->shape.store == HEAP_CUBE)
			err = rebuild_holes(m, m->rec, member[i].number, disk);
	}
	return err ? err
		   : parity_file_write(dir, m->rec->name, p, member, data);
}

static int
row_list(struct mend *m, const struct parity_record *p,
	 const struct index_record *member, int disk)
{
	uint8_t *tail = parity_tail_make(p, member);
	int err = tail
		      ? parity_list_append(m->rec->part[disk].dir, m->rec->name,
					   tail, parity_tail_bytes(p))
		      : -ENOMEM;

	free(tail);
	return err;
}

/* True if all members of a group are there, each on another disk, but a row is
 * not. */
static bool
lacks_rows(const struct recording *rec, const struct parity_block *p)
{
	const struct parity_table *t = &rec->parity;
	uint64_t number = t->member[p->first].number;
	const struct parity_member *m = parity_find(t, number);

	return parity_same_group(&t->block[m->block], p) &&
	       recording_is_whole(rec, number) &&
	       !recording_is_safe(rec, number);
}

/* Writes the rows that a group lacks. */
static void
rows_rebuild(struct mend *m, const struct parity_block *p)
{
	const struct parity_table *t = &m->rec->parity;
	const struct index_record *member = &t->member[p->first];
	struct block_bars bars = rebuild_group_disks(m->rec, member->number);
	bool there[PARITY_ROWS] = { false };
	struct mend_rows w;
	int err = mend_rows_make(m, member, p->record.members, p->record.rows,
				 &w, NULL);

	/* Else its parity is bad, which scrub mends, or not of these data. */
	if (!err && (w.bytes != p->record.bytes ||
		     w.crc[p->record.row] != p->record.crc))
		err = -EBADMSG;
	for (const struct parity_block *q = p;
	     q < t->block + t->blocks && parity_same_group(q, p); q++)
		there[q->record.row] = true;
	for (unsigned i = 0; i < p->record.rows && !err; i++) {
		struct parity_record r = p->record;
		int disk;

		if (there[i])
			continue;
		disk = rebuild_disk(m, &bars, false, w.bytes);
		if (disk < 0)
			break; /* it gets a new group */
		r.row = (uint16_t)i;
		r.crc = w.crc[i];
		if (!m->a->dry_run)
			err = row_write(m, &r, member, w.row[i], disk);
		if (!err && !m->a->dry_run)
			err = row_list(m, &r, member, disk);
		block_bars_add(&bars, (unsigned)disk);
		m->report->parity += !err;
		m->report->failed += err != 0;
		if (err)
			mend_say(m,
				 "parity of group %" PRIu64 " cannot be "
				 "written to %s: %s",
				 r.group, mend_path(m, disk), disk_why(err));
	}
	mend_progress(m, p->record.bytes);
	mend_rows_free(&w);
}

static void
all_rows_rebuild(struct mend *m)
{
	const struct parity_table *t = &m->rec->parity;

	for (size_t i = 0; i < t->blocks; i++) {
		const struct parity_block *p = &t->block[i];

		if ((!i || !parity_same_group(p - 1, p)) &&
		    lacks_rows(m->rec, p))
			rows_rebuild(m, p);
	}
}

/* ---- parity: new groups ------------------------------------------------------ */

/* A group in the making, of chunks that have no parity. */
struct new_group {
	struct index_record member[2 * PARITY_MEMBERS]; /* then gaps */
	struct index_record gap[PARITY_MEMBERS];
	struct block_bars disks;
	unsigned members, gaps;
};

static void
group_join(struct new_group *g, const struct recording_block *b)
{
	const struct index_record *gap =
	    b->record.number ? &b[-1].record : &b->record;

	g->member[g->members++] = b->record;
	block_bars_add(&g->disks, (unsigned)b->disk);
	if (gap->kind == INDEX_GAP && gap->sub == b->record.sub &&
	    gap->run == b->record.run &&
	    gap->first + gap->missing == b->record.first)
		g->gap[g->gaps++] = *gap;
}

/* Writes all rows of a group, and then lists them; *at: on which disk that failed.
 * If one cannot be written,
 * nothing of the group is left.  If a list cannot, all rows stay, and the next run
 * lists them: nobody knows which tails a list has got.  0 or -errno. */
static int
rows_write(struct mend *m, struct new_group *g, struct parity_record *p,
	   const struct mend_rows *w, const int *disk, int *at)
{
	char file[LAYOUT_FILE];
	int err = 0;

	for (unsigned i = 0; i < p->rows && !err; i++) {
		p->row = (uint16_t)i;
		p->crc = w->crc[i];
		err = row_write(m, p, g->member, w->row[i], *at = disk[i]);
	}
	layout_parity(file, m->rec->name, p->group, p->generation);
	for (unsigned i = 0; i < p->rows && err; i++)
		file_remove_at(m->rec->part[disk[i]].dir, file, 0);
	for (unsigned i = 0; i < p->rows && !err; i++) {
		p->row = (uint16_t)i;
		p->crc = w->crc[i];
		err = row_list(m, p, g->member, *at = disk[i]);
	}
	return err;
}

/* Takes the members out of a group that are bad, so that the others get their
 * parity. */
static void
bad_leave(struct mend *m, struct new_group *g, const int *bad)
{
	unsigned members = g->members, gaps = g->gaps;

	g->members = g->gaps = 0;
	for (unsigned i = 0, k = 0; i < members; i++) {
		const struct index_record r = g->member[i];
		bool gap = k < gaps && g->gap[k].number + 1 == r.number;

		if (!bad[i]) {
			g->member[g->members++] = r;
			if (gap)
				g->gap[g->gaps++] = g->gap[k];
		} else {
			m->report->failed++;
			m->report->left++;
			mend_say(m,
				 "chunk %" PRIu64 " on %s gets no parity: %s",
				 r.number,
				 mend_path(m, m->rec->block[r.number].disk),
				 bad[i] == -EBADMSG || bad[i] == -ENODATA
				     ? "it is damaged, which spate scrub mends"
				     : disk_why(bad[i]));
		}
		k += gap;
	}
}

/* Writes the parity of a group, and empties it.  False: it could not be
 * written. */
static bool
group_write(struct mend *m, uint64_t generation, struct new_group *g)
{
	struct parity_record p = { .group = g->member[0].number,
				   .generation = generation,
				   .members = g->members,
				   .gaps = g->gaps,
				   .rows = (uint16_t)m->rec->facts.parity };
	uint64_t all;
	int disk[PARITY_ROWS], bad[PARITY_MEMBERS] = { 0 }, at = -1, err = 0;
	struct mend_rows w = { .bytes = 0 };

	for (unsigned i = 0; i < g->members; i++)
		p.bytes =
		    g->member[i].bytes > p.bytes ? g->member[i].bytes : p.bytes;
	all = p.bytes * g->members;
	for (unsigned i = 0; i < p.rows && !err; i++) {
		disk[i] = rebuild_disk(m, &g->disks, false,
				       p.bytes + parity_tail_bytes(&p));
		if (disk[i] < 0)
			err = -ENOSPC;
		else
			block_bars_add(&g->disks, (unsigned)disk[i]);
	}
	if (!err)
		err = mend_rows_make(m, g->member, g->members, p.rows, &w, bad);
	if (!err)
		bad_leave(m, g, bad);
	memcpy(g->member + g->members, g->gap, g->gaps * sizeof *g->gap);
	p.group = g->member[0].number;
	p.bytes = w.bytes;
	p.gaps = g->gaps;
	p.members = g->members;
	if (!err && !m->a->dry_run && g->members)
		err = rows_write(m, g, &p, &w, disk, &at);
	mend_rows_free(&w);
	if (err) {
		m->report->failed++;
		m->report->left += g->members;
		mend_say(m,
			 "parity for %u chunks from %" PRIu64 " on cannot be "
			 "written%s%s: %s",
			 g->members, p.group, at < 0 ? "" : " to ",
			 at < 0 ? "" : mend_path(m, at),
			 at < 0 && err == -ENOSPC ? "no disk has room for it"
						  : disk_why(err));
	} else if (g->members) {
		m->report->parity += p.rows;
	}
	mend_progress(m, all);
	*g = (struct new_group){ .members = 0 };
	return !err;
}

static unsigned
disks_there(const struct mend *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->disks->n; i++)
		n += rebuild_takes(m, i);
	return n;
}

bool
rebuild_needs_group(const struct recording *rec, size_t number)
{
	const struct recording_block *b = &rec->block[number];

	return b->record.kind == INDEX_BLOCK && b->disk >= 0 && !b->computed &&
	       !recording_is_safe(rec, number);
}

/* Returns a generation above all others, also where the clock was set back. */
static uint64_t
generation_new(const struct recording *rec)
{
	uint64_t most = (uint64_t)clock_now();

	for (size_t i = 0; i < rec->parity.blocks; i++) {
		if (rec->parity.block[i].record.generation >= most)
			most = rec->parity.block[i].record.generation + 1;
	}
	return most;
}

/* Makes groups of the chunks that have no parity; *written: all that were made. */
static int
groups_make(struct mend *m, uint64_t generation, bool *written)
{
	enum { OPEN = 8 };
	const struct recording *rec = m->rec;
	unsigned rows = rec->facts.parity, disks = disks_there(m);
	unsigned most = disks > rows ? disks - rows : 0;
	struct new_group *g = calloc(OPEN, sizeof *g);

	if (!g)
		return -ENOMEM;
	m->report->few = !most;
	if (most > PARITY_MEMBERS)
		most = PARITY_MEMBERS;
	for (size_t i = 0; i < rec->blocks; i++)
		m->total += rebuild_needs_group(rec, i)
				? rec->block[i].record.bytes
				: 0;
	for (size_t i = 0; i < rec->blocks; i++) {
		const struct recording_block *b = &rec->block[i];
		unsigned at = 0;

		if (!rebuild_needs_group(rec, i))
			continue;
		if (!most) {
			m->report->left++;
			continue;
		}
		while (at < OPEN &&
		       block_bars_has(&g[at].disks, (unsigned)b->disk))
			at++;
		if (at == OPEN)
			*written &= group_write(m, generation, &g[at = 0]);
		group_join(&g[at], b);
		if (g[at].members == most)
			*written &= group_write(m, generation, &g[at]);
	}
	for (unsigned i = 0; i < OPEN; i++) {
		if (g[i].members)
			*written &= group_write(m, generation, &g[i]);
	}
	free(g);
	return 0;
}

/* ---- parity: what is not needed any more -------------------------------------- */

/* Parity blocks that are not needed any more, by place in the table. */
struct obsolete {
	struct mend *m;
	uint64_t generation; /* of the groups of this run, whose members and
				rows were good a moment ago */
	bool *block;
	/* By first parity block of a group: 0 if the group was not read back
	 * yet, 1 if all of it is good, -1 if not. */
	int8_t *good;
};

/* Reads a parity block back.  0 or -errno. */
static int
row_check(const struct mend *m, const struct parity_block *p)
{
	char file[LAYOUT_FILE];
	int fd, err;

	layout_parity(file, m->rec->name, p->record.group,
		      p->record.generation);
	fd = disk_open_at(m->rec->part[p->disk].dir, file, O_RDONLY,
			  DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	ease_process();
	err = parity_data_check(fd, &p->record, NULL, NULL);
	ease_end();
	file_close(fd);
	return err;
}

/* Reads back all parity blocks and all members of a group, once. */
static bool
group_is_good(struct obsolete *o, const struct parity_block *p)
{
	const struct parity_table *t = &o->m->rec->parity;
	const struct parity_block *first = parity_first(t, p);
	int8_t *good = &o->good[first - t->block];
	int err = 0;

	if (first->record.generation == o->generation)
		return true;
	if (*good)
		return *good > 0;
	for (p = first;
	     p < t->block + t->blocks && parity_same_group(p, first) && !err;
	     p++)
		err = row_check(o->m, p);
	for (uint32_t i = 0; i < first->record.members && !err; i++)
		err = mend_member_check(o->m, &t->member[first->first + i]);
	*good = err ? -1 : 1;
	return !err;
}

/* True if each member of a group has a later group, which makes up for every
 * disk, and is good. */
static bool
is_obsolete(struct obsolete *o, const struct parity_block *p)
{
	const struct recording *rec = o->m->rec;
	const struct parity_table *t = &rec->parity;
	const struct parity_member *m;

	for (uint32_t i = 0; i < p->record.members; i++) {
		uint64_t number = t->member[p->first + i].number;

		m = parity_find(t, number);
		if (parity_same_group(&t->block[m->block], p) ||
		    !recording_is_safe(rec, number))
			return false;
	}
	for (uint32_t i = 0; i < p->record.members; i++) {
		m = parity_find(t, t->member[p->first + i].number);
		if (!group_is_good(o, &t->block[m->block]))
			return false;
	}
	return true;
}

static int
disk_drop(const struct mend *m, unsigned disk, const bool *obsolete)
{
	const struct parity_table *t = &m->rec->parity;
	int dir = m->rec->part[disk].dir, err = 0;
	char file[LAYOUT_FILE];
	bool any = false;

	for (size_t i = 0; i < t->blocks; i++)
		any |= obsolete[i] && t->block[i].disk == disk;
	if (!any)
		return 0;
	err = parity_list_write(dir, m->rec->name, t, disk, obsolete);
	for (size_t i = 0; i < t->blocks && !err; i++) {
		const struct parity_record *p = &t->block[i].record;

		if (!obsolete[i] || t->block[i].disk != disk)
			continue;
		layout_parity(file, m->rec->name, p->group, p->generation);
		if (file_remove_at(dir, file, 0) < 0 && errno != ENOENT)
			err = -errno;
	}
	if (!err && file_sync(dir) < 0)
		err = -errno;
	return err;
}

/* Removes parity that later groups make up for, of which those of this generation
 * were made just now. */
static int
obsolete_drop(struct mend *m, uint64_t generation)
{
	const struct parity_table *t = &m->rec->parity;
	struct obsolete o = { .m = m,
			      .generation = generation,
			      .block = calloc(t->blocks + 1, sizeof *o.block),
			      .good = calloc(t->blocks + 1, sizeof *o.good) };
	int err = o.block && o.good ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->blocks && !err; i++)
		o.block[i] = is_obsolete(&o, &t->block[i]);
	for (unsigned i = 0; i < m->disks->n && !err; i++) {
		if (m->rec->part[i].dir >= 0)
			err = disk_drop(m, i, o.block);
	}
	free(o.block);
	free(o.good);
	return err;
}

int
rebuild_parity(struct mend *m)
{
	uint64_t generation;
	bool written = true;
	int err = 0;

	all_rows_rebuild(m);
	if (!m->a->dry_run)
		err = recording_refresh(m->rec);
	generation = generation_new(m->rec);
	if (!err)
		err = groups_make(m, generation, &written);
	if (err || m->a->dry_run)
		return err;
	err = recording_refresh(m->rec);
	if (!err && written)
		err = obsolete_drop(m, generation);
	m->report->left = 0;
	for (size_t i = 0; i < m->rec->blocks; i++)
		m->report->left += rebuild_needs_group(m->rec, i);
	return err;
}
