/* SPDX-License-Identifier: MIT */
/*
 * Placement in bad weather: thousands of seeded batches of everything that
 * networks and senders do.  What has to hold whatever comes is checked by
 * the bench after each batch; where the weather is merely rough (losses,
 * swaps, duplicates, restarts) not one packet may be missing either.
 */
#include "lib/dice.h"
#include "lib/place_bench.h"

/* The first five seeds have each kind of storm. */
enum { BATCHES = 400, FEW = 5, SEEDS = 12, DELAYED = 4 };

/* A sender, and the network behind it.  Chances are in percent. */
struct storm {
	struct dice dice;
	uint64_t next;
	unsigned loss, swap, twice, far_away;
	unsigned garbage, broken;
	unsigned reach; /* how far a swap goes */
	uint64_t since; /* packets since the last jump */
	uint64_t sent;	/* distinct packets that arrived */
	uint64_t top;	/* one behind the highest of them */
	unsigned calm;	/* batches before disks break */

	struct {
		uint64_t sequence;
		unsigned left; /* packets that overtake it yet; 0: none */
	} delayed[DELAYED];
};

static struct bench bench;
static uint64_t outside; /* of several */

static uint64_t
wrapped(uint64_t sequence)
{
	uint64_t s =
	    bench.shape.sequence_bits == 32 ? (uint32_t)sequence : sequence;

	/* The one number that the bench's format has no packet for. */
	return s == (bench.shape.sequence_bits == 32 ? UINT32_MAX : BENCH_NONE)
		   ? 0
		   : s;
}

static void
deliver(struct storm *s, uint64_t sequence)
{
	bench_packet(&bench, wrapped(sequence), dice_chance(&s->dice, 10));
	s->sent++;
	s->since++;
	if (s->top <= sequence)
		s->top = sequence + 1;
}

static void
garbage(struct storm *s)
{
	struct receive_packet *k;

	k = bench_packet(&bench, wrapped(dice_bits(&s->dice)), false);
	switch (dice_roll(&s->dice, 5)) {
	case 0: k->bytes = dice_roll(&s->dice, k->bytes); break;
	case 1: k->flags = RECEIVE_CUT; break;
	case 2: k->flags = RECEIVE_FOREIGN; break;
	case 3: memset(k->prefix, 0xff, BENCH_PREFIX); break;
	default: break;
	}
}

/* The counter goes elsewhere: a little, far, to 0, or by 2^40. */
static void
jump(struct storm *s)
{
	uint64_t part = bench.geometry.parts;
	uint64_t step[] = { s->next + 4096 * part, s->next - 100000 * part, 0,
			    s->next + (part << 40),
			    s->next + bench_slots(&bench)->max_gap * part * 3 };

	uint64_t to = step[dice_roll(&s->dice, 5)] / part * part;

	/* A restart within the window cannot be told from late packets. */
	if (s->next - to < 2000 || to > UINT64_MAX - 1000000)
		return;
	s->next = to;
	s->since = 0;
}

/* Mostly the next packet; true when it was handed on. */
static bool
packet_now(struct storm *s)
{
	uint64_t sequence = s->next++;

	if (dice_chance(&s->dice, s->loss) && s->since > 100)
		return false;
	if (dice_chance(&s->dice, s->swap)) {
		unsigned i = dice_roll(&s->dice, DELAYED);

		if (s->reach && !s->delayed[i].left) {
			s->delayed[i].sequence = sequence;
			s->delayed[i].left = 1 + dice_roll(&s->dice, s->reach);
			return false;
		}
	}
	deliver(s, sequence);
	return true;
}

static void
delayed_now(struct storm *s)
{
	for (unsigned i = 0; i < DELAYED; i++) {
		if (s->delayed[i].left && !--s->delayed[i].left &&
		    bench.packets < RECEIVE_BATCH)
			deliver(s, s->delayed[i].sequence);
	}
}

static void
batch_make(struct storm *s)
{
	unsigned n = dice_roll(&s->dice, RECEIVE_BATCH - DELAYED - 4) + 1;

	while (bench.packets < n) {
		if (s->far_away && s->since > 300 &&
		    dice_roll(&s->dice, 1000) < s->far_away)
			jump(s);
		if (dice_chance(&s->dice, s->garbage))
			garbage(s);
		if (packet_now(s)) {
			uint64_t last = s->next - 1;

			if (dice_chance(&s->dice, s->twice))
				bench_packet(&bench, wrapped(last), false);
			delayed_now(s);
		}
	}
}

/* Disks take blocks away and bring them back as they like. */
static void
disks_turn(struct storm *s)
{
	while (bench.outs > 4 || (bench.outs && dice_chance(&s->dice, 50)))
		bench_home(&bench);
	if (s->calm)
		s->calm--;
	else if (s->broken && dice_chance(&s->dice, s->broken))
		bench_starve(&bench, dice_roll(&s->dice, 3));
	else if (dice_chance(&s->dice, 30))
		bench_feed(&bench);
}

static void
time_turn(struct storm *s)
{
	bench.now += dice_roll(&s->dice, 20);
	if (dice_chance(&s->dice, 20))
		placement_age(bench.placement, bench.now);
	bench_open_check(&bench);
}

