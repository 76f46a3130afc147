/* SPDX-License-Identifier: MIT */
/*
 * Finds datagrams in foreign bytes.  Memory is as large as the packet to the
 * byte, so that the sanitizer sees every read beyond, and what was found has
 * to lie in it.
 */
#include <stdlib.h>

#include "receive/udp/datagram.c"

static void
require(bool truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint8_t *packet = malloc(bytes + !bytes);
	union endpoint from;
	struct datagram d;
	int err;

	memcpy(packet, data, bytes);
	err = datagram_find(&d, packet, (uint32_t)bytes);
	require(err == 0 || err == -EBADMSG || err == -ENOTSUP);
	if (!err) {
		require(d.udp >= packet + 20 && d.data == d.udp + 8);
		require(d.data + d.bytes <= packet + bytes);
		datagram_sender(&d, &from);
		require(from.any.sa_family != AF_UNSPEC);
		if (!d.cut)
			datagram_is_sound(&d);
	}
	free(packet);
	return 0;
}
