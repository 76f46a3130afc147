/* SPDX-License-Identifier: MIT */
/*
 * Cubes: one item of each heap in its slot, however its packets came, and
 * zero wherever nothing did.
 */
#include "dice.h"
#include "heap_bench.h"

static struct bench bench;

enum { MTU = 1472, JUMBO = 8968, VISIBILITIES = 20000, SLOTS = 6 };

static const struct format_shape by_count = { .time_item = 0 };
static const struct format_shape by_time = { .time_item = BENCH_TIME };

static void
cube_open(const struct format_shape *shape, unsigned batch)
{
	bench_open_cube(&bench, VISIBILITIES, SLOTS, shape);
	bench.time = 5000;
	bench_aim(&bench, batch);
}

static void
cube_next(unsigned batch)
{
	bench_batch(&bench);
	bench_aim(&bench, batch);
	while (bench.outs)
		bench_home(&bench);
}

/* Bytes of the item that were sent and did not come out. */
static uint64_t
lost(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < bench.sents; i++) {
		const struct sent *s = &bench.sent[i];

		for (uint32_t at = 0;
		     at < VISIBILITIES && s->length >= VISIBILITIES; at++)
			n += s->byte[s->skip + at] == BYTE_SENT;
	}
	return n;
}

static const struct counts *
cube_end(void)
{
	bench_batch(&bench);
	bench_flush(&bench);
	return place_counts(bench.place);
}

