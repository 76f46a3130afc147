/* SPDX-License-Identifier: MIT */
/*
 * Pieces of heaps, placed where they are stored.
 *
 * As with slots (slots.c), the kernel is given the memory where the next
 * packets belong, so that the bytes of a heap are copied once and headers are
 * stripped on the way; all that is left to do per packet is to read its header,
 * see that it is in the right place, and extend a range.  It is harder than
 * with slots, because headers vary in length, and the address of a heap is not
 * known before it begins.  But within a heap all packets but the last have one
 * size, heaps follow each other in memory, and the next one is mostly like the
 * one before.
 *
 * A batch is sorted in two passes.  The first reads headers in the order of
 * arrival, finds or makes the heap of each piece, accounts for its bytes, and
 * notes down what has to move.  It writes to no memory that the kernel was
 * given.  The second pass moves (place/relocate.c): of a packet whose header
 * was longer or shorter than expected, all that is not in place; of a packet
 * out of order, everything.  Only then do blocks leave.
 *
 *   expected   | header    | byte 8792 ... of heap 5
 *   came       | header         | byte 8792 ...        moves left
 *   came       | header | byte 8792 ...                two moves, right
 *
 * Sometimes the first pass has to write to a block, because a heap must be laid
 * elsewhere or notes would grow into memory that a packet landed in.  It then
 * first copies the rest of the batch out of the way (heaps_cut), which is rare.
 *
 * The kernel is never given memory of a heap for which a piece came already:
 * pieces are expected behind the last byte of the newest heap, and in heaps
 * that have not begun.  A piece that fills a hole is moved.
 *
 * A piece is refused or taken as a whole: a packet is either placed, or counted
 * in one drop.
 *
 * Where a heap has its memory, and what of it is stored, differs between rows
 * and cubes: six callbacks, struct heaps_kind.
 */
#include "flow/heaps/heaps_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Sizes of scratch memory, for packets that differ in length: a discard slot
 * holds a jumbo frame, a prefix more than the usual header.  A packet that
 * exceeds them arrives in memory of the receive plugin instead.  A batch is
 * never longer than ASIDE, which is touched only as it is used. */
enum { SLOT = 9216, PREFIX = 256, ASIDE = RECEIVE_BATCH << 16 };

int
heaps_scratch_make(struct scratch **scratch)
{
	struct scratch *s;
	struct heaps_scratch *h;
	int err = scratch_make(&s, SLOT, PREFIX);

	if (err)
		return err;
	s->heaps = h = calloc(1, sizeof *h + ASIDE);
	if (!h) {
		scratch_free(s);
		return -ENOMEM;
	}
	s->relocate.aside = h->aside;
	s->relocate.aside_bytes = ASIDE;
	*scratch = s;
	return 0;
}

uint32_t
heaps_extra(const struct format_shape *shape, const struct geometry *g)
{
	if (shape->store != HEAP_CUBE)
		return 0;
	return notes_cube_bytes(g->slots, g->payload);
}

/* ---- live heaps -------------------------------------------------------- */

/*
 * The table of live heaps is short, and is searched from the heap that got the
 * last piece: if heaps come one after the other, that is one comparison.  A
 * heap is identified by its count *and* its sender, so that two senders that
 * count alike do not mix.
 *
 * Complete heaps leave at once; the others make room for newer ones, oldest
 * first.
 */

static bool
is_heap(const struct heap *h, const struct format_piece *piece, uint32_t sender)
{
	return h->live && h->count == piece->heap && h->sender == sender;
}

static struct heap *
heaps_find(struct heaps *p, const struct format_piece *piece, uint32_t sender)
{
	if (p->current && is_heap(p->current, piece, sender))
		return p->current;
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (is_heap(h, piece, sender))
			return p->current = h;
	}
	return NULL;
}

static bool
heap_complete(const struct heap *h)
{
	const struct ranges *r = &h->ranges;

	if (r->n > 1)
		return false;
	return h->length ? r->bytes == h->length : !r->n || !r->at[0].from;
}

void
heaps_remove(struct heaps *p, struct heap *h)
{
	h->live = false;
	if (p->current == h)
		p->current = NULL;
	if (p->newest == h)
		p->newest = NULL;
}

static void
learn_whole(struct heaps *p, const struct heap *h)
{
	if (h->control != PIECE_DATA || h->parked)
		return;
	p->guess.items = h->items;
	p->guess.pieces = h->pieces;
	if (!h->length)
		p->guess.length = ranges_end(&h->ranges);
}

void
heaps_finish(struct heaps *p, struct heap *h)
{
	bool complete = heap_complete(h);

	heaps_remove(p, h);
	if (complete)
		learn_whole(p, h);
	p->kind->finish(p, h, complete);
}

