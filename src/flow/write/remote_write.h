/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_REMOTE_WRITE_H
#define SPATE_FLOW_WRITE_REMOTE_WRITE_H

#include "flow/write/disk_plugin.h"

/* The write plugin of disks that are remote (store/disk/remote.h): it hands
 * requests to the disk's plugin, as many as may be in flight. */
extern const struct write_plugin write_remotely;

#endif
