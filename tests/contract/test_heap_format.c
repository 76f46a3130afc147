/* SPDX-License-Identifier: MIT */
/*
 * What format.h promises of formats with heaps, asked of every one that was
 * built.
 *
 * The harness knows no bytes of theirs but which flavours there are: headers
 * are written by wrap(), with items of any content, and have to be read by
 * piece() and items() as what they were.  Every header lies in memory of
 * just its size, so that a sanitizer sees a look beyond.
 */
#include <errno.h>
#include <string.h>

#include "formats.h"

enum { ROUNDS = 2000, MOST = 300 };

struct known {
	const char *name;
	uint16_t flavour[8]; /* 0 ends */
	unsigned bits;	     /* of a count or an offset, in all of them */
};

static const struct known known[] = {
	{ "spead", { 40, 48 }, 40 },
	{ .name = NULL },
};

struct made {
	struct format_piece piece;
	uint64_t item[MOST];
	uint32_t items, header;
	uint8_t *head; /* just as long as it has to be */
};

static uint64_t
number(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33 | *seed << 31;
}

static const struct known *
known_find(const char *name)
{
	for (const struct known *k = known; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	ck_abort_msg("%s is in no table of this test", name);
	return NULL;
}

/* A packet with any content; every third one's heap has no length. */
static void
make(struct made *m, const struct format_ops *ops, uint64_t n)
{
	const struct known *k = known_find(ops->head.name);
	uint64_t seed = n, mask = (UINT64_C(1) << k->bits) - 1;
	unsigned flavours = 0;

	while (flavours < 8 && k->flavour[flavours])
		flavours++;
	m->piece = (struct format_piece){
		.heap = number(&seed) & mask,
		.bytes = number(&seed) % 9000,
		.flavour = k->flavour[n % flavours],
	};
	m->piece.offset = number(&seed) & mask >> n % 3;
	if (m->piece.offset + m->piece.bytes > mask)
		m->piece.offset = mask - m->piece.bytes;
	if (n % 3)
		m->piece.length = m->piece.offset + m->piece.bytes +
				  (n % 3 == 1 ? 0 : number(&seed) % 1000);
	if (m->piece.length > mask)
		m->piece.length = mask;
	m->items = n % 4 ? (uint32_t)(n % 12) : (uint32_t)(n % MOST);
	for (uint32_t i = 0; i < m->items; i++)
		m->item[i] = number(&seed) | htobe64(UINT64_C(1) << 62);
	m->header = ops->wrap_bytes(&m->piece, m->items);
	m->head = malloc(m->header);
	ck_assert_uint_eq(ops->wrap(&m->piece, m->item, m->items, m->head),
			  m->header);
}

static void
check_ops(const struct format_ops *ops, const char *file)
{
	ck_assert_msg(ops->items && ops->wrap && ops->wrap_bytes && ops->item,
		      "%s has not all callbacks of a heap format", file);
	ck_assert_msg(!ops->parse && !ops->model && !ops->stamp,
		      "%s has heaps, and packets of a fixed size", file);
}

static void
check_shape(const struct format_ops *ops, const char *file)
{
	static const enum heap_store stores[] = { HEAP_NONE, HEAP_ROW,
						  HEAP_CUBE };
	unsigned accepted = 0;
	char why[256];

	for (unsigned i = 0; i < 3 * 2 * 2; i++) {
		struct format_shape again, s = {
			.store = stores[i % 3],
			.item = i / 3 % 2 ? 0x600a : 0,
			.payload = i / 6 % 2 ? 1 << 20 : 0,
			.fps = 7,
		};

		memset(why, 0, sizeof why);
		if (ops->shape(&s, why, sizeof why) < 0) {
			ck_assert_msg(strlen(why) > 20, "%s: shape %u", file,
				      i);
			continue;
		}
		accepted++;
		again = s;
		ck_assert_int_ne(s.store, HEAP_NONE);
		ck_assert_uint_eq(s.parts, 1);
		ck_assert_uint_eq(s.prefix, 0);
		ck_assert_uint_ne(s.payload, 0);
		ck_assert_int_ne(s.sequence, SEQUENCE_DEFAULT);
		ck_assert(s.store != HEAP_CUBE || s.item);
		ck_assert_int_eq(ops->shape(&again, why, sizeof why), 0);
		ck_assert_mem_eq(&again, &s, sizeof s);
	}
	ck_assert_uint_gt(accepted, 2);
}

static void
check_round_trip(const struct format_ops *ops, const char *file)
{
	uint64_t item[MOST];

	(void)file;
	for (uint64_t n = 0; n < ROUNDS; n++) {
		struct format_piece p = { 0 };
		struct made m;

		make(&m, ops, n);
		ck_assert_int_eq(
		    ops->piece(m.head, m.header, m.header + m.piece.bytes, &p),
		    0);
		ck_assert_uint_eq(p.heap, m.piece.heap);
		ck_assert_uint_eq(p.length, m.piece.length);
		ck_assert_uint_eq(p.offset, m.piece.offset);
		ck_assert_uint_eq(p.bytes, m.piece.bytes);
		ck_assert_uint_eq(p.flavour, m.piece.flavour);
		ck_assert_uint_eq(p.header, m.header);
		ck_assert_uint_eq(p.items, m.items);
		ck_assert_uint_eq(p.control, PIECE_DATA);
		ck_assert_uint_eq(ops->items(m.head, &p, item, MOST), m.items);
		ck_assert_mem_eq(item, m.item, m.items * sizeof *item);
		if (m.items > 1)
			ck_assert_uint_eq(ops->items(m.head, &p, item, 1), 1);
		free(m.head);
	}
}

/* It says how much more it needs, never more than there is. */
static void
check_short_heads(const struct format_ops *ops, const char *file)
{
	(void)file;
	for (uint64_t n = 0; n < 24; n++) {
		struct format_piece p;
		struct made m;
		uint32_t have = 0;
		int more;

		make(&m, ops, n);
		for (unsigned calls = 0; have < m.header; calls++) {
			uint8_t *part = malloc(have + !have);

			memcpy(part, m.head, have);
			more = ops->piece(part, have, m.header + m.piece.bytes,
					  &p);
			free(part);
			ck_assert_int_gt(more, (int)have);
			ck_assert_int_le(more, (int)m.header);
			ck_assert_uint_lt(calls, 3);
			have = (uint32_t)more;
		}
		free(m.head);
	}
}

/* The datagram is as long as the packet says; in a file, all is as long. */
static void
check_lengths(const struct format_ops *ops, const char *file)
{
	(void)file;
	for (uint64_t n = 0; n < 240; n++) {
		struct format_piece p;
		struct made m;
		uint32_t whole;

		make(&m, ops, n);
		whole = m.header + m.piece.bytes;
		ck_assert_int_eq(ops->piece(m.head, m.header, whole + 1, &p),
				 -EBADMSG);
		ck_assert_int_eq(ops->piece(m.head, m.header, whole - 1, &p),
				 -EBADMSG);
		ck_assert_int_eq(ops->piece(m.head, m.header, m.header - 1, &p),
				 -EBADMSG);
		ck_assert_int_eq(ops->piece(m.head, 4, 7, &p), -EBADMSG);
		ck_assert_int_eq(ops->piece(m.head, m.header, 0, &p), 0);
		ck_assert_uint_eq(p.bytes, m.piece.bytes);
		ck_assert_uint_eq(p.header, m.header);
		free(m.head);
	}
}

/* Whatever is in a header: an answer that holds, and the same one again. */
static void
check_garbage(const struct format_ops *ops, const char *file)
{
	uint64_t item[MOST], seed = 1;

	(void)file;
	for (uint64_t n = 0; n < 20 * ROUNDS; n++) {
		struct format_piece p = { 0 }, q = { 0 };
		struct format_item out;
		uint32_t whole, flips, items;
		struct made m;
		int err;

		make(&m, ops, n % ROUNDS);
		whole = m.header + m.piece.bytes;
		for (flips = (uint32_t)number(&seed) % 4; flips; flips--)
			m.head[number(&seed) % m.header] ^=
			    1u << number(&seed) % 8;
		err = ops->piece(m.head, m.header, whole, &p);
		ck_assert_int_eq(err, ops->piece(m.head, m.header, whole, &q));
		ck_assert(err == -EBADMSG || (err >= 0 && err <= (int)whole));
		if (err == 0) {
			ck_assert_mem_eq(&p, &q, sizeof p);
			ck_assert_uint_eq(p.header + p.bytes, whole);
			if (p.length)
				ck_assert_uint_le(p.offset + p.bytes, p.length);
			ck_assert_uint_ge(p.offset + p.bytes, p.offset);
			items = ops->items(m.head, &p, item, MOST);
			for (uint32_t i = 0; i < items; i++) {
				ops->item(&p, item, items, i, &out);
				if (out.bytes && p.length)
					ck_assert_uint_le(out.value + out.bytes,
							  p.length);
			}
		}
		free(m.head);
	}
}

/* What lies behind each other in a heap is what the items are. */
static void
check_items(const struct format_ops *ops, const char *file)
{
	uint64_t covered;
	unsigned seen = 0;

	(void)file;
	for (uint64_t n = 0; n < ROUNDS; n++) {
		struct format_item out;
		struct made m;

		make(&m, ops, n);
		covered = 0;
		for (uint32_t i = 0; i < m.items; i++) {
			ops->item(&m.piece, m.item, m.items, i, &out);
			if (!out.immediate)
				covered += out.bytes;
			seen += out.bytes > 0;
		}
		if (m.piece.length)
			ck_assert_uint_le(covered, m.piece.length);
		free(m.head);
	}
	ck_assert_uint_gt(seen, 0);
}

#define CONTRACT(what, check)                                                  \
	static void what##_of(const struct format_ops *ops, const char *file)  \
	{                                                                      \
		ck_assert_msg(ops, "%s has no spate_format", file);            \
		if (ops->piece)                                                \
			check(ops, file);                                      \
	}                                                                      \
	START_TEST(what)                                                       \
	{                                                                      \
		each_format(what##_of);                                        \
	}                                                                      \
	END_TEST

CONTRACT(all_callbacks_or_none, check_ops)
CONTRACT(shapes_are_complete_or_refused, check_shape)
CONTRACT(what_is_wrapped_is_read, check_round_trip)
CONTRACT(more_is_asked_for, check_short_heads)
CONTRACT(lengths_agree, check_lengths)
CONTRACT(garbage_is_survived, check_garbage)
CONTRACT(items_do_not_overlap, check_items)

SUITE("heap format contract", all_callbacks_or_none,
      shapes_are_complete_or_refused, what_is_wrapped_is_read,
      more_is_asked_for, lengths_agree, garbage_is_survived,
      items_do_not_overlap)
