/* SPDX-License-Identifier: MIT */
/* The plot of a spate that was built without cairo: it says so. */
#include "cli/plot/plot.h"

#include <errno.h>

int
plot_write(const struct plot *plot, const char *file, struct fault *fault)
{
	(void)plot;
	fault_set(fault, -ENOTSUP, "refused", "cannot plot to %s", file);
	fault_why(fault, "this spate was built without cairo (libcairo2-dev)");
	fault_hint(fault, "spate info NAME --quality shows the same figures, "
			  "with --json for a program that plots");
	return -ENOTSUP;
}
