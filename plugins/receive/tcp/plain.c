/* SPDX-License-Identifier: MIT */
/*
 * One read fills pair after pair.  The last packet of a read is mostly not
 * whole.  It cannot stay in its pair, which the plugin may use for one call
 * only, so rest_keep() copies it away and rest_put() puts it before the bytes
 * that come next.  That copies half a packet on average for each read of up to
 * 128 packets.
 *
 *   rest | read ............................|
 *   pair 0     | pair 1     | pair 2     | pair 3 -> rest
 */
#include "plain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "receive/packet.h"

int
plain_make(struct plain *p, struct door *door, struct peer *peer,
	   const struct receive_args *args)
{
	*p = (struct plain){ .door = door,
			     .peer = peer,
			     .prefix = args->prefix,
			     .size = args->prefix + args->payload,
			     .next = -1 };
	p->rest = malloc(p->size);
	return p->rest ? 0 : -ENOMEM;
}

void
plain_free(struct plain *p)
{
	if (p->next >= 0)
		close(p->next);
	free(p->rest);
}

/* ---- the connection ---------------------------------------------------- */

static void
next_seat(struct plain *p)
{
	peer_seat(p->peer, p->next, &p->next_from);
	p->next = -1;
	p->peer->host->log(p->peer->host->ctx, LEVEL_INFO, "%s is connected",
			   p->peer->name);
}

/*
 * Tells whether a sender is connected and nothing can be read, not even the end
 * of its connection.
 */
static bool
is_silent(const struct peer *peer)
{
	uint8_t byte;

	return recv(peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       errno == EAGAIN;
}

/*
 * Looks for another sender.  The end of the present connection may still be
 * unread; only when nothing is left to read are there really two senders, and
 * the second is refused.
 */
static void
door_look(struct plain *p)
{
	if (p->next < 0)
		p->next = door_accept(p->door, &p->next_from);
	if (p->next < 0)
		return;
	if (p->peer->fd < 0) {
		next_seat(p);
	} else if (is_silent(p->peer)) {
		door_refuse(p->door, p->next, &p->next_from,
			    "another sender is connected, and bytes come from "
			    "one at a time");
		p->next = -1;
	}
}

void
plain_tick(struct plain *p)
{
	if (p->next < 0)
		p->next = door_accept(p->door, &p->next_from);
	if (p->next >= 0)
		peer_wake(p->peer, true);
}

void
plain_drop(struct plain *p, const char *why)
{
	peer_leave(p->peer, LEVEL_WARN, why);
	peer_wake(p->peer, true);
}

/* ---- packets ----------------------------------------------------------- */

/*
 * Fills p->iov with n pairs, from byte `rest_bytes` of the first on; returns
 * the number of iovecs.
 */
static int
pairs_aim(struct plain *p, const struct receive_pair *pair, unsigned n)
{
	struct iovec *iov = p->iov;
	uint32_t skip = p->rest_bytes;

	for (unsigned i = 0; i < n; i++) {
		uint32_t first = skip < p->prefix ? skip : p->prefix;

		if (first < p->prefix)
			*iov++ = (struct iovec){ pair[i].prefix + first,
						 p->prefix - first };
		skip -= first;
		*iov++ = (struct iovec){ pair[i].payload + skip,
					 p->size - p->prefix - skip };
		skip = 0;
	}
	return (int)(iov - p->iov);
}

static void
rest_tell(struct plain *p, struct receive_batch *b)
{
	uint32_t prefix = p->rest_bytes < p->prefix ? p->rest_bytes : p->prefix;

	if (!p->rest_bytes)
		return;
	packet_tell_row(b, p->rest, prefix, p->rest_bytes,
			(struct packet_mark){ 0 });
	p->rest_bytes = 0;
}

/* Copies the kept beginning of a packet into its pair. */
static void
rest_put(const struct plain *p, const struct receive_pair *pair)
{
	uint32_t prefix = p->rest_bytes < p->prefix ? p->rest_bytes : p->prefix;

	memcpy(pair->prefix, p->rest, prefix);
	memcpy(pair->payload, p->rest + prefix, p->rest_bytes - prefix);
}

static void
rest_keep(struct plain *p, const struct receive_pair *pair, uint32_t bytes)
{
	uint32_t prefix = bytes < p->prefix ? bytes : p->prefix;

	memcpy(p->rest, pair->prefix, prefix);
	memcpy(p->rest + prefix, pair->payload, bytes - prefix);
	p->rest_bytes = bytes;
}

static void
packets_land(struct plain *p, struct receive_batch *b, uint32_t bytes)
{
	unsigned whole = bytes / p->size;

	for (unsigned i = 0; i < whole; i++)
		packet_tell(b, &b->pair[i], p->size, (struct packet_mark){ 0 });
	p->rest_bytes = 0;
	if (bytes % p->size)
		rest_keep(p, &b->pair[whole], bytes % p->size);
}

static void
peer_end(struct plain *p, int err, struct receive_batch *b)
{
	bool broke = err != -ENODATA, half = p->rest_bytes > 0;
	char why[160], tail[64] = "";

	if (half)
		snprintf(tail, sizeof tail, ", with %u of a packet's %u bytes",
			 p->rest_bytes, p->size);
	snprintf(why, sizeof why, "has ended%s%s%s", broke ? ": " : "",
		 broke ? strerror(-err) : "", tail);
	peer_leave(p->peer, broke || half ? LEVEL_WARN : LEVEL_INFO, why);
	rest_tell(p, b);
	b->again = true; /* another sender may be waiting */
}

static void
peer_take(struct plain *p, struct receive_batch *b)
{
	unsigned n = b->room < b->pairs ? b->room : b->pairs;
	uint64_t most = (uint64_t)n * p->size - p->rest_bytes;
	int got;

	if (!n) {
		p->peer->held = true;
		return;
	}
	got = peer_read(p->peer, p->iov, pairs_aim(p, b->pair, n));
	if (got > 0) {
		rest_put(p, &b->pair[0]);
		packets_land(p, b, p->rest_bytes + (uint32_t)got);
		b->empty = (uint64_t)got < most;
	} else if (got == 0) {
		door_look(p);
	} else {
		peer_end(p, got, b);
	}
}

int
plain_receive(struct plain *p, struct receive_batch *b)
{
	if (p->peer->fd < 0)
		rest_tell(p, b); /* the rest of a connection that was dropped */
	if (p->peer->fd < 0)
		door_look(p);
	if (p->peer->fd >= 0 && !b->packets)
		peer_take(p, b);
	peer_wake(p->peer, p->peer->fd < 0 && p->rest_bytes);
	p->peer->counts.datagrams += b->packets;
	b->want = RECEIVE_BATCH;
	return 0;
}
