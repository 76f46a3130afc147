/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_LIVE_H
#define SPATE_CLI_SHOW_LIVE_H

#include <jansson.h>
#include <stddef.h>

/*
 * Writes the progress of recordings in one line:
 *
 *   8s left  1.00 Gb/s  31250 packets  0 lost  buffers 3/12  disk0 31.2 MiB/s
 *
 * infos and disks are arrays of INFO and DISK (daemon/requests/verbs.h);
 * several recordings are added up.  `bytes` is the size of `line`.
 */
void live_line(const json_t *infos, const json_t *disks, char *line,
	       size_t bytes);

#endif
