/* SPDX-License-Identifier: MIT */
/*
 * Reads from the items of a heap which bytes are stored, and the heap's time.
 * They are in its first packet or packets; until these come, both are guessed
 * from earlier heaps.
 *
 * The position of the item is guessed only for a heap that is as long as one in
 * which the item lay there: the first heap of a stream may have descriptors,
 * and the others none.  The time is guessed if counts went on by the same step
 * as times did; when the real time comes, the guess is corrected or the heap
 * given up.
 *
 * The step of time is configured, or it is the difference between the first two
 * heaps of a run.  If a heap was lost between them the step is too large, and
 * heaps come that lie between its slots: they begin another run, with a step of
 * their own.  Immediate items may be rounded, so a time belongs to the nearest
 * slot, if that is less than a quarter of a step away; and as it is measured
 * from the newest heap, rounding errors do not add up.
 */
#include "flow/heaps/cubes.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* ---- beside the data --------------------------------------------------- */

/*
 * Records what a cube tells beside its data: the control heaps of the stream,
 * and the descriptors of the first heap that has any and of which they all
 * came.
 *
 * Descriptors are bytes of a heap like others, and may come in several packets,
 * of heaps that are stored or not.  They are collected in a buffer of the
 * substream, and go into the aux items of the next block that got a piece.
 * A heap that lost one of those packets is given up for the next one that has
 * descriptors.  Once written, descriptors are not collected again until a
 * control heap announces new ones.
 */

enum { ITEM_DESCRIPTOR = 0x5 };

static void
collect_begin(struct cube_aux *s, const struct format_piece *piece,
	      uint32_t sender)
{
	s->busy = true;
	s->count = piece->heap;
	s->sender = sender;
	s->from = UINT64_MAX;
	s->to = 0;
	s->came = (struct ranges){ .at = s->range, .most = CUBES_RANGES };
	s->n = 0;
}

static void
collect_add(struct cube_aux *s, const struct format_item *one)
{
	if (!one->bytes || one->bytes > CUBES_SIDE)
		return;
	s->at[s->n] = one->value;
	s->bytes[s->n++] = (uint32_t)one->bytes;
	if (one->value < s->from)
		s->from = one->value;
	if (one->value + one->bytes > s->to)
		s->to = one->value + one->bytes;
}

/* Looks among a packet's items for descriptors to collect. */
static void
cubes_side_items(struct heaps *p, const struct format_piece *piece,
		 const uint64_t *item, uint32_t n)
{
	struct cube_aux *s = &cubes_of(p)->aux;
	struct format_item one;
	/* descriptors; finding each walks through all items. */
	unsigned looks = 0;

	if (s->done || s->ready)
		return;
	for (uint32_t i = 0; i < n && looks < CUBES_DESCRIPTORS; i++) {
		p->a.format->item(piece, item + i, 1, 0, &one);
		if (one.id != ITEM_DESCRIPTOR || one.immediate)
			continue;
		if (!looks++)
			collect_begin(s, piece, heaps_packet(p)->sender);
		p->a.format->item(piece, item, n, i, &one);
		collect_add(s, &one);
	}
	if (looks && (!s->n || s->to - s->from > CUBES_SIDE))
		s->busy = false;
}

/* Collects bytes off .. off + bytes of the heap, which lie at `from`. */
static void
collect(struct cube_aux *s, const uint8_t *from, uint64_t off, uint32_t bytes)
{
	uint64_t end = off + bytes < s->to ? off + bytes : s->to;
	uint64_t begin = off > s->from ? off : s->from;

	if (begin >= end || ranges_add(&s->came, (uint32_t)(begin - s->from),
				       (uint32_t)(end - s->from)) != RANGES_NEW)
		return;
	memcpy(s->data + (begin - s->from), from + (begin - off), end - begin);
}

