/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_TRAIN_H
#define SPATE_RECEIVE_UDP_TRAIN_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "contract/receive.h"
#include "net/endpoint.h"
#include "receive/packet.h"

/*
 * A stamp is the UTC time at which the kernel took a message in from a driver
 * or a local sender, before the message waited in any socket.  The kernel
 * passes it beside the message, one for a whole train of datagrams.
 *
 * The kernel stamps all incoming packets of the machine while at least one
 * socket asks for stamps.  Handing the stamps over costs more, so a source
 * turns that on only when stamps are needed.  Messages that already wait in the
 * socket then have their stamps, too, if another socket asked all the time:
 * stamps_keep() opens that socket.
 */
enum { STAMP_SPACE = CMSG_SPACE(sizeof(struct timespec)) };

/*
 * Turns stamps on or off for the messages of a socket.  No known kernel
 * refuses; if one does, all stamps are 0.
 */
static inline void
stamps_ask(int fd, int on)
{
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

/*
 * Opens a socket that nothing is sent to and that asks for stamps.  Returns the
 * descriptor, owned by the caller, or -errno.  Without it, messages that wait
 * when a source turns stamps on get the time at which they are read.
 */
static inline int
stamps_keep(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	stamps_ask(fd, 1);
	return fd;
}

/* Tells whether a control message is a stamp, and then sets *ns (UTC). */
static inline bool
stamp_is(const struct cmsghdr *c, int64_t *ns)
{
	struct timespec t;

	if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
		return false;
	memcpy(&t, CMSG_DATA(c), sizeof t);
	*ns = (int64_t)t.tv_sec * NS_SECOND + t.tv_nsec;
	return true;
}

/*
 * Returns the stamp (UTC ns) of a message that has no other control message; 0:
 * none.
 */
static inline int64_t
stamp_of(const struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int64_t ns = 0;

	return c && stamp_is(c, &ns) ? ns : 0;
}

/*
 * A train is many datagrams of one size, the last perhaps shorter, that the
 * kernel hands over as one message (UDP_GRO). train_read() reads it into pair
 * after pair, so that every payload lands in a slot of its own; bytes behind
 * the last pair go into an overflow area as large as any train.
 *
 * struct train belongs to one thread and has memory for one train at a time.
 */
enum { TRAIN_BYTES = 65536 }; /* more than any train */

struct train {
	/*
	 * prefix bytes of packets that are reported out of `linear` or
	 * `overflow`
	 */
	uint32_t prefix;
	uint32_t longest; /* longest datagram that comes whole */
	bool varies;	  /* pairs may differ in length */
	unsigned pairs;	  /* pairs to ask for: as many as hold any train */
	struct iovec iov[2 * RECEIVE_BATCH + 1];
	uint8_t control[CMSG_SPACE(sizeof(int)) + STAMP_SPACE];
	uint8_t *overflow, *linear; /* TRAIN_BYTES each */

	/* The pairs that the train is read into. */
	unsigned given;
	uint32_t first; /* bytes of pair 0 */
	unsigned alike; /* leading pairs that are as long as pair 0 */

	/*
	 * The train that was read: bytes of all and of one datagram, and its
	 * stamp.
	 */
	size_t total, segment;
	int64_t arrived;

	/*
	 * Packets in linear or overflow memory that did not fit into the last
	 * batch.  The next call reports them first, whichever source it is for,
	 * because that memory is needed for the next train.
	 */
	uint8_t *rest;
	size_t rest_bytes, rest_size;
	struct packet_mark mark;
};

/*
 * Allocates the memory.  Returns 0 or -ENOMEM; the caller calls train_clear()
 * in both cases.
 */
int train_make(struct train *t, const struct receive_args *args);
void train_clear(struct train *t);

/*
 * train_read() reads one train from a socket into the pairs of `b`, and sets
 * *from unless it is NULL.  Returns 0 or -errno. train_tell() then adds its
 * packets to `b`, all with the same mark and stamp.
 */
int train_read(struct train *t, int fd, union endpoint *from,
	       const struct receive_batch *b);
void train_tell(struct train *t, struct receive_batch *b,
		struct packet_mark mark);

/*
 * Adds the packets kept from the last train to `b`; false: there were none.
 * Called before anything else is read.
 */
bool train_rest(struct train *t, struct receive_batch *b);

#endif
