/* SPDX-License-Identifier: MIT */
/*
 * VLBI-streamer can write one file on each disk.  Which parts of the stream are
 * in which file shows only in the packets: their sequences jump where the
 * following packets went to another disk.  Since sequences only grow, the end
 * of a stretch without a jump is found by bisection.  The stretches are cut
 * into pieces of a usual size and sorted by sequence.  With one disk nothing
 * has to be sorted.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/recording/foreign_priv.h"

enum { PIECE = 64 << 20, STRETCHES = 1 << 20 };

/* State of cutting. */
struct cutter {
	struct glance g;
	struct foreign *f; /* before the cut, its pieces are whole files */
	struct foreign_piece *to;
	size_t n, room;
};

static int
add(struct cutter *c, const struct foreign_piece *p)
{
	struct foreign_piece *grown = c->to;

	if (c->n == c->room) {
		c->room = 2 * c->room + 64;
		grown = realloc(grown, c->room * sizeof *grown);
		if (!grown)
			return -ENOMEM;
		c->to = grown;
	}
	c->to[c->n++] = *p;
	return c->n <= STRETCHES ? 0 : -EFBIG;
}

/* Adds packets [from, to) of a file, as pieces.  `first` is the sequence that
 * the file's packet 0 would have without jumps; pieces are sorted by it. */
static int
cut(struct cutter *c, const struct foreign_piece *file, uint64_t from,
    uint64_t to, uint64_t first)
{
	uint64_t packet = c->f->form.packet, most = PIECE / packet;
	int err = 0;

	most -= most % c->f->shape.parts;
	most = most ? most : c->f->shape.parts;
	for (uint64_t n; from < to && !err; from += n) {
		struct foreign_piece p = *file;

		n = to - from < most ? to - from : most;
		p.offset = from * packet;
		p.stored = n * packet;
		p.bytes = n * foreign_payload(c->f);
		p.first = first + from;
		err = add(c, &p);
	}
	return err;
}

static bool
first_at(struct cutter *c, size_t file, uint64_t slot, uint64_t *first)
{
	struct format_packet p;

	return foreign_glance(&c->g, file, slot, &p) &&
	       foreign_sequence(c->f, &p, slot, first);
}

/* End of the stretch without a jump that begins at `from`. */
static uint64_t
stretch_end(struct cutter *c, size_t file, uint64_t from, uint64_t end,
	    uint64_t first)
{
	uint64_t low = from, step = 1, is;

	while (low + step < end && first_at(c, file, low + step, &is) &&
	       is == first) {
		low += step;
		step *= 2;
	}
	for (end = low + step < end ? low + step : end; low + 1 < end;) {
		uint64_t middle = low + (end - low) / 2;

		if (first_at(c, file, middle, &is) && is == first)
			low = middle;
		else
			end = middle;
	}
	return end;
}

static int
cut_stretches(struct cutter *c, size_t file)
{
	const struct foreign_piece *whole = &c->f->piece[file];
	uint64_t end = whole->stored / c->f->form.packet, first = 0, to;
	int err = 0;

	for (uint64_t from = 0; from < end && !err; from = to) {
		if (!first_at(c, file, from, &first) && !from)
			return -ENOTSUP;
		to = stretch_end(c, file, from, end, first);
		err = cut(c, whole, from, to, first);
	}
	return err;
}

static int
by_first(const void *a, const void *b)
{
	const struct foreign_piece *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->disk < y->disk ? -1 : x->disk > y->disk;
}

int
foreign_single(const struct recording *rec, struct foreign *f)
{
	struct cutter c = { .g = { .rec = rec, .f = f, .fd = -1 }, .f = f };
	int err = 0;

	if (f->pieces == 1) {
		err = cut(&c, &f->piece[0], 0,
			  f->piece[0].stored / f->form.packet, 0);
	} else {
		for (size_t i = 0; i < f->pieces && !err; i++)
			err = f->format ? cut_stretches(&c, i) : -ENOTSUP;
	}
	foreign_glance_end(&c.g);
	if (!err) {
		qsort(c.to, c.n, sizeof *c.to, by_first);
		for (size_t i = 0; i < c.n; i++)
			c.to[i].number = c.to[i].file = i;
		f->full_bytes = c.to[0].stored;
		free(f->piece);
		f->piece = c.to;
		f->pieces = c.n;
	} else {
		free(c.to);
	}
	return err;
}
