/* SPDX-License-Identifier: MIT */
/*
 * tcp: plain bytes of one sender (plain.h), or wire frames of a sender with
 * several connections (framed.h).  A source has room for one connection.  Its
 * descriptor is an epoll set (peer.h); the set of source 0 also holds the
 * listening sockets.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "contract/format.h"
#include "contract/receive.h"
#include "door.h"
#include "framed.h"
#include "plain.h"

#define TICK (NS_SECOND / 20)

struct options {
	struct door_options door;
	const char *frames;
	const char *secret_file;
	uint32_t connections;
	int64_t stall;
};

static const struct option_key table[] = {
	{ .name = "listen",
	  .type = OPTION_TEXTS,
	  .offset = offsetof(struct options, door.listen),
	  .help = "addresses to listen on: \"0.0.0.0:2630\", \"[::]:2630\"; "
		  "\"eth2@0.0.0.0:2630\" through one interface" },
	{ .name = "allow",
	  .type = OPTION_TEXTS,
	  .offset = offsetof(struct options, door.allow),
	  .help = "networks whose connections are taken: \"10.0.0.0/8\"; "
		  "none: everyone's" },
	{ .name = "socket_buffer",
	  .type = OPTION_BYTES,
	  .offset = offsetof(struct options, door.socket_buffer),
	  .max = 1u << 30,
	  .help = "kernel memory for bytes that wait, per connection; none: "
		  "as the kernel thinks best" },
	{ .name = "frames",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct options, frames),
	  .choices = "plain|spt1",
	  .fallback = "plain",
	  .help = "what the bytes are: packets and nothing else, or spate's "
		  "own frames" },
	{ .name = "secret_file",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct options, secret_file),
	  .help = "a file with a secret that senders have to know; only with "
		  "spt1; none: everyone's" },
	{ .name = "connections",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct options, connections),
	  .fallback = "1",
	  .min = 1,
	  .max = WIRE_CONNECTIONS,
	  .help = "connections that a sender may have at a time; more than "
		  "one only with spt1" },
	{ .name = "stall",
	  .type = OPTION_SPAN,
	  .offset = offsetof(struct options, stall),
	  .fallback = "30s",
	  .help = "cut off who has been silent for so long; 0: never" },
	{ .name = NULL },
};

struct receive_state {
	struct host host;
	int64_t stall;
	struct door door;
	int wake; /* an eventfd that is always readable */
	bool is_framed;
	struct peer *peer;
	unsigned peers;
	struct plain plain;
	struct framed framed;
	int64_t ticked; /* ns (host.now) of the last tick; 0: none yet */
};

static bool
wants_frames(const struct options *o)
{
	return strcmp(o->frames, "spt1") == 0;
}

static int
tcp_plan(const void *options, struct receive_plan *plan, char *why,
	 uint32_t why_bytes)
{
	const struct options *o = options;

	plan->subs = plan->threads = 1;
	plan->sequence = wants_frames(o);
	if (o->connections > 1 && !wants_frames(o)) {
		snprintf(why, why_bytes,
			 "connections = %u: plain bytes come in one connection "
			 "at a time; frames = \"spt1\" puts several in order",
			 o->connections);
		return -EINVAL;
	}
	if (o->secret_file && !wants_frames(o)) {
		snprintf(why, why_bytes,
			 "secret_file: who sends plain bytes cannot prove "
			 "anything; frames = \"spt1\" can, and `allow` says "
			 "whose connections are taken");
		return -EINVAL;
	}
	return door_check(&o->door, why, why_bytes);
}

/* ---- opening --------------------------------------------------------- */

static int
packets_check(const struct receive_args *args)
{
	const struct options *o = args->options;
	struct receive_plan plan;
	int err = tcp_plan(o, &plan, args->why, args->why_bytes);

	if (err)
		return err;
	if (args->shape && args->shape->store != HEAP_NONE) {
		snprintf(args->why, args->why_bytes,
			 "heaps come in datagrams, which TCP does not keep "
			 "apart; receive = \"udp\" takes them");
		return -EINVAL;
	}
	if (args->prefix && plan.sequence) {
		snprintf(args->why, args->why_bytes,
			 "spate's frames carry payloads alone: prefix = 0");
		return -EINVAL;
	}
	return 0;
}

static int
door_watch(struct receive_state *s)
{
	for (unsigned i = 0; i < s->door.n; i++) {
		struct epoll_event e = { .events = EPOLLIN,
					 .data.fd = s->door.fd[i] };

		if (epoll_ctl(s->peer[0].set, EPOLL_CTL_ADD, s->door.fd[i],
			      &e) < 0)
			return -errno;
	}
	return 0;
}

static bool
is_loopback(const union endpoint *e)
{
	return e->any.sa_family == AF_INET
		   ? ntohl(e->v4.sin_addr.s_addr) >> 24 == 127
		   : IN6_IS_ADDR_LOOPBACK(&e->v6.sin6_addr);
}

