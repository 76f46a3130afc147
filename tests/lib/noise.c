/* SPDX-License-Identifier: MIT */
/*
 * A page of a file of noise begins somewhere in a table of chance, so that
 * megabytes are made and compared with memcpy() and memcmp(): byte by byte, with
 * a sanitizer, they took most of the time of whoever sent or wrote much.
 */
#include "lib/noise.h"

#include <string.h>

#include "lib/dice.h"

enum { PAGE = 4096, STARTS = 1 << 18 };

static uint64_t table[(STARTS + PAGE) / 8];

__attribute__((constructor)) static void
table_make(void)
{
	struct dice dice = { 1 };

	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		table[i] = dice_bits(&dice);
}

/* Odd factors: of so many seeds in a row, and so many pages of one, each begins
 * elsewhere. */
static const uint8_t *
page_of(uint64_t seed, uint64_t page)
{
	return (const uint8_t *)table + (seed * 162013 + page * 51449) % STARTS;
}

/* The bytes from offset on, of which so many follow in its page. */
static const uint8_t *
bytes_of(uint64_t seed, uint64_t offset, uint64_t *bytes)
{
	uint64_t left = PAGE - offset % PAGE;

	if (*bytes > left)
		*bytes = left;
	return page_of(seed, offset / PAGE) + offset % PAGE;
}

void
noise_fill(uint64_t seed, uint64_t offset, void *to, uint64_t bytes)
{
	for (uint64_t at = 0, n; at < bytes; at += n) {
		n = bytes - at;
		const uint8_t *from = bytes_of(seed, offset + at, &n);

		memcpy((uint8_t *)to + at, from, n);
	}
}

bool
noise_is(uint64_t seed, uint64_t offset, const void *data, uint64_t bytes)
{
	for (uint64_t at = 0, n; at < bytes; at += n) {
		n = bytes - at;
		const uint8_t *from = bytes_of(seed, offset + at, &n);

		if (memcmp((const uint8_t *)data + at, from, n))
			return false;
	}
	return true;
}

uint8_t
noise_byte(uint64_t seed, uint64_t offset)
{
	return page_of(seed, offset / PAGE)[offset % PAGE];
}
