/* SPDX-License-Identifier: MIT */
/*
 * Finds which slots belong to a thread.
 *
 * If the sequence is counted from time, this is arithmetic.  Any other counter
 * says nothing about threads; but senders send their threads in turn, so frames
 * that are one cycle apart are of one thread.  The cycle is known from the
 * metadata or learned from packets, and the position of the thread in it is
 * learned from the first packets of each run, because a counter that restarts
 * may do so at any position.
 *
 * That a sender keeps this order is an assumption, so readers check every
 * packet: see view_check().  Searching for a thread's packets was rejected:
 * every byte of all threads would have to be read just to tell how long the
 * file is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/record/fill.h"
#include "store/view/view_priv.h"

enum {
	MOST = 2 * FILL_CYCLE, /* packets read of a block, at most */
	BLOCKS = 16,	       /* blocks looked at in a run, at most */
};

/* Packet headers from the beginning of a block. */
struct heads {
	uint8_t *data;
	uint64_t present[MOST / 64];
	uint32_t bytes; /* size of one header */
	uint32_t n;
};

static void
heads_read(struct recording *rec, const struct recording_block *b,
	   struct heads *h, uint32_t most)
{
	uint64_t slots = b->bytes / rec->shape.payload;

	if (most > slots)
		most = (uint32_t)slots;
	for (; h->n < most; h->n++) {
		ssize_t got = recording_chunk_read(
		    rec, b, h->data + (size_t)h->n * h->bytes, h->bytes,
		    (uint64_t)h->n * rec->shape.payload);

		if (got != (ssize_t)h->bytes)
			break;
		h->present[h->n / 64] |= UINT64_C(1) << h->n % 64;
	}
	if (rec->foreign) /* fill carries no thread */
		recording_present(rec, b->record.number, 0, h->n, h->present);
}

static bool
heads_make(struct heads *h, const struct format_shape *shape)
{
	*h = (struct heads){ .bytes = view_head_bytes(shape) };
	h->data = malloc((size_t)MOST * h->bytes);
	return h->data;
}

/* Presents the headers as a block, so that fill_learn() can learn from them. */
static struct block
heads_block(struct heads *h, const struct recording *rec,
	    const struct recording_block *b)
{
	return (struct block){
		.data = h->data,
		.present = h->present,
		.slots = h->n,
		.slot_bytes = h->bytes,
		.used = h->n,
		.filled = h->n,
		.run = b->record.run,
		.first = b->record.first,
		.base = recording_base(rec, b->record.sub, b->record.run),
	};
}

/* ---- one run ------------------------------------------------------------- */

/* State of learning one run. */
struct turn_search {
	struct view *v;
	struct fill fill;
	struct heads heads;
	uint32_t cycle;		    /* frames; 0: not known yet */
	int32_t thread[FILL_CYCLE]; /* by position in the cycle; -1: not seen */
};

/* Sets the cycle: from the metadata, or from packets.  It reads few packets
 * first and more only if those do not settle it. */
static void
learn_cycle(struct turn_search *q, const struct recording_block *b)
{
	const struct format_shape *shape = &q->v->rec->shape;
	struct block some;

	if (shape->threads_n && shape->threads_n <= FILL_CYCLE) {
		q->cycle = shape->threads_n;
		heads_read(q->v->rec, b, &q->heads, 2 * q->cycle);
		return;
	}
	for (uint32_t most = MOST / 16; most <= MOST && !q->cycle; most *= 4) {
		heads_read(q->v->rec, b, &q->heads, most);
		if (!q->heads.n)
			return;
		some = heads_block(&q->heads, q->v->rec, b);
		fill_learn(&q->fill, &some);
		q->cycle = q->fill.settled ? q->fill.cycle : 0;
	}
}

/* Notes which thread is at which position of the cycle. */
static void
learn_places(struct turn_search *q, const struct recording_block *b)
{
	struct block some = heads_block(&q->heads, q->v->rec, b);
	struct format_packet p;

	for (uint32_t i = 0; i < q->heads.n; i++) {
		if (fill_good_at(&q->fill, &some, i, &p) &&
		    p.has & FORMAT_VALID)
			q->thread[(some.first + i) % q->cycle] =
			    (int32_t)(p.thread & INT32_MAX);
	}
}

