/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_MIX_H
#define SPATE_CLI_GEN_MIX_H

#include <stdint.h>

/*
 * Returns a hash of one word, all bits of which are well mixed: the last step
 * of splitmix64.
 */
static inline uint64_t
mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

#endif
