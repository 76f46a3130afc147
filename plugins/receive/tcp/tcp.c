/* SPDX-License-Identifier: MIT */
/*
 * tcp: plain bytes of one sender, or wire frames of a sender with several
 * connections (framed.h).  A source has room for one connection.  Its
 * descriptor is an epoll set (door.h); the set of source 0 also holds the
 * listening sockets.
 *
 * Plain bytes come from one sender at a time.  The first one that connects is
 * it, but whoever connects and sends nothing is soon somebody else: while it has
 * sent nothing, others that connect wait beside it, and the first that sends
 * takes its place.
 *
 * Plain bytes are cut into packets of prefix + payload bytes in the order of
 * arrival.  One read fills pair after pair.  The last packet of a read is
 * mostly not whole.  It cannot stay in its pair, which the plugin may use for
 * one call only, so rest_keep() copies it away and rest_put() puts it before
 * the bytes that come next.  That copies half a packet on average for each read
 * of up to 128 packets.
 *
 *   rest | read ............................|
 *   pair 0     | pair 1     | pair 2     | pair 3 -> rest
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "contract/receive.h"
#include "door.h"
#include "framed.h"
#include "receive/packet.h"

struct tcp_receive_options {
	struct peers_options peers; /* must be first: door.h */
	const char *frames;
};

static const struct option_key table[] = {
	{ .name = "listen",
	  .type = OPTION_TEXTS,
	  .offset = offsetof(struct tcp_receive_options, peers.door.listen),
	  .help = "addresses to listen on: \"0.0.0.0:2630\", \"[::]:2630\"; "
		  "\"eth2@0.0.0.0:2630\" through one interface" },
	{ .name = "allow",
	  .type = OPTION_TEXTS,
	  .offset = offsetof(struct tcp_receive_options, peers.door.allow),
	  .help = "networks whose connections are taken: \"10.0.0.0/8\"; "
		  "none: everyone's" },
	{ .name = "socket_buffer",
	  .type = OPTION_BYTES,
	  .offset =
	      offsetof(struct tcp_receive_options, peers.door.socket_buffer),
	  .max = 1u << 30,
	  .help = "kernel memory for bytes that wait, per connection; none: "
		  "as the kernel thinks best" },
	{ .name = "frames",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct tcp_receive_options, frames),
	  .choices = "plain|spt1",
	  .fallback = "plain",
	  .help = "what the bytes are: packets and nothing else, or spate's "
		  "own frames" },
	{ .name = "secret_file",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct tcp_receive_options, peers.secret_file),
	  .help = "a file with a secret that senders have to know; only with "
		  "spt1; none: everyone's" },
	{ .name = "connections",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct tcp_receive_options, peers.connections),
	  .fallback = "1",
	  .min = 1,
	  .max = WIRE_CONNECTIONS,
	  .help = "connections that a sender may have at a time; more than "
		  "one only with spt1" },
	{ .name = "stall",
	  .type = OPTION_SPAN,
	  .offset = offsetof(struct tcp_receive_options, peers.stall),
	  .fallback = "30s",
	  .help = "cut off who has been silent for so long; 0: never" },
	{ .name = NULL },
};

static bool
wants_frames(const struct tcp_receive_options *o)
{
	return strcmp(o->frames, "spt1") == 0;
}

static int
tcp_plan(const void *options, struct receive_plan *plan, char *why,
	 uint32_t why_bytes)
{
	const struct tcp_receive_options *o = options;

	plan->subs = plan->threads = 1;
	plan->sequence = wants_frames(o);
	if (o->peers.connections > 1 && !wants_frames(o)) {
		snprintf(why, why_bytes,
			 "connections = %u: plain bytes come in one connection "
			 "at a time; frames = \"spt1\" puts several in order",
			 o->peers.connections);
		return -EINVAL;
	}
	if (o->peers.secret_file && !wants_frames(o)) {
		snprintf(why, why_bytes,
			 "secret_file: who sends plain bytes cannot prove "
			 "anything; frames = \"spt1\" can, and `allow` says "
			 "whose connections are taken");
		return -EINVAL;
	}
	return door_check(&o->peers.door, why, why_bytes);
}

/* ---- plain bytes -------------------------------------------------------- */

/*
 * Receives plain bytes from one sender at a time, read straight into their
 * pairs.  No more is read than the core has room for, so that a full pool makes
 * the sender wait.
 */
enum { NEWCOMERS = 8 };

struct newcomer {
	int fd;
	union endpoint from;
};

