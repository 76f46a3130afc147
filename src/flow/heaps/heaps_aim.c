/* SPDX-License-Identifier: MIT */
/*
 * Aiming at heaps.  All packets of a heap but the last have one size; only the
 * length of the header differs within a heap, in the same way from heap to
 * heap.  So a pair is scratch memory as long as the header will be, and the
 * address in the block where the bytes behind it belong:
 *
 *   first of a heap    | header and items    | bytes 0 ...
 *   the others         | header | bytes ...
 *   of a cube, first   | header and items, other items' bytes | the item ...
 *
 * The last packet is shorter, as long as the rest of the heap, and behind it
 * comes the first packet of the next heap.  A packet whose bytes would end in
 * the middle of its pair's memory, because another item follows the stored one,
 * is not aimed at: the kernel would write beyond.
 */
#include "flow/heaps/heaps_priv.h"

bool
heaps_aim_can(const struct heaps *p)
{
	const struct guess *g = &p->guess;

	return g->first && (!g->datagram ||
			    (g->datagram > g->later && g->datagram > g->first));
}

/* Aims pair i at scratch memory, for a packet of `bytes`. */
static void
pair_away(struct heaps *p, struct receive_pair *pair, unsigned i,
	  uint64_t bytes)
{
	struct scratch *s = p->a.scratch;
	uint32_t header = s->prefix_bytes;

	if (p->guess.later && p->guess.later < header)
		header = p->guess.later;
	if (bytes < header)
		header = (uint32_t)bytes;
	bytes -= header;
	pair[i].prefix = scratch_prefix(s, i);
	pair[i].prefix_bytes = header;
	pair[i].payload = scratch_slot(s, i);
	pair[i].payload_bytes =
	    bytes < s->slot_bytes ? (uint32_t)bytes : s->slot_bytes;
}

void
heaps_aim_away(struct heaps *p, struct receive_pair *pair, unsigned i,
	       unsigned n)
{
	uint64_t bytes = p->guess.datagram ? p->guess.datagram : UINT32_MAX;

	while (i < n)
		pair_away(p, pair, i++, bytes);
}

/* Aims pair i at its final place, for a packet with bytes off .. off + bytes of
 * a heap; at scratch memory if it cannot land there whole. */
static void
pair_set(struct heaps *p, const struct spot *spot, struct receive_pair *pair,
	 unsigned i, uint32_t header, uint64_t off, uint64_t bytes)
{
	struct scratch *s = p->a.scratch;
	uint64_t lead = off < spot->skip ? spot->skip - off : 0;
	uint8_t *scratch;

	if (lead >= bytes || off + bytes > spot->skip + spot->keep ||
	    header + lead > s->slot_bytes) {
		pair_away(p, pair, i, header + bytes);
		return;
	}
	header += (uint32_t)lead;
	scratch = header <= s->prefix_bytes ? scratch_prefix(s, i)
					    : scratch_slot(s, i);
	pair[i].prefix = scratch;
	pair[i].prefix_bytes = header;
	pair[i].payload = spot->at + (off + lead - spot->skip);
	pair[i].payload_bytes = (uint32_t)(bytes - lead);
}

unsigned
heaps_aim_at(struct heaps *p, const struct spot *spot, uint64_t from,
	     uint64_t length, struct receive_pair *pair, unsigned i, unsigned n)
{
	const struct guess *g = &p->guess;
	unsigned begin = i;

	while (i < n && from < length) {
		uint32_t header = from ? g->later : g->first;
		uint64_t bytes = length - from;

		if (g->datagram && bytes > g->datagram - header)
			bytes = g->datagram - header;
		pair_set(p, spot, pair, i++, header, from, bytes);
		from += bytes;
	}
	return i - begin;
}
