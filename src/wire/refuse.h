/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WIRE_REFUSE_H
#define SPATE_WIRE_REFUSE_H

#include <stdint.h>

/*
 * A REFUSE (frame.h) has one JSON object of strings as its payload:
 *
 *   {"code":"busy","what":"another sender is connected","why":""}
 *
 * `code` is a word for programs: "secret", "busy", "size", "exists", "full",
 * "bad", ...; `what` and `why` are for people.  Control characters become
 * blanks on both ends.  The reader skips keys it does not know, cuts text that
 * is too long, and uses the rest as text only.
 */
enum { REFUSE_MOST = 1024 }; /* bytes that refuse_pack() makes at most */

struct refuse {
	char code[16];
	char what[224];
	char why[224];
};

/* Writes the payload; returns its length. */
uint32_t refuse_pack(const struct refuse *r, uint8_t to[REFUSE_MOST]);

/*
 * Reads a payload from the network.  Any bytes are safe: each field ends up as
 * terminated text without control characters, empty if it is missing.
 */
void refuse_unpack(struct refuse *r, const uint8_t *at, uint32_t bytes);

#endif