static struct heap *
live_find_slot(struct heaps *p)
{
	struct heap *oldest = p->live;

	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (!h->live)
			return h;
		if (h->order < oldest->order)
			oldest = h;
	}
	heaps_finish(p, oldest);
	return oldest;
}

struct heap *
heaps_add(struct heaps *p, const struct format_piece *piece, uint32_t sender)
{
	struct heap *h = live_find_slot(p);

	*h = (struct heap){ .live = true,
			    .flavour = piece->flavour,
			    .control = piece->control,
			    .sender = sender,
			    .count = piece->heap,
			    .length = piece->length,
			    .order = ++p->order };
	p->current = h;
	return h;
}

/* Learns from a piece what the next ones will look like.  `datagram`: its bytes
 * with the header. */
static void
heaps_learn(struct heaps *p, const struct heap *h,
	    const struct format_piece *piece, uint32_t datagram)
{
	struct guess *g = &p->guess;

	if (h->control != PIECE_DATA || h->parked)
		return;
	if (piece->offset + piece->bytes < piece->length ||
	    (!piece->length && !piece->offset))
		g->datagram = datagram;
	if (piece->offset) {
		g->later = piece->header;
		return;
	}
	g->length = piece->length;
	g->first = piece->header;
	g->first_items = piece->items;
	if (!g->later)
		g->later = p->a.format->wrap_bytes(piece, 0);
	if (g->items < piece->items)
		g->items = piece->items;
}

/* Finishes heaps that got no piece for max_age. */
static void
heaps_age(struct heaps *p)
{
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && !h->parked && p->now - h->last >= p->a.max_age)
			heaps_finish(p, h);
	}
}

/* ---- where pieces should land ------------------------------------------ */

/*
 * Aiming at heaps.  All packets of a heap but the last have one size; only the
 * length of the header differs within a heap, in the same way from heap to
 * heap.  So a pair is scratch memory as long as the header will be, and the
 * address in the block where the bytes behind it belong:
 *
 *   first of a heap    | header and items    | bytes 0 ...
 *   the others         | header | bytes ...
 *   of a cube, first   | header and items, other items' bytes | the item ...
 *
 * The last packet is shorter, as long as the rest of the heap, and behind it
 * comes the first packet of the next heap.  A packet whose bytes would end in
 * the middle of its pair's memory, because another item follows the stored one,
 * is not aimed at: the kernel would write beyond.
 */

/* True if enough is known about datagrams to aim. */
static bool
heaps_aim_can(const struct heaps *p)
{
	const struct guess *g = &p->guess;

	return g->first && (!g->datagram ||
			    (g->datagram > g->later && g->datagram > g->first));
}

/* Aims pair i at scratch memory, for a packet of `bytes`. */
static void
pair_away(struct heaps *p, struct receive_pair *pair, unsigned i,
	  uint64_t bytes)
{
	struct scratch *s = p->a.scratch;
	uint32_t header = s->prefix_bytes;

	if (p->guess.later && p->guess.later < header)
		header = p->guess.later;
	if (bytes < header)
		header = (uint32_t)bytes;
	bytes -= header;
	pair[i].prefix = scratch_prefix(s, i);
	pair[i].prefix_bytes = header;
	pair[i].payload = scratch_slot(s, i);
	pair[i].payload_bytes =
	    bytes < s->slot_bytes ? (uint32_t)bytes : s->slot_bytes;
}

/* Aims pairs i to n-1 at scratch memory. */
static void
heaps_aim_away(struct heaps *p, struct receive_pair *pair, unsigned i,
	       unsigned n)
{
	uint64_t bytes = p->guess.datagram ? p->guess.datagram : UINT32_MAX;

	while (i < n)
		pair_away(p, pair, i++, bytes);
}

/* Aims pair i at its final place, for a packet with bytes off .. off + bytes of
 * a heap; at scratch memory if it cannot land there whole. */
static void
pair_set(struct heaps *p, const struct spot *spot, struct receive_pair *pair,
	 unsigned i, uint32_t header, uint64_t off, uint64_t bytes)
{
	struct scratch *s = p->a.scratch;
	uint64_t lead = off < spot->skip ? spot->skip - off : 0;
	uint8_t *scratch;

	if (lead >= bytes || off + bytes > spot->skip + spot->keep ||
	    header + lead > s->slot_bytes) {
		pair_away(p, pair, i, header + bytes);
		return;
	}
	header += (uint32_t)lead;
	scratch = header <= s->prefix_bytes ? scratch_prefix(s, i)
					    : scratch_slot(s, i);
	pair[i].prefix = scratch;
	pair[i].prefix_bytes = header;
	pair[i].payload = spot->at + (off + lead - spot->skip);
	pair[i].payload_bytes = (uint32_t)(bytes - lead);
}

