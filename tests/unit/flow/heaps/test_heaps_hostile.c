/* SPDX-License-Identifier: MIT */
/*
 * Heaps from somebody who knows how they are laid: what is stored is what was
 * sent, and no packet costs more than others do.
 */
#include "lib/heap_bench.h"

static struct bench bench;

static void
begin(uint32_t pages, unsigned blocks)
{
	bench_open(&bench, pages, blocks);
	bench_aim(&bench, RECEIVE_BATCH);
}

static void
next(void)
{
	bench_batch(&bench);
	bench_aim(&bench, RECEIVE_BATCH);
}

/* A heap without length collects more holes than one that begins now would be
 * allowed, and then has to move to another block with all of them. */
START_TEST(holes_move_along)
{
	struct sent *s;

	begin(64, 8);
	s = bench_heap(&bench, 1, 3000, 0);
	for (uint32_t off = 0; off < 3000; off += 100)
		bench_piece(&bench, s, off, 100, 0, 0, false);
	next();
	s = bench_heap(&bench, 2, 255100, 0);
	s->sized = false;
	for (uint32_t i = 0; i < 300; i++) {
		bench_piece(&bench, s, 10000 + i * 200, 100, 0, 0, false);
		if (bench.packets == RECEIVE_BATCH)
			next();
	}
	bench_piece(&bench, s, 0, 9000, 0, 0, false); /* pieces are large now */
	next();
	bench_piece(&bench, s, 255000, 100, 0, 0, false);
	next();
	bench_flush(&bench);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(s->times, 302);
	bench_close(&bench);
}
END_TEST

/* A piece that is refused leaves none of its items. */
START_TEST(items_of_a_duplicate_are_dropped)
{
	struct sent *s;

	begin(64, 8);
	s = bench_heap(&bench, 1, 3000, 10);
	bench_piece(&bench, s, 0, 1000, 0, 5, false);
	bench_piece(&bench, s, 1000, 1000, 5, 5, false);
	bench_piece(&bench, s, 1000, 1000, 5, 5, false);
	next();
	bench_piece(&bench, s, 1000, 1000, 5, 5, true);
	bench_piece(&bench, s, 2000, 1000, 0, 0, false);
	bench_batch(&bench);
	bench_flush(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_DUPLICATE), 2);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(s->items_out, 10);
	bench_close(&bench);
}
END_TEST

/* All packets of a batch are as long as they can be, and have to be copied
 * out of the way. */
START_TEST(the_longest_batch)
{
	struct sent *s;

	begin(4096, 6);
	s = bench_heap(&bench, 1, 64000, 100);
	bench_piece(&bench, s, 0, 100, 0, 100, true);
	bench_piece(&bench, s, 100, 63900, 0, 100, true); /* the same items */
	for (unsigned count = 2; count < RECEIVE_BATCH; count++) {
		s = bench_heap(&bench, count, 64568, 100);
		bench_piece(&bench, s, 0, 64568, 0, 100, true);
	}
	bench_batch(&bench);
	bench_flush(&bench);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	for (unsigned i = 0; i < bench.sents; i++)
		ck_assert_uint_eq(bench.sent[i].items_out, 100);
	bench_close(&bench);
}
END_TEST

/* ---- telling --------------------------------------------------------- */

static uint64_t looks, told_bytes;

static void
item_counted(const struct format_piece *p, const uint64_t *item, uint32_t items,
	     uint32_t i, struct format_item *out)
{
	looks += items;
	spead_item(p, item, items, i, out);
}

static void
hear(void *arg, const struct notes_event *e)
{
	unsigned *n = arg;

	*n += 1;
	told_bytes += e->bytes;
}

/* A heap of n descriptors, `step` bytes apart, with the same packet of 1000
 * bytes at the first of them. */
static struct sent *
described(unsigned n, uint32_t step, uint8_t heap[65536])
{
	struct sent *s = bench_heap(&bench, bench.sents + 1, 20000, n);
	struct format_piece p = {
		.heap = 1, .length = 1000, .bytes = 1000, .flavour = BENCH_BITS
	};
	uint64_t id =
	    htobe64(UINT64_C(1) << 63 | UINT64_C(0x14) << BENCH_BITS | 0x6000);

	memset(heap, 0, 20000);
	for (unsigned i = 0; i < n; i++) {
		s->item[i] = htobe64(UINT64_C(5) << BENCH_BITS | i * step);
		if (i == 0 || step)
			spead_wrap(&p, &id, 1, heap + i * step);
	}
	s->data = malloc(20000);
	memcpy(s->data, heap, 20000);
	return s;
}

/* A sender may call every item a descriptor, and have them all at one place:
 * telling looks at each a few times, and at no byte of the heap twice. */
START_TEST(telling_takes_no_longer_than_reading)
{
	struct format_ops format = bench_format;
	unsigned told[2] = { 0, 0 };
	uint8_t heap[65536];
	struct sent *s;

	format.item = item_counted;
	begin(64, 8);
	looks = told_bytes = 0;
	s = described(5000, 0, heap);
	bench_piece(&bench, s, 0, 20000, 0, 5000, true);
	bench_batch(&bench);
	bench_flush(&bench);
	notes_events(bench.out[0], &format, hear, &told[0]);
	ck_assert_uint_le(looks, 5 * 5000);
	ck_assert_uint_le(told_bytes, 20000);
	/* One after the other they are all told. */
	s = described(18, 1100, heap);
	bench_aim(&bench, RECEIVE_BATCH);
	bench_piece(&bench, s, 0, 20000, 0, 18, true);
	bench_batch(&bench);
	bench_flush(&bench);
	notes_events(bench.out[1], &format, hear, &told[1]);
	ck_assert_uint_eq(told[1], 18);
	bench_close(&bench);
}
END_TEST

SUITE_THREADS("heaps_hostile", NULL, holes_move_along,
	      items_of_a_duplicate_are_dropped, the_longest_batch,
	      telling_takes_no_longer_than_reading)
