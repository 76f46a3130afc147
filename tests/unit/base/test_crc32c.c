/* SPDX-License-Identifier: MIT */
#include "base/crc32c.h"
#include "lib/dice.h"
#include "lib/suite.h"

START_TEST(as_the_rfc_has_it)
{
	uint8_t data[32] = { 0 };

	/* RFC 3720, B.4 */
	ck_assert_uint_eq(crc32c(0, data, 32), 0x8a9136aa);
	for (int i = 0; i < 32; i++)
		data[i] = (uint8_t)i;
	ck_assert_uint_eq(crc32c(0, data, 32), 0x46dd794e);
	ck_assert_uint_eq(crc32c(crc32c(0, data, 5), data + 5, 27), 0x46dd794e);
	ck_assert_uint_eq(crc32c(0, data, 0), 0);
}
END_TEST

START_TEST(two_pieces_join)
{
	static uint8_t data[3 << 20];
	struct dice dice = { 7 };

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)dice_bits(&dice);
	for (int i = 0; i < 200; i++) {
		uint32_t all = dice_roll(&dice, i < 150 ? 99 : sizeof data);
		uint32_t first = dice_roll(&dice, all + 1);
		uint32_t joined = crc32c_join(
		    crc32c_shift(all - first), crc32c(0, data, first),
		    crc32c(0, data + first, all - first));

		ck_assert_uint_eq(joined, crc32c(0, data, all));
	}
}
END_TEST

/* Zeros are as good as anything, and need no memory. */
START_TEST(lengths_beyond_any_memory)
{
	uint64_t most = 1ull << 40;
	uint32_t half = crc32c_join(crc32c_shift(most / 2), 0x12345678, 0);

	ck_assert_uint_eq(crc32c_join(crc32c_shift(most), 0x12345678, 0),
			  crc32c_join(crc32c_shift(most / 2), half, 0));
	ck_assert_uint_eq(crc32c_join(crc32c_shift(0), 0x12345678, 0),
			  0x12345678);
}
END_TEST

START_TEST(zeros)
{
	static const uint8_t zero[5000];

	for (uint64_t n = 0; n < sizeof zero; n += n < 40 ? 1 : 331)
		ck_assert_uint_eq(crc32c_zeros(n), crc32c(0, zero, n));
	ck_assert_uint_eq(crc32c_zeros(UINT64_C(1) << 40),
			  crc32c_join(crc32c_shift(UINT64_C(1) << 39),
				      crc32c_zeros(UINT64_C(1) << 39),
				      crc32c_zeros(UINT64_C(1) << 39)));
}
END_TEST

SUITE("crc32c", as_the_rfc_has_it, two_pieces_join, lengths_beyond_any_memory,
      zeros)