unsigned
heaps_aim_at(struct heaps *p, const struct spot *spot, uint64_t from,
	     uint64_t length, struct receive_pair *pair, unsigned i, unsigned n)
{
	const struct guess *g = &p->guess;
	unsigned begin = i;

	while (i < n && from < length) {
		uint32_t header = from ? g->later : g->first;
		uint64_t bytes = length - from;

		if (g->datagram && bytes > g->datagram - header)
			bytes = g->datagram - header;
		pair_set(p, spot, pair, i++, header, from, bytes);
		from += bytes;
	}
	return i - begin;
}

/* ---- a piece --------------------------------------------------------- */

/* Copies the first `bytes` of a packet together, from its prefix and payload
 * buffers. */
static const void *
head_gather(struct heaps *p, const struct receive_packet *k, uint32_t bytes)
{
	uint8_t *head = p->scratch->head;

	memcpy(head, k->prefix, k->prefix_bytes);
	memcpy(head + k->prefix_bytes, k->payload, bytes - k->prefix_bytes);
	return head;
}

static bool
piece_read(struct heaps *p, const struct receive_packet *k,
	   struct format_piece *piece)
{
	uint32_t have = k->prefix_bytes < k->bytes ? k->prefix_bytes : k->bytes;
	int n;

	p->head = k->prefix;
	n = p->a.format->piece(p->head, have, k->bytes, piece);
	while (n > 0 && (uint32_t)n > have && (uint32_t)n <= k->bytes) {
		have = (uint32_t)n;
		p->head = head_gather(p, k, have);
		n = p->a.format->piece(p->head, have, k->bytes, piece);
	}
	return n == 0;
}

/* Notes moves for bytes off .. off + bytes of a heap, which lie at `from`:
 * those that are stored and not in place.  Returns how many bytes will move. */
static uint32_t
bytes_put(struct heaps *p, const struct heap *h, uint8_t *from, uint64_t off,
	  uint32_t bytes)
{
	uint64_t end = off + bytes, last = h->skip + h->keep;
	uint8_t *to;

	if (off < h->skip) {
		from += h->skip - off < bytes ? h->skip - off : bytes;
		off = h->skip;
	}
	if (end > last)
		end = last;
	if (off >= end)
		return 0;
	to = h->at + (off - h->skip);
	if (to == from)
		return 0;
	relocate_add(&p->a.scratch->relocate, from, to, (uint32_t)(end - off));
	return (uint32_t)(end - off);
}

/* Notes moves for a piece.  If the header was shorter than expected, the piece
 * lies in two parts.  True if any byte moves. */
static bool
piece_put(struct heaps *p, const struct heap *h,
	  const struct format_piece *piece)
{
	const struct receive_packet *k = heaps_packet(p);
	uint32_t head = piece->header, lead = 0, moved = 0;
	uint32_t have = k->prefix_bytes < k->bytes ? k->prefix_bytes : k->bytes;

	if (head < have) {
		lead = have - head;
		moved = bytes_put(p, h, k->prefix + head, piece->offset, lead);
		head = have;
	}
	moved += bytes_put(p, h, k->payload + (head - have),
			   piece->offset + lead, piece->bytes - lead);
	return moved;
}

/* Number of the piece's bytes that are stored. */
static uint32_t
piece_kept(const struct heap *h, const struct format_piece *piece)
{
	uint64_t from = piece->offset, to = from + piece->bytes;

	if (from < h->skip)
		from = h->skip;
	if (to > h->skip + h->keep)
		to = h->skip + h->keep;
	return from < to ? (uint32_t)(to - from) : 0;
}

uint32_t
heaps_take(struct heaps *p, struct heap *h, const struct format_piece *piece)
{
	uint32_t from = (uint32_t)piece->offset, kept = piece_kept(h, piece);
	struct counts *c = &p->base.counts;

	if (!h->parked && (from < ranges_end(&h->ranges) || h != p->newest))
		c->reordered++;
	if (piece->bytes)
		ranges_add(&h->ranges, from, from + piece->bytes);
	h->pieces++;
	h->bytes += kept;
	h->last = p->now;
	heaps_learn(p, h, piece, heaps_packet(p)->bytes);
	if (!h->held) {
		c->placed++;
		c->bytes += kept;
	}
	if (piece_put(p, h, piece) && !h->held)
		c->moved++;
	return kept;
}

static void
packet_take(struct heaps *p)
{
	const struct receive_packet *k = heaps_packet(p);
	struct format_piece piece;
	struct heap *h;

	if (k->flags & RECEIVE_FOREIGN) {
		heaps_drop(p, DROP_FOREIGN);
		return;
	}
	if (k->flags & RECEIVE_CUT) {
		heaps_drop(p, DROP_WRONG_SIZE);
		return;
	}
	if (!k->bytes || !piece_read(p, k, &piece)) {
		heaps_drop(p, DROP_MALFORMED);
		return;
	}
	do {
		p->again = false;
		h = heaps_find(p, &piece, k->sender);
		if (!h)
			h = p->kind->begin(p, heaps_packet(p), &piece);
		if (!h)
			continue;
		if (piece.length == h->length && piece.flavour == h->flavour)
			p->kind->take(p, h, &piece);
		else
			heaps_drop(p, DROP_MALFORMED);
	} while (p->again);
}

