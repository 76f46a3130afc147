/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_HEALTH_KERNEL_H
#define SPATE_DAEMON_HEALTH_KERNEL_H

#include <jansson.h>
#include <stdint.h>

/*
 * Packets that the kernel lost before any program could count them, since a
 * given moment: in the card or its driver, per interface, between the card and
 * the protocols, and in UDP.  Together with the overruns of our own sockets they show where a
 * packet was lost:
 *
 *   card    rx_missed_errors, rx_fifo_errors, rx_over_errors, rx_errors
 *   kernel  rx_dropped: no socket, no memory, or a filter
 *           backlog dropped: the queue of a CPU (net.core.netdev_max_backlog) was
 *           full; squeezed: a CPU left packets for later, which is no loss
 *   socket  rcvbuf_errors: the buffer of any program's socket was full
 *
 * The counters are the machine's, not a stream's, and never part of a sum.
 */
enum { KERNEL_DROPS = 5, KERNEL_NAME = 16 };

/* Counters of one interface, in the order of kernel.c's drop_name. */
struct kernel_device {
	char name[KERNEL_NAME];
	uint64_t drop[KERNEL_DROPS]; /* at the last look */
	uint64_t lost[KERNEL_DROPS]; /* since the first */
};

/* Counters of all CPUs' queues, and of UDP, IPv4 and IPv6 together. */
struct kernel_machine {
	uint64_t dropped, squeezed;
	uint64_t in_errors, rcvbuf_errors;
};

struct kernel {
	struct kernel_device *device;
	unsigned devices;
	struct kernel_machine now;  /* at the last look */
	struct kernel_machine lost; /* since the first */
};

/* Takes a first look at the counters; one that cannot be read is 0.  Free with
 * kernel_clear. */
void kernel_look(struct kernel *k);
void kernel_clear(struct kernel *k);

/*
 * Returns, as a new reference, how far the counters grew from the first look to
 * `now`, a look that many recordings may share; NULL: looks again.  None of these
 * numbers ever falls.
 *
 *   {"interfaces":[{"device":"eth2","rx_dropped":0,...}],
 *    "backlog":{"dropped":0,"squeezed":0},
 *    "udp":{"in_errors":0,"rcvbuf_errors":0}}
 *
 * Lists the `n` devices of `bound`, also one that is gone; with n = 0 every
 * device that lost something.  Returns NULL without memory.
 */
json_t *kernel_lost(struct kernel *k, const struct kernel *now,
		    const char *const *bound, unsigned n);

#endif
