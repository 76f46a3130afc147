/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set by a test: there is no more memory. */
static bool starved;

#define malloc(n)     (starved ? NULL : malloc(n))
#define calloc(n, m)  (starved ? NULL : calloc(n, m))
#define realloc(p, n) (starved ? NULL : realloc(p, n))
#include "src/flow/copy/copy_blocks.c"
#undef malloc
#undef calloc
#undef realloc

#include "base/crc32c.h"
#include "flow/memory/block_record.h"
#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"
#include "lib/suite.h"

/* A block of two pieces and a bit, in an arena that has four of them. */
enum { PIECES = 3, BYTES = 2 * COPY_PIECE + 5000, SUBS = 2 };

static struct arena *arena;
static struct block_pool *pool;
static struct copy_blocks *blocks;
static uint8_t data[PIECES * COPY_PIECE];

static void
begin(void)
{
	const struct copy_blocks_args args = { .subs = SUBS,
					       .block_most = BYTES };
	const struct block_pool_args a = { .blocks = 4,
					   .slots = BYTES / 4096 + 1,
					   .slot_bytes = 4096,
					   .quantum = BLOCK_QUANTUM };
	struct fault fault;

	ck_assert_int_eq(arena_make(&arena, 32 << 20, NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(arena, &pool, &a, &fault), 0);
	ck_assert_int_eq(copy_blocks_make(&blocks, &args), 0);
}

static void
end(void)
{
	copy_blocks_drop(blocks);
	ck_assert_uint_eq(block_pool_free_blocks(pool), 4);
	block_pool_return(pool);
	arena_free(arena);
}

static struct index_record
record(uint64_t number)
{
	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 13);
	return (struct index_record){ .number = number,
				      .first = number * 100,
				      .first_ns = 1,
				      .last_ns = 2,
				      .bytes = BYTES,
				      .run = 3,
				      .present = 90,
				      .missing = 10,
				      .sub = 1,
				      .kind = INDEX_BLOCK,
				      .flags = INDEX_SUMMED,
				      .crc = crc32c(0, data, BYTES) };
}

static const char *
tell_with(const struct index_record *r, uint32_t gap, const char *lines)
{
	uint8_t raw[INDEX_BYTES];
	struct copy_told t = { .record = raw,
			       .base = 77,
			       .arrival_ns = 5,
			       .gap = gap,
			       .lines_bytes = (uint32_t)strlen(lines),
			       .lines = lines };
	const char *why;

	index_pack(raw, r);
	copy_blocks_tell(blocks, &t, &why);
	return why;
}

static const char *
tell(uint64_t number)
{
	struct index_record r = record(number);

	return tell_with(&r, 0, "");
}

static uint32_t
bytes_of(uint32_t piece)
{
	return piece < PIECES - 1 ? COPY_PIECE : BYTES % COPY_PIECE;
}

/* A piece comes, as a connection brings it. */
static int
piece_bring(uint64_t number, uint32_t piece, struct block **whole)
{
	struct copy_piece p = { .number = number,
				.piece = piece,
				.bytes = bytes_of(piece) };
	const char *why;
	uint32_t crc;
	int err;

	*whole = NULL;
	err = copy_blocks_piece(blocks, &p, &why);
	if (err == -EAGAIN) {
		struct block *b = block_pool_take(pool, 0);

		ck_assert_ptr_nonnull(b);
		ck_assert_int_eq(copy_blocks_lend(blocks, number, b), 0);
		err = copy_blocks_piece(blocks, &p, &why);
	}
	if (err)
		return err;
	memcpy(p.to, data + (uint64_t)piece * COPY_PIECE, p.bytes);
	crc = crc32c(0, p.to, p.bytes);
	return copy_blocks_landed(blocks, &p, &crc, whole);
}

static unsigned
wants(struct copy_want *w, unsigned most)
{
	size_t at = 0;

	return copy_blocks_wants(blocks, &at, w, most);
}

