/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FOREIGN_VBS_CFG_H
#define SPATE_STORE_FOREIGN_VBS_CFG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* VLBI-streamer's summary of its recording (NAME.cfg); a 0 means not said. */
struct vbs_cfg {
	bool there;
	uint32_t packet;  /* bytes of a packet, as stored */
	uint64_t files;	  /* chunks on all disks */
	uint64_t packets; /* packets in all chunks */
};

/* Parses the text of a .cfg, of any length, not necessarily terminated by 0.
 * False if it says nothing that can be used. */
bool vbs_cfg_read(struct vbs_cfg *cfg, const char *text, size_t bytes);

/* Writes NAME.cfg into a recording's folder and syncs the file, but not the
 * folder.  0 or -errno. */
int vbs_cfg_write(int dir, const char *name, const struct vbs_cfg *cfg);

#endif
