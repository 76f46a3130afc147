/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_ETD_ETD_FILE_H
#define SPATE_SEND_ETD_ETD_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/send.h"
#include "send/tcp/talk.h"

/*
 * A file of an etransfer server (facts: text lines on port 4004): it is
 * opened by its path, the server says how much of it there is already, gives
 * it a UUID, and says where its bytes may be sent to.
 *
 *   DOWN -> CALLS -> NAMES -> ASKS -> OPEN -> CLOSES -> SHUT -> NAMES ...
 *   (any of them, where the connection breaks: DOWN)
 */
enum etd_state {
	ETD_DOWN,
	ETD_CALLS,
	ETD_NAMES,  /* write-file was asked */
	ETD_ASKS,   /* data-channel-addr was asked */
	ETD_OPEN,   /* bytes can be sent */
	ETD_CLOSES, /* remove-uuid was asked */
	ETD_SHUT,
};

enum { ETD_UUID = 128 };

struct etd_file {
	struct talk talk;
	enum etd_state state;
	const char *path;
	const char *mode; /* "New", "Resume" or "OverWrite", when first asked */
	uint16_t data_port; /* where the server does not say */
	bool existed;	    /* we have had it open: from now on it goes on */
	uint64_t have;	    /* bytes that are there */
	bool said;	    /* that was told */
	char uuid[ETD_UUID];
	union endpoint data; /* where bytes go to */
	int64_t asked;	     /* steady ns */
	char *why;
	uint32_t why_bytes;
};

void etd_file_make(struct etd_file *f, const struct line_args *to);

/*
 * Opens it, where it is not; or closes it, with `shut`.  0: it is OPEN, or
 * SHUT; -EAGAIN: not yet; -EACCES: the server does not want it, and will not
 * later; else -errno: it broke, and is DOWN.
 */
int etd_file_step(struct etd_file *f, bool shut, int64_t now);

void etd_file_drop(struct etd_file *f);

#endif
