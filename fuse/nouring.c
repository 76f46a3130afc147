/* SPDX-License-Identifier: MIT */
#include "fuse/session.h"

#include <stddef.h>

#include "base/log.h"

void
uring_want(struct fuse_args *args)
{
	(void)args;
	log_line(LEVEL_WARN, NULL,
		 "no io_uring: libfuse does not know it (3.18 does)");
}
