/* SPDX-License-Identifier: MIT */
/*
 * Feeds the reader of SPEAD packets with foreign bytes: an input is a
 * datagram.
 *
 * Its header is offered bit by bit, as the core does: 40 bytes first, then as
 * many as are asked for, in memory of just that size.  What was read must
 * hold together; wrapped again, with all its items, it must be read as the
 * same piece, from a datagram and from a file.
 */
#include <stdlib.h>
#include <string.h>

#include "format/spead_packet.c"

enum { MOST = 200 }; /* items that are looked at one by one */

static void
require(bool truth)
{
	if (!truth)
		abort();
}

static int
offer(const uint8_t *data, uint32_t have, uint32_t bytes,
      struct format_piece *p)
{
	uint8_t *head = malloc(have + !have);
	int answer;

	memcpy(head, data, have);
	answer = spead_piece(head, have, bytes, p);
	free(head);
	require(answer == -EBADMSG ||
		(answer >= 0 && (uint32_t)answer <= bytes));
	require(answer <= 0 || (uint32_t)answer > have);
	return answer;
}

static void
check_items(const struct format_piece *p, const uint64_t *item, uint32_t n)
{
	struct format_item one;

	for (uint32_t i = 0; i < n; i++) {
		spead_item(p, item, n, i, &one);
		if (one.immediate || !one.bytes)
			continue;
		require(one.value + one.bytes > one.value);
		require(!p->length || one.value + one.bytes <= p->length);
	}
}

static void
check_again(const struct format_piece *p, const uint64_t *item)
{
	uint32_t header = spead_wrap_bytes(p, p->items);
	uint8_t *head = malloc(header);
	struct format_piece q;

	require(spead_wrap(p, item, p->items, head) == header);
	require(spead_piece(head, header, header + p->bytes, &q) == 0);
	require(q.heap == p->heap && q.length == p->length);
	require(q.offset == p->offset && q.bytes == p->bytes);
	require(q.items == p->items && q.flavour == p->flavour);
	require(q.header == header && q.control == p->control);
	require(spead_piece(head, header, 0, &q) == 0);
	require(q.bytes == p->bytes && q.header == header);
	free(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t bytes = (uint32_t)size, have = bytes < 40 ? bytes : 40, n;
	struct format_piece p;
	uint64_t *item;
	int answer = 1;

	if (!bytes)
		return 0;
	for (unsigned calls = 0; answer > 0; calls++) {
		require(calls < 3);
		answer = offer(data, have, bytes, &p);
		if (answer > 0)
			have = (uint32_t)answer;
	}
	if (answer < 0)
		return 0;
	require(p.header <= have && p.header + p.bytes == bytes);
	require(p.offset + p.bytes >= p.offset);
	require(!p.length || p.offset + p.bytes <= p.length);
	require(p.items <= FORMAT_ITEMS);
	item = malloc((p.items + 1ul) * sizeof *item);
	require(spead_items(data, &p, item, p.items) == p.items);
	n = p.items < MOST ? p.items : MOST;
	check_items(&p, item, n);
	check_again(&p, item);
	free(item);
	return 0;
}
