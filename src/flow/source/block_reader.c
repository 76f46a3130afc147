/* SPDX-License-Identifier: MIT */
#include "flow/source/block_reader.h"

#include <errno.h>
#include <string.h>

#include "store/record/block.h"

bool
source_sums(const struct parcel *p, uint64_t at, uint64_t bytes, uint32_t *sums)
{
	const struct block *b = p->block;
	bool own =
	    b && p->record.flags & INDEX_SUMMED && b->quantum == BLOCK_QUANTUM;

	if (!p->sums && !own)
		return false;
	for (uint64_t i = at / BLOCK_QUANTUM; i * BLOCK_QUANTUM < at + bytes;
	     i++)
		sums[i] = p->sums ? p->sums[i] : b->sum[i].crc;
	return true;
}

void
block_reader_init(struct block_reader *r, struct source *source)
{
	*r = (struct block_reader){ .source = source, .sought = UINT64_MAX };
}

void
block_reader_drop(struct block_reader *r)
{
	if (r->have_parcel)
		source_put(&r->parcel);
	r->have_parcel = false;
	r->sought = UINT64_MAX;
}

void
block_reader_yield(struct block_reader *r)
{
	if (r->have_parcel && r->source->ops->wanted &&
	    r->source->ops->wanted(r->source))
		block_reader_drop(r);
}

static bool
has(const struct block_reader *r, uint64_t number, uint64_t at)
{
	const struct parcel *p = &r->parcel;

	return r->have_parcel && p->record.kind == INDEX_BLOCK &&
	       p->record.number == number && p->at <= at &&
	       at < p->at + p->bytes;
}

/* True if the parcel lies behind that byte, so that no parcel has it. */
static bool
has_passed(const struct block_reader *r, uint64_t number, uint64_t at)
{
	const struct parcel *p = &r->parcel;

	return p->record.number > number ||
	       (p->record.number == number && p->at > at);
}

/* Gets the parcel that has byte `at` of a block.  0; -ETIMEDOUT: not yet;
 * -ENODATA: no parcel has it; -errno: it cannot be read. */
static int
find(struct block_reader *r, uint64_t number, uint64_t at, int64_t until)
{
	int err = 0;

	if (has(r, number, at))
		return r->parcel.err;
	if (r->sought != number) {
		block_reader_drop(r);
		err = r->source->ops->seek_number(r->source, number);
		if (err)
			return err;
		r->sought = number;
	}
	for (;;) {
		if (r->have_parcel)
			source_put(&r->parcel);
		r->have_parcel = false;
		err = source_next(r->source, &r->parcel, until);
		if (err)
			return err;
		r->have_parcel = true;
		if (has(r, number, at))
			return r->parcel.err;
		if (has_passed(r, number, at))
			return -ENODATA;
	}
}

int
block_reader_copy(struct block_reader *r, uint64_t number, uint64_t at,
		  uint32_t bytes, uint8_t *to, uint32_t *have, int64_t until)
{
	const struct parcel *p = &r->parcel;

	while (*have < bytes) {
		int err = find(r, number, at + *have, until);
		uint64_t n;

		if (err)
			return err;
		n = p->at + p->bytes - (at + *have);
		if (n > bytes - *have)
			n = bytes - *have;
		memcpy(to + *have, p->data + (at + *have - p->at), n);
		r->summed = r->summed && source_sums(p, at + *have, n, r->sums);
		*have += (uint32_t)n;
	}
	return 0;
}

int
block_reader_take(struct block_reader *r, uint64_t number, uint64_t at,
		  uint64_t most, struct parcel *parcel, int64_t until)
{
	int err = find(r, number, at, until);

	if (err)
		return err;
	if (r->parcel.at != at || r->parcel.bytes > most)
		return -EXDEV;
	*parcel = r->parcel;
	r->have_parcel = false;
	return 0;
}