static void
all_there(unsigned heaps)
{
	const struct counts *c = place_counts(bench.place);

	ck_assert_uint_eq(lost(), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(bench.missing, 0);
	ck_assert_uint_eq(c->heaps, heaps);
	ck_assert_uint_eq(c->heaps_incomplete, 0);
	ck_assert_uint_eq(c->runs, 1);
}

/* ---- order ----------------------------------------------------------- */

static void
in_order(const struct format_shape *shape, uint32_t longest, unsigned batch,
	 uint32_t skip, uint32_t tail)
{
	uint64_t learned;

	cube_open(shape, batch);
	for (unsigned count = 2; count < 16; count++)
		flow_heap(&bench, bench_cube(&bench, count, skip, tail),
			  longest, batch);
	cube_next(batch);
	learned = place_counts(bench.place)->moved;
	for (unsigned count = 16; count < 50; count++) {
		flow_heap(&bench, bench_cube(&bench, count, skip, tail),
			  longest, batch);
		cube_next(batch);
	}
	cube_end();
	all_there(48);
	/* Nothing is copied but what has two items in it. */
	ck_assert_uint_le(place_counts(bench.place)->moved,
			  learned + (tail ? 34 : 0));
	bench_close(&bench);
}

START_TEST(heaps_in_order)
{
	static const uint32_t skip[] = { 0, 884, 1851, 7 };

	for (unsigned i = 0; i < 4; i++) {
		in_order(&by_count, JUMBO, 10, skip[i], 0);
		in_order(&by_count, MTU, 64, skip[i], 0);
		in_order(&by_count, MTU, 1, skip[i], 100);
		in_order(&by_count, MTU, 128, skip[i], 3000);
		in_order(&by_time, JUMBO, 10, skip[i], 0);
		in_order(&by_time, MTU, 64, skip[i], 100);
	}
}
END_TEST

static void
one_out_of_place(const struct format_shape *shape, unsigned which, bool first)
{
	cube_open(shape, 16);
	for (unsigned count = 2; count < 30; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 10);
		unsigned n = bench_cuts(s, MTU);
		bool odd = count > 4;

		if (odd && first)
			flow(&bench, s, MTU, which, 16);
		for (unsigned i = 0; i < n; i++) {
			if (!odd || i != which)
				flow(&bench, s, MTU, i, 16);
		}
		if (odd && !first)
			flow(&bench, s, MTU, which, 16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end();
	all_there(28);
	bench_close(&bench);
}

START_TEST(one_piece_is_out_of_place)
{
	for (unsigned which = 0; which < 5; which++) {
		one_out_of_place(&by_count, which, true);
		one_out_of_place(&by_count, which, false);
		one_out_of_place(&by_time, which, true);
		one_out_of_place(&by_time, which, false);
	}
}
END_TEST

START_TEST(heaps_in_turns)
{
	for (unsigned way = 2; way <= 4; way++) {
		cube_open(&by_count, 32);
		for (unsigned count = 12; count < 36; count += way) {
			struct sent *s[4];

			for (unsigned i = 0; i < way; i++)
				s[i] = bench_cube(&bench, count + i, 884, 0);
			for (unsigned n = 0; n < bench_cuts(s[0], MTU); n++) {
				for (unsigned i = 0; i < way; i++)
					flow(&bench, s[i], MTU, n, 32);
			}
			while (bench.outs)
				bench_home(&bench);
		}
		cube_end();
		all_there(24);
		bench_close(&bench);
	}
}
END_TEST

/* Descriptors in the first heap alone: the item lies elsewhere in others. */
START_TEST(items_lie_elsewhere)
{
	for (unsigned which = 0; which < 3; which++) {
		cube_open(&by_count, 16);
		for (unsigned count = 2; count < 30; count++) {
			struct sent *s = bench_cube(&bench, count,
						    count == 2 ? 1851 : 300, 0);
			bool late = count > 4;

			for (unsigned i = 0; i < bench_cuts(s, MTU); i++) {
				unsigned n = i;

				if (late && i <= which)
					n = i == which ? 0 : i + 1;
				flow(&bench, s, MTU, n, 16);
			}
			while (bench.outs)
				bench_home(&bench);
		}
		cube_end();
		all_there(28);
		bench_close(&bench);
	}
}
END_TEST

/* ---- loss ------------------------------------------------------------ */

START_TEST(what_is_lost_is_zero_and_counted)
{
	unsigned at = 0, gone = 0, heaps = 0;
	const struct counts *c;

	cube_open(&by_count, 32);
	for (unsigned count = 2; count <= 90; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 0);
		unsigned n = bench_cuts(s, MTU);

		if (count > 8 && count % 7 == 0 && count < 88) {
			gone += n;
			continue;
		}
		heaps++;
		for (unsigned i = 0; i < n; i++) {
			if (count > 8 && i && ++at % 13 == 0)
				gone++;
			else
				flow(&bench, s, MTU, i, 32);
		}
		while (bench.outs)
			bench_home(&bench);
	}
	c = cube_end();
	ck_assert_uint_eq(lost(), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(bench.missing, gone);
	ck_assert_uint_eq(c->heaps, heaps);
	bench_close(&bench);
}
END_TEST

/* By count the first packet is not needed, if another heap was as long. */
START_TEST(a_lost_first_piece_costs_itself)
{
	cube_open(&by_count, 32);
	for (unsigned count = 2; count <= 20; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 0);

		for (unsigned i = count > 5; i < bench_cuts(s, MTU); i++)
			flow(&bench, s, MTU, i, 32);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end();
	ck_assert_uint_eq(lost(), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(bench.missing, 15);
	bench_close(&bench);
}
END_TEST

/* By an item it is: what comes without is in no slot. */
START_TEST(heaps_whose_time_never_comes)
{
	unsigned untimed = 0;

	cube_open(&by_time, 32);
	for (unsigned count = 2; count <= 20; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 0);
		bool without = count > 5 && count % 3 == 0;

		untimed += without ? bench_cuts(s, MTU) - 1 : 0;
		for (unsigned i = without; i < bench_cuts(s, MTU); i++)
			flow(&bench, s, MTU, i, 32);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end();
	ck_assert_uint_eq(bench_drop(&bench, DROP_UNTIMED), untimed);
	ck_assert_uint_eq(bench_dropped(&bench), untimed);
	bench_close(&bench);
}
END_TEST

/* Time leaps by some steps, and the packet that says so is late. */
START_TEST(a_wrong_guess_is_put_right)
{
	cube_open(&by_time, 8);
	for (unsigned count = 2; count <= 30; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 0);
		uint64_t time = count * 5000 + (count > 8 ? 15000 : 0);

		s->item[1] = htobe64(UINT64_C(1) << 63 |
				     (uint64_t)BENCH_TIME << BENCH_BITS | time);
		s->count_out = time / 5000;
		for (unsigned i = 0; i < bench_cuts(s, MTU); i++)
			flow(&bench, s, MTU,
			     count < 9 || i > 4 ? i
			     : i == 4		? 0
						: i + 1,
			     8);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end();
	ck_assert_uint_eq(lost(), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(place_counts(bench.place)->runs, 1);
	bench_close(&bench);
}
END_TEST

/* So far that it is not in the window: what came before is untimed. */
START_TEST(a_guess_that_is_too_wrong_costs_what_was_guessed)
{
	cube_open(&by_time, 8);
	for (unsigned count = 2; count <= 30; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 0);
		uint64_t time = count * 5000 + (count > 15 ? 250000 : 0);

		s->item[1] = htobe64(UINT64_C(1) << 63 |
				     (uint64_t)BENCH_TIME << BENCH_BITS | time);
		s->count_out = time / 5000;
		for (unsigned i = 0; i < bench_cuts(s, MTU); i++)
			flow(&bench, s, MTU,
			     count != 16 || i > 4 ? i
			     : i == 4		  ? 0
						  : i + 1,
			     8);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end();
	ck_assert_uint_eq(bench_drop(&bench, DROP_UNTIMED), 4);
	ck_assert_uint_eq(bench_dropped(&bench), 4);
	ck_assert_uint_eq(place_counts(bench.place)->runs, 1);
	bench_close(&bench);
}
END_TEST

START_TEST(duplicates_are_dropped)
{
	const struct counts *c;
	struct sent *s, *last = NULL;

	cube_open(&by_count, 31);
	for (unsigned count = 2; count <= 30; count++) {
		s = bench_cube(&bench, count, 884, 0);
		for (unsigned n = 0; n < bench_cuts(s, MTU); n++) {
			flow(&bench, s, MTU, n, 31);
			flow(&bench, n < 3 && last ? last : s, MTU, n, 31);
		}
		for (unsigned n = 0; n < 3 && last; n++)
			flow(&bench, s, MTU, n, 31);
		last = s;
		while (bench.outs)
			bench_home(&bench);
	}
	c = cube_end();
	ck_assert_uint_eq(lost(), 0);
	ck_assert_uint_eq(c->runs, 1);
	ck_assert_uint_eq(c->placed, 29 * bench_cuts(s, MTU));
	ck_assert_uint_eq(bench_dropped(&bench),
			  bench_drop(&bench, DROP_DUPLICATE));
	bench_close(&bench);
}
END_TEST

/* ---- time ------------------------------------------------------------ */

static void
steps(uint64_t step, bool given)
{
	struct format_shape shape = { .time_step = given ? step : 0 };

	cube_open(&shape, 16);
	bench.step = step;
	for (unsigned i = 1; i <= 30; i++) {
		flow_heap(&bench, bench_cube(&bench, i * step, 884, 0), MTU,
			  16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end();
	all_there(30);
	ck_assert_uint_eq(bench.gap, 0);
	bench_close(&bench);
}

START_TEST(counts_by_any_step)
{
	steps(1, false);
	steps(1, true);
	steps(8, false);
	steps(8, true);
	steps(1000000007, false);
}
END_TEST

/* Rounded times, whose step is no whole number. */
START_TEST(times_that_are_rounded)
{
	cube_open(&by_time, 16);
	for (unsigned i = 0; i < 200; i++) {
		struct sent *s = bench_cube(&bench, 2 + i, 884, 0);
		uint64_t time = (uint64_t)(1000000 + i * 1000.37 + 0.5);

		s->item[1] = htobe64(UINT64_C(1) << 63 |
				     (uint64_t)BENCH_TIME << BENCH_BITS | time);
		s->count_out = 1000 + i;
		flow_heap(&bench, s, MTU, 16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end();
	all_there(200);
	bench_close(&bench);
}
END_TEST

/* ---- runs ------------------------------------------------------------ */

static uint64_t
restart(unsigned heaps, uint64_t second, unsigned batch)
{
	uint64_t runs;

	cube_open(&by_count, batch);
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < heaps; i++) {
			flow_heap(
			    &bench,
			    bench_cube(&bench, (pass ? second : 2) + i, 884, 0),
			    MTU, batch);
			while (bench.outs)
				bench_home(&bench);
		}
	}
	cube_end();
	ck_assert_uint_eq(lost(), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	runs = place_counts(bench.place)->runs;
	bench_close(&bench);
	return runs;
}

START_TEST(a_sender_begins_anew)
{
	ck_assert_uint_eq(restart(2, 2, 16), 2);       /* all taken */
	ck_assert_uint_eq(restart(10, 2, 16), 2);      /* in the window */
	ck_assert_uint_eq(restart(40, 2, 16), 2);      /* before it */
	ck_assert_uint_eq(restart(40, 1 << 20, 1), 2); /* far ahead */
	ck_assert_uint_eq(restart(40, UINT64_C(1) << 40, 1), 2);
	ck_assert_uint_eq(restart(20, 22, 16), 1); /* on it goes */
	ck_assert_uint_eq(restart(20, 40, 16), 1); /* after a gap */
}
END_TEST

/* A heap of which one packet comes now and then, from anywhere. */
START_TEST(garbage_begins_no_run)
{
	unsigned stray = 0;
	struct dice dice = { 4 };

	cube_open(&by_count, 16);
	for (unsigned i = 0; i < 5; i++, stray++)
		flow(&bench, bench_cube(&bench, dice_bits(&dice) >> 20, 884, 0),
		     MTU, 0, 16);
	for (unsigned count = 1000; count < 1040; count++) {
		struct sent *s = bench_cube(&bench, count, 884, 0);

		flow_heap(&bench, s, MTU, 16);
		flow(&bench, bench_cube(&bench, dice_bits(&dice) >> 20, 884, 0),
		     MTU, 0, 16);
		stray++;
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end();
	ck_assert_uint_eq(place_counts(bench.place)->runs, 1);
	ck_assert_uint_eq(bench_drop(&bench, DROP_OUT_OF_WINDOW), stray);
	ck_assert_uint_eq(bench_dropped(&bench), stray);
	bench_close(&bench);
}
END_TEST

/* A step that was learned of two heaps between which one was lost. */
START_TEST(a_wrong_step_is_left)
{
	cube_open(&by_count, 16);
	bench.any_time = true;
	for (unsigned count = 2; count < 40; count++) {
		struct sent *s = bench_cube(&bench, count, 884, 0);

		if (count != 3)
			flow_heap(&bench, s, MTU, 16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end();
	ck_assert_uint_eq(place_counts(bench.place)->runs, 2);
	ck_assert_uint_eq(lost(), 0);
	bench_close(&bench);
}
END_TEST

/* Some heaps, and no more: that is the recording, however short. */
START_TEST(little_is_something)
{
	struct sent *s;

	for (unsigned pieces = 1; pieces < 20; pieces++) {
		cube_open(&by_count, 16);
		s = bench_cube(&bench, 2, 884, 0);
		for (unsigned i = 0; i < pieces; i++)
			flow(&bench, s, MTU, i % 15, 16);
		cube_end();
		ck_assert_uint_eq(place_counts(bench.place)->runs, 1);
		ck_assert_uint_gt(bench.filled, 0);
		bench_close(&bench);
	}
}
END_TEST

/* ---- what no sender should do ---------------------------------------- */

START_TEST(items_of_another_length)
{
	struct sent *s;

	cube_open(&by_count, 16);
	for (unsigned count = 2; count < 10; count++)
		flow_heap(&bench, bench_cube(&bench, count, 884, 0), MTU, 16);
	s = bench_heap(&bench, 10, 884 + VISIBILITIES + 1, 1);
	s->skip = 884;
	s->item[0] = htobe64((uint64_t)BENCH_ITEM << BENCH_BITS | 884);
	flow(&bench, s, MTU, 0, 16);
	s = bench_heap(&bench, 11, 884 + VISIBILITIES - 1, 1);
	s->skip = 884;
	s->item[0] = htobe64((uint64_t)BENCH_ITEM << BENCH_BITS | 884);
	flow(&bench, s, MTU, 0, 16);
	s = bench_heap(&bench, 12, 884 + VISIBILITIES, 1);
	s->skip = 884; /* beyond the heap */
	s->item[0] = htobe64((uint64_t)BENCH_ITEM << BENCH_BITS |
			     UINT64_C(0xfffffffffff0));
	flow(&bench, s, MTU, 0, 16);
	cube_end();
	ck_assert_uint_eq(bench_drop(&bench, DROP_TOO_LARGE), 1);
	ck_assert_uint_eq(bench_drop(&bench, DROP_MALFORMED), 2);
	ck_assert_uint_eq(lost(), (MTU - 48 - 884) * 3);
	bench_close(&bench);
}
END_TEST

START_TEST(no_block_and_on_again)
{
	cube_open(&by_count, 16);
	for (unsigned count = 2; count < 10; count++)
		flow_heap(&bench, bench_cube(&bench, count, 884, 0), MTU, 16);
	cube_next(16);
	bench_starve(&bench, 0);
	for (unsigned count = 10; count < 40; count++)
		flow_heap(&bench, bench_cube(&bench, count, 884, 0), MTU, 16);
	cube_next(16);
	ck_assert_uint_gt(bench_drop(&bench, DROP_NO_BUFFER), 0);
	bench_feed(&bench);
	bench_aim(&bench, 16);
	for (unsigned count = 40; count < 70; count++) {
		flow_heap(&bench, bench_cube(&bench, count, 884, 0), MTU, 16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end();
	ck_assert_uint_eq(bench_dropped(&bench),
			  bench_drop(&bench, DROP_NO_BUFFER));
	ck_assert_uint_eq(place_counts(bench.place)->runs, 1);
	bench_close(&bench);
}
END_TEST

/* ---- telling --------------------------------------------------------- */

struct told {
	unsigned descriptors, starts, stops;
};

static void
hear(void *arg, const struct notes_event *e)
{
	struct told *t = arg;
	struct format_piece p;

	t->starts += e->control == PIECE_START;
	t->stops += e->control == PIECE_STOP;
	if (e->control != PIECE_DATA)
		return;
	ck_assert_int_eq(spead_piece(e->descriptor, e->bytes, e->bytes, &p), 0);
	ck_assert_uint_eq(e->id, 0x6000 + t->descriptors % 11);
	t->descriptors++;
}

/* With descriptors in front, of 176 bytes each. */
static struct sent *
described(uint64_t count, bool item)
{
	enum { N = 11, EACH = 176 };
	struct sent *s = bench_heap(
	    &bench, count, N * EACH + (item ? VISIBILITIES : 0), N + item);

	s->data = malloc(s->length + 1);
	for (uint32_t i = 0; i < s->length; i++)
		s->data[i] = (uint8_t)(i * 7 + count);
	for (unsigned i = 0; i < N; i++) {
		struct format_piece p = { .heap = 1,
					  .length = 120,
					  .bytes = 120,
					  .flavour = BENCH_BITS };
		uint64_t id[2] = { htobe64(UINT64_C(1) << 63 |
					   UINT64_C(0x14) << BENCH_BITS |
					   (0x6000 + i)),
				   htobe64(UINT64_C(0x10) << BENCH_BITS) };

		spead_wrap(&p, id, 2, s->data + i * EACH);
		s->item[i] = htobe64(UINT64_C(5) << BENCH_BITS | i * EACH);
	}
	if (item)
		s->item[N] =
		    htobe64((uint64_t)BENCH_ITEM << BENCH_BITS | N * EACH);
	s->skip = N * EACH;
	return s;
}

static void
tell(bool apart, uint32_t longest, unsigned descriptors)
{
	struct told told = { 0 };

	cube_open(&by_count, 16);
	flow_heap(&bench, bench_control(&bench, 1, PIECE_START), longest, 16);
	if (apart)
		flow_heap(&bench, described(2, false), longest, 16);
	for (unsigned count = 3; count < 10; count++)
		flow_heap(&bench, described(count, !apart || count > 3),
			  longest, 16);
	flow_heap(&bench, bench_control(&bench, 10, PIECE_STOP), longest, 16);
	cube_end();
	for (unsigned i = 0; i < bench.outs; i++)
		notes_tell(bench.out[i], &bench_format, hear, &told);
	ck_assert_uint_eq(told.starts, 1);
	ck_assert_uint_eq(told.stops, 1);
	ck_assert_uint_eq(told.descriptors, descriptors);
	ck_assert_uint_eq(lost(), 0);
	ck_assert_uint_gt(bench_drop(&bench, DROP_UNSTORED), 1);
	bench_close(&bench);
}

START_TEST(descriptors_and_controls_are_told)
{
	tell(false, MTU, 11);
	tell(false, JUMBO, 11);
	tell(true, MTU, 11);
	tell(true, JUMBO, 11);
}
END_TEST

/* Of a heap that is not stored nobody else sees that a piece came twice. */
START_TEST(descriptors_that_come_twice)
{
	struct told told = { 0 };
	struct sent *s;

	cube_open(&by_count, 16);
	s = described(2, false);
	flow(&bench, s, 800, 0, 16);
	flow(&bench, s, 800, 1, 16);
	flow(&bench, s, 800, 1, 16);
	for (unsigned count = 3; count < 5; count++)
		flow_heap(&bench, bench_cube(&bench, count, 0, 0), MTU, 16);
	flow(&bench, s, 800, 2, 16);
	for (unsigned count = 5; count < 10; count++)
		flow_heap(&bench, bench_cube(&bench, count, 0, 0), MTU, 16);
	cube_end();
	for (unsigned i = 0; i < bench.outs; i++)
		notes_tell(bench.out[i], &bench_format, hear, &told);
	ck_assert_uint_eq(told.descriptors, 11);
	bench_close(&bench);
}
END_TEST

static uint64_t looks;

static void
item_counted(const struct format_piece *p, const uint64_t *item, uint32_t items,
	     uint32_t i, struct format_item *out)
{
	looks += items;
	spead_item(p, item, items, i, out);
}

/* However many items a packet has, of whatever ids: the time it takes goes
 * with their number. */
static void
items_alike(uint64_t id, uint32_t items)
{
	struct format_ops format = bench_format;
	struct sent *s;

	format.item = item_counted;
	cube_open(&by_count, 16);
	((struct heaps *)bench.place)->a.format = &format;
	s = bench_heap(&bench, 2, 1000, items);
	for (uint32_t i = 0; i < items; i++)
		s->item[i] = htobe64(id << BENCH_BITS);
	looks = 0;
	bench_piece(&bench, s, 0, 1000, 0, items, true);
	cube_end();
	ck_assert_uint_le(looks, 40 * items);
	ck_assert_uint_eq(bench_dropped(&bench), 1);
	bench_close(&bench);
}

START_TEST(many_items_alike)
{
	items_alike(BENCH_ITEM, 8000);
	items_alike(5, 8000);
}
END_TEST

SUITE("cubes", heaps_in_order, one_piece_is_out_of_place, heaps_in_turns,
      items_lie_elsewhere, what_is_lost_is_zero_and_counted,
      a_lost_first_piece_costs_itself, heaps_whose_time_never_comes,
      a_wrong_guess_is_put_right,
      a_guess_that_is_too_wrong_costs_what_was_guessed, duplicates_are_dropped,
      counts_by_any_step, times_that_are_rounded, a_sender_begins_anew,
      garbage_begins_no_run, a_wrong_step_is_left, little_is_something,
      items_of_another_length, no_block_and_on_again,
      descriptors_and_controls_are_told, descriptors_that_come_twice,
      many_items_alike)