static void
blow(struct storm *s, const struct bench_args *args, bool time)
{
	bench_open(&bench, args);
	for (unsigned i = 0; i < BATCHES; i++) {
		/* What begins in the last moment may be too little. */
		if (i == BATCHES - 10)
			s->far_away = 0;
		bench.source = dice_roll(&s->dice, 2);
		bench_aim(&bench, 1 + dice_roll(&s->dice, RECEIVE_BATCH));
		batch_make(s);
		bench_batch(&bench);
		disks_turn(s);
		if (time)
			time_turn(s);
	}
	placement_flush(bench.placement);
}

static const uint32_t shapes[][2] = {
	/* slots, parts */
	{ 1, 1 },  { 2, 1 },  { 4, 2 },	  { 63, 1 },
	{ 64, 1 }, { 66, 3 }, { 130, 2 }, { 300, 1 },
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static struct bench_args
args_of(unsigned shape, unsigned bits)
{
	return (struct bench_args){ .payload = 24,
				    .slots = shapes[shape][0],
				    .parts = shapes[shape][1],
				    .bits = bits,
				    .blocks = 24,
				    .max_gap = 4 * shapes[shape][0],
				    .max_age = 50 };
}

/* Not one packet is missing that came once, or twice. */
static void
rough(unsigned shape, uint64_t seed)
{
	struct bench_args args = args_of(shape, 64);
	struct storm s = { .dice = { seed },
			   .loss = 3,
			   .swap = 5,
			   .twice = 3,
			   .far_away = 5 };
	const struct counts *c;

	s.next = (dice_bits(&s.dice) >> 20) / args.parts * args.parts;
	args.max_gap = 1000;
	/* Where not even a swap's worth of slots is in the window there are
	 * none, so that all that is late is a fault. */
	s.reach = args.slots < 32 ? args.slots / 2 : 12;
	if (s.reach == 1)
		s.reach = 0;
	args.quantum = (uint32_t)(1 + seed * seed * 50);
	blow(&s, &args, false);
	c = placement_counts(bench.placement);
	ck_assert_uint_eq(c->drop[DROP_NO_BUFFER], 0);
	ck_assert_uint_eq(c->drop[DROP_OUT_OF_WINDOW], 0);
	ck_assert_uint_eq(c->drop[DROP_LATE], 0);
	ck_assert_uint_eq(c->placed, s.sent);
	while (bench.outs)
		bench_home(&bench);
	ck_assert_uint_gt(bench.summed, bench.filled * args.payload / 5);
	bench_close(&bench);
}

START_TEST(rough_weather_loses_nothing)
{
	for (unsigned shape = 3; shape < SHAPES; shape++) {
		for (uint64_t seed = 1; seed <= suite_times(FEW, SEEDS); seed++)
			rough(shape, seed);
	}
}
END_TEST

static void
wild(unsigned shape, unsigned bits, uint64_t seed)
{
	struct bench_args args = args_of(shape, bits);
	struct storm s = { .dice = { seed },
			   .loss = 5,
			   .swap = 10,
			   .twice = 5,
			   .far_away = 20,
			   .garbage = seed % 3 ? 2 : 0,
			   .broken = seed % 2 ? 20 : 0,
			   .reach = 3 * shapes[shape][0] };

	args.quantum = 1 + dice_roll(&s.dice, 5000);
	if (seed % 4 == 1)
		s.next = 0xffffff00;
	blow(&s, &args, seed % 5 != 0);
	ck_assert_uint_gt(bench.filled, 0);
	bench_close(&bench);
}

/* Memory comes and goes, up to the end.  Of the numbers of a run, from the
 * first to the highest that came, each is in a block, missing between two that
 * are, or outside. */
static void
starved(unsigned shape, uint64_t seed)
{
	struct bench_args args = args_of(shape, 64);
	struct storm s = { .dice = { seed },
			   .loss = 5,
			   .swap = 10,
			   .broken = 20,
			   .calm = 20,
			   .reach = 12 };
	const struct counts *c;

	s.next = s.top = 600 * args.parts;
	args.max_gap = 1 << 20;
	blow(&s, &args, seed % 2);
	c = placement_counts(bench.placement);
	ck_assert_uint_eq(c->runs, 1);
	ck_assert_uint_eq(s.top - bench_slots(&bench)->window.base,
			  c->placed + bench.lost + c->outside);
	outside += c->outside;
	bench_close(&bench);
}

START_TEST(all_that_is_lost_is_counted)
{
	outside = 0;
	for (unsigned shape = 3; shape < SHAPES; shape++) {
		for (uint64_t seed = 1; seed <= suite_times(FEW, SEEDS); seed++)
			starved(shape, seed);
	}
	ck_assert_uint_gt(outside, 0);
}
END_TEST

START_TEST(whatever_comes_the_books_are_right)
{
	for (unsigned shape = 0; shape < SHAPES; shape++) {
		for (uint64_t seed = 1; seed <= suite_times(FEW, SEEDS); seed++)
			wild(shape, seed % 2 ? 32 : 64, seed * 77 + shape);
	}
}
END_TEST

SUITE("place_storm", rough_weather_loses_nothing, all_that_is_lost_is_counted,
      whatever_comes_the_books_are_right)
