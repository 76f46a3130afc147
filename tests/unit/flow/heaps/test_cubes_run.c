/* SPDX-License-Identifier: MIT */
/*
 * When a run of a cube begins, what no sender should do, and what is told
 * beside the data.
 */
#include "lib/dice.h"
#include "lib/cube_bench.h"

static struct bench bench;

/* ---- runs ------------------------------------------------------------ */

static uint64_t
restart(unsigned heaps, uint64_t second, unsigned batch)
{
	uint64_t runs;

	cube_open(&bench, &by_count, batch);
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
	cube_end(&bench);
	ck_assert_uint_eq(lost(&bench), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	runs = placement_counts(bench.placement)->runs;
	bench_close(&bench);
	return runs;
}

START_TEST(a_sender_begins_anew)
{
	ck_assert_uint_eq(restart(2, 2, 16), 2);  /* all taken */
	ck_assert_uint_eq(restart(10, 2, 16), 2); /* in the window */
	ck_assert_uint_eq(restart(5, 2, 16), 2);  /* soon */
	ck_assert_uint_eq(restart(40, 2, 16), 2); /* before it */
	ck_assert_uint_eq(restart(80, 30, 16), 2);
	ck_assert_uint_eq(restart(40, 1 << 20, 1), 2); /* far ahead */
	ck_assert_uint_eq(restart(40, UINT64_C(1) << 40, 1), 2);
	ck_assert_uint_eq(restart(20, 22, 16), 1); /* on it goes */
	ck_assert_uint_eq(restart(20, 40, 16), 1); /* after a gap */
}
END_TEST

/* Whole heaps in a row that are late, or were there, and then the stream goes
 * on: they begin no run. */
START_TEST(a_burst_of_late_heaps_is_no_run)
{
	uint64_t late = 0;

	cube_open(&bench, &by_count, 16);
	for (unsigned count = 2; count <= 60; count++) {
		if (count >= 10 && count < 14)
			continue;
		flow_heap(&bench, bench_cube(&bench, count, 884, 0), MTU, 16);
		for (unsigned i = 10; i < 14 && count % 30 == 0; i++) {
			struct sent *s = bench_cube(&bench, i, 884, 0);

			flow_heap(&bench, s, MTU, 16);
			late += bench_cuts(s, MTU);
		}
		while (bench.outs)
			bench_home(&bench);
	}
	flow_heap(&bench, bench_cube(&bench, 61, 884, 0), MTU, 16);
	cube_end(&bench);
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
	ck_assert_uint_eq(bench_drop(&bench, DROP_LATE), late);
	ck_assert_uint_eq(bench_dropped(&bench), late);
	bench_close(&bench);
}
END_TEST

/* A heap of which one packet comes now and then, from anywhere. */
START_TEST(garbage_begins_no_run)
{
	unsigned stray = 0;
	struct dice dice = { 4 };

	cube_open(&bench, &by_count, 16);
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
	cube_end(&bench);
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
	ck_assert_uint_eq(bench_drop(&bench, DROP_OUT_OF_WINDOW), stray);
	ck_assert_uint_eq(bench_dropped(&bench), stray);
	bench_close(&bench);
}
END_TEST

/* The recording begins between the last two packets of a heap: that the next
 * heaps follow at one step says that the packet is no stray one. */
START_TEST(the_end_of_a_heap_comes_first)
{
	struct sent *s;

	cube_open(&bench, &by_count, 16);
	s = bench_cube(&bench, 2, 884, 0);
	flow(&bench, s, MTU, bench_cuts(s, MTU) - 1, 16);
	for (unsigned count = 3; count < 40; count++) {
		flow_heap(&bench, bench_cube(&bench, count, 884, 0), MTU, 16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
	ck_assert_uint_eq(placement_counts(bench.placement)->heaps_incomplete,
			  1);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(lost(&bench), 0);
	bench_close(&bench);
}
END_TEST

/* A second cable, more than a heap behind, with counts that go by three: only
 * the first packet of a heap has its time. */
START_TEST(duplicates_without_a_time)
{
	unsigned packets, twice = 0;

	cube_open(&bench, &by_time, 16);
	bench.any_time = bench.again = true;
	for (unsigned count = 0; count < 12; count++)
		bench_cube(&bench, 1000 + 3 * count, 884, 0);
	packets = bench_cuts(&bench.sent[0], MTU);
	for (unsigned i = 0; i < 12 * packets; i++) {
		flow(&bench, &bench.sent[i / packets], MTU, i % packets, 16);
		if (i >= 20) {
			flow(&bench, &bench.sent[(i - 20) / packets], MTU,
			     (i - 20) % packets, 16);
			twice++;
		}
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_DUPLICATE), twice);
	ck_assert_uint_eq(bench_dropped(&bench), twice);
	ck_assert_uint_eq(lost(&bench), 0);
	bench_close(&bench);
}
END_TEST

/* A stray packet between whose time and those of the heaps is no step. */
START_TEST(a_stray_packet_comes_first)
{
	cube_open(&bench, &by_count, 16);
	flow(&bench, bench_cube(&bench, 1, 884, 0), MTU, 3, 16);
	for (unsigned count = 7; count < 40; count++) {
		flow_heap(&bench, bench_cube(&bench, count, 884, 0), MTU, 16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
	ck_assert_uint_eq(placement_counts(bench.placement)->heaps_incomplete,
			  0);
	ck_assert_uint_eq(bench_drop(&bench, DROP_OUT_OF_WINDOW), 1);
	ck_assert_uint_eq(bench_dropped(&bench), 1);
	ck_assert_uint_eq(lost(&bench), MTU - 40);
	bench_close(&bench);
}
END_TEST

/* A step that was learned of two heaps between which one was lost. */
START_TEST(a_wrong_step_is_left)
{
	cube_open(&bench, &by_count, 16);
	bench.any_time = true;
	for (unsigned count = 2; count < 40; count++) {
		struct sent *s = bench_cube(&bench, count, 884, 0);

		if (count != 3)
			flow_heap(&bench, s, MTU, 16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 2);
	ck_assert_uint_eq(lost(&bench), 0);
	bench_close(&bench);
}
END_TEST

/* Some heaps, and no more: that is the recording, however short. */
START_TEST(little_is_something)
{
	struct sent *s;

	for (unsigned pieces = 1; pieces < 20; pieces++) {
		cube_open(&bench, &by_count, 16);
		s = bench_cube(&bench, 2, 884, 0);
		for (unsigned i = 0; i < pieces; i++)
			flow(&bench, s, MTU, i % 15, 16);
		cube_end(&bench);
		ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
		ck_assert_uint_gt(bench.filled, 0);
		bench_close(&bench);
	}
}
END_TEST

/* ---- what no sender should do ---------------------------------------- */

START_TEST(items_of_another_length)
{
	struct sent *s;

	cube_open(&bench, &by_count, 16);
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
	cube_end(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_TOO_LARGE), 1);
	ck_assert_uint_eq(bench_drop(&bench, DROP_MALFORMED), 2);
	ck_assert_uint_eq(lost(&bench), (MTU - 48 - 884) * 3);
	bench_close(&bench);
}
END_TEST

START_TEST(no_block_and_on_again)
{
	cube_open(&bench, &by_count, 16);
	for (unsigned count = 2; count < 10; count++)
		flow_heap(&bench, bench_cube(&bench, count, 884, 0), MTU, 16);
	cube_next(&bench, 16);
	bench_starve(&bench, 0);
	for (unsigned count = 10; count < 40; count++)
		flow_heap(&bench, bench_cube(&bench, count, 884, 0), MTU, 16);
	cube_next(&bench, 16);
	ck_assert_uint_gt(bench_drop(&bench, DROP_NO_BUFFER), 0);
	bench_feed(&bench);
	bench_aim(&bench, 16);
	for (unsigned count = 40; count < 70; count++) {
		flow_heap(&bench, bench_cube(&bench, count, 884, 0), MTU, 16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	ck_assert_uint_eq(bench_dropped(&bench),
			  bench_drop(&bench, DROP_NO_BUFFER));
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
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

	cube_open(&bench, &by_count, 16);
	flow_heap(&bench, bench_control(&bench, 1, PIECE_START), longest, 16);
	if (apart)
		flow_heap(&bench, described(2, false), longest, 16);
	for (unsigned count = 3; count < 10; count++)
		flow_heap(&bench, described(count, !apart || count > 3),
			  longest, 16);
	flow_heap(&bench, bench_control(&bench, 10, PIECE_STOP), longest, 16);
	cube_end(&bench);
	for (unsigned i = 0; i < bench.outs; i++)
		notes_events(bench.out[i], &bench_format, hear, &told);
	ck_assert_uint_eq(told.starts, 1);
	ck_assert_uint_eq(told.stops, 1);
	ck_assert_uint_eq(told.descriptors, descriptors);
	ck_assert_uint_eq(lost(&bench), 0);
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

	cube_open(&bench, &by_count, 16);
	s = described(2, false);
	flow(&bench, s, 800, 0, 16);
	flow(&bench, s, 800, 1, 16);
	flow(&bench, s, 800, 1, 16);
	for (unsigned count = 3; count < 5; count++)
		flow_heap(&bench, bench_cube(&bench, count, 0, 0), MTU, 16);
	flow(&bench, s, 800, 2, 16);
	for (unsigned count = 5; count < 10; count++)
		flow_heap(&bench, bench_cube(&bench, count, 0, 0), MTU, 16);
	cube_end(&bench);
	for (unsigned i = 0; i < bench.outs; i++)
		notes_events(bench.out[i], &bench_format, hear, &told);
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

/* However many items a packet has, of whatever ids: the time it takes, twice
 * where it waits for its run, goes with their number. */
static void
items_alike(uint64_t id, uint32_t items)
{
	struct format_ops format = bench_format;
	struct sent *s;

	format.item = item_counted;
	cube_open(&bench, &by_count, 16);
	((struct heaps *)bench.placement)->a.format = &format;
	s = bench_heap(&bench, 2, 1000, items);
	for (uint32_t i = 0; i < items; i++)
		s->item[i] = htobe64(id << BENCH_BITS);
	looks = 0;
	bench_piece(&bench, s, 0, 1000, 0, items, true);
	cube_end(&bench);
	ck_assert_uint_le(looks, 80 * items);
	ck_assert_uint_eq(bench_dropped(&bench), 1);
	bench_close(&bench);
}

START_TEST(many_items_alike)
{
	items_alike(BENCH_ITEM, 8000);
	items_alike(5, 8000);
}
END_TEST

/* ---- a recording that begins anywhere -------------------------------- */

enum { CUT_HEAPS = 8, NEVER = 1 << 20 };

/* Heaps of which the first k packets, of at most `longest` bytes, came before
 * the recording began; of those that follow, packet `without` is lost, and
 * packet `late` changes places with the next one.  Dropped are only pieces that
 * nobody can place: of heaps without the packet that has their time, and more
 * than may wait for the first packet that tells where the item lies. */
static void
cut(const struct format_shape *shape, uint32_t longest, unsigned k,
    unsigned without, unsigned late)
{
	unsigned came[CUT_HEAPS] = { 0 }, first[CUT_HEAPS] = { 0 };
	unsigned packets, at = 0, untimed = 0, waiting = 0, heads = 0;
	const struct counts *c;

	cube_open(&bench, shape, 16);
	for (unsigned i = 0; i < CUT_HEAPS; i++)
		bench_cube(&bench, 1000 + i, 884, 0);
	packets = bench_cuts(&bench.sent[0], longest);
	for (unsigned i = k; i < CUT_HEAPS * packets; i++, at++) {
		unsigned n = at == late ? i + 1 : at == late + 1 ? i - 1 : i;

		if (at == without)
			continue;
		flow(&bench, &bench.sent[n / packets], longest, n % packets,
		     16);
		came[n / packets]++;
		first[n / packets] += n % packets == 0;
		heads += n % packets == 0;
		waiting += !heads;
		while (bench.outs)
			bench_home(&bench);
	}
	c = cube_end(&bench);
	for (unsigned i = 0; i < CUT_HEAPS; i++)
		untimed += shape->time_item && !first[i] ? came[i] : 0;
	if (!shape->time_item && waiting > 2 * RUN_AGREE)
		untimed = waiting - 2 * RUN_AGREE;
	ck_assert_uint_eq(c->runs, 1);
	ck_assert_uint_eq(c->drop[DROP_UNTIMED], untimed);
	ck_assert_uint_eq(bench_dropped(&bench), untimed);
	ck_assert(untimed || !lost(&bench));
	bench_close(&bench);
}

static void
cuts(const struct format_shape *shape, uint32_t longest)
{
	unsigned n = (VISIBILITIES + 884) / (longest - 40) + 1;
	unsigned step = n / suite_times(7, 15);

	for (unsigned k = 0; k < n; k += step) {
		cut(shape, longest, k, NEVER, NEVER);
		for (unsigned i = 0; i < n; i += step) {
			cut(shape, longest, k, NEVER, i);
			/* Without the second time the step is learned from the
			 * third, and a second run begins. */
			if (!shape->time_item || k + i != n)
				cut(shape, longest, k, i, NEVER);
		}
	}
}

START_TEST(a_recording_begins_anywhere)
{
	cuts(&by_count, MTU);
	cuts(&by_time, MTU);
	cuts(&by_count, 300);
	cuts(&by_time, 300);
}
END_TEST

SUITE("cubes_run", a_sender_begins_anew, a_burst_of_late_heaps_is_no_run,
      garbage_begins_no_run, the_end_of_a_heap_comes_first,
      duplicates_without_a_time, a_stray_packet_comes_first,
      a_wrong_step_is_left, little_is_something, items_of_another_length,
      no_block_and_on_again, descriptors_and_controls_are_told,
      descriptors_that_come_twice, many_items_alike,
      a_recording_begins_anywhere)
