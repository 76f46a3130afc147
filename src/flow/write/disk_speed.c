/* SPDX-License-Identifier: MIT */
/* A new block moves the speed a quarter of the way to its own: after five
 * blocks three quarters of the figure come from them.  An average over time
 * would be worth nothing for a disk that gets a block every few seconds. */
#include "flow/write/disk_speed.h"

#include <stdlib.h>
#include <string.h>

void
disk_speed_add(struct disk_speed *p, uint64_t bytes, int64_t took,
	       int64_t behind)
{
	double speed;

	if (took < 1)
		took = 1;
	speed = (double)bytes * 1e9 / (double)(behind < 1 ? 1 : behind);
	p->speed = p->n ? 0.75 * p->speed + 0.25 * speed : speed;
	p->bytes = bytes;
	p->took = took;
	p->recent[p->n++ % DISK_SPEED_BLOCKS] = took;
	/* n never returns to 0, which would say that there were no blocks. */
	if (p->n == 2 * DISK_SPEED_BLOCKS)
		p->n = DISK_SPEED_BLOCKS;
}

static int
by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t
disk_speed_p99(const struct disk_speed *p)
{
	unsigned n = p->n < DISK_SPEED_BLOCKS ? p->n : DISK_SPEED_BLOCKS;
	int64_t sorted[DISK_SPEED_BLOCKS];

	if (!n)
		return 0;
	memcpy(sorted, p->recent, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_value);
	return sorted[(n * 99 + 99) / 100 - 1];
}
