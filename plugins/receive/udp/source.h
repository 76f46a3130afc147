/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_SOURCE_H
#define SPATE_RECEIVE_UDP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/allow.h"
#include "contract/receive.h"
#include "net/endpoint.h"
#include "stamp.h"
#include "train.h"

/*
 * A source is one UDP socket that packets are read from.
 *
 * The kernel has two good ways to hand over many datagrams at once, and they
 * exclude each other, so a source is in one of two modes:
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
 * An instance may have hundreds of sources, so a source is small; the buffers
 * that one read needs are in struct reader, which all sources of an instance
 * share.
 */
enum source_mode { SOURCE_TRAIN, SOURCE_DRAIN, SOURCE_BATCH };

struct source {
	int fd;
	enum source_mode mode;
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

enum { SOURCE_MESSAGES = 64 }; /* messages per recvmmsg */

/*
 * A reader holds the buffers that sources are read with.  One receiver thread
 * reads all sources of an instance, one call at a time, so they share one
 * reader.
 */
struct reader {
	struct host host;
	const struct allow *allow;
	bool ask;     /* note the sender of every packet */
	bool asked;   /* the last batch noted senders */
	bool senders; /* the core wants receive_packet::sender */
	uint32_t prefix, longest;
	/*
	 * for messages longer than their pair: `longest` bytes for each
	 * message; NULL: such messages are cut
	 */
	uint8_t *spare;
	struct iovec iov[3 * SOURCE_MESSAGES];
	struct mmsghdr message[SOURCE_MESSAGES];
	uint8_t control[SOURCE_MESSAGES][STAMP_SPACE];
	union endpoint from[SOURCE_MESSAGES];
	struct train train;
};

/*
 * Allocates the buffers.  Returns 0 or -ENOMEM; the caller calls reader_clear()
 * in both cases.
 */
int reader_make(struct reader *r, const struct receive_args *args,
		const struct allow *allow);
void reader_clear(struct reader *r);

/*
 * Starts a source on a socket that was just opened.  `gro`: UDP_GRO may be
 * used.
 */
void source_begin(struct source *s, int fd, bool gro);

/* Reads packets as receive_ops::receive does. */
int source_receive(struct source *s, struct reader *r, struct receive_batch *b);

/* Returns how many datagrams the kernel dropped since the socket was opened. */
uint64_t source_overruns(const struct source *s);

#endif
