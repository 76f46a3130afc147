/* SPDX-License-Identifier: MIT */
/*
 * udp: datagrams from sockets, straight into their slots.  The plugin is a
 * struct sockets and nothing else: sockets.h says which sockets there are,
 * socket.h how one of them is read, train.h how many packets land with one
 * call.
 */
#include "sockets.h"

static const struct option_key table[] = {
	SOCKETS_TABLE,
	{ .name = NULL },
};

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct receive_ops),
		  .name = "udp",
		  .help = "datagrams from UDP sockets",
		  .options = table,
		  .options_bytes = sizeof(struct sockets_options) },
	.open = sockets_open,
	.sources = sockets_sources,
	.fd = sockets_fd,
	.receive = sockets_receive,
	.counts = sockets_counts,
	.close = sockets_close,
	.plan = sockets_plan,
	.sub = sockets_sub,
};
