/* SPDX-License-Identifier: MIT */
/* Which packet has which byte, of runs that differ. */
#include "send/etd/given.c"

#include "lib/dice.h"
#include "lib/suite.h"

enum { PARTS = 60 };

START_TEST(each_byte_is_found)
{
	struct dice d = { 3 };

	for (int round = 0; round < 100; round++) {
		struct given g = { 0 };
		struct send_run run[PARTS];
		uint64_t byte = 0;
		uint32_t found;

		for (unsigned i = 0; i < PARTS; i++) {
			run[i] = (struct send_run){
				.data_bytes = 1 + dice_roll(&d, 5),
				.packets = 1 + dice_roll(&d, 9),
				.run = i / 10,
				.first = dice_roll(&d, 1000),
			};
			ck_assert_int_eq(
			    given_add(&g, &run[i], 0, run[i].packets), 0);
		}
		for (unsigned i = 0; i < PARTS; i++) {
			uint32_t size = run[i].data_bytes;

			for (uint32_t k = 0; k < size * run[i].packets; k++) {
				uint64_t first;

				ck_assert_uint_eq(
				    given_find(&g, byte++, &found, &first),
				    k % size);
				ck_assert_uint_eq(found, run[i].run);
				ck_assert_uint_eq(first,
						  run[i].first + k / size);
			}
		}
		ck_assert_uint_eq(g.bytes, byte);
		given_free(&g);
	}
}
END_TEST

START_TEST(what_goes_on_is_one_part)
{
	struct send_run run = { .data_bytes = 7, .packets = 10, .first = 50 };
	struct given g = { 0 };
	uint64_t first;
	uint32_t n;

	for (unsigned i = 0; i < 1000; i++, run.first += 10) {
		given_add(&g, &run, 0, 4);
		given_add(&g, &run, 4, 6);
	}
	ck_assert_uint_eq(g.n, 1);
	ck_assert_uint_eq(g.bytes, 70000);
	/* Cut back to byte 24, in the middle of the fourth packet. */
	ck_assert_uint_eq(given_find(&g, 24, &n, &first), 3);
	given_cut(&g, 24);
	ck_assert_uint_eq(g.bytes, 21);
	ck_assert_uint_eq(first, 53);
	run.first = 53;
	given_add(&g, &run, 0, 10);
	ck_assert_uint_eq(g.n, 1);
	given_cut(&g, 0);
	ck_assert_uint_eq(g.n, 0);
	ck_assert_uint_eq(g.bytes, 0);
	ck_assert_uint_eq(given_find(&g, 0, &n, &first), 0);
	given_free(&g);
}
END_TEST

SUITE("given", each_byte_is_found, what_goes_on_is_one_part)
