/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_FOREIGN_FORM_H
#define SPATE_STORE_RECORD_FOREIGN_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The form of stored packets is what their bytes tell: which format, how long
 * each is, and how much of it stands before the frame.
 */
struct foreign_form {
	const char *format; /* "vdif", "mark5b", "raw" */
	uint32_t packet;    /* bytes, as stored */
	uint32_t prefix;    /* of these, before the frame or its part */
};

enum { FOREIGN_PREFIX = 64 }; /* at most */

/*
 * Looks at the bytes at the beginning of a file or block, where a packet
 * begins.  `packet` is its length where somebody said so, else 0.  False: it
 * is nothing that is known.
 */
bool foreign_form_find(struct foreign_form *form, const uint8_t *data,
		       size_t bytes, uint32_t packet);

/* What a VLBI-streamer says of its recording; 0: nothing. */
struct foreign_cfg {
	bool there;
	uint32_t packet;  /* bytes, as stored */
	uint64_t files;	  /* chunks on all disks */
	uint64_t packets; /* in all of them */
};

/* Reads the text of a .cfg, of any length, which need not end with a 0.
 * False: there is nothing in it that can be used. */
bool foreign_cfg_read(struct foreign_cfg *cfg, const char *text, size_t bytes);

/* Writes NAME.cfg into a recording's folder, durably but for its name.  0 or
 * -errno. */
int foreign_cfg_write(int dir, const char *name, const struct foreign_cfg *cfg);

#endif