void
cubes_side_piece(struct heaps *p, const struct format_piece *piece)
{
	const struct receive_packet *k = heaps_packet(p);
	struct cube_aux *s = &cubes_of(p)->aux;
	uint32_t have = k->prefix_bytes < k->bytes ? k->prefix_bytes : k->bytes;
	uint32_t head = piece->header, lead = 0;

	if (!s->busy || s->count != piece->heap || s->sender != k->sender)
		return;
	if (head < have) {
		lead = have - head;
		collect(s, k->prefix + head, piece->offset, lead);
		head = have;
	}
	collect(s, k->payload + (head - have), piece->offset + lead,
		piece->bytes - lead);
	if (s->came.bytes < s->to - s->from)
		return;
	s->busy = false;
	s->ready = true;
}

void
cubes_side_control(struct heaps *p, const struct format_piece *piece)
{
	struct cube_aux *s = &cubes_of(p)->aux;

	if (piece->control == PIECE_REISSUE || piece->control == PIECE_UPDATE)
		s->done = false;
	if (s->controls < CUBES_CONTROLS)
		s->control[s->controls++] =
		    (struct aux_item){ .heap = piece->heap,
				       .flavour = piece->flavour,
				       .control = piece->control };
}

static void
descriptors_tell(struct cube_aux *s, struct block *b)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct aux_item aux = { .heap = s->count,
					.bytes = s->bytes[i] };

		notes_aux(b, &aux, s->data + (s->at[i] - s->from));
	}
	s->ready = false;
	s->done = true;
}

void
cubes_side_tell(struct heaps *p, struct block *b)
{
	struct cube_aux *s = &cubes_of(p)->aux;

	for (unsigned i = 0; i < s->controls; i++)
		notes_aux(b, &s->control[i], NULL);
	s->controls = 0;
	if (s->ready)
		descriptors_tell(s, b);
}

/* ---- items ------------------------------------------------------------- */

const struct cube_known *
cubes_known(const struct heaps *p, uint64_t length)
{
	const struct cubes *c = cubes_of(p);

	for (int i = 0; i < CUBES_KNOWN; i++) {
		if (c->known[i].any && c->known[i].length == length)
			return &c->known[i];
	}
	return NULL;
}

static void
known_note(struct heaps *p, uint64_t length, uint64_t skip)
{
	const struct cube_known *known = cubes_known(p, length);
	struct cubes *c = cubes_of(p);
	unsigned i = known ? known - c->known : c->knowns++ % CUBES_KNOWN;

	c->known[i] = (struct cube_known){ length, skip, true };
}

void
cubes_head(struct heaps *p, const struct format_piece *piece,
	   struct cube_head *head)
{
	const struct format_shape *shape = p->a.shape;
	const struct format_ops *f = p->a.format;
	uint64_t *item = p->scratch->item;
	struct format_item one;
	uint32_t n = 0, at = 0;

	*head = (struct cube_head){ .timed = !shape->time_item,
				    .value = piece->heap };
	if (piece->items)
		n = f->items(p->head, piece, item, NOTES_ITEMS);
	for (uint32_t i = 0; i < n; i++) {
		f->item(piece, item + i, 1, 0, &one);
		if (one.id == shape->item && !one.immediate) {
			head->item = true;
			at = i;
		} else if (one.id == shape->time_item && one.immediate &&
			   shape->time_item) {
			head->timed = true;
			head->value = format_heap_time(shape, one.value);
		}
	}
	if (head->item) { /* once only: item() walks through all items */
		f->item(piece, item, n, at, &one);
		head->skip = one.value;
		head->bytes = one.bytes;
	}
	cubes_side_items(p, piece, item, n);
}

bool
cubes_guess_item(const struct heaps *p, const struct format_piece *piece,
		 struct cube_head *head)
{
	const struct cube_known *k = cubes_known(p, piece->length);

	if (!k)
		return false;
	head->skip = k->skip;
	head->bytes = p->a.shape->payload;
	return true;
}

bool
cubes_guess_time(const struct heaps *p, const struct format_piece *piece,
		 struct cube_head *head)
{
	const struct cubes *c = cubes_of(p);
	int64_t by = (int64_t)(piece->heap - c->count);

	if (!c->window.running || !c->count_step || !c->ticks.step ||
	    by == INT64_MIN || by % c->count_step)
		return false;
	head->value =
	    c->ticks.value + (uint64_t)(by / c->count_step) * c->ticks.step;
	return true;
}

