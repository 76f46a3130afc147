/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_PROTECT_H
#define SPATE_STORE_REPAIR_PROTECT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/fault.h"
#include "store/disk/disk.h"

/*
 * Protects a recording from removal, or no longer: a mark in its folder on
 * each disk, durably.  One of them is enough.  *done (a new reference) is
 * {name, protected, disks:[..]}.  0; -ENOENT where no disk has it; -EIDRM
 * where it is being removed; or -errno of the first disk that could not; each
 * with a fault.
 */
int protect_set(const struct disks *disks, const char *name, bool on,
		json_t **done, struct fault *fault);

#endif
