/* SPDX-License-Identifier: MIT */
/*
 * No length is trusted: neither that of the IP header, nor that of the packet
 * by IP, nor that of the datagram by UDP.  Each has to fit into the one before
 * it.  If only the end is missing because not all of the packet is here, the
 * datagram counts as cut.  Bytes behind the datagram are padding of short
 * Ethernet frames.
 */
#include "datagram.h"

#include <errno.h>
#include <string.h>

#include "contract/bytes.h"

enum {
	UDP = 17,
	UDP_HEADER = 8,
	IPV4_HEADER = 20,
	IPV6_HEADER = 40,
	IPV6_FRAGMENT = 44,
};

/*
 * Finds the datagram behind `header` bytes of IP; by the IP header, `bytes`
 * follow.
 */
static int
udp_find(struct datagram *d, uint32_t header, uint32_t bytes, uint32_t here)
{
	uint32_t length;

	if (bytes < UDP_HEADER || here < header + UDP_HEADER)
		return -EBADMSG;
	d->udp = d->ip + header;
	length = read_be16(d->udp + 4);
	if (length < UDP_HEADER || length > bytes)
		return -EBADMSG;
	d->data = d->udp + UDP_HEADER;
	here -= header;
	d->cut = length > here;
	d->bytes = (d->cut ? here : length) - UDP_HEADER;
	return 0;
}

static int
ipv4_find(struct datagram *d, uint32_t here)
{
	uint32_t header = (d->ip[0] & 15) * 4u, length;

	if (here < IPV4_HEADER || header < IPV4_HEADER || d->ip[9] != UDP)
		return -EBADMSG;
	length = read_be16(d->ip + 2);
	if (length < header)
		return -EBADMSG;
	if (read_be16(d->ip + 6) & 0x3fff)
		return -ENOTSUP;
	return udp_find(d, header, length - header, here);
}

static int
ipv6_find(struct datagram *d, uint32_t here)
{
	if (here < IPV6_HEADER)
		return -EBADMSG;
	if (d->ip[6] == IPV6_FRAGMENT)
		return -ENOTSUP;
	if (d->ip[6] != UDP)
		return -EBADMSG;
	return udp_find(d, IPV6_HEADER, read_be16(d->ip + 4), here);
}

int
datagram_find(struct datagram *d, uint8_t *ip, uint32_t here)
{
	*d = (struct datagram){ .ip = ip };
	if (here && ip[0] >> 4 == 4)
		return ipv4_find(d, here);
	if (here && ip[0] >> 4 == 6)
		return ipv6_find(d, here);
	return -EBADMSG;
}

void
datagram_sender(const struct datagram *d, union endpoint *from)
{
	*from = (union endpoint){ 0 };
	if (d->ip[0] >> 4 == 4) {
		from->v4.sin_family = AF_INET;
		memcpy(&from->v4.sin_port, d->udp, 2);
		memcpy(&from->v4.sin_addr, d->ip + 12, 4);
	} else {
		from->v6.sin6_family = AF_INET6;
		memcpy(&from->v6.sin6_port, d->udp, 2);
		memcpy(&from->v6.sin6_addr, d->ip + 8, 16);
	}
}

/*
 * Adds up 16-bit words as they lie in memory.  The byte order does not matter
 * to the sum as long as it is the same for all words.
 */
static uint64_t
sum(uint64_t so_far, const uint8_t *at, uint32_t bytes)
{
	for (; bytes >= 4; at += 4, bytes -= 4)
		so_far += read_le32(at);
	if (bytes >= 2) {
		so_far += read_le16(at);
		at += 2;
		bytes -= 2;
	}
	return bytes ? so_far + *at : so_far;
}

bool
datagram_is_sound(const struct datagram *d)
{
	bool v4 = d->ip[0] >> 4 == 4;
	uint32_t length = UDP_HEADER + d->bytes;
	const uint8_t pseudo[4] = { 0, UDP, (uint8_t)(length >> 8),
				    (uint8_t)length };
	uint64_t s;

	if (!read_le16(d->udp + 6))
		/* the sender made no checksum; IPv6 does not allow that */
		return v4;
	s = sum(0, pseudo, sizeof pseudo);
	s = v4 ? sum(s, d->ip + 12, 8) : sum(s, d->ip + 8, 32);
	s = sum(s, d->udp, length);
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s == 0xffff;
}
