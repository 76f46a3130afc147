/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_UDP_UDP_H
#define SPATE_SEND_UDP_UDP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "contract/send.h"
#include "net/endpoint.h"
#include "net/url.h"

/*
 * What the parts of the plugin share.
 *
 *   udp.c          what the core calls
 *   udp_ports.c    the sockets, one for each port that is sent to
 *   udp_qdisc.c    does the interface send at a time?
 *   udp_train.c    packets in a row, as one call takes them
 *   udp_go.c       the calls, and what can go wrong with them
 */
enum {
	UDP_LARGEST = 65507, /* bytes that one call can take, at most, over
				IPv4; a datagram too */
	UDP_TRAIN = 64,	     /* packets of a train */
};

struct udp_options {
	uint64_t socket_buffer;
	uint32_t ttl;
	const char *interface;
	uint32_t train;
	bool timed;
};

struct send_state {
	const struct udp_options *options;
	const struct host *host;
	union endpoint to; /* the first port */
	int *fd;	   /* of each port */
	unsigned ports;
	unsigned device; /* by which it goes; 0: as the routes say */

	/* The way that it goes. */
	uint32_t train;	  /* most packets of one */
	uint32_t cut_not; /* packets of so many bytes, or more, the kernel does
			     not cut from a train */
	uint32_t mtu;	  /* of the way, headers and all; 0: not known */
	bool timed;

	uint64_t taken;
	uint64_t packets, bytes, calls, refused, lost, burst;

	int blocked;   /* a socket that takes nothing now; -1: none */
	int64_t again; /* steady ns, before which nothing is tried; or 0 */

	uint8_t *stage; /* UDP_LARGEST bytes, where trains are copied */
	bool told_mtu, told_size;
	int told_error;
	char peer[ENDPOINT_TEXT];
	char why[SEND_SENTENCE];
};

/* ---- udp_ports.c ------------------------------------------------------- */

/* What has the URL to do with so many substreams?  0 or -EINVAL. */
int udp_subs_check(const struct url *url, const struct send_args *args);

/* Opens a socket for each substream.  0 or -errno with a sentence. */
int udp_ports_open(struct send_state *s, const struct url *url,
		   const struct send_args *args);
void udp_ports_close(struct send_state *s);

/* ---- udp_qdisc.c ------------------------------------------------------- */

/* Does what goes there pass a queue that sends at a time (fq)?  `device` 0:
 * the route says by which interface. */
bool udp_qdisc_timed(const union endpoint *to, unsigned device);

/* ---- udp_train.c ------------------------------------------------------- */

/* Where we are in some runs. */
struct udp_cursor {
	const struct send_run *run;
	unsigned runs;
	uint32_t packet; /* of the first run */
};

/*
 * A train is packets of one size, the last may be shorter, that go to one
 * port.  Cut by the kernel it is bytes in a row; else each packet has `pieces`
 * of the iovecs.
 */
struct udp_train {
	unsigned n;
	unsigned sub;
	uint32_t size;	/* of the first */
	uint32_t bytes; /* of all */
	bool cut;
	int64_t due, every; /* as of a run; 0: at once */
	unsigned iovs;
	struct iovec iov[2 * UDP_TRAIN];
	uint8_t pieces[UDP_TRAIN];
	uint32_t length[UDP_TRAIN]; /* bytes of each */
};

/* The train that comes next; false: there are no packets.  Where it copies
 * them, that is to s->stage. */
bool udp_train_make(struct send_state *s, const struct udp_cursor *at,
		    struct udp_train *t);

/* Goes on behind so many packets. */
void udp_cursor_move(struct udp_cursor *at, uint32_t packets);

/* ---- udp_go.c ---------------------------------------------------------- */

/*
 * Sends it; *done says how many packets of it need nothing more.  0; -ENOBUFS:
 * the rest is for later (s->blocked or s->again say when); -EAGAIN: the same,
 * and there is no way to the peer now, with s->why.
 */
int udp_go(struct send_state *s, const struct udp_train *t, unsigned *done);

/* Counts what came back for a port. */
void udp_answers(struct send_state *s, int fd);

#endif
