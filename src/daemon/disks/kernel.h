/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_KERNEL_H
#define SPATE_DAEMON_DISKS_KERNEL_H

#include <jansson.h>
#include <stdint.h>

/*
 * What the kernel lost before anybody could count it, since some moment: in
 * the card or its driver, by interface, and of UDP, by protocol.  With the
 * overruns of our own sockets they tell where a packet died:
 *
 *   card    rx_missed_errors, rx_fifo_errors, rx_over_errors, rx_errors
 *   kernel  rx_dropped: no socket, no memory, or a filter
 *   socket  rcvbuf_errors: a buffer was full, of any program's socket
 *
 * They are the machine's, not a stream's, and never part of a sum.
 */
enum { KERNEL_DROPS = 5, KERNEL_NAME = 16 };

struct kernel_device {
	char name[KERNEL_NAME];
	uint64_t drop[KERNEL_DROPS];
};

struct kernel {
	struct kernel_device *device;
	unsigned devices;
	uint64_t in_errors, rcvbuf_errors; /* of UDP over IPv4 and IPv6 */
};

/* Reads the counters; what cannot be read is 0.  kernel_clear frees them. */
void kernel_look(struct kernel *k);
void kernel_clear(struct kernel *k);

/*
 * {"interfaces":[{"device":"eth2","rx_dropped":0,...}],
 *  "udp":{"in_errors":0,"rcvbuf_errors":0}}, as they grew since `then`.  Of
 * the devices of `bound` (`n`, none NULL); where there is none of all that
 * lost anything.  A new reference; NULL without memory.
 */
json_t *kernel_lost(const struct kernel *then, const char *const *bound,
		    unsigned n);

#endif