struct plain_receiver {
	struct door *door;
	struct peer *peer;
	uint32_t prefix, size; /* size: bytes of a packet, prefix included */
	/* first bytes of a packet that has come in part */
	uint8_t *rest;
	uint32_t rest_bytes;
	uint64_t seated; /* bytes of the peer's source when it was seated */
	/* those that came while the peer was connected, in that order */
	struct newcomer next[NEWCOMERS];
	unsigned nexts;
	struct iovec iov[2 * RECEIVE_BATCH];
};

static int
plain_make(struct plain_receiver *p, struct door *door, struct peer *peer,
	   const struct receive_args *args)
{
	*p = (struct plain_receiver){ .door = door,
				      .peer = peer,
				      .prefix = args->prefix,
				      .size = args->prefix + args->payload };
	p->rest = malloc(p->size);
	return p->rest ? 0 : -ENOMEM;
}

static void
plain_free(struct plain_receiver *p)
{
	for (unsigned i = 0; i < p->nexts; i++)
		close(p->next[i].fd);
	free(p->rest);
}

/* ---- the connection ---------------------------------------------------- */

/* A look at a connection finds bytes, nothing yet, or its end. */
enum news { NEWS_BYTES, NEWS_NONE, NEWS_END };

static enum news
news_of(int fd)
{
	uint8_t byte;
	ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (got > 0)
		return NEWS_BYTES;
	return got < 0 && errno == EAGAIN ? NEWS_NONE : NEWS_END;
}

/* Takes newcomer `i` out of those that wait. */
static struct newcomer
next_take(struct plain_receiver *p, unsigned i)
{
	struct newcomer one = p->next[i];

	p->nexts--;
	memmove(p->next + i, p->next + i + 1, (p->nexts - i) * sizeof *p->next);
	return one;
}

static void
next_refuse(struct plain_receiver *p, unsigned i, const char *why)
{
	struct newcomer one = next_take(p, i);

	door_refuse(p->door, one.fd, &one.from, why);
}

static void
next_seat(struct plain_receiver *p, unsigned i)
{
	struct newcomer one = next_take(p, i);

	peer_seat(p->peer, one.fd, &one.from);
	p->seated = p->peer->bytes;
	p->peer->host->log(p->peer->host->ctx, LEVEL_INFO, "%s is connected",
			   p->peer->name);
}

/* Accepts all that connect, unless all that wait have sent something.  If too
 * many wait, the first that has sent nothing has to go. */
static void
next_accept(struct plain_receiver *p)
{
	struct newcomer one;
	unsigned i = 0;

	for (;;) {
		while (p->nexts == NEWCOMERS && i < p->nexts &&
		       news_of(p->next[i].fd) == NEWS_BYTES)
			i++;
		if (i == NEWCOMERS)
			return;
		one.fd = door_accept(p->door, &one.from);
		if (one.fd < 0)
			return;
		if (p->nexts == NEWCOMERS)
			next_refuse(p, i,
				    "it has sent nothing, and others have "
				    "connected");
		peer_expect(p->peer, one.fd);
		p->next[p->nexts++] = one;
	}
}

/* The first newcomer that has sent something; else, unless `sent`, the first;
 * -1: none.  Closes those that have gone without a byte. */
static int
next_find(struct plain_receiver *p, bool sent)
{
	unsigned i = 0;

	while (i < p->nexts) {
		enum news news = news_of(p->next[i].fd);

		if (news == NEWS_BYTES)
			return (int)i;
		if (news == NEWS_END)
			close(next_take(p, i).fd);
		else
			i++;
	}
	return p->nexts && !sent ? 0 : -1;
}

/*
 * Looks for another sender.  The end of the present connection may still be
 * unread; only when nothing is left to read are there really two senders, and
 * the second is refused, or takes the place of one that has sent nothing.
 */
static void
door_look(struct plain_receiver *p)
{
	struct peer *peer = p->peer;
	int i;

	next_accept(p);
	if (peer->fd >= 0 && (!p->nexts || news_of(peer->fd) != NEWS_NONE))
		return;
	if (peer->fd >= 0 && peer->bytes != p->seated) {
		while (p->nexts)
			next_refuse(p, 0,
				    "another sender is connected, and bytes "
				    "come from one at a time");
		return;
	}
	i = next_find(p, peer->fd >= 0);
	if (i >= 0 && peer->fd >= 0)
		peer_leave(peer, LEVEL_WARN,
			   "gives way to another sender: it has sent nothing");
	if (i >= 0)
		next_seat(p, (unsigned)i);
}

static void
plain_tick(struct plain_receiver *p)
{
	next_accept(p);
	if (p->nexts)
		peer_wake(p->peer, true);
}

