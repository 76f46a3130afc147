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
 */
#include <stdlib.h>

#include "store/recording/foreign_priv.h"

enum { FAR = 1 << 28 };

struct timing {
	struct glance g;
	struct foreign *f;
	bool based;
	/* expected sequence (relative) and block number of the next piece */
	uint64_t next, number;
	uint64_t full; /* packets of a full block */
};

static uint64_t
slots_of(const struct foreign *f, const struct foreign_piece *p)
{
	return p->stored / f->form.packet;
}

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
		if (!foreign_glance(&t->g, piece, i, &p))
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
	t->next = p->first + slots_of(t->f, p);
	t->number = p->number + 1;
}

/* How far the last packet of all is ahead of its place.  False if it does not
 * say. */
static bool
ahead_at_end(struct timing *t, uint64_t *ahead)
{
	const struct foreign_piece *p = &t->f->piece[t->f->pieces - 1];
	uint64_t last = slots_of(t->f, p) - 1, sequence;
	struct format_packet packet;

	if (!t->based ||
	    !foreign_glance(&t->g, t->f->pieces - 1, last, &packet) ||
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
		if (ahead < FAR || !padded || slots_of(f, p) < 2)
			break;
		p->stored -= f->form.packet;
		p->bytes -= foreign_payload(f);
	}
	if (ahead < FAR)
		p->lost = ahead;
}

/* ---- times -------------------------------------------------------------- */

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
		if (!foreign_glance(&t->g, piece, slot + i, &p))
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
	uint64_t last = slots_of(t->f, p) - 1;

	p->first_ns = p->last_ns = p->changed_ns;
	p->timed = t->f->shape.header && time_at(t, piece, 0, &p->first_ns);
	if (!p->timed)
		return;
	p->last_ns = p->first_ns + span_of(t->f, last + p->lost);
	if (!t->f->shape.fps && !time_at(t, piece, last, &p->last_ns))
		p->last_ns = p->first_ns;
}

int
foreign_time(const struct recording *rec, struct foreign *f)
{
	struct timing t = {
		.g = { .rec = rec, .f = f, .fd = -1 },
		.f = f,
		.full = f->full_bytes / f->form.packet,
	};

	for (size_t i = 0; i < f->pieces; i++)
		place(&t, i);
	look_at_end(&t);
	for (size_t i = 0; i < f->pieces; i++)
		date(&t, i);
	foreign_glance_end(&t.g);
	return 0;
}
