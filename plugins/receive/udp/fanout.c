/* SPDX-License-Identifier: MIT */
/*
 * fanout: one logical stream that comes in more than one way.
 *
 * Without `rings`, it comes through several interfaces, addresses or ports:
 * each entry of `listen` has a socket of its own, bound to its interface, with
 * its own counters.  All entries bring the same substreams, and the core puts
 * their packets back in one order.  The udp plugin does the same; it is here as
 * well so that both ways have one name.
 *
 * With `rings`, one interface is too fast for one thread: `rings` threads share
 * its packets, each from a packet ring of its own for each entry of `listen`
 * (ring.h), and the core lets them fill the same slots.
 *
 * The first instance of a stream makes a packet fanout group for each entry of
 * `listen`, and the other instances join it.  The event loop opens the
 * instances one after the other, so the numbers of the groups wait in a static
 * variable.  The first instance also opens a socket on the port of each entry.
 * Without it the kernel would answer the sender that nobody listens, switches
 * would not learn of multicast groups, and another program could take the port.
 * No packet is read from the socket.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contract/receive.h"
#include "ring.h"
#include "socket.h"
#include "sockets.h"

enum { RINGS_MOST = 64 };
enum { KEEPER_BUFFER = 4096, NICS_MOST = 16 };

struct fanout_options {
	struct sockets_options sockets; /* must be first: sockets.h */
	uint32_t rings;
	uint64_t ring;
};

/* The set of packet rings of one receiver thread. */
struct rings {
	struct allow allow;
	struct address *address; /* one for each entry of `listen` */
	/* one socket for each entry, to keep its port; -1: none */
	int *keeper;
	struct ring *ring; /* one for each entry */
	unsigned n;
};

/*
 * Group numbers of the stream that is being opened.  Only the event loop uses
 * them.
 */
static struct {
	const void *options; /* options of that stream, to recognise it by */
	uint16_t id[NICS_MOST];
} groups;

/* ---- rings: planning ------------------------------------------------- */

static int
entry_check(const struct address *all, unsigned i, char *why,
	    uint32_t why_bytes)
{
	const struct address *a = &all[i];

	if (!a->device[0])
		snprintf(why, why_bytes,
			 "listen: a ring gets what comes through one "
			 "interface, which '%s' does not name; write "
			 "eth2@0.0.0.0:46227",
			 a->text);
	else if (!endpoint_port(&a->first))
		snprintf(why, why_bytes,
			 "listen: a ring cannot choose a port by itself, as "
			 "'%s' asks; write eth2@0.0.0.0:46227",
			 a->text);
	else if (address_subs(a) > 1)
		snprintf(why, why_bytes,
			 "listen: a ring is of one port and not of %u, as "
			 "'%s' has; several ports are for sockets: leave "
			 "`rings` out",
			 address_subs(a), a->text);
	else
		return 0;
	return -EINVAL;
}

static int
entries_make(struct address **address, const struct fanout_options *o,
	     char *why, uint32_t why_bytes)
{
	if (o->sockets.listen.n <= NICS_MOST)
		return addresses_make(address, &o->sockets.listen, entry_check,
				      why, why_bytes);
	snprintf(why, why_bytes,
		 "listen: packet rings are of at most %d "
		 "interfaces, and not of %u",
		 NICS_MOST, o->sockets.listen.n);
	return -EINVAL;
}

static int
rings_plan(const struct fanout_options *o, struct receive_plan *plan, char *why,
	   uint32_t why_bytes)
{
	struct address *address = NULL;
	struct allow allow = { 0 };
	int err = entries_make(&address, o, why, why_bytes);

	if (!err)
		err = allow_parse(&allow, &o->sockets.allow, why, why_bytes);
	if (!err)
		*plan = (struct receive_plan){ .subs = 1,
					       .threads = o->rings,
					       .late = RING_LATE };
	allow_clear(&allow);
	free(address);
	return err;
}

/* ---- rings: opening -------------------------------------------------- */

static int
port_keep(struct rings *s, unsigned i, const struct receive_args *args)
{
	int fd = socket_listen(&s->address[i], 0, KEEPER_BUFFER, args);

	if (fd < 0)
		return fd;
	s->keeper[i] = fd;
	ring_deafen(fd); /* packets would only fill the small buffer */
	return 0;
}

static int
entry_open(struct rings *s, unsigned i, const struct fanout_options *o,
	   const struct receive_args *args)
{
	struct ring_args ring = { .address = &s->address[i],
				  .bytes = o->ring,
				  .first = args->share == 0,
				  .group = &groups.id[i],
				  .allow = &s->allow };
	int err = address_resolve(&s->address[i], args->why, args->why_bytes);

	if (err)
		return err;
	s->n++;
	s->keeper[i] = -1;
	err = ring_open(&s->ring[i], &ring, args);
	return err || args->share ? err : port_keep(s, i, args);
}

static int
entries_open(struct rings *s, const struct fanout_options *o,
	     const struct receive_args *args)
{
	unsigned n = o->sockets.listen.n;
	int err = 0;

	s->ring = calloc(n, sizeof *s->ring);
	s->keeper = calloc(n, sizeof *s->keeper);
	if (!s->ring || !s->keeper)
		return -ENOMEM;
	if (!args->share)
		groups.options = args->options;
	else if (groups.options != args->options)
		/*
		 * a bug: the instances of another stream were opened in between
		 */
		return -EINVAL;
	for (unsigned i = 0; i < n && !err; i++)
		err = entry_open(s, i, o, args);
	return err;
}

/* The instance, as the core knows it. */
static struct rings *
rings_of(const struct receive_state *state)
{
	return (struct rings *)state;
}

