/* SPDX-License-Identifier: MIT */
/*
 * A checksum needs its bytes in order, and packets mostly arrive so.  A slot
 * with its bit set never changes, so after each batch everything that follows
 * in one piece is summed: it was copied there just now.  At a missing packet
 * the sum stops and waits, since a packet out of order comes a moment later.
 * Only when a good part of the next quantum is there does the receiver go on
 * with that one, and it never comes back; the writer sums what was left behind,
 * from memory, each quantum from where it stopped.
 *
 * A block that closes early may end before the last byte summed (window.c moves
 * the packets of an incomplete frame to the next block): quantum_finish starts
 * that quantum again.
 */
#include "flow/memory/checksums.h"

#include "base/crc32c.h"

static void
sum(struct block *b, uint64_t from, uint64_t to)
{
	while (from < to) {
		struct block_sum *s = &b->sum[from / b->quantum];
		uint64_t left = b->quantum - from % b->quantum;
		uint64_t bytes = to - from < left ? to - from : left;

		s->crc = crc32c(s->crc, b->data + from, bytes);
		s->bytes += (uint32_t)bytes;
		from += bytes;
	}
}

/* Returns the first slot from this one on without a packet, or b->used. */
static uint32_t
run_end(const struct block *b, uint32_t slot)
{
	while (slot < b->used) {
		uint64_t absent = ~b->present[slot / 64] >> slot % 64;

		if (absent)
			return slot + (uint32_t)__builtin_ctzll(absent);
		slot += 64 - slot % 64;
	}
	return b->used;
}

static void
run_take(struct block *b)
{
	uint32_t slot = (uint32_t)(b->summed / b->slot_bytes);
	uint64_t end = (uint64_t)run_end(b, slot) * b->slot_bytes;

	if (end <= b->summed)
		return;
	sum(b, b->summed, end);
	b->summed = end;
}

/* A quarter of a quantum still fits in a second-level cache: only then is the
 * quantum with the missing packet left behind. */
void
checksums_extend(struct block *b)
{
	uint64_t top = (uint64_t)b->used * b->slot_bytes, next;

	if (!b->quantum || b->summed >= top)
		return;
	run_take(b);
	next = b->summed - b->summed % b->quantum + b->quantum;
	if (top < next + b->quantum / 4)
		return;
	b->summed = top - top % b->quantum;
	run_take(b);
}

static void
quantum_finish(struct block *b, uint32_t i, uint64_t end)
{
	uint64_t from = (uint64_t)i * b->quantum;
	struct block_sum *s = &b->sum[i];

	if (end > from + b->quantum)
		end = from + b->quantum;
	if (s->bytes > end - from)
		*s = (struct block_sum){ 0 };
	sum(b, from + s->bytes, end);
}

void
checksums_seal(struct block *b)
{
	uint64_t bytes = block_bytes(b);
	uint32_t shift = crc32c_shift(b->quantum);

	b->crc = 0;
	for (uint32_t i = 0; i < block_quanta(b); i++) {
		const struct block_sum *s = &b->sum[i];

		quantum_finish(b, i, bytes);
		if (s->bytes < b->quantum)
			shift = crc32c_shift(s->bytes);
		b->crc = crc32c_join(shift, b->crc, s->crc);
	}
}
