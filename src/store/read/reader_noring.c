/* SPDX-License-Identifier: MIT */
/* Stands in for reader_ring.c where there is no liburing. */
#include "store/read/reader_priv.h"

bool
reader_ring_can(void)
{
	return false;
}

bool
reader_ring_run(struct reader_lane *l)
{
	(void)l;
	return false;
}
