/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_BLOCK_READER_H
#define SPATE_FLOW_SOURCE_BLOCK_READER_H

#include "flow/source/source.h"

/*
 * A block reader copies bytes of blocks out of a source, for those who send
 * blocks and no packets: by the block's number, forwards mostly.  It keeps one
 * parcel, and so little of the source's memory; on an order of the recorder
 * (source_ops::wanted) block_reader_drop() returns that as well.
 *
 * The sender's thread makes all calls.
 */
struct block_reader {
	struct source *source;
	struct parcel parcel; /* valid if have_parcel */
	bool have_parcel;
	/* The caller sets both if it wants the checksums of what is copied, by
	 * source_sums(): `summed` becomes false if any are not known. */
	bool summed;
	uint32_t *sums;
	/* Number that the source was last moved to; UINT64_MAX: none. */
	uint64_t sought;
};

void block_reader_init(struct block_reader *r, struct source *source);

/* Returns the parcel to the source; the next read seeks. */
void block_reader_drop(struct block_reader *r);

/* Does the same if the recorder wants the memory. */
void block_reader_yield(struct block_reader *r);

/*
 * Copies bytes of a block's data from `at` + *have on, until *have is `bytes`.
 * Waits for them until `until` (steady ns; 0: does not wait).  0: they are all
 * there; -ETIMEDOUT: not yet; -ENODATA: the source does not have them; or
 * another -errno, as of a parcel or of source_ops::next.
 */
int block_reader_copy(struct block_reader *r, uint64_t number, uint64_t at,
		      uint32_t bytes, uint8_t *to, uint32_t *have,
		      int64_t until);

/*
 * Gives a whole parcel away, if the block's bytes from `at` on are one of at most
 * `most` bytes that begins there: its holder puts it.  0; -ETIMEDOUT: not yet;
 * -EXDEV: there is no such parcel, so its bytes have to be copied; or as
 * block_reader_copy().
 */
int block_reader_take(struct block_reader *r, uint64_t number, uint64_t at,
		      uint64_t most, struct parcel *parcel, int64_t until);

#endif
