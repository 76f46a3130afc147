/* SPDX-License-Identifier: MIT */
/*
 * An address whose interface comes up later will do (IP_FREEBIND), so that a
 * recorder starts in whatever order its machine does.  [::] is IPv6 alone:
 * who wants both says both.
 */
#include "daemon/vsi_listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "daemon/vsi_allow.h"

static int
socket_make(const char *text, int *fd)
{
	static const int one = 1;
	struct sockaddr_storage address;
	int length = vsi_address_parse(&address, text);

	if (length < 0)
		return length;
	*fd = socket(address.ss_family,
		     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return -errno;
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	/* An address whose interface comes up later will do. */
	setsockopt(*fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof one);
	if (address.ss_family == AF_INET6)
		setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
	if (bind(*fd, (struct sockaddr *)&address, (socklen_t)length) < 0 ||
	    listen(*fd, 64) < 0)
		return -errno;
	return 0;
}

int
vsi_listen(int *fd, const char *text, struct fault *fault)
{
	int err;

	*fd = -1;
	err = socket_make(text, fd);
	if (!err)
		return 0;
	if (*fd >= 0)
		close(*fd);
	fault_set(fault, err, err == -EADDRINUSE ? "busy" : "io",
		  "cannot listen for VSI-S commands on %s", text);
	fault_why(fault, "%s", strerror(-err));
	if (err == -EADDRINUSE)
		fault_hint(fault, "stop the jive5ab or spated that has that "
				  "port, or set vsi.listen to another");
	return err;
}
