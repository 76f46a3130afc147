/* SPDX-License-Identifier: MIT */
/*
 * udp: datagrams from sockets, straight into their slots. sockets.h says which
 * sockets there are, source.h how one of them is read, train.h how many packets
 * land with one call.
 */
#include <stddef.h>

#include "contract/receive.h"
#include "sockets.h"

struct options {
	struct sockets_options sockets;
};

static const struct option_key table[] = {
	SOCKETS_TABLE(struct options, sockets),
	{ .name = NULL },
};

/* An instance of this plugin is a struct sockets and nothing else. */
static struct sockets *
sockets_of(const struct receive_state *state)
{
	return (struct sockets *)state;
}

static int
udp_plan(const void *options, struct receive_plan *plan, char *why,
	 uint32_t why_bytes)
{
	const struct options *o = options;

	return sockets_plan(&o->sockets, plan, why, why_bytes);
}

static int
udp_open(struct receive_state **state, const struct receive_args *args)
{
	const struct options *o = args->options;
	struct sockets *sockets;
	int err = sockets_open(&sockets, &o->sockets, args);

	if (!err)
		*state = (struct receive_state *)sockets;
	return err;
}

static unsigned
udp_sources(const struct receive_state *state)
{
	return sockets_sources(sockets_of(state));
}

static int
udp_fd(const struct receive_state *state, unsigned source)
{
	return sockets_fd(sockets_of(state), source);
}

static unsigned
udp_sub(const struct receive_state *state, unsigned source)
{
	return sockets_sub(sockets_of(state), source);
}

static int
udp_receive(struct receive_state *state, unsigned source,
	    struct receive_batch *batch)
{
	return sockets_receive(sockets_of(state), source, batch);
}

static void
udp_counts(struct receive_state *state, unsigned source,
	   struct receive_counts *counts)
{
	sockets_counts(sockets_of(state), source, counts);
}

static void
udp_close(struct receive_state *state)
{
	sockets_close(sockets_of(state));
}

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct receive_ops),
		  .name = "udp",
		  .help = "datagrams from UDP sockets",
		  .options = table,
		  .options_bytes = sizeof(struct options) },
	.open = udp_open,
	.sources = udp_sources,
	.fd = udp_fd,
	.receive = udp_receive,
	.counts = udp_counts,
	.close = udp_close,
	.plan = udp_plan,
	.sub = udp_sub,
};
