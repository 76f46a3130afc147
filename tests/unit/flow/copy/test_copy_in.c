/* SPDX-License-Identifier: MIT */
/* What a copy that comes in finds here, where memory is short. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "store/repair/verify.h"

static bool starved; /* there is no more memory */

/* Finds one damaged chunk. */
static int
verify_fake(struct recording *rec, const struct disks *disks,
	    const struct verify_hooks *hooks, struct verify_report *report)
{
	const struct verify_finding damaged = { .kind = VERIFY_DAMAGED,
						.sentence = "chunk 7 is bad",
						.number = 7,
						.last_number = 7,
						.chunks = 1 };

	(void)rec;
	(void)disks;
	(void)report;
	hooks->found(hooks->arg, &damaged);
	return 1;
}

#define verify	      verify_fake
#define realloc(p, n) (starved ? NULL : realloc(p, n))
#include "src/flow/copy/copy_in.c"
#undef verify
#undef realloc

#include "lib/suite.h"

/* A damaged block is known as one, or the copy fails: never is it taken for a
 * good one that the sender need not send. */
START_TEST(a_damaged_block_never_counts_as_good)
{
	static struct copy_in_disks here;
	static struct copy_in copy = { .name = "scan", .here = &here };
	struct here_search l = { .c = &copy };
	struct fault fault = { 0 };

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(look_verify(&l, &fault), 0);
	ck_assert(is_bad(&l, 7));
	ck_assert(!is_bad(&l, 6));
	free(l.bad);
	l = (struct here_search){ .c = &copy };
	starved = true;
	ck_assert_int_eq(look_verify(&l, &fault), -ENOMEM);
	ck_assert_str_eq(fault.code, "no-memory");
	starved = false;
}
END_TEST

/* What the network spoiled is sent again over another connection; what the peer
 * means would only come again. */
START_TEST(a_spoiled_frame_is_not_a_lie)
{
	static const struct {
		struct wire_frame frame;
		size_t spoilt; /* byte of the header */
		int err;
	} row[] = {
		{ { .type = WIRE_STATE }, 0, 0 },
		{ { .type = WIRE_STATE }, 2, -EBADMSG },
		{ { .type = WIRE_STATE }, 20, -EBADMSG },
		{ { .type = 12345 }, 0, -EPROTO },
		{ { .type = WIRE_STATE, .packets = 7 }, 0, -EPROTO },
		{ { .type = WIRE_STATE, .header_bytes = WIRE_HEADER + 8 },
		  0,
		  -EPROTO },
	};

	for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
		uint8_t raw[WIRE_HEADER];
		struct copy_link link;
		struct wire_frame f;
		const char *why;
		int pair[2];

		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		link = (struct copy_link){ .fd = pair[0], .stop = -1 };
		wire_pack(&row[i].frame, raw, crc32c);
		raw[row[i].spoilt] ^= row[i].spoilt ? 0x40 : 0;
		ck_assert_int_eq(write(pair[1], raw, sizeof raw), sizeof raw);
		ck_assert_int_eq(link_frame(&link, &f, INT64_MAX, &why),
				 row[i].err);
		ck_assert_int_eq(why != NULL, row[i].err != 0);
		close(pair[0]);
		close(pair[1]);
	}
}
END_TEST

SUITE("copy_in", a_damaged_block_never_counts_as_good,
      a_spoiled_frame_is_not_a_lie)
