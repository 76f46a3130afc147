/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_FOREIGN_FORM_H
#define SPATE_STORE_RECORD_FOREIGN_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The form of packets that another recorder stored, as found from their bytes:
 * the format, the length of a packet, and how many bytes precede the frame in
 * it.
 */
struct foreign_form {
	const char *format; /* "vdif", "mark5b", "raw" */
	uint32_t packet;    /* bytes of a packet, as stored */
	/* bytes of it before the frame, or part of a frame */
	uint32_t prefix;
};

enum { FOREIGN_PREFIX = 64 }; /* longest prefix, in bytes */

/*
 * Finds the form of the packets in the first `bytes` of a file or block, where
 * a packet begins.  `packet` is the packet's length if it is known, else 0.
 * False if the form is none that we know.
 */
bool foreign_form_find(struct foreign_form *form, const uint8_t *data,
		       size_t bytes, uint32_t packet);

/* VLBI-streamer's summary of its recording (NAME.cfg); a 0 means not said. */
struct foreign_cfg {
	bool there;
	uint32_t packet;  /* bytes of a packet, as stored */
	uint64_t files;	  /* chunks on all disks */
	uint64_t packets; /* packets in all chunks */
};

/* Parses the text of a .cfg, of any length, not necessarily terminated by 0.
 * False if it says nothing that can be used. */
bool foreign_cfg_read(struct foreign_cfg *cfg, const char *text, size_t bytes);

/* Writes NAME.cfg into a recording's folder and syncs the file, but not the
 * folder.  0 or -errno. */
int foreign_cfg_write(int dir, const char *name, const struct foreign_cfg *cfg);

#endif
