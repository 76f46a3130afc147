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
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "contract/format.h"
#include "contract/receive.h"
#include "receive/tcp/door.h"
#include "receive/tcp/framed.h"
#include "fetch.h"

enum { CONNECTIONS = 16 }; /* most of a transfer, because each has a worker */

static const struct option_key table[] = {
	{ .name = "listen",
	  .type = OPTION_TEXTS,
	  .offset = offsetof(struct peers_options, door.listen),
	  .help = "addresses to listen on: \"0.0.0.0:2632\", \"[::]:2632\"; "
		  "\"eth2@0.0.0.0:2632\" through one interface" },
	{ .name = "allow",
	  .type = OPTION_TEXTS,
	  .offset = offsetof(struct peers_options, door.allow),
	  .help = "networks whose connections are taken: \"10.0.0.0/8\"; "
		  "none: everyone's" },
	{ .name = "secret_file",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct peers_options, secret_file),
	  .help = "a file with a secret that senders have to know; none: "
		  "everyone's" },
	{ .name = "connections",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct peers_options, connections),
	  .fallback = "1",
	  .min = 1,
	  .max = CONNECTIONS,
	  .help = "connections that a sender may have at a time" },
	{ .name = "stall",
	  .type = OPTION_SPAN,
	  .offset = offsetof(struct peers_options, stall),
	  .fallback = "30s",
	  .help = "cut off who has been silent for so long; 0: never" },
	{ .name = NULL },
};

struct receive_state {
	struct peers peers; /* must be first: door.h */
	struct framed_receiver framed;
	struct ucx_library library;
	struct fetch *fetch; /* one for each peer */
};

static int
ucx_plan(const void *options, struct receive_plan *plan, char *why,
	 uint32_t why_bytes)
{
	const struct peers_options *o = options;

	plan->subs = plan->threads = 1;
	plan->sequence = true;
	return door_check(&o->door, why, why_bytes);
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

/* ---- receiving ---------------------------------------------------------- */

static int
frames_make(struct receive_state *s, const struct receive_args *args)
{
	const struct peers_options *o = args->options;
	int err = ucx_library_open(&s->library, args->why, args->why_bytes);

	if (err)
		return err;
	err = framed_make(&s->framed, &s->peers.door, s->peers.peer, s->peers.n,
			  args);
	s->framed.beside = &beside;
	s->framed.beside_arg = s;
	if (!err)
		s->fetch = calloc(s->peers.n, sizeof *s->fetch);
	if (!err && !s->fetch)
		err = -ENOMEM;
	for (unsigned i = 0; i < s->peers.n && !err; i++)
		fetch_make(&s->fetch[i],
			   &(struct fetch_args){ &s->library, &s->framed, i });
	if (!err && o->secret_file)
		return framed_secret(&s->framed, o->secret_file, args);
	if (!err)
		peers_warn_open(&s->peers, o);
	return err;
}

static void
frames_free(struct receive_state *s)
{
	for (unsigned i = 0; i < s->peers.n && s->fetch; i++)
		fetch_free(&s->fetch[i]);
	free(s->fetch);
	framed_free(&s->framed);
	ucx_library_close(&s->library);
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

static int
ucx_open(struct receive_state **state, const struct receive_args *args)
{
	static const struct peers_ops ops = {
		.make = frames_make,
		.free = frames_free,
		.receive = frames_receive,
		.drop = frames_drop,
		.tick = frames_tick,
	};
	struct receive_plan plan;
	int err = ucx_plan(args->options, &plan, args->why, args->why_bytes);

	return err ? err
		   : peers_open(state, sizeof(struct receive_state), &ops, true,
				args);
}

/* ---- copies ------------------------------------------------------------- */

/*
 * A worker that fetches the pieces of one connection of a copy.  libucx does not
 * let a worker be destroyed to which no sender ever connected (worker.h): it is
 * kept for the next connection to the same address.
 */
struct receive_beside {
	struct fetch fetch;
	struct ucx_library library;
	struct sockaddr_storage here; /* the connection's own address */
	struct receive_beside *next;  /* links `kept` */
};

/* Protects `kept`, and lets one thread at a time start libucx. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct receive_beside *kept;

static struct receive_beside *
kept_take(const struct sockaddr_storage *here)
{
	struct receive_beside **at = &kept, *b;

	while ((b = *at) && memcmp(&b->here, here, sizeof *here))
		at = &b->next;
	if (b)
		*at = b->next;
	return b;
}

static void
copy_close(struct receive_beside *b)
{
	pthread_mutex_lock(&lock);
	fetch_leave(&b->fetch);
	if (b->fetch.worker.worker) {
		b->next = kept;
		kept = b;
	} else {
		fetch_free(&b->fetch);
		ucx_library_close(&b->library);
		free(b);
	}
	pthread_mutex_unlock(&lock);
}

static int
copy_make(struct receive_beside **out, const struct receive_beside_args *args)
{
	struct receive_beside *b = calloc(1, sizeof *b);
	int err;

	if (!b) {
		snprintf(args->why, args->why_bytes, "out of memory");
		return -ENOMEM;
	}
	err = ucx_library_open(&b->library, args->why, args->why_bytes);
	if (err) {
		ucx_library_close(&b->library);
		free(b);
		return err;
	}
	fetch_make_copy(&b->fetch, &b->library, args->crc32c);
	*out = b;
	return 0;
}

static int
copy_open(struct receive_beside **out, struct receive_beside_args *args)
{
	struct sockaddr_storage here = { 0 };
	socklen_t size = sizeof here;
	struct receive_beside *b;
	const char *why = NULL;
	int err = 0;

	if (getsockname(args->fd, (void *)&here, &size) < 0)
		return -errno;
	pthread_mutex_lock(&lock);
	b = kept_take(&here);
	if (!b)
		err = copy_make(&b, args);
	if (!err) {
		b->here = here;
		why = fetch_listen(&b->fetch, args->fd, args->where,
				   &args->where_bytes);
	}
	pthread_mutex_unlock(&lock);
	if (why) {
		snprintf(args->why, args->why_bytes, "%s", why);
		copy_close(b);
		err = -EIO;
	}
	*out = err ? NULL : b;
	return err;
}

static int
copy_fd(const struct receive_beside *b)
{
	return b->fetch.worker.fd;
}

static bool
copy_rest(struct receive_beside *b)
{
	ucx_worker_go(&b->fetch.worker);
	return ucx_worker_rest(&b->fetch.worker);
}

static int
copy_fetch(struct receive_beside *b, const uint8_t *header, void *to)
{
	return fetch_piece(&b->fetch, header, to);
}

static const struct receive_beside_ops copies = {
	.open = copy_open,
	.fd = copy_fd,
	.rest = copy_rest,
	.fetch = copy_fetch,
	.close = copy_close,
};

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct receive_ops),
		  .name = "ucx",
		  .help = "frames by libucx: RDMA, shared memory, or TCP",
		  .options = table,
		  .options_bytes = sizeof(struct peers_options) },
	.open = ucx_open,
	.sources = peers_sources,
	.fd = peers_fd,
	.receive = peers_receive,
	.counts = peers_counts,
	.close = peers_close,
	.plan = ucx_plan,
	.beside = &copies,
};