static uint32_t
listed(const struct format_shape *s, uint32_t thread)
{
	uint32_t i = 0;

	while (i < s->threads_n && s->threads[i] != thread)
		i++;
	return i;
}

/* Computes the thread's position from the metadata's list of threads, relative
 * to a thread that was seen. */
static bool
place_by_list(const struct turn_search *q, uint32_t *rest)
{
	const struct format_shape *s = &q->v->rec->shape;
	uint32_t wanted, other;

	if (!s->threads || s->threads_n != q->cycle)
		return false;
	wanted = listed(s, (uint32_t)q->v->choice.thread);
	for (uint32_t i = 0; i < q->cycle; i++) {
		if (q->thread[i] < 0)
			continue;
		other = listed(s, (uint32_t)q->thread[i]);
		if (wanted == s->threads_n || other == s->threads_n)
			return false;
		*rest = (i + wanted + q->cycle - other) % q->cycle;
		return q->thread[*rest] < 0;
	}
	return false;
}

/* True if the thread's position is known, or that it has none. */
static bool
found(const struct turn_search *q, struct view_turn *turn)
{
	uint32_t unseen = 0;

	if (!q->cycle)
		return false;
	turn->cycle = q->cycle;
	for (uint32_t i = 0; i < q->cycle; i++) {
		unseen += q->thread[i] < 0;
		if (q->thread[i] != q->v->choice.thread)
			continue;
		turn->rest = i;
		turn->what = TURN_GOOD;
		return true;
	}
	if (unseen)
		return false;
	turn->what = TURN_NONE;
	return true;
}

/* Looks at blocks of the run from its beginning, whatever `place` in it was
 * asked for. */
static void
search_run(struct turn_search *q, size_t place, struct view_turn *turn)
{
	struct recording *rec = q->v->rec;
	size_t begin = rec->from[q->v->choice.sub];
	size_t end = rec->from[q->v->choice.sub + 1];
	unsigned looks = 0;

	while (place > begin &&
	       recording_at(rec, place - 1)->record.run == turn->run)
		place--;
	for (; place < end && looks < BLOCKS; place++) {
		const struct recording_block *b = recording_at(rec, place);

		if (b->record.run != turn->run)
			break;
		if (b->record.kind != INDEX_BLOCK || b->disk < 0)
			continue;
		looks++;
		q->heads.n = 0;
		memset(q->heads.present, 0, sizeof q->heads.present);
		learn_cycle(q, b);
		if (q->cycle)
			learn_places(q, b);
		if (found(q, turn))
			return;
	}
	if (q->cycle && place_by_list(q, &turn->rest))
		turn->what = TURN_GOOD;
}

/*
 * Learns the turn from packet headers.  If none can be read, the thread gets
 * its share of the run's length, but which bytes are its is unknown
 * (TURN_LOST).
 */
static void
turn_learn(struct view *v, size_t place, struct view_turn *turn)
{
	const struct format_shape *shape = &v->rec->shape;
	struct turn_search q = { .v = v };

	turn->what = TURN_LOST;
	turn->rest = 0;
	if (shape->threads_n)
		turn->cycle = shape->threads_n;
	if (!turn->cycle)
		turn->cycle = 1;
	if (!heads_make(&q.heads, shape))
		return;
	memset(q.thread, 0xff, sizeof q.thread);
	fill_init(&q.fill, FILL_INVALID, v->format, shape);
	fill_begin(&q.fill, turn->run, 0);
	search_run(&q, place, turn);
	fill_finish(&q.fill);
	free(q.heads.data);
}

/* Computes the turn if the sequence is counted from time and threads. */
static bool
turn_count(const struct view *v, const struct index_record *r,
	   struct view_turn *turn)
{
	const struct format_shape *s = &v->rec->shape;
	uint64_t base = recording_base(v->rec, r->sub, r->run);
	uint32_t place;

	if (s->sequence != SEQUENCE_TIME || v->rec->foreign || !s->threads ||
	    !s->threads_n || !base)
		return false;
	place = listed(s, (uint32_t)v->choice.thread);
	turn->cycle = s->threads_n;
	turn->what = place < s->threads_n ? TURN_GOOD : TURN_NONE;
	turn->rest = (uint32_t)((place + s->threads_n - base % s->threads_n) %
				s->threads_n);
	return true;
}

