/* SPDX-License-Identifier: MIT */
/*
 * Each port has a socket of its own, which is connected: that spares a route
 * lookup for each call, and brings back ICMP answers of hosts and routers.
 * IP_RECVERR asks for these answers, because then the kernel also reports that
 * its own queue was full; without it, it drops packets silently.
 */
#include <errno.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "net/url.h"
#include "udp.h"

int
udp_subs_check(const struct url *u, const struct send_args *args)
{
	uint32_t ports = url_ports(u), last = u->first + args->subs - 1;

	if (args->subs == 1)
		return 0;
	if (u->groups > 1 || ports > 1) {
		if (args->subs <= (u->groups > 1 ? u->groups : ports))
			return 0;
		snprintf(args->why, args->why_bytes,
			 "%.80s names %u %s, and there are %u substreams: one "
			 "port is taken for the first of as many as it takes; "
			 "or choose one substream",
			 args->to, u->groups > 1 ? u->groups : ports,
			 u->groups > 1 ? "groups" : "ports", args->subs);
		return -EINVAL;
	}
	if (last <= UINT16_MAX)
		return 0;
	snprintf(args->why, args->why_bytes,
		 "%.80s: %u substreams from port %u on would end behind port "
		 "65535; begin at %u, or below",
		 args->to, args->subs, u->first, UINT16_MAX + 1 - args->subs);
	return -EINVAL;
}

static unsigned
ports_wanted(const struct url *u, const struct send_args *args)
{
	if (u->groups > 1)
		return u->groups;
	return url_ports(u) > args->subs ? url_ports(u) : args->subs;
}

/* Returns the address that a substream is sent to. */
static union endpoint
endpoint_of(const union endpoint *first, const struct url *u, unsigned sub)
{
	union endpoint e = *first;

	if (u->groups > 1)
		endpoint_step(&e, sub);
	else
		endpoint_port_set(&e, (uint16_t)(u->first + sub));
	return e;
}

/* ---- one socket ---------------------------------------------------------- */

/* Sets options that the system may limit; errors are ignored. */
static void
wishes_set(const struct send_state *s, int fd, bool v4)
{
	const struct udp_options *o = s->options;
	const int room =
	    o->socket_buffer > INT32_MAX ? INT32_MAX : (int)o->socket_buffer;
	const int yes = 1, ttl = (int)o->ttl;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	if (v4)
		setsockopt(fd, IPPROTO_IP, IP_RECVERR, &yes, sizeof yes);
	else
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &yes, sizeof yes);
	if (!ttl)
		return;
	if (v4) {
		setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof ttl);
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof ttl);
	} else {
		setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &ttl,
			   sizeof ttl);
		setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &ttl,
			   sizeof ttl);
	}
}

/*
 * Sets the interface: for a group, the one to send from; for a host, a binding
 * that overrules the routes.
 */
static int
device_set(const struct send_state *s, int fd, const union endpoint *to)
{
	const struct ip_mreqn by = { .imr_ifindex = (int)s->device };
	const int index = (int)s->device;
	char name[IF_NAMESIZE];
	int err;

	if (!index)
		return 0;
	if (!endpoint_is_group(to))
		err = setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE,
				 if_indextoname(s->device, name), IF_NAMESIZE);
	else if (to->any.sa_family == AF_INET)
		err =
		    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by);
	else
		err = setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index,
				 sizeof index);
	return err < 0 ? -errno : 0;
}

static int
port_open(const struct send_state *s, const union endpoint *to)
{
	bool v4 = to->any.sa_family == AF_INET;
	int fd = socket(to->any.sa_family,
			SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	if (fd < 0)
		return -errno;
	wishes_set(s, fd, v4);
	err = device_set(s, fd, to);
	if (!err && connect(fd, &to->any, endpoint_bytes(to)) < 0)
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* ---- the path to the peer ---------------------------------------------- */

static void
way_look(struct send_state *s)
{
	const struct sock_txtime time = { .clockid = CLOCK_MONOTONIC };
	bool v4 = s->to.any.sa_family == AF_INET;
	socklen_t bytes = sizeof(int);
	int mtu = 0;

	if (getsockopt(s->fd[0], v4 ? IPPROTO_IP : IPPROTO_IPV6,
		       v4 ? IP_MTU : IPV6_MTU, &mtu, &bytes) == 0 &&
	    mtu > 0)
		s->mtu = (uint32_t)mtu;
	s->timed = s->options->timed && udp_qdisc_timed(&s->to, s->device);
	for (unsigned i = 0; i < s->ports && s->timed; i++)
		s->timed = setsockopt(s->fd[i], SOL_SOCKET, SO_TXTIME, &time,
				      sizeof time) == 0;
}

static int
open_refuse(const struct send_state *s, const struct send_args *args, int err)
{
	if (err == -EMFILE)
		snprintf(args->why, args->why_bytes,
			 "%.100s: no more files can be opened, and each of %u "
			 "ports takes one",
			 args->to, s->ports);
	else if (err == -ENETUNREACH || err == -EHOSTUNREACH)
		snprintf(args->why, args->why_bytes,
			 "%.100s: this machine knows no way there (%s): its "
			 "routes (`ip route`) and its links say why",
			 args->to, strerror(-err));
	else
		snprintf(args->why, args->why_bytes,
			 "%.100s: nothing can be sent there: %s", args->to,
			 strerror(-err));
	return err;
}

/*
 * Opens the first port, at the first of the host's addresses that can be
 * reached.
 */
static int
first_open(struct send_state *s, const struct url *u,
	   const struct send_args *args)
{
	struct resolved found;
	int fd = -1;
	int err = resolve(&found, u, args->why, args->why_bytes);

	if (err)
		return err;
	s->device = u->device[0] ? if_nametoindex(u->device) : 0;
	for (unsigned i = 0; i < found.n && fd < 0; i++) {
		s->to = found.at[i];
		fd = port_open(s, &s->to);
	}
	if (fd < 0)
		return open_refuse(s, args, fd);
	s->fd[0] = fd;
	return 0;
}

static int
others_open(struct send_state *s, const struct url *u,
	    const struct send_args *args)
{
	for (unsigned i = 1; i < s->ports; i++) {
		union endpoint e = endpoint_of(&s->to, u, i);

		s->fd[i] = port_open(s, &e);
		if (s->fd[i] < 0)
			return open_refuse(s, args, s->fd[i]);
	}
	return 0;
}

int
udp_ports_open(struct send_state *s, const struct url *url,
	       const struct send_args *args)
{
	const char *interface = s->options->interface;
	struct url u = *url;
	int err;

	s->fd = malloc(ports_wanted(&u, args) * sizeof *s->fd);
	if (!s->fd)
		return -ENOMEM;
	s->ports = ports_wanted(&u, args);
	for (unsigned i = 0; i < s->ports; i++)
		s->fd[i] = -1;
	if (!u.device[0] && interface)
		snprintf(u.device, sizeof u.device, "%s", interface);
	err = first_open(s, &u, args);
	if (!err)
		err = others_open(s, &u, args);
	if (!err)
		way_look(s);
	return err;
}

void
udp_ports_close(struct send_state *s)
{
	for (unsigned i = 0; s->fd && i < s->ports; i++)
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	free(s->fd);
}
