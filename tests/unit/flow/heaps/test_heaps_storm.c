/* SPDX-License-Identifier: MIT */
/*
 * Heaps in bad weather: seeded storms of all that senders and networks do to
 * pieces.  What has to hold whatever comes: every byte that is stored was
 * sent, at that place of that heap; no byte of an earlier life of the memory
 * is; each datagram is placed, or in one drop; memory that was received into
 * is never handed to the kernel, which here writes to all it is handed.
 * Where the weather is merely rough nothing may be missing either.
 */
#include "lib/dice.h"
#include "lib/heap_bench.h"

/* The first six seeds have each kind of storm. */
enum { BATCHES = 150, FEW = 6, SEEDS = 12, SENDERS = 3, DELAYED = 24 };

static struct bench bench;

/* A packet that is under way. */
struct going {
	struct sent *s; /* NULL: none */
	unsigned n;
	unsigned left; /* packets that overtake it yet */
};

struct sender {
	struct sent *s; /* the heap that it is at */
	unsigned n, cuts;
	uint64_t count;
};

/* Chances are in percent, or where it says so in a thousand. */
struct storm {
	struct dice dice;
	struct sender sender[SENDERS];
	unsigned senders;
	struct going going[DELAYED];
	unsigned loss, swap, twice, endless, away;
	unsigned garbage, restart, control; /* of 1000 */
	unsigned reach;
	uint32_t longest, most; /* of a packet; of a heap */
	bool alike;		/* heaps are */
	bool cube;
};

/* ---- senders --------------------------------------------------------- */

static struct sent *
heap_new(struct storm *s, uint64_t count)
{
	struct sent *h;

	if (s->cube)
		return bench_cube(&bench, count, s->alike ? 333 : 0,
				  s->alike ? 50 : 0);
	if (dice_roll(&s->dice, 1000) < s->control)
		return bench_control(&bench, count,
				     dice_chance(&s->dice, 50) ? PIECE_START
							       : PIECE_STOP);
	if (s->alike)
		return bench_heap(&bench, count, s->most, 9);
	h = bench_heap(&bench, count, 1 + dice_roll(&s->dice, s->most),
		       dice_roll(&s->dice, 4) ? dice_roll(&s->dice, 12)
					      : dice_roll(&s->dice, 300));
	h->sized = !dice_chance(&s->dice, s->endless);
	return h;
}

static void
sender_next(struct storm *s, struct sender *from)
{
	while (!from->s || from->n == from->cuts) {
		if (dice_roll(&s->dice, 1000) < s->restart)
			from->count = dice_chance(&s->dice, 50)
					  ? 1
					  : dice_bits(&s->dice) >> 20;
		from->s = heap_new(s, from->count++);
		from->s->sender = (uint32_t)(from - s->sender);
		from->n = 0;
		from->cuts = bench_cuts(from->s, s->longest);
	}
}

static void
deliver(struct storm *s, struct sent *h, unsigned n)
{
	struct cut c;

	if (bench.packets == RECEIVE_BATCH || !bench_cut(h, s->longest, n, &c))
		return;
	bench_piece(&bench, h, c.off, c.bytes, c.first_item, c.items,
		    dice_chance(&s->dice, s->away));
}

/* A header that nobody meant, or bytes that are none. */
static void
garbage(struct storm *s)
{
	struct format_piece p = { .heap = dice_bits(&s->dice) >> 20,
				  .length = dice_roll(&s->dice, 100000),
				  .flavour = BENCH_BITS };
	uint8_t raw[2000] = { 0 };
	uint32_t n, bytes = dice_roll(&s->dice, 1000);

	if (bench.packets >= RECEIVE_BATCH - 1)
		return;
	if (p.length > bytes)
		p.offset = dice_roll(&s->dice, (uint32_t)p.length - bytes);
	p.bytes = bytes;
	n = spead_wrap(&p, NULL, 0, raw);
	memset(raw + n, BENCH_GARBAGE, bytes);
	for (unsigned i = dice_roll(&s->dice, 3); i; i--)
		raw[dice_roll(&s->dice, n)] ^= (uint8_t)dice_bits(&s->dice);
	bench_raw(&bench, raw,
		  dice_chance(&s->dice, 30) ? dice_roll(&s->dice, n + bytes)
					    : n + bytes,
		  false)
	    ->sender = dice_roll(&s->dice, SENDERS);
}

