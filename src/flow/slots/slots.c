/* SPDX-License-Identifier: MIT */
/*
 * Predictive placement.
 *
 * Packets of a telescope are equal in size and come mostly in order.  So the
 * kernel is given the very slots in which the next packets belong and copies
 * each payload there; all that is left to do per packet is to read its
 * sequence, see that it is in the right slot, and set a bit.  The payload is
 * copied once, the network prefix is stripped on the way, and the block can be
 * written with O_DIRECT from where it is.
 *
 * A batch is sorted in two passes.  The first reads every header, in the order
 * of arrival, and decides: a slot, a drop, or parking as a candidate.  It sets
 * bits and counts, slides the window and closes blocks, but moves no payload,
 * because a slot that a packet belongs in may hold another packet of the same
 * batch that was not looked at yet.  The second pass moves the packets that are
 * not where they belong (place/relocate.c).  Only then do closed blocks leave,
 * and do unused blocks go back: until then everything that landed stays in
 * place.
 *
 * The kernel is never given a slot whose bit is set, so no packet in place is
 * ever overwritten.  If no block is free, packets land in scratch memory: the
 * socket is drained, late packets among them still find their slots in the open
 * blocks, and the others are counted as `no_buffer`.
 *
 * Candidates are parked by copy at once, in a block of their own (candidate.h),
 * and a new run starts in fresh blocks from the pool; neither ever touches a
 * slot that a packet of this batch may lie in.
 *
 * A placement has some 15 KiB of its own, so hundreds cost little; the rest is
 * the intake's (placement.h) or borrowed from the pool.
 */
#include "flow/slots/slots_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/place/learn.h"
#include "flow/memory/checksums.h"
#include "flow/memory/frame_ring.h"

/* Packets that a candidate needs ahead of the head: fewer for small blocks,
 * since a stream may begin with losses. */
static unsigned
agree(uint32_t slots)
{
	if (slots >= CANDIDATE_AGREE)
		return CANDIDATE_AGREE;
	return slots < 2 ? 2 : slots;
}

static void
candidate_set(const struct slots *p, struct candidate *c)
{
	c->span = (uint64_t)WINDOW_OPEN * p->slots;
	c->bits = p->a.shape->sequence_bits;
}

/* ---- where packets should land ----------------------------------------- */

/*
 * Predicts where the next packets of a source should land: in free slots of the
 * sequences that its prediction expects (prediction.h), ascending through the
 * whole window, and behind that in scratch memory.
 */

/* Writes the pairs that point into blocks, and returns their number. */
static unsigned
blocks_aim(struct slots *p, const struct prediction *prediction,
	   struct receive_pair *pair, unsigned n, uint64_t rel)
{
	struct window *w = &p->window;
	uint64_t first = w->origin + (w->gone ? p->slots : 0), slot;
	unsigned landing = 0;
	struct block *b;
	uint32_t at;

	rel = prediction_from(prediction, rel > first ? rel : first, &at);
	slot = rel - w->origin;
	for (unsigned i = 0; landing < n;
	     slot += prediction_step(prediction, &at)) {
		if (slot >= p->slots) {
			i += (unsigned)(slot / p->slots);
			slot %= p->slots;
		}
		b = i < WINDOW_BLOCKS ? window_block(w, i) : NULL;
		if (!b)
			break;
		if (block_has(b, (uint32_t)slot))
			continue;
		pair[landing++].payload = block_slot(b, (uint32_t)slot);
	}
	return landing;
}

/* Number of blocks that parked packets will take before a run has its first
 * block. */
static unsigned
parking_needs(const struct slots *p)
{
	unsigned need = p->behind;

	if (p->parking.block[0])
		return 0;
	return (need + p->slots - 1) / p->slots;
}

/* Number of packets, up to n, for which blocks will be free although there is
 * no slot to aim at yet: packets of a run that is about to begin, after the
 * parked ones, or of a block behind a gap. */
static unsigned
room_ahead(const struct slots *p, unsigned n, bool gap, uint64_t off)
{
	unsigned blocks = block_pool_room(p->a.pool, p->a.sub), less = 0;
	uint64_t room, taken = gap ? off % p->slots : p->slots;

	if (!gap)
		less = parking_needs(p);
	if (blocks <= less ||
	    (less && p->window.running && !block_pool_plenty(p->a.pool)))
		return 0;
	room = (uint64_t)(blocks - less) * p->slots;
	if (room <= taken)
		return 0;
	return room - taken < n ? (unsigned)(room - taken) : n;
}

