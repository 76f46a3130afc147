/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WEB_WEB_HOST_H
#define SPATE_WEB_WEB_HOST_H

#include <stdbool.h>

#include "contract/option.h"
#include "net/endpoint.h"

/*
 * Tells whether a Host header means this machine: an address of loopback, the
 * address `here` that the connection came to, localhost, or one of `hosts`; with
 * any port.  A page of another site whose name was changed to our address (DNS
 * rebinding) sends its own name, and gets nothing.  `host` may be NULL.
 */
bool web_host_is_here(const char *host, const union endpoint *here,
		      const struct option_texts *hosts);

#endif
