/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_MADE_PARITY_H
#define SPATE_TESTS_MADE_PARITY_H

#include "store/parity/parity.h"
#include "lib/made.h"

/*
 * Parity of a made recording: made::parity is set before made_begin(), and
 * blocks are full, as made_blocks() makes them.
 */

/* The index record that made_write() gives the full block of a number. */
struct index_record made_parity_record(const struct made *m, uint64_t number);

/* Makes the parity of blocks `first` to first + members - 1, row i on disk[i],
 * and lists it there.  `record` is what the tails say of the members; NULL: what
 * is true. */
void made_parity(struct made *m, uint64_t first, unsigned members,
		 const unsigned disk[], const struct index_record *record);

/* Turns a bit of the file of a recording on a disk. */
void made_spoil(struct made *m, unsigned disk, const char *file, off_t at);

#endif
