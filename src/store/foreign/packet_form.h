/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FOREIGN_PACKET_FORM_H
#define SPATE_STORE_FOREIGN_PACKET_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The form of packets that another recorder stored, as found from their bytes:
 * the format, the length of a packet, and how many bytes precede the frame in
 * it.
 */
struct packet_form {
	const char *format; /* "vdif", "mark5b", "raw" */
	uint32_t packet;    /* bytes of a packet, as stored */
	/* bytes of it before the frame, or part of a frame */
	uint32_t prefix;
};

enum { PACKET_PREFIX = 64 }; /* longest prefix, in bytes */

/*
 * Finds the form of the packets in the first `bytes` of a file or block, where
 * a packet begins.  `packet` is the packet's length if it is known, else 0.
 * False if the form is none that we know.
 */
bool packet_form_find(struct packet_form *form, const uint8_t *data,
		      size_t bytes, uint32_t packet);

#endif