static unsigned
slots_aim(struct placement *placement, const struct prediction *prediction,
	  struct receive_pair *pair, unsigned n)
{
	struct slots *p = (struct slots *)placement;
	const struct window *w = &p->window;
	uint64_t rel =
	    prediction->run == w->run + 1ull ? prediction->next : w->highest;
	uint64_t off = rel > w->origin ? rel - w->origin : 0;
	uint64_t end = (uint64_t)WINDOW_BLOCKS * p->slots;
	bool inside = w->running && !prediction->away && off < end;
	struct scratch *scratch = p->a.scratch;
	bool holds = slots_holds(p);
	unsigned landing = 0;

	if (holds)
		landing = slots_held_aim(p, pair, n);
	else if (inside)
		landing = blocks_aim(p, prediction, pair, n, rel);
	for (unsigned i = 0; i < n; i++, scratch->used++) {
		if (i >= landing)
			pair[i].payload = scratch_slot(scratch, scratch->used);
		pair[i].prefix = scratch_prefix(scratch, scratch->used);
		pair[i].prefix_bytes = p->a.shape->prefix;
		pair[i].payload_bytes = p->payload;
	}
	if (holds)
		return block_pool_room(p->a.pool, p->a.sub) ? n : landing;
	if (inside)
		return landing;
	return room_ahead(p, n, w->running && !prediction->away, off);
}

static void
slots_expect(struct placement *placement, struct prediction *prediction,
	     uint64_t sequence)
{
	struct slots *p = (struct slots *)placement;

	prediction->away = !slots_near(p, sequence, &prediction->next);
	prediction->run = p->window.run + 1ull;
}

/* ---- packets --------------------------------------------------------- */

/* Gives packets of formats without a sequence the next one.  False for other
 * formats. */
static bool
packet_follows(struct slots *p, struct format_packet *f)
{
	if (p->a.shape->sequence != SEQUENCE_ARRIVAL)
		return false;
	if (!p->window.running)
		slots_run_arrival(p);
	f->sequence = p->window.base + p->window.highest;
	return true;
}

enum drop
slots_read(const struct slots *p, const struct receive_packet *k,
	   struct format_packet *f)
{
	if (k->flags & RECEIVE_FOREIGN)
		return DROP_FOREIGN;
	if (k->flags & RECEIVE_CUT || k->bytes != p->datagram)
		return DROP_WRONG_SIZE;
	p->a.format->parse(p->a.shape, k->prefix, k->payload, f);
	if (k->flags & RECEIVE_SEQUENCE) {
		f->has |= FORMAT_SEQUENCE;
		f->sequence = k->sequence;
	}
	return f->has & FORMAT_SEQUENCE ? DROP_KINDS : DROP_UNREADABLE;
}

static uint32_t
fps_of(const struct slots *p)
{
	uint32_t fps = p->a.shape->fps;

	if (!fps && p->a.fps)
		fps = atomic_load_explicit(p->a.fps, memory_order_relaxed);
	return fps == LEARN_WAIT ? 0 : fps;
}

void
slots_sample(struct slots *p, const struct format_packet *f,
	     const void *payload, uint64_t rel)
{
	if (f->part || p->frame_waits || !frame_ring_wants(p->a.frames, f))
		return;
	if (p->parts == 1) {
		frame_ring_put(p->a.frames, p->a.sub, fps_of(p), payload);
		return;
	}
	p->frame_waits = true;
	p->frame_run = p->window.run;
	p->frame = rel;
}

/* Returns the block with this slot, and the slot's number in it; NULL: it has
 * left. */
static struct block *
block_of(const struct slots *p, uint64_t rel, uint32_t *slot)
{
	const struct window *w = &p->window;
	uint64_t off = rel - w->origin;

	*slot = (uint32_t)(off % p->slots);
	if (rel >= w->origin)
		return off < (uint64_t)WINDOW_OPEN * p->slots
			   ? w->open[off / p->slots]
			   : NULL;
	for (struct block *b = w->closed; b; b = b->next) {
		*slot = (uint32_t)(rel - b->first);
		if (b->run == w->run && rel >= b->first &&
		    rel - b->first < b->used)
			return b;
	}
	return NULL;
}

