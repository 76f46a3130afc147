/* SPDX-License-Identifier: MIT */
/*
 * The sequence of a piece's first packet says what is missing before it.
 *
 *   block numbers follow    The packets in between count as lost, for whatever
 *                           reason, and no slots are put in their place: the
 *                           file that the recording's own program makes of the
 *                           blocks has none either.
 *   block numbers are       Chunks are missing.  They are as long as the
 *   left out                sequences say, if that is plausible, else full.
 *
 * A sequence that goes backwards, or so far ahead that it cannot be a loss,
 * means that the sender started anew: counting goes on from there.
 *
 * VLBI-streamer can write one file on each disk.  Which parts of the stream are
 * in which file shows only in the packets: their sequences jump where the
 * following packets went to another disk.  Since sequences only grow, the end
 * of a stretch without a jump is found by bisection.  The stretches are cut
 * into pieces of a usual size and sorted by sequence.  With one disk nothing
 * has to be sorted.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/foreign/foreign_piece.h"

/* ---- one file on each disk --------------------------------------------- */

enum { PIECE = 64 << 20, STRETCHES = 1 << 20 };

/* State of cutting. */
struct cutter {
	struct packet_cursor g;
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

	return packet_read(&c->g, file, slot, &p) &&
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
foreign_single(struct foreign *f)
{
	struct cutter c = { .g = { .f = f, .fd = -1 }, .f = f };
	int err = 0;

	if (f->pieces == 1) {
		err = cut(&c, &f->piece[0], 0,
			  f->piece[0].stored / f->form.packet, 0);
	} else {
		for (size_t i = 0; i < f->pieces && !err; i++)
			err = f->format ? cut_stretches(&c, i) : -ENOTSUP;
	}
	packet_cursor_close(&c.g);
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

/* ---- sequences --------------------------------------------------------- */

enum { FAR = 1 << 28 };

struct timing {
	struct packet_cursor g;
	struct foreign *f;
	bool based;
	/* expected sequence (relative) and block number of the next piece */
	uint64_t next, number;
	uint64_t full; /* packets of a full block */
};

static int
by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Sequence of a piece's first packet, as the packets at its beginning say.  If
 * threads take turns, packets may be slightly out of order; so the median of
 * several is taken. */
static bool
sequence_at(struct timing *t, size_t piece, uint64_t *sequence)
{
	enum { LOOKS = 33, FILL_MOST = 64 };
	unsigned n = 0, want = 1;
	uint64_t seen[LOOKS];
	struct format_packet p;

	if (t->f->shape.threads_n > 1 && !t->f->counted)
		want = 2 * t->f->shape.threads_n + 1;
	if (want > LOOKS)
		want = LOOKS;
	if (!t->f->counted && !t->f->shape.fps)
		return false;
	for (uint64_t i = 0; i < want + FILL_MOST && n < want; i++) {
		if (!packet_read(&t->g, piece, i, &p))
			break;
		n += foreign_sequence(t->f, &p, i, &seen[n]);
	}
	if (!n)
		return false;
	qsort(seen, n, sizeof *seen, by_value);
	*sequence = seen[n / 2];
	return true;
}

/* Extends a 32-bit counter to the 64-bit value that is nearest to the expected
 * one. */
static uint64_t
unwrapped(const struct timing *t, uint64_t sequence)
{
	const struct foreign *f = t->f;
	uint64_t near = f->base + t->next;

	if (!f->counted || f->shape.sequence_bits != 32 || !t->based)
		return sequence;
	return near + (uint64_t)(int32_t)(uint32_t)(sequence - near);
}

/* Number of packets between the piece before and this one; `absent` blocks are
 * missing between them. */
static uint64_t
ahead_of(struct timing *t, size_t piece, uint64_t absent)
{
	uint64_t guess = absent * t->full, sequence, ahead;

	if (!sequence_at(t, piece, &sequence))
		return guess;
	if (!t->based) {
		t->based = true;
		t->f->base = sequence - t->next - guess;
		return guess;
	}
	sequence = unwrapped(t, sequence);
	ahead = sequence - t->f->base - t->next;
	if (ahead < FAR + 4 * guess)
		return ahead;
	/* a little backwards: threads out of turn */
	if (-ahead > t->full)
		t->f->base = sequence - t->next - guess;
	return guess;
}

static void
place(struct timing *t, size_t piece)
{
	struct foreign_piece *p = &t->f->piece[piece];
	uint64_t absent = p->number - t->number;
	uint64_t ahead = ahead_of(t, piece, absent);

	if (piece && !absent)
		p[-1].lost = ahead;
	p->first = t->next + ahead;
	t->next = p->first + foreign_slots(t->f, p);
	t->number = p->number + 1;
}

/* How far the last packet of all is ahead of its place.  False if it does not
 * say. */
static bool
ahead_at_end(struct timing *t, uint64_t *ahead)
{
	const struct foreign_piece *p = &t->f->piece[t->f->pieces - 1];
	uint64_t last = foreign_slots(t->f, p) - 1, sequence;
	struct format_packet packet;

	if (!t->based || !packet_read(&t->g, t->f->pieces - 1, last, &packet) ||
	    !foreign_sequence(t->f, &packet, last, &sequence))
		return false;
	*ahead = unwrapped(t, sequence) - t->f->base - p->first;
	return true;
}

/*
 * Finds what is missing in the last piece, by the sequence at its end.  Packets
 * from earlier in VLBI-streamer's buffer, with which it fills up the last page,
 * are cut off; a .cfg would tell their number, but a crash leaves none.
 */
static void
look_at_end(struct timing *t)
{
	enum { PAGE = 4096 };
	struct foreign *f = t->f;
	struct foreign_piece *p = &f->piece[f->pieces - 1];
	bool padded = f->kind == FOREIGN_CHUNKS && f->counted && !f->cfg.there;
	uint64_t ahead = 0;

	for (unsigned i = 0; i <= PAGE / f->form.packet; i++) {
		if (!ahead_at_end(t, &ahead))
			return;
		if (ahead < FAR || !padded || foreign_slots(f, p) < 2)
			break;
		p->stored -= f->form.packet;
		p->bytes -= foreign_payload(f);
	}
	if (ahead < FAR)
		p->lost = ahead;
}

/* ---- times ------------------------------------------------------------- */

/* Nanoseconds that so many packets last; 0 if the rate is unknown. */
static int64_t
span_of(const struct foreign *f, uint64_t packets)
{
	uint64_t rate = (uint64_t)f->shape.fps * f->shape.threads_n * f->parts;

	return rate ? (int64_t)((double)packets * 1e9 / (double)rate) : 0;
}

static bool
time_at(struct timing *t, size_t piece, uint64_t slot, int64_t *ns)
{
	enum { LOOKS = 64 };
	const uint32_t all = FORMAT_TIME | FORMAT_VALID;
	struct format_packet p;

	for (uint64_t i = 0; i < LOOKS; i++) {
		if (!packet_read(&t->g, piece, slot + i, &p))
			return false;
		if ((p.has & all) != all)
			continue;
		*ns = format_time_ns(&t->f->shape, &p) - span_of(t->f, i);
		return true;
	}
	return false;
}

static void
date(struct timing *t, size_t piece)
{
	struct foreign_piece *p = &t->f->piece[piece];
	uint64_t last = foreign_slots(t->f, p) - 1;

	p->first_ns = p->last_ns = p->changed_ns;
	p->timed = t->f->shape.header && time_at(t, piece, 0, &p->first_ns);
	if (!p->timed)
		return;
	p->last_ns = p->first_ns + span_of(t->f, last + p->lost);
	if (!t->f->shape.fps && !time_at(t, piece, last, &p->last_ns))
		p->last_ns = p->first_ns;
}

int
foreign_time(struct foreign *f)
{
	struct timing t = {
		.g = { .f = f, .fd = -1 },
		.f = f,
		.full = f->full_bytes / f->form.packet,
	};

	for (size_t i = 0; i < f->pieces; i++)
		place(&t, i);
	look_at_end(&t);
	for (size_t i = 0; i < f->pieces; i++)
		date(&t, i);
	packet_cursor_close(&t.g);
	return 0;
}
