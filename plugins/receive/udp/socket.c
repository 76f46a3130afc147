/* SPDX-License-Identifier: MIT */
/*
 * A unicast port is never shared: of two programs that read one port, each
 * loses the packets that the other gets, and neither notices.  Multicast groups
 * may be shared, because every member gets every packet.
 *
 * A socket receives what it asked for and no more.  It is bound to its group,
 * and to its interface if it has one.  IP_MULTICAST_ALL is off: otherwise a
 * socket that joined a group for one sender would get the packets of all
 * senders as soon as another socket of this machine joins the group without
 * that restriction.
 */
#include "socket.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The state of opening one socket. */
struct opening {
	int fd;
	const struct address *address;
	union endpoint at;
	unsigned device; /* index of the interface; 0: any */
	bool unbound;	 /* binding to the interface failed */
};

static int
option_set(struct opening *o, int level, int name, const void *value,
	   socklen_t bytes)
{
	return setsockopt(o->fd, level, name, value, bytes) < 0 ? -errno : 0;
}

static void
buffer_grow(int fd, int want)
{
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &want, sizeof want) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &want, sizeof want);
}

uint64_t
socket_buffer(int fd)
{
	socklen_t length = sizeof(int);
	int got = 0;

	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &length);
	/* the kernel doubles the size for its own needs */
	return (uint64_t)got / 2;
}

static int
device_bind(struct opening *o)
{
	const char *name = o->address->device;
	int err = -ENODEV;

	if (!name[0])
		return 0;
	o->device = if_nametoindex(name);
	if (o->device)
		err = option_set(o, SOL_SOCKET, SO_BINDTODEVICE, name,
				 (socklen_t)strlen(name) + 1);
	o->unbound = err != 0;
	return err;
}

/*
 * Refuses groups that other sockets have joined.  Kernels since 4.20 know both
 * options.
 */
static void
groups_refuse(struct opening *o)
{
	bool v4 = o->at.any.sa_family == AF_INET;
	int off = 0;

	option_set(o, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off);
	if (!v4)
		option_set(o, IPPROTO_IPV6, IPV6_MULTICAST_ALL, &off,
			   sizeof off);
}

static int
group_join(struct opening *o)
{
	bool v4 = o->at.any.sa_family == AF_INET;
	int level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
	struct group_source_req one = { .gsr_interface = o->device };
	struct group_req group = { .gr_interface = o->device };
	int err;

	if (o->address->sender.any.sa_family == AF_UNSPEC) {
		memcpy(&group.gr_group, &o->at, sizeof o->at);
		err = option_set(o, level, MCAST_JOIN_GROUP, &group,
				 sizeof group);
	} else {
		memcpy(&one.gsr_group, &o->at, sizeof o->at);
		memcpy(&one.gsr_source, &o->address->sender,
		       sizeof o->address->sender);
		err = option_set(o, level, MCAST_JOIN_SOURCE_GROUP, &one,
				 sizeof one);
	}
	return err;
}

static int
opening_do(struct opening *o, uint64_t buffer)
{
	bool group = endpoint_is_group(&o->at);
	int on = 1, err;

	o->fd = socket(o->at.any.sa_family,
		       SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (o->fd < 0)
		return -errno;
	buffer_grow(o->fd, (int)buffer);
	groups_refuse(o);
	err = device_bind(o);
	if (!err && group)
		err = option_set(o, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (!err && bind(o->fd, &o->at.any, endpoint_bytes(&o->at)) < 0)
		err = -errno;
	return err || !group ? err : group_join(o);
}

/*
 * Returns advice for a person, to be added to the error; "" if the error says
 * it all.
 */
static const char *
advice(const struct opening *o, int err)
{
	switch (err) {
	case -EADDRINUSE:
		return "; another program or stream has it, 'ss -ulpn' shows "
		       "which";
	case -EADDRNOTAVAIL:
		return "; this machine has no such address, 'ip -brief "
		       "address' lists them";
	case -ENODEV:
		return o->unbound
			   ? "; there is no such interface, 'ip -brief "
			     "link' lists them"
			   : "; no route says through which interface the "
			     "group comes, name it: eth2@239.1.2.3:7148";
	case -EPERM: return o->unbound ? "; here that needs CAP_NET_RAW" : "";
	case -EACCES: return "; ports below 1024 need CAP_NET_BIND_SERVICE";
	case -EMFILE:
	case -ENFILE:
		return "; every port and group needs a file descriptor: raise "
		       "'ulimit -n', or LimitNOFILE= of the service";
	default: return "";
	}
}

int
socket_listen(const struct address *a, uint32_t sub, uint64_t buffer_bytes,
	      const struct receive_args *args)
{
	struct opening o = { .fd = -1, .address = a, .at = address_at(a, sub) };
	int err = opening_do(&o, buffer_bytes);
	char where[ENDPOINT_TEXT] = "";

	if (!err)
		return o.fd;
	if (o.fd >= 0)
		close(o.fd);
	if (address_subs(a) > 1)
		endpoint_show(&o.at, where);
	snprintf(args->why, args->why_bytes, "cannot receive on %s%s%s: %s%s",
		 a->text, where[0] ? ", at " : "", where, strerror(-err),
		 advice(&o, err));
	return err;
}