START_TEST(what_is_told_is_wanted_until_it_is_durable)
{
	struct index_record r = record(4);
	struct copy_digest d, due = { 0 };
	struct copy_want w[8];
	struct block *b;

	begin();
	ck_assert_ptr_null(tell_with(&r, 7, "{\"block\":4,\"holes\":[]}\n"));
	ck_assert_uint_eq(wants(w, 8), 1);
	ck_assert_uint_eq(w[0].number, 4);
	ck_assert_uint_eq(w[0].pieces, PIECES);
	ck_assert_int_eq(piece_bring(4, 2, &b), 0);
	ck_assert_int_eq(piece_bring(4, 0, &b), 0);
	ck_assert_ptr_null(b);
	ck_assert_uint_eq(wants(w, 8), 1);
	ck_assert_uint_eq(w[0].first, 1);
	ck_assert_uint_eq(w[0].pieces, 1);
	ck_assert_int_eq(piece_bring(4, 1, &b), 0);
	ck_assert_ptr_nonnull(b);
	ck_assert_uint_eq(wants(w, 8), 0);
	ck_assert_uint_eq(b->state, BLOCK_CLOSED);
	ck_assert_uint_eq(block_bytes(b), BYTES);
	ck_assert_uint_eq(block_missing(b), 10);
	ck_assert_uint_eq(b->gap, 7);
	ck_assert_uint_eq(b->base, 77);
	ck_assert_uint_eq(b->brought->record.number, 4);
	ck_assert_uint_eq(b->brought->lines_bytes, 23);
	ck_assert_mem_eq(b->data, data, BYTES);
	copy_blocks_digest(blocks, &d);
	ck_assert_uint_eq(d.blocks, 0);

	/* No disk took it: it is wanted again, with its lines. */
	block_pool_put(b);
	copy_blocks_settled(blocks, &r, -EIO);
	ck_assert_uint_eq(wants(w, 8), 1);
	for (uint32_t i = 0; i < PIECES; i++)
		ck_assert_int_eq(piece_bring(4, i, &b), 0);
	ck_assert_uint_eq(b->brought->lines_bytes, 23);
	block_pool_put(b);
	copy_blocks_settled(blocks, &r, 0);
	ck_assert_uint_eq(wants(w, 8), 0);
	copy_blocks_digest(blocks, &d);
	copy_digest_add(&due, 4, BYTES, r.crc, crc32c);
	ck_assert(copy_digest_same(&d, &due));
	end();
}
END_TEST

START_TEST(lies_about_records_are_refused)
{
	const char *why;
	struct index_record r;
	uint8_t raw[INDEX_BYTES];
	struct copy_told t = { .record = raw };

	begin();
	r = record(1), r.bytes = BYTES + 1;
	ck_assert_ptr_nonnull(tell_with(&r, 0, ""));
	r = record(1), r.bytes = 0;
	ck_assert_ptr_nonnull(tell_with(&r, 0, ""));
	r = record(1), r.sub = SUBS;
	ck_assert_ptr_nonnull(tell_with(&r, 0, ""));
	r = record(1), r.kind = INDEX_GAP;
	ck_assert_ptr_nonnull(tell_with(&r, 0, ""));
	r = record(1), r.kind = INDEX_END;
	ck_assert_ptr_nonnull(tell_with(&r, 0, ""));
	r = record(UINT64_C(100000000));
	ck_assert_ptr_nonnull(tell_with(&r, 0, ""));
	r = record(1);
	ck_assert_ptr_nonnull(tell_with(&r, 101, ""));
	r = record(0), r.first = 100;
	ck_assert_ptr_nonnull(tell_with(&r, 1, ""));
	r = record(1);
	index_pack(raw, &r);
	raw[9] ^= 1;
	ck_assert_int_eq(copy_blocks_tell(blocks, &t, &why), -EBADMSG);
	ck_assert_ptr_nonnull(why);
	ck_assert_ptr_null(tell(1));
	ck_assert_ptr_null(tell(1));
	r = record(1), r.crc++;
	ck_assert_ptr_nonnull(tell_with(&r, 0, ""));
	end();
}
END_TEST

