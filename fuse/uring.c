/* SPDX-License-Identifier: MIT */
/*
 * For a libfuse that can do it.  Linux can since 6.14, if root has switched it
 * on.
 */
#include "fuse/session.h"

#include <errno.h>
#include <fuse_opt.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define SWITCH "/sys/module/fuse/parameters/enable_uring"

void
uring_want(struct fuse_args *args)
{
	FILE *file = fopen(SWITCH, "re");
	int on = file ? getc(file) : EOF;

	if (file)
		fclose(file);
	if (on == EOF)
		log_line(LEVEL_WARN, NULL,
			 "no io_uring: the kernel does not know it for fuse "
			 "(Linux 6.14 does)");
	else if (on != 'Y')
		log_line(LEVEL_WARN, NULL,
			 "no io_uring: it is switched off; as root: "
			 "echo 1 >" SWITCH);
	else if (fuse_opt_add_arg(args, "-oio_uring") < 0)
		log_line(LEVEL_WARN, NULL, "no io_uring: no memory");
}