static void
plain_drop(struct plain_receiver *p, const char *why)
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
pairs_aim(struct plain_receiver *p, const struct receive_pair *pair, unsigned n)
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
rest_tell(struct plain_receiver *p, struct receive_batch *b)
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
rest_put(const struct plain_receiver *p, const struct receive_pair *pair)
{
	uint32_t prefix = p->rest_bytes < p->prefix ? p->rest_bytes : p->prefix;

	memcpy(pair->prefix, p->rest, prefix);
	memcpy(pair->payload, p->rest + prefix, p->rest_bytes - prefix);
}

static void
rest_keep(struct plain_receiver *p, const struct receive_pair *pair,
	  uint32_t bytes)
{
	uint32_t prefix = bytes < p->prefix ? bytes : p->prefix;

	memcpy(p->rest, pair->prefix, prefix);
	memcpy(p->rest + prefix, pair->payload, bytes - prefix);
	p->rest_bytes = bytes;
}

static void
packets_land(struct plain_receiver *p, struct receive_batch *b, uint32_t bytes)
{
	unsigned whole = bytes / p->size;

	for (unsigned i = 0; i < whole; i++)
		packet_tell(b, &b->pair[i], p->size, (struct packet_mark){ 0 });
	p->rest_bytes = 0;
	if (bytes % p->size)
		rest_keep(p, &b->pair[whole], bytes % p->size);
}

static void
peer_end(struct plain_receiver *p, int err, struct receive_batch *b)
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
peer_take(struct plain_receiver *p, struct receive_batch *b)
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

static int
plain_receive(struct plain_receiver *p, struct receive_batch *b)
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

/* ---- the choice --------------------------------------------------------- */

struct receive_state {
	struct peers peers; /* must be first: door.h */
	union {
		struct plain_receiver plain;
		struct framed_receiver framed;
	};
};

static int
bytes_make(struct receive_state *s, const struct receive_args *args)
{
	return plain_make(&s->plain, &s->peers.door, &s->peers.peer[0], args);
}

static void
bytes_free(struct receive_state *s)
{
	plain_free(&s->plain);
}

static int
bytes_receive(struct receive_state *s, unsigned source, struct receive_batch *b)
{
	(void)source;
	return plain_receive(&s->plain, b);
}

static void
bytes_drop(struct receive_state *s, unsigned source, const char *why)
{
	(void)source;
	plain_drop(&s->plain, why);
}

static void
bytes_tick(struct receive_state *s, int64_t ns)
{
	(void)ns;
	plain_tick(&s->plain);
}

static int
frames_make(struct receive_state *s, const struct receive_args *args)
{
	const struct tcp_receive_options *o = args->options;
	int err = framed_make(&s->framed, &s->peers.door, s->peers.peer,
			      s->peers.n, args);

	if (!err && o->peers.secret_file)
		return framed_secret(&s->framed, o->peers.secret_file, args);
	if (!err)
		peers_warn_open(&s->peers, &o->peers);
	return err;
}

static void
frames_free(struct receive_state *s)
{
	framed_free(&s->framed);
}

static int
frames_receive(struct receive_state *s, unsigned source,
	       struct receive_batch *b)
{
	return framed_receive(&s->framed, source, b);
}

static void
frames_drop(struct receive_state *s, unsigned source, const char *why)
{
	framed_drop(&s->framed, source, LEVEL_WARN, why);
}

static void
frames_tick(struct receive_state *s, int64_t ns)
{
	framed_tick(&s->framed, ns);
}

static const struct peers_ops by_bytes = {
	.make = bytes_make,
	.free = bytes_free,
	.receive = bytes_receive,
	.drop = bytes_drop,
	.tick = bytes_tick,
};

static const struct peers_ops by_frames = {
	.make = frames_make,
	.free = frames_free,
	.receive = frames_receive,
	.drop = frames_drop,
	.tick = frames_tick,
};

static int
tcp_open(struct receive_state **state, const struct receive_args *args)
{
	bool frames = wants_frames(args->options);
	struct receive_plan plan;
	int err = tcp_plan(args->options, &plan, args->why, args->why_bytes);

	return err ? err
		   : peers_open(state, sizeof(struct receive_state),
				frames ? &by_frames : &by_bytes, frames, args);
}

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct receive_ops),
		  .name = "tcp",
		  .help = "bytes or frames from TCP connections",
		  .options = table,
		  .options_bytes = sizeof(struct tcp_receive_options) },
	.open = tcp_open,
	.sources = peers_sources,
	.fd = peers_fd,
	.receive = peers_receive,
	.counts = peers_counts,
	.close = peers_close,
	.plan = tcp_plan,
};
