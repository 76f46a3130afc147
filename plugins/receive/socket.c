/* SPDX-License-Identifier: MIT */
/*
 * A plain port is never shared: of two programs that read one, each loses
 * what the other gets, and neither notices.  Multicast groups may be shared,
 * there everybody gets everything.
 */
#include "socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* getaddrinfo takes any number, modulo 65536. */
static bool
is_port(const char *text)
{
	return strlen(text) <= 5 &&
	       strspn(text, "0123456789") == strlen(text) &&
	       atoi(text) <= 65535;
}

static int
address_resolve(const char *text, struct addrinfo **list)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM,
					       .ai_flags = AI_PASSIVE |
							   AI_NUMERICSERV };
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	char host[256];

	if (!colon || !colon[1] || length >= sizeof host)
		return EAI_NONAME;
	if (!is_port(colon + 1))
		return EAI_SERVICE;
	if (length > 1 && text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	}
	memcpy(host, text, length);
	host[length] = 0;
	return getaddrinfo(length ? host : NULL, colon + 1, &hints, list);
}

static bool
is_multicast(const struct sockaddr *a)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;

	if (a->sa_family == AF_INET)
		return IN_MULTICAST(ntohl(v4->sin_addr.s_addr));
	return IN6_IS_ADDR_MULTICAST(&v6->sin6_addr);
}

static int
group_join(int fd, const struct addrinfo *a)
{
	int level = a->ai_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
	struct group_req group = { 0 };
	int on = 1;

	memcpy(&group.gr_group, a->ai_addr, a->ai_addrlen);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
	    setsockopt(fd, level, MCAST_JOIN_GROUP, &group, sizeof group) < 0)
		return -errno;
	return 0;
}

static void
buffer_grow(int fd, int want, const struct host *host)
{
	socklen_t length = sizeof(int);
	int got = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &want, sizeof want) == 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &want, sizeof want);
	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &length);
	if (got / 2 < want) /* the kernel doubles it for its own needs */
		host->log(host->ctx, LOG_WARN,
			  "the socket buffer is %d bytes instead of %d; "
			  "'sysctl net.core.rmem_max=%d' would allow it",
			  got / 2, want, want);
}

static int
socket_open(const struct addrinfo *a, uint64_t buffer, const struct host *host)
{
	int fd =
	    socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err = 0;

	if (fd < 0)
		return -errno;
	buffer_grow(fd, (int)buffer, host);
	if (is_multicast(a->ai_addr))
		err = group_join(fd, a);
	if (!err && bind(fd, a->ai_addr, a->ai_addrlen) < 0)
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

int
socket_listen(const char *address, uint64_t buffer_bytes,
	      const struct receive_args *args)
{
	struct addrinfo *list;
	int err = address_resolve(address, &list);
	int fd;

	if (err) {
		snprintf(args->why, args->why_bytes,
			 "listen: '%s' is no address to receive on (%s); write "
			 "it as 0.0.0.0:46227 or [::]:46227",
			 address, gai_strerror(err));
		return -EINVAL;
	}
	fd = socket_open(list, buffer_bytes, args->host);
	freeaddrinfo(list);
	if (fd < 0)
		snprintf(args->why, args->why_bytes,
			 "cannot receive on %s: %s%s", address, strerror(-fd),
			 fd == -EADDRINUSE ? "; another program or stream has "
					     "it, 'ss -ulpn' shows which"
					   : "");
	return fd;
}
