/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BENCH_WRITE_DISKS_H
#define SPATE_BENCH_WRITE_DISKS_H

#include <stdint.h>

#include "contract/write.h"

/* Writers for disks that are not what they are.  One of each in a process,
 * made before its threads. */

/* As `ops`, but this disk answers EIO once all of them were given so many
 * bytes.  NULL with errno: there is no such folder. */
const struct write_ops *write_dying(const struct write_ops *ops,
				    const char *disk, uint64_t bytes);

/* pwrite, and no disk takes more than `rate` bytes per second. */
const struct write_ops *write_paced(uint64_t rate);

#endif
