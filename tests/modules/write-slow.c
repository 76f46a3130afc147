/* SPDX-License-Identifier: MIT */
/*
 * For tests: a writer on disks that are slow, do not answer, or fail, for as
 * long as a test wants.  Never installed.
 *
 *   slow_disk    only files whose path has this in it; none: all
 *   slow_delay   each request takes that long
 *   slow_rate    bytes per second that the disk takes; none: all it can
 *   slow_rates   the same for several: "a/=4000000 b/=8000000"
 *   slow_hang    while a file of this name is there, no request ends
 *   slow_fail    while a file of this name is there, requests fail
 *   slow_errno   with this error
 *   slow_queue   so many requests are queued; none: submit waits
 *
 * A request is written when its time has come: by submit where nothing is
 * queued, else by reap, the earliest first.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "contract/write.h"

enum { QUEUE = 64, LOOK_NS = 5000000 };

struct slow_options {
	const char *disk, *rates, *hang, *fail, *error;
	int64_t delay;
	uint64_t rate;
	uint32_t queue;
};

static const struct option_key options[] = {
	{ .name = "slow_disk",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct slow_options, disk),
	  .help = "part of the paths that are meant; none: all" },
	{ .name = "slow_delay",
	  .type = OPTION_SPAN,
	  .offset = offsetof(struct slow_options, delay),
	  .help = "what each request takes" },
	{ .name = "slow_rate",
	  .type = OPTION_BYTES,
	  .offset = offsetof(struct slow_options, rate),
	  .help = "bytes per second" },
	{ .name = "slow_rates",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct slow_options, rates),
	  .help = "PART=BYTES ..., bytes per second of paths with PART" },
	{ .name = "slow_hang",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct slow_options, hang),
	  .help = "while this file is there, nothing is answered" },
	{ .name = "slow_fail",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct slow_options, fail),
	  .help = "while this file is there, requests fail" },
	{ .name = "slow_errno",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct slow_options, error),
	  .fallback = "EIO",
	  .choices = "EIO|ENOSPC|EROFS|ENODEV",
	  .help = "what they fail with" },
	{ .name = "slow_queue",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct slow_options, queue),
	  .max = QUEUE,
	  .help = "requests that are queued; none: submit waits" },
	{ .name = NULL },
};

struct write_state {
	const struct slow_options *o;
	int64_t free; /* when the disk has done all it was given */
	struct write_request *queue[QUEUE];
	int64_t due[QUEUE];
	unsigned queued;
};

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void
wait_until(int64_t ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000,
			      .tv_nsec = ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) ==
	       EINTR)
		;
}

static bool
is_there(const char *file)
{
	return file && access(file, F_OK) == 0;
}

static void
path_of(int fd, char path[static PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n < 0 ? 0 : n] = '\0';
}

static bool
is_meant(const struct slow_options *o, int fd)
{
	char path[PATH_MAX];

	if (!o->disk)
		return true;
	path_of(fd, path);
	return strstr(path, o->disk);
}

static double
rate_of(const struct slow_options *o, int fd)
{
	char path[PATH_MAX], part[PATH_MAX];
	const char *p = o->rates;
	double rate = (double)o->rate, its;
	int n;

	if (!p)
		return rate;
	path_of(fd, path);
	while (sscanf(p, " %4095[^= ]=%lf%n", part, &its, &n) == 2) {
		if (strstr(path, part))
			rate = its;
		p += n;
	}
	return rate;
}

static int
error_of(const struct slow_options *o)
{
	return !strcmp(o->error, "ENOSPC")   ? -ENOSPC
	       : !strcmp(o->error, "EROFS")  ? -EROFS
	       : !strcmp(o->error, "ENODEV") ? -ENODEV
					     : -EIO;
}

/* When the disk will have done it. */
static int64_t
due(struct write_state *s, const struct write_request *r)
{
	double rate = rate_of(s->o, r->fd);
	int64_t at = now();

	if (!is_meant(s->o, r->fd))
		return at;
	if (s->free < at)
		s->free = at;
	if (rate > 0)
		s->free += (int64_t)((double)r->bytes / rate * 1e9);
	return s->free + s->o->delay;
}

static void
write_at(const struct slow_options *o, struct write_request *r, int64_t at)
{
	bool meant = is_meant(o, r->fd);
	ssize_t n;

	wait_until(at);
	while (meant && is_there(o->hang))
		wait_until(now() + LOOK_NS);
	if (meant && is_there(o->fail)) {
		r->result = error_of(o);
		return;
	}
	n = pwrite(r->fd, r->data, r->bytes, (off_t)r->offset);
	r->result = n < 0 ? -errno : n;
}

static int
slow_open(struct write_state **state, const struct write_args *args)
{
	struct write_state *s = calloc(1, sizeof *s);

	if (!s)
		return -ENOMEM;
	s->o = args->options;
	*state = s;
	return 0;
}

static enum write_answer
slow_submit(struct write_state *s, struct write_request *r)
{
	if (!s->o->queue) {
		write_at(s->o, r, due(s, r));
		return WRITE_DONE;
	}
	if (s->queued == s->o->queue)
		return WRITE_BUSY;
	s->due[s->queued] = due(s, r);
	s->queue[s->queued++] = r;
	return WRITE_QUEUED;
}

static unsigned
slow_reap(struct write_state *s, struct write_request **done, unsigned n)
{
	unsigned first = 0;

	if (!s->queued || !n)
		return 0;
	for (unsigned i = 1; i < s->queued; i++)
		first = s->due[i] < s->due[first] ? i : first;
	done[0] = s->queue[first];
	write_at(s->o, done[0], s->due[first]);
	s->queue[first] = s->queue[--s->queued];
	s->due[first] = s->due[s->queued];
	return 1;
}

static void
slow_close(struct write_state *s)
{
	free(s);
}

SPATE_PLUGIN const struct write_ops spate_write = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct write_ops),
		  .name = "slow",
		  .help = "for tests: disks that are slow, hang or fail",
		  .options = options,
		  .options_bytes = sizeof(struct slow_options) },
	.open = slow_open,
	.submit = slow_submit,
	.reap = slow_reap,
	.close = slow_close,
};