START_TEST(only_lines_of_the_block_are_taken)
{
	static const char *const bad[] = {
		"{\"block\":2,\"holes\":[]}\n",
		"{\"block\":1,\"holes\":[]}",
		"{\"written\":1}\n",
		"{\"end\":{}}\n",
		"{\"spate\":1}\n",
		"{\"cut\":\"0\"}\n",
		"\n",
		"{\"block\":1,\n\"holes\":[]}\n",
		"{\"block\":1}\n{\"resumed\":\"x\"}\n",
		"{\"block\":1,\"block\":2}\n",
	};
	struct index_record r = record(1);

	begin();
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(tell_with(&r, 0, bad[i]), "line %u", i);
	ck_assert_ptr_null(tell_with(&r, 0,
				     "{\"block\":1,\"holes\":[[1,2]]}\n"
				     "{\"descriptor\":\"UwQC\",\"id\":1}\n"
				     "{\"control\":\"stop\"}\n"));
	end();
}
END_TEST

START_TEST(lies_about_pieces_are_refused)
{
	struct copy_piece p;
	struct block *b;
	const char *why;

	begin();
	ck_assert_ptr_null(tell(1));
	p = (struct copy_piece){ .number = 2, .bytes = COPY_PIECE };
	ck_assert_int_eq(copy_blocks_piece(blocks, &p, &why), -EBADMSG);
	p = (struct copy_piece){ .number = 1, .bytes = COPY_PIECE - 1 };
	ck_assert_int_eq(copy_blocks_piece(blocks, &p, &why), -EBADMSG);
	p = (struct copy_piece){ .number = 1,
				 .piece = PIECES - 1,
				 .bytes = COPY_PIECE };
	ck_assert_int_eq(copy_blocks_piece(blocks, &p, &why), -EBADMSG);
	p = (struct copy_piece){ .number = 1,
				 .piece = PIECES,
				 .bytes = COPY_PIECE };
	ck_assert_int_eq(copy_blocks_piece(blocks, &p, &why), -EBADMSG);
	p = (struct copy_piece){ .number = 1,
				 .piece = UINT32_MAX,
				 .bytes = COPY_PIECE };
	ck_assert_int_eq(copy_blocks_piece(blocks, &p, &why), -EBADMSG);

	/* Once, and not by two at a time. */
	ck_assert_int_eq(piece_bring(1, 0, &b), 0);
	ck_assert_int_eq(piece_bring(1, 0, &b), -EBADMSG);
	p = (struct copy_piece){ .number = 1, .piece = 1, .bytes = COPY_PIECE };
	ck_assert_int_eq(copy_blocks_piece(blocks, &p, &why), 0);
	ck_assert_int_eq(piece_bring(1, 1, &b), -EBADMSG);

	/* It did not come after all. */
	ck_assert_int_eq(copy_blocks_landed(blocks, &p, NULL, &b), 0);
	ck_assert_int_eq(piece_bring(1, 1, &b), 0);
	ck_assert_int_eq(piece_bring(1, 2, &b), 0);
	ck_assert_ptr_nonnull(b);
	block_pool_put(b);
	ck_assert_int_eq(piece_bring(1, 2, &b), -EBADMSG);
	copy_blocks_forget(blocks);
	end();
}
END_TEST

START_TEST(pieces_that_make_another_block_are_none)
{
	struct index_record r = record(1);
	struct copy_want w[4];
	struct block *b;

	begin();
	r.crc++;
	ck_assert_ptr_null(tell_with(&r, 0, ""));
	ck_assert_int_eq(piece_bring(1, 0, &b), 0);
	ck_assert_int_eq(piece_bring(1, 1, &b), 0);
	ck_assert_int_eq(piece_bring(1, 2, &b), -EBADMSG);
	ck_assert_ptr_null(b);
	ck_assert_uint_eq(wants(w, 4), 1);
	ck_assert_uint_eq(w[0].pieces, PIECES);
	end();
}
END_TEST

