/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cli/import.h"

int
cli_import(const struct cli *cli, const struct schedule_args *args,
	   const char *path)
{
	struct fault fault;

	(void)cli;
	(void)args;
	fault_set(&fault, -ENOTSUP, "usage", "cannot import %.200s yet", path);
	return cli_fail(&fault);
}
