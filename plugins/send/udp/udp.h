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
 * Declarations that the files of the udp send plugin share.
 *
 *   udp.c          what the core calls
 *   udp_ports.c    the sockets, one for each port that is sent to
 *   udp_qdisc.c    does the interface send at a given time?
 *   udp_train.c    packets in a row, as one call takes them
 *   udp_go.c       the calls, and what can go wrong with them
 */
enum {
	/* bytes: the longest IPv4 datagram, and the most for one call */
	UDP_LARGEST = 65507,
	UDP_TRAIN = 64, /* most packets of a train */
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
	int *fd;	   /* one socket for each port */
	unsigned ports;
	unsigned device; /* index of the interface; 0: as the routes say */

	/* Properties of the path to the peer. */
	uint32_t train; /* most packets of a train */
	/*
	 * packets of this size or more are not sent as a train: the kernel
	 * refused to cut them
	 */
	uint32_t cut_not;
	uint32_t mtu; /* MTU of the path, IP headers included; 0: unknown */
	bool timed;

	uint64_t taken;
	uint64_t packets, bytes, calls, refused, lost, burst;

	int blocked;   /* a socket whose buffer is full; -1: none */
	int64_t again; /* steady ns: nothing is sent before; 0: at once */

	uint8_t *stage; /* UDP_LARGEST bytes, to copy short packets into */
	bool told_mtu, told_size; /* these warnings were logged */
	int told_error; /* errno that was logged last; 0: packets went since */
	char peer[ENDPOINT_TEXT];
	char why[SEND_SENTENCE];
};

/* ---- udp_ports.c ------------------------------------------------------- */

/*
 * Checks that the URL has enough ports or groups for all substreams.  Returns
 * 0, or -EINVAL with a sentence in args->why.
 */
int udp_subs_check(const struct url *url, const struct send_args *args);

/*
 * Opens a socket for each substream.  Returns 0, or -errno with a sentence in
 * args->why.
 */
int udp_ports_open(struct send_state *s, const struct url *url,
		   const struct send_args *args);
void udp_ports_close(struct send_state *s);

/* ---- udp_qdisc.c ------------------------------------------------------- */

/*
 * Tells whether packets to an address leave through a queue that obeys their
 * times (fq).  `device` 0: the interface that the route uses.
 */
bool udp_qdisc_timed(const union endpoint *to, unsigned device);

/* ---- udp_train.c ------------------------------------------------------- */

/* A position in a list of runs. */
struct udp_cursor {
	const struct send_run *run;
	unsigned runs;
	uint32_t packet; /* index in the first run */
};

/*
 * A train is packets to one port that one call sends: packets of one size, of
 * which the last may be shorter.  If the kernel cuts it (`cut`), it is one row
 * of bytes; otherwise packet i has pieces[i] of the iovecs.
 */
struct udp_train {
	unsigned n;
	unsigned sub;
	uint32_t size;	/* bytes of the first packet */
	uint32_t bytes; /* bytes of all packets */
	bool cut;
	int64_t due, every; /* as in struct send_run; due 0: at once */
	unsigned iovs;
	struct iovec iov[2 * UDP_TRAIN];
	uint8_t pieces[UDP_TRAIN];
	uint32_t length[UDP_TRAIN]; /* bytes of each packet */
};

/*
 * Makes the train that begins at a position; false: no packets are left.  Short
 * packets are copied to s->stage.
 */
bool udp_train_make(struct send_state *s, const struct udp_cursor *at,
		    struct udp_train *t);

/* Moves a position forward. */
void udp_cursor_move(struct udp_cursor *at, uint32_t packets);

/* ---- udp_go.c ---------------------------------------------------------- */

/*
 * Sends a train; *done is how many of its packets need nothing more (sent or
 * lost).  Returns 0; -ENOBUFS: the rest has to wait, and s->blocked or s->again
 * say for what; -EAGAIN: the same, because nothing can be sent to the peer now,
 * and s->why says why.
 */
int udp_go(struct send_state *s, const struct udp_train *t, unsigned *done);

/* Reads and counts ICMP answers for a socket. */
void udp_answers(struct send_state *s, int fd);

#endif
