/* SPDX-License-Identifier: MIT */
/*
 * The receive buffer is set on the listening socket, before any connection
 * exists, because the largest window is agreed on with the first packet.  Left
 * alone, the kernel lets the buffer grow as the path needs it, which is better
 * than any number that fits all paths.
 *
 * A connection that the system cannot accept, as when no file descriptor is
 * left, stays in the queue and keeps its listening socket readable.  So after
 * such an error the sockets are not watched for REST: the receiver thread would
 * wake up for nothing all the time.
 */
#include "door.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "contract/format.h"

enum {
	BACKLOG = 64,
	SAYS = 5,
	/*
	 * Seconds: a sender whose machine is gone is noticed after ALIVE_IDLE +
	 * ALIVE_TRIES * ALIVE_EVERY, 25 s.
	 */
	ALIVE_IDLE = 10,
	ALIVE_EVERY = 5,
	ALIVE_TRIES = 3,
};

#define REST NS_SECOND

/* ---- opening --------------------------------------------------------- */

int
door_check(const struct door_options *o, char *why, uint32_t why_bytes)
{
	struct allow allow = { 0 };
	struct address a;
	int err = 0;

	if (o->listen.n > DOOR_LISTENERS) {
		snprintf(why, why_bytes, "listen: at most %d addresses",
			 DOOR_LISTENERS);
		return -EINVAL;
	}
	for (unsigned i = 0; i < o->listen.n && !err; i++) {
		err = address_parse(&a, o->listen.text[i], why, why_bytes);
		if (err || (address_subs(&a) == 1 &&
			    (a.name[0] || !endpoint_is_group(&a.first))))
			continue;
		snprintf(why, why_bytes,
			 "listen: '%s' is no address for TCP: it takes one "
			 "port, as 0.0.0.0:2630 or [::]:2630, and no "
			 "multicast group",
			 a.text);
		err = -EINVAL;
	}
	if (!err)
		err = allow_parse(&allow, &o->allow, why, why_bytes);
	allow_clear(&allow);
	return err;
}

static void
buffer_set(int fd, uint64_t bytes, const struct host *host)
{
	int want = (int)bytes, got = 0;
	socklen_t length = sizeof got;

	if (!bytes ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &want, sizeof want) == 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &want, sizeof want);
	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &length);
	if (got / 2 < want) /* the kernel doubles the size for its own needs */
		host->log(host->ctx, LEVEL_WARN,
			  "the socket buffer is %d bytes instead of %d; "
			  "'sysctl net.core.rmem_max=%d' would allow it",
			  got / 2, want, want);
}

static int
device_bind(int fd, const char *name, union endpoint *at)
{
	unsigned device;

	if (!name[0])
		return 0;
	device = if_nametoindex(name);
	if (!device)
		return -ENODEV;
	if (at->any.sa_family == AF_INET6)
		at->v6.sin6_scope_id = device;
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name,
		       (socklen_t)strlen(name) + 1) < 0)
		return -errno;
	return 0;
}

