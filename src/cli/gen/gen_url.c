/* SPDX-License-Identifier: MIT */
#include "cli/gen/gen_url.h"

#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int
refuse(const struct gen_url *u, struct fault *fault)
{
	fault_set(fault, -EINVAL, "usage", "--to %s", u->text);
	fault_why(fault, "not an address to send to");
	fault_hint(fault, "udp://127.0.0.1:46227, udp://[::1]:46227, "
			  "udp://127.0.0.1:41000-41431 for a range of ports, "
			  "or tcp://127.0.0.1:2630");
	return -EINVAL;
}

/* Reads "46227" or "41000-41431", from 1 to 65535. */
static bool
ports_read(const char *text, struct gen_url *u)
{
	static const char digits[] = "0123456789";
	size_t length = strspn(text, digits);
	const char *last = text;

	if (text[length] == '-')
		last = text + length + 1;
	if (!length || length > 5 || !*last || strlen(last) > 5 ||
	    last[strspn(last, digits)])
		return false;
	u->first = (unsigned)strtoul(text, NULL, 10);
	u->last = (unsigned)strtoul(last, NULL, 10);
	if (u->tcp && u->first != u->last)
		return false;
	return u->first && u->first <= u->last && u->last <= UINT16_MAX;
}

int
gen_url_read(struct gen_url *u, const char *text, struct fault *fault)
{
	const char *host = strstr(text, "://"), *port, *end;
	size_t length;

	*u = (struct gen_url){ .text = text };
	u->tcp = strncmp(text, "tcp://", 6) == 0;
	if (!u->tcp && strncmp(text, "udp://", 6) != 0)
		return refuse(u, fault);
	host += strlen("://");
	if (*host == '[') {
		host++;
		end = strchr(host, ']');
		port = end && end[1] == ':' ? end + 2 : NULL;
	} else {
		end = strrchr(host, ':');
		port = end ? end + 1 : NULL;
	}
	length = end ? (size_t)(end - host) : 0;
	if (!port || !length || length >= sizeof u->host ||
	    (host[-1] != '[' && memchr(host, ':', length)) ||
	    !ports_read(port, u))
		return refuse(u, fault);
	memcpy(u->host, host, length);
	u->host[length] = '\0';
	return 0;
}

static int
connect_refuse(const struct gen_url *u, const char *why, int err,
	       struct fault *fault)
{
	fault_set(fault, err, "io", "cannot send to %s", u->text);
	fault_why(fault, "%s", why);
	return err;
}

/* Connects to the first of the host's addresses that can be reached. */
static int
address_connect(const struct addrinfo *at)
{
	int fd = -1, err = -EHOSTUNREACH;

	for (; at && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
			break;
		err = -errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	return fd < 0 ? err : fd;
}

int
gen_url_connect(const struct gen_url *u, unsigned port, struct fault *fault)
{
	const struct addrinfo hints = { .ai_socktype =
					    u->tcp ? SOCK_STREAM : SOCK_DGRAM,
					.ai_flags = AI_NUMERICSERV };
	struct addrinfo *found;
	char text[16];
	int fd, err;

	snprintf(text, sizeof text, "%u", port);
	err = getaddrinfo(u->host, text, &hints, &found);
	if (err)
		return connect_refuse(u, gai_strerror(err), -EHOSTUNREACH,
				      fault);
	fd = address_connect(found);
	freeaddrinfo(found);
	return fd < 0 ? connect_refuse(u, strerror(-fd), fd, fault) : fd;
}