void
slots_frame_take(struct slots *p)
{
	uint32_t slot = 0, n = 0;
	const struct block *b = NULL;

	if (p->window.running && p->frame_run == p->window.run)
		b = block_of(p, p->frame, &slot);
	if (!b || slot + p->parts > b->slots) {
		p->frame_waits = false;
		return;
	}
	while (n < p->parts && block_has(b, slot + n))
		n++;
	if (n < p->parts)
		return;
	frame_ring_put(p->a.frames, p->a.sub, fps_of(p), block_slot(b, slot));
	p->frame_waits = false;
}

/* Teaches the prediction of the source that this packet came. */
static void
packet_saw(const struct slots *p, uint64_t rel)
{
	uint64_t run = p->window.run + 1ull;

	if (p->prediction->run != run)
		prediction_begin(p->prediction, run, rel);
	else
		prediction_saw(p->prediction, rel);
}

static void
packet_place(struct slots *p, const struct receive_packet *k)
{
	struct format_packet f;
	enum drop why = slots_read(p, k, &f);
	uint64_t rel;
	uint8_t *to;

	if (why != DROP_KINDS &&
	    (why != DROP_UNREADABLE || !packet_follows(p, &f))) {
		p->base.counts.drop[why]++;
		return;
	}
	if (!slots_near(p, f.sequence, &rel)) {
		slots_park(p, k, &f);
		return;
	}
	if (slots_echo(p, rel, k, &f))
		return;
	slots_oppose(p, 1, rel >= p->window.highest ? p->now : SLOTS_NEVER);
	to = slots_give(p, rel, f.has & FORMAT_READABLE);
	if (to && p->a.frames)
		slots_sample(p, &f, k->payload, rel);
	if (rel >= p->reached)
		p->reached = rel + 1;
	packet_saw(p, rel);
	if (to && to != k->payload) {
		p->base.counts.moved++;
		relocate_add(p->relocate, k->payload, to, p->payload);
	}
}

/* ---- the batch ------------------------------------------------------- */

static void
batch_start(struct slots *p, int64_t now_ns, int64_t now)
{
	relocate_start(p->relocate);
	p->echoed = false;
	p->reached = 0;
	p->now_ns = p->pass_ns = now_ns;
	p->now = now;
}

/*
 * True if an incomplete first block should leave early.  When free blocks are
 * short and substreams share them, a block with holes waits for late packets
 * only until the next block is half full: the disk then has it before a third
 * block is needed.
 */
static bool
is_pressed(const struct slots *p)
{
	const struct window *w = &p->window;

	return w->highest - w->origin >= w->slots + w->slots / 2 &&
	       block_pool_subs(w->pool) > 1 && block_pool_tight(w->pool);
}

/* Computes checksums for the packets of this batch, in the blocks it closed and
 * in the open ones. */
static void
blocks_sum(struct slots *p)
{
	struct window *w = &p->window;

	for (struct block *b = w->closed; b; b = b->next)
		checksums_extend(b);
	for (unsigned i = 0; i < WINDOW_OPEN; i++) {
		if (w->open[i])
			checksums_extend(w->open[i]);
	}
}

/*
 * True if closed blocks should wait for the frames per second.  The index
 * stores the time span of each block, and a frame number becomes a time only
 * with the frames per second.  While those are being learned, blocks wait, for
 * SLOTS_WAITS at most and only while half of the pool is free, since disks may
 * be slow just then.
 */
static bool
is_waiting(struct slots *p, uint32_t fps)
{
	const struct block_pool *pool = p->a.pool;

	if (fps != LEARN_WAIT || !block_pool_plenty(pool) ||
	    2 * block_pool_free_blocks(pool) < block_pool_blocks(pool))
		return false;
	if (!p->waits_since)
		p->waits_since = p->now;
	return p->now - p->waits_since < SLOTS_WAITS;
}

void
slots_release(struct slots *p)
{
	struct window *w = &p->window;
	uint32_t fps = 0;

	if (w->closed && p->a.fps)
		fps = atomic_load_explicit(p->a.fps, memory_order_relaxed);
	if (w->closed && is_waiting(p, fps)) {
		window_put_unused(w);
		return;
	}
	for (struct block *b = w->closed; b; b = b->next)
		b->fps = fps == LEARN_WAIT ? 0 : fps;
	window_release(w, p->a.out, p->a.arg);
}