static bool
item_wrong(struct heaps *p, const struct format_piece *piece, uint64_t bytes)
{
	const struct format_shape *shape = p->a.shape;

	if (!p->scratch->told_item) {
		p->scratch->told_item = true;
		log_line(LEVEL_ERROR, p->a.name,
			 "item 0x%X of heap %llu has %llu bytes, but a slot of "
			 "the cube has %u: packets of such heaps are dropped; "
			 "payload = %lluL would do",
			 shape->item, (unsigned long long)piece->heap,
			 (unsigned long long)bytes, shape->payload,
			 (unsigned long long)bytes);
	}
	heaps_drop(p, bytes > shape->payload ? DROP_TOO_LARGE : DROP_MALFORMED);
	return false;
}

/* Notes where the item of such heaps lies, if this packet says so and none did
 * before.  Called for packets that wait, so that pieces of the heap before,
 * whose head came before the start, find their place. */
static void
cubes_item_learn(struct heaps *p, const struct format_piece *piece)
{
	struct cube_head head;

	if (cubes_of(p)->knowns)
		return;
	cubes_head(p, piece, &head);
	if (head.item && head.bytes == p->a.shape->payload)
		known_note(p, piece->length, head.skip);
}

bool
cubes_item_check(struct heaps *p, const struct format_piece *piece,
		 const struct cube_head *head)
{
	uint64_t payload = p->a.shape->payload;

	/* The format cannot tell the length of the last item in a heap of
	 * unknown length. */
	if (head->bytes != payload && (head->bytes || piece->length))
		return item_wrong(p, piece, head->bytes);
	if (head->skip > UINT32_MAX - payload || piece->length > UINT32_MAX) {
		heaps_drop(p, DROP_TOO_LARGE);
		return false;
	}
	if (head->item)
		known_note(p, piece->length, head->skip);
	return true;
}

/* ---- time ------------------------------------------------------------ */

uint64_t
ticks_base(const struct ticks *t)
{
	return t->step ? t->first / t->step : t->first;
}

static bool
slot_exact(const struct ticks *t, int64_t by, int64_t *slots)
{
	int64_t step = (int64_t)t->step;

	*slots = by / step;
	return by % step == 0;
}

static bool
slot_near(const struct ticks *t, int64_t by, int64_t *slots)
{
	int64_t step = (int64_t)t->step, rest;

	*slots = by / step;
	rest = by % step;
	if (rest < 0) {
		rest += step;
		*slots -= 1;
	}
	if (rest >= step - (step + 3) / 4 + 1 && rest) {
		*slots += 1;
		return true;
	}
	return rest < (step + 3) / 4;
}

bool
ticks_slot(struct ticks *t, const struct format_shape *shape, uint64_t value,
	   int64_t *rel)
{
	int64_t by = (int64_t)(value - t->value), slots = 0;
	bool good;

	if (!t->step && by > 0)
		t->step = (uint64_t)by;
	if (!t->step || t->step > INT64_MAX) {
		*rel = (int64_t)t->slot;
		return !by;
	}
	good = shape->time_item ? slot_near(t, by, &slots)
				: slot_exact(t, by, &slots);
	*rel = (int64_t)t->slot + slots;
	return good;
}

/* ---- packets that wait ------------------------------------------------- */

/*
 * Packets that come before their slot is known wait, unchanged, in a block that
 * is borrowed for them.
 *
 * At the beginning all packets wait, until there are enough to make a run.
 * They are then sorted by heap and offset, as they were sent, so that neither
 * the first slot nor the step of time depends on the order of arrival.  Later,
 * a packet waits if it overtook the one with its heap's time, or if it does not
 * tell which bytes of the heap are stored and nothing is known to guess that
 * by.  Waiting packets are tried again whenever the time of a heap became
 * known; and a last time, when they waited for max_age or at the end, without
 * waiting any more.
 *
 * If blocks are short, or the block is full, no packet waits.  A piece that
 * waits already and comes again may be from a sender that restarted; it ends
 * the waiting.
 */

enum {
	EARLY_MOST = 2 * RUN_AGREE, /* packets that may wait */
	FREE_BLOCKS =
	    3, /* free blocks required: one for them, two for the window */
};