void
view_turn(struct view *v, size_t place)
{
	const struct index_record *r = &recording_at(v->rec, place)->record;
	struct view_turn *turn = &v->turn;

	if (turn->known && turn->run == r->run)
		return;
	turn->known = true;
	turn->run = r->run;
	if (!turn_count(v, r, turn))
		turn_learn(v, place, turn);
}

/* ---- list of threads ----------------------------------------------------- */

static int
by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct found_threads {
	uint32_t *thread;
	unsigned n, most;
};

static void
list_add(struct found_threads *l, uint32_t thread)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (l->thread[i] == thread)
			return;
	}
	if (l->n < l->most)
		l->thread[l->n++] = thread;
}

/* Lists the threads in the first block whose packets can be read. */
static int
list_read(struct recording *rec, unsigned sub, const struct format_ops *format,
	  struct found_threads *l)
{
	struct fill fill = { .format = format, .shape = &rec->shape };
	struct format_packet p;
	struct heads h;

	if (!heads_make(&h, &rec->shape))
		return -ENOMEM;
	for (size_t i = rec->from[sub]; i < rec->from[sub + 1] && !l->n; i++) {
		const struct recording_block *b = recording_at(rec, i);
		struct block some;

		if (b->record.kind != INDEX_BLOCK || b->disk < 0)
			continue;
		heads_read(rec, b, &h, MOST);
		some = heads_block(&h, rec, b);
		for (uint32_t k = 0; k < h.n; k++) {
			if (fill_good_at(&fill, &some, k, &p) &&
			    p.has & FORMAT_VALID)
				list_add(l, p.thread);
		}
		h.n = 0;
	}
	free(h.data);
	return 0;
}

int
view_threads(struct recording *rec, unsigned sub, uint32_t *threads,
	     unsigned most)
{
	const struct format_shape *s = &rec->shape;
	struct found_threads l = { .thread = threads, .most = most };
	const struct format_ops *format;
	struct fault fault;
	int err;

	if (s->store != HEAP_NONE || !s->header || s->parts != 1 ||
	    sub >= rec->facts.subs)
		return 0;
	for (uint32_t i = 0; s->threads && i < s->threads_n; i++)
		list_add(&l, s->threads[i]);
	if (!l.n) {
		err = recording_format(rec, &format, &fault);
		if (!err)
			err = list_read(rec, sub, format, &l);
		if (err)
			return err;
	}
	qsort(threads, l.n, sizeof *threads, by_value);
	return (int)l.n;
}

/* ---- checking packets ---------------------------------------------------- */

/*
 * Checks packets against the view's thread.  Which slots are a thread's is
 * inferred from the order in which its sender sends threads, so every packet of
 * a thread is checked before it is shown.  A wrong packet is an error.  It is
 * not left out, because everything behind it would move and the length of the
 * view, which was computed before, would be wrong.
 */

/*
 * True if the packet is certainly of another thread.  Unreadable packets and
 * those marked invalid pass: fill may carry another thread's number where no
 * header of the right thread was known.
 */
static bool
is_other(const struct view *v, const uint8_t *payload)
{
	const uint32_t all = FORMAT_READABLE | FORMAT_VALID;
	struct format_packet p = { 0 };

	v->format->parse(&v->shape, NULL, payload, &p);
	return (p.has & all) == all && p.thread != (uint32_t)v->choice.thread;
}

int64_t
view_check(const struct view *v, const struct view_span *s, const void *data,
	   uint64_t n)
{
	uint32_t head = view_head_bytes(&v->shape);
	uint64_t step = s->step ? s->step : v->payload;
	uint64_t at = 0;

	if (!view_threaded(v) || s->kind != VIEW_DATA)
		return (int64_t)n;
	for (; at < n; at += step) {
		if (n - at < head)
			return (int64_t)at;
		if (is_other(v, (const uint8_t *)data + at))
			return at ? (int64_t)at : -EBADMSG;
	}
	return (int64_t)n;
}

uint64_t
view_want(const struct view *v, const struct view_span *s, uint64_t bytes)
{
	uint64_t want = s->lead + view_reach(s, bytes), last;
	uint64_t step = s->step ? s->step : v->payload;

	if (!view_threaded(v) || !bytes)
		return want;
	last = (s->passed + bytes - 1) / s->take * step +
	       view_head_bytes(&v->shape);
	return want < last ? last : want;
}