static bool
delay(struct storm *s, struct sent *h, unsigned n)
{
	struct going *g = &s->going[dice_roll(&s->dice, DELAYED)];

	if (!s->reach || g->s || !dice_chance(&s->dice, s->swap))
		return false;
	*g = (struct going){ h, n, 1 + dice_roll(&s->dice, s->reach) };
	return true;
}

static void
arrive(struct storm *s)
{
	for (struct going *g = s->going; g < s->going + DELAYED; g++) {
		if (g->s && !--g->left) {
			deliver(s, g->s, g->n);
			g->s = NULL;
		}
	}
}

/* What a cube's heaps are like is known after the first ones. */
static bool
is_calm(const struct storm *s)
{
	return s->cube && bench.sents < 4 && !s->garbage;
}

static void
send_one(struct storm *s)
{
	struct sender *from = &s->sender[dice_roll(&s->dice, s->senders)];

	sender_next(s, from);
	if (is_calm(s)) {
		deliver(s, from->s, from->n++);
		return;
	}
	if (dice_chance(&s->dice, s->loss)) {
		from->n++;
	} else if (delay(s, from->s, from->n)) {
		from->n++;
	} else {
		if (dice_chance(&s->dice, s->twice))
			deliver(s, from->s, from->n);
		deliver(s, from->s, from->n++);
	}
	arrive(s);
}

/* ---- the storm ------------------------------------------------------- */

/* Pieces that are neither placed nor dropped yet. */
static uint64_t
waiting(void)
{
	const struct heaps *p = (const struct heaps *)bench.placement;
	bool cube = bench.shape.store == HEAP_CUBE;
	uint64_t n = p->candidate.b ? p->candidate.pieces : 0;

	if (cube)
		n += cubes_of(p)->early.n;
	for (int i = 0; i < HEAPS_LIVE; i++) {
		const struct heap *h = &p->live[i];

		if (h->live && h->held && !h->parked)
			n += h->pieces;
	}
	return n;
}

static void
disks_turn(struct storm *s)
{
	while (bench.outs > 3 || (bench.outs && dice_chance(&s->dice, 50)))
		bench_home(&bench);
	if (!s->garbage)
		return;
	if (dice_chance(&s->dice, 10))
		bench_starve(&bench, dice_roll(&s->dice, 3));
	else if (dice_chance(&s->dice, 50))
		bench_feed(&bench);
}

static void
blow(struct storm *s)
{
	const struct counts *c = placement_counts(bench.placement);

	for (unsigned i = 0; i < BATCHES && bench.sents < BENCH_SENT - 256;
	     i++) {
		unsigned n =
		    1 + dice_roll(&s->dice, RECEIVE_BATCH - DELAYED - 3);

		bench_aim(&bench, 1 + dice_roll(&s->dice, RECEIVE_BATCH));
		while (bench.packets < n) {
			if (dice_roll(&s->dice, 1000) < s->garbage)
				garbage(s);
			send_one(s);
		}
		bench_batch(&bench);
		BENCH_MUST(c->datagrams ==
			   c->placed + bench_dropped(&bench) + waiting());
		disks_turn(s);
		bench.now += dice_roll(&s->dice, s->garbage ? 300 : 3);
		if (dice_chance(&s->dice, 20))
			placement_age(bench.placement, bench.now);
	}
}

/* What is still under way arrives. */
static void
calm(struct storm *s)
{
	bench_aim(&bench, 16);
	for (unsigned i = 0; i < s->senders; i++) {
		struct sender *from = &s->sender[i];

		while (from->s && from->n < from->cuts) {
			if (bench.packets > RECEIVE_BATCH - DELAYED - 2) {
				bench_batch(&bench);
				bench_aim(&bench, 16);
			}
			deliver(s, from->s, from->n++);
			arrive(s);
		}
	}
	bench_batch(&bench);
	for (struct going *g = s->going; g < s->going + DELAYED; g++) {
		bench_aim(&bench, 16);
		if (g->s)
			deliver(s, g->s, g->n);
		bench_batch(&bench);
	}
}