static int
listener_open(struct door *d, const struct address *a, uint64_t buffer)
{
	union endpoint at = address_at(a, 0);
	int fd = socket(at.any.sa_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, err;

	if (fd < 0)
		return -errno;
	d->fd[d->n++] = fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	buffer_set(fd, buffer, &d->host);
	err = device_bind(fd, a->device, &at);
	if (!err && (bind(fd, &at.any, endpoint_bytes(&at)) < 0 ||
		     listen(fd, BACKLOG) < 0))
		err = -errno;
	return err;
}

/* Returns advice for a person, to be added to the error. */
static const char *
advice(int err)
{
	switch (err) {
	case -EADDRINUSE:
		return "; another program or stream listens there, 'ss -tlpn' "
		       "shows which";
	case -EADDRNOTAVAIL:
		return "; this machine has no such address, 'ip -brief "
		       "address' lists them";
	case -ENODEV:
		return "; there is no such interface, 'ip -brief link' lists "
		       "them";
	case -EPERM: return "; binding to an interface needs CAP_NET_RAW here";
	case -EACCES: return "; ports below 1024 need CAP_NET_BIND_SERVICE";
	default: return "";
	}
}

static int
listeners_open(struct door *d, const struct door_options *o,
	       const struct receive_args *args)
{
	int err = 0;

	for (unsigned i = 0; i < o->listen.n && !err; i++) {
		struct address *a = &d->address[i];

		err = address_parse(a, o->listen.text[i], args->why,
				    args->why_bytes);
		if (!err)
			err = address_resolve(a, args->why, args->why_bytes);
		if (err)
			return err;
		err = listener_open(d, a, o->socket_buffer);
		if (err)
			snprintf(args->why, args->why_bytes,
				 "cannot listen on %s: %s%s", a->text,
				 strerror(-err), advice(err));
	}
	return err;
}

int
door_open(struct door *d, const struct door_options *o,
	  const struct receive_args *args)
{
	int err = door_check(o, args->why, args->why_bytes);

	*d = (struct door){ .host = *args->host, .says = SAYS };
	if (!err && !o->listen.n) {
		snprintf(args->why, args->why_bytes,
			 "`listen` is missing: where do connections come in? "
			 "listen = [ \"0.0.0.0:2630\" ]");
		err = -EINVAL;
	}
	if (!err)
		err = allow_parse(&d->allow, &o->allow, args->why,
				  args->why_bytes);
	if (!err)
		err = listeners_open(d, o, args);
	if (err)
		door_close(d);
	return err;
}

void
door_close(struct door *d)
{
	for (unsigned i = 0; i < d->n; i++)
		close(d->fd[i]);
	d->n = 0;
	allow_clear(&d->allow);
}

/* ---- accepting --------------------------------------------------------- */

static void
keep_alive(int fd)
{
	static const struct {
		int level, name, value;
	} option[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, ALIVE_IDLE },
		{ IPPROTO_TCP, TCP_KEEPINTVL, ALIVE_EVERY },
		{ IPPROTO_TCP, TCP_KEEPCNT, ALIVE_TRIES },
	};

	for (unsigned i = 0; i < sizeof option / sizeof *option; i++)
		setsockopt(fd, option[i].level, option[i].name,
			   &option[i].value, sizeof option[i].value);
}

static bool
may_say(struct door *d)
{
	if (d->says) {
		d->says--;
		return true;
	}
	d->unsaid++;
	return false;
}

/* Lets the set poll readable for connections that wait, or not. */
static void
listeners_watch(const struct door *d, bool on)
{
	for (unsigned i = 0; i < d->n; i++) {
		struct epoll_event e = { .events = on ? EPOLLIN : 0,
					 .data.fd = d->fd[i] };

		epoll_ctl(d->set, EPOLL_CTL_MOD, d->fd[i], &e);
	}
}

/*
 * Accepts from one listening socket.  Returns a descriptor, or -EAGAIN: no
 * connection is waiting.
 */
static int
accept_one(struct door *d, int fd, union endpoint *from)
{
	socklen_t length = sizeof *from;
	int peer;

	do {
		peer = accept4(fd, &from->any, &length,
			       SOCK_CLOEXEC | SOCK_NONBLOCK);
	} while (peer < 0 && (errno == ECONNABORTED || errno == EINTR));
	if (peer >= 0)
		return peer;
	if (errno == EAGAIN)
		return -EAGAIN;
	if (may_say(d))
		d->host.log(d->host.ctx, LEVEL_WARN,
			    "a connection could not be accepted: %s",
			    strerror(errno));
	d->rest = REST;
	listeners_watch(d, false);
	return -EAGAIN;
}

int
door_accept(struct door *d, union endpoint *from)
{
	for (unsigned i = 0; i < d->n && !d->rest; i++) {
		int fd;

		while ((fd = accept_one(d, d->fd[i], from)) >= 0) {
			keep_alive(fd);
			if (allow_has(&d->allow, from))
				return fd;
			door_refuse(d, fd, from, "it is not in `allow`");
		}
	}
	return -1;
}

void
door_refuse(struct door *d, int fd, const union endpoint *from, const char *why)
{
	char text[ENDPOINT_TEXT];

	close(fd);
	if (!may_say(d))
		return;
	endpoint_show(from, text);
	d->host.log(d->host.ctx, LEVEL_WARN, "%s is refused: %s", text, why);
}

