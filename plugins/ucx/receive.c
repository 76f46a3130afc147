/* SPDX-License-Identifier: MIT */
/*
 * ucx: wire frames of one sender (framed.h), whose payloads come by libucx
 * (fetch.h): by RDMA, by shared memory on one host, or by TCP.  A source has
 * room for one connection: a plain TCP connection with a libucx worker beside
 * it; see send.c.
 *
 * libucx trusts every machine that reaches its ports: one of its messages may
 * name any memory of this process.  The secret keeps strangers from sending
 * packets, but not from libucx's ports while a worker is open.  Only a network
 * in which every machine is trusted is good enough, and the manual says so.
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
#include "receive/tcp/door.h"
#include "receive/tcp/framed.h"
#include "fetch.h"

#define TICK (NS_SECOND / 20)

enum { CONNECTIONS = 16 }; /* most of a transfer, because each has a worker */

struct options {
	struct door_options door;
	const char *secret_file;
	uint32_t connections;
	int64_t stall;
};

static const struct option_key table[] = {
	{ .name = "listen",
	  .type = OPTION_TEXTS,
	  .offset = offsetof(struct options, door.listen),
	  .help = "addresses to listen on: \"0.0.0.0:2632\", \"[::]:2632\"; "
		  "\"eth2@0.0.0.0:2632\" through one interface" },
	{ .name = "allow",
	  .type = OPTION_TEXTS,
	  .offset = offsetof(struct options, door.allow),
	  .help = "networks whose connections are taken: \"10.0.0.0/8\"; "
		  "none: everyone's" },
	{ .name = "secret_file",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct options, secret_file),
	  .help = "a file with a secret that senders have to know; none: "
		  "everyone's" },
	{ .name = "connections",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct options, connections),
	  .fallback = "1",
	  .min = 1,
	  .max = CONNECTIONS,
	  .help = "connections that a sender may have at a time" },
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
	struct peer *peer;
	unsigned peers;
	struct framed framed;
	struct ucx_library library;
	struct fetch *fetch; /* one for each peer */
	int64_t ticked;	     /* ns (host.now) of the last tick; 0: none yet */
};

static int
ucx_plan(const void *options, struct receive_plan *plan, char *why,
	 uint32_t why_bytes)
{
	const struct options *o = options;

	plan->subs = plan->threads = 1;
	plan->sequence = true;
	return door_check(&o->door, why, why_bytes);
}

/* ---- opening --------------------------------------------------------- */

static int
packets_check(const struct receive_args *args)
{
	const struct options *o = args->options;
	struct receive_plan plan;
	int err = ucx_plan(o, &plan, args->why, args->why_bytes);

	if (err)
		return err;
	if (args->shape && args->shape->store != HEAP_NONE) {
		snprintf(args->why, args->why_bytes,
			 "heaps come in datagrams, which frames do not "
			 "keep apart; receive = \"udp\" takes them");
		return -EINVAL;
	}
	if (args->prefix) {
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

/* ---- payloads by UCX --------------------------------------------------- */

static const char *
beside_join(void *arg, unsigned source, uint8_t *to, uint32_t *bytes)
{
	struct receive_state *s = arg;

	return fetch_join(&s->fetch[source], to, bytes);
}

static void
beside_leave(void *arg, unsigned source)
{
	struct receive_state *s = arg;

	fetch_leave(&s->fetch[source]);
}

static const char *
beside_look(void *arg, unsigned source, struct receive_batch *b)
{
	struct receive_state *s = arg;

	return fetch_look(&s->fetch[source], b);
}

static bool
beside_rest(void *arg, unsigned source, bool *again)
{
	struct receive_state *s = arg;

	return fetch_rest(&s->fetch[source], again);
}

static const struct framed_beside beside = {
	.join = beside_join,
	.leave = beside_leave,
	.look = beside_look,
	.rest = beside_rest,
};

static int
frames_make(struct receive_state *s, const struct receive_args *args)
{
	const struct options *o = args->options;
	int err = framed_make(&s->framed, &s->door, s->peer, s->peers, args);

	s->framed.beside = &beside;
	s->framed.beside_arg = s;
	if (!err)
		s->fetch = calloc(s->peers, sizeof *s->fetch);
	if (!err && !s->fetch)
		err = -ENOMEM;
	for (unsigned i = 0; i < s->peers && !err; i++)
		fetch_make(&s->fetch[i],
			   &(struct fetch_args){ &s->library, &s->framed, i });
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
	return err ? err : frames_make(s, args);
}

static void
ucx_close(struct receive_state *s)
{
	for (unsigned i = 0; i < s->peers && s->fetch; i++)
		fetch_free(&s->fetch[i]);
	free(s->fetch);
	framed_free(&s->framed);
	for (unsigned i = 0; i < s->peers; i++)
		peer_free(&s->peer[i]);
	free(s->peer);
	close(s->wake);
	ucx_library_close(&s->library);
	door_close(&s->door);
	free(s);
}

static int
ucx_open(struct receive_state **state, const struct receive_args *args)
{
	const struct options *o = args->options;
	struct receive_state *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	s->host = *args->host;
	s->stall = o->stall;
	s->wake = -1;
	err = packets_check(args);
	if (!err)
		err = door_open(&s->door, &o->door, args);
	if (!err) {
		err = ucx_library_open(&s->library, args->why, args->why_bytes);
		if (err)
			door_close(&s->door);
	}
	if (err) {
		ucx_library_close(&s->library);
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
		ucx_close(s);
		return err;
	}
	*state = s;
	return 0;
}

/* ---- receiving ------------------------------------------------------- */

static unsigned
ucx_sources(const struct receive_state *s)
{
	return s->peers;
}

static int
ucx_fd(const struct receive_state *s, unsigned source)
{
	return s->peer[source].set;
}

static int
ucx_receive(struct receive_state *s, unsigned source, struct receive_batch *b)
{
	b->packets = 0;
	return framed_receive(&s->framed, source, b);
}

static void
drop(struct receive_state *s, unsigned source)
{
	char why[64];

	snprintf(
	    why, sizeof why, "has been silent for %lld s, and is cut off",
	    (long long)((s->peer[source].quiet + NS_SECOND / 2) / NS_SECOND));
	framed_drop(&s->framed, source, LEVEL_WARN, why);
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
	framed_tick(&s->framed, ns);
}

static void
ucx_counts(struct receive_state *s, unsigned source,
	   struct receive_counts *counts)
{
	tick(s);
	*counts = s->peer[source].counts;
}

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct receive_ops),
		  .name = "ucx",
		  .help = "frames by libucx: RDMA, shared memory, or TCP",
		  .options = table,
		  .options_bytes = sizeof(struct options) },
	.open = ucx_open,
	.sources = ucx_sources,
	.fd = ucx_fd,
	.receive = ucx_receive,
	.counts = ucx_counts,
	.close = ucx_close,
	.plan = ucx_plan,
};