struct cube_wait {
	struct receive_packet packet;
	uint64_t heap, offset;
	bool stays; /* it was tried, and waits on */
};

static bool
memory_take(struct heaps *p)
{
	struct cube_early *e = &cubes_of(p)->early;

	if (block_pool_room(p->a.pool, p->a.sub) < FREE_BLOCKS)
		return false;
	e->b = block_pool_take(p->a.pool, p->a.sub);
	e->used = EARLY_MOST * sizeof(struct cube_wait);
	e->since = p->now;
	return e->b;
}

static void
early_copy(struct heaps *p, struct cube_wait *w,
	   const struct format_piece *piece)
{
	const struct receive_packet *k = heaps_packet(p);
	uint32_t have = k->prefix_bytes < k->bytes ? k->prefix_bytes : k->bytes;
	struct cube_early *e = &cubes_of(p)->early;
	uint8_t *at = e->b->data + e->used;

	memcpy(at, k->prefix, have);
	memcpy(at + have, k->payload, k->bytes - have);
	*w = (struct cube_wait){ .packet = *k,
				 .heap = piece->heap,
				 .offset = piece->offset };
	w->packet.prefix = at;
	w->packet.payload = at + have;
	w->packet.prefix_bytes = have;
	w->packet.arrived = p->now_ns;
	e->used += k->bytes;
}

bool
cubes_wait(struct heaps *p, const struct format_piece *piece)
{
	struct cube_early *e = &cubes_of(p)->early;
	uint64_t bytes = (uint64_t)p->a.geometry->slots * p->a.shape->payload;

	if (e->tried) {
		e->tried->stays = !e->last;
		return !e->last;
	}
	if (!e->b && !memory_take(p))
		return false;
	if (e->n == EARLY_MOST || e->used > bytes ||
	    bytes - e->used < heaps_packet(p)->bytes)
		return false;
	early_copy(p, (struct cube_wait *)e->b->data + e->n++, piece);
	return true;
}

/* Order by heap, then by offset, then by arrival. */
static int
by_place(const void *a, const void *b)
{
	const struct cube_wait *x = a, *y = b;

	if (x->heap != y->heap)
		return x->heap < y->heap ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->packet.prefix < y->packet.prefix ? -1 : 1;
}

static void
try_all(struct heaps *p, bool last)
{
	struct cube_early *e = &cubes_of(p)->early;
	struct cube_wait *wait = (struct cube_wait *)e->b->data;
	unsigned kept = 0;

	qsort(wait, e->n, sizeof *wait, by_place);
	e->last = last;
	e->news = false;
	for (unsigned i = 0; i < e->n; i++) {
		e->tried = &wait[i];
		e->tried->stays = false;
		heaps_again(p, &wait[i].packet);
		if (wait[i].stays)
			wait[kept++] = wait[i];
	}
	e->tried = NULL;
	e->n = kept;
	if (kept)
		return;
	block_pool_put(e->b);
	e->b = NULL;
}

void
cubes_early_try(struct heaps *p, bool last)
{
	const struct cube_early *e = &cubes_of(p)->early;

	if (e->b && (last || e->news))
		try_all(p, last);
}

static bool
is_there(const struct cube_early *e, const struct receive_packet *k,
	 const struct format_piece *piece)
{
	const struct cube_wait *wait = e->b ? (void *)e->b->data : NULL;

	for (unsigned i = 0; i < e->n; i++) {
		if (wait[i].heap == piece->heap &&
		    wait[i].offset == piece->offset &&
		    wait[i].packet.sender == k->sender)
			return true;
	}
	return false;
}

bool
cubes_begin_wait(struct heaps *p, const struct format_piece *piece)
{
	const struct cubes *c = cubes_of(p);
	unsigned n = c->early.n;

	if (c->window.running || p->candidate.b || c->early.tried)
		return false;
	cubes_item_learn(p, piece);
	if (!is_there(&c->early, heaps_packet(p), piece) &&
	    cubes_wait(p, piece)) {
		if (c->early.n >= RUN_AGREE)
			try_all(p, false);
		return true;
	}
	if (!n)
		return false;
	try_all(p, false);
	p->again = c->early.n < n;
	return p->again;
}
