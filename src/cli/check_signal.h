/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_CHECK_SIGNAL_H
#define SPATE_CLI_CHECK_SIGNAL_H

#include "store/disk/disk.h"

/*
 * Calls say() with a sentence for each finding that the samples of a recording
 * had while it was recorded.  Returns 0 or -ENOMEM.
 */
int check_signal(const struct disks *disks, const char *name,
		 void (*say)(void *arg, const char *sentence), void *arg);

#endif