/*
 * Allows SAYS more log lines and logs how many refusals were not logged, so
 * that a flood of strangers does not flood the log.  Called every tick (50 ms):
 * `ns` have passed since the last one.
 */
static void
door_tick(struct door *d, int64_t ns)
{
	if (d->rest && d->rest <= ns)
		listeners_watch(d, true);
	d->rest = d->rest > ns ? d->rest - ns : 0;
	if (d->unsaid)
		d->host.log(d->host.ctx, LEVEL_WARN,
			    "%u more connections are refused", d->unsaid);
	d->says = SAYS;
	d->unsaid = 0;
}

/* ---- a peer ------------------------------------------------------------- */

/* Makes the source's descriptor, without a sender.  Returns 0 or -errno. */
static int
peer_make(struct peer *p, const struct host *host, int wake)
{
	*p = (struct peer){ .host = host, .wake = wake, .fd = -1 };
	p->set = epoll_create1(EPOLL_CLOEXEC);
	return p->set < 0 ? -errno : 0;
}

static void
peer_free(struct peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	close(p->set);
}

static void
watch(struct peer *p, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	epoll_ctl(p->set, EPOLL_CTL_ADD, fd, &e);
}

void
peer_seat(struct peer *p, int fd, const union endpoint *from)
{
	p->fd = fd;
	p->from = *from;
	p->quiet = 0;
	endpoint_show(from, p->name);
	memcpy(p->counts.sender, p->name, sizeof p->counts.sender);
	watch(p, fd);
}

void
peer_expect(struct peer *p, int fd)
{
	watch(p, fd);
}

void
peer_leave(struct peer *p, enum log_level level, const char *why)
{
	if (why)
		p->host->log(p->host->ctx, level, "%s %s", p->name, why);
	close(p->fd);
	p->fd = -1;
}

int
peer_read(struct peer *p, const struct iovec *iov, int n)
{
	ssize_t got = readv(p->fd, iov, n);

	if (got == 0)
		return -ENODATA;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	p->bytes += (uint64_t)got;
	p->counts.calls++;
	return (int)got;
}

void
peer_wake(struct peer *p, bool left)
{
	if (left == p->woken)
		return;
	p->woken = left;
	if (left)
		watch(p, p->wake);
	else
		epoll_ctl(p->set, EPOLL_CTL_DEL, p->wake, NULL);
}

/*
 * Counts the time since the last tick.  Returns true if the sender was silent
 * for `stall` ns (0: for ever) although it could have been read.
 */
static bool
peer_tick(struct peer *p, int64_t ns, int64_t stall)
{
	p->quiet += ns;
	if (p->bytes != p->seen || p->held)
		p->quiet = 0;
	p->seen = p->bytes;
	p->held = false;
	return p->fd >= 0 && stall && p->quiet >= stall;
}

/* ---- all peers of an instance ------------------------------------------- */

#define TICK (NS_SECOND / 20)

static struct peers *
peers_of(const struct receive_state *state)
{
	return (struct peers *)state;
}

static int
packets_check(bool frames, const struct receive_args *args)
{
	if (args->shape && args->shape->store != HEAP_NONE) {
		snprintf(args->why, args->why_bytes,
			 "heaps come in datagrams, which a connection does not "
			 "keep apart; receive = \"udp\" takes them");
		return -EINVAL;
	}
	if (args->prefix && frames) {
		snprintf(args->why, args->why_bytes,
			 "spate's frames carry payloads alone: prefix = 0");
		return -EINVAL;
	}
	return 0;
}

/* The set of source 0 also holds the listening sockets. */
static int
door_watch(struct peers *p)
{
	p->door.set = p->peer[0].set;
	for (unsigned i = 0; i < p->door.n; i++) {
		struct epoll_event e = { .events = EPOLLIN,
					 .data.fd = p->door.fd[i] };

		if (epoll_ctl(p->door.set, EPOLL_CTL_ADD, p->door.fd[i], &e) <
		    0)
			return -errno;
	}
	return 0;
}

