/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCAN_READ_H
#define SPATE_DAEMON_SCHEDULE_SCAN_READ_H

#include "base/conf.h"
#include "daemon/schedule/scan.h"

/*
 * Reads the text of a schedule file: groups, each a scan, and lists of such
 * groups.  -EINVAL with a fault where it cannot be parsed: then nothing of it
 * counts.  A scan that is wrong by itself is in the list all the same, REFUSED
 * and `wrong`, with file:line and the reason in `why`; the others do not
 * suffer for it.  Pure.  Any thread.
 */
int scan_read(struct scan_list *list, const char *file, const char *text,
	      struct fault *fault);

/* The keys of a scan. */
extern const struct option scan_options[];

#endif
