/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_MADE_READ_H
#define SPATE_TESTS_MADE_READ_H

#include "store/recording/recording.h"
#include "lib/made.h"

/* A made recording, opened and held against what was sent. */

static inline const struct recording_facts *
opened(struct made *m, struct recording **rec)
{
	struct fault fault;

	ck_assert_int_eq(recording_open(rec, &m->disks, MADE_NAME, &fault), 0);
	return recording_facts(*rec);
}

static inline void
done(struct made *m, struct recording *rec)
{
	recording_close(rec);
	made_finish(m);
}

/* Slots [from, to) of the file are sequences from `first` on, as sent or as
 * fill; returns how many bytes the reader said it filled. */
static inline uint64_t
slots_are(struct made *m, struct recording *rec, uint64_t from, uint64_t to,
	  uint64_t first, bool sent)
{
	uint8_t is[MADE_PAYLOAD], want[MADE_PAYLOAD];
	uint64_t filled = 0;

	for (uint64_t i = from; i < to; i++) {
		ck_assert_int_eq(recording_read(rec, is, sizeof is,
						i * MADE_PAYLOAD, &filled),
				 MADE_PAYLOAD);
		if (sent)
			made_frame(m, first + i - from, want);
		else
			made_fill(m, first + i - from, want);
		ck_assert_mem_eq(is, want, MADE_PAYLOAD);
	}
	return filled;
}

#endif
