/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_INFO_PLOT_H
#define SPATE_CLI_INFO_PLOT_H

#include "cli/info_quality.h"

/*
 * Draws a page about a recording into `file`, .svg or .png: what the disks have
 * of it, what frames of it say, and what its quality file says of the time while
 * it was recorded.  0, or -errno with a fault.
 */
int info_plot(const struct cli *cli, const struct info_quality_args *args,
	      const char *name, const char *file, struct fault *fault);

#endif
