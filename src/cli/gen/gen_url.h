/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_URL_H
#define SPATE_CLI_GEN_GEN_URL_H

#include <stdbool.h>

#include "base/fault.h"

/*
 * The destination of test traffic: "udp://host:port", a range of ports as
 * "udp://host:41000-41431", or "tcp://host:port".  An IPv6 address stands in
 * brackets.
 */
enum { GEN_HOST = 256 };

struct gen_url {
	const char *text;
	bool tcp;
	char host[GEN_HOST];
	unsigned first, last; /* range of ports */
};

/* Reads a URL.  Returns 0, or -EINVAL with a fault. */
int gen_url_read(struct gen_url *u, const char *text, struct fault *fault);

/* Returns a socket connected to a port, or -errno with a fault. */
int gen_url_connect(const struct gen_url *u, unsigned port,
		    struct fault *fault);

#endif
