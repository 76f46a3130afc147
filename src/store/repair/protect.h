/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_PROTECT_H
#define SPATE_STORE_REPAIR_PROTECT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/fault.h"
#include "store/disk/disk.h"

/*
 * Protects a recording from removal, or ends that: it makes or removes a mark
 * file in the recording's folder on each disk, durably.  A single mark
 * protects.  *done, a new reference, is {name, protected, disks:[..]}.  Returns
 * 0; -ENOENT: no disk has it; -ENOTSUP: it has no folder for a mark (Mark6);
 * -EIDRM: it is being removed; or -errno of the first disk that failed; each
 * with a fault.
 */
int protect_set(const struct disks *disks, const char *name, bool on,
		json_t **done, struct fault *fault);

#endif
