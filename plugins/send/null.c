/* SPDX-License-Identifier: MIT */
/*
 * null: the smallest send plugin.  Every packet is taken at once, counted, and
 * thrown away; no byte of the data is touched.  It is the ceiling that the
 * others are measured against, and the first one to read before you write your
 * own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/send.h"

struct send_state {
	uint64_t packets, bytes, calls;
};

static int
null_check(const struct send_args *args)
{
	if (strcmp(args->to, "null:") == 0 || strcmp(args->to, "null://") == 0)
		return 0;
	snprintf(args->why, args->why_bytes,
		 "%.100s: null sends to nowhere, and that is written null:",
		 args->to);
	return -EINVAL;
}

static int
null_open(struct send_state **state, const struct send_args *args)
{
	(void)args;
	*state = calloc(1, sizeof **state);
	return *state ? 0 : -ENOMEM;
}

static int
null_send(struct send_state *s, const struct send_run *run, unsigned n,
	  uint64_t *taken)
{
	*taken = 0;
	for (unsigned i = 0; i < n; i++) {
		*taken += run[i].packets;
		s->bytes += (uint64_t)run[i].packets *
			    (run[i].head_bytes + run[i].data_bytes);
	}
	s->packets += *taken;
	s->calls++;
	return 0;
}

static unsigned
null_poll(struct send_state *s, struct pollfd *fd, unsigned most,
	  int64_t *until)
{
	(void)s;
	(void)fd;
	(void)most;
	(void)until;
	return 0;
}

static uint64_t
null_release(struct send_state *s)
{
	return s->packets;
}

static void
null_detach(struct send_state *s)
{
	(void)s;
}

static int
null_finish(struct send_state *s)
{
	(void)s;
	return 0;
}

static void
null_facts(struct send_state *s, struct send_facts *facts)
{
	*facts = (struct send_facts){ .packets = s->packets,
				      .bytes = s->bytes,
				      .calls = s->calls,
				      .connections = 1,
				      .way = "nowhere",
				      .peer = "nowhere" };
}

static void
null_close(struct send_state *s)
{
	free(s);
}

SPATE_PLUGIN const struct send_ops spate_send = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "null",
		  .help = "counts, and sends nothing" },
	.check = null_check,
	.open = null_open,
	.send = null_send,
	.poll = null_poll,
	.release = null_release,
	.detach = null_detach,
	.finish = null_finish,
	.facts = null_facts,
	.close = null_close,
};