static uint64_t
cube_lost(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < bench.sents; i++)
		n += bench_lost_of(&bench.sent[i], bench.sent[i].skip,
				   bench.shape.payload);
	return n;
}

static struct storm
storm_of(uint64_t seed)
{
	struct storm s = { .dice = { seed * 7919 },
			   .senders = 1 + seed % SENDERS,
			   .swap = 5,
			   .reach = 10,
			   .away = 5,
			   .alike = seed % 2,
			   .longest = seed % 3 ? 1472 : 600 };

	s.most = 2000 + dice_roll(&s.dice, 30000);
	return s;
}

/* Nothing is missing of what came, and it is known what did not. */
START_TEST(rough_weather_loses_nothing)
{
	for (uint64_t seed = 1; seed <= suite_times(FEW, SEEDS); seed++) {
		struct storm s = storm_of(seed);

		s.loss = seed % 4 ? 2 : 0;
		s.twice = 3;
		bench_open(&bench, 48, 24);
		blow(&s);
		calm(&s);
		bench_flush(&bench);
		ck_assert_uint_eq(bench_lost_all(&bench), 0);
		ck_assert_uint_eq(bench_drop(&bench, DROP_DUPLICATE),
				  bench_dropped(&bench));
		ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
		bench_close(&bench);
	}
}
END_TEST

START_TEST(whatever_comes_the_books_are_right)
{
	for (uint64_t seed = 1; seed <= suite_times(FEW, SEEDS); seed++) {
		struct storm s = storm_of(seed);

		s.loss = 5;
		s.swap = 20;
		s.reach = 200;
		s.twice = 10;
		s.endless = seed % 3 ? 20 : 0;
		s.garbage = seed % 5 ? 30 : 0;
		s.restart = 50;
		s.control = 50;
		bench_open(&bench, 16 + (uint32_t)seed % 30, 16);
		bench.again = true;
		blow(&s);
		bench_flush(&bench);
		ck_assert_uint_gt(bench.filled, 0);
		bench_close(&bench);
	}
}
END_TEST

START_TEST(cubes_lose_nothing_in_rough_weather)
{
	for (uint64_t seed = 1; seed <= suite_times(FEW, SEEDS); seed++) {
		struct format_shape shape = { .time_item =
						  seed % 3 ? 0 : BENCH_TIME,
					      .time_step = 1 };
		struct storm s = storm_of(seed);

		s.cube = true;
		s.senders = 1;
		s.sender[0].count = 5000;
		s.loss = seed % 4 && !shape.time_item ? 2 : 0;
		s.twice = 3;
		s.reach = 4;
		bench_open_cube(&bench, 5000, 12, &shape);
		bench.time = 1;
		blow(&s);
		calm(&s);
		bench_flush(&bench);
		ck_assert_uint_eq(bench_drop(&bench, DROP_DUPLICATE),
				  bench_dropped(&bench));
		ck_assert_uint_eq(cube_lost(), 0);
		ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
		bench_close(&bench);
	}
}
END_TEST

START_TEST(whatever_comes_the_books_of_cubes_are_right)
{
	for (uint64_t seed = 1; seed <= suite_times(FEW, SEEDS); seed++) {
		struct format_shape shape = { .time_item =
						  seed % 3 ? 0 : BENCH_TIME,
					      .time_step = seed % 2 };
		struct storm s = storm_of(seed);

		s.cube = true;
		s.loss = 5;
		s.swap = 20;
		s.reach = 200;
		s.twice = 10;
		s.garbage = seed % 5 ? 30 : 0;
		s.restart = 50;
		bench_open_cube(&bench, 2000 + (uint32_t)seed * 100,
				1 + (uint32_t)seed % 9, &shape);
		bench.time = 1;
		bench.again = true;
		bench.any_time = true;
		blow(&s);
		bench_flush(&bench);
		bench_close(&bench);
	}
}
END_TEST

SUITE("heaps_storm", rough_weather_loses_nothing,
      whatever_comes_the_books_are_right, cubes_lose_nothing_in_rough_weather,
      whatever_comes_the_books_of_cubes_are_right)
