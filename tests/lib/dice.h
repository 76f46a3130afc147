/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_DICE_H
#define SPATE_TESTS_DICE_H

#include <stdbool.h>
#include <stdint.h>

/* A dice is a seeded source of chance: the same seed, the same throws. */
struct dice {
	uint64_t state;
};

static inline uint64_t
dice_bits(struct dice *d)
{
	uint64_t z = d->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* From 0 to n - 1. */
static inline uint32_t
dice_roll(struct dice *d, uint32_t n)
{
	return (uint32_t)(dice_bits(d) % n);
}

static inline bool
dice_chance(struct dice *d, uint32_t percent)
{
	return dice_roll(d, 100) < percent;
}

/* Puts n numbers in any order. */
static inline void
dice_shuffle(struct dice *d, unsigned *number, unsigned n)
{
	while (n > 1) {
		unsigned i = dice_roll(d, n--), kept = number[n];

		number[n] = number[i];
		number[i] = kept;
	}
}

#endif
