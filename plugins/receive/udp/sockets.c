/* SPDX-License-Identifier: MIT */
/*
 * Sources are ordered by substream, and within a substream by entry of
 * `listen`: sources that are read together lie together in memory.
 */
#include "sockets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "contract/format.h"
#include "net/address.h"
#include "net/allow.h"
#include "socket.h"
#include "socket.h"

struct sockets {
	int64_t keepalive; /* ns between keepalives; 0: none */
	struct allow allow;
	struct address *address; /* one for each entry of `listen` */
	unsigned addresses;
	struct udp_socket *source;
	unsigned sources;
	uint64_t buffer; /* bytes that each socket's buffer should have */
	/* a socket that asks for stamps, see stamps_keep(); negative: none */
	int stamper;
	struct socket_reader reader;
};

/* ---- planning -------------------------------------------------------- */

static int
entry_check(const struct address *a, unsigned i, char *why, uint32_t why_bytes)
{
	for (unsigned k = 0; k < i; k++) {
		if (!address_overlaps(&a[k], &a[i]))
			continue;
		snprintf(why, why_bytes,
			 "listen: what comes in at '%s' is there twice: '%s' "
			 "has it, too",
			 a[i].text, a[k].text);
		return -EINVAL;
	}
	if (address_subs(&a[i]) == address_subs(&a[0]))
		return 0;
	snprintf(why, why_bytes,
		 "listen: '%s' is %u substreams and '%s' is %u; entries of one "
		 "stream bring the same ones, others are streams of their own",
		 a[0].text, address_subs(&a[0]), a[i].text,
		 address_subs(&a[i]));
	return -EINVAL;
}

int
sockets_plan(const void *options, struct receive_plan *plan, char *why,
	     uint32_t why_bytes)
{
	const struct sockets_options *o = options;
	struct address *address = NULL;
	struct allow allow = { 0 };
	int err =
	    addresses_make(&address, &o->listen, entry_check, why, why_bytes);

	if (!err)
		err = allow_parse(&allow, &o->allow, why, why_bytes);
	if (!err)
		*plan =
		    (struct receive_plan){ .subs = address_subs(&address[0]),
					   .threads = 1 };
	allow_clear(&allow);
	free(address);
	return err;
}

/* ---- opening --------------------------------------------------------- */

/*
 * A receiver that shares its CPU with others comes back after some milliseconds,
 * and at times after a hundred: packets wait so long in the buffers.  The
 * kernel takes their memory when it needs it, so a large buffer costs nothing
 * until then.  With 32 MB for 16 Gb/s, which is 16 ms, 11 % of the packets
 * were lost beside another program, and with 256 MB none (docs/03-station.md).
 */
enum {
	WAIT_MS = 200,	/* that buffers last, where nothing is configured */
	LEAST_MS = 100, /* below which a log line says so */
	BUFFER_LEAST = 4 << 20,
	BUFFER_MOST = INT32_MAX / 2, /* the kernel gives no more */
	USUAL = 125000000, /* bytes a second that a log line takes for an
			    * unknown rate */
};

static uint64_t
bytes_per_second(const struct receive_args *args)
{
	return args->shape ? args->shape->rate / 8 : 0;
}

/* Returns the bytes of each socket's buffer.  Any of the addresses of a
 * substream may bring all of it. */
static uint64_t
buffer_wanted(const struct sockets_options *o, const struct receive_args *args,
	      unsigned subs)
{
	uint64_t bytes = bytes_per_second(args) / 1000 * WAIT_MS;

	if (bytes < RECEIVE_BUFFER)
		bytes = RECEIVE_BUFFER;
	bytes /= subs;
	if (bytes < BUFFER_LEAST)
		bytes = BUFFER_LEAST;
	if (o->socket_buffer)
		bytes = o->socket_buffer;
	return bytes < BUFFER_MOST ? bytes : BUFFER_MOST;
}

static int
source_open(struct sockets *s, const struct address *a, unsigned sub,
	    const struct sockets_options *o, const struct receive_args *args)
{
	struct udp_socket *src = &s->source[s->sources];
	union endpoint at = address_at(a, sub);
	int fd = socket_listen(a, sub, s->buffer, args);

	if (fd < 0)
		return fd;
	s->sources++;
	socket_begin(src, fd, o->gro);
	src->sub = sub;
	src->device = a->device[0] ? a->device : NULL;
	src->address = a->text;
	if (address_subs(a) > 1) {
		endpoint_show(&at, src->shown);
		src->address = src->shown;
	}
	return 0;
}

/*
 * Logs once for all sockets that the kernel gives less than was wanted: a line
 * for each of hundreds would hide other lines.  What nobody asked for and what
 * lasts long enough needs none.
 */