START_TEST(what_is_there_is_not_wanted_and_has_to_be_the_same)
{
	struct index_record r = record(1), other = record(2);
	struct copy_blocks_facts f;
	struct copy_want w[4];

	begin();
	other.crc++;
	ck_assert_int_eq(copy_blocks_there(blocks, &r), 0);
	ck_assert_int_eq(copy_blocks_there(blocks, &other), 0);
	ck_assert_ptr_null(tell(1));
	ck_assert_ptr_nonnull(tell(2));
	ck_assert_ptr_null(tell(3));
	ck_assert_uint_eq(wants(w, 4), 1);
	ck_assert_uint_eq(w[0].number, 3);
	copy_blocks_facts(blocks, &f);
	ck_assert_uint_eq(f.there, 1);
	ck_assert_uint_eq(f.there_bytes, BYTES);
	ck_assert_uint_eq(f.durable, 1);
	end();
}
END_TEST

START_TEST(what_the_sender_leaves_is_waited_for_no_more)
{
	struct copy_blocks_facts f;
	struct copy_want w[4];
	struct block *b;

	begin();
	ck_assert_ptr_null(tell(1));
	ck_assert_ptr_null(tell(5));
	ck_assert_int_eq(piece_bring(1, 0, &b), 0);
	ck_assert_ptr_nonnull(copy_blocks_leave(blocks, 2));
	ck_assert_ptr_null(copy_blocks_leave(blocks, 1));
	ck_assert_uint_eq(wants(w, 4), 1);
	ck_assert_uint_eq(w[0].number, 5);

	/* What was on its way may still come. */
	ck_assert_int_eq(piece_bring(1, 1, &b), 0);
	copy_blocks_left(blocks);
	copy_blocks_facts(blocks, &f);
	ck_assert_uint_eq(f.left, 1);
	ck_assert_uint_eq(block_pool_free_blocks(pool), 4);
	ck_assert_int_eq(piece_bring(1, 2, &b), -EBADMSG);
	end();
}
END_TEST

/* Told in any order, wanted by number, and in frames of any size. */
START_TEST(wants_come_in_their_order_and_none_twice)
{
	struct copy_want w[2];
	uint64_t next = 0;
	size_t at = 0;
	unsigned n;

	begin();
	for (uint64_t i = 0; i < 50; i++)
		ck_assert_ptr_null(tell(i * 37 % 50));
	while ((n = copy_blocks_wants(blocks, &at, w, 2))) {
		for (unsigned i = 0; i < n; i++)
			ck_assert_uint_eq(w[i].number, next++);
	}
	ck_assert_uint_eq(next, 50);
	end();
}
END_TEST

/* Pieces of later blocks have all memory, and what is missing of these lies
 * behind an earlier block, in connections that wait. */
START_TEST(the_last_block_yields_its_memory_when_nothing_moves)
{
	struct copy_piece p = { .number = 4, .bytes = COPY_PIECE };
	struct copy_want w[4];
	struct block *whole;
	const char *why;

	begin();
	for (uint64_t n = 1; n < 5; n++)
		ck_assert_ptr_null(tell(n));
	for (uint64_t n = 2; n < 5; n++)
		ck_assert_int_eq(piece_bring(n, 1, &whole), 0);
	ck_assert(!copy_blocks_yield(blocks, 1)); /* it has just moved */
	blocks->moved = 0;
	ck_assert_int_eq(copy_blocks_piece(blocks, &p, &why), 0);
	ck_assert(!copy_blocks_yield(blocks, 1)); /* a piece comes */
	copy_blocks_landed(blocks, &p, NULL, &whole);
	blocks->moved = clock_steady() - STUCK / 2;
	ck_assert(!copy_blocks_yield(blocks, 4)); /* none is behind it */
	ck_assert(copy_blocks_yield(blocks, 1));
	ck_assert_uint_eq(block_pool_free_blocks(pool), 2);

	/* What still comes of it finds no memory, and is dropped. */
	p.piece = 2;
	p.bytes = bytes_of(2);
	ck_assert_int_eq(copy_blocks_piece(blocks, &p, &why), 0);
	ck_assert_ptr_null(p.to);

	/* All of it is wanted again, and comes. */
	ck_assert_uint_eq(wants(w, 1), 1);
	for (uint64_t n = 1; n < 4; n++) {
		for (uint32_t i = 0; i < PIECES; i++) {
			if (n > 1 && i == 1)
				continue;
			ck_assert_int_eq(piece_bring(n, i, &whole), 0);
		}
		ck_assert_ptr_nonnull(whole);
		block_pool_put(whole);
	}
	ck_assert_uint_eq(wants(w, 4), 1);
	ck_assert_uint_eq(w[0].number, 4);
	ck_assert_uint_eq(w[0].first, 0);
	ck_assert_uint_eq(w[0].pieces, PIECES);
	for (uint32_t i = 0; i < PIECES; i++)
		ck_assert_int_eq(piece_bring(4, i, &whole), 0);
	ck_assert_ptr_nonnull(whole);
	/* It is being written: that frees memory. */
	blocks->moved = 0;
	ck_assert(!copy_blocks_yield(blocks, 1));
	block_pool_put(whole);
	end();
}
END_TEST