/* Ends a batch: copies misplaced packets, then lets closed blocks leave. */
static void
batch_finish(struct slots *p)
{
	relocate_settle(p->relocate);
	if (p->frame_waits)
		slots_frame_take(p);
	if (!p->unsummed)
		blocks_sum(p);
	window_pass_on(&p->window, is_pressed(p));
	parking_release(&p->parking);
	slots_release(p);
	p->base.counts.outside = window_outside(&p->window);
	if (!p->window.running)
		p->base.counts.outside += p->starved;
}

void
slots_sort(struct slots *p, struct prediction *prediction,
	   const struct receive_packet *packet, unsigned n)
{
	int64_t now_ns = p->pass_ns;

	batch_start(p, now_ns, p->now);
	p->prediction = prediction;
	for (unsigned i = 0; i < n; i++) {
		p->now_ns = packet[i].arrived ? packet[i].arrived : now_ns;
		packet_place(p, &packet[i]);
	}
	p->prediction = NULL;
	p->now_ns = now_ns;
	batch_finish(p);
	if (p->reached) {
		prediction->next = p->reached;
		prediction->run = p->window.run + 1ull;
		prediction->away = false;
	}
}

static void
slots_batch(struct placement *placement, struct prediction *prediction,
	    const struct receive_packet *packet, unsigned n, int64_t now_ns,
	    int64_t now)
{
	struct slots *p = (struct slots *)placement;

	p->base.counts.datagrams += n;
	p->pass_ns = now_ns;
	p->now = now;
	if (slots_holds(p))
		slots_held_batch(p, packet, n);
	else
		slots_sort(p, prediction, packet, n);
}

void
slots_rivals(struct slots *p, unsigned n, int64_t ahead, int64_t now)
{
	batch_start(p, p->pass_ns, now);
	slots_oppose(p, n, ahead);
	batch_finish(p);
}

static bool
oldest_aged(const struct slots *p, int64_t now)
{
	int64_t born;

	return window_oldest(&p->window, &born) && now - born >= p->a.max_age;
}

static void
slots_age(struct placement *placement, int64_t now)
{
	struct slots *p = (struct slots *)placement;

	p->now = now;
	slots_held_age(p);
	batch_start(p, p->pass_ns, now);
	if (oldest_aged(p, now))
		slots_echo_settle(p, now - p->a.max_age / 4);
	while (oldest_aged(p, now) && window_close_oldest(&p->window, now))
		;
	slots_runs_begin(p, now - p->a.max_age);
	batch_finish(p);
}

static void
slots_flush(struct placement *placement)
{
	struct slots *p = (struct slots *)placement;

	p->waits_since = INT64_MIN / 2; /* wait no longer */
	slots_held_flush(p);
	batch_start(p, p->pass_ns, p->now);
	slots_runs_flush(p);
	window_end(&p->window);
	batch_finish(p);
}

static void
slots_free(struct placement *placement)
{
	struct slots *p = (struct slots *)placement;

	parking_finish(&p->parking);
	free(p);
}

static const struct placement_ops slots_ops = {
	.aim = slots_aim,
	.batch = slots_batch,
	.age = slots_age,
	.flush = slots_flush,
	.free = slots_free,
	.expect = slots_expect,
};

int
slots_make(struct placement **placement, const struct placement_args *args)
{
	struct slots *p = calloc(1, sizeof *p);

	if (!p)
		return -ENOMEM;
	p->base.ops = &slots_ops;
	p->a = *args;
	p->relocate = &args->scratch->relocate;
	p->slots = args->geometry->slots;
	p->payload = args->geometry->payload;
	p->parts = args->geometry->parts;
	p->datagram = args->shape->prefix + p->payload;
	p->max_gap = args->max_gap / p->payload;
	window_init(&p->window, &(struct window){ .pool = args->pool,
						  .sub = args->sub,
						  .slots = p->slots,
						  .parts = p->parts });
	for (int i = 0; i < CANDIDATES; i++)
		candidate_set(p, &p->candidate[i]);
	candidate_set(p, &p->echo);
	if (parking_init(&p->parking, args->pool, args->sub, p->slots) < 0) {
		free(p);
		return -ENOMEM;
	}
	p->agree = agree(p->slots);
	/* Three quarters of a block's packets: that leaves parking places for
	 * candidates made of garbage. */
	p->behind = run_behind(p->slots, p->agree, RUN_BEHIND);
	*placement = &p->base;
	return 0;
}
