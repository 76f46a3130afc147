/* SPDX-License-Identifier: MIT */
/*
 * One logical stream that comes in several ways.
 *
 * Through several interfaces, addresses or ports: each entry of `listen` has
 * a socket of its own, bound to its interface, with counters of its own, and
 * all bring the same substreams, so that the core puts their packets back in
 * one order.  That is what sockets.h does for udp as well: a stream over two
 * NICs needs nothing else, and here it is so that both ways have one name.
 */
#include <stddef.h>

#include "contract/receive.h"
#include "sockets.h"

struct options {
	struct sockets_options sockets;
};

static const struct option table[] = {
	SOCKETS_TABLE(struct options, sockets),
	{ .name = NULL },
};

/* An instance is its sockets. */
static struct sockets *
sockets_of(const struct receive_state *state)
{
	return (struct sockets *)state;
}

static int
fanout_plan(const void *options, struct receive_plan *plan, char *why,
	    uint32_t why_bytes)
{
	const struct options *o = options;

	return sockets_plan(&o->sockets, plan, why, why_bytes);
}

static int
fanout_open(struct receive_state **state, const struct receive_args *args)
{
	const struct options *o = args->options;
	struct sockets *sockets;
	int err = sockets_open(&sockets, &o->sockets, args);

	if (!err)
		*state = (struct receive_state *)sockets;
	return err;
}

static unsigned
fanout_sources(const struct receive_state *state)
{
	return sockets_sources(sockets_of(state));
}

static int
fanout_fd(const struct receive_state *state, unsigned source)
{
	return sockets_fd(sockets_of(state), source);
}

static unsigned
fanout_sub(const struct receive_state *state, unsigned source)
{
	return sockets_sub(sockets_of(state), source);
}

static int
fanout_receive(struct receive_state *state, unsigned source,
	       struct receive_batch *batch)
{
	return sockets_receive(sockets_of(state), source, batch);
}

static void
fanout_counts(struct receive_state *state, unsigned source,
	      struct receive_counts *counts)
{
	sockets_counts(sockets_of(state), source, counts);
}

static void
fanout_close(struct receive_state *state)
{
	sockets_close(sockets_of(state));
}

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct receive_ops),
		  .name = "fanout",
		  .help = "one stream over several interfaces",
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