/* Blocks that the sender cannot read to their end keep their memory until it
 * says so, which it does behind the pieces that wait. */
START_TEST(blocks_that_end_halfway_yield_to_a_later_one)
{
	struct copy_want w[8];
	struct block *whole;

	begin();
	for (uint64_t n = 1; n < 6; n++)
		ck_assert_ptr_null(tell(n));
	for (uint64_t n = 1; n < 5; n++)
		ck_assert_int_eq(piece_bring(n, 0, &whole), 0);
	ck_assert_uint_eq(block_pool_free_blocks(pool), 0);
	blocks->moved = 0;
	ck_assert(copy_blocks_yield(blocks, 5));
	ck_assert_uint_eq(block_pool_free_blocks(pool), 1);
	for (uint32_t i = 0; i < PIECES; i++)
		ck_assert_int_eq(piece_bring(5, i, &whole), 0);
	ck_assert_ptr_nonnull(whole);
	block_pool_put(whole);

	/* What yielded is wanted again, unless the sender has left it out. */
	ck_assert_ptr_null(copy_blocks_leave(blocks, 1));
	copy_blocks_left(blocks);
	ck_assert_uint_eq(wants(w, 8), 3);
	end();
}
END_TEST

/* A lack of memory is no fault of the sender, and what is told again then is
 * taken. */
START_TEST(no_memory_is_no_lie)
{
	static const char lines[] = "{\"block\":1,\"holes\":[]}\n";
	struct index_record r = record(1);
	struct copy_blocks_facts f;
	uint8_t raw[INDEX_BYTES];
	struct copy_told t = { .record = raw,
			       .lines_bytes = sizeof lines - 1,
			       .lines = lines };
	const char *why;
	struct block *b;

	begin();
	index_pack(raw, &r);
	starved = true;
	ck_assert_int_eq(copy_blocks_tell(blocks, &t, &why), -ENOMEM);
	ck_assert_ptr_null(why);
	t.lines_bytes = 0;
	ck_assert_int_eq(copy_blocks_tell(blocks, &t, &why), -ENOMEM);
	ck_assert_ptr_null(why);
	starved = false;
	copy_blocks_facts(blocks, &f);
	ck_assert_uint_eq(f.told, 0);
	t.lines_bytes = sizeof lines - 1;
	ck_assert_int_eq(copy_blocks_tell(blocks, &t, &why), 0);
	copy_blocks_facts(blocks, &f);
	ck_assert_uint_eq(f.told, 1);
	/* Nor is a block that cannot be lent one that needs none. */
	b = block_pool_take(pool, 0);
	starved = true;
	ck_assert_int_eq(copy_blocks_lend(blocks, r.number, b), -ENOMEM);
	starved = false;
	ck_assert_int_eq(copy_blocks_lend(blocks, r.number, b), 0);
	ck_assert_int_eq(copy_blocks_lend(blocks, r.number, b), -EALREADY);
	end();
}
END_TEST

SUITE("copy_blocks", what_is_told_is_wanted_until_it_is_durable,
      lies_about_records_are_refused, only_lines_of_the_block_are_taken,
      lies_about_pieces_are_refused, pieces_that_make_another_block_are_none,
      what_is_there_is_not_wanted_and_has_to_be_the_same,
      the_last_block_yields_its_memory_when_nothing_moves,
      blocks_that_end_halfway_yield_to_a_later_one,
      what_the_sender_leaves_is_waited_for_no_more,
      wants_come_in_their_order_and_none_twice, no_memory_is_no_lie)
