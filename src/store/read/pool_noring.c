/* SPDX-License-Identifier: MIT */
/* Replaces pool_ring.c in builds without liburing. */
#include "store/read/pool_priv.h"

bool
pool_ring_can(void)
{
	return false;
}

bool
pool_ring_run(struct pool_disk *d)
{
	(void)d;
	return false;
}