static int
peers_make(struct peers *p, unsigned n)
{
	int err;

	p->wake = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake < 0)
		return -errno;
	p->peer = calloc(n, sizeof *p->peer);
	if (!p->peer)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		struct peer *peer = &p->peer[i];

		err = peer_make(peer, &p->host, p->wake);
		if (err)
			return err;
		p->n++;
		peer->counts.address = p->door.address[0].text;
		if (p->door.address[0].device[0])
			peer->counts.device = p->door.address[0].device;
	}
	return door_watch(p);
}

int
peers_open(struct receive_state **state, size_t bytes,
	   const struct peers_ops *ops, bool frames,
	   const struct receive_args *args)
{
	const struct peers_options *o = args->options;
	int err = packets_check(frames, args);
	struct peers *p;

	if (err)
		return err;
	p = calloc(1, bytes);
	if (!p)
		return -ENOMEM;
	p->ops = ops;
	p->host = *args->host;
	p->stall = o->stall;
	p->wake = -1;
	err = door_open(&p->door, &o->door, args);
	if (err) {
		free(p);
		return err;
	}
	args->why[0] = '\0';
	err = peers_make(p, o->connections);
	if (!err) {
		p->made = true;
		err = ops->make((struct receive_state *)p, args);
	}
	if (err && !args->why[0])
		snprintf(args->why, args->why_bytes,
			 "%u connections cannot be made ready: %s",
			 o->connections, strerror(-err));
	if (err)
		peers_close((struct receive_state *)p);
	else
		*state = (struct receive_state *)p;
	return err;
}

void
peers_close(struct receive_state *state)
{
	struct peers *p = peers_of(state);

	if (p->made)
		p->ops->free(state);
	for (unsigned i = 0; i < p->n; i++)
		peer_free(&p->peer[i]);
	free(p->peer);
	if (p->wake >= 0)
		close(p->wake);
	door_close(&p->door);
	free(p);
}

static bool
is_loopback(const union endpoint *e)
{
	return e->any.sa_family == AF_INET
		   ? ntohl(e->v4.sin_addr.s_addr) >> 24 == 127
		   : IN6_IS_ADDR_LOOPBACK(&e->v6.sin6_addr);
}

void
peers_warn_open(const struct peers *p, const struct peers_options *o)
{
	for (unsigned i = 0; i < p->door.n && !o->door.allow.n; i++) {
		if (is_loopback(&p->door.address[i].first))
			continue;
		p->host.log(p->host.ctx, LEVEL_WARN,
			    "whoever reaches %s can send: secret_file or "
			    "`allow` would ask who it is",
			    p->door.address[i].text);
		return;
	}
}

unsigned
peers_sources(const struct receive_state *state)
{
	return peers_of(state)->n;
}

int
peers_fd(const struct receive_state *state, unsigned source)
{
	return peers_of(state)->peer[source].set;
}

int
peers_receive(struct receive_state *state, unsigned source,
	      struct receive_batch *b)
{
	b->packets = 0;
	return peers_of(state)->ops->receive(state, source, b);
}

/*
 * Passes the time on, at most every TICK.  A step counts for one second at
 * most, so that setting the clock cuts no sender off.
 */
static void
tick(struct receive_state *state)
{
	struct peers *p = peers_of(state);
	int64_t now = p->host.now(p->host.ctx), ns = now - p->ticked;
	char why[64];

	if (ns >= 0 && ns < TICK)
		return;
	p->ticked = now;
	ns = ns < 0 ? 0 : ns > NS_SECOND ? NS_SECOND : ns;
	door_tick(&p->door, ns);
	for (unsigned i = 0; i < p->n; i++) {
		if (!peer_tick(&p->peer[i], ns, p->stall))
			continue;
		snprintf(why, sizeof why,
			 "has been silent for %lld s, and is cut off",
			 (long long)((p->peer[i].quiet + NS_SECOND / 2) /
				     NS_SECOND));
		p->ops->drop(state, i, why);
	}
	p->ops->tick(state, ns);
}

void
peers_counts(struct receive_state *state, unsigned source,
	     struct receive_counts *counts)
{
	tick(state);
	*counts = peers_of(state)->peer[source].counts;
}
