/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_UDP_QDISC_H
#define SPATE_SEND_UDP_QDISC_H

#include <stdbool.h>

#include "net/endpoint.h"

/*
 * Tells whether packets to an address leave through a queue that obeys their
 * times (fq).  `device` 0: the interface that the route uses.
 */
bool qdisc_timed(const union endpoint *to, unsigned device);

#endif
