/* SPDX-License-Identifier: MIT */
/* Replaces import_xml.c if libexpat was not found by configure. */
#include <errno.h>

#include "cli/schedule/import_scans.h"

int
import_xml(struct import *im, const char *text, size_t bytes,
	   struct fault *fault)
{
	(void)text, (void)bytes;
	import_fault(im, 0, fault,
		     "this spate was built without libexpat, "
		     "and cannot read XML");
	fault_hint(fault, "import the VEX file it was made from, or build "
			  "with libexpat1-dev");
	return -EINVAL;
}
