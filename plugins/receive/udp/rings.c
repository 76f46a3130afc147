/* SPDX-License-Identifier: MIT */
/*
 * The first instance of a stream makes a packet fanout group for each entry of
 * `listen`, and the other instances join it.  The event loop opens the
 * instances one after the other, so the numbers of the groups wait in a static
 * variable.
 *
 * The first instance also opens a socket on the port of each entry.  Without it
 * the kernel would answer the sender that nobody listens, switches would not
 * learn of multicast groups, and another program could take the port.  That
 * socket receives nothing itself.
 */
#include "rings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring.h"
#include "socket.h"

enum { KEEPER_BUFFER = 4096, NICS_MOST = 16 };

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

/* ---- planning -------------------------------------------------------- */

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
entries_make(struct address **address, const struct rings_options *o, char *why,
	     uint32_t why_bytes)
{
	if (o->listen->n <= NICS_MOST)
		return addresses_make(address, o->listen, entry_check, why,
				      why_bytes);
	snprintf(why, why_bytes,
		 "listen: packet rings are of at most %d "
		 "interfaces, and not of %u",
		 NICS_MOST, o->listen->n);
	return -EINVAL;
}

int
rings_plan(const struct rings_options *o, struct receive_plan *plan, char *why,
	   uint32_t why_bytes)
{
	struct address *address = NULL;
	struct allow allow = { 0 };
	int err = entries_make(&address, o, why, why_bytes);

	if (!err)
		err = allow_parse(&allow, o->allow, why, why_bytes);
	if (!err)
		*plan = (struct receive_plan){ .subs = 1,
					       .threads = o->threads,
					       .late = RING_LATE };
	allow_clear(&allow);
	free(address);
	return err;
}

/* ---- opening --------------------------------------------------------- */

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
entry_open(struct rings *s, unsigned i, const struct rings_options *o,
	   const struct receive_args *args)
{
	struct ring_args ring = { .address = &s->address[i],
				  .bytes = o->bytes,
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
entries_open(struct rings *s, const struct rings_options *o,
	     const struct receive_args *args)
{
	unsigned n = o->listen->n;
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

int
rings_open(struct rings **rings, const struct rings_options *o,
	   const struct receive_args *args)
{
	struct rings *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	err = entries_make(&s->address, o, args->why, args->why_bytes);
	if (!err)
		err = allow_parse(&s->allow, o->allow, args->why,
				  args->why_bytes);
	if (!err)
		err = entries_open(s, o, args);
	if (err) {
		rings_close(s);
		return err;
	}
	*rings = s;
	return 0;
}

void
rings_close(struct rings *s)
{
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

/* ---- running --------------------------------------------------------- */

unsigned
rings_sources(const struct rings *s)
{
	return s->n;
}

int
rings_fd(const struct rings *s, unsigned source)
{
	return s->ring[source].fd;
}

int
rings_receive(struct rings *s, unsigned source, struct receive_batch *b)
{
	ring_receive(&s->ring[source], b);
	return 0;
}

void
rings_counts(struct rings *s, unsigned source, struct receive_counts *counts)
{
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
