/* SPDX-License-Identifier: MIT */
/*
 * Sequences that are computed from times need the frames per second and the
 * threads.
 *
 * The threads are those of the first packets; more and more packets are looked
 * at, until each thread came four times on average.  The frames per second show
 * at the end of a second: that place is found by bisection, and the highest
 * frame number around it is the last one of its second.  Two such places are
 * looked at, because the last frame may be missing at one of them.
 */
#include <unistd.h>

#include "contract/defaults.h"
#include "store/recording/foreign_priv.h"

void
foreign_glance_end(struct glance *g)
{
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
}

bool
foreign_glance(struct glance *g, size_t piece, uint64_t slot,
	       struct format_packet *p)
{
	enum { HEADER = 64 };
	uint8_t raw[FOREIGN_PREFIX + HEADER] = { 0 };
	const struct foreign *f = g->f;
	const struct foreign_piece *at = &f->piece[piece];
	uint32_t prefix = f->form.prefix, bytes = f->form.packet;

	if (!f->format || slot >= at->stored / bytes)
		return false;
	if (g->fd >= 0 && g->piece != piece)
		foreign_glance_end(g);
	if (g->fd < 0)
		g->fd = foreign_piece_open(g->rec, f, at);
	g->piece = piece;
	if (bytes > sizeof raw)
		bytes = sizeof raw;
	if (g->fd < 0 ||
	    pread(g->fd, raw, bytes,
		  (off_t)(at->offset + slot * f->form.packet)) != bytes)
		return false;
	f->format->parse(&f->shape, prefix ? raw : NULL, raw + prefix, p);
	return true;
}

/* True if the packet begins a frame with a time, and is not fill. */
static bool
is_timed(const struct format_packet *p)
{
	const uint32_t all = FORMAT_TIME | FORMAT_VALID;

	return (p->has & all) == all;
}

/* The first such packet of a piece among the LOOKS from `slot` on. */
static bool
timed_near(struct glance *g, size_t piece, uint64_t slot,
	   struct format_packet *p)
{
	enum { LOOKS = 64 };

	for (unsigned i = 0; i < LOOKS; i++) {
		if (!foreign_glance(g, piece, slot + i, p))
			return false;
		if (is_timed(p))
			return true;
	}
	return false;
}

static void
add_thread(struct foreign *f, uint32_t thread)
{
	for (uint32_t i = 0; i < f->shape.threads_n; i++) {
		if (f->thread[i] == thread)
			return;
	}
	if (f->shape.threads_n < FOREIGN_THREADS)
		f->thread[f->shape.threads_n++] = thread;
}

static void
find_threads(struct glance *g)
{
	enum { FIRST = 32, MOST = 4 * FOREIGN_THREADS, TIMES = 4 };
	struct foreign *f = g->f;
	struct format_packet p;

	f->shape.threads = f->thread;
	for (uint64_t i = 0, n = FIRST; i < n && n <= MOST; i++) {
		if (!foreign_glance(g, 0, i, &p))
			break;
		if (is_timed(&p))
			add_thread(f, p.thread);
		if (i + 1 == n && TIMES * f->shape.threads_n > n)
			n *= 2;
	}
}

/* ---- frames per second -------------------------------------------------- */

static bool
is_after(struct glance *g, size_t piece, uint64_t slot, int64_t second)
{
	struct format_packet p;

	return timed_near(g, piece, slot, &p) && p.second > second;
}

/* The first piece, from index 1 on, that begins after a second; or the number
 * of pieces. */
static size_t
piece_after(struct glance *g, int64_t second)
{
	size_t low = 1, high = g->f->pieces;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_after(g, middle, 0, second))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The first packet of a piece that is after a second. */
static uint64_t
slot_after(struct glance *g, size_t piece, int64_t second)
{
	uint64_t low = 0;
	uint64_t high = g->f->piece[piece].stored / g->f->form.packet;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (is_after(g, piece, middle, second))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The highest frame number among the packets of a piece around a slot. */
static uint32_t
highest_near(struct glance *g, size_t piece, uint64_t slot)
{
	uint64_t around = 4ull * g->f->shape.threads_n * g->f->parts + 16;
	uint64_t from = slot > around ? slot - around : 0;
	struct format_packet p;
	uint32_t highest = 0;

	for (uint64_t i = from; i < slot + around; i++) {
		if (!foreign_glance(g, piece, i, &p))
			break;
		if (is_timed(&p) && p.frame > highest)
			highest = p.frame;
	}
	return highest;
}

/* The frames per second, from the highest frame number at the end of a second;
 * 0 if the recording ends within that second. */
static uint32_t
rate_at_end(struct glance *g, int64_t second)
{
	size_t piece = piece_after(g, second);
	uint64_t slot = slot_after(g, piece - 1, second), slots;
	uint32_t highest;

	slots = g->f->piece[piece - 1].stored / g->f->form.packet;
	if (slot == slots && piece == g->f->pieces)
		return 0;
	highest = highest_near(g, piece - 1, slot);
	if (slot == slots) {
		uint32_t next = highest_near(g, piece, 0);

		highest = next > highest ? next : highest;
	}
	return highest + 1;
}

void
foreign_rate(struct glance *g)
{
	struct foreign *f = g->f;
	struct format_packet p;
	uint32_t first, second;
	size_t piece = 0;

	while (piece < f->pieces && !timed_near(g, piece, 0, &p))
		piece++;
	if (piece == f->pieces)
		return;
	find_threads(g);
	if (!f->shape.threads_n)
		return;
	first = rate_at_end(g, p.second);
	second = first ? rate_at_end(g, p.second + 1) : 0;
	f->shape.fps = first > second ? first : second;
}

/* ---- sequences ---------------------------------------------------------- */

static bool
thread_place(const struct foreign *f, uint32_t thread, uint32_t *place)
{
	for (*place = 0; *place < f->shape.threads_n; (*place)++) {
		if (f->thread[*place] == thread)
			return true;
	}
	return false;
}

bool
foreign_sequence(const struct foreign *f, const struct format_packet *p,
		 uint64_t slot, uint64_t *sequence)
{
	uint64_t frames;
	uint32_t place;

	if (f->counted) {
		*sequence = p->sequence - slot;
		return p->has & FORMAT_SEQUENCE;
	}
	if (!is_timed(p) || !f->shape.fps || p->frame >= f->shape.fps ||
	    !thread_place(f, p->thread, &place))
		return false;
	/* The same arithmetic as in the format plugins. */
	frames = (uint64_t)(p->second - FORMAT_Y2000) * f->shape.fps + p->frame;
	*sequence =
	    (frames * f->shape.threads_n + place) * f->parts + p->part - slot;
	return true;
}
