/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_SOCKET_H
#define SPATE_RECEIVE_UDP_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "contract/receive.h"
#include "net/address.h"
#include "net/allow.h"
#include "net/endpoint.h"
#include "train.h"

/*
 * Opens a UDP socket for substream `sub` of an address, and joins the group if
 * the address is multicast.  The receive buffer is as large as asked for, or as
 * the system allows.  Returns a descriptor that does not block, owned by the
 * caller, or -errno with a sentence in args->why.
 */
int socket_listen(const struct address *a, uint32_t sub, uint64_t buffer_bytes,
		  const struct receive_args *args);

/* Returns the size of the receive buffer that the kernel granted, in bytes. */
uint64_t socket_buffer(int fd);

/*
 * A udp_socket is what the contract calls a source: packets are read from it.
 *
 * The kernel has two good ways to hand over many datagrams at once, and they
 * exclude each other, so a socket is in one of two modes:
 *
 *   TRAIN  UDP_GRO is on: equal datagrams that a card or a segmenting
 *          sender delivered as one train come with one recvmsg (train.h)
 *   BATCH  UDP_GRO is off: recvmmsg, one pair per message.
 *
 *                 trains average under 2 packets,
 *                    and the socket is empty
 *     TRAIN --------------------------------------> BATCH
 *      ^ |                                           | ^
 *      | +---> DRAIN, if it never is empty ----------|-+
 *      +---------------------------------------------+
 *                       after 10 s
 *
 * An instance may have hundreds of them, so each is small; the buffers that one
 * read needs are in struct socket_reader, which all of an instance share.
 */
enum socket_mode { SOCKET_TRAIN, SOCKET_DRAIN, SOCKET_BATCH };

struct udp_socket {
	int fd;
	enum socket_mode mode;
	/* UDP_GRO is allowed, and the kernel has it */
	bool gro;
	/* trains were too short: leave TRAIN at the next chance */
	bool leave;
	bool ask;      /* note the sender of the next packet */
	bool stamped;  /* SO_TIMESTAMPNS is on */
	uint16_t want; /* messages to ask for in the next batch */
	unsigned sub;  /* substream that this source brings */
	/* trains and their packets in the running sample */
	unsigned trains, carried;
	/*
	 * BATCH: since the last look at the clock; TRAIN: since `leave` was set
	 */
	unsigned calls;
	/* bytes left in the socket that may hold trains */
	int64_t drain;
	/* ns (host.now): when to try TRAIN again; 0: not set */
	int64_t retry;
	uint64_t datagrams, reads;

	/* Rarely used: for people, and for keepalive. */
	/* sender that was noted last */
	union endpoint sender;
	int64_t kept;	    /* ns: when the last keepalive was sent */
	const char *device; /* interface it is bound to; NULL: any */
	/* listening address: as configured, or `shown` */
	const char *address;
	/* address and port of one substream of several */
	char shown[ENDPOINT_TEXT];
};

enum { SOCKET_MESSAGES = 64 }; /* messages per recvmmsg */

/*
 * A reader holds the buffers that sockets are read with.  One receiver thread
 * reads all sockets of an instance, one call at a time, so they share one
 * reader.
 */
struct socket_reader {
	struct host host;
	const struct allow *allow;
	bool ask;     /* note the sender of every packet */
	bool asked;   /* the last batch noted senders */
	bool senders; /* the core wants receive_packet::sender always, */
	bool named;   /* or in this call */
	uint32_t prefix, longest;
	/*
	 * for messages longer than their pair: `longest` bytes for each
	 * message; NULL: such messages are cut
	 */
	uint8_t *spare;
	struct iovec iov[3 * SOCKET_MESSAGES];
	struct mmsghdr message[SOCKET_MESSAGES];
	uint8_t control[SOCKET_MESSAGES][STAMP_SPACE];
	union endpoint from[SOCKET_MESSAGES];
	struct train train;
};

/*
 * Allocates the buffers.  Returns 0 or -ENOMEM; the caller calls socket_reader_clear()
 * in both cases.
 */
int socket_reader_make(struct socket_reader *r, const struct receive_args *args,
		       const struct allow *allow);
void socket_reader_clear(struct socket_reader *r);

/*
 * Prepares a socket that was just opened.  `gro`: UDP_GRO may be
 * used.
 */
void socket_begin(struct udp_socket *s, int fd, bool gro);

/* Reads packets as receive_ops::receive does. */
int socket_receive(struct udp_socket *s, struct socket_reader *r,
		   struct receive_batch *b);

/* Returns how many datagrams the kernel dropped since the socket was opened. */
uint64_t socket_overruns(const struct udp_socket *s);

#endif
