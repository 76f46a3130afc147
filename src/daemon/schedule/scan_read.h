/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCAN_READ_H
#define SPATE_DAEMON_SCHEDULE_SCAN_READ_H

#include "base/conf.h"
#include "daemon/schedule/scan.h"

/*
 * Reads the text of a schedule file: groups, each a scan, and lists of such
 * groups.  Returns 0, or -EINVAL with a fault if the file cannot be parsed;
 * then no scan of it counts.  A scan that is invalid by itself is put into the
 * list as well, REFUSED and `wrong`, with file:line and the reason in `why`,
 * and does not affect the others.  Pure; any thread may call.
 */
int scan_read(struct scan_list *list, const char *file, const char *text,
	      struct fault *fault);

/* The keys of a scan; ends with a NULL name. */
extern const struct option_key scan_options[];

#endif
