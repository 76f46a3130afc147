/* SPDX-License-Identifier: MIT */
/* Replaces reader_ring.c in builds without liburing. */
#include "store/read/reader_priv.h"

bool
reader_ring_can(void)
{
	return false;
}

bool
reader_ring_run(struct reader_disk *d)
{
	(void)d;
	return false;
}
