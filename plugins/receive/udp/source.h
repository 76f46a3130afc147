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
 * A source is one datagram socket that packets are read from.
 *
 * It is in one of two modes, because the kernel has two good ways to hand
 * over many datagrams at once, and they exclude each other:
 *
 *   TRAIN  UDP_GRO is on: what a card or a segmenting sender delivered as
 *          one train of equal datagrams comes with one recvmsg (train.h)
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
 * There may be hundreds of them, so a source is small; what is needed to
 * read one is in the reader that all of an instance share.
 */
enum source_mode { SOURCE_TRAIN, SOURCE_DRAIN, SOURCE_BATCH };

struct source {
	int fd;
	enum source_mode mode;
	bool gro;		  /* the kernel can, and may */
	bool leave;		  /* trains are not worth it */
	bool ask;		  /* who sends? */
	bool stamped;		  /* SO_TIMESTAMPNS is on */
	uint16_t want;		  /* messages of the next batch */
	unsigned sub;		  /* the substream that it brings */
	unsigned trains, carried; /* of the running sample */
	unsigned calls;		  /* since the last look at the clock, or since
			     `leave` */
	int64_t drain;		  /* bytes that may hold trains */
	int64_t retry;		  /* when to try TRAIN again; 0: not set */
	uint64_t datagrams, reads;

	/* For people, and for keepalive: rarely looked at. */
	union endpoint sender;	   /* of the last packet */
	int64_t kept;		   /* when it was last told that we are here */
	const char *device;	   /* NULL: any */
	const char *address;	   /* of one substream: as configured */
	char shown[ENDPOINT_TEXT]; /* else it points here */
};

enum { SOURCE_MESSAGES = 64 }; /* per recvmmsg */

/*
 * A reader is the memory that sources are read with, one call at a time: one
 * thread reads all sources of an instance.
 */
struct reader {
	struct host host;
	const struct allow *allow;
	bool ask;     /* who sends, for every packet */
	bool asked;   /* in the last batch */
	bool senders; /* the core wants to tell senders apart */
	uint32_t prefix, longest;
	uint8_t *spare; /* for messages longer than their pair, `longest`
			     bytes for each; NULL: they are cut */
	struct iovec iov[3 * SOURCE_MESSAGES];
	struct mmsghdr message[SOURCE_MESSAGES];
	uint8_t control[SOURCE_MESSAGES][STAMP_SPACE];
	union endpoint from[SOURCE_MESSAGES];
	struct train train;
};

/* 0 or -ENOMEM; to be cleared in both cases. */
int reader_make(struct reader *r, const struct receive_args *args,
		const struct allow *allow);
void reader_clear(struct reader *r);

/* Begins with a socket that was just opened; `gro`: trains may be tried. */
void source_begin(struct source *s, int fd, bool gro);

/* As receive_ops::receive. */
int source_receive(struct source *s, struct reader *r, struct receive_batch *b);

/* Lost by the kernel, since the socket was opened. */
uint64_t source_overruns(const struct source *s);

#endif
