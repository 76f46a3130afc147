/* SPDX-License-Identifier: MIT */
/* One disk that dies is known by the path of what is written; disks of one
 * speed sleep until they would have done what they were given. */
#include "write_disks.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* ---- a disk that dies ------------------------------------------------ */

static struct write_ops healthy;
static char doomed[PATH_MAX];
static uint64_t death; /* bytes */
static _Atomic uint64_t given;

static bool
is_doomed(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	path[n < 0 ? 0 : n] = '\0';
	return !strncmp(path, doomed, strlen(doomed));
}

static enum write_answer
dying_submit(struct write_state *state, struct write_request *r)
{
	if (atomic_fetch_add(&given, r->bytes) < death || !is_doomed(r->fd))
		return healthy.submit(state, r);
	r->result = -EIO;
	return WRITE_DONE;
}

const struct write_ops *
write_dying(const struct write_ops *ops, const char *disk, uint64_t bytes)
{
	static struct write_ops dying;

	if (!realpath(disk, doomed))
		return NULL;
	death = bytes;
	healthy = dying = *ops;
	dying.submit = dying_submit;
	return &dying;
}

/* ---- disks of one speed ---------------------------------------------- */

static uint64_t pace; /* bytes per second */

struct write_state {
	int64_t due; /* when it has done what it was given */
};

static int
paced_open(struct write_state **state, const struct write_args *args)
{
	(void)args;
	*state = calloc(1, sizeof **state);
	return *state ? 0 : -ENOMEM;
}

static enum write_answer
paced_submit(struct write_state *s, struct write_request *r)
{
	int64_t now = clock_steady();
	struct timespec due;
	ssize_t n = pwrite(r->fd, r->data, r->bytes, (off_t)r->offset);

	s->due = (s->due > now ? s->due : now) +
		 (int64_t)((double)r->bytes / (double)pace * 1e9);
	due.tv_sec = s->due / 1000000000;
	due.tv_nsec = s->due % 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	r->result = n < 0 ? -errno : n;
	return WRITE_DONE;
}

static void
paced_close(struct write_state *s)
{
	free(s);
}

static const struct write_ops paced_ops = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof paced_ops,
		  .name = "paced",
		  .flags = WRITE_DIRECT },
	.open = paced_open,
	.submit = paced_submit,
	.close = paced_close,
};

const struct write_ops *
write_paced(uint64_t rate)
{
	pace = rate;
	return &paced_ops;
}