/* ---- the batch ------------------------------------------------------- */

static void
packet_aside(struct heaps *p, struct receive_packet *k)
{
	struct relocate *s = &p->a.scratch->relocate;
	uint32_t have = k->prefix_bytes < k->bytes ? k->prefix_bytes : k->bytes;

	k->prefix = relocate_aside(s, k->prefix, have);
	k->payload = relocate_aside(s, k->payload, k->bytes - have);
}

void
heaps_cut(struct heaps *p)
{
	struct receive_packet *rest = p->scratch->rest;

	if (!p->cut && p->at < p->packets) {
		unsigned n = p->packets - p->at;

		memcpy(rest + p->at, p->packet + p->at, n * sizeof *rest);
		for (unsigned i = p->at; i < p->packets; i++)
			packet_aside(p, &rest[i]);
		p->packet = rest;
	}
	p->cut = true;
	p->batch++;
	relocate_settle(&p->a.scratch->relocate);
}

static void
batch_start(struct heaps *p, const struct receive_packet *packet, unsigned n)
{
	relocate_start(&p->a.scratch->relocate);
	p->packet = packet;
	p->packets = n;
	p->at = 0;
	p->cut = false;
	p->batch++;
}

void
heaps_again(struct heaps *p, const struct receive_packet *k)
{
	const struct receive_packet *packet;
	unsigned at = p->at, packets = p->packets;
	int64_t now_ns = p->now_ns;
	struct format_piece piece;

	heaps_cut(p);
	packet = p->packet;
	p->packet = k;
	p->at = 0;
	p->packets = 1;
	p->now_ns = k->arrived;
	packet_take(p);
	relocate_settle(&p->a.scratch->relocate);
	p->packet = packet;
	p->at = at;
	p->packets = packets;
	p->now_ns = now_ns;
	if (at < packets) /* heaps_again left p->head at another packet */
		piece_read(p, heaps_packet(p), &piece);
}

static void
batch_finish(struct heaps *p)
{
	struct block *b;

	relocate_settle(&p->a.scratch->relocate);
	p->kind->release(p);
	while ((b = p->unused)) {
		p->unused = b->next;
		block_pool_put(b);
	}
}

static void
heaps_batch(struct placement *placement, struct prediction *prediction,
	    const struct receive_packet *packet, unsigned n, int64_t now_ns,
	    int64_t now)
{
	struct heaps *p = (struct heaps *)placement;

	(void)prediction;
	p->now = now;
	batch_start(p, packet, n);
	for (; p->at < p->packets; p->at++) {
		int64_t arrived = heaps_packet(p)->arrived;

		p->now_ns = arrived ? arrived : now_ns;
		p->base.counts.datagrams++;
		packet_take(p);
	}
	batch_finish(p);
}

static unsigned
heaps_aim(struct placement *placement, const struct prediction *prediction,
	  struct receive_pair *pair, unsigned n)
{
	struct heaps *p = (struct heaps *)placement;
	unsigned aimed = 0;

	(void)prediction;
	if (heaps_aim_can(p))
		aimed = p->kind->aim(p, pair, n);
	heaps_aim_away(p, pair, aimed, n);
	return aimed;
}

static void
heaps_place_age(struct placement *placement, int64_t now)
{
	struct heaps *p = (struct heaps *)placement;

	p->now = now;
	batch_start(p, NULL, 0);
	heaps_age(p);
	p->kind->age(p, now - p->a.max_age);
	batch_finish(p);
}

static void
heaps_flush(struct placement *placement)
{
	struct heaps *p = (struct heaps *)placement;

	batch_start(p, NULL, 0);
	p->kind->age(p, INT64_MAX);
	batch_finish(p);
}

static void
heaps_free(struct placement *placement)
{
	free(placement);
}

static const struct placement_ops heaps_ops = {
	.aim = heaps_aim,
	.batch = heaps_batch,
	.age = heaps_place_age,
	.flush = heaps_flush,
	.free = heaps_free,
};

int
heaps_make(struct placement **placement, const struct placement_args *args)
{
	bool cube = args->shape->store == HEAP_CUBE;
	struct heaps *p = cube ? cubes_make(args) : rows_make(args);

	if (!p)
		return -ENOMEM;
	p->base.ops = &heaps_ops;
	p->a = *args;
	p->scratch = args->scratch->heaps;
	*placement = &p->base;
	return 0;
}
