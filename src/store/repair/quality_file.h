/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_QUALITY_FILE_H
#define SPATE_STORE_REPAIR_QUALITY_FILE_H

#include <stddef.h>

#include "base/fault.h"
#include "store/disk/disk.h"

/*
 * The quality file of a recording, NAME.quality.jsonl beside its index, has what
 * its samples said while it was recorded: a line of JSON for each channel and
 * interval.  It is on one of the disks, or its parts on several.  Nothing needs
 * it, and it is removed with the recording.
 */

/*
 * Appends whole lines, on the first disk that has blocks of the recording and
 * takes them.  Returns 0; -ENOENT: no disk has blocks of it; or -errno with a
 * fault, and nothing or only whole lines were written.
 */
int quality_file_append(const struct disks *disks, const char *name,
			const char *lines, size_t bytes, struct fault *fault);

/* Calls line() with each line, without its end, of all disks; of a file that is
 * very long only of its end.  Returns 0 or -ENOMEM. */
int quality_file_read(const struct disks *disks, const char *name,
		      void (*line)(void *arg, const char *text), void *arg);

#endif
