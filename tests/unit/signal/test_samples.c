/* SPDX-License-Identifier: MIT */
/* Each coding, by bytes made by hand. */
#include <errno.h>

#include "lib/suite.h"
#include "signal/samples.h"

static struct samples s;

static void
start(unsigned bits, unsigned channels, bool complex, enum sample_coding coding)
{
	const struct format_samples layout = { .bits = bits,
					       .channels = channels,
					       .complex = complex,
					       .coding = coding };

	ck_assert_int_eq(samples_open(&s, &layout), 0);
}

/* Decodes bytes, and compares with n states. */
static void
gives(const uint8_t *data, size_t bytes, const uint16_t *states, size_t n)
{
	uint16_t got[64];

	ck_assert_uint_eq(bytes * 8 / s.layout.bits, n);
	samples_decode(&s, data, bytes, got);
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(got[i] == states[i],
			      "%u bits, state %zu is %u, not %u", s.layout.bits,
			      i, got[i], states[i]);
}

START_TEST(offset_binary_begins_with_the_low_bits)
{
	static const uint8_t data[] = { 0xe4, 0x1b };
	static const uint16_t one[] = { 0, 0, 1, 0, 0, 1, 1, 1,
					1, 1, 0, 1, 1, 0, 0, 0 };
	static const uint16_t two[] = { 0, 1, 2, 3, 3, 2, 1, 0 };
	static const uint16_t four[] = { 4, 14, 11, 1 };
	static const uint16_t eight[] = { 0xe4, 0x1b };
	static const uint16_t sixteen[] = { 0x1be4 };

	start(1, 1, false, SAMPLE_OFFSET_BINARY);
	gives(data, 2, one, 16);
	samples_close(&s);
	start(2, 1, false, SAMPLE_OFFSET_BINARY);
	gives(data, 2, two, 8);
	samples_close(&s);
	start(4, 1, false, SAMPLE_OFFSET_BINARY);
	gives(data, 2, four, 4);
	samples_close(&s);
	start(8, 1, false, SAMPLE_OFFSET_BINARY);
	gives(data, 2, eight, 2);
	samples_close(&s);
	start(16, 1, false, SAMPLE_OFFSET_BINARY);
	gives(data, 2, sixteen, 1);
	samples_close(&s);
}
END_TEST

START_TEST(mark5b_has_sign_and_magnitude)
{
	/* sign | magnitude << 1: 00 is the lowest, then 10, 01, 11 */
	static const uint8_t data[] = { 0xe4 };
	static const uint16_t two[] = { 0, 2, 1, 3 };
	static const uint16_t one[] = { 1, 1, 0, 1, 1, 0, 0, 0 };

	start(2, 1, false, SAMPLE_MARK5B);
	gives(data, 1, two, 4);
	samples_close(&s);
	start(1, 1, false, SAMPLE_MARK5B);
	gives(data, 1, one, 8);
	samples_close(&s);
}
END_TEST

START_TEST(channels_take_turns)
{
	/* times 0 and 1 of four channels */
	static const uint8_t data[] = { 0xe4, 0x1b };
	uint16_t all[8 * sizeof data], one[2];

	start(2, 4, false, SAMPLE_OFFSET_BINARY);
	ck_assert_uint_eq(samples_in(&s, sizeof data), 2);
	samples_decode(&s, data, sizeof data, all);
	for (unsigned c = 0; c < 4; c++) {
		samples_pick(&s, all, c, 0, 2, one);
		ck_assert_uint_eq(one[0], c);
		ck_assert_uint_eq(one[1], 3 - c);
	}
	samples_close(&s);
}
END_TEST

START_TEST(parts_of_complex_samples_stand_together)
{
	/* two channels of 4 bits: real and imaginary of each, then again */
	static const uint8_t data[] = { 0x21, 0x43, 0x65, 0x87 };
	uint16_t all[8 * sizeof data], one[2];

	start(4, 2, true, SAMPLE_OFFSET_BINARY);
	ck_assert_uint_eq(samples_in(&s, sizeof data), 2);
	samples_decode(&s, data, sizeof data, all);
	for (unsigned c = 0; c < 2; c++)
		for (unsigned part = 0; part < 2; part++) {
			samples_pick(&s, all, c, part, 2, one);
			ck_assert_uint_eq(one[0], 1 + 2 * c + part);
			ck_assert_uint_eq(one[1], 5 + 2 * c + part);
		}
	samples_close(&s);
}
END_TEST

START_TEST(levels_are_symmetric)
{
	for (unsigned bits = 1; bits <= 16; bits *= 2) {
		unsigned n = 1u << bits;

		start(bits, 1, false, SAMPLE_OFFSET_BINARY);
		for (unsigned i = 0; i < n; i++) {
			ck_assert(s.level[i] == -s.level[n - 1 - i]);
			ck_assert(i == 0 || s.level[i] > s.level[i - 1]);
		}
		ck_assert(s.level[n / 2] == (bits > 2 ? 0.5f : 1));
		samples_close(&s);
	}
}
END_TEST

START_TEST(other_samples_are_refused)
{
	static const struct format_samples bad[] = {
		{ .bits = 3, .channels = 1 },
		{ .bits = 32, .channels = 1 },
		{ .bits = 0, .channels = 1 },
		{ .bits = 2, .channels = 0 },
		{ .bits = 4, .channels = 1, .coding = SAMPLE_MARK5B },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_int_eq(samples_open(&s, &bad[i]), -ENOTSUP);
}
END_TEST

SUITE("samples", offset_binary_begins_with_the_low_bits,
      mark5b_has_sign_and_magnitude, channels_take_turns,
      parts_of_complex_samples_stand_together, levels_are_symmetric,
      other_samples_are_refused)