/* Warns if any machine can connect and no secret is asked for. */
static void
warn_open(const struct receive_state *s, const struct options *o)
{
	for (unsigned i = 0; i < s->door.n && !o->door.allow.n; i++) {
		if (is_loopback(&s->door.address[i].first))
			continue;
		s->host.log(s->host.ctx, LEVEL_WARN,
			    "whoever reaches %s can send: secret_file or "
			    "`allow` would ask who it is",
			    s->door.address[i].text);
		return;
	}
}

static int
frames_make(struct receive_state *s, const struct receive_args *args)
{
	const struct options *o = args->options;
	int err = framed_make(&s->framed, &s->door, s->peer, s->peers, args);

	if (!err && o->secret_file)
		return framed_secret(&s->framed, o->secret_file, args);
	if (!err)
		warn_open(s, o);
	return err;
}

static int
peers_make(struct receive_state *s, unsigned n, const struct receive_args *args)
{
	int err = 0;

	s->peer = calloc(n, sizeof *s->peer);
	if (!s->peer)
		return -ENOMEM;
	for (unsigned i = 0; i < n && !err; i++) {
		struct peer *p = &s->peer[i];

		err = peer_make(p, &s->host, s->wake);
		if (err)
			break;
		s->peers++;
		p->counts.address = s->door.address[0].text;
		if (s->door.address[0].device[0])
			p->counts.device = s->door.address[0].device;
	}
	if (!err)
		err = door_watch(s);
	if (!err && s->is_framed)
		return frames_make(s, args);
	return err ? err : plain_make(&s->plain, &s->door, &s->peer[0], args);
}

static void
tcp_close(struct receive_state *s)
{
	if (s->is_framed)
		framed_free(&s->framed);
	else
		plain_free(&s->plain);
	for (unsigned i = 0; i < s->peers; i++)
		peer_free(&s->peer[i]);
	free(s->peer);
	close(s->wake);
	door_close(&s->door);
	free(s);
}

static int
tcp_open(struct receive_state **state, const struct receive_args *args)
{
	const struct options *o = args->options;
	struct receive_state *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	s->host = *args->host;
	s->stall = o->stall;
	s->is_framed = wants_frames(o);
	s->plain.next = -1;
	s->wake = -1;
	err = packets_check(args);
	if (!err)
		err = door_open(&s->door, &o->door, args);
	if (err) {
		free(s);
		return err;
	}
	s->wake = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	args->why[0] = '\0';
	err = s->wake < 0 ? -errno : peers_make(s, o->connections, args);
	if (err) {
		if (!args->why[0])
			snprintf(args->why, args->why_bytes,
				 "%u connections cannot be made ready: %s",
				 o->connections, strerror(-err));
		tcp_close(s);
		return err;
	}
	*state = s;
	return 0;
}

/* ---- receiving ------------------------------------------------------- */

static unsigned
tcp_sources(const struct receive_state *s)
{
	return s->peers;
}

static int
tcp_fd(const struct receive_state *s, unsigned source)
{
	return s->peer[source].set;
}

static int
tcp_receive(struct receive_state *s, unsigned source, struct receive_batch *b)
{
	b->packets = 0;
	if (s->is_framed)
		return framed_receive(&s->framed, source, b);
	return plain_receive(&s->plain, b);
}

static void
drop(struct receive_state *s, unsigned source)
{
	char why[64];

	snprintf(
	    why, sizeof why, "has been silent for %lld s, and is cut off",
	    (long long)((s->peer[source].quiet + NS_SECOND / 2) / NS_SECOND));
	if (s->is_framed)
		framed_drop(&s->framed, source, LEVEL_WARN, why);
	else
		plain_drop(&s->plain, why);
}

/*
 * Passes the time on, at most every TICK.  A step counts for one second at
 * most, so that setting the clock cuts no sender off.
 */
static void
tick(struct receive_state *s)
{
	int64_t now = s->host.now(s->host.ctx), ns = now - s->ticked;

	if (ns >= 0 && ns < TICK)
		return;
	s->ticked = now;
	ns = ns < 0 ? 0 : ns > NS_SECOND ? NS_SECOND : ns;
	door_tick(&s->door);
	for (unsigned i = 0; i < s->peers; i++) {
		if (peer_tick(&s->peer[i], ns, s->stall))
			drop(s, i);
	}
	if (s->is_framed)
		framed_tick(&s->framed, ns);
	else
		plain_tick(&s->plain);
}

static void
tcp_counts(struct receive_state *s, unsigned source,
	   struct receive_counts *counts)
{
	tick(s);
	*counts = s->peer[source].counts;
}

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct receive_ops),
		  .name = "tcp",
		  .help = "bytes or frames from TCP connections",
		  .options = table,
		  .options_bytes = sizeof(struct options) },
	.open = tcp_open,
	.sources = tcp_sources,
	.fd = tcp_fd,
	.receive = tcp_receive,
	.counts = tcp_counts,
	.close = tcp_close,
	.plan = tcp_plan,
};