static void
rings_close(struct receive_state *state)
{
	struct rings *s = rings_of(state);

	for (unsigned i = 0; i < s->n; i++) {
		ring_close(&s->ring[i]);
		if (s->keeper[i] >= 0)
			close(s->keeper[i]);
	}
	free(s->keeper);
	free(s->ring);
	free(s->address);
	allow_clear(&s->allow);
	free(s);
}

static int
rings_open(struct receive_state **state, const struct receive_args *args)
{
	const struct fanout_options *o = args->options;
	struct rings *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	err = entries_make(&s->address, o, args->why, args->why_bytes);
	if (!err)
		err = allow_parse(&s->allow, &o->sockets.allow, args->why,
				  args->why_bytes);
	if (!err)
		err = entries_open(s, o, args);
	if (err)
		rings_close((struct receive_state *)s);
	else
		*state = (struct receive_state *)s;
	return err;
}

/* ---- rings: running -------------------------------------------------- */

static unsigned
rings_sources(const struct receive_state *state)
{
	return rings_of(state)->n;
}

static int
rings_fd(const struct receive_state *state, unsigned source)
{
	return rings_of(state)->ring[source].fd;
}

static unsigned
rings_sub(const struct receive_state *state, unsigned source)
{
	(void)state;
	(void)source;
	return 0;
}

static int
rings_receive(struct receive_state *state, unsigned source,
	      struct receive_batch *b)
{
	ring_receive(&rings_of(state)->ring[source], b);
	return 0;
}

static void
rings_counts(struct receive_state *state, unsigned source,
	     struct receive_counts *counts)
{
	struct rings *s = rings_of(state);
	struct ring *r = &s->ring[source];

	*counts =
	    (struct receive_counts){ .datagrams = r->datagrams,
				     .calls = r->calls,
				     .overruns = ring_overruns(r),
				     .address = s->address[source].text,
				     .device = s->address[source].device };
	_Static_assert((int)ENDPOINT_TEXT <= (int)RECEIVE_SENDER, "it fits");
	endpoint_show(&r->sender, counts->sender);
	r->ask = true;
}

/* ---- the choice ------------------------------------------------------ */

/*
 * The callbacks of an instance: those of sockets, or those of rings.  open()
 * chooses, and nothing else asks which they are.
 */
static const struct receive_ops by_sockets = {
	.open = sockets_open,
	.sources = sockets_sources,
	.fd = sockets_fd,
	.receive = sockets_receive,
	.counts = sockets_counts,
	.close = sockets_close,
	.sub = sockets_sub,
};

static const struct receive_ops by_rings = {
	.open = rings_open,
	.sources = rings_sources,
	.fd = rings_fd,
	.receive = rings_receive,
	.counts = rings_counts,
	.close = rings_close,
	.sub = rings_sub,
};

struct receive_state {
	const struct receive_ops *by;
	struct receive_state *of; /* the instance of sockets or rings */
};

static const struct option_key table[] = {
	SOCKETS_TABLE,
	{ .name = "rings",
	  .type = OPTION_COUNT,
	  .fallback = "0",
	  .offset = offsetof(struct fanout_options, rings),
	  .max = RINGS_MOST,
	  .help = "threads that share the packets of one interface, each "
		  "with a packet ring; 0: sockets, and one thread" },
	{ .name = "ring",
	  .type = OPTION_BYTES,
	  .fallback = "32M",
	  .offset = offsetof(struct fanout_options, ring),
	  .min = RING_LEAST,
	  .max = 1u << 30,
	  .help = "kernel memory for packets that wait, per ring" },
	{ .name = NULL },
};

static int
fanout_plan(const void *options, struct receive_plan *plan, char *why,
	    uint32_t why_bytes)
{
	const struct fanout_options *o = options;

	if (!o->rings)
		return sockets_plan(options, plan, why, why_bytes);
	if (!o->sockets.keepalive)
		return rings_plan(o, plan, why, why_bytes);
	snprintf(why, why_bytes,
		 "`keepalive` is sent by sockets: it does not go with `rings`");
	return -EINVAL;
}

static int
fanout_open(struct receive_state **state, const struct receive_args *args)
{
	const struct fanout_options *o = args->options;
	struct receive_state *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	s->by = o->rings ? &by_rings : &by_sockets;
	err = s->by->open(&s->of, args);
	if (err)
		free(s);
	else
		*state = s;
	return err;
}

static unsigned
fanout_sources(const struct receive_state *s)
{
	return s->by->sources(s->of);
}

static int
fanout_fd(const struct receive_state *s, unsigned source)
{
	return s->by->fd(s->of, source);
}

static unsigned
fanout_sub(const struct receive_state *s, unsigned source)
{
	return s->by->sub(s->of, source);
}

static int
fanout_receive(struct receive_state *s, unsigned source,
	       struct receive_batch *batch)
{
	return s->by->receive(s->of, source, batch);
}

static void
fanout_counts(struct receive_state *s, unsigned source,
	      struct receive_counts *counts)
{
	s->by->counts(s->of, source, counts);
}

static void
fanout_close(struct receive_state *s)
{
	s->by->close(s->of);
	free(s);
}

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct receive_ops),
		  .name = "fanout",
		  .help = "one stream over several interfaces, or one by "
			  "several threads",
		  .options = table,
		  .options_bytes = sizeof(struct fanout_options) },
	.open = fanout_open,
	.sources = fanout_sources,
	.fd = fanout_fd,
	.receive = fanout_receive,
	.counts = fanout_counts,
	.close = fanout_close,
	.plan = fanout_plan,
	.sub = fanout_sub,
};
