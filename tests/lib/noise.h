/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_NOISE_H
#define SPATE_TESTS_NOISE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Noise is what tests send and write: an endless file for each seed.  Of 2^18
 * seeds in a row no two are alike in any page, nor are as many pages of one.
 * Any thread may ask for it.
 */
void noise_fill(uint64_t seed, uint64_t offset, void *to, uint64_t bytes);
bool noise_is(uint64_t seed, uint64_t offset, const void *data, uint64_t bytes);
uint8_t noise_byte(uint64_t seed, uint64_t offset);

#endif