static void
buffers_tell(const struct sockets *s, const struct sockets_options *o,
	     unsigned subs, const struct receive_args *args)
{
	uint64_t least = s->buffer, rate = bytes_per_second(args) / subs, ms;
	char lasts[64];

	for (unsigned i = 0; i < s->sources; i++) {
		uint64_t got = socket_buffer(s->source[i].fd);

		least = got < least ? got : least;
	}
	if (least == s->buffer || args->share)
		return;
	ms = least * 1000 / (rate ? rate : USUAL);
	if (rate && ms >= LEAST_MS && !o->socket_buffer)
		return;
	if (rate)
		snprintf(lasts, sizeof lasts, "%llu ms of its rate",
			 (unsigned long long)ms);
	else
		snprintf(lasts, sizeof lasts, "%llu ms at 1 Gb/s",
			 (unsigned long long)ms);
	args->host->log(args->host->ctx, LEVEL_WARN,
			"the socket buffer is %llu bytes instead of %llu, "
			"which is %s: packets are lost if the receiver comes "
			"later; 'sysctl net.core.rmem_max=%llu' would allow it",
			(unsigned long long)least,
			(unsigned long long)s->buffer, lasts,
			(unsigned long long)s->buffer);
}

static int
sources_open(struct sockets *s, const struct sockets_options *o,
	     const struct receive_args *args)
{
	unsigned subs = address_subs(&s->address[0]);
	unsigned shares = args->shares ? args->shares : 1;
	int err = 0;

	for (unsigned i = 0; i < s->addresses && !err; i++)
		err =
		    address_resolve(&s->address[i], args->why, args->why_bytes);
	if (err)
		return err;
	s->source = calloc((subs / shares + 1) * (size_t)s->addresses + 1,
			   sizeof *s->source);
	if (!s->source)
		return -ENOMEM;
	s->buffer = buffer_wanted(o, args, subs);
	for (unsigned sub = args->share; sub < subs; sub += shares) {
		for (unsigned i = 0; i < s->addresses && !err; i++)
			err = source_open(s, &s->address[i], sub, o, args);
		if (err)
			return err;
	}
	buffers_tell(s, o, subs, args);
	return 0;
}

/* The instance, as the core knows it. */
static struct sockets *
sockets_of(const struct receive_state *state)
{
	return (struct sockets *)state;
}

int
sockets_open(struct receive_state **state, const struct receive_args *args)
{
	const struct sockets_options *o = args->options;
	struct sockets *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	s->stamper = stamps_keep();
	s->keepalive = o->keepalive;
	s->addresses = o->listen.n;
	err = addresses_make(&s->address, &o->listen, entry_check, args->why,
			     args->why_bytes);
	if (!err)
		err = allow_parse(&s->allow, &o->allow, args->why,
				  args->why_bytes);
	if (!err)
		err = socket_reader_make(&s->reader, args, &s->allow);
	if (!err)
		err = sources_open(s, o, args);
	if (err)
		sockets_close((struct receive_state *)s);
	else
		*state = (struct receive_state *)s;
	return err;
}

void
sockets_close(struct receive_state *state)
{
	struct sockets *s = sockets_of(state);

	for (unsigned i = 0; i < s->sources; i++)
		close(s->source[i].fd);
	if (s->stamper >= 0)
		close(s->stamper);
	free(s->source);
	free(s->address);
	allow_clear(&s->allow);
	socket_reader_clear(&s->reader);
	free(s);
}

/* ---- running --------------------------------------------------------- */

unsigned
sockets_sources(const struct receive_state *state)
{
	return sockets_of(state)->sources;
}

int
sockets_fd(const struct receive_state *state, unsigned source)
{
	return sockets_of(state)->source[source].fd;
}

unsigned
sockets_sub(const struct receive_state *state, unsigned source)
{
	return sockets_of(state)->source[source].sub;
}

int
sockets_receive(struct receive_state *state, unsigned source,
		struct receive_batch *b)
{
	struct sockets *s = sockets_of(state);

	return socket_receive(&s->source[source], &s->reader, b);
}

/*
 * Sends the sender a short datagram if the last one is `keepalive` old.
 * Switches forget a receiver that only listens after some minutes and then
 * flood its packets to every port.  Neither the text nor its arrival matters.
 */
static void
keep_alive(const struct sockets *s, struct udp_socket *src)
{
	static const char text[] = "spate is listening\n";
	int64_t now;

	if (!s->keepalive || src->sender.any.sa_family == AF_UNSPEC)
		return;
	now = s->reader.host.now(s->reader.host.ctx);
	if (now - src->kept < s->keepalive && now >= src->kept)
		return;
	src->kept = now;
	sendto(src->fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL,
	       &src->sender.any, endpoint_bytes(&src->sender));
}

/*
 * Reports the counters of a source.  The core calls it about once a second, so
 * it also sends keepalives and asks the source to note the sender of the next
 * packet.
 */
void
sockets_counts(struct receive_state *state, unsigned source,
	       struct receive_counts *counts)
{
	struct sockets *s = sockets_of(state);
	struct udp_socket *src = &s->source[source];

	keep_alive(s, src);
	src->ask = true;
	*counts = (struct receive_counts){ .datagrams = src->datagrams,
					   .calls = src->reads,
					   .overruns = socket_overruns(src),
					   .address = src->address,
					   .device = src->device };
	_Static_assert((int)ENDPOINT_TEXT <= (int)RECEIVE_SENDER, "it fits");
	endpoint_show(&src->sender, counts->sender);
}
