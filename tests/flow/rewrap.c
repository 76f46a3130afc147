/* SPDX-License-Identifier: MIT */
/*
 * Datagrams in, heaps out: what spate stores of SPEAD, made with the plugin
 * alone, as simply as can be.
 *
 *   rewrap < datagrams > heaps
 *
 * The input is datagrams, each behind its length (u32, little-endian).  Heaps
 * come out in the order in which they began: one packet with all items where
 * all of it came, else a packet for each range that did, the first of them
 * with the items.  A datagram that is no SPEAD packet is counted on stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/module.h"

enum { HEAPS = 64, ITEMS = 1024, LONGEST = 65536, MOST = 1 << 24 };

struct heap {
	struct format_piece piece; /* its first one */
	uint64_t item[ITEMS];
	uint32_t items;
	uint8_t *data;
	uint8_t *came; /* a byte for each byte */
	uint64_t end;  /* of what came */
};

static const struct format_ops *format;
static struct heap heap[HEAPS];
static unsigned heaps, strange;

static void
fail(const char *what)
{
	fprintf(stderr, "rewrap: %s\n", what);
	exit(1);
}

static struct heap *
heap_find(const struct format_piece *p)
{
	unsigned i = 0;

	while (i < heaps && heap[i].piece.heap != p->heap)
		i++;
	if (i == HEAPS)
		fail("too many heaps");
	if (i < heaps)
		return &heap[i];
	heap[i].piece = *p;
	heap[i].data = malloc(MOST);
	heap[i].came = calloc(1, MOST);
	if (!heap[i].data || !heap[i].came)
		fail("no memory");
	heaps++;
	return &heap[i];
}

/* The same one may come with every packet. */
static void
item_add(struct heap *h, uint64_t item)
{
	for (uint32_t i = 0; i < h->items; i++)
		if (h->item[i] == item)
			return;
	if (h->items == ITEMS)
		fail("too many items");
	h->item[h->items++] = item;
}

static void
datagram_take(const uint8_t *datagram, uint32_t bytes)
{
	uint32_t have = bytes < 40 ? bytes : 40;
	uint64_t item[ITEMS];
	struct format_piece p;
	struct heap *h;
	int answer;

	while ((answer = format->piece(datagram, have, bytes, &p)) > 0)
		have = (uint32_t)answer;
	if (answer < 0) {
		strange++;
		return;
	}
	if (p.offset + p.bytes > MOST || p.items > ITEMS)
		fail("too large");
	h = heap_find(&p);
	format->items(datagram, &p, item, ITEMS);
	for (uint32_t i = 0; i < p.items; i++)
		item_add(h, item[i]);
	memcpy(h->data + p.offset, datagram + p.header, p.bytes);
	memset(h->came + p.offset, 1, p.bytes);
	if (p.offset + p.bytes > h->end)
		h->end = p.offset + p.bytes;
}

static void
range_put(struct heap *h, uint64_t from, uint64_t to, bool first)
{
	uint32_t items = first ? h->items : 0, bytes;
	uint8_t *header;

	h->piece.offset = from;
	h->piece.bytes = (uint32_t)(to - from);
	bytes = format->wrap_bytes(&h->piece, items);
	header = malloc(bytes);
	if (!header || format->wrap(&h->piece, h->item, items, header) != bytes)
		fail("cannot wrap");
	if (fwrite(header, bytes, 1, stdout) != 1 ||
	    (to > from && fwrite(h->data + from, to - from, 1, stdout) != 1))
		fail("cannot write");
	free(header);
}

static void
heap_put(struct heap *h)
{
	uint64_t from = 0, to;
	bool first = true;

	while (first || from < h->end) {
		while (from < h->end && !h->came[from])
			from++;
		to = from;
		while (to < h->end && h->came[to])
			to++;
		range_put(h, from, to, first);
		first = false;
		from = to;
	}
	free(h->data);
	free(h->came);
}

int
main(void)
{
	static uint8_t datagram[LONGEST];
	struct fault fault;
	uint8_t length[4];
	uint32_t bytes;

	if (module_format("spead", &format, &fault))
		fail(fault.why);
	while (fread(length, sizeof length, 1, stdin) == 1) {
		bytes = read_le32(length);
		if (bytes > LONGEST ||
		    fread(datagram, 1, bytes, stdin) != bytes)
			fail("no datagram");
		datagram_take(datagram, bytes);
	}
	for (unsigned i = 0; i < heaps; i++)
		heap_put(&heap[i]);
	fprintf(stderr, "rewrap: %u heaps, %u strange datagrams\n", heaps,
		strange);
	return 0;
}
