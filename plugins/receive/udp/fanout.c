/* SPDX-License-Identifier: MIT */
/*
 * fanout: one logical stream that comes in more than one way.
 *
 * Without `rings`, it comes through several interfaces, addresses or ports:
 * each entry of `listen` has a socket of its own, bound to its interface, with
 * its own counters.  All entries bring the same substreams, and the core puts
 * their packets back in one order.  The udp plugin does the same; it is here as
 * well so that both ways have one name.
 *
 * With `rings`, one interface is too fast for one thread: `rings` threads share
 * its packets, each from a packet ring of its own (rings.h), and the core lets
 * them fill the same slots.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "contract/receive.h"
#include "ring.h"
#include "rings.h"
#include "sockets.h"

struct options {
	struct sockets_options sockets;
	uint32_t rings;
	uint64_t ring;
};

static const struct option_key table[] = {
	SOCKETS_TABLE(struct options, sockets),
	{ .name = "rings",
	  .type = OPTION_COUNT,
	  .fallback = "0",
	  .offset = offsetof(struct options, rings),
	  .max = RINGS_MOST,
	  .help = "threads that share the packets of one interface, each "
		  "with a packet ring; 0: sockets, and one thread" },
	{ .name = "ring",
	  .type = OPTION_BYTES,
	  .fallback = "32M",
	  .offset = offsetof(struct options, ring),
	  .min = RING_LEAST,
	  .max = 1u << 30,
	  .help = "kernel memory for packets that wait, per ring" },
	{ .name = NULL },
};

/* Exactly one of the two is set. */
struct receive_state {
	struct sockets *sockets;
	struct rings *rings;
};

static struct rings_options
rings_of(const struct options *o)
{
	return (struct rings_options){ .listen = &o->sockets.listen,
				       .allow = &o->sockets.allow,
				       .threads = o->rings,
				       .bytes = o->ring };
}

static int
fanout_plan(const void *options, struct receive_plan *plan, char *why,
	    uint32_t why_bytes)
{
	const struct options *o = options;
	struct rings_options rings = rings_of(o);

	if (!o->rings)
		return sockets_plan(&o->sockets, plan, why, why_bytes);
	if (!o->sockets.keepalive)
		return rings_plan(&rings, plan, why, why_bytes);
	snprintf(why, why_bytes,
		 "`keepalive` is sent by sockets: it does not go with `rings`");
	return -EINVAL;
}

static int
fanout_open(struct receive_state **state, const struct receive_args *args)
{
	const struct options *o = args->options;
	struct rings_options rings = rings_of(o);
	struct receive_state *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	if (o->rings)
		err = rings_open(&s->rings, &rings, args);
	else
		err = sockets_open(&s->sockets, &o->sockets, args);
	if (err)
		free(s);
	else
		*state = s;
	return err;
}

static unsigned
fanout_sources(const struct receive_state *s)
{
	return s->rings ? rings_sources(s->rings) : sockets_sources(s->sockets);
}

static int
fanout_fd(const struct receive_state *s, unsigned source)
{
	return s->rings ? rings_fd(s->rings, source)
			: sockets_fd(s->sockets, source);
}

static unsigned
fanout_sub(const struct receive_state *s, unsigned source)
{
	return s->rings ? 0 : sockets_sub(s->sockets, source);
}

static int
fanout_receive(struct receive_state *s, unsigned source,
	       struct receive_batch *batch)
{
	return s->rings ? rings_receive(s->rings, source, batch)
			: sockets_receive(s->sockets, source, batch);
}

static void
fanout_counts(struct receive_state *s, unsigned source,
	      struct receive_counts *counts)
{
	if (s->rings)
		rings_counts(s->rings, source, counts);
	else
		sockets_counts(s->sockets, source, counts);
}

static void
fanout_close(struct receive_state *s)
{
	if (s->rings)
		rings_close(s->rings);
	else
		sockets_close(s->sockets);
	free(s);
}

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct receive_ops),
		  .name = "fanout",
		  .help = "one stream over several interfaces, or one by "
			  "several threads",
		  .options = table,
		  .options_bytes = sizeof(struct options) },
	.open = fanout_open,
	.sources = fanout_sources,
	.fd = fanout_fd,
	.receive = fanout_receive,
	.counts = fanout_counts,
	.close = fanout_close,
	.plan = fanout_plan,
	.sub = fanout_sub,
};
